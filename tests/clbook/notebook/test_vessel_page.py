"""The live picture "vessel" in a browser: water finds the law's level, τ² is learned, and the console stays silent."""

import pytest
from live_page import SKIP, live_file, slide

TITLE, RESULT = (f"document.querySelector('.explorable .stage .{part}').textContent" for part in ("title", "result"))
TAU, OUTPUTS, FIRST, PRIVATE, COUPLED = 0, 1, 2, 6, 7  # inputs
SCENE = "explorables.live.vessel[0].read()"
SHARES = "[...document.querySelectorAll('.vessel .share')].map(t => parseInt(t.textContent))"
FAR = f"parseFloat({RESULT}.split('off by ')[1])"


def press(words: str) -> str:
    return f"[...document.querySelectorAll('.board button')].find(b => b.textContent === {words!r}).click(); true"


@pytest.fixture
def still(page, tmp_path):
    """The page as a reader sees it who prefers reduced motion, once the question is skipped."""
    page.open(live_file(tmp_path, "vessel"), prefers_reduced_motion="reduce")
    page.run(SKIP)
    yield page
    assert page.complaints == []


def test_the_first_question_ends_at_the_law(still):
    assert still.run(TITLE) == "τ² = 1 reaches 3 of 4 shared features, none of 2 private"
    assert still.run(SHARES) == [53, 33, 13, 0, 0, 0] and still.run(FAR) <= 0.01
    assert "μ = 0.37" in still.run(RESULT)


def test_water_beyond_the_sum_floods_private_directions_unless_outputs_are_few(still):
    still.run(slide(TAU, 4))
    assert still.run(TITLE).endswith("4 of 4 shared features, 2 of 2 private") and still.run(FAR) <= 0.01
    still.run(slide(OUTPUTS, 4))
    assert still.run(TITLE).endswith("none of 2 private")


def test_tau_is_learned_from_below_and_from_above_until_it_is_moved(still):
    for begun in (0.3, 5):
        still.run(slide(TAU, begun))
        assert still.run(f"{SCENE}.learn") == 0
        still.run(press("Learn τ²"))
        assert still.run(TITLE) == "τ² has settled at 2.40: the correlations add up to 2.40"
        assert still.run(f"{SCENE}.tau") == 2.4 and still.run(f"{SCENE}.learn") == 1
    still.run(slide(FIRST, 0.5))
    assert still.run(TITLE) == "τ² has settled at 2.00: the correlations add up to 2.00"


def test_on_sampled_pairs_it_comes_near_the_law_and_says_so(still):
    assert still.run(RESULT).startswith("loss of infinitely many negatives")
    still.run(press("64 sampled pairs a step"))
    assert still.run(RESULT).startswith("64 pairs a step ·") and still.run(f"{SCENE}.sampled") == 1
    assert still.run(FAR) <= 0.05
    still.run(press("by distance"))
    assert still.run(RESULT).startswith("64 pairs a step, by distance") and still.run(FAR) <= 0.05
    assert still.run(SHARES)[0] > 58  # inner products give the first direction 53 %


def test_coupled_private_directions_win(still):
    still.run(slide(PRIVATE, 6))
    still.run(slide(COUPLED, 1))
    assert sum(still.run(SHARES)[4:]) > 90 and still.run(FAR) <= 0.01


def test_it_trains_before_the_eyes(page, tmp_path):
    page.open(live_file(tmp_path, "vessel"))
    page.run(SKIP)
    assert page.until(f"/pours/.test({TITLE}) && {TITLE}") == "The network pours τ² into the shafts"
    page.until(f"!/pours/.test({TITLE})")
    assert page.run(FAR) <= 0.01 and page.complaints == []


def test_sliders_have_names(still):
    names = "[...document.querySelectorAll('.explorable input[type=range]')].map(e => e.ariaLabel)"
    assert still.run(names)[:3] == ["inverse temperature τ²", "outputs z", "ρ of the first"]
