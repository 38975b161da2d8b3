"""What a notebook shows beside its verdicts: an output that is edited by hand is found, and made again by a run."""

import base64

import nbformat
import pytest
from nbformat import v4
from stand_in import SOURCE, write_stand_in
from typer.testing import CliRunner

from clbook.cli import app
from clbook.commands import committed
from clbook.notebook.shown import changed_outputs, code_cells, outputs_shown
from clbook.provenance.staleness import notebook_stamp

torch = pytest.importorskip("torch")
SHOWING = """# %%
print("twice", double)

# %% tags=["remove-output"]
import matplotlib.pyplot as plt
from clbook.notebook import glue

glue.number("twice", double)
fig, ax = plt.subplots(figsize=(1, 1))
ax.plot([0, double])
glue.figure(fig, "plot")

"""
LAST = '# %% tags=["remove-cell"]'
SETUP, PRINTS, DRAWS = 1, 7, 8  # numbers of code cells, from 0


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    root = tmp_path_factory.mktemp("book")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLBOOK_ROOT", str(root))
        files = write_stand_in(root, SOURCE.replace(LAST, SHOWING + LAST))
        assert committed.execute(files) == "executed"
        yield files


@pytest.fixture
def files(executed):
    """The chapter, whose notebook is put back afterwards."""
    content = executed.notebook.read_bytes()
    yield executed
    executed.notebook.write_bytes(content)


def edited(files, change) -> None:
    notebook = nbformat.read(files.notebook, as_version=4)
    change(code_cells(notebook))
    nbformat.write(notebook, files.notebook)


def text(cells):
    cells[PRINTS].outputs[0].text = "twice 3.0\n"


def no_text(cells):
    cells[PRINTS].outputs = []


def number(cells):
    (mime,) = cells[DRAWS].outputs[0].data
    cells[DRAWS].outputs[0].data[mime] = "3.0"


def name(cells):
    cells[DRAWS].outputs[0].metadata["scrapbook"]["name"] = "thrice"


def card(cells):
    shown = next(output for cell in cells for output in cell.outputs if "thm-1: " in str(output))
    shown.data["text/plain"] = shown.data["text/plain"].replace("reproduced", "contradicted")


def addition(cells):
    cells[SETUP].outputs = [v4.new_output("stream", text="all is well\n")]


def table(cells):
    cells[PRINTS].outputs.append(v4.new_output("display_data", {"text/html": "<table></table>"}))


def picture(cells):
    old = base64.b64decode(cells[DRAWS].outputs[1].data["image/png"])
    cells[DRAWS].outputs[1].data["image/png"] = base64.b64encode(old + b"\0").decode()


EDITS = [text, no_text, number, name, card, addition, table, picture]


def test_a_run_stores_what_its_cells_show(files):
    notebook, stamp = nbformat.read(files.notebook, as_version=4), notebook_stamp(files.notebook)
    assert stamp["shown"] == outputs_shown(notebook) and len(stamp["shown"]) == 5  # three cards and two cells
    assert list(changed_outputs(files)) == [] and committed.is_current(files)


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_output_is_found_by_stale_and_by_the_pages(files, edit):
    edited(files, edit)
    (line,) = changed_outputs(files)
    assert line.startswith("chapters/stand-in.ipynb: ") and ("code cell" in line or "the picture plot" in line)
    assert not committed.is_current(files)
    assert line in CliRunner().invoke(app, ["stale"]).stdout.splitlines()


def test_execute_runs_edited_cells_again_and_writes_edited_lines_without_a_run(files, monkeypatch):
    before = nbformat.read(files.notebook, as_version=4)
    edited(files, text)
    edited(files, number)
    edited(files, card)
    assert committed.execute(files).endswith("for 0 claims and 2 other cells") and committed.is_current(files)
    after = nbformat.read(files.notebook, as_version=4)
    assert [cell.outputs for cell in code_cells(before)[:-1]] == [cell.outputs for cell in code_cells(after)[:-1]]
    monkeypatch.setattr(committed, "run_notebook", None)
    edited(files, card)
    assert committed.execute(files).startswith("0 cells executed") and list(changed_outputs(files)) == []
