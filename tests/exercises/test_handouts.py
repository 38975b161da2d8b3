"""A handout is one page that needs nothing else, and its numbers are those of stored readings. Needs no otter."""

import re
import shutil

import pytest
from checkout import ROOT
from one_line_error import one_line_error

from clbook.claims.plain import Number
from clbook.classroom.handouts import drawn_formula, handout, write_handouts
from clbook.common.errors import BookError
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.notebook.results import load_results


@pytest.fixture(scope="module")
def results():
    found = {name: {} for name in chapter_names(ROOT)}
    for result in load_results(ROOT):
        found[result.chapter][result.claim.id] = result
    return found


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_a_handout_shows_the_stored_numbers(results, name):
    page, source = handout(ROOT, name, results[name]), ChapterFiles(ROOT, name).handout.read_text()
    assert "http" not in page and "<script" not in page and not re.search(r"\$|\{(claim|figure) ", page)
    claims = re.findall(r"^\{claim (\S+)\}$", source, re.MULTILINE)
    assert 4 <= len(claims) <= 6 and page.count("<img alt=") == 1
    for claim in claims:
        numbers = [part for s in results[name][claim].sentences[:2] for part in s if isinstance(part, Number)]
        assert all(f"<b>{part}</b>" in page or f"<sup>{part}</sup>" in page for part in numbers), claim
        assert f"<i>{results[name][claim].verdict}, by the " in page
    assert page.count('<svg role="img" aria-label=') == len(re.findall(r"\$[^$]+\$", source))
    assert len(re.findall(r"^\d\. .+\?$", source, re.MULTILINE)) == 3  # questions


def test_a_formula_stands_on_its_line():
    shown = drawn_formula(r"\frac{a}{b}")
    assert 'aria-label="\\frac{a}{b}"' in shown and re.search(r"vertical-align:-\d", shown)
    with one_line_error(BookError, r"x.md: a formula cannot be drawn: '\\\\nonsense'"):
        drawn_formula(r"\nonsense", "x.md")


def test_letters_that_are_not_found_are_an_error_and_not_other_letters(monkeypatch):
    def missing(*_, **__):
        raise ValueError("not found")

    monkeypatch.setattr("matplotlib.font_manager.findfont", missing)
    with one_line_error(BookError, "matplotlib lacks its fonts DejaVu Sans, .+cmr10: install it anew"):
        drawn_formula("unseen")


@pytest.mark.parametrize(
    ("line", "said"),
    [("{claim thm-99}", "no claim 'thm-99'"), ("{figure eq-8: nowhere}", "no picture 'nowhere' in the chapter")],
)
def test_what_a_handout_names_must_be_there(results, tmp_path, line, said):
    name = "collapse-and-constraints"
    shutil.copytree(ROOT / "chapters", tmp_path / "chapters")
    ChapterFiles(tmp_path, name).handout.write_text(f"# Title\n\n{line}\n")
    with pytest.raises(BookError, match=said):
        handout(tmp_path, name, results[name])


def test_a_folder_that_is_not_empty_is_refused(tmp_path):
    (tmp_path / "mine").touch()
    with pytest.raises(BookError, match="not empty"):
        write_handouts(ROOT, tmp_path)
