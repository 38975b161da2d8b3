"""Animations: a looping file with the same bytes again, its last frame as the still picture, HTML that stops it."""

import base64
import hashlib
import io
import sys

import matplotlib
import nbformat
import numpy as np
import pytest
from bs4 import BeautifulSoup
from checkout import ROOT
from nbformat import v4
from PIL import Image

from clbook.commands.script import as_script
from clbook.common.errors import BookError
from clbook.common.pictures import size_on_page
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.notebook import animations, explorables, glue
from clbook.notebook.pieces import Keeper
from clbook.pages.record_gallery import figures

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

ALT = 'A point walks "along" a line & stops at its end'
NOTEBOOKS = [files for name in chapter_names(ROOT) for files in ChapterFiles(ROOT, name).notebooks]
MOVING = [files for files in NOTEBOOKS if "glue.animation(" in files.source.read_text()]
PACE = {"rate": 10.0, "hold": 1.0, "dpi": 40}


def walk(frames=4):
    """Arguments of an animation: a figure, what draws a frame, the frames."""
    fig, ax = plt.subplots(figsize=(2, 1))

    def draw(k):
        ax.clear()
        ax.plot([k], [0], "o")
        ax.set(xlim=(-1, frames), title="x" * k)

    return fig, draw, range(frames)


@pytest.fixture
def published(monkeypatch):
    """The outputs that a notebook's cell would store."""
    kept = []
    plt.close("all")
    plt.close(plt.figure())  # pyplot asks IPython for its display hook
    monkeypatch.setattr("IPython.get_ipython", lambda: object())
    monkeypatch.setattr("IPython.display.display", lambda data, raw, metadata: kept.append((data, metadata)))
    monkeypatch.setattr(glue, "DRAWN", {})
    monkeypatch.setattr(glue, "MOVING", {})
    monkeypatch.delenv(animations.VARIABLE, raising=False)
    return kept


def test_it_loops_and_its_last_frame_stays_and_is_the_still_picture():
    still, moving = animations.make(*walk(), "walk", ALT, **PACE)
    film, shown = Image.open(io.BytesIO(moving)), []
    assert (film.format, film.n_frames, film.info["loop"]) == ("WEBP", 4, 0)
    for n in range(4):
        film.seek(n)
        film.load()
        shown.append((np.asarray(film.convert("RGB")), film.info["duration"]))
    assert [duration for _, duration in shown] == [100, 100, 100, 1100]
    assert np.array_equal(shown[-1][0], np.asarray(Image.open(io.BytesIO(still)).convert("RGB")))
    assert not np.array_equal(shown[0][0], shown[-1][0]) and size_on_page(still)[0] == 192


def test_the_same_run_gives_the_same_bytes():
    one, other = (animations.make(*walk(), "walk", ALT, **PACE) for _ in range(2))
    assert one == other


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"alt": " "}, "animation walk: alt must say what moves and how it ends, got ' '"),
        ({"name": "A walk"}, "animation 'A walk': a name is of small letters, digits and single hyphens"),
        ({"frames": 1}, "animation walk: needs at least 2 frames, rate > 0 and hold ≥ 0, got 1 frames, rate=10.0"),
        ({"rate": 0}, "animation walk: needs at least 2 frames, rate > 0 and hold ≥ 0, got 4 frames, rate=0"),
        ({"largest": 100}, "animation walk: at most 1 MB, got 0.0 MB of 4 frames; take fewer frames"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(changed, said, monkeypatch):
    monkeypatch.setattr(animations, "LARGEST", changed.get("largest", 2**20))
    pace = PACE | {"rate": changed.get("rate", 10.0)}
    with pytest.raises(BookError) as refused:
        animations.make(*walk(changed.get("frames", 4)), changed.get("name", "walk"), changed.get("alt", ALT), **pace)
    assert str(refused.value).startswith(said) and "\n" not in str(refused.value)


def test_both_pictures_are_there_and_style_chooses():
    still, _ = animations.make(*walk(), "walk", ALT, **PACE)
    data = animations.bundle("walk", still, "animations/x/walk.webp", ALT)
    soup = BeautifulSoup(data["text/html"], "html.parser")
    moving, stays = soup.find_all("img")
    assert moving["alt"] == stays["alt"] == ALT and moving["src"] == "animations/x/walk.webp"
    assert "display: none" in moving["style"] and "style" not in stays.attrs  # without the style sheet it stays still
    assert base64.b64decode(stays["src"].partition(",")[2]) == base64.b64decode(data["image/png"]) == still
    assert soup.input["type"] == "checkbox" and soup.label["for"] == soup.input["id"] == "animation-walk"
    assert "@media screen and (prefers-reduced-motion: reduce)" in soup.style.string
    assert data["text/plain"] == f"animation walk: {ALT}"


def test_a_run_that_has_a_folder_gets_a_file_and_a_readers_notebook_holds_it(tmp_path, monkeypatch):
    monkeypatch.setenv(animations.VARIABLE, str(tmp_path / "animations" / "chapter"))
    assert animations.place("walk", b"film") == "animations/chapter/walk.webp"
    assert (tmp_path / "animations" / "chapter" / "walk.webp").read_bytes() == b"film"
    monkeypatch.delenv(animations.VARIABLE)
    assert animations.place("walk", b"film") == "data:image/webp;base64,ZmlsbQ=="


def test_a_cell_keeps_both_sums_and_closes_the_figure(published, tmp_path, monkeypatch):
    monkeypatch.setenv(animations.VARIABLE, str(tmp_path / "animations" / "chapter"))
    glue.animation(*walk(), "walk", ALT, **PACE)
    ((data, metadata),) = published
    file = (tmp_path / "animations" / "chapter" / "walk.webp").read_bytes()
    assert metadata == {"scrapbook": {"name": "walk", "mime_prefix": ""}, "image/png": {"width": 192}}
    assert glue.DRAWN == {"walk": hashlib.sha256(base64.b64decode(data["image/png"])).hexdigest()}
    assert glue.MOVING == {"walk": hashlib.sha256(file).hexdigest()} and not plt.get_fignums()


def test_nothing_is_kept_outside_a_notebook(published, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", None)
    glue.animation(*walk(), "walk", ALT)
    assert (glue.DRAWN, glue.MOVING, published, plt.get_fignums()) == ({}, {}, [], [])


def test_a_record_has_the_last_frame(published, tmp_path):
    (tmp_path / "chapters").mkdir()
    with as_script(ChapterFiles(tmp_path, "x"), "smoke", Keeper(tmp_path, float("inf"))):
        glue.animation(*walk(), "walk", ALT, **PACE)
    fig, draw, frames = walk()
    draw(frames[-1])
    assert (tmp_path / "walk.png").read_bytes() == glue.png(fig, 40) and glue.MOVING == {}


def output(address="animations/x/walk.webp"):
    still, moving = animations.make(*walk(), "walk", ALT, **PACE)
    shown = v4.new_output("display_data", animations.bundle("walk", still, address, ALT))
    shown["metadata"] = {"scrapbook": {"name": "walk", "mime_prefix": ""}}
    return v4.new_notebook(cells=[v4.new_code_cell("y", outputs=[shown])]), moving


def test_a_page_of_a_run_holds_the_animation_of_that_run(tmp_path):
    notebook, moving = output()
    animations.take_in(notebook, tmp_path)
    assert notebook.cells[0].outputs == output()[0].cells[0].outputs  # the file is missing: it stays still
    (tmp_path / "animations" / "x").mkdir(parents=True)
    (tmp_path / "animations" / "x" / "walk.webp").write_bytes(moving)
    animations.take_in(notebook, tmp_path)
    address = BeautifulSoup(notebook.cells[0].outputs[0].data["text/html"], "html.parser").img["src"]
    assert base64.b64decode(address.removeprefix("data:image/webp;base64,")) == moving


def test_notebooks_get_the_present_html_and_keep_their_files(monkeypatch):
    notebook, _ = output()
    assert animations.refresh(notebook) == []
    monkeypatch.setattr(animations, "_STYLE", "new {}\n")
    assert animations.refresh(notebook) == ["walk"] and animations.refresh(notebook) == []
    shown = notebook.cells[0].outputs[0].data["text/html"]
    assert "new {}" in shown and 'src="animations/x/walk.webp"' in shown
    assert explorables.refresh(notebook, ROOT) == []  # it is no live picture


@pytest.mark.parametrize("files", MOVING, ids=lambda files: files.stem)
def test_committed_animations_are_small_and_described_once(files):
    stored = nbformat.read(files.notebook, as_version=4)
    assert animations.refresh(stored) == [], "run `python -m clbook.notebook.explorables`"
    placed, found = figures(files), list(animations.moving(stored))
    assert found
    for data, film, address in found:
        path = ROOT / "chapters" / address
        assert path.parent == files.animations and path.stat().st_size <= animations.LARGEST
        assert data["text/plain"] == f"animation {film}: {placed[film].alt}"


def test_there_is_an_animation_and_no_folder_of_a_chapter_that_is_gone():
    assert MOVING and {p.name for p in (ROOT / "chapters" / "animations").iterdir()} <= {files.stem for files in MOVING}
