"""Ren and Li, Lemma C.2: expectations over the signs of a negative are products of cosh, and tanh times these.

Written from this sentence: E exp(sum a_i s_i) and E s_p exp(sum a_i s_i) over independent signs, counted from random
draws.
"""

import numpy as np

CLAIM, WITHIN = "ren-li-2023/lem-c2", 0.02  # four standard errors of four million draws


def found():
    rng = np.random.default_rng(6)
    a = np.array([0.3, -0.5, 0.8, 0.4, -0.2])
    signs = rng.choice((-1.0, 1.0), size=(4_000_000, 5))
    weights, cosh = np.exp(signs @ a), np.prod(np.cosh(a))
    cases = {"no sign": (float(weights.mean()), float(cosh))}
    for p in (0, 1, 2):
        cases[f"sign {p}"] = float((signs[:, p] * weights).mean()), float(np.tanh(a[p]) * cosh)
    cases["signs 1 and 2"] = float((signs[:, 1] * signs[:, 2] * weights).mean()), float(np.prod(np.tanh(a[1:3])) * cosh)
    return cases
