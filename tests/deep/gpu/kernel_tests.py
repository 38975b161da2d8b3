"""The kernels' own tests in a process, each with the device as torch's default. The outcomes:

- `passed`, `failed`;
- `cpu only`: the test itself hands a tensor to numpy, or mixes tensors of the CPU with those of the device, so it says
  nothing about the kernel;
- `mixed`: tensors of two devices met below a kernel, where the test gave both, or the kernel made one;
- `absent`: it needs a package that is not installed here; `skipped`: it says itself why.
"""

import inspect
import os
from pathlib import Path

import pytest
from on_device import Task, failure

from clbook.provenance.library import FOLDER as KERNELS

# in the text of an error: tensors of two devices met, or one was handed to numpy; of CUDA, then of the stand-in
_MIXED = ("on the same device", "device type tensor to numpy", "device type for generator", "is on cpu, different from",
          "tensors of two devices", ".numpy() is not supported", "to FarTensor.", "The values for attribute 'device'",
          "should be on cpu", "must be on the CPU")  # fmt: skip


def run(task: Task, root: Path) -> None:
    """Run a folder of tests, without those that have a line."""
    os.chdir(root)
    (folder,) = task.cases
    options = ["-q", "--continue-on-collection-errors", "-p", "no:cacheprovider", "-o", "addopts=", "--rootdir", root]
    status = pytest.main([*map(str, options), folder], plugins=[OnDevice(task)])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(f"pytest ended with status {status}")
    task.add(folder, outcome="passed")


class OnDevice:
    """The pytest plugin of this process."""

    def __init__(self, task: Task):
        self.task = task

    def pytest_collection_modifyitems(self, items) -> None:
        items[:] = [item for item in items if item.nodeid not in self.task.held]

    def pytest_collectreport(self, report) -> None:
        if report.failed and report.nodeid not in self.task.held:
            package = str(report.longrepr).partition("No module named ")[2].split("\n")[0].strip("'\" ")
            line = {"outcome": "absent", "package": package} if package else {"outcome": "failed"}
            self.task.add(report.nodeid, **line, text=str(report.longrepr)[-300:])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        import torch

        if "elsewhere()" in inspect.getsource(item.function):
            pytest.skip("is about the stand-in for a second device")
        torch.set_default_device(None if self.task.device == "cpu" else self.task.device)
        try:
            return (yield)
        finally:
            torch.set_default_device(None)

    def pytest_runtest_logstart(self, nodeid) -> None:
        self.task.begin(nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.when == "call" or report.failed:
            self.task.add(item.nodeid, **_outcome(report, call.excinfo), seconds=round(call.duration, 2))
        return report


def _outcome(report, raised) -> dict:
    """The outcome of a test and, unless it passed, one line about it."""
    if raised is None:
        return {"outcome": "passed"}
    line = failure(raised.value)
    if report.skipped:
        return line | {"outcome": "skipped"}
    if line["outcome"] == "failed" and any(mark in str(raised.value) for mark in _MIXED):
        in_kernel = any(KERNELS in Path(entry.path).parents for entry in raised.traceback if entry.path)
        return line | {"outcome": "mixed" if in_kernel else "cpu only"}
    return line
