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
# # One testbed
#
# ```{include} ../book/_generated/one-testbed-box.md
# ```
#
# **If you train CLIP**: its `logit_scale.exp()` is a learned inverse temperature. This chapter shows what such a number counts, when it says only how training went, and [which ten lines](ot-ten-lines) say instead what your two towers have in common.
#
# **If you read theory**: the four papers of this book explain contrastive learning in four worlds. Here all four stand in one experiment, and the main prediction of each paper is tried in the worlds of the others. Which explanation *travels*?


# %% tags=["hide-input", "parameters"]
first_seed: int = 1000  # first seed of the block that is judged, 0..1000000
seeds: int = 8  # seeds of a claim that is decided by chance, 3..1000
law_taus: list[float] = [0.2, 0.5, 1.0, 3.0]  # inverse temperatures of the law, 0.05..5
sparse_taus: list[float] = [1.0, 2.0]  # those of sparse codes, 0.05..3
law_steps: int = 300  # of a training at a fixed temperature, 10..100000
law_batch: int = 192  # pairs per step, 16..4096
count_steps: int = 400  # of one with a learned temperature, 10..100000
count_batch: int = 128  # pairs per step; the papers' worlds get twice as many, 32..4096
table_steps: int = 160  # of most trainings of the table, 20..100000
table_batch: int = 128  # pairs per step, 16..4096
robust_seeds: int = 0  # of the table at other rates and in doubled time, 0..100
data: str = "digits"  # of the real pairs, one of testbed.image_pairs.DATA
image_seeds: int = 5  # encoders per inverse temperature, 3..100
image_temperatures: list[float] = [0.5, 1.0, 3.0]  # τ² of these, 0.05..20
image_steps: int = 400  # of these trainings, 50..100000
image_batch: int = 256  # pairs per step, 16..16384
image_outputs: int = 32  # outputs of these encoders, 2..512
image_count: int = 50000  # pairs on which correlations are measured, 2000..10000000
own_world: str = "moons"  # of your own run, one of one_testbed.own_runs.WORLDS
own_views: str = "native"  # its views, one of one_testbed.own_runs.VIEWS
own_network: str = "linear"  # its network, one of one_testbed.own_runs.NETWORKS
own_loss: str = "infonce"  # its loss, one of one_testbed.own_runs.LOSSES
own_taus: list[float] = [0.5, 1.0, 2.0, 4.0]  # its inverse temperatures, 0.05..20
own_noises: list[float] = [0.0, 0.3, 0.6]  # noise added to both views, 0..10
own_seeds: int = 2  # networks at each of these, 1..1000
own_steps: int = 200  # of each training, 1..100000
device: str = "cpu"  # where the runs stand, auto|cpu|cuda


# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.nn.functional import pad

from clbook.notebook import colours, glue, open_chapter
from contrastive_dynamics.numerics.run_defaults import torch_defaults
from contrastive_dynamics.testbed import (
    Apart, Coupled, image_draw, learned_temperature, per_run, score, train, water_filling,
    water_level,
)  # fmt: skip
from experiments.one_testbed import (
    COLUMNS, READINGS, ROWS, SPECTRA, WORLDS, Plan, Square, arms_of_claim, cell_outcomes,
    correlation_errors, count_errors, distance, headline, hidden_layer, law_in_a_world,
    law_in_two_layers, learned_temperatures, map_errors, measured_views, negative_arms,
    own_map, private_shares, rank_errors, refuted_cases, rival_spectra, robustness, row_words,
    seed_interval, share_errors, spectra_at, spectral_counts, standings, table_column,
    table_html, table_of, unproved_cases, with_changes,
)  # fmt: skip


# %% tags=["hide-input"]
chapter = open_chapter("one-testbed", globals())
torch_defaults(chapter.device)
block = list(chapter.seeds)
BLUE, VERMILION, GREEN = colours.BLUE, colours.VERMILION, colours.GREEN
PURPLE, GREY = colours.PURPLE, colours.GREY


# %% [markdown]
# ## What two views have in common
#
# Take two views of a datum and look for the pair of linear readouts, one of each view, that are most correlated. Their correlation is $\rho_1$. Among readouts uncorrelated with these look again: $\rho_2$, and so on. These are the *canonical correlations* {cite}`hotelling-1936`. A feature that both views carry in full has $\rho=1$, one that is buried under noise less, and what only one view has, a *private* direction, has $\rho=0$.
#
# Draw every direction as a shaft as deep as its $\rho$, and pour in water. How much is set by the *inverse temperature* $\tau^2$, by which a loss multiplies its similarities. Guess where the water goes.

# %% tags=["hide-input"]
depths = torch.tensor([0.9, 0.7, 0.5, 0.3, 0.0, 0.0], device="cpu")
fig, axes = plt.subplots(1, 3, figsize=(7.8, 2.7), sharey=True, layout="constrained")
for ax, poured in zip(
    axes, (1.0, float(learned_temperature(depths)), 4.0), strict=True
):
    water = poured * water_filling(depths, poured)
    places = range(len(depths))
    ax.bar(places, 1.05 - depths, 0.9, bottom=-1.05, color="0.88")
    ink = [colours.BLUE] * 4 + [colours.VERMILION] * 2
    ax.bar(places, water, 0.9, bottom=-depths, color=ink, alpha=0.8)
    ax.axhline(float(-water_level(depths, poured)), color="black", ls="--", lw=1)
    ax.axhline(0, color="0.5", lw=0.8)
    ax.set_title(rf"$\tau^2$ = {poured:.1f}", weight="normal")
    ax.set(xticks=[], yticks=[-0.9, -0.5, 0], yticklabels=["0.9", "0.5", "0"])
axes[0].set_ylabel(r"depth: correlation $\rho$")
fig.suptitle("The temperature fills the vessel, or floods it", x=0.01, ha="left")
alt = "Three vessels with six shafts of depth 0.9, 0.7, 0.5, 0.3, 0 and 0. At an inverse temperature of 1 water stands in three of them. At 2.4, the sum of the depths, it reaches the brim. At 4 it floods the two that have no depth."
glue.explorable(fig, "vessel", alt)

# %% [markdown]
# The water in a shaft is its share of the network's output, times $\tau^2$; dashed, the level by a [formula](ot-proof). Your browser trains the network by the loss of infinitely many negatives. At <a href="#vessel:tau=0.3">a small τ²</a> the deepest shaft takes most of it; at <a href="#vessel:tau=4">a large one</a> noise is flooded. A network that <a href="#vessel:tau=0.5&amp;learn=1">learns τ²</a> stops at the brim. If it <a href="#vessel:tau=0.5&amp;learn=1&amp;sampled=1">draws 64 pairs at each step</a>, it ends a little over the brim.
#
# So *a linear contrastive learner that learns its temperature measures the canonical correlations of its two views, and the temperature counts them.* That is a theorem about the optimum, for one encoder whose outputs have root mean square norm 1, many negatives, enough outputs and centred Gaussian views of one covariance. Two encoders end near the count only from a $\tau^2$ below it. CLIP's outputs have unit length, and its number [is no such count](ot-clip). If the temperature is fixed instead, the learner gives up the weakest directions, or lets noise in. For linear networks and Gaussian views four worlds would be one, because views enter through their correlations alone.
#
# (ot-seven-counts)=
# How far the learned $\tau^2$ ends above or below the count, in percent of it ([why](ot-seven)):
#
# | | Gaussian | sparse codes | tokens | half moons | modalities | digits | photographs |
# |---|---|---|---|---|---|---|---|
# | InfoNCE | +4 | −5 | −19 | +45 | +338 | −28 | −34 |
# | spectral loss | | −1 | 0 | 0 | +4 | | |
#
# ## Four worlds, one experiment
#
# | world | from | shared, in both views | private, in one view |
# |---|---|---|---|
# | two modalities | [Alignment and balance](alignment-and-balance.ipynb) | 6 signs of unequal strength | 10 signs of each modality |
# | half moons | [Collapse and constraints](collapse-and-constraints.ipynb) | where on each of 6 pairs of half moons, rotated into 32 numbers | noise on all numbers |
# | tokens | [Nonlinearity](nonlinearity.ipynb) | which of 20 generators wrote the sequence | its free places |
# | sparse codes | [Feature decoupling](feature-decoupling.ipynb) | 16 signals, each rarely present, spread over 128 numbers | dense noise; one view is what the mask hides from the other |
#
# A *world* draws what both views share and what each has for itself, and renders a view from them. A *view maker* makes pairs of it: as its paper does, with private parts redrawn (*apart*) or kept (*coupled*: no augmentation), masked, or shuffled, a control. One training loop serves all.
#
# **How to read this page.** Every claim is ours. A *proposition* is derived; an *observation* is what runs showed. A card gives the verdict ([how a claim is judged](../book/judging.md)) and names a *control*, a plausible mistake that goes through the same code and has to miss the rule. A [table of symbols](ot-symbols) is near the end; the [appendix](one-testbed-appendix.ipynb) holds what only a doubter needs.


# %% [markdown]
# ## A temperature that counts
#
# For a pair of outputs $f_A$, $f_B$ InfoNCE is
#
# $$-\log\frac{e^{\tau^2f_A\cdot f_B}}{\sum_{B'}e^{\tau^2f_A\cdot f_{B'}}},$$
#
# averaged over the pairs of a batch, and the same with A and B exchanged. CLIP lets $\tau^2$ be learned, beside the weights.
#
# Let two views be linear mixtures of Gaussian numbers, centred and of one covariance. A linear encoder of root mean square norm 1, $\mathbb E\lVert f\rVert^2=1$, divides that norm among the directions. Direction $j$ gets the *share* $g_j$ of it, and the shares add up to one. Guess first: the correlations are .9, .7, .5, .3 and .1. At which $\tau^2$ does training stop? We call $\sum_j\rho_j$ the *count*.
#
# ````{prf:proposition} a learned temperature counts
# :label: ot-count
# :nonumber:
# ```{claim} count
# ```
# ````
#
# ````{prf:proposition} and its shares measure
# :label: ot-measure
# :nonumber:
# ```{claim} measure
# ```
# ````
#
# We train on eight spectra, from a temperature far below the answer and from one far above it, by this loop:
#
# ```{strip}
# fresh pairs at every step | experiment.train: drawn = [
# the loss of each network, and its gradient | experiment.train: value, gradients =
# a step, and the constraint | experiment.train: params = _constrained(optimiser
# ```

# %% tags=["hide-input"]
spectra = list(SPECTRA.values())
learned = chapter.library_piece(
    "a learned temperature",
    learned_temperatures,
    spectra,
    block,
    count_batch,
    count_steps,
)

# %% tags=["hide-input", "remove-output"]
fig, (left, right) = plt.subplots(1, 2, figsize=(7.8, 3.4), layout="constrained")
sums, tau = learned["ρ"].sum(-1).cpu(), learned["τ²"].mean(-1).cpu()
for row, marker, label in ((0, "^", "from below"), (1, "v", "from above")):
    left.plot(sums, tau[row], marker, color=colours.BLUE, alpha=0.7, label=label)
wrong = learned["ρ"].square().sum(-1).cpu()
left.plot(sums, wrong, "x", color=colours.GREY, label="control: $\\sum\\rho_j^2$")
left.plot([0, 4], [0, 4], **colours.THEORY)
left.set(xlabel="sum of correlations $\\sum_j\\rho_j$", ylabel="learned $\\tau^2$")
left.legend()
ends = learned["τ²g"].mean((0, 2)).flatten().cpu()
right.plot(learned["ρ"].flatten().cpu(), ends, "o", color=colours.VERMILION, alpha=0.6)
right.plot([0, 1], [0, 1], **colours.THEORY)
right.set(xlabel="correlation $\\rho_j$", ylabel="learned $\\tau^2g_j$")
off_count = float((tau / sums - 1).abs().max())
off_share = float((ends - learned["ρ"].flatten().cpu()).abs().max())
counting = (
    "The temperature counts, the shares measure"
    if max(off_count, off_share) <= 0.1
    else f"The temperature's count is off by up to {off_count:.0%}, shares by {off_share:.2f}"
)
fig.suptitle(counting, x=0.01, ha="left")
glue.figure(fig, "ot-plot-count")

# %% [markdown]
# ```{glue:figure} ot-plot-count
# :alt: Left, the learned inverse temperature of eight spectra against the sum of their correlations: triangles from below and from above lie on each other and on the diagonal, slightly above it; crosses, the sums of squares, lie far below. Right, learned shares times temperature against the correlations, on the diagonal.
# :name: ot-fig-count
#
# Left: where $\tau^2$ settles, mean over seeds; dotted, $\tau^2=\sum_j\rho_j$. Right: the share of each direction times the learned $\tau^2$; dotted, $\rho_j$. Look where correlations are strong: both lie a little above the line. This is a bias of finite batches, not noise; the [appendix](ot-a-few) computes it. <a href="#vessel:tau=0.5&learn=1"></a>
# ```

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("count", **count_errors(learned))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("measure", **correlation_errors(learned))

# %% [markdown]
# :::{admonition} Quick question: two encoders start far above $\sum_j\rho_j$. Where does their learned $\tau^2$ end?
# :class: dropdown
#
# Above it. The norm that is not needed goes to outputs to which the partner does not answer, and $\tau^2$ has no reason to fall. One encoder has to spend its norm, so its $\tau^2$ comes down to the sum.
# :::

# %% [markdown]
# (ot-proof)=
# ## Why: one budget
#
# **Intuition.** A direction earns by its positives: a little more share in direction $j$ makes positive pairs more alike, in proportion to $\rho_j$. It pays for its negatives: the more the outputs lie along one direction, the more often strangers agree by chance, and this price grows with the share, as $\tau^2g_j$. So a bit of share earns $\rho_j-\tau^2g_j$. The one budget of norm is spent well if the last bit earns the same everywhere, $\rho_j-\tau^2g_j=\mu$, and if directions that would earn less than $\mu$ from the start get nothing:
#
# $$g_j=\frac{(\rho_j-\mu)_+}{\tau^2},\qquad\sum_jg_j=1.$$ (ot-eq-law)
#
# This is a *soft threshold*, the water in the shafts. If the temperature itself may move, the water rises until it is no longer worth it, at $\mu=0$. Then every shaft is full: $\tau^2g_j=\rho_j$, and together they hold $\tau^2=\sum_j\rho_j$.
#
# ```{admonition} What is assumed
# Views are centred, and for one encoder of one covariance; their marginals are Gaussian; pairs are independent, and $N\to\infty$; outputs have root mean square norm 1 over the population; and there are at least as many outputs as directions with $\rho_j>\mu$.
# ```
#
# **Idea of the proof** ([in nine steps](ot-a-proof)). In whitened coordinates, $f_A=U\tilde x_A$ and $f_B=V\tilde x_B$, only $G=U^\top V$ and $C=\mathbb E\,\tilde x_A\tilde x_B^\top$ matter. Given its anchor, the logit of a stranger is Gaussian, and the logarithm of the mean of its exponential is half its variance. So for many negatives the loss is $\lVert\tau^2G-C\rVert^2-\lVert C\rVert^2$, and what the two networks spend on a direction bounds its share. That leaves one inequality per direction. If $\tau^2$ is learned, all it does is to bound the sum of the $\tau^2\lvert g_j\rvert$.
#
# At a fixed $\tau^2\ge\sum_j\rho_j$ two encoders have $\mu=0$ and norm to spare. One encoder has to spend all its norm, so [private directions fill](ot-private).
#
# ````{prf:proposition} one inequality per direction
# :label: ot-law-proof
# :nonumber:
# ```{claim} law-proof
# ```
# ````
#
# ```{strip}
# $\mu(\lvert g\rvert-s)-(\rho-\tau^2s)(g-s)$ | soft_threshold.direction_gap: return level
# $g_j=(\rho_j-\mu)_+/\tau^2$ | soft_threshold.water_filling: above =
# $\mu=\max_k(\rho_1+\dots+\rho_k-\tau^2)/k$ | soft_threshold.water_level: level =
# $-2\tau^2\langle C,G\rangle+\tau^4\lVert G\rVert^2$ | soft_threshold.population_loss: return
# ```

# %% tags=["hide-input"]
proof = {
    "cases not proved": len(unproved_cases()),
    "cases refuted": len(refuted_cases()),
}
twin = "two encoders at any level, cases refuted"
false_twin = {twin: len(refuted_cases(any_level=True))}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("law-proof", observed=proof, control=false_twin)

# %% [markdown]
# (ot-fixed)=
# ## One curve, four worlds
#
# If a fixed $\tau^2$ is smaller than the sum of the correlations, some directions are given up, and the law says which. We test it outside its assumptions, in the four papers' worlds, with InfoNCE and no constant fitted. The *effective rank* is the exponential of the entropy of the shares: 3 if three directions share equally.
#
# Tokens and half moons test the curve: their correlations differ. In two modalities and sparse codes they are equal or nearly so, and the law predicts the same rank at every $\tau^2$ shown; sparse codes are shown at two values alone, as [elsewhere](ot-a-slow) our batches and steps do not reach the law. Our tolerances would not notice a factor of up to 1.2 in $\tau^2$.
#
# ````{prf:observation} the effective rank
# :label: ot-law-rank
# :nonumber:
# ```{claim} law-rank
# ```
# ````
#
# ````{prf:observation} every share
# :label: ot-law-shares
# :nonumber:
# ```{claim} law-shares
# ```
# ````
#
# Shares are the diagonal of $G$; the next claim sees all of it, except in sparse codes.
#
# ````{prf:observation} all of G
# :label: ot-law-map
# :nonumber:
# ```{claim} law-map
# ```
# ````

# %% tags=["hide-input"]
grids = dict.fromkeys(WORLDS, law_taus) | {"sparse codes": sparse_taus}
cells = {
    name: chapter.library_piece(
        f"the law for {name}", law_in_a_world, name, block, grid, law_steps, law_batch
    )
    for name, grid in grids.items()
}

# %% tags=["hide-input"]
two_layers = chapter.library_piece(
    "two layers", law_in_two_layers, block, 1.0, law_steps, law_batch
)

# %% tags=["hide-input", "remove-output"]
inks = colours.BLUE, colours.VERMILION, colours.GREEN, colours.PURPLE
looks = zip(inks, "os^D", strict=True)
fig, (left, right) = plt.subplots(1, 2, figsize=(7.8, 3.6), layout="constrained")
far_from_law = {"shares": 0.0, "ranks": 0.0}
for (name, one), (ink, marker) in zip(cells.items(), looks, strict=True):
    look = {"color": ink, "marker": marker, "linestyle": "none"}
    for ax, part in ((left, "shares"), (right, "ranks")):
        of = {k: v.mean(1).flatten().cpu() for k, v in one[part].items()}
        unit_of_part = of["law"] if part == "ranks" else 1
        far = float(((of["trained"] - of["law"]) / unit_of_part).abs().max())
        far_from_law[part] = max(far_from_law[part], far)
        ax.plot(of["variances"], of["trained"], **look, markersize=3, alpha=0.25, mew=0)
        ax.plot(of["law"], of["trained"], **look, markersize=4, alpha=0.8, label=name)
left.plot([0, 0.6], [0, 0.6], **colours.THEORY)
right.plot([1, 20], [1, 20], **colours.THEORY)
right.set(xscale="log", yscale="log", xlabel="predicted rank", ylabel="trained rank")
for axis in (right.xaxis, right.yaxis):
    axis.set_major_locator(plt.FixedLocator([1, 2, 5, 10, 20]))
    axis.set_major_formatter("{x:.0f}")
    axis.set_minor_locator(plt.NullLocator())
left.set(xlim=(-0.02, 0.6), ylim=(-0.02, 0.6), xlabel="predicted share")
left.set_ylabel("share in the trained network")
right.legend()
one_curve = (
    "One curve, four worlds, nothing fitted"
    if max(far_from_law.values()) <= 0.1
    else f"Four worlds, up to {far_from_law['ranks']:.0%} off the law's rank"
)
fig.suptitle(one_curve, x=0.01, ha="left")
glue.figure(fig, "ot-plot-curve")

# %% [markdown]
# ```{glue:figure} ot-plot-curve
# :alt: Two diagrams of trained against predicted values, shares on the left and effective ranks on the right. Points of four worlds lie on the diagonal; pale points, predicted from variances, lie far off it.
# :name: ot-fig-curve
#
# Each point is one direction (left) or one effective rank (right) at one $\tau^2$, mean over seeds; dotted, the law; pale, variances in place of correlations. Look at how far a network is from seeing variance.
# ```

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("law-rank", **rank_errors(cells))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("law-shares", **share_errors(cells | {"moons, two layers": two_layers}))

# %% tags=["hide-input", "nbval-check-output"]
stiff = {name: one for name, one in cells.items() if name != "sparse codes"}
chapter.judge("law-map", **map_errors(stiff | {"moons, two layers": two_layers}))

# %% tags=["hide-input"]
in_sparse_codes = cells["sparse codes"]["maps"]["trained"].mean(-1)
glue.number("ot-map-sparse", in_sparse_codes.max())

# %% [markdown]
# In sparse codes {glue:text}`ot-map-sparse:.2f` of the norm is elsewhere; in pilots four times the pairs halved it.

# %% tags=["hide-input", "remove-output"]
moons = cells["moons"]
rho_m, last = moons["spectrum"]["ρ"][0].cpu(), len(law_taus) - 1
shown = sorted({0, last // 2 + last % 2, last})
fig, axes = plt.subplots(
    1, len(shown), figsize=(7.8, 2.9), sharey=True, layout="constrained", squeeze=False
)
for k, ax in zip(shown, axes[0], strict=True):
    level = float(water_level(rho_m, law_taus[k]))
    places = range(16)
    ax.bar(places, rho_m[:16], color=colours.GREY, alpha=0.25, width=0.85)
    filled = (rho_m[:16] - level).clamp(min=0)
    ax.bar(places, filled, bottom=level, color=colours.BLUE, alpha=0.7, width=0.85)
    trained = law_taus[k] * moons["shares"]["trained"][k].mean(0)[:16].cpu()
    ax.plot(places, level + trained, "o", color=colours.VERMILION, markersize=4)
    ax.axhline(level, **colours.ASIDE)
    ax.set(title=f"$\\tau^2={law_taus[k]:g}$, $\\mu={level:.2f}$", xlabel="direction")
axes[0][0].set_ylabel("$\\rho_j$ and $\\mu+\\tau^2g_j$")
fig.suptitle("A higher inverse temperature lowers the level", x=0.01, ha="left")
glue.figure(fig, "ot-plot-level")

# %% [markdown]
# ```{glue:figure} ot-plot-level
# :alt: Three panels of columns, the correlations of sixteen directions in the world of half moons, with a level that falls as the inverse temperature rises. The parts above the level are blue, and dots of trained networks lie on the tops of the columns that reach above the level, and on the level for the others.
# :name: ot-fig-level
#
# Half moons: twelve shared directions and the first four of the private ones. Grey, $\rho_j$; line, the level $\mu$; blue, what lies above it, $\tau^2g_j$ by the law; dots, trained networks. Look at the level: as $\tau^2$ rises it falls, and weaker directions come in. <a href="#vessel:tau=3"></a>
# ```

# %% [markdown]
# :::{admonition} Quick question: the correlations are .9, .7, .5 and .3. From which $\tau^2$ on does the third direction have a share?
# :class: dropdown
#
# From $(.9-.5)+(.7-.5)=.6$ on: everything above $\rho_3$ has to be filled first. A private direction comes in at the sum of all, $2.4$.
# :::

# %% [markdown]
# (ot-private)=
# ### Too much of it: noise comes in
#
# What if $\tau^2$ is set above the count? A single encoder must spend its norm, and all shared directions are full. So the level falls below 0, and private directions come in, all of them alike, if there are outputs for them.
#
# ````{prf:proposition} private directions
# :label: ot-private-claim
# :nonumber:
# ```{claim} private
# ```
# ````

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("private", **private_shares(block))

# %% [markdown]
# (ot-stops)=
# ## Where the law stops
#
# The [appendix](ot-a-beyond) drops the assumptions one by one.
#
# - **Few pairs** lift a learned $\tau^2$. With one negative the optimum is exact again: each $\rho_j$ becomes $\rho_j/(1-\tfrac12\rho_j^2)$ ([appendix](ot-a-few)).
# - **Squared distances** have a law of their own, and a learned temperature counts there, too ([appendix](ot-a-distances)).
# - **Two encoders** may leave norm unused, so a $\tau^2$ from above stays above.
# - **Views that are not Gaussian** have their own log moment function in place of half the variance. At a fixed $\tau^2$ of a few the difference is small in these worlds; at a learned one it shows ([below](ot-seven)).
#
# (ot-clip)=
# ### If you come from CLIP
#
# $\tau^2$ is its `logit_scale.exp()`. It starts at $1/0.07=14.3$ and is [clipped at 100](https://github.com/openai/CLIP/issues/46), where a long training [usually ends](https://github.com/mlfoundations/open_clip/issues/214); on their own data some saw it [fall to 1](https://github.com/mlfoundations/open_clip/issues/815). Its outputs have unit length, which is a different loss:
#
# - *Equal correlations* have a formula, unequal ones a [fixed point](ot-a-beyond). The strongest direction is exaggerated, about twofold: $\rho=.9,\,.7,\,.5,\,.3,\,.1$ end at 3.6 and not at their sum, 2.5.
# - *While pairs are hard to tell apart* $\tau^2$ grows with what there is to count. *Once a batch is told apart without errors* it no longer does: 64 directions of $\rho=.9$ end lower than 64 of $.6$ ([appendix](ot-a-solved)). Then the number says how training went, and not what is shared.
# - *Compute instead* the correlations of your features. Their sum over as many as you have outputs is what a learned temperature under mean norm 1 would be at most, for Gaussian views.
#
# (ot-ten-lines)=
# Save the features of both towers before their last linear layers, `[n, width]` each, by `np.save`; row 7 of both belongs to the same pair. At least four rows per column are needed, twenty are good.
#
# ```python
# import numpy as np
# import torch
#
# from contrastive_dynamics.testbed.feature_correlations import feature_correlations
# from contrastive_dynamics.testbed.soft_threshold import learned_temperature
#
# outputs = 512  # of your last layers
# images, texts = (torch.from_numpy(np.load(f"{name}.npy")) for name in ("images", "texts"))
# order = torch.randperm(len(images))  # files are often sorted
# rho = feature_correlations(images[order], texts[order], tied=False)
# print("correlations", [round(x, 2) for x in rho[:10].tolist()])
# print("their sum", round(float(learned_temperature(rho, outputs)), 1))
# ```
#
# It needs [the kernels](../book/kernels.md) and takes seconds to a minute. [Your features](../book/your-features.md) has the same as one command, and says what to do about it.
#
# (ot-seven)=
# ### The count, in its own world and in six others
#
# The small table [near the headline](ot-seven-counts) has the numbers, from the [records](ot-record) (the smaller run below prints slightly others), of digits from this page's [appendix](ot-a-real-temperature). The count is right where views are Gaussian. It is nearly right where correlations are weak, as in sparse codes, where all $\rho$ are near .2 ([why](ot-a-beyond)). Elsewhere InfoNCE counts wrong, most of all in two modalities, which share signs exactly. Of the features of a frozen network our sample is too small to tell.
#
# With the spectral loss {cite}`haochen-2021` the quadratic form holds by definition, for centred views of any distribution in independent pairs. In two modalities, with two encoders, it counts because it starts from below.
#
# ````{prf:observation} the spectral loss
# :label: ot-spectral
# :nonumber:
# ```{claim} spectral
# ```
# ````

# %% tags=["hide-input"]
counted = chapter.library_piece(
    "counts in four worlds", spectral_counts, block, 2 * count_batch, count_steps
)
for name in WORLDS:
    infonce = counted["control"].get(name)
    beside = "" if infonce is None else f", InfoNCE {float(infonce.mean()):+.0%}"
    off = float(counted["observed"][name].mean())
    print(f"{name:13} τ²/Σρ − 1: spectral loss {off:+.1%}{beside}")

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("spectral", **counted)

# %% [markdown]
# What reaches further is the fixed temperature.


# %% [markdown]
# (ot-corners)=
# ## Four effects in one formula
#
# | effect | paper | in the formula |
# |---|---|---|
# | Without a constraint outputs collapse, with negatives or without | {cite:t}`esser-2023` | a counterpart: at $\tau^2\to0$ one direction is left, too, the one of the largest $\rho$; theirs is that of the largest cross moment, as their loss has no norm ([chapter](collapse-and-constraints.ipynb)) |
# | Negative pairs balance | {cite:t}`ren-li-2023` | a larger $\tau^2$ fills more shafts; shares are equal exactly where correlations are, as with their $\rho_j=1$ ([chapter](alignment-and-balance.ipynb)) |
# | Masks remove dense noise | {cite:t}`wen-li-2021` | a mask sets the $\rho$ of noise to 0; without it, and with equal views, every direction has $\rho=1$, and with enough outputs the network whitens ([chapter](feature-decoupling.ipynb)) |
# | Non-linearity finds patterns | {cite:t}`tian-2023` | not in it: the formula speaks of linear networks ([chapter](nonlinearity.ipynb)) |
#
# The first two look opposite. In the formula they are two temperatures: for centred outputs of fixed norm a loss that is linear in the similarities is the limit $\tau^2\to0$, in which negatives leave no trace; with a finite $\tau^2$ they fill the weaker shafts. In neither do negatives remove noise: what removes it is a view maker that lets $\rho$ be 0. <a class="again" href="#vessel:tau=1&amp;private=6&amp;coupled=1">noise that both views show alike</a> (ρ = 1) wins over features that they show in part; redraw it for each view (its ρ at 0), and it is gone.
#
# These are readings of optima. The papers prove more, about the way there.

# %% [markdown]
# :::{admonition} Quick question: which of the four effects needs a mask, and what does the mask change in the formula?
# :class: dropdown
#
# The third. It sets the $\rho$ of noise to 0 and leaves the formula as it is.
# :::

# %% [markdown]
# (ot-table)=
# ## The table
#
# From each paper we take two to four statements that make sense in every world (Tian's from figures, not theorems). Rows with a star are ours in part: R2 and W2 are proved in the papers for their own data, E2 and E3 compare with InfoNCE and with balance, which the paper does not do, T3 is a popular reading that no paper states. L2 and L3 are ours. **A world in which a row fails says nothing against the paper**, which speaks of its own.
#
# Guess before you look: which hold wherever we try them?
#
# Each row has a number, a line that it has to reach, and a control that must not reach it. Line, control and *what we expect of each world* were written down after pilots on other seeds. Arms start alike and move by steps of the same relative length. The row of a paper is read abroad only if it holds at home, in the same code. The controls of E1, E3 and L3 are far off, and are no rivals.

# %% tags=["hide-input"]
columns = {}
for world in COLUMNS:
    columns[world] = chapter.library_piece(
        f"table, {world}", table_column, world, block, table_steps, table_batch
    )
table_cells = table_of(columns.values())
in_regime = table_steps >= 160 and len(block) >= 8

# %% tags=["hide-input"]
changed = []
for world in COLUMNS if robust_seeds else ():
    given = world, block[:robust_seeds], table_steps, table_batch
    piece = chapter.library_piece(f"robustness, {world}", robustness, *given)
    changed.append(piece)

# %% tags=["hide-input"]
outcomes_found = with_changes(cell_outcomes(table_cells), changed)
table_words = {row: row_words(outcomes_found[row], ROWS[row]) for row in table_cells}

# %% tags=["hide-input", "remove-output"]
short = {
    "e1": "E1  one direction is left", "e2": "E2  a constraint keeps as much",
    "e3": "E3  shows the data's spectrum", "r1": "R1  positives align, unbalanced",
    "r2": "R2  negatives balance fully", "w1": "W1  dropped unless shared",
    "w2": "W2  coupled: noise alone", "w3": "W3  threshold: own neurons",
    "w4": "W4  masks decouple noise", "t1": "T1  width helps ReLU more",
    "t2": "T2  ReLU shows single features", "t3": "T3  ReLU keeps more",
    "noise-enters": "L2  large τ² lets noise in", "coupled": "L3  coupled views whiten",
}  # fmt: skip
faces = {
    "travels": {"fillstyle": "full", "color": colours.BLUE},
    "with conditions": {"fillstyle": "left", "color": colours.BLUE},
    "does not travel": {"fillstyle": "none", "color": colours.VERMILION},
    "undecided": {"marker": "$?$", "color": colours.GREY},
    "home not reproduced": {"marker": "x", "color": colours.GREY},
    "does not apply": {"marker": "_", "color": colours.GREY},
}


def shown_cell(row, world):
    """The cell that a square shows: home, the world itself, or its first variant."""
    named = [c for c in table_cells[row] if c.partition(",")[0] == world]
    return next((c for c in (ROWS[row].home, world, *named) if c in named), None)


def number_text(value):
    """Three digits, without an exponent and without a negative zero."""
    value = float(value)
    text = f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}"
    return text.replace("-", "−") if float(text) else "0.00"


def square(row, world):
    """What a square says; a frame shows the paper's own cell, without its variants."""
    cell, word = shown_cell(row, world), table_words[row][world]
    if cell is None:
        return Square(word, "", "", False)
    home = cell == ROWS[row].home
    if home and outcomes_found[row][cell] == "met":
        word = "travels"
    value, control = table_cells[row][cell]
    low, high = seed_interval(value, 0.05)
    text = f"{number_text(value.mean())} ±{number_text((high - low) / 2)}"
    return Square(word, text, number_text(control.mean().clamp(max=999)), home)


table_lines = {}
for name, label in short.items():
    rule, star = ROWS[name], "*" if name in READINGS else ""
    needed = f"needs {'≥' if rule.at_most is None else '≤'} {rule.line:g}"
    needed = needed.replace("-", "−")
    of_worlds = [square(name, world) for world in COLUMNS]
    table_lines[label[:2] + star + label[2:], needed] = of_worlds
everywhere = sum(all(s.word == "travels" for s in of) for of in table_lines.values())
table_title = f"{everywhere} of {len(table_lines)} statements hold in all four worlds"

fig, ax = plt.subplots(figsize=(7.8, 8.4), layout="constrained")
for y, ((label, needed), of_worlds) in enumerate(table_lines.items()):
    ax.text(-2.05, y - 0.16, label, va="center", size=9)
    ax.text(-2.05, y + 0.22, needed, va="center", size=9, color=colours.GREY)
    for x, said in enumerate(of_worlds):
        look = {"marker": "o", "ms": 9, "mew": 1.4} | faces[said.word]
        ax.plot(x - 0.28, y, **look)
        ax.text(x - 0.12, y - 0.16, said.value, va="center", size=9)
        if said.control:
            mistake, grey = f"control {said.control}", colours.GREY
            ax.text(x - 0.12, y + 0.2, mistake, va="center", size=9, color=grey)
        if said.home:
            outline = plt.Rectangle((x - 0.42, y - 0.45), 0.96, 0.9, fill=False, lw=1.2)
            ax.add_patch(outline)
for name, face in faces.items():
    ax.plot([], [], ls="none", **({"marker": "o", "ms": 8} | face), label=name)
ax.set(xlim=(-2.1, 3.65), ylim=(len(table_lines) - 0.4, -0.6), yticks=[])
ax.set_xticks(range(4), COLUMNS)
ax.xaxis.tick_top()
ax.spines[:].set_visible(False)
ax.tick_params(length=0)
ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=3)
fig.suptitle(table_title, x=0.01, ha="left")
glue.figure(fig, "ot-plot-table", html=table_html(table_title, COLUMNS, table_lines))

# %% [markdown]
# ```{glue:figure} ot-plot-table
# :alt: A table of fourteen statements by four worlds. A full dot says that the statement travels, a half dot that it needs conditions, an empty one that it does not travel. Below each number is the control's, in grey. E1, E3 and W1 have full dots in all worlds. T1 and T2 have a full dot in tokens only.
# :name: ot-fig-table
#
# Fourteen statements in four worlds: mean over seeds with its 95 % interval, the control in grey, 999 at most, and the line under each statement. Half a dot: variants of this world decide both ways, the number is one of them. The framed cell is the paper's own world and setting; T1 and T2 hold there with receptive fields, not with full connections. \*: ours in part. W1 and W4 count factors of ten. Look along the rows: E1, E3 and W1 hold in every world; R2, W2 and W3 depend on the data, T1 and T2 on what a neuron can see.
# ```
#
# ### Esser et al.: what a constraint does
#
# Take a loss that is linear in the similarities and let two layers grow, linear or with ReLU. Growth is fastest where the cross moment is largest, and two layers multiply the lead. So one direction wins.

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("e1", **arms_of_claim("e1", table_cells["e1"]), regime=in_regime)

# %% [markdown]
# Orthonormal layers have a budget per direction, so that no direction can win. For linear layers that does the work of negatives, in the long run in all four worlds. It does not change the balance: the network shows the data's spectrum.

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge("e2", **arms_of_claim("e2", table_cells["e2"]), regime=in_regime)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge("e3", **arms_of_claim("e3", table_cells["e3"]), regime=in_regime)

# %% [markdown]
# E2 is at one temperature, $\tau^2=3$. Against the best of three it keeps a little less at home, and the claim is open ([appendix](ot-a-table)). With ReLU, which the paper's Proposition 3 does not cover, the constrained network keeps less than InfoNCE in sparse codes, by far, and in tokens; at three times the rate the gap in sparse codes is no longer clear ([record](ot-record)).
#
# ### Ren and Li: what negatives do
#
# By the law, positives alone are the limit $\tau^2\to0$: the largest correlation takes all. Where correlations are equal, as in the paper's world ($\rho_j=1$), the law is silent: there training makes the imbalance, from features of unequal strength, and this is what the paper proves. At the optimum negatives make all features equal exactly if all correlations are.

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("r1", **arms_of_claim("r1", table_cells["r1"]), regime=in_regime)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge("r2", **arms_of_claim("r2", table_cells["r2"]), regime=in_regime)

# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(
    2, 4, figsize=(7.8, 4.2), sharex=True, sharey="row", layout="constrained"
)
temperatures = {"positives": 0.07, "0.2": 0.2, "1": 1.0, "3": 3.0, "8": 8.0, "20": 20.0}
scales, falls = {"kept": "linear", "drop": "log"}, 0
for column, (world, of) in zip(axes.T, columns.items(), strict=True):
    for ax, (name, scale) in zip(column, scales.items(), strict=True):
        values = [of["scores"][arm][name].clamp(max=1e5) for arm in temperatures]
        if name == "drop":  # of rounding errors, where nothing private is left
            values = [v.where(v > 0, 1e5) for v in values]
        means = [float(v.mean()) for v in values]
        falls += name == "drop" and means[-1] < means[1] / 2
        ax.plot(list(temperatures.values())[1:], means[1:], "o-", color=colours.BLUE)
        ax.plot(temperatures["positives"], means[0], **colours.POSITIVE)
        start = float(of["scores"]["untrained"][name].mean())
        ax.axhline(start, color=colours.GREY, lw=0.9)
        ax.axvline(of["sum"], **colours.THEORY)
        ax.set(xscale="log", yscale=scale)
    column[0].set_title(world, weight="normal")
    column[-1].set_xlabel("$\\tau^2$")
for ax, label in zip(axes[:, 0], ("kept", "dropped"), strict=True):
    ax.set_ylabel(label)
falling = f"A larger $\\tau^2$ lets noise in, in {falls} of {len(columns)} worlds"
fig.suptitle(falling, x=0.01, ha="left")
glue.figure(fig, "ot-plot-negatives")

# %% [markdown]
# ```{glue:figure} ot-plot-negatives
# :alt: Two rows of four panels against the inverse temperature, features kept and private variance dropped, in four worlds. Kept rises in tokens and half moons, with a fall at the end in tokens; in two modalities it is flat. Dropped falls, in tokens to a level. A dotted line marks the sum of the correlations, a grey one the untrained network, a green cross positives alone.
# :name: ot-fig-negatives
#
# What negatives do: features *kept* (the R² of a linear probe, as in E2) and private variance *dropped* (times, at most 10⁵). Green: positives alone. Grey line: untrained. Dotted: $\tau^2=\sum_j\rho_j$. Look at modalities in the lower row, beyond the dotted line: far less is dropped. Title: worlds where $\tau^2=20$ drops less than half of $\tau^2=0.2$. No claim judges this figure. <a href="#vessel:tau=4"></a>
# ```

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "noise-enters",
    **arms_of_claim("noise-enters", table_cells["noise-enters"]),
    regime=in_regime,
)

# %% [markdown]
# ### Wen and Li: what augmentation does
#
# An augmentation that redraws a private feature sets its $\rho$ to 0. Without one, $\rho=1$ for signal and noise alike, and, with an output for every direction, the optimum is white: noise counts by the number of its directions, whatever its strength (L3). With fewer outputs, as in W2, training decides.

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("w1", **arms_of_claim("w1", table_cells["w1"]), regime=in_regime)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "coupled", **arms_of_claim("coupled", table_cells["coupled"]), regime=in_regime
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge("w2", **arms_of_claim("w2", table_cells["w2"]), regime=in_regime)

# %% tags=["hide-input", "remove-output"]
fig, (left, right) = plt.subplots(1, 2, figsize=(7.8, 3.2), layout="constrained")
looks = {
    "coupled": colours.PLAIN,
    "1": colours.AUGMENTED,
    "untrained": colours.ASIDE | {"marker": "_"},
}
for x, of in enumerate(columns.values()):
    for arm, look in looks.items():
        values = of["scores"][arm]["private"].clamp(min=1e-6).cpu()
        left.plot(
            [x] * len(values), values, **(look | {"linestyle": "none", "alpha": 0.6})
        )
left.set_xticks(range(4), [c.replace(" ", "\n") for c in COLUMNS])
left.set(ylabel="private share of the outputs", yscale="log")
left.set_title("▼ coupled, ▲ apart, – untrained", weight="normal")
for y, cell in enumerate(table_cells["coupled"].values()):
    values = cell.value.cpu()
    right.plot(values, [y] * len(values), "o", color=colours.BLUE, alpha=0.6)
    right.plot(cell.control.cpu(), [y] * len(values), "x", color=colours.GREY)
right.axvline(ROWS["coupled"].line, **colours.THEORY)
right.set_yticks(
    range(len(table_cells["coupled"])),
    [c.replace(", ", ",\n") for c in table_cells["coupled"]],
)
right.tick_params(axis="y", labelsize=9)
right.set(xscale="log", xlabel="distance from the law")
glue.figure(fig, "ot-plot-coupled")

# %% [markdown]
# ```{glue:figure} ot-plot-coupled
# :alt: Left, the private share of the outputs in four worlds: high with coupled views and before training, lower with views apart, by a factor of about ten in sparse codes and of hundreds or more elsewhere. Right, the distance of the signal-to-noise ratio from the law in six cells: trained networks lie left of a dotted line, the control far right of it.
# :name: ot-fig-coupled
#
# Left: private share of the outputs' variance with coupled views (blue), with views apart (orange; in sparse codes masks) and before training (grey), $\tau^2=1$. Right: how far shared over private variance is from $\sum_j\rho_j/(D-\sum_j\rho_j)$ ($\rho_j$ of views apart, $D$ the rank of $x$), with coupled views (blue), and with views apart (grey). Look at the pairs on the right: with noise three times as strong the law holds as well. <a href="#vessel:tau=1&private=6&coupled=1"></a>
# ```

# %% [markdown]
# :::{admonition} Quick question: both views are equal, and the noise is three times as strong as before. What becomes of its share?
# :class: dropdown
#
# Nothing: all correlations are 1, so all directions have equal shares.
# :::

# %% [markdown]
# A mask removes what one input shows alone and leaves what many inputs carry. It decouples noise wherever features are spread; in a modality whose features are single inputs it removes these as well.

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge("w4", **arms_of_claim("w4", table_cells["w4"]), regime=in_regime)

# %% [markdown]
# (ot-beyond)=
# ## What the law cannot say
#
# The law knows subspaces and shares. It does not know *neurons*: any rotation of the outputs has the same shares. Which neuron shows which feature is decided by non-linearity, by the data's sparsity and by the places that a neuron can see.

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("w3", **arms_of_claim("w3", table_cells["w3"]), regime=in_regime)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge("t1", **arms_of_claim("t1", table_cells["t1"]), regime=in_regime)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge("t2", **arms_of_claim("t2", table_cells["t2"]), regime=in_regime)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge("t3", **arms_of_claim("t3", table_cells["t3"]), regime=in_regime)

# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(1, 4, figsize=(7.8, 3.3), layout="constrained")
titles = {"w3": "W3: threshold", "t1": "T1: width", "t2": "T2: ReLU", "e2": "E2, ReLU"}
dots = {
    "met": {"color": colours.BLUE, "fillstyle": "full"},
    "missed": {"color": colours.VERMILION, "fillstyle": "none"},
    "undecided": {"color": colours.GREY, "fillstyle": "none"},
}  # fmt: skip
for ax, (row, title) in zip(axes, titles.items(), strict=True):
    names = [c for c in table_cells[row] if row != "e2" or "ReLU" in c]
    for y, name in enumerate(names):
        value, look = table_cells[row][name].value, dots[outcomes_found[row][name]]
        ax.plot(seed_interval(value, 0.05), [y, y], "-", color=look["color"])
        ax.plot(float(value.mean()), y, "o", **look)
    ax.axvline(ROWS[row].line, **colours.THEORY)
    labels = [n.removesuffix(", ReLU").replace(", ", ",\n") for n in names]
    ax.set_yticks(
        range(len(names)), [n.replace("sparse codes", "sparse") for n in labels]
    )
    ax.tick_params(axis="y", labelsize=9)
    ax.locator_params(axis="x", nbins=3)
    ax.set(ylim=(len(names) - 0.5, -0.5))
    ax.set_title(title, weight="normal", size=9)
glue.figure(fig, "ot-plot-beyond")

# %% [markdown]
# ```{glue:figure} ot-plot-beyond
# :alt: Four panels of intervals, one line per world or variant, with a dotted line to reach. Thresholds reach it where features are sparse, width and ReLU only in tokens with places, and the constraint with ReLU fails far from the line in sparse codes.
# :name: ot-fig-beyond
#
# Differences that no share explains: means over seeds with 95 % intervals, dotted the line to reach. Full dots reach it, empty ones fall short, grey ones are open. Look at what the full dots have in common: sparse features for thresholds, a place per neuron for ReLU.
# ```
#
# ReLU alone, fully connected, shows no more single features than linear neurons do (T2). It keeps more than a linear network in tokens, less in the other three worlds (T3).

# %% [markdown]
# Is a miss a matter of rate or time? Nearly never: the longer run behind the [record](ot-record) trains each again at a third of the rate, at thrice the rate and in twice the steps.

# %% tags=["hide-input"]
stands = standings(changed)
turned = {key: of for key, of in stands.items() if of != "missed"}
if stands:
    print(f"{len(stands)} negatives under a change; all are missed but {len(turned)}:")
for (change, row, cell), of in turned.items():
    print(f"{row.upper()} {cell}, {change}: {of}")

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "robust",
    **negative_arms(changed),
    regime=min(robust_seeds, len(block)) >= 3 and table_steps >= 160,
)


# %% [markdown]
# (ot-real)=
# ## Does it hold for real images?
#
# Now a view is a random part of an image, with other brightness and with noise: on this page of a handwritten digit, in the [record](ot-record) of a patch of a CIFAR-10 photograph. The correlations are measured on pairs of images that no training sees. The views are whitened first ([without that](ot-a-real-temperature) an encoder ends at the same spectrum).

# %% tags=["hide-input"]
image_block = list(range(first_seed, first_seed + image_seeds))
fitted, kept = (chapter.check(image_draw, data, s) for s in ("train", "test"))
real_views = measured_views(fitted, kept, image_count, first_seed)
sizes = {"outputs": image_outputs, "steps": image_steps, "batch": image_batch}


def watched(label):
    return {**sizes, "watch": lambda steps: chapter.progress(steps, label)}


at_fixed = spectra_at(
    real_views, image_temperatures, image_block, **watched("images, τ² fixed")
)
judged = [t for t in image_temperatures if t <= 1]
at = {f"τ² = {t:g}": image_temperatures.index(t) for t in judged}

# %% [markdown]
# ````{prf:observation} the law on real images
# :label: ot-real-spectrum
# :nonumber:
# ```{claim} real-spectrum
# ```
# ````

# %% tags=["hide-input"]
misplaced = {t: distance(at_fixed.measured[k], at_fixed.law[k]) for t, k in at.items()}
others = {
    "variances": distance(at_fixed.measured, at_fixed.variances[:, None]),
    "other images": distance(at_fixed.measured, at_fixed.shuffled[:, None]),
    "before training": distance(at_fixed.untrained, at_fixed.law[:, None]),
}
controls = {f"{n}, {t}": d[k] for n, d in others.items() for t, k in at.items()}
glue.number("ot-kurtosis", real_views.excess_kurtosis()[:10].mean())
glue.number("ot-kurtosis-most", real_views.excess_kurtosis()[:10].max())

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("real-spectrum", observed=misplaced, control=controls)

# %% tags=["hide-input"]
formulas = {"law": at_fixed.law, "own log moments": at_fixed.sampled}
formulas |= rival_spectra(real_views.rho, image_temperatures, image_outputs)
print(f"{'off by, at τ² =':16}", *(f"{t:5g}" for t in image_temperatures))
for name, of in formulas.items():
    off_by = distance(at_fixed.measured, of[:, None]).mean(-1)
    print(f"{name:16}", *(f"{float(x):5.2f}" for x in off_by))

# %% tags=["hide-input", "remove-output"]
shown = min(16, image_outputs)
count = len(image_temperatures)
fig, axes = plt.subplots(
    1, count, figsize=(2.9 * count, 2.9), sharex=True, layout="constrained"
)
for ax, k in zip(np.atleast_1d(axes), range(count), strict=True):
    place = np.arange(1, shown + 1)
    ax.bar(place, at_fixed.law[k, :shown].cpu(), 0.8, color=colours.SKY, label="law")
    ax.plot(
        place,
        at_fixed.variances[k, :shown].cpu(),
        color=colours.GREY,
        ls=":",
        marker="x",
        ms=4,
        label="control: variances",
    )
    ax.plot(
        place,
        at_fixed.sampled[k, :shown].cpu(),
        color=colours.GREEN,
        label="own log moments",
    )
    ax.plot(
        np.tile(place, (image_seeds, 1)).T,
        at_fixed.measured[k, :, :shown].T.cpu(),
        color=colours.BLACK,
        ls="none",
        marker="o",
        ms=3,
    )
    ax.plot([], [], "ko", ms=3, label="trained, every seed")
    ax.set_title(f"τ² = {image_temperatures[k]:g}")
    ax.set_xlabel("rank")
    top = max(float(at_fixed.law[k].max()), float(at_fixed.measured[k].max()))
    ax.set_ylim(0, 1.3 * top)
np.atleast_1d(axes)[0].set_ylabel("share of the outputs' variance")
np.atleast_1d(axes)[-1].legend(loc="upper right")
off_law = distance(at_fixed.measured, at_fixed.law[:, None]).mean(-1)
off_control = distance(at_fixed.measured, at_fixed.variances[:, None]).mean(-1)
shows = (
    "A trained encoder shows what its views have in common"
    if bool((off_law < off_control / 2).all())
    else f"Off the law by up to {float(off_law.max()):.2f}, off the control {float(off_control.min()):.2f}"
)
fig.suptitle(shows, x=0.01, ha="left")
glue.figure(fig, "ot-plot-real")

# %% [markdown]
# ```{glue:figure} ot-plot-real
# :alt: One panel per inverse temperature. Bars fall from left to right, more of them the larger the inverse temperature; black points of trained encoders sit on the tops of the bars, and a green line runs through them. A dotted grey line of the control leaves them.
# :name: ot-fig-real
#
# Spectra of linear encoders, sorted by size: how the variance is divided, and not along which directions. Bars: the soft threshold. Green: with the views' own log moments. Points: trained encoders, one per seed. Grey: variances in place of correlations. Look at the last bars: how many directions an encoder keeps is decided, nearly and up to $\tau^2=1$, by $\tau^2$ and the correlations alone.
# ```
#
# The law is exact for Gaussian views. Here the ten most correlated directions have an excess kurtosis of {glue:text}`ot-kurtosis:.1f` on average and up to {glue:text}`ot-kurtosis-most:.1f`. What the law leaves out grows with $\tau^2g_j$, so its claim ends at $\tau^2=1$. Beyond it, put the views' own log moments in the place of the Gaussian ones.
#
# ````{prf:observation} with the views' own log moments
# :label: ot-real-moments
# :nonumber:
# ```{claim} real-moments
# ```
# ````

# %% tags=["hide-input"]
own_off = {
    f"τ² = {t:g}": distance(at_fixed.measured[k], at_fixed.sampled[k])
    for k, t in enumerate(image_temperatures)
}
own_others = {
    f"{n}, τ² = {t:g}": others[n][k]
    for n in ("variances", "other images")
    for k, t in enumerate(image_temperatures)
}
untrained_off = distance(at_fixed.untrained, at_fixed.sampled[:, None])
own_others |= {f"before training, {t}": untrained_off[k] for t, k in at.items()}
gaussian_off = distance(at_fixed.measured, at_fixed.law[:, None])
glue.number("ot-real-threshold", gaussian_off.max())
glue.number("ot-real-own", max(float(d.max()) for d in own_off.values()))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("real-moments", observed=own_off, control=own_others)

# %% [markdown]
# At the worst $\tau^2$ of this page they misplace {glue:text}`ot-real-own:.2f` of the variance, the soft threshold {glue:text}`ot-real-threshold:.2f`: on digits both fit. On photographs ([record](ot-record)) the leading direction takes more than its soft threshold at $\tau^2=3$, as the log moments say. A second [record](ot-a-features) has features of a frozen network, where we claim no more than $\tau^2\le1$: at 3 an untrained encoder comes as near as a trained one.
#
# ### A network that is not linear
#
# Train a ReLU network from end to end. At the end its last layer is at an optimum for the hidden units as they are. So its outputs should show the soft threshold of the correlations *of the hidden units*.

# %% tags=["hide-input"]
units = {**watched("images, ReLU network"), "outputs": min(32, image_outputs)}
trained_net, untrained_net = hidden_layer(real_views, judged, image_block, **units)
layer_off, layer_variances, layer_before = (
    distance(net.measured, part)
    for net, part in (
        (trained_net, trained_net.law),
        (trained_net, trained_net.variances),
        (untrained_net, untrained_net.law),
    )
)
layer_control = {"variances": layer_variances, "before training": layer_before}

# %% [markdown]
# ````{prf:observation} the last layer of a ReLU network
# :label: ot-real-network
# :nonumber:
# ```{claim} real-network
# ```
# ````

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "real-network",
    observed=dict(zip(at, layer_off, strict=True)),
    control={
        f"{n}, {t}": d[k] for n, d in layer_control.items() for k, t in enumerate(at)
    },
)


# %% [markdown]
# (ot-own)=
# ## Your own world
#
# Choose a world, its views, a network and a loss; noise is added to both views, the temperature changes.
#
# ```sh
# clbook run one-testbed -p own_world=sparse-codes -p own_loss=spectral
# clbook run one-testbed -p own_network=relu -p own_taus=0.5,1,3,8 -p own_seeds=8
# ```


# %%
plan = chapter.check(
    Plan, own_world, own_views, own_network, own_loss, tuple(own_taus), tuple(own_noises),
    tuple(range(first_seed, first_seed + own_seeds)), own_steps,
)  # fmt: skip
networks, products = plan.cost
print(f"{networks} networks, {products / 1e9:.0f} billion multiplications in training")
mine = own_map(plan, lambda noises: chapter.progress(noises, "your own world"))

# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(1, 2, figsize=(7.8, 2.9), layout="constrained")
inks = [plt.get_cmap("viridis")(k / len(own_noises)) for k in range(len(own_noises))]
for row, (std, ink) in enumerate(zip(own_noises, inks, strict=True)):
    marker = "osD^v<>p"[row % 8]
    axes[0].plot(
        own_taus, mine.rank[row].cpu(), marker, color=ink, label=f"noise {std:g}"
    )
    axes[1].plot(own_taus, mine.kept[row].cpu(), f"{marker}-", color=ink)
    if mine.law is not None:
        axes[0].plot(own_taus, mine.law[row].cpu(), "--", color=ink)
for ax, name in zip(
    axes, ("effective rank", "kept of the shared features"), strict=True
):
    ax.set(xscale="log", xlabel=r"inverse temperature $\tau^2$", ylabel=name)
    ax.minorticks_off()
    ax.set_xticks(own_taus, [f"{tau:g}" for tau in own_taus])
axes[0].legend()
fig.suptitle(headline(plan, mine), x=0.01, ha="left")
glue.figure(fig, "ot-plot-own")

# %% [markdown]
# ```{glue:figure} ot-plot-own
# :alt: Two panels over the inverse temperature, one set of points for each strength of added noise. Left: the effective rank of the outputs, with dashed curves of the law where it has one. Right: how much of the shared features is kept.
# :name: ot-fig-own
#
# Left: the effective rank of the outputs (points) and the law's (dashed), where it has one. Look how far apart they are; sparse codes need more `own_steps`. Right: how much of the shared features a linear probe reads from the outputs with a little noise added.
# ```


# %% [markdown]
# (ot-program)=
# ### A program of your own
#
# A world, a loss and a network that the library does not have take a few lines.


# %%
class Clusters:
    """A world: clusters at the corners of a box; private: Gaussian spread."""

    tied, inputs = True, 12  # one encoder for both views

    def shared(self, n, generators):
        return per_run(torch.rand, generators, n, 3).sub(0.5).sign()

    def private(self, n, generators):
        return 0.7 * per_run(torch.randn, generators, n, self.inputs)

    def render(self, shared, private, modality):
        return pad(shared * torch.tensor([2.0, 1.5, 1.0]), (0, 9)) + private


# %%
def barlow(first, second):
    """A loss: the correlations of two outputs towards the identity."""
    f, g = (
        (y - y.mean(1, keepdim=True)) / y.std(1, keepdim=True) for y in (first, second)
    )
    one = torch.eye(f.shape[-1])
    return ((f.mT @ g / f.shape[1] - one).square() * (0.05 + 0.95 * one)).sum((1, 2))


class Squashed:
    """A network: one layer of four tanh neurons."""

    def start(self, inputs, generators):
        return {"w": per_run(torch.randn, generators, 4, inputs) / inputs**0.5}

    def __call__(self, params, x):
        hidden = (x @ params["w"].mT).tanh()
        return hidden, hidden


# %%
def learned_from(views):
    """How much of the shared features is kept, and what becomes of noise over signal."""
    trained = train(
        Clusters(), views, Squashed(), barlow, seeds=block, steps=200, batch=128
    )
    scores = score(trained, Apart(), 2000, block)
    return float(scores.kept.mean()), float(1 / scores.drop.mean())


for one_way in (Apart(), Coupled()):
    share, factor = learned_from(one_way)
    print(
        f"{type(one_way).__name__}: {share:.0%} kept, noise over signal × {factor:.2f}"
    )

# %% [markdown]
# Views that share no noise make even this network drop noise; equal views make it keep noise better than signal. This has no rule and no control. The [kernels page](../book/kernels.md) has the same program outside the book.


# %% [markdown]
# (ot-who)=
# ## Who else is here
#
# The formula is a short corollary, and most of its parts are known; [the appendix](ot-a-who) says what each of the nearest works states, as far as we could read it, and what is added here: Torralba and Weiss (2026), who pour power over frequencies by *waterfilling*, Kamai et al. (2026), HaoChen et al. (2021) with the spectral loss, Balestriero and LeCun (2022), Johnson et al. (2023) and Chapman et al. (2024). Of the closed form at a fixed temperature, and of the counts by InfoNCE, by one negative and by distances, we can say no more than that *we did not find them stated*; the search was finite.

# %% [markdown]
# (ot-surprises)=
# ## What surprised us
#
# 1. **The law itself** was not looked for. Arms at a small $\tau^2$ stopped at a rank that more time did not raise.
# 2. **We saw no negatives that denoise.** They widen the spectrum, and beyond $\tau^2=\sum\rho_j$ they flood private directions.
# 3. **"Without augmentation, noise wins" is whitening**: it depends on the number of noise directions, and not on their strength.
# 4. **With a threshold, neurons with one feature each need sparse features**, not masks or dense noise.
# 5. **A solved batch** lowers a learned temperature though there is more to count.
#
# ## What is open
#
# - **Non-linear networks and InfoNCE.** Does a wide network at small steps follow the law with $\rho$ of its tangent kernel?
# - **Outputs of unit length**: there is no law for a batch that is solved.
# - **Few negatives.** Between one negative and infinitely many there is only an expansion, which breaks down where single negatives dominate the sum.
# - **Distances and two encoders.** The law of distances is proved for one encoder. In two modalities, with two, it held in our runs.
# - **Time and order.** The law is about the end. Stages and rates, which the papers prove, are not in it.
#
# (ot-symbols)=
# ### Symbols
#
# | symbol | meaning | in the code |
# |---|---|---|
# | $\rho_j$ | canonical correlation of direction $j$ | `canonical_correlations` |
# | $\tau^2$ | inverse temperature, which multiplies similarities | `tau_squared` |
# | $g_j$ | share of direction $j$ in the outputs, $\sum_jg_j\le1$ | `shares` |
# | $\mu$ | level of the threshold | `water_level` |
# | $G$ | $U^\top V$, the two linear maps in whitened coordinates | |
# | $C$ | cross moment of the whitened views; its singular values (one encoder: eigenvalues) are $\rho_j$ | |
# | $z$, $D$ | numbers of outputs and of inputs | `outputs`, `inputs` |
# | $N$ | pairs in a batch; each has $N-1$ negatives | `batch` |
# | $S$, $P$ | numbers of shared and of private directions | |

# %% [markdown]
# ## Exercises
#
# A pencil first, then a few lines of code. Each names its level, time and points. Shorter ones, which [grade themselves](../book/exercises.md), are a notebook of their own. The first is worked below. The solutions of the others are not on this page: `make solutions` writes them for teachers, from `chapters/one-testbed/solutions.py`.

# %% [markdown]
# ::::{admonition} Worked exercise: three numbers for the same views
# :class: worked
#
# *Ten minutes, without points.* Two Gaussian views share directions with $\rho=.7$ and $\rho=.3$, and each has a private one. One encoder has three outputs.
#
# 1. At which $\tau^2$ does training end if it is learned? Which shares has the encoder then, and which at a fixed $\tau^2=.6$?
# 2. Each anchor has [one negative](ot-a-few) in place of very many. Where does $\tau^2$ end now?
# 3. [Squared distances](ot-a-distances) take the place of inner products, with many negatives. Where does it end?
#
# :::{admonition} Solution
# :class: dropdown
#
# 1. At $.7+.3=1$, with the shares $.7$, $.3$ and 0. At $\tau^2=.6$ try both directions: their level would be $(.7+.3-.6)/2=.2$, below both correlations, so both have shares, $(.7-.2)/.6=.83$ and $(.3-.2)/.6=.17$. The strong direction has more than its part: what is missing is taken in equal amounts from both.
# 2. Each $\rho$ becomes $\rho/(1-\tfrac12\rho^2)$: $.7/.755=.927$ and $.3/.955=.314$, together $1.24$. The strong direction is lifted by a third, the weak one by a twentieth.
# 3. Each direction adds $2/(\sqrt{9-8\rho}-1)-1$: $1.370$ and $.275$, together $1.64$. The weak one counts less than with inner products, the strong one almost twice.
#
# So a learned temperature is read together with its loss and its batch: $1.00$, $1.24$ and $1.64$ are the same views.
# :::
# ::::

# %% [markdown]
# ````{exercise} Which arm collapses?
# :label: ot-ex-arm
#
# *Core, 45 minutes, 12 points. Needs: the soft threshold. After it you can predict a spectrum before you train.*
#
# Four directions have $\rho=.8,.8,.4,0$. One encoder with four outputs is trained at $\tau^2=.4$, one at $2$, one at $6$.
#
# 1. Predict the effective rank of each before you run `water_filling`.
# 2. From which $\tau^2$ on does the third direction have a share, and from which the fourth?
# 3. Each view now has an encoder of its own. What is different at $\tau^2=6$?
# ````

# %% [markdown]
# ````{exercise} Why the sum?
# :label: ot-ex-sum
#
# *Core, 45 minutes, 12 points. Needs: step 8 of the proof. After it you can say which constraint makes a temperature count.*
#
# The loss is $\lVert H-C\rVert^2$ up to a constant, with $H=\tau^2G$.
#
# 1. Two encoders have learned $H=C$ at a $\tau^2$ above $\sum_j\rho_j$. Show that the loss has no slope in $\tau^2$ there. Where is the norm that is left?
# 2. Show that one encoder comes down to $\tau^2=\sum_j\rho_j$ from above, and up to it from below.
# 3. An encoder has two outputs. Where does its $\tau^2$ end, and how far above its least value does the loss stay?
#
# ```{hint}
# :class: dropdown
# For 1. ask which inequality between $\lVert H\rVert_*$ and $\tau^2$ is strict. For 2. take the trace of $H$.
# ```
# ````

# %% [markdown]
# ````{exercise} The spectral loss without a norm
# :label: ot-ex-spectral
#
# *Core, 45 minutes, 8 points. Needs: the theorem of Eckart and Young. After it you can say what the norm of one does to the law.*
#
# Two encoders with $z$ outputs minimise $-2\langle C,G\rangle+\lVert G\rVert^2$, and nothing limits their norm.
#
# 1. What replaces the soft threshold?
# 2. Compare with the soft threshold with $z$ outputs: at which $\tau^2$ do the two agree, and which directions does each give up?
# ````

# %% [markdown]
# ````{exercise} A world in which masks hurt
# :label: ot-ex-mask
#
# *Advanced, 60 minutes, 8 points. Needs: canonical correlations with one encoder, the four lines of a world. After it you can say what a signal must be like for a mask to keep it.*
#
# 1. A sign is spread evenly over $n$ inputs, without noise. A fair coin for each input decides which of two views shows it, and each view is doubled. Which $\rho$ has the sign, with one encoder for both views?
# 2. Write a world of at most fifteen lines in which `Masked` views keep less of the shared features than `Apart` ones, and train.
#
# ```{hint}
# :class: dropdown
# By symmetry both moments of the views are combinations of the identity and the matrix of ones.
# ```
# ````

# %% [markdown]
# ````{exercise} Why plain R² is blind
# :label: ot-ex-blind
#
# *Core, 45 minutes, 8 points. Needs: best linear prediction. After it you can say why a collapse may pass every linear probe.*
#
# The table measures how much of the shared features is *kept*: it probes outputs to which noise of variance $\frac{\varepsilon}S$ of the total is added in each output.
#
# 1. Outputs are $f=Ux$ with an invertible $U$, however ill-conditioned. Show that the best linear probe predicts from $f$ what it predicts from $x$.
# 2. Let $f_j=\sqrt{g_j}\,s_j$ show $S$ uncorrelated features of variance 1, $\sum_jg_j=1$. What is the mean $R^2$ with the noise? What is it for equal shares, and what after a collapse to one direction?
# ````

# %% [markdown]
# ````{exercise} Noise by number
# :label: ot-ex-coupled
#
# *Core, 45 minutes, 8 points. Needs: the soft threshold. After it you can say what an augmentation that changes noise only a little is worth.*
#
# A world has $S$ shared directions with $\rho=1$ and $P$ private ones; one encoder has $S+P$ outputs.
#
# 1. Both views are equal. Which shares do the private directions have, at which $\tau^2$, and what does the strength of the noise change?
# 2. An augmentation redraws part of the noise, so that its correlation is $c<1$. From which $\tau^2$ on does noise come in? Find signal over noise in the outputs beyond it.
# ````

# %% [markdown]
# (ot-record)=
# ## The larger run, on photographs
#
# ```{include} ../book/_generated/one-testbed-record.md
# ```

# %% tags=["remove-cell"]
chapter.close()
