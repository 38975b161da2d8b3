"""A command's output, on terminals whose encoding lacks symbols and on disks that are full."""

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def printed(command: str) -> Iterator[None]:
    """Print `?` for symbols that the output's encoding lacks; exit with one line if the output cannot be written.

    The exit status is then 2, or 1 without a message if the reader has closed the pipe.
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
