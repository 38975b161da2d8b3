"""What a command prints, on terminals that lack symbols and into files that have no room."""

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def printed(command: str) -> Iterator[None]:
    """Inside, symbols that the output's encoding lacks become `?`, and a failing output ends the command in one line.

    The status is then 2; it is 1, without a line, if the reader has closed the pipe.
    """
    if sys.stdout is None:  # closed by the caller, who wants no output
        yield
        return
    sys.stdout.reconfigure(errors="replace")
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try once more at its end
        if isinstance(error, BrokenPipeError):
            sys.exit(1)
        what = error.filename or "the output"
        print(f"{command}: {what} cannot be read or written ({error.strerror})", file=sys.stderr)
        sys.exit(2)
