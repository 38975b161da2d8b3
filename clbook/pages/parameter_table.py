"""A Sphinx extension: a chapter's parameters as a folded table, each with the command that runs the chapter with it."""

import shlex
from html import escape
from pathlib import PurePosixPath

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from ..common.parameters import Parameter, read_parameters, value_text
from ..common.sources import Cell
from .folded_code import is_cell

_TAG = "tag_parameters"
_HEADS = ("name", "value here", "range", "meaning", "copy the command")


class ParameterTable(SphinxPostTransform):
    default_priority = 197  # before the cell's code is folded
    formats = ("html",)

    def run(self, **kwargs) -> None:
        if not getattr(self.config, "record_figures", True):
            return  # the page of a run has a table of its own, with that run's values
        for cell in list(self.document.findall(is_cell)):
            if _TAG in cell["classes"]:
                table = parameter_table(cell[0].astext(), PurePosixPath(self.env.docname).name)
                cell.parent.insert(cell.parent.index(cell), nodes.raw("", table, format="html"))


def parameter_table(source: str, chapter: str) -> str:
    """The parameters that a cell's source defines, one a row, as folded HTML."""
    parameters = read_parameters([Cell(source, False, ("parameters",))], chapter).values()
    heads = "".join(f"<th>{head}</th>" for head in _HEADS)
    rows = "\n".join(f"<tr>{''.join(f'<td>{part}</td>' for part in _row(p, chapter))}</tr>" for p in parameters)
    return (
        f'<details class="parameters"><summary>parameters: {len(parameters)}, each can be changed</summary>\n'
        f'<div class="pst-scrollable-table-container"><table class="table"><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div></details>"
    )


def _row(parameter: Parameter, chapter: str) -> tuple[str, ...]:
    value = value_text(parameter.default)
    option = f"-p {shlex.quote(f'{parameter.name}={value}')}"
    limits = parameter.range.replace("..", " to ").replace("|", ", ")
    command = f'<code class="command" data-command="clbook run {chapter} {escape(option)}">{escape(option)}</code>'
    return f"<code>{escape(parameter.name)}</code>", escape(value), escape(limits), escape(parameter.meaning), command


def setup(app: Sphinx) -> dict:
    app.add_post_transform(ParameterTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
