"""A chapter run as a plain script with its tensors elsewhere, whatever device it asks for."""

from collections.abc import Iterable
from unittest import mock

from clbook.common import environment
from clbook.common.sources import ChapterFiles
from clbook.notebook import chapter

from .mutants import run_script


def run_elsewhere(files: ChapterFiles, units: Iterable[int], clock: dict[int, float] | None = None) -> dict:
    """`run_script` of some units on the device elsewhere."""
    from elsewhere import ELSEWHERE, elsewhere

    with (
        elsewhere(),
        mock.patch.object(chapter, "device_of", lambda wanted: str(ELSEWHERE)),
        mock.patch.object(environment, "device_name", str),
    ):
        return run_script(files, (), clock=clock, also=units)
