"""`python -m clbook.cli`, where `clbook` is not on the path."""

from . import main

if __name__ == "__main__":
    main()
