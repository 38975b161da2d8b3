"""A Sphinx extension: the folded code between two paragraphs is one strip, named by what it does.

Outputs of cells tagged `hide-input` keep their places; their code follows as "the run: 3 steps, 41 lines". Short runs
of one section share a strip. The code of a picture stands below the picture, and the folded cells of a solution, or of
cards, with their outputs, are one strip, too.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

ENOUGH, FEW = 70, 15  # lines: a run joins the strip above it if that has not enough, or if the run itself has few
_PICTURE = re.compile(r"\bglue\.(figure|explorable|animation)\(")
_RUN = re.compile(r"\bchapter\.(judge|piece|library_piece)\(")


class FoldedCode(nodes.Element):
    """Folded code with its `name`, which is also what a screen reader says."""


class FoldCode(SphinxPostTransform):
    default_priority = 198  # before myst-nb gives each cell a box of its own
    formats = ("html",)

    def run(self, **kwargs) -> None:
        for section in {id(cell.parent): cell.parent for cell in self.document.findall(is_cell)}.values():
            strip = None
            for block in list(_blocks(section)):
                if _hides_all(block[0]):
                    _fold_solution(section, block)
                else:
                    strip = _fold(section, block, strip)


def is_cell(node: nodes.Node) -> bool:
    """Whether a node is a code cell of a notebook."""
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


def _hides_all(cell: nodes.container) -> bool:
    return cell.get("hide_mode") == "all"


def _blocks(section: nodes.Element) -> Iterator[list[nodes.container]]:
    """The code cells between two pieces of prose; cells that are folded with their outputs are a block of their own."""
    block: list[nodes.container] = []
    for node in [*section.children, None]:
        more = node is not None and is_cell(node)
        if block and not (more and _hides_all(node) == _hides_all(block[-1])):
            yield block
            block = []
        if more:
            block.append(node)


def _fold_solution(section: nodes.Element, block: list[nodes.container]) -> None:
    """Put one strip with code and outputs, of a solution or of cards, in the place of a block."""
    sources = [cell[0] for cell in block]
    cards = sum("chapter.judge(" in source.astext() for source in sources)
    name = f"{cards} card{'s' * (cards > 1)}" if cards else _name("code of this solution", sources)
    strip = FoldedCode("", name=name)
    section.insert(section.index(block[0]), strip)
    for cell in block:
        section.remove(cell)
        strip += cell.children


def _fold(section: nodes.Element, block: list[nodes.container], strip: FoldedCode | None) -> FoldedCode | None:
    """Move the folded code of a block below it, that of a picture below the picture; return the section's last strip.

    Args:
        strip: the strip above, which moves below the block if the block's code joins it.
    """
    pictures, steps = [], []
    after = section.index(block[-1]) + 1
    end = _below_figure(section, after)
    for cell in [cell for cell in block if cell.get("hide_mode") == "input"]:
        source = cell.pop(0)
        is_seen = end > after or bool(cell.children)  # below the block, or in the cell's own output
        (pictures if is_seen and _PICTURE.search(source.astext()) else steps).append(source)
        del cell["hide_mode"]
    if pictures:
        section.insert(end, FoldedCode("", *pictures, name=_name("code of this picture", pictures)))
    if steps:
        if strip and (_lines(strip) < ENOUGH or _lines(steps) < FEW):
            section.remove(strip)
        else:
            strip = FoldedCode()
        strip += steps
        strip["name"] = _name(_purpose(strip), strip)
        section.insert(section.index(block[-1]) + 1, strip)
    for cell in block:
        if not cell.children:
            section.remove(cell)
    return strip


def _below_figure(section: nodes.Element, at: int) -> int:
    """The place below the figure that stands at a place, with what `record-figure` folds under it; or that place."""
    end = at
    while end < len(section) and isinstance(section[end], nodes.figure | nodes.raw | nodes.target):
        end += 1
    return end if any(isinstance(node, nodes.figure) for node in section[at:end]) else at


def _purpose(sources: Iterable[nodes.Node]) -> str:
    texts = [source.astext() for source in sources]
    if any("open_chapter(" in text for text in texts):
        return "parameters and set-up"
    return "the run" if any(_RUN.search(text) for text in texts) else "the code"


def _lines(sources: Iterable[nodes.Node]) -> int:
    return sum(bool(line.strip()) for source in sources for line in source.astext().splitlines())


def _name(purpose: str, sources: Sequence[nodes.Node]) -> str:
    steps, lines = len(sources), _lines(sources)
    counted = [f"{steps} steps"] * (steps > 1) + [f"{lines} line{'s' * (lines != 1)}"]
    return f"{purpose}: {', '.join(counted)}"


def _visit(self, node: FoldedCode) -> None:
    self.body.append(f'<details class="folded-code">\n<summary>{escape(node["name"])}</summary>\n<div class="cell">\n')


def _depart(self, node: FoldedCode) -> None:
    self.body.append("</div>\n</details>\n")


def setup(app: Sphinx) -> dict:
    app.add_node(FoldedCode, html=(_visit, _depart))
    app.add_post_transform(FoldCode)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
