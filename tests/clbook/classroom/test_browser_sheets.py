"""What `make lite` gives JupyterLite: the students' sheets and nothing else; the site, where its tool is installed."""

import ast
import inspect
import subprocess

import nbformat
import pytest
from checkout import ROOT
from stand_in_exercises import source_file

pytest.importorskip("otter", reason="otter-grader is not installed: pip install '.[class]'")

from clbook.classroom.browser_sheets import main, write_browser_sheets  # noqa: E402
from clbook.classroom.exercises import exercise_sources
from clbook.common.sources import chapter_names

TOOL = ROOT / ".venv" / "lite" / "bin" / "jupyter"


@pytest.fixture(scope="module")
def lite(tmp_path_factory):
    """A folder whose `files` JupyterLite takes."""
    book = tmp_path_factory.mktemp("book")
    source_file(book)
    written = write_browser_sheets(book, book / "lite" / "files")
    assert written == [*(book / "lite" / "files").iterdir()]
    return book / "lite"


def test_a_browser_gets_a_sheet_of_each_chapter_and_no_bundle(lite):
    assert [path.name for path in (lite / "files").iterdir()] == ["sums-exercises.ipynb"]
    assert [path.parent.name for path in exercise_sources(ROOT)] == sorted(chapter_names(ROOT))


def test_the_sheet_is_the_student_s_behind_a_cell_for_a_browser(lite):
    sheet = nbformat.read(lite / "files" / "sums-exercises.ipynb", as_version=4)
    nbformat.validate(sheet)
    first, *others = sheet.cells
    assert "2 * x" not in "".join(cell.source for cell in others) and "hidden=True" not in str(sheet.metadata)
    assert others[0].source.startswith('student = ""') and sheet.metadata["kernelspec"]["name"] == "python"
    pin = next(line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("otter-grader"))
    assert f'piplite.install("{pin}")' in first.source
    cell = compile(first.source, "first", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)  # as IPython does
    assert cell.co_flags & inspect.CO_COROUTINE
    with pytest.raises(StopIteration):  # its end: outside a browser nothing is fetched
        eval(cell, {}).send(None)


@pytest.mark.parametrize("seed", ["seven", "-1", "1.5", ""])
def test_a_seed_that_is_no_number_is_one_line_and_writes_nothing(seed, tmp_path, capsys):
    assert main([str(tmp_path / "files"), seed]) == 1
    assert capsys.readouterr().err == f"lite: a seed is a whole number ≥ 0, got {seed!r}\n"
    assert not (tmp_path / "files").exists()


@pytest.mark.skipif(not TOOL.exists(), reason="JupyterLite is not installed: make lite")
def test_the_site_holds_the_sheets(lite):
    command = [TOOL, "lite", "build", "--lite-dir", lite, "--output-dir", lite.parent / "site"]
    subprocess.run(command, cwd=lite, check=True, capture_output=True, timeout=300)
    assert [path.name for path in (lite.parent / "site" / "files").iterdir()] == ["sums-exercises.ipynb"]
    assert (lite.parent / "site" / "lab" / "index.html").is_file()
