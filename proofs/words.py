"""Esser et al.: projecting the gradient and projecting the weights are two flows; widths h, d, z of any size.

Statement: for W1'W1 = 1, W2'W2 = 1, C' = C, q = W1'W2 the flow of the projected gradients is -4Cq + 2Cqq'q + 2qq'Cq,
and of weights that are projected back after each step -4Cq + Cqq'q + 3qq'Cq.
Proof: both sides as polynomials in letters that do not commute; W1'W1 and W2'W2 are struck out. By hand: the product
rule, and that a step projected back is the tangent part to first order. Twin: the two flows are one.
"""

from fractions import Fraction
from functools import reduce


def add(*terms):
    total = {}
    for factor, p in terms:
        for word, k in p.items():
            total[word] = total.get(word, 0) + factor * k
    return {word: k for word, k in total.items() if k}


def mul(*polynomials):
    return reduce(lambda p, q: add(*((a * b, {u + v: 1}) for u, a in p.items() for v, b in q.items())), polynomials)


def transpose(p):
    return {word[::-1].swapcase(): k for word, k in p.items()}


W1, W2, C = {"A": 1}, {"B": 1}, {".": 1}  # a small letter is a transpose; the point has none
Q = mul(transpose(W1), W2)
LAYERS = (W1, mul(W2, transpose(W2), W1, C)), (W2, mul(W1, C, Q))  # each with half its gradient of tr(q'Cq)


def flow(a, b):
    """Of q, if a layer W with the half gradient G moves by -2G + a WW'G + b WG'W."""
    step1, step2 = (add((-2, g), (a, mul(w, transpose(w), g)), (b, mul(w, transpose(g), w))) for w, g in LAYERS)
    total = add((1, mul(transpose(step1), W2)), (1, mul(transpose(W1), step2)))
    return add(*((k, {word.replace("aA", "").replace("bB", ""): 1}) for word, k in total.items()))


def law(a, b, c):
    return add((a, mul(C, Q)), (b, mul(C, Q, transpose(Q), Q)), (c, mul(Q, transpose(Q), C, Q)))


def proof():
    assert flow(2, 0) == law(-4, 2, 2) and flow(1, 1) == law(-4, 1, 3)


def twin():
    q, c = [Fraction(2, 3), Fraction(1, 3)], [1, 0]  # W1 = (1 0; 0 1; 0 0), W2 = (2, 1, 2)/3
    pairs = list(zip(c, q, strict=True))
    s, m = sum(x * x for x in q), sum(k * x * x for k, x in pairs)
    gradients, weights = ([-4 * k * x + u * k * x * s + v * m * x for k, x in pairs] for u, v in ((2, 2), (1, 3)))
    assert gradients != weights
    return f"C = diag(1, 0), q = (2/3, 1/3): {' '.join(map(str, gradients))} is not {' '.join(map(str, weights))}"


if __name__ == "__main__":
    proof()
    print(twin())
