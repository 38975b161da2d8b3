"""The check of built pages finds each kind of broken page and accepts a sound one."""

import pytest

from clbook.commands.launch import button_addresses
from clbook.pages.site_check import check_site, main

PAGE = "<html><head><title>{title}</title></head><body><h1 id='top'>A</h1>{body}</body></html>"


def site(folder, body="", title="A page", **others):
    """A small site: `index.html` with the given body, and other pages by name."""
    (folder / "index.html").write_text(PAGE.format(title=title, body=body), encoding="utf-8")
    for name, text in others.items():
        (folder / f"{name}.html").write_text(PAGE.format(title=name, body=text), encoding="utf-8")
    (folder / "plot.png").write_bytes(b"png")
    (folder / "sub").mkdir(exist_ok=True)
    (folder / "sub" / "index.html").write_text(PAGE.format(title="Sub", body="<a href='/other.html#x'>up</a>"))
    if "other" not in others:
        (folder / "other.html").write_text(PAGE.format(title="other", body="<p id='x'></p>"), encoding="utf-8")
    return folder


SOUND = [
    "",
    "<a href='#top'>here</a> <a href='#'>top</a> <a href='other.html#x'>there</a> <a href='sub/'>folder</a>",
    "<a href='https://example.org/nowhere'>outside</a> <a href='mailto:a@example.org'>mail</a>",
    "<a href='other.html?highlight=x#x'>query</a> <a name='old'></a><a href='#old'>name</a>",
    "<img src='plot.png' alt='A line that rises.'>",
    "<button onclick='window.print()'>print</button> <p title='onerror=alert(1)'>what a text says</p>",
    "<div class='cell_output'><pre>Traceback is a word</pre></div>",
    "<div class='claim' id='thm-1'></div><p id='a'></p><p id='a'></p>",
    "<div data-explorable='clouds'></div><a href='#clouds:nu=2.1&amp;t=3'>a scene of the live picture</a>",
]


@pytest.mark.parametrize("body", SOUND)
def test_a_sound_page_has_no_problem(tmp_path, body):
    assert check_site(site(tmp_path, body)) == []


BROKEN = [
    (
        "<script type='application/vnd.jupyter.widget-view+json'>{}</script>",
        "index.html: a widget, which is dead on a page",
    ),
    ("<a href='missing.html'>x</a>", "index.html: broken link: missing.html"),
    ("<img src='missing.png' alt='Text.'>", "index.html: broken link: missing.png"),
    ("<script src='missing.js'></script>", "index.html: broken link: missing.js"),
    ("<a href='#nowhere'>x</a>", "index.html: broken anchor: #nowhere"),
    ("<div data-explorable='circle'></div><a href='#clouds:nu=2'>x</a>", "index.html: broken anchor: #clouds:nu=2"),
    ("<a href='other.html#nowhere'>x</a>", "index.html: broken anchor: other.html#nowhere"),
    ("<a href='../outside.html'>x</a>", "index.html: link leaves the site: ../outside.html"),
    ("<img src='plot.png'>", "index.html: image without alt text: plot.png"),
    ("<img src='plot.png' alt='  '>", "index.html: image without alt text: plot.png"),
    ("<img src='plot.png' alt='plot.png'>", "index.html: image whose alt text is its file name: plot.png"),
    ("<img src='plot.png' alt='../_images/plot.png'>", "index.html: image whose alt text is its file name: plot.png"),
    ("<img src='plot.png' alt='plot'>", "index.html: image whose alt text is its file name: plot.png"),
    ("<div class='output traceback'>x</div>", "index.html: error output"),
    ("<div class='output stderr'>x</div>", "index.html: stderr output"),
    (
        "<div class='cell_output'><pre>Traceback (most recent call last):</pre></div>",
        "index.html: a traceback in an output",
    ),
    (
        "<p id='thm-1'></p><div class='claim' id='thm-1'></div>",
        "index.html: the anchor of a claim stands 2 times: #thm-1",
    ),
    ("<img src='plot.png' alt='A line.' onerror='alert(1)'>", "index.html: a script in onerror of <img>: alert(1)"),
    ("<svg ONLOAD='alert(1)'></svg>", "index.html: a script in onload of <svg>: alert(1)"),
    (
        "<a href=' JavaScript:alert(1)'>x</a>",
        "index.html: a script in href of <a>:  JavaScript:alert(1)",
    ),
    ("<p class='system-message'>x</p>", "index.html: a docutils message"),
    ("<span class='problematic'>x</span>", "index.html: markup that could not be read"),
]


@pytest.mark.parametrize(("body", "problem"), BROKEN)
def test_a_broken_page_is_caught(tmp_path, body, problem):
    assert check_site(site(tmp_path, body)) == [problem]


def test_a_page_needs_a_title_unless_it_forwards(tmp_path):
    assert check_site(site(tmp_path, title=" ")) == ["index.html: no title"]
    (tmp_path / "index.html").write_text('<meta http-equiv="Refresh" content="0; url=other.html">')
    assert check_site(tmp_path) == []


def test_files_of_the_theme_are_not_pages(tmp_path):
    theme = site(tmp_path) / "_static"
    theme.mkdir()
    (theme / "macros.html").write_text("<img src='x.png'>")
    assert check_site(tmp_path) == []


def test_status_and_one_line_a_problem(tmp_path, capsys):
    assert main([str(site(tmp_path))]) == 0
    assert capsys.readouterr().out == ""
    site(tmp_path, "<img src='plot.png'><a href='#nowhere'>x</a>")
    assert main([str(tmp_path)]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_folder_without_pages_is_not_a_success(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2
    assert "build the book first" in capsys.readouterr().err
    assert main([]) == 2


@pytest.fixture
def chapter_page(tmp_path):
    """A book with one notebook and the site of its page, whose body is given; returns what is wrong with it."""
    book = tmp_path / "book"
    (book / "chapters").mkdir(parents=True)
    (book / "chapters" / "one.ipynb").touch()
    (book / "_config.yml").write_text("repository: {url: https://github.com/someone/some-book, branch: main}\n")

    def problems(links):
        pages = tmp_path / "html" / "chapters"
        pages.mkdir(parents=True, exist_ok=True)
        body = "".join(f"<a href='{link}'>x</a>" for link in links)
        (pages / "one.html").write_text(PAGE.format(title="One", body=body), encoding="utf-8")
        (pages / "other.html").write_text(PAGE.format(title="No notebook", body=""), encoding="utf-8")
        return check_site(tmp_path / "html", book)

    return book, problems


def test_a_chapter_s_page_needs_the_buttons_that_open_its_notebook(chapter_page):
    book, problems = chapter_page
    binder, colab = button_addresses(book, "chapters/one.ipynb").values()
    assert binder == "https://mybinder.org/v2/gh/someone/some-book/main?urlpath=lab/tree/chapters/one.ipynb"
    assert colab == "https://colab.research.google.com/github/someone/some-book/blob/main/chapters/one.ipynb"
    assert problems([binder, colab]) == []
    assert problems([binder]) == [f"chapters/one.html: no button Colab: {colab}"]
    moved = [link.replace("some-book", "old-book") for link in (binder, colab)]
    assert problems([*moved, colab]) == [f"chapters/one.html: no button Binder: {binder}"]


def test_a_book_without_an_address_is_one_line(chapter_page, capsys, monkeypatch):
    book, problems = chapter_page
    problems([])
    (book / "_config.yml").write_text("repository: {branch: main}\n")
    monkeypatch.chdir(book)
    assert main(["../html"]) == 2
    assert capsys.readouterr().err == "site_check: _config.yml: repository lacks url\n"
