"""Wen and Li, beside Lemma C.2: with a mask E x+ x++^T = p(MM^T - diag MM^T); with two independent masks p MM^T +
sigma^2 I.

Written from Definition 2.3's words: x = Mz + xi, x+ = 2Dx and x++ = 2(I - D)x with one mask D of fair coins, z of
independent entries in -1, 0, 1 with E z_j^2 = p; means over random draws.
"""

import numpy as np

CLAIM, WITHIN = "wen-li-2021/lem-c2", 0.02  # in units of the largest entry; a million draws


def found():
    rng, count, p, sigma = np.random.default_rng(7), 10**6, 0.3, 0.8
    m = rng.normal(size=(4, 2))
    z = rng.choice((-1.0, 0.0, 1.0), p=(p / 2, 1 - p, p / 2), size=(count, 2))
    x = z @ m.T + sigma * rng.normal(size=(count, 4))
    one, two = rng.integers(0, 2, size=(2, count, 4))
    whole = p * m @ m.T
    masked = (2 * one * x).T @ (2 * (1 - one) * x) / count
    independent = (2 * one * x).T @ (2 * two * x) / count
    scale, cases = np.abs(whole).max(), {}
    for name, left, right in (
        ("one mask", masked, whole - np.diag(np.diag(whole))),
        ("two", independent, whole + sigma**2 * np.eye(4)),
    ):
        place = np.unravel_index(np.abs(left - right).argmax(), left.shape)
        cases[f"{name}, worst entry"] = 1 + left[place] / scale, 1 + right[place] / scale  # so that 0 has a size
    return cases
