"""Tian, Appendix C.3: the probability (155) that a modulated component wins, and its two bounds, for every d.

Statement: for d starts uniform on [-1, 1], P[Y_1 > 0, Y_1 + e >= others] is (1 - ((1+e)/2)^d)/d + e/2 if 0 <= e <= 1
and ((1 + e/2)^d - ((1+e)/2)^d)/d for -1 < e < 0; at least e/2 in the first case, at most (1 + e/2)^d/d in the second.
Proof: the integral of F(y + e)^(d-1)/2 over 0 < y < 1, F(x) = min((1+x)/2, 1), by its antiderivative; each bound leaves
out a term that is not negative. By hand: the starts are independent. Twin: a win with half the lead, for any lead.
"""

import sympy as sp

Y, B, D = sp.symbols("y b d", positive=True)
E = 2 * B - 1  # so that (1 + e)/2 is positive and e of either sign
HALF = sp.Rational(1, 2)


def proof():
    antiderivative = ((Y + E + 1) / 2) ** D / D
    assert sp.simplify(sp.diff(antiderivative, Y) - HALF * ((Y + E + 1) / 2) ** (D - 1)) == 0
    rest = ((1 + E) / 2) ** D / D  # not negative for e > -1; at most 1/d for e <= 1
    ahead = antiderivative.subs(Y, 1 - E) - antiderivative.subs(Y, 0) + E / 2  # F = 1 on 1 - e < y < 1
    assert sp.simplify(ahead - ((1 - ((1 + E) / 2) ** D) / D + E / 2)) == 0
    assert sp.simplify(ahead - E / 2 - (1 / D - rest)) == 0
    behind = antiderivative.subs(Y, 1) - antiderivative.subs(Y, 0)
    assert sp.simplify(behind - ((1 + E / 2) ** D - ((1 + E) / 2) ** D) / D) == 0
    assert sp.simplify((1 + E / 2) ** D / D - behind - rest) == 0


def twin():
    lead, wins = sp.Rational(6, 5), sp.Integer(1) / 2  # above a lead of 1 the win asks for Y_1 > 0 alone where d = 2
    low = sp.integrate(sp.Min((Y + lead + 1) / 2, 1) * HALF, (Y, 0, 1))
    assert low == wins < lead / 2
    return f"a lead of {lead} wins with {low}, below {lead / 2}"


if __name__ == "__main__":
    proof()
    print(twin())
