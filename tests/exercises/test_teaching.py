"""The plans of the teaching page: five topics, each with its live demonstration, and an answer to every question."""

import re
import shlex

import pytest
from checkout import ROOT

from clbook.claims.claim_table import Claims
from clbook.common.parameters import effective
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.provenance.slices import ChapterCode

PAGES = [ROOT / "book" / name for name in ("teaching.md", "teaching-second.md", "course.md", "exercises.md")]
TEXT, SECOND = (page.read_text(encoding="utf-8") for page in PAGES[:2])
PLANS = re.findall(r"^## Fifty minutes on .+?(?=^## )", f"{TEXT}\n{SECOND}\n## ", re.MULTILINE | re.DOTALL)
ANSWERS = (ROOT / "course" / "answers.md").read_text(encoding="utf-8")  # no page has them
COMMANDS = sorted(
    {c for page in PAGES for c in re.findall(r"`(clbook run [a-z][^`]+)`", page.read_text(encoding="utf-8"))}
)


def title(plan):
    return re.match(r"## Fifty minutes on (.+)", plan)[1]


def answers_of(name):
    """The questions of a section of answers."""
    section = re.search(rf"^## {re.escape(name)}$(.+?)(?=^## |\Z)", ANSWERS, re.MULTILINE | re.DOTALL | re.IGNORECASE)
    return re.findall(r"^- \*(.+?)\.\*", section[1], re.MULTILINE)


def test_there_is_a_plan_for_each_lecture_of_the_course():
    titles = [title(plan) for plan in PLANS]
    assert set(chapter_names(ROOT)) <= {each.replace(" ", "-") for each in titles} and len(titles) == 11
    course = PAGES[2].read_text(encoding="utf-8").partition("## Syllabus")[2].partition("\n## ")[0]
    assert course.count("fifty minutes on") == 11


def test_no_answer_is_on_a_page():
    assert not any("Answers to" in page.read_text() or "*Answer:*" in page.read_text() for page in PAGES)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.splitlines()[0])
def test_a_plan_has_five_topics_says_what_to_drop_and_answers_all(plan):
    topics = re.findall(
        r"^\| \d+ to \d+ \| (\d)\. .+ \| (.+\?) \|$|^\| \d+ to \d+ \| (\d)\. .+ \| (Vote .+) \|$", plan, re.M
    )
    assert [a or b for a, _, b, _ in topics] == list("12345")
    assert re.findall(r"^\| (\d) \| .+ \|$", plan, re.MULTILINE) == list("12345")  # of the table of demonstrations
    assert "**If time is short,** drop " in plan and "*Exit ticket:*" in plan
    answers = answers_of(title(plan))
    assert len(answers) >= len(topics) + 3 and answers[-1] == "Exit ticket"


def test_every_question_above_the_plans_has_its_answer():
    bullets = re.findall(
        r"^- \*\*.+?(?=^- \*\*|^## )", TEXT.partition("\n## Live")[0] + "\n## ", re.MULTILINE | re.DOTALL
    )
    asking = [each for each in bullets if "class predict" in each or "class guess" in each]
    known = answers_of("Without a plan")
    assert len(asking) >= 6 and [re.match(r"- \*\*(.+?)\.\*\*", each)[1] for each in asking] == known


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_names_what_there_is(command):
    words = shlex.split(command)[2:]
    files = ChapterFiles.find_notebooks(words[0], ROOT)
    given = dict(zip(words[1::2], words[2::2], strict=False))
    assert set(given) <= {"--only", "--profile", "-p", "--out"}, command
    rows = Claims.load(files.claims).rows
    assert all(claim in rows and rows[claim].rule for claim in given.get("--only", "").split(",") if claim)
    assert given.get("--profile", "smoke") in files.profiles()
    known = ChapterCode(files).parameters
    pairs = [w.partition("=") for flag, w in zip(words[1::2], words[2::2], strict=False) if flag == "-p"]
    assert all(name in known for name, _, _ in pairs)
    effective(known, {n: known[n].from_text(v) for n, _, v in pairs if v != "N"}, files.name)
