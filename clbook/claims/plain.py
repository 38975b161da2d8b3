"""What a run found for a claim, in plain sentences: templates (`sentence_templates`) filled from the stored reading."""

import math
import re
from dataclasses import replace
from html import escape
from string import Formatter

from .judging import Reading, Verdict, deciding_case
from .rules import Rule
from .sentence_templates import ARMS, CONTROL, PLACE
from .statistics import Sample

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LOWERED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹ᐟ", "−0123456789/")
_FRACTION = re.compile("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+ᐟ[⁰¹²³⁴⁵⁶⁷⁸⁹]+")  # as an exponent; its stroke is a letter that few fonts raise
_SPOKEN = 1e-3, 1e5  # numbers between these are written out


# verdict → how a headline begins that it does not bear out; what stands against a paper has a headline of its own
LEADS = dict.fromkeys(("not reproduced", "not seen"), "Not in {}: ") | {"undecided": "Open in {}: "}


class Number(str):
    """A number of the run inside a sentence, which a card sets in bold type; `raised` if it is an exponent."""

    raised = False


def sentences(verdict: Verdict, run: str = "this run") -> list[list[str]]:
    """What a verdict's reading says, sentence by sentence, as parts of which those that a run made are `Number`s.

    A sentence is left out if it names a case that this run does not have. Where the rule is not met, the headline
    begins with LEADS, and of the others those stay that show a number: they say what was measured, not what holds.
    Where it is met, it begins with the name of a run that is not the page's own.
    """
    filled = [found for template in verdict.claim.plain if (found := _filled(template, verdict))]
    lead = LEADS.get(verdict.verdict, "" if run == "this run" else "In {}: ")
    if not lead or not filled:
        return filled
    headline, *rest = filled
    if verdict.verdict in LEADS:
        rest = [parts for parts in rest if any(isinstance(part, Number) for part in parts)]
    return [[lead.format(run), *headline], *rest]


def at_control(verdict: Verdict) -> tuple[str, list[str]]:
    """What stands at the control's mark on a gauge, which adds its number, and the sentence that says the same.

    Both are empty if no sentence of the row is on the control alone, or if it names one of several cases.
    """
    said = next((match for template in verdict.claim.plain if (match := CONTROL.search(template))), None)
    if not said or not verdict.reading.control or not verdict.claim.control:
        return "", []
    return verdict.claim.control, _filled(said[0].strip(), verdict)


def without_control(verdict: Verdict) -> Verdict:
    """The verdict with a row that lacks the sentence on the control, since its gauge says it."""
    cut = (CONTROL.sub("", template).strip() for template in verdict.claim.plain)
    return replace(verdict, claim=replace(verdict.claim, plain=tuple(filter(None, cut))))


def as_text(parts: list[str]) -> str:
    """A sentence as plain text; an exponent follows a `^`."""
    return "".join(f"^{part}" if getattr(part, "raised", False) else part for part in parts)


def as_html(parts: list[str]) -> str:
    """A sentence as HTML, with its numbers in bold type."""

    def of(part: str) -> str:
        if not isinstance(part, Number):
            return _FRACTION.sub(lambda m: f"<sup>{m[0].translate(_LOWERED)}</sup>", escape(part))
        return f"<sup>{part}</sup>" if part.raised else f"<b>{part}</b>"

    return "".join(map(of, parts))


def _filled(template: str, verdict: Verdict) -> list[str]:
    """A sentence as parts; empty if the reading lacks a case that it names."""
    rule, reading, parts = verdict.claim.rule, verdict.reading, []
    try:
        for literal, field, spec, _ in Formatter().parse(template):
            parts += [literal] if field is None else [literal, _shown(_value(field, rule, reading), spec)]
    except KeyError:
        return []
    return parts


def _value(field: str, rule: Rule, reading: Reading) -> float | tuple[float, float]:
    """The value of a place; raises KeyError for a case or an arm that the reading lacks."""
    match = PLACE.match(field)
    name, case = match["name"], match["case"]
    if name == "rule":
        return rule.numbers[0]
    if name == "cases":
        return len(reading.observed)
    arm = getattr(reading, name) if name in ARMS else reading.observed
    if not arm:
        raise KeyError(name)
    if name == "interval":
        return arm[deciding_case(rule, arm) if case is None else case].interval()
    sample = arm[case] if case is not None else chosen(name, rule, arm)
    return sample.size if name == "seeds" else sample.estimate


def chosen(name: str, rule: Rule, arm: dict[str, Sample]) -> Sample:
    """The case of a non-empty arm that stands for it; `name` is the arm's, or `worst`, `seeds`, `least`, `most`."""
    samples = list(arm.values())
    if name in ("least", "most"):
        return (min if name == "least" else max)(samples, key=lambda s: s.estimate)
    passing = name in ("control", "outside")  # they must miss the rule, so their worst is the nearest to meeting it
    return (min if passing else max)(samples, key=lambda s: rule.excess(s.estimate))


def number(value: float, digits: int = 2) -> str:
    """A number with so many significant digits, very small and very large ones as a power of ten."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "undefined"
    if value == 0:
        return "0"
    if not _SPOKEN[0] <= abs(value) < _SPOKEN[1]:
        mantissa, _, power = f"{value:.{max(digits - 2, 0)}e}".partition("e")
        return f"{mantissa}·10{str(int(power)).translate(_RAISED)}".replace("-", "−")
    if float(value).is_integer():
        return f"{value:.0f}".replace("-", "−")
    rounded = float(f"{value:.{digits}g}")
    shown = f"{rounded:.0f}" if abs(rounded) >= 10 ** (digits - 1) else f"{rounded:#.{digits}g}"
    return shown.rstrip(".").replace("-", "−")


def per_cent(value: float) -> str:
    """A share in per cent with two digits; one that is not all is never shown as 100 %, and rounding stays a number."""
    if 0 < abs(value) < _SPOKEN[0] / 100:
        return number(value)
    digits = 2
    while digits < 15 and value < 1 and float(f"{100 * value:.{digits}g}") == 100:
        digits += 1
    return f"{number(100 * value, digits)} %"


def _shown(value: float | tuple[float, float], spec: str) -> Number:
    """A value as text."""
    if isinstance(value, tuple):
        return Number(_interval(*value, spec))
    if spec == "^":
        raised = Number(number(value))
        raised.raised = True
        return raised
    if spec == "%":
        return Number(per_cent(value))
    texts = {"n": lambda: f"{value:.0f}", "°": lambda: f"{number(math.degrees(value))}°"}
    texts["x"] = lambda: f"{number(value)} times"
    return Number(texts[spec]() if spec in texts else number(value, int(spec or 2)))


def _interval(low: float, high: float, spec: str) -> str:
    """`low to high`, with as many digits as tell the two ends apart."""
    for digits in (2, 3, 4):
        ends = [per_cent(x) if spec == "%" else number(x, digits) for x in (low, high)]
        if ends[0] != ends[1]:
            return " to ".join(ends)
    return ends[0]
