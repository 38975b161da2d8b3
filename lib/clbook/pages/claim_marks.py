"""Small parts that several pages share: how a verdict looks, how verdicts are counted, where a claim stands."""

from collections import Counter
from html import escape

from ..claims.claim_table import VERDICTS
from ..common.errors import BookError
from ..common.sources import APPENDIX

STYLE = '<link rel="stylesheet" href="../_static/claims.css">'  # of a page that lists claims


def badge(verdict: str, count: int | None = None) -> str:
    """Symbol and word of a verdict (with a count), as inline HTML that needs neither colour nor our CSS."""
    if verdict not in VERDICTS:
        raise BookError(f"a verdict must be one of {', '.join(VERDICTS)}, got {verdict!r}")
    number = f"{count} " if count is not None else ""
    symbol = f'<span aria-hidden="true">{VERDICTS[verdict]}</span>'
    return f'<span class="verdict verdict-{verdict.replace(" ", "-")}">{symbol} {number}{verdict}</span>'


def counts(results: list[dict]) -> dict[str, int]:
    """Verdict → number of claims, for all verdicts in their order, zeros included; raises BookError."""
    found = Counter(result["verdict"] for result in results)
    if unknown := found.keys() - VERDICTS.keys():
        raise BookError(f"a verdict must be one of {', '.join(VERDICTS)}, got {', '.join(sorted(unknown))}")
    return {verdict: found[verdict] for verdict in VERDICTS}


def count_line(results: list[dict]) -> str:
    """All nonzero counts in one line, those of our own claims separately from those of the papers."""

    def line(some: list[dict]) -> str:
        return " ".join(badge(verdict, n) for verdict, n in counts(some).items() if n)

    ours = [result for result in results if result.get("beyond")]
    theirs = line([result for result in results if not result.get("beyond")])
    return " ".join(filter(None, [theirs, f"beyond the paper: {line(ours)}" if ours else ""])) or "no claims"


def one_line(text: object) -> str:
    """Text without line breaks, which would end a paragraph or a list item."""
    return " ".join(str(text or "").split())


def claim_name(result: dict) -> str:
    """The claim's id within its paper, as code."""
    return f"<code>{escape(result['id'].split('/')[-1])}</code>"


def row_link(result: dict, text: str = "") -> str:
    """A link to the claim's row on the claims page."""
    return f'<a href="claims.html#{result["id"]}">{text or claim_name(result)}</a>'


def chapter_link(result: dict) -> str:
    """A link from a page of `book/` to the claim's card, in the chapter or in its appendix."""
    ending = APPENDIX if result["in"] == "appendix" else ""
    address = f"../chapters/{result['chapter']}{ending}.html#{result['anchor']}"
    return f'<a href="{address}">read it in the {result["in"]}</a>'


def labelled(label: str, text: object) -> str:
    """A word in small type before a text; nothing if there is no text."""
    return f'<span class="label">{label}</span> {one_line(text)}' if text else ""
