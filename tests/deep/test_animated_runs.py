"""Animations of runs: beside the notebook that plays them, held to it by their sums, left alone by a run that fails."""

import json

import nbformat
import pytest
from bs4 import BeautifulSoup
from stand_in import SOURCE, write_stand_in

from clbook.claims.claim_table import Claims
from clbook.commands import committed, runs
from clbook.common.errors import BookError
from clbook.notebook.shown import OTHER_PICTURE, animations_off, changed_outputs, differences
from clbook.pages.run_page import as_html, read_run, take_in
from clbook.provenance.slices import ChapterCode
from clbook.provenance.staleness import notebook_stamp

FILM = """# %% tags=["hide-input", "remove-output"]
import matplotlib.pyplot as plt
from clbook.notebook import glue

film, panel = plt.subplots(figsize=(1, 1))
glue.animation(film, lambda k: panel.plot([0, k], [0, scale]), range(1, 4), "film", "A line grows.", dpi=30)

# %% [markdown]
# ```{glue:figure} film
# :alt: A line grows.
# ```

"""
LAST = '# %% tags=["remove-cell"]'
ANIMATED = SOURCE.replace(LAST, FILM + LAST)
OFF = ["film.webp"]


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """A stand-in with an animation, as `clbook execute` leaves it; the tests of this module change it in turn."""
    root = tmp_path_factory.mktemp("book")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLBOOK_ROOT", str(root))
        files = write_stand_in(root, ANIMATED)
        assert committed.execute(files) == "executed"
        yield files


@pytest.fixture
def film(executed):
    """The committed file, which is put back afterwards."""
    path = executed.animations / "film.webp"
    content = path.read_bytes()
    yield path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def found(files) -> list[str]:
    """What each of the three checks says of the committed animation."""
    stamp, notebook = notebook_stamp(files.notebook), nbformat.read(files.notebook, as_version=4)
    off = animations_off(files, stamp)
    said = list(differences(notebook, ChapterCode(files), stamp, Claims.load(files.claims), {}))
    assert said == [f"the picture {name} is not the one that the stored run made" for name in off]
    assert [line for line in changed_outputs(files) if line.endswith(OTHER_PICTURE)] == [
        f"chapters/{files.notebook.name}: the picture {name} {OTHER_PICTURE}" for name in off
    ]
    return off


def test_the_file_lies_beside_the_notebook_whose_stamp_has_its_sum(executed, film):
    shown = next(o for c in nbformat.read(executed.notebook, as_version=4).cells for o in c.get("outputs", [])
                 if "image/png" in o.get("data", {}))  # fmt: skip
    moving = BeautifulSoup(shown.data["text/html"], "html.parser").img["src"]
    assert moving == "animations/stand-in/film.webp" and (executed.notebook.parent / moving) == film
    assert notebook_stamp(executed.notebook)["pictures"]["film"].keys() == {"sum", "digest", "moving"}
    assert found(executed) == [] and committed.is_current(executed)


def test_a_changed_a_missing_and_a_superfluous_file_are_found(executed, film):
    content = film.read_bytes()
    film.write_bytes(content + b"\0")
    assert found(executed) == OFF and not committed.is_current(executed)
    assert [line.partition(":")[2] for line in changed_outputs(executed)] == [
        " the picture film.webp is not the one that the stored run made"
    ]
    film.unlink()
    assert found(executed) == OFF
    film.write_bytes(content)
    other = film.with_name("other.webp")
    other.write_bytes(content)
    assert found(executed) == ["other.webp"]
    assert committed.execute(executed) and not other.exists() and found(executed) == []


def test_a_lost_file_is_made_again_with_the_same_bytes(executed, film):
    content = film.read_bytes()
    film.unlink()
    assert committed.execute(executed) == "1 cells executed for 0 claims and 1 other cells"
    assert film.read_bytes() == content and found(executed) == []


def test_a_run_that_fails_leaves_the_committed_file(executed, film):
    content, text = film.read_bytes(), executed.source.read_text()
    try:
        executed.source.write_text(text.replace("[0, scale]", "[0, 2 * scale]").replace(LAST, f"# %%\n1 / 0\n\n{LAST}"))
        with pytest.raises(BookError, match="ZeroDivisionError"):
            committed.execute(executed)
        assert film.read_bytes() == content
    finally:
        executed.source.write_text(text)
    assert found(executed) == []


def test_a_run_has_its_own_animation_and_its_page_holds_it(executed, film, tmp_path):
    runs.run(runs.plan("stand-in", ["scale=1.5"], "smoke", out=tmp_path / "out"))
    own = (tmp_path / "out" / "animations" / "stand-in" / "film.webp").read_bytes()
    made = json.loads((tmp_path / "out" / "run.json").read_text())["pictures"]["film"]
    assert made["moving"] != notebook_stamp(executed.notebook)["pictures"]["film"]["moving"]
    assert own != film.read_bytes() and found(executed) == []
    notebook, *_ = read_run(executed, tmp_path / "out")
    take_in(notebook, tmp_path / "out")
    page = BeautifulSoup(as_html(notebook, "stand-in"), "html.parser")
    assert page.select_one("img.moving")["src"].startswith("data:image/webp;base64,")


def test_an_animation_that_is_drawn_no_more_leaves_no_file(executed, film):
    text = executed.source.read_text()
    try:
        executed.source.write_text(SOURCE)
        assert committed.execute(executed) and not film.parent.exists() and found(executed) == []
    finally:
        executed.source.write_text(text)
