# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Exam 2
#
# 90 minutes, 60 points, 10 for each question. Allowed: one handwritten page, a calculator. Give the formula before the number.

# %% tags=["solution"]
import numpy as np

rng = np.random.default_rng(2)

# %% [markdown]
# ## 1. Too many negatives (10 points)
#
# $\mathbb{E}[C]=n[(q-p)\mu\mu^\top-p\Sigma]$ with $p$ positives and $q$ negatives for each anchor, $\Sigma=\operatorname{diag}(1,\frac{1}{2})$ and $\mu=(\frac{1}{2},\frac{1}{2})$.
#
# 1. Derive for which $q$ the matrix has a positive eigenvalue, and show that it never has two. (5)
# 2. How many negatives are too many for $p=1$? (2)
# 3. Which direction loses its negative sign first? Is it $\mu$? (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. Between two factors $\Sigma^{-1/2}$ it is $n$ times $(q-p)ww^\top-pI$ with $\lVert w\rVert^2=\mu^\top\Sigma^{-1}\mu=:t$, and congruence keeps the signs. All eigenvalues are $-p$ but one, $(q-p)t-p$, which is positive for $q>q^\star=p\,(1+1/t)$. 2. $t=\frac14+\frac12=\frac34$, $q^\star=\frac73$: three. 3. The null vector at $q^\star$ is $\Sigma^{-1}\mu=(\frac12,1)$, not $\mu$. Along $\mu$ the sign changes at $1+\mu^\top\Sigma\mu/\lVert\mu\rVert^4=2.5$ only.
#
# *Common mistakes.* $\mu^\top\mu$ in place of $\mu^\top\Sigma^{-1}\mu$. The direction $\mu$.

# %% tags=["solution"]
mu, covariance = np.array([0.5, 0.5]), np.diag([1.0, 0.5])


def expected(q):
    """E[C]/n for one positive."""
    return (q - 1) * np.outer(mu, mu) - covariance


edge = 1 + 1 / (mu @ np.linalg.solve(covariance, mu))
assert abs(edge - 7 / 3) < 1e-14
for q, positive in ((1, 0), (2, 0), (3, 1), (50, 1)):
    assert (np.linalg.eigvalsh(expected(q)) > 0).sum() == positive
assert np.allclose(expected(edge) @ np.linalg.solve(covariance, mu), 0, atol=1e-14)
assert abs(mu @ expected(2.5) @ mu) < 1e-15

# %% [markdown]
# ## 2. One budget, or one for each direction (10 points)
#
# $\Lambda=(-3,-1,\frac{1}{2})$ are the eigenvalues of $C$; the model is $u=\Theta x$ with $z=3$ outputs.
#
# 1. Minimise $\operatorname{Tr}(\Theta C\Theta^\top)$ under $\Vert\Theta\Vert_F\leq1$. Which rank has the optimum? (4)
# 2. Minimise it under $\Vert\Theta\Vert_{\mathrm{op}}\leq1$. Which rank? (4)
# 3. What changes if $z=1$? (2)

# %% [markdown] tags=["solution"]
# **Solution.** The loss is $\sum_j\lambda_jm_j$ with $m_j=\lVert\Theta v_j\rVert^2$. 1. $\sum_jm_j\le1$: all of it on $\lambda_1$, minimum $-3$, rank 1. 2. $m_j\le1$ for each $j$: one on each negative eigenvalue, minimum $-4$, rank 2. 3. Both are $-3$ with rank 1: with one output the two norms agree.
#
# *Common mistakes.* Rank 3 in 2.: a positive eigenvalue costs, so its direction stays empty.

# %% tags=["solution"]
lam = np.array([-3.0, -1.0, 0.5])
least = {"F": 0.0, "op": 0.0}
for _ in range(4000):
    theta = rng.standard_normal((3, 3))
    for name, norm in (("F", np.linalg.norm(theta)), ("op", np.linalg.norm(theta, 2))):
        value = ((theta / norm) ** 2 @ lam).sum()
        assert value >= {"F": -3, "op": -4}[name] - 1e-12
for theta, value in ((np.diag([1.0, 0, 0]), -3), (np.diag([1.0, 1, 0]), -4)):
    assert abs((theta**2 @ lam).sum() - value) < 1e-15

# %% [markdown]
# ## 3. Positive pairs alone (10 points)
#
# At infinite width, two signals, $\sigma^2=(2,1)$, of $d$ signals and noises. Training on positive pairs alone ends where $\sum_pe^{\sigma_p^2\Theta}=2d$, at the condition number $\frac{\sigma_1}{\sigma_2}e^{(\sigma_1^2-\sigma_2^2)\Theta/2}$.
#
# 1. Compute it for $d=21$. (4)
# 2. With which power of $d$ does it grow? (3)
# 3. Half of the noise dimensions are dropped. Is the end better or worse? And if instead all noise is made smaller? (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. With $x=e^\Theta$: $x^2+x=42$, $x=6$, condition number $\sqrt2\sqrt6=\sqrt{12}\approx3.46$. 2. $x\approx\sqrt{2d}$, so it grows like $d^{1/4}$; in general like $d^{(1-\sigma_2^2/\sigma_1^2)/2}$. 3. Better: $d$ falls. The size of the noise changes the time, not the end.
#
# *Common mistakes.* $d^{1/2}$: the square root of $x$ is missing. "Smaller noise, smaller collapse".

# %% tags=["solution"]
import torch

from contrastive_dynamics.alignment_and_balance import non_contrastive_solution, wide_condition_number, wide_start


def end(d, noise):
    """The condition number where the exact flow ends."""
    sigma = torch.tensor([[2**0.5, 1.0]], dtype=torch.float64)
    last = torch.tensor([float("inf")], dtype=torch.float64)
    return float(wide_condition_number(non_contrastive_solution(wide_start(sigma, noise, d - 2), sigma, noise, last)))


assert abs(end(21.0, 0.7) - 12**0.5) < 1e-9 and abs(end(21.0, 0.35) - 12**0.5) < 1e-9
power = np.log(end(1e12, 0.7) / end(1e10, 0.7)) / np.log(100)
assert abs(power - 0.25) < 1e-5 and end(11.0, 0.7) < end(21.0, 0.7)

# %% [markdown]
# ## 4. Linear filters share one line (10 points)
#
# Fields $x_k$, linear filters $f_{km}=w_{km}^\top x_k$, covariance $\mathbb{C}[f]$ with top eigenvalue $\lambda$ and eigenvector $s$. The top layer has rank one, so $\dot w_{km}=s_{km}\eta_k$ with $\eta_k=\mathbb{C}[x_k,F]$, $F=\sum_{km}s_{km}f_{km}$.
#
# 1. Show that $\lambda s_{km}=w_{km}^\top\eta_k$. (4)
# 2. Show that $\dot w_{km}=H_kw_{km}$ with one matrix $H_k$ for all filters of a field, and conclude where power iteration takes them. (4)
# 3. Where does the argument fail for ReLU? (2)

# %% [markdown] tags=["solution"]
# **Solution.** 1. The eigenvalue equation is $\lambda s_{km}=\sum_{k'm'}\mathbb C[f_{km},f_{k'm'}]s_{k'm'}=\mathbb C[f_{km},F]=w_{km}^\top\mathbb C[x_k,F]$. 2. Put it into $\dot w_{km}=s_{km}\eta_k$: $H_k=\eta_k\eta_k^\top/\lambda$. It does not depend on $m$ and has rank one, so after one step all filters of the field lie on the line of $\eta_k$. 3. The gate of a filter is in its gradient, so that $\eta$ depends on $m$.
#
# *Common mistakes.* One line for the whole network: $\eta_k$ depends on the field.

# %% tags=["solution"]
x, w = rng.standard_normal((500, 3, 6)) @ rng.standard_normal((6, 6)), rng.standard_normal((3, 4, 6))
x = x - x.mean(0)
f = np.einsum("nkd,kmd->nkm", x, w).reshape(500, -1)
values, vectors = np.linalg.eigh(f.T @ f / 500)
s, top = vectors[:, -1].reshape(3, 4), values[-1]
eta = np.einsum("nkd,n->kd", x, f @ vectors[:, -1]) / 500
assert np.allclose(top * s, np.einsum("kmd,kd->km", w, eta), atol=1e-10)
moved, common = s[..., None] * eta[:, None], np.einsum("kd,ke->kde", eta, eta) / top
assert np.allclose(moved, np.einsum("kde,kme->kmd", common, w), atol=1e-10)

# %% [markdown]
# ## 5. Hills that are found (10 points)
#
# A filter that starts at random ends on hill $j$ with probability $b_j$.
#
# 1. How many different hills do $K$ filters find on average? (3)
# 2. Compute it for $b=(\frac{1}{2},\frac{1}{4},\frac{1}{4})$ and $K=2$, and for three equal basins. (3)
# 3. Show that for given $K$ and number of hills equal basins are best. (4)

# %% [markdown] tags=["solution"]
# **Solution.** 1. $\sum_j1-(1-b_j)^K$: a hill is found unless every filter misses it. 2. $\frac34+2\cdot\frac7{16}=1.625$, and $3\,(1-\frac49)=\frac53$. 3. $b\mapsto1-(1-b)^K$ is concave on $[0,1]$, and $\sum_jb_j=1$: Jensen's inequality.
#
# *Common mistakes.* $\sum_jKb_j=K$, which counts a hill that two filters find twice.

# %% tags=["solution"]


def finds(b, k):
    """Expected number of hills that k filters find."""
    return (1 - (1 - np.asarray(b)) ** k).sum()


assert abs(finds([0.5, 0.25, 0.25], 2) - 1.625) < 1e-15 and abs(finds([1 / 3] * 3, 2) - 5 / 3) < 1e-14
counted = sum(p * r * len({i, j}) for i, p in enumerate((0.5, 0.25, 0.25)) for j, r in enumerate((0.5, 0.25, 0.25)))
assert abs(counted - 1.625) < 1e-15
for k in (2, 5, 20):
    assert all(finds(rng.dirichlet(np.ones(6)), k) <= finds([1 / 6] * 6, k) + 1e-12 for _ in range(200))

# %% [markdown]
# ## 6. What a threshold sees (10 points)
#
# A neuron with nearly equal weights $w_1\approx w_2\approx w$ on two atoms, threshold $b<w$, no noise. Each $z_j$ is $\pm1$ with probability $\frac{p}{2}$ each, else 0. The neuron grows by $\mathbb{E}[S_b(\langle w,z\rangle)z]$ with the soft threshold $S_b$.
#
# 1. A small lead $\log(w_1/w_2)$ grows at the relative rate $p\,[\frac{b}{w}(1-\frac{p}{2})-p]$. From which threshold on does it grow? Compute it for $p=0.2$. (4)
# 2. From which $p$ on is no threshold enough? (3)
# 3. What does a neuron with $b=0$ know of single atoms, and why? (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. $\frac bw>\frac p{1-p/2}=\frac29\approx0.222$. 2. The bound is 1 at $p=\frac23$. 3. Nothing: the loss of a linear $f$ contains the neurons only through inner products and is the same after any rotation of them, so a random start stays a random mixture.
#
# *Common mistakes.* $p=1$ in 2. "A larger threshold always helps": for $b>w$ an atom alone does not fire.

# %% tags=["solution"]


def lead(p, ratio, delta=1e-5):
    """Rate of log(w1/w2) over itself, summed over the nine values of z."""
    w = np.exp([delta / 2, -delta / 2])
    z = np.array([[a, b] for a in (-1, 0, 1) for b in (-1, 0, 1)], dtype=float)
    chance = np.where(z == 0, 1 - p, p / 2).prod(1)
    soft = np.sign(z @ w) * np.maximum(np.abs(z @ w) - ratio, 0)
    velocity = (chance * soft) @ z
    return (velocity / w) @ [1, -1] / delta


for p in (0.2, 0.5):
    least = p / (1 - p / 2)
    assert lead(p, 0.98 * least) < 0 < lead(p, 1.02 * least)
    assert abs(lead(p, 0.4) - p * (0.4 * (1 - p / 2) - p)) < 1e-5
assert abs(0.2 / 0.9 - 2 / 9) < 1e-15 and all(lead(0.7, ratio) < 0 for ratio in (0.1, 0.5, 0.95))
