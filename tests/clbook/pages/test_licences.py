"""The pages, and the zip file of `make dist`, hold the licences of what they ship of others."""

from pathlib import Path

import pytest
from checkout import ROOT

HELD = ROOT / "book" / "_static" / "licences"
TITLES = {"Apache-2.0.txt": "Apache License", "OFL-1.1.txt": "SIL OPEN FONT LICENSE", "MIT.txt": "MIT License"}


def test_every_licence_that_is_named_is_there():
    named = (HELD / "README.txt").read_text(encoding="utf-8")
    assert {path.name for path in HELD.iterdir()} == {*TITLES, "README.txt"}
    for name, title in TITLES.items():
        assert name in named and title in (HELD / name).read_text(encoding="utf-8")[:400]


def test_fonts_and_scripts_of_the_theme_are_named():
    theme = pytest.importorskip("pydata_sphinx_theme")
    static = Path(theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
    found = [f"vendor/{folder.name}" for folder in (static / "vendor").iterdir()]
    found += [f"scripts/{path.name.removesuffix('.LICENSE.txt')}" for path in static.glob("scripts/*.LICENSE.txt")]
    named = (HELD / "README.txt").read_text(encoding="utf-8")
    assert found and not [place for place in [*found, "mathjax"] if f"_static/{place}" not in named]


def test_built_pages_hold_them():
    built = ROOT / "_build" / "html" / "_static"
    if not (built / "mathjax").is_dir():
        pytest.skip("the pages are not built")
    assert {path.name for path in (built / "licences").iterdir()} == {*TITLES, "README.txt"}
