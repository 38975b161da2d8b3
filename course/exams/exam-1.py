# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Exam 1
#
# 90 minutes, 60 points, 10 for each question. Allowed: one handwritten page, a calculator. Give the formula before the number.

# %% tags=["solution"]
import numpy as np

rng = np.random.default_rng(1)

# %% [markdown]
# ## 1. Collapse (10 points)
#
# A linear model $\Theta(t)=\Theta(0)e^{-2Ct}$ has $C=\operatorname{diag}(-3,-1)$ and $\Theta(0)=I$.
#
# 1. Give both singular values of $\Theta(t)$ and their ratio $\sigma_2/\sigma_1$. (4)
# 2. At which time is the ratio 0.01? (3)
# 3. Which rank do the outputs have in the limit, after they are scaled to length one? And for $C=-I$? (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. $\sigma_1=e^{6t}$, $\sigma_2=e^{2t}$, ratio $e^{-4t}$: the gap of the eigenvalues decides, not their size. 2. $t=\frac14\log100\approx1.151$. 3. One. For $C=-I$ both grow alike and the rank stays two.
#
# *Common mistakes.* A ratio $e^{-2t}$: the factor 2 in the exponent applies to both eigenvalues. The larger eigenvalue in place of the lowest as the one that wins.

# %% tags=["solution"]
time = np.log(100) / 4
for t in (0.3, time):
    sigma = np.linalg.svd(np.diag(np.exp(-2 * t * np.array([-3.0, -1.0]))), compute_uv=False)
    assert np.allclose(sigma, np.exp([6 * t, 2 * t]), rtol=1e-12)
assert abs(sigma[1] / sigma[0] - 0.01) < 1e-12 and abs(time - 1.151) < 5e-4

# %% [markdown]
# ## 2. The wait of a wide network (10 points)
#
# For one output and $\Lambda=\lambda I$ the squared length follows $\dot s=-8\lambda s(1-s)$.
#
# 1. Solve it for $s(0)=s_0$. (4)
# 2. Let $\lambda=-\frac{1}{2}$ and $s_0=10^{-4}$. When is $s=\frac{1}{2}$? (3)
# 3. The width is squared, and $s_0$ with it becomes $10^{-8}$. What becomes of this time? (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. $\log\frac s{1-s}$ falls at the rate $8\lambda$, so $s(t)=\frac{s_0}{s_0+(1-s_0)e^{8\lambda t}}$. 2. $t=\frac1{8\lvert\lambda\rvert}\log\frac{1-s_0}{s_0}=\frac14\log9999\approx2.303$. 3. It doubles, to 4.605: the wait grows with the logarithm of the width.
#
# *Common mistakes.* $s(t)=s_0e^{4t}$, which forgets the saturation and gives 2.129. The sign of $\lambda$: for $\lambda>0$ the output vanishes.

# %% tags=["solution"]


def length(s0, lam, t):
    """The logistic solution."""
    return s0 / (s0 + (1 - s0) * np.exp(8 * lam * t))


s, step = 1e-4, 1e-4
for _ in range(23_000):  # Runge-Kutta up to t = 2.3

    def slope(x):
        return 4 * x * (1 - x)

    k1 = slope(s)
    k2 = slope(s + step / 2 * k1)
    k3 = slope(s + step / 2 * k2)
    s += step / 6 * (k1 + 2 * k2 + 2 * k3 + slope(s + step * k3))
assert abs(s - length(1e-4, -0.5, 2.3)) < 1e-10
waits = [np.log((1 - s0) / s0) / 4 for s0 in (1e-4, 1e-8)]
assert np.allclose(waits, [2.3026, 4.6052], atol=1e-4) and abs(length(1e-4, -0.5, waits[0]) - 0.5) < 1e-12

# %% [markdown]
# ## 3. What negatives do to a column (10 points)
#
# Two aligned columns of squared lengths $\kappa^2=(9,1)$, no noise, $\sigma=(2,1)$, $\tau^2=2$. Each follows $\frac{d}{dt}\log\kappa_p^2=\rho\,\sigma_p^2(\bar T-T_p)$ with $T_p=\tanh(\tau^2g_p)$, $g_p=\kappa_p^2/n^2$, $\bar T=\sum_qg_qT_q$ and $\rho>0$.
#
# 1. Compute $T_1$, $T_2$ and $\bar T$. Which column grows? (4)
# 2. Which point with both columns different from zero is at rest, and where does $\sigma$ enter it? (3)
# 3. In words: of which mean is $T_p$, and why is the longer column cancelled first? (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. $g=(0.9,0.1)$, $T_1=\tanh1.8=0.947$, $T_2=\tanh0.2=0.197$, $\bar T=0.872$: the short column grows and the long one shrinks. 2. $T_1=T_2$, so $g_1=g_2$: equal lengths. $\sigma$ does not enter, it only sets the speeds. 3. $T_p$ is the mean of $s_ps_p'$ over negatives as the loss weighs them. The longer a column, the more a negative must agree in it to count, so the more of the positive pair's pull it cancels.
#
# *Common mistakes.* The stronger signal wins, because $\sigma_1>\sigma_2$. $\bar T$ as the plain mean 0.572: the shares weigh it.

# %% tags=["solution"]
kappa2, sigma = np.array([9.0, 1.0]), np.array([2.0, 1.0])
g = kappa2 / kappa2.sum()
T = np.tanh(2 * g)
assert np.allclose([*T, g @ T], [0.9468, 0.1974, 0.8719], atol=1e-4)
for _ in range(20_000):  # to rest
    g = kappa2 / kappa2.sum()
    kappa2 = kappa2 * np.exp(1e-3 * sigma**2 * (g @ np.tanh(2 * g) - np.tanh(2 * g)))
assert abs(kappa2[0] / kappa2[1] - 1) < 1e-6
positives = np.array([[a, b] for a in (1, -1) for b in (1, -1)])
g = np.array([0.9, 0.1])
weight = np.exp(2 * positives @ g)  # of negatives s' for the anchor s = (1, 1)
assert np.allclose(weight @ positives / weight.sum(), T, rtol=1e-12)

# %% [markdown]
# ## 4. Hilltops (10 points)
#
# A ReLU filter looks at orthonormal patterns of probabilities $q=(0.1,\ 0.3,\ 0.4,\ 0.5)$. Along $u_m$ the variance is $(1-q_m)^2$, across it $q_m$.
#
# 1. At which rate does a nudge off $u_m$ grow or decay, for each of the four? Which are hilltops? (4)
# 2. Up to which $q$ is a pattern a hilltop? (3)
# 3. Ten hills have equal basins. How many filters must start at random for nine of the ten to be found on average? (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. $q-(1-q)^2$: $-0.71$, $-0.19$, $0.04$, $0.25$. The first two are hilltops. 2. $q^2-3q+1=0$, so $q=\frac{3-\sqrt5}2\approx0.382$. 3. $10\,(1-0.9^k)\ge9$, so $k\ge\log0.1/\log0.9=21.9$: 22 filters.
#
# *Common mistakes.* Variance $1-q$ along the pattern, which gives $\frac12$ in 2. As many filters as hills.

# %% tags=["solution"]
q = np.array([0.1, 0.3, 0.4, 0.5])
assert np.allclose(q - (1 - q) ** 2, [-0.71, -0.19, 0.04, 0.25], atol=1e-12)
root = (3 - 5**0.5) / 2
assert abs(root - (1 - root) ** 2) < 1e-15
finds = [10 * (1 - 0.9**k) for k in (21, 22)]
assert finds[0] < 9 <= finds[1]

# %% [markdown]
# ## 5. A mask and its complement (10 points)
#
# $x^+=2Dx$ and $x^{++}=2(I-D)x$; the diagonal matrix $D$ has independent entries, 0 or 1 with probability $\frac{1}{2}$. $x=\sum_jz_jM_j+\xi$ with $\mathbb{E} z_j^2=p=0.1$, and $\xi$ is white noise.
#
# 1. Which entries of $\mathbb{E}[x^+x^{++\top}]$ differ from those of $\mathbb{E}[xx^\top]$, and what are they? (4)
# 2. An atom lies on $n$ coordinates with entries $\pm1/\sqrt{n}$ and shares none with the others. Compute $\mathbb{E}[\langle M_j,x^+\rangle\langle M_j,x^{++}\rangle]$ for $n=8$. (3)
# 3. What is the chance that both views see a part of the atom? (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. Off the diagonal $\mathbb E[4D_{ii}(1-D_{kk})]=1$, so nothing changes; the diagonal is 0, and the noise with it. 2. $p\,(1-\frac1n)=0.0875$. 3. $1-2\cdot2^{-n}=1-2^{1-n}=0.992$.
#
# *Common mistakes.* Two independent masks, which leave the diagonal and its noise. $1-2^{-n}$ in 3.: both views must see something.

# %% tags=["solution"]
n, p = 8, 0.1
masks = np.array(np.meshgrid(*[[0, 1]] * n)).reshape(n, -1).T.astype(float)
atom = rng.choice([-1, 1], n) / n**0.5
moment = p * np.outer(atom, atom) + 0.3 * np.eye(n)
seen = 4 * np.einsum("ki,ij,kj->ij", masks, moment, 1 - masks) / len(masks)
assert np.allclose(seen, moment - np.diag(np.diag(moment)), atol=1e-13)
assert abs(atom @ seen @ atom - 0.0875) < 1e-13
count = masks.sum(1)
assert abs(np.mean((count > 0) & (count < n)) - (1 - 2 ** (1 - n))) < 1e-15

# %% [markdown]
# ## 6. The ceiling of a linear probe (10 points)
#
# $x=Mz+\xi$ with orthonormal atoms, $\mathbb{E} z_j^2=p$ for independent $z_j$, noise of variance $\sigma_\xi^2$ in each direction. A probe predicts $y=\langle w^\star,z\rangle$ by $\langle v,x\rangle$.
#
# 1. Show that $R^2\leq p/(p+\sigma_\xi^2)$ for every $v$. (5)
# 2. Compute it for $p=0.1$, $\sigma_\xi^2=0.09$. Do more labels help? (2)
# 3. Name a function of $x$ that beats it, and say why in one sentence. (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. With $a=M^\top v$ the error is $p\lVert w^\star-a\rVert^2+\sigma_\xi^2\lVert v\rVert^2\ge p\lVert w^\star-a\rVert^2+\sigma_\xi^2\lVert a\rVert^2$, least at $a=\frac p{p+\sigma_\xi^2}w^\star$; this leaves $\frac{\sigma_\xi^2}{p+\sigma_\xi^2}$ of $\mathbb Ey^2=p\lVert w^\star\rVert^2$. 2. 0.526. No: the bound holds for infinitely many labels. 3. A threshold on $\langle M_j,x\rangle$: along an atom the signal has size one and the noise $\sigma_\xi=0.3$, so a rare event is seen clearly.
#
# *Common mistakes.* The noise in all directions of $x$ counted: $v$ may lie in the span of the atoms. A probe on more features: a linear function of a linear representation is one of $x$.

# %% tags=["solution"]
d, k, p, noise = 12, 3, 0.1, 0.09
m = np.linalg.qr(rng.standard_normal((d, k)))[0]
w = rng.standard_normal(k)
moment = p * m @ m.T + noise * np.eye(d)
best = np.linalg.solve(moment, p * m @ w)


def r2(v):
    """Of the probe v, from exact moments."""
    return 1 - (p * w @ w - 2 * p * v @ m @ w + v @ moment @ v) / (p * w @ w)


assert abs(r2(best) - p / (p + noise)) < 1e-12 and abs(r2(best) - 0.526) < 5e-4
assert all(r2(best + 0.1 * rng.standard_normal(d)) < r2(best) for _ in range(100))
