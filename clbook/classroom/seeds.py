"""Numbers of a sheet that a seed turns, so that a class has numbers that stand in no public file.

In a source of exercises a raw cell names them, before they are used as `{{name}}` in text, code or tests:

    # NUMBERS
    b2: 0.8, from 0.72 to 0.95 by 0.01

Seed 0 gives the first number, the book's; any other seed draws one of the others.
"""

import random
import re

from ..common.errors import BookError

_CELL = re.compile(r"^# %% \[raw\]\n# # NUMBERS\n((?:# .+\n)+)\n", re.MULTILINE)
_LINE = re.compile(r"# (\w+): (\S+), from (\S+) to (\S+) by (\S+)")
_USE = re.compile(r"\{\{(\w+)\}\}")


def with_numbers(text: str, seed: int, place: str) -> str:
    """The text of a source with the numbers of a seed; raises BookError for a line that names no range."""
    numbers = {}
    for cell in _CELL.finditer(text):
        for line in cell[1].splitlines():
            match = _LINE.fullmatch(line)
            if not match:
                raise BookError(f"{place}: a number must be as in 'b2: 0.8, from 0.72 to 0.95 by 0.01', got {line!r}")
            name, book, *grid = match.groups()
            numbers[name] = _drawn(name, book, *grid, seed)
    return _USE.sub(lambda use: numbers.get(use[1], use[0]), _CELL.sub("", text))


def _drawn(name: str, book: str, low: str, high: str, step: str, seed: int) -> str:
    """The book's number for seed 0, else one of the others of a grid, written with the digits of its step."""
    if not seed:
        return book
    digits = len(step.partition(".")[2])
    count = round((float(high) - float(low)) / float(step)) + 1
    grid = [f"{float(low) + k * float(step):.{digits}f}" for k in range(count)]
    return random.Random(f"{seed} {name}").choice([each for each in grid if float(each) != float(book)])
