"""What may import what: kernels never the machinery, the machinery never torch until it runs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from contrastive_dynamics.book import provenance

LIBRARY = Path(provenance.__file__).parents[1]
KERNELS = sorted(LIBRARY.glob("*.py"))
MACHINERY = sorted(p.stem for p in (LIBRARY / "book").glob("*.py") if p.stem != "__init__")
NOT_IN_KERNELS = {"yaml", "typer", "rich", "papermill", "jupytext", "nbformat", "IPython", "tqdm", "matplotlib"}


def imported(path):
    """Every module that a file imports, absolute, inside functions too."""
    tree, found = ast.parse(path.read_text(encoding="utf-8")), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, ["contrastive_dynamics" if node.level else "", node.module]))
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.stem)
def test_a_kernel_never_imports_the_machinery(path):
    found = imported(path)
    assert not {name for name in found if name.startswith("contrastive_dynamics.book")}
    assert not {name.partition(".")[0] for name in found} & NOT_IN_KERNELS


def run(code, blocked):
    """Run code in a new interpreter in which some packages cannot be imported."""
    block = f"""
import sys
sys.path.insert(0, {str(LIBRARY.parent)!r})
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
    assert {"claims", "results", "pages", "rules", "statistics"} <= set(MACHINERY)
    code = "import importlib\n" + "".join(
        f"importlib.import_module('contrastive_dynamics.book.{m}')\n" for m in MACHINERY
    )
    run(code, ["torch", "matplotlib", "sklearn", "papermill", "jupytext"])


def test_results_are_read_and_judged_without_torch():
    code = """
from contrastive_dynamics.book.claims import Claim, Reading, judge
row = dict(id="a", locator="l", statement="s", kind="bound", regime="r", statistic="s", expected="0",
           rule={"at_most": 1}, tolerance_reason="t", control="c")
print(judge(Claim.parse(row, "f"), Reading.of(observed=0, control=2)).verdict)
"""
    assert run(code, ["torch"]).strip() == "reproduced"


def test_a_machine_that_only_records_needs_no_yaml_and_no_command_line_package():
    run("from contrastive_dynamics.book import open_chapter", ["yaml", "typer", "rich", "nbformat", "IPython", "tqdm"])


def test_the_block_blocks():
    with pytest.raises(AssertionError, match="torch is blocked"):
        run("import contrastive_dynamics.activations", ["torch"])
