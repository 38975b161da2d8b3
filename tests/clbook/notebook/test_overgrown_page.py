"""The live picture "overgrown" in a browser: steps, noise and decay change it, and the console stays silent."""

import pytest
from live_page import SKIP, live_file, slide

TITLE, RESULT = (f"document.querySelector('.explorable .stage .{part}').textContent" for part in ("title", "result"))
STEP, NOISE, DECAY = 0, 1, 2  # inputs
SCENE = "explorables.live.overgrown[0].read()"


@pytest.fixture
def still(page, tmp_path):
    """The page as a reader sees it who prefers reduced motion, once the question is skipped."""
    page.open(live_file(tmp_path, "overgrown"), prefers_reduced_motion="reduce")
    page.run(SKIP)
    yield page
    assert page.complaints == []


def height(page, name: str) -> float:
    """Of a line's end above the lower edge of the drawing."""
    return -float(page.run(f"document.querySelector('circle.{name}').getAttribute('cy')"))


def test_the_first_question_ends_with_noise_above_signals_that_keep_their_length(still):
    assert still.run(SCENE) == {"step": 100, "noise": 0.8, "decay": 0}
    assert still.run(TITLE) == "Noise has overgrown the signals, which keep their length"
    assert height(still, "noise") > height(still, "signal")


def test_decay_shrinks_the_signals_and_the_line_without_it_stays(still):
    assert still.run("document.querySelector('path.signal.bare').getAttribute('d')") == ""
    before = height(still, "signal")
    still.run(slide(DECAY, 2))
    assert still.run(TITLE) == "Noise is longer than the signals, and these shrink"
    assert height(still, "signal") < before and still.run(
        "document.querySelector('path.signal.bare').getAttribute('d')"
    )


def test_the_share_rises_and_falls(still):
    seen = []
    for place in (20, 62, 100):
        still.run(slide(STEP, place))
        seen.append(int(still.run(RESULT).split(" · ")[1].split(" %")[0]))
    assert seen[1] > 95 > 60 > max(seen[0], seen[2])


def test_louder_noise_lowers_the_peak(still):
    still.run(slide(NOISE, 3.2))
    assert "at most 54 % so far" in still.run(RESULT)


def test_while_it_asks_the_lines_end_where_the_signals_are_ahead(page, tmp_path):
    page.open(live_file(tmp_path, "overgrown"), prefers_reduced_motion="reduce")
    assert page.run(SCENE)["step"] == 62 and height(page, "signal") > height(page, "noise")
    assert page.complaints == []
