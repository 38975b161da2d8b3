"""Pages that hold one live picture each, and what a reader does to it."""

from pathlib import Path

from browser import written
from checkout import ROOT

from clbook.notebook.explorables import live_html

NAMES = sorted(p.name.removesuffix(".math.js") for p in (ROOT / "book/_static/explorables").glob("*.math.js"))
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAG7buVgAAAABJRU5ErkJggg=="


def live_file(folder: Path, name: str) -> Path:
    """A page with nothing but this picture."""
    return written(folder, live_html(name, PIXEL, "The still picture", ROOT))


def slide(number: int, value: float) -> str:
    """A script that moves a slider, by its number on the page, as a reader does."""
    found = f"document.querySelectorAll('.explorable input')[{number}]"
    return f"{found}.value = {value}; {found}.dispatchEvent(new Event('input')); true"


SCENES = {  # a scene of each picture that is not the usual one
    "arrows": {"tau": 4, "d": 50},
    "circle": {"leak": 0.4, "vote": 0.2},
    "clouds": {"t": 6, "nu": 2.5},
    "masks": {"both": 40, "noise": 2},
    "overgrown": {"step": 40, "noise": 2},
    "vessel": {"tau": 3, "private": 5},
}


def hash_of(name: str) -> str:
    """The address of that scene."""
    return f"#{name}:" + "&".join(f"{key}={value}" for key, value in SCENES[name].items())


def to_the_least(among: str) -> str:
    """A script that moves all sliders of an element to their least."""
    found = f"document.querySelectorAll('{among} input[type=range]')"
    return f"{found}.forEach(i => (i.value = i.min, i.dispatchEvent(new Event('input')))); true"


SKIP = "document.querySelector('.answers .plain').click(); true"
