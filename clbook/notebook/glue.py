"""Figures and numbers of a notebook, stored under names so that the prose can place them by `{glue:...}` of myst-nb.

A figure's cell carries the tag `remove-output`; the Markdown cell below it places the picture, with its caption and an
alternative text for readers who cannot see it:

    ```{glue:figure} fig-8
    :alt: What the picture shows, in a sentence.
    :name: fig-8

    The caption, with mathematics.
    ```

A number stands in prose as {glue:text}`name:.4f`. Nothing here imports myst-nb, so a kernel needs only IPython;
without it (in a plain script), these functions show nothing. An animation (`animations.py`) is placed like a figure; a
live picture (`explorables.py`) is shown by its own cell.
"""

import base64
import hashlib
import io
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from ..common.pictures import size_on_page, small_png

DRAWN: dict[str, str] = {}  # figure since the chapter was opened → checksum of its PNG
MOVING: dict[str, str] = {}  # animation since then → checksum of its file
FIGURES = "CLBOOK_FIGURES"  # names a folder for figures as SVG and PDF; `clbook run --figures` sets it
PLAIN = "<figure {}>"
HIDDEN = "application/papermill.record/"  # a prefix under which no front end shows an output


def _in_notebook() -> bool:
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return get_ipython() is not None


def _publish(name: str, data: dict[str, str], prefix: str, **shown: dict[str, int]) -> None:
    if not _in_notebook():
        return
    from IPython.display import display

    metadata = {"scrapbook": {"name": name, "mime_prefix": prefix}} | shown
    display({prefix + mime: content for mime, content in data.items()}, raw=True, metadata=metadata)


def png(fig, dpi: int = 192) -> bytes:
    """A matplotlib figure as PNG, reproducible to the byte: without version and date."""
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png", dpi=dpi, bbox_inches="tight", metadata={"Software": None})
    return small_png(buffer.getvalue())


def as_png(fig, name: str, dpi: int) -> bytes:
    """The figure as PNG, whose checksum is kept for the stamp; closes the figure."""
    import matplotlib.pyplot as plt

    content = png(fig, dpi)
    DRAWN[name] = hashlib.sha256(content).hexdigest()
    if folder := os.environ.get(FIGURES):
        # the same figure gives the same file, its letters are TrueType or text, which publishers ask for
        with plt.rc_context({"svg.hashsalt": name, "svg.fonttype": "none", "pdf.fonttype": 42}):
            for form, undated in (("svg", {"Date": None}), ("pdf", {"CreationDate": None})):
                fig.savefig(Path(folder, f"{name}.{form}"), bbox_inches="tight", metadata=undated)
    plt.close(fig)
    return content


def figure(fig, name: str, dpi: int = 192, html: str = "") -> None:
    """Show a matplotlib figure at its size in inches, store it under a name, and close it.

    Where HTML is shown, `html` takes the place of the picture: a table that a phone can show.
    """
    content = as_png(fig, name, dpi)
    bundle = {"image/png": base64.b64encode(content).decode("ascii"), "text/plain": PLAIN.format(name)}
    bundle |= {"text/html": html} if html else {}
    _publish(name, bundle, "", **{"image/png": {"width": size_on_page(content)[0]}})


def number(name: str, value: float) -> None:
    """Store a number under a name without showing it."""
    _publish(name, {"text/plain": repr(float(value))}, HIDDEN)


def animation(
    fig,
    draw: Callable[[object], object],
    frames: Iterable,
    name: str,
    alt: str,
    *,
    rate: float = 12.0,
    hold: float = 2.0,
    dpi: int = 144,
) -> None:
    """Show a short looping animation, store its last frame under a name as a figure, and close the figure.

    Outside a notebook this only closes the figure; `clbook record` stores the last frame.

    Args:
        fig: a matplotlib figure.
        draw: `draw(frame)` changes the figure into a frame, whatever it showed before.
        frames: arguments of `draw`, in order, at least 2; the last frame should show the outcome, since print and
            readers who prefer reduced motion get it alone.
        name: as for a figure: the cell is tagged `remove-output`, and a `{glue:figure}` places the animation.
        alt: what moves and how it ends, in a sentence.
        rate: frames per second.
        hold: seconds for which the last frame stays before the next round.
        dpi: resolution.
    Raises: BookError for an empty `alt`, too few frames, and more than 1 MB.
    """
    import matplotlib.pyplot as plt

    from . import animations

    if not _in_notebook():
        plt.close(fig)
        return
    still, moving = animations.make(fig, draw, frames, name, alt, rate=rate, hold=hold, dpi=dpi)
    plt.close(fig)
    DRAWN[name], MOVING[name] = (hashlib.sha256(content).hexdigest() for content in (still, moving))
    bundle = animations.bundle(name, still, animations.place(name, moving), alt)
    _publish(name, bundle, "", **{"image/png": {"width": size_on_page(still)[0]}})


def explorable(fig, name: str, alt: str, dpi: int = 144) -> None:
    """Show a live picture: a matplotlib figure, which a script replaces where scripts run.

    Outside a notebook this only closes the figure.

    Args:
        fig: the still picture, for print and for viewers that strip scripts; it is closed.
        name: that of the scripts in `book/_static/explorables/`.
        alt: what the still picture shows, in a sentence.
        dpi: resolution.
    Raises: BookError for an empty `alt` and a script that does not exist.
    """
    import matplotlib.pyplot as plt

    from .explorables import live_bundle

    if not _in_notebook():
        plt.close(fig)
        return
    picture = base64.b64encode(as_png(fig, name, dpi)).decode("ascii")
    _publish(name, live_bundle(name, picture, alt), "")
