"""Each kind of stored thing that a page shows, forged and, where it can be, sealed again: which command finds it."""

import base64
import io
import json
import shutil

import nbformat
import pytest
from nbformat import v4
from stand_in import SOURCE, write_stand_in
from typer.testing import CliRunner

from clbook.cli import app
from clbook.commands import record, verify
from clbook.commands.committed import execute
from clbook.common.sources import ChapterFiles
from clbook.notebook.explorables import live_bundle
from clbook.provenance.records import sealed_record
from clbook.provenance.stamps import seal

torch = pytest.importorskip("torch")
DRAWN = SOURCE.replace(
    '# %% tags=["remove-cell"]\nchapter.close()',
    """# %% tags=["remove-output"]
import matplotlib.pyplot as plt

from clbook.notebook import glue

fig, axes = plt.subplots()
axes.plot(rows)
glue.figure(fig, "plot-rows")

# %% [markdown]
# ```{glue:figure} plot-rows
# :alt: Rows.
# ```

# %% tags=["remove-cell"]
chapter.close()""",
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The stand-in with a picture, executed, and its record."""
    root = tmp_path_factory.mktemp("book")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLBOOK_ROOT", str(root))
        files = write_stand_in(root, DRAWN)
        execute(files)
        record.record("stand-in", "smoke")
    return root


@pytest.fixture
def files(built, tmp_path, monkeypatch):
    return a_copy(built, tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def changed(built, tmp_path_factory):
    """The same after a change and another execution, by which the record is left behind."""
    root = tmp_path_factory.mktemp("changed") / "book"
    with pytest.MonkeyPatch.context() as patch:
        files = a_copy(built, root.parent, patch)
        files.source.write_text(DRAWN.replace("-scale)", "-2 * scale)"))
        execute(files)
    return root


def a_copy(of, folder, monkeypatch) -> ChapterFiles:
    monkeypatch.setenv("CLBOOK_ROOT", str(folder / "book"))
    monkeypatch.setattr(verify, "run_in_process", lambda function, *given, seconds: function(*given))
    shutil.copytree(of, folder / "book")
    return ChapterFiles(folder / "book", "stand-in")


def call(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*words])
    return done.exit_code, done.stdout + done.stderr


def other_picture() -> bytes:
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots()
    axes.plot([3, 1, 2])
    content = io.BytesIO()
    fig.savefig(content, format="png", metadata={"Software": None})
    plt.close(fig)
    return content.getvalue()


def resealed(files, change) -> None:
    path = files.record("smoke")
    content = json.loads(path.read_text())
    change(content["run"])
    path.write_text(json.dumps(sealed_record([seal(content["run"])], 1)))


def test_nothing_is_found_where_nothing_is_forged(files):
    assert call("stale", "stand-in")[0] == 0, call("stale", "stand-in")
    status, said = call("verify", "stand-in", "--profile", "smoke")
    assert status == 0 and "3 the same to the last bit" in said, said


def test_a_record_whose_number_is_forged(files):
    path = files.record("smoke")
    path.write_text(path.read_text().replace('"seconds": ', '"seconds": 1', 1))
    status, said = call("stale")
    assert status == 1 and "records/stand-in/smoke.json, damaged: thm-1, thm-1-a, fig-1" in said, said
    record.record("stand-in", "smoke", force=True)
    resealed(files, lambda run: run["readings"]["fig-1"].update(observed={"": [2.0, 2.1, 2.2]}))
    assert call("stale")[0] == 0
    status, said = call("verify", "stand-in", "fig-1", "--profile", "smoke")
    assert status == 1 and "1 wrong" in said, said


def test_a_picture_of_a_record(files):
    picture = files.record("smoke").with_suffix("") / "plot-rows.png"
    picture.write_bytes(forged := other_picture())
    assert "the picture plot-rows is not the one that the stored run made" in call("stale")[1] and call("stale")[0] == 1
    from clbook.notebook.shown import picture_sum

    total = picture_sum(base64.b64encode(forged).decode())
    resealed(files, lambda run: run["pictures"]["plot-rows"].update(sum=total))
    assert call("stale")[0] == 0
    status, said = call("verify", "stand-in", "--profile", "smoke")
    assert status == 1 and "the picture plot-rows: the one that was computed differs" in said, said
    resealed(files, lambda run: run.update(device="a processor of another make"))  # no bits are compared then
    status, said = call("verify", "stand-in", "--profile", "smoke")
    assert status == 0 and "the picture plot-rows: the one that was computed differs visibly" in said, said


def test_blocks_of_seeds(files):
    record.record("stand-in", "smoke", other_seeds=2)
    whole = json.loads(files.record("smoke").read_text())
    fewer = [whole | {"other_seeds": []}, {k: v for k, v in whole.items() if k != "seal"}]
    for forged in (*fewer, whole | {"blocks": 1}, sealed_record([whole["run"]], 3)):
        files.record("smoke").write_text(json.dumps(forged))
        assert call("stale")[0] == 1
    files.record("smoke").write_text(json.dumps(sealed_record([whole["run"]], 3)))
    assert call("stale")[1].count("a block of seeds, stale: fig-1") == 2
    record.record("stand-in", "smoke")  # it keeps what it was asked for
    assert call("stale")[1].count("a block of seeds, stale: fig-1") == 2
    record.record("stand-in", "smoke", other_seeds=2)
    assert call("stale")[0] == 0


def test_blocks_dropped_with_everything_sealed_again(files):
    """No command of the book finds that; a test with the number of blocks of each record does."""
    record.record("stand-in", "smoke", other_seeds=2)
    whole = json.loads(files.record("smoke").read_text())
    files.record("smoke").write_text(json.dumps(sealed_record([whole["run"]], 1)))
    assert call("stale")[0] == 0


@pytest.mark.parametrize(("old", "new"), [("# A stand-in", "# A stand-in of 97 %"), ("scale: float", "scale:  float")])
def test_prose_or_code_of_a_notebook_alone(files, old, new):
    notebook = nbformat.read(files.notebook, as_version=4)
    (at,) = [n for n, cell in enumerate(notebook.cells) if old in cell.source]
    notebook.cells[at].source = notebook.cells[at].source.replace(old, new)
    nbformat.write(notebook, files.notebook)
    status, said = call("stale")
    assert status == 1 and f"cell {at + 1} is not that of stand-in.py" in said, said
    execute(files)
    assert call("stale")[0] == 0


def test_a_card_in_a_notebook_that_cannot_be_read(files):
    """What is shown cannot be compared then, and that is said."""
    content = json.loads(files.notebook.read_text().replace("● reproduced", "● reproduced exactly, 97 %"))
    next(cell for cell in content["cells"] if cell["cell_type"] == "markdown")["outputs"] = []
    files.notebook.write_text(json.dumps(content))
    status, said = call("stale")
    assert status == 1 and "what it shows was not compared" in said, said


HIDING = {
    "outputs of a cell": lambda cells, card, figure: card.metadata.update(mystnb={"remove_code_outputs": True}),
    "outputs in a lab": lambda cells, card, figure: card.metadata.update(jupyter={"outputs_hidden": True}),
    "a caption": lambda cells, card, figure: figure.metadata.update(mystnb={"figure": {"caption": "97 %"}}),
    "a small picture": lambda cells, card, figure: figure.outputs[-1].metadata.update({"image/png": {"width": 1}}),
    "an attached picture": lambda cells, card, figure: cells[0].update(attachments={"a.png": {"image/png": "aGk="}}),
    "a tag": lambda cells, card, figure: card.metadata.tags.append("remove-cell"),
    "a kind": lambda cells, card, figure: cells[0].update(cell_type="raw"),
    "another result": lambda cells, card, figure: card.outputs.append(
        v4.new_output("display_data", {"application/vnd.clbook+json": "x", "text/html": "<b>97 %</b>"})
    ),
}


@pytest.mark.parametrize("forged", HIDING)
def test_metadata_that_hide_or_add_something(files, forged):
    notebook = nbformat.read(files.notebook, as_version=4)
    card = next(cell for cell in notebook.cells if cell.cell_type == "code" and "judge" in cell.source)
    figure = next(cell for cell in notebook.cells if "glue.figure" in cell.source)
    HIDING[forged](notebook.cells, card, figure)
    nbformat.write(notebook, files.notebook)
    assert call("stale")[0] == 1, call("stale")


def test_the_data_of_a_run(files):
    """By its data a run's verdicts are `seen` or `reproduced`."""
    resealed(files, lambda run: run.update(data="mnist"))
    status, said = call("stale")
    assert status == 1 and "data is 'mnist', its parameter 'generated'" in said, said


def test_a_reading_dropped_from_a_record(files):
    resealed(files, lambda run: run["readings"].pop("fig-1"))
    assert call("stale")[0] == 0
    for named in ([], ["fig-1"]):
        status, said = call("verify", "stand-in", *named, "--profile", "smoke")
        assert status == 1 and "fig-1: the run gives a reading of it, none is stored" in said, said


def test_a_record_of_a_size_that_does_not_exist(files):
    shutil.copy(files.record("smoke"), files.record("huge"))
    status, said = call("stale")
    assert status == 1 and "records/stand-in/huge.json: the chapter has no such size" in said, said


def scripts(root) -> None:
    folder = root / "book" / "_static" / "explorables"
    folder.mkdir(parents=True)
    for name in ("explorable.css", "own.math.js", "explorable.js", "address.js", "lesson.js", "own.js"):
        (folder / name).write_text(f"/* {name} */\n")


@pytest.mark.parametrize("forged", ["in a live picture", "beside a picture", "in the place of a live picture"])
def test_a_script_in_a_notebook(files, forged):
    scripts(files.root)
    picture = base64.b64encode(other_picture()).decode()
    live = live_bundle("own", picture, "What it shows.", files.root)
    evil = "<script>alert(1)</script>"
    data = {
        "in a live picture": live | {"text/html": live["text/html"] + evil},
        "beside a picture": {"image/png": picture, "text/html": evil, "text/plain": "<figure own>"},
        "in the place of a live picture": live | {"text/html": evil},
    }[forged]
    _with_output(files, data)
    status, said = call("stale")
    # beside a still, its run has made the HTML, which is covered as its other outputs are
    still = "code cell 4 shows something else than the stored run"
    found = (
        still if forged == "beside a picture" else "the HTML of the picture own is not what the present scripts make"
    )
    assert status == 1 and found in said, said
    assert call("verify", "stand-in", "thm-1")[0] == 1
    _with_output(files, live)
    assert "the HTML of the picture" not in call("stale")[1]


def _with_output(files, data: dict) -> None:
    """Put a glued output into the first cell with an output, in place of one that was put there before."""
    notebook = nbformat.read(files.notebook, as_version=4)
    cell = next(c for c in notebook.cells if c.cell_type == "code" and c.outputs and "judge" in c.source)
    metadata = {"scrapbook": {"name": "own", "mime_prefix": ""}}
    kept = [output for output in cell.outputs if "scrapbook" not in output.get("metadata", {})]
    cell.outputs = [v4.new_output("display_data", data, metadata=metadata), *kept]
    nbformat.write(notebook, files.notebook)


@pytest.mark.parametrize("kind", [{}, {"text/plain": "<figure own>"}], ids=["beside no figure", "beside a still"])
def test_execute_takes_a_forged_script_away(files, kind):
    forged = {"image/png": base64.b64encode(other_picture()).decode(), "text/html": "<script></script>"}
    _with_output(files, forged | kind)
    assert execute(files) and "<script>" not in files.notebook.read_text() and call("stale")[0] == 0


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ("records/stand-in/smoke.json: {claims: [thm-1-a], reason: it takes a day on a large machine}\n", 0),
        ("records/stand-in/smoke.json: {claims: [thm-1], reason: it takes a day on a large machine}\n", 1),
        ("records/stand-in/smoke.json: {claims: [thm-1-a], reason: short}\n", 2),
        ("records/stand-in/smoke.json: {claims: thm-1-a, reason: it takes a day on a large machine}\n", 2),
        ("chapters/stand-in.ipynb: {claims: [thm-1-a], reason: it takes a day on a large machine}\n", 2),
        ("- thm-1-a\n", 2), ("a: [\n", 2), ("", 1),
    ],
)  # fmt: skip
def test_the_list_of_what_is_excused(changed, tmp_path, monkeypatch, content, status):
    files = a_copy(changed, tmp_path, monkeypatch)
    (files.root / "records" / "stale.yaml").write_text(content)
    assert call("stale")[0] == status, call("stale")
    if status == 0:
        assert "1 of 6 stored readings are not current, 1 of them excused in records/stale.yaml" in call("stale")[1]
