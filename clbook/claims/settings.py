"""Numbers of a run in the words about it: `{minibatches}` in a row's setting is that parameter's value in the run."""

import re
from collections.abc import Mapping

NAME = re.compile(
    r"(?<![\w}^_\\])\{([a-z]\w*)(:count)?\}"
)  # not a group of a formula, which follows a letter or a sign
FIELDS = ("regime", "statistic", "control")
COUNTS = "no one two three four five six seven eight nine ten eleven twelve".split()


def named(text: str) -> set[str]:
    """The parameters that a text names in braces."""
    return {match[1] for match in NAME.finditer(text)}


def filled(text: str, parameters: Mapping[str, object]) -> str:
    """A text with the values of a run's parameters; with `:count`, how many values a list has, in words up to twelve.

    A parameter that the run lacks stays, as code.
    """

    def value(match: re.Match) -> str:
        if match[1] not in parameters:
            return f"`{match[1]}`"
        given = parameters[match[1]]
        if match[2]:
            return COUNTS[len(given)] if len(given) < len(COUNTS) else f"{len(given):,}"
        return ", ".join(_shown(one) for one in (given if isinstance(given, list | tuple) else [given]))

    return NAME.sub(value, text)


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
