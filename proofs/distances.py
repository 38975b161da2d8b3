"""InfoNCE with distances in place of inner products: the count of a learned temperature, any number of directions.

Statement: for centred Gaussian views of correlations 0 <= rho_j < 1 the loss t E|y-y'|^2 + E log E exp(-t|y-y''|^2) of
one linear encoder along the canonical directions, P_j the variance of direction j, is least over t and P where
u_j = 1/(1 + 2t P_j) is the root of u^2 + u = 2(1 - rho_j).
With sum P_j = 1 a learned inverse temperature settles at 2t = sum [2/(sqrt(9 - 8 rho_j) - 1) - 1].
Proof: the loss is a sum of one function of h_j = 2t P_j a direction, strictly convex, and t and P reach every h > 0.
By hand: independent directions, so that the log of the mean is a sum. Twin: the count is sum rho_j.
"""

import sympy as sp

T, P, Y, W, H, RHO = sp.symbols("t P y w h rho", positive=True)
U = 1 / (1 + H)
ROOT = (sp.sqrt(9 - 8 * RHO) - 1) / 2


def proof():
    mean = sp.integrate(sp.exp(-T * (Y - W) ** 2 - W**2 / (2 * P)) / sp.sqrt(2 * sp.pi * P), (W, -sp.oo, sp.oo))
    negatives = -sp.log(1 + 2 * T * P) / 2 - T * Y**2 / (1 + 2 * T * P)  # and E y^2 = P
    assert sp.simplify(sp.expand_log(sp.log(sp.simplify(mean)) - negatives, force=True)) == 0
    one = H * (1 - RHO) - sp.log(1 + H) / 2 - H / (2 * (1 + H))  # positives: t E|y-y'|^2 = 2t P (1 - rho)
    in_t = 2 * T * P * (1 - RHO) + negatives.subs(Y**2, P)
    assert sp.simplify(one.subs(H, 2 * T * P) - in_t) == 0
    slope = sp.diff(one, H)
    assert sp.simplify(slope - (2 * (1 - RHO) - U - U**2) / 2) == 0
    assert sp.simplify(sp.diff(slope, H) - U**2 * (1 + 2 * U) / 2) == 0  # above 0: one optimum
    assert sp.simplify(ROOT**2 + ROOT - 2 * (1 - RHO)) == 0
    assert ROOT.subs(RHO, 0) == 1 and ROOT.subs(RHO, 1) == 0  # it falls between, so 0 < u <= 1 and h >= 0
    assert sp.simplify((1 / ROOT - 1) - (2 / (sp.sqrt(9 - 8 * RHO) - 1) - 1)) == 0


def twin():
    count = sp.simplify((1 / ROOT - 1).subs(RHO, sp.Rational(1, 2)))
    assert count == (sp.sqrt(5) - 1) / 2 and count != sp.Rational(1, 2)
    return f"one direction of rho = 1/2 gives {count}, not 1/2"


if __name__ == "__main__":
    proof()
    print(twin())
