"""Two builds of the pages, compared: `python tests/tools/two_builds.py _build/html _build/sphinx`.

A builder may lay a page out in another way; it may not lose a page, an id, an image, a script or a word of the text.
Status 1 if it does. Blanks do not count, since builders put them differently into formulas. The search page is the
theme's own.
"""

import re
import sys
from pathlib import Path

from bs4 import BeautifulSoup

from clbook.pages.site_check import read_pages

OWN = ("search.html", "genindex.html", "py-modindex.html")  # pages of the builder, whose words are its own
_VIEWER = re.compile(r"\?.*$")  # of an address: the sum of the file's content


def page_parts(soup: BeautifulSoup) -> dict[str, object]:
    """What must not be lost: the article's `text` without blanks, its `ids`, the `files` of its images and scripts."""
    article = soup.find("article") or soup
    files = {_VIEWER.sub("", tag["src"]) for tag in article.find_all(["img", "script", "source"], src=True)}
    ids = {tag["id"] for tag in article.find_all(id=True)}
    return {"text": re.sub(r"\s+", "", article.get_text()), "ids": ids, "files": files}


def first_difference(one: str, other: str) -> str:
    """The first place where two texts differ, with what follows in each."""
    k = next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return f"{one[max(0, k - 30) : k + 50]!r} ≠ {other[max(0, k - 30) : k + 50]!r}"


def differences(one: Path, other: Path) -> list[str]:
    """A line for each page of the first build that the second lacks or shows otherwise."""
    before, after = ({p.relative_to(f.resolve()).as_posix(): s for p, s in read_pages(f).items()} for f in (one, other))
    found = [f"{page}: missing" for page in before.keys() - after.keys()]
    for page in sorted(before.keys() & after.keys() - set(OWN)):
        was, now = page_parts(before[page]), page_parts(after[page])
        for kind in ("ids", "files"):
            found += [f"{page}: lost {kind}: {', '.join(sorted(lost))}"] if (lost := was[kind] - now[kind]) else []
        found += [f"{page}: text: {first_difference(was['text'], now['text'])}"] if was["text"] != now["text"] else []
    return found


if __name__ == "__main__":
    found = differences(*map(Path, sys.argv[1:3]))
    print(*found, f"{len(found)} differences", sep="\n")
    sys.exit(bool(found))
