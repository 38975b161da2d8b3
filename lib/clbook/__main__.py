"""The command `clbook`, whose packages take seconds to load; Ctrl-C ends it in one line then, too."""

import sys


def main() -> None:
    """The entry point."""
    try:
        from clbook.cli import main as command

        command()
    except KeyboardInterrupt:
        print("clbook: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
