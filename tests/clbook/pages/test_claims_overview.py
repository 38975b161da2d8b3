"""The top of the claims page: which printed result holds, and how many verdicts could be luck."""

import pytest
from checkout import ROOT
from claim_row import result

from clbook.claims.claim_table import VERDICTS
from clbook.claims.judging import CONDITIONS
from clbook.pages import claims_overview


@pytest.mark.parametrize(
    ("label", "locator", "shown"),
    [
        ("thm-4-a", "Theorem 4, eq. (163)", ("Theorem", "4")),
        ("lem-a4", "Corollary A.4", ("Corollary", "A.4")),
        ("lem-b1", "Lemmas 5.1 and B.1", ("Lemma", "B.1")),
        ("thm-4.3a-2", "Theorem 4.3 (a)", ("Theorem", "4.3 (a)")),
        ("fig-10-b", "Figures 4 and 10; Section 5.1", ("Figure", "10")),
        ("lem-1", "Lemma 11", ("Lemma", "1")),
        ("eq-8", "eq. (8)", None),
        ("fn-4", "footnote 4", None),
    ],
)
def test_the_printed_result_that_a_claim_belongs_to(label, locator, shown):
    assert claims_overview.label_of(result(label, locator=locator)) == shown


def test_a_remark_beside_a_theorem_does_not_stand_for_it():
    """A theorem whose statement holds is not shown as conditional because a sentence below it is."""
    remark = result("thm-1-a", "with conditions", locator="below Theorem 1", of="remark")
    assert claims_overview.label_of(remark) is None
    (_, rows, others), *_ = [("", *claims_overview._paper_rows([result("thm-1", locator="Theorem 1"), remark]))]
    ((_, cells),) = rows
    assert [len(cell) for cell in cells] == [1, 0, 0, 0] and others == [0, 1, 0, 0]


def test_the_table_puts_a_result_where_its_weakest_part_stands():
    rows = [
        result("thm-2", locator="Theorem 2"),
        result("thm-10", "misprint", locator="Theorem 10"),
        result("thm-1", locator="Theorem 1"),
        result("thm-1-a", "undecided", locator="Theorem 1"),
        result("fig-3", "with conditions", locator="Figure 3"),
        result("fig-4", "not run", locator="Figure 4"),
        result("thm-5", beyond=True, locator="Theorem 5"),
        result("thm-6", "undecided", locator="Theorem 6"),
        result("thm-7", "contradicted", locator="Theorem 7"),
        result("thm-7-a", locator="Theorem 7"),
        result("thm-8", "vacuous", locator="Theorem 8"),
    ]
    table = claims_overview.right_table(rows, {})
    holds, conditions, rest = (part.split("</td>")[0] for part in table.split('data-label="')[1:4])
    assert holds.index("Theorem 2<") < holds.index("Theorem 10 (a misprint)<") and "Theorem 1 " not in holds
    assert "Theorem 1 (1 of 2 open)<" in rest and "Theorem 6 (open)<" in rest and "Theorem 7 (1 of 2 failed)<" in rest
    assert "Theorem 8 (failed)<" in rest
    assert conditions.endswith(">")
    assert "Figure 4 (not run)" in table and "Theorem 5" not in table


def test_conditions_are_counted_by_kind_with_an_example():
    rows = [result(f"c{k}", "with conditions", condition=kind) for k, kind in enumerate(("reading", "range", "range"))]
    text = claims_overview.conditions_text([result(), *rows])
    assert '2 within a range (for example <a href="claims.html#tian-2023/c1">' in text
    assert "1 under one reading" in text and "stand-in" not in text
    assert claims_overview.conditions_text([result()]) == "At present there is none.\n"


def test_the_page_on_judging_explains_every_verdict_and_every_kind_of_condition():
    page = (ROOT / "book" / "judging.md").read_text(encoding="utf-8")
    for verdict, symbol in VERDICTS.items():
        assert f"\n| {symbol} {verdict} | " in page
    for kind in CONDITIONS.values():
        assert f"\n| {kind} | " in page


def test_luck_counts_only_what_was_decided_by_chance():
    luck = claims_overview.luck_text
    assert "No verdict here was decided by chance" in luck([result()])
    chance = [result(by_chance=True), result("x", by_chance=True), result("y", "not run", by_chance=True)]
    text = luck([*chance, result("z")])
    assert "2 of these verdicts" in text and "0.25 % of them, 0.005, can" in text and "blocks" not in text
    repeated = [
        result(by_chance=True, recurs={"paper": words}) for words in (["reproduced"] * 4, ["seen", "undecided"])
    ]
    assert "2 of them were repeated, 1 recur on all; the others are open." in luck(repeated)


def test_what_is_on_a_stand_in_has_a_column_of_its_own():
    rows = [result("fig-1", "seen", locator="Figure 1"), result("fig-1-a", "not seen", locator="Figure 1")]
    rows += [result("fig-2", locator="Figure 2"), result("fig-2-a", "seen", locator="Figure 2")]
    table = claims_overview.right_table(rows, {})
    apart = table.split('data-label="on a stand-in"')[1]
    assert (
        "Figure 1 (1 of 2 seen, 1 of 2 not seen)" in apart.replace(">1 (", ">Figure 1 (") or "1 of 2 not seen" in apart
    )
    said = claims_overview.summary_sentence(rows)
    assert said.startswith("Of the 1 statements") and "2 more were seen, 1 not" in said
