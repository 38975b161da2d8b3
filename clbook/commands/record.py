"""Record a run that CI cannot repeat: run the chapter's `.py` as a plain script, in pieces that resume.

`clbook record CHAPTER --profile paper`, or on a machine without Jupyter
`python -m clbook.commands.record CHAPTER --profile paper`, which needs torch, numpy, scipy and
matplotlib.
"""

import argparse
import contextlib
import json
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..claims.claim_table import Claims
from ..common import environment
from ..common.atomic import atomic_write
from ..common.durations import check_seconds
from ..common.errors import BookError, line_of
from ..common.interrupts import INTERRUPTED, terminated_as_interrupted
from ..common.parameters import profile_parameters
from ..common.printing import printed
from ..common.sources import ChapterFiles
from ..notebook import chapter as chapter_module
from ..notebook.pieces import Keeper, OutOfTime
from ..provenance.digests import ChapterDigests
from ..provenance.library import sha
from ..provenance.records import read_record, sealed_record
from ..provenance.slices import ChapterCode
from ..provenance.staleness import CURRENT, STALE, block_now, old_pictures, states
from ..provenance.stamps import check, holding_only, merge, refreshed, seal
from .jupyter_kernel import disk_errors
from .output_place import check_writable, held
from .request import check_data, seed_blocks, with_device
from .rule_changes import check_changes, with_verdicts
from .script import run_script

OUT_OF_TIME = 75  # exit status that asks to run the same command again


@dataclass(frozen=True)
class Chosen:
    """What a record must contain (all claims or those decided by chance; figures or none), and what to force."""

    claims: Claims | None
    by_chance: set[str] | None
    draws: bool
    figures: bool
    force: bool


@dataclass
class Block:
    """One run of a record: its profile and parameters, what is stored of it, and the units to run (None: all)."""

    profile: str
    parameters: dict
    stored: dict | None
    units: list[int] | None
    done: bool = False  # every digest is up to date, including those of the rules


def plan_block(code: ChapterCode, profile: str, parameters: dict, stored: dict | None, chosen: Chosen) -> Block:
    """The units to run so that a stored run, if there is one, contains all that is chosen and is up to date."""
    if stored and stored["profile"] != profile:
        stored = None  # of another size
    digests = ChapterDigests(code, parameters)
    claims = [c for c in code.claims if chosen.by_chance is None or c in chosen.by_chance]
    held = stored
    if stored and chosen.by_chance is not None:
        stored = holding_only(stored, claims)  # chance may have decided more when it was stored
    if stored is None or chosen.force:
        whole = chosen.by_chance is None
        return Block(profile, parameters, None if whole else stored, None if whole else code.union(claims))
    present = states(code, stored, chosen.claims, parameters=parameters)
    stale = [claim for claim in claims if present[claim].state == STALE]
    figures = code.figures_of(stale) if chosen.draws and stale else {}
    if chosen.figures:
        figures |= old_pictures(code, stored, digests)
    last = [code.claims[claim] for claim in stale] + list(figures.values())
    asked = {*claims, *stored["claims"]}
    current = all(state.state == CURRENT for claim, state in present.items() if claim in asked)
    units = {n for at in last for n in code.needed(at)} | set(code.opening if last else ())
    return Block(profile, parameters, stored, sorted(units), done=not last and current and stored == held)


def _stamp(files: ChapterFiles, code: ChapterCode, block: Block, deadline: float) -> tuple[dict, Path | None]:
    """The stamp of one run, merged with what is stored of it, and the folder of its pieces and pictures."""
    claims = chapter_module._load_claims(files)
    digests = ChapterDigests(code, block.parameters)
    if block.units == []:
        return refreshed(seal(block.stored | {"parameters": block.parameters}), digests, claims), None
    run = range(len(code.units)) if block.units is None else block.units
    made_in = environment.arithmetic_key(str(block.parameters.get("device", "cpu")))
    digest = sha(json.dumps(block.parameters), made_in, *(digests.digest(n) for n in run))
    pieces = files.root / "records" / ".pieces" / files.name
    folder = pieces / digest[:16]
    folder.mkdir(parents=True, exist_ok=True)
    finished = folder / "stamp.json"
    if not finished.is_file():
        data = str(block.parameters.get("data", "generated"))
        keeper = Keeper(folder, deadline, data, shared=pieces / "library")
        write_json(finished, run_script(files, block.parameters, block.profile, keeper, block.units))
    stamp = check(json.loads(finished.read_text(encoding="utf-8")), str(finished))
    if block.units is not None and block.stored:
        stamp = merge(seal(block.stored | {"parameters": block.parameters}), stamp)
        stamp = refreshed(stamp, digests, claims)
    return stamp, folder


def write_json(path: Path, content: dict) -> None:
    """Write JSON, by an atomic write."""
    atomic_write(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _store_figures(source: Path | None, place: Path, pictures: dict) -> None:
    """Add a run's pictures to those of the existing record, and remove those that the record no longer has."""
    for picture in sorted(source.glob("*.png")) if source else []:
        place.mkdir(parents=True, exist_ok=True)
        atomic_write(place / picture.name, picture.read_bytes())
    for picture in place.glob("*.png"):
        if picture.stem not in pictures:
            picture.unlink()


def record(
    name: str,
    profile: str,
    *,
    seconds: float | None = None,
    other_seeds: int = 0,
    other_profile: str | None = None,
    device: str | None = None,
    figures: bool = False,
    force: bool = False,
) -> Path | None:
    """Bring `records/NAME/PROFILE.json` up to date: the run and those on other blocks of seeds; returns its path.

    Only stale claims are run, with their figures; with `figures` also pictures whose cells have changed; with `force`
    everything. Other blocks of seeds contain the claims that are decided by chance, at the same size or at that of
    `other_profile`, and lose those that no longer are. Idempotent: returns None if nothing is stale. Raises BookError
    for what cannot be run and for a rule that was changed without a word (`rule_changes`), and OutOfTime when `seconds`
    are used up and pieces remain; the same call then resumes.
    """
    check_seconds("--seconds", seconds, zero=True)  # 0 stops after the first piece
    deadline = time.monotonic() + (float("inf") if seconds is None else seconds)
    files = ChapterFiles.find(name)
    code, path = ChapterCode(files), files.record(profile)
    parameters, others = (
        with_device(profile_parameters(files, size), code.parameters, device, name)
        for size in (profile, other_profile or profile)
    )
    stored = _stored(path, files)
    first, *rest = seed_blocks(files, code.parameters, parameters, other_seeds, "--other-seeds")
    asked = [(profile, parameters | first), *((other_profile or profile, others | block) for block in rest)]
    plans = _plans(code, stored, asked, figures, force)
    blocks = max((stored or {}).get("blocks", 1), len(plans))
    if all(block.done for block in plans) and stored.get("blocks") == blocks:
        return None
    if any(block.units != [] for block in plans):  # a changed rule needs only a new judgement, not a run
        check_data(parameters, name)
    check_writable(path.parent)
    with disk_errors(path), _alone(files, profile):
        runs = []
        for block in plans:
            if runs and block.units != [] and time.monotonic() > deadline:
                raise OutOfTime
            runs.append(_stamp(files, code, block, deadline))
        path.parent.mkdir(parents=True, exist_ok=True)
        _store_figures(runs[0][1], path.with_suffix(""), runs[0][0]["pictures"])
        claims = chapter_module._load_claims(files)
        stamps = [with_verdicts(stamp, claims, code) for stamp, _ in runs]
        write_json(path, sealed_record(stamps, blocks))
        for folder in {folder for _, folder in runs if folder}:
            shutil.rmtree(folder)
    return path


def _stored(path: Path, files: ChapterFiles) -> dict | None:
    """The record that is there, or None, said on stderr if it is damaged."""
    try:
        return read_record(path, files) if path.is_file() else None
    except BookError as damaged:
        print(f"clbook: {damaged}; all of it is run again", file=sys.stderr)
        return None


def _plans(
    code: ChapterCode, stored: dict | None, asked: list[tuple[str, dict]], figures: bool, force: bool
) -> list[Block]:
    """What to run of each block of seeds, given as profile and parameters, the record's own first.

    Stored runs on further blocks are kept and brought up to date, too, each at its own size.
    """
    claims = chapter_module._load_claims(code.files)
    if stored and claims:
        check_changes(stored["run"], claims, f"records/{code.files.name}/{asked[0][0]}.json", code)
    chance = None if claims is None else {claim for claim, row in claims.rows.items() if row.by_chance}
    others = {stamp["parameters"].get("first_seed"): stamp for stamp in (stored or {}).get("other_seeds", ())}
    known = {parameters.get("first_seed") for _, parameters in asked}
    (profile, parameters), *rest = asked
    rest += [(stamp["profile"], block_now(code.files, stamp)) for first, stamp in others.items() if first not in known]
    chosen = Chosen(claims, None, True, figures, force)
    plans = [plan_block(code, profile, parameters, stored and stored["run"], chosen)]
    by_chance = Chosen(claims, chance, False, False, force)
    return plans + [plan_block(code, size, p, others.get(p["first_seed"]), by_chance) for size, p in rest]


@contextlib.contextmanager
def _alone(files: ChapterFiles, profile: str) -> Iterator[None]:
    """Make the folder of pieces, and lock the record, since the first of two that end would remove them."""
    pieces = files.root / "records" / ".pieces"
    pieces.mkdir(parents=True, exist_ok=True)
    atomic_write(pieces / ".gitignore", "*\n")
    with held(pieces / f".{files.name}-{profile}.lock", f"{files.name}, {profile}: another record of it is running"):
        yield


def command(name: str, profile: str, **options) -> int:
    """`record` as a command, which prints the outcome; status 0, or 75 if it must be run again. Raises BookError."""
    try:
        path = record(name, profile, **options)
    except OutOfTime:
        print(f"{name}, {profile}: time used up, finished pieces are kept; run the same command again to go on")
        return OUT_OF_TIME
    message = f"recorded in {path}" if path else "nothing to do, the record is up to date"
    print(f"{name}, {profile}: {message}")
    return 0


def main(arguments: list[str]) -> int:
    """`python -m clbook.commands.record`, for a machine without the command line's packages."""
    parser = argparse.ArgumentParser(prog="record", description=__doc__.splitlines()[0])
    parser.add_argument("chapter")
    parser.add_argument("--profile", default="paper", help="smoke, default or paper")
    parser.add_argument("--seconds", type=float, help="stop between pieces after this time, with status 75")
    parser.add_argument("--other-seeds", type=int, default=0, help="runs on so many other blocks of seeds")
    parser.add_argument("--other-profile", help="the size of these runs; default: the same")
    parser.add_argument("--device", help="auto, cpu or cuda")
    parser.add_argument("--figures", action="store_true", help="also pictures whose cell has changed")
    parser.add_argument("--force", action="store_true", help="everything, not only what is stale")
    options = vars(parser.parse_args(arguments))
    try:
        with terminated_as_interrupted():
            return command(options.pop("chapter"), options.pop("profile"), **options)
    except BookError as error:
        print("record:", line_of(error), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("record: interrupted, finished pieces are kept", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    with printed("record"):
        sys.exit(main(sys.argv[1:]))
