"""The environment of a result is recorded: versions, device, arithmetic, memory."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import import_path
from one_line_error import one_line_error

from clbook.common import environment
from clbook.common.errors import BookError


def test_what_made_a_result_is_said():
    found = environment.versions()
    assert {"python", "torch", "numpy", "scipy"} <= found.keys() and found["python"].startswith("3.")
    assert environment.device_name("cpu").endswith("cores") and environment.peak_megabytes("cpu") > 1
    made = environment.arithmetic()
    assert made["capability"] and made["blas"] and made["threads"] >= 1


LARGE, SMALL = 400, 100  # MB: of a worker, and of what a process starts with, at most
linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks of other processes are read in /proc")
WORKERS = f"""
from joblib import Parallel, delayed
from clbook.common.environment import peak_megabytes
alone = peak_megabytes("cpu")
Parallel(2)(delayed(lambda size: len(b"1" * size))({LARGE} << 20) for _ in range(2))
print(alone, peak_megabytes("cpu"))
"""


def _peaks(code: str) -> list[int]:
    variables = os.environ | {"PYTHONPATH": import_path()}
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)
    return list(map(int, done.stdout.split()))


@linux
def test_the_memory_of_workers_counts_as_long_as_they_are_there():
    pytest.importorskip("joblib")
    alone, together = _peaks(WORKERS)
    assert together - alone > LARGE


@linux
def test_the_memory_of_the_process_that_started_it_does_not_count():
    ballast = b"1" * (LARGE << 20)
    code = "from clbook.common.environment import peak_megabytes; print(peak_megabytes('cpu'))"
    assert _peaks(code)[0] < SMALL < len(ballast) >> 20


@pytest.mark.parametrize(
    "before, after",
    [
        ((256, 1024), (1024, 1024)),  # the usual limit of macOS
        ((256, resource.RLIM_INFINITY), (4096, resource.RLIM_INFINITY)),
        ((60000, 100000), (60000, 100000)),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), (resource.RLIM_INFINITY, resource.RLIM_INFINITY)),
        ((128, 128), (128, 128)),
    ],
)
def test_open_files_are_allowed_as_far_as_the_system_lets(monkeypatch, before, after):
    limits = [before]
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda kind, pair: limits.append(pair))
    environment.allow_open_files()
    assert limits[-1] == after


@pytest.mark.parametrize("before", [(60, 60), (20, 100)])
def test_too_few_open_files_are_refused_by_their_limit(monkeypatch, before):
    monkeypatch.setattr(resource, "getrlimit", lambda kind: before)
    monkeypatch.setattr(resource, "setrlimit", lambda kind, pair: None)
    with one_line_error(BookError, rf"at least 128 are needed, the limit is {before[1]} \(ulimit -n\)"):
        environment.allow_open_files()
