"""Which stored readings `clbook verify` recomputes, and what they cost."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..claims.claim_table import Claims
from ..common import project
from ..common.errors import BookError
from ..common.samples import sample
from ..common.sources import named_chapters
from ..provenance.digests import ChapterDigests
from ..provenance.library import Library
from ..provenance.slices import ChapterCode
from ..provenance.staleness import Stored, notebooks_stamp, stored_stamps
from ..provenance.stamps import seconds_of, seconds_of_record
from .parts import Part, few_cases, part_of
from .request import check_data, named_claims

INTEGRATOR = "torchdiffeq.odeint"  # adaptive: all runs of a batch share its steps
START_SECONDS = 5.0  # to start a process and import torch; the readings of one run share it
PART_ABOVE_SHARE = 1 / 3  # of a sample's budget; whatever takes longer is computed in part
WHOLE_BELOW_SECONDS = 30.0  # seconds; whatever takes no longer is computed with all its seeds


@dataclass
class Job:
    """Readings of one stored run that are computed together."""

    code: ChapterCode
    claims: Claims
    stored: Stored
    wanted: list[str]
    part: Part | None = None

    @cached_property
    def digests(self) -> ChapterDigests:
        """The digests for the stored run's own parameters."""
        return ChapterDigests(self.code, self.stored.stamp["parameters"])

    def is_at_hand(self, claim: str) -> bool:
        """Whether everything a reading needs is here: nothing to download, no features to encode."""
        provenance = self.digests.claim(claim)
        if "data" not in provenance.parameters or project.data_sets().is_bundled(self.stored.stamp["data"]):
            return True
        try:
            check_data(self.stored.stamp["parameters"], self.code.files.name)
        except BookError:
            return False
        return not self.needs_encoder(claim)

    def needs_encoder(self, claim: str) -> bool:
        """Whether a reading rests on features that a pretrained encoder makes."""
        return any(project.is_costly(name) for name in self.digests.claim(claim).reaches)

    def shares_steps(self, claim: str) -> bool:
        """Whether a part of a reading is integrated in other steps than the whole run."""
        return bool(self.part) and self.digests.calls(claim, INTEGRATOR)

    def part_of(self, claim: str, by: str) -> Part | None:
        """The part that a row names, or one drawn by `by`; None if a part would not represent the whole."""
        row, stamp = self.claims.rows[claim], self.stored.stamp
        if claim not in stamp["readings"]:  # outside its regime: a smaller run would be, too
            return None
        named = few_cases(stamp, row.part) if row.part else None
        return named or (None if row.whole else part_of(self.digests, stamp, claim, by))

    @cached_property
    def cell_seconds(self) -> dict[int, float]:
        """The seconds of each cell in this run; if all are unknown, those in the notebook, in proportion.

        A single cell without seconds, whose pieces were kept of an earlier attempt, counts as in the notebook.
        """
        seconds = seconds_of_record(self.stored.stamp, self.digests)
        if not (shown := notebooks_stamp(self.code.files)):
            return seconds
        by_default = seconds_of(shown, ChapterDigests(self.code, shown["parameters"]))
        factor = 1.0 if seconds else self.stored.stamp["seconds"] / max(sum(by_default.values()), 1.0)
        return {n: factor * took for n, took in by_default.items()} | seconds

    def cost(self, claim: str) -> float:
        """The seconds of a reading's cells."""
        return self._cost_of([claim])

    @property
    def seconds(self) -> float:
        """What all its readings are expected to take together; cells that several need are counted once."""
        return self._cost_of(self.wanted) * (self.part.share if self.part else 1.0)

    def _cost_of(self, claims: list[str]) -> float:
        cells = {self.code.units[n].cell for n in self.code.union(claims)}
        return sum(self.cell_seconds.get(n, 0.0) for n in cells)

    @property
    def parameters(self) -> dict:
        return self.part.parameters if self.part else self.stored.stamp["parameters"]


def jobs(root: Path, chapter: str | None, claims: list[str], profile: str | None = None) -> list[Job]:
    """Every stored run with the requested readings; raises BookError for an unknown chapter or claim.

    With a profile, only the runs at that size; raises BookError if there are none.
    """
    library, planned = Library(), []
    for files in named_chapters(None if chapter is None else [chapter], root):
        asked = set(named_claims(files, claims, "verify")) if claims else None
        code, rows = ChapterCode(files, library), Claims.load(files.claims)
        for stored in stored_stamps(files):
            wanted = [c for c in stored.stamp["claims"] if c in code.claims and (asked is None or c in asked)]
            if wanted and profile in (None, stored.stamp["profile"]):
                planned.append(Job(code, rows, stored, wanted))
    if profile is not None and not planned:
        raise BookError(f"verify: no run at the size {profile!r} is stored")
    return planned


class Draw(Mapping[str, float]):
    """The seconds that each planned reading takes, with its start, worked out when they are asked for.

    Whatever takes longer than the budget even in part, or is not at hand, takes for ever.
    """

    def __init__(self, planned: list[Job], budget: float, by: str):
        self.budget, self.by = budget, by
        self.places = {f"{job.stored.where} {claim}": (job, claim) for job in planned for claim in job.wanted}

    def chosen(self, name: str) -> tuple[Job, str, Part | None, float]:
        """A reading's job, its claim, the part of it that is computed, and what that takes, in seconds."""
        job, claim = self.places[name]
        cost = job.cost(claim)
        part = job.part_of(claim, self.by) if cost > PART_ABOVE_SHARE * self.budget else None
        return job, claim, part, cost * part.share if part else cost

    def __getitem__(self, name: str) -> float:
        job, claim, _, cost = self.chosen(name)
        return cost + START_SECONDS if cost <= self.budget and job.is_at_hand(claim) else math.inf

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def sampled(planned: list[Job], budget: float, by: str) -> list[Job]:
    """The readings that are drawn within a budget of seconds; costly ones in part."""
    draw = Draw(planned, budget, by)
    return grouped(draw.chosen(name)[:3] for name in sample(draw, budget, by))


def in_parts(planned: list[Job], by: str) -> list[Job]:
    """The readings, costly ones in part; what has no part that can be computed alone is computed whole."""
    return grouped(
        (job, claim, job.part_of(claim, by) if job.cost(claim) > WHOLE_BELOW_SECONDS else None)
        for job in planned
        for claim in job.wanted
    )


def grouped(chosen: Iterable[tuple[Job, str, Part | None]]) -> list[Job]:
    """Jobs of readings that can be computed together: those of one stored run with the same parameters."""
    groups: dict[tuple, Job] = {}
    for job, claim, part in chosen:
        key = (job.stored.where, part and part.key)
        groups.setdefault(key, Job(job.code, job.claims, job.stored, [], part)).wanted.append(claim)
    return list(groups.values())
