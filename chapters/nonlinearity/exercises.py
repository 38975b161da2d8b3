# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [raw]
# # ASSIGNMENT CONFIG
# name: nonlinearity
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
# gate: 0.1, from 0.05 to 0.4 by 0.01
# dead: 0.2, from 0.05 to 0.4 by 0.05
# b2: 0.8, from 0.72 to 0.92 by 0.01
# leak: 0.2, from 0.1 to 0.4 by 0.02
# pi: 0.1, from 0.08 to 0.16 by 0.01
# d: 20, from 14 to 40 by 1
# pool: 4, from 3 to 7 by 1
# tokens: 30, from 22 to 60 by 2
# field_seed: 5, from 2 to 60 by 1

# %% [markdown]
# # Exercises: nonlinearity
#
# Three warm-ups (10 minutes each), three core exercises (30 minutes each) and two projects (a week each), 100 points. Every exercise names what it needs and what you can do after it. Replace each `...`, run the cell, then the check below it. A visible check costs nothing and may be repeated. Hidden checks run when the sheet is graded; they use other numbers.
#
# A **prediction** is a number and an interval, `(value, low, high)`, written down *before* you compute. It is scored by its distance from the truth, so that an honest guess with an honest interval earns points.
#
# Notation as in the chapter: a filter $w$ of length one, its activation $h$, its energy $\mathcal E(w)=\frac12\mathbb V[h(w^\top x)]$. The flow goes uphill.

# %%
import matplotlib.pyplot as plt
import numpy as np

nine_angles = np.pi * np.array(
    [-4 / 5, -1 / 2, -2 / 5, -1 / 6, 0, 1 / 5, 2 / 5, 3 / 5, 4 / 5]
)  # of the live picture

# %% [markdown]
# ## Warm-up 1: count the hills
#
# *10 minutes, 6 points. Needs: variance, a grid. After it you can say what a gate does to a landscape.*
#
# Inputs are unit vectors at given angles, all equally likely. The activation is $h(z)=z$ for $z>0$ and $h(z)=az$ below, with the leak $a$ in $[0,1]$; $w=(\cos\theta,\sin\theta)$.

# %% [raw]
# # BEGIN QUESTION
# name: w1_hills

# %% [markdown]
# Write `hills(angles, leak)`: how many local maxima has $\mathcal E$ on the whole circle? A grid of 20,000 angles is fine enough. Flat stretches are no hills.

# %% [raw]
# # BEGIN SOLUTION


# %%
def hills(angles, leak):
    """Number of local maxima of ½ V[h(cos(θ − angle))] over θ."""
    # BEGIN SOLUTION
    theta = np.arange(20_000) * 2 * np.pi / 20_000
    z = np.cos(theta[:, None] - np.asarray(angles))
    energy = np.where(z > 0, z, leak * z).var(axis=1) / 2
    step = np.diff(np.append(energy, energy[0]))
    sign = np.sign(np.where(np.abs(step) < 1e-15, 0, step))
    sign = sign[sign != 0]
    return int(((sign > 0) & (np.roll(sign, -1) < 0)).sum())
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'count where the energy stops rising and starts to fall, once around the circle'
"""  # END TEST CONFIG


def test_the_nine_points(hills, nine_angles):
    linear, relu = hills(nine_angles, 1.0), hills(nine_angles, 0.0)
    assert linear != 1, "the whole circle: w and −w both count"
    assert linear != 4, "valleys are no hills"
    assert linear == 2, f"a linear filter has two hills, w and −w, got {linear}"
    assert relu < 100, (
        f"got {relu} hills for ReLU: flat stretches and rounding are no hills; is the mean taken off in the variance?"
    )
    assert relu == 9, f"ReLU has nine hills on these points, got {relu}"


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'other leaks and other points'
"""  # END TEST CONFIG


def test_leaks_and_points(hills, nine_angles):
    import numpy as np

    for leak, want in ((0.6, 4), (0.4, 4), (0.2, 7), (0.1, 8)):
        assert hills(nine_angles, leak) == want, (
            f"leak {leak}: {want} hills; below zero the output is leak times z"
        )
    around = np.array([0.5 * np.pi - 0.3, 0.5 * np.pi + 0.3])
    assert hills(around, 1.0) == 2, (
        "two hills, at the angles 0 and π: does the search look across the seam of its grid?"
    )
    wanted = ([2, 4, 5, 5], [2, 3, 3, 4], [2, 3, 3, 3], [2, 3, 5, 6])
    for seed, want in enumerate(wanted):
        points = np.random.default_rng(seed).uniform(-np.pi, np.pi, 6)
        got = [hills(points, leak) for leak in (1.0, 0.4, 0.2, 0.0)]
        assert got == want, (
            f"six random points, leaks 1, 0.4, 0.2, 0: {want} hills, got {got}"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The second moment in place of the variance.
def hills(angles, leak):
    theta = np.arange(20_000) * 2 * np.pi / 20_000
    z = np.cos(theta[:, None] - np.asarray(angles))
    energy = (np.where(z > 0, z, leak * z) ** 2).mean(axis=1)
    sign = np.sign(np.diff(np.append(energy, energy[0])))
    return int(((sign > 0) & (np.roll(sign, -1) < 0)).sum())


# %% tags=["mistake"]
# Half of the circle.
def hills(angles, leak):
    theta = np.arange(20_000) * np.pi / 20_000
    z = np.cos(theta[:, None] - np.asarray(angles))
    energy = np.where(z > 0, z, leak * z).var(axis=1)
    return int(
        ((energy > np.roll(energy, 1)) & (energy > np.roll(energy, -1)))[1:-1].sum()
    )


# %% tags=["mistake"]
# The sign of the leak.
def hills(angles, leak):
    theta = np.arange(20_000) * 2 * np.pi / 20_000
    z = np.cos(theta[:, None] - np.asarray(angles))
    energy = np.where(z > 0, z, -leak * z).var(axis=1)
    step = np.diff(np.append(energy, energy[0]))
    sign = np.sign(np.where(np.abs(step) < 1e-15, 0, step))
    sign = sign[sign != 0]
    return int(((sign > 0) & (np.roll(sign, -1) < 0)).sum())


# %% tags=["mistake"]
# A hill for each point.
def hills(angles, leak):
    return len(angles) if leak < 1 else 2


# %% tags=["mistake"]
# The seam of the grid is not looked across.
def hills(angles, leak):
    theta = np.linspace(-np.pi, np.pi, 20_001)
    z = np.cos(theta[:, None] - np.asarray(angles))
    energy = np.where(z > 0, z, leak * z).var(axis=1) / 2
    step = np.diff(energy)
    sign = np.sign(np.where(np.abs(step) < 1e-15, 0, step))
    sign = sign[sign != 0]
    return int(((sign[:-1] > 0) & (sign[1:] < 0)).sum())


# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Warm-up 2: when is a pattern a hilltop?
#
# *10 minutes, 6 points. Needs: equation (9) of the paper, the Jacobian $P^\perp(A-\lambda)P^\perp$. After it you can tell a resting filter from a stable one.*
#
# A nudge off a direction at rest grows at the rate (largest *other* eigenvalue of $A$) minus (its own).

# %% [raw]
# # BEGIN QUESTION
# name: w2_rates

# %% [markdown]
# Write `linear_rates(values)`: for a linear filter whose $A$ has these eigenvalues (any order), the rate at each eigenvector; and `pattern_rates(q)`: for a *leaky* filter, $h(z)=z$ above 0 and ${{gate}}\,z$ below, on orthonormal patterns of probabilities $q_m$, the rate at each pattern. Presences are standardised: $\sqrt{(1-q_m)/q_m}$ with probability $q_m$, else $-\sqrt{q_m/(1-q_m)}$. (For ReLU the variance is $(1-q_m)^2$ along $u_m$ and $q_m$ across; a leak changes both.)

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# For a linear filter only the top eigenvector is stable. At $u_m$ no input lies on the gate, so $A=\mathbb V[h'x]$ is constant nearby. With the leak $\ell$ the two values of $h$ have the variance $(1-q)+\ell^2q-q(1-q)(1-\ell)^2$ along $u_m$; across it is $\mathbb E[h'^2]=q+\ell^2(1-q)$. For $\ell=0$ the rate is $q-(1-q)^2$, which changes sign at $(3-\sqrt5)/2$.


# %%
def linear_rates(values):
    """Growth of a nudge at each eigenvector."""
    # BEGIN SOLUTION
    values = np.asarray(values, dtype=float)
    return np.array([np.delete(values, i).max() - v for i, v in enumerate(values)])
    # END SOLUTION


def pattern_rates(q):
    """Growth of a nudge at each pattern of the leaky filter."""
    # BEGIN SOLUTION
    q, leak = np.asarray(q, dtype=float), {{gate}}
    along = 1 - q + leak**2 * q - q * (1 - q) * (1 - leak) ** 2
    return q + leak**2 * (1 - q) - along
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'the other eigenvalue minus the own one; negative means stable'
"""  # END TEST CONFIG


def test_rates(linear_rates, pattern_rates):
    import numpy as np

    got = np.asarray(linear_rates([1.0, 3.0, 2.0]), dtype=float)
    assert got.shape == (3,), "a rate for each eigenvector, in the order given"
    assert abs(got[1]) > 1e-9, (
        "0 at the top: there, too, it is the largest other eigenvalue that counts"
    )
    assert got[1] < 0, (
        "the top eigenvector is stable: own eigenvalue subtracted, not the other one"
    )
    assert np.allclose(got, [2, -1, 1]), (
        f"got {got.tolist()} for the eigenvalues 1, 3, 2: the largest other one counts"
    )
    got, leak = float(np.asarray(pattern_rates([0.2]))[0]), {{gate}}
    x = np.array([2.0, -0.5])  # present in one of five cases
    h = np.where(x > 0, x, leak * x)
    want = (
        0.2
        + 0.8 * leak**2
        - (0.2 * h[0] ** 2 + 0.8 * h[1] ** 2 - (0.2 * h[0] + 0.8 * h[1]) ** 2)
    )
    assert got < 0, "a rare pattern is stable: the sign"
    assert abs(got + 0.44) > 1e-9, (
        "that is the rate of ReLU: below zero a leaky filter is not silent"
    )
    assert abs(got - want) < 1e-12, (
        f"got {got:.3f} at q = 0.2: take the variance of both values of h, and E[h'²] across"
    )


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'random spectra and probabilities, and the root'
"""  # END TEST CONFIG


def test_more_rates(linear_rates, pattern_rates):
    import numpy as np

    rng = np.random.default_rng(71)
    for _ in range(20):
        values = rng.uniform(0, 5, 5)
        top = np.sort(values)
        want = np.where(values == top[-1], top[-2], top[-1]) - values
        assert np.allclose(linear_rates(values), want), (
            "the largest other eigenvalue minus the own one"
        )
    q = rng.uniform(0, 1, 20)
    leak = {{gate}}
    want = (2 * q - 1) * (1 - leak**2) + q * (1 - q) * (1 - leak) ** 2
    assert np.allclose(pattern_rates(q), want), "across minus along"
    assert np.ravel(pattern_rates([0.25]))[0] < 0 < np.ravel(pattern_rates([0.5]))[0], (
        "rare patterns are hilltops, frequent ones are not"
    )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The signs.
def linear_rates(values):
    values = np.asarray(values, dtype=float)
    return np.array([v - np.delete(values, i).max() for i, v in enumerate(values)])


def pattern_rates(q):
    q, leak = np.asarray(q, dtype=float), {{gate}}
    return (1 - 2 * q) * (1 - leak**2) - q * (1 - q) * (1 - leak) ** 2


# %% tags=["mistake"]
# The top eigenvalue for all, also for the top itself.
def linear_rates(values):
    return np.max(values) - np.asarray(values, dtype=float)


# %% tags=["mistake"]
# The rate of ReLU.
def pattern_rates(q):
    q = np.asarray(q, dtype=float)
    return q - (1 - q) ** 2


# %% tags=["mistake"]
# The mean of the output along the pattern forgotten.
def pattern_rates(q):
    q, leak = np.asarray(q, dtype=float), {{gate}}
    return q + leak**2 * (1 - q) - (1 - q + leak**2 * q)


# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Warm-up 3: ten hills, ten filters
#
# *10 minutes, 6 points. Needs: probabilities of independent events. After it you can say how wide a layer must be.*
#
# A filter that starts at random ends on hill $j$ with probability $b_j$, the share of its basin, unless it is dead: with probability {{dead}}, whatever the others are, it finds nothing.

# %% [raw]
# # BEGIN QUESTION
# name: w3_finds

# %% [markdown]
# Write `expected_finds(basins, k)`, the expected number of different hills that $k$ independent filters find, and `filters_for(n, share)`, the least number of filters that is expected to find the given share of $n$ equal hills.

# %% [raw]
# # BEGIN SOLUTION


# %%
def expected_finds(basins, k):
    """Expected number of hills found by k filters."""
    # BEGIN SOLUTION
    alive = 1 - {{dead}}
    return float((1 - (1 - alive * np.asarray(basins, dtype=float)) ** k).sum())
    # END SOLUTION


def filters_for(n, share):
    """Least k with expected finds ≥ share · n, equal basins."""
    # BEGIN SOLUTION
    chance = (1 - {{dead}}) / n
    k = int(np.log1p(-share) / np.log1p(-chance))
    while 1 - (1 - chance) ** k < share:
        k += 1
    return k
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'a hill is found unless every filter misses it'
"""  # END TEST CONFIG


def test_the_nine_hills(expected_finds):
    import numpy as np

    basins = [0.0410, 0.2178, 0.1421, 0.0405, 0.1429, 0.0448, 0.0420, 0.2478, 0.0811]
    got = expected_finds(basins, 8)
    assert got < 8, "not every filter finds a new hill: some end where another one is"
    equal = 9 * (1 - (1 - (1 - {{dead}}) / 9) ** 8)
    assert abs(got - equal) > 1e-3, "that holds for equal basins; these differ"
    assert abs(got - 4.8285) > 1e-3, "that is for filters of which none is dead"
    rng = np.random.default_rng(70)
    ends = rng.choice(9, size=(40_000, 8), p=np.divide(basins, sum(basins)))
    ends[rng.uniform(size=ends.shape) < {{dead}}] = 9
    found = np.mean([len(set(row) - {9}) for row in ends])
    assert abs(got - found) < 0.03, (
        f"got {got:.3f} for eight filters, drawn {found:.3f}"
    )


# %%
""" # BEGIN TEST CONFIG
points: 4
hidden: true
failure_message: 'random basins, many filters, and the least width'
"""  # END TEST CONFIG


def test_widths(expected_finds, filters_for):
    import numpy as np

    rng = np.random.default_rng(72)
    for n in (2, 5, 12):
        basins = rng.dirichlet(np.ones(n))
        draws = rng.choice(n, size=(20_000, 6), p=basins)
        draws[rng.uniform(size=draws.shape) < {{dead}}] = n
        counted = np.mean([len(set(row) - {n}) for row in draws])
        assert abs(expected_finds(basins, 6) - counted) < 0.05, (
            f"{n} random basins, six filters: counted {counted:.2f}"
        )
        assert abs(expected_finds(basins, 10**6) - n) < 0.01, (
            "very many filters find every hill"
        )
    for n, share in ((10, 0.5), (10, 0.9), (100, 0.95), (7, 0.65)):
        k = filters_for(n, share)
        found = [1 - (1 - (1 - {{dead}}) / n) ** j for j in (k - 1, k)]
        assert found[0] < share <= found[1], (
            f"{n} hills, share {share}: {k} is not the least number"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# As many hills as filters.
def expected_finds(basins, k):
    return float(min(k, len(basins)))


# %% tags=["mistake"]
# The basins taken as equal.
def expected_finds(basins, k):
    n = len(basins)
    return n * (1 - (1 - (1 - {{dead}}) / n) ** k)


# %% tags=["mistake"]
# Dead filters forgotten.
def expected_finds(basins, k):
    return float((1 - (1 - np.asarray(basins)) ** k).sum())


# %% tags=["mistake"]
# The sum of the chances k·b_j.
def expected_finds(basins, k):
    return float(((1 - {{dead}}) * k * np.asarray(basins)).sum())


# %% tags=["mistake"]
# Rounded down instead of up.
def filters_for(n, share):
    return int(np.log1p(-share) / np.log1p(-(1 - {{dead}}) / n))


# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Core 1: a nudge off the axis
#
# *30 minutes, 14 points. Needs: warm-up 2, moments of a Gaussian. After it you can say what the crossing of a gate adds to stability.*
#
# A ReLU filter on $x\sim\mathcal N(0,\operatorname{diag}(a^2,b^2))$, $a>b$. Both axes rest. A direction is a locally maximal eigenvector (LME) if its own eigenvalue of $A$ is the largest there. At the long axis $A=\frac12\operatorname{diag}\bigl((1-\frac1\pi)a^2,\,b^2\bigr)$.

# %% [raw]
# # BEGIN QUESTION
# name: c1_prediction

# %% [markdown]
# **Predict first.** $a^2=1$, $b^2={{b2}}$: there the long axis is no LME. At which rate does a nudge off it grow (positive) or decay (negative)?

# %% [raw]
# # BEGIN SOLUTION

# %%
nudge_prediction = (-0.07, -0.15, 0.0)  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # PREDICTION
# name: nudge_prediction
# truth: axis_rates(1.0, {{b2}})[0]
# scale: difference
# widest: 0.3
# far: 0.06
# near: 0.015

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# The gap alone, as if no input crossed the gate.
nudge_prediction = (0.06, 0.03, 0.1)

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c1_axes

# %% [markdown]
# Write `axis_rates(a2, b2)`, the rates at the long and at the short axis, and `is_lme(a2, b2)`, whether the long axis is an LME.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# $w^\top x$ is Gaussian with variance $v=a^2\cos^2\theta+b^2\sin^2\theta$ and $\mathbb V[\max(\xi,0)]=\frac v2(1-\frac1\pi)$. So $\mathcal E=\frac14(1-\frac1\pi)v$: the filter does PCA. The rate at an axis is the second derivative of $\mathcal E$, $\mp\frac12(1-\frac1\pi)(a^2-b^2)$.


# %%
def axis_rates(a2, b2):
    """Growth of a nudge at the long and at the short axis."""
    # BEGIN SOLUTION
    rate = (1 - 1 / np.pi) * (a2 - b2) / 2
    return -rate, rate
    # END SOLUTION


def is_lme(a2, b2):
    """Whether the long axis has the largest eigenvalue of its own A."""
    # BEGIN SOLUTION
    return bool((1 - 1 / np.pi) * a2 > b2)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'write the energy as a function of the angle and differentiate it twice'
"""  # END TEST CONFIG


def test_rates(axis_rates):
    import numpy as np

    nodes, weights = np.polynomial.hermite_e.hermegauss(201)
    weights = weights / weights.sum()

    def energy(angle, a2=2.0, b2=0.5):
        xi = np.sqrt(a2 * np.cos(angle) ** 2 + b2 * np.sin(angle) ** 2) * nodes
        h = np.maximum(xi, 0)
        return (weights @ h**2 - (weights @ h) ** 2) / 2

    step = 1e-2
    curve = [
        (energy(x + step) - 2 * energy(x) + energy(x - step)) / step**2
        for x in (0, np.pi / 2)
    ]
    got = np.asarray(axis_rates(2.0, 0.5), dtype=float)
    assert got.shape == (2,), "two rates, the long axis first"
    assert got[0] < 0 < got[1], (
        "uphill leads to the long axis: stable there, unstable at the short one"
    )
    assert abs(got[0] / curve[0] - 2) > 0.1, (
        "twice too large: the energy has a factor ½"
    )
    assert np.abs(got - curve).max() < 0.02 * np.abs(curve).max(), (
        f"got {np.round(got, 3).tolist()}, the energy bends by {np.round(curve, 3).tolist()}"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'compare the two eigenvalues of A at the long axis'
"""  # END TEST CONFIG


def test_lme(is_lme):
    assert is_lme(1.0, 0.1), "a very long axis is an LME"
    assert not is_lme(1.0, 0.8), (
        "for a² = 1, b² = 0.8 the eigenvalue across is larger: 0.8 against 0.68"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'ten pairs of variances'
"""  # END TEST CONFIG


def test_more_rates(axis_rates):
    import numpy as np

    rng = np.random.default_rng(73)
    for a2, b2 in np.sort(rng.uniform(0.1, 3, (10, 2)))[:, ::-1]:
        want = (1 - 1 / np.pi) * (a2 - b2) / 2
        got = np.asarray(axis_rates(a2, b2), dtype=float)
        assert np.allclose(got, [-want, want], atol=1e-9), (
            f"a² = {a2:.2f}, b² = {b2:.2f}: ±{want:.4f}"
        )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'ten pairs of variances'
"""  # END TEST CONFIG


def test_more_lme(is_lme):
    import math

    for ratio in (0.1, 0.5, 0.67, 0.68, 0.69, 0.7, 0.9, 0.99):
        assert bool(is_lme(2.0, 2 * ratio)) == (1 - 1 / math.pi > ratio), (
            f"b²/a² = {ratio}: the border is 1 − 1/π"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The gap of A as the rate: the crossing left out.
def axis_rates(a2, b2):
    return (b2 - (1 - 1 / np.pi) * a2) / 2, (a2 - (1 - 1 / np.pi) * b2) / 2


# %% tags=["mistake"]
# The factor ½ of the energy.
def axis_rates(a2, b2):
    rate = (1 - 1 / np.pi) * (a2 - b2)
    return -rate, rate


# %% tags=["mistake"]
# The mean of the output left out.
def axis_rates(a2, b2):
    return -(a2 - b2) / 2, (a2 - b2) / 2


# %% tags=["mistake"]
# An LME wherever the axis is the long one.
def is_lme(a2, b2):
    return a2 > b2


# %% [raw]
# # END QUESTION

# %%
shares = np.linspace(0.3, 1, 50)
plt.figure(figsize=(5, 3))
plt.plot(shares, [axis_rates(1.0, b2)[0] for b2 in shares], label="rate")
plt.plot(shares, (shares - (1 - 1 / np.pi)) / 2, "--", label="gap of A alone")
plt.axhline(0, color="grey", lw=0.8)
plt.xlabel("b²/a²")
plt.ylabel("growth at the long axis")
plt.legend()
plt.show()

# %% [raw]
# # BEGIN QUESTION
# name: c1_refutation

# %% [markdown]
# **Refute.** A colleague writes: "A direction at rest that is no LME is unstable." He is wrong for ReLU between a border and a round Gaussian, and for a leaky filter, too: $h(z)=z$ above 0 and $h(z)={{leak}}\,z$ below. Give `ratio_border`, the least $b^2/a^2$ for which the long axis of this leaky filter is no LME, although it is stable up to 1. (To one part in a hundred.)

# %% [raw]
# # BEGIN SOLUTION

# %%
ratio_border = None  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # BORDER
# name: ratio_border
# truth: 1 - (1 - {{leak}}) ** 2 / (np.pi * (1 + {{leak}} ** 2))
# hint: compare the variance of h along the axis with that of a gated coordinate across it
# near: 1 - 1 / np.pi | that is the border of ReLU: here what is below zero has a variance, too

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# The border of ReLU.
ratio_border = 1 - 1 / np.pi

# %% tags=["mistake"]
# The long axis is never an LME.
ratio_border = 0.01

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Core 2: candidates and a wildcard
#
# *30 minutes, 14 points. Needs: covariance of a conditional mean. After it you can say what drawing both views from one generator hides.*
#
# At one place a share $\pi_a$ of the generators fixes the token $a$ ($P$ candidates), and the share $\pi_*=1-\sum_a\pi_a$ has the wildcard: then all $d$ tokens are equally likely. Inputs are one-hot. Two views of a sample come from one generator $z$ and are independent given $z$.

# %% [raw]
# # BEGIN QUESTION
# name: c2_prediction

# %% [markdown]
# **Predict first.** $P=5$ candidates with $\pi_a={{pi}}$ each, $d={{d}}$ tokens. With augmentation, how many times the variance of another token has a candidate?

# %% [raw]
# # BEGIN SOLUTION

# %%
variance_prediction = (140, 50, 300)  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # PREDICTION
# name: variance_prediction
# truth: np.divide(*shared(np.full(5, {{pi}}), {{d}}).diagonal()[[0, -1]])
# scale: factor
# widest: 10
# far: 3
# near: 1.25

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# The ratio without augmentation.
variance_prediction = (4.4, 3, 6)

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c2_place

# %% [markdown]
# Write `shared(pi, d)`, the covariance $C=\mathbb V_z\bigl[\mathbb E[x|z]\bigr]$ (d × d, candidates first) that two views share, and `seen(pi, d)`, the covariance $\mathbb V[x]$ that training without augmentation sees.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# $\mathbb E[x|z]$ is $e_a$ with probability $\pi_a$ and $\frac1d\mathbf 1$ with probability $\pi_*$. With the mean $\bar x$, $C=\sum_a\pi_ae_ae_a^\top+\frac{\pi_*}{d^2}\mathbf 1\mathbf 1^\top-\bar x\bar x^\top$ and $\mathbb V[x]=\operatorname{diag}(\bar x)-\bar x\bar x^\top$. A candidate has 0.0856 against 0.000625 of another token.


# %%
def shared(pi, d):
    """V_z[E[x|z]], d × d."""
    # BEGIN SOLUTION
    fixed = np.pad(np.asarray(pi, dtype=float), (0, d - len(pi)))
    free = 1 - fixed.sum()
    mean = fixed + free / d
    return np.diag(fixed) + free / d**2 - np.outer(mean, mean)
    # END SOLUTION


def seen(pi, d):
    """V[x], d × d."""
    # BEGIN SOLUTION
    mean = np.pad(np.asarray(pi, dtype=float), (0, d - len(pi)))
    mean = mean + (1 - mean.sum()) / d
    return np.diag(mean) - np.outer(mean, mean)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'draw pairs of views and average their product'
"""  # END TEST CONFIG


def test_shared_is_what_views_share(shared):
    import numpy as np

    rng, pi, d, n = np.random.default_rng(9), np.array([0.3, 0.2]), 4, 200_000
    z = rng.choice(3, n, p=[0.3, 0.2, 0.5])
    x, y = (np.eye(d)[np.where(z < 2, z, rng.integers(0, d, n))] for _ in range(2))
    want = x.T @ y / n - np.outer(x.mean(0), y.mean(0))
    got = np.asarray(shared(pi, d))
    assert got.shape == (4, 4), "d × d"
    fixed = np.array([0.3, 0.2, 0, 0])
    assert np.abs(got - np.diag(fixed) + np.outer(fixed, fixed)).max() > 1e-9, (
        "the wildcard is left out: given it the mean of x is 1/d for each token, not 0"
    )
    assert np.abs(got.sum(0)).max() < 1e-9, (
        "the entries of x sum to one, so each row of a covariance sums to 0: is the mean taken off?"
    )
    assert np.abs(got - want).max() < 0.005, (
        f"the entry of token 3 is {got[3, 3]:.3f}, two views give {want[3, 3]:.3f}: given the wildcard the views are independent"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'x is one-hot'
"""  # END TEST CONFIG


def test_seen(seen):
    import numpy as np

    rng, pi, d, n = np.random.default_rng(10), np.array([0.3, 0.2]), 4, 200_000
    z = rng.choice(3, n, p=[0.3, 0.2, 0.5])
    want = np.cov(np.eye(d)[np.where(z < 2, z, rng.integers(0, d, n))].T)
    got = np.asarray(seen(pi, d))
    other = np.array([0.3, 0.2, 0.25, 0.25])
    assert np.abs(got - np.diag(other) + np.outer(other, other)).max() > 1e-6, (
        "under the wildcard all d tokens are equally likely, candidates, too"
    )
    assert got.shape == (4, 4) and np.abs(got - want).max() < 0.005, (
        "the covariance of a one-hot vector is diag(mean) − mean meanᵀ"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'other pools; the rank is the number of candidates'
"""  # END TEST CONFIG


def test_shared_elsewhere(shared):
    import numpy as np

    rng = np.random.default_rng(74)
    for count, d in ((1, 3), (3, 10), (5, 20)):
        pi = rng.dirichlet(np.ones(count + 1))[:-1]
        points = np.vstack([np.eye(d)[:count], np.full(d, 1 / d)])
        want = np.cov(points.T, aweights=np.append(pi, 1 - pi.sum()), bias=True)
        assert np.abs(np.asarray(shared(pi, d)) - want).max() < 1e-12, (
            f"P = {count}, d = {d}: the covariance of P + 1 points"
        )
    c = np.asarray(shared(np.full(5, 0.1), 20))
    assert (
        np.linalg.matrix_rank(c, tol=1e-9) == 5 and abs(c[0, 0] / c[-1, -1] - 137) < 0.1
    ), "rank 5 and a ratio of 137 for the chapter's pool"


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'other pools'
"""  # END TEST CONFIG


def test_seen_elsewhere(seen):
    import numpy as np

    rng = np.random.default_rng(75)
    for count, d in ((1, 3), (3, 10), (5, 20)):
        pi = rng.dirichlet(np.ones(count + 1))[:-1]
        mean = np.pad(pi, (0, d - count)) + (1 - pi.sum()) / d
        got = np.asarray(seen(pi, d))
        assert np.abs(got - np.diag(mean) + np.outer(mean, mean)).max() < 1e-12, (
            f"P = {count}, d = {d}"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The covariance without augmentation for both.
def shared(pi, d):
    mean = np.pad(np.asarray(pi, dtype=float), (0, d - len(pi)))
    mean = mean + (1 - mean.sum()) / d
    return np.diag(mean) - np.outer(mean, mean)


# %% tags=["mistake"]
# The mean not taken off.
def shared(pi, d):
    fixed = np.pad(np.asarray(pi, dtype=float), (0, d - len(pi)))
    return np.diag(fixed) + (1 - fixed.sum()) / d**2


# %% tags=["mistake"]
# The wildcard forgotten: its generators have no token.
def shared(pi, d):
    fixed = np.pad(np.asarray(pi, dtype=float), (0, d - len(pi)))
    return np.diag(fixed) - np.outer(fixed, fixed)


# %% tags=["mistake"]
# Variances alone, no covariances.
def seen(pi, d):
    mean = np.pad(np.asarray(pi, dtype=float), (0, d - len(pi)))
    mean = mean + (1 - mean.sum()) / d
    return np.diag(mean * (1 - mean))


# %% [raw]
# # END QUESTION

# %%
counts, pool = np.arange(6, 101), np.full(5, 0.1)
plt.figure(figsize=(5, 3))
for matrix, label in ((shared, "with augmentation"), (seen, "without")):
    plt.semilogy(
        counts,
        [matrix(pool, d)[0, 0] / matrix(pool, d)[-1, -1] for d in counts],
        label=label,
    )
plt.xlabel("tokens d")
plt.ylabel("variance, candidate : other")
plt.title("One generator for both views hides the noise")
plt.legend()
plt.show()

# %% [raw]
# # BEGIN QUESTION
# name: c2_refutation

# %% [markdown]
# **Refute.** A colleague writes: "Linear filters end in the range of $C$, and $C$ is about candidates, so a trained linear filter has no weight on other tokens." Let $P={{pool}}$ and $d={{tokens}}$. Give `weight_border`, the largest share of its squared weight that a filter in the range of $C$ can have on the other tokens. (To one part in a hundred.)

# %% [raw]
# # BEGIN SOLUTION

# %%
weight_border = None  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # BORDER
# name: weight_border
# truth: {{pool}} / {{tokens}}
# hint: the entries of a filter in the range of C sum to 0, and those of the other tokens are all equal
# near: 1 / {{tokens}} | candidates may move together
# near: 1 - {{pool}} / {{tokens}} | that is the share on the candidates

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# One candidate against all others.
weight_border = 1 / {{tokens}}

# %% tags=["mistake"]
# No weight, as the colleague says.
weight_border = 0.0

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Core 3: a top layer that follows
#
# *30 minutes, 14 points. Needs: power iteration, Theorem 4 of the paper. After it you can say why linear filters of a field share a line.*
#
# Linear filters $w_{km}$ of length one ($k$ a field, $m$ a filter), $f_{km}=w_{km}^\top x_k$. The top layer keeps the orthonormal eigenvectors $s^1,\dots,s^r$ of the largest eigenvalues of the covariance of all $f_{km}$. The objective is $\frac12\sum_i\mathbb V[F_i]$ with $F_i=\sum_{km}s^i_{km}f_{km}$.


# %%
def fields(rng, n=400, k=4, d=6):
    """Inputs n × k × d: fields of d coordinates that share three causes."""
    causes = rng.standard_normal((n, 3)) @ rng.standard_normal((3, k * d))
    return (causes + 0.7 * rng.standard_normal((n, k * d))).reshape(n, k, d)


def filters(rng, k=4, m=5, d=6):
    """Random filters of length one, k × m × d."""
    w = rng.standard_normal((k, m, d))
    return w / np.linalg.norm(w, axis=-1, keepdims=True)


def top_layer(x, w, r):
    """s, r × k × m: eigenvectors of the r largest eigenvalues of the covariance of f."""
    f = np.einsum("nkd,kmd->nkm", x, w).reshape(len(x), -1)
    return np.linalg.eigh(np.cov(f.T, bias=True))[1][:, -r:].T.reshape(r, *w.shape[:2])


# %% [raw]
# # BEGIN QUESTION
# name: c3_prediction

# %% [markdown]
# **Predict first.** Two directions, $r=2$, and a top layer that follows: in each step $s$ is computed anew. After 200 steps of power iteration, what is $\sigma_2/\sigma_1$ of the five filters of a field (0: one line; 1: a plane, evenly)?

# %% [raw]
# # BEGIN SOLUTION

# %%
line_prediction = (0.0, 0.0, 0.3)  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # PREDICTION
# name: line_prediction
# truth: np.divide(*np.linalg.svd(ends(fields(np.random.default_rng(0)), filters(np.random.default_rng(0)), 2, True), compute_uv=False).T[[1, 0]]).max()
# scale: difference
# widest: 0.5
# far: 0.1
# near: 0.01

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# Two directions for two eigenvectors.
line_prediction = (0.5, 0.3, 0.7)

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c3_gradient

# %% [markdown]
# Write `gradient(x, w, s)`, the derivative of the objective by every $w_{km}$ (k × m × d) with $s$ held fixed, without projection.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# $\dot w_{km}=\sum_is^i_{km}\eta^i_k$ with $\eta^i_k=\operatorname{Cov}(x_k,F_i)$: $r$ matrices of rank one for each field.


# %%
def gradient(x, w, s):
    """Σ_i s^i_km Cov(x_k, F_i), k × m × d."""
    # BEGIN SOLUTION
    centred = x - x.mean(axis=0)
    output = np.einsum("rkm,nkm->nr", s, np.einsum("nkd,kmd->nkm", centred, w))
    eta = np.einsum("nkd,nr->rkd", centred, output) / len(x)
    return np.einsum("rkm,rkd->kmd", s, eta)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'differentiate the objective numerically, one weight at a time'
"""  # END TEST CONFIG


def test_by_differences(gradient, fields, filters, top_layer):
    import numpy as np

    x, w = fields(np.random.default_rng(3)) + 1, filters(np.random.default_rng(4))
    s = top_layer(x, w, 2)

    def objective(w):
        return (
            np.einsum("rkm,nkm->nr", s, np.einsum("nkd,kmd->nkm", x, w))
            .var(axis=0)
            .sum()
            / 2
        )

    step = np.zeros_like(w)
    step[1, 2, 3] = 1e-5
    want = (objective(w + step) - objective(w - step)) / 2e-5
    got = np.asarray(gradient(x, w, s))
    assert got.shape == w.shape, "as many numbers as weights"
    assert got[1, 2, 3] * want > 0, "the sign: the flow goes uphill"
    assert abs(got[1, 2, 3] / want - 2) > 1e-3, (
        "twice too large: the objective has a factor ½"
    )
    assert abs(got[1, 2, 3] * (len(x) - 1) / len(x) / want - 1) > 1e-7, (
        "divided by n − 1: 𝕍 is the mean over all n inputs"
    )
    assert abs(got[1, 2, 3] / want - 1) < 1e-5, (
        f"got {got[1, 2, 3]:.4f}, by differences {want:.4f}; is the mean of x taken off?"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'other sizes, and the rank'
"""  # END TEST CONFIG


def test_rank(gradient, fields, filters, top_layer):
    import numpy as np

    x, w = (
        fields(np.random.default_rng(76), k=3, d=7),
        filters(np.random.default_rng(77), k=3, m=4, d=7),
    )
    for r in (1, 2, 3):
        s = top_layer(x, w, r)
        got = np.asarray(gradient(x, w, s))
        assert np.linalg.matrix_rank(got, tol=1e-9).tolist() == [r] * 3, (
            f"r = {r}: the gradients of a field have rank {r}"
        )
        centred = (x - x.mean(0)).reshape(len(x), -1)
        block = centred.T @ centred / len(x)
        big = np.einsum("rkm,kmd->rkd", s, w).reshape(r, -1) @ block
        assert np.allclose(got, np.einsum("rkm,rkd->kmd", s, big.reshape(r, 3, 7))), (
            f"r = {r}: not the derivative"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The mean of x not taken off.
def gradient(x, w, s):
    output = np.einsum("rkm,nkm->nr", s, np.einsum("nkd,kmd->nkm", x, w))
    return np.einsum("rkm,rkd->kmd", s, np.einsum("nkd,nr->rkd", x, output) / len(x))


# %% tags=["mistake"]
# The factor two of a square without the ½ of the objective.
def gradient(x, w, s):
    centred = x - x.mean(axis=0)
    output = np.einsum("rkm,nkm->nr", s, np.einsum("nkd,kmd->nkm", centred, w))
    return 2 * np.einsum(
        "rkm,rkd->kmd", s, np.einsum("nkd,nr->rkd", centred, output) / len(x)
    )


# %% tags=["mistake"]
# The sign: downhill.
def gradient(x, w, s):
    centred = x - x.mean(axis=0)
    output = np.einsum("rkm,nkm->nr", s, np.einsum("nkd,kmd->nkm", centred, w))
    return -np.einsum(
        "rkm,rkd->kmd", s, np.einsum("nkd,nr->rkd", centred, output) / len(x)
    )


# %% tags=["mistake"]
# Divided by n − 1.
def gradient(x, w, s):
    centred = x - x.mean(axis=0)
    output = np.einsum("rkm,nkm->nr", s, np.einsum("nkd,kmd->nkm", centred, w))
    eta = np.einsum("nkd,nr->rkd", centred, output) / (len(x) - 1)
    return np.einsum("rkm,rkd->kmd", s, eta)


# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: c3_ends

# %% [markdown]
# Write `ends(x, w, r, follow, steps=200)`: repeat $w_{km}\leftarrow\dot w_{km}/\lVert\dot w_{km}\rVert$ with `s` from the start, or computed anew after each step if `follow`; return the filters at the end.

# %% [raw]
# # BEGIN SOLUTION


# %%
def ends(x, w, r, follow, steps=200):
    """Filters after power iteration, k × m × d."""
    # BEGIN SOLUTION
    s = top_layer(x, w, r)
    for _ in range(steps):
        w = gradient(x, w, s)
        w = w / np.linalg.norm(w, axis=-1, keepdims=True)
        s = top_layer(x, w, r) if follow else s
    return w
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 2
failure_message: 'every filter has length one; with r = 1 a field ends on one line'
"""  # END TEST CONFIG


def test_one_direction(ends, fields, filters):
    import numpy as np

    x, w = fields(np.random.default_rng(3)), filters(np.random.default_rng(4))
    got = np.asarray(ends(x, w, 1, False, steps=50))
    assert got.shape == w.shape and np.allclose(np.linalg.norm(got, axis=-1), 1), (
        "filters of length one, k × m × d"
    )
    sigma = np.linalg.svd(got, compute_uv=False)
    once, scaled = (np.asarray(ends(c * x, w, 1, False, steps=1)) for c in (1, 4))
    assert np.abs(once - scaled).max() < 1e-9, (
        "a step depends on the scale of x: w becomes ẇ over its length, and the old w is not added"
    )
    assert (sigma[:, 1] / sigma[:, 0]).max() < 1e-8, (
        "with r = 1 all filters of a field have one direction: each its own length?"
    )


# %%
""" # BEGIN TEST CONFIG
points: 2
hidden: true
failure_message: 'two directions, held and followed'
"""  # END TEST CONFIG


def test_two_directions(ends, fields, filters):
    import numpy as np

    x, w = fields(np.random.default_rng(78)), filters(np.random.default_rng(79))
    for follow in (False, True):
        sigma = np.linalg.svd(np.asarray(ends(x, w, 2, follow)), compute_uv=False)
        second, third = (sigma[:, 1:3] / sigma[:, :1]).max(axis=0)
        assert third < 1e-8, "two directions at most"
        assert (second < 1e-8) == follow, (
            f"top layer {'follows' if follow else 'held'}: σ₂/σ₁ = {second:.1e}; does s change only if it follows?"
        )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# One length for the whole field.
def ends(x, w, r, follow, steps=200):
    s = top_layer(x, w, r)
    for _ in range(steps):
        w = gradient(x, w, s)
        w = w / np.linalg.norm(w)
        s = top_layer(x, w, r) if follow else s
    return w


# %% tags=["mistake"]
# The top layer always follows.
def ends(x, w, r, follow, steps=200):
    for _ in range(steps):
        w = gradient(x, w, top_layer(x, w, r))
        w = w / np.linalg.norm(w, axis=-1, keepdims=True)
    return w


# %% tags=["mistake"]
# The top layer never follows.
def ends(x, w, r, follow, steps=200):
    s = top_layer(x, w, r)
    for _ in range(steps):
        w = gradient(x, w, s)
        w = w / np.linalg.norm(w, axis=-1, keepdims=True)
    return w


# %% [raw]
# # END QUESTION

# %%
inputs, start = fields(np.random.default_rng(0)), filters(np.random.default_rng(1))
plt.figure(figsize=(5, 3))
for follow in (False, True):
    spread = []
    for steps in range(1, 16):
        values = np.linalg.svd(ends(inputs, start, 2, follow, steps), compute_uv=False)
        spread.append(max((values[:, 1] / values[:, 0]).max(), 1e-16))
    plt.semilogy(range(1, 16), spread, label="follows" if follow else "held")
plt.xlabel("steps")
plt.ylabel("σ₂/σ₁ of a field")
plt.legend()
plt.show()

# %% [raw]
# # BEGIN QUESTION
# name: c3_refutation

# %% [markdown]
# **Refute.** A colleague writes: "With $r=2$ two filters of a field have different gradients, so they need not end on one line, however long one waits." Take `fields(np.random.default_rng({{field_seed}}))`, `filters(np.random.default_rng({{field_seed}}))`, $r=2$ and a top layer that follows. Give `steps_border`, the least number of steps of `ends` after which $\sigma_2/\sigma_1<10^{-3}$ in every field. (To one part in a hundred.)

# %% [raw]
# # BEGIN SOLUTION

# %%
steps_border = None  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %% [raw]
# # BORDER
# name: steps_border
# truth: next(n for n in range(1, 200) if max(np.divide(*np.linalg.svd(ends(fields(np.random.default_rng({{field_seed}})), filters(np.random.default_rng({{field_seed}})), 2, True, n), compute_uv=False).T[[1, 0]])) < 1e-3)
# hint: s is an eigenvector, so that ẇ = H w with one H for the whole field: count the steps

# %% [raw]
# # END TESTS

# %% tags=["mistake"]
# All 200 steps.
steps_border = 200

# %% tags=["mistake"]
# One step.
steps_border = 1

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Project 1: tickets
#
# *A week, 20 points. Needs: warm-up 3, a training loop. After it you can test a pruning claim fairly.*
#
# A wide network is trained, most of its filters are pruned, and what is left is trained again from its own start. Is it the start that matters?

# %% [raw]
# # BEGIN QUESTION
# name: p1_interval

# %% [markdown]
# Write `interval(values, level, draws, seed)`: the percentile bootstrap interval of the mean over networks, resampled with `np.random.default_rng(seed)`. `values` may be a list; a single network has an interval of width zero.

# %% [raw]
# # BEGIN SOLUTION


# %%
def interval(values, level, draws, seed):
    """(low, high) of the bootstrap distribution of the mean."""
    # BEGIN SOLUTION
    values, rng = np.asarray(values, dtype=float), np.random.default_rng(seed)
    means = values[rng.integers(0, len(values), (draws, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 3
failure_message: 'resample whole networks with replacement, as many as there are'
"""  # END TEST CONFIG


def test_ten_networks(interval):
    import numpy as np

    values = np.random.default_rng(5).standard_normal(10)
    low, high = interval(values, 0.95, 4000, 0)
    assert low < values.mean() < high, "the interval holds the mean"
    want = 2 * 1.96 * values.std() / 10**0.5
    assert abs((high - low) / want - 1.645 / 1.96) > 0.03, (
        "each tail has half of 1 − level, not all of it"
    )
    assert abs((high - low) / want - 1) < 0.15, (
        f"width {high - low:.2f}, about {want:.2f} is expected: means of resamples, not the values"
    )
    assert (low, high) == tuple(interval(values, 0.95, 4000, 0)), (
        "the same seed gives the same interval"
    )


# %%
""" # BEGIN TEST CONFIG
points: 5
hidden: true
failure_message: 'other levels and counts'
"""  # END TEST CONFIG


def test_levels(interval):
    import numpy as np

    rng, hit = np.random.default_rng(80), 0
    for k in range(200):
        low, high = interval(rng.standard_normal(30), 0.8, 500, k)
        hit += low <= 0 <= high
    assert 130 <= hit <= 185, f"an 80 % interval held the truth {hit} times of 200"
    skew = np.random.default_rng(81).exponential(size=12) ** 2
    assert interval(skew, 0.9, 40, 1) != interval(skew, 0.9, 40, 2), (
        "another seed draws other networks: `seed` is an argument"
    )
    means = rng.choice(skew, (20_000, 12)).mean(axis=1)
    want = np.quantile(means, [0.05, 0.95])
    off = (
        np.abs(np.array(interval(skew, 0.9, 20_000, 3)) - want).max() / np.diff(want)[0]
    )
    assert off < 0.03, (
        f"skew values: an end is off by {off:.0%} of the width; percentiles of the resampled means are asked"
    )
    assert interval([2.0, 2.0], 0.95, 100, 1) == (2.0, 2.0), (
        "equal values have an interval of width 0"
    )
    assert interval([3.0], 0.95, 50, 0) == (3.0, 3.0), (
        "a single network has an interval of width 0"
    )
    wide, narrow = (
        interval([0.0, 1.0, 5.0, 2.0], level, 2000, 4) for level in (0.99, 0.5)
    )
    assert wide[0] <= narrow[0] < narrow[1] <= wide[1], (
        "a higher level has a wider interval"
    )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The spread of the values in place of that of the mean.
def interval(values, level, draws, seed):
    return tuple(np.quantile(values, [(1 - level) / 2, (1 + level) / 2]))


# %% tags=["mistake"]
# Resampled without replacement.
def interval(values, level, draws, seed):
    rng = np.random.default_rng(seed)
    means = [rng.permutation(values).mean() for _ in range(draws)]
    return tuple(np.quantile(means, [(1 - level) / 2, (1 + level) / 2]))


# %% tags=["mistake"]
# One side only: the tail is not halved.
def interval(values, level, draws, seed):
    values, rng = np.asarray(values, dtype=float), np.random.default_rng(seed)
    means = values[rng.integers(0, len(values), (draws, len(values)))].mean(axis=1)
    return float(np.quantile(means, 1 - level)), float(means.max())


# %% tags=["mistake"]
# A normal approximation, which draws nothing.
def interval(values, level, draws, seed):
    from scipy.stats import norm

    values = np.asarray(values, dtype=float)
    half = norm.ppf((1 + level) / 2) * values.std() / len(values) ** 0.5
    return values.mean() - half, values.mean() + half


# %% tags=["mistake"]
# The basic interval, with a seed of its own.
def interval(values, level, draws, seed):
    values, rng = np.asarray(values, dtype=float), np.random.default_rng(0)
    means = values[rng.integers(0, len(values), (draws, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(2 * values.mean() - high), float(2 * values.mean() - low)


# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: p1_report
# manual: true
# points: 12

# %% [markdown]
# **Report** (two pages). Train ten networks; prune by four rules (size, score, at random, none); train again from the kept starts and from fresh ones. Which rule beats fresh starts, by how much, with which interval? Name what your test could have refuted.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# **Rubric.** Starts kept exactly and shapes checked, 3 points. Four rules and a fresh arm on ten networks, 3. Paired intervals over networks, 3. A fresh arm near 0.61 (within three standard errors), 1. An honest conclusion, also where nothing is found, 2.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [markdown]
# ## Project 2: a mixed importance
#
# *A week, 20 points. Needs: the importances of the chapter. After it you can design a loss and test what it does.*
#
# Let $\alpha_{ij}$ be InfoNCE's importance to the power $s$, $0\le s\le1$, each row scaled to sum to one: $s=0$ is uniform.

# %% [raw]
# # BEGIN QUESTION
# name: p2_alpha

# %% [markdown]
# Write `mixed_alpha(f, tau, s)` for outputs `f` (n × d): $\alpha_{ij}\propto e^{-s\lVert f_i-f_j\rVert^2/2\tau}$ for $j\ne i$, $\alpha_{ii}=0$, rows that sum to one, without overflow or underflow of a whole row. There may be two samples only, or equal ones.

# %% [raw]
# # BEGIN SOLUTION


# %%
def mixed_alpha(f, tau, s):
    """Importances n × n."""
    # BEGIN SOLUTION
    distance = ((f[:, None] - f[None]) ** 2).sum(axis=-1)
    logit = -s * distance / (2 * tau)
    np.fill_diagonal(logit, -np.inf)
    weight = np.exp(logit - logit.max(axis=1, keepdims=True))
    return weight / weight.sum(axis=1, keepdims=True)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
points: 3
failure_message: 'no weight on itself, rows of sum one'
"""  # END TEST CONFIG


def test_rows(mixed_alpha):
    import numpy as np

    f = np.random.default_rng(6).standard_normal((5, 3))
    got = np.asarray(mixed_alpha(f, 0.5, 1.0))
    assert got.shape == (5, 5) and np.allclose(np.diag(got), 0), (
        "a sample is no negative of its own"
    )
    assert np.allclose(got.sum(axis=1), 1), "each row sums to one"
    assert np.allclose(mixed_alpha(f, 0.5, 0.0), (1 - np.eye(5)) / 4), (
        "s = 0 weighs all negatives alike"
    )
    near = np.argmin(((f[0] - f[1:]) ** 2).sum(axis=1)) + 1
    assert got[0].argmax() == near, (
        "the nearest negative weighs most: the sign of the exponent"
    )


# %%
""" # BEGIN TEST CONFIG
points: 5
hidden: true
failure_message: 'a small temperature and far negatives'
"""  # END TEST CONFIG


def test_weights(mixed_alpha):
    import numpy as np

    f = np.random.default_rng(81).standard_normal((6, 4))
    got = np.asarray(mixed_alpha(f, 0.3, 0.5))
    distance = ((f[0] - f[1]) ** 2).sum() - ((f[0] - f[2]) ** 2).sum()
    assert abs(np.log(got[0, 1] / got[0, 2]) + 0.5 * distance / 0.6) < 1e-9, (
        "the logarithm of a ratio is −s times the difference of distances over 2τ"
    )
    assert np.allclose(mixed_alpha(f[:2], 0.3, 1.0), [[0, 1], [1, 0]]), (
        "of two samples each is the other's negative"
    )
    same = np.asarray(mixed_alpha(f[[0, 0, 1]], 1e-3, 1.0))
    assert np.allclose(same[0], [0, 1, 0]), (
        "an equal sample is the nearest negative, and no negative of itself"
    )
    assert np.allclose(np.asarray(mixed_alpha(100 * f, 0.01, 1.0)).sum(axis=1), 1), (
        "far negatives and a small τ: a whole row underflows"
    )


# %% [raw]
# # END TESTS


# %% tags=["mistake"]
# The sign: far negatives weigh most.
def mixed_alpha(f, tau, s):
    weight = np.exp(s * ((f[:, None] - f[None]) ** 2).sum(axis=-1) / (2 * tau)) * (
        1 - np.eye(len(f))
    )
    return weight / weight.sum(axis=1, keepdims=True)


# %% tags=["mistake"]
# The sample itself among its negatives.
def mixed_alpha(f, tau, s):
    weight = np.exp(-s * ((f[:, None] - f[None]) ** 2).sum(axis=-1) / (2 * tau))
    return weight / weight.sum(axis=1, keepdims=True)


# %% tags=["mistake"]
# No shift: a row of far negatives underflows.
def mixed_alpha(f, tau, s):
    weight = np.exp(-s * ((f[:, None] - f[None]) ** 2).sum(axis=-1) / (2 * tau)) * (
        1 - np.eye(len(f))
    )
    return weight / weight.sum(axis=1, keepdims=True)


# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: p2_report
# manual: true
# points: 12

# %% [markdown]
# **Report** (two pages). Train linear and ReLU filters with $s=0,\frac14,\frac12,1$ on token data, ten networks each. What does $s$ do to the share of candidates found, and to the effective rank? Say which result would have surprised you, before you run.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# **Rubric.** A prediction written down first, 2 points. Ten networks an arm with intervals, 3. The ordering over $s$ tested, not only shown, 3. A planted case that the measure must find, 2. Limits of the conclusion, 2.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION
