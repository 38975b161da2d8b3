"""MSCOCO: both layouts on small files that the tests write, and the compact copy where CONTRASTIVE_DATA has it."""

import hashlib
import io
import json
import os
import tarfile

import numpy as np
import pytest
from checkout import ROOT
from one_line_error import one_line_error

from contrastive_dynamics.data import coco
from contrastive_dynamics.data.catalogue import DataError, data_folder
from contrastive_dynamics.data.coco import NAMES, SUMS, captions_of_labels, check, coco_2014, coco_compact, in_test

LABELS = {"9": ["bowl", "orange"], "30": ["skis"], "25": ["person"], "400": [], "41": ["orange", "person", "bowl"]}
CATEGORIES = ["person", "skis", "bowl", "orange"]
WRITTEN = {"400": ["a wall"] * 5, "25": [f"someone {k}" for k in range(6)]}


def compact(folder, monkeypatch):
    """A compact copy of five images, `image 9` and so on, out of order, and the sums that fit it."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for key in LABELS:
            data = f"image {key}".encode()
            entry = tarfile.TarInfo(f"{int(key):012d}.jpg")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    known = json.dumps({"categories": CATEGORIES, "labels": LABELS, "instance_labels": {}}).encode()
    files = dict(zip(SUMS, (json.dumps(WRITTEN).encode(), known, content.getvalue()), strict=True))
    (folder / "coco").mkdir()
    for file, data in files.items():
        (folder / file).write_bytes(data)
    monkeypatch.setattr(coco, "SUMS", {f: f"sha256:{hashlib.sha256(data).hexdigest()}" for f, data in files.items()})
    return folder


def official(folder):
    """Two images for training, with annotations out of order, and one for validation."""
    for split, ids in {"train": (25, 9), "val": (42,)}.items():
        (folder / "coco2014" / f"{split}2014").mkdir(parents=True)
        for k in ids:
            (folder / "coco2014" / f"{split}2014" / f"COCO_{split}2014_{k:012d}.jpg").write_bytes(b"image %d" % k)
        written = [{"image_id": k, "id": 100 * k - at, "caption": f"{k} {at}"} for k in ids for at in range(6)]
        outline = {"segmentation": [[1.5, 2.0]], "iscrowd": 0}
        marks = [{"image_id": 25, "category_id": c, "id": c, **outline} for c in (90, 1, 90)]
        names = [{"id": 90, "name": "toothbrush"}, {"id": 1, "name": "person"}]
        put(folder, f"captions_{split}2014.json", {"images": [], "annotations": written})
        put(folder, f"instances_{split}2014.json", {"annotations": marks, "categories": names})
    return folder


def put(folder, name, content):
    path = folder / "coco2014" / "annotations" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_images_with_human_captions_come_with_theirs(tmp_path, monkeypatch):
    found = coco_compact("human", compact(tmp_path, monkeypatch))
    assert found.name == "coco-human" and found.categories == CATEGORIES and found.sums == coco.SUMS
    assert found.ids.tolist() == [25, 400] and found.captions == [WRITTEN["25"], WRITTEN["400"]]
    assert found.labels.tolist() == [[True, False, False, False], [False] * 4]
    assert [found.read(row) for row in (0, 1)] == [b"image 25", b"image 400"]


def test_the_other_images_that_have_a_label_come_with_captions_made_of_it(tmp_path, monkeypatch):
    found = coco_compact("labels", compact(tmp_path, monkeypatch))
    assert found.ids.tolist() == [9, 30, 41] and found.labels.sum(1).tolist() == [2, 1, 3]
    assert found.captions[1] == ["a photo of skis"] * 5 and found.read(2) == b"image 41"
    assert found.captions[0] == captions_of_labels(9, ["orange", "bowl", "bowl"])
    assert set(found.captions[0]) <= {
        *("a photo of a bowl", "a photo of an orange"),
        *("a photo of a bowl and an orange", "a photo of an orange and a bowl"),
    }
    assert found.test.tolist() == [in_test(k) for k in (9, 30, 41)]


def test_made_captions_name_up_to_three_labels_in_every_order_and_are_fixed():
    names = ["dog", "person", "car", "apple"]
    made = [caption for k in range(400) for caption in captions_of_labels(k, names)]
    assert "a photo of a dog, a person and a car" in made and "a photo of a car, a person and a dog" in made
    counts = np.bincount([sum(f" {name}" in caption for name in names) for caption in made])
    assert counts.tolist()[0] == 0 and len(counts) == 4 and (abs(counts[1:] / 2000 - 1 / 3) < 0.05).all()
    assert captions_of_labels(9, ["bowl", "orange"])[:3] == [
        "a photo of an orange and a bowl",
        "a photo of a bowl and an orange",
        "a photo of a bowl and an orange",
    ]
    with pytest.raises(ValueError, match="names must hold at least one name, got none"):
        captions_of_labels(9, [])


def test_a_quarter_is_for_the_test_by_the_id_alone():
    chosen = [in_test(k) for k in range(20000)]
    assert abs(np.mean(chosen) - 0.25) < 0.01
    assert [k for k in range(20) if chosen[k]] == [8, 9, 13]  # as sha256sum says: 2c…, 19…, 3f…


def test_the_official_files_are_read_in_the_order_of_ids(tmp_path):
    train, val = (coco_2014(split, official(tmp_path) if split == "train" else tmp_path) for split in ("train", "val"))
    assert train.name == "coco-2014-train" and train.ids.tolist() == [9, 25] and train.ids.dtype == np.int64
    assert train.captions[1] == [f"25 {k}" for k in (5, 4, 3, 2, 1, 0)]
    assert train.categories == ["person", "toothbrush"] and train.labels.tolist() == [[False] * 2, [True] * 2]
    assert train.read(0) == b"image 9" and not train.test.any() and val.test.all() and not val.labels.any()
    content = (tmp_path / "coco2014/annotations/captions_train2014.json").read_bytes()
    assert train.sums["coco2014/annotations/captions_train2014.json"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert len(train.sums) == 3
    check("coco-2014", tmp_path)


def test_each_missing_official_file_is_one_line_that_says_how_to_get_it(tmp_path):
    official(tmp_path)
    for name, archive in {
        "annotations/captions_val2014.json": "annotations/annotations_trainval2014.zip",
        "annotations/instances_train2014.json": "annotations/annotations_trainval2014.zip",
        "val2014": "zips/val2014.zip",
    }.items():
        path = tmp_path / "coco2014" / name
        path.rename(tmp_path / "away")
        for load in (
            lambda: check("coco-2014", tmp_path),
            lambda n=name: coco_2014("val" if "val" in n else "train", tmp_path),
        ):
            with pytest.raises(DataError) as caught:
                load()
            said = str(caught.value)
            assert said.startswith(f"{path} is missing; unpack http://images.cocodataset.org/{archive} into {tmp_path}")
            assert said.endswith("coco2014; CONTRASTIVE_DATA names another folder for data sets") and "\n" not in said
        (tmp_path / "away").rename(path)
    check("coco-2014", tmp_path)
    (tmp_path / "coco2014/train2014/COCO_train2014_000000000025.jpg").unlink()
    with pytest.raises(
        DataError, match="train2014 lacks 1 of 2 images, the first COCO_train2014_000000000025.jpg; unpack"
    ):
        coco_2014("train", tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", {"annotations": [{"id": 1}]}, {}])
def test_a_malformed_annotation_file_is_refused_by_name(tmp_path, content):
    official(tmp_path)
    put(tmp_path, "captions_val2014.json", content)
    with pytest.raises(DataError, match="captions_val2014.json: not the file that is expected"):
        coco_2014("val", tmp_path)


@pytest.mark.parametrize("key", ["25", 25.0, True, -1, None, 10**12, [25]])
@pytest.mark.parametrize("file", ["captions_train2014.json", "instances_train2014.json"])
def test_an_id_that_is_no_number_of_an_image_names_its_file(tmp_path, file, key):
    path = official(tmp_path) / "coco2014/annotations" / file
    content = json.loads(path.read_text())
    content["annotations"][-1]["image_id"] = key
    path.write_text(json.dumps(content))
    with one_line_error(DataError, f"{file}: not the file that is expected .*image_id must be a whole number"):
        coco_2014("train", tmp_path)


@pytest.mark.parametrize(
    "file, part, name",
    [("captions_train2014.json", "annotations", "caption"), ("instances_train2014.json", "categories", "name")],
)
def test_texts_that_are_none_and_files_without_end_name_their_file(tmp_path, file, part, name):
    path = official(tmp_path) / "coco2014/annotations" / file
    content = json.loads(path.read_text())
    for value in (None, 7, ["a dog"]):
        content[part][0][name] = value
        path.write_text(json.dumps(content))
        with one_line_error(DataError, f"{file}: not the file that is expected .*must be text"):
            coco_2014("train", tmp_path)
    path.write_text("[" * 100_000)
    with one_line_error(DataError, f"{file}: not the file that is expected"):
        coco_2014("train", tmp_path)


def test_other_images_of_the_same_ids_have_another_sum(tmp_path):
    first = coco_2014("train", official(tmp_path)).sums
    assert coco_2014("train", tmp_path).sums == first
    image = tmp_path / "coco2014/train2014/COCO_train2014_000000000009.jpg"
    image.write_bytes(image.read_bytes()[:-1])
    (image.parent / "notes.txt").write_text("no image of the split")
    changed = coco_2014("train", tmp_path).sums
    assert [file for file in first if first[file] != changed[file]] == ["coco2014/train2014"]


@pytest.mark.parametrize("name", ["coco-human", "coco-labels"])
def test_a_compact_file_that_is_missing_or_has_another_sum_is_one_line(tmp_path, monkeypatch, name):
    check(name, compact(tmp_path, monkeypatch))
    for file, known in coco.SUMS.items():
        path, content = tmp_path / file, (tmp_path / file).read_bytes()
        path.write_bytes(content[:-1])
        for load in (lambda: check(name, tmp_path), lambda: coco_compact(name.removeprefix("coco-"), tmp_path)):
            with pytest.raises(DataError) as caught:
                load()
            said = str(caught.value)
            assert (
                said.startswith(f"{path} has the sum sha256:")
                and f"expected {known}; copy" in said
                and "\n" not in said
            )
        path.unlink()
        with pytest.raises(DataError) as caught:
            check(name, tmp_path)
        said = str(caught.value)
        assert said.startswith(f"{path} ({known}) is missing; it is not for download: copy it") and "\n" not in said
        path.write_bytes(content)


def changed(folder, file, key, change):
    """The official files with one list of one of them changed in place."""
    path = official(folder) / "coco2014/annotations" / file
    content = json.loads(path.read_text())
    change(content[key])
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("file", "key", "change", "said"),
    [
        ("captions", "annotations", lambda rows: rows[1].update(id=rows[0]["id"]), "caption id 2500 occurs 2 times"),
        ("captions", "annotations", lambda rows: rows[0].update(id=1.0), r"id must be a whole number, got 1\.0"),
        (
            "captions",
            "annotations",
            lambda rows: [row.update(caption=" \n") for row in rows[6:]],
            "9 has captions of bl",
        ),
        ("instances", "categories", lambda rows: rows[0].update(id=1), "category id 1 occurs 2 times"),
        (
            "instances",
            "categories",
            lambda rows: rows[0].update(name="person"),
            "category name 'person' occurs 2 times",
        ),
        ("instances", "categories", lambda rows: rows[0].update(id=True), "id must be a whole number, got True"),
        ("instances", "annotations", lambda rows: rows[1].update(category_id=True), "a whole number, got True"),
        ("instances", "annotations", lambda rows: rows[1].update(category_id=1.0), r"a whole number, got 1\.0"),
        ("instances", "categories", lambda rows: rows[0].update(id=-1), "id must be a whole number, got -1"),
        ("instances", "categories", lambda rows: rows.clear(), "categories must hold one or more"),
        ("captions", "annotations", lambda rows: rows.clear(), "annotations must hold a caption or more"),
    ],
)
def test_an_id_or_a_name_that_occurs_twice_or_is_none(tmp_path, file, key, change, said):
    changed(tmp_path, f"{file}_train2014.json", key, change)
    with one_line_error(DataError, f"{file}_train2014.json: not the file that is expected .*{said}"):
        coco_2014("train", tmp_path)


@pytest.mark.parametrize("annotations", [{}, "", None, 0])
@pytest.mark.parametrize("file", ["captions_train2014.json", "instances_train2014.json"])
def test_annotations_that_are_no_list(tmp_path, file, annotations):
    path = official(tmp_path) / "coco2014/annotations" / file
    path.write_text(json.dumps(json.loads(path.read_text()) | {"annotations": annotations}))
    with one_line_error(DataError, f"{file}: not the file that is expected .*annotations must be a list"):
        coco_2014("train", tmp_path)


def test_a_caption_of_blanks_is_left_out(tmp_path):
    changed(tmp_path, "captions_train2014.json", "annotations", lambda rows: rows[0].update(caption="\t "))
    assert coco_2014("train", tmp_path).captions[1] == [f"25 {k}" for k in (5, 4, 3, 2, 1)]


def test_what_is_unknown_is_refused(tmp_path):
    with pytest.raises(DataError, match="data set must be one of coco-human, coco-labels, coco-2014, got 'coco'"):
        check("coco", tmp_path)
    with pytest.raises(DataError, match="split must be train or val, got 'test'"):
        coco_2014("test", tmp_path)
    with pytest.raises(DataError, match="captions must be human or labels, got 'all'"):
        coco_compact("all", tmp_path)
    assert NAMES == ("coco-human", "coco-labels", "coco-2014")


@pytest.mark.parametrize("captions, rows, kept, unlabelled", [("human", 536, 130, 1), ("labels", 4429, 1141, 0)])
def test_the_real_compact_copy(captions, rows, kept, unlabelled):
    if not os.environ.get("CONTRASTIVE_DATA"):
        pytest.skip("CONTRASTIVE_DATA is not set: real files were not read")
    if lacking := [file for file in SUMS if not (data_folder() / file).is_file()]:
        pytest.skip(f"CONTRASTIVE_DATA holds no {lacking[0]}: real files were not read")
    found = coco_compact(captions)
    assert found.labels.shape == (rows, 80) and found.test.sum() == kept and (~found.labels.any(1)).sum() == unlabelled
    assert min(map(len, found.captions)) == 5 and (np.diff(found.ids) > 0).all() and len(set(found.categories)) == 80
    assert all(found.read(row)[:2] == b"\xff\xd8" for row in (0, rows // 2, rows - 1))
    assert abs(found.labels[:, 0].mean() - 0.569) < 0.001


def test_the_page_on_data_prints_the_sums_that_are_checked():
    page = (ROOT / "book" / "data.md").read_text()
    for file, known in coco.SUMS.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{file}`"))
        assert known.removeprefix("sha256:") in row
