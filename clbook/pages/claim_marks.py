"""Small parts that several pages share: how a verdict looks, how verdicts are counted, where a claim stands.

What a page takes from a record, a claims file or a profile is text. `in_html` and `in_markdown` make it harmless; what
is HTML already, because this book writes it, is of the type `Html`.
"""

import re
from collections import Counter
from collections.abc import Iterable
from html import escape

from ..claims.claim_table import STAND_INS, VERDICTS
from ..common.errors import BookError
from ..common.sources import APPENDIX
from ..notebook.claim_result import ClaimResult

_SET = re.compile(r"(\$[^$]+\$|`[^`]+`)")  # what Markdown sets itself
_TAG = re.compile("<(?=[A-Za-z/!?])")  # what may begin one
_LETTER = r"[^\W\d_¹²³⁰-₉ᵀ]"
_ITEM = rf"\{{[^{{}}]+\}}|\([^()]+\)|-?\d+|{_LETTER}{{1,2}}(?:,\w)?(?!{_LETTER})"  # a group, a number, a letter or two
_MOVED = re.compile(rf"(?<!{_LETTER}{{2}})(?<=[^\s_^])(?P<sign>[_^])(?P<item>{_ITEM})")  # behind a single letter


class Html(str):
    """Text that is HTML or Markdown already; the templates, too, take it as it is."""

    def __html__(self) -> str:
        return self


STYLE = Html('<link rel="stylesheet" href="../_static/claims.css">')  # of a page that lists claims


def in_html(text: object) -> Html:
    """Text in one line for an element or an attribute of HTML; `Html` stays as it is."""
    return Html(text if hasattr(text, "__html__") else escape(_flat(text)))


def in_markdown(text: object) -> Html:
    """Text in one line for a Markdown page, with its formulas and code but without a tag; `Html` stays as it is.

    A tag begins with `<`; a directive, which can name files, with a line. In a formula `\\lt` takes the place of what
    may begin a tag, so that it does no harm either where Markdown sees no formula.
    """
    if hasattr(text, "__html__"):
        return Html(text)

    def harmless(part: str) -> str:
        if part.startswith("$") and len(part) > 2:
            return _TAG.sub(r"\\lt ", part)
        if part.startswith("`") and len(part) > 2 and "<" in part:
            return f"<code>{escape(part[1:-1])}</code>"
        return part.replace("<", "&lt;")

    return Html("".join(map(harmless, _SET.split(_flat(text)))))


def badge(verdict: str, count: int | None = None) -> Html:
    """Symbol and word of a verdict (with a count), as inline HTML that needs neither colour nor our CSS."""
    if verdict not in VERDICTS:
        raise BookError(f"a verdict must be one of {', '.join(VERDICTS)}, got {verdict!r}")
    number = f"{count} " if count is not None else ""
    symbol = f'<span aria-hidden="true">{VERDICTS[verdict]}</span>'
    return Html(f'<span class="verdict verdict-{verdict.replace(" ", "-")}">{symbol} {number}{verdict}</span>')


def counts(verdicts: Iterable[str]) -> dict[str, int]:
    """Verdict → how often it occurs, for all verdicts in their order, zeros included; raises BookError."""
    number = Counter(verdicts)
    if unknown := number.keys() - VERDICTS.keys():
        raise BookError(f"a verdict must be one of {', '.join(VERDICTS)}, got {', '.join(sorted(unknown))}")
    return {verdict: number[verdict] for verdict in VERDICTS}


def count_line(results: Iterable[ClaimResult]) -> Html:
    """All nonzero counts in one line; those on stand-ins, and those of our own claims, stand apart."""
    return verdict_line((result.verdict, result.claim.beyond) for result in results)


def verdict_line(verdicts: Iterable[tuple[str, bool]]) -> Html:
    """As `count_line`, from verdicts and whether each is on a claim of our own."""

    def line(words: list[str]) -> str:
        return " ".join(badge(verdict, n) for verdict, n in counts(words).items() if n)

    verdicts = list(verdicts)
    theirs, ours = ([verdict for verdict, beyond in verdicts if beyond == own] for own in (False, True))
    stand_ins = [verdict for verdict in theirs if verdict in STAND_INS]
    parts = [line([verdict for verdict in theirs if verdict not in STAND_INS])]
    parts += [f"on stand-ins: {line(stand_ins)}"] * bool(stand_ins)
    parts += [f"beyond the paper{'' if theirs else 's'}: {line(ours)}"] * bool(ours)
    return Html(" ".join(filter(None, parts)) or "no claims")


def one_line(text: object) -> str:
    """Text without line breaks, which would end a paragraph or a list item; `Html` stays `Html`."""
    line = _flat(text or "")
    return Html(line) if hasattr(text, "__html__") else line


def _flat(text: object) -> str:
    return " ".join(str(text).split())


def typeset(text: str) -> Html:
    """Text in Markdown with indices and powers as HTML where it has them as typed, `p_0` or `z^{-1/2}`.

    Names of code stay; whatever else may be HTML in the text is escaped, see `in_markdown`.
    """

    def moved(match: re.Match) -> str:
        tag = "sub" if match["sign"] == "_" else "sup"
        item = match["item"][1:-1] if match["item"][0] in "{(" else match["item"]
        return f"<{tag}>{item.replace('-', '−')}</{tag}>"

    parts = _SET.split(in_markdown(text))
    return Html("".join(part if k % 2 else _MOVED.sub(moved, part) for k, part in enumerate(parts)))


def row_link(result: ClaimResult, text: str = "") -> Html:
    """A link to the claim's row on the claims page; without a text, by the claim's id within its paper."""
    text = in_html(text) or f"<code>{in_html(result.claim.id)}</code>"
    return Html(f'<a href="claims.html#{in_html(result.id)}">{text}</a>')


def chapter_link(result: ClaimResult) -> Html:
    """A link from a page of `book/` to the claim's card, in the chapter or in its appendix."""
    place = result.claim.place
    address = f"../chapters/{result.chapter}{APPENDIX if place == 'appendix' else ''}.html#{result.claim.id}"
    return Html(f'<a href="{in_html(address)}">read it in the {place}</a>')


def labelled(label: str, text: object) -> Html:
    """A word in small type before a text; nothing if there is no text."""
    return Html(f'<span class="label">{label}</span> {typeset(one_line(text))}' if text else "")
