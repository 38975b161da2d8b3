"""The claims page in MyST Markdown: what holds, what did not, and every claim as a line that opens, paper by paper."""

from collections.abc import Mapping

from .claim_marks import STYLE, count_line
from .claim_rows import citation, filter_form, row
from .claims_overview import did_not_hold, luck_text, right_table, summary_sentence
from .thumbnails import Thumbnail

_SCRIPT = '<script src="../_static/claims.js"></script>'
_CITE = """## Cite one claim

Every claim has an address, `claims.html#` and its id: `claims.html#{id}`. To cite one, cite its paper for the
statement and this book for the verdict, and give the id with the reading, which names the very run and code:

> Contrastive-learning dynamics, executed, claim {example}.

The line "cite as" of each claim has both. `clbook verify` computes a reading again. All of this page is also there
as <a href="claims.json">claims.json</a> (everything) and <a href="claims.csv">claims.csv</a> (one row per claim)."""


def _by_paper(results: list[dict], titles: dict[str, str]) -> dict[str, list[dict]]:
    """Paper → its claims, in the order of the titles; papers without a title stand last."""
    found: dict[str, list[dict]] = {}
    for result in results:
        found.setdefault(result["paper"], []).append(result)
    places = {paper: place for place, paper in enumerate(titles)}
    return dict(sorted(found.items(), key=lambda item: places.get(item[0], len(places))))


def _section(paper: str, title: str, results: list[dict], pictures: Mapping[str, Thumbnail]) -> str:
    rows = [row(result, pictures.get(result["id"])) for result in results]
    return "\n\n".join([f"### {title}", f"{{cite:t}}`{paper}`: {count_line(results)}", *rows])


def claims_page(
    results: list[dict],
    titles: dict[str, str] | None = None,
    pictures: Mapping[str, Thumbnail] | None = None,
) -> str:
    """The body of the claims page, from the dictionaries of `results.load_results`.

    `titles` names papers by key, in the order of the page; `pictures` gives thumbnails by the claim's id.
    """
    titles, pictures = titles or {}, pictures or {}
    papers = _by_paper(results, titles)
    results = [result for own in papers.values() for result in own]
    example = next((result for result in results if result["verdict"] == "reproduced"), None)
    parts = [
        STYLE,
        f"{len(results)} claims: {count_line(results)}",
        "## What the papers get right",
        summary_sentence(results),
        right_table(results, titles),
        *did_not_hold(results, titles),
        luck_text(results),
        "## Every claim",
        "Each line is one claim; it opens to what was measured, the rule, the control and the run.",
        filter_form(results, titles),
        *(_section(paper, titles.get(paper, paper), own, pictures) for paper, own in papers.items()),
        _SCRIPT,  # right below the rows, whose formulas it reads before MathJax draws them
        _CITE.format(id=example["id"], example=citation(example)) if example else "",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"
