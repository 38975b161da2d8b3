"""The command `clbook`, also as `python -m clbook`. Its packages take seconds to load; a signal ends it then, too."""

from .common.formats import leave_out_address_grammar
from .common.interrupts import end_at_once


def main() -> None:
    """The entry point."""
    end_at_once("clbook")
    leave_out_address_grammar()
    from clbook.cli import main as command

    command()


if __name__ == "__main__":
    main()
