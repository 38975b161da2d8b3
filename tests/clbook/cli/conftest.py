"""A book with a finished sweep, whose files the tests damage."""

import shutil

import pytest
from damage import GRID
from stand_in import build_stand_in
from stand_in_pool import Pool, run

from clbook.sweep.grid import plan_grid


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A book with a finished sweep in `mine`."""
    root = tmp_path_factory.mktemp("book")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLBOOK_ROOT", str(root))
        build_stand_in(root)
        run(plan_grid(GRID[0], GRID[2:3], seeds=2), root / "mine", Pool())
    return root


@pytest.fixture
def book(built, tmp_path, monkeypatch):
    shutil.copytree(built, tmp_path / "book")
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path / "book"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "book"
