"""A room's face hands on exactly what chapters and their solutions use.

A notebook imports the names of a room in one statement.
"""

import ast
from importlib import import_module
from pathlib import Path

import pytest
from checkout import ROOT

from clbook.common import project
from clbook.common.sources import ChapterFiles, chapter_names

PACKAGE = project.kernels()
ROOMS = ["alignment_and_balance", "collapse_and_constraints", "feature_decoupling", "losses", "testbed"]
ROOMS += [f"nonlinearity.{part}" for part in ("networks", "one_filter", "two_layers")]
FACES = [f"{PACKAGE}.{room}" for room in ROOMS]
FACES += [f"experiments.{name.replace('-', '_')}" for name in chapter_names(ROOT)]
BARE = [f"{PACKAGE}.{room}" for room in ("data", "numerics", "nonlinearity")]  # the first two are read without torch
NOTEBOOKS = [one for name in chapter_names(ROOT) for one in ChapterFiles(ROOT, name).notebooks]


def imports(path: Path) -> list[ast.ImportFrom]:
    """The statements that import names of kernels, or of the same room."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return [node for node in found if node.level or node.module.partition(".")[0] in project.packages()]


def bound(nodes: list[ast.ImportFrom]) -> list[str]:
    return [alias.asname or alias.name for node in nodes for alias in node.names]


def in_order(names: list[str]) -> list[str]:
    """Constants, classes, functions, each by the alphabet."""
    return sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name))


@pytest.mark.parametrize("files", NOTEBOOKS, ids=lambda files: files.stem)
def test_a_notebook_imports_a_room_in_one_statement(files):
    nodes = imports(files.source)
    places = [node.module for node in nodes]
    assert places == sorted(set(places))
    assert not [place for place in places if place not in FACES and place.startswith(tuple(f"{f}." for f in FACES))]
    assert all([a.name for a in node.names] == in_order([a.name for a in node.names]) for node in nodes)
    assert not [alias.name for node in nodes if node.module in FACES for alias in node.names if alias.asname]


@pytest.mark.parametrize("face", FACES)
def test_a_face_hands_on_what_chapters_use(face):
    module = import_module(face)
    sources = [*(files.source for files in NOTEBOOKS), *(ROOT / "chapters").glob("*/*.py")]
    sources += (ROOT / "course" / "exams").glob("*.py")
    used = {n for source in sources for n in bound([i for i in imports(source) if i.module == face])}
    handed = bound(imports(Path(module.__file__)))
    assert module.__all__ == in_order(handed) and set(handed) == used and len(handed) == len(used)


@pytest.mark.parametrize("room", BARE)
def test_these_rooms_have_no_face(room):
    assert imports(Path(import_module(room).__file__)) == []
