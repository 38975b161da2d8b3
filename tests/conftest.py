"""One thread per test process: tensors are too small to be split, and two threads cost up to five times the work.

No variable of git: in a commit hook they name the contributor's repository, to which tests that run git would write.
No test leaves torch other than it found it. What is skipped is counted for `tests/tools/skipped.py`.
"""

import os
import sys

import pytest

# what pytest itself has read by now would change the runs of pytest that tests start
for name in [name for name in os.environ if name.startswith("GIT_") or name == "PYTEST_ADDOPTS"]:
    del os.environ[name]
os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch and numpy are imported, which is after this


@pytest.fixture(autouse=True)
def _torch_as_it_was():
    """A test that leaves torch with another precision, or without gradients, fails itself, and not a later one."""
    before = _state()
    yield
    after = _state()
    if before is not None and after != before:
        import torch

        torch.set_default_dtype(before[0])
        torch.set_grad_enabled(before[1])
        pytest.fail(f"torch was left with {after} (default precision, gradients), and was found with {before}")


def _state():
    torch = sys.modules.get("torch")
    return torch and (torch.get_default_dtype(), torch.is_grad_enabled())


def pytest_terminal_summary(terminalreporter, config):
    from skipped import reasons

    if cache := getattr(config, "cache", None):
        deep = any("deep" in argument for argument in config.args)
        cache.set(f"skipped/{'deep' if deep else 'tests'}", reasons(terminalreporter.stats.get("skipped", [])))
