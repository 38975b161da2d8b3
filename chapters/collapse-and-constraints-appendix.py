# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,-papermill,-execution
#     formats: ipynb,py:percent
#     notebook_metadata_filter: kernelspec,jupytext,-jupytext.text_representation.jupytext_version,-jupytext.text_representation.format_version,-papermill,-widgets
#     text_representation:
#       extension: .py
#       format_name: percent
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
# # Appendix: Collapse and constraints
#
# Steps of proofs, counts and conventions that [Collapse and constraints](collapse-and-constraints.ipynb) rests on. It runs by itself, with the same parameters.

# %% tags=["hide-input", "parameters"]
first_seed: int = 1000  # first seed of the block that is judged, 0..1000000
seeds: int = 10  # seeds of a claim that is decided by chance, 3..1000
starts: int = 64  # starts of an optimisation or a flow, 16..10000
many_starts: int = 1000  # starts of Theorem 3, of either kind, 16..100000
inputs: int = 6  # features d of the linear networks, 3..40
outputs: int = 3  # their outputs z, at most d, 2..20
width: int = 12  # their width h, at least d + 1, 4..5000
tangent_widths: list[int] = [16, 64, 256, 1024, 4096]  # of Lemma 1, 16..16384
init_widths: list[int] = [128, 512, 2048, 8192, 32768]  # of Theorem 1, 16..65536
moons: int = 32  # points of the half moons in Figure 2, even, 4..10000
widths: list[int] = [10, 20, 50, 100, 200, 500, 1000, 2000]  # Figure 2, 10..10000
networks: int = 10  # initialisations of Figure 2, 3..1000
mean_loss: bool = False  # Figure 2 with the mean of the pairs, too
epochs: int = 500  # of Figure 2, 10..100000
judged_at: int = 500  # least epochs that are judged, 10..100000
rate: float = 0.01  # learning rate of Figures 2 and 3, 0.0001..0.2
flow_widths: list[int] = [10, 100, 1000]  # of Figure 3, 4..5000
data: str = "digits"  # images of Figure 4, digits|mnist
digits: list[int] = [0, 1, 3, 8, 4, 9, 5, 6, 2, 7]  # pairs of classes, 0..9
per_class: int = 100  # images of a class that are trained on, 2..3000
splits: int = 20  # random splits of Figure 4, 3..1000
image_steps: int = 500  # updates on images, 10..100000
device: str = "cpu"  # the calls are small: a GPU gains nothing here, auto|cpu|cuda


# %% tags=["hide-input"]
import math

import matplotlib.pyplot as plt
import numpy as np
import torch

from contrastive_dynamics.book import glue, open_chapter
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.run_defaults import torch_defaults
from contrastive_dynamics.numerics.stiefel import haar

# %% tags=["hide-input"]
chapter = open_chapter("collapse-and-constraints-appendix", globals())
torch_defaults(chapter.device)
block, seed = chapter.seeds, first_seed


def streams(purpose, runs=starts, first=None):
    """One generator a run."""
    first = seed if first is None else first
    return [stream(first, run, purpose) for run in range(runs)]


# %% [markdown]
# (cc-a-entries)=
# ## The largest entry of a random orthonormal matrix
#
# {prf:ref}`Lemma 2 of the paper <cc-lem-2>` holds in the end for any $L>0$, since the maximum follows $\sqrt{2\log(hd)/h}$. We take $L=1$ and $d=h$, the case that the proof
# reduces everything to, and count the draws that exceed the bound. The control forgets the logarithm.


# %%
def largest_entries(h, runs=100, at_once=20):
    """max |Q_ij| of Haar matrices with d = h."""
    parts = (streams(f"haar {h} {k}", at_once) for k in range(runs // at_once))
    return torch.cat([haar(part, h, h).abs().amax((-2, -1)) for part in parts])


haar_sizes = [4, 8, 16, 32, 64, 128, 256]
tops = {h: largest_entries(h) for h in haar_sizes}
last_size = haar_sizes[-1]


def exceeds(bound):
    hits = int((tops[last_size] >= bound).sum())
    return {"hits": hits, "trials": len(tops[last_size])}


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "lem-2",
    observed=exceeds(math.log(last_size) / last_size**0.5),
    control=exceeds(last_size**-0.5),
)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5.4, 3.3))
low, mid, high = (
    [float(tops[h].quantile(x)) for h in haar_sizes] for x in (0.05, 0.5, 0.95)
)
h_line = np.array(haar_sizes, float)
ax.fill_between(haar_sizes, low, high, color="0.8", label="5 % to 95 % of the draws")
ax.plot(haar_sizes, mid, "ko-", mfc="none", label="median")
ax.plot(haar_sizes, np.log(h_line) / h_line**0.5, "k--", label="$\\log h/\\sqrt{h}$")
ax.plot(
    haar_sizes,
    (2 * np.log(h_line**2) / h_line) ** 0.5,
    "k:",
    label="$\\sqrt{2\\log(hd)/h}$",
)
ax.set(xscale="log", xlabel="width h = d", ylabel="largest entry", ylim=(0, 1.3))
ax.legend(fontsize=8)
glue.figure(fig, "cc-plot-lem-2")

# %% [markdown]
# ```{glue:figure} cc-plot-lem-2
# :alt: The largest entry of a random orthonormal matrix falls with the width below the dashed bound with a logarithm and follows the dotted square root of a logarithm.
# :name: cc-plot-lem-2
#
# Lemma 2 of the paper. Largest entry of a Haar-random orthonormal matrix against the width. Look at where the band passes below the dashed line, the bound with $L=1$; the band follows the dotted line, so any $L>0$ serves from some width on.
# ```
#
# (cc-a-cost)=
# ## What an update costs (Figure 4 of the paper, left)
#
# "An update step using (12) is significantly faster then a SGD step using (11)", "(11) scales linearly with $h$", paper (12) "is independent of" it. Times depend on the machine; they stand in the repository's `benchmarks/`, for $h$ up to $10^4$. Here we count: every
# multiplication and addition of the whole update of each, gradients, step and projection included, and every byte of float64 read or written. A test of the library holds the counts against what PyTorch executes.
#
# A slip on the way: $W_1^\top W_1=I_d$ needs $h\ge d$. MNIST has $d=784$, so no width below that satisfies the constraint of paper (8).

# %%
from contrastive_dynamics.collapse_and_constraints.update_cost import (
    descent_step_cost,
    flow_step_cost,
)

all_sizes = [
    (h, d, z)
    for h in (10, 30, 100, 300, 1000, 3000, 10_000)
    for d, z in ((2, 1), (10, 2), (64, 2), (784, 2), (784, 10))
    if h >= max(d, z)
]
shares_4 = {
    what: max(
        getattr(flow_step_cost(d, z), what) / getattr(descent_step_cost(h, d, z), what)
        for h, d, z in all_sizes
    )
    for what in ("flops", "bytes")
}


def careless(h, d, z):
    """(12) with dense d×d products, beside (11) without its projections."""
    return 10 * d * d * z / (6 * h * d * z + 2 * d * d * z)


miscounted = max(careless(*size) for size in all_sizes)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-4a", observed=shares_4, control=miscounted)


# %%
def bend(count):
    """How far a cost over the width is from a straight line, relative to its rise."""
    at = torch.linspace(1000, 10_000, 10)
    y = torch.tensor([float(count(int(h))) for h in at])
    line = y[0] + (y[-1] - y[0]) * (at - at[0]) / (at[-1] - at[0])
    return float((y - line).abs().max() / (y[-1] - y[0]))


def squared(h):  # with the h×h matrix I − WWᵀ written out
    return descent_step_cost(h, 10, 2).flops + 2 * h * h * (10 + 2)


straight = {
    what: bend(lambda h, what=what: getattr(descent_step_cost(h, 10, 2), what))
    for what in ("flops", "bytes")
}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-4a-h", observed=straight, control=bend(squared))

# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(1, 2, figsize=(9, 3.3))
for ax, what in zip(axes, ("flops", "bytes"), strict=True):
    for (d, z), style in (((10, 2), "o"), ((784, 2), "s")):
        hs = [h for h in (10, 30, 100, 300, 1000, 3000, 10_000) if h >= d]
        ax.loglog(
            hs,
            [getattr(descent_step_cost(h, d, z), what) for h in hs],
            f"k{style}-",
            mfc="none",
            label=f"(11), d={d}",
        )
        ax.loglog(
            hs,
            [getattr(flow_step_cost(d, z), what)] * len(hs),
            f"k{style}--",
            mfc="k",
            label=f"(12), d={d}",
        )
    ax.set(xlabel="width h", ylabel=f"{what} of an update, z = 2")
axes[0].legend(fontsize=8)
fig.tight_layout()
glue.figure(fig, "cc-plot-fig-4a")

# %% [markdown]
# ```{glue:figure} cc-plot-fig-4a
# :alt: Flops and bytes of an update against the width on double logarithmic axes. Gradient descent rises in proportion to the width from a plateau; the differential equation is flat and lower everywhere.
# :name: cc-plot-fig-4a
#
# Figure 4 of the paper, left. Cost of one update by count, in place of the paper's run time. Look at the flat dashed lines: paper (12) does not know the width. For $d=784$ the solid line starts at $h=1000$ and rises slowly at first: the eigenproblem of $W_1^\top W_1$, which does not depend on $h$, costs as much as the products with $W_1$.
# ```
#
# ## What we had to assume
#
# - "Projecting the weights" is read as the polar factor, the nearest matrix with orthonormal columns. Another retraction follows another flow (`fig-3-c`).
# - $C$ is that of the mean of the pairs in Example 1 and Figures 3 and 4 of the paper, of the sum in Figure 2, whose number of points (the parameter `moons`) so sets the time scale. Anchors are the same half moons in every run.
# - The difference in Figure 2 of the paper is a root mean square over the training anchors, and the linear twin is computed by {eq}`cc-eq-map`, which is exact, not trained.
# - Expectations and flows are those of full batches. $\varepsilon\sim\mathcal N(0,0.1\,I)$ is read as a variance.
# - Where the text does not name data, we take half moons (Figures 2 and 3 of the paper) with 2 outputs or 1, or matrices $C$ with stated eigenvalues in a random basis.
# - "Converges" is a distance of $10^{-3}$ from $\pm e_1$, at rest; "goes to zero" is at most a tenth (Figure 2 of the paper) or 0.15 (Conjecture 1) of the linear outputs at the widest network; "coincide" is one percentage point.
# - "Starts" of the constrained problems are Haar-uniform, of the others Gaussian. Proposition 2 and 3 of the paper speak of global optima; we report the lowest end over the starts.
# - In Figure 4 of the paper the outputs of (11) are computed by the map {eq}`cc-eq-map`, which `closed-map` shows to be what training the weights does; the start is that of a network of width $2d$.
# - Figures are judged by their caption and the text around them. The pictures of the paper were not available, so no likeness is claimed.

# %%
chapter.close()
