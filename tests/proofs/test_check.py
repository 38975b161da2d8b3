"""`proofs/check.py` as a stranger runs it: what it accepts, and every way in which a proof can fail to be one."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROOFS = Path(__file__).parents[2] / "proofs"
COQ = shutil.which("coqc")
needs_coq = pytest.mark.skipif(not COQ, reason="coqc is missing: `make proofs` checks the Coq files where it is")
TRUE = "def proof():\n    assert 1 + 1 == 2\n\n\ndef twin():\n    assert 1 + 1 != 3\n    return '1 + 1 is not 3'\n"
THEOREM = "Theorem small : 1 + 1 = 2.\nProof. reflexivity. Qed.\n"


def checked(folder, *arguments, **variables):
    """The exit status and the lines of a `check.py` in this folder."""
    shutil.copy(PROOFS / "check.py", folder)
    command = [sys.executable, str(folder / "check.py"), *arguments]
    found = subprocess.run(command, capture_output=True, text=True, env=os.environ | variables)
    return found.returncode, found.stdout


def line_for(folder, name, text, *arguments, **variables):
    """What is said of one file, without its seconds; the status goes with it."""
    (folder / name).write_text(text, encoding="utf-8")
    status, said = checked(folder, *arguments, **variables)
    (line,) = [line for line in said.splitlines() if line.startswith(name)]
    assert (status == 0) == (line.split()[1] == "ok")
    before, _, after = line.removeprefix(name).strip().partition(" s  ")
    return f"{' '.join(before.split()[:-1])}: {after}"


def fake_coq(folder, script):
    """A `coqc` that says that it is 8.12 when asked and else does what the script says; the PATH that has it first."""
    path = folder / "bin" / "coqc"
    path.parent.mkdir()
    version = 'if [ "$1" = --version ]; then echo "The Coq Proof Assistant, version 8.12.0"; exit; fi'
    path.write_text(f"#!/bin/sh\n{version}\n{script}\n")
    path.chmod(0o755)
    return f"{path.parent}{os.pathsep}{os.environ['PATH']}"


def test_the_python_proofs_hold_and_the_log_has_their_sums(tmp_path):
    log = tmp_path / "log.json"
    found = subprocess.run(
        [sys.executable, str(PROOFS / "check.py"), "--python", "--log", str(log)], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout
    kept = json.loads(log.read_text())
    assert {path.name for path in PROOFS.glob("*.py")} - {"check.py"} == set(kept["files"])
    for one in kept["files"].values():
        assert len(one["sum"]) == 64 and one["date"] and one["by"].startswith("Python ")


def test_the_log_keeps_what_is_known_of_a_file_that_cannot_be_checked_now(tmp_path):
    log, path = tmp_path / "log.json", tmp_path / "some.v"
    path.write_text(THEOREM)
    known = {"outcome": "ok", "seconds": 1.0, "said": "", "date": "2026-01-01", "by": "Coq 8.16.1, no axioms"}
    for total, outcome in ((hashlib.sha256(path.read_bytes()).hexdigest(), "ok"), ("another file", "not checked")):
        log.write_text(json.dumps({"files": {"some.v": known | {"sum": total}}}))
        assert checked(tmp_path, "--log", str(log), PATH=str(tmp_path))[0] == 1
        assert json.loads(log.read_text())["files"]["some.v"]["outcome"] == outcome


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("words.py", "law(-4, 1, 3)", "law(-4, 2, 2)"),
        ("closed_form.py", "sp.Rational(3, 8)", "sp.Rational(1, 4)"),
        ("best_tau.py", '"3.81073", "3.81074"', '"3.81083", "3.81084"'),
        ("mask.py", "return f", "assert diagonal == 0\n    return f"),
        ("roughness.py", "disc(3).subs", "disc(2).subs"),
    ],
)
def test_a_python_proof_that_is_broken_on_purpose_is_found(tmp_path, name, old, new):
    text = (PROOFS / name).read_text(encoding="utf-8")
    assert text.count(old) >= 1
    said = line_for(tmp_path, name, text.replace(old, new))
    assert said.startswith("FAILED: line ") and said.endswith("AssertionError")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TRUE, "ok: twin: 1 + 1 is not 3"),
        (TRUE.replace("assert 1 + 1 == 2", "print(1 + 1 == 3)"), "FAILED: its proof asserts nothing"),
        (TRUE.replace("assert 1 + 1 == 2", "assert True"), "FAILED: its proof asserts nothing"),
        (TRUE.replace("assert 1 + 1 != 3", "pass"), "FAILED: its twin asserts nothing"),
        (TRUE.replace("def twin", "def example"), "FAILED: its twin asserts nothing"),
        (f"import no_such_prover\n{TRUE}", "not checked: no_such_prover is missing"),
        (TRUE.replace("return", "while True:\n        pass\n    return"), "not checked: gave up after 2 s"),
    ],
)
def test_what_only_prints_or_cannot_run_is_no_python_proof(tmp_path, text, said):
    assert line_for(tmp_path, "some.py", text, "--limit", "2") == said


def test_asserts_are_not_dropped_by_the_user_s_settings(tmp_path):
    said = line_for(tmp_path, "some.py", TRUE.replace("1 + 1 == 2", "1 + 1 == 4"), PYTHONOPTIMIZE="2")
    assert said == "FAILED: line 2: AssertionError"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (THEOREM.replace("reflexivity. Qed", "Admitted"), "FAILED: Admitted: not proved"),
        (THEOREM.replace("reflexivity", "admit"), "FAILED: admit: not proved"),
        (f"Axiom falso : 1 = 2.\n{THEOREM}", "FAILED: Axiom: not proved"),
        (f"Parameters falso : 1 = 2.\n{THEOREM}", "FAILED: Parameters: not proved"),
        (f"Unset Universe Checking.\n{THEOREM}", "FAILED: Unset Universe Checking: not proved"),
        ("(* Theorem x : 1 = 2. *) Definition two := 2.\n", "FAILED: states no theorem"),
    ],
)
def test_what_is_admitted_is_found_without_coq(tmp_path, text, said):
    assert line_for(tmp_path, "some.v", text, PATH=str(tmp_path)) == said


def test_a_word_in_a_comment_admits_nothing(tmp_path):
    text = f"(* no Axiom (* and nothing Admitted *) here, no admit *)\n{THEOREM}"
    assert line_for(tmp_path, "some.v", text, PATH=str(tmp_path)) == "not checked: coqc is missing"


def test_a_prover_that_is_too_old_or_gives_up_proves_nothing(tmp_path):
    old = fake_coq(tmp_path, "echo 'Error: no lemma of this name.' >&2; exit 1")
    said = line_for(tmp_path, "some.v", THEOREM, PATH=old)
    assert said == "not checked: written for Coq 8.16, this is 8.12.0: Error: no lemma of this name."
    shutil.rmtree(tmp_path / "bin")
    said = line_for(tmp_path, "some.v", THEOREM, "--limit", "1", PATH=fake_coq(tmp_path, "exec sleep 5"))
    assert said == "not checked: gave up after 1 s"
    shutil.rmtree(tmp_path / "bin")
    lacks = fake_coq(tmp_path, 'echo "Error: Cannot find a physical path bound to logical path mathcomp." >&2; exit 1')
    assert line_for(tmp_path, "some.v", THEOREM, PATH=lacks) == "not checked: MathComp is missing"


@needs_coq
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (THEOREM, "ok: Coq"),
        (THEOREM.replace("= 2", "= 3"), "FAILED: line 2: "),
        (
            f"Variable falso : 1 + 1 = 3.\n{THEOREM.replace('= 2', '= 3').replace('reflexivity', 'exact falso')}",
            "FAILED: rests on falso",
        ),
    ],
)
def test_coq_is_asked_on_what_a_theorem_rests(tmp_path, text, said):
    assert line_for(tmp_path, "some.v", text).startswith(said)


@needs_coq
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("signs.v", "sinh2 (y : F) := y - y^-1", "sinh2 (y : F) := y + y^-1"),
        ("convex.v", "Theorem convex : ln (S x) + m <= ln (S y).", "Theorem convex : ln (S x) + m + 1 <= ln (S y)."),
    ],
)
def test_a_coq_proof_that_is_broken_on_purpose_is_found(tmp_path, name, old, new):
    text = (PROOFS / name).read_text(encoding="utf-8")
    assert text.count(old) == 1
    assert line_for(tmp_path, name, text.replace(old, new)).startswith("FAILED: line ")
