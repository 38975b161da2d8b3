"""Templates of the plain sentences of a claim: what may stand in them, and whether they say enough.

A row's `plain` is a list of sentences. The first is the headline, the others name what was measured and what the
control gives. A place in braces is filled from the reading:

- `{worst}` the observed case that comes nearest to missing the rule, or misses it most; `{least}`, `{most}`;
- `{control}`, `{outside}` the case that comes nearest to meeting the rule, which these arms must miss;
- `{mended}`, `{planted}`, `{advocate}` the worst case; `{observed[CASE]}`, and `[CASE]` after any arm, one case;
- `{interval}` of the case that decides, `{interval[CASE]}`; `{cases}`, `{seeds}`, `{rule}` (its number).

After a colon: a digit is the number of significant digits (2 without one), `%` per cent, `^` an exponent, `n` a whole
number, `°` degrees of an angle in radians, `x` times.
"""

import re
from collections.abc import Iterator
from string import Formatter

from ..common.errors import BookError

ARMS = ("observed", "control", "outside", "mended", "planted", "advocate")
PLACE = re.compile(r"^(?P<name>[a-z]+)(?:\[(?P<case>.*)\])?$")
_NAMES = (*ARMS, "worst", "least", "most", "interval", "cases", "seeds", "rule")
_QUANTITY, _CONTROL = ("worst", "least", "most", "observed", "interval"), ("control", "planted")
# A sentence on the control alone with its one number, which a gauge can say at the control's mark.
CONTROL = re.compile(r"(?:^|(?<=\s))As a control, [^{}]*\{control(?::[^{}]*)?\}[^{}]*?\.(?:\s+(?=[A-Z“])|\s*$)")
_SPEC = re.compile(r"^(?:[1-6]|%|\^|n|°|x)?$")
_TYPED = re.compile(r"\d\.\d|\d\s?%|10[⁻⁰¹²³⁴-⁹]")


def check(templates: tuple[str, ...], where: str) -> None:
    """Raise BookError for sentences that cannot be filled or say too little."""
    if templates and (wrong := problem(templates)):
        raise BookError(f"{where}: {wrong}")


def problem(templates: tuple[str, ...]) -> str:
    """What is wrong with the sentences of a row, in words; empty if nothing is."""
    try:
        places = [place for template in templates for place in _places(template)]
    except ValueError as unbalanced:
        return f"plain: {unbalanced}"
    if len(templates) < 2:
        return "plain must be a headline and at least one sentence on what was measured"
    for field, spec in places:
        match = PLACE.match(field)
        if not match or match["name"] not in _NAMES or not _SPEC.match(spec):
            return f"plain: {{{field}{':' if spec else ''}{spec}}} is no place; names are {', '.join(_NAMES)}"
    names = {field.partition("[")[0] for field, _ in places}
    for wanted in (_QUANTITY, _CONTROL):
        if not names.intersection(wanted):
            return f"plain must show what was measured and the control, one of {', '.join(wanted)}"
    literal = "".join(text for template in templates for text, *_ in Formatter().parse(template))
    if typed := _TYPED.search(literal):
        return f"plain: a number that a run makes is not typed, got {typed[0]!r}"
    return ""


def _places(template: str) -> Iterator[tuple[str, str]]:
    return ((field, spec) for _, field, spec, _ in Formatter().parse(template) if field is not None)
