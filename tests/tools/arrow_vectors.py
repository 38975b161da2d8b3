"""Test vectors of the live picture "arrows", from the library's flow: `python tests/tools/arrow_vectors.py`."""

import json
import math

import torch
from checkout import ROOT

from contrastive_dynamics.alignment_and_balance.infinite_width_flow import (
    WideState,
    wide_condition_number,
    wide_flow,
    wide_start,
    wide_velocity,
)

PATH = ROOT / "book" / "_static" / "explorables" / "arrows.vectors.json"
RTOL = 1e-12
CHAPTER = {"sigma": [2, 1.6, 1.3, 1], "noise": 0.8, "dim": 1000, "negatives": 8}
CASES = {  # settings, and phases of (τ² or None for positive pairs alone, length in units of d)
    "A": (CHAPTER | {"dim": 8}, [(None, 3)]),
    "B": (CHAPTER, [(None, 3), (2, 8)]),
    "C": ({"sigma": [1.5, 1.2, 1], "noise": 0.5, "dim": 1e6, "negatives": 127}, [(4, 2), (0.5, 6)]),
    "deep": (CHAPTER | {"dim": 1e9}, [(None, 3)]),
    "off again": (CHAPTER, [(None, 0.5), (2, 1), (None, 0.5)]),
}
TAUS = [0.5, 1, 2, 4, 8, 16]  # of the race to balance


def state(sigma, noise, dim, negatives, phases) -> WideState:
    """The state at the end of the phases, from the chapter's start, one run."""
    scales = torch.tensor([sigma], dtype=torch.float64)
    now = wide_start(scales, noise, dim - len(sigma))
    for tau_squared, length in phases:
        times = torch.tensor([0, length * dim], dtype=torch.float64)
        now = WideState(*(x[-1] for x in wide_flow(now, scales, noise, times, tau_squared, negatives, rtol=RTOL)))
    return now


def seen(now: WideState) -> dict:
    """What the script's `look` says of a state, as far as it does not depend on the loss."""
    n2 = now.kappa_squared.sum(-1) + now.noise_squared
    return {
        "shares": (now.kappa_squared / n2.unsqueeze(-1))[0].tolist(),
        "noise": float(now.noise_squared / n2),
        "agree": (now.kappa_hat_squared / now.kappa_squared)[0].tolist(),
        "condition": float(wide_condition_number(now)),
    }


def speeds(now: WideState, sigma, noise, dim, negatives, tau_squared) -> dict:
    """d log(κ² + κ̂²)/ds, what pull and push leave, and d log κ_ξ²/ds."""
    moves = wide_velocity(now, torch.tensor([sigma], dtype=torch.float64), noise, tau_squared, negatives)
    both = (moves.kappa_squared + moves.kappa_hat_squared) / (now.kappa_squared + now.kappa_hat_squared)
    return {"net": (dim * both)[0].tolist(), "fading": float(dim * moves.noise_squared / now.noise_squared)}


def balance_time(tau_squared: float, alone: float = 0, level: float = 1.05) -> float:
    """The time from which the condition number stays at most `level` at d = 1000, negatives after `alone`."""
    lengths = torch.linspace(0, 40, 401, dtype=torch.float64)
    scales = torch.tensor([CHAPTER["sigma"]], dtype=torch.float64)
    now = state(**CHAPTER, phases=[(None, alone)] if alone else [])
    path = wide_flow(now, scales, CHAPTER["noise"], lengths * CHAPTER["dim"], tau_squared, CHAPTER["negatives"])
    excess = (wide_condition_number(path)[:, 0] - 1).log()  # falls by a straight line in the end
    last = int((excess > math.log(level - 1)).nonzero().max())
    part = (excess[last] - math.log(level - 1)) / (excess[last] - excess[last + 1])
    return float(alone + lengths[last] + part * (lengths[last + 1] - lengths[last]))


def vectors() -> dict:
    """Everything that the script is held to."""
    flows = {}
    for name, (given, phases) in CASES.items():
        now = state(**given, phases=phases)
        found = seen(now) | speeds(now, **given, tau_squared=phases[-1][0])
        flows[name] = {
            "given": given,
            "phases": phases,
            "per_d": (now.kappa_squared / given["dim"])[0].tolist(),
        } | found
    race = [{"tau2": tau, "alone": 0, "at": balance_time(tau)} for tau in TAUS]
    return {"flows": flows, "race": [*race, {"tau2": 2, "alone": 3, "at": balance_time(2, 3)}]}


if __name__ == "__main__":
    PATH.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
