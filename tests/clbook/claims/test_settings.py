"""What a row says of its run has the run's numbers, whatever a reader changed."""

import re

import pytest
from checkout import ROOT

from clbook.claims.claim_table import Claim, Claims
from clbook.claims.settings import COUNTS, FIELDS, filled, named
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.provenance.digests import ChapterDigests
from clbook.provenance.slices import ChapterCode

RUN = {"steps": 5000, "widths": [10, 100], "many": list(range(30)), "rate": 0.5, "text": "moons"}
# Typed on purpose: what these rows judge is a part of a list, or the least with which they are judged.
PARTS = {
    "collapse-and-constraints": {"lem-1-d", "thm-1-d", "fig-4b", "contribution-5"},
    "alignment-and-balance": {"lem-b12", "thm-4.3a-2"},
    "one-testbed": {"robust"},
}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{steps} steps", "5,000 steps"),
        ("{widths:count} widths: {widths}", "two widths: 10, 100"),
        ("{many:count} of them at {rate}, {text}", "30 of them at 0.5, moons"),
        ("{lost} steps", "`lost` steps"),
        (
            r"$\\sqrt{steps}$, $x_{steps}$, $10^{steps}$, $\\frac{rate}{steps}$",
            r"$\\sqrt{steps}$, $x_{steps}$, $10^{steps}$, $\\frac{rate}{steps}$",
        ),
        ("{Steps} {0} { steps }", "{Steps} {0} { steps }"),
    ],
)
def test_a_text_is_filled_from_the_run_and_a_formula_stays(text, shown):
    assert filled(text, RUN) == shown


def test_a_row_of_a_run_differs_in_its_words_alone():
    row = Claim(
        "thm-1", "Theorem 1", "x", "bound", regime="{steps} steps", statistic="s", control="{rate} in place of 1"
    )
    told = row.of_run(RUN)
    assert (told.regime, told.statistic, told.control) == ("5,000 steps", "s", "0.5 in place of 1")
    assert told.verdict_key() == row.verdict_key() and row.of_run({}).regime == "`steps` steps"


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_a_count_that_a_parameter_sets_is_not_typed(name):
    files = ChapterFiles.find(name, ROOT)
    code, claims = ChapterCode(files), Claims.load(files.claims)
    digests, typed, filled_in = ChapterDigests(code, {}), [], 0
    for claim in (claim for claim in claims.rows if claim in code.claims):
        read = {p: digests.parameters[p] for p in digests.reads(claim) if p in digests.parameters}
        for text in (getattr(claims.rows[claim], field) for field in FIELDS):
            assert named(text) <= read.keys(), (claim, named(text) - read.keys())
            filled_in += len(named(text))
            typed += [claim for p, v in read.items() if _typed(text, p, v) and claim not in PARTS.get(name, ())]
    assert typed == [] and (filled_in > 0 or name == "alignment-and-balance")


def _typed(text: str, parameter: str, value: object) -> bool:
    """Whether a text counts what a parameter counts: `five widths` of `init_widths`, `500 steps` of `image_steps`."""
    noun = parameter.rpartition("_")[2].rstrip("s")
    if isinstance(value, list | tuple):
        return bool(re.search(rf"\b({'|'.join(COUNTS[2:])}) {noun}s\b", text))
    return isinstance(value, int) and bool(re.search(rf"(?<![\w.,])({value}|{value:,}) {noun}s\b", text))
