"""Tian, Figure 8 and Appendix E.1: nine points on the circle give at least eight local maxima under ReLU, two for
linear.

Written from the angles in the text, (-4/5, -1/2, -2/5, -1/6, 0, 1/5, 2/5, 3/5, 4/5) pi: the energy of a unit filter w
is, with equal importances, the variance of h(w^T x) over the points; local maxima are counted on a grid of angles.
"""

import numpy as np

CLAIM, WITHIN = "tian-2023/fig-8", 0  # counts; the paper's "at least eight" is exactly nine on this grid
LINEAR = "tian-2023/fig-8-a"


def maxima(activation, count=200_000):
    points = np.pi * np.array([-4 / 5, -1 / 2, -2 / 5, -1 / 6, 0, 1 / 5, 2 / 5, 3 / 5, 4 / 5])
    angles = 2 * np.pi * (np.arange(count) + 0.5) / count
    energy = activation(np.cos(angles[:, None] - points)).var(1)
    return int(((energy > np.roll(energy, 1)) & (energy > np.roll(energy, -1))).sum())


def found():
    return {"ReLU": (maxima(lambda u: np.maximum(u, 0)), 9), "linear": (maxima(lambda u: u), 2)}
