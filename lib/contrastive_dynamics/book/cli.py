"""The command `clbook`: run, record and execute chapters, list parameters and claims."""

import sys
from typing import Annotated

import typer

from .errors import BookError
from .sources import ChapterFiles, chapter_names, find_root

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)


@app.command()
def execute(
    chapters: Annotated[list[str] | None, typer.Argument(help="Chapters; all of them if none is named.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Also where the committed notebook is current.")] = False,
) -> None:
    """Execute the committed notebooks again, in place."""
    from .notebooks import execute as execute_chapter

    root = find_root()
    for files in [ChapterFiles.find(name, root) for name in chapters or chapter_names(root)]:
        done = execute_chapter(files, force)
        print(f"{files.name}: {'executed' if done else 'nothing to do, the notebook is current'}")


@app.callback()
def _many() -> None:
    pass


def main() -> int:
    """Run the command; a mistake of the caller is one line on stderr and status 2, Ctrl-C status 130."""
    try:
        status = app(standalone_mode=False)
    except BookError as error:
        print(f"clbook: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("clbook: interrupted", file=sys.stderr)
        return 130
    return status if isinstance(status, int) else 0


if __name__ == "__main__":
    sys.exit(main())
