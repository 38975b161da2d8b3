"""The units that a claim or a cell needs are found by the names they read and bind."""

import ast

import pytest
from stand_in import SOURCE, write_stand_in
from stand_in_pair import APPENDIX, CHAPTER, write_pair

from clbook.common.errors import BookError
from clbook.common.sources import Cell, ChapterFiles
from clbook.provenance.names import names_of
from clbook.provenance.slices import ChapterCode

PARAMETERS = Cell("size: int = 1  # how large, 1..9", False, ("parameters",))
PROSE = Cell("# Prose", True, ())


def story(*sources: str, setup: str = "") -> ChapterCode:
    """A chapter of these cells; the set-up is one cell before the prose."""
    before = [PARAMETERS, Cell(setup, False, ()), PROSE] if setup else [PARAMETERS, PROSE]
    return ChapterCode(ChapterFiles(None, "x"), cells=before + [Cell(source, False, ()) for source in sources])


@pytest.fixture(autouse=True)
def a_source(monkeypatch, tmp_path):
    monkeypatch.setattr(ChapterFiles, "source", tmp_path / "x.py")


@pytest.mark.parametrize(
    ("sources", "needed"),
    [
        (("a = 1", "b = 2", "print(a)"), [0, 2]),
        (("a = 1", "a = 2", "print(a)"), [1, 2]),
        (("a = 1", "a += 2", "print(a)"), [0, 1, 2]),
        (("a = {}", "a['x'] = 1", "print(a)"), [0, 1, 2]),
        (("i = 0", "a = [0]", "i = 1", "a[i] = 1", "print(i)"), [2, 4]),
        (("i = 0", "a = [0]", "a[i] = 1", "print(a)"), [0, 1, 2, 3]),
        (("class a: pass", "a.b.c = 1", "print(a)"), [0, 1, 2]),
        (("k = 1", "def f(): return k", "k = 2", "print(f())"), [0, 1, 2, 3]),
        (("import math as m", "from os import path", "x = m.pi", "print(x)"), [0, 2, 3]),
        (("a, (b, c) = 1, (2, 3)", "f = lambda: c", "f()"), [0, 1, 2]),
        (("t = 1", "x = sum(t for t in (1, 2))", "print(t)"), [0, 2]),
        (("t = 1", "def f(t): u = t; return u", "u = 3", "f(t)"), [0, 1, 3]),
        (("k = 1", "def f(): return k", "k = 2", "y = f()", "k = 3", "print(y)"), [0, 1, 2, 3, 5]),
        (("e = 1", "e = 2; print(e)", "print(e)"), [1, 2]),
        (("for i in range(3): pass", "print([i for _ in 'ab'])"), [0, 1]),
        (("i = u = 1", "for i in 'ab':\n    u = i\n    print(u)"), [1]),
        (("u = 1", "for i in 'ab':\n    print(u)\n    u = i"), [0, 1]),
        (("k = 1", "class A:\n    v = k\n    def f(self): return self.v", "k = 2", "print(A().f())"), [0, 1, 3]),
        (("k = 1", "class A:\n    def f(self): return k", "print(A().f())"), [0, 1, 2]),
        (("d = 1", "def f(x=d): return x", "print(f())"), [0, 1, 2]),
        (("a = []", "a.append(1)", "print(a)"), [0, 1, 2]),
        (("a = []", "a = [1]; a.append(2); print(a)"), [1]),
        (("a = []", "a.append(1); a = []"), [0, 1]),
        (("a = []", "if a: a = [1]\na.append(2)"), [0, 1]),
        (("a = []", "for _ in 'ab':\n    a.append(1)\n    a = []"), [0, 1]),
        (("from functools import cache", "@cache\ndef f(): return 1", "print(f())"), [0, 1, 2]),
    ],
)
def test_the_cells_that_a_cell_needs(sources, needed):
    assert story(*sources).needed(len(sources) - 1) == needed


LOOP = "for ax in axes:\n    ax.plot()"


@pytest.mark.parametrize(
    ("sources", "picture", "reading"),
    [  # what a cell certainly binds before it changes it is its own in a picture
        (("ax = 1", "axes = [1]", LOOP), [1, 2], [0, 1, 2]),
        (("ax = 1", f"axes = [1]\n{LOOP}"), [1], [0, 1]),
        (("t = 1", "for t, ax in [(1, 2)]:\n    ax.plot(t)", "ax = 3; t = 4", "print(t)"), [2, 3], [2, 3]),
        (("k = ax = 1", "axes = [1]", "for k, (ax, *_) in axes:\n    ax.plot(k)"), [1, 2], [0, 1, 2]),
        (("ax = 1", "axes = [1]", "for _ in axes:\n    ax = 2\n    ax.plot()"), [1, 2], [0, 1, 2]),
        (("ax = 1", "if size:\n    ax = 2\n    ax.plot()"), [1], [0, 1]),
        (("ax = 1", "while size:\n    ax = 2\n    ax.plot()"), [1], [0, 1]),
        (("ax = 1", "for f in 'ab':\n    with open(f) as ax:\n        ax.write()"), [1], [0, 1]),
        (("ax = 1", "ax, b = 1, 2\nax.plot()"), [1], [1]),
        (("ax = 1", "for x in 'ab':\n    for ax in x:\n        ax.plot()\n    ax.plot()"), [0, 1], [0, 1]),
        (("fig = 1", "axes = [1]", "ax = 2", LOOP, f"fig = 3\n{LOOP}\nfig.show()"), [1, 4], [1, 2, 3, 4]),
        # what may not be bound yet is needed by both
        (("ax = 1", "axes = [1]", f"{LOOP}\nax.plot()"), [0, 1, 2], [0, 1, 2]),
        (("ax = 1", "axes = [1]", "ax.plot()\nfor ax in axes: pass"), [0, 1, 2], [0, 1, 2]),
        (("ax = 1", "if size: ax = 2", "ax.plot()"), [0, 1, 2], [0, 1, 2]),
        (("ax = 1", "if size:\n    ax = 2\nax.plot()"), [0, 1], [0, 1]),
        (("ax = 1", "try:\n    ax = 2\nexcept KeyError: pass\nax.plot()"), [0, 1], [0, 1]),
        (("ax = 1", "for _ in 'ab':\n    ax.plot()\n    ax = 2"), [0, 1], [0, 1]),
        (("ax = 1", "with suppress(KeyError):\n    ax = 2\nax.plot()"), [0, 1], [0, 1]),
        (("ax = 1", "[ax for ax in 'ab']\nax.plot()"), [0, 1], [0, 1]),
        (("ax = 1", "(lambda ax: ax)(2)\nax.plot()"), [0, 1], [0, 1]),
        (("ax = 1", "def f():\n    ax = 2\nf()\nax.plot()"), [0, 1], [0, 1]),
        (("ax = 1", "def f():\n    ax.plot()\nf()"), [0, 1], [0, 1]),
        (("ax = 1", "def f():\n    ax.plot()", "ax = 2", "f()"), [0, 1, 2, 3], [0, 1, 2, 3]),
        (("ax = 1", "f = lambda: ax.plot()", "ax = 2", "f()"), [0, 1, 2, 3], [0, 1, 2, 3]),
        (("ax = 1", "class A:\n    ax.plot()", "print(A)"), [0, 1, 2], [0, 1, 2]),
        # what changes an object in between is needed by both
        (("a = []", "a.append(1)", "for x in a:\n    x.plot()"), [0, 1, 2], [0, 1, 2]),
        (("a = []", "a[0].b = 1", "for x in a:\n    x.plot()"), [0, 1, 2], [0, 1, 2]),
        (("a = []", "for i in 'ab':\n    a.append(i)", "a.plot()"), [0, 1, 2], [0, 1, 2]),
        (("a = []", "for a[0] in 'ab': pass", "a.plot()"), [0, 1, 2], [0, 1, 2]),
        (("a = []", "a += [1]", "a.plot()"), [0, 1, 2], [0, 1, 2]),
        (("a = [1]", "del a[0]", "a.plot()"), [0, 1, 2], [0, 1, 2]),
        (("a = []", "b = a = [1]", "a.plot()"), [1, 2], [1, 2]),
        (("a = []", "print(a := [1])", "a.plot()"), [1, 2], [1, 2]),
        (("a = []", "[a := x for x in 'ab']", "a.plot()"), [0, 1, 2], [0, 1, 2]),
    ],
)
def test_a_picture_s_slice_leaves_out_what_a_unit_binds_anew_before_it_changes_it(sources, picture, reading):
    found = story(*sources)
    assert (found.needed(len(sources) - 1, picture=True), found.needed(len(sources) - 1)) == (picture, reading)


@pytest.mark.parametrize(
    ("body", "needed"), [("with suppress(E):\n    a = 2", [0, 1, 2]), ("with torch.no_grad():\n    a = 2", [1, 2])]
)
def test_a_context_that_may_end_early_binds_nothing_for_certain(body, needed):
    assert story("a = 1", body, "print(a)").needed(2) == needed


def test_a_subscript_assignment_binds_its_root_and_reads_its_index():
    names = names_of(ast.parse("a.b[i] = value").body[0])
    assert (names.bound, names.read) == ({"a"}, {"a", "i", "value"})


def test_a_class_is_bound_under_its_name_alone():
    names = names_of(ast.parse("class A(Base):\n    x = outside\n    def f(self): return x, late").body[0])
    assert (names.bound, names.read, names.late) == ({"A"}, {"Base", "outside"}, {"x", "late"})


def test_the_set_up_counts_by_statement():
    found = story("print(b)", setup="a = 1\nb = 2\nc = a")
    assert [unit.setup for unit in found.units] == [True, True, True, False]
    assert found.needed(3) == [1, 3]


def test_two_assignments_in_one_line_of_the_set_up_count_as_two():
    found = story("print(b)", setup="c = 1\na, b = x, size")
    assert [unit.source.strip() for unit in found.units[1:3]] == ["a = x", "b = size"] and found.needed(3) == [2, 3]
    assert len(story("print(b)", setup="a, b = b, a").units) == 2  # one reads what the other binds
    assert len(story("print(b)", setup="a, b = pair").units) == 2
    assert len(story("a, b = x, size", "print(b)").units) == 2  # not of the set-up


@pytest.mark.parametrize(
    ("statement", "always"),
    [
        ("torch.set_default_dtype(torch.float64)", True),
        ("if size > 1:\n    torch.set_default_device('cuda')", True),
        ("np.random.seed(0)", True),
        ("torch.backends.cudnn.allow_tf32 = False", True),
        ("torch.zeros(3)", False),
        ("other = torch.float64", False),
    ],
)
def test_a_statement_of_the_set_up_that_changes_the_state_is_always_needed(statement, always):
    found = story("print(b)", setup=f"import torch, numpy as np\nb = 2\n{statement}")
    assert found.needed(3) == ([0, 1, 2, 3] if always else [1, 3])


def test_an_import_is_a_unit_of_its_own_anywhere():
    found = story("import math\nx = 1\ny = 2", "print(x)", "print(math.pi)")
    assert [unit.imports for unit in found.units] == [True, False, False, False]
    assert found.needed(2) == [1, 2] and found.needed(3) == [0, 3]


def test_a_unit_s_source_stands_on_the_lines_that_it_has_in_its_cell():
    unit = story("import math\n\nx = 1\nraise ValueError").units[1]
    with pytest.raises(ValueError) as raised:
        exec(compile(unit.source, "cell", "exec"), {})
    assert raised.traceback[-1].lineno + 1 == 4


def test_claims_are_found_by_the_cell_that_judges_them():
    found = story('chapter.judge("thm-1", observed=1, control=2)', 'chapter.judge(\n    "lem-1",\n    observed=1,\n)')
    assert found.claims == {"thm-1": 0, "lem-1": 1} and found.union(["lem-1"]) == [1]
    with pytest.raises(BookError, match="x: no cell judges thm-2"):
        found.judging("thm-2")


def test_a_chapter_s_claims_share_its_set_up_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.undo()
    found = ChapterCode(write_stand_in(tmp_path, SOURCE))
    first, second = (set(found.needed(found.judging(claim))) for claim in ("thm-1", "thm-1-a"))
    shared = [found.units[n].source.strip() for n in sorted(first & second)]
    assert len(first) == len(second) == 6 and len(shared) == 4 and shared[-1].startswith("chapter = open_chapter")


def test_a_name_of_the_library_is_not_bound_by_a_cell_of_the_other_notebook_too():
    shared = ("from contrastive_dynamics.numerics.stiefel import haar", "haar = 1")
    with pytest.raises(BookError, match="haar is imported and bound by a cell, too"):
        assert story(*shared).imports
    assert "product" in story("from itertools import product", "product = 1").imports


def test_a_name_that_one_notebook_imports_is_not_bound_by_the_other(tmp_path, monkeypatch):
    monkeypatch.undo()
    imports = CHAPTER.replace("import torch\n", "import torch\nfrom itertools import product\n")
    binds = APPENDIX.replace("falling =", "product = falling =")
    with pytest.raises(BookError, match="product is imported and bound by a cell, too"):
        assert ChapterCode(write_pair(tmp_path, chapter=imports, appendix=binds)).imports
