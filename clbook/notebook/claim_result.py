"""The result of one claim: its row, its verdict, and the stored run that the verdict is based on."""

from dataclasses import asdict, dataclass
from functools import cached_property

from ..claims.claim_table import NEGATIVE, Claim
from ..claims.judging import Reading, Verdict
from ..claims.plain import as_text, sentences
from ..claims.proofs import Proof
from ..claims.statistics import Sample

# verdict → the word for it that other fields use; `book/judging.md` has the same map
COMMON = dict.fromkeys(("reproduced", "with conditions", "misprint"), "verified")
COMMON |= dict.fromkeys(("not reproduced", "contradicted"), "falsified")
COMMON |= dict.fromkeys(("not seen", "undecided", "vacuous"), "inconclusive")
COMMON |= {"seen": "verified on a stand-in"}


@dataclass(frozen=True)
class RunVerdict:
    """The verdict of one stored run on a claim."""

    profile: str
    data: str
    verdict: str
    observed: dict[str, object]  # as in `ClaimResult.to_json`
    stale: bool  # whether the present code would make another reading


@dataclass(frozen=True)
class ClaimResult:
    """A claim with its headline verdict: that of the record `paper`, or else of the default run.

    For a claim that no stored run has, the fields from `profile` on keep their defaults.
    """

    paper: str  # key of the paper in book/references.bib
    chapter: str
    claim: Claim
    verdict: str  # one of claim_table.VERDICTS
    reason: str  # for the verdict; for a claim that was not run, what a run needs
    data: str  # the data set that it was tested on, "generated" for none
    profile: str | None = None  # the size of the run
    reading: Reading | None = None  # what the run measured, as it is judged
    seeds: tuple[int, int] | None = None  # the first and the last; None also if the chapter has no seeds
    recurs: dict[str, list[str]] | None = None  # profile → verdict on each block of seeds, the run's own first
    run: dict | None = None  # digests, parameters, versions, device, seconds, `stale`: see `stamps.made_by`
    verdicts: tuple[RunVerdict, ...] = ()  # of every stored run that has the claim
    condition: str = ""  # one of judging.CONDITIONS
    before_review: str = ""  # as in `judging.Verdict`
    proof: Proof | None = None  # what a program checks of the statement; it changes no verdict
    second_hand: str = ""  # what a second program, written from the paper's words, found

    @property
    def id(self) -> str:
        """The claim's name in the whole book."""
        return f"{self.paper}/{self.claim.id}"

    @property
    def stale(self) -> bool:
        return bool(self.run and self.run["stale"])

    @property
    def under_review(self) -> bool:
        """Whether a record misses the rule and the reading under which the authors are right has not been run yet."""
        recorded = self.profile not in (None, "default", "custom")
        return recorded and self.verdict == "undecided" and self.before_review in NEGATIVE

    @property
    def common(self) -> str | None:
        """The verdict in the words of other fields; None where there is none."""
        return COMMON.get(self.verdict)

    @cached_property
    def interval(self) -> dict[str, tuple[float, float]]:
        """Case → confidence interval of the observed statistic; a point if it is not random."""
        return {case: sample.interval() for case, sample in self.arm("observed").items()}

    @property
    def sentences(self) -> list[list[str]]:
        """What the run found, in plain sentences, the headline first; empty for a claim that was not run."""
        if self.reading is None:
            return []
        return sentences(Verdict(self.claim, self.verdict, self.reason, self.reading, self.before_review))

    def arm(self, name: str) -> dict[str, Sample]:
        """Case → statistic of an arm of `Reading`; empty for a claim that was not run."""
        return getattr(self.reading, name) if self.reading else {}

    def to_json(self) -> dict:
        """The entry in `claims.json`; an arm maps each case to a number, one number per seed, or hits and trials."""
        claim, arms = self.claim, self.reading.to_json() if self.reading else {}
        return {
            "id": self.id,
            "paper": self.paper,
            "chapter": self.chapter,
            "anchor": claim.id,
            "locator": claim.locator,
            "statement": claim.statement,
            "kind": claim.kind,
            "regime": claim.regime,
            "statistic": claim.statistic,
            "rule": str(claim.rule) if claim.rule else None,
            "verdict": self.verdict,
            "common": self.common,
            "condition": self.condition,
            "reason": self.reason,
            "found": [as_text(parts) for parts in self.sentences],
            "profile": self.profile,
            "data": self.data,
            "observed": arms.get("observed"),
            "expected": claim.expected,
            "interval": self.interval if self.reading else None,
            "tolerance": list(claim.rule.numbers) if claim.rule else None,
            "tolerance_reason": claim.tolerance_reason,
            "seeds": self.seeds and list(self.seeds),
            "control": {"what": claim.control, **arms.get("control", {})} if self.reading else None,
            "mended": arms.get("mended"),
            "advocate": {"what": claim.advocate, **arms.get("advocate", {})} if claim.advocate else None,
            "note": claim.note,
            "beyond": claim.beyond,
            "of": claim.of,
            "in": claim.place,
            "needs": claim.needs,
            "by_chance": claim.by_chance,
            "changed": list(claim.changed),
            "recurs": self.recurs,
            "run": self.run,
            "verdicts": [asdict(verdict) for verdict in self.verdicts],
            "proof": self.proof and {"words": self.proof.words, **asdict(self.proof)},
            "second_hand": self.second_hand,
        }
