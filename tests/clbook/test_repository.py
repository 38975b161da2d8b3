"""What is in the repository: no path of one machine, nothing large; a README that names every command."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT, files
from own_repository import git

from clbook.cli import app

LARGEST = 4 * 2**20
# a folder of one machine at the start of a path; a URL or a relative path has a word, a dot or a slash before it
MACHINE_PATH = re.compile(
    r"(?<![\w.~/-])/(?:work|root|home|Users|mnt|scratch)/[\w.]|/tmp/[i]pykernel_|\b[A-Z]:\\Users\\"
)


def problems(name: str, content: bytes) -> list[str]:
    """What is wrong with one file."""
    found = [f"{name}: {len(content) / 2**20:.1f} MB, at most 4 are allowed"] if len(content) > LARGEST else []
    if b"\0" in content[:8000]:
        return found
    text = content.decode("utf-8", errors="replace")
    return found + [f"{name}: names a path of one machine: {m[0]}" for m in MACHINE_PATH.finditer(text)]


def test_no_file_is_large_or_names_a_path_of_one_machine():
    assert [p for path in files() for p in problems(path.relative_to(ROOT).as_posix(), path.read_bytes())] == []


def test_folders_that_are_built_are_not_taken():
    built = {".venv", "_build", "dist", "runs", "__pycache__", ".ipynb_checkpoints"}
    assert [p for p in files() if built & set(p.relative_to(ROOT).parts)] == []


@pytest.mark.parametrize("top", ["work", "root", "home", "Users"])
def test_a_path_of_one_machine_is_caught(top):
    assert problems("a.md", f"see `/{top}/someone/x`".encode()) == [f"a.md: names a path of one machine: /{top}/s"]
    assert problems("a.md", f"see https://example.org/{top}/someone and lib/{top}/x".encode()) == []


def test_a_large_file_is_caught():
    assert problems("a.ipynb", b"x" * (LARGEST + 1)) == ["a.ipynb: 4.0 MB, at most 4 are allowed"]
    assert problems("a.png", b"\0" * LARGEST) == []


def test_tests_in_a_commit_hook_leave_the_contributor_s_repository_alone(tmp_path):
    """A hook exports the repository as GIT_DIR, which git prefers to the folder in which a test calls it."""
    git = ["git", "--git-dir", str(tmp_path / "git")]
    subprocess.run([*git, "init", "--quiet", "--bare"], check=True)
    before = {path: path.read_bytes() for path in (tmp_path / "git").rglob("*") if path.is_file()}
    test = "tests/clbook/common/test_samples.py::test_the_commit_is_the_one_that_is_checked_out"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    environment = os.environ | {"GIT_DIR": str(tmp_path / "git"), "GIT_WORK_TREE": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert {path: path.read_bytes() for path in (tmp_path / "git").rglob("*") if path.is_file()} == before


def test_git_of_a_test_works_in_its_own_repository_or_not_at_all(tmp_path, monkeypatch):
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "a contributor's")
    inner = tmp_path / "made by a test"
    inner.mkdir()
    (inner / "a").touch()
    for variables in ({}, {"GIT_DIR": str(tmp_path / ".git"), "GIT_WORK_TREE": str(tmp_path)}):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        for words in (["add", "--all"], ["commit", "-q", "--allow-empty", "-m", "b"], ["config", "core.bare", "true"]):
            with pytest.raises(subprocess.CalledProcessError):
                git(inner, *words)
    assert git(tmp_path, "log", "--format=%s").split("\n") == ["a contributor's", ""]
    assert git(tmp_path, "config", "core.bare").strip() == "false" and not git(tmp_path, "ls-files")


def test_tests_run_git_through_these_tools_alone():
    allowed = {"own_repository.py", "checkout.py", Path(__file__).name}
    callers = [path for path in (ROOT / "tests").rglob("*.py") if '["git"' in path.read_text(encoding="utf-8")]
    assert {path.name for path in callers} == allowed


def test_the_readme_lists_every_command():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = readme.partition("`clbook` (in `.venv/bin`) has ")[2].partition(";")[0]
    commands = [command.name or command.callback.__name__ for command in app.registered_commands]
    assert sorted(re.findall(r"`(\w+)", listed)) == sorted(commands), "README.md, Commands: the list after `clbook`"
