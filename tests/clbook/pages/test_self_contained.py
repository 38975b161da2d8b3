"""One file holds all that a page needs: styles, fonts, scripts in their order, pictures; and its links work."""

import pytest

pytest.importorskip("bs4")

from bs4 import BeautifulSoup  # noqa: E402

from clbook.pages.self_contained import self_contained  # noqa: E402

FACE = '@font-face{font-family:F;src:url(../f.woff2) format("woff2"),url(../f.ttf) format("truetype")}'
FILES = {
    "_static/basic.css": ".headerlink { visibility: hidden }",
    "_static/styles/theme.css": '@import "../basic.css"; ' + FACE + " b { background: url('../dot.png') }",
    "_static/styles/icons.css": FACE.replace("family:F", "family:Brands"),
    "_static/f.woff2": "woff",
    "_static/f.ttf": "truetype",
    "_static/dot.png": "png",
    "_static/early.js": "var early = '</script><!--';",
    "_static/late.js": "var late = 1;",
    "_static/scripts/fontawesome.js": "var icons;",
    "_static/mathjax/tex.js": "var face = 'url(\"%%URL%%/M.woff\")';",
    "_static/mathjax/fonts/M.woff": "mathematics",
    "_images/plot.png": "plot",
}
PAGE = """<html><head><link rel="stylesheet" href="../_static/styles/theme.css?v=1">
<link rel="stylesheet" href="../_static/styles/icons.css"><link rel="next" href="other.html">
<script defer src="../_static/late.js"></script><script src="../_static/early.js"></script>
<script defer src="../_static/mathjax/tex.js"></script><script src="../_static/scripts/fontawesome.js"></script>
</head><body><div class="bd-sidebar-primary" id="pst-primary-sidebar"><a href="../book/a.html">A</a></div>
<div class="bd-header-article"><button class="search"><button class="inner">s</button></button>
<button class="theme-switch-button"><i class="fa-sun" data-mode="light"></i></button></div>
<article id="top"><img src="../_images/plot.png" alt="A plot.">BODY</article></body></html>"""


@pytest.fixture
def contained(tmp_path):
    """The page with a body, made whole and parsed again."""

    def make(body="", book=None):
        for name, text in FILES.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        page = tmp_path / "chapters" / "one.html"
        page.parent.mkdir(exist_ok=True)
        page.write_text(PAGE.replace("BODY", body))
        text = self_contained(page, "chapters/one.html", {"run.json"}, book)
        return BeautifulSoup(text, "html.parser")

    return make


def test_nothing_is_loaded_from_elsewhere(contained):
    soup = contained()
    assert not soup.find_all("link") and not soup.find_all("script", src=True)
    assert all(tag["src"].startswith("data:image/png;base64,") for tag in soup.find_all("img"))
    style = soup.style.string
    assert "visibility: hidden" in style and "@import" not in style and "data:font/woff2;base64," in style
    assert "truetype" not in style and 'url("data:image/png' in style and "Brands" not in str(soup)


def test_scripts_keep_their_order_and_cannot_end_early(contained):
    soup = contained()
    scripts = [script.string for script in soup.find_all("script")]
    assert [text.split()[1] for text in scripts] == ["early", "late", "face"]
    assert scripts[0] == r"var early = '<\/script><\!--';"
    assert soup.body.find_all("script")[0].string == "var late = 1;"
    assert "%%URL%%" not in scripts[2] and "data:font/woff;base64," in scripts[2]


def test_what_belongs_to_a_whole_book_is_left_out(contained):
    soup = contained()
    assert soup.find(id="pst-primary-sidebar").get_text() == ""  # the theme's script looks for it
    assert [button.get_text(strip=True) for button in soup.find_all("button")] == ["☀"]


LINKS = [
    ("#top", "#top", "#top"),
    ("one.html#top", "#top", "#top"),
    ("#gone", None, None),
    ("run.json", "run.json", "run.json"),
    ("https://example.org/x", "https://example.org/x", "https://example.org/x"),
    ("two.html#thm", None, "https://example.org/book/chapters/two.html#thm"),
    ("../book/claims.html", None, "https://example.org/book/book/claims.html"),
]


@pytest.mark.parametrize(("link", "alone", "published"), LINKS)
def test_a_link_works_or_is_words(contained, link, alone, published):
    for book, wanted in ((None, alone), ("https://example.org/book", published)):
        article = contained(f'<a href="{link}">words</a>', book).article
        assert [a["href"] for a in article.find_all("a")] == ([wanted] if wanted else [])
        assert article.get_text() == "words"
