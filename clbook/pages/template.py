"""Templates of generated pages: `templates/NAME.md.j2` in Markdown, `templates/NAME.html.j2` in HTML, by Jinja2.

Every value is escaped by `in_html` or `in_markdown` of `claim_marks`, unless it is HTML already. The latter leaves
formulas as they are: in Markdown, a value in a tag takes the filter `e`.
"""

import re
from functools import cache
from pathlib import Path

from ..common.errors import BookError
from . import claim_marks, claim_words

_FOLDER = Path(__file__).with_name("templates")
_FUNCTIONS = (
    *(claim_marks.badge, claim_marks.chapter_link, claim_marks.count_line, claim_marks.labelled, claim_marks.row_link),
    *(claim_words.explanation, claim_words.required, claim_words.sentence, claim_words.show_arm),
)


@cache
def _environment():
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
    except ImportError:
        raise BookError("jinja2 is not installed: install the extra 'book'") from None

    @pass_context
    def finalize(context, value: object) -> object:
        is_html = context.name.endswith(".html.j2")
        return claim_marks.in_html(value) if is_html else claim_marks.in_markdown(value)

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        finalize=finalize,  # before Jinja2's own escaping, which writes quotation marks as numbers
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"e": claim_marks.in_html, "one_line": claim_marks.one_line, "typeset": claim_marks.typeset}
    environment.globals |= {function.__name__: function for function in _FUNCTIONS} | {"style": claim_marks.STYLE}
    return environment


def fill(name: str, **values: object) -> claim_marks.Html:
    """A template with values in its places; what is left out leaves no more than one empty line."""
    page = _environment().get_template(f"{name}.j2").render(values)
    return claim_marks.Html(re.sub(r"\n{3,}", "\n\n", page).strip())
