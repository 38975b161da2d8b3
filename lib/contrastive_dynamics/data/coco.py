"""Images of MSCOCO with captions and labels, from a compact copy or from the official files of 2014.

They lie below the folder of the data sets (`catalogue.data_folder`): in `coco/` 5000 smaller images, 536 of them with
captions, every file checked against its known checksum; in `coco2014/` the official layout. A run names the copy it
uses; nothing is guessed.
Shapes: n images, 80 categories.
"""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .catalogue import VARIABLE, DataError, data_folder

NAMES = ("coco-human", "coco-labels", "coco-2014")
SUMS = {
    "coco/captions.json": "sha256:c303abf1d6945378d1ad6d3a2c279c7e5ffb7b5124e5eff6406030598b62bec0",
    "coco/labels.json": "sha256:b0b423e2ab6d3a9998d6d891b52438c29d2d3844b2174c74cdeabf391082b403",
    "coco/images.tar": "sha256:bf288ab41d68a1ada4c188c01a6af7c4191bb5340eec2d525e2ec7978914b8f9",
}
_HOST = "http://images.cocodataset.org"
_ANNOTATIONS = "coco2014/annotations"
_CAPTIONS, _MOST = 5, 3  # captions made for an image that has none; the most categories in one of them
_PAIRS = ("skis", "scissors")  # the two names that take no article


@dataclass(frozen=True, eq=False)
class Coco:
    """Images with their captions and labels, row by row, in ascending order of their ids.

    name: name of the data set and split.
    ids: Int64[ndarray, "n"].
    captions: n lists of strings.
    labels: Bool[ndarray, "n 80"].
    categories: the 80 names in COCO's order.
    test: Bool[ndarray, "n"], True for images kept out of training.
    read: function from a row to the bytes of its JPEG file.
    sums: the checksum of each file, by the file's name.
    """

    name: str
    ids: np.ndarray
    captions: list[list[str]]
    labels: np.ndarray
    categories: list[str]
    test: np.ndarray
    read: Callable[[int], bytes]
    sums: dict[str, str]


def check(name: str, folder: Path | str | None = None) -> None:
    """Check that every file of a data set is present; for the compact copy, that each has its known checksum.

    Args:
        name: one of NAMES.
        folder: folder of the data sets; by default as in `catalogue.data_folder`.
    Raises: DataError for an unknown name, a missing file or folder, or a file with the wrong checksum.
    Cost: reads the compact copy once (59 MB); for the official files it looks only for the annotation files and the
        image folders, not for each image.
    """
    if name not in NAMES:
        raise DataError(f"data set must be one of {', '.join(NAMES)}, got {name!r}")
    if name != "coco-2014":
        for file in SUMS:
            _content(file, folder)
        return
    for split in ("train", "val"):
        _official(split, folder)


def in_test(image_id: int) -> bool:
    """Whether an image of the compact copy is kept out of training, as about a quarter of all ids are.

    These are the ids whose SHA-256, taken of the id in decimal digits, starts with two zero bits: a function of the id
    alone.
    """
    return hashlib.sha256(b"%d" % image_id).digest()[0] < 64


def captions_of_labels(image_id: int, names: list[str]) -> list[str]:
    """Five captions made from category names, such as "a photo of a dog, a person and a car".

    Each caption names one to three categories. Their number, choice and order come from SHA-256 of the id, the
    caption's number and the name, so they depend on the id and the set of names alone. Two images whose only name is
    the same get the same captions.

    Args:
        image_id: COCO's id of the image.
        names: category names of the image, at least one; repeats do not matter.
    Returns: five strings.
    Raises: ValueError if there are no names.
    """
    if not names:
        raise ValueError("names must hold at least one name, got none")

    def drawn(caption: int, what: str) -> int:
        return int.from_bytes(hashlib.sha256(f"{image_id} {caption} {what}".encode()).digest()[:8])

    made = []
    for k in range(_CAPTIONS):
        order = sorted(set(names), key=lambda name, k=k: drawn(k, name))
        kept = order[: 1 + drawn(k, "") % min(_MOST, len(order))]
        *first, last = [n if n in _PAIRS else f"{'an' if n[0] in 'aeiou' else 'a'} {n}" for n in kept]
        made.append("a photo of " + (f"{', '.join(first)} and {last}" if first else last))
    return made


def coco_compact(captions: str, folder: Path | str | None = None) -> Coco:
    """The compact copy: the images with human captions, or the others with captions made from their labels.

    With `human` these are 536 images with 5 or 6 captions each; with `labels`, the other images that have a label, with
    `captions_of_labels`. `test` is `in_test`. The labels are the instance annotations joined with the categories that
    the human captions mention, so they are not independent of those captions. The short side is 224 pixels; most images
    are squashed to a square.

    Source: Lin et al., Microsoft COCO (2014); labels: Rohrbach et al., Object Hallucination in Image Captioning (2018).
    Args:
        captions: `human` or `labels`.
        folder: folder of the data sets; by default as in `catalogue.data_folder`.
    Returns: Coco.
    Raises: DataError for other `captions`, or for a file that is missing or has the wrong checksum.
    Cost: 59 MB of memory, held for as long as `read` exists.
    """
    if captions not in ("human", "labels"):
        raise DataError(f"captions must be human or labels, got {captions!r}")
    written, known, tar = (_content(file, folder) for file in SUMS)
    written, known, place = _ids(json.loads(written)), json.loads(known), _places(tar)
    categories, named, human = known["categories"], _ids(known["labels"]), captions == "human"
    ids = [k for k in sorted(place) if (k in written if human else k not in written and named.get(k))]
    texts = [written[k] if human else captions_of_labels(k, named[k]) for k in ids]
    column = {name: at for at, name in enumerate(categories)}
    labels = _mark([[column[name] for name in named.get(k, [])] for k in ids], categories)

    def read(row: int) -> bytes:
        start, size = place[ids[row]]
        return tar[start : start + size]

    test = np.array([in_test(k) for k in ids], dtype=bool)
    return Coco(f"coco-{captions}", np.array(ids, np.int64), texts, labels, categories, test, read, dict(SUMS))


def coco_2014(split: str, folder: Path | str | None = None) -> Coco:
    """MSCOCO-2014 in its official layout, `train` or `val`; `test` is all of `val` and none of `train`.

    Labels are the instance annotations; an image without annotations has no labels. COCO publishes no checksums: `sums`
    holds those of the two annotation files of the split as they are found, and one of the names and sizes of the
    images, so that features of smaller copies are not taken for those of the images; their content is not read.

    Source: Lin et al., Microsoft COCO: Common Objects in Context (2014).
    Args:
        split: `train` or `val`.
        folder: folder of the data sets; by default as in `catalogue.data_folder`.
    Returns: Coco.
    Raises: DataError for another split, for a missing file, folder or image, or for a malformed file.
    Cost: memory for the bytes and the text of one annotation file at a time.
    """
    if split not in ("train", "val"):
        raise DataError(f"split must be train or val, got {split!r}")
    images, *files = _official(split, folder)
    (texts, one), (columns, categories, two) = _annotations(files[0], _texts), _annotations(files[1], _columns)
    ids = sorted(texts)
    jpeg = [f"COCO_{split}2014_{k:012d}.jpg" for k in ids]
    sizes = {file.name: file.stat().st_size for file in os.scandir(images)}
    if lacking := sorted(set(jpeg) - set(sizes)):
        raise DataError(
            f"{images} lacks {len(lacking)} of {len(ids)} images, the first {lacking[0]}; {_advice(images)}"
        )
    labels = _mark([sorted(columns.get(k, ())) for k in ids], categories)
    sums = {f"{_ANNOTATIONS}/{file.name}": found for file, found in zip(files, (one, two), strict=True)}
    sums[f"coco2014/{images.name}"] = _sum("".join(f"{name} {sizes[name]}\n" for name in jpeg).encode())
    return Coco(
        f"coco-2014-{split}",
        np.array(ids, np.int64),
        [texts[k] for k in ids],
        labels,
        categories,
        np.full(len(ids), split == "val"),
        lambda row: (images / jpeg[row]).read_bytes(),
        sums,
    )


def _content(file: str, folder: Path | str | None) -> bytes:
    """A file of the compact copy; raises DataError unless it is present with its known checksum."""
    path = data_folder(folder) / file
    try:
        content = path.read_bytes()
    except OSError as error:
        why = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        how = f"it is not for download: copy it into {path.parent}, or use data 'coco-2014', the official files"
        raise DataError(f"{path} ({SUMS[file]}) {why}; {how}; {VARIABLE} names another folder for data sets") from None
    if (found := _sum(content)) != SUMS[file]:
        raise DataError(f"{path} has the sum {found}, expected {SUMS[file]}; copy it anew into {path.parent}")
    return content


def _sum(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _official(split: str, folder: Path | str | None) -> list[Path]:
    """Image folder, captions file and instances file of a split; raises DataError if one is missing."""
    top = data_folder(folder)
    names = [f"{what}_{split}2014.json" for what in ("captions", "instances")]
    paths = [top / "coco2014" / f"{split}2014", *(top / _ANNOTATIONS / name for name in names)]
    for path in paths:
        if not (path.is_file() if path.suffix else path.is_dir()):
            raise DataError(f"{path} is missing; {_advice(path)}; {VARIABLE} names another folder for data sets")
    return paths


def _advice(path: Path) -> str:
    """How a person can get an annotation file or an image folder."""
    archive, into = ("zips/" + path.name, path.parent)
    if path.suffix:
        archive, into = "annotations/annotations_trainval2014", path.parents[1]
    return f"unpack {_HOST}/{archive}.zip into {into}"


def _parsed(file: str, content: bytes, pick: Callable):
    """What `pick` extracts from a JSON file; raises DataError, with the file's name, if something is not there."""

    def slim(record: dict):
        """An instance annotation without its outline, which makes up most of the file; other records unchanged."""
        return (record["image_id"], record["category_id"]) if record.keys() >= {"image_id", "category_id"} else record

    try:
        return pick(json.loads(content, object_hook=slim))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{file}: not the file that is expected ({type(error).__name__}: {error})") from None


def _annotations(path: Path, pick: Callable) -> tuple:
    """What `pick` extracts from an annotation file, and the file's checksum."""
    content = path.read_bytes()
    return *_parsed(path.name, content, pick), _sum(content)


def _ids(found: dict) -> dict[int, list[str]]:
    return {int(key): value for key, value in found.items()}


def _texts(found: dict) -> tuple[dict[int, list[str]]]:
    """The captions of each image, in the order of the captions' ids, without those that are blank."""
    texts, records = {}, _list(found["annotations"])
    _once("caption id", [_id(record["id"]) for record in records])
    for record in sorted(records, key=lambda record: record["id"]):
        caption = _text(record["caption"])
        texts.setdefault(_image(record["image_id"]), []).extend([caption] if caption.strip() else [])
    if blank := [image for image, captions in texts.items() if not captions]:
        raise ValueError(f"image_id {blank[0]} has captions of blanks alone")
    if not texts:
        raise ValueError("annotations must hold a caption or more, got none")
    return (texts,)


def _list(found: object) -> list:
    if not isinstance(found, list):
        raise ValueError(f"annotations must be a list, got {found!r:.40}")
    return found


def _id(key: object) -> int:
    """The id of a caption or a category: 1.0 and true would be equal to 1."""
    if type(key) is not int or key < 0:
        raise ValueError(f"id must be a whole number, got {key!r}")
    return key


def _once(what: str, keys: list) -> None:
    """Raise ValueError for a key that occurs twice: the later would count, silently."""
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{what} {twice!r} occurs {keys.count(twice)} times")


def _image(key: object) -> int:
    """An image's id, which its file's name has in 12 digits; text, or 1.0, would name no file or another one."""
    if type(key) is not int or not 0 <= key < 10**12:
        raise ValueError(f"image_id must be a whole number of at most 12 digits, got {key!r}")
    return key


def _text(found: object) -> str:
    if not isinstance(found, str):
        raise ValueError(f"caption or name must be text, got {found!r}")
    return found


def _columns(found: dict) -> tuple[dict[int, set[int]], list[str]]:
    """The categories of each image, as positions, and the category names in the order of their ids."""
    categories, columns = sorted((_id(c["id"]), _text(c["name"])) for c in found["categories"]), {}
    if not categories:
        raise ValueError("categories must hold one or more, got none")
    for what, keys in zip(("category id", "category name"), zip(*categories, strict=True), strict=True):
        _once(what, list(keys))
    position = {key: at for at, (key, _) in enumerate(categories)}
    for image, category in _list(found["annotations"]):
        columns.setdefault(_image(image), set()).add(position[_id(category)])
    return columns, [name for _, name in categories]


def _mark(columns: list[list[int]], categories: list[str]) -> np.ndarray:
    labels = np.zeros((len(columns), len(categories)), dtype=bool)
    for row, at in enumerate(columns):
        labels[row, at] = True
    return labels


def _places(tar: bytes) -> dict[int, tuple[int, int]]:
    """For each image id, where its file starts in a tar archive and how long the file is."""
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as members:
        return {int(m.name.removesuffix(".jpg")): (m.offset_data, m.size) for m in members}
