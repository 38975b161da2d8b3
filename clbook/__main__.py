"""The command `clbook`, also as `python -m clbook`. Its packages take seconds to load; a signal ends it then, too."""

import sys

from .common.errors import BookError, line_of
from .common.formats import leave_out_address_grammar
from .common.interrupts import end_at_once


def main() -> None:
    """The entry point; where no book is, that is said in one line."""
    end_at_once("clbook")
    leave_out_address_grammar()
    try:
        from clbook.cli import main as command
    except BookError as error:
        sys.exit(f"clbook: {line_of(error)}; call it in a book's folder, or name one in CLBOOK_ROOT")
    command()


if __name__ == "__main__":
    main()
