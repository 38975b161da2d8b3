"""The rows of all chapters: a theorem is shown by its own rows, no field serves one row alone, runs name their data."""

import re
from collections import Counter
from dataclasses import fields
from functools import cache

import pytest
from checkout import ROOT

from clbook.claims.claim_table import Claim, Claims, read_yaml
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.notebook.claim_result import COMMON
from clbook.notebook.results import stored_runs
from clbook.pages.claims_overview import _ID, _WORDS

# a verdict of `book/judging.md` that no statement of these papers has been given so far
UNUSED = {"vacuous"}


@cache
def rows(name: str) -> list[dict]:
    return read_yaml(ChapterFiles.find(name, ROOT).claims)[0]["claims"]


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_a_row_that_stands_elsewhere_than_its_theorem_is_a_remark(name):
    """The locator of a statement names the result of the row's id, so that the overview is made of these alone."""
    elsewhere = []
    for row in Claims.load(ChapterFiles.find(name, ROOT).claims).rows.values():
        if (match := _ID.match(row.id)) and not row.beyond and row.of != "remark":
            number = f"{match['part'].upper()}.{match['number']}" if match["part"] else match["number"]
            word = f"(?:{'|'.join(_WORDS.values())})s?"
            printed = rf"{word} (?:[\w.()]+(?:,| and| to)? )*{re.escape(number)}(?![\d.]*\d)"
            elsewhere += [row.id] * (re.search(printed, row.locator) is None)
    assert not elsewhere


def test_no_field_serves_one_row_alone():
    used = Counter(field for name in chapter_names(ROOT) for row in rows(name) for field in row)
    table = "\n".join(f"{field} {count}" for field, count in used.most_common())
    known = {"in" if field.name == "place" else field.name for field in fields(Claim)}
    assert {field for field in known if used[field] < 2} == UNUSED, table


def test_every_verdict_on_a_paper_has_a_common_word_that_the_page_on_judging_tells():
    page = (ROOT / "book/judging.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| ([\w ,]+) \| ((?:verified|falsified|inconclusive)[\w -]*) \|$", page, re.MULTILINE)
    assert {verdict: common for words, common in told for verdict in words.split(", ")} == COMMON


def test_a_run_on_photographs_is_not_called_generated():
    run = stored_runs(ChapterFiles.find("alignment-and-balance", ROOT))["paper"]
    shown = {claim for claim in run.stamp["readings"] if claim.startswith("fig-2")}
    assert shown <= run.reads_data and "eq-7" not in run.reads_data and run.stamp["data"] != "generated"
