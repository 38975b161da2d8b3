"""Parameters that contradict each other, found by the chapter's own checks before its kernel starts."""

import tempfile
from pathlib import Path

from ..common.apart import TookTooLong, apart
from ..common.errors import BookError
from ..common.sources import ChapterFiles
from ..notebook.pieces import Keeper
from ..provenance.slices import Story
from ..provenance.units import CHAPTER
from .script import as_script, timed_unit

_LIMIT = 120.0  # seconds, most of them for imports; what is not checked by then fails in the run's first seconds


def check_together(files: ChapterFiles, parameters: list[dict], among: list[int] | None = None) -> None:
    """Make a chapter's calls of `chapter.check` with each set of parameters; raises BookError for the first refusal.

    This needs what the calls need, such as a data set's labels, but no cell that measures anything. It runs in a
    process of its own. Whatever else goes wrong there is left to the run, which reports it.

    among: the units that the run executes; None means all.
    """
    story = Story(files)
    checks = [n for n in _checks(story) if among is None or n in among]
    if not checks or not parameters:
        return
    try:
        refused = apart(_refusal, files, parameters, checks, seconds=_LIMIT)
    except (TookTooLong, EOFError):
        return
    if refused:
        raise BookError(refused)


def _checks(story: Story) -> list[int]:
    return [n for n, unit in enumerate(story.units) if f"{CHAPTER}.check(" in unit.source]


def _refusal(files: ChapterFiles, sets: list[dict], checks: list[int]) -> str | None:
    """What the chapter says of the first set of parameters that it refuses."""
    story = Story(files)
    needed = sorted({m for n in checks for m in story.needed(n)} | set(checks))
    with tempfile.TemporaryDirectory(prefix="clbook-") as scratch:
        said = (_refusal_of_one(story, needed, one, Keeper(Path(scratch), float("inf"))) for one in sets)
        return next(filter(None, said), None)


def _refusal_of_one(story: Story, units: list[int], parameters: dict, keeper: Keeper) -> str | None:
    try:
        with as_script(story.files, "custom", keeper):
            for some in story.by_notebook(units):
                namespace = story.namespace(parameters)
                for n in some:
                    timed_unit(story, n, namespace, keeper)
    except BookError as error:
        return None if error.__cause__ else str(error)  # a failure of another kind is left to the run
    except Exception:
        pass
    return None
