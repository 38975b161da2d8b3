"""The page on a reader's own features: its command and its program print what it shows, and draw its picture."""

import io
import re
import shlex

import numpy as np
import pytest
from page_code import BOOK, shell_lines
from page_outputs import run, shown
from typer.testing import CliRunner

from clbook import cli
from clbook.common.pictures import blocks, look_alike

TEXT = (BOOK / "your-features.md").read_text(encoding="utf-8")
TRANSCRIPT = re.search(r"^```sh\nclbook features.*?^```\n\n```text\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
# of the digits, then of the network
COMMANDS = [line for line in shell_lines("your-features") if line.startswith("clbook")]
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the page's program ran, and what it printed."""
    import matplotlib

    path = tmp_path_factory.mktemp("features")
    with pytest.MonkeyPatch.context() as patch, matplotlib.rc_context():
        patch.chdir(path)
        matplotlib.rcdefaults()  # whatever style another test has set
        matplotlib.use("agg")
        yield path, run(TEXT)


def close(new: str, old: str) -> bool:
    """Whether two texts differ by the rounding of another processor at most."""
    numbers = [[float(number) for number in _NUMBER.findall(text)] for text in (new, old)]
    words = [" ".join(_NUMBER.sub("#", text).split()) for text in (new, old)]  # a terminal's spaces do not count
    return words[0] == words[1] and numbers[0] == pytest.approx(numbers[1], rel=0.02, abs=2e-3)


def test_the_program_prints_and_draws_what_the_page_shows(folder):
    path, printed = folder
    assert len(printed) == 2 and close(printed[1], shown(TEXT)[1])
    drawn, kept = (file.read_bytes() for file in (path / "features.png", BOOK / "_static" / "your-features.png"))
    assert look_alike(blocks(drawn), blocks(kept))


def test_the_program_has_the_promised_length():
    code = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)[1]
    assert len([line for line in code.splitlines() if line.strip()]) <= 40


def test_the_command_prints_what_the_page_shows(folder, monkeypatch):
    path, _ = folder
    monkeypatch.chdir(path)
    monkeypatch.setenv("COLUMNS", "80")
    command, *_ = COMMANDS
    done = CliRunner().invoke(cli.app, shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    assert close(done.stderr + done.stdout, TRANSCRIPT[1]), done.output
    rows = io.StringIO((path / "left-right.csv").read_text())
    table = np.loadtxt(rows, delimiter=",", skiprows=1)
    assert (
        table.shape[1] == 5
        and (table[:, 0] == np.arange(1, len(table) + 1)).all()
        and (table[1:, 1] <= table[:-1, 1]).all()
    )


def test_too_few_rows_are_refused_as_the_page_shows(tmp_path, monkeypatch):
    """The network's features are not here; what is refused, and where another option helps, depends on their shape."""
    monkeypatch.chdir(tmp_path)
    draws = np.random.default_rng(0)
    for k in (1, 2):
        np.save(f"view-{k}.npy", draws.normal(size=(2000, 1280)).astype(np.float32))
    refused, taken = (CliRunner().invoke(cli.app, shlex.split(command)[1:]) for command in COMMANDS[1:])
    assert refused.exit_code == 2 and refused.stderr.strip() in TEXT, refused.stderr
    assert taken.exit_code == 0 and "48 directions in all" in taken.output, taken.output
