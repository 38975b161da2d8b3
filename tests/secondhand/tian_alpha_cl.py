"""Tian, eqs. (1) to (3): the gradient of InfoNCE is -2N^2 times that of the energy whose importance is held constant.

Written from these equations: d_ij^2 = |f[i]-f[j]|^2/2, alpha_ij the weight of pair (i, j) in the loss, 0 at j = i. A
network of two layers with tanh, all derivatives by central differences along random directions of its weights.
"""

import numpy as np

CLAIM, WITHIN = "tian-2023/alpha-cl", 1e-6  # central differences of step 1e-5 in float64


def distances(weights, x, y):
    f, g = (weights[1] @ np.tanh(weights[0] @ points) for points in (x, y))
    between = ((f[:, :, None] - f[:, None, :]) ** 2).sum(0) / 2
    return ((f - g) ** 2).sum(0) / 2, between


def loss(weights, x, y, tau, eps):
    own, between = distances(weights, x, y)
    others = np.exp(-between / tau).sum(1) - 1  # j = i has the distance 0
    return -tau * np.log(np.exp(-own / tau) / (eps * np.exp(-own / tau) + others)).sum()


def energy(weights, x, y, alpha):
    own, between = distances(weights, x, y)
    return (alpha * (between - own[:, None])).sum() / (2 * alpha.shape[0] ** 2)


def importance(weights, x, y, tau, eps):
    own, between = distances(weights, x, y)
    pairs = np.exp(-between / tau) * (1 - np.eye(len(own)))
    return pairs / (eps * np.exp(-own / tau) + pairs.sum(1))[:, None]


def along(function, weights, direction, step=1e-5):
    up, down = ([w + sign * step * d for w, d in zip(weights, direction, strict=True)] for sign in (1, -1))
    return (function(up) - function(down)) / (2 * step)


def found():
    rng, cases = np.random.default_rng(0), {}
    for n, tau, eps in ((4, 0.1, 0.0), (16, 0.5, 1.0), (64, 2.0, 5.0)):
        x, y = rng.normal(size=(2, 5, n))
        weights = [rng.normal(size=(7, 5)) / 3, rng.normal(size=(3, 7)) / 3]
        direction = [rng.normal(size=w.shape) for w in weights]
        alpha = importance(weights, x, y, tau, eps)
        left = along(lambda w, x=x, y=y, t=tau, e=eps: loss(w, x, y, t, e), weights, direction)
        right = along(lambda w, x=x, y=y, a=alpha: energy(w, x, y, a), weights, direction)
        cases[f"N = {n}, tau = {tau}, eps = {eps}"] = left, -2 * n**2 * right
    return cases
