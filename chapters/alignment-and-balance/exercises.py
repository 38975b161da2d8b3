# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [raw]
# # ASSIGNMENT CONFIG
# name: alignment-and-balance
# init_cell: true
# export_cell:
#   pdf: false
# tests:
#   ok_format: false
# generate:
#   show_hidden: true
# requirements: [numpy, scipy, matplotlib]

# %% [raw]
# # NUMBERS
# omega: 0.5, from 0.2 to 0.9 by 0.05
# k_miss: 8, from 4 to 30 by 1
# r_sharp: 5, from 4 to 9 by 1
# level: 0.8, from 0.6 to 0.95 by 0.05
# target: 10, from 6 to 14 by 1
# s_near: 1.3, from 1.2 to 1.5 by 0.02
# cond: 10, from 6 to 20 by 1
# s_loud: 1.7, from 1.4 to 2.6 by 0.1
# sharp: 16, from 13 to 20 by 1

# %% [markdown]
# # Exercises: alignment and balance
#
# Three warm-ups (10 minutes each), three core exercises (30 minutes each) and two projects (a week each), 100 points. Every exercise names what it needs and what you can do after it. Replace each `...`, run the cell, then the check below it. A visible check costs nothing and may be repeated. Hidden checks run when the sheet is graded; they use other numbers.
#
# A **prediction** is a number and an interval, `(value, low, high)`, written down *before* you compute. It is scored by its distance from the truth, so that an honest guess with an honest interval earns points.
#
# Notation as in the chapter: $r$ signals of scales $\sigma_1\ge\dots\ge\sigma_r$ among $d$ dimensions, column lengths $\kappa_p$, squared inverse temperature $\tau^2$, strength $K$ of the negatives.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq, minimize_scalar

sigma = np.array([2.0, 1.6, 1.3, 1.0])  # of the chapter

# %% [markdown]
# ## Warm-up 1: aligned, not balanced
#
# *10 minutes, 6 points. Needs: Definition 4.2 of the paper, singular values. After it you can say how many directions an output really has.*
#
# The columns of a map are orthogonal and have the lengths $\kappa_p$. Its balance is the stable rank of the covariance of the outputs, $\lVert\Sigma\rVert_F^2/\lVert\Sigma\rVert_2^2$, where $\Sigma$ has the eigenvalues $\kappa_p^2$ up to a common factor.

# %% [raw]
# # BEGIN QUESTION
# name: w1_balance

# %% [markdown]
# Write `balance(kappa)`, and `short_length(target, r)`: the $x\in[0,1]$ for which the lengths $(1,x,\dots,x)$ ($r$ of them) have the given balance.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# $\Sigma$ has eigenvalues $\kappa_p^2$, so the balance is $\sum_p\kappa_p^4/\max_p\kappa_p^4$. With $(1,x,\dots,x)$ it is $1+(r-1)x^4$.


# %%
def balance(kappa):
    """Stable rank of the covariance: 1 to r."""
    # BEGIN SOLUTION
    fourth = np.asarray(kappa, dtype=float) ** 4
    return fourth.sum() / fourth.max()
    # END SOLUTION


def short_length(target, r):
    """x with balance((1, x, …, x)) = target."""
    # BEGIN SOLUTION
    return ((target - 1) / (r - 1)) ** 0.25
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'it is the covariance whose stable rank is asked, not that of the map'
"""  # END TEST CONFIG


def test_one_map(balance):
    got = balance([2.0, 1, 1, 1])
    assert abs(got - 1.75) > 1e-9, (
        "7/4 is the stable rank of the map; its covariance has the squares of these eigenvalues"
    )
    assert abs(got - 49 / 19) > 1e-9, (
        "(Σκ²)²/Σκ⁴ is another measure, the participation ratio"
    )
    assert abs(got - 1.1875) < 1e-12, f"got {got:.4f} for the lengths (2, 1, 1, 1)"


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'other lengths, common factors, and lengths found by your second function'
"""  # END TEST CONFIG


def test_maps(balance, short_length):
    import numpy as np

    rng = np.random.default_rng(61)
    for r in range(2, 9):
        kappa = rng.uniform(0.1, 3, r)
        want = np.linalg.norm(kappa**2) ** 2 / np.max(kappa**2) ** 2
        assert abs(balance(kappa) - want) < 1e-9, (
            "the ratio of ‖Σ‖_F² to the square of the largest eigenvalue"
        )
        assert abs(balance(7 * kappa) - want) < 1e-9, (
            "a common factor of all lengths does not matter"
        )
        target = rng.uniform(1, r)
        x = short_length(target, r)
        assert 0 <= x <= 1 and abs(1 + (r - 1) * x**4 - target) < 1e-9, (
            "lengths (1, x, …, x) have balance 1 + (r − 1)x⁴"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The stable rank of the map in place of the covariance.
def balance(kappa):
    square = np.asarray(kappa, dtype=float) ** 2
    return square.sum() / square.max()


def short_length(target, r):
    return ((target - 1) / (r - 1)) ** 0.5


# %% tags=["mistake"]
# The participation ratio.
def balance(kappa):
    square = np.asarray(kappa, dtype=float) ** 2
    return square.sum() ** 2 / (square**2).sum()


# %% tags=["mistake"]
# Divided by the sum: always one.
def balance(kappa):
    fourth = np.asarray(kappa, dtype=float) ** 4
    return fourth.max() / fourth.sum()


# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Warm-up 2: read the power of d
#
# *10 minutes, 6 points. Needs: the end of training on positive pairs alone. After it you can say how uneven the signals are when training on positive pairs ends.*
#
# At infinite width positive pairs alone end where $\sum_pe^{\sigma_p^2\Theta}=2d$, with $\kappa_p\propto\sigma_pe^{\sigma_p^2\Theta/2}$.

# %% [raw]
# # BEGIN QUESTION
# name: w2_end

# %% [markdown]
# Write `end_condition(sigma, d)`, the condition number $\max\kappa_p/\min\kappa_p$ at the end, for scales in any order and $d$ up to $10^{12}$.

# %% [raw]
# # BEGIN SOLUTION


# %%
def end_condition(sigma, d):
    """max κ / min κ at the end of training on positive pairs alone."""
    # BEGIN SOLUTION
    square = np.sort(np.asarray(sigma, dtype=float) ** 2)
    theta = brentq(
        lambda x: np.exp(square * x).sum() - 2 * d, 0, np.log(2 * d) / square[-1] + 1
    )
    return np.sqrt(square[-1] / square[0]) * np.exp(
        (square[-1] - square[0]) * theta / 2
    )
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'solve for Θ first, then compare the longest column with the shortest'
"""  # END TEST CONFIG


def test_the_chapter(end_condition, sigma):
    got = end_condition([2.0, 1.6, 1.3, 1.0], 8)
    assert got >= 1, "the longest column over the shortest, which is at least 1"
    assert abs(got / 2 - 4.379440) > 1e-3 and abs(got * 2 - 4.379440) > 1e-3, (
        "the columns are σ_p e^…: mind their first factor"
    )
    assert abs(got**0.5 - 4.379440) > 0.05, "that is the ratio of the squares κ²"
    assert abs(got - 2 * 8 ** (3 / 8)) > 1e-3, (
        "all four signals are in the sum, and it is 2d; the strongest alone is right for d → ∞ only"
    )
    assert abs(got - 4.379440) < 1e-5, (
        f"got {got:.6f} for the chapter's scales and d = 8"
    )


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'other dimensions, scales in another order, equal scales'
"""  # END TEST CONFIG


def test_other_ends(end_condition):
    import numpy as np

    for d, want in ((10**3, 33.565558), (10**6, 460.25503)):
        assert (
            abs(end_condition(np.array([1.3, 2.0, 1.0, 1.6]), d) / want - 1) < 1e-6
        ), f"d = {d}, scales in another order"
    assert abs(end_condition(np.array([1.5, 1.5]), 100) - 1) < 1e-9, (
        "equal scales stay balanced"
    )
    theta = 0.0
    for _ in range(50):
        theta = np.log(2e12 - np.exp(theta)) / 9
    got = end_condition(np.array([3.0, 1.0]), 10**12)
    assert abs(got / (3 * np.exp(4 * theta)) - 1) < 1e-6, (
        f"d may be 10¹²: for σ = (3, 1) it ends at {3 * np.exp(4 * theta):.6g}, got {got:.6g}"
    )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The squares κ² in place of the lengths.
def end_condition(sigma, d):
    square = np.sort(np.asarray(sigma, dtype=float) ** 2)
    theta = brentq(
        lambda x: np.exp(square * x).sum() - 2 * d, 0, np.log(2 * d) / square[-1] + 1
    )
    return square[-1] / square[0] * np.exp((square[-1] - square[0]) * theta)


# %% tags=["mistake"]
# The factor σ_p of each column forgotten.
def end_condition(sigma, d):
    square = np.sort(np.asarray(sigma, dtype=float) ** 2)
    theta = brentq(
        lambda x: np.exp(square * x).sum() - 2 * d, 0, np.log(2 * d) / square[-1] + 1
    )
    return np.exp((square[-1] - square[0]) * theta / 2)


# %% tags=["mistake"]
# Only the strongest signal in the sum: e^{σ₁²Θ} = d.
def end_condition(sigma, d):
    square = np.sort(np.asarray(sigma, dtype=float) ** 2)
    theta = np.log(d) / square[-1]
    return np.sqrt(square[-1] / square[0]) * np.exp(
        (square[-1] - square[0]) * theta / 2
    )


# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Warm-up 3: who grows?
#
# *10 minutes, 6 points. Needs: $\frac{d}{dt}\log\kappa_p^2=4(1-S)\frac{\sigma_p^2}{n^2}(\bar T-T_p)$. After it you can read the direction of training off a state.*
#
# Aligned maps without noise: $n^2=\sum_q\kappa_q^2$, $g_p=\kappa_p^2/n^2$, $T_p=\tanh(\tau^2g_p)$, $\bar T=\sum_qg_qT_q$.

# %% [raw]
# # BEGIN QUESTION
# name: w3_growing

# %% [markdown]
# Write `growing(kappa, sigma, tau2)`: for each column `True` if it grows and `False` if it shrinks.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# $1-S$, $\sigma_p^2$ and $n^2$ are positive, so the sign is that of $\bar T-T_p$. The scales decide nothing but speed.


# %%
def growing(kappa, sigma, tau2):
    """Which columns grow, an array of booleans."""
    # BEGIN SOLUTION
    g = np.asarray(kappa, dtype=float) ** 2
    g = g / g.sum()
    t = np.tanh(tau2 * g)
    return t < g @ t
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'which factor in the equation can change its sign?'
"""  # END TEST CONFIG


def test_one_state(growing):
    import numpy as np

    got = np.asarray(growing([3.0, 2.0, 1.0], [1.5, 2.0, 1.0], 2.0))
    assert got.shape == (3,), "one answer for each column"
    assert {*got.tolist()} <= {True, False}, "True or False is asked, not a rate"
    assert got.tolist() != [True, False, False], (
        "the other way round: negatives push the long columns down"
    )
    assert got.tolist() != [False, True, False], (
        "the scales decide nothing but the speed: σ² is positive"
    )
    assert got.tolist() != [False, False, True], (
        "T̄ is no plain mean: each T counts with its g"
    )
    assert got.tolist() == [False, True, True], (
        f"got {got.tolist()} for κ = (3, 2, 1): compare each T with the mean weighted by g"
    )


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'a hundred states, at small and large temperatures'
"""  # END TEST CONFIG


def test_states(growing):
    import numpy as np

    rng = np.random.default_rng(62)
    for _ in range(100):
        kappa, sigma = rng.uniform(0.2, 3, 5), rng.uniform(0.5, 2, 5)
        tau2 = float(np.exp(rng.uniform(-2, 3)))
        g = kappa**2 / (kappa @ kappa)
        t = np.tanh(tau2 * g)
        rate = 4 * sigma**2 * (g @ t - t)
        assert (
            np.asarray(growing(kappa, sigma, tau2)).tolist() == (rate > 0).tolist()
        ), "T̄ weighs each column with its g, and σ changes no sign"


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The other way round.
def growing(kappa, sigma, tau2):
    g = np.asarray(kappa, dtype=float) ** 2
    g = g / g.sum()
    t = np.tanh(tau2 * g)
    return t > g @ t


# %% tags=["mistake"]
# Louder signals grow.
def growing(kappa, sigma, tau2):
    square = np.asarray(sigma, dtype=float) ** 2
    return square > square.mean()


# %% tags=["mistake"]
# The plain mean in place of the weighted one.
def growing(kappa, sigma, tau2):
    g = np.asarray(kappa, dtype=float) ** 2
    g = g / g.sum()
    t = np.tanh(tau2 * g)
    return t < t.mean()


# %% tags=["mistake"]
# A rate, not an answer.
def growing(kappa, sigma, tau2):
    g = np.asarray(kappa, dtype=float) ** 2
    g = g / g.sum()
    t = np.tanh(tau2 * g)
    return 4 * np.asarray(sigma) ** 2 * (g @ t - t)


# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Core 1: one side weighs less
#
# *30 minutes, 14 points. Needs: the contrastive loss of the chapter, warm-up 3. After it you can derive the push on a column and say what a temperature hides.*
#
# With orthogonal columns $f_A\cdot f_B=\sum_pg_ps_ps_p'$ for the signs $s,s'\in\{\pm1\}^r$ of two signals; a positive pair has $s'=s$, and all signs of a negative are fair and independent. One side weighs less than the other: the loss is $\mathcal L=-\mathbb E[\log S_A+{{omega}}\log S_B]$,
# $S_A=\frac{e^{\tau^2f_A^+\cdot f_B^+}}{e^{\tau^2f_A^+\cdot f_B^+}+K\,\mathbb E_{s'}e^{\tau^2f_A^+\cdot f_B^-}}$, and $S_B$ likewise.

# %% [raw]
# # BEGIN QUESTION
# name: c1_prediction

# %% [markdown]
# **Predict first.** $r=3$ signals, $g=(\frac13,\frac13,\frac13)$, $K={{k_miss}}$. To which number does $1-S$ tend as $\tau\to\infty$?

# %% [raw]
# # BEGIN SOLUTION

# %%
missed_prediction = (0.5, 0.3, 0.6)  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # PREDICTION
# name: missed_prediction
# truth: missed(np.full(3, 1 / 3), 1e4, {{k_miss}})
# scale: difference
# widest: 0.4
# far: 0.25
# near: 0.05

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# Sharp contrast wins every pair.
missed_prediction = (0, 0, 0.05)

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c1_push

# %% [markdown]
# Write `missed(g, tau2, k)`, which returns $1-S$, and `push(g, tau2, k)`, the array $-\frac1{\tau^2}\frac{\partial\mathcal L}{\partial g_p}$. Both must work at $\tau^2=500$.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# $\mathbb E_{s'}e^{\tau^2\sum g_ps_ps_p'}=\prod_p\cosh(\tau^2g_p)$, the same for every anchor, so $\frac{1-S}S=K\prod_p\cosh(\tau^2g_p)\,e^{-\tau^2g_p}=K\prod_p\frac{1+e^{-2\tau^2g_p}}2$. The derivative of $-\log S$ is $-(1-S)\tau^2(1-T_p)$, and A and B together are the factor $1+{{omega}}$: $(1+{{omega}})(1-S)(1-T_p)$.


# %%
def missed(g, tau2, k):
    """1 − S, the share that negatives have in the softmax."""
    # BEGIN SOLUTION
    odds = k * np.prod((1 + np.exp(-2 * tau2 * np.asarray(g))) / 2)
    return odds / (1 + odds)
    # END SOLUTION


def push(g, tau2, k):
    """−(1/τ²) ∂L/∂g_p for each column."""
    # BEGIN SOLUTION
    return (1 + {{omega}}) * missed(g, tau2, k) * (1 - np.tanh(tau2 * np.asarray(g)))
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'average the exponentials over the signs of the negative, one sign at a time'
"""  # END TEST CONFIG


def test_missed(missed):
    import itertools

    import numpy as np

    g, tau2, k = np.array([0.5, 0.3, 0.2]), 1.7, 8.0
    mean = np.mean(
        [np.exp(tau2 * g @ np.array(s)) for s in itertools.product((-1, 1), repeat=3)]
    )
    want = k * mean / (np.exp(tau2 * g.sum()) + k * mean)
    got = missed(g, tau2, k)
    assert abs(got - (1 - want)) > 1e-9, "that is S; asked is 1 − S"
    assert abs(got - want) < 1e-10, (
        f"got {got:.6f}, by summing over all signs {want:.6f}"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'differentiate the loss numerically and compare'
"""  # END TEST CONFIG


def test_push(push):
    import itertools

    import numpy as np

    g, tau2, k = np.array([0.5, 0.3, 0.2]), 1.7, 8.0
    signs = np.array(list(itertools.product((-1, 1), repeat=3)))

    def loss(g):
        return (1 + {{omega}}) * np.log(
            1 + k * np.mean(np.exp(tau2 * signs @ g)) * np.exp(-tau2 * g.sum())
        )

    step = 1e-5 * np.eye(3)
    want = np.array([(loss(g - h) - loss(g + h)) / 2e-5 for h in step]) / tau2
    got = np.asarray(push(g, tau2, k))
    assert got.shape == (3,), "one number for each column"
    assert np.abs(got - want / (1 + {{omega}})).max() > 1e-6, "A and B each contribute"
    assert np.abs(got - 2 * want / (1 + {{omega}})).max() > 1e-6, (
        "B does not weigh as much as A"
    )
    s = np.exp(tau2 * g.sum()) / (
        np.exp(tau2 * g.sum()) + k * np.mean(np.exp(tau2 * signs @ g))
    )
    assert np.abs(got / tau2**0.5 - want).max() > 1e-6, "divide by τ², not by τ"
    assert np.abs(got / tau2 - want).max() > 1e-6, "divided by τ² is asked"
    t = np.tanh(tau2 * g)
    assert np.abs(got - want * (1 + t) / (1 - t)).max() > 1e-6, (
        "1 + T in place of 1 − T: a negative that agrees in a sign pushes the other way"
    )
    assert np.abs(got - want * s / (1 - s)).max() > 1e-6, (
        "S in place of 1 − S: where the positive pair has won, nothing is left to push"
    )
    assert np.abs(got - want).max() < 1e-7, (
        f"got {np.round(got, 4).tolist()}, the derivative is {np.round(want, 4).tolist()}"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'other sizes, and a sharp contrast without overflow'
"""  # END TEST CONFIG


def test_missed_elsewhere(missed):
    import numpy as np

    rng = np.random.default_rng(63)
    for r in range(1, 7):
        g, k = rng.dirichlet(np.ones(r)), float(np.exp(rng.uniform(-1, 4)))
        for tau2 in (0.01, 3.0):
            mean = np.prod(np.cosh(tau2 * g))
            want = k * mean / (np.exp(tau2) + k * mean)
            assert abs(missed(g, tau2, k) - want) < 1e-9, f"r = {r}, τ² = {tau2}"
    got = missed(np.full(4, 0.25), 5000.0, 8.0)
    assert np.isfinite(got), (
        "overflow at a large τ²: take the factor exp(−τ²g) into each cosh"
    )
    assert abs(got - 1 / 3) < 1e-9, (
        "with probability 2^−r a negative has the very same signal"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'other sizes, and a sharp contrast without overflow'
"""  # END TEST CONFIG


def test_push_elsewhere(push):
    import numpy as np

    rng = np.random.default_rng(64)
    for r in (1, 2, 5):
        g, k, tau2 = (
            rng.dirichlet(np.ones(r)),
            float(np.exp(rng.uniform(-1, 4))),
            float(rng.uniform(0.1, 4)),
        )
        odds = k * np.prod(np.cosh(tau2 * g)) / np.exp(tau2)
        want = (1 + {{omega}}) * odds / (1 + odds) * (1 - np.tanh(tau2 * g))
        assert np.abs(np.asarray(push(g, tau2, k)) - want).max() < 1e-9, (
            f"r = {r}: the push is (1 − S)(1 − T), once for A and {{omega}} times for B"
        )
    assert np.all(np.isfinite(push(np.full(3, 1 / 3), 5000.0, 8.0))), (
        "overflow at a large τ²"
    )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The factor two: only one of the two sides.
def push(g, tau2, k):
    return missed(g, tau2, k) * (1 - np.tanh(tau2 * np.asarray(g)))


# %% tags=["mistake"]
# Both sides alike.
def push(g, tau2, k):
    return 2 * missed(g, tau2, k) * (1 - np.tanh(tau2 * np.asarray(g)))


# %% tags=["mistake"]
# The sign of the negatives.
def push(g, tau2, k):
    return (1 + {{omega}}) * missed(g, tau2, k) * (1 + np.tanh(tau2 * np.asarray(g)))


# %% tags=["mistake"]
# S in place of 1 − S.
def missed(g, tau2, k):
    odds = k * np.prod((1 + np.exp(-2 * tau2 * np.asarray(g))) / 2)
    return 1 / (1 + odds)


# %% tags=["mistake"]
# The products of cosh as they stand: right, until they overflow.
def missed(g, tau2, k):
    mean = np.prod(np.cosh(tau2 * np.asarray(g)))
    return k * mean / (np.exp(tau2 * np.sum(g)) + k * mean)


# %% [raw]
# # END QUESTION

# %%
temperatures, g = np.geomspace(0.1, 100, 60), np.array([0.6, 0.3, 0.1])
plt.figure(figsize=(5, 3))
plt.semilogx(
    temperatures, [push(g, t, 8.0) for t in temperatures], label=[f"g = {x}" for x in g]
)
plt.semilogx(
    temperatures, [missed(g, t, 8.0) for t in temperatures], "k--", label="1 − S"
)
plt.xlabel("τ²")
plt.ylabel("push on a column")
plt.title("A sharp contrast pushes only what is short")
plt.legend()
plt.show()

# %% [raw]
# # BEGIN QUESTION
# name: c1_refutation

# %% [markdown]
# **Refute.** A colleague writes: "With a sharp contrast the positive pair wins: $S\to1$ as $\tau\to\infty$." Let there be {{r_sharp}} signals, each with a share of its own. Give `negatives_border`, the $K$ from which on $1-S$ tends to {{level}} or more. (To one part in a hundred.)

# %% [raw]
# # BEGIN SOLUTION

# %%
negatives_border = None  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # BORDER
# name: negatives_border
# truth: 2 ** {{r_sharp}} * {{level}} / (1 - {{level}})
# hint: how often has a negative the very same signs?
# near: {{level}} / (1 - {{level}}) | a negative agrees in all signs with probability 2⁻ʳ only
# near: 2 ** {{r_sharp}} * {{level}} | those are the odds of the negatives, not their share

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# As if every negative agreed.
negatives_border = {{level}} / (1 - {{level}})

# %% tags=["mistake"]
# The odds for the share.
negatives_border = 2 ** {{r_sharp}} * {{level}}

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Core 2: one stronger signal
#
# *30 minutes, 14 points. Needs: warm-up 2. After it you can say which data collapse.*
#
# Positive pairs alone, infinite width, one stronger signal: $\sigma=(s,1,\dots,1)$ with $s>1$ and $r$ signals.

# %% [raw]
# # BEGIN QUESTION
# name: c2_prediction

# %% [markdown]
# **Predict first.** $r=4$ and $d=10^6$. At which $s$ does the condition number end at {{target}}?

# %% [raw]
# # BEGIN SOLUTION

# %%
ratio_prediction = (1.2, 1.05, 1.6)  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # PREDICTION
# name: ratio_prediction
# truth: ratio_for(10**6, {{target}}, 4)
# scale: factor
# widest: 2
# far: 1.25
# near: 1.05

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# A collapse to a tenth needs a tenfold signal.
ratio_prediction = (10, 7, 12)

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c2_ratio

# %% [markdown]
# Write `ratio_for(d, target, r)`, the $s$ at which the condition number ends at `target` $>1$.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# $s\,e^{(s^2-1)\Theta/2}=c$ gives $\Theta=\frac2{s^2-1}\log\frac cs$, and with it $\left(\frac cs\right)^{2s^2/(s^2-1)}+(r-1)\left(\frac cs\right)^{2/(s^2-1)}=2d$. The left-hand side falls from $\infty$ to $r$ on $1<s<c$: one root. Logarithms avoid the overflow near 1.


# %%
def ratio_for(d, target, r):
    """s at which positive pairs alone end at the condition number `target`."""

    # BEGIN SOLUTION
    def excess(s):
        step = 2 * np.log(target / s) / (s**2 - 1)
        return np.logaddexp(s**2 * step, np.log(r - 1) + step) - np.log(2 * d)

    return brentq(excess, 1 + 1e-7, target)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 4
failure_message: 'put your s into the equation of the end'
"""  # END TEST CONFIG


def test_one_dimension(ratio_for):
    import numpy as np
    from scipy.optimize import brentq

    s = ratio_for(8, 10.0, 4)
    assert 1 < s < 10, (
        "s lies between 1 and the target: without training the ratio would be s already"
    )
    half = brentq(lambda x: np.exp(s**2 * x) + 3 * np.exp(x) - 8, 0, 3)
    assert abs(s * np.exp((s**2 - 1) * half / 2) - 10) > 1e-3, (
        "the sum of the exponentials ends at 2d, not at d"
    )
    theta = brentq(lambda x: np.exp(s**2 * x) + 3 * np.exp(x) - 16, 0, 3)
    end = s * np.exp((s**2 - 1) * theta / 2)
    assert abs(end - 10) < 1e-6, (
        f"with your s = {s:.4f} the condition number ends at {end:.3f}; d = 8, r = 4"
    )


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'other dimensions, targets and numbers of signals'
"""  # END TEST CONFIG


def test_other_dimensions(ratio_for):
    import numpy as np
    from scipy.optimize import brentq

    for d, target, r in ((10**6, 10.0, 4), (50, 5.0, 3), (8, 2.0, 2), (10**9, 30.0, 6)):
        s = ratio_for(d, target, r)
        theta = brentq(
            lambda x: np.exp(s**2 * x) + (r - 1) * np.exp(x) - 2 * d,
            0,
            np.log(2 * d) / s**2 + 1,
        )
        end = s * np.exp((s**2 - 1) * theta / 2)
        assert abs(end / target - 1) < 1e-5, (
            f"d = {d}, r = {r}: ends at {end:.4f}, not at {target:g}"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The target of the squares.
def ratio_for(d, target, r):
    def excess(s):
        step = np.log(target / s**2) / (s**2 - 1)
        return np.logaddexp(s**2 * step, np.log(r - 1) + step) - np.log(2 * d)

    return brentq(excess, 1 + 1e-7, target**0.5)


# %% tags=["mistake"]
# The other signals left out of the sum.
def ratio_for(d, target, r):
    def excess(s):
        return s**2 * 2 * np.log(target / s) / (s**2 - 1) - np.log(2 * d)

    return brentq(excess, 1 + 1e-7, target)


# %% tags=["mistake"]
# d in place of 2d.
def ratio_for(d, target, r):
    def excess(s):
        step = 2 * np.log(target / s) / (s**2 - 1)
        return np.logaddexp(s**2 * step, np.log(r - 1) + step) - np.log(d)

    return brentq(excess, 1 + 1e-7, target)


# %% tags=["mistake"]
# No training: the scales themselves.
def ratio_for(d, target, r):
    return target


# %% [raw]
# # END QUESTION

# %%
dimensions = np.geomspace(4, 1e9, 40)
plt.figure(figsize=(5, 3))
plt.semilogx(dimensions, [ratio_for(d, 10.0, 4) for d in dimensions])
plt.axhline(1, color="grey", lw=0.8)
plt.xlabel("d")
plt.ylabel("s that ends at 10")
plt.title("The more noise, the less it takes")
plt.show()

# %% [raw]
# # BEGIN QUESTION
# name: c2_refutation

# %% [markdown]
# **Refute.** A colleague writes: "A condition number of {{cond}} needs extreme data: some signal must be three times as strong as another." Let $\sigma=({{s_near}},1,1,1)$. Give `dimensions_border`, the $d$ (a real number) at which positive pairs alone end at {{cond}}. (To one part in a hundred.)

# %% [raw]
# # BEGIN SOLUTION

# %%
dimensions_border = None  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # BORDER
# name: dimensions_border
# truth: brentq(lambda x: end_condition([{{s_near}}, 1, 1, 1], 10**x) - {{cond}}, 0.7, 30) and 10 ** brentq(lambda x: end_condition([{{s_near}}, 1, 1, 1], 10**x) - {{cond}}, 0.7, 30)
# hint: the condition number grows as a power of d: solve for the clock first
# near: np.exp({{s_near}} ** 2 * 2 * np.log({{cond}} / {{s_near}}) / ({{s_near}} ** 2 - 1)) + 3 * np.exp(2 * np.log({{cond}} / {{s_near}}) / ({{s_near}} ** 2 - 1)) | the sum over signals is 2d, not d

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# d in place of 2d.
dimensions_border = np.exp(
    {{s_near}} ** 2 * 2 * np.log({{cond}} / {{s_near}}) / ({{s_near}} ** 2 - 1)
) + 3 * np.exp(2 * np.log({{cond}} / {{s_near}}) / ({{s_near}} ** 2 - 1))

# %% tags=["mistake"]
# A power of the ratio alone.
dimensions_border = ({{cond}} / {{s_near}}) ** 2

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Core 3: the slowest decay
#
# *30 minutes, 14 points. Needs: warm-up 3, core 1, linearisation. After it you can say which states are at rest, and what a temperature costs.*
#
# Aligned maps without noise follow the equation of warm-up 3, with $\frac{1-S}S=K\prod_p\frac{1+e^{-2\tau^2g_p}}2$.

# %% [raw]
# # BEGIN QUESTION
# name: c3_prediction

# %% [markdown]
# **Predict first.** The chapter's $\sigma$ ($r=4$), $K=8$. Near balance a small imbalance decays. How many times as slow is the slowest decay at $\tau^2={{sharp}}$ as at $\tau^2=4$?

# %% [raw]
# # BEGIN SOLUTION

# %%
slower_prediction = (100, 30, 250)  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # PREDICTION
# name: slower_prediction
# truth: slowest_decay(sigma, 4.0, 8.0) / slowest_decay(sigma, {{sharp}}, 8.0)
# scale: factor
# widest: 12
# far: 4
# near: 1.3

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# A sharper contrast balances faster.
slower_prediction = (0.25, 0.1, 0.5)

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c3_rates

# %% [markdown]
# Write `growth_of_missing(sigma_p, present, tau2, k)`: the rate of $\log\kappa_p^2$ of a column just above zero while `present` columns have length 1 and all others are zero; and `slowest_decay(sigma, tau2, k)`: the slowest rate at which $\delta_p=g_p-\frac1r$ decays where all $r$ columns have length 1.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# A missing column has $T_p=0$ and $\bar T=\tanh(\tau^2/k)$ for $k$ columns of length 1, $n^2=k$. Near balance, to first order $\dot\delta=-\frac\rho r\,P\operatorname{diag}(\sigma^2)P\,\delta$ with $P=I-\frac1r\mathbf 1\mathbf 1^\top$ and $\rho=\frac{4(1-S)\tau^2}{n^2}\cosh^{-2}\frac{\tau^2}r$, $n^2=r$.


# %%
def growth_of_missing(sigma_p, present, tau2, k):
    """Rate of log κ_p² of a lost column."""
    # BEGIN SOLUTION
    odds = k * ((1 + np.exp(-2 * tau2 / present)) / 2) ** present
    return 4 * odds / (1 + odds) * sigma_p**2 / present * np.tanh(tau2 / present)
    # END SOLUTION


def slowest_decay(sigma, tau2, k):
    """The slowest rate of a small imbalance at equal lengths 1."""
    # BEGIN SOLUTION
    r = len(sigma)
    odds = k * ((1 + np.exp(-2 * tau2 / r)) / 2) ** r
    rho = 4 * odds / (1 + odds) * tau2 / r / np.cosh(tau2 / r) ** 2
    project = np.eye(r) - 1 / r
    return rho / r * np.linalg.eigvalsh(project * np.asarray(sigma) ** 2 @ project)[1]
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'put κ² = 10⁻¹² into the equation of warm-up 3'
"""  # END TEST CONFIG


def test_missing(growth_of_missing):
    import numpy as np

    square, sigma = np.array([1.0, 1.0, 1e-12]), np.array([2.0, 1.0, 1.5])
    g = square / square.sum()
    t, odds = np.tanh(2 * g), 8 * np.prod((1 + np.exp(-4 * g)) / 2)
    want = (4 * odds / (1 + odds) * sigma**2 / square.sum() * (g @ t - t))[2]
    got = growth_of_missing(1.5, 2, 2.0, 8.0)
    assert abs(got - want / 2) > 1e-6, "half of it: asked is the rate of the square"
    assert got > 0, "a missing column has T = 0 and grows"
    assert abs(got - want * (1 + odds) / odds) > 1e-6, (
        "the factor 1 − S is left out: it holds K and the columns that are there"
    )
    assert abs(got - want * np.tanh(2) / np.tanh(1)) > 1e-6, (
        "a column that is there has T = tanh(τ²/k), as its g is 1/k"
    )
    assert abs(got - want) < 1e-6, (
        f"got {got:.4f}, the equation gives {want:.4f}: n² is the number of columns of length 1"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'δ sums to zero; project before you take eigenvalues'
"""  # END TEST CONFIG


def test_decay(slowest_decay):
    import numpy as np

    sigma, tau2, k = np.array([2.0, 1.0]), 2.0, 8.0

    def rate(delta):
        g = np.array([0.5 + delta, 0.5 - delta])
        t, odds = np.tanh(tau2 * g), k * np.prod((1 + np.exp(-2 * tau2 * g)) / 2)
        speed = g * 4 * odds / (1 + odds) * sigma**2 / 2 * (g @ t - t)
        return -(speed - g * speed.sum())[0] / delta

    got = slowest_decay(sigma, tau2, k)
    assert abs(got) > 1e-9, (
        "0 belongs to the direction (1, …, 1), which no δ of sum zero has: take the next eigenvalue"
    )
    assert got > 0, "an imbalance decays: the rate is positive"
    assert abs(got - rate(1e-6)) < 1e-5, (
        f"got {got:.4f}, the equation gives {rate(1e-6):.4f} for σ = (2, 1); is δ kept at sum zero?"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'other scales, counts and temperatures'
"""  # END TEST CONFIG


def test_missing_elsewhere(growth_of_missing):
    import numpy as np

    for present, tau2, k in ((1, 0.5, 2.0), (3, 6.0, 8.0), (5, 64.0, 127.0)):
        odds = k * np.prod((1 + np.exp(-2 * tau2 / np.full(present, present))) / 2)
        want = 4 * odds / (1 + odds) * 1.69 / present * np.tanh(tau2 / present)
        assert abs(growth_of_missing(1.3, present, tau2, k) / want - 1) < 1e-9, (
            f"{present} columns, τ² = {tau2}"
        )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'other scales and temperatures, up to 64'
"""  # END TEST CONFIG


def test_decay_elsewhere(slowest_decay):
    import numpy as np

    rng = np.random.default_rng(65)
    for r, tau2, k in ((3, 1.0, 8.0), (4, 16.0, 8.0), (4, 64.0, 8.0), (6, 3.0, 127.0)):
        sigma = rng.uniform(0.7, 2, r)
        odds = k * ((1 + np.exp(-2 * tau2 / r)) / 2) ** r
        rho = 4 * odds / (1 + odds) * tau2 / r / np.cosh(tau2 / r) ** 2
        basis = np.linalg.qr(
            np.column_stack([np.ones(r), rng.standard_normal((r, r - 1))])
        )[0][:, 1:]
        want = rho / r * np.linalg.eigvalsh(basis.T * sigma**2 @ basis)[0]
        assert abs(slowest_decay(sigma, tau2, k) / want - 1) < 1e-8, (
            f"r = {r}, τ² = {tau2}: the rates are eigenvalues of P diag(σ²)P"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The rate of the length in place of its square.
def growth_of_missing(sigma_p, present, tau2, k):
    odds = k * ((1 + np.exp(-2 * tau2 / present)) / 2) ** present
    return 2 * odds / (1 + odds) * sigma_p**2 / present * np.tanh(tau2 / present)


# %% tags=["mistake"]
# τ² in place of τ²/k in the tanh.
def growth_of_missing(sigma_p, present, tau2, k):
    odds = k * ((1 + np.exp(-2 * tau2 / present)) / 2) ** present
    return 4 * odds / (1 + odds) * sigma_p**2 / present * np.tanh(tau2)


# %% tags=["mistake"]
# The smallest σ² in place of an eigenvalue of the projected matrix.
def slowest_decay(sigma, tau2, k):
    r = len(sigma)
    odds = k * ((1 + np.exp(-2 * tau2 / r)) / 2) ** r
    rho = 4 * odds / (1 + odds) * tau2 / r / np.cosh(tau2 / r) ** 2
    return rho / r * np.min(np.asarray(sigma) ** 2)


# %% tags=["mistake"]
# The sign: an imbalance that grows.
def slowest_decay(sigma, tau2, k):
    r = len(sigma)
    odds = k * ((1 + np.exp(-2 * tau2 / r)) / 2) ** r
    project = np.eye(r) - 1 / r
    return (
        -4
        * odds
        / (1 + odds)
        * tau2
        / r**2
        * np.linalg.eigvalsh(project * np.asarray(sigma) ** 2 @ project)[1]
    )


# %% [raw]
# # END QUESTION

# %%
temperatures = np.geomspace(0.2, 64, 60)
plt.figure(figsize=(5, 3))
plt.loglog(
    temperatures,
    [growth_of_missing(1.0, 3, t, 8.0) for t in temperatures],
    label="a lost column grows",
)
plt.loglog(
    temperatures,
    [slowest_decay(sigma, t, 8.0) for t in temperatures],
    label="an imbalance decays",
)
plt.xlabel("τ²")
plt.ylabel("rate")
plt.legend()
plt.show()

# %% [raw]
# # BEGIN QUESTION
# name: c3_refutation

# %% [markdown]
# **Refute.** A colleague writes: "Louder signals keep longer columns: training rests where $\kappa_p\propto\sigma_p$." Let $\kappa=\sigma=({{s_loud}},1,1)$, without noise, $\tau^2=2$ and $K=8$. Give `rate_border`, the rate at which $\log\kappa_1^2$ moves there, with its sign. (To one part in a hundred.)

# %% [raw]
# # BEGIN SOLUTION

# %%
rate_border = None  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # BORDER
# name: rate_border
# truth: 4 * missed(np.array([{{s_loud}} ** 2, 1, 1]) / ({{s_loud}} ** 2 + 2), 2.0, 8.0) * {{s_loud}} ** 2 / ({{s_loud}} ** 2 + 2) * (np.array([{{s_loud}} ** 2, 1, 1]) / ({{s_loud}} ** 2 + 2) @ np.tanh(2 * np.array([{{s_loud}} ** 2, 1, 1]) / ({{s_loud}} ** 2 + 2)) - np.tanh(2 * {{s_loud}} ** 2 / ({{s_loud}} ** 2 + 2)))
# hint: in the condition of rest σ does not occur; the rate is that of warm-up 3

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# At rest, as he says.
rate_border = 0.0

# %% tags=["mistake"]
# The wrong sign.
rate_border = 0.1

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Project 1: a race over many decades
#
# *A week, 20 points. Needs: core 1 and 3, differential equations over many decades. After it you can say what normalisation adds.*
#
# Without $N_A,N_B$, at infinite width, $\kappa_p^2=\sigma_p^2\cosh\varphi_p$ and $\hat\kappa_p^2=\sigma_p^2\sinh\varphi_p$ with $\dot\varphi_p=4(1-S)\frac{\sigma_p^2}d(1-T_p)$, $\varphi_p(0)=0$; $S$ and $T$ as in core 1 with $g_p=\hat\kappa_p^2/d$.

# %% [raw]
# # BEGIN QUESTION
# name: p1_condition

# %% [markdown]
# Write `condition(sigma, d, tau2, k, t)`: the ratio of the largest to the smallest $\kappa_p$ at time $t$, for $t$ from 0 to $10^{64}$ within one per cent of its distance from one. Scales may come in any order; equal ones have the ratio one at all times. (Logarithmic time helps.)

# %% [raw]
# # BEGIN SOLUTION


# %%
def condition(sigma, d, tau2, k, t):
    """max κ / min κ at time t, without normalisation."""
    # BEGIN SOLUTION
    from scipy.integrate import solve_ivp

    square = np.asarray(sigma, dtype=float) ** 2

    def move(log_time, angle):
        x = tau2 * square * np.sinh(np.minimum(angle, 600)) / d
        odds = k * np.prod((1 + np.exp(-2 * x)) / 2)
        left = 2 / (1 + np.exp(np.minimum(2 * x, 700)))
        return np.exp(log_time) * 4 * odds / (1 + odds) * square / d * left

    path = solve_ivp(
        move,
        (0, np.log1p(t)),
        np.zeros(len(square)),
        method="LSODA",
        rtol=1e-8,
        atol=1e-10,
    )
    length = square * np.cosh(path.y[:, -1])
    return np.sqrt(length.max() / length.min())
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 3
failure_message: 'small times and a tiny τ², where the solution is known'
"""  # END TEST CONFIG


def test_early(condition):
    import numpy as np

    sigma = np.array([2.0, 1.6, 1.3, 1.0])
    assert abs(condition(sigma, 8, 2.0, 8.0, 0.0) - 4) > 1e-6, (
        "that is the ratio of the squares κ²"
    )
    assert abs(condition(sigma, 8, 2.0, 8.0, 0.0) - 2) < 1e-6, (
        "at t = 0 the lengths are the scales"
    )
    angle = 4 * 8 / 9 * sigma**2 / 8 * 0.5
    want = np.sqrt(
        (sigma**2 * np.cosh(angle)).max() / (sigma**2 * np.cosh(angle)).min()
    )
    got = condition(sigma, 8, 1e-9, 8.0, 0.5)
    assert abs(got - want) < 1e-4, (
        f"without contrast φ = 4(1 − S)σ²t/d with 1 − S = K/(1 + K), so that it is {want:.4f} at t = ½, got {got:.4f}"
    )


# %%
""" # BEGIN TEST CONFIG
points: 5
hidden: true
failure_message: 'times up to 10⁶⁴'
"""  # END TEST CONFIG


def test_late(condition):
    import numpy as np

    sigma = np.array([2.0, 1.6, 1.3, 1.0])
    assert abs(condition(np.ones(3), 8, 2.0, 8.0, 1e6) - 1) < 1e-9, (
        "equal scales have the ratio 1 at all times"
    )
    other = condition(sigma[::-1].copy(), 8, 2.0, 8.0, 100.0)
    assert abs(other - condition(sigma, 8, 2.0, 8.0, 100.0)) < 1e-3, (
        "the order of the scales must not matter"
    )
    for decade, want in ((4, 1.0799), (16, 1.0185), (64, 1.0046)):
        got = condition(sigma, 8, 2.0, 8.0, 10.0**decade)
        assert abs((got - 1) / (want - 1) - 1) < 0.02, (
            f"at 10^{decade} it is {want}, got {got:.4f}"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# Without the factor 1 − T: no negatives push back.
def condition(sigma, d, tau2, k, t):
    square = np.asarray(sigma, dtype=float) ** 2
    angle = np.minimum(4 * k / (1 + k) * square / d * t, 600)
    return np.sqrt((square * np.cosh(angle)).max() / (square * np.cosh(angle)).min())


# %% tags=["mistake"]
# A stop after a fixed time, for the flow with normalisation.
def condition(sigma, d, tau2, k, t):
    return 1 + (np.max(sigma) / np.min(sigma) - 1) * np.exp(-t / d)


# %% tags=["mistake"]
# The leading term of the late time, at all times.
def condition(sigma, d, tau2, k, t):
    return 1 + np.log(np.max(sigma) / np.min(sigma)) / np.log(max(t, 2.0))


# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: p1_report
# manual: true
# points: 12

# %% [markdown]
# **Report** (two pages). How does the condition number tend to one, and how fast? Derive the law, show it over 60 decades, then let $\tau$ be learnt together with the maps and say what changes. Name the controls.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# **Rubric.** Conserved $\kappa_p^4-\hat\kappa_p^4$, 2 points. The law $1+\log(\sigma_1/\sigma_r)/\log t$ derived, 4. Shown over decades with the next term discussed, 2. A learnt $\tau$ run with seeds and a clear answer, 3. A control that could have failed, 1.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Project 2: which temperature?
#
# *A week, 20 points. Needs: core 3, training of small networks. After it you can choose a temperature and defend it.*
#
# Near balance the rates are proportional to $(1-S)\,\tau^2\cosh^{-2}(\tau^2/r)$.

# %% [raw]
# # BEGIN QUESTION
# name: p2_best

# %% [markdown]
# Write `best_tau2(k, r)`, the $\tau^2$ at which balance is reached fastest from nearby, for $K$ from 0.01 to 1000 and $r$ from 2 to 20.

# %% [raw]
# # BEGIN SOLUTION


# %%
def best_tau2(k, r):
    """The τ² of the largest rate near balance."""

    # BEGIN SOLUTION
    def slowness(log_tau2):
        tau2 = np.exp(log_tau2)
        odds = k * ((1 + np.exp(-2 * tau2 / r)) / 2) ** r
        return -np.log(odds / (1 + odds)) - log_tau2 + 2 * np.log(np.cosh(tau2 / r))

    return float(
        np.exp(
            minimize_scalar(
                slowness, bounds=(-4, 4), method="bounded", options={"xatol": 1e-9}
            ).x
        )
    )
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 3
failure_message: 'maximise all three factors together'
"""  # END TEST CONFIG


def test_many_signals(best_tau2):
    got = best_tau2(8.0, 1000)
    assert abs(got - 0.713) > 0.01, "that is the logarithm of the best τ²"
    assert got < 100, (
        "without 1 − S the best τ² would grow with r: a sharp softmax has nothing left to learn from"
    )
    assert abs(got - 2.04) < 0.02, (
        f"got {got:.3f} for K = 8 and 1000 signals, where it is 1 + W(K/e)"
    )


# %%
""" # BEGIN TEST CONFIG
points: 5
hidden: true
failure_message: 'few signals and many negatives'
"""  # END TEST CONFIG


def test_few_signals(best_tau2):
    for k, r, want in ((8.0, 4, 2.24), (127.0, 4, 2.98), (127.0, 10, 4.66)):
        got = best_tau2(k, r)
        assert abs(got / want - 1) < 0.02, (
            f"K = {k:g}, r = {r}: got {got:.3f}, about {want} is best"
        )

    def rate(tau2, k, r):
        import numpy as np

        odds = k * ((1 + np.exp(-2 * tau2 / r)) / 2) ** r
        return odds / (1 + odds) * tau2 / np.cosh(tau2 / r) ** 2

    for k, r in ((0.01, 2), (0.01, 20), (1000.0, 2), (1000.0, 20)):
        got = best_tau2(k, r)
        best = rate(got, k, r)
        assert best >= max(rate(0.9 * got, k, r), rate(1.1 * got, k, r)), (
            f"K = {k:g}, r = {r}: {got:.3f} is not best"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The limit of many signals for every r.
def best_tau2(k, r):
    from scipy.special import lambertw

    return float(1 + lambertw(k / np.e).real)


# %% tags=["mistake"]
# 1 − S left out.
def best_tau2(k, r):
    return float(
        minimize_scalar(
            lambda x: -x / np.cosh(x / r) ** 2, bounds=(1e-3, 5 * r), method="bounded"
        ).x
    )


# %% tags=["mistake"]
# The sharper, the better.
def best_tau2(k, r):
    return 64.0


# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: p2_report
# manual: true
# points: 12

# %% [markdown]
# **Report** (two pages). Train heads at $\tau^2=\frac12,1,2,4,8$ under SGD and AdamW, eight starts each; rank the temperatures by the time to a condition number of 1.1. Does the order agree with your function? A CSV and the command that makes the same order again.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# **Rubric.** Both optimisers with starts and intervals, 4 points. The order compared with theory, disagreements named, 3. The CSV reruns to the same order, 3. A control (negatives of $\tau^2=0.01$, which must do nothing), 2.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION
