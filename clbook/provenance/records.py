"""A record's file: its run, those on other blocks of seeds, how many blocks it was asked for, and a seal over all."""

from pathlib import Path

from ..common.errors import BookError
from ..common.formats import RECORD, intact
from ..common.sources import ChapterFiles
from .library import sha
from .stamps import check


def read_record(path: Path, files: ChapterFiles | None = None) -> dict:
    """A record: its `run`, the runs on `other_seeds`, each on a block of its own, and how many `blocks` it should hold.

    Raises BookError if it is damaged, of another format, or of another chapter than that of the `files`.
    """
    record, where = intact(path, RECORD), f"{path.parent.name}/{path.name}"
    runs = [check(stamp, where) for stamp in (record["run"], *record.get("other_seeds", ()))]
    firsts = [run["parameters"].get("first_seed") for run in of_one_chapter(runs, files, where)]
    if twice := [first for first in firsts if firsts.count(first) > 1]:
        raise BookError(
            f"{where}: damaged: first_seed={twice[0]} occurs {firsts.count(twice[0])} times; {RECORD.remedy}"
        )
    if record.get("seal") != seal_of(runs, record["blocks"]):
        raise BookError(f"{where}: damaged: its runs are not those that it was written with; {RECORD.remedy}")
    return {"other_seeds": []} | record


def sealed_record(runs: list[dict], blocks: int) -> dict:
    """The content of a record: the run on the profile's own seeds, those on others, and of how many it should hold."""
    blocks = max(blocks, len(runs))
    return {"run": runs[0], "other_seeds": runs[1:], "blocks": blocks, "seal": seal_of(runs, blocks)}


def seal_of(runs: list[dict], blocks: int) -> str:
    """The seal of a record over its runs, from which none can then be dropped, exchanged or repeated."""
    return sha(*(run["seal"] for run in runs), f"{blocks} blocks")


def missing_blocks(record: dict) -> int:
    """How many of the blocks of seeds that a record was asked for it does not hold."""
    return record["blocks"] - 1 - len(record["other_seeds"])


def of_one_chapter(stamps: list[dict], files: ChapterFiles | None, where: str) -> list[dict]:
    """The stamps, if they are of this chapter, or of one if there are no files; raises BookError otherwise."""
    wanted = files.name if files else stamps[0]["chapter"]
    if others := [stamp["chapter"] for stamp in stamps if stamp["chapter"] != wanted]:
        raise BookError(f"{where}: must hold runs of {wanted}, got one of {others[0]}; {RECORD.remedy}")
    return stamps
