"""Runs beside the law: views that are not Gaussian, and outputs of unit length, at a learned temperature."""

from collections.abc import Sequence

import torch

from contrastive_dynamics.testbed.independent_latents import latent_shares
from contrastive_dynamics.testbed.unit_length import unit_length_temperature

from .count_runs import STARTS, learned_temperatures
from .law_runs import Arms


def sign_counts(
    seeds: Sequence[int], batch: int = 128, steps: int = 400, rho: Sequence[float] = (0.7, 0.5, 0.3, 0.0, 0.0)
) -> Arms:
    """τ² of independent signs over Σ artanh ρ_j, less 1, for each start; control: over Σρ_j, as for Gaussian views.

    Args:
        seeds: one network each.
        batch, steps: as in `learned_temperatures`.
        rho: ρ of the coordinates.
    """
    found = learned_temperatures([rho], seeds, batch, steps, law="signs")["τ²"][:, 0]
    spectrum = torch.tensor(rho, dtype=torch.float64)
    _, tau = latent_shares(spectrum, None, "signs")
    control = {"Σρ": (found / spectrum.sum() - 1).mean(0)}
    return {"observed": dict(zip(STARTS, found / tau - 1, strict=True)), "control": control}


def unit_length_counts(
    seeds: Sequence[int], batch: int = 128, steps: int = 400, rho: float = 0.6, directions: int = 4
) -> Arms:
    """τ² of outputs of unit length over the solution of A_r(τ²) = c_r(ρ), less 1; control: over rρ, as for mean norm.

    Args:
        seeds: one network each.
        batch, steps: as in `learned_temperatures`.
        rho, directions: r directions of equal ρ, and no other.
    """
    spectrum = (rho,) * directions
    found = learned_temperatures([spectrum], seeds, batch, steps, norm="unit", outputs=directions)["τ²"][:, 0]
    expected = unit_length_temperature(rho, directions)
    control = {"rρ": (found / (directions * rho) - 1).mean(0)}
    return {"observed": dict(zip(STARTS, found / expected - 1, strict=True)), "control": control}
