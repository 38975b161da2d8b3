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
# An image and its caption should get the same representation. So it seems enough to pull each image and its caption together. What are the *other* pairs for, images with captions that are not theirs?
#
# {cite}`ren-li-2023` answer this for two linear encoders, whose training can be followed to the end.

# %% tags=["hide-input", "parameters"]
first_seed: int = 1000  # first seed of the block that is judged, 0..1000000
seeds: int = 12  # seeds of a claim that is decided by chance, 3..1000
sigma: list[float] = [2.0, 1.6, 1.3, 1.0]  # scales; fewer signals take longer, 0.1..10
noise: float = 0.8  # scale of the noise, below the least of sigma, 0.01..10
dim: int = 8  # signals and noises, d ≤ (20 + r)/2; the work goes as 2^(2d − r), 2..18
widths: list[int] = [100, 1600, 25600, 409600]  # of networks, m, 36..1000000
negatives: float = 8.0  # strength K of negatives, not of those of best-tau, 0.1..1000
tau_first: float = 0.05  # squared inverse temperature in stage 1, 0.001..1
tau_second: float = 2.0  # in stage 2, 0.1..30
time_first: float = 24.0  # length of stage 1, 0.1..1000
time_second: float = 60.0  # of stage 2, 0.1..1000
sizes: list[float] = [1e4, 1e5, 1e6, 1e7, 1e8, 1e9]  # d of Lemma B.17, 100..1e12
ranks: list[int] = [2, 3, 4, 6]  # signals r of Theorem 4.3, 2..11
large_dims: list[float] = [50.0, 1e3, 1e6]  # d of two stages at infinite width, 20..1e9
batches: list[int] = [32, 64, 128, 256, 512]  # pairs, Appendix D, 8..4096
sgd_dims: list[int] = [8, 16]  # d of Algorithm 3.1 in mini-batches, 5..256
sgd_widths: list[int] = [4, 8, 32]  # its widths m, 4..1024
sgd_batch: int = 64  # its pairs in a batch, 8..1024
sgd_seeds: int = 8  # its starts, 3..1000
predictor_dims: list[float] = [50.0, 500.0]  # d with predictors, 40..100000
predictor_time: int = 60  # t/d until they rest, 10..300
data: str = "scenes"  # one of alignment_and_balance.image_caption_pairs.NAMES
scenes: int = 2000  # generated scenes, 500..100000
head_width: int = 64  # width of the heads, 8..4096
head_steps: int = 200  # updates of the heads, 50..100000
head_seeds: int = 6  # initialisations of the heads, 3..100
race_starts: int = 4  # starts of the heads that race for the best temperature, 3..100
device: str = "cpu"  # where the runs stand, auto|cpu|cuda

# %% tags=["hide-input"]
import math
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.ticker import LogLocator, ScalarFormatter

from clbook.notebook import colours, glue, open_chapter
from contrastive_dynamics.alignment_and_balance import (
    DescentStage, WideStage, WideState, aligned_state, alignment_by_distance, all_signs,
    balance, balancing_rate, balancing_time, best_constant_answer, best_tau_squared,
    best_tau_squared_many_signals, column_alignment, condition_number, contrastive_flow,
    contrastive_force, correlation, exact_alignment_by_distance, image_caption_pairs,
    image_weights, initial_maps, initial_maps_of_widths, model_scales, negative_factors,
    non_contrastive_exponent, non_contrastive_flow,
    non_contrastive_force, non_contrastive_solution, percentile_interval,
    resampled_means, resampled_starts, sample_signs, settling_time, two_stage_descent,
    wide_condition_number, wide_flow, wide_start, wide_training, wide_velocity,
)  # fmt: skip
from contrastive_dynamics.numerics.power_laws import fitted_power
from contrastive_dynamics.numerics.random_streams import stream, streams
from contrastive_dynamics.numerics.run_defaults import torch_defaults
from experiments.alignment_and_balance import (
    ArmPlan, TwoStages, both_times, distance_from_limit, ends_without_negatives,
    first_time_at, group_means, misalignment_and_noise, nearly_equal_maps,
    one_temperature, power_with_and_without, require_sizes, train_arms, train_two_stages,
    unrelated_pairs,
)  # fmt: skip

# %% tags=["hide-input"]
chapter = open_chapter("alignment-and-balance", globals())
torch_defaults(chapter.device)
block, seed, rank = chapter.seeds, first_seed, len(sigma)
s_row = torch.tensor(sigma)[None]


def one_per_seed(purpose):
    """A generator for each seed of the block."""
    return streams(block, 1, purpose)


# %% [markdown]
# ## Two arrows per signal
#
# Below are four signals of different strength. For each of them the image encoder has an arrow and the caption encoder has one. The *angle* between the two says how far the encoders agree on this signal; the *length* says how strong the signal is beside the other signals. At the start the arrows of a pair have nothing to do with each other, and most of the output is noise.
#
# First the training only pulls positive pairs together. Guess before you press Play: when all pairs of arrows have closed, which signals will be long?

# %% tags=["hide-input"]
live_stages = [WideStage(3.0, None), WideStage(17.0, 2.0)]  # no negatives, then some
live_sigma = torch.tensor([[2.0, 1.6, 1.3, 1.0]])
live = wide_training(
    live_sigma, 0.8, 1000.0, live_stages, torch.linspace(0, 1, 101), 8.0
)
fig = plt.figure(figsize=(7.8, 4.6), layout="constrained")
dials, beside = fig.subfigures(1, 2, width_ratios=[1.45, 1])
moments = {0: "start", 100: "aligned,\nnot balanced", 200: "aligned\nand balanced"}
grid, shades = dials.subplots(3, 4), colours.ordered(4)
for line, (at, name) in zip(grid, moments.items(), strict=True):
    for p, (ax, shade) in enumerate(zip(line, shades, strict=True)):
        length = float((live.shares[at, 0, p] / live.shares[at, 0].sum()).sqrt())
        angle = math.acos(max(-1.0, min(1.0, float(live.agreement[at, 0, p]))))
        for turn, style in ((angle / 2, "-"), (-angle / 2, "--")):
            tip = length * math.sin(turn), length * math.cos(turn)
            ax.plot([0, tip[0]], [0, tip[1]], style, color=shade, lw=2.5)
        ax.set(xlim=(-0.7, 0.7), ylim=(-0.05, 1.05), xticks=[], yticks=[])
        ax.set_aspect("equal")
    line[0].set_ylabel(name)
for ax, size in zip(grid[0], live_sigma[0].tolist(), strict=True):
    ax.set_title(rf"$\sigma={size:g}$", weight="normal")
ax, clock = beside.subplots(), live.s[:, 0].cpu()
for p, shade in enumerate(shades):
    ax.plot(clock, live.shares[:, 0, p].cpu(), color=shade)
ax.plot(clock, live.noise_share[:, 0].cpu(), color=colours.GREY, ls=":")
ax.annotate("noise", (0.4, 0.9), color=colours.GREY)
ax.axvline(3, **colours.ASIDE)
ax.annotate(" negatives on", (3, 0.97))
ax.set(xlabel="time $t/d$", ylabel="share of the output", ylim=(0, 1.02))
fig.suptitle("Positive pairs close the arrows, negatives make them equal")
alt = "Four signals, an image and a caption arrow each. At the start the arrows of a pair stand at right angles. With positive pairs alone each pair closes and one signal is long. With negatives all four are closed and equally long. Beside them the shares of the output over time."
glue.explorable(fig, "arrows", alt)

# %% [markdown]
# With positive pairs alone all arrows close, and at <a href="#arrows:t=3">time 3</a> one signal has nearly everything. More noise makes it worse: raise the dimension $d$ to <a href="#arrows:t=100&amp;d=1000000">a million</a>, and still more of what the noise gives up goes to the strongest signal. Now <a href="#arrows:t=20&amp;on=3">switch the negatives on</a>. The lengths level, and the angles stay closed.
#
# **How to read this page.** Each result comes as an idea, a statement, the idea of its proof, a run, and a card with the verdict ([how a claim is judged](../book/judging.md)). A card also names a *control*: a plausible mistake that goes through the same code and has to fail. Most cards are in the [appendix](alignment-and-balance-appendix.ipynb); a [table of symbols](ab-symbols) is near the end. We found no public code of the authors, and our copy of the paper has lost its formulas. Each one here is restored from the words and the proofs around it. Those that can be checked are; the [appendix](ab-a-assumed) names the others.

# %% tags=["hide-input"]
# what the runs below need is checked before any work
chapter.check(require_sizes, 3, widths=widths, sizes=sizes, batches=batches)
chapter.check(require_sizes, 2, ranks=ranks, large_dims=large_dims)
chapter.check(require_sizes, 2, sgd_dims=sgd_dims, sgd_widths=sgd_widths)
scales = chapter.check(
    model_scales, torch.tensor(sigma), noise, dim, small_noise=True
).expand(seeds, dim)
signs = chapter.check(all_signs, rank, dim)
for d in sgd_dims:
    chapter.check(model_scales, torch.tensor(sigma), noise, d, small_noise=True)

# %% [markdown]
# ## The model
#
# A pair has two modalities, say an image and its caption. They share $r$ signals $z$, and each has noise of its own:
#
# $$
# \begin{aligned}
# x_A&=Az+A_\xi\xi_A,&x_B&=Bz+B_\xi\xi_B,\\
# z&\in\{\pm1/\sqrt d\}^r,&\xi_A,\xi_B&\in\{\pm1/\sqrt d\}^{d-r}.
# \end{aligned}
# $$ (ab-eq-data)
#
# All signs are fair and independent, and the columns of $A,A_\xi$ are orthogonal: those of $A$ have the lengths $\sigma_1\ge\dots\ge\sigma_r$, those of $A_\xi$ all have the length $\sigma_\xi$. So do those of $B,B_\xi$. The $\sigma_p$ may differ. A **positive pair** shares $z$; the two halves of a **negative pair** are drawn independently. The encoders are linear and their outputs are normalised on average over the data,
#
# $$
# f_A=W_A^\top x_A/N_A,\quad N_A^2=\mathbb E\lVert W_A^\top x_A\rVert^2,\qquad f_B=W_B^\top x_B/N_B,
# $$ (ab-eq-learner)
#
# with $m$ columns in $W_A$ and $W_B$, whose entries start as independent Gaussians of variance $1/m$. With an inverse temperature $\tau$ and a strength $K$ of the negatives the contrastive loss, equation (3) of the paper, is $\mathcal L=-\mathbb E[\log S_A+\log S_B]$,
#
# $$
# S_A=\frac{e^{\tau^2f_A^+\cdot f_B^+}}{e^{\tau^2f_A^+\cdot f_B^+}+K\,\mathbb E_{x_B^-}e^{\tau^2f_A^+\cdot f_B^-}},\qquad S_B\ \text{likewise over}\ x_A^- .
# $$ (ab-eq-loss)
#
# The loss of positive pairs alone, equation (4) of the paper, is $\hat{\mathcal L}=-\mathbb E f_A^+\cdot f_B^+$. Gradients of $\mathcal L$ are divided by $\tau^2$, as in the paper. A small $\tau$ means a soft contrast.
#
# ### What training sees
#
# Write $u_A=(z,\xi_A)$, $u_B=(z,\xi_B)$ for the signs of a pair and $\mathsf K_A=W_A^\top[A\ A_\xi]$ for the map from them to the output before normalisation. Its first $r$ columns are the paper's $K_A$, the others its $K_{A,\xi}$. Then $f_A\cdot f_B=u_A^\top Gu_B$ with the *correlation matrix*
#
# $$
# G=\mathsf K_A^\top\mathsf K_B/(N_AN_B),\qquad N_A^2=\lVert\mathsf K_A\rVert_F^2/d,
# $$ (ab-eq-correlation)
#
# and the loss depends on nothing else. The mean over negatives needs no sampling, because it factorises over the signs: $\mathbb E_{u_B}e^{\tau^2u_A^\top Gu_B}=\prod_j\cosh\bigl(\tau^2(G^\top u_A)_j/\sqrt d\bigr)$. What is left is a sum over the signs of a pair, up to a common sign: {glue:text}`ab-states:.0f` terms for the $r$ and $d$ of this page. So every loss and gradient below is exact unless we say otherwise.
#
# With $D=\operatorname{diag}(\sigma_1^2,\dots,\sigma_r^2,\sigma_\xi^2,\dots)$ and the *force* $M=-\tau^{-2}\,\partial\mathcal L/\partial G$ the gradient flow is (a ring: $d/dt$)
#
# $$
# \begin{aligned}
# \mathring{\mathsf K}_A&=\Bigl[\frac{\mathsf K_BM^\top}{N_AN_B}-\langle M,G\rangle\frac{\mathsf K_A}{dN_A^2}\Bigr]D,\\
# \mathring{\mathsf K}_B&=\Bigl[\frac{\mathsf K_AM}{N_AN_B}-\langle M,G\rangle\frac{\mathsf K_B}{dN_B^2}\Bigr]D,\\
# M&=\mathbb E\bigl[(1-S_A)\,u_A(u_B-t_A)^\top+(1-S_B)(u_A-t_B)u_B^\top\bigr],
# \end{aligned}
# $$ (ab-eq-flow)
#
# where $t_A=\tanh(\tau^2G^\top u_A/\sqrt d)/\sqrt d$ and $t_B=\tanh(\tau^2Gu_B/\sqrt d)/\sqrt d$, entry by entry. This is equation (5) of the paper. The positive pair pulls with $u_Au_B^\top$, the negatives push with their weighted mean $t_A$, and $\langle M,G\rangle$ comes from the normalisation. For positive pairs alone, equation (6) of the paper, the force is a constant,
#
# $$
# \hat M=\mathbb E[u_Au_B^\top]=\operatorname{diag}(1,\dots,1,0,\dots,0)/d .
# $$ (ab-eq-constant)
#
# The [appendix](ab-a-gradients) checks both against automatic differentiation, with all signs enumerated.

# %% [markdown]
# ```{strip}
# $(1-S_A)(u_B-t_A)$ for each pair | contrastive_force.force: attract_a =
# $M=\mathbb E[u_A\,(1-S_A)(u_B-t_A)^\top+\dots]$ | contrastive_force.force: total = total
# $\mathring{\mathsf K}_A$ without $D$ | two_modality_flow.velocity: move_a =
# $\mathring{\mathsf K}_B$ without $D$ | two_modality_flow.velocity: move_b =
# ```

# %% tags=["hide-input"]
glue.number("ab-states", len(signs.u_a))

# %% [markdown]
# ## Aligned is not balanced
#
# Two encoders may agree on every pair and say almost nothing. Agreement is one number; how many directions carry it is another.
#
# The paper defines both. Its **alignment** (Definition 4.1 of the paper) is "the accuracy of classifying whether the input pair is a positive pair": how often an anchor is closer to its own partner than to another one. The formula is lost in our copy. The words around it speak of distances ("close for positive pairs and far away from each other for negative pairs"), so we read it as the probability of $\lVert f_A^+-f_B^+\rVert<\lVert f_A^+-f_B^-\rVert$. The other natural reading compares products, $f_A^+\cdot f_B^+>f_A^+\cdot f_B^-$. Distances decide our verdicts; the [appendix](ab-a-readings) shows both, and where they differ. Ties do not count, so a constant output scores zero. A negative pair can share all $r$ signals by chance; we leave these cases out, so that a perfect score is one.
#
# The **balance** (Definition 4.2 of the paper) is $\lVert\Sigma\rVert_F^2/\lVert\Sigma\rVert_2^2$ with $\Sigma=\mathbb E[f_Af_A^\top]$. With $s_1\ge s_2\ge\dots$ the singular values of $\mathsf K_A$ it is $\sum_is_i^4/s_1^4$. It counts the directions that are as long as the longest: 1 to $r$ once the noise is gone.
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
# *Idea of the proof.* Let $K_A=K_B$ without noise. Then a positive pair is at distance 0, and a negative whose signal differs in the signs $Q$ at $2\sqrt{|Q|/d}\,s_r/N_A$ or more. Noise and differences well below $s_r$ cannot reverse that, and a bounded condition number keeps $s_r$ up. For balance, a condition number $C$ gives $\sum_is_i^4/s_1^4\ge1+(r-1)/C^4$; already $C=1.2$ may cost half of the balance.
#
# We draw maps with a condition number of ten, with orthogonal columns and with any, and with noises and differences of $10^{-4}$.

# %% [markdown]
# ```{strip}
# $\lVert f_A^+-f_B^+\rVert<\lVert f_A^+-f_B^-\rVert$, all signs | distance_alignment._distances: return
# balance $\sum_is_i^4/s_1^4$ | modality_scores.balance: return
# condition number $s_1/s_r$ of $K_A$ | modality_scores.condition_number: return
# ```

# %% tags=["hide-input"]
map_count, spread = 200, 10.0
draws = stream(seed, 0, "random maps")


def by_distance(a, b, r):
    """Alignment by distances where the negative has another signal, one a map."""
    return exact_alignment_by_distance(a, b, r, other_signal=True)


met = {
    (r, kind): nearly_equal_maps(
        map_count, r, spread, draws, orthogonal=kind == "orthogonal"
    )
    for r, kind in product((2, 3, 5), ("orthogonal", "any direction"))
}
close = {
    f"r={r}, {kind}": float(by_distance(*maps, r).min())
    for (r, kind), maps in met.items()
}
ill = nearly_equal_maps(  # noises of 10⁻⁴ as above, condition number 10⁴
    map_count, 3, 1e4, draws, orthogonal=True, size=0.01 * (1e4 / spread) ** 2
)
a_far, b_far = met[3, "any direction"]
too_bad = {
    "condition number 10⁴": float(by_distance(*ill, 3).min()),
    "unrelated modalities": float(by_distance(a_far, b_far.roll(1, 0), 3).min()),
}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-4.4", observed=close, control=too_bad)


# %% tags=["hide-input"]
def least_balance(r, condition):
    """Least balance over r: the first singular value is `condition`, others ≥ 1."""
    g = stream(seed, 0, f"balanced maps {r} {condition}")
    values = condition ** torch.rand(map_count, r, generator=g)
    values[:, 0], values[0, 1:] = condition, 1
    turn = torch.linalg.qr(torch.randn(map_count, r, r, generator=g)).Q
    return float(balance(turn * values[:, None]).min()) / r


near_one = {f"r={r}": least_balance(r, 1.01) for r in (2, 5, 20)}
far_from_one = {f"r={r}": least_balance(r, 2.0) for r in (5, 20)}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-4.5", observed=near_one, control=far_from_one)

# %% tags=["hide-input"]
examples = {
    "all equal": [1.0, 1, 1, 1],
    "one dwarfs the others": [100.0, 1, 1, 1],
    "one is lost": [1.0, 1, 1, 0],
}
placed = {
    "constant output": (float(alignment_by_distance(*torch.ones(2, 1, 9, 3))), 1.0)
}
for name, lengths in examples.items():
    example = torch.diag(torch.tensor(lengths))[None]
    placed[name] = float(by_distance(example, example, 4)), float(balance(example))

# a network before and after training with positive pairs alone, and after negatives
fresh = initial_maps(scales, 1600, one_per_seed("untrained"), rank)
whole_time = torch.tensor([0.0, time_first + time_second])
pulled = non_contrastive_flow(*fresh, scales, rank, whole_time)
pushed = contrastive_flow(
    pulled.map_a[-1], pulled.map_b[-1], scales, signs, whole_time, tau_second, negatives,
    rtol=1e-5,
)  # fmt: skip


def place(maps):
    """Mean alignment and balance of a set of networks."""
    return float(by_distance(*maps, rank).mean()), float(balance(maps[0]).mean())


way = [place(fresh), place((pulled.map_a[-1], pulled.map_b[-1]))]
way += [place((pushed.map_a[-1], pushed.map_b[-1]))]

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(6.6, 3.9), layout="constrained")
points = {
    "constant output": (*placed["constant output"], "o", (10, 0)),
    "one is lost": (*placed["one is lost"], "s", (-75, 6)),
    "one dwarfs\nthe others": (*placed["one dwarfs the others"], "P", (12, -4)),
    "all equal": (*placed["all equal"], "X", (12, -4)),
    "untrained": (*way[0], "D", (-65, 6)),
}
shades = colours.GREY, colours.BLACK, colours.POSITIVE["color"], None, colours.GREY
for (name, (x, y, mark, shift)), shade in zip(points.items(), shades, strict=True):
    colour = shade or colours.NEGATIVE["color"]
    ax.plot(x, y, mark, ms=11, color=colour)
    ax.annotate(name, (x, y), shift, textcoords="offset points", va="center")
arrow = dict(arrowstyle="-|>", lw=2)
kinds = colours.POSITIVE["color"], colours.NEGATIVE["color"]
words = ("positive pairs", (2, 8), "left"), ("negatives", (-8, 0), "right")
for start, end, ink, word in zip(way, way[1:], kinds, words, strict=False):
    ax.annotate("", end, start, arrowprops=arrow | {"color": ink})
    middle_of = [(x + y) / 2 for x, y in zip(start, end, strict=True)]
    text, shift, side = word
    how = dict(textcoords="offset points", color=ink, ha=side)
    ax.annotate(text, middle_of, shift, **how)
ax.set(xlim=(-0.05, 1.25), ylim=(0.6, 4.3), yticks=[1, 2, 3, 4])
ax.set(xlabel="alignment, by distances", ylabel="balance, of 4 signals")
ax.set_title("Agreeing is one axis, telling apart another")
glue.figure(fig, "ab-plot-plane")

# %% [markdown]
# ```{glue:figure} ab-plot-plane
# :alt: A plane of alignment against balance. A constant output lies at the lower left, a map in which one signal dwarfs the others at the lower right, a map of four equal signals at the upper right. An arrow leads from the untrained network to the right and down, another from there up.
# :name: ab-fig-plane
#
# Four maps of four signals, an untrained network, and two arrows: from there to the end of training with positive pairs alone, and on to the end with negatives. Look at the first arrow: it leads to the right and *down*. Positive pairs pay for alignment with balance, and at a larger $d$ they pay more. <a href="#arrows:t=20&on=3"></a>
# ```

# %% [markdown]
# :::{admonition} Quick question: can a map score well on alignment and badly on balance?
# :class: dropdown
#
# Yes. With two columns of lengths 100 and 1 every pair agrees, and the output has one direction.
# :::

# %% [markdown]
# ## Nine numbers are the whole network
#
# Random wide columns are nearly orthogonal, and training does not tilt them. So each signal is a length and an agreement, and all the noise is one more number: $2r+1$ numbers describe the network, nine for four signals.
#
# At infinite width the columns are orthogonal at the start, and equation (7) of the paper says that this stays so: $[K_A]_p$ remains orthogonal to all columns but its partner $[K_B]_p$. Then $\kappa_p^2=\lVert[K_A]_p\rVert^2$, $\hat\kappa_p^2=\langle[K_A]_p,[K_B]_p\rangle$ and the total noise $\kappa_\xi^2=\lVert K_{A,\xi}\rVert_F^2$ are the whole state. A signal is aligned if $\hat\kappa_p^2=\kappa_p^2$.
#
# ```{prf:lemma} A.7 of the paper, restored, with noise
# :label: ab-lem-a7
# :nonumber:
# Let $n^2=\sum_p\kappa_p^2+\kappa_\xi^2$, $g_p=\hat\kappa_p^2/n^2$, $T_p=\tanh(\tau^2g_p)$, $a=\sum_q(1-T_q)g_q$. Then for every pair $S_A=S_B=S$ with
#
# $$
# S=\frac{e^{\tau^2\sum_pg_p}}{e^{\tau^2\sum_pg_p}+K\prod_p\cosh(\tau^2g_p)} ,
# $$
#
# and
#
# $$
# \begin{aligned}
# \tfrac{d}{dt}\kappa_p^2&=4(1-S)\tfrac{\sigma_p^2}{n^2}\bigl[(1-T_p)\hat\kappa_p^2-a\,\kappa_p^2\bigr],\\
# \tfrac{d}{dt}\hat\kappa_p^2&=4(1-S)\tfrac{\sigma_p^2}{n^2}\bigl[(1-T_p)\kappa_p^2-a\,\hat\kappa_p^2\bigr],\\
# \tfrac{d}{dt}\kappa_\xi^2&=-4(1-S)\tfrac{\sigma_\xi^2}{n^2}\,a\,\kappa_\xi^2 .
# \end{aligned}
# $$ (ab-eq-wide)
#
# Without noise this is equation (8) of the paper. For positive pairs alone $4(1-S)$ is 2 and $T_p=0$.
# ```
#
# *Idea of the proof.* Let $G$ be diagonal. Flip one signal of an anchor and of its partner: neither $f_A^+\cdot f_B^+$ nor the mean over negatives changes. So $S$ is one number, and the force is diagonal, too, $2(1-S)(1-T_p)/d$ at signal $p$. The number $T_p$ is $2P_p-1$, where $P_p$ is the probability that a negative, as the loss weighs it, agrees with the anchor in signal $p$. If all negatives that count agree in $p$ anyway, $p$ tells nothing apart, and the pull on it is cancelled.

# %% [markdown]
# ```{strip}
# $1-S$ and $T_p$, from $g$ | infinite_width_flow.negative_factors: return
# $1-T_p-a$, the drive of $\kappa_p^2+\hat\kappa_p^2$ | infinite_width_flow._gap: return left
# rates of $\log(\kappa_p^2\pm\hat\kappa_p^2)$ and $\log\kappa_\xi^2$ | infinite_width_flow._log_rates: return
# ```


# %% [markdown]
# The [appendix](ab-a-gradients) checks these rates by enumeration. How far is a finite network from this curve? We train several widths, the widest of {glue:text}`ab-widest:.0f`, through both stages of the paper: a small $\tau$ first, then a larger one. A network of any width costs as much as one of $2d$ neurons, {glue:text}`ab-rows:.0f` here, since the width enters through the start alone.

# %% tags=["hide-input"]
plan = TwoStages(
    (tau_first, tau_second),
    negatives,
    (torch.linspace(0, time_first, 31), torch.linspace(0, time_second, 31)),
)
starts = [initial_maps(scales, m, one_per_seed(f"start {m}"), rank) for m in widths]
all_a, all_b = (torch.cat(x) for x in zip(*starts, strict=True))
every = scales.repeat(len(widths), 1)
path_a, path_b, _ = train_two_stages(all_a, all_b, every, signs, plan, rtol=1e-6)
middle = (len(widths) - 1) // 2
start_state = wide_start(s_row, noise, dim - rank)
spans = zip((time_first / dim, time_second / dim), plan.tau_squared, strict=True)
stages = [WideStage(*stage) for stage in spans]
wide = wide_training(s_row, noise, dim, stages, torch.linspace(0, 1, 31), negatives)
curve = WideState(*(dim * x for x in wide.state))
glue.number("ab-widest", max(widths))
glue.number("ab-rows", 2 * dim)


def by_width(values):
    """[..., width · seed] → [..., width, seed]."""
    return values.unflatten(-1, (len(widths), seeds))


# %% tags=["hide-input"]
# "there are τ": this run speaks of stage 2 where its τ is heard and its time is enough, e-foldings near balance
spread_of_sigma = sum(min(sigma) ** 2 / s**2 for s in sigma) / rank
foldings = float(balancing_rate(tau_second, negatives, rank)) * spread_of_sigma
settles, settles_far = foldings * time_second / dim >= 3, foldings * 30 >= 6
settles_ranks = all(
    float(balancing_rate(tau_second, negatives, r)) * (1 - 0.75 / r) * 3 * time_second
    >= 3 * (r + 2)
    for r in ranks
)

# %% tags=["hide-input"]
gaps = by_width(distance_from_limit(curve, path_a, path_b))
late = WideState(*(x[:-3] for x in curve))  # the curve, three points of time late
late_gaps = by_width(distance_from_limit(late, path_a[3:], path_b[3:]))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "lem-a7-a",
    observed=power_with_and_without(gaps, widths),
    control=fitted_power(late_gaps, widths),
)

# %% tags=["hide-input", "remove-output"]
fig, (left, right) = plt.subplots(1, 2, figsize=(7.8, 3.5), layout="constrained")
shown_widths, time_axis = [0, middle, len(widths) - 1], both_times(plan)
squares = path_a.square().sum(-2)[..., :rank].unflatten(1, (len(widths), seeds))
for p, shade in enumerate(colours.ordered(rank)):
    for k, style in zip(shown_widths, (":", "--", "-"), strict=True):
        left.plot(time_axis.cpu(), squares[:, k, 0, p].cpu(), style, color=shade, lw=1)
    left.plot(time_axis.cpu(), curve.kappa_squared[:, 0, p].cpu(), "k-", lw=0.6)
    at = -2, float(curve.kappa_squared[0, 0, p])
    left.annotate(rf"$\sigma={sigma[p]:g}$", at, ha="right", va="center", color=shade)
left.axvline(time_first, **colours.ASIDE)
left.text(time_first, 0.02, " stage 2", transform=left.get_xaxis_transform())
left.set(xlabel="time $t$", ylabel=r"$\kappa_p^2$", ylim=(0, None))
left.set_xlim(-0.28 * float(time_axis[-1]), None)
for k, style in zip(shown_widths, (":", "--", "-"), strict=True):
    left.plot([], [], style, color=colours.GREY, label=f"$m={widths[k]}$")
left.legend(loc="upper right")
low, high = (pick(gaps, -1).cpu() for pick in (torch.amin, torch.amax))
right.vlines(widths, low, high, colors=colours.GREY)
right.plot(widths, gaps.mean(-1).cpu(), "o", color=colours.BLACK)
first = float(gaps.mean(-1)[0])
guide = [first * (widths[0] / m) ** 0.5 for m in widths]
right.plot(widths, guide, **colours.THEORY, label="slope −½")
right.set(xscale="log", yscale="log", xlabel="width $m$", ylabel="distance")
right.legend()
nearer = gaps.mean(-1).cpu()
riding = (
    "Wide networks ride one curve"
    if nearer[-1] < nearer[0] / 2
    else f"At width {widths[-1]} still {float(nearer[-1]):.2g} off the curve"
)
fig.suptitle(riding, x=0.01, ha="left")
glue.figure(fig, "ab-plot-widths")

# %% [markdown]
# ```{glue:figure} ab-plot-widths
# :alt: Left, squared lengths of four signals over time for three widths beside the infinite width: they part in stage 1, the strongest rising highest, and meet in stage 2. Right, the distance to infinite width falls with slope minus one half in the width.
# :name: ab-fig-widths
#
# Left: the squared length of each signal, one seed; thin black lines are the infinite width. Look where the lines of small networks leave them. Right: the largest distance over both stages, mean over seeds, bars from the least to the largest. <a href="#arrows:t=20&on=3&d=8"></a>
# ```

# %% [markdown]
# ## Positive pairs alone: the strongest takes it all
#
# Alignment frees the share of the output that noise held, and the signals take it. Each grows exponentially, with an exponent proportional to its own $\sigma_p^2$, so the strongest is far ahead in the end. The more dimensions of noise there were, the farther.
#
# ```{prf:theorem} 4.3 of the paper, restored
# :label: ab-thm
# :nonumber:
# Let $\sigma_\xi<\sigma_{\min}$, $\sigma_{\max}^2/\sigma_{\min}^2\le c\log d$ and $r\le d^c$ for a small constant $c$, and let the network be sufficiently wide.
#
# (a) *Positive pairs alone.* There are such $\sigma$ for which training ends aligned but not balanced: the alignment score tends to one while the balance stays of order one.
#
# (b) *With negatives.* There are $\tau_1,\tau_2$ such that for every valid $\sigma$ training reaches, in polynomial time, a point that is aligned and balanced: the balance is of the order of $r$.
# ```
#
# *Idea of the proof of (a).* At infinite width put $u_p=\kappa_p^2+\hat\kappa_p^2$ and $w_p=\kappa_p^2-\hat\kappa_p^2$. With $d\theta=2\,dt/n^2$ and a dash for $d/d\theta$,
#
# $$
# (\log u_p)'=\sigma_p^2(1-a),\qquad(\log w_p)'=-\sigma_p^2(1+a),\qquad(\log\kappa_\xi^2)'=-\sigma_\xi^2a .
# $$ (ab-eq-logs)
#
# All $u_p$ share one clock, $\Theta=\int(1-a)\,d\theta$, so $u_p=\sigma_p^2e^{\sigma_p^2\Theta}$. And $\sum_p\kappa_p^2/\sigma_p^2+\kappa_\xi^2/\sigma_\xi^2=d$ is conserved, because outputs do not depend on the scale of the weights. At rest $w_p$ and $\kappa_\xi^2$ are 0, and one equation is left:
#
# $$
# \sum_pe^{\sigma_p^2\Theta_\infty}=2d,\qquad\frac{\kappa_1}{\kappa_r}\to\frac{\sigma_1}{\sigma_r}\,e^{(\sigma_1^2-\sigma_r^2)\Theta_\infty/2}.
# $$ (ab-eq-end)
#
# This exact end is ours; the paper shows that it is a power of $d$ (its Lemma B.17). With one $\sigma_{\max}$, the others $\sigma_{\min}$ and $r$ fixed, as $d\to\infty$,
#
# $$
# \frac{\kappa_1}{\kappa_r}\sim\frac{\sigma_{\max}}{\sigma_{\min}}\,(2d)^{\gamma},\qquad\gamma=\tfrac12\Bigl(1-\frac{\sigma_{\min}^2}{\sigma_{\max}^2}\Bigr).
# $$ (ab-eq-power)

# %% [markdown]
# ```{strip}
# $\mathring{\mathsf K}$ for a constant force $\hat M$ | two_modality_flow.non_contrastive_flow: return
# $u_p,w_p,\kappa_\xi^2$ at given $\Theta$ | infinite_width_flow.non_contrastive_solution: parts =
# $\gamma$ | infinite_width_flow.non_contrastive_exponent: return
# ```

# %% tags=["hide-input"]
a0, b0 = (x.unflatten(0, (-1, seeds))[middle] for x in (all_a, all_b))
condition = by_width(condition_number(path_a, rank))
second_row = condition[:, middle]

# %% [markdown]
# **How far?** Theorem 4.3 (a) of the paper speaks of large $d$. In the flow of positive pairs all noise columns shrink by one factor and may be lumped in one column of their total length. Then $d$ may be as large as we like, at any width. The family of $\sigma$ was chosen before the run: $\sigma_{\min}=1$, $\sigma_{\max}^2=2,4,9$, four signals, hence powers of ¼, ⅜ and 4⁄9. As a control we stop at $t/d=\tfrac12$, before the noise has left. Without noise $2d$ in {eq}`ab-eq-end` becomes $2r$, and $d$ has no effect: the crosses in the figure.


# %% tags=["hide-input"]
def collapse(s, d, m, with_noise=True, stop=math.inf):
    """Maps at the end of the flow of positive pairs alone, or at t/d = stop."""
    columns = d - len(s) if with_noise else 0.0
    draws = streams([seed], seeds, f"lumped {m}")
    return ends_without_negatives(s, [noise], [columns], m, draws, stop)


def powers(s, **how):
    ends = [collapse(s, d, 10**10, **how)[0] for d in sizes]
    conditions = torch.stack([condition_number(a, len(s)) for a in ends])
    exponent = non_contrastive_exponent(max(s), min(s))
    return conditions, fitted_power(conditions, sizes) / exponent


families = {f"σ²_max = {v}": [v**0.5, 1.0, 1.0, 1.0] for v in (2, 4, 9)}
grown = {name: powers(s) for name, s in families.items()}
quiet, _ = powers(families["σ²_max = 4"], with_noise=False)
too_early = {name: float(powers(s, stop=0.5)[1].max()) for name, s in families.items()}
shares = {
    f"{name}, {end}": float(pick(share))
    for name, (_, share) in grown.items()
    for end, pick in (("least", torch.min), ("largest", torch.max))
}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-b17", observed=shares, control=too_early)

# %% tags=["hide-input", "remove-output"]
every_d = torch.logspace(1, math.log10(sizes[-1]), 81)


def exact_condition(s):
    """The final condition number at every d, in closed form."""
    s = torch.tensor(s)[None].expand(len(every_d), -1)
    start = wide_start(s, noise, every_d - s.shape[-1])
    ends = non_contrastive_solution(start, s, noise, torch.tensor([math.inf]))
    return wide_condition_number(ends)[0].cpu()


fig, (left, right) = plt.subplots(1, 2, figsize=(7.8, 3.6), layout="constrained")
clock = torch.cat([torch.zeros(1), torch.logspace(-2, 1.5, 160)])
film = wide_flow(
    wide_start(s_row, noise, 1000 - rank), s_row, noise, 1000 * clock, None
)
parts = torch.cat([film.kappa_squared[:, 0], film.noise_squared], -1).cpu()
parts = parts / parts.sum(-1, keepdim=True)
fills = [*colours.ordered(rank), "0.85"]
left.stackplot(clock[1:].cpu(), parts[1:].T, colors=fills, lw=0)
for height, text, colour in (
    (0.3, rf"$\sigma={sigma[0]:g}$", "white"),
    (0.55, "noise", "k"),
):
    x = 6.0 if colour == "white" else 0.02
    left.text(x, height, text, color=colour)
left.set(xscale="log", xlabel="time $t/d$", ylabel="share of the output", ylim=(0, 1))
left.set_title("$d=1000$", weight="normal")
drawn = [(name, values) for name, (values, _) in grown.items()]
drawn += [("4, no noise", quiet)]
looks = zip(drawn, "os^x", (*colours.ordered(3), colours.BLACK), strict=True)
harder = all((values.mean(-1).diff() > 0).all() for values, _ in grown.values())
for (name, values), mark, shade in looks:
    mean, power = values.mean(-1).cpu(), float(fitted_power(values, sizes).mean())
    shown = name.removeprefix("σ²_max = ")
    power = round(power, 2) + 0.0  # no minus zero
    text = rf"$\sigma_{{\max}}^2=\,${shown}: $d^{{\,{power:.2f}}}$"
    right.plot(sizes, mean, mark, color=shade, label=text)
    if name in families:
        exact_line = exact_condition(families[name])
        right.plot(every_d.cpu(), exact_line, **colours.THEORY | {"color": shade})
right.legend(loc="upper left")
right.set(xscale="log", yscale="log", xlabel="dimension $d$", xlim=(10, None))
right.set_title("final condition number", weight="normal")
noisy = (
    "The more dimensions of noise, the harder the collapse"
    if harder
    else "More noise, but not always a harder collapse"
)
fig.suptitle(noisy, x=0.01, ha="left")
glue.figure(fig, "ab-plot-b17")

# %% [markdown]
# ```{glue:figure} ab-plot-b17
# :alt: Left, shares of the output over time at d of 1000: grey noise shrinks and one dark band takes nearly everything. Right, the final condition number rises as a straight line in the dimension on logarithmic axes for three sigmas, and stays flat without noise.
# :name: ab-fig-b17
#
# Positive pairs alone. Left, at $d=1000$: look at the dark band of the strongest signal swallow the grey one of the noise. Right, with other $\sigma$: the final condition number, marks for finite networks, dotted lines for the exact end {eq}`ab-eq-end`. Straight lines are powers of $d$, fitted from $10^4$ on. <a href="#arrows:t=100&d=1000"></a>
# ```
#
# A general bound: [appendix](ab-a-stage-1).

# %% [markdown]
# **Aligned, not balanced.** For the theorem itself we take $\sigma_{\max}^2=4$, $d=10^6$ and several numbers of signals, at the widths 100 and $10^{10}$. At rest no noise is left and $\mathsf K_A/N_A=\mathsf K_B/N_B$, so by distances every map of full column rank scores 1, at any $m\ge r$: networks of width 100 end aligned with a condition number of several hundred. Untrained networks score {glue:text}`ab-untrained:.2f`. As a control we exchange the signals of the caption encoder: its column $p$ becomes column $p+1$.


# %% tags=["hide-input"]
def one_large(r):
    return [2.0] + [1.0] * (r - 1)


collapsed_maps = {
    (r, m): collapse(one_large(r), 1e6, m) for r, m in product(ranks, (100, 10**10))
}


def signal_alignment(a, b, r):
    """By distances, from the signal columns: no noise is left at the end."""
    return by_distance(a[..., :r], b[..., :r], r)


ends_aligned = {
    f"r={r}, m={m:.0e}": float(signal_alignment(*maps, r).min())
    for (r, m), maps in collapsed_maps.items()
}
others = {
    f"r={r}": float(signal_alignment(a, b[..., :r].roll(1, -1), r).max())
    for (r, m), (a, b) in collapsed_maps.items()
    if m == 100
}
unbalanced = {
    f"r={r}, m={m:.0e}": float(balance(a).max())
    for (r, m), (a, _) in collapsed_maps.items()
}
for d in (1e4, 1e8):  # the trend in d, for four signals
    a, b = collapse(one_large(4), d, 100)
    ends_aligned[f"r=4, d={d:.0e}"] = float(signal_alignment(a, b, 4).min())
    unbalanced[f"r=4, d={d:.0e}"] = float(balance(a).max())
glue.number("ab-untrained", float(by_distance(a0, b0, rank).mean()))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-4.3a", observed=ends_aligned, control=others)

# %% [markdown]
# The balance is judged against [training with negatives](ab-levels): two stages, the largest width, and two noises.


# %% tags=["hide-input"]
def with_negatives(r, contrast=True, paired=True):
    """Both stages with r signals and two noises; control: no contrast, or no pairs."""
    scale = model_scales(torch.tensor(one_large(r)), noise, r + 2).expand(seeds, -1)
    maps = initial_maps(scale, widths[-1], one_per_seed(f"rank {r}"), r)
    spans = torch.tensor([0.0, time_first]), torch.tensor([0.0, 3 * time_second])
    if not contrast:
        for span in spans:
            path = non_contrastive_flow(*maps, scale, r, span)
            maps = path.map_a[-1], path.map_b[-1]
        return maps
    states = all_signs(r, r + 2)
    states = states if paired else unrelated_pairs(states)
    stages = TwoStages(plan.tau_squared, negatives, spans)
    a, b, _ = train_two_stages(*maps, scale, states, stages, rtol=1e-5)
    return a[-1], b[-1]


against = {
    r: with_negatives(r)
    for r in chapter.progress(ranks, "Theorem 4.3, numbers of signals")
}
plain = {r: with_negatives(r, contrast=False) for r in ranks}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-4.3a-1",
    observed=unbalanced,
    control=float(balance(against[ranks[-1]][0]).min()),
)

# %% [markdown]
# :::{admonition} Quick question: does more noise make the collapse worse? And larger noise of the same number of dimensions?
# :class: dropdown
#
# More noise dimensions make it worse, as their share is what the signals grow on. The size of the noise changes the time, not the end.
# :::

# %% [markdown]
# ## A small inverse temperature hears no negatives
#
# If $\tau^2$ is near 0, all negatives weigh alike, agree with the anchor as often as not, and cancel. The contrastive loss then *is* the loss of positive pairs, on another clock.
#
# ```{prf:lemma} B.9 of the paper, restored
# :label: ab-lem-b9
# :nonumber:
# The dynamics of stage 1 are those of the non-contrastive loss, up to a multiplicative constant and terms of higher order: $M=\frac{2K}{1+K}\hat M+O(\tau^2)$.
# ```
#
# *Idea of the proof.* For $\tau\to0$ every exponential is 1, so $S=1/(1+K)$ and $t_A=t_B=0$. What is left is $\frac{2K}{1+K}$ times the positive pair.

# %% tags=["hide-input"]
g_start = correlation(a0 + b0, a0 - 0.5 * b0)  # correlated maps
m_hat = non_contrastive_force(rank, dim)
factor = 2 * negatives / (1 + negatives)


def remainder(t):
    """Of the force, relative to the leading term, one a seed."""
    m = contrastive_force(g_start, signs, t, negatives)
    return (m / factor - m_hat).norm(dim=(-2, -1)) / m_hat.norm()


limit, heard = float(remainder(1e-9).max()), float(remainder(1.0).min())

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-b9", observed=limit, control=heard)

# %% tags=["hide-input", "remove-output"]
soft_taus = [0.01, 0.1, 0.3, 1.0]
clock = torch.linspace(0, 3, 121)
plain_line = wide_flow(start_state, s_row, noise, dim * clock, None)
fig, ax = plt.subplots(figsize=(6.6, 3.6), layout="constrained")
plain_condition, moved_by = wide_condition_number(plain_line)[:, 0], []
for t, shade in zip(soft_taus, colours.ordered(len(soft_taus)), strict=True):
    soft = wide_flow(start_state, s_row, noise, dim * clock / factor, t, negatives)
    moved_by.append(
        float((wide_condition_number(soft)[:, 0] / plain_condition - 1).abs().max())
    )
    line = wide_condition_number(soft)[:, 0].cpu()
    ax.plot(clock.cpu(), line, "--", color=shade, label=rf"$\tau^2={t:g}$")
line = plain_condition.cpu()
alone = {"color": colours.POSITIVE["color"], "lw": 2, "zorder": 1}
ax.plot(clock.cpu(), line, **alone, label="positive pairs alone")
ax.set(xlabel="time $t/d$ of positive pairs", ylabel="condition number of $K_A$")
ax.legend()
silenced = moved_by == sorted(moved_by) and moved_by[0] < 0.05
ax.set_title(
    r"Turn $\tau$ down and the negatives fall silent"
    if silenced
    else rf"At $\tau^2={soft_taus[0]:g}$ negatives still move it by {moved_by[0]:.0%}"
)
glue.figure(fig, "ab-plot-silent")

# %% [markdown]
# ```{glue:figure} ab-plot-silent
# :alt: The condition number over time at infinite width. Dashed lines of the contrastive loss at four temperatures approach, from below, the solid line of positive pairs alone as the inverse temperature falls.
# :name: ab-fig-silent
#
# Infinite width. Look at the dashed lines close on the solid one as $\tau^2$ falls. The contrastive loss is faster by $2K/(1+K)$; its clock is scaled to match. <a href="#arrows:t=3&on=0&tau=0.125"></a>
# ```
#
# **What stage 1 brings.** By its end the signals are aligned and little noise is left. What grows meanwhile is the condition number, and the error of a finite width. The paper's tool couples both to the progress made.
#
# ````{prf:lemma} 5.2 and B.2 of the paper, restored
# :label: ab-lem-gronwall
# :nonumber:
# ```{claim} lem-5.2
# ```
# ````
#
# *Idea of the proof.* $dY/Y=-(b/c)\,dX$, whatever $A_t$ is. Integrate. Neither the time nor the rate occurs in the bound $Y_0e^{bX_0/c}$: what grows can only grow while there is progress to be made. The [appendix](ab-a-gronwall) runs it.

# %% [markdown]
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
# There, under the assumptions of Theorem 4.3 of the paper, the condition number of $K_A$ is bounded by a power of $d$, and there are $\sigma$ for which it grows as a power of $d$.
# ````
#
# Noise, time, width and the bound are judged in the [appendix](ab-a-stage-1).

# %% tags=["hide-input"]
aligned = by_width(column_alignment(path_a, path_b, rank).amin(-1))[:, middle]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-5.1", observed=aligned[30], control=aligned[6])

# %% [markdown]
# :::{admonition} Quick question: what is the mean over all negatives if each weighs the same?
# :class: dropdown
#
# Zero: negatives agree with the anchor as often as not.
# :::

# %% [markdown]
# (ab-levels)=
# ## Negatives level the columns, whatever σ is
#
# With a larger $\tau$ the loss listens to negatives that look like the anchor. They look like it because they agree with it in its long columns. So they cancel the pull on the long columns and leave the short ones free to grow, until all columns are taxed alike.
#
# ````{prf:lemma} 5.3 and C.1 of the paper, restored
# :label: ab-lem-stage2
# :nonumber:
# Throughout stage 2 the finite width follows the infinite one, and the alignment and the small noise of stage 1 are kept.
#
# ```{claim} lem-5.3
# ```
# ````
#
# *Idea of the proof.* For aligned maps without noise, $\hat\kappa_p=\kappa_p$ and $\kappa_\xi=0$,
#
# $$
# \tfrac{d}{dt}\log\kappa_p^2=4(1-S)\tfrac{\sigma_p^2}{n^2}\,(\bar T-T_p),\qquad\bar T=\sum_qg_qT_q .
# $$ (ab-eq-second)
#
# A column grows if its $T_p$ is below the mean and shrinks if it is above. The strength $\sigma_p$ sets only its speed. Since $\tanh$ is increasing, $T_p=\bar T$ for all $p$ means equal lengths. Other points of rest, with some columns at zero, are unstable ([an exercise](ab-ex-rest)). Watch <a class="again" href="#arrows:t=3&amp;on=3">the arrows, with negatives from time 3 on</a>.

# %% tags=["hide-input"]
middle_a, middle_b = (x.unflatten(1, (-1, seeds))[:, middle] for x in (path_a, path_b))
second_times = plan.times[1]
goes_on = non_contrastive_flow(
    middle_a[30], middle_b[30], scales, rank, second_times[::30]
)
only_condition = condition_number(goes_on.map_a[-1], rank)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "lem-5.3", observed=second_row[-1], control=only_condition, regime=settles
)

# %% [markdown]
# **The sizes that the theorem speaks of.** At infinite width a large $d$ costs nothing. We train both stages at $d=50$, $10^3$ and $10^6$: stage 1 lasts $3d$, stage 2 lasts $30d$. The control stays at the small $\tau$ of stage 1.

# %% tags=["hide-input"]
drawn_dims = torch.tensor([float(dim), *large_dims])
many_rows, fine = s_row.expand(len(drawn_dims), -1), torch.linspace(0, 1, 151)


def trained_at_large_d(first, second):
    """3d with one τ², then 30d with another, at infinite width; None: no negatives."""
    two = [WideStage(3.0, first), WideStage(30.0, second)]
    return wide_training(many_rows, noise, drawn_dims, two, fine, negatives, rtol=1e-8)


large, alone = trained_at_large_d(*plan.tau_squared), trained_at_large_d(None, None)
stay = trained_at_large_d(tau_first, tau_first)


def ends_by_dim(path):
    return {
        f"d={d:g}": float(x)
        for d, x in zip(large_dims, path.condition[-1, 1:], strict=True)
    }


# %% tags=["hide-input"]
half_way = WideState(*(x[len(fine) - 1] for x in large.state))
rest_of_time = 30 * fine, tau_second, negatives
back = 3 + settling_time(
    half_way, many_rows, noise, *rest_of_time, level=1.05, rtol=1e-8
)
ready = first_time_at(misalignment_and_noise(alone), alone.s, 0.01)
for k, peak in enumerate(large.condition.amax(0)[1:4].tolist()):
    glue.number(f"ab-peak-{k}", peak)
    glue.number(f"ab-back-{k}", float(back[k + 1]))
    glue.number(f"ab-ready-{k}", float(ready[k + 1]))
glue.number(
    "ab-aligned-digits",
    math.floor(-math.log10(max(1e-15, float(1 - large.agreement[-1].amin())))),
)
glue.number(
    "ab-noise-left", 1e6 * float((large.noise_share / large.shares.sum(-1))[-1].max())
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-4.3b-4",
    observed=ends_by_dim(large),
    control=ends_by_dim(stay),
    regime=settles_far,
)

# %% [markdown]
# The condition number rises to {glue:text}`ab-peak-0:.1f`, {glue:text}`ab-peak-1:.0f` and {glue:text}`ab-peak-2:.0f`, and is below 1.05 again at $t/d=$ {glue:text}`ab-back-0:.1f`, {glue:text}`ab-back-1:.1f` and {glue:text}`ab-back-2:.1f`. The time is linear in $d$, with a factor that grows as the logarithm of the peak. At the end $\hat\kappa_p^2/\kappa_p^2$ is one to {glue:text}`ab-aligned-digits:.0f` decimals, and noise is at most {glue:text}`ab-noise-left:.1f` millionths of the signal.
#
# **The best of all.** The paper says that training converges to "a nearly optimal solution". Indeed an aligned, balanced map without noise has the least loss of *all* linear encoders ([proof](ab-a-best)): the loss is convex in $G$, and a mean over all flips of signs and exchanges of signals makes $G$ a multiple of $\operatorname{diag}(1,\dots,1,0,\dots,0)$ without raising it.
#
# We compare the loss at the end with this least one; a [search](ab-a-best) over all maps finds nothing below it.

# %% tags=["hide-input"]
equal_shares = torch.full((1, rank), 1 / rank)
least_loss = -2 * (-negative_factors(equal_shares, tau_second, negatives)[0]).log1p()


def excess_loss(path):
    """Loss at the end over the least one, minus 1, by dimension."""
    g = path.shares[-1, 1:] * path.agreement[-1, 1:]
    loss = -2 * (-negative_factors(g, tau_second, negatives)[0]).log1p()
    excess = (loss / least_loss - 1).tolist()
    return {f"d={d:g}": x for d, x in zip(large_dims, excess, strict=True)}


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-4.3b-5",
    observed=excess_loss(large),
    control=excess_loss(alone),
    regime=settles_far,
)

# %% [markdown]
# **One $\tau$ throughout.** The two stages are "mainly for technical purposes", the paper says, and "In our setting, similar stage-wise behavior can still be observed when using a uniform" $\tau$. The last row of the figure shows a rise and a fall at every $\tau$ that we tried, from $d=50$ on. But only the soft contrast on the left has signals aligned *and quiet* at the peak, as equation (9) of the paper asks: at $\tau^2=4$ and 10, from $d=50$ on, there is still more noise than signal ([appendix](ab-a-uniform)).

# %% tags=["hide-input"]
uniform_taus = [0.3, 4.0, 10.0]
cases, uniform = one_temperature(
    s_row, noise, drawn_dims.tolist(), uniform_taus, negatives
)


# %% tags=["hide-input", "remove-output"]
def in_tens(x):  # 10^6 for a million
    return f"{x:g}" if x < 1e4 else ScalarFormatter(useMathText=True).format_data(x)


fig, axes = plt.subplots(3, 3, figsize=(7.8, 6.6), sharex="row", layout="constrained")
for upper, lower in zip(axes[0], axes[1], strict=True):
    lower.sharey(upper)
styles = ["--", ":", "-.", "-"] * len(drawn_dims)
looks = list(zip(styles, colours.ordered(len(drawn_dims)), strict=False))
rows = (alone, "positive pairs\nalone"), (large, "with negatives")
for line, (path, name) in zip(axes, rows, strict=False):
    ratio_of = path.noise_share / path.shares.sum(-1)
    for ax, value in zip(
        line, (path.agreement.amin(-1), ratio_of, path.condition), strict=True
    ):
        for k, (style, shade) in enumerate(looks):
            label = f"$d={in_tens(float(drawn_dims[k]))}$"
            x, y = path.s[:, k].cpu(), value[:, k].cpu()
            ax.plot(x, y, style, color=shade, label=label)
    line[0].set_ylabel(name)
    for ax in line:
        ax.axvline(3, **colours.ASIDE)
for ax, t in zip(axes[2], uniform_taus, strict=True):
    for k, (style, shade) in enumerate(looks):
        at = cases.index((t, float(drawn_dims[k])))
        ax.plot(
            uniform.s[1:, 0].cpu(), uniform.condition[1:, at].cpu(), style, color=shade
        )
    ax.set(xscale="log", yscale="log", xlabel="$t/d$")
    ax.set_title(rf"one $\tau^2={t:g}$", weight="normal", fontsize=10)
axes[2, 0].set_ylabel("condition number")
titles = r"least $\hat\kappa_p^2/\kappa_p^2$", "noise / signal", "condition number"
for k, title in enumerate(titles):
    axes[0, k].set_title(title, weight="normal", fontsize=10)
for ax in axes[:2, 1:].flat:
    ax.set_yscale("log")
for ax in axes[1]:
    ax.set_xlabel("$t/d$")
axes[0, 0].legend()
peak = float(large.condition.max())
down_to = float(large.condition[-1].max())
back = "back to one" if down_to < 1.05 else f"down to {down_to:.2g}"
fig.suptitle(f"Up to {peak:.0f}, and {back}", x=0.01, ha="left")
glue.figure(fig, "ab-plot-fig-1")

# %% [markdown]
# ```{glue:figure} ab-plot-fig-1
# :alt: Three rows of three panels. Alignment rises to one and noise falls with and without negatives, at four dimensions. The condition number rises with the dimension; without negatives it stays, with them it falls to one. In the last row, with one temperature throughout, it also rises and falls at large dimensions, the higher the larger the dimension; at d of 8 and a sharp contrast it only falls.
# :name: ab-fig-1
#
# Two stages at infinite width; the grey line is where $\tau$ is raised. Look at the last column: the condition number rises with $d$, stays there without negatives and with them comes back to one. This is what we infer of Figure 1 of the paper, which our copy lacks. Last row: one $\tau$ throughout. The sharper the contrast, the lower the peak. <a href="#arrows:t=20&on=3"></a>
# ```

# %% [markdown]
# **Theorem 4.3 (b) of the paper.** Now the number of signals: with negatives the balance should grow as $r$. These runs are small, $d=r+2$, with one $\sigma$ for each $r$ and one width; a hundred random $\sigma$ and a start from a deep collapse are in the [appendix](ab-a-uniform).

# %% tags=["hide-input"]
unpaired_ends = with_negatives(ranks[0], paired=False)


def scores(found, of, pick):
    return {f"r={r}": float(pick(of(a, b, r))) for r, (a, b) in found.items()}


def power_of_rank(found):
    values = torch.stack([balance(a) for a, _ in found.values()])
    return fitted_power(values, [float(r) for r in found])


def condition_of(a, b, r):
    return condition_number(a, r)


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-4.3b",
    observed=scores(against, by_distance, torch.min),
    control=float(by_distance(*unpaired_ends, ranks[0]).min()),
    regime=settles_ranks,
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-4.3b-1",
    observed=power_of_rank(against),
    control=power_of_rank(plain),
    regime=settles_ranks,
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-4.3b-2",
    observed=scores(against, condition_of, torch.max),
    control=scores(plain, condition_of, torch.min),
    regime=settles_ranks,
)

# %% [markdown]
# ## How fast: near the end a sharp contrast is slow
#
# Is a larger $\tau$ better? Too soft, and all negatives weigh alike. Too sharp, and every $T_p$ is 1: no difference between long and short columns is left to act on. Guess, then move $\tau^2$: <a class="again" href="#arrows:t=3&amp;on=0&amp;tau=16">the arrows at a sharp contrast, negatives from the start</a>.
#
# In stage 2 the condition number falls at a guaranteed rate (Lemma C.19 of the paper) and is close to one in a polynomial time (Corollary C.20): both are in the [appendix](ab-a-rate).

# %% [markdown]
# **$K$ sets the pace, not the path.** At infinite width all rates in {eq}`ab-eq-wide` share the factor $1-S$, the only place where $K$ occurs. So at one $\tau$ any $K$ takes the same path at another pace (a claim of the [appendix](ab-a-uniform)).
#
# **Which temperature is best?** The paper leaves it open. Near balance the imbalance decays at a rate proportional to $(1-S)\,y\,/\cosh^2(y/r)$ with $y=\tau^2$. The factor $y$ favours a sharp contrast, $\cosh^{-2}$ punishes it once $y>r$, and $1-S$ falls from $K/(K+1)$ towards $K/(K+2^r)$ as a sharper contrast finds fewer negatives that resemble the anchor. With many signals $1-S=K/(K+e^y)$, and setting the derivative to zero gives $1/y=e^y/(K+e^y)$, that is $(y-1)e^{y-1}=K/e$:
#
# $$
# \tau^2_*=1+W(K/e),
# $$ (ab-eq-best)
#
# where $W$ is Lambert's function, the inverse of $x\mapsto xe^x$. With many signals the best $\tau^2$ grows with the logarithm of $K$; with few it stops at $0.77\,r$. All this is near balance, for a fixed $\tau$, and for gradients divided by $\tau^2$. From a deep collapse a sharper contrast is faster at first. We compare {eq}`ab-eq-best` with the rate of the flow itself, for a thousand signals.

# %% tags=["hide-input"]
strengths = [8.0, 127.0, 1023.0]
fine_taus = torch.logspace(-0.5, 1.3, 3601)


def decay_near_balance(taus, k, r=1000):
    """The rate at which a small imbalance of r equal signals decays, one a τ²."""
    square = torch.ones(len(taus), r)
    square[:, 0] += 1e-6
    state = WideState(square, square, torch.zeros(len(taus)))
    moved = wide_velocity(state, torch.ones_like(square), 0.0, taus, k).kappa_squared
    return -(moved[:, 0] / square[:, 0] - moved[:, 1]) / 1e-6


fastest = {
    k: float(fine_taus[decay_near_balance(fine_taus, k).argmax()]) for k in strengths
}
best = {
    f"K={k:g}": abs(fastest[k] / best_tau_squared_many_signals(k) - 1)
    for k in strengths
}
forgot = {  # W(K) in place of W(K/e)
    f"K={k:g}": abs(fastest[k] / best_tau_squared_many_signals(math.e * k) - 1)
    for k in strengths
}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("best-tau", observed=best, control=forgot)

# %% tags=["hide-input"]
heads = "K", "flow, r = 1000", "1 + W(K/e)", "exact, r = 4", "exact, r = 10"
print(*(f"{x:>14}" for x in heads))
for k in strengths:
    exact_best = (best_tau_squared(k, r) for r in (4, 10))
    shown = fastest[k], best_tau_squared_many_signals(k), *exact_best
    print(f"{k:14g}", *(f"{x:14.2f}" for x in shown))

# %% tags=["hide-input"]
race_taus, race_ranks = 12 * 2 ** (torch.arange(-22, 3) / 4), [4, 10, 20, 40]


def time_to_level(r, k):
    """t/Σκ² until κ_1/κ_r ≤ 1.1 from one column five times as long, one a τ²."""
    equal_sigma = torch.ones(len(race_taus), r)
    begin = aligned_state(equal_sigma, 25.0, lost=r - 1)
    return balancing_time(begin, equal_sigma, race_taus, k, 1.21, rtol=1e-6)


races = {(r, k): time_to_level(r, k) for r in race_ranks for k in (8.0, 127.0)}

# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(1, 2, figsize=(7.8, 3.5), sharey=True, layout="constrained")
for ax, k in zip(axes, (8.0, 127.0), strict=True):
    for r, shade in zip(race_ranks, colours.ordered(len(race_ranks)), strict=True):
        when = races[r, k].cpu()
        ax.plot(race_taus.cpu(), when, color=shade, label=f"$r={r}$")
        low = int(when.argmin())
        ax.plot(float(race_taus[low]), float(when[low]), "o", color=shade)
        ax.axvline(best_tau_squared(k, r), color=shade, lw=0.7, ymax=0.06)
    ax.axvline(best_tau_squared_many_signals(k), **colours.THEORY, label="$1+W(K/e)$")
    ax.set(xscale="log", yscale="log", xlabel=r"$\tau^2$")
    ax.set_title(f"$K={k:g}$", weight="normal")
axes[0].set_ylabel(r"time to 1.1, over $\sum_p\kappa_p^2$")
axes[0].legend()
fig.suptitle("One best temperature, and a cliff on the sharp side", x=0.01, ha="left")
glue.figure(fig, "ab-plot-tau")
slow = races[4, 8.0][(race_taus - 12).abs().argmin()] / races[4, 8.0].min()
glue.number("ab-slow", float(slow))

# %% [markdown]
# ```{glue:figure} ab-plot-tau
# :alt: Time to level against the squared inverse temperature, for 4 to 40 signals and two strengths of the negatives: each line has one minimum, near the dotted line of the formula, and rises steeply to the right.
# :name: ab-fig-tau
#
# From one column five times as long as the others until the ratio is 1.1, at infinite width. Look at the minima (dots): for many signals they lie near the dotted line {eq}`ab-eq-best`; for four signals and $K=127$ a third to the left of it. Ticks at the bottom are the exact best near balance for each $r$. Then look right: with four signals and $K=8$, $\tau^2=12$ takes {glue:text}`ab-slow:.0f` times as long as the best. <a href="#arrows:t=3&on=0&tau=16"></a>
# ```

# %% [markdown]
# :::{admonition} Quick question: which $\tau^2$ levels soonest at $d=1000$ and $K=8$ if negatives are on from the start: 0.5, 1, 2, 4 or 8?
# :class: dropdown
#
# About 4; near balance it is 2. A smaller one hears no negatives, a larger one no differences.
# :::

# %% [markdown]
# ## The algorithm itself: mini-batches, few neurons
#
# Appendix D of the paper says that the results carry over to gradient descent with mini-batches (its Algorithm 3.1) if the learning rate is small and the batches are large, both polynomially. The [appendix](ab-a-descent) fits both powers. Here we run the algorithm whole: fresh batches of {glue:text}`ab-sgd-batch:.0f` pairs, real noise columns, both stages, both losses. The learning rate is $d/80$; stage 1 has 240 steps, stage 2 has 960, and without negatives all 1,200 use positive pairs. We vary $d$ and the width $m$, down to one neuron per signal.

# %% [markdown]
# ```{strip}
# $S_A$ and the weighted negatives, over a batch | two_modality_descent.batch_force: attract =
# one step, $\mathsf K_A\leftarrow\mathsf K_A+\eta\mathring{\mathsf K}_A$ | two_modality_descent.descend: map_a, map_b =
# ```

# %% tags=["hide-input"]
each = list(product((True, False), sgd_widths, range(sgd_seeds)))
contrast = torch.tensor([c for c, _, _ in each])
two_stages = [DescentStage(240, tau_first), DescentStage(960, tau_second)]


def algorithm(d):
    """Ends of Algorithm 3.1, both losses, maps [loss · width · seed, m, d]."""
    scale = model_scales(torch.tensor(sigma), noise, d).expand(len(each), -1)
    begun = [stream(seed, k, f"sgd {d} {m}") for _, m, k in each]
    drawn_widths = [m for _, m, _ in each]
    maps = initial_maps_of_widths(scale, drawn_widths, begun, rank)
    draws = [stream(seed, k, f"sgd batches {d} {m}") for _, m, k in each]
    how = dict(step_size=d / 80, batch=sgd_batch, negatives=negatives, keep=[1200])
    a, b = two_stage_descent(*maps, scale, rank, draws, two_stages, contrast, **how)
    return a[0], b[0]


def by_loss(values):
    """[loss · width · seed] → with negatives or not: [width, seed]."""
    parts = values.view(2, len(sgd_widths), sgd_seeds)
    return dict(zip((True, False), parts, strict=True))


glue.number("ab-sgd-batch", sgd_batch)
sgd = {d: algorithm(d) for d in chapter.progress(sgd_dims, "Algorithm 3.1")}
sgd_condition = {d: by_loss(condition_number(a, rank)) for d, (a, _) in sgd.items()}
sgd_balance = {d: by_loss(balance(a, rank) / rank) for d, (a, _) in sgd.items()}

# %% tags=["hide-input"]
paired = [k for k, m in enumerate(sgd_widths) if m >= 2 * rank]  # two neurons a signal


def of_enough(values, contrast):
    """Of the runs with so many neurons, one a start."""
    return {
        f"d={d}, m={sgd_widths[k]}": values[d][contrast][k]
        for d in sgd_dims
        for k in paired
    }


def sgd_alignment(d, a, b):
    """By distances, on 400 pairs with their noise; the negative has another signal."""
    u_a, u_b = (
        u[0] for u in sample_signs(rank, d, 400, [stream(seed, 0, f"pairs {d}")])
    )
    f_a, f_b = (
        u @ (k / torch.linalg.matrix_norm(k, keepdim=True)).mT
        for u, k in ((u_a, a), (u_b, b))
    )
    return by_loss(alignment_by_distance(f_a, f_b, u_a[:, :rank] > 0))


def exchanged(b):
    """Signal p of the caption encoder in the place of signal p + 1."""
    return torch.cat([b[..., :rank].roll(1, -1), b[..., rank:]], -1)


sgd_aligned = {d: sgd_alignment(d, a, b) for d, (a, b) in sgd.items()}
strangers = {d: sgd_alignment(d, a, exchanged(b)) for d, (a, b) in sgd.items()}
aligned_both = {
    f"{'with' if c else 'without'}, {name}": v
    for c in (True, False)
    for name, v in of_enough(sgd_aligned, c).items()
}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("alg-3.1", observed=aligned_both, control=of_enough(strangers, True))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "alg-3.1-a",
    observed=of_enough(sgd_balance, True),
    control=of_enough(sgd_balance, False),
    regime=settles_far,
)

# %% tags=["hide-input"]
print("final condition number, mean ± standard deviation over starts")
print(f"{'d':>4} {'m':>5} {'with negatives':>18} {'without':>18}")
for d, (k, m) in product(sgd_dims, enumerate(sgd_widths)):
    pair_of = (sgd_condition[d][c][k] for c in (True, False))
    shown = (f"{float(x.mean()):.2f} ± {float(x.std()):.2f}" for x in pair_of)
    print(f"{d:4} {m:5}", *(f"{x:>18}" for x in shown))

# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(
    1, len(sgd_dims), figsize=(7.8, 3.5), sharey=True, layout="constrained"
)
looks = (
    (True, colours.NEGATIVE, "with negatives", 0.93),
    (False, colours.POSITIVE, "positive pairs alone", 1.07),
)
for ax, d in zip(np.atleast_1d(axes), sgd_dims, strict=True):
    for with_them, look, name, shift in looks:
        for k, m in enumerate(sgd_widths):
            x = [shift * m] * sgd_seeds
            y = sgd_condition[d][with_them][k].cpu()
            mark = look | {"linestyle": "none", "ms": 5, "alpha": 0.7}
            ax.plot(x, y, **mark, label=name if k == 0 else None)
    wide_end = non_contrastive_solution(
        wide_start(s_row, noise, d - rank), s_row, noise, torch.tensor([math.inf])
    )
    ax.axhline(float(wide_condition_number(wide_end)), **colours.THEORY)
    ax.axhline(1, **colours.ASIDE)
    ax.set(xscale="log", yscale="log", xlabel="width $m$")
    ax.set_xticks(sgd_widths, sgd_widths)
    ax.set_xticks([], minor=True)
    ax.set_title(f"$d={d}$", weight="normal")
axes[0].set_ylabel("final condition number")
axes[-1].legend()
off_balance = {
    key: float(v.mean()) for key, v in of_enough(sgd_condition, True).items()
}
least_balanced = max(off_balance, key=off_balance.get)
title = (
    f"A few neurons and batches of {sgd_batch} already balance"
    if off_balance[least_balanced] < 1.5
    else f"With negatives a condition number of {off_balance[least_balanced]:.2g} at {least_balanced}"
)
fig.suptitle(title, x=0.01, ha="left")
glue.figure(fig, "ab-plot-sgd")

# %% [markdown]
# ```{glue:figure} ab-plot-sgd
# :alt: Final condition number against the width for several dimensions. With negatives the points lie near one from eight neurons on; without them they lie around the exact end, and above it with the fewest neurons.
# :name: ab-fig-sgd
#
# Algorithm 3.1 of the paper with mini-batches; one point per start. Look at the pink points: near one from eight neurons on, two for each signal. Dotted: where positive pairs alone end at infinite width. With four neurons the columns start nearly dependent; negatives mostly mend that, positive pairs alone make it worse.
# ```

# %% [markdown]
# ## Three layers and real encoders
#
# What follows is a stand-in for Figure 2 of the paper, with a sample of its photographs and smaller encoders, and decides nothing about it; on our photographs with human captions a constant answer beats every arm. The paper freezes a RoBERTa and a ResNet101, puts three fully-connected layers with batch norm on each and trains these on MSCOCO-2014 {cite}`lin-2014` (its Section 6). An image gets the prompt "This is a [LABEL_NAME]" of highest correlation, and this is right if it names *any* object in the image. Our text says only that the experiments support the theory, so the row below is inferred.
#
# By default the pairs are *generated*: pictures of one to four of twelve objects, with captions that name most of them, through fixed random features. The [record](ab-record) reads photographs; with human captions 130 are left for the test. One arm has $\tau^2=0.01$: by Lemma B.9 of the paper such negatives should do nothing. The control has $\tau^2=10$ and captions of other images.

# %% tags=["hide-input"]
train, test = chapter.check(
    image_caption_pairs, data, scenes, seed, chapter.device, chapter.progress
)
arms = {"no negatives": None, "τ² = 0.01": 0.01, "τ² = 1": 1.0, "τ² = 10": 10.0}
marks = sorted({m for m in (0, 10, 30, 100, 200) if m < head_steps} | {head_steps})
shared = ArmPlan(seed, head_seeds, head_width, marks)


def watch(snapshots):
    return chapter.progress(snapshots, "Figure 2", len(marks))


found = train_arms(train, test, train.captions, list(arms.values()), shared, watch)
mixed = torch.randperm(len(train.images), generator=stream(seed, 0, "mixed captions"))
mixed_up = train_arms(train, test, train.captions[mixed], [10.0], shared, watch)
constant = float(best_constant_answer(test.labels))
glue.number("ab-head-seeds", head_seeds)
glue.number("ab-constant", constant)
final = {
    k: dict(zip(arms, v if k.endswith("groups") else v[-1], strict=True))
    for k, v in found.items()
}

# %% tags=["hide-input", "remove-output"]
panels = {  # what is drawn: its label, and each image's part of it
    "accuracy": ("zero-shot accuracy", "right"),
    "distances": ("alignment, by distances", ""),
    "stable rank": ("stable rank", ""),
    "condition": ("condition number", ""),
}
silent, soft, sharp = colours.ordered(3)
looks = (
    colours.POSITIVE,
    {"color": silent, "linestyle": ":", "marker": "none", "lw": 2.5},
    {"color": soft, "linestyle": "-.", "marker": "^"},
    {"color": sharp, "linestyle": "--", "marker": "s"},
)
fig, axes = plt.subplots(2, 2, figsize=(7.8, 5.6), sharex=True, layout="constrained")
lines = []
for ax, (name, (label, single)) in zip(axes.flat, panels.items(), strict=True):
    for k, look in enumerate(looks):
        values = found[name][:, k].cpu()
        lines += ax.plot(marks, values.mean(-1), **look)
        band = values.amin(-1), values.amax(-1)
        ax.fill_between(marks, *band, color=look["color"], alpha=0.12, lw=0)
        if single:  # two standard errors over images, at the end
            each = found[single][-1, k].mean(0).cpu()
            reach = 2 * float(each.std() / len(each) ** 0.5)
            ax.errorbar(1.1 * marks[-1], float(each.mean()), reach, color=look["color"])
    ax.set_ylabel(label)
    if name in ("stable rank", "condition"):
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("")
shown = [m for m in marks if 1.6 * m < marks[-1]] + [marks[-1]]
axes[0, 0].set_xscale("symlog", linthresh=10, linscale=0.7)
axes[0, 0].set_xticks(shown, shown, minor=False)
for ax in axes[1]:
    ax.set_xlabel("updates")
axes[0, 0].set_xlim(-1, 1.3 * marks[-1])
guide = axes[0, 0].axhline(constant, **colours.ASIDE)
axes[0, 0].legend([guide], ["best constant answer"])
names = "no negatives", r"$\tau^2=0.01$", r"$\tau^2=1$", r"$\tau^2=10$"
fig.legend(lines[:4], names, loc="outside lower center", ncols=4)
left_over = [float(final["stable rank"][k].mean()) for k in arms]
one_left = max(left_over[:2]) < 1.5 < min(left_over[2:])
title = (
    "Without negatives one direction is left; with silent ones, too"
    if one_left
    else f"Stable ranks at the end: {', '.join(f'{rank:.2g}' for rank in left_over)}"
)
fig.suptitle(title, x=0.01, ha="left")
glue.figure(fig, "ab-plot-fig-2")

# %% [markdown]
# ```{glue:figure} ab-plot-fig-2
# :alt: Four panels over training: zero-shot accuracy, alignment, stable rank and condition number for heads without negatives and with three temperatures. Without negatives, and with the smallest inverse temperature, the stable rank falls to one and the condition number grows.
# :name: ab-fig-2
#
# Heads during training, on test pairs: mean over {glue:text}`ab-head-seeds:.0f` starts, bands from the least to the largest, in the first panel, at the right end, two standard errors over images. Look at the stable rank: without negatives it falls to one within some 30 updates, and negatives at $\tau^2=0.01$ (dotted) change little. At $\tau^2=10$ it dips before it rises. A constant answer has an accuracy of {glue:text}`ab-constant:.2f`.
# ```


# %% tags=["hide-input"]
def with_spread(values):
    return f"{float(values.mean()):.3g} ± {float(values.std()):.2g}"


numbers = [k for k in final if k not in ("right", "recalled") and "groups" not in k]
print(" " * 13, *(f"{k:>14}" for k in numbers))
for arm in arms:
    print(f"{arm:13}", *(f"{with_spread(final[k][arm]):>14}" for k in numbers))
print(f"{'untrained':13}", *(f"{with_spread(found[k][0, 0]):>14}" for k in numbers))
share = 1 / int(test.labels.any(0).sum())
print(f"{'constant':13}", f"{constant:>14.3f}", f"{share:>14.3f}")
gained = final["right"]["τ² = 10"] - final["right"]["no negatives"]  # [start, image]
picks = image_weights(gained.shape[-1], 2000, stream(seed, 0, "resampled images"))
replicates = resampled_starts(
    resampled_means(gained, picks), stream(seed, 0, "resampled starts")
)
low, high = percentile_interval(replicates).tolist()
glue.number("ab-gain-low", low)
glue.number("ab-gain-high", high)

# %% tags=["hide-input"]
contrastive_arm, plain_arm = "τ² = 10", "no negatives"
mixed_arms = mixed_up["accuracy"][-1, 0], mixed_up["right"][-1, 0]


def gains(whole, each):
    """Over the arm without negatives, one a start and one a group of images."""
    by_image = group_means((each - final["right"][plain_arm]).mean(0))
    return {
        "over starts": whole - final["accuracy"][plain_arm],
        "over images": by_image,
    }


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-2",
    observed=gains(final["accuracy"][contrastive_arm], final["right"][contrastive_arm]),
    control=gains(*mixed_arms),
)

# %% [markdown]
# On generated scenes negatives raise the accuracy: if images and starts are drawn anew (a bootstrap), the gain lies between {glue:text}`ab-gain-low:.2f` and {glue:text}`ab-gain-high:.2f` in 95 % of the draws. On the 130 photographs it is open: images differ too much, and the card says so. The whole of MSCOCO-2014 would decide it (`data=coco-2014`, see [Data](../book/data.md)); it was not run.
#
# What the linear model says of balance does hold for these heads: without negatives, and with silent ones, one direction is left, and the best $\tau^2$ rises with $K$ ([appendix](ab-a-heads)).

# %% [markdown]
# ## Summary
#
# Positive pairs align, negatives balance, and the temperature sets the pace. Pulling pairs together frees the part of the output that noise had, and at large $d$ the strongest signal takes nearly all of it: where strengths differ, the condition number ends at a power of $d$. Negatives agree with the anchor in its long columns and cancel the pull on them, until all columns are equally long, whatever $\sigma$ is. There the loss is nearly the least of any linear encoder. Mini-batches and two neurons per signal are enough at the dimensions that we tried, up to 16 here and 64 in the record.
#
# **What surprised us.**
#
# - How little width it takes: in the flow of positive pairs it does not grow with $d$.
# - The end of positive-only training is exact, and it knows the number of the noise's dimensions but not their size.
# - There is a best temperature near balance, and beyond it time grows steeply.
# - A single *soft* $\tau$ shows both stages, first alignment and then balance; a sharp one does not at $d\ge50$.
#
# **What is open.**
#
# - *Heads and encoders that are not linear.* Figure 2 of the paper has no theorem.
# - *Why non-contrastive methods do not collapse in practice.* The paper leaves stop-gradients and predictors open; for one modality {cite}`tian-chen-ganguli-2021,halvagal-2023,bao-2023` study them. In the paper's model [a predictor with a stop-gradient](ab-a-predictor) leaves the condition number near that of the data, at infinite width: no collapse, no balance.
# - *Outputs with a mean.* The signs are centred; outputs that are not may collapse to a point, or keep a gap between the modalities {cite}`liang-2022`.
# - *Structured noise.* All noise columns have one scale in the paper. Without negatives [the end does not know their sizes](ab-a-beyond); with negatives it is balanced on the two that we tried, without a proof.
#
# **Where to go next.** In [Collapse and constraints](collapse-and-constraints.ipynb) a constraint on each direction levels them, as the negatives do here. In [Feature decoupling](feature-decoupling.ipynb) a random mask makes two modalities out of one picture. [One testbed](one-testbed.ipynb) lets the temperature be learned. {cite}`nakada-2023` read each step of multimodal training as a singular value decomposition of a contrastive cross-covariance, and {cite}`huang-2024` compare it with one modality.

# %% [markdown]
# (ab-symbols)=
# ## Symbols
#
# | symbol | meaning | where first |
# |---|---|---|
# | $x_A$, $x_B$; $z$; $\xi_A$, $\xi_B$ | the two modalities of a pair; signs of the signal they share; signs of their noises | The model |
# | $r$, $d$ | number of signals; of signals and noises of one modality | The model |
# | $\sigma_p$, $\sigma_\xi$ | scale of signal $p$; of every noise; $\sigma_{\max}=\sigma_1$, $\sigma_{\min}=\sigma_r$ | The model |
# | $W_A$, $W_B$, $m$ | weights, and the number of their columns, the width | The model |
# | $f_A$, $N_A$ | output of an encoder; root of the mean square before normalisation | The model |
# | $\tau$, $K$ | inverse temperature; strength of the negatives | The model |
# | $S_A$, $S$ | share of the positive pair in the softmax; at infinite width one number | The model |
# | $\mathsf K_A=[K_A\ K_{A,\xi}]$ | map from signs to the output before normalisation, signals and noises | The model |
# | $G$, $M$, $\hat M$ | correlation matrix; force on it; that of positive pairs alone | The model |
# | alignment, balance | Definitions 4.1 and 4.2 of the paper | Aligned is not balanced |
# | $s_i$, $C$ | singular values of $\mathsf K_A$; condition number of $K_A$ | Aligned is not balanced |
# | $\kappa_p^2$, $\hat\kappa_p^2$, $\kappa_\xi^2$ | squared length of column $p$; product with its partner; all noise columns | Nine numbers |
# | $n^2$, $g_p$, $T_p$, $a$ | total length; share $\hat\kappa_p^2/n^2$; $\tanh(\tau^2g_p)$; $\sum_q(1-T_q)g_q$ | Nine numbers |
# | $u_p$, $w_p$, $\theta$, $\Theta$ | $\kappa_p^2\pm\hat\kappa_p^2$; two clocks of positive pairs | Positive pairs alone |
# | $\gamma$ | power of $d$ in the final condition number | Positive pairs alone |
# | $X$, $Y$, $A_t$, $b$, $c$ | progress, error, common process and constants of Lemma 5.2 of the paper | A small inverse temperature |
# | $\bar T$ | $\sum_qg_qT_q$ | Negatives level |
# | $y$, $W$ without index | $\tau^2$; Lambert's function | How fast |
# | $\eta$, $n$ as a number of pairs | learning rate; batch | The algorithm |

# %% [markdown]
# ## Exercises
#
# Each asks for a derivation on paper, then for a few lines of code. Each names its level, time and points. Shorter ones, which [grade themselves](../book/exercises.md), are notebooks of their own. The first is worked below. The solutions of the others are not on this page: `make solutions` writes them for teachers, from `chapters/alignment-and-balance/solutions.py`. One more is in the [appendix](ab-ex-dominant).
#
# ::::{admonition} Worked exercise: two signals, by hand
# :class: worked
#
# *Ten minutes, without points.* Infinite width, two signals with $\sigma_1^2=2$ and $\sigma_2^2=1$, and $d=210$.
#
# 1. Where does the condition number end with positive pairs alone? Where would it end without noise, at $d=r=2$?
# 2. Which balance is that, and which alignment by distances?
# 3. There the negatives are switched on, with $\tau^2=2$. Which column changes faster, and by how much?
#
# :::{admonition} Solution
# :class: dropdown
#
# 1. With $x=e^{\Theta_\infty}$ the first equation of {eq}`ab-eq-end` is $x^2+x=420$, so $x=20$. The second gives $\sqrt2\,\sqrt{20}=\sqrt{40}=6.3$. Without noise $x^2+x=4$, so $x=1.56$, and the condition number is 1.77. It started at $\sqrt2=1.41$.
# 2. The squared lengths are as 40 to 1. The balance is $1+\frac1{40^2}=1.0006$: one direction. The alignment is 1, since no noise is left, both encoders agree, and no column is 0.
# 3. $g=(\frac{40}{41},\frac1{41})$, hence $T=\tanh(2g)=(0.960,0.049)$ and $\bar T=\sum_qg_qT_q=0.938$. By {eq}`ab-eq-second` $\log\kappa_1^2$ changes in proportion to $2\,(\bar T-T_1)=-0.0445$, and $\log\kappa_2^2$ to $\bar T-T_2=0.889$. The short column grows twenty times as fast as the long one shrinks. In $\sum_p\kappa_p^2/\sigma_p^2$ one gives what the other takes: $\frac{40}2\cdot0.0445=0.889$.
# :::
# ::::

# %% [markdown]
# ````{exercise} What a negative pair does to a column
# :label: ab-ex-tanh
#
# *Core, 60 minutes, 12 points. Needs: the chain rule, {eq}`ab-eq-cosh`. After it you can say in words what a negative pair does to a column.*
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

# %% [markdown]
# ````{exercise} Ten times as long
# :label: ab-ex-ten
#
# *Core, 45 minutes, 12 points. Needs: {eq}`ab-eq-end`. After it you can say from which scales a given collapse follows.*
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

# %% [markdown]
# ````{exercise} Without normalisation
# :label: ab-ex-raw
#
# *Advanced, 90 minutes, 12 points. Needs: the first exercise. After it you can say what normalisation adds to negatives.*
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

# %% [markdown]
# ````{exercise} Why negatives balance, whatever σ is
# :label: ab-ex-rest
#
# *Core, 60 minutes, 12 points. Needs: {eq}`ab-eq-second`, linear stability. After it you can find the points of rest of a flow and say which are stable.*
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

# %% tags=["remove-input"]
chapter.close()
