"""A definition that `same_bits.json` lists counts as its earlier text, until it or what it reaches changes."""

import json

import pytest
from checkout import ROOT
from one_line_error import one_line_error
from same_bits import digest, rows

from clbook.common.errors import BookError
from clbook.provenance.library import SAME_BITS, Definition, Digests, Library

LEAF, CALLER = Definition("contrastive_dynamics.leaf", "f"), Definition("contrastive_dynamics.caller", "g")


def library(folder, text: str) -> Digests:
    (folder / "leaf.py").write_text(text)
    (folder / "caller.py").write_text("from .leaf import f\n\ndef g(x):\n    return f(x)\n")
    return Digests(Library(folder), "generated")


def row(now: str, was: str) -> dict[str, str]:
    return {"definition": str(LEAF), "now": now, "as": was, "commit": "0" * 40, "program": "none"}


def test_a_listed_definition_counts_as_the_earlier_one(tmp_path):
    before = library(tmp_path, "def f(x):\n    return x + x\n")
    was, called = before.closure_digest(LEAF), before.closure_digest(CALLER)
    now = library(tmp_path, "def f(x):\n    return 2 * x\n").closure_digest(LEAF)
    (tmp_path / SAME_BITS).write_text(json.dumps([row(now, was)]))
    again = library(tmp_path, "def f(x):\n    return 2 * x\n")
    assert (again.closure_digest(LEAF), again.closure_digest(CALLER)) == (was, called)
    other = library(tmp_path, "def f(x):\n    return 3 * x\n")
    assert other.closure_digest(LEAF) not in (was, now) and other.closure_digest(CALLER) != called


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["definition"])
def test_every_row_is_of_the_present_text(row):
    """A row that no longer fits would only look like a reason."""
    assert digest(row["definition"]) == row["now"] != row["as"]
    assert (ROOT / "tests" / "deep" / "bits" / f"{row['program']}.py").is_file()


@pytest.mark.parametrize("content", ["{}", "[{}]", "[]x", "", '[{"now": 1}]', "null"])
def test_a_damaged_list_is_one_line(tmp_path, content):
    (tmp_path / SAME_BITS).write_text(content)
    with one_line_error(BookError, f"{SAME_BITS}: damaged: "):
        library(tmp_path, "def f(x):\n    return x\n").closure_digest(LEAF)
