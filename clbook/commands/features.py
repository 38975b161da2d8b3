"""`clbook features`: what two files of features have in common, by the book's own measure of it.

The measure is the module that `[tool.clbook]` names under `features`. It has `SCALES`, `common(first, second, tied,
scales, components)`, which raises ValueError, and `sentences(found, count, tied)`. Files are read without pickle.
"""

import csv
import io
import sys
import tokenize
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..common import project
from ..common.atomic import atomic_write
from ..common.errors import BookError, cut
from .jupyter_kernel import disk_errors

COLUMNS = ("direction", "rho", "rho on its own rows", "variance of first", "variance of second")
LEAST_SCALE = 1e-9  # below it a share, ρ less a level over τ², is rounding
SMALLEST, LARGEST = 1e-100, 1e100  # entries whose squares, and sums of them, are numbers
SHOWN = 12  # directions in the terminal; the file has all


class Table(NamedTuple):
    """One row per direction, one per inverse temperature, and what they say."""

    rows: list[tuple]  # as COLUMNS
    kept: list[tuple[float, int, float]]  # inverse temperature, directions that get a share, effective rank of shares
    sentences: list[str]
    notes: list[str]  # on the files


def features(first: Path, second: Path, *, tied: bool, scales: list[float] | None = None, components: int = 0) -> Table:
    """Read and compare two files of features; raises BookError, with the file, for what cannot be compared."""
    measure = project.features()
    scales = tuple(scales or measure.SCALES)
    if bad := [scale for scale in scales if not LEAST_SCALE <= scale < float("inf")]:
        raise BookError(f"--scale: must be ≥ {LEAST_SCALE:g} and finite, got {bad[0]:g}")
    arrays = [read_features(path) for path in (first, second)]
    counts = [len(array) for array in arrays]
    if counts[0] != counts[1]:
        raise BookError(
            f"{first} has {counts[0]:,} rows and {second} {counts[1]:,}; row i of both must come from datum i"
        )
    (a, left_a), (b, left_b) = (_varying(*pair) for pair in zip(arrays, (first, second), strict=True))
    if tied and left_a != left_b:  # one encoder: the columns of both mean the same
        constant = sorted({*left_a, *left_b})
        a, b = (np.delete(array, constant, axis=1) for array in arrays)
    notes = [_constant_note(path, left) for path, left in ((first, left_a), (second, left_b)) if left]
    notes += [note for path, array in ((first, a), (second, b)) if (note := _repeated_note(path, array))]
    _check_size(first, second, a, b, tied, components)
    import torch

    try:
        found = measure.common(
            torch.from_numpy(a), torch.from_numpy(b), tied=tied, scales=scales, components=components
        )
    except (ValueError, torch.linalg.LinAlgError) as error:
        raise BookError(f"{first}, {second}: {error}") from None
    spectra = [spectrum.tolist() for spectrum in found.spectra]
    rows = [
        (j + 1, rho, fitted, *(s[j] for s in spectra))
        for j, (rho, fitted) in enumerate(zip(found.rho.tolist(), found.fitted.tolist(), strict=False))
    ]
    kept = list(zip(scales, found.kept.tolist(), found.ranks.tolist(), strict=True))
    return Table(rows, kept, measure.sentences(found, counts[0], tied), notes)


def read_features(path: Path) -> np.ndarray:
    """The array of an .npy file, `[n, D]` in float32 or float64, every entry finite; raises BookError."""
    try:
        with path.open("rb") as file:
            array = np.lib.format.read_array(file, allow_pickle=False)
    except FileNotFoundError:
        raise BookError(f"{path}: there is no such file") from None
    except OSError as error:
        raise BookError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, TypeError, SyntaxError, MemoryError, tokenize.TokenError) as error:  # numpy evaluates a header
        if "Object arrays" in str(error):
            wanted = "save numbers, as in np.save(path, np.stack(list))"
            raise BookError(f"{path}: holds Python objects, which are not read; {wanted}") from None
        why = cut(str(error), 120)
        held = " that memory can hold" * isinstance(error, MemoryError)
        raise BookError(f"{path}: is no complete .npy file{held} ({why}); np.save writes one") from None
    if array.ndim != 2 or 0 in array.shape:
        raise BookError(f"{path}: must have the shape [rows, columns], got {list(array.shape)}")
    if array.dtype.kind not in "fiu":
        raise BookError(f"{path}: must hold real numbers, got {array.dtype}")
    array = array.astype(np.float64 if array.dtype.kind != "f" or array.dtype.itemsize > 4 else np.float32, copy=False)
    if len(bad := np.flatnonzero(~np.isfinite(array).all(1))):
        raise BookError(
            f"{path}: row {bad[0]} has an entry that is not finite ({len(bad):,} of {len(array):,} rows do); "
            "leave these rows out of both files"
        )
    if (largest := float(np.abs(array).max())) and not SMALLEST <= largest <= LARGEST:
        raise BookError(f"{path}: its largest entry is {largest:.0e}; multiply all by a number that brings it near 1")
    return np.ascontiguousarray(array)


def _varying(array: np.ndarray, path: Path) -> tuple[np.ndarray, list[int]]:
    """The columns that are not constant, and the numbers of those that are."""
    constant = np.flatnonzero((array == array[0]).all(0)).tolist()
    if len(constant) == array.shape[1]:
        raise BookError(f"{path}: all {len(constant):,} columns are constant, so nothing can be compared")
    return np.delete(array, constant, axis=1), constant


def _constant_note(path: Path, columns: list[int]) -> str:
    listed = ", ".join(map(str, columns[:5])) + (", …" if len(columns) > 5 else "")
    return f"{path}: {len(columns):,} constant column{'s' * (len(columns) > 1)} left out: {listed}"


def _repeated_note(path: Path, array: np.ndarray) -> str:
    """A datum in several rows, such as an image with five captions, is on both sides of the split."""
    distinct = len({row.tobytes() for row in array})
    if distinct > 0.99 * len(array):
        return ""
    return f"{path}: only {distinct:,} of {len(array):,} rows differ; correlations of repeated data come out too high"


def _check_size(first: Path, second: Path, a: np.ndarray, b: np.ndarray, tied: bool, components: int) -> None:
    if tied and a.shape[1] != b.shape[1]:
        raise BookError(
            f"{first} has {a.shape[1]:,} columns and {second} {b.shape[1]:,}; one encoder makes equally many: "
            "--two-encoders?"
        )
    if components < 0 or components > min(a.shape[1], b.shape[1]):
        raise BookError(f"--components: must be 0 (all) to {min(a.shape[1], b.shape[1])}, got {components}")
    columns = components or max(a.shape[1], b.shape[1])
    if len(a) < 4 * columns:
        most = len(a) // 4
        advice = f"--components {min(64, most)} takes the first principal components of each" if most else "add pairs"
        raise BookError(
            f"{first}, {second}: {len(a):,} rows are too few for {columns:,} columns, at least four per column are "
            f"needed; {advice}"
        )


def check_free(out: Path) -> Path:
    """The path, if nothing but an earlier table stands there; raises BookError."""
    head = ",".join(COLUMNS)
    if out.exists() and not (out.is_file() and out.open("rb").read(len(head)) == head.encode()):
        raise BookError(f"{out}: is there already and no table of features; choose another --out")
    if not out.parent.is_dir():
        raise BookError(f"--out {out}: there is no folder {out.parent}")
    return out


def write_table(table: Table, out: Path) -> None:
    """Write the directions as CSV; raises BookError for a disk that is full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([COLUMNS, *([j, *(f"{x:.6g}" for x in rest)] for j, *rest in table.rows)])
    with disk_errors(out):
        atomic_write(out, text.getvalue())


def print_notes(notes: list[str]) -> None:
    """Print what was found wrong with the files without being a reason to stop."""
    for note in notes:
        print(f"clbook: {note}", file=sys.stderr)
