"""The live picture "circle" in a browser: it comes alive, its controls change it, and the console stays silent."""

import pytest
from live_page import SKIP, live_file, slide

TITLE, RESULT = (f"document.querySelector('.explorable .stage .{part}').textContent" for part in ("title", "result"))
VOTE, FILTERS = 2, 3  # sliders
CURVE = "document.querySelector('.explorable .curve path[stroke-width=\"2.6\"]').getAttribute('d')"


@pytest.fixture
def file(tmp_path):
    return live_file(tmp_path, "circle")


def test_the_sliders_change_the_hills(page, file):
    page.open(file, prefers_reduced_motion="reduce")
    page.run(SKIP)
    relu = page.run(CURVE)
    assert page.run(TITLE) == "9 hills for a ReLU filter, 2 for a linear one"
    assert page.run(slide(0, 0)) and page.run(TITLE) == "2 hills for a linear filter"
    assert page.run(CURVE) != relu
    assert page.run(slide(0, 1)) and page.run(CURVE) == relu
    assert page.run(slide(1, 0.3)) and page.run(TITLE).startswith("3 hills")
    assert page.run(slide(1, 0)) and page.run(slide(FILTERS, 64)) and "64 filters found 9 of them" in page.run(RESULT)
    assert page.complaints == []


def test_sliders_and_points_have_names(page, file):
    page.open(file, prefers_reduced_motion="reduce")
    page.run(SKIP)
    names = "[...document.querySelectorAll('.explorable :is(input[type=range], [role=slider])')].map(e => e.ariaLabel)"
    assert page.run(f"{names}.slice(-4)") == [
        "linear to ReLU",
        "spread",
        "vote for a point",
        "filters",
    ]
    assert page.run(f"{names}.every(name => name)") is True


def test_filters_climb_until_all_have_arrived(page, file):
    page.open(file)
    page.run(SKIP)
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
    page.run(SKIP)
    assert "still climbing" not in page.run(RESULT)


def test_the_keyboard_moves_sliders_and_points(page, file):
    page.open(file, prefers_reduced_motion="reduce")
    page.run(SKIP)
    page.run("document.querySelector('.explorable input').focus()")
    page.press("Home")
    assert page.run(TITLE) == "2 hills for a linear filter"
    page.press("End")
    point = "document.querySelectorAll('.explorable [role=slider]')[4]"
    page.run(f"{point}.focus()")
    before = page.run(CURVE)
    page.press("ArrowLeft")
    assert page.run(f"{point}.getAttribute('aria-valuenow')") == "1" and page.run(CURVE) != before
    assert page.run("document.querySelector('.explorable .ring .gate').getAttribute('visibility')") == "visible"
    assert page.complaints == []


def test_the_pointer_drags_a_point(page, file):
    page.open(file, prefers_reduced_motion="reduce")
    page.run(SKIP)
    point = "document.querySelectorAll('.explorable [role=slider]')[4].lastChild.getBoundingClientRect()"
    x, y, middle = page.run(f"(() => {{ const b = {point}; return [b.x + 5, b.y + 5, innerWidth]; }})()")
    before = page.run(CURVE)
    page.drag((x, y), (x, y - 60))
    now = int(page.run("document.querySelectorAll('.explorable [role=slider]')[4].getAttribute('aria-valuenow')"))
    assert 20 < now < 50 and page.run(CURVE) != before and page.complaints == []


FILTER = "document.querySelectorAll('.explorable .ring g[aria-label^=filter]')"
READING = "document.querySelector('.explorable .outputs text').textContent"
HALF = "document.querySelector('.explorable .half').getAttribute('visibility')"
INKED = "c => c.getAttribute('fill') === 'var(--ink)'"
OPEN = f"[...document.querySelectorAll('.explorable g[aria-label^=data] :last-child')].filter({INKED}).length"


def height(page) -> float:
    """Of the picked filter on the curve, as the largest energy's share, by the mark's place between 1 and the base."""
    low = float(page.run("document.querySelector('.curve .base').textContent"))
    y = float(page.run("document.querySelector('.curve .here').getAttribute('cy')"))
    return low + (1 - low) * (208 - y) / (208 - 46)


def test_the_pointer_drags_a_filter_and_lets_it_climb(page, file):
    page.open(file)
    page.run(SKIP)
    page.until(f"!/still climbing/.test({RESULT})")
    assert page.run(HALF) == "hidden" and page.run(OPEN) == 9
    x, y = page.run(f"(b => [b.x + b.width / 2, b.y + b.height / 2])({FILTER}[0].lastChild.getBoundingClientRect())")
    ring = "document.querySelector('.ring').getBoundingClientRect()"
    middle = page.run(f"(b => [b.x + b.width / 2, b.y + b.height * 135 / 286])({ring})")
    for kind, place in (("mousePressed", (x, y)), ("mouseMoved", (middle[0] + 100, middle[1] - 20))):
        page.send("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", buttons=1, clickCount=1)
    assert page.run(HALF) == "visible" and page.run(OPEN) == 5
    held = page.run(READING)
    assert held.startswith("variance of its outputs") and page.run("document.activeElement.ariaValueNow") == "11"
    page.send(
        "Input.dispatchMouseEvent",
        type="mouseReleased",
        x=middle[0] + 100,
        y=middle[1] - 20,
        button="left",
        clickCount=1,
    )
    page.until(f"!/still climbing/.test({RESULT}) && {READING} !== {held!r}")
    assert page.run(HALF) == "visible" and page.complaints == []


def test_the_keyboard_turns_a_filter_and_the_height_is_its_variance(page, file):
    page.open(file, prefers_reduced_motion="reduce")
    page.run(SKIP)
    page.run(f"{FILTER}[0].focus()")
    before, angle = page.run(READING), page.run(f"{FILTER}[0].ariaValueNow")
    for _ in range(9):
        page.press("ArrowLeft")
    assert int(page.run(f"{FILTER}[0].ariaValueNow")) - int(angle) in (9, -351) and page.run(READING) != before
    share = float(page.run(READING).split(", ")[1].split()[0])
    assert share == pytest.approx(height(page), abs=0.006)
    page.press("Enter")
    assert page.run(READING) == before and "still climbing" not in page.run(RESULT)
    page.press("ArrowUp")
    assert page.run("document.activeElement.ariaLabel").startswith("filter 2 of 8")
    page.press("Escape")
    assert page.run(HALF) == "hidden" and page.run(READING).startswith("Drag a filter")
    assert page.complaints == []


def test_every_gate_has_its_tick_while_gates_are_sharp(page, file):
    page.open(file, prefers_reduced_motion="reduce")
    page.run(SKIP)
    ticks = "document.querySelector('.explorable .ticks').getAttribute('d').split('M').length - 1"
    assert page.run(ticks) == 18
    assert page.run(slide(1, 0.3)) and page.run(ticks) == 0
    assert page.run(slide(1, 0)) and page.run(slide(0, 0)) and page.run(ticks) == 0


def test_a_vote_raises_the_hill_of_the_point_that_is_held(page, file):
    page.open(file, prefers_reduced_motion="reduce")
    page.run(SKIP)
    assert page.run(slide(VOTE, 0.3))
    assert page.run(TITLE) == "4 hills for a ReLU filter: 39 % of all starts climb the green one, 14 % without the vote"
    green = "[...document.querySelectorAll('.curve rect')].filter(r => r.getAttribute('fill') === 'var(--vote)').length"
    assert page.run(green) == 1
    page.run("document.querySelectorAll('.explorable [role=slider]')[6].focus()")
    assert page.run(TITLE).startswith("6 hills") and "41 % of all starts" in page.run(TITLE)
    assert page.run(slide(VOTE, 0)) and page.run(TITLE) == "9 hills for a ReLU filter, 2 for a linear one"


def test_a_scene_holds_a_filter_at_its_angle(page, file):
    page.open(file)
    page.run("location.hash = 'circle:leak=0.4&filter=3&at=-20&vote=0.2&token=2'")
    page.until(f"{HALF} === 'visible'")
    assert page.run(f"{FILTER}[2].ariaValueNow") == "-20"
    page.until(f"!/still climbing/.test({RESULT})")
    assert page.run(f"{FILTER}[2].ariaValueNow") == "-20"
    page.run("[...document.querySelectorAll('button')].find(b => b.textContent === 'Let it climb').click()")
    page.until(f"!/still climbing/.test({RESULT}) && {FILTER}[2].ariaValueNow !== '-20'")


def test_a_moved_point_is_in_the_address(page, file):
    page.open(file, prefers_reduced_motion="reduce")
    page.run(SKIP)
    point = "document.querySelectorAll('.explorable [role=slider]')[6]"
    nine = page.run(TITLE)
    page.run(f"{point}.focus()")
    page.run(f"{point}.dispatchEvent(new KeyboardEvent('keydown', {{key: 'ArrowRight', bubbles: true}}))")
    moved = page.run(f"{point}.ariaValueNow")
    page.until("/point[a-i]=/.test(location.hash)")
    title, address = page.run(TITLE), page.run("location.hash")
    page.run("location.hash = 'circle:token=1'")
    page.until(f"{TITLE} === {nine!r}")
    page.run(f"location.hash = {address!r}")
    page.until(f"{point}.ariaValueNow === {moved!r}")
    assert page.run(TITLE) == title
