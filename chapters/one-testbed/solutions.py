# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Solutions: one testbed
#
# The exercises at the end of the chapter. A heading names an exercise by its label; the instructor's edition puts the statement in its place. Each part of an exercise is worth four points. The code asserts what was derived by hand.

# %%
from itertools import product

import torch
from torch.nn.functional import pad

from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.run_defaults import torch_defaults
from contrastive_dynamics.testbed import (
    Apart, InfoNCE, Linear, Masked, effective_rank_of_shares, per_run, score, train, water_filling, water_level,
)  # fmt: skip
from contrastive_dynamics.testbed.soft_threshold import population_loss

torch_defaults("cpu")
seed = 1000
given = torch.tensor([0.8, 0.8, 0.4, 0.0], dtype=torch.float64)


def near(a, b, error=1e-9):
    """Whether two numbers or arrays of numbers agree."""
    return torch.allclose(
        torch.as_tensor(a).double(), torch.as_tensor(b).double(), rtol=error, atol=error
    )


# %% [markdown]
# ## ot-ex-arm
#
# 1. At $.4$ the two equal ones share all: $\mu=.6$, shares $.5,.5$, rank 2. At $2=\sum_j\rho_j$ the level is 0, and the shares are $.4,.4,.2$: rank 2.87. At $6$ the level is $-1$, and the shares are $.3,.3,.233,.167$: rank 3.90.
# 2. A direction comes in where what stands above its $\rho$ adds up to $\tau^2$: the third at $.4+.4=.8$, the fourth at $.8+.8+.4=2$.
# 3. Two encoders need not spend their norm. The level stops at 0, $\tau^2g_j=\rho_j$, and the shares are $.133,.133,.067,0$: a third of the norm is used, the private direction stays empty, and $G$ has the rank 2.87 as at $\tau^2=2$.

# %%
ranks = [
    float(effective_rank_of_shares(water_filling(given, t))) for t in (0.4, 2.0, 6.0)
]
print(", ".join(f"{rank:.2f}" for rank in ranks))
assert near(ranks, [2.0, 2.87, 3.90], 0.005)
assert near(water_filling(given, 6.0), [0.3, 0.3, 7 / 30, 1 / 6])
for j, entry in ((2, 0.8), (3, 2.0)):
    assert (
        float(water_filling(given, entry - 1e-6)[j])
        == 0
        < float(water_filling(given, entry + 1e-6)[j])
    )
two = water_filling(given, 6.0, tied=False)
assert (
    near(two, given / 6)
    and near(two.sum(), 1 / 3)
    and near(effective_rank_of_shares(two), ranks[1])
)

# %% [markdown]
# ## ot-ex-sum
#
# 1. Two encoders reach every $H$ with $\lVert H\rVert_*\le\tau^2$. At $H=C$ the left side is $\sum_j\rho_j$, so for a larger $\tau^2$ the inequality is strict. The loss depends on $H$ alone; a small change of $\tau^2$ is undone by one of $G$, and the slope is 0 for all such $\tau^2$. It is 0 at fixed $G$, too, since $\partial L/\partial H=2(H-C)=0$. The norm that is left stands in outputs of one encoder to which the other does not answer: $\lVert U\rVert_F=\lVert V\rVert_F=1$, but $\lVert U^\top V\rVert_*<1$.
# 2. $G=U^\top U$ has trace 1, so $\operatorname{tr}H=\tau^2$ exactly. At a given $\tau^2$ the best $H$ has $h_j=(\rho_j-\mu)_+$, and by the envelope theorem the slope of the least loss in $\tau^2$ is the multiplier of the constraint, $-2\mu$. The level is above 0 for $\tau^2<\sum_j\rho_j$, so that $\tau^2$ rises, and below 0 beyond, so that it falls.
# 3. With two outputs $H$ has rank 2, and the two largest correlations count: $\tau^2=\rho_1+\rho_2$, and the loss stays $\sum_{j>2}\rho_j^2$ above its least value.

# %%
rho = torch.tensor([0.9, 0.7, 0.5, 0.3, 0.1], dtype=torch.float64)
c, total = torch.diag(rho), float(rho.sum())


def least_loss(tau_squared, outputs=None, tied=True):
    """The loss at the optimum for a given τ²."""
    shares = water_filling(rho, tau_squared, outputs, tied=tied)
    return float(population_loss(torch.diag(shares), c, tau_squared))


tau = torch.tensor(4.0, dtype=torch.float64, requires_grad=True)
population_loss(c / 4.0, c, tau).backward()  # H = C at τ² = 4 > Σρ
assert abs(float(tau.grad)) < 1e-12
assert near(
    [least_loss(t, tied=False) for t in (total, 4.0, 9.0)], -float(rho.square().sum())
)
used = torch.linalg.svdvals(c / 4.0).sum()
spare = (1 - used).sqrt() * torch.eye(
    1, 5, dtype=c.dtype
)  # in outputs to which the other encoder does not answer
u = torch.cat([(c / 4.0).sqrt(), spare, 0 * spare])
v = torch.cat([(c / 4.0).sqrt(), 0 * spare, spare])
assert near(u.norm(), 1) and near(v.norm(), 1) and near(u.mT @ v, c / 4.0)
for t in (0.5, 1.5, 2.4, 2.6, 5.0):
    slope = (least_loss(t + 1e-6) - least_loss(t - 1e-6)) / 2e-6
    assert near(slope, -2 * float(water_level(rho, t)), 1e-5) and (slope < 0) == (
        t < total
    )
grid = torch.linspace(0.5, 3.0, 2501, dtype=torch.float64).tolist()
losses = [least_loss(t, 2) for t in grid]
assert abs(grid[losses.index(min(losses))] - 1.6) < 2e-3
assert near(min(losses) + rho.square().sum(), rho[2:].square().sum(), 1e-6)

# %% [markdown]
# ## ot-ex-spectral
#
# 1. $G=U^\top V$ is any matrix of rank at most $z$, and the loss is $\lVert G-C\rVert^2$ up to a constant. By Eckart and Young the best $G$ is the truncated singular value decomposition of $C$: a *hard* threshold keeps the $z$ largest $\rho_j$ as they are and drops the others.
# 2. They agree at $\tau^2=\rho_1+\dots+\rho_z$, where the level is 0 and $\tau^2g_j=\rho_j$. For a smaller $\tau^2$ the soft threshold also gives up weak directions among the first $z$ and takes $\mu$ off the others. Without a norm only the number of outputs decides, and a direction with a $\rho$ however small stays if there is an output for it. Nothing collapses there, and no temperature is left to choose.

# %%
g = stream(seed, 0, "exercise spectral")
p, q = (
    torch.linalg.qr(torch.randn(5, 5, generator=g, dtype=torch.float64))[0]
    for _ in range(2)
)
cross = p * rho @ q.mT
u, v = (0.3 * torch.randn(3, 5, generator=g, dtype=torch.float64) for _ in range(2))
for _ in range(4000):  # gradient descent, told nothing
    slope = 2 * (u.mT @ v - cross)
    u, v = u - 0.1 * v @ slope.mT, v - 0.1 * u @ slope
found = torch.linalg.svdvals(u.mT @ v)
print([round(x, 3) for x in found.tolist()])
assert near(found, [0.9, 0.7, 0.5, 0.0, 0.0], 1e-6)
assert near(2.1 * water_filling(rho, 2.1, 3), [0.9, 0.7, 0.5, 0.0, 0.0])
assert float(water_filling(rho, 0.3, 3)[2]) == 0

# %% [markdown]
# ## ot-ex-mask
#
# 1. Let $m_i$ be the coin of input $i$ and $x_i=2m_is/\sqrt n$, $y_i=2(1-m_i)s/\sqrt n$. Then $\mathbb E\,x_iy_k=\frac1n$ for $i\neq k$ and 0 for $i=k$; $\mathbb E\,x_ix_k=\frac1n$ and $\mathbb E\,x_i^2=\frac2n$. So the cross moment is $\frac1n(J-I)$ and the moment of either view is $\frac1n(J+I)$, with $J$ the matrix of ones. Along the ones the correlation is $\frac{n-1}{n+1}$, across them $-1$: where one view shows an input, the other lacks it. One encoder earns nothing by the negative ones. The sign has $\rho=\frac{n-1}{n+1}$: 0 in one input, near 1 if it is spread over many.
# 2. A signal that sits in one number. A mask that shows the number to one view hides it from the other. The world below has three such signals, in noise that is weaker than each of them.

# %%
for n in (1, 2, 3, 6):
    masks = torch.tensor(list(product((0.0, 1.0), repeat=n)), dtype=torch.float64)
    first, second = (
        2 * masks / n**0.5,
        2 * (1 - masks) / n**0.5,
    )  # times s, whose square is 1
    own, cross_moment = first.mT @ first / len(masks), first.mT @ second / len(masks)
    assert near(second.mT @ second / len(masks), own)
    values = torch.linalg.eigvals(torch.linalg.solve(own, cross_moment)).real
    assert near(values.max(), (n - 1) / (n + 1)) and near(
        values.sort().values[:-1], -torch.ones(n - 1)
    )


# %%
class OneNumberEach:
    """Three signs, each in a number of its own, in weak noise."""

    tied, inputs = True, 12

    def shared(self, n, generators):
        return per_run(torch.rand, generators, n, 3).sub(0.5).sign()

    def private(self, n, generators):
        return 0.5 * per_run(torch.randn, generators, n, self.inputs)

    def render(self, shared, private, modality):
        return pad(shared * torch.tensor([2.0, 1.5, 1.0]), (0, 9)) + private


seeds, kept = [seed, seed + 1, seed + 2], {}
for name, views in (("masked", Masked()), ("apart", Apart())):
    trained = train(
        OneNumberEach(),
        views,
        Linear(4),
        InfoNCE(1.0),
        seeds=seeds,
        steps=150,
        batch=128,
    )
    kept[name] = score(trained, Apart(), 2000, seeds).kept.mean().item()
print(", ".join(f"{name} {value:.2f}" for name, value in kept.items()))
assert kept["masked"] < kept["apart"] - 0.1

# %% [markdown]
# ## ot-ex-blind
#
# 1. A linear function $a^\top x$ is $(U^{-\top}a)^\top f$, and the other way round, so the best one predicts the same. $R^2$ is unchanged, be the condition number $10^6$; as a statement about what a *finite* probe can use it says nothing.
# 2. Each $s_j$ is read from its own output: with the noise $R_j^2=g_j/(g_j+\frac\varepsilon S)$. Equal shares $\frac1S$ give $\frac1{1+\varepsilon}$; one direction alone gives $\frac1S\cdot\frac1{1+\varepsilon/S}=\frac1{S+\varepsilon}$, about $\frac1S$ of it. The measure is largest for equal shares, since $g/(g+\frac\varepsilon S)$ is concave.

# %%
g = stream(seed, 0, "exercise blind")


def r_squared(outputs, target):
    """R² of the best linear prediction of each column, mean over columns."""
    fitted = outputs @ torch.linalg.lstsq(outputs, target, driver="gels").solution
    return float(1 - (target - fitted).square().sum() / target.square().sum())


x = torch.randn(300, 6, generator=g, dtype=torch.float64)
target = x[:, :2] + torch.randn(300, 2, generator=g, dtype=torch.float64)
lopsided = x @ torch.diag(torch.logspace(0, -6, 6, dtype=torch.float64))
assert near(r_squared(lopsided, target), r_squared(x, target))
S, eps = 4, 0.1
s = torch.randn(200_000, S, generator=g, dtype=torch.float64)
noise = (eps / S) ** 0.5 * torch.randn(200_000, S, generator=g, dtype=torch.float64)
for shares in ([0.25] * 4, [0.7, 0.2, 0.1, 0.0], [1.0, 0.0, 0.0, 0.0]):
    shares = torch.tensor(shares, dtype=torch.float64)
    by_hand = (shares / (shares + eps / S)).mean()
    assert abs(r_squared(shares.sqrt() * s + noise, s) - float(by_hand)) < 0.005
    print(f"{float(by_hand):.3f}")
assert near(1 / (1 + eps), (torch.tensor([0.25]).double() / (0.25 + eps / S)).mean())
assert near(by_hand, 1 / (S + eps))

# %% [markdown]
# ## ot-ex-coupled
#
# 1. All $\rho$ are 1: every direction of $x$ is the same in both views. So $\mu=1-\tau^2/(S+P)$, and every direction has the share $\frac1{S+P}$ at every $\tau^2$: private ones $\frac P{S+P}$ together, signal over noise is $S/P$. The strength of the noise is gone with the whitening.
# 2. Noise comes in at $\tau^2=\sum_j(\rho_j-c)_+=S(1-c)$. Beyond it all are in, $\mu=\frac{S+cP-\tau^2}{S+P}$, and
#
# $$
# \frac{\text{signal}}{\text{noise}}=\frac{S(1-\mu)}{P(c-\mu)}=\frac SP\cdot\frac{\tau^2+(1-c)P}{\tau^2-(1-c)S}.
# $$
#
# It is infinite at the entry and falls to $S/P$ as $\tau^2$ grows. At a small $\tau^2$ even an augmentation that changes noise a little removes it; for $c\to1$ the temperature that does so goes to 0.

# %%
S, P = 6, 10
for tau_squared in (0.2, 2.0, 30.0):
    assert near(
        water_filling(torch.ones(S + P, dtype=torch.float64), tau_squared), 1 / (S + P)
    )
for correlation in (0.0, 0.5, 0.9):
    every = torch.cat([torch.ones(S), torch.full((P,), correlation)]).double()
    entry = S * (1 - correlation)
    assert near(water_filling(every, entry - 1e-9)[S:].sum(), 0.0)
    for tau_squared in (entry + 0.1, entry + 3, 40.0):
        shares = water_filling(every, tau_squared)
        by_hand = S / P * (tau_squared + (1 - correlation) * P) / (tau_squared - entry)
        assert near(shares[:S].sum() / shares[S:].sum(), by_hand, 1e-8)
    print(f"c = {correlation}: noise from τ² = {entry:.1f} on")
