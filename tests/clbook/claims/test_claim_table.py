"""Claims: every verdict by its definition, every fault of a claims file named."""

import pytest
from claim_row import ROW

from clbook.claims.claim_table import NEGATIVE, VERDICTS, Claim, Claims
from clbook.claims.judging import Reading, judge, judge_all, over_blocks
from clbook.common.errors import BookError

BREAK = {"in": "losses.activations", "old": "LEAK = 0.05", "new": "LEAK =\n0.06"}


def claim(**changes):
    return Claim.parse(ROW | changes, "file.yaml")


def verdict(row, data="generated", **arms):
    return judge(row, Reading.of(**{"control": 2.0, **arms}), data=data)


def fair(**changes):
    """A claim whose authors' side has been written down; its arm must be run, too."""
    return claim(advocate="the rule for large n alone", **changes)


def test_met_is_reproduced_and_missed_is_not_reproduced():
    assert verdict(claim(), observed=0.5).verdict == "reproduced"
    assert verdict(fair(), observed=1.5, advocate=1.6).verdict == "not reproduced"


def test_the_worst_case_counts():
    assert verdict(claim(), observed={"a": 0.1, "b": 1.5}).before_review == "not reproduced"
    assert verdict(claim(), observed={"a": 0.1, "b": [0.5, 1.4]}).before_review == "undecided"
    assert verdict(claim(), observed={"a": 1.5, "b": [0.5, 1.4]}).before_review == "not reproduced"


@pytest.mark.parametrize("control", [0.5, [0.5, 1.4], {"a": 2.0, "b": 0.5}, {}])
def test_a_control_that_does_not_miss_leaves_it_undecided(control):
    found = verdict(claim(), observed=0.5, control=control)
    assert found.verdict == "undecided" and "control" in found.reason


def test_undecided_says_how_many_seeds_would_decide():
    found = verdict(claim(), observed=[0.5, 1.4, 0.9, 0.8])
    assert found.verdict == "undecided" and "4 seeds, about" in found.reason and "contains 1;" in found.reason
    assert "no number of seeds would decide" in verdict(claim(), observed=[0.5, 1.5]).reason


def test_a_number_of_seeds_is_named_only_if_it_would_decide():
    """A miss without the authors' side stays open; of several cases the slowest counts, and both ends of a range."""
    above = [0.9, 1.6, 1.1, 1.2]
    assert "no number of seeds would decide" in verdict(claim(), observed=above).reason
    assert "about" in verdict(claim(beyond=True), observed=above).reason
    assert "about" in verdict(claim(stand_in="small"), observed=above).reason
    near, nearer = [0.5, 1.4, 0.9, 0.8], [0.7, 1.4, 0.9, 0.9]
    alone, both = (verdict(claim(), observed=cases).reason for cases in ({"b": nearer}, {"a": near, "b": nearer}))
    assert "the interval of b contains" in alone and alone.partition("about")[2] == both.partition("about")[2]
    ranged = verdict(claim(rule={"between": [0.0, 1.0]}), observed=[0.3, 1.2, 0.9, 0.8]).reason
    assert ranged.partition("about")[2] == verdict(claim(), observed=[0.3, 1.2, 0.9, 0.8]).reason.partition("about")[2]


def test_a_value_that_is_a_group_of_images_is_no_seed():
    reason = verdict(claim(), observed={"over images": [0.5, 1.4, 0.9, 0.8]}).reason
    assert "the interval over images contains 1; 4 values, about" in reason and "seed" not in reason


def test_contradicted_needs_an_erratum_and_a_mended_form_that_meets_the_rule():
    erratum = fair(erratum="a factor 2")
    missed = {"observed": 1.5, "advocate": 1.5}
    assert verdict(erratum, **missed, mended=0.1).verdict == "contradicted"
    assert verdict(erratum, **missed, mended=0.1).reason == "a factor 2"
    assert verdict(erratum, **missed, mended=1.5).verdict == "not reproduced"
    assert verdict(erratum, **missed).verdict == "not reproduced"
    assert verdict(fair(), **missed, mended=0.1).verdict == "not reproduced"
    assert verdict(erratum, observed=0.5, mended=0.1).verdict == "reproduced"


def test_a_mended_form_that_the_run_does_not_decide_leaves_the_claim_undecided():
    found = verdict(fair(erratum="a factor 2"), observed=1.5, advocate=1.5, mended=[0.5, 1.4, 0.9, 0.8])
    assert found.verdict == "undecided" and "mended form" in found.reason


def test_a_planted_case_that_misses_takes_the_contradiction_back():
    erratum = fair(erratum="a factor 2")
    missed = {"observed": 1.5, "advocate": 1.5}
    assert verdict(erratum, **missed, mended=0.1, planted=0.2).verdict == "contradicted"
    assert verdict(erratum, **missed, planted=0.2).verdict == "contradicted"
    assert verdict(erratum, **missed, mended=0.1, planted=1.2).verdict == "not reproduced"


NEGATIVES = {"contradicted": {"erratum": "a factor 2"}, "not reproduced": {}, "vacuous": {"vacuous": "n > n"}}


@pytest.mark.parametrize("word", NEGATIVE)
def test_a_negative_verdict_without_an_advocate_is_refused(word):
    """Neither a note without a run nor a run without a note suffices; if the authors' reading is met, it wins."""
    row, missed = NEGATIVES[word], {"observed": 1.5, "mended": 0.1}
    assert verdict(fair(**row), **missed, advocate=1.5).verdict == word
    for entry, arms in ((claim(**row), {"advocate": 1.5}), (fair(**row), {}), (claim(**row), {})):
        found = verdict(entry, **missed, **arms)
        assert (found.verdict, found.before_review) == ("undecided", word)
        assert found.reason.startswith("the rule ≤ 1 is missed; a reading under which the authors are right")
    found = verdict(fair(**row), **missed, advocate={"a": 0.5, "b": 0.9})
    assert (found.verdict, found.reason) == ("with conditions", "read so: the rule for large n alone")
    assert verdict(fair(**row), **missed, advocate={"a": 0.5, "b": 1.9}).verdict == word


def test_a_claim_of_ours_needs_no_advocate():
    assert verdict(claim(beyond=True), observed=1.5).verdict == "not reproduced"


def test_a_misprint_is_no_negative_verdict():
    row = claim(erratum="a sign", slip="misprint")
    found = verdict(row, observed=1.5, mended=0.1)
    assert (found.verdict, found.reason) == ("misprint", "a sign") and "misprint" not in NEGATIVE
    assert verdict(row, observed=1.5, mended=1.1).before_review == "not reproduced"
    assert verdict(row, observed=1.5).before_review == "not reproduced"
    assert verdict(row, observed=0.5).verdict == "reproduced"


def test_on_a_stand_in_a_statement_is_seen_or_not_and_counts_for_nobody():
    row = claim(stand_in="a smaller network", conditions="wide enough", erratum="a sign")
    met, missed = verdict(row, observed=0.5, outside=1.5), verdict(row, observed=1.5, mended=0.5)
    assert (met.verdict, missed.verdict) == ("seen", "not seen") and met.condition == missed.condition == "stand-in"
    assert met.reason == missed.reason == "a smaller network"
    assert verdict(row, observed=[0.5, 1.4, 0.9, 0.8]).verdict == "undecided"
    assert verdict(row, observed=0.5, control=0.5).verdict == "undecided"


def test_with_conditions_needs_a_failure_outside():
    row = claim(conditions="wide enough")
    assert verdict(row, observed=0.5, outside=1.5).verdict == "with conditions"
    assert verdict(row, observed=0.5, outside={"a": 1.5, "b": 0.5}).verdict == "undecided"
    assert verdict(row, observed=0.5).verdict == "reproduced"


def test_other_data_than_the_named_ones_are_a_stand_in():
    row = claim(data="cifar10")
    for observed, word in ((0.5, "seen"), (1.5, "not seen")):
        found = verdict(row, data="digits", observed=observed)
        assert (found.verdict, found.reason) == (word, "digits in place of cifar10")
    assert verdict(row, data="cifar10", observed=0.5).verdict == "reproduced"
    both = verdict(claim(data="cifar10", stand_in="a small network"), data="digits", observed=0.5)
    assert both.reason == "a small network; digits in place of cifar10"


def test_what_other_blocks_of_seeds_do_not_repeat_is_open():
    found = verdict(claim(), observed=0.5)
    assert over_blocks(found, []) == over_blocks(found, ["reproduced"] * 3) == found
    open_one = over_blocks(found, ["reproduced", "undecided", "not reproduced"])
    assert (open_one.verdict, open_one.reason) == (
        "undecided",
        '"reproduced" in 2 of 4 blocks of seeds, not in all, so it stays open',
    )
    undecided = verdict(claim(), observed=[0.5, 1.4])
    assert over_blocks(undecided, ["reproduced"] * 3) == undecided


def test_a_claim_without_a_rule_cannot_be_judged():
    row = Claim.parse({k: ROW[k] for k in ("id", "locator", "statement", "kind")} | {"needs": "a GPU"}, "f")
    with pytest.raises(BookError, match=r"thm-1 has no rule: it is listed as not run \(a GPU\)"):
        verdict(row, observed=1.0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "guess"}, "file.yaml: claim thm-1: kind must be one of identity, bound"),
        ({"colour": "red"}, "unknown colour; allowed are"),
        ({"rule": {"below": 1}}, "claim thm-1: rule must be one of"),
        ({"slip": "typo", "erratum": "e"}, "slip must be one of misprint, got 'typo'"),
        ({"slip": "misprint"}, "a misprint needs its corrected form under erratum"),
        ({"breaks": {"in": "losses.activations", "old": "a"}}, "breaks: missing new"),
        ({"changed": [{"date": "2026-11-21", "why": "a slip"}]}, "changed[0]: missing old_rule"),
        (
            {"breaks": [BREAK, BREAK | {"module": "a"}]},
            "breaks[1]: unknown module; allowed are in, new, old",
        ),
        ({"breaks": BREAK | {"old": 1}}, "breaks.old must be a text, got 1"),
        ({"breaks": "LEAK"}, "breaks must be an object or a list, got 'LEAK'"),
        ({"breaks": []}, "breaks must have ≥ 1 entries, got a list without entries"),
        ({"data": "minst"}, "claim thm-1: data must be one of generated, scenes, digits"),
        ({"in": "margin"}, "in must be one of chapter, appendix, got 'margin'"),
        ({"beyond": "yes"}, "beyond must be true or false, got 'yes'"),
    ],
)
def test_a_faulty_row_is_named(changes, said):
    with pytest.raises(BookError) as caught:
        claim(**changes)
    assert said in str(caught.value)


def test_one_line_to_break_is_a_list_of_one_and_no_part_of_the_rule():
    assert claim().breaks == () and claim(breaks=BREAK).breaks == claim(breaks=[BREAK]).breaks == (BREAK,)
    assert claim(breaks=[BREAK, BREAK | {"parameters": {"seeds": 3}}]).breaks[1]["parameters"] == {"seeds": 3}
    assert claim(breaks=BREAK).verdict_key() == claim().verdict_key()


@pytest.mark.parametrize("field", sorted(ROW.keys() - {"id"}))
def test_a_missing_field_is_named(field):
    with pytest.raises(BookError, match=f"claim thm-1: missing {field}"):
        Claim.parse({k: v for k, v in ROW.items() if k != field}, "file.yaml")


def load(tmp_path, text):
    path = tmp_path / "small" / "small.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return Claims.load(path)


HEAD = "paper: p\ntitle: t\nlabels: {theorem: 1}\nclaims:\n"
NOT_RUN = "- {id: a, locator: l, statement: s, kind: bound, needs: time}\n"


def test_a_claims_file_is_read_and_its_faults_named(tmp_path):
    claims = load(tmp_path, HEAD + NOT_RUN)
    assert (claims.paper, claims.labels) == ("p", {"theorem": 1})
    assert claims.rows["a"].rule is None and claims.rows["a"].needs == "time"
    with pytest.raises(BookError, match="small.yaml, line 6: claim a occurs twice"):
        load(tmp_path, HEAD + NOT_RUN + NOT_RUN)
    with pytest.raises(BookError, match="small.yaml, line 1: not readable as YAML"):
        load(tmp_path, "claims: [")
    with pytest.raises(BookError, match="small.yaml, line 6: claim b: missing"):
        load(tmp_path, HEAD + NOT_RUN + "- {id: b, locator: l}\n")
    with pytest.raises(BookError, match="small.yaml, line 5: claim a: data must be one of .* got 'minst'"):
        load(tmp_path, HEAD + NOT_RUN.replace("needs", "data: minst, needs"))
    for text, said in (
        ("[]", "it must be an object"),
        ("claims: {}", "claims must be a list"),
        ("paper: p", "missing"),
        (HEAD.replace("1}", "'4.1'}") + NOT_RUN, "labels.theorem must be a whole number or a list, got '4.1'"),
    ):
        with pytest.raises(BookError, match=f"small.yaml: {said}"):
            load(tmp_path, text)


def test_a_chapter_without_a_paper_has_its_own_name_and_no_labels(tmp_path):
    claims = load(tmp_path, "claims:\n" + NOT_RUN.replace("needs", "beyond: true, in: appendix, needs"))
    assert (claims.paper, claims.title, claims.labels) == ("small", "small", {})
    assert claims.rows["a"].beyond and claims.rows["a"].place == "appendix"


def test_the_wording_is_not_part_of_what_a_result_depends_on():
    assert claim(statement="Other.").verdict_key() == claim().verdict_key()
    for change in (
        {"rule": {"at_most": 2.0}},
        {"by_chance": True},
        {"erratum": "e"},
        {"data": "digits"},
        {"advocate": "a"},
        {"stand_in": "small"},
    ):
        assert claim(**change).verdict_key() != claim().verdict_key()


def test_a_reading_survives_being_stored():
    reading = Reading.of(observed={"hits": 3, "trials": 4}, control={"a": [1, 2], "b": 3}, mended=None)
    assert list(reading.observed) == [""] and list(reading.control) == ["a", "b"] and reading.mended == {}
    assert Reading.of(**reading.to_json()) == reading


def test_no_verdict_depends_on_another_claim():
    rows = {f"c{k}": claim(id=f"c{k}", by_chance=True) for k in range(40)}
    near = Reading.of(observed=[0.7, 0.72, 0.75, 0.78, 0.74], control=2.0)
    alone, among = (judge_all(Claims("p", "t", {}, rows), dict.fromkeys(ids, near)) for ids in (["c0"], rows))
    assert alone["c0"] == among["c0"] == judge(rows["c0"], near) and among["c39"].verdict == "reproduced"


def test_the_vocabulary_is_told_apart_by_shape():
    assert len(set(VERDICTS.values())) == len(VERDICTS) == 11
