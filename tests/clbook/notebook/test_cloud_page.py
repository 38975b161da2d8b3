"""The live picture "clouds" in a browser: it plays, its controls change it, and the console stays silent."""

import pytest
from live_page import SKIP, live_file, slide

TITLE = "document.querySelector('.explorable .stage .title').textContent"
TIME, NEGATIVES, SIZE = range(3)
START = "Three rules, one cloud: which of them flatten?"
OUTCOME = "Two clouds flatten to a line, the third does not"


@pytest.fixture
def still(page, tmp_path):
    """The page as a reader sees it who prefers reduced motion."""
    page.open(live_file(tmp_path, "clouds"), prefers_reduced_motion="reduce")
    page.run(SKIP)
    yield page
    assert page.complaints == []


def clouds(page) -> list[str]:
    """What is drawn of each cloud."""
    return page.run("[...document.querySelectorAll('.rules [class^=by-] svg')].map(s => s.lastChild.getAttribute('d'))")


def ranks(page) -> list[float]:
    """The ranks that stand above the clouds."""
    return page.run(
        "[...document.querySelectorAll('.rules [class^=by-] .size')].map(p => +p.textContent.split(/[ ,:]/)[1])"
    )


def click(page, words: str) -> None:
    """Click the button or the box of these words."""
    found = "[...document.querySelectorAll('.explorable :is(button, .choice)')]"
    page.run(f"{found}.find(e => e.textContent.startsWith({words!r})).click()")


def test_reduced_motion_shows_the_outcome_at_time_three(still):
    assert still.run("+document.querySelector('.explorable input').value") == 3
    assert ranks(still) == [1, 1, 1.94] and still.run(TITLE) == OUTCOME
    drawn = clouds(still)
    assert [path.count("M") for path in drawn] == [60] * 3 and len(set(drawn)) == 3


def test_the_time_moves_all_three_clouds(still):
    before = clouds(still)
    assert still.run(slide(TIME, 0)) and still.run(TITLE) == START
    assert ranks(still) == [1.78] * 3
    assert all(a != b for a, b in zip(before, clouds(still), strict=True))


def test_negatives_past_the_turning_point_flatten_the_third_cloud(still):
    lines = "[...document.querySelectorAll('.curve path')].map(p => p.getAttribute('d'))"
    hollow = "[...document.querySelectorAll('.signs circle')].map(c => c.getAttribute('fill') === 'var(--card)')"
    before = still.run(lines)
    assert still.run(hollow) == [False, False]
    assert still.run(slide(NEGATIVES, 4)) and ranks(still) == [1, 1, 1]
    assert still.run(TITLE) == "All three flatten: C has only one negative eigenvalue"
    assert still.run(hollow) == [False, True] and still.run(lines) != before
    label = still.run("document.querySelector('.signs').ariaLabel")
    assert label.endswith("the second is 0.54, positive, given up.")


def test_white_data_do_not_flatten(still):
    click(still, "white")
    assert ranks(still) == [1.78, 1.78, 2] and still.run(TITLE).startswith("White data: nothing flattens")
    assert still.run("document.querySelectorAll('.explorable input')[1].disabled")


def test_a_smaller_start_is_a_wider_network_and_opens_later(still):
    shown = "document.querySelectorAll('.explorable output')[2].textContent"
    assert still.run(shown) == "0.20, as at width 75"
    assert still.run(slide(SIZE, -1.7)) and still.run(shown) == "0.020, as at width 7500"
    assert ranks(still)[2] < 1.1 and "will open" in still.run(TITLE)


def test_another_start_and_another_projection_change_the_clouds(still):
    still.run(slide(TIME, 1))
    first = clouds(still)
    click(still, "project the weights")
    second = clouds(still)
    assert second[:2] == first[:2] and second[2] != first[2]
    click(still, "New start")
    assert all(a != b for a, b in zip(second, clouds(still), strict=True))


def test_every_picture_and_control_has_a_name(still):
    pictures = "[...document.querySelectorAll('.explorable svg:not([aria-hidden])')]"
    assert still.run(f"{pictures}.filter(e => !e.ariaLabel).length") == 0
    controls = "[...document.querySelectorAll('.explorable input')]"
    assert still.run(f"{controls}.filter(e => !e.ariaLabel && !e.labels.length).length") == 0


def test_the_keyboard_moves_time_and_boxes(still):
    still.run("document.querySelector('.explorable input').focus()")
    still.press("Home")
    assert still.run(TITLE) == START
    still.press("End")
    assert still.run(TITLE) == OUTCOME and still.run("document.activeElement.ariaValueText") == "8.00"
    still.run("document.querySelector('.choice input').focus()")
    still.press(" ")
    assert still.run("document.activeElement.checked") and still.run(TITLE).startswith("White data")


def test_the_pointer_drags_the_time(still):
    x, y, width = still.run("(b => [b.x, b.y, b.width])(document.querySelector('.curve').getBoundingClientRect())")
    still.drag((x + 0.3 * width, y + 40), (x + 0.4 * width, y + 40))
    assert 2.5 < still.run("+document.querySelector('.explorable input').value") < 3.5


def test_it_plays_when_it_is_seen_and_can_be_paused(page, tmp_path):
    page.open(live_file(tmp_path, "clouds"))
    page.run(SKIP)
    time, button = (f"document.querySelector('.explorable .controls {one}')" for one in ("input", "button"))
    page.until(f"+{time}.value > 0.3 && {button}.textContent === 'Pause'")
    click(page, "Pause")
    paused = page.run(f"+{time}.value")
    assert page.run(f"{button}.textContent") == "Play" and paused < 8
    page.run("new Promise(done => setTimeout(done, 200))")
    assert page.run(f"+{time}.value") == paused
    page.run(slide(TIME, 7.9))
    click(page, "Play")
    page.until(f"+{time}.value === 8 && {button}.textContent === 'Play'")
    assert page.run(TITLE) == OUTCOME and page.complaints == []


def test_a_link_of_the_prose_sets_the_scene_each_time(still):
    still.run("""document.body.insertAdjacentHTML('beforeend', '<a href="#clouds:nu=2.5&t=3">x</a>')""")
    link, shown = (
        "document.querySelector('a').click()",
        "+document.querySelectorAll('.explorable input')[1].value === 2.5",
    )
    still.run(link)
    assert still.until(shown) and still.run("+document.querySelector('.explorable input').value") == 3
    assert still.run(slide(NEGATIVES, 1)) and not still.run(shown)
    still.run(link)
    assert still.until(shown)
