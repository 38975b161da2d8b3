"""Verdicts on a page: each has its colour, readable in both schemes; symbol and word say the same without it."""

import re

import pytest
from checkout import ROOT

from clbook.claims.claim_table import VERDICTS

SHEET = (ROOT / "book" / "_static" / "verdicts.css").read_text(encoding="utf-8")
RULE = re.compile(r"^(?P<dark>html\[data-theme=\"dark\"\] )?\.verdict-(?P<kind>[\w-]+) +\{(?P<body>.*)\}", re.MULTILINE)
COLOUR = re.compile(r"(--verdict-\w+): *(#\w{6})")


def colours(scheme: str) -> dict[str, dict[str, str]]:
    """Verdict -> its colours in one scheme, `--verdict-word` and `--verdict-ground`."""
    rules = [rule for rule in RULE.finditer(SHEET) if bool(rule["dark"]) == (scheme == "dark")]
    return {rule["kind"]: dict(COLOUR.findall(rule["body"])) for rule in rules if COLOUR.search(rule["body"])}


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    dark, light = sorted((luminance(a), luminance(b)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == 21
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_verdict_is_readable_in_its_own_colours(scheme):
    found = colours(scheme)
    assert set(found) == {verdict.replace(" ", "-") for verdict in VERDICTS}
    assert len({tuple(own.values()) for own in found.values()}) == len(VERDICTS)
    poor = {kind: contrast(own["--verdict-word"], own["--verdict-ground"]) for kind, own in found.items()}
    assert {kind: ratio for kind, ratio in poor.items() if ratio < 4.5} == {}


def test_the_ground_goes_with_the_word():
    base = re.search(r"^\.verdict.*?\{(.*?)\}", SHEET, re.DOTALL | re.MULTILINE)[1]
    assert "color: var(--verdict-word)" in base and "background-color: var(--verdict-ground)" in base
