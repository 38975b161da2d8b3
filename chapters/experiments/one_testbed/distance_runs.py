"""Runs of the law under squared distances, each with the law of inner products as its control."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from contrastive_dynamics.testbed.canonical_correlations import canonical_correlations
from contrastive_dynamics.testbed.distance_law import distance_filling, learned_distance_temperature
from contrastive_dynamics.testbed.encoders import Linear
from contrastive_dynamics.testbed.experiment import Views, train
from contrastive_dynamics.testbed.losses import Distances
from contrastive_dynamics.testbed.optimisers import Adam, Relative
from contrastive_dynamics.testbed.scores import shares
from contrastive_dynamics.testbed.soft_threshold import learned_temperature, water_filling
from contrastive_dynamics.testbed.view_makers import Apart
from contrastive_dynamics.testbed.worlds import GivenCorrelations, World

from .count_runs import SPECTRA, STARTS, Learned
from .four_worlds import Setting, four_worlds
from .law_runs import Arms

GRIDS = {"tokens": (1.0, 3.0), "moons": (1.0, 3.0, 8.0), "modalities": (1.0, 3.0, 8.0), "sparse codes": (1.0, 2.0)}
GAUSSIAN = (0.5, 1.0, 5.0)  # τ² of the views that are Gaussian
FAR = 8.0  # τ² at which tokens are looked at, too
TOLD_APART = ("Gaussian", "moons")  # views of unequal correlations at a large τ², where the two laws differ
Watch = Callable[[Iterable], Iterable]
Cells = dict[str, dict[str, Tensor]]


def distance_temperatures(
    spectra: Sequence[Sequence[float]],
    seeds: Sequence[int],
    batch: int = 128,
    steps: int = 400,
    rate: float = 0.05,
    *,
    watch: Watch = iter,
) -> Learned:
    """Train linear encoders and τ² together under distances, from STARTS times the law's τ², on given correlations.

    Args:
        spectra: ρ of each, below 1, all of one length S.
        seeds: one network each for every spectrum and start.
        batch, steps, rate: N pairs a step, and Adam's η.
        watch: wraps the steps in a progress bar.
    Returns: "ρ" `[spectrum, S]`, "τ²" `[start, spectrum, seed]`, "τ²g" `[start, spectrum, seed, S]` in the order of ρ.
    Cost: as `train`.
    """
    rho, starts = torch.tensor(spectra, dtype=torch.float64), torch.tensor(list(STARTS.values()), dtype=torch.float64)
    size = (len(starts), len(rho), len(seeds))
    rows = rho.unsqueeze(1).expand(*size, rho.shape[-1]).flatten(0, 2)
    begin = learned_distance_temperature(rows).view(size) * starts.view(-1, 1, 1)
    world = GivenCorrelations(rows, dtype=torch.float32)
    trained = train(
        world, Apart(), Linear(8), Distances(tuple(begin.flatten().tolist()), learned=True),
        seeds=list(seeds) * (size[0] * size[1]), steps=steps, batch=batch, optimiser=Adam(rate), dtype=torch.float32,
        watch=watch,
    )  # fmt: skip
    tau = trained.tau_squared.double()
    scaled = tau.unsqueeze(-1) * shares(trained, world.moments())
    return {"ρ": rho, "τ²": tau.view(size), "τ²g": scaled.view(*size, -1)}


def distance_count_errors(learned: Learned) -> Arms:
    """|τ²/Σv(ρ_j) − 1|, the largest over spectra, for each start; controls: Σρ_j, and Σρ_j/(1 − ρ_j²).

    The second is what the log density ratio of a direction has in front of the product. Of a control the smaller over
    starts.
    """
    rho = learned["ρ"]
    counts = {
        "law": learned_distance_temperature(rho),
        "Σρ": learned_temperature(rho),
        "Σρ/(1 − ρ²)": (rho / (1 - rho.square())).sum(-1),
    }
    errors = {name: (learned["τ²"] / of.view(1, -1, 1) - 1).abs().amax(1) for name, of in counts.items()}
    observed = dict(zip(STARTS, errors.pop("law"), strict=True))
    return {"observed": observed, "control": {name: of.amin(0) for name, of in errors.items()}}


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
    rho = canonical_correlations(moments, tied=world.tied).expand(len(how["seeds"]), -1).clamp(-1, 1)
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
