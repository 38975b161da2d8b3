"""Samples of what a test run runs again, selected by the commit of this checkout."""

from functools import cache
from pathlib import Path

from ..common.draws import drawn as drawn_from
from ..common.draws import drawn_by
from ..common.sources import find_root


@cache
def commit(root: Path) -> str:
    """The commit that is checked out; without git, a digest of the sources."""
    return drawn_by(root)


def drawn(seconds: dict[str, float], budget: float, what: str, by: str | None = None) -> set[str]:
    """Names in an order determined by the commit, one after the other until the budget is spent."""
    return set(drawn_from(seconds, budget, f"{by or commit(find_root())} {what}"))
