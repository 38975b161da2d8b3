"""The command `clbook`: run, record and execute chapters, list parameters and claims."""

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .claims import VERDICTS
from .errors import BookError
from .kernel import terminated_as_interrupted
from .parameters import read_parameters
from .sources import ChapterFiles, chapter_names, find_root

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Run, record and execute chapters, list their parameters and claims.",
)
Chapter = Annotated[str, typer.Argument(help="A chapter's name, such as nonlinearity.", metavar="CHAPTER")]
Device = Annotated[str | None, typer.Option(help="auto, cpu or cuda; the chapter's own choice if not given.")]


def _one_line(command: Callable[..., int | None]) -> Callable[..., None]:
    """A mistake of the caller is one line on stderr and status 2, Ctrl-C or a SIGTERM one line and status 130."""

    @functools.wraps(command)
    def guarded(*args, **options) -> None:
        try:
            with terminated_as_interrupted():
                status = command(*args, **options)
        except BookError as error:
            print("clbook:", " ".join(str(error).split()), file=sys.stderr)
            status = 2
        except KeyboardInterrupt:
            print("clbook: interrupted", file=sys.stderr)
            status = 130
        raise typer.Exit(status or 0)

    return guarded


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == "verdict")
    return table


def _show(table: Table) -> None:
    Console().print(table)


def _verdict(word: str) -> str:
    return f"{VERDICTS[word]} {word}"


@app.command()
@_one_line
def run(
    chapter: Chapter,
    parameter: Annotated[
        list[str] | None, typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Change a parameter.")
    ] = None,
    profile: Annotated[str, typer.Option(help="smoke, default or paper: a size.")] = "default",
    device: Device = None,
    out: Annotated[Path | None, typer.Option(help="A new or empty folder; default: one below runs/.")] = None,
) -> None:
    """Run a chapter into a folder of its own: notebook, HTML, claims.json and run.json."""
    from . import runs

    plan = runs.plan(chapter, parameter or [], profile, device, out)
    table = _table("claim", "verdict", "reason")
    for row in runs.run(plan):
        table.add_row(row["anchor"], _verdict(row["verdict"]), escape(row["reason"]))
    _show(table)
    print(plan.out)


@app.command()
@_one_line
def record(
    chapter: Chapter,
    profile: Annotated[str, typer.Option(help="The size to record.")] = "paper",
    seconds: Annotated[
        float | None, typer.Option(help="Stop between pieces after this time, with status 75; run again to go on.")
    ] = None,
    other_seeds: Annotated[int, typer.Option(help="Also on so many other blocks of seeds.")] = 0,
    device: Device = None,
) -> int:
    """Write a chapter's record, records/CHAPTER/PROFILE.json, in pieces that resume."""
    from .record import command

    return command(chapter, profile, seconds=seconds, other_seeds=other_seeds, device=device)


@app.command()
@_one_line
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


@app.command()
@_one_line
def params(chapter: Chapter) -> None:
    """List a chapter's parameters: type, default, range, meaning."""
    files = ChapterFiles.find(chapter)
    table = _table("name", "type", "default", "range", "meaning")
    for p in read_parameters(files.cells(), files.source.name).values():
        default = p.default if isinstance(p.default, str) else json.dumps(p.default)
        table.add_row(*(escape(text) for text in (p.name, p.type, default, p.range, p.meaning)))
    _show(table)


@app.command()
@_one_line
def claims(
    as_json: Annotated[bool, typer.Option("--json", help="Everything that is stored, as JSON.")] = False,
) -> None:
    """List every claim with its headline verdict."""
    from .results import load_results

    rows = load_results()
    if as_json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    table = _table("claim", "verdict", "profile", "statement")
    for row in rows:
        statement = escape(" ".join(row["statement"].split()))
        table.add_row(escape(row["id"]), _verdict(row["verdict"]), row["profile"] or "", statement)
    _show(table)


def main() -> None:
    """The entry point."""
    app()


if __name__ == "__main__":
    main()
