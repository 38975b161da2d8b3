"""The environment of a result is recorded: versions, device, arithmetic, memory."""

import resource

import pytest
from one_line_error import one_line_error

from clbook.common import environment
from clbook.common.errors import BookError


def test_what_made_a_result_is_said():
    found = environment.versions()
    assert {"python", "torch", "numpy", "scipy"} <= found.keys() and found["python"].startswith("3.")
    assert environment.device_name("cpu").endswith("cores") and environment.peak_megabytes("cpu") > 1
    made = environment.arithmetic()
    assert made["capability"] and made["blas"] and made["threads"] >= 1


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
