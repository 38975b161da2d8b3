"""One testbed, the law at a fixed temperature: the shares of a linear encoder trained by InfoNCE are (rho_j -
mu)+/tau^2.

Written from this sentence: pairs of Gaussian views of correlations rho, outputs Ux and Ux' of mean square norm 1 over
the batch, InfoNCE of inner products times tau^2 over a fresh batch of N pairs each step, both ways; gradients by hand.
mu makes the shares sum to 1. Shares are the diagonal of U^T U, the mean over the second half of the training.
"""

import numpy as np

CLAIM, WITHIN = "one-testbed/law-shares", 0.1  # absolute, of shares that sum to 1: N is finite


def shares(rho, tau2):
    low, high = rho.min() - tau2, rho.max()
    for _ in range(60):
        mu = (low + high) / 2
        low, high = (mu, high) if np.maximum(rho - mu, 0).sum() > tau2 else (low, mu)
    return np.maximum(rho - mu, 0) / tau2


def step(u, x, y, tau2):
    """The gradient in U of the loss, for outputs that are scaled to mean square norm 1."""
    n, both = len(x), (x.T @ x + y.T @ y) / (2 * len(x))
    size = np.sqrt(np.trace(u @ both @ u.T))
    f, g = x @ u.T / size, y @ u.T / size
    logits = tau2 * f @ g.T
    rows, columns = (np.exp(logits - logits.max(axis, keepdims=True)) for axis in (1, 0))
    error = (rows / rows.sum(1, keepdims=True) + columns / columns.sum(0, keepdims=True)) / 2 - np.eye(n)
    slope = tau2 / n * ((error @ g).T @ x + (error.T @ f).T @ y) / size
    return slope - np.trace(slope @ u.T) / size**2 * u @ both, size


def found():
    rng, cases, n = np.random.default_rng(9), {}, 512
    rho = np.array([0.9, 0.6, 0.3, 0.0])
    for tau2 in (0.5, 1.2):
        u, mean = rng.normal(size=(4, 4)) / 4, np.zeros(4)
        for k in range(1500):
            x, e = rng.normal(size=(2, n, 4))
            slope, size = step(u, x, rho * x + np.sqrt(1 - rho**2) * e, tau2)
            u = u - 0.3 * slope * size
            mean += (k >= 750) / 750 * np.diag(u.T @ u) / np.trace(u.T @ u)
        for j, law in enumerate(shares(rho, tau2)):
            cases[f"tau^2 = {tau2}, rho = {rho[j]}"] = 1 + mean[j], 1 + law  # so that 0 has a size
    return cases
