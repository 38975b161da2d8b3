"""`pytest tests/deep --drawn` runs a fifth of the slow tests, which the commit selects."""

from checkout import ROOT
from drawn_tests import drawn

from clbook.common.samples import commit_or_digest


def pytest_addoption(parser):
    parser.addoption("--drawn", action="store_true", help="run a fifth of the tests, which the commit selects")


def pytest_collection_modifyitems(config, items):
    if config.getoption("drawn"):
        chosen = drawn([item.nodeid for item in items], commit_or_digest(ROOT))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
        items[:] = [item for item in items if item.nodeid in chosen]
