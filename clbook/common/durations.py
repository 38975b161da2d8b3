"""Durations as text, and as options of commands."""

import math

from .errors import BookError


def duration(seconds: float, hour_digits: int = 0) -> str:
    """`90 min`: seconds below two minutes, minutes below two hours, else hours with `hour_digits` decimals."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.{hour_digits}f} h"


def check_seconds(option: str, seconds: float | None, zero: bool = False) -> None:
    """Raise BookError for seconds that are not finite and > 0, or ≥ 0 if `zero`; None stands for no limit."""
    if seconds is not None and not (0 < seconds < math.inf or zero and seconds == 0):
        raise BookError(f"{option}: must be seconds, {'≥' if zero else '>'} 0 and finite, got {seconds:g}")
