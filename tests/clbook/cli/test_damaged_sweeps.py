"""Commands on a sweep whose files are damaged: one line that names the file, and no traceback."""

import json

import pytest
from damage import GRID, SHAPES, edit, first, refused, stamp_in, write
from stand_in_pool import Pool, run

from clbook.sweep.grid import plan_grid


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["sweep.json", "points.json"])
def test_a_sweep_whose_own_files_are_damaged(book, name, shape):
    write(book / "mine" / name, SHAPES[shape])
    for command in (["show", book / "mine"], ["show", book / "mine", "--page", "x"]):
        refused(f"mine/{name}: damaged: ", *command)
    refused(f"mine/{name}: damaged: ", "sweep", *GRID, "--out", book / "mine")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"chapter": None}, "chapter must be a text, got null"),
        ({"axes": None}, "axes must be a list, got null"),
        ({"axes": [["scale"]]}, "axes[0] must have ≥ 2 entries"),
        ({"axes": [["scale", None]]}, "axes[0][1] must be a list, got null"),
        ({"axes": [["scale", [float("nan")]]]}, "NaN is not a value"),
        ({"axes": [["size", [1, 2]]]}, "points.json: damaged: "),
        ({"blocks": "2"}, "blocks must be a whole number, got '2'"),
        ({"blocks": 0}, "blocks must be ≥ 1, got 0"),
        ({"profile": None}, "profile must be a text, got null"),
        ({"version": True}, "version must be a whole number, got true"),
        ({"version": 7}, "a sweep of layout 7, this version reads 1; run it again"),
    ],
)
def test_a_definition_of_another_shape(book, change, said):
    edit(book / "mine" / "sweep.json", lambda found: found | change)
    refused(said, "show", book / "mine")


@pytest.mark.parametrize(
    ("point", "said"),
    [
        (None, " must be an object, got null"),
        ({"run": "0" * 12, "block": 0}, "missing parameters"),
        ({"parameters": {}, "run": "../../elsewhere", "block": 0}, ".run must satisfy pattern"),
        ({"parameters": {}, "run": 3, "block": 0}, ".run must be a text, got 3"),
        ({"parameters": {"scale": {}}, "run": "0" * 12, "block": 0}, "got an object"),
        ({"parameters": {}, "run": "0" * 12, "block": -1}, ".block must be ≥ 0, got -1"),
        ({"parameters": {}, "run": "0" * 12, "block": 0}, "has no scale, first_seed, seeds"),
    ],
)
def test_a_point_of_another_shape(book, point, said):
    edit(book / "mine" / "points.json", lambda found: found | {next(iter(found)): point})
    refused(said, "show", book / "mine")


def test_a_sweep_without_points(book):
    refused("no such point", "show", book / "mine", "--page", "x")
    write(book / "mine" / "points.json", "{}")
    refused("it must have ≥ 1 entries", "show", book / "mine", "--page", "x")


CELLS = ["null", "[null]", '[{"outputs": null}]', '[{"outputs": [null]}]', '[{"outputs": [{"data": null}]}]']


@pytest.mark.parametrize("content", [*SHAPES.values(), *(f'{{"cells": {cells}}}' for cells in CELLS)])
def test_a_run_whose_notebook_is_damaged(book, content):
    path = first(book) / "stand-in.ipynb"
    write(path, content)
    refused("stand-in.ipynb: damaged: ", "show", book / "mine")
    for given in (path, path.parent):
        refused("compare takes a run's folder, an executed notebook or a record", "compare", given, path)


def test_the_folder_of_a_run_without_run_json_is_made_again(book):
    (first(book) / "run.json").unlink()
    said = []
    outcome = run(plan_grid(GRID[0], GRID[2:3], seeds=2), book / "mine", Pool(), said)
    assert len(outcome.done) == 6 and (first(book) / "run.json").is_file()


@pytest.mark.parametrize("name", ["run.json", "claims.json", "stand-in.ipynb"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_page_of_a_run_whose_files_are_damaged(book, name, shape):
    write(first(book) / "run.json", (first(book) / "run.json").read_text())
    made = {key: value for key, value in stamp_in((first(book) / "stand-in.ipynb").read_bytes()).items()}
    write(first(book) / "run.json", json.dumps(made))
    write(first(book) / "claims.json", "[]")
    write(first(book) / name, SHAPES[shape] if (name, shape) != ("claims.json", "list") else "[3]")
    refused("must be the folder of a finished run, with ", "show", book / "mine", "--page", first(book).name)


@pytest.mark.parametrize("content", [c for c in SHAPES.values() if c] + ['{"address": null}', '{"address": 3}'])
def test_a_scheduler_file_that_is_damaged(book, content):
    write(book / "scheduler.json", content)
    refused("scheduler.json: damaged: ", "sweep", *GRID, "--out", book / "x", "--scheduler", book / "scheduler.json")
