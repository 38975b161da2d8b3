"""Tian, (9): a pattern of the latent summation model is the distinct maximal eigenvector of A if q < (3 - sqrt 5)/2.

Statement: for independent standardised Bernoulli y of probabilities q_j and any number of them, the variance of x gated
by y_m > 0 is diagonal, (1 - q)^2 at m and q = q_m elsewhere; for 0 < q < 1 the first is above the second exactly then.
Proof: the moments of one pair of coordinates, and (1-q)^2 - q = (q - low)(q - high) with high = 1/low > 1.
Twin: the printed border 0.382 in place of the root.
"""

import sympy as sp

UP, OTHER_UP = sp.symbols("u v", positive=True)  # the upper values of the pattern and of another, sqrt((1-q)/q)
Q = 1 / (1 + UP**2)
BORDER, OTHER = (3 - sp.sqrt(5)) / 2, (3 + sp.sqrt(5)) / 2


def values(up):
    """The two values of a standardised Bernoulli variable, with their probabilities q and 1 - q."""
    return [(up, 1 / (1 + up**2)), (-1 / up, up**2 / (1 + up**2))]


def gated(f):
    """The mean of f(y_m, y_j) over y_m > 0, and 0 over the rest."""
    return sp.simplify(sum(Q * weight * f(UP, y) for y, weight in values(OTHER_UP)))


def proof():
    pattern = sp.simplify(gated(lambda a, b: a * a) - gated(lambda a, b: a) ** 2)
    other = sp.simplify(gated(lambda a, b: b * b) - gated(lambda a, b: b) ** 2)
    between = gated(lambda a, b: a * b) - gated(lambda a, b: a) * gated(lambda a, b: b)
    assert sp.simplify(pattern - (1 - Q) ** 2) == 0 and sp.simplify(other - Q) == 0 and sp.simplify(between) == 0
    # two others: their product has the mean 0 on the gate as without it, since they are independent of y_m and centred
    assert sp.simplify(sum(y * weight for y, weight in values(OTHER_UP))) == 0
    q = sp.Symbol("q")
    assert sp.expand((1 - q) ** 2 - q - (q - BORDER) * (q - OTHER)) == 0 and sp.expand(BORDER * OTHER) == 1
    assert 0 < BORDER < 1 < OTHER


def twin():
    q = sp.Rational(12517, 32768)
    assert q < sp.Rational(382, 1000) and (1 - q) ** 2 < q
    return f"q = {q} is below 0.382, and (1-q)^2 - q = {(1 - q) ** 2 - q}"


if __name__ == "__main__":
    proof()
    print(twin())
