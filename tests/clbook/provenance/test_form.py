"""The form of modules and chapters: whatever a digest would miss is found, in one line each."""

import re
from pathlib import Path

import pytest
from checkout import ROOT
from form import chapter_problems, leaking_figures, library_problems
from stand_in import SOURCE, write_stand_in

from clbook.common.sources import ChapterFiles, chapter_names
from clbook.provenance.library import PACKAGE, Library
from clbook.provenance.slices import ChapterCode


def in_module(root: Path, source: str) -> list[str]:
    """The problems of a library of this module and another one."""
    (root / "__init__.py").write_text("", encoding="utf-8")
    (root / "a.py").write_text(source, encoding="utf-8")
    (root / "b.py").write_text("x = 1\nd = {}\n\n\ndef g():\n    return x\n", encoding="utf-8")
    return list(library_problems(Library(root)))


def test_no_module_of_the_library_hides_anything():
    whole = Library()
    assert len(whole.names()) > 60
    assert list(library_problems(whole)) == []


HIDDEN = {
    "from .b import *": "import [*]",
    "from .b import h\ndef f(): return h()": "no such module or definition",
    "def f():\n    global x\n    x = 1": "global",
    "@register\ndef f(): pass": "decorator register",
    "class A:\n    @register('m')\n    def m(self): pass": "decorator register",
    "if b:\n    x = 1": "runs on import [(]If",
    "for x in (1, 2): pass": "runs on import [(]For",
    "print(1)": "runs on import [(]Expr",
    "b.g()": "runs on import [(]Expr",
    "x = 1\nx += 1": "runs on import [(]AugAssign",
    "class A:\n    b.g()": "runs on import [(]Expr",
    "b.x = 1": "something else than names",
    "x = {}\nx['k'] = 1": "something else than names",
    "class A:\n    b.x['k'] = 1": "something else than names",
    "x, y = b.g()": "something else than names",
    "x, *y = 1, 2": "something else than names",
    "(x, y), z = b.g(), 1": "something else than names",
    "x = (y := 1)": "something else than names",
    "def f(): b.x = 1": "changes a part of b",
    "def f(): b.d['k'] = 1": "changes a part of b",
    "def f(): b.x += 1": "changes a part of b",
    "def f(): del b.x": "changes a part of b",
    "def f():\n    (b.x, y) = 1, 2": "changes a part of b",
    "def f():\n    for b.x in (1, 2): pass": "changes a part of b",
    "def f():\n    from . import b as c\n    c.x = 1": "changes a part of c",
    "import torch\ndef f(): torch.x.y = 1": "changes a part of torch",
    "from .b import d\ndef f(): d['k'] = 1": "changes a part of d",
    "X = {}\ndef f(): X['k'] = 1": "changes a part of X",
    "class A:\n    def m(self): A.x = 1": "changes a part of A",
    "def f(): return eval('b')": "name eval",
    "def f(): exec('b')": "name exec",
    "def f(): return globals()['b']": "name globals",
    "look = globals\ndef f(): return look()": "name globals",
    "def f(): setattr(b, 'x', 1)": "name setattr",
    "def f(n): return __import__(n)": "name __import__",
    "import importlib\ndef f(n): return importlib.import_module(n)": "importlib.import_module",
    "from importlib import import_module as i\ndef f(n): return i(n)": "importlib.import_module",
    "def f(n):\n    import importlib as i\n    return i.import_module(n)": "importlib.import_module",
    "import sys\ndef f(n): return sys.modules[n]": "sys.modules",
    "def f(n): return getattr(b, n)": "module contrastive_dynamics.b",
    "def f(n): return vars(b)[n]": "module contrastive_dynamics.b",
    "def f(o): return o.__subclasses__()": "__subclasses__",
    "class A:\n    def __init_subclass__(cls): pass": "__init_subclass__",
    "def f(): return 1\ndef f(): return 2": "f is defined twice",
    "x = 1\ny = x\nx = 2": "x is defined twice",
    "from math import sin\ndef sin(x): return x": "sin is defined twice",
    "from math import sin\nfrom cmath import sin": "sin is defined twice",
    "def f(n):\n    if n: from math import sin as g\n    else: from math import cos as g": "bound again",
    "def f(n):\n    from math import sin\n    sin = n\n    return sin": "bound again",
}


@pytest.mark.parametrize("source", HIDDEN)
def test_what_a_module_hides_is_found(tmp_path, source):
    lines = in_module(tmp_path, f"from . import b\n{source}")
    assert any(re.search(HIDDEN[source], line) for line in lines), lines
    assert all("\n" not in line and line.startswith(f"{PACKAGE}.a") for line in lines)


def test_the_usual_forms_of_a_module_are_no_problem(tmp_path):
    source = '''"""Said."""
import torch.nn
import torch.optim
from dataclasses import dataclass
from . import b
X, (Y, Z) = 1, (2, 3)
W: dict[str, int] = {"w": b.x}
@dataclass(frozen=True)
class A:
    """Said."""
    x: int
    y: float = 1.0
    def m(self):
        self.x = b.g()
        rows = {}
        rows["k"], self.y = getattr(self, "x"), vars(self)
        return rows
def f(b):
    b.x = torch.nn.Linear
    return b.eval()
async def g(): pass
'''
    assert in_module(tmp_path, source) == []


def test_a_change_that_a_finally_takes_back_is_seen_by_nobody(tmp_path):
    kept = "from .b import d\ndef f():\n    before, d.x = d.x, 1\n    try: return d\n    finally: d.x = {}\n"
    assert in_module(tmp_path, kept.format("before")) == []
    assert [problem for problem in in_module(tmp_path, kept.format("2")) if "changes a part of d" in problem]


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_no_chapter_hides_anything(name):
    story = ChapterCode(ChapterFiles(ROOT, name))
    assert list(chapter_problems(story)) == [] and list(leaking_figures(story)) == []


def chapter(root: Path, *cells: str, setup: str = "") -> ChapterCode:
    """The stand-in with these cells before its last, and these lines at the end of its set-up."""
    source = SOURCE.replace("import open_chapter", "import glue, open_chapter")
    start, prose, end = source.partition("\n# %% [markdown]\n# ## What")
    before, last, close = end.partition('\n# %% tags=["remove-cell"]')
    more = "".join(f"\n# %%\n{cell}\n" for cell in cells)
    return ChapterCode(write_stand_in(root, f"{start}{setup}\n{prose}{before}{more}{last}{close}"))


IN_THE_DARK = {
    "torch.manual_seed(1)": "changes the state of the process",
    "torch.set_default_dtype(torch.float32)": "changes the state of the process",
    "torch.backends.cuda.matmul.allow_tf32 = True": "changes the state of the process",
    "def f():\n    torch.manual_seed(1)": "changes the state of the process",
    "import torch as t\nt.manual_seed(1)": "changes the state of the process",
    "from torch import manual_seed\nmanual_seed(1)": "changes the state of the process",
    "import numpy as np\nnp.random.seed(1)": "changes the state of the process",
    "import os\nos.environ['A'] = 'b'": "changes the state of the process",
    "import os\ndel os.environ['A']": "changes the state of the process",
    "from os import environ\nenviron['A'] = 'b'": "changes the state of the process",
    "scale = 2.0": "binds the parameter scale again",
    "scale *= 2": "binds the parameter scale again",
    "for seeds in (1, 2): pass": "binds the parameter seeds again",
    "import math as mode": "binds the parameter mode again",
    "def mode(): pass": "binds the parameter mode again",
    "with torch.no_grad() as mode: pass": "binds the parameter mode again",
    "x = [(mode := s) for s in (1, 2)]": "binds the parameter mode again",
    "x = 1\nimport math": "`import math` stands below other statements",
    "if double:\n    import math": "`import math` stands below other statements",
    "def f():\n    from math import sin\n    return sin(1)": "`from math import sin` stands below",
    "from math import *": "`from math import [*]`",
    "chapter.judge('thm-1', observed=1, control=2)": "thm-1 is judged in the code cells",
    "for n in (1, 2):\n    chapter.judge(f'thm-{n}', observed=1, control=2)": "does not name by a text",
    "chapter.judge(claim='lem-1', observed=1, control=2)": "does not name by a text",
    "chapter = open_chapter('stand-in', {})": "chapter is bound 2 times",
    "def chapter(): pass": "chapter is bound 2 times",
    "x = chapter.parameters['scale']": "uses chapter otherwise",
    "x = chapter.readings['thm-1']": "uses chapter otherwise",
    "x = str(chapter)": "uses chapter otherwise",
    "x = globals()['scale']": "reads globals",
    "x = print(globals())": "reads globals",
    "x = vars()": "reads vars",
    "exec('x = scale')": "reads exec",
    "x = eval('scale')": "reads eval",
    "x = [f('scale') for f in (eval,)]": "reads eval",
    "setattr(torch, 'x', 1)": "reads setattr",
    "def f():\n    global double\n    double = 1": "`global double`",
}


@pytest.mark.parametrize("cell", IN_THE_DARK)
def test_what_a_chapter_hides_is_found(tmp_path, cell):
    lines = list(chapter_problems(chapter(tmp_path, cell)))
    assert any(re.search(IN_THE_DARK[cell], line) for line in lines), lines
    assert all("\n" not in line for line in lines)


def test_the_usual_forms_of_a_chapter_are_no_problem(tmp_path):
    setup = "torch.set_default_dtype(torch.float64)\ntorch.set_num_threads(1)"
    helper = (
        "import math\nfrom torch import nn\n\ndef f(mode, scale=scale):\n    seeds = mode\n    return seeds, math.pi"
    )
    use = "rows = [f(mode, scale=1) for scale in chapter.seeds]\nx = chapter.piece('a', f, chapter.device)"
    judged = "if scale > 1:\n    chapter.judge('lem-1', observed=x, control=0)"
    story = chapter(tmp_path, helper, use, judged, setup=setup)
    assert list(chapter_problems(story)) == [] and list(leaking_figures(story)) == []


def test_a_chapter_that_opens_nothing_is_found(tmp_path):
    source = SOURCE.replace("chapter = open_chapter", "other = open_chapter")
    assert "chapter is bound 0 times, not once" in list(chapter_problems(ChapterCode(write_stand_in(tmp_path, source))))


FIGURE = "panels = (1, 2)\nfor k, panel in enumerate(panels):\n    ax[k].plot(double)\nglue.figure(fig, 'a')"


@pytest.mark.parametrize(
    ("later", "names"),
    [
        ("x = panels", ["panels"]),
        ("x = panels[k]", ["k", "panels"]),
        ("def f():\n    return panel", ["panel"]),
        ("panels.append(3)", ["panels"]),
        ("panels[0] = 3", ["panels"]),
        ("panels = 3\nx = panels", []),
        ("x = [k for k in (1, 2)]", []),
        ("def f(panels):\n    return panels", []),
        ("def panels():\n    return panels", []),
        ("x = double", []),
        ("glue.figure(panels, 'b')", []),
        ("panels = (3, 4)", []),
    ],
)
def test_a_name_that_leaks_out_of_a_figure_s_cell_is_found(tmp_path, later, names):
    lines = list(leaking_figures(chapter(tmp_path, FIGURE, later)))
    assert [line.split(" reads ")[1] for line in lines] == [f"{name} from it" for name in names]


@pytest.mark.parametrize(
    "first",
    [
        FIGURE + "\nchapter.judge('lem-1', observed=1, control=2)",
        "def panels():\n    glue.figure(fig, 'a')",
        FIGURE.replace("figure(fig, 'a')", "number('a', 1)"),
    ],
)
def test_a_cell_that_also_judges_or_only_defines_how_to_draw_is_no_figure_s_cell(tmp_path, first):
    assert list(leaking_figures(chapter(tmp_path, first, "x = panels"))) == []
