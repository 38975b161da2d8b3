"""Real data sets: digits, MNIST, CIFAR-10. Every file is checked against its known checksum before it is parsed.

The files lie in `mnist/` and `cifar10/` below one folder: the folder that is passed in, or else the one that the
environment variable CONTRASTIVE_DATA names, or else the user's cache folder. A run names the data set it uses; nothing
is guessed from which files are present.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from .formats import read_batch, read_idx, read_npz

VARIABLE = "CONTRASTIVE_DATA"
MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
CIFAR_ARCHIVE = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
_BATCHES = "cifar10/cifar-10-batches-py"
_EXACT = "cifar10/cifar10_exact.npz"
_COMPACT = {"train": "cifar10/cifar10_train.npz", "test": "cifar10/cifar10_test.npz"}

# Data set → file → checksum. CIFAR-10 is published with md5 sums; the MNIST files also have their published md5 sums.
SUMS: dict[str, dict[str, str]] = {
    "generated": {},
    "digits": {},
    "mnist": {
        "mnist/train-images-idx3-ubyte.gz": "sha256:440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "mnist/train-labels-idx1-ubyte.gz": "sha256:3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "mnist/t10k-images-idx3-ubyte.gz": "sha256:8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "mnist/t10k-labels-idx1-ubyte.gz": "sha256:f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    },
    "cifar10": {
        f"{_BATCHES}/data_batch_1": "md5:c99cafc152244af753f735de768cd75f",
        f"{_BATCHES}/data_batch_2": "md5:d4bba439e000b95fd0a9bffe97cbabec",
        f"{_BATCHES}/data_batch_3": "md5:54ebc095f3ab1f0389bbae665268c751",
        f"{_BATCHES}/data_batch_4": "md5:634d18415352ddfa80567beed471001a",
        f"{_BATCHES}/data_batch_5": "md5:482c414d41f54cd18b22e5b47cb7c3cb",
        f"{_BATCHES}/test_batch": "md5:40351d587109b95175f43aff81a1287e",
    },
    "cifar10-jpeg": {
        _COMPACT["train"]: "sha256:46a2f047c9212aa01d74344b0c13ff348e12977bd1bebd12f2d19fc0ed10985b",
        _COMPACT["test"]: "sha256:c90e4a29fd171db76d7dd2125c4525eb4ec2c2ce04fbcb89b565904f3f5b6afd",
    },
    "cifar10-exact": {_EXACT: "sha256:c5bec52491213671c475751625ee70d5acdb28e9ba787b543b599b587f31936e"},
}


class DataError(ValueError):
    """A data set that cannot be used; the message names the file, what is wrong with it and what to do."""


@dataclass(frozen=True, eq=False)
class Data:
    """Images with their labels and positions, row by row.

    images: UInt8[ndarray, "n height width"], or "n height width 3" in RGB.
    labels: UInt8[ndarray, "n"], 0 to 9.
    index: Int64[ndarray, "n"], the position of each image in the official order of its split.
    """

    images: np.ndarray
    labels: np.ndarray
    index: np.ndarray


def digits() -> Data:
    """The 1797 digits of 8 × 8 pixels, values 0 to 16, that come with scikit-learn.

    Source: Alpaydin and Kaynak, Optical Recognition of Handwritten Digits (1998), test part.
    """
    from sklearn.datasets import load_digits

    found = load_digits()
    return _data("digits", found.images.astype(np.uint8), found.target.astype(np.uint8), (8, 8))


def mnist(split: str, folder: Path | str | None = None) -> Data:
    """MNIST, 28 × 28 pixels, values 0 to 255: 60000 images for `train`, 10000 for `test`, from the four idx files.

    Downloads the two files of the split if they are missing.

    Source: LeCun, Bottou, Bengio, Haffner, Gradient-Based Learning Applied to Document Recognition (1998).
    Args:
        split: `train` or `test`.
        folder: folder of the data sets; by default as in `data_folder`.
    Returns: Data.
    Raises: DataError for another split, or for a file that is missing and cannot be downloaded, has the wrong checksum
        or is malformed.
    """
    part = {"train": "train", "test": "t10k"}[_split(split)]
    images, labels = f"mnist/{part}-images-idx3-ubyte.gz", f"mnist/{part}-labels-idx1-ubyte.gz"
    pixels = _parse(read_idx, "mnist", images, folder, 3)
    return _data(images, pixels, _parse(read_idx, "mnist", labels, folder, 1), (28, 28))


# Data set of grey digits → how it is read, and its brightest pixel.
DIGITS = {"digits": (digits, 16), "mnist": (partial(mnist, "train"), 255)}


def cifar10(split: str, folder: Path | str | None = None, *, name: str = "cifar10") -> Data:
    """CIFAR-10, 32 × 32 pixels in RGB, values 0 to 255, from the copy called `name`.

    Source: Krizhevsky, Learning Multiple Layers of Features from Tiny Images (2009).
    Args:
        split: `train` or `test`.
        folder: folder of the data sets; by default as in `data_folder`.
        name: `cifar10`, the official Python batches (50000 training and 10000 test images); `cifar10-jpeg`, a JPEG copy
            of the first 20000 and 5000; `cifar10-exact`, the original pixels of 8068 and 1017.
    Returns: Data.
    Raises: DataError for another split or name, or for a file that is missing, has the wrong checksum or is malformed.
    """
    _split(split)
    if name == "cifar10":
        files = ["test_batch"] if split == "test" else [f"data_batch_{k}" for k in range(1, 6)]
        parts = [_parse(read_batch, name, f"{_BATCHES}/{file}", folder) for file in files]
        return _data(_BATCHES, *(np.concatenate(arrays) for arrays in zip(*parts, strict=True)), (32, 32, 3))
    if name == "cifar10-jpeg":
        file, keys = _COMPACT[split], ["images", "labels"]
    elif name == "cifar10-exact":
        file, keys = _EXACT, [f"{split}_images", f"{split}_labels", f"{split}_index"]
    else:
        raise DataError(f"name must be cifar10, cifar10-jpeg or cifar10-exact, got {name!r}")
    images, labels, *index = _parse(read_npz, name, file, folder, keys)
    return _data(file, images, labels, (32, 32, 3), *index)


def check(name: str, folder: Path | str | None = None) -> None:
    """Check that every file of a data set is present with its known checksum; download missing files where possible.

    `generated` and `digits` need no files.

    Args:
        name: a key of SUMS.
        folder: folder of the data sets; by default as in `data_folder`.
    Raises: DataError for an unknown name, or for a file that is missing and cannot be downloaded or has the wrong
        checksum.
    Cost: reads every file once, parses none.
    """
    if name not in SUMS:
        raise DataError(f"data set must be one of {', '.join(SUMS)}, got {name!r}")
    for file in SUMS[name]:
        _read(name, file, folder)


def data_folder(folder: Path | str | None = None) -> Path:
    """The folder that holds the data sets; raises DataError if CONTRASTIVE_DATA names a relative path."""
    if folder is not None:
        return Path(folder)
    if named := os.environ.get(VARIABLE):
        path = Path(named).expanduser()
        if not path.is_absolute():  # a chapter and the command that starts it have different working folders
            raise DataError(f"{VARIABLE}: got {named!r}, allowed is an absolute path")
        return path
    try:
        import pooch
    except ImportError:
        raise DataError(f"{VARIABLE} is not set: set it to a folder for data sets, or install pooch") from None
    return Path(pooch.os_cache("contrastive-dynamics"))


def _split(split: str) -> str:
    if split not in ("train", "test"):
        raise DataError(f"split must be train or test, got {split!r}")
    return split


def _read(name: str, file: str, folder: Path | str | None) -> bytes:
    """The content of a file, downloaded if it is missing; raises DataError unless it has its known checksum."""
    path, known = data_folder(folder) / file, SUMS[name][file]
    if not path.is_file():
        _fetch(name, path, known)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror})") from None
    kind = known.partition(":")[0]
    found = f"{kind}:{hashlib.new(kind, content, usedforsecurity=False).hexdigest()}"
    if found != known:
        raise DataError(f"{path} has the sum {found}, expected {known}; delete it, then {_advice(name, path)}")
    return content


def _parse(read: Callable, name: str, file: str, folder: Path | str | None, *how):
    """The content of a file as `read` parses it; if `read` refuses it, raises DataError with the file's name."""
    content = _read(name, file, folder)
    try:
        return read(content, *how)
    except ValueError as error:
        raise DataError(f"{file}: {error}") from None


def _advice(name: str, path: Path) -> str:
    """How a person can get the file."""
    if name == "mnist":
        return f"run again, or get it from {MNIST_MIRRORS[0]}{path.name}"
    if name == "cifar10":
        return f"unpack {CIFAR_ARCHIVE} into {path.parents[1]}"
    return f"copy it anew into {path.parent}; it is not for download, data 'cifar10' are the official files"


def _fetch(name: str, path: Path, known: str) -> None:
    """Download a missing file from a mirror; raises DataError if there is no mirror or none serves the file."""
    reasons = _download(path, known, MNIST_MIRRORS) if name == "mnist" else []
    if reasons is not None:
        failed = f" and could not be downloaded ({'; '.join(reasons)})" if reasons else ""
        raise DataError(
            f"{path} ({known}) is missing{failed}; {_advice(name, path)}; {VARIABLE} names another folder for data sets"
        )


def _download(path: Path, known: str, mirrors: tuple[str, ...]) -> list[str] | None:
    """Download from the first mirror that serves the file; returns None, or else why each mirror failed.

    The file is written elsewhere, checked against its checksum and then moved into place.
    """
    try:
        import pooch
    except ImportError:
        return ["pooch is not installed"]
    pooch.get_logger().setLevel("WARNING")  # keep stderr empty: a notebook would store it
    missing, reasons = [p for p in path.parents if not p.exists()], []
    try:
        for mirror in mirrors:
            try:
                downloader = pooch.HTTPDownloader(timeout=20)
                pooch.retrieve(mirror + path.name, known, path.name, path.parent, downloader=downloader)
                return None
            except (OSError, ValueError) as error:  # errors of requests are OSErrors; a wrong checksum is a ValueError
                reason = "wrong sum" if type(error) is ValueError else getattr(error, "strerror", None)
                reasons.append(f"{mirror}: {reason or type(error).__name__}")
        return reasons
    finally:
        for folder in missing:
            with contextlib.suppress(OSError):  # not empty: it holds the file
                folder.rmdir()


def _data(file: str, images: np.ndarray, labels: np.ndarray, size: tuple[int, ...], index=None) -> Data:
    """The images, labels and positions as Data; raises DataError unless they fit together."""
    count = len(labels)
    index = np.arange(count) if index is None else index.astype(np.int64)
    for what, array, shape in (("images", images, (count, *size)), ("labels", labels, (count,))):
        if array.shape != shape or array.dtype != np.uint8:
            raise DataError(f"{file}: {what} must be uint8 {shape}, got {array.dtype} {array.shape}")
    if index.shape != (count,) or (count and labels.max() > 9):
        raise DataError(
            f"{file}: labels must be 0 to 9 and the index must have {count} entries, "
            f"got labels up to {labels.max(initial=0)} and an index of shape {index.shape}"
        )
    return Data(images, labels, index)
