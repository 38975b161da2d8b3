"""Ren and Li, Lemma C.2: means over the signs of a negative are products of cosh, and tanh times these.

Written from Section 3 (latents are independent signs) and the claim's sentence, by an author who had not seen the other
program for this claim. The mean of exp(sum g_q z_q) is over the law of the sum, built signal by signal; a factor z_p is
a derivative of that mean in g_p, here a central difference.
Method: central differences of fourth order, step 1e-3, twice for two factors: 1e-7.
"""

import numpy as np

CLAIM = "ren-li-2023/lem-c2"
WITHIN = 1e-7


def mean_exp(g):
    """E exp(sum g_q z_q): the law of the sum is built signal by signal, 2^r atoms of equal weight."""
    sums = np.zeros(1)
    for one in g:
        sums = np.concatenate([sums + one, sums - one])
    return np.exp(sums).mean()


def along(f, k, g, step=1e-3):
    """The derivative of f in g_k."""
    e = np.eye(len(g))[k] * step
    return (8 * (f(g + e) - f(g - e)) - (f(g + 2 * e) - f(g - 2 * e))) / (12 * step)


def found():
    cases = {}
    for seed, r in ((0, 3), (1, 6), (2, 10)):
        g = np.random.default_rng(seed).normal(size=r)
        product = np.prod(np.cosh(g))
        cases[f"r = {r}: E e"] = (mean_exp(g), product)
        cases[f"r = {r}: E z_1 e"] = (along(mean_exp, 0, g), np.tanh(g[0]) * product)
        both = along(lambda h: along(mean_exp, 1, h), 0, g)
        cases[f"r = {r}: E z_1 z_2 e"] = (both, np.tanh(g[0]) * np.tanh(g[1]) * product)
    return cases
