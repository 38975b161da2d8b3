"""Tian, eq. (9): u_m is the maximal eigenvector of A(u_m) when q_m < (3 - sqrt 5)/2, in the latent summation model.

Written from the text: independent standardised Bernoulli y, x = Uy, x gated by w^T x > 0, A the variance of the gated
x; all 2^6 outcomes are enumerated, and the q_m at which u_m stops to be the top eigenvector is found by halving an
interval.
"""

from itertools import product

import numpy as np

CLAIM, WITHIN = "tian-2023/eq-9-a", 1e-6  # forty halvings, and eigenvalues in float64


def field(q, basis, m):
    total, mean = np.zeros((len(q), len(q))), np.zeros(len(q))
    for bits in product((0, 1), repeat=len(q)):
        on = np.array(bits)
        chance = np.prod(np.where(on, q, 1 - q))
        y = np.where(on, np.sqrt((1 - q) / q), -np.sqrt(q / (1 - q)))
        x = basis @ y * (y[m] > 0)
        total, mean = total + chance * np.outer(x, x), mean + chance * x
    return total - np.outer(mean, mean)


def is_top(q_m, others, basis):
    values, vectors = np.linalg.eigh(field(np.append(q_m, others), basis, 0))
    return abs(vectors[:, -1] @ basis[:, 0]) > 0.9 and values[-1] > values[-2]


def found():
    rng, cases = np.random.default_rng(4), {}
    for k in range(3):
        others, basis = rng.uniform(0.05, 0.95, 5), np.linalg.qr(rng.normal(size=(6, 6)))[0]
        low, high = 0.01, 0.99
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if is_top(middle, others, basis) else (low, middle)
        cases[f"draw {k}"] = low, (3 - np.sqrt(5)) / 2
    return cases
