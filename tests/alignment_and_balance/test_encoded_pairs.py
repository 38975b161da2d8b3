"""Features of pairs: kept batch by batch, found again, saved whole. The encoders here count what they see."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from one_line_error import one_line_error

from contrastive_dynamics.alignment_and_balance.encoded_pairs import EncodedPairs, encode_pairs
from contrastive_dynamics.alignment_and_balance.pretrained_encoders import Encoder
from contrastive_dynamics.data.catalogue import DataError
from contrastive_dynamics.data.coco import Coco

COUNT, CATEGORIES = 7, ["person", "hot dog", "cat"]


def pairs():
    ids = np.arange(10, 10 + COUNT, dtype=np.int64)
    captions = [[f"caption {k} of {row}" for k in range(2 + row % 2)] for row in ids]
    labels = np.eye(3, dtype=bool)[ids % 3]
    return Coco(
        "small", ids, captions, labels, CATEGORIES, ids % 4 == 0, lambda k: b"%d" % ids[k], {"file": "sha256:0"}
    )


class Counting:
    """An encoder whose features are a hash of its input; it fails at the call that is asked for."""

    def __init__(self, name, dim, fails_at=None):
        self.seen, self.calls, self.dim, self.fails_at = [], 0, dim, fails_at
        self.encoder = Encoder(name, "sha256:1", "made", self.encode)

    def encode(self, items):
        self.calls += 1
        if self.calls == self.fails_at:
            raise KeyboardInterrupt
        self.seen += items
        return torch.stack([self.feature(item) for item in items])

    def feature(self, item):
        text = item if isinstance(item, str) else item.decode()
        return torch.tensor([float(sum(map(ord, text)) % (k + 7)) for k in range(self.dim)])


def both(**fails):
    return Counting("eye", 5, fails.get("image")), Counting("ear", 3, fails.get("text"))


def encoded(tmp_path, image, text, **how):
    return encode_pairs(pairs(), image.encoder, text.encoder, **{"captions": 2, "batch": 2, "cache": tmp_path} | how)


def test_every_feature_stands_at_its_image_its_caption_and_its_prompt(tmp_path):
    image, text = both()
    found, data = encoded(tmp_path, image, text), pairs()
    assert found.images.shape == (COUNT, 5) and found.captions.shape == (COUNT, 2, 3)
    assert found.images.dtype == found.captions.dtype == found.prompts.dtype == torch.float16
    for row in range(COUNT):
        assert found.images[row].tolist() == image.feature(data.read(row)).tolist()
        for k in range(2):
            assert found.captions[row, k].tolist() == text.feature(data.captions[row][k]).tolist()
    assert found.prompts[1].tolist() == text.feature("This is a hot dog").tolist() and found.names == tuple(CATEGORIES)
    assert found.labels.numpy().tolist() == data.labels.tolist() and found.test.tolist() == data.test.tolist()
    assert found.ids.tolist() == data.ids.tolist() and found.made["image"] == ["eye", "sha256:1", "made"]


def test_prompts_of_other_categories_are_not_those_of_the_first(tmp_path):
    encoded(tmp_path, *both())
    image, text = both()
    for categories in (CATEGORIES[::-1], ["zebra", *CATEGORIES[1:]]):
        found = encode_pairs(
            replace(pairs(), categories=categories), image.encoder, text.encoder, captions=2, batch=2, cache=tmp_path
        )
        for name, row in zip(categories, found.prompts, strict=True):
            assert row.tolist() == text.feature(f"This is a {name}").tolist()
    assert not image.seen and all(seen.startswith("This is a ") for seen in text.seen)  # images and captions are kept


def test_an_image_that_cannot_be_read_is_named(tmp_path):
    def refuses(images):
        if b"13" in images:
            raise DataError("content must be a readable image, got 2 bytes")
        return torch.zeros(len(images), 5)

    image, text = Encoder("eye", "sha256:1", "made", refuses), both()[1].encoder
    with one_line_error(DataError, "^small, images 12 to 13: content must be a readable image, got 2 bytes$"):
        encode_pairs(pairs(), image, text, captions=2, batch=2, cache=tmp_path)


@pytest.mark.parametrize("fails", [{"image": 3}, {"text": 3}, {"text": 5}, {}])
def test_what_was_interrupted_continues_with_the_batches_that_are_left(tmp_path, fails):
    image, text = both(**fails)
    whole = encoded(tmp_path / "other", *both())
    if fails:
        with pytest.raises(KeyboardInterrupt):
            encoded(tmp_path, image, text)
    else:
        encoded(tmp_path, image, text)
    kept = len(list(tmp_path.rglob("[0-9]*.npz"))) - 4
    assert kept == {3: 2}.get(next(iter(fails.values()), 0), 4) and not list(tmp_path.rglob("*.part"))
    again, watched = both(), []
    found = encoded(tmp_path, *again, watch=lambda items: watched.append(len(items)) or items)
    assert watched == [4 - kept]
    assert again[0].seen == [b"%d" % k for k in range(10 + 2 * kept, 10 + COUNT)]
    assert len(again[1].seen) == 2 * len(again[0].seen) + (3 if fails else 0)
    for what in ("images", "captions", "prompts"):
        assert torch.equal(getattr(found, what), getattr(whole, what))


def test_other_encoders_data_or_settings_use_another_cache(tmp_path):
    encoded(tmp_path, *both())
    for change in ({"captions": 1}, {"batch": 3}, {"dtype": torch.float32}):
        image, text = both()
        found = encoded(tmp_path, image, text, **change)
        assert len(image.seen) == COUNT and found.images.dtype == change.get("dtype", torch.float16)
    for what in ("name", "sum", "made"):
        image, text = both()
        object.__setattr__(text.encoder, what, "another")
        encoded(tmp_path, image, text)
        assert len(image.seen) == COUNT
    data, (image, text) = pairs(), both()
    data.captions[0][0] = "another"
    encode_pairs(data, image.encoder, text.encoder, captions=2, batch=2, cache=tmp_path)
    assert len(image.seen) == COUNT and len(list(tmp_path.iterdir())) == 8


def test_a_damaged_batch_is_named(tmp_path):
    encoded(tmp_path, *both())
    path = next(tmp_path.rglob("0000002.npz"))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match="0000002.npz: not the npz file that is expected.*; delete it and run again"):
        encoded(tmp_path, *both())


def test_what_is_saved_is_all_of_the_pairs(tmp_path):
    found = encoded(tmp_path, *both())
    found.save(tmp_path / "new" / "pairs.npz")
    stored = np.load(tmp_path / "new" / "pairs.npz")  # it refuses to unpickle
    rows = {what: torch.from_numpy(stored[what]) for what in ("images", "captions", "prompts", "ids", "test")}
    labels = torch.from_numpy(np.unpackbits(stored["labels"], axis=1, count=3).astype(bool))
    made, names = json.loads(str(stored["made"])), tuple(stored["names"].tolist())
    again = EncodedPairs(**rows, labels=labels, names=names, made=made)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["pairs.npz"]
    assert again.names == found.names and again.made == json.loads(json.dumps(found.made))
    for what in ("images", "captions", "prompts", "labels", "ids", "test"):
        assert torch.equal(getattr(again, what), getattr(found, what))
        assert getattr(again, what).dtype == getattr(found, what).dtype
    part = again.part(~again.test).to("cpu", torch.float64)
    assert part.ids.tolist() == [10, 11, 13, 14, 15] and part.captions.dtype == part.prompts.dtype == torch.float64
    assert part.labels.dtype == torch.bool and part.prompts.shape == (3, 3)


def test_features_are_kept_in_the_user_s_cache_folder_unless_another_is_given(tmp_path, monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / name)
    encoded(None, *both())
    assert len(list((tmp_path / "contrastive-dynamics" / "encoded").iterdir())) == 1
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError, match="encode_pairs: install pooch, or give a folder `cache` for features"):
        encoded(None, *both())


def test_what_does_not_fit_is_refused_before_any_work(tmp_path):
    for how, said in (
        ({"captions": 3}, "1 to 2, ≥ 1 and float16 or float32, got captions=3, batch=2, dtype=torch.float16"),
        ({"batch": 0}, "got captions=.*, batch=0, dtype=torch.float16"),
        ({"dtype": torch.int8}, "dtype=torch.int8"),
    ):
        image, text = both()
        with pytest.raises(ValueError, match=f"captions, batch and dtype must be .*{said}"):
            encoded(tmp_path / "new", image, text, **how)
        assert not image.calls and not (tmp_path / "new").exists()
    image, text = both()
    object.__setattr__(text.encoder, "encode", lambda items: torch.full((len(items), 3), 1e5))
    with pytest.raises(ValueError, match="captions must be finite in torch.float16, got inf"):
        encoded(tmp_path, image, text)
    a, b = torch.zeros(2, 4), torch.zeros(3, 4)
    with pytest.raises(ValueError, match=r"captions must be \(2, 5, 4\), got \(1, 5, 4\)"):
        EncodedPairs(a, torch.zeros(1, 5, 4), b, torch.zeros(2, 3), torch.zeros(2), torch.zeros(2), ("a", "b", "c"), {})
