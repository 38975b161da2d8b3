"""Parameters that contradict each other are refused by the chapter's own checks, before a kernel starts."""

import pytest
from one_line_error import one_line_error
from stand_in import SOURCE, write_stand_in

from clbook.commands import contradictions, runs
from clbook.common.apart import TookTooLong
from clbook.common.errors import BookError
from clbook.sweep.grid import plan_grid

CHECKED = SOURCE.replace(
    "# %% [markdown]\n# ## What it states",
    """# %%
def require_room(least):
    if seeds < least * scale:
        raise ValueError(f"seeds: must be ≥ {least}·scale = {least * scale:g}, got {seeds}")


chapter.check(require_room, 2)

# %% [markdown]
# ## What it states""",
).replace("double =", "measured = open('measured', 'w')\ndouble =")
REFUSED = "stand-in: seeds: must be ≥ 2·scale = 4, got 3"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return write_stand_in(tmp_path, CHECKED)


@pytest.fixture
def here(monkeypatch):
    """In this process, since another one takes long to import torch; what is checked is appended to a list."""
    asked = []

    def called(function, files, parameters, *given, seconds):
        asked.extend(parameters)
        return function(files, parameters, *given)

    monkeypatch.setattr(contradictions, "apart", called)
    return asked


def test_a_run_is_refused_before_its_kernel_starts(files, tmp_path):
    with one_line_error(BookError, REFUSED):
        runs.plan("stand-in", ["seeds=3", "scale=2"], out=tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"chapters"}
    assert not (tmp_path / "chapters" / "measured").exists()


def test_what_agrees_is_run_and_a_profile_is_not_asked(files, here):
    runs.plan("stand-in", profile="smoke")
    assert here == []
    runs.plan("stand-in", ["seeds=3"])
    assert [one["seeds"] for one in here] == [3]


def test_a_grid_is_refused_for_one_of_its_points(files, here):
    with one_line_error(BookError, REFUSED):
        plan_grid("stand-in", ["scale=1,2"], given=["seeds=3"])
    plan_grid("stand-in", ["scale=1,2"])
    plan_grid("stand-in", ["scale=1,2"], given=["seeds=3"], elsewhere=True)


def test_what_else_goes_wrong_is_left_to_the_run(files, here, monkeypatch):
    files.source.write_text(CHECKED.replace("seeds < least * scale", "1 / 0"))
    runs.plan("stand-in", ["seeds=3"])
    for error in (TookTooLong(), EOFError()):
        monkeypatch.setattr(contradictions, "apart", lambda *given, seconds, error=error: (_ for _ in ()).throw(error))
        runs.plan("stand-in", ["seeds=3", "scale=2"])
