"""Test vectors of the soft threshold, by fractions: `python tests/testbed/threshold_vectors.py` writes them.

A picture in JavaScript can be held to the same file.
"""

import json
from fractions import Fraction
from pathlib import Path

PATH = Path(__file__).with_name("soft_threshold.vectors.json")
SPECTRA = {
    "six directions": "0.9 0.7 0.5 0.3 0.1 0",
    "equal": "0.95 0.95 0.95 0.95",
    "signed": "0.8 0.55 0.35 0.2 0 -0.1 -0.25",
    "out of order": "0.2 0.9 0.9 0.05 0.6",
    "one": "0.4",
}
TEMPERATURES = "0.05 0.5 1 2.5 20"


def shares(rho: list[Fraction], tau: Fraction, outputs: int, tied: bool) -> tuple[list[Fraction], Fraction]:
    """g and μ: every number of active directions is tried, until one agrees with itself."""
    order = sorted(range(len(rho)), key=lambda j: (-rho[j], j))[:outputs]
    if not tied and outputs > 1 and sum(rho[j] for j in order) <= tau:
        level = Fraction(0)
    else:
        for count in range(1, len(order) + 1):
            level = (sum(rho[j] for j in order[:count]) - tau) / count
            after = rho[order[count]] if count < len(order) else None
            if rho[order[count - 1]] > level and (after is None or after <= level):
                break
    return [max(rho[j] - level, Fraction(0)) / tau if j in order else Fraction(0) for j in range(len(rho))], level


def vectors() -> list[dict]:
    rows = []
    for name, text in SPECTRA.items():
        rho = [Fraction(x) for x in text.split()]
        for tied in (True, False):
            if not tied and min(rho) < 0:
                continue
            for outputs in sorted({1, 2, len(rho)}):
                for tau in map(Fraction, TEMPERATURES.split()):
                    g, level = shares(rho, tau, outputs, tied)
                    given = {"spectrum": name, "rho": [*map(float, rho)], "tau_squared": float(tau)}
                    found = {"shares": [*map(float, g)], "level": float(level)}
                    top = sorted(rho, reverse=True)[:outputs]
                    learned = float(sum(max(x, Fraction(0)) for x in top))
                    rows.append(given | {"outputs": outputs, "tied": tied} | found | {"learned_temperature": learned})
    return rows


def text() -> str:
    return "[\n" + ",\n".join(json.dumps(row) for row in vectors()) + "\n]\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
