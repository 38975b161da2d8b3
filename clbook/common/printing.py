"""A command's output, on terminals whose encoding lacks symbols and on disks that are full, and its warnings."""

import contextlib
import errno
import os
import sys
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def printed(command: str) -> Iterator[None]:
    """Print `?` for symbols that the output's encoding lacks; exit with one line if the output cannot be written.

    The exit status is then 2, or 1 without a message if the reader has closed the pipe.
    """
    _as_python_warns()
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
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM):  # no matter which file it was
            message = f"{error.strerror}: this machine or its limits (ulimit -a) allow no more"
        else:
            message = f"{error.filename or 'the output'} cannot be read or written ({error.strerror})"
        print(f"{command}: {message}", file=sys.stderr)
        sys.exit(2)


def _as_python_warns() -> None:
    """Handle warnings, here and in child processes, as Python does if nobody asks for anything else.

    With `PYTHONWARNINGS=error` the packages of notebooks and pages would fail, and chapters compute something else.
    """
    os.environ.pop("PYTHONWARNINGS", None)
    if not sys.warnoptions:
        return
    sys.warnoptions.clear()
    warnings.simplefilter("default")
    for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", kind)
