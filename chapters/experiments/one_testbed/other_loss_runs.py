"""Runs beside the law: views that are not Gaussian, and outputs of unit length, at a learned temperature."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from contrastive_dynamics.testbed.encoders import Linear
from contrastive_dynamics.testbed.experiment import train
from contrastive_dynamics.testbed.independent_latents import latent_shares
from contrastive_dynamics.testbed.losses import InfoNCE
from contrastive_dynamics.testbed.optimisers import Adam
from contrastive_dynamics.testbed.unit_length import unit_length_shares, unit_length_temperature
from contrastive_dynamics.testbed.view_makers import Apart
from contrastive_dynamics.testbed.worlds import GivenCorrelations

from .count_runs import STARTS, Learned, learned_temperatures
from .law_runs import Arms

UNEQUAL = ((0.9, 0.7, 0.5, 0.3, 0.1), (0.8, 0.55, 0.35, 0.2, 0.1))
CLIP_START = 1 / 0.07  # of logit_scale.exp()
SOLVED = (0.9, 0.6, 0.4, 0.2)  # ρ of all directions: the batch is told apart under the first
Watch = Callable[[Iterable], Iterable]


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


def unequal_lengths(seeds: Sequence[int], batch: int = 128, steps: int = 400) -> Learned:
    """`learned_temperatures` of outputs of unit length, on UNEQUAL correlations, and "law", the fixed point."""
    learned = learned_temperatures(UNEQUAL, seeds, batch, steps, norm="unit")
    shares, taus = zip(*(unit_length_shares(rho) for rho in learned["ρ"]), strict=True)
    law = torch.stack([tau * of for tau, of in zip(taus, shares, strict=True)])
    return learned | {"law": law.to(learned["τ²g"])}


def unequal_length_errors(learned: Learned) -> Arms:
    """Σ_j|τ²g_j − its fixed point| over the fixed point's τ², the larger of two spectra, for each start.

    Control: ρ for the fixed point, as for outputs of mean norm; the smaller of starts and spectra.
    """

    def errors(of: Tensor) -> Tensor:
        return (learned["τ²g"] - of.unsqueeze(1)).abs().sum(-1) / of.sum(-1).unsqueeze(1)

    observed = dict(zip(STARTS, errors(learned["law"]).amax(1), strict=True))
    return {"observed": observed, "control": {"ρ, as for mean norm": errors(learned["ρ"]).amin((0, 1))}}


def solved_batches(
    seeds: Sequence[int], batch: int = 128, steps: int = 200, directions: int = 64, *, watch: Watch = iter
) -> dict[str, Tensor]:
    """As CLIP has them, two encoders and outputs of unit length, τ² from 1/0.07: directions of equal ρ, each of SOLVED.

    Args:
        seeds: one pair of networks each for every ρ.
        batch, steps, directions: N, of the training by Adam, and S.
        watch: wraps the steps in a progress bar.
    Returns: "ρ" `[case]`, "τ²" and "loss", of one side in the last tenth of the steps, `[case, seed]`.
    Cost: as `train`, four cases of two encoders per seed.
    """
    rho = torch.tensor(SOLVED, dtype=torch.float64)
    rows = rho.repeat_interleave(len(seeds)).unsqueeze(1).expand(-1, directions)
    trained = train(
        GivenCorrelations(rows, tied=False, dtype=torch.float32), Apart(), Linear(directions),
        InfoNCE(CLIP_START, learned=True, norm="unit"), seeds=list(seeds) * len(rho), steps=steps, batch=batch,
        optimiser=Adam(0.05), dtype=torch.float32, watch=watch,
    )  # fmt: skip
    shape, last = (len(rho), len(seeds)), max(1, steps // 10)
    loss = trained.losses[-last:].mean(0).double().view(shape) / 2
    return {"ρ": rho, "τ²": trained.tau_squared.double().view(shape), "loss": loss}


def solved_and_not(found: dict[str, Tensor]) -> Arms:
    """τ² of stronger correlations over that of weaker: .9 over .6; control: .4 over .2, whose batch is not solved."""
    tau = found["τ²"]
    return {"observed": {"ρ = .9 over ρ = .6": tau[0] / tau[1]}, "control": {"ρ = .4 over ρ = .2": tau[2] / tau[3]}}
