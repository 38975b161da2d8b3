"""What a run found, in words: the statistic, its value, what the rule asked for and how far from it the value lies."""

import math
import re
from collections.abc import Mapping

from ..claims.statistics import Sample
from ..notebook.claim_result import ClaimResult
from ..notebook.display import show_number
from .claim_marks import one_line

# the reasons that name a rule without telling what was measured; what follows them is worth reading
_BARE = re.compile(r"^the rule .+? is missed(?:; )?")
_TOUCHES = re.compile(r"^the interval.* contains \S+; (?P<seeds>.+)$")


def _statistic(sample: Sample) -> str:
    """A number, one number per seed (shown as their mean), or hits out of trials."""
    if sample.trials:
        return f"{show_number(sample.estimate)} ({show_number(sample.values[0])} of {sample.trials})"
    return show_number(sample.estimate) + (f" (mean of {sample.size})" if sample.size > 1 else "")


def show_arm(arm: Mapping[str, Sample]) -> str:
    """The statistic of each case: `case value; case value`."""
    return "; ".join(f"{case} {_statistic(sample)}".strip() for case, sample in arm.items())


def show_intervals(intervals: Mapping[str, tuple[float, float]]) -> str:
    """The intervals that have a width."""
    wide = {case: ends for case, ends in intervals.items() if ends[0] != ends[1]}
    return "; ".join(f"{case} {show_number(lo)} to {show_number(hi)}".strip() for case, (lo, hi) in wide.items())


def required(result: ClaimResult) -> str:
    """What the rule asks for, in words."""
    low, high = (show_number(end) if math.isfinite(end) else "" for end in result.claim.rule.range)
    if not low:
        return f"at most {high}"
    if not high:
        return f"at least {low}"
    return f"between {low} and {high}" if low != high else low


def _distance(value: float, low: float, high: float) -> str:
    """How far a value outside a range lies from it."""
    end, side = (high, "above") if value > high else (low, "below")
    if end == 0:
        return "on the wrong side of zero"
    times = value / end if side == "above" else 0
    if times >= 1000:
        return f"{round(math.log10(times))} orders of magnitude above it"
    return f"{times:.2g} times as much" if times >= 2 else f"{show_number(float(f'{abs(value - end):.2g}'))} {side} it"


def _outside(ends: tuple[float, float], low: float, high: float) -> float:
    """How far a whole interval lies outside a range; 0 where they touch."""
    return max(ends[0] - high, low - ends[1], 0.0)


def finding(result: ClaimResult) -> str:
    """One sentence: what was measured, its value in the case farthest from the rule, the rule, and the distance.

    Empty where nothing was measured.
    """
    ends, rule = result.interval, result.claim.rule
    if not ends or rule is None:
        return ""
    low, high = rule.range
    estimates = {case: sample.estimate for case, sample in result.arm("observed").items()}
    missed = [case for case in estimates if _outside(ends[case], low, high)]
    touching = [case for case, (a, b) in ends.items() if not (low <= a and b <= high)]
    among = missed or touching or list(estimates)
    case = max(among, key=lambda c: max(_outside(ends[c], low, high), estimates[c] - high, low - estimates[c]))
    width = show_intervals({"": ends[case]})
    measured = f"{sentence(result.claim.statistic or 'the statistic')}: {show_number(estimates[case])}"
    measured += f" (interval {width})" if width else ""
    measured += f" for {case}" if case else ""
    if missed:
        distance = _distance(estimates[case], low, high)
        distance += f"; {len(missed)} of {len(estimates)} cases miss the rule" if len(estimates) > 1 else ""
    else:
        distance = "the interval reaches across that line" if touching else "met"
    return f"{measured}, where {required(result)} was required: {distance}."


def _control(result: ClaimResult) -> str:
    """Why a control that does not miss the rule leaves a claim open."""
    return (
        f"The control ({result.claim.control}) gives {show_arm(result.arm('control'))} and was to miss the rule; it "
        "does not miss it clearly, so that the rule does not yet tell the claim from a mistake."
    )


def explanation(result: ClaimResult) -> str:
    """Why a verdict is what it is: what was found wherever a rule was not met, then what the reason adds to it."""
    reason = one_line(result.reason)
    if result.verdict not in ("undecided", "not reproduced", "contradicted", "vacuous"):
        return reason
    if reason.startswith("the control does not miss"):
        return f"{finding(result)} {_control(result)}".strip()
    if open_yet := _TOUCHES.match(reason):
        return f"{finding(result)} It rests on {open_yet['seeds']}."
    bare = _BARE.match(reason)
    if bare is None:
        return f"{finding(result)} {sentence(reason)}{'' if reason.endswith('.') else '.'}".strip()
    rest = reason[bare.end() :]
    lead = "Under review: " if result.under_review else ""
    return f"{finding(result)} {f'{lead}{rest}.' if rest else ''}".strip()


def sentence(text: str) -> str:
    """Text with a capital first letter; one that is mathematics stays as it is."""
    text = one_line(text)
    return text[:1].upper() + text[1:] if text[:2].isalpha() else text
