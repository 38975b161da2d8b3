"""Comparison of two runs of a chapter: which verdicts and statistics changed, and by how much beyond seed noise."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from ..claims.claim_table import Claim, Claims
from ..claims.judging import Verdict
from ..claims.statistics import Sample
from ..common.errors import BookError
from ..common.parameters import value_text
from ..common.sources import APPENDIX, ChapterFiles
from ..notebook.results import verdicts_of
from ..provenance.records import read_record
from ..provenance.staleness import notebook_stamp
from ..provenance.stamps import of_notebooks

NOISE_LEVEL = 0.05  # that any difference of two runs which chance explains is listed
NAMED, SHOWN = 6, 12  # names in a line of the summary, and rows of the table unless all are asked for
REPEATED = 1e-6  # relative to the number: a smaller difference is a repeated measurement, not a change
ROUNDING = 1e-3  # relative to the bound: a smaller difference in what is left of a 0 is rounding


@dataclass(frozen=True)
class Change:
    """One case of a claim that differs between the two runs.

    `noise` is half the width of the interval of the difference, at 95 % for all cases together (Bonferroni). The
    interval is paired by seed if both runs have the same seeds; otherwise it follows Welch's formula, or Newcombe's for
    shares. For numbers without spread, `noise` is 0 if the seeds are the same and None (unknown) if they differ.
    `beyond` is the part of the difference above `noise`, 0 if that is unknown.
    """

    claim: str
    case: str
    before: float | None
    after: float | None
    noise: float | None
    beyond: float
    verdicts: tuple[str, str]

    @property
    def turned(self) -> bool:
        """Whether the verdict differs."""
        return self.verdicts[0] != self.verdicts[1]


def read_stamp(path: Path) -> dict:
    """The stamp of a run's folder, an executed notebook or a record; raises BookError."""
    try:
        if path.is_dir():
            notebooks = sorted(path.glob("*.ipynb"), key=lambda file: (file.stem.endswith(APPENDIX), file.stem))
            stamps = {file.stem: stamp for file in notebooks if (stamp := notebook_stamp(file))}
            if len({stem.removesuffix(APPENDIX) for stem in stamps}) != 1:
                raise BookError(f"{path}: must be the folder of one run, got {len(stamps)} executed notebooks")
            stamp = of_notebooks(list(stamps.values()), one_run=True)
        elif path.suffix == ".ipynb":
            stamp = _of_chapter(path)
        else:
            stamp = read_record(path)["run"]
    except BookError as error:
        raise BookError(f"{error}; compare takes a run's folder, an executed notebook or a record") from None
    if not stamp:
        raise BookError(f"{path}: no result found; give a run's folder, an executed notebook or a record")
    return stamp


def _of_chapter(path: Path) -> dict | None:
    """The stamp of a notebook, with that of the chapter's other notebook if it lies beside it and ran alike."""
    name = path.stem.removesuffix(APPENDIX)
    beside = [path.with_stem(name), path.with_stem(name + APPENDIX)]
    stamps = [stamp for file in beside if file.is_file() and (stamp := notebook_stamp(file))]
    if len(stamps) == 2 and stamps[0]["parameters"] == stamps[1]["parameters"]:
        return of_notebooks(stamps)
    return notebook_stamp(path)


def compare(before: dict, after: dict) -> list[Change]:
    """All differences, in the order of the claims file; both runs are judged by the present rules. Raises BookError."""
    if before["chapter"] != after["chapter"]:
        raise BookError(f"compare: both runs must be of one chapter, got {before['chapter']} and {after['chapter']}")
    claims = Claims.load(ChapterFiles.find(before["chapter"]).claims)
    paired = _seeds(before) is not None and _seeds(before) == _seeds(after)
    first, second = verdicts_of(before, claims), verdicts_of(after, claims)
    both = [claim for claim in claims.rows if claim in first and claim in second]
    by_chance = sum(s.by_chance for claim in both for s in first[claim].reading.observed.values())
    level = NOISE_LEVEL / max(1, by_chance)
    return [
        change
        for claim, row in claims.rows.items()
        if claim in first or claim in second
        for change in _changes(row, first.get(claim), second.get(claim), paired, level)
    ]


def summary(changes: list[Change], before: dict, after: dict) -> list[str]:
    """The lines that matter first: parameters, verdicts, statistics, the largest change, what one run alone judged."""
    first, second = ({"data": stamp["data"]} | stamp["parameters"] for stamp in (before, after))
    names = [name for name in {**first, **second} if first.get(name) != second.get(name)]
    shown = [" → ".join(value_text(of[n]) if n in of else "none" for of in (first, second)) for n in names]
    lone = dict.fromkeys(c.claim for c in changes if "not run" in c.verdicts)
    turned = dict.fromkeys(c.claim for c in changes if c.turned and c.claim not in lone)
    beyond = sorted((c for c in changes if c.beyond > 0), key=_times_noise, reverse=True)
    most = [f"the largest of these: {_label(c)}, {c.before:.4g} → {c.after:.4g}" for c in beyond[:1]]
    return [
        f"parameters that differ: {', '.join(map(' '.join, zip(names, shown, strict=True))) or 'none'}",
        f"{_counted(turned, 'verdict')}{_named(turned)}",
        f"{_counted(beyond, 'statistic')} by more than seed noise{_named(dict.fromkeys(map(_label, beyond)))}",
        *most,
        *[f"judged in one of the runs alone{_named(lone)}"] * bool(lone),
    ]


def worth_showing(changes: list[Change]) -> list[Change]:
    """The changes that a reader looks at: verdicts that turned, then what exceeds noise most, SHOWN at most."""
    ran = [c for c in changes if "not run" not in c.verdicts and (c.turned or c.beyond > 0)]
    return sorted(ran, key=lambda c: (not c.turned, -_times_noise(c)))[:SHOWN]


def _times_noise(change: Change) -> float:
    """How many times its noise a change exceeds it."""
    return change.beyond / change.noise if change.noise else math.inf if change.beyond else 0.0


def _label(change: Change) -> str:
    return f"{change.claim} {change.case}".strip()


def _counted(names: Collection[object], what: str) -> str:
    return f"{len(names) or 'no'} {what} differs" if len(names) < 2 else f"{len(names)} {what}s differ"


def _named(names: Collection[str]) -> str:
    listed, left = ", ".join(list(names)[:NAMED]), len(names) - NAMED
    return f": {listed}{f' and {left} more' if left > 0 else ''}" if names else ""


def _seeds(stamp: dict) -> tuple | None:
    parameters = stamp["parameters"]
    return (parameters["first_seed"], parameters["seeds"]) if {"first_seed", "seeds"} <= parameters.keys() else None


def _changes(claim: Claim, before: Verdict | None, after: Verdict | None, paired: bool, level: float) -> list[Change]:
    words = tuple(v.verdict if v else "not run" for v in (before, after))
    first, second = (v.reading.observed if v else {} for v in (before, after))
    changes = []
    for case in dict.fromkeys([*first, *second]):
        a, b = first.get(case), second.get(case)
        if a and b and words[0] == words[1] and _same(claim, a.estimate, b.estimate):
            continue
        noise = _noise(a, b, paired, level) if a and b else None
        gap = abs(b.estimate - a.estimate) if noise is not None else 0.0
        estimates = (s.estimate if s else None for s in (a, b))
        changes.append(Change(claim.id, case, *estimates, noise, max(0.0, gap - (noise or 0.0)), words))
    return changes


def _same(claim: Claim, before: float, after: float) -> bool:
    """Whether two numbers differ by no more than a repeated measurement may."""
    if before == after:  # also if both are infinite
        return True
    allowed = max(REPEATED * max(abs(before), abs(after)), ROUNDING * claim.residue)
    return math.isfinite(allowed) and abs(after - before) <= allowed


def _noise(a: Sample, b: Sample, paired: bool, level: float) -> float | None:
    """Half the width of the interval of the difference of two estimates at confidence 1 − level; None if unknown."""
    if not (math.isfinite(a.estimate) and math.isfinite(b.estimate)):
        return None
    if not a.by_chance and not b.by_chance:
        return 0.0 if paired else None
    if a.trials or b.trials or not (a.by_chance and b.by_chance):
        return _half_interval(a, b, level)
    if paired and a.size == b.size:
        gaps = np.subtract(b.values, a.values)
        return float(stats.t.ppf(1 - level / 2, len(gaps) - 1) * stats.sem(gaps))
    squares = [s.standard_error**2 for s in (a, b)]
    total = sum(squares)
    parts = [v**2 / (s.size - 1) for v, s in zip(squares, (a, b), strict=True)]
    return float(stats.t.ppf(1 - level / 2, total**2 / sum(parts)) * total**0.5) if total else 0.0


def _half_interval(a: Sample, b: Sample, level: float) -> float:
    """The same for the difference of two shares, from the intervals of both, on the side of no difference.

    Source: Newcombe, Statistics in Medicine 17 (1998), 873–890, method 10.
    """
    small, large = sorted((a, b), key=lambda sample: sample.estimate)
    return math.hypot(large.estimate - large.interval(level)[0], small.interval(level)[1] - small.estimate)
