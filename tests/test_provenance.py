"""The hash of a result: the same for the same program, another for any change that could matter."""

import ast
import json

import pytest
from stand_in import write_stand_in

from contrastive_dynamics.book import provenance
from contrastive_dynamics.book.chapter import chapter_code, expected_hash
from contrastive_dynamics.book.provenance import canonical, library_modules, result_hash

CODE = "def f(x):\n    return x + 1\n"


def form(code):
    return json.dumps(canonical(ast.parse(code)))


@pytest.mark.parametrize(
    "other",
    [
        "# a comment\ndef f(x):  # another\n\n    return (x + 1)\n",
        'def f(x):\n    """A docstring."""\n    return x + 1\n',
        '"""Of the module."""\ndef f(x):\n    return x+1',
    ],
)
def test_wording_and_layout_do_not_count(other):
    assert form(other) == form(CODE)


@pytest.mark.parametrize(
    "other",
    [
        "def f(x):\n    return x - 1\n",
        "def f(x):\n    return x + 1.0\n",
        "def f(x, y=0):\n    return x + 1\n",
        "def g(x):\n    return x + 1\n",
        "async def f(x):\n    return x + 1\n",
        "@f\ndef f(x):\n    return x + 1\n",
    ],
)
def test_a_change_of_the_program_counts(other):
    assert form(other) != form(CODE)


def test_a_string_that_is_no_docstring_counts():
    assert form("x = 'a'") != form("x = 'b'")


def test_modules_are_found_transitively_and_inside_functions():
    found = library_modules("def f():\n    from contrastive_dynamics import two_layer\n")
    assert "contrastive_dynamics.two_layer" in found and "contrastive_dynamics" in found
    source = (provenance._PACKAGE_FOLDER / "two_layer.py").read_text()
    assert set(library_modules(source)) <= {*found, "contrastive_dynamics"}
    assert found == sorted(found)


def test_relative_imports_are_resolved():
    tree = ast.parse("from .activations import ACTIVATIONS\nfrom . import two_layer\nfrom .book.rules import Rule")
    names = provenance._imports(tree, "contrastive_dynamics.other", False)
    assert names == {f"contrastive_dynamics{m}" for m in ("", ".activations", ".two_layer", ".book.rules")}
    tree = ast.parse("from .rules import Rule\nfrom ..activations import LEAK")
    names = provenance._imports(tree, "contrastive_dynamics.book.claims", False)
    assert names == {"contrastive_dynamics.book.rules", "contrastive_dynamics.activations"}


def test_other_packages_are_no_part_of_the_library():
    assert library_modules("import torch, json\nfrom os import path") == []


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A library of two modules in place of the real one."""
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "a.py").write_text("from .b import x\n")
    (tmp_path / "b.py").write_text("x = 1\n")
    (tmp_path / "c.py").write_text("y = 1\n")
    monkeypatch.setattr(provenance, "_PACKAGE_FOLDER", tmp_path)
    return tmp_path


def test_the_hash_depends_on_code_rules_parameters_and_the_modules_that_are_imported(library):
    code, rules, parameters = "from contrastive_dynamics.a import x", [["thm-1", "≤ 1"]], {"seeds": 3, "rate": 0.1}

    def now(code=code, rules=rules, parameters=parameters):
        return result_hash(code, rules, parameters)

    before = now()
    assert before == now(parameters=dict(reversed(parameters.items()))) and len(before) == 64
    assert now(code=code + "\nx") != before
    assert now(rules=[["thm-1", "≤ 2"]]) != before
    assert now(parameters={"seeds": 4, "rate": 0.1}) != before
    (library / "c.py").write_text("y = 2\n")
    assert now() == before
    (library / "b.py").write_text("# only said\nx = 1\n")
    assert now() == before
    (library / "b.py").write_text("x = 2\n")
    assert now() != before


def test_a_chapter_s_hash_follows_its_code_and_rules_and_not_its_prose(tmp_path):
    files = write_stand_in(tmp_path)
    before = expected_hash(files, {})
    files.source.write_text(files.source.read_text().replace("# # A stand-in", "# # Another title"))
    files.claims.write_text(files.claims.read_text().replace("Twice is two times.", "Doubling doubles."))
    assert expected_hash(files, {}) == before
    files.claims.write_text(files.claims.read_text().replace("at_most: 1.0e-10", "at_most: 1.0e-9"))
    assert expected_hash(files, {}) != before
    assert "A stand-in" not in chapter_code(files.cells())


def test_what_made_a_result_is_said():
    found = provenance.versions()
    assert {"python", "torch", "numpy", "scipy"} <= found.keys() and found["python"].startswith("3.")
    assert provenance.device_name("cpu").endswith("cores") and provenance.peak_megabytes("cpu") > 1
