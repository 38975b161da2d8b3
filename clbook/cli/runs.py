"""Commands that run chapters and show what came out, `run`, `sweep`, `show`, `compare`, and `features`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from ..commands.jupyter_kernel import disk_errors
from ..common.errors import BookError
from ..common.sources import ChapterFiles
from .application import Chapter, Device, Only, Parameters, Profile, app, one_line, print_table, table_of, verdict_words


@app.command()
@one_line
def run(
    chapter: Chapter,
    parameter: Parameters = None,
    profile: Profile = "default",
    device: Device = None,
    out: Annotated[Path | None, typer.Option(help="A new or empty folder; default: a new one below runs/.")] = None,
    only: Only = None,
    own: Annotated[
        bool, typer.Option("--own", help="Run only what your own parameters decide, those that begin with own_.")
    ] = False,
    figures: Annotated[
        bool, typer.Option("--figures", help="Also write the figures as SVG and PDF, with their licence.")
    ] = False,
    no_page: Annotated[bool, typer.Option("--no-page", help="Write no HTML; `clbook run` is done sooner.")] = False,
) -> None:
    """Run a chapter, or what some of its claims need; write notebook, HTML, claims.json and run.json to a folder."""
    from ..commands import runs

    plan = runs.plan(chapter, parameter or [], profile, device, out, only, figures, own)
    if plan.only or own:
        print(f"{chapter}, {', '.join(plan.only) or 'your own run'}: {plan.cost()}", flush=True)
    table = table_of("claim", "verdict", "reason")
    for row in runs.run(plan):
        table.add_row(row["anchor"], verdict_words(row["verdict"]), escape(row["reason"]))
    if table.rows:
        print_table(table)
    print(plan.out, flush=True)  # the run is complete; what follows cannot lose it
    if not no_page:
        _write_page(plan.files, plan.out)
        _tell_cards(plan.files, plan.out, plan.only)


def _write_page(files: ChapterFiles, folder: Path) -> None:
    """Write the page of a run and print its path; if nbconvert had to make it, report why on stderr."""
    from ..pages.run_page import write_page

    try:
        page, message = write_page(files, folder)
    except OSError as error:
        raise BookError(f"{folder}: the run is complete, but its page cannot be written ({error.strerror})") from None
    if message:
        print(f"clbook: {message}", file=sys.stderr)
    print(page)


def _tell_cards(files: ChapterFiles, folder: Path, claims: Sequence[str]) -> None:
    """Print an address for each claim that was asked for, at whose card a browser opens the page of the run."""
    from ..pages.run_page import card_address

    for address in filter(None, (card_address(files, folder, claim) for claim in claims)):
        print(address)


@app.command()
@one_line
def sweep(
    chapter: Chapter,
    grid: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUES", help="An axis: a,b,c or low..high:step; semicolons between lists."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Blocks of seeds at each grid place.")] = 1,
    fold: Annotated[
        bool, typer.Option("--fold", help="Compute all blocks of a place in one run; see the page.")
    ] = False,
    parameter: Parameters = None,
    profile: Profile = "default",
    device: Device = None,
    only: Only = None,
    jobs: Annotated[int | None, typer.Option(help="Processes on this machine; default: one per core.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address or file of a running dask scheduler.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The sweep's folder; the same command resumes in it.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Check and count the points without running them.")] = False,
) -> int:
    """Run a chapter at every point of a grid, on one machine or many; resume an interrupted sweep."""
    from ..sweep import grid as grids
    from ..sweep.run_sweep import command
    from ..sweep.sweep_folder import default_folder

    options = {"seeds": seeds, "fold": fold, "assignments": parameter or [], "profile": profile, "device": device}
    wanted = grids.plan_grid(chapter, grid or [], only=only, elsewhere=scheduler is not None, **options)
    folder = out or default_folder(wanted)
    print(f"{chapter}: {len(wanted.points)} points in {len(wanted.runs)} runs into {folder}")
    return 0 if plan else command(wanted, folder, jobs, scheduler)


@app.command()
@one_line
def show(
    sweep: Annotated[Path, typer.Argument(help="The folder of a sweep.", metavar="SWEEP")],
    claim: Annotated[
        str | None,
        typer.Option(help="The claim to draw; default: of those that depend on the axes, the one that turns most."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The page to write; default: SWEEP/CLAIM.html.")] = None,
    page_of: Annotated[
        str | None, typer.Option("--page", metavar="POINT", help="Write the page of one point's run instead.")
    ] = None,
) -> None:
    """Draw a claim's statistic over the grid of a sweep on a page that links to the notebooks, or show one point."""
    from ..sweep.sweep_folder import point_run
    from ..sweep.sweep_page import default_claim, write_page
    from ..sweep.sweep_table import TABLE, read_table, write_table

    if page_of is not None:
        if claim or out:
            raise BookError("--page writes a page beside the run's notebook; it takes neither --claim nor --out")
        return _write_page(*point_run(sweep, page_of))
    table = read_table(sweep)
    chosen = claim or default_claim(table)
    page = out or sweep / f"{chosen}.html"
    if out and not out.parent.is_dir():
        raise BookError(f"--out {out}: there is no folder {out.parent}")
    with disk_errors(page):
        write_page(table, chosen, page, sweep)
        write_table(table, sweep / TABLE)
    print(page)


@app.command()
@one_line
def compare(
    before: Annotated[Path, typer.Argument(help="A run's folder, an executed notebook or a record.", metavar="RUN_A")],
    after: Annotated[Path, typer.Argument(help="Another run of the same chapter.", metavar="RUN_B")],
    every: Annotated[bool, typer.Option("--all", help="List every number that differs.")] = False,
) -> None:
    """Show which verdicts and statistics differ between two runs, and by how much beyond seed noise."""
    from ..commands.comparison import compare as compared
    from ..commands.comparison import read_stamp, summary, worth_showing

    stamps = read_stamp(before), read_stamp(after)
    changes = compared(*stamps)
    print("\n".join(summary(changes, *stamps)))
    shown = changes if every else worth_showing(changes)
    table = table_of("claim", "before → after", "beyond ± noise", "verdict")
    for c in shown:
        numbers = " → ".join("none" if v is None else f"{v:.4g}" for v in (c.before, c.after))
        within = "noise unknown" if c.noise is None else f"within {c.noise:.2g}"
        beyond = f"{c.beyond:.2g} ± {c.noise:.2g}" if c.beyond else within
        beyond = "" if None in (c.before, c.after) else beyond
        verdict = " → ".join(verdict_words(word) for word in dict.fromkeys(c.verdicts))
        table.add_row(escape(f"{c.claim} {c.case}".strip()), numbers, beyond, verdict)
    if shown:
        print_table(table)
    if left := len(changes) - len(shown):
        print(f"… {left} more numbers differ; --all lists them")


@app.command()
@one_line
def features(
    first: Annotated[Path, typer.Argument(help="Features as .npy, one row per datum.", metavar="A.npy")],
    second: Annotated[Path, typer.Argument(help="Those of the same data, in the same order.", metavar="B.npy")],
    one_encoder: Annotated[
        bool | None,
        typer.Option("--one-encoder/--two-encoders", help="One encoder made both, or each has its own (CLIP)."),
    ] = None,
    scale: Annotated[
        list[float] | None, typer.Option(metavar="TAU2", help="Inverse temperature or logit scale; may be repeated.")
    ] = None,
    components: Annotated[int, typer.Option(help="Use so many principal components of each; 0: all columns.")] = 0,
    out: Annotated[Path | None, typer.Option(help="The table to write; default: A-B.csv in this folder.")] = None,
) -> None:
    """Show what two sets of features have in common: canonical correlations, spectra, directions that are kept."""
    from ..commands import features as of

    if one_encoder is None:
        raise BookError("say --two-encoders if each file has an encoder of its own, as CLIP's have, or --one-encoder")
    path = of.check_free(out or Path(f"{first.stem}-{second.stem}.csv"))
    found = of.features(first, second, tied=one_encoder, scales=scale, components=components)
    of.print_notes(found.notes)
    table = table_of("direction", "ρ", "ρ, own rows", "variance A", "variance B")
    for j, *rest in found.rows[: of.SHOWN]:
        table.add_row(str(j), *(f"{x:.3f}" for x in rest))
    print_table(table)
    if len(found.rows) > of.SHOWN:
        print(f"  … {len(found.rows):,} directions in all\n")
    table = table_of("inverse temperature τ²", *(f"{scale:g}" for scale, *_ in found.kept))
    table.add_row("directions kept", *(str(kept) for _, kept, _ in found.kept))
    table.add_row("their effective rank", *(f"{rank:.1f}" for *_, rank in found.kept))
    print_table(table)
    for sentence in found.sentences:
        Console().print(escape(sentence), highlight=False)
    of.write_table(found, path)
    print(path)
