"""What every live picture does in a browser: print, no scripts, a failure, narrow windows, the dark scheme."""

import json

import pytest
from live_page import NAMES, SKIP, live_file


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
    broken = file.read_text(encoding="utf-8").replace(
        "function draw(board, changed) {", "function draw(board, changed) { no();"
    )
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


def test_it_asks_before_it_moves_and_counts_the_guess(page, file):
    page.open(file)
    page.run("localStorage.clear()")
    assert page.run("document.querySelector('.stage').inert") is True
    assert page.run("document.querySelector('.ask .title').textContent").endswith("?")
    page.run("document.querySelector('.answers button').click()")
    assert page.run("document.querySelector('.tally').textContent") == "Your first guesses: 0 of 1 right"
    assert page.run("document.querySelector('.stage').inert") is False


def test_a_step_of_the_tour_is_in_the_address_and_an_anchor_is_left_alone(page, file):
    page.open(file, prefers_reduced_motion="reduce")
    page.run("location.hash = 'an-anchor'")
    page.run(SKIP)
    assert page.run("location.hash") == "#an-anchor"
    state = (
        "JSON.stringify(explorables.lessons[document.querySelector('.explorable').dataset.explorable].tour[1].state)"
    )
    page.run("document.querySelector('.foot button').click(); document.querySelector('.tour button').click()")
    address = page.run("location.hash")
    for key, value in json.loads(page.run(state)).items():
        assert f"{key}={value}" in address
