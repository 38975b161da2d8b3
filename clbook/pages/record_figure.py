"""A Sphinx extension: the directive `record-figure` shows a record's picture in a figure's place.

    ````{record-figure} plot-fig-4
    :alt: What the record's picture shows, in a sentence.
    :name: plot-fig-4
    :profile: paper

    The caption of the record's picture.

    ```{glue:figure} plot-fig-4
    :alt: What the default run's picture shows.
    :name: plot-fig-4-default

    The caption of the default run's picture.
    ```
    ````

The first paragraph is the caption; below it stands what made the record. Whatever follows is folded under the figure.
With `record_figures = False`, on the page of a run that a reader made, only what follows is shown, unfolded.
"""

import json
from pathlib import Path, PurePosixPath

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ..common.pictures import size_on_page
from ..common.sources import APPENDIX

FOLDED = "The same figure from the default run"
ORIGINS = "book/_generated/records.json"  # chapter/profile -> what made it, written by book_pages


class RecordFigure(SphinxDirective):
    required_arguments = 1
    has_content = True
    option_spec = {"alt": directives.unchanged_required, "name": directives.unchanged, "profile": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        parsed = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, parsed)
        caption, *rest = parsed.children or [None]
        if not isinstance(caption, nodes.paragraph):
            raise self.error(f"{self.name} {self.arguments[0]}: the first paragraph must be a caption")
        if not self.config.record_figures:
            return rest
        return [self._figure(caption), *(_folded(rest) if rest else [])]

    def _figure(self, caption: nodes.paragraph) -> nodes.figure:
        page, profile = PurePosixPath(self.env.docname).name, self.options.get("profile", "paper")
        chapter = page.removesuffix(APPENDIX)  # both notebooks of a chapter have one record
        source = f"records/{chapter}/{profile}/{self.arguments[0]}.png"
        path = Path(self.env.srcdir, source)
        if "alt" not in self.options or not path.is_file():
            missing = f"a picture {source}" if "alt" in self.options else "an option alt"
            raise self.error(f"{self.name} {self.arguments[0]}: must have {missing}, got none")
        self.env.note_dependency(source)
        width = f"{size_on_page(path.read_bytes())[0]}px"
        figure = nodes.figure("", nodes.image(uri=f"/{source}", alt=self.options["alt"], width=width))
        figure += nodes.caption(caption.rawsource, "", *caption.children)
        if origin := _origins(Path(self.env.srcdir)).get(f"{chapter}/{profile}"):
            figure += nodes.legend("", nodes.paragraph("", origin))
        self.set_source_info(figure)
        self.add_name(figure)
        return figure


def _origins(book: Path) -> dict[str, str]:
    path = book / ORIGINS
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _folded(content: list[nodes.Node]) -> list[nodes.Node]:
    opened = f'<details class="default-run"><summary>{FOLDED}</summary>'
    return [nodes.raw("", opened, format="html"), *content, nodes.raw("", "</details>", format="html")]


def setup(app: Sphinx) -> dict:
    app.add_config_value("record_figures", True, "env", [bool])
    app.add_directive("record-figure", RecordFigure)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
