"""The committed notebook: built from the source, executed in place, the same bytes except for its results."""

import base64
import errno
import io
import json

import nbformat
import pytest
from checkout import ROOT
from nbformat import v4
from stand_in import SOURCE, write_stand_in
from stand_in_record import recorded

from clbook.commands import committed, notebooks
from clbook.commands.jupyter_kernel import _specs
from clbook.common.errors import BookError
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.provenance.staleness import notebook_stamp


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return write_stand_in(tmp_path)


def test_build_keeps_cells_and_tags(files):
    notebook = notebooks.build(files)
    code = [c for c in notebook.cells if c.cell_type == "code"]
    assert code[0].metadata["tags"] == ["parameters"] and "tags" not in code[1].metadata
    assert [c.source for c in code] == [c.source for c in files.cells() if not c.markdown]
    assert [c.id for c in notebook.cells[:2]] == ["cell-000", "cell-001"]
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    assert "text_representation" not in notebook.metadata["jupytext"]
    nbformat.validate(notebook)


def noisy_notebook():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    buffer = io.BytesIO()
    pyplot.figure(figsize=(1, 1)).savefig(buffer, format="png", dpi=100)  # whatever style an earlier test left
    pyplot.close("all")
    outputs = [
        v4.new_output("stream", name="stdout", text="a\n"),
        v4.new_output("stream", name="stderr", text="noise\n"),
        v4.new_output("stream", name="stdout", text="b\n"),
        v4.new_output("display_data", {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "bar"}),
        v4.new_output("display_data", {"image/png": base64.b64encode(buffer.getvalue()).decode()}),
        v4.new_output("execute_result", {"text/plain": "3"}, execution_count=12),
    ]
    metadata = {"papermill": {"duration": 1.0}, "execution": {"iopub": "now"}, "tags": [], "other": 1}
    notebook = v4.new_notebook(
        metadata={"papermill": {}, "widgets": {}, "language_info": {"name": "python", "version": "3.11.7"}}
    )
    notebook.cells = [v4.new_code_cell("3", outputs=outputs, execution_count=12, metadata=metadata)]
    return notebook


def test_normalise_drops_what_is_no_result():
    notebook = notebooks.normalise(noisy_notebook())
    (cell,) = notebook.cells
    assert dict(cell.metadata) == {"other": 1}
    assert set(notebook.metadata) == {"jupytext", "kernelspec", "language_info"}
    stream, picture, result = cell.outputs
    assert stream.text == "a\nb\n" and result.execution_count == cell.execution_count == 1
    content = base64.b64decode(picture.data["image/png"])
    assert b"matplotlib" not in content.lower() and content.endswith(b"IEND\xaeB`\x82")
    assert pytest.importorskip("PIL.Image").open(io.BytesIO(content)).size == (100, 100)
    assert notebooks.normalise(notebook) == notebook


@pytest.mark.parametrize(("tag", "folded"), [("hide-input", True), ("remove-cell", True), ("parameters", False)])
def test_jupyterlab_folds_the_code_that_a_page_folds(tag, folded):
    cell = v4.new_code_cell("3", metadata={"tags": [tag], "jupyter": {"outputs_hidden": True}})
    notebooks.normalise(v4.new_notebook(cells=[cell]))
    assert cell.metadata.get("jupyter") == ({"source_hidden": True} if folded else None)


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_a_notebook_saved_in_jupyterlab_gives_its_text_tags_alone(name):
    for files in ChapterFiles(ROOT, name).notebooks:
        notebook = notebooks.build(files)
        assert any("jupyter" in cell.metadata for cell in notebook.cells)
        assert "source_hidden" not in notebooks.as_percent(notebook, files)


def test_pairs_differ_by_source_or_tags_and_not_by_outputs(files):
    one, other = notebooks.build(files), notebooks.build(files)
    other.cells[1].outputs = [v4.new_output("stream", text="x")]
    assert notebooks.same_cells(one, other)
    other.cells[1].metadata["tags"] = ["injected"]
    assert not notebooks.same_cells(one, other)
    other = notebooks.build(files)
    other.cells[2].source += " "
    assert not notebooks.same_cells(one, other)


def test_execute_writes_once_and_again_only_when_the_source_changes(files, tmp_path, monkeypatch):
    shadow = tmp_path / "jupyter" / "kernels" / "python3"
    shadow.mkdir(parents=True)
    (shadow / "kernel.json").write_text(json.dumps({"argv": ["false"], "display_name": "x", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("MPLBACKEND", "no-such-backend")
    assert committed.execute(files)
    notebook = nbformat.read(files.notebook, as_version=4)
    assert notebooks.same_cells(notebook, notebooks.build(files))
    code = [c for c in notebook.cells if c.cell_type == "code"]
    assert [c.execution_count for c in code] == list(range(1, len(code) + 1))
    assert notebook_stamp(files.notebook)["profile"] == "default"
    assert len(committed.weights(files, code)) == len(code) - 1  # from the cell that opens
    before = files.notebook.read_bytes()
    assert not committed.execute(files) and files.notebook.read_bytes() == before
    files.source.write_text(SOURCE.replace("# A stand-in", "# Another stand-in"))
    assert not committed.is_current(files)
    files.source.write_text(SOURCE)
    assert committed.is_current(files)
    files.claims.write_text(files.claims.read_text().replace("at_least: 0.0", "at_least: 0.5"))
    assert not committed.is_current(files)


def test_a_notebook_that_ran_whole_shows_the_verdicts_of_the_record(tmp_path, monkeypatch):
    files = recorded(tmp_path, monkeypatch, SOURCE, "seeds: 5\n")
    assert committed.execute(files, force=True) == "executed" and committed.is_current(files)
    assert "also in the long run" in files.notebook.read_text()


def test_a_failure_leaves_the_committed_notebook(files, monkeypatch):
    files.notebook.write_text('{"cells": []}')

    def full(*args, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(committed, "run_notebook", full)
    with pytest.raises(BookError, match="the disk is full"):
        committed.execute(files, force=True)
    assert files.notebook.read_text() == '{"cells": []}'
    assert [p.name for p in files.notebook.parent.iterdir() if ".new" in p.name] == []


def test_the_kernel_is_the_running_interpreter():
    import sys

    assert _specs().get_kernel_spec("python3").argv[0] == sys.executable
