"""Two runs of a chapter beside each other: which verdicts and statistics changed, and by how much beyond seed noise."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from .claims import Claims, Verdict
from .errors import BookError
from .results import notebook_stamp, verdicts_of
from .sources import ChapterFiles
from .statistics import FAMILY_LEVEL, Sample

REPEATED = 1e-6  # of its size: a number that differs less was measured again, not changed


@dataclass(frozen=True)
class Change:
    """One case of a claim that is not the same in both runs.

    `noise` is half the 95 % interval of the difference: paired by seed where both runs have the same seeds, else by
    Welch's formula; 0 for what has no spread. `beyond` is the part of the difference above it.
    """

    claim: str
    case: str
    before: float | None
    after: float | None
    noise: float
    beyond: float
    verdicts: tuple[str, str]

    @property
    def turned(self) -> bool:
        """Whether the verdict is another one."""
        return self.verdicts[0] != self.verdicts[1]


def read_stamp(path: Path) -> dict:
    """The result that a run's folder, an executed notebook or a record holds; raises BookError."""
    if path.is_dir():
        found = [stamp for one in sorted(path.glob("*.ipynb")) if (stamp := notebook_stamp(one))]
        if len(found) != 1:
            raise BookError(f"{path}: {len(found)} executed notebooks, allowed is the folder of one run")
        return found[0]
    try:
        if path.suffix == ".ipynb":
            stamp = notebook_stamp(path)
        else:
            stamp = json.loads(path.read_text(encoding="utf-8"))["run"]
    except (OSError, json.JSONDecodeError, KeyError, TypeError):
        stamp = None
    if not stamp or "readings" not in stamp:
        raise BookError(f"{path}: no result; allowed are a run's folder, an executed notebook, a record")
    return stamp


def compare(before: dict, after: dict) -> list[Change]:
    """What differs, in the order of the claims file; both are judged by the present rules. Raises BookError."""
    if before["chapter"] != after["chapter"]:
        raise BookError(f"compare: got runs of {before['chapter']} and {after['chapter']}, allowed is one chapter")
    claims = Claims.load(ChapterFiles.find(before["chapter"]).claims)
    paired = _seeds(before) is not None and _seeds(before) == _seeds(after)
    one, other = verdicts_of(before, claims), verdicts_of(after, claims)
    changes: list[Change] = []
    for claim in claims.rows:
        if claim in one or claim in other:
            changes += _changes(claim, one.get(claim), other.get(claim), paired)
    return changes


def _seeds(stamp: dict) -> tuple | None:
    parameters = stamp["parameters"]
    return (parameters["first_seed"], parameters["seeds"]) if {"first_seed", "seeds"} <= parameters.keys() else None


def _changes(claim: str, one: Verdict | None, other: Verdict | None, paired: bool) -> list[Change]:
    words = tuple(v.verdict if v else "not run" for v in (one, other))
    first, second = (v.reading.observed if v else {} for v in (one, other))
    found = []
    for case in dict.fromkeys([*first, *second]):
        a, b = first.get(case), second.get(case)
        gap = abs(b.estimate - a.estimate) if a and b else 0.0
        same = a and b and gap <= REPEATED * max(abs(a.estimate), abs(b.estimate))
        if same and words[0] == words[1]:
            continue
        noise = _noise(a, b, paired) if a and b else 0.0
        estimates = (s.estimate if s else None for s in (a, b))
        found.append(Change(claim, case, *estimates, noise, max(0.0, gap - noise), words))
    return found


def _noise(a: Sample, b: Sample, paired: bool) -> float:
    """Half the 95 % interval of the difference of two estimates."""
    if paired and not a.trials and not b.trials and len(a.values) == len(b.values) > 1:
        gaps = np.subtract(b.values, a.values)
        return float(stats.t.ppf(1 - FAMILY_LEVEL / 2, len(gaps) - 1) * stats.sem(gaps))
    squares = [s.standard_error**2 for s in (a, b)]
    total = sum(squares)
    if total == 0:
        return 0.0
    if a.trials or b.trials:
        return float(stats.norm.ppf(1 - FAMILY_LEVEL / 2) * total**0.5)
    parts = [v**2 / (s.size - 1) for v, s in zip(squares, (a, b), strict=True) if s.size > 1]
    return float(stats.t.ppf(1 - FAMILY_LEVEL / 2, total**2 / sum(parts)) * total**0.5)
