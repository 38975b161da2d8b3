"""A chapter's parameters stand on its page as a table with commands, and each command is accepted."""

import shlex

import pytest
from bs4 import BeautifulSoup
from checkout import ROOT
from notebook_page import cell, page_of

from clbook.common.parameters import read_parameters
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.pages.parameter_table import parameter_table

SOURCE = "seeds: int = 10  # seeds of a claim, 3..1000\ndata: str = 'digits'  # images, digits|mnist"


def test_each_parameter_is_a_row_above_the_folded_code(tmp_path):
    page, warnings = page_of(tmp_path, cell(SOURCE, "hide-input", "parameters"))
    table = page.select_one("details.parameters")
    rows = [[part.get_text() for part in row.select("td")] for row in table.select("tbody tr")]
    assert rows == [
        ["seeds", "10", "3 to 1000", "seeds of a claim", "-p seeds=10"],
        ["data", "digits", "digits, mnist", "images", "-p data=digits"],
    ]
    assert table.summary.get_text() == "parameters: 2, each can be changed" and not warnings
    assert table.find_next("details")["class"] == ["folded-code"]


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_the_command_of_each_row_gives_the_default(name):
    files = ChapterFiles.find(name, ROOT).notebooks[0]
    known = read_parameters(files.cells(), name)
    source = next(c.source for c in files.cells() if "parameters" in c.tags)
    table = BeautifulSoup(parameter_table(source, name), "html.parser")
    commands = [code["data-command"] for code in table.select(".command")]
    for command, parameter in zip(commands, known.values(), strict=True):
        *start, assignment = shlex.split(command)
        assert start == ["clbook", "run", name, "-p"]
        given, _, text = assignment.partition("=")
        assert given == parameter.name and parameter.from_text(text) == parameter.default
