"""Records: a chapter as a plain script, in pieces that resume, without the packages of notebooks and pages."""

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from checkout import import_path
from stand_in import SOURCE, write_stand_in

from clbook.commands import record, verify
from clbook.common import environment
from clbook.common.errors import BookError
from clbook.common.parameters import profile_parameters
from clbook.common.sources import ChapterFiles
from clbook.notebook import glue, pieces
from clbook.notebook.pieces import Keeper, OutOfTime
from clbook.provenance.records import seal_of
from contrastive_dynamics.numerics.ranks import effective_rank

torch = pytest.importorskip("torch")
PIECES = """
# %%
def long_part(k):
    with open(trace, "a") as file:
        file.write(f"{k} ")
    return {"k": torch.full((2,), float(k)), "label": "x"}

trace = chapter.files.root / "trace"
parts = [chapter.piece("long part", long_part, k) for k in chapter.progress(range(3), "parts")]
double = 2 * scale + sum(part["k"].sum().item() for part in parts) - 6.0

import matplotlib.pyplot as plt
from clbook.notebook.glue import figure

fig, ax = plt.subplots(figsize=(1, 1))
figure(fig, "fig-1")
"""
BY_CHANCE = ("control=[-1.0,", "control=[-1.0 + 0 * double,")  # the claim that chance decides needs the pieces, too
SPLIT = '# %% tags=["nbval-check-output"]\nchapter.judge("thm-1",'
WITH_PIECES = SOURCE.replace(SPLIT, PIECES + "\n" + SPLIT).replace(*BY_CHANCE)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return write_stand_in(tmp_path, WITH_PIECES)


def trace(files: ChapterFiles) -> str:
    return (files.root / "trace").read_text()


def test_a_record_holds_stamp_other_seeds_and_pictures(files, capsys):
    environment.arithmetic()  # threadpoolctl sets a variable when it is imported
    before = dict(os.environ)
    assert record.main(["stand-in", "--profile", "smoke", "--other-seeds", "2"]) == 0
    path = files.record("smoke")
    stored = json.loads(path.read_text())
    assert stored["run"]["profile"] == "smoke" and stored["run"]["parameters"]["seeds"] == 3
    assert [s["parameters"]["first_seed"] for s in stored["other_seeds"]] == [2000, 3000]
    assert stored["blocks"] == 3 and stored["seal"] == seal_of([stored["run"], *stored["other_seeds"]], 3)
    assert set(stored["run"]["readings"]) == {"thm-1", "thm-1-a", "fig-1"}
    assert [p.name for p in path.with_suffix("").iterdir()] == ["fig-1.png"]
    assert not any((files.root / "records" / ".pieces" / "stand-in").iterdir())
    assert "thm-1: reproduced" in capsys.readouterr().out
    assert dict(os.environ) == before and glue.figure.__module__ == glue.__name__


def test_the_record_is_read_as_a_result_and_is_not_stale(files):
    from clbook.notebook.results import stored_runs

    record.record("stand-in", "smoke", other_seeds=1)
    run = stored_runs(files)["smoke"]
    assert not run.stale and run.blocks == {"fig-1": {"smoke": ["reproduced"] * 2}}  # the one that chance decides


def test_other_seeds_of_another_size_are_kept_up_to_date_at_that_size(files):
    files.profile("small").write_text("seeds: 2\n")
    path = record.record("stand-in", "smoke", other_seeds=1, other_profile="small")
    (other,) = json.loads(path.read_text())["other_seeds"]
    assert (other["profile"], other["parameters"]["seeds"], other["parameters"]["first_seed"]) == ("small", 2, 2000)
    assert record.record("stand-in", "smoke") is None
    files.profile("small").write_text("seeds: 4\n")
    record.record("stand-in", "smoke")
    (other,) = json.loads(path.read_text())["other_seeds"]
    assert (other["profile"], other["parameters"]["seeds"]) == ("small", 4)
    record.record("stand-in", "smoke", other_seeds=1)  # asked for at the record's own size
    (other,) = json.loads(path.read_text())["other_seeds"]
    assert (other["profile"], other["parameters"]["seeds"]) == ("smoke", 3)


@pytest.mark.parametrize("gone", ["row", "chance"])
def test_other_seeds_lose_the_readings_of_a_claim_that_is_gone_or_no_longer_by_chance(files, gone):
    """Else they would be restamped as those of the present cell, and count as its recurrences."""
    path = record.record("stand-in", "smoke", other_seeds=1)
    claims, source = files.claims.read_text(), files.source.read_text()
    row = claims[claims.index("- id: fig-1") : claims.index("- id: lem-1")]
    told = '  changed: [{date: "2026-11-28", old_rule: "≥ 0", old_verdict: reproduced, why: exact now}]\n'
    exact = row.replace("  by_chance: true\n", told)
    files.claims.write_text(claims.replace(row, exact if gone == "chance" else ""))
    judged = source[source.index("rows = [") : source.index('# %% tags=["remove-cell"]')]
    exact = judged.replace("observed=rows", "observed=min(rows)")
    files.source.write_text(source.replace(judged, exact if gone == "chance" else ""))
    assert record.record("stand-in", "smoke") == path
    stored = json.loads(path.read_text())
    (other,) = stored["other_seeds"]
    assert other["claims"] == other["readings"] == {}
    assert ("fig-1" in stored["run"]["readings"]) == (gone == "chance")
    assert record.record("stand-in", "smoke") is None


def test_a_stopped_record_goes_on_from_its_pieces(files, capsys):
    arguments = ["stand-in", "--profile", "smoke", "--seconds", "0"]
    for done in ("0 ", "0 1 "):
        assert record.main(arguments) == record.OUT_OF_TIME
        assert trace(files) == done and not files.record("smoke").exists()
        assert "run the same command again" in capsys.readouterr().out
    assert record.main(arguments) == 0
    assert trace(files) == "0 1 2 " and files.record("smoke").is_file()


def test_other_seeds_start_only_while_there_is_time_and_finished_runs_are_kept(files):
    with pytest.raises(OutOfTime):
        for _ in range(3):
            try:
                record.record("stand-in", "smoke", seconds=0, other_seeds=1)
            except OutOfTime:
                if trace(files) == "0 1 2 ":
                    raise
    record.record("stand-in", "smoke", other_seeds=1)
    assert trace(files) == "0 1 2 0 1 2 "  # the second block's, by the claim that chance decides


def test_a_cell_took_what_its_kept_pieces_took(files, monkeypatch):
    """Else a dear reading of a resumed record looks cheap, and is drawn to be verified whole."""
    kept = Keeper._piece

    def earlier(self, path, label, made_of, compute, args, options):
        self.earlier_seconds += 100.0
        return kept(self, path, label, made_of, compute, args, options)

    monkeypatch.setattr(Keeper, "_piece", earlier)
    assert record.main(["stand-in", "--profile", "smoke"]) == 0
    took = json.loads(files.record("smoke").read_text())["run"]["cells"]["the cell of long_part, trace, parts"]
    assert 300.0 <= float(took.split()[1]) < 360.0


def test_pieces_of_other_code_are_not_used(files):
    with pytest.raises(OutOfTime):
        record.record("stand-in", "smoke", seconds=0)
    files.source.write_text(WITH_PIECES.replace("range(3)", "range(3 )").replace('"x"}', '"y"}'))
    record.record("stand-in", "smoke")
    assert trace(files) == "0 0 1 2 "


def test_the_keeper_adds_the_time_of_earlier_pieces_and_stops_before_one_that_would_be_late(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(pieces.time, "monotonic", lambda: now[0])

    def work(value):
        now[0] += 4.0
        return value

    keeper = Keeper(tmp_path, deadline=9.0)
    assert [keeper("a", work, 1), keeper("a", work, (2, "b"))] == [1, (2, "b")]
    with pytest.raises(OutOfTime):
        keeper("c", work, 3)
    again = Keeper(tmp_path, deadline=9.0)
    assert [again("a", work, 7), again("a", work, 8), again.earlier_seconds] == [1, (2, "b"), 8.0]


def test_a_piece_that_cannot_be_kept_is_named(tmp_path):
    with pytest.raises(BookError, match="piece 'odd' returns what cannot be kept; it must consist of tensors"):
        Keeper(tmp_path, 1e9)("odd", lambda: ChapterFiles(tmp_path, "x"))
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("damage", [0, 40, 700, -1, None])
def test_a_damaged_piece_is_computed_again(tmp_path, capsys, damage):
    """One bit of its sum, of its content or of its end has turned, or it is cut short."""
    assert Keeper(tmp_path, 1e9)("a", lambda: [0.25] * 99) == [0.25] * 99
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    if damage is None:
        path.write_bytes(content[: len(content) // 2])
    else:
        content[damage] ^= 4
        path.write_bytes(content)
    keeper = Keeper(tmp_path, 1e9)
    assert keeper("a", lambda: [0.5]) == [0.5] and keeper.computed == 1
    assert capsys.readouterr().err == f"{path}: damaged; this piece is computed again\n"
    assert Keeper(tmp_path, 1e9)("a", lambda: [0.75]) == [0.5]


def test_pieces_of_library_functions_are_told_apart_by_arithmetic_and_are_not_shared_unless_a_folder_is_named(
    tmp_path, monkeypatch
):
    """Training may turn a last bit into another network, so another instruction set has pieces of its own."""
    for capability in ("AVX2", "AVX512", "AVX512"):
        monkeypatch.setattr(environment, "arithmetic", lambda capability=capability: {"capability": capability})
        Keeper(tmp_path / "one", 1e9).library("rank", effective_rank, torch.eye(2))
    assert len(list((tmp_path / "one" / "library").iterdir())) == 2
    Keeper(tmp_path / "two", 1e9).library("rank", effective_rank, torch.eye(2))
    assert len(list((tmp_path / "two" / "library").iterdir())) == 1
    Keeper(tmp_path / "two", 1e9, shared=tmp_path / "all").library("rank", effective_rank, torch.eye(2))
    Keeper(tmp_path / "one", 1e9, shared=tmp_path / "all").library("rank", effective_rank, torch.eye(2))
    assert len(list((tmp_path / "all").iterdir())) == 1 and {p.name for p in tmp_path.iterdir()} == {
        "one",
        "two",
        "all",
    }


GRID = """
# %%
from experiments.nonlinearity.matching_curves import matching_curves
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining

size = dict(candidates=1, places=2, tokens=3, generators=2, length=1, outputs=2, batch=4)
ends = []
for beta in (1, 2, 3):
    arms = {"arm": (TokenTraining(beta=beta, **size), range(2))}
    ends.append(chapter.library_piece(f"beta {beta}", matching_curves, arms, 500, 2, ())["arm"]["plus"])
double = 2 * scale + 0 * float(torch.stack(ends).sum())
"""
WITH_GRID = SOURCE.replace(SPLIT, GRID.replace("# %%", "# %%\nimport torch", 1) + "\n" + SPLIT)


@pytest.fixture
def grid(files, monkeypatch):
    """A chapter whose pieces are library functions, in this process, since workers take long to import torch."""
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    files.source.write_text(WITH_GRID)
    return files


def kept(files):
    folder = files.root / "records" / ".pieces" / "stand-in" / "library"
    return {path.name.split("-")[1]: path for path in folder.glob("*.pt")}


def test_a_grid_that_is_killed_goes_on_and_outlives_a_change_of_the_text(grid):
    command = [sys.executable, "-m", "clbook.commands.record", "stand-in", "--profile", "smoke"]
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": import_path()}, stdout=subprocess.DEVNULL)
    while not kept(grid) and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL and "1" in kept(grid) and "3" not in kept(grid)
    first = {beta: path.stat().st_mtime_ns for beta, path in kept(grid).items()}
    grid.source.write_text(WITH_GRID.replace("ends = []", "ends = list()"))
    record.record("stand-in", "smoke")
    assert set(kept(grid)) == {"1", "2", "3"}
    assert all(kept(grid)[beta].stat().st_mtime_ns == written for beta, written in first.items())


def test_a_verification_leaves_no_piece_that_a_later_one_could_read(grid, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    parameters = profile_parameters(grid, "smoke")
    assert verify.run_again(str(grid.root), grid.name, parameters, "smoke", ["thm-1"])["readings"]
    assert not list(scratch.iterdir()) and not kept(grid)


def test_a_piece_of_another_grid_under_this_name_is_one_line(grid, capsys):
    record.record("stand-in", "smoke")
    pieces = kept(grid)
    pieces["1"].replace(pieces["2"])
    grid.source.write_text(WITH_GRID.replace("ends = []", "ends = list()"))
    assert record.main(["stand-in", "--profile", "smoke"]) == 2
    assert "holds a piece of other code or parameters than 'beta 2'; delete it" in capsys.readouterr().err


def test_a_failing_cell_is_one_line_with_its_number(files, capsys):
    files.source.write_text(WITH_PIECES.replace("falling =", "x = 1\n1 / 0\nfalling ="))
    assert record.main(["stand-in", "--profile", "smoke"]) == 2
    said = "record: stand-in.py, cell 6, line 2 failed: ZeroDivisionError: division by zero\n"
    assert capsys.readouterr().err.endswith(said)
    assert not files.record("smoke").exists()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["stand-inn"], "did you mean stand-in"),
        (["stand-in"], "has no profile 'paper', there are: default, smoke"),
        (["stand-in", "--profile", "smoke", "--device", "cuda"], "has no parameter 'device'"),
        (["stand-in", "--profile", "smoke", "--other-seeds", "-1"], "must be ≥ 0, with seeds ≤ 1000, got -1"),
        (["stand-in", "--profile", "smoke", "--other-seeds", "100"], "first_seed: must be int 0..100000, got 101000"),
    ],
)
def test_what_cannot_be_recorded_is_one_line(files, capsys, arguments, message):
    assert record.main(arguments) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1
    assert not files.record("smoke").exists()


@pytest.mark.parametrize("code, said", [(errno.ENOSPC, "the disk is full"), (errno.EFBIG, "ulimit -f")])
def test_a_full_disk_is_one_line(files, capsys, monkeypatch, code, said):
    def full(*args, **options):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(record, "write_json", full)
    assert record.main(["stand-in", "--profile", "smoke"]) == 2
    assert said in capsys.readouterr().err
    assert not files.record("smoke").exists()


def test_a_record_beside_the_same_one_is_refused_and_the_first_goes_on(files, capsys, monkeypatch):
    def beside(*args):
        assert record.main(["stand-in", "--profile", "smoke"]) == 2
        said = capsys.readouterr().err
        assert said.startswith("record: stand-in, smoke: another record of it is running (process ")
        return run_script(*args)

    run_script = record.run_script
    monkeypatch.setattr(record, "run_script", beside)
    assert record.main(["stand-in", "--profile", "smoke"]) == 0
    assert files.record("smoke").exists()


def test_a_picture_is_replaced_whole(tmp_path, monkeypatch):
    source, place = tmp_path / "pieces", tmp_path / "record"
    for folder, content in ((source, b"after"), (place, b"before")):
        folder.mkdir()
        (folder / "fig-1.png").write_bytes(content)

    def full(path, content):
        with open(path, "wb") as file:
            file.write(content[:2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(Path, "write_bytes", full)
        record._store_figures(source, place, {"fig-1": {}})
    assert [path.read_bytes() for path in place.iterdir()] == [b"before"]
    record._store_figures(source, place, {"fig-1": {}})
    assert (place / "fig-1.png").read_bytes() == b"after"


def test_it_runs_without_the_packages_of_notebooks_and_pages(files, tmp_path):
    blocked = "yaml typer rich tqdm IPython jupytext nbformat nbconvert papermill jupyter_client".split()
    script = (
        f"import sys; sys.modules.update(dict.fromkeys({blocked!r})); "
        "from clbook.commands.record import main; "
        "sys.exit(main(['stand-in', '--profile', 'smoke']))"
    )
    environment = os.environ | {"PYTHONPATH": import_path()}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(files.record("smoke").read_text())["run"]["claims"]["thm-1"]["rule"] is None
    from clbook.notebook.results import stored_runs

    run = stored_runs(files)["smoke"]
    assert not run.stale and run.verdicts["thm-1"].verdict == "reproduced"
