"""Solutions that no page shows: of the exercises at the end of a chapter, and of exams.

A source, chapters/NAME/solutions.py or course/exams/NAME.py, is a notebook in the percent format. In the first kind
a heading `## LABEL` stands for an exercise of the chapter; in the second the cells of a solution have the tag
"solution". Code asserts what a solution derives; it needs the library, no grader.
"""

import re
from pathlib import Path

from ..commands.jupyter_kernel import kernel
from ..commands.notebooks import build
from ..common.errors import BookError
from ..common.formats import place_of, text_of
from ..common.sources import ChapterFiles
from .handouts import printed_page
from .seeds import with_numbers

CHAPTERS, EXAMS, BOARD = "chapters/*/solutions.py", "course/exams/*.py", "course/*.py"
ANSWERS = "course/*.md"  # to votes and exit tickets
SOLUTION = "solution"
_EXERCISE = re.compile(
    r"(`{3,})\{exercise\} (?P<title>.+)\n:label: (?P<label>\S+)\n(?P<body>[\s\S]*?)\n\1$", re.MULTILINE
)
_HINT = re.compile(r"```\{hint\}\n(?::\S+: .*\n)*([\s\S]*?)\n```")
_EQUATION = re.compile(r"\$\$\n([^$]+)\n\s*\$\$ \((?P<label>\S+)\)")
_COLOUR = re.compile(r"\x1b\[[\d;]*m")  # of a terminal, in IPython's tracebacks
_ROOM = 12  # mm of an exam's page for each point
_WHO = "Name and number: " + 40 * "\\_"
_HEADING = re.compile(r"## (\S+)\n")


def solution_sources(root: Path, kind: str) -> list[Path]:
    """The sources of a kind, such as CHAPTERS or EXAMS, sorted by name."""
    return sorted(root.glob(kind))


def read_solutions(path: Path, seed: int = 0):
    """A source as a notebook without outputs, with the numbers of a seed where it names some."""
    import jupytext

    notebook = jupytext.reads(with_numbers(text_of(path), seed, place_of(path)), fmt="py:percent")
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return notebook


def statements(root: Path, chapter: str) -> dict[str, tuple[str, str]]:
    """Label → (title, statement) of the exercises of a chapter and its appendix, as plain Markdown with the hint."""
    found = {}
    for cell in _prose(root, chapter):
        for match in _EXERCISE.finditer(cell):
            body = _HINT.sub(lambda hint: f"*Hint.* {hint[1]}", match["body"].strip())
            found[match["label"]] = match["title"], body
    return found


def chapter_solutions(root: Path, path: Path):
    """The notebook of a chapter's solutions, each below its statement; not executed.

    Raises BookError for a heading that names no exercise of the chapter, and for an exercise without a solution.
    """
    from nbformat.v4 import new_markdown_cell

    notebook, known = read_solutions(path), statements(root, path.parent.name)
    solved = [m[1] for cell in notebook.cells if (m := _HEADING.match(cell.source))]
    if sorted(solved) != sorted(known):
        unlike = ", ".join(sorted(set(solved) ^ set(known))) or "one is solved twice"
        raise BookError(f"{place_of(path)}: solutions and exercises of the chapter differ: {unlike}")
    equations = {m["label"]: m[1].strip() for cell in _prose(root, path.parent.name) for m in _EQUATION.finditer(cell)}
    for cell in notebook.cells:
        if match := _HEADING.match(cell.source):
            title, statement = known[match[1]]
            cell.source = f"## {title}\n\n{statement}\n\n### Solution\n{cell.source[match.end() :]}"
    used = sorted({label for cell in notebook.cells for label in re.findall(r"\{eq\}`(\S+?)`", cell.source)})
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _plain(cell.source)
    rows = [f"`{label}`:\n\n$$\n{equations[label]}\n$$" for label in used if label in equations]
    if rows:
        notebook.cells.append(new_markdown_cell("\n\n".join(["## Equations of the chapter", *rows])))
    return notebook


def exam_sheet(notebook):
    """An exam as students get it: without solutions and code."""
    from nbformat.v4 import new_notebook

    kept = [c for c in notebook.cells if c.cell_type == "markdown" and SOLUTION not in c.metadata.get("tags", [])]
    return new_notebook(cells=kept, metadata=notebook.metadata)


def exam_to_print(sheet, name: str) -> str:
    """An exam as HTML for A4, with room to write below each part, in proportion to its points."""
    text = "\n\n".join(cell.source for cell in sheet.cells).replace("\n", f"\n\n{_WHO}\n", 1)
    page = printed_page(text, name, "")
    page = re.sub(r"\((\d+)\)</li>", lambda m: f'({m[1]})<p style="height:{int(m[1]) * _ROOM}mm"></p></li>', page)
    return page.replace("<li>", '<li style="break-inside:avoid">')


def executed(notebook, name: str, work: Path, seconds: int):
    """The notebook with its outputs, run in `work`; raises BookError for a cell that fails."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    try:
        with kernel(work, {}) as manager:
            NotebookClient(notebook, km=manager, timeout=seconds).execute(cleanup_kc=False)
    except CellExecutionError as error:
        last = _COLOUR.sub("", str(error)).strip().splitlines()[-1]
        raise BookError(f"{name}: a solution does not run: {last}") from None
    return notebook


def _prose(root: Path, chapter: str) -> list[str]:
    """The Markdown cells of a chapter and its appendix."""
    return [
        cell.source
        for files in ChapterFiles(root, chapter).notebooks
        for cell in build(files).cells
        if cell.cell_type == "markdown"
    ]


def _plain(text: str) -> str:
    """MyST's references as words, which a notebook shows as they are."""
    text = re.sub(r"\{eq\}`(\S+?)`", r"(`\1`)", text)
    text = re.sub(r" \(([a-z]{2}-eq-\S+|eq-\S+)\)$", r" (`\1`)", text, flags=re.MULTILINE)
    text = re.sub(r"\{\w+(?::\w+)?\}`(?:([^`<]+?) <[^`]+>|([^`]+))`", lambda m: m[1] or m[2], text)
    return re.sub(r"\[([^]]+)\]\((?!https?:)[^)]*\)", r"\1", text)
