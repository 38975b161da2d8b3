"""Proofs that a program checks, in `proofs/`: which claim each proves, how far, and whether it was checked as it is.

`proofs/index.yaml` says it by hand; `sum` there ties a claim's statement to what the files state, and the record
`records/proofs/log.json`, which `proofs/check.py --log` writes, says which files were found to be proved, when and by
what. Where one of the three does not fit, the proof has a `fault` and counts as none.
"""

import ast
import hashlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..common.errors import BookError
from ..common.formats import NUMBER, TEXT, Format, fault, intact, list_of, map_of, record_of, text_of
from ..common.yaml_files import yaml_of
from .plain import number

FOLDER, INDEX, LOG = "proofs", "index.yaml", Path("records") / "proofs" / "log.json"
PROGRAMS, FOUND = Path("tests") / "secondhand", Path("records") / "proofs" / "secondhand.json"
GRADES = {"whole": "whole", "in part": "in part ({} of {} steps)", "enclosed": "number enclosed"}
_ROW = {
    "type": "object",
    "required": ["files", "grade", "proved", "by_hand", "twin", "sum"],
    "properties": dict.fromkeys(("claim", "form", "proved", "by_hand", "twin", "sum"), TEXT)
    | {"files": list_of({"type": "string", "pattern": r"^\w+\.(v|py)$"}, 1), "grade": {"enum": list(GRADES)}}
    | {"steps": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}},
    "additionalProperties": False,
}
_FILE = record_of("outcome seconds said sum", **dict.fromkeys(("outcome", "said", "sum", "date", "by"), TEXT))
_FILE["properties"]["seconds"] = NUMBER
_LOG = Format(record_of("files", files=map_of(_FILE)), "`make proofs` makes it again")
_PROGRAM = record_of("claim worst within sum date", **dict.fromkeys(("claim", "sum", "date"), TEXT))
_PROGRAM["properties"] |= {"worst": NUMBER, "within": NUMBER}
_PROGRAMS = Format(record_of("files", files=map_of(_PROGRAM)), "`python tests/secondhand/run_all.py` makes it again")
_PROOF = re.compile(r"\bProof\b.*?\b(?:Qed|Defined)\.", re.S)
_COMMENT = re.compile(r"\(\*(?:(?!\(\*|\*\)).)*\*\)", re.S)


@dataclass(frozen=True)
class Proof:
    """One row of `proofs/index.yaml`.

    `claim` is an id in the whole book, or empty for what no claim states. `files` are those of the proof, the one that
    states it first. `steps` is (proved, all) of a proof in part. `form` names the form of the statement that is proved
    where it is not the printed one, such as `mended form`. `fault` is what is wrong in one line, or empty.
    """

    claim: str
    files: tuple[str, ...]
    grade: str
    proved: str
    by_hand: str
    twin: str
    steps: tuple[int, int] = (0, 0)
    form: str = ""
    checked: str = ""  # when and by what
    seconds: float = 0.0
    fault: str = ""

    @property
    def words(self) -> str:
        """What a card says: `proved: whole`, or why it is not."""
        return f"proof not accepted: {self.fault}" if self.fault else f"{self.form} proved: {self.how_far}".strip()

    @property
    def how_far(self) -> str:
        return "not accepted" if self.fault else GRADES[self.grade].format(*self.steps)


def stated(path: Path) -> str:
    """What a file states: of Coq all but comments and proofs, of Python its syntax tree, in which it is computed."""
    text = text_of(path)
    if path.suffix == ".py":
        # as Python 3.11 prints it: later ones leave out empty lists unless asked, and know parameters of types
        every = {"show_empty": True} if sys.version_info >= (3, 13) else {}
        return ast.dump(ast.parse(text), **every).replace(", type_params=[]", "")
    while _COMMENT.search(text):
        text = _COMMENT.sub(" ", text)
    return " ".join(_PROOF.sub(" ", text).split())


def sum_of(statement: str, paths: list[Path]) -> str:
    """The first digits of the sum over a claim's statement and what the files of its proof state."""
    parts = [" ".join(statement.split()), *(part for path in paths for part in (path.name, stated(path)))]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:12]


def load_proofs(root: Path, statements: Mapping[str, str]) -> list[Proof]:
    """All proofs of the book at `root`, whose claims' `statements` are given by id; none if it has no `proofs/`.

    Raises BookError if the index or the record is damaged; what does not fit is a proof's `fault`.
    """
    path = root / FOLDER / INDEX
    if not path.is_file():
        return []
    rows, _ = yaml_of(path)
    if problem := fault(rows, list_of(_ROW)):
        raise BookError(f"{FOLDER}/{INDEX}: {problem}")
    log = intact(root / LOG, _LOG)["files"] if (root / LOG).is_file() else {}
    return [_proof(root / FOLDER, row, statements, log) for row in rows]


def _proof(folder: Path, row: dict, statements: Mapping[str, str], log: Mapping[str, dict]) -> Proof:
    problem = _fault(row, [folder / name for name in row["files"]], statements, log)
    given = {key: row.get(key, "") for key in ("claim", "grade", "proved", "by_hand", "twin", "form")}
    given |= {"files": tuple(row["files"]), "steps": tuple(row.get("steps", (0, 0))), "fault": problem}
    if not problem:
        known = [log[name] for name in row["files"]]
        given["seconds"] = sum(one["seconds"] for one in known)
        given["checked"] = "; ".join(dict.fromkeys(f"{one['date']} by {one['by']}" for one in known))
    return Proof(**given)


def _fault(row: dict, paths: list[Path], statements: Mapping[str, str], known: Mapping[str, dict]) -> str:
    claim = row.get("claim", "")
    if claim and claim not in statements:
        return f"{claim} is no claim of the book"
    if missing := [path.name for path in paths if not path.is_file()]:
        return f"{', '.join(missing)} is missing"
    if (row["grade"] == "in part") != ("steps" in row):
        return "steps go with a proof in part, and with no other"
    if (now := sum_of(statements.get(claim, ""), paths)) != row["sum"]:
        return (
            f"what {claim or 'it'} or {', '.join(row['files'])} states has changed; compare them, then write sum: {now}"
        )
    for path in paths:
        one = known.get(path.name)
        if one is None or one["sum"] != hashlib.sha256(path.read_bytes()).hexdigest():
            return f"{path.name} was not checked as it stands; `make proofs` does"
        if one["outcome"] != "ok":
            return f"{path.name}: {one['outcome']}, {one['said']}"
    return ""


def second_hands(root: Path) -> dict[str, str]:
    """Claim → what a second program, written from the paper's words, found, in words; only of files as they are now."""
    programs = intact(root / FOUND, _PROGRAMS)["files"] if (root / FOUND).is_file() else {}
    said = {}
    for name, one in programs.items():
        path = root / PROGRAMS / name
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == one["sum"]:
            agrees = "agrees to" if one["worst"] <= one["within"] else "differs by"
            exactly = one["worst"] == 0 and "agrees exactly"
            line = exactly or f"{agrees} {number(one['worst'], 1)}, its method to {number(one['within'], 1)}"
            said[one["claim"]] = f"{said[one['claim']]}; again: {line}" if one["claim"] in said else line
    return said
