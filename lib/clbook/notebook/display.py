"""How a notebook shows a claim: as a card, with the verdict as symbol and word, never as colour alone.

nbval compares only the claim's id and this run's verdict: `chapters/nbval-sanitize.cfg` removes what is between marks,
the values and, if there is a record, the verdict at the paper's size.
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


@dataclass(frozen=True)
class Headline:
    """The verdict of a record at another size than this run's, which a card shows first if the two differ."""

    verdict: str
    reason: str
    profile: str


def card(verdict: Verdict, headline: Headline | None = None) -> Line:
    """The card of a claim that this run has judged."""
    return _card(verdict.claim, verdict.verdict, _badge(verdict.verdict), headline, values(verdict))


def card_not_judged(claim: Claim, headline: Headline | None = None) -> Line:
    """The card of a claim whose regime this run is outside."""
    message = "not judged, the parameters of this run are outside the claim's regime"
    return _card(claim, message, escape(message), headline, [headline.reason] if headline else [])


def _card(claim: Claim, text: str, shown: str, headline: Headline | None, parts: list[str]) -> Line:
    """A card with this run's verdict as `text` and as HTML (`shown`).

    All else is between marks, also the verdict itself if it is near the line.
    """
    size = f"at the {headline.profile}'s size" if headline else ""
    lead = also = noted = ""
    if headline and headline.verdict == text:
        also, noted = f" (also {size})", f"also {size}"
    elif headline:
        noted, lead = f"{headline.verdict} {size}", f" {_badge(headline.verdict)} {size}; this run:"
    if claim.near:
        shown, noted, text = f"{_OPEN}{shown}{_CLOSE} {NEAR}", " | ".join(filter(None, [text, noted])), NEAR
    small = " · ".join(escape(part) for part in parts)
    html = (
        f'<div class="claim" id="{claim.id}" style="{_LINE}"><code>{claim.id}</code>{_OPEN}{lead}{_CLOSE} {shown}'
        f'{_OPEN}{also}<div class="claim-values" style="font-size:.85em">{small}</div>{_CLOSE}</div>'
    )
    return Line(f"{claim.id}: {text}\n<<{' | '.join(filter(None, [noted, *parts]))}>>", html)


def _badge(word: str) -> str:
    return f'<span class="verdict verdict-{word.replace(" ", "-")}" style="{_WORD}">{VERDICTS[word]} {word}</span>'


def show_number(value: float) -> str:
    """A number with four significant digits, or in full if it is whole and below 1e6."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e6 else f"{value:.4g}"


def show_sample(sample: Sample, level: float) -> str:
    """The estimate, with its confidence interval and sample size if it is random."""
    if not sample.by_chance:
        return show_number(sample.estimate)
    low, high = sample.interval(level)
    return f"{show_number(sample.estimate)} [{show_number(low)}, {show_number(high)}], n = {sample.size}"


def show_arm(arm: dict[str, Sample], level: float) -> str:
    return "; ".join(f"{case + ' ' if case else ''}{show_sample(s, level)}" for case, s in arm.items())


def values(verdict: Verdict) -> list[str]:
    """The parts of a card's second line: rule, arms, reason, and the claim's marks."""
    claim, reading = verdict.claim, verdict.reading
    arms = {label: getattr(reading, arm) for arm, label in _ARMS.items() if getattr(reading, arm)}
    shown = [f"{label} {show_arm(values, verdict.level)}" for label, values in arms.items()]
    review = f"under review: {claim.review}" if claim.review not in verdict.reason else ""
    marks = [review, claim.near, "beyond the paper" if claim.beyond else ""]
    return [f"rule {claim.rule}", *shown, verdict.reason, *filter(None, marks)]


def summary_table(verdicts: dict[str, Verdict], stamp: dict) -> Line:
    """The chapter's last line: counts, time, memory, device; its output contains the stamp."""
    counts = {word: sum(v.verdict == word for v in verdicts.values()) for word in VERDICTS}
    text = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
    cost = f"{stamp['seconds']:.0f} s, {stamp['peak_mb']:.0f} MB, {stamp['device']}, torch {stamp['versions']['torch']}"
    return Line(f"{text} | {cost}", f'<div class="claim-summary" style="{_LINE}"><b>{text}</b><br>{cost}</div>', stamp)


def unjudged_line(claim_id: str, reading: Reading) -> Line:
    """The line if the rules cannot be read (on a machine without YAML): the readings alone."""
    return Line(f"{claim_id}: {reading.to_json()}", f"<code>{claim_id}</code> {escape(str(reading.to_json()))}")
