"""Controls that could not pass: readings whose control is the observed value in disguise, or does not move at all."""

import math
from collections.abc import Sequence

from clbook.claims.judging import Reading
from clbook.claims.statistics import Sample

FACTORS = (0.5, 1.0, 2.0)
SAME = 1e-9  # relative; numbers nearer than this are one but for rounding
NOTHING = 1e-9  # at most this is rounding


def why_void(readings: Sequence[Reading]) -> str:
    """Why the control of a claim cannot fail, in words; empty if nothing of the kind is seen.

    `readings` are those of all stored runs of the claim. A control is suspected if in every run, case and seed it is
    the observed value times one of FACTORS, or one of 0, 1/2, 1 and 2, or one number while the observed value moves.
    """
    pairs = [pair for reading in readings for pair in _pairs(reading)]
    for factor in FACTORS:
        if pairs and all(abs(a) > NOTHING and math.isclose(b, factor * a, rel_tol=SAME) for a, b in pairs):
            return f"{factor:g} times the observed value"
    controls = [value for reading in readings for value in _values(reading.control)]
    observed = [value for reading in readings for value in _values(reading.observed)]
    if not _one_number(controls):
        return ""
    if any(math.isclose(controls[0], number, rel_tol=SAME, abs_tol=NOTHING) for number in (0.0, *FACTORS)):
        return f"always {round(controls[0], 9) + 0.0:g}"
    return f"always {controls[0]:g}, while the observed value moves" if not _one_number(observed) else ""


def _values(arm: dict[str, Sample]) -> list[float]:
    return [sample.values[k] / (sample.trials or 1) for sample in arm.values() for k in range(len(sample.values))]


def _pairs(reading: Reading) -> list[tuple[float, float]]:
    """(observed, control) of each seed and case; of a control with other cases or seeds, none."""
    observed, control = reading.observed, reading.control
    if len(observed) == len(control) == 1:
        observed, control = dict(zip(control, observed.values(), strict=True)), control
    if observed.keys() != control.keys() or any(observed[case].size != control[case].size for case in control):
        return [(0.0, 0.0)]
    return [pair for case in control for pair in zip(observed[case].values, control[case].values, strict=True)]


def _one_number(values: Sequence[float]) -> bool:
    return all(math.isclose(value, values[0], rel_tol=SAME, abs_tol=NOTHING) for value in values)
