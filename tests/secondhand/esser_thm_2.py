"""Esser et al., Theorem 2: along W' = -(I - WW^T) grad L in both layers, q' = -2[2Cq - Cqq^T q - qq^T Cq], q = W1^T W2.

Written from this sentence: L = Tr(W2^T W1 C W1^T W2), orthonormal columns in both layers, gradients by central
differences.
"""

import numpy as np

CLAIM, WITHIN = "esser-2023/thm-2", 1e-6  # central differences of a quartic, step 1e-4


def loss(w1, w2, c):
    return np.trace(w2.T @ w1 @ c @ w1.T @ w2)


def gradient(function, w, step=1e-4):
    slope = np.zeros_like(w)
    for place in np.ndindex(w.shape):
        moved = np.zeros_like(w)
        moved[place] = step
        slope[place] = (function(w + moved) - function(w - moved)) / (2 * step)
    return slope


def found():
    rng, cases = np.random.default_rng(0), {}
    for h, d, z in ((5, 3, 1), (9, 4, 3), (12, 6, 6)):
        w1, w2 = (np.linalg.qr(rng.normal(size=(h, k)))[0] for k in (d, z))
        c = rng.normal(size=(d, d))
        c = c + c.T
        g1 = gradient(lambda w, w2=w2, c=c: loss(w, w2, c), w1)
        g2 = gradient(lambda w, w1=w1, c=c: loss(w1, w, c), w2)
        v1, v2 = (-(g - w @ (w.T @ g)) for w, g in ((w1, g1), (w2, g2)))
        q = w1.T @ w2
        left = v1.T @ w2 + w1.T @ v2
        right = -2 * (2 * c @ q - c @ q @ q.T @ q - q @ q.T @ c @ q)
        place = np.unravel_index(np.abs(left - right).argmax(), left.shape)
        cases[f"h = {h}, d = {d}, z = {z}, worst entry"] = left[place], right[place]
    return cases
