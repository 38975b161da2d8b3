"""Pictures are drawn in matplotlib's own letters, and in the book's style alone, on every machine."""

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import import_path

from clbook.common.fonts import OWN, missing_fonts
from clbook.notebook import colours

matplotlib = pytest.importorskip("matplotlib")
from matplotlib import font_manager  # noqa: E402

DRAWN = """
import hashlib, matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
from clbook.notebook import colours
from clbook.notebook.glue import png
colours.use_style()
fig, ax = plt.subplots(figsize=(2, 1))
ax.set_title(r"Letters and $\\sum_i x_i \\in A$")
print(hashlib.sha256(png(fig)).hexdigest())
"""


def drawn(settings: Path) -> str:
    """The sum of a picture that a process draws with these settings of matplotlib; it says nothing on stderr."""
    environment = os.environ | {"PYTHONPATH": import_path(), "MPLCONFIGDIR": str(settings)}
    done = subprocess.run([sys.executable, "-c", DRAWN], capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and "clbook" not in done.stderr, done.stderr
    return done.stdout


@pytest.fixture
def settings(tmp_path):
    """Settings with the list of fonts of this process, but for matplotlib's own if `broken`."""

    def made(name: str, broken: bool = False, rc: str = "") -> Path:
        folder, fonts = tmp_path / name, copy.copy(font_manager.fontManager)
        folder.mkdir()
        if broken:
            own = matplotlib.get_data_path()
            fonts.ttflist = [font for font in fonts.ttflist if not font.fname.startswith(own)]
        font_manager.json_dump(fonts, folder / f"fontlist-v{font_manager.FontManager.__version__}.json")
        (folder / "matplotlibrc").write_text(rc)
        return folder

    return made


def test_a_list_without_matplotlib_s_own_fonts_is_made_anew(settings):
    broken = settings("broken", broken=True)
    (kept,) = broken.glob("fontlist-*.json")
    assert {font["name"] for font in json.loads(kept.read_text())["ttflist"]} < set(font_manager.get_font_names())
    assert drawn(broken) == drawn(settings("whole"))
    assert not kept.exists()  # the next process makes one


def test_a_user_s_settings_of_matplotlib_are_not_the_book_s(settings):
    other = settings("other", rc="font.family: serif\nmathtext.fontset: cm\naxes.grid: True\nsavefig.pad_inches: 0.5\n")
    assert drawn(other) == drawn(settings("none"))


def test_fonts_that_are_not_there_are_one_line(monkeypatch, tmp_path, capsys):
    assert missing_fonts() == []
    monkeypatch.setattr(matplotlib, "get_data_path", lambda: str(tmp_path))
    monkeypatch.setattr(matplotlib, "get_cachedir", lambda: str(tmp_path))

    def not_found(name: str, **options):
        raise ValueError(name)

    monkeypatch.setattr(font_manager, "findfont", not_found)
    with matplotlib.rc_context():
        colours.use_style()
    assert (
        capsys.readouterr().err == f"clbook: matplotlib lacks its fonts {', '.join(OWN)}: pictures have other letters\n"
    )
