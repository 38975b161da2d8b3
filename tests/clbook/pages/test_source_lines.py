"""Statements as the sources of kernels and cells spell them."""

import json
import subprocess
import sys

import pytest

from clbook.common.errors import BookError
from clbook.pages.source_lines import cells_of, lines_of
from clbook.provenance.library import Library

MODULE = '''"""Flows."""


def velocity(q, lam):
    """q̊ = −2Λq, the flow; y = lam * q is not code here."""
    if q.ndim < 2:
        raise ValueError("q must be [..., d, z]")
    require_sizes(q)
    y = lam * q  # Λq
    return combined(
        y,
        scale=-2,
    )


class Network:
    def outputs(self, x):
        for layer in self.layers:
            x = layer @ x
            x = x.relu()
        return x
'''
BODY = "y = lam * q  # Λq\nreturn combined(\n    y,\n    scale=-2,\n)"


@pytest.fixture
def library(tmp_path):
    for room in ("one", "two"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "same.py").write_text("def twice():\n    return 2\n")
    (tmp_path / "one" / "flow.py").write_text(MODULE, encoding="utf-8")
    return Library(tmp_path)


def test_a_body_comes_without_docstring_and_checks(library):
    assert lines_of("flow.velocity", "", library=library) == BODY


@pytest.mark.parametrize(
    ("place", "fragment", "expected"),
    [
        ("flow.velocity", "y = lam * q", "y = lam * q  # Λq"),
        ("one.flow.velocity", "combined( y, scale", "return combined(\n    y,\n    scale=-2,\n)"),
        ("flow.velocity", "if q.ndim", "if q.ndim < 2:"),
        ("flow.Network.outputs", "layer @", "x = layer @ x"),
        ("flow.Network.outputs", "for layer", "for layer in self.layers:"),
        ("two.same.twice", "", "return 2"),
    ],
)
def test_a_statement_is_shown_whole_whatever_its_line_breaks(library, place, fragment, expected):
    assert lines_of(place, fragment, library=library) == expected


@pytest.mark.parametrize(
    ("place", "fragment", "said"),
    [
        ("flow.velocity", "y = 3", r"^flow\.velocity: must have one statement with 'y = 3', has 0$"),
        ("flow.velocity", "is not code here", "has 0$"),
        ("flow.Network.outputs", "x = ", "has 2$"),
        ("flow.gone", "", r"^flow\.gone: must name one function of the kernels as module\.function, names 0$"),
        ("same.twice", "", "names 2$"),
        ("velocity", "", "names 0$"),
    ],
)
def test_what_is_gone_or_ambiguous_is_said_in_one_line(library, place, fragment, said):
    with pytest.raises(BookError, match=said):
        lines_of(place, fragment, library=library)


def test_cells_are_read_from_the_notebook_and_commands_of_the_notebook_are_left_out(tmp_path):
    sources = ["!pip install x = 1", ["def f(a):\n", "    x = 2 * a\n", "    return x"]]
    cells = [{"cell_type": "code", "source": source} for source in sources]
    cells.append({"cell_type": "markdown", "source": "x = 2"})
    notebook = tmp_path / "one.ipynb"
    notebook.write_text(json.dumps({"cells": cells}))
    assert lines_of("cell", "x =", cells_of(notebook)) == "x = 2 * a"
    with pytest.raises(BookError, match="^cell: must have one statement with 'y', has 0$"):
        lines_of("cell", "y", cells_of(notebook))
    assert cells_of(tmp_path / "none.ipynb") == []


def test_no_kernel_is_imported():
    program = (
        "import sys; from clbook.pages.source_lines import lines_of;"
        "print(lines_of('circle_landscape.energy', '')); assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("return ") and done.returncode == 0, done.stderr
