"""Solutions that no page shows: of the exercises at the end of a chapter, and of exams. Needs no otter."""

import ast
import re

import pytest
import torch
from checkout import ROOT

from clbook.classroom.solutions import (
    BOARD,
    CHAPTERS,
    EXAMS,
    SOLUTION,
    chapter_solutions,
    exam_sheet,
    exam_to_print,
    executed,
    read_solutions,
    solution_sources,
    statements,
)  # fmt: skip
from clbook.commands.notebooks import build
from clbook.common.errors import BookError
from clbook.common.sources import ChapterFiles, chapter_names

SOURCES = solution_sources(ROOT, CHAPTERS)
EXAM_SOURCES = solution_sources(ROOT, EXAMS)
BOARD_TEXT = solution_sources(ROOT, BOARD)
RUNG = re.compile(r"\*(Core|Advanced), (45|60|90) minutes, (\d+) points\. Needs: .+\. After it you can .+\.\*\n\n")
QUICK = re.compile(r":::\{admonition\} Quick question: [^\n]+\?\n:class: dropdown\n\n[^\n]+\n:::")


def prose(name):
    cells = [cell for files in ChapterFiles(ROOT, name).notebooks for cell in build(files).cells]
    return [cell.source for cell in cells if cell.cell_type == "markdown"]


def asserts(source):
    return sum(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(source)))


TURNED = [(path, seed) for path in EXAM_SOURCES if "# # NUMBERS" in path.read_text() for seed in range(1, 7)]


def test_every_chapter_has_solutions_and_there_are_four_exams():
    assert [path.parent.name for path in SOURCES] == chapter_names(ROOT)
    assert [path.stem for path in EXAM_SOURCES] == ["exam-1", "exam-2", "exam-3", "exam-4"]
    assert {path.stem for path, _ in TURNED} == {"exam-3", "exam-4"}


@pytest.mark.parametrize(
    "path, seed",
    [*((path, 0) for path in [*SOURCES, *EXAM_SOURCES, *BOARD_TEXT]), *TURNED],
    ids=lambda each: "/".join(each.parts[-2:]) if hasattr(each, "parts") else str(each),
)
def test_what_is_derived_by_hand_holds(path, seed):
    """The code of the solutions runs, and asserts something below every heading; numbers are of type float64."""
    names, checked, before = {"__name__": "__main__"}, {}, torch.get_default_dtype()
    try:
        for cell in read_solutions(path, seed).cells:
            if match := re.match(r"## (.+)\n", cell.source):
                checked[at := match[1]] = 0
            elif cell.cell_type == "code":
                exec(compile(cell.source, path.name, "exec"), names)
                if checked:
                    checked[at] += asserts(cell.source)
    finally:
        torch.set_default_dtype(before)
    assert len(checked) >= 5 and min(checked.values()) >= 1, checked


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_a_chapter_shows_no_solution_and_names_the_rung_of_each_exercise(name):
    text = "\n".join(prose(name))
    assert "{solution}" not in text and f"chapters/{name}/solutions.py" in text
    tagged = [
        c for f in ChapterFiles(ROOT, name).notebooks for c in build(f).cells if SOLUTION in c.metadata.get("tags", [])
    ]
    assert tagged == []
    for label, (_, body) in statements(ROOT, name).items():
        rung = RUNG.match(body)
        parts = len(re.findall(r"^\d\. ", body, re.MULTILINE))
        assert rung and int(rung[3]) == 4 * parts, label


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_a_chapter_asks_three_to_five_quick_questions(name):
    cells = [text for text in prose(name) if "Quick question" in text]
    assert 3 <= len(cells) <= 5 and all(QUICK.fullmatch(text) for text in cells)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.parent.name)
def test_each_solution_stands_below_its_statement(path):
    text = "\n\n".join(c.source for c in chapter_solutions(ROOT, path).cells if c.cell_type == "markdown")
    known = statements(ROOT, path.parent.name)
    assert text.count("\n### Solution\n") == len(known) and all(f"## {title}\n" in text for title, _ in known.values())
    assert not re.search(r"\{[a-z]+(:[a-z]+)?\}`|```\{|\]\((?!https?:)", text)
    cited = set(re.findall(r"\(`((?:\w\w-)?eq-\S+?)`\)", text)) - set(re.findall(r"\$\$ \(`(\S+)`\)", text))
    assert cited <= set(re.findall(r"^`(\S+)`:$", text, re.MULTILINE))


def test_a_solution_of_no_exercise_is_refused(tmp_path):
    path = tmp_path / SOURCES[0].parent.name / SOURCES[0].name
    path.parent.mkdir()
    path.write_text(SOURCES[0].read_text().replace("# ## ab-ex-ten", "# ## ab-ex-eleven"))
    with pytest.raises(BookError, match="solutions and exercises of the chapter differ: ab-ex-eleven, ab-ex-ten"):
        chapter_solutions(ROOT, path)


@pytest.mark.parametrize("path", EXAM_SOURCES, ids=lambda path: path.stem)
def test_an_exam_has_sixty_points_and_its_sheet_no_solution(path):
    sheet = exam_sheet(read_solutions(path))
    text = "\n".join(cell.source for cell in sheet.cells)
    questions = re.split(r"^## \d\. .+ \(10 points\)$", text, flags=re.MULTILINE)[1:]
    assert len(questions) == 6
    assert [sum(map(int, re.findall(r"\((\d+)\)$", each, re.MULTILINE))) for each in questions] == [10] * 6
    assert "Solution" not in text and all(cell.cell_type == "markdown" for cell in sheet.cells)
    solved = [c.source for c in read_solutions(path).cells if c.source.startswith("**Solution.**")]
    assert len(solved) == 6 and all("*Common mistakes.*" in each for each in solved)


@pytest.mark.parametrize("path, seed", [*((path, 0) for path in EXAM_SOURCES), *TURNED[::6]])
def test_an_exam_can_be_printed_with_room_to_write(path, seed):
    """12 mm for each point, formulas drawn, a line for the name, no number left to be turned."""
    page = exam_to_print(exam_sheet(read_solutions(path, seed)), path.name)
    rooms = [int(mm) for mm in re.findall(r'<p style="height:(\d+)mm">', page)]
    assert sum(rooms) == 60 * 12 and page.count("break-inside:avoid") == len(rooms)
    assert "Name and number: ____" in page and "$" not in page and "{{" not in page and "\x01" not in page


def test_a_solution_that_fails_is_named_in_one_line(tmp_path):
    from nbformat.v4 import new_code_cell, new_notebook

    notebook = new_notebook(cells=[new_code_cell("assert 1 + 1 == 3, 'no'")])
    with pytest.raises(BookError, match="exam-3.py: a solution does not run: AssertionError: no"):
        executed(notebook, "exam-3.py", tmp_path, 60)
