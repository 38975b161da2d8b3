"""How a claim looks in a notebook: one card, with the verdict as shape and word, never as colour alone.

nbval compares only the claim's id and this run's verdict: whatever stands between two marks is blanked for it
(`chapters/nbval-sanitize.cfg`). Between the marks are the values and, if there is a record, the verdict at the paper's
size.
"""

import json
from dataclasses import dataclass
from html import escape

from ..claims.claim_table import VERDICTS, Claim
from ..claims.judging import Reading, Verdict
from ..claims.statistics import Sample
from ..provenance.stamps import MIME

_LINE = "border-left:4px solid #888;padding:.25em .7em;margin:.3em 0;line-height:1.5"
_WORD = "font-weight:600;white-space:nowrap"  # for front ends that lack book/_static/verdicts.css, which adds colour
NEAR = "near the line"
_OPEN, _CLOSE = "<!--stored-->", "<!--/stored-->"
_ARMS = {
    "observed": "observed",
    "control": "control",
    "mended": "mended form",
    "outside": "outside the conditions",
    "planted": "planted case",
    "advocate": "the authors' side",
}


class Line:
    """A line with a plain and an HTML form, and with JSON if a result is stored.

    The JSON is stored as text, since a notebook would sort the cases of a claim by name.
    """

    def __init__(self, plain: str, html: str, data: dict | None = None):
        self.plain, self.html, self.data = plain, html, data

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        bundle = {"text/plain": self.plain, "text/html": self.html}
        return bundle | ({MIME: json.dumps(self.data, ensure_ascii=False)} if self.data is not None else {})

    def __repr__(self) -> str:
        return self.plain


@dataclass(frozen=True)
class Headline:
    """The verdict of a record at a size other than this run's; if the two differ, it comes first."""

    verdict: str
    reason: str
    profile: str


def card(verdict: Verdict, headline: Headline | None = None) -> Line:
    """This run's id and verdict, which nbval compares, and the headline and measured values, which it does not."""
    return _card(verdict.claim, verdict.verdict, _badge(verdict.verdict), headline, values(verdict))


def card_not_judged(claim: Claim, headline: Headline | None = None) -> Line:
    """The card of a claim whose regime this run does not reach."""
    said = "not judged, the parameters of this run are outside the claim's regime"
    return _card(claim, said, escape(said), headline, [headline.reason] if headline else [])


def _card(claim: Claim, said: str, shown: str, headline: Headline | None, parts: list[str]) -> Line:
    """`said` and `shown` are this run's verdict as text and as HTML; everything else stands between marks.

    So does the verdict itself if it lies near the line.
    """
    size = f"at the {headline.profile}'s size" if headline else ""
    lead = also = noted = ""
    if headline and headline.verdict == said:
        also, noted = f" (also {size})", f"also {size}"
    elif headline:
        noted, lead = f"{headline.verdict} {size}", f" {_badge(headline.verdict)} {size}; this run:"
    if claim.near:
        shown, noted, said = f"{_OPEN}{shown}{_CLOSE} {NEAR}", " | ".join(filter(None, [said, noted])), NEAR
    small = " · ".join(escape(part) for part in parts)
    html = (
        f'<div class="claim" id="{claim.id}" style="{_LINE}"><code>{claim.id}</code>{_OPEN}{lead}{_CLOSE} {shown}'
        f'{_OPEN}{also}<div class="claim-values" style="font-size:.85em">{small}</div>{_CLOSE}</div>'
    )
    return Line(f"{claim.id}: {said}\n<<{' | '.join(filter(None, [noted, *parts]))}>>", html)


def _badge(word: str) -> str:
    return f'<span class="verdict verdict-{word.replace(" ", "-")}" style="{_WORD}">{VERDICTS[word]} {word}</span>'


def show_number(value: float) -> str:
    """Four significant digits; whole numbers in full."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e6 else f"{value:.4g}"


def show_sample(sample: Sample, level: float) -> str:
    """The estimate, with its interval and sample size if chance is involved."""
    if not sample.by_chance:
        return show_number(sample.estimate)
    low, high = sample.interval(level)
    of = f"n = {sample.size}"
    return f"{show_number(sample.estimate)} [{show_number(low)}, {show_number(high)}], {of}"


def show_arm(arm: dict[str, Sample], level: float) -> str:
    return "; ".join(f"{case + ' ' if case else ''}{show_sample(s, level)}" for case, s in arm.items())


def values(verdict: Verdict) -> list[str]:
    """What was measured, in words: rule, arms, reason, and the claim's marks."""
    claim, reading = verdict.claim, verdict.reading
    arms = {label: getattr(reading, arm) for arm, label in _ARMS.items() if getattr(reading, arm)}
    shown = [f"{label} {show_arm(values, verdict.level)}" for label, values in arms.items()]
    review = f"under review: {claim.review}" if claim.review not in verdict.reason else ""
    marks = [review, claim.near, "beyond the paper" if claim.beyond else ""]
    return [f"rule {claim.rule}", *shown, verdict.reason, *filter(None, marks)]


def summary_table(verdicts: dict[str, Verdict], stamp: dict) -> Line:
    """The chapter's closing line: counts, time, memory, device; carries the stored result."""
    counts = {word: sum(v.verdict == word for v in verdicts.values()) for word in VERDICTS}
    said = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
    made = f"{stamp['seconds']:.0f} s, {stamp['peak_mb']:.0f} MB, {stamp['device']}, torch {stamp['versions']['torch']}"
    return Line(f"{said} | {made}", f'<div class="claim-summary" style="{_LINE}"><b>{said}</b><br>{made}</div>', stamp)


def unjudged_line(claim_id: str, reading: Reading) -> Line:
    """The line shown if no rules can be read (on a machine without YAML): the measured values alone."""
    return Line(f"{claim_id}: {reading.to_json()}", f"<code>{claim_id}</code> {escape(str(reading.to_json()))}")
