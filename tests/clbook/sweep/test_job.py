"""A worker makes a run and says why it failed."""

from clbook.commands import runs
from clbook.commands.jupyter_kernel import DiskFull
from clbook.common.errors import BookError, Refused
from clbook.sweep.job import Job, run_job


def test_whatever_a_run_raises_is_the_reason_of_its_point(grid, tmp_path, monkeypatch):
    def refuse(plan):
        raise LookupError("no template\nwith a second line")

    monkeypatch.setattr("clbook.commands.runs.run_beside", refuse)
    job = Job(str(tmp_path), "stand-in", "smoke", grid.points[0].parameters, str(tmp_path / "out"), grid.code)
    assert run_job(job) == {"status": "failed", "message": "LookupError: no template\nwith a second line"}


def test_a_worker_says_why_a_point_failed(grid, tmp_path, monkeypatch):
    parameters, out = grid.points[0].parameters, str(tmp_path / "runs" / "x")
    job = Job(str(tmp_path), "stand-in", "custom", parameters, out, grid.code)
    assert "workers must share the sweep's folder" in run_job(job)["message"]
    (tmp_path / "runs").mkdir()
    for error, status in (
        (BookError("cell [2] failed"), "failed"),
        (Refused("stand-in: seeds: must be ≥ 4"), "refused"),
        (DiskFull(tmp_path, "full"), "full"),
        (OSError("net"), "failed"),
    ):
        monkeypatch.setattr(runs, "run_beside", lambda plan, error=error: (_ for _ in ()).throw(error))
        assert run_job(job)["status"] == status
    monkeypatch.setattr(runs, "run_beside", lambda plan: None)
    assert run_job(job) == {"status": "failed", "message": "the run left no result"}
    monkeypatch.setattr(runs, "run_beside", lambda plan: plan.out.mkdir() or (plan.out / "run.json").touch())
    assert run_job(job)["status"] == "done"
    other = Job(str(tmp_path), "stand-in", "custom", parameters, f"{out}-other", "of another version")
    assert "has other code of the book: workers must have that of the sweep" in run_job(other)["message"]


def test_a_run_that_another_worker_has_finished_first_is_done(grid, tmp_path, monkeypatch):
    """Both made the run, since the scheduler believed one of them lost."""

    def late(plan):
        plan.out.mkdir()
        (plan.out / "run.json").touch()
        raise OSError(39, "Directory not empty")

    monkeypatch.setattr(runs, "run_beside", late)
    job = Job(str(tmp_path), "stand-in", "smoke", grid.points[0].parameters, str(tmp_path / "x"), grid.code)
    assert run_job(job)["status"] == "done"


def test_a_run_of_some_claims_asks_for_no_more(grid, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(runs, "run_beside", lambda plan: asked.append(plan.only))
    for claims in ((), ("thm-1", "fig-1")):
        run_job(Job(str(tmp_path), "stand-in", "smoke", {}, str(tmp_path / "x"), grid.code, claims))
    assert asked == [(), ("thm-1", "fig-1")]
