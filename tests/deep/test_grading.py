"""What a submission does costs that submission alone, as little of it as can be, and nothing of it stays behind."""

import os
import signal
import subprocess
import sys
import time

import nbformat
import pytest
from checkout import ROOT, import_path
from marked import heed_ctrl_c
from stand_in_exercises import answered, source_file

pytest.importorskip("otter", reason="otter-grader is not installed: pip install '.[class]'")

from clbook.classroom.exercises import assign  # noqa: E402
from clbook.classroom.grades import grade

RIGHT = "def double(x):\n    return 2 * x"
ENDLESS_BELOW_0 = "def double(x):\n    while x < 0:\n        pass\n    return 2 * x"
HANGS = "import time\nwhile True:\n    try:\n        time.sleep(0.1)\n    except BaseException:\n        pass"


@pytest.fixture
def source(tmp_path):
    return source_file(tmp_path)


@pytest.fixture
def sheet(source, tmp_path):
    (tmp_path / "work").mkdir()
    return assign(source, tmp_path / "work")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "class").mkdir()
    return tmp_path / "class"


def graded(source, folder, seconds=120.0):
    return {each.student: each for each in grade(source, folder, seconds)[1]}


def said(result):
    return [text for case in result.questions["w1_double"].cases for text in case.said]


def test_an_endless_loop_costs_its_test_case(source, sheet, folder):
    nbformat.write(answered(sheet, ENDLESS_BELOW_0)[0], folder / "ada.ipynb")
    result = graded(source, folder, 60.0)["ada.ipynb"]
    assert result.scores == {"w1_double": 2} and result.notes == []
    assert said(result) == ["no end after 10 s: does a loop never end?"]


def test_an_endless_cell_costs_that_cell(source, sheet, folder):
    notebook, at = answered(sheet, RIGHT)
    notebook.cells.insert(at, nbformat.v4.new_code_cell("while True:\n    pass"))
    nbformat.write(notebook, folder / "ada.ipynb")
    assert graded(source, folder, 60.0)["ada.ipynb"].scores == {"w1_double": 6}


def test_one_that_cannot_be_stopped_is_ended(source, sheet, folder):
    nbformat.write(answered(sheet, HANGS)[0], folder / "fay.ipynb")
    result = graded(source, folder, 25.0)["fay.ipynb"]
    assert result.scores == {} and result.notes == ["not graded: ran longer than 25 s", "missing: double"]


def test_an_untouched_sheet_says_what_is_open(source, sheet, folder):
    nbformat.write(sheet.student, folder / "cyd.ipynb")
    result = graded(source, folder)["cyd.ipynb"]
    assert result.scores == {"w1_double": 0} and said(result) == ["`double` returns nothing yet"] * 2


def test_bytes_of_no_encoding_a_foreign_kernel_and_a_process_left_behind(source, sheet, folder, tmp_path, monkeypatch):
    """The kernel `python3` of the user leads nowhere; a cell prints what is not UTF-8 and starts what would stay."""
    spec = tmp_path / "data" / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text('{"argv": ["/usr/bin/false"], "display_name": "x", "language": "python"}')
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "data"))
    monkeypatch.delenv("JUPYTER_PREFER_ENV_PATH", raising=False)
    left = tmp_path / "pid"
    lines = [
        "import os, subprocess",
        'subprocess.run(["printf", "\\\\377"])',
        'os.write(1, b"\\xff")',
        'sleeper = subprocess.Popen(["sleep", "1234"], start_new_session=True)',
        f"open({str(left)!r}, 'w').write(str(sleeper.pid))",
    ]
    notebook, at = answered(sheet, RIGHT)
    notebook.metadata["kernelspec"] = {"name": "conda-env-mine", "display_name": "mine", "language": "python"}
    notebook.cells.insert(at, nbformat.v4.new_code_cell("\n".join(lines)))
    nbformat.write(notebook, folder / "ada.ipynb")
    assert graded(source, folder)["ada.ipynb"].scores == {"w1_double": 6}
    assert is_gone(int(left.read_text()))


def is_gone(pid):
    """Whether a process ends within some seconds; one that has ended but is not waited for counts as gone."""
    import psutil

    for _ in range(50):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.2)
    return False


def test_ctrl_c_ends_what_a_submission_has_started_and_grading_goes_on_where_it_was(source, sheet, folder, tmp_path):
    left = tmp_path / "pid"
    start = f"import subprocess\np = subprocess.Popen(['sleep', '1234'])\nopen({str(left)!r}, 'w').write(str(p.pid))"
    nbformat.write(answered(sheet, RIGHT)[0], folder / "ada.ipynb")
    nbformat.write(answered(sheet, f"{start}\n{HANGS}")[0], folder / "bob.ipynb")
    command = [sys.executable, "-m", "clbook", "grade", "sums", str(folder), "--feedback", str(tmp_path / "back")]
    variables = os.environ | {"PYTHONPATH": import_path(ROOT), "CLBOOK_ROOT": str(tmp_path)}
    process = subprocess.Popen(
        command,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_ctrl_c,
    )
    try:
        for _ in range(600):
            if left.exists() and left.read_text():
                break
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and "ada.ipynb: 6 points" in err and "interrupted" in err and out == ""
    assert is_gone(int(left.read_text()))
    nbformat.write(answered(sheet, RIGHT)[0], folder / "bob.ipynb")
    again = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)
    assert again.returncode == 0, again.stderr
    assert "bob.ipynb" in again.stdout
    assert {path.name for path in (tmp_path / "back").iterdir()} == {"ada.html", "bob.html", "results.jsonl"}
    assert len((tmp_path / "back" / "results.jsonl").read_text().splitlines()) == 1  # bob's code is ada's
