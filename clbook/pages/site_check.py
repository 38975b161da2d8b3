"""Check of the built pages: `python -m clbook.pages.site_check _build/html`, one line per problem.

There must be no broken internal link or anchor, no duplicate anchor of a claim, no error output and no script of an
attribute, and there must be a text for every image and a title for every page. If the working folder is the book's, a
chapter's page must have the buttons that open its notebook elsewhere.
"""

import re
import sys
from collections import Counter
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

from ..commands.launch import button_addresses
from ..common.errors import BookError

# element, and its attribute that points somewhere
_REFERENCES = {"a": "href", "link": "href", "img": "src", "script": "src", "iframe": "src", "source": "src"}
# class -> what it indicates: myst-nb's outputs of a failed cell, docutils' marks of what it could not parse
_ERROR_CLASSES = {
    "traceback": "error output",
    "stderr": "stderr output",
    "system-message": "a docutils message",
    "problematic": "markup that could not be read",
}
_KNOWN = (
    "window.print()",  # this and the next: buttons of the theme
    "toggleFullScreen()",
    "this.parentNode.classList.add('lost')",  # of a film whose file is missing; other scripts of ours are files
)
_SCENE = re.compile(r"[\w-]+:(?=\w+=)")  # of a link that sets a live picture: #clouds:nu=2.1&t=3


def _name(page: Path, root: Path) -> str:
    return page.relative_to(root).as_posix()


def read_pages(root: Path) -> dict[Path, BeautifulSoup]:
    """All HTML pages below a folder, parsed; the theme's files (`_static`) are not pages."""
    pages = (p for p in sorted(root.rglob("*.html")) if "_static" not in p.relative_to(root).parts)
    return {page.resolve(): BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser") for page in pages}


def _anchors(soup: BeautifulSoup) -> set[str]:
    """The places of a page that a link can name: ids, names, and `NAME:` of a live picture, which a scene follows."""
    places = {tag["id"] for tag in soup.find_all(id=True)}
    places |= {tag["name"] for tag in soup.find_all("a", attrs={"name": True})}
    return places | {f"{tag['data-explorable']}:" for tag in soup.find_all(attrs={"data-explorable": True})}


def title_problems(soup: BeautifulSoup) -> list[str]:
    """A page needs a title unless it only redirects to another."""
    if soup.find("meta", attrs={"http-equiv": re.compile("^refresh$", re.IGNORECASE)}):
        return []
    return [] if soup.title and soup.title.get_text(strip=True) else ["no title"]


def image_problems(soup: BeautifulSoup) -> list[str]:
    """An image needs an alternative text other than a file name."""
    problems = []
    for image in soup.find_all("img"):
        source, text = image.get("src", ""), (image.get("alt") or "").strip()
        shown = source if len(source) < 80 else source[:60] + "…"
        file = PurePosixPath(urlsplit(source).path)
        if not text:
            problems.append(f"image without alt text: {shown}")
        elif PurePosixPath(text).name in (file.name, file.stem):
            problems.append(f"image whose alt text is its file name: {shown}")
    return problems


def claim_problems(soup: BeautifulSoup) -> list[str]:
    """The claims page links to a claim by its id, so no label or heading of the page may use the same id."""
    ids = Counter(tag["id"] for tag in soup.find_all(id=True))
    claims = dict.fromkeys(tag["id"] for tag in soup.find_all(class_="claim", id=True))
    return [f"the anchor of a claim stands {ids[claim]} times: #{claim}" for claim in claims if ids[claim] > 1]


def error_problems(soup: BeautifulSoup) -> list[str]:
    """There must be no output of a failed cell, no warning output and no markup that was not understood."""
    problems = [what for name, what in _ERROR_CLASSES.items() for _ in soup.find_all(class_=name)]
    outputs = soup.select(".cell_output")
    problems += ["a traceback in an output" for o in outputs if "Traceback (most recent call last)" in o.get_text()]
    if soup.find("script", attrs={"type": re.compile("jupyter.widget-view")}):
        problems.append("a widget, which is dead on a page")
    return list(dict.fromkeys(problems))


def script_problems(soup: BeautifulSoup) -> list[str]:
    """No attribute may run a script: HTML that came in with a record, a claims file or a parameter has no file."""
    attributes = [(tag.name, *pair) for tag in soup.find_all(True) for pair in tag.attrs.items()]
    return [
        f"a script in {name} of <{tag}>: {str(value)[:60]}"
        for tag, name, value in attributes
        if name.startswith("on") and value not in _KNOWN or re.match(r"\s*javascript:", str(value), re.IGNORECASE)
    ]


def link_problems(page: Path, root: Path, soup: BeautifulSoup, anchors: dict[Path, set[str]]) -> list[str]:
    """Every reference within the site must lead to a file, and to an anchor if it names one."""
    problems = []
    for element, attribute in _REFERENCES.items():
        for tag in soup.find_all(element, attrs={attribute: True}):
            parts = urlsplit(tag[attribute])
            if parts.scheme or parts.netloc:
                continue
            path = unquote(parts.path)
            base = root if path.startswith("/") else page.parent
            target = (base / path.lstrip("/")).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if scene := _SCENE.match(anchor):
                anchor = scene[0]
            if not target.is_relative_to(root):
                problems.append(f"link leaves the site: {tag[attribute]}")
            elif not target.is_file():
                problems.append(f"broken link: {tag[attribute]}")
            elif anchor and target in anchors and anchor not in anchors[target]:
                problems.append(f"broken anchor: {tag[attribute]}")
    return list(dict.fromkeys(problems))


def launch_problems(page: Path, root: Path, soup: BeautifulSoup, book: Path) -> list[str]:
    """The page of a notebook needs the buttons that open this notebook at the repository's address."""
    if not _notebook(page, root, book).is_file():
        return []
    notebook = page.relative_to(root).with_suffix(".ipynb").as_posix()
    links = {tag["href"] for tag in soup.find_all("a", href=True)}
    return [f"no button {to}: {url}" for to, url in button_addresses(book, notebook).items() if url not in links]


def check_site(root: Path, book: Path | None = None) -> list[str]:
    """All problems of a built site, as `page: problem`; raises FileNotFoundError if there are no pages.

    Buttons are checked if `book`, the folder that the site was built from, is given.
    """
    root = root.resolve()
    pages = read_pages(root)
    if not pages:
        raise FileNotFoundError(f"no HTML page below {root.name or root}: build the book first")
    anchors = {page: _anchors(soup) for page, soup in pages.items()}
    return [
        f"{_name(page, root)}: {problem}"
        for page, soup in pages.items()
        for problem in [
            *title_problems(soup),
            *error_problems(soup),
            *image_problems(soup),
            *claim_problems(soup),
            *script_problems(soup),
            *link_problems(page, root, soup, anchors),
            *(launch_problems(page, root, soup, book) if book else []),
        ]
    ]


def _notebook(page: Path, root: Path, book: Path) -> Path:
    return book / page.relative_to(root).with_suffix(".ipynb")


def main(arguments: list[str]) -> int:
    """Print problems; the status is 1 if there are any and 2 if there is nothing to check."""
    if len(arguments) != 1:
        print("usage: python -m clbook.pages.site_check FOLDER", file=sys.stderr)
        return 2
    try:
        problems = check_site(Path(arguments[0]), Path.cwd())
    except (FileNotFoundError, BookError) as error:
        print(f"site_check: {error}", file=sys.stderr)
        return 2
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
