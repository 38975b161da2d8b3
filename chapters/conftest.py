"""nbval compares a card's verdict as `clbook verify` does elsewhere: where seeds decide, other rounding may leave it open.

A network that is trained for long ends elsewhere on another processor, as it does with other seeds.
"""

import functools
import re
import warnings
from pathlib import Path

from clbook.claims.claim_table import Claims
from clbook.commands.verify import may_open
from clbook.common.sources import ChapterFiles

CARD = re.compile(r"(\S+): (.+)\n<<")  # its plain text begins so


def pytest_itemcollected(item):
    if hasattr(item, "compare_outputs"):
        item.compare_outputs = functools.partial(
            compare_outputs, item.compare_outputs, item.path
        )


def compare_outputs(
    as_nbval, notebook: Path, now: list[dict], stored: list[dict]
) -> bool:
    """nbval's comparison of a cell's outputs, in which a card that may open stands for the stored one."""
    if len(now) == len(stored):
        pairs = zip(stored, now, strict=True)
        stored = [new if _opened(notebook, old, new) else old for old, new in pairs]
    return as_nbval(now, stored)


def _opened(notebook: Path, *outputs: dict) -> bool:
    """Whether the stored output and the present one are cards of a claim whose verdict rounding has opened."""
    texts = (output.get("data", {}).get("text/plain", "") for output in outputs)
    before, now = (CARD.match(text) for text in texts)
    if not (before and now) or before[1] != now[1] or before[2] == now[2]:
        return False
    files = ChapterFiles.find_notebooks(notebook.stem, notebook.parents[1])
    opened = may_open(Claims.load(files.claims).rows[now[1]], before[2], now[2])
    if opened:
        said = f"stored is {before[2]}, here {now[2]} (allowed, seeds decide it)"
        warnings.warn(f"{now[1]}: {said}", stacklevel=2)
    return opened
