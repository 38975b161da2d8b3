"""A run into a new folder: complete if it succeeds, one line and nothing else if it fails."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from checkout import import_path
from stand_in import SOURCE, write_stand_in

from clbook.claims.claim_table import Claims
from clbook.commands import committed, record, runs
from clbook.commands.jupyter_kernel import Bar
from clbook.common.errors import BookError
from clbook.common.sources import ChapterFiles
from clbook.provenance.digests import code_digest
from clbook.provenance.slices import ChapterCode
from clbook.sweep.job import Job, run_job

DEVICE = 'device: str = "cpu"  # where, auto|cpu|cuda'
WITH_DEVICE = SOURCE.replace("seeds: int", f"{DEVICE}\nseeds: int", 1)
DATA = 'data: str = "digits"  # which images, digits|mnist'
WITH_DATA = SOURCE.replace("seeds: int", f"{DATA}\nseeds: int", 1)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return write_stand_in(tmp_path, WITH_DEVICE)


def test_a_good_run_leaves_notebook_claims_and_what_made_them(files, tmp_path):
    out = tmp_path / "some" / "out"
    rows = runs.run(runs.plan("stand-in", ["seeds=5", "mode=fancy"], "smoke", out=out))
    assert {p.name for p in out.iterdir()} == {"stand-in.ipynb", "claims.json", "run.json"}
    assert {p.name for p in out.parent.iterdir()} == {"out"}
    assert {row["anchor"]: row["verdict"] for row in rows} == {
        "thm-1": "reproduced",
        "thm-1-a": "contradicted",
        "fig-1": "reproduced",
    }
    assert json.loads((out / "claims.json").read_text()) == json.loads(json.dumps(rows))
    made_by = json.loads((out / "run.json").read_text())
    assert made_by["parameters"] == {"device": "cpu", "seeds": 5, "first_seed": 1000, "scale": 1.0, "mode": "fancy"}
    assert made_by["profile"] == "custom" and made_by["peak_mb"] > 1 and made_by["seconds"] > 0
    assert {"claims", "versions", "device"} <= made_by.keys() and "readings" not in made_by
    code = [c for c in nbformat.read(out / "stand-in.ipynb", as_version=4).cells if c.cell_type == "code"]
    assert [c.execution_count for c in code] == list(range(1, len(code) + 1))


def test_a_failing_cell_is_named_and_its_notebook_kept(files, tmp_path):
    source = WITH_DEVICE.replace("double =", "print('so far')\nraise RuntimeError('no\\nluck')\ndouble =")
    files.source.write_text(source)
    with pytest.raises(BookError) as caught:
        runs.run(runs.plan("stand-in", out=tmp_path / "out"))
    kept = tmp_path / "out.failed" / "stand-in.ipynb"
    said = str(caught.value)
    assert said.startswith("stand-in: cell [4] failed: ") and said.endswith(f"partial notebook: {kept}")
    assert "RuntimeError: no" in said and "\n" not in said
    assert "so far" in kept.read_text()
    assert {p.name for p in tmp_path.iterdir()} == {"chapters", "out.failed"}


def _run(files: ChapterFiles, out: Path) -> None:
    runs.run(runs.plan("stand-in", out=out))


def _execute(files: ChapterFiles, out: Path) -> None:
    committed.execute(files)


def _sweep(files: ChapterFiles, out: Path) -> None:
    parameters = {"device": "cpu", "seeds": 4, "first_seed": 1000, "scale": 1.0, "mode": "plain"}
    code = code_digest(ChapterCode(files), Claims.load(files.claims))
    outcome = run_job(Job(str(files.root), files.name, "default", parameters, str(out), code))
    assert outcome["status"] == "failed"
    raise BookError(outcome["message"])


@pytest.mark.parametrize(
    ("make", "death", "how"),
    [
        (_run, "os._exit(1)", r"\(status 1\)"),
        (_execute, "os.kill(os.getpid(), signal.SIGKILL)", r"\(signal 9\); is there memory enough\?"),
        (_sweep, "os.kill(os.getpid(), signal.SIGSEGV)", r"\(signal 11\)"),
    ],
)
def test_a_kernel_that_dies_ends_what_it_ran_for_in_one_line_and_leaves_nothing(files, tmp_path, make, death, how):
    files.source.write_text(WITH_DEVICE.replace("double =", f"import os, signal\n{death}\ndouble ="))
    with pytest.raises(BookError, match=rf"^stand-in: the kernel died {how}$"):
        make(files, tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"chapters"} and not files.notebook.exists()


def _library() -> dict[str, str]:
    return {"PYTHONPATH": import_path()}


def full(*args, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("place", ["run_notebook", "write_notebook"])
def test_a_full_disk_is_one_line_and_leaves_nothing(files, tmp_path, monkeypatch, place):
    def write_empty(notebook, path, **options):
        nbformat.write(notebook, path)

    monkeypatch.setattr(runs, "run_notebook", write_empty)
    monkeypatch.setattr(runs, "notebook_stamp", lambda path: {"readings": {}})
    monkeypatch.setattr(runs, place, full)
    with pytest.raises(BookError, match=r"out: the disk is full; nothing was left there$"):
        runs.run(runs.plan("stand-in", out=tmp_path / "deep" / "out"))
    assert {p.name for p in tmp_path.iterdir()} == {"chapters"}


def test_a_chapter_that_is_not_closed_is_refused(files, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "run_notebook", lambda notebook, path, **options: nbformat.write(notebook, path))
    with pytest.raises(BookError, match=r"no cell ends with chapter.close\(\)"):
        runs.run(runs.plan("stand-in", out=tmp_path / "out"))
    assert {p.name for p in tmp_path.iterdir()} == {"chapters"}


@pytest.mark.parametrize(
    "options, message",
    [
        ({"name": "stand-inn"}, "no chapter 'stand-inn', there are: stand-in; did you mean stand-in"),
        ({"assignments": ["seds=3"]}, "stand-in: no parameter 'seds', allowed are device, .*; did you mean seeds"),
        ({"assignments": ["seeds"]}, "-p seeds: not of the form name=value"),
        ({"assignments": ["seeds=3", "seeds=4"]}, "-p seeds=4: seeds is given twice"),
        ({"assignments": ["seeds=three"]}, "seeds: must be int 2..100, got 'three'"),
        ({"assignments": ["seeds=3.5"]}, "seeds: must be int 2..100, got 3.5"),
        ({"assignments": ["scale=3"]}, r"scale: must be float 0.5..2, got 3"),
        ({"assignments": ["mode=plane"]}, r"mode: must be str plain\|fancy, got 'plane'"),
        ({"profile": "huge"}, "stand-in has no profile 'huge', there are: default, smoke"),
        ({"device": "gpu"}, r"device: must be str auto\|cpu\|cuda, got 'gpu'"),
    ],
)
def test_what_cannot_be_run_is_refused_before_a_kernel_starts(files, tmp_path, options, message):
    with pytest.raises(BookError, match=message):
        runs.plan(**{"name": "stand-in", "out": tmp_path / "out"} | options)
    assert {p.name for p in tmp_path.iterdir()} == {"chapters"}


def test_cuda_that_is_absent_is_refused(files, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(BookError, match="got 'cuda', but this machine offers none"):
        runs.plan("stand-in", device="cuda")
    with pytest.raises(BookError, match="got 'cuda', but this machine offers none"):
        runs.plan("stand-in", ["device=cuda"])
    files.source.write_text(SOURCE)
    with pytest.raises(BookError, match="the chapter has no parameter 'device'"):
        runs.plan("stand-in", device="cuda")


@pytest.fixture
def corrupted(files, tmp_path, monkeypatch):
    """A chapter that reads data, and a data folder with one file of MNIST cut off; the file's path."""
    files.source.write_text(WITH_DATA)
    path = tmp_path / "data" / "mnist" / "train-images-idx3-ubyte.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"cut off")
    monkeypatch.setenv("CONTRASTIVE_DATA", str(tmp_path / "data"))
    return path


def test_a_corrupted_data_file_is_one_line_before_a_kernel_starts(corrupted, tmp_path):
    out = tmp_path / "some" / "out"
    command = [sys.executable, "-m", "clbook", "run", "stand-in", "-p", "data=mnist"]
    done = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, env=os.environ | _library())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"clbook: stand-in: data=mnist: {corrupted} has the sum sha256:")
    assert "expected sha256:440fcabf" in done.stderr and "delete it" in done.stderr
    assert {p.name for p in tmp_path.iterdir()} == {"chapters", "data"}
    assert [p for p in (tmp_path / "data").rglob("*") if p.is_file()] == [corrupted]


def test_a_corrupted_data_file_is_one_line_before_a_record_starts(files, corrupted, tmp_path, capsys):
    files.profile("smoke").write_text('seeds: 3\ndata: "mnist"\n')
    assert record.main(["stand-in", "--profile", "smoke"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"record: stand-in: data=mnist: {corrupted} has the sum") and said.count("\n") == 1
    assert {p.name for p in tmp_path.iterdir()} == {"chapters", "data"}


def test_data_that_a_dependency_ships_needs_no_folder(corrupted):
    assert runs.plan("stand-in").parameters["data"] == "digits"


def test_data_are_checked_without_torch_and_what_is_generated_needs_no_folder(corrupted):
    code = (
        "import sys; from clbook.commands.request import check_data; "
        "from contrastive_dynamics.data.registry import NEEDS; "
        "[check_data({'data': name}, 'x') for name in NEEDS if NEEDS[name] is None]; "
        "sys.exit(bool({'torch', 'sklearn', 'pooch'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], env=os.environ | _library()).returncode == 0


def test_the_profile_is_named_and_a_change_makes_it_custom(files):
    smoke = runs.plan("stand-in", profile="smoke")
    assert smoke.profile == "smoke" and smoke.parameters["seeds"] == 3
    assert smoke.out.parent == files.root / "runs" and smoke.out.name.startswith("stand-in-smoke-")
    assert runs.plan("stand-in", ["seeds=3"], "smoke").profile == "smoke"
    assert runs.plan("stand-in", ["seeds=4"], "smoke").profile == "custom"
    assert runs.plan("stand-in", device="auto").profile == "default"


def test_the_bar_follows_the_seconds_of_the_run_before(tmp_path):
    state = tmp_path / "progress.json"
    bar = Bar("x", 2, [1.0, 8.0, 1.0], state)
    assert [bar.fraction(*at) for at in [(0, 0.0), (1, 0.0), (1, 0.5), (2, 1.0), (7, 0.5)]] == [0, 0.1, 0.5, 1.0, 1.0]
    assert Bar("x", 4, [], state).fraction(1, 0.0) == 0.25
    bar.look()
    state.write_text("{half")
    bar.look()
    state.write_text('{"cell": 1, "fraction": 0.5, "label": "seeds"}')
    bar.look()


COUNTED = """
import gc, sys, threading
from pathlib import Path
import nbformat
from clbook.commands.jupyter_kernel import run_notebook

notebook, out = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")]), Path(sys.argv[1])
for k in range(4):
    run_notebook(notebook, out / f"{k}.ipynb", label="small", folder=out, variables={})
    gc.collect()  # the loop of a thread that has ended
    print(threading.active_count(), len(list(Path("/proc/self/fd").iterdir())))
"""


def test_runs_in_one_process_leave_no_thread_and_no_open_file(tmp_path):
    """A worker of a sweep starts hundreds. In a process of its own, since other tests leave files that close later."""
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("open files are counted in /proc, which is not here")
    command = [sys.executable, "-c", COUNTED, str(tmp_path)]
    left = subprocess.run(command, env=os.environ | _library(), capture_output=True, text=True, check=True).stdout
    assert len(set(left.splitlines()[1:])) == 1, left  # the first one opens what a process keeps
