"""Live pictures in notebooks: the still picture and the script in one output, refreshed without running anything."""

import base64
import re
import sys

import matplotlib
import nbformat
import pytest
from bs4 import BeautifulSoup
from checkout import ROOT
from form import leaking_figures
from nbformat import v4

from clbook.common.errors import BookError
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.notebook import explorables, glue
from clbook.notebook.explorables import live_bundle, live_html, live_module, refresh
from clbook.provenance.slices import ChapterCode

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

ALT = 'Two hills for "linear", nine for ReLU'
LIVE = [name for name in chapter_names(ROOT) if "glue.explorable(" in ChapterFiles(ROOT, name).source.read_text()]


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    """The folder of scripts of a book that has one live picture."""
    folder = tmp_path / "book" / "_static" / "explorables"
    folder.mkdir(parents=True)
    (tmp_path / "chapters").mkdir()
    for name in ("explorable.css", "explorable.js", "address.js", "lesson.js", "one.math.js", "one.js"):
        (folder / name).write_text(f"/* {name} */\n", encoding="utf-8")
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return folder


def notebook(bundle: dict, name: str = "one"):
    output = v4.new_output("display_data", dict(bundle), metadata={"scrapbook": {"name": name, "mime_prefix": ""}})
    other = v4.new_output("display_data", {"image/png": "UE5H", "text/plain": "<figure one>"})
    return v4.new_notebook(cells=[v4.new_markdown_cell("x"), v4.new_code_cell("y", outputs=[other, output])])


def test_the_still_picture_stands_before_the_scripts(scripts):
    soup = BeautifulSoup(live_html("one", "UE5H", ALT), "html.parser")
    style, element, script = soup.find_all(recursive=False)
    assert (style.name, element["data-explorable"], script.name) == ("style", "one", "script")
    assert (element.img["alt"], element.img["src"]) == (ALT, "data:image/png;base64,UE5H")
    assert script.string.split()[1::3] == ["one.math.js", "explorable.js", "address.js", "lesson.js", "one.js"]


def test_parts_of_a_picture_come_before_it(scripts):
    for name in ("one.ring.js", "one.curve.js", "other.ring.js"):
        (scripts / name).write_text(f"/* {name} */\n", encoding="utf-8")
    script = BeautifulSoup(live_html("one", "UE5H", ALT), "html.parser").script.string
    assert script.split()[1::3][-3:] == ["one.curve.js", "one.ring.js", "one.js"] and "other" not in script


def test_a_module_is_printed(scripts, capsys):
    assert explorables.main("one") == 0
    printed = capsys.readouterr().out
    assert printed == live_module("one") and "/* one.js */" in printed and printed.count("export default") == 1


def test_a_picture_may_have_a_style_of_its_own(scripts):
    (scripts / "two.css").write_text("/* of another picture */\n", encoding="utf-8")
    assert "another" not in live_html("one", "UE5H", ALT)
    (scripts / "one.css").write_text("/* one.css */\n", encoding="utf-8")
    style = BeautifulSoup(live_html("one", "UE5H", ALT), "html.parser").style
    assert style.string.split("\n")[1:] == ["/* explorable.css */", "/* one.css */", ""]


def test_what_cannot_be_shown_is_refused_in_one_line(scripts):
    with pytest.raises(BookError, match="two.math.js does not exist in explorables/, there are: one"):
        live_html("two", "UE5H", ALT)
    with pytest.raises(BookError, match="alt must say what the still picture shows, got ' '"):
        live_html("one", "UE5H", " ")
    (scripts / "one.js").write_text('x = "</script>";', encoding="utf-8")
    with pytest.raises(BookError, match="one.js must not contain '</'"):
        live_html("one", "UE5H", ALT)


def test_a_notebook_gets_the_present_scripts_and_keeps_the_rest(scripts, tmp_path):
    stored = notebook(live_bundle("one", "UE5H", ALT))
    assert refresh(stored, tmp_path) == []
    (scripts / "one.js").write_text("new();\n", encoding="utf-8")
    assert refresh(stored, tmp_path) == ["one"] and refresh(stored, tmp_path) == []
    figure, live = stored.cells[1].outputs
    assert "new();" in live.data["text/html"] and live.data["text/plain"] == f"live picture one: {ALT}"
    assert figure.data == {"image/png": "UE5H", "text/plain": "<figure one>"}


def test_the_command_rewrites_notebooks_that_are_behind(scripts, tmp_path, capsys):
    (tmp_path / "chapters" / "first").mkdir()
    (tmp_path / "chapters" / "first" / "claims.yaml").write_text("{}", encoding="utf-8")
    path = tmp_path / "chapters" / "first.ipynb"
    (tmp_path / "chapters" / "first.py").write_text("", encoding="utf-8")
    nbformat.write(notebook(live_bundle("one", "UE5H", ALT)), path)
    (scripts / "explorable.css").write_text("new {}\n", encoding="utf-8")
    assert explorables.main() == 0 and "chapters/first.ipynb: one" in capsys.readouterr().out
    assert "new {}" in nbformat.read(path, as_version=4).cells[1].outputs[1].data["text/html"]
    (scripts / "one.js").unlink()
    assert explorables.main() == 1 and "explorables: explorable: one.js does not exist" in capsys.readouterr().err


def test_a_figure_becomes_a_live_picture_and_is_closed(scripts, monkeypatch):
    plt.close("all")
    fig, kept = plt.figure(figsize=(1, 1)), []
    monkeypatch.setattr("IPython.get_ipython", lambda: object())
    monkeypatch.setattr("IPython.display.display", lambda data, raw, metadata: kept.append((data, metadata)))
    monkeypatch.setattr(glue, "DRAWN", {})
    glue.explorable(fig, "one", ALT, dpi=20)
    ((data, metadata),) = kept
    assert metadata["scrapbook"]["name"] == "one" and list(glue.DRAWN) == ["one"]
    assert data == live_bundle("one", data["image/png"], ALT)
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG") and not plt.get_fignums()


def test_a_script_keeps_nothing_of_it(scripts, monkeypatch):
    plt.close("all")
    monkeypatch.setattr(glue, "DRAWN", {})
    monkeypatch.setitem(sys.modules, "IPython", None)
    glue.explorable(plt.figure(), "one", ALT)
    assert glue.DRAWN == {} and not plt.get_fignums()


def test_names_of_its_cell_must_not_be_read_later(tmp_path):
    cell = '# %% tags=["hide-input"]\nsize = 3\nglue.explorable(draw(size), "one", "text")\n'
    head = '# %% tags=["parameters"]\nseeds: int = 3  # of all, 1..5\n\n# %%\nchapter = open_chapter("x", globals())\n'
    (tmp_path / "chapters" / "x").mkdir(parents=True)
    (tmp_path / "chapters" / "x" / "claims.yaml").write_text("{}", encoding="utf-8")
    files = ChapterFiles(tmp_path, "x")
    tail = '\n# %%\nchapter.judge("a", observed=size, control=2)\n'
    files.source.write_text(f"{head}\n# %% [markdown]\n# Prose\n\n{cell}{tail}", encoding="utf-8")
    assert [found.endswith("reads size from it") for found in leaking_figures(ChapterCode(files))] == [True]


@pytest.mark.parametrize("name", LIVE)
def test_committed_notebooks_have_the_present_scripts(name):
    stored = nbformat.read(ChapterFiles(ROOT, name).notebook, as_version=4)
    outputs = [o for cell in stored.cells for o in cell.get("outputs", [])]
    assert any("data-explorable" in o.get("data", {}).get("text/html", "") for o in outputs), "run `make execute`"
    behind = refresh(stored, ROOT)
    assert behind == [], "run `python -m clbook.notebook.explorables`"


def test_the_books_own_styles_leave_live_pictures_alone():
    static, named = ROOT / "book" / "_static", set()
    for script in (static / "explorables").glob("*.js"):
        for words in re.findall(r"class: [\"`]([^\"`$]*)", script.read_text(encoding="utf-8")):
            named |= set(words.split())
    selectors = re.sub(r"/\*.*?\*/|\{.*?\}", ",", "".join(p.read_text() for p in static.glob("*.css")), flags=re.S)
    first = {found for part in selectors.split(",") for found in re.findall(r"^\s*\.([\w-]+)", part)}
    assert {"title", "because", "curve"} <= named and named & first == set()


def test_there_is_a_live_picture():
    assert LIVE
