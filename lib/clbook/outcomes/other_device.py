"""A chapter run as a plain script with its tensors elsewhere, whatever device it asks for."""

from collections.abc import Iterable

from ..common.sources import ChapterFiles
from .mutants import run_script


def _use_it() -> None:
    from ..common import environment
    from ..notebook import chapter
    from .elsewhere import ELSEWHERE

    chapter.device_of = lambda wanted: str(ELSEWHERE)
    environment.device_name = str


def run_elsewhere(files: ChapterFiles, units: Iterable[int], clock: dict[int, float] | None = None) -> dict:
    """`run_script` of some units on the device elsewhere."""
    from .elsewhere import elsewhere

    with elsewhere():
        return run_script(files, (), prepare=_use_it, clock=clock, also=units)
