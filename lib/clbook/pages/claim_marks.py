"""Small parts that several pages share: how a verdict looks, how verdicts are counted, where a claim stands."""

import re
from collections import Counter
from collections.abc import Iterable
from html import escape

from ..claims.claim_table import VERDICTS
from ..common.errors import BookError
from ..common.sources import APPENDIX
from ..notebook.claim_result import ClaimResult

STYLE = '<link rel="stylesheet" href="../_static/claims.css">'  # of a page that lists claims
_SET = re.compile(r"(\$[^$]+\$|`[^`]+`)")  # what Markdown sets itself
_LETTER = r"[^\W\d_¹²³⁰-₉]"
_ITEM = rf"\{{[^{{}}]+\}}|\([^()]+\)|-?\d+|{_LETTER}{{1,2}}(?:,\w)?(?!{_LETTER})"  # a group, a number, a letter or two
_MOVED = re.compile(rf"(?<!{_LETTER}{{2}})(?<=[^\s_^])(?P<sign>[_^])(?P<item>{_ITEM})")  # behind a single letter


def badge(verdict: str, count: int | None = None) -> str:
    """Symbol and word of a verdict (with a count), as inline HTML that needs neither colour nor our CSS."""
    if verdict not in VERDICTS:
        raise BookError(f"a verdict must be one of {', '.join(VERDICTS)}, got {verdict!r}")
    number = f"{count} " if count is not None else ""
    symbol = f'<span aria-hidden="true">{VERDICTS[verdict]}</span>'
    return f'<span class="verdict verdict-{verdict.replace(" ", "-")}">{symbol} {number}{verdict}</span>'


def counts(verdicts: Iterable[str]) -> dict[str, int]:
    """Verdict → how often it occurs, for all verdicts in their order, zeros included; raises BookError."""
    number = Counter(verdicts)
    if unknown := number.keys() - VERDICTS.keys():
        raise BookError(f"a verdict must be one of {', '.join(VERDICTS)}, got {', '.join(sorted(unknown))}")
    return {verdict: number[verdict] for verdict in VERDICTS}


def count_line(results: Iterable[ClaimResult]) -> str:
    """All nonzero counts in one line, those of our own claims separately from those of the papers."""
    return verdict_line((result.verdict, result.claim.beyond) for result in results)


def verdict_line(verdicts: Iterable[tuple[str, bool]]) -> str:
    """As `count_line`, from verdicts and whether each is on a claim of our own."""

    def line(words: list[str]) -> str:
        return " ".join(badge(verdict, n) for verdict, n in counts(words).items() if n)

    verdicts = list(verdicts)
    theirs, ours = ([verdict for verdict, beyond in verdicts if beyond == own] for own in (False, True))
    return " ".join(filter(None, [line(theirs), f"beyond the paper: {line(ours)}" if ours else ""])) or "no claims"


def one_line(text: object) -> str:
    """Text without line breaks, which would end a paragraph or a list item."""
    return " ".join(str(text or "").split())


def typeset(text: str) -> str:
    """Text with indices and powers as HTML where it has them as typed, `p_0` or `z^{-1/2}`; names of code stay."""

    def moved(match: re.Match) -> str:
        tag = "sub" if match["sign"] == "_" else "sup"
        item = match["item"][1:-1] if match["item"][0] in "{(" else match["item"]
        return f"<{tag}>{item.replace('-', '−')}</{tag}>"

    parts = _SET.split(text)
    return "".join(part if k % 2 else _MOVED.sub(moved, part) for k, part in enumerate(parts))


def row_link(result: ClaimResult, text: str = "") -> str:
    """A link to the claim's row on the claims page; without a text, by the claim's id within its paper."""
    text = text or f"<code>{escape(result.claim.id)}</code>"
    return f'<a href="claims.html#{result.id}">{text}</a>'


def chapter_link(result: ClaimResult) -> str:
    """A link from a page of `book/` to the claim's card, in the chapter or in its appendix."""
    place = result.claim.place
    address = f"../chapters/{result.chapter}{APPENDIX if place == 'appendix' else ''}.html#{result.claim.id}"
    return f'<a href="{address}">read it in the {place}</a>'


def labelled(label: str, text: object) -> str:
    """A word in small type before a text; nothing if there is no text."""
    return f'<span class="label">{label}</span> {typeset(one_line(text))}' if text else ""
