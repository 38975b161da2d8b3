"""A sweep's grid is read and checked completely before anything runs."""

import pytest
from stand_in import SOURCE, build_stand_in

from clbook.common.errors import BookError
from clbook.sweep.grid import plan_grid

WITH_LIST = SOURCE.replace('mode: str = "plain"', 'sizes: list[int] = [1, 2]  # sizes, 1..9\nmode: str = "plain"')


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return build_stand_in(tmp_path, source=WITH_LIST)


def planned(*grid, **options):
    return plan_grid("stand-in", list(grid), **options)


def test_points_are_all_combinations_with_the_profile_and_what_is_fixed(files):
    grid = planned("scale=0.5,1,2", "mode=plain,fancy", profile="smoke", assignments=["sizes=3"])
    assert [(p.parameters["scale"], p.parameters["mode"]) for p in grid.points] == [
        (scale, mode) for scale in (0.5, 1.0, 2.0) for mode in ("plain", "fancy")
    ]
    assert all(p.parameters["seeds"] == 3 and p.parameters["sizes"] == [3] for p in grid.points)
    assert len({p.id for p in grid.points}) == 6


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("seeds=2..5", [2, 3, 4, 5]),
        ("seeds=2..11:3", [2, 5, 8, 11]),
        ("scale=0.5..1:0.1", [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        ("scale=.5,+1.5,2.", [0.5, 1.5, 2.0]),
        ("scale=.5..2.:.5", [0.5, 1.0, 1.5, 2.0]),
        ("seeds=1e1,5.,+3", [10, 5, 3]),
        ("seeds=1e1..+12", [10, 11, 12]),
        ("scale=1, 2", [1.0, 2.0]),
        ("sizes=1,2;3", [[1, 2], [3]]),
        ("sizes=[1, 2];[3]", [[1, 2], [3]]),
    ],
)
def test_values_of_an_axis(files, text, values):
    (axis,) = planned(text).axes
    assert list(axis.values) == values


def test_blocks_of_seeds_follow_each_other_and_are_points_of_their_own(files):
    grid = planned("scale=1,2", seeds=3)
    assert [p.parameters["first_seed"] for p in grid.points] == [1000, 1004, 1008] * 2
    assert [p.id for p in grid.points] == [p.run for p in grid.points] == list(grid.runs)


def test_folded_blocks_are_one_run_with_the_same_points(files):
    apart, grid = planned("scale=1,2", seeds=3), planned("scale=1,2", seeds=3, fold=True)
    assert [p.id for p in grid.points] == [p.id for p in apart.points] and len(grid.runs) == 2
    assert [(p.run, p.block) for p in grid.points] == [(run, k) for run in grid.runs for k in range(3)]
    assert [(r["first_seed"], r["seeds"]) for r in grid.runs.values()] == [(1000, 12)] * 2


def test_an_id_names_parameters_and_code(files):
    before = planned("scale=1,2")
    assert [p.id for p in planned("scale=2,1").points] == [p.id for p in reversed(before.points)]
    files.source.write_text(files.source.read_text().replace("2.0 * scale", "scale * 2.0"))
    after = planned("scale=1,2")
    assert not {p.id for p in after.points} & {p.id for p in before.points} and after.code != before.code


@pytest.mark.parametrize(
    ("grid", "options", "said"),
    [
        (["scal=1,2"], {}, "no parameter 'scal', allowed are .*; did you mean scale?"),
        (["scale="], {}, "--grid scale=: must be name=value,value,… or name=low..high:step, got no values"),
        (["scale"], {}, "--grid scale: must be name=value,value,… or name=low..high:step, got no values"),
        (["scale=1,1.0"], {}, "the value 1.0 occurs twice"),
        (["scale=1,5"], {}, "scale: must be float 0.5..2, got 5"),
        (["scale=1,two"], {}, "scale: must be float 0.5..2, got 'two'"),
        (["seeds=5..2"], {}, "--grid seeds=5..2: an empty range"),
        (["seeds=2..5:0"], {}, "with step > 0"),
        (["seeds=2..x"], {}, "not a range low..high:step"),
        (["scale=1..nan"], {}, "not a range low..high:step"),
        (["scale=2..1.5"], {}, "--grid scale=2..1.5: an empty range"),
        (["scale=1e-6..1e999999:1"], {}, r"must have at most 100000 values, got 1\.0+e\+999999$"),
        (["scale=1..2:1e-999999"], {}, r"must have at most 100000 values, got 1\.0+e\+999999$"),
        (["scale=1..inf"], {}, "must have at most 100000 values, got Infinity"),
        (["seeds=2..9999999"], {}, "must have at most 100000 values, got 9999998"),
        (["scale=1,2", "scale=0.5,1"], {}, "--grid scale: given twice"),
        (["scale=1,2"], {"assignments": ["scale=1"]}, "scale: both an axis of the grid and set by -p"),
        (["first_seed=1,2"], {"seeds": 2}, "first_seed: both set and chosen by --seeds"),
        (["scale=1,2"], {"seeds": 2, "assignments": ["first_seed=5"]}, "first_seed: both set and chosen by --seeds"),
        (["scale=1,2"], {"seeds": 0}, "--seeds: must be ≥ 1, got 0"),
        (["scale=1,2"], {"seeds": 9, "assignments": ["first_seed=99990"], "fold": True}, "first_seed: both set"),
        (["scale=1,2"], {"seeds": 24800}, "--seeds: first_seed: must be int 0..100000, got 100004"),
        (
            ["scale=1,2"],
            {"seeds": 2, "fold": True, "assignments": ["sizes=1,2,3,4,5,6,7,8"]},
            "--fold: 8 seeds .* sizes has",
        ),
        (["scale=1,2"], {"seeds": 26, "fold": True}, "--fold: seeds: must be int 2..100, got 104"),
        (["scale=1,2"], {"fold": True}, "--fold: needs --seeds 2 or more, got one block of seeds"),
        (["scale=1"], {}, "a sweep of one point"),
        ([], {}, "a sweep of one point"),
        (["first_seed=0..9999", "seeds=2..50"], {}, "must have at most 100000 points, got 490000"),
        (["scale=1,2"], {"profile": "huge"}, "no profile 'huge'"),
    ],
)
def test_an_empty_or_contradictory_grid_is_one_line(files, grid, options, said):
    with pytest.raises(BookError, match=said) as error:
        planned(*grid, **options)
    assert "\n" not in str(error.value)


def test_a_device_that_is_not_here_may_be_elsewhere(tmp_path, monkeypatch):
    import torch

    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    build_stand_in(
        tmp_path, source=SOURCE.replace("mode: str", 'device: str = "cpu"  # where, auto|cpu|cuda\nmode: str')
    )
    with pytest.raises(BookError, match="got 'cuda', but this machine offers none"):
        planned("scale=1,2", device="cuda")
    runs = planned("scale=1,2", device="cuda", elsewhere=True).runs.values()
    assert [parameters["device"] for parameters in runs] == ["cuda", "cuda"]


def test_a_sweep_of_some_claims_is_another_sweep_and_names_an_unknown_claim(files):
    whole, some = planned("scale=1,2"), planned("scale=1,2", only="thm-1, fig-1")
    assert some.only == ("thm-1", "fig-1") and whole.only == ()
    assert not {p.id for p in whole.points} & {p.id for p in some.points} and whole.code == some.code
    with pytest.raises(BookError, match=r"--only: stand-in has no claim 'thm-2'; did you mean thm-1"):
        planned("scale=1,2", only="thm-2")
    with pytest.raises(BookError, match=r"--only: stand-in/lem-1 has no cell because it is not run: a GPU for a day"):
        planned("scale=1,2", only="lem-1")
