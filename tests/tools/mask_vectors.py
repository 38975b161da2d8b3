"""Test vectors of the live picture "masks", from the library's kernels: `python tests/tools/mask_vectors.py`."""

import itertools
import json
import math

import torch
from checkout import ROOT
from scipy.optimize import brentq

from contrastive_dynamics.feature_decoupling import SparseCoding, cross_moment, span_share
from contrastive_dynamics.feature_decoupling.view_correlation import second_moment

PATH = ROOT / "book" / "_static" / "explorables" / "masks.vectors.json"
DIM, ATOMS, ACTIVE, LONG, START_SEED = 32, 4, 0.04, 20, 1000033
CASES = list(itertools.product([0, 0.05, 0.3, 0.5, 1], [0.1, 4, 12]))  # both, noise over p


def lehmer(seed: int) -> torch.Tensor:
    """The script's uniforms."""
    states = itertools.islice(itertools.accumulate(itertools.repeat(seed), lambda s, _: 16807 * s % 2147483647), 1, 33)
    return torch.tensor(list(states), dtype=torch.float64) / 2147483647


def start(dictionary: torch.Tensor) -> torch.Tensor:
    """The neuron at the start: normal draws, of length 1, with the mean share of random directions in the span."""
    drawn = (-2 * lehmer(START_SEED).log()).sqrt() * (2 * torch.pi * lehmer(START_SEED + 1)).cos()
    signal = dictionary @ (dictionary.mT @ drawn)
    parts = [(signal, ATOMS / DIM), (drawn - signal, 1 - ATOMS / DIM)]
    return sum(part / part.norm() * share**0.5 for part, share in parts)


def model(noise: float) -> SparseCoding:
    """The picture's data: four Walsh functions, each constant on blocks of eight coordinates."""
    hadamard = torch.tensor([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]], dtype=torch.float64)
    dictionary = torch.kron(hadamard, torch.ones(DIM // ATOMS, 1, dtype=torch.float64)) / DIM**0.5
    return SparseCoding(dictionary[None], ACTIVE, (ACTIVE * noise) ** 0.5)


def moment(data: SparseCoding, both: float) -> torch.Tensor:
    """E[x⁺x⁺⁺ᵀ] `[d1, d1]`. Per coordinate the masks are equal with probability `both`, else opposite: a mixture.

    Equal masks give E[x⁺x⁺ᵀ], opposite ones the library's masked moment. Off the diagonal both are S.
    """
    return torch.lerp(cross_moment(data, "masked"), second_moment(data, "masked"), both)[0]


def neuron(data: SparseCoding, both: float, time: float) -> torch.Tensor:
    """w(t) of w' = C w, by the exponential of the whole matrix."""
    return torch.linalg.matrix_exp(time * moment(data, both)) @ start(data.dictionary[0])


def grown_at(data: SparseCoding, both: float) -> float:
    """The time at which the neuron is LONG."""
    values, basis = torch.linalg.eigh(moment(data, both))
    square = (basis.mT @ start(data.dictionary[0])).square()
    return brentq(
        lambda time: math.log(float(square @ (2 * time * values).exp())) - 2 * math.log(LONG), 1e-3, 400, xtol=1e-13
    )


def share(data: SparseCoding, w: torch.Tensor) -> float:
    """Of the neuron, in the span of the atoms."""
    return float(span_share(w[None, None], data.dictionary))


def vectors() -> dict:
    """Everything that the script is held to."""
    rows = []
    for both, noise in CASES:
        data, time = model(noise), grown_at(model(noise), both)
        c, half, end = moment(data, both), neuron(data, both, time / 2), neuron(data, both, time)
        rows.append({
            "both": both,
            "noise": noise,
            "moment": [float(c[0, k]) for k in (0, 1, 8)],
            "time": time,
            "half": {"length": float(half.norm()), "share": share(data, half), "weights": half[::9].tolist()},
            "end": share(data, end),
        })  # fmt: skip
    return {"start": start(model(1).dictionary[0]).tolist(), "rows": rows}


if __name__ == "__main__":
    PATH.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
