"""How a claim looks in a notebook: one compact line, the verdict by shape and word, never by colour alone."""

import json
from html import escape

from ..claims.claim_table import VERDICTS, Reading, Verdict
from ..claims.statistics import Sample
from ..provenance.stamps import MIME

_LINE = "border-left:4px solid #888;padding:.25em .7em;margin:.3em 0;line-height:1.5"
_WORD = "font-weight:600;border:1px solid currentColor;border-radius:1em;padding:.05em .6em;white-space:nowrap"
_ARMS = {
    "observed": "observed",
    "control": "control",
    "mended": "mended form",
    "outside": "outside the conditions",
    "planted": "planted case",
}


class Line:
    """A line with a plain and an HTML form; where a result is stored, JSON beside them.

    It is a text, since a notebook would sort the cases of a claim by name.
    """

    def __init__(self, plain: str, html: str, data: dict | None = None):
        self.plain, self.html, self.data = plain, html, data

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        bundle = {"text/plain": self.plain, "text/html": self.html}
        return bundle | ({MIME: json.dumps(self.data, ensure_ascii=False)} if self.data is not None else {})

    def __repr__(self) -> str:
        return self.plain


def verdict_line(verdict: Verdict) -> Line:
    """Id and verdict alone: what nbval compares."""
    word, claim = verdict.verdict, verdict.claim.id
    html = (
        f'<div class="claim" id="{claim}" style="{_LINE}"><code>{claim}</code> '
        f'<span class="claim-verdict" style="{_WORD}">{VERDICTS[word]} {word}</span></div>'
    )
    return Line(f"{claim}: {word}", html)


def not_judged_line(claim: str) -> Line:
    """Stands for a claim whose regime this run does not reach: what nbval compares."""
    text = f"{claim}: not judged, the parameters of this run are outside the claim's regime"
    html = f'<div class="claim" id="{claim}" style="{_LINE}"><code>{claim}</code>{escape(text[len(claim) :])}</div>'
    return Line(text, html)


def no_values_line(claim: str) -> Line:
    """In the place of the values of a claim that is not judged."""
    text = f"{claim}: a verdict from a run within its regime, if one is stored, is on the claims page"
    return Line(text, f'<div style="{_LINE}"><code>{claim}</code>{escape(text[len(claim) :])}</div>')


def show_number(value: float) -> str:
    """Four significant digits; whole numbers as such."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e6 else f"{value:.4g}"


def show_sample(sample: Sample, level: float) -> str:
    """The estimate, with its interval and size where there is chance."""
    if not sample.by_chance:
        return show_number(sample.estimate)
    low, high = sample.interval(level)
    of = f"n = {sample.size}"
    return f"{show_number(sample.estimate)} [{show_number(low)}, {show_number(high)}], {of}"


def show_arm(arm: dict[str, Sample], level: float) -> str:
    return "; ".join(f"{case + ' ' if case else ''}{show_sample(s, level)}" for case, s in arm.items())


def values_line(verdict: Verdict) -> Line:
    """What was measured beside the rule, the control and the reason: not compared by nbval."""
    claim, reading = verdict.claim, verdict.reading
    arms = {label: getattr(reading, arm) for arm, label in _ARMS.items() if getattr(reading, arm)}
    parts = [f"{label} {show_arm(values, verdict.level)}" for label, values in arms.items()]
    plain = f"{claim.id}: rule {claim.rule} | " + " | ".join(parts) + f" | {verdict.reason}"
    html = "".join(f"<span>{escape(part)}</span> · " for part in parts)
    return Line(
        plain,
        f'<div class="claim-values" style="{_LINE};font-size:.85em;color:inherit">'
        f"rule <b>{escape(str(claim.rule))}</b> · {html}<i>{escape(verdict.reason)}</i></div>",
    )


def summary_table(verdicts: dict[str, Verdict], stamp: dict) -> Line:
    """The chapter's closing line: counts, time, memory, device; carries the stored result."""
    counts = {word: sum(v.verdict == word for v in verdicts.values()) for word in VERDICTS}
    said = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
    made = f"{stamp['seconds']:.0f} s, {stamp['peak_mb']:.0f} MB, {stamp['device']}, torch {stamp['versions']['torch']}"
    return Line(f"{said} | {made}", f'<div class="claim-summary" style="{_LINE}"><b>{said}</b><br>{made}</div>', stamp)


def unjudged_line(claim_id: str, reading: Reading) -> Line:
    """Where no rules can be read (a machine without YAML): the measured values alone."""
    return Line(f"{claim_id}: {reading.to_json()}", f"<code>{claim_id}</code> {escape(str(reading.to_json()))}")
