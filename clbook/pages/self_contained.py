"""A built page as one file: its styles, scripts, fonts and pictures inside it, and no link that leads nowhere.

One file instead of a page with a folder `_static`: it can be mailed, moved and opened from anywhere, and it weighs only
what the page uses (`_static` weighs 9 MB, half of which are maps for debuggers and icons).
"""

import base64
import mimetypes
import re
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from bs4 import BeautifulSoup, Tag

# what the theme loads for the search, for running cells on a page and for its icons, which here are plain characters
_UNUSED = re.compile(r"searchtools|language_data|searchindex|thebe|fontawesome")
# a hidden element stays, since the theme's script looks for it
_EMPTIED = "#pst-primary-sidebar, #pst-search-dialog, .prev-next-footer, .bd-header"
_KEPT_BUTTONS = {"theme-switch-button", "secondary-toggle"}
_CHARACTERS = {"light": "☀", "dark": "☾", "auto": "◐"}
_URL = re.compile(r"""url\((?P<quote>["']?)(?P<to>[^)"']+)(?P=quote)\)""")
_FACE = re.compile(r"@font-face\s*\{[^}]*\}")
_IMPORT = re.compile(r"""@import\s+["'](?P<to>[^"']+)["'];""")
_OTHER_FORMATS = re.compile(r",\s*url\([^)]+\)\s*format\([\"']?truetype[\"']?\)")
_STYLE = f"{_EMPTIED} {{ display: none !important; }} .bd-main {{ margin-inline: auto; }}"


def _data(path: Path) -> str:
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"


def _file(page: Path, address: str) -> Path | None:
    """The file beside a page that an address names; None for an address elsewhere or a file that is missing."""
    parts = urlsplit(address)
    path = (page.parent / unquote(parts.path)).resolve()
    return None if parts.scheme or parts.netloc or not path.is_file() else path


def _style(path: Path) -> str:
    """A style sheet with the sheets, fonts and pictures that it names inside it, each font in its smallest format."""

    def inside(match: re.Match) -> str:
        file = _file(path, match["to"])
        return f'url("{_data(file)}")' if file else match[0]

    def imported(match: re.Match) -> str:
        file = _file(path, match["to"])
        return _style(file) if file else ""

    text = _IMPORT.sub(imported, path.read_text(encoding="utf-8"))
    text = _FACE.sub(lambda face: "" if "Brands" in face[0] else _OTHER_FORMATS.sub("", face[0]), text)
    return _URL.sub(inside, text)


def _script(path: Path) -> str:
    """A script as the content of an element; MathJax gets its fonts, which it would look for beside its file."""
    text = path.read_text(encoding="utf-8")
    fonts = {font.name: font for font in path.parent.rglob("*.woff")} if "mathjax" in path.parts else {}
    text = re.sub(r"%%URL%%/([\w-]+\.woff)", lambda m: _data(fonts[m[1]]) if m[1] in fonts else m[0], text)
    return re.sub(r"<(?=/script|!--)", r"<\\", text, flags=re.IGNORECASE)


def _take_in_styles(soup: BeautifulSoup, page: Path) -> None:
    for link in soup.find_all("link"):
        file = _file(page, link.get("href", ""))
        if "stylesheet" not in link.get("rel", []) or file is None or _UNUSED.search(file.name):
            link.decompose()
            continue
        style = soup.new_tag("style")
        style.string = _style(file)
        link.replace_with(style)
    own = soup.new_tag("style")
    own.string = _STYLE
    soup.head.append(own)


def _take_in_scripts(soup: BeautifulSoup, page: Path) -> None:
    """Put scripts into the page; what was deferred goes to the end of the body, where it runs at the same time."""
    for script in soup.find_all("script"):
        if _UNUSED.search(f"{script.get('src', '')} {script.get('type', '')} {script.get_text()[:80].lower()}"):
            script.decompose()
            continue
        file = _file(page, script["src"]) if script.get("src") else None
        if file is None:
            continue
        later = "defer" in script.attrs or "async" in script.attrs
        for name in ("src", "defer", "async"):
            script.attrs.pop(name, None)
        script.string = _script(file)
        if later:
            soup.body.append(script.extract())


def _take_in_pictures(soup: BeautifulSoup, page: Path) -> None:
    for tag in soup.find_all(["img", "source"], src=True):
        if file := _file(page, tag["src"]):
            tag["src"] = _data(file)
    for link in soup.select("a[href] > img"):  # a picture that opens itself in full size needs its file
        link.parent.unwrap()


def _reduce(soup: BeautifulSoup) -> None:
    """Leave out what belongs to a whole book: navigation, search, and the buttons for the published notebook."""
    for place in soup.select(_EMPTIED):
        place.clear()
    for button in soup.select(".bd-header-article .dropdown, .bd-header-article button"):
        if not button.decomposed and not _KEPT_BUTTONS & set(button.get("class", [])):
            button.decompose()
    for icon in soup.select(".theme-switch-button [data-mode]"):
        icon["class"], icon.string = ["theme-switch"], _CHARACTERS[icon["data-mode"]]
    for toggle in soup.select(".bd-header-article .secondary-toggle"):
        toggle.string = "☰"


def _mend_link(link: Tag, beside: set[str], anchors: set[str], book: str | None, place: str) -> None:
    """Keep a link that works here; lead one into the book to its published address, or leave its words alone."""
    parts = urlsplit(link["href"])
    path = unquote(parts.path)
    if parts.scheme or parts.netloc or path in beside:
        return
    if not path or (path == place.rpartition("/")[2] and not parts.query):
        if not parts.fragment or unquote(parts.fragment) in anchors:
            link["href"] = f"#{parts.fragment}"
            return
    elif book:
        link["href"] = urljoin(f"{book.rstrip('/')}/{place}", link["href"])
        return
    link.unwrap()


def self_contained(page: Path, place: str, beside: set[str], book: str | None) -> str:
    """A built page that needs no other file and no network.

    Args:
        page: the page below the built site.
        place: its address within the site, such as `chapters/nonlinearity.html`.
        beside: names of files that will lie beside the page, to which it may link.
        book: the address of the published book, to which links into other pages lead; without one their words stay.
    """
    soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    _reduce(soup)
    _take_in_styles(soup, page)
    _take_in_scripts(soup, page)
    _take_in_pictures(soup, page)
    anchors = {tag["id"] for tag in soup.find_all(id=True)}
    for link in soup.find_all("a", href=True):
        _mend_link(link, beside, anchors, book, place)
    return str(soup)
