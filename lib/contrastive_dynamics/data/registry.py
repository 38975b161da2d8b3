"""All data sets by the name that a chapter's parameter `data` takes; runs check them and `clbook doctor` lists them.

Data that a run generates or that come with a dependency need no check; each of the others has a function that checks
whether its files are present.
"""

from collections import ChainMap
from collections.abc import Callable

from . import catalogue, coco
from .catalogue import SUMS, DataError, data_folder
from .encoder_packages import LITE_ALONE, SMALL_PAIR, TRANSFORMERS, package_folder

__all__ = ["FILES", "NEEDS", "SUMS", "DataError", "check", "data_folder", "is_bundled"]


def _coco(name: str) -> None:
    """Check the files of a copy of MSCOCO, and that the packages of the encoders that read it are installed."""
    coco.check(name)
    for package in TRANSFORMERS if name == "coco-2014" else SMALL_PAIR:
        package_folder(package)  # a run meets its encoders late


def _features(name: str) -> None:
    """Check the photographs behind the features of a frozen network, and that the network's packages are installed."""
    catalogue.check("cifar10-exact")
    for package in LITE_ALONE:
        package_folder(package)


# What a run makes itself is named here, the rest where its files are: in `catalogue.SUMS` and `coco.NAMES`.
NEEDS: dict[str, Callable[[str], None] | None] = {
    **dict.fromkeys(("generated", "scenes", "digits", "coloured-digits")),
    **{name: catalogue.check if files else None for name, files in SUMS.items()},
    **dict.fromkeys(coco.NAMES, _coco),
    "cifar10-features": _features,
}

# Data set → file → checksum; a name that is not here has no files, or has some without known sums (the official COCO).
FILES = ChainMap(
    SUMS,
    {name: coco.SUMS for name in ("coco-human", "coco-labels")},
    {"cifar10-features": SUMS["cifar10-exact"]},
)


def is_bundled(name: str) -> bool:
    """Whether a data set needs no files from outside."""
    return name in NEEDS and NEEDS[name] is None


def check(name: str) -> None:
    """Check that a data set is present with its known checksums; download it if possible.

    Raises: DataError for an unknown name, or for a file that is missing or has the wrong checksum.
    """
    if name not in NEEDS:
        raise DataError(f"data set must be one of {', '.join(NEEDS)}, got {name!r}")
    if need := NEEDS[name]:
        need(name)
