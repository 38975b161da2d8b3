"""What the tests of pages in a browser share."""

import os
import re
from pathlib import Path

import pytest
from browser import browser


@pytest.fixture(scope="module")
def tab():
    with browser() as found:
        yield found


@pytest.fixture
def page(tab, request):
    yield tab
    if tab.film:
        name = re.sub(r"\W+", "-", request.node.name).strip("-")
        tab.film.save(Path(os.environ["CLBOOK_FILM"], f"{name}.webp"))
