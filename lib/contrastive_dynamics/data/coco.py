"""Images of MSCOCO with captions and labels, from a compact copy or from the official files of 2014.

Below the folder for data sets (`datasets.data_folder`): `coco/`, 5000 smaller images, 536 of them with captions, each
file held against its known sum; `coco2014/`, the official layout. Which of them a run uses is named, never guessed.
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
_CAPTIONS, _MOST = 5, 3  # captions made for an image without any; categories in each of them, at most
_PAIRS = ("skis", "scissors")  # the two names that take no article


@dataclass(frozen=True, eq=False)
class Coco:
    """Images and what belongs to them, row by row, ids ascending.

    name: of data set and split; ids: Int64[ndarray, "n"]; captions: n lists of strings; labels: Bool[ndarray, "n 80"];
    categories: the 80 names in COCO's order; test: Bool[ndarray, "n"], images kept out of training; read: row → the
    bytes of its JPEG file; sums: file → sum of its content.
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
    """Every file of a data set is there; those of the compact copy have their known sums.

    Cost: reads the compact copy once (59 MB); looks only for the names of the official files, not of each image.
    Raises: DataError for an unknown name, a file or folder that is missing, a file with another sum.
    """
    if name not in NAMES:
        raise DataError(f"no data set {name!r}, allowed are {', '.join(NAMES)}")
    if name != "coco-2014":
        for file in SUMS:
            _content(file, folder)
        return
    for split in ("train", "val"):
        _official(split, folder)


def in_test(image_id: int) -> bool:
    """Whether an image of the compact copy is kept out of training, as about a quarter of all ids is.

    Those whose sha256, of the id in decimal digits, starts with two bits of zero: a function of the id alone.
    """
    return hashlib.sha256(b"%d" % image_id).digest()[0] < 64


def captions_of_labels(image_id: int, names: list[str]) -> list[str]:
    """Five captions made of category names, as "a photo of a dog, a person and a car".

    Each names one to three of them, number, choice and order by sha256 of id, caption and name: a function of the id
    and the set of names alone. Two images with one name each, the same, have the same captions.
    Raises: ValueError for no name.
    """
    if not names:
        raise ValueError("captions_of_labels: got no name, allowed are 1 or more")

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
    """The compact copy: the images with human captions, or the others with captions made of their labels.

    human: 536 images with 5 or 6 captions each; labels: the other images that have a label, with
    `captions_of_labels`. `test` is `in_test`. Labels are instance annotations joined with the categories that human
    captions mention, so that they are not independent of those captions. Short side 224, most squashed to a square.
    Source: Lin et al., Microsoft COCO (2014); labels: Rohrbach et al., Object Hallucination in Image Captioning (2018).
    Raises: DataError for other `captions`, for a file that is missing or has another sum.
    Cost: 59 MB of memory, kept as long as `read`.
    """
    if captions not in ("human", "labels"):
        raise DataError(f"coco_compact: got captions {captions!r}, allowed are human, labels")
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

    Labels are the instance annotations; an image without any has none. No sums are published: `sums` has those of the
    split's two annotation files as they are; the images go unchecked.
    Source: Lin et al., Microsoft COCO: Common Objects in Context (2014).
    Raises: DataError for another split, for a file, folder or image that is missing, for a malformed file.
    Cost: the bytes and the text of one annotation file at a time.
    """
    if split not in ("train", "val"):
        raise DataError(f"coco_2014: got split {split!r}, allowed are train, val")
    images, *files = _official(split, folder)
    (texts, one), (columns, categories, two) = _annotations(files[0], _texts), _annotations(files[1], _columns)
    ids = sorted(texts)
    jpeg = [f"COCO_{split}2014_{k:012d}.jpg" for k in ids]
    if lacking := sorted(set(jpeg) - set(os.listdir(images))):
        raise DataError(
            f"{images} lacks {len(lacking)} of {len(ids)} images, the first {lacking[0]}; {_advice(images)}"
        )
    labels = _mark([sorted(columns.get(k, ())) for k in ids], categories)
    return Coco(
        f"coco-2014-{split}",
        np.array(ids, np.int64),
        [texts[k] for k in ids],
        labels,
        categories,
        np.full(len(ids), split == "val"),
        lambda row: (images / jpeg[row]).read_bytes(),
        {f"{_ANNOTATIONS}/{file.name}": found for file, found in zip(files, (one, two), strict=True)},
    )


def _content(file: str, folder: Path | str | None) -> bytes:
    """A file of the compact copy; raises DataError unless it is there with its known sum."""
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
    """Image folder, captions and instances of a split; raises DataError for one that is missing."""
    top = data_folder(folder)
    names = [f"{what}_{split}2014.json" for what in ("captions", "instances")]
    paths = [top / "coco2014" / f"{split}2014", *(top / _ANNOTATIONS / name for name in names)]
    for path in paths:
        if not (path.is_file() if path.suffix else path.is_dir()):
            raise DataError(f"{path} is missing; {_advice(path)}; {VARIABLE} names another folder for data sets")
    return paths


def _advice(path: Path) -> str:
    """How a person gets an annotation file or an image folder."""
    archive, into = ("zips/" + path.name, path.parent)
    if path.suffix:
        archive, into = "annotations/annotations_trainval2014", path.parents[1]
    return f"unpack {_HOST}/{archive}.zip into {into}"


def _parsed(file: str, content: bytes, pick: Callable):
    """What `pick` takes out of a JSON file; raises DataError, with the file's name, for what it does not find."""

    def slim(record: dict):
        """An instance annotation without its outline, which is most of the file; any other record as it is."""
        return (record["image_id"], record["category_id"]) if record.keys() >= {"image_id", "category_id"} else record

    try:
        return pick(json.loads(content, object_hook=slim))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{file}: not the file that is expected ({type(error).__name__}: {error})") from None


def _annotations(path: Path, pick: Callable) -> tuple:
    """What `pick` takes out of an annotation file, and its sum."""
    content = path.read_bytes()
    return *_parsed(path.name, content, pick), _sum(content)


def _ids(found: dict) -> dict[int, list[str]]:
    return {int(key): value for key, value in found.items()}


def _texts(found: dict) -> tuple[dict[int, list[str]]]:
    """Captions of each image, in the order of their own ids."""
    texts = {}
    for record in sorted(found["annotations"], key=lambda record: record["id"]):
        texts.setdefault(record["image_id"], []).append(record["caption"])
    return (texts,)


def _columns(found: dict) -> tuple[dict[int, set[int]], list[str]]:
    """Which categories each image has, by position, and their names in the order of their ids."""
    categories, columns = sorted((c["id"], c["name"]) for c in found["categories"]), {}
    position = {key: at for at, (key, _) in enumerate(categories)}
    for image, category in found["annotations"]:
        columns.setdefault(image, set()).add(position[category])
    return columns, [name for _, name in categories]


def _mark(columns: list[list[int]], categories: list[str]) -> np.ndarray:
    labels = np.zeros((len(columns), len(categories)), dtype=bool)
    for row, at in enumerate(columns):
        labels[row, at] = True
    return labels


def _places(tar: bytes) -> dict[int, tuple[int, int]]:
    """Where the file of each image id starts in a tar and how long it is."""
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as members:
        return {int(m.name.removesuffix(".jpg")): (m.offset_data, m.size) for m in members}
