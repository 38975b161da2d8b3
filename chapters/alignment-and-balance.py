# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% tags=["active-ipynb", "remove-cell"]
# # On Google Colab: the book, and what Colab lacks beside its own torch. Elsewhere this cell does nothing.
# import sys
# from importlib.metadata import version
# from importlib.util import find_spec
#
# if "google.colab" in sys.modules and not find_spec("contrastive_dynamics"):
#     !git clone --quiet --depth 1 --branch main https://github.com/contrastive-dynamics/book book
#     !pip install --quiet "./book[kernels]" "torch=={version('torch')}"
#     %cd -q book/chapters

# %% [markdown]
# # Alignment and balance
#
# ```{include} ../book/_generated/alignment-and-balance-box.md
# ```
#
# This is {cite}`ren-li-2023`: why training on pairs of two modalities needs negative pairs. Positive pairs align the two representations at the price
# of a growing condition number; negative pairs bring it back to one. No code of the authors is public, and the text that we work from has lost its
# inline formulas: each was restored, and is checked against enumeration here before it is relied on. Each statement stands beside the run that tests
# it; the card below a run gives the verdict and what was measured. How a verdict is reached stands in
# [How a claim is judged](../book/judging.md), the symbols in [Notation](../book/notation.md). What differs from the paper is
# [listed in a box](ab-slips), and five exercises with solutions stand at the end.

# %% tags=["hide-input", "parameters"]
first_seed: int = 1000  # first seed of the block that is judged, 0..1000000
seeds: int = 16  # seeds of a claim that is decided by chance, 3..1000
sigma: list[float] = [2.0, 1.6, 1.3, 1.0]  # scales of the r signals, 0.1..10
noise: float = 0.8  # scale of the noise, below the least of sigma, 0.01..10
dim: int = 8  # signals and noises of one modality, d, at most (20 + r)/2, 2..18
widths: list[int] = [100, 400, 1600, 6400, 25600]  # of networks, m, 36..1000000
negatives: float = 8.0  # strength K of the negatives, 0.1..1000
tau_first: float = 0.05  # squared inverse temperature in stage 1, 0.001..1
tau_second: float = 2.0  # in stage 2, 0.1..30
time_first: float = 24.0  # length of stage 1, 0.1..1000
time_second: float = 60.0  # of stage 2, 0.1..1000
sizes: list[float] = [1e4, 1e5, 1e6, 1e7, 1e8, 1e9]  # d of Lemma B.17, 100..1e12
ranks: list[int] = [2, 3, 4, 6, 8]  # signals r of Theorem 4.3, 2..11
batches: list[int] = [32, 64, 128, 256, 512]  # pairs, Appendix D, 8..4096
data: str = "scenes"  # one of alignment_and_balance.image_caption_pairs.NAMES
scenes: int = 4000  # generated scenes, 500..100000
head_width: int = 64  # width of the heads, 8..4096
head_steps: int = 400  # updates of the heads, 50..100000
head_seeds: int = 6  # initialisations of the heads, 3..100
device: str = "cpu"  # where the runs stand, auto|cpu|cuda

# %% tags=["hide-input"]
import math

import matplotlib.pyplot as plt
import numpy as np
import torch

from clbook.notebook import colours, glue, open_chapter
from contrastive_dynamics.alignment_and_balance import (
    Recipe, Signs, WideState, alignment_condition, alignment_score, all_signs,
    apply_heads, balance, best_constant_answer, column_alignment, column_rates,
    column_ratio, comparison_closed_form, condition_growth_bound, condition_number,
    condition_rate_bound, contrastive_flow, contrastive_force, convergence_time_bound,
    correlation, descend, discretisation_errors, draw_comparison, exact_alignment,
    gronwall_bound, image_caption_pairs, init_heads, initial_maps, macro_recall,
    model_scales, negative_factors, noise_signal_ratio, non_contrastive_exponent,
    non_contrastive_flow, non_contrastive_force, non_contrastive_solution,
    output_balance, output_condition_number, solve_comparison, train_heads, velocity,
    wide_condition_number, wide_flow, wide_noise_signal_ratio, wide_start,
    wide_velocity, worst_alignment_map, zero_shot_accuracy,
)  # fmt: skip
from contrastive_dynamics.numerics.power_laws import fitted_power
from contrastive_dynamics.numerics.random_streams import stream, streams
from contrastive_dynamics.numerics.relative_error import relative_error
from contrastive_dynamics.numerics.run_defaults import torch_defaults

# %%
chapter = open_chapter("alignment-and-balance", globals())
torch_defaults(chapter.device)
block, seed, rank = chapter.seeds, first_seed, len(sigma)


def one_per_seed(purpose):
    """A generator for each seed of the block."""
    return streams(block, 1, purpose)


# %% tags=["hide-input"]
# what the runs below need is checked before any work
def require_sizes(least, **lists):
    """Powers are fitted with and without the smallest size."""
    for name, values in lists.items():
        if len(values) < least or list(values) != sorted(set(values)):
            raise ValueError(
                f"{name}: must be {least} or more values, ascending, got {values}"
            )


chapter.check(require_sizes, 3, widths=widths, sizes=sizes, batches=batches)
chapter.check(require_sizes, 2, ranks=ranks)
scales = chapter.check(
    model_scales, torch.tensor(sigma), noise, dim, small_noise=True
).expand(seeds, dim)
signs = chapter.check(all_signs, rank, dim)

# %% [markdown]
# ## The model
#
# A pair has two modalities, say an image and its caption. They share latent signals $z$ and have noise of their own,
#
# $$
# \begin{aligned}
# x_A&=Az+A_\xi\xi_A,&x_B&=Bz+B_\xi\xi_B,\\
# z&\in\{\pm1/\sqrt d\}^r,&\xi_A,\xi_B&\in\{\pm1/\sqrt d\}^{d-r},
# \end{aligned}
# $$ (ab-eq-data)
#
# all signs fair and independent. $A^\top A=B^\top B=\operatorname{diag}(\sigma^2)$, $A_\xi^\top A_\xi=B_\xi^\top B_\xi=\sigma_\xi^2I$, and signals and noises are orthogonal. That the
# $\sigma_p$ may differ is the point of the paper. A **positive pair** shares $z$, a **negative pair** shares nothing. Two views of one picture can be such a pair, too: in
# [Feature decoupling](feature-decoupling.ipynb) a random mask leaves them the signal in common and noise of their own, but there all signals have one scale, and nothing needs balance. The learners here are linear with a normalised output,
#
# $$
# f_A=W_A^\top x_A/N_A,\quad N_A^2=\mathbb E\lVert W_A^\top x_A\rVert^2,\qquad f_B=W_B^\top x_B/N_B,
# $$ (ab-eq-learner)
#
# with $m$ columns in $W_A,W_B$, whose entries begin as $\mathcal N(0,1/m)$, and the contrastive loss (3) of the paper is $\mathcal L=-\mathbb E[\log S_A+\log S_B]$ with an inverse temperature $\tau$ and a strength $K$ of the negatives,
#
# $$
# S_A=\frac{e^{\tau^2f_A^+\cdot f_B^+}}{e^{\tau^2f_A^+\cdot f_B^+}+K\,\mathbb E_{x_B^-}e^{\tau^2f_A^+\cdot f_B^-}},\qquad S_B\ \text{likewise over}\ x_A^- .
# $$ (ab-eq-loss)
#
# The non-contrastive loss (4) of the paper is $\hat{\mathcal L}=-\mathbb E f_A^+\cdot f_B^+$. Gradients of $\mathcal L$ are divided by $\tau^2$, as the paper has it.
#
# ### What training sees
#
# Write $u_A=(z,\xi_A)$ and $u_B=(z,\xi_B)$ for the latent signs of a pair, and $\mathsf K_A=W_A^\top[A\ A_\xi]$ for the map from them to the output before normalisation. Its first $r$ columns are
# the paper's $K_A$, the others its $K_{A,\xi}$. Products of outputs are $f_A\cdot f_B=u_A^\top Gu_B$ with the **correlation matrix**
#
# $$
# G=\mathsf K_A^\top\mathsf K_B/(N_AN_B)\in\mathbb R^{d\times d},\qquad N_A^2=\lVert\mathsf K_A\rVert_F^2/d,
# $$ (ab-eq-correlation)
#
# and that is all the loss depends on. The mean over negatives needs no sampling, since it factorises over the signs:
# $\mathbb E_{u_B}e^{\tau^2u_A^\top Gu_B}=\prod_j\cosh(\tau^2(G^\top u_A)_j/\sqrt d)$. What is left is a sum over $2^{r+2(d-r)}$ signs of a pair, {glue:text}`ab-states:.0f` up to a global sign for the
# $r$ and $d$ of this page. Every loss and gradient below is this sum, without Monte Carlo, unless stated otherwise.
#
# The gradient flow of $W_A,W_B$ closes in the maps. With $D=\operatorname{diag}(\sigma_1^2,\dots,\sigma_r^2,\sigma_\xi^2,\dots)$ and the **force** $M=-\tau^{-2}\,\partial\mathcal L/\partial G$,
#
# $$
# \begin{aligned}
# \mathring{\mathsf K}_A&=\Bigl[\frac{\mathsf K_BM^\top}{N_AN_B}-\langle M,G\rangle\frac{\mathsf K_A}{dN_A^2}\Bigr]D,\\
# \mathring{\mathsf K}_B&=\Bigl[\frac{\mathsf K_AM}{N_AN_B}-\langle M,G\rangle\frac{\mathsf K_B}{dN_B^2}\Bigr]D,\\
# M&=\mathbb E\bigl[(1-S_A)\,u_A(u_B-t_A)^\top+(1-S_B)(u_A-t_B)u_B^\top\bigr],
# \end{aligned}
# $$ (ab-eq-flow)
#
# $t_A=\tanh(\tau^2G^\top u_A/\sqrt d)/\sqrt d$ and $t_B=\tanh(\tau^2Gu_B/\sqrt d)/\sqrt d$ entry by entry. This is (5) of the paper, all its terms and both blocks in one line: $u_Au_B^\top$ is the pull of
# the positive pair, $t_A$ the mean of the negatives as $S_A$ weighs them, and $\langle M,G\rangle$ comes from the normalisation. For the non-contrastive loss, paper (6), the force is constant,
#
# $$
# \hat M=\mathbb E[u_Au_B^\top]=\operatorname{diag}(1,\dots,1,0,\dots,0)/d .
# $$ (ab-eq-constant)
#
# We check both against autograd of the losses as they are written: data from random orthogonal $A,B$, weights, every positive and every negative sign vector enumerated on its own.

# %%
r_small, d_small, tau2 = 2, 4, 1.7


def dictionary(purpose):
    """[A A_ξ]: orthogonal columns of lengths σ and σ_ξ, in a larger space."""
    shape = (d_small + 2, d_small)
    raw = torch.randn(shape, generator=stream(seed, 0, purpose))
    return torch.linalg.qr(raw).Q * small_scales


def enumerated(w_a, w_b):
    """log S_A, log S_B and f_A·f_B of the positive pairs, as (3) and (4) are written."""
    y_a, y_b = small_u @ a.mT @ w_a, small_u @ b.mT @ w_b
    f_a, f_b = (y / y.square().sum(-1).mean().sqrt() for y in (y_a, y_b))
    return enumerated_in(f_a @ f_b.mT)


def enumerated_in(products):
    """The same from f_A·f_B of every u_A with every u_B."""
    s = tau2 * products
    means = (s.logsumexp(k, keepdim=True) - math.log(len(small_u)) for k in (1, 0))
    logs = [s - torch.logaddexp(s, math.log(negatives) + mean) for mean in means]
    return *(log[shared] for log in logs), s[shared] / tau2


# %%
small_u = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * d_small) / d_small**0.5
shared = (small_u[:, None, :r_small] == small_u[:, :r_small]).all(-1)
small_scales = model_scales(torch.tensor([1.5, 0.8]), 0.5, d_small)
a, b = dictionary("A"), dictionary("B")
w = torch.randn(2, d_small + 2, 3, generator=stream(seed, 0, "W"))
maps = [(wk.mT @ data)[None] for wk, data in zip(w, (a, b), strict=True)]
g = correlation(*maps)
small_signs = all_signs(r_small, d_small)
glue.number("ab-states", len(signs.u_a))

# %% [markdown]
# ```{prf:lemma} A.1 to A.3, Corollary A.4, Lemmas A.5 and A.6 of the paper, restored
# :label: ab-lem-a
# :nonumber:
# With $\Gamma=\partial\log S_A/\partial G=\tau^2(1-S_A)\,u_A(u_B-t_A)^\top$ for one positive pair (A.1), the gradient of the loss in $W_A$ is the chain rule through
# {eq}`ab-eq-correlation` (A.2), $K_A$ and $K_{A,\xi}$ follow {eq}`ab-eq-flow` (A.3), in the four blocks of $M$ (A.4). A column $p$ of length $\kappa_p$ moves along itself and across,
# $\frac{d}{dt}\kappa_p^2=2\langle[\mathsf K]_p,[\mathring{\mathsf K}]_p\rangle$ and
# $\frac{d}{dt}\frac{[\mathsf K]_p}{\kappa_p}=\bigl(I-\frac{[\mathsf K]_p[\mathsf K]_p^\top}{\kappa_p^2}\bigr)\frac{[\mathring{\mathsf K}]_p}{\kappa_p}$ (A.5),
# in which the normalisation enters the first only. For the non-contrastive loss $M$ is {eq}`ab-eq-constant` (A.6).
# ```


# %%
def log_ratios(w_a):
    return enumerated(w_a, w[1])[0]


def weights_force(gamma, norm=1.0):
    """What forces in G are in K_A; `norm` weighs the part of the normalisation."""
    stacked = [k.expand(len(gamma), -1, -1) for k in maps]
    whole = velocity(*stacked, torch.ones(d_small), gamma)[0]
    pull = maps[1] @ gamma.mT * d_small / maps[0].norm() / maps[1].norm()
    return pull + norm * (whole - pull)


# %%
def pair_forces(weigh=1.0):
    """Γ of Lemma A.1 for all positive pairs; `weigh` scales the mean over negatives."""
    u = small_u[:, None].expand(-1, len(small_u), -1)[shared]
    v = small_u.expand(len(small_u), -1, -1)[shared]
    h = tau2 * u @ g[0] / d_small**0.5
    odds = negatives * h.cosh().prod(-1) / (tau2 * ((u @ g[0]) * v).sum(-1)).exp()
    t = weigh * h.tanh() / d_small**0.5
    return tau2 * (odds / (1 + odds))[:, None, None] * u[:, :, None] * (v - t)[:, None]


jacobian = torch.func.jacrev(log_ratios)(w[0])  # of log S_A, one row a positive pair
a1, a1_control = (
    relative_error((a @ weights_force(pair_forces(k)).mT), jacobian) for k in (1, 0)
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-a1", observed=a1, control=a1_control)


# %%
def gradients(loss):
    """−∂ loss / ∂W_A and −∂ loss / ∂W_B by autograd."""
    leaves = [wk.clone().requires_grad_() for wk in w]
    return [-x for x in torch.autograd.grad(loss(*enumerated(*leaves)), leaves)]


slope_a, slope_b = gradients(lambda log_a, log_b, s: -(log_a + log_b).mean() / tau2)
positive_a, _ = gradients(lambda log_a, log_b, s: -s.mean())
m = contrastive_force(g, small_signs, tau2, negatives)
m_hat = non_contrastive_force(r_small, d_small)[None]
a2 = relative_error(a @ weights_force(m)[0].mT, slope_a)
a2_control = relative_error(a @ weights_force(m, norm=0)[0].mT, slope_a)

moved = velocity(*maps, small_scales, m)
a3 = {
    "K_A": relative_error(moved[0][0, :, :r_small], slope_a.mT @ a[:, :r_small]),
    "K_A,ξ": relative_error(moved[0][0, :, r_small:], slope_a.mT @ a[:, r_small:]),
    "K_B": relative_error(moved[1][0, :, :r_small], slope_b.mT @ b[:, :r_small]),
    "K_B,ξ": relative_error(moved[1][0, :, r_small:], slope_b.mT @ b[:, r_small:]),
}
unscaled = velocity(*maps, small_scales.sqrt(), m)[0][0]  # σ in place of σ²
a3_control = relative_error(unscaled, slope_a.mT @ a)
a6 = relative_error(a @ weights_force(m_hat)[0].mT, positive_a)
a6_control = relative_error(a @ weights_force(m_hat, norm=0)[0].mT, positive_a)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-a2", observed=a2, control=a2_control)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-a3", observed=a3, control=a3_control)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-a6", observed=a6, control=a6_control)

# %% [markdown]
# Corollary A.4 of the paper names the blocks of the force, and Lemma A.5 splits the motion of a column. The blocks are compared with autograd of the enumerated loss in $G$,
# the split with the derivative of $\kappa_p^2$ and of $[\mathsf K]_p/\kappa_p$ along the gradient of the loss in the weights.


# %%
def block_errors(ours, expected):
    """Of the four blocks of a force: signals and noises of either modality."""
    s, x = slice(None, r_small), slice(r_small, None)
    names = {"zz": (s, s), "zξ": (s, x), "ξz": (x, s), "ξξ": (x, x)}
    return {k: relative_error(ours[0][at], expected[0][at]) for k, at in names.items()}


# %%
leaf = g.clone().requires_grad_()
loss = -sum(enumerated_in(small_u @ leaf[0] @ small_u.mT)[:2]).mean()
by_autograd = -torch.autograd.grad(loss, leaf)[0] / tau2
a4 = block_errors(m, by_autograd)
a4_control = block_errors(  # negatives weighed as if S were that of small τ
    contrastive_force(g, small_signs, 1e-9, negatives), by_autograd
)


# %%
def lengths_and_directions(k):
    size = k.norm(dim=-2)
    return size**2, k / size


along = (maps[0][0],), ((slope_a.mT @ a),)
squares, directions = torch.func.jvp(lengths_and_directions, *along)[1]
ours = column_rates(*maps, small_scales, m)
a5 = {
    k: relative_error(x[0], y)
    for k, x, y in zip(("κ²", "[K]/κ"), ours, (squares, directions), strict=True)
}
raw = velocity(*maps, small_scales, m)[0][0] / maps[0][0].norm(dim=-2)
a5_control = relative_error(raw, directions)  # without the projection across the column

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-a4", observed=a4, control=a4_control)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-a5", observed=a5, control=a5_control)

# %% [markdown]
# ## Infinite width
#
# The flow {eq}`ab-eq-flow` depends on the maps through products of their columns only: $\mathsf K_A^\top\mathsf K_A$, $\mathsf K_B^\top\mathsf K_B$ and $\mathsf K_A^\top\mathsf K_B$ follow an equation of their own.
# So the width enters through the *start* alone, which is a Wishart draw, and a network of any width $m\ge2d$ costs as much as one of $2d$ neurons. We draw its triangular factor and run
# widths up to {glue:text}`ab-widest:.0f` for the price of {glue:text}`ab-rows:.0f`. Then
#
# $$
# \langle[\mathsf K_A]_p,[\mathsf K_A]_q\rangle\to\sigma_p^2\delta_{pq},\qquad\langle[\mathsf K_A]_p,[\mathsf K_B]_q\rangle\to0\qquad(m\to\infty,\ t=0),
# $$
#
# so that at infinite width the columns are orthogonal, and what the two modalities have in common begins at zero. This is (7) of the paper: at initialisation *and later*
# the $[K_A]_p$ are orthogonal to each other and to the $[K_B]_q$, $q\ne p$.
#
# We run both stages of the paper, a small $\tau$ and then a larger one, for {glue:text}`ab-width-count:.0f` widths at once. The flow keeps $\lVert\mathsf K_AD^{-1/2}\rVert_F$, as outputs do not depend on the scale of $W_A$; along these
# paths it drifts by {glue:text}`ab-drift:.0e`, which is the error of the integration that we see. The first figure shows the largest cosine of two different signal columns.

# %%
first_times = torch.linspace(0, time_first, 31)
second_times = torch.linspace(0, time_second, 31)


def two_stages(a, b, scale, tau=(tau_first, tau_second)):
    """Maps through stage 1 and stage 2 [time, run, m, d], and the larger error."""
    one = contrastive_flow(a, b, scale, signs, first_times, tau[0], negatives)
    two = contrastive_flow(
        one.map_a[-1], one.map_b[-1], scale, signs, second_times, tau[1], negatives
    )
    maps = (
        torch.cat([x, y[1:]])
        for x, y in ((one.map_a, two.map_a), (one.map_b, two.map_b))
    )
    return *maps, torch.maximum(one.error, two.error)


# %%
def with_and_without_smallest(values, sizes):
    return {
        "": fitted_power(values, sizes),
        "without the smallest": fitted_power(values[1:], sizes[1:]),
    }


# %%
starts = [initial_maps(scales, m, one_per_seed(f"start {m}"), rank) for m in widths]
all_a, all_b = (torch.cat(x) for x in zip(*starts, strict=True))
every = scales.repeat(len(widths), 1)
path_a, path_b, drift = two_stages(all_a, all_b, every)
errors = discretisation_errors(path_a, path_b, rank)
moments = {"start": 0, "end of stage 1": 30, "end of stage 2": 60}
time_axis = torch.cat([first_times, time_first + second_times[1:]])


def by_width(values):
    """[..., width · seed] → [..., width, seed]."""
    return values.unflatten(-1, (len(widths), seeds))


glue.number("ab-widest", max(widths))
glue.number("ab-rows", 2 * dim)
glue.number("ab-width-count", len(widths))
glue.number("ab-drift", float(drift.max()))

# %%
tied = 0.3 * all_a.mean(-1, keepdim=True)  # columns that share a part at the start
tied_errors = discretisation_errors(all_a + tied, all_b, rank)
cosines = {
    f"{name}{', ' + how if how else ''}": slope
    for name, at in moments.items()
    for how, slope in with_and_without_smallest(
        by_width(errors.signal[at]), widths
    ).items()
}
shared_part = fitted_power(by_width(tied_errors.signal), widths)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("eq-7", observed=cosines, control=shared_part)

# %% tags=["hide-input", "remove-output"]
fig, (left, right) = plt.subplots(1, 2, figsize=(7.8, 3.4), layout="constrained")
shades = colours.ordered(len(widths))
by_moment = {name: by_width(errors.signal[at]).cpu() for name, at in moments.items()}
for shift, mark, (name, v) in zip((0.9, 1, 1.1), "os^", by_moment.items(), strict=True):
    x = [shift * m for m in widths]
    left.vlines(x, v.amin(-1), v.amax(-1), colors=shades, lw=1)
    left.plot(
        x, v.mean(-1), color=colours.BLACK, lw=0.6, ls="-", marker=mark, label=name
    )
    left.scatter(x, v.mean(-1), c=shades, marker=mark, s=30, zorder=3)
guide = [0.6 * (widths[0] / m) ** 0.5 for m in widths]
left.plot(widths, guide, **colours.THEORY, label="slope −½")
left.set(xscale="log", yscale="log", xlabel="width $m$")
left.set_ylabel("largest cosine of two columns")
left.legend()
power = [float(fitted_power(v.mean(-1), widths)) for v in by_moment.values()]
left.set_title(f"Largest cosines go as $m^{{{np.mean(power):.2f}}}$")
course = by_width(errors.signal).mean(-1).cpu()
for m, line, shade in zip(widths, course.unbind(1), shades, strict=True):
    right.plot(time_axis.cpu(), line, color=shade)
    right.annotate(f" {m}", (time_axis[-1].cpu(), line[-1]), va="center")
right.axvline(time_first, **colours.ASIDE)
right.text(
    time_first, 0.97, " stage 2", transform=right.get_xaxis_transform(), va="top"
)
right.set(yscale="log", xlabel="time $t$", ylabel="mean over seeds, by width")
by = float((course[30] / course[60]).min())
right.set_title(f"Stage 2 divides them by {by:.0f} or more")
glue.figure(fig, "ab-plot-eq-7")

# %% [markdown]
# ```{glue:figure} ab-plot-eq-7
# :alt: The largest cosine of two signal columns falls as a straight line of slope minus one half in the width, at three moments; over time it falls steeply in stage 2, at every width.
# :name: ab-fig-eq-7
#
# Cosines of different signal columns; a colour is a width. Left: mean over seeds at three moments, vertical lines from the least to the largest seed; look at the slope, that of the dotted line. The title has the mean of the three fitted powers. Right: over
# time, one line per width; from the grey line on, in stage 2, the columns become *more* orthogonal. Paper (7) has the limit alone; the rate is that of random columns.
# ```

# %% [markdown]
# That the columns *stay* orthogonal is exact: from orthogonal columns the velocity in the flow of the inner products off the diagonal is zero. By enumeration, at random orthogonal columns of
# random lengths and random $\hat\kappa_p$, below. With this the state is $\kappa_p^2=\lVert[K_A]_p\rVert^2$, $\hat\kappa_p^2=\langle[K_A]_p,[K_B]_p\rangle$ and the total noise $\kappa_\xi^2=\lVert K_{A,\xi}\rVert_F^2$.
#
# ```{prf:lemma} A.7 of the paper, restored, with noise
# :label: ab-lem-a7
# :nonumber:
# Let $n^2=\sum_p\kappa_p^2+\kappa_\xi^2$, $g_p=\hat\kappa_p^2/n^2$, $T_p=\tanh(\tau^2g_p)$, $a=\sum_q(1-T_q)g_q$. Then $S_A=S_B=S$ for every pair,
# $S=e^{\tau^2\sum g_p}/(e^{\tau^2\sum g_p}+K\prod\cosh(\tau^2g_p))$, and
#
# $$
# \begin{aligned}
# \tfrac{d}{dt}\kappa_p^2&=4(1-S)\tfrac{\sigma_p^2}{n^2}\bigl[(1-T_p)\hat\kappa_p^2-a\,\kappa_p^2\bigr],\\
# \tfrac{d}{dt}\hat\kappa_p^2&=4(1-S)\tfrac{\sigma_p^2}{n^2}\bigl[(1-T_p)\kappa_p^2-a\,\hat\kappa_p^2\bigr],\\
# \tfrac{d}{dt}\kappa_\xi^2&=-4(1-S)\tfrac{\sigma_\xi^2}{n^2}\,a\,\kappa_\xi^2 .
# \end{aligned}
# $$ (ab-eq-wide)
#
# Without noise this is (8). For the non-contrastive loss $4(1-S)$ is 2 and $T_p=0$.
# ```


# %%
def orthogonal_maps(purpose):
    """Orthogonal columns of random lengths and alignments; noises unrelated."""
    g = stream(seed, 0, purpose)
    length, angle = torch.rand(2, dim, generator=g) + torch.tensor([[0.5], [0.2]])
    other = torch.arange(dim) >= rank
    length[other], angle[other] = 0.7, math.pi / 2
    a = torch.cat([torch.diag(length), torch.zeros(dim, dim)])
    b = torch.cat([torch.diag(length * angle.cos()), torch.diag(length * angle.sin())])
    return a[None], b[None]


# %%
def gram_velocities(a, b, tau2=1.5):
    """d/dt of the inner products of all columns of A and B, by enumeration."""
    moved = velocity(
        a, b, scales[0], contrastive_force(correlation(a, b), signs, tau2, negatives)
    )
    both, moved = torch.cat([a, b], -1)[0], torch.cat(moved, -1)[0]
    change = both.mT @ moved
    return change + change.mT


# %%
a_o, b_o = orthogonal_maps("orthogonal")
change = gram_velocities(a_o, b_o)
blocks = change.unflatten(0, (2, dim)).unflatten(2, (2, dim))  # [A or B, p, A or B, q]
own = torch.eye(dim)[:, None].bool().expand(2, dim, 2, dim)
stays = float(blocks[~own].abs().max() / blocks[own].abs().max())
turned = torch.eye(dim) + 0.3 * torch.eye(dim).roll(1, 0)
moved = gram_velocities(a_o @ turned, b_o).unflatten(0, (2, dim)).unflatten(2, (2, dim))
moves = float(moved[~own].abs().max() / moved[own].abs().max())

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("eq-7-a", observed=stays, control=moves)

# %%
state = WideState(
    a_o.square().sum(-2)[:, :rank],
    (a_o * b_o).sum(-2)[:, :rank],
    a_o[..., rank:].square().sum((-2, -1)),
)
rates = wide_velocity(state, scales[:1, :rank], noise, 1.5, negatives)
noise_rate = sum(blocks[0, q, 0, q] for q in range(rank, dim))
enumerated_rates = (
    torch.stack([blocks[0, p, 0, p] for p in range(rank)]),
    torch.stack([blocks[0, p, 1, p] for p in range(rank)]),
    noise_rate,
)
names = ("κ²", "κ̂²", "κ_ξ²")
a7 = {
    k: relative_error(x[0], y)
    for k, x, y in zip(names, rates, enumerated_rates, strict=True)
}
half = relative_error(
    rates[0][0] / 2, enumerated_rates[0]
)  # 2(1 − S) in place of 4(1 − S)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-a7", observed=a7, control=half)

# %% [markdown]
# How far is a finite width from this curve? We compare $\kappa_p^2$ and $\hat\kappa_p^2$ along both stages, relative to $\sum_p\kappa_p^2$, and fit the power of $m$.


# %%
def wide_path(tau=(tau_first, tau_second), s=None):
    """The infinite-width curve through both stages [time, 1, ...]."""
    s = torch.tensor(sigma)[None] if s is None else s
    one = wide_flow(
        wide_start(s, noise, dim - rank), s, noise, first_times, tau[0], negatives
    )
    last = WideState(*(x[-1] for x in one))
    two = wide_flow(last, s, noise, second_times, tau[1], negatives)
    return WideState(*(torch.cat([x, y[1:]]) for x, y in zip(one, two, strict=True)))


# %%
def gap_to(curve, a, b):
    """Largest distance of κ² and κ̂² from a curve, over Σκ², through both stages."""
    mine = torch.stack([a.square().sum(-2), (a * b).sum(-2)])[..., :rank]
    distance = (mine - torch.stack(curve[:2])).norm(dim=(0, -1))
    return (distance / curve.kappa_squared.sum(-1)).amax(0)


curve = wide_path()
gaps = by_width(gap_to(curve, path_a, path_b))
late = WideState(*(x[:-3] for x in curve))  # the curve, three points of time late
late_gaps = by_width(gap_to(late, path_a[3:], path_b[3:]))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "lem-a7-a",
    observed=with_and_without_smallest(gaps, widths),
    control=fitted_power(late_gaps, widths),
)

# %% [markdown]
# ## Two tools
#
# The paper's proof rests on a version of Gronwall's lemma that couples an error to the progress made.
#
# ````{prf:lemma} 5.2 and B.2 of the paper, restored
# :label: ab-lem-gronwall
# :nonumber:
# ```{claim} lem-5.2
# ```
# ```{claim} lem-5.2-a
# ```
# ````
#
# The bound knows nothing of $A_t$ or of the time: $dY/Y=-(b/c)\,dX$. It needs *the same* process in both equations; with a second process, the identity is lost, and the bound, too, unless that process is the smaller one.
# The pair is integrated for random processes and held against the closed form and the bound.

# %%
knots, process_runs = torch.linspace(0, 3, 13), 64
process_seeds = streams([seed], process_runs, "process")
process, second = (draw_comparison(13, process_seeds) for _ in range(2))
x0, y0, b_rate, c_rate = torch.rand(4, process_runs, generator=process_seeds[0]) + 0.5
pair = knots, x0, y0, b_rate, c_rate
x, y = solve_comparison(process, *pair)
_, y_other = solve_comparison(process, *pair, other=second)
y_closed = comparison_closed_form(process, *pair)[1]
largest = gronwall_bound(*pair[1:])

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "lem-5.2",
    observed=relative_error(y, y_closed),
    control=relative_error(y_other, y_closed),
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "lem-5.2-a",
    observed=float((y / largest).max()),
    control=float((y_other / largest).max()),
)

# %% [markdown]
# The second tool is a set of expectations, Lemma C.2 of the paper: with $f_A^+\cdot f_B^-=\sum_pg_p\,s_ps_p'$ for signs $s,s'$ and orthogonal columns,
#
# $$
# \begin{aligned}
# \mathbb E_{s'}e^{\tau^2\sum g_ps_ps_p'}&=\prod_p\cosh(\tau^2g_p),\\
# \mathbb E_{s'}\bigl[e^{\tau^2\sum g_ps_ps_p'}\,s_qs_q'\bigr]&=T_q\prod_p\cosh(\tau^2g_p),
# \end{aligned}
# $$ (ab-eq-cosh)
#
# and the same with $T_qT_{q'}$ for two different coordinates. They do not depend on $s$: that is why $S$ is one number.

# %%
strength = 0.2 + torch.rand(5, generator=stream(seed, 0, "strength"))
own_sign = torch.sign(torch.randn(5, generator=stream(seed, 1, "strength")))
other_sign = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 5)
weight = (other_sign @ (strength * own_sign)).exp()
agree = own_sign * other_sign
one_minus_s, tanh = negative_factors(strength, 1.0, 1.0)
product = one_minus_s / (1 - one_minus_s) * strength.sum().exp()  # (1 − S)/S at K = 1
c2 = {
    "1": relative_error(weight.mean(), product),
    "one": relative_error((weight[:, None] * agree).mean(0), product * tanh),
    "two": relative_error(
        (weight * agree[:, 0] * agree[:, 1]).mean(), product * tanh[0] * tanh[1]
    ),
}
c2_control = relative_error(
    (weight[:, None] * agree).mean(0), product * strength
)  # g for tanh g

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-c2", observed=c2, control=c2_control)

# %% [markdown]
# ## Stage 1: a small temperature is no contrast at all
#
# For $\tau\to0$ all of $e^{\tau^2f\cdot f}$ is 1, so $S_A=S_B=1/(1+K)$ and $t_A=t_B=0$: the force is $\frac{2K}{1+K}\hat M$. The next order is linear in $\tau^2$.
# That all negatives weigh alike is the *uniform importance* of [Nonlinearity](nonlinearity.ipynb), under which the linear networks of that chapter come closest to a single direction, too.
#
# ```{prf:lemma} B.9 of the paper, restored
# :label: ab-lem-b9
# :nonumber:
# The dynamics of stage 1 are those of the non-contrastive loss, up to the factor $2K/(1+K)$ and terms of higher order: $M=\frac{2K}{1+K}\hat M+O(\tau^2)$.
# ```

# %%
small_taus = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2]
g_start = correlation(all_a + all_b, all_a - 0.5 * all_b)[:seeds]  # correlated maps
m_hat = non_contrastive_force(rank, dim)
factor = 2 * negatives / (1 + negatives)


def remainder(t, by):
    """Of the force, relative to the leading term, one a seed."""
    m = contrastive_force(g_start, signs, t, negatives)
    return (m / by - m_hat).norm(dim=(-2, -1)) / m_hat.norm()


limit = float(remainder(1e-9, factor).max())
limit_control = float(remainder(1e-9, factor / 2).min())
rest_slopes = fitted_power(
    torch.stack([remainder(t, factor) for t in small_taus]), small_taus
)
no_constant = [remainder(t, factor / 2) for t in small_taus]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-b9", observed=limit, control=limit_control)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "lem-b9-a",
    observed=rest_slopes,
    control=fitted_power(torch.stack(no_constant), small_taus),
)

# %%
middle = len(widths) // 2
a0, b0 = (x.unflatten(0, (-1, seeds))[middle] for x in (all_a, all_b))


def ending(t, plain):
    """Distance of stage 1 at τ² = t from the non-contrastive flow `plain`."""
    one = contrastive_flow(a0, b0, scales, signs, first_times[::10], t, negatives)
    ours, theirs = one.map_a[1:], plain.map_a[1:]
    return (ours - theirs).norm(dim=(-2, -1)).amax(0) / theirs[-1].norm(dim=(-2, -1))


plain = non_contrastive_flow(a0, b0, scales, rank, factor * first_times[::10])
trajectories = fitted_power(
    torch.stack([ending(t, plain) for t in small_taus[1:]]), small_taus[1:]
)
late = non_contrastive_flow(a0, b0, scales, rank, factor / 2 * first_times[::10])
unscaled = fitted_power(
    torch.stack([ending(t, late) for t in small_taus[1::2]]), small_taus[1::2]
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-b9-b", observed=trajectories, control=unscaled)

# %% [markdown]
# ### What stage 1 brings
#
# ````{prf:lemma} 5.1 and B.1 of the paper, restored
# :label: ab-lem-stage1
# :nonumber:
# Throughout stage 1 the finite width follows the infinite one.
#
# ```{claim} lem-5.1
# ```
# ```{claim} lem-5.1-a
# ```
#
# There the condition number of $K_A$ is bounded by a power of $d$. There are $\sigma$ for which it grows as a power of $d$ (B.17).
# ````
#
# How far does it grow? In the non-contrastive flow at infinite width $u_p=\kappa_p^2+\hat\kappa_p^2$ and $w_p=\kappa_p^2-\hat\kappa_p^2$ each have a rate of their own. With $d\theta=2\,dt/n^2$ and a dash for $d/d\theta$,
#
# $$
# (\log u_p)'=\sigma_p^2(1-a),\qquad(\log w_p)'=-\sigma_p^2(1+a),\qquad(\log\kappa_\xi^2)'=-\sigma_\xi^2a ,
# $$ (ab-eq-logs)
#
# All $u_p$ therefore share one clock, $\Theta=\int(1-a)\,d\theta$: $u_p=\sigma_p^2e^{\sigma_p^2\Theta}$. And $\sum_p\kappa_p^2/\sigma_p^2+\kappa_\xi^2/\sigma_\xi^2=d$ is conserved, since outputs do not depend on
# the scale of the weights. At rest $w_p=\kappa_\xi^2=0$, so the whole end is in one equation,
#
# $$
# \sum_pe^{\sigma_p^2\Theta_\infty}=2d,\qquad\frac{\kappa_1}{\kappa_r}\to\frac{\sigma_1}{\sigma_r}\,e^{(\sigma_1^2-\sigma_r^2)\Theta_\infty/2},
# $$ (ab-eq-end)
#
# whatever $\sigma_\xi>0$ is; for the parameters of this page {glue:text}`ab-end:.2f`. From $\sum_pe^{\sigma_p^2\Theta}\le2d$ follows $\Theta\le\log(2d-r+1)/\sigma_1^2$, and by Jensen $\Theta\le\log(2d/r)$ over the mean of the $\sigma_p^2$; the lesser of the two gives a bound on the condition number at any time of stage 1: the paper's power of $d$, with
# its exponent and its constant (`lem-b12`).


# %%
def unpair(states):
    """Every u_A with u_B and with −u_B: nothing is shared on average."""
    return Signs(
        *(torch.cat(x) for x in zip(states, (states.u_a, -states.u_b), strict=True))
    )


unpaired_signs = unpair(signs)
no_pairs = contrastive_flow(
    a0, b0, scales, unpaired_signs, first_times[::30], tau_first, negatives
)
aligned, ratio, condition = (
    by_width(x)
    for x in (
        column_alignment(path_a, path_b, rank).amin(-1),
        noise_signal_ratio(path_a, rank),
        condition_number(path_a, rank),
    )
)
unpaired = no_pairs.map_a[-1], no_pairs.map_b[-1]
b1_control = column_alignment(*unpaired, rank).amin(-1)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-5.1", observed=aligned[30, middle], control=b1_control)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "lem-5.1-a",
    observed=ratio[30, middle],
    control=noise_signal_ratio(unpaired[0], rank),
)

# %%
s_row = torch.tensor(sigma)[None]
exact_end = non_contrastive_solution(
    wide_start(s_row, noise, dim - rank), s_row, noise, torch.tensor([math.inf])
)
predicted_end = float(wide_condition_number(exact_end))
long_run = non_contrastive_flow(a0, b0, scales, rank, torch.tensor([0, 300.0]))
ended = condition_number(long_run.map_a[-1], rank)
growth_bound, no_noise = (
    float(condition_growth_bound(s_row, count)) for count in (dim, rank)
)
largest_seen = condition[:31].amax(0)  # [width, seed]
b12 = {
    f"m={m}": c / growth_bound
    for m, c in list(zip(widths, largest_seen, strict=True))[2:]
}
b12_control = largest_seen[-1] / no_noise  # C = r: as if noise gave nothing to grow on
glue.number("ab-end", predicted_end)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-b12", observed=b12, control=b12_control)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "lem-b12-a",
    observed=ended / predicted_end,
    control=ended / (max(sigma) / min(sigma)),
)

# %% [markdown]
# ### Errors of a finite width
#
# Condition (11) of the paper lists what must stay small: the difference of the two modalities' column norms (Lemma B.13), that of the noise columns (B.14), the cosines of different signal columns (B.15), and those
# with and among the noise columns (B.16) of the paper. The claim is that one can make each arbitrarily small at all times of stage 1 by taking $m$ large. We take the largest value in stage 1 and fit its power of $m$. The
# control starts from columns that share a part in one modality, as no random draw does. For signals (B.13, B.15) the largest value is the one at the start: stage 1 makes them more equal and more orthogonal.

# %%
tied_flow = contrastive_flow(
    all_a + tied, all_b, every, signs, first_times[::10], tau_first, negatives
)
tied_errors = discretisation_errors(tied_flow.map_a, tied_flow.map_b, rank)


def error(found, name):
    """One of the errors (11) [time, width, seed]; ratios of norms by their logarithm."""
    value = by_width(getattr(found, name))
    return value.log1p() if "norms" in name else value


def peak_slopes(name):
    return dict(
        observed=with_and_without_smallest(error(errors, name)[:31].amax(0), widths),
        control=fitted_power(error(tied_errors, name).amax(0), widths),
    )


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-b13", **peak_slopes("norms"))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-b14", **peak_slopes("noise_norms"))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-b15", **peak_slopes("signal"))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-b16", **peak_slopes("signal_noise"))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-b16-a", **peak_slopes("noise"))

# %% [markdown]
# ## What positive pairs alone end in
#
# ```{prf:theorem} 4.3 of the paper, and Lemma B.17, restored
# :label: ab-thm
# :nonumber:
# Let $\sigma_\xi<\sigma_{\min}$, $\sigma_{\max}^2/\sigma_{\min}^2\le c\log d$ and $r\le d^c$ for a small constant $c$, and let the network be wide enough.
#
# (a) *Non-contrastive.* There are such $\sigma$ for which training ends aligned but not balanced: the alignment score tends to one, the balance stays $O(1)$. The condition number of $K_A$ ends as a power of $d$.
#
# (b) *Contrastive.* There are $\tau_1,\tau_2$ such that for every valid $\sigma$ training ends aligned and balanced: the balance is of the order of $r$, the condition number of $K_A$ tends to one.
# ```
#
# (ab-reading)=
# The inequalities are our reconstruction of a lost display, inferred from the proof: Lemma 5.2 of the paper is used with $b/c=\sigma_{\max}^2/\sigma_{\min}^2$, and the result is to be a power of $d$.
#
# Which power? By {eq}`ab-eq-end` with one large $\sigma_{\max}$ and $r-1$ times $\sigma_{\min}$, $q=\sigma_{\min}^2/\sigma_{\max}^2$ and $x=e^{\sigma_{\max}^2\Theta_\infty}$, the end is
# $x+(r-1)x^q=2d$: for fixed $r$ and large $d$, $x\to2d$ and
#
# $$
# \frac{\kappa_1}{\kappa_r}\to\frac{\sigma_{\max}}{\sigma_{\min}}\,(2d)^{\gamma},\qquad\gamma=\tfrac12\Bigl(1-\frac{\sigma_{\min}^2}{\sigma_{\max}^2}\Bigr).
# $$ (ab-eq-power)
#
# The family of $\sigma$ is chosen before the run: $\sigma_{\min}=1$, $\sigma_{\max}^2=2,4,9$, four signals, constants in $d$ and so valid for every large $d$; predicted powers ¼, ⅜ and 4⁄9. The control breaks an
# assumption that the paper does not stress: without noise nothing is left to grow on, {eq}`ab-eq-end` has $2r$ for $2d$, and the condition number does not depend on $d$ at all.
#
# The normalisation does not stop the collapse. It holds one Frobenius norm, that of $\mathsf K_A/N_A$, and a bound on a Frobenius norm is a single budget, most of which the strongest direction takes: [Collapse and constraints](collapse-and-constraints.ipynb) proves this for a
# fixed covariance (Proposition 2 of the paper there) and shows that a budget for each direction helps. Here it is the negatives that level the directions, in stage 2.
#
# In the non-contrastive flow all noise columns shrink by one factor, so they are lumped in one column of their total length, and $d$ may be as large as we like. The width is $m=10^{10}$ here; see [below](ab-width) for what it takes.


# %%
def lumped_start(s, d, with_noise=True, m=10**10, runs=seeds):
    """Maps of finite width whose last column stands for all noises, and scales."""
    g = streams([seed], runs, f"lumped {m}")
    scale = model_scales(torch.tensor(s), noise, len(s) + 1).expand(runs, -1)
    a, b = initial_maps(scale[:, :-1], m, g, len(s))
    degrees = m * (d - len(s))
    chi = [1 + math.sqrt(2 / degrees) * torch.randn(2, generator=k) for k in g]
    size = with_noise * noise * ((d - len(s)) * torch.stack(chi, 1)).sqrt()
    column = (torch.arange(a.shape[1]) == 0).double()[None, :, None]
    both = zip((a, b), size, strict=True)
    return *(torch.cat([x, n[:, None, None] * column], -1) for x, n in both), scale


# %%
def without_negatives(s, d, with_noise=True, m=10**10, turns=60):
    """The ends of the non-contrastive flow; its time goes as d."""
    *maps, scale = lumped_start(s, d, with_noise, m)
    times = torch.tensor([0.0, turns * (d if with_noise else len(s)) * max(s) ** 2 / 4])
    ends = non_contrastive_flow(*maps, scale, len(s), times)
    return ends.map_a[-1], ends.map_b[-1]


def powers(s, with_noise=True):
    ends = [without_negatives(s, d, with_noise)[0] for d in sizes]
    conditions = torch.stack([condition_number(a, len(s)) for a in ends])
    exponent = non_contrastive_exponent(max(s), min(s))
    return conditions, fitted_power(conditions, sizes) / exponent


families = {f"σ²_max = {v}": [v**0.5, 1.0, 1.0, 1.0] for v in (2, 4, 9)}
grown = {name: powers(s) for name, s in families.items()}
noiseless = powers(families["σ²_max = 4"], with_noise=False)[1]
shares = {
    f"{name}, {end}": float(pick(share))
    for name, (_, share) in grown.items()
    for end, pick in (("least", torch.min), ("largest", torch.max))
}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-b17", observed=shares, control=float(noiseless.max()))

# %%
every_d = torch.logspace(1, 9, 81)


def exact_condition(name):
    """The final condition number at every d, in closed form."""
    s = torch.tensor(families[name])[None].expand(len(every_d), -1)
    start = wide_start(s, noise, every_d - s.shape[-1])
    ends = non_contrastive_solution(start, s, noise, torch.tensor([math.inf]))
    return wide_condition_number(ends)[0]


exact = {name: exact_condition(name) for name in families}
local = exact["σ²_max = 9"].log().diff() / every_d.log().diff()
glue.number("ab-local-100", float(local[10]))
glue.number("ab-local-10000", float(local[30]))

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
quiet = [without_negatives(families["σ²_max = 4"], d, False)[0] for d in sizes]
none = torch.stack([condition_number(a, 4) for a in quiet])
drawn = [(name, values) for name, (values, _) in grown.items()]
drawn += [("4, no noise", none)]
looks = zip(drawn, "os^x", (*colours.ordered(3), colours.BLACK), strict=True)
for (name, values), mark, shade in looks:
    mean, power = values.mean(-1).cpu(), float(fitted_power(values, sizes).mean())
    ax.plot(sizes, mean, mark, color=shade)
    ends = [(sizes[-1], float(mean[-1]))]
    if name in exact:
        ax.plot(every_d.cpu(), exact[name].cpu(), **colours.THEORY | {"color": shade})
        ends += [(float(every_d[-1]), float(exact[name][-1]))]
    shown = name.removeprefix("σ²_max = ")
    power = round(power, 2) + 0.0  # no minus zero
    text = rf"$\sigma_{{\max}}^2=\,${shown}: $d^{{\,{power:.2f}}}$"
    ax.annotate(text, max(ends), xytext=(8, -3), textcoords="offset points")
grows = [float(v.mean(-1)[-1] / v.mean(-1)[0]) for _, v in drawn[-2:]]
title = "The condition number grows up to {:.0f}-fold with noise, {:.2g}-fold without"
ax.set_title(title.format(*grows))
ax.set(xscale="log", yscale="log", xlabel="dimension $d$")
ax.set_ylabel("final condition number of $K_A$")
glue.figure(fig, "ab-plot-b17")

# %% [markdown]
# ```{glue:figure} ab-plot-b17
# :alt: The final condition number without negatives rises as a straight line in the dimension, on logarithmic axes, for three sigmas; without noise it stays flat.
# :name: ab-fig-b17
#
# Where positive pairs alone end: condition number of $K_A$ against $d$, for three $\sigma$. Marks are finite networks, dotted lines the exact end {eq}`ab-eq-end`. Look at the straight lines: powers of $d$, fitted to the marks and written beside them, as Lemma B.17 of the paper
# says. Crosses, without noise, stay where they are.
# ```
#
# When do the asymptotics show? For $\sigma_{\max}^2=9$ the local power of the exact end is {glue:text}`ab-local-100:.3f` at $d=100$ and {glue:text}`ab-local-10000:.4f` at $d=10^4$, against 4⁄9. That is why the sizes begin at $10^4$; with
# $\sigma_{\max}^2$ close to 1, or with $r$ of the order of $d^{1-q}$, they begin later.

# %% [markdown]
# ## Stage 2: negative pairs bring the condition number back
#
# With a larger $\tau$ the second term of {eq}`ab-eq-wide` counts. For aligned maps without noise, $\hat\kappa_p=\kappa_p$,
#
# $$
# \tfrac{d}{dt}\log\kappa_p^2=4(1-S)\tfrac{\sigma_p^2}{n^2}\,(\bar T-T_p),\qquad\bar T=\sum_qg_qT_q ,
# $$ (ab-eq-second)
#
# so a column grows if its $T_p$ is below the mean and shrinks if it is above: all end at one length, *whatever $\sigma$ is*.
#
# ````{prf:lemma} 5.3 and C.1 of the paper, restored
# :label: ab-lem-stage2
# :nonumber:
# Throughout stage 2 the finite width follows the infinite one, and the alignment and the small noise of stage 1 are kept.
#
# ```{claim} lem-5.3
# ```
# ````

# %%
middle_a, middle_b = (x.unflatten(1, (-1, seeds))[:, middle] for x in (path_a, path_b))
after_one = middle_a[30], middle_b[30]
goes_on = non_contrastive_flow(*after_one, scales, rank, second_times[::30])
only_condition = condition_number(goes_on.map_a[-1], rank)
still_unpaired = contrastive_flow(
    *unpaired, scales, unpaired_signs, second_times[::30], tau_second, negatives
)
unpaired_end = still_unpaired.map_a[-1], still_unpaired.map_b[-1]
unpaired_aligned = column_alignment(*unpaired_end, rank).amin(-1)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-5.3", observed=condition[60, middle], control=only_condition)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-5.3-a", observed=aligned[60, middle], control=unpaired_aligned)

# %% [markdown]
# "These errors can at most double" (proof of Lemma C.1 of the paper). Lemma by lemma, by how many factors of two the largest value in stage 2 exceeds what was there at its beginning: cosines of signals (C.12) of the paper, of signals and noises (C.13), of
# noises (C.14) of the paper, differences of the two modalities' norms (C.15) and of the noise columns (C.16), misalignment $1-\hat\kappa_p^2/\kappa_p^2$ (C.17), noise-signal ratio (C.18). The proof has one bound for
# the first five, so each is compared with the largest of them; the last two with themselves. The two smallest widths are drawn, not
# judged: errors of a half are not "sufficiently small". The control trains stage 2 on sixteen fixed pairs in place of the population: then the network learns their noise, and nothing is kept.

# %%
few = torch.randperm(len(signs.u_a), generator=stream(seed, 0, "few"))[:16]
last_a, last_b = (x[30].unflatten(0, (-1, seeds))[-1] for x in (path_a, path_b))
fixed = contrastive_flow(
    last_a,
    last_b,
    scales,
    Signs(signs.u_a[few], signs.u_b[few]),
    second_times,
    tau_second,
    negatives,
)


# %%
def kept_small(a, b):
    """What Lemmas C.12 to C.18 say stays small [time, run]."""
    found = discretisation_errors(a, b, rank)._asdict()
    found["alignment"] = 1 - column_alignment(a, b, rank).amin(-1)
    found["ratio"] = noise_signal_ratio(a, rank)
    return found


small, small_control = kept_small(path_a[30:], path_b[30:]), kept_small(*fixed[:2])


# %%
def begun(found, name):
    """What an error is compared with: the largest of (17) as stage 2 begins, or its own."""
    own = name in ("alignment", "ratio")
    shared_names = ("signal", "signal_noise", "noise", "norms", "noise_norms")
    return (
        found[name][0]
        if own
        else torch.stack([found[k][0] for k in shared_names]).amax(0)
    )


def growth(name):
    """How often each doubles in stage 2, most of all seeds; least for the control."""
    grown = by_width((small[name].amax(0) / begun(small, name)).log2()).unbind(0)
    wide_enough = list(zip(widths, grown, strict=True))[2:]
    return dict(
        observed={f"m={m}": float(x.max()) for m, x in wide_enough},
        control=float(
            (small_control[name].amax(0) / begun(small_control, name)).log2().min()
        ),
    )


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-c12", **growth("signal"))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-c13", **growth("signal_noise"))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-c14", **growth("noise"))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-c15", **growth("norms"))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-c16", **growth("noise_norms"))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-c17", **growth("alignment"))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-c18", **growth("ratio"))

# %% tags=["hide-input", "remove-output"]
names = {
    "signal": "cosines of signals",
    "signal_noise": "cosines, signal–noise",
    "noise": "cosines of noises",
    "norms": "norms, A against B",
    "noise_norms": "norms of noises",
    "alignment": r"$1-\hat\kappa_p^2/\kappa_p^2$, largest",
    "ratio": "noise-signal ratio",
}
whole = kept_small(path_a, path_b)
means = {k: by_width(whole[k]).mean(-1).clamp(min=1e-17).cpu() for k in names}
drawn = [k for k in names if means[k].max() > 1e-16]  # without noise, nothing of it
fig, axes = plt.subplots(2, 4, figsize=(7.8, 4.4), sharex=True, layout="constrained")
for ax, name in zip(axes.flat, drawn, strict=False):
    for m, line, shade in zip(
        widths, means[name].unbind(1), colours.ordered(len(widths)), strict=True
    ):
        ax.plot(time_axis.cpu(), line, color=shade, lw=1.4, label=f"$m={m}$")
    ax.axvline(time_first, **colours.ASIDE)
    ends = (means[name].amin(), means[name].amax())
    decades = math.floor(math.log10(ends[0])), math.ceil(math.log10(ends[1]))
    ax.set(yscale="log", ylim=[10.0**k for k in decades])
    ax.yaxis.set_minor_formatter("")
    ax.set_title(names[name], fontsize=10, fontweight="normal")
for ax in axes.flat[len(drawn) :]:
    ax.remove()
lines = axes[0, 0].get_legend_handles_labels()
fig.legend(*lines, loc="center", bbox_to_anchor=(0.89, 0.3))
fig.supxlabel("time $t$; stage 2 begins at the vertical line", fontsize=10)
most = max(float((v[30:] / v[30]).max()) for v in map(means.get, drawn))
fig.suptitle(f"In stage 2 no line rises more than {most:.1f}-fold", x=0.01, ha="left")
glue.figure(fig, "ab-plot-errors")

# %% [markdown]
# ```{glue:figure} ab-plot-errors
# :alt: Seven quantities over time, one line per width: cosines, differences of norms, misalignment and noise. In stage 2 each is smaller for wider networks, except the noise-signal ratio, and none doubles.
# :name: ab-fig-errors
#
# What the proof has to keep small, through both stages: mean over seeds, one line per width. Look to the right of the vertical lines: averaged over seeds, nothing doubles in stage 2, and the lines keep their order, wider is smaller. The paper's proof says that these errors can at most
# double. The noise-signal ratio does not depend on the width: it is progress, not error.
# ```

# %% [markdown]
# ### How fast
#
# ````{prf:lemma} C.19 and Corollary C.20 of the paper, restored
# :label: ab-lem-rate
# :nonumber:
# Let $\kappa_1$ be the largest and $\kappa_r$ the smallest. In stage 2, up to small terms,
#
# ```{claim} lem-c19
# ```
#
# It takes a time polynomial in $d$ until $\kappa_1^2/\kappa_r^2\le1+c$.
# ````
#
# From {eq}`ab-eq-second` the rate of $\log(\kappa_1^2/\kappa_r^2)$ is $\frac{4(1-S)}{n^2}\bigl[\sigma_1^2(\bar T-T_1)-\sigma_r^2(\bar T-T_r)\bigr]$ with $T_r\le\bar T\le T_1$, and each term loses by putting
# $\sigma_{\min}^2$ for its $\sigma^2$: that is C.19, with equality for equal $\sigma$. The corollary's formula is lost. From C.19 we derive a time that is enough (`convergence_time_bound`): linear in $\log(\kappa_1^2/\kappa_r^2)$, in
# $\sigma_{\max}^2/\sigma_{\min}^2$ and in $\sum_p\kappa_p^2/\sigma_p^2\le d$, and inversely proportional to $T_1-T_r$, which falls as $e^{-2\tau^2/r}$ once the tanh saturate: **a large $\tau$ is slow**. $1-S$ does not vanish with
# it: it falls to $K/(K+2^r)$ at balance, since one negative in $2^r$ has the signal of the positive. For many signals that is small, too, so a polynomial time asks for
# $\min(\tau^2,r)=O(\log d)$ as well.

# %%
random_runs = 4096
draw = stream(seed, 0, "aligned states")
lengths = torch.exp(1.5 * torch.randn(random_runs, rank, generator=draw))
random_sigma = 0.5 + 2 * torch.rand(random_runs, rank, generator=draw)
random_tau = 10 ** (2 * torch.rand(random_runs, generator=draw) - 1)
aligned_states = WideState(lengths, lengths, torch.zeros(random_runs))
rate, rate_bound = condition_rate_bound(
    aligned_states, random_sigma, random_tau, negatives
)
sharp = float((rate_bound / rate).max())  # rates are negative: 1 is equality
equal_sigma = torch.ones_like(random_sigma)
too_fast = condition_rate_bound(aligned_states, equal_sigma, random_tau, negatives)
c19_control = float(
    (2 * too_fast[1] / too_fast[0]).max()
)  # 8(1 − S) in place of 4(1 − S)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-c19", observed=sharp, control=c19_control)

# %% [markdown]
# The same along stage 2 of the widest networks, whose columns are neither quite aligned nor free of noise: how much $\log(\kappa_1^2/\kappa_r^2)$ falls between two points of the path, and how much the bound, integrated, asks for.

# %%
last = [x[30:].unflatten(1, (-1, seeds))[:, -1] for x in (path_a, path_b)]
measured_state = WideState(
    last[0].square().sum(-2)[..., :rank],
    (last[0] * last[1]).sum(-2)[..., :rank],
    last[0][..., rank:].square().sum((-2, -1)),
)
_, asked = condition_rate_bound(measured_state, s_row, tau_second, negatives)
squared_ratio = column_ratio(last[0], rank) ** 2
asked_fall = torch.cumulative_trapezoid(-asked / squared_ratio, second_times, dim=0)
seen_fall = (squared_ratio[0] / squared_ratio[1:]).log()
share_asked = torch.where(squared_ratio[1:] > 1.1, asked_fall / seen_fall, 0).amax(0)
twice_asked = torch.where(squared_ratio[1:] > 1.1, 2 * asked_fall / seen_fall, 0).amax(
    0
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-c19-a", observed=share_asked, control=twice_asked)

# %%
tolerance, flow_runs = 0.1, 64
part = [x[:flow_runs] for x in (lengths, random_sigma, random_tau)]
begin = WideState(part[0], part[0], torch.zeros(flow_runs))
enough = convergence_time_bound(begin, part[1], part[2], negatives, tolerance)
shares_of_time = torch.linspace(0, 1, 401)
passing = wide_flow(
    begin,
    part[1],
    noise,
    shares_of_time[:, None] * enough,
    part[2],
    negatives,
    rtol=1e-6,
)
above = wide_condition_number(passing) ** 2 > 1 + tolerance
needed = shares_of_time[above.sum(0).clamp(max=400)]
done = float(needed.max()) if not bool(above[-1].any()) else math.inf
size_left_out = needed * (part[0] / part[1] ** 2).sum(-1)  # as if C were 1

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("cor-c20", observed=done, control=float(size_left_out.max()))

# %% [markdown]
# ## Theorem 4.3 of the paper: aligned, and balanced or not
#
# Definition 4.1 of the paper scores **alignment** by the share of triples with $f_A^+\cdot f_B^+>f_A^+\cdot f_B^-$. Its ceiling is not one: with probability $2^{-r}$ the negative has the same $z$. Then a tie counts as
# failure if no noise arrives, and noise decides with an even chance if some does. So an aligned map scores $1-2^{-r}$ to $1-2^{-r-1}$. To see every loss we judge the score given that the
# signals differ, whose ceiling is one. Definition 4.2 of the paper scores
# **balance** by $\lVert\Sigma\rVert_F^2/\lVert\Sigma\rVert_2^2$, $\Sigma=\mathbb E[f_Af_A^\top]$, which counts the directions that are as long as the longest: 1 to $r$.
#
# For part (a) $\sigma$ is that of `lem-b17` with $\sigma_{\max}^2=4$ and $d=10^6$, for part (b) the same $\sigma$ with two noises, each for the numbers of signals in the parameter `ranks`. In part (a) noise has vanished at the
# end, and the score is enumerated over the signals.


# %%
def one_large(r):
    return [2.0] + [1.0] * (r - 1)


def exact_share(a, b, r, d):
    """Alignment where the negative has another signal, from the first d columns."""
    g = correlation(a[..., :d], b[..., :d])
    return exact_alignment(g, r, other_signal=True)


def end_scores(a, b, r, d):
    """Alignment, balance, condition number; one a seed."""
    condition = condition_number(a, r)
    return exact_share(a, b, r, d), balance(a), condition


# %%
def with_negatives(r, contrast=True, paired=True):
    """Both stages with r signals and two noises; control: no contrast, or no pairs."""
    scale = model_scales(torch.tensor(one_large(r)), noise, r + 2).expand(seeds, -1)
    maps = initial_maps(scale, widths[-1], one_per_seed(f"rank {r}"), r)
    states = all_signs(r, r + 2)
    states = states if paired else unpair(states)
    for duration, t in ((time_first, tau_first), (3 * time_second, tau_second)):
        span = torch.tensor([0.0, duration])
        if contrast:
            maps = contrastive_flow(*maps, scale, states, span, t, negatives, rtol=1e-5)
        else:
            maps = non_contrastive_flow(*maps, scale, r, span)
        maps = maps.map_a[-1], maps.map_b[-1]
    return end_scores(*maps, r, r + 2)


# %%
without = {r: end_scores(*without_negatives(one_large(r), 1e6), r, r) for r in ranks}
against = {
    r: with_negatives(r)
    for r in chapter.progress(ranks, "Theorem 4.3, numbers of signals")
}
plain = {r: with_negatives(r, contrast=False) for r in ranks}
unpaired_ends = with_negatives(ranks[0], paired=False)
narrow = {
    r: end_scores(*without_negatives(one_large(r), 1e6, m=100), r, r) for r in ranks
}


def of_each(found, k, pick):
    return {f"r={r}": float(pick(x[k])) for r, x in found.items()}


def in_rank(found, k):
    return fitted_power(
        torch.stack([x[k] for x in found.values()]), [float(r) for r in found]
    )


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-4.3a",
    observed=of_each(without, 0, torch.min),
    control=of_each(narrow, 0, torch.min),
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-4.3a-1",
    observed=of_each(without, 1, torch.max),
    control=float(against[ranks[-1]][1].min()),
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-4.3b",
    observed=of_each(against, 0, torch.min),
    control=float(unpaired_ends[0].min()),
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-4.3b-1", observed=in_rank(against, 1), control=in_rank(plain, 1))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-4.3b-2",
    observed=of_each(against, 2, torch.max),
    control=of_each(plain, 2, torch.min),
)

# %% [markdown]
# Part (b) is for *every* valid $\sigma$, and these runs have few noises. At $d=10^6$, where positive pairs alone collapse, the infinite-width flow {eq}`ab-eq-wide` is cheap: both stages from a hundred random $\sigma$, with values in $[1,2]$.

# %%
any_sigma = 1 + torch.rand(100, 4, generator=stream(seed, 0, "any sigma"))
noisy_start = wide_start(any_sigma, noise, 1e6)
collapsed = non_contrastive_solution(
    noisy_start, any_sigma, noise, torch.tensor([math.inf])
)
state = noisy_start
for duration, t in ((time_first, tau_first), (10 * time_second, tau_second)):
    span = torch.tensor([0.0, duration * 1e6 / dim])
    state = WideState(
        *(
            x[-1]
            for x in wide_flow(state, any_sigma, noise, span, t, negatives, rtol=1e-7)
        )
    )
many_sigma = float(wide_condition_number(state).max())
many_collapsed = float(wide_condition_number(collapsed).quantile(0.5))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-4.3b-3", observed=many_sigma, control=many_collapsed)

# %% [markdown]
# (ab-width)=
# How wide is "sufficiently wide"? Part (a) was run with $m=10^{10}$, which costs nothing here. Collapse makes orthogonality matter: column $r$ is shorter than column 1 by the condition number, and where their cosine,
# of size $1/\sqrt m$, is above that, the long column decides on which side of zero a product falls. So the non-contrastive solution scores as aligned only for $m\gg(\kappa_1/\kappa_r)^2$, a power $2\gamma$ of $d$. With
# $m$ a hundred times the square it reaches the ceiling; with a hundredth it does not. The contrastive solution, of condition number one, has no such need.

# %%
four = one_large(4)
ends_of_four = {d: without_negatives(four, d)[0] for d in sizes[:3]}
steep = {d: float(condition_number(a, 4).mean()) for d, a in ends_of_four.items()}


def at_width(d, factor):
    m = max(4, round(factor * steep[d] ** 2))
    return end_scores(*without_negatives(four, d, m=m), 4, 4)[0]


wide_runs = {f"d={d:.0e}": float(at_width(d, 100).min()) for d in sizes[:3]}
narrow_runs = {f"d={d:.0e}": float(at_width(d, 0.01).max()) for d in sizes[:3]}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-4.3a-2", observed=wide_runs, control=narrow_runs)

# %% tags=["hide-input", "remove-output"]
fig, (left, right) = plt.subplots(1, 2, figsize=(7.8, 3.4), layout="constrained")
powers_of_r = []
for found_, look, name in (
    (against, colours.NEGATIVE, "with negative pairs"),
    (without, colours.POSITIVE, "positive pairs alone"),
):
    values = torch.stack([x[1] for x in found_.values()]).mean(-1).cpu()
    powers_of_r += [float(fitted_power(values, ranks))]
    left.plot(ranks, values, **look | {"linestyle": "none", "ms": 8}, label=name)
left.plot(ranks, ranks, **colours.THEORY, label="$r$", zorder=1)
left.set(xlabel="signals $r$", ylabel="balance", xticks=ranks, ylim=(0, None))
left.legend()
title = (
    "Balance goes as $r^{{\\,{:.2f}}}$ with negatives,\nas $r^{{\\,{:.2f}}}$ without"
)
left.set_title(title.format(*powers_of_r))
factors = [10.0**k for k in (-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3)]
least = []
for d, mark, shade in zip(steep, "os^", colours.ordered(3), strict=True):
    values = [float(at_width(d, factor).mean()) for factor in factors]
    least = [min(pair) for pair in zip(values, least or values, strict=True)]
    label = f"$d=10^{{{math.log10(d):.3g}}}$"
    right.plot(factors, values, color=shade, marker=mark, label=label)
right.axhline(1, **colours.ASIDE)
right.text(factors[0], 1, "ceiling", va="top")
right.set(xscale="log", ylabel="alignment without negatives")
right.set_xlabel("width $m$ / squared condition number")
right.legend()
enough = [factor for factor, value in zip(factors, least, strict=True) if value > 0.99]
title = f"Alignment passes 0.99 at {enough[0]:.2g} times\nthe squared condition number"
right.set_title(title if enough else "Alignment stays below 0.99")
glue.figure(fig, "ab-plot-thm")

# %% [markdown]
# ```{glue:figure} ab-plot-thm
# :alt: Left: balance rises with slope one in the number of signals with negative pairs and stays at one without. Right: the alignment of the collapsed solution rises to one where the width passes the squared condition number.
# :name: ab-fig-thm
#
# Theorem 4.3 of the paper. Left, balance against the number of signals: look at the crosses, on the dotted line, and at the plus signs, which stay at one. Right, alignment of the *non-contrastive* solution against the width, in units of the squared condition number: the three
# values of $d$ fall on one curve, which reaches the ceiling a little above one.
# ```

# %% [markdown]
# ## When is a map aligned, when balanced?
#
# ````{prf:lemma} 4.4 and 4.5 of the paper, restored
# :label: ab-lem-sufficient
# :nonumber:
# ```{claim} lem-4.4
# ```
# ```{claim} lem-4.5
# ```
# ````
#
# The argument of 4.4 is about distances: positive pairs are close, negative pairs are not. The score of Definition 4.1 of the paper compares *inner products*, and these are another matter. Without noise and with $K_A=K_B=K$ we need
# $z^\top K^\top K(z-z')>0$ for all $z'\ne z$. Let $z_S$ be $z$ on the coordinates $S$ where the two differ: $z-z'=2z_S$, and $\cos(z,z_S)=\sqrt{|S|/r}$. A matrix $K^\top K$ with eigenvalues in $[\lambda,\Lambda]$ can turn a vector
# by an angle of up to $\arcsin\frac{\Lambda-\lambda}{\Lambda+\lambda}$, so the product stays positive for every such $K$ if and only if
#
# $$
# \frac1{\sqrt r}>\frac{\Lambda-\lambda}{\Lambda+\lambda}\qquad\Longleftrightarrow\qquad\frac\Lambda\lambda<\frac{\sqrt r+1}{\sqrt r-1}.
# $$ (ab-eq-wielandt)
#
# For $r=2$ the condition number may reach 2.41, for many signals hardly more than one. With *orthogonal* columns, as paper (7) has it, the product is $\frac2d\sum_{p\in S}\kappa_p^2$ and any condition number will do.
#
# We draw maps that meet the conditions, with a condition number $C$ of ten and noises and differences of $C^{-2}/100$, small beside the shortest column, orthogonal columns and columns in random directions. Then maps just within {eq}`ab-eq-wielandt`.

# %%
map_count, spread = 200, 10.0
draws = stream(seed, 0, "random maps")


def random_maps(r, condition, columns="orthogonal", noises=2, size=0.01):
    """K_A of a condition number, K_B nearly the same, noises small beside both."""
    shape = map_count, r, r
    left = torch.linalg.qr(torch.randn(shape, generator=draws)).Q
    right = torch.linalg.qr(torch.randn(shape, generator=draws)).Q
    values = condition ** torch.linspace(0, 1, r)
    k = left * values if columns == "orthogonal" else left * values @ right
    k = k / k.norm(dim=(-2, -1), keepdim=True)
    tail = torch.randn(2, map_count, r, noises, generator=draws)
    tail = size / condition**2 * tail / tail.norm(dim=(-2, -1), keepdim=True)
    near = k + size / condition**2 * torch.randn(shape, generator=draws) / r
    return torch.cat([k, tail[0]], -1), torch.cat([near, tail[1]], -1)


# %%
def least_share(r, condition, columns):
    """Least alignment among random maps."""
    return float(exact_share(*random_maps(r, condition, columns), r, r + 2).min())


signals = (2, 3, 5)
orthogonal = {f"r={r}": least_share(r, spread, "orthogonal") for r in signals}
turned = {f"r={r}": least_share(r, spread, "random") for r in signals}
a_far, _ = random_maps(3, spread)
unrelated = float(exact_share(a_far, a_far.roll(1, 0), 3, 5).min())

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-4.4", observed=orthogonal, outside=turned, control=unrelated)


# %%
def worst_share(r, factor):
    """Of the worst map at `factor` times the bound."""
    k = worst_alignment_map(r, factor * alignment_condition(r))[None]
    return float(exact_share(k, k, r, r))


within, beyond = (
    {f"r={r}": worst_share(r, f) for r in (2, 3, 5, 8)} for f in (0.999, 1.001)
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-4.4-a", observed=within, control=beyond)

# %% [markdown]
# For 4.5 the singular values $s_i$ of $K_A$ are all that counts: the balance is $\sum s_i^4/s_1^4\ge1+(r-1)/C^4$ for a condition number $C$. The fourth power makes it sharp: $C=1.2$ may cost half of the balance. The paper's example of an
# aligned but unbalanced map has one $\kappa_1$ that dwarfs the others.


# %%
def least_balance(r, condition):
    """Least balance over r: the first singular value is `condition`, others ≥ 1."""
    g = stream(seed, 0, f"balanced maps {r} {condition}")
    values = condition ** torch.rand(map_count, r, generator=g)
    values[:, 0], values[0, 1:] = condition, 1
    turn = torch.linalg.qr(torch.randn(map_count, r, r, generator=g)).Q
    return float(balance(turn * values[:, None]).min()) / r


near_one = {f"r={r}": least_balance(r, 1.01) for r in (2, 5, 20)}
far_from_one = {f"r={r}": least_balance(r, 2.0) for r in (5, 20)}
example = torch.diag(torch.tensor([100.0, 1, 1, 1]))[None]
example_score = float(exact_share(example, example, 4, 4))
one_lost = torch.diag(torch.tensor([100.0, 1, 1, 0]))[None]
lost_score = float(exact_share(one_lost, one_lost, 4, 4))
equal = torch.eye(4)[None]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-4.5", observed=near_one, control=far_from_one)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("ex-4", observed=example_score, control=lost_score)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("ex-4-a", observed=float(balance(example)), control=float(balance(equal)))

# %% [markdown]
# ## Figure 1 of the paper: a simulation
#
# Figure 1 of the paper shows a simulation. We infer from the text ("the first and third plots on the second row") that one row is without and one with negative pairs, and that the columns are the alignment
# $\hat\kappa_p^2/\kappa_p^2$, the noise-signal ratio and the condition number. Sizes, $\sigma$ and $\tau$ are not given. Ours are the parameters of this page, {glue:text}`ab-seed-count:.0f` networks of width {glue:text}`ab-figure-width:.0f`, and the infinite-width curve.

# %%
row_times = torch.linspace(0, time_first + time_second, 61)
row = non_contrastive_flow(a0, b0, scales, rank, row_times)
start_state = wide_start(s_row, noise, dim - rank)
row_wide = wide_flow(start_state, s_row, noise, row_times, None)
glue.number("ab-seed-count", seeds)
glue.number("ab-figure-width", widths[middle])


def three_columns(a, b):
    """Least alignment, noise-signal ratio, condition number [time, run]."""
    return (
        column_alignment(a, b, rank).amin(-1),
        noise_signal_ratio(a, rank),
        condition_number(a, rank),
    )


def three_wide(path):
    share = path.kappa_hat_squared / path.kappa_squared
    return share.amin(-1), wide_noise_signal_ratio(path), wide_condition_number(path)


first_row = three_columns(*row[:2])
second_row = three_columns(middle_a, middle_b)

# %% tags=["hide-input", "remove-output"]
quantities = (
    r"least $\hat\kappa_p^2/\kappa_p^2$",
    r"$\Vert K_{A,\xi}\Vert_F^2/\Vert K_A\Vert_F^2$",
    "condition number of $K_A$",
)
fig, axes = plt.subplots(
    2, 3, figsize=(7.8, 4.6), sharex=True, sharey="col", layout="constrained"
)
alone = "positive pairs alone", colours.POSITIVE["color"]
both = "with negative pairs", colours.NEGATIVE["color"]
rows = (
    (row_times, first_row, three_wide(row_wide), *alone),
    (time_axis, second_row, three_wide(curve), *both),
)
for line, (when, runs, wide_limit, name, colour) in zip(axes, rows, strict=True):
    for k, ax in enumerate(line):
        ax.plot(when.cpu(), runs[k].cpu(), color=colour, ls="-", lw=0.7)
        ax.plot(when.cpu(), wide_limit[k][:, 0].cpu(), **colours.THEORY)
        ax.set_yscale("log" if k == 1 and dim > rank else "linear")
    line[0].set_ylabel(name, color=colour)
first, *_, last_line = axes[0, 0].lines
names = f"$m={widths[middle]}$, each seed", "infinite width"
axes[0, 0].legend((first, last_line), names)
for ax, quantity in zip(axes[0], quantities, strict=True):
    ax.set_title(quantity, fontsize=10, fontweight="normal")
for ax in axes[1]:
    ax.axvline(time_first, **colours.ASIDE)
    ax.set_xlabel("time $t$")
axes[1, 2].annotate(
    " stage 2", (time_first, 0.97), xycoords=("data", "axes fraction"), va="top"
)
ends = [float(runs[2][-1].mean()) for runs in (first_row, second_row)]
title = "The condition number ends at {:.1f} without negatives, at {:.2f} with them"
fig.suptitle(title.format(*ends), x=0.01, ha="left")
glue.figure(fig, "ab-plot-fig-1")

# %% [markdown]
# ```{glue:figure} ab-plot-fig-1
# :alt: Two rows of three panels. Alignment rises to one and the noise-signal ratio falls in both rows; the condition number grows and stays without negatives, and falls to one with them.
# :name: ab-fig-1
#
# Training without (top) and with negative pairs (bottom). Look at the last column: without negatives the condition number grows and stays, with them it falls to one in stage 2, after the grey line. Alignment and noise look alike in both rows. Our copy of the paper has no caption
# of this figure. Its text says of the first and third plots of the second row that alignment is reached while the condition number stays bounded: so it is here, before the grey line. That a uniform $\tau$ shows similar stages is {numref}`ab-fig-uniform`.
# ```
#
# What the theory says of the two rows is judged by itself: both end aligned, the first with a condition number above the initial one, the second with one close to one; and "a similar stage-wise behaviour can be
# observed when using a uniform $\tau$".

# %%
start_condition = first_row[2][0]
both_rows = {"first": first_row[0][-1], "second": second_row[0][-1]}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-1",
    observed=first_row[2][-1] / start_condition,
    control=second_row[2][-1] / start_condition,
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-1-c", observed=both_rows, control=unpaired_aligned)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-1-a", observed=second_row[2][-1], control=first_row[2][-1])

# %%
uniform_taus = [0.1, 0.3, 0.5, 1.0, 2.0, 4.0]
same_start = WideState(
    *(x.expand(len(uniform_taus), *x.shape[1:]) for x in start_state)
)
uniform_s = s_row.expand(len(uniform_taus), -1)
tau_each = torch.tensor(uniform_taus)
log_times = torch.cat(
    [torch.zeros(1), torch.logspace(-1, math.log10(4 * row_times[-1]), 80)]
)
uniform_wide = wide_flow(same_start, uniform_s, noise, log_times, tau_each, negatives)
uniform_condition = wide_condition_number(uniform_wide)


# %%
def hump(found):
    """Peak over start of a condition number that ends below 1.2, else 0."""
    return torch.where(found[-1] < 1.2, found.amax(0) / found[0], 0)


def peak_over_start(t):
    """Of the condition number with one τ throughout."""
    run = contrastive_flow(a0, b0, scales, signs, log_times, t, negatives, rtol=1e-6)
    return hump(condition_number(run.map_a, rank))


peaks = {f"τ²={t}": peak_over_start(t) for t in (0.3, 1.0)}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-1-b", observed=peaks, outside=peak_over_start(4.0), control=hump(first_row[2])
)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
for t, line, shade in zip(
    uniform_taus,
    uniform_condition.unbind(1),
    colours.ordered(len(uniform_taus)),
    strict=True,
):
    ax.plot(log_times[1:].cpu(), line[1:].cpu(), color=shade, label=f"$\\tau^2={t:g}$")
ax.axhline(1, **colours.ASIDE)
ax.set(xlabel="time $t$", ylabel="condition number of $K_A$", xscale="log")
ax.legend()
title = "The condition number peaks at {:.1f} for $\\tau^2={:g}$, at {:.1f} for $\\tau^2={:g}$"
highest = uniform_condition.amax(0).tolist()
ax.set_title(title.format(highest[0], uniform_taus[0], highest[-1], uniform_taus[-1]))
glue.figure(fig, "ab-plot-uniform")

# %% [markdown]
# ```{glue:figure} ab-plot-uniform
# :alt: Condition number over time for six uniform temperatures: a hump that is highest for the smallest, and a decay to one.
# :name: ab-fig-uniform
#
# One uniform $\tau$, infinite width; the grey line at 1 is balance. Look at the hump: with a small $\tau$ the condition number rises first and falls later, two stages that interlace, as the paper's text says. The larger $\tau$, the smaller the rise; at $\tau^2=4$ it is gone from sight,
# and the end is slow.
# ```

# %% [markdown]
# ## From the flow to gradient descent
#
# Appendix D of the paper says that all of this holds for gradient descent with mini-batches (Algorithm 3.1) if the learning rate is small and the batches are large, both polynomially. Descent with exact expectations is Euler's method: its gap to the
# flow is of the order of the learning rate $\eta$. A batch of $n$ pairs adds noise of the order of $\sqrt{\eta/n}$ over a fixed time, and a bias of order $1/n$, as the softmax over negatives and the batch norm are not linear in means.
# We fit both powers at the end of a stretch of stage 2 that starts at random maps. The batch sizes are the parameter `batches`.

# %%
stretch, steps_sizes = 4.0, [0.4, 0.2, 0.1, 0.05, 0.025]
exact = contrastive_flow(
    a0, b0, scales, signs, torch.tensor([0, stretch]), tau_second, negatives, rtol=1e-9
).map_a[-1]


def ends_of(step, batch=None):
    """Maps of gradient descent at the end of the stretch."""
    count = round(stretch / step)
    how = dict(step_size=step, steps=count, batch=batch, keep=[count])
    how |= dict(tau_squared=tau_second, negatives=negatives)
    g = one_per_seed(f"batches {batch}") if batch else []
    how |= {} if batch else {"signs": signs}
    return descend(a0, b0, scales, rank, g, **how)[0][0]


def apart(ends, from_):
    """Relative distance, one a seed."""
    return (ends - from_).norm(dim=(-2, -1)) / from_.norm(dim=(-2, -1))


by_step = torch.stack([apart(ends_of(step), exact) for step in steps_sizes])
noisy = torch.stack([apart(ends_of(step, batches[0]), exact) for step in steps_sizes])

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "app-d",
    observed=fitted_power(by_step, steps_sizes),
    control=fitted_power(noisy, steps_sizes),
)

# %% [markdown]
# The batches are compared with exact expectations at the same learning rate, so that the gap above does not enter. The control leaves it in, with a learning rate so large that it hides the batches.

# %%
same_step = ends_of(0.1)
by_batch = torch.stack(
    [
        apart(ends_of(0.1, n), same_step)
        for n in chapter.progress(batches, "Appendix D, batches")
    ]
)
hidden = torch.stack([apart(ends_of(1.0, n), exact) for n in batches])

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "app-d-a",
    observed=with_and_without_smallest(by_batch, batches),
    control=fitted_power(hidden, batches),
)

# %% [markdown]
# ## Figure 2 of the paper: images and captions
#
# The paper's experiment: MSCOCO-2014 {cite}`lin-2014`, a frozen RoBERTa for captions and a frozen ResNet101 for images, each followed by three fully-connected layers with batch norm between them, and only these are trained. The zero-shot
# prediction for an image is the prompt "This is a [LABEL_NAME]" of highest correlation, right if it names *any* object in the image. Width, optimiser, batch size and temperature are not stated in our text.
#
# **By default** the pairs are *generated*: pictures of one to four of twelve objects at random places, of unequal frequency as the $\sigma_p$ are unequal, with captions that name most of them, through fixed random features. The encoders know
# nothing of the objects. It needs no download, and a verdict on it is `with conditions: data`. The [record](ab-record) was made on real photographs and captions. The parameter `data` chooses.
#
# The outputs are normalised as the paper's learner {eq}`ab-eq-learner` is: centred, and divided by the root of the batch's mean square. We train {glue:text}`ab-head-seeds:.0f` starts without negatives, with $\tau^2=1$ and $\tau^2=10$ (negatives are
# the other pairs of the batch, $K$ their number, as in CLIP {cite}`radford-2021`; the second is what is judged), and a control with $\tau^2=10$ whose captions belong to other images. The runs of an arm and the arms are one batch.

# %%
train, test = chapter.check(
    image_caption_pairs, data, scenes, seed, chapter.device, chapter.progress
)
arms = {"no negatives": (False, 1.0), "τ² = 1": (True, 1.0), "τ² = 10": (True, 10.0)}
marks = sorted(
    {m for m in (0, 10, 25, 50, 100, 200, 400) if m < head_steps} | {head_steps}
)
pair_batch = min(128, len(train.images) // 2)


def started(purpose, count, features):
    g = [stream(seed, k, purpose) for _ in range(count) for k in range(head_seeds)]
    return init_heads(g, features, head_width, head_width, torch.float32)


# %%
def measured(snapshot):
    """The numbers of Figure 2 on the test pairs, one a run."""
    captions = train.captions.flatten(0, 1)
    _, by_image = apply_heads(snapshot.image, train.images)
    _, by_text = apply_heads(snapshot.text, captions)
    f_a, _ = apply_heads(snapshot.image, test.images, by_image)
    f_b, _ = apply_heads(snapshot.text, test.captions[:, 0], by_text)
    asked, _ = apply_heads(snapshot.text, test.prompts, by_text)
    return {
        "zero-shot accuracy": zero_shot_accuracy(f_a, asked, test.labels),
        "macro recall": macro_recall(f_a, asked, test.labels),
        "alignment": alignment_score(f_a, f_b),
        "stable rank": output_balance(f_a),
        "condition number": output_condition_number(f_a, 10),
    }


# %%
def figure_2(captions, chosen):
    """Number → [mark, arm, seed] for some arms, trained together."""
    kind, tau = zip(
        *(arms[name] for name in chosen for _ in range(head_seeds)), strict=True
    )
    recipe = Recipe(
        torch.tensor(kind),
        torch.tensor(tau).float(),
        torch.full((len(tau),), pair_batch - 1.0),
        pair_batch,
    )
    heads = (
        started(what, len(chosen), x.shape[-1])
        for what, x in (("image head", train.images), ("text head", captions))
    )
    order = [stream(seed, k, "head batches") for _ in chosen for k in range(head_seeds)]
    run = train_heads(*heads, train.images, captions, order, recipe, marks)
    found = [
        measured(snapshot) for snapshot in chapter.progress(run, "Figure 2", len(marks))
    ]
    shape = (len(chosen), head_seeds)
    return {
        k: torch.stack([x[k].double() for x in found]).unflatten(-1, shape)
        for k in found[0]
    }


# %%
found = figure_2(train.captions, list(arms))
mixed = torch.randperm(len(train.images), generator=stream(seed, 0, "mixed captions"))
mixed_up = figure_2(train.captions[mixed], ["τ² = 10"])
constant = float(best_constant_answer(test.labels))
panels = ("zero-shot accuracy", "alignment", "stable rank", "condition number")
glue.number("ab-head-seeds", head_seeds)
glue.number("ab-constant", constant)

# %% tags=["hide-input", "remove-output"]
from matplotlib.ticker import LogLocator

looks = (
    colours.POSITIVE,
    colours.NEGATIVE | {"linestyle": "-.", "marker": "^"},
    colours.NEGATIVE,
)
fig, axes = plt.subplots(2, 2, figsize=(7.8, 5.6), sharex=True, layout="constrained")
for ax, name in zip(axes.flat, panels, strict=True):
    for k, look in enumerate(looks):
        values = found[name][:, k].cpu()
        ax.plot(marks, values.mean(-1), **look)
        band = values.amin(-1), values.amax(-1)
        ax.fill_between(marks, *band, color=look["color"], alpha=0.15, lw=0)
    ax.set_ylabel(name)
    if name in ("stable rank", "condition number"):
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("")
shown = [m for m in marks if 1.6 * m < marks[-1]] + [marks[-1]]
axes[0, 0].set_xscale("symlog", linthresh=10, linscale=0.7)
axes[0, 0].set_xticks(shown, shown, minor=False)
for ax in axes[1]:
    ax.set_xlabel("updates")
axes[0, 0].set_xlim(-1, 1.15 * marks[-1])
for ax, level, what in (
    (axes[0, 0], constant, "best constant answer"),
    (axes[0, 1], 0.75, "ceiling of rank one"),
):
    ax.legend([ax.axhline(level, **colours.ASIDE)], [what])
arm_names = "no negatives", r"negatives, $\tau^2=1$", r"negatives, $\tau^2=10$"
fig.legend(axes[0, 0].lines[:3], arm_names, loc="outside lower center", ncols=3)
ends = found["stable rank"][-1].mean(-1).tolist()
title = (
    "The stable rank ends at {:.1f} without negatives, at {:.1f} and {:.1f} with them"
)
fig.suptitle(title.format(*ends), x=0.01, ha="left")
glue.figure(fig, "ab-plot-fig-2")

# %% [markdown]
# ```{glue:figure} ab-plot-fig-2
# :alt: Four panels over training: zero-shot accuracy, alignment, stable rank and condition number for heads without negatives and with two temperatures. Without negatives the stable rank falls to one and the condition number grows.
# :name: ab-fig-2
#
# The heads during training, on test pairs: mean over starts, the band from the least to the largest. Look at the stable rank: without negatives it falls to one at once and stays. With $\tau^2=10$ it dips before it rises, and the condition number rises before it falls: two stages that
# interlace. Zero-shot accuracy follows; the best constant answer has {glue:text}`ab-constant:.2f`. Our copy of the paper has no caption of its Figure 2. Its text says no more than that the experiments support the theory, so the statements below are those of the theorem.
# ```


# %%
def with_spread(values):
    return f"{float(values.mean()):.3g} ± {float(values.std()):.2g}"


final = {k: dict(zip(arms, v[-1], strict=True)) for k, v in found.items()}
short = ("accuracy", "recall", "alignment", "stable rank", "condition")
print(" " * 13, *(f"{k:>14}" for k in short))
for arm in arms:
    shown = (with_spread(x[arm]) for x in final.values())
    print(f"{arm:13}", *(f"{v:>14}" for v in shown))
untrained = (with_spread(v[0, 0]) for v in found.values())
print(f"{'untrained':13}", *(f"{v:>14}" for v in untrained))
print(
    f"{'best constant':13}",
    f"{constant:>14.3f}",
    f"{1 / int(test.labels.any(0).sum()):>14.3f}",
)

# %%
accuracy, align, rank_of, cond_of = (final[k] for k in panels)
recall = final["macro recall"]
contrastive_arm, plain_arm = "τ² = 10", "no negatives"


def over(numbers, name):
    """Contrastive minus non-contrastive, and the control's, one a start."""
    base = numbers[plain_arm]
    return dict(
        observed=numbers[contrastive_arm] - base, control=mixed_up[name][-1, 0] - base
    )


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-2", **over(accuracy, "zero-shot accuracy"))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-2-a", **over(recall, "macro recall"))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-2-b", observed=align[contrastive_arm], control=mixed_up["alignment"][-1, 0]
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-2-c", observed=align[plain_arm], control=align[contrastive_arm])

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-2-d", observed=rank_of[plain_arm], control=rank_of[contrastive_arm])

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-2-e",
    observed=rank_of[contrastive_arm] / rank_of[plain_arm],
    control=rank_of[plain_arm].roll(1) / rank_of[plain_arm],
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-2-f",
    observed=cond_of[contrastive_arm] / cond_of[plain_arm],
    control=cond_of[plain_arm].roll(1) / cond_of[plain_arm],
)

# %% [markdown]
# (ab-record)=
# ## The same with more seeds, and photographs
#
# The verdicts above come from the default profile. The profile `paper` has about twice the seeds, more widths, sizes, signals and batches, and for Figure 2 of the paper the few hundred photographs of the compact copy of MSCOCO that have human captions, so
# that zero-shot scores stay low in absolute terms. Its encoders are small ones, EfficientNet-Lite0 {cite}`tan-le-2019` and MiniLM {cite}`reimers-gurevych-2019`, not the paper's. The profile `labels` has the other photographs, whose captions are made from the names of
# their objects, which makes zero-shot prediction easier than it is. The same on the whole of MSCOCO-2014 with RoBERTa and ResNet101 is `data=coco-2014`, see [Data](../book/data.md); it was not run here.
#
# ```{include} ../book/_generated/alignment-and-balance-record.md
# ```
#
# ```{figure} ../records/alignment-and-balance/labels/ab-plot-fig-2.png
# :alt: The four panels of the figure on heads for captions made of labels. Zero-shot accuracy with the larger inverse temperature rises above the best constant answer; without negatives the stable rank is one and the condition number grows.
# :name: ab-fig-2-labels
#
# {numref}`ab-fig-2` from the profile `labels`, photographs with captions made of the names of their objects. Look at the first panel: here, and not with human captions, negatives lift zero-shot prediction above the best constant answer. Half of all
# photographs show a person, so a score near one half means little.
# ```

# %% [markdown]
# ## Exercises
#
# Each asks for a derivation on paper, then for a few lines of code.

# %% [markdown] tags=["solution"]
# The solutions are folded, and so is their code, which asserts what was derived by hand.

# %% [markdown]
# ````{exercise} What a negative pair does to a column
# :label: ab-ex-tanh
#
# The columns are orthogonal: $G=d\operatorname{diag}(g_1,\dots,g_r,0,\dots,0)$, so that $f_A^+\cdot f_B^-=\sum_pg_p\,s_ps_p'$ for the signs $s,s'$ of the two signals.
#
# 1. Start from the loss {eq}`ab-eq-loss` and derive
#
#    $$
#    M=\frac{2(1-S)}d\operatorname{diag}(1-T_1,\dots,1-T_r,0,\dots,0),\qquad T_p=\tanh(\tau^2g_p),
#    $$
#
#    with the $S$ given above {eq}`ab-eq-wide`. Why is $S$ one number, the same for all pairs? Put $M$ into {eq}`ab-eq-flow` to get the first line of {eq}`ab-eq-wide`.
# 2. Of what is $T_p$ the mean? What is left of it for small $\tau$, what for large?
# 3. Let the maps be aligned and without noise, $\sum_pg_p=1$, all $g_p>0$. Does $S$ tend to one as $\tau\to\infty$?
#
# ```{hint}
# :class: dropdown
# $\partial\log\bigl(\mathbb E_{s'}e^{\tau^2\sum g_ps_ps_p'}\bigr)/\partial(\tau^2g_p)$ is the mean of $s_ps_p'$ under the weights $e^{\tau^2\sum g_ps_ps_p'}$. Under these the $s_p'$ are still
# independent.
# ```
# ````

# %% [markdown] tags=["solution"]
# ```{solution} ab-ex-tanh
# :label: ab-sol-tanh
# :class: dropdown
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
# ```

# %% tags=["solution", "hide-cell"]
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

# %% tags=["solution", "hide-cell"]
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
# ````{exercise} Ten times as long
# :label: ab-ex-ten
#
# Positive pairs alone, infinite width, $\sigma=(s\,\sigma_r,\sigma_r,\dots,\sigma_r)$ with $s>1$.
#
# 1. For which $s$ does the condition number of $K_A$ end at 10? Turn {eq}`ab-eq-end` into one equation for $s$ and show that it has exactly one root.
# 2. Solve it for the $d$ of this page and for $d=10^6$, and check by a run of finite width. For $d=10^6$ let a few columns stand for all the noise: why is that exact here?
# 3. You halve $\sigma_\xi$. What changes?
#
# ```{hint}
# :class: dropdown
# Solve the second equation of {eq}`ab-eq-end` for $\Theta_\infty$ and put it into the first.
# ```
# ````

# %% [markdown] tags=["solution"]
# ```{solution} ab-ex-ten
# :label: ab-sol-ten
# :class: dropdown
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
# ```

# %% tags=["solution", "hide-cell"]
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


# %% tags=["solution", "hide-cell"]
ratios = {d: ratio_for(d) for d in (dim, 10**6)}
for d, s in ratios.items():
    by_noise = [finite_end(s, d, x) for x in (0.8, 0.4)]
    found = ", ".join(f"{float(x.mean()):.2f}" for x in by_noise)
    print(f"d = {d}: σ_1/σ_r = {s:.3f}, ends for two sizes of the noise: {found}")
    assert all(float((x / 10 - 1).abs().max()) < 0.02 for x in by_noise)
assert ratios[10**6] < 1.3

# %% [markdown]
# ````{exercise} Without normalisation
# :label: ab-ex-raw
#
# Let the outputs be $f_A=W_A^\top x_A$, without $N_A$: then $G=\mathsf K_A^\top\mathsf K_B$, and {eq}`ab-eq-flow` loses its second terms,
# $\mathring{\mathsf K}_A=\mathsf K_BM^\top D$ and $\mathring{\mathsf K}_B=\mathsf K_AMD$.
#
# 1. Solve the non-contrastive flow, at any width. What becomes of the noise and of the condition number? Compare with {eq}`ab-eq-end` for a model without noise.
# 2. Infinite width, contrastive. Show that $\kappa_p^4-\hat\kappa_p^4$ is conserved, so that $\kappa_p^2=\sigma_p^2\cosh\varphi_p$ and $\hat\kappa_p^2=\sigma_p^2\sinh\varphi_p$, and that
#    $\dot\varphi_p=4(1-S)\frac{\sigma_p^2}d(1-T_p)$.
# 3. Where does it go? Does the condition number still tend to one, and how fast? Guess, derive, then run.
#
# ```{hint}
# :class: dropdown
# For 3. follow $x_p=\tau^2\hat\kappa_p^2/d$, the number of which $T_p$ is the tanh, when it is large.
# ```
# ````

# %% [markdown] tags=["solution"]
# ```{solution} ab-ex-raw
# :label: ab-sol-raw
# :class: dropdown
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
# ```

# %% tags=["solution", "hide-cell"]
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


# %% tags=["solution", "hide-cell"]
constant = non_contrastive_force(rank, dim)
ends = raw_flow(lambda g: constant, dim / max(products) * torch.tensor([0.0, 1, 2]))
assert relative_error(ends[-1], linear(2 * dim / max(products))) < 1e-6
c_early, c_late = (
    condition_number(linear(k * dim / max(gap, 0.1))[0], rank) for k in (6, 9)
)
c_two = ", later ".join(f"{float(c.mean()):.0f}" for c in (c_early, c_late))
print(f"without negatives: condition number {c_two}")
assert float(((c_late / c_early).log() - 3 * gap / max(gap, 0.1)).abs().max()) < 0.1

# %% tags=["solution", "hide-cell"]
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


# %% tags=["solution", "hide-cell"]
when = torch.tensor([0.0, 1, 3, 10, 30, 100])
by_signs = raw_flow(lambda g: contrastive_force(g, signs, tau_second, negatives), when)
finite = condition_number(by_signs[:, 0], rank).mean(1)
_, infinite = raw_wide(when.log1p())
print("t = 0 to 100, condition number", [round(c, 3) for c in infinite.tolist()])
assert relative_error(finite, infinite) < 0.01

# %% tags=["solution", "hide-cell"]
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
# ````{exercise} Why negatives balance, whatever σ is
# :label: ab-ex-rest
#
# Aligned maps without noise at infinite width, $\hat\kappa_p=\kappa_p$ and $\kappa_\xi=0$, follow {eq}`ab-eq-second`.
#
# 1. Find all their points of rest, those with some $\kappa_p=0$ among them. Show that up to a common factor there is one with all $\kappa_p>0$. Where does $\sigma$ enter? What are the points of rest without negatives?
# 2. A point of rest has $k<r$ columns that are not zero. A missing column is made a little longer than zero. At what rate does it grow?
# 3. And at what rate does a small imbalance decay where all are equal? Compare both rates for large $\tau$.
#
# ```{hint}
# :class: dropdown
# At the balanced point put $g_p=\frac1r+\delta_p$, $\sum\delta_p=0$. To first order $\bar T$ does not change.
# ```
# ````

# %% [markdown] tags=["solution"]
# ```{solution} ab-ex-rest
# :label: ab-sol-rest
# :class: dropdown
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
# ```

# %% tags=["solution", "hide-cell"]
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


# %% tags=["solution", "hide-cell"]
for k in range(1, rank):
    square = torch.where(torch.arange(rank) < k, 1.0, 1e-12)[None]
    expected = growth_of_missing(k, tau_rest)
    span = 3 / float(expected.max())
    path = aligned_flow(square, tau_rest, torch.tensor([0.0, span]))[:, 0, k:].log()
    assert relative_error((path[1] - path[0]) / span, expected) < 1e-4
    print(f"{k} columns: the others grow at", [round(x, 3) for x in expected.tolist()])

# %% tags=["solution", "hide-cell"]
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

# %% tags=["solution", "hide-cell"]
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
# ````{exercise} The ceiling of the alignment score
# :label: ab-ex-dominant
#
# No noise. Lemma 4.4 of the paper, as its argument goes, bounds a condition number. Definition 4.1 of the paper compares inner products.
#
# 1. Let $r=2$ and $K_A=K_B=K$. Find by hand a $K$ and signs with $z^\top K^\top K(z-z')<0$. How small can the condition number of $K$ be? What is the score then?
# 2. Any $r$, any $K_A,K_B$, $G\propto K_A^\top K_B$. Show that the score is at its ceiling $1-2^{-r}$ **if and only if** every column of $G$ is dominated by its diagonal,
#
#    $$
#    G_{pp}>\sum_{q\ne p}\lvert G_{qp}\rvert\qquad\text{for all }p .
#    $$ (ab-eq-dominant)
#
# 3. Derive the bound {eq}`ab-eq-wielandt` from it, and show that it cannot be improved for any $r$. What does {eq}`ab-eq-dominant` say about the width that [Theorem 4.3 of the paper needs](ab-width)?
#
# ```{hint}
# :class: dropdown
# 1.: $z-z'=2e_1$. 2.: write $z^\top Gz_S$ as a sum over $p\in S$. 3.: $G=\frac{\Lambda+\lambda}2+E$, where $E$ may be a reflection, times $\frac{\Lambda-\lambda}2$.
# ```
# ````

# %% [markdown] tags=["solution"]
# ```{solution} ab-ex-dominant
# :label: ab-sol-dominant
# :class: dropdown
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
# $m\gg(\kappa_1/\kappa_r)^2$: this is where the width of Theorem 4.3 (a) of the paper comes from, and it is necessary as well.
# ```


# %% tags=["solution", "hide-cell"]
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


# %% tags=["solution", "hide-cell"]
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

# %% [markdown]
# (ab-slips)=
# ## Where text and check differ
#
# ```{admonition} What is said, what a run gave, what holds instead
# :class: important
#
# Our copy of the paper has lost its inline formulas, so a slip may be the copy's. These are statements in words.
#
# - **Alignment "≈ 1"** (Definition 4.1, Theorem 4.3 of the paper). A negative has the signal of the positive with probability $2^{-r}$, so the score of an aligned map is between $1-2^{-r}$ and $1-2^{-r-1}$.
# - **Lemma 4.4 of the paper** (under review) argues with distances, while Definition 4.1, as restored, compares products. A bounded condition number is enough for orthogonal columns, as those of paper (7); for others its square must be below $(\sqrt r+1)/(\sqrt r-1)$, which tends to one
#   (`lem-4.4`, `lem-4.4-a`).
# - **"Sufficiently large" width** in Theorem 4.3 (a) of the paper means at least the squared condition number, a power of $d$. A narrower network that has collapsed scores as *not* aligned (`thm-4.3a-2`).
# - **Noise is what the condition number grows on.** The introduction to stage 1 argues with the noiseless flow (8) of the paper, in which it is bounded by $\frac{\sigma_1}{\sigma_r}(r+1)^{(1-q)/2}$, for fixed $r$ by a constant. The power of $d$ then needs the noise (`lem-b17`).
# - **Aligned and collapsed** go together with a few discrete signals, as in the theorem. Outputs of one *continuous* dimension score at most ¾ by Definition 4.1 of the paper, so the heads of Figure 2 cannot be both (`fig-2-c`).
# - **"A uniform $\tau$ shows similar stages"** the less the larger $\tau$ is (`fig-1-b`).
# - **Stage 2 wants a larger $\tau$**, and a larger one is slower: the rate has a factor $T_1-T_r$ of the order of $e^{-2\tau^2/r}$, and $1-S$ falls to $K/(K+2^r)$, so "polynomial time" in Corollary C.20 of the paper needs $\tau^2/r$ and $\min(\tau^2,r)$ of the order of $\log d$ (`cor-c20`).
# ```
#
# ## What the paper leaves open
#
# - **A learner with a mean.** The signs are centred. Outputs with a mean may collapse to a point rather than to a line; our heads are centred to stay close to the paper.
# - **Noise with structure.** All $\sigma_\xi$ are alike, so noise shrinks at one rate. One strong noise direction would compete with weak signals.
# - **Why in practice non-contrastive training does not collapse.** Stop-gradients and predictors are outside of this paper, as it says.
# - **Temperature.** Nothing is said on which $\tau$ is best at the end; paper (8) ends balanced at every $\tau$, only the time differs.
#
# ## What we had to assume
#
# - Every formula is restored. Paper (5) and (8) are checked by enumeration. Conditions (9) to (11) and (17) of the paper, its Lemmas B.13 to B.17 and C.12 to C.20, are read from the words around them; where a number is printed ("at most double") it is the rule.
# - The assumptions of Theorem 4.3 of the paper are $\sigma_{\max}^2/\sigma_{\min}^2\le c\log d$, $r\le d^c$ and a wide network, argued [above](ab-reading). Lemmas B.3 to B.8, B.10, B.11 and C.3 to C.11 of the paper are steps whose statements are lost; what they are needed for is judged.
# - Sizes, $\sigma$, $\tau$ and $K$ of Figure 1 of the paper are ours. $N_A$ is that of the population in the flow, that of the batch in Appendix D of the paper and in the heads.
# - A batch has as many negatives as positives, drawn independently, shared by all positives of the batch. In Figure 2 of the paper they are the other pairs of the batch, as is usual.
# - Figure 2 of the paper: AdamW, 128 pairs a batch, a learning rate of $10^{-3}$, ReLU; tokens of a sentence are averaged. $\tau^2=10$ was chosen on seeds below 1000.
# - Figures are judged by the text around them. The pictures of the paper were not available, so no likeness is claimed.

# %%
chapter.close()
