# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [raw]
# # ASSIGNMENT CONFIG
# name: one-testbed
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
# outputs: 3, from 2 to 4 by 1
# n_noise: 400, from 300 to 900 by 50
# decay: 0.2, from 0.14 to 0.26 by 0.02
# tau_flood: 3.5, from 3.2 to 6.0 by 0.1
# count: 0.9, from 0.7 to 1.3 by 0.05
# rank: 1.5, from 1.3 to 1.8 by 0.05
# pairs: 2000, from 1500 to 6000 by 100
# chance: 0.8, from 0.7 to 0.95 by 0.01
# k_shared: 2, from 2 to 5 by 1
# m_private: 30, from 20 to 60 by 2
# rho_shared: 0.9, from 0.7 to 0.95 by 0.05
# most: 0.4, from 0.36 to 0.48 by 0.02

# %% [markdown]
# # Exercises: one testbed
#
# Three warm-ups (10 minutes each), three core exercises (30 minutes each) and two projects (a week each), 100 points. Every exercise names what it needs and what you can do after it. Replace each `...`, run the cell, then the check below it. A visible check costs nothing and may be repeated. Hidden checks run when the sheet is graded; they use other numbers.
#
# A **prediction** is a number and an interval, `(value, low, high)`, written down *before* you compute. It is scored by its distance from the truth, so that an honest guess with an honest interval earns points.
#
# Notation as in the chapter: $\rho_j$ are the canonical correlations of two views, a *private* direction has $\rho=0$, $\tau^2$ is the inverse temperature, $z$ the number of outputs. Linear encoders have root mean square norm 1, views are Gaussian unless stated otherwise, and there are many pairs. Direction $j$ then has the share $g_j=(\rho_j-\mu)_+/\tau^2$ of the outputs, with the level $\mu$ for which $\sum_jg_j=1$. Unless stated otherwise one encoder serves both views, so that $\mu$ may be negative.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

depths = np.array([0.9, 0.7, 0.5, 0.3, 0.1])  # five correlations


def level(rho, tau2):
    """μ, at which Σ(ρ − μ)₊ = τ², as on the chapter's page."""
    top = np.sort(np.asarray(rho, dtype=float))[::-1]
    return np.max((np.cumsum(top) - tau2) / np.arange(1, len(top) + 1))


def shares(rho, tau2):
    """g_j = (ρ_j − μ)₊/τ², in the order of ρ."""
    return np.maximum(np.asarray(rho, dtype=float) - level(rho, tau2), 0) / tau2


# %% [markdown]
# ## Warm-up 1: the level
#
# *10 minutes, 6 points. Needs: the formula of the shares. After it you can say who takes what a full direction leaves.*
#
# Outputs that saturate cannot spend everything on one direction. In this exercise alone no direction may hold more than the share $c={{most}}$: $g_j$ is $(\rho_j-\mu)/\tau^2$ where that lies between 0 and $c$, else the nearer of the two, and $\mu$ is again the level for which $\sum_jg_j=1$. There are at least three directions.

# %% [raw]
# # BEGIN QUESTION
# name: w1_shares

# %% [markdown]
# Write `bounded_level(rho, tau2)`, the level $\mu$ of one encoder with outputs enough, right to nine digits, and `bounded_shares(rho, tau2)`, the shares $g$ in the order of `rho`, which may be in any order. The functions `level` and `shares` above are those without the bound.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# The sum of all shares falls as $\mu$ rises: from $cd>1$ at $\mu=\rho_{\min}-c\tau^2$, where all are full, to 0 at $\mu=\rho_{\max}$. Between the two lies one level, as no whole number of full directions adds up to one. Above it, what a full direction leaves lowers the level for all others.


# %%
def bounded_level(rho, tau2):
    """μ, at which the shares, of at most c each, add up to one."""
    # BEGIN SOLUTION
    rho = np.asarray(rho, dtype=float)
    return brentq(
        lambda mu: np.clip((rho - mu) / tau2, 0, {{most}}).sum() - 1,
        rho.min() - {{most}} * tau2,
        rho.max(),
        xtol=1e-14,
    )
    # END SOLUTION


def bounded_shares(rho, tau2):
    """g_j, (ρ_j − μ)/τ² between 0 and c."""
    # BEGIN SOLUTION
    rho = np.asarray(rho, dtype=float)
    return np.clip((rho - bounded_level(rho, tau2)) / tau2, 0, {{most}})
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'where two directions are full, the third has what they leave, and its share tells the level'
"""  # END TEST CONFIG


def test_two_are_full(bounded_level, bounded_shares):
    import numpy as np

    rho, most = [0.9, 0.7, 0.5, 0.3], {{most}}
    g = np.asarray(bounded_shares(rho, 0.3), dtype=float)
    assert np.abs(g - [5 / 6, 1 / 6, 0, 0]).max() > 1e-9, (
        "these are the shares without a bound: the first is larger than c"
    )
    assert g.min() >= 0 and g.max() <= most + 1e-12, "a share lies between 0 and c"
    assert abs(g.sum() - 1) < 1e-9, (
        f"shares add up to one, got {g.sum():.4f}: who takes what the first leaves?"
    )
    want = [most, most, 1 - 2 * most, 0]
    assert np.abs(g - want).max() < 1e-9, (
        f"got {np.round(g, 3)}, it is {np.round(want, 3)}: what is left goes by the level, to the next in line"
    )
    got = float(bounded_level(rho, 0.3))
    assert abs(got - 0.65) > 1e-9, "that is the level without a bound"
    assert abs(got - (0.5 - 0.3 * (1 - 2 * most))) < 1e-9, (
        f"got {got:.4f}, but at the level g of the third direction is (0.5 − μ)/0.3"
    )


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'other correlations, in any order, and a level below zero'
"""  # END TEST CONFIG


def test_other_levels(bounded_level, bounded_shares):
    import numpy as np

    rng = np.random.default_rng(51)
    for tau2 in (0.05, 0.7, 2.0, 9.0):
        rho = rng.uniform(0, 1, 7)
        low, high = rho.min() - tau2, rho.max()
        for _ in range(200):
            want = (low + high) / 2
            over = np.clip((rho - want) / tau2, 0, {{most}}).sum() > 1
            low, high = (want, high) if over else (low, want)
        assert abs(bounded_level(rho, tau2) - want) < 1e-8, (
            f"τ² = {tau2}: the level is {want:.4f}, which may be below zero"
        )
        g = bounded_shares(rho, tau2)
        assert np.allclose(
            g, np.clip((rho - want) / tau2, 0, {{most}}), rtol=0, atol=1e-7
        ), "shares stand in the order of rho"


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The law of the page, without a bound.
def bounded_level(rho, tau2):
    return level(rho, tau2)


def bounded_shares(rho, tau2):
    return shares(rho, tau2)


# %% tags=["mistake"]
# Shares that are cut, and what is cut is lost.
def bounded_shares(rho, tau2):
    return np.minimum(shares(rho, tau2), {{most}})


# %% tags=["mistake"]
# Shares that are cut, and then divided by their sum.
def bounded_shares(rho, tau2):
    cut = np.minimum(shares(rho, tau2), {{most}})
    return cut / cut.sum()


# %% tags=["mistake"]
# What is cut goes to all others alike.
def bounded_shares(rho, tau2):
    cut = np.minimum(shares(rho, tau2), {{most}})
    others = cut < {{most}}
    return cut + others * (1 - cut.sum()) / others.sum()


# %% tags=["mistake"]
# A level that stops at zero.
_bounded_level = bounded_level


def bounded_level(rho, tau2):
    return max(0.0, _bounded_level(rho, tau2))


# %% tags=["mistake"]
# A bound on τ²g in place of g.
def bounded_level(rho, tau2):
    rho = np.asarray(rho, dtype=float)
    return brentq(
        lambda mu: np.clip(rho - mu, 0, {{most}}).sum() - tau2, -20, rho.max()
    )


# %% tags=["mistake"]
# Not divided by τ².
def bounded_shares(rho, tau2):
    return np.clip(np.asarray(rho) - bounded_level(rho, tau2), 0, {{most}})


# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Warm-up 2: how many directions are there
#
# *10 minutes, 6 points. Needs: entropy. After it you can say how many directions a spectrum has.*

# %% [raw]
# # BEGIN QUESTION
# name: w2_rank

# %% [markdown]
# Write `effective_rank(values)`, $\exp\bigl(-\sum_jp_j\log p_j\bigr)$ with $p_j$ the part of the $j$-th value in the sum of all. Values are 0 or larger, may contain zeros, and need not add up to one.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# A part of 0 adds nothing, since $p\log p\to0$. Equal parts $\frac1k$ give $\exp(\log k)=k$.


# %%
def effective_rank(values):
    """exp of the entropy of the values, taken as parts of their sum."""
    # BEGIN SOLUTION
    p = np.asarray(values, dtype=float)
    p = p[p > 0] / p.sum()
    return np.exp(-np.sum(p * np.log(p)))
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'five equal values are five directions'
"""  # END TEST CONFIG


def test_equal_values(effective_rank):
    import numpy as np

    got = float(effective_rank(np.full(5, 3.0)))
    assert got > 1, f"got {got:.3g}: take the values as parts of their sum first"
    assert abs(got - 5 ** (1 / np.log(2))) > 1e-6, (
        "exp belongs to the natural logarithm, a power of 2 to that of base 2"
    )
    assert abs(got - 5) < 1e-9, f"five equal values are five directions, got {got:.4f}"
    got = float(effective_rank([1.0, 1.0, 0.0]))
    assert not np.isnan(got), "a value of 0 adds nothing: p log p goes to 0"
    assert abs(got - 2) < 1e-9, (
        f"two equal values beside a zero are two directions, got {got:.4f}"
    )


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'values that are not equal'
"""  # END TEST CONFIG


def test_unequal_values(effective_rank):
    import numpy as np

    got = float(effective_rank([0.4, 0.4, 0.2]))
    assert abs(got - 2.6247) > 1e-4, "that is for the squares of the values"
    assert abs(got - 1 / 0.36) > 1e-6, (
        "that is the participation ratio 1/Σp², another count"
    )
    assert abs(got - 2.8717) < 1e-4, (
        f".4, .4, .2 have 2.87, got {got:.4f}: natural logarithms and exp belong together"
    )
    values = np.array([5.0, 2, 1, 0, 0.5])
    assert (
        abs(effective_rank(np.repeat(values, 3)) / effective_rank(values) - 3) < 1e-9
    ), "each value three times is three times as many directions"
    assert abs(effective_rank(7 * values) - effective_rank(values)) < 1e-9, (
        "the scale of the values does not count"
    )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The participation ratio.
def effective_rank(values):
    p = np.asarray(values, dtype=float) / np.sum(values)
    return 1 / np.sum(p**2)


# %% tags=["mistake"]
# Values not taken as parts.
def effective_rank(values):
    p = np.asarray(values, dtype=float)
    p = p[p > 0]
    return np.exp(-np.sum(p * np.log(p)))


# %% tags=["mistake"]
# Zeros left in.
def effective_rank(values):
    p = np.asarray(values, dtype=float) / np.sum(values)
    with np.errstate(all="ignore"):
        return np.exp(-np.sum(p * np.log(p)))


# %% tags=["mistake"]
# Bits under an exponential of base e.
def effective_rank(values):
    p = np.asarray(values, dtype=float)
    p = p[p > 0] / p.sum()
    return np.exp(-np.sum(p * np.log2(p)))


# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Warm-up 3: who comes in when
#
# *10 minutes, 6 points. Needs: warm-up 1. After it you can say at which temperature a direction is learned.*

# %% [raw]
# # BEGIN QUESTION
# name: w3_entry

# %% [markdown]
# Strangers agree more often along some directions than along others, as negatives do that are picked for being near: the next bit of share in direction $k$ costs $c_k\tau^2g_k$ in place of $\tau^2g_k$. Write `entry(rho, price, j)`, the $\tau^2$ above which direction `j` has a share (`rho` in any order, `price` are the $c_k>0$, `j` counts from 0; a direction with the largest $\rho$ enters at 0).

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# Spent well, the next bit is worth the same wherever there is a share, $\rho_k-c_k\tau^2g_k=\mu$. So $\tau^2g_k=(\rho_k-\mu)_+/c_k$, and these add up to $\tau^2$. Direction $j$ comes in where $\mu=\rho_j$, at $\sum_k(\rho_k-\rho_j)_+/c_k$; its own price does not count.


# %%
def entry(rho, price, j):
    """τ² above which direction j has a share."""
    # BEGIN SOLUTION
    rho = np.asarray(rho, dtype=float)
    return np.sum(np.maximum(rho - rho[j], 0) / price)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'raise τ² until the level has sunk to ρⱼ: what do the directions above it hold by then?'
"""  # END TEST CONFIG


def test_third_of_four(entry):
    import numpy as np

    price = np.array([2.0, 0.8, 4.0, 0.5])
    got = float(entry([0.9, 0.7, 0.5, 0.3], price, 2))
    assert abs(got - 0.6) > 1e-9, "the prices are left out: a dear direction holds less"
    assert abs(got - 0.96) > 1e-9, "divide by a price: a dear direction holds less"
    assert abs(got - 0.15) > 1e-9, (
        "each direction above has a price of its own; that of direction j, which has no share yet, does not count"
    )
    assert abs(got - 0.2) > 1e-9, (
        "the second direction is filled, too, before the third comes in"
    )
    assert abs(got - 0.25) > 1e-9, (
        "the leader is to be filled as well, not the nearest one alone"
    )
    assert got > 0.3, "weaker directions are not filled yet: they count nothing"
    assert abs(got - 0.45) < 1e-12, f"(.9 − .5)/2 + (.7 − .5)/.8 = .45, got {got:.4f}"


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'ties, private directions, any order'
"""  # END TEST CONFIG


def test_other_entries(entry):
    import numpy as np

    rng = np.random.default_rng(52)
    rho = np.append(rng.uniform(0.1, 1, 6), [0.0, 0.0])[rng.permutation(8)]
    price = rng.uniform(0.4, 3, 8)
    for j in range(8):
        want = sum(max(r - rho[j], 0) / c for r, c in zip(rho, price, strict=True))
        assert abs(entry(rho, price, j) - want) < 1e-9, (
            f"ρ = {rho[j]:.2f} enters at {want:.3f}: sum what stands above it, each over its price"
        )
    assert abs(entry([0.8, 0.8, 0.1], np.array([1.0, 2, 3]), 1)) < 1e-12, (
        "two that are largest come in together, at 0"
    )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The distance to the leader alone.
def entry(rho, price, j):
    return (max(rho) - rho[j]) / price[np.argmax(rho)]


# %% tags=["mistake"]
# Weaker directions counted, too.
def entry(rho, price, j):
    return np.sum((np.asarray(rho) - rho[j]) / price)


# %% tags=["mistake"]
# The sum for every direction.
def entry(rho, price, j):
    return np.sum(np.asarray(rho) / price)


# %% tags=["mistake"]
# The order of rho taken for granted.
def entry(rho, price, j):
    return np.sum((np.asarray(rho)[:j] - rho[j]) / price[:j])


# %% tags=["mistake"]
# The prices left out.
def entry(rho, price, j):
    rho = np.asarray(rho, dtype=float)
    return np.maximum(rho - rho[j], 0).sum()


# %% tags=["mistake"]
# The price of the direction that comes in.
def entry(rho, price, j):
    rho = np.asarray(rho, dtype=float)
    return np.maximum(rho - rho[j], 0).sum() / price[j]


# %% tags=["mistake"]
# Multiplied by the price.
def entry(rho, price, j):
    rho = np.asarray(rho, dtype=float)
    return np.sum(np.maximum(rho - rho[j], 0) * price)


# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Core 1: a temperature that counts
#
# *30 minutes, 14 points. Needs: warm-up 1, gradients. After it you can say where a learned temperature stops.*
#
# The loss of one linear encoder, less a constant, is $L=-2\tau^2\sum_j\rho_jg_j+\tau^4\sum_jg_j^2$ over shares $g_j\ge0$ with $\sum_jg_j=1$. Now $\tau^2$ is learned beside the weights, and a decay $\nu\ge0$ pulls on it: $2\nu\tau^2$ is added to $L$.

# %% [raw]
# # BEGIN QUESTION
# name: c1_prediction

# %% [markdown]
# **Predict first.** The correlations are .9, .7, .5, .3, .1; the encoder has only {{outputs}} outputs, so that {{outputs}} directions at most can have a share, and the decay is $\nu={{decay}}$. At which $\tau^2$ does training stop?

# %% [raw]
# # BEGIN SOLUTION

# %%
three_outputs_prediction = (1.6, 1.2, 2.0)  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # PREDICTION
# name: three_outputs_prediction
# truth: settle(depths[:{{outputs}}], {{decay}}, 1.0)[0]
# scale: difference
# widest: 1
# far: 0.45
# near: 0.15

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# All five are counted, with an interval that excludes anything else.
three_outputs_prediction = (2.5, 2.4, 2.6)

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c1_settle

# %% [markdown]
# Write `slopes(g, rho, decay, tau2)`, the pair of the derivatives of $L+2\nu\tau^2$ by $g$ (an array) and by $\tau^2$, and `settle(rho, decay, tau2)`, which starts from equal shares and the given $\tau^2$, goes down $L+2\nu\tau^2$ in both and returns where it ends: the pair of $\tau^2$ and the array $\tau^2g$, to within 0.02. (The largest $\rho$ is above $\nu$.) *Hint:* with $g_j=u_j^2/\sum_ku_k^2$ and $\log\tau^2$ as variables nothing leaves its range.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# In $h=\tau^2g\ge0$ it is $\sum_j(h_j^2-2\rho_jh_j+2\nu h_j)=\sum_j\bigl(h_j-(\rho_j-\nu)\bigr)^2$ less a constant, and $\tau^2=\sum_jh_j$ is free. So $h_j=(\rho_j-\nu)_+$ and $\tau^2=\sum_j(\rho_j-\nu)_+$: the water stops at the level $\mu=\nu$, and directions below it are given up, as are those with a negative $\rho$. With few outputs the sum runs over the largest $\rho$.


# %%
def slopes(g, rho, decay, tau2):
    """Derivatives of L + 2ντ² by g and by τ²."""
    # BEGIN SOLUTION
    g, rho = np.asarray(g, dtype=float), np.asarray(rho, dtype=float)
    return 2 * tau2 * (tau2 * g - rho), 2 * np.sum(g * (tau2 * g - rho)) + 2 * decay
    # END SOLUTION


def settle(rho, decay, tau2):
    """τ² and τ²g at the end of a descent in both."""
    # BEGIN SOLUTION
    u = np.full(len(rho), len(rho) ** -0.5)
    for _ in range(6000):
        by_share, by_tau2 = slopes(u**2, rho, decay, tau2)
        u = u - 0.02 * 2 * u * by_share
        u = u / np.linalg.norm(u)
        tau2 = tau2 * np.exp(-0.02 * tau2 * by_tau2)
    return tau2, tau2 * u**2
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'compare with a difference quotient of L + 2ντ²'
"""  # END TEST CONFIG


def test_slopes(slopes, depths):
    import numpy as np

    def loss(g, tau2):
        return -2 * tau2 * depths @ g + tau2**2 * g @ g + 2 * 0.2 * tau2

    g, tau2, step = np.array([0.4, 0.3, 0.15, 0.1, 0.05]), 1.3, 1e-6
    by_share, by_tau2 = slopes(g, depths, 0.2, tau2)
    want = [
        (loss(g + step * e, tau2) - loss(g - step * e, tau2)) / (2 * step)
        for e in np.eye(5)
    ]
    assert np.shape(by_share) == (5,), "one slope for each share"
    assert np.abs(by_share - want).max() < 1e-6, (
        f"the slopes in g are {np.round(want, 3)}, got {np.round(by_share, 3)}"
    )
    want = (loss(g, tau2 + step) - loss(g, tau2 - step)) / (2 * step)
    assert abs(by_tau2 - want + 0.4) > 1e-6, "the decay pulls on τ², too: 2ν"
    assert abs(by_tau2 - 2 * tau2**0.5 * want) > 1e-6, (
        "that is the slope in τ; asked is that in τ²"
    )
    assert abs(by_tau2 - want) < 1e-6, (
        f"the slope in τ² is {want:.4f}, got {by_tau2:.4f}: the second term goes with τ⁴"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'start below and look where it ends'
"""  # END TEST CONFIG


def test_from_below(settle, depths):
    import numpy as np

    tau2, h = settle(depths, 0.2, 0.5)
    assert abs(tau2 - 0.5) > 1e-9, "τ² has not moved: it is learned, too"
    assert abs(tau2 - np.sum(depths)) > 0.02, (
        "that is where it ends without a decay: which level is left with one?"
    )
    assert abs(tau2 - np.sum(depths**2)) > 0.02, (
        "that is the sum of the squares; where is the slope of each share zero?"
    )
    assert abs(tau2 - np.sum(depths - 0.2)) > 0.02, (
        "the weakest direction, whose ρ is below the decay, is given up; it does not count negatively"
    )
    assert abs(tau2 - np.maximum(depths - 0.1, 0).sum()) > 0.02, (
        "it stops where the level is half the decay: both slopes in τ²g have a factor 2"
    )
    assert abs(np.sum(h) - 1) > 0.01, "τ²g is asked beside τ², not the shares g"
    want = np.maximum(depths - 0.2, 0)
    assert abs(tau2 - want.sum()) < 0.02, (
        f"from 0.5 it ends at {tau2:.3f}, where not all slopes are zero"
    )
    assert np.abs(np.asarray(h) - want).max() < 0.02, (
        f"the sum is right, its parts are not: got {np.round(h, 3)}"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'slopes at other places'
"""  # END TEST CONFIG


def test_other_slopes(slopes):
    import numpy as np

    rng = np.random.default_rng(53)
    for d in (2, 6):
        rho, g, tau2, decay = (
            rng.uniform(-1, 1, d),
            rng.dirichlet(np.ones(d)),
            rng.uniform(0.2, 5),
            rng.uniform(0, 1),
        )
        by_share, by_tau2 = slopes(g, rho, decay, tau2)
        assert np.allclose(by_share, 2 * tau2**2 * g - 2 * tau2 * rho), (
            f"{d} directions: 2τ⁴g − 2τ²ρ"
        )
        assert abs(by_tau2 - 2 * g @ (tau2 * g - rho) - 2 * decay) < 1e-9, (
            f"{d} directions: 2Σg(τ²g − ρ) + 2ν"
        )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'from above, other correlations, also negative ones, with a decay and without'
"""  # END TEST CONFIG


def test_other_ends(settle):
    import numpy as np

    for rho, decay, start in (
        ((0.95, 0.5), 0.0, 6.0),
        ((0.95, 0.5), 0.6, 6.0),
        ((0.6, 0.6, 0.6, 0.2), 0.1, 0.1),
        ((0.8, 0.4, -0.5), 0.0, 1.0),
        ((0.3, 0.8, -0.5), 0.15, 1.0),
    ):
        tau2, h = settle(np.array(rho), decay, start)
        want = np.maximum(np.array(rho) - decay, 0)
        assert abs(tau2 - want.sum()) < 0.02, (
            f"ρ = {rho}, ν = {decay}, from τ² = {start}: it ends at {want.sum():.2f}, got {tau2:.3f}"
        )
        assert np.abs(np.asarray(h) - want).max() < 0.02, (
            f"ρ = {rho}, ν = {decay}: each share times τ² is what its ρ has above ν"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The penalty forgotten in the slope of the shares.
def slopes(g, rho, decay, tau2):
    g, rho = np.asarray(g), np.asarray(rho)
    return -2 * tau2 * rho, 2 * np.sum(g * (tau2 * g - rho)) + 2 * decay


# %% tags=["mistake"]
# τ² in place of τ⁴ in the second term.
def slopes(g, rho, decay, tau2):
    g, rho = np.asarray(g), np.asarray(rho)
    return 2 * tau2 * (g - rho), np.sum(g * g - 2 * g * rho) + 2 * decay


# %% tags=["mistake"]
# The slope in τ.
def slopes(g, rho, decay, tau2):
    g, rho = np.asarray(g), np.asarray(rho)
    by_tau2 = 2 * np.sum(g * (tau2 * g - rho)) + 2 * decay
    return 2 * tau2 * (tau2 * g - rho), 2 * np.sqrt(tau2) * by_tau2


# %% tags=["mistake"]
# The temperature held.
def settle(rho, decay, tau2):
    return tau2, tau2 * shares(rho, tau2)


# %% tags=["mistake"]
# The sum of the squares.
def settle(rho, decay, tau2):
    return np.sum(np.asarray(rho) ** 2), np.asarray(rho) ** 2


# %% tags=["mistake"]
# The decay left out.
def settle(rho, decay, tau2):
    h = np.maximum(rho, 0)
    return np.sum(h), h


# %% tags=["mistake"]
# Weak correlations counted negatively.
def settle(rho, decay, tau2):
    h = np.asarray(rho) - decay
    return np.sum(h), h


# %% tags=["mistake"]
# The shares in place of τ²g.
def settle(rho, decay, tau2):
    h = np.maximum(np.asarray(rho) - decay, 0)
    return np.sum(h), h / np.sum(h)


# %% [raw]
# # END QUESTION

# %%
temperatures = np.linspace(0.1, 4, 60)
plt.figure(figsize=(5, 3))
for decay in (0, 0.1, 0.2):
    losses = [
        np.sum((t * shares(depths, t) - depths) ** 2) + 2 * decay * t
        for t in temperatures
    ]
    plt.plot(temperatures, losses, label=f"ν = {decay}")
plt.xlabel("τ²")
plt.ylabel("least loss, plus a constant")
plt.legend()
plt.show()

# %% [raw]
# # BEGIN QUESTION
# name: c1_refutation

# %% [markdown]
# **Refute.** A colleague writes: "Two encoders have learned the same temperature. So their outputs have the same effective rank." Both learned $\tau^2={{count}}$ without decay, on Gaussian views with two correlations, outputs enough. On equal correlations the effective rank is 2. Give `larger_border`, the larger correlation for which it is {{rank}}. (To one part in a hundred.)

# %% [raw]
# # BEGIN SOLUTION

# %%
larger_border = None  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # BORDER
# name: larger_border
# truth: brentq(lambda x: effective_rank([x, {{count}} - x]) - {{rank}}, {{count}} / 2, {{count}} - 1e-12)
# hint: a sum does not say how many there are: solve exp(entropy) for the parts
# near: {{count}} / 2 | then both are equal, and the effective rank is 2

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# Equal correlations.
larger_border = {{count}} / 2

# %% tags=["mistake"]
# The participation ratio.
larger_border = {{count}} * (1 + np.sqrt(2 / {{rank}} - 1)) / 2

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Core 2: correlations that are not there
#
# *30 minutes, 14 points. Needs: singular values, correlation. After it you can measure canonical correlations without fooling yourself.*
#
# Canonical correlations of $n$ pairs are the singular values of the cross moment after each view is centred and whitened. They are found by looking for what correlates best, so they find something in pure noise, too.

# %% [raw]
# # BEGIN QUESTION
# name: c2_prediction

# %% [markdown]
# **Predict first.** {{n_noise}} pairs of views of 50 numbers each, all of them independent Gaussian noise. How large is the largest of the 50 sample canonical correlations?

# %% [raw]
# # BEGIN SOLUTION

# %%
noise_prediction = (0.65, 0.5, 0.8)  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # PREDICTION
# name: noise_prediction
# truth: noise_edge({{n_noise}}, 50, 50)
# scale: difference
# widest: 0.4
# far: 0.15
# near: 0.05

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# Noise of a single correlation, one over the root of n.
noise_prediction = (0.03, 0.0, 0.1)

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c2_correlations

# %% [markdown]
# Write `correlations(first, second)` for two arrays of views ($n\times p$ and $n\times q$, not centred), the $\min(p,q)$ sample canonical correlations in falling order. Write `held_out(fit, new)`, where `fit` and `new` are pairs of such arrays: directions are found on `fit`, and their correlations measured on `new`, in the order of the directions; they may be negative. Write `noise_edge(n, p, q)`, the largest sample canonical correlation of pure noise for $p+q<n$ and large $n$.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# Two random subspaces of dimensions $p$ and $q$ in $\mathbb R^n$ have the cosines of their angles below $\cos(\alpha-\beta)$, $\sin^2\alpha=\frac pn$, $\cos^2\beta=\frac qn$, that is below $\sqrt{\frac pn(1-\frac qn)}+\sqrt{\frac qn(1-\frac pn)}$ (Wachter, 1980). New pairs know nothing of the search, so the correlation of what is found in noise is 0 on average.


# %%
def whitened(x):
    """The matrix W for which the centred x @ W has the identity as covariance."""
    # BEGIN SOLUTION
    x = x - x.mean(axis=0)
    values, vectors = np.linalg.eigh(x.T @ x / len(x))
    return vectors / np.sqrt(values)
    # END SOLUTION


def correlations(first, second):
    """Sample canonical correlations, falling."""
    # BEGIN SOLUTION
    a, b = ((x - x.mean(axis=0)) @ whitened(x) for x in (first, second))
    return np.linalg.svd(a.T @ b / len(a), compute_uv=False)
    # END SOLUTION


def held_out(fit, new):
    """Correlations on new pairs of the directions found on others."""
    # BEGIN SOLUTION
    maps = [whitened(x) for x in fit]
    a, b = ((x - x.mean(axis=0)) @ w for x, w in zip(fit, maps, strict=True))
    left, _, right = np.linalg.svd(a.T @ b, full_matrices=False)
    u, v = new[0] @ maps[0] @ left, new[1] @ maps[1] @ right.T
    return np.array([np.corrcoef(x, y)[0, 1] for x, y in zip(u.T, v.T, strict=True)])
    # END SOLUTION


def noise_edge(n, p, q):
    """Largest canonical correlation of n pairs of pure noise."""
    # BEGIN SOLUTION
    a, b = p / n, q / n
    return np.sqrt(a * (1 - b)) + np.sqrt(b * (1 - a))
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'build views whose correlations you know'
"""  # END TEST CONFIG


def test_known_correlations(correlations):
    import numpy as np

    rng, n = np.random.default_rng(14), 400
    q = rng.standard_normal((n, 6))
    q = np.linalg.qr(q - q.mean(axis=0))[0]
    rho = np.array([0.9, 0.5, 0.2])
    first, second = q[:, :3], rho * q[:, :3] + np.sqrt(1 - rho**2) * q[:, 3:]
    mix = rng.standard_normal((3, 3)) + 2 * np.eye(3)
    got = np.asarray(correlations(first @ mix + 5, second[:, ::-1]))
    assert got.shape == (3,), "one for each dimension of the smaller view"
    assert got[0] >= got[-1], "in falling order"
    assert np.abs(got**2 - rho).max() > 1e-6, "these are roots of the correlations"
    assert np.abs(got - rho**2).max() > 1e-6, (
        "these are squares of the correlations: take the root"
    )
    assert np.abs(got - rho).max() < 1e-8, (
        f"they are {rho}, got {np.round(got, 3)}: centre and whiten each view"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'draw noise and look'
"""  # END TEST CONFIG


def test_edge_by_drawing(noise_edge):
    import numpy as np

    rng, n, p = np.random.default_rng(15), 1000, 50
    a, b = (np.linalg.qr(rng.standard_normal((n, p)))[0] for _ in range(2))
    drawn = np.linalg.svd(a.T @ b, compute_uv=False)[0]
    got = float(noise_edge(n, p, p))
    assert got > 0.3, (
        f"drawn {drawn:.2f}, got {got:.2f}: the best of 50 × 50 directions, not a given one"
    )
    assert abs(got - 2 * (p / n) ** 0.5) > 1e-9, (
        f"drawn {drawn:.3f}, got {got:.3f}: that is for p and q much smaller than n"
    )
    assert abs(got - drawn) < 0.03, f"drawn {drawn:.3f}, got {got:.3f}"


# %%
""" # BEGIN TEST CONFIG
points: 1
failure_message: 'noise is no longer correlated on new pairs'
"""  # END TEST CONFIG


def test_new_pairs(held_out):
    import numpy as np

    rng = np.random.default_rng(16)
    fit, new = ([rng.standard_normal((400, 20)) for _ in range(2)] for _ in range(2))
    got = np.asarray(held_out(fit, new))
    assert got.shape == (20,), "one for each pair of directions"
    assert abs(got.mean()) < 0.05, (
        f"in noise it is 0 on average, got {got.mean():.2f}: the directions come from fit alone"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'views of unlike sizes'
"""  # END TEST CONFIG


def test_other_views(correlations):
    import numpy as np

    rng = np.random.default_rng(54)
    x, y = rng.standard_normal((300, 5)) + 3, rng.standard_normal((300, 2))
    y = y + x[:, :2]
    a, b = (np.linalg.qr(v - v.mean(axis=0))[0] for v in (x, y))
    want = np.linalg.svd(a.T @ b, compute_uv=False)
    assert np.allclose(correlations(x, y), want), (
        f"5 and 2 numbers: {np.round(want, 3)}"
    )
    assert np.allclose(correlations(10 * x, y - 7), want), (
        "neither scale nor mean of a view counts"
    )


# %%
""" # BEGIN TEST CONFIG
points: 1
hidden: true
failure_message: 'other sizes, and what is shared stays on new pairs'
"""  # END TEST CONFIG


def test_edges_and_new_pairs(held_out, noise_edge):
    import numpy as np

    for n, p, q in ((1000, 100, 20), (400, 150, 150), (5000, 10, 3)):
        angle = np.arcsin(np.sqrt(p / n)) + np.arcsin(np.sqrt(q / n))
        assert abs(noise_edge(n, p, q) - np.sin(angle)) < 1e-9, (
            f"n = {n}, p = {p}, q = {q}: {np.sin(angle):.3f}"
        )
    rng = np.random.default_rng(55)
    shared = rng.standard_normal((4000, 1))
    views = [np.hstack([shared, rng.standard_normal((4000, 7))]) for _ in range(2)]
    views[1][:, 0] = 0.6 * views[1][:, 0] + 0.8 * rng.standard_normal(4000)
    got = held_out([v[:2000] for v in views], [v[2000:] for v in views])
    assert abs(got[0] - 0.6) < 0.06, (
        f"a shared direction with ρ = .6 comes first and stays, got {got[0]:.2f}"
    )
    fit, new = ([rng.standard_normal((400, 20)) for _ in range(2)] for _ in range(2))
    got = np.asarray(held_out(fit, new))
    few = np.asarray(held_out([fit[0], fit[1][:, :3]], [new[0], new[1][:, :3]]))
    assert few.shape == (3,), "20 and 3 numbers: three pairs of directions"
    assert got.min() < 0 and np.any(np.diff(got) > 0), (
        "in noise about half of them are negative, and in no order: signs and order of the directions are to be kept"
    )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# Not whitened.
def correlations(first, second):
    a, b = (x - x.mean(axis=0) for x in (first, second))
    return np.linalg.svd(a.T @ b / len(a), compute_uv=False)


# %% tags=["mistake"]
# Squares.
def correlations(first, second):
    a, b = (np.linalg.qr(x - x.mean(axis=0))[0] for x in (first, second))
    return np.linalg.svd(a.T @ b, compute_uv=False) ** 2


# %% tags=["mistake"]
# Not centred.
def correlations(first, second):
    a, b = (np.linalg.qr(x)[0] for x in (first, second))
    return np.linalg.svd(a.T @ b, compute_uv=False)


# %% tags=["mistake"]
# Measured where the directions were found.
def held_out(fit, new):
    return correlations(*fit)


# %% tags=["mistake"]
# Directions found anew on the new pairs.
def held_out(fit, new):
    return correlations(*new)


# %% tags=["mistake"]
# The noise of one correlation.
def noise_edge(n, p, q):
    return 1 / np.sqrt(n)


# %% tags=["mistake"]
# Small dimensions taken for granted.
def noise_edge(n, p, q):
    return np.sqrt(p / n) + np.sqrt(q / n)


# %% [raw]
# # END QUESTION

# %%
rng = np.random.default_rng(3)
noise = [rng.standard_normal((1000, 50)) for _ in range(2)]
plt.figure(figsize=(5, 3))
plt.plot(correlations(*noise), label="where they were found")
plt.plot(
    held_out(noise, [rng.standard_normal((1000, 50)) for _ in range(2)]),
    label="on new pairs",
)
plt.axhline(noise_edge(1000, 50, 50), color="grey", ls="--")
plt.xlabel("direction")
plt.ylabel("correlation")
plt.title("Pure noise, a thousand pairs")
plt.legend()
plt.show()

# %% [raw]
# # BEGIN QUESTION
# name: c2_refutation

# %% [markdown]
# **Refute.** A colleague writes: "On {{pairs}} pairs my largest canonical correlation is {{chance}}. Chance cannot do that." Give `chance_border`, the number $d$ of coordinates of each view (a real number, $2d<n$) from which on pure noise has a largest sample correlation of {{chance}}. (To one part in a hundred.)

# %% [raw]
# # BEGIN SOLUTION

# %%
chance_border = None  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # BORDER
# name: chance_border
# truth: brentq(lambda d: noise_edge({{pairs}}, d, d) - {{chance}}, 1, {{pairs}} / 2)
# hint: what counts is the number of dimensions for each pair
# near: {{pairs}} * (1 + (1 - {{chance}} ** 2) ** 0.5) / 2 | that is more than half of the pairs: take the other root
# near: {{pairs}} * {{chance}} ** 2 / 4 | that is for few dimensions: keep the factor 1 − d/n

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# The factor 1 − d/n left out.
chance_border = {{pairs}} * {{chance}} ** 2 / 4

# %% tags=["mistake"]
# The other root.
chance_border = {{pairs}} * (1 + (1 - {{chance}} ** 2) ** 0.5) / 2

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Core 3: when noise comes in
#
# *30 minutes, 14 points. Needs: warm-ups 1 and 3. After it you can say what a temperature that is set too high does, with one encoder and with two.*
#
# `rho` are the correlations of the shared directions, all above 0. There are `private` directions with $\rho=0$, and $z\ge2$ outputs: at most $z$ directions have a share, those with the largest $\rho$. *One* encoder has to spend its norm, $\sum_jg_j=1$. *Two* encoders, one for each view, may leave norm unused: $\sum_jg_j\le1$, and their level is never below 0.

# %% [raw]
# # BEGIN QUESTION
# name: c3_prediction

# %% [markdown]
# **Predict first.** $\rho=.5,.4,.3,.2$, eight private directions, twelve outputs, one encoder, $\sum_j\rho_j=1.4$, and $\tau^2={{tau_flood}}$. Which part of the outputs is noise?

# %% [raw]
# # BEGIN SOLUTION

# %%
flood_prediction = (0.38, 0.25, 0.5)  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # PREDICTION
# name: flood_prediction
# truth: private_share([0.5, 0.4, 0.3, 0.2], 8, 12, {{tau_flood}})
# scale: difference
# widest: 0.4
# far: 0.15
# near: 0.05

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# Whatever is not shared.
flood_prediction = (0.67, 0.6, 0.75)

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c3_private

# %% [markdown]
# Write `private_share(rho, private, outputs, tau2)`, the part of the outputs of *one* encoder that shows private directions, and `unused(rho, outputs, tau2)`, the part $1-\sum_jg_j$ of their norm that *two* encoders leave unused.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# Only the $z$ largest count, so private directions need $z>S$. For $\tau^2>\sum\rho_j$ all $m=\min(z,S+P)$ are in, $\mu=(\sum\rho_j-\tau^2)/m<0$, and $(m-S)$ private ones have $-\mu/\tau^2$ each. Two encoders stop at $\mu=0$, where $\tau^2g_j=\rho_j$; of the budget $\sum_{j\le z}\rho_j/\tau^2$ is spent.


# %%
def private_share(rho, private, outputs, tau2):
    """Part of the private directions, one encoder."""
    # BEGIN SOLUTION
    every = np.append(np.sort(np.asarray(rho, dtype=float))[::-1], np.zeros(private))[
        :outputs
    ]
    return shares(every, tau2)[len(rho) :].sum()
    # END SOLUTION


def unused(rho, outputs, tau2):
    """1 − Σg of two encoders."""
    # BEGIN SOLUTION
    return max(0.0, 1 - np.sort(rho)[::-1][:outputs].sum() / tau2)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'below the sum of ρ there is no noise; above it the level is negative'
"""  # END TEST CONFIG


def test_flood(private_share):
    rho = [0.5, 0.4, 0.3, 0.2]
    got = float(private_share(rho, 8, 12, 1.0))
    assert abs(got) < 1e-12, (
        f"τ² = 1 is below Σρ = 1.4: no private direction is in, got {got:.3f}"
    )
    got = float(private_share(rho, 8, 12, 2.8))
    assert abs(got - 0.5) > 1e-9, (
        "what is left of τ² goes to shared directions, too: the level sinks for all"
    )
    assert abs(got - 1 / 3) < 1e-12, (
        f"twelve directions share 1.4 evenly, eight of them are private: 1/3, got {got:.4f}"
    )
    assert abs(float(private_share(rho, 8, 4, 2.8))) < 1e-12, (
        "four outputs are taken by the four shared directions: use `outputs`"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'two encoders stop at the level 0'
"""  # END TEST CONFIG


def test_two_encoders(unused):
    got = float(unused([0.5, 0.4, 0.3, 0.2], 8, 2.8))
    assert got > 0, "the norm need not be spent: above Σρ nothing is gained by it"
    assert abs(got - 0.5) < 1e-12, (
        f"τ²g = ρ, so Σg = 1.4/2.8, and half is unused; got {got:.4f}"
    )
    assert abs(float(unused([0.5, 0.4, 0.3, 0.2], 8, 0.7))) < 1e-12, (
        "below Σρ all is spent: never less than 0"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'few outputs and many private directions'
"""  # END TEST CONFIG


def test_other_floods(private_share):
    rho = [0.2, 0.9, 0.6]
    assert abs(private_share(rho, 50, 3, 9.0)) < 1e-12, (
        "three outputs are taken by three shared directions"
    )
    for private, outputs, tau2 in ((50, 8, 4.0), (2, 40, 3.0), (100, 103, 30.0)):
        kept = min(outputs, 3 + private)
        want = (kept - 3) * (tau2 - 1.7) / kept / tau2
        got = private_share(rho, private, outputs, tau2)
        assert abs(got - want) < 1e-9, (
            f"{private} private, {outputs} outputs, τ² = {tau2}: {want:.4f}, got {got:.4f}"
        )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'two encoders with few outputs'
"""  # END TEST CONFIG


def test_other_unused(unused):
    rho = [0.2, 0.9, 0.6]
    for outputs, tau2, spent in (
        (2, 3.0, 1.5),
        (3, 3.0, 1.7),
        (9, 3.0, 1.7),
        (2, 1.2, 1.2),
    ):
        got = unused(rho, outputs, tau2)
        assert abs(got - (1 - spent / tau2)) < 1e-9, (
            f"{outputs} outputs, τ² = {tau2}: the {min(outputs, 3)} largest ρ count, got {got:.4f}"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# What exceeds Σρ goes to noise alone.
def private_share(rho, private, outputs, tau2):
    return max(0.0, 1 - np.sum(rho) / tau2)


# %% tags=["mistake"]
# The outputs forgotten.
def private_share(rho, private, outputs, tau2):
    return shares(np.append(rho, np.zeros(private)), tau2)[len(rho) :].sum()


# %% tags=["mistake"]
# Two encoders in place of one: noise never comes in.
def private_share(rho, private, outputs, tau2):
    return 0.0


# %% tags=["mistake"]
# Noise at every temperature, by number of directions.
def private_share(rho, private, outputs, tau2):
    return private / (private + len(rho)) / 2


# %% tags=["mistake"]
# One encoder in place of two: all is spent.
def unused(rho, outputs, tau2):
    return 0.0


# %% tags=["mistake"]
# Negative where the budget is short.
def unused(rho, outputs, tau2):
    return 1 - np.sort(rho)[::-1][:outputs].sum() / tau2


# %% tags=["mistake"]
# All correlations, with however few outputs.
def unused(rho, outputs, tau2):
    return max(0.0, 1 - np.sum(rho) / tau2)


# %% tags=["mistake"]
# The outputs are not counted.
def private_share(rho, private, outputs, tau2):
    every = np.append(np.sort(np.asarray(rho, dtype=float))[::-1], np.zeros(private))
    return shares(every, tau2)[len(rho) :].sum()


# %% [raw]
# # END QUESTION

# %%
temperatures = np.linspace(0.2, 8, 80)
plt.figure(figsize=(5, 3))
plt.plot(
    temperatures,
    [private_share(depths, 20, 25, t) for t in temperatures],
    label="one encoder: noise",
)
plt.plot(
    temperatures,
    [unused(depths, 25, t) for t in temperatures],
    "--",
    label="two encoders: unused",
)
plt.axvline(depths.sum(), color="grey", ls=":")
plt.xlabel("τ²")
plt.ylabel("part of the norm")
plt.title("Beyond the count")
plt.legend()
plt.show()

# %% [raw]
# # BEGIN QUESTION
# name: c3_refutation

# %% [markdown]
# **Refute.** A colleague writes: "All my {{k_shared}} shared features have $\rho={{rho_shared}}$, and the noise has 0. So most of the outputs shows features, at whatever temperature." There are {{m_private}} private directions, one encoder and outputs for all. Give `flood_border`, the $\tau^2$ beyond which more than half of the outputs is noise. (To one part in a hundred.)

# %% [raw]
# # BEGIN SOLUTION

# %%
flood_border = None  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # BORDER
# name: flood_border
# truth: brentq(lambda t: private_share(np.full({{k_shared}}, {{rho_shared}}), {{m_private}}, {{k_shared}} + {{m_private}}, t) - 0.5, {{k_shared}} * {{rho_shared}}, 100)
# hint: beyond the count the level sinks for all: which part of τ² goes to private directions?
# near: {{k_shared}} * {{rho_shared}} | there noise comes in; it is not yet half of the outputs
# near: 2 * {{k_shared}} * {{rho_shared}} | what is left of τ² goes to shared directions, too

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# Where noise comes in.
flood_border = {{k_shared}} * {{rho_shared}}

# %% tags=["mistake"]
# All that is left for noise.
flood_border = 2 * {{k_shared}} * {{rho_shared}}

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Project 1: a world that breaks the law
#
# *A week, 20 points. Needs: core 1, the logarithm of a mean exponential. After it you can say what the law owes to Gaussian views.*
#
# Shared features are now independent and *rare*: $x_j$ is $\pm1/\sqrt p$, each with probability $\frac p2$, and else 0; the two views of a sample have the correlation $0\le\rho_j<1$. The positives earn $\sum_j\rho_jh_j$ with $h_j=\tau^2g_j$, as before; the negatives cost, on average over the anchor $x$, the logarithm of the mean of $e^{\sum_jh_jx_jx_j'}$ over independent $x'$. You may assume that each output shows one direction. For $p=1$ the features are signs.

# %% [raw]
# # BEGIN QUESTION
# name: p1_rare

# %% [markdown]
# Write `rare_temperature(rho, p)`, where a learned $\tau^2$ of one encoder settles, and `rare_shares(rho, tau2, p)`, the shares at a fixed $\tau^2\le4$, for $0.1\le p\le1$; a direction with $\rho=0$ is private.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# Coordinates are independent, so the cost is a sum over $j$. An anchor with $x_j=0$ costs nothing; one with $x_j=\pm1/\sqrt p$ costs $\log\bigl(1-p+p\cosh\frac{h_j}p\bigr)$, and has the chance $p$. One more bit of $h_j$ thus earns $\rho_j-D(h_j)$ with $D(h)=\frac{p\sinh(h/p)}{1-p+p\cosh(h/p)}$. With $y=e^{h/p}$, $D=\rho$ is $p(1-\rho)y^2-2\rho(1-p)y-p(1+\rho)=0$, so
# $h=p\log\frac{\rho(1-p)+\sqrt{\rho^2(1-p)^2+p^2(1-\rho^2)}}{p(1-\rho)}$, for $p=1$ $\operatorname{artanh}\rho$. If $\tau^2$ is free, $h_j$ is this. At a fixed $\tau^2$ what one more bit earns is the same $\mu$ for all that have a share: $h_j=D^{-1}\bigl((\rho_j-\mu)_+\bigr)$, with $\mu$ between $\rho_1-1$ and $\rho_1$.


# %%
def filled(rho, p):
    """h at which one more bit costs ρ."""
    # BEGIN SOLUTION
    rho = np.minimum(rho, 1 - 1e-15)
    root = np.sqrt((rho * (1 - p)) ** 2 + p**2 * (1 - rho**2))
    return p * np.log((rho * (1 - p) + root) / (p * (1 - rho)))
    # END SOLUTION


def rare_temperature(rho, p):
    """Learned τ² of one encoder on rare features."""
    # BEGIN SOLUTION
    return filled(np.asarray(rho, dtype=float), p).sum()
    # END SOLUTION


def rare_shares(rho, tau2, p):
    """Shares of one encoder on rare features at a fixed τ²."""
    # BEGIN SOLUTION
    rho = np.asarray(rho, dtype=float)

    def above(level):
        return filled(np.maximum(rho - level, 0), p)

    level = brentq(
        lambda m: above(m).sum() - tau2, rho.max() - 1, rho.max(), xtol=1e-15
    )
    return above(level) / tau2
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 3
failure_message: 'what does one more bit of h earn, and what does it cost'
"""  # END TEST CONFIG


def test_one_direction(rare_temperature):
    import math

    got, p = float(rare_temperature([0.6], 0.2)), 0.2
    assert abs(got - 0.6) > 1e-6, (
        "that is the law of Gaussian views: the cost of rare features is not h²/2"
    )
    assert abs(got - math.log(2)) > 1e-6, (
        "that is for signs: rare features are mostly 0, and then an anchor costs nothing"
    )
    assert abs(got - p * math.sinh(3) / (1 - p + p * math.cosh(3))) > 1e-6, (
        "the other way round: what one more bit of h costs is to be ρ"
    )
    assert abs(got - p * math.log(2)) > 1e-6, (
        "that is p artanh ρ: a stranger is mostly 0, too, and the mean has the term 1 − p"
    )
    cost = p * math.sinh(got / p) / (1 - p + p * math.cosh(got / p))
    assert abs(cost - 0.6) < 1e-9, (
        f"at h = {got:.4f} one more bit costs {cost:.4f} and earns .6"
    )
    assert abs(rare_temperature([0.6], 1.0) - math.log(2)) < 1e-9, (
        "p = 1, signs: ρ = .6 gives log 2"
    )
    both = float(rare_temperature([0.6, 0.6, 0.0], 0.2))
    assert abs(both - 2 * got) < 1e-9, (
        f"directions add up, and private ones add nothing; got {both:.4f} and {got:.4f}"
    )


# %%
""" # BEGIN TEST CONFIG
points: 5
hidden: true
failure_message: 'marginal gains by enumerating all features of anchor and stranger'
"""  # END TEST CONFIG


def test_marginal_gains(rare_shares):
    import itertools

    import numpy as np

    for rho, tau2, p in (
        ((0.9, 0.6, 0.3, 0.0), 0.5, 1.0),
        ((0.9, 0.6, 0.3, 0.0), 0.5, 0.2),
        ((0.3, 0.9, 0.0, 0.6), 2.0, 0.5),
        ((0.5, 0.4, 0.0, 0.0), 4.0, 0.3),
    ):
        g = np.asarray(rare_shares(np.array(rho), tau2, p), dtype=float)
        assert abs(g.sum() - 1) < 1e-6 and g.min() >= -1e-12, (
            f"shares are 0 or more and add up to one, got {g}"
        )
        kinds = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=4)))
        chance = np.where(kinds == 0, 1 - p, p / 2).prod(axis=1)
        values = kinds / p**0.5
        weights = np.exp(values * (tau2 * g) @ values.T) * chance
        seen = weights @ values / weights.sum(axis=1, keepdims=True)
        gain = np.array(rho) - chance @ (values * seen)
        assert np.all(gain[g > 1e-9] > gain.max() - 1e-6), (
            f"ρ = {rho}, τ² = {tau2}, p = {p}: one more bit earns {np.round(gain, 4)}; it must be equal where there is a share"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The law of Gaussian views.
def rare_temperature(rho, p):
    return np.sum(rho)


def rare_shares(rho, tau2, p):
    return shares(rho, tau2)


# %% tags=["mistake"]
# Signs, whatever p is.
def rare_temperature(rho, p):
    return np.arctanh(rho).sum()


# %% tags=["mistake"]
# The cost in place of its inverse.
def rare_temperature(rho, p):
    x = np.asarray(rho) / p
    return (p * np.sinh(x) / (1 - p + p * np.cosh(x))).sum()


# %% tags=["mistake"]
# The shares of a learned temperature, at every temperature.
def rare_shares(rho, tau2, p):
    return filled(np.asarray(rho), p) / filled(np.asarray(rho), p).sum()


# %% tags=["mistake"]
# The level subtracted afterwards.
def rare_shares(rho, tau2, p):
    return shares(filled(np.asarray(rho), p), tau2)


# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: p1_report
# manual: true
# points: 12

# %% [markdown]
# **Report** (two pages). Train linear encoders by InfoNCE on rare features, at a learned and at three fixed temperatures, and compare with both laws. Then design views of your own that are neither Gaussian nor of this kind, and predict whether a learned $\tau^2$ counts too much or too little *before* you train.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# **Rubric.** Predictions dated before the runs, 2 points. Both laws beside trained values with intervals over seeds, 3. The effect of few pairs told apart from that of the distribution, by a larger batch, 2. Own views with a derivation of the sign, 3. A case in which the encoder mixes directions discussed, 2.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Project 2: the spectrum of your own encoder
#
# *A week, 20 points. Needs: core 2, an encoder that you have trained. After it you can say how many directions your encoder should have kept.*
#
# If the last layer is linear and at its optimum, the spectrum of the outputs is the soft threshold of the canonical correlations of the *hidden units* in the two views. Compare the two.

# %% [raw]
# # BEGIN QUESTION
# name: p2_misplaced

# %% [markdown]
# Write `misplaced(outputs, first, second, tau2)` for outputs of one view ($n\times z$) and hidden units of two views ($n\times d$ each): half of $\sum_j\lvert s_j-g_j\rvert$, where $s$ are the eigenvalues of the covariance of the outputs as parts of their sum, in falling order, and $g$ the shares that the $z$ largest sample correlations of the hidden units predict. Fill the shorter of the two with zeros.

# %% [raw]
# # BEGIN SOLUTION


# %%
def misplaced(outputs, first, second, tau2):
    """Part of the outputs' variance that is not where the law puts it."""
    # BEGIN SOLUTION
    outputs = np.asarray(outputs, dtype=float)
    z, d = outputs.shape[1], first.shape[1]
    measured, predicted = np.zeros(max(z, d)), np.zeros(max(z, d))
    values = np.linalg.eigvalsh(np.cov(outputs, rowvar=False).reshape(z, z))[::-1]
    measured[:z] = values / values.sum()
    rho = correlations(first, second)[:z]
    predicted[: len(rho)] = shares(rho, tau2)
    return np.abs(measured - predicted).sum() / 2
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 3
failure_message: 'build outputs that obey the law'
"""  # END TEST CONFIG


def test_exact_outputs(misplaced):
    import numpy as np

    rng, n = np.random.default_rng(17), 500
    q = rng.standard_normal((n, 8))
    q = np.linalg.qr(q - q.mean(axis=0))[0]
    rho = np.array([0.9, 0.7, 0.5, 0.3])
    first, second = q[:, :4], rho * q[:, :4] + np.sqrt(1 - rho**2) * q[:, 4:]
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    scales = np.array([5.0, 1, 0.2, 3])
    outputs = first * np.sqrt([0.75, 0.25, 0, 0]) @ turn + 2
    got = float(misplaced(30 * outputs, first * scales, second, 0.4))
    assert abs(got - 0.75) > 1e-6, (
        "these outputs have the shares 3/4, 1/4: take eigenvalues as parts of their sum"
    )
    assert got < 1e-8, (
        f"these outputs obey the law, got {got:.3f}: centre them, and use correlations, not variances"
    )


# %%
""" # BEGIN TEST CONFIG
points: 5
hidden: true
failure_message: 'outputs that do not obey, and unlike numbers of outputs'
"""  # END TEST CONFIG


def test_other_outputs(misplaced):
    import numpy as np

    rng, n = np.random.default_rng(56), 600
    q = rng.standard_normal((n, 6))
    q = np.linalg.qr(q - q.mean(axis=0))[0]
    rho = np.array([0.8, 0.6, 0.1])
    first, second = q[:, :3], rho * q[:, :3] + np.sqrt(1 - rho**2) * q[:, 3:]
    flat = first @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    got = misplaced(flat, first, second, 0.6)
    assert abs(got - 1 / 3) < 1e-8, (
        f"white outputs where the law gives 2/3, 1/3, 0: half of 1/3 + 0 + 1/3 is misplaced, got {got:.4f}"
    )
    got = misplaced(first[:, :2] * np.sqrt([0.75, 0.25]), first, second, 0.4)
    assert abs(got) < 1e-8, (
        f"two outputs with 3/4 and 1/4 obey the law at τ² = .4, got {got:.4f}"
    )
    wide = np.hstack([first * np.sqrt([0.75, 0.25, 0]), np.zeros((n, 2))])
    assert abs(misplaced(wide, first, second, 0.4)) < 1e-8, (
        "more outputs than units: fill the shares with zeros"
    )
    two = first[:, :2] * np.sqrt([0.6, 0.4])
    assert abs(misplaced(two, first, second, 5.0) - (0.6 - 0.52)) < 1e-8, (
        "two outputs at a high τ²: only the two largest correlations count"
    )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# Variances of the hidden units in place of correlations.
def misplaced(outputs, first, second, tau2):
    values = np.linalg.eigvalsh(np.cov(outputs, rowvar=False))[::-1]
    variances = np.linalg.eigvalsh(np.cov(first, rowvar=False))[::-1]
    return (
        np.abs(values / values.sum() - shares(variances / variances.max(), tau2)).sum()
        / 2
    )


# %% tags=["mistake"]
# Eigenvalues in rising order.
def misplaced(outputs, first, second, tau2):
    values = np.linalg.eigvalsh(np.cov(outputs, rowvar=False))
    return (
        np.abs(values / values.sum() - shares(correlations(first, second), tau2)).sum()
        / 2
    )


# %% tags=["mistake"]
# Outputs not centred.
def misplaced(outputs, first, second, tau2):
    values = np.linalg.svd(outputs, compute_uv=False) ** 2
    return (
        np.abs(values / values.sum() - shares(correlations(first, second), tau2)).sum()
        / 2
    )


# %% tags=["mistake"]
# Shares cut after the threshold, not before.
def misplaced(outputs, first, second, tau2):
    z = outputs.shape[1]
    measured, predicted = (
        np.zeros(max(z, first.shape[1])),
        np.zeros(max(z, first.shape[1])),
    )
    values = np.linalg.eigvalsh(np.cov(outputs, rowvar=False))[::-1]
    measured[:z] = values / values.sum()
    predicted[: first.shape[1]] = shares(correlations(first, second), tau2)
    predicted[z:] = 0
    return np.abs(measured - predicted).sum() / 2


# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: p2_report
# manual: true
# points: 12

# %% [markdown]
# **Report** (two pages). Take an encoder that you have trained and two random views of its inputs. Measure the correlations of its hidden units on held-out pairs, predict the spectrum of its outputs at its $\tau^2$, and compare. Give two controls that should be off, and say what outputs of unit length or few pairs change.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# **Rubric.** A case with a known answer first, 2 points. Directions and correlations from different pairs, and how many of these it takes, 3. Two controls that miss, such as shuffled pairs and variances, 3. A change of $\tau^2$ predicted and tested, 3. Limits, 1.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION
