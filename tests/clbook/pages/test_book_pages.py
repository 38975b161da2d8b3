"""Generated pages: complete and readable without colour; `tests/deep/test_whole_pages.py` renders them."""

import re
import subprocess
import sys

import pytest
import yaml
from bare_book import write_book
from checkout import ROOT
from claim_row import OF_EVERY_VERDICT as ALL
from claim_row import result

from clbook.claims.claim_table import VERDICTS, Claims
from clbook.common.errors import BookError
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.pages import book_pages

BOOK = ROOT / "book"


STAMPS = {"nonlinearity": {"default": {"seconds": 92.4, "cells": {}, "peak_mb": 612, "device": "a CPU, 2 cores"}}}


def test_the_picture_says_which_chapters_stand():
    files = book_pages.generate(ROOT, ALL, STAMPS)
    assert files["chapter-map.md"].count("planned, not written yet") == 4
    assert files["chapter-map.md"].count('href="../chapters/') == 1
    assert 'aria-label="' in files["chapter-map.md"]
    counts = files["counts.md"]
    assert counts.startswith("The book tests 11 claims: ") and counts.count('class="verdict ') == 11
    assert "1 not run" in counts


def test_a_chapter_opens_with_its_question_what_it_takes_and_needs():
    box = book_pages.generate(ROOT, ALL, STAMPS)["nonlinearity-box.md"]
    assert box.count("\n- ") == 0
    letters = "who decides which?* **Here τ is a temperature.**"
    for part in (letters, "default: 92 s, 612 MB (a CPU, 2 cores)", "**You should know.**", "1 contradicted"):
        assert part in box
    assert "no stored run yet" in book_pages.generate(ROOT, ALL, {"nonlinearity": {}})["nonlinearity-box.md"]


@pytest.mark.parametrize(("seconds", "shown"), [(8.2, "8 s"), (119, "119 s"), (300, "5 min"), (7300, "2 h")])
def test_run_times_have_a_fitting_unit(seconds, shown):
    assert book_pages._cost("paper", {"seconds": seconds, "cells": {}, "device": "a GPU"}) == f"paper: {shown} (a GPU)"


def test_a_chapter_without_front_matter_is_refused(tmp_path):
    with pytest.raises(BookError, match="chapters.yaml lacks unheard-of"):
        book_pages.generate(ROOT, ALL, {"unheard-of": {}})
    (tmp_path / "book").mkdir()
    planned = dict.fromkeys(("title", "cite", "paper", "stage", "symbol", "question"), "x")
    (tmp_path / "book" / "chapters.yaml").write_text(yaml.safe_dump({"feature-decoupling": planned}))
    with pytest.raises(BookError, match="feature-decoupling is written but lacks prerequisites"):
        book_pages.generate(tmp_path, ALL, {"feature-decoupling": {}})
    for text, lacks in (("a: {title: T}", "question, stage, symbol"), ("a: {cite: b}", "paper, question, stage")):
        (tmp_path / "book" / "chapters.yaml").write_text(text)
        with pytest.raises(BookError, match=f"a lacks {lacks}"):
            book_pages.load_chapters(tmp_path)


def test_a_chapter_without_a_paper_stands_under_its_own_name(tmp_path):
    (tmp_path / "book").mkdir()
    front = dict.fromkeys(("title", "stage", "symbol", "question"), "Two views") | {"prerequisites": []}
    (tmp_path / "book" / "chapters.yaml").write_text(yaml.safe_dump({"together": front}))
    ours = [result(paper="together", chapter="together", beyond=True)]
    pages = book_pages.generate(tmp_path, ours, {"together": {}})
    assert "### Two views\n\nbeyond the papers: " in pages["claims.md"] and "cite:t" not in pages["claims.md"]
    assert "</a></b><br>Two views" in pages["chapter-map.md"] and "beyond the papers: " in pages["together-box.md"]


def test_a_chapter_cites_the_paper_of_its_claims(tmp_path):
    for name in chapter_names(ROOT):
        assert Claims.load(ChapterFiles(ROOT, name).claims).paper == book_pages.load_chapters(ROOT)[name]["cite"]
    write_book(tmp_path)
    with pytest.raises(BookError, match="collapse-and-constraints cites esser-2023, its claims are of tian-2023$"):
        book_pages.generate(tmp_path, [result(chapter="collapse-and-constraints")], {"collapse-and-constraints": {}})


def test_a_chapter_is_surprised_by_claims_of_its_own_alone():
    for name, front in book_pages.load_chapters(ROOT).items():
        rows = Claims.load(ChapterFiles(ROOT, name).claims).rows
        assert front["surprised"] and set(front["surprised"]) <= set(rows), name


def test_unchanged_files_are_left_alone(tmp_path):
    files = {"a.md": "α\n", "b.md": "b\n"}
    assert book_pages.write(tmp_path / "new", files) == ["a.md", "b.md"]
    assert book_pages.write(tmp_path / "new", files | {"b.md": "c\n"}) == ["b.md"]
    assert book_pages.write(tmp_path / "new", files | {"b.md": "c\n"}) == []


def test_missing_mathjax_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.setattr(book_pages, "MATHJAX_PACKAGE", "a-package-that-is-not-there")
    with pytest.raises(BookError, match="a-package-that-is-not-there is not installed: install the extra 'book'"):
        book_pages.copy_mathjax(tmp_path)


def test_the_generators_import_no_torch():
    code = (
        "import sys; from clbook.pages import book_pages, claims_page, site_check; "
        "from clbook.notebook import results; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0


def test_the_page_on_judging_names_every_verdict_with_its_symbol():
    text = (BOOK / "judging.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\S+) ([a-z ]+?) \|", text, re.MULTILINE)
    assert [(symbol, word) for symbol, word in rows if word in VERDICTS] == [(s, w) for w, s in VERDICTS.items()]


def test_names_of_the_code_in_the_notation_exist():
    text = (BOOK / "notation.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`([a-z_]+)\.([a-z_]+)`", text))
    assert len(names) > 10
    for module, function in names:
        files = list((ROOT / "lib" / "contrastive_dynamics").rglob(f"{module}.py"))
        assert len(files) == 1 and f"def {function}(" in files[0].read_text(encoding="utf-8"), f"{module}.{function}"


def test_every_page_stands_in_the_table_of_contents_and_the_other_way_round():
    listed = re.findall(r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    pages = [page for page in BOOK.rglob("*.md") if page.relative_to(BOOK).parts[0][0] != "_"]
    there = [page.relative_to(ROOT).with_suffix("").as_posix() for page in pages]
    notebooks = [one for name in chapter_names(ROOT) for one in ChapterFiles(ROOT, name).notebooks]
    assert sorted(listed) == sorted(there + [f"chapters/{one.stem}" for one in notebooks])


def test_every_committed_animation_lies_beside_its_page():
    films = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("chapters/animations/*/*.webp")}
    beside = [book_pages.animation_files(ChapterFiles(ROOT, name)) for name in chapter_names(ROOT)]
    assert films and set().union(*beside) == {f"beside/{film}" for film in films}
