"""The cells that a claim needs are found by the names they read and bind."""

import pytest
from needed_cells import judges, needed_cells

from contrastive_dynamics.book.sources import Cell


def cells(*sources):
    return [Cell(source, False, ()) for source in sources]


@pytest.mark.parametrize(
    ("sources", "needed"),
    [
        (("a = 1", "b = 2", "print(a)"), [0, 2]),
        (("a = 1", "a = 2", "print(a)"), [1, 2]),
        (("a = 1", "a += 2", "print(a)"), [0, 1, 2]),
        (("a = {}", "a['x'] = 1", "print(a)"), [0, 1, 2]),
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
    ],
)
def test_the_cells_that_a_cell_needs(sources, needed):
    assert needed_cells(cells(*sources), len(sources) - 1) == needed


def test_the_cell_that_judges_is_found_on_one_line_or_several():
    assert judges('chapter.judge("thm-1", observed=1, control=2)', "thm-1")
    assert judges('chapter.judge(\n    "thm-1",\n    observed=1,\n)', "thm-1")
    assert not judges('chapter.judge("thm-1-a", observed=1)\n# chapter.judge("thm-1")', "thm-1")
