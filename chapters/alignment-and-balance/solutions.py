# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Solutions: alignment and balance
#
# The exercises at the end of the chapter and of its appendix. A heading names an exercise by its label; the instructor's edition puts the statement in its place. Each part of an exercise is worth four points. The code asserts what was derived by hand.

# %%
import math

import numpy as np
import torch

from contrastive_dynamics.alignment_and_balance import (
    WideState, all_signs, condition_number, contrastive_force, correlation, exact_alignment, initial_maps, model_scales,
    negative_factors, non_contrastive_flow, non_contrastive_force, wide_flow, worst_alignment_map,
)  # fmt: skip
from contrastive_dynamics.numerics.random_streams import stream, streams
from contrastive_dynamics.numerics.relative_error import relative_error
from contrastive_dynamics.numerics.run_defaults import torch_defaults

torch_defaults("cpu")
seed, seeds, sigma, noise, dim, negatives, tau_second = (
    1000,
    10,
    [2.0, 1.6, 1.3, 1.0],
    0.8,
    8,
    8.0,
    2.0,
)  # the page's
rank = len(sigma)
scales = model_scales(torch.tensor(sigma), noise, dim, small_noise=True).expand(
    seeds, dim
)
signs = all_signs(rank, dim)


def one_per_seed(purpose):
    """A generator for each seed."""
    return streams(range(seed, seed + seeds), 1, purpose)


# %% [markdown]
# ## ab-ex-tanh
#
# 1. For one positive pair $-\log S_A=\log\bigl(1+K\,Z\,e^{-\tau^2f_A^+\cdot f_B^+}\bigr)$, $Z=\mathbb E_{s'}e^{\tau^2\sum g_ps_ps_p'}=\prod_p\cosh(\tau^2g_p)$ by {eq}`ab-eq-cosh`. The positive pair has
#    $s'=s$ and $f_A^+\cdot f_B^+=\sum_pg_p$. Neither depends on $s$, as $s_p^2=1$ and $\cosh$ is even: so $S$ is one number, and $S_B$ is the same. In the derivative
#    $-\partial\log S_A=-(1-S)\,\partial\bigl[\tau^2f_A^+\cdot f_B^+-\log Z\bigr]$ the positive pair gives $u_Au_B^\top$, the negatives $u_At_A^\top$ with
#    $[t_A]_p=\tanh(\tau^2g_ps_p)/\sqrt d=T_ps_p/\sqrt d$, and 0 on the noise. The mean over the signs of $u_A(u_B-t_A)^\top$ keeps the diagonal, $(1-T_p)/d$; the noises of a pair are independent and
#    give 0. A and B together are the 2. In {eq}`ab-eq-flow` $d\,N_AN_B=n^2$ and $\langle M,G\rangle=2(1-S)\,a$, so that column $p$ moves by
#    $2(1-S)\frac{\sigma_p^2}{n^2}\bigl[(1-T_p)[K_B]_p-a[K_A]_p\bigr]$. Twice the inner product with $[K_A]_p$ is {eq}`ab-eq-wide`.
# 2. By the hint, $T_p$ is the mean of $s_ps_p'$ over negatives as the loss weighs them: $T_p=2P_p-1$, where $P_p=1/(1+e^{-2\tau^2g_p})$ is the chance that such a negative agrees with the anchor in signal $p$.
#    For small $\tau$ all negatives weigh alike, they agree by chance, and $T_p\approx\tau^2g_p$. For large $\tau$ only those that agree are seen, $1-T_p\approx2e^{-2\tau^2g_p}$: of signal $p$ nothing is left to
#    tell apart, and the positive pair is cancelled. The longer column is cancelled first.
# 3. No. $\frac{1-S}S=K\prod_p\cosh(\tau^2g_p)\,e^{-\tau^2\sum g_p}=K\prod_p\frac{1+e^{-2\tau^2g_p}}2\to K\,2^{-r}$: with probability $2^{-r}$ the negative has the very same signal. So a large $\tau$ is slow because
#    of $1-T_p$, while $1-S$ stays above $K/(K+2^r)$ at every $\tau$.

# %%
r_three, d_five, tau_any = 3, 5, 1.7
each = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * d_five) / d_five**0.5
same = (each[:, None, :r_three] == each[:, :r_three]).all(-1)
part = 0.1 + torch.rand(r_three, generator=stream(seed, 0, "exercise tanh"))


def loss_of_pairs(g):
    """(3) over τ², all positives and all negatives one by one."""
    s = tau_any * each @ g @ each.mT
    means = (s.logsumexp(k, keepdim=True) - math.log(len(each)) for k in (1, 0))
    logs = [s - torch.logaddexp(s, math.log(negatives) + mean) for mean in means]
    return -sum(log[same].mean() for log in logs) / tau_any


leaf = torch.diag(torch.cat([d_five * part, torch.zeros(2)])).requires_grad_()
by_pairs = -torch.autograd.grad(loss_of_pairs(leaf), leaf)[0]
one_minus_s, t_p = negative_factors(part, tau_any, negatives)
by_hand = 2 * one_minus_s / d_five * torch.diag(torch.cat([1 - t_p, torch.zeros(2)]))
by_kernel = contrastive_force(leaf.detach()[None], all_signs(3, 5), tau_any, negatives)[
    0
]
weight = (tau_any * each @ leaf.detach() @ each.mT).softmax(1)  # of every negative
agreement = d_five * (each * (weight @ each))[:, :r_three]  # a row an anchor
assert (
    relative_error(by_hand, by_pairs) < 1e-12
    and relative_error(by_kernel, by_pairs) < 1e-12
)
assert float((agreement - t_p).abs().max()) < 1e-12  # T_p, whatever the anchor
print(f"autograd of the loss differs from M by {relative_error(by_hand, by_pairs):.0e}")

# %%
g_one, floor = part / part.sum(), negatives / (negatives + 2**r_three)
for t in (1e-3, 1.0, 5.0, 200.0):
    one_minus_s, t_p = negative_factors(g_one, t, negatives)
    assert float(one_minus_s) > floor * (1 - 1e-12)
    if t < 0.01:
        assert relative_error(t * g_one, t_p) < 1e-6
    left = (-2 * t * g_one).exp()
    assert float(((1 - t_p) * (1 + left) - 2 * left).abs().max()) < 1e-12
    largest = float(t_p.max())
    print(f"τ² = {t:g}: 1 − S = {float(one_minus_s):.3f}, largest T {largest:.3f}")
assert float(one_minus_s) / floor - 1 < 1e-3

# %% [markdown]
# ## ab-ex-ten
#
# 1. $s\,e^{(s^2-1)\sigma_r^2\Theta/2}=10$ gives $\sigma_r^2\Theta=\frac2{s^2-1}\log\frac{10}s$, and with it the first equation is
#
#    $$
#    \Bigl(\frac{10}s\Bigr)^{\frac{2s^2}{s^2-1}}+(r-1)\Bigl(\frac{10}s\Bigr)^{\frac2{s^2-1}}=2d,\qquad1<s<10 .
#    $$
#
#    Both bases and both exponents fall in $s$, so the left-hand side falls, from $\infty$ at $s=1$ to $r<2d$ at $s=10$: one root. Only the ratio of the scales counts.
# 2. The cells solve it. In the non-contrastive flow the force on a noise column is zero, so all of them shrink by the factor that the normalisation sets, the same for all. Only their total length enters, and a few columns of the same total
#    length do as well.
# 3. The time it takes, not the end: {eq}`ab-eq-end` does not contain $\sigma_\xi$. It is $\kappa_\xi^2/\sigma_\xi^2=d-r$ that is fed to the signals, the *number* of the noises.
#
# A collapse to a tenth asks for no extreme data: with many noises, signals whose scales differ by a fifth are enough.

# %%
from scipy.optimize import brentq


def ratio_for(d, target=10.0):
    """s at which the non-contrastive condition number ends at the target."""

    def excess(s):
        step = 2 * math.log(target / s) / (s**2 - 1)  # σ_r²Θ
        return np.logaddexp(s**2 * step, math.log(rank - 1) + step) - math.log(2 * d)

    return brentq(excess, 1 + 1e-6, target - 1e-9)


def finite_end(s, d, noise_ratio):
    """Condition numbers at the end, m = 10⁸; `columns` stand for d − r noises."""
    columns, signal = max(1, dim - rank), torch.tensor([s] + [1.0] * (rank - 1))
    row = model_scales(signal, noise_ratio, rank + columns)
    draws = one_per_seed(f"exercise ten {noise_ratio}")[:3]
    maps = initial_maps(row.expand(len(draws), -1), 10**8, draws, rank)
    stands_for = torch.ones(rank + columns)
    stands_for[rank:] = math.sqrt((d - rank) / columns)
    span = torch.tensor([0.0, 5 * d * (s / noise_ratio) ** 2])
    path = non_contrastive_flow(*(x * stands_for for x in maps), row, rank, span)
    return condition_number(path.map_a[-1], rank)


# %%
ratios = {d: ratio_for(d) for d in (dim, 10**6)}
for d, s in ratios.items():
    by_noise = [finite_end(s, d, x) for x in (0.8, 0.4)]
    found = ", ".join(f"{float(x.mean()):.2f}" for x in by_noise)
    print(f"d = {d}: σ_1/σ_r = {s:.3f}, ends for two sizes of the noise: {found}")
    assert all(float((x / 10 - 1).abs().max()) < 0.02 for x in by_noise)
assert ratios[10**6] < 1.3

# %% [markdown]
# ## ab-ex-raw
#
# 1. By {eq}`ab-eq-constant` signal columns follow $\dot a_p=\frac{\sigma_p^2}db_p$, $\dot b_p=\frac{\sigma_p^2}da_p$ and noise columns do not move. The flow is linear,
#    $a_p(t)=\cosh(\sigma_p^2t/d)\,a_p(0)+\sinh(\sigma_p^2t/d)\,b_p(0)$: the maps align, and the noise is left behind because the signals grow. But they grow without end, the loss falls to $-\infty$, and
#    $\kappa_1/\kappa_r\sim e^{(\sigma_1^2-\sigma_r^2)t/d}$. In {eq}`ab-eq-end` growth stops when what was conserved is used up, without noise at $\sum_pe^{\sigma_p^2\Theta}=2r$. Here no length is conserved, and no noise is
#    needed for the collapse.
# 2. With the $M$ of the first exercise, now with $g_p=\hat\kappa_p^2/d$, $\frac{d}{dt}\kappa_p^2=\rho_p\hat\kappa_p^2$ and $\frac{d}{dt}\hat\kappa_p^2=\rho_p\kappa_p^2$ with
#    $\rho_p=4(1-S)\frac{\sigma_p^2}d(1-T_p)$. This is a turn by a hyperbolic angle, $\dot\varphi_p=\rho_p$, from $\varphi_p=0$. For the non-contrastive loss it is $\varphi_p=2\sigma_p^2t/d$, as in 1.
# 3. Every $\rho_p>0$, so all columns grow without end, and $\tau^2N_AN_B$, which is what a normalised model would call its $\tau^2$, grows with them. For large $x_p$, $\dot x_p\approx x_p\dot\varphi_p$,
#    $1-T_p\approx2e^{-2x_p}$ and $1-S\to K/(K+2^r)$, which is not zero. So
#
#    $$
#    \frac{e^{2x_p}}{x_p}\approx\frac{16K}{K+2^r}\,\frac{\sigma_p^2}d\,t,\qquad x_1-x_r\approx\log\frac{\sigma_1}{\sigma_r}+\frac12\log\frac{x_1}{x_r},\qquad
#    \frac{\kappa_1}{\kappa_r}\approx\sqrt{\frac{x_1}{x_r}}\approx1+\frac{\log(\sigma_1/\sigma_r)}{\log t} .
#    $$
#
#    The $x_p$ differ by a constant and grow like $\frac12\log t$. The condition number rises at first, as without negatives. Then it does tend to one, but only as $1/\log t$: to halve the distance from one, square the time. With
#    normalisation it is exponential in $t$. The noise does not move, so that its share vanishes at the same slow pace, as $1/\log t$.
#
# So negatives prevent the collapse with or without normalisation; what normalisation adds is a temperature that stays where it was put, and with it a rate.

# %%
from torchdiffeq import odeint

products, gap = scales[0].square(), max(sigma) ** 2 - min(sigma) ** 2
raw_start = torch.stack(
    initial_maps(scales[:2], 10**8, one_per_seed("exercise raw")[:2], rank)
)


def raw_flow(pull, times):
    """Maps [time, A or B, run, m, d] without normalisation; M = pull(G)."""

    def move(_, y):
        m = pull(y[0].mT @ y[1])
        return torch.stack([y[1] @ m.mT, y[0] @ m]) * products

    return odeint(move, raw_start, times, rtol=1e-7, atol=1e-9)


def linear(t):
    """The solution of the non-contrastive flow."""
    angle = products * t / dim * (torch.arange(dim) < rank)
    return angle.cosh() * raw_start + angle.sinh() * raw_start.flip(0)


# %%
constant = non_contrastive_force(rank, dim)
ends = raw_flow(lambda g: constant, dim / max(products) * torch.tensor([0.0, 1, 2]))
assert relative_error(ends[-1], linear(2 * dim / max(products))) < 1e-6
c_early, c_late = (
    condition_number(linear(k * dim / max(gap, 0.1))[0], rank) for k in (6, 9)
)
c_two = ", later ".join(f"{float(c.mean()):.0f}" for c in (c_early, c_late))
print(f"without negatives: condition number {c_two}")
assert float(((c_late / c_early).log() - 3 * gap / max(gap, 0.1)).abs().max()) < 0.1

# %%
signal_square = products[:rank]


def raw_wide(log_times):
    """x_p and the condition number at log(1 + t), infinite width, with negatives."""

    def exponents(angle):
        return tau_second * signal_square * angle.sinh() / dim

    def rate(log_time, angle):
        x = exponents(angle)
        one_minus_s, _ = negative_factors(x, 1.0, negatives)
        left = 2 * torch.sigmoid(-2 * x)  # 1 − tanh x
        return log_time.exp() * 4 * one_minus_s * signal_square / dim * left

    angle = odeint(rate, torch.zeros(rank), log_times, rtol=1e-7, atol=1e-9)
    square = signal_square * angle.cosh()
    return exponents(angle), (square.amax(-1) / square.amin(-1)).sqrt()


# %%
when = torch.tensor([0.0, 1, 3, 10, 30, 100])
by_signs = raw_flow(lambda g: contrastive_force(g, signs, tau_second, negatives), when)
finite = condition_number(by_signs[:, 0], rank).mean(1)
_, infinite = raw_wide(when.log1p())
print("t = 0 to 100, condition number", [round(c, 3) for c in infinite.tolist()])
assert relative_error(finite, infinite) < 0.01

# %%
decades = torch.tensor([0.0, 4, 8, 16, 32, 64])
x, late = raw_wide(decades * math.log(10))
top, bottom = int(signal_square.argmax()), int(signal_square.argmin())
apart = x[-1, top] - x[-1, bottom] - (x[-1, top] / x[-1, bottom]).log() / 2
assert abs(float(apart) - math.log(max(sigma) / min(sigma))) < 0.01
halved = float((late[-2] - 1) / (late[-1] - 1)) if gap > 0.1 else 2.0
assert abs(halved - 2) < 0.3  # the distance from one, when time is squared
for k, c in zip(decades[1:].tolist(), late[1:].tolist(), strict=True):
    print(f"t = 10^{k:.0f}: condition number {c:.4f}")

# %% [markdown]
# ## ab-ex-rest
#
# 1. $1-S>0$, so at rest every $p$ has $\kappa_p=0$ or $T_p=\bar T$. As $\tanh$ is strictly increasing, $g_p=\hat\kappa_p^2/n^2$ is the same for all columns that are not zero, $1/k$ for $k$ of them. That $\bar T=\sum g_qT_q$ is then their
#    common value is automatic. So there is one direction for every nonempty set of columns, and one with all $\kappa_p>0$: equal lengths. The length follows from $\sum_p\kappa_p^2/\sigma_p^2$, which is conserved. In the
#    condition of rest $\sigma$ does not occur: it only multiplies the speeds. Without negatives all $T_p$ are 0, and *every* aligned map is at rest.
# 2. A missing column has $T_p=0$, and $\bar T=\tanh(\tau^2/k)$. So it grows from any positive length, at the rate
#
#    $$
#    \frac{d}{dt}\log\kappa_p^2=\frac{4(1-S)\,\sigma_p^2}{n^2}\tanh\frac{\tau^2}k,\qquad\frac{1-S}S=K\Bigl(\frac{1+e^{-2\tau^2/k}}2\Bigr)^k .
#    $$
#
#    Every point of rest but the balanced one is unstable.
# 3. To first order $\frac{d}{dt}\log\kappa_p^2=-\rho\,\sigma_p^2\,\delta_p$ with $\rho=\frac{4(1-S)\tau^2}{n^2}\cosh^{-2}\frac{\tau^2}r$, hence $\dot\delta=-\frac\rho r\,P\operatorname{diag}(\sigma^2)P\,\delta$ with
#    $P=I-\frac1r\mathbf 1\mathbf 1^\top$. The rates are $\frac\rho r$ times eigenvalues that lie between the $\sigma_p^2$: all positive, the balanced point is stable.
#
# For large $\tau$ the two part: a missing column is found at a rate that stays above $\frac{4\sigma_p^2}{n^2}\frac K{K+2^k}\tanh\frac{\tau^2}k$, but the last bit of balance comes at a rate of the order of $\tau^2e^{-2\tau^2/r}$. A sharp
# contrast revives quickly and balances slowly.

# %%
tau_rest, row = rank / 2, torch.tensor(sigma)[None]


def growth_of_missing(k, t):
    """Rates of the columns after the first k, which have length 1: n² = k."""
    one_minus_s, t_p = negative_factors(torch.full((k,), 1 / k), t, negatives)
    return 4 * one_minus_s * t_p[0] * row[0, k:] ** 2 / k


def decays_of_imbalance(t):
    """Rates at κ_p = 1, n² = r, the slowest first, and the modes δ that have them."""
    project = torch.eye(rank) - 1 / rank
    equal = torch.full((rank,), 1 / rank)
    one_minus_s, _ = negative_factors(equal, t, negatives)
    rho = 4 * one_minus_s * t / rank / math.cosh(t / rank) ** 2
    values, modes = torch.linalg.eigh(project * row.square() @ project)
    return rho / rank * values[1:], modes.mT[1:]  # the first is the common factor


def aligned_flow(square, t, times):
    begin = WideState(square, square, torch.zeros(len(square)))
    s = row.expand(len(square), -1)
    return wide_flow(begin, s, 0.0, times, t, negatives).kappa_squared


# %%
for k in range(1, rank):
    square = torch.where(torch.arange(rank) < k, 1.0, 1e-12)[None]
    expected = growth_of_missing(k, tau_rest)
    span = 3 / float(expected.max())
    path = aligned_flow(square, tau_rest, torch.tensor([0.0, span]))[:, 0, k:].log()
    assert relative_error((path[1] - path[0]) / span, expected) < 1e-4
    print(f"{k} columns: the others grow at", [round(x, 3) for x in expected.tolist()])

# %%
rates_by_hand, modes = decays_of_imbalance(tau_rest)
span = 0.5 / float(rates_by_hand[-1])
path = aligned_flow(1 + 1e-4 * modes, tau_rest, torch.tensor([0.0, span]))
imbalance = (path / path.sum(-1, keepdim=True) - 1 / rank).norm(dim=-1)
seen = (imbalance[0] / imbalance[1]).log() / span
print("imbalances decay at", [round(x, 3) for x in seen.tolist()])
assert float((seen / rates_by_hand - 1).abs().max()) < 0.01

draw = stream(seed, 0, "exercise rest")
lengths = torch.randn(64, rank, generator=draw).exp()
conserved = (lengths / row**2).sum(-1, keepdim=True)
lengths = lengths * (1 / row**2).sum() / conserved  # what κ_p = 1 has
long = torch.tensor([0.0, 60 / float(rates_by_hand[0])])
ends = aligned_flow(lengths, tau_rest, long)[-1]
assert float((ends - 1).abs().max()) < 1e-4  # one end for all

# %%
for t in (1.0, 4.0, 16.0, 64.0):
    revived = float(growth_of_missing(rank - 1, t))
    levelled = float(decays_of_imbalance(t)[0][0])
    bound = negatives / (negatives + 2 ** (rank - 1)) * math.tanh(t / (rank - 1))
    assert revived >= 4 * sigma[-1] ** 2 / (rank - 1) * bound * (1 - 1e-9)
    print(
        f"τ² = {t:g}: a lost column grows at {revived:.3f}, balance at {levelled:.1e}"
    )
slow, slower = (float(decays_of_imbalance(k * rank)[0][0]) for k in (20, 40))
assert abs(math.log(slower / slow) - (math.log(2) - 40)) < 1e-6  # τ²e^{−2τ²/r}

# %% [markdown]
# ## ab-ex-dominant
#
# 1. Let $z\propto(1,1)$ and $z'\propto(-1,1)$: the product has the sign of $G_{11}+G_{21}$. Take $G=\begin{pmatrix}1&-\beta\\-\beta&\gamma\end{pmatrix}$ with $\beta>1$. The condition number of $G$ grows with
#    $(\operatorname{tr}G)^2/\det G=(1+\gamma)^2/(\gamma-\beta^2)$, least at $\gamma=1+2\beta^2$. At $\beta=1$ the eigenvalues are $2\pm\sqrt2$, with ratio $(1+\sqrt2)^2$. So
#    $K=\begin{pmatrix}1&-\beta\\0&\sqrt{1+\beta^2}\end{pmatrix}$ loses, with a condition number just above $1+\sqrt2\approx2.41$. Of the 16 pairs $(z,z')$ the two $\pm\bigl((1,1),(-1,1)\bigr)$ are lost:
#    $\frac34-\frac18=\frac58$.
# 2. Let $S$ be where $z'$ differs from $z$. The margin is
#    $z^\top G(z-z')=2z^\top Gz_S=2\sum_{p\in S}\bigl[z_p^2\,G_{pp}+\sum_{q\ne p}z_qz_p\,G_{qp}\bigr]\ge\frac2d\sum_{p\in S}\bigl[G_{pp}-\sum_{q\ne p}\lvert G_{qp}\rvert\bigr]$. If all brackets are positive, every $z'\ne z$ is beaten.
#    If that of $p$ is not, take $z_q=-z_p\operatorname{sign}G_{qp}$ and $z'$ that differs in $p$ alone: the margin is $\frac2d$ times the bracket, and the pair is lost.
# 3. For $G=K^\top K$ the bracket is the least $e_p^\top Gy$ over signs $y\in\{\pm1\}^r$ with $y_p=1$. With $E=G-\frac{\Lambda+\lambda}2$, $\lVert E\rVert\le\frac{\Lambda-\lambda}2$ and $\lVert y\rVert=\sqrt r$ it is at least
#    $\frac{\Lambda+\lambda}2-\frac{\Lambda-\lambda}2\sqrt r$, which is positive iff {eq}`ab-eq-wielandt` holds. There is equality if $E$ maps $y/\sqrt r$ to $-\frac{\Lambda-\lambda}2e_p$, and the reflection that exchanges these
#    two directions, times $\frac{\Lambda-\lambda}2$, does. So the condition number of $K$ may approach $\sqrt{(\sqrt r+1)/(\sqrt r-1)}$, and no more in general.
#
# For columns of lengths $\kappa_p$ and cosines $c_{pq}$, {eq}`ab-eq-dominant` reads $\kappa_p>\sum_{q\ne p}\kappa_q\lvert c_{pq}\rvert$. A finite width has cosines of the order of $1/\sqrt m$, so the shortest column is safe for
# $m\gg(\kappa_1/\kappa_r)^2$: this is the width that alignment by products takes, and it is necessary as well.


# %%
def two_columns(beta):
    return torch.tensor([[1.0, -beta], [0.0, math.sqrt(1 + beta**2)]])


def share_of(k_a, k_b=None):
    """Alignment, one a map of a batch."""
    k_b = k_a if k_b is None else k_b
    return exact_alignment(correlation(k_a, k_b), k_a.shape[-1])


by_hand = torch.stack([two_columns(beta) for beta in (0.99, 1.01)])
z, flipped = torch.tensor([1.0, 1.0]), torch.tensor([-1.0, 1.0])
margin = ((by_hand @ z) * (by_hand @ (z - flipped))).sum(-1)
conditions, found = condition_number(by_hand, 2), share_of(by_hand)
assert margin[0] > 0 > margin[1] and found.tolist() == [3 / 4, 5 / 8]
assert 1 + 2**0.5 < float(conditions[1]) < 1.01 * (1 + 2**0.5)
print("condition numbers", conditions.tolist(), "scores", found.tolist())
for r in (2, 3, 5, 8):
    edge = math.sqrt((r**0.5 + 1) / (r**0.5 - 1))
    maps = [worst_alignment_map(r, edge * (1 + e)) for e in (-1e-4, 1e-4)]
    inside, outside = share_of(torch.stack(maps)).tolist()
    assert inside == 1 - 2**-r and abs(inside - outside - 2 ** (1 - 2 * r)) < 1e-12
    print(f"r = {r}: least condition number that can lose {edge:.3f}")

# %%
draw = stream(seed, 0, "exercise dominant")
for r in (2, 4, 6):
    near = torch.eye(r) + 0.7 / r * torch.randn(2, 500, r, r, generator=draw)
    g_near = near[0].mT @ near[1]
    diagonal = g_near.diagonal(dim1=-2, dim2=-1)
    rest_of = g_near.abs().sum(-2) - diagonal.abs()
    dominated = (diagonal > rest_of).all(-1)
    at_ceiling = share_of(*near) > 1 - 2**-r - 1e-12
    assert bool((dominated == at_ceiling).all()) and 0 < int(dominated.sum()) < 500
    print(f"r = {r}: {int(dominated.sum())} of 500 maps at the ceiling, as predicted")
