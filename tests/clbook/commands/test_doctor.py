"""The doctor inspects this machine and downloads nothing."""

import json
import sys

import pytest
from stand_in import build_stand_in
from typer.testing import CliRunner

from clbook import cli
from clbook.commands import doctor
from clbook.provenance.records import sealed_record
from clbook.provenance.staleness import notebook_stamp
from clbook.provenance.stamps import seal
from contrastive_dynamics.data import catalogue


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    monkeypatch.setenv("CONTRASTIVE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(catalogue, "_download", lambda *given: pytest.fail("nothing is downloaded"))
    return build_stand_in(tmp_path)


def test_the_machine_is_described_with_and_without_torch(files, monkeypatch):
    here = dict(doctor.machine(files.root))
    assert here["GPU"] and "GB free at" in here["disk"] and here["data sets"] == str(files.root / "data")
    monkeypatch.setitem(sys.modules, "torch", None)
    assert dict(doctor.machine(files.root))["GPU"] == "unknown without torch"


def test_data_sets_are_missing_whole_or_damaged(files, monkeypatch):
    found = dict(doctor.data_sets())
    assert found["digits"].startswith("comes with") and found["mnist"].startswith("missing: ")
    assert found["coco-human"].startswith("missing: coco/captions.json") and "is missing" in found["coco-2014"]
    monkeypatch.setitem(catalogue.SUMS, "mnist", {"a.gz": "md5:900150983cd24fb0d6963f7d28e17f72"})  # of abc
    (files.root / "data").mkdir()
    (files.root / "data" / "a.gz").write_bytes(b"abc")
    assert dict(doctor.data_sets())["mnist"] == "here, sums as known"
    (files.root / "data" / "a.gz").write_bytes(b"abd")
    assert "has the sum md5:" in dict(doctor.data_sets())["mnist"]
    monkeypatch.setenv("CONTRASTIVE_DATA", "nearby")
    assert "allowed is an absolute path" in dict(doctor.data_sets())["mnist"]


def test_profiles_say_what_was_measured(files):
    rows = list(doctor.profiles(files.root))
    assert [(row[0], row[1], row[2]) for row in rows] == [
        ("stand-in", "default", "generated"),
        ("stand-in", "smoke", "generated"),
    ]
    assert " s, " in rows[0][3] and " GB on " in rows[0][3] and rows[1][3] == "not measured"
    files.profile("smoke").write_text("seeds: many\n")
    assert "line 1: not 'name: value'" in list(doctor.profiles(files.root))[1][2]


def test_a_record_is_what_measured_its_profile_whether_its_parameters_are_still_there_or_not(files):
    (files.profile("paper.large")).write_text("seeds: 3\n")
    stamp = notebook_stamp(files.notebook)
    digits = {"data": "digits", "parameters": stamp["parameters"] | {"data": "digits"}}
    stamp = seal(stamp | digits | {"seconds": 7.0})
    for profile in ("paper.large", "former"):
        files.record(profile).parent.mkdir(parents=True, exist_ok=True)
        files.record(profile).write_text(json.dumps(sealed_record([stamp], 1)))
    rows = {row[1]: row[2:] for row in doctor.profiles(files.root)}
    assert list(rows) == ["default", "former", "paper.large", "smoke"]
    assert rows["former"][0] == "digits" and rows["paper.large"][0] == "generated"
    assert all(rows[profile][1].startswith("7 s, ") for profile in ("paper.large", "former"))


def test_the_command_shows_all_three(files):
    shown = CliRunner().invoke(cli.app, ["doctor"])
    assert shown.exit_code == 0
    assert all(word in shown.output for word in ("Python", "cifar10-exact", "stand-in", "not measured"))
