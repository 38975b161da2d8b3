"""What a notebook shows beside its verdicts: an output that is edited by hand is found, and made again by a run."""

import base64
import json

import nbformat
import pytest
from live_page import PIXEL
from nbformat import v4
from stand_in import SOURCE, write_stand_in
from typer.testing import CliRunner

from clbook.cli import app
from clbook.commands import committed, verify, verify_outputs
from clbook.common.pictures import size_on_page
from clbook.notebook.shown import changed_outputs, code_cells, outputs_shown, picture_sums
from clbook.provenance.staleness import loaded, notebook_stamp
from clbook.provenance.stamps import MIME, seal

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


def table_of_a_picture(cells):
    cells[DRAWS].outputs[1].data["text/html"] = "<table></table>"


def picture(cells):
    old = base64.b64decode(cells[DRAWS].outputs[1].data["image/png"])
    cells[DRAWS].outputs[1].data["image/png"] = base64.b64encode(old + b"\0").decode()


EDITS = [text, no_text, number, name, card, addition, table, table_of_a_picture, picture]


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
    edited(files, picture)
    edited(files, card)
    assert committed.execute(files).endswith("for 0 claims and 2 other cells") and committed.is_current(files)
    after = nbformat.read(files.notebook, as_version=4)
    assert [cell.outputs for cell in code_cells(before)[:-1]] == [cell.outputs for cell in code_cells(after)[:-1]]
    monkeypatch.setattr(committed, "run_notebook", None)
    edited(files, card)
    assert committed.execute(files).startswith("0 cells executed") and list(changed_outputs(files)) == []


def resealed(files, change) -> None:
    """Edit a notebook, and give its stamp the sums of what it shows now."""
    edited(files, change)
    notebook = nbformat.read(files.notebook, as_version=4)
    (output,) = [o for cell in notebook.cells for o in cell.get("outputs", []) if MIME in o.get("data", {})]
    stamp = loaded(output.data[MIME])
    for shown, content in picture_sums(notebook).items():
        stamp["pictures"][shown]["sum"] = content
    stamp = seal(stamp | {"shown": outputs_shown(notebook)})
    output.data[MIME] = json.dumps(stamp) if isinstance(output.data[MIME], str) else stamp
    nbformat.write(notebook, files.notebook)
    assert list(changed_outputs(files)) == []


def run_verify() -> tuple[int, list[str]]:
    """Status, and the lines about what differs."""
    done = CliRunner().invoke(app, ["verify", "stand-in"])
    assert "3 readings: 3 the same to the last bit" in done.stdout or not done.exit_code, done.stdout
    return done.exit_code, [line for line in done.stdout.splitlines() if line.startswith("chapters/stand-in.ipynb, ")]


def other_picture(cells):
    output = cells[DRAWS].outputs[1]
    output.data["image/png"], output.metadata["image/png"] = PIXEL, {"width": size_on_page(base64.b64decode(PIXEL))[0]}


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (text, "the text of code cell 8: shown is 'twice 3.0', computed 'twice 2.0'"),
        (no_text, "the text of code cell 8: shown is 'nothing', computed 'twice 2.0'"),
        (number, "the number twice: shown is 3.0, computed 2.0"),
        (name, "the number thrice: shown is 2.0, computed none"),
        (table, f"code cell 8: {verify_outputs.UNKNOWN}"),
        (other_picture, "the picture plot: the one that was computed differs"),
    ],
)
def test_verify_computes_again_what_an_edited_and_resealed_notebook_shows(files, monkeypatch, edit, said):
    monkeypatch.setattr(verify, "run_in_process", lambda function, *given, seconds: function(*given))
    monkeypatch.setattr(verify_outputs, "same_arithmetic", lambda before, now: True)  # the kernel has other threads
    assert run_verify() == (0, [])
    resealed(files, edit)
    assert run_verify() == (1, [f"chapters/stand-in.ipynb, {said}"])


def test_elsewhere_what_differs_by_more_than_rounding_is_listed(files, monkeypatch):
    monkeypatch.setattr(verify, "run_in_process", lambda function, *given, seconds: function(*given))
    monkeypatch.setattr(verify_outputs, "same_arithmetic", lambda before, now: False)
    resealed(files, other_picture)
    elsewhere = "another processor or version made it"
    picture = f"chapters/stand-in.ipynb, the picture plot: the one that was computed differs visibly; {elsewhere}"
    assert run_verify() == (0, [picture])
    resealed(files, number)
    said = f"the number twice: shown is 3.0, computed 2.0; {elsewhere}"
    assert run_verify() == (0, [f"chapters/stand-in.ipynb, {said}", picture])
    resealed(files, table)
    assert run_verify()[0] == 1


@pytest.mark.parametrize(("computed", "close"), [("0.30000000000000004", True), ("0.3001", False), ("none", False)])
def test_rounding_is_no_difference_elsewhere(computed, close):
    assert verify_outputs._close("0.3", computed) == close
