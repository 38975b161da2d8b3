"""A chapter run as a plain script with its tensors elsewhere, whatever device it asks for."""

from collections.abc import Iterable

from clbook.common.sources import ChapterFiles

from .mutants import run_script


def _use_it() -> None:
    from elsewhere import ELSEWHERE

    from clbook.common import environment
    from clbook.notebook import chapter

    chapter.device_of = lambda wanted: str(ELSEWHERE)
    environment.device_name = str


def run_elsewhere(files: ChapterFiles, units: Iterable[int], clock: dict[int, float] | None = None) -> dict:
    """`run_script` of some units on the second device."""
    from elsewhere import elsewhere

    with elsewhere():
        return run_script(files, (), prepare=_use_it, clock=clock, also=units)
