"""Tokens of code: the same for two programs that only look different, different if they could behave differently."""

from pathlib import Path

import pytest

from clbook.provenance.library import Digests, Library
from clbook.provenance.syntax import Definition

MODULE = "contrastive_dynamics.a"


def digest(source: str) -> str:
    """The digest of `f` in a library of this one module."""
    return Digests(Library(Path("nowhere"), {MODULE: source}), "generated").closure_digest(Definition(MODULE, "f"))


def args(*shapes: str) -> list[str]:
    return [f"def f({shape}): return a" for shape in shapes]


def body(*statements: str) -> list[str]:
    return [f"def f(x, y):\n    {statement}\n    return x" for statement in statements]


def value(*expressions: str) -> list[str]:
    return [f"def f(x, y):\n    return {expression}" for expression in expressions]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(x): return x + 1", '"""Of the module."""\n\n\ndef f(x):\n    # said\n    return (x + 1)  # more'),
        ("def f(x): return x", 'def f(x):\n    """Said."""\n    return x'),
        ("class f:\n    x = 1", 'class f:\n    """Said."""\n    x = 1'),
        ("async def f(x): return x", 'async def f(x):\n    """Said."""\n    return x'),
        ("class f:\n    def m(self): return 1", 'class f:\n    def m(self):\n        """Said."""\n        return 1'),
        ("def f(x, *y, **z): return x", "def f(x: int, *y: str, **z: dict) -> list[int]: return x"),
        body("y: int", "y: float"),
        body("y: int = 1", "y: 'a b' = 1"),
        body("y: int = 1", "y = 1"),
        body("raise ValueError('a', x)", "raise ValueError(f'b {y}')"),
        body("raise ValueError", "raise ValueError()"),
        body("raise ValueError from None", "raise ValueError from y"),
        body("assert x, 'a'", "assert x, f'{y}'"),
        body("x = 'a' 'b'", "x = 'ab'"),
        body("x = 1_000.0", "x = 1e3"),
        body("x = u'a'", 'x = "a"'),
        body("x = x.T.mT", "x = (x.T).mT"),
        body("if x: x = 1\n    else:\n        if y: x = 2", "if x: x = 1\n    elif y: x = 2"),
        ("A = 1\ndef f(): return A", "B = 1\ndef f(): return B"),
        ("def g(x): return x\ndef f(): return g", "def h(x): return x\ndef f(): return h"),
        ("class G: x = 1\ndef f(): return G.x", "class H: x = 1\ndef f(): return H.x"),
        ("A = 2\ndef f(): return A", "A, B = 2, 3\ndef f(): return A"),
        ("A: int = 2\ndef f(): return A", "A = 2\ndef f(): return A"),
        ("import numpy as np\ndef f(): return np.pi", "import numpy\ndef f(): return numpy.pi"),
        ("import numpy as np\ndef f(): return np.pi", "from numpy import pi as p\ndef f(): return p"),
        ("import numpy as np\ndef f(): return np.pi", "def f():\n    import numpy\n    return numpy.pi"),
        ("import a.b as c\ndef f(): return c.d.e", "import a.b\ndef f(): return a.b.d.e"),
        ("import a.b as c\ndef f(): return c.d.e", "from a.b import d\ndef f(): return d.e"),
        ("import os\ndef f(): return 1", "def f():\n    import sys\n    return 1"),
        ("def f(): return 1", "def f():\n    return 1\n\n\ndef other(): return f()"),
    ],
)
def test_two_ways_to_write_one_program_say_the_same(one, other):
    assert digest(one) == digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        args("a, b", "b, a"),
        args("a, b", "a, c"),
        args("a, /, b", "a, b"),
        args("a, *, b", "a, b"),
        args("a, *b", "a, **b"),
        args("a, b=1", "a, b"),
        args("a, b=1, *, c", "a, b, *, c=1"),
        args("a, *, b=1, c", "a, *, b, c=1"),
        args("a, *b, c", "a, b, c"),
        ("def f(x): return x", "async def f(x): return x"),
        ("def f(x): return x", "def f(x): yield x"),
        ("def f(x): return x", "@staticmethod\ndef f(x): return x"),
        ("@a\n@b\ndef f(x): return x", "@b\n@a\ndef f(x): return x"),
        ("def f(): return g(a=1)", "def f(): return g(b=1)"),
        ("def f(): return g(1, 2)", "def f(): return g(*(1, 2))"),
        ("def f(x): return g(*x)", "def f(x): return g(**x)"),
        ("def f(): 'a'; return 1", "def f(): 'a'; 'b'; return 2"),
        body("x = 'a'", "x = 'b'"),
        body("x = 'a'", "x = b'a'"),
        body("x = 'name y'", "x = y"),
        body("x = ')'", "x = '('"),
        body("x = 1", "x = 1.0"),
        body("x = 1", "x = True"),
        body("x = None", "x = ..."),
        body("x = None", "x = 'None'"),
        body("x: int", "x: int = None"),
        body("x = y", "x += y"),
        body("x = y = 1", "y = 1"),
        body("x.a = y", "x.b = y"),
        body("x.a = y", "x['a'] = y"),
        body("del x", "x"),
        body("del x.a", "x.a"),
        body("for x in y: pass\n    else: x = 1", "for x in y: x = 1"),
        body("while y: pass\n    else: x = 1", "while y: pass\n    x = 1"),
        body("if y: x = 1\n    x = 2", "if y:\n        x = 1\n        x = 2"),
        body("with x as y: pass", "with x: pass"),
        body("try: x()\n    except E: pass", "try: x()\n    except* E: pass"),
        body("try: x()\n    except E: pass\n    else: y()", "try: x()\n    except E: pass\n    finally: y()"),
        body("raise ValueError", "raise KeyError"),
        body("raise ValueError", "raise"),
        body("assert x", "assert y"),
        body("match x:\n        case None: x = 1", "match x:\n        case _: x = 1"),
        body("match x:\n        case None: x = 1", "match x:\n        case True: x = 1"),
        body("match x:\n        case [y]: x = y", "match x:\n        case {'y': y}: x = y"),
        body("match x:\n        case A(b=y): x = y", "match x:\n        case A(c=y): x = y"),
        body("match x:\n        case [*y]: x = y", "match x:\n        case [y]: x = y"),
        body("match x:\n        case {**y}: x = y", "match x:\n        case {}: x = y"),
        body("match x:\n        case y if y: x = y", "match x:\n        case y: x = y"),
        value("(x,)", "[x]"),
        value("{x: y}", "{y: x}"),
        value("{**x}", "{None: x}"),
        value("{x}", "{x: None}"),
        value("x[1:]", "x[:1]"),
        value("x[1:2]", "x[1, 2]"),
        value("x[None]", "x[()]"),
        value("x - y", "y - x"),
        value("x < y", "x <= y"),
        value("x < y < 1", "(x < y) < 1"),
        value("x if y else 1", "y if x else 1"),
        value("x and y", "x or y"),
        value("not x", "-x"),
        value("f'{x}'", "f'{x!r}'"),
        value("f'{x}'", "'{x}'"),
        value("f'{x:.1f}'", "f'{x:.2f}'"),
        value("f'{x}y'", "f'{x}{y}'"),
        value("f'{x=}'", "f'{x}'"),
        value("lambda: x", "lambda x: x"),
        value("lambda y=x: y", "lambda y, z=x: y"),
        value("[a for a in x]", "(a for a in x)"),
        value("[a for a in x]", "{a for a in x}"),
        value("[a for a in x if a]", "[a for a in x]"),
        value("[a for a in x for b in y]", "[a for b in y for a in x]"),
        value("[a for a in x for b in y if a if b]", "[a for a in x if a for b in y if b]"),
        value("{a: b for a, b in x}", "{b: a for a, b in x}"),
        value("[y for a in x]", "[a for a in x]"),
        value("[(y := a) for a in x]", "[a for a in x]"),
        ("async def f(x): return [a for a in x]", "async def f(x): return [await a for a in x]"),
        [f"async def f(x): return [a {kind} a in x]" for kind in ("for", "async for")],
        ("def f(x): yield x", "def f(x): yield from x"),
        ("class f:\n    x = 1", "class f(dict):\n    x = 1"),
        ("class f:\n    x: int", "class f:\n    x: float"),
        ("class f:\n    x: int", "class f:\n    y: int"),
        ("class f:\n    x: int = 1\n    y: int = 2", "class f:\n    y: int = 2\n    x: int = 1"),
        ("class f(metaclass=A): pass", "class f(metaclasses=A): pass"),
        [f"class f:\n    x: {kind}[int] = 1" for kind in ("ClassVar", "list")],
        [f"class f:\n    _: {kind}\n    x: int = 1" for kind in ("KW_ONLY", "A")],
        (
            "def f():\n    from math import sin as g\n    return g",
            "def f():\n    from math import cos as g\n    return g",
        ),
        ("from math import sin as g\ndef f(g): return g", "from math import sin as g\ndef f(h): return g"),
        ("def f(x):\n    def g(): return x\n    return g", "def f(x):\n    def g(x): return x\n    return g"),
        ("def f(x): return f(x - 1)", "def f(x): return g(x - 1)"),
    ],
)
def test_two_programs_that_differ_do_not_say_the_same(one, other):
    assert digest(one) != digest(other)


GLOBALLY = {  # each reads the module's G
    "a name": "def f(): return G",
    "a default beside a local of the name": "def f(x=G):\n    G = 3\n    return x",
    "a keyword default": "def f(*, x=G): return x",
    "a decorator": "@G\ndef f(G): return G",
    "the first iterable": "def f(): return [G for G in range(G)]",
    "after a comprehension": "def f(): return [G for G in (1, 2)] + [G]",
    "a condition": "def f(): return [x for x in (1, 2) if x < G]",
    "a default of a lambda": "def f(): return lambda G=G: G",
    "beside an inner function's local": "def f():\n    def g():\n        G = 1\n        return G\n    return g() + G",
    "beside an inner function's argument": "def f(): return (lambda G: G)(1) + G",
    "beside an argument of a lambda that is a default": "def f(g=lambda G: G): return G",
    "a method beside the class's name": "class f:\n    G = 3\n    def m(self): return G",
    "a lambda in a class": "class f:\n    G = 3\n    m = lambda self: G",
    "a comprehension in a class": "class f:\n    G = 3\n    m = [G for _ in (1, 2)]",
    "a lambda of a comprehension in a class": "class f:\n    G = 3\n    m = [lambda: G for _ in (1, 2)]",
    "a class in a class": "class f:\n    G = 3\n    class g:\n        m = G",
    "a class that binds the name itself": "class f:\n    G = G",
    "a default of a method": "class f:\n    def m(self, x=G): return x",
    "a base": "class f(G): pass",
    "a keyword of a class": "class f(a=G): pass",
    "a default of a field": "class f:\n    x: int = G",
    "nonlocal of another": "def f(x):\n    def g():\n        nonlocal x\n        x = G\n    return g",
    "a format": "def f(x): return f'{x:{G}}'",
    "an exception": "def f():\n    try: pass\n    except G as e: return e",
    "a pattern": "def f(x):\n    match x:\n        case G.y: return 1",
    "a class of a pattern": "def f(x):\n    match x:\n        case G(): return 1",
    "a guard": "def f(x):\n    match x:\n        case y if G: return 1",
    "an attribute that is set": "def f(): G.x = 3",
    "an index": "def f(x): x[G] += 1",
    "an index that is deleted": "def f(x): del x[G]",
    "a test": "def f(): assert G, 'text'",
    "with": "def f():\n    with G as x: return x",
    "await": "async def f(): return await G",
    "async for": "async def f():\n    async for x in G: return x",
    "star": "def f(): return g(*G, **G)",
    "through another": "H = G + 1\ndef g(): return H\ndef f(): return g()",
    "a declared global": "def f():\n    global G\n    G = G + 1",
}


@pytest.mark.parametrize("case", GLOBALLY)
def test_a_global_name_that_is_read_counts(case):
    assert digest(f"G = 1\n{GLOBALLY[case]}") != digest(f"G = 2\n{GLOBALLY[case]}")


@pytest.mark.parametrize(
    "source",
    [
        "def f(G): return G",
        "def f(*G): return G",
        "def f(*, G): return G",
        "def f(**G): return G",
        "def f():\n    G = 1\n    return G",
        "def f():\n    for G in (1, 2): pass\n    return G",
        "def f():\n    with open('x') as G: return G",
        "def f():\n    if (G := 1): return G",
        "def f(): return [(G := x) for x in (1, 2)], G",
        "def f():\n    try: pass\n    except KeyError as G: return G",
        "def f(x):\n    match x:\n        case [G, *_]: return G",
        "def f(x):\n    match x:\n        case [*G]: return G",
        "def f(x):\n    match x:\n        case A() as G: return G",
        "def f(x):\n    match x:\n        case {**G}: return G",
        "def f():\n    def G(): return 1\n    return G",
        "def f():\n    class G: pass\n    return G",
        "def f():\n    from math import sin as G\n    return G",
        "def f():\n    G: int = 1\n    return G",
        "def f():\n    G, (x, *y) = 1, (2, 3)\n    return G",
        "def f():\n    G = 1\n    def g():\n        nonlocal G\n        G = 2\n    return g, G",
        "def f():\n    G = 1\n    return lambda: G",
        "def f(): return [G for G in (1, 2)]",
        "def f(): return {G: x for x in (1, 2) for G in (3, 4)}",
        "def f(x): return x.G, g(G=x)",
        "class f:\n    G = 1\n    x = 1",
        "class f:\n    def G(self): return self.G",
        "def f(x: G) -> G: return x",
        "def f(): raise ValueError(G)",
        "def f(): assert True, G",
    ],
)
def test_a_local_name_is_not_the_global_of_the_same_name(source):
    assert digest(f"G = 1\n{source}") == digest(f"G = 2\n{source}")


def test_a_digest_is_the_same_on_every_machine_and_in_every_version_of_python():
    """If the digest changes, stored runs are out of date, and the algorithm needs another number."""
    source = "def f(x, *, y=1.5):\n    return [x.a[i] for i in range(3)] + ['é', None, f'{y:.{x}f}']"
    assert digest(source) == "0bd0fe50e2a02b1f494f207eb6aeb69ead692fe9a9e35564b6d8b1a38a9a7659"
