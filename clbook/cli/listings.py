"""Commands that list: `doctor`, `params`, `claims`, `stamp`."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from ..common.parameters import read_parameters, value_text
from ..common.sources import ChapterFiles, find_root
from .application import Chapter, app, one_line, print_table, table_of, verdict_words

WIDE = 120  # columns of a terminal that hold a parameter in one line


@app.command()
@one_line
def doctor() -> None:
    """Show what this machine has, which data sets it holds, and what each profile of each chapter needs."""
    from ..commands import doctor as report

    root = find_root()
    for heads, rows in (
        (("here", ""), report.machine(root)),
        (("data set", ""), report.data_sets()),
        (("chapter", "profile", "data", "measured"), report.profiles(root)),
    ):
        table = table_of(*heads)
        for row in rows:
            table.add_row(*map(escape, row))
        print_table(table)


@app.command()
@one_line
def params(chapter: Chapter) -> None:
    """List a chapter's parameters: type, default, range, meaning."""
    files = ChapterFiles.find(chapter)
    known = read_parameters(files.cells(), files.source.name).values()
    if Console().width < WIDE:  # type and range below the meaning, broken between words
        table = table_of("name = default", "meaning, type, range")
        for p in known:
            limits = p.range.replace("|", " | ")
            table.add_row(*map(escape, (f"{p.name}\n  = {value_text(p.default)}", f"{p.meaning}\n{p.type} {limits}")))
    else:
        table = table_of("name", "type", "default", "range", "meaning")
        for p in known:
            table.add_row(*map(escape, (p.name, p.type, value_text(p.default), p.range, p.meaning)))
    print_table(table)


@app.command()
@one_line
def claims(
    as_json: Annotated[bool, typer.Option("--json", help="Print everything that is stored, as JSON.")] = False,
) -> None:
    """List every claim with its headline verdict."""
    from ..notebook.results import load_results

    results = load_results(on_damage="report")
    if as_json:
        print(json.dumps([result.to_json() for result in results], indent=1, ensure_ascii=False))
        return
    table = table_of("claim", "verdict", "profile", "statement")
    for result in results:
        statement = escape(" ".join(result.claim.statement.split()))
        table.add_row(escape(result.id), verdict_words(result.verdict), result.profile or "", statement)
    print_table(table)


@app.command()
@one_line
def stamp(listed: Annotated[bool, typer.Option("--list", help="Print the sum of each file instead.")] = False) -> None:
    """Print one sum over all claims, stored results and proofs, to be stamped with a time by somebody else."""
    from ..provenance.book_sum import book_sum, sums

    print(sums(find_root()) if listed else book_sum(find_root()), end="" if listed else "\n")
