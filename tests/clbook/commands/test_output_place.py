"""The place of a run's output is checked and held before a kernel starts; nothing complete is thrown away."""

import errno
import os
import signal
import subprocess
import sys

import nbformat
import pytest
from checkout import import_path
from one_line_error import one_line_error
from stand_in import write_stand_in

from clbook.commands import committed, output_place, record, runs
from clbook.commands.output_place import UNFINISHED, check_output, output_folder
from clbook.common.errors import BookError


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path / "book"))
    return write_stand_in(tmp_path / "book")


def fill(out):
    """What a run does with its place."""
    with output_folder(check_output(out)) as folder:
        for name in ("stand-in.ipynb", "run.json"):
            (folder / name).write_text(name)
        (folder / "animations").mkdir()


def names(folder) -> set[str]:
    return {path.name for path in folder.iterdir()}


WHOLE = {"stand-in.ipynb", "run.json", "animations"}


def refuse(code: int):
    def refused(*args, **options):
        raise OSError(code, os.strerror(code))

    return refused


def test_a_folder_that_is_in_use_or_in_the_way_is_refused(tmp_path):
    used = tmp_path / "used"
    used.mkdir()
    assert check_output(used) == used and names(used) == set()
    (used / "file").write_text("")
    refused = {"": "not empty", "file": "is a file", "file/below/it": "cannot be made, .*file is a file"}
    for place, said in refused.items():
        with one_line_error(BookError, said):
            check_output(used / place)


def test_a_link_to_an_empty_folder_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    fill(tmp_path / "link")
    assert names(tmp_path / "real") == WHOLE and (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("target", ["nowhere", "link"])
def test_a_link_that_leads_nowhere_or_in_a_circle_is_refused(tmp_path, target):
    (tmp_path / "link").symlink_to(target)
    with one_line_error(BookError, "link: a symbolic link that leads nowhere"):
        check_output(tmp_path / "link")
    if target == "link":
        with one_line_error(BookError, "below: cannot be made or written .Too many levels of symbolic links"):
            check_output(tmp_path / "link" / "below")
    assert names(tmp_path) == {"link"}


@pytest.mark.parametrize("name", ["lost+found", ".snapshot"])
def test_an_empty_volume_is_filled_and_what_the_system_keeps_there_stays(tmp_path, name):
    (tmp_path / "volume" / name).mkdir(parents=True)
    assert check_output(tmp_path / "volume") == tmp_path / "volume"
    fill(tmp_path / "volume")
    assert names(tmp_path / "volume") == {*WHOLE, name}
    with one_line_error(BookError, "volume: not empty"):
        check_output(tmp_path / "volume")


def test_an_empty_folder_is_filled_and_not_replaced(tmp_path):
    """It may be a mount point, which cannot be replaced, or the folder in which somebody works."""
    (tmp_path / "empty").mkdir()
    before = (tmp_path / "empty").stat().st_ino
    fill(tmp_path / "empty")
    assert names(tmp_path / "empty") == WHOLE and (tmp_path / "empty").stat().st_ino == before


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOENT, errno.ENOSPC])
def test_a_place_that_cannot_be_written_is_refused_also_to_root(files, tmp_path, monkeypatch, code):
    """os.access allows root everything; /proc says that there is no such folder."""
    monkeypatch.setattr("pathlib.Path.mkdir", refuse(code))
    with one_line_error(BookError, rf"^/.*out: cannot be made or written \({os.strerror(code)}\)"):
        runs.plan("stand-in", out=tmp_path / "out")


def test_a_name_too_long_is_refused_and_shown_in_part(tmp_path):
    with one_line_error(BookError, r"n…n+: cannot be made or written \(File name too long\)"):
        check_output(tmp_path / ("n" * 300))
    assert names(tmp_path) == set()


def test_the_folder_of_another_run_is_refused(tmp_path):
    with output_folder(tmp_path / "out"):
        with one_line_error(BookError, r"^/.*out: another run is writing there \(process"):
            check_output(tmp_path / "out")
    assert names(tmp_path) == set()


def test_a_failed_run_leaves_no_folder_that_it_made(tmp_path):
    (tmp_path / "empty").mkdir()
    for out in (tmp_path / "new" / "deep", tmp_path / "empty"):
        with pytest.raises(KeyboardInterrupt), output_folder(out) as folder:
            (folder / "half").write_text("")
            raise KeyboardInterrupt
    assert names(tmp_path) == {"empty"} and names(tmp_path / "empty") == set()


def test_what_a_killed_run_leaves_is_cleared_by_the_next(tmp_path):
    code = (
        "import os, signal; from pathlib import Path; "
        "from clbook.commands.output_place import output_folder\n"
        f"with output_folder(Path({str(tmp_path / 'out')!r})) as folder:\n"
        "    (folder / 'half').write_text(''); (folder / 'animations').mkdir(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": import_path()})
    assert done.returncode == -signal.SIGKILL and names(tmp_path / "out" / UNFINISHED) > {"half"}
    fill(tmp_path / "out")
    assert names(tmp_path / "out") == WHOLE


def test_a_complete_result_that_cannot_be_moved_stays_and_is_not_cleared(tmp_path, monkeypatch):
    out = tmp_path / "out"
    said = rf"the run is complete but .* \(Input/output error\); it is in {out / UNFINISHED}"
    with monkeypatch.context() as patch, one_line_error(BookError, said):
        patch.setattr(output_place.os, "replace", refuse(errno.EIO))
        fill(out)
    assert names(out / UNFINISHED) >= WHOLE
    with one_line_error(BookError, "is the complete result of a run; move it"):
        check_output(out)
    assert names(out / UNFINISHED) >= WHOLE


def test_what_somebody_else_writes_meanwhile_is_not_overwritten(tmp_path):
    out = tmp_path / "out"
    with one_line_error(BookError, "something else was written there meanwhile"), output_folder(out) as folder:
        for place in (folder, out):
            (place / "run.json").write_text(place.name)
    assert (out / "run.json").read_text() == "out" and (out / UNFINISHED / "run.json").read_text() == UNFINISHED


@pytest.fixture
def read_only(files, tmp_path, monkeypatch):
    """A checkout that cannot be written, not even by root; no kernel must start."""
    monkeypatch.setattr(output_place.tempfile, "NamedTemporaryFile", refuse(errno.EROFS))
    for module, starts in ((committed, "run_notebook"), (record, "run_script")):
        monkeypatch.setattr(module, starts, lambda *args, **options: pytest.fail("a run has begun"))


def test_a_checkout_that_cannot_be_written_is_refused_before_anything_runs(files, read_only, tmp_path):
    said = r"cannot be written \(Read-only file system\); nothing was run"
    with one_line_error(BookError, f"chapters: {said}"):
        committed.execute(files)
    with one_line_error(BookError, f"book: {said}"):
        record.record("stand-in", "smoke")
    assert names(tmp_path / "book") == {"chapters"}


def test_an_executed_notebook_that_cannot_be_stored_is_kept_elsewhere(files, tmp_path, monkeypatch):
    def run(notebook, path, **options):
        nbformat.write(notebook, path)

    def write(notebook, path):
        if path == files.notebook:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        path.write_text("kept")

    monkeypatch.setattr(committed, "run_notebook", run)
    monkeypatch.setattr(committed.Committed, "with_lines", lambda self, fresh: fresh)
    monkeypatch.setattr(committed, "write_notebook", write)
    monkeypatch.setattr(output_place.tempfile, "tempdir", str(tmp_path))
    with one_line_error(BookError, r"cannot be written \(Read-only file system\); what was executed is in ") as caught:
        committed.execute(files)
    assert [path.read_text() for path in tmp_path.glob("clbook-*/stand-in.ipynb")] == ["kept"], caught
