"""Runs of the law under squared distances, each with the law of inner products as its control."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from contrastive_dynamics.numerics.side_by_side import side_by_side
from contrastive_dynamics.testbed.distance_law import distance_filling, learned_distance_temperature
from contrastive_dynamics.testbed.losses import Distances
from contrastive_dynamics.testbed.scores import shares
from contrastive_dynamics.testbed.soft_threshold import learned_temperature, water_filling
from contrastive_dynamics.testbed.view_makers import Apart
from contrastive_dynamics.testbed.worlds import GivenCorrelations

from .count_runs import SPECTRA, Learned, errors_of_counts, learned_temperatures
from .four_worlds import Setting, four_worlds
from .law_runs import Arms, trained_in

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
        watch: wraps the worlds, which are trained side by side, in a progress bar.
    Returns: world → "trained", "distances" and "products" `[tau, seed, k]`, in the order of ρ; "tokens, far" at FAR.
    Cost: as `train`; 14 networks a seed.
    """
    rho = torch.tensor(SPECTRA["falling"], dtype=torch.float64)
    gaussian = Setting(GivenCorrelations(rho.expand(len(seeds), -1), dtype=torch.float32), Apart())
    cases = [("Gaussian", gaussian, GAUSSIAN)]
    worlds = four_worlds(seeds)
    cases += [(name, worlds[name], taus) for name, taus in GRIDS.items()] + [("tokens, far", worlds["tokens"], (FAR,))]
    found = side_by_side(_beside_both_laws, [(*case[1:], seeds, steps, batch) for case in cases], watch)
    return dict(zip([name for name, *_ in cases], found, strict=True))


def _beside_both_laws(setting: Setting, taus: Sequence[float], seeds, steps: int, batch: int) -> dict[str, Tensor]:
    trained, moments, rho = trained_in(setting, [Distances(tau) for tau in taus], seeds, steps, batch)
    rho = rho.clamp(-1, 1)
    return {
        "trained": torch.stack([shares(arm, moments) for arm in trained]),
        "distances": torch.stack([distance_filling(rho, tau) for tau in taus]),
        "products": torch.stack([water_filling(rho, tau, tied=setting.world.tied) for tau in taus]),
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
