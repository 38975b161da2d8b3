"""Worlds made to break the law: all have the same canonical correlations, so that the law says the same of each.

Whitened views z_A, z_B `[run, n, 6]` with E z_A z_Bᵀ = diag(RHO), seen through maps A and B. Where z has Gaussian
marginals, mean 0, negatives of its own and A = B, step 2 of the proof holds whatever the joint distribution is.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import itemgetter

import torch
from torch import Tensor

from contrastive_dynamics.numerics.random_streams import streams
from contrastive_dynamics.testbed.encoders import Linear
from contrastive_dynamics.testbed.experiment import Trained, train
from contrastive_dynamics.testbed.losses import InfoNCE
from contrastive_dynamics.testbed.optimisers import Adam
from contrastive_dynamics.testbed.pairs import Pairs, per_run
from contrastive_dynamics.testbed.sampled_law import sampled_shares
from contrastive_dynamics.testbed.scores import linear_map
from contrastive_dynamics.testbed.view_makers import Native

from .law_runs import Arms

RHO = (0.7, 0.5, 0.3, 0.1, 0.0, 0.0)
SIZE = len(RHO)
LAG, MEAN = 0.97, 2.0  # of the time series and of what is not centred
_FOLD = 1.5381722544550522  # E z²[|z| < c] = 1/2: so folded, a normal number is uncorrelated with itself
Generators = list[torch.Generator]
Runs = dict[str, dict[str, Tensor]]


def _draws(draw: Callable, generators: Generators, n: int) -> Tensor:
    return per_run(draw, generators, n, SIZE)


def normal(n: int, generators: Generators) -> tuple[Tensor, Tensor]:
    """Jointly Gaussian: the law's home."""
    rho = torch.tensor(RHO, dtype=torch.float64)
    first = _draws(torch.randn, generators, n)
    return first, rho * first + (1 - rho.square()).sqrt() * _draws(torch.randn, generators, n)


def signs_flipped(n, generators):
    """Each coordinate of the second view is that of the first, times a sign: all of |z_A| is seen in z_B."""
    first = _draws(torch.randn, generators, n)
    return first, first * torch.where(_draws(torch.rand, generators, n) < (1 + _rho()) / 2, 1.0, -1.0)


def nonlinear_twins(n, generators):
    """The two private coordinates are functions of each other, (z² − 1)/√2 and a folded z, and uncorrelated."""
    first, second = normal(n, generators)
    square, z = (first[..., 4].square() - 1) / 2**0.5, first[..., 5]
    folded = torch.where(z.abs() < _FOLD, z, -z)
    second = torch.cat([second[..., :4], square.unsqueeze(-1), folded.unsqueeze(-1)], -1)
    swap = per_run(torch.rand, generators, n, 1) < 0.5  # else one encoder would see two distributions
    return torch.where(swap, second, first), torch.where(swap, first, second)


def heavy_tails(n, generators):
    """t with three degrees of freedom: no fourth moment."""

    def values():
        chi = sum(_draws(torch.randn, generators, n).square() for _ in range(3))
        return _draws(torch.randn, generators, n) / chi.sqrt()  # of variance 1, as 3/(3 − 2) is divided out

    return _copied(values, n, generators)


def two_clusters(n, generators):
    """Each coordinate has two clusters, at ±0.95."""

    def values():
        side = torch.where(_draws(torch.rand, generators, n) < 0.5, -0.95, 0.95)
        return side + (1 - 0.95**2) ** 0.5 * _draws(torch.randn, generators, n)

    return _copied(values, n, generators)


def rare_classes(n, generators):
    """Each coordinate is a class that one sample in ten belongs to."""
    return _copied(lambda: torch.where(_draws(torch.rand, generators, n) < 0.1, 3.0, -1 / 3).double(), n, generators)


def shared_radius(n, generators):
    """Gaussian views times one radius, so that they are t with five degrees of freedom."""
    chi = sum(per_run(torch.randn, generators, n, 1).square() for _ in range(5))
    return tuple(x * (3 / chi).sqrt() for x in normal(n, generators))


def outliers(n, generators):
    """One pair in a thousand is thirty times as large."""
    rare = per_run(torch.rand, generators, n, 1) < 1e-3
    return tuple(x * torch.where(rare, 30.0, 1.0) / (0.999 + 0.9) ** 0.5 for x in normal(n, generators))


def time_series(n, generators):
    """The shared part keeps 0.97 of itself from one pair of the batch to the next: negatives know the anchor."""
    lag = torch.arange(n, dtype=torch.float64)
    kernel = (LAG ** (lag.unsqueeze(-1) - lag)).tril() * (1 - LAG**2) ** 0.5
    kernel[:, 0] = LAG**lag
    shared, rho = kernel @ _draws(torch.randn, generators, n), _rho()
    return tuple(rho.sqrt() * shared + (1 - rho).sqrt() * _draws(torch.randn, generators, n) for _ in range(2))


def not_centred(n, generators):
    """Gaussian, and the strongest coordinate has the mean 2."""
    shift = torch.zeros(SIZE, dtype=torch.float64)
    shift[0] = MEAN
    return tuple(x + shift for x in normal(n, generators))


DRAWS = {
    "normal": normal, "signs flipped": signs_flipped, "nonlinear twins": nonlinear_twins, "heavy tails": heavy_tails,
    "two clusters": two_clusters, "rare classes": rare_classes, "shared radius": shared_radius, "outliers": outliers,
    "time series": time_series, "not centred": not_centred, "unequal views": normal, "ill-conditioned": normal,
}  # fmt: skip

BROKEN = (
    "heavy tails", "two clusters", "rare classes", "shared radius", "time series", "not centred", "unequal views",
)  # fmt: skip
MENDED = ("two clusters", "rare classes", "not centred", "unequal views")
DEPENDENT = {"signs flipped": (1,) * 6, "nonlinear twins": (0, 0, 0, 0, 1, 1)}  # where a partner tells |z| or z


def maps(name: str) -> tuple[Tensor, Tensor]:
    """A and B `[6, 6]`, the identity but for unequal views and for a covariance of condition 10⁶."""
    unit = torch.eye(SIZE, dtype=torch.float64)
    if name == "unequal views":
        variances = torch.tensor([1.8, 0.2, 1.8, 0.2, 1.0, 1.0], dtype=torch.float64)
        return torch.diag(variances.sqrt()), torch.diag((2 - variances).sqrt())
    if name == "ill-conditioned":  # the strongest correlation has the least variance, and no axis is an input
        turn = torch.linalg.qr(torch.cos(torch.outer(torch.arange(6.0), torch.arange(6.0) + 0.5)).double())[0]
        both = turn * torch.logspace(-3, 0, SIZE, dtype=torch.float64)
        return both, both
    return unit, unit


class Hostile:
    """The world of each run, by name; its latents are not recorded, for not all of them have any."""

    tied, inputs = True, SIZE

    def __init__(self, names: Sequence[str]):
        self.names = tuple(names)
        both = [maps(name) for name in names]
        self.first, self.second = (torch.stack([pair[k] for pair in both]) for k in (0, 1))

    def pairs(self, n, generators):
        views = self._views(n, generators)
        return Pairs(*views, views[0][..., :0], torch.cat(views, -1))

    def shared(self, n, generators):
        return torch.zeros(len(generators), n, 0)

    def private(self, n, generators):
        return torch.cat(self._views(n, generators), -1)

    def render(self, shared, private, modality):
        return private.chunk(2, -1)[modality]

    def _views(self, n, generators):
        of_world = groupby(zip(self.names, generators, strict=True), key=itemgetter(0))
        drawn = [DRAWS[name](n, [g for _, g in runs]) for name, runs in of_world]
        return tuple(torch.cat([d[k] for d in drawn]) @ m.mT for k, m in enumerate((self.first, self.second)))


def hostile_runs(
    seeds: Sequence[int],
    names: Sequence[str] = tuple(DRAWS),
    tau_squared: float | None = None,
    batch: int = 128,
    steps: int = 200,
    rate: float = 0.05,
    *,
    watch: Callable[[Iterable], Iterable] = iter,
) -> Runs:
    """One linear encoder per world and seed, trained by InfoNCE at a learned τ², from 1, or at a fixed one.

    Args:
        seeds: one encoder each in every world.
        names: keys of DRAWS.
        tau_squared: τ² > 0, or None if it is learned.
        batch, steps, rate: N pairs a step, and Adam's η.
        watch: wraps the steps in a progress bar.
    Returns: by world "τ²" `[seed]` and "H", τ²G `[seed, 6, 6]` in the canonical directions.
    Raises: ValueError as `train`; KeyError for an unknown name.
    Cost: as `train`.
    """
    world = Hostile([name for name in names for _ in seeds])
    loss = InfoNCE(tau_squared or 1.0, learned=tau_squared is None)
    trained = train(
        world, Native(), Linear(SIZE), loss, seeds=list(seeds) * len(names), steps=steps, batch=batch,
        optimiser=Adam(rate), dtype=torch.float32, watch=watch,
    )  # fmt: skip
    fixed = torch.full((len(world.names),), float(tau_squared or 1))
    tau = (fixed if trained.tau_squared is None else trained.tau_squared).double()
    each = zip(names, tau.split(len(seeds)), (tau.view(-1, 1, 1) * _between(trained)).split(len(seeds)), strict=True)
    return {name: {"τ²": one, "H": scaled} for name, one, scaled in each}


def law_error(run: dict[str, Tensor], h: Tensor, tau_squared: float) -> Tensor:
    """The larger of |τ²/predicted − 1| and the largest entry of |τ²G − diag h|, `[seed]`.

    The diagonal alone would be blind: of rank one, G = √g√gᵀ has the right shares on its diagonal.
    """
    return torch.maximum((run["τ²"] / tau_squared - 1).abs(), (run["H"] - torch.diag(h)).abs().amax((-2, -1)))


def broken_worlds(runs: Runs) -> Arms:
    """`law_error` of the law in the worlds that break it; control: the normal world."""
    return {"observed": {n: _by_law(runs[n]) for n in BROKEN}, "control": {"normal views": _by_law(runs["normal"])}}


def unbroken_worlds(runs: Runs) -> Arms:
    """`law_error` of the law where only the joint distribution is odd; control: dependence in place of correlation.

    A coordinate that is a function of its partner, up to a sign, then counts as 1.
    """
    wrong = {n: _rho().where(torch.tensor(seen) == 0, 1.0) for n, seen in DEPENDENT.items()}
    mistaken = [law_error(runs[n], h, float(h.sum())) for n, h in wrong.items()]
    control = {"dependence for correlation": torch.stack(mistaken).amin(0)}
    return {"observed": {n: _by_law(runs[n]) for n in DEPENDENT}, "control": control}


def mended_worlds(runs: Runs, seed: int) -> Arms:
    """`law_error` of the law that says what broke it, see `mended_law`; control: of the law itself, where it does best.

    Args:
        runs: of `hostile_runs`.
        seed: as in `mended_law`.
    """
    observed = {n: law_error(runs[n], *mended_law(n, seed)) for n in MENDED}
    return {"observed": observed, "control": {"the law": torch.stack([_by_law(runs[n]) for n in MENDED]).amin(0)}}


def mended_law(name: str, seed: int, batch: int = 128) -> tuple[Tensor, float]:
    """h `[6]` and τ² where the reason of the failure is put into the law.

    time series: a batch's mean cancels, as what is not centred; h = ρ(1 − a)/(1 − ρa), a the mean autocorrelation in a
    batch. not centred: the mean m costs norm and negatives, and earns nothing; h_1 = ρ_1/(1 + m²). unequal views of
    standard deviations α and β: H = diag(ρ_j/(α_jβ_j)), τ² = √(tr HA² tr HB²). Others: `sampled_shares`.
    Source: derived, as the law in `soft_threshold`, with the changed mean and variance of a negative's logit.
    Args:
        name: one of MENDED, or time series, whose autocorrelation differs from batch to batch: there h is too large.
        seed: of the samples from which log moments are taken, 1000 anchors and as many negatives.
        batch: N of the runs.
    Returns: h and τ².
    """
    rho = _rho()
    if name == "time series":
        lags = torch.arange(batch, dtype=torch.float64)
        alike = float((LAG ** (lags.unsqueeze(-1) - lags).abs()).mean())
        h = rho * (1 - alike) / (1 - rho * alike)
        return h, float(h.sum())
    if name == "not centred":
        h = torch.cat([rho[:1] / (1 + MEAN**2), rho[1:]])
        return h, float(h.sum() + MEAN**2 * h[0])
    if name == "unequal views":
        a, b = (m.diagonal() for m in maps(name))
        return rho, float(((rho * a / b).sum() * (rho * b / a).sum()).sqrt())
    anchors, negatives = DRAWS[name](2000, streams([seed], 1, "log moments"))[0][0].chunk(2)
    shares, total = sampled_shares(rho, anchors, negatives, iterations=20)
    return shares * total, float(total)


def _by_law(run: dict[str, Tensor]) -> Tensor:
    return law_error(run, _rho(), sum(RHO))


def _between(trained: Trained) -> Tensor:
    """G = UᵀV/(‖U‖‖V‖) `[run, 6, 6]`, U and V the encoder after A and after B."""
    w = linear_map(trained.network, trained.encoders[0], SIZE).double()
    u, v = w @ trained.world.first, w @ trained.world.second
    means = torch.tensor([MEAN if name == "not centred" else 0.0 for name in trained.world.names])
    sizes = [x.square().sum((-2, -1)) + (means * x[..., 0].mT).square().sum(0) for x in (u, v)]  # E‖f‖², mean and all
    return u.mT @ v / (sizes[0] * sizes[1]).sqrt().view(-1, 1, 1)


def _copied(values: Callable[[], Tensor], n: int, generators: Generators) -> tuple[Tensor, Tensor]:
    """The second view copies each coordinate of the first with probability ρ, and has another value else."""
    first, other = values(), values()
    return first, torch.where(_draws(torch.rand, generators, n) < _rho(), first, other)


def _rho() -> Tensor:
    return torch.tensor(RHO, dtype=torch.float64)
