"""Runs of the law at a learned temperature: τ² settles at Σρ_j and τ²g_j at ρ_j, but for what few pairs add."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from contrastive_dynamics.numerics.side_by_side import side_by_side
from contrastive_dynamics.testbed.canonical_correlations import moment_correlations
from contrastive_dynamics.testbed.distance_law import learned_distance_temperature
from contrastive_dynamics.testbed.encoders import Linear
from contrastive_dynamics.testbed.experiment import train
from contrastive_dynamics.testbed.finite_batch import finite_batch_shares
from contrastive_dynamics.testbed.losses import Distances, InfoNCE, Spectral
from contrastive_dynamics.testbed.optimisers import Adam
from contrastive_dynamics.testbed.scores import shares
from contrastive_dynamics.testbed.soft_threshold import learned_temperature
from contrastive_dynamics.testbed.view_makers import Apart
from contrastive_dynamics.testbed.worlds import GivenCorrelations

from .four_worlds import WORLDS, four_worlds
from .law_runs import Arms

SPECTRA = {
    "falling": (0.9, 0.7, 0.5, 0.3, 0.1, 0.0),
    "convex": (0.8, 0.55, 0.35, 0.2, 0.0, 0.0),
    "halved": (0.8, 0.4, 0.2, 0.1, 0.05, 0.0),
    "two and two": (0.8, 0.8, 0.2, 0.2, 0.0, 0.0),
    "equal": (0.6, 0.6, 0.6, 0.6, 0.6, 0.6),
    "one": (0.7, 0.0, 0.0, 0.0, 0.0, 0.0),
    "equal and weak": (0.3, 0.3, 0.3, 0.3, 0.3, 0.3),
    "weak": (0.3, 0.25, 0.2, 0.15, 0.1, 0.0),
}
COUNTED_WRONG = ("tokens", "moons", "modalities")  # by InfoNCE: worlds with a ρ above 0.9
STARTS = {"from below": 0.4, "from above": 2.5}  # τ² over Σρ_j
Watch = Callable[[Iterable], Iterable]


Learned = dict[str, Tensor]


def learned_temperatures(
    spectra: Sequence[Sequence[float]],
    seeds: Sequence[int],
    batch: int = 128,
    steps: int = 400,
    rate: float = 0.05,
    starts: Sequence[float] = tuple(STARTS.values()),
    outputs: int = 8,
    tied: bool = True,
    law: str = "normal",
    norm: str = "mean",
    *,
    loss: type[InfoNCE] | type[Distances] = InfoNCE,
    watch: Watch = iter,
) -> Learned:
    """Train linear encoders and τ² together by a loss and Adam, on views of given correlations, all in one batch.

    Args:
        spectra: ρ of each, descending, all of one length S; ρ = 0 is a private direction.
        seeds: one network each for every spectrum and start.
        batch, steps, rate: N pairs a step, and Adam's η.
        starts: of τ², over its law: Σρ_j, or that of distances.
        outputs: z.
        tied: whether one encoder serves both views.
        law: of the coordinates, one of `worlds.LAWS`.
        norm: of the outputs, one of `losses.NORMS`.
        loss: inner products or distances; for the latter ρ is below 1.
        watch: wraps the steps in a progress bar.
    Returns: "ρ" `[spectrum, S]`, "τ²" `[start, spectrum, seed]`, "τ²g" `[start, spectrum, seed, S]` in the order of ρ.
    Raises: ValueError as `GivenCorrelations` and `train`.
    Cost: as `train`; at the default sizes a second per 15 networks.
    """
    rho = torch.tensor(spectra, dtype=torch.float64)
    size = (len(starts), len(rho), len(seeds))
    rows = rho.unsqueeze(1).expand(size[0], *size[1:], rho.shape[-1]).flatten(0, 2)
    count = learned_distance_temperature(rows) if loss is Distances else rows.sum(-1)
    begin = count.view(size) * torch.tensor(starts, dtype=torch.float64).view(-1, 1, 1)
    of_start = loss(tuple(begin.flatten().tolist()), learned=True, norm=norm)
    world = GivenCorrelations(rows, law=law, tied=tied, dtype=torch.float32)
    trained = train(
        world, Apart(), Linear(outputs), of_start, seeds=list(seeds) * (size[0] * size[1]), steps=steps, batch=batch,
        optimiser=Adam(rate), dtype=torch.float32, watch=watch,
    )  # fmt: skip
    tau = trained.tau_squared.double()
    scaled = tau.unsqueeze(-1) * shares(trained, world.moments())
    return {"ρ": rho, "τ²": tau.view(size), "τ²g": scaled.view(*size, -1)}


def count_errors(learned: Learned) -> Arms:
    """|τ²/Σρ_j − 1|, the largest over spectra, for each start; controls: Σρ_j² and Σρ_j/(1 − ρ_j²) in place of Σρ_j."""
    rho = learned["ρ"]
    return errors_of_counts(learned, learned_temperature(rho), {"Σρ²": rho.square().sum(-1)})


def errors_of_counts(learned: Learned, law: Tensor, others: dict[str, Tensor]) -> Arms:
    """|τ² over the law − 1|, the largest over spectra, for each start; controls: other counts `[spectrum]`.

    One more control is Σρ_j/(1 − ρ_j²): what a Gaussian pointwise mutual information has in front of the product. Of a
    control the smaller over starts.
    """
    others = others | {"Σρ/(1 − ρ²)": (learned["ρ"] / (1 - learned["ρ"].square())).sum(-1)}

    def error(of: Tensor) -> Tensor:
        return (learned["τ²"] / of.view(1, -1, 1) - 1).abs().amax(1)

    control = {name: error(of).amin(0) for name, of in others.items()}
    return {"observed": dict(zip(STARTS, error(law), strict=True)), "control": control}


def correlation_errors(learned: Learned) -> Arms:
    """Largest |τ²g_j − ρ_j| over directions and spectra, for each start; controls: ρ_j², and Σρ/S in all."""
    rho = learned["ρ"].unsqueeze(1)

    def error(of: Tensor) -> Tensor:
        return (learned["τ²g"] - of).abs().amax((1, 3))

    control = {"ρ²": error(rho.square()).amin(0), "all alike": error(rho.mean(-1, keepdim=True)).amin(0)}
    return {"observed": dict(zip(STARTS, error(rho), strict=True)), "control": control}


def finite_batch_errors(learned: Learned, batch: int) -> Arms:
    """|τ²/τ_N² − 1| with τ_N² of `finite_batch_shares`, mean over spectra, for each start; control: Σρ_j for τ_N²."""
    corrected = torch.stack([finite_batch_shares(rho, batch)[1] for rho in learned["ρ"]]).to(learned["τ²"])

    def error(of: Tensor) -> Tensor:
        return (learned["τ²"] / of.view(1, -1, 1) - 1).abs().mean(1)

    control = {"uncorrected": error(learned_temperature(learned["ρ"])).amin(0)}
    return {"observed": dict(zip(STARTS, error(corrected), strict=True)), "control": control}


def few_pairs(seeds: Sequence[int], batch: int = 16, steps: int = 1600, rate: float = 0.02) -> Arms:
    """τ²/Σρ_j − 1 at few pairs: three strong directions, and as control twelve weak ones of the same Σρ_j = 2.4.

    The law needs N well above e^v, v = Σ_j(τ²g_j)² the variance of the logits: e^1.9 and e^0.5 here. If e^{τ²} counted,
    the two would fail alike.
    Args:
        seeds: one network each.
        batch, steps, rate: as in `learned_temperatures`.
    """
    spectra = [(0.8,) * 3 + (0.0,) * 9, (0.2,) * 12]
    strong, weak = learned_temperatures(spectra, seeds, batch, steps, rate, (1.0,), 12)["τ²"][0] / 2.4 - 1
    return {"observed": {"three strong directions": strong}, "control": {"twelve weak directions": weak}}


def two_encoders(seeds: Sequence[int], batch: int = 128, steps: int = 400) -> Arms:
    """τ² from above over τ² from below, for two encoders, who may leave norm unused; control: one encoder.

    Args:
        seeds: one pair of networks each.
        batch, steps: as in `learned_temperatures`.
    """
    names = ("falling", "convex")
    two, one = side_by_side(_above_over_below, [(names, seeds, batch, steps, tied) for tied in (False, True)])
    return {"observed": dict(zip(names, two, strict=True)), "control": {"one encoder": one.mean(0)}}


def _above_over_below(names: Sequence[str], seeds, batch: int, steps: int, tied: bool) -> Tensor:
    below, above = learned_temperatures([SPECTRA[name] for name in names], seeds, batch, steps, tied=tied)["τ²"]
    return above / below


def spectral_counts(
    seeds: Sequence[int], batch: int = 256, steps: int = 400, rate: float = 0.05, *, watch: Watch = iter
) -> Arms:
    """τ²/Σρ_j − 1 of the spectral loss in each paper's world, whose views are not Gaussian; control: InfoNCE.

    Two encoders start at Σρ_j/2, from where they stop at Σρ_j.
    Args:
        seeds: one network each.
        batch, steps, rate: as in `learned_temperatures`.
        watch: wraps the worlds, which are trained side by side, in a progress bar.
    Returns: Arms; of the control the three worlds of COUNTED_WRONG.
    """
    arms = {name: ((Spectral, 0.5),) + ((InfoNCE, 0.5),) * (name in COUNTED_WRONG) for name in WORLDS}
    cases = [(name, of, seeds, batch, steps, rate) for name, of in arms.items()]
    found = dict(zip(arms, side_by_side(_counts, cases, watch), strict=True))
    observed = {name: of[0] for name, of in found.items()}
    return {"observed": observed, "control": {name: found[name][1] for name in COUNTED_WRONG}}


def _counts(name: str, arms: Sequence[tuple[type, float]], seeds, batch: int, steps: int, rate: float) -> list[Tensor]:
    """τ²/Σρ_j − 1 `[seed]` of each arm, a loss and its start over Σρ_j, in one of the four worlds."""
    world, views = four_worlds(seeds)[name]
    count = learned_temperature(moment_correlations(views.moments(world), tied=world.tied)).expand(len(seeds))
    losses = [loss(tuple((start * count).tolist()), learned=True) for loss, start in arms]
    how = {"steps": steps, "batch": batch, "optimiser": Adam(rate), "dtype": torch.float32}
    trained = train(world, views, Linear(32), losses, seeds=seeds, **how)
    return [of.tau_squared / count - 1 for of in trained.arms(len(arms))]


def infonce_counts(
    seeds: Sequence[int], batch: int = 256, steps: int = 400, rate: float = 0.05, *, watch: Watch = iter
) -> Arms:
    """τ²/Σρ_j − 1 of InfoNCE in sparse codes, from half and from twice the count; control: in tokens, from half.

    A bilinear score is nearly right where correlations are weak, whatever the views' law. In tokens they are strong.
    Args:
        seeds: one network each for every start.
        batch, steps, rate: as in `learned_temperatures`.
        watch: wraps both worlds, which are trained side by side, in a progress bar.
    """
    starts = {"sparse codes": (0.5, 2.0), "tokens": (0.5,)}
    cases = [(name, [(InfoNCE, x) for x in of], seeds, batch, steps, rate) for name, of in starts.items()]
    sparse, tokens = side_by_side(_counts, cases, watch)
    observed = {f"from {start:g} Σρ": of for start, of in zip(starts["sparse codes"], sparse, strict=True)}
    return {"observed": observed, "control": {"tokens": tokens[0]}}
