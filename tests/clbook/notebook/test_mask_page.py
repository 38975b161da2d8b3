"""The live picture "masks" in a browser: the stage, the masks and the noise change it, and the console stays silent."""

import pytest
from live_page import SKIP, live_file, slide

TITLE, RESULT = (f"document.querySelector('.explorable .stage .{part}').textContent" for part in ("title", "result"))
NUMBER = "document.querySelector('.plane .number').textContent"
STAGE, BOTH, NOISE = 0, 1, 2  # inputs
SCENE = "explorables.live.masks[0].read()"
BUTTON = "document.querySelector('.explorable .controls button')"
WORDS = "document.querySelector('.line:nth-child(3) > span').textContent"


@pytest.fixture
def still(page, tmp_path):
    """The page as a reader sees it who prefers reduced motion, once the question is skipped."""
    page.open(live_file(tmp_path, "masks"), prefers_reduced_motion="reduce")
    page.run(SKIP)
    yield page
    assert page.complaints == []


def angle(page) -> float:
    """Of the arrow, in degrees above the signal's axis."""
    turn = page.run("document.querySelector('.plane .head').getAttribute('transform')")
    return -float(turn.partition("rotate(")[2].rstrip(")"))


def diagonal(page) -> list[float]:
    """How strong the noise's cells of the heat map are."""
    return page.run("[...document.querySelectorAll('.moment rect.noise')].map(r => +r.getAttribute('opacity'))")


def bars(page, line: int, name: str) -> list[float]:
    """Heights of the bars of a strip."""
    found = f"document.querySelectorAll('.line:nth-child({line}) rect.{name}')"
    return page.run(f"[...{found}].map(r => +r.getAttribute('height'))")


def test_the_first_question_ends_with_disjoint_masks_and_signal(still):
    assert still.run(SCENE) == {"both": 0, "noise": 4, "stage": 100}
    assert still.run(TITLE) == "Disjoint halves: the neuron learned 99.9 % signal"
    assert still.run(NUMBER) == "99.9 % signal" and angle(still) == pytest.approx(1.5, abs=0.1)
    assert set(diagonal(still)) == {0} and still.run(WORDS) == "nothing in both"
    assert max(bars(still, 5, "noise")) < 1 < min(bars(still, 5, "signal"))


def test_the_same_masks_teach_noise(still):
    still.run(slide(BOTH, 100))
    assert still.run(TITLE) == "Same half: the neuron learned mostly noise, 23 % signal"
    assert min(diagonal(still)) > 0.8 and len(diagonal(still)) == 32 and still.run(WORDS) == "in both: 16 of 32"
    assert angle(still) == pytest.approx(61.5, abs=0.1)


def test_independent_masks_are_as_none(still):
    still.run(slide(BOTH, 50))
    assert still.run(TITLE) == "Independent masks help no more than none: mostly noise, 37 % signal"
    assert still.run(WORDS) == "in both: 8 of 32"
    assert still.run("[...document.querySelectorAll('.key b')].map(b => b.textContent)") == ["0.16", "0.005"]


def test_the_diagonal_fades_as_the_masks_part_and_the_neuron_turns(still):
    strength, angles = [], []
    for value in (100, 50, 20, 5, 0):
        still.run(slide(BOTH, value))
        strength.append(diagonal(still)[0])
        angles.append(angle(still))
    assert strength[-2] < 0.4 and strength == sorted(strength, reverse=True) and angles == sorted(angles, reverse=True)


def test_noise_moves_the_neuron_of_the_same_masks_and_not_that_of_disjoint_ones(still):
    seen = {}
    for both in (0, 100):
        still.run(slide(BOTH, both))
        for noise in (0, 4, 12):
            still.run(slide(NOISE, noise))
            seen[both, noise] = still.run(NUMBER)
    assert {seen[0, noise] for noise in (0, 4, 12)} == {"99.9 % signal"}
    assert [seen[100, noise] for noise in (0, 4, 12)] == ["99 % signal", "23 % signal", "15 % signal"]


def test_the_stage_grows_the_neuron_from_a_random_one(still):
    still.run(slide(STAGE, 0))
    assert still.run(TITLE) == "Before training: a random neuron" and still.run(NUMBER) == "13 % signal"
    assert "length × 1.0 · time 0.00/p" in still.run(RESULT)
    still.run(slide(STAGE, 60))
    assert still.run(TITLE) == "The neuron grows towards what the views share"
    still.run(slide(STAGE, 100))
    assert "length × 20 · time 4.61/p" in still.run(RESULT)


def test_the_keyboard_parts_the_masks(still):
    still.run("document.querySelectorAll('.explorable input')[1].focus()")
    still.press("End")
    assert still.run(f"{SCENE}.both") == 100
    assert still.run("document.activeElement.ariaValueText") == "100 %, the same"
    still.press("Home")
    assert still.run(f"{SCENE}.both") == 0


def test_the_pointer_drags_along_the_curve(still):
    x, y, width = still.run("(b => [b.x, b.y, b.width])(document.querySelector('.ends svg').getBoundingClientRect())")
    still.drag((x + 0.2 * width, y + 60), (x + (40 + 115) / 282 * width, y + 60))
    assert still.run(f"{SCENE}.both") == pytest.approx(50, abs=1)


def test_every_picture_and_control_has_a_name(still):
    assert still.run("[...document.querySelectorAll('.explorable svg')].filter(e => !e.ariaLabel).length") == 0
    controls = "[...document.querySelectorAll('.explorable input')]"
    assert still.run(f"{controls}.filter(e => !e.ariaLabel && !e.labels.length).length") == 0
    assert "99.9 % with disjoint, 37 %" in still.run("document.querySelector('.ends svg').ariaLabel")


def test_while_it_asks_nothing_tells_the_answer(page, tmp_path):
    page.open(live_file(tmp_path, "masks"), prefers_reduced_motion="reduce")
    assert page.run("getComputedStyle(document.querySelector('.ends .curve')).visibility") == "hidden"
    assert page.run(NUMBER) == "13 % signal"
    page.run(SKIP)
    assert page.run("getComputedStyle(document.querySelector('.ends .curve')).visibility") == "visible"
    assert page.complaints == []


def test_it_plays_the_stage_and_then_parts_the_masks(page, tmp_path):
    page.open(live_file(tmp_path, "masks"))
    page.run("window.titles = new Set(); true")
    page.run(f"setInterval(() => titles.add({TITLE}), 20); {SKIP}")
    page.until(f"{BUTTON}.textContent === 'Play' && [...titles].some(title => title.startsWith('Disjoint'))")
    assert page.run("[...titles].slice(-4)") == [
        "The neuron grows towards what the views share",
        "Same half: the neuron learned mostly noise, 23 % signal",
        "The masks part: less and less is in both views",
        "Disjoint halves: the neuron learned 99.9 % signal",
    ]
    page.run(f"{BUTTON}.click()")
    page.until(f"{SCENE}.stage > 5 && {SCENE}.stage < 100 && {BUTTON}.textContent === 'Pause'")
    page.run(f"{BUTTON}.click()")
    paused = page.run(SCENE)
    page.run("new Promise(done => setTimeout(done, 200))")
    assert page.run(SCENE) == paused and page.run(f"{BUTTON}.textContent") == "Play"
    assert page.complaints == []


def test_a_link_of_the_prose_sets_the_scene_each_time(still):
    still.run("""document.body.insertAdjacentHTML('beforeend', '<a href="#masks:both=50&stage=100">x</a>')""")
    link, shown = "document.querySelector('a').click()", f"{NUMBER} === '37 % signal'"
    still.run(link)
    assert still.until(shown)
    assert still.run(slide(BOTH, 100)) and not still.run(shown)
    still.run(link)
    assert still.until(shown)
