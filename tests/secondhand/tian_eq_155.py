"""Tian, eqs. (152) to (155): with uniform starts on [-1, 1] the component with the advantage eps wins with probability
(155).

Written from the event in the text, Y_l > 0 and Y_l + eps the largest: counts of draws beside the printed formula.
"""

import numpy as np

CLAIM, WITHIN = "tian-2023/eq-155-a", 0.02  # four standard errors of a million draws, relative, at the rarest case


def printed(eps, d):
    if eps > 1:
        return 0.5
    if eps >= 0:
        return (1 - ((1 + eps) / 2) ** d) / d + eps / 2
    return ((1 + eps / 2) ** d - ((1 + eps) / 2) ** d) / d


def found():
    rng, cases = np.random.default_rng(3), {}
    for eps, d in ((1.5, 3), (0.7, 5), (0.2, 10), (0.0, 2), (-0.3, 3), (-0.6, 5)):
        own, others = rng.uniform(-1, 1, 10**6), rng.uniform(-1, 1, (d - 1, 10**6)).max(0)
        cases[f"eps = {eps}, d = {d}"] = float(np.mean((own > 0) & (own + eps >= others))), printed(eps, d)
    return cases
