# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Solutions: feature decoupling
#
# The exercises at the end of the chapter. A heading names an exercise by its label; the instructor's edition puts the statement in its place. Each part of an exercise is worth four points. The code asserts what was derived by hand.

# %%
import math
from dataclasses import replace

import numpy as np
import torch
from scipy.optimize import brentq

from contrastive_dynamics.feature_decoupling import (
    DecoupledTraining, SparseCoding, atom_shares, cross_moment, downstream_labels, draw_w_star, flat_dictionary,
    initial_weights, linear_limit, local_dictionary, paper_scales, random_dictionary, random_masks, regression_probe,
    span_share, train,
)  # fmt: skip
from contrastive_dynamics.numerics.random_streams import streams
from contrastive_dynamics.numerics.relative_error import relative_error
from contrastive_dynamics.numerics.run_defaults import torch_defaults

torch_defaults("cpu")
block, single = range(1000, 1005), torch.float32
p = paper_scales(16, 0.5, 1.0)[0]  # the page's

# %% [markdown]
# ## fd-ex-rate
#
# 1. $1-\rho^n-(1-\rho)^n$, largest at $\rho=\frac12$, where it is $1-2^{1-n}$: nothing for $n=1$, and 0.99 from $n=8$ on. For larger $n$ one of the two powers can be neglected, and all rates with $1-0.01^{1/n}\le\rho\le0.01^{1/n}$ will do: a window that opens fast, since $1-0.01^{1/n}\approx\frac{4.6}n$.
# 2. With $k$ coordinates in $x^+$ and $n-k$ in $x^{++}$ the product is $\frac{z_j^2k(n-k)}{n^2\rho(1-\rho)}$ plus terms of mean zero, and $\mathbb E\,k(n-k)=n(n-1)\rho(1-\rho)$. So $\mathbb E\,uv=p\,(1-\frac1n)$ at every rate: what is seen in both views less often is blown up more. The mean prefers no rate; it only asks
#    for $n\ge2$. For any atom it is $p\,(1-\sum_iM_{ij}^2\sum_kM_{ik}^2)$, by {eq}`fd-eq-moment`.
# 3. $\mathbb E\,u^2=p\bigl(1+\frac{1-\rho}{n\rho}\bigr)+\frac{\sigma_\xi^2}\rho=a+\frac b\rho$ with $a=p(1-\frac1n)$ and $b=\frac pn+\sigma_\xi^2$, and $\mathbb E\,v^2=a+\frac b{1-\rho}$. Hence
#
#    $$
#    \operatorname{corr}(u,v)=\frac a{\sqrt{a^2+\frac{b(a+b)}{\rho(1-\rho)}}}\ \le\ \frac a{a+2b},
#    $$
#
#    with equality at $\rho=\frac12$, for every $n$ and every $\sigma_\xi$. A correlation $c$ shows after some $1/c^2$ pairs, so for small $\rho$ the price is $1/\rho$ times as many pairs.
#
# The rate $\frac12$ is best in 1. and 3. and as good as any other in 2.; none of the three is delicate. What decides is $n$: an atom on one coordinate is lost at any rate, one on two loses half of its signal.

# %%
ex_few, p_ex, noise_ex = 3, 0.1, 0.3  # seeds, p and σ_ξ of the exercises


def rate_by_hand(n, rho):
    """Chance that both views see the atom, E uv, and the correlation."""
    a, b = p_ex * (1 - 1 / n), p_ex / n + noise_ex**2
    spread = math.sqrt(a**2 + b * (a + b) / (rho * (1 - rho)))
    return 1 - rho**n - (1 - rho) ** n, a, a / spread


def rate_by_masks(n, rho):
    """The same, over all 2^n masks of the atom's coordinates."""
    k = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n).view(-1, n).sum(-1)
    chance = rho**k * (1 - rho) ** (n - k)
    a, b = k / (n * rho), (n - k) / (n * (1 - rho))  # what each view sees of M_j
    first = p_ex * a**2 + noise_ex**2 * a / rho
    second = p_ex * b**2 + noise_ex**2 * b / (1 - rho)
    moments = torch.stack([a * b * p_ex, first, second]) @ chance
    both_see = chance[(k > 0) & (k < n)].sum()
    return both_see, moments[0], moments[0] / (moments[1] * moments[2]).sqrt()


# %%
print("ρ         0.1   0.3   0.5   chance that both views see, correlation")
for n in (1, 2, 4, 8):
    found = {rho: rate_by_hand(n, rho) for rho in (0.1, 0.3, 0.5)}
    for rho, expected in found.items():
        for ours, theirs in zip(expected, rate_by_masks(n, rho), strict=True):
            assert abs(ours - float(theirs)) < 1e-12
    for row in (0, 2):
        print(f"n = {n}   ", *(f"{each[row]:5.2f}" for each in found.values()))
    a, b = p_ex * (1 - 1 / n), p_ex / n + noise_ex**2
    assert abs(found[0.5][2] - a / (a + 2 * b)) < 1e-12
assert rate_by_hand(7, 0.5)[0] < 0.99 < rate_by_hand(8, 0.5)[0]
assert abs(rate_by_hand(64, 1 - 0.01 ** (1 / 64))[0] - 0.99) < 1e-9

local_draws = streams(block, 1, "exercise rate")[:ex_few]
local_ex = SparseCoding(local_dictionary(64, 8, 4, local_draws), p_ex, noise_ex)
ex_pairs = local_ex.views(local_ex.sample(20000, local_draws)[1], local_draws, rate=0.2)
seen_u, seen_v = (each @ local_ex.dictionary for each in ex_pairs)
drawn_moment = float((seen_u * seen_v).mean()) / p_ex
print(f"drawn, n = 4, ρ = 0.2: E uv = {drawn_moment:.3f} p, by hand 0.75 p")
assert abs(drawn_moment - 0.75) < 0.08

# %% [markdown]
# ## fd-ex-broken
#
# 1. $\mathbb E\,x^+x^{++\top}=p\,(MM^\top-\operatorname{diag}MM^\top)+\Sigma-\operatorname{diag}\Sigma$. A mask takes the diagonal away and nothing else. The eigenvector of the largest eigenvalue $\mu$ of $\Sigma-\operatorname{diag}\Sigma$, where it is dense, grows at $\mu-p\frac d{d_1}$, and wins against the atoms' $p(1-\frac d{d_1})$ if
#    $\mu>p$, up to what $\Sigma$ does along the atoms.
# 2. $\Sigma-\operatorname{diag}\Sigma=c\,\sigma_\xi^2(d_1ee^\top-I)$: the direction $e$ grows at $c\,\sigma_\xi^2(d_1-1)-p\frac d{d_1}$, the atoms at $p(1-\frac d{d_1})-c\,\sigma_\xi^2$. So the noise wins as soon as
#
#    $$
#    c>c_*=\frac p{\sigma_\xi^2d_1}.
#    $$
#
#    The larger $d_1$, the weaker the correlation that does it; no two coordinates show it. In the first stage all neurons turn to the one direction. One direction saturates, for a single number tells few data apart; then the atoms grow after all, beside it. The mean colour of an image is such a factor,
#    which all of its pixels share, and crops keep it: compare what crops alone learn in Figure 2 of the paper, colour features beside others.
# 3. (b) and (c). What a view gets on its own, added, has no mean product with the other view, but what was there is still there: after (a) $\mathbb E\,x^+x^{++\top}$ is the same, only the views are noisier. A coin that flips makes the mean product along $e$ zero, as does removing it: $\mathbb E\,xx^\top$ is replaced by
#    $P\,\mathbb E\,xx^\top P$ with $P=I-ee^\top$. The atoms keep $p(1-\frac d{d_1})$ and a little more, $+(1-c)\sigma_\xi^2/d_1$.
# 4. Masks that hide both coordinates of a pair or none. Then all $2\times2$ blocks of $\mathbb E\,xx^\top$ are taken away, the noise's with them. An atom on $n/2$ such pairs keeps $p(1-\frac2n)$ instead of $p(1-\frac1n)$, since what counts is how many *blocks* it lies on. In general the blocks must cover the correlations of the noise, and an atom must be
#    spread over many blocks: crops, not pixels. (Under a mask of single coordinates paired noise grows at $\sigma_\xi^2$ in $\frac{d_1}2$ directions, as white noise does without a mask, while the atoms have hardly any $\sigma_\xi^2$ any more.)

# %%
from dataclasses import dataclass


@dataclass(frozen=True)
class CommonFactor(SparseCoding):
    """Noise with the covariance σ_ξ²[(1 − c)I + c d1 ssᵀ]; s `[run, d1, 1]`."""

    factor: torch.Tensor
    c: float

    def dense_noise(self, count, generators):
        white = super().dense_noise(count, generators)
        loud, rest = 1 - self.c + self.c * white.shape[-1], 1 - self.c
        part = white @ self.factor * (loud**0.5 - rest**0.5)
        return (rest**0.5 * white).baddbmm_(part, self.factor.mT)


d_two, dim_two, p_two, noise_two = 4, 64, 0.05, 0.3
flat_five = flat_dictionary(
    dim_two, d_two + 1, streams(block, 1, "exercise broken")[:ex_few], dtype=single
)
atoms_two, s_two = flat_five[..., :-1], flat_five[..., -1:]
c_least = p_two / (noise_two**2 * dim_two)

# %%
short_run = DecoupledTraining(batch=256, negatives=64, temperature=12.0, bias="zero")


def short_course(model, purpose, record_at, how=short_run):
    """A training of a small model."""
    draws = streams(block, 1, purpose)[:ex_few]
    begin = initial_weights(model, 16, 0.05, draws)
    return train(model, begin, how, draws, record_at, workers=1)


def share_when_grown(course, m):
    """Share in span(M) when the mean length of a run's neurons reaches one."""
    lengths = course.weights.norm(dim=-1).mean(-1)
    at = (lengths >= 1).long().argmax(0)
    assert bool((lengths[-1] >= 1).all())
    return span_share(course.weights, m).mean(-1).gather(0, at[None])[0]


# %%
print(f"c_* = {c_least:.4f}, shares of the weights")
for times in (0.0, 0.25, 4.0):
    loud_ex = CommonFactor(atoms_two, p_two, noise_two, s_two, times * c_least)
    ran = short_course(loud_ex, "exercise broken training", [0, 40, 160])
    own, on_s = (span_share(ran.weights, m) for m in (atoms_two, s_two))
    for k, step in ((1, 40), (2, 160)):
        shares = f"{float(own[k].mean()):.2f} span(M), {float(on_s[k].mean()):.2f} s"
        print(f"c = {times:4.2f} c_*, step {step:3}: {shares}")
    assert float(own[2].mean()) > max(0.5, float(on_s[2].mean()))
    assert float(on_s[1].mean()) > 0.6 if times > 1 else float(on_s[1].mean()) < 0.1


# %%
def changed(x, how, draws):
    """A view before its mask: what is done to its part along s."""
    coin = [torch.randn(*x.shape[1:2], 1, generator=g, dtype=single) for g in draws]
    coin = torch.stack(coin)
    part = x @ s_two
    new = {"add": part + coin, "flip": part * coin.sign(), "remove": 0 * part}
    return x + (new.get(how, part) - part) @ s_two.mT


def drawn_rate(how, count=20000):
    """E⟨v, x⁺⟩⟨v, x⁺⁺⟩ for v = s, and its mean for the atoms."""
    draws = streams(block, 1, "exercise broken views")[:ex_few]
    x = loud_ex.sample(count, draws)[1]
    mask = random_masks(count, dim_two, draws, dtype=single)
    first = 2 * mask * changed(x, how, draws)
    second = 2 * (1 - mask) * changed(x, how, draws)
    along = ((first @ v) * (second @ v) for v in (s_two, atoms_two))
    return [float(each.mean()) for each in along]


# %%
kept_part, c_ex = p_two * d_two / dim_two, loud_ex.c  # that of 4 c_*
own_part = (1 - c_ex) * noise_two**2
s_grows = c_ex * noise_two**2 * (dim_two - 1) - kept_part
s_falls = -kept_part - own_part * (1 - 1 / dim_two)
as_before = p_two - kept_part - c_ex * noise_two**2
by_projection = p_two - kept_part + own_part / dim_two
for how in ("nothing", "add", "flip", "remove"):
    broken = how in ("nothing", "add")
    rates_by_hand = (s_grows, as_before) if broken else (s_falls, by_projection)
    for ours, theirs in zip(drawn_rate(how), rates_by_hand, strict=True):
        assert abs(ours - theirs) < 0.3 * p_two
    on_s, on_atoms = rates_by_hand
    print(f"{how:8} s grows at {on_s:6.3f}, the atoms at {on_atoms:.3f}")


# %%
@dataclass(frozen=True)
class PairedNoise(SparseCoding):
    """ξ with equal neighbours, and masks that may hide these together."""

    together: bool

    def dense_noise(self, count, generators):
        white = super().dense_noise(count, generators)
        return white[..., ::2].repeat_interleave(2, -1)

    def views(self, x, generators, kind="masked", rate=0.5):
        if not self.together:
            return super().views(x, generators, kind, rate)
        half = x.shape[1], x.shape[2] // 2
        mask = random_masks(*half, generators, rate, x.dtype)
        mask = mask.repeat_interleave(2, -1)
        return mask * x / rate, (1 - mask) * x / (1 - rate)


# %%
at_end = []
for together in (False, True):
    paired = PairedNoise(atoms_two, p_two, noise_two, together)
    ran = short_course(paired, "exercise pairs training", range(0, 161, 4))
    at_end.append(float(share_when_grown(ran, atoms_two).mean()))
    print(f"pairs {'together' if together else 'apart'}: {at_end[-1]:.2f} in span(M)")
assert at_end[0] < 0.5 and at_end[1] > 0.75

alone = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * 8)  # all masks
paired_masks = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * 4)
paired_masks = paired_masks.repeat_interleave(2, -1)
equal_noise = torch.block_diag(*[torch.ones(2, 2)] * 4)
for mask, left, kept_signal in ((alone, 1, 7 / 8), (paired_masks, 0, 6 / 8)):
    meet = 4 * mask.mT @ (1 - mask) / len(mask)  # E D_i (1 − D_k) over its value
    assert float((meet * equal_noise).max()) == left
    assert float(meet.mean()) == kept_signal  # of an atom on these 8 coordinates

# %% [markdown]
# ## fd-ex-first
#
# 1. With a mask the rates are $\kappa p(1-\frac d{d_1})$ and $-\kappa p\frac d{d_1}$, without one $\kappa(p+\sigma_\xi^2)$ and $\kappa\sigma_\xi^2$. Both differ by $\kappa p$, so that in *both* runs
#
#    $$
#    \text{share}(t)=\frac1{1+\frac{d_1-d}d\,e^{-2\kappa pt}} .
#    $$
#
#    At the same time both are at the same point. The mask subtracts $\sigma_\xi^2+p\frac d{d_1}$ from *all* rates: it takes away growth that all directions have in common and thereby puts off $T_1$, the end of the time in which directions are sorted. Without a mask the weights are large before they are sorted.
# 2. With a mask the dense part does not grow: at $T_1$ its share of $W^2$ is at most $\frac{d_1-d}{d_1}W^{-2}$. Without one, half is reached when $e^{2\kappa pt}=\frac{d_1-d}d$, and then $W^2=2\,\frac{d_1-d}{d_1}\,e^{2\kappa\sigma_\xi^2t}$. Eliminating $t$ gives {eq}`fd-eq-without`. So with a mask any small start will do; without one it takes, by $T_1$, a $W$ above
#    the power $\sigma_\xi^2/2p$ of $d_1/d$.
# 3. $2\log W=2\log d_1=4\log d$ against $\log\frac{d_1}d=\log d$: it is mostly noise where $\frac{\sqrt{\log d}}{\log\log d}>4$, from $\log d\approx681$ on, $d\approx10^{296}$. The statement is true and asymptotic. At a $d$ that can be run, $p/\sigma_\xi^2$ or $W$ must be chosen smaller to see it.
# 4. $\lambda=\kappa\sigma_\xi^2$: decay subtracts a multiple of $I$ from all rates, too. In this stage it does all that the mask does with flat atoms. But one must know $\sigma_\xi^2$: at $\lambda>\kappa(p+\sigma_\xi^2)$ all weights die, and with $p\ll\sigma_\xi^2$ there is little room. The mask removes $\operatorname{diag}\mathbb E\,xx^\top$ without being told what it
#    is, also where the variance of the noise differs from one coordinate to the next.

# %%

three = SparseCoding(
    flat_dictionary(64, 4, streams(block, 1, "exercise first")[:1]), 0.05, 0.4
)
spread_three = (64 - 4) / 4  # (d1 − d)/d


def parts(kind, t, decay=0.0):
    """E‖w‖² in span(M) and outside, over its start, from the moment itself."""
    moment = cross_moment(three, kind)[0] - decay * torch.eye(64)
    second = torch.linalg.matrix_exp(2 * t * moment) / 64
    inside = (three.dictionary[0].mT @ second @ three.dictionary[0]).trace()
    return float(inside), float(second.trace() - inside)


def share_at_growth(kind, growth, decay=0.0):
    """The share in span(M) when E‖w‖² has grown by growth²."""
    time = brentq(lambda t: sum(parts(kind, t, decay)) - growth**2, 0, 200)
    inside, outside = parts(kind, time, decay)
    return inside / (inside + outside)


# %%
for t in (3.0, 30.0):
    expected = 1 / (1 + spread_three * math.exp(-2 * 0.05 * t))
    for kind in ("masked", "plain"):
        inside, outside = parts(kind, t)
        assert abs(inside / (inside + outside) - expected) < 1e-10
ratio_three = 0.05 / 0.4**2
for growth in (3.0, 20.0, 100.0):
    masked_share = share_at_growth("masked", growth)
    assert masked_share >= 1 - growth**-2
    plain_share = share_at_growth("plain", growth)
    print(f"W = {growth:g}: {masked_share:.4f} with a mask, {plain_share:.3f} without")
half_log = math.log(spread_three) + ratio_three * math.log(2 * 60 / 64)
half_growth = math.exp(half_log / (2 * ratio_three))
assert abs(share_at_growth("plain", half_growth) - 0.5) < 1e-9
assert share_at_growth("plain", 20.0, decay=0.4**2) > 0.99
log_d = brentq(lambda x: math.sqrt(x) - 4 * math.log(x), 20, 1e4)
print(f"half without a mask at W = {half_growth:.0f}; misses from log d = {log_d:.0f}")
assert 680 < log_d < 682

# %%
sgd_three = SparseCoding(
    flat_dictionary(64, 4, streams(block, 1, "exercise decay")[:ex_few], dtype=single),
    0.05,
    0.4,
)
reached = {}
for decay in (0.0, 64 / 65 * 0.4**2):
    options = replace(short_run, views="plain", weight_decay=decay, temperature=100.0)
    ran = short_course(sgd_three, "exercise decay training", range(0, 161, 4), options)
    reached[decay] = share_when_grown(ran, sgd_three.dictionary)
    share = float(reached[decay].mean())
    print(f"λ = {decay:.3f}: {share:.2f} in span(M) at length one")
plain_end, decay_end = reached.values()
assert float(plain_end.max()) < 0.6 and float(decay_end.min()) > 0.85

# %% [markdown]
# ## fd-ex-threshold
#
# 1. For $b=0$, $f(x)=Vx$, and the loss contains $V$ only in $\langle f(x),f(x')\rangle=x^\top V^\top Vx'$. So does $\ell$ in {eq}`fd-eq-gradient`, and the gradient at $OV$ is $O$ times that at $V$. A Gaussian start is as likely as its rotation; hence so is $V(t)$ for all $t$: its rows are random mixtures, and an atom has more than half of a neuron's weight by chance only. This
#    holds for the whole loss, at any batch size. In the first stage even $V^\top V$ knows no atoms: for flat ones {eq}`fd-eq-moment` contains $MM^\top$ alone, the same for $M$ and for $M$ rotated, $MQ$. Where $\ell$ is no longer constant the loss sees fourth moments of $z$; but that shapes $V^\top V$, not neurons.
# 2. For $w_1\ge w_2\ge0$, one atom alone and both atoms, with equal or opposite signs, give
#
#    $$
#    \dot w_{1,2}=\kappa\,\bigl\{p(1-p)\,S_b(w_{1,2})+\tfrac{p^2}2\bigl[S_b(w_1+w_2)\pm S_b(w_1-w_2)\bigr]\bigr\} .
#    $$
#
#    For $w_1-w_2<b<w_2$ the last term is zero. The difference grows at the rate $\kappa p(1-p)$, the sum $2w$ by $\kappa[2p(1-p)(w-b)+p^2(2w-b)]$, and $\delta\approx\frac{w_1-w_2}w$ at the difference of the two rates: {eq}`fd-eq-lead`. A lead grows iff $r>p/(1-\frac p2)$. With two atoms the threshold must exceed the chance that the second one
#    is there. Below, the data with both atoms, which reward the mixture, outweigh it. And for $p=\frac12$ it takes $r>\frac23$; for $p\ge\frac23$ no $r<1$ is enough. It is the sparsity that the threshold sees. (With noise that is fresh in each view the condition is another: for many atoms a lead grows at any threshold for $p<\frac13$, as in 3., and at none above. The code sums over all $z$.)
# 3. No. If $z$ is Gaussian, so is $\langle w,z\rangle$, with the variance $p\lVert w\rVert^2$, and every direction in span$(M)$ has the same gradient. For nearly Gaussian $\langle w,z\rangle$ the first correction to $\frac12\mathbb E\,S_b^2$ is $\frac{k_4}{24}\sum_jw_j^4$ times $-2q'(b)>0$, $k_4$ being the fourth cumulant of $z_j$ and $q$ the Gaussian density: with
#    $k_4>0$ it is largest at the atoms, with $k_4<0$ at the even mixtures, and for $b=0$ it is nothing. Independent component analysis works by the same term.

# %%
tiny_four = SparseCoding(
    flat_dictionary(16, 4, streams(block, 1, "exercise turn")[:1]), 0.3, 0.3
)
turn_draw = streams(block, 1, "exercise turn start")[:1]
upright = initial_weights(tiny_four, 6, 1.0, turn_draw)
turn = torch.linalg.qr(torch.randn(6, 6, generator=turn_draw[0]))[0]


def after(begin, bias):
    """Weights after 30 steps on the same data."""
    how = DecoupledTraining(
        batch=32, negatives=8, temperature=2.0, bias=bias, grown=0.1
    )
    draws = streams(block, 1, "exercise turn data")[:1]
    return train(tiny_four, begin, how, draws, [0, 30], workers=1).weights[-1]


turned = relative_error(after(turn @ upright, "zero"), turn @ after(upright, "zero"))
turned_bias = relative_error(after(turn @ upright, "max"), turn @ after(upright, "max"))
print(f"rotated start: off by {turned:.0e} for b = 0, by {turned_bias:.1f} with a bias")
assert turned < 1e-9 and turned_bias > 1e-3


# %%
def lead_grows(q, ratio, delta=1e-5):
    """Rate of δ = log(w1/w2) over δ, from the nine values of (z1, z2)."""
    w = torch.tensor([math.exp(delta / 2), math.exp(-delta / 2)])
    z = torch.cartesian_prod(*[torch.tensor([-1.0, 0.0, 1.0])] * 2)
    chance = torch.where(z == 0, 1 - q, q / 2).prod(-1)
    pre = z @ w
    soft = pre.sign() * (pre.abs() - ratio).clamp(min=0)
    velocity = (chance * soft) @ z
    return float((velocity / w) @ torch.tensor([1.0, -1.0])) / delta


for q in (0.05, 0.3, 0.5, 0.8):
    for ratio in (0.02, 0.1, 0.4, 0.9):
        expected = q * (ratio * (1 - q / 2) - q)
        assert abs(lead_grows(q, ratio) - expected) < 1e-5
    least = q / (1 - q / 2)
    assert lead_grows(q, 0.98 * min(least, 1)) < 0
    assert least >= 1 or lead_grows(q, 1.02 * least) > 0
    print(f"p = {q}: a lead grows for b/w > {least:.2f}")


# %%
def with_noise(q, bias, count=16, spread=0.46, delta=1e-3):
    """The same among many equal atoms, ‖w‖ = 1, noise N(0, spread²) in each view."""
    size = count**-0.5
    laws = [(1.0,), *[(q / 2, 1 - q, q / 2)] * (count - 2)]
    others = np.array(laws[0])
    for law in laws[1:]:
        others = np.convolve(others, law)
    others = torch.as_tensor(others)
    rest = size * torch.arange(2 - count, count - 1, dtype=others.dtype)
    w = size * torch.tensor([math.exp(delta / 2), math.exp(-delta / 2)])
    z = torch.cartesian_prod(*[torch.tensor([-1.0, 0.0, 1.0])] * 2)
    chance = torch.where(z == 0, 1 - q, q / 2).prod(-1)[:, None] * others
    bell = torch.distributions.Normal(0.0, 1.0)
    over, under = (
        (side * ((z @ w)[:, None] + rest) - bias) / spread for side in (1, -1)
    )
    fires = bell.cdf(over) + bell.cdf(under)  # the first view, given z
    mean = [spread * (bell.log_prob(u).exp() + u * bell.cdf(u)) for u in (over, under)]
    velocity = (chance * fires * (mean[0] - mean[1])).sum(-1) @ z
    return float((velocity / w) @ torch.tensor([1.0, -1.0])) / delta


biases = [k / 20 for k in range(1, 20)]
assert all(with_noise(q, b) > 0 for q in (p, 0.1, 0.3) for b in biases)
assert all(with_noise(q, b) < 0 for q in (0.35, 0.5) for b in biases)
print("with noise, 16 atoms: a lead grows at every b for p ≤ 0.3, at none for p ≥ 0.35")


# %%
@dataclass(frozen=True)
class OtherLaw(SparseCoding):
    """z drawn by another law of the same variance, from uniform numbers."""

    law: object

    def latents(self, count, generators):
        uniform = self._draws(torch.rand, count, self.dictionary.shape[-1], generators)
        return self.law(uniform)


def three_values(q):
    """0, or ±√(p/q) with the probability q."""
    size = math.sqrt(p_ex / q)
    return lambda u: size * ((u < q / 2).to(u) - (u > 1 - q / 2).to(u))


def gaussian(u):
    return torch.special.ndtri(u.clamp(1e-6, 1 - 1e-6)) * p_ex**0.5


laws = {"sparse": three_values(p_ex), "Gaussian": gaussian, "often": three_values(0.8)}

# %%
best_by_law = {}
with_bias = DecoupledTraining(batch=256, negatives=64, temperature=4.0, grown=0.5)
for name, law in laws.items():
    draws = streams(block, 1, "exercise laws")[:ex_few]
    m_law = flat_dictionary(64, 8, draws, dtype=single)
    by_law = OtherLaw(m_law, p_ex, 0.2, law)
    begin = initial_weights(by_law, 16, 0.05, draws)
    ran = train(by_law, begin, with_bias, draws, [0, 250], workers=1).weights[-1]
    best_by_law[name] = float(atom_shares(ran, m_law).amax(-1).mean())
    in_span = float(span_share(ran, m_law).mean())
    print(f"{name:8}: {in_span:.2f} in span(M), best atom {best_by_law[name]:.2f}")
    assert in_span > 0.9
chance_best = torch.randn(4000, 8, generator=draws[0]).square()
chance_best = float((chance_best.amax(-1) / chance_best.sum(-1)).mean())
print(f"a random direction in span(M): best atom {chance_best:.2f}")
assert best_by_law["sparse"] > chance_best + 0.1
assert abs(best_by_law["Gaussian"] - chance_best) < 0.1
assert best_by_law["often"] < best_by_law["Gaussian"]

# %% [markdown]
# ## fd-ex-ceiling
#
# 1. A linear function of $Vx$ is one of $x$, so it is enough to look at $\hat y=\langle v,x\rangle$. With $a=M^\top v$ the error is $p\lVert w^*-a\rVert^2+\sigma_\xi^2\lVert v\rVert^2\ge p\lVert w^*-a\rVert^2+\sigma_\xi^2\lVert a\rVert^2$, least at $a=\frac p{p+\sigma_\xi^2}w^*$. This leaves $\frac{\sigma_\xi^2}{p+\sigma_\xi^2}$ of $\mathbb E y^2=p\lVert w^*\rVert^2$, whatever $w^*$ is. It is
#    reached iff $Mw^*$ is in the row space of $V$; by all $w^*$ iff span$(M)$ is.
# 2. With $h_\pm=\Pr(1+\xi\gtrless\pm t)$ and $e=\Pr(|\xi|>t)$, $\xi\sim\mathcal N(0,\sigma_\xi^2)$,
#
#    $$
#    R^2=\frac{(h_+-h_-)^2}{h_++h_-+\frac{1-p}p\,e},
#    $$
#
#    which tends to one as soon as $e\ll p$, in spite of $p\ll\sigma_\xi^2$: rare events are cheap to find if each is large. The most that any function can have is $\mathbb E[\hat z^2]/p$ with the posterior mean $\hat z=\mathbb E[z_j\mid u_j]$, since $x$ tells of $z$ through the $u_j$ alone.
# 3. In $L=\log d$ the ratio $\log L/\sqrt L$ is largest at $L=e^2$, $d\approx1618$, where it is $2/e$ and the ceiling 0.42. Up to there the ceiling *rises* with $d$. It is below 0.3 only from $\log d\approx128$ on, $d\approx10^{56}$, and below 0.1 from $\log d\approx6170$ on. No experiment sees this limit by making $d$ larger. What can be seen is the
#    gap between ceiling and oracle at constants that make $p/\sigma_\xi^2$ small and $\sigma_\xi$ small: hence the 0.5 before $\log\log d/d$.


# %%
def tail(t):
    """Pr(ξ > t) for the noise of the exercises."""
    return math.erfc(t / (noise_ex * math.sqrt(2))) / 2


def oracle_r2(t):
    hit, wrong_sign, alarm = tail(t - 1), tail(t + 1), 2 * tail(t)
    return (hit - wrong_sign) ** 2 / (hit + wrong_sign + (1 - p_ex) / p_ex * alarm)


def best_r2():
    """Of any function: E[E[z|u]²]/p, by the trapezoidal rule."""
    u = torch.linspace(-4, 4, 4001)
    bells = [(-((u - z) ** 2) / (2 * noise_ex**2)).exp() for z in (-1, 0, 1)]
    bells = torch.stack(bells) / (noise_ex * math.sqrt(2 * math.pi))
    joint = bells * torch.tensor([p_ex / 2, 1 - p_ex, p_ex / 2])[:, None]
    return float(torch.trapezoid((joint[2] - joint[0]) ** 2 / joint.sum(0), u)) / p_ex


ceiling = p_ex / (p_ex + noise_ex**2)
best_t = max((k / 100 for k in range(30, 100)), key=oracle_r2)
print(f"linear {ceiling:.3f}, threshold {oracle_r2(best_t):.3f}, any {best_r2():.3f}")
assert ceiling < oracle_r2(best_t) < best_r2()

# %%
probe_draws = streams(block, 1, "exercise ceiling")[:ex_few]
probed = SparseCoding(random_dictionary(64, 8, probe_draws), p_ex, noise_ex)
z_ex, x_ex = probed.sample(6000, probe_draws)
w_star_ex = draw_w_star(probe_draws, 8, 2)
y_ex = downstream_labels(z_ex, w_star_ex)[0]
mixing = torch.stack([torch.randn(40, 64, generator=g) for g in probe_draws])
u_ex = x_ex @ probed.dictionary
by_threshold = u_ex.sign() * (u_ex.abs() > best_t)
for name, given, expected in (
    ("x", x_ex, ceiling),
    ("40 mixtures of x", x_ex @ mixing.mT, None),
    ("oracle", by_threshold, oracle_r2(best_t)),
):
    r2 = regression_probe(
        given[:, :3000], y_ex[:, :3000], given[:, 3000:], y_ex[:, 3000:]
    ).mean()
    print(f"{name}: R² = {float(r2):.3f}")
    assert abs(float(r2) - expected) < 0.06 if expected else float(r2) < ceiling
limits = [
    linear_limit(w, probed.dictionary, p_ex, noise_ex, w_star_ex)
    for w in (probed.dictionary.mT, mixing)
]
assert relative_error(limits[0], torch.full_like(limits[0], ceiling)) < 1e-10
assert bool((limits[1] < ceiling).all())


# %%
def ratio_at(log_d):
    """log log d/√log d."""
    return math.log(log_d) / math.sqrt(log_d)


top = math.exp(2)  # log d where the ratio is largest
assert abs(ratio_at(top) - 2 / math.e) < 1e-12
assert max(ratio_at(k / 100) for k in range(200, 2000)) <= ratio_at(top)
print(f"largest at d = {math.exp(top):.0f}, there {1 / (1 + 1 / ratio_at(top)):.2f}")
falls = {}
for level in (0.3, 0.1):
    needed = level / (1 - level)  # p/σ_ξ² with this ceiling
    falls[level] = brentq(lambda x, r=needed: ratio_at(x) - r, top, 1e6)
    print(f"below {level} from log d = {falls[level]:.0f} on")
assert 128 < falls[0.3] < 129 and 6160 < falls[0.1] < 6180
