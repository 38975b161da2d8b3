"""`make portability`: the committed notebooks' readings on the arithmetic of lesser processors.

Each chapter is computed again, once per level: with torch's plain loops in place of vector instructions, then also with
the oldest code of the libraries for linear algebra. It lists verdicts that change and values that leave their
tolerance. This stands in for another processor only as far as these variables reach; it prints what they change here.
"""

import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clbook.commands.verify import may_open, run_again
from clbook.commands.verify_distance import beyond
from clbook.commands.verify_plan import Job, jobs
from clbook.common.errors import BookError
from clbook.common.samples import commit_or_digest, sample
from clbook.common.sources import chapter_names, find_root
from clbook.common.subprocess_call import run_in_process
from clbook.notebook.results import verdicts_of
from clbook.provenance.staleness import STALE, states

PLAIN = {"OMP_NUM_THREADS": "1", "ATEN_CPU_CAPABILITY": "default"}
# An Intel processor follows the first of MKL's two, any x86 processor the second.
OLDEST = {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "MKL_CBWR": "COMPATIBLE", "OPENBLAS_CORETYPE": "Nehalem"}
OLDEST |= {"ONEDNN_MAX_CPU_ISA": "SSE41"}


def levels(machine: str) -> list[dict[str, str]]:
    """The variables of each level that a kind of machine has."""
    return [PLAIN, PLAIN | OLDEST] if machine.lower() in ("x86_64", "amd64") else [PLAIN]


def bits() -> dict[str, str]:
    """Digests of what torch's loops, torch's linear algebra and numpy's make of the same numbers."""
    import numpy
    import torch

    numbers = numpy.random.default_rng(0).standard_normal((97, 97))
    tensor = torch.from_numpy(numbers)
    results = {
        "torch's loops": tensor.softmax(1).numpy(),
        "torch's linear algebra": torch.linalg.svdvals(tensor @ tensor).numpy(),
        "numpy's linear algebra": numpy.linalg.svd(numbers @ numbers)[1],
    }
    return {what: hashlib.sha256(values.tobytes()).hexdigest() for what, values in results.items()}


@dataclass(frozen=True)
class Difference:
    """What differs in one reading, and whether that is allowed."""

    claim: str
    message: str
    allowed: bool = False


def differences(job: Job, again: dict) -> Iterator[Difference]:
    """What a run of a job's claims has changed; where seeds decide, rounding may leave a verdict open."""
    stamp, rows = job.stored.stamp, job.claims.rows
    before = verdicts_of(stamp, job.claims)
    after = verdicts_of(stamp | {"readings": stamp["readings"] | again["readings"]}, job.claims)
    for claim in (claim for claim in job.wanted if claim in again["readings"]):
        if claim in before and before[claim].verdict != after[claim].verdict:
            words = before[claim].verdict, after[claim].verdict
            allowed = may_open(rows[claim], *words)
            said = f"verdict: {' → '.join(words)}{' (allowed, seeds decide it)' if allowed else ''}"
            yield Difference(claim, said, allowed)
        for line in beyond(rows[claim], stamp["readings"][claim], again["readings"][claim], chance=True):
            yield Difference(claim, line)


def report(job: Job) -> list[Difference]:
    """Compute a job's readings under the variables of this process and print how they compare with the stored ones."""
    where, stored, state = job.stored.where, job.stored.stamp["readings"], states(job.code, job.stored.stamp, None)
    current = [claim for claim in job.wanted if state[claim].state != STALE]
    arguments = (str(job.code.files.root), job.code.files.name, job.parameters, job.stored.stamp["profile"])
    readings, absent = {}, []
    for encoded in (False, True):  # the packages of encoders are an extra
        claims = [claim for claim in current if job.needs_encoder(claim) == encoded]
        try:
            readings |= run_in_process(run_again, *arguments, claims)["readings"] if claims else {}
        except BookError as refused:
            absent.append(f"{where}, {', '.join(claims)}: not here: {refused}")
    problems = list(differences(job, {"readings": readings}))
    same = sum(repr(stored[claim]) == repr(reading) for claim, reading in readings.items())
    stale = f", {len(job.wanted) - len(current)} stale" if current != job.wanted else ""
    far = len({problem.claim for problem in problems})
    close = len(readings) - far - same
    print(f"{where}: {same} readings the same to the last bit, {close} within tolerance, {far} not{stale}")
    lines = [*absent, *(f"{where}, {problem.claim}: {problem.message}" for problem in problems)]
    print(*lines, sep="\n", end="\n" * bool(lines))
    return problems


def command(root: Path, chapter: str | None, claims: list[str]) -> int:
    """Report each level; the status is 1 if a verdict changed that may not or a value left its tolerance."""
    problems, usual, wanted = [], run_in_process(bits), jobs(root, chapter, claims, "default")
    for variables in levels(platform.machine()):
        os.environ.update(variables)  # for the processes started from here on; libraries read them once
        changed = [what for what, digest in run_in_process(bits).items() if digest != usual[what]]
        print(*(f"{name}={value}" for name, value in variables.items()))
        print(f"    changes the bits of {', '.join(changed) or 'nothing that was looked at'}", flush=True)
        problems += [problem for job in wanted for problem in report(job)]
    return int(any(not problem.allowed for problem in problems))


def main() -> int:
    """`python -m portability [CHAPTER [CLAIM …]]`; with `--drawn`, a chapter that the commit selects."""
    chapter, *claims = sys.argv[1:] or [None]
    try:
        root = find_root()
        if chapter == "--drawn":
            (chapter,) = sample(dict.fromkeys(chapter_names(root), 1.0), 1.0, f"{commit_or_digest(root)} portability")
        return command(root, chapter, claims)
    except BookError as error:
        print(f"make portability: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
