"""Coloured digits: the digit is visible in grey, and colours reveal the class only if a hint is requested."""

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from sklearn.datasets import load_digits
from sklearn.feature_selection import f_classif

from contrastive_dynamics.data.coloured_digits import GAP, coloured_digits
from contrastive_dynamics.numerics.random_streams import stream


def made(hint=0.0, device="cpu"):
    return coloured_digits(stream(0, 0, "digits", device), hint)


@pytest.mark.parametrize("hint", [0.0, 0.6])
def test_each_image_is_its_digit_between_two_colours(hint):
    data, source = made(hint), load_digits()
    amount = torch.from_numpy(source.images).float() / 16
    test = torch.arange(1797) % 5 == 0
    for images, labels, part in ((data.images, data.labels, ~test), (data.test_images, data.test_labels, test)):
        assert torch.equal(labels, torch.from_numpy(source.target)[part]) and images.dtype == torch.float32
        assert images.min() >= 0 and images.max() <= 1
        a = amount[part].flatten(1)
        shape = torch.stack([a, 1 - a], -1)  # of rank 2, so two colours are found by least squares
        colours = torch.linalg.lstsq(shape, images.flatten(2).mT).solution
        torch.testing.assert_close(shape @ colours, images.flatten(2).mT, atol=1e-4, rtol=0)
        light = colours @ torch.tensor([0.299, 0.587, 0.114])
        assert (light[:, 0] - light[:, 1]).min() > GAP - 1e-3


def test_colours_tell_of_the_class_with_a_hint_alone():
    for hint, informed in ((0.0, False), (0.5, True), (1.0, True)):
        data = made(hint)
        at = data.images.flatten(2).sum(1).argmax(-1)  # the lightest pixel, most of it stroke
        stroke = data.images.flatten(2).gather(2, at.view(-1, 1, 1).expand(-1, 3, 1)).squeeze(-1)
        chroma = stroke - stroke.mean(-1, keepdim=True)
        least = f_classif(chroma, data.labels)[1].min()
        assert least < 1e-10 if informed else least > 1e-3


def test_they_are_the_same_elsewhere():
    with elsewhere():
        far = [part.cpu() for part in made(0.5, ELSEWHERE)]
    for one, other in zip(far, made(0.5), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("hint", [-0.1, 1.1, float("nan")])
def test_other_hints_are_refused(hint):
    with pytest.raises(ValueError, match=f"hint must be from 0 to 1, got {hint}"):
        made(hint)
