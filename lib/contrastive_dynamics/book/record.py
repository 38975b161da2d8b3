"""Record a run that CI cannot repeat: the chapter's `.py` as a plain script, in pieces that resume.

`clbook record CHAPTER --profile paper`, or on a machine without Jupyter
`python -m contrastive_dynamics.book.record CHAPTER --profile paper`, which needs torch, numpy, scipy and matplotlib.
"""

import argparse
import ast
import contextlib
import json
import os
import shutil
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from . import chapter as chapter_module
from . import display, glue, provenance
from .aside import write_aside
from .chapter import Chapter, chapter_code, profile_parameters
from .errors import BookError
from .kernel import disk_errors, terminated_as_interrupted
from .parameters import read_parameters
from .pieces import Keeper, OutOfTime
from .request import check_data, seed_blocks, with_device
from .sources import ChapterFiles

OUT_OF_TIME = 75  # exit status: run the same command again


@contextlib.contextmanager
def _script(files: ChapterFiles, profile: str, keeper: Keeper) -> Iterator[None]:
    """What a chapter finds around it when it runs as a script: folder, variables, pieces, pictures as files."""

    def figure(fig, name: str, dpi: int = 150) -> None:
        (keeper.folder / f"{name}.png").write_bytes(glue.png(fig, dpi))

    variables = {"CLBOOK_ROOT": str(files.root), "CLBOOK_PROFILE": profile, "MPLBACKEND": "Agg"}
    before, shown = dict(os.environ), glue.figure
    os.environ.update(variables)
    glue.figure, chapter_module._PIECES["keeper"] = figure, keeper
    try:
        with contextlib.chdir(files.source.parent):
            yield
    finally:
        glue.figure = shown
        del chapter_module._PIECES["keeper"]
        os.environ.clear()
        os.environ.update(before)


def _run_cell(source: str, namespace: dict, name: str) -> None:
    """Execute a cell and print what it ends with, if that is a line about a claim."""
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)
    value = eval(compile(ast.Expression(last.value), name, "eval"), namespace) if last else None
    if isinstance(value, display.Line):
        print(value.plain, flush=True)


def run_script(files: ChapterFiles, parameters: dict, profile: str, keeper: Keeper) -> dict:
    """Run a chapter's code cells with these parameters; returns its stamp.

    Raises BookError for a cell that fails, OutOfTime between pieces.
    """
    namespace: dict = {"__name__": "__main__"}
    with _script(files, profile, keeper):
        for number, cell in enumerate((c for c in files.cells() if not c.markdown), 1):
            where = f"{files.source.name}, cell {number}"
            try:
                _run_cell(cell.source, namespace, where)
            except (BookError, MemoryError, OSError):
                raise
            except Exception as error:
                frames = traceback.extract_tb(error.__traceback__)
                line = next((f.lineno for f in reversed(frames) if f.filename == where), "?")
                raise BookError(f"{where}, line {line} failed: {type(error).__name__}: {error}") from error
            if "parameters" in cell.tags:
                namespace.update(parameters)
            if isinstance(namespace.get("chapter"), Chapter):
                keeper.device = namespace["chapter"].device
            if "matplotlib.pyplot" in sys.modules:
                sys.modules["matplotlib.pyplot"].close("all")
        if not isinstance(namespace.get("chapter"), Chapter):
            raise BookError(f"{files.source.name}: no cell sets chapter = open_chapter(...)")
        stamp = namespace["chapter"].stamp() | {"rules_read": namespace["chapter"].claims is not None}
    stamp["seconds"] = round(stamp["seconds"] + keeper.earlier_seconds, 1)
    return stamp | {"peak_mb": max(stamp["peak_mb"], keeper.peak_mb)}


def _stamp(files: ChapterFiles, parameters: dict, profile: str, deadline: float) -> tuple[dict, Path]:
    """The stamp of one run, from disk if it is finished, and the folder with its pieces and pictures."""
    claims = chapter_module._load_claims(files)
    rules = [claim.rule_for_hash() for claim in claims.rows.values()] if claims else []
    made_of = provenance.result_hash(chapter_code(files.cells()), rules, parameters)
    folder = files.root / "records" / ".pieces" / files.name / made_of[:16]
    folder.mkdir(parents=True, exist_ok=True)
    (files.root / "records" / ".pieces" / ".gitignore").write_text("*\n")
    finished = folder / "stamp.json"
    if not finished.is_file():
        stamp = run_script(files, parameters, profile, Keeper(folder, deadline))
        write_json(finished, stamp)
    return json.loads(finished.read_text(encoding="utf-8")), folder


def write_json(path: Path, content: dict) -> None:
    """Write JSON aside and move it into place."""
    write_aside(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _store_figures(found: Path, place: Path) -> None:
    """Put a run's pictures in place of those of the record before."""
    shutil.rmtree(place, ignore_errors=True)
    for picture in sorted(found.glob("*.png")):
        place.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, place / picture.name)


def record(
    name: str, profile: str, *, seconds: float | None = None, other_seeds: int = 0, device: str | None = None
) -> Path:
    """Write `records/NAME/PROFILE.json`: the run's stamp and those on other blocks of seeds; returns its path.

    Raises BookError for what cannot be run, OutOfTime when `seconds` are used up and pieces remain.
    """
    deadline = time.monotonic() + (float("inf") if seconds is None else seconds)
    files = ChapterFiles.find(name)
    known = read_parameters(files.cells(), files.source.name)
    parameters = with_device(profile_parameters(files, profile), known, device, name)
    check_data(parameters, name)
    path = files.record(profile)
    with disk_errors(path):
        runs = []
        for block in seed_blocks(files, known, parameters, other_seeds, "--other-seeds"):
            if runs and time.monotonic() > deadline:
                raise OutOfTime
            runs.append(_stamp(files, parameters | block, profile, deadline))
        path.parent.mkdir(parents=True, exist_ok=True)
        _store_figures(runs[0][1], path.with_suffix(""))
        write_json(path, {"run": runs[0][0], "other_seeds": [stamp for stamp, _ in runs[1:]]})
        for _, folder in runs:
            shutil.rmtree(folder)
    return path


def command(name: str, profile: str, **options) -> int:
    """`record` as a command: says what came of it; status 0, or 75 where it must be run again. Raises BookError."""
    try:
        path = record(name, profile, **options)
    except OutOfTime:
        print(f"{name}, {profile}: time used up, finished pieces are kept; run the same command again to go on")
        return OUT_OF_TIME
    print(f"{name}, {profile}: recorded in {path}")
    return 0


def main(arguments: list[str]) -> int:
    """`python -m contrastive_dynamics.book.record`, for a machine without the command line's packages."""
    parser = argparse.ArgumentParser(prog="record", description=__doc__.splitlines()[0])
    parser.add_argument("chapter")
    parser.add_argument("--profile", default="paper", help="smoke, default or paper")
    parser.add_argument("--seconds", type=float, help="stop between pieces after this time, with status 75")
    parser.add_argument("--other-seeds", type=int, default=0, help="runs on so many other blocks of seeds")
    parser.add_argument("--device", help="auto, cpu or cuda")
    given = vars(parser.parse_args(arguments))
    try:
        with terminated_as_interrupted():
            return command(given.pop("chapter"), given.pop("profile"), **given)
    except BookError as error:
        print(f"record: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("record: interrupted, finished pieces are kept", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
