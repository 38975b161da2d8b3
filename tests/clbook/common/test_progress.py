import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import v4

from clbook.common import progress

BAR = "from clbook.common.progress import progress\nseen = list(progress(range(4), 'four'))\nlen(seen)"
MISTAKE = "from clbook.common.errors import BookError\nraise BookError('seeds: got 0')"


def run(*sources: str, monkeypatch) -> nbformat.NotebookNode:
    for name in (progress.FILE_VARIABLE, progress.TEST_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    notebook = v4.new_notebook(cells=[v4.new_code_cell(source) for source in sources])
    return NotebookClient(notebook, kernel_name="python3", allow_errors=True, timeout=60).execute()


@pytest.fixture(autouse=True)
def this_interpreter(monkeypatch):
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")


def test_a_bar_leaves_nothing_in_a_notebook_and_a_mistake_is_one_line(monkeypatch):
    bar, mistake = run(BAR, MISTAKE, monkeypatch=monkeypatch).cells
    assert [output.output_type for output in bar.outputs] == ["execute_result"]
    assert mistake.outputs[0].traceback == ["BookError: seeds: got 0"]


def test_a_bar_adds_nothing_to_what_nbval_compares(tmp_path, monkeypatch):
    monkeypatch.delenv(progress.FILE_VARIABLE, raising=False)
    result = v4.new_output("execute_result", {"text/plain": "4"}, execution_count=1)
    checked = v4.new_code_cell(BAR, outputs=[result], execution_count=1, metadata={"tags": ["nbval-check-output"]})
    nbformat.write(v4.new_notebook(cells=[checked]), tmp_path / "bar.ipynb")
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, "--nbval-lax", "--nbval-current-env"]
    command = [sys.executable, "-m", "pytest", *options, tmp_path / "bar.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


def test_where_another_process_draws_the_bar_the_file_is_written(tmp_path, monkeypatch):
    state = tmp_path / "state.json"
    monkeypatch.setenv(progress.FILE_VARIABLE, str(state))
    assert list(progress.progress(range(3), "three", cell=7)) == [0, 1, 2]
    assert '"cell": 7' in state.read_text()


def test_in_a_script_the_bar_goes_to_stderr(monkeypatch, capsys):
    monkeypatch.delenv(progress.FILE_VARIABLE, raising=False)
    assert list(progress.progress(iter("ab"), "letters", total=2)) == ["a", "b"]
    seen = capsys.readouterr()
    assert seen.out == "" and "letters" in seen.err
