from dataclasses import replace

import pytest
from stand_in import SOURCE, build_stand_in

from contrastive_dynamics.book.record_gallery import figures, gallery
from contrastive_dynamics.book.results import stored_runs

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
    assert figures(files) == {"plot-a": "A line that rises."}


def test_without_a_record_the_page_says_so(files):
    assert "No run of the profile `paper` is stored yet" in gallery(files, None)


def test_pictures_come_with_their_text_and_what_made_them(files):
    run = replace(stored_runs(files)["default"], stale=False)
    without = gallery(files, run)
    assert "`seeds = 4`" in without and "{figure}" not in without and "Stale" not in without
    folder = files.record("paper").with_suffix("")
    folder.mkdir(parents=True)
    (folder / "plot-a.png").write_bytes(b"png")
    shown = gallery(files, run)
    assert "../records/stand-in/paper/plot-a.png" in shown and ":alt: A line that rises." in shown
    assert "Stale" in gallery(files, replace(run, stale=True))


def test_a_picture_that_the_prose_shows_is_not_shown_twice(files):
    run = stored_runs(files)["default"]
    folder = files.record("paper").with_suffix("")
    folder.mkdir(parents=True)
    (folder / "plot-a.png").write_bytes(b"png")
    placed = "\n# %% [markdown]\n# ```{figure} ../records/stand-in/paper/plot-a.png\n# ```\n"
    files.source.write_text(files.source.read_text(encoding="utf-8") + placed, encoding="utf-8")
    assert "plot-a.png" not in gallery(files, run)
