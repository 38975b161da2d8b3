"""Wen and Li, beside Lemma C.2: what a random mask leaves of the covariance of a pair, for any dimension.

Statement: for x = Mz + xi, x+ = Dx/r and x++ = (1-D)x/(1-r), each coordinate kept by D with probability r on its own,
the mean of x+ x++' is that of xx' off the diagonal and 0 on it: no noise is left. Two independent masks keep all of it.
Proof: an entry meets two coordinates of the mask; four cases for r of any value. By hand: xi has independent
coordinates, independent of z, so xx' has the mean p MM' + sigma^2. Twin: two independent masks leave none either.
"""

from fractions import Fraction
from itertools import product


def kept(first, second, r, same):
    """Of an entry (i, j), the mean of first[D_i] second[D_j] over the mask; same if i = j."""
    cases = ((a, b) for a, b in product((0, 1), repeat=2) if a == b or not same)
    chance = {0: 1 - r, 1: r}
    return sum(chance[a] * (1 if same else chance[b]) * first[a] * second[b] for a, b in cases)


def proof():
    """Each side times r(1-r) is a polynomial in r of degree 2, so that three values of r prove it for all."""
    for r in (Fraction(1, 2), Fraction(3, 10), Fraction(1, 7)):
        mask, rest = {0: 0, 1: 1 / r}, {0: 1 / (1 - r), 1: 0}
        assert kept(mask, rest, r, same=False) == 1
        assert kept(mask, rest, r, same=True) == 0


def twin():
    r = Fraction(1, 2)
    mask = {0: 0, 1: 1 / r}
    diagonal = kept(mask, mask, r, same=False)  # D_i and another mask's D_i are two coordinates
    assert diagonal == 1 != 0
    return f"two independent masks leave {diagonal} of the noise on the diagonal"


if __name__ == "__main__":
    proof()
    print(twin())
