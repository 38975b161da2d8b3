# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Solutions: collapse and constraints
#
# The exercises at the end of the chapter. A heading names an exercise by its label; the instructor's edition puts the statement in its place. Each part of an exercise is worth four points. The code asserts what was derived by hand.

# %%
import math

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from contrastive_dynamics.collapse_and_constraints import (
    descend, draw_weights, expected_trace_matrix, flow_map, indefinite_matrix, iterate, largest_rate, linear_flow,
    network_outputs, output_flow, output_velocity, polar_map, trace_matrix,
)  # fmt: skip
from contrastive_dynamics.data.half_moons import half_moon_moments, half_moon_pairs
from contrastive_dynamics.numerics.random_streams import stream, streams
from contrastive_dynamics.numerics.ranks import effective_rank
from contrastive_dynamics.numerics.relative_error import relative_error
from contrastive_dynamics.numerics.run_defaults import torch_defaults
from contrastive_dynamics.numerics.stiefel import haar

torch_defaults("cpu")
seed = 1000

# %% [markdown]
# ## cc-ex-norm
#
# 1. With $s=q^\top q$ and $f=q^\top\Lambda q$, equation (9) of the paper is $\dot q=-2\bigl[2\Lambda q-s\Lambda q-fq\bigr]$. Split $2\Lambda q$ in two: $(1-s)\Lambda q$ is the first term of equation (10) of the paper,
#    $\Lambda q-fq=(I-qq^\top)\Lambda q$ the second. Then $\dot s=2q^\top\dot q=-4\bigl[(1-s)f+f-sf\bigr]=-8(1-s)f$. So $s=0$ and $s=1$ stay, and the sign of $f$ decides on all
#    others.
# 2. Now $f=\lambda s$, and $\dot s=-8\lambda s(1-s)$ is logistic: $\log\frac s{1-s}$ falls at the constant rate $8\lambda$. And $\dot q=-4\lambda(1-s)q$ keeps its direction:
#
#    $$
#    s(t)=\frac{s_0}{s_0+(1-s_0)e^{8\lambda t}},\qquad q(t)=q_0\sqrt{s(t)/s_0} .
#    $$
#
#    For $\lambda<0$ the wait is $\frac1{8\lvert\lambda\rvert}\log\frac{1-s_0}{s_0}$. Uniform orthonormal weights have $s_0=d/h$ on average, so it grows as the logarithm of the
#    width.
# 3. $\lambda_1s\le f\le\lambda_ds$ and $1-s\ge0$, so $-8\lambda_ds(1-s)\le\dot s\le-8\lambda_1s(1-s)$. By comparison $s(t)$ lies between the solution for $\lambda_d$, below,
#    and the one for $\lambda_1$, above. For $\Lambda\succ0$ and $s_0<1$ this gives $s(t)\le\frac{s_0}{1-s_0}e^{-8\lambda_1t}$: the first half of Theorem 3 of the paper, with a rate. At
#    $s_0=1$ the bound is void, and $q$ does not tend to 0.

# %%
draw = stream(seed, 0, "exercise norm")
point = torch.nn.functional.normalize(torch.randn(8, 5, 1, generator=draw), dim=1)
point = point * torch.linspace(0.1, 1, 8)[:, None, None]  # the last has length 1
value = torch.linspace(-1, 2, 5)
moved, turned_by = output_velocity(point, value), value[:, None] * point
s, f = (point.mT @ other for other in (point, turned_by))
assert relative_error(-2 * ((1 - s) * turned_by + turned_by - f * point), moved) < 1e-12
growth_of_s = 2 * point.mT @ moved
assert float((growth_of_s + 8 * (1 - s) * f).abs().max()) < 1e-12
assert abs(float(growth_of_s[-1])) < 1e-12  # length 1 stays


# %%
def logistic(s0, number, t):
    return s0 / (s0 + (1 - s0) * torch.exp(8 * number * t))


when, inner = torch.linspace(0, 1.5, 16), 0.95 * point
t, s0 = when[:, None, None, None], inner.mT @ inner
for number in (-0.7, 0.7):
    path = output_flow(inner, torch.full((5,), number), when)
    error = relative_error(inner * (logistic(s0, number, t) / s0).sqrt(), path)
    print(f"λ = {number}: distance from the logistic solution {error:.0e}")
    assert error < 1e-7

path = output_flow(inner, value, when)
s, low, high = path.mT @ path, logistic(s0, 2, t), logistic(s0, -1, t)
assert bool((low - 1e-8 <= s).all() and (s <= high + 1e-8).all())

# %% [markdown]
# ## cc-ex-rate
#
# 1. $\Theta(t)=\sum_ie^{-2\lambda_it}\theta_iv_i^\top$, so $\sigma_1\to e^{-2\lambda_1t}\lVert\theta_1\rVert$. The minors of $\Theta(t)$ are those of
#    $\sum_{i<j}e^{-2(\lambda_i+\lambda_j)t}(\theta_i\wedge\theta_j)(v_i\wedge v_j)^\top$, in which the first pair wins:
#    $\sigma_1\sigma_2\to e^{-2(\lambda_1+\lambda_2)t}\lVert\theta_1\wedge\theta_2\rVert$. That area is $\lVert\theta_1\rVert$ times the length of $\theta_2^\perp$, the part of
#    $\theta_2$ orthogonal to $\theta_1$. Divide by $\sigma_1^2$ and square:
#
#    $$
#    \zeta\to\kappa\,e^{-gt},\qquad\kappa=\frac{\lVert\theta_2^\perp\rVert^2}{\lVert\theta_1\rVert^2},\qquad g=4(\lambda_2-\lambda_1).
#    $$
#
# 2. Two values matter in the end, $(1,\zeta)/(1+\zeta)$. So $H=\log(1+\zeta)-\frac{\zeta\log\zeta}{1+\zeta}$, and
#
#    $$
#    e^H-1\approx\zeta\,(1-\log\zeta)\approx\kappa e^{-gt}\,(1+gt-\log\kappa).
#    $$
#
#    The rate is $g$, but there is a factor that grows with $t$: the line is bent.
# 3. The derivative of $\log\bigl[\zeta(1-\log\zeta)\bigr]$ is $-g+\frac g{1-\log\zeta}$. The slope is too flat by the fraction $1/(1-\log\zeta)$, which is $1/(1+6\log10)$, about 7 %. A fit to
#    $\sigma_2^2/\sigma_1^2$ (or to the stable rank less one) has no such bias.
#
# Only the gap counts, not the size of $\lambda_1$. All this holds for almost every start. Without a gap, $\lambda_1=\lambda_2$, $\zeta$ tends to a constant and that
# plane does not collapse.

# %%
c_rate, values, vectors = indefinite_matrix(stream(seed, 1, "basis"), 6)
theta = torch.randn(8, 3, 6, generator=stream(seed, 0, "exercise rate"))
when = torch.linspace(2, 3, 21)
found = linear_flow(theta, c_rate, when).direction
sigma = torch.linalg.svdvals(found)
r, rank = (sigma[..., 1] / sigma[..., 0]).square(), effective_rank(found)

first, second = (theta @ vectors[:, :2]).unbind(-1)  # θ_1 and θ_2
along = (first * second).sum(-1) / first.square().sum(-1)
left = second - along[:, None] * first
kappa = left.square().sum(-1) / first.square().sum(-1)
gap = 4 * float(values[1] - values[0])
predicted = kappa * torch.exp(-gap * when)[:, None], r * (1 - r.log())
for now, expected in zip((r, rank - 1), predicted, strict=True):
    assert float((now / expected - 1).abs().amax(0).median()) < 0.01  # of the starts


# %%
def slope(curve):  # of its logarithm in time, one a run
    fits = np.polyfit(when.cpu(), curve.log().cpu(), 1)[0]
    return torch.tensor(fits)


flat = (1 / (1 - r.log())).mean(0)  # the share by which the naive fit is too flat
straight, bent = slope(r), slope(rank - 1)
assert float((straight / -gap - 1).abs().median()) < 0.01
assert float((bent / (-gap * (1 - flat)) - 1).abs().median()) < 0.01
for name, fit in (("σ₂²/σ₁²", straight), ("effective rank − 1", bent)):
    print(f"{name}: slope {float(fit.median()):.3f}, −4(λ₂ − λ₁) = {-gap:.3f}")

# %% [markdown]
# ## cc-ex-loses
#
# 1. $\mathbb E[C]=-n\operatorname{Cov}(x)$, so it keeps the $z$ directions of most variance. Let $s=\pm\frac12$, by the class, plus a little noise, and let $r$ have more than
#    $z$ coordinates of a variance $\rho^2>\operatorname{Var}(s)$. The class is nearly separable in $s$, and none of the kept directions contains $s$.
# 2. Nothing changes. $\mathbb E[x(x+\varepsilon)^\top]=\mathbb E[xx^\top]+\mathbb E[x]\,\mathbb E[\varepsilon]^\top=\mathbb E[xx^\top]$ for independent centred noise of *any*
#    covariance: on average the linear loss does not see additive augmentation at all. Neither do $p$ positives and $q$ negatives help: for centred data they only put a factor
#    $p$ in front, see {eq}`cc-eq-mean`.
# 3. In general the eigenvalue along a direction is $-n$ times the covariance of the *two views* along it. Along $s$ this is $\operatorname{Var}(s)$, along $r$ it is $a\rho^2$,
#    and the cross terms vanish. The class is kept for
#
#    $$
#    a<a^*=\operatorname{Var}(s)/\rho^2 ,
#    $$
#
#    and lost beyond. Both views have the law of the data for every $a$: what counts is what they share. At $a=0$ the nuisance block is gone, and $\mathbb E[C]$ has one negative
#    eigenvalue, $-n\operatorname{Var}(s)$.
# 4. The cells train the weights on $C$ of a finite sample, in which the coordinates are hidden by a rotation.
#
# That two ways of training agree in their accuracy, as in Figure 4 of the paper, says that they find the same directions. It does not say that these are the right ones.

# %%
rho, hidden = 1.2, haar([stream(seed, 0, "exercise turn")], 10, 10)[0]


def sample(g, n=20_000):
    """Classes, and points (s, r): s is ±1/2 with noise of size 0.1."""
    label = torch.randint(2, (n, 1), generator=g)
    nuisance = rho * torch.randn(n, 9, generator=g)
    return label[:, 0], label - 0.5 + 0.1 * torch.randn(n, 1, generator=g), nuisance


def accuracy(m):  # of a linear classifier on the outputs mᵀx of held-out points
    labels = [part[0].cpu() for part in drawn]
    x, x_new = ((torch.cat(part[1:], -1) @ hidden.mT @ m).cpu() for part in drawn)
    return LogisticRegression().fit(x, labels[0]).score(x_new, labels[1])


# %%
def trained(view, n=20_000):  # three outputs of the constrained network
    (_, s, r), fresh = drawn[0], stream(seed, 0, "exercise views")
    x, positive = (torch.cat([s, y], -1) @ hidden.mT for y in (r, view(r, fresh)))
    negative = x[torch.randperm(n, generator=fresh)]
    matrix = trace_matrix(x, positive[:, None], negative[:, None]) / n
    w = [[stream(seed, layer, "exercise weights")] for layer in (1, 2)]
    w = descend(draw_weights(*w, 20, 10, 3), matrix, 0.3, 250).weights
    return network_outputs(w)[0]


def redrawn(a):
    mix = rho * (1 - a**2) ** 0.5
    return lambda r, g: a * r + mix * torch.randn(r.shape, generator=g)


def shaken(r, g):
    return r + 3 * torch.randn(r.shape, generator=g)


# %%
drawn = [sample(stream(seed, k, "exercise loses")) for k in (0, 1)]
edge = 0.26 / rho**2  # Var(s) = 1/4 + 0.1²
seen = {"raw x": accuracy(torch.eye(10)), "shaken nuisance": accuracy(trained(shaken))}
for a in (1, 2 * edge, edge / 3, 0):
    seen[f"nuisance redrawn, a = {a:.2f}"] = accuracy(trained(redrawn(a)))
for name, score in seen.items():
    print(f"{name}: accuracy {score:.3f}")
raw, shake, *chance, below, gone = seen.values()
assert min(raw, below, gone) > 0.95
assert max(abs(score - 0.5) for score in (shake, *chance)) < 0.07

# %% [markdown]
# ## cc-ex-step
#
# 1. The derivative of (10) of the paper at $e_1$ is diagonal: $8\lambda_1$ along $e_1$, $-2(\lambda_j-\lambda_1)$ along $e_j$. At 0 it is $-4\Lambda$. A step multiplies a nudge by
#    $1-8\eta\lvert\lambda_1\rvert$, $1-2\eta(\lambda_j-\lambda_1)$ and $1-4\eta\lambda_j$. These lie in $(-1,1)$ for
#
#    $$
#    \eta<\min\Bigl(\frac1{4\lvert\lambda_1\rvert},\frac1{\lambda_d-\lambda_1}\Bigr)\ \text{at}\ \pm e_1,\qquad\eta<\frac1{2\lambda_d}\ \text{at}\ 0 .
#    $$
#
#    The first of the two decides if $\lambda_d\le3\lvert\lambda_1\rvert$. Else the turn is what breaks.
# 2. The multiplier passes $-1$, so a cycle of two is born. In $y=\sqrt\alpha\,\ell$ the map is $y\mapsto y\,(1+\alpha-y^2)$. Two points with $y_1y_2=1$ and $y_1^2+y_2^2=1+\alpha$
#    change places, and with $\beta=1+\alpha$ the product of their derivatives is $9-2\beta^2$: the cycle is stable for $2<\beta<\sqrt5$. The lengths are
#    $\ell^2=\bigl(\beta\pm\sqrt{\beta^2-4}\bigr)/2\alpha$, one of them above 1, which no weights have.
# 3. Let $a=2\eta\lvert\lambda_1\rvert$. On the axis $A_{11}=B$, and the map is $\ell'=\ell\,\frac{1+2a+a^2\ell^2}{1+2a\ell^2+a^2\ell^2}\ge\ell$ for $\ell\le1$; and $\ell'\le1$, since it is a cosine.
#    But the axis is not all. With $b=2\eta\lambda_j$ and $m=1+a$ the map turns $e_1+\delta e_j$ into $e_1+\mu_j\delta e_j$,
#
#    $$
#    \mu_j=\frac{1-2b-ab}{1+a}-\frac{a-b-ab}{2+a}=\frac{1-b}{1+a}-\frac{a+b}{2+a} .
#    $$
#
#    It is below 1, and above $-1$ iff $4+3(a-b)-2ab>0$. That holds at every step if no eigenvalue is positive. If there is one, it ends at the positive root of
#
#    $$
#    8\lambda_d\lvert\lambda_1\rvert\,\eta^2+6(\lambda_d-\lvert\lambda_1\rvert)\,\eta-4=0 .
#    $$
#
#    At 0 the roots $A^{-1/2}$ and $B^{-1/2}$ are 1 up to second order, and the bound is that of (12) of the paper. So projection keeps the *length* in check at any step, not the direction.
#    It allows larger steps than (12) of the paper iff $\lambda_d<\frac{11}4\lvert\lambda_1\rvert$. On half moons with one negative each, $\mathbb E[C]=-n\operatorname{Cov}(x)$ has no
#    positive eigenvalue, and every step is stable, if slow: the multiplier $(1-a)^2/(1+a)^2$ of the length tends to 1 again.


# %%
def polar_bound(values):
    low, high = float(values.min()), float(values.max())
    if low > 0 or high < 0:
        return 1 / (2 * high) if low > 0 else math.inf
    return max(np.roots([-8 * low * high, 6 * (high + low), -4]).real)


def distance_after(step, values, eta, steps=300):
    """From ±e1, or from 0 for Λ ≻ 0, after a nudge; largest over eight of them."""
    rest = (torch.arange(len(values)) == 0).double()[:, None] * (values.min() < 0)
    nudge = torch.randn(8, len(values), 1, generator=stream(seed, 0, "exercise step"))
    path = iterate(step, rest - 1e-3 * nudge.abs(), values, eta, steps, steps)
    return float((path[-1] - rest).norm(dim=(-2, -1)).nan_to_num(9, 9).max())


# %%
for raw in ([-2.0, -0.5, 0.7, 1.5], [-0.5, 0.2, 1.0, 4.0], [0.5, 1.0, 2.0, 3.0]):
    values = torch.tensor(raw)
    bounds = float(largest_rate(values)), polar_bound(values)
    if raw[0] < 0:
        by_hand = min(-1 / (4 * raw[0]), 1 / (raw[-1] - raw[0]))
        assert (bounds[1] > bounds[0]) == (raw[-1] < -11 / 4 * raw[0])
    else:
        by_hand = 1 / (2 * raw[-1])
    assert abs(bounds[0] - by_hand) < 1e-12
    print(f"Λ = {raw}: (12) up to η = {bounds[0]:.4f}, (11) up to {bounds[1]:.4f}")
    for step, bound in zip((flow_map, polar_map), bounds, strict=True):
        assert distance_after(step, values, 0.97 * bound) < 1e-5
        assert distance_after(step, values, 1.03 * bound) > 0.02

# %%
alpha, axis = 1.1, torch.tensor([-2.0])
inside = torch.tensor([[[0.5]]])
cycle = iterate(flow_map, inside, axis, alpha / 8, 200)[-2:].flatten()
spread = ((1 + alpha) ** 2 - 4) ** 0.5
lengths = ((1 + alpha + torch.tensor([-spread, spread])) / (2 * alpha)).sqrt()
assert relative_error(cycle.sort().values, lengths) < 1e-8
for eta in (0.1, 1.0, 10.0):  # (11) on the axis: the length only grows, up to 1
    r = iterate(polar_map, inside, axis, eta, 200).flatten()
    assert bool((r.diff() > -1e-12).all()) and float(r.max()) < 1 + 1e-9
below = torch.tensor([-2.0, -1.0, -0.5])  # no positive eigenvalue: any step
assert distance_after(polar_map, below, 20.0) < 1e-6
print("(12) beyond its bound, in turn:", [round(x, 4) for x in lengths.tolist()])

# %% [markdown]
# ## cc-ex-negatives
#
# 1. $\mathbb E[xx^\top]=\Sigma+\mu\mu^\top$, so {eq}`cc-eq-mean` is $\mathbb E[C]=n\bigl[(q-p)\mu\mu^\top-p\Sigma\bigr]$. Write $\tau=\mu^\top\Sigma^{-1}\mu$ (no clock here). By the lemma
#
#    $$
#    \det\bigl(-\tfrac1n\mathbb E[C]\bigr)=p^d\det(\Sigma)\Bigl(1-\frac{q-p}p\,\tau\Bigr),
#    $$
#
#    which changes sign once, at $q^*=p\,(1+1/\tau)$. Between two factors $\Sigma^{-1/2}$ the matrix is $n$ times $(q-p)ww^\top-pI$ with $\lVert w\rVert^2=\tau$: eigenvalues
#    $-p$, $d-1$ times, and $(q-p)\tau-p$. This keeps the signs (Sylvester), so there is exactly one positive eigenvalue for $q>q^*$, none before, and never two.
# 2. It is not $\mu$. At $q^*$ the null vector is $\Sigma^{-1}\mu$: $\bigl[(q^*-p)\mu\mu^\top-p\Sigma\bigr]\Sigma^{-1}\mu=\bigl[(q^*-p)\tau-p\bigr]\mu=0$. Along $\mu$ itself the
#    sign changes at $p\,\bigl(1+\mu^\top\Sigma\mu/\lVert\mu\rVert^4\bigr)$. By Cauchy and Schwarz $\lVert\mu\rVert^4\le(\mu^\top\Sigma\mu)\,\tau$: this comes later, or at the
#    same $q$ if $\mu$ is an eigenvector of $\Sigma$.
# 3. The cells print the bounds. For one positive, two negatives are already too many on half moons; along the mean itself the sign changes only at three.
#    With one negative, two outputs keep both dimensions. Beyond $q^*$ only $d-1$ eigenvalues are negative. By {eq}`cc-eq-rank`, for $h\ge d+z$, one dimension is given up: its
#    singular value goes to 0, as for the positive eigenvalues of Theorem 3 of the paper. Collapse to one dimension, under orthogonality. With very many negatives the direction given up
#    becomes $\mu$ itself, and what is kept is orthogonal to it: the negatives centre the outputs.

# %%
mean, moment = half_moon_moments(1000)
covariance = moment - torch.outer(mean, mean)
first_lost = torch.linalg.solve(covariance, mean)  # Σ⁻¹μ
tau = float(mean @ first_lost)
later = float(mean @ covariance @ mean / mean.square().sum() ** 2)
for p in (1, 2, 3, 5):
    edge, along = p * (1 + 1 / tau), p * (1 + later)
    null = (edge * torch.outer(mean, mean) - p * moment) @ first_lost
    assert float(null.abs().max()) < 1e-12
    for q in range(1, 4 * p):
        matrix = expected_trace_matrix(mean, moment, 1, p, q)
        assert int((torch.linalg.eigvalsh(matrix) > 0).sum()) == (q > edge)
        assert bool(mean @ matrix @ mean > 0) == (q > along)
    assert p > 1 or (math.ceil(edge), math.ceil(along)) == (2, 3)
    print(f"p = {p}: q* = {edge:.2f}, along the mean {along:.2f}")

# %%
draws = [streams([seed], 4, f"exercise negatives {layer}") for layer in (1, 2)]
for q in (1, 4, 50):
    data_q = half_moon_pairs(streams([seed], 4, f"exercise moons {q}"), 1000, 1, q)
    matrix = trace_matrix(*data_q) / 1000
    w = draw_weights(*draws, 6, 2, 2)
    step = 0.25 / float(torch.linalg.matrix_norm(matrix, 2).max())
    w = descend(w, matrix, step, 800).weights
    u, sigma, _ = torch.linalg.svd(network_outputs(w))
    cosine = (u[..., 0] @ mean).abs().max() / mean.norm()  # of the first direction
    print(f"q = {q}: singular values", [round(x, 3) for x in sigma.mean(0).tolist()])
    if q > 1:
        print(f"  |cosine| of what is kept with the mean: at most {float(cosine):.3f}")
    assert float((sigma - torch.tensor([1.0, float(q < 2)])).abs().max()) < 1e-3
assert float(cosine) < 0.1  # of the last: orthogonal to the mean
