"""Errors that tell a caller in one line what is wrong."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def one_line_error(kind: type[Exception], text: str) -> Iterator[None]:
    """The block must raise an error of this kind; its message must match the text and have no second line."""
    with pytest.raises(kind, match=text) as caught:
        yield
    assert "\n" not in str(caught.value)
