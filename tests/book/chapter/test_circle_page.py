"""The live picture "circle" in a browser: it comes alive, its controls change it, and the console stays silent."""

import base64

import pytest
from browser import browser, written
from checkout import ROOT

from contrastive_dynamics.book.chapter.explorables import live_html

PIXEL = base64.b64encode(
    base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAG7buVgAAAABJRU5ErkJggg==")
).decode()
TITLE, RESULT = (f"document.querySelector('.explorable .{part}').textContent" for part in ("title", "result"))
CURVE = "document.querySelector('.explorable .curve path[stroke-width=\"2.6\"]').getAttribute('d')"


@pytest.fixture(scope="module")
def page():
    with browser() as found:
        yield found


@pytest.fixture
def file(tmp_path):
    shown = live_html("circle", PIXEL, "The still picture", ROOT)
    return written(tmp_path, shown)


def slide(number: int, value: float) -> str:
    """A script that moves a slider as a reader does."""
    found = f"document.querySelectorAll('.explorable input')[{number}]"
    return f"{found}.value = {value}; {found}.dispatchEvent(new Event('input')); true"


def display(page, selector: str) -> str:
    return page.run(f"getComputedStyle(document.querySelector('{selector}')).display")


def test_the_sliders_change_the_hills(page, file):
    page.open(file, prefers_reduced_motion="reduce")
    relu = page.run(CURVE)
    assert page.run(TITLE) == "9 hills for a ReLU filter, 2 for a linear one"
    assert page.run(slide(0, 0)) and page.run(TITLE) == "2 hills for a linear filter"
    assert page.run(CURVE) != relu
    assert page.run(slide(0, 1)) and page.run(CURVE) == relu
    assert page.run(slide(1, 0.3)) and page.run(TITLE).startswith("3 hills")
    assert page.run(slide(1, 0)) and page.run(slide(2, 64)) and "64 filters found 9 of them" in page.run(RESULT)
    assert page.complaints == []


def test_filters_climb_until_all_have_arrived(page, file):
    page.open(file)
    seen = page.until(f"/still climbing/.test({RESULT}) && {RESULT}")
    assert seen.startswith("8 filters found")
    end = page.until(f"!/still climbing/.test({RESULT}) && {RESULT}")
    assert "(expected 4.8)" in end and "found 0" not in end
    parked = (
        "[...document.querySelectorAll('.explorable .curve circle')].every(c => c.getAttribute('stroke') !== 'none')"
    )
    assert page.run(parked) and page.complaints == []


def test_reduced_motion_shows_the_end_at_once(page, file):
    page.open(file, prefers_reduced_motion="reduce")
    assert "still climbing" not in page.run(RESULT)


def test_the_keyboard_moves_sliders_and_points(page, file):
    page.open(file, prefers_reduced_motion="reduce")
    page.run("document.querySelector('.explorable input').focus()")
    page.press("Home")
    assert page.run(TITLE) == "2 hills for a linear filter"
    page.press("End")
    point = "document.querySelectorAll('.explorable [role=slider]')[4]"
    page.run(f"{point}.focus()")
    before = page.run(CURVE)
    page.press("ArrowLeft")
    assert page.run(f"{point}.getAttribute('aria-valuenow')") == "1" and page.run(CURVE) != before
    assert page.run("document.querySelector('.explorable .ring line').getAttribute('visibility')") == "visible"
    assert page.complaints == []


def test_the_pointer_drags_a_point(page, file):
    page.open(file, prefers_reduced_motion="reduce")
    point = "document.querySelectorAll('.explorable [role=slider]')[4].lastChild.getBoundingClientRect()"
    x, y, middle = page.run(f"(() => {{ const b = {point}; return [b.x + 5, b.y + 5, innerWidth]; }})()")
    before = page.run(CURVE)
    page.drag((x, y), (x, y - 60))
    now = int(page.run("document.querySelectorAll('.explorable [role=slider]')[4].getAttribute('aria-valuenow')"))
    assert 20 < now < 50 and page.run(CURVE) != before and page.complaints == []


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
    file.write_text(file.read_text(encoding="utf-8").replace("function draw(board) {", "function draw(board) { no();"))
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
