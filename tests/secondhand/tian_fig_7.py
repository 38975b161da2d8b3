"""Tian, eqs. (146) to (150): y' = (y + b)y blows up at t* = ln(1 + b/y(0))/b for y(0) > 0.

Written from this sentence: 1/y is integrated, which reaches 0 there; by y' = (y + b)y it falls as (1/y)' = -(1 + b/y).
"""

import numpy as np

CLAIM, WITHIN = "tian-2023/fig-7", 1e-4  # one step of 1e-5


def blow_up(y0, b, step=1e-5):
    inverse, time = 1 / y0, 0.0
    while inverse > 0:
        middle = inverse - step / 2 * (1 + b * inverse)
        inverse, time = inverse - step * (1 + b * middle), time + step
    return time


def found():
    return {
        f"y(0) = {y}, b = {b}": (blow_up(y, b), np.log(1 + b / y) / b) for y, b in ((0.3, 1.0), (1.0, 0.2), (0.1, 3.0))
    }
