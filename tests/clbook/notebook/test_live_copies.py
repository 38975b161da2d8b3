"""The same live picture again on a page: at its own scene, without a second script or a second question."""

import pytest
from browser import written
from checkout import ROOT
from live_page import NAMES, PIXEL, SCENES, SKIP, hash_of, to_the_least

from clbook.notebook.explorables import live_html

HIGH = '<div style="height: 1500px"></div>'
ASKING = "[...document.querySelectorAll('.board')].map(b => b.classList.contains('asking'))"


@pytest.fixture(params=NAMES)
def copied(page, tmp_path, request):
    """A page with a picture, and far below a paragraph that has it again."""
    name = request.param
    link = f'<p>Above. <a class="again" href="{hash_of(name)}">The picture again</a></p>'
    page.open(
        written(tmp_path, live_html(name, PIXEL, "Still", ROOT) + HIGH + link + HIGH), prefers_reduced_motion="reduce"
    )
    page.run("localStorage.clear()")
    yield name
    assert page.complaints == []


def read(name: str, number: int) -> str:
    return f"explorables.live.{name}[{number}].read()"


def test_it_stands_below_its_paragraph_at_its_scene_and_the_main_one_alone_asks(page, copied):
    assert page.run("document.querySelector('p a').parentNode.nextSibling.matches('figure.copy.live')") is True
    assert page.run(ASKING) == [True, False]
    shown = page.run(read(copied, 1))
    assert {key: shown[key] for key in SCENES[copied]} == SCENES[copied]


def test_an_answer_to_the_main_one_leaves_the_copy_as_it_is(page, copied):
    before = page.run(read(copied, 1))
    page.run("document.querySelector('.answers button').click()")
    assert page.run(ASKING) == [False, False] and page.run(read(copied, 1)) == before


def test_each_moves_alone_and_the_main_one_alone_writes_the_address(page, copied):
    page.run(SKIP)
    main, before = page.run(read(copied, 0)), page.run(read(copied, 1))
    page.run(to_the_least(".copy"))
    assert page.run(read(copied, 0)) == main and page.run(read(copied, 1)) != before
    page.run("new Promise(done => setTimeout(done, 400))")
    assert page.run("location.hash") == ""


def test_a_link_drives_the_nearest_and_an_address_the_main_one(page, copied):
    page.run(SKIP)
    (key, value), *_ = SCENES[copied].items()
    usual = page.run(read(copied, 0))[key]
    page.run(to_the_least(".copy"))
    page.run("document.querySelector('p a').click()")
    page.until(f"{read(copied, 1)}.{key} === {value}")
    assert page.run(read(copied, 0))[key] == usual
    page.run("history.replaceState(null, '', '#x')")
    page.run(f"location.hash = {hash_of(copied)!r}")
    page.until(f"{read(copied, 0)}.{key} === {value}")


def test_print_leaves_the_link_alone(page, copied):
    page.send("Emulation.setEmulatedMedia", media="print")
    shown = "getComputedStyle(document.querySelector('.copy')).display"
    assert page.run(shown) == "none" and page.run("document.querySelector('p a').textContent") == "The picture again"
    page.send("Emulation.setEmulatedMedia", media="")
