"""A sweep runs every point once, goes on where it was interrupted, and leaves one table."""

import csv
import json
import re
from contextlib import contextmanager

import pytest
from stand_in import SOURCE, build_stand_in

from contrastive_dynamics.book.ground.errors import BookError
from contrastive_dynamics.book.provenance.stamps import MIME, seal
from contrastive_dynamics.book.sweep import job as job_module
from contrastive_dynamics.book.sweep import run_sweep, sweep_folder, sweep_table
from contrastive_dynamics.book.sweep.grid import plan_grid
from contrastive_dynamics.book.sweep.sweep_page import default_claim, write_page
from contrastive_dynamics.book.sweep.sweep_table import (
    TABLE,
    block_readings,
    margin,
    read_table,
    statistic,
    write_table,
)


class Pool:
    """Workers that end their points in reverse order, at once, as `how` says: id → result, or None to be cut off."""

    def __init__(self, how=lambda job: {"status": "done", "said": "", "seconds": 40.0}, count=2):
        self.how, self.count, self.jobs, self.ran, self.local = how, count, [], [], True

    def places(self):
        return self.count

    def room(self):
        return 2 * self.count

    def submit(self, key, job):
        self.jobs.append((key, job))

    def next(self):
        key, job = self.jobs.pop()
        self.ran.append(job.out.rpartition("/")[2])
        result = self.how(job)
        if result is None:
            raise KeyboardInterrupt
        if result["status"] == "done":
            finish(job)
        return key, result

    @contextmanager
    def opened(self):
        yield self


def finish(job):
    """What a run leaves, of the stand-in's committed notebook, its stamp changed as a run would."""
    from pathlib import Path

    out = Path(job.out)
    out.mkdir(parents=True)
    source = Path(job.root) / "chapters" / f"{job.chapter}.ipynb"
    notebook = json.loads(source.read_text())
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if MIME in output.get("data", {}):
                stamp = json.loads(output["data"][MIME])
                values = [job.parameters["scale"] - 0.8 + 0.01 * k for k in range(4)]
                stamp["readings"]["fig-1"]["observed"] = {"": values}
                output["data"][MIME] = json.dumps(seal(stamp))
    (out / source.name).write_text(json.dumps(notebook))
    (out / "run.json").write_text("{}")


@pytest.fixture
def grid(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    build_stand_in(tmp_path)
    return plan_grid("stand-in", ["scale=0.5,1,2"], seeds=2)


def run(grid, folder, pool, said=None):
    return run_sweep.run_sweep(grid, folder, pool.opened(), (said if said is not None else []).append)


def test_every_point_is_run_once_and_the_first_says_what_the_rest_costs(grid, tmp_path):
    pool, said = Pool(), []
    outcome = run(grid, tmp_path / "a", pool, said)
    ids = [point.id for point in grid.points]
    assert sorted(outcome.done) == sorted(pool.ran) == sorted(ids) and outcome.failed == {} and pool.ran[0] == ids[0]
    assert said == ["one run took 40 s; 5 more, 2 at a time: about 2 min"]
    again = Pool()
    assert run(grid, tmp_path / "a", again).done == ids and again.ran == []


def test_no_more_points_are_handed_over_than_workers_can_take(grid, tmp_path):
    handed = []

    class Counting(Pool):
        def next(self):
            handed.append(len(self.jobs))
            return super().next()

    run(grid, tmp_path / "a", Counting(count=1))
    assert handed == [1, 2, 2, 2, 2, 1]


def test_an_interrupted_sweep_goes_on_with_what_is_left(grid, tmp_path):
    bad = grid.points[2].id
    pool = Pool(lambda job: None if job.out.endswith(bad) else {"status": "done", "said": "", "seconds": 1.0})
    with pytest.raises(KeyboardInterrupt):
        run(grid, tmp_path / "a", pool)
    done = set(pool.ran) - {bad}
    (tmp_path / "a" / "runs" / ".half.123").mkdir()
    more = Pool()
    outcome = run(grid, tmp_path / "a", more)
    assert done and set(more.ran) == {point.id for point in grid.points} - done and len(outcome.done) == 6
    assert not list((tmp_path / "a" / "runs").glob(".*"))


def test_a_point_that_fails_is_tried_once_more_and_the_others_run(grid, tmp_path):
    bad = grid.points[1].id
    always = Pool(
        lambda job: {"status": "failed" if job.out.endswith(bad) else "done", "said": "cell [3]", "seconds": 1}
    )
    outcome = run(grid, tmp_path / "a", always)
    assert outcome.failed == {bad: "cell [3]"} and len(outcome.done) == 5 and always.ran.count(bad) == 2
    assert (sweep_folder.failed_folder(tmp_path / "a", bad) / "reason.txt").read_text() == "cell [3]\n"
    assert run(grid, tmp_path / "a", Pool()).done == [p.id for p in grid.points if p.id != bad] + [bad]
    assert not sweep_folder.failed_folder(tmp_path / "a", bad).exists()
    tries = []

    def once(job):
        if job.out.endswith(bad) and not tries:
            tries.append(1)
            return {"status": "failed", "said": "the worker was lost", "seconds": 0}
        return {"status": "done", "said": "", "seconds": 1}

    assert len(run(grid, tmp_path / "b", Pool(once)).done) == 6


def test_what_killed_workers_of_a_cluster_left_half_written_goes_when_the_sweep_ends(grid, tmp_path):
    half, seen = tmp_path / "a" / "runs" / ".half.123", []

    def on_cluster(status):
        pool = Pool(lambda job: seen.append(half.exists()) or {"status": status, "said": "cell [3]", "seconds": 1.0})
        pool.local = False  # another client's workers may still write here when it begins
        return pool

    run(grid, tmp_path / "a", on_cluster("failed"))
    half.mkdir()
    seen.clear()
    run(grid, tmp_path / "a", on_cluster("done"))
    assert len(seen) == 6 and all(seen) and not half.exists()


def test_whatever_a_run_raises_is_the_reason_of_its_point(grid, tmp_path, monkeypatch):
    def refuse(plan):
        raise LookupError("no template\nwith a second line")

    monkeypatch.setattr("contrastive_dynamics.book.running.runs.run", refuse)
    job = job_module.Job(
        str(tmp_path), "stand-in", "smoke", grid.points[0].parameters, str(tmp_path / "out"), grid.code
    )
    assert job_module.run_job(job) == {"status": "failed", "said": "LookupError: no template\nwith a second line"}


def test_a_full_disk_ends_the_sweep_and_keeps_what_is_finished(grid, tmp_path):
    bad = grid.points[3].id
    pool = Pool(lambda job: {"status": "full" if job.out.endswith(bad) else "done", "said": "", "seconds": 1})
    with pytest.raises(BookError, match="the disk is full; what is finished stays: make room and run the same command"):
        run(grid, tmp_path / "a", pool)
    assert any(sweep_folder.is_done(tmp_path / "a", point.id) for point in grid.points)
    assert len(run(grid, tmp_path / "a", Pool()).done) == 6


def test_a_place_that_cannot_hold_a_sweep_is_one_line(grid, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(BookError, match=r"file: cannot be written \(File exists\); choose another folder"):
        run_sweep.command(grid, tmp_path / "file", None, None)

    def unsupported(*given):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(run_sweep.fcntl, "flock", unsupported)
    with pytest.raises(BookError, match=r"cannot be locked \(Operation not supported\); choose --out on another disk"):
        run(grid, tmp_path / "a", Pool())


def test_a_folder_is_for_one_sweep(grid, tmp_path):
    class Busy(Pool):
        def next(self):
            with pytest.raises(BookError, match=r"a: another sweep is running here \(process \d+ on "):
                run(grid, tmp_path / "a", Pool())
            return super().next()

    run(grid, tmp_path / "a", Busy())
    other = plan_grid("stand-in", ["scale=0.5,1"])
    with pytest.raises(BookError, match=r"another sweep \(its axes, blocks, points differ\); choose another --out"):
        run(other, tmp_path / "a", Pool())
    fixed = plan_grid("stand-in", ["scale=0.5,1,2"], seeds=2, given=["mode=fancy"])
    with pytest.raises(BookError, match="made by other code, with other fixed parameters or another choice of --fold"):
        run(fixed, tmp_path / "a", Pool())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years of work")
    with pytest.raises(BookError, match="not empty and no sweep"):
        run(grid, tmp_path / "full", Pool())
    with pytest.raises(BookError, match="no sweep, it has no readable sweep.json"):
        read_table(tmp_path / "full")
    definition = tmp_path / "a" / "sweep.json"
    definition.write_text(definition.read_text().replace('"version": 1', '"version": 0'))
    with pytest.raises(BookError, match="a sweep of layout 0, this version reads 1"):
        read_table(tmp_path / "a")


def test_a_worker_says_why_a_point_failed(grid, tmp_path, monkeypatch):
    from contrastive_dynamics.book.running import runs
    from contrastive_dynamics.book.running.jupyter_kernel import DiskFull

    parameters, out = grid.points[0].parameters, str(tmp_path / "runs" / "x")
    job = job_module.Job(str(tmp_path), "stand-in", "custom", parameters, out, grid.code)
    assert "workers must share the sweep's folder" in job_module.run_job(job)["said"]
    (tmp_path / "runs").mkdir()
    for error, status in (
        (BookError("cell [2] failed"), "failed"),
        (DiskFull("full"), "full"),
        (OSError("net"), "failed"),
    ):
        monkeypatch.setattr(runs, "run", lambda plan, error=error: (_ for _ in ()).throw(error))
        assert job_module.run_job(job)["status"] == status
    monkeypatch.setattr(runs, "run", lambda plan: None)
    assert job_module.run_job(job) == {"status": "failed", "said": "the run left no result"}
    monkeypatch.setattr(runs, "run", lambda plan: plan.out.mkdir() or (plan.out / "run.json").touch())
    assert job_module.run_job(job)["status"] == "done"
    other = job_module.Job(str(tmp_path), "stand-in", "custom", parameters, f"{out}-other", "of another version")
    assert "has other code of the book: workers must have that of the sweep" in job_module.run_job(other)["said"]


def test_a_run_that_another_worker_has_finished_first_is_done(grid, tmp_path, monkeypatch):
    """Both had it, since the scheduler took one of them for lost."""
    from contrastive_dynamics.book.running import runs

    def late(plan):
        plan.out.mkdir()
        (plan.out / "run.json").touch()
        raise OSError(39, "Directory not empty")

    monkeypatch.setattr(runs, "run", late)
    job = job_module.Job(str(tmp_path), "stand-in", "smoke", grid.points[0].parameters, str(tmp_path / "x"), grid.code)
    assert job_module.run_job(job)["status"] == "done"


def test_the_cost_is_told_by_the_first_run_that_succeeds(grid, tmp_path):
    tries, said = [], []

    def second_time(job):
        tries.append(job.out)
        return {"status": "failed" if len(tries) == 1 else "done", "said": "cell [3]", "seconds": 40.0}

    sweep_folder.run_folder(tmp_path / "b", grid.points[0].id).mkdir(parents=True)
    (sweep_folder.run_folder(tmp_path / "b", grid.points[0].id) / "run.json").touch()
    there = job_module.Job(str(tmp_path), "stand-in", "smoke", {}, str(tmp_path / "b" / "runs" / grid.points[0].id), "")
    assert "seconds" not in job_module.run_job(there)  # another worker's: it tells nothing
    run(grid, tmp_path / "a", Pool(second_time), said)
    assert tries[0] == tries[1] and said == ["one run took 40 s; 5 more, 2 at a time: about 2 min"]


def test_sweeps_of_the_same_points_have_keys_of_their_own(grid, tmp_path):
    keys = []

    class Keyed(Pool):
        def submit(self, key, job):
            keys.append(key)
            super().submit(key, job)

    for name in ("a", "b"):
        run(grid, tmp_path / name, Keyed())
    assert len(keys) == len(set(keys)) == 12 and {key.partition("-")[0] for key in keys} == set(grid.runs)


def test_a_sweep_that_could_not_write_its_definition_begins_again(grid, tmp_path, monkeypatch):
    def full(path, text):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(run_sweep, "write_aside", full)
        with pytest.raises(OSError):
            run(grid, tmp_path / "a", Pool())
    assert len(run(grid, tmp_path / "a", Pool()).done) == 6


def test_a_point_whose_second_try_was_interrupted_waits(grid, tmp_path):
    bad = grid.points[0].id
    tries = []

    def interrupted(job):
        tries.append(1)
        sweep_folder.failed_folder(tmp_path / "a", bad).mkdir(
            exist_ok=True
        )  # with the partial notebook, as a run leaves it
        return {"status": "failed", "said": "cell [3]", "seconds": 1} if len(tries) == 1 else None

    with pytest.raises(KeyboardInterrupt):
        run(grid, tmp_path / "a", Pool(interrupted))
    assert {row.status for row in read_table(tmp_path / "a").rows} == {"waiting"}
    (tmp_path / "a" / "points.json").write_text("[")
    with pytest.raises(BookError, match="its points.json is missing or damaged"):
        read_table(tmp_path / "a")


def test_the_table_has_a_row_a_point_with_parameters_statistics_and_verdicts(grid, tmp_path):
    bad = grid.points[5].id
    run(
        grid,
        tmp_path / "a",
        Pool(lambda job: {"status": "failed" if job.out.endswith(bad) else "done", "said": "", "seconds": 1}),
    )
    table = read_table(tmp_path / "a")
    assert table.axes == {"scale": [0.5, 1.0, 2.0], "first_seed": [1000, 1004]} and table.claims[0] == "thm-1"
    write_table(table, tmp_path / "a" / TABLE)
    rows = list(csv.DictReader((tmp_path / "a" / TABLE).open()))
    assert [(row["point"], row["scale"], row["first_seed"]) for row in rows] == [
        (p.id, str(p.parameters["scale"]), str(p.parameters["first_seed"])) for p in grid.points
    ]
    assert [row["status"] for row in rows] == ["done"] * 5 + ["failed"]
    assert [float(row["fig-1 statistic"]) for row in rows[::2]] == pytest.approx([-0.285, 0.215, 1.215])
    assert [row["fig-1"] for row in rows] == ["not reproduced"] * 2 + ["reproduced"] * 3 + [""]
    assert (tmp_path / "a" / rows[0]["notebook"]).is_file() and rows[5]["notebook"] == ""


def test_the_page_shows_the_claim_that_turns_over_the_grid(grid, tmp_path):
    run(grid, tmp_path / "a", Pool())
    table = read_table(tmp_path / "a")
    assert default_claim(table) == "fig-1"
    page = tmp_path / "a" / "fig-1.html"
    elsewhere = tmp_path / "pages for a class" / "fig-1.html"
    elsewhere.parent.mkdir()
    for written in (elsewhere, page):
        write_page(table, "fig-1", written, tmp_path / "a")
        text = written.read_text()
        links = re.findall(r'<a href="([^"]+)"', text)
        assert len(links) == 6 and all((written.parent / link).is_file() for link in links)
    assert "fig-1 (rule ≥ 0)" in text and ">scale<" in text and "6 done, 0 failed, 0 waiting" in text
    with pytest.raises(BookError, match="no point has judged 'thm-9', there are: thm-1, thm-1-a, fig-1"):
        write_page(table, "thm-9", page, tmp_path / "a")


def test_the_statistic_is_that_of_the_case_that_decides():
    from contrastive_dynamics.book.claims.judging import Reading
    from contrastive_dynamics.book.claims.rules import Rule

    def of(rule, *values):
        return statistic(Rule.parse(rule, ""), Reading.of(observed=dict(enumerate(values)), control=0.0))

    assert of({"at_most": 1}, 0.2, 0.9, 0.5) == 0.9 and of({"at_least": 1}, 3, 0.2) == 0.2
    assert of({"between": [0, 1]}, 0.5, 0.95, 0.1) == 0.95 and of({"equals": 4}, 4, 7) == 7
    assert of({"rate": {"predicted": 2, "rival": 1}}, 2.1, 1.7) == 1.7
    assert margin(Rule.parse({"between": [0, 1]}, ""), Reading.of(observed=3.0, control=0).observed[""]) == -2


def test_a_block_has_the_values_of_its_seeds_and_no_claim_that_is_not_by_seed():
    readings = {
        "a": {"observed": {"": [1, 2, 3, 4], "x": [5, 6, 7, 8]}, "control": {"": [0, 0, 1, 1]}},
        "number": {"observed": {"": [1, 2, 3, 4]}, "control": {"": 0.5}},
        "share": {"observed": {"": {"hits": 3, "trials": 4}}, "control": {"": [0, 0, 1, 1]}},
        "others": {"observed": {"": [1, 2]}, "control": {"": [0, 0]}},
    }
    expected = {"a": {"observed": {"": [3, 4], "x": [7, 8]}, "control": {"": [1, 1]}}}
    assert block_readings(readings, 1, 2, 2) == expected


@pytest.mark.parametrize("axes", [["scale=0.5,1,2", "mode=plain,fancy", "seeds=2,3,4,5"], ["mode=plain,fancy"], []])
def test_grids_of_any_shape_are_drawn(tmp_path, monkeypatch, axes):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    build_stand_in(tmp_path, source=SOURCE)
    grid = plan_grid("stand-in", axes, seeds=1 if axes else 3)
    run(grid, tmp_path / "a", Pool())
    write_page(read_table(tmp_path / "a"), "fig-1", tmp_path / "page.html", tmp_path / "a")
    assert "<svg" in (tmp_path / "page.html").read_text()


def test_what_a_block_leaves_out_counts_for_the_correction_of_its_verdicts(tmp_path, monkeypatch):
    """As in a run of the block alone, whose claims are all judged together."""
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    build_stand_in(tmp_path)
    together, verdicts_of = [], sweep_table.verdicts_of

    def watched(stamp, claims):
        together.append(set(stamp["readings"]))
        return verdicts_of(stamp, claims)

    monkeypatch.setattr(sweep_table, "verdicts_of", watched)
    run(plan_grid("stand-in", ["scale=0.5,1"], seeds=2, fold=True), tmp_path / "a", Pool())
    table = read_table(tmp_path / "a")
    assert together[-4:] == [{"thm-1", "thm-1-a", "fig-1"}] * 4
    assert [row.claims for row in table.rows] == [{}] * 4  # eight seeds; these stand-ins have four values
    with pytest.raises(BookError, match="blocks of seeds, folded, have no claim of their own"):
        default_claim(table)
