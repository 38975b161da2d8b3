"""The application of `clbook`: what its commands share, from their options to the report of an error."""

import functools
import sys
from collections.abc import Callable
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from ..claims.claim_table import VERDICTS
from ..common.errors import BookError, cut, line_of
from ..common.interrupts import INTERRUPTED, terminated_as_interrupted

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Run, sweep, compare, record and execute chapters; list their parameters and claims.",
)
Chapter = Annotated[str, typer.Argument(help="A chapter's name, such as nonlinearity.", metavar="CHAPTER")]
Chapters = Annotated[list[str] | None, typer.Argument(help="Chapters; default: all.")]
Parameters = Annotated[
    list[str] | None, typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Change a parameter.")
]
Profile = Annotated[str, typer.Option(help="The size of the run: smoke, default or paper.")]
Device = Annotated[str | None, typer.Option(help="auto, cpu or cuda; default: the chapter's own choice.")]
Only = Annotated[str | None, typer.Option(metavar="CLAIM,…", help="Run only what these claims and their figures need.")]
Force = Annotated[bool, typer.Option("--force", help="Run everything, not only what is stale.")]


def one_line(command: Callable[..., int | None]) -> Callable[..., None]:
    """Report an error that ends a command in one line on stderr.

    The exit status is 2 for a BookError, a file that the system refuses, or a missing package, and 130 for Ctrl-C or a
    similar signal.
    """

    @functools.wraps(command)
    def guarded(*args, **options) -> None:
        try:
            with terminated_as_interrupted():
                status = command(*args, **options)
        except BookError as error:
            print("clbook:", line_of(error), file=sys.stderr)
            status = 2
        except OSError as error:
            if not error.filename:  # not about a file that was named, as a name of more than 255 bytes is
                raise
            print(f"clbook: {cut(str(error.filename), 200)}: {error.strerror}", file=sys.stderr)
            status = 2
        except ModuleNotFoundError as error:
            if (error.name or "").startswith(__package__.partition(".")[0]):
                raise
            advice = "make run installs what a run needs, make test everything"
            print(f"clbook: {error.name} is not installed; {advice}", file=sys.stderr)
            status = 2
        except KeyboardInterrupt:
            print("clbook: interrupted", file=sys.stderr)
            status = INTERRUPTED
        raise typer.Exit(status or 0)

    return guarded


def table_of(*columns: str) -> Table:
    """An empty table for the terminal; the words of a verdict stay on one line."""
    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == "verdict")
    return table


def print_table(table: Table) -> None:
    """Print a table as wide as the terminal."""
    Console().print(table)


def verdict_words(word: str) -> str:
    """A verdict as a terminal shows it: its symbol, then its word."""
    return f"{VERDICTS[word]} {word}"
