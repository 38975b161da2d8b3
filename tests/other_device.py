"""A chapter run as a plain script with its tensors elsewhere, whatever device it asks for."""

from collections.abc import Iterable

from elsewhere import ELSEWHERE, elsewhere
from mutants import run_script

from contrastive_dynamics.book.sources import ChapterFiles


def _use_it() -> None:
    from contrastive_dynamics.book import chapter, provenance

    chapter.device_of = lambda wanted: str(ELSEWHERE)
    provenance.device_name = str


def run_elsewhere(files: ChapterFiles, units: Iterable[int], clock: dict[int, float] | None = None) -> dict:
    """`run_script` of some units on the device elsewhere."""
    with elsewhere():
        return run_script(files, (), prepare=_use_it, clock=clock, also=units)
