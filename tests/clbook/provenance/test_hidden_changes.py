"""Changes that bypass names: a digest covers those that may change a reading, and only those."""

from pathlib import Path

import pytest

from clbook.common.sources import Cell, ChapterFiles
from clbook.provenance.digests import ChapterDigests
from clbook.provenance.library import PACKAGE, Library
from clbook.provenance.slices import ChapterCode

PARAMETERS = "seeds: int = 4  # runs, 2..9\nfirst_seed: int = 0  # first, 0..9\nscale: float = 1.0  # factor, 0.5..2.0"
OPENED = """import torch
from clbook.notebook import glue, open_chapter
from contrastive_dynamics.kernels import double, ready, tripled

chapter = open_chapter("x", globals())
"""
MODULES = {
    "clbook.notebook": "def open_chapter(): pass",
    "clbook.notebook.glue": "def number(): pass",
    f"{PACKAGE}.kernels": """import torch
def double(x): return 2 * x
def tripled(x): return 3 * x
def ready(device, threads=1):
    torch.set_default_device(device)
    torch.set_num_threads(threads)
""",
}
JUDGED = "chapter.judge('own', observed={}, control=1)"


def reading(setup: str, *cells: str) -> str:
    """The digest of the claim `own`, which is judged on `x` after these cells unless one of them judges it."""
    code = [*cells] if "'own'" in cells[-1] else [*cells, JUDGED.format("x")]
    before = [Cell(PARAMETERS, False, ("parameters",)), Cell(OPENED + setup, False, ()), Cell("Prose", True, ())]
    library = Library(Path("nowhere"), MODULES, Path("nowhere"))
    files = ChapterFiles(Path("nowhere"), "x")
    story = ChapterCode(files, library, cells=before + [Cell(source, False, ()) for source in code])
    return ChapterDigests(story, {}).claim("own").digest


def both(setup: str, cells: tuple[str, ...], one: str, other: str) -> list[str]:
    return [reading(*(part.replace("{}", given) for part in (setup, *cells))) for given in (one, other)]


@pytest.mark.parametrize(
    ("setup", "cells", "one", "other"),
    [
        ("", ("x = [{}]", "x[0] += 1"), "1", "2"),
        ("", ("y = 1\nz = 2\nx = {}",), "y - z", "z - y"),
        ("", ("y = 2\ndef f():\n    {}\n    return y\nx = f()",), "pass", "y = 3"),
        ("", ("from contrastive_dynamics.kernels import {} as g\n\nx = g(1)",), "double", "tripled"),
        ("def f(x): return double(x)\nlow = f({})\nhigh = [low]", ("x = high",), "1", "2"),
        ("", ("x = dict({}=1)",), "a", "b"),
        ("", ("x = {}",), "double", "tripled"),
        ("{}", ("x = 1",), "", "import os\nos.environ['A'] = 'b'"),
        ("{}", ("x = 1",), "", "import numpy as np\nnp.random.seed(1)"),
        ("{}", ("x = 1",), "", "ready('cpu', 1)"),
        ("ready('cpu', {})", ("x = 1",), "1", "2"),
        ("ready('cpu', {})", ("x = 1",), "(1, 2)", "[1, 2]"),
        ("{}", ("x = 1",), "", "from torch import manual_seed\nmanual_seed(1)"),
        ("{}", ("x = 1",), "", "import torch as t\nt.manual_seed(1)"),
        ("def f(n):\n    ready(n, 1)\nf({})", ("x = 1",), "'cpu'", "'cuda'"),
        ("def f(x): return {}\nx = f(1)\ndef f(x): return 2", ("pass",), "3", "4"),
        ("", ("x = {}", "if scale > 1:\n    x = 3"), "1", "2"),
        ("", ("y = {}", "if scale > 1:\n    y = 3\nx = y"), "1", "2"),
        ("", ("y = {}", "try:\n    y = double(1)\nexcept KeyError:\n    pass\nx = y"), "1", "2"),
        ("", ("y = {}", "while scale > 1:\n    y = 3\nx = y"), "1", "2"),
        ("", ("y = {}", "def f():\n    return y\nx = f()\ny = 3"), "1", "2"),
        ("", ("y = {}", "class A:\n    y = y\nx = A.y"), "1", "2"),
        ("", ("y = {}", "def f(g=lambda y: y):\n    return y\nx = f()"), "1", "2"),
        ("", ("x = {}", "x = [x for x in x]"), "1", "2"),
        ("", ("y = [z := s for s in ({}, 1)]", "x = z"), "1", "2"),
        ("", ("x = []", "x.append({})"), "1", "2"),
        ("", ("x = []", "for s in (1, 2):\n    x.append({})"), "1", "2"),
        ("", ("glue.number('a', x := {})",), "1", "2"),
        ("", ("chapter.judge('a', observed=(x := {}), control=0)",), "1", "2"),
        ("", ("x = [1]\nglue.number('a', {})",), "x[0]", "x.pop()"),
    ],
)
def test_what_may_change_a_reading_is_seen(setup, cells, one, other):
    first, second = both(setup, cells, one, other)
    assert first != second


@pytest.mark.parametrize(
    ("setup", "cells", "one", "other"),
    [
        ("", ("y = {}", "x = 1"), "1", "2"),
        ("", ("{} = 1", "x = [{} for s in (1, 2)]"), "y", "z"),
        ("", ("x = 1", "chapter.judge('other', observed={}, control=1)"), "x", "scale"),
        ("", ("x = 1", f"glue.number('a', {{}})\n{JUDGED.format('x')}"), "x", "scale"),
        ("", ("x = 1", f"chapter.judge('other', observed={{}}, control=1)\n{JUDGED.format('x')}"), "1", "scale"),
        ("{}", ("x = 1",), "ready(chapter.device, scale)", "t = torch\nready(chapter.device, scale)"),
        ("{}", ("x = 1",), "ready(chapter.device, scale)", "low = 1\nready(chapter.device, scale)"),
        ("def f(x):\n    {} = 1\n    return double(x)", ("x = f(1)",), "y: int", "y: float"),
        ("", ("x = list(chapter.progress(chapter.seeds, '{}'))",), "a", "b"),
        ("{}", ("x = 1",), "ready('cpu', 1)", "torch.set_default_device('cpu')\ntorch.set_num_threads(1)"),
    ],
)
def test_what_cannot_change_a_reading_is_not(setup, cells, one, other):
    first, second = both(setup, cells, one, other)
    assert first == second


@pytest.mark.parametrize("shown", ["glue.number('a', y)", "chapter.judge('b', observed=y, control=1)"])
def test_what_a_judging_cell_only_shows_beside_its_claim_is_needed_as_the_cell_is(shown):
    cells = ("x = 1", "y = {}", f"{shown}\n{JUDGED.format('x')}")
    first, second = both("", cells, "1", "2")
    assert first != second  # the cell would fail without it, so a run has it; a needless run is the price


def test_a_procedure_may_leave_an_argument_to_its_default():
    assert reading("ready('cpu')", "x = 1") != reading("ready('cuda')", "x = 1")
