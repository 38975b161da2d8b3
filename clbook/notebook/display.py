"""How a notebook shows results as text and HTML: a line, the values of a reading, the summary of a run."""

import json
from html import escape

from ..claims.claim_table import VERDICTS
from ..claims.judging import Reading, Verdict
from ..claims.statistics import Sample
from ..provenance.stamps import MIME

_LINE = "border-left:4px solid #888;padding:.25em .7em;margin:.3em 0;line-height:1.5"
ARM_NAMES = {
    "observed": "observed",
    "control": "control",
    "mended": "mended form",
    "outside": "outside the conditions",
    "planted": "planted case",
    "advocate": "the authors' side",
}


class Line:
    """A notebook output as plain text and HTML, and as JSON if it stores a result.

    The JSON is stored as text, since a notebook would sort the cases of a claim by name.
    """

    def __init__(self, plain: str, html: str, data: dict | None = None):
        self.plain, self.html, self.data = plain, html, data

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        bundle = {"text/plain": self.plain, "text/html": self.html}
        return bundle | ({MIME: json.dumps(self.data, ensure_ascii=False)} if self.data is not None else {})

    def __repr__(self) -> str:
        return self.plain


def show_number(value: float) -> str:
    """A number with four significant digits, or in full if it is whole and below 1e6."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e6 else f"{value:.4g}"


def show_sample(sample: Sample) -> str:
    """The estimate, with its confidence interval and sample size if it is random."""
    if not sample.by_chance:
        return show_number(sample.estimate)
    low, high = sample.interval()
    return f"{show_number(sample.estimate)} [{show_number(low)}, {show_number(high)}], n = {sample.size}"


def show_arm(arm: dict[str, Sample]) -> str:
    return "; ".join(f"{case + ' ' if case else ''}{show_sample(s)}" for case, s in arm.items())


def values(verdict: Verdict) -> list[str]:
    """Rule, arms, reason, and the claim's marks, as the text form of a card has them."""
    claim, reading = verdict.claim, verdict.reading
    arms = {label: getattr(reading, arm) for arm, label in ARM_NAMES.items() if getattr(reading, arm)}
    shown = [f"{label} {show_arm(values)}" for label, values in arms.items()]
    return [f"rule {claim.rule}", *shown, verdict.reason, *["beyond the paper"] * claim.beyond]


def summary_table(verdicts: dict[str, Verdict], stamp: dict) -> Line:
    """The chapter's last line: counts, time, memory, device; its output contains the stamp."""
    counts = {word: sum(v.verdict == word for v in verdicts.values()) for word in VERDICTS}
    text = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
    cost = f"{stamp['seconds']:.0f} s, {stamp['peak_mb']:.0f} MB, {stamp['device']}, torch {stamp['versions']['torch']}"
    html = f'<div class="claim-summary" style="{_LINE}"><b>{text}</b><br>{escape(cost)}</div>'
    return Line(f"{text} | {cost}", html, stamp)


def unjudged_line(claim_id: str, reading: Reading) -> Line:
    """The line if the rules cannot be read (on a machine without YAML): the readings alone."""
    return Line(f"{claim_id}: {reading.to_json()}", f"<code>{escape(claim_id)}</code> {escape(str(reading.to_json()))}")
