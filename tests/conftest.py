"""One thread per test process: tensors are too small to be split, and two threads cost up to five times the work.

No variable of git: in a commit hook they name the contributor's repository, to which tests that run git would write.
What is skipped is counted for `tests/tools/skipped.py`.
"""

import os

for name in [name for name in os.environ if name.startswith("GIT_")]:
    del os.environ[name]
os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch and numpy are imported, which is after this


def pytest_terminal_summary(terminalreporter, config):
    from skipped import reasons

    if cache := getattr(config, "cache", None):
        deep = any("deep" in argument for argument in config.args)
        cache.set(f"skipped/{'deep' if deep else 'tests'}", reasons(terminalreporter.stats.get("skipped", [])))
