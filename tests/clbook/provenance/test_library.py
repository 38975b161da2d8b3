"""The library as a graph: a digest follows all that a definition reaches, and nothing else."""

import pytest
from library_views import with_source

from clbook.common.errors import BookError
from clbook.provenance.library import Digests, Library, definition_at, line_behind
from clbook.provenance.syntax import Definition

PACKAGE = "contrastive_dynamics"
GENERATED = "generated"


@pytest.fixture
def write(tmp_path):
    """A function that writes a library from named modules, each time into a new folder."""
    made = []

    def library(**modules: str) -> Library:
        folder = tmp_path / str(len(made)) / PACKAGE
        made.append(folder)
        for name, source in ({"__init__": ""} | modules).items():
            path = folder.joinpath(*name.split("__in__")[::-1]).with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source, encoding="utf-8")
        return Library(folder)

    return library


def at(dotted: str) -> Definition:
    return Definition(*f"{PACKAGE}.{dotted}".rsplit(".", 1))


def digest(library: Library, dotted: str = "a.f", data: str = GENERATED) -> str:
    return Digests(library, data).closure_digest(at(dotted))


def reached(library: Library, dotted: str = "a.f") -> set[str]:
    return {str(d).removeprefix(f"{PACKAGE}.") for d in Digests(library, GENERATED).reached(at(dotted))}


WAYS = {  # each reaches b.g
    "a name": "from .b import g\ndef f(): return g()",
    "another name": "from .b import g as h\ndef f(): return h()",
    "a module": "from . import b\ndef f(): return b.g()",
    "an absolute module": "import contrastive_dynamics.b\ndef f(): return contrastive_dynamics.b.g()",
    "an absolute name": "from contrastive_dynamics.b import g\ndef f(): return g()",
    "a module under another name": "import contrastive_dynamics.b as c\ndef f(): return c.g()",
    "the package": "import contrastive_dynamics as p\ndef f(): return p.b.g()",
    "a module of a module": "from . import again\ndef f(): return again.b.g()",
    "a re-export": "from .again import g\ndef f(): return g()",
    "a re-export of the package": "from . import shown\ndef f(): return shown()",
    "an import inside": "def f():\n    from .b import g\n    return g()",
    "a module imported inside": "def f():\n    from . import b\n    return b.g()",
    "an import around": "def f():\n    from .b import g\n    def h(): return g()\n    return h()",
    "an attribute": "from .b import g\ndef f(): return g.x.y",
    "a constant": "from .b import g\nG = [g]\ndef f(): return G",
    "one of a tuple": "from .b import g\nG, H = g, 1\ndef f(): return G",
    "a default": "from .b import g\ndef f(x=g): return x",
    "a decorator": "from .b import g\n@g\ndef f(x): return x",
    "a method": "from .b import g\nclass A:\n    def m(self): return g()\ndef f(): return A",
    "a base": "from .b import g\nclass f(g): pass",
    "a third": "from .b import g\ndef h(): return g()\ndef k(): return h()\ndef f(): return k()",
}
REST = {"__init__": "from .again import g as shown", "again": "from . import b\nfrom .b import g"}


@pytest.mark.parametrize("way", WAYS)
def test_a_digest_follows_what_a_definition_reaches_whatever_the_way(write, way):
    one, other = (write(a=WAYS[way], b=f"x = 5\ndef g(): return {n}", **REST) for n in (1, 2))
    assert digest(one) != digest(other)
    assert {"a.f", "b.g"} <= reached(one) and "b.x" not in reached(one)
    assert digest(one) == digest(write(a=WAYS[way], b="x = 6\ndef g(): return 1\ndef h(): pass", **REST))


def test_all_ways_to_name_one_thing_say_the_same(write):
    ways = [w for w in WAYS if w.split()[0] in ("a", "another", "an", "the") and WAYS[w].endswith("g()")]
    ways = [w for w in ways if w not in ("a third", "an import around", "a method")]
    assert len(ways) > 8
    assert len({digest(write(a=WAYS[way], b="def g(): return 1", **REST)) for way in ways}) == 1


def test_names_of_definitions_and_modules_do_not_count(write):
    before = digest(write(a="from .b import g\ndef f(): return g()", b="def g(): return 1"))
    assert before == digest(write(a="from .c import h\ndef f(): return h()", c="def h(): return 1"))
    assert before == digest(write(a="def f(): return g()\ndef g(): return 1"))
    assert before == digest(write(d="from .b import g\ndef k(): return g()", b="def g(): return 1"), "d.k")


def test_direct_recursion_is_allowed_and_a_circle_is_refused_in_one_line(write):
    recursive = "def f(n): return f(n - 1)"
    assert digest(write(a=recursive)) == digest(write(b=recursive.replace("f(", "g(")), "b.g")
    library = write(a="from .b import g\ndef f(): return g()", b="def g():\n    from .a import f\n    return f()")
    with pytest.raises(BookError, match="calls itself through") as refused:
        digest(library)
    assert "\n" not in str(refused.value)


def test_a_name_that_is_not_there_is_refused_in_one_line(write):
    with pytest.raises(BookError, match="contrastive_dynamics.b.h: no such module or definition"):
        digest(write(a="from .b import h\ndef f(): return h()", b="def g(): return 1"))


@pytest.mark.parametrize(
    "source", ["from .b import sin\ndef f(): return sin(1)", "from . import b\ndef f(): return b.math.sin(1)"]
)
def test_what_another_package_gives_may_come_by_a_module_of_ours(write, source):
    direct = write(a="import math\ndef f(): return math.sin(1)")
    assert digest(write(a=source, b="import math\nfrom math import sin")) == digest(direct)


def test_what_another_package_gives_counts_by_its_name(write):
    ways = ["from math import sin", "from math import cos as sin", "from cmath import sin"]
    assert len({digest(write(a=f"{way}\ndef f(): return sin(1)")) for way in ways}) == 3


def test_a_name_of_a_package_comes_before_a_module_of_the_same_name(write):
    a, init = "from . import g\ndef f(): return g()", "from .g import g"
    assert digest(write(a=a, __init__=init, g="def g(): return 1")) != digest(
        write(a=a, __init__=init, g="def g(): return 2")
    )


def test_a_module_whose_name_is_like_the_machinery_s_counts(write):
    one, other = (write(a="from .clbook import g\ndef f(): return g()", clbook=f"def g(): return {n}") for n in (1, 2))
    assert digest(one) != digest(other)


def test_the_machinery_counts_by_its_name_alone(write):
    a = "from clbook.notebook.glue import number\ndef f(): return number(1)"

    def with_glue(name: str, n: int) -> Library:
        kernels = write(a=a.replace("number", name))
        return Library(kernels.folder, {"clbook.notebook.glue": f"def {name}(x): return {n}"})

    assert digest(with_glue("number", 1)) == digest(with_glue("number", 2)) != digest(with_glue("figure", 1))


SUMS = "SUMS = {{'small': {{'a': '{}'}}, 'large': {{'b': '{}'}}, 'generated': {{}}}}\ndef f(n): return SUMS[n]"


def test_of_the_sums_those_of_the_data_set_that_is_read_count(write):
    before, after = write(a=SUMS.format(1, 2)), write(a=SUMS.format(1, 3))
    for data, counts in {"small": False, "large": True, "generated": False, "unknown": False}.items():
        assert (digest(before, data=data) != digest(after, data=data)) == counts
    renamed = write(a=SUMS.format(1, 2).replace("'b'", "'c'"))
    assert digest(before, data="large") != digest(renamed, data="large")


def test_sums_of_one_data_set_count_for_the_data_sets_that_the_module_is_named_after(write):
    before, after = (write(coco=f"SUMS = {{'a': '{n}'}}\ndef f(n): return SUMS[n]") for n in (1, 2))
    for data, counts in {"coco-2014": True, "coco": True, "small": False}.items():
        assert (digest(before, "coco.f", data) != digest(after, "coco.f", data)) == counts


def test_a_library_with_one_module_s_source_replaced(write):
    library = write(a="from .b import x\ndef f(): return x", b="from .c import x", c="x = 1", d="y = 1")
    before = digest(library)
    assert digest(with_source(library, f"{PACKAGE}.c", "x = 2")) != before
    assert digest(with_source(library, f"{PACKAGE}.c", "# said\nx = 1")) == before
    assert digest(with_source(library, f"{PACKAGE}.d", "y = 2")) == before
    assert digest(with_source(with_source(library, f"{PACKAGE}.c", "x = 2"), f"{PACKAGE}.c", "x = 1")) == before
    assert digest(library) == before


@pytest.mark.parametrize(("module", "source"), [("b", "x = 2"), ("c", "")])
def test_a_replaced_module_may_give_another_meaning_to_names_of_others(write, module, source):
    library = write(a="from .b import x\ndef f(): return x", b="from .c import x", c="x = 1")
    before, after = digest(library), with_source(library, f"{PACKAGE}.{module}", source)
    if source:
        assert digest(after) != before
    else:
        with pytest.raises(BookError):
            digest(after)


def test_the_definition_of_a_line(write):
    library = write(a="import math\nX = 1\n@a\n@b\ndef f():\n    return 1\n\n\nclass A:\n    x = 1\n")
    found = [definition_at(library, f"{PACKAGE}.a", line) for line in range(1, 11)]
    assert [d.name if d else "-" for d in found] == ["-", "X", "f", "f", "f", "f", "-", "-", "A", "A"]


def test_every_definition_of_the_library_has_a_digest():
    library = Library().read()
    digests = Digests(library, GENERATED)
    found = {Definition(m, name) for m in library.names() for name in library.module(m).definitions}
    assert len(found) > 400 and all(len(digests.closure_digest(d)) == 64 for d in found)
    assert {str(d).partition(".")[0] for d in found} == {PACKAGE, "experiments"}


def test_the_line_behind_a_claim_is_named_by_its_function():
    found = line_behind("losses.activations", "return among[name]")
    assert (found.function, found.line) == ("activations.activation", "return among[name]")
    assert found.address == f"../book/reference/losses.html#{PACKAGE}.losses.activations.activation"
    world = line_behind("experiments.one_testbed.four_worlds", "def four_worlds")
    assert world.function == "four_worlds.four_worlds"
    assert world.address.startswith(
        "../book/reference/experiments_one_testbed.html#experiments.one_testbed.four_worlds."
    )
    assert line_behind("losses.activations", "no such line") is line_behind("losses.nowhere", "x") is None
