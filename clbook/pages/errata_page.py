"""The errata page: misprints and contradictions with the run that tells the printed form from the mended one.

Misprints and contradictions are verdicts. Slips that a claims file notes beside a claim that holds are listed in
`book/errata.yaml`, in the words of that file.
"""

from collections.abc import Sequence
from pathlib import Path

from ..common.errors import BookError
from ..common.yaml_files import yaml_of
from ..notebook.claim_result import ClaimResult
from .template import fill


def load_notes(root: Path) -> list[dict]:
    """The entries of `book/errata.yaml`; raises BookError for one without its fields."""
    path = root / "book" / "errata.yaml"
    notes = yaml_of(path)[0] or [] if path.is_file() else []
    for note in notes:
        if not {"claim", "words"} <= note.keys() <= {"claim", "words", "printed"}:
            raise BookError(f"book/errata.yaml: an entry must have claim, words and perhaps printed, got {note!r}")
        if note.get("printed", "control") != "control":
            raise BookError(f"book/errata.yaml: {note['claim']}: printed must be control, got {note['printed']!r}")
    return notes


def _noted(note: dict, results: dict[str, ClaimResult]) -> ClaimResult:
    """The claim beside which a slip is noted; raises BookError where its note has other words."""
    if (result := results.get(note["claim"])) is None:
        raise BookError(f"book/errata.yaml: no claim {note['claim']}")
    if note["words"] not in result.claim.note:
        raise BookError(f"book/errata.yaml: {note['claim']}: its note does not say {note['words']!r}")
    return result


def errata_page(results: list[ClaimResult], notes: Sequence[dict] = (), titles: dict[str, str] | None = None) -> str:
    """The body of the errata page; `notes` are those of `load_notes`."""
    by_id = {result.id: result for result in results}
    page = fill(
        "errata.md",
        results=results,
        titles=titles or {},
        notes=[(note, _noted(note, by_id)) for note in notes],
        # claims that hold in a stated range and have a form that holds beyond it
        bounds=[result for result in results if result.verdict == "with conditions" and result.arm("mended")],
        under_review=sum(result.under_review for result in results),
    )
    return f"{page}\n"
