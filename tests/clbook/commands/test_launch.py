"""The first cell of a chapter: does nothing where the book is; on Colab, installs it beside Colab's own torch."""

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import nbformat
import pytest
from checkout import ROOT, files
from stand_in import build_stand_in

from clbook.commands import launch
from clbook.commands.committed import execute, is_current
from clbook.common.errors import BookError
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.pages.run_page import as_html
from clbook.provenance.staleness import notebook_stamp

CONFIG = "repository: {url: https://github.com/someone/some-book/, branch: spring}\n"
# a kernel that has run the cell, on Colab or not, says what a reader then has
KERNEL = """
import sys, types
from IPython.core.interactiveshell import InteractiveShell

if "colab" in sys.argv:
    sys.modules["google.colab"] = types.ModuleType("google.colab")
shell = InteractiveShell.instance(history_load_length=0)
code = sys.stdin.read()
for _ in range(1 + ("twice" in sys.argv)):
    shell.run_cell(code).raise_error()
shell.run_cell(
    "import os, torch, torchdiffeq, clbook.common.sources as sources\\n"
    "print('HERE', os.getcwd(), sources.__file__, sources.find_root(), torch.__file__, torchdiffeq.__file__, sep='|')"
).raise_error()
"""


def run_first_cell(folder, python, *given, **variables):
    """A kernel's working folder afterwards, and the files of the library, the book, torch and torchdiffeq."""
    environment = os.environ | {"IPYTHONDIR": str(folder / ".ipython")} | variables
    environment.pop("VIRTUAL_ENV", None)  # IPython would look there, too
    environment.pop("CLBOOK_ROOT", None)
    done = subprocess.run(
        [python, "-c", KERNEL, *given],
        input=launch.first_cell(ROOT),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [Path(part) for part in done.stdout.partition("HERE|")[2].splitlines()[0].split("|")]


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_every_chapter_begins_with_the_cell_which_is_no_code_of_its_own(name):
    chapter = ChapterFiles(ROOT, name)
    first = nbformat.read(chapter.notebook, as_version=4).cells[0]
    assert first.source == launch.first_cell(ROOT) and first.metadata["tags"] == launch.TAGS
    own = chapter.cells()[0]
    assert list(own.tags) == launch.TAGS and ast.parse(own.source).body == []


def test_another_address_changes_the_cell_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    chapter = build_stand_in(tmp_path)
    (tmp_path / "_config.yml").write_text(CONFIG)
    assert launch.write_first_cells(tmp_path) == ["chapters/stand-in.py"]
    assert not is_current(chapter) and execute(chapter)
    stamp = notebook_stamp(chapter.notebook)
    assert launch.write_first_cells(tmp_path) == []
    (tmp_path / "_config.yml").write_text(CONFIG.replace("someone", "another"))
    assert launch.write_first_cells(tmp_path) == ["chapters/stand-in.py", "chapters/stand-in.ipynb"]
    for path in (chapter.source, chapter.notebook):
        text = path.read_text(encoding="utf-8")
        assert text.count("--branch spring https://github.com/another/some-book book") == 1 and "someone" not in text
    assert notebook_stamp(chapter.notebook) == stamp and is_current(chapter)


def test_the_page_of_a_run_leaves_the_cell_out():
    notebook = nbformat.read(ChapterFiles(ROOT, chapter_names(ROOT)[0]).notebook, as_version=4)
    notebook.cells = notebook.cells[:4]
    page = as_html(notebook, "a run")
    assert "google.colab" not in page and "import" in page


def test_a_book_without_an_address_is_refused_before_anything_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    chapter = build_stand_in(tmp_path)
    before = chapter.source.read_text(encoding="utf-8")
    (tmp_path / "_config.yml").write_text("repository: {url: https://github.com/someone/some-book}\n")
    with pytest.raises(BookError, match="_config.yml: repository lacks branch"):
        launch.write_first_cells(tmp_path)
    assert launch.main() == 1 and capsys.readouterr().err == "launch: _config.yml: repository lacks branch\n"
    assert chapter.source.read_text(encoding="utf-8") == before


def test_where_a_reader_has_the_book_the_cell_does_nothing(tmp_path):
    for program in ("git", "pip"):
        path = tmp_path / "bin" / program
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {tmp_path}/called\n")
        path.chmod(0o755)
    path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
    work = tmp_path / "work"
    work.mkdir()
    for given in ((), ("colab",)):  # on Colab too, once the book is installed
        place, *_ = run_first_cell(work, sys.executable, *given, PATH=path)
        assert place == work and not (tmp_path / "called").exists()


def published(folder: Path) -> dict[str, str]:
    """The working tree as a separate repository, and the settings that make git use it as the book's address."""
    for path in files():
        copy = folder / path.relative_to(ROOT)
        if not path.is_relative_to(ROOT / "records"):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    author = ["-c", "user.name=a reader", "-c", "user.email=reader@example.org"]
    for command in (["init", "--quiet", "--initial-branch=main"], ["add", "--all"], ["commit", "--quiet", "-m", "all"]):
        subprocess.run(["git", *author, *command], cwd=folder, check=True)
    address = launch._repository(ROOT)["url"]
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{folder}.insteadOf",
        "GIT_CONFIG_VALUE_0": address,
    }


def machine_with_torch(folder: Path) -> Path:
    """The folder of programs of an environment with everything that this one has except the book and torchdiffeq."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    there = folder / "preinstalled"
    there.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(("torchdiffeq", "contrastive_dynamics", "__editable__", "pip")):
            (there / entry.name).symlink_to(entry)
    (own,) = folder.glob("lib/python*/site-packages")
    for old in own.glob("setuptools*"):  # what venv brings before Python 3.12 is too old for torch
        shutil.rmtree(old)
    (own / "preinstalled.pth").write_text(f"{there}\n")
    return folder / "bin"


def test_on_colab_the_cell_fetches_the_book_and_what_lacks_and_leaves_torch_as_it_is(tmp_path):
    """Real git and pip, from the package index; only the machine and the address are stand-ins."""
    git = published(tmp_path / "published")
    programs = machine_with_torch(tmp_path / "colab")
    work = tmp_path / "content"
    work.mkdir()
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    place, library, book, torch, torchdiffeq = run_first_cell(
        work, programs / "python", "colab", "twice", PATH=path, PYTHONPATH="", **git
    )
    assert place == work / "book" / "chapters" and book == work / "book"
    own, preinstalled = (tmp_path / "colab" / part for part in ("lib", "preinstalled"))
    assert library.is_relative_to(own) and torchdiffeq.is_relative_to(own)
    assert torch.is_relative_to(preinstalled)
    installed = {p.name.split("-")[0] for p in own.rglob("*.dist-info")}
    assert installed == {"pip", "contrastive_dynamics", "torchdiffeq"}
