"""Wen and Li: E x+ x++' = p (M M' - diag M M') with a mask, and p M M' + sigma_xi^2 I without or with two masks.

Written from Section 2 (data and Definition 2.3, the mask) and the claim's sentence, by an author who had not seen
the other program for this claim. All values of the signals and of both masks are enumerated; of the noise only first
and second moments matter, so that each coordinate is +-sigma.
Method: finite sums in float64.
"""

import itertools

import numpy as np

CLAIM = "wen-li-2021/lem-c2"
WITHIN = 1e-10


def moment(m, p, sigma, kind):
    """E x+ x++' over every datum and every mask of rate 1/2."""
    d1, d = m.shape
    total = np.zeros((d1, d1))
    for z in itertools.product((-1, 0, 1), repeat=d):
        chance = np.prod([p / 2 if one else 1 - p for one in z])
        for signs in itertools.product((-1, 1), repeat=d1):
            x = m @ np.array(z) + sigma * np.array(signs)
            weight = chance / 2**d1
            if kind == "no mask":
                total += weight * np.outer(x, x)
                continue
            for mask in itertools.product((0, 1), repeat=d1):
                one = np.array(mask)
                first, other = 2 * one * x, 2 * (1 - one) * x
                if kind == "two masks":  # the mean over a second, independent mask
                    other = x
                total += weight / 2**d1 * np.outer(first, other)
    return total


def found():
    m = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 2)))[0]
    p, sigma, cases = 0.3, 0.7, {}
    full = p * m @ m.T
    for kind in ("complementary masks", "no mask", "two masks"):
        ours = full - np.diag(np.diag(full)) if kind == "complementary masks" else full + sigma**2 * np.eye(5)
        theirs = moment(m, p, sigma, kind)
        worst = np.unravel_index(np.abs(theirs - ours).argmax(), ours.shape)
        shift = np.abs(ours).max()  # entries that are 0 are compared at the size of the largest
        cases[f"{kind}, worst entry, beside the largest"] = (theirs[worst] + shift, ours[worst] + shift)
    return cases
