"""The errata: both forms and the run that tells them apart, in the words of verdicts and claims files alone."""

import pytest
import yaml
from checkout import ROOT
from claim_row import result

from clbook.claims.claim_table import Claims
from clbook.common.errors import BookError
from clbook.pages.errata_page import errata_page, load_notes

SLIP = result("eq-11", "misprint", reason="a sign", rule={"at_most": 0}, arms={"observed": 0.04, "mended": -0.04})


def test_a_misprint_shows_both_forms_and_the_run_that_tells_them_apart():
    page = errata_page([SLIP], titles={"tian-2023": "Tian, 2023"})
    assert '<article class="erratum" id="tian-2023/eq-11"><h3>Tian, 2023, Eq. (8)</h3>' in page
    assert "mended</span> a sign" in page and "no gate: 0.41" in page
    assert "Required was at most 0; the printed form gives 0.04, the mended one -0.04." in page
    assert "nothing that the paper concludes rests on the printed form" in page
    assert "No contradiction stands" in page


def test_a_contradiction_stands_with_the_reading_of_its_authors():
    arms = {"mended": 1e-12, "advocate": 0.7}
    page = errata_page([result("thm-2", "contradicted", arms, reason="fails at 2", advocate="for large n")])
    assert "the authors' side</span> for large n: 0.7" in page
    assert "No contradiction stands" not in page and "## Misprints" not in page


def test_what_is_under_review_is_counted_and_not_accused():
    left = {"reason": "the rule ≤ 1 is missed; not run", "profile": "paper", "before_review": "contradicted"}
    row = result("thm-3", "undecided", arms={"mended": 0.1}, **left)
    page = errata_page([SLIP, row])
    assert "1 further claims" in page and "thm-3" not in page


def test_a_bound_that_holds_in_a_range_is_no_slip():
    row = result("eq-156", "with conditions", reason="leads of at most 1", arms={"mended": 0.0})
    page = errata_page([row, result("eq-9", "with conditions", reason="b = 0")])
    part = page[page.index("## Statements whose range") :]
    assert "leads of at most 1" in part and "eq-9" not in page


def test_a_note_is_shown_in_the_words_of_the_claims_file_alone():
    holds = result("eq-7", note="Two things. A minus sign is missing.")
    note = {"claim": "tian-2023/eq-7", "words": "A minus sign is missing."}
    page = errata_page([holds], [note])
    assert "noted</span> A minus sign is missing." in page and "seen on reading" in page and "Two things" not in page
    told = errata_page([holds], [note | {"printed": "control"}])
    assert "the printed form gives 0.41, the mended one relu 3.25e-14" in told
    with pytest.raises(BookError, match="tian-2023/eq-7: its note does not say 'A plus'"):
        errata_page([holds], [note | {"words": "A plus"}])
    with pytest.raises(BookError, match="no claim tian-2023/eq-70"):
        errata_page([holds], [note | {"claim": "tian-2023/eq-70"}])


def test_the_book_s_notes_are_words_of_its_claims_files():
    papers = [Claims.load(path) for path in (ROOT / "chapters").glob("*/claims.yaml")]
    said = {f"{claims.paper}/{row.id}": row.note for claims in papers for row in claims.rows.values()}
    notes = load_notes(ROOT)
    assert len(notes) > 2 and all(note["words"] in said[note["claim"]] for note in notes)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"claim": "a/b"}, "must have claim, words"),
        ({"claim": "a/b", "words": "x", "run": 1}, "must have claim, words"),
        ({"claim": "a/b", "words": "x", "printed": "mended"}, "a/b: printed must be control, got 'mended'"),
    ],
)
def test_an_entry_without_its_fields_is_refused(tmp_path, entry, told):
    (tmp_path / "book").mkdir()
    assert load_notes(tmp_path) == []
    (tmp_path / "book" / "errata.yaml").write_text(yaml.safe_dump([entry]), encoding="utf-8")
    with pytest.raises(BookError, match=told):
        load_notes(tmp_path)
