# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [raw]
# # ASSIGNMENT CONFIG
# name: feature-decoupling
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
# size: 1.5, from 1.2 to 1.9 by 0.1
# p: 0.05, from 0.03 to 0.12 by 0.01
# d1: 64, from 40 to 160 by 8
# factor: 1.5, from 1.2 to 2.4 by 0.1
# seen_c: 0.02, from 0.01 to 0.04 by 0.005
# p3: 0.75, from 0.70 to 0.90 by 0.01
# half: 0.5, from 0.3 to 0.6 by 0.02
# p_rare: 0.002, from 0.001 to 0.006 by 0.0005
# s_rare: 0.25, from 0.2 to 0.32 by 0.01
# p_o: 0.1, from 0.06 to 0.16 by 0.01
# rare: 0.5, from 0.3 to 0.7 by 0.05

# %% [markdown]
# # Exercises: feature decoupling
#
# Three warm-ups (10 minutes each), three core exercises (30 minutes each) and two projects (a week each), 100 points. Every exercise names what it needs and what you can do after it. Replace each `...`, run the cell, then the check below it. A visible check costs nothing and may be repeated. Hidden checks run when the sheet is graded; they use other numbers.
#
# A **prediction** is a number and an interval, `(value, low, high)`, written down *before* you compute. It is scored by its distance from the truth, so that an honest guess with an honest interval earns points.
#
# Notation as in the chapter: $x=Mz+\xi$ with orthonormal atoms $M_j$ ($d$ of them in $d_1$ dimensions), $z_j=\pm1$ with probability $\frac p2$ each and 0 otherwise, $\xi\sim\mathcal N(0,\sigma^2I)$. Flat atoms have entries $\pm1/\sqrt{d_1}$.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import hadamard
from scipy.optimize import brentq

flat_atoms = hadamard(64)[:, 1:5] / 8  # four flat atoms in 64 dimensions

# %% [markdown]
# ## Warm-up 1: what two views share
#
# *10 minutes, 6 points. Needs: expectation over a mask. After it you can say which entries a mask takes away.*
#
# $D$ is diagonal with independent entries, 1 with probability $\rho$ and 0 otherwise.

# %% [raw]
# # BEGIN QUESTION
# name: w1_moment

# %% [markdown]
# Write `shared_moment(xx, kind)`, the mean of $x^+x^{++\top}$ over the masks, where `xx` is $\mathbb E[xx^\top]$, for three kinds: `"complement"`, $x^+=Dx/\rho$ and $x^{++}=(I-D)x/(1-\rho)$; `"independent"`, $x^{++}=D'x/\rho$ with a mask of its own; `"none"`, $x^+=x^{++}=x$. It does not depend on $\rho$.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# An entry $(i,k)$ is $\mathbb E[xx^\top]_{ik}$ times a mean over masks: $\mathbb E\,D_i(1-D_k)/\rho(1-\rho)$ is 1 off the diagonal and 0 on it; $\mathbb E\,D_iD_k'/\rho^2=1$ everywhere.


# %%
def shared_moment(xx, kind):
    """E[x⁺ x⁺⁺ᵀ] for one of three kinds of views."""
    # BEGIN SOLUTION
    xx = np.asarray(xx, dtype=float)
    return xx - np.diag(np.diag(xx)) if kind == "complement" else xx
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'enumerate the masks of three coordinates'
"""  # END TEST CONFIG


def test_three_coordinates(shared_moment):
    import itertools

    import numpy as np

    xx, rate = np.array([[2.0, 0.5, -0.3], [0.5, 1.0, 0.4], [-0.3, 0.4, 1.5]]), 0.5
    masks = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
    mean = np.mean([np.outer(d, 1 - d) for d in masks], axis=0) / (rate * (1 - rate))
    got = np.asarray(shared_moment(xx, "complement"))
    assert got.shape == (3, 3), "d₁ × d₁"
    assert np.abs(np.diag(got)).max() < 1e-12, (
        "a coordinate is never in both views: the diagonal goes"
    )
    assert np.abs(got - mean * xx).max() < 1e-12, (
        "off the diagonal nothing changes: the views are divided by ρ and 1 − ρ"
    )


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'independent masks, no mask, other moments'
"""  # END TEST CONFIG


def test_kinds(shared_moment):
    import numpy as np

    rng = np.random.default_rng(91)
    for d in (2, 5, 9):
        root = rng.standard_normal((d, d + 1))
        xx = root @ root.T
        assert np.allclose(shared_moment(xx, "complement"), xx * (1 - np.eye(d))), (
            "the complement removes the diagonal alone"
        )
        assert np.allclose(shared_moment(xx, "independent"), xx), (
            "independent masks share a coordinate now and then: in the mean nothing goes"
        )
        assert np.allclose(shared_moment(xx, "none"), xx), "without a mask it is E[xxᵀ]"


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The scale of the views forgotten.
def shared_moment(xx, kind):
    xx = np.asarray(xx, dtype=float)
    factor = {"complement": (1 - np.eye(len(xx))) / 4, "independent": 1 / 4, "none": 1}[
        kind
    ]
    return factor * xx


# %% tags=["mistake"]
# Any mask removes the diagonal, also two independent ones.
def shared_moment(xx, kind):
    xx = np.asarray(xx, dtype=float)
    return xx if kind == "none" else xx - np.diag(np.diag(xx))


# %% tags=["mistake"]
# The diagonal halved.
def shared_moment(xx, kind):
    xx = np.asarray(xx, dtype=float)
    return xx - np.diag(np.diag(xx)) / 2 if kind == "complement" else xx


# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Warm-up 2: one curve, two stops
#
# *10 minutes, 6 points. Needs: warm-up 1, linear differential equations. After it you can say what a mask does in the first stage, and what it does not.*
#
# Near the start $\dot w=\mathbb E[x^+x^{++\top}]\,w$ (time absorbs the learning rate), $w(0)$ is isotropic and the $d$ atoms are flat. In this exercise alone half of them (of an even $d$) are rare: they are there with the probability $cp$, $c={{rare}}$, and the frequent half with $p$.

# %% [raw]
# # BEGIN QUESTION
# name: w2_share

# %% [markdown]
# Write `share(t, d, d1, p)`, the part of $\mathbb E\lVert w\rVert^2$ in the span of the frequent atoms at time $t$ (the same with a mask and without), and `half_growth(d, d1, p, s2)`: without a mask, the factor $W$ by which $\sqrt{\mathbb E\lVert w\rVert^2}$ has grown when that share is one half (`s2` is $\sigma^2$; $d_1\ge2d$), right to eight digits.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# Without a mask the rates are $p+\sigma^2$, $cp+\sigma^2$ and $\sigma^2$: on the frequent atoms, on the rare ones, off both. A mask takes $\sigma^2+p\frac{(1+c)d}{2d_1}$, the diagonal, from all three. So the share is $1/\bigl(1+e^{-2(1-c)pt}+2\frac{d_1-d}de^{-2pt}\bigr)$ with a mask and without. It is one half at $e^{2pt}=e^{2cpt}+2\frac{d_1-d}d$, which has one root and, for most $c$, no formula; then the frequent atoms hold half of $\mathbb E\lVert w\rVert^2$, so $W^2=\frac d{d_1}e^{2(p+\sigma^2)t}$.


# %%
def share(t, d, d1, p):
    """Share of E‖w‖² in the span of the d/2 frequent atoms."""
    # BEGIN SOLUTION
    grown = 2 * p * np.asarray(t)
    rare, off = np.exp(-(1 - {{rare}}) * grown), 2 * (d1 - d) / d * np.exp(-grown)
    return 1 / (1 + rare + off)
    # END SOLUTION


def half_growth(d, d1, p, s2):
    """W at which the share is one half, without a mask."""
    # BEGIN SOLUTION
    latest = (np.log(2 * (d1 - d) / d) + 2) / (2 * p * (1 - {{rare}}))
    t = brentq(lambda t: share(t, d, d1, p) - 0.5, 0, latest, xtol=1e-12)
    return np.sqrt(d / d1) * np.exp((p + s2) * t)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'start from the moment of warm-up 1 and take its exponential'
"""  # END TEST CONFIG


def test_one_curve(share, flat_atoms):
    import numpy as np
    from scipy.linalg import expm

    m, p, s2, t = flat_atoms, 0.05, 0.16, 30.0
    first, odds = m[:, :2], p * np.array([1, 1, {{rare}}, {{rare}}])
    xx = (m * odds) @ m.T + s2 * np.eye(64)
    for moment in (xx, xx - np.diag(np.diag(xx))):
        second = expm(2 * t * moment)
        want = np.trace(first.T @ second @ first) / np.trace(second)
        got = float(share(t, 4, 64, p))
        assert abs(float(share(0.0, 4, 64, p)) - 2 / 64) < 1e-12, (
            "at t = 0 the share of the frequent half is d/2d₁"
        )
        assert abs(got - 1 / (1 + 15 * np.exp(-2 * p * t))) > 1e-6, (
            "that is the share of all atoms, if none is rare"
        )
        slow = np.exp(-(1 - {{rare}}) * p * t) + 30 * np.exp(-p * t)
        assert abs(got - 1 / (1 + slow)) > 1e-6, (
            "squares of the weights grow twice as fast as the weights"
        )
        assert abs(got - want) < 1e-9, (
            f"got {got:.4f} at t = 30, the exponential of the moment gives {want:.4f}"
        )


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'other sizes, arrays of times, and the growth at one half'
"""  # END TEST CONFIG


def test_sizes(share, half_growth):
    import numpy as np
    from scipy.optimize import brentq

    for d, d1, p, s2 in ((4, 64, 0.05, 0.16), (2, 100, 0.2, 0.1), (8, 512, 0.1, 0.3)):
        t = np.array([0.0, 5, 20])
        first, second = (d / 2 * np.exp(2 * k * p * t) for k in (1, {{rare}}))
        assert np.allclose(share(t, d, d1, p), first / (first + second + d1 - d)), (
            "frequent atoms grow by the factor exp(2pt), rare ones by a smaller one, against the rest"
        )

        def parts(t):
            return np.array(
                [
                    d / 2 * np.exp(2 * p * t),
                    d / 2 * np.exp(2 * {{rare}} * p * t),
                    d1 - d,
                ]
            )

        half = brentq(lambda t: parts(t)[0] - parts(t)[1:].sum(), 0, 300)
        want = np.sqrt(parts(half).sum() / d1) * np.exp(s2 * half)
        assert abs(half_growth(d, d1, p, s2) / want - 1) < 1e-8, (
            f"d = {d}, d₁ = {d1}: W is the root of the growth of E‖w‖²"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The rate of the weights in place of their squares.
def share(t, d, d1, p):
    grown = p * np.asarray(t)
    return 1 / (1 + np.exp(-(1 - {{rare}}) * grown) + 2 * (d1 - d) / d * np.exp(-grown))


# %% tags=["mistake"]
# The page's curve, with no rare atom.
def share(t, d, d1, p):
    return 1 / (1 + (d1 - d) / d * np.exp(-2 * p * np.asarray(t)))


# %% tags=["mistake"]
# The share of all atoms.
def share(t, d, d1, p):
    all_of = 1 + np.exp(-2 * (1 - {{rare}}) * p * np.asarray(t))
    return all_of / (all_of + 2 * (d1 - d) / d * np.exp(-2 * p * np.asarray(t)))


# %% tags=["mistake"]
# The page's time of one half.
def half_growth(d, d1, p, s2):
    t = np.log((d1 - d) / d) / (2 * p)
    return np.sqrt(2 * (d1 - d) / d1) * np.exp(s2 * t)


# %% tags=["mistake"]
# Noise grows alone: the atoms' half is left out.
def half_growth(d, d1, p, s2):
    latest = (np.log(2 * (d1 - d) / d) + 2) / (2 * p * (1 - {{rare}}))
    t = brentq(lambda t: share(t, d, d1, p) - 0.5, 0, latest, xtol=1e-12)
    return np.exp(s2 * t)


# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Warm-up 3: an atom on a few coordinates
#
# *10 minutes, 6 points. Needs: binomial distribution, correlation. After it you can say when an atom is too local for a mask.*
#
# An atom lives on $n$ coordinates with entries $\pm1/\sqrt n$ and shares none of them. Views as in warm-up 1 (`"complement"`), $u=\langle M_j,x^+\rangle$, $v=\langle M_j,x^{++}\rangle$.

# %% [raw]
# # BEGIN QUESTION
# name: w3_local

# %% [markdown]
# Write `both_see(n, rho)`, the chance that each view sees at least one of the $n$ coordinates, and `correlation(n, rho, p, s2)`, the correlation of $u$ and $v$.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# The chance is $1-\rho^n-(1-\rho)^n$. $\mathbb E\,uv=p(1-\frac1n)=a$ at every rate; $\mathbb E\,u^2=a+\frac b\rho$ and $\mathbb E\,v^2=a+\frac b{1-\rho}$ with $b=\frac pn+\sigma^2$.


# %%
def both_see(n, rho):
    """Chance that both views see the atom."""
    # BEGIN SOLUTION
    return 1 - rho**n - (1 - rho) ** n
    # END SOLUTION


def correlation(n, rho, p, s2):
    """Correlation of ⟨M_j, x⁺⟩ and ⟨M_j, x⁺⁺⟩."""
    # BEGIN SOLUTION
    a, b = p * (1 - 1 / n), p / n + s2
    return a / np.sqrt((a + b / rho) * (a + b / (1 - rho)))
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'enumerate the masks of two coordinates'
"""  # END TEST CONFIG


def test_two_coordinates(both_see, correlation):
    got = both_see(2, 0.5)
    assert abs(got - 0.75) > 1e-12 and abs(got - 0.5625) > 1e-12, (
        "both views must see it, and they are no independent masks: what one sees the other does not"
    )
    assert abs(got - 0.5) < 1e-12, (
        f"n = 2, ρ = ½: one coordinate each, two masks of four; got {got}"
    )
    got = correlation(2, 0.5, 0.2, 0.0)
    assert abs(got - 1) > 1e-9, (
        "without noise the views still differ: each sees part of the atom"
    )
    assert abs(got - 0.1) > 1e-9, (
        "that is the mean of u v; a correlation is divided by the roots of both variances"
    )
    assert abs(got - 1 / 3) < 1e-12, f"n = 2, ρ = ½, no noise: 1/3, got {got:.4f}"


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'other sizes and rates, by all masks'
"""  # END TEST CONFIG


def test_all_masks(both_see, correlation):
    import itertools

    import numpy as np

    for n, rho, p, s2 in (
        (1, 0.3, 0.1, 0.09),
        (3, 0.2, 0.1, 0.09),
        (5, 0.5, 0.3, 0.01),
        (8, 0.7, 0.05, 0.2),
    ):
        k = np.array([sum(mask) for mask in itertools.product((0, 1), repeat=n)])
        chance = rho**k * (1 - rho) ** (n - k)
        a, b = k / (n * rho), (n - k) / (n * (1 - rho))
        product, first = chance @ (a * b) * p, chance @ (a**2 * p + s2 * a / rho)
        second = chance @ (b**2 * p + s2 * b / (1 - rho))
        assert abs(both_see(n, rho) - chance[(k > 0) & (k < n)].sum()) < 1e-9, (
            f"n = {n}, ρ = {rho}"
        )
        want = product / np.sqrt(first * second)
        assert abs(correlation(n, rho, p, s2) - want) < 1e-9, (
            f"n = {n}, ρ = {rho}: {want:.4f} by all masks; the noise is divided by ρ, too"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# One view sees it.
def both_see(n, rho):
    return 1 - (1 - rho) ** n


# %% tags=["mistake"]
# The views taken as independent masks.
def both_see(n, rho):
    return (1 - rho**n) * (1 - (1 - rho) ** n)


# %% tags=["mistake"]
# The product of what the views see as if every coordinate were seen by both.
def correlation(n, rho, p, s2):
    return p / np.sqrt((p + s2 / rho) * (p + s2 / (1 - rho)))


# %% tags=["mistake"]
# The variance of the noise not scaled.
def correlation(n, rho, p, s2):
    a, b = p * (1 - 1 / n), p / n
    return a / np.sqrt((a + b / rho + s2) * (a + b / (1 - rho) + s2))


# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Core 1: one factor that all share
#
# *30 minutes, 14 points. Needs: warm-up 1, eigenvectors. After it you can say which noise a mask decouples and which it does not.*
#
# The noise has one factor that all coordinates share: $\Sigma=\sigma^2\bigl[(1-c)I+c\,d_1ee^\top\bigr]$, $e$ a flat unit vector orthogonal to all atoms. So two coordinates have the correlation $\pm c$.

# %% [raw]
# # BEGIN QUESTION
# name: c1_prediction

# %% [markdown]
# **Predict first.** $p={{p}}$, $\sigma=0.3$, $d_1={{d1}}$. From which correlation $c$ of two coordinates on does the noise direction $e$ grow faster under the mask than the atoms?

# %% [raw]
# # BEGIN SOLUTION

# %%
factor_prediction = (0.009, 0.004, 0.02)  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # PREDICTION
# name: factor_prediction
# truth: least_factor({{p}}, 0.09, {{d1}})
# scale: factor
# widest: 10
# far: 4
# near: 1.3

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# A correlation that one would see.
factor_prediction = (0.5, 0.3, 0.7)

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c1_rates

# %% [markdown]
# Write `rates(m, p, noise)`, which returns the growth rates under the complementary mask of each atom, $M_j^\top\mathbb E[x^+x^{++\top}]M_j$, for atoms `m` (d₁ × d) and the covariance `noise`; and `least_factor(p, s2, d1)`, the $c$ beyond which $e$ wins.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# $\mathbb E[x^+x^{++\top}]=p(MM^\top-\operatorname{diag})+\Sigma-\operatorname{diag}\Sigma$. Here $\Sigma-\operatorname{diag}\Sigma=c\sigma^2(d_1ee^\top-I)$: $e$ grows at $c\sigma^2(d_1-1)-p\frac d{d_1}$, an atom at $p(1-\frac d{d_1})-c\sigma^2$. Equal at $c_*=p/\sigma^2d_1$.


# %%
def rates(m, p, noise):
    """Growth of each atom under the complementary mask."""
    # BEGIN SOLUTION
    xx = p * m @ m.T + noise
    moment = xx - np.diag(np.diag(xx))
    return np.einsum("ij,ik,kj->j", m, moment, m)
    # END SOLUTION


def least_factor(p, s2, d1):
    """c beyond which the common factor grows faster than flat atoms."""
    # BEGIN SOLUTION
    return p / (s2 * d1)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'white noise first; then the mask takes its whole covariance away'
"""  # END TEST CONFIG


def test_white_noise(rates, flat_atoms):
    import numpy as np

    got = np.asarray(rates(flat_atoms, 0.05, 0.09 * np.eye(64)), dtype=float)
    assert got.shape == (4,), "a rate for each atom"
    assert np.abs(got - 0.14).max() > 1e-9, "that is the rate without a mask: p + σ²"
    assert np.abs(got - 0.05).max() > 1e-9, "the mask takes the diagonal of p·MMᵀ, too"
    assert np.abs(got - 0.05 * 60 / 64).max() < 1e-12, (
        f"got {got[0]:.4f}, under white noise it is p(1 − d/d₁)"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'compare the rate of e with that of an atom at your c'
"""  # END TEST CONFIG


def test_edge(least_factor):
    import numpy as np
    from scipy.linalg import hadamard

    h = hadamard(64) / 8
    m, e, p, s2 = h[:, 1:5], h[:, 9], 0.05, 0.09
    c = float(least_factor(p, s2, 64))
    assert abs(c - p / s2) > 1e-9, (
        "a factor that all share adds up over the coordinates: where is d₁?"
    )
    assert abs(c - p / (s2 * 63)) > 1e-9, (
        "the diagonal of Σ is taken from the atoms, too: each loses c σ²"
    )
    xx = p * m @ m.T + s2 * ((1 - c) * np.eye(64) + c * 64 * np.outer(e, e))
    moment = xx - np.diag(np.diag(xx))
    own, atom = e @ moment @ e, m[:, 0] @ moment @ m[:, 0]
    assert abs(own - atom) < 1e-9, (
        f"at your c = {c:.4f} the factor grows at {own:.4f}, an atom at {atom:.4f}"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'correlated noise'
"""  # END TEST CONFIG


def test_other_noise(rates):
    import numpy as np
    from scipy.linalg import hadamard

    rng = np.random.default_rng(92)
    for d1, d in ((16, 2), (32, 5)):
        m, root = (
            hadamard(d1)[:, 1 : d + 1] / d1**0.5,
            rng.standard_normal((d1, d1 + 3)),
        )
        noise = root @ root.T / d1
        off = noise - np.diag(np.diag(noise))
        want = 0.1 * (1 - d / d1) + np.array(
            [m[:, j] @ off @ m[:, j] for j in range(d)]
        )
        assert np.abs(np.asarray(rates(m, 0.1, noise)) - want).max() < 1e-10, (
            f"d₁ = {d1}: the off-diagonal noise stays"
        )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'other sizes'
"""  # END TEST CONFIG


def test_other_edges(least_factor):
    for p, s2, d1 in ((0.1, 0.25, 256), (0.02, 0.5, 1024)):
        assert abs(least_factor(p, s2, d1) * s2 * d1 / p - 1) < 1e-9, (
            f"p = {p}, σ² = {s2}, d₁ = {d1}: c σ² d₁ against p"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# No mask.
def rates(m, p, noise):
    return np.einsum("ij,ik,kj->j", m, p * m @ m.T + noise, m)


# %% tags=["mistake"]
# Only the noise loses its diagonal.
def rates(m, p, noise):
    return np.einsum("ij,ik,kj->j", m, p * m @ m.T + noise - np.diag(np.diag(noise)), m)


# %% tags=["mistake"]
# The size of the correlation, without the number of coordinates that share it.
def least_factor(p, s2, d1):
    return p / s2


# %% tags=["mistake"]
# σ in place of σ².
def least_factor(p, s2, d1):
    return p / (np.sqrt(s2) * d1)


# %% [raw]
# # END QUESTION

# %%
spectrum = hadamard(64) / 8
factors, lines = np.linspace(0, 0.03, 40), []
for c in factors:
    noise = 0.09 * (
        (1 - c) * np.eye(64) + c * 64 * np.outer(spectrum[:, 9], spectrum[:, 9])
    )
    both = np.column_stack([flat_atoms, spectrum[:, 9]])  # the last one is no atom
    lines.append(
        [
            rates(flat_atoms, 0.05, noise)[0],
            (both.T @ (0.05 * flat_atoms @ flat_atoms.T + noise) @ both)[-1, -1]
            - (0.05 * 4 / 64 + 0.09),
        ]
    )
plt.figure(figsize=(5, 3))
plt.plot(factors, lines, label=["an atom", "the common factor e"])
plt.xlabel("c")
plt.ylabel("growth rate")
plt.title("A correlation that no two coordinates show")
plt.legend()
plt.show()

# %% [raw]
# # BEGIN QUESTION
# name: c1_refutation

# %% [markdown]
# **Refute.** A colleague writes: "I have looked at all pairs of coordinates. No correlation of the noise exceeds 0.05, so the mask decouples it." His noise has $c={{seen_c}}$, $\sigma^2=0.09$, and his atoms are flat, few ($d\ll d_1$) and have $p={{p}}$. Give `size_border`, the $d_1$ (a real number) from which on $e$ grows at least {{factor}} times as fast as an atom. (To one part in a hundred.)

# %% [raw]
# # BEGIN SOLUTION

# %%
size_border = None  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # BORDER
# name: size_border
# truth: 1 + {{factor}} * ({{p}} / ({{seen_c}} * 0.09) - 1)
# hint: what counts is c times the number of coordinates
# near: {{p}} / ({{seen_c}} * 0.09) | from there on e is as fast as an atom

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# As fast in place of faster.
size_border = {{p}} / ({{seen_c}} * 0.09)

# %% tags=["mistake"]
# A number of pairs.
size_border = 2.0

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Core 2: the lead of a neuron
#
# *30 minutes, 14 points. Needs: soft threshold, logarithmic derivative. After it you can say what a threshold sees, and when it sees nothing.*
#
# Two atoms, no noise: $z_j$ is ${{size}}$ or $-{{size}}$, each with probability $\frac p2$, and else 0. A neuron sees $w_1z_1+w_2z_2$, and $\dot w_j=\mathbb E[S_b(w_1z_1+w_2z_2)\,z_j]$ with the soft threshold $S_b(u)=\operatorname{sign}(u)\max(|u|-b,0)$. Let $\delta=\log(w_1/w_2)$ be small and $r=b/w$, $\delta<r<{{size}}$.

# %% [raw]
# # BEGIN QUESTION
# name: c2_prediction

# %% [markdown]
# **Predict first.** Each atom is present with probability $p={{half}}$. How large must $r=b/w$ be for a small lead to grow?

# %% [raw]
# # BEGIN SOLUTION

# %%
lead_prediction = (1.0, 0.6, 1.3)  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # PREDICTION
# name: lead_prediction
# truth: least_ratio({{half}})
# scale: difference
# widest: 0.9
# far: 0.4
# near: 0.1

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# Any threshold will do.
lead_prediction = (0.0, 0.0, 0.2)

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c2_lead

# %% [markdown]
# Write `lead_rate(p, ratio)`, the rate $\dot\delta/\delta$ for small $\delta$ and $0<r<{{size}}$, and `least_ratio(p)`, the $r$ beyond which it is positive (`np.inf` if no $r<{{size}}$ is enough).

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# First for signals of size 1. One atom alone, and both with equal or opposite signs: $\dot w_{1,2}=p(1-p)S_b(w_{1,2})+\frac{p^2}2[S_b(w_1+w_2)\pm S_b(w_1-w_2)]$, and $S_b(w_1-w_2)=0$. The difference grows at $p(1-p)$, the sum by $2p(1-p)(w-b)+p^2(2w-b)$, so $\dot\delta/\delta=p\bigl[r(1-\frac p2)-p\bigr]$, positive for $r>p/(1-\frac p2)$; from $p=\frac23$ on no $r<1$ is enough. Signals of size $m$ are those of size 1 with $mw$ for $w$, and a velocity $m$ times as large: $r/m$ stands for $r$, and $m^2$ before the rate.


# %%
def lead_rate(p, ratio):
    """δ̇/δ for a small lead."""
    # BEGIN SOLUTION
    size = {{size}}
    return size**2 * p * (ratio / size * (1 - p / 2) - p)
    # END SOLUTION


def least_ratio(p):
    """b/w beyond which a lead grows."""
    # BEGIN SOLUTION
    least = p / (1 - p / 2)
    return {{size}} * least if least < 1 else np.inf
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 4
failure_message: 'sum over the nine values of (z₁, z₂)'
"""  # END TEST CONFIG


def test_nine_values(lead_rate):
    import itertools

    import numpy as np

    p, ratio, delta, size = 0.3, 0.4, 1e-5, {{size}}
    w, velocity = np.exp([delta / 2, -delta / 2]), np.zeros(2)
    for z in itertools.product((-size, 0, size), repeat=2):
        u = w @ np.array(z)
        chance = np.prod([p / 2 if k else 1 - p for k in z])
        velocity += chance * np.sign(u) * max(abs(u) - ratio, 0) * np.array(z)
    want = (velocity[0] / w[0] - velocity[1] / w[1]) / delta
    got = lead_rate(p, ratio)
    assert abs(got - p * (ratio * (1 - p / 2) - p)) > 1e-6, (
        "that is for signals of size 1: here they are larger"
    )
    assert abs(got - size * p * (1 - p) * ratio) > 1e-6, (
        "that is for one atom at a time: where both are there, the mixture is rewarded"
    )
    assert abs(got - want) < 1e-5, (
        f"got {got:.4f}, the nine values give {want:.4f} for p = 0.3, r = 0.4"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'other p and r'
"""  # END TEST CONFIG


def test_rates(lead_rate):
    import itertools

    import numpy as np

    delta, size = 1e-6, {{size}}
    for p, ratio in itertools.product((0.05, 0.3, 0.5, 0.8), (0.02, 0.4, 0.9, 1.1)):
        w = np.exp([delta / 2, -delta / 2])
        z = size * np.array(list(itertools.product((-1, 0, 1), repeat=2)))
        u, chance = z @ w, np.where(z == 0, 1 - p, p / 2).prod(axis=1)
        velocity = (chance * np.sign(u) * np.maximum(np.abs(u) - ratio, 0)) @ z
        want = (velocity[0] / w[0] - velocity[1] / w[1]) / delta
        assert abs(lead_rate(p, ratio) - want) < 1e-4, (
            f"p = {p}, r = {ratio}: {want:.4f}"
        )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'the least ratio, and none from two thirds on'
"""  # END TEST CONFIG


def test_least(least_ratio):
    import numpy as np

    for p in (0.01, 0.2, 0.5, 0.6):
        assert abs(least_ratio(p) / {{size}} * (1 - p / 2) - p) < 1e-9, (
            f"p = {p}: the rate changes sign where r(1 − p/2) = {{size}} p"
        )
    assert np.isinf(least_ratio(0.7)) and np.isinf(least_ratio(2 / 3 + 1e-9)), (
        "from p = 2/3 on no r is enough at which an atom alone is seen"
    )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# One atom at a time: what both together do is left out.
def lead_rate(p, ratio):
    return {{size}} * p * (1 - p) * ratio


def least_ratio(p):
    return 0.0


# %% tags=["mistake"]
# p² in place of p²/2 for each relative sign.
def lead_rate(p, ratio):
    return {{size}} ** 2 * p * (ratio / {{size}} * (1 - p) - 2 * p)


def least_ratio(p):
    return {{size}} * 2 * p / (1 - p) if p < 1 / 3 else np.inf


# %% tags=["mistake"]
# Signals of size 1.
def lead_rate(p, ratio):
    return p * (ratio * (1 - p / 2) - p)


# %% tags=["mistake"]
# The sign of the threshold's term.
def lead_rate(p, ratio):
    return {{size}} ** 2 * p * (p - ratio / {{size}} * (1 - p / 2))


# %% tags=["mistake"]
# A least ratio so large that an atom alone is not seen.
def least_ratio(p):
    return {{size}} * p / (1 - p / 2)


# %% [raw]
# # END QUESTION

# %%
chances = np.linspace(0.01, 0.9, 60)
plt.figure(figsize=(5, 3))
plt.plot(chances, [least_ratio(p) for p in chances])
plt.ylim(0, {{size}} + 0.05)
plt.xlabel("p, how often an atom is there")
plt.ylabel("least b/w")
plt.show()

# %% [raw]
# # BEGIN QUESTION
# name: c2_refutation

# %% [markdown]
# **Refute.** A colleague writes: "From $p=\frac23$ on no threshold favours an atom that leads, however many atoms there are." Let four atoms of size 1 be there with $p={{p3}}$ each, independently, $w_3=w_4=w$ and $w_1$, $w_2$ as before. Give `four_border`, the $r<1$ beyond which a small lead grows. (There are 81 values of $z$.) (To one part in a hundred.)

# %% [raw]
# # BEGIN SOLUTION

# %%
four_border = None  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # BORDER
# name: four_border
# truth: (lambda z: (lambda c: ({{p3}} - (c * (z.sum(1) != 0)) @ (z[:, 0] - z[:, 1]) ** 2 / 2) / (c @ (np.sign(z.sum(1)) * z[:, 0])))(np.where(z == 0, 1 - {{p3}}, {{p3}} / 2).prod(1)))(np.array(np.meshgrid(*[[-1, 0, 1]] * 4)).reshape(4, -1).T)
# hint: half of E[(z₁ − z₂)²; u ≠ 0] against E[S(u) z₁]/w, over all values of z
# near: {{p3}} / (1 - {{p3}} / 2) | that is the border of two atoms
# near: 1.5 * {{p3}} * (1 - {{p3}}) / (1 - {{p3}} + {{p3}} ** 2 / 2) | that is the border of three atoms

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# The border of two atoms.
four_border = {{p3}} / (1 - {{p3}} / 2)

# %% tags=["mistake"]
# The border of three atoms.
four_border = 1.5 * {{p3}} * (1 - {{p3}}) / (1 - {{p3}} + {{p3}} ** 2 / 2)

# %% tags=["mistake"]
# Always.
four_border = 0.01

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Core 3: the oracle and its threshold
#
# *30 minutes, 14 points. Needs: best linear prediction, tails of a Gaussian. After it you can say what no linear representation can give.*
#
# A probe predicts $y=\langle w^*,z\rangle$ by a linear function of a representation, with as many labels as you like; $R^2=1-\mathbb E(y-\hat y)^2/\mathbb Ey^2$. The oracle returns $g_j=\operatorname{sign}(u_j)\mathbb 1\{|u_j|>t\}$, $u_j=\langle M_j,x\rangle$.

# %% [raw]
# # BEGIN QUESTION
# name: c3_prediction

# %% [markdown]
# **Predict first.** $p={{p_o}}$, $\sigma=0.3$. No linear representation gets beyond $R^2=p/(p+\sigma^2)$. What does the oracle reach at its best threshold?

# %% [raw]
# # BEGIN SOLUTION

# %%
oracle_prediction = (0.7, 0.6, 0.85)  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # PREDICTION
# name: oracle_prediction
# truth: max(oracle_r2(t, {{p_o}}, 0.3) for t in np.linspace(0.5, 1, 501))
# scale: difference
# widest: 0.4
# far: 0.15
# near: 0.05

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# The linear ceiling again.
oracle_prediction = (0.53, 0.5, 0.56)

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c3_oracle

# %% [markdown]
# Write `oracle_r2(t, p, noise)`, the $R^2$ of the oracle for the threshold $t$; `noise` is $\sigma$.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# All coordinates are alike and independent, so $R^2=(\mathbb E z_jg_j)^2/(p\,\mathbb E g_j^2)$. With $h_\pm=\Pr(\xi>t\mp1)$ and $e=\Pr(|\xi|>t)$, $\mathbb E zg=p(h_+-h_-)$ and $\mathbb E g^2=p(h_++h_-)+(1-p)e$.


# %%
def oracle_r2(t, p, noise):
    """R² of the best linear function of sign(u)·1{|u| > t}."""

    # BEGIN SOLUTION
    def tail(x):
        return math.erfc(x / (noise * math.sqrt(2))) / 2

    hit, wrong, alarm = tail(t - 1), tail(t + 1), 2 * tail(t)
    return (hit - wrong) ** 2 / (hit + wrong + (1 - p) / p * alarm)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'draw z and ξ and fit'
"""  # END TEST CONFIG


def test_by_drawing(oracle_r2):
    import numpy as np

    rng, n = np.random.default_rng(12), 400_000
    z = rng.choice([-1.0, 0, 1], n, p=[0.05, 0.9, 0.05])
    u = z + 0.3 * rng.standard_normal(n)
    g = np.sign(u) * (np.abs(u) > 0.6)
    want = (z @ g) ** 2 / ((z @ z) * (g @ g))
    got = oracle_r2(0.6, 0.1, 0.3)
    assert 0 < got < 1, "R² lies between 0 and 1"
    assert abs(got - 1 + ((z - g) ** 2).mean() / 0.1) > 0.015, (
        "that is for ŷ = g: the probe may multiply g by a number, the best one"
    )
    assert got - want < 0.02, (
        f"got {got:.3f}, drawn {want:.3f}: are false alarms counted, where z = 0?"
    )
    assert abs(got - want) < 0.02, f"got {got:.3f}, drawn {want:.3f}"


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'other thresholds, chances and sizes of the noise'
"""  # END TEST CONFIG


def test_elsewhere(oracle_r2):
    import math

    def tail(x, s):
        return math.erfc(x / (s * 2**0.5)) / 2

    for t, p, s in ((0.4, 0.05, 0.2), (0.8, 0.3, 0.5), (0.5, 0.001, 0.1)):
        both = tail(t - 1, s) + tail(t + 1, s)
        want = (
            p
            * (tail(t - 1, s) - tail(t + 1, s)) ** 2
            / (p * both + 2 * (1 - p) * tail(t, s))
        )
        assert abs(oracle_r2(t, p, s) - want) < 1e-9, (
            f"t = {t}, p = {p}, σ = {s}: {want:.4f}"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# False alarms left out.
def oracle_r2(t, p, noise):
    hit = math.erfc((t - 1) / (noise * math.sqrt(2))) / 2
    wrong = math.erfc((t + 1) / (noise * math.sqrt(2))) / 2
    return (hit - wrong) ** 2 / (hit + wrong)


# %% tags=["mistake"]
# One tail of the false alarms.
def oracle_r2(t, p, noise):
    hit, wrong, alarm = (
        math.erfc(x / (noise * math.sqrt(2))) / 2 for x in (t - 1, t + 1, t)
    )
    return (hit - wrong) ** 2 / (hit + wrong + (1 - p) / p * alarm)


# %% tags=["mistake"]
# The linear ceiling in place of the oracle.
def oracle_r2(t, p, noise):
    return p / (p + noise**2)


# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c3_linear

# %% [markdown]
# Write `linear_r2(v, m, p, s2, w_star)`, the $R^2$ of the best linear function of $Vx$, for a `v` of any rank (k × d₁).

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# $\operatorname{Cov}(x)=pMM^\top+\sigma^2I$ and $\operatorname{Cov}(y,Vx)=p\,w^{*\top}M^\top V^\top$. With the pseudo-inverse, $R^2=c\,(V\operatorname{Cov}(x)V^\top)^+c^\top/p\lVert w^*\rVert^2$; it is $p/(p+\sigma^2)$ iff $Mw^*$ is in the row space of $V$.


# %%
def linear_r2(v, m, p, s2, w_star):
    """R² of the best linear prediction of ⟨w*, z⟩ from Vx."""
    # BEGIN SOLUTION
    inside = v @ (p * m @ m.T + s2 * np.eye(len(m))) @ v.T
    cross = p * v @ (m @ w_star)
    return cross @ np.linalg.pinv(inside, rcond=1e-12) @ cross / (p * w_star @ w_star)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'with V = Mᵀ it is the ceiling p/(p + σ²)'
"""  # END TEST CONFIG


def test_the_ceiling(linear_r2, flat_atoms):
    import numpy as np

    w = np.array([1.0, -2, 0.5, 0])
    got = linear_r2(flat_atoms.T, flat_atoms, 0.1, 0.09, w)
    assert got < 1, "the noise along the atoms stays: the covariance of x is pMMᵀ + σ²I"
    assert abs(got / (0.1 * w @ w) - 0.1 / 0.19) > 1e-9, (
        "that is the variance explained; R² is its part in the variance of y, p‖w*‖²"
    )
    assert abs(got - 0.1 / 0.19) < 1e-9, (
        f"got {got:.4f}, with V = Mᵀ it is p/(p + σ²) = {0.1 / 0.19:.4f}, whatever w* is"
    )
    assert abs(linear_r2(np.eye(64), flat_atoms, 0.1, 0.09, w) - 0.1 / 0.19) < 1e-9, (
        "x itself does no better and no worse"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'random maps, also without full rank'
"""  # END TEST CONFIG


def test_maps(linear_r2, flat_atoms):
    import numpy as np

    rng, m, p, s2 = np.random.default_rng(93), flat_atoms, 0.1, 0.09
    for k in (3, 10, 64):
        v, w = rng.standard_normal((k, 64)), rng.standard_normal(4)
        basis = np.linalg.qr(v.T)[0]
        inside = basis.T @ (p * m @ m.T + s2 * np.eye(64)) @ basis
        cross = p * basis.T @ (m @ w)
        want = cross @ np.linalg.solve(inside, cross) / (p * w @ w)
        assert abs(linear_r2(v, m, p, s2, w) - want) < 1e-8, (
            f"{k} random directions: {want:.4f}"
        )
        doubled = np.vstack([v, v[:2] + v[1:3], np.zeros(64)])
        try:
            got = linear_r2(doubled, m, p, s2, w)
        except np.linalg.LinAlgError:
            got = np.nan
        assert abs(got - want) < 1e-7, (
            "a doubled direction, and one of zeros, tell nothing new: use a pseudo-inverse"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The noise left out of the covariance.
def linear_r2(v, m, p, s2, w_star):
    cross = p * v @ (m @ w_star)
    return (
        cross @ np.linalg.pinv(v @ (p * m @ m.T) @ v.T) @ cross / (p * w_star @ w_star)
    )


# %% tags=["mistake"]
# The ceiling for every V.
def linear_r2(v, m, p, s2, w_star):
    return p / (p + s2)


# %% tags=["mistake"]
# The share of the signal that the rows of V see.
def linear_r2(v, m, p, s2, w_star):
    basis = np.linalg.qr(v.T)[0]
    seen = basis.T @ (m @ w_star)
    return seen @ seen / (w_star @ w_star)


# %% tags=["mistake"]
# An inverse, which a direction of zeros has not.
def linear_r2(v, m, p, s2, w_star):
    cross = p * v @ (m @ w_star)
    inside = v @ (p * m @ m.T + s2 * np.eye(len(m))) @ v.T
    return cross @ np.linalg.solve(inside, cross) / (p * w_star @ w_star)


# %% [raw]
# # END QUESTION

# %%
thresholds = np.linspace(0.2, 1.2, 60)
plt.figure(figsize=(5, 3))
plt.plot(thresholds, [oracle_r2(t, 0.1, 0.3) for t in thresholds], label="oracle")
plt.axhline(0.1 / 0.19, color="grey", ls="--", label="linear ceiling")
plt.xlabel("t")
plt.ylabel("R²")
plt.legend()
plt.show()

# %% [raw]
# # BEGIN QUESTION
# name: c3_refutation

# %% [markdown]
# **Refute.** A colleague writes: "Where $p\ll\sigma^2$ the signal is drowned, and no function of $x$ finds $z$." For $p={{p_rare}}$ and $\sigma={{s_rare}}$ a linear map reaches $R^2=p/(p+\sigma^2)$. Give `oracle_border`, the $R^2$ of the oracle at its best threshold. (To one part in a hundred.)

# %% [raw]
# # BEGIN SOLUTION

# %%
oracle_border = None  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # BORDER
# name: oracle_border
# truth: max(oracle_r2(t, {{p_rare}}, {{s_rare}}) for t in np.linspace(0.3, 1.3, 2001))
# hint: rare events are cheap to find if each is large; the best threshold is not one half
# near: oracle_r2(0.5, {{p_rare}}, {{s_rare}}) | false alarms at a threshold of one half: raise it
# near: {{p_rare}} / ({{p_rare}} + {{s_rare}} ** 2) | that is the linear map

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# The linear map.
oracle_border = {{p_rare}} / ({{p_rare}} + {{s_rare}} ** 2)

# %% tags=["mistake"]
# A threshold of one half.
oracle_border = oracle_r2(0.5, {{p_rare}}, {{s_rare}})

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Project 1: learned, then overgrown
#
# *A week, 20 points. Needs: warm-up 2, the training loop of the chapter. After it you can predict a peak before you run.*
#
# Without a mask a network learns signals, and noise overgrows them later. When are the weights grown, and what do they hold by then?

# %% [raw]
# # BEGIN QUESTION
# name: p1_share

# %% [markdown]
# Write `share_at_growth(growth, d, d1, p, s2, masked)`: the share of the atoms when $\mathbb E\lVert w\rVert^2$ has grown by `growth`², flat atoms, rates as in warm-up 2. `growth` is at least 1; at 1 nothing has moved.

# %% [raw]
# # BEGIN SOLUTION


# %%
def share_at_growth(growth, d, d1, p, s2, masked):
    """Share of E‖w‖² in the span of the atoms when it has grown by growth²."""
    # BEGIN SOLUTION
    inside, outside = (p * (1 - d / d1), -p * d / d1) if masked else (p + s2, s2)

    def parts(t):
        return d / d1 * np.exp(2 * inside * t), (1 - d / d1) * np.exp(2 * outside * t)

    end = np.log(growth**2 * d1 / d) / (2 * inside)
    first, second = parts(brentq(lambda t: sum(parts(t)) - growth**2, 0, end + 1))
    return first / (first + second)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 3
failure_message: 'find the time first'
"""  # END TEST CONFIG


def test_masked(share_at_growth):
    got = share_at_growth(20.0, 4, 64, 0.05, 0.16, True)
    assert got >= 1 - 20.0**-2, (
        f"with a mask the share is at least 1 − W⁻², got {got:.4f}: the dense part does not grow"
    )
    assert share_at_growth(1.0 + 1e-9, 4, 64, 0.05, 0.16, False) < 0.07, (
        "at the start it is d/d₁"
    )


# %%
""" # BEGIN TEST CONFIG
points: 5
hidden: true
failure_message: 'without a mask, other sizes'
"""  # END TEST CONFIG


def test_plain(share_at_growth):
    import numpy as np

    for d, d1, p, s2 in ((4, 64, 0.05, 0.16), (8, 512, 0.1, 0.3)):
        t = np.log((d1 - d) / d) / (2 * p)
        half = np.sqrt(2 * (d1 - d) / d1) * np.exp(s2 * t)
        got = share_at_growth(half, d, d1, p, s2, False)
        assert abs(got - 0.5) < 1e-6, (
            f"d = {d}, d₁ = {d1}: half at W = {half:.0f}, got {got:.3f}"
        )
        for masked in (True, False):
            assert abs(share_at_growth(1.0, d, d1, p, s2, masked) - d / d1) < 1e-9, (
                "at a growth of 1 it is d/d₁"
            )
            for t in (0.3 / p, 1.5 / p):
                outside = -p * d / d1 if masked else s2
                inside = outside + p
                kept = d / d1 * np.exp(2 * inside * t)
                lost = (1 - d / d1) * np.exp(2 * outside * t)
                got = share_at_growth((kept + lost) ** 0.5, d, d1, p, s2, masked)
                assert abs(got - kept / (kept + lost)) < 1e-6, (
                    f"{'with' if masked else 'without'} a mask the rates are {inside:.4f} on the atoms and {outside:.4f} off them"
                )
        assert share_at_growth(1e6, d, d1, p, s2, True) > 1 - 1e-11, (
            "with a mask and a growth of 10⁶ it is nearly 1"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The rates of the mask in both runs.
def share_at_growth(growth, d, d1, p, s2, masked):
    t = np.log(growth**2 * d1 / d) / (2 * p * (1 - d / d1))
    return 1 / (1 + (d1 - d) / d * np.exp(-2 * p * t))


# %% tags=["mistake"]
# growth in place of its square.
def share_at_growth(growth, d, d1, p, s2, masked):
    a, b = (p * (1 - d / d1), -p * d / d1) if masked else (p + s2, s2)
    t = brentq(
        lambda t: (
            d / d1 * np.exp(2 * a * t) + (1 - d / d1) * np.exp(2 * b * t) - growth
        ),
        0,
        1000,
    )
    return 1 / (1 + (d1 - d) / d * np.exp(-2 * p * t))


# %% tags=["mistake"]
# The bound 1 − W⁻² in both runs.
def share_at_growth(growth, d, d1, p, s2, masked):
    return 1 - growth**-2


# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: p1_report
# manual: true
# points: 12

# %% [markdown]
# **Report** (two pages). For six settings of $N$, $p$ and $\sigma$ (one with $N=1$) predict the peak of the unmasked share and when it is lost, then train and compare. Train one setting without weight decay, too: which falls then, the share of the signals, their own length, or both? Where does the prediction fail, and why?

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# **Rubric.** Predictions dated before the runs, 2 points. Peaks within 0.1 in four of six settings or the failure explained, 4. Starts and intervals, 2. The cause of the fall shown by a control (negatives off, or a mask from the peak on), and told apart from what decay does, 3. $N=1$ discussed, 1.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Project 2: the growth spectrum of an augmentation
#
# *A week, 20 points. Needs: warm-up 1, images and an augmentation of your choice. After it you can say what an augmentation lets grow.*
#
# Directions grow at the eigenvalues of the symmetric part of $\mathbb E[x^+x^{++\top}]$.

# %% [raw]
# # BEGIN QUESTION
# name: p2_spectrum

# %% [markdown]
# Write `spectrum(first, second)` for two arrays of views (n × d₁, not centred): the eigenvalues in falling order and their eigenvectors as columns. Swapping the views changes nothing; there may be fewer pairs than dimensions.

# %% [raw]
# # BEGIN SOLUTION


# %%
def spectrum(first, second):
    """Eigenvalues, falling, and eigenvectors of the symmetric E[x⁺x⁺⁺ᵀ]."""
    # BEGIN SOLUTION
    product = first.T @ second / len(first)
    values, vectors = np.linalg.eigh((product + product.T) / 2)
    return values[::-1], vectors[:, ::-1]
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 3
failure_message: 'views that share one direction alone'
"""  # END TEST CONFIG


def test_one_direction(spectrum):
    import numpy as np

    rng, n = np.random.default_rng(13), 50_000
    common = rng.standard_normal((n, 1)) * np.array([0.6, 0.8, 0])
    values, vectors = spectrum(
        common + rng.standard_normal((n, 3)), common + rng.standard_normal((n, 3))
    )
    assert values[0] >= values[-1], "the fastest direction first"
    assert abs(values[0] - 1) < 0.05, (
        f"the common direction has the rate 1, got {values[0]:.2f}: a mean over the pairs of views"
    )
    assert abs(vectors[:, 0] @ np.array([0.6, 0.8, 0])) > 0.99, (
        "eigenvectors are columns, in the order of the values"
    )


# %%
""" # BEGIN TEST CONFIG
points: 5
hidden: true
failure_message: 'masked white noise has no growth, an unmasked one has'
"""  # END TEST CONFIG


def test_masks(spectrum):
    import numpy as np

    rng, n = np.random.default_rng(94), 100_000
    x = rng.standard_normal((n, 6))
    mask = rng.random((n, 6)) < 0.5
    assert np.abs(spectrum(2 * mask * x, 2 * ~mask * x)[0]).max() < 0.05, (
        "complementary masks leave nothing of white noise"
    )
    assert np.abs(spectrum(x, x)[0] - 1).max() < 0.05, (
        "without a mask white noise grows at σ²"
    )
    few, other = x[:3], x[3:6]
    values, vectors = spectrum(few, other)
    assert values.shape == (6,) and vectors.shape == (6, 6), (
        "six dimensions have six rates, also with three pairs"
    )
    assert abs(values.sum() - (few * other).sum(axis=1).mean()) < 1e-9, (
        "the rates add up to the mean of ⟨x⁺, x⁺⁺⟩"
    )
    assert np.allclose(values, spectrum(other, few)[0]), (
        "swapping the views changes nothing"
    )
    values, vectors = spectrum(x + 1, x - 1)
    assert abs(values[-1] + 5) < 0.1 and np.allclose(vectors.T @ vectors, np.eye(6)), (
        "a rate may be negative: the views are not centred"
    )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# Singular values, which are never negative.
def spectrum(first, second):
    left, values, _ = np.linalg.svd(first.T @ second / len(first))
    return values, left


# %% tags=["mistake"]
# The covariance of one view.
def spectrum(first, second):
    values, vectors = np.linalg.eigh(first.T @ first / len(first))
    return values[::-1], vectors[:, ::-1]


# %% tags=["mistake"]
# In rising order.
def spectrum(first, second):
    product = first.T @ second / len(first)
    return np.linalg.eigh((product + product.T) / 2)


# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: p2_report
# manual: true
# points: 12

# %% [markdown]
# **Report** (two pages). Take images and an augmentation; draw its growth spectrum with and without each of its parts (crop, jitter, flip). Which directions grow under all, and does a small network learn these first? State how many views a stable spectrum takes.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# **Rubric.** The mask as a test case with a known answer, 2 points. Error bars on eigenvalues by halving the data, 2. Parts switched off one by one, 3. The prediction for the network made from the spectrum and tested, 4. Limits, 1.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION
