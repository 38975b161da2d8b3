"""Frozen features of images, captions and one prompt per category, computed once and stored in files.

Shapes: n images, c captions each, L categories, p and q features of images and sentences. Features are float16 (or
float32, as asked) on the CPU; `EncodedPairs.to` moves them.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..data.catalogue import DataError
from ..data.coco import Coco
from ..data.formats import read_npz
from .pretrained_encoders import Encoder

VERSION = 2  # of how features are made from the same images and sentences; another number uses another cache
PROMPT = "This is a {}"
_TENSORS = ("images", "captions", "prompts", "labels", "ids", "test")


@dataclass(frozen=True, eq=False)
class EncodedPairs:
    """Features and labels, row by row.

    Fields:
        images: `[n, p]`.
        captions: `[n, c, q]`.
        prompts: `[L, q]`, of "This is a person" and so on.
        labels: `[n, L]`, bool.
        ids: `[n]`, int64.
        test: `[n]`, bool, the rows kept out of training.
        names: names of the L categories.
        made: what the features were made from (data set, files with their checksums, encoders, versions), key → value.
    Raises: ValueError for shapes that do not fit together.
    """

    images: Tensor
    captions: Tensor
    prompts: Tensor
    labels: Tensor
    ids: Tensor
    test: Tensor
    names: tuple[str, ...]
    made: dict

    def __post_init__(self):
        n, (count, p), (q, *_) = len(self.ids), (len(self.names), self.images.shape[-1]), self.prompts.shape[::-1]
        shapes = {"images": (n, p), "captions": (n, self.captions.shape[1], q), "prompts": (count, q)}
        for what, shape in (shapes | {"labels": (n, count), "test": (n,)}).items():
            if (found := tuple(getattr(self, what).shape)) != shape:
                raise ValueError(f"{what} must be {shape}, got {found}")

    def to(self, device: torch.device | str, dtype: torch.dtype = torch.float32) -> "EncodedPairs":
        """The same pairs on a device, with the features in a dtype."""
        moved = {what: getattr(self, what).to(device) for what in _TENSORS}
        return replace(self, **moved | {what: moved[what].to(dtype) for what in ("images", "captions", "prompts")})

    def part(self, rows: Tensor) -> "EncodedPairs":
        """Some of the rows, by bool or position, as in `pairs.part(~pairs.test)`."""
        return replace(self, **{what: getattr(self, what)[rows] for what in _TENSORS if what != "prompts"})

    def save(self, path: Path | str) -> None:
        """Write one npz without pickle, to a temporary file that is then moved into place."""
        arrays = {what: getattr(self, what).cpu().numpy() for what in _TENSORS}
        arrays["labels"] = np.packbits(arrays["labels"], axis=1)
        _write(Path(path), arrays | {"names": np.array(self.names), "made": np.array(json.dumps(self.made))})


def encode_pairs(
    data: Coco,
    image: Encoder,
    text: Encoder,
    *,
    captions: int = 5,
    batch: int = 32,
    dtype: torch.dtype = torch.float16,
    cache: Path | str | None = None,
    watch: Callable[[list[range]], Iterable[range]] = iter,
) -> EncodedPairs:
    """The features of every image, of its first captions and of the prompts.

    Each batch is written to its own file, which is moved into place when complete; an interrupted run continues after
    the last one. The name of the folder is the sha256 of what the features are made from (`made`), so other data,
    weights, packages or settings use another folder; the prompts have a file for each list of categories.
    Args:
        data: images with their captions and labels.
        image, text: encoders of the images and of the sentences.
        captions: per image, 1 to the smallest number that any image has.
        batch: images encoded at once, ≥ 1.
        dtype: float16 or float32.
        cache: folder for the files, by default in the user's cache folder.
        watch: wraps the list of batches still to be encoded, as a progress bar does.
    Returns: EncodedPairs on the CPU.
    Raises: ValueError for a setting outside its range, before any work; ValueError for features that are not finite;
        DataError for an image that cannot be read.
    Cost: one pass of each encoder; n·(p + c·q) numbers on disk, twice as many in memory at the end.
    """
    fewest = min(map(len, data.captions), default=0)
    if not 1 <= captions <= fewest or batch < 1 or dtype not in (torch.float16, torch.float32):
        got = f"captions={captions}, batch={batch}, dtype={dtype}"
        raise ValueError(f"captions, batch and dtype must be 1 to {fewest}, ≥ 1 and float16 or float32, got {got}")
    made = _made(data, image, text, captions, batch, dtype)
    folder = _cache(cache) / hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:24]
    folder.mkdir(parents=True, exist_ok=True)

    def encode(rows: range) -> dict[str, np.ndarray]:
        texts = [caption for row in rows for caption in data.captions[row][:captions]]
        features = text.encode(texts).unflatten(0, (len(rows), captions))
        try:
            return {"images": image.encode([data.read(row) for row in rows]), "captions": features}
        except DataError as error:
            raise DataError(f"{data.name}, images {data.ids[rows[0]]} to {data.ids[rows[-1]]}: {error}") from None

    shards = {folder / f"{k:07d}.npz": range(k, min(k + batch, len(data.ids))) for k in range(0, len(data.ids), batch)}
    left = {rows: path for path, rows in shards.items() if not path.is_file()}
    for rows in watch(list(left)):
        _write(left[rows], {what: _finite(what, found, dtype) for what, found in encode(rows).items()})
    prompts = [PROMPT.format(name) for name in data.categories]
    last = folder / f"prompts-{hashlib.sha256(json.dumps(prompts).encode()).hexdigest()[:24]}.npz"
    if not last.is_file():
        found = text.encode(prompts)
        _write(last, {"prompts": _finite("prompts", found, dtype)})
    images, texts = zip(*(_shard(path, "images", "captions") for path in shards), strict=True)
    others = (*_shard(last, "prompts"), *map(torch.from_numpy, (data.labels, data.ids, data.test)))
    return EncodedPairs(torch.cat(images), torch.cat(texts), *others, tuple(data.categories), made)


def _made(data: Coco, image: Encoder, text: Encoder, captions: int, batch: int, dtype: torch.dtype) -> dict:
    encoders = {what: [e.name, e.sum, e.made] for what, e in (("image", image), ("text", text))}
    pairs = [[k, texts[:captions]] for k, texts in zip(data.ids.tolist(), data.captions, strict=True)]
    chosen = hashlib.sha256(json.dumps(pairs).encode()).hexdigest()
    how = {"prompt": PROMPT, "captions": captions, "batch": batch, "dtype": str(dtype), "version": VERSION}
    return {"data": data.name, "sums": data.sums, "pairs": f"sha256:{chosen}"} | encoders | how


def _cache(folder: Path | str | None) -> Path:
    if folder is not None:
        return Path(folder)
    try:
        import pooch
    except ImportError:
        raise DataError("encode_pairs: install pooch, or give a folder `cache` for features") from None
    return Path(pooch.os_cache("contrastive-dynamics")) / "encoded"


def _finite(what: str, found: Tensor, dtype: torch.dtype) -> np.ndarray:
    found = found.to(dtype)
    if not bool(found.isfinite().all()):
        raise ValueError(f"{what} must be finite in {dtype}, got {found[~found.isfinite()][0]:g}")
    return found.numpy()


def _shard(path: Path, *keys: str) -> list[Tensor]:
    """Stored features; raises DataError for a damaged file, saying what to do."""
    try:
        return [torch.from_numpy(array) for array in read_npz(path.read_bytes(), list(keys))]
    except ValueError as error:
        raise DataError(f"{path}: {error}; delete it and run again") from None


def _write(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write an npz that exists either completely or not at all; parallel writers do not collide."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with aside.open("wb") as file:
            np.savez(file, **arrays)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
