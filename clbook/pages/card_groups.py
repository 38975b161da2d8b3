"""A Sphinx extension: neighbouring cards are one card with a row for each claim, and an identity is a row by itself.

A row has the verdict, the headline and the gauge; what was found, and how, opens below it. Notebooks keep whole cards.
"""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from .folded_code import FoldedCode, is_cell

_CARD = re.compile(
    r'^<div class="claim (?P<kinds>[^"]*)"(?P<rest>[^>]*)>'
    r'<p class="claim-head"[^>]*>(?P<head>.*?)</p>(?P<body>.*)</div>$',
    re.DOTALL,
)
_GAUGE = re.compile(r'<svg[^>]*class="gauge.*?</svg>', re.DOTALL)


class GroupCards(SphinxPostTransform):
    default_priority = 200  # after code is folded and unjudged claims are gathered
    formats = ("html",)

    def run(self, **kwargs) -> None:
        for section in {id(cell.parent): cell.parent for cell in self.document.findall(is_cell)}.values():
            for group in list(_groups(section)):
                first = group[0]
                if len(group) > 1:
                    rows = "\n".join(as_row(card.astext()) for card in group)
                    first.parent.replace(
                        first, nodes.raw("", f'<div class="claim-group">\n{rows}\n</div>', format="html")
                    )
                    for card in group[1:]:
                        _remove(card, section)
                elif "claim-identity" in first.astext()[:200]:
                    first.parent.replace(first, nodes.raw("", as_row(first.astext()), format="html"))


def as_row(card: str) -> str:
    """A card whose text opens below its headline; what is no card stays as it is."""
    match = _CARD.match(card.strip())
    if not match:
        return card
    gauge = _GAUGE.search(match["body"])
    body = _GAUGE.sub("", match["body"], count=1)
    opening = f'<div class="claim claim-row {match["kinds"]}"{match["rest"]}>'
    folded = f'<details><summary class="claim-head">{match["head"]}</summary>{body}</details>'
    return f"{opening}{folded}{gauge[0] if gauge else ''}</div>"


def _groups(section: nodes.Element) -> Iterator[list[nodes.raw]]:
    """The cards between two pieces of prose or of output, in order."""
    group: list[nodes.raw] = []
    for node in [*section.children, None]:
        card = _card(node) if node is not None and is_cell(node) else None
        if card is not None:
            group.append(card)
        elif group and not isinstance(node, FoldedCode | nodes.comment | nodes.target):
            yield group
            group = []


def _card(cell: nodes.container) -> nodes.raw | None:
    """The card that a cell shows, if it shows nothing else."""
    shown = list(cell.findall(nodes.raw))
    html = [node for node in shown if "html" in node.get("format", "")]
    return html[0] if len(html) == 1 and html[0].astext().startswith('<div class="claim ') else None


def _remove(card: nodes.raw, section: nodes.Element) -> None:
    """Take a card away with the boxes that hold nothing else."""
    node: nodes.Node = card
    while node.parent is not section and len(node.parent.children) == 1:
        node = node.parent
    if is_cell(node.parent) and len(node.parent.children) == 1:
        node = node.parent
    node.parent.remove(node)


def setup(app: Sphinx) -> dict:
    app.add_post_transform(GroupCards)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
