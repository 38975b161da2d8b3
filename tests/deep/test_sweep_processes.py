"""Sweeps with real processes: twelve points undisturbed, with a worker killed, with the client killed and run again."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext

import distributed
import pytest
from checkout import import_path
from marked import heed_ctrl_c
from stand_in import SOURCE, build_stand_in

from clbook.common.errors import BookError
from clbook.sweep.cluster import open_pool
from clbook.sweep.grid import plan_grid
from clbook.sweep.run_sweep import run_sweep
from clbook.sweep.sweep_table import TABLE, read_table, write_table

LIGHT = SOURCE.replace("import torch\n", "")  # seconds of import for each of the points
for line, short in (
    ('ACTIVATIONS["relu"].h(torch.tensor(2.0 * scale)).item()', "2.0 * scale"),
    ('ACTIVATIONS["relu"].h(torch.tensor(-scale)).item()', "0.0"),
    ("from contrastive_dynamics.losses.activations import ACTIVATIONS\n", ""),
    ("[-1.0, -1.1, -1.2]", "[-1.0 - 0.1 * (s % 4) for s in chapter.seeds]"),
):
    LIGHT = LIGHT.replace(line, short)
GRID, SEEDS = "scale=0.5,0.8,1,1.2,1.5,2", 2  # twelve points
HALF, PAIR = "scale=0.5,0.8,1", "scale=0.5,2"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("book")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLBOOK_ROOT", str(root))
        build_stand_in(root, source=LIGHT)
        yield root


def rows(folder):
    """The table without the columns that differ from run to run."""
    write_table(read_table(folder), folder / TABLE)
    table = list(csv.DictReader((folder / TABLE).open()))
    return [{key: value for key, value in row.items() if key != "seconds"} for row in table]


@pytest.fixture(scope="module")
def address():
    """The scheduler of a cluster that is already running."""
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def undisturbed(root, address):
    outcome = run_sweep(plan_grid("stand-in", [GRID], seeds=SEEDS), root / "undisturbed", open_pool(scheduler=address))
    assert len(outcome.done) == 12
    return rows(root / "undisturbed")


def of(undisturbed, grid):
    """The rows of the undisturbed sweep that belong to a part of its grid: other folders, the same results."""
    scales = {str(float(value)) for value in grid.partition("=")[2].split(",")}
    return [row for row in undisturbed if row["scale"] in scales]


def test_points_of_a_sweep_are_runs_of_their_own(undisturbed, root):
    assert {row["status"] for row in undisturbed} == {"done"} and {row["fig-1"] for row in undisturbed} == {
        "reproduced"
    }
    for row in undisturbed:
        files = {path.name for path in (root / "undisturbed" / row["notebook"]).parent.iterdir()}
        assert files == {"stand-in.ipynb", "claims.json", "run.json"}


def test_a_point_is_named_after_the_profile_whose_parameters_it_has(undisturbed, root):
    for row in undisturbed:
        made_by = json.loads((root / "undisturbed" / row["notebook"]).with_name("run.json").read_text())
        own = row["scale"] == "1.0" and row["first_seed"] == "1000"
        assert made_by["profile"] == ("default" if own else "custom")


def test_folded_blocks_of_seeds_give_the_rows_that_runs_of_their_own_give(root, undisturbed, address):
    folded = plan_grid("stand-in", [PAIR], seeds=SEEDS, fold=True)
    outcome = run_sweep(folded, root / "folded", open_pool(scheduler=address))
    folded_rows, separate = rows(root / "folded"), of(undisturbed, PAIR)
    assert len(outcome.done) == 2 and len({row["notebook"] for row in folded_rows}) == 2 and len(folded_rows) == 4
    by_seed = ["point", "status", "seeds", "first_seed", "scale", "mode", "machine", "fig-1 statistic", "fig-1"]
    assert [[row[key] for key in by_seed] for row in folded_rows] == [[row[key] for key in by_seed] for row in separate]
    assert "thm-1" in separate[0] and "thm-1" not in folded_rows[0]  # one number a run: of no block


def test_a_sweep_of_one_claim_computes_that_claim_alone_with_the_same_number(root, undisturbed, address):
    wanted = plan_grid("stand-in", [PAIR], seeds=SEEDS, only="fig-1")
    assert len(run_sweep(wanted, root / "one", open_pool(scheduler=address)).done) == 4
    alone, separate = rows(root / "one"), of(undisturbed, PAIR)
    assert "thm-1" not in alone[0]
    assert [row["fig-1 statistic"] for row in alone] == [row["fig-1 statistic"] for row in separate]


def under_way(pool, folder, act):
    """Call `act` when the first run has ended, the others are submitted and some are under way."""
    following, calls = pool.next, []

    def watched():
        calls.append(1)
        while len(calls) == 2 and not list(folder.glob("runs/.*")):
            time.sleep(0.02)
        if len(calls) == 2:
            act()
        return following()

    pool.next = watched
    return nullcontext(pool)


def test_a_killed_worker_loses_no_more_than_its_point(root, undisturbed, address):
    folder, killed = root / "worker", []

    with open_pool(scheduler=address) as pool:

        def kill():
            busy = next(worker for worker, keys in pool.client.processing().items() if keys)
            killed.append(pool.client.run(os.getpid, workers=[busy])[busy])
            os.kill(killed[0], signal.SIGKILL)

        outcome = run_sweep(plan_grid("stand-in", [HALF], seeds=SEEDS), folder, under_way(pool, folder, kill))
    assert len(killed) == 1 and len(outcome.done) == 6 and outcome.failed == {}
    assert rows(folder) == of(undisturbed, HALF) and not list(folder.glob("runs/.*"))


def test_a_killed_client_loses_no_more_than_the_points_in_flight(root, undisturbed):
    folder = root / "client"
    command = [sys.executable, "-m", "clbook", "sweep", "stand-in", "--grid", HALF]
    command += ["--seeds", str(SEEDS), "--jobs", "2", "--out", str(folder)]
    environment = os.environ | {"PYTHONPATH": import_path(), "CLBOOK_ROOT": str(root)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(done := {path.parent.name for path in folder.glob("runs/[!.]*/run.json")}) < 2:  # whole, not under way
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    written = {run: (folder / "runs" / run / "run.json").stat().st_mtime_ns for run in done}
    time.sleep(2)  # workers see that the client is gone
    again = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert again.returncode == 0 and "6 of 6 runs done, 0 failed" in again.stdout, again.stderr
    assert all((folder / "runs" / run / "run.json").stat().st_mtime_ns == at for run, at in written.items())
    assert rows(folder) == of(undisturbed, HALF) and not list(folder.glob("runs/.*"))


def test_an_interrupted_sweep_is_one_line_and_leaves_nothing_half_written(root):
    """A terminal sends Ctrl-C to the workers, too."""
    folder = root / "interrupted"
    command = [sys.executable, "-m", "clbook", "sweep", "stand-in", "--grid", PAIR, "--jobs", "2"]
    process = subprocess.Popen(
        [*command, "--out", str(folder)],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": import_path(), "CLBOOK_ROOT": str(root)},
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
    )
    try:
        deadline = time.monotonic() + 200
        while not list(folder.glob("runs/.*")) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=200)
    finally:
        process.kill()
    assert (process.returncode, said) == (130, "clbook: interrupted\n")
    assert not list(folder.glob("runs/.*")) and (folder / TABLE).exists()


def test_a_scheduler_that_is_lost_is_one_line_and_the_sweep_goes_on_elsewhere(root, undisturbed, address):
    grid, folder = plan_grid("stand-in", [PAIR], seeds=SEEDS), root / "lost"
    lost = distributed.LocalCluster(1, threads_per_worker=1, dashboard_address=":0")
    with lost, open_pool(scheduler=lost.scheduler_address) as pool:
        with pytest.raises(BookError, match="the scheduler was lost; what is finished stays: run the same command"):
            run_sweep(grid, folder, under_way(pool, folder, lost.close))
    assert 1 <= len(list((root / "lost").glob("runs/*/run.json"))) < 4
    run_sweep(grid, root / "lost", open_pool(scheduler=address))
    assert rows(root / "lost") == of(undisturbed, PAIR)
