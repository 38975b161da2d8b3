"""A source of exercises with one graded question and one report, and submissions of it."""

import copy

SOURCE = '''# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [raw]
# # ASSIGNMENT CONFIG
# name: sums
# export_cell:
#   pdf: false
# tests:
#   ok_format: false

# %% [markdown]
# # Sums

# %% [raw]
# # BEGIN QUESTION
# name: w1_double

# %% [markdown]
# Write `double(x)`.

# %% [raw]
# # BEGIN SOLUTION

# %%
def double(x):
    """Twice x."""
    # BEGIN SOLUTION
    return 2 * x
    # END SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'twice, not squared'
""" # END TEST CONFIG
def test_two(double):
    assert double(3) != 9, "that is the square"
    assert double(3) == 6, "3 and 3 is 6"

# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'other numbers'
""" # END TEST CONFIG
def test_others(double):
    assert double(-1) == -2, "also below 0"

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# The square.
def double(x):
    return x * x

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: p1_report
# manual: true
# points: 3

# %% [markdown]
# A report.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# **Rubric.** All or nothing.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION
'''


PREDICTED = SOURCE.replace(
    "# %% [raw]\n# # BEGIN QUESTION\n# name: p1_report",
    """# %% [raw]
# # BEGIN QUESTION
# name: c1_prediction

# %% [markdown]
# Predict twice three.

# %% [raw]
# # BEGIN SOLUTION

# %%
guess = (6, 5, 7)  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # PREDICTION
# name: guess
# truth: double(3)
# scale: difference
# widest: 3
# far: 1
# near: 0.1

# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c1_treble

# %% [markdown]
# Write `treble(x)`.

# %% [raw]
# # BEGIN SOLUTION

# %%
def treble(x):
    # BEGIN SOLUTION
    return 3 * x
    # END SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
def test_three(treble):
    assert treble(1) == 3, "once, twice, three times"

# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: p1_report""",
)


def source_file(book, text=SOURCE):
    """A source of exercises where a book in a folder has it."""
    path = book / "chapters" / "sums" / "exercises.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def answered(sheet, code):
    """A submission with some code in place of the starter's."""
    notebook = copy.deepcopy(sheet.student)
    (cell,) = [c for c in notebook.cells if c.source.startswith("def double")]
    cell.source = code
    return notebook, notebook.cells.index(cell)
