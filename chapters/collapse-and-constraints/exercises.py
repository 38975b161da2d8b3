# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [raw]
# # ASSIGNMENT CONFIG
# name: collapse-and-constraints
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
# beta: 0.5, from 0.3 to 1.2 by 0.1
# positives: 1, from 0.6 to 1.6 by 0.1
# rho: 1.2, from 1.0 to 1.6 by 0.05
# low: 0.1, from 0.1 to 0.6 by 0.05
# high: 4.0, from 2.5 to 6.0 by 0.25
# v_s: 0.3, from 0.2 to 0.5 by 0.02
# rho_s: 1.3, from 1.0 to 1.7 by 0.05
# start: 0.01, from 0.004 to 0.03 by 0.001
# long: 0.6, from 0.4 to 0.7 by 0.02
# when: 0.4, from 0.3 to 0.7 by 0.02
# weight: 3, from 2 to 5 by 1

# %% [markdown]
# # Exercises: collapse and constraints
#
# Three warm-ups (10 minutes each), three core exercises (30 minutes each) and two projects (a week each), 100 points. Every exercise names what it needs and what you can do after it. Replace each `...`, run the cell, then the check below it. A visible check costs nothing and may be repeated. Hidden checks run when the sheet is graded; they use other numbers.
#
# A **prediction** is a number and an interval, `(value, low, high)`, written down *before* you compute. It is scored by its distance from the truth, so that an honest guess with an honest interval earns points.
#
# Notation as in the chapter: $C$ has eigenvalues $\lambda_1\le\dots\le\lambda_d$, $\Lambda=\operatorname{diag}(\lambda)$; $q$ holds the outputs at the eigenvectors.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

# %% [markdown]
# ## Warm-up 1: a wide network waits
#
# *10 minutes, 6 points. Needs: equation (10) of the paper, separation of variables. After it you can say how long a wide network waits before it turns.*
#
# One output: $\dot q=2\bigl[-(1-q^\top q)\Lambda q-(I-qq^\top)\Lambda q\bigr]$. In this exercise alone the outputs decay, too: $-\beta q$ with $\beta={{beta}}$ is added to $\dot q$. Let $\Lambda=\lambda I$.

# %% [raw]
# # BEGIN QUESTION
# name: w1_length

# %% [markdown]
# Write `length(s0, lam, t)`, which returns $s=\lVert q\rVert^2$ at time $t$ (a number or an array) for $s(0)=s_0$ in $(0,1]$ and any number $\lambda$, 0 and $-\frac\beta4$ included, right to seven digits.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# With $s=q^\top q$ and $q^\top\Lambda q=\lambda s$, $\dot s=2q^\top\dot q=-8\lambda s(1-s)-2\beta s$. In $u=1/s$ this is linear, $\dot u=ru-8\lambda$ with $r=8\lambda+2\beta$, so that $u=\frac{e^{rt}}{s_0}-8\lambda\frac{e^{rt}-1}r$; for $r=0$ the fraction is $t$. For $\lambda<-\frac\beta4$ the length rests at $s=1-\frac\beta{4\lvert\lambda\rvert}$, below one.


# %%
def length(s0, lam, t):
    """s(t) = ‖q‖² from s(0) = s0 for Λ = λI, with the decay."""
    # BEGIN SOLUTION
    t, rate = np.asarray(t, dtype=float), 8 * lam + 2 * {{beta}}
    grown = np.expm1(rate * t) / rate if rate else t
    return s0 / (1 + rate * grown - 8 * lam * s0 * grown)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'the curve is not that of (10) with the decay; derive the equation of s = q·q first'
"""  # END TEST CONFIG


def test_one_curve(length):
    import numpy as np

    def move(q):
        turned = -0.7 * q
        return 2 * (-(1 - q @ q) * turned - (turned - q * (q @ turned))) - {{beta}} * q

    q, step = np.array([0.3, -0.2, 0.25]), 1e-3
    s0, path = q @ q, []
    for _ in range(800):
        path.append(q @ q)
        a = move(q)
        b = move(q + step / 2 * a)
        c = move(q + step / 2 * b)
        q = q + step / 6 * (a + 2 * b + 2 * c + move(q + step * c))
    got, times = length(s0, -0.7, step * np.arange(800)), step * np.arange(800)

    def logistic(rate, end):
        return end / (1 + (end / s0 - 1) * np.exp(-rate * times))

    assert abs(float(length(s0, -0.7, 0.0)) - s0) < 1e-12, "at t = 0 the length is s0"
    in_turn = logistic(5.6, 1) * np.exp(-2 * {{beta}} * times)
    assert np.abs(got - in_turn).max() > 1e-6, (
        "growth and decay act on one another: solve one equation for both, not two in turn"
    )
    assert np.all(np.diff(got) > 0), (
        "for this λ < 0 the length grows: check the sign in the exponent"
    )
    assert np.all(got < 1 + 1e-12), (
        "the length stays below 1: the factor 1 − s stops the growth"
    )
    assert abs(got[50] - path[25]) > 1e-6, (
        "at t = 0.05 it is what it should be at t = 0.025: is it the rate of s or of q?"
    )
    assert np.abs(got - logistic(5.6, 1)).max() > 1e-6, "the decay is left out"
    assert np.abs(got - logistic(5.6 - {{beta}}, 1 - {{beta}} / 5.6)).max() > 1e-6, (
        "β is the decay of q; its square decays twice as fast"
    )
    assert np.allclose(got[:50], path[:50], atol=1e-4), (
        f"at t = 0.04 it is {path[40]:.4f}, got {got[40]:.4f}"
    )
    assert np.allclose(got, path, atol=1e-7), (
        "right at first, then off: seven digits are asked, more than a solver gives by default"
    )


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'other rates and starts, λ = 0, rates that cancel, and s0 = 1'
"""  # END TEST CONFIG


def test_draws(length):
    import numpy as np

    rng, beta = np.random.default_rng(41), {{beta}}
    for s0, lam, t in zip(
        rng.uniform(0.01, 0.99, 20),
        rng.uniform(-1, 1, 20),
        rng.uniform(0, 1.5, 20),
        strict=True,
    ):
        rate = 8 * lam + 2 * beta
        inverse = np.exp(rate * t) / s0 - 8 * lam * np.expm1(rate * t) / rate
        assert abs(float(length(s0, lam, t)) * inverse - 1) < 1e-6, (
            "1/s follows a linear equation, with the rate 8λ + 2β"
        )
    times = np.array([0.0, 1, 2])
    assert np.allclose(length(0.5, 0.0, times), 0.5 * np.exp(-2 * beta * times)), (
        "λ = 0: nothing but the decay"
    )
    assert np.allclose(length(0.5, -beta / 4, times), 1 / (2 + 2 * beta * times)), (
        "λ = −β/4: growth and decay cancel to first order, and 1/s grows evenly"
    )
    got = length(1.0, -2.0, 9.0)
    assert abs(got - 1 + beta / 8) < 1e-7, (
        f"from s0 = 1 with λ = −2 it comes down to 1 − β/8, got {got:.4f}"
    )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The rate of q in place of that of its square.
def length(s0, lam, t):
    rate = 4 * lam + {{beta}}
    grown = np.expm1(rate * np.asarray(t)) / rate
    return s0 / (1 + rate * grown - 4 * lam * s0 * grown)


# %% tags=["mistake"]
# The sign of the exponent.
def length(s0, lam, t):
    rate = -8 * lam - 2 * {{beta}}
    grown = np.expm1(rate * np.asarray(t)) / rate
    return s0 / (1 + rate * grown + 8 * lam * s0 * grown)


# %% tags=["mistake"]
# The linear equation near 0, without the factor 1 − s.
def length(s0, lam, t):
    return s0 * np.exp(-(8 * lam + 2 * {{beta}}) * np.asarray(t))


# %% tags=["mistake"]
# Without the decay.
def length(s0, lam, t):
    return s0 / (s0 + (1 - s0) * np.exp(8 * lam * np.asarray(t)))


# %% tags=["mistake"]
# The decay of q in place of that of its square.
def length(s0, lam, t):
    rate = 8 * lam + {{beta}}
    grown = np.expm1(rate * np.asarray(t)) / rate
    return s0 / (1 + rate * grown - 8 * lam * s0 * grown)


# %% tags=["mistake"]
# The curve without the decay, times the decay.
def length(s0, lam, t):
    t = np.asarray(t)
    return s0 / (s0 + (1 - s0) * np.exp(8 * lam * t)) * np.exp(-2 * {{beta}} * t)


# %% tags=["mistake"]
# Divided by a rate that may be 0.
def length(s0, lam, t):
    rate = 8 * lam + 2 * {{beta}}
    with np.errstate(all="ignore"):
        grown = np.expm1(rate * np.asarray(t)) / np.float64(rate)
    return s0 / (1 + rate * grown - 8 * lam * s0 * grown)


# %% tags=["mistake"]
# A solver with its default tolerances.
def length(s0, lam, t):
    from scipy.integrate import solve_ivp

    times = np.atleast_1d(np.asarray(t, dtype=float))
    path = solve_ivp(
        lambda _, s: -8 * lam * s * (1 - s) - 2 * {{beta}} * s,
        (0, times.max() + 1e-9),
        [s0],
        t_eval=times,
    )
    return path.y[0] if np.ndim(t) else path.y[0, 0]


# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Warm-up 2: a rate and its constant
#
# *10 minutes, 6 points. Needs: eigenvalues, singular values, $\Theta(t)=\Theta(0)e^{-2Ct}$. After it you can read the rate of collapse off a spectrum.*
#
# The unconstrained model, $z\ge3$ outputs, $\sigma_1\ge\sigma_2\ge\dots$ the singular values of $\Theta(t)$. The outputs end on a line; of what is still off it, one direction outlives the others.

# %% [raw]
# # BEGIN QUESTION
# name: w2_rate

# %% [markdown]
# For large $t$, $\sigma_3^2/\sigma_2^2\approx\kappa\,e^{-gt}$. Write `flatten(c, theta)`, which returns $(g,\kappa)$ for a symmetric `c` (d × d) with $\lambda_1<\lambda_2$ and a start `theta` (z × d). For $\lambda_2=\lambda_3$ it returns $g=0$; then $\kappa$ is not asked.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# With $\theta_i=\Theta(0)v_i$, $\sigma_1\cdots\sigma_k\to e^{-2(\lambda_1+\dots+\lambda_k)t}$ times the volume of $\theta_1,\dots,\theta_k$. So $\sigma_k\to e^{-2\lambda_kt}$ times the distance of $\theta_k$ from the span of those before it. Divide and square: $g=4(\lambda_3-\lambda_2)$, and $\kappa$ is the squared distance of $\theta_3$ from the plane of $\theta_1,\theta_2$ over that of $\theta_2$ from the line of $\theta_1$.


# %%
def flatten(c, theta):
    """(g, κ) of σ₃²/σ₂² ≈ κ e^{−gt}."""
    # BEGIN SOLUTION
    values, vectors = np.linalg.eigh(c)
    _, second, third = np.abs(np.diag(np.linalg.qr(theta @ vectors[:, :3])[1]))
    return 4 * (values[2] - values[1]), (third / second) ** 2
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'compare with the singular values of Θ(t) at two late times'
"""  # END TEST CONFIG


def test_a_gap_of_one_and_a_half(flatten):
    import numpy as np

    rng = np.random.default_rng(7)
    basis = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    values = np.array([-3.0, -1.0, 0.5, 4.0])
    theta = rng.standard_normal((3, 4))
    g, kappa = flatten(basis * values @ basis.T, theta)
    assert abs(g - 3) > 1e-9, "g = 3 is the rate of σ₃/σ₂; asked is that of its square"
    assert abs(g - 8) > 1e-9 and abs(g - 14) > 1e-9, (
        "σ₁ takes no part: it is the third singular value over the second"
    )
    assert abs(g - 6) < 1e-9, (
        f"g = {g:.3f}: the second and the third eigenvalue from below are −1 and ½, and the ratio is squared"
    )
    sigma = np.linalg.svd(
        theta @ basis * np.exp(-2 * (values + 3) * 3), compute_uv=False
    )
    want = (sigma[2] / sigma[1]) ** 2 * np.exp(18)
    first, second, third = (theta @ basis[:, :3]).T
    assert abs(kappa / (third @ third / (second @ second)) - 1) > 1e-6, (
        "κ: θ₂ and θ₃ lie partly along those before them, and that part does not count"
    )
    off = second - (first @ second) / (first @ first) * first
    left = third - (off @ third) / (off @ off) * off
    assert abs(kappa / (left @ left / (off @ off)) - 1) > 1e-6, (
        "κ: from θ₃ its parts along both θ₁ and θ₂ have to go"
    )
    assert abs(kappa / want - 1) < 1e-4, f"κ is {want:.3f} at t = 3, got {kappa:.3f}"


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'other matrices, one of them with λ₂ = λ₃'
"""  # END TEST CONFIG


def test_matrices(flatten):
    import numpy as np

    rng = np.random.default_rng(42)
    for values in (
        [-2.0, -1.5, 0, 1],
        [-0.3, 0.4, 0.5, 3],
        [1.0, 1.25, 2, 5],
        [-5.0, -4, -3, 4],
    ):
        basis = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        theta = rng.standard_normal((3, 4))
        g, kappa = flatten(basis * np.array(values) @ basis.T, theta)
        assert abs(g - 4 * (values[2] - values[1])) < 1e-8, (
            "the gap is that of the second and the third from below, whatever their signs"
        )
        three = theta @ basis[:, :3]
        area = np.linalg.det(three[:, :2].T @ three[:, :2])
        volume = np.linalg.det(three.T @ three)
        want = volume * (three[:, 0] @ three[:, 0]) / area**2
        assert abs(kappa / want - 1) < 1e-7, (
            "κ is the squared distance of θ₃ from the plane of θ₁, θ₂ over that of θ₂ from θ₁"
        )
    g, _ = flatten(np.diag([-2.0, -1.0, -1.0, 2.0]), rng.standard_normal((3, 4)))
    assert abs(g) < 1e-9, "for λ₂ = λ₃ neither shrinks against the other: g = 0"


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The rate of the ratio in place of its square.
def flatten(c, theta):
    values, vectors = np.linalg.eigh(c)
    _, second, third = np.abs(np.diag(np.linalg.qr(theta @ vectors[:, :3])[1]))
    return 2 * (values[2] - values[1]), (third / second) ** 2


# %% tags=["mistake"]
# Eigenvalues sorted by size instead of from below.
def flatten(c, theta):
    values, vectors = np.linalg.eigh(c)
    order = np.argsort(-abs(values))
    values, vectors = values[order], vectors[:, order]
    _, second, third = np.abs(np.diag(np.linalg.qr(theta @ vectors[:, :3])[1]))
    return 4 * abs(values[2] - values[1]), (third / second) ** 2


# %% tags=["mistake"]
# The whole of θ₂ and θ₃ in κ, not their orthogonal parts.
def flatten(c, theta):
    values, vectors = np.linalg.eigh(c)
    _, second, third = (theta @ vectors[:, :3]).T
    return 4 * (values[2] - values[1]), third @ third / (second @ second)


# %% tags=["mistake"]
# The first collapse in place of the second.
def flatten(c, theta):
    values, vectors = np.linalg.eigh(c)
    first, second, _ = np.abs(np.diag(np.linalg.qr(theta @ vectors[:, :3])[1]))
    return 4 * (values[1] - values[0]), (second / first) ** 2


# %% tags=["mistake"]
# Of θ₃ only the part along θ₂ is taken off.
def flatten(c, theta):
    values, vectors = np.linalg.eigh(c)
    first, second, third = (theta @ vectors[:, :3]).T
    second = second - (first @ second) / (first @ first) * first
    third = third - (second @ third) / (second @ second) * second
    return 4 * (values[2] - values[1]), third @ third / (second @ second)


# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Warm-up 3: choose a learning rate
#
# *10 minutes, 6 points. Needs: linearisation of a map at a fixed point. After it you can choose a learning rate from a spectrum.*
#
# One output, no $\lambda_j=0$. The map is $q_{t+1}=q_t+\eta\dot q_t$ with $\dot q$ of equation (10), without a decay.

# %% [raw]
# # BEGIN QUESTION
# name: w3_step

# %% [markdown]
# Write `largest_step(lam)`: the $\eta$ below which the attracting point ($\pm e_1$ if $\lambda_1<0$, and $0$ if all $\lambda_j>0$) also attracts under the map. `lam` is in any order.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# At $e_1$ the derivative of $\dot q$ is diagonal: $8\lambda_1$ along $e_1$ and $-2(\lambda_j-\lambda_1)$ along $e_j$; at 0 it is $-4\Lambda$. A step multiplies a nudge by one plus $\eta$ times these; all must exceed $-1$.


# %%
def largest_step(lam):
    """The largest stable η of q + η q̇ for one output."""
    # BEGIN SOLUTION
    low, high = np.min(lam), np.max(lam)
    if low > 0:
        return 1 / (2 * high)
    return min(1 / (4 * -low), 1 / (high - low))
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'linearise at e₁: one multiplier is that of the length, the others those of the turn'
"""  # END TEST CONFIG


def test_one_spectrum(largest_step):
    got = largest_step([0.7, -2.0, 1.5, -0.5])
    assert abs(got - 0.25) > 1e-9, (
        "0.25 is too large by a factor of two: the length moves at the rate 8|λ₁|, not 4|λ₁|"
    )
    assert abs(got - 0.125) < 1e-9, (
        f"got {got:.4f}: for Λ = (−2, −0.5, 0.7, 1.5) the length decides, 1/(4|λ₁|)"
    )


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'other spectra, also those in which the turn decides and those without a negative eigenvalue'
"""  # END TEST CONFIG


def test_spectra(largest_step):
    import numpy as np

    rng = np.random.default_rng(43)
    cases = [np.sort(rng.uniform(-2, 2, 4)) for _ in range(16)] + [
        [-0.5, 0.2, 1, 4],
        [0.5, 1, 2, 3],
        [-2, -1, -0.5, -0.1],
    ]
    for lam in map(np.array, cases):
        rest = (np.arange(4) == 0) * float(lam[0] < 0)
        eta = largest_step(lam)
        for factor, stable in ((0.97, True), (1.03, False)):
            q = rest - 1e-3 * np.abs(rng.standard_normal(4))
            for _ in range(1500):
                turned = lam * q
                q = q - 2 * factor * eta * (
                    (1 - q @ q) * turned + turned - q * (q @ turned)
                )
                q = np.clip(np.nan_to_num(q, nan=9.0), -9, 9)
            off = np.linalg.norm(q - rest)
            said = f"Λ = {np.round(lam, 2).tolist()}"
            assert not stable or off < 1e-3, (
                f"{said}: not stable just below your step: has the turn, 1/(λ_d − λ₁), been left out?"
            )
            assert stable or off > 0.01, (
                f"{said}: still stable just above your step: it is too cautious"
            )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# Half the rate of the length.
def largest_step(lam):
    low, high = np.min(lam), np.max(lam)
    return 1 / (2 * high) if low > 0 else min(1 / (2 * -low), 1 / (high - low))


# %% tags=["mistake"]
# Only the length, no turn.
def largest_step(lam):
    low, high = np.min(lam), np.max(lam)
    return 1 / (2 * high) if low > 0 else 1 / (4 * -low)


# %% tags=["mistake"]
# One rule for every spectrum: the largest absolute eigenvalue.
def largest_step(lam):
    return 1 / (4 * np.max(np.abs(lam)))


# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Core 1: what a data set tolerates
#
# *30 minutes, 14 points. Needs: $\mathbb E[C]$ of the chapter, the determinant of $M+uv^\top$. After it you can say how many negatives a data set tolerates.*
#
# The data have mean $\mu\ne0$ and covariance $\Sigma\succ0$. With $p$ positives and $q$ negatives for each anchor, $\mathbb E[C]/n=q\,\mu\mu^\top-p\,(\Sigma+\mu\mu^\top)$. For small $q$ no eigenvalue is positive.

# %%
half_moon_mean = np.array([1 / 2, 1 / 4])
half_moon_moment = np.array(
    [[1, 1 / 4 - 1 / np.pi], [1 / 4 - 1 / np.pi, 5 / 8 - 1 / np.pi]]
)  # E[xxᵀ]
half_moon_covariance = half_moon_moment - np.outer(half_moon_mean, half_moon_mean)

# %% [raw]
# # BEGIN QUESTION
# name: c1_prediction

# %% [markdown]
# **Predict first.** For half moons and $p={{positives}}$ positives, from which $q$ on (a real number) has $\mathbb E[C]$ a positive eigenvalue?

# %% [raw]
# # BEGIN SOLUTION

# %%
moons_prediction = (1.93, 1.5, 2.5)  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # PREDICTION
# name: moons_prediction
# truth: q_star(half_moon_mean, half_moon_covariance, {{positives}})
# scale: factor
# widest: 3
# far: 1.6
# near: 1.1

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# A guess in the wrong place.
moons_prediction = (6, 5, 8)

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c1_edge

# %% [markdown]
# Write `q_star(mu, sigma, p)`, the number of negatives beyond which $\mathbb E[C]$ has a positive eigenvalue, and `lost_direction(mu, sigma)`, the unit vector (either sign) that loses its negative sign there.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# With $\tau=\mu^\top\Sigma^{-1}\mu$, $\det\bigl((q-p)\mu\mu^\top-p\Sigma\bigr)=(-p)^d\det\Sigma\,\bigl(1-\frac{q-p}p\tau\bigr)$ changes sign once, at $q^*=p(1+1/\tau)$, and $\bigl[(q^*-p)\mu\mu^\top-p\Sigma\bigr]\Sigma^{-1}\mu=0$.


# %%
def q_star(mu, sigma, p):
    """q beyond which q μμᵀ − p(Σ + μμᵀ) has a positive eigenvalue."""
    # BEGIN SOLUTION
    return p * (1 + 1 / (mu @ np.linalg.solve(sigma, mu)))
    # END SOLUTION


def lost_direction(mu, sigma):
    """The unit null vector at q_star."""
    # BEGIN SOLUTION
    null = np.linalg.solve(sigma, mu)
    return null / np.linalg.norm(null)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'look at the largest eigenvalue of E[C] at your q'
"""  # END TEST CONFIG


def test_edge_on_half_moons(q_star, half_moon_mean, half_moon_covariance):
    import numpy as np

    mu, sigma = half_moon_mean, half_moon_covariance
    got = float(q_star(mu, sigma, 1))
    along = 1 + mu @ sigma @ mu / (mu @ mu) ** 2
    assert abs(got - along) > 1e-6, (
        "that is where μᵀE[C]μ changes sign; another direction does so earlier"
    )
    trace = 1 + np.trace(sigma) / (mu @ mu)
    assert abs(got - trace) > 1e-6, (
        "that is where the trace changes sign, the sum of all eigenvalues; the largest does so earlier"
    )
    top = np.linalg.eigvalsh(got * np.outer(mu, mu) - sigma - np.outer(mu, mu))[-1]
    assert abs(top) < 1e-9, (
        f"at your q = {got:.3f} the largest eigenvalue is {top:+.3f}, not 0"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'the direction is the null vector of E[C] at q_star'
"""  # END TEST CONFIG


def test_direction_on_half_moons(lost_direction, half_moon_mean, half_moon_covariance):
    import numpy as np

    mu, sigma = half_moon_mean, half_moon_covariance
    got = np.asarray(lost_direction(mu, sigma), dtype=float)
    assert abs(np.linalg.norm(got) - 1) < 1e-9, "a unit vector is asked"
    assert abs(got @ mu) < (1 - 1e-6) * np.linalg.norm(mu), (
        "μ itself is not the first to go"
    )
    assert abs(got @ sigma @ mu) < (1 - 1e-6) * np.linalg.norm(sigma @ mu), (
        "that is Σμ: a null vector v has (q − p)μ(μᵀv) = pΣv, so Σ has to be undone"
    )
    null = np.linalg.solve(sigma, mu)
    assert abs(got @ null) > (1 - 1e-9) * np.linalg.norm(null), (
        "E[C] at q_star does not map it to 0"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'other means, covariances and numbers of positives'
"""  # END TEST CONFIG


def test_edges(q_star):
    import numpy as np

    rng = np.random.default_rng(44)
    for d in range(1, 9):
        mu, root, p = (
            rng.standard_normal(d),
            rng.standard_normal((d, d + 2)),
            int(rng.integers(1, 6)),
        )
        sigma = root @ root.T / (d + 2)
        edge = float(q_star(mu, sigma, p))
        for q, positive in ((0.99 * edge, 0), (1.01 * edge, 1)):
            values = np.linalg.eigvalsh((q - p) * np.outer(mu, mu) - p * sigma)
            assert (values > 0).sum() == positive, (
                f"d = {d}, p = {p}: the sign changes elsewhere; how does q* depend on p?"
            )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'other means and covariances'
"""  # END TEST CONFIG


def test_directions(lost_direction):
    import numpy as np

    rng = np.random.default_rng(45)
    for d in range(2, 9):
        mu, root = rng.standard_normal(d), rng.standard_normal((d, d + 2))
        sigma = root @ root.T / (d + 2)
        got = np.asarray(lost_direction(mu, sigma), dtype=float)
        edge = 1 + 1 / (mu @ np.linalg.inv(sigma) @ mu)
        assert np.abs(((edge - 1) * np.outer(mu, mu) - sigma) @ got).max() < 1e-8, (
            f"d = {d}: not the null vector"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The sign change along μ itself, and μ as the lost direction.
def q_star(mu, sigma, p):
    return p * (1 + mu @ sigma @ mu / (mu @ mu) ** 2)


def lost_direction(mu, sigma):
    return mu / np.linalg.norm(mu)


# %% tags=["mistake"]
# The second moment in place of the covariance.
def q_star(mu, sigma, p):
    return p * (1 + 1 / (mu @ np.linalg.solve(sigma + np.outer(mu, mu), mu)))


# %% tags=["mistake"]
# The number of positives forgotten.
def q_star(mu, sigma, p):
    return 1 + 1 / (mu @ np.linalg.solve(sigma, mu))


# %% [raw]
# # END QUESTION

# %%
counts = np.linspace(0, 4, 81)
tops = [
    np.linalg.eigvalsh(q * np.outer(half_moon_mean, half_moon_mean) - half_moon_moment)
    for q in counts
]
plt.figure(figsize=(5, 3))
plt.plot(counts, tops)
plt.axhline(0, color="grey", lw=0.8)
plt.xlabel("negatives per positive")
plt.ylabel("eigenvalues of E[C]/n")
plt.title("One eigenvalue turns positive, never two")
plt.show()

# %% [raw]
# # BEGIN QUESTION
# name: c1_refutation

# %% [markdown]
# **Refute.** A colleague writes: "The negatives push along $\mu$, so the first direction to lose its sign is $\mu$: as long as $\mu^\top\mathbb E[C]\mu<0$, nothing is lost." Let $\mu=(1,1)$, $\Sigma=\operatorname{diag}({{low}},{{high}})$ and $p=1$. Give `blind_border`, the length of the interval of $q$ in which $\mathbb E[C]$ has a positive eigenvalue and he sees none. (To one part in a hundred.)

# %% [raw]
# # BEGIN SOLUTION

# %%
blind_border = None  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # BORDER
# name: blind_border
# truth: ({{low}} + {{high}}) / 4 - {{low}} * {{high}} / ({{low}} + {{high}})
# hint: two borders: where μᵀE[C]μ changes its sign, and where the largest eigenvalue does
# near: ({{low}} + {{high}}) / 4 | from there on he sees it himself: subtract where it begins
# near: {{low}} * {{high}} / ({{low}} + {{high}}) | that is where it begins

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# Where it begins.
blind_border = {{low}} * {{high}} / ({{low}} + {{high}})

# %% tags=["mistake"]
# Where he sees it.
blind_border = ({{low}} + {{high}}) / 4

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Core 2: a view that keeps the nuisance
#
# *30 minutes, 14 points. Needs: $\mathbb E[C]$ from $\mathbb E[x(x^+)^\top]$, core 1. After it you can tell whether the directions that a constraint keeps are those that a task needs.*
#
# An input is $x=(s,r)$: $s=\pm\frac12$ by the class plus noise of size 0.1, so $\operatorname{Var}(s)=0.26$, and $r$ are nine nuisance coordinates of variance $\rho^2$. A rotation hides which coordinate is which. The view keeps $s$ and redraws the nuisance, $r^+=ar+\sqrt{1-a^2}\,r'$ with a fresh $r'$. One independent negative per anchor, $z=3$ outputs, orthonormal layers.


# %%
def pairs(rho, a, rotation, rng, n=40_000):
    """x, x⁺ (n × 10) and the class (n): rotated points with a redrawn nuisance."""
    label = rng.integers(0, 2, n)
    s = label - 0.5 + 0.1 * rng.standard_normal(n)
    r, fresh = rho * rng.standard_normal((2, n, 9))
    x, x_plus = (
        np.column_stack([s, part]) @ rotation.T
        for part in (r, a * r + np.sqrt(1 - a**2) * fresh)
    )
    return x, x_plus, label


# %% [raw]
# # BEGIN QUESTION
# name: c2_prediction

# %% [markdown]
# **Predict first.** For $\rho={{rho}}$: up to which $a$ does the trained network keep the class?

# %% [raw]
# # BEGIN SOLUTION

# %%
share_prediction = (0.18, 0.1, 0.3)  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # PREDICTION
# name: share_prediction
# truth: next(a for a in np.arange(1, 10**4) / 10**4 if not kept(np.diag([-0.26, *np.full(9, -a * {{rho}} ** 2)]), 3)[0].any())
# scale: factor
# widest: 4
# far: 2
# near: 1.15

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# The ratio of lengths in place of variances.
share_prediction = (0.42, 0.35, 0.5)

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c2_kept

# %% [markdown]
# Write `shared_matrix(x, x_plus)`, the estimate of $\mathbb E[C]/n=-\frac12\mathbb E[x(x^+)^\top+x^+x^\top]$ for centred data (the negatives vanish on average), and `kept(c, z)`, an orthonormal basis (d × k) of the directions that training with orthonormal layers keeps, $k=\min(z,\text{number of negative eigenvalues})$.

# %% [raw]
# # BEGIN SOLUTION


# %%
def shared_matrix(x, x_plus):
    """The symmetric estimate of E[C]/n, d × d."""
    # BEGIN SOLUTION
    product = x.T @ x_plus / len(x)
    return -(product + product.T) / 2
    # END SOLUTION


def kept(c, z):
    """Orthonormal columns: the lowest eigenvectors, negative eigenvalues only, at most z."""
    # BEGIN SOLUTION
    values, vectors = np.linalg.eigh(c)
    return vectors[:, : min(z, (values < 0).sum())]
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'C is symmetric, and its sign is negative along what both views share'
"""  # END TEST CONFIG


def test_matrix(shared_matrix):
    import numpy as np

    rng = np.random.default_rng(8)
    x = rng.standard_normal((2000, 3))
    y = x * np.array([1.0, 0.5, 0.0]) + rng.standard_normal((2000, 3))
    got = np.asarray(shared_matrix(x, y))
    assert got.shape == (3, 3), "d × d is asked"
    trace = np.trace(got)
    assert trace < 0, "what two views share attracts: the sign of E[C] is negative"
    assert trace > -100, "take the mean over the pairs, not their sum"
    assert abs(trace + 3) > 0.3, (
        f"the trace is {trace:.2f}, twice too large: the mean of both orders has a ½"
    )
    assert abs(trace + 1.5) < 0.3, (
        f"the trace is {trace:.2f}, not about −1.5: x and x⁺ both occur, one of them transposed"
    )
    assert np.allclose(got, got.T), "make it symmetric"


# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'keep the lowest eigenvectors, and only those with a negative eigenvalue'
"""  # END TEST CONFIG


def test_kept(kept):
    import numpy as np

    got = np.asarray(kept(np.diag([0.5, -1.0, -3.0, 2.0]), 3))
    assert got.ndim == 2 and got.shape[0] == 4, "the columns are directions, d × k"
    assert got.shape[1] != 3, (
        "an output more than there are negative eigenvalues is not kept: k = min(z, #negative)"
    )
    assert got.shape == (4, 2) and np.allclose(np.abs(got[[1, 2]]).sum(), 2), (
        "kept are the two lowest, e₃ and e₂"
    )


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'a new nuisance, rotation and dimension, on both sides of the edge'
"""  # END TEST CONFIG


def test_class_is_kept_below_the_edge(shared_matrix, kept):
    import numpy as np

    for seed, rho in ((46, 1.2), (47, 0.9)):
        rng = np.random.default_rng(seed)
        rotation = np.linalg.qr(rng.standard_normal((12, 12)))[0]
        for share, wanted in ((0.5, True), (1.8, False)):
            a, n = share * 0.26 / rho**2, 40_000
            s = rng.integers(0, 2, n) - 0.5 + 0.1 * rng.standard_normal(n)
            r, fresh = rho * rng.standard_normal((2, n, 11))
            x, y = (
                np.column_stack([s, part]) @ rotation.T
                for part in (r, a * r + np.sqrt(1 - a**2) * fresh)
            )
            c = np.asarray(shared_matrix(x, y))
            assert np.allclose(c, c.T), "C is symmetric"
            assert np.allclose(c, -(x.T @ y + y.T @ x) / (2 * n)), (
                "C is minus the mean product of the two views, made symmetric"
            )
            overlap = np.linalg.norm(np.asarray(kept(c, 3)).T @ rotation[:, 0])
            assert (overlap > 0.9) == wanted, (
                f"ρ = {rho}, a = {a:.2f}: the class has overlap {overlap:.2f} with what is kept"
            )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# Positives repel: the sign.
def shared_matrix(x, x_plus):
    product = x.T @ x_plus / len(x)
    return (product + product.T) / 2


# %% tags=["mistake"]
# The covariance of one view: augmentation plays no part.
def shared_matrix(x, x_plus):
    return -x.T @ x / len(x)


# %% tags=["mistake"]
# Always z directions, whatever their sign.
def kept(c, z):
    return np.linalg.eigh(c)[1][:, :z]


# %% tags=["mistake"]
# The directions that are largest in size.
def kept(c, z):
    values, vectors = np.linalg.eigh(c)
    return vectors[:, ::-1][:, : min(z, (values < 0).sum())]


# %% tags=["mistake"]
# The ½ is missing.
def shared_matrix(x, x_plus):
    product = x.T @ x_plus / len(x)
    return -(product + product.T)


# %% [raw]
# # END QUESTION

# %%
rotation = np.linalg.qr(np.random.default_rng(1).standard_normal((10, 10)))[0]
shares, overlaps = np.linspace(0, 0.5, 21), []
for a in shares:
    x, x_plus, _ = pairs(1.2, a, rotation, np.random.default_rng(2))
    overlaps.append(
        np.linalg.norm(kept(shared_matrix(x, x_plus), 3).T @ rotation[:, 0])
    )
plt.figure(figsize=(5, 3))
plt.plot(shares, overlaps, "o-")
plt.xlabel("a, what the views share of the nuisance")
plt.ylabel("class kept")
plt.show()

# %% [raw]
# # BEGIN QUESTION
# name: c2_refutation

# %% [markdown]
# **Refute.** A colleague writes: "The class is kept as long as it is louder than what the views share of the nuisance: $a\rho<\operatorname{sd}(s)$." Let $\operatorname{Var}(s)={{v_s}}$, $\rho={{rho_s}}$ and $z=3$. Give `wrong_border`, the length of the interval of $a$ in $[0,1]$ in which he expects the class to be kept and training loses it. (To one part in a hundred.)

# %% [raw]
# # BEGIN SOLUTION

# %%
wrong_border = None  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # BORDER
# name: wrong_border
# truth: {{v_s}} ** 0.5 / {{rho_s}} - {{v_s}} / {{rho_s}} ** 2
# hint: the eigenvalues are Var(s) along the class and aρ² along the nuisance
# near: {{v_s}} ** 0.5 / {{rho_s}} | that is where he gives up; from where on is it lost?
# near: {{v_s}} / {{rho_s}} ** 2 | that is where it is lost; until where does he not see it?

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# His own border.
wrong_border = {{v_s}} ** 0.5 / {{rho_s}}

# %% tags=["mistake"]
# The right border.
wrong_border = {{v_s}} / {{rho_s}} ** 2

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Core 3: one path, its own clock
#
# *30 minutes, 14 points. Needs: equation (10) of warm-up 1. After it you can write the outputs of a constrained network down without a solver.*
#
# One output, no decay, any $\Lambda$. In this exercise alone the first term of (10) has a weight $w={{weight}}$: with $s=\lVert q\rVert^2$, $\dot q=2\bigl[-w(1-s)\Lambda q-(I-qq^\top)\Lambda q\bigr]$. At $w=1$, as on the chapter's page, constraint and length change the clock, not the direction: with $d\tau=(2-s)\,dt$,
#
# $$
# q=\Bigl(\frac{1-s}{1-s_0}\Bigr)^{1/4}e^{-2\Lambda\tau}q_0,\qquad\frac{s}{\sqrt{1-s}}=\frac{\sum_jq_{0j}^2e^{-4\lambda_j\tau}}{\sqrt{1-s_0}} .
# $$
#
# A weight changes the speed of the clock and both exponents, and nothing else. Find them from $\frac{d}{dt}\log q_j$ and $\dot s$; let the clock stand for the time of $e^{-2\Lambda\tau}$ as before. At $s_0=1$ the length stays one, and $q=e^{-2\Lambda\tau}q_0$ over its length.

# %% [raw]
# # BEGIN QUESTION
# name: c3_prediction

# %% [markdown]
# **Predict first.** $\lambda=(-1,-\frac12,\frac13)$ and $q_0={{start}}\,(1,1,1)$, the start of a wide network. At which time $t$ is $\lVert q\rVert^2=\frac12$?

# %% [raw]
# # BEGIN SOLUTION

# %%
wait_prediction = (0.58, 0.35, 0.95)  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # PREDICTION
# name: wait_prediction
# truth: brentq(lambda t:np.sum(closed_form(np.full(3, {{start}}), np.array([-1, -0.5, 1 / 3]), t) ** 2) - 0.5, 0.1, 2)
# scale: factor
# widest: 4
# far: 1.6
# near: 1.1

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# The clock of the unconstrained model, twice as slow.
wait_prediction = (2.3, 2.0, 2.6)

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c3_length

# %% [markdown]
# Write `length_at(q0, lam, tau)`, the $s$ that belongs to $\tau$, right to eight digits.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# Row $j$ is $\dot q_j=\bigl[2f-2(1+w-ws)\lambda_j\bigr]q_j$ with $f=q^\top\Lambda q$, so the clock is $d\tau=(1+w-ws)\,dt$. Times $q_j$ and summed, $\dot s=-4(1+w)f(1-s)$, so $2f\,dt=\frac{d\log(1-s)}{2(1+w)}$: the exponent $\frac14$ becomes $\frac1{2(1+w)}$. Squared and summed, $s/(1-s)^{1/(1+w)}=X$ with $X=\sum_jq_{0j}^2e^{-4\lambda_j\tau}/(1-s_0)^{1/(1+w)}$. The left side grows with $s$, so there is one root in $(0,1)$.


# %%
def length_at(q0, lam, tau):
    """s = ‖q‖² at the clock τ; 1 if ‖q0‖ = 1."""
    # BEGIN SOLUTION
    s0, power = q0 @ q0, 1 / (1 + {{weight}})
    if s0 >= 1:
        return 1.0
    x = (q0**2) @ np.exp(-4 * lam * tau) / (1 - s0) ** power
    return brentq(lambda s: s - x * (1 - s) ** power, 0.0, 1.0, xtol=1e-15)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 's must satisfy the second equation with the exponent of this w, and s(0) is ‖q0‖²'
"""  # END TEST CONFIG


def test_one_length(length_at):
    import numpy as np

    q0, lam = np.array([0.3, -0.4, 0.2]), np.array([-1.0, -0.5, 0.4])
    assert abs(length_at(q0, lam, 0.0) - q0 @ q0) < 1e-9, (
        "at τ = 0 the length is that of q0"
    )
    s = length_at(q0, lam, 0.8)
    assert 0 < s < 1, "s lies between 0 and 1: solve the second equation for it"
    total = (q0**2) @ np.exp(-3.2 * lam)
    assert abs(s / np.sqrt(1 - s) * np.sqrt(1 - q0 @ q0) / total - 1) > 1e-6, (
        "that is the length at w = 1: how does the weight change the equation of s?"
    )
    want = total / (1 - q0 @ q0) ** (1 / (1 + {{weight}}))
    assert abs(s / (1 - s) ** (1 / (1 + {{weight}})) / want - 1) < 1e-7, (
        "the second equation does not hold: is the power of 1 − s that of ṡ, and are squares of q0 and 4λτ in the sum?"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'late times, λ = 0 and a start of length one'
"""  # END TEST CONFIG


def test_lengths(length_at):
    import numpy as np

    rng = np.random.default_rng(48)
    for _ in range(20):
        lam, q0 = np.sort(rng.uniform(-1, 1, 4)), rng.standard_normal(4)
        q0 *= rng.uniform(0.05, 0.95) / np.linalg.norm(q0)
        tau = rng.uniform(0, 8)
        s, power = length_at(q0, lam, tau), 1 + {{weight}}
        want = ((q0**2) @ np.exp(-4 * lam * tau)) ** power / (1 - q0 @ q0)
        assert abs(s**power - want * (1 - s)) < 1e-7 * max(1, want), (
            "the second equation does not hold"
        )
    assert (
        abs(length_at(np.array([0.6, 0.8]), np.array([-1.0, 1.0]), 2.0) - 1) < 1e-12
    ), "a start of length one stays"


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# q0 in place of its squares.
def length_at(q0, lam, tau):
    s0, power = q0 @ q0, 1 / (1 + {{weight}})
    if s0 >= 1:
        return 1.0
    x = np.abs(q0) @ np.exp(-4 * lam * tau) / (1 - s0) ** power
    return brentq(lambda s: s - x * (1 - s) ** power, 0.0, 1.0, xtol=1e-15)


# %% tags=["mistake"]
# 2λτ in place of 4λτ.
def length_at(q0, lam, tau):
    s0, power = q0 @ q0, 1 / (1 + {{weight}})
    if s0 >= 1:
        return 1.0
    x = (q0**2) @ np.exp(-2 * lam * tau) / (1 - s0) ** power
    return brentq(lambda s: s - x * (1 - s) ** power, 0.0, 1.0, xtol=1e-15)


# %% tags=["mistake"]
# The page's length, at w = 1.
def length_at(q0, lam, tau):
    s0 = q0 @ q0
    if s0 >= 1:
        return 1.0
    x = (q0**2) @ np.exp(-4 * lam * tau) / np.sqrt(1 - s0)
    return 2 * x / (x + np.sqrt(x**2 + 4))


# %% tags=["mistake"]
# The exponent of q in the equation of s.
def length_at(q0, lam, tau):
    s0, power = q0 @ q0, 1 / (2 + 2 * {{weight}})
    if s0 >= 1:
        return 1.0
    x = (q0**2) @ np.exp(-4 * lam * tau) / (1 - s0) ** power
    return brentq(lambda s: s - x * (1 - s) ** power, 0.0, 1.0, xtol=1e-15)


# %% tags=["mistake"]
# The unconstrained length.
def length_at(q0, lam, tau):
    return (q0**2) @ np.exp(-4 * lam * tau)


# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c3_closed_form

# %% [markdown]
# Write `closed_form(q0, lam, t)`: find $\tau$ from $t=\int_0^\tau\frac{dt}{d\tau'}\,d\tau'$, then $q$. An error of $10^{-6}$ is allowed; `scipy.integrate.quad` and `brentq` do it, as $t\le\tau\le(1+w)\,t$.

# %% [raw]
# # BEGIN SOLUTION


# %%
def closed_form(q0, lam, t):
    """q(t) for one output, from the clock τ."""
    # BEGIN SOLUTION
    from scipy.integrate import quad

    def time_of(tau):
        return quad(
            lambda u: 1 / (1 + {{weight}} - {{weight}} * length_at(q0, lam, u)),
            0,
            tau,
            epsabs=1e-11,
            epsrel=1e-11,
            limit=200,
        )[0]

    tau = (
        brentq(lambda u: time_of(u) - t, 0.0, (1 + {{weight}}) * t + 1e-9, xtol=1e-12)
        if t > 0
        else 0.0
    )
    path = np.exp(-2 * lam * tau) * q0
    return path * np.sqrt(length_at(q0, lam, tau)) / np.linalg.norm(path)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 1
failure_message: 'integrate the equation with its weight by small steps and compare'
"""  # END TEST CONFIG


def test_one_end(closed_form):
    import numpy as np

    q0, lam = np.array([0.3, -0.4, 0.2]), np.array([-1.0, -0.5, 0.4])
    q = q0.copy()

    def move(q):
        turned = lam * q
        return -2 * ({{weight}} * (1 - q @ q) * turned + turned - q * (q @ turned))

    for _ in range(600):
        a = move(q)
        b = move(q + 5e-4 * a)
        c = move(q + 5e-4 * b)
        q = q + 1e-3 / 6 * (a + 2 * b + 2 * c + move(q + 1e-3 * c))
    got = np.asarray(closed_form(q0, lam, 0.6))
    assert got.shape == (3,), "one number for each eigenvector"
    free = np.exp(-2 * lam * 0.6 * (1 + {{weight}})) * q0
    assert abs(got @ free / np.linalg.norm(free) / np.linalg.norm(got) - 1) > 1e-9, (
        "τ = (1 + w)t holds at the start only, where s = 0"
    )
    assert np.abs(got - q).max() < 1e-6, (
        f"off by {np.abs(got - q).max():.1e} at t = 0.6; is the clock that of this w?"
    )


# %%
""" # BEGIN TEST CONFIG
points: 3
hidden: true
failure_message: 'other starts, λ = 0, a start of length one, a start orthogonal to e₁'
"""  # END TEST CONFIG


def test_ends(closed_form):
    import numpy as np
    from scipy.integrate import solve_ivp

    rng = np.random.default_rng(49)
    cases = [
        (
            rng.standard_normal(4) * 0.3,
            np.sort(rng.uniform(-1, 1, 4)),
            rng.uniform(0.1, 2),
        )
        for _ in range(6)
    ]
    cases += [
        (np.array([0.2, 0.3]), np.array([0.0, 0.5]), 1.5),
        (np.array([0.6, 0.8]), np.array([-1.0, 0.2]), 0.7),
    ]
    cases += [(np.array([0.0, 0.3, 0.2]), np.array([-1.0, -0.4, 0.3]), 1.0)]
    for q0, lam, t in cases:
        q0 = q0 / max(1, np.linalg.norm(q0))

        def move(_, q, lam=lam):
            pull = lam * q
            return -2 * ({{weight}} * (1 - q @ q) * pull + pull - q * (q @ pull))

        want = solve_ivp(move, (0, t), q0, rtol=1e-10, atol=1e-12).y[:, -1]
        error = np.abs(np.asarray(closed_form(q0, lam, t)) - want).max()
        assert error < 1e-6, (
            f"q0 = {np.round(q0, 2).tolist()}, λ = {np.round(lam, 2).tolist()}: off by {error:.1e}"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The clock τ = (1 + w)t of small outputs, at all times.
def closed_form(q0, lam, t):
    tau = (1 + {{weight}}) * t
    path = np.exp(-2 * lam * tau) * q0
    return path * np.sqrt(length_at(q0, lam, tau)) / np.linalg.norm(path)


# %% tags=["mistake"]
# The clock τ = t of long outputs, at all times.
def closed_form(q0, lam, t):
    path = np.exp(-2 * lam * t) * q0
    return path * np.sqrt(length_at(q0, lam, t)) / np.linalg.norm(path)


# %% tags=["mistake"]
# The page's clock, 2 − s.
def closed_form(q0, lam, t):
    from scipy.integrate import quad

    def time_of(tau):
        return quad(lambda u: 1 / (2 - length_at(q0, lam, u)), 0, tau)[0]

    tau = brentq(lambda u: time_of(u) - t, 0.0, 2 * t + 1e-9) if t > 0 else 0.0
    path = np.exp(-2 * lam * tau) * q0
    return path * np.sqrt(length_at(q0, lam, tau)) / np.linalg.norm(path)


# %% tags=["mistake"]
# The direction alone, at length one.
def closed_form(q0, lam, t):
    path = np.exp(-2 * lam * (1 + {{weight}}) * t) * q0
    return path / np.linalg.norm(path)


# %% [raw]
# # END QUESTION

# %%
when, case = np.linspace(0.01, 1.5, 40), (np.full(3, 0.01), np.array([-1, -0.5, 1 / 3]))
plt.figure(figsize=(5, 3))
plt.plot(when, [np.linalg.norm(closed_form(*case, t)) ** 2 for t in when])
plt.axhline(0.5, color="grey", lw=0.8)
plt.xlabel("t")
plt.ylabel("‖q‖²")
plt.title("A wide network waits, then turns")
plt.show()

# %% [raw]
# # BEGIN QUESTION
# name: c3_refutation

# %% [markdown]
# **Refute.** A colleague writes: "The constraint makes the model $1+w$ times as fast: $\tau=(1+w)\,t$, always." Take $q_0=({{long}},0.6)$ and $\lambda=(-\frac12,\frac12)$. Give `clock_border`, the $\tau$ for which $e^{-2\lambda\tau}q_0$ has the direction of the constrained model at $t={{when}}$. (To one part in a hundred.)

# %% [raw]
# # BEGIN SOLUTION

# %%
clock_border = None  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # BORDER
# name: clock_border
# truth: 0.5 * np.log(np.divide(*closed_form(np.array([{{long}}, 0.6]), np.array([-0.5, 0.5]), {{when}})) * 0.6 / {{long}})
# hint: the ratio of both entries tells the clock: it grows by e^{2τ}
# near: (1 + {{weight}}) * {{when}} | that is his clock, which is right while s is small
# near: np.log(np.divide(*closed_form(np.array([{{long}}, 0.6]), np.array([-0.5, 0.5]), {{when}})) * 0.6 / {{long}}) | the ratio grows by e^{2τ}, not e^{τ}

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# His clock.
clock_border = (1 + {{weight}}) * {{when}}

# %% tags=["mistake"]
# The time itself.
clock_border = {{when}}

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Project 1: orthogonality in the kernel regime
#
# *A week, 20 points. Needs: core 3, kernels. After it you can carry a constraint from weights to functions.*
#
# With a fixed kernel the outputs on the data are $U=K\alpha$, and orthonormal outputs in feature space mean $U^\top K^{-1}U=I$. The constrained flow is $\dot U=-2KSU+2U(U^\top SU)$ with a symmetric $S$ that holds the pairs.

# %% [raw]
# # BEGIN QUESTION
# name: p1_flow

# %% [markdown]
# Write `kernel_velocity(u, k, s)`. The check asks that the constraint is kept. Edge cases: one output, and as many outputs as points, where nothing can move.

# %% [raw]
# # BEGIN SOLUTION


# %%
def kernel_velocity(u, k, s):
    """U̇ for outputs u (n × z), kernel k and pairs s (n × n)."""
    # BEGIN SOLUTION
    return -2 * k @ s @ u + 2 * u @ (u.T @ s @ u)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 3
failure_message: 'differentiate UᵀK⁻¹U along your velocity; it must vanish where UᵀK⁻¹U = I'
"""  # END TEST CONFIG


def test_constraint(kernel_velocity):
    import numpy as np

    rng = np.random.default_rng(9)
    root = rng.standard_normal((6, 9))
    k, s = root @ root.T, rng.standard_normal((6, 6))
    s = s + s.T
    u = np.linalg.cholesky(k) @ np.linalg.qr(rng.standard_normal((6, 2)))[0]
    moved = np.linalg.solve(k, kernel_velocity(u, k, s))
    drift = np.abs(u.T @ moved + moved.T @ u).max()
    assert np.abs(moved).max() > 1e-6, "nothing moves"
    swapped = np.linalg.solve(k, -2 * s @ k @ u + 2 * u @ (u.T @ s @ u))
    assert np.abs(moved - swapped).max() > 1e-9, "−2KSU, not −2SKU: the order counts"
    assert drift < 1e-9, (
        f"the constraint is left at the rate {drift:.1e}: what has to be added in the span of U?"
    )


# %%
""" # BEGIN TEST CONFIG
points: 5
hidden: true
failure_message: 'the flow goes down, and rests on eigenvectors of KS'
"""  # END TEST CONFIG


def test_descent(kernel_velocity):
    import numpy as np

    rng = np.random.default_rng(50)
    for _ in range(4):
        root = rng.standard_normal((5, 8))
        k, s = root @ root.T, rng.standard_normal((5, 5))
        s = s + s.T
        chol = np.linalg.cholesky(k)
        u = chol @ np.linalg.qr(rng.standard_normal((5, 2)))[0]
        v = kernel_velocity(u, k, s)
        assert np.sum((s @ u) * v) < 0, "the loss tr(UᵀSU) must fall"
        assert np.allclose(v, -2 * k @ s @ u + 2 * u @ (u.T @ s @ u)), (
            "not the flow of the statement"
        )
        rest = chol @ np.linalg.eigh(chol.T @ s @ chol)[1][:, :2]
        assert np.abs(kernel_velocity(rest, k, s)).max() < 1e-8, (
            "the lowest eigenvectors of KS are at rest"
        )
        one = kernel_velocity(u[:, :1], k, s)
        assert (
            one.shape == (5, 1) and abs(u[:, 0] @ np.linalg.solve(k, one[:, 0])) < 1e-8
        ), "one output is a column"
        full = kernel_velocity(chol, k, s)
        assert np.abs(full).max() < 1e-7, (
            "as many outputs as points: UUᵀ = K, and nothing can move"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# Without the term that keeps the constraint.
def kernel_velocity(u, k, s):
    return -2 * k @ s @ u


# %% tags=["mistake"]
# The sign: uphill.
def kernel_velocity(u, k, s):
    return 2 * k @ s @ u - 2 * u @ (u.T @ s @ u)


# %% tags=["mistake"]
# Half of the returning term.
def kernel_velocity(u, k, s):
    return -2 * k @ s @ u + u @ (u.T @ s @ u)


# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: p1_report
# manual: true
# points: 12

# %% [markdown]
# **Report** (two pages). Train half moons with an RBF kernel for $z=1,2,4,8$, eight seeds each; show the constraint's error, the limit against the eigenvectors of $KS$, and the accuracy of a linear classifier on new points. Why is $z=2$ worse than a linear model? Say which controls you ran.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# **Rubric.** Limit within $10^{-8}$ of the lowest eigenvectors, 3 points. Seeds and intervals, 2. Accuracy above 0.99 at $z=8$ and the dip at $z=2$ (about 0.82 against 0.88 of a linear model), 3. The dip explained: two directions of the kernel's spectrum need not be those of the class, 2. A control that could have failed (no constraint, another kernel width), 2.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Project 2: what minibatches do at rest
#
# *A week, 20 points. Needs: core 3, linear regression in logarithms. After it you can measure an exponent and say how sure you are.*
#
# A minibatch step is the deterministic map with a noisy $C_t$. At rest the projector $P=qq^\top$ fluctuates about its limit $P^*$.

# %% [raw]
# # BEGIN QUESTION
# name: p2_slope

# %% [markdown]
# Write `slope(x, y)`: the exponent of $y\propto x^b$ by least squares in logarithms, and its standard error. Neither depends on the order of the points or on the units of $x$ and $y$; three points are enough.

# %% [raw]
# # BEGIN SOLUTION


# %%
def slope(x, y):
    """(b, standard error of b) of log y against log x."""
    # BEGIN SOLUTION
    u, v = np.log(x), np.log(y)
    u = u - u.mean()
    b = u @ v / (u @ u)
    left = v - v.mean() - b * u
    return b, np.sqrt(left @ left / (len(u) - 2) / (u @ u))
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 3
failure_message: 'the exponent of a pure power must come out exactly, with an error of 0'
"""  # END TEST CONFIG


def test_power(slope):
    import numpy as np

    b, error = slope(np.array([1.0, 2, 4, 8]), 3 * np.array([1.0, 2, 4, 8]) ** 0.5)
    assert abs(b - 0.5) < 1e-12, "take logarithms of both, and leave the constant free"
    assert abs(error) < 1e-9, "a pure power leaves no residual"


# %%
""" # BEGIN TEST CONFIG
points: 5
hidden: true
failure_message: 'the standard error against many repetitions'
"""  # END TEST CONFIG


def test_error(slope):
    import numpy as np

    rng, x = np.random.default_rng(51), np.geomspace(1, 100, 8)
    fits = np.array(
        [slope(x, x * np.exp(0.2 * rng.standard_normal(8))) for _ in range(2000)]
    )
    assert abs(fits[:, 0].mean() - 1) < 0.01, "the exponent is biased"
    y = x * np.exp(0.2 * rng.standard_normal(8))
    for a, b in ((x[::-1], y[::-1]), (1000 * x, y / 7)):
        assert np.allclose(slope(a, b), slope(x, y)), (
            "the order of the points and the units must not matter"
        )
    assert np.all(np.isfinite(slope(x[:3], y[:3]))), "three points are enough"
    spread = fits[:, 0].std() / np.sqrt((fits[:, 1] ** 2).mean())
    assert abs(spread - 1) < 0.1, (
        f"the spread of the slopes is {spread:.2f} times your error: n − 2 degrees of freedom"
    )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# No constant.
def slope(x, y):
    u, v = np.log(x), np.log(y)
    return u @ v / (u @ u), 0.0


# %% tags=["mistake"]
# Not in logarithms.
def slope(x, y):
    u, v = x - x.mean(), y - y.mean()
    return u @ v / (u @ u), 0.0


# %% tags=["mistake"]
# The spread of the residuals in place of the error of the slope.
def slope(x, y):
    u, v = np.log(x) - np.log(x).mean(), np.log(y) - np.log(y).mean()
    b = u @ v / (u @ u)
    return b, (v - b * u).std()


# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: p2_report
# manual: true
# points: 12

# %% [markdown]
# **Report** (two pages). Measure $\mathbb E\lVert P-P^*\rVert^2$ over $\eta/\text{batch}$ with 64 seeds for two data sets and two widths. Is the exponent one? Does the rank at rest ever exceed the number of negative eigenvalues? Table, seeds, code that reruns two of its cells inside their intervals.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# **Rubric.** Exponent 1 within two standard errors where $\eta/\text{batch}$ is small, 3 points. Independence of the width shown, 2. Burn-in and seeds stated, 2. Two cells rerun inside their intervals, 3. A statement of where the law ends, with evidence, 2.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION
