"""The table as HTML, which a phone can show: there a statement stands above its four squares."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from .table import ABSENT, CONDITIONS, STAYS, TRAVELS, UNDECIDED, UNREAD

MARKS = {TRAVELS: "●", CONDITIONS: "◐", STAYS: "○", UNDECIDED: "?", UNREAD: "×", ABSENT: "–"}


class Square(NamedTuple):
    """A world's word in a row, its number and its control's as text, empty if it has none; `home`: the paper's own."""

    word: str
    value: str
    control: str
    home: bool

    @property
    def html(self) -> str:
        kind = self.word.replace(" ", "-") + (" home" if self.home else "")
        control = f"<small>control {escape(self.control)}</small>" if self.control else ""
        mark = f'<b title="{self.word}" aria-label="{self.word}">{MARKS[self.word]}</b>'
        return f'<td class="{kind}">{mark} {escape(self.value)}{control}</td>'


def table_html(title: str, worlds: Sequence[str], rows: Mapping[tuple[str, str], Sequence[Square]]) -> str:
    """The table under its title.

    Args:
        title: what it says, in a sentence.
        worlds: names of the columns.
        rows: (statement, what it needs) -> a square for each world.
    Returns: HTML; the style is in `book/_static/figures.css`.
    """
    heads = "".join(f'<th scope="col">{escape(world)}</th>' for world in worlds)
    lines = (
        f'<tr><th scope="row">{escape(statement)}<small>{escape(needed)}</small></th>'
        f"{''.join(square.html for square in squares)}</tr>"
        for (statement, needed), squares in rows.items()
    )
    used = dict.fromkeys(square.word for squares in rows.values() for square in squares)
    legend = " · ".join(f"{mark} {word}" for word, mark in MARKS.items() if word in used)
    return (
        f'<table class="outcomes"><caption>{escape(title)}</caption><thead><tr><td></td>{heads}</tr></thead>'
        f'<tbody>{"".join(lines)}</tbody></table><p class="outcomes-legend">{legend}</p>'
    )
