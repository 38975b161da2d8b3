"""A pytest plugin: the kernels' own tests with their tensors on a device, what came of each as a line in a file.

    python -m pytest -p clbook.gpu.on_device --device cuda --outcomes FILE tests/losses

Each test runs with the device as torch's default, so that whatever it makes lives there. Tests that the file has
already are left out: a run that was cut short goes on. The outcomes:

- `passed`, `failed`;
- `cpu only`: the test itself hands a tensor to numpy, or mixes tensors of the CPU with those of the device, so it says
  nothing about the kernel;
- `mixed`: tensors of two devices met below a kernel, where the test gave both, or the kernel made one;
- `absent`: it needs a package that is not installed here; `skipped`: it says itself why;
- `late`, `died`: written by who ended the process, or found it dead, during the test.
"""

import contextlib
import inspect
import json
from pathlib import Path

import pytest

from ..provenance.library import FOLDER as LIBRARY
from .store import Store, finished

STAND_IN = "elsewhere"  # in the place of a device: the one that every machine has
# in the text of an error: tensors of two devices met, or one was handed to numpy; of CUDA, then of the stand-in
_MIXED = ("on the same device", "device type tensor to numpy", "device type for generator", "is on cpu, different from",
          "tensors of two devices", ".numpy() is not supported", "to FarTensor.", "The values for attribute 'device'",
          "should be on cpu", "must be on the CPU")  # fmt: skip


def pytest_addoption(parser) -> None:
    parser.addoption("--device", default="cpu", help=f"torch's default device in each test, or {STAND_IN}")
    parser.addoption("--outcomes", type=Path, help="a file that gets a line of JSON for each test")
    parser.addoption("--job", help="the name under which --out is told which test is running")
    parser.addoption("--out", type=Path, help="the folder of `make gpu`'s results")


def _note(config, test: str, outcome: str, **more) -> None:
    if path := config.getoption("outcomes"):
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"test": test, "outcome": outcome, **more}) + "\n")


def pytest_collection_modifyitems(config, items) -> None:
    path = config.getoption("outcomes")
    done = finished(path) if path else {}
    left_out = [item for item in items if item.nodeid in done]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.nodeid not in done]


def _absent(text: str) -> str:
    """The package that an import did not find, from the text of an error."""
    return text.partition("No module named ")[2].split("\n")[0].strip("'\" ")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A file that imports a package that is not here is skipped, with its name."""
    report = yield
    if report.failed and "ModuleNotFoundError" in str(report.longrepr):
        package = _absent(str(report.longrepr))
        _note(collector.config, collector.nodeid, "absent", said=f"needs {package}")
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"Skipped: needs {package}")
    return report


@contextlib.contextmanager
def _default_device(name: str):
    import torch

    if name == STAND_IN:
        from elsewhere import ELSEWHERE, elsewhere

        with elsewhere():
            torch.set_default_device(ELSEWHERE)
            yield
    else:
        torch.set_default_device(None if name == "cpu" else name)
        yield
    torch.set_default_device(None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    if "elsewhere()" in inspect.getsource(item.function):
        pytest.skip("is about the stand-in for a second device")
    if job := item.config.getoption("job"):
        Store(item.config.getoption("out")).begin(job, [item.nodeid])
    with _default_device(item.config.getoption("device")):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "call" or report.failed:
        outcome, said = _outcome(report, call)
        if said and outcome not in ("failed", "mixed"):
            report.outcome, report.longrepr = "skipped", (str(item.path), 0, f"Skipped: {said}")
        _note(item.config, item.nodeid, outcome, seconds=round(call.duration, 2), said=said)
    return report


def _outcome(report, call) -> tuple[str, str]:
    """The outcome of a test and, unless it passed, one line about it."""
    if call.excinfo is None:
        return "passed", ""
    error = call.excinfo.value
    said = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    if report.skipped:
        return "skipped", said
    if isinstance(error, ModuleNotFoundError):
        return "absent", f"needs {error.name}"
    if any(mark in str(error) for mark in _MIXED):
        paths = [Path(entry.path) for entry in call.excinfo.traceback if entry.path]
        return ("mixed" if any(map(_is_kernel, paths)) else "cpu only"), said
    return "failed", said


def _is_kernel(path: Path) -> bool:
    """Whether a file is a module of the library, outside the machinery that runs the tests."""
    return LIBRARY in path.parents
