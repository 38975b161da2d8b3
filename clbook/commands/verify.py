"""Recomputation of stored readings, and of what notebooks show beside them, and comparison with what is stored.

With the same processor, capability, BLAS, thread count and versions, a reading must be the same to the last bit;
elsewhere it must be within the rule's tolerance. Its verdict must be the same everywhere, except that elsewhere other
rounding may, as other seeds may, leave open what was decided, or decide it. Stored pictures, and what else notebooks
show, must have the sums in the stamp.
"""

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..claims.claim_table import Claim
from ..common.durations import check_seconds, duration
from ..common.errors import BookError
from ..common.pictures import blocks
from ..common.samples import commit_or_digest
from ..common.sources import ChapterFiles, named_chapters
from ..common.subprocess_call import TookTooLong, run_in_process
from ..notebook.results import verdicts_of
from ..notebook.shown import changed_outputs
from ..provenance.slices import ChapterCode
from ..provenance.staleness import STALE, states
from ..provenance.stamps import made_by
from .request import check_data
from .verify_distance import beyond, first_difference, same_arithmetic
from .verify_outputs import beside, edited
from .verify_plan import Job, in_parts, jobs, sampled

SAME, CLOSE, ABSENT = "the same to the last bit", "within the rule's tolerance", "not here"
UNDRAWN = "not computed, too long even in part"
UNJUDGED = "outside their regime, as stored"
UNREACHED, LATE = "not given by so small a part of their run", "not finished in its time"
LONGEST_SECONDS = 600.0  # that one reading may take, in part where it has a part
OVERTIME_SHARE = 1.5  # times a sample's time; whatever is unfinished then is abandoned
JOB_TIMES_EXPECTED, JOB_START_SECONDS = 3.0, 40.0  # lest one job use up a sample: times its seconds, plus its start
NOTHING = "verify: nothing was verified, no reading was finished in its time"


@dataclass(frozen=True)
class Outcome:
    """The outcome for one stored reading."""

    claim: str
    where: str
    message: str
    wrong: bool = False
    output: bool = False  # what a notebook shows; `claim` then names the output


def run_again(
    root: str, name: str, parameters: dict, profile: str, claims: list[str], beside: Sequence[int] = ()
) -> dict:
    """The stamp of a run of some claims, and of units `beside` them, with their dependencies.

    Its key `made` has the glued numbers by name, the printed texts by code cell and the pictures' `blocks` by name. The
    run neither reads nor leaves pieces of other runs.
    """
    from ..notebook.pieces import Keeper
    from .script import run_script

    os.environ["CLBOOK_ROOT"] = root
    files = ChapterFiles(Path(root), name)
    with tempfile.TemporaryDirectory(prefix="clbook-") as scratch:
        code, keeper = ChapterCode(files), Keeper(Path(scratch), float("inf"))
        units = sorted(set(code.union(claims)).union(*(code.needed(n) for n in beside)))
        stamp = run_script(files, parameters, profile, keeper, units)
        greys = {path.stem: blocks(path.read_bytes()) for path in Path(scratch).rglob("*.png")}
        return stamp | {"made": {"numbers": keeper.numbers, "texts": keeper.texts, "blocks": greys}}


def check_job(job: Job, deadline: float | None = None) -> list[Outcome]:
    """Recompute a job's readings and compare each; those that are not finished by the deadline are abandoned."""
    files, where, stamp = job.code.files, job.stored.where, job.stored.stamp
    present = states(job.code, stamp, None)
    wanted = [claim for claim in job.wanted if present[claim].state != STALE]
    stale = [claim for claim in job.wanted if claim not in wanted]
    outcomes = [Outcome(claim, where, "stale: the present code makes another") for claim in stale]
    reads = {p for claim in wanted for p in job.digests.claim(claim).parameters}
    try:
        if "data" in reads:
            check_data(job.parameters, files.name)
    except BookError as missing:
        without = [claim for claim in wanted if "data" not in job.digests.claim(claim).parameters]
        outcomes += [Outcome(claim, where, f"{ABSENT}: {missing}") for claim in wanted if claim not in without]
        wanted = without
    encoded = [claim for claim in wanted if job.needs_encoder(claim)]
    for claims in ([claim for claim in wanted if claim not in encoded], encoded):
        outcomes += _compared(job, claims, deadline) if claims else []
    return outcomes


def _compared(job: Job, claims: list[str], deadline: float | None) -> list[Outcome]:
    """Compute some readings of a job in a subprocess with a timeout and compare each."""
    files, where = job.code.files, job.stored.where
    limit = None if deadline is None else max(0.0, deadline - time.monotonic())
    units = beside(job, claims)
    arguments = (str(files.root), files.name, job.parameters, job.stored.stamp["profile"], claims, units)
    try:
        again = run_in_process(run_again, *arguments, seconds=limit)
    except TookTooLong:
        return [Outcome(claim, where, LATE) for claim in claims]
    except EOFError as how:
        raise BookError(f"{where}: the process that computed it {how}") from None
    except BookError as refused:
        if not job.needs_encoder(claims[0]):
            return [Outcome(claim, where, str(refused), True) for claim in claims]
        return [Outcome(claim, where, f"{ABSENT}: {refused}") for claim in claims]  # its packages are an extra
    outputs = [Outcome(one.output, where, one.how, one.wrong, output=True) for one in edited(job, units, again)]
    return [*(compare(job, claim, again) for claim in claims), *outputs]


def compare(job: Job, claim: str, again: dict) -> Outcome:
    """Compare a stored reading with the one computed now."""
    stamp, where = job.stored.stamp, job.stored.where
    if claim not in stamp["readings"]:
        found = claim in again["readings"]
        return Outcome(claim, where, "the run gives a reading of it, none is stored" if found else UNJUDGED, found)
    if claim not in again["readings"]:
        if job.part and claim in again["claims"]:  # so small a run does not reach the claim's regime
            return Outcome(claim, where, UNREACHED)
        return Outcome(claim, where, "the run gave no reading of it", True)
    stored, now = stamp["readings"][claim], again["readings"][claim]
    elsewhere = not same_arithmetic(made_by(stamp, claim), again)
    if job.part:
        stored, now = job.part.cut(stored, now)
    else:
        before, verdict = _verdict(job, claim, stored), _verdict(job, claim, now)
        if before != verdict and not (elsewhere and may_open(job.claims.rows[claim], before, verdict)):
            return Outcome(claim, where, f"stored is {before}, computed {verdict}", True)
    if repr(stored) == repr(now):
        return Outcome(claim, where, SAME)
    if elsewhere or job.part:
        far = beyond(job.claims.rows[claim], stored, now, elsewhere, job.shares_steps(claim))
        return Outcome(claim, where, far[0], True) if far else Outcome(claim, where, CLOSE)
    return Outcome(claim, where, first_difference(stored, now), True)


def _verdict(job: Job, claim: str, arms: dict) -> str:
    """The verdict on a reading in place of the stored one."""
    return verdicts_of(job.stored.stamp | {"readings": {claim: arms}}, job.claims)[claim].verdict


def may_open(row: Claim, before: str, now: str) -> bool:
    """Whether other rounding may turn one verdict into the other: where seeds decide, and one of the two is open."""
    return row.seeds_decide and "undecided" in (before, now)


def command(
    root: Path, chapter: str | None, claims: list[str], profile: str | None, *, sample: float | None, one_seed: bool
) -> int:
    """`clbook verify`: prints the outcome for each run; the status is 1 if anything differs from what is stored."""
    check_seconds("--sample", sample)
    if sample is not None and one_seed:
        raise BookError("verify: --sample computes costly readings in part by itself; give it or --one-seed, not both")
    by, planned = commit_or_digest(root), jobs(root, chapter, claims, profile)
    outcomes: list[Outcome] = []  # of readings that are too long, so far
    if one_seed:
        planned, outcomes = affordable(planned, by)
        planned = in_parts(planned, by)
    if sample is not None:
        planned = sampled(planned, sample, by)
    began = time.monotonic()  # what is drawn is known: the time of a sample is that of its runs
    deadline = None if sample is None else began + OVERTIME_SHARE * sample
    for job in planned:
        own = time.monotonic() + JOB_TIMES_EXPECTED * job.seconds + (LONGEST_SECONDS if one_seed else JOB_START_SECONDS)
        checked = check_job(job, own if one_seed else deadline and min(deadline, own))
        if one_seed:
            checked = _with_whole(job, checked)
        outcomes += checked
        _print_job(job, checked)
    named = named_chapters(None if chapter is None else [chapter], root)
    changed = [line for files in named for line in changed_outputs(files)]
    print(*changed, sep="\n", end="\n" if changed else "")
    _print_counts(outcomes, time.monotonic() - began)
    nothing = bool(outcomes) and all(outcome.message == LATE for outcome in outcomes)
    if nothing:
        print(NOTHING)
    return 1 if changed or nothing or any(outcome.wrong for outcome in outcomes) else 0


def affordable(planned: list[Job], by: str) -> tuple[list[Job], list[Outcome]]:
    """The jobs without the readings that take longer than LONGEST_SECONDS even in part, and what is said of these."""
    kept, undrawn = [], []
    for job in planned:
        costs = {claim: _least_cost(job, claim, by) for claim in job.wanted}
        kept.append(replace(job, wanted=[claim for claim, cost in costs.items() if cost <= LONGEST_SECONDS]))
        for claim, cost in costs.items():
            if cost > LONGEST_SECONDS:
                undrawn.append(Outcome(claim, job.stored.where, f"{UNDRAWN}: {duration(cost)} are expected"))
    for outcome in undrawn:
        print(f"{outcome.where}, {outcome.claim}: {outcome.message}", flush=True)
    return kept, undrawn


def _least_cost(job: Job, claim: str, by: str) -> float:
    """The seconds of a reading with few of its seeds, or of all of it where these do not suffice."""
    cost = job.cost(claim)
    part = job.part_of(claim, by) if cost > LONGEST_SECONDS else None
    return cost * part.share if part else cost


def _with_whole(job: Job, checked: list[Outcome]) -> list[Outcome]:
    """The outcomes of a job, with whole readings in place of those that its part did not give, if affordable."""
    lost = [o.claim for o in checked if o.message == UNREACHED and job.cost(o.claim) <= LONGEST_SECONDS]
    if not lost:
        return checked
    seconds = sum(job.cost(claim) for claim in lost)
    deadline = time.monotonic() + JOB_TIMES_EXPECTED * seconds + JOB_START_SECONDS
    whole = check_job(replace(job, wanted=lost, part=None), deadline)
    return [outcome for outcome in checked if outcome.claim not in lost] + whole


def _print_job(job: Job, checked: list[Outcome]) -> None:
    """Print a job's counts and at once what differs in it: the next job may take an hour, or be interrupted."""
    in_part = f" in part, with {_changed(job)}" if job.part else ""
    wrong = sum(outcome.wrong for outcome in checked)
    print(f"{job.stored.where}: {_readings(checked)} readings{in_part}, {wrong} wrong", flush=True)
    for outcome in checked:
        if outcome.wrong or outcome.output or outcome.message.startswith(("stale", ABSENT, LATE)):
            print(f"{outcome.where}, {outcome.claim}: {outcome.message}", flush=True)


def _changed(job: Job) -> str:
    """The parameters in which a part differs from the stored run."""
    stored = job.stored.stamp["parameters"]
    return " ".join(f"{name}={value}" for name, value in job.parameters.items() if value != stored.get(name))


def _readings(outcomes: list[Outcome]) -> int:
    return sum(not outcome.output for outcome in outcomes)


def _print_counts(outcomes: list[Outcome], seconds: float) -> None:
    counts = {
        message: sum(o.message == message for o in outcomes) for message in (SAME, CLOSE, UNJUDGED, UNREACHED, LATE)
    }
    counts |= {UNDRAWN: sum(o.message.startswith(UNDRAWN) for o in outcomes)}
    counts |= {"stale": sum(o.message.startswith("stale") for o in outcomes)}
    counts |= {"wrong": sum(o.wrong and not o.output for o in outcomes)}
    counts |= {"outputs of notebooks that differ": sum(o.output for o in outcomes)}
    counts |= {ABSENT: sum(o.message.startswith(ABSENT) for o in outcomes)}
    counted = ", ".join(f"{n} {what}" for what, n in counts.items() if n)
    print(f"{_readings(outcomes)} readings: {counted or 'none'}; {seconds:.0f} s")
