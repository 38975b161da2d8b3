"""The plan of `make gpu`: what is measured, in which bundles and order, what is tried again."""

import pytest
from checkout import ROOT
from stand_in import SOURCE, write_stand_in

from clbook.gpu import plan
from clbook.gpu.plan import Job, Run, in_order, reading_jobs
from clbook.gpu.store import ABSENT, DIED, ERROR, LATE, MEMORY
from clbook.provenance.slices import ChapterCode


@pytest.fixture(scope="module")
def book():
    return plan.runs(ROOT, "cpu")


def test_every_reading_of_the_book_stands_in_one_bundle(book):
    assert {run.profile for run in book} == set(plan.PROFILES)
    for run in book:
        bundles = run.bundles(run.story.claims, plan.BUNDLE)
        assert sorted(claim for bundle in bundles for claim in bundle) == sorted(run.story.claims)
        costs = [run.cost(bundle) for bundle in bundles]
        assert costs[-1] > 0 and (len(costs) > 1 or run.profile != "paper")


def cells_of(run: Run) -> dict[str, set[int]]:
    """Claim → the cells that it needs."""
    return {c: {run.story.units[n].cell for n in run.story.needed(at)} for c, at in run.story.claims.items()}


def test_claims_that_share_a_long_cell_share_a_process(book):
    for run in (one for one in book if one.profile == "default"):
        where = {c: k for k, bundle in enumerate(run.bundles(run.story.claims, 3.0)) for c in bundle}
        for cell in run.heavy:
            needing = {where[claim] for claim, cells in cells_of(run).items() if cell in cells}
            assert len(needing) <= 1, (run.chapter, cell)


def test_kernel_tests_and_benchmarks_are_those_that_there_are():
    rooms = {path.name for path in (ROOT / "tests").iterdir() if any(path.rglob("test_*.py"))}
    assert {job.name for job in plan.kernel_test_jobs(ROOT)} == rooms - {"book", "chapters"}
    programs = {path.stem: path.read_text() for path in (ROOT / "benchmarks").glob("*.py")}
    timing = {name for name, text in programs.items() if "measuring import" in text or "import measuring" in text}
    assert (
        {job.name for job in plan.benchmark_jobs(ROOT)} == set(plan.PROGRAMS) == timing - {"sweep_load", "sweep_kills"}
    )


def test_a_change_of_what_tests_reach_asks_for_them_again_and_no_other_does(tmp_path):
    lib = "lib/contrastive_dynamics"
    texts = {
        "tests/losses/test_a.py": "from contrastive_dynamics.losses.a import b\nfrom helper import c\n",
        "tests/tools/helper.py": "import math\n",
        "tests/tools/other.py": "import math\n",
        f"{lib}/losses/a.py": "from ..numerics.b import c\n",
        f"{lib}/numerics/b.py": "c = 1\n",
        f"{lib}/nonlinearity/d.py": "c = 1\n",
        f"{lib}/book/e.py": "c = 1\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    asking = set()
    for name, text in texts.items():
        (before,) = plan.kernel_test_jobs(tmp_path)
        (tmp_path / name).write_text(f"{text}# changed\n")
        (after,) = plan.kernel_test_jobs(tmp_path)
        asking |= {name} if after.what != before.what else set()
    assert asking == {"tests/losses/test_a.py", "tests/tools/helper.py", f"{lib}/losses/a.py", f"{lib}/numerics/b.py"}


def test_the_order_is_tests_small_sizes_benchmarks_the_papers_sizes():
    jobs = [
        Job(stage, "", seconds) for stage in ("paper", "benchmarks", "default", "smoke", "tests") for seconds in (2, 1)
    ]
    jobs.append(Job("smoke", "", 0.5, alone=True))
    assert [(job.stage, job.seconds) for job in in_order(jobs)] == [
        ("tests", 1), ("tests", 2), ("smoke", 1), ("smoke", 2), ("smoke", 0.5), ("default", 1), ("default", 2),
        ("benchmarks", 1), ("benchmarks", 2), ("paper", 1), ("paper", 2),
    ]  # fmt: skip


@pytest.fixture
def run(tmp_path):
    return Run(ChapterCode(write_stand_in(tmp_path)), "default", "cpu")


@pytest.mark.parametrize(
    ("entry", "again"),
    [
        ({"arms": {}}, False),
        ({"failed": "", "kind": ERROR, "workers": 4}, False),
        ({"failed": "", "kind": MEMORY, "workers": 4}, True),
        ({"failed": "", "kind": MEMORY, "workers": 1}, False),
        ({"failed": "", "kind": DIED, "workers": 4}, True),
        ({"failed": "", "kind": LATE, "limit": 100.0}, True),
        ({"failed": "", "kind": LATE, "limit": 290.0}, False),
        ({"failed": "", "kind": ABSENT, "package": "no_such_package.part"}, False),
        ({"failed": "", "kind": ABSENT, "package": "numpy.part"}, True),
    ],
)
def test_a_failed_reading_is_tried_again_alone_where_what_failed_may_be_gone(run, entry, again):
    whole = {claim: {"arms": {}} for claim in run.story.claims} | {"thm-1": entry}
    stored = {("stand-in", "default", c): e | {"digest": run.digests.claim(c).digest} for c, e in whole.items()}
    jobs, left = reading_jobs(run, stored, 540.0, False)
    assert [(job.what, job.alone) for job in jobs] == ([(("thm-1",), True)] if again else [])
    absent = entry.get("kind") == ABSENT and not again
    assert [one.reason for one in left] == (["needs no_such_package.part, not installed here"] if absent else [])


def test_a_reading_of_other_code_is_made_again(run):
    stored = {("stand-in", "default", c): {"arms": {}, "digest": "of other code"} for c in run.story.claims}
    (job,), left = reading_jobs(run, stored, 540.0, False)
    assert job.what == tuple(run.story.claims) and not left


def test_what_needs_data_that_is_not_here_or_has_no_device_is_left_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("CONTRASTIVE_DATA", str(tmp_path))
    source = SOURCE.replace("scale: float", 'data: str = "mnist"  # which, digits|mnist\nscale: float')
    source = source.replace("rows = [", "rows = [0.0 * len(data) + ")
    run = Run(ChapterCode(write_stand_in(tmp_path, source=source)), "default", "cpu")
    jobs, left = reading_jobs(run, {}, 540.0, False)
    assert [(one.what, one.reason) for one in left] == [("stand-in/fig-1", "needs the data set mnist")]
    assert [job.what for job in jobs] == [("thm-1", "thm-1-a")]
    jobs, left = reading_jobs(Run(run.story, "default", "cuda"), {}, 540.0, False)
    assert not jobs and {one.reason for one in left} == {"the chapter has no parameter 'device'"}
