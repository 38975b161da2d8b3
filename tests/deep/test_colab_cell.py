"""The first cell of a chapter in a kernel: it does nothing where the book is; on Colab it installs the book."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from checkout import ROOT, files
from fresh_environment import machine_with_torch
from own_repository import git

from clbook.commands import launch

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


def run_first_cell(folder, python, *arguments, **variables):
    """A kernel's working folder afterwards, and the files of the library, the book, torch and torchdiffeq."""
    environment = os.environ | {"IPYTHONDIR": str(folder / ".ipython")} | variables
    environment.pop("VIRTUAL_ENV", None)  # IPython would look there, too
    environment.pop("CLBOOK_ROOT", None)
    done = subprocess.run(
        [python, "-c", KERNEL, *arguments],
        input=launch.first_cell(ROOT),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [Path(part) for part in done.stdout.partition("HERE|")[2].splitlines()[0].split("|")]


def test_where_a_reader_has_the_book_the_cell_does_nothing(tmp_path):
    for program in ("git", "pip"):
        path = tmp_path / "bin" / program
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {tmp_path}/called\n")
        path.chmod(0o755)
    path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
    work = tmp_path / "work"
    work.mkdir()
    for arguments in ((), ("colab",)):  # on Colab too, once the book is installed
        place, *_ = run_first_cell(work, sys.executable, *arguments, PATH=path)
        assert place == work and not (tmp_path / "called").exists()


def published(folder: Path) -> dict[str, str]:
    """The working tree as a separate repository, and the settings that make git use it as the book's address."""
    for path in files():
        copy = folder / path.relative_to(ROOT)
        if not path.is_relative_to(ROOT / "records"):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    for command in (["init", "--quiet", "--initial-branch=main"], ["add", "--all"], ["commit", "--quiet", "-m", "all"]):
        git(folder, *command)
    address = launch._repository(ROOT)["url"]
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{folder}.insteadOf",
        "GIT_CONFIG_VALUE_0": address,
    }


def test_on_colab_the_cell_fetches_the_book_and_what_lacks_and_leaves_torch_as_it_is(tmp_path):
    """Real git and pip, from the package index; only the machine and the address are stand-ins."""
    address = published(tmp_path / "published")
    programs = machine_with_torch(tmp_path / "colab")
    work = tmp_path / "content"
    work.mkdir()
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    place, library, book, torch, torchdiffeq = run_first_cell(
        work, programs / "python", "colab", "twice", PATH=path, PYTHONPATH="", **address
    )
    assert place == work / "book" / "chapters" and book == work / "book"
    own, preinstalled = (tmp_path / "colab" / part for part in ("lib", "preinstalled"))
    assert library.is_relative_to(own) and torchdiffeq.is_relative_to(own)
    assert torch.is_relative_to(preinstalled)
    installed = {p.name.split("-")[0] for p in own.rglob("*.dist-info")}
    assert installed == {"pip", "contrastive_dynamics", "torchdiffeq"}
