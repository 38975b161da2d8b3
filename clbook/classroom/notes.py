"""What a teacher should look at in a submission: notes that say what was seen, not what it means."""

import ast
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from .exercises import Sheet, code_of
from .first_cell import ANSWER
from .in_sheet import defined, in_words, without_magics
from .predictions import truth_in

_ALIKE = 40  # nodes of the syntax tree that an answer has at least, for its equal to be worth a note
_FEWEST = 2  # equal answers of two students
_CHECK = re.compile(r'grader\.check\(["\']([\w-]+)["\']\)')
# what an answer has no use for, and what changes the grader has
_GRADERS = {"grader", "otter", "checks", "Grader", "gc", "inspect", "builtins", "__builtins__", "modules", "settrace"}
BOOK = "the book's solution"


def codes(notebook: bytes) -> list[str]:
    """The code cells of a notebook file."""
    return ["".join(c["source"]) for c in json.loads(notebook)["cells"] if c["cell_type"] == "code"]


def cell_notes(sheet: Sheet, notebook: bytes) -> list[str]:
    """Answers and checks of the handed-out notebook that a submission lacks or has more than once."""
    cells = codes(notebook)
    asked = [name for names in answers(sheet.student).values() for name in names]
    handed = Counter(name for cell in sheet.student.cells if cell.cell_type == "code" for name in defined(cell.source))
    given = Counter(name for source in cells for name in defined(source))
    wanted = [f'grader.check("{question}")' for question in sheet.tests]
    checks = {call: sum(source.replace("'", '"').count(call) for source in cells) for call in wanted}
    missing = [name for name in asked if given[name] < handed[name]] + [call for call in wanted if not checks[call]]
    doubled = [name for name in asked if given[name] > handed[name]] + [call for call in wanted if checks[call] > 1]
    return [f"missing: {each}" for each in missing] + [f"more than once: {each}" for each in doubled]


def answers(notebook) -> dict[str, list[str]]:
    """Question → the names that its answer cells define, of a handed-out notebook."""
    found, names = {}, []
    for cell in notebook.cells:
        if ANSWER in cell.metadata.get("tags", []):
            names += [name for source in code_of([cell]) for name in defined(source)]
        elif match := _CHECK.match(cell.source):
            found[match[1]], names = list(dict.fromkeys(names)), []
    return found


def grader_notes(sheet: Sheet, notebook: bytes, scores: dict[str, float]) -> list[str]:
    """Points without an answer, and cells that name what grades."""
    given, handed = _forms(codes(notebook)), _forms(code_of(sheet.student.cells))
    untouched = [
        question
        for question, names in answers(sheet.student).items()
        if scores.get(question) and names and all(given.get(name) == handed.get(name) for name in names)
    ]
    notes = [f"points for an answer that is as it was handed out: {', '.join(untouched)}"] if untouched else []
    theirs = {cell.source.strip() for cell in sheet.student.cells}
    for source in codes(notebook):
        if source.strip() not in theirs and not source.startswith("student = "):
            found = sorted(set(_names(_CHECK.sub("", source))) & _GRADERS)
            notes += [f"a cell names {', '.join(f'`{name}`' for name in found)}"] if found else []
    return list(dict.fromkeys(notes))


def _names(source: str) -> Iterator[str]:
    """Names, attributes and imported modules of code."""
    try:
        tree = ast.parse(without_magics(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def equal_answers(sheet: Sheet, notebooks: dict[str, list[bytes]]) -> dict[str, list[str]]:
    """Owner → notes of answers that are equal to others' or the book's but for local names, comments and layout.

    Short answers, which can hardly differ, are left out, and so is a single one that two have in common.
    """
    names = [name for each in answers(sheet.student).values() for name in each]
    holders: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    of_book = {BOOK: [code_of(sheet.solved.cells)]}
    for owner, sources in ({who: list(map(codes, each)) for who, each in notebooks.items()} | of_book).items():
        for forms in map(_forms, sources):
            for name in names:
                if (form := forms.get(name)) and form.count("(") >= _ALIKE:
                    holders[name][form].add(owner)
    handed = _forms(code_of(sheet.student.cells))
    shared: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, forms in holders.items():
        for form, owners in forms.items():
            others = {BOOK} & owners or owners  # of what is the book's, the book alone is named
            for owner in owners if form != handed.get(name) else ():
                for other in others - {owner}:
                    shared[owner][other].append(name)
    return {
        owner: [
            f"equal but for names and comments to {other}: {', '.join(same)}"
            for other, same in sorted(others.items())
            if len(same) >= _FEWEST
        ]
        for owner, others in shared.items()
        if owner != BOOK
    }


def _forms(sources: list[str]) -> dict[str, str]:
    """Name → its last definition without docstring, with local names numbered in their order."""
    found = {}
    for source in sources:
        try:
            body = ast.parse(without_magics(source)).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in body:
            for name in dict.fromkeys(defined(ast.unparse(node))):
                found[name] = _form(node)
    return found


def _form(node: ast.stmt) -> str:
    local: dict[str, str] = {}
    for each in ast.walk(node):
        if isinstance(each, ast.arg):
            local.setdefault(each.arg, f"v{len(local)}")
            each.annotation = None
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            local.setdefault(each.id, f"v{len(local)}")
        elif isinstance(each, ast.FunctionDef):
            each.returns = None
            if ast.get_docstring(each) is not None:
                each.body = each.body[1:]
    for each in ast.walk(node):
        if isinstance(each, ast.arg):
            each.arg = local[each.arg]
        elif isinstance(each, ast.Name):
            each.id = local.get(each.id, each.id)
    return ast.dump(node)


def sealed(sheet: Sheet, notebook: bytes) -> dict[str, dict]:
    """Question → `said` and `at` of the predictions that an export wrote into a notebook; damaged ones are left out."""
    kept = json.loads(notebook)["metadata"].get("clbook", {}).get("sealed")
    found = {}
    for question in _predictions(sheet):
        each = kept.get(question) if isinstance(kept, dict) else None
        said = each.get("said") if isinstance(each, dict) else None
        if isinstance(said, list) and len(said) == 3 and all(isinstance(v, int | float) for v in said):
            found[question] = {"said": [float(v) for v in said], "at": str(each.get("at"))[:19]}
    return found


def predicted(sheet: Sheet, notebook: bytes) -> dict[str, list[float]]:
    """Question → the prediction that a notebook's cells hold, where it is three numbers."""
    found = {}
    for question, about in _predictions(sheet).items():
        for source in codes(notebook):
            match = re.search(rf"^{about['variable']} = (.+?)(#.*)?$", source, re.MULTILINE)
            try:
                said = [float(each) for each in ast.literal_eval(match[1].strip())] if match else []
            except (SyntaxError, ValueError, TypeError):
                said = []
            if len(said) == 3:
                found[question] = said
    return found


def with_sealed(sheet: Sheet, notebook: bytes) -> bytes:
    """A notebook in which a sealed prediction stands before its check, so that it is what is graded."""
    content, variables, seals, cells = json.loads(notebook), _predictions(sheet), sealed(sheet, notebook), []
    for cell in content["cells"]:
        match = _CHECK.match("".join(cell["source"])) if cell["cell_type"] == "code" else None
        if match and match[1] in seals:
            source = f"{variables[match[1]]['variable']} = {tuple(seals[match[1]]['said'])}"
            cells.append({**cell, "id": f"sealed-{match[1]}", "source": source})
        cells.append(cell)
    content["cells"] = cells
    return json.dumps(content).encode("utf-8")


def prediction_notes(sheet: Sheet, notebook: bytes) -> list[str]:
    """Predictions that were not written down by a check, and those that were changed afterwards."""
    seals, said = sealed(sheet, notebook), predicted(sheet, notebook)
    free = [question for question in said if question not in seals]
    changed = [question for question in said if question in seals and said[question] != seals[question]["said"]]
    notes = [f"predictions without a time: {', '.join(free)}"] if free else []
    return notes + [f"graded as written down, changed later: {', '.join(changed)}"] * bool(changed)


def prediction_answers(sheet: Sheet, notebook: bytes) -> dict[str, str]:
    """Question → "you said …, it is …", for the page that a student gets back."""
    seals, told = sealed(sheet, notebook), {}
    for question, said in predicted(sheet, notebook).items():
        seal = seals.get(question, {"said": said, "at": ""})
        at = f" at {seal['at']}" if seal["at"] else ""
        truth = round(truth_in(sheet.tests[question]), 12)  # 0 is no 2e-16
        told[question] = f"You said {in_words(seal['said'])}{at}; it is {truth:.4g}."
    return told


def _predictions(sheet: Sheet) -> dict[str, dict[str, str]]:
    return sheet.student.metadata["clbook"]["predictions"]
