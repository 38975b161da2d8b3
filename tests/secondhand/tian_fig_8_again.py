"""Tian, Figure 8: nine points on the circle give at least eight local maxima under ReLU.

Written from Appendix E.1 and the claim's sentence, by an author who had not seen the other program for this claim. With
uniform importance and no augmentation the energy is half the variance of max(w.x, 0). Between two angles at which a
point enters or leaves, it is a + b cos 2t + c sin 2t, so that its maxima are counted arc by arc, its kinks one by one.
Method: a count; nothing is left out. Changed after the first run, which counted 9 and showed "at least eight" as met:
it now shows the count beside that of the book.
"""

import itertools

import numpy as np

CLAIM = "tian-2023/fig-8"
WITHIN = 0.0
POINTS = np.pi * np.array([-4 / 5, -1 / 2, -2 / 5, -1 / 6, 0, 1 / 5, 2 / 5, 3 / 5, 4 / 5])


def quadratic(inside):
    """The matrix Q with energy w'Qw where the points inside are those that the filter lets in."""
    x = np.stack([np.cos(POINTS), np.sin(POINTS)], axis=1) * inside[:, None]
    mean = x.mean(axis=0)
    return (x.T @ x / len(x) - np.outer(mean, mean)) / 2


def slope(q, t):
    """d/dt of w'Qw at w = (cos t, sin t)."""
    w, turned = np.array([np.cos(t), np.sin(t)]), np.array([-np.sin(t), np.cos(t)])
    return 2 * turned @ q @ w


def maxima():
    """Angles of all local maxima."""
    borders = np.sort(np.concatenate([POINTS + np.pi / 2, POINTS - np.pi / 2]) % (2 * np.pi))
    borders = borders[np.diff(borders, prepend=borders[-1] - 2 * np.pi) > 1e-12]
    ends = list(itertools.pairwise([*borders, borders[0] + 2 * np.pi]))
    pieces = [quadratic((np.cos((low + high) / 2 - POINTS) > 0).astype(float)) for low, high in ends]
    found = []
    for (low, high), q in zip(ends, pieces, strict=True):
        top = np.linalg.eigh(q)[1][:, -1]
        t = np.arctan2(top[1], top[0])
        t = low + (t - low) % np.pi  # the first of the two opposite maxima behind the border
        found += [t] if 1e-12 < t - low < high - low - 1e-12 else []
    for k, border in enumerate(borders):  # a kink is one where the energy rises to it and falls behind it
        found += [border] if slope(pieces[k - 1], border) > 1e-12 and slope(pieces[k], border) < -1e-12 else []
    return found


def found():
    return {"local maxima": (len(maxima()), 9)}
