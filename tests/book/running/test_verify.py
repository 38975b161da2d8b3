"""`clbook verify`: stored readings computed again; what was changed by hand is found, resealed or not."""

import base64
import hashlib
import json
import os
import time
from dataclasses import replace

import pytest
from stand_in import SOURCE, build_stand_in, write_stand_in
from typer.testing import CliRunner

from contrastive_dynamics.book.cli import app
from contrastive_dynamics.book.ground import apart, environment
from contrastive_dynamics.book.provenance.digests import ChapterDigests
from contrastive_dynamics.book.provenance.slices import Story
from contrastive_dynamics.book.provenance.staleness import notebook_stamp
from contrastive_dynamics.book.provenance.stamps import MIME, seal
from contrastive_dynamics.book.running import record, verify, verify_plan
from contrastive_dynamics.book.running.few_seeds import fewer
from contrastive_dynamics.book.running.verify_distance import same_arithmetic

torch = pytest.importorskip("torch")
SEEDED = SOURCE.replace(
    "[1.0 + 0.01 * (s % 3) for s in chapter.seeds]", "[1.0 + 0.01 * s for s in chapter.seeds]"
).replace("[-1.0, -1.1, -1.2]", "[-1.0 - s for s in chapter.seeds]")
DAMAGED = "clbook: stand-in/paper.json: does not fit its seal, so it was changed by hand or damaged: run it again\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The stand-in with a notebook and a record of twelve seeds."""
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    files = write_stand_in(tmp_path, SEEDED)
    files.profile("paper").write_text("seeds: 12\n")
    build_stand_in(tmp_path, source=SEEDED)
    record.record("stand-in", "paper")
    return files


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["verify", *words])
    return done.exit_code, done.stdout + done.stderr


@pytest.fixture(autouse=True)
def here(request, monkeypatch):
    """In this process, but for one test: a fresh one takes seconds to import torch."""
    if "fresh" not in request.node.name:
        monkeypatch.setattr(verify, "apart", lambda function, *given, seconds: function(*given))


def forge(files, change, reseal: bool) -> None:
    """Change the record by hand."""
    path = files.record("paper")
    content = json.loads(path.read_text())
    change(content["run"])
    path.write_text(json.dumps(content | {"run": seal(content["run"]) if reseal else content["run"]}))


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
    monkeypatch.setattr(verify_plan, "costs", lambda job: {claim: dear[claim] for claim in job.wanted})
    status, said = run("--one-seed")
    assert status == 0 and "2 too dear, and few seeds give nothing to compare" in said
    assert (
        "4 the same to the last bit" in said and "records/stand-in/paper.json: 1 readings for few of its seeds" in said
    )
    forge(files, lambda s: s["readings"]["fig-1"].update(observed={"": [2.0 + k for k in range(12)]}), reseal=True)
    assert run("--one-seed")[0] == 1


def test_few_seeds_are_a_part_of_the_block_that_is_drawn(files):
    stamp = json.loads(files.record("paper").read_text())["run"]
    digests = ChapterDigests(Story(files), stamp["parameters"])
    found = {fewer(digests, stamp, "fig-1", str(n)).start for n in range(200)}
    assert found == set(range(11)) and fewer(digests, stamp, "thm-1", "x") is None
    few = fewer(digests, stamp, "fig-1", "x")
    assert few.parameters["first_seed"] == 1000 + few.start and few.parameters["seeds"] == few.count == 2
    assert few.cut({"observed": {"": list(range(12))}}, {"observed": {"": [9, 8]}})[0] == {
        "observed": {"": [few.start, few.start + 1]}
    }


def test_a_sample_is_drawn_by_the_commit_and_dear_readings_are_tried_on_few_seeds(files, monkeypatch):
    found = verify_plan.jobs(files.root, None, [])
    names = [
        {(job.stored.where, claim) for job in verify_plan.sampled(found, 2.0, f"commit {n}") for claim in job.wanted}
        for n in range(60)
    ]
    assert set().union(*names) == {(job.stored.where, claim) for job in found for claim in job.wanted}
    assert len({frozenset(some) for some in names}) > 3 and all(0 < len(some) < 6 for some in names)
    monkeypatch.setattr(verify_plan, "costs", lambda job: dict.fromkeys(job.wanted, 100.0))
    few = [job for n in range(20) for job in verify_plan.sampled(found, 30.0, str(n)) if job.few]
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
        (["stand-in", "lem-1"], "verify: stand-in/lem-1 has no cell, it is not run: a GPU for a day"),
        (["--profile", "smoke"], "verify: no run at the size 'smoke' is stored"),
    ],
)
def test_a_wrong_request_is_one_line(files, words, said):
    assert run(*words) == (2, f"clbook: {said}\n")


def test_arithmetic_is_the_same_only_if_it_is_said(files):
    stamp = notebook_stamp(files.notebook)
    now = stamp | {"versions": environment.versions()}
    assert same_arithmetic(stamp, now)
    for key in ("capability", "threads", "device", "versions"):
        assert not same_arithmetic(stamp | {key: "other"}, now)
        assert not same_arithmetic({k: v for k, v in stamp.items() if k != key}, now)


def test_a_run_without_the_reading_is_wrong(files):
    (job, _) = verify_plan.jobs(files.root, "stand-in", ["thm-1"])
    found = verify.compare(replace(job), "thm-1", {"readings": {}})
    assert found.wrong and found.said == "the run gave no reading of it"


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(40))
KNOWN = {"fig-1": {"sum": hashlib.sha256(PNG).hexdigest(), "digest": ""}}
CHANGED = "the picture fig-1 is not the one that the stored run made\n"


def test_a_picture_of_a_record_that_is_changed_by_hand_is_found_by_its_sum(files):
    forge(files, lambda stamp: stamp.update(pictures=KNOWN), reseal=True)
    place = files.record("paper").with_suffix("") / "fig-1.png"
    place.parent.mkdir()
    for content, status in ((PNG, 0), (PNG[:-1], 1), (None, 1)):
        place.write_bytes(content) if content else place.unlink()
        found, said = run("stand-in", "thm-1")
        assert (found, f"records/stand-in/paper.json: {CHANGED}" in said) == (status, bool(status))
    place.write_bytes(PNG)
    (place.parent / "fig-2.png").write_bytes(PNG)
    assert run("stand-in", "thm-1")[0] == 1


@pytest.mark.parametrize(("content", "status"), [(PNG, 0), (PNG[:-1], 1), (None, 1)])
def test_so_is_a_picture_of_a_notebook(files, content, status):
    notebook = json.loads(files.notebook.read_text())
    (output,) = [o for c in notebook["cells"] for o in c.get("outputs", []) if MIME in o.get("data", {})]
    output["data"][MIME] = json.dumps(seal(json.loads(output["data"][MIME]) | {"pictures": KNOWN}))
    if content:
        shown = {"image/png": base64.b64encode(content).decode()}
        picture = {"output_type": "display_data", "data": shown, "metadata": {"scrapbook": {"name": "fig-1"}}}
        next(c for c in notebook["cells"] if c["cell_type"] == "code")["outputs"].append(picture)
    files.notebook.write_text(json.dumps(notebook))
    found, said = run("stand-in", "thm-1")
    assert (found, f"chapters/stand-in.ipynb: {CHANGED}" in said) == (status, bool(status))


def test_what_a_sample_does_not_finish_is_given_up_and_said(files, monkeypatch):
    def slow(function, *given, seconds):
        assert 0 <= seconds <= 1.5 * 40
        raise apart.TookTooLong

    monkeypatch.setattr(verify, "apart", slow)
    status, said = run("--sample", "40")
    assert status == 0 and "6 readings: 6 not finished in the time of the sample" in said
    assert "records/stand-in/paper.json, fig-1: not finished" in said


def test_a_fresh_process_gives_what_the_call_gives_raises_what_it_raises_and_can_be_given_up():
    assert apart.apart(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        apart.apart(divmod, 7, 0)
    with pytest.raises(apart.TookTooLong):
        apart.apart(time.sleep, 60, seconds=0.2)
    with pytest.raises(EOFError):
        apart.apart(os._exit, 9)
