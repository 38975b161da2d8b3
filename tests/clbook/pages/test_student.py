"""The student edition has no solutions, it runs, and its stubs are made from the solutions."""

import ast
import re

import jupytext
import nbformat
import pytest
from checkout import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from stand_in import SOURCE, execute, write_stand_in

from clbook.common.errors import BookError
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.pages.student import is_solution, stub, student_notebook, write_edition

SOLVED = '''import math
from dataclasses import dataclass

few, names, found = 3, ["a", "b"], {}
scale = math.sqrt(few)


@dataclass(frozen=True)
class Loud:
    """It has a size."""

    size: float

    def volume(self, of=scale, *, at=1.0):
        return self.size * of


def answer(x, y=scale):
    """The sum."""
    return x + y  # secret


def helper():
    return 42


assert answer(1, 2) == 3
print(answer(1, 2))
'''


def test_a_stub_keeps_signatures_constants_and_imports_and_runs():
    left = stub(SOLVED)
    assert "secret" not in left and "assert" not in left and "print" not in left and "x + y" not in left
    namespace = {}
    exec(left, namespace)
    assert (namespace["few"], namespace["names"]) == (3, ["a", "b"]) and "scale" not in namespace
    assert namespace["answer"].__doc__ == "The sum." and namespace["Loud"].__doc__ == "It has a size."
    for call in (lambda: namespace["answer"](1), namespace["helper"], namespace["Loud"](2.0).volume):
        with pytest.raises(NotImplementedError):
            call()


def test_a_group_of_solutions_becomes_one_stub_after_what_it_printed():
    hidden = {"tags": ["solution", "hide-cell"]}
    code = new_code_cell(SOLVED, metadata=hidden, outputs=[new_output("stream", name="stdout", text="3\n")])
    cells = [
        new_markdown_cell("Exercise"),
        new_markdown_cell("Solution", metadata=hidden),
        code,
        new_code_cell("1 + 1"),
    ]
    found = student_notebook(new_notebook(cells=cells)).cells
    assert [cell.cell_type for cell in found] == ["markdown", "markdown", "code", "code"]
    assert found[1].source == "Expected output:\n\n```text\n3\n```" and not any(map(is_solution, found))
    assert "raise NotImplementedError  # your turn" in found[2].source and found[3].outputs == []


def definitions(source):
    """Kind, name, arguments and docstring of the functions and classes of a source, and of methods, in some order."""
    found = []
    for node in ast.parse(source).body:
        for each in (node, *(node.body if isinstance(node, ast.ClassDef) else ())):
            if isinstance(each, ast.FunctionDef | ast.ClassDef):
                named = [a.arg for a in (*each.args.args, *each.args.kwonlyargs)] if hasattr(each, "args") else []
                found.append((type(each).__name__, each.name, named, ast.get_docstring(each)))
    return found


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_no_stub_of_a_chapter_drifts_from_its_solution(name):
    """The edition contains functions and classes of a solution with arguments and docstrings, and nothing else."""
    notebook = nbformat.read(ChapterFiles(ROOT, name).notebook, as_version=4)
    solved = [c for c in notebook.cells if c.cell_type == "code" and is_solution(c)]
    others = [c.source for c in notebook.cells if c.cell_type == "code" and not is_solution(c)]
    edition = student_notebook(nbformat.read(ChapterFiles(ROOT, name).notebook, as_version=4))
    stubs = [c.source for c in edition.cells if c.cell_type == "code" and c.source not in others]
    wanted = [d for c in solved for d in definitions(c.source)]
    assert solved and stubs and wanted == [d for source in stubs for d in definitions(source)]
    assert not any(isinstance(n, ast.Assert) for source in stubs for n in ast.walk(ast.parse(source)))


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_the_code_of_every_solution_grades_itself(name):
    """nbval runs it, in `make deep` and after a change, so an exercise whose solution became wrong fails there."""
    graded = {}
    for cell in ChapterFiles(ROOT, name).cells():
        if found := re.search(r"\{solution\} (\S+)", cell.source):
            exercise = found[1]
            graded[exercise] = 0
        elif "solution" in cell.tags and not cell.markdown:
            graded[exercise] += sum(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(cell.source)))
    assert len(graded) >= 5 and min(graded.values()) >= 1, graded


EXERCISE = """
# %% [markdown]
# Exercise: what is two and two?

# %% tags=["solution", "hide-cell"]
def total(a, b=scale):
    return a + b

print(total(2, 2))

# %% tags=["remove-cell"]
chapter.close()
"""


def test_the_edition_of_a_book_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    source = SOURCE.replace('\n# %% tags=["remove-cell"]\nchapter.close()\n', EXERCISE)
    files = write_stand_in(tmp_path, source=source)
    with pytest.raises(BookError, match="stand-in: no executed notebook"):
        write_edition(tmp_path, tmp_path / "none")
    nbformat.write(execute(files), files.notebook)
    (tmp_path / "class").mkdir()
    (tmp_path / "link").symlink_to("class")  # to an empty folder, which may be somebody's disk
    (notebook,) = write_edition(tmp_path, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    theirs = ChapterFiles(tmp_path / "class", "stand-in")
    assert notebook == theirs.notebook and theirs.claims.is_file() and theirs.profile("smoke").is_file()
    assert "a + b" not in theirs.source.read_text() and "# your turn" in theirs.source.read_text()
    monkeypatch.setenv("CLBOOK_ROOT", str(theirs.root))
    ran = execute(theirs)
    assert [c.source for c in jupytext.read(theirs.source).cells] == [c.source for c in ran.cells]
    assert "reproduced" in str(ran.cells[-1].outputs)
    with pytest.raises(BookError, match="class: not empty; give a folder that is empty or does not exist yet"):
        write_edition(tmp_path, tmp_path / "class")
