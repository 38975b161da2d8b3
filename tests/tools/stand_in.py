"""A small chapter, written and executed by the tests themselves: percent source, claims, profile, executed notebook."""

import ast
import contextlib
import io
import json
from pathlib import Path

import jupytext
import nbformat
from nbformat import v4

from clbook.common.sources import ChapterFiles
from clbook.notebook.shown import outputs_shown
from clbook.provenance.stamps import MIME, seal

SOURCE = """# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # A stand-in

# %% tags=["parameters"]
seeds: int = 4  # independent runs, 2..100
first_seed: int = 1000  # first of the block, 0..100000
scale: float = 1.0  # what multiplies, 0.5..2.0
mode: str = "plain"  # how, plain|fancy

# %%
from contrastive_dynamics.losses.activations import ACTIVATIONS
from clbook.notebook import open_chapter

import torch

chapter = open_chapter("stand-in", globals())

# %% [markdown]
# ## What it states

# %%
double = ACTIVATIONS["relu"].h(torch.tensor(2.0 * scale)).item()

# %% tags=["nbval-check-output"]
chapter.judge("thm-1", observed=abs(double - 2 * scale), advocate=scale, control=scale)

# %%
falling = ACTIVATIONS["relu"].h(torch.tensor(-scale)).item()

# %% tags=["nbval-check-output"]
chapter.judge("thm-1-a", observed={"a": 3.0 + falling}, advocate=0.0, control=0.0, mended=1e-12)

# %% tags=["nbval-check-output"]
rows = [1.0 + 0.01 * (s % 3) for s in chapter.seeds]
chapter.judge("fig-1", observed=rows, advocate=[-1.0, -1.1, -1.2], control=[-1.0, -1.1, -1.2])

# %% tags=["remove-cell"]
chapter.close()
"""

CLAIMS = """paper: nobody-2020
title: A paper that nobody wrote
labels: {theorem: 1, lemma: 1, figure: 1}
claims:
- id: thm-1
  locator: Theorem 1
  statement: Twice is two times.
  kind: identity
  regime: one number
  statistic: the error
  expected: 0 (derived)
  rule: {at_most: 1.0e-10}
  tolerance_reason: rounding
  control: a factor
  advocate: twice in another base
- id: thm-1-a
  locator: Theorem 1, printed form
  statement: The printed form holds.
  kind: identity
  regime: one number
  statistic: the error
  expected: 0 (derived)
  rule: {between: [1.0e-13, 1.0e-10]}
  tolerance_reason: rounding
  control: nothing at all
  erratum: a factor 3 is missing
  advocate: the printed form of another edition
- id: fig-1
  locator: Figure 1
  statement: It is positive.
  kind: trend
  regime: four seeds
  statistic: the sign
  expected: positive
  rule: {at_least: 0.0}
  tolerance_reason: a sign
  by_chance: true
  control: the opposite sign
  advocate: it is negative
- id: lem-1
  locator: Lemma 1
  statement: This takes long.
  kind: bound
  needs: a GPU for a day
"""


def write_stand_in(root: Path, source: str = SOURCE, claims: str = CLAIMS, name: str = "stand-in") -> ChapterFiles:
    """Write source, claims and smoke profile below a root, without a notebook; under other names with the same ids."""
    files = ChapterFiles(root, name)
    files.profile("smoke").parent.mkdir(parents=True, exist_ok=True)
    files.source.write_text(source.replace('open_chapter("stand-in"', f'open_chapter("{name}"'), encoding="utf-8")
    files.claims.write_text(claims, encoding="utf-8")
    files.profile("smoke").write_text("seeds: 3  # few\n", encoding="utf-8")
    return files


def _run_cell(source: str, namespace: dict) -> object:
    """Execute a cell; return the value of its last expression, as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), namespace)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace) if last else None


def execute(files: ChapterFiles) -> nbformat.NotebookNode:
    """The chapter's notebook with its outputs, without a Jupyter kernel; CLBOOK_ROOT must name the chapter's root."""
    return execute_cells(jupytext.read(files.source), {})


def execute_cells(notebook: nbformat.NotebookNode, parameters: dict) -> nbformat.NotebookNode:
    """Execute a notebook's cells here, with other values of some parameters; changes and returns the notebook."""
    namespace, count = {"__name__": "__main__"}, 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        count += 1
        with contextlib.redirect_stderr(io.StringIO()):
            shown = _run_cell(cell.source, namespace)
        if "parameters" in cell.metadata.get("tags", []):
            namespace |= parameters
        cell.execution_count = count
        if shown is not None:
            cell.outputs = [v4.new_output("execute_result", shown._repr_mimebundle_(), execution_count=count)]
    for output in (output for cell in notebook.cells for output in cell.get("outputs", []) if MIME in output.data):
        stamp = json.loads(output.data[MIME]) | {"shown": outputs_shown(notebook)}
        output.data[MIME] = json.dumps(seal(stamp), ensure_ascii=False)
    return notebook


def build_stand_in(root: Path, **changes) -> ChapterFiles:
    """The stand-in chapter with its executed notebook; `changes` as in `write_stand_in`."""
    files = write_stand_in(root, **changes)
    nbformat.write(execute(files), files.notebook)
    return files
