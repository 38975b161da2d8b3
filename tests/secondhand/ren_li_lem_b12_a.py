"""Ren and Li: without negatives training ends at sum_p exp(sigma_p^2 Theta) = 2d, with the condition number
(sigma_1/sigma_r) exp((sigma_1^2 - sigma_r^2) Theta / 2).

Written from Section 3 of the paper (data, linear maps with normalised outputs, loss -E<f_A, f_B>) and the claim's
sentence. Both maps are trained by gradient flow in their weights; at infinite width the columns of W^T[A, A_xi] and of
W^T[B, B_xi] start orthogonal to each other, which is planted here in 2d outputs.
Method: Runge-Kutta of fourth order until the gradient is small; rates of the slowest mode leave 1e-6.
"""

import numpy as np

CLAIM = "ren-li-2023/lem-b12-a"
WITHIN = 1e-4


def trained(signal, noise, count):
    """W^T A at the end; A and B are taken in coordinates in which their columns are unit vectors times their scales."""
    d = len(signal) + count
    scales = np.concatenate([signal, np.full(count, noise)])
    shared = np.concatenate([np.ones(len(signal)), np.zeros(count)])  # a positive pair shares z and no noise
    moment, cross = np.diag(scales**2) / d, np.diag(scales * scales * shared) / d
    first, second = np.eye(d, 2 * d), np.eye(d, 2 * d, k=d)

    def up(pair):
        """The gradient of E<f_A, f_B> = tr(V^T C W) / (|V| |W|), |W|^2 = tr(W^T M W), for both."""
        w, v = pair
        n_w, n_v = np.sqrt(np.sum(w * (moment @ w))), np.sqrt(np.sum(v * (moment @ v)))
        agree = np.sum(v * (cross @ w)) / (n_w * n_v)
        return np.array(
            [
                cross @ v / (n_w * n_v) - agree * moment @ w / n_w**2,
                cross @ w / (n_w * n_v) - agree * moment @ v / n_v**2,
            ]
        )

    pair, step = np.array([first, second]), 0.05 * d
    for _ in range(200000):
        one = up(pair)
        if np.abs(one).max() < 1e-9 / d:
            break
        two = up(pair + step / 2 * one)
        three = up(pair + step / 2 * two)
        pair = pair + step / 6 * (one + 2 * two + 2 * three + up(pair + step * three))
    return (pair[0].T * scales)[:, : len(signal)]


def stated(signal, d):
    """The condition number of the claim, Theta by bisection."""
    low, high = 0.0, np.log(2 * d) / signal.max() ** 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.exp(signal**2 * middle).sum() < 2 * d else (low, middle)
    return signal.max() / signal.min() * np.exp((signal.max() ** 2 - signal.min() ** 2) * low / 2)


def found():
    cases = {}
    for signal, noise, count in (([2.0, 1.0, 1.0], 1.0, 9), ([1.6, 1.2, 0.8], 0.5, 13), ([1.5, 1.0], 1.0, 30)):
        signal = np.array(signal)
        ends = np.linalg.svd(trained(signal, noise, count), compute_uv=False)
        cases[f"signals {signal}, noise {noise:g} in {count} directions"] = (
            ends[0] / ends[-1],
            stated(signal, len(signal) + count),
        )
    return cases
