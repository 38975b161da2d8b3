"""Durations as text."""


def duration(seconds: float, hour_digits: int = 0) -> str:
    """`90 min`: seconds below two minutes, minutes below two hours, else hours with `hour_digits` decimals."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.{hour_digits}f} h"
