"""What a run found, in words: the statistic, its value, what the rule asked for and how far from it the value lies."""

import math
import re

from ..claims.statistics import Sample
from ..notebook.display import show_number
from .claim_marks import one_line

# the reasons that name a rule without saying what was found; what follows them is worth reading
_BARE = re.compile(
    r"^(?P<review>under review: )?the rule .+? is missed(?P<smaller> in a run smaller than the paper's: )?(?:; )?"
)
_TOUCHES = re.compile(r"^the interval.* contains \S+; (?P<seeds>.+)$")


def _statistic(value: object) -> str:
    """One stored statistic: a number, one number per seed (shown as their mean), or hits out of trials."""
    if isinstance(value, str):
        return value
    sample = Sample.of(value)
    if sample.trials:
        return f"{show_number(sample.estimate)} ({show_number(sample.values[0])} of {sample.trials})"
    return show_number(sample.estimate) + (f" (mean of {sample.size})" if sample.size > 1 else "")


def cases_of(arm: object) -> dict[str, object]:
    """Case → statistic of a stored arm, which may be a single statistic."""
    if arm is None:
        return {}
    return arm if isinstance(arm, dict) and set(arm) != {"hits", "trials"} else {"": arm}


def arm_of(result: dict, arm: str) -> tuple[str, dict]:
    """(what it is in words, case → statistic) of the run's `advocate` or `control`; both empty if it has none."""
    cases = dict(result.get(arm) or {})
    return cases.pop("what", ""), cases


def show_arm(arm: object) -> str:
    """A statistic, or one per case: `case value; case value`."""
    return "; ".join(f"{case} {_statistic(value)}".strip() for case, value in cases_of(arm).items())


def show_intervals(given: object) -> str:
    """The intervals that have a width."""
    cases = given if isinstance(given, dict) else {"": given} if given else {}
    wide = {case: ends for case, ends in cases.items() if ends[0] != ends[1]}
    return "; ".join(f"{case} {show_number(lo)} to {show_number(hi)}".strip() for case, (lo, hi) in wide.items())


def _wanted(result: dict) -> tuple[float, float]:
    """The range that the rule allows; of a rate, its predicted exponent."""
    numbers = result["tolerance"]
    sign, first, last = result["rule"].split()[0], numbers[0], numbers[-1]
    return {"≤": (-math.inf, first), "≥": (first, math.inf), "in": (first, last)}.get(sign, (first, first))


def required(result: dict) -> str:
    """What the rule asks for, in words."""
    low, high = (show_number(end) if math.isfinite(end) else "" for end in _wanted(result))
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


def finding(result: dict) -> str:
    """One sentence: what was measured, its value in the case farthest from the rule, the rule, and the distance.

    Empty where nothing was measured.
    """
    observed, intervals = cases_of(result.get("observed")), result.get("interval") or {}
    if not observed or not result.get("rule"):
        return ""
    low, high = _wanted(result)
    estimates = {case: Sample.of(value).estimate for case, value in observed.items()}
    ends = {case: intervals.get(case, (value, value)) for case, value in estimates.items()}
    missed = [case for case in estimates if _outside(ends[case], low, high)]
    touching = [case for case, (a, b) in ends.items() if not (low <= a and b <= high)]
    among = missed or touching or list(estimates)
    case = max(among, key=lambda c: max(_outside(ends[c], low, high), estimates[c] - high, low - estimates[c]))
    where = f" for {case}" if case else ""
    width = show_intervals({"": ends[case]})
    said = f"{sentence(result.get('statistic') or 'the statistic')}: {show_number(estimates[case])}"
    said += f" (interval {width})" if width else ""
    if missed:
        far = _distance(estimates[case], low, high)
        far += f"; {len(missed)} of {len(estimates)} cases miss the rule" if len(estimates) > 1 else ""
    else:
        far = "the interval reaches across that line" if touching else "met"
    return f"{said}{where}, where {required(result)} was required: {far}."


def _control(result: dict) -> str:
    """Why a control that does not miss the rule leaves a claim open."""
    what, control = arm_of(result, "control")
    return (
        f"The control ({what}) gives {show_arm(control)} and was to miss the rule; it does not miss it clearly, "
        "so that the rule does not yet tell the claim from a mistake."
    )


def explanation(result: dict) -> str:
    """Why a verdict is what it is: what was found wherever a rule was not met, then what the reason adds to it."""
    reason = one_line(result.get("reason"))
    if result["verdict"] not in ("undecided", "not reproduced", "contradicted", "vacuous"):
        return reason
    if reason.startswith("the control does not miss"):
        return f"{finding(result)} {_control(result)}".strip()
    if open_yet := _TOUCHES.match(reason):
        return f"{finding(result)} It rests on {open_yet['seeds']}."
    bare = _BARE.match(reason)
    if bare is None:
        return f"{finding(result)} {sentence(reason)}{'' if reason.endswith('.') else '.'}".strip()
    rest = reason[bare.end() :]
    lead = "Under review: " if bare["review"] else "The run is smaller than the paper's: " if bare["smaller"] else ""
    return f"{finding(result)} {f'{lead}{rest}.' if rest else ''}".strip()


def sentence(text: str) -> str:
    """Text with a capital first letter; one that is mathematics stays as it is."""
    text = one_line(text)
    return text[:1].upper() + text[1:] if text[:2].isalpha() else text
