"""`clbook verify` recomputes stored readings; changes by hand are found, resealed or not."""

import base64
import hashlib
import json
from dataclasses import replace

import nbformat
import pytest
from checkout import ROOT
from claim_row import ROW
from stand_in_record import GRID, GRID_CLAIMS, SEEDED, recorded
from typer.testing import CliRunner

from clbook.claims.claim_table import Claim, Claims
from clbook.cli import app
from clbook.commands import verify, verify_plan
from clbook.commands.parts import Part
from clbook.commands.verify_distance import beyond, distances, same_arithmetic
from clbook.common import environment, subprocess_call
from clbook.common.errors import BookError
from clbook.notebook.shown import outputs_shown
from clbook.provenance.records import seal_of
from clbook.provenance.staleness import notebook_stamp
from clbook.provenance.stamps import MIME, seal

torch = pytest.importorskip("torch")
DAMAGED = "clbook: stand-in/paper.json: does not fit its seal, so it was changed by hand or damaged: run it again\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The stand-in with a notebook and a record of twelve seeds."""
    return recorded(tmp_path, monkeypatch, SEEDED, "seeds: 12\n")


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["verify", *words])
    return done.exit_code, done.stdout + done.stderr


@pytest.fixture(autouse=True)
def here(request, monkeypatch):
    """Runs in this process, except in one test, since a fresh one takes seconds to import torch."""
    if "fresh" not in request.node.name:
        monkeypatch.setattr(verify, "run_in_process", lambda function, *given, seconds: function(*given))


def forge(files, change, reseal: bool) -> None:
    """Change the record by hand."""
    path = files.record("paper")
    content = json.loads(path.read_text())
    change(content["run"])
    run = seal(content["run"]) if reseal else content["run"]
    path.write_text(
        json.dumps(content | {"run": run, "seal": seal_of([run, *content["other_seeds"]], content["blocks"])})
    )


def test_everything_is_computed_again_in_a_fresh_process_to_the_last_bit(files):
    status, said = run()
    assert status == 0 and "6 readings: 6 the same to the last bit" in said, said
    assert "chapters/stand-in.ipynb: 3 readings, 0 wrong" in said and "records/stand-in/paper.json: 3 readings" in said


def test_a_chapter_s_claims_alone(files):
    status, said = run("stand-in", "thm-1", "fig-1")
    assert status == 0 and "4 readings: 4 the same" in said


def test_the_runs_of_one_size_alone(files):
    status, said = run("--profile", "paper")
    assert status == 0 and "3 readings: 3 the same to the last bit" in said and "ipynb" not in said


@pytest.mark.parametrize("encoder", [False, True])
def test_what_refuses_to_run_is_said_and_the_rest_goes_on(files, monkeypatch, encoder):
    """Packages of encoders are an extra, so without them nothing is wrong; any other refusal is."""
    once = [BookError("stand-in: the package that encodes is not installed")]

    def refusing(function, *given, seconds):
        if once:
            raise once.pop()
        return function(*given)

    monkeypatch.setattr(verify, "run_in_process", refusing)
    monkeypatch.setattr(verify_plan.Job, "needs_encoder", lambda job, claim: encoder)
    status, said = run()
    assert status == (0 if encoder else 1) and "3 the same to the last bit" in said
    assert ("not here: stand-in: the package" in said) == encoder and said.count("is not installed") == 3


def test_a_number_that_is_zero_but_for_rounding_may_differ_by_rounding():
    row = Claims.load(ROOT / "chapters" / "collapse-and-constraints" / "claims.yaml").rows["fig-2-d"]
    stored = {"observed": {"relu": [-0.5, -0.4]}, "mended": {"half": [2.9e-17, 2.9e-17]}}
    now = {"observed": {"relu": [-0.5, -0.4]}, "mended": {"half": [-8.6e-18, -8.6e-18]}}
    assert max(distances(row, stored, now, chance=False)) < 1
    now["mended"]["half"] = [1e-9, 1e-9]
    assert max(distances(row, stored, now, chance=False)) > 1


def test_seeds_that_agree_to_the_last_bit_are_no_interval_of_width_zero_on_another_processor():
    """Ones at every width have a slope of a few 1e-17 for all seeds; `make portability` gave these two for `lem-2`."""
    row = Claims.load(ROOT / "chapters" / "collapse-and-constraints" / "claims.yaml").rows["lem-2"]
    stored, here, other = (
        {"observed": {"L = 1": [-0.2, -0.21, -0.19]}, "control": {"": [value] * 3}}
        for value in (-2.9e-17, -3.2e-17, 0.1)
    )
    assert max(distances(row, stored, here, chance=True)) < 1
    assert max(distances(row, stored, other, chance=True)) > 1


# what `make portability` gave with the oldest instructions; of the last two, what other rounding might give
RESIDUES = [
    ("prop-3", 2.89504e-15, 2.31605e-11),
    ("thm-3-b", 5.92376e-09, 9.27351e-09),
    ("beyond-z", 6.19523e-07, 4.97322e-08),
    ("fig-3-a", 2.66887e-08, 1.2e-08),
    ("thm-3", 1.14669e-09, 2.3e-09),
]


@pytest.mark.parametrize(("claim", "stored", "now"), RESIDUES)
def test_what_is_left_of_a_zero_is_compared_in_the_size_of_its_rule(claim, stored, now):
    row = Claims.load(ROOT / "chapters" / "collapse-and-constraints" / "claims.yaml").rows[claim]
    before, after, far = ({"observed": {"": value}} for value in (stored, now, 2.1 * row.rule.numbers[0]))
    assert max(distances(row, before, after, chance=True)) < 1
    assert max(distances(row, before, far, chance=True)) > 1


def test_a_count_and_a_number_that_may_be_large_keep_their_tolerance():
    rows = Claims.load(ROOT / "chapters" / "collapse-and-constraints" / "claims.yaml").rows
    assert rows["fig-1"].residue == rows["fig-1-b"].residue == rows["prop-2-a"].residue == rows["lem-2"].residue == 0
    assert max(distances(rows["fig-1"], {"observed": {"": 0.0}}, {"observed": {"": 1.0}}, chance=True)) > 1
    assert max(distances(rows["prop-2-a"], {"observed": {"": 1e-3}}, {"observed": {"": 2e-3}}, chance=True)) > 1


def test_elsewhere_a_ten_thousandth_of_the_rule_is_rounding():
    """A factor measured on steps that shrink to nothing loses digits, as `make portability` found."""
    row = Claims.load(ROOT / "chapters" / "nonlinearity" / "claims.yaml").rows["fig-1"]
    before, after, far = ({"observed": {"": value}} for value in (0.367628, 0.367635, 0.3679))
    assert max(distances(row, before, after, chance=True)) < 1 < max(distances(row, before, after, chance=False))
    assert max(distances(row, before, far, chance=True)) > 1


def test_elsewhere_a_control_may_move_as_long_as_it_stays_as_far_from_the_rule():
    """A network trained on labels ends at another effective rank when its products are rounded otherwise."""
    row = Claims.load(ROOT / "chapters" / "collapse-and-constraints" / "claims.yaml").rows["prop-1-b"]
    stored, now, far = ({"observed": {"": 1.0}, "control": {"tanh": x}} for x in (2.911627, 2.961981, 2.80))
    assert max(distances(row, stored, now, chance=True)) < 1 < max(distances(row, stored, now, chance=False))
    (said,) = beyond(row, stored, far, chance=True)
    assert said == "control tanh: 1.2 times its tolerance, 2.91163 → 2.8"
    moved = {"observed": {"": 1.005}, "control": {"tanh": 2.911627}}
    assert max(distances(row, stored, moved, chance=True)) > 1, "what the rule judges has no such tolerance"


def test_so_may_one_that_all_seeds_share_though_seeds_decide_the_claim():
    """Of the 6,000 starts that basins are counted from one ends elsewhere: each seed's number moves, and by as much."""
    row = Claims.load(ROOT / "chapters" / "nonlinearity" / "claims.yaml").rows["many-k-a"]
    spread = {"ten equal basins": [-1.2, -0.5, -0.8]}
    stored, now, far = (
        {"observed": {"": [0.1, -0.2, 0.15]}, "control": spread | {"linear nodes": [x] * 3}}
        for x in (-3.609417, -3.609568, -3.8)
    )
    assert max(distances(row, stored, now, chance=True)) < 1 < max(distances(row, stored, now, chance=False))
    (said,) = beyond(row, stored, far, chance=True)
    assert said.startswith("control linear nodes: 1.2 times its tolerance")
    moved = stored | {"control": stored["control"] | {"ten equal basins": [-3.2, -2.5, -2.8]}}
    assert max(distances(row, stored, moved, chance=True)) > 1, "a spread has its interval, and no other tolerance"


def test_elsewhere_what_a_search_has_left_of_a_zero_may_be_another_rest():
    row = Claims.load(ROOT / "chapters" / "alignment-and-balance" / "claims.yaml").rows["sec-2-best-a"]
    stored, now, far = ({"observed": {"": x}} for x in (4.02e-6, 2.03e-6, 1.1e-5))
    assert max(distances(row, stored, now, chance=True)) < 1 < max(distances(row, stored, now, chance=False))
    assert max(distances(row, stored, far, chance=True)) > 1


def test_what_is_farthest_is_said_and_other_arms_or_cases_are():
    row = Claims.load(ROOT / "chapters" / "nonlinearity" / "claims.yaml").rows["fig-1"]
    stored, now = {"observed": {"a": 0.2, "b": 0.3}}, {"observed": {"a": 0.20001, "b": 0.4}}
    first, *_ = beyond(row, stored, now, chance=False)
    assert first.startswith("observed b: ") and first.endswith(" times its tolerance, 0.3 → 0.4")
    assert beyond(row, stored, stored, chance=False) == []
    assert beyond(row, stored, {"observed": {"a": 0.2}}, chance=True) == ["observed b: stored is 0.3, computed None"]
    (said,) = beyond(row, {"observed": {"": [0.2, 0.3]}}, {"observed": {"": [0.2]}}, chance=True)
    assert said == "observed: inf times its tolerance, 2 → 1 values"


@pytest.mark.parametrize("chance", [False, True])
def test_a_part_may_take_other_steps_of_an_integrator_than_the_whole_run(chance):
    row = Claims.load(ROOT / "chapters" / "alignment-and-balance" / "claims.yaml").rows["lem-5.3-a"]
    stored, steps, other = ({"control": {"": [value, -4.8e-05, -3.1e-05]}} for value in (-5.0554e-05, -5.0587e-05, 0.5))
    assert max(distances(row, stored, steps, chance=False)) > 1
    assert max(distances(row, stored, steps, chance, other_steps=True)) < 1
    assert max(distances(row, other, steps, chance=False, other_steps=True)) > 1


def test_on_another_processor_networks_of_a_grid_may_differ_as_other_seeds_would():
    """The interval is corrected for the number of samples, since a grid has a hundred of them."""
    row = Claim.parse(ROW | {"kind": "trend", "rule": {"at_least": 0.9}, "clear": 0}, "f")
    stored, near, far = ({"observed": {"P = 1": [x, x + 1.0, x + 2.0]}} for x in (0.0, 3.0, 6.0))
    assert max(distances(row, stored, near, chance=False)) > 1
    # the mean moves by 3 or 6; half-widths add up to 2 * 4.30265 / √3 = 4.97
    assert max(distances(row, stored, near, chance=True)) == pytest.approx(3 / 4.9683, rel=1e-4)
    assert max(distances(row, stored, far, chance=True)) == pytest.approx(6 / 4.9683, rel=1e-4)
    two, apart = ({"observed": cases["observed"] | {"P = 3": [1.0, 1.0, 1.0]}} for cases in (stored, far))
    assert max(distances(row, two, apart, chance=True)) == pytest.approx(6 / (2 * 6.20535 / 3**0.5), rel=1e-4)


def test_a_grid_is_computed_again_with_a_few_networks(tmp_path, monkeypatch):
    files = recorded(tmp_path, monkeypatch, GRID, "networks: 12\n", GRID_CLAIMS)
    monkeypatch.setattr(verify_plan.Job, "cost", lambda job, claim: 100.0)
    status, said = run("stand-in", "fig-1", "--one-seed")
    assert status == 0 and "2 readings: 2 the same to the last bit" in said and "1 readings in part, with " in said

    def other(stamp):
        stamp["readings"]["fig-1"]["observed"]["wide: β = 2"][1] = 2.5

    forge(files, other, reseal=True)
    status, said = run("stand-in", "fig-1", "--one-seed")
    assert status == 1 and "fig-1: observed wide: β = 2: 2e+05 times its tolerance, 2.5 → 2.01" in said


def test_only_a_part_that_reaches_an_adaptive_integrator_has_other_steps():
    """Every other part is held to rounding."""
    (job,) = verify_plan.jobs(ROOT, "alignment-and-balance", ["lem-5.1", "fig-2"], "default")
    part = replace(job, part=Part(job.stored.stamp["parameters"], 0.5, start=0, count=3))
    assert [part.shares_steps(claim) for claim in ("lem-5.1", "fig-2")] == [True, False]
    assert not job.shares_steps("lem-5.1")


def number(stamp):
    stamp["readings"]["fig-1"]["observed"][""][7] += 1e-12


@pytest.mark.parametrize(
    "change", [number, lambda s: s["readings"]["thm-1"]["observed"].update({"": 1e-16}), lambda s: s.update(device="x")]
)
def test_a_record_that_is_changed_by_hand_is_found_by_its_seal(files, change):
    forge(files, change, reseal=False)
    status, said = run()
    assert (status, said) == (2, DAMAGED)


def test_a_number_of_a_forger_who_seals_it_again_is_found_by_computing_it(files):
    forge(files, number, reseal=True)
    status, said = run()
    assert status == 1 and "records/stand-in/paper.json, fig-1: observed: stored is" in said and ", 1 wrong" in said


def test_so_is_one_in_the_stamp_of_a_notebook(files):
    notebook = json.loads(files.notebook.read_text())
    (output,) = [o for c in notebook["cells"] for o in c.get("outputs", []) if MIME in o.get("data", {})]
    stamp = json.loads(output["data"][MIME])
    stamp["readings"]["thm-1-a"]["control"][""] = 1e-3
    output["data"][MIME] = json.dumps(seal(stamp))
    files.notebook.write_text(json.dumps(notebook))
    status, said = run("stand-in", "thm-1-a")
    assert status == 1 and "chapters/stand-in.ipynb, thm-1-a: control: stored is 0.001, computed 0.0" in said


def test_on_another_machine_rounding_is_allowed_and_a_verdict_is_not(files):
    forge(files, lambda s: s.update(capability="AVX9000") or number(s), reseal=True)
    status, said = run()
    assert status == 0 and "1 within the rule's tolerance" in said, said

    def other(stamp):
        stamp["readings"]["thm-1"]["observed"][""] = 0.5

    forge(files, other, reseal=True)
    status, said = run()
    assert status == 1 and "thm-1: stored is not reproduced, computed reproduced" in said

    def far(stamp):
        stamp["readings"]["thm-1"]["observed"][""] = 0.0
        stamp["readings"]["fig-1"]["observed"][""] = [5.0 + 0.01 * k for k in range(12)]  # the verdict is the same

    forge(files, far, reseal=True)
    assert run()[0] == 1


def test_few_seeds_find_a_change_among_them_at_a_small_cost(files, monkeypatch):
    dear = {"fig-1": 100.0, "thm-1": 100.0, "thm-1-a": 0.0}
    monkeypatch.setattr(verify_plan.Job, "cost", lambda job, claim: dear[claim])
    status, said = run("--one-seed")
    assert status == 0 and "6 readings: 6 the same to the last bit" in said
    assert "records/stand-in/paper.json: 1 readings in part" in said
    forge(files, lambda s: s["readings"]["fig-1"].update(observed={"": [2.0 + k for k in range(12)]}), reseal=True)
    assert run("--one-seed")[0] == 1


def test_a_claim_that_few_seeds_would_not_decide_is_not_tried_in_part(files, monkeypatch):
    monkeypatch.setattr(verify_plan, "WHOLE_BELOW_SECONDS", -1.0)
    stored = verify_plan.jobs(files.root, "stand-in", ["fig-1"], "paper")
    assert [(job.wanted, bool(job.part)) for job in verify_plan.in_parts(stored, "x")] == [(["fig-1"], True)]
    object.__setattr__(stored[0].claims.rows["fig-1"], "whole", "all its seeds decide")
    assert [(job.wanted, job.part) for job in verify_plan.in_parts(stored, "x")] == [(["fig-1"], None)]


def test_what_a_part_does_not_reach_is_computed_whole(files, monkeypatch):
    monkeypatch.setattr(verify_plan, "WHOLE_BELOW_SECONDS", -1.0)
    parts = verify_plan.jobs(files.root, "stand-in", ["fig-1"], "paper")
    seen, compare = [], verify.compare

    def unreached_in_part(job, claim, again):
        seen.append(bool(job.part))
        if job.part:
            return verify.Outcome(claim, job.stored.where, verify.UNREACHED)
        return compare(job, claim, again)

    monkeypatch.setattr(verify, "compare", unreached_in_part)
    status, said = run("stand-in", "fig-1", "--profile", "paper", "--one-seed")
    assert parts and status == 0 and seen == [True, False] and "1 readings: 1 the same to the last bit" in said


def test_with_one_seed_what_is_too_long_even_in_part_is_said_and_not_computed(files, monkeypatch):
    monkeypatch.setattr(verify_plan.Job, "cost", lambda job, claim: {"thm-1": 1.0, "fig-1": 1e4}.get(claim, 1e6))
    status, said = run("stand-in", "--profile", "paper", "--one-seed")
    assert status == 0 and "thm-1-a: not computed, too long even in part: 278 h are expected" in said, said
    assert "2 not computed, too long even in part" in said and "1 the same to the last bit" in said, said
    monkeypatch.setattr(verify, "LONGEST_SECONDS", 9e3)  # few of the seeds of fig-1 take less
    said = run("stand-in", "--profile", "paper", "--one-seed")[1]
    assert "1 not computed, too long even in part" in said and "2 the same to the last bit" in said, said


def test_a_sample_is_drawn_by_the_commit_and_dear_readings_are_tried_on_few_seeds(files, monkeypatch):
    planned = verify_plan.jobs(files.root, None, [])
    names = [
        {(job.stored.where, claim) for job in verify_plan.sampled(planned, 2.0, f"commit {n}") for claim in job.wanted}
        for n in range(60)
    ]
    assert set().union(*names) == {(job.stored.where, claim) for job in planned for claim in job.wanted}
    assert len({frozenset(claims) for claims in names}) > 3 and all(0 < len(claims) < 6 for claims in names)
    monkeypatch.setattr(verify_plan.Job, "cost", lambda job, claim: 100.0)
    few = [job for n in range(20) for job in verify_plan.sampled(planned, 30.0, str(n)) if job.part]
    assert few and all(job.wanted == ["fig-1"] for job in few)


def test_a_stale_reading_and_one_whose_data_are_not_here_are_said(files, monkeypatch):
    files.source.write_text(SEEDED.replace("-scale)", "-2 * scale)"))
    status, said = run()
    assert status == 0 and said.count("thm-1-a: stale: the present code makes another") == 2
    assert "6 readings: 4 the same to the last bit, 2 stale" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["stand-on"], "no chapter 'stand-on', there are: stand-in; did you mean stand-in?"),
        (["stand-in", "thm-11"], "verify: stand-in has no claim 'thm-11'; did you mean thm-1?"),
        (["stand-in", "lem-1"], "verify: stand-in/lem-1 has no cell because it is not run: a GPU for a day"),
        (["--profile", "smoke"], "verify: no run at the size 'smoke' is stored"),
    ],
)
def test_a_wrong_request_is_one_line(files, words, said):
    assert run(*words) == (2, f"clbook: {said}\n")


def test_arithmetic_is_the_same_only_if_it_is_said(files):
    stamp = notebook_stamp(files.notebook)
    now = stamp | {"versions": environment.versions()}
    assert same_arithmetic(stamp, now)
    for key in ("capability", "blas", "threads", "device", "versions"):
        assert not same_arithmetic(stamp | {key: "other"}, now)
        assert not same_arithmetic({k: v for k, v in stamp.items() if k != key}, now)


def test_a_run_without_the_reading_is_wrong(files):
    (job, _) = verify_plan.jobs(files.root, "stand-in", ["thm-1"])
    outcome = verify.compare(replace(job), "thm-1", {"readings": {}, "claims": {"thm-1": {}}})
    assert outcome.wrong and outcome.message == "the run gave no reading of it"


def test_a_part_too_small_for_the_regime_of_its_claim_says_nothing_of_it(files):
    (job, _) = verify_plan.jobs(files.root, "stand-in", ["thm-1"])
    few = replace(job, part=Part(job.stored.stamp["parameters"], 0.5, start=0, count=2))
    outcome = verify.compare(few, "thm-1", {"readings": {}, "claims": {"thm-1": {}}})
    assert (outcome.message, outcome.wrong) == (verify.UNREACHED, False)
    assert verify.compare(few, "thm-1", {"readings": {}, "claims": {}}).wrong


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(40))
KNOWN = {"fig-1": {"sum": hashlib.sha256(PNG).hexdigest(), "digest": ""}}
CHANGED = "the picture fig-1 is not the one that the stored run made\n"


def test_a_picture_of_a_record_that_is_changed_by_hand_is_found_by_its_sum(files):
    forge(files, lambda stamp: stamp.update(pictures=KNOWN), reseal=True)
    place = files.record("paper").with_suffix("") / "fig-1.png"
    place.parent.mkdir()
    for content, status in ((PNG, 0), (PNG[:-1], 1), (None, 1)):
        place.write_bytes(content) if content else place.unlink()
        returned, said = run("stand-in", "thm-1")
        assert (returned, f"records/stand-in/paper.json: {CHANGED}" in said) == (status, bool(status))
    place.write_bytes(PNG)
    (place.parent / "fig-2.png").write_bytes(PNG)
    assert run("stand-in", "thm-1")[0] == 1


@pytest.mark.parametrize(("content", "status"), [(PNG, 0), (PNG[:-1], 1), (None, 1)])
def test_so_is_a_picture_of_a_notebook(files, content, status):
    notebook = json.loads(files.notebook.read_text())
    (output,) = [o for c in notebook["cells"] for o in c.get("outputs", []) if MIME in o.get("data", {})]
    if content:
        shown = {"image/png": base64.b64encode(content).decode()}
        picture = {"output_type": "display_data", "data": shown, "metadata": {"scrapbook": {"name": "fig-1"}}}
        next(c for c in notebook["cells"] if c["cell_type"] == "code")["outputs"].append(picture)
    known = {"pictures": KNOWN, "shown": outputs_shown(nbformat.reads(json.dumps(notebook), 4))}
    output["data"][MIME] = json.dumps(seal(json.loads(output["data"][MIME]) | known))
    files.notebook.write_text(json.dumps(notebook))
    returned, said = run("stand-in", "thm-1")
    assert (returned, f"chapters/stand-in.ipynb: {CHANGED}" in said) == (status, bool(status))


def test_what_a_sample_does_not_finish_is_given_up_and_said(files, monkeypatch):
    def slow(function, *given, seconds):
        assert 0 <= seconds <= 1.5 * 40
        raise subprocess_call.TookTooLong

    monkeypatch.setattr(verify, "run_in_process", slow)
    status, said = run("--sample", "40")
    assert status == 1 and "6 readings: 6 not finished in its time" in said
    assert "records/stand-in/paper.json, fig-1: not finished" in said
    assert said.endswith("verify: nothing was verified, no reading was finished in its time\n")


def test_a_reading_whose_cost_was_wrong_does_not_use_up_the_sample(files, monkeypatch):
    limits = []

    def slow_first(function, *given, seconds):
        limits.append(seconds)
        if len(limits) == 1:
            raise subprocess_call.TookTooLong
        return function(*given)

    monkeypatch.setattr(verify, "run_in_process", slow_first)
    monkeypatch.setattr(verify_plan.Job, "cost", lambda job, claim: 0.5)
    status, said = run("--sample", "100")
    assert status == 0 and "not finished" in said and "the same to the last bit" in said
    assert all(limit <= verify.JOB_START_SECONDS + 3 * verify.JOB_TIMES_EXPECTED * 0.5 for limit in limits)


def test_with_few_seeds_a_slow_or_busy_core_has_ten_minutes_more_than_thrice_the_time(files, monkeypatch):
    limits = []

    def called(function, *given, seconds):
        limits.append(seconds)
        return function(*given)

    monkeypatch.setattr(verify, "run_in_process", called)
    monkeypatch.setattr(verify_plan.Job, "seconds", 100.0)
    assert run("--one-seed")[0] == 0
    assert limits and all(890 < limit <= 900 for limit in limits)


def test_pieces_of_an_earlier_attempt_count_in_what_a_reading_costs(tmp_path, monkeypatch):
    source = SEEDED.replace("falling = ", 'falling = chapter.piece("a", torch.tensor, 0.0).item() + ')
    files = recorded(tmp_path, monkeypatch, source, "seeds: 12\n")
    forge(files, lambda run: run.update(seconds=900.0), reseal=True)
    (job,) = verify_plan.jobs(files.root, None, [], "paper")
    seconds = {claim: job.cost(claim) for claim in job.wanted}
    assert seconds["thm-1-a"] > 800 and seconds["thm-1"] < 10 and seconds["fig-1"] < 10


def test_a_cell_of_which_a_record_has_no_seconds_costs_what_it_took_in_the_notebook(files, monkeypatch):
    stamp = json.loads(files.record("paper").read_text())["run"]
    name = next(name for name in stamp["cells"] if "falling" in name)
    digest = stamp["cells"][name].split()[0]
    shown = stamp | {"cells": stamp["cells"] | {name: f"{digest} 500.00"}}
    monkeypatch.setattr(verify_plan, "notebooks_stamp", lambda files: seal(shown))
    forge(files, lambda stamp: stamp["cells"].update({name: digest}), reseal=True)
    (job,) = verify_plan.jobs(files.root, None, [], "paper")
    seconds = {claim: job.cost(claim) for claim in job.wanted}
    assert seconds["thm-1-a"] > 490 and seconds["thm-1"] < 10
