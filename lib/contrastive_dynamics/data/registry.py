"""Every data set by the name that a chapter's parameter `data` has: a new one is added here and nowhere else.

What a run makes by itself or a dependency ships needs nothing; of the others a function checks that they are here.
"""

from collections.abc import Callable

from . import catalogue, coco

NEEDS: dict[str, Callable[[str], None] | None] = {
    "generated": None,
    "scenes": None,
    "digits": None,
    "coloured-digits": None,
    "mnist": catalogue.check,
    "cifar10": catalogue.check,
    "cifar10-jpeg": catalogue.check,
    "cifar10-exact": catalogue.check,
    "coco-human": coco.check,
    "coco-labels": coco.check,
    "coco-2014": coco.check,
}


def comes_along(name: str) -> bool:
    """Whether a data set needs no file from outside."""
    return name in NEEDS and NEEDS[name] is None


def check(name: str) -> None:
    """A data set is here, or is fetched now, with its known sums.

    Raises: DataError for an unknown name, and for a file that is missing or has another sum.
    """
    if name not in NEEDS:
        raise catalogue.DataError(f"no data set {name!r}, allowed are {', '.join(NEEDS)}")
    if need := NEEDS[name]:
        need(name)
