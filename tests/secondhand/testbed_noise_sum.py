"""One testbed: n pairs of unrelated views of D inputs show one encoder correlations whose positive part sums to (2D/3
pi) sqrt(2D/n).

Written from this sentence: Gaussian views x, x' without relation; one encoder sees the symmetric part of their
covariance in units of the mean covariance of both.
"""

import numpy as np

CLAIM, WITHIN = "one-testbed/noise-sum", 0.05  # an error of order D/n, and the draw's


def found():
    rng, cases = np.random.default_rng(8), {}
    for d, n in ((64, 20_000), (128, 60_000)):
        x, y = rng.normal(size=(2, n, d))
        both = (x.T @ x + y.T @ y) / (2 * n)
        root = np.linalg.inv(np.linalg.cholesky(both))
        values = np.linalg.eigvalsh(root @ ((x.T @ y + y.T @ x) / (2 * n)) @ root.T)
        cases[f"D = {d}, n = {n}"] = float(values[values > 0].sum()), 2 * d / (3 * np.pi) * np.sqrt(2 * d / n)
    return cases
