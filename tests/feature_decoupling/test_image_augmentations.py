"""Augmentations against the pixel-by-pixel formulas of Python's colour module, and what they must leave alone."""

import colorsys

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere

from contrastive_dynamics.feature_decoupling.image_augmentations import AUGMENTATIONS, Augmentation, recoloured
from contrastive_dynamics.numerics.random_streams import stream
from experiments.feature_decoupling import figure_arms

RUNS, N, S = 2, 40, 8


def draw(n=N, runs=RUNS):
    x = [torch.rand(n, 3, S, S, generator=stream(0, run, "images"), dtype=torch.float64) for run in range(runs)]
    return torch.stack(x)


def streams(runs=range(RUNS), device="cpu"):
    return [stream(0, run, "views", device) for run in runs]


def luminance(pixel):
    return 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2]


def by_hand(image, b, c, s, h, jittered, grey, strength, hue):
    """One image as rows of pixels, through the formulas of each step."""

    def cut(pixels):
        return [tuple(min(1.0, max(0.0, v)) for v in p) for p in pixels]

    b, c, s = (1 + 0.8 * strength * (2 * u - 1) for u in (b, c, s))
    pixels = [tuple(p) for p in image.flatten(1).mT.tolist()]
    if jittered < 0.8:
        pixels = cut([[b * v for v in p] for p in pixels])
        mean = sum(luminance(p) for p in pixels) / len(pixels)
        pixels = cut([[mean + c * (v - mean) for v in p] for p in pixels])
        pixels = cut([[luminance(p) + s * (v - luminance(p)) for v in p] for p in pixels])
        turned = [colorsys.rgb_to_hsv(*p) for p in pixels]
        pixels = [colorsys.hsv_to_rgb((x + hue * (2 * h - 1)) % 1, y, z) for x, y, z in turned]
    if grey < 0.2:
        pixels = [(luminance(p),) * 3 for p in pixels]
    return torch.tensor(pixels, dtype=torch.float64).mT.view_as(image)


@pytest.mark.parametrize(("strength", "hue"), [(1.0, 0.5), (0.5, 0.1), (0.0, 0.3)])
def test_colours_change_as_the_formulas_say(strength, hue):
    x = draw()
    found = recoloured(x, streams(), strength, hue)
    for run, generator in enumerate(streams()):
        numbers = torch.rand(N, 6, generator=generator, dtype=torch.float64)
        for k in range(N):
            expected = by_hand(x[run, k], *numbers[k].tolist(), strength, hue)
            torch.testing.assert_close(found[run, k], expected, rtol=1e-6, atol=1e-6)  # kornia adds 1e-8 in hsv


def test_without_strength_and_hue_only_grey_is_left():
    x, still = draw(400), Augmentation("full", (1.0, 1.0), (1.0, 1.0), False, 0.0, 0.0)
    views = still(x, streams())
    grey = (views == views[:, :, :1]).flatten(2).all(-1)
    torch.testing.assert_close(views[~grey], x[~grey], atol=1e-6, rtol=0)
    assert 0.15 < grey.double().mean() < 0.25


def test_nothing_is_done_where_nothing_is_asked_for():
    x = draw()
    assert Augmentation("none")(x, streams()) is x
    assert torch.equal(Augmentation("crop", (1.0, 1.0), (1.0, 1.0), False)(x, streams()), x)
    views = Augmentation("crop", (1.0, 1.0), (1.0, 1.0), True)(x, streams())
    mirrored = (views == x.flip(-1)).flatten(2).all(-1)
    assert torch.equal(views[~mirrored], x[~mirrored]) and 0.3 < mirrored.double().mean() < 0.7


def test_a_crop_is_one_part_of_all_three_colours_and_keeps_colours():
    x = draw()
    grey, flat = x[:, :, :1].expand_as(x), x[..., :1, :1].expand_as(x)
    crop = Augmentation("crop", (0.3, 0.6))
    views = crop(grey, streams())
    assert torch.equal(views[:, :, 0], views[:, :, 1]) and torch.equal(views[:, :, 0], views[:, :, 2])
    assert not torch.equal(views, grey)
    torch.testing.assert_close(crop(flat, streams()), flat)


def test_each_augmentation_has_a_branch_of_its_own_and_figures_train_no_other():
    """An arm for which nobody wrote a branch must not end in another's."""
    x = draw()
    views = [Augmentation(arm)(x, streams()) for arm in AUGMENTATIONS]
    assert not any(torch.equal(a, b) for k, a in enumerate(views) for b in views[:k])
    assert set(figure_arms.ARMS) <= {*AUGMENTATIONS, "supervised"}


@pytest.mark.parametrize("arm", ["crop", "full"])
def test_a_run_is_the_same_alone_and_the_global_seed_is_not_touched(arm):
    x, before = draw(), torch.random.get_rng_state()
    views = Augmentation(arm)(x, streams())
    torch.testing.assert_close(Augmentation(arm)(x[1:], streams([1])), views[1:], rtol=1e-12, atol=1e-14)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert views.min() >= 0 and views.max() <= 1 and views.dtype == x.dtype
    with elsewhere():
        far = Augmentation(arm)(x.to(ELSEWHERE), streams(device=ELSEWHERE)).cpu()
    torch.testing.assert_close(far, views)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"arm": "blur"}, "must be one of none, crop, full, .* got arm='blur'"),
        ({"strength": 1.5}, "strength=1.5"),
        ({"hue": 0.6}, "hue=0.6"),
        ({"scale": (0.0, 1.0)}, "scale="),
    ],
)
def test_other_augmentations_are_refused(how, said):
    with pytest.raises(ValueError, match=said):
        Augmentation(**how)


@pytest.mark.parametrize(("shape", "count"), [((2, 5, 8, 8), 2), ((2, 5, 1, 8, 8), 2), ((2, 5, 3, 8, 8), 1)])
def test_other_shapes_are_refused(shape, count):
    with pytest.raises(ValueError, match=r"images and streams must be \[run, n, 3, s, s\] and one per run, got \("):
        Augmentation()(torch.zeros(shape), streams(range(count)))
