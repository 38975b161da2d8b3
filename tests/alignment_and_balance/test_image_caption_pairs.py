"""Pairs by name: generated ones whole, those of COCO up to the encoders, which are an extra."""

import pytest
import torch

from contrastive_dynamics.alignment_and_balance import encoded_pairs, pretrained_encoders
from contrastive_dynamics.alignment_and_balance.image_caption_pairs import MODELS, NAMES, image_caption_pairs
from contrastive_dynamics.data import coco
from contrastive_dynamics.data.catalogue import DataError


def pairs(data="scenes", scenes=60, seed=3):
    return image_caption_pairs(data, scenes, seed, "cpu")


def test_generated_pairs_are_standardised_by_the_training_part():
    train, test = pairs()
    assert len(train.images) == 60 and len(test.images) == 1000 and train.names == test.names
    flat = train.captions.flatten(0, 1)
    for values in (train.images, flat):
        torch.testing.assert_close(values.mean(0), torch.zeros(values.shape[1]), atol=1e-4, rtol=0)
        spread = values.std(0)
        assert bool(((spread - 1).abs() < 1e-3).logical_or(spread == 0).all())
    assert float(test.images.mean(0).abs().max()) > 1e-3  # not by itself
    assert bool((train.prompts == test.prompts).all())


def test_another_seed_draws_other_scenes_with_the_same_prompts_before_standardising():
    (one, _), (same, _), (other, _) = pairs(), pairs(), pairs(seed=4)
    assert bool((one.images == same.images).all()) and not bool((one.labels == other.labels).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_default_dtype_does_not_matter(dtype):
    before = torch.get_default_dtype()
    expected = pairs()[0]
    torch.set_default_dtype(dtype)
    try:
        found = pairs()[0]
    finally:
        torch.set_default_dtype(before)
    assert found.images.dtype == torch.float32
    torch.testing.assert_close(found.images, expected.images)


@pytest.mark.parametrize("data, scenes", [("mnist", 60), ("scenes", 1)])
def test_what_is_not_allowed_is_said(data, scenes):
    with pytest.raises(ValueError, match="data and scenes must be one of scenes, coco-human.* and ≥ 2, got '"):
        pairs(data, scenes)


def test_missing_files_are_named_before_any_encoder_is_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTRASTIVE_DATA", str(tmp_path))
    for data in set(NAMES) - {"scenes"}:
        with pytest.raises(DataError, match="is missing"):
            pairs(data)


def test_compact_images_are_split_by_their_ids_and_official_ones_by_their_folders(monkeypatch):
    asked = []

    def encoded(data, image, text, watch):
        asked.append((data, image, text))
        assert list(watch(range(2))) == [0, 1]
        n = 4
        g = torch.Generator().manual_seed(0)
        draw = [torch.randn(n, 3, generator=g), torch.randn(n, 2, 5, generator=g), torch.randn(2, 5, generator=g)]
        labels, test = torch.eye(n, 2).bool(), torch.tensor([False, True, False, False])
        return encoded_pairs.EncodedPairs(*draw, labels, torch.arange(n), test, ("a", "b"), {})

    class Named:
        def __init__(self, name):
            self.name = name

    monkeypatch.setattr(coco, "check", lambda data: None)
    monkeypatch.setattr(coco, "coco_compact", Named)
    monkeypatch.setattr(coco, "coco_2014", Named)
    monkeypatch.setattr(encoded_pairs, "encode_pairs", encoded)
    monkeypatch.setattr(pretrained_encoders, "small_pair", lambda device: ("small", "small"))
    monkeypatch.setattr(pretrained_encoders, "paper_pair", lambda *given: given[:2])
    train, test = pairs("coco-labels")
    assert (len(train.images), len(test.images)) == (3, 1) and asked[-1][0].name == "labels"
    pairs("coco-2014")
    assert [a[0].name for a in asked[-2:]] == ["train", "val"]
    assert asked[-1][1:] == ("microsoft/resnet-101", "roberta-base")
    monkeypatch.setenv(MODELS, "/models")
    pairs("coco-2014")
    assert asked[-1][1:] == ("/models/resnet-101", "/models/roberta-base")
