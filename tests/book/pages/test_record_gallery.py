from dataclasses import replace

import pytest
from stand_in import SOURCE, build_stand_in

from contrastive_dynamics.book.chapter.results import stored_runs
from contrastive_dynamics.book.pages.record_gallery import Placed, figures, gallery

PLACED = """
# %% [markdown]
# ```{glue:figure} plot-a
# :alt: A line that rises.
# :name: plot-a
#
# Figure 1.
# ```
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    files = build_stand_in(tmp_path)
    files.source.write_text(SOURCE + PLACED, encoding="utf-8")
    return files


def test_figures_are_those_that_the_prose_places(files):
    assert figures(files) == {"plot-a": Placed("A line that rises.", "plot-a")}


def test_without_a_record_the_page_says_so(files):
    assert "No run of the profile `paper` is stored yet" in gallery(files, None)


def test_pictures_come_with_their_text_and_what_made_them(files):
    run = stored_runs(files)["default"]
    without = gallery(files, run)
    assert "`seeds = 4`" in without and "{figure}" not in without and "Stale" not in without
    folder = files.record("paper").with_suffix("")
    folder.mkdir(parents=True)
    (folder / "plot-a.png").write_bytes(b"png")
    shown = gallery(files, run)
    assert "../records/stand-in/paper/plot-a.png" in shown and ":alt: A line that rises." in shown
    stale = {claim: replace(one, state="stale") for claim, one in run.states.items()}
    assert "Stale" in gallery(files, replace(run, states=stale))


def test_figures_of_one_name_have_the_labels_of_their_chapters(files):
    """A label belongs to the book: two chapters glue `plot-a`, and only one of them can give it that label."""
    twin = build_stand_in(files.root, name="twin")
    other = PLACED.replace(":name: plot-a", ":name: tw-plot-a").replace("# :alt:", "# :width: 50%\n# :alt:")
    twin.source.write_text(SOURCE + other, encoding="utf-8")
    shown = {}
    for chapter in (files, twin):
        picture = chapter.record("paper").with_suffix("") / "plot-a.png"
        picture.parent.mkdir(parents=True)
        picture.write_bytes(b"png")
        shown[chapter.name] = gallery(chapter, stored_runs(chapter)["default"])
    assert ":name: plot-a-paper\n" in shown["stand-in"] and "{numref}`plot-a` from" in shown["stand-in"]
    assert "records/twin/paper/plot-a.png" in shown["twin"] and ":alt: A line that rises.\n" in shown["twin"]
    assert ":name: tw-plot-a-paper\n" in shown["twin"] and "{numref}`tw-plot-a` from" in shown["twin"]


def test_a_figure_without_a_label_is_shown_under_its_name(files):
    files.source.write_text(files.source.read_text(encoding="utf-8").replace("# :name: plot-a\n", ""), encoding="utf-8")
    picture = files.record("paper").with_suffix("") / "plot-a.png"
    picture.parent.mkdir(parents=True)
    picture.write_bytes(b"png")
    shown = gallery(files, stored_runs(files)["default"])
    assert ":name:" not in shown and "{numref}" not in shown and "`plot-a` from the profile `paper`." in shown


def test_a_picture_that_the_prose_shows_is_not_shown_twice(files):
    run = stored_runs(files)["default"]
    folder = files.record("paper").with_suffix("")
    folder.mkdir(parents=True)
    (folder / "plot-a.png").write_bytes(b"png")
    placed = "\n# %% [markdown]\n# ```{figure} ../records/stand-in/paper/plot-a.png\n# ```\n"
    files.source.write_text(files.source.read_text(encoding="utf-8") + placed, encoding="utf-8")
    assert "plot-a.png" not in gallery(files, run)
