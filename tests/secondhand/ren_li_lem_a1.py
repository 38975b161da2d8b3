"""Ren and Li, Lemma A.1: the gradient of log S_A is tau^2 (1 - S_A) times that of f_A^+ . f_B^+ minus the mean over
negatives.

Written from the definitions of Section 2: signals z of independent signs over sqrt d, S_A = exp(tau^2 f_A^+ . f_B^+)
over itself plus K times the mean of exp(tau^2 f_A^+ . f_B^-) over negatives; "the mean" weighs each negative by its
exponential. No noise, outputs not normalised, derivatives along random directions by central differences.
"""

from itertools import product

import numpy as np

CLAIM, WITHIN = "ren-li-2023/lem-a1", 1e-6  # central differences of step 1e-5


def score(wa, wb, positive, negatives, tau2, k):
    own = np.exp(tau2 * (wa @ positive) @ (wb @ positive))
    return own / (own + k * np.mean(np.exp(tau2 * (wa @ positive) @ (wb @ negatives))))


def found():
    rng, cases, step = np.random.default_rng(5), {}, 1e-5
    signs = np.array(list(product((-1, 1), repeat=4))).T / 2.0
    for tau2, k, place in ((0.5, 1, 0), (2.0, 8, 5), (4.0, 127, 11)):
        wa, wb, da, db = rng.normal(size=(4, 3, 4)) / 2
        positive = signs[:, place]
        up, down = (np.log(score(wa + s * da, wb + s * db, positive, signs, tau2, k)) for s in (step, -step))
        pairs = lambda s, wa=wa, wb=wb, da=da, db=db, p=positive: ((wa + s * da) @ p) @ ((wb + s * db) @ signs)  # noqa: E731
        moves = (pairs(step) - pairs(-step)) / (2 * step)  # of f_A^+ . f_B over all signs, the positive's at `place`
        weights = np.exp(tau2 * pairs(0))
        share = score(wa, wb, positive, signs, tau2, k)
        formula = tau2 * (1 - share) * (moves[place] - weights @ moves / weights.sum())
        cases[f"tau^2 = {tau2}, K = {k}"] = (up - down) / (2 * step), formula
    return cases
