"""One claim as one line that opens to the rest, and the form that filters these lines where a browser runs scripts."""

from collections import Counter
from collections.abc import Container

from ..claims.claim_table import Claim
from ..claims.judging import CONDITIONS
from ..claims.plain import as_html
from ..notebook.claim_result import ClaimResult
from ..provenance.library import line_behind
from .claim_marks import Html, badge, in_html, typeset
from .claim_words import explanation, show_arm, show_intervals
from .proof_words import explained, grade
from .template import fill
from .thumbnails import Thumbnail

FILTERS = {
    "paper": "paper",
    "verdict": "verdict",
    "kind": "kind",
    "data": "data",
    "beyond": "whose claim",
    "proof": "proof",
}
_OURS = {"yes": "beyond the paper", "no": "the paper's"}
_CORRECTED = ("misprint", "contradicted")


def facets(result: ClaimResult) -> dict[str, str]:
    """The value of each filter for a claim."""
    claim = result.claim
    values = (
        result.paper,
        result.verdict,
        claim.kind,
        result.data,
        "yes" if claim.beyond else "no",
        grade(result.proof),
    )
    return dict(zip(FILTERS, values, strict=True))


def _seeds(result: ClaimResult) -> str:
    if not result.claim.seeds_decide or not result.seeds:
        return ""
    first, last = result.seeds
    return str(first) if first == last else f"{first} to {last}"


def _agreement(result: ClaimResult) -> str:
    """Which verdicts the blocks of seeds give, the run's own among them, and the size of those that have another."""
    if not result.recurs:
        return ""
    words = Counter(word for verdicts in result.recurs.values() for word in verdicts)
    found = ", ".join(f"{word} in {count} of {words.total()}" for word, count in words.items())
    sizes = ", ".join(f"{len(verdicts)} of the size {profile}" for profile, verdicts in result.recurs.items())
    return f"{found} blocks of seeds{f' ({sizes})' if len(result.recurs) > 1 else ''}"


def _other_runs(result: ClaimResult) -> Html:
    others = (run for run in result.verdicts if run.profile != result.profile)
    return Html(
        "; ".join(
            f"{in_html(f'{run.profile}, {run.data}')}: {badge(run.verdict)}{' (older code)' if run.stale else ''}"
            for run in others
        )
    )


def _with_note(text: str, note: str) -> str:
    """A text with what it is, or why, in brackets."""
    return f"{text}{f' ({note})' if note else ''}".strip()


def _behind(claim: Claim) -> Html:
    """The line of a kernel with which the claim was tried: broken, it turns the verdict."""
    found = line_behind(claim.breaks[0]["in"], claim.breaks[0]["old"]) if claim.breaks else None
    if found is None:
        return Html("")
    link = f'<a href="{in_html(found.address)}"><code>{in_html(found.function)}</code></a>'
    return Html(f"<code>{in_html(found.line)}</code> in {link}")


def _changes(changes: tuple[dict, ...]) -> str:
    form = "{date}: {why}. Before, the rule was {old_rule}, the verdict {old_verdict}"
    return "; ".join(form.format(**change) for change in changes)


def _details(result: ClaimResult) -> list[tuple[str, str]]:
    """Everything behind the line: label and text of each paragraph, which is left out where there is no text."""
    claim = result.claim
    if result.run is None:
        return [("needs", claim.needs or result.reason)]
    why = explanation(result)
    advocate = _with_note(show_arm(result.arm("advocate")), claim.advocate) if claim.advocate else ""
    return [
        ("why", why if result.verdict != "reproduced" else ""),
        ("what is measured", claim.statistic),
        ("setting", claim.regime),
        ("measured", show_arm(result.arm("observed"))),
        ("interval", show_intervals(result.interval)),
        ("rule", _with_note(str(claim.rule or ""), claim.tolerance_reason)),
        ("expected", claim.expected),
        # of a claim that is open, a form that meets the rule is no correction of the paper
        ("mended form" if result.verdict in _CORRECTED else "another form", show_arm(result.arm("mended"))),
        ("the authors' side", advocate),
        ("control", _with_note(show_arm(result.arm("control")), claim.control)),
        ("the line behind it", _behind(claim)),
        ("proof", explained(result.proof, "../proofs/")),
        ("by another hand", result.second_hand),
        ("note", claim.note),
        ("rule changed", _changes(claim.changed)),
        ("run", f"{result.profile}, {result.data}{', made by older code' if result.stale else ''}"),
        ("seeds", _seeds(result)),
        ("blocks of seeds", _agreement(result)),
        ("other runs", _other_runs(result)),
    ]


def citation(result: ClaimResult) -> Html:
    """What names a claim and its run: the id and the first digits of the reading's digest."""
    reading = ((result.run or {}).get("reading") or "")[:12]
    return in_html(f"{result.id}, reading {reading}" if reading else result.id)


def row(result: ClaimResult, picture: Thumbnail | None = None, surprising: Container[str] = ()) -> Html:
    """One claim in MyST Markdown: an HTML `details` whose summary is one line, with its id as the anchor.

    `surprising` holds the ids of claims that a chapter's summary lists as surprises.
    """
    surprise = {"surprise": "yes"} if result.id in surprising else {}
    parts = {"facets": facets(result) | surprise, "details": _details(result), "citation": citation(result)}
    parts |= {
        "found": typeset(Html(" ".join(map(as_html, result.sentences)))),
        "condition": CONDITIONS.get(result.condition, ""),
    }
    return fill("claim-row.md", result=result, picture=picture, **parts)


def filter_form(results: list[ClaimResult], titles: dict[str, str], surprising: Container[str] = ()) -> Html:
    """Search and filters; hidden until the script that serves them shows them; a box for `surprising` claims."""
    values = [facets(result) for result in results]
    words = {"paper": titles, "beyond": _OURS}

    def options(key: str) -> dict[str, str]:
        return {"": "all"} | {own[key]: words.get(key, {}).get(own[key], own[key]) for own in values}

    filters = [(key, word, options(key)) for key, word in FILTERS.items()]
    return fill("claim-filters.html", filters=filters, box=any(result.id in surprising for result in results))
