"""Test vectors of the live picture "clouds", from the library's kernels: `python tests/tools/cloud_vectors.py`."""

import json

import torch
from checkout import ROOT

from contrastive_dynamics.collapse_and_constraints.constrained_flow import output_velocity, polar_velocity
from contrastive_dynamics.numerics.ranks import effective_rank
from experiments.collapse_and_constraints.three_rules import half_moon_spectrum, rotated_start, three_rules

PATH = ROOT / "book" / "_static" / "explorables" / "clouds.vectors.json"
RTOL, ATOL = 1e-12, 1e-14
CASES = {  # settings of a film, and when to look
    "A": ({"negatives": 1, "size": 0.2, "angle": 0.7}, 3.0),
    "B": ({"negatives": 4, "size": 0.8, "angle": 2}, 6.0),
    "C": ({"negatives": 1, "size": 0.9, "angle": 1.1, "weights": True}, 1.5),
    "white": ({"negatives": 1, "size": 0.2, "angle": 0.7, "white": True}, 3.0),
}
NEGATIVES = [0, 0.5, 1, 1.9, 2, 4, 6]


def film(negatives: float, size: float, angle: float, white: bool = False, weights: bool = False, *, t: float) -> dict:
    """One start under the three rules: q0, the matrices q at time t and their ranks, q by rows."""
    lam = -torch.ones(2, dtype=torch.float64) if white else half_moon_spectrum(negatives).values
    q0, times = rotated_start(size, angle), torch.tensor([0, t], dtype=torch.float64)
    rules = three_rules(q0, lam, times, polar_velocity if weights else output_velocity, RTOL, ATOL)
    ends = {name: path[-1] for name, path in rules._asdict().items()}
    return {
        "values": lam.tolist(),
        "start": q0.flatten().tolist(),
        "start rank": float(effective_rank(q0)),
        "ends": {name: q.flatten().tolist() for name, q in ends.items()},
        "ranks": {name: float(effective_rank(q)) for name, q in ends.items()},
    }


def vectors() -> dict:
    """Everything that the script is held to."""
    spectra = []
    for negatives in NEGATIVES:
        found = half_moon_spectrum(negatives)
        kept = {"values": found.values.tolist(), "vectors": found.vectors.flatten().tolist()}
        spectra.append({"negatives": negatives} | kept)
    films = {name: {"given": given, "t": t} | film(**given, t=t) for name, (given, t) in CASES.items()}
    return {"spectra": spectra, "films": films}


if __name__ == "__main__":
    PATH.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
