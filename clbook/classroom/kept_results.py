"""Results that are kept in a file, so that grading that was interrupted goes on where it was."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..common.errors import BookError
from .exercises import Sheet
from .in_sheet import STOPPED
from .submission_process import Case, Question

Questions = dict[str, Question]


@dataclass
class Kept:
    """Results by what they depend on: the code of the notebook and the tests. Without a file nothing is kept."""

    path: Path | None = None
    known: dict[str, Questions] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Kept":
        """What a file has, without lines that an interruption has cut."""
        known = {}
        for line in path.read_bytes().splitlines() if path.exists() else []:
            try:
                row = json.loads(line)
                known[row["of"]] = {name: _question(each) for name, each in row["questions"].items()}
            except (ValueError, LookupError, TypeError, AttributeError):
                continue
        return cls(path, known)

    def questions(self, sheet: Sheet, notebook: bytes, run: Callable[[], Questions]) -> Questions:
        """The results that are kept, or those of `run`, which are kept from then on; raises what `run` raises.

        Results with a test case that was stopped are not kept: with more seconds it may end.
        """
        cells = [[cell["cell_type"], cell["source"]] for cell in json.loads(notebook)["cells"]]
        of = hashlib.sha256(json.dumps([cells, sheet.tests]).encode("utf-8")).hexdigest()
        if of in self.known:
            return self.known[of]
        results = run()
        if not any(said.startswith(STOPPED) for each in results.values() for case in each.cases for said in case.said):
            self.known[of] = results
            self._write({"of": of, "questions": {name: asdict(each) for name, each in results.items()}})
        return results

    def _write(self, row: dict) -> None:
        if not self.path:
            return
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(row)}\n")
        except OSError as error:
            raise BookError(f"{self.path}: cannot be written ({error.strerror})") from None


def _question(row: dict) -> Question:
    return Question(row["score"], tuple(Case(c["hidden"], c["passed"], tuple(c["said"])) for c in row["cases"]))
