"""A Sphinx extension: the directive `strip` sets a formula beside the line that computes it, row by row.

    ```{strip}
    $\\dot q=-2[2Λq-Λqqᵀq-qqᵀΛq]$ | constrained_flow.output_velocity
    $\\dot W=-(I-WWᵀ)G$, both layers | cell: v1, v2 =
    ```

On the left stands Markdown, on the right `module.function` of the kernels, whose body is shown without docstring and
checks, or `module.function: fragment`, for the one statement that contains the fragment. `cell: fragment` is a
statement of a code cell of the page. The right column is read from the source when the pages are built, so that it
cannot drift: a statement that is gone is an error. A row without a left side adds lines to the row above it.
"""

import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ..common.errors import BookError
from .source_lines import CELL, cells_of, lines_of

MOST_ROWS, MOST_LINES = 5, 12
_BREAK = re.compile("[._]")  # a long name may break after these
_PLACE = '<code class="docutils literal notranslate place">{}</code>'
_ROW = re.compile(r"^(?P<left>.*?) ?\| (?P<place>[\w.]+)(?:: (?P<fragment>.+))?$")


class Strip(SphinxDirective):
    has_content = True

    def run(self) -> list[nodes.Node]:
        rows = [self._row(line) for line in self.content if line.strip()]
        lines = sum(code.count("\n") + 1 for _, _, code in rows)
        if not 1 <= len(rows) <= MOST_ROWS or lines > MOST_LINES:
            got = f"{len(rows)} and {lines}"
            raise self.error(f"strip: must have 1..{MOST_ROWS} rows and at most {MOST_LINES} lines of code, got {got}")
        listed, previous = nodes.definition_list(), None
        for left, place, code in rows:
            if left or previous is None:
                listed += nodes.definition_list_item("", self._formula(left), nodes.definition())
            term, shown = listed[-1].children
            if place != CELL and (left or place != previous):
                term += [nodes.Text(" "), nodes.raw("", _PLACE.format(_BREAK.sub(r"\g<0><wbr>", place)), format="html")]
            shown += nodes.literal_block(code, code, language="python")
            previous = place
        return [nodes.container("", listed, classes=["code-strip"])]

    def _row(self, line: str) -> tuple[str, str, str]:
        """The left side, the place and the lines of code of a row."""
        if not (match := _ROW.match(line.strip())):
            raise self.error(f"strip: a row must be 'formula | module.function: fragment', got {line.strip()!r}")
        place, fragment = match["place"], match["fragment"] or ""
        try:
            return match["left"].strip(), place, lines_of(place, fragment, cells_of(Path(self._page)))
        except BookError as error:
            raise self.error(f"strip: {error}") from None

    @property
    def _page(self) -> str:
        return str(self.env.doc2path(self.env.docname))

    def _formula(self, text: str) -> nodes.term:
        parsed = nodes.Element()
        self.state.nested_parse(StringList([text], self._page), self.content_offset, parsed)
        return nodes.term("", "", *(part for paragraph in parsed.children for part in paragraph.children))


def setup(app: Sphinx) -> dict:
    app.add_directive("strip", Strip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
