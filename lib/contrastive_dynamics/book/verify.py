"""Stored readings computed again, at their own parameters, and held against what is stored.

On the same processor, capability, thread count and versions a reading must be the same to the last bit; elsewhere
within the rule's tolerance. Its verdict must be the same everywhere.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path

from .claims import Claims
from .digests import ChapterDigests
from .draws import drawn, drawn_by
from .errors import BookError
from .few_seeds import Fewer, fewer
from .library import Library
from .request import GENERATED, check_data, named_claims
from .results import verdicts_of
from .slices import Story
from .sources import ChapterFiles, chapter_names
from .staleness import STALE, Stored, notebook_stamp, states, stored_stamps
from .stamps import made_by, seconds_of
from .statistics import Sample

SAME, CLOSE, ABSENT = "the same to the last bit", "within the rule's tolerance", "not here"
WHOLE = "needs all its seeds"
SHIPPED = ("generated", "digits", *GENERATED)  # data that need nothing from outside
START_SECONDS = 2.0  # of a process, for each reading: those of one run share it
DEAR = 1 / 3  # of a sample's budget: what takes longer is computed for few seeds


@dataclass(frozen=True)
class Found:
    """What came of one stored reading."""

    claim: str
    where: str
    said: str
    wrong: bool = False


@dataclass
class Job:
    """Readings of one stored run that are computed together."""

    story: Story
    claims: Claims
    stored: Stored
    wanted: list[str]
    few: Fewer | None = None

    @cached_property
    def digests(self) -> ChapterDigests:
        """Of the stored run's own parameters."""
        return ChapterDigests(self.story, self.stored.stamp["parameters"])

    @property
    def parameters(self) -> dict:
        return self.few.parameters if self.few else self.stored.stamp["parameters"]


def jobs(root: Path, chapter: str | None, claims: list[str]) -> list[Job]:
    """Every stored run with the readings that are asked for; raises BookError for an unknown chapter or claim."""
    library, found = Library(), []
    for name in [chapter] if chapter else chapter_names(root):
        files = ChapterFiles.find(name, root)
        asked = set(named_claims(files, claims, "verify")) if claims else None
        story, rows = Story(files, library), Claims.load(files.claims)
        for stored in stored_stamps(files):
            wanted = [c for c in stored.stamp["readings"] if c in story.claims and (asked is None or c in asked)]
            if wanted:
                found.append(Job(story, rows, stored, wanted))
    return found


def costs(job: Job) -> dict[str, float]:
    """Claim → seconds: those of its cells in this run, where unknown those in the notebook in proportion."""
    seconds, factor = seconds_of(job.stored.stamp, job.story), 1.0
    if not seconds and (shown := notebook_stamp(job.story.files.notebook)):
        seconds = seconds_of(shown, job.story)
        factor = job.stored.stamp["seconds"] / max(sum(seconds.values()), 1.0)
    cells = {c: {job.story.units[n].cell for n in job.story.union([c])} for c in job.wanted}
    return {claim: factor * sum(seconds.get(n, 0.0) for n in of) for claim, of in cells.items()}


def sampled(found: list[Job], budget: float, by: str) -> list[Job]:
    """The readings that are drawn, within a budget of seconds; dear ones for few seeds.

    Left out is what takes longer than the budget even so, and what reads a data set that has to be fetched: what is
    made of it first (features, encoders) has no known cost.
    """
    places, seconds = {}, {}
    for job in found:
        for claim, cost in costs(job).items():
            few = fewer(job.digests, job.stored.stamp, claim, by) if cost > DEAR * budget else None
            cost = cost * few.share if few else cost
            fetched = "data" in job.digests.claim(claim).parameters and job.stored.stamp["data"] not in SHIPPED
            if cost <= budget and not fetched:
                name = f"{job.stored.where} {claim}"
                places[name], seconds[name] = (job, claim, few), cost + START_SECONDS
    chosen: dict[tuple, Job] = {}
    for name in drawn(seconds, budget, by):
        job, claim, few = places[name]
        key = (job.stored.where, few and few.key)
        chosen.setdefault(key, Job(job.story, job.claims, job.stored, [], few)).wanted.append(claim)
    return list(chosen.values())


def with_few_seeds(found: list[Job], by: str) -> tuple[list[Job], list[Found]]:
    """The same readings for few of their seeds, and those of which that gives nothing to compare."""
    chosen: dict[tuple, Job] = {}
    whole = []
    for job in found:
        for claim in job.wanted:
            few = fewer(job.digests, job.stored.stamp, claim, by)
            if few is None:
                whole.append(Found(claim, job.stored.where, WHOLE))
                continue
            place = chosen.setdefault((job.stored.where, few.key), Job(job.story, job.claims, job.stored, [], few))
            place.wanted.append(claim)
    return list(chosen.values()), whole


def run_again(root: str, name: str, parameters: dict, profile: str, claims: list[str]) -> dict:
    """The stamp of a run of what some claims need."""
    from .pieces import Keeper
    from .script import run_script

    os.environ["CLBOOK_ROOT"] = root
    files = ChapterFiles(Path(root), name)
    with tempfile.TemporaryDirectory(prefix="clbook-") as scratch:
        units = Story(files).union(claims)
        return run_script(files, parameters, profile, Keeper(Path(scratch), float("inf")), units)


def _silent() -> None:
    """Let a process say nothing: what chapters print stands in their notebooks."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)


def apart(function: Callable[..., dict], *given) -> dict:
    """A call in a fresh process; raises BrokenProcessPool if that dies."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_silent) as pool:
        return pool.submit(function, *given).result()


def check_job(job: Job) -> list[Found]:
    """Compute a job's readings again and compare each."""
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
        again = apart(run_again, str(files.root), files.name, job.parameters, stamp["profile"], wanted)
    except BrokenProcessPool:
        raise BookError(f"{where}: the process that computed it died; is there memory enough?") from None
    return found + [compare(job, claim, again) for claim in wanted]


def compare(job: Job, claim: str, again: dict) -> Found:
    """One stored reading beside the one that was computed now."""
    stamp, where = job.stored.stamp, job.stored.where
    if claim not in again["readings"]:
        return Found(claim, where, "the run gave no reading of it", True)
    stored, now = stamp["readings"][claim], again["readings"][claim]
    if job.few:
        stored, now = job.few.cut(stored, now)
    elif (verdict := _verdict(job, claim, again["readings"][claim])) != (before := _verdict(job, claim, stored)):
        return Found(claim, where, f"stored is {before}, computed {verdict}", True)
    if same_arithmetic(made_by(stamp, claim), again) and not job.few:
        return Found(claim, where, SAME) if repr(stored) == repr(now) else Found(claim, where, _off(stored, now), True)
    if repr(stored) == repr(now):
        return Found(claim, where, SAME)
    off = [d for d in distances(job.claims, claim, stored, now) if d > 1.0]
    return Found(claim, where, _off(stored, now), True) if off else Found(claim, where, CLOSE)


def _verdict(job: Job, claim: str, arms: dict) -> str:
    """The verdict on a reading in the place of the stored one, with the whole run's correction."""
    stamp = job.stored.stamp
    return verdicts_of(stamp | {"readings": stamp["readings"] | {claim: arms}}, job.claims)[claim].verdict


def same_arithmetic(before: dict, now: dict) -> bool:
    """Whether two runs must agree to the last bit; a stamp that does not say its instructions is not held to it."""
    keys = ("versions", "device", "capability", "threads")
    return all(key in before and before[key] == now[key] for key in keys)


def distances(claims: Claims, claim: str, stored: dict, now: dict) -> Iterable[float]:
    """How far each sample is off, in units of what is allowed; infinite where arms or cases differ."""
    if {a: set(cases) for a, cases in stored.items()} != {a: set(cases) for a, cases in now.items()}:
        yield float("inf")
        return
    for arm, cases in stored.items():
        for case, value in cases.items():
            yield _distance(claims, claim, Sample.of(value), Sample.of(now[arm][case]))


def _distance(claims: Claims, claim: str, before: Sample, after: Sample) -> float:
    """How far two samples are apart, over what is allowed: rounding, an identity's rule, or what chance leaves open.

    Where seeds decide, other rounding may lead a training elsewhere: the mean may move by half of its interval.
    """
    row = claims.rows[claim]
    if before.size != after.size:
        return float("inf")
    if before == after:
        return 0.0
    if before.by_chance and row.by_chance:
        low, high = before.interval()
        return abs(before.estimate - after.estimate) / max((high - low) / 2, 1e-6 * abs(before.estimate), 1e-300)
    allowed = min((abs(t) for t in row.rule.thresholds if t), default=0.0) if row.kind == "identity" else 0.0
    pairs = zip(before.values, after.values, strict=True)
    return max(abs(a - b) / max(allowed, 1e-6 * abs(a), 1e-300) for a, b in pairs)


def _off(stored: dict, now: dict) -> str:
    """The first value that differs, in words."""
    for arm in stored.keys() | now.keys():
        for case in stored.get(arm, {}).keys() | now.get(arm, {}).keys():
            a, b = stored.get(arm, {}).get(case), now.get(arm, {}).get(case)
            if repr(a) != repr(b):
                pairs = zip(a, b, strict=False) if isinstance(a, list) and isinstance(b, list) else [(a, b)]
                x, y = next(((x, y) for x, y in pairs if repr(x) != repr(y)), (a, b))
                return f"{arm} {case}: stored is {x}, computed {y}".replace(" :", ":")
    return "stored and computed differ"


def command(root: Path, chapter: str | None, claims: list[str], *, sample: float | None, one_seed: bool) -> int:
    """`clbook verify`: says what came of each run; status 1 where a reading is not what is stored."""
    by, found, began = drawn_by(root), jobs(root, chapter, claims), time.monotonic()
    whole: list[Found] = []
    if one_seed:
        found, whole = with_few_seeds(found, by)
    if sample is not None:
        found = _sampled_few(found, sample, by) if one_seed else sampled(found, sample, by)
    results = list(whole)
    for job in found:
        some = check_job(job)
        results += some
        of = " for few of its seeds" if job.few else ""
        print(f"{job.stored.where}: {len(some)} readings{of}, {sum(r.wrong for r in some)} wrong", flush=True)
    for result in (r for r in results if r.wrong or r.said.startswith(("stale", ABSENT))):
        print(f"{result.where}, {result.claim}: {result.said}")
    _say(results, time.monotonic() - began)
    return 1 if any(r.wrong for r in results) else 0


def _sampled_few(found: list[Job], budget: float, by: str) -> list[Job]:
    """Of readings for few seeds those that are drawn."""
    seconds = {f"{j.stored.where} {j.few.key} {c}": s * j.few.share + 1 for j in found for c, s in costs(j).items()}
    chosen = set(drawn(seconds, budget, by))
    for job in found:
        job.wanted = [c for c in job.wanted if f"{job.stored.where} {job.few.key} {c}" in chosen]
    return [job for job in found if job.wanted]


def _say(results: list[Found], seconds: float) -> None:
    counts = {said: sum(r.said == said for r in results) for said in (SAME, CLOSE, WHOLE)}
    other = {"stale": sum(r.said.startswith("stale") for r in results)}
    other |= {"wrong": sum(r.wrong for r in results), ABSENT: sum(r.said.startswith(ABSENT) for r in results)}
    said = ", ".join(f"{n} {what}" for what, n in (counts | other).items() if n)
    print(f"{len(results)} readings: {said or 'none'}; {seconds:.0f} s")
