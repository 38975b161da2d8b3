"""Ren and Li, beside Corollary C.20: the inverse temperature at which a small imbalance decays fastest is unique.

Statement: y(1 - S), S = e^y/(e^y + K), has one maximum over y > 0, the root of (y - 1)e^y = K, so y = 1 + W(K/e), W
Lambert's function; for K = 8, 127, 1023 it lies in the brackets below.
Proof: the slope times (e^y + K)^2 is K(K - (y-1)e^y), and (y-1)e^y rises on y > 0. e^y is bracketed by its series and
a geometric rest, in fractions. By hand: that for many signals the imbalance decays at this rate. Twin: y = 1 + W(K).
"""

from fractions import Fraction

import sympy as sp

BRACKETS = {8: ("2.04011", "2.04012"), 127: ("3.81073", "3.81074"), 1023: ("5.43986", "5.43987")}


def exponential(y, terms=60):
    """A lower and an upper bound of e^y, for 0 <= y < terms."""
    term = total = Fraction(1)
    for n in range(1, terms):
        term *= y / n
        total += term
    return total, total + term * y / terms / (1 - y / (terms + 1))


def proof():
    y, k = sp.symbols("y K", positive=True)
    e = sp.exp(y)
    slope = sp.diff(y * (1 - e / (e + k)), y)
    assert sp.simplify(slope * (e + k) ** 2 - k * (k - (y - 1) * e)) == 0
    assert sp.simplify(sp.diff((y - 1) * e, y) - y * e) == 0  # above 0
    assert sp.simplify((y - 1) * e - sp.E * (y - 1) * sp.exp(y - 1)) == 0  # so y - 1 = W(K/e)
    for negatives, bracket in BRACKETS.items():
        low, high = map(Fraction, bracket)
        assert (low - 1) * exponential(low)[1] < negatives < (high - 1) * exponential(high)[0]


def twin():
    """w e^w = 8 at w = W(8), which is above 1.6, as 1.6 e^1.6 is below 8."""
    w = Fraction("1.6")
    assert w * exponential(w)[1] < 8 and 1 + w > Fraction(BRACKETS[8][1])
    return f"1 + W(8) is above 2.6, outside the bracket {' to '.join(BRACKETS[8])}"


if __name__ == "__main__":
    proof()
    print(twin())
