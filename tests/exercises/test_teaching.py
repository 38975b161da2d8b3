"""The plans of the teaching page: five topics, each with its live demonstration, and an answer to every question."""

import re
import shlex

import pytest
from checkout import ROOT

from clbook.claims.claim_table import Claims
from clbook.common.parameters import effective
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.provenance.slices import ChapterCode

PAGES = [ROOT / "book" / name for name in ("teaching.md", "course.md", "exercises.md")]
TEXT = PAGES[0].read_text(encoding="utf-8")
PLANS = re.findall(r"^## Fifty minutes on .+?(?=^## )", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = sorted(
    {c for page in PAGES for c in re.findall(r"`(clbook run [a-z][^`]+)`", page.read_text(encoding="utf-8"))}
)


def test_there_is_a_plan_for_each_chapter():
    titles = [re.match(r"## Fifty minutes on (.+)", plan)[1].replace(" ", "-") for plan in PLANS]
    assert titles == chapter_names(ROOT) or sorted(titles) == sorted(chapter_names(ROOT))


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.splitlines()[0])
def test_a_plan_has_five_topics_says_what_to_drop_and_answers_all(plan):
    topics = re.findall(
        r"^\| \d+ to \d+ \| (\d)\. .+ \| (.+\?) \|$|^\| \d+ to \d+ \| (\d)\. .+ \| (Vote .+) \|$", plan, re.M
    )
    assert [a or b for a, _, b, _ in topics] == list("12345")
    assert re.findall(r"^\| (\d) \| .+ \|$", plan, re.MULTILINE) == list("12345")  # of the table of demonstrations
    assert "**If time is short,** drop " in plan and "*Exit ticket:*" in plan
    answers = re.findall(r"^- \*(.+?)\.\*", plan.partition("Answers to")[2], re.MULTILINE)
    assert len(answers) >= len(topics) + 3 and answers[-1] == "Exit ticket"


def test_every_question_above_the_plans_has_its_answer():
    bullets = re.findall(
        r"^- \*\*.+?(?=^- \*\*|^## )", TEXT.partition("\n## Live")[0] + "\n## ", re.MULTILINE | re.DOTALL
    )
    asking = [each for each in bullets if "class predict" in each or "class guess" in each]
    assert len(asking) >= 6 and all("*Answer:*" in each for each in asking)


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
