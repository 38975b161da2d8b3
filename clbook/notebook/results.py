"""Stored results: the readings of committed notebooks and records, judged again by the present rules."""

from dataclasses import dataclass
from pathlib import Path

from ..claims.claim_table import Claim, Claims
from ..claims.judging import NOT_JUDGED, OUTSIDE, Reading, Verdict, judge_all, over_blocks
from ..common.formats import OnDamage, attempt
from ..common.parameters import profile_parameters
from ..common.sources import ChapterFiles, chapter_names, find_root
from ..provenance.digests import ChapterDigests
from ..provenance.library import Library
from ..provenance.records import read_record
from ..provenance.slices import ChapterCode
from ..provenance.staleness import STALE, State, notebooks_stamp, parameters_now, states
from ..provenance.stamps import made_by
from .card import Headline
from .claim_result import ClaimResult, RunVerdict


@dataclass(frozen=True)
class StoredRun:
    """One stored run of a chapter: its stamp, its verdicts by the present rules, and which readings are up to date."""

    stamp: dict
    verdicts: dict[str, Verdict]
    states: dict[str, State]
    reads_data: frozenset[str]  # the claims whose readings depend on the data set of the run
    blocks: dict[str, dict[str, list[str]]]  # claim -> profile -> verdict on each block of seeds, the run's own first

    def is_stale(self, claim: str) -> bool:
        """Whether the reading of a claim is out of date with the present code."""
        return self.states[claim].state == STALE

    @property
    def stale(self) -> bool:
        """Whether any reading is stale."""
        return any(self.is_stale(claim) for claim in self.stamp["claims"])


def verdicts_of(stamp: dict, claims: Claims) -> dict[str, Verdict]:
    """Judge a stamp's readings by the present rules, leaving out claims that no longer exist."""
    readings = {i: Reading.of(**arms) for i, arms in stamp["readings"].items() if i in claims.rows}
    return judge_all(
        claims.of_run(stamp["parameters"]), {i: r for i, r in readings.items() if claims.rows[i].rule}, stamp["data"]
    )


def _stored_run(
    stamp: dict, code: ChapterCode, claims: Claims, others: list[dict], parameters: dict | None = None
) -> StoredRun:
    own, blocks = verdicts_of(stamp, claims), {}
    for run, verdicts in [(stamp, own), *((other, verdicts_of(other, claims)) for other in others)]:
        for claim, verdict in verdicts.items():
            blocks.setdefault(claim, {}).setdefault(run["profile"], []).append(verdict.verdict)
    found = {claim: over_blocks(verdict, _words(blocks[claim])[1:]) for claim, verdict in own.items()}
    blocks = {claim: words for claim, words in blocks.items() if len(_words(words)) > 1}
    digests = ChapterDigests(code, stamp["parameters"] if parameters is None else parameters)
    readers = frozenset(c for c in stamp["readings"] if c in code.claims and "data" in digests.reads(c))
    return StoredRun(stamp, found, states(code, stamp, claims, digests=digests), readers, blocks)


def _words(blocks: dict[str, list[str]]) -> list[str]:
    return [word for words in blocks.values() for word in words]


def stored_runs(
    files: ChapterFiles, library: Library | None = None, on_damage: OnDamage = "raise"
) -> dict[str, StoredRun]:
    """Profile → stored run: `default` from the committed notebook, the others from `records/CHAPTER/PROFILE.json`.

    Args:
        files: The chapter.
        library: The library, if it is shared by several calls, so that it is read once.
        on_damage: Whether a damaged notebook or record is skipped.

    Raises:
        BookError: The claims file is damaged, or a notebook or a record is and `on_damage` is "raise".
    """
    claims, code = Claims.load(files.claims), ChapterCode(files, library)
    runs = {}
    if stamp := notebooks_stamp(files, on_damage=on_damage):
        runs["default"] = _stored_run(stamp, code, claims, [], profile_parameters(files, "default"))
    for path in files.records():
        if (record := attempt(on_damage, read_record, path, files)) is None:
            continue
        now = parameters_now(files, path.stem, record["run"])
        runs[path.stem] = _stored_run(record["run"], code, claims, record["other_seeds"], now)
    return runs


def headlines(files: ChapterFiles, library: Library | None = None) -> dict[str, Headline]:
    """Claim → the verdict of the record `paper`, if its reading is up to date with the present sources."""
    if not files.record("paper").is_file():
        return {}
    claims, record = Claims.load(files.claims), read_record(files.record("paper"), files)
    parameters = parameters_now(files, "paper", record["run"])
    run = _stored_run(record["run"], ChapterCode(files, library), claims, record["other_seeds"], parameters)
    blocks = {claim: len(_words(words)) for claim, words in run.blocks.items()}
    return {c: Headline(v, "paper", blocks.get(c, 1)) for c, v in run.verdicts.items() if not run.is_stale(c)}


def _headline(runs: dict[str, StoredRun], claim: str) -> StoredRun | None:
    """The run with the headline verdict: the record `paper` if up to date, else the default run."""
    order = [runs[p] for p in ("paper", "default") if p in runs and claim in runs[p].verdicts]
    return next((run for run in order if not run.is_stale(claim)), order[-1] if order else None)


def _result(
    files: ChapterFiles, claims: Claims, claim: Claim, runs: dict[str, StoredRun], run: StoredRun | None
) -> ClaimResult:
    verdicts = tuple(_run_verdict(*item, claim) for item in runs.items() if claim.id in item[1].verdicts)
    if run is None:
        word, reason = "not run", claim.needs or "no stored run has it"
        if claim.rule and any(claim.id in other.stamp["claims"] for other in runs.values()):
            parameters = next(other.stamp["parameters"] for other in runs.values() if claim.id in other.stamp["claims"])
            claim = claim.of_run(parameters)
            word, reason = NOT_JUDGED, OUTSIDE.format(claim.regime)
        return ClaimResult(claims.paper, files.name, claim, word, reason, claim.data, verdicts=verdicts)
    verdict = run.verdicts[claim.id]
    return ClaimResult(
        claims.paper,
        files.name,
        verdict.claim,
        verdict.verdict,
        verdict.reason,
        _data(run, claim),
        profile=run.stamp["profile"],
        reading=verdict.reading,
        seeds=_seeds(run, claim),
        recurs=run.blocks.get(claim.id),
        run=_made_by(run, claim.id),
        verdicts=verdicts,
        condition=verdict.condition,
        before_review=verdict.before_review,
    )


def _run_verdict(profile: str, run: StoredRun, claim: Claim) -> RunVerdict:
    verdict = run.verdicts[claim.id]
    observed = verdict.reading.to_json()["observed"]
    return RunVerdict(profile, _data(run, claim), verdict.verdict, observed, run.is_stale(claim.id))


def _data(run: StoredRun, claim: Claim) -> str:
    """The data that the claim was tested on; a run may read a data set only for other claims."""
    return run.stamp["data"] if claim.id in run.reads_data else "generated"


def _seeds(run: StoredRun, claim: Claim) -> tuple[int, int] | None:
    parameters = run.stamp["parameters"]
    if "first_seed" not in parameters:
        return None
    first, stored = parameters["first_seed"], run.stamp["readings"][claim.id]["observed"].values()
    sizes = [len(values) for values in stored if isinstance(values, list)]
    return first, first + (max(sizes, default=parameters["seeds"]) - 1 if claim.seeds_decide else 0)


def _made_by(run: StoredRun, claim: str) -> dict:
    row, parameters = run.stamp["claims"][claim], run.stamp["parameters"]
    digests = {"reading": row["reading"], "rule": row["rule"]}
    return digests | made_by(run.stamp, claim) | {"parameters": parameters, "stale": run.is_stale(claim)}


def load_results(root: Path | None = None, on_damage: OnDamage = "raise") -> list[ClaimResult]:
    """Every claim of every chapter with its headline verdict, in the order of the claims files; see `stored_runs`."""
    results, library = [], Library()
    for name in chapter_names(root or find_root()):
        files = ChapterFiles.find(name, root)
        claims, runs = Claims.load(files.claims), stored_runs(files, library, on_damage)
        results += [_result(files, claims, claim, runs, _headline(runs, claim.id)) for claim in claims.rows.values()]
    return results


def run_results(files: ChapterFiles, stamp: dict) -> list[ClaimResult]:
    """The claims that one run measured, or that its parameters are outside the regime of."""
    claims = Claims.load(files.claims)
    run = _stored_run(stamp, ChapterCode(files), claims, [])
    asked = [claim for claim in claims.rows.values() if claim.rule and claim.id in stamp["claims"]]
    runs = {stamp["profile"]: run}
    return [_result(files, claims, claim, runs, run if claim.id in run.verdicts else None) for claim in asked]
