"""Each chapter has a ladder of exercises, 100 points, and its headings say what the tests count. Needs no otter."""

import ast
import builtins
import dis
import re

import pytest
from checkout import ROOT

from clbook.classroom.exercises import exercise_sources, read_source
from clbook.classroom.solutions import statements
from clbook.common.sources import chapter_names

SOURCES = exercise_sources(ROOT)
KINDS = {"w": ("Warm-up", "10 minutes", 6), "c": ("Core", "30 minutes", 14), "p": ("Project", "A week", 20)}
HEADING = re.compile(
    r"## (?P<kind>[\w-]+) (?P<number>\d): .+\n\n\*(?P<time>[^,]+), (?P<points>\d+) points\. "
    r"Needs: .+ After it you can .+\*"
)


def points_of(notebook):
    """Points of each question, from the raw cells and the tests' configurations."""
    found, question = {}, ""
    for cell in notebook.cells:
        if match := re.match(r"# BEGIN QUESTION\nname: (\w+)(?:\nmanual: true\npoints: (\d+))?", cell.source):
            question = match[1]
            found[question] = int(match[2] or 0)
        elif match := re.search(r"BEGIN TEST CONFIG\n(?:success_message: .*\n)?points: (\d+)", cell.source):
            found[question] += int(match[1])
    return found


def test_every_chapter_has_exercises():
    assert [path.parent.name for path in SOURCES] == chapter_names(ROOT)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.parent.name)
def test_the_ladder(path):
    notebook, *_ = read_source(path)
    headings = [m for cell in notebook.cells if (m := HEADING.match(cell.source))]
    rungs = [f"{m['kind'][0].lower()}{m['number']}" for m in headings]
    assert rungs == ["w1", "w2", "w3", "c1", "c2", "c3", "p1", "p2"]
    points = points_of(notebook)
    for rung, heading in zip(rungs, headings, strict=True):
        kind, time, worth = KINDS[rung[0]]
        assert (heading["kind"], heading["time"], int(heading["points"])) == (kind, time, worth), rung
        assert sum(p for question, p in points.items() if question.startswith(f"{rung}_")) == worth, rung
    assert sum(points.values()) == 100
    for rung in ("c1", "c2", "c3"):
        assert list(points)[[q[:2] for q in points].index(rung)] == f"{rung}_prediction"  # before the run
        assert f"{rung}_refutation" in points


def titles(name):
    """Of the tasks of a chapter's sheet, and of the exercises at its end."""
    sheet = re.findall(r"^# ## [\w-]+ \d: (.+)$", (ROOT / "chapters" / name / "exercises.py").read_text(), re.MULTILINE)
    return sheet, [title for title, _ in statements(ROOT, name).values()]


def test_sheet_and_page_are_different_tasks_and_a_plan_says_of_which_it_speaks():
    """A title says one task, whose level, time and points stand below it; plans and notes name titles that exist."""
    both = {name: titles(name) for name in chapter_names(ROOT)}
    for name, (sheet, page) in both.items():
        assert len(sheet) == 8 and not {t.lower() for t in sheet} & {t.lower() for t in page}, name
    places = {f"slides/{name}.md": (r"(?:Exercises?|At home).*", r'"(.+?)"', [name]) for name in both}
    places["book/teaching.md"] = (r"(?:Exercises that fit|\*A top|\*Break).*", r"(?<!\*)\*([^*]+)\*", list(both))
    for path, (line, quoted, names) in places.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        named = [t for found in re.findall(f"^{line}$", text, re.MULTILINE) for t in re.findall(quoted, found)]
        known = {title for name in names for kind in both[name] for title in kind}
        assert len(named) >= 4 and set(named) <= known, (path, set(named) - known)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.parent.name)
def test_every_graded_exercise_has_three_mistakes(path):
    notebook, mistakes, _ = read_source(path)
    count = dict.fromkeys((question[:2] for question in points_of(notebook)), 0)
    for mistake in mistakes:
        count[mistake.question[:2]] += 1
        assert mistake.title.endswith(".") and ast.parse(mistake.code).body
    assert min(count.values()) >= 3, count


def globals_of(code):
    """The global names that a function and the functions inside it load."""
    yield from (each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL")
    for inner in code.co_consts:
        if hasattr(inner, "co_consts"):
            yield from globals_of(inner)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.parent.name)
def test_each_test_brings_its_own_seed_and_imports(path):
    """A test sees the student's names and nothing of the source: what it calls beside them is a built-in or its own."""
    notebook, *_ = read_source(path)
    for cell in notebook.cells:
        if "BEGIN TEST CONFIG" in cell.source:
            (function,) = [n for n in ast.parse(cell.source).body if isinstance(n, ast.FunctionDef)]
            used = set(globals_of(compile(ast.Module([function], []), "<test>", "exec").co_consts[0]))
            assert used <= set(dir(builtins)), function.name
            assert "np.random.seed" not in cell.source and "default_rng()" not in cell.source
