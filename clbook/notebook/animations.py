"""Animations of a chapter: short looping pictures that a run makes, each in a file beside the notebook.

The file is `animations/CHAPTER/NAME.webp`, relative to the notebook, whether committed or from `clbook run`, and to the
page. The cell's output has HTML that plays the file, and the last frame as a PNG for print and other viewers. Readers
who prefer reduced motion see the last frame; a checkbox, without a script, stops the animation, or plays it for them.
In a notebook that a reader runs, no file is written: the output contains the animation.
"""

import base64
import html
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from ..common.atomic import atomic_write
from ..common.errors import BookError
from ..common.pictures import size_on_page, small_png

FOLDER = "animations"  # beside the notebook
VARIABLE = "CLBOOK_ANIMATIONS"  # the folder animations/CHAPTER, set for a run that writes files
LARGEST = 2**20  # bytes of a file
_PLAIN = "animation {name}: {alt}"
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SOURCE = re.compile(r'(?<=<img class="moving" src=")[^"]*')

# Without this style sheet the last frame shows. `lost` is set if the file does not load, as in a notebook that was
# moved without it. `!important` is for the themes of pages, which dim pictures in the dark.
_STYLE = """\
.animation { display: inline-grid; grid-template-columns: auto 1fr; gap: 0.3em 0.5em; max-width: 100%;
  box-sizing: border-box; padding: 0.4rem; border-radius: 0.4rem; background: #fff; color: #222; color-scheme: light;
  text-align: left; }
.animation img { grid-area: 1 / 1 / 2 / 3; max-width: 100%; height: auto; background: #fff; filter: none !important; }
.animation :is(input, label) { display: none; grid-row: 2; margin: 0; font-size: 0.9em; line-height: 1.5; }
.animation input:focus-visible { outline: 3px solid #0072b2; outline-offset: 2px; }
.animation .play { display: none; }
@media screen {
  .animation:not(.lost) :is(input, label) { display: block; }
}
@media screen and (prefers-reduced-motion: no-preference) {
  .animation:not(.lost) input:not(:checked) ~ .moving { display: block !important; }
  .animation:not(.lost) input:not(:checked) ~ .still { display: none; }
}
@media screen and (prefers-reduced-motion: reduce) {
  .animation:not(.lost) input:checked ~ .moving { display: block !important; }
  .animation:not(.lost) input:checked ~ .still { display: none; }
  .animation .play { display: inline; }
  .animation .stop { display: none; }
}
"""


def images(fig, draw: Callable[[object], object], frames: Sequence, dpi: int) -> list:
    """The figure after each `draw(frame)`, as RGB pictures of one size in the layout of the last frame."""
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas = FigureCanvasAgg(fig)
    fig.set_dpi(dpi)
    draw(frames[-1])
    canvas.draw()
    fig.set_layout_engine("none")  # labels that change must not move the axes
    pictures = []
    for frame in frames:
        draw(frame)
        canvas.draw()
        pictures.append(Image.fromarray(np.asarray(canvas.buffer_rgba()).copy()).convert("RGB"))
    return pictures


def still_png(image, dpi: int) -> bytes:
    """A frame as PNG, without a date or a version."""
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", dpi=(dpi, dpi))
    return small_png(buffer.getvalue())


def looping_webp(frames: list, rate: float, hold: float) -> bytes:
    """A lossless looping animation, with `hold` more seconds for the last frame; raises BookError without WebP."""
    from PIL import features

    if not features.check("webp"):
        raise BookError("animation: pillow was built without WebP; install the wheel of the package index")
    shown = [round(1000 / rate)] * len(frames)
    shown[-1] += round(1000 * hold)
    buffer = io.BytesIO()
    # of few colours and sharp lines: smaller without loss than with it, and a third of an animated PNG
    options = {"lossless": True, "quality": 80, "method": 4, "loop": 0}
    frames[0].save(buffer, format="WEBP", save_all=True, append_images=frames[1:], duration=shown, **options)
    return buffer.getvalue()


def make(fig, draw, frames, name: str, alt: str, *, rate: float, hold: float, dpi: int) -> tuple[bytes, bytes]:
    """(last frame as PNG, animation as WebP); raises BookError for invalid arguments and more than 1 MB."""
    frames = list(frames)
    if not _NAME.fullmatch(name):
        raise BookError(f"animation {name!r}: a name is of small letters, digits and single hyphens")
    if not alt.strip():
        raise BookError(f"animation {name}: alt must say what moves and how it ends, got {alt!r}")
    if len(frames) < 2 or not rate > 0 or not hold >= 0:
        got = f"{len(frames)} frames, rate={rate}, hold={hold}"
        raise BookError(f"animation {name}: needs at least 2 frames, rate > 0 and hold ≥ 0, got {got}")
    pictures = images(fig, draw, frames, dpi)
    moving = looping_webp(pictures, rate, hold)
    if len(moving) > LARGEST:
        size = f"{len(moving) / 2**20:.1f} MB of {len(frames)} frames"
        raise BookError(f"animation {name}: at most 1 MB, got {size}; take fewer frames, fewer points or a lower dpi")
    return still_png(pictures[-1], dpi), moving


def place(name: str, moving: bytes) -> str:
    """Write an animation into the run's folder and return its address; without such a folder, a data URL."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return _data(moving)
    path = Path(folder) / f"{name}.webp"
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, moving)
    return f"{FOLDER}/{path.parent.name}/{path.name}"


def store(source: Path, folder: Path) -> None:
    """Copy the animations of a finished run into the folder of the committed ones."""
    for path in sorted(source.glob("*.webp")):
        folder.mkdir(parents=True, exist_ok=True)
        atomic_write(folder / path.name, path.read_bytes())


def remove_others(folder: Path, names: Iterable[str]) -> None:
    """Remove committed animations other than `names`, and the folder if it is then empty."""
    for path in folder.glob("*.webp"):
        if path.stem not in names:
            path.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _data(moving: bytes) -> str:
    return f"data:image/webp;base64,{base64.b64encode(moving).decode('ascii')}"


def bundle(name: str, still: bytes, address: str, alt: str) -> dict[str, str]:
    """The output as HTML, as the last frame in PNG, and as alternative text, by MIME type.

    The HTML has both pictures; CSS selects one by the reader's preference and the checkbox.
    """
    text, box = html.escape(alt), f"animation-{name}"
    picture, width = base64.b64encode(still).decode("ascii"), size_on_page(still)[0]
    element = (
        f'<style>\n{_STYLE}</style>\n<div class="animation">\n<input type="checkbox" id="{box}">\n'
        f'<img class="moving" src="{address}" alt="{text}" width="{width}" loading="lazy" style="display: none"'
        " onerror=\"this.parentNode.classList.add('lost')\">\n"
        f'<img class="still" src="data:image/png;base64,{picture}" alt="{text}" width="{width}">\n'
        f'<label for="{box}"><span class="stop">Stop and show the end</span><span class="play">Play</span></label>\n'
        "</div>"
    )
    return {"text/html": element, "image/png": picture, "text/plain": _PLAIN.format(name=name, alt=alt)}


def moving(notebook) -> Iterator[tuple[dict, str, str]]:
    """(data, name, address) of each animation of an executed notebook."""
    for output in (o for cell in notebook.cells for o in cell.get("outputs", [])):
        data, name = output.get("data", {}), output.get("metadata", {}).get("scrapbook", {}).get("name", "")
        address = _SOURCE.search(data.get("text/html", ""))
        if address and data.get("text/plain", "").startswith(_PLAIN.format(name=name, alt="")):
            yield data, name, address[0]


def refresh(notebook) -> list[str]:
    """Rewrite, in place, the HTML of each animation in an executed notebook; returns the names that changed."""
    changed = []
    for data, name, address in moving(notebook):
        alt = data["text/plain"].removeprefix(_PLAIN.format(name=name, alt=""))
        now = bundle(name, base64.b64decode(data["image/png"]), address, alt)
        changed += [name] if now["text/html"] != data["text/html"] else []
        data |= now
    return changed


def take_in(notebook, folder: Path) -> None:
    """Embed the animations beside a notebook as data URLs, in place; without its file, one shows its last frame."""
    for data, _, address in moving(notebook):
        if not address.startswith("data:") and (folder / address).is_file():
            content = (folder / address).read_bytes()
            data["text/html"] = _SOURCE.sub(_data(content), data["text/html"], count=1)
