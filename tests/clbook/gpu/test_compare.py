"""What a device measured beside the stored readings of a CPU."""

import json

import pytest
from stand_in import build_stand_in

from clbook.gpu import compare
from clbook.gpu.plan import runs
from clbook.gpu.store import Store, read
from clbook.provenance.staleness import notebook_stamp

MACHINE = {"device": "cpu", "device_name": "A (B), 2 cores", "versions": {"torch": "2.11", "python": "3.12"}}


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A folder with the readings of the stand-in's notebook, as if measured elsewhere."""
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    files = build_stand_in(tmp_path)
    store, stamp = Store(tmp_path / "out"), notebook_stamp(files.notebook)
    store.open(MACHINE)
    (run,) = (run for run in runs(tmp_path, "cpu") if run.profile == "default")
    for claim, arms in stamp["readings"].items():
        entry = {"arms": arms, "digest": run.digests.claim(claim).digest, "seconds": 1.0}
        store.write(store.reading("stand-in", "default", claim), entry)
    return store


def change(store, claim, **changes):
    path = store.reading("stand-in", "default", claim)
    store.write(path, read(path) | changes)


def test_the_same_readings_agree(results, capsys):
    assert compare.main([str(results.out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "A (B), 2 cores, torch 2.11"
    assert lines[2].split() == ["default,", "stand-in", "3", "3"] and len(lines) == 3


def test_another_verdict_is_named_with_both_and_is_an_error(results, capsys):
    change(results, "thm-1", arms={"observed": {"": 1.0}, "advocate": {"": 1.0}, "control": {"": 1.0}})
    assert compare.main([str(results.out)]) == 1
    said = capsys.readouterr().out
    assert "stand-in/thm-1 (default): reproduced on the CPU, not reproduced here, another verdict; observed:" in said


def test_a_claim_near_the_line_may_turn(results, tmp_path, capsys):
    path = tmp_path / "chapters/claims/stand-in.yaml"
    path.write_text(path.read_text().replace("  advocate: twice", "  near: five starts\n  advocate: twice"))
    change(results, "thm-1", arms={"observed": {"": 1.0}, "advocate": {"": 1.0}, "control": {"": 1.0}})
    assert compare.main([str(results.out)]) == 0
    assert "near the line" in capsys.readouterr().out


def test_what_failed_or_is_of_other_code_is_not_judged(results, capsys):
    change(results, "thm-1", failed="it broke", kind="error")
    change(results, "fig-1", digest="another")
    assert compare.main([str(results.out)]) == 0
    said = capsys.readouterr().out
    assert "stand-in/thm-1 (default): error: it broke" in said and "made by other code" in said


def test_a_record_holds_what_was_measured_and_how_it_compares(results, tmp_path, capsys):
    results.write(results.place("benchmarks", "sparse_codes.json"), {"seconds": 1})
    results.place("tests", "losses-0.jsonl").write_text('{"test": "a", "outcome": "passed"}\n')
    assert compare.main([str(results.out), "--record"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "recorded in records/gpu/a-b-2-cores.json"
    found = json.loads((tmp_path / "records/gpu/a-b-2-cores.json").read_text())
    assert found["machine"] == MACHINE and found["tests"] == {"passed": 1}
    assert found["benchmarks"] == {"sparse_codes": {"seconds": 1}}
    assert found["readings"]["stand-in/default"]["thm-1"]["cpu"] == "reproduced"


def test_the_archive_is_enough_and_a_folder_without_results_is_refused(results, tmp_path, capsys):
    results.pack()
    alone = tmp_path / "alone"
    alone.mkdir()
    results.archive.rename(Store(alone).archive)
    assert compare.main([str(alone)]) == 0
    assert compare.main([str(tmp_path / "nothing")]) == 2
    assert capsys.readouterr().err.strip().endswith("nothing: holds no results of make gpu")


def test_pieces_that_are_too_large_stay_out_of_the_archive(results, monkeypatch):
    for name, size in (("small", 10), ("large", 4 * 2**20)):
        results.place("pieces", "stand-in", f"{name}.pt").write_bytes(bytes(size))
    assert results.pack()[1] == 0
    monkeypatch.setattr("clbook.gpu.store.LARGEST", 2**20)
    assert results.pack()[1] == 1
    results.drop_pieces(keep=set())
    assert not list((results.folder / "pieces").iterdir())
