"""Esser et al., Proposition 2: under Frobenius norms the linear network of two layers has a global optimum of rank one.

Written from this sentence: Tr(W2^T W1 C W1^T W2), |W1|_F <= c1, |W2|_F <= c2, by projected gradient descent from many
starts; the least loss should be (c1 c2)^2 times the least eigenvalue of C, and the product should have one singular
value.
"""

import numpy as np

CLAIM, WITHIN = "esser-2023/prop-2", 1e-3  # descent stops after a fixed number of steps


def descend(w1, w2, c, c1, c2, rate=0.05, steps=8000):
    for _ in range(steps):
        g1, g2 = 2 * w2 @ w2.T @ w1 @ c, 2 * w1 @ c @ w1.T @ w2
        w1, w2 = w1 - rate * g1, w2 - rate * g2
        w1, w2 = w1 * min(1, c1 / np.linalg.norm(w1)), w2 * min(1, c2 / np.linalg.norm(w2))
    return w1, w2


def found():
    rng, c1, c2, ends = np.random.default_rng(2), 1.3, 0.7, []
    basis = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    c = basis @ np.diag([-1.0, -0.6, 0.2, 0.5, 1.0, 1.5]) @ basis.T
    for _ in range(12):
        w1, w2 = descend(rng.normal(size=(12, 6)), rng.normal(size=(12, 3)), c, c1, c2)
        ends.append((np.trace(w2.T @ w1 @ c @ w1.T @ w2), np.linalg.svd(w2.T @ w1)[1]))
    least, values = min(ends, key=lambda end: end[0])
    return {
        "least loss": (least, -((c1 * c2) ** 2)),
        "largest share of a singular value": (values[0] / values.sum(), 1.0),
    }
