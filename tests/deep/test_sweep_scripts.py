"""The scripts of the page on sweeps, for Slurm and for Kubernetes, run here as processes with a stand-in chapter."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest
import yaml
from checkout import import_path
from page_code import code_blocks
from stand_in import build_stand_in

BLOCKS = code_blocks("sweep")
SCRIPT = next(code for kind, code in BLOCKS if "#SBATCH" in code)


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A stand-in chapter, and the environment of a machine that has `clbook`, dask and an `srun` that starts here."""
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    build_stand_in(tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    here = Path(sys.executable).parent
    (programs / "srun").write_text('#!/bin/sh\nexec "$@"\n')
    (programs / "clbook").write_text(f'#!/bin/sh\nexec {sys.executable} -m clbook "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    assert shutil.which("dask", path=str(here))
    path = os.pathsep.join([str(programs), str(here), os.environ["PATH"]])
    return os.environ | {"PATH": path, "PYTHONPATH": import_path()}


def changed(script: str, changes: dict[str, str]) -> str:
    """A script of the page, changed for the stand-in; each change must match exactly once."""
    for old, new in changes.items():
        assert script.count(old) == 1, old
        script = script.replace(old, new)
    return script


def test_the_job_script_sweeps_with_workers_that_srun_starts_and_leaves_their_table(stand_in, tmp_path):
    """`srun` is replaced by one that starts its command on this machine; chapter and grid are those of the tests."""
    changes = {
        ". .venv/bin/activate\n": "",
        "--nworkers 4": "--nworkers 2",
        " --cpus-per-task=$SLURM_CPUS_PER_TASK": "",
        "sweep feature-decoupling": "sweep stand-in --profile smoke",
        "temperature=10,20,40 --seeds 8": "scale=1,2",
        "sweeps/slurm": "sweeps/mine",
    }
    command, job = ["bash", "-m", "-c", changed(SCRIPT, changes)], {"SLURM_JOB_ID": "7"}
    done = subprocess.run(command, cwd=tmp_path, env=stand_in | job, capture_output=True, text=True, timeout=240)
    assert "2 of 2 runs done, 0 failed: sweeps/mine/table.csv" in done.stdout, done.stderr
    assert done.returncode == 0 and not list(tmp_path.glob("scheduler*"))
    table = list(csv.DictReader((tmp_path / "sweeps" / "mine" / "table.csv").open()))
    assert [(row["scale"], row["fig-1 statistic"], row["fig-1"]) for row in table] == [
        ("1.0", "1.01", "reproduced"),
        ("2.0", "1.01", "reproduced"),
    ]


def test_the_pods_of_the_kubernetes_job_sweep_together_and_all_end(stand_in, tmp_path):
    """Three pods as processes here, workers first; chapter, grid and folders are those of the tests."""
    job = yaml.safe_load(next(code for kind, code in BLOCKS if kind == "yaml"))
    (pod,) = job["spec"]["template"]["spec"]["containers"]
    assert job["spec"]["completions"] == job["spec"]["parallelism"] and pod["command"] == ["bash", "-c"]
    changes = {
        "sweep feature-decoupling": "sweep stand-in --profile smoke",
        "temperature=10,20,40 --seeds 8": "scale=1,2",
    }
    command = [*pod["command"], changed(pod["args"][0], changes).replace("/sweeps/", f"{tmp_path}/")]
    settings = {entry["name"]: entry.get("value", "of-the-job") for entry in pod["env"]}
    assert {"JOB_ID", "OMP_NUM_THREADS"} <= settings.keys()
    variables = stand_in | settings
    pods = {}
    for index in (2, 1, 0):
        own = variables | {"JOB_COMPLETION_INDEX": str(index)}
        pods[index] = subprocess.Popen(command, cwd=tmp_path, env=own, stdout=PIPE, stderr=PIPE, text=True)
    try:
        outputs = {index: process.communicate(timeout=240) for index, process in pods.items()}
    finally:
        for process in pods.values():
            process.kill()
    assert "2 of 2 runs done, 0 failed" in outputs[0][0], outputs[0][1]
    assert {index: process.returncode for index, process in pods.items()} == {0: 0, 1: 0, 2: 0}
    assert not list(tmp_path.glob("scheduler*")) and (tmp_path / "mine" / "table.csv").is_file()
