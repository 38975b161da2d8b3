"""The command `clbook`: run, sweep, compare, record and execute chapters; list their parameters and claims.

The modules register their commands in the order in which `--help` lists them.
"""

from ..common.printing import printed  # noqa: I001
from . import runs, stored, listings, classroom  # noqa: F401
from .application import app


def main() -> None:
    """The entry point."""
    with printed("clbook"):
        app()
