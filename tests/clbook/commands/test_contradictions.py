"""Parameters that contradict each other are refused by the chapter's own checks, before anything is measured."""

import pytest
from stand_in import SOURCE, write_stand_in
from typer.testing import CliRunner

from clbook.cli import app

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
REFUSED = "clbook: stand-in: seeds: must be ≥ 2·scale = 4, got 3\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return write_stand_in(tmp_path, CHECKED)


def ran(tmp_path) -> tuple[int, str, str]:
    words = ["run", "stand-in", "-p", "seeds=3", "-p", "scale=2", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, words)
    return done.exit_code, done.stdout, done.stderr


def test_a_run_is_refused_in_one_line_and_leaves_nothing(files, tmp_path):
    assert ran(tmp_path) == (2, "", REFUSED)
    assert {path.name for path in tmp_path.iterdir()} == {"chapters"}
    assert not (tmp_path / "chapters" / "measured").exists()


def test_a_check_that_itself_fails_is_a_failed_cell(files, tmp_path):
    files.source.write_text(CHECKED.replace("seeds < least * scale", "1 / 0"))
    status, stdout, said = ran(tmp_path)
    assert (status, stdout) == (2, "") and said.startswith("clbook: stand-in: cell [4] failed: ")
    assert "ZeroDivisionError: division by zero; partial notebook: " in said
