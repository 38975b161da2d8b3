"""Tian, (155): the probability that a component with an advantage wins, from uniform starts.

Written from Appendix C.3 (its event (152)) and the claim's sentence, by an author who had not seen the other program on
this page of the paper. Starts are on a grid of n cells a unit in [-1, 1]; the wins of all (2n)^d starts are counted,
not drawn: for each start of the modulated component the others that stay below it are a power. A tie of cells counts
for the mean over the orders of those that tie.
Method: a grid of cells, each with a uniform start: exact but for rounding if the advantage is a whole number of cells.
"""

import math

import numpy as np

CLAIM = "tian-2023/eq-155"
WITHIN = 1e-10


def wins(advantage, d, n=40):
    """The chance of the event (152) for an advantage of a whole number of cells."""
    shift, total = round(advantage * n), 0.0
    assert abs(shift - advantage * n) < 1e-9
    for cell in range(n, 2 * n):  # Y_l > 0
        lead = cell + shift  # cells below `lead` lose to it, those of the same cell tie
        below, ties = np.clip(lead, 0, 2 * n), float(0 <= lead < 2 * n)
        # with k of d - 1 others in the same cell it is the first of k + 1 in 1/(k + 1) of the orders
        total += (
            sum(math.comb(d - 1, k) * float(below) ** (d - 1 - k) * ties**k / (k + 1) for k in range(d))
            / (2.0 * n) ** d
        )
    return total


def printed(e, d):
    """(155) as the paper prints it."""
    if e > 1:
        return 1 / 2
    if e >= 0:
        return (1 - ((1 + e) / 2) ** d) / d + e / 2
    return ((1 + e / 2) ** d - ((1 + e) / 2) ** d) / d


def found():
    return {
        f"advantage {e}, d = {d}": (wins(e, d), printed(e, d))
        for e in (-0.9, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 1.5)
        for d in (2, 3, 10)
    }
