"""A sweep runs every point once, resumes where it was interrupted, and leaves one table."""

import pytest
from stand_in_pool import Pool, run

from clbook.commands import output_place
from clbook.common.errors import BookError
from clbook.sweep import run_sweep, sweep_folder
from clbook.sweep.grid import plan_grid
from clbook.sweep.job import Job, run_job
from clbook.sweep.sweep_table import read_table


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
    pool = Pool(lambda job: None if job.out.endswith(bad) else {"status": "done", "message": "", "seconds": 1.0})
    with pytest.raises(KeyboardInterrupt):
        run(grid, tmp_path / "a", pool)
    done = set(pool.ran) - {bad}
    (tmp_path / "a" / "runs" / ".half.123").mkdir()
    more = Pool()
    outcome = run(grid, tmp_path / "a", more)
    assert done and set(more.ran) == {point.id for point in grid.points} - done and len(outcome.done) == 6
    assert not list((tmp_path / "a" / "runs").glob(".*"))


def test_a_point_that_contradicts_itself_is_a_failed_row_and_not_tried_again(grid, tmp_path):
    bad, said = grid.points[0].id, "stand-in: seeds: must be ≥ 2·scale = 4, got 3"
    pool = Pool(lambda job: {"status": "refused" if job.out.endswith(bad) else "done", "message": said, "seconds": 1})
    outcome = run(grid, tmp_path / "a", pool)
    assert outcome.failed == {bad: said} and len(outcome.done) == 5 and pool.ran.count(bad) == 1
    assert (sweep_folder.failed_folder(tmp_path / "a", bad) / "reason.txt").read_text() == said + "\n"


def test_a_point_that_fails_is_tried_once_more_and_the_others_run(grid, tmp_path):
    bad = grid.points[1].id
    always = Pool(
        lambda job: {"status": "failed" if job.out.endswith(bad) else "done", "message": "cell [3]", "seconds": 1}
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
            return {"status": "failed", "message": "the worker was lost", "seconds": 0}
        return {"status": "done", "message": "", "seconds": 1}

    assert len(run(grid, tmp_path / "b", Pool(once)).done) == 6


def test_what_killed_workers_of_a_cluster_left_half_written_goes_when_the_sweep_ends(grid, tmp_path):
    half, seen = tmp_path / "a" / "runs" / ".half.123", []

    def on_cluster(status):
        pool = Pool(lambda job: seen.append(half.exists()) or {"status": status, "message": "cell [3]", "seconds": 1.0})
        pool.local = False  # another client's workers may still write here when it begins
        return pool

    run(grid, tmp_path / "a", on_cluster("failed"))
    half.mkdir()
    seen.clear()
    run(grid, tmp_path / "a", on_cluster("done"))
    assert len(seen) == 6 and all(seen) and not half.exists()


@pytest.mark.parametrize("reason", ["the disk is full", "a file may not be so large"])
def test_a_full_disk_ends_the_sweep_and_keeps_what_is_finished(grid, tmp_path, reason):
    bad = grid.points[3].id
    pool = Pool(lambda job: {"status": "full" if job.out.endswith(bad) else "done", "message": reason, "seconds": 1})
    with pytest.raises(BookError, match=f"a: {reason}; what is finished stays: make room and run the same command"):
        run(grid, tmp_path / "a", pool)
    assert any(sweep_folder.is_done(tmp_path / "a", point.id) for point in grid.points)
    assert len(run(grid, tmp_path / "a", Pool()).done) == 6


def test_a_place_that_cannot_hold_a_sweep_is_one_line(grid, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    (tmp_path / "circle").symlink_to("circle")
    for name, said in (
        ("file", r"file: cannot be made or written \(File exists\)"),
        ("circle", r"circle: cannot be made or written \(File exists\)"),
        ("circle/below", r"below: cannot be made or written \(Too many levels of symbolic links\)"),
        ("n" * 300, r"nnn: cannot be made or written \(File name too long\)"),
    ):
        with pytest.raises(BookError, match=said):
            run_sweep.command(grid, tmp_path / name, None, None)

    def unsupported(*given):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(output_place.fcntl, "flock", unsupported)
    with pytest.raises(
        BookError, match=r"cannot be locked \(Operation not supported\); choose a folder on another disk"
    ):
        run(grid, tmp_path / "a", Pool())


def test_an_empty_volume_can_hold_a_sweep(grid, tmp_path):
    (tmp_path / "a" / "lost+found").mkdir(parents=True)
    assert len(run(grid, tmp_path / "a", Pool()).done) == len(grid.points)


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
    fixed = plan_grid("stand-in", ["scale=0.5,1,2"], seeds=2, assignments=["mode=fancy"])
    with pytest.raises(BookError, match="made by other code, with other fixed parameters or another choice of --fold"):
        run(fixed, tmp_path / "a", Pool())
    some = plan_grid("stand-in", ["scale=0.5,1,2"], seeds=2, only="thm-1")
    with pytest.raises(BookError, match="or another choice of --fold or --only"):
        run(some, tmp_path / "a", Pool())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years of work")
    with pytest.raises(BookError, match="not empty and not a sweep"):
        run(grid, tmp_path / "full", Pool())
    with pytest.raises(BookError, match="not a sweep, it has no readable sweep.json"):
        read_table(tmp_path / "full")
    definition = tmp_path / "a" / "sweep.json"
    definition.write_text(definition.read_text().replace('"version": 1', '"version": 0'))
    with pytest.raises(BookError, match="a sweep of layout 0, this version reads 1"):
        read_table(tmp_path / "a")


def test_the_cost_is_told_by_the_first_run_that_succeeds(grid, tmp_path):
    tries, said = [], []

    def second_time(job):
        tries.append(job.out)
        return {"status": "failed" if len(tries) == 1 else "done", "message": "cell [3]", "seconds": 40.0}

    sweep_folder.run_folder(tmp_path / "b", grid.points[0].id).mkdir(parents=True)
    (sweep_folder.run_folder(tmp_path / "b", grid.points[0].id) / "run.json").touch()
    there = Job(str(tmp_path), "stand-in", "smoke", {}, str(tmp_path / "b" / "runs" / grid.points[0].id), "")
    assert "seconds" not in run_job(there)  # another worker's: it tells nothing
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
        patch.setattr(run_sweep, "atomic_write", full)
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
        return {"status": "failed", "message": "cell [3]", "seconds": 1} if len(tries) == 1 else None

    with pytest.raises(KeyboardInterrupt):
        run(grid, tmp_path / "a", Pool(interrupted))
    assert {row.status for row in read_table(tmp_path / "a").rows} == {"waiting"}
    (tmp_path / "a" / "points.json").write_text("[")
    with pytest.raises(BookError, match="points.json: damaged: not JSON"):
        read_table(tmp_path / "a")
