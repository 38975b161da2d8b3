"""Visualised filters against the best image of a filter that is known, and fine detail of pure waves."""

import math

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere

from contrastive_dynamics.feature_decoupling.feature_visualisation import (
    colour_share,
    high_frequency_share,
    pattern_spread,
    visualised_filters,
    white_share,
)
from contrastive_dynamics.feature_decoupling.wide_resnet import WideResNet
from contrastive_dynamics.numerics.random_streams import stream

NET, RUNS = WideResNet(), 2
FREE = {"decay": 0.0, "variation": 0.0, "jitter": 0}


def made(runs=range(RUNS), device="cpu"):
    weights = NET.initial_weights([stream(0, run, "start", device) for run in runs], torch.float64)
    x = torch.rand(20, 3, 8, 8, generator=stream(0, 0, "images"), dtype=torch.float64).to(device)
    return weights, NET.calibrated(weights, x)


def images(runs=range(RUNS), device="cpu", **how):
    streams = [stream(0, run, "noise", device) for run in runs]
    return visualised_filters(NET, *made(runs, device), streams, 8, **{"steps": 12} | how)


def test_at_the_first_layer_a_colour_without_detail_is_found():
    # the mean of a filter of the stem is linear in the image: every pixel goes to the sign of the filter's sum
    weights, statistics = made()
    free = FREE | {"layer": 1, "steps": 80}
    sums = weights["stem.conv"].sum((-2, -1))[..., None, None].expand(-1, -1, -1, 4, 4)
    found, size = images(**free)[..., 2:-2, 2:-2], sums.square().mean((-3, -2, -1), keepdim=True).sqrt()
    large = sums.abs() > 0.5 * size  # the others are slow
    torch.testing.assert_close(found[large], (sums[large] > 0).double())
    assert large.double().mean() > 0.5


@pytest.mark.parametrize("layer", [2, 4])
def test_each_image_drives_its_own_filter_beyond_noise_and_other_images(layer):
    weights, statistics = made()
    found = images(layer=layer, steps=25, **FREE)
    assert found.shape == (RUNS, NET.channels[layer - 1], 3, 8, 8) and found.min() >= 0 and found.max() <= 1
    noise = torch.rand(64, 3, 8, 8, generator=stream(0, 0, "other"), dtype=torch.float64)
    for run in range(RUNS):
        one = [
            {k: (v[run] if torch.is_tensor(v) else tuple(p[run] for p in v)) for k, v in t.items()}
            for t in (weights, statistics)
        ]
        own, by_chance = (NET.layers(one[0], x, one[1])[layer - 1].mean((-2, -1)) for x in (found[run], noise))
        assert (own.diagonal() > by_chance.amax(0)).double().mean() > 0.85
        assert (own.argmax(0) == torch.arange(len(own))).double().mean() > 0.5


def test_regularisers_do_what_they_are_for():
    rough, smooth = (images([0], layer=3, variation=v) for v in (0.0, 0.2))
    assert high_frequency_share(smooth).mean() < 0.75 * high_frequency_share(rough).mean()
    strong, faint = (images([0], layer=3, decay=v) for v in (0.0, 20.0))
    assert (faint - 0.5).square().mean() < 0.6 * (strong - 0.5).square().mean()
    assert not torch.equal(images([0], layer=1, jitter=0), images([0], layer=1, jitter=2))


def test_a_run_is_the_same_alone_and_elsewhere():
    both = images()
    torch.testing.assert_close(images([1])[0], both[1])
    with elsewhere():
        torch.testing.assert_close(images([0], ELSEWHERE, steps=4).cpu(), images([0], steps=4))


@pytest.mark.parametrize("size", [8, 32])
def test_share_of_fine_detail_of_waves_and_of_noise(size):
    at = torch.arange(size, dtype=torch.float64)

    def wave(fx, fy):
        return (2 * math.pi * (fx * at + fy * at[:, None])).cos().expand(3, -1, -1)

    coarse, fine, edge, diagonal = wave(1 / 8, 1 / 8), wave(3 / 8, 0), wave(1 / 4, 0), wave(1 / 4, 1 / 4)
    mixed = torch.stack([coarse, fine, edge, diagonal, 2 * coarse + fine + 5, torch.ones_like(fine)])
    expected = torch.tensor([0, 1, 0, 1, 0.2, 0], dtype=torch.float64)
    torch.testing.assert_close(high_frequency_share(mixed), expected, atol=1e-12, rtol=0)
    white = torch.randn(3000, 3, size, size, generator=stream(0, 0, "white"), dtype=torch.float64)[: 96000 // size**2]
    assert float(high_frequency_share(white).mean()) == pytest.approx(white_share(size), abs=0.01)


def test_share_of_colour_of_greys_and_of_pure_colours():
    greys = torch.rand(5, 1, 8, 8, generator=stream(0, 0, "greys"), dtype=torch.float64).expand(-1, 3, -1, -1)
    assert colour_share(greys).max() < 1e-30 and colour_share(torch.full((3, 8, 8), 0.5)) == 0
    corners = torch.tensor([[1, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1]], dtype=torch.float64)
    pure = corners.view(4, 3, 1, 1).expand(-1, -1, 8, 8)
    expected = torch.tensor([8, 8, 8, 0], dtype=torch.float64) / 9
    torch.testing.assert_close(colour_share(pure), expected)
    half = torch.cat([pure[0][..., :4], pure[3][..., :4]], -1)  # as much of either
    assert float(colour_share(half)) == pytest.approx(4 / 9, rel=1e-12)


@pytest.mark.parametrize("size", [8, 32])
def test_spread_of_plain_fields_of_a_patch_and_of_noise(size):
    fields = torch.rand(9, 3, 1, 1, generator=stream(0, 0, "fields"), dtype=torch.float64).expand(-1, -1, size, size)
    assert pattern_spread(fields).max() < 1e-12
    patch = torch.zeros(3, size, size, dtype=torch.float64)
    patch[:, 1:3, 1:3] = 1
    share = 4 / size**2
    assert float(pattern_spread(patch)) == pytest.approx(4 * share * (1 - share), rel=1e-12)
    white = torch.rand(200, 3, size, size, generator=stream(0, 0, "white"), dtype=torch.float64)
    assert float(pattern_spread(white).mean()) == pytest.approx(0.9606 / 3**0.5, abs=0.01)  # in a cube of side 2
    pure = pattern_spread((white > 0.5).double())
    assert pure.max() <= 1 and float(pure.mean()) > 0.98
    halves = torch.cat([patch[..., :4] * 0, patch[..., :4] * 0 + 1], -1)
    assert float(pattern_spread(halves)) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("how", [{"layer": 5}, {"steps": 0}, {"rate": 0.0}, {"decay": -1.0}, {"jitter": -1}])
def test_other_settings_are_refused(how):
    with pytest.raises(ValueError, match="settings must be layer 1 to 4, .*, got layer="):
        images(**how)
