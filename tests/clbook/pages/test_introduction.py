"""The introduction: one order of chapters everywhere, a surprise only as long as its claim holds, pictures of runs."""

import re

import pytest
import yaml
from checkout import ROOT
from claim_row import result

from clbook.common.formats import text_of
from clbook.common.sources import APPENDIX, ChapterFiles, chapter_names
from clbook.notebook.results import load_results
from clbook.pages import introduction
from clbook.pages.book_pages import load_chapters
from clbook.pages.record_gallery import Placed

FRONTS = load_chapters(ROOT)
FRONT = {
    "title": "A & B",
    "paper": "Someone, 2020",
    "stage": "network",
    "symbol": "f",
    "question": "Why?",
    "surprise": {"text": "It is not < what you think.", "claim": "thm-1"},
}


def row(verdict: str = "reproduced", label: str = "thm-1"):
    return result(label, verdict, chapter="one")


def test_chapters_have_one_order_everywhere():
    pages = re.findall(r"file: chapters/(\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    sidebar = [page for page in pages if not page.endswith(APPENDIX)]
    assert pages == [one.stem for name in sidebar for one in ChapterFiles(ROOT, name).notebooks]  # each with its own
    readme = re.findall(r"^\| `([a-z-]+)` \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert list(FRONTS) == sidebar == [name for name in readme if name in FRONTS]
    assert set(FRONTS) == set(chapter_names(ROOT))


def test_every_chapter_has_a_picture_of_its_record_and_a_surprise_that_holds(tmp_path):
    results = load_results(ROOT)
    for name, front in FRONTS.items():
        hero = introduction.copy_hero(ChapterFiles(ROOT, name), front, tmp_path)
        assert hero.alt and hero.label and (tmp_path / "heroes" / f"{name}.png").stat().st_size > 5000
        assert introduction.surprise(front, [r for r in results if r.chapter == name]), name


@pytest.mark.parametrize("verdict", ["undecided", "not reproduced", "contradicted", "misprint", "not run"])
def test_a_surprise_whose_claim_does_not_hold_is_not_told(verdict):
    assert "It is not &lt; what you think." in introduction.surprise(FRONT, [row()])
    assert introduction.surprise(FRONT, [row("with conditions")])
    assert introduction.surprise(FRONT, [row(verdict)]) == ""
    assert introduction.surprise(FRONT, [row(label="thm-2")]) == introduction.surprise(FRONT, []) == ""


def test_the_picture_leads_to_written_chapters_and_shows_their_runs():
    fronts = {"one": FRONT, "two": FRONT | {"title": "C"}}
    heroes = {"one": Placed('A "line" falls.', "line", "one-appendix"), "two": Placed("nothing", None, "two")}
    text = introduction.chapter_map(fronts, {"one"}, [row()], heroes)
    assert text.count("../chapters/one.html") == 1 and "two.html" not in text
    assert '<a class="hero" href="../chapters/one-appendix.html#line">' in text
    assert 'src="../_static/heroes/one.png" alt="A &quot;line&quot; falls."' in text and "two.png" not in text
    assert "A &amp; B" in text and "planned, not written yet" in text and text.count('class="surprise"') == 1
    assert "hero" not in introduction.chapter_map(fronts, {"one"}, [row()])


def test_a_figure_that_no_record_holds_stands_for_nothing(tmp_path):
    files = ChapterFiles(ROOT, "nonlinearity")
    for hero in ({"hero": "no-such-figure"}, {}):
        assert introduction.copy_hero(files, hero, tmp_path) is None
    assert not list(tmp_path.iterdir())


def test_the_readme_opens_with_pictures_that_are_there():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    opening = text[: text.index("## Ten minutes")]
    pictures = re.findall(r"!\[([^\]]{40,})\]\(([^)]+)\)", opening)
    assert pictures and all((ROOT / source).is_file() for _, source in pictures)


def test_the_front_of_a_chapter_names_a_figure_and_a_claim():
    raw = yaml.safe_load((ROOT / "book" / "chapters.yaml").read_text(encoding="utf-8"))
    assert all(set(front["surprise"]) == {"text", "claim"} and front["hero"] for front in raw.values())


def test_the_introduction_says_what_contrastive_learning_is_and_asks_before_its_first_picture():
    text = text_of(ROOT / "book" / "intro.md")
    opening, _, rest = text.partition("```{glue:any} clouds")
    assert rest and "{figure}" not in opening and "{include}" not in opening and len(opening.split()) < 190
    assert opening.index("trains a network without labels") < opening.index("Do negative pairs keep")


def test_the_front_of_a_chapter_asks_and_says_what_its_letter_means():
    assert all(front["question"].endswith("?") and "τ" in front["letters"] for front in FRONTS.values())
    assert not [name for name, front in FRONTS.items() if "shows" in front]  # an answer above the question
