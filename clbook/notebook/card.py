"""The card of a claim: verdict, what was found in plain sentences, a gauge, and how it was measured one click away.

It reads well without a style sheet, too, as in JupyterLab or on a forge; `book/_static/card.css` lays it out on pages.
nbval compares only the claim's id and this run's verdict: `chapters/nbval-sanitize.cfg` removes what is between marks,
the sentences and values and, if there is a record, its verdict.
"""

import re
from dataclasses import dataclass
from html import escape

from ..claims.claim_table import VERDICTS, Claim, Claims
from ..claims.judging import CONDITIONS, NOT_JUDGED, OUTSIDE, Verdict
from ..claims.plain import as_html, as_text, at_control, sentences, without_control
from ..provenance.library import line_behind
from .display import ARM_NAMES, Line, show_sample, values
from .gauge import gauge

_OPEN, _CLOSE = "<!--stored-->", "<!--/stored-->"
_LINE = "border-left:4px solid #888;padding:.25em .7em;margin:.3em 0;line-height:1.5"
_WORD = "font-weight:600;white-space:nowrap"  # for front ends that lack book/_static/verdicts.css, which adds colour
_MATH = re.compile(r"\$([^$]+)\$")


@dataclass(frozen=True)
class Headline:
    """The verdict of a record; where this run's differs, the card speaks of the record and names this run's verdict."""

    found: Verdict
    profile: str
    blocks: int = 1  # of seeds; a verdict that is not open is that of all of them

    @property
    def run(self) -> str:
        return "the long run" if self.profile == "paper" else f"the run {self.profile}"

    @property
    def where(self) -> str:
        agree = self.blocks > 1 and self.found.verdict != "undecided"
        return f"in {self.run}" + (f", in {self.blocks} of {self.blocks} blocks of seeds" if agree else "")


def card(verdict: Verdict, headline: Headline | None = None, claims: Claims | None = None) -> Line:
    """The card of a claim that this run has judged; `claims` is the chapter's table, for links and commands."""
    word, parts = verdict.verdict, values(verdict)
    if headline is None or headline.found.verdict == word:
        noted, badge = f"also {headline.where}" if headline else "", f"{_OPEN}{_CLOSE}{_badge(word)}"
        return _line(verdict.claim, word, badge, [noted, *parts], verdict, "this run", claims)
    badge = f"{_OPEN}{_lead(headline)}{_CLOSE}{_badge(word)}"
    noted = f"{headline.found.verdict} {headline.where}"
    return _line(verdict.claim, word, badge, [noted, *parts], headline.found, headline.run, claims)


def card_not_judged(claim: Claim, headline: Headline | None = None, claims: Claims | None = None) -> Line:
    """The card of a claim whose regime this run is outside: what the record found, if there is one."""
    noted = (
        [f"{headline.found.verdict} {headline.where}", headline.found.reason]
        if headline
        else [OUTSIDE.format(claim.regime)]
    )
    own = _badge(NOT_JUDGED).replace("verdict", "claim-not-judged verdict", 1)
    badge = f"{_OPEN}{_lead(headline) if headline else ''}{_CLOSE}{own}"
    return _line(claim, NOT_JUDGED, badge, noted, headline and headline.found, headline.run if headline else "", claims)


def _lead(headline: Headline) -> str:
    return f"{_badge(headline.found.verdict)} {headline.where}; this run: "


def _line(
    claim: Claim, word: str, badge: str, parts: list[str], shown: Verdict | None, run: str, claims: Claims | None
) -> Line:
    """The card: this run's verdict as `word` and as HTML (`badge`), and between marks the verdict `shown`, of `run`."""
    spoken = " ".join(map(as_text, sentences(shown, run))) if shown else ""
    stored = " | ".join(filter(None, [*parts[:1], spoken, *parts[1:]]))
    words, said = at_control(shown) if shown else ("", [])
    picture = gauge(claim.rule, shown.reading, words) if shown and claim.kind != "identity" else ""
    said = said if picture else []  # stands in the fold then, since the gauge says it
    found = sentences(without_control(shown) if said else shown, run) if shown else []
    head = f" <strong>{as_html(found[0]) if found else _math(claim.statement)}</strong>"
    kind = f' <span class="claim-kind">{CONDITIONS[shown.condition]}</span>' if shown and shown.condition else ""
    body = "".join(f" {as_html(sentence)}" for sentence in found[1:]).strip()
    if shown and not found:  # a row without sentences: the numbers alone
        body = " · ".join(escape(part) for part in values(shown))
    body = f'<p class="claim-found" style="margin:.2em 0">{body}</p>' if body else ""
    more = _more(claim, shown, said, claims) if claim.rule else ""
    kinds = f"claim claim-{word.replace(' ', '-')}{' claim-identity' if claim.kind == 'identity' else ''}"
    opening = f'<div class="{kinds}" id="{claim.id}" style="{_LINE}"><p class="claim-head" style="margin:0">'
    html = f"{opening}{badge}{_OPEN}{kind}{head}</p>{body}{picture}{more}{_CLOSE}</div>"
    return Line(f"{claim.id}: {word}\n<<{stored}>>", html)


def _more(claim: Claim, shown: Verdict | None, said: list[str], claims: Claims | None) -> str:
    """What stands one click away: how it was measured, statement and record, the command, the id."""
    links = [_details(shown.claim if shown else claim, shown, said)]
    if claims:
        place = escape(f"../book/claims.html#{claims.paper}/{claim.id}")
        links.append(f'<a href="{place}">statement and record</a>')
        command = f'<code class="claim-command">clbook verify {claims.chapter} {claim.id}</code>'
        links.append(f"<details><summary>judge it again</summary><p>{command}</p></details>")
    links.append(f'<code class="claim-id">{claim.id}</code>')
    return f'<div class="claim-more" style="font-size:.85em">{" ".join(links)}</div>'


def _details(claim: Claim, shown: Verdict | None, said: list[str]) -> str:
    rule = f"{claim.rule} ({claim.tolerance_reason})" if claim.tolerance_reason else str(claim.rule)
    texts = {
        "statement": claim.statement,
        "measured": claim.statistic,
        "setting": claim.regime,
        "rule": rule,
        "control": claim.control,
        "why": shown.reason if shown and not shown.reason.startswith("the rule") else "",
    }
    rows = {label: _math(text) for label, text in texts.items() if text}
    if said:
        rows["control"] = f"{_math(claim.control)}. {as_html(said)}"
    if claim.breaks and (behind := line_behind(claim.breaks[0]["in"], claim.breaks[0]["old"])):
        link = f'<a href="{escape(behind.address)}"><code>{escape(behind.function)}</code></a>'
        rows["the line behind it"] = f"<code>{escape(behind.line)}</code> in {link}; broken, it turns the verdict"
    if claim.beyond:
        rows["whose"] = "beyond the paper"
    items = "".join(f"<dt>{label}</dt><dd>{html}</dd>" for label, html in rows.items())
    table = _table(shown) if shown else ""
    return f"<details><summary>how it was measured</summary><dl>{items}</dl>{table}</details>"


def _table(shown: Verdict) -> str:
    """Every case of every arm, one a row."""
    rows = [
        f"<tr><td>{escape(name)}</td><td>{escape(case)}</td><td>{escape(show_sample(sample))}</td></tr>"
        for arm, name in ARM_NAMES.items()
        for case, sample in getattr(shown.reading, arm).items()
    ]
    return f"<table>{''.join(rows)}</table>"


def _badge(word: str) -> str:
    return f'<span class="verdict verdict-{word.replace(" ", "-")}" style="{_WORD}">{VERDICTS[word]} {word}</span>'


def _math(text: str) -> str:
    """Text as HTML; a front end sets its formulas, which stand between dollar signs, if it can."""
    return _MATH.sub(r'<span class="math">\\(\1\\)</span>', escape(" ".join(text.split())))
