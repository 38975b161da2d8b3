# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Solutions: nonlinearity
#
# The exercises at the end of the chapter and of its appendix. A heading names an exercise by its label; the instructor's edition puts the statement in its place. Each part of an exercise is worth four points. The code asserts what was derived by hand.

# %%
import math
from dataclasses import replace
from itertools import product

import torch
from torch.nn.functional import normalize

from contrastive_dynamics.losses import (
    activation, contrastive_energy, half_squared_distances, infonce_importance, infonce_loss,
)  # fmt: skip
from contrastive_dynamics.nonlinearity.networks import TokenTraining
from contrastive_dynamics.nonlinearity.one_filter import (
    GaussianMixture, count_score, eigen_check, flow_jacobian, growth_rate, latent_summation, orthonormal_patterns,
    population_field, single_modulation, winning_count, winning_probability,
)  # fmt: skip
from contrastive_dynamics.nonlinearity.two_layers import (
    between_variance, field_covariances, hidden_outputs, rank_one_gram, two_layer_gradient,
)  # fmt: skip
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.run_defaults import torch_defaults
from experiments.nonlinearity import matching_curves

torch_defaults("cpu")
seed, author = 1000, TokenTraining()
linear, relu, single = activation("linear"), activation("relu"), single_modulation
pool = author.pool([seed])


def fields_of(seed, purpose):
    """400 samples of four fields of six coordinates, and their generator."""
    g = stream(seed, 0, purpose)
    x = torch.randn(400, 24, generator=g) @ torch.randn(24, 24, generator=g)
    return x.view(400, 4, 6), g


# %% [markdown]
# ## ex-rest
#
# At a fixed point with $Aw=\lambda w$, where $A$ does not change nearby, the Jacobian of $P^\perp_wAw$ is $P^\perp(A-\lambda)P^\perp$. A nudge
# grows at the rate (largest *other* eigenvalue of $A$) $-\ \lambda$.
#
# 1. Every $\phi_i$ rests. Only $\phi_1$ is an LME. The rate is $\lambda_2-\lambda_1<0$ there and $\lambda_1-\lambda_i>0$ at any other $\phi_i$.
# 2. Every $u_m$ rests, by equation (9) of the paper. No input lies on the plane $u_m^\top x=0$, so the gates stay as they are and $A$ is constant nearby. The rate is
#    $q_m-(1-q_m)^2$. It changes sign at $q_m=(3-\sqrt5)/2$, where $u_m$ stops being an LME.
# 3. The energy is $\mathcal E(w)=\tfrac14(1-\tfrac1\pi)\,w^\top\Sigma w$: on a centred Gaussian a ReLU filter does PCA. Both axes rest. The long one
#    is stable, with the rate $-\tfrac12(1-\tfrac1\pi)(a^2-b^2)$; the short one has the opposite rate. But
#    $A(e_1)=\tfrac12\operatorname{diag}\bigl((1-\tfrac1\pi)a^2,\ b^2\bigr)$: the gate takes a mean off along $w$, and none across it. For
#    $1-\tfrac1\pi<b^2/a^2<1$ the long axis is stable and no LME.
#
# In 1. and 2. no LME means unstable. In 3. it does not: inputs cross the plane $w^\top x=0$, and the term $-\mathbb E[h]B$ of the
# Jacobian, $B=\int_{w^\top x=0}xx^\top p$ (see Theorem 1 of the paper), adds the stability that the gap lacks.

# %%
u = orthonormal_patterns(6, 6, stream(seed, 0, "exercise rest"))
q, values = torch.tensor([0.1, 0.2, 0.35, 0.4, 0.6, 0.8]), 6 - torch.arange(6.0)
a, model = u * values @ u.mT, latent_summation(u, q)
cases = {  # the field, the predicted rates at the six directions
    "linear": (lambda w: a.expand(6, 6, 6), torch.tensor([-1.0, 1, 2, 3, 4, 5])),
    "ReLU": (population_field(*model, relu), q - (1 - q) ** 2),
}
for name, (field, rate) in cases.items():
    check = eigen_check(field, u.mT)
    found = growth_rate(flow_jacobian(field, u.mT, step=1e-4))
    assert float(check.residual.max()) < 1e-10
    assert float((found - rate).abs().max()) < 1e-5
    assert check.is_lme.tolist() == (rate < 0).tolist()
    print(f"{name}: LME", ["yes" if yes else "no" for yes in check.is_lme.tolist()])
    print("rates", [round(r, 4) for r in found.tolist()])

# %%
sigma = torch.tensor([1.0, 0.8])  # a², b²
gaussian = torch.zeros(1, 1, 2), torch.diag(sigma)[None, None], torch.ones(1, 1)
field, axes = GaussianMixture(*gaussian).matrix_field(relu), torch.eye(2)
for w, sign, axis in zip(axes, (-1, 1), ("long", "short"), strict=True):
    check = eigen_check(field, w[None])
    rate = sign * (1 - 1 / math.pi) * (sigma[0] - sigma[1]) / 2
    found = growth_rate(flow_jacobian(field, w[None], step=1e-4))[0]
    assert float(check.residual) < 1e-10 and abs(float(found - rate)) < 1e-6
    assert not bool(check.is_lme)
    print(f"{axis} axis: no LME, rate {found.item():.4f}, predicted {rate.item():.4f}")

# %% [markdown]
# ## ex-rank
#
# 1. $\dot w_{km}=\sum_{i\le r}s^i_{km}\eta^i_k$, that is $G_k=\sum_{i\le r}s^i_k{\eta^i_k}^\top$, a sum of $r$ matrices of rank one. The rank is
#    $\min(r,M,d)$ at most, and in general exactly that.
# 2. Every gradient of field $k$ is a combination of $\eta^1_k,\dots,\eta^r_k$, with coefficients $s^i_{km}$ that differ from filter to filter. After
#    the first step the filters of a field lie in a space of $r$ dimensions. For $r=2$ it is a plane, in which they separate.
# 3. The eigenvalue equation reads $\lambda_is^i_{km}=\mathbb C_\alpha[f_{km},F_i]=w_{km}^\top\eta^i_k$. Put this into 1.:
#
# $$
# \dot w_{km}=H_kw_{km},\qquad H_k=\sum_{i\le r}\frac{\eta^i_k{\eta^i_k}^\top}{\lambda_i}.
# $$
#
# The matrix $H_k\succeq0$ does not depend on $m$. After $t$ steps $w_{km}$ has the direction of $H_k(t)\cdots H_k(1)w_{km}(0)$: the same product
# for all filters of a field. Once $H_k$ has settled and has a simple top eigenvalue, each step aligns them further with its top eigenvector. They end on *one line* for
# every $r$, although $G_k$ has a larger rank at the start. Unequal weights of the $s^i$ in $S$ would only go into the sum for $H_k$. To separate
# two linear filters a higher rank of $S$ is not enough: the top layer must not follow the filters. The trained networks of the chapter keep several
# directions although their top layer learns up to ten times as fast as the filters. So there it does not follow closely enough, or another premise
# fails, such as an $\alpha$ that stays as it is; we have not tested which.

# %%
x, g = fields_of(seed, "exercise rank")  # four fields of six coordinates
start = normalize(torch.randn(4, 5, 6, generator=g), dim=-1)  # five filters a field


def kept(w, r):  # the r largest eigenvalues of C[f_1] and their directions
    f = hidden_outputs(x, w, linear)[1].flatten(-2)
    values, s = torch.linalg.eigh(torch.cov(f.mT, correction=0))
    return values[-r:], s[:, -r:].mT.unflatten(-1, w.shape[:2])


def gradients(w, s):
    return two_layer_gradient(x, w, rank_one_gram(s).sum(0), linear)


for r in range(1, 8):
    values, s = kept(start, r)
    found = torch.linalg.matrix_rank(gradients(start, s), rtol=1e-9)
    assert found.tolist() == [min(r, 5)] * 4
    print(f"r = {r}: rank of the four G_k {found.tolist()}")

# %%
values, s = kept(start, 2)
pull = torch.einsum("rkm,kmd->rkd", s, start)
b = torch.einsum("kdle,rle->rkd", field_covariances(x), pull)
common = torch.einsum("rkd,rke,r->kde", b, b, 1 / values)
found = gradients(start, s)
assert float((start @ common - found).norm() / found.norm()) < 1e-10


def ends(r, follow, w=start):
    s = kept(w, r)[1]
    for _ in range(200):
        w = normalize(gradients(w, s), dim=-1)
        s = kept(w, r)[1] if follow else s
    sigma = torch.linalg.svdvals(w)
    return (sigma[:, 1:3] / sigma[:, :1]).amax(0).tolist()  # the worst field


# %%
for r, follow in product((1, 2), (False, True)):
    second, third = ends(r, follow)
    assert third < 1e-10 and (r > 1 or second < 1e-10)  # at most r dimensions
    print(f"r = {r}, top layer {'follows' if follow else 'is held'}:", end=" ")
    print(f"filters with σ2/σ1 = {second:.0e}, σ3/σ1 = {third:.0e}")

# %% [markdown]
# ## ex-generators
#
# 1. $\mathbb E[x_k|z]$ is $e_a$ with probability $\pi_a$ and $\tfrac1d\mathbf 1$ with probability $\pi_*$. With the mean $\bar x=\sum_a\pi_ae_a+\tfrac{\pi_*}d\mathbf 1$,
#
# $$
# C=\sum_a\pi_ae_ae_a^\top+\frac{\pi_*}{d^2}\mathbf 1\mathbf 1^\top-\bar x\bar x^\top,\qquad\mathbb V[x_k]=\operatorname{diag}(\bar x)-\bar x\bar x^\top .
# $$
#
# 2. A token that is no candidate has $e_b^\top Ce_b=\pi_*(1-\pi_*)/d^2\approx\tfrac1{1600}$. A candidate has about $\pi_a(1-\pi_a)\approx0.09$, some 140 times as much.
#    Without augmentation the other token has $\bar x_b(1-\bar x_b)\approx\pi_*/d=0.025$, and the candidate wins by a factor of 4 only. Drawing the second view from the same
#    generator is what hides the noise.
# 3. $C$ is a covariance of $P+1$ affinely independent points where all candidates are used, wildcards occur and $P<d$, so its rank is $P$. All its non-zero
#    directions are candidates, up to one common shift of the others: in the large batch linear filters mix candidates, in $P$ directions. The trained ones do
#    fill about that many. They also carry some weight on every other token, and not the same on each: what is left of their start, and the noise of finite batches.
#
# The first cell checks $C$ for $P=5$, the second trains a network with $P=3$.

# %%
model, d, used = pool.fields(), 20, pool.candidates()[0]
fixed = (pool.patterns[0].unsqueeze(-1) == torch.arange(d)).double().mean(0)
free = 1 - fixed.sum(-1, keepdim=True)  # π_*, of every place
m = fixed + free / d
outer = torch.einsum("ka,kb->kab", m, m)
c = torch.diag_embed(fixed) + (free / d**2)[..., None] - outer
blocks = between_variance(model, torch.ones(1, 10, 1, d), linear)[0].view(10, d, 10, d)
assert all(float((blocks[k, :, k] - c[k]).abs().max()) < 1e-14 for k in range(10))
assert torch.linalg.matrix_rank(c, rtol=1e-9).tolist() == used.sum(-1).tolist()
for name, v in (("with augmentation", c), ("without", torch.diag_embed(m) - outer)):
    on = v.diagonal(dim1=-2, dim2=-1)
    print(
        f"{name}: a candidate has {float(on[used].mean() / on[~used].mean()):.1f}",
        end=" ",
    )
    print("times the variance of another token")

# %%
straight = replace(author, candidates=3, activation="linear")
curve = matching_curves({"linear": (straight, [seed])}, 1000, 25)["linear"]
w, used = curve["w"], curve["candidates"]
other = w * ~used.unsqueeze(-2)
shift = other.sum(-1).square() / (~used).sum(-1, keepdim=True)  # the common part
weight, common = other.square().sum() / w.square().sum(), shift.sum() / w.square().sum()
print(f"{float(weight):.1%} of the squared weight lies on other tokens,", end=" ")
print(f"{float(common):.1%} in their common shift")

# %% [markdown]
# ## ex-importance
#
# By the definition of $\mathbb C_\alpha$,
#
# $$
# \begin{aligned}
# \mathcal E_\alpha&=\frac1{4N^2}\sum_{i,j}\alpha_{ij}\bigl[\lVert f_i-f_j\rVert^2-\lVert f_i-f_i'\rVert^2\bigr]\\
# &=-\frac1{2N^2}\sum_{i,j}\alpha_{ij}\bigl(d_i^2-d_{ij}^2\bigr).
# \end{aligned}
# $$
#
# The chain rule gives $\nabla\mathcal L=\sum_{i}\sum_{j\ne i}\varphi'(\xi_i)\,\psi'(d_i^2-d_{ij}^2)\,\nabla(d_i^2-d_{ij}^2)$. So
#
# $$
# \alpha_{ij}=\varphi'(\xi_i)\,\psi'(d_i^2-d_{ij}^2)\ \ (j\ne i),\qquad \alpha_{ii}=0,\qquad c=2N^2 .
# $$
#
# - Triplet: $\alpha_{ij}=1$ if $d_{ij}^2<d_i^2+\mu$, else 0. Negatives inside the margin count alike, the others not at all.
# - Soft triplet: $\alpha_{ij}=e^{(d_i^2-d_{ij}^2+\mu)/\tau}\big/\bigl(1+\sum_{k\ne i}e^{(d_i^2-d_{ik}^2+\mu)/\tau}\bigr)$. All negatives count,
#   near ones more. A row sums to less than 1, and to little if every negative is far away.
#
# Divide numerator and denominator of the second by $e^{(d_i^2+\mu)/\tau}$. This is the importance of InfoNCE with
# $\epsilon=e^{-\mu/\tau}$. The soft triplet loss is InfoNCE plus the constant $N\mu$: a margin is a weight of the positive pair in the
# denominator.

# %%
margin, tau, n = 0.5, 0.2, 32
draw, others = stream(seed, 0, "exercise importance"), 1 - torch.eye(n)
x, noise = torch.randn(2, n, 5, generator=draw)
f, f_view = (normalize(y, dim=-1).requires_grad_() for y in (x, x + 0.3 * noise))
gap = (f - f_view).square().sum(-1, keepdim=True) / 2 - half_squared_distances(f)
psi = others * ((gap + margin) / tau).exp()
losses = {
    "triplet": (others * (gap + margin).relu()).sum(),
    "soft triplet": tau * (1 + psi.sum(-1)).log().sum(),
}
alphas = {  # with the stop-gradient
    "triplet": others * (gap + margin > 0),
    "soft triplet": (psi / (1 + psi.sum(-1, keepdim=True))).detach(),
}

# %%
for name, loss in losses.items():
    alpha = alphas[name]
    down = torch.autograd.grad(loss, (f, f_view), retain_graph=True)
    up = torch.autograd.grad(contrastive_energy(f, f_view, alpha), (f, f_view))
    pairs = zip(down, up, strict=True)
    error = max(float((a + 2 * n**2 * b).norm() / a.norm()) for a, b in pairs)
    assert error < 1e-10
    seen = float((alpha > 0.01).sum()) / n
    print(f"{name}: error {error:.0e}, {seen:.1f} of 31 negatives have α > 0.01")

nce = infonce_importance(f, f_view, tau, eps=math.exp(-margin / tau))
assert float((alpha - nce).abs().max()) < 1e-10  # of the soft triplet, the last
shift = loss - infonce_loss(f, f_view, tau, math.exp(-margin / tau))
print(f"soft triplet − InfoNCE: {shift.item():.6f}, predicted {n * margin:.6f}")

# %% [markdown]
# ## ex-race
#
# Write $s=(1+a)/2$. For $y<1-a$ both factors are below 1, and $v=(1+y+a)/2$ runs from $s$ to 1. For $1-a<y<1-a+b$ only the first factor is below 1.
# Beyond, all are 1:
#
# $$
# \begin{aligned}
# \mathbb P[E_1]&=\int_s^1v^{d-2}\bigl(v-\tfrac b2\bigr)dv+\int_{1-b/2}^1v\,dv+\frac{a-b}2\\
# &=\frac{1-s^d}d+\frac a2-\frac{b\,(1-s^{d-1})}{2(d-1)}-\frac{b^2}8 .
# \end{aligned}
# $$
#
# For the second pattern write $t=(1+b)/2$. Its rival is ahead, so the factor $F(y+b-a)$ stays below 1 up to $y=1$:
#
# $$
# \begin{aligned}
# \mathbb P[E_2]&=\int_t^1v^{d-2}\bigl(v-\tfrac a2\bigr)dv+\int_{1-a/2}^{1-a/2+b/2}v\,dv\\
# &=\frac{1-t^d}d+\frac b2-\frac{a\,(1-t^{d-1})}{2(d-1)}-\frac{ab}4+\frac{b^2}8 .
# \end{aligned}
# $$
#
# The first two terms of each are paper (155): what the pattern would have alone. The rest is what the other favourite takes. For $d\to\infty$ the first
# loses $b^2/8$ only. The second gains $b/2-ab/4+b^2/8$ over a pattern without advantage, so the patterns without advantage lose
# $b/2-ab/4$: at least twice as much.


# %%
def predicted(a, b, d):
    s, t, p = (1 + a) / 2, (1 + b) / 2, d - 1
    first = (1 - s**d) / d + a / 2 - b * (1 - s**p) / (2 * p) - b**2 / 8
    second = (1 - t**d) / d + b / 2 - a * (1 - t**p) / (2 * p) - a * b / 4 + b**2 / 8
    return torch.tensor([first, second])


# %%
n = 100_000
for d, a, b in ((2, 0.6, 0.3), (5, 0.6, 0.3), (20, 0.6, 0.3), (20, 0.6, 0.6)):
    eps, p = torch.cat([torch.tensor([a, b]), torch.zeros(d - 2)]), predicted(a, b, d)
    exact = winning_probability(eps)[:2]
    count = winning_count(eps, n, stream(seed, d, f"exercise race {b}"))[:2]
    score = count_score(count, n, p)
    assert float((p - exact).abs().max()) < 1e-12
    assert float(score.abs().max()) < 6  # luck exceeds 3 once in 370 counts
    print(f"d = {d}, a = {a}, b = {b}; the first alone: {float(single(eps[0], d)):.4f}")
    for k in (0, 1):
        print(f"  P[E_{k + 1}]: predicted {p[k].item():.4f},", end=" ")
        print(f"counted {count[k].item() / n:.4f}, score {score[k].item():+.1f}")
