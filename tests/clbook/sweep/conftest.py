"""What the tests of sweeps share."""

import pytest
from stand_in import build_stand_in

from clbook.sweep.grid import plan_grid


@pytest.fixture
def grid(tmp_path, monkeypatch):
    """Six points of the stand-in: three scales, two blocks of seeds."""
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    build_stand_in(tmp_path)
    return plan_grid("stand-in", ["scale=0.5,1,2"], seeds=2)
