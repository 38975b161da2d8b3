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
# # Collapse and constraints
#
# ```{include} ../book/_generated/collapse-and-constraints-box.md
# ```
#
# This is {cite}`esser-2023`: why the simplest losses of self-supervised learning collapse to one dimension, what an orthogonality
# constraint changes, and a closed differential equation for the outputs of the constrained linear network. No code of the authors is public.
# Each statement stands beside the run that tests it; the card below a run gives the verdict and what was measured. How a
# verdict is reached stands in [How a claim is judged](../book/judging.md), the symbols in [Notation](../book/notation.md). The
# [slips of the text](cc-slips) are listed in a box, and five exercises with solutions stand at the end.

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
from functools import cache
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch

from contrastive_dynamics.book import colours, glue, open_chapter
from contrastive_dynamics.collapse_and_constraints.constrained_flow import (
    flow_map,
    iterate,
    largest_rate,
    limit_projector,
    new_point,
    output_flow,
    output_velocity,
    polar_map,
    polar_velocity,
    projected_map,
    projector_velocity,
    vector_velocity,
)
from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import (
    Weights,
    descend,
    descent_step,
    draw_weights,
    require_sizes,
    trace_loss,
)
from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import (
    outputs as network_outputs,
)
from contrastive_dynamics.collapse_and_constraints.pair_losses import (
    expected_trace_matrix,
    pair_loss,
    pairing,
    stacked,
    trace_matrix,
)
from contrastive_dynamics.collapse_and_constraints.unconstrained_flow import (
    blow_up,
    kernel_flow,
    linear_flow,
    output_velocity_by_kernel,
    projected_flow,
    spectral_flow,
)
from contrastive_dynamics.data.catalogue import check as check_data
from contrastive_dynamics.data.catalogue import digits as load_digits
from contrastive_dynamics.data.catalogue import mnist as load_mnist
from contrastive_dynamics.data.half_moons import (
    half_moon_moments,
    half_moon_pairs,
    half_moons,
)
from contrastive_dynamics.data.two_class_problems import class_pairs, two_class_problem
from contrastive_dynamics.numerics.power_laws import fitted_power
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.ranks import effective_rank
from contrastive_dynamics.numerics.relative_error import relative_error
from contrastive_dynamics.numerics.run_defaults import torch_defaults
from contrastive_dynamics.numerics.stiefel import grassmann_gradient, haar

# %%
chapter = open_chapter("collapse-and-constraints", globals())
torch_defaults(chapter.device)
block, seed = chapter.seeds, first_seed


def streams(purpose, runs=starts, first=None):
    """One generator a run."""
    first = seed if first is None else first
    return [stream(first, run, purpose) for run in range(runs)]


# %% tags=["hide-input"]
# what the runs below need is checked before any work
chapter.check(require_sizes, width, inputs, outputs)
chapter.check(half_moons, moons)
chapter.check(check_data, data)
source = load_digits() if data == "digits" else load_mnist("train")
images = torch.tensor(
    source.images.reshape(len(source.images), -1) / source.images.max()
)
labels = torch.tensor(source.labels.astype("int64"))
image_pairs = chapter.check(class_pairs, digits, labels, per_class)

# %% [markdown]
# ## Two losses and one matrix
#
# A model $u:\mathbb R^d\to\mathbb R^z$ sees anchors $x_i$, positives $x_i^+$ (the anchor, augmented) and negatives $x_i^-$ (another sample).
# The paper's contrastive and non-contrastive losses are
#
# $$
# \begin{aligned}
# \mathcal L&=\textstyle\sum_{i=1}^n u(x_i)^\top\bigl(u(x_i^-)-u(x_i^+)\bigr)&&\text{contrastive, (1) of the paper,}\\
# \mathcal L&=-\textstyle\sum_{i=1}^n u(x_i)^\top u(x_i^+)&&\text{non-contrastive, its (2).}
# \end{aligned}
# $$ (cc-eq-losses)
#
# For a linear model they depend on the data through one symmetric matrix. With $u(x)=W_2^\top W_1x$, $W_1\in\mathbb R^{h\times d}$,
# $W_2\in\mathbb R^{h\times z}$, either loss is
#
# $$
# \begin{aligned}
# \mathcal L&=\operatorname{Tr}\bigl(W_2^\top W_1CW_1^\top W_2\bigr),\qquad C=\tfrac12(\tilde C+\tilde C^\top),\\
# \tilde C&=\sum_i x_i\Bigl(\sum_{j\le q}x_{ij}^--\sum_{j\le p}x_{ij}^+\Bigr)^{\!\top}
# \end{aligned}
# $$ (cc-eq-trace)
#
# for $p$ positives and $q$ negatives (7), (8) of the paper; without negatives $\tilde C=-\sum_i x_i(x_i^+)^\top$. The paper prints that last matrix without its
# minus sign, and with it the loss would be minimised by the wrong eigenvectors: this is the control below.


# %%
def trace_form_error(p, q, sign=1):
    x, *views = (
        torch.randn(*shape, inputs, generator=stream(seed, k, f"trace {p} {q}"))
        for k, shape in enumerate([(20,), (20, p), (20, q)][: 3 if q else 2])
    )
    theta = torch.randn(outputs, inputs, generator=stream(seed, 0, "theta"))
    loss = pair_loss(*(v @ theta.mT for v in (x, *views)))
    c = sign * trace_matrix(x, *views)
    return relative_error(trace_loss(theta.mT, c), loss)


cases = {f"p={p}, q={q}": (p, q) for p, q in ((1, 0), (3, 0), (1, 1), (2, 5), (4, 1))}
error = {name: trace_form_error(*case) for name, case in cases.items()}
printed = trace_form_error(1, 0, sign=-1)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("eq-8", observed=error, control=printed)

# %% [markdown]
# ### What the matrix is on average
#
# If $x^-$ is independent of $x$ with the same law and $x^+=x+\varepsilon$ with centred noise, then
# $\mathbb E[\tilde C]=\sum_i\mathbb E[x_i]\mathbb E[x_i^-]^\top-\mathbb E[x_ix_i^{+\top}]$. The paper goes on: $=-n\,\mathbb E[xx^\top]$. That asks for
# $\mathbb E[x]=0$, which it does not say. In general, with $\mu=\mathbb E[x]$,
#
# $$
# \mathbb E[C]=n\bigl(q\,\mu\mu^\top-p\,\mathbb E[xx^\top]\bigr),
# $$ (cc-eq-mean)
#
# which is $-n\operatorname{Cov}(x)$ for one positive and one negative. The paper's own example, the half moons, has mean $(\tfrac12,\tfrac14)$: there
# the printed matrix is off by {glue:text}`cc-moons-off:.2f` of the size of the right one. With more negatives than positives $\mathbb E[C]$ need not even be negative.
#
# We compare each estimate with the exact value through the coefficient $\langle C,\mathbb E[C]\rangle/\lVert\mathbb E[C]\rVert^2$, which is 1 on average.


# %%
def coefficient(c, expected):  # of the mean over draws, 1 if the expectation is right
    return float((c.mean(0) * expected).sum() / expected.square().sum())


def centred(s, p=1, q=1, shift=0.0, n=50, draws=400):
    """Trace matrices of anisotropic Gaussian data, and their exact moments."""
    scale, mean = torch.linspace(1.5, 0.5, inputs), torch.full((inputs,), shift)
    z, noise = torch.randn(
        2, draws, n, 1 + p + q, inputs, generator=stream(s, p, f"{q}")
    )
    x, others = mean + scale * z[..., 0, :], mean + scale * z[..., 1:, :]
    positives = x.unsqueeze(-2) + 0.3 * noise[..., :p, :]
    moment = torch.diag(scale.square()) + torch.outer(mean, mean)
    return x, positives, others[..., :q, :], mean, moment


def moon_matrices(s, p=1, q=1, n=50, draws=400):
    x, *views = half_moon_pairs(streams("moons", draws, s), n, p, q)
    return x, *views, *half_moon_moments(n, chapter.device)


# %%
def printed_mean(x, positives, negatives, mean, moment):  # −n E[xxᵀ]
    c = trace_matrix(x, positives, negatives)
    return coefficient(c, -x.shape[-2] * moment)


def exact_mean(x, positives, negatives, mean, moment):
    c, n = trace_matrix(x, positives, negatives), x.shape[-2]
    p, q = positives.shape[-2], negatives.shape[-2]
    return coefficient(c, expected_trace_matrix(mean, moment, n, p, q))


def dependent(x, positives, negatives, mean, moment):
    """Negatives that are views of their own anchors: those of another draw of half moons,
    whose anchors are the same in every draw."""
    return x, positives, positives.roll(1, 0) + 0.3 * (negatives - mean), mean, moment


inside = [printed_mean(*centred(s)) for s in block]
moons_printed = [printed_mean(*moon_matrices(s)) for s in block]
views_as_negatives = [printed_mean(*dependent(*moon_matrices(s))) for s in block]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "eq-ec", observed=inside, control=views_as_negatives, outside=moons_printed
)

# %%
settings = {"p=1, q=1": (1, 1), "p=3, q=1": (3, 1), "p=1, q=2": (1, 2)}
general = {
    f"half moons, {k}": [exact_mean(*moon_matrices(s, *v)) for s in block]
    for k, v in settings.items()
}
mean, moment = half_moon_moments(50, chapter.device)
right = expected_trace_matrix(mean, moment, 50)
glue.number("cc-moons-off", relative_error(-50 * moment, right))
general["shifted, p=2, q=3"] = [exact_mean(*centred(s, 2, 3, shift=0.7)) for s in block]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("eq-ec-a", observed=general, control=moons_printed)

# %% [markdown]
# ## Outputs that do not talk to each other
#
# Under gradient flow $\dot\Theta=-\nabla\mathcal L$ the outputs move by $\dot u_l(x)=-\langle\nabla_\Theta u_l(x),\nabla_\Theta\mathcal L\rangle$, so two outputs
# influence each other through the inner products of their gradients, the **tangent kernel**.
#
# ```{prf:lemma} no. 1 of the paper: no interaction across output dimensions
# :label: cc-lem-1
# :nonumber:
# For $u=\Theta x$, or a kernel machine $u=\Theta\psi(x)$, in the infinite-width limit $\langle\nabla_\Theta u_l(x),\nabla_\Theta u_j(x')\rangle=0$ for
# $l\ne j$, and for $l=j$ it is $x^\top x'$ (linear), $k(x,x')=\langle\psi(x),\psi(x')\rangle$ (kernel).
# ```
#
# For these models it is exact at once, with no limit: $\partial u_l/\partial\Theta_{jk}=\delta_{lj}\psi_k(x)$.

# %%
x = torch.randn(6, inputs, generator=stream(seed, 0, "points"))
frequencies = torch.randn(inputs, 40, generator=stream(seed, 0, "features"))


def features(v):  # an explicit feature map ψ
    return torch.cos(v @ frequencies) / 40**0.5


def outer_kernel(model, theta):
    """⟨∇u_a(x), ∇u_b(x')⟩ of every two points and outputs, by automatic differentiation."""
    jacobian = torch.func.jacrev(model)(theta).flatten(2)
    return torch.einsum("iap,jbp->ijab", jacobian, jacobian)


def no_interaction(psi, width=None):
    v = psi(x)
    theta = torch.randn(outputs, v.shape[-1], generator=stream(seed, 1, "theta"))
    expected = (v @ v.mT)[..., None, None] * torch.eye(outputs)
    return relative_error(outer_kernel(lambda t: v @ t.mT, theta), expected)


exact = {"linear": no_interaction(lambda v: v), "kernel": no_interaction(features)}

# %% [markdown]
# The proof, however, is about the network $u=W_2^\top\phi(W_1x)$ of infinite width. For that network the exact tangent kernel is
#
# $$
# \begin{aligned}
# \Theta_{ab}(x,x')&=\delta_{ab}\,\phi(W_1x)^\top\phi(W_1x')\\
# &\quad+x^\top x'\sum_{i\le h}(W_2)_{ia}(W_2)_{ib}\,\phi'(w_i^\top x)\,\phi'(w_i^\top x').
# \end{aligned}
# $$ (cc-eq-ntk)
#
# The first term comes from $W_2$ and never joins two outputs. The second comes from $W_1$. The proof drops it: "no training happens at
# the penultimate or prior layers". Between different outputs that is right in the limit, since the sum has mean zero and size $h^{-1/2}$. On the
# diagonal it is not: with $N(0,1/h)$ in both layers the sum tends to $\mathbb E[\phi'\phi']$, as large as the first term.

# %%
from contrastive_dynamics.collapse_and_constraints.smooth_activations import WIDE
from contrastive_dynamics.collapse_and_constraints.tangent_kernel import (
    gaussian_weights,
    off_diagonal_share,
    relu_limit,
    tangent_kernel,
)


def tangent(s, h, name, std2=None, tied=False):
    """Exact tangent kernels [point, point, output, output] of a random network."""
    draws = [stream(s, h, f"{name} first")], [stream(s, h, f"{name} second")]
    w1, w2 = gaussian_weights(*draws, h, inputs, outputs, h**-0.5, std2 or h**-0.5)
    if tied:  # every output has the same weights
        w2 = w2[..., :1].expand(-1, -1, outputs)
    return tangent_kernel(w1, w2, x, x, WIDE[name])[0]


def log_slope(sizes, values):
    return float(fitted_power(torch.tensor(values), sizes))


# %%
kinds = ["linear", "relu", "tanh"]


def shares(s, name, **options):
    kernels = (tangent(s, h, name, **options) for h in tangent_widths)
    return [float(off_diagonal_share(k)) for k in kernels]


# %%
curves = {
    k: np.array([shares(s, k) for s in chapter.progress(block, k)]) for k in kinds
}


def falls(sizes, table):  # mean slope of the activations, one a seed
    return [
        np.mean([log_slope(sizes, table[k][i]) for k in kinds])
        for i in range(len(block))
    ]


fall = {
    "all widths": falls(tangent_widths, curves),
    "without the smallest": falls(
        tangent_widths[1:], {k: v[:, 1:] for k, v in curves.items()}
    ),
}
tied = [log_slope(tangent_widths, shares(s, "relu", tied=True)) for s in block]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-1", observed=fall, control=tied)

# %% tags=["hide-input", "nbval-check-output"]
whole = (x @ x.mT)[..., None, None] * torch.eye(outputs)
network = relative_error(tangent(seed, tangent_widths[0], "linear"), whole)
chapter.judge("lem-1-a", observed=exact, control=network)

# %% [markdown]
# So Lemma 1 of the paper is right about $l\ne j$, and for the models it names. As a statement on the two-layer linear network its diagonal is off by a factor 2:
# the limit is $2x^\top x'$. It would be $x^\top x'$ if $W_2$ were drawn smaller, $N(0,1/h^2)$, so that the second term vanishes; then $u$
# at the start vanishes like $h^{-1}$, not $h^{-1/2}$. For ReLU the limit is a sum of two arc-cosine kernels, with $\theta$ the angle between $x$ and $x'$:
#
# $$
# \Theta_{aa}\to\frac{\lVert x\rVert\lVert x'\rVert}{2\pi}\bigl(\sin\theta+(\pi-\theta)\cos\theta\bigr)+x^\top x'\,\frac{\pi-\theta}{2\pi}.
# $$ (cc-eq-arccos)

# %%
largest = tangent_widths[-1]


def diagonal(kernel):  # mean of the outputs' own kernels
    return kernel.diagonal(dim1=-2, dim2=-1).mean(-1)


def times_gram(kernel):  # the factor that is 1 where the kernel is xᵀx'
    gram = x @ x.mT
    return float((diagonal(kernel) * gram).sum() / gram.square().sum())


def top_alone(s):
    """The same factor for the gradient in W2 alone, with N(0, 1/h) in both layers."""
    draws = [stream(s, largest, f"linear {layer}") for layer in ("first", "second")]
    w1 = gaussian_weights(
        draws[:1], draws[1:], largest, inputs, outputs, *(largest**-0.5,) * 2
    )[0][0]
    return times_gram((x @ w1.mT @ w1 @ x.mT)[..., None, None])


def factors(**second_layer):
    return [times_gram(tangent(s, largest, "linear", **second_layer)) for s in block]


one_layer_alone = [top_alone(s) for s in block]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "lem-1-b",
    observed={
        "W2 ~ N(0, 1/h²)": factors(std2=1 / largest),
        "W2 alone": one_layer_alone,
    },
    control=factors(std2=1.0),
    outside=factors(),
)


# %%
def distance_slope(s, limit, skip=0):
    """Slope in the width of the distance of ReLU's kernels from a limit."""
    found = (diagonal(tangent(s, h, "relu")) for h in tangent_widths[skip:])
    return log_slope(tangent_widths[skip:], [relative_error(k, limit) for k in found])


to_limit = {
    name: [distance_slope(s, relu_limit(x, x), skip) for s in block]
    for skip, name in enumerate(("all widths", "without the smallest"))
}
to_top_layer = [distance_slope(s, relu_limit(x, x) / 2) for s in block]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-1-c", observed=to_limit, control=to_top_layer)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5.2, 3.4))
for k, marker, shift in zip(kinds, "os^", (0.92, 1, 1.08), strict=True):
    low, mid, high = np.quantile(curves[k], [0, 0.5, 1], axis=0)
    ax.errorbar(
        shift * np.array(tangent_widths),
        mid,
        [mid - low, high - mid],
        fmt=f"{marker}-",
        capsize=3,
        label=k,
    )
guide = (
    curves["linear"].mean()
    * (np.array(tangent_widths) / np.median(tangent_widths)) ** -0.5
)
ax.loglog(tangent_widths, guide, "k:", label="slope −1/2")
ax.set(xlabel="width h", ylabel="kernel between outputs / within")
ax.legend()
glue.figure(fig, "cc-plot-lem-1")

# %% [markdown]
# ```{glue:figure} cc-plot-lem-1
# :alt: The share of the tangent kernel between different outputs falls as a straight line of slope minus one half in the width for three activations.
# :name: cc-plot-lem-1
#
# Lemma 1 of the paper. Size of the tangent kernel between different outputs, relative to that of each output with itself; median, least and largest over seeds. Look at the slope: the dotted line is $h^{-1/2}$.
# ```
#
# ## Why naive training collapses
#
# ```{prf:proposition} no. 1 of the paper: dimension collapse in SSL dynamics
# :label: cc-prop-1
# :nonumber:
# Under the conditions of Lemma 1 every component of $u$ has identical dynamics, hence identical fixed points, and the output collapses to one dimension at
# convergence. For $u=\Theta x$ and the contrastive loss,
# $\dot u_l(x)=\sum_i(x^\top x_i)\bigl(u_l(x_i^+)-u_l(x_i^-)\bigr)+(x^\top x_i^+-x^\top x_i^-)\,u_l(x_i)$; for kernel models $x^\top x'$ becomes $k(x,x')$.
# ```
#
# The formula is checked against automatic differentiation of the losses, for both losses and both kinds of model. The mistake beside it leaves out the second term.


# %%
def pair_data(s, q, n=12, p=1):
    z, noise = torch.randn(2, n, 1 + p + q, inputs, generator=stream(s, q, "pairs"))
    return z[:, 0], z[:, :1] + 0.3 * noise[:, :p], z[:, 1 + p :] if q else None


def velocity_error(psi, q, half=False):
    """Proposition 1's velocity at new points against that of the gradient."""
    data, n = pair_data(seed, q), 12
    points = psi(stacked(*data))
    size = outputs, points.shape[-1]
    theta = torch.randn(size, generator=stream(seed, 2, "theta")).requires_grad_()
    loss = pair_loss(*(psi(v) @ theta.mT for v in data if v is not None))
    (gradient,) = torch.autograd.grad(loss, theta)
    u = (points @ theta.mT).detach()
    kernel = psi(x) @ points.mT
    if half:  # only what the anchors' kernels carry
        kernel[:, n:] = 0
    ours = output_velocity_by_kernel(kernel, u, n, 1, q)
    return relative_error(ours, -psi(x) @ gradient.mT)


# %%
models = {"linear": lambda v: v, "kernel": features}
cases = {
    f"{k}, {'contrastive' if q else 'not contrastive'}": (psi, q)
    for (k, psi), q in product(models.items(), (0, 1))
}
error = {k: velocity_error(*case) for k, case in cases.items()}
half = {k: velocity_error(*case, half=True) for k, case in cases.items()}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("prop-1", observed=error, control=half)

# %% [markdown]
# "At convergence" needs care. The losses are quadratic in $\Theta$, so the flow $\dot\Theta=-2\Theta C$ has the solution $\Theta(t)=\Theta(0)e^{-2Ct}$. As soon as
# $C$ has a negative eigenvalue, the outputs diverge, and only their direction converges: to the eigenvectors of $\lambda_{\min}$. That is one dimension
# exactly if $\lambda_{\min}$ is simple. For $C=-I$, say, naive training loses no dimension at all. A kernel machine with a strictly
# positive definite kernel and distinct points has as many such eigenvalues as there are anchors.


# %%
def spectrum(s, run=0, negative=2, d=inputs):
    """C with given eigenvalues, two of them negative by default, in a random basis."""
    up = torch.linspace(0.5, 2.5, d - negative)
    lam = torch.cat([torch.linspace(-3, -1, negative), up])
    v = haar([stream(s, run, "basis")], d, d)[0]
    return v @ torch.diag(lam) @ v.mT, lam, v


times = torch.linspace(0, 12, 49)
theta0 = torch.stack(
    [torch.randn(outputs, inputs, generator=g) for g in streams("theta")]
)


def linear_ranks(c):
    return effective_rank(linear_flow(theta0, c, times).direction)


# %%
def kernel_ranks(q, span=40.0):
    """RBF kernel machines on their own points; time in units of the spectral gap."""
    points = stacked(*pair_data(seed, q))
    kernel = torch.exp(-torch.cdist(points, points).square() / (2 * inputs))
    noise = [torch.randn(len(points), outputs, generator=g) for g in streams("kernel")]
    root, s = torch.linalg.cholesky(kernel), pairing(12, 1, q)
    low, second = torch.linalg.eigvalsh(root.mT @ s.to(root) @ root)[:2]
    ts = torch.linspace(0, span / (2 * float(second - low)), 49)
    found = kernel_flow(root @ torch.stack(noise), kernel, 12, 1, q, ts)
    return effective_rank(found.direction)


# %%
ranks = {
    "linear": linear_ranks(spectrum(seed)[0]),
    "kernel, contrastive": kernel_ranks(1),
    "kernel, not contrastive": kernel_ranks(0),
}
double = linear_ranks(torch.diag(torch.tensor([-3.0, -3.0] + [1.0] * (inputs - 2))))
c, lam, v = spectrum(seed)
start = draw_weights(streams("first"), streams("second"), width, inputs, outputs)
q_path = output_flow(v.mT @ network_outputs(start), lam, times)
bound = effective_rank(q_path)
last = {k: float(r[-1].max()) for k, r in ranks.items()}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "prop-1-a",
    observed=last,
    control=float(bound[-1].min()),
    outside=float(double[-1].min()),
)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5.6, 3.4))
curves_1 = ranks | {
    "linear, $\\lambda_{\\min}$ double": double,
    "constrained (9)": bound,
}
for (k, r), style in zip(curves_1.items(), ["-", "--", "-.", ":", "-"], strict=True):
    share = np.linspace(0, 1, len(r))
    mid = r.median(1).values.cpu()
    ax.plot(share, mid, style, lw=2.6 if "(9)" in k else 1.6, label=k)
ax.set(
    xlabel="time, as a share of the run",
    ylabel="effective rank of the outputs",
    xlim=(-0.005, 0.25),
    ylim=(0.9, None),
)
ax.legend(fontsize=8)
glue.figure(fig, "cc-plot-prop-1")

# %% [markdown]
# ```{glue:figure} cc-plot-prop-1
# :alt: The effective rank of naive linear and kernel models falls to one; with a double smallest eigenvalue it stays well above one; under orthogonality constraints it stays at two.
# :name: cc-plot-prop-1
#
# Proposition 1 of the paper. Effective rank of the outputs along training, median over starts. Look at the right end: naive training ends at 1 where $\lambda_{\min}$ is simple and keeps two dimensions, of unequal size, where it is double (dotted); the constrained flow (thick) keeps as many as $C$ has negative eigenvalues, with equal weight.
# ```
#
# ### Remark 2: other losses
#
# "The simplified loss closely resembles (1), which implies decoupling of output dimensions (and hence, dimension collapse) would also happen for InfoNCE." For the
# spectral contrastive loss "the output dimensions remain coupled". Coupling can be tested by itself: redraw one row of $\Theta$ and see whether the velocity
# of the others changes.

# %%
from contrastive_dynamics.losses.contrastive_covariance import contrastive_energy
from contrastive_dynamics.losses.pairwise_importance import (
    infonce_importance,
    infonce_loss,
)

triple = pair_data(seed, 1)
anchors, views = triple[0], triple[1][:, 0]


def infonce(theta, at):
    return infonce_loss(anchors @ theta.mT, views @ theta.mT, tau=0.5, eps=0.0)


def with_fixed_weights(theta, at):
    """InfoNCE with its weights held at those of `at`: a quadratic loss like (1)."""
    weights = infonce_importance(anchors @ at.mT, views @ at.mT, tau=0.5)
    return -contrastive_energy(anchors @ theta.mT, views @ theta.mT, weights)


# %%
def coupling(loss, s, size, redrawn=None):
    """Relative change of the other outputs' velocity when one of this size is redrawn."""
    theta = size * torch.randn(outputs, inputs, generator=stream(s, 3, "theta"))
    new = torch.randn(1, inputs, generator=stream(s, 4, "theta"))
    changed = torch.cat([(redrawn or size) * new, theta[1:]])
    here, there = (torch.func.grad(loss)(t, theta)[1:] for t in (theta, changed))
    return relative_error(there, here)


small_size, large_size = 0.01, 0.3
coupled = {
    a: [coupling(infonce, s, a) for s in block] for a in (small_size, large_size)
}
glue.number("cc-coupled-small", np.mean(coupled[small_size]))
glue.number("cc-coupled-large", np.mean(coupled[large_size]))
fixed = [coupling(with_fixed_weights, s, 1.0) for s in block]
one_large = [coupling(infonce, s, small_size, redrawn=1.0) for s in block]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "rem-2-a",
    observed={"small outputs": coupled[small_size], "fixed weights": fixed},
    control=one_large,
    outside=coupled[large_size],
)

# %% [markdown]
# With its weights $\alpha_{ij}$ held fixed, InfoNCE is a quadratic loss like (1) of the paper, and its outputs are not coupled at all. In training the weights depend on all outputs. While the outputs are small
# the weights are almost uniform, and the coupling falls like $\lVert\Theta\rVert^2$: redrawing one output changes the velocity of the others by {glue:text}`cc-coupled-large:.2f` at $\theta=0.3$ and by
# {glue:text}`cc-coupled-small:.4f` at $\theta=0.01$. So the outputs decouple early in training, until they have grown. The spectral contrastive loss couples them, too; what that buys at the end of training shows in its effective rank.


# %%
def small_starts(s, runs=4):
    draws = [
        torch.randn(outputs, inputs, generator=g) for g in streams("small", runs, s)
    ]
    return 0.1 * torch.stack(draws)


small = torch.cat([small_starts(s) for s in block])
triples = zip(*(pair_data(s, 1, n=30) for s in block), strict=True)
triples = [torch.stack(part).repeat_interleave(4, 0) for part in triples]
spectral_end = spectral_flow(small, *triples, torch.tensor([0.0, 30.0]), tol=1e-6)[-1]
c_small = torch.nn.functional.normalize(trace_matrix(*triples), dim=(-2, -1))
naive_end = linear_flow(small, c_small, torch.tensor([400.0])).direction[-1]
kept, collapsed = (
    effective_rank(end).unflatten(0, (-1, 4)).mean(-1).tolist()
    for end in (spectral_end, naive_end)
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("rem-2", observed=kept, control=collapsed)

# %%
f"effective rank of the starts: {float(effective_rank(small).mean()):.2f}"

# %% [markdown]
# ### Remark 3: a fixed projector
#
# "Fixed (non trainable) projectors may suffice. For a linear model, this implies $u(x)=A\Theta x$, where $A\in\mathbb R^{r\times z}$ [...]. [...] all the $r$ components of
# $u(x)$ have identical learning dynamics, and hence, collapse at convergence." With $U=A\Theta$ the flow is $\dot U=-2AA^\top UC$. The components of $u$ have the same
# dynamics exactly if $AA^\top\propto I$. The paper takes $r\ll z$, and there a random $A$ nearly has it: the rows are nearly orthogonal and of nearly one length, up to $z^{-1/2}$. For $r$ near $z$ the
# eigenvectors of $AA^\top$ grow at rates of their own; the outputs collapse all the same if $\lambda_{\min}<0$ is simple.


# %%
def projector(s, z=outputs, scale=None):
    """A fixed A with two rows: random, with rows of given lengths if they are scaled."""
    a = torch.randn(2, z, generator=stream(s, z, "projector"))
    return a if scale is None else scale[:, None] * a


def common_rate_error(a, s):
    """How far the velocity of AΘ is from one common multiple of UC."""
    c = spectrum(s)[0]
    theta = torch.randn(a.shape[-1], inputs, generator=stream(s, 5, "theta"))
    gradient = torch.func.grad(lambda t: trace_loss((a @ t).mT, c))(theta)
    velocity, shared = -a @ gradient, -2 * (a @ theta) @ c
    best = (velocity * shared).sum() / shared.square().sum()
    return relative_error(best * shared, velocity)


# %%
def projected_rank(s):
    ends = projected_flow(theta0, projector(s), spectrum(s)[0], torch.tensor([100.0]))
    return float(effective_rank(ends.direction[-1]).max())


unequal = torch.tensor([1.0, 2.0])
deviation = {
    z: [common_rate_error(projector(s, z), s) for s in block] for z in (outputs, 3000)
}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "rem-3-a",
    observed=deviation[3000],
    control=[common_rate_error(projector(s, 3000, unequal), s) for s in block],
    outside=deviation[outputs],
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "rem-3",
    observed=max(projected_rank(s) for s in block),
    control=float(bound[-1].min()),
)

# %% [markdown]
# ## What a constraint buys
#
# From here on $u(x)=W_2^\top\phi(W_1x)$. The most common constraint is on the Frobenius norms.
#
# ```{prf:proposition} no. 2 of the paper: a Frobenius norm constraint does not prevent collapse
# :label: cc-prop-2
# :nonumber:
# $\min\mathcal L(W_1,W_2)$ subject to $\lVert W_1\rVert_F\le c_1$, $\lVert W_2\rVert_F\le c_2$ has a global solution $u(x)=[a(x)\,0\dots0]^\top$, for loss (1) or (2).
# ```
#
# For given $W_1$ the loss is $\operatorname{Tr}(fW_2W_2^\top)$ with a matrix $f(X,W_1)$: the whole norm of $W_2$ belongs on the eigenvector of the smallest eigenvalue of its symmetric part, if that is negative; else $W_2=0$. That holds for any $\phi$. (The proposition calls the network linear and prints $\phi$.) For
# the linear network the optimum is $c_1^2c_2^2\lambda_{\min}$. We let projected gradient descent find the optimum from many starts, without telling it the answer, judge the lowest
# end, and count how many starts reach it.

# %%
from contrastive_dynamics.collapse_and_constraints.constrained_optima import (
    frobenius_optimum,
    operator_optimum,
)
from contrastive_dynamics.collapse_and_constraints.norm_constrained_descent import (
    Descent,
    descend_frobenius,
    descend_frobenius_nonlinear,
    descend_operator_norms,
    descend_product_norm,
    descend_ratio,
)

c, lam, v = spectrum(seed)
c1, c2 = 1.5, 0.8


def gaussian_start(purpose, h=width, runs=starts):
    draws = [
        torch.randn(h, inputs + outputs, generator=g) for g in streams(purpose, runs)
    ]
    return torch.stack(draws).split([inputs, outputs], -1)


def best(found):
    """The start that ended lowest."""
    at = found.value.argmin()
    return found.value[at], (found.w1[at].mT @ found.w2[at])


# %%
in_balls = descend_frobenius(*gaussian_start("ball"), c, c1, c2)
frobenius, w = best(in_balls)
goal = frobenius_optimum(c, c1, c2)
found = {
    "value": float((frobenius / goal - 1).abs()),
    "rank": float(effective_rank(w)) - 1,
}
_, w = best(descend_operator_norms(*gaussian_start("ball"), c))
not_frobenius = {"rank": float(effective_rank(w)) - 1}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("prop-2", observed=found, control=not_frobenius)

# %%
rank_one = effective_rank(in_balls.w1.mT @ in_balls.w2) < 1.001
lowest = (in_balls.value / goal - 1).abs() < 1e-6
f"of {starts} starts {int(rank_one.sum())} end at rank one, {int(lowest.sum())} at the optimum"


# %%
def lowest_end(name, q, z, bound=1.0, runs=24):
    """The lowest end of a network with z outputs under ‖W2‖_F ≤ bound."""
    points = stacked(*pair_data(seed, q))
    w1, w2 = gaussian_start(f"{name} {q}", runs=runs)
    given = points, 12, 1, q, WIDE[name]
    last = descend_frobenius_nonlinear(w1, w2[..., :z], *given, c2=bound, steps=400)
    at = last.value.argmin()
    return float(last.value[at]), float(effective_rank(last.w2[at]))


def gain_of_outputs(name, q, bound=1.0):
    """How much lower z outputs end than one, relative to one, and the rank of W2 less 1."""
    (one, _), (many, rank) = lowest_end(name, q, 1), lowest_end(name, q, outputs, bound)
    return {"gain": (one - many) / abs(one), "rank": rank - 1}


# %%
gains_2, own_budgets = {}, {}
for name, q in product(("tanh", "relu", "sigmoid"), (0, 1)):
    case = f"{name}, {'contrastive' if q else 'not contrastive'}"
    gains_2 |= {f"{case}, {k}": x for k, x in gain_of_outputs(name, q).items()}
    own_budgets[case] = gain_of_outputs(name, q, bound=outputs**0.5)["gain"]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("prop-2-a", observed=gains_2, control=own_budgets)

# %% [markdown]
# ```{prf:proposition} no. 3 of the paper: operator norms and orthogonality
# :label: cc-prop-3
# :nonumber:
# For the linear network, if $C$ has a negative eigenvalue, these problems are equivalent: (1) $\min\mathcal L/(\lVert W_2\rVert_2^2\lVert W_1\rVert_2^2)$; (2) $\min\mathcal L$, $\lVert W_2\rVert_2\le1$, $\lVert W_1\rVert_2\le1$; (3) $\min\mathcal L$,
# $\lVert W_2^\top W_1\rVert_2\le1$; (4) $\min\mathcal L$, $W_2^\top W_2=I_z$, $W_1^\top W_1=I_d$. This regularisation avoids dimension collapse.
# ```
#
# The proposition prints $\mathcal L$ as a squared norm, $\lVert W_2^\top W_1CW_1^\top W_2\rVert_2^2$, which is never negative; the trace is meant. All four come to $\min\operatorname{Tr}(CP)$ over $P=WW^\top$, $W=W_1^\top W_2$, and the
# first three have the value $\lambda_1+\dots+\lambda_k$, $k=\min(d,z,\#\text{negative})$.
#
# The fourth does only if $h\ge d+z-k$. The proof of paper (3) ⇔ (4) fills $W_1$ and $W_2$ up with zero rows; that leaves $W_1^\top W_1=I_d$ only if $W_1$ has $d$ orthonormal columns already. In truth the column spaces of $W_1$ and $W_2$ meet
# in at least $d+z-h$ dimensions, so that many singular values of $W$ are 1, wanted or not. Four methods, one for each problem, none of which knows an eigenvector:


# %%
def error_of(found, goal):
    """Distance of the lowest end from an optimum: of its value and of its projector."""
    value, w = best(found)
    off = (w @ w.mT - goal.projector).norm() / goal.projector.norm()
    return {"value": float((value / goal.value - 1).abs()), "projector": float(off)}


def orthogonal(h, steps=600):
    """Problem 4 by projected descent: value and weights."""
    w = draw_weights(streams(f"four {h}"), streams(f"four {h}, 2"), h, inputs, outputs)
    w = descend(w, c, 0.1, steps).weights
    return Descent(*w, trace_loss(network_outputs(w), c))


# %%
goal = operator_optimum(c, outputs)
k, narrowest = int(goal.rank), inputs + outputs - int(goal.rank)
solved = {
    "(1)": descend_ratio(*gaussian_start("ball"), c),
    "(2)": descend_operator_norms(*gaussian_start("ball"), c),
    "(3)": descend_product_norm(*gaussian_start("ball"), c),
    "(4)": orthogonal(narrowest),
}
error = {
    f"{n}, {x}": e for n, s in solved.items() for x, e in error_of(s, goal).items()
}
ball_only = error_of(descend_frobenius(*gaussian_start("ball"), c), goal)
smallest = orthogonal(inputs)
narrow_4 = error_of(smallest, goal) if narrowest > inputs else None

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "prop-3",
    observed=error,
    control=ball_only,
    outside=narrow_4,
    regime=narrowest > inputs,
)

# %%
dimensions = {n: float(effective_rank(best(s)[1])) for n, s in solved.items()}
one_negative = spectrum(seed, negative=1)[0]
single = best(descend_operator_norms(*gaussian_start("ball"), one_negative))[1]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "prop-3-a",
    observed=dimensions,
    control=float(effective_rank(single)),
    regime=k >= 2,
)

# %% [markdown]
# "No collapse" is at most $k$ dimensions: with one negative eigenvalue, the control, the constrained optimum has rank one, too.

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5.4, 3.3))
w_ends = {"Frobenius": best(descend_frobenius(*gaussian_start("ball"), c))[1]}
w_ends |= {f"problem {n}": best(s)[1] for n, s in solved.items()}
w_ends[f"(4), h = {inputs}"] = best(smallest)[1]
for n, (label, w_n) in enumerate(w_ends.items()):
    held = (v.mT @ w_n).square().sum(-1).cpu()
    ax.bar(
        np.arange(inputs) + 0.13 * n - 0.33,
        held,
        0.12,
        color=f"{0.1 + 0.14 * n:.2f}",
        ec="k",
        lw=0.5,
        label=label,
    )
ax.set_xticks(range(inputs), [f"{x:.2g}" for x in lam.cpu()])
ax.set(xlabel="eigenvalue of C", ylabel="share in the outputs")
ax.legend(fontsize=7)
glue.figure(fig, "cc-plot-prop-3")

# %% [markdown]
# ```{glue:figure} cc-plot-prop-3
# :alt: Share of each eigenvector of C in the best outputs found. Frobenius: only the first. Problems one to four: the two negative ones, fully. Problem four at the smallest width: also the smallest positive one.
# :name: cc-plot-prop-3
#
# Propositions 2 and 3 of the paper. What the best of many starts keeps of each eigenvector of $C$. Look at the second bar group: the Frobenius constraint (darkest) has nothing there, the four problems have all; only problem (4) at $h=d$ (lightest) must also take a positive eigenvalue.
# ```
#
# ### Half moons (Example 1, Figure 1 of the paper)
#
# "Under orthogonal constraints, independent of the initialization the function converges to fixed points [...]. On the other hand the dynamics for unconstrained loss $\mathcal L$ diverge." The data are half moons, $x^+=x+\mathcal N(0,0.1\,I)$,
# $x^-$ an independent sample; here 100 points, and $C$ of the mean of the pairs. The constrained losses are the scaled one, problem (1), and projected descent, problem (4), here with one output. Converged means: the outputs rest, at $\pm e_1$.

# %%
moon_data = half_moon_pairs(streams("half moons"), 100)
c_moon = trace_matrix(*moon_data) / 100
lam_moon, v_moon = torch.linalg.eigh(c_moon)
w_moon = draw_weights(streams("moon 1"), streams("moon 2"), 10, 2, 1)


def scaled_path(w, c, eta=0.1, steps=400):
    """Gradient descent on L/(‖W1‖₂²‖W2‖₂²), outputs of norm-one weights."""
    w1, w2 = (layer.clone().requires_grad_() for layer in w)
    kept = []
    for _ in range(steps + 1):
        norms = [torch.linalg.matrix_norm(layer, 2) for layer in (w1, w2)]
        loss = trace_loss(w1.mT @ w2, c) / (norms[0] * norms[1]).square()
        kept.append((w1.mT @ w2 / (norms[0] * norms[1])[:, None, None]).detach())
        grads = torch.autograd.grad(loss.sum(), (w1, w2))
        with torch.no_grad():
            w1 -= eta * grads[0]
            w2 -= eta * grads[1]
    return torch.stack(kept)


# %%
def at_rest(path):
    """How many starts do not end within 1e-3 of ±e1, or are still moving."""
    q = v_moon.mT @ path
    off = (q[-1, :, 0, 0].abs() - 1).abs() + q[-1, :, 1, 0].abs()
    still = (q[-1] - q[-1 - len(q) // 20]).norm(dim=(-2, -1))
    return int(((off > 1e-3) | (still > 1e-3)).sum())


def unconstrained_path(w, eta=0.1, steps=400):
    """Outputs of u = Θx under the plain loss, at the same starts and times."""
    grown = linear_flow(network_outputs(w).mT, c_moon, eta * torch.arange(steps + 1.0))
    return (grown.direction * grown.log_norm.exp()[..., None, None]).mT


scaled = scaled_path(w_moon, c_moon)
projected = descend(w_moon, c_moon, 0.1, 400, keep_every=1).outputs
plain = unconstrained_path(w_moon)
settled = {"scaled": at_rest(scaled), "projected": at_rest(projected)}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("ex-1", observed=settled, control=at_rest(plain))

# %% [markdown]
# How the unconstrained loss diverges can be said exactly. For $u=\Theta x$ the outputs grow at the rate $2\lvert\lambda_{\min}\rvert$. With two layers the growth feeds on itself: $\lVert W_2^\top W_1\rVert\to1/\bigl(4\lvert\lambda_{\min}\rvert(t^*-t)\bigr)$, so they
# reach infinity at a finite time $t^*$. (By its caption the paper's figure shows gradient descent, which cannot; it overflows instead.)

# %%
late = torch.tensor([30.0, 40.0])
grown = linear_flow(network_outputs(w_moon).mT, c_moon, late).log_norm
growth = (grown[1] - grown[0]) / 10 / (2 * lam_moon[:, 0].abs())
shrinking = linear_flow(network_outputs(w_moon).mT, -c_moon, late).log_norm
one_layer = (shrinking[1] - shrinking[0]) / 10 / (2 * lam_moon[:, 0].abs())

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-1", observed=growth.tolist(), control=one_layer.tolist())

# %%
burst = blow_up(*w_moon, c_moon)
late_norm = burst.log_norm[-1].exp() * burst.time_left[-1]
rate_of = 4 * lam_moon[:, 0].abs()

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-1-a",
    observed=(late_norm * rate_of).tolist(),
    control=(late_norm * rate_of / 2).tolist(),  # a factor 2
)

# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(1, 2, figsize=(9, 3.3))
when = 0.1 * np.arange(401)
for path, style, label in (
    (plain, "k:", "no constraint"),
    (scaled, "k-", "scaled loss"),
    (projected, "k--", "projected weights"),
):
    loss = trace_loss(path, c_moon)
    for i in range(6):
        axes[0].plot(
            when, loss[:, i].cpu(), style, lw=1, label=label if i == 0 else None
        )
        q = (v_moon.mT @ path)[:, i, :, 0].cpu()
        axes[1].plot(q[:, 0], q[:, 1], style, lw=1)
        axes[1].plot(*q[0], "ko", ms=3)
axes[0].set(xlabel="time", ylabel="loss", xlim=(0, 12), ylim=(-6, 1))
axes[1].set(xlabel="$u(v_1)$", ylabel="$u(v_2)$", xlim=(-2, 2), ylim=(-1.2, 1.2))
axes[1].plot([-1, 1], [0, 0], "k*", ms=12)
axes[0].legend(fontsize=8)
fig.tight_layout()
glue.figure(fig, "cc-plot-fig-1")

# %% [markdown]
# ```{glue:figure} cc-plot-fig-1
# :alt: Left, the unconstrained loss falls without bound while the losses under both constraints level off. Right, outputs of six starts run to plus or minus e1 under the constraints and out of the picture without.
# :name: cc-plot-fig-1
#
# Figure 1 of the paper. Half moons, six starts. Left: the loss, without constraint dotted, scaled solid, projected dashed. Right: the outputs in the plane of the eigenvectors of $C$; dots are starts, stars $\pm e_1$. Look at where the lines go: out of the picture without a constraint, into the stars with one, as the paper's caption and text say.
# ```

# %% [markdown]
# Figure 1 of the paper has one output. With two, the collapse can be watched. Both flows begin at the same small, turned copy of the half moons, a start that a network of any width
# $h\ge4$ can have: one is $u=\Theta x$ without a constraint, the other the network with orthonormal layers, whose outputs follow (9) of the paper. That
# equation is Theorem 2 of the paper and comes further down.

# %%
film_times = torch.linspace(0, 5, 41)
film_start = haar(streams("film", 1), 2, 2) / 4  # row j: the outputs of v_j
loose = linear_flow(film_start.mT, torch.diag(lam_moon[0]), film_times)
film_paths = {
    "No constraint": (loose.direction * loose.log_norm.exp()[..., None, None]).mT,
    "Orthonormal layers": output_flow(film_start, lam_moon[:1], film_times),
}

# %% tags=["hide-input", "remove-output"]
film, panels = plt.subplots(
    1, 3, figsize=(7.8, 3.1), width_ratios=[1, 1, 1.2], layout="constrained"
)
film_styles = (colours.VERMILION, "-"), (colours.BLUE, "--")
film_data = half_moons(60) @ v_moon[0]  # in the basis of the v_j


def draw_film(k):
    """Outputs and ranks at time k; a panel is as large as its outputs, and says so."""
    panels[2].clear()
    for ax, (name, q), (color, line) in zip(
        panels, film_paths.items(), film_styles, strict=False
    ):
        u, rank = (film_data @ q[k, 0]).cpu(), effective_rank(q[:, 0]).cpu()
        side = 1.15 * float(u.abs().max())
        ax.clear()
        ax.plot(*u[:30].mT, "o", color=color)
        ax.plot(*u[30:].mT, "o", markerfacecolor="white", color=color)
        ax.set(title=name, xlim=(-side, side), ylim=(-side, side), xticks=[], yticks=[])
        ax.set(aspect="equal", xlabel=f"from −{side:,.1f} to {side:,.1f}")
        panels[2].plot(film_times.cpu(), rank, line, color=color, label=name)
        panels[2].plot(film_times[k].cpu(), rank[k], "o", color=color)
    panels[2].set(title="Effective rank", xlabel="time", ylim=(0.95, 2.05))
    panels[2].legend(loc="center right")


alt = "Two half moons of outputs from the same start. Without a constraint they flatten into one line while their size grows without bound. With orthonormal layers they flatten a little, open again and end as two half moons of bounded size."
glue.animation(film, draw_film, range(len(film_times)), "cc-film-collapse", alt)

# %% [markdown]
# ```{glue:figure} cc-film-collapse
# :alt: Two half moons of outputs from the same start. Without a constraint they flatten into one line while their size grows without bound. With orthonormal layers they flatten a little, open again and end as two half moons of bounded size.
# :name: cc-film-collapse
#
# Beyond the paper's figure. The two outputs on 60 points of the half moons (dots: upper, rings: lower) along either flow, and their effective rank. Look at the shapes, as each panel grows with its outputs: without a constraint one direction outgrows the other, both outputs become multiples of one number, and it diverges. Under the constraint the weaker direction falls behind at first and then catches up.
# ```

# %% [markdown]
# ## Wide networks are almost linear at the start
#
# A row of a random $W_1$ with orthonormal columns has length about $\sqrt{d/h}$, so every hidden unit works near 0, where $\phi(s)\approx s$.
#
# ```{prf:lemma} no. 2 of the paper: entries of a random semi-orthonormal matrix
# :label: cc-lem-2
# :nonumber:
# For the first $d$ columns $Q$ of a uniformly random orthonormal $h\times h$ matrix there is a constant $L$ with $P(\max\lvert Q_{ij}\rvert\ge L\log h/\sqrt h)\to0$ as $h\to\infty$.
# ```
#
# Any $L>0$ does in the end, since the maximum follows $\sqrt{2\log(hd)/h}$; the [appendix](cc-a-entries) draws such matrices and counts.
#
# ```{prf:theorem} no. 1 of the paper: linear and non-linear network at initialisation
# :label: cc-thm-1
# :nonumber:
# Let $\phi(0)=0$, $\phi'(0)=1$, $\lvert\phi''\rvert\le c$. For uniformly random $W_1,W_2$ with orthonormal columns, $\lVert u^\phi-u^{\mathbb I}\rVert\le Kc\lVert x\rVert^2d\sqrt{\log^4h/h}$ with a universal constant $K$.
# ```
#
# The theorem holds if *one* $K$ serves all widths: the ratio of the two sides must not grow with $h$. For a random $W_2$ that is easy. The proof, however, bounds $W_2$ by its norm alone, so we ask the same of the worst $W_2$, the one that is aligned with
# the errors of the hidden units and sums them all up. There the conditions on $\phi$ are needed: without them $K$ grows.
#
# A random $W_2$ adds $h$ small errors up like a random walk. With $\phi''(0)\ne0$ each error is of order $1/h$ and the sum $h^{-1}$, with $\phi''(0)=0$ (tanh) it is
# $h^{-3/2}$, where the theorem has $h^{-1/2}$. We fit both exponents.

# %%
from contrastive_dynamics.collapse_and_constraints.smooth_activations import CURVATURE

points_1 = torch.nn.functional.normalize(
    torch.randn(8, inputs, generator=stream(seed, 0, "theorem 1")), dim=-1
)


@cache
def initial_gap(s, name, h, runs=4):
    """Mean of ‖u^φ − u^I‖, of ‖u^I‖, and the largest K that a point asks for."""
    g = streams(f"{h} first", runs, s), streams(f"{h} second", runs, s)
    w1, w2 = draw_weights(*g, h, inputs, outputs)
    before = points_1 @ w1.mT
    off = ((WIDE[name].h(before) - before) @ w2).norm(dim=-1)
    bound = inputs * points_1.square().sum(-1) * math.log(h) ** 2 / h**0.5
    k = off / bound / (CURVATURE.get(name) or 1.0)
    return float(off.mean()), float((before @ w2).norm(dim=-1).mean()), float(k.max())


# %%
def slopes(name, part=0, per_output=False, skip=0):
    """One slope in log h a seed: of the gap (0), of K (2), of gap over output."""
    at, found = init_widths[skip:], []
    for s in block:
        gaps = [initial_gap(s, name, h) for h in at]
        found.append(
            log_slope(at, [g[0] / g[1] if per_output else g[part] for g in gaps])
        )
    return found


def with_and_without(name):
    return {"all widths": slopes(name), "without the smallest": slopes(name, skip=1)}


@cache
def needed_constant(s, name, h, aligned=False, runs=4):
    """The largest K that a point asks for; aligned: with a W2 that sums all errors up."""
    g = streams(f"{h} first", runs, s), streams(f"{h} second", runs, s)
    w1, w2 = draw_weights(*g, h, inputs, outputs)
    before = points_1 @ w1.mT
    off = WIDE[name].h(before) - before
    off = off.norm(dim=-1) if aligned else (off @ w2).norm(dim=-1)
    bound = inputs * points_1.square().sum(-1) * math.log(h) ** 2 / h**0.5
    return float((off / bound / (CURVATURE.get(name) or 1.0)).max())


def constant_slopes(name, aligned=False):
    at = [[needed_constant(s, name, h, aligned) for h in init_widths] for s in block]
    return [log_slope(init_widths, one) for one in at]


# %%
ways = {"random W2": False, "aligned W2": True}
needed = {
    f"{name}, {way}": constant_slopes(name, aligned)
    for name, (way, aligned) in product(("tanh", "soft"), ways.items())
}
violated = {name: constant_slopes(name, True) for name in ("relu", "half", "sigmoid")}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-1", observed=needed, control=violated)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-1-a", observed=with_and_without("tanh"), control=slopes("relu"))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-1-b", observed=with_and_without("soft"), control=slopes("relu"))

# %%
constants = {
    n: max(initial_gap(s, n, h)[2] for s in block for h in init_widths)
    for n in ("tanh", "soft")
}
glue.number("cc-k", max(constants.values()))

# %% [markdown]
# The largest $K$ that any seed, width or point asked for is {glue:text}`cc-k:.4f`: the bound is loose. ($K$ is sought among random weights, not by ascent; $d$ and $\lVert x\rVert$ are not varied.)
#
# **Is the difference the right measure?** $u^{\mathbb I}$ itself falls like $h^{-1/2}$ at the start, since $W_1$ and $W_2$ are nearly orthogonal to each other. So ReLU's difference falls, and that of $\phi(s)=s/2$, which is no good approximation of anything. What says
# "almost linear" is the difference *relative* to $u^{\mathbb I}$. The paper infers from the sigmoid in its figure that the conditions on $\phi$ are necessary, and $\phi(0)=0$ is: with the sigmoid the difference does not fall. For the difference itself
# $\phi'(0)=1$ is not needed; for the ratio it is.

# %%
passes_zero = ["relu", "half"]  # φ(0) = 0, but φ'(0) is not 1
plain_fall = {n: slopes(n) for n in passes_zero}
ratio_fall = {n: slopes(n, per_output=True) for n in passes_zero}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-2-d", observed=slopes("sigmoid"), control=plain_fall)

# %% tags=["hide-input", "nbval-check-output"]
smooth = {n: slopes(n, per_output=True) for n in ("tanh", "soft")}
chapter.judge("fig-2-e", observed=ratio_fall, control=smooth)

# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.5))
styles = {"tanh": "o-", "soft": "s-", "relu": "^--", "half": "v--", "sigmoid": "D--"}
for name, style in styles.items():
    gap = np.array([[initial_gap(s, name, h)[:2] for h in init_widths] for s in block])
    for ax, y in zip(axes, (gap[..., 0], gap[..., 0] / gap[..., 1]), strict=True):
        ax.loglog(
            init_widths,
            np.exp(np.log(y).mean(0)),
            style,
            mfc="none",
            color="k" if "--" not in style else "0.5",
            label=name,
        )
for slope, label in ((-1.5, "−3/2"), (-1, "−1"), (-0.5, "−1/2")):
    w_guide = np.array([init_widths[0], init_widths[-1]], float)
    axes[0].loglog(w_guide, 0.3 * (w_guide / w_guide[0]) ** slope, "k:", lw=0.8)
    axes[0].annotate(label, (w_guide[1], 0.3 * (w_guide[1] / w_guide[0]) ** slope))
axes[0].set(xlabel="width h", ylabel="$\\|u^\\phi-u^I\\|$ at the start")
axes[1].set(xlabel="width h", ylabel="the same over $\\|u^I\\|$")
axes[1].legend(fontsize=8)
fig.tight_layout()
glue.figure(fig, "cc-plot-thm-1")

# %% [markdown]
# ```{glue:figure} cc-plot-thm-1
# :alt: Left, the difference at the start falls with the width for tanh, soft, ReLU and half, at slopes minus three halves, minus one, minus one half, and is flat for the sigmoid. Right, relative to the linear output only tanh and soft fall.
# :name: cc-plot-thm-1
#
# Theorem 1 of the paper. Left: difference between the network and its linear twin at the start, geometric mean over seeds; dotted lines have the slopes written at their ends. Right: relative to the linear output. Black: activations that meet the conditions. Look at the right panel: there the conditions decide.
# ```
#
# ### During training (Conjecture 1, Figure 2 of the paper)
#
# ```{prf:conjecture} no. 1 of the paper: evolution of non-linear networks
# :label: cc-conj-1
# :nonumber:
# If $\phi(0)=0$ and $\phi'(0)=1$, then under training with the constraints of (8) $\ \lVert u_t^\phi-u_t^{\mathbb I}\rVert\to0$ for every $t>0$ as $h\to\infty$.
# ```
#
# It prints the objective as $\operatorname{Tr}(u^\top u)$, without $C$; we take the contrastive loss, as the figure does: gradient descent at rate 0.01 for 500 epochs, widths from 10 on. The paper names three "loss functions", sigmoid, ReLU and tanh; activations are
# meant. It does not name data, outputs, or whether the loss is summed. We train half moons with two outputs, by paper (1), which is a sum, with both layers projected back after a step. The linear twin starts at the same weights.

# %%
from contrastive_dynamics.collapse_and_constraints.figure_2 import half_moon_gap

early = epochs // 10
keep = {
    early,
    *(epochs // k for k in (100, 50, 25)),
    *range(0, epochs + 1, epochs // 10),
}
keep = sorted({0, epochs} | keep)


def trained_gap(name, h, how):
    """Gap over the epochs of all networks of one width, [epoch, network], and ‖u^I‖."""
    given = name, h, moons, networks, seed, rate, keep, how == "mean"
    label = f"Figure 2 {name} {h} {how}"
    found = chapter.library_piece(label, half_moon_gap, *given, device=chapter.device)
    return found["difference"], found["linear"]


# %%
def early_gap(name, h):
    """The same with the mean of the pairs, in the first tenth of the epochs."""
    given = name, h, moons, networks, seed, rate, [k for k in keep if k <= early], True
    label = f"Figure 2 {name} {h} early"
    return chapter.library_piece(label, half_moon_gap, *given, device=chapter.device)[
        "difference"
    ]


# %%
trained = ["tanh", "soft", "relu", "sigmoid"]
early_gaps = {(n, h): early_gap(n, h) for n in trained for h in widths}
cells = [(n, h, "sum") for n in trained for h in widths]
cells += [(n, h, "mean") for n in ("tanh", "soft") for h in widths if mean_loss]
gaps_2 = {cell: trained_gap(*cell) for cell in cells}


# %%
def width_slopes(name, epoch=-1, how="sum"):
    """Slope of the gap in the width, one a network; epoch 0 or the last, -1."""
    gaps = [gaps_2[name, h, how][0][epoch] for h in widths]
    return fitted_power(torch.stack(gaps), widths).tolist()


def early_slopes(name, epoch=-1):
    gaps = [early_gaps[name, h][epoch] for h in widths]
    return fitted_power(torch.stack(gaps), widths).tolist()


in_full = epochs >= judged_at and max(widths) >= 1000

# %% [markdown]
# tanh: "with increasing layer size the difference between linear and non-linear goes to zero", at the start and after training.

# %% tags=["hide-input", "nbval-check-output"]
when_2 = {"epoch 0": 0, f"epoch {epochs}": -1}
chapter.judge(
    "fig-2-a",
    observed={k: width_slopes("tanh", e) for k, e in when_2.items()},
    control=width_slopes("sigmoid"),
    regime=in_full,
)

# %% [markdown]
# "While ReLU only fulfills $\phi(0)=0$ the overall picture still is consistent with tanh but with slower convergence." The plot is of the difference, so its slope in the width is what we judge: for ReLU it is negative, and smaller than
# for tanh, at the start and as long as training has not moved $W_2^\top W_1$ far. That takes until about $t^*=\log\sqrt{h/d}\,/\,4\lvert\lambda_1\rvert$, when the outputs reach order one, and epochs count differently in different set-ups: the text
# does not name the number of points, and whether the loss is summed sets the time. With the mean of the pairs all {glue:text}`cc-early:.0f` epochs of the run lie before $t^*$ at the wide networks; with their sum, which is paper (1), $t^*$ is a few epochs.
# Long after $t^*$ ReLU's difference no longer falls. It cannot: the odd part of $u^{\mathrm{ReLU}}$ is half of $W_2^\top W_1x$, of norm at most 1, so once the linear twin has singular values 1 the two differ, averaged over $x$ and $-x$, by at
# least $\tfrac12\lVert u^{\mathbb I}(x)\rVert$ at any width.

# %%
start_and_early = {"epoch 0": 0, f"mean of the pairs, epoch {early}": -1}
relu_early = {k: early_slopes("relu", e) for k, e in start_and_early.items()}
glue.number("cc-early", early)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-2-b",
    observed=relu_early,
    control=width_slopes("sigmoid"),
    outside=width_slopes("relu"),
    regime=in_full,
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-2-c",
    observed=width_slopes("sigmoid"),
    control=width_slopes("sigmoid", 0),
    regime=in_full,
)

# %% [markdown]
# Sigmoid: the difference grows with the width, up to about $\tfrac12\sqrt h$: $W_2$ finds the direction $\phi(0)\mathbf 1$ that all hidden layers share, of length $\tfrac12\sqrt h$. The control is the start, where it is flat.
#
# **The conjecture** is about every $\phi$ with $\phi(0)=0$, $\phi'(0)=1$, so the centred softplus ("soft", $\phi''(0)=\tfrac12$) belongs to it. It fixes a time and lets the width grow, and at a fixed time before $t^*$ both differences fall with the width.
# As printed it can be proved: both networks start at size $h^{-1/2}$ and grow at most exponentially, so at any fixed time both vanish; the appendix writes this out. The proof never uses $\phi'(0)=1$. It speaks of smallness, not of linearity: what stays open
# is the difference *relative* to the linear outputs, and times of order $\log h$. There a difference of order $h^{-1}$ at the start grows as $W_1$ leaves the region where $\phi$ is linear; the wider the network, the later, not the smaller, the final difference: see the second
# column of the figure.

# %% tags=["hide-input", "nbval-check-output"]
belongs = ("tanh", "soft")
chapter.judge(
    "conj-1",
    observed={
        f"{n}, {k}": early_slopes(n, e)
        for n in belongs
        for k, e in start_and_early.items()
    },
    control={
        "sigmoid": early_slopes("sigmoid"),
        "sigmoid, sum": width_slopes("sigmoid"),
    },
    regime=in_full,
)


# %% tags=["hide-input"]
def draw_epochs(ax, name):
    for i, h in enumerate(widths):
        shade = f"{0.75 - 0.75 * i / max(1, len(widths) - 1):.2f}"
        ax.semilogy(
            keep, gaps_2[name, h, "sum"][0].mean(1), color=shade, label=f"h={h}"
        )
    ax.set(title=name, xlabel="epoch")


def draw_widths(ax, name):
    for e, marker, label in ((0, "o", "epoch 0"), (-1, "s", f"epoch {epochs}")):
        y = torch.stack([gaps_2[name, h, "sum"][0][e] for h in widths])
        mid, least, most = y.median(1).values, y.amin(1), y.amax(1)
        span_2 = torch.stack([mid - least, most - mid])
        ax.errorbar(
            widths, mid, span_2, fmt=f"k{marker}-", mfc="none", capsize=3, label=label
        )
    if (name, widths[0], "mean") in gaps_2:
        y = torch.stack([gaps_2[name, h, "mean"][0][-1] for h in widths])
        ax.plot(widths, y.median(1).values, "kD:", mfc="none", label="mean loss")
    ax.set(xscale="log", yscale="log", xlabel="width h")


# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(2, len(trained), figsize=(11, 5.6), sharey="row")
for ax, low, name in zip(axes[0], axes[1], trained, strict=True):
    draw_epochs(ax, name)
    draw_widths(low, name)
axes[0, 0].set_ylabel("$\\|u^\\phi-u^I\\|$")
axes[1, 0].set_ylabel("$\\|u^\\phi-u^I\\|$")
axes[0, -1].legend(fontsize=7, loc="lower right")
axes[1, 0].legend(fontsize=7, loc="lower left")
fig.tight_layout()
glue.figure(fig, "cc-plot-fig-2")

# %% [markdown]
# ````{record-figure} cc-plot-fig-2
# :alt: The same picture with a hundred networks a point. Tanh falls with the width at the start and after training, soft falls at the start and after training with the mean loss but not with the summed one, ReLU hardly falls after training, the sigmoid grows.
# :name: cc-plot-fig-2
#
# Figure 2 of the paper in the [record](cc-record) of the profile `paper`, a hundred networks a point and 50 half moons. Look at the diamonds of "soft": with the mean of the pairs, which trains fifty times as slowly, its difference still falls with the width at epoch 500, where it no longer does with the sum (squares). Time decides, as it does at a given epoch in the panel above.
#
# ```{glue:figure} cc-plot-fig-2
# :alt: Difference between non-linear and linear outputs for tanh, soft, ReLU and sigmoid. Top, against the epoch, darker for wider networks. Bottom, against the width at the start and after training. Tanh falls with the width both times, soft falls at the start only, ReLU hardly falls after training, the sigmoid grows.
# :name: cc-plot-fig-2-default
#
# Figure 2 of the paper. Root mean square over the anchors of the difference between the network and its linear twin. Top: over training, the darker the wider. Bottom: against the width, at the start (circles) and at the end (squares): median, least and largest of the networks; diamonds, where they are drawn, are the end of training with the mean of the pairs in place of the sum. Look at the squares: tanh falls and the sigmoid rises as the caption and the text say, ReLU hardly falls; "soft" is ours.
# ```
# ````

# %% [markdown]
# ## The outputs of the constrained linear network
#
# The losses are now the trace form (8) of the paper under $W_2^\top W_2=I_z$, $W_1^\top W_1=I_d$. Let $C=V\Lambda V^\top$ and let row $j$ of $q\in\mathbb R^{d\times z}$ be $u(v_j)$, that is
# $q=V^\top W_1^\top W_2$.
#
# ```{prf:theorem} no. 2 of the paper: learning dynamics in the linear setting
# :label: cc-thm-2
# :nonumber:
# Along $\dot W=-(I-WW^\top)\nabla_W\mathcal L$ in both layers, $\ \dot q=-2\bigl[2\Lambda q-\Lambda qq^\top q-qq^\top\Lambda q\bigr]$ (9).
# ```
#
# We let automatic differentiation find $\nabla\mathcal L$, project, and differentiate $q$ along the result. The width does not enter: it is tried from $\max(d,z)$ on. The control
# leaves the projection out.


# %%
def weights_and_grads(h, z):
    """Haar weights and the gradients of (8) by automatic differentiation."""
    w = draw_weights(streams("first", 8), streams("second", 8), h, inputs, z)
    w1, w2 = (layer.requires_grad_() for layer in w)
    loss = trace_loss(w1.mT @ w2, c).sum()
    return w1.detach(), w2.detach(), *torch.autograd.grad(loss, (w1, w2))


def theorem_2_error(h, z, project=grassmann_gradient):
    w1, w2, g1, g2 = weights_and_grads(h, z)
    v1, v2 = -project(w1, g1), -project(w2, g2)
    moved, q = v.mT @ (v1.mT @ w2 + w1.mT @ v2), v.mT @ w1.mT @ w2
    off = output_velocity(q, lam) - moved
    return float(off.norm() / (lam.unsqueeze(-1) * q).norm())  # q may be at rest


c, lam, v = spectrum(seed)
sizes = {
    f"h={h}, z={z}": (h, z) for h in (inputs, width, 200) for z in {1, outputs, inputs}
}
error = {k: theorem_2_error(*size) for k, size in sizes.items()}
free = theorem_2_error(width, outputs, project=lambda w, g: g)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-2", observed=error, control=free)

# %% [markdown]
# For $z=1$ it reads $\dot q/2=-(1-q^\top q)\Lambda q-(I-qq^\top)\Lambda q$ (10) of the paper; the first exercise derives it. The authors mention "a differential equation
# on $qq^\top$ [...] a matrix Riccati type equation", without writing it. With $P=qq^\top$ it is
#
# $$
# \dot P=-2\bigl[2\Lambda P+2P\Lambda-\Lambda P^2-P^2\Lambda-2P\Lambda P\bigr].
# $$ (cc-eq-riccati)

# %%
q = v.mT @ network_outputs(start)
velocity = output_velocity(q, lam)
q1 = q[..., :1]
ten = relative_error(vector_velocity(q1[..., 0], lam), output_velocity(q1, lam)[..., 0])
no_turn = relative_error(
    -2 * (1 - q1.square().sum(-2)) * lam * q1[..., 0], output_velocity(q1, lam)[..., 0]
)
p, p_velocity = q @ q.mT, velocity @ q.mT + q @ velocity.mT
riccati = relative_error(projector_velocity(p, lam), p_velocity)
no_middle = relative_error(
    projector_velocity(p, lam) - 4 * p @ torch.diag(lam) @ p, p_velocity
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("eq-10", observed=ten, control=no_turn)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("riccati", observed=riccati, control=no_middle)

# %% [markdown]
# ### Points that were not trained on
#
# The network is linear, so a new point $\hat x$ has the output $u_t(\hat x)=q_t^\top V^\top\hat x$. We train the weights by projected descent, the outputs by their own map, and
# compare on held-out points along the way. For that we need a map that belongs to the training. Discretised, (9) of the paper is not it, as we shall see below; but
# there is one that is exact. With $y=\Lambda q$ a step of paper (11) with the polar factor turns $q$ into
#
# $$
# \begin{aligned}
# q'&=A^{-1/2}\bigl[q-4\eta y+4\eta^2y\,q^\top y\bigr]B^{-1/2},\\
# A&=I-2\eta(qy^\top+yq^\top)+4\eta^2yy^\top,\qquad B=I-4\eta\,q^\top y+4\eta^2y^\top y .
# \end{aligned}
# $$ (cc-eq-map)
#
# So not only the flow but projected gradient descent itself is closed in its outputs, at any step size and width. The paper does not have this.


# %%
def closed_error(h, step, eta=0.05, steps=100):
    """Distance of a map of q from what a step of training does, over a path."""
    w = draw_weights(streams("first", 8), streams("second", 8), h, inputs, outputs)
    path = v.mT @ descend(w, c, eta, steps, keep_every=1).outputs
    return relative_error(step(path[:-1], lam, eta), path[1:])


error = {f"h={h}": closed_error(h, polar_map) for h in (inputs, width, 200)}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("closed-map", observed=error, control=closed_error(width, flow_map))

# %%
held_out = torch.randn(50, inputs, generator=stream(seed, 0, "held out"))
path = descend(start, c, rate, 400, keep_every=40)
q_path = iterate(polar_map, v.mT @ path.outputs[0], lam, rate, 400, 40)
trained = held_out @ path.outputs
new = relative_error(new_point(q_path, v, held_out), trained)
transposed = relative_error(new_point(q_path, v.mT, held_out), trained)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("new-point", observed=new, control=transposed)

# %% [markdown]
# ### Gradient descent and the differential equation (Figure 3 of the paper)
#
# The gradient descent of the paper is printed as $W^{(t+1)}=W^{(t)}+\eta\nabla\mathcal L$ (11), after which the weights are projected back onto the constraints. With the printed sign
# the loss rises: descent is meant. The differential equation is run as $q_{t+1}=q_t+\eta\,\dot q_t$ (12) of the paper.


# %%
def change_of_loss(eta):  # of every start, after one step, in units of ‖C‖
    moved = descent_step(start, c, eta)
    before, after = (trace_loss(network_outputs(w), c) for w in (start, moved))
    return (after - before) / lam.abs().max()


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "eq-11",
    observed=float(change_of_loss(-rate).min()),
    control=float(change_of_loss(-2 * rate).min()),
    mended=float(change_of_loss(rate).max()),
)

# %% [markdown]
# Figure 3 of the paper has one output, $h\in\{10,100,1000\}$ and $\eta=0.01$; its data are not named. We take the half moons of Example 1 of the paper with 100 points, and $C$ of the mean of
# the pairs. (With the sum, $\eta=0.01$ is too large for paper (12), which needs $\eta<1/(4\lvert\lambda_{\min}\rvert)$ to be stable at $\pm e_1$; (11) is stable there at any rate while no eigenvalue is positive. An exercise asks for the bounds.)

# %%
span, kept_points = 20.0, 400


def figure_3(h, eta=rate, trained=4):
    """Outputs [kept, start, 2, 1] by (11) and (12), and by training some weights."""
    lam, v = torch.linalg.eigh(
        trace_matrix(*half_moon_pairs(streams("data"), 100)) / 100
    )
    w = draw_weights(streams(f"{h} first"), streams(f"{h} second"), h, 2, 1)
    every = max(1, round(span / eta / kept_points))
    q0, steps = v.mT @ network_outputs(w), every * kept_points
    some = Weights(w.w1[:trained], w.w2[:trained])
    c = (v @ torch.diag_embed(lam) @ v.mT)[:trained]
    path = v[:trained].mT @ descend(some, c, eta, steps, keep_every=every).outputs
    q11, q12 = (iterate(f, q0, lam, eta, steps, every) for f in (polar_map, flow_map))
    return lam, path, q11, q12


# %%
def losses(q, lam):
    return (lam.unsqueeze(-1) * q.square()).sum((-2, -1))


runs = {h: figure_3(h) for h in chapter.progress(flow_widths, "Figure 3")}
final, slower, distance = {}, {}, {}
for h, (lam3, path, q11, q12) in runs.items():
    a, b = losses(q11, lam3), losses(q12, lam3)
    final[f"loss, h={h}"] = float((b[-1] / a[-1] - 1).abs().max())
    final[f"outputs, h={h}"] = float((q12[-1] - q11[-1]).abs().max())
    final[f"weights, h={h}"] = float((path - q11[:, : path.shape[1]]).abs().max())
    slower[h] = ((b - a) / a[-1].abs()).mean(0).tolist()
    distance[h] = (q12 - q11).norm(dim=(-2, -1))


def one_term(q, lam, eta):  # (12) without its last term
    y = lam.unsqueeze(-1) * q
    return q - 2 * eta * (2 * y - y @ (q.mT @ q))


wrong = iterate(one_term, q11[0], lam3, rate, 2000, 2000)[-1]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-3-a",
    observed=final,
    control=float((losses(wrong, lam3) / a[-1] - 1).abs().max()),
)

# %% tags=["hide-input", "nbval-check-output"]
narrow, broad = flow_widths[0], flow_widths[-1]
lam3, _, q11, q12 = runs[narrow]
euler, q11_end = losses(q12, lam3), losses(q11[-1], lam3)
moved = iterate(projected_map, q11[0], lam3, rate, 5 * (len(q11) - 1), 5)
of_projected = losses(moved, lam3)
chapter.judge(
    "fig-3-b",
    observed=slower[narrow],
    control=((euler - of_projected) / q11_end.abs()).mean(0).tolist(),
    outside=slower[broad],
    regime=narrow <= 10 and broad >= 1000,
)

# %% [markdown]
# Same final loss, as the paper says; (12) is slower at the smallest width only. The control projects the gradient before the step: then paper (12) is its discretisation, and no slower.
#
# For a given initialisation the outputs by (11) and by (12) "stay close to each other and converge to the same final outputs". We take the largest distance over time: on average over the starts it is
# {glue:text}`cc-gap-narrow:.2f` at the smallest width and {glue:text}`cc-gap-wide:.3f` at the largest, where the final outputs have length 1. A mistake in the equation is seen at once: without its last term the distance is of order 1.


# %%
def one_term_path(h):
    """(12) without its last term, from the same starts and at the same times."""
    lam, _, q11, _ = runs[h]
    every = round(span / rate / kept_points)
    return iterate(one_term, q11[0], lam, rate, every * kept_points, every)


farthest = {f"h={h}": d.amax(0).tolist() for h, d in distance.items()}
off_by_a_term = {
    f"h={h}": (one_term_path(h) - run[2]).norm(dim=(-2, -1)).amax(0).tolist()
    for h, run in runs.items()
}
glue.number("cc-gap-narrow", np.mean(farthest[f"h={flow_widths[0]}"]))
glue.number("cc-gap-wide", np.mean(farthest[f"h={flow_widths[-1]}"]))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-3-c", observed=farthest, control=off_by_a_term)

# %% [markdown]
# **Two flows.** Close is not equal: let the step size fall at a fixed width, and the distance stays. Paper (11) projects *weights*; for small steps $\operatorname{polar}(W-\eta G)=W-\eta\,(G-W\operatorname{sym}(W^\top G))+O(\eta^2)$, and the outputs then follow
#
# $$
# \dot q=-4\Lambda q+\Lambda qq^\top q+3\,qq^\top\Lambda q ,
# $$ (cc-eq-polar)
#
# which is paper (9) plus a rotation $[qq^\top,\Lambda]\,q$. Its loss falls faster by $\lVert[qq^\top,\Lambda]\rVert^2$: that is why paper (12) is slightly slower. Theorem 2 of the paper projects the *gradient* first; descent that does so has paper (9) as its limit.

# %%
etas = [0.01, 0.005, 0.0025]
problems = [spectrum(s, negative=1) for s in block for _ in range(4)]
c_gap, lam_gap, v_gap = (torch.stack(part) for part in zip(*problems, strict=True))
draws = [[g for s in block for g in streams(f"gap {k}", 4, s)] for k in (1, 2)]
w_gap = draw_weights(*draws, width, inputs, 1)
q_gap = v_gap.mT @ network_outputs(w_gap)


def largest_gaps(project=False, velocity=output_velocity, retraction="polar", span=1.0):
    """[seed, step size]: largest distance of (11) from a flow over time."""
    exact = output_flow(q_gap, lam_gap, torch.linspace(0, span, 11), velocity)
    found = []
    for eta in etas:
        steps = round(span / eta)
        path = descend(w_gap, c_gap, eta, steps, retraction, project, steps // 10)
        off = (v_gap.mT @ path.outputs - exact).norm(dim=(-2, -1)).amax(0)
        found.append(off.unflatten(0, (-1, 4)).mean(-1))
    return torch.stack(found, -1).tolist()


# %%
arms = {
    "as it is": {},
    "gradient first": {"project": True},
    "polar flow": {"velocity": polar_velocity},
    "QR": {"retraction": "qr"},
}
gaps = {
    k: largest_gaps(**arm) for k, arm in chapter.progress(arms.items(), "step sizes")
}
order = {k: [log_slope(etas, g) for g in found] for k, found in gaps.items()}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "polar-flow",
    observed={k: order[k] for k in ("gradient first", "polar flow")},
    control={k: order[k] for k in ("as it is", "QR")},
)

# %% [markdown]
# So "slightly slower" holds at the smallest width. At the largest, where the start is small, the two go through the same linear stage and turn to $e_1$ before $qq^\top$ matters; what is left
# there is the error of the steps, of the other sign.
#
# Both end in one of two points, $\pm e_1$.


# %%
def ends(q):
    """How many different points the outputs end at."""
    return len(torch.unique((q[-1, ..., 0] * 1e4).round(), dim=0))


two = {
    f"({n}), h={h}": ends(run[k])
    for h, run in runs.items()
    for k, n in ((2, 11), (3, 12))
}
ahead = iterate(flow_map, q11[0], lam3.abs(), rate, 4000, 4000)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-3-d", observed=two, control=ends(ahead))

# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.3))
time3 = np.linspace(0, span, kept_points + 1)
for (h, (lam3, _, q11, q12)), shade in zip(
    runs.items(), ("0.65", "0.35", "0"), strict=False
):
    axes[0].plot(
        time3, losses(q11, lam3).mean(1).cpu(), "-", color=shade, label=f"(11), h={h}"
    )
    axes[0].plot(
        time3, losses(q12, lam3).mean(1).cpu(), "--", color=shade, label=f"(12), h={h}"
    )
for k in range(6):
    for q_k, style in ((runs[narrow][2], "k-"), (runs[narrow][3], "k--")):
        axes[1].plot(q_k[:, k, 0, 0].cpu(), q_k[:, k, 1, 0].cpu(), style, lw=1)
axes[1].plot([-1, 1], [0, 0], "k*", ms=12)
names = {"as it is": "(11) and (9)", "QR": "(11) by QR and (9)"}
for (k, found), marker in zip(gaps.items(), "osD^", strict=True):
    label = names.get(k, k)
    axes[2].loglog(etas, np.mean(found, 0), f"{marker}-", mfc="none", label=label)
axes[0].set(xlabel="time ηt", ylabel="loss, mean over starts", xlim=(0, 6))
axes[1].set(xlabel="$u(v_1)$", ylabel="$u(v_2)$")
axes[2].set(xlabel="step size η", ylabel="largest distance over time")
axes[2].set_xticks(etas, [f"{eta:g}" for eta in etas])
axes[2].minorticks_off()
axes[0].legend(fontsize=7)
axes[2].legend(fontsize=7)
fig.tight_layout()
glue.figure(fig, "cc-plot-fig-3")

# %% [markdown]
# ```{glue:figure} cc-plot-fig-3
# :alt: Left, the loss falls to the same value by gradient descent and by the differential equation at three widths, by the latter later at the smallest width. Middle, paths of the outputs end at plus or minus e1. Right, the distance of the two stays as the step size falls, and falls in proportion to the step size for two corrected versions.
# :name: cc-plot-fig-3
#
# Figure 3 of the paper. Left: loss of paper (11) and of (12) over time, as the paper's left panel. Middle: outputs of six starts at the smallest width in the plane of the eigenvectors, paper (11) solid, (12) dashed; stars are $\pm e_1$. Right, not in the paper: their largest distance against the step size. Look at the flat line: paper (12) is not the limit of (11). The two falling lines are.
# ```

# %% [markdown]
# ## Where the outputs end
#
# ```{prf:theorem} no. 3 of the paper: evolution of (9) for $z=1$
# :label: cc-thm-3
# :nonumber:
# If all eigenvalues are strictly positive, $q$ converges to 0. If there is at least one negative eigenvalue, $q$ becomes the smallest eigenvector $e_1$.
# ```
#
# The proof of the first part: $\frac{d}{dt}\lVert q\rVert^2=-8(1-\lVert q\rVert^2)\,q^\top\Lambda q$ "is always negative" because $\lVert q\rVert\le1$. It is zero at $\lVert q\rVert=1$: a start with $h=d$,
# or one whose weights align by chance, keeps its length and ends at $\pm e_1$ whatever the sign of $\Lambda$. The proof of the second: the derivative of $e_1^\top q$ "is always positive unless" $q=e_1$. It is
# proportional to $e_1^\top q$: with $e_1^\top q=0$ it stays 0, and $q$ ends at the next negative eigenvector, or at 0; and the sign is that of the start.
#
# The generic starts are uniform in the ball. The two that are left out need the weights: a unit length is kept by the constraint, but along paper (9) alone it is unstable.


# %%
def ball(runs, purpose, d=None):
    """Uniform points of the unit ball, [run, d, 1]."""
    d = d or inputs
    g = stream(seed, 0, purpose)
    direction = torch.nn.functional.normalize(torch.randn(runs, d, generator=g), dim=-1)
    return (direction * torch.rand(runs, 1, generator=g) ** (1 / d)).unsqueeze(-1)


def signed(runs, negative, purpose):
    """Random eigenvalues, ascending, none near 0 and none near another."""
    g = stream(seed, 0, purpose)
    size = torch.rand(runs, inputs, generator=g) + torch.arange(1.0, 2 * inputs, 2)
    sign = torch.where(torch.arange(inputs) < negative, -1.0, 1.0)
    return (size * sign).sort(-1).values / inputs


# %%
def end(q0, lam, time=100.0):
    return output_flow(q0, lam, torch.tensor([0.0, time]), rtol=1e-6, atol=1e-9)[-1]


def from_axis(q, k):
    """Distance of the outputs from ±e_k."""
    axis = torch.eye(inputs)[k]
    q = q[..., 0]
    return torch.minimum((q - axis).norm(dim=-1), (q + axis).norm(dim=-1))


# %%
positive, negative = (
    signed(many_starts, 0, "positive"),
    signed(many_starts, 2, "negative"),
)
starts_3 = ball(many_starts, "ball")
shrunk, turned = end(starts_3, positive), end(starts_3, negative)


def on_the_sphere(lam, eta=0.05, steps=800, runs=16):
    """Networks with h = d, so ‖q‖ = 1, trained with the gradient projected first."""
    w = draw_weights(
        streams("sphere 1", runs), streams("sphere 2", runs), inputs, inputs, 1
    )
    c = torch.diag_embed(lam[:runs])
    return network_outputs(descend(w, c, eta, steps, project=True).weights)


unit = on_the_sphere(positive)
blind = starts_3.clone()
blind[:, 0] = 0  # q ⟂ e1
second = end(blind, negative)

# %% tags=["hide-input", "nbval-check-output"]
size = {
    k: float(q.norm(dim=(-2, -1)).max()) for k, q in (("zero", shrunk), ("one", turned))
}
chapter.judge(
    "thm-3",
    observed=size["zero"],
    control=size["one"],
    outside=float(unit.norm(dim=(-2, -1)).min()),
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-3-a",
    observed=float(from_axis(turned, 0).max()),
    control=float(from_axis(shrunk, 0).min()),
    outside=float(from_axis(second, 0).min()),
)

# %%
lost = {
    "‖q‖ = 1, Λ ≻ 0: distance from ±e1": from_axis(unit, 0),
    "q ⟂ e1: distance from ±e2": from_axis(second, 1),
    "q ⟂ e1, one negative: length": end(blind, signed(many_starts, 1, "one")).norm(
        dim=1
    ),
}
{k: f"at most {float(d.max()):.1e}" for k, d in lost.items()}

# %% [markdown]
# ### More than one output
#
# The paper stops at $z=1$ "for brevity's sake". For any $z$ the following holds along paper (9), with $P=qq^\top$:
#
# 1. *Singular values.* A left singular vector $v$ of $q$ with singular value $s$ gives $\frac{d}{dt}s^2=-8s^2(1-s^2)\,v^\top\Lambda v$. So $s=0$ and $s=1$ stay what they are. In particular the
#    unit singular values of $W_1^\top W_2$, of which there are at least $d+z-h$, never leave.
# 2. *The loss falls:* $\frac{d}{dt}\operatorname{Tr}(\Lambda P)=-4\bigl[\operatorname{Tr}(\Lambda^2P(I-P))+\operatorname{Tr}(\Lambda P\Lambda(I-P))\bigr]\le0$ because $0\preceq P\preceq I$. For invertible $\Lambda$ it rests only where
#    $P$ is a projector that commutes with $\Lambda$.
# 3. *What is stable.* Near the projector on the eigenvectors $J$, turning $i\in J$ towards $j\notin J$ grows at rate $-2(\lambda_j-\lambda_i)$; a singular value inside $J$ leaves 1 at rate $4(\lambda_i+\lambda_{i'})$; one
#    outside leaves 0 at rate $-4(\lambda_j+\lambda_{j'})$.
#
# With simple eigenvalues, then, $P(t)$ converges, and exactly one limit attracts: the projector on the
#
# $$
# k=\max\bigl(\#\{s=1\},\ \min(z,\#\text{negative})\bigr)
# $$ (cc-eq-rank)
#
# smallest eigenvectors (for $\operatorname{rank}q(0)=z$, as random weights have). *Proved:* the three statements, convergence, which limit is stable. *Observed:* that the starts we draw all go there.


# %%
def limit_error(h, z, negative, rank=limit_projector):
    """Largest distance of the end of (9) from the projector, over Haar starts."""
    lam = signed(starts, negative, f"limit {h} {z} {negative}")
    w = draw_weights(streams(f"{h} {z} 1"), streams(f"{h} {z} 2"), h, inputs, z)
    q0 = network_outputs(w)
    last = end(q0, lam)
    return float((last @ last.mT - rank(q0, lam)).norm(dim=(-2, -1)).max())


def full_rank(q0, lam):  # the sign of the eigenvalues is forgotten
    return torch.diag_embed(
        (torch.arange(inputs) < q0.shape[-1]).double().expand_as(lam)
    )


free = inputs + outputs  # from here on no singular value has to be 1
cases = {
    f"z={z}, {n} negative": (free, z, n)
    for z, n in ((1, 2), (outputs, 1), (outputs, outputs), (outputs, inputs))
}
error = {k: limit_error(*case) for k, case in cases.items()}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "beyond-z", observed=error, control=limit_error(free, outputs, 1, full_rank)
)

# %% [markdown]
# For $h<d+z$ the unit singular values have to be followed in the weights, since rounding would lose them along paper (9). They stay, and hold the network on positive eigenvalues
# when nothing better is left for them.

# %%
tight = max(inputs, inputs + outputs - 2)  # at least two unit singular values
lam_tight = signed(8, 1, "tight")
w = draw_weights(streams("tight 1", 8), streams("tight 2", 8), tight, inputs, outputs)
path = descend(
    w, torch.diag_embed(lam_tight), 0.05, 600, project=True, keep_every=2
).outputs
s = torch.linalg.svdvals(path)
kept = inputs + outputs - tight
reached = path[-1] @ path[-1].mT - limit_projector(path[0], lam_tight)

# %% tags=["hide-input", "nbval-check-output"]
observed = {
    "unit singular values": float((s[..., :kept] - 1).abs().max()),
    "limit": float(reached.norm(dim=(-2, -1)).max()),
}
chapter.judge(
    "beyond-z-a",
    observed=observed,
    control=lambda: float((s - s[0])[..., kept:].abs().max()),
    regime=kept < outputs,
)

# %% tags=["hide-input"]
when = torch.linspace(0, 6, 61)
pictures = [
    (f"{n} of {inputs} negative, z={outputs}", signed(1, n, f"picture {n}"), n)
    for n in (1, outputs)
]


# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.2), sharey=True)
for ax, (title, lam_p, n) in zip(axes, pictures, strict=False):
    w = draw_weights(
        streams("picture 1", 1), streams("picture 2", 1), free, inputs, outputs
    )
    p = output_flow(network_outputs(w), lam_p, when)[:, 0]
    occupied = (p @ p.mT).diagonal(dim1=-2, dim2=-1).cpu()
    for j in range(inputs):
        ax.plot(
            when.cpu(), occupied[:, j], "k-" if j < n else "k:", lw=1.8 if j < n else 1
        )
    ax.set(title=title, xlabel="time")
for j in range(inputs):
    on = path[:, 0].square().sum(-1)[:, j].cpu()
    axes[2].plot(
        np.linspace(0, 30, len(on)),
        on,
        "k-" if j < 1 else ("k--" if j < kept else "k:"),
        lw=1.5,
    )
axes[2].set(title=f"1 negative, h = {tight} < d + z", xlabel="time", xlim=(0, 6))
axes[0].set_ylabel("$(qq^\\top)_{jj}$: share of eigenvector j")
glue.figure(fig, "cc-plot-limits")

# %% [markdown]
# ```{glue:figure} cc-plot-limits
# :alt: Shares of the eigenvectors in the outputs over time. With one negative eigenvalue one share rises to one; with three negative eigenvalues three do; with a small width two do although only one eigenvalue is negative.
# :name: cc-plot-limits
#
# Beyond $z=1$. How much of each eigenvector the outputs hold, over time; solid: negative eigenvalues, dotted: positive ones. Look at how many lines end at 1: as many as there are negative eigenvalues, at most $z$ (left, middle); on the right the width is so small that two singular values have to stay 1, and the smallest positive eigenvalue (dashed) is taken in, too.
# ```

# %% [markdown]
# ## What it costs, and what it is good for (Figure 4 of the paper)
#
# "An update step using (12) is significantly faster then a SGD step using (11)", "(11) scales linearly with $h$", paper (12) "is independent of" it. Counted in flops and bytes, both
# statements hold, at every size that was tried: see the [appendix](cc-a-cost). The gap is real, but it is no merit of the differential equation alone: the map {eq}`cc-eq-map` is exactly paper (11),
# and its cost is independent of $h$ as well.
#
# ### A linear classifier on the outputs
#
# "Overall the performance of the downstream task for both the SGD optimization and the differential equation coincide": a linear support vector machine on the outputs of either, two classes, 200 images of each from MNIST (here, by default, fewer of scikit-learn's digits). The paper names no
# augmentation, number of outputs, or step size. We take the noise of Example 1 of the paper, $z=2$, $C$ of the mean of the pairs. "Coincide" means, fixed beforehand: held-out accuracies that differ by at most one percentage point, on average over the pairs of
# classes, by the whole interval over the splits. The control compares with the outputs before training.

# %%
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC


def image_problem(s, pair):
    """One problem, the C of its pairs, and a start of the outputs."""
    problem = two_class_problem(
        images, labels, pair, per_class, stream(s, 0, f"{pair}", "cpu")
    )
    x, g = problem.x, stream(s, 1, f"{pair}")
    positives = x + 0.1**0.5 * torch.randn(x.shape, generator=g)
    negatives = x[torch.randint(len(x), (len(x),), generator=g)]
    c = trace_matrix(x, positives.unsqueeze(-2), negatives.unsqueeze(-2)) / len(x)
    d = x.shape[-1]
    w2 = haar([g], 2 * d, 2)[0]  # W1 may be taken as the first d unit vectors
    return problem, c, w2[:d]


# %%
def svm_accuracy(m, problem):
    """Held-out accuracy of a linear SVM on the outputs xᵀm."""
    svm = make_pipeline(StandardScaler(), LinearSVC(dual=False))
    svm.fit((problem.x @ m).cpu().numpy(), problem.y.cpu().numpy())
    return svm.score(
        (problem.x_held_out @ m).cpu().numpy(), problem.y_held_out.cpu().numpy()
    )


# %%
def image_accuracies(s):
    """[pair, (11) | (12) | before training] for one split."""
    problems, c, m = zip(*(image_problem(s, pair) for pair in image_pairs), strict=True)
    lam, v = torch.linalg.eigh(torch.stack(c))
    q0 = v.mT @ torch.stack(m)
    maps = polar_map, flow_map
    last = [iterate(f, q0, lam, rate, image_steps, image_steps)[-1] for f in maps]
    return [
        [svm_accuracy(v[i] @ q[i], problems[i]) for q in (*last, q0)]
        for i in range(len(problems))
    ]


split_seeds = range(seed, seed + splits)
scores = np.array(
    [
        chapter.piece(f"split {s}", image_accuracies, s)
        for s in chapter.progress(split_seeds, "splits")
    ]
)
coincide = scores[..., 0] - scores[..., 1]
untrained = scores[..., 2] - scores[..., 1]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-4b", observed=coincide.mean(1), control=untrained.mean(1))

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5.6, 3.4))
at = np.arange(len(image_pairs))
for k, (label, marker) in enumerate(
    (("(11)", "o"), ("(12)", "s"), ("before training", "x"))
):
    y = scores[..., k]
    ax.errorbar(
        at + 0.15 * (k - 1),
        y.mean(0),
        y.std(0),
        fmt=f"k{marker}",
        mfc="none",
        capsize=3,
        label=label,
    )
ax.set_xticks(at, [f"{a} | {b}" for a, b in image_pairs])
ax.set(xlabel="pair of classes", ylabel="held-out accuracy", ylim=(0.4, 1.02))
ax.legend()
glue.figure(fig, "cc-plot-fig-4b")

# %% [markdown]
# ````{record-figure} cc-plot-fig-4b
# :alt: Held-out accuracy on MNIST. Gradient descent and the differential equation agree for every pair of digits; for 4 and 9 they are hardly better than the outputs before training.
# :name: cc-plot-fig-4b
#
# The same on MNIST, 200 images of a class, in the [record](cc-record) of the profile `paper`. Paper (11) and (12) agree on every pair. Look at 4 and 9: there both are hardly better than the outputs before training. The constraint keeps the two directions of most variance, and these do not tell a 4 from a 9; an exercise builds the clean case.
#
# ```{glue:figure} cc-plot-fig-4b
# :alt: Held-out accuracy of a linear classifier for five pairs of digits. Gradient descent and the differential equation agree within a point for every pair; the outputs before training are far lower.
# :name: cc-plot-fig-4b-default
#
# Figure 4 of the paper, right. Held-out accuracy of a linear SVM on two outputs, mean and deviation over the splits. Look at circles and squares: paper (11) and (12) agree, as caption and text say; crosses are the outputs before training.
# ```
# ````

# %% [markdown]
# (cc-record)=
# ## The same with more seeds
#
# The verdicts above come from the default profile, which has the paper's widths, epochs and step sizes. The profile `paper` has a hundred initialisations in Figure 2 of the paper, more points, seeds and starts, trains Figure 2 with
# the mean of the pairs as well, and reads MNIST.
#
# ```{include} ../book/_generated/collapse-and-constraints-record.md
# ```

# %% [markdown]
# ## Exercises
#
# A pencil first, then a few lines of code.

# %% [markdown] tags=["solution"]
# The solutions are folded, and so is their code, which asserts what was derived by hand.

# %% [markdown]
# ````{exercise} The length of the output
# :label: cc-ex-norm
#
# Take one output, $z=1$, so that $q$ is a vector.
#
# 1. Derive paper (10), $\dot q=2\bigl[-(1-q^\top q)\Lambda q-(I-qq^\top)\Lambda q\bigr]$, from (9), and from it
#    $\frac{d}{dt}\lVert q\rVert^2=-8(1-\lVert q\rVert^2)\,q^\top\Lambda q$.
# 2. Let $\Lambda=\lambda I$. Solve for $s=\lVert q\rVert^2$ and for $q$. A wide network starts at a small $s_0$: how long does it wait, for $\lambda<0$, until $s=\tfrac12$?
# 3. For any $\Lambda$, enclose $s(t)$ between two of these solutions. How fast do the outputs vanish at least if $\Lambda\succ0$?
#
# ```{hint}
# :class: dropdown
# For $z=1$ both $q^\top q$ and $q^\top\Lambda q$ are numbers and may be moved about. For 2. look at $\log\frac{s}{1-s}$, for 3. at the bounds of $q^\top\Lambda q/q^\top q$.
# ```
# ````

# %% [markdown] tags=["solution"]
# ```{solution} cc-ex-norm
# :label: cc-sol-norm
# :class: dropdown
#
# 1. With $s=q^\top q$ and $f=q^\top\Lambda q$, paper (9) is $\dot q=-2\bigl[2\Lambda q-s\Lambda q-fq\bigr]$. Split $2\Lambda q$ in two: $(1-s)\Lambda q$ is the first term of paper (10),
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
# ```

# %% tags=["solution", "hide-cell"]
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


# %% tags=["solution", "hide-cell"]
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
# ````{exercise} How fast is the collapse?
# :label: cc-ex-rate
#
# Let $\Theta(t)=\Theta(0)e^{-2Ct}$ be a naive linear model, $\lambda_1<\lambda_2<\lambda_3\le\dots$ the eigenvalues of $C$, and $\theta_i=\Theta(0)v_i$. Let
# $\sigma_1\ge\sigma_2\ge\dots$ be the singular values of $\Theta(t)$.
#
# 1. Show that $r=\sigma_2^2/\sigma_1^2$ tends to $\kappa\,e^{-4(\lambda_2-\lambda_1)t}$ and find $\kappa$.
# 2. The effective rank is $e^H$, $H$ the entropy of $\sigma_i^2/\sum_k\sigma_k^2$. How does it approach 1? Does its distance from 1 fall on a straight line in a plot with a
#    logarithmic axis?
# 3. A colleague fits a line to that plot. By how much is the slope off where $r=10^{-6}$?
#
# ```{hint}
# :class: dropdown
# $\sigma_1\sigma_2$ is the largest singular value of the matrix of all $2\times2$ minors of $\Theta$, and these are linear in $\theta_i\wedge\theta_j$.
# ```
# ````

# %% [markdown] tags=["solution"]
# ```{solution} cc-ex-rate
# :label: cc-sol-rate
# :class: dropdown
#
# 1. $\Theta(t)=\sum_ie^{-2\lambda_it}\theta_iv_i^\top$, so $\sigma_1\to e^{-2\lambda_1t}\lVert\theta_1\rVert$. The minors of $\Theta(t)$ are those of
#    $\sum_{i<j}e^{-2(\lambda_i+\lambda_j)t}(\theta_i\wedge\theta_j)(v_i\wedge v_j)^\top$, in which the first pair wins:
#    $\sigma_1\sigma_2\to e^{-2(\lambda_1+\lambda_2)t}\lVert\theta_1\wedge\theta_2\rVert$. That area is $\lVert\theta_1\rVert$ times the length of $\theta_2^\perp$, the part of
#    $\theta_2$ orthogonal to $\theta_1$. Divide by $\sigma_1^2$ and square:
#
#    $$
#    r\to\kappa\,e^{-gt},\qquad\kappa=\frac{\lVert\theta_2^\perp\rVert^2}{\lVert\theta_1\rVert^2},\qquad g=4(\lambda_2-\lambda_1).
#    $$
#
# 2. Two values matter in the end, $p=(1,r)/(1+r)$. So $H=\log(1+r)-\frac{r\log r}{1+r}$, and
#
#    $$
#    e^H-1\approx r\,(1-\log r)\approx\kappa e^{-gt}\,(1+gt-\log\kappa).
#    $$
#
#    The rate is $g$, but there is a factor that grows with $t$: the line is bent.
# 3. The derivative of $\log\bigl[r(1-\log r)\bigr]$ is $-g+\frac g{1-\log r}$. The slope is too flat by the share $1/(1-\log r)$, which is $1/(1+6\log10)$, about 7 %. A fit to
#    $\sigma_2^2/\sigma_1^2$ (or to the stable rank less one) has no such bias.
#
# Only the gap counts, not the size of $\lambda_1$. All this holds for almost every start. Without a gap, $\lambda_1=\lambda_2$, $r$ tends to a constant and that
# plane does not collapse.
# ```

# %% tags=["solution", "hide-cell"]
c_rate, values, vectors = spectrum(seed, run=1, d=6)
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


# %% tags=["solution", "hide-cell"]
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
# ````{exercise} No collapse, and still nothing learnt
# :label: cc-ex-loses
#
# A constrained model keeps $z$ dimensions. Are they the ones that a later task needs?
#
# 1. The data are centred, $x^+=x+\varepsilon$, $x^-$ is independent of $x$. Which directions does a trained model keep for $n\to\infty$? Construct $x=(s,r)$ with a class that a
#    linear classifier reads off $s$ nearly without error, and that $z=3$ constrained outputs lose.
# 2. You know that $r$ is a nuisance, and shake it: $\varepsilon$ is large along $r$, zero along $s$. Predict the accuracy. Then compute $\mathbb E[C]$. Do more negatives help?
# 3. Let the view keep $s$ and *redraw* the nuisance, $r^+=ar+\sqrt{1-a^2}\,r'$, $r'$ a fresh draw of the law of $r$, $0\le a\le1$. Up to which $a$ is the class kept?
# 4. Try all of it with a linear classifier on held-out data.
#
# ```{hint}
# :class: dropdown
# $\mathbb E[C]$ depends on the positives through $\mathbb E[x(x^+)^\top]$ only. What does independent centred noise add to it?
# ```
# ````

# %% [markdown] tags=["solution"]
# ```{solution} cc-ex-loses
# :label: cc-sol-loses
# :class: dropdown
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
# ```

# %% tags=["solution", "hide-cell"]
from sklearn.linear_model import LogisticRegression

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


# %% tags=["solution", "hide-cell"]
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


# %% tags=["solution", "hide-cell"]
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
# ````{exercise} The largest step
# :label: cc-ex-step
#
# One output, $z=1$, and $\lambda_1<\dots<\lambda_d$, none of them 0.
#
# 1. Linearise paper (12), $q_{t+1}=q_t+\eta\,\dot q_t$, at $\pm e_1$ for $\lambda_1<0$ and at 0 for $\Lambda\succ0$. For which $\eta$ is the point stable? When is
#    $\eta\lvert\lambda_1\rvert<\frac14$ the whole condition?
# 2. What does paper (12) do on the axis of $e_1$ just beyond $\eta\lvert\lambda_1\rvert=\frac14$?
# 3. Projected descent (11) of the paper with the polar factor follows {eq}`cc-eq-map`. Show that on the axis of $e_1$, with $\lambda_1<0$, it never moves away from $\pm e_1$, however large
#    $\eta$ is. Is it stable at any step, then? Guess first.
#
# ```{hint}
# :class: dropdown
# On the axis paper (12) is $r\mapsto r\,(1+\alpha-\alpha r^2)$ with $\alpha=4\eta\lvert\lambda_1\rvert$. For 3. put $q=e_1+\delta e_j$ into the map and keep first order in $\delta$.
# The off-diagonal entry of $A^{-1/2}$ is that of $A$ times $\frac{m^{-1}-1}{m^2-1}$ if the diagonal of $A$ is $(m^2,1)$.
# ```
# ````

# %% [markdown] tags=["solution"]
# ```{solution} cc-ex-step
# :label: cc-sol-step
# :class: dropdown
#
# 1. The derivative of paper (10) at $e_1$ is diagonal: $8\lambda_1$ along $e_1$, $-2(\lambda_j-\lambda_1)$ along $e_j$. At 0 it is $-4\Lambda$. A step multiplies a nudge by
#    $1-8\eta\lvert\lambda_1\rvert$, $1-2\eta(\lambda_j-\lambda_1)$ and $1-4\eta\lambda_j$. These lie in $(-1,1)$ for
#
#    $$
#    \eta<\min\Bigl(\frac1{4\lvert\lambda_1\rvert},\frac1{\lambda_d-\lambda_1}\Bigr)\ \text{at}\ \pm e_1,\qquad\eta<\frac1{2\lambda_d}\ \text{at}\ 0 .
#    $$
#
#    The first of the two decides if $\lambda_d\le3\lvert\lambda_1\rvert$. Else the turn is what breaks.
# 2. The multiplier passes $-1$, so a cycle of two is born. In $y=\sqrt\alpha\,r$ the map is $y\mapsto y\,(1+\alpha-y^2)$. Two points with $y_1y_2=1$ and $y_1^2+y_2^2=1+\alpha$
#    change places, and with $\beta=1+\alpha$ the product of their derivatives is $9-2\beta^2$: the cycle is stable for $2<\beta<\sqrt5$. The lengths are
#    $r^2=\bigl(\beta\pm\sqrt{\beta^2-4}\bigr)/2\alpha$, one of them above 1, which no weights have.
# 3. Let $a=2\eta\lvert\lambda_1\rvert$. On the axis $A_{11}=B$, and the map is $r'=r\,\frac{1+2a+a^2r^2}{1+2ar^2+a^2r^2}\ge r$ for $r\le1$; and $r'\le1$, since it is a cosine.
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
#    At 0 the roots $A^{-1/2}$ and $B^{-1/2}$ are 1 up to second order, and the bound is that of paper (12). So projection keeps the *length* in check at any step, not the direction.
#    It allows larger steps than paper (12) iff $\lambda_d<\frac{11}4\lvert\lambda_1\rvert$. On half moons with one negative each, $\mathbb E[C]=-n\operatorname{Cov}(x)$ has no
#    positive eigenvalue, and every step is stable, if slow: the multiplier $(1-a)^2/(1+a)^2$ of the length tends to 1 again.
# ```


# %% tags=["solution", "hide-cell"]
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


# %% tags=["solution", "hide-cell"]
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

# %% tags=["solution", "hide-cell"]
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
# ````{exercise} Too many negatives
# :label: cc-ex-negatives
#
# The data are not centred: mean $\mu\ne0$, covariance $\Sigma\succ0$. Each anchor has $p$ positives $x+\varepsilon$ and $q$ independent negatives.
#
# 1. Write $\mathbb E[C]$ with $\Sigma$. For which $q$ has it a positive eigenvalue? Can it have two?
# 2. Which direction is the first to lose its negative sign as $q$ grows? Is it $\mu$? For which $q$ is $\mu^\top\mathbb E[C]\mu>0$?
# 3. Compute both bounds for half moons. How many negatives a positive are too many? What does constrained training then do with that direction? And what does it do with very
#    many?
#
# ```{hint}
# :class: dropdown
# $\det(M+uv^\top)=\det(M)\,(1+v^\top M^{-1}u)$. For the count of positive eigenvalues look at $\Sigma^{-1/2}\,\mathbb E[C]\,\Sigma^{-1/2}$.
# ```
# ````

# %% [markdown] tags=["solution"]
# ```{solution} cc-ex-negatives
# :label: cc-sol-negatives
# :class: dropdown
#
# 1. $\mathbb E[xx^\top]=\Sigma+\mu\mu^\top$, so {eq}`cc-eq-mean` is $\mathbb E[C]=n\bigl[(q-p)\mu\mu^\top-p\Sigma\bigr]$. Write $\tau=\mu^\top\Sigma^{-1}\mu$. By the lemma
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
# 3. The cells print the bounds. For one positive, two negatives are already too many on half moons, while the mean itself asks for three.
#    With one negative, two outputs keep both dimensions. Beyond $q^*$ only $d-1$ eigenvalues are negative. By {eq}`cc-eq-rank`, for $h\ge d+z$, one dimension is given up: its
#    singular value goes to 0, as for the positive eigenvalues of Theorem 3 of the paper. Collapse to one dimension, under orthogonality. With very many negatives the direction given up
#    becomes $\mu$ itself, and what is kept is orthogonal to it: the negatives centre the outputs.
# ```

# %% tags=["solution", "hide-cell"]
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

# %% tags=["solution", "hide-cell"]
draws = [streams(f"exercise negatives {layer}", 4) for layer in (1, 2)]
for q in (1, 4, 50):
    data_q = half_moon_pairs(streams(f"exercise moons {q}", 4), 1000, 1, q)
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

# %% [markdown]
# (cc-slips)=
# ## Slips of the text
#
# ```{admonition} What is printed, what a run gave, what holds instead
# :class: important
#
# None of these touches what the paper concludes. *Misprints*, where the mended form is the one that the paper uses:
#
# - **Paper (11)** prints $W^{(t+1)}=W^{(t)}+\eta\nabla\mathcal L$; descent is meant (`eq-11`).
# - **Non-contrastive $\tilde C$**, below paper (7), lacks its minus sign (`eq-8`); the display above (7) sums from $i=n$.
# - **Proposition 3 of the paper** prints the loss as a squared norm, where the trace is meant. In its proof, "$\min\{d,z\}\le n$" and "$n\times d$ matrix" mean $h$.
# - **Proposition 2 of the paper** calls $W_2^\top\phi(W_1x)$ linear; **Figure 2** names sigmoid, ReLU and tanh as "loss functions"; **Conjecture 1** prints its objective without $C$.
#
# *Conditions* under which a statement holds, and which the text leaves to its reader:
#
# - **$\mathbb E[\tilde C]=-n\,\mathbb E[xx^\top]$**: $\mathbb E[x]=0$. In general $\mathbb E[C]=n(q\mu\mu^\top-p\,\mathbb E[xx^\top])$; for the paper's half moons it is $-n\operatorname{Cov}(x)$ (`eq-ec`, `eq-ec-a`). "$\mathbb E[C]$ is in fact negative definite": $\operatorname{Cov}(x)$ is regular.
# - **Lemma 1 of the paper** is exact for $u=\Theta x$ (`lem-1-a`). For two linear layers its kernel $x^\top x'$ is that of a second layer trained alone or drawn small; with both layers trained it is $2x^\top x'$ (`lem-1-b`).
# - **Remark 2**: InfoNCE decouples while its outputs are small, or with its weights held fixed (`rem-2-a`).
# - **Remark 3**: the $r$ components move alike for $r\ll z$, as the remark assumes (`rem-3-a`); they collapse for any $r$ (`rem-3`).
# - **Proposition 1 of the paper**: what converges is the direction of the outputs, and it is one dimension if $\lambda_{\min}$ is simple (`prop-1-a`).
# - **Proposition 3 of the paper**: its fourth problem needs $h\ge d+z-k$ (`prop-3`). **Figure 4**: $W_1^\top W_1=I_d$ needs $h\ge d$, 784 for MNIST.
# - **Figure 2 of the paper**, ReLU: times up to about $t^*$ (`fig-2-b`). **Figure 3**, "slightly slower": starts of some size (`fig-3-b`).
# - **Theorem 3 of the paper**, first case: $\lVert q\rVert<1$ (`thm-3`). The second holds from almost every start, with $e_1$ or $-e_1$ as the text on Figure 3 says (`thm-3-a`); $e_1^\top q$ keeps the sign of the start.
# ```
#
# ## What is open
#
# - **More than one output.** The paper treats $z=1$. [Above](cc-eq-rank) the limit is derived for any $z$, up to the claim that almost every start reaches it.
# - **Almost linear, relative to what?** Conjecture 1 of the paper is proved at any fixed time as it is printed. Nothing is known of the difference relative to the outputs, or of times of order $\log h$; late in training no width that we tried is enough for the centred softplus.
# - **Constraints in wide networks.** Theorem 2 of the paper is about linear networks. What replaces paper (9) for $\phi\ne\mathrm{id}$ under orthogonality constraints is named as open by the authors.
# - **Which projection to take.** Gradients are projected in Theorem 2 of the paper, weights in the experiments. By {eq}`cc-eq-polar` projecting the weights loses the loss faster; whether that helps a task is not known.
# - **Which data the constraint helps.** It keeps the directions of the most negative eigenvalues of $C$, those of most variance. Whether the downstream task needs these is a property of the data: see the exercise on what it still loses.

# %%
chapter.close()
