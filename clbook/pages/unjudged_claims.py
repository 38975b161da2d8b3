"""A Sphinx extension: the claims of a section that the page's run does not judge are one line with records' verdicts.

Their cards, with what the record found, are folded under that line, at the place of the last of them.
"""

import re
from collections.abc import Iterable

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from .folded_code import is_cell

_CARD = re.compile(r'<div class="claim[^"]*" id="(?P<id>[^"]+)"')
_VERDICT = re.compile(r'<span class="verdict [^>]*>[^<]+</span>')


class UnjudgedClaims(nodes.Element):
    """Cards of claims that the run does not judge, folded; `marks` is the HTML of their ids and verdicts."""


class GatherUnjudged(SphinxPostTransform):
    default_priority = 199  # after the code of these cells has its strip
    formats = ("html",)

    def run(self, **kwargs) -> None:
        for section in {id(cell.parent): cell.parent for cell in self.document.findall(is_cell)}.values():
            cells = [cell for cell in section.children if is_cell(cell) and "claim-not-judged" in _html(cell)]
            if cells:
                line = UnjudgedClaims("", marks=_marks(map(_html, cells)))
                section.insert(section.index(cells[-1]) + 1, line)
                for cell in cells:
                    section.remove(cell)
                    line += cell


def _html(cell: nodes.container) -> str:
    return "".join(node.astext() for node in cell.findall(nodes.raw))


def _marks(cards: Iterable[str]) -> str:
    """The claims of cards by their record's verdict, if there is one, as HTML."""
    claims: dict[str, list[str]] = {}
    for html in cards:
        verdict = _VERDICT.search(html)
        claims.setdefault(verdict[0] if verdict else "no record", []).append(_CARD.search(html)["id"])
    return "; ".join(f"{verdict} <code>{', '.join(ids)}</code>" for verdict, ids in claims.items())


def _visit(self, node: UnjudgedClaims) -> None:
    said = "Not judged in this run; the long run:"
    self.body.append(f'<details class="unjudged-claims">\n<summary>{said} {node["marks"]}</summary>\n')


def _depart(self, node: UnjudgedClaims) -> None:
    self.body.append("</details>\n")


def setup(app: Sphinx) -> dict:
    app.add_node(UnjudgedClaims, html=(_visit, _depart))
    app.add_post_transform(GatherUnjudged)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
