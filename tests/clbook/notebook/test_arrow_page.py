"""The live picture "arrows" in a browser: it plays, its switch and sliders change it, and the console stays silent."""

import re

import pytest
from live_page import SKIP, live_file, slide

TITLE, RESULT = (f"document.querySelector('.explorable .stage .{part}').textContent" for part in ("title", "result"))
DIAL = "[...document.querySelectorAll('.dial text')].slice(-2).map(t => t.textContent)"
TIME, TAU, SIZE, SPREAD = 0, 2, 3, 4  # inputs; the switch is the second
SWITCH = "document.querySelector('.switch input')"
SCENE = "explorables.live.arrows[0].read()"


@pytest.fixture
def still(page, tmp_path):
    """The page as a reader sees it who prefers reduced motion."""
    page.open(live_file(tmp_path, "arrows"), prefers_reduced_motion="reduce")
    page.run(SKIP)
    yield page
    assert page.complaints == []


def lengths(page) -> list[float]:
    """Of the image arrows; the caption arrows are as long."""
    top = "p => -p.getAttribute('d').split(',').pop().slice(0, -1)"
    found = page.run(f"[...document.querySelectorAll('.signals .arm .head')].map({top})")
    assert found[::2] == found[1::2] and len(found) == 8
    return found[::2]


def angles(page) -> list[float]:
    """Between the arrows of each signal, in degrees."""
    turns = page.run(
        "[...document.querySelectorAll('.signals g.arm[transform]')].map(g => g.getAttribute('transform'))"
    )
    half = [float(re.search(r"rotate\((.*)\)", turn)[1]) for turn in turns]
    return [right - left for left, right in zip(half[::2], half[1::2], strict=True)]


def shown(page) -> list[str]:
    """The shares below the arrows."""
    return page.run(
        "[...document.querySelectorAll('.signals .name')].map(t => t.textContent).filter(t => t.endsWith('%'))"
    )


def throw(page) -> None:
    page.run(f"{SWITCH}.click()")


def test_the_first_answer_plays_to_alignment_without_balance(still):
    assert still.run(f"{SCENE}.t") == 3 and shown(still) == ["95 %", "4.5 %", "0.6 %", "0.1 %"]
    assert still.run(TITLE) == "Aligned, but not balanced: signal 1 is 95 % of all signal"
    assert still.run(RESULT).startswith("least agreement of image and caption 99.9 % · noise 5.7 %")
    assert max(angles(still)) < 4 and still.run(DIAL) == ["29.7", "1: all equally long"]


def test_arrows_start_at_right_angles_and_in_proportion(still):
    still.run(slide(TIME, 0))
    assert angles(still) == pytest.approx([90] * 4, abs=0.05)
    assert [length / lengths(still)[-1] for length in lengths(still)] == pytest.approx([2, 1.6, 1.3, 1], abs=0.01)
    assert still.run(TITLE).startswith("Noise fills 99 % of the output")


def test_the_switch_levels_the_arrows_and_leaves_them_closed(still):
    throw(still)
    assert still.run(f"{SCENE}.on") == 3 and still.run(f"{SCENE}.t") > 13
    assert lengths(still) == pytest.approx([64] * 4, abs=0.3) and max(angles(still)) < 0.1
    assert still.run(DIAL) == ["1.00", "balanced from time 13.7 on"]
    assert still.run(TITLE) == "Aligned and balanced: four signals, equally long"
    still.run(slide(TIME, 353))
    forces = still.run("[...document.querySelectorAll('.force .head')].map(p => p.getAttribute('d'))")
    assert forces[::2] == forces[1::2]  # pull and push


def test_off_again_nothing_moves_and_on_again_takes_it_back(still):
    throw(still)
    before = lengths(still)
    throw(still)
    assert still.run(f"{SCENE}.off") > 13 and lengths(still) == pytest.approx(before, abs=0.3)
    assert still.run(TITLE).startswith("Negatives off")
    still.run(slide(TIME, 353))
    throw(still)
    assert still.run(f"{SCENE}.off") == -1 and still.run(f"{SCENE}.on") == 3


def test_the_switch_follows_the_time(still):
    throw(still)
    still.run(slide(TIME, 100))
    assert not still.run(f"{SWITCH}.checked")
    throw(still)  # earlier than before: another film
    assert still.run(f"{SCENE}.on") < 0.2 and still.run(f"{SWITCH}.checked")


def test_the_temperature_sets_the_time_to_balance(still):
    still.run(slide(TIME, 0))
    throw(still)
    found = {}
    for value in (-1, 2, 4, -3):
        still.run(slide(TAU, value))
        found[2.0**value] = still.run(DIAL)[1]
    assert found == {
        0.5: "balanced from time 28.5 on",
        4: "balanced from time 8.1 on",
        16: "balanced from time 33.4 on",
        0.125: "not balanced by time 100",
    }


def test_more_dimensions_collapse_harder_and_equal_signals_do_not(still):
    still.run(slide(TIME, 353))
    numbers = []
    for value in (0.9, 3, 6, 9):
        still.run(slide(SIZE, value))
        numbers.append(still.run(DIAL)[0])
    assert numbers == ["4.4", "33.6", "460", "6150"]
    still.run(slide(SPREAD, 1))
    assert still.run(DIAL)[0] == "1.00" and still.run(TITLE).startswith("Signals of equal strength")


def test_every_picture_and_control_has_a_name(still):
    pictures = "[...document.querySelectorAll('.explorable svg')]"
    assert still.run(f"{pictures}.filter(e => !e.ariaLabel).length") == 0
    controls = "[...document.querySelectorAll('.explorable input')]"
    assert still.run(f"{controls}.filter(e => !e.ariaLabel && !e.labels.length).length") == 0
    assert "signal 1 89 %" in still.run("document.querySelector('.curve').ariaLabel")


def test_the_keyboard_moves_time_and_switch(still):
    still.run("document.querySelector('.explorable input').focus()")
    still.press("Home")
    assert still.run(f"{SCENE}.t") == 0
    still.press("End")
    assert still.run(f"{SCENE}.t") == 100 and still.run("document.activeElement.ariaValueText") == "100"
    still.run(f"{SWITCH}.focus()")
    still.press(" ")
    assert still.run(f"{SWITCH}.checked") and still.run(f"{SCENE}.on") == 100


def test_the_pointer_drags_the_time(still):
    x, y, width = still.run("(b => [b.x, b.y, b.width])(document.querySelector('.curve').getBoundingClientRect())")
    still.drag((x + 0.3 * width, y + 60), (x + (34 + 150) / 348 * width, y + 60))
    assert still.run(f"{SCENE}.t") == pytest.approx(1, rel=0.1)


def test_it_plays_when_it_is_seen_and_can_be_paused(page, tmp_path):
    page.open(live_file(tmp_path, "arrows"))
    page.run(SKIP)
    time, button = (f"document.querySelector('.explorable .controls {one}')" for one in ("input", "button"))
    page.until(f"+{time}.value > 10 && {button}.textContent === 'Pause'")
    page.run(f"{button}.click()")
    paused = page.run(f"+{time}.value")
    assert page.run(f"{button}.textContent") == "Play" and paused < 353
    page.run("new Promise(done => setTimeout(done, 200))")
    assert page.run(f"+{time}.value") == paused
    throw(page)
    page.until(f"{button}.textContent === 'Play' && {TITLE} === 'Aligned and balanced: four signals, equally long'")
    assert page.complaints == []


def test_a_link_of_the_prose_sets_the_scene_each_time(still):
    still.run("""document.body.insertAdjacentHTML('beforeend', '<a href="#arrows:t=20&on=3">x</a>')""")
    link, balanced = (
        "document.querySelector('a').click()",
        f"{TITLE} === 'Aligned and balanced: four signals, equally long'",
    )
    still.run(link)
    assert still.until(balanced) and still.run(f"{SCENE}.on") == 3
    assert still.run(slide(TIME, 100)) and not still.run(balanced)
    still.run(link)
    assert still.until(balanced)
