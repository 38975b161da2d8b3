"""Test vectors of the live picture "overgrown", from its recursion: `python tests/tools/overgrown_vectors.py`."""

import itertools
import json

from checkout import ROOT

from contrastive_dynamics.feature_decoupling import paper_scales
from experiments.feature_decoupling import two_lengths

PATH = ROOT / "book" / "_static" / "explorables" / "overgrown.vectors.json"
ATOMS, DIM, NEURONS, START_NORM, NEGATIVES, TEMPERATURE, LAST = 16, 128, 64, 0.05, 256, 20.0, 400
ACTIVE = paper_scales(ATOMS, 0.5, 1.0)[0]
CASES = [*itertools.product((0.4, 0.8, 3.2), (0.0, 2.0)), (4.0, 5.0)]  # noise over p; decay in thousandths
STEPS = (0, 25, 50, 75, 100, 150, 200, 300, 400)


def followed(noise: float, decay: float):
    """The lengths at a noise over p and a weight decay in thousandths."""
    return two_lengths(
        ATOMS, DIM, ACTIVE, (noise * ACTIVE) ** 0.5, LAST, NEURONS * START_NORM**2, NEGATIVES, TEMPERATURE,
        decay=decay / 1000,
    )  # fmt: skip


def vectors() -> dict:
    """Everything that the script is held to."""
    rows = []
    for noise, decay in CASES:
        found = followed(noise, decay)
        parts = {name: [float(values[k]) for k in STEPS] for name, values in found._asdict().items()}
        rows.append({"scene": {"noise": noise, "decay": decay}, **parts})
    return {"active": ACTIVE, "steps": STEPS, "rows": rows}


if __name__ == "__main__":
    PATH.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
