"""Spectra on waves and noise whose share is known; ranks and cosines of filters that are known."""

import math

import pytest
import torch

from contrastive_dynamics.nonlinearity.networks.filter_spectra import (
    above_half_nyquist,
    alive,
    high_frequency_share,
    mean_of_kept,
    pictures,
    power_spectrum,
    principal_components,
    share_within,
    unit_filters,
)
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.ranks import effective_rank


def noise(*shape):
    return torch.randn(*shape, generator=stream(0, 0, "noise"), dtype=torch.float64)


def wave(s, u, v):
    at = torch.arange(s, dtype=torch.float64)
    return torch.cos(2 * math.pi * (u * at.unsqueeze(-1) + v * at) / s + 0.3)


@pytest.mark.parametrize("s", [1, 4, 5, 14])
def test_the_spectrum_holds_the_energy_of_the_filter(s):
    w = noise(3, s, s)
    assert torch.allclose(power_spectrum(w).sum((-2, -1)), w.square().sum((-2, -1)))


@pytest.mark.parametrize("s, high", [(4, 11), (14, 159), (2, 3)])
def test_white_noise_has_the_share_of_the_frequencies_above(s, high):
    assert int(above_half_nyquist(s).sum()) == high
    w = noise(20000, s, s)
    power = power_spectrum(w)
    assert float(power[..., above_half_nyquist(s)].sum() / power.sum()) == pytest.approx(high / s**2, abs=0.01)
    assert float(high_frequency_share(w).mean()) == pytest.approx(high / (s * s - 1), abs=0.01)
    assert float(high_frequency_share(w, remove_mean=False).mean()) == pytest.approx(high / s**2, abs=0.01)


@pytest.mark.parametrize(
    "s, u, v, share",
    [
        (14, 3, 0, 0),
        (14, 0, -3, 0),
        (14, 2, 2, 0),
        (14, 3, 2, 1),
        (14, 4, 0, 1),
        (14, 7, 7, 1),
        (4, 1, 0, 0),
        (4, 1, 1, 1),
    ],
)
def test_a_plane_wave_is_below_or_above(s, u, v, share):
    for mean in (0, 5):
        assert float(high_frequency_share(mean + wave(s, u, v))) == pytest.approx(share, abs=1e-12)
    assert float(high_frequency_share(wave(s, u, v), remove_mean=False)) == pytest.approx(share, abs=1e-12)


def test_the_mean_counts_as_low_where_it_is_kept():
    w = 1 + math.sqrt(2) * torch.cos(math.pi * torch.arange(14.0).double()).expand(14, 14) / math.sqrt(2)
    assert float(high_frequency_share(w, remove_mean=False)) == pytest.approx(0.5)
    assert float(high_frequency_share(w)) == pytest.approx(1)
    assert high_frequency_share(torch.zeros(2, 4, 4)).isnan().all()


@pytest.mark.parametrize("shape", [(3, 4), (4,), (2, 3, 4)])
def test_filters_that_are_no_pictures(shape):
    with pytest.raises(ValueError, match="filters must be square"):
        power_spectrum(torch.zeros(shape))


def test_pictures_are_the_filters_row_by_row():
    w = noise(2, 3, 16)
    assert torch.equal(pictures(w).flatten(-2), w)
    with pytest.raises(ValueError, match="a square number of pixels, got 15"):
        pictures(w[..., :15])


def test_filters_on_one_line_and_at_right_angles():
    every = torch.ones(2, 6, dtype=torch.bool)
    line = noise(2, 1, 9) * noise(2, 6, 1)
    assert torch.allclose(effective_rank(unit_filters(line, every)), torch.ones(2).double())
    apart = torch.linalg.qr(noise(2, 9, 6))[0].mT * noise(2, 6, 1)
    assert torch.allclose(effective_rank(unit_filters(apart, every)), torch.full((2,), 6.0).double())


def test_only_filters_that_count_are_counted():
    w = torch.cat([torch.eye(4).double()[:3], 1e-9 * noise(5, 4)])
    kept = alive(w)
    assert kept.tolist() == [True] * 3 + [False] * 5
    assert float(effective_rank(unit_filters(w, kept))) == pytest.approx(3)
    assert float(effective_rank(unit_filters(w, kept & False))) == 0
    assert not unit_filters(torch.zeros(3, 4), torch.ones(3, dtype=torch.bool)).any()


def test_alive_is_relative_to_the_longest_filter_of_the_receptive_field():
    w = torch.tensor([[[3.0, 4.0], [0.3, 0.3]], [[0.03, 0.04], [0.3, 0.3]]])
    assert alive(w).tolist() == [[True, False], [True, True]]
    assert alive(w, 0.5).tolist() == [[True, False], [False, True]] and alive(w, 0).all()
    assert not alive(torch.zeros(2, 3)).any()
    with pytest.raises(ValueError, match="share must be ≥ 0 and ≤ 1, got 2"):
        alive(w, 2)


def test_principal_components_are_the_fewest_that_hold_the_variance():
    basis = torch.linalg.qr(noise(2, 6, 6))[0]
    spread = torch.tensor([4.0, 3.0, 2.0, 0.5, 0.4, 0.1]).double()  # variances 0.4, 0.3, 0.2, … of 10
    parts = 7 + torch.cat([s * spread.sqrt() * torch.eye(6).double() for s in (1, -1)]) @ basis.mT
    for variance, rank in ((0.3, 1), (0.41, 2), (0.69, 2), (0.71, 3), (1, 6)):
        expected = basis[..., :rank] @ basis[..., :rank].mT
        assert torch.allclose(principal_components(parts, variance), expected, atol=1e-12)
    with pytest.raises(ValueError, match="variance must be > 0 and ≤ 1, got 0"):
        principal_components(parts, 0)


def test_the_share_of_a_filter_within_a_subspace():
    projector = torch.diag(torch.tensor([1.0, 1, 0, 0])).double()
    w = torch.tensor([[3.0, 4, 0, 0], [0, 0, 2, 1], [1, 1, 1, 1], [0, 0, 0, 0]]).double()
    found = share_within(w, projector)
    assert torch.allclose(found[:3], torch.tensor([1, 0, 0.5]).double()) and found[3].isnan()
    assert float(share_within(noise(20000, 4), projector).mean()) == pytest.approx(0.5, abs=0.01)
    assert float(mean_of_kept(found, torch.tensor([True, False, True, False]))) == pytest.approx(0.75)
    assert mean_of_kept(found, torch.zeros(4, dtype=torch.bool)).isnan()
