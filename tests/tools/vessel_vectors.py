"""Test vectors of the live picture "vessel", from the library's kernels: `python tests/tools/vessel_vectors.py`."""

import itertools
import json

import torch
from checkout import ROOT

from contrastive_dynamics.testbed.distance_law import distance_filling, learned_distance_temperature
from contrastive_dynamics.testbed.losses import Distances, InfoNCE
from contrastive_dynamics.testbed.soft_threshold import (
    effective_rank_of_shares,
    learned_temperature,
    population_loss,
    water_filling,
    water_level,
)

PATH = ROOT / "book" / "_static" / "explorables" / "vessel.vectors.json"
SPECTRA = {
    "usual": [0.9, 0.7, 0.5, 0.3, 0.0, 0.0],
    "coupled": [0.6, 0.6, 0.2, 0.1, 1.0, 1.0, 1.0],
    "nothing in common": [0.0, 0.0, 0.0, 0.0],
}
TEMPERATURES, OUTPUTS = (0.1, 1.0, 2.4, 6.0), (1, 2, 16)


def weights(z: int, dim: int) -> torch.Tensor:
    """Some U of norm 1, without a random number."""
    u = torch.arange(1.0, z * dim + 1, dtype=torch.float64).view(z, dim).sin()
    return u / u.norm()


def slopes(u: torch.Tensor, rho: torch.Tensor, tau: float) -> dict:
    """The loss at U/‖U‖ and e^{log τ²}, and minus its slopes over 4τ², by automatic differentiation."""
    u, log_tau = u.clone().requires_grad_(), torch.tensor(tau, dtype=torch.float64).log().requires_grad_()
    unit = u / u.norm()
    loss = population_loss(unit.mT @ unit, torch.diag(rho), log_tau.exp())
    turn, warming = (-g / (4 * tau) for g in torch.autograd.grad(loss, (u, log_tau)))
    return {"loss": float(loss.detach()), "turn": turn.flatten().tolist(), "warming": float(warming)}


def sampled_slopes(u: torch.Tensor, pairs: torch.Tensor, tau: float, distance: bool) -> dict:
    """The same slopes of InfoNCE among pairs, `[2, n, D]`, at U/‖U‖."""
    u, log_tau = u.clone().requires_grad_(), torch.tensor([tau], dtype=torch.float64).log().requires_grad_()
    loss = (Distances if distance else InfoNCE)(learned=True, norm="none")
    f, g = (pairs @ (u / u.norm()).mT).unsqueeze(1)
    value = loss(f, g, params={"log_tau_squared": log_tau}).sum()
    turn, warming = (-x / (4 * tau) for x in torch.autograd.grad(value, (u, log_tau)))
    return {"turn": turn.flatten().tolist(), "warming": float(warming)}


def vectors() -> dict:
    """Everything that the script is held to."""
    water, flow = [], []
    for name, tau, z in itertools.product(SPECTRA, TEMPERATURES, OUTPUTS):
        rho = torch.tensor(SPECTRA[name], dtype=torch.float64)
        shares = water_filling(rho, tau, z)
        given = {"rho": SPECTRA[name], "tau": tau, "z": z}
        found = {"shares": shares.tolist(), "level": float(water_level(rho, tau, z))}
        found |= {"rank": float(effective_rank_of_shares(shares)), "learned": float(learned_temperature(rho, z))}
        water.append(given | found)
    for name, tau in itertools.product(SPECTRA, TEMPERATURES):
        rho = torch.tensor(SPECTRA[name], dtype=torch.float64)
        u = weights(3, len(rho))
        flow.append({"rho": SPECTRA[name], "tau": tau, "u": u.tolist()} | slopes(u, rho, tau))
    return {"water": water, "flow": flow} | sampled_vectors()


def sampled_vectors() -> dict:
    """Slopes among seven pairs, and the law of distances."""
    pairs, sampled, apart = torch.arange(1.0, 57.0, dtype=torch.float64).view(2, 7, 4).mul(1.7).cos(), [], []
    for tau, distance in itertools.product((0.5, 3.0), (False, True)):
        given = {"u": weights(3, 4).tolist(), "first": pairs[0].tolist(), "second": pairs[1].tolist()}
        sampled.append(given | {"tau": tau, "distance": distance} | sampled_slopes(weights(3, 4), pairs, tau, distance))
    rho = torch.tensor(SPECTRA["usual"], dtype=torch.float64)
    for tau in TEMPERATURES:
        row = {"rho": SPECTRA["usual"], "tau": tau, "shares": distance_filling(rho, tau).tolist()}
        apart.append(row | {"learned": float(learned_distance_temperature(rho))})
    return {"sampled": sampled, "apart": apart}


if __name__ == "__main__":
    PATH.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
