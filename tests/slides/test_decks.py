"""The decks, one a lecture: every vote with its answer, notes on every slide, and what a mistake in one says."""

import re
import shutil

import pytest
from checkout import ROOT

from clbook.classroom import slide_decks
from clbook.classroom.slide_decks import build, decks
from clbook.common.errors import BookError
from clbook.common.sources import chapter_names

PLAIN = {"extensions": ["myst_parser", "sphinx.ext.mathjax", "sphinxcontrib.bibtex", "clbook.classroom.slides"]}
DECKS = decks(ROOT)
BLOCK = re.compile(r"^```\{(?P<kind>[\w-]+)\} ?(?P<name>\S*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


COUNT = range(8, 15)  # slides of fifty minutes


def slides_of(text: str) -> list[str]:
    """The source of each slide; the title is on the first."""
    return re.split(r"^(?=##? )", text, flags=re.MULTILINE)[1:]


def blocks(slide: str, kind: str) -> list[str]:
    return [match["body"] for match in BLOCK.finditer(slide) if match["kind"] == kind]


def test_every_lecture_has_a_deck_of_its_title():
    """The first of a chapter has the chapter's name; the index lists all."""
    plans = "".join(
        (ROOT / "book" / name).read_text(encoding="utf-8") for name in ("teaching.md", "teaching-second.md")
    )
    lectures = [title.lower() for title in re.findall(r"^## Fifty minutes on (.+)$", plans, re.MULTILINE)]
    titles = {path.stem: path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for path in DECKS}
    assert sorted(title.lower() for title in titles.values()) == sorted(lectures) and len(lectures) == 11
    assert [name for name in titles if not re.search(r"-\d$", name)] == chapter_names(ROOT)
    listed = re.findall(r"^- \[(.+)\]\((.+)\.md\)$", (ROOT / "slides" / "index.md").read_text(), re.MULTILINE)
    assert {name: title for title, name in listed} == titles


@pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem)
def test_each_slide_has_a_vote_its_answer_and_notes(path):
    slides = slides_of(path.read_text(encoding="utf-8"))
    assert len(slides) in COUNT and "Exit ticket" in slides[-1]
    for slide in slides:
        title = slide.partition("\n")[0]
        (notes,) = blocks(slide, "notes")
        assert "Answer: " in notes and re.match(r"Minutes \d+ to \d+", notes), title
        assert "$" not in notes, f"{title}: the window of the notes sets no formulas"
        votes, answers, live = (blocks(slide, kind) for kind in ("vote", "answer", "live"))
        assert len(votes) == len(answers) and len(votes) + len(live) == 1, title  # a live picture asks and answers
        assert not votes or slide.index("{vote}") < slide.index("{answer}"), title


@pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem)
def test_the_minutes_are_those_of_the_fifty(path):
    spans = [tuple(map(int, span)) for span in re.findall(r"^Minutes (\d+) to (\d+)", path.read_text(), re.MULTILINE)]
    assert spans[0][0] == 0 and spans[-1][1] == 50
    assert all(end == start for (_, end), (start, _) in zip(spans, spans[1:], strict=False))


def test_the_decks_are_read_without_a_warning(tmp_path):
    """Every figure, number, verdict and reference exists; without sphinx-revealjs, which draws them."""
    build(ROOT, tmp_path / "out", "dummy", **PLAIN)
    figures = {path.name for path in (tmp_path / "out" / "figures").iterdir()}
    wanted = set()
    for path in DECKS:
        for match in BLOCK.finditer(path.read_text(encoding="utf-8")):
            if match["kind"] == "picture":
                wanted.add(f"{match['name']}{'-paper' if ':profile: paper' in match['body'] else ''}.png")
    assert figures == wanted | {"LICENSE-text"}
    assert len(list((tmp_path / "out" / "live").iterdir())) == 11


MISTAKES = {
    "```{picture} cc-no-such\n```": "picture cc-no-such: chapters/collapse-and-constraints.ipynb has no figure",
    "```{picture} cc-plot-width\n:profile: huge\n```": "collapse-and-constraints: the record 'huge' has no picture",
    "```{picture} cc-plot-width\n:crop: 0 50 100 40\n```": "must be left top right bottom in percent",
    "```{picture} cc-plot-width\n:size: 0 50\n```": "must be width and height in pixels",
    "```{live} circle\n```": "live circle: chapters/collapse-and-constraints.ipynb has no live picture circle",
    "```{live} clouds\n:scene: t=x\n```": "must be a scene such as t=8&nu=2.5",
    "{number}`cc-none:.2f`": "number cc-none:.2f: chapters/collapse-and-constraints.ipynb stores no number cc-none",
    "{number}`cc-gap-wide:.2q`": "number cc-gap-wide:.2q: Unknown format code",
    "{verdict}`thm-99`": "verdict thm-99: no stored run has it",
    "{found}`thm-99`": "found thm-99: no stored run has it",
    "```{card} thm-99\n```": "card thm-99: no stored run has it",
    "{cite}`nobody-1999`": "nobody-1999",
}


@pytest.mark.parametrize("text", MISTAKES, ids=lambda text: text.partition("\n")[0])
def test_a_mistake_is_named_in_one_line(tmp_path, monkeypatch, text):
    book = tmp_path / "book"
    for folder in ("chapters", "records", "book", "lib", "clbook"):
        (book / folder).parent.mkdir(parents=True, exist_ok=True)
        (book / folder).symlink_to(ROOT / folder)
    shutil.copy(ROOT / "LICENSE-text", book)
    shutil.copytree(ROOT / "slides", book / "slides")
    for path in (book / "slides").glob("*.md"):
        path.unlink()
    (book / "slides" / "index.md").write_text("# Slides\n\n```{toctree}\ncollapse-and-constraints\n```\n")
    (book / "slides" / "collapse-and-constraints.md").write_text(f"# Title\n\n{text}\n")
    monkeypatch.setenv("CLBOOK_ROOT", str(book))
    with pytest.raises(BookError, match=re.escape(MISTAKES[text])) as raised:
        build(book, tmp_path / "out", "dummy", **PLAIN)
    assert "collapse-and-constraints.md" in str(raised.value)


def test_a_build_of_the_pages_does_not_remove_the_decks(monkeypatch, capsys):
    """It empties _build; by default the decks are elsewhere."""
    written = []
    monkeypatch.setattr(slide_decks, "build", lambda root, out: written.append(out))
    assert slide_decks.main([]) == 0 and written == [ROOT / "dist" / "slides"]
    assert capsys.readouterr().out.splitlines()[0].startswith(str(ROOT / "dist"))


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(BookError, match="holds something other than slides; give another folder"):
        build(ROOT, tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "mine"
