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
# # Feature decoupling
#
# ```{include} ../book/_generated/feature-decoupling-box.md
# ```
#
# Contrastive learning needs strong augmentations. A random mask may destroy half of the input, and supervised learning does without. What is it that the mask removes?
#
# {cite}`wen-li-2021` answer this for sparse signals in strong dense noise, with a random mask on one view and its complement on the other. What happens without a mask, and what weight decay has to do with it, is a finding of ours.
#
# **How to read this page.** Each result ends in a card with its verdict ([how a claim is judged](../book/judging.md)); a card's *control* is a plausible mistake that has to fail in the same code. More checks are in the [appendix](feature-decoupling-appendix.ipynb), a [table of symbols](fd-symbols) near the end. Our copy of the paper has lost its formulas and figures, so each formula is restored from the words and proofs around it, and checked where it can be. The theorems are asymptotic: we follow them over time and sizes.

# %% tags=["hide-input", "parameters"]
first_seed: int = 1000  # first seed of the block that is judged, 0..1000000
seeds: int = 5  # seeds of a claim that is decided by chance, 3..1000
atoms: int = 16  # signals d, 4..1024
dims: list[int] = [64, 128, 192]  # of the data, d1; the last is the main one
neurons: int = 64  # m, 4..4096
active: float = 0.5  # Pr(z ≠ 0) over log log d/d, 0.05..5
noise: float = 1.0  # variance of the noise over √(log d)/d, 0.01..10
batch: int = 640  # positive pairs a step, 16..65536
negatives: int = 256  # negatives a step, 1..65536
learning_rate: float = 1.0  # η, 0.001..10
temperature: float = 20.0  # τ, 0.1..1000
start_norm: float = 0.05  # length of a neuron's weights at the start, 0.0001..0.5
cap: float = 0.65  # largest bias over the length of the weights, 0.1..0.95
steps: int = 800  # of a masked training, 100..1000000
course_noises: list[float] = [0.25, 0.5, 1.0]  # noise of the courses, 0.01..10
course_decays: list[float] = [0.0, 0.002]  # their weight decay λ, 0..0.1
energy_temperatures: list[float] = [5.0, 20.0]  # τ of trained biases, 0.1..1000
late_batches: list[int] = [64, 256]  # batches that are followed for long, 16..65536
late_steps: int = 1800  # how long the smallest is followed, 100..1000000
trend_atoms: list[int] = [16, 32, 64, 128]  # d of the constructed learner, 4..1024
larger_seeds: int = 0  # networks at each of larger_atoms; 0: none, 0..1000
larger_atoms: list[int] = [32, 64]  # d of larger trained networks, 4..1024
lucky_seeds: int = 0  # networks for lucky starts, if more than seeds, 0..1000
rarer: float = 1.2  # how many times rarer one atom is, in the appendix, 1.05..2
map_ratios: list[int] = [8]  # d1/d of the map, 2|4|8|16|32|64|128
map_noises: list[float] = [0.5, 1.0]  # noise of the map, 0.01..10
map_batches: list[int] = [64, 512]  # batches of the map, 16..65536
map_steps: int = 300  # steps of a point of the map, 50..1000000
order_steps: int = 0  # of linear encoders on images; 0: none, 0..1000000
data: str = "coloured-digits"  # one of feature_decoupling.figure_arms.DATA
depth: int = 10  # layers of the Wide-ResNet, 6n + 4, 10..22
width: int = 1  # its widening factor, 1..4
epochs: int = 5  # of each encoder, 1..10000
image_seeds: int = 4  # initialisations of each encoder, 3..100
device: str = "cpu"  # where the runs stand, auto|cpu|cuda

# %% tags=["hide-input"]
import math
from dataclasses import replace
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch
from joblib import Parallel, cpu_count, delayed
from kornia.color import rgb_to_grayscale
from scipy.optimize import brentq

from clbook.notebook import colours, glue, open_chapter
from contrastive_dynamics.data.catalogue import data_folder
from contrastive_dynamics.feature_decoupling import (
    Course, DecoupledTraining, SparseCoding, active_share, atom_shares, best_match,
    classification_probe, colour_selectivity, colour_share, complement, cross_moment,
    decoupling_clock, dense_learner, downstream_labels, draw_w_star,
    enumerated_cross_moment, factor_of_half, features, flat_rates, high_frequency_share,
    hoyer_sparsity, linear_limit, local_dictionary, logistic_share, matched_neurons, neighbour_accuracy,
    neurons_won, noise_dominance, paper_scales, pattern_spread, planar_embedding, planted_clusters,
    planted_sparse_firing, random_dictionary, regression_probe, second_moment,
    share_with_batch_noise, shuffled_match, silhouette, singleton_learner, span_share,
    split_coefficients, train, train_supervised, visualised_filters, white_share,
)  # fmt: skip
from contrastive_dynamics.numerics.power_laws import fitted_power
from contrastive_dynamics.numerics.random_streams import stream, streams
from contrastive_dynamics.numerics.relative_error import relative_error
from contrastive_dynamics.numerics.run_defaults import torch_defaults
from experiments.feature_decoupling import (
    ARMS, COLOURS, Setting, arm_training, labelled_images, require_room, require_sizes,
    slopes, trained_encoders, two_lengths,
)  # fmt: skip

# %% tags=["hide-input"]
chapter = open_chapter("feature-decoupling", globals())
torch_defaults(chapter.device)
block, seed, dim = chapter.seeds, first_seed, dims[-1]
p, sigma = chapter.check(paper_scales, atoms, active, noise)
single, BLUE, VERMILION, GREEN = (
    torch.float32,
    colours.BLUE,
    colours.VERMILION,
    colours.GREEN,
)


# %% [markdown]
# ## What two views share
#
# A datum is a signal, spread over many numbers, under louder noise that is fresh at each number. Two views show half of the numbers each, and a neuron learns what they have in common. Guess first: what if both views show the same half, and what if no number is in both?

# %% tags=["hide-input"]
hadamard = torch.tensor(
    [[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1.0]]
)
walsh = torch.kron(hadamard, torch.ones(8, 1)) / 32**0.5  # four signals, 32 numbers
strip = SparseCoding(walsh[None], 0.04, 0.4)
shared_by = {
    "the same half": second_moment(strip)[0],
    "independent masks, or none": cross_moment(strip, "independent")[0],
    "disjoint halves": cross_moment(strip)[0],
}
begin = torch.randn(32, generator=stream(seed, 0, "strip"))
inside = walsh @ (walsh.mT @ begin)
parts_of = (inside, 1 / 8), (begin - inside, 7 / 8)  # what a random direction has
begin = sum(part / part.norm() * share**0.5 for part, share in parts_of)


def grown_neuron(moment, longer=20):
    """The neuron that starts at `begin` when it is 20 times as long."""
    values, basis = torch.linalg.eigh(moment)
    along = basis.mT @ begin

    def excess(time):
        return float((along * (values * time).exp()).norm()) - longer

    return basis @ (along * (values * brentq(excess, 0, 200)).exp())


# %% tags=["hide-input"]
fig, axes = plt.subplots(
    2, 3, figsize=(7.8, 4.2), height_ratios=[2.2, 1], layout="constrained"
)
for (name, moment), (ax, low) in zip(shared_by.items(), axes.T, strict=True):
    w = grown_neuron(moment)
    onto = walsh @ (walsh.mT @ w)
    share = float((onto.norm() / w.norm()).square())
    # one colour each: off the diagonal signal alone, on it signal and noise
    on, off = moment.diagonal().abs(), (moment - torch.diag(moment.diagonal())).abs()
    for values, ink, half in ((off, BLUE, 0.002), (torch.diag(on), VERMILION, 0.03)):
        alpha = (values / (values + half))[..., None].cpu()
        tint = torch.tensor(plt.matplotlib.colors.to_rgb(ink)).expand(32, 32, 3)
        ax.imshow(torch.cat([tint.to(alpha), alpha], -1))
    ax.set_title(name, weight="normal")
    ax.set(xticks=[], yticks=[])
    places = np.arange(32)
    low.bar(places, (w - onto).cpu(), 1, color=VERMILION)
    low.bar(places, onto.cpu(), 1, color=BLUE, alpha=0.75)
    low.set(xticks=[], yticks=[], xlabel=f"grown neuron: {share:.0%} signal")
axes[0, 0].set_ylabel("what the views share")
fig.suptitle("Disjoint views share no noise", x=0.01, ha="left")
alt = "Three heat maps of what two views of 32 numbers share, and the neuron that grows from it. With the same half in both views and with independent masks, or none, the diagonal is full of noise. With disjoint halves it is empty, and the neuron is nearly all signal."
glue.explorable(fig, "masks", alt)

# %% [markdown]
# The picture shows the first stage of training in exact expectations, for one linear neuron that grows until it is 20 times as long. If both views show <a href="#masks:both=100&amp;stage=100">the same half</a>, the diagonal is full of noise. <a href="#masks:both=50&amp;stage=100">Independent masks</a> share as much noise as no mask at all. With <a href="#masks:both=0&amp;stage=100">disjoint halves</a> no noise is left in common, <a href="#masks:both=0&amp;stage=100&amp;noise=12">however loud it is</a>: two such views can agree only on what is spread over all numbers, the signals. The surprise of the chapter comes after this stage.


# %% tags=["hide-input"]
# what the runs below need is checked before any work
chapter.check(require_sizes, 3, dims=dims, trend_atoms=trend_atoms)
chapter.check(require_sizes, 1, late_batches=late_batches)
chapter.check(require_sizes, 1, energy_temperatures=energy_temperatures)
chapter.check(require_sizes, 2, course_noises=course_noises)
chapter.check(require_room, atoms, dims=dims)
encoder = chapter.check(arm_training, data, "none", depth, width, epochs)
images = chapter.check(labelled_images, data, seed, chapter.device)
recipe = chapter.check(
    DecoupledTraining,
    batch=batch,
    negatives=negatives,
    learning_rate=learning_rate,
    temperature=temperature,
    weight_decay=0.002,
    cap=cap,
    grown=0.7,
)
sizes = block, atoms, dim, neurons, active, noise, start_norm
setting = chapter.check(Setting, *sizes, recipe)


# %% tags=["hide-input"]
chapter.check(require_sizes, 2, course_decays=course_decays)


# %% tags=["hide-input"]
def with_spread(values):
    return f"{float(values.mean()):.2f} ± {float(values.std()):.2f}"


# %% [markdown]
# ## The model
#
# Here is one datum and what becomes of it.

# %% tags=["hide-input", "remove-output"]
drawing = SparseCoding(walsh[None], 0.04, 0.35)
one_z = torch.tensor([0.0, 1.0, 0.0, 0.0])
signal_part = walsh @ one_z
noise_part = drawing.dense_noise(1, [stream(seed, 1, "drawing")])[0, 0]
order = torch.randperm(32, generator=stream(seed, 0, "drawing mask"))
half_mask = (order < 16).double()
whole_x = signal_part + noise_part
rows = (
    ("$Mz$", 1 + 0 * half_mask, signal_part),
    (r"$x=Mz+\xi$", 1 + 0 * half_mask, whole_x),
    ("$D$", half_mask, None),
    ("$x^+=2Dx$", 2 * half_mask, whole_x),
    ("$x^{++}=2(I-D)x$", 2 - 2 * half_mask, whole_x),
)
fig, axes = plt.subplots(5, 1, figsize=(7.8, 3.6), sharex=True, layout="constrained")
for ax, (name, factor, values) in zip(axes, rows, strict=True):
    places = np.arange(32)
    if values is None:
        ax.imshow(half_mask[None].cpu(), cmap="Greys", aspect="auto", vmin=0, vmax=1.4)
    else:
        if name != "$Mz$":
            ax.bar(places, (factor * values).cpu(), 0.9, color=VERMILION, alpha=0.6)
        ax.step(places, (factor * signal_part).cpu(), where="mid", color=BLUE)
        ax.set_ylim(-2.3, 2.3)
    ax.set_ylabel(name, rotation=0, ha="right", va="center")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
fig.suptitle(
    "Each view keeps the signal's shape, and none of the other's noise",
    x=0.01,
    ha="left",
)
glue.figure(fig, "fd-plot-datum")

# %% [markdown]
# ```{glue:figure} fd-plot-datum
# :alt: Five strips of 32 numbers. A step-shaped signal; the signal under larger random bars; a random mask of black and white cells; the two views, each with bars where the other has none.
# :name: fd-fig-datum
#
# A datum of 32 numbers (bars) with one signal (line), a mask $D$, and the two views. Look at the two last rows: where one view has a bar the other has none. <a href="#masks:both=0"></a>
# ```
#
# ```{prf:definition} 2.1 and 2.3 of the paper, restored
# :label: fd-def-model
# :nonumber:
# A datum is $x=Mz+\xi\in\mathbb R^{d_1}$. The dictionary $M\in\mathbb R^{d_1\times d}$ has orthonormal columns, the *atoms* $M_j$, with entries of the order $1/\sqrt{d_1}$. The $z_j\in\{-1,0,1\}$ are independent and symmetric with $p=\Pr(z_j\ne0)=\Theta(\log\log d/d)$, and $\xi\sim\mathcal N(0,\sigma_\xi^2I)$ with $\sigma_\xi^2=\Theta(\sqrt{\log d}/d)$. Directions orthogonal to all atoms are called *dense*.
#
# RandomMask draws a diagonal $D$ with independent Bernoulli($\tfrac12$) entries and sets $x^+=2Dx$, $x^{++}=2(I-D)x$. Without augmentation $x^+=x^{++}=x$.
# ```
#
# The noise is long and the signal is short: $\lVert\xi\rVert^2\approx\sigma_\xi^2d_1$ against $\lVert Mz\rVert^2\approx pd$. Yet along an atom that is present the signal is one and the noise only about $\sigma_\xi$. Two data have almost no noise in common; their signals may share an atom ([checks](fd-a-data)). Here $p=${glue:text}`fd-active:.2g`$\,\log\log d/d$ and $\sigma_\xi^2=${glue:text}`fd-noise:.2g`$\,\sqrt{\log d}/d$.
#
# The learner is a layer of $m$ neurons. Each applies a soft threshold, its bias $b_i$, to $\langle w_i,x\rangle$:
#
# $$
# f_i(x)=\operatorname{ReLU}(\langle w_i,x\rangle-b_i)-\operatorname{ReLU}(-\langle w_i,x\rangle-b_i).
# $$ (fd-eq-learner)
#
# Similarity is $\langle f(x),f(x')\rangle$; the gradient does not pass through $f(x')$. With $N$ negatives $x_s$, not augmented, the loss is
#
# $$
# L=-\tau\,\mathbb E\log\ell_p,\qquad\ell=\operatorname{softmax}\bigl(\langle f(x^+),f(\cdot)\rangle/\tau\bigr)\ \text{over}\ x^{++}\ \text{and the}\ x_s ,
# $$ (fd-eq-loss)
#
# and $\ell_p$ is the share of $x^{++}$, $\ell_s$ that of $x_s$. By the chain rule
#
# $$
# \frac{\partial L}{\partial w_i}=-\mathbb E\Bigl[\Bigl((1-\ell_p)f_i(x^{++})-\sum_s\ell_sf_i(x_s)\Bigr)\mathbb 1\{|\langle w_i,x^+\rangle|\ge b_i\}\,x^+\Bigr]
# $$ (fd-eq-gradient)
#
# for $b_i\ge0$; [a negative one](fd-a-gradient) opens both branches near zero.
#
# Training is SGD on fresh data, with weight decay $\lambda=0.002$. The paper sets biases by hand: $b_i=0$ until $T_1$, when all $\lVert w_i\rVert$ have grown to order one (to {glue:text}`fd-grown:.1f` for us); then $b_i=\sqrt{2\log d/d}\,\lVert w_i\rVert$, raised by a factor $1+\eta/d$ a step. The rest of the schedule is lost in our copy; we let $b_i$ rise at least as fast as $\lVert w_i\rVert$, up to {glue:text}`fd-cap:.2g`$\,\lVert w_i\rVert$. Without augmentation $b_i=0$ where nothing else is said.

# %% [markdown]
# ```{strip}
# $f$, the soft threshold | symmetrised_relu.symmetrised_relu: return
# $\sum_s\ell_sf_i(x_s)$ taken from the positive | symmetrised_relu.contrastive_gradient: pull =
# weights after a step | training_schedule.sgd_step: weights =
# bias after $T_1$ | training_schedule.sgd_step: raised =
# ```

# %% tags=["hide-input"]
glue.number("fd-active", active)
glue.number("fd-noise", noise)
glue.number("fd-cap", cap)
glue.number("fd-grown", recipe.grown)

# %% [markdown]
# ## A mask hides the noise of a pair, not its signal
#
# The two halves of a photograph agree on what is spread over both. Noise of single pixels is not spread, so the halves cannot agree on it.
#
# ```{prf:lemma} beside Lemma C.2 of the paper: the moment of a pair
# :label: fd-lem-c2
# :nonumber:
# At every rate of the mask
#
# $$
# \mathbb E\,x^+x^{++\top}=p\,\bigl(MM^\top-\operatorname{diag}MM^\top\bigr),\qquad\text{without a mask}\quad p\,MM^\top+\sigma_\xi^2I .
# $$ (fd-eq-moment)
# ```
#
# *Idea of the proof.* Let an entry of $D$ be 1 with probability $\rho$ and the views be $Dx/\rho$ and $(I-D)x/(1-\rho)$. Then $\mathbb E\,D_i(1-D_k)=\rho(1-\rho)$ for $i\ne k$, and 0 for $i=k$. So the diagonal of $\mathbb E\,xx^\top$ goes and all else stays. White noise is all diagonal. If all atoms are *flat*, $|M_{ij}|=1/\sqrt{d_1}$, the diagonal of $p\,MM^\top$ is only $p\,d/d_1$ times the identity.
#
# We enumerate every $z$, every mask, and the noise by two points per coordinate, which is exact for second moments.

# %% [markdown]
# ```{strip}
# $p\,MM^\top$ | view_correlation.cross_moment: moment =
# its diagonal taken away, with a mask | view_correlation.cross_moment: return moment -
# $x^{++}=(I-D)x/(1-\rho)$ | sparse_coding.SparseCoding.views: second = (x - first)
# ```

# %% tags=["hide-input"]
tiny = SparseCoding(
    random_dictionary(4, 2, streams(block, 1, "tiny"), dtype=torch.float64), 0.3, 0.7
)
moments_off = {
    f"{kind} ρ={rho}": relative_error(
        enumerated_cross_moment(tiny, kind, rho), cross_moment(tiny, kind)
    )
    for kind in ("masked", "independent", "plain")
    for rho in (0.5, 0.3)
}
kept = enumerated_cross_moment(tiny, "masked", 0.5)
whole = 0.3 * tiny.dictionary @ tiny.dictionary.mT  # the diagonal not taken away

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-c2", observed=moments_off, control=relative_error(kept, whole))

# %% [markdown]
# :::{admonition} Quick question: which entries of $\mathbb E\,xx^\top$ does the mask change, and why not take two independent masks?
# :class: dropdown
#
# Those of the diagonal alone. Under two independent masks a coordinate that both views show brings its noise, twice as large in each, and on average nothing is gained.
# :::

# %% [markdown]
# In the words of the paper (Section 4), augmentation should make "the dense signals completely different between the positive samples while preserve the correlations of sparse signals". We draw pairs and measure both.

# %% tags=["hide-input"]
pair_model = setting.coding(atoms, dim, dtype=single)
dense = complement(pair_model.dictionary)[..., :64]
rates = (0.25, 0.5, 0.75)
points = local_dictionary(dim, atoms, 2, streams(block, 1, "points"), dtype=single)
local = SparseCoding(points, pair_model.active, pair_model.noise)


def seen_along(model, directions, kind, rho, count=4096):
    """⟨v, x⁺⟩ and ⟨v, x⁺⁺⟩ on drawn pairs, [run, pair, direction] each."""
    x = model.sample(count, streams(block, 1, "pairs"))[1]
    pair = model.views(x, streams(block, 1, "masks"), kind, rho)
    return [view @ directions for view in pair]


def correlation(model, directions, kind, rho):
    """Of the two views along some directions together, one a seed."""
    a, b = seen_along(model, directions, kind, rho)
    sizes = a.square().mean((1, 2)) * b.square().mean((1, 2))
    return (a * b).mean((1, 2)) / sizes.sqrt()


def signal_share(model, rho):
    """E ⟨M_j, x⁺⟩⟨M_j, x⁺⁺⟩ over its value p without noise and mask, one a seed."""
    a, b = seen_along(model, model.dictionary, "masked", rho)
    return (a * b).mean((1, 2)) / model.active


# %% tags=["hide-input"]
masked_noise, noise_of_two = (
    {rho: correlation(pair_model, dense, kind, rho).abs() for rho in rates}
    for kind in ("masked", "independent")
)
lost, lost_at_a_point = (
    {rho: 1 - signal_share(model, rho) for rho in rates}
    for model in (pair_model, local)
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("principle", observed=masked_noise, control=noise_of_two)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge("principle-a", observed=lost, control=lost_at_a_point)

# %% tags=["hide-input", "remove-output"]
kinds = {
    "masked": "mask and complement",
    "independent": "two independent masks",
    "plain": "no mask",
}
fig, axes = plt.subplots(2, 3, figsize=(7.8, 4.8), layout="constrained")
quiet = setting.coding(atoms, dim, dtype=single, noise=noise / 8)  # for the eye
one_dense = setting.dense_directions(quiet.dictionary, 1)
slope_of = {}
directions = (
    ("an atom", quiet.dictionary[..., :1], BLUE, 1.8),
    ("a dense direction", one_dense, VERMILION, 6 * float(quiet.noise)),
)
for (what, v, ink, reach), line in zip(directions, axes, strict=True):
    for (kind, name), ax in zip(kinds.items(), line, strict=True):
        a, b = (x[0, :1500, 0].cpu() for x in seen_along(quiet, v, kind, 0.5))
        ax.plot(a, b, ".", color=ink, ms=3, alpha=0.35, rasterized=True)
        slope = slope_of[what, kind] = float((a * b).sum() / a.square().sum())
        ax.axline((0, 0), slope=slope, **colours.THEORY | {"linestyle": "-"})
        ax.text(0.04, 0.9, f"slope {slope:.2f}", transform=ax.transAxes)
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach))
        ax.locator_params(nbins=3, symmetric=True)
        ax.set_aspect("equal")
        if what == "an atom":
            ax.set_title(name, weight="normal")
    line[0].set_ylabel(f"{what}\n" + r"$\langle v,x^{++}\rangle$")
for ax in axes[1]:
    ax.set_xlabel(r"$\langle v,x^+\rangle$")


def views_title(slope):
    """What one view's noise says of the other's under a mask and its complement."""
    told = f"says {slope:.2f} of" if abs(slope) >= 0.1 else "says nothing of"
    return f"With a mask and its complement, one view's noise {told} the other's"


title = views_title(slope_of["a dense direction", "masked"])
fig.suptitle(title, x=0.01, ha="left")
glue.figure(fig, "fd-plot-views")

# %% [markdown]
# ```{glue:figure} fd-plot-views
# :alt: Six scatter plots of one view against the other, along an atom and along a dense direction, for a mask and its complement, two independent masks and no mask. Only the plot of the dense direction under a mask and its complement is round.
# :name: fd-fig-views
#
# One view against the other, along an atom (top) and a dense direction (bottom), with an eighth of the page's noise, for the eye; lines are least-squares slopes. Look at the lower left panel, the only round one. Each column opens the live picture: <a href="#masks:both=0&stage=100">a mask and its complement</a>, <a href="#masks:both=50&stage=100">independent masks</a>, <a href="#masks:both=100&stage=100">none</a>.
# ```

# %% [markdown]
# :::{admonition} Quick question: why must atoms be spread out, and noise white?
# :class: dropdown
#
# A mask that hides the only coordinate of an atom hides the signal: the paper asks for $\lVert M_j\rVert_\infty\le\tilde O(1/\sqrt{d_1})$. Correlated noise is shared by disjoint views; the paper's footnote 1 allows [louder directions](fd-a-louder).
# :::

# %% [markdown]
# ## One curve, two stops
#
# Signals outgrow the rest by the same factor with a mask and without. Without one the rest grows as well, so weights are fully grown before they point to the signals.
#
# The *first stage* of training lasts until $T_1$. Weights are small, the softmax is flat ($\ell=1/(N+1)$), $b=0$, and the negatives average out. What is left of {eq}`fd-eq-gradient` is linear: with $C=\mathbb E\,x^+x^{++\top}$ and $\kappa=\eta N/(N+1)$ a step adds $\kappa\,Cw_i$ ([the gradient and its rates](fd-a-gradient)).
#
# ````{prf:theorem} C.1 of the paper, restored
# :label: fd-thm-c1
# :nonumber:
# ```{claim} thm-c1
# ```
#
# ```{claim} app-a.2
# ```
# ````
#
# *Idea of the proof.* For flat atoms $C$ with a mask is $C$ without one minus $(\sigma_\xi^2+pd/d_1)I$. So all directions lose the same rate. The *share* of a neuron's squared length in span$(M)$ starts at $d/d_1$; at step $t$ it is, in both runs (for small steps, with squared lengths averaged over starts),
#
# $$
# s(t)=\frac1{1+\frac{d_1-d}d\,e^{-2\kappa pt}} .
# $$ (fd-eq-share)
#
# Now ask where each run stops. Let $W$ be the factor by which weights grow until $T_1$. With a mask dense directions do not grow at all, so in the population the share at $T_1$ is at least $1-W^{-2}$; the noise of a real batch keeps it below (the card). Without a mask all directions grow from the first step, and the share at $T_1$ is below one half if and only if $W$ is below a certain number, {glue:text}`fd-half:.0f` at our main $d_1$; for $d_1\gg d$ the condition reads
#
# $$
# 2\,\frac p{\sigma_\xi^2}\,\log W<\log\frac{d_1}d .
# $$ (fd-eq-condition)
#
# At the paper's scales $p/\sigma_\xi^2\to0$ like $\log\log d/\sqrt{\log d}$ and $\log W$ is of the order of $\log d$, so if $d_1$ is a power of $d$ above the first, it holds for all large $d$, though the limit is approached very slowly. Our start and noise meet it: $W=$ {glue:text}`fd-grow:.0f`.

# %% [markdown]
# ```{strip}
# $2\kappa pt-\log\frac{d_1-d}d$ | stage_one.decoupling_clock: return
# $s$, the logistic function of it | stage_one.logistic_share: return
# $W$ with a share of one half at $T_1$ | stage_one.factor_of_half: return
# ```

# %% [markdown]
# A step of SGD adds noise in all $d_1$ directions, so the batch grows with $d_1$, to {glue:text}`fd-batch:.0f` pairs. We take the share at $T_1$, mean over neurons; untrained networks have $d/d_1$.

# %% tags=["hide-input"]
first_part = max(10, 2 * steps // 5)
often = set(range(0, first_part, max(1, first_part // 28)))
marks = sorted(often | {k * steps // 14 for k in range(15)})
brief = sorted(
    set(range(0, 60, 2)) | set(range(60, 141, 20))
)  # the first stage without a mask
full_loss = temperature * math.log(1 + negatives)  # where all outputs are alike
middle_dim = dims[1]
course_steps = max(100, steps // 2)  # of the runs without a mask and without a bias
plain_marks = [k for k in marks if k <= course_steps]


def trained(d1, options, record_at, label, noise_level=noise, runs=None):
    """The model and a training of every seed of the block, or of the first few."""
    who = setting if runs is None else replace(setting, seeds=block[:runs])
    begun = who.begin(d1, options, noise_level)

    def run():
        watch = lambda items: chapter.progress(items, label)  # noqa: E731
        return train(*begun, record_at, watch)._asdict()

    return begun.model, Course(**chapter.piece(label, run))


# %% tags=["hide-input"]
unmasked = replace(recipe, views="plain", bias="zero")
masked = {d1: trained(d1, recipe, marks, f"masked, d₁ = {d1}") for d1 in dims}
plain = {
    d1: trained(
        d1, unmasked, plain_marks if d1 == dim else brief, f"unmasked, d₁ = {d1}"
    )
    for d1 in dims
}
early_plain = trained(dim, unmasked, brief, "unmasked, first stage")[1]
twice = replace(unmasked, views="independent")
twice_course = trained(dim, twice, brief, "independent masks")[1]
glue.number("fd-batch", batch)


# %% tags=["hide-input"]
def share_at(course, model, when):
    """Mean share in span(M) at the first record from step `when`, one a run."""
    shares = span_share(course.weights, model.dictionary).mean(-1)
    late = (course.steps[:, None] >= when).long().argmax(0)
    return shares.gather(0, late[None])[0]


def share_at_t1(course, model):
    return share_at(course, model, course.grown_at)


def rates_of(d1, views):
    """Growth a step along atoms and along dense directions, for flat atoms."""
    kappa = learning_rate * negatives / (negatives + 1)
    decay = learning_rate * recipe.weight_decay
    return flat_rates(atoms, d1, p, sigma, views, kappa, decay)


halves = {d1: factor_of_half(atoms, d1, rates_of(d1, "plain")) for d1 in dims}
grow_by = recipe.grown / start_norm
dense_at_t1 = [d1 for d1 in dims if halves[d1] > 2 * grow_by]  # clear of the line
glue.number("fd-half", halves[dim])
glue.number("fd-grow", grow_by)
model, course = masked[dim]
first_plain = {d1: plain[d1][1] for d1 in dims} | {dim: early_plain}
stages = [c for _, c in masked.values()] + [*first_plain.values(), twice_course]
reached = all(bool((c.grown_at >= 0).all()) for c in stages)
at_t1 = {d1: share_at_t1(c, m) for d1, (m, c) in masked.items()}
at_t1_plain = {d1: share_at_t1(c, masked[d1][0]) for d1, c in first_plain.items()}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-c1", observed=at_t1, control=share_at_t1(twice_course, model), regime=reached
)

# %% [markdown]
# Until $T_1$, says Appendix A.2 of the paper, neurons emphasise "the entire subspace of sparse features": a neuron's largest coefficient (its *best atom*) should be no larger than that of a random direction in span$(M)$.

# %% tags=["hide-input"]
of_mixtures = [torch.randn(4000, atoms, generator=g) for g in streams(block, 1, "even")]
of_mixtures = torch.stack(of_mixtures).square()
by_luck_alone = (of_mixtures.amax(-1) / of_mixtures.sum(-1)).mean()


def unevenness(run, when):
    """Best atom over the share in span(M), over that of random directions; one a run."""
    m, c = run
    shares = atom_shares(c.weights, m.dictionary)
    found = (shares.amax(-1) / shares.sum(-1)).mean(-1)
    late = (c.steps[:, None] >= when).long().argmax(0)
    return found.gather(0, late[None])[0].double() / float(by_luck_alone)


# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "app-a.2",
    observed=unevenness(masked[dim], course.grown_at),
    control=unevenness(masked[dim], torch.full_like(course.grown_at, steps)),
    regime=reached,
)

# %% [markdown]
# **Without a mask**, says the paper (Appendix A.5), the sparse signals "will not be emphasized during any stage of training". At $T_1$ this holds in the paper's limit {eq}`fd-eq-condition`. We take the $d_1$ at which $W$ is at most half of the number above, and show quieter noise, $\sigma_\xi^2=${glue:text}`fd-quiet:.2g`$\,\sqrt{\log d}/d$, beside it.

# %% tags=["hide-input"]
forget_marks = sorted(
    {round(course_steps * 10 ** (-1.6 * (1 - k / 23))) for k in range(24)}
    | {0}
    | set(range(0, min(200, course_steps), 10))
)
courses = {
    level: trained(
        middle_dim, unmasked, forget_marks, f"unmasked, noise {level}", level
    )
    for level in course_noises
}
quietest = min(course_noises)
glue.number("fd-quiet", quietest)
quiet_model, quiet_course = courses[quietest]
outside_t1 = share_at_t1(quiet_course, quiet_model)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-c1-a",
    observed={d1: at_t1_plain[d1] for d1 in dense_at_t1},
    control=at_t1[dim],
    outside=outside_t1,
    regime=reached and bool(dense_at_t1),
)

# %% tags=["hide-input", "remove-output"]
# the runs in the colours of this page: a mask is solid, none dashed, two masks dotted
MASKED = {"color": BLUE, "linestyle": "-", "marker": "o"}
UNMASKED = {"color": VERMILION, "linestyle": "--", "marker": "v"}
TWO_MASKS = {"color": colours.GREY, "linestyle": ":", "marker": "s"}
BIASED = {"color": GREEN, "linestyle": "--", "marker": "D"}  # a threshold, no mask
UNTRAINED = {"color": colours.GREY, "linestyle": "-", "marker": "x"}


def band(ax, x, values, **look):
    """Mean over runs, from the least to the largest; values [time, run]."""
    x, values = torch.as_tensor(x).cpu(), values.cpu()
    ax.plot(x, values.mean(-1), **look)
    ax.fill_between(
        x, values.amin(-1), values.amax(-1), color=look["color"], alpha=0.2, lw=0
    )


def until_t1(course, model):
    """Steps and mean share in span(M) of the first run, up to T1."""
    t1 = int(course.grown_at[0])
    kept = course.steps <= (t1 if t1 >= 0 else course.steps[-1])
    shares = span_share(course.weights[kept, :1], model.dictionary[:1]).mean((1, 2))
    return course.steps[kept].cpu(), shares.cpu()


def stops_title(with_mask, without, all_grown):
    """Where the runs stop; shares at T1, one tensor for each d1."""
    low = min(float(share.mean()) for share in with_mask)
    high = max(float(share.mean()) for share in without)
    if not all_grown:
        return "One curve; not every run is grown when it ends"
    if low <= high:
        return f"One curve: with a mask at least {low:.0%} signal, without up to {high:.0%}"
    return f"One curve, two stops: {low:.0%} signal or more with a mask, {high:.0%} or less without"


# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(7.4, 4.0), layout="constrained")
kappa = learning_rate * negatives / (negatives + 1)
clock = torch.linspace(-4, 14, 200)
ax.plot(clock.cpu(), logistic_share(clock).cpu(), color="k", lw=1.2, zorder=1)
arms = (
    (UNMASKED, "none", {d1: (masked[d1][0], c) for d1, c in first_plain.items()}),
    (MASKED, "full", masked),
)
for look, fill, runs in arms:
    for k, ((d1, (m, c)), mark) in enumerate(zip(runs.items(), "^so", strict=False)):
        when, shares = until_t1(c, m)
        x = decoupling_clock(atoms, d1, kappa * p, when.double())
        ax.plot(x, shares, color=look["color"], ls=look["linestyle"], lw=1)
        dot = {"ms": 9, "fillstyle": fill, "zorder": 4, "color": look["color"]}
        ax.plot(x[-1], shares[-1], mark, **dot)
        beside = ((7, 7), (7, -15), (-20, -17))[k] if runs is masked else (7, -15)
        place = x[-1], float(shares[-1])
        ax.annotate(f"{d1}", place, beside, textcoords="offset points")
        if runs is masked:
            size = max(1, batch * d1 // dim)
            line = share_with_batch_noise(
                atoms, d1, p, sigma, size, int(when[-1]), kappa, recipe.weight_decay
            )
            at = torch.arange(len(line), dtype=torch.float64)
            x = decoupling_clock(atoms, d1, kappa * p, at).cpu()
            ax.plot(x, line.cpu(), **colours.THEORY | {"lw": 0.9})
keys = [
    tuple(
        ax.plot([], [], mark, color=look["color"], fillstyle=fill)[0] for mark in "^so"
    )
    for look, fill in ((MASKED, "full"), (UNMASKED, "none"))
]
keys += ax.plot([], [], "-", color="k", lw=1.2) + ax.plot([], [], **colours.THEORY)
ax.legend(
    keys,
    [
        "$T_1$ with a mask",
        "$T_1$ without",
        "the population",
        "with the noise of a batch",
    ],
    handler_map={tuple: plt.matplotlib.legend_handler.HandlerTuple(ndivide=None)},
    loc="lower right",
)
ax.set(xlabel=r"$2\kappa pt-\log\frac{d_1-d}{d}$", ylabel="share in span$(M)$")
ax.set(ylim=(0, 1.03), xlim=(-4, 14))
ax.set_title(stops_title(at_t1.values(), at_t1_plain.values(), reached), size=11)
glue.figure(fig, "fd-plot-curve")

# %% [markdown]
# ```{glue:figure} fd-plot-curve
# :alt: Share of the weights in the span of the dictionary against a common clock. Runs with and without a mask rise along one logistic curve; open markers are the stops of the runs without a mask, filled ones those of the masked runs. By default the open ones are on its lower part, the filled ones where it is nearly one, clearly below it.
# :name: fd-fig-curve
#
# One run for each $d_1$ (the number at its stop), with a mask (blue, filled) and without (vermilion, open). Look where the markers stop. Black is {eq}`fd-eq-share`; dotted, how far the [noise of a batch](fd-a-stage-one) holds a run below it. <a href="#masks:both=100&stage=100"></a>
# ```
#
# The two stops in a single neuron: <a class="again" href="#masks:both=100&stage=100">without a mask it is grown before it has turned to the signal</a>.
#
# ## After the first stage, without a mask
#
# Signals are ahead when noise is quiet. Guess what becomes of them:

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(7.4, 3.4), layout="constrained")
followed_steps = 400
of_picture = {"start": 0.16, "negatives": 256, "temperature": 20.0}
quiet_p = paper_scales(16, 0.5, 1.0)[0]
for weight_decay, line_width in ((0.0, 1.0), (0.002, 2.4)):
    two = two_lengths(
        16,
        128,
        quiet_p,
        (0.8 * quiet_p) ** 0.5,
        followed_steps,
        decay=weight_decay,
        **of_picture,
    )
    for values, ink, dash in ((two.signal, BLUE, "-"), (two.noise, VERMILION, "--")):
        ax.plot(
            range(10, followed_steps + 1),
            values[10:].cpu(),
            dash,
            color=ink,
            lw=line_width,
        )
for values, ink, name in (
    (two.signal, BLUE, "signal"),
    (two.noise, VERMILION, "noise"),
):
    place = {"textcoords": "offset points", "va": "center", "color": ink}
    ax.annotate(name, (followed_steps, float(values[-1])), (6, 0), **place)
ax.set(xscale="log", xlabel="step", ylabel="squared length", ylim=(0, None))
ax.set_xticks([10, 100, followed_steps], ["10", "100", str(followed_steps)])
ax.set_title(r"No mask, $\sigma_\xi^2/p=0.8$: thin without weight decay, thick with")
alt = "Squared lengths of signal and noise over training steps without a mask, thin without weight decay and thick with. Signals grow first and stop, and noise grows past them; with decay the signals then fall."
glue.explorable(fig, "overgrown", alt)

# %% [markdown]
# The picture follows [two numbers](fd-a-lengths), what all neurons hold of the signals and of the noise. <a href="#overgrown:step=62">Signals come first</a>, <a href="#overgrown:step=100">noise outgrows them</a>, and <a href="#overgrown:step=100&amp;decay=2">weight decay</a> shrinks what no gradient renews. In <a href="#overgrown:step=100&amp;noise=3.2">louder noise</a> the peak is lower.
#
# Why? Once pairs agree, the loss asks what tells a datum from others. Others share your signals. Nobody shares your noise. Without a mask and with $b=0$, minus the gradient {eq}`fd-eq-gradient` is $\mathbb E\sum_s\ell_s\langle w_i,x-x_s\rangle\,x$, as $1-\ell_p=\sum_s\ell_s$. So a neuron that points along $v$ grows along it at the rate
#
# $$
# \mathbb E\sum_s\ell_s\,\langle v,x\rangle\,\langle v,x-x_s\rangle .
# $$ (fd-eq-contrast)
#
# At first all $\ell_s$ are equal: the first stage. Later $\ell_s$ sits on the negatives that resemble $x$, and these share its atoms: for them $\langle M_j,x-x_s\rangle$ is zero but for noise, and the signals stop growing. Along a dense direction no negative resembles $x$, so the noise grows on until the loss is zero. With a mask $\langle v,x^{++}\rangle$ has no noise of $x^+$ in it, so there is nothing to grow on.
#
# ````{prf:theorem} 3.2 of the paper, restored
# :label: fd-thm-3.2
# :nonumber:
# ```{claim} thm-3.2
# ```
# ```{claim} thm-3.2-a
# ```
# ````
#
# Both are means over the second half of the run, on data with a signal, at $b=0$ and at a small bias, {glue:text}`fd-small-bias:.2g`$\,\lVert w_i\rVert$: footnote 3 of the paper lets biases "be tuned arbitrarily as long as the neurons are not killed". At the thresholds of the masked run, some $2\sigma_\xi\lVert w_i\rVert$, a neuron hardly fires on noise alone; unless one calls that killed, the footnote does not hold at our $p/\sigma_\xi^2$ (`fn-3`).

# %% [markdown]
# ```{strip}
# $\cos(f(x),f(\xi))$ | decoupling_scores.noise_dominance: cosine =
# $f(x)$ from $\langle w_i,\xi\rangle$ and $\langle w_i,Mz\rangle$ | decoupling_scores.noise_dominance: of_data =
# ```

# %% tags=["hide-input"]
biased = trained(dim, replace(recipe, views="plain"), marks, "unmasked, with the bias")
small_bias = 0.1  # over ‖w‖: a third of σ_ξ at d = 16
gentle = replace(recipe, views="plain", cap=small_bias)
gentle = trained(dim, gentle, plain_marks, "unmasked, with a small bias")
glue.number("fd-small-bias", small_bias)
two_with_bias = trained(
    dim,
    replace(recipe, views="independent"),
    [0, steps],
    "independent masks, with the bias",
)
fresh = (masked[dim][0], Course(*(x[:1] for x in course[:4]), course.grown_at))


def mean_cosine(run, time=-1, count=1000):
    """cos(f(x), f(ξ)), 0 where f(ξ) = 0, over data with a signal, one a run."""
    m, c = run
    draws = streams(block, 1, "dominance")
    seen = noise_dominance(m, *c.learner(time), count, draws)
    signal = (m.latents(count, streams(block, 1, "dominance")) != 0).any(-1)
    return (seen.cosine.nan_to_num(0.0).double() * signal).sum(-1) / signal.sum(-1)


def second_half(run, read):
    """Mean of a reading over the records of the second half of the steps."""
    late = (run[1].steps >= run[1].steps[-1] / 2).nonzero()[:, 0].tolist()
    return torch.stack([read(run, t) for t in late]).mean(0)


def loss_left(run, time=-1):
    """Loss of the next batch over that of equal outputs, one a run."""
    return run[1].loss[time].double() / full_loss


# %% tags=["hide-input"]
arms = {"b = 0": plain[dim], "small b": gentle, "with b": biased, "masked": masked[dim]}
cosines = {name: second_half(run, mean_cosine) for name, run in arms.items()}
losses = {name: second_half(run, loss_left) for name, run in arms.items()}
cosines["untrained"], losses["untrained"] = mean_cosine(fresh), loss_left(fresh)
print(f"{'second half of the run':22} {'loss':>12} {'cosine':>14}")
names = {
    "untrained": "untrained",
    "b = 0": "no mask, b = 0",
    "small b": "no mask, small bias",
    "with b": "no mask, with bias",
    "masked": "mask and bias",
}
for name, shown in names.items():
    print(
        f"{shown:22} {with_spread(losses[name]):>12} {with_spread(cosines[name]):>14}"
    )

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-3.2",
    observed={k: losses[k] for k in ("b = 0", "small b")},
    control=losses["untrained"],
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-3.2-a",
    observed={k: cosines[k] for k in ("b = 0", "small b")},
    control=cosines["masked"],
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "fn-3",
    observed=losses["small b"],
    control=losses["untrained"],
    outside=losses["with b"],
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "fn-3-a",
    observed=cosines["small b"],
    control=cosines["masked"],
    outside=cosines["with b"],
)

# %% [markdown]
# A loss near zero is possible without any signal, since noises of different data are nearly orthogonal:
#
# ````{prf:lemma} F.2 of the paper, restored
# :label: fd-lem-f2
# :nonumber:
# ```{claim} lem-f2
# ```
# ````
#
# *Idea of the proof.* $\langle f(x),f(x)\rangle\gg\langle f(x),f(x_s)\rangle$ by Johnson–Lindenstrauss. At the scale $\lVert w_i\rVert^2=\tau/\sigma_\xi^2$ the loss is at most $\tau N2^{-m/2}$.


# %% tags=["hide-input"]
def built_loss(weights, bias):
    """Over unmasked pairs."""
    pairs = replace(unmasked, batch=2048)
    return setting.loss_share(masked[dim][0], weights, bias, pairs, "F.2")


atoms_of = masked[dim][0].dictionary
dense_built = built_loss(
    *dense_learner(
        atoms_of, neurons, temperature**0.5 / sigma, streams(block, 1, "F.2 start")
    )
)
sizes_c = [temperature**0.5 * c for c in (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)]
raised = torch.stack(
    [built_loss(*singleton_learner(atoms_of, c, cap)) for c in sizes_c]
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge("lem-f2", observed=dense_built, control=raised.amin(0))

# %% [markdown]
# **Noise overgrows the signals.** Theorem 3.2 of the paper speaks of the end; the surprise is the way there. With one negative instead of {glue:text}`fd-negatives:.0f` the share of the signals ends at {glue:text}`fd-lonely:.2f` of its largest: the [negatives](fd-a-beyond) do it.


# %% tags=["hide-input"]
def energies(run):
    """Σ‖w‖² inside and outside of span(M), and the share of a neuron, [time, run]."""
    m, c = run
    square, share = c.weights.square().sum(-1), span_share(c.weights, m.dictionary)
    return (square * share).sum(-1), (square * (1 - share)).sum(-1), share.mean(-1)


keeping = replace(recipe, bias="zero")
kept_courses = {
    level: trained(
        middle_dim, keeping, forget_marks, f"masked, b = 0, noise {level}", level
    )
    for level in course_noises
}
lonely = trained(
    middle_dim, replace(unmasked, negatives=1), forget_marks, "one negative", quietest
)


def kept_of_peak(run):
    """Share in span(M) at the end over its largest value, one a run."""
    share = energies(run)[2].double()
    return share[-1] / share.amax(0)


def ratio_of(level):
    """p/σ²."""
    return p / paper_scales(atoms, active, level)[1] ** 2


forgotten = {f"p/σ² = {ratio_of(k):.2f}": kept_of_peak(v) for k, v in courses.items()}
remembered = {
    f"p/σ² = {ratio_of(k):.2f}": kept_of_peak(v) for k, v in kept_courses.items()
}
glue.number("fd-lonely", kept_of_peak(lonely).mean())
glue.number("fd-negatives", negatives)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("forget", observed=forgotten, control=remembered)

# %% [markdown]
# **What does weight decay do?** We train without it, too. For a linear probe we take its $R^2$ over the ceiling {eq}`fd-eq-ceiling` of all linear representations.


# %% tags=["hide-input"]
def course_at(decay, level):
    """The unmasked course of a noise at a weight decay; that of 0.002 is there."""
    if decay == recipe.weight_decay:
        return courses[level]
    how, label = replace(unmasked, weight_decay=decay), f"noise {level}, λ = {decay:g}"
    return trained(middle_dim, how, forget_marks, f"unmasked, {label}", level)


fading = {each: course_at(*each) for each in product(course_decays, course_noises)}
least_decay, most_decay = course_decays[0], course_decays[-1]


# %% tags=["hide-input"]
def signal_kept(run):
    """Squared length in span(M) at the end over its largest value, one a run."""
    inside = energies(run)[0].double()
    return inside[-1] / inside.amax(0)


def seen_by_a_probe(run, time=-1):
    """R² of the best linear probe over the ceiling, mean over eight tasks, one a run."""
    m, c = run
    asked = draw_w_star(streams(block, 1, "w*"), atoms, 8)
    limit = linear_limit(c.weights[time], m.dictionary, m.active, m.noise, asked)
    return limit.mean(-1) * (1 + m.noise**2 / m.active)


def by_noise(decay, read):
    return {f"p/σ² = {ratio_of(k):.2f}": read(fading[decay, k]) for k in course_noises}


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "overgrown-a",
    observed=by_noise(least_decay, signal_kept),
    control=by_noise(most_decay, signal_kept),
    regime=least_decay == 0,
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "overgrown",
    observed=by_noise(least_decay, kept_of_peak),
    control=remembered,
    regime=least_decay == 0,
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "still-there",
    observed={
        f"λ = {decay:g}, {name}": value
        for decay in course_decays
        for name, value in by_noise(decay, seen_by_a_probe).items()
    },
    control=by_noise(least_decay, lambda run: seen_by_a_probe(run, 0)),
)

# %% [markdown]
# How does this fit with "during any stage"? The paper speaks of the limit $p/\sigma_\xi^2\to0$. So the peak itself should become lower as $p/\sigma_\xi^2$ does.


# %% tags=["hide-input"]
def peak_power(runs):
    """Power of p/σ² in the largest share of the signals, one a run."""
    highest = [energies(run)[2].double().amax(0) for run in runs.values()]
    return fitted_power(torch.stack(highest), [ratio_of(level) for level in runs])


# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "thm-c1-c", observed=peak_power(courses), control=peak_power(kept_courses)
)

# %% tags=["hide-input", "remove-output"]
fig, (left, right) = plt.subplots(1, 2, figsize=(7.8, 3.7), layout="constrained")
shades = dict(zip(course_noises, colours.ordered(len(course_noises)), strict=True))
thickness = dict(
    zip(course_decays, np.linspace(0.8, 2.0, len(course_decays)), strict=True)
)
for (decay, level), run in fading.items():
    name = f"{ratio_of(level):.2f}" if decay == most_decay else None
    look = {"color": shades[level], "lw": thickness[decay], "ls": "--"}
    band(left, run[1].steps + 1, energies(run)[2], **look, label=name)
for level, run in kept_courses.items():
    band(left, run[1].steps + 1, energies(run)[2], color=shades[level], lw=1.2, ls="-")
left.legend(title=r"$p/\sigma_\xi^2$", loc="lower right", ncols=3)
left.set(xscale="log", xlabel="step", ylabel="share in span$(M)$")
left.set(ylim=(0, 1.03), xlim=(10, None))
left.set_title("solid with a mask, dashed without", weight="normal")
shown_level = sorted(course_noises)[len(course_noises) // 2]
for decay in course_decays:
    steps_of = fading[decay, shown_level][1].steps + 1
    inner, outer, _ = energies(fading[decay, shown_level])
    for values, ink in ((inner, BLUE), (outer, VERMILION)):
        band(right, steps_of, values, color=ink, ls="--", lw=thickness[decay])
right.set(xscale="log", xlabel="step", ylabel="squared length of all neurons")
right.set(ylim=(0, None), xlim=(10, None))
right.text(0.66, 0.86, "noise", color=VERMILION, ha="right", transform=right.transAxes)
right.text(0.97, 0.28, "signal", color=BLUE, ha="right", transform=right.transAxes)
fall = right.twinx()
shown_run = fading[most_decay, shown_level][1]
lost = (shown_run.loss / full_loss).mean(-1).cpu()
fall.plot((shown_run.steps + 1).cpu(), lost, color=colours.GREY)
fall.set(ylim=(0, 1.05), ylabel="loss", yticks=[0, 0.5, 1])
right.set_title(
    rf"no mask, $p/\sigma_\xi^2={ratio_of(shown_level):.2f}$", weight="normal"
)


def overgrown_title(runs):
    """In how many runs without a mask the share of the signals falls by a tenth or more."""
    fell = sum(float(kept_of_peak(run).mean()) <= 0.9 for run in runs)
    if fell == len(runs):
        return "Without a mask signals are learned first, and noise outgrows them"
    if fell == 0:
        return "Without a mask signals are learned and keep their share"
    return f"Without a mask the share of the signals falls again in {fell} of {len(runs)} runs"


fig.suptitle(overgrown_title(list(fading.values())), x=0.01, ha="left")
glue.figure(fig, "fd-plot-forget")

# %% [markdown]
# ```{glue:figure} fd-plot-forget
# :alt: Left, share of the weights in the span of the dictionary over training steps for three noises. Dashed lines are without a mask, thin ones without weight decay and thick ones with it; solid lines are with a mask. Right, squared lengths of signals and noise without a mask, and the loss. By default dashed lines rise to a peak and fall again and solid ones stay; the signals' length stays without decay and falls with it, and that of the noise grows past it in both cases.
# :name: fd-fig-forget
#
# $b=0$, mean over starts, bands from the least to the largest; thin without weight decay, thick with. Left: look whether dashed lines come down. Right: the squared lengths behind it, and in grey the loss over its first value. Look which blue line falls.
# ```
#
# With the quietest noise a trained probe has {glue:text}`fd-probe-peak:.2f` of the ceiling when the signals peak, and {glue:text}`fd-probe-end:.2f` at the end.

# %% [markdown]
# ## From a plane to its axes
#
# At $T_1$ a masked neuron is a mixture of all atoms, and stays one without a threshold: the network knows the plane and not its axes. With a threshold a neuron fires mostly for the atom to which it already leans, and learns it.
#
# ````{prf:theorem} D.5 of the paper, restored
# :label: fd-thm-d5
# :nonumber:
# As the bias grows:
#
# ```{claim} thm-d5-a
# ```
# ```{claim} thm-d5-c
# ```
#
# Their other coefficients stay small.
# ````
#
# *Idea of the proof, for two atoms without noise.* Here $w_1$ and $w_2$ are the coefficients of *one* neuron on the two atoms, nearly equal to a common $w$; let $w_1$ lead by a small $\log(w_1/w_2)$. An atom that is there alone makes its coefficient grow by $w-b$. If both are there with equal signs, both grow by $2w-b$; with opposite signs the neuron is silent. So the relative growth rate of a small lead is $\kappa p\,[\frac b{w_1}(1-\frac p2)-p]$. It grows if and only if
#
# $$
# \frac b{w_1}>\frac p{1-\frac p2} .
# $$ (fd-eq-threshold)
#
# With two atoms none can from $p=\frac23$ on. With many atoms and noise any threshold will do if $p<\frac13$, where the fourth cumulant of $z_j$, $p-3p^2$, is positive: a threshold sees sparsity ([exercise](fd-ex-threshold)).
#
# We follow the *best atom*, $\max_j\langle w_i,M_j\rangle^2/\lVert w_i\rVert^2$. An atom is *won* by a neuron that gives it more than half of its squared length. At a larger bias than ours neurons are [slow to win](fd-a-schedules).

# %% [markdown]
# ```{strip}
# $\langle w_i,M_j\rangle/\lVert w_i\rVert$ | decoupling_scores._cosines: return
# bias at $T_1$, then raised, then cut | training_schedule.sgd_step: bias = torch.where
# the cut | training_schedule.sgd_step: return Learner(weights, torch.minimum
# ```

# %% tags=["hide-input"]
no_bias = trained(dims[0], keeping, marks, "no bias")


def best_atom(run, time=-1):
    """⟨w, M_j⟩²/‖w‖² of the best atom [..., run, m], and which it is."""
    m, c = run
    best = atom_shares(c.weights[time], m.dictionary).max(-1)
    return best.values, best.indices


def covered(run, time=-1):
    """Share of the atoms that some neuron has won, one a run."""
    m, c = run
    won = neurons_won(c.weights[time], m.dictionary)
    return (won > 0).double().mean(-1)


def first_record_after_t1(run):
    """Index of the first record at which all runs have passed T1."""
    return int((run[1].steps[:, None] >= run[1].grown_at).all(-1).long().argmax())


main = masked[dim]
after_t1 = first_record_after_t1(main)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-d5",
    observed=best_atom(main)[0].mean(-1),
    control=best_atom(main, after_t1)[0].mean(-1),
    regime=reached,
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "thm-d5-a", observed=covered(main), control=covered(main, after_t1), regime=reached
)

# %% [markdown]
# **Who wins?** The paper says: neurons that are "lucky" at initialization keep their atom. We take the quarter of them whose best atom leads most clearly before training, and count those that end on it. At $T_1$ the leader is the winner in {glue:text}`fd-led-late:.0%` of the neurons that win.

# %% tags=["hide-input"]
final = best_atom(main)
winners = final[0] > 0.5


def foreseen(leader):
    """Share of the winners whose atom was the leader's, one a run."""
    right = ((leader == final[1]) & winners).double().sum(-1)
    return right / winners.double().sum(-1).clamp(min=1)


# more networks, for this claim alone, and of these only the start and the end
more = range(first_seed + seeds, first_seed + max(seeds, lucky_seeds))


def lucky_runs():
    """Their model and training."""
    begun = replace(setting, seeds=more).begin(dim, recipe, noise)

    def run():
        watch = lambda items: chapter.progress(items, "lucky starts")  # noqa: E731
        return train(*begun, [0, steps], watch)._asdict()

    return begun.model, Course(**chapter.piece("lucky starts", run))


more_lucky = lucky_runs() if more else None


def kept_by_luck(run, shift=0):
    """Share of the lucky neurons that won the atom of the neuron `shift` places on, one a run."""
    first_two = atom_shares(run[1].weights[0], run[0].dictionary).topk(2)
    lead = first_two.values[..., 0] / first_two.values[..., 1]
    lucky = lead >= lead.quantile(0.75, -1, keepdim=True)
    share, own = best_atom(run)
    leader = first_two.indices[..., 0].roll(-shift, -1)
    right = (leader == own) & (share > 0.5) & lucky
    return right.double().sum(-1) / lucky.double().sum(-1)


followed = [run for run in (main, more_lucky) if run]
all_grown = all(bool((c.grown_at >= 0).all()) for _, c in followed)
at_start = float(best_atom(main, 0)[0].mean())
glue.number("fd-best-start", at_start)
glue.number("fd-led-late", float(foreseen(best_atom(main, after_t1)[1]).mean()))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-d5-c",
    observed=torch.cat([kept_by_luck(run) for run in followed]),
    control=torch.cat([kept_by_luck(run, 1) for run in followed]),
    regime=reached and all_grown,
)

# %% tags=["hide-input", "remove-output"]
half_way = int((main[1].steps >= (main[1].steps[after_t1] + steps) / 2).long().argmax())
moments_of = {
    "start": 0,
    "$T_1$": after_t1,
    "half way": half_way,
    "end": len(main[1].steps) - 1,
}
w = main[1].weights[:, 0]
unit = w / w.norm(dim=-1, keepdim=True)
on_atoms = (unit @ main[0].dictionary[0]).abs()
winner = on_atoms[-1].argmax(-1)
order = (winner.double() - 0.5 * on_atoms[-1].amax(-1)).argsort()
dense_part = (unit @ setting.dense_directions(main[0].dictionary, 24)[0]).abs()
fig, axes = plt.subplots(1, 4, figsize=(7.8, 4.4), sharey=True, layout="constrained")
for ax, (name, at) in zip(axes, moments_of.items(), strict=True):
    both_kinds = torch.cat(
        [
            on_atoms[at, order],
            torch.full((neurons, 1), torch.nan),
            dense_part[at, order],
        ],
        -1,
    )
    shown = ax.imshow(
        both_kinds.cpu(),
        cmap="Blues",
        vmin=0,
        vmax=1,
        aspect="auto",
        interpolation="none",
    )
    ax.set_title(f"{name}, step {int(main[1].steps[at])}", weight="normal", size=10)
    ax.set(xticks=[atoms / 2 - 0.5, atoms + 12.5], yticks=[])
    ax.set_xticklabels(["atoms", "dense"])
axes[0].set_ylabel("neurons, by the atom they end on")
fig.colorbar(shown, ax=axes, label=r"$|\langle w_i,v\rangle|\,/\,\|w_i\|$", shrink=0.7)


def axes_title(plane, first, last):
    """The share in span(M) at T1, and the best atom's at T1 and at the end."""
    step = f"the best atom has {first:.0%} at $T_1$, {last:.0%} at the end"
    sorted_out = plane > 0.5 and last > max(0.5, first)
    return f"First a plane, then its axes: {step}" if sorted_out else step.capitalize()


plane_at_t1 = float(span_share(w[after_t1], main[0].dictionary[0]).mean())
one_run = (float(best_atom(main, at)[0][0].mean()) for at in (after_t1, -1))
fig.suptitle(axes_title(plane_at_t1, *one_run), x=0.01, ha="left")
glue.figure(fig, "fd-plot-axes")

# %% [markdown]
# ```{glue:figure} fd-plot-axes
# :alt: Four heat maps of neurons against atoms and dense directions at the start, at T1, half way and at the end. By default all entries are faint at the start, at T1 the block of atoms is shaded with a faint staircase, at the end most rows have one dark entry on it, and the dense block is nearly white.
# :name: fd-fig-axes
#
# One masked run: each neuron's coefficients on the atoms (left block) and on 24 dense directions (right block). Before training the best atom holds {glue:text}`fd-best-start:.2f` of a neuron. Rows are sorted by their last atom; look where dark squares gather.
# ```
#
# ````{prf:theorem} 3.4 and E.1 of the paper, restored
# :label: fd-thm-3.4
# :nonumber:
# With augmentation, after polynomially many steps and for as long as training goes on, a neuron is a sum over its own atoms $N_i$, with $|N_i|=O(1)$, and a rest. Relative to $\lVert w_i\rVert$ each other atom has a coefficient of $o(1)/\sqrt d$, each dense direction one of $o(1)/\sqrt{d_1}$. Each atom lies in at least one $N_i$; at most how many is lost in our copy ([our reading](fd-a-crowd)). The loss is small.
# ````
#
# We take for $N_i$ the atoms with $\lvert\langle w_i,M_j\rangle\rvert\ge\frac12\lVert w_i\rVert$, at most four by construction. At one $d$ an $o(1)$ cannot be seen; that less is left with [more atoms](fd-a-atoms) can.


# %% tags=["hide-input"]
def coefficients(run, time=-1):
    """The split of Theorem 3.4, means over the neurons of a run."""
    m, c = run
    w = c.weights[time]
    split = split_coefficients(w, m.dictionary)
    own = (atom_shares(w, m.dictionary) * split.own).sum(-1)
    return {
        "outside": 1 - own.mean(-1),
        "count": split.own.double().sum(-1).mean(-1),
        "other": split.other_rms.mean(-1),
        "dense": split.dense_rms.mean(-1) * m.dictionary.shape[1] ** 0.5,
    }


end, middle = coefficients(main), coefficients(main, after_t1)
flat_t1 = first_record_after_t1(no_bias)
flat_end, flat_middle = coefficients(no_bias), coefficients(no_bias, flat_t1)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-3.4", observed=end["outside"], control=middle["outside"], regime=reached
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "thm-3.4-a", observed=end["count"], control=middle["count"], regime=reached
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "thm-3.4-b",
    observed=end["other"] / middle["other"],
    control=flat_end["other"] / flat_middle["other"],
    regime=reached,
)

# %% [markdown]
# **The dense part** is to be $o(1/\sqrt{d_1})$ a direction. What is left of it is the noise of the batches; times $\sqrt{d_1}$ its mean square is of the order of $d_1/B$. With $B\propto d_1^2$ (the paper asks for polynomially many samples; the power is lost) its root should fall like $d_1^{-1/2}$, and with $B\propto d_1$, the control, not at all.

# %% tags=["hide-input"]
then = 8 * steps // 14
fewer_at = {
    d1: max(1, batch * d1 // dim) for d1 in dims[:-1]
}  # `begin` scales it once more
up_to_then = marks[: marks.index(then) + 1]
by_square = {
    d1: trained(d1, replace(recipe, batch=size), up_to_then, f"batch as d₁², d₁ = {d1}")
    for d1, size in fewer_at.items()
}
dense_by_square = [coefficients(run)["dense"] for run in by_square.values()]
dense_by_square.append(coefficients(main, marks.index(then))["dense"])
dense_by_square = torch.stack(dense_by_square)
dense_by_dim = torch.stack(
    [coefficients(run, marks.index(then))["dense"] for run in masked.values()]
)
print("√d₁ times a dense coefficient, d₁ =", *(f"{d1:>7}" for d1 in dims))
for name, values in (("batch as d₁²", dense_by_square), ("batch as d₁", dense_by_dim)):
    print(f"{name:34}", *(f"{float(v.mean()):7.2f}" for v in values))

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "thm-3.4-c",
    observed=fitted_power(dense_by_square, dims),
    control=fitted_power(dense_by_dim, dims),
)

# %% [markdown]
# At $T_1$ the same runs judge the paper's Theorem C.1 by its trend: what lies outside of span$(M)$ should tend to zero.

# %% tags=["hide-input"]
reached_too = all(bool((c.grown_at >= 0).all()) for _, c in by_square.values())
outside_by_square = torch.stack(
    [1 - share_at_t1(c, m) for m, c in by_square.values()] + [1 - at_t1[dim]]
)
outside_by_dim = torch.stack([1 - share for share in at_t1.values()])

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "thm-c1-d",
    observed=slopes(outside_by_square, dims),
    control=slopes(outside_by_dim, dims),
    regime=reached and reached_too,
)

# %% [markdown]
# (fd-loss)=
# **The loss** cannot be small at such a $d$ for a network that is silent on noise: a datum has no signal with probability $(1-p)^d$. The yardstick is the learner of the paper's Lemma E.11, $w_j=cM_j$ with the largest bias, at its best scale $c$: how much of the way to it has training gone ([over $d$ and time](fd-a-loss))? Training may pass it, with neurons and biases of its own.

# %% tags=["hide-input"]
best_loss = setting.yardstick(main[0])


def way(run, factors=(1.0,)):
    """Share of the way to the yardstick, at the best scale, one a run."""
    w, b = run[1].learner()
    tried = [setting.masked_loss(main[0], factor * w, factor * b) for factor in factors]
    return (1 - torch.stack(tried).amin(0)) / (1 - best_loss)


gone, never = way(main), way(plain[dim], (0.1, 0.2, 0.3, 0.5, 0.7, 1.0))

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge("thm-3.4-e", observed=gone, control=never)

# %% [markdown]
# **Should negatives be masked, too?** Remark 2.4 of the paper: "we do not expect the augmentation to decouple any correlations other than that between positive samples". We mask them and compare the end.

# %% tags=["hide-input"]
masked_too = trained(
    middle_dim, replace(recipe, mask_negatives=True), [0, steps], "Remark 2.4"
)
few_tasks = draw_w_star(streams(block, 1, "w*"), atoms, 8, single)


def explained_by(run, time=-1, count=2000):
    """R² of a probe on so many labels, mean over eight tasks, one a run."""
    z, x = run[0].sample(2 * count, streams(block, 1, "probe few"))
    f, y = features(x, *run[1].learner(time)), downstream_labels(z, few_tasks)[0]
    score = regression_probe(f[:, :count], y[:, :count], f[:, count:], y[:, count:])
    return score.double().mean(-1)


quiet = courses[quietest]
quiet_ceiling = p / (p + paper_scales(atoms, active, quietest)[1] ** 2)
at_peak = int(energies(quiet)[2].mean(-1).argmax())
for name, time in (("peak", at_peak), ("end", -1)):
    glue.number(f"fd-probe-{name}", explained_by(quiet, time).mean() / quiet_ceiling)


def ratios(run, base):
    """Readings of one run over those of another, one a run."""
    reads = {
        "best atom": lambda one: best_atom(one)[0].mean(-1).double(),
        "R²": explained_by,
    }
    return {key: read(run) / read(base) for key, read in reads.items()}


# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "rem-2.4",
    observed=ratios(masked_too, masked[middle_dim]),
    control=ratios(two_with_bias, main),
)

# %% [markdown]
# :::{admonition} Quick question: mix the neurons by a rotation while $b=0$; what happens to the loss?
# :class: dropdown
#
# Nothing: a linear $f$ enters only through inner products.
# :::

# %% [markdown]
# ## What trained biases do
#
# Positive pairs lower a threshold, negatives raise it. With a mask a pair agrees little until the signals have grown; without one it agrees from the start.
#
# The paper leaves open how biases are trained (footnote 7), and says that in synthetic experiments a bias rises with augmentation and "will decrease if no augmentation is used" (footnote 4). We train them from 0 and from the first step.

# %% [markdown]
# ```{strip}
# a trained bias | training_schedule.sgd_step: return Learner(weights, learner.bias - eta
# $\partial L/\partial b_i$ | symmetrised_relu.contrastive_gradient: return Gradient
# ```

# %% tags=["hide-input"]
tuned = replace(recipe, bias="trained")
free = trained(dims[0], tuned, marks, "trained biases, masked")
free_plain = trained(
    dims[0], replace(tuned, views="plain"), marks, "trained biases, unmasked"
)


def level(run, time=-1):
    """Mean b/‖w‖, one a run."""
    return (run[1].bias[time] / run[1].weights[time].norm(dim=-1)).mean(-1)


dip = torch.stack([level(free, t) for t in range(len(marks))]).amin(0)
glue.number("fd-dip", dip.mean())

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fn-4", observed=level(free), control=level(free_plain))

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge("fn-4-a", observed=level(free_plain), control=level(free))

# %% [markdown]
# With a mask the bias first falls, to {glue:text}`fd-dip:.2f`, and then turns. At $b=0$ the negatives push it up with a force of the order of $\lVert w\rVert^2/\tau$ times the pull of the positive pair. So this *energy* should decide when it comes back to zero, not the step.

# %% tags=["hide-input"]
counts = [max(1, negatives // 16), negatives]
few = 2  # runs of each setting: for a picture
energy_marks = [k for k in marks if k <= 5 * steps // 8]
grid = {}
for count, tau in product(counts, energy_temperatures):
    how = replace(tuned, negatives=count, temperature=tau)
    for kind, name in (("masked", "mask"), ("plain", "no mask")):
        label = f"trained biases, N = {count}, τ = {tau:g}, {name}"
        grid[count, tau, kind] = trained(
            dims[0], replace(how, views=kind), energy_marks, label, runs=few
        )


def energy(run, tau):
    """Mean ‖w‖²/τ and mean b/‖w‖, over neurons and runs, [time]."""
    w, b = run[1].weights, run[1].bias
    return w.square().sum(-1).mean((1, 2)) / tau, (b / w.norm(dim=-1)).mean((1, 2))


def energy_at_zero(count, tau):
    """Mean ‖w‖²/τ at the last record with a mean bias below 0, with a mask."""
    x, y = energy(grid[count, tau, "masked"], tau)
    return float(x[(y < 0).nonzero()[-1, 0]]) if bool((y < 0).any()) else math.nan


crossings = [energy_at_zero(*each) for each in product(counts, energy_temperatures)]
glue.number("fd-cross-low", min(crossings))
glue.number("fd-cross-high", max(crossings))

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(7.4, 3.9), layout="constrained")
shades = dict(
    zip(
        product(counts, energy_temperatures),
        colours.ordered(len(counts) * len(energy_temperatures)),
        strict=True,
    )
)
for (count, tau, kind), run in grid.items():
    x, y = (v.cpu() for v in energy(run, tau))
    solid = kind == "masked"
    label = rf"$N={count}$, $\tau={tau:g}$" if solid else None
    ax.plot(x, y, "-" if solid else "--", color=shades[count, tau], lw=1.6, label=label)
    ax.plot(x[-1], y[-1], "o", color=shades[count, tau], ms=5)
ax.axhline(0, **colours.ASIDE)
ax.set(xscale="log", xlabel=r"$\|w\|^2/\tau$", ylabel=r"$b\,/\,\|w\|$")
ax.legend(loc="lower left", title="solid with a mask")


def energy_title(courses):
    """What the mean bias does; `courses` are (is it masked, b/‖w‖ over time)."""
    turned = [bool(y.min() < 0 < y[-1]) for is_masked, y in courses if is_masked]
    risen = [bool(y[-1] >= 0) for is_masked, y in courses if not is_masked]
    if all(turned) and not any(risen):
        return "With a mask the bias dips, turns and rises; without one it falls"
    ends = f"with a mask in {sum(turned)} of {len(turned)} settings, without in {sum(risen)}"
    return f"The bias ends above zero after a dip {ends}"


of_courses = [
    (kind == "masked", energy(run, tau)[1]) for (_, tau, kind), run in grid.items()
]
ax.set_title(energy_title(of_courses))
glue.figure(fig, "fd-plot-energy")

# %% [markdown]
# ```{glue:figure} fd-plot-energy
# :alt: Trained bias over the weights' length against the squared length over the temperature. Solid lines are with a mask, dashed ones without. By default the solid ones dip below zero, cross it again at about the same energy and end above; the dashed ones fall and stay below.
# :name: fd-fig-energy
#
# Trained biases against the energy $\lVert w\rVert^2/\tau$, for several $N$ and $\tau$, followed for five eighths of the steps. Look where the solid lines, with a mask, cross zero: at energies from {glue:text}`fd-cross-low:.2f` to {glue:text}`fd-cross-high:.2f`.
# ```

# %% [markdown]
# ## What a probe gets
#
# A linear map can only weigh signal against noise. A threshold can ask whether there is any signal at all.
#
# ```{prf:corollary} 3.3 and 3.5 of the paper, restored
# :label: fd-cor-3.5
# :nonumber:
# Let $y=\langle w^\star,z\rangle$ or $y=\operatorname{sign}\langle w^\star,z\rangle$ with $|w^\star_j|=\Theta(1)$. Without augmentation a linear probe on $f$ fails "to achieve meaningful" accuracy, "no matter how many labeled data we have"; with it the probe succeeds, with $\tilde O(d)$ labels.
# ```
#
# *Idea of the proof.* Any linear $f$, as with $b=0$, leaves a probe of the form $\langle v,x\rangle$. With $a=M^\top v$ its error is $p\lVert w^\star-a\rVert^2+\sigma_\xi^2\lVert v\rVert^2$ with $\lVert v\rVert\ge\lVert a\rVert$, least at $a=\frac p{p+\sigma_\xi^2}w^\star$, so
#
# $$
# R^2\le\frac p{p+\sigma_\xi^2},
# $$ (fd-eq-ceiling)
#
# with any number of labels, {glue:text}`fd-linear:.2f` here. This *ceiling* tends to zero as $d$ grows, but so slowly that with both constants one it is below 0.1 only from $\log d=6170$ on. So we ask on which side of it a probe is. In classification a probe on $M^\top x$ takes its place. (Limits: [in $d$](fd-a-grows), [in labels](fd-a-labels).)

# %% [markdown]
# ```{strip}
# the most that a linear $f$ allows | linear_probes.linear_limit: return
# the probe: ridge regression | linear_probes.regression_probe: return
# ```

# %% tags=["hide-input"]
label_counts = [128, 512, 2048, 8192]
held_out = 3000
w_star = draw_w_star(streams(block, 1, "w*"), atoms, 8, single)
probe_z, probe_x = main[0].sample(
    label_counts[-1] + held_out, streams(block, 1, "probe")
)
values_of, classes_of = downstream_labels(probe_z, w_star)
networks = {
    "with a mask": main[1].learner(),
    "without, b = 0": plain[dim][1].learner(),
    "without, with b": biased[1].learner(),
    "two masks, with b": two_with_bias[1].learner(),
    "untrained": main[1].learner(0),
}
inputs = {k: features(probe_x, *learner) for k, learner in networks.items()}
inputs |= {"Mᵀx": probe_x @ main[0].dictionary, "raw x": probe_x, "z itself": probe_z}


def probe(f, count, kind, targets):
    """R² or accuracy of a probe on the data held out, mean over tasks, [run]."""
    known, asked = f[:, :count], f[:, label_counts[-1] :]
    score = kind(known, targets[:, :count], asked, targets[:, label_counts[-1] :])
    return score.double().mean(-1)


# %% tags=["hide-input"]
drawn_probes = "with a mask", "without, with b", "without, b = 0", "untrained", "raw x"
r2 = {
    n: torch.stack(
        [
            probe(f, k, regression_probe, values_of)
            for k in (label_counts if n in drawn_probes else label_counts[-1:])
        ]
    )
    for n, f in inputs.items()
}
# logistic regression on raw x, of hundreds of inputs, takes minutes
accuracy = {
    n: probe(f, 2048, classification_probe, classes_of[..., :2])
    for n, f in inputs.items()
    if n != "raw x"
}
best_linear = p / (p + sigma**2)
glue.number("fd-linear", best_linear)
print(f"{label_counts[-1]} labels", f"{'R²':>20} {'accuracy':>14}")
for name in inputs:
    right = with_spread(accuracy[name]) if name in accuracy else ""
    print(f"{name:17} {with_spread(r2[name][-1]):>12} {right:>14}")

# %% tags=["hide-input"]
explained = {n: found[-1] / best_linear for n, found in r2.items()}
below = {n: found - accuracy["Mᵀx"] for n, found in accuracy.items()}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "cor-3.3",
    observed=explained["without, b = 0"],
    control=explained["with a mask"],
    outside=explained["without, with b"],
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "cor-3.5",
    observed=explained["with a mask"],
    control={
        k: explained[k] for k in ("two masks, with b", "without, b = 0", "untrained")
    },
    outside=explained["without, with b"],
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "cor-3.3-a",
    observed=below["without, b = 0"],
    control=below["z itself"],
    outside=below["without, with b"],
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "cor-3.5-a",
    observed=below["with a mask"] - below["without, b = 0"],
    control=below["untrained"] - below["without, b = 0"],
)

# %% [markdown]
# **The mask or the threshold?** Thresholds alone, of which the paper has no run, cross the ceiling, too. What does the mask add?

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "cor-3.5-d",
    observed=r2["with a mask"][-1] - r2["without, with b"][-1],
    control=r2["two masks, with b"][-1] - r2["without, with b"][-1],
)

# %% [markdown]
# **Mask, threshold, decay:** four ways to train, each at both weight decays.

# %% tags=["hide-input"]
ways = {
    "neither": ("plain", "zero"),
    "threshold alone": ("plain", "max"),
    "mask alone": ("masked", "zero"),
    "mask and threshold": ("masked", "max"),
}
two = block[:2]  # starts of each, for a picture
arm_marks = sorted({*forget_marks, *marks})


def one_way(name, decay):
    """A training of two starts at the middle d₁, at the noise of the page."""
    views, bias = ways[name]
    how = replace(recipe, views=views, bias=bias, weight_decay=decay)
    return trained(middle_dim, how, arm_marks, f"{name}, λ = {decay:g}", runs=len(two))


def over_ceiling(run, count=2000):
    """R² of a probe at the end over the linear ceiling, mean over tasks and starts."""
    z, x = run[0].sample(2 * count, streams(two, 1, "probe arms"))
    asked = draw_w_star(streams(two, 1, "w*"), atoms, 8, single)
    f, y = features(x, *run[1].learner()), downstream_labels(z, asked)[0]
    score = regression_probe(f[:, :count], y[:, :count], f[:, count:], y[:, count:])
    return float(score.mean()) * (1 + sigma**2 / p)


four_ways = {each: one_way(*each) for each in product(ways, course_decays)}
of_ceiling = {each: over_ceiling(run) for each, run in four_ways.items()}

# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(
    2, 4, figsize=(7.8, 4.6), sharex=True, sharey="row", layout="constrained"
)
for name, (high, low) in zip(ways, axes.T, strict=True):
    for k, decay in enumerate(course_decays):
        inside, outside, share = energies(four_ways[name, decay])
        when, lw = four_ways[name, decay][1].steps + 1, thickness[decay]
        band(high, when, share, color=colours.BLACK, ls="-", lw=lw)
        band(low, when, inside, color=BLUE, ls="-", lw=lw)
        band(low, when, outside, color=VERMILION, ls="-", lw=lw)
        note = rf"$\lambda={decay:g}$: {of_ceiling[name, decay]:.2f}"
        place = {"size": 8, "ha": "right", "transform": high.transAxes}
        high.text(0.97, 0.04 + 0.1 * k, note, **place)
    high.set(ylim=(0, 1.03), xscale="log", xlim=(10, None))
    high.set_title(name, weight="normal", size=10)
    low.set(yscale="log", xlabel="step")
axes[1, 0].set_ylim(1)  # with all drawn: a limit ends the choice of the other
axes[0, 0].set_ylabel("share in span$(M)$")
axes[1, 0].set_ylabel("squared length")
for y, name, ink in ((0.12, "signal", BLUE), (0.02, "noise", VERMILION)):
    place = {"ha": "right", "transform": axes[1, 0].transAxes}
    axes[1, 0].text(0.95, y, name, color=ink, **place)


def ways_title(runs):
    """The ways to train after which noise is longer than the signals, at some decay."""
    above = {
        n
        for (n, _), run in runs.items()
        if bool((energies(run)[1] > energies(run)[0])[-1].any())
    }
    if not above:
        return "Noise ends below the signals in all four"
    names = (
        "neither mask nor threshold"
        if above == {"neither"}
        else ", ".join(n for n in ways if n in above)
    )
    return f"Noise ends above the signals with {names}"


fig.suptitle(ways_title(four_ways), x=0.01, ha="left")
glue.figure(fig, "fd-plot-arms")

# %% [markdown]
# ```{glue:figure} fd-plot-arms
# :alt: Four columns: neither mask nor threshold, threshold alone, mask alone, both. Above, the share in the span of the dictionary over steps; below, the squared lengths of signal and noise; thin lines without weight decay, thick ones with. By default the share falls far below its peak only in the first column, and there the noise ends above the signal.
# :name: fd-fig-arms
#
# Thin without weight decay, thick with, at the page's noise; the numbers are a probe's $R^2$ over the linear ceiling. Look in the lower row where noise ends above the signals. A mask gives noise nothing to grow on; a threshold keeps neurons from firing on noise alone, and lets a probe cross the ceiling.
# ```

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(7.4, 4.0), layout="constrained")
looks = {
    "with a mask": ("mask and threshold", MASKED),
    "without, with b": ("threshold alone", BIASED),
    "without, b = 0": ("neither", UNMASKED),
    "untrained": ("untrained", UNTRAINED),
    "raw x": ("$x$ itself", {"color": colours.BLACK, "linestyle": ":", "marker": "."}),
}
for key, (name, look) in looks.items():
    band(ax, label_counts, r2[key], **look, lw=1.5, ms=5)
    ax.annotate(
        name,
        (label_counts[-1], float(r2[key][-1].mean())),
        (6, {"raw x": -1, "without, b = 0": -6}.get(key, 0)),
        textcoords="offset points",
        va="center",
        color=look["color"],
        size=9,
    )
ax.axhline(best_linear, color="k", lw=1.4)
ax.text(label_counts[0], best_linear + 0.01, "most that is linear in $x$", size=9)
ax.set(xscale="log", xlabel="labels", ylabel="$R^2$ of the probe", ylim=(-0.05, None))
ax.set_xlim(None, 4 * label_counts[-1])
ax.set_xticks(label_counts, [str(k) for k in label_counts])
ax.minorticks_off()


def ceiling_title(ends, most):
    """Which representations end above the ceiling; `ends` are mean R² by name."""
    above = [name for name, value in ends.items() if value > most]
    if set(above) == {"mask and threshold", "threshold alone"}:
        return "Thresholds cross the linear ceiling"
    return f"Above the linear ceiling: {', '.join(above) or 'none'}"


final_r2 = {name: float(r2[key][-1].mean()) for key, (name, _) in looks.items()}
ax.set_title(ceiling_title(final_r2, best_linear))
glue.figure(fig, "fd-plot-ceiling")

# %% [markdown]
# ```{glue:figure} fd-plot-ceiling
# :alt: R squared of probes against the number of labels. A horizontal line is the linear ceiling. By default the representations with a threshold end above it, the one with a mask highest; those of neither, of untrained networks and of raw data stay below.
# :name: fd-fig-ceiling
#
# Probes over the number of labels; bands as above. Look which lines end above the black one, and whether, with few labels, a network with neither beats $x$ itself.
# ```

# %% [markdown]
# ## Four figures, twice
#
# The paper's figures are about a Wide-ResNet on images.
#
# ### In the model
#
# **Figure 1 of the paper: contrastive and supervised features are alike.** The third contribution calls contrastive features with augmentation "similar to the features learned via supervised learning". We train the same layer on labels, {glue:text}`fd-tasks:.0f` tasks $y=\langle w^\star_k,z\rangle$ at once, with a second layer on top and unmasked data, and match each masked neuron with the nearest supervised one. Biases follow the contrastive schedule; with $b=0$ or trained biases, the cases outside, labels ask only for the plane of the atoms.

# %% [markdown]
# ```{strip}
# error of the labels | supervised_codes.supervised_gradient: error =
# what it asks of $f$ | supervised_codes.supervised_gradient: pull =
# ```

# %% tags=["hide-input"]
task_count = 4 * atoms
tasks = draw_w_star(streams(block, 1, "tasks"), atoms, task_count, single)
slower = {"batch": 512, "learning_rate": 1.5, "weight_decay": 0.0, "grown": 0.15}
beside = masked[middle_dim]


def taught(bias):
    """The layer trained on labels, as a run of two records."""
    start = setting.begin(middle_dim).weights
    how = replace(unmasked, bias=bias, **slower)

    def run():
        draws = streams(block, 1, "data")
        return train_supervised(
            beside[0], start, tasks, how, draws, [0, 400]
        ).course._asdict()

    return beside[0], Course(**chapter.piece(f"supervised, bias {bias}", run))


supervised = {
    "schedule": taught("max"), "b = 0": taught("zero"), "trained biases": taught("trained"),
}  # fmt: skip
glue.number("fd-tasks", task_count)


def alike(weights, name="schedule"):
    """Mean |cosine| of a neuron with the nearest supervised neuron, one a run."""
    nearest = matched_neurons(weights, supervised[name][1].weights[-1])[1]
    return nearest.mean(-1).double()


mixtures = torch.stack(
    [torch.randn(neurons, atoms, generator=g) for g in streams(block, 1, "mixtures")]
)
mixed_up = mixtures.to(single) @ beside[0].dictionary.mT
ours = beside[1].weights[-1]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "sup",
    observed=alike(ours),
    control={
        "unmasked": alike(plain[middle_dim][1].weights[-1]),
        "random in span(M)": alike(mixed_up),
    },
    outside={k: alike(ours, k) for k in ("b = 0", "trained biases")},
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "sup-a",
    observed=covered(supervised["schedule"]),
    control=covered(beside, first_record_after_t1(beside)),
    outside={k: covered(supervised[k]) for k in ("b = 0", "trained biases")},
    regime=bool((beside[1].grown_at >= 0).all()),
)

# %% [markdown]
# In that plane supervised weights lie whatever the biases:

# %% tags=["hide-input"]
in_plane = {
    k: span_share(run[1].weights[-1], run[0].dictionary).mean(-1).double()
    for k, run in supervised.items()
}
not_in_plane = span_share(plain[middle_dim][1].weights[-1], beside[0].dictionary)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge("sup-b", observed=in_plane, control=not_in_plane.mean(-1).double())

# %% [markdown]
# **Figures 2 to 4 of the paper: dense features, clusters, sparse firing.** Dense features without augmentation are the vermilion lines of {numref}`fd-fig-forget`. For the others we draw data with one active atom and take the atom and its sign for the class; clusters are measured by ten nearest neighbours and by the silhouette, firing by the share of ReLUs that fire and by Hoyer's sparsity {cite}`hoyer-2004`, with *trained* biases, since a threshold set by hand makes any network fire sparsely.

# %% tags=["hide-input"]
shown_count, sign_classes = 1200, 2 * atoms
class_of = torch.arange(shown_count) % sign_classes
one_atom_z = torch.nn.functional.one_hot(class_of % atoms, atoms)
one_atom_z = (one_atom_z * (1 - 2 * (class_of // atoms))[:, None]).to(single)


def clustered(run, time=-1):
    """k-NN accuracy, silhouette, share of ReLUs that fire, Hoyer sparsity, [4, run]."""
    m, c = run
    w, b = c.learner(time)
    z = one_atom_z.expand(len(w), -1, -1)
    xi = m.dense_noise(shown_count, streams(block, 1, "one atom"))
    x = xi + z @ m.dictionary.mT
    half, u = shown_count // 2, x @ w.mT
    f = features(x, w, b)
    near = neighbour_accuracy(
        f[:, :half], class_of[:half], f[:, half:], class_of[half:]
    )
    relus = torch.cat([(u - b[:, None]).relu(), (-u - b[:, None]).relu()], -1)
    fires, sparse = active_share(relus).mean(-1), hoyer_sparsity(relus).mean(-1)
    gathered = silhouette(f[:, :half], class_of[:half])
    return torch.stack([near, gathered, fires.double(), sparse.double()])


model_arms = {
    "untrained": (fresh, 0),
    "no mask, b = 0": (plain[dim], -1),
    "no mask, with bias": (biased, -1),
    "two masks, with bias": (two_with_bias, -1),
    "mask and bias": (main, -1),
    "no mask, trained bias": (free_plain, -1),
    "mask, trained bias": (free, -1),
}
model_scores = {k: clustered(*run) for k, run in model_arms.items()}
print(f"{'':21} {'k-NN':>12} {'silhouette':>13} {'ReLUs fire':>12} {'Hoyer':>12}")
for name, scores in model_scores.items():
    print(f"{name:21}", *(f"{with_spread(v):>12}" for v in scores))


# %% tags=["hide-input"]
def over_others(place, name="mask and bias"):
    """A score of an arm minus the best of the arms without thresholds, one a run."""
    others = [model_scores[k][place] for k in ("untrained", "no mask, b = 0")]
    return model_scores[name][place] - torch.stack(others).amax(0)


def with_trained_biases(place):
    """A score without training, without a mask and with one, [3, run]."""
    names = "untrained", "no mask, trained bias", "mask, trained bias"
    return torch.stack([model_scores[k][place] for k in names])


fires, hoyer = with_trained_biases(2), with_trained_biases(3)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-4-model", observed=fires[1] - fires[2], control=fires[0] - fires[2])

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "fig-3-model",
    observed=over_others(0),
    control=over_others(0, "two masks, with bias"),
    outside=over_others(0, "no mask, with bias"),
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "fig-3-model-a",
    observed=over_others(1),
    control=over_others(1, "two masks, with bias"),
    outside=over_others(1, "no mask, with bias"),
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "fig-4-model-a", observed=hoyer[2] - hoyer[1], control=hoyer[2] - hoyer[0]
)

# %% tags=["hide-input", "remove-output"]
fig = plt.figure(figsize=(7.8, 3.4), layout="constrained")
flats, firing_panel = fig.subfigures(1, 2, width_ratios=[1.9, 1])
inks = plt.colormaps["tab20"].colors


def flat_map(run):
    """t-SNE of 480 data with one active atom, first start, half of the atoms drawn."""
    m, c = run
    kept = (class_of % atoms < 8).nonzero()[:480, 0]
    xi = m.dense_noise(shown_count, streams(block, 1, "one atom"))[0, kept]
    x = xi + one_atom_z[kept] @ m.dictionary[0].mT
    w, b = (part[:1] for part in c.learner())
    return planar_embedding(features(x[None], w, b)[0]).cpu(), class_of[kept].cpu()


mapped = {
    "neither": (plain[dim], "no mask, b = 0"),
    "mask and threshold": (main, "mask and bias"),
}
for ax, (name, (run, scored)) in zip(flats.subplots(1, 2), mapped.items(), strict=True):
    spots, kind = flat_map(run)
    ax.scatter(
        *spots.T, s=14, c=[inks[int(k) % 8 * 2 + int(k) // atoms] for k in kind], lw=0
    )
    near = float(model_scores[scored][0].mean())
    ax.set_title(f"{name}: neighbours {near:.2f}", weight="normal", size=10)
    low, high = (
        spots.quantile(0.03, 0),
        spots.quantile(0.97, 0),
    )  # silent data lie far out
    ends = torch.stack([low - 0.1 * (high - low), high + 0.1 * (high - low)])
    ax.set(xlim=ends[:, 0].tolist(), ylim=ends[:, 1].tolist())
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
ax = firing_panel.subplots()
for k, name in enumerate(("untrained", "no mask, trained bias", "mask, trained bias")):
    share = model_scores[name][2].cpu()
    ink = (colours.GREY, VERMILION, BLUE)[k]
    ax.bar(k, share.mean(), 0.6, color=ink, alpha=0.4)
    ax.plot([k] * len(share), share, "o", color=ink, ms=5)
ax.set_xticks(range(3), ["untrained", "no mask", "mask"])
ax.set(ylim=(0, 1.05), ylabel="share of the ReLUs that fire")
ax.set_title("trained biases", weight="normal", size=10)
gathers = "gather" if (over_others(0) > 0).all() else "do not, in every start, gather"
sparser = "fewer" if (fires[1] > fires[2]).all() else "no fewer"
fig.suptitle(
    f"The model: mask and threshold {gathers} classes; with a mask {sparser} ReLUs fire",
    x=0.01,
    ha="left",
)
glue.figure(fig, "fd-plot-clusters")

# %% [markdown]
# ```{glue:figure} fd-plot-clusters
# :alt: The model. Two t-SNE maps: with neither mask nor threshold classes are mixed, with both they form islands; bars show how many ReLUs fire with trained biases, fewer with a mask.
# :name: fd-fig-clusters
#
# t-SNE {cite}`van-der-maaten-hinton-2008` of data with one active atom, coloured by atom and sign, and how many ReLUs fire when biases are trained. Look for islands, and at the two right bars.
# ```

# %% [markdown]
# (fd-images)=
# ### In images
#
# Section 1.1 of the paper states what its figures show in words, without numbers: a Wide-ResNet {cite}`zagoruyko-komodakis-2016` trained contrastively with no augmentation, with crop-resize alone, with full augmentation, and supervised. We take it on CIFAR-10 {cite}`krizhevsky-2009`, which our copy does not name, with SimCLR's recipe {cite}`chen-2020` (projection head, normalised outputs, batch normalisation): WRN-{glue:text}`fd-depth:.0f`-{glue:text}`fd-width:.0f`, {glue:text}`fd-epochs:.0f` epochs, {glue:text}`fd-image-seeds:.0f` starts of each *arm*. By default the images are scikit-learn's digits in random colours; the [record](fd-record) has photographs. All this is a [stand-in](fd-a-images-full): the cards say *seen* or *not seen*, and neither counts for or against the paper.

# %% tags=["hide-input"]
cache = data_folder() / "encoders" if data != "coloured-digits" else None
image_runs = tuple(range(image_seeds))
given = {
    a: (data, a, depth, width, epochs, seed, image_runs, chapter.device)
    for a in (*ARMS, COLOURS)
}
side_by_side = Parallel(min(2, cpu_count()), prefer="threads", return_as="generator")
if cache is None and chapter.device == "cpu":  # minutes: two arms side by side
    arms = side_by_side(delayed(trained_encoders)(*g) for g in given.values())
    kept_arms = list(chapter.progress(arms, "encoders", len(given)))
else:  # hours: one after the other, each a piece that resumes
    kept_arms = [
        chapter.library_piece(f"{data} {a}", trained_encoders, *g, folder=cache)
        for a, g in given.items()
    ]

# %% tags=["hide-input"]
network = encoder.network
image_starts = [stream(seed, run, "weights") for run in image_runs]
encoders = dict(zip(given, kept_arms, strict=True))
encoders["untrained"] = network.initial_weights(image_starts)
for name, value in (
    ("depth", depth),
    ("width", width),
    ("epochs", epochs),
    ("image-seeds", image_seeds),
):
    glue.number(f"fd-{name}", value)
bank = slice(0, 4000)  # training images that stand as neighbours
shown = images.test_images[:1000], images.test_labels[:1000]


def in_grey(weights, statistics, asked):
    """Responses of the last layer to images and to their grey versions."""
    both = asked, rgb_to_grayscale(asked).expand_as(asked)
    return [network.responses(weights, statistics, x).mean((-2, -1)) for x in both]


# %% tags=["hide-input"]
def fired(weights, statistics):
    """How the last layer answers to test images; one a run."""
    maps = network.responses(weights, statistics, shown[0])
    known = network.responses(weights, statistics, images.images[bank]).mean((-2, -1))
    seen, flat = maps.mean((-2, -1)), maps.flatten(2)
    coloured, grey = in_grey(weights, statistics, shown[0])
    selective = colour_selectivity(coloured, grey, max(10, len(shown[0]) // 10))
    few_fire = torch.stack([planted_sparse_firing(run, 0.2) for run in flat])
    near = neighbour_accuracy(known, images.labels[bank], seen, shown[1])
    return {
        "responses": seen,
        "responses in grey": grey,
        "k-NN accuracy": near,
        "silhouette": silhouette(seen, shown[1]),
        "active share": active_share(flat).double(),
        "Hoyer sparsity": hoyer_sparsity(flat).double(),
        "active share, planted": active_share(few_fire).double(),
        "Hoyer sparsity, planted": hoyer_sparsity(few_fire).double(),
        "colour index": selective.nanmean(-1).double(),
    }


def pictured(weights, statistics):
    """What drives each filter of the last layer most; one a run."""
    draw = [stream(seed, run, "visualise") for run in image_runs]
    how = (draw, shown[0].shape[-1])
    best = visualised_filters(network, weights, statistics, *how, steps=40)
    return {
        "pictures": best,
        "colour of pictures": colour_share(best).mean(-1).double(),
        "fine detail": high_frequency_share(best).mean(-1).double(),
        "spread of pattern": pattern_spread(best).mean(-1).double(),
    }


def studied(weights):
    weights = {k: v.to(chapter.device) for k, v in weights.items()}
    statistics = network.calibrated(weights, images.images[:1000])
    return fired(weights, statistics) | pictured(weights, statistics)


looked_at = side_by_side(delayed(studied)(w) for w in encoders.values())
looked_at = chapter.progress(looked_at, "Figures 1 to 4", len(encoders))
found = dict(zip(encoders, looked_at, strict=True))


# %% tags=["hide-input"]
def one_a_start(name, arm):
    """A reading of an arm, mean over images or filters, one a start."""
    value = found[arm][name]
    return value if value.ndim == 1 else value.mean(-1)


# %% tags=["hide-input"]
left_out = ("responses", "responses in grey", "pictures")
print(" " * 18, *(f"{arm:>11}" for arm in found))
for name in (n for n in found["full"] if n not in left_out and "planted" not in n):
    row = (one_a_start(name, arm) for arm in found)
    print(f"{name:18}", *(f"{with_spread(v):>11}" for v in row))
print(f"fine detail of white noise: {white_share(shown[0].shape[-1]):.2f}")

# %% [markdown]
# The paper says: shape features of supervised and contrastive networks look alike, and supervised ones hold "much more" color features; without augmentation features are "completely meaningless" dense patterns, and with crop-resize alone color remains; clusters form, and firing is sparse, only with suitable augmentation. The table has what we measured, the cards below what it decides ([how](fd-a-image-rows)).


# %% tags=["hide-input"]
def arms_of(name, *arms):
    return torch.stack([one_a_start(name, arm) for arm in arms])


def compared(name, first, *others, mistake="untrained", planted=None, sign=1):
    """An arm minus the best of the others; as a control, the arm of a mistake minus it."""
    best = (sign * arms_of(name, *others)).amax(0)
    return {
        "observed": sign * one_a_start(name, first) - best,
        "control": sign * one_a_start(name, mistake) - best,
        "planted": planted,
    }


shapes = {arm: v["responses in grey"] for arm, v in found.items()}


def matched(partners):
    """Mean over the supervised filters of their best correlation with a partner's, one a start."""
    return best_match(shapes["supervised"], partners).mean(-1).double()


match = {arm: matched(v.roll(1, 0)) for arm, v in shapes.items()}
halfway = (match["supervised"] + match["untrained"]) / 2
shuffles = [stream(seed, run, "shuffle") for run in image_runs]
of_class = shuffled_match(
    shapes["supervised"], shapes["full"].roll(1, 0), shuffles, shown[1]
)
for arm in ("full", "none"):
    glue.number(f"fd-active-{arm}", one_a_start("active share", arm).mean())
pictures = found["full"]["pictures"]
noise_pictures = torch.stack(
    [
        torch.rand(pictures.shape[1:], generator=stream(seed, k, "white"))
        for k in image_runs
    ]
).to(pictures)
pure = (noise_pictures.mean((-2, -1), keepdim=True) > 0.5).to(
    pictures
)  # one colour each
pure = pure.expand_as(pictures)
white_detail = high_frequency_share(noise_pictures).mean(-1).double()
loud = (noise_pictures > 0.5).to(pictures)  # every pixel pure, black or white
loud_spread = pattern_spread(loud).mean(-1).double()
all_colour = colour_share(pure).mean(-1).double()


# %% tags=["hide-input"]
draws = [stream(seed, k, "planted clusters") for k in image_runs]
gathered = torch.stack(
    [
        planted_clusters(torch.cat([images.labels[bank], shown[1]]), 32, 8.0, g)
        for g in draws
    ]
)
planted_bank, planted_shown = gathered.split(
    [len(images.labels[bank]), len(shown[1])], 1
)
planted_near = neighbour_accuracy(
    planted_bank, images.labels[bank], planted_shown, shown[1]
)
planted_silhouette = silhouette(planted_shown, shown[1])
near_others = arms_of("k-NN accuracy", "none", "crop").amax(0)
gathered_others = arms_of("silhouette", "none", "crop").amax(0)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "fig-1",
    observed=match["full"] - halfway,
    control={
        "no augmentation": match["none"] - halfway,
        "images shuffled within classes": of_class.mean(-1).double() - halfway,
    },
    planted=matched(shapes["supervised"].roll(2, 0)) - halfway,
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "fig-1-a",
    **compared(
        "colour of pictures",
        "supervised",
        "full",
        planted=all_colour - one_a_start("colour of pictures", "full"),
    ),
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "fig-1-b",
    **compared(
        "colour index",
        "supervised",
        "full",
        planted=one_a_start("colour index", "crop")
        - one_a_start("colour index", "full"),
    ),
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "fig-2",
    **compared(
        "fine detail",
        "none",
        "full",
        mistake="supervised",
        planted=white_detail - one_a_start("fine detail", "full"),
    ),
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "fig-2-c",
    **compared(
        "spread of pattern",
        "none",
        "full",
        mistake="supervised",
        planted=loud_spread - one_a_start("spread of pattern", "full"),
    ),
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge("fig-2-a", **compared("colour index", "crop", "full", mistake="colour"))

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "fig-2-b",
    **compared(
        "colour of pictures",
        "crop",
        "full",
        mistake="colour",
        planted=all_colour - one_a_start("colour of pictures", "full"),
    ),
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "fig-3",
    **compared(
        "k-NN accuracy", "full", "none", "crop", planted=planted_near - near_others
    ),
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "fig-3-a",
    **compared(
        "silhouette",
        "full",
        "none",
        "crop",
        planted=planted_silhouette - gathered_others,
    ),
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "fig-4",
    **compared(
        "active share",
        "full",
        "none",
        planted=one_a_start("active share", "none")
        - one_a_start("active share, planted", "full"),
        sign=-1,
    ),
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "fig-4-a",
    **compared(
        "Hoyer sparsity",
        "full",
        "none",
        planted=one_a_start("Hoyer sparsity, planted", "full")
        - one_a_start("Hoyer sparsity", "none"),
    ),
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "fig-4-b",
    **compared(
        "active share",
        "full",
        "crop",
        planted=one_a_start("active share", "crop")
        - one_a_start("active share, planted", "full"),
        sign=-1,
    ),
)

# %% tags=["hide-input", "remove-output"]
fig = plt.figure(figsize=(7.8, 4.2), layout="constrained")
rows, dots = fig.subfigures(1, 2, width_ratios=[1.9, 1])
ARM_NAMES = {
    "supervised": "supervised",
    "full": "full",
    "crop": "crops",
    "colour": "colours",
    "none": "none",
    "untrained": "untrained",
}


def strongest(arm):
    """Pictures of the eight filters of an arm, first start, that answer most."""
    answer = found[arm]["responses"][0].amax(0).argsort(descending=True)[:8]
    return found[arm]["pictures"][0, answer].movedim(1, -1).cpu()


def ink_of(arm):
    return {"supervised": colours.PURPLE, "full": BLUE}.get(arm, colours.GREY)


def colour_kept():
    """What crops alone leave, in words, by the starts of this run."""
    more = one_a_start("colour index", "crop") - one_a_start("colour index", "full")
    if more.min() > 0:
        return "more colour with crops alone than with full augmentation"
    if more.max() < 0:
        return "less colour with crops alone than with full augmentation"
    return "crops alone keep more colour in some starts, not in all"


def draw_filters(panel, arms):
    for line, arm in zip(panel.subplots(len(arms), 8), arms, strict=True):
        for ax, picture in zip(line, strongest(arm), strict=True):
            ax.imshow(picture)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
        label = {"rotation": 0, "ha": "right", "va": "center", "size": 9}
        line[0].set_ylabel(ARM_NAMES[arm], **label)


def draw_dots(panel, readings):
    axes = panel.subplots(len(readings), 1, sharex=True)
    for ax, name in zip(axes, readings, strict=True):
        for k, arm in enumerate(ARM_NAMES):
            value = one_a_start(name, arm).cpu()
            ax.plot([k] * len(value), value, "o", color=ink_of(arm), ms=5, alpha=0.7)
        ax.set(ylabel=name, ylim=(0, None))
        ticks = range(len(ARM_NAMES)), list(ARM_NAMES.values())
        ax.set_xticks(*ticks, rotation=40, ha="right")


draw_filters(rows, ("supervised", "full", "crop", "none"))
draw_dots(dots, ("k-NN accuracy", "colour index"))
fig.suptitle(f"Images: {colour_kept()}", x=0.01, ha="left")
glue.figure(fig, "fd-plot-figures")

# %% [markdown]
# ```{glue:figure} fd-plot-figures
# :alt: Images. Four rows of visualised filters for supervised training, full augmentation, crops alone and none; dots of k-NN accuracy and colour index for each start.
# :name: fd-fig-figures
#
# What drives each of eight filters most, and two numbers for each arm, one dot a start. Look at crops alone and their colour index; "colours" are changed colours without crops.
# ```
#
# In images a share {glue:text}`fd-active-full:.2f` of the last layer's units fires with full augmentation, {glue:text}`fd-active-none:.2f` with none. These units are not the neurons of the theory.
#
# ## Late, or lost?
#
# The batch must grow with $d_1$, as Fact A.1 of the paper asks. What if it does not?
#
# We follow small batches at the middle $d_1$ far beyond $T_1$, with mask and thresholds, and with thresholds alone; what the mask *gains* at equal thresholds is the difference in a probe's $R^2$. After {glue:text}`fd-late-early:.0f` steps we compare the largest batch with the smallest, and then take the smallest at the end.

# %% tags=["hide-input"]
early_step = min(map_steps, late_steps)


def late_marks(size):
    """Steps of the records of a batch: a larger one is followed for a shorter time."""
    last = max(early_step + 1, round(late_steps * (late_batches[0] / size) ** 0.5))
    return sorted({0, early_step} | {last * k // 12 for k in range(1, 13)})


def late_run(size, name, record_at, **how):
    """A run of one batch at the middle d₁."""
    fixed = replace(recipe, batch=size * dim // middle_dim, **how)  # `begin` scales it
    return trained(middle_dim, fixed, record_at, f"batch {size}, {name}")


def late_r2(run):
    """R² of a probe at each record, [time, run]."""
    z, x = run[0].sample(3000, streams(block, 1, "late probe"))
    y = downstream_labels(z, few_tasks[:, :2])[0]

    def r2_at(time):
        f = features(x, *run[1].learner(time))
        return regression_probe(f[:, ::2], y[:, ::2], f[:, 1::2], y[:, 1::2]).mean(-1)

    return torch.stack([r2_at(t) for t in range(len(run[1].steps))]).double()


def gains(size):
    """R² with a mask minus R² with thresholds alone, share of the atoms won, T1, and R² with thresholds alone."""
    both = late_marks(size)
    hidden = late_run(size, "masked", both)
    bare = late_run(size, "thresholds alone", both, views="plain")
    won = torch.stack([covered(hidden, t) for t in range(len(both))])
    without = late_r2(bare)
    return late_r2(hidden) - without, won, hidden[1].grown_at, without


late_runs = {size: gains(size) for size in late_batches}
early = {size: late_marks(size).index(early_step) for size in late_batches}
at_early = {k: late_runs[k][0][early[k]] for k in late_batches}
least, most = late_batches[0], late_batches[-1]
smallest = late_runs[least][0]


def with_two_masks(size, until=early_step):
    """What two independent masks gain at the records up to a step, [time, run]."""
    record_at = [step for step in late_marks(size) if step <= until]
    run = late_run(size, "two masks", record_at, views="independent")
    return late_r2(run) - late_runs[size][3][: len(record_at)]


two_at_most = with_two_masks(most)[-1]
two_at_least = with_two_masks(least, late_steps)


glue.number("fd-late-early", early_step)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "late",
    observed=smallest[-1],
    control={"early": at_early[least], "two masks": two_at_least[-1]},
)

# %% tags=["hide-cell", "nbval-check-output"]
chapter.judge(
    "cor-3.5-c",
    observed=at_early[most] - at_early[least],
    control=two_at_most - two_at_least[early[least]],
)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(7.4, 3.8), layout="constrained")
shades = plt.colormaps["Blues"](np.linspace(0.45, 0.95, len(late_batches)))
for (size, (gain, won, t1, _)), shade in zip(late_runs.items(), shades, strict=True):
    unit_of = float(t1.double().mean()) if bool((t1 > 0).all()) else float(early_step)
    x = torch.tensor(late_marks(size)) / unit_of
    band(ax, x, gain, color=shade, lw=1.8, label=f"batch {size}")
    half_won = int((won.mean(-1) >= 0.5).long().argmax())
    if float(won[half_won].mean()) >= 0.5:
        ax.plot(
            float(x[half_won]), float(gain[half_won].mean()), "D", color=shade, ms=7
        )
ax.axhline(0, **colours.ASIDE)
ax.plot([], [], "D", color=colours.GREY, label="half of the atoms won")
ax.legend(loc="lower right")
ax.set(xlabel="step over $T_1$", ylabel="gain in $R^2$ by the mask")


def late_title(gain_of):
    """When the mean gain is positive for good, in steps; batches go up."""
    when = []
    for size, gain in gain_of.items():
        below = (gain.mean(-1) <= 0).nonzero()[:, 0].tolist()
        last = max(below, default=-1)
        if last + 1 == len(gain):
            return f"At the end the mask has gained nothing with batch {size}"
        when.append(late_marks(size)[last + 1])
    if all(later > sooner for later, sooner in zip(when, when[1:], strict=False)):
        return "On average, the smaller the batch, the later the mask gains"
    return (
        f"From step {min(when)} to {max(when)} on the mask gains, at equal thresholds"
    )


ax.set_title(late_title({size: runs[0] for size, runs in sorted(late_runs.items())}))
glue.figure(fig, "fd-plot-late")

# %% [markdown]
# ```{glue:figure} fd-plot-late
# :alt: Gain in R squared by the mask, at equal thresholds, against step over T1 for several batches. By default each line falls below zero, the further the smaller the batch, then crosses zero and rises; the larger batch gains at first, too.
# :name: fd-fig-late
#
# What a probe gains by the mask at equal thresholds, in units of $T_1$ with the mask; bands as above. Look where lines last cross zero. For a while the mask harms: a view has twice the noise of the datum, and without a mask $T_1$ and the thresholds come earlier.
# ```
#
# ## Summary
#
# The mask hides, the threshold finds, and with neither noise takes over. Two views that share no number share no noise, so only signals are left to agree on. Up to $T_1$ runs with and without a mask move along one curve, in which neither noise nor mask occurs, and the mask lets them go on towards its end, as far as the noise of a batch allows. A threshold turns the plane of the signals into its axes, if signals are sparse enough. With neither, a probe stays below $p/(p+\sigma_\xi^2)$ whatever the labels; with both it has {glue:text}`fd-ceilings:.1f` times as much, with thresholds alone {glue:text}`fd-ceilings-bare:.1f` times.
#
# **What surprised us.**
#
# - Without a mask the signals are learned first, and noise overgrows them later. With quiet noise their share rises to {glue:text}`fd-peak:.0%` and ends at {glue:text}`fd-end:.0%`. They are not lost: without weight decay they keep their length, and a linear probe still finds them.
# - Trained biases rise with a mask, after a dip, as the authors raise theirs by hand.
#
# **What is open.**
#
# - *How fast noise overgrows the signals.* {eq}`fd-eq-contrast` says why; the [appendix](fd-a-beyond) finds no simple law.
# - *How biases move by themselves* (we have {numref}`fd-fig-energy`).
# - *Noise with structure.* A mask decouples what is independent from number to number, and nothing else ([exercise](fd-exercises)).
# - *Larger $d$* than [64](fd-a-atoms).
# - *Finite data.* Every step sees fresh data; with a data set, noise could be memorised.
#
# **Where to go next.** In [Nonlinearity](nonlinearity.ipynb) the gate of a ReLU does what the threshold does here. The first stage is a linear flow as in [Collapse and constraints](collapse-and-constraints.ipynb). In [Alignment and balance](alignment-and-balance.ipynb) an image and its caption have noises of their own, so two modalities do what a mask does. [One testbed](one-testbed.ipynb) shows masks and thresholds in the other papers' worlds, and the [appendix](fd-a-neighbours) names papers that continue this one.

# %% tags=["hide-input"]
glue.number("fd-ceilings", explained["with a mask"].mean())
glue.number("fd-ceilings-bare", explained["without, with b"].mean())
quiet_share = energies(courses[quietest])[2].mean(-1)
glue.number("fd-peak", quiet_share.max())
glue.number("fd-end", quiet_share[-1])

# %% [markdown]
# (fd-symbols)=
# ## Symbols
#
# | symbol | meaning | where first |
# |---|---|---|
# | $x$, $z$, $\xi$ | datum, its sparse code, its noise | The model |
# | $M$, $M_j$; dense | dictionary, its atoms; orthogonal to all atoms | The model |
# | $d$, $d_1$, $m$ | number of atoms; of coordinates of a datum; of neurons | The model |
# | $p$, $\sigma_\xi^2$ | probability that $z_j\ne0$; variance of the noise | The model |
# | $x^+$, $x^{++}$, $D$; $\rho$ | the two views, the mask; its rate | The model; A mask hides |
# | $f_i$, $w_i$, $b_i$ | output, weights and bias of a neuron | The model |
# | $\tau$, $N$, $x_s$ | temperature; number of negatives; a negative | The model |
# | $\ell_p$, $\ell_s$ | shares of the positive pair and of a negative in the softmax | The model |
# | $\eta$, $\lambda$, $T_1$ | learning rate; weight decay; end of the first stage | The model |
# | $C$, $\kappa$ | $\mathbb E\,x^+x^{++\top}$; $\eta N/(N+1)$ | One curve |
# | $s(t)$, $W$ without index | share of a neuron in span$(M)$; factor that a neuron grows by | One curve |
# | best atom, won | largest $\langle w_i,M_j\rangle^2/\lVert w_i\rVert^2$; more than half of it | From a plane |
# | $N_i$ | atoms that a neuron has for its own | From a plane |
# | $B$ | positive pairs in a batch | From a plane |
# | $y$, $w^\star$ | label of a downstream task, its weights | What a probe gets |
# | ceiling | $p/(p+\sigma_\xi^2)$, the most that is linear in $x$ | What a probe gets |

# %% [markdown]
# (fd-exercises)=
# ## Exercises
#
# A derivation on paper, then a few lines of code. Each names its level, time and points. Shorter ones, which [grade themselves](../book/exercises.md), are notebooks of their own. The first is worked below. The solutions of the others are not on this page: `make solutions` writes them for teachers, from `chapters/feature-decoupling/solutions.py`.

# %% [markdown]
# ::::{admonition} Worked exercise: three views
# :class: worked
#
# *Ten minutes, without points.* Each coordinate of $x$ goes to one of three views, each with probability $\frac13$, and a view is zero elsewhere. A view is scaled by 3, so that its mean over masks is $x$.
#
# 1. What is the moment $\mathbb E\,x^{(1)}x^{(2)\top}$ of two of the views?
# 2. How many coordinates does a view of $d_1=1200$ show on average, and by how much is the variance of a single number of it larger than that of $x$?
# 3. Is there less noise in the moment than with two views?
#
# :::{admonition} Solution
# :class: dropdown
#
# 1. An entry of $\mathbb E\,xx^\top$ is multiplied by $9\,\mathbb P(i\text{ in the first},\,k\text{ in the second})$. For $i\ne k$ that is $9\cdot\frac19=1$; for $i=k$ it is 0. So it is {eq}`fd-eq-moment` again, $p\,(MM^\top-\operatorname{diag}MM^\top)$.
# 2. It shows 400. A number is $3x_i$ with probability $\frac13$ and else 0, with the second moment $\frac13\cdot9\,\mathbb E x_i^2$: three times as large, where two views have twice.
# 3. No: white noise is gone with two views already. What three views add is more pairs of each datum, and what they cost is louder views, so that a batch must be larger for the same accuracy.
# :::
# ::::

# %% [markdown]
# ````{exercise} Which mask keeps a local signal
# :label: fd-ex-rate
#
# *Core, 45 minutes, 12 points. Needs: {eq}`fd-eq-moment`, the binomial law. After it you can choose the rate of a mask, and say when the choice hardly matters.*
#
# An atom lives on $n$ coordinates, with entries $\pm1/\sqrt n$, and shares none of them with the other atoms. The views are $x^+=Dx/\rho$ and $x^{++}=(I-D)x/(1-\rho)$, where $D$ has independent Bernoulli($\rho$) entries. Put $u=\langle M_j,x^+\rangle$, $v=\langle M_j,x^{++}\rangle$.
#
# 1. What is the chance that both views see at least one of the $n$ coordinates? For which rates is it 0.99 or more?
# 2. Compute $\mathbb E\,uv$. Which rate is best for it?
# 3. Compute the correlation of $u$ and $v$. Which rate is best, and what is left then? How does the number of pairs that you need grow as $\rho\to0$?
#
# ```{hint}
# :class: dropdown
# The number of coordinates that $x^+$ sees is binomial. For 3. write both variances as $a+\frac b\rho$ and $a+\frac b{1-\rho}$ with the same $a$ and $b$.
# ```
# ````

# %% [markdown]
# ````{exercise} Break the decoupling
# :label: fd-ex-broken
#
# *Advanced, 90 minutes, 16 points. Needs: {eq}`fd-eq-moment`. After it you can say which noise a mask does not decouple, and what helps.*
#
# Let the coordinates of the noise be correlated, $\xi\sim\mathcal N(0,\Sigma)$ with $\Sigma_{ii}=\sigma_\xi^2$, and the atoms flat, $|M_{ij}|=1/\sqrt{d_1}$.
#
# 1. What becomes of {eq}`fd-eq-moment`? Which dense direction grows fastest under the mask, and when does it beat the atoms?
# 2. One factor that all coordinates share: $\xi=\Sigma^{1/2}g$, $\Sigma=\sigma_\xi^2\bigl[(1-c)I+c\,d_1ee^\top\bigr]$, with $e$ one more flat direction, orthogonal to all atoms. How large must $c$, the correlation of two coordinates up to its sign, be for the noise to win? Try it with a training, and follow it beyond the first stage.
# 3. Which of these, done to each view apart before the mask, brings the atoms back: (a) add to $x$ a random multiple of $e$; (b) flip the sign of $x$'s part along $e$ by a coin; (c) remove that part?
# 4. The noise comes in pairs, $\xi_{2i-1}=\xi_{2i}$. Which masks decouple it, and what do they cost?
#
# ```{hint}
# :class: dropdown
# An entry of $\mathbb E\,x^+x^{++\top}$ is the entry of $\mathbb E\,xx^\top$ times a mean over masks, 1 or 0.
# ```
# ````

# %% [markdown]
# ````{exercise} The first stage, solved
# :label: fd-ex-first
#
# *Core, 60 minutes, 16 points. Needs: {eq}`fd-eq-moment`. After it you can say how far the mask wins the first stage, and on what scale.*
#
# Near the start $\dot w=\kappa\,\mathbb E[x^+x^{++\top}]\,w$ with $\kappa=\frac N{N+1}$, time in steps of size $\eta=1$. Let the atoms be flat, $|M_{ij}|=1/\sqrt{d_1}$, $w(0)$ isotropic, and let $\lVert w\rVert$ have to grow by a factor $W$ until $T_1$.
#
# 1. Derive from {eq}`fd-eq-moment` the share of $\mathbb E\lVert w\rVert^2$ in span$(M)$ at time $t$, with a mask and without. Compare the two. What, then, does the mask do?
# 2. Now at $T_1$, as a function of $W$. Show that with a mask the share is at least $1-W^{-2}$. Without, it is one half for
#
#    $$
#    2\,\frac p{\sigma_\xi^2}\log W=\log\frac{d_1-d}d+\frac p{\sigma_\xi^2}\log\frac{2(d_1-d)}{d_1}\ \approx\ \log\frac{d_1}d .
#    $$ (fd-eq-without)
#
# 3. Take $p/\sigma_\xi^2=\log\log d/\sqrt{\log d}$, $d_1=d^2$ and $W=d_1$. From which $d$ on is a network without a mask mostly noise at $T_1$?
# 4. Find a weight decay with which it is mostly signal by then. Why is the mask still better?
#
# ```{hint}
# :class: dropdown
# For flat atoms the moment with a mask and the moment without one differ by a multiple of $I$.
# ```
# ````

# %% [markdown]
# ````{exercise} What a threshold sees
# :label: fd-ex-threshold
#
# *Advanced, 90 minutes, 12 points. Needs: the soft threshold, fourth cumulants. After it you can say what a threshold sees and a linear map does not.*
#
# 1. Let $b=0$. Show that the loss is the same for the weights $OV$, $V=(w_1,\dots,w_m)^\top$ and $O$ any orthogonal $m\times m$ matrix, and that training from $OV(0)$ gives $OV(t)$ at every step. Can single neurons find single atoms from a Gaussian start? And what does a linear $f$ know of the atoms in the first stage?
# 2. Now $b>0$, two atoms, no noise, $d_1$ so large that both views give $\langle w,x\rangle=w_1z_1+w_2z_2$, and $\ell$ as at the start. Write down $\dot w_1,\dot w_2$. Let $w_1$ lead a little, $\delta=\log\frac{w_1}{w_2}$ small, $r=b/w$. Show that
#
#    $$
#    \frac{\dot\delta}\delta=\kappa\,p\,\Bigl[r\bigl(1-\tfrac p2\bigr)-p\Bigr]\quad\text{for }\delta<r<1 .
#    $$ (fd-eq-lead)
#
#    What happens to a lead if $b$ is tiny, and what if $z_j$ is seldom zero?
# 3. Training with $z_j$ replaced by a Gaussian of the same variance: does a threshold help then? Try it, with a law that is seldom zero, too.
#
# ```{hint}
# :class: dropdown
# 2.: with the soft threshold $S_b$, $\dot w=\kappa\,\mathbb E[S_b(\langle w,z\rangle)\,z]$. Where both atoms are present with opposite signs, $|w_1-w_2|<b$ and nothing fires.
# ```
# ````

# %% [markdown]
# ````{exercise} The ceiling of linear probes
# :label: fd-ex-ceiling
#
# *Core, 60 minutes, 12 points. Needs: least squares. After it you can say what no linear probe can reach, and when an experiment shows it.*
#
# A probe is to predict $y=\langle w^*,z\rangle$ by a linear function of a representation, with as many labels as you like; $R^2=1-\mathbb E(y-\hat y)^2/\mathbb E y^2$.
#
# 1. Show that no linear representation $Vx$, trained in whatever way, has $R^2>\frac p{p+\sigma_\xi^2}$. Which ones reach it? Does $w^*$ matter?
# 2. The oracle knows $M$ and returns $g_j=\operatorname{sign}(u_j)\mathbb 1\{|u_j|>t\}$, $u_j=\langle M_j,x\rangle$. What is its $R^2$? And what is the most that *any* function of $x$ can have?
# 3. At the paper's scales with constants 1 the ceiling is $\frac1{1+\sqrt{\log d}/\log\log d}$ and goes to zero. Where is it largest? From which $d$ on is it below 0.3, and below 0.1? What follows for an experiment?
#
# ```{hint}
# :class: dropdown
# In 2. all coordinates are alike and independent: $R^2=\frac{(\mathbb E\,z_jg_j)^2}{p\,\mathbb E\,g_j^2}$.
# ```
# ````

# %% tags=["remove-input"]
chapter.close()
