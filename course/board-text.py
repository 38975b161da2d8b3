# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Board text
#
# The derivations that the plans do "at the board", each short enough for one board, with the numbers to write beside it. The code below each asserts what stands there.

# %%
import itertools

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize
from scipy.special import lambertw
from scipy.stats import t as student

rng = np.random.default_rng(3)

# %% [markdown]
# ## 1. One budget, or one for each direction (Ky Fan)
#
# To minimise $\operatorname{Tr}(V^\top CV)$.
#
# *One budget,* $\lVert V\rVert_F^2=1$: with $C=\sum_j\lambda_je_je_j^\top$ it is $\sum_j\lambda_j\lVert V^\top e_j\rVert^2$, a mean of the $\lambda_j$ with weights of sum 1. Least is $\lambda_1$, all on $e_1$: rank one.
#
# *One for each direction,* $V^\top V=I_k$: now each weight $\lVert V^\top e_j\rVert^2$ is at most 1, and their sum is $k$. Least is $\lambda_1+\dots+\lambda_k$, and $V$ spans $e_1,\dots,e_k$. If $V$ may be shorter ($V^\top V\preceq I$), only the negative ones are taken.
#
# For $\lambda=-3,-1,\frac12$ and $k=3$: $-3$ with one budget, $-4$ and rank 2 with one for each direction.

# %%
lam = np.array([-3.0, -1.0, 0.5])
for _ in range(200):
    v = rng.standard_normal((3, 3))
    one, each = v / np.linalg.norm(v), v / np.linalg.norm(v, 2)
    assert np.trace(one.T @ np.diag(lam) @ one) >= -3 and np.trace(each.T @ np.diag(lam) @ each) >= -4
    q = np.linalg.qr(v)[0][:, :2]
    assert np.trace(q.T @ np.diag(lam) @ q) >= -4

# %% [markdown]
# ## 2. One curve of directions, and a clock
#
# Equation (10) of the paper, $z=1$, $s=q^\top q$, $a=q^\top\Lambda q$, sorted by what it does:
#
# $$\dot q=-2\bigl[(1-s)\Lambda q+\Lambda q-aq\bigr]=\underbrace{-2(2-s)\Lambda q}_{\text{moves by }\Lambda}+\underbrace{2aq}_{\text{only scales}}.$$
#
# So $q$ is parallel to $e^{-2\Lambda\tau}q_0$ with the clock $\dot\tau=2-s$. While $s\approx0$ it goes at 2, at the end ($s=1$) at 1: the same curve, half as fast.
#
# The length: $\dot s=2q^\top\dot q=-8(1-s)a$. For $\Lambda=\lambda I$: $\dot s=-8\lambda s(1-s)$, a logistic curve.

# %%
q0, lam = np.array([0.1, 0.3, -0.2]), np.array([-1.0, -0.4, 0.7])


def by_gradients(_, y):
    """q by equation (10), and its clock."""
    q = y[:3]
    s, a = q @ q, q @ (lam * q)
    return [*(-2 * ((1 - s) * lam * q + lam * q - a * q)), 2 - s]


end = solve_ivp(by_gradients, (0, 1.5), [*q0, 0], rtol=1e-10, atol=1e-12).y[:, -1]
curve = np.exp(-2 * lam * end[3]) * q0
assert np.allclose(end[:3] / np.linalg.norm(end[:3]), curve / np.linalg.norm(curve), atol=1e-7)

# %% [markdown]
# ## 3. Weights projected, gradients projected: two clocks
#
# Projecting the weights after each small step gives $\dot q=-4\Lambda q+\Lambda qq^\top q+3qq^\top\Lambda q$. For $z=1$:
#
# $$\dot q=-(4-s)\Lambda q+3aq.$$
#
# Again "moves by $\Lambda$" and "only scales": the same curve, with the clock $\dot\tau=\frac{4-s}2=2-\frac s2$ in place of $2-s$. It is ahead as soon as $s>0$: by nothing at the start, by the factor $\frac32$ at the end.

# %%


def by_weights(_, y):
    """The same with projected weights."""
    q = y[:3]
    s, a = q @ q, q @ (lam * q)
    return [*(-(4 - s) * lam * q + 3 * a * q), 2 - s / 2]


other = solve_ivp(by_weights, (0, 1.5), [*q0, 0], rtol=1e-10, atol=1e-12).y[:, -1]
curve = np.exp(-2 * lam * other[3]) * q0
assert np.allclose(other[:3] / np.linalg.norm(other[:3]), curve / np.linalg.norm(curve), atol=1e-7)
assert other[3] > end[3]

# %% [markdown]
# ## 4. A small $\tau$ hears no negatives (Lemma B.9 of the paper)
#
# $-\log S=\log\bigl(1+K\,\mathbb E_{s'}e^{\tau^2(f_A^+\cdot f_B^--f_A^+\cdot f_B^+)}\bigr)$. For $\tau\to0$ every exponential is 1, so $1-S\to\frac K{1+K}$, and the mean over negatives is a plain mean. Signs of a negative are fair: $\mathbb E f_A^+\cdot f_B^-=0$. What is left of $-\frac1{\tau^2}\nabla\mathcal L$ is $\frac K{1+K}\nabla(f_A^+\cdot f_B^+)$ for each of the two sides: $\frac{2K}{1+K}$ times the force without negatives.
#
# For $K=8$: $\frac{16}9\approx1.78$.

# %%
g, k = np.array([0.5, 0.3, 0.2]), 8.0
signs = np.array(list(itertools.product((-1, 1), repeat=3)))


def loss(g, tau2):
    """Both sides, over all signs of a negative."""
    return 2 * np.log(1 + k * np.mean(np.exp(tau2 * (signs @ g - g.sum()))))


step = 1e-4 * np.eye(3)
force = np.array([(loss(g - h, 1e-3) - loss(g + h, 1e-3)) / 2e-4 for h in step]) / 1e-3
assert np.allclose(force, 2 * k / (1 + k), atol=2e-3) and abs(16 / 9 - 1.78) < 5e-3

# %% [markdown]
# ## 5. Which temperature levels soonest?
#
# Near balance, for many signals, $g_p$ is small: $T_p=\tanh(\tau^2g_p)\approx\tau^2g_p$, so an imbalance $\varepsilon$ decays at a rate proportional to $\tau^2(1-S)$. And $\frac{1-S}S=K\prod_p\frac{1+e^{-2\tau^2g_p}}2\approx Ke^{-\tau^2}$. With $x=\tau^2$:
#
# $$\text{rate}\propto\frac x{1+e^x/K},\qquad\text{largest where }1+\tfrac{e^x}K=\tfrac{xe^x}K\iff(x-1)e^{x-1}=\tfrac Ke\iff x=1+W(K/e).$$
#
# A small $x$ has no difference to act on, a large one has no force left. For $K=8$: 2.04.

# %%
grid = np.linspace(0.1, 10, 99_001)
for k, best in ((8.0, 2.04), (127.0, 3.81), (1000.0, 5.42)):
    x = grid[np.argmax(grid / (1 + np.exp(grid) / k))]
    assert abs(x - (1 + lambertw(k / np.e).real)) < 1e-3 and abs(x - best) < 0.01, (k, x)
shares, few = np.full(2000, 1 / 2000), 8 * np.prod((1 + np.exp(-2 * 2.0 * np.full(2000, 1 / 2000))) / 2)
assert abs(few / (8 * np.exp(-2.0)) - 1) < 1e-2

# %% [markdown]
# ## 6. The .382 rule
#
# A pattern is there with probability $q$. Its standardised presence is $\sqrt{(1-q)/q}$ or $-\sqrt{q/(1-q)}$. A ReLU filter on $u_m$ is open exactly if the pattern is there.
#
# *Along* $u_m$: $\mathbb E h^2=q\frac{1-q}q=1-q$, $\mathbb E h=\sqrt{q(1-q)}$, so the variance is $1-q-q(1-q)=(1-q)^2$. *Across:* the gate is open with probability $q$, whatever the other patterns are: $q$.
#
# A hilltop if $q<(1-q)^2$, that is $q<\frac{3-\sqrt5}2\approx.382$. Power iteration comes nearer by $\frac q{(1-q)^2}$ in each step.
#
# *The same for $h(z)=\lvert z\rvert$.* Along: $\mathbb Eh^2=1$, $\mathbb Eh=q\sqrt{\frac{1-q}q}+(1-q)\sqrt{\frac q{1-q}}=2\sqrt{q(1-q)}$, so the variance is $1-4q(1-q)=(1-2q)^2$. Across: $h'=\pm1$, so 1. As $(1-2q)^2<1$, no pattern is a hilltop.

# %%
for q in (0.1, 0.3, 0.5):
    x, chance = np.array([np.sqrt((1 - q) / q), -np.sqrt(q / (1 - q))]), np.array([q, 1 - q])
    h = np.maximum(x, 0)
    assert abs(chance @ x) < 1e-12 and abs(chance @ x**2 - 1) < 1e-12
    assert abs(chance @ h**2 - (chance @ h) ** 2 - (1 - q) ** 2) < 1e-12
    assert abs(chance @ x**2 - (chance @ np.abs(x)) ** 2 - (1 - 2 * q) ** 2) < 1e-12
root = (3 - 5**0.5) / 2
assert abs(root - (1 - root) ** 2) < 1e-12 and abs(root - 0.382) < 5e-4

# %% [markdown]
# ## 7. Linear filters of a field share one line
#
# $f_{km}=w_{km}^\top x_k$, one direction $s$ on top, an eigenvector of the covariance of all $f_{km}$ with eigenvalue $\lambda$; $F=\sum s_{km}f_{km}$ and $\eta_k=\operatorname{Cov}(x_k,F)$.
#
# 1. The eigenvector's equation, one entry: $\lambda s_{km}=\operatorname{Cov}(f_{km},F)=w_{km}^\top\eta_k$.
# 2. The flow goes up $\frac12\mathbb V[F]$ with $s$ held: $\partial F/\partial w_{km}=s_{km}x_k$, so $\dot w_{km}=\operatorname{Cov}(s_{km}x_k,F)=s_{km}\eta_k$.
# 3. Put 1 into 2: $\dot w_{km}=\frac1\lambda\eta_k\eta_k^\top w_{km}$. Nothing but $w_{km}$ itself depends on $m$: all filters of the field turn towards the one line $\eta_k$.

# %%
x = (rng.standard_normal((500, 3)) @ rng.standard_normal((3, 8)) + rng.standard_normal((500, 8))).reshape(500, 2, 4)
x, w = x - x.mean(0), rng.standard_normal((2, 5, 4))
f = np.einsum("nkd,kmd->nkm", x, w).reshape(500, -1)
values, vectors = np.linalg.eigh(f.T @ f / 500)
s, output = vectors[:, -1].reshape(2, 5), f @ vectors[:, -1]
eta = np.einsum("nkd,n->kd", x, output) / 500
assert np.allclose(values[-1] * s, np.einsum("kmd,kd->km", w, eta))
assert np.allclose(s[..., None] * eta[:, None], np.einsum("kd,ke,kme->kmd", eta, eta, w) / values[-1])

# %% [markdown]
# ## 8. A mask and its complement, entry by entry
#
# $x^+=2Dx$, $x^{++}=2(I-D)x$. Entry $(i,k)$ of $\mathbb E[x^+x^{++\top}]$ is $4\,\mathbb E[D_{ii}(1-D_{kk})]\,\mathbb E[x_ix_k]$.
#
# $i\ne k$: $4\cdot\frac12\cdot\frac12=1$, nothing changes. $i=k$: $D_{ii}(1-D_{ii})=0$, the diagonal goes, and white noise lives there alone. An atom on $n$ coordinates loses its diagonal, a part $\frac1n$. *Two independent masks:* $4\,\mathbb E[D_{ii}]\mathbb E[D'_{kk}]=1$ everywhere, and nothing is gained.

# %%
n = 4
masks = np.array(list(itertools.product((0, 1), repeat=n)))
moment = 4 * np.einsum("ai,ak->ik", masks, 1 - masks) / len(masks)
assert np.allclose(moment, 1 - np.eye(n))
atom = np.array([1, -1, 1, 1]) / 2
assert abs(atom @ (moment * np.outer(atom, atom)) @ atom - (1 - 1 / n)) < 1e-12

# %% [markdown]
# ## 9. The ceiling of everything linear
#
# $x=Mz+\xi$, atoms orthonormal, $y=\langle w^\star,z\rangle$. For $\langle v,x\rangle$ let $a=M^\top v$. The error is
#
# $$p\lVert w^\star-a\rVert^2+\sigma^2\lVert v\rVert^2\ \ge\ p\lVert w^\star-a\rVert^2+\sigma^2\lVert a\rVert^2\ \ge\ \tfrac{p\,\sigma^2}{p+\sigma^2}\lVert w^\star\rVert^2,$$
#
# for $\lVert v\rVert\ge\lVert a\rVert$, and by the best $a=\frac p{p+\sigma^2}w^\star$. So $R^2\le\frac p{p+\sigma^2}$, with any number of labels, also on top of a linear network.
#
# For $p=0.1$, $\sigma=0.3$: .526.

# %%
p, noise, target = 0.1, 0.09, rng.standard_normal(3)
for _ in range(500):
    a = rng.standard_normal(3) * 2
    assert p * np.sum((target - a) ** 2) + noise * a @ a >= p * noise / (p + noise) * target @ target - 1e-12
assert abs(p / (p + noise) - 0.526) < 5e-4

# %% [markdown]
# ## 10. When a lead grows: two atoms, and three
#
# $u=\sum_jw_jz_j$, $\delta=\log(w_1/w_2)$ small, $r=b/w<1$. For any number of atoms of weight $w$
#
# $$\dot\delta/\delta=\tfrac12\mathbb E\bigl[(z_1-z_2)^2;\,u\ne0\bigr]-\tfrac1w\mathbb E\bigl[S_b(u)z_1\bigr].$$
#
# *Two:* $p(1-p)-\bigl[p(1-p)(1-r)+\frac{p^2}2(2-r)\bigr]=p\bigl[r(1-\frac p2)-p\bigr]$: grows for $r>p/(1-\frac p2)$, from $p=\frac23$ on never. *Three:* $p\bigl[r(1-p+\frac{p^2}2)-\frac32p(1-p)\bigr]$: some $r<1$ is enough at every $p$, for the border is at most $\frac32(\sqrt2-1)\approx.621$, at $p=2-\sqrt2$.

# %%


def lead_rate(p, r, atoms, delta=1e-6):
    """By the values of all z."""
    w = np.ones(atoms)
    w[:2] = np.exp([delta / 2, -delta / 2])
    z = np.array(list(itertools.product((-1, 0, 1), repeat=atoms)))
    u, chance = z @ w, np.where(z == 0, 1 - p, p / 2).prod(1)
    speed = (chance * np.sign(u) * np.maximum(np.abs(u) - r, 0)) @ z
    return (speed[0] / w[0] - speed[1] / w[1]) / delta


for p, r in itertools.product((0.1, 0.5, 0.8), (0.2, 0.7, 0.95)):
    assert abs(lead_rate(p, r, 2) - p * (r * (1 - p / 2) - p)) < 1e-5
    assert abs(lead_rate(p, r, 3) - p * (r * (1 - p + p**2 / 2) - 1.5 * p * (1 - p))) < 1e-5
p = np.linspace(0.01, 0.99, 9801)
border = 1.5 * p * (1 - p) / (1 - p + p**2 / 2)
assert abs(border.max() - 1.5 * (2**0.5 - 1)) < 1e-6 and abs(p[border.argmax()] - (2 - 2**0.5)) < 1e-3
assert abs(border.max() - 0.621) < 5e-4

# %% [markdown]
# ## 11. One budget: the soft threshold
#
# Whiten each view and turn it to its canonical directions: $\mathbb Exx^\top=\mathbb Eyy^\top=I$, $\mathbb Exy^\top=\operatorname{diag}(\rho)$. One encoder $f(x)=Ux$, $G=U^\top U$, shares $g_j=G_{jj}$ of sum $\mathbb E\lVert f\rVert^2=1$. InfoNCE on one side, with many strangers $y'$: $-\tau^2\,\mathbb Ef(x)^\top f(y)+\mathbb E\log\mathbb E'e^{\tau^2f(x)^\top f(y')}$.
#
# 1. *Positives.* $\mathbb Ef(x)^\top f(y)=\mathbb Ex^\top Gy=\sum_j\rho_jg_j$.
# 2. *Strangers.* Given $x$, $x^\top Gy'$ is Gaussian with mean 0 and variance $\lVert Gx\rVert^2$, so the logarithm is $\frac{\tau^4}2\lVert Gx\rVert^2$.
# 3. The mean over $x$: $\frac{\tau^4}2\lVert G\rVert_F^2\ge\frac{\tau^4}2\sum_jg_j^2$, with equality for a diagonal $G$. Entries off the diagonal earn nothing and cost.
# 4. Both sides: $L=-2\tau^2\sum_j\rho_jg_j+\tau^4\sum_jg_j^2$.
# 5. Move a bit $\varepsilon$ of share from $j$ to $k$: $L$ falls by $2\tau^2\varepsilon\bigl[(\rho_k-\tau^2g_k)-(\rho_j-\tau^2g_j)\bigr]$.
# 6. Nothing is gained by any move: $\rho_j-\tau^2g_j=\mu$ wherever there is a share, $\rho_j\le\mu$ where there is none. So $g_j=(\rho_j-\mu)_+/\tau^2$, $\sum_j(\rho_j-\mu)_+=\tau^2$.
#
# For $\rho=.9,.7,.5,.3$ and $\tau^2=1$: with three in, $\mu=\frac{2.1-1}3=.37$, which is above .3, so three it is; shares .53, .33, .13.

# %%
rho = np.array([0.9, 0.7, 0.5, 0.3])


def population_loss(g, rho, tau2):
    """L of a diagonal G."""
    return -2 * tau2 * rho @ g + tau2**2 * g @ g


found = minimize(
    lambda g: population_loss(g, rho, 1.0),
    np.full(4, 0.25),
    bounds=[(0, 1)] * 4,
    constraints={"type": "eq", "fun": lambda g: g.sum() - 1},
)
assert np.allclose(found.x, [0.53, 0.33, 0.13, 0], atol=5e-3) and abs((2.1 - 1) / 3 - 0.37) < 5e-3
x, u = rng.standard_normal((1_000_000, 4)), rng.standard_normal((3, 4)) / 3
y = rho * x + np.sqrt(1 - rho**2) * rng.standard_normal(x.shape)
gram, anchor = u.T @ u, np.array([0.5, -1.0, 0.3, 0.8])
assert abs(np.mean(np.sum((x @ gram) * y, 1)) - np.diag(gram) @ rho) < 0.01
assert abs(np.log(np.mean(np.exp(x @ gram @ anchor))) - np.sum((gram @ anchor) ** 2) / 2) < 0.01
assert abs(np.mean(np.sum((x @ gram) ** 2, 1)) - np.sum(gram**2)) < 0.01

# %% [markdown]
# ## 12. When does a run decide?
#
# A rule "at least $c$", a mean $m$ over $n$ seeds with standard deviation $\sigma$. The interval at 0.5 % is $m\pm t_{n-1}\,\sigma/\sqrt n$. The run decides if it does not contain $c$, that is if $n>(t_{n-1}\,\sigma/(m-c))^2$: half the distance asks for four times the seeds.
#
# Ten seeds, $m=0.16$, $\sigma=0.15$, $c=0.05$: $t_9=3.69$, the interval is $(-0.02,\,0.34)$, which contains $c$: undecided. Twenty seeds of the same mean and spread would decide.

# %%


def half_width(n, sd=0.15):
    """Of the interval at 0.5 %."""
    return student.ppf(1 - 0.0025, n - 1) * sd / n**0.5


assert abs(student.ppf(0.9975, 9) - 3.69) < 5e-3
assert np.allclose([0.16 - half_width(10), 0.16 + half_width(10)], [-0.02, 0.34], atol=0.006)
enough = next(n for n in range(2, 100) if half_width(n) < 0.11)
assert enough == 20, enough

# %% [markdown]
# ## 13. The exit tickets of the six second lectures
#
# Their numbers are in the answers to votes and exit tickets; this is where they come from.

# %%
ticket = np.exp(-2 * np.array([-1.0, -0.5, 1 / 3]))
assert abs(ticket[1] / ticket[0] - 0.37) < 5e-3  # the equation without a width
assert abs(1 + lambertw(127 / np.e).real - 3.8) < 0.05  # temperature and two readings
# roughness and one line: open where the pattern is absent
for q, along, across in ((0.3, 0.09, 0.7), (0.7, 0.49, 0.3)):
    h, chance = np.array([0.0, np.sqrt(q / (1 - q))]), np.array([q, 1 - q])
    assert np.allclose([chance @ h**2 - (chance @ h) ** 2, chance @ (h > 0)], [along, across])
basins = np.array([0.2, *np.full(9, 0.8 / 9)])
assert np.allclose([np.sum(1 - (1 - basins) ** 10), 10 * (1 - 0.9**10)], [6.34, 6.51], atol=6e-3)  # the top layer
numbers = [0.2 / (0.2 + 0.16), 0.2 / 0.9, 1.5 * 0.16 / (1 - 0.2 + 0.02)]
assert np.allclose(numbers, [0.56, 0.22, 0.29], atol=5e-3)  # axes, probes and four figures

# %% [markdown]
# ## 14. Positive pairs alone: one clock, and a power of $d$
#
# Columns $\kappa_p$, their agreement $\hat\kappa_p^2$ (0 at the start, at most $\kappa_p^2$), noise $\kappa_\xi^2$; $n^2=\sum_p\kappa_p^2+\kappa_\xi^2$, $a=\sum_p\hat\kappa_p^2/n^2$. In the time of the flow
#
# $$(\kappa_p^2)'=\sigma_p^2(\hat\kappa_p^2-a\kappa_p^2),\qquad(\hat\kappa_p^2)'=\sigma_p^2(\kappa_p^2-a\hat\kappa_p^2),\qquad(\kappa_\xi^2)'=-\sigma_\xi^2a\,\kappa_\xi^2.$$
#
# 1. Sum and difference: $u_p=\kappa_p^2+\hat\kappa_p^2$ has $(\log u_p)'=\sigma_p^2(1-a)$, $w_p=\kappa_p^2-\hat\kappa_p^2$ has $(\log w_p)'=-\sigma_p^2(1+a)$.
# 2. One clock for all, $\Theta'=1-a$: $u_p=\sigma_p^2e^{\sigma_p^2\Theta}$, from $\kappa_p=\sigma_p$, $\hat\kappa_p=0$.
# 3. Conserved: $\sum_p\frac{\kappa_p^2}{\sigma_p^2}+\frac{\kappa_\xi^2}{\sigma_\xi^2}$, for its derivative is $\sum_p\hat\kappa_p^2-a\,n^2=0$. At the start it is $r+(d-r)=d$.
# 4. At rest $w_p=0$ and $\kappa_\xi=0$, so $\kappa_p^2=\frac{u_p}2$, and 3 says $\sum_pe^{\sigma_p^2\Theta}=2d$.
# 5. $\frac{\kappa_1}{\kappa_r}=\frac{\sigma_1}{\sigma_r}e^{(\sigma_1^2-\sigma_r^2)\Theta/2}$, and for large $d$, where $e^{\sigma_1^2\Theta}\approx2d$: $\frac{\sigma_1}{\sigma_r}(2d)^{\frac12(1-\sigma_r^2/\sigma_1^2)}$.
#
# The size of the noise is in the time alone, its number in $d$. For $\sigma=(2,1)$ the power is $\frac38$.

# %%
scale, noise, d = np.array([4.0, 1.0]), 0.25, 50  # squares of σ


def positives_alone(_, y):
    """κ², κ̂² of two signals, κ_ξ² and the clock."""
    k, agree, dust = y[:2], y[2:4], y[4]
    a = agree.sum() / (k.sum() + dust)
    return [*(scale * (agree - a * k)), *(scale * (k - a * agree)), -noise * a * dust, 1 - a]


end = solve_ivp(positives_alone, (0, 200), [*scale, 0, 0, (d - 2) * noise, 0], rtol=1e-10, atol=1e-12).y[:, -1]
assert abs(end[4]) < 1e-6 and np.allclose(end[:2], end[2:4], rtol=1e-6)
assert abs(np.exp(scale * end[5]).sum() / (2 * d) - 1) < 1e-5
assert abs(np.sqrt(end[0] / end[1]) / (2 * np.exp(1.5 * end[5])) - 1) < 1e-5 and (1 - 1 / 4) / 2 == 3 / 8

# %% [markdown]
# ## 15. Learned, then overgrown: the force with $x-x_s$
#
# Linear $f_i(x)=\langle w_i,x\rangle$, no mask: $x^+=x^{++}=x$. $L=-\tau\,\mathbb E\log\ell_p$, where $\ell$ is the softmax of $\langle f(x),f(\cdot)\rangle/\tau$ over $x$ itself ($\ell_p$) and negatives $x_s$ ($\ell_s$); no gradient through the second factor.
#
# 1. $\tau\,\partial\log\ell_p/\partial f_i(x)=f_i(x)-\bigl[\ell_pf_i(x)+\sum_s\ell_sf_i(x_s)\bigr]$, and $1-\ell_p=\sum_s\ell_s$.
# 2. So $\dot w_i=\mathbb E\sum_s\ell_s\,\langle w_i,x-x_s\rangle\,x$, and along a unit vector $v$ it grows at the rate $\mathbb E\sum_s\ell_s\langle v,x\rangle\langle v,x-x_s\rangle$.
# 3. *At first* all $\ell_s$ are equal and $x_s$ is independent of $x$: in proportion to $\mathbb E\langle v,x\rangle^2$, that is $p+\sigma^2$ along an atom, $\sigma^2$ along a dense direction.
# 4. *Later* $\ell_s$ sits on negatives whose outputs resemble that of $x$: they have its atoms, and even some of its noise along them. Then $\langle M_j,x-x_s\rangle$ loses the signal and part of the noise: less than $\sigma^2$. Along a dense direction, which the outputs do not show yet, nothing has been chosen: $\sigma^2$. Now the noise is faster.

# %%
p, sigma, n, tau = 0.1, 0.3, 2000, 0.02
z = rng.choice([-1, 0, 1], (n, 4), p=[p / 2, 1 - p, p / 2])
seen, dense = z + sigma * rng.standard_normal((n, 4)), sigma * rng.standard_normal(n)  # along atoms; along one more


def rates_of_growth(weight):
    """Along an atom and along a dense direction, where the outputs show the atoms with this weight."""
    logits = weight**2 * seen @ seen.T / tau
    share = np.exp(logits - logits.max(1, keepdims=True))
    share /= share.sum(1, keepdims=True)
    left = share.sum(1, keepdims=True) - share.diagonal()[:, None]
    atoms = np.mean(np.sum(seen * (left * seen - (share @ seen - share.diagonal()[:, None] * seen)), 1)) / 4
    return atoms, np.mean(dense * (left[:, 0] * dense - (share @ dense - share.diagonal() * dense)))


first, later = rates_of_growth(0.0), rates_of_growth(1.0)
assert np.allclose(first, [p + sigma**2, sigma**2], atol=0.01) and later[0] < 0.5 * later[1], (first, later)

# %% [markdown]
# ## 16. A nudge: gap against roughness
#
# The flow $\dot w=P_w^\perp A(w)\,w$ rests at $w$ with $A(w)w=\lambda_1w$, $\lVert w\rVert=1$. Let $v=w+\varepsilon u$, $u\perp w$ a unit vector.
#
# 1. $A(v)v=A(w)v+\bigl(A(v)-A(w)\bigr)w+O(\varepsilon^2)$, and $A(w)v=\lambda_1w+\varepsilon A(w)u$.
# 2. The sphere takes off what lies along $v$; of the part along $u$ that is $\varepsilon\lambda_1$: $\dot\varepsilon=\varepsilon\,(u^\top A(w)u-\lambda_1)+u^\top\bigl(A(v)-A(w)\bigr)w$.
# 3. *Gap:* $u^\top A(w)u\le\lambda_2$. *Roughness:* $\lVert(A(v)-A(w))w\rVert\le\rho\,\varepsilon$.
# 4. So $\dot\varepsilon\le\varepsilon\,(\rho-\lambda_{\mathrm{gap}})$: gap above roughness is *enough*. It is not *needed* where the last term of 2 is negative, as for a ReLU gate that inputs cross.

# %%
base, change, b = np.diag([3.0, 1.0, 0.5]), rng.standard_normal((3, 3)), rng.standard_normal(3)
change = (change + change.T) / 4
change[:, 0] = change[0] = 0.0
change[0, 1] = change[1, 0] = 0.3
at, b[0] = np.eye(3)[0], 0.0  # A(v) = base + (b·v) change, so A(e1) = base


def speed(v):
    """P⊥ A(v) v on the sphere."""
    y = (base + (b @ v) * change) @ v
    return y - v * (v @ y)


for _ in range(50):
    u = np.append(0.0, rng.standard_normal(2))
    u /= np.linalg.norm(u)
    v = at + 1e-6 * u
    grown = speed(v / np.linalg.norm(v)) @ u / 1e-6
    exact = u @ base @ u - 3 + (b @ u) * (u @ change @ at)
    rough = np.linalg.norm(b) * np.linalg.norm(change @ at)
    assert abs(grown - exact) < 1e-4 and grown <= rough - (3 - 1) + 1e-4

# %% [markdown]
# ## 17. A temperature that moves, and too much of it
#
# *Learned.* In $h_j=\tau^2g_j\ge0$ the loss of section 11 is $\sum_j(h_j-\rho_j)^2-\sum_j\rho_j^2$, and $\tau^2=\sum_jh_j$ is free. So $h_j=\rho_j$, $\tau^2=\sum_j\rho_j$, $\mu=0$: for .9, .7, .5, .3 it is 2.4.
#
# *Fixed above the sum,* one encoder: the shares have to add up to one, so all $m$ directions that have an output are in, $\sum_j(\rho_j-\mu)=\tau^2$ and $\mu=\frac{\sum_j\rho_j-\tau^2}m<0$. A private direction ($\rho=0$) has the share $-\mu/\tau^2$.
#
# For .9, .7, .5, .3, two private directions and $\tau^2=4$: $\mu=-\frac{1.6}6=-.27$, each private direction has $\frac1{15}$ of the outputs.

# %%
six = np.append(rho, np.zeros(2))
free = minimize(lambda h: np.sum(h**2) - 2 * rho @ h, np.full(4, 0.1), bounds=[(0, None)] * 4)
assert np.allclose(free.x, rho, atol=1e-4) and abs(free.x.sum() - 2.4) < 1e-3
flooded = minimize(
    lambda g: population_loss(g, six, 4.0),
    np.full(6, 1 / 6),
    bounds=[(0, 1)] * 6,
    constraints={"type": "eq", "fun": lambda g: g.sum() - 1},
)
assert np.allclose(flooded.x[4:], 1 / 15, atol=1e-3) and abs((2.4 - 4) / 6 + 0.27) < 5e-3
ticket, level = np.array([0.9, 0.6, 0.3, 0.0]), (1.8 - 3) / 4  # of one testbed
assert np.allclose(np.maximum(ticket - 0.5, 0) / 0.5, [0.8, 0.2, 0, 0]) and abs(ticket.sum() - 1.8) < 1e-12
assert abs(-level / 3 - 0.1) < 1e-12 and abs((ticket - level).sum() / 3 - 1) < 1e-12
