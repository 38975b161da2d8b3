"""The command `clbook`: run, sweep, compare, record and execute chapters, list parameters and claims."""

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

from .claims.claim_table import VERDICTS
from .ground.errors import BookError
from .ground.parameters import read_parameters
from .ground.sources import ChapterFiles, chapter_names, find_root
from .running.jupyter_kernel import disk_errors, terminated_as_interrupted

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Run, sweep, compare, record and execute chapters, list their parameters and claims.",
)
Chapter = Annotated[str, typer.Argument(help="A chapter's name, such as nonlinearity.", metavar="CHAPTER")]
Parameters = Annotated[
    list[str] | None, typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Change a parameter.")
]
Profile = Annotated[str, typer.Option(help="smoke, default or paper: a size.")]
Device = Annotated[str | None, typer.Option(help="auto, cpu or cuda; the chapter's own choice if not given.")]


def _one_line(command: Callable[..., int | None]) -> Callable[..., None]:
    """A mistake of the caller, or a package that is not installed, is one line on stderr and status 2; Ctrl-C or a
    SIGTERM is one line and status 130."""

    @functools.wraps(command)
    def guarded(*args, **options) -> None:
        try:
            with terminated_as_interrupted():
                status = command(*args, **options)
        except BookError as error:
            print("clbook:", " ".join(str(error).split()), file=sys.stderr)
            status = 2
        except ModuleNotFoundError as error:
            if (error.name or "").startswith(__package__.partition(".")[0]):
                raise
            advice = "make run installs what a run needs, make test the rest"
            print(f"clbook: {error.name} is not installed; {advice}", file=sys.stderr)
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
    parameter: Parameters = None,
    profile: Profile = "default",
    device: Device = None,
    out: Annotated[Path | None, typer.Option(help="A new or empty folder; default: one below runs/.")] = None,
    only: Annotated[
        str | None, typer.Option(metavar="CLAIM[,CLAIM…]", help="What these claims need and their figures, no more.")
    ] = None,
) -> None:
    """Run a chapter, or what some of its claims need, into a folder: notebook, HTML, claims.json and run.json."""
    from .running import runs

    plan = runs.plan(chapter, parameter or [], profile, device, out, only)
    if plan.only:
        print(f"{chapter}, {', '.join(plan.only)}: {plan.cost()}")
    table = _table("claim", "verdict", "reason")
    for row in runs.run(plan):
        table.add_row(row["anchor"], _verdict(row["verdict"]), escape(row["reason"]))
    _show(table)
    print(plan.out)


@app.command()
@_one_line
def sweep(
    chapter: Chapter,
    grid: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUES", help="An axis: a,b,c or low..high:step; lists apart by semicolons."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Blocks of seeds at each place of the grid.")] = 1,
    fold: Annotated[bool, typer.Option("--fold", help="All blocks of a place in one run; see the page.")] = False,
    parameter: Parameters = None,
    profile: Profile = "default",
    device: Device = None,
    jobs: Annotated[int | None, typer.Option(help="Processes on this machine; one a core if not given.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A running dask scheduler, or its file.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The sweep's folder; the same command goes on in it.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Check and count the points, run none.")] = False,
) -> int:
    """Run a chapter at every point of a grid, on one machine or many; go on where it was interrupted."""
    from .sweep import grid as grids
    from .sweep.run_sweep import command
    from .sweep.sweep_folder import default_folder

    options = {"seeds": seeds, "fold": fold, "given": parameter or [], "profile": profile, "device": device}
    wanted = grids.plan_grid(chapter, grid or [], elsewhere=scheduler is not None, **options)
    folder = out or default_folder(wanted)
    print(f"{chapter}: {len(wanted.points)} points in {len(wanted.runs)} runs into {folder}")
    return 0 if plan else command(wanted, folder, jobs, scheduler)


@app.command()
@_one_line
def show(
    sweep: Annotated[Path, typer.Argument(help="The folder of a sweep.", metavar="SWEEP")],
    claim: Annotated[str | None, typer.Option(help="Whose statistic; the one that changes most if not given.")] = None,
    out: Annotated[Path | None, typer.Option(help="The page to write; SWEEP/CLAIM.html if not given.")] = None,
) -> None:
    """Draw a claim's statistic over the grid of a sweep, on a page with links to the notebooks."""
    from .sweep.sweep_page import default_claim, write_page
    from .sweep.sweep_table import TABLE, read_table, write_table

    table = read_table(sweep)
    chosen = claim or default_claim(table)
    page = out or sweep / f"{chosen}.html"
    if not page.parent.is_dir():
        raise BookError(f"--out {page}: there is no folder {page.parent}")
    with disk_errors(page):
        write_page(table, chosen, page, sweep)
        write_table(table, sweep / TABLE)
    print(page)


@app.command()
@_one_line
def compare(
    before: Annotated[Path, typer.Argument(help="A run's folder, an executed notebook or a record.", metavar="RUN_A")],
    after: Annotated[Path, typer.Argument(help="Another one of the same chapter.", metavar="RUN_B")],
) -> None:
    """Show which verdicts and statistics differ between two runs, and by how much beyond seed noise."""
    from .chapter.comparison import compare as compared
    from .chapter.comparison import read_stamp

    changes = compared(read_stamp(before), read_stamp(after))
    table = _table("claim", "before → after", "beyond ± noise", "verdict")
    for c in changes:
        numbers = " → ".join("none" if v is None else f"{v:.4g}" for v in (c.before, c.after))
        within = "noise unknown" if c.noise is None else f"within {c.noise:.2g}"
        beyond = f"{c.beyond:.2g} ± {c.noise:.2g}" if c.beyond else within
        beyond = "" if None in (c.before, c.after) else beyond
        verdict = " → ".join(_verdict(word) for word in dict.fromkeys(c.verdicts))
        table.add_row(escape(f"{c.claim} {c.case}".strip()), numbers, beyond, verdict)
    _show(table)
    turned = len({c.claim for c in changes if c.turned})
    print(f"{turned} verdicts differ, and {sum(c.beyond > 0 for c in changes)} statistics by more than seed noise")


@app.command()
@_one_line
def record(
    chapter: Chapter,
    profile: Annotated[str, typer.Option(help="The size to record.")] = "paper",
    seconds: Annotated[
        float | None, typer.Option(help="Stop between pieces after this time, with status 75; run again to go on.")
    ] = None,
    other_seeds: Annotated[
        int, typer.Option(metavar="N", help="Repeat what chance decides on N more seed blocks.")
    ] = 0,
    device: Device = None,
    figures: Annotated[bool, typer.Option("--figures", help="Also pictures whose cell has changed.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Everything, not only what is stale.")] = False,
) -> int:
    """Bring a chapter's record, records/CHAPTER/PROFILE.json, up to date, in pieces that resume."""
    from .running.record import command

    options = {"other_seeds": other_seeds, "device": device, "figures": figures, "force": force}
    return command(chapter, profile, seconds=seconds, **options)


@app.command()
@_one_line
def execute(
    chapters: Annotated[list[str] | None, typer.Argument(help="Chapters; all of them if none is named.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Everything, not only what is stale.")] = False,
) -> None:
    """Execute what is stale of the committed notebooks, in place."""
    from .running.notebooks import execute as execute_chapter

    root = find_root()
    for files in [ChapterFiles.find(name, root) for name in chapters or chapter_names(root)]:
        print(f"{files.name}: {execute_chapter(files, force) or 'nothing to do, the notebook is current'}")


@app.command()
@_one_line
def stale(
    chapters: Annotated[list[str] | None, typer.Argument(help="Chapters; all of them if none is named.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The state of every stored reading, as JSON.")] = False,
) -> None:
    """List the stored readings that the present sources would make anew, and what has changed for each."""
    from .provenance.staleness import CURRENT, all_states
    from .provenance.staleness import as_json as to_json

    found = all_states(find_root(), chapters)
    if as_json:
        print(to_json(found))
        return
    groups: dict[tuple, list[str]] = {}
    for one in (one for one in found if one.state != CURRENT):
        groups.setdefault((one.where, one.state, one.changed), []).append(one.claim)
    for (where, state, changed), claims in groups.items():
        print(f"{where}, {state}: {', '.join(claims)}")
        print(f"    {', '.join(changed[:5])}{f' and {len(changed) - 5} more' if len(changed) > 5 else ''}")
    print(f"{sum(map(len, groups.values()))} of {len(found)} stored readings are not current")


@app.command()
@_one_line
def verify(
    chapter: Annotated[str | None, typer.Argument(help="A chapter; all of them if none is named.")] = None,
    claims: Annotated[list[str] | None, typer.Argument(help="Its claims; all of them if none is named.")] = None,
    sample: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Draw readings worth so much time, by the commit.")
    ] = None,
    one_seed: Annotated[bool, typer.Option("--one-seed", help="Few seeds of each reading, at a small cost.")] = False,
    profile: Annotated[str | None, typer.Option(help="Only what was stored at this size.")] = None,
) -> int:
    """Compute stored readings again, at their own parameters, and compare them with what is stored."""
    from .running.verify import command

    return command(find_root(), chapter, claims or [], profile, sample=sample, one_seed=one_seed)


@app.command()
@_one_line
def student(
    out: Annotated[Path, typer.Argument(help="A new or empty folder.", metavar="FOLDER")] = Path("student"),
) -> None:
    """Write the chapters without their solutions, a stub and the expected output in the place of each."""
    from .pages.student import write_edition

    for notebook in write_edition(find_root(), out):
        print(notebook)


@app.command()
@_one_line
def doctor() -> None:
    """Show what this machine has, which data sets lie here, and what each profile of each chapter needs."""
    from .running import doctor as found

    root = find_root()
    for heads, rows in (
        (("here", ""), found.machine(root)),
        (("data set", ""), found.data_sets()),
        (("chapter", "profile", "data", "measured"), found.profiles(root)),
    ):
        table = _table(*heads)
        for row in rows:
            table.add_row(*map(escape, row))
        _show(table)


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
    from .chapter.results import load_results

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
