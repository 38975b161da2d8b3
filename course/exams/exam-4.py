# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [raw]
# # NUMBERS
# a: 3.0, from 2.0 to 4.0 by 0.5
# b: 1.0, from 0.25 to 1.5 by 0.25
# B: 1.5, from 1.1 to 1.9 by 0.1
# t: 0.4, from 0.3 to 0.9 by 0.1
# n: 6, from 4 to 9 by 1
# K: 15, from 7 to 63 by 8
# eps: 0.25, from 0.10 to 0.40 by 0.05
# sigma: 1.5, from 1.2 to 2.4 by 0.1
# wide: 1000, from 500 to 4000 by 250
# sd: 0.30, from 0.20 to 0.40 by 0.02

# %% [markdown]
# # Exam 4
#
# 90 minutes, 60 points, 10 for each question. Allowed: one handwritten page, a calculator. Give the formula before the number. No question is one of the sheets with other numbers: each changes something that the course has kept fixed.

# %% tags=["solution"]
import itertools

import numpy as np
from scipy.optimize import minimize

rng = np.random.default_rng(4)

# %% [markdown]
# ## 1. Two budgets at once (10 points)
#
# $C$ has the eigenvalues $-{{a}}$, $-{{b}}$ and $\frac{1}{2}$. The model $u=\Theta x$ with three outputs minimises $\operatorname{Tr}(\Theta C\Theta^\top)$ under both $\Vert\Theta\Vert_F^2\leq B$ and $\Vert\Theta\Vert_{op}\leq1$.
#
# 1. Write the loss with $m_j=\Vert\Theta v_j\Vert^2$, where $v_j$ are the eigenvectors. What do the two budgets say of the $m_j$? (4)
# 2. Give the least loss and the rank of the best $\Theta$ for $B={{B}}$. (3)
# 3. $B$ grows from $\frac{1}{2}$ to 3. At which $B$ does the rank change, and from where on does nothing change any more? (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. $\sum_j\lambda_jm_j$; $\sum_jm_j\leq B$ and $m_j\leq1$ for each $j$. All such $m$ are reached by a diagonal $\Theta$. 2. One on the lowest, the rest on the second: $-{{a}}-(B-1)\cdot{{b}}$, rank two. 3. Rank one up to $B=1$, then two; from $B=2$ on nothing changes, for the third eigenvalue is positive.
#
# *Common mistakes.* Rank three for $B=3$: what costs stays empty. The budget shared in proportion to the eigenvalues.

# %% tags=["solution"]
lam = np.array([-{{a}}, -{{b}}, 0.5])
least = -{{a}} - ({{B}} - 1) * {{b}}
best = np.diag([1, ({{B}} - 1) ** 0.5, 0])
assert abs(np.trace(best @ np.diag(lam) @ best.T) - least) < 1e-12
for _ in range(2000):
    theta = rng.standard_normal((3, 3))
    theta /= max(np.linalg.norm(theta, 2), np.linalg.norm(theta) / {{B}} ** 0.5)
    assert np.trace(theta @ np.diag(lam) @ theta.T) >= least - 1e-12
print(f"2. {least:.3f}")

# %% [markdown]
# ## 2. A budget with unequal prices (10 points)
#
# Shares $g_j\geq0$ of sum one. Positives pay $\rho_j$ for a bit of share; strangers charge $\tau^2c_jg_j$ for the next bit, with prices $c_j$ that differ: $\rho=(0.8,\,0.6)$, $c=(2,\,1)$.
#
# 1. Derive the best shares, with one unknown level $\mu$. (4)
# 2. Compute $\mu$ and both shares for $\tau^2={{t}}$. (3)
# 3. Which direction takes all as $\tau^2\rightarrow0$? Where does a learned $\tau^2$ stop, if it stops where $\mu=0$? (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. The next bit is worth the same wherever there is a share: $\rho_j-\tau^2c_jg_j=\mu$, so $g_j=(\rho_j-\mu)_+/(\tau^2c_j)$. 2. From $\frac{0.8-\mu}2+0.6-\mu=\tau^2$: $\mu=\frac{1-\tau^2}{1.5}$; the shares are printed below. 3. The first, whatever the prices are: prices multiply $\tau^2$. It stops at $\sum_j\rho_j/c_j=1$.
#
# *Common mistakes.* Shares in proportion to $\rho_j/c_j$. The second direction for $\tau^2\rightarrow0$, because it is cheaper.

# %% tags=["solution"]
rho, price = np.array([0.8, 0.6]), np.array([2.0, 1.0])
level = (1 - {{t}}) / 1.5
shares = np.maximum(rho - level, 0) / ({{t}} * price)
assert abs(shares.sum() - 1) < 1e-12 and min(shares) > 0
found = minimize(lambda g: {{t}} / 2 * price @ g**2 - rho @ g, [0.5, 0.5], bounds=[(0, 1)] * 2,
                 constraints={"type": "eq", "fun": lambda g: g.sum() - 1})  # fmt: skip
assert np.allclose(found.x, shares, atol=1e-4) and abs(rho @ (1 / price) - 1) < 1e-12
print(f"2. level {level:.3f}, shares {shares[0]:.3f} and {shares[1]:.3f}")

# %% [markdown]
# ## 3. Three views of one datum (10 points)
#
# Each coordinate is shown in exactly one of three views, with probability $\frac{1}{3}$ each: $x^{(a)}=3D_ax$ with $D_1+D_2+D_3=I$. Any two of them are a positive pair.
#
# 1. Which entries has $\mathbb{E}[x^{(1)}x^{(2)\top}]$, compared with $\mathbb{E}[xx^\top]$? (4)
# 2. An atom has {{n}} coordinates. What is the chance that two given views both see a part of it? (3)
# 3. Name one thing that three views gain over two halves, and one that they lose. (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. Off the diagonal $9\cdot\frac13\cdot\frac13=1$: nothing changes. The diagonal is 0, and white noise with it. 2. $1-2(\frac23)^n+(\frac13)^n$: neither view is empty of it. 3. Gain: three pairs for each datum. Lose: each view sees a third, so its noise is longer (three times the square in place of twice) and short atoms are missed more often.
#
# *Common mistakes.* $1-2(\frac23)^n$: both empty is subtracted twice. The factor $9\cdot\frac19$ on the diagonal, too.

# %% tags=["solution"]
views = np.array(list(itertools.product(range(3), repeat={{n}})))
shown = [(views == a).astype(float) for a in (0, 1)]
moment = 9 * np.einsum("ki,kj->ij", *shown) / len(views)
assert np.allclose(moment, 1 - np.eye({{n}}))
both = np.mean(shown[0].any(1) & shown[1].any(1))
assert abs(both - (1 - 2 * (2 / 3) ** {{n}} + (1 / 3) ** {{n}})) < 1e-12
print(f"2. {both:.4f}")

# %% [markdown]
# ## 4. Negatives that share something (10 points)
#
# Two signals, aligned encoders, $-\log S=\log(1+K\,\mathbb{E}e^{\tau^2(f_A\cdot f_B^--f_A\cdot f_B^+)})$ with $K={{K}}$. The sign of signal 1 in a negative is that of the anchor with a surplus: $\mathbb{E}s_1s_1'=\epsilon$, while $\mathbb{E}s_2s_2'=0$ (batches from one source, say).
#
# 1. Let $\tau\rightarrow0$. Derive the force on each column, relative to that of positive pairs alone. (4)
# 2. A column grows at a rate proportional to $\sigma_p^2$ times its force; $\sigma^2=({{sigma}},\,1)$. Which column grows faster at $\epsilon={{eps}}$, and from which $\epsilon$ on is it the second? (3)
# 3. $\epsilon=1$. What is lost, what is kept? Name a data set for which this happens. (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. Every exponential is one, so $1-S=\frac K{1+K}$, and for each side the force on column $p$ is $\frac K{1+K}(1-\mathbb{E}s_ps_p')$: in all $\frac{2K}{1+K}(1-\epsilon)$ for the first and $\frac{2K}{1+K}$ for the second. 2. The first grows faster as long as $\sigma_1^2(1-\epsilon)>1$, so the second does from $\epsilon=1-1/\sigma_1^2$ on; the numbers are printed below. 3. Signal 1 gets no force and is lost, signal 2 is learned as ever. Photographs of one camera in each batch: what all have in common is not learned.
#
# *Common mistakes.* $K$ decides which one wins: it multiplies both. "Negatives balance": at a small $\tau$ they are not heard.

# %% tags=["solution"]
signs = np.array(list(itertools.product((-1, 1), repeat=2)))
chance = np.array([(1 + {{eps}} * s) / 4 for s, _ in signs])  # of a negative's signs, for the anchor (1, 1)


def loss(g, tau2=1e-4):
    """Both sides."""
    return 2 * np.log(1 + {{K}} * chance @ np.exp(tau2 * (signs @ g - g.sum())))


force = [(loss(np.array([0.6, 0.4]) - h) - loss(np.array([0.6, 0.4]) + h)) / 2e-4 / 1e-4 for h in 1e-4 * np.eye(2)]
assert abs(chance.sum() - 1) < 1e-12 and abs(chance @ signs[:, 0] - {{eps}}) < 1e-12
assert np.allclose(force, 2 * {{K}} / (1 + {{K}}) * np.array([1 - {{eps}}, 1]), rtol=1e-3)
first = {{sigma}} * (1 - {{eps}})
print(f"1. {force[0]:.3f} and {force[1]:.3f}; 2. {first:.3f} against 1: the {'first' if first > 1 else 'second'}, "
      f"the second from {1 - 1 / {{sigma}}:.3f} on")  # fmt: skip

# %% [markdown]
# ## 5. What a card does not say (10 points)
#
# Statement: "at any width $q$ ends at $\pm e_1$." Card: widths 10 to {{wide}}, forty starts, largest distance from $\pm e_1$ at the end $2\cdot10^{-6}$; rule: at most $10^{-4}$; control (no negative eigenvalue): 1.0; outside, starts orthogonal to $e_1$, which have probability 0: 1.4.
#
# 1. Which verdict does the card give, and by which two of its facts? Which of them would you miss most if it were not there? (4)
# 2. The sentence says "any width". What does the run show of it, and what does the theorem's proof? (3)
# 3. As a mutation somebody doubles the speed of the equation. The verdict stays. What do you conclude, and which statistic would notice it? (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. Reproduced: the largest distance meets the rule, and the control misses it. Without the control the number could be small for another reason, such as a distance that is always small. That the outside starts have probability 0 is why no condition is added. 2. The run: widths 10 to {{wide}}, these starts and spectra, in this code. The proof: all widths, but it says nothing of the code or of descent in steps. Neither replaces the other. 3. The end does not depend on the speed, so the claim does not test it: no fault of the claim, but somebody has to. The distance from $\pm e_1$ at a fixed time, or the length at that time, would notice.
#
# *Common mistakes.* "With conditions", because of the outside starts. "The run proves the theorem." "The mutation shows that the rule is wrong."

# %% tags=["solution"]


def by_speed(speed, steps, rate=0.01):
    """q after so many steps of the equation for one output, at a speed."""
    lam, q = np.array([-1.0, -0.4, 0.7]), np.array([0.1, 0.3, -0.2])
    for _ in range(steps):
        s, a = q @ q, q @ (lam * q)
        q = q + rate * speed * (-2 * (2 - s) * lam * q + 2 * a * q)
    return q


assert np.allclose(by_speed(1, 3000), [1, 0, 0], atol=1e-6) and np.allclose(by_speed(2, 3000), [1, 0, 0], atol=1e-6)
assert np.linalg.norm(by_speed(1, 50) - by_speed(2, 50)) > 0.1

# %% [markdown]
# ## 6. Does a learned temperature count? (10 points)
#
# Two theories say where a learned $\tau^2$ stops: at $\sum_j\rho_j$ (first) or at $\sum_j\rho_j^2$ (second). You can draw views with any correlations; one run scatters by {{sd}}.
#
# 1. For $\rho=(0.9,\,0.7,\,0.4)$ write both predictions, and an interval for the first that the second misses. How many seeds make it narrow enough ($t\approx3$, half of the distance on each side)? (4)
# 2. Name a control and a planted case, and say what each must show. (3)
# 3. You find 1.80, interval 1.65 to 1.95. Write the abstract in two sentences, one of which says what was not shown; and name what another group needs to repeat it. (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. 2.0 and 1.46. The half width must be below half of the distance, 0.27: $n>(3\cdot{{sd}}/0.27)^2$, see the number below. Say, 2.0 with 1.74 to 2.26. 2. Control: pairs that are shuffled, which share nothing: it must stop near 0. Planted case: equal correlations of 1, $k$ of them: it must stop at $k$, where both theories agree. 3. "The learned value is 1.80 (1.65 to 1.95), between both theories, and excludes both. We varied neither the number of pairs nor the network, so this does not show that no sum of this kind is counted." The command, the seeds, the versions.
#
# *Common mistakes.* An interval that holds both. A planted case on which nobody could fail. "Closer to the first, so it counts."

# %% tags=["solution"]
rho = np.array([0.9, 0.7, 0.4])
assert abs(rho.sum() - 2) < 1e-12 and abs(rho @ rho - 1.46) < 1e-12
enough = next(n for n in range(2, 100) if 3 * {{sd}} / n**0.5 < (rho.sum() - rho @ rho) / 2)
assert not 1.65 <= rho.sum() <= 1.95 and not 1.65 <= rho @ rho <= 1.95
print(f"1. {enough} seeds")
