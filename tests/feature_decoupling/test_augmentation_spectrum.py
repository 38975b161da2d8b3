import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere

from contrastive_dynamics.feature_decoupling.augmentation_spectrum import (
    augmented_pair,
    colour_directions,
    direction_rates,
    growth_spectrum,
    masked_pair,
    shared_moment,
)
from contrastive_dynamics.feature_decoupling.image_augmentations import Augmentation
from contrastive_dynamics.numerics.random_streams import stream

SIZE = 4


def images(count=400):
    g = stream(0, 0, "images")
    colour, luminance = torch.rand(count, 3, 1, 1, generator=g), torch.rand(count, 1, SIZE, SIZE, generator=g)
    return (0.6 * colour + 0.4 * luminance).double()


@pytest.mark.parametrize("block", [1, 2])
def test_masks_keep_the_moment_of_images_but_inside_a_block(block):
    x = images(60)
    pairs = [masked_pair(x, stream(0, k, "masks"), block) for k in range(300)]
    centred = (x - x.mean(0)).flatten(1)
    place = torch.arange(SIZE) // block
    of = (place.view(-1, 1) * SIZE + place).flatten().repeat(3)
    exact = (centred.T @ centred / len(x)) * (of.view(-1, 1) != of)
    found = shared_moment(pairs)
    assert float((found.cross - exact).abs().max()) < 0.05 * float(exact.abs().max())
    rate, kept = direction_rates(found, colour_directions(SIZE))
    assert (rate > 0).all() and (kept < 1).all()
    first, second = pairs[0]
    assert ((first == 0) | (second == 0)).all()
    torch.testing.assert_close(first + second, 2 * centred, rtol=1e-12, atol=1e-14)


def test_without_augmentation_everything_is_kept_and_the_spectrum_is_that_of_the_images():
    x = images()
    pair = augmented_pair(x, stream(0, 0, "views"), Augmentation("none"))
    whole, parts = shared_moment([pair]), shared_moment(zip(*(view.split(150) for view in pair), strict=True))
    torch.testing.assert_close(parts, whole, rtol=1e-10, atol=1e-14)
    torch.testing.assert_close(whole.cross, torch.cov(x.flatten(1).T, correction=0), rtol=1e-9, atol=1e-12)
    values, vectors = growth_spectrum(whole)
    rate, kept = direction_rates(whole, vectors)
    torch.testing.assert_close(rate, values, rtol=1e-9, atol=1e-12)
    assert (values.diff() <= 0).all() and torch.allclose(kept[values > 1e-6], torch.ones(1).double())


def test_colour_directions_are_orthogonal_and_see_what_they_say():
    v = colour_directions(SIZE)
    torch.testing.assert_close(v @ v.T, torch.eye(3).double(), rtol=0, atol=1e-15)
    red = torch.zeros(3, SIZE, SIZE, dtype=torch.float64)
    red[0] = 1
    assert (v @ red.flatten() > 0).tolist() == [True, True, False]


def test_jitter_removes_mean_colour_and_a_mask_does_not():
    pytest.importorskip("kornia")
    x, v = images(300), colour_directions(SIZE)
    jitter = Augmentation("full", scale=(0.9, 1.0), flip=False, strength=1.0, hue=0.5)
    shown = shared_moment([augmented_pair(x, stream(0, k, "views"), jitter) for k in range(4)])
    masked = shared_moment([masked_pair(x, stream(0, k, "masks")) for k in range(4)])
    assert (direction_rates(shown, v)[1][1:] < 0.6).all() and (direction_rates(masked, v)[1][1:] > 0.7).all()


def test_rates_follow_the_device_of_the_moment():
    views = torch.randn(50, 12, generator=stream(0, 0, "views"))
    here = direction_rates(shared_moment([(views, views)]), colour_directions(2))
    with elsewhere():
        moved = views.to(ELSEWHERE)
        there = [rate.cpu() for rate in direction_rates(shared_moment([(moved, moved)]), colour_directions(2))]
    for a, b in zip(here, there, strict=True):
        torch.testing.assert_close(a, b)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="^block must be a divisor of 4, got 3$"):
        masked_pair(images(3), stream(0, 0, "x"), 3)
    with pytest.raises(ValueError, match="^size must be ≥ 1, got 0$"):
        colour_directions(0)
    with pytest.raises(ValueError, match="^pairs must be 2 or more, got 1$"):
        shared_moment([(torch.zeros(1, 3), torch.zeros(1, 3))])
