"""Stored readings computed again, at their own parameters, and held against what is stored.

On the same processor, capability, thread count and versions a reading must be the same to the last bit; elsewhere
within the rule's tolerance. Its verdict must be the same everywhere,
but for a claim that is marked as near the line. Stored pictures must have the sums in the stamp.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..chapter.results import verdicts_of
from ..chapter.shown import pictures_off
from ..ground.apart import TookTooLong, apart
from ..ground.draws import drawn_by
from ..ground.errors import BookError
from ..ground.sources import ChapterFiles, chapter_names
from ..provenance.slices import Story
from ..provenance.staleness import STALE, states
from ..provenance.stamps import made_by
from .request import check_data
from .verify_distance import distances, first_difference, same_arithmetic
from .verify_plan import Job, jobs, sampled, with_few_seeds

SAME, CLOSE, ABSENT = "the same to the last bit", "within the rule's tolerance", "not here"
WHOLE, LATE = "too dear, and few seeds give nothing to compare", "not finished in the time of the sample"
OVERTIME = 1.5  # of a sample's time: then what is unfinished is given up


@dataclass(frozen=True)
class Found:
    """What came of one stored reading."""

    claim: str
    where: str
    said: str
    wrong: bool = False


def run_again(root: str, name: str, parameters: dict, profile: str, claims: list[str]) -> dict:
    """The stamp of a run of what some claims need."""
    from ..chapter.pieces import Keeper
    from .script import run_script

    os.environ["CLBOOK_ROOT"] = root
    files = ChapterFiles(Path(root), name)
    with tempfile.TemporaryDirectory(prefix="clbook-") as scratch:
        units = Story(files).union(claims)
        return run_script(files, parameters, profile, Keeper(Path(scratch), float("inf")), units)


def check_job(job: Job, deadline: float | None = None) -> list[Found]:
    """Compute a job's readings again and compare each; what is not done at the deadline is given up."""
    files, where, stamp = job.story.files, job.stored.where, job.stored.stamp
    now = states(job.story, stamp, None)
    wanted = [claim for claim in job.wanted if now[claim].state != STALE]
    found = [Found(c, where, "stale: the present code makes another", False) for c in job.wanted if c not in wanted]
    reads = {p for claim in wanted for p in job.digests.claim(claim).parameters}
    try:
        if "data" in reads:
            check_data(job.parameters, files.name)
    except BookError as missing:
        without = [claim for claim in wanted if "data" not in job.digests.claim(claim).parameters]
        found += [Found(claim, where, f"{ABSENT}: {missing}") for claim in wanted if claim not in without]
        wanted = without
    if not wanted:
        return found
    try:
        limit = None if deadline is None else max(0.0, deadline - time.monotonic())
        given = (str(files.root), files.name, job.parameters, stamp["profile"], wanted)
        again = apart(run_again, *given, seconds=limit)
    except TookTooLong:
        return found + [Found(claim, where, LATE) for claim in wanted]
    except EOFError:
        raise BookError(f"{where}: the process that computed it died; is there memory enough?") from None
    return found + [compare(job, claim, again) for claim in wanted]


def compare(job: Job, claim: str, again: dict) -> Found:
    """One stored reading beside the one that was computed now."""
    stamp, where = job.stored.stamp, job.stored.where
    if claim not in again["readings"]:
        return Found(claim, where, "the run gave no reading of it", True)
    stored, now = stamp["readings"][claim], again["readings"][claim]
    elsewhere = not same_arithmetic(made_by(stamp, claim), again)
    if job.few:
        stored, now = job.few.cut(stored, now)
    else:
        before, verdict = _verdict(job, claim, stored), _verdict(job, claim, now)
        if before != verdict and not (elsewhere and job.claims.rows[claim].near):
            return Found(claim, where, f"stored is {before}, computed {verdict}", True)
    if not elsewhere and not job.few:
        return (
            Found(claim, where, SAME)
            if repr(stored) == repr(now)
            else Found(claim, where, first_difference(stored, now), True)
        )
    if repr(stored) == repr(now):
        return Found(claim, where, SAME)
    off = [d for d in distances(job.claims.rows[claim], stored, now, chance=elsewhere) if d > 1.0]
    return Found(claim, where, first_difference(stored, now), True) if off else Found(claim, where, CLOSE)


def _verdict(job: Job, claim: str, arms: dict) -> str:
    """The verdict on a reading in the place of the stored one, with the whole run's correction."""
    stamp = job.stored.stamp
    return verdicts_of(stamp | {"readings": stamp["readings"] | {claim: arms}}, job.claims)[claim].verdict


def command(
    root: Path, chapter: str | None, claims: list[str], profile: str | None, *, sample: float | None, one_seed: bool
) -> int:
    """`clbook verify`: says what came of each run; status 1 where something is not what is stored."""
    by, found, began = drawn_by(root), jobs(root, chapter, claims, profile), time.monotonic()
    results: list[Found] = []
    deadline = None if sample is None else began + OVERTIME * sample
    if one_seed:
        found, whole = with_few_seeds(found, by)
        results += [Found(claim, job.stored.where, WHOLE) for job, claim in whole]
    if sample is not None:
        found = sampled(found, sample, by)
    for job in found:
        some = check_job(job, deadline)
        results += some
        of = " for few of its seeds" if job.few else ""
        print(f"{job.stored.where}: {len(some)} readings{of}, {sum(r.wrong for r in some)} wrong", flush=True)
    for result in (r for r in results if r.wrong or r.said.startswith(("stale", ABSENT, LATE))):
        print(f"{result.where}, {result.claim}: {result.said}")
    off = list(changed_pictures(root, chapter))
    print(*off, sep="\n", end="\n" if off else "")
    _say(results, time.monotonic() - began)
    return 1 if off or any(r.wrong for r in results) else 0


def changed_pictures(root: Path, chapter: str | None) -> Iterator[str]:
    """Stored pictures, of notebooks and records, that are not those that the stored runs made; a line each."""
    for name in [chapter] if chapter else chapter_names(root):
        for where, picture in pictures_off(ChapterFiles.find(name, root)):
            yield f"{where}: the picture {picture} is not the one that the stored run made"


def _say(results: list[Found], seconds: float) -> None:
    counts = {said: sum(r.said == said for r in results) for said in (SAME, CLOSE, WHOLE, LATE)}
    other = {"stale": sum(r.said.startswith("stale") for r in results)}
    other |= {"wrong": sum(r.wrong for r in results), ABSENT: sum(r.said.startswith(ABSENT) for r in results)}
    said = ", ".join(f"{n} {what}" for what, n in (counts | other).items() if n)
    print(f"{len(results)} readings: {said or 'none'}; {seconds:.0f} s")
