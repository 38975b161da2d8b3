"""Kernel tests with their tensors on another device: what is said of each, and that a run goes on."""

import json
import os
import subprocess
import sys

import pytest

from clbook.gpu.store import Store, finished

TESTS = """import numpy
import torch
from contrastive_dynamics.alignment_and_balance.model import correlation
from elsewhere import elsewhere
from contrastive_dynamics.numerics.ranks import stable_rank

def test_right():
    assert stable_rank(torch.eye(3)).item() == 3

def test_wrong():
    assert stable_rank(torch.eye(3)).item() == 2

def test_numpy():
    numpy.linalg.svd(torch.eye(3).numpy())

def test_own_tensors_of_two_devices():
    torch.ones(2, device="cpu") + torch.ones(2)

def test_kernel_with_two_devices():
    correlation(torch.ones(1, 2, 3), torch.ones(1, 2, 3, device="cpu"))

def test_package():
    import no_such_package

def test_stand_in():
    with elsewhere():
        pass
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The folder, and the outcomes of its tests."""
    folder = tmp_path_factory.mktemp("tests")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_a.py").write_text(TESTS)
    (folder / "test_b.py").write_text("import no_such_package\n")
    return folder, run(folder)


def run(folder):
    path = folder / "outcomes.jsonl"
    plugin = "clbook.gpu.on_device"
    options = ["--device", "elsewhere", "--outcomes", path, "--job", "job", "--out", folder]
    command = [sys.executable, "-m", "pytest", "-q", "-p", plugin, *map(str, options), str(folder)]
    variables = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
    assert done.returncode in (0, 1, 5), done.stdout + done.stderr
    return {test.rpartition("::")[2]: one for test, one in finished(path).items()}


def test_each_test_gets_its_outcome(measured):
    assert {name: one["outcome"] for name, one in measured[1].items()} == {
        "test_right": "passed",
        "test_wrong": "failed",
        "test_numpy": "cpu only",
        "test_own_tensors_of_two_devices": "cpu only",
        "test_kernel_with_two_devices": "mixed",
        "test_package": "absent",
        "test_stand_in": "skipped",
        "test_b.py": "absent",
    }
    assert measured[1]["test_package"]["said"] == measured[1]["test_b.py"]["said"] == "needs no_such_package"
    assert "two devices" in measured[1]["test_kernel_with_two_devices"]["said"]


def test_it_says_which_test_is_running(measured):
    assert Store(measured[0]).running("job")["what"] == ["test_a.py::test_package"]


def test_what_has_an_outcome_is_not_run_again(measured):
    folder, before = measured
    path = folder / "outcomes.jsonl"
    kept = [line for line in path.read_text().splitlines() if json.loads(line)["test"] != "test_a.py::test_right"]
    path.write_text("\n".join(kept) + "\n" + '{"test": "test_a.py::test_ri')  # the last line was cut short
    began = path.stat().st_size
    assert set(run(folder)) == set(before)
    assert path.read_text()[began:].count("\n") <= 3
