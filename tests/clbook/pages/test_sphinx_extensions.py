"""The book's own Sphinx extensions, on a small book: appendices' letters, records' pictures, statements, no thebe."""

import json
import subprocess
import sys

import matplotlib
import pytest
from bs4 import BeautifulSoup

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from clbook.notebook.glue import png  # noqa: E402
from clbook.pages.chapter_numbers import letter  # noqa: E402

OWN = [f"clbook.pages.{name}" for name in ("chapter_numbers", "claim_statement", "record_figure", "unused_scripts")]
TOC = """
format: jb-book
root: intro
parts:
  - caption: Before
    chapters: [{file: before}]
  - caption: Chapters
    numbered: true
    chapters:
      - {file: one, sections: [{file: one-appendix}]}
      - {file: two, sections: [{file: two-appendix}]}
"""
PAGE = """
# Title of NAME

$$ x = 1 $$ (eq-NAME)

## A section

```{figure} plot.png
:alt: A line.
:name: fig-NAME

A line.
```
```{prf:theorem}
:label: thm-NAME
True.
```
"""
REFERS = "\n{numref}`fig-two`, {numref}`fig-two-appendix`, {eq}`eq-two-appendix`, {prf:ref}`thm-two-appendix`.\n"
RECORD = """
````{record-figure} plot
:alt: The line of the record.
:name: fig-record

A caption with $x$.

```{figure} plot.png
:alt: The line of the default run.

Its own caption.
```
````
"""
STATED = """
````{prf:theorem} no. 3 of the paper
:label: thm-stated
By {prf:ref}`another <thm-one>`:

```{claim} thm-3
```
```{claim} thm-3-a
```
````
```{claim} thm-4
```
"""
CLAIMS = """
claims:
  - {id: thm-3, locator: "Theorem 3, (a)", statement: "It is *true* that $x = 1$.", kind: bound, needs: time}
  - {id: thm-3-a, locator: Theorem 3, statement: So is the rest., kind: bound, needs: time}
"""


@pytest.fixture
def book(tmp_path):
    fig, ax = plt.subplots(figsize=(3, 2))
    ax.plot([1, 2])
    picture = png(fig, dpi=192)
    plt.close(fig)
    source = tmp_path / "source"
    for path in (source / "plot.png", source / "records" / "two" / "paper" / "plot.png"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture)
    for name in ("one", "one-appendix", "two", "two-appendix"):
        (source / f"{name}.md").write_text(PAGE.replace("NAME", name))
    (source / "before.md").write_text("# Before\n")
    (source / "intro.md").write_text("# Intro\n" + REFERS)
    (source / "_toc.yml").write_text(TOC)
    return source


def build(source, **config) -> tuple[dict[str, BeautifulSoup], str]:
    """Every page of a built book, and the warnings; a process of its own, since extensions change Sphinx."""
    extensions = ["myst_parser", "sphinx_external_toc", "sphinx_multitoc_numbering", "sphinx_proof", *OWN]
    options = {"extensions": extensions, "numfig": True, "myst_enable_extensions": ["dollarmath"], **config}
    options |= {"external_toc_path": "_toc.yml", "external_toc_exclude_missing": False, "html_theme": "basic"}
    options |= {"use_multitoc_numbering": True}
    (source / "conf.py").write_text("\n".join(f"{name} = {value!r}" for name, value in options.items()))
    out = source.parent / "out"
    command = [sys.executable, "-m", "sphinx", "-q", "-E", "-b", "html", str(source), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    pages = {p.stem: BeautifulSoup(p.read_text(encoding="utf-8"), "html.parser") for p in out.glob("*.html")}
    return pages, done.stderr


def numbers(page: BeautifulSoup) -> list[str]:
    found = [span.get_text().strip() for span in page.select("h1 .section-number, h2 .section-number")]
    found += [span.get_text().strip() for span in page.select("figcaption .caption-number")]
    return found + [span.get_text().strip("()¶#") for span in page.select(".eqno")]


def test_chapters_have_numbers_and_their_appendices_letters(book):
    pages, warnings = build(book)
    assert numbers(pages["one"]) == ["1.", "1.1.", "Fig. 1.1", "1.1"]
    assert numbers(pages["two"]) == ["2.", "2.1.", "Fig. 2.1", "2.1"]
    assert numbers(pages["one-appendix"]) == ["A.", "A.1.", "Fig. A.1", "A.1"]
    assert numbers(pages["two-appendix"]) == ["B.", "B.1.", "Fig. B.1", "B.1"]
    assert "Theorem B.1" in pages["two-appendix"].get_text()
    said = pages["intro"].get_text()
    assert "Fig. 2.1, Fig. B.1, (B.1), Theorem B.1." in said and not warnings


def test_there_are_letters_for_26_chapters():
    assert [letter(1), letter(5), letter(26)] == ["A", "E", "Z"]
    with pytest.raises(ValueError, match="^chapter must be 1..26, got 27$"):
        letter(27)


def test_a_records_picture_stands_in_the_figures_place_and_the_default_runs_is_folded(book):
    with (book / "two.md").open("a") as page:
        page.write(RECORD)
    (book / "book" / "_generated").mkdir(parents=True)
    (book / "book" / "_generated" / "records.json").write_text(json.dumps({"two/paper": "Made in a day."}))
    page = build(book)[0]["two"]
    shown, inside = page.find(id="fig-record"), page.select_one("details.default-run figure")
    assert shown.img["alt"] == "The line of the record." and "A caption with" in shown.figcaption.get_text()
    assert "Made in a day." in shown.get_text() and "Fig. 2.2" in shown.get_text()
    width = int(shown.img["style"].removeprefix("width: ").removesuffix("px;"))
    assert 240 < width < 300  # three inches at 96 px, less the margin that is cut off
    assert inside.img["alt"] == "The line of the default run." and "Its own caption." in inside.get_text()
    assert shown.find_next("details") is page.select_one("details.default-run") and not shown.find("details")


def test_the_page_of_a_readers_run_shows_its_own_picture_alone(book):
    with (book / "two.md").open("a") as page:
        page.write(RECORD)
    page = build(book, record_figures=False)[0]["two"]
    assert page.find(id="fig-record") is None and page.find("details") is None
    assert page.find("img", alt="The line of the default run.")


def test_what_a_record_figure_lacks_is_said(book):
    unnamed = RECORD.replace(":name: fig-record\n", "")
    misnamed = unnamed.replace("record-figure} plot", "record-figure} plat")
    wrong = {
        misnamed: "plat: must have a picture records/two/paper/plat.png",
        unnamed.replace(":alt: The line of the record.\n", ""): "plot: must have an option alt, got none",
        unnamed.replace("A caption with $x$.\n", ""): "plot: the first paragraph must be a caption",
    }
    with (book / "two.md").open("a") as page:
        page.write("\n".join(wrong))
    _, warnings = build(book)
    assert [said for said in wrong.values() if said not in warnings] == []


def test_a_row_s_statement_and_locator_stand_where_the_chapter_names_it(book):
    (book / "chapters" / "two").mkdir(parents=True)
    (book / "chapters" / "two" / "claims.yaml").write_text(CLAIMS)
    for name in ("one", "two-appendix"):  # an appendix shows its chapter's rows, and a chapter none of another's
        with (book / f"{name}.md").open("a") as page:
            page.write(STATED.replace("thm-stated", f"stated-{name}"))
    pages, warnings = build(book)
    block = pages["two-appendix"].find(id=lambda found: found and "stated-two-appendix" in found.lower())
    assert "(no. 3 of the paper)" in block.get_text() and block.em.get_text() == "true" and block.select_one(".math")
    assert [flat(p) for p in block.select("section p")][1:] == [
        "By another:",
        r"It is true that \(x = 1\). (Theorem 3, (a))",
        "So is the rest. (Theorem 3)",
    ]
    assert [span.get_text() for span in block.select(".locator")] == ["(Theorem 3, (a))", "(Theorem 3)"]
    assert "claim thm-4: must be a claim of chapters/two/claims.yaml, which has none of this name" in warnings
    assert warnings.count("must be a claim of chapters/one/claims.yaml") == 3


def flat(element) -> str:
    return " ".join(element.get_text().split())


def test_no_page_loads_thebe(book):
    extensions = ["myst_parser", "sphinx_external_toc", "sphinx_multitoc_numbering", "sphinx_proof", "sphinx_thebe"]
    with_thebe = build(book, extensions=extensions)[0]["one"]
    without = build(book, extensions=[*extensions, OWN[-1]])[0]["one"]
    of_thebe = [script for script in with_thebe.head("script") if "thebe" in str(script)]
    assert of_thebe and len(without.head("script")) == len(with_thebe.head("script")) - len(of_thebe)
    assert not [script for script in without.head("script") if "thebe" in str(script)]
