"""Samples of what a test run tries again: the commit of this checkout chooses them."""

from functools import cache
from pathlib import Path

from contrastive_dynamics.book import draws

ROOT = Path(__file__).parents[1]


@cache
def commit() -> str:
    """The commit that is checked out; without git, a digest of the sources."""
    return draws.drawn_by(ROOT)


def drawn(seconds: dict[str, float], budget: float, what: str, by: str | None = None) -> set[str]:
    """Names in an order that the commit chooses, one after the other until the budget is spent."""
    return set(draws.drawn(seconds, budget, f"{by or commit()} {what}"))
