"""Features of a user's own: what is shared is found, and what cannot be compared is said in one line."""

import pickle

import numpy as np
import pytest
from checkout import ROOT
from typer.testing import CliRunner

from clbook import cli
from clbook.commands import features
from clbook.common import project
from clbook.common.errors import BookError

N, RHO = 4000, np.linspace(0.9, 0.4, 5)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(ROOT))
    monkeypatch.chdir(tmp_path)
    project.settings.cache_clear()
    return tmp_path


def towers(n=N, sizes=(20, 12), seed=0):
    """Two arrays with the canonical correlations RHO, each in coordinates of its own."""
    draw = np.random.default_rng(seed)
    shared, made = draw.standard_normal((n, 5)), []
    for size in sizes:
        common = np.sqrt(RHO) * shared + np.sqrt(1 - RHO) * draw.standard_normal((n, 5))
        made.append(
            np.concatenate([common, draw.standard_normal((n, size - 5))], 1) @ draw.standard_normal((size, size))
        )
    return made


def saved(**arrays):
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)


def call(*options):
    return CliRunner().invoke(cli.app, ["features", "a.npy", "b.npy", *options])


def said(*options):
    """The one line with which the command ends."""
    done = call(*options)
    assert done.exit_code == 2 and done.stdout == "" and done.stderr.count("\n") == 1, done.output
    return done.stderr


def test_the_shared_directions_are_found_and_written(here):
    a, b = towers()
    saved(a=a.astype(np.float32), b=b)
    done = call("--two-encoders", "--scale", "1", "--scale", "100")
    assert done.exit_code == 0 and "5 of 12 directions are shared" in done.stdout, done.output
    table = np.loadtxt(here / "a-b.csv", delimiter=",", skiprows=1)
    assert table.shape == (12, 5) and np.abs(table[:5, 1] - RHO).max() < 0.04 and np.abs(table[5:, 1]).max() < 0.06
    assert done.stdout.splitlines()[-1] == "a-b.csv" and call("--two-encoders").exit_code == 0  # it replaces its own


def test_rows_that_are_sorted_do_no_harm():
    a, b = (
        np.concatenate([part + shift for part, shift in zip(np.split(x, 2), (0, 3), strict=True)]) for x in towers()
    )
    saved(a=a, b=b, c=a[::-1].copy(), d=b[::-1].copy())
    first, other = (features.features(*map(_path, names), tied=False) for names in (("a", "b"), ("c", "d")))
    assert np.abs(np.array(first.rows)[:5, 1] - np.array(other.rows)[:5, 1]).max() < 0.05


def _path(name):
    from pathlib import Path

    return Path(f"{name}.npy")


def test_nothing_shared_is_said_to_be_nothing():
    a, b = towers()
    saved(a=a, b=np.roll(b, 1, axis=0))
    done = call("--two-encoders")
    assert "Are the rows of both files in the same order?" in done.stdout or "1 of 12 directions" in done.stdout


def test_two_towers_taken_for_one_encoder_are_noticed():
    saved(**dict(zip("ab", towers(sizes=(20, 20)), strict=True)))
    assert "say tied=False" not in call("--one-encoder").stdout
    assert "--two-encoders" in call("--one-encoder").stdout


def test_outputs_of_unit_length_are_named():
    a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in towers())
    saved(a=a, b=b)
    assert "is no sum of correlations" in " ".join(call("--two-encoders").stdout.split())


def test_constant_columns_and_repeated_rows_are_notes():
    a, b = towers()
    a[:, 3], b[2000:] = 7.0, b[:2000]
    saved(a=a, b=b)
    done = call("--two-encoders")
    assert done.exit_code == 0 and "a.npy: 1 constant column left out: 3" in done.stderr
    assert "b.npy: only 2,000 of 4,000 rows differ" in done.stderr


def test_one_encoder_loses_a_constant_column_in_both_files():
    a, b = towers(sizes=(20, 20))
    a[:, 3] = 7.0
    saved(a=a, b=b)
    assert "of 19" in call("--one-encoder").stdout


class Evil:
    def __reduce__(self):
        return open, ("evil", "w")


def test_no_pickle_is_read(here):
    np.save("a.npy", np.array([Evil()], dtype=object), allow_pickle=True)
    saved(b=np.zeros((3, 2)))
    assert "holds Python objects" in said("--two-encoders")
    (here / "a.npy").write_bytes(pickle.dumps(Evil()))
    assert "is no complete .npy file" in said("--two-encoders")
    assert not (here / "evil").exists()


def _with(array, value):
    array = array.copy()
    array[17, 3] = value
    return array


A, B = towers(200)
BAD = [
    ({"a": _with(A, np.nan), "b": B}, [], "a.npy: row 17 has an entry that is not finite (1 of 200 rows do)"),
    ({"a": A, "b": _with(B, np.inf)}, [], "b.npy: row 17 has an entry that is not finite"),
    ({"a": A, "b": B[:-2]}, [], "a.npy has 200 rows and b.npy 198; row i of both must come from datum i"),
    ({"a": A[:15], "b": B[:15]}, [], "15 rows are too few for 20 columns, at least four per column are needed; --comp"),
    ({"a": A[:2], "b": B[:2]}, [], "2 rows are too few for 20 columns, at least four per column are needed; add"),
    ({"a": np.ones_like(A), "b": B}, [], "a.npy: all 20 columns are constant, so nothing can be compared"),
    ({"a": A[0], "b": B}, [], "a.npy: must have the shape [rows, columns], got [20]"),
    ({"a": A[:0], "b": B[:0]}, [], "a.npy: must have the shape [rows, columns], got [0, 20]"),
    ({"a": A.astype(complex), "b": B}, [], "a.npy: must hold real numbers, got complex128"),
    ({"a": A.astype(str), "b": B}, [], "a.npy: must hold real numbers, got <U"),
    ({"b": B}, [], "a.npy: there is no such file"),
    ({"a": A, "b": B}, ["--components", "13"], "--components: must be 0 (all) to 12, got 13"),
]


@pytest.mark.parametrize(("arrays", "options", "message"), BAD)
def test_what_cannot_be_compared_is_one_line(arrays, options, message):
    saved(**arrays)
    assert message in said("--two-encoders", *options)


def test_how_many_encoders_there_are_has_to_be_said_and_fit():
    saved(a=A, b=B)
    assert "say --two-encoders if each file has an encoder of its own" in said()
    assert "one encoder makes equally many" in said("--one-encoder")


def test_a_cut_off_file_and_a_file_in_the_way_are_one_line(here):
    saved(a=A, b=B)
    (here / "a-b.csv").write_text("mine\n")
    assert "is there already and no table of features" in said("--two-encoders")
    assert (here / "a-b.csv").read_text() == "mine\n"
    (here / "a-b.csv").unlink()
    assert "--out no/where.csv: there is no folder no" in said("--two-encoders", "--out", "no/where.csv")
    (here / "a.npy").write_bytes((here / "a.npy").read_bytes()[:500])
    assert "a.npy: is no complete .npy file" in said("--two-encoders")


HEADERS = ["{'descr': '<f8', 'fortran_order': False, 'shape': (400, 7", "{'shape': (400, True), 'descr': '<f8'}", "(("]
HEADERS += ["{'descr': '<f8', 'fortran_order': False, 'shape': (400, True), }"]
HEADERS += ["{'descr': '<f8', 'fortran_order': False, 'shape': (400000000000, 7), }"]


@pytest.mark.parametrize("header", HEADERS)
def test_a_damaged_header_is_one_line(here, header):
    saved(a=A, b=B)
    text = header.encode().ljust(117) + b"\n"
    (here / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(100))
    assert "a.npy: is no complete .npy file" in said("--two-encoders")


@pytest.mark.parametrize("factor", [1e300, 1e-300, 1e-320])
def test_numbers_whose_squares_are_none_are_refused(factor):
    saved(a=A.astype(float) * factor, b=B)
    assert "multiply all by a number that brings it near 1" in said("--two-encoders")


@pytest.mark.parametrize("scale", ["1e-40", "5e-324", "0", "inf", "nan"])
def test_a_scale_whose_shares_would_be_rounding_is_refused(scale):
    saved(a=A, b=B)
    assert "--scale: must be ≥ 1e-09 and finite" in said("--two-encoders", "--scale", scale)


def test_whole_numbers_and_half_precision_are_read():
    a, b = towers(sizes=(8, 8))
    saved(a=(100 * a).astype(np.int16), b=b.astype(np.float16))
    found = features.features(_path("a"), _path("b"), tied=False)
    assert np.abs(np.array(found.rows)[:5, 1] - RHO).max() < 0.04


def test_few_columns_of_many_are_enough_by_components():
    a, b = towers(120, sizes=(60, 60))
    saved(a=a, b=b)
    assert "rows are too few for 60 columns" in said("--two-encoders")
    assert call("--two-encoders", "--components", "12").exit_code == 0


def test_a_book_without_a_measure_says_so(monkeypatch):
    monkeypatch.setattr(project, "settings", dict)
    with pytest.raises(BookError, match="has no measure of features"):
        project.features()
