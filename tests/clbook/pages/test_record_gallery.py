from collections import Counter
from dataclasses import replace

import pytest
from checkout import ROOT
from stand_in import SOURCE, build_stand_in

from clbook.claims.claim_table import Claims
from clbook.common.errors import BookError
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.notebook.results import stored_runs
from clbook.pages.record_gallery import Placed, captions, figures, galleries_of, gallery, in_gallery, origin

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
    assert figures(files) == {"plot-a": Placed("A line that rises.", "plot-a", "stand-in")}


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
    """A label belongs to the whole book: two chapters glue `plot-a`, and only one of them can use it as a label."""
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


def test_a_picture_that_a_record_figure_shows_is_not_shown_twice(files):
    run = stored_runs(files)["default"]
    folder = files.record("paper").with_suffix("")
    folder.mkdir(parents=True)
    (folder / "plot-a.png").write_bytes(b"png")
    assert "plot-a.png" in gallery(files, run)
    placed = "\n# %% [markdown]\n# ````{record-figure} plot-a\n# ````\n"
    files.source.write_text(files.source.read_text(encoding="utf-8") + placed, encoding="utf-8")
    assert "plot-a.png" not in gallery(files, run)


def test_what_made_a_run_is_said_in_a_sentence(files):
    run = stored_runs(files)["default"]
    stamp = run.stamp | {"seconds": 5400.0, "device": "a machine", "time": "2026-01-02T03:04:05", "profile": "paper"}
    assert origin(replace(run, stamp=stamp)) == "Made with the profile paper on 2026-01-02: a machine, 90 min."
    later = stamp | {"later": [{"time": "2026-01-05T01:02:03"}, {"time": "2026-01-03T01:02:03"}]}
    assert "from 2026-01-02 to 2026-01-05:" in origin(replace(run, stamp=later))
    stale = {claim: replace(one, state="stale") for claim, one in run.states.items()}
    assert origin(replace(run, states=stale)).endswith(" The code or the rules have changed since.")


CAPTION = (
    "plot-a:\n  look: Look at the slope.\n  claims: [thm-1, thm-1-a, fig-1, lem-1]\n  alt: A line of many points.\n"
)


def test_a_caption_says_what_to_look_at_and_has_the_verdicts_of_the_record(files):
    picture = files.record("paper").with_suffix("") / "plot-a.png"
    picture.parent.mkdir(parents=True)
    picture.write_bytes(b"png")
    run = stored_runs(files)["default"]
    assert "from the profile `paper`. A line that rises.\n" in gallery(files, run)  # nobody has looked at it yet
    files.captions("paper").parent.mkdir()
    files.captions("paper").write_text(CAPTION, encoding="utf-8")
    words = "`thm-1`, `fig-1` reproduced; `thm-1-a` contradicted; `lem-1` not measured."
    assert f"from the profile `paper`. Look at the slope. In this record: {words}\n" in gallery(files, run)
    assert ":alt: A line of many points.\n" in gallery(files, run)


def test_another_profile_has_a_gallery_of_the_pictures_with_a_caption(files):
    runs = {"large": stored_runs(files)["default"]}
    profiles = [files.profile(name) for name in ("paper", "large", "small")]
    profiles[0].parent.mkdir(exist_ok=True)
    for path in profiles:
        path.write_text("seeds: 4\n", encoding="utf-8")
    assert galleries_of(files, runs).keys() == {"stand-in-record.md"}
    files.captions("large").parent.mkdir()
    files.captions("large").write_text("plot-b: {look: Look at the slope.}\n", encoding="utf-8")
    folder = files.record("large").with_suffix("")
    folder.mkdir(parents=True)
    (folder / "plot-a.png").write_bytes(b"png")
    found = galleries_of(files, runs)
    assert found.keys() == {"stand-in-record.md", "stand-in-large.md"} and "{figure}" not in found["stand-in-large.md"]
    files.captions("large").write_text(CAPTION, encoding="utf-8")
    assert "records/stand-in/large/plot-a.png" in galleries_of(files, runs)["stand-in-large.md"]
    assert "No run of the profile `large` is stored yet." in galleries_of(files, {})["stand-in-large.md"]


@pytest.mark.parametrize("row", ["{}", "{look: ''}", "{look: a, see: b}", "text"])
def test_a_caption_of_another_form_is_refused_in_one_line(files, row):
    files.captions("paper").parent.mkdir()
    files.captions("paper").write_text(f"plot-a: {row}\n", encoding="utf-8")
    with pytest.raises(BookError, match="stand-in/captions/paper.yaml: plot-a"):
        captions(files, "paper")


@pytest.mark.parametrize("text", ["", "- a", "3: {look: a}", "a: [", "\0", "<<<<<<< ours\n", "a: {look: a, claims: 3}"])
def test_a_file_of_captions_that_is_damaged_is_refused_in_one_line(files, text):
    files.captions("paper").parent.mkdir()
    files.captions("paper").write_text(text, encoding="utf-8")
    with pytest.raises(BookError, match="stand-in/captions/paper.yaml") as error:
        captions(files, "paper")
    assert "\n" not in str(error.value)


RECORDED = [
    (name, profile)
    for name in chapter_names(ROOT)
    for profile in ChapterFiles(ROOT, name).profiles()
    if profile == "paper" or ChapterFiles(ROOT, name).captions(profile).is_file()
    if ChapterFiles(ROOT, name).record(profile).is_file()
]


@pytest.mark.parametrize(("name", "profile"), RECORDED)
def test_every_picture_of_a_record_has_a_caption_that_says_where_to_look(name, profile):
    """Of a record beside the paper's, every picture that is shown."""
    files = ChapterFiles(ROOT, name)
    written, rows = captions(files, profile), Claims.load(files.claims).rows
    there = in_gallery(files, profile).keys()
    where = f"write or remove captions in {files.captions(profile)}"
    assert written.keys() == there if profile == "paper" else written.keys() <= there, where
    for picture, caption in written.items():
        assert "ook" in caption.look and len(caption.look.split()) >= 15, picture
        assert [claim for claim in caption.claims if claim not in rows] == [], picture
    assert [look for look, n in Counter(c.look for c in written.values()).items() if n > 1] == []
    assert all(caption.claims or not any(p.endswith(f"-{claim}") for claim in rows) for p, caption in written.items())
