"""Tian, Theorem 2: as printed, with C0^3, it is false; with C0^2 it holds for every density in any dimension d >= 2.

Statement: under ReLU, for |x| <= C0, equal importances and no augmentation, rho <= C0^2 vol(C0)/pi max p on w'x = 0.
Proof: to first order in the angle rho = E[h(w'x)] |M|, M the integral of xx'p over the plane (by hand, as in (87)).
E[h] <= C0, and |M| <= max p times the second moment V_{d-1} C0^{d+1}/(d+1) of the ball in the plane, V_k the volume of
the unit ball. So rho is at most 1/room(d) of the bound, room(d) = (d+1) V_d/(pi V_{d-1}), which is above 1: room(2) and
room(3) are, and room(d+2)/room(d) is. Importances of several terms, each a density times z_l^2, add up.
Twins: C0^3 as printed, and C0 alone, at a locally maximal eigenvector.
"""

import sympy as sp

C0, R, A, D = sp.symbols("C0 r a d", positive=True)


def volume(d):
    return sp.pi ** (d / 2) / sp.gamma(d / 2 + 1)


def room(d):
    return (d + 1) * volume(d) / (sp.pi * volume(d - 1))


def disc(k):
    """Roughness over its bound with C0^k, for the uniform density on a disc of radius C0 in the plane."""
    p = 1 / (sp.pi * C0**2)
    mean = sp.integrate(sp.integrate(R * sp.cos(A) * R * p, (R, 0, C0)), (A, -sp.pi / 2, sp.pi / 2))
    line = 2 * sp.integrate(R**2 * p, (R, 0, C0))  # of xx'p along w'x = 0
    return sp.simplify(mean * line / (C0**k * sp.pi * C0**2 / sp.pi * p))


def proof():
    shell = D * volume(D) * R ** (D - 1)  # the surface of a ball in d dimensions
    second = sp.integrate(shell * R**2, (R, 0, C0)) / D  # along one direction, by symmetry
    assert sp.simplify(second - volume(D) * C0 ** (D + 2) / (D + 2)) == 0
    bound = C0**2 * volume(D) * C0**D / sp.pi
    assert sp.simplify(bound / (C0 * second.subs(D, D - 1)) / room(D)) == 1
    assert sp.simplify(sp.expand_func(room(D + 2) / room(D))) == (D + 3) / (D + 2)  # above 1
    assert room(sp.Integer(2)) == sp.Rational(3, 2)
    assert sp.simplify(room(sp.Integer(3)) - sp.Rational(16, 3) / sp.pi) == 0 and sp.Rational(16, 3) > sp.pi
    assert disc(2) == 4 / (9 * sp.pi)  # well below 1/room(2): the disc is no worst case


def two_discs(k, size):
    """As `disc`, for half the mass on a disc of radius `size` around 0 and half around (3, 0) size, at w = (1, 0)."""
    radius, p = 4 * size, 1 / (2 * sp.pi * size**2)  # C0, and the density on w'x = 0
    mean, square = size * (1 / (3 * sp.pi) + sp.Rational(3, 2)), size**2 * (sp.Rational(1, 16) + sp.Rational(37, 8))
    assert square - mean**2 > size**2 * sp.Rational(3, 16)  # along w, and across: w is the top eigenvector of A(w)
    return sp.simplify(mean * size / (3 * sp.pi) / (radius**k * radius**2 * p))


def twin():
    small, large = two_discs(3, sp.Rational(1, 1000)), two_discs(1, sp.Integer(100))
    assert small > 1 and large > 1 and disc(3).subs(C0, sp.Rational(1, 10)) > 1
    return f"two discs: {sp.N(small, 4)} of the bound with C0^3 at C0 = 1/250, {sp.N(large, 4)} of that with C0 at 400"


if __name__ == "__main__":
    proof()
    print(twin())
