"""Figures and numbers under names: stored as myst-nb reads them, silent outside a notebook."""

import base64
import sys

import matplotlib
import pytest

from clbook.common.pictures import size_on_page
from clbook.notebook import glue

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


@pytest.fixture
def drawn():
    """A figure, made before the notebook is simulated (pyplot asks IPython for its display hook)."""
    plt.close("all")  # of tests before
    return plt.subplots()[0]


@pytest.fixture
def published(drawn, monkeypatch):
    """The outputs that a notebook's cell would store."""
    kept = []
    monkeypatch.setattr("IPython.get_ipython", lambda: object())
    monkeypatch.setattr("IPython.display.display", lambda data, raw, metadata: kept.append((data, metadata)))
    return kept


def test_a_figure_is_shown_under_its_name_and_closed(drawn, published):
    glue.figure(drawn, "fig-8", dpi=50)
    ((data, metadata),) = published
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert metadata.pop("scrapbook") == {"name": "fig-8", "mime_prefix": ""}
    assert metadata == {"image/png": {"width": size_on_page(base64.b64decode(data["image/png"]))[0]}}
    assert not plt.get_fignums()


def test_a_figure_may_have_a_table_that_takes_its_place(drawn, published):
    glue.figure(drawn, "fig-8", dpi=50, html="<table></table>")
    ((data, _),) = published
    assert data["text/html"] == "<table></table>" and {"image/png", "text/plain"} <= data.keys()


def test_a_number_is_kept_and_not_shown(published):
    glue.number("crossing", 1 / 3)
    assert published == [
        (
            {"application/papermill.record/text/plain": repr(1 / 3)},
            {"scrapbook": {"name": "crossing", "mime_prefix": "application/papermill.record/"}},
        )
    ]


def test_a_picture_has_the_same_bytes_again():
    def draw():
        fig, ax = plt.subplots()
        ax.plot([1, 2])
        made = glue.png(fig, dpi=50)
        plt.close(fig)
        return made

    assert draw() == draw()
    assert b"Software" not in draw()


def test_nothing_happens_outside_a_notebook(capsys, monkeypatch):
    glue.number("x", 1.0)
    monkeypatch.setitem(sys.modules, "IPython", None)
    glue.number("x", 1.0)
    assert capsys.readouterr().out == ""
