"""Which stored readings `clbook verify` computes again, and what they cost."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...data.registry import comes_along
from ..claims.claim_table import Claims
from ..ground.draws import drawn
from ..ground.errors import BookError
from ..ground.sources import ChapterFiles, chapter_names
from ..provenance.digests import ChapterDigests
from ..provenance.library import Library
from ..provenance.slices import Story
from ..provenance.staleness import Stored, notebook_stamp, stored_stamps
from ..provenance.stamps import seconds_of
from .few_seeds import Fewer, fewer
from .request import check_data, named_claims

ENCODER = "pretrained_encoders."  # in the names of what runs one: it may take minutes or, kept, a second
START_SECONDS = 2.0  # of a process, for each reading: those of one run share it
DEAR = 1 / 3  # of a sample's budget: what takes longer is computed for few seeds
CHEAP = 30.0  # seconds: what takes no longer is computed with all its seeds


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

    def is_at_hand(self, claim: str) -> bool:
        """Whether a reading needs nothing that has to be fetched or that an encoder makes first."""
        made = self.digests.claim(claim)
        if "data" not in made.parameters or comes_along(self.stored.stamp["data"]):
            return True
        try:
            check_data(self.stored.stamp["parameters"], self.story.files.name)
        except BookError:
            return False
        return not any(ENCODER in name for name in made.reaches)

    @property
    def parameters(self) -> dict:
        return self.few.parameters if self.few else self.stored.stamp["parameters"]


def jobs(root: Path, chapter: str | None, claims: list[str], profile: str | None = None) -> list[Job]:
    """Every stored run with the readings that are asked for; raises BookError for an unknown chapter or claim.

    With a profile the runs at that size alone; raises BookError if there are none.
    """
    library, found = Library(), []
    for name in [chapter] if chapter else chapter_names(root):
        files = ChapterFiles.find(name, root)
        asked = set(named_claims(files, claims, "verify")) if claims else None
        story, rows = Story(files, library), Claims.load(files.claims)
        for stored in stored_stamps(files):
            wanted = [c for c in stored.stamp["readings"] if c in story.claims and (asked is None or c in asked)]
            if wanted and profile in (None, stored.stamp["profile"]):
                found.append(Job(story, rows, stored, wanted))
    if profile and not found:
        raise BookError(f"verify: no run at the size {profile!r} is stored")
    return found


def costs(job: Job) -> dict[str, float]:
    """Claim → seconds: those of its cells in this run, where unknown those in the notebook in proportion."""
    seconds, factor = seconds_of(job.stored.stamp, job.digests), 1.0
    if not seconds and (shown := notebook_stamp(job.story.files.notebook)):
        seconds = seconds_of(shown, ChapterDigests(job.story, shown["parameters"]))
        factor = job.stored.stamp["seconds"] / max(sum(seconds.values()), 1.0)
    cells = {c: {job.story.units[n].cell for n in job.story.union([c])} for c in job.wanted}
    return {claim: factor * sum(seconds.get(n, 0.0) for n in of) for claim, of in cells.items()}


def sampled(found: list[Job], budget: float, by: str) -> list[Job]:
    """The readings that are drawn, within a budget of seconds; dear ones for few seeds.

    Left out is what takes longer than the budget even so, and what is not at hand.
    """
    places, seconds = {}, {}
    for job in found:
        for claim, cost in costs(job).items():
            few = fewer(job.digests, job.stored.stamp, claim, by) if cost > DEAR * budget else None
            cost = cost * few.share if few else cost
            if cost <= budget and job.is_at_hand(claim):
                name = f"{job.stored.where} {claim}"
                places[name], seconds[name] = (job, claim, few), cost + START_SECONDS
    return grouped(places[name] for name in drawn(seconds, budget, by))


def with_few_seeds(found: list[Job], by: str) -> tuple[list[Job], list[tuple[Job, str]]]:
    """The same readings: cheap ones as they are, dear ones for few seeds, and those of which few give nothing."""
    chosen, whole = [], []
    for job in found:
        for claim, cost in costs(job).items():
            few = fewer(job.digests, job.stored.stamp, claim, by) if cost > CHEAP else None
            if few or cost <= CHEAP:
                chosen.append((job, claim, few))
            else:
                whole.append((job, claim))
    return grouped(chosen), whole


def grouped(chosen: Iterable[tuple[Job, str, Fewer | None]]) -> list[Job]:
    """Jobs of readings that can be computed together: of one stored run, with the same parameters."""
    found: dict[tuple, Job] = {}
    for job, claim, few in chosen:
        key = (job.stored.where, few and few.key)
        found.setdefault(key, Job(job.story, job.claims, job.stored, [], few)).wanted.append(claim)
    return list(found.values())
