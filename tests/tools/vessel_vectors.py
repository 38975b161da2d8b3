"""Test vectors of the live picture "vessel", from the library's kernels: `python tests/tools/vessel_vectors.py`."""

import itertools
import json

import torch
from checkout import ROOT

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
    return {"water": water, "flow": flow}


if __name__ == "__main__":
    PATH.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
