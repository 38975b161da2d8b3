"""The errata page: misprints and contradictions with the run that tells the printed form from the mended one.

Misprints and contradictions are verdicts. Slips that a claims file notes beside a claim that holds are listed in
`book/errata.yaml`, in the words of that file.
"""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from ..common.errors import BookError
from .claim_marks import STYLE, badge, chapter_link, labelled, one_line, row_link
from .claim_words import arm_of, required, sentence, show_arm

_NO_CONTRADICTION = "No contradiction stands: no statement was found false with every assumption of its paper in force."
_PARTS = {
    "misprint": "A printed formula slips, the mended form holds, and no conclusion of the paper rests on the slip.",
    "contradicted": (
        "The statement fails with every assumption of its paper in force, and fails too under the strongest reading of "
        "it that we could find; the mended statement holds."
    ),
}
_HEADINGS = {"misprint": "Misprints", "contradicted": "Contradictions"}


def load_notes(root: Path) -> list[dict]:
    """The entries of `book/errata.yaml`; raises BookError for one without its fields."""
    import yaml

    path = root / "book" / "errata.yaml"
    notes = yaml.safe_load(path.read_text(encoding="utf-8")) or [] if path.is_file() else []
    for note in notes:
        if not {"claim", "words"} <= note.keys() <= {"claim", "words", "printed"}:
            raise BookError(f"book/errata.yaml: an entry must have claim, words and perhaps printed, got {note!r}")
        if note.get("printed", "control") != "control":
            raise BookError(f"book/errata.yaml: {note['claim']}: printed must be control, got {note['printed']!r}")
    return notes


def _article(result: dict, titles: dict[str, str], parts: Iterable[str]) -> str:
    """One entry: a heading, its parts and links, with the claim's id as the anchor."""
    label, title = escape(result["id"]), escape(titles.get(result["paper"], result["paper"]))
    head = f'<article class="erratum" id="{label}"><h3>{title}, {escape(one_line(result["locator"]))}</h3>'
    links = f'<a href="#{label}">address of this entry</a> · {chapter_link(result)} · {row_link(result, "the claim")}'
    return "\n\n".join([head, *filter(None, parts), f'<p class="claim-links">{links}</p></article>'])


def _advocate(result: dict) -> str:
    what, cases = arm_of(result, "advocate")
    if what:
        return f"{what}: {show_arm(cases)}" if cases else what
    return "nothing that the paper concludes rests on the printed form"


def _control(result: dict) -> str:
    what, cases = arm_of(result, "control")
    return f"{what}: {show_arm(cases)}" if cases else ""


def _told_apart(result: dict, printed: object, mended: object) -> str:
    """What is measured, what was required of it, and what each of the two forms gives."""
    return (
        f"{sentence(result['statistic'])}. Required was {required(result)}; the printed form gives "
        f"{show_arm(printed)}, the mended one {show_arm(mended)}."
    )


def _entry(result: dict, titles: dict[str, str]) -> str:
    """One misprint or contradiction: both forms, the run with its numbers, and the authors' side."""
    parts = [
        labelled("printed", result["statement"]),
        labelled("mended", result["reason"]),
        labelled("the run that tells them apart", _told_apart(result, result["observed"], result.get("mended"))),
        labelled("setting", result.get("regime")),
        labelled("control", _control(result)),
        labelled("the authors' side", _advocate(result)),
    ]
    return _article(result, titles, parts)


def _note(note: dict, results: dict[str, dict], titles: dict[str, str]) -> str:
    """A slip noted beside a claim, in the words of the claims file; raises BookError where they are not there."""
    if (result := results.get(note["claim"])) is None:
        raise BookError(f"book/errata.yaml: no claim {note['claim']}")
    if note["words"] not in (result.get("note") or ""):
        raise BookError(f"book/errata.yaml: {note['claim']}: its note does not say {note['words']!r}")
    told = "none is needed: it is seen on reading"
    if note.get("printed"):
        told = _told_apart(result, arm_of(result, "control")[1], result["observed"])
    parts = [
        labelled("noted", note["words"]),
        labelled("the run that tells them apart", told),
        f"{labelled('the claim itself', result['statement'])} {badge(result['verdict'])}",
    ]
    return _article(result, titles, parts)


def _bounds(results: list[dict], titles: dict[str, str]) -> list[str]:
    """Claims that hold in a stated range and have a form that holds beyond it."""
    found = [r for r in results if r["verdict"] == "with conditions" and r.get("mended")]
    if not found:
        return []
    return [
        "## Statements whose range can be added",
        "These are no slips: each holds as printed in a range that can be named, and beyond it with a small change.",
        *(_bound(result, titles) for result in found),
    ]


def _bound(result: dict, titles: dict[str, str]) -> str:
    run = (
        f"{result['statistic']}; in the range {show_arm(result['observed'])}, the mended form beyond it "
        f"{show_arm(result['mended'])}, where {required(result)} was required"
    )
    parts = [
        labelled("printed", result["statement"]),
        labelled("holds for", result["reason"]),
        labelled("the run", run),
    ]
    return _article(result, titles, parts)


def errata_page(results: list[dict], notes: Sequence[dict] = (), titles: dict[str, str] | None = None) -> str:
    """The body of the errata page, from the dictionaries of `results.load_results` and the notes of `load_notes`."""
    titles, by_id = titles or {}, {result["id"]: result for result in results}
    parts = [STYLE]
    for verdict, heading in _HEADINGS.items():
        found = [_entry(r, titles) for r in results if r["verdict"] == verdict]
        if found:
            parts += [f"## {heading}", _PARTS[verdict], *found]
        elif verdict == "contradicted":
            parts += [f"## {heading}", _NO_CONTRADICTION]
    if notes:
        parts += [
            "## Slips noted in passing",
            "These stand beside claims that hold. The words are those of our list of claims.",
            *(_note(note, by_id, titles) for note in notes),
        ]
    parts += _bounds(results, titles)
    review = sum((r.get("reason") or "").startswith("under review") for r in results)
    if review:
        parts += [
            "## What is not here",
            f"{review} further claims miss their rule but are under review: the reading under which their authors are "
            "right has not been run yet, so nothing on them is said here. They stand on the "
            "[claims page](claims.md) as undecided.",
        ]
    return "\n\n".join(parts) + "\n"
