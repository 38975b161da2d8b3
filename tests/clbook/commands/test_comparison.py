"""Comparison of two runs: what changed, and how much of it exceeds the noise of the seeds."""

from copy import deepcopy

import pytest
from checkout import ROOT
from stand_in import SOURCE, build_stand_in
from typer.testing import CliRunner

from clbook import cli
from clbook.commands.comparison import compare, read_stamp, summary, worth_showing
from clbook.common.errors import BookError
from clbook.common.sources import ChapterFiles


@pytest.fixture
def stamp(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return read_stamp(build_stand_in(tmp_path).notebook)


def changed(stamp, claim="fig-1", **how):
    other = deepcopy(stamp)
    other["parameters"] |= how.pop("parameters", {})
    if "observed" in how:
        other["readings"][claim]["observed"] = how["observed"]
    return other


def test_a_run_beside_itself_has_no_changes(stamp):
    assert compare(stamp, deepcopy(stamp)) == []


def test_one_seed_block_is_paired_by_seed(stamp):
    """Each seed is higher by 0.1 ± 0.001; unpaired means of four seeds would hide this in their spread."""
    first = stamp["readings"]["fig-1"]["observed"][""]
    later = [v + 0.1 + 0.001 * (-1) ** k for k, v in enumerate(first)]
    (change,) = compare(stamp, changed(stamp, observed={"": later}))
    assert (change.claim, change.case, change.turned) == ("fig-1", "", False)
    assert change.noise == pytest.approx(3.1824 * 0.001 * (4 / 3) ** 0.5 / 2, rel=1e-4)  # t with 3 degrees of freedom
    assert change.beyond == pytest.approx(0.1 - change.noise)


def test_other_seeds_are_held_against_both_spreads(stamp):
    other = changed(stamp, observed={"": [1.01, 1.02, 1.0, 1.05]}, parameters={"first_seed": 2000})
    (change,) = compare(stamp, other)
    from scipy import stats

    first = stamp["readings"]["fig-1"]["observed"][""]
    found = stats.ttest_ind([1.01, 1.02, 1.0, 1.05], first, equal_var=False).confidence_interval(0.95)
    assert change.noise == pytest.approx((found.high - found.low) / 2) and change.beyond == 0.0


def test_a_verdict_that_turns_and_a_number_without_spread(stamp):
    (change,) = compare(stamp, changed(stamp, "thm-1", observed={"": 0.5}))
    assert change.verdicts == ("reproduced", "not reproduced") and change.turned
    assert (change.before, change.after, change.noise, change.beyond) == (0.0, 0.5, 0.0, 0.5)


def test_claims_and_cases_that_one_run_lacks(stamp):
    other = changed(stamp, observed={"small": [1.0, 1.01, 1.02, 1.0]})
    del other["readings"]["thm-1"]
    found = {(c.claim, c.case): (c.before, c.after) for c in compare(stamp, other)}
    assert found[("thm-1", "")] == (0.0, None)
    assert found[("fig-1", "small")][0] is None and found[("fig-1", "")][1] is None


def test_shares_are_compared_by_their_counts(stamp):
    def of(hits, trials=100):
        return changed(stamp, observed={"": {"hits": hits, "trials": trials}})

    from scipy import stats

    (change,) = compare(of(50), of(55))
    low, high = (stats.binomtest(hits, 100).proportion_ci(method="wilson") for hits in (50, 55))
    assert change.noise == pytest.approx(((0.55 - high.low) ** 2 + (low.high - 0.5) ** 2) ** 0.5)
    assert change.beyond == 0 and compare(of(5), of(95))[0].beyond > 0.7
    for hits in (0, 3):  # at the edge a share varies, too
        (change,) = compare(of(hits, 3), of(3 - hits, 3))
        assert change.noise > 0.6


def test_the_intervals_hold_for_all_cases_together(stamp):
    from scipy import stats

    first = stamp["readings"]["fig-1"]["observed"][""]
    later = [v + 0.1 + 0.001 * (-1) ** k for k, v in enumerate(first)]
    one = changed(stamp, observed={"a": first, "b": first, "c": first})
    for change in compare(one, changed(stamp, observed={"a": later, "b": first, "c": later})):
        assert change.noise == pytest.approx(stats.t.ppf(1 - 0.025 / 3, 3) * stats.sem([0.001, -0.001] * 2))


def test_what_noise_a_number_has_with_other_seeds_is_unknown(stamp):
    (change,) = compare(stamp, changed(stamp, "thm-1", observed={"": 0.5}, parameters={"first_seed": 2000}))
    assert (change.noise, change.beyond, change.turned) == (None, 0.0, True)


def test_rounding_of_an_identity_is_no_change_and_infinite_numbers_are(stamp):
    def of(value, claim="thm-1"):
        return changed(stamp, claim, observed={"": value})

    assert compare(of(1.1e-16), of(2.2e-16)) == [] and compare(of(float("inf")), of(float("inf"))) == []
    (change,) = compare(of(1e-3), of(float("inf")))
    assert (change.noise, change.beyond) == (None, 0.0)


def test_the_command_lists_what_changed(stamp, tmp_path, monkeypatch):
    """Two runs that differ in one line: the second has a factor of three instead of two."""
    monkeypatch.setenv("COLUMNS", "120")
    for name, factor in (("before", "2 * scale"), ("after", "3 * scale")):
        source = SOURCE.replace("abs(double - 2 * scale)", f"abs(double - {factor})")
        (tmp_path / name).mkdir()
        build_stand_in(tmp_path, source=source).notebook.rename(tmp_path / name / "stand-in.ipynb")
    done = CliRunner().invoke(cli.app, ["compare", str(tmp_path / "before"), str(tmp_path / "after")])
    assert done.exit_code == 0 and "thm-1 " in done.output and "0 → 1" in done.output
    assert "● reproduced → ○ not reproduced" in done.output
    assert done.output.splitlines()[:4] == [  # before the table
        "parameters that differ: none",
        "1 verdict differs: thm-1",
        "1 statistic differs by more than seed noise: thm-1",
        "the largest of these: thm-1, 0 → 1",
    ]


def test_a_long_comparison_lists_what_matters_and_counts_the_rest(stamp):
    numbers = {f"case {n}": float(n) for n in range(40)}
    first, other = changed(stamp, observed=numbers), changed(stamp, observed={k: v + 1 for k, v in numbers.items()})
    changes = compare(first, other)
    lines = summary(changes, first, other)
    assert len(changes) == 40 and len(worth_showing(changes)) == 12
    assert len(lines) <= 5 and max(map(len, lines)) < 200 and "and 34 more" in lines[2]


def test_a_notebook_stands_for_both_of_its_chapter(monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(ROOT))
    parts = ChapterFiles.find("feature-decoupling", ROOT).notebooks
    one, other = (read_stamp(part.notebook) for part in parts)
    assert one["readings"].keys() == other["readings"].keys() and "forget" in one["readings"]


def test_what_differs_is_counted_and_named(stamp):
    other = changed(stamp, observed={"a": [2.0, 2.1, 2.2, 2.0], "b": 3.0}, parameters={"scale": 2.0, "mode": "fancy"})
    other["readings"]["thm-1"]["observed"] = {"": 1.0}
    first = changed(stamp, observed={"a": [1.0, 1.1, 1.2, 1.0], "b": 1.0})
    assert summary(compare(first, other), first, other) == [
        "parameters that differ: scale 1.0 → 2.0, mode plain → fancy",
        "1 verdict differs: thm-1",
        "3 statistics differ by more than seed noise: thm-1, fig-1 b, fig-1 a",
        "the largest of these: thm-1, 0 → 1",
    ]
    del other["parameters"]["mode"], other["readings"]["thm-1"]
    lines = summary(compare(first, other), first, other)
    assert (lines[1], lines[-1]) == ("no verdict differs", "judged in one of the runs alone: thm-1")
    assert summary([], first, other)[0] == "parameters that differ: scale 1.0 → 2.0, mode plain → none"


def test_runs_that_do_not_differ_have_no_table(stamp, tmp_path):
    done = CliRunner().invoke(cli.app, ["compare", *[str(tmp_path / "chapters" / "stand-in.ipynb")] * 2])
    assert done.stdout.splitlines() == [
        "parameters that differ: none",
        "no verdict differs",
        "no statistic differs by more than seed noise",
    ]


def test_what_is_no_run_is_one_line(stamp, tmp_path):
    (tmp_path / "x.json").write_text("[1, 2]")
    (tmp_path / "empty").mkdir()
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff\xfe")
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "off.ipynb").write_text('{"cells": [')
    for path in (tmp_path / name for name in ("x.json", "none.ipynb", "gone.json", "picture.png", "cut")):
        with pytest.raises(BookError, match="a run's folder, an executed notebook or a record"):
            read_stamp(path)
    with pytest.raises(BookError, match="must be the folder of one run, got 0 executed notebooks"):
        read_stamp(tmp_path / "empty")
    assert read_stamp(tmp_path / "chapters")["chapter"] == "stand-in"
    with pytest.raises(BookError, match="both runs must be of one chapter, got stand-in and other"):
        compare(stamp, stamp | {"chapter": "other"})
