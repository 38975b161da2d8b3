"""The command `clbook`: run, sweep, compare, record and execute chapters; list their parameters and claims.

The modules register their commands in the order in which `--help` lists them.
"""

from . import runs, stored, listings  # noqa: F401, I001
from .application import app


def main() -> None:
    """The entry point."""
    app()
