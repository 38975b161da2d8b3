"""Runs on real images: does a trained encoder's spectrum follow the correlations that its views have?

Each run takes parameters and returns what was measured beside what was predicted. ρ is measured on pairs of other
images than those of the training. Spectra are eigenvalues of the outputs' covariance over its trace, descending.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import NamedTuple

import torch
from torch import Tensor

from contrastive_dynamics.numerics.random_streams import streams
from contrastive_dynamics.testbed.canonical_correlations import canonical_axes, moment_axes
from contrastive_dynamics.testbed.distance_law import distance_filling
from contrastive_dynamics.testbed.encoders import Linear, Network, Parameters, TwoLayers
from contrastive_dynamics.testbed.experiment import train
from contrastive_dynamics.testbed.image_pairs import Draw, DrawnPairs, sampled, shuffled
from contrastive_dynamics.testbed.losses import Distances, InfoNCE
from contrastive_dynamics.testbed.optimisers import Adam
from contrastive_dynamics.testbed.pairs import Moments, per_run, sample_moments
from contrastive_dynamics.testbed.sampled_law import sampled_shares
from contrastive_dynamics.testbed.sampling_bias import split_correlations, total_correlation
from contrastive_dynamics.testbed.soft_threshold import learned_temperature, water_filling
from contrastive_dynamics.testbed.view_makers import Native
from contrastive_dynamics.testbed.worlds import GivenCorrelations

RATE = 0.05  # of Adam
_LAW_SAMPLE = 2500  # anchors, and as many negatives, of the law from a sample


class RealViews(NamedTuple):
    """A world of real pairs, and what is known of held-out pairs of it."""

    world: DrawnPairs  # of the training images
    held_out: DrawnPairs  # of other images
    moments: Moments  # of held-out pairs, [D, D] each
    rho: Tensor  # [D], correlations of held-out pairs along directions found on training images
    coordinates: Tensor  # [≤ 2·_LAW_SAMPLE, D], held-out views in these directions, of variance 1, none twice

    def excess_kurtosis(self) -> Tensor:
        """E x⁴/(E x²)² − 3 `[D]` of each canonical direction; 0 for Gaussian views."""
        return self.coordinates.pow(4).mean(0) / self.coordinates.square().mean(0).square() - 3


def measured_views(draw: Draw, held_out: Draw, count: int, seed: int) -> RealViews:
    """Moments, correlations and coordinates of `count` pairs each of two draws, which differ in their images.

    Args:
        draw, held_out: see `image_pairs`.
        count: pairs, well above D.
        seed: of these pairs.
    Cost: three times `count` pairs, and 20·count·D² flops.
    """
    world = DrawnPairs(draw, count, seed)
    other = world.of(held_out)
    fitted, moments = (
        sampled(w.whitened, count, streams([seed], 1, name))[0]
        for w, name in ((world, "directions"), (other, "correlations"))
    )
    axes = moment_axes(fitted, tied=True).first
    views = distinct(other.whitened(2 * _LAW_SAMPLE, streams([seed], 1, "coordinates"))[0][0]).double() @ axes
    views = (views - views.mean(0)) / views.std(0)
    return RealViews(world, other, moments, correlations_along(axes, moments), views)


def distinct(views: Tensor) -> Tensor:
    """The rows of views `[n, D]` that equal none before them, in their order.

    Views of finitely many images come back, and an anchor among its own negatives, of exponent h·x² and not h·x·x′,
    would decide a log moment alone.
    Cost: a sort of the rows.
    """
    group = torch.unique(views, dim=0, return_inverse=True)[1]
    places = torch.arange(len(views), device=views.device)
    first = torch.full_like(places, len(views)).scatter_reduce(0, group, places, "amin")
    return views[first[first < len(views)].sort().values]


def distance(first: Tensor, second: Tensor) -> Tensor:
    """Total variation ½Σ|p − q| `[...]` of spectra `[..., z]` of sum 1: the share that is in the wrong place."""
    return (first - second).abs().sum(-1) / 2


class Spectra(NamedTuple):
    """Spectra at fixed τ², `[τ², seed, z]`, and predictions, `[τ², z]`."""

    measured: Tensor
    untrained: Tensor  # of the same networks at their start
    law: Tensor  # soft threshold of ρ
    sampled: Tensor  # the law with the views' own log moments
    variances: Tensor  # control: the principal components' variances over the largest one in place of ρ
    shuffled: Tensor  # control: ρ of pairs of different images


def linear_spectra(
    views: RealViews,
    temperatures: Sequence[float],
    seeds: Sequence[int],
    loss: type[InfoNCE] | type[Distances] = InfoNCE,
    *,
    outputs: int = 32,
    steps: int = 400,
    batch: int = 256,
    watch: Callable[[Iterable], Iterable] = iter,
) -> tuple[Tensor, Tensor]:
    """Train linear encoders at fixed τ² on real pairs; all τ² of a seed see the same pairs.

    Args:
        views: of `measured_views`, or `raw_views` of them.
        temperatures: τ² > 0.
        seeds: one run each at every τ².
        loss: inner products or distances.
        outputs, steps, batch: of the training.
        watch: wraps the steps in a progress bar.
    Returns: spectra at the end and at the start, `[τ², seed, z]`.
    Cost: as `train`.
    """
    at = loss(tuple(temperatures) * len(seeds))
    _, params, start, _ = _trained(views, Linear(outputs), at, seeds, len(temperatures), steps, batch, watch)
    shape = (len(seeds), len(temperatures), outputs)
    end, begin = (_linear_spectrum(p, views.moments).view(shape).transpose(0, 1) for p in (params, start))
    return end, begin


def spectra_at(
    views: RealViews, temperatures: Sequence[float], seeds: Sequence[int], *, outputs: int = 32, **training
) -> Spectra:
    """`linear_spectra` of InfoNCE, and what is predicted of them.

    Args: as `linear_spectra`.
    Cost: also 25 times 4·_LAW_SAMPLE²·z flops per τ².
    """
    spectra = linear_spectra(views, temperatures, seeds, outputs=outputs, **training)
    nothing = sampled(shuffled(views.held_out.whitened), 20_000, streams(seeds[:1], 1, "shuffled"))[0]
    flat = moment_axes(nothing, tied=True).rho.clamp(-1, 1)
    relative = views.world.spectrum / views.world.spectrum[0]
    laws = [[_law(rho, tau, outputs) for tau in temperatures] for rho in (views.rho, relative, flat)]
    own = [_sampled(views, tau, outputs)[0] for tau in temperatures]
    law, variances, flat = (torch.stack(part) for part in laws)
    return Spectra(*spectra, law, torch.stack(own), variances, flat)


def rival_spectra(rho: Tensor, temperatures: Sequence[float], outputs: int) -> dict[str, Tensor]:
    """Other formulas for the spectrum `[τ², z]`: shares ∝ ρ and ∝ ρ², and the law at half and at twice τ².

    They are printed beside the law, since no rule here fixes τ² to better than a fifth.
    Args:
        rho: ρ `[D]`, in any order.
        temperatures: τ² > 0.
        outputs: z, at most D.
    """
    top = rho.sort(descending=True).values[:outputs].clamp(min=0)
    powers = {f"∝ {name}": top**k / (top**k).sum() for name, k in (("ρ", 1), ("ρ²", 2))}
    scaled = {"law at τ²/2": 0.5, "law at 2τ²": 2.0}
    rivals = {name: of.expand(len(temperatures), -1) for name, of in powers.items()}
    return rivals | {n: torch.stack([_law(rho, k * tau, outputs) for tau in temperatures]) for n, k in scaled.items()}


def raw_views(views: RealViews) -> RealViews:
    """The same pairs, centred and not whitened, in units of their root mean variance: the correlations are the same."""
    scale = views.world.spectrum.mean().sqrt()
    back = torch.linalg.inv(views.world.root.double()) / scale

    def unwhitened(world: DrawnPairs) -> DrawnPairs:
        other = copy(world)
        other.root = torch.eye(len(back), dtype=world.root.dtype) / float(scale)
        return other

    moments = Moments(*(back.mT @ of @ back for of in views.moments))
    return views._replace(world=unwhitened(views.world), held_out=unwhitened(views.held_out), moments=moments)


def raw_spectra(
    views: RealViews, temperatures: Sequence[float], seeds: Sequence[int], *, outputs: int = 32, **training
) -> dict[str, Tensor]:
    """`linear_spectra` of InfoNCE on views that are not whitened, "trained" and "untrained", and "law" and "variances".

    Args: as `linear_spectra`.
    Returns: `[τ², seed, z]`; the predictions are `[τ², 1, z]`.
    """
    found = linear_spectra(raw_views(views), temperatures, seeds, outputs=outputs, **training)
    spectra = dict(zip(("trained", "untrained"), found, strict=True))
    predicted = {"law": views.rho, "variances": views.world.spectrum / views.world.spectrum[0]}
    laws = {of: torch.stack([_law(rho, tau, outputs) for tau in temperatures]) for of, rho in predicted.items()}
    return spectra | {of: law.unsqueeze(1) for of, law in laws.items()}


def distance_spectra(
    views: RealViews, temperatures: Sequence[float], seeds: Sequence[int], *, outputs: int = 32, **training
) -> dict[str, Tensor]:
    """`linear_spectra` of distances, "trained", and both laws, "distances" and "products".

    Args: as `linear_spectra`.
    Returns: `[τ², seed, z]`; the laws are `[τ², 1, z]`, of the z most correlated directions.
    """
    measured, _ = linear_spectra(views, temperatures, seeds, Distances, outputs=outputs, **training)
    top = views.rho.sort(descending=True).values[:outputs]
    laws = {"distances": distance_filling, "products": water_filling}
    of = {name: torch.stack([law(top, tau) for tau in temperatures]).unsqueeze(1) for name, law in laws.items()}
    return {"trained": measured} | of


class Learned(NamedTuple):
    """Learned τ², and the spectrum times τ², which the law puts at ρ."""

    tau_squared: Tensor  # [start, seed]
    scaled: Tensor  # τ²g, [start, seed, z]
    law: float  # Σρ_j over the z largest
    sampled: float  # the same with the views' own log moments
    sampled_scaled: Tensor  # [z], descending


def temperature_learned(
    views: RealViews,
    starts: Sequence[float],
    seeds: Sequence[int],
    *,
    outputs: int = 32,
    steps: int = 400,
    batch: int = 256,
    watch: Callable[[Iterable], Iterable] = iter,
) -> Learned:
    """Train linear encoders and τ² together on real pairs, τ² from below and from above.

    Args:
        starts: where τ² starts.
        others: as in `spectra_at`.
    """
    loss = InfoNCE(tuple(starts) * len(seeds), learned=True)
    _, params, _, tau = _trained(views, Linear(outputs), loss, seeds, len(starts), steps, batch, watch)
    scaled = tau.unsqueeze(-1) * _linear_spectrum(params, views.moments)
    shares, total = _sampled(views, None, outputs)
    shape = (len(seeds), len(starts))
    law = float(learned_temperature(views.rho, outputs))
    by_start = tau.view(shape).T, scaled.view(*shape, outputs).transpose(0, 1)
    return Learned(*by_start, law, float(total), shares * total)


class HiddenLayer(NamedTuple):
    """Spectra of a network's outputs `[τ², seed, z]`, measured and predicted from its hidden units."""

    measured: Tensor
    law: Tensor
    variances: Tensor  # control, as in Spectra, of the hidden units


def hidden_layer(
    views: RealViews,
    temperatures: Sequence[float],
    seeds: Sequence[int],
    *,
    hidden: int = 64,
    outputs: int = 32,
    steps: int = 400,
    batch: int = 256,
    count: int = 20_000,
    watch: Callable[[Iterable], Iterable] = iter,
) -> tuple[HiddenLayer, HiddenLayer]:
    """Train ReLU networks from end to end; then read the law off their hidden units. Also before the training.

    Its last layer is linear. At the end it is optimal for the hidden units as they are, so its spectrum should be the
    soft threshold of the correlations that the hidden units of two views have.
    Args:
        hidden, count: neurons; held-out pairs that correlations are measured on.
        others: as in `spectra_at`.
    Returns: trained, untrained.
    """
    network, loss = TwoLayers(hidden, outputs, "relu"), InfoNCE(tuple(temperatures) * len(seeds))
    params, start = _trained(views, network, loss, seeds, len(temperatures), steps, batch, watch)[1:3]
    pairs = views.held_out.whitened(count, streams(seeds[:1], 1, "hidden units"))
    found = []
    for at in (params, start):
        runs = [_of_hidden(network, at, run, pairs, tau, outputs) for run, tau in enumerate(loss.tau_squared)]
        shape = (len(seeds), len(temperatures), outputs)
        found.append(HiddenLayer(*(torch.stack(part).view(shape).transpose(0, 1) for part in zip(*runs, strict=True))))
    return found[0], found[1]


def noise_shown(inputs: int, count: int, seeds: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Of unrelated Gaussian views: largest ρ̂, Σ(ρ̂)₊, and the sum of the split estimate's positive part, `[seed]`."""
    rows = []
    for g in streams(seeds, 1, "noise"):
        views = torch.stack([per_run(torch.randn, [g], count, inputs, dtype=torch.float32)[0] for _ in range(2)])
        halves = [sample_moments(tuple(half.double())) for half in views.chunk(2, 1)]
        rho = moment_axes(Moments(*(sum(of) / 2 for of in zip(*halves, strict=True))), tied=True).rho
        ways = [correlations_along(moment_axes(a, tied=True).first, b) for a, b in (halves, halves[::-1])]
        rows.append((rho[0], rho.clamp(min=0).sum(), torch.stack(ways).mean(0).clamp(min=0).sum()))
    return tuple(torch.stack(part).double() for part in zip(*rows, strict=True))


def correlations_along(axes: Tensor, moments: Moments) -> Tensor:
    """Correlations `[k]` of both views, with moments of one encoder, along axes `[D, k]`, −1 to 1."""
    sizes, shared = ((axes * (m @ axes)).sum(0) for m in ((moments.first + moments.second) / 2, moments.cross))
    return (shared / sizes).clamp(-1, 1)


def totals_of_known(rho: Tensor, count: int, seeds: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Σρ_j of Gaussian views with known ρ `[D]`, from `count` pairs by the trace and by Σ(ρ̂)₊; `[seed]`, means of 4."""
    pairs = Native()(GivenCorrelations(rho), count, streams(seeds, 4, "known"))
    clipped = canonical_axes(pairs, tied=True).rho.clamp(min=0).sum(-1)
    return tuple(x.view(-1, 4).mean(1) for x in (total_correlation(pairs.first, pairs.second), clipped))


def _trained(views, network: Network, loss, seeds, repeat, steps, batch, watch):
    """The network, its parameters at the end and at the start, and a learned τ²; runs of one seed follow each other."""
    world = views.world.repeated(repeat)
    runs = [seed for seed in seeds for _ in range(repeat)]
    start = {k: w.float() for k, w in network.start(world.inputs, streams(runs, 1, "start")).items()}
    options = {"steps": steps, "batch": batch, "optimiser": Adam(RATE), "start": [start], "dtype": torch.float32}
    done = train(world, Native(), network, loss, seeds=runs, watch=watch, **options)
    tau = done.tau_squared
    return network, done.encoders[0], start, None if tau is None else tau.double()


def _spectrum(covariance: Tensor) -> Tensor:
    values = torch.linalg.eigvalsh(covariance).flip(-1).clamp(min=0)
    return values / values.sum(-1, keepdim=True)


def _linear_spectrum(params: Parameters, moments: Moments) -> Tensor:
    w = params["w"].double()
    return _spectrum(w @ ((moments.first + moments.second) / 2) @ w.mT)


def _law(rho: Tensor, tau: float, outputs: int) -> Tensor:
    """Shares in descending order, `[z]`."""
    found = water_filling(rho, tau, outputs).sort(descending=True).values[:outputs]
    return torch.nn.functional.pad(found, (0, outputs - len(found)))


def _sampled(views: RealViews, tau: float | None, outputs: int) -> tuple[Tensor, Tensor]:
    """Shares in descending order and τ² by the views' own log moments, in the z most correlated directions."""
    top = views.rho.argsort(descending=True)[:outputs]
    anchors, negatives = views.coordinates[:, top].float().chunk(2)
    shares, total = sampled_shares(views.rho[top].float(), anchors, negatives, tau, iterations=25)
    return shares.sort(descending=True).values.double(), total.double()


def _of_hidden(network: Network, params: Parameters, run: int, pairs, tau: float, outputs: int):
    """Measured, law and control of one run."""
    own = {name: w[run : run + 1] for name, w in params.items()}
    (f_a, h_a), (f_b, h_b) = (tuple(y[0].double() for y in network(own, x)) for x in pairs)
    rho = split_correlations(h_a, h_b).clamp(-1, 1)
    variances = torch.linalg.eigvalsh(torch.cov(torch.cat([h_a, h_b]).T)).flip(0)
    measured = _spectrum(torch.cov(torch.cat([f_a, f_b]).T))
    return measured, _law(rho, tau, outputs), _law(variances / variances[0], tau, outputs)
