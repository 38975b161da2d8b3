"""Figures and numbers of a notebook under a name, for the prose around them: what `{glue:...}` of myst-nb reads.

A figure's cell carries the tag `remove-output`; the Markdown cell below it places the picture, with its caption and the
text for readers who do not see it:

    ```{glue:figure} fig-8
    :alt: What the picture shows, in a sentence.
    :name: fig-8

    The caption, with mathematics.
    ```

A number stands in prose as {glue:text}`name:.4f`. Nothing here imports myst-nb, so a kernel needs only IPython;
where there is none (a plain script), both functions do nothing.
"""

import base64
import hashlib
import io

DRAWN: dict[str, str] = {}  # name of each figure since the chapter was opened → sum of its PNG
HIDDEN = "application/papermill.record/"  # a prefix under which no front end shows an output


def _publish(name: str, data: dict[str, str], prefix: str) -> None:
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        return
    if get_ipython() is None:
        return
    metadata = {"scrapbook": {"name": name, "mime_prefix": prefix}}
    display({prefix + mime: content for mime, content in data.items()}, raw=True, metadata=metadata)


def png(fig, dpi: int = 150) -> bytes:
    """A matplotlib figure as PNG, the same bytes on every run (no version or date inside)."""
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png", dpi=dpi, bbox_inches="tight", metadata={"Software": None})
    return buffer.getvalue()


def drawn(fig, name: str, dpi: int) -> bytes:
    """A figure as PNG, its sum noted for the stored run, the figure closed."""
    import matplotlib.pyplot as plt

    content = png(fig, dpi)
    DRAWN[name] = hashlib.sha256(content).hexdigest()
    plt.close(fig)
    return content


def figure(fig, name: str, dpi: int = 150) -> None:
    """Show a matplotlib figure, keep it under a name, and close it."""
    picture = base64.b64encode(drawn(fig, name, dpi)).decode("ascii")
    _publish(name, {"image/png": picture, "text/plain": f"<figure {name}>"}, "")


def number(name: str, value: float) -> None:
    """Keep a number under a name without showing it."""
    _publish(name, {"text/plain": repr(float(value))}, HIDDEN)
