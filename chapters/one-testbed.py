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
# The four papers of this book explain contrastive learning in four worlds: two modalities, half moons, tokens, sparse codes. Here all four stand in one experiment, and the main prediction of each paper is tried in the worlds of the others. **A world in which a prediction fails says nothing against its paper**: a theorem speaks of the world for which it is proved, and there it comes out here, too, before any other world is looked at. The question is which explanation *travels*, and what it needs for the journey.
#
# The answer begins with a number that every user of CLIP has seen on a screen. *A linear contrastive learner that learns its temperature measures the canonical correlations of its two views, and the temperature counts them.* If the temperature is fixed instead, the learner gives up the weakest directions, or fills the rest with noise. For linear networks the four worlds are then one: views enter through their correlations alone, and four effects that four papers prove are four corners of one formula. What a network does beyond it, non-linearity does.
#
# **How to read this page.** It has no paper of its own, so every claim is ours, and the rules are those of the other chapters ([how a claim is judged](../book/judging.md)). Rules were fixed on seeds below 1000 and are judged on others. A card names a *control*, a plausible mistake that goes through the same code and has to miss the rule. A [table of symbols](ot-symbols) is near the end, and the [appendix](one-testbed-appendix.ipynb) holds what only a doubter needs.


# %% tags=["hide-input", "parameters"]
first_seed: int = 1000  # first seed of the block that is judged, 0..1000000
seeds: int = 8  # seeds of a claim that is decided by chance, 3..1000
image_data: str = "digits"  # of the real pairs, one of testbed.image_pairs.DATA
image_seeds: int = 5  # encoders per inverse temperature, 3..100
image_temperatures: list[float] = [0.5, 1.0, 3.0]  # τ² of these, 0.05..20
image_steps: int = 400  # of these trainings, 50..100000
image_batch: int = 256  # pairs per step, 16..16384
image_outputs: int = 32  # outputs of these encoders, 2..512
image_count: int = 50000  # pairs on which correlations are measured, 2000..10000000
own_world: str = "moons"  # of your own run, one of testbed.own_runs.WORLDS
own_views: str = "native"  # its views, one of testbed.own_runs.VIEWS
own_network: str = "linear"  # its network, one of testbed.own_runs.NETWORKS
own_loss: str = "infonce"  # its loss, one of testbed.own_runs.LOSSES
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
    Apart, Coupled, InfoNCE, Linear, Masked, Plan, distance, effective_rank_of_shares,
    hidden_layer, image_draw, learned_temperature, measured_views, own_map, per_run,
    score, spectra_at, temperature_learned, train, water_filling, water_level,
)  # fmt: skip


# %% tags=["hide-input"]
chapter = open_chapter("one-testbed", globals())
torch_defaults(chapter.device)
block = list(chapter.seeds)


# %% [markdown]
# ## What two views have in common
#
# Take two views of a datum and look for the pair of linear readouts, one of each view, that are most correlated. Their correlation is $\rho_1$. Among readouts uncorrelated with these look for the best pair again: $\rho_2$, and so on. These are the *canonical correlations* {cite}`hotelling-1936`. A feature that both views carry in full has $\rho=1$, one that is buried under noise less, and what only one view has, a *private* direction, has $\rho=0$.
#
# Draw every direction as a shaft as deep as its $\rho$, and pour in water. How much is set by the *inverse temperature* $\tau^2$, by which a loss multiplies its similarities. Guess where the water goes.

# %% tags=["hide-input"]
depths = torch.tensor([0.9, 0.7, 0.5, 0.3, 0.0, 0.0])
fig, axes = plt.subplots(1, 3, figsize=(7.8, 2.7), sharey=True, layout="constrained")
for ax, poured in zip(
    axes, (1.0, float(learned_temperature(depths)), 4.0), strict=True
):
    water = poured * water_filling(depths, poured)
    places = torch.arange(len(depths))
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
# The water in a shaft is its share of the network's output, times $\tau^2$; the dashed level is the formula of the next section but one, and the network is trained in your browser. At <a href="#vessel:tau=0.3">a small τ²</a> the deepest shaft takes nearly all; at <a href="#vessel:tau=4">a large one</a> noise is flooded. A network that <a href="#vessel:tau=0.5&amp;learn=1">learns τ²</a> stops at the brim.
#
# ## Four worlds, one experiment
#
# | world | from | shared, in both views | private, in one view |
# |---|---|---|---|
# | modalities | [Alignment and balance](alignment-and-balance.ipynb) | 6 signs of unequal strength | 10 signs of each modality |
# | moons | [Collapse and constraints](collapse-and-constraints.ipynb) | where on each of 6 pairs of half moons, rotated into 32 numbers | noise on all numbers |
# | tokens | [Nonlinearity](nonlinearity.ipynb) | which of 20 generators wrote the sequence | its free places |
# | sparse codes | [Feature decoupling](feature-decoupling.ipynb) | 16 signals, each seldom there, spread over 128 numbers | dense noise; one view is what the mask hides from the other |
#
# A *world* draws what both views share and what each has for itself, and renders a view from them. A *view maker* makes pairs of it, in any world: as its paper does, with private parts redrawn (*apart*) or kept (*coupled*: no augmentation), masked, or shuffled, a control. Networks, losses, constraints and optimisers fit any pair, and one training loop serves all of them; where a paper's room has an exact kernel, a test holds one step of the loop to it, to ten digits. A world, a loss and a network of your own take the following lines.


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
# Views that share no noise make even this network drop noise; equal views make it drop the signal: what *Feature decoupling* proves of sparse codes is a fact about views. The [kernels page](../book/kernels.md) has the same program outside the book.


# %% [markdown]
# (ot-corners)=
# ## Four effects, four corners
#
# Read the formula at its ends.
#
# | effect | paper | in the formula |
# |---|---|---|
# | Positive pairs alone collapse | {cite:t}`esser-2023` | $\tau^2\to0$: the largest $\rho$ takes everything ([chapter](collapse-and-constraints.ipynb)) |
# | Negative pairs balance | {cite:t}`ren-li-2023` | a larger $\tau^2$ fills more shafts; shares are equal exactly where correlations are, as with their $\rho_j=1$ ([chapter](alignment-and-balance.ipynb)) |
# | Masks remove dense noise | {cite:t}`wen-li-2021` | a mask sets the $\rho$ of noise to 0; without it every direction has $\rho=1$ and the network whitens ([chapter](feature-decoupling.ipynb)) |
# | Non-linearity finds patterns | {cite:t}`tian-2023` | not in it: the formula speaks of linear networks ([chapter](nonlinearity.ipynb)) |
#
# The first two look opposite in the introduction of this book: negatives do not prevent a collapse under one loss, and are needed for balance under another. In the formula they are two temperatures. A loss that is linear in the similarities is the limit $\tau^2\to0$, in which negatives leave no trace; with a finite $\tau^2$ they are what fills the weaker shafts. And in neither do negatives remove noise: what removes it is a view maker that lets $\rho$ be 0. More negatives, or a larger $\tau^2$, widen the spectrum, and beyond $\sum_j\rho_j$ they let the noise back in.
#
# These are readings of optima. The papers prove more, about the way there: which direction comes first, at which rate, in which stage.


# %% [markdown]
# (ot-real)=
# ## Does it hold for real images?
#
# So far every view was drawn from a model. Now a view is a random part of an image, with other brightness and with noise: on this page of a handwritten digit, in the [stored run](ot-record) of a patch of a CIFAR-10 photograph, where colours change, too. Nobody knows what two such views share. We measure it: directions are found on pairs of the training images, and their correlations on pairs of images that no training sees. Then a linear encoder is trained, and its spectrum is laid beside the prediction, in which nothing is fitted.

# %% tags=["hide-input"]
image_block = list(range(first_seed, first_seed + image_seeds))
fitted, kept = (chapter.check(image_draw, image_data, s) for s in ("train", "test"))
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
# ````{prf:proposition} the law on real images
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
        np.tile(place, (image_seeds, 1)).T,
        at_fixed.measured[k, :, :shown].T.cpu(),
        color=colours.BLACK,
        ls="none",
        marker="o",
        ms=3,
    )
    ax.plot([], [], "ko", ms=3, label="trained, every seed")
    ax.set_title(f"τ² = {image_temperatures[k]:g}")
    ax.set_xlabel("direction")
    top = max(float(at_fixed.law[k].max()), float(at_fixed.measured[k].max()))
    ax.set_ylim(0, 1.3 * top)
np.atleast_1d(axes)[0].set_ylabel("share of the outputs' variance")
np.atleast_1d(axes)[-1].legend(loc="upper right")
fig.suptitle("A trained encoder shows what its views have in common", x=0.01, ha="left")
glue.figure(fig, "ot-plot-real")

# %% [markdown]
# ```{glue:figure} ot-plot-real
# :alt: One panel per inverse temperature. Bars fall from left to right, more of them the larger the inverse temperature; black points of trained encoders sit on the tops of the bars. A dotted grey line of the control leaves them.
# :name: ot-fig-real
#
# Spectra of linear encoders that are trained on two random views of real images. Bars: the soft threshold of the correlations of held-out pairs. Points: trained encoders, one per seed. Grey: the same formula with the variances of the principal components. Look at the last bars: how many directions an encoder keeps is decided by $\tau^2$ and the correlations alone. The line of the control may leave the panel.
# ```
#
# The law is exact for Gaussian views, and these are not: in the ten most correlated directions the excess kurtosis is {glue:text}`ot-kurtosis:.1f` on average and up to {glue:text}`ot-kurtosis-most:.1f`. It is of second order in $\tau^2$, so it should fail as $\tau^2$ grows. On digits, whose kurtosis is near 0, it still holds at $\tau^2=3$. On patches of photographs it is off by a tenth of the variance there, and first in the leading direction, which takes more than its share.
#
# ### What a learned temperature counts
#
# At a learned $\tau^2$ every direction counts, and so does every departure from a Gaussian. Let $x_j$ be the views in canonical coordinates and $h_j=\tau^2g_j$. For any views the soft threshold becomes
#
# $$
# D_j(h)=(\rho_j-\mu)_+,\qquad D_j(h)=\mathbb E_x\,x_j\,\frac{\mathbb E_{x'}x_j'e^{\sum_kh_kx_kx_k'}}{\mathbb E_{x'}e^{\sum_kh_kx_kx_k'}}=h_j+\tfrac12\sum_{kl}\kappa_{jkl}^2h_kh_l+\dots
# $$ (ot-eq-tilted)
#
# with $\kappa_{jkl}=\mathbb E\,x_jx_kx_l$, as long as the optimum stays on the canonical axes. Gaussian views have $D(h)=h$. The second term is never negative: skewed views, such as ten clusters of digits, ask for less $h$ than $\rho$. So a learned $\tau^2=\sum_jh_j$ ends below $\sum_j\rho_j$. We estimate $D$ from held-out views and solve for $h$.

# %% tags=["hide-input"]
starts = (1.0, 10.0)
learned = temperature_learned(
    real_views, starts, image_block, **watched("images, τ² learned")
)
names = [f"from {s:g}" for s in starts]
off = dict(zip(names, learned.tau_squared / learned.sampled - 1, strict=True))
off_sum = dict(zip(names, learned.tau_squared / learned.law - 1, strict=True))
glue.number("ot-real-sum", learned.law)
glue.number("ot-real-sampled", learned.sampled)
glue.number("ot-real-learned", learned.tau_squared.mean())

# %% [markdown]
# ````{prf:proposition} what a learned temperature counts on real images
# :label: ot-real-temperature
# :nonumber:
# ```{claim} real-temperature
# ```
# ````

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("real-temperature", observed=off, control=off_sum)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5.2, 3.0), layout="constrained")
sorted_rho = real_views.rho.sort(descending=True).values[:shown].cpu()
ax.plot(place, sorted_rho, **colours.THEORY, label="ρ: Gaussian views")
ax.plot(
    place,
    learned.sampled_scaled[:shown].cpu(),
    color=colours.GREEN,
    label="own log moments",
)
every = learned.scaled[..., :shown].flatten(0, 1)
ax.plot(
    np.tile(place, (len(every), 1)).T, every.T.cpu(), color="k", ls="", marker="o", ms=3
)
ax.plot([], [], "ko", ms=3, label="trained, every seed and start")
ax.set(xlabel="direction", ylabel="τ² × share of the variance", ylim=(0, None))
ax.legend()
ax.set_title("A learned temperature counts less than ρ", loc="left")
glue.figure(fig, "ot-plot-real-learned")

# %% [markdown]
# ```{glue:figure} ot-plot-real-learned
# :alt: Three falling curves over the directions. Black points of trained encoders lie below the dotted curve of the correlations, near the green curve of the views' own log moments.
# :name: ot-fig-real-learned
#
# With a learned $\tau^2$: the spectrum times $\tau^2$. Gaussian views would put it at $\rho_j$ (dotted). Equation {eq}`ot-eq-tilted` with the log moments of the views themselves (green) says where it ends. The correlations sum to {glue:text}`ot-real-sum:.1f`, the green values to {glue:text}`ot-real-sampled:.1f`; the encoders end at {glue:text}`ot-real-learned:.1f`, from below as from above.
# ```
#
# ### A network that is not linear
#
# The law is about the last layer, if that is linear. Train a ReLU network from end to end. At the end its last layer is at an optimum for the hidden units as they are. So its outputs should show the soft threshold of the correlations *of the hidden units*. That is the diagnostic for your own encoder: ten lines on [Use the kernels](../book/kernels.md).

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
# ````{prf:proposition} the last layer of a ReLU network
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
# Choose a world, its views, a network and a loss, and see what becomes of the shared features as noise is added to both views and as the temperature changes.
#
# ```sh
# clbook run one-testbed -p own_world=sparse-codes -p own_loss=spectral
# clbook run one-testbed -p own_network=relu -p own_taus=0.5,1,3,8 -p own_seeds=8
# ```
#
# The names are checked before anything runs, and the cell says what it will cost.

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
    axes[0].plot(own_taus, mine.rank[row], marker, color=ink, label=f"noise {std:g}")
    axes[1].plot(own_taus, mine.kept[row], f"{marker}-", color=ink)
    if mine.law is not None:
        axes[0].plot(own_taus, mine.law[row], "--", color=ink)
for ax, name in zip(
    axes, ("effective rank", "kept of the shared features"), strict=True
):
    ax.set(xscale="log", xlabel=r"inverse temperature $\tau^2$", ylabel=name)
    ax.minorticks_off()
    ax.set_xticks(own_taus, [f"{tau:g}" for tau in own_taus])
axes[0].legend()
law_or_not = (
    "the law (dashed) knows the rank"
    if mine.law is not None
    else "no law for these parts"
)
fig.suptitle(f"{own_world}, {own_network}: {law_or_not}", x=0.01, ha="left")
glue.figure(fig, "ot-plot-own")

# %% [markdown]
# ```{glue:figure} ot-plot-own
# :alt: Two panels over the inverse temperature, one set of points for each strength of added noise. Left: the effective rank of the outputs rises with the inverse temperature and lies on dashed curves. Right: how much of the shared features is kept rises, too, and falls with noise.
# :name: ot-fig-own
#
# A map over two axes, temperature and added noise, for the parts named in its title. Left: the effective rank of the outputs (points) and the law's (dashed, nothing fitted), where it has one. Right: how much of the shared features a linear probe reads from the outputs with a little noise added to them.
# ```


# %% [markdown]
# (ot-who)=
# ## Who else is here
#
# The formula is a short corollary, and most of its parts are known. We list what the nearest works state, as far as we could read it (of some only the abstract, which we say), and what this chapter adds. Of the law of shares and of $\tau^2=\sum_j\rho_j$ we can say no more than that *we did not find it stated*; the search was finite.
#
# - {cite:t}`kamai-2026` come first for what views decide. In a linear model with signal and nuisance in each modality, each with its own correlation across the modalities, they find when alignment recovers the signal: when every correlation of the signal exceeds every one of the nuisance. Our statement that noise is dropped if views do not share it is this threshold with nuisance at 0; *coupled* views are its other end, all correlations 1. Their theory is about subspaces at a fixed temperature; shares and a learned temperature are what is added here.
# - **"A theory of contrastive learning with natural images"** ([arXiv 2607.07470](https://arxiv.org/abs/2607.07470), ICML 2026): its abstract says that small convolutional networks learn to whiten in part, with frequencies and weights from a "simple 'waterfilling' algorithm given the dataset's expected power spectrum". We could not read the paper. It may hold a law like ours with frequencies for directions; so we keep the word *soft threshold* for the formula, and water for the picture.
# - {cite:t}`haochen-2021` introduce the spectral loss, whose optimum is a truncated spectral decomposition; for linear maps its quadratic form is ours for views of any law. The norm of one, and with it the threshold, is the difference. {cite:t}`baptista-2025` treat Gaussian modalities and low-rank approximation (abstract read); "Gaussian-negative quadratic surrogate" is the name of the quadratic form in the abstract of [arXiv 2606.26617](https://arxiv.org/abs/2606.26617).
# - {cite:t}`gui-2025` prove, for networks beyond linear ones, that contrastive learning with an optimised temperature adapts to the intrinsic dimension of what is shared (abstract read). The learned temperature that counts correlations reads like a linear case of this, found in another way.
# - {cite:t}`ziyin-2023` derive the landscape of linear self-supervised models and its collapses; {cite:t}`ji-2023` show that linear contrastive learning beats principal components in unequal noise, which is why principal components fail as our control. Of both we know the abstract alone. {cite:t}`betser-2026` show that InfoNCE makes outputs Gaussian (abstract read), which makes the law's assumption plausible for what a network hands on, not for its inputs.
# - The map from $\rho/\tau^2$ to shares is *sparsemax* {cite}`martins-astudillo-2016`, a projection onto the simplex, and the optimum a projection onto a ball of the nuclear norm; the same function is found in reverse water-filling, of a different quantity.


# %% [markdown]
# (ot-surprises)=
# ## What surprised us
#
# 1. **The law itself.** It was not looked for. Arms at a small $\tau^2$ stopped at a rank that more time did not raise, and then one formula gave most of the linear cells of the table.
# 2. **Negatives never denoise.** They widen the spectrum. Positive pairs alone were as clean as any number of negatives in all four worlds; beyond $\tau^2=\sum\rho_j$ negatives flood private directions.
# 3. **"Without augmentation, noise wins" is whitening.** It depends on how many directions of noise there are, and not on how strong it is.
# 4. **Neurons with one feature each come from sparsity**, not from masks and not from dense noise: sparse signals in two modalities give them with no mask at all, dense ones do not.
# 5. **A temperature is a count.** A learned $\tau^2$ of 2.5 says that the two views have correlations that add up to 2.5; one that depends on the size of the batch says that the batch is too small for it.
#
# ## What is open
#
# - **Non-linear networks.** The canonical correlations of a kernel are the natural guess: does a wide network at small steps follow the law with $\rho$ of its tangent kernel?
# - **Outputs of unit length**, as CLIP has them, are another loss. For equal correlations we can say where $\tau^2$ settles; for unequal ones we measure and do not prove.
# - **Few negatives.** The correction for $N$ negatives is an expansion, and it breaks down where single negatives dominate the sum.
# - **Time.** The law is about the end. How long a weak direction takes depends on the gap $\mu-\rho_j$ or $\rho_j-\mu$, and gaps close to 0 take as long as you like.
# - **What the other two pages of the papers know**: stages, rates and the order of events are not in a law of optima.
#
# On form: the runs of this chapter are functions of the room `testbed`, parameters in, observed value and control out, which the notebook calls. It made cells short, and a run can be tested and called by anybody without a notebook. It hides what a cell would have shown: to see how a network is trained here, follow the strip to the library.
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
# | $C$ | cross moment of the whitened views; its singular values are $\rho_j$ | |
# | $z$, $D$ | numbers of outputs and of inputs | `outputs`, `inputs` |
# | $N$ | pairs in a batch; each has $N-1$ negatives | `batch` |
# | $S$, $P$ | numbers of shared and of private directions | |

# %% [markdown]
# ## Exercises
#
# ````{exercise} Which arm collapses?
# :label: ot-ex-arm
#
# (easy) Four directions have $\rho=0.8,0.8,0.4,0$. One network is trained at $\tau^2=0.4$, one at $2$, one at $6$, all with eight outputs and one encoder. Predict the effective rank of each before you run `water_filling`.
# ````
#
# ````{exercise} Why the sum?
# :label: ot-ex-sum
#
# (medium) Show that a learned $\tau^2$ of two encoders that starts above $\sum_j\rho_j$ may stay where it is, while that of one encoder comes down. Which constraint is not active?
# ````
#
# ````{exercise} The spectral loss
# :label: ot-ex-spectral
#
# (medium) For the spectral loss without a norm, $-2\operatorname{tr}(CG^\top)+\lVert G\rVert^2$ and $z$ outputs, what replaces the soft threshold?
# ````
#
# ````{exercise} A world in which masks hurt
# :label: ot-ex-mask
#
# (hard) Write a world of at most fifteen lines in which `Masked` views keep less of the shared features than `Apart` ones. What must a signal be like?
# ````

# %% [markdown] tags=["solution"]
# ```{solution} ot-ex-arm
# :label: ot-sol-arm
# :class: dropdown
#
# At $0.4$ the two equal ones share all: $\mu=0.6$, rank 2. At $2=\sum_j\rho_j$ the level is 0, and the shares are $0.4,0.4,0.2$: rank 2.87. At $6$ the level is $-1$, and the shares are $0.3,0.3,0.233,0.167$: rank 3.90. The cell below checks this.
# ```

# %% tags=["solution", "hide-cell"]
given = torch.tensor([0.8, 0.8, 0.4, 0.0])
ranks = [
    float(effective_rank_of_shares(water_filling(given, t))) for t in (0.4, 2.0, 6.0)
]
print(", ".join(f"{rank:.2f}" for rank in ranks))
assert all(abs(a - b) < 0.006 for a, b in zip(ranks, (2.0, 2.87, 3.90), strict=True))

# %% [markdown] tags=["solution"]
# ```{solution} ot-ex-sum
# :label: ot-sol-sum
# :class: dropdown
#
# In $H=\tau^2G$ the loss is $\lVert H-C\rVert^2$ up to a constant, and $\tau^2$ occurs in the constraint alone. Two encoders: $\lVert H\rVert_*\le\tau^2$. For $\tau^2\ge\sum\rho_j$ it is not active, $H=C$ for each such $\tau^2$, and the gradient in $\tau^2$ at fixed $H$ is 0: the spare norm stands in outputs of one encoder to which the other does not answer. One encoder: $G=U^\top U$ has trace exactly one, so $\operatorname{tr}H=\tau^2$; $H=C$ is possible only at $\tau^2=\sum\rho_j$.
# ```
#
# ```{solution} ot-ex-spectral
# :label: ot-sol-spectral
# :class: dropdown
#
# A hard one. Without a norm $G$ is any matrix of rank $z$ or less, and the nearest to $C$ is its truncated singular value decomposition: the $z$ largest $\rho_j$ are kept as they are, the others dropped.
# ```
#
# ```{solution} ot-ex-mask
# :label: ot-sol-mask
# :class: dropdown
#
# A signal that sits in one number. A mask that shows the number to one view hides it from the other, so the views never share it: its $\rho$ is 0, as that of noise. The world below has three such signals, in noise that is weaker than each of them.
# ```


# %% tags=["solution", "hide-cell"]
class OneNumberEach(Clusters):
    """Three signs, each in a number of its own."""

    def private(self, n, generators):
        return 0.5 * per_run(torch.randn, generators, n, self.inputs)


hurt = {}
for name, views in (("masked", Masked()), ("apart", Apart())):
    ended = train(
        OneNumberEach(),
        views,
        Linear(4),
        InfoNCE(1.0),
        seeds=block,
        steps=150,
        batch=128,
    )
    hurt[name] = float(score(ended, Apart(), 2000, block).kept.mean())
print(", ".join(f"{name} {kept:.2f}" for name, kept in hurt.items()))
assert hurt["masked"] < hurt["apart"] - 0.1

# %% [markdown]
# (ot-record)=
# ## The run at the paper's size
#
# ```{include} ../book/_generated/one-testbed-record.md
# ```

# %% tags=["remove-cell"]
chapter.close()
