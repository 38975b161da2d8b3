"""A claim's gauge: what the rule allows, what was measured, and where the nearest mistake lies, as an SVG picture.

Green is what the rule allows, its edge is labelled; dots are what was measured (small ones: one for each seed), a bar
is the interval; a cross is the control, with its words below it if they are given, a ring a case outside the
conditions. What was measured and the control are numbers of one format. `book/_static/card.css` has the colours of the
dark scheme and of print; the attributes here serve where no style sheet is.
"""

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from ..claims.judging import Reading
from ..claims.plain import chosen, number
from ..claims.rules import Rule
from ..claims.statistics import Sample

WIDTH, HEIGHT = 250, 58
_TOP, _MIDDLE, _AXIS, _BELOW = 10, 26, 37, 52  # heights of the rule's label, the dots, the axis, the numbers
_DECADES = 2.0  # beyond this span the scale is logarithmic
_LETTER = 6.0  # width of a letter in the units of the picture
_LINE = 13  # height of a line of the control's words
_MOST_SEEDS = 60  # small dots drawn at most


@dataclass(frozen=True)
class Scale:
    """From a value to its place, linear or logarithmic; 0 on a logarithmic scale is drawn at its left end."""

    low: float
    high: float
    log: bool

    @classmethod
    def of(cls, values: Iterable[float]) -> "Scale":
        """A scale on which all these values lie, with a margin."""
        finite = [v for v in values if math.isfinite(v)]
        positive = [v for v in finite if v > 0]
        log = min(finite) >= 0 and bool(positive) and max(positive) > 10**_DECADES * min(positive)
        least = min(positive) / 10 if log and min(finite) == 0 else None
        ends = [math.log10(v if v > 0 else least) if log else v for v in (min(finite), max(finite))]
        margin = 0.09 * (ends[1] - ends[0]) or 0.5 * abs(ends[0]) or 0.5
        return cls(ends[0] - margin, ends[1] + margin, log)

    def __call__(self, value: float) -> float:
        if value == math.inf or value == -math.inf:
            return WIDTH if value > 0 else 0.0
        at = (math.log10(value) if value > 0 else self.low) if self.log else value
        return min(max((at - self.low) / (self.high - self.low), 0.0), 1.0) * WIDTH


def gauge(rule: Rule, reading: Reading, words: str = "") -> str:
    """The picture as SVG, with the control's `words` at its mark; empty for a reading without a finite number."""
    observed, control, outside = (list(arm.values()) for arm in (reading.observed, reading.control, reading.outside))
    edges = [edge for edge in rule.range if math.isfinite(edge)]
    intervals = [sample.interval() for sample in observed]
    shown = [x for sample in observed for x in _seeds(sample)] + [x for ends in intervals for x in ends]
    values = [*shown, *edges, *(s.estimate for s in (*observed, *control, *outside))]
    if not any(math.isfinite(s.estimate) for s in observed):
        return ""
    x = Scale.of(values)
    worst = chosen("worst", rule, reading.observed).estimate
    nearest = chosen("control", rule, reading.control).estimate if control else None
    digits = _digits(worst, nearest, edges) if control else 2
    parts = [*_zone(rule, x), *_marks(observed, intervals, control, outside, x)]
    named = f"{words}: {number(nearest, digits)}".removeprefix(": ") if control else ""
    lines = textwrap.wrap(f"✕ {named}", int(WIDTH / _LETTER)) if control and words else []
    parts += _numbers(x, worst, None if lines else nearest, digits)
    below = (_BELOW + _LINE * k for k in range(1, len(lines) + 1))
    parts += [_text(line, x(nearest), y, "control-label", "#b04a00") for line, y in zip(lines, below, strict=True)]
    label = f"measured {number(worst, digits)}; the rule: {rule}" + (f"; the control: {named}" if control else "")
    height = HEIGHT + _LINE * len(lines)
    return (
        f'<svg class="gauge" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="{escape(label)}" font-size="11" font-family="system-ui, sans-serif">{"".join(parts)}</svg>'
    )


def _digits(worst: float, nearest: float, edges: list[float]) -> int:
    """How many digits tell the control from what was measured and from the rule; 2 where not even four do."""
    for digits in (2, 3, 4):
        control, *others = (float(f"{value:.{digits}g}") for value in (nearest, worst, *edges))
        if control not in others:
            return digits
    return 2


def _seeds(sample: Sample) -> tuple[float, ...]:
    return () if sample.trials or not sample.by_chance else sample.values[:_MOST_SEEDS]


def _zone(rule: Rule, x: Scale) -> Iterable[str]:
    """What the rule allows, its edges, and a number at one of them."""
    low, high = (x(edge) for edge in rule.range)
    if high - low < 6:
        low, high = (low + high) / 2 - 3, (low + high) / 2 + 3
    size = f'y="{_TOP + 6}" width="{high - low:.1f}" height="{_AXIS - _TOP - 6}"'
    yield f'<rect class="allowed" x="{low:.1f}" {size} fill="#cdeadf"/>'
    yield f'<path class="axis" d="M0 {_AXIS}H{WIDTH}" stroke="#888"/>'
    finite = [edge for edge in rule.range if math.isfinite(edge)]
    for edge in dict.fromkeys(finite):
        at = f"M{x(edge):.1f} {_TOP + 4}V{_AXIS + 4}"
        yield f'<path class="edge" d="{at}" stroke="#00563f" stroke-dasharray="3 2"/>'
    name = {"at_most": "≤ ", "at_least": "≥ "}.get(rule.name, "")
    edges = "to".join(f" {_edge(edge)} " for edge in dict.fromkeys(finite)).strip()
    yield _text(f"{name}{edges}", sum(map(x, finite)) / len(finite), _TOP, "edge-label", "#00563f")


def _edge(value: float) -> str:
    plain = f"{value:.4g}".replace("-", "−")
    return number(value, 3) if "e" in plain else plain


def _marks(observed: list, intervals: list, control: list, outside: list, x: Scale) -> Iterable[str]:
    for low, high in intervals:
        if high > low:
            yield f'<path class="interval" d="M{x(low):.1f} {_MIDDLE}H{x(high):.1f}" stroke="#222" stroke-width="2"/>'
    for sample in observed:
        for value in _seeds(sample):
            yield f'<circle class="seed" cx="{x(value):.1f}" cy="{_MIDDLE}" r="2.4" fill="#222" fill-opacity=".25"/>'
    for sample in observed:
        yield f'<circle class="measured" cx="{x(sample.estimate):.1f}" cy="{_MIDDLE}" r="4" fill="#222"/>'
    for sample in outside:
        at = f'cx="{x(sample.estimate):.1f}" cy="{_MIDDLE}"'
        yield f'<circle class="outside" {at} r="4" fill="none" stroke="#0072B2" stroke-width="1.8"/>'
    for sample in control:
        at = f"M{x(sample.estimate) - 4:.1f} {_MIDDLE - 4}l8 8m0 -8l-8 8"
        yield f'<path class="control" d="{at}" stroke="#b04a00" stroke-width="2.2" fill="none"/>'


def _numbers(x: Scale, worst: float, nearest: float | None, digits: int) -> Iterable[str]:
    """The worst value and, where there is room, that of the nearest mistake."""
    measured = number(worst, digits)
    yield _text(measured, x(worst), _BELOW, "measured-label", "#222")
    if nearest is None:
        return
    words = f"{number(nearest, digits)} control"
    room = _LETTER * (len(words) + len(measured)) / 2 + 4
    if abs(_clamped(words, x(nearest)) - _clamped(measured, x(worst))) > room:
        yield _text(words, x(nearest), _BELOW, "control-label", "#b04a00")


def _clamped(words: str, at: float) -> float:
    half = _LETTER * len(words) / 2
    return min(max(at, half), WIDTH - half)


def _text(words: str, at: float, y: float, name: str, colour: str) -> str:
    place = f'x="{_clamped(words, at):.1f}" y="{y}" text-anchor="middle"'
    return f'<text class="{name}" {place} fill="{colour}">{escape(words)}</text>'
