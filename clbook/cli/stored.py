"""Commands for stored results: `record`, `execute`, `stale`, `verify`."""

from typing import Annotated

import typer

from ..common.sources import ChapterFiles, find_root, named_chapters
from .application import Chapter, Chapters, Device, Force, app, one_line


@app.command()
@one_line
def record(
    chapter: Chapter,
    profile: Annotated[str, typer.Option(help="The size to record.")] = "paper",
    seconds: Annotated[
        float | None, typer.Option(help="Stop between pieces after this time with status 75; run again to resume.")
    ] = None,
    other_seeds: Annotated[
        int, typer.Option(metavar="N", help="Repeat the claims that chance decides on N more seed blocks.")
    ] = 0,
    other_profile: Annotated[
        str | None, typer.Option(metavar="PROFILE", help="The size of these runs; default: the same.")
    ] = None,
    device: Device = None,
    figures: Annotated[bool, typer.Option("--figures", help="Also redraw pictures whose cells have changed.")] = False,
    force: Force = False,
) -> int:
    """Bring a chapter's record, records/CHAPTER/PROFILE.json, up to date, in pieces that resume."""
    from ..commands.record import command

    blocks = {"other_seeds": other_seeds, "other_profile": other_profile}
    return command(chapter, profile, seconds=seconds, **blocks, device=device, figures=figures, force=force)


@app.command()
@one_line
def execute(chapters: Chapters = None, force: Force = False) -> None:
    """Execute the stale cells of the committed notebooks in place."""
    from ..commands.committed import execute as execute_chapter

    for files in named_chapters(chapters, find_root(), ChapterFiles.find_notebooks):
        print(f"{files.stem}: {execute_chapter(files, force) or 'nothing to do, the notebook is up to date'}")


@app.command()
@one_line
def stale(
    chapters: Chapters = None,
    as_json: Annotated[bool, typer.Option("--json", help="The state of every stored reading, as JSON.")] = False,
) -> int:
    """List the stored results that are out of date with the present sources, damaged, or not what their run made.

    The status is 1 if there are any that records/stale.yaml does not excuse.
    """
    from ..commands.stale import command

    return command(find_root(), chapters, as_json)


@app.command()
@one_line
def verify(
    chapter: Annotated[str | None, typer.Argument(help="A chapter; default: all.")] = None,
    claims: Annotated[list[str] | None, typer.Argument(help="Its claims; default: all.")] = None,
    sample: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Check a sample worth this much time; the commit selects it."),
    ] = None,
    one_seed: Annotated[
        bool,
        typer.Option("--one-seed", help="Recompute costly readings for few of their seeds, where these suffice."),
    ] = False,
    profile: Annotated[str | None, typer.Option(help="Only readings stored at this size.")] = None,
) -> int:
    """Recompute stored readings at their own parameters and compare them with what is stored."""
    from ..commands.verify import command

    return command(find_root(), chapter, claims or [], profile, sample=sample, one_seed=one_seed)
