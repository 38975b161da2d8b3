"""`make gpu` on the CPU, on a machine that has only what it needs: a small book, measured in pieces, then compared."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from bare_machine import write_hook
from checkout import ROOT, import_path
from claim_row import ROW
from marked import heed_ctrl_c
from stand_in import SOURCE, build_stand_in

HERE, OUT_OF_TIME, FIRST = Path(__file__).parent, 75, {"thm-1", "thm-1-a", "fig-1"}
KERNEL_TEST = """import torch

def test_a_sum():
    assert torch.ones(2).sum() == 2

def test_something_false():
    assert torch.zeros(1) == 1

def test_something_absent():
    import yaml
"""
ELSEWHERE = """import numpy
import pytest
import torch
from elsewhere import elsewhere
from contrastive_dynamics.alignment_and_balance.model import correlation
from contrastive_dynamics.numerics.ranks import stable_rank

@pytest.fixture(autouse=True)
def there():
    with elsewhere():
        yield

def test_right():
    assert stable_rank(torch.eye(3)).item() == 3

def test_wrong():
    assert stable_rank(torch.eye(3)).item() == 2

def test_numpy():
    numpy.linalg.svd(torch.eye(3).numpy())

def test_own_tensors_of_two_devices():
    torch.ones(2, device="cpu") + torch.ones(2)

def test_kernel_with_two_devices():
    correlation(torch.ones(1, 2, 3), torch.ones(1, 2, 3, device="cpu"))

def test_package():
    import no_such_package

def test_stand_in():
    with elsewhere():
        pass
"""
BENCHMARK = """import argparse, json
parser = argparse.ArgumentParser()
parser.add_argument("--device")
parser.add_argument("--out")
given = parser.parse_args()
open(given.out, "w").write(json.dumps({"device": given.device}))
"""
CELLS = {  # claim → what its cell does before it is judged
    "broken": "1 / 0",
    "large": 'raise torch.OutOfMemoryError("CUDA out of memory")',
    "absent": '__import__("no_such_package")',
    "killed": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "slow": 'import pathlib, time\ntime.sleep(0 if pathlib.Path("../go").exists() else 600)',
}
LAST = '# %% tags=["remove-cell"]\nchapter.close()\n'


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A book of one chapter, one kernel test and one benchmark."""
    root = tmp_path / "book"
    monkeypatch.setenv("CLBOOK_ROOT", str(root))
    build_stand_in(root)
    for name, text in (("tests/losses/test_small.py", KERNEL_TEST), ("benchmarks/sparse_codes.py", BENCHMARK)):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(text)
    return root


def with_claims(root: Path, *claims: str) -> Path:
    """The chapter with further claims, of which only readings are measured; returns the folder of results."""
    cells = ""
    for claim in claims:
        judged = f'measured\nchapter.judge("{claim}", observed=0.0, advocate=1.0, control=1.0)'
        cells += f'# %%\n{CELLS[claim]}\nmeasured = 1\n\n# %% tags=["nbval-check-output"]\n{judged}\n\n'
    (root / "chapters" / "stand-in.py").write_text(SOURCE.replace(LAST, cells + LAST), encoding="utf-8")
    with (root / "chapters" / "stand-in" / "claims.yaml").open("a", encoding="utf-8") as file:
        file.write(yaml.safe_dump([ROW | {"id": claim, "advocate": "another reading"} for claim in claims]))
    for name in ("chapters/stand-in/profiles/smoke.yaml", "tests/losses/test_small.py", "benchmarks/sparse_codes.py"):
        (root / name).unlink()
    return root / "out"


def begun(root: Path, *options: str, bare: bool = True) -> subprocess.Popen:
    """`make gpu` on a machine with its packages alone, or with all that are here."""
    folders = [*([write_hook(root.parent / "bare")] if bare else []), import_path(), HERE]
    variables = {"PYTHONPATH": os.pathsep.join(map(str, folders)), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "--tb=short", "-p", "no:cacheprovider", "-p", "on_device"]
    command += ["--confcutdir", HERE, HERE / "cases.py", "--device", "cpu", "--out", root / "out", "--minutes", "60"]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "cwd": ROOT}
    how["preexec_fn"] = heed_ctrl_c
    return subprocess.Popen([*map(str, command), *options], env=os.environ | variables, **how)


def measured(root: Path, *options: str, bare: bool = True) -> tuple[int, str]:
    """Status and output of a whole piece."""
    process = begun(root, *options, bare=bare)
    printed = process.communicate(timeout=300)[0]
    return process.returncode, printed


def lines(root: Path) -> dict[str, dict]:
    """Case → its last line; readings at default size by their claim."""
    path = root / "out" / "results.jsonl"
    rows = [json.loads(text) for text in path.read_text().splitlines()] if path.is_file() else []
    return {row["case"].removeprefix("default/stand-in/"): row for row in rows if row["case"] != "machine"}


def outcomes(root: Path) -> dict[str, str]:
    return {case: row["outcome"] for case, row in lines(root).items()}


def compared(root: Path, *options: str) -> subprocess.CompletedProcess:
    command = [sys.executable, HERE / "compare.py", root / "out", *options]
    variables = os.environ | {"PYTHONPATH": import_path()}
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, env=variables)


def test_a_machine_without_jupyter_and_yaml_measures_all_once_and_elsewhere_it_is_compared(root):
    status, printed = measured(root)
    assert status == 0, printed
    test, sizes = "tests/losses/test_small.py::test_", ("smoke/stand-in/", "")
    expected = {f"{size}{claim}": "passed" for size in sizes for claim in FIRST}
    expected |= {"benchmarks/sparse_codes": "passed", "tests/losses": "passed", f"{test}a_sum": "passed"}
    expected |= {f"{test}something_false": "failed", f"{test}something_absent": "absent"}
    assert outcomes(root) == expected and lines(root)[f"{test}something_absent"]["package"] == "yaml"
    assert lines(root)["benchmarks/sparse_codes"]["record"] == {"device": "cpu"}
    assert f"{test}something_false: failed: AssertionError" in printed and "1 failed, 7 passed" in printed
    before = lines(root)
    with (root / "out/results.jsonl").open("a") as file:
        file.write('{"case": "cut sh')
    assert measured(root, "--workers", "2")[0] == 0 and lines(root) == before
    done = compared(root, "--record")
    assert done.returncode == 0, done.stderr
    assert "default/stand-in: 3 same verdict; 3 within tolerance" in done.stdout
    (path,) = (root / "records" / "gpu").iterdir()
    record = json.loads(path.read_text())
    assert record["tests"] == {"passed": 1, "failed": 1, "absent": 1} and set(record["benchmarks"]) == {"sparse_codes"}
    assert record["readings"]["default/stand-in"]["thm-1"]["cpu"] == "reproduced"


def change(root: Path, claim: str, **changes) -> None:
    with (root / "out/results.jsonl").open("a") as file:
        file.write(json.dumps(lines(root)[claim] | {"case": f"default/stand-in/{claim}"} | changes) + "\n")


def test_another_verdict_is_an_error(root):
    assert compared(root).stderr.strip().endswith("out: holds no results of make gpu")
    (root / "chapters/stand-in/profiles/smoke.yaml").unlink()
    assert measured(root, "-k", "default")[0] == 0
    change(root, "thm-1", arms={"observed": {"": 1.0}, "advocate": {"": 1.0}, "control": {"": 1.0}})
    change(root, "fig-1", digest="another")
    done = compared(root)
    turned = "default/stand-in/thm-1: reproduced on the CPU, not reproduced here, another verdict; observed:"
    assert done.returncode == 1 and turned in done.stdout and "1 made by other code" in done.stdout


def test_a_reading_that_fails_is_stored_as_such_and_stops_no_other(root):
    with_claims(root, "broken", "large", "absent", "killed")
    status, printed = measured(root)
    before, failed = lines(root), {"broken": "failed", "large": "out of memory", "absent": "absent", "killed": "died"}
    assert status == 0 and outcomes(root) == dict.fromkeys(FIRST, "passed") | failed, printed
    assert "ZeroDivisionError: division by zero" in before["broken"]["text"]
    assert "default/stand-in/killed: died: the process died" in printed
    assert "needs no_such_package, not installed here" in printed
    assert measured(root)[0] == 0 and lines(root) == before  # what failed for good is not tried again


def test_ctrl_c_keeps_what_is_finished_and_ends_every_process(root):
    with_claims(root, "slow")
    process = begun(root)
    until(lambda: set(lines(root)) == FIRST)
    process.send_signal(signal.SIGINT)
    printed = process.communicate(timeout=60)[0]
    assert process.returncode == 2 and set(lines(root)) == FIRST, printed
    until(lambda: not at_work(root))
    (root / "go").touch()
    assert measured(root)[0] == 0 and set(lines(root)) == {*FIRST, "slow"}


def test_what_needs_more_than_a_piece_waits_for_a_longer_one(root):
    with_claims(root, "slow")
    status, printed = measured(root, "--minutes", "0.4")
    assert lines(root).get("slow", {"outcome": "late"})["outcome"] == "late", printed
    assert status == OUT_OF_TIME and "run the same command again" in printed or "slow: late: was ended after" in printed
    until(lambda: not at_work(root))
    (root / "go").touch()
    assert measured(root)[0] == 0 and outcomes(root) == dict.fromkeys({*FIRST, "slow"}, "passed")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--device", "cuda"], "torch finds no CUDA device on this machine; to rehearse on the CPU"),
        (["--minutes", "0"], "MINUTES must be > 0 and ≤ 600, got 0"),
        (["--workers", "0"], "WORKERS must be ≥ 1, got 0"),
        (["--out", "pyproject.toml"], "OUT: pyproject.toml cannot be used"),
        (["--out", "OTHER"], "holds results of device cuda, here it is cpu; name another folder"),
    ],
)
def test_what_cannot_begin_says_so_in_one_line_before_any_work(root, options, text):
    if "cuda" in options:
        torch = pytest.importorskip("torch")
        if torch.cuda.is_available():
            pytest.skip("there is one")
    (root / "OTHER").mkdir()
    (root / "OTHER" / "results.jsonl").write_text('{"case": "machine", "device": "cuda"}\n')
    status, printed = measured(root, *(str(root / one) if one == "OTHER" else one for one in options))
    assert status == 4 and text in printed and printed.strip().count("\n") == 0 and not lines(root)


def test_each_test_of_a_kernel_on_another_device_gets_its_outcome(root):
    """The stand-in for a second device is `meta` inside `elsewhere()`."""
    (root / "tests/losses/test_small.py").write_text(ELSEWHERE)
    (root / "tests/losses/test_absent.py").write_text("import no_such_package\n")
    code = "from kernel_tests import run; from on_device import Task; from pathlib import Path\n"
    code += f"root = Path({str(root)!r}); (root / 'out').mkdir(); held = {{'tests/losses/test_small.py::test_right'}}\n"
    code += "run(Task({'tests/losses': 'digest'}, held, root / 'out', 'meta', 1, 600.0, 600.0), root)"
    folders = [import_path(), ROOT / "tests" / "tools", HERE]
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True)
    assert {name.rpartition("test_")[2]: outcome for name, outcome in outcomes(root).items()} == {
        "wrong": "failed",
        "numpy": "cpu only",
        "own_tensors_of_two_devices": "cpu only",
        "kernel_with_two_devices": "mixed",
        "package": "absent",
        "stand_in": "skipped",
        "absent.py": "absent",
        "tests/losses": "passed",
    }, done.stdout + done.stderr


def test_what_needs_data_that_is_not_here_is_said(root, monkeypatch):
    monkeypatch.setenv("CONTRASTIVE_DATA", str(root))
    with_claims(root)
    source = SOURCE.replace("scale: float", 'data: str = "mnist"  # which, digits|mnist\nscale: float')
    (root / "chapters" / "stand-in.py").write_text(source.replace("rows = [", "rows = [0.0 * len(data) + "))
    status, printed = measured(root)
    assert status == 0 and set(lines(root)) == {"thm-1", "thm-1-a"} and "needs the data set mnist" in printed


IMAGES = 'data: "coloured-digits"\ndepth: 10\nwidth: 1\nepochs: 1\nimage_seeds: 3\n'  # in seconds


def with_figures(root: Path, profile: str = "") -> None:
    """The book has Feature decoupling alone, whose size on call is another if one is given."""
    shutil.rmtree(root / "chapters")
    shutil.copytree(ROOT / "chapters" / "feature-decoupling", root / "chapters" / "feature-decoupling")
    for path in (ROOT / "chapters").glob("feature-decoupling*.*"):
        shutil.copy(path, root / "chapters")
    if profile:
        (root / "chapters/feature-decoupling/profiles/images.yaml").write_text(profile)


def test_figures_of_images_are_trained_if_they_are_named(root):
    pytest.importorskip("kornia")
    with_figures(root, IMAGES)
    status, printed = measured(root, "-k", "images and (fig-2-a or thm-d5)", bare=False)
    (case, line), *others = lines(root).items()
    assert status == 0 and case == "images/feature-decoupling/fig-2-a" and not others, printed
    assert line["outcome"] == "passed" and len(line["arms"]["observed"][""]) == 3


def test_figures_of_images_say_in_one_line_what_is_missing(root, monkeypatch):
    monkeypatch.setenv("CONTRASTIVE_DATA", str(root))
    with_figures(root)
    status, printed = measured(root, "-k", "images")
    assert status == 0 and not lines(root) and printed.count("SKIPPED") == 1, printed
    assert "needs the data set cifar10" in printed or "needs 24 GB of memory on the device" in printed


def test_kernel_tests_readings_and_benchmarks_of_the_book_are_collected(tmp_path):
    variables = {"PYTHONPATH": os.pathsep.join([import_path(), str(HERE)]), "CLBOOK_ROOT": str(ROOT)}
    options = ["-q", "--collect-only", "-p", "on_device", "--confcutdir", HERE, "--device", "cpu", "--out", tmp_path]
    command = [sys.executable, "-m", "pytest", *map(str, options), str(HERE / "cases.py")]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | variables, capture_output=True, text=True)
    cases = [line.partition("[")[2].rstrip("]") for line in done.stdout.splitlines() if "[" in line]
    stages = list(dict.fromkeys(case.partition("/")[0] for case in cases))
    assert stages == ["tests", "smoke", "default", "benchmarks", "paper"], done.stdout + done.stderr
    kernels = {path.name for path in (ROOT / "lib" / "contrastive_dynamics").iterdir()} | {"experiments"}
    rooms = {path.parent.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").rglob("test_*.py")}
    assert {case for case in cases if case.startswith("tests/")} == {f"tests/{room}" for room in rooms & kernels}
    programs = {path.stem: path.read_text() for path in (ROOT / "benchmarks").glob("*.py")}
    timing = {name for name, text in programs.items() if "measuring import" in text or "import measuring" in text}
    found = {case.rpartition("/")[2] for case in cases if case.startswith("benchmarks/")}
    of_the_processor = {"default_runs", "sweep_load", "sweep_kills", "decoupled_steps", "step_parts"}
    assert found == timing - of_the_processor


def until(done) -> None:
    """Wait until something is so, two minutes at most."""
    end = time.monotonic() + 120
    while not done():
        assert time.monotonic() < end
        time.sleep(0.1)


def at_work(root: Path) -> list[str]:
    """Processes that measure for this book."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            found += [path.parent.name] * (
                str(root).encode() in path.read_bytes() and path.parent.name != str(os.getpid())
            )
        except OSError:
            continue
    return found
