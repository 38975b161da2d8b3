"""Real pairs as a world, the law by log moments of a sample, correlations without sampling bias, and the runs."""

import math

import pytest
import torch

from contrastive_dynamics.data.catalogue import DataError
from contrastive_dynamics.numerics.random_streams import stream, streams
from contrastive_dynamics.testbed import image_pairs
from contrastive_dynamics.testbed.canonical_correlations import canonical_correlations
from contrastive_dynamics.testbed.image_pairs import DrawnPairs, from_samples, image_draw, sampled, shuffled
from contrastive_dynamics.testbed.independent_latents import latent_shares
from contrastive_dynamics.testbed.pairs import sample_moments
from contrastive_dynamics.testbed.sampled_law import sampled_shares, tilted_moments
from contrastive_dynamics.testbed.sampling_bias import noise_edge, noise_total, split_correlations, total_correlation
from contrastive_dynamics.testbed.soft_threshold import water_filling
from contrastive_dynamics.testbed.view_makers import Coupled, Native, Shuffled
from contrastive_dynamics.testbed.worlds import GivenCorrelations, require_world
from experiments.one_testbed.real_runs import (
    distance,
    distinct,
    hidden_layer,
    measured_views,
    noise_shown,
    spectra_at,
    temperature_learned,
    totals_of_known,
)

RHO = torch.tensor([0.8, 0.5, 0.2, 0.0], dtype=torch.float64)
SIZES = {"outputs": 16, "steps": 120, "batch": 96}


def gaussian_pairs(rho, n, purpose="pairs"):
    pairs = Native()(GivenCorrelations(rho), n, [stream(7, 0, purpose)])
    return pairs.first[0], pairs.second[0]


@pytest.fixture(scope="module")
def views():
    return measured_views(image_draw("digits"), image_draw("digits", "test"), 8000, 5)


def test_real_pairs_are_a_world(views):
    """Whitened on the training images, repeated within a group, drawn from the run's own stream."""
    world = views.world
    require_world(world, streams([1, 2], 1, "promise"))
    moments, mean = sampled(world.whitened, 8000, streams([5], 1, "frame"))
    assert torch.allclose((moments.first + moments.second) / 2, torch.eye(64, dtype=torch.float64), atol=1e-4)
    assert mean.abs().max() < 1e-4
    alone = Native()(world, 5, streams([2], 1, "data"))
    groups = Native()(world.repeated(2), 5, streams([1, 1, 2, 2], 1, "data"))
    assert torch.equal(groups.first[2], groups.first[3]) and not torch.equal(groups.first[0], groups.first[2])
    assert torch.allclose(groups.second[2], alone.second[0], atol=1e-6)
    coupled = Coupled()(world, 2000, streams([3], 1, "data"))
    parted = Shuffled()(world, 2000, streams([3], 1, "data"))
    first_of = [float(canonical_correlations(p, tied=True)[0, 0]) for p in (coupled, parted)]
    assert first_of[0] > 0.7 and first_of[1] < 0.4


def test_no_view_is_its_own_stranger():
    """No pair is in a batch twice, and no view in the sample of log moments, though fewer are there than asked for."""
    first, second = (x.float() for x in gaussian_pairs(RHO, 301))
    draw = from_samples(first, second)
    for n, there in ((301, 301), (40, 40), (900, 301)):
        views, partners = (x[0] for x in draw(n, streams([4], 1, "rows")))
        assert len(torch.unique(views, dim=0)) <= there and (n > 301 or len(torch.unique(views, dim=0)) == n)
        assert torch.equal(partners, torch.stack([second[(first == v).all(1)][0] for v in views]))
    kept = distinct(torch.tensor([[2.0, 1.0], [0.0, 3.0], [2.0, 1.0], [0.0, 3.0], [1.0, 1.0]]))
    assert kept.tolist() == [[2.0, 1.0], [0.0, 3.0], [1.0, 1.0]]
    known = measured_views(draw, draw, 2000, 5)
    assert len(torch.unique(known.coordinates, dim=0)) == len(known.coordinates) <= 301
    assert temperature_learned(known, (1.0,), [0], outputs=4, steps=5, batch=64).sampled > 0


def test_moments_of_blocks_are_those_of_the_whole(monkeypatch):
    draw = from_samples(*gaussian_pairs(RHO, 300))
    monkeypatch.setattr(image_pairs, "_BLOCK", 64)
    moments, mean = sampled(draw, 200, streams([1], 1, "x"))
    generators = streams([1], 1, "x")
    parts = [draw(n, generators) for n in (64, 64, 64, 8)]
    whole = tuple(torch.cat(part, 1)[0] for part in zip(*parts, strict=True))
    expected = sample_moments(whole)
    assert all(torch.allclose(a, b) for a, b in zip(moments, expected, strict=True))
    assert torch.allclose(mean, torch.cat(whole).mean(0))


def test_gaussian_views_have_the_soft_threshold_and_signs_their_own_law():
    anchors, negatives = (torch.randn(2000, 4, dtype=torch.float64, generator=stream(1, k, "x")) for k in range(2))
    h = torch.tensor([0.4, 0.3, 0.1, 0.0], dtype=torch.float64)
    assert torch.allclose(tilted_moments(h, anchors, negatives), h, atol=0.05)
    shares, tau = sampled_shares(RHO, anchors, negatives, 0.8)
    assert (shares - water_filling(RHO, 0.8)).abs().max() < 0.04 and abs(float(tau) - 0.8) < 1e-6
    for tau_squared in (None, 0.9):
        found, tau = sampled_shares(RHO, anchors.sign(), negatives.sign(), tau_squared)
        exact, exact_tau = latent_shares(RHO, tau_squared, "signs")
        assert (found - exact).abs().max() < 0.03 and abs(float(tau) / float(exact_tau) - 1) < 0.06


def test_skewed_views_lower_a_learned_temperature_by_their_third_moments():
    """D(h) = h + κ²h²/2 for one skewed coordinate: signs of unequal chance, of variance 1."""
    p = 0.2
    coins = [torch.rand(20000, 1, dtype=torch.float64, generator=stream(2, k, "x")) for k in range(2)]
    anchors, negatives = (torch.where(c < p, ((1 - p) / p) ** 0.5, -((p / (1 - p)) ** 0.5)).double() for c in coins)
    skew = (1 - 2 * p) / math.sqrt(p * (1 - p))
    h = torch.tensor([0.1], dtype=torch.float64)
    negatives = negatives[:3000]
    anchors = (anchors[:3000] - anchors[:3000].mean(0)) / anchors[:3000].std(0)
    negatives = (negatives - negatives.mean(0)) / negatives.std(0)
    assert abs(float(tilted_moments(h, anchors, negatives)) - (0.1 + skew**2 * 0.01 / 2)) < 0.003


def test_true_correlations_lie_between_two_estimates():
    """Sums of the k largest: split ≤ true ≤ in one sample, on average; the trace lacks (D − Σρ²)/2n of itself."""
    rho = torch.linspace(0.9, 0.0, 30, dtype=torch.float64)
    kept = []
    for k in range(12):
        pairs = gaussian_pairs(rho, 500, f"bracket {k}")
        sample = canonical_correlations(tuple(x.unsqueeze(0) for x in pairs), tied=True)[0]
        kept.append(torch.stack([split_correlations(*pairs), sample]).cumsum(-1))
    split, sample = torch.stack(kept).mean(0)
    true = rho.cumsum(0)
    assert bool((split[:20] < true[:20]).all()) and bool((sample[:20] > true[:20]).all())
    totals = [total_correlation(*gaussian_pairs(rho, 500, f"bracket {k}")) for k in range(12)]
    bias = -(30 - float(rho.square().sum())) / 1000
    assert abs(float(torch.stack(totals).mean()) / float(rho.sum()) - 1 - bias) < 0.015


def test_noise_shows_a_semicircle():
    largest, total, split = noise_shown(40, 4000, [1, 2, 3])
    assert noise_edge(4000, 40) == pytest.approx(math.sqrt(0.02))
    assert abs(float(largest.mean()) / noise_edge(4000, 40) - 1) < 0.12
    assert abs(float(total.mean()) / noise_total(4000, 40) - 1) < 0.1  # one sample: ± 2/D
    assert float(split.mean()) < 0.35 * float(total.mean())
    by_trace, clipped = totals_of_known(RHO, 1000, [1, 2])
    assert (by_trace / RHO.sum() - 1).abs().max() < 0.1 and (clipped > by_trace).all()


def test_trained_encoders_have_the_spectrum_of_their_views(views):
    found = spectra_at(views, (1.0,), [3, 4], **SIZES)
    assert found.measured.shape == (1, 2, 16) and torch.allclose(found.measured.sum(-1), torch.ones(1, 2).double())
    off = distance(found.measured, found.law[:, None])
    controls = found.variances, found.shuffled
    assert off.max() < 0.12 and all((distance(found.measured, c[:, None]) > 2 * off.max()).all() for c in controls)
    assert (distance(found.untrained, found.law[:, None]) > 3 * off).all()
    assert (distance(found.measured, found.sampled[:, None]) < 0.12).all()


def test_a_learned_temperature_and_a_hidden_layer(views):
    found = temperature_learned(views, (2.0, 8.0), [3], **SIZES)
    assert found.tau_squared.shape == (2, 1) and found.scaled.shape == (2, 1, 16)
    assert (found.tau_squared < 0.85 * found.law).all() and (found.tau_squared / found.sampled - 1).abs().max() < 0.25
    assert torch.allclose(found.scaled.sum(-1), found.tau_squared)
    after, before = hidden_layer(views, (1.0,), [3], hidden=32, count=4000, **SIZES)
    assert distance(after.measured, after.law).max() < 0.2 < distance(before.measured, before.law).min()


def test_bad_input_is_refused_in_one_line(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="^image_draw: data must be one of .* got 'photographs'"):
        image_draw("photographs")
    monkeypatch.setenv("CONTRASTIVE_DATA", str(tmp_path))
    with pytest.raises(DataError, match="is missing"):
        image_draw("cifar10-exact")
    with pytest.raises(ValueError, match=r"^from_samples: both views must be \[n, D\]"):
        from_samples(torch.zeros(3, 2), torch.zeros(3, 1))
    flat = torch.randn(50, 3, generator=stream(1, 0, "x")) * torch.tensor([1.0, 1.0, 0.0])
    with pytest.raises(ValueError, match="every direction of the views must vary"):
        DrawnPairs(shuffled(from_samples(flat, flat)), 100)
    with pytest.raises(ValueError, match=r"rho and samples must be \[S\]"):
        sampled_shares(RHO, torch.zeros(5, 3), torch.zeros(5, 3))
    with pytest.raises(ValueError, match="tau_squared must be > 0"):
        sampled_shares(RHO, torch.zeros(5, 4), torch.zeros(5, 4), 0.0)


def test_patches_of_photographs(monkeypatch):
    """On made-up photographs: of one colour each, so that views share their colour."""
    colours = torch.randint(0, 256, (40, 1, 1, 3), dtype=torch.uint8, generator=stream(1, 0, "x"))
    photographs = image_pairs.catalogue.Data(colours.expand(-1, 32, 32, -1).numpy(), None, None)
    monkeypatch.setattr(image_pairs.catalogue, "cifar10", lambda split, name: photographs)
    first, second = image_draw("cifar10-exact")(200, streams([1, 2], 1, "data"))
    assert first.shape == second.shape == (2, 200, 108)
    means = [x[0].unflatten(-1, (3, 36)).mean(-1) for x in (first, second)]
    assert float(canonical_correlations(tuple(m.unsqueeze(0) for m in means), tied=True)[0, 0]) > 0.7
    assert not torch.equal(first, second)
