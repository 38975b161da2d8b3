"""The part of a reading that is recomputed where the whole is too dear."""

import json

import pytest
from checkout import ROOT
from stand_in_record import GRID, GRID_CLAIMS, SEEDED, recorded

from clbook.commands import verify, verify_plan
from clbook.commands.parts import counts_runs, few_cases, part_of
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.provenance.digests import ChapterDigests
from clbook.provenance.slices import ChapterCode

pytest.importorskip("torch")


def test_few_seeds_are_a_part_of_the_block_that_is_drawn(tmp_path, monkeypatch):
    files = recorded(tmp_path, monkeypatch, SEEDED, "seeds: 12\n")
    stamp = json.loads(files.record("paper").read_text())["run"]
    digests = ChapterDigests(ChapterCode(files), stamp["parameters"])
    found = {part_of(digests, stamp, "fig-1", str(n)).start for n in range(200)}
    assert found == set(range(10)) and part_of(digests, stamp, "thm-1", "x") is None
    few = part_of(digests, stamp, "fig-1", "x")
    assert few.parameters["first_seed"] == 1000 + few.start and few.parameters["seeds"] == few.count == 3
    assert few.cut({"observed": {"": list(range(12))}}, {"observed": {"": [9, 8, 7]}})[0] == {
        "observed": {"": [few.start, few.start + 1, few.start + 2]}
    }


def test_of_a_grid_a_few_networks_per_cell_are_a_part(tmp_path, monkeypatch):
    files = recorded(tmp_path, monkeypatch, GRID, "networks: 12\n", GRID_CLAIMS)
    stamp = json.loads(files.record("paper").read_text())["run"]
    assert {arm: list(cases) for arm, cases in stamp["readings"]["fig-1"].items()} == dict.fromkeys(
        ("observed", "control", "advocate"), ["wide: β = 1", "wide: β = 2"]
    )
    few = part_of(ChapterDigests(ChapterCode(files), stamp["parameters"]), stamp, "fig-1", "x")
    assert (few.parameters["networks"], few.start, few.count, few.share) == (3, 0, 3, 0.25)
    stored, _ = few.cut(stamp["readings"]["fig-1"], stamp["readings"]["fig-1"])
    assert stored["observed"] == {"wide: β = 1": [1.0, 1.01, 1.02], "wide: β = 2": [2.0, 2.01, 2.02]}


WIDTHS = GRID.replace("networks: int", "widths: list[int] = [1, 2]  # β, 1..9\nnetworks: int")
WIDTHS = WIDTHS.replace("for b in (1, 2)", "for b in widths")
PART = "  part: {parameters: {widths: [2], networks: 3}, share: 0.1}\n"


def test_a_row_names_few_cases_and_networks_and_verify_compares_these(tmp_path, monkeypatch):
    claims = GRID_CLAIMS.replace("  control: the opposite sign\n", "  control: the opposite sign\n" + PART)
    recorded(tmp_path, monkeypatch, WIDTHS, "networks: 12\n", claims)
    monkeypatch.setattr(verify_plan, "WHOLE_BELOW_SECONDS", -1.0)
    (job,) = verify_plan.in_parts(verify_plan.jobs(tmp_path, "stand-in", ["fig-1"], "paper"), "x")
    assert (job.part.parameters["widths"], job.part.parameters["networks"], job.part.share) == ([2], 3, 0.1)
    again = verify.run_again(str(tmp_path), "stand-in", job.parameters, "paper", ["fig-1"])
    assert verify.compare(job, "fig-1", again).message == verify.SAME
    stored = job.stored.stamp["readings"]["fig-1"]["observed"]
    stored["wide: β = 1"][0] = stored["wide: β = 2"][5] = 9.0  # neither is drawn
    assert not verify.compare(job, "fig-1", again).wrong
    stored["wide: β = 2"][1] = 9.0
    assert verify.compare(job, "fig-1", again).wrong
    del stored["wide: β = 2"]
    assert verify.compare(job, "fig-1", again).wrong  # a case that the smaller run has is not stored


@pytest.mark.parametrize("parameters", [{"widths": [3]}, {"networks": 13}, {"nothing": 1}])
def test_a_part_with_other_cases_than_the_stored_run_is_none(parameters):
    stamp = {"parameters": {"widths": [1, 2], "networks": 12, "mode": "plain"}}
    assert few_cases(stamp, {"parameters": parameters, "share": 0.1}) is None
    assert few_cases(stamp, {"parameters": {"mode": "fancy"}, "share": 0.1}).parameters["mode"] == "fancy"


def test_a_number_that_happens_to_equal_that_of_the_runs_is_left_alone(tmp_path, monkeypatch):
    """Eight epochs of eight networks: fewer epochs would make other networks."""
    source = GRID.replace("networks: int", "epochs: int = 12  # of a training, 2..100\nnetworks: int")
    source = source.replace("sign * (b + 0.01 * n)", "sign * (b + 0.01 * n + 1e-6 * epochs)")
    files = recorded(tmp_path, monkeypatch, source, "networks: 12\n", GRID_CLAIMS)
    stamp = json.loads(files.record("paper").read_text())["run"]
    few = part_of(ChapterDigests(ChapterCode(files), stamp["parameters"]), stamp, "fig-1", "x")
    assert (few.parameters["networks"], few.parameters["epochs"]) == (3, 12)


def test_the_book_counts_runs_by_parameters_that_say_so():
    """A new parameter that counts runs under another name would be computed whole, for hours."""
    small = {p.name for c in chapter_names(ROOT) for p in ChapterCode(ChapterFiles.find(c, ROOT)).parameters.values()}
    assert {name for name in small if counts_runs(name)} == {
        *("seeds", "map_seeds", "grid_seeds", "grid_quadratic_seeds", "grid_norm_seeds", "grid_text_seeds"),
        *(
            "coverage_seeds",
            "ticket_seeds",
            "line_seeds",
            "larger_seeds",
            "lucky_seeds",
            "image_seeds",
            "robust_seeds",
            "own_seeds",
        ),
        *("sgd_seeds", "head_seeds", "networks", "starts", "many_starts", "race_starts", "splits", "network_splits"),
        "populations",
    }
