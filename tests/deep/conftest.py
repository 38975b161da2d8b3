"""`pytest tests/deep --drawn` runs a fifth of the slow tests, which the commit selects."""

from pathlib import Path

from checkout import ROOT
from drawn_tests import drawn

from clbook.common.samples import commit_or_digest


def pytest_addoption(parser):
    parser.addoption("--drawn", action="store_true", help="run a fifth of the tests, which the commit selects")


def pytest_collection_modifyitems(config, items):
    if config.getoption("drawn"):
        slow = [item for item in items if Path(__file__).parent in item.path.parents]  # a notebook is there to be run
        chosen = drawn([item.nodeid for item in slow], commit_or_digest(ROOT))
        left = {item for item in slow if item.nodeid not in chosen}
        config.hook.pytest_deselected(items=[*left])
        items[:] = [item for item in items if item not in left]
