"""What the tests of pages in a browser share."""

import pytest
from browser import browser


@pytest.fixture(scope="module")
def page():
    with browser() as found:
        yield found
