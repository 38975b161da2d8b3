"""The claims page: one line per claim with its address, what holds first, filters, and the files beside it."""

import csv
import io
import json
from dataclasses import replace

import pytest
from claim_row import OF_EVERY_VERDICT as ALL
from claim_row import result

from clbook.claims.claim_table import NEGATIVE, STAND_INS, VERDICTS
from clbook.common.errors import BookError
from clbook.notebook.claim_result import RunVerdict
from clbook.pages import claim_marks, claim_rows, claims_files
from clbook.pages.claims_page import claims_page
from clbook.pages.thumbnails import Thumbnail


def test_counts_name_every_verdict_in_the_vocabulary_s_order():
    assert claim_marks.counts(["reproduced"]) == dict.fromkeys(VERDICTS, 0) | {"reproduced": 1}
    assert list(claim_marks.counts(row.verdict for row in ALL)) == list(VERDICTS)


def test_an_unknown_verdict_is_refused():
    with pytest.raises(BookError, match="a verdict must be one of reproduced, .*, got proven"):
        claim_marks.counts(["proven"])
    with pytest.raises(BookError, match="a verdict must be one of reproduced, .*, got 'proven'"):
        claim_marks.badge("proven")


def test_a_verdict_shows_by_symbol_and_word():
    for verdict, symbol in VERDICTS.items():
        assert symbol in claim_marks.badge(verdict) and verdict in claim_marks.badge(verdict)
    assert "verdict verdict-with-conditions" in claim_marks.badge("with conditions")
    assert len(set(VERDICTS.values())) == len(VERDICTS)


def test_what_holds_comes_first_then_what_did_not_then_every_claim():
    page = claims_page(ALL, {"tian-2023": "Tian, 2023"})
    headings = ("## What the papers get right", "## What did not hold", "## Every claim", "### Tian, 2023", "## Cite")
    assert [page.index(heading) for heading in headings] == sorted(page.index(heading) for heading in headings)
    head = page[page.index(headings[1]) : page.index(headings[2])]
    assert head.count("Tian, 2023, <a ") == page.count("Tian, 2023, <a ") == len(NEGATIVE) + 2 + len(STAND_INS)
    assert '<a href="claims.html#tian-2023/c5">' in head and "11 claims:" in page[: page.index(headings[0])]


def test_each_claim_is_one_line_with_its_id_as_address_and_its_facets():
    page = claims_page(ALL)
    for row in ALL:
        assert page.count(f'<details class="claim-row" id="{row.id}" ') == 1
    assert page.count('data-verdict="misprint"') == 1 and page.count('data-beyond="no"') == len(ALL)
    assert 'href="../chapters/nonlinearity.html#c3">read it in the chapter' in page


@pytest.mark.parametrize(
    "typed, shown",
    {
        "p_0p_1b_k²/(λ − d_k)": "p<sub>0</sub>p<sub>1</sub>b<sub>k</sub>²/(λ − d<sub>k</sub>)",
        "z^{-1/2}, 2^14, d^bn": "z<sup>−1/2</sup>, 2<sup>14</sup>, d<sup>bn</sup>",
        "K_A,ξ 0; X_0, Y_T": "K<sub>A,ξ</sub> 0; X<sub>0</sub>, Y<sub>T</sub>",
        "M⊥_j": "M⊥<sub>j</sub>",
        "leaky_relu, trend_atoms": "leaky_relu, trend_atoms",
        "$x_i^2$ and `c_0`": "$x_i^2$ and `c_0`",
    }.items(),
)
def test_indices_and_powers_are_set_and_names_of_code_left(typed, shown):
    assert claim_marks.typeset(typed) == shown
    assert shown in claim_marks.labelled("why", typed)
    assert shown in claims_page([result(verdict="misprint", reason=typed)]).split("## Every claim")[0]


def test_a_changed_rule_stands_with_the_old_one_its_verdict_and_the_reason():
    change = {"date": "2026-11-21", "old_rule": "≤ 2", "old_verdict": "undecided", "why": "the control met it"}
    text = "2026-11-21: the control met it. Before, the rule was ≤ 2, the verdict undecided"
    assert text in claim_rows.row(result(changed=(change,)))


def test_a_row_names_what_to_cite():
    made = result(run={"stale": False, "reading": "ee492887e8a7b8c1"})
    assert "cite as <code>tian-2023/eq-8, reading ee492887e8a7</code>" in claim_rows.row(made)
    assert "\n> Contrastive-learning dynamics, executed, claim tian-2023/eq-8, reading ee492887e8a7.\n" in claims_page(
        [made]
    )
    assert "## Cite one claim" not in claims_page([result(verdict="not run")])


def test_claims_beyond_the_paper_are_counted_apart_and_what_is_under_review_says_so():
    ours = result("c9", beyond=True)
    held = result("c8", "undecided", profile="paper", before_review="not reproduced")
    page = claims_page([*ALL[:1], ours, held])
    first = page[page.index("3 claims:") :].splitlines()[0]
    assert first.count("1 reproduced") == 2 and first.index("beyond the paper:") > first.index("1 reproduced")
    assert 'data-beyond="yes"' in page and "of which 1 under review" in page
    assert "of which 0 under review" in claims_page([replace(held, profile="default")])
    assert "Of the 2 statements" in page


def test_the_authors_side_stands_beside_the_measurement():
    row = result(advocate="for large n alone", arms={"advocate": 0.5})
    assert "the authors' side</span> 0.5 (for large n alone)" in claim_rows.row(row)


def test_papers_stand_in_the_order_of_their_titles_and_claims_under_their_paper():
    twin = [replace(row, paper="b", chapter="twin") for row in ALL]
    page = claims_page([*ALL, *twin], {"b": "Twin, 2020", "tian-2023": "Tian, 2023"})
    first, second = page.index("### Twin, 2020"), page.index("### Tian, 2023")
    assert first < page.index('id="b/c0"') < second < page.index('id="tian-2023/c0"')
    assert "Twin, 2020, <a " in page[:first] and "Tian, 2023, <a " in page[:first]


def test_a_claim_that_was_not_run_says_what_it_takes_and_has_no_place_in_the_chapter():
    row = claim_rows.row(result("fig-12", "not run"))
    assert "../chapters/" not in row and '<span class="label">needs</span> a GPU' in row


def test_without_anything_that_failed_there_is_no_such_section():
    assert "What did not hold" not in claims_page([result()])


def test_a_statement_keeps_to_its_line():
    rows = [line for line in claims_page([result()]).splitlines() if "eigenvector" in line]
    assert rows == ["A pattern $u_m$ is an eigenvector | of $A(u_m)$."]


def test_a_picture_is_loaded_when_it_is_needed_and_leads_to_the_full_one():
    thumbnail = Thumbnail("thumbnails/x.png", 320, 200, 'A "line"', "../chapters/nonlinearity.html#nl-x")
    page = claims_page([result()], pictures={"tian-2023/eq-8": thumbnail})
    assert 'loading="lazy" alt="A &quot;line&quot;"' in page and 'href="../chapters/nonlinearity.html#nl-x"' in page
    assert "<img" not in claims_page([result()])


def test_filters_offer_what_there_is_and_stay_hidden_without_a_script():
    form = claim_rows.filter_form([result(), result(data="mnist", beyond=True)], {"tian-2023": "Tian & Co"})
    assert " hidden>" in form and '<option value="mnist">mnist</option>' in form
    assert '<option value="tian-2023">Tian &amp; Co</option>' in form and "beyond the paper</option>" in form


def test_a_box_shows_what_surprised_us_and_only_where_something_did():
    rows = [result(), result("lem-1")]
    page = claims_page(rows, surprising={"tian-2023/lem-1"})
    assert 'name="surprise"' in page and page.count('data-surprise="yes"') == 1
    assert "surprise" not in claims_page(rows)


def test_the_files_beside_the_page_hold_every_claim():
    rows = [*ALL, result("c9", statement="a,\n b")]
    table = list(csv.DictReader(io.StringIO(claims_files.claims_csv(rows))))
    assert [row["id"] for row in table] == [row.id for row in rows] and table[-1]["statement"] == "a, b"
    made = result(run={"stale": False, "reading": "ee49", "parameters": {"n": 3}})
    content = json.loads(claims_files.claims_json([made, result("y", paper="x")]))
    assert content["runs"] == {"nonlinearity/default": {"parameters": {"n": 3}}}
    assert [claim["id"] for claim in content["claims"]] == ["tian-2023/eq-8", "x/y"]
    assert content["claims"][0]["run"] == {"stale": False, "reading": "ee49"}


def test_an_interval_is_shown_only_if_it_has_a_width():
    point, wide = result(), result(arms={"observed": {"hits": 1, "trials": 4}})
    assert "interval</span>" not in claim_rows.row(point)
    assert "interval</span> 0.02" in claim_rows.row(wide)


def test_stale_results_changed_rules_and_other_profiles_are_told():
    row = claim_rows.row(
        result(
            run={"stale": True},
            by_chance=True,
            changed=[{"date": "2026-01-02", "old_rule": "≤ 1", "old_verdict": "undecided", "why": "too tight"}],
            recurs={"paper": ["reproduced", "undecided", "reproduced"], "small": ["reproduced"]},
            verdicts=(RunVerdict("paper", "generated", "undecided", {}, stale=True),),
        )
    )
    for told in (
        "made by older code",
        "2026-01-02: too tight",
        "reproduced in 3 of 4, undecided in 1 of 4 blocks of seeds (3 of the size paper, 1 of the size small)",
        "1000 to 1009",
        "paper, generated",
        "(older code)",
    ):
        assert told in row


def test_a_form_that_meets_the_rule_is_a_correction_only_where_the_verdict_says_so():
    assert "mended form</span> 0.5" in claim_rows.row(result(verdict="misprint", arms={"mended": 0.5}))
    assert "another form</span> 0.5" in claim_rows.row(result(verdict="undecided", arms={"mended": 0.5}))
