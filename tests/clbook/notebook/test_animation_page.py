"""An animation in a browser: it plays, stops by keyboard, and stays still for those who prefer that and in print."""

import matplotlib
import pytest
from browser import written

from clbook.notebook import animations

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

_SEEN = "[...document.querySelectorAll('.animation {}')].filter((e) => e.offsetWidth).map((e) => e.{}).join()"
SHOWN, SAID = _SEEN.format("img", "className"), _SEEN.format("span", "textContent")


@pytest.fixture
def file(tmp_path):
    fig, ax = plt.subplots(figsize=(2, 1))
    made = {"rate": 10.0, "hold": 1.0, "dpi": 40}
    still, moving = animations.make(fig, lambda k: ax.plot([0, k]), range(3), "walk", "A line grows.", **made)
    plt.close(fig)
    (tmp_path / "animations" / "x").mkdir(parents=True)
    (tmp_path / "animations" / "x" / "walk.webp").write_bytes(moving)
    shown = animations.bundle("walk", still, "animations/x/walk.webp", "A line grows.")["text/html"]
    return written(tmp_path, shown)


def toggle(page) -> None:
    page.run("document.querySelector('.animation input').focus(); true")
    page.press(" ")


def test_it_plays_and_a_key_stops_it(page, file):
    page.open(file, prefers_reduced_motion="no-preference")
    page.until("document.querySelector('.moving').naturalWidth === 80")
    assert (page.run(SHOWN), page.run(SAID)) == ("moving", "Stop and show the end")
    toggle(page)
    assert page.run(SHOWN) == "still"
    toggle(page)
    assert page.run(SHOWN) == "moving" and page.complaints == []


def test_it_stays_still_for_readers_who_prefer_that_until_they_play_it(page, file):
    page.open(file, prefers_reduced_motion="reduce")
    assert (page.run(SHOWN), page.run(SAID)) == ("still", "Play")
    toggle(page)
    assert page.run(SHOWN) == "moving" and page.complaints == []


def test_print_has_the_last_frame_and_no_checkbox(page, file):
    page.open(file)
    page.send("Emulation.setEmulatedMedia", media="print")
    assert page.run(SHOWN) == "still" and page.run(SAID) == ""
    page.send("Emulation.setEmulatedMedia", media="")


def test_without_its_file_the_last_frame_shows(page, file):
    (file.parent / "animations" / "x" / "walk.webp").unlink()
    page.open(file)
    page.until(f"{SHOWN} === 'still'")
    assert page.run(SAID) == ""
