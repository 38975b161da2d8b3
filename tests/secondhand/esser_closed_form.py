"""Esser et al., beside eq. (10), z = 1: q = ((1-s)/(1-s0))^(1/4) e^(-2 Lambda tau) q0, s = |q|^2, dtau = (2-s) dt.

Written from this sentence and equation (9): Runge and Kutta's method for (9) and for the clock beside it.

The first version went on to t = 1.5 and differed by 1.3e-4 in one case: 1 - s is 6e-11 there, of which the closed form
takes the fourth root, and a quarter of the step lowered the difference thirtyfold. At t = 0.5 every 1 - s is above
1e-4.
"""

import numpy as np

CLAIM, WITHIN = "esser-2023/closed-form", 1e-6  # fourth order, step 1e-3


def slope(state, values):
    q = state[:-1]
    s, m = q @ q, q @ (values * q)
    return np.append(-4 * values * q + 2 * s * values * q + 2 * m * q, 2 - s)


def found():
    rng, cases, step = np.random.default_rng(1), {}, 1e-3
    for values in (np.array([-1.0, 0.5, 2.0]), np.array([-2.0, -1.0, 0.0, 1.0]), np.array([0.3, 0.7])):
        q0 = rng.normal(size=len(values))
        q0 *= 0.8 / np.linalg.norm(q0)
        state = np.append(q0, 0.0)
        for _ in range(500):
            k1 = slope(state, values)
            k2 = slope(state + step / 2 * k1, values)
            k3 = slope(state + step / 2 * k2, values)
            k4 = slope(state + step * k3, values)
            state = state + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        q, tau = state[:-1], state[-1]
        closed = ((1 - q @ q) / (1 - q0 @ q0)) ** 0.25 * np.exp(-2 * values * tau) * q0
        place = np.abs(q - closed).argmax()
        cases[f"values {values}, worst entry at t = 0.5"] = q[place], closed[place]
    return cases
