"""The claims page in MyST Markdown: what holds, what did not, and every claim as a line that opens, paper by paper."""

from collections.abc import Container, Mapping
from functools import partial

from ..claims.claim_table import NEGATIVE, STAND_INS
from ..notebook.claim_result import ClaimResult
from .claim_rows import citation, filter_form, row
from .claims_overview import luck_text, right_table, summary_sentence
from .template import fill
from .thumbnails import Thumbnail


def _by_paper(results: list[ClaimResult], titles: dict[str, str]) -> dict[str, list[ClaimResult]]:
    """Paper → its claims, in the order of the titles; papers without a title stand last."""
    papers: dict[str, list[ClaimResult]] = {paper: [] for paper in titles}
    for result in results:
        papers.setdefault(result.paper, []).append(result)
    return {paper: own for paper, own in papers.items() if own}


def claims_page(
    results: list[ClaimResult],
    titles: dict[str, str] | None = None,
    pictures: Mapping[str, Thumbnail] | None = None,
    surprising: Container[str] = (),
) -> str:
    """The body of the claims page.

    `titles` names papers by key, in the order of the page; `pictures` gives thumbnails by the claim's id; `surprising`
    holds the ids of those that the summaries list as surprises.
    """
    titles = titles or {}
    papers = _by_paper(results, titles)
    results = [result for own in papers.values() for result in own]

    def of(*verdicts: str) -> list[ClaimResult]:
        return [result for verdict in verdicts for result in results if result.verdict == verdict]

    page = fill(
        "claims.md",
        results=results,
        papers=papers,
        titles=titles,
        pictures=pictures or {},
        summary=summary_sentence(results),
        overview=right_table(results, titles),
        failed=of(*NEGATIVE),
        misprints=of("misprint"),
        undecided=of("undecided"),
        stand_ins=of(*STAND_INS),
        under_review=sum(result.under_review for result in results),
        luck=luck_text(results),
        filters=filter_form(results, titles, surprising),
        row=partial(row, surprising=surprising),
        citation=citation,
        example=next(iter(of("reproduced")), None),
    )
    return f"{page}\n"
