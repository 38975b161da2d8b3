"""Commands for stored results: `record`, `execute`, `stale`, `verify`."""

from typing import Annotated

import typer

from ..common.sources import ChapterFiles, chapter_names, find_root
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

    root = find_root()
    for files in [ChapterFiles.find_notebooks(name, root) for name in chapters or chapter_names(root)]:
        print(f"{files.stem}: {execute_chapter(files, force) or 'nothing to do, the notebook is up to date'}")


@app.command()
@one_line
def stale(
    chapters: Chapters = None,
    as_json: Annotated[bool, typer.Option("--json", help="The state of every stored reading, as JSON.")] = False,
) -> None:
    """List the stored results that are out of date with the present sources, or not what their run made."""
    from ..common.formats import attempt
    from ..notebook.shown import changed_outputs
    from ..provenance.staleness import CURRENT, all_old_pictures, all_states
    from ..provenance.staleness import as_json as to_json

    readings = all_states(find_root(), chapters, "report")
    if as_json:
        print(to_json(readings))
        return
    groups: dict[tuple, list[str]] = {}
    for reading in (reading for reading in readings if reading.state != CURRENT):
        groups.setdefault((reading.where, reading.state, reading.changed), []).append(reading.claim)
    for (where, state, changed), claims in groups.items():
        print(f"{where}, {state}: {', '.join(claims)}")
        print(f"    {', '.join(changed[:5])}{f' and {len(changed) - 5} more' if len(changed) > 5 else ''}")
    print(f"{sum(map(len, groups.values()))} of {len(readings)} stored readings are not current")
    # "skip": what is damaged has been reported already
    for record, names in all_old_pictures(find_root(), chapters, "skip").items():
        if names:
            print(f"{record}, drawn by earlier cells (`clbook record --figures` redraws): {', '.join(names)}")
    for files in [ChapterFiles.find(name, find_root()) for name in chapters or chapter_names(find_root())]:
        for line in attempt("skip", lambda files: list(changed_outputs(files)), files) or ():
            print(line)


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
