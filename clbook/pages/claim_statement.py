"""A Sphinx extension: the directive `claim` shows what a row of the chapter's claims states, so that it is typed once.

    ````{prf:theorem} no. 3 of the paper: its name
    :label: thm-3
    Words that the row lacks, such as references to the chapter.

    ```{claim} thm-3
    ```
    ````

It stands for the row's statement, followed by its locator. An unknown claim is an error.
"""

from functools import cache
from pathlib import Path, PurePosixPath

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ..claims.claim_table import Claims
from ..common.sources import APPENDIX
from .claim_marks import in_markdown


class ClaimStatement(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        chapter, wanted = PurePosixPath(self.env.docname).name.removesuffix(APPENDIX), self.arguments[0]
        source = f"chapters/{chapter}/claims.yaml"
        path = Path(self.env.srcdir, source)
        rows = _claims(path, path.stat().st_mtime_ns).rows if path.is_file() else {}
        if wanted not in rows:
            raise self.error(f"{self.name} {wanted}: must be a claim of {source}, which has none of this name")
        self.env.note_dependency(source)
        parsed = nodes.Element()
        self.state.nested_parse(StringList([in_markdown(rows[wanted].statement)], source), self.content_offset, parsed)
        parsed.children[-1] += [nodes.Text(" "), nodes.inline("", f"({rows[wanted].locator})", classes=["locator"])]
        return parsed.children


@cache
def _claims(path: Path, changed: int) -> Claims:
    """The claims of a file as it was when it was `changed`; reading one takes longer than a page's other directives."""
    return Claims.load(path)


def setup(app: Sphinx) -> dict:
    app.add_directive("claim", ClaimStatement)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
