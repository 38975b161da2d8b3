"""Runs of the law under squared distances, each with the law of inner products as its control."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from contrastive_dynamics.testbed.canonical_correlations import moment_correlations
from contrastive_dynamics.testbed.distance_law import distance_filling, learned_distance_temperature
from contrastive_dynamics.testbed.encoders import Linear
from contrastive_dynamics.testbed.experiment import Views, train
from contrastive_dynamics.testbed.losses import Distances
from contrastive_dynamics.testbed.optimisers import Relative
from contrastive_dynamics.testbed.scores import shares
from contrastive_dynamics.testbed.soft_threshold import learned_temperature, water_filling
from contrastive_dynamics.testbed.view_makers import Apart
from contrastive_dynamics.testbed.worlds import GivenCorrelations, World

from .count_runs import SPECTRA, Learned, errors_of_counts, learned_temperatures
from .four_worlds import Setting, four_worlds
from .law_runs import Arms

GRIDS = {"tokens": (1.0, 3.0), "moons": (1.0, 3.0, 8.0), "modalities": (1.0, 3.0, 8.0), "sparse codes": (1.0, 2.0)}
GAUSSIAN = (0.5, 1.0, 5.0)  # τ² of the views that are Gaussian
FAR = 8.0  # τ² at which tokens are looked at, too
TOLD_APART = ("Gaussian", "moons")  # views of unequal correlations at a large τ², where the two laws differ
Watch = Callable[[Iterable], Iterable]
Cells = dict[str, dict[str, Tensor]]


def distance_temperatures(
    spectra: Sequence[Sequence[float]], seeds: Sequence[int], batch: int = 128, steps: int = 400, *, watch: Watch = iter
) -> Learned:
    """`learned_temperatures` under distances, from STARTS times the law's τ²."""
    return learned_temperatures(spectra, seeds, batch, steps, loss=Distances, watch=watch)


def distance_count_errors(learned: Learned) -> Arms:
    """`errors_of_counts` from Σv(ρ_j), the count of distances; a control is Σρ_j, that of inner products."""
    rho = learned["ρ"]
    return errors_of_counts(learned, learned_distance_temperature(rho), {"Σρ": learned_temperature(rho)})


def distance_shares(seeds: Sequence[int], steps: int = 300, batch: int = 192, *, watch: Watch = iter) -> Cells:
    """Shares of linear networks trained under distances, and what both laws say, in the four worlds and Gaussian views.

    Args:
        seeds: one network each at every τ².
        steps, batch: of the trainings, with `Relative` steps.
        watch: wraps the worlds in a progress bar.
    Returns: world → "trained", "distances" and "products" `[tau, seed, k]`, in the order of ρ; "tokens, far" at FAR.
    Cost: as `train`; 14 networks a seed.
    """
    rho = torch.tensor(SPECTRA["falling"], dtype=torch.float64)
    gaussian = Setting(GivenCorrelations(rho.expand(len(seeds), -1), dtype=torch.float32), Apart())
    cases = [("Gaussian", gaussian, GAUSSIAN)]
    worlds = four_worlds(seeds)
    cases += [(name, worlds[name], taus) for name, taus in GRIDS.items()] + [("tokens, far", worlds["tokens"], (FAR,))]
    how = {"seeds": seeds, "steps": steps, "batch": batch, "optimiser": Relative(0.1), "dtype": torch.float32}
    return {name: _beside_both_laws(*setting, taus, how) for name, setting, taus in watch(cases)}


def _beside_both_laws(world: World, views: Views, taus: Sequence[float], how: dict) -> dict[str, Tensor]:
    trained = train(world, views, Linear(32), [Distances(tau) for tau in taus], **how)
    moments = views.moments(world)
    rho = moment_correlations(moments, tied=world.tied).expand(len(how["seeds"]), -1).clamp(-1, 1)
    return {
        "trained": torch.stack([shares(arm, moments) for arm in trained.arms(len(taus))]),
        "distances": torch.stack([distance_filling(rho, tau) for tau in taus]),
        "products": torch.stack([water_filling(rho, tau, tied=world.tied) for tau in taus]),
    }


def distance_share_errors(cells: Cells) -> Arms:
    """½Σ_j|difference of shares| from the law of distances, the largest over τ²; outside: tokens at FAR.

    Control: from the law of inner products, the smaller of TOLD_APART.
    """

    def error(one: dict[str, Tensor], law: str) -> Tensor:
        return (one["trained"] - one[law]).abs().sum(-1).amax(0) / 2

    control = torch.stack([error(cells[name], "products") for name in TOLD_APART]).amin(0)
    observed = {name: error(one, "distances") for name, one in cells.items()}
    outside = {f"tokens, τ² = {FAR:g}": observed.pop("tokens, far")}
    return {"observed": observed, "control": {"the law of inner products": control}, "outside": outside}
