"""What a reader types: the README's plain commands are the Makefile's, pins are exact, CI only calls make."""

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata

import pytest
import yaml
from checkout import ROOT
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
BLOCK = re.compile(r"<!-- make (?P<target>\w+)(?P<given>.*?) -->\n```sh\n(?P<lines>.*?)```", re.DOTALL)
ARCHIVE = "dist/contrastive-dynamics-html.zip"
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="no make here")


def expand(text: str, variables: dict[str, str]) -> str:
    """Expand `$(NAME)` and `$(if $(NAME),then)` of a recipe."""
    text = re.sub(r"\$\(if \$\((\w+)\),(.*?\))\)", lambda m: m[2] if variables.get(m[1]) else "", text)
    while match := re.search(r"(?<!\$)\$\((\w+)\)", text):
        text = text.replace(match[0], variables.get(match[1], ""))
    return text.replace("$$", "$").strip()


def commands(target: str, given: dict[str, str], done: set[str] | None = None) -> list[str]:
    """The commands of a target and what it needs, in order, without the housekeeping (lines with `@`)."""
    done = set() if done is None else done
    variables = dict(re.findall(r"^(\w+) [:?]= ?(.*)$", MAKEFILE, re.MULTILINE))
    variables |= {"BUILT": "BUILT", "PYTHON": "python3"} | given
    text = MAKEFILE.replace("\\\n", " ").replace("$(BUILT):", "BUILT:").replace("$(ZIP):", "ZIP:")
    rule = re.search(rf"^{re.escape(target)}:(?!=)(.*)\n((?:\t.*\n)*)", text, re.MULTILINE)
    if rule is None or target in done:
        return []
    done.add(target)
    found = []
    for needed in expand(rule[1].replace("|", " "), variables).split():
        found += commands(needed, given, done)
    recipe = [line.strip() for line in rule[2].splitlines()]
    return found + [expand(line, variables) for line in recipe if not line.startswith("@")]


@pytest.mark.parametrize("block", list(BLOCK.finditer(README)), ids=lambda m: m["target"])
def test_plain_commands_are_those_of_the_makefile(block):
    given = dict(word.split("=") for word in block["given"].split())
    assert block["lines"].splitlines() == commands(block["target"], given)


def test_readme_gives_the_plain_commands_of_what_a_reader_needs():
    assert [m["target"] for m in BLOCK.finditer(README)] == ["book", "test", "run"]


def test_the_end_of_the_book_build_follows_the_tests():
    assert re.search(r"^test:.*\n(\t.*\n)*\t@\$\(MAKE\) .*book\n", MAKEFILE, re.MULTILINE)


@pytest.mark.parametrize("target", re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[0].split())
def test_every_target_stands_in_the_readme(target):
    assert target == "chapter-named" or f"`make {target}" in README


def test_the_work_of_a_makefile_that_changes_one_command_is_noticed(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "MAKEFILE", MAKEFILE.replace("-W -n --keep", "-n --keep"))
    block = next(BLOCK.finditer(README))
    assert block["lines"].splitlines() != commands("book", {})


@needs_make
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "make run: name a chapter"),
        (
            [".venv/bin/python", "PYTHON=no-python"],
            "make: Python 3.11 to 3.14 is needed, PYTHON is 'no-python'",
        ),
    ],
)
def test_a_slip_in_a_make_command_is_one_line_and_leaves_nothing(arguments, message, tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    done = make(tmp_path, *arguments)
    assert done.returncode and not (tmp_path / ".venv").exists()
    assert [line for line in done.stderr.splitlines() if message in line]
    assert "Traceback" not in done.stderr


@needs_make
@pytest.mark.parametrize("found", ["python3", "python3.13", "versions/3.12.1/bin/python3", ""])
def test_the_first_python_that_runs_and_fits_is_taken(tmp_path, found):
    """Others are too old, or are names of versions that are switched off."""
    scripts = {name: "exit 127" for name in ("python3", "python3.11", "python3.13")} | {
        "versions/2.7/bin/python3": "false"
    }
    for name, script in (scripts | {found: f'exec "{sys.executable}" "$@"'}).items():
        if name:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("make", "sh", "test", "find", "sort", "xargs", "cksum", "cut", "sed", "touch"):
        (tmp_path / name).symlink_to(shutil.which(name))
    done = make(tmp_path, ".venv/.made", "--dry-run", PATH=str(tmp_path), PYENV_ROOT=str(tmp_path))
    asked = f'"{tmp_path}/versions/3.12.1/bin/python3" -c' if found.startswith("versions") else f'"{found}" -c'
    assert asked in done.stdout, done.stdout + done.stderr


@needs_make
def test_an_environment_of_a_python_that_no_longer_fits_is_named(tmp_path):
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    old = tmp_path / ".venv" / "bin" / "python"
    old.parent.mkdir(parents=True)
    old.write_text('#!/bin/sh\ntest "$1" != -V || { echo Python 3.9.1; exit 0; }\nexit 1\n')
    old.chmod(0o755)
    done = make(tmp_path, ".venv/.made")
    assert done.returncode and ".venv has Python 3.9.1; remove it: rm -r .venv" in done.stderr
    old.write_text("#!/bin/sh\nexit 0\n")
    assert make(tmp_path, ".venv/.made").returncode == 0  # it stays as it is


def make(folder, *arguments, **variables) -> subprocess.CompletedProcess:
    outer = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHON")  # of the `make test` that runs this
    clean = {k: v for k, v in os.environ.items() if k not in outer} | variables
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True)


NAMES = ["it's.md", 'a "b".md', "a b.md", " .md", "-n.md", "--help", "$(date).md", "`date`.md", "a\nb.md", "a\\b.md"]
NAMES += ["*.md", "a;b&c|d.md", "-rf/b.md", "größe.md", "a%b#c.md"]


@needs_make
def test_a_page_of_any_name_changes_the_stamp_of_the_pages(tmp_path):
    """The stamp changes with the content of each, with the name alone, and with what a link leads to."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "book").mkdir()
    pages = [tmp_path / "book" / name for name in NAMES]
    (tmp_path / "book" / "link.md").symlink_to(tmp_path / "text.md")
    for page in (*pages, tmp_path / "text.md"):
        page.parent.mkdir(exist_ok=True)
        page.write_text("one")
    sources = re.search(r"^SOURCES := ((?:.*\\\n)*.*)$", MAKEFILE, re.MULTILINE)[1].replace("\\\n", " ")
    pipe = re.search(r"^BUILT := .*\$\(shell (.*)\)$", MAKEFILE, re.MULTILINE)[1].replace("$(SOURCES)", sources)
    (tmp_path / "stamp").write_text(pipe)

    def stamp() -> str:
        done = subprocess.run(["sh", "stamp"], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert "xargs" not in done.stderr and "cksum" not in done.stderr
        return done.stdout.strip()

    stamps = [stamp()]
    assert make(tmp_path, "--eval", "name: ; @echo $(BUILT)", "name").stdout == f"_build/.built-{stamps[0]}\n"
    for page in (*pages, tmp_path / "text.md"):
        page.write_text("two")
        stamps.append(stamp())
    pages[0].rename(tmp_path / "book" / "other.md")
    stamps.append(stamp())
    assert len(set(stamps)) == len(stamps) == len(NAMES) + 3


@pytest.fixture
def site(tmp_path):
    """A folder with a Makefile, a built site and the environment that packs it; a file of the site by its date."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    dates = {"index.html": None, "a/1901.css": -(2**31), "a/1970.css": 0, "a/2108.css": 4354819200, "a/it's.css": 2**33}
    for name, seconds in dates.items():
        path = tmp_path / "_build" / "html" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        if seconds is not None:
            os.utime(path, (seconds, seconds))
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    return tmp_path, sorted(dates)


@needs_make
def test_a_site_with_files_of_any_date_is_packed_whole(site):
    folder, names = site
    done = make(folder, ARCHIVE, "BUILT=")
    assert done.returncode == 0, done.stderr
    (packed,) = (folder / "dist").glob("*.zip")
    with zipfile.ZipFile(packed) as archive:
        assert sorted(archive.namelist()) == names and archive.testzip() is None
        assert all(archive.read(name).decode() == name for name in names)
    summed = f"{hashlib.sha256(packed.read_bytes()).hexdigest()}  {packed.name}\n"
    assert (folder / f"{ARCHIVE}.sha256").read_text() == summed


@needs_make
def test_a_site_that_cannot_be_packed_leaves_neither_archive_nor_sum(site):
    folder, _ = site
    assert make(folder, ARCHIVE, "BUILT=").returncode == 0
    (folder / "_build" / "html" / os.fsdecode(b"\xff.css")).write_text("no archive takes this name")
    done = make(folder, ARCHIVE, "BUILT=", "--always-make")
    assert done.returncode and list((folder / "dist").iterdir()) == []


def test_pins_are_exact_and_have_no_local_part():
    assert not [pin for pin in PINS if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", pin)]


def test_pins_cover_and_satisfy_what_the_project_asks_for():
    pinned = {canonicalize_name(name): version for name, version in (pin.split("==") for pin in PINS)}
    extras = [r for group in PROJECT["optional-dependencies"].values() for r in group]
    asked = [Requirement(r) for r in [*PROJECT["dependencies"], *extras]]
    asked = [r for r in asked if r.name != PROJECT["name"]]
    assert not [r.name for r in asked if not r.specifier.contains(pinned.get(canonicalize_name(r.name), "0"))]


def test_every_pin_admits_the_first_python_that_is_allowed():
    """Installed packages state what they need; one pin for a late 3.11 would make `make book` fail on an early one."""
    refused = []
    for name, version in (pin.split("==") for pin in PINS):
        with contextlib.suppress(metadata.PackageNotFoundError):
            asks = SpecifierSet(metadata.metadata(name).get("Requires-Python") or "")
            installed = metadata.version(name).split("+")[0] == version
            refused += [f"{name} {asks}"] if installed and not asks.contains("3.11.0") else []
    assert refused == []


def test_the_book_is_built_without_torch():
    extras = PROJECT["optional-dependencies"]
    asked = [Requirement(r) for r in [*PROJECT["dependencies"], *extras["book"], *extras["sphinx"]]]
    assert {str(r) for r in asked if r.name == PROJECT["name"]} == {"contrastive-dynamics[sphinx]"}
    assert not {"torch", "torchdiffeq"} & {r.name for r in asked}


def test_python_is_bounded_alike_everywhere():
    assert SpecifierSet(PROJECT["requires-python"]) == SpecifierSet(">=3.11,<3.15")
    assert "(3, 11) <= sys.version_info < (3, 15)" in MAKEFILE
    conda = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    assert "python >=3.11,<3.15" in conda
    assert conda[-1] == {"pip": ["-c constraints.txt", "-e .[test]"]}


def test_ci_only_calls_make():
    script = ROOT / ".ci" / "run"
    lines = [line.strip() for line in script.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert os.access(script, os.X_OK)
    assert lines[-2:] == ["make test", "exec make drawn"]
    assert "shared" not in "".join(lines)  # readers have this script, too
    assert not [line for line in lines if re.search(r"\b(pip|pytest|curl|ruff)\b", line)]
