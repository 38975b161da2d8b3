"""What makes a lesson of a live picture: its questions, its motion while it is seen, its scenes in addresses."""

import pytest
from browser import written
from checkout import ROOT
from live_page import NAMES, PIXEL, SCENES, SKIP, hash_of, live_file, to_the_least

from clbook.notebook.explorables import live_html

HIGH = '<div style="height: 2000px"></div>'
BOARD = "document.querySelector('.board')"
DRAWN = "document.querySelector('.stage').innerHTML"
ASKING = f"{BOARD}.classList.contains('asking')"
CLIPBOARD = (
    "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async at => (window.copied = at)}}); true"
)


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def read(name: str) -> str:
    return f"explorables.live.{name}[0].read()"


def press(words: str) -> str:
    return f"[...document.querySelectorAll('.board button')].find(b => b.textContent === {words!r}).click(); true"


@pytest.fixture
def opened(page, tmp_path, name):
    """The picture of this name, as a reader sees it who prefers reduced motion."""
    page.open(live_file(tmp_path, name), prefers_reduced_motion="reduce")
    page.run("localStorage.clear()")
    yield page
    assert page.complaints == []


def ask(page, words: str) -> None:
    """Go on to this question, and skip what comes before."""
    while (
        page.run("document.querySelector('.ask .title') && document.querySelector('.ask .title').textContent") != words
    ):
        page.run(f"{ASKING} && {SKIP}")
        page.run(press("Next question"))


def test_the_arithmetic_picks_one_answer_and_the_page_agrees(opened, name):
    fits = "q => (v => [q.ask, q.answers.map(a => a[1] === v)])(q.truth())"
    questions = opened.run(f"explorables.lessons.{name}.questions.map({fits})")
    assert all(sum(row) == 1 for _, row in questions)
    for words, row in questions:
        for answer in sorted(range(len(row)), key=lambda k: row[k]):  # the right one last
            ask(opened, words)
            opened.run(f"document.querySelectorAll('.answers button')[{answer}].click()")
            said = opened.run("document.querySelector('.because b').textContent")
            assert said == ("Right. " if row[answer] else "Not so. ")
    tally = opened.run("document.querySelector('.tally').textContent")
    assert tally == f"Your first guesses: 0 of {len(questions)} right"


def test_the_keyboard_answers_and_the_verdict_has_the_focus(opened):
    opened.run("document.querySelector('.answers button').focus()")
    opened.press(" ")
    assert opened.run("document.activeElement.className") == "because" and opened.run(ASKING) is False


def test_nothing_moves_while_it_asks(opened, name):
    before = opened.run(read(name))
    for found in opened.run("[...document.querySelectorAll('.stage [tabindex]')].map((e, k) => k)"):
        opened.run(f"document.querySelectorAll('.stage [tabindex]')[{found}].focus()")
        opened.press("ArrowLeft")
    opened.run("document.querySelector('.stage input').focus()")
    opened.press("End")
    assert opened.run(read(name)) == before


def test_it_moves_while_most_of_it_is_seen_and_pauses_off_screen(page, tmp_path, name):
    page.open(written(tmp_path, HIGH + live_html(name, PIXEL, "Still", ROOT) + HIGH))
    pause = "new Promise(done => setTimeout(done, 300))"

    def stands() -> bool:
        first = page.run(DRAWN)
        page.run(pause)
        return page.run(DRAWN) == first

    page.run("document.querySelector('.answers button').click()")
    page.run("scrollTo(0, 2000 - innerHeight + 60)")  # its first 60 pixels
    page.run(pause)
    assert stands()
    page.run(f"{BOARD}.scrollIntoView({{block: 'center'}})")
    page.run(pause)
    assert not stands()
    page.run("scrollTo(0, 0)")
    page.run(pause)
    assert stands()
    page.run(f"{BOARD}.scrollIntoView({{block: 'center'}})")
    page.run(pause)
    assert not stands() and page.complaints == []


def test_an_address_opens_its_scene_without_a_question(opened, name):
    opened.run(f"location.hash = {hash_of(name)!r}")
    opened.send("Page.reload")
    opened.until("document.readyState === 'complete' && document.querySelector('.board') !== null")
    shown = opened.run(read(name))
    assert {key: shown[key] for key in SCENES[name]} == SCENES[name]
    assert opened.run(ASKING) is False


def test_the_copied_link_opens_what_was_copied(opened, name):
    opened.run(SKIP)
    usual = opened.run(read(name))
    opened.run(to_the_least(".board"))
    before = opened.run(read(name))
    opened.run(CLIPBOARD)
    opened.run(press("Copy link"))
    address = opened.until("window.copied")
    assert before != usual and opened.run(
        "[...document.querySelectorAll('button')].some(b => b.textContent === 'Copied')"
    )
    opened.send("Page.navigate", url="about:blank")
    opened.until("location.href === 'about:blank'")
    opened.send("Page.navigate", url=address)
    opened.until(f"document.readyState === 'complete' && document.querySelector('.board') !== null && !{ASKING}")
    assert opened.run(read(name)) == before


def test_where_nothing_can_be_copied_the_link_is_shown(opened, name):
    opened.run(f"location.hash = {hash_of(name)!r}")
    opened.until(f"!{ASKING}")
    opened.run(
        "Object.defineProperty(navigator, 'clipboard', {value: undefined}); prompt = (_, at) => (window.told = at)"
    )
    opened.run(press("Copy link"))
    assert opened.until("window.told").endswith(hash_of(name))
