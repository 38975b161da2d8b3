"""The live picture "circle" in a browser: it comes alive, its controls change it, and the console stays silent."""

import pytest
from live_page import SKIP, live_file, slide

TITLE, RESULT = (f"document.querySelector('.explorable .stage .{part}').textContent" for part in ("title", "result"))
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
    assert page.run(slide(1, 0)) and page.run(slide(2, 64)) and "64 filters found 9 of them" in page.run(RESULT)
    assert page.complaints == []


def test_sliders_and_points_have_names(page, file):
    page.open(file, prefers_reduced_motion="reduce")
    page.run(SKIP)
    names = "[...document.querySelectorAll('.explorable :is(input[type=range], [role=slider])')].map(e => e.ariaLabel)"
    assert page.run(f"{names}.slice(-3)") == ["linear to ReLU", "spread of each point", "filters"]
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
    assert page.run("document.querySelector('.explorable .ring line').getAttribute('visibility')") == "visible"
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
