"""A committed chapter as tests read it: source, executed notebook, claims, and what its checked cells print."""

import re
from dataclasses import dataclass
from functools import cached_property

import nbformat

from clbook.claims.claim_table import VERDICTS, Claims
from clbook.claims.judging import NOT_JUDGED, Reading, judge
from clbook.common.sources import ChapterFiles
from clbook.notebook.shown import code_cells, stamp_of

CHECKED = "nbval-check-output"
_WORDS = "|".join(map(re.escape, VERDICTS))
_PRINTED = re.compile(rf"^(?P<id>[\w.-]+): (?P<word>{_WORDS})(?:$| \|)", re.MULTILINE)


@dataclass(frozen=True)
class Committed:
    """A committed chapter: its source, its executed notebook, its claims and the result stored in the notebook."""

    files: ChapterFiles

    @cached_property
    def notebook(self) -> nbformat.NotebookNode:
        return nbformat.read(self.files.notebook, as_version=4)

    @cached_property
    def code(self) -> list[nbformat.NotebookNode]:
        return code_cells(self.notebook)

    @cached_property
    def claims(self) -> Claims:
        return Claims.load(self.files.claims)

    @cached_property
    def stamp(self) -> dict | None:
        return stamp_of(self.notebook)

    @cached_property
    def readings(self) -> dict[str, Reading]:
        """Stored readings of claims that still have a rule in the YAML."""
        stored = self.stamp["readings"] if self.stamp else {}
        rows = self.claims.rows
        return {i: Reading.of(**arms) for i, arms in stored.items() if i in rows and rows[i].rule}

    def word(self, claim: str) -> str:
        """The verdict on the stored values by the present rules."""
        return judge(self.claims.rows[claim], self.readings[claim], self.stamp["data"]).verdict

    @property
    def _texts(self) -> list[str]:
        """The text of every output of the checked cells."""
        cells = [cell for cell in self.code if CHECKED in cell.metadata.get("tags", [])]
        outputs = [output for cell in cells for output in cell.outputs]
        return [output.get("data", {}).get("text/plain", "") or output.get("text", "") for output in outputs]

    def printed(self) -> list[tuple[str, str]]:
        """(claim, verdict) as the checked cells show them."""
        found = [(match["id"], match["word"]) for text in self._texts for match in _PRINTED.finditer(text)]
        return [(claim, word) for claim, word in found if word != NOT_JUDGED]

    def not_judged(self) -> set[str]:
        """Claims whose regime the committed run does not reach, as the checked cells show them."""
        return {text.partition(":")[0] for text in self._texts if f": {NOT_JUDGED}\n" in text}
