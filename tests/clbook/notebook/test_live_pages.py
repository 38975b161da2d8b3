"""What every live picture does in a browser: print, no scripts, a failure, narrow windows, the dark scheme."""

import pytest
from live_page import NAMES, live_file


@pytest.fixture(params=NAMES)
def file(request, tmp_path):
    return live_file(tmp_path, request.param)


def display(page, selector: str) -> str:
    return page.run(f"getComputedStyle(document.querySelector('{selector}')).display")


def test_it_finds_the_pictures():
    assert {"circle", "clouds"} <= set(NAMES)


def test_print_shows_the_still_picture_and_a_screen_the_live_one(page, file):
    page.open(file, prefers_reduced_motion="reduce")
    assert (display(page, ".explorable .still"), display(page, ".explorable .board")) == ("none", "block")
    page.send("Emulation.setEmulatedMedia", media="print")
    assert (display(page, ".explorable .still"), display(page, ".explorable .board")) == ("block", "none")
    page.send("Emulation.setEmulatedMedia", media="")


def test_without_scripts_the_still_picture_stays(page, file):
    page.send("Emulation.setScriptExecutionDisabled", value=True)
    page.open(file)
    page.send("Emulation.setScriptExecutionDisabled", value=False)
    assert display(page, ".explorable .still") == "block"
    assert page.run("document.querySelector('.explorable .board')") is None


def test_a_picture_that_fails_stays_still_and_says_so(page, file):
    broken = file.read_text(encoding="utf-8").replace("function draw(board) {", "function draw(board) { no();")
    file.write_text(broken, encoding="utf-8")
    page.open(file)
    assert display(page, ".explorable .still") == "block"
    assert "no is not defined" in page.complaints.pop() and page.complaints == []


@pytest.mark.parametrize("width", [1300, 400])
def test_nothing_is_wider_than_the_window(page, file, width):
    page.open(file, width, prefers_reduced_motion="reduce")
    assert page.run("document.documentElement.scrollWidth") <= width


def test_the_dark_scheme_has_its_own_colours(page, file):
    style = "getComputedStyle(document.querySelector('.explorable'))"
    page.open(file, prefers_color_scheme="light")
    light = page.run(f"[{style}.backgroundColor, {style}.color]")
    page.open(file, prefers_color_scheme="dark")
    dark = page.run(f"[{style}.backgroundColor, {style}.color]")
    assert light == ["rgb(255, 255, 255)", "rgb(34, 34, 34)"] and dark == ["rgb(27, 31, 38)", "rgb(230, 230, 230)"]
