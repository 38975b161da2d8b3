"""Four floors: chapters → experiments → `clbook` and kernels; of the kernels `clbook` needs the list of data sets.

Inside the kernels papers' rooms import shared rooms, both import what is compiled, and no room another paper's; the
testbed, where they meet, imports any. A chapter's experiments import no other chapter's. No circle anywhere. `clbook`
imports torch only when it runs.
"""

import ast
import graphlib
import io
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

import pytest

from clbook.common import project
from clbook.provenance.library import FOLDERS, OWN

PACKAGE, EXPERIMENTS, WORKSHOP = *project.packages(), "clbook"
PLACES = FOLDERS | {WORKSHOP: OWN}
SHARED, COMPILED = {"data", "losses", "numerics"}, "compiled"  # what is compiled imports its own room alone
PAPERS = {"collapse_and_constraints", "alignment_and_balance", "nonlinearity", "feature_decoupling"}
MEETING = "testbed"
ROOMS = {PACKAGE: SHARED | PAPERS | {MEETING, COMPILED}, EXPERIMENTS: PAPERS | {"one_testbed"}}
ROOMS[WORKSHOP] = {"common", "claims", "provenance", "notebook", "commands", "classroom", "sweep", "pages", "cli"}
DATA_SETS = project.data_sets().__name__
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
NOT_IN_KERNELS = {"yaml", "typer", "rich", "papermill", "jupytext", "nbformat", "IPython", "tqdm", "matplotlib"}


def dotted(package: str, path: Path) -> str:
    parts = path.relative_to(PLACES[package]).with_suffix("").parts
    return ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))


MODULES = {dotted(package, path): path for package, at in PLACES.items() for path in sorted(at.rglob("*.py"))}
MACHINERY = [name for name in MODULES if name.partition(".")[0] == WORKSHOP]
KERNELS = [name for name in MODULES if name.partition(".")[0] == PACKAGE and name.count(".") > 1]
RUNS = [name for name in MODULES if name.partition(".")[0] == EXPERIMENTS and name.count(".") > 1]


def room(module: str) -> str:
    """The folder of its package that contains a module."""
    return module.split(".")[1] if "." in module else ""


def imported(name: str) -> set[str]:
    """Every module that a module imports, as absolute names, including imports inside functions."""
    tree, found = ast.parse(MODULES[name].read_text(encoding="utf-8")), set()
    parts = name.split(".")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            up = len(parts) - node.level + (MODULES[name].name == "__init__.py")
            base = ".".join(filter(None, [*(parts[:up] if node.level else ()), node.module]))
            found |= {f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base for alias in node.names}
    return found


def ours(name: str) -> set[str]:
    """The modules of both packages that a module imports."""
    return {other for other in imported(name) if other in MODULES} - {name, *PLACES}


def test_there_are_these_rooms_and_nothing_lies_outside():
    found = {p: {room(name) for name in MODULES if name.startswith(f"{p}.")} - {"__main__"} for p in ROOMS}
    assert found == ROOMS and {name.partition(".")[0] for name in MODULES} == PLACES.keys()
    assert len(KERNELS) > 80 and len(MACHINERY) > 40 and len(RUNS) > 20
    assert {path.name for at in PLACES.values() for path in at.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_the_workshop_names_the_kernels_only_in_the_project_s_settings():
    """It would serve any book of papers: what it needs of the kernels is `[tool.clbook]` of pyproject.toml."""
    assert not [n for n in MACHINERY if any(o.partition(".")[0] == PACKAGE for o in imported(n))]
    assert DATA_SETS in MODULES


def test_a_kernel_imports_its_own_room_and_the_shared_ones():
    def allowed(name: str) -> set[str]:
        below = set() if room(name) == COMPILED else SHARED | {COMPILED}
        return below | {room(name)} | (PAPERS if room(name) == MEETING else set())

    wrong = {name: other for name in KERNELS for other in ours(name) if room(other) not in allowed(name)}
    wrong |= {name: other for name in KERNELS for other in ours(name) if other.partition(".")[0] != PACKAGE}
    wrong |= {name: got for name in KERNELS if (got := first_parts(imported(name)) & NOT_IN_KERNELS)}
    assert wrong == {}


def test_an_experiment_imports_its_own_chapter_s_and_what_lies_below():
    own = {name: {other for other in ours(name) if other.partition(".")[0] == EXPERIMENTS} for name in RUNS}
    assert {name: o for name, others in own.items() for o in others if room(o) != room(name)} == {}
    below = {name: first_parts(ours(name)) for name in (*KERNELS, *MACHINERY)}
    assert {name: parts for name, parts in below.items() if EXPERIMENTS in parts} == {}


def first_parts(names: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def test_rooms_of_the_workshop_build_on_each_other_in_one_direction():
    graph: dict[str, set[str]] = {}
    for one, other in pairs(MACHINERY, room):
        graph.setdefault(one, set()).add(other)
    assert len(graph) > 5 and set(graphlib.TopologicalSorter(graph).static_order()) >= set(graph)


def pairs(names: list[str], folder) -> set[tuple[str, str]]:
    """Which folder imports from which other one, at the top of a module or inside functions."""
    return {(folder(a), folder(b)) for a in names for b in ours(a) if b in names and folder(a) != folder(b)}


def parent(name: str) -> str:
    return name.rpartition(".")[0]


def test_no_two_rooms_of_kernels_import_each_other():
    found = pairs(KERNELS, parent)
    assert len(found) > 8 and not {(b, a) for a, b in found} & found


def test_modules_do_not_import_in_a_circle():
    order = graphlib.TopologicalSorter({name: ours(name) for name in MODULES}).static_order()
    assert set(order) == set(MODULES)


def test_a_circle_is_found(monkeypatch, tmp_path):
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.py").write_text(f"from .{other} import x\n")
        monkeypatch.setitem(MODULES, f"{PACKAGE}.{name}", tmp_path / f"{name}.py")
    with pytest.raises(graphlib.CycleError):
        test_modules_do_not_import_in_a_circle()


def test_tests_lie_in_the_rooms_of_what_they_test():
    tests = Path(__file__).parents[1]
    kernels = {"/".join(name.split(".")[1:-1]) for name in KERNELS}
    kernels |= {"/".join(name.split(".")[:2]) for name in RUNS}
    workshop = {"/".join(name.split(".")[:2]) for name in MACHINERY} | {WORKSHOP}
    found = {str(p.parent.relative_to(tests)) for p in tests.rglob("test_*.py")}
    found -= {path for path in found if path.split("/")[0] == "deep"}  # what takes long, of any room
    assert (
        found <= kernels | workshop | {"chapters", "exercises", "proofs", "secondhand", "slides"}
        and len(list(tests.glob("*.py"))) == 1
    )


def run(code, blocked):
    """Run code in a new interpreter in which some packages cannot be imported."""
    block = f"""
import sys
sys.path[:0] = {sorted({str(at.parent) for at in PLACES.values()})!r}
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Block())
"""
    done = subprocess.run([sys.executable, "-c", block + code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_of_the_machinery_imports_without_torch():
    names = MACHINERY
    assert {name.rpartition(".")[2] for name in names} > {"claim_table", "results", "book_pages", "rules", "statistics"}
    code = "import importlib\n" + "".join(f"importlib.import_module({name!r})\n" for name in names)
    run(code, ["torch", "matplotlib", "sklearn", "papermill", "jupytext"])


def test_results_are_read_and_judged_without_torch():
    code = """
from clbook.claims.claim_table import Claim
from clbook.claims.judging import Reading, judge
row = dict(id="a", locator="l", statement="s", kind="bound", regime="r", statistic="s", expected="0",
           rule={"at_most": 1}, tolerance_reason="t", control="c")
print(judge(Claim.parse(row, "f"), Reading.of(observed=0, control=2)).verdict)
"""
    assert run(code, ["torch"]).strip() == "reproduced"


def test_a_machine_that_only_records_needs_no_yaml_and_no_command_line_package():
    run("from clbook.notebook import open_chapter", ["yaml", "typer", "rich", "nbformat", "IPython", "tqdm"])


def test_the_block_blocks():
    with pytest.raises(AssertionError, match="torch is blocked"):
        run("import contrastive_dynamics.losses.activations", ["torch"])


# Code lines of each room, without docstrings, comments and blank lines: raised by hand, in a commit that says why.
BUDGET = {
    "clbook.__main__": 20,
    "clbook.claims": 765,
    "clbook.classroom": 1780,
    "clbook.cli": 425,
    "clbook.commands": 2200,
    "clbook.common": 1070,
    "clbook.notebook": 1216,
    "clbook.pages": 2300,
    "clbook.provenance": 1586,
    "clbook.sweep": 770,
    "contrastive_dynamics.alignment_and_balance": 1790,
    "contrastive_dynamics.collapse_and_constraints": 1220,
    "contrastive_dynamics.compiled": 841,
    "contrastive_dynamics.data": 682,
    "contrastive_dynamics.feature_decoupling": 1710,
    "contrastive_dynamics.losses": 360,
    "contrastive_dynamics.nonlinearity": 2700,
    "contrastive_dynamics.numerics": 270,
    "contrastive_dynamics.testbed": 1553,
    "experiments.alignment_and_balance": 312,
    "experiments.collapse_and_constraints": 185,
    "experiments.feature_decoupling": 401,
    "experiments.nonlinearity": 250,
    "experiments.one_testbed": 1981,
}


def code_lines(path: Path) -> int:
    """Lines with a token of code; a docstring is none."""
    text, docstrings = path.read_text(encoding="utf-8"), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            docstrings |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    code = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type not in LAYOUT]
    return len({line for t in code for line in range(t.start[0], t.end[0] + 1)} - docstrings)


def test_no_room_grows_beyond_its_budget():
    found = Counter()
    for name, path in MODULES.items():
        found[".".join(name.split(".")[:2])] += code_lines(path)
    over = {at: (lines, BUDGET.get(at)) for at, lines in found.items() if at.count(".") and lines > BUDGET.get(at, 0)}
    assert over == {}


def test_docstrings_comments_and_blank_lines_are_no_code(tmp_path):
    (tmp_path / "a.py").write_text(
        '"""One.\n\nTwo."""\n\n# three\nx = (1,\n     2)\n\n\ndef f():\n    """Four."""\n    return x\n'
    )
    assert code_lines(tmp_path / "a.py") == 4
