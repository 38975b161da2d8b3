"""Generated pages: complete, readable without colour, and rendered without a warning."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from bare_book import build, write_book

from contrastive_dynamics.book.claims.claim_table import NEGATIVE, VERDICTS, Claims
from contrastive_dynamics.book.ground.errors import BookError
from contrastive_dynamics.book.ground.sources import ChapterFiles, chapter_names
from contrastive_dynamics.book.pages import book_pages, claims_page

ROOT = Path(__file__).parents[3]
BOOK = ROOT / "book"


def result(label="eq-8", verdict="reproduced", **changes):
    """One claim as `load_results` gives it."""
    ran = verdict != "not run"
    row = {
        "id": f"tian-2023/{label}",
        "paper": "tian-2023",
        "chapter": "nonlinearity",
        "anchor": label,
        "locator": "Eq. (8)",
        "statement": "A pattern $u_m$ is\nan eigenvector | of $A(u_m)$.",
        "kind": "identity",
        "rule": "≤ 1e-10",
        "verdict": verdict,
        "reason": "the reason" if ran else "a GPU",
        "profile": "default" if ran else None,
        "data": "generated",
        "observed": {"relu": 3.25e-14, "linear": 1e-15} if ran else None,
        "expected": "0 (derived)",
        "interval": {"relu": [3.25e-14, 3.25e-14]} if ran else None,
        "tolerance": [1e-10],
        "tolerance_reason": "rounding",
        "seeds": [1000, 1009],
        "control": {"what": "no gate", "": 0.41} if ran else None,
        "mended": None,
        "note": "",
        "needs": "" if ran else "a GPU",
        "by_chance": False,
        "changed": [],
        "recurs": None,
        "run": {"stale": False, "device": "CPU"} if ran else None,
        "verdicts": [],
    }
    return row | changes


ALL = [result(f"c{i}", verdict) for i, verdict in enumerate(VERDICTS)]
STAMPS = {"nonlinearity": {"default": {"seconds": 92.4, "peak_mb": 612, "device": "a CPU, 2 cores"}}}


def test_counts_name_every_verdict_in_the_vocabulary_s_order():
    assert claims_page.counts(ALL[:1]) == dict.fromkeys(VERDICTS, 0) | {"reproduced": 1}
    assert list(claims_page.counts(ALL)) == list(VERDICTS)


def test_an_unknown_verdict_is_refused():
    with pytest.raises(BookError, match="verdict proven is unknown, allowed are reproduced"):
        claims_page.counts([result(verdict="proven")])
    with pytest.raises(BookError, match="'proven' is unknown"):
        claims_page.badge("proven")


def test_a_verdict_shows_by_symbol_and_word():
    for verdict, symbol in VERDICTS.items():
        assert symbol in claims_page.badge(verdict) and verdict in claims_page.badge(verdict)
    assert len(set(VERDICTS.values())) == len(VERDICTS)


def test_the_claims_page_lists_negative_verdicts_first_and_links_to_the_chapter():
    page = claims_page.claims_page(ALL, {"tian-2023": "Tian, 2023"})
    head = page[: page.index("## Tian, 2023")]
    assert "## What did not hold" in head
    assert (
        '<a href="../chapters/nonlinearity.html#c3">' in head and '<a href="../chapters/nonlinearity.html#c4">' in head
    )
    assert page.startswith("8 claims:")
    assert head.count("Tian, 2023, <a ") == page.count("Tian, 2023, <a ") == len(NEGATIVE) == 3


def test_claims_beyond_the_paper_are_counted_apart_and_what_is_under_review_says_so():
    ours = result("c9") | {"beyond": True, "review": "the words say could"}
    page = claims_page.claims_page([*ALL[:1], ours])
    first = page[: page.index("\n")]
    assert first.startswith("2 claims:") and first.count("1 reproduced") == 2
    assert first.index("beyond the paper:") > first.index("1 reproduced")
    assert "(beyond the paper)" in page and "under review</span> the words say could" in page


def test_the_authors_side_stands_beside_the_measurement():
    row = result() | {"advocate": {"what": "for large n alone", "": 0.5}}
    assert "the authors' side</span> 0.5 (for large n alone)" in claims_page.claims_page([row])


def test_claims_of_one_id_stand_under_their_papers_and_link_to_their_chapters():
    twin = [r | {"id": f"b/{r['anchor']}", "paper": "b", "chapter": "twin"} for r in ALL]
    page = claims_page.claims_page([*ALL, *twin], {"tian-2023": "Tian, 2023"})
    assert page.startswith("16 claims:") and "2 not reproduced" in page[: page.index("\n")]
    links = re.findall(r'href="(\S+)"', page[page.index("## Tian, 2023") :])
    assert len(set(links)) == len(links) == 2 * (len(ALL) - 1)
    head, first, second = page.split("## What did not hold")[1].split("{cite:t}")
    assert "nonlinearity.html#c3" in first and "twin.html" not in first
    assert "twin.html#c3" in second and "nonlinearity.html" not in second
    assert 'Tian, 2023, <a href="../chapters/nonlinearity.html#c3">' in head
    assert 'b, <a href="../chapters/twin.html#c3">' in head


def test_a_claim_that_was_not_run_says_what_it_takes_and_has_no_link():
    page = claims_page.claims_page([result("fig-12", "not run")])
    assert "href" not in page and "list-table" not in page
    assert '<span class="label">needs</span> a GPU' in page


def test_without_negative_verdicts_there_is_no_such_section():
    assert "What did not hold" not in claims_page.claims_page([result()])


def test_a_cell_keeps_to_its_lines():
    rows = [line for line in claims_page.claims_page([result()]).splitlines() if "eigenvector" in line]
    assert rows == ["    A pattern $u_m$ is an eigenvector | of $A(u_m)$."]


@pytest.mark.parametrize(
    ("arm", "shown"),
    [
        (None, ""),
        ({}, ""),
        (3.0, "3"),
        ({"": 0.125}, "0.125"),
        ({"a": 1e-12, "b": [1.0, 2.0]}, "a 1e-12; b 1.5 (mean of 2)"),
        ({"hits": 80.0, "trials": 100}, "0.8 (80 of 100)"),
        ({"near": {"hits": 1.0, "trials": 4}}, "near 0.25 (1 of 4)"),
        ("not a number", "not a number"),
    ],
)
def test_every_form_of_a_statistic_is_shown(arm, shown):
    assert claims_page.show_arm(arm) == shown


def test_an_interval_is_shown_only_if_it_has_a_width():
    point, wide = result(), result(interval={"": [0.5, 0.75]})
    assert "interval" not in claims_page.claims_page([point])
    assert "0.5 to 0.75" in claims_page.claims_page([wide])


def test_stale_results_changed_rules_and_other_profiles_are_told():
    page = claims_page.claims_page(
        [
            result(
                run={"stale": True},
                changed=[{"date": "2026-01-02", "why": "too tight"}],
                recurs=["reproduced", "undecided", "reproduced"],
                verdicts=[
                    {"profile": "paper", "data": "generated", "verdict": "undecided", "observed": {}, "stale": True}
                ],
            )
        ]
    )
    for told in (
        "made by older code",
        "2026-01-02: too tight",
        "2 of 3 blocks agree",
        "paper, generated",
        "(older code)",
    ):
        assert told in page


def test_luck_counts_only_what_was_decided_by_chance():
    assert "No verdict here was decided by chance" in claims_page.luck_text([result()])
    chance = [result(by_chance=True), result("x", by_chance=True), result("y", "not run", by_chance=True)]
    text = claims_page.luck_text([*chance, result("z")])
    assert "2 of these verdicts" in text and "0.1 errors" in text and "Holm" in text
    assert "in their chapter even" in text
    assert "in each of their 2 chapters even" in claims_page.luck_text([*chance, result(by_chance=True, chapter="y")])


def test_the_picture_says_which_chapters_stand():
    files = book_pages.generate(ROOT, ALL, STAMPS)
    assert files["chapter-map.md"].count("planned, not written yet") == 3
    assert files["chapter-map.md"].count('href="../chapters/') == 1
    assert 'aria-label="' in files["chapter-map.md"]
    assert "7 of 8 claims" in files["counts.md"]


def test_a_chapter_opens_with_what_it_shows_takes_and_needs():
    box = book_pages.generate(ROOT, ALL, STAMPS)["nonlinearity-box.md"]
    assert box.count("\n- ") == 3
    for part in ("default: 92 s, 612 MB (a CPU, 2 cores)", "**You should know.**", "1 contradicted"):
        assert part in box
    assert "no stored run yet" in book_pages.generate(ROOT, ALL, {"nonlinearity": {}})["nonlinearity-box.md"]


@pytest.mark.parametrize(("seconds", "shown"), [(8.2, "8 s"), (119, "119 s"), (300, "5 min"), (7300, "2 h")])
def test_run_times_have_a_fitting_unit(seconds, shown):
    assert book_pages._cost("paper", {"seconds": seconds, "device": "a GPU"}) == f"paper: {shown} (a GPU)"


def test_a_chapter_without_front_matter_is_refused(tmp_path):
    with pytest.raises(BookError, match="chapters.yaml lacks unheard-of"):
        book_pages.generate(ROOT, ALL, {"unheard-of": {}})
    (tmp_path / "book").mkdir()
    planned = dict.fromkeys(("title", "cite", "paper", "stage", "symbol", "question"), "x")
    (tmp_path / "book" / "chapters.yaml").write_text(yaml.safe_dump({"feature-decoupling": planned}))
    with pytest.raises(BookError, match="feature-decoupling is written but lacks prerequisites, shows"):
        book_pages.generate(tmp_path, ALL, {"feature-decoupling": {}})
    (tmp_path / "book" / "chapters.yaml").write_text("a: {title: T}")
    with pytest.raises(BookError, match="a lacks cite, paper"):
        book_pages.load_chapters(tmp_path)


def test_a_chapter_cites_the_paper_of_its_claims(tmp_path):
    for name in chapter_names(ROOT):
        assert Claims.load(ChapterFiles(ROOT, name).claims).paper == book_pages.load_chapters(ROOT)[name]["cite"]
    write_book(tmp_path)
    with pytest.raises(BookError, match="collapse-and-constraints cites esser-2023, its claims are of tian-2023$"):
        book_pages.generate(tmp_path, [result(chapter="collapse-and-constraints")], {"collapse-and-constraints": {}})


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
        "import sys; from contrastive_dynamics.book.pages import book_pages, claims_page, site_check; "
        "from contrastive_dynamics.book.chapter import results; "
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
    there = [f"book/{page.stem}" for page in BOOK.glob("*.md")]
    assert sorted(listed) == sorted(there + [f"chapters/{name}" for name in chapter_names(ROOT)])


def test_generated_pages_render_without_a_warning(tmp_path):
    """The book with a notebook of one line in place of each chapter; each chapter has claims of the same ids."""
    papers = write_book(tmp_path)
    rows = [r | {"id": f"{p}/{r['anchor']}", "paper": p, "chapter": name} for name, p in papers.items() for r in ALL]
    anchors = " ".join(f'<a id="{row["anchor"]}"></a>' for row in ALL)
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for name in papers:
        text = f"# Chapter\n\n```{{include}} ../book/_generated/{name}-box.md\n```\n\n{anchors}\n"
        cell = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": text}
        notebook = {"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
        (tmp_path / "chapters" / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    stamps = dict.fromkeys(papers, STAMPS["nonlinearity"])
    book_pages.write(tmp_path / "book" / "_generated", book_pages.generate(tmp_path, rows, stamps))
    assert book_pages.copy_mathjax(tmp_path / "book" / "_generated" / "static")
    assert not book_pages.copy_mathjax(tmp_path / "book" / "_generated" / "static")

    from contrastive_dynamics.book.pages.site_check import check_site

    assert check_site(build(tmp_path)) == []
