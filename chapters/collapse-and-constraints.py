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
# # Collapse and constraints
#
# ```{include} ../book/_generated/collapse-and-constraints-box.md
# ```
#
# Train a model to give similar outputs for two views of one thing (a *positive pair*) and dissimilar outputs for unrelated things (a *negative pair*), and let it have $z$ outputs. Under simple losses it can *collapse*: all $z$ outputs become multiples of one function of the input. When does that happen, and what must be forbidden to get $z$ different outputs? We follow {cite}`esser-2023`.

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
widths: list[int] = [10, 30, 100, 300, 1000]  # Figure 2, 10..10000
networks: int = 10  # initialisations of Figure 2, 3..1000
epochs: int = 500  # of Figure 2, 10..100000
judged_at: int = 500  # least epochs that are judged, 10..100000
rate: float = 0.01  # learning rate of Figures 2 and 3, 0.0001..0.2
flow_widths: list[int] = [10, 100, 1000]  # of Figure 3, 4..5000
data: str = "digits"  # images of Figure 4, digits|mnist
digits: list[int] = [0, 1, 3, 8, 4, 9, 5, 6, 2, 7]  # pairs of classes, 0..9
per_class: int = 100  # images of a class that are trained on, 2..3000
splits: int = 20  # random splits of Figure 4, 3..1000
network_splits: int = 5  # of them, on which nonlinear networks are trained, 3..1000
image_steps: int = 500  # updates on images, 10..100000
device: str = "cpu"  # the calls are small: a GPU gains nothing here, auto|cpu|cuda

# %% tags=["hide-input"]
import math
from functools import cache
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch

from clbook.notebook import colours, glue, open_chapter
from contrastive_dynamics.collapse_and_constraints import (
    CURVATURE, WIDE, Descent, Weights, axis_distance, ball_points, descend,
    descend_frobenius, descend_operator_norms, descend_product_norm, descend_ratio,
    draw_weights, exponent, flow_map, frobenius_optimum, gaussian_layers,
    gaussian_pairs, gaussian_views, indefinite_matrix, iterate, kernel_flow,
    linear_flow, mean_factor, network_outputs, operator_optimum, output_end,
    output_flow, output_velocity, outputs_at, pairing, polar_map, polar_velocity,
    regression_flow, require_sizes, signed_eigenvalues, spectral_flow, stacked,
    tangent_shares, trace_loss, trace_matrix, wide_starts,
)  # fmt: skip
from contrastive_dynamics.data.half_moons import (
    half_moon_law, half_moon_moments, half_moon_views, half_moons,
)  # fmt: skip
from contrastive_dynamics.numerics.power_laws import fitted_power, log_slope
from contrastive_dynamics.numerics.random_streams import stream, streams
from contrastive_dynamics.numerics.ranks import effective_rank
from contrastive_dynamics.numerics.run_defaults import torch_defaults
from contrastive_dynamics.numerics.stiefel import grassmann_gradient, haar, qr
from experiments.collapse_and_constraints import (
    half_moon_gap, half_moon_spectrum, image_problem, paired_images, rotated_start,
    svm_accuracy, three_rules, two_descents,
)  # fmt: skip

# %% tags=["hide-input"]
chapter = open_chapter("collapse-and-constraints", globals())
torch_defaults(chapter.device)
block, seed = chapter.seeds, first_seed

# %% [markdown]
# ## Three rules, one cloud
#
# Three linear models with two outputs look at the same two half moons (filled above, hollow below), start from the same outputs and lower the same loss. The first is trained without a rule, the second with its Frobenius norm held fixed, the third with two layers whose columns stay orthonormal.
#
# Each panel draws the two outputs as a point in the plane, one for each point of the data; each panel has its own scale. The *effective rank* is 1 if the cloud is a line and 2 if the linear map from inputs to outputs has two equal singular values. Guess before you press Play: at time 3, which of the three clouds will be a line?

# %% tags=["hide-input"]
first, second = half_moon_law()
glue.number("cc-turning-point", 1 / float(first @ torch.linalg.solve(second, first)))
basis, begin = half_moon_spectrum(1), rotated_start(0.2, 0.7)
cloud, clock = half_moons(120) @ basis.vectors, torch.linspace(0, 8, 401)
films = three_rules(begin, basis.values, clock)
far = float(cloud.norm(dim=-1).max())
rules = {  # name: outputs of v_1 and v_2, colour, how far outputs can lie from 0
    "no rule": (films.none, colours.UNCONSTRAINED, None),
    "norm held": (films.norm, colours.NORM_HELD, far * float(begin.norm())),
    "orthonormal layers": (films.layers, colours.ORTHONORMAL, far),
}
fig = plt.figure(figsize=(7.8, 5), layout="constrained")
panels, beside = fig.subfigures(1, 2, width_ratios=[1.55, 1])
strip = beside.subplots()
for row, (name, (q, look, bound)) in zip(
    panels.subplots(3, 3), rules.items(), strict=True
):
    for ax, k in zip(row, (0, 75, 150), strict=True):
        u = (cloud @ q[k]).cpu()
        side = 1.12 * (bound or float(u.abs().max()))
        ax.plot(*u[:60].mT, "o", ms=2.2, color=look["color"])
        ax.plot(*u[60:].mT, "o", ms=2.6, mfc="white", mew=0.7, color=look["color"])
        ax.set(xlim=(-side, side), ylim=(-side, side), xticks=[], yticks=[])
        ax.set(aspect="equal", xlabel=f"frame ±{side:.2g}")
        ax.spines[:].set(visible=True, color="0.8")
        if name == "no rule":
            ax.set_title(f"time {float(clock[k]):g}", weight="normal")
    row[0].set_ylabel(name.replace(" l", "\nl"), color=look["color"], weight="bold")
    wide = {} if bound else {"lw": 6, "alpha": 0.4}  # the next line lies on this one
    strip.plot(clock.cpu(), effective_rank(q).cpu(), **look, **wide, label=name)
for k in (0, 75, 150):
    strip.axvline(float(clock[k]), zorder=0, **colours.ASIDE | {"alpha": 0.5})
strip.set(title="Effective rank of the outputs", xlabel="time", ylim=(0.97, 2.05))
strip.legend(loc="center right")
fig.suptitle("Two clouds flatten to a line, the third does not")
alt = "Outputs of three networks on two half moons at times 0, 1.5 and 3, and their effective ranks. Without a rule and with the norm held the cloud becomes a line, and the rank falls to 1. With orthonormal layers it flattens a little, opens again, and the rank rises to 2."
glue.explorable(fig, "clouds", alt)

# %% tags=["hide-input"]
# what the runs below need is checked before any work
chapter.check(require_sizes, width, inputs, outputs)
chapter.check(half_moons, moons)
images, labels, image_pairs = chapter.check(paired_images, data, digits, per_class)

# %% [markdown]
# Without a rule the outputs grow without bound and end on a line. Holding the norm stops the growth, but not the collapse. With orthonormal layers the cloud flattens for a moment, then opens again: compare <a href="#clouds:t=1">time 1</a> with <a href="#clouds:t=3">time 3</a>.
#
# The third cloud does not always open. Let $\nu$ be the number of negatives per positive, which was 1 so far, and <a href="#clouds:nu=2.5&amp;t=8">set it to 2.5</a>: now the third cloud ends as a line, too. The data enter the loss through one matrix, $C$, and its eigenvalues $\lambda_1<\lambda_2$ are drawn below the clouds, filled where they are negative. At $\nu=$ {glue:text}`cc-turning-point:.2f` the second one turns positive, and orthonormal layers keep no more directions than $C$ has negative eigenvalues. For <a href="#clouds:white=1&amp;t=3">data with the same variance in every direction</a> the two are equal, and no cloud flattens.
#
# This is the paper's answer, in two steps. First, these losses never tell output 1 to differ from output 2, so all turn to the same direction. Second, a constraint helps only if it limits each direction separately.
#
# **How to read this page.** Each result is followed by the run that tests it and by a card with the verdict ([how a claim is judged](../book/judging.md)). A card also names a *control*: a plausible mistake, or a case in which the statement should not hold. It goes through the same code and has to fail. Most cards, and longer proofs, are in the [appendix](collapse-and-constraints-appendix.ipynb); a [table of symbols](cc-symbols) is near the end. No code of the authors is public.

# %% [markdown]
# ## One matrix
#
# A model $u:\mathbb R^d\to\mathbb R^z$ sees $n$ *anchors* $x_i$. Each has $p$ *positives* $x_{ij}^+$, which are views of the anchor, and $q$ *negatives* $x_{ij}^-$, which are other samples. (In this section $q$ is a number; from Theorem 2 of the paper on it is the matrix of outputs. The paper uses the letter twice, too.) With one positive and one negative for each anchor, the two losses of the paper are
#
# $$
# \begin{aligned}
# \mathcal L&=\textstyle\sum_{i=1}^n u(x_i)^\top\bigl(u(x_i^-)-u(x_i^+)\bigr)&&\text{contrastive, (1) of the paper,}\\
# \mathcal L&=-\textstyle\sum_{i=1}^n u(x_i)^\top u(x_i^+)&&\text{non-contrastive, (2) of the paper.}
# \end{aligned}
# $$ (cc-eq-losses)
#
# A scalar product is a sum over the outputs, $u(x)^\top u(x')=\sum_lu_l(x)\,u_l(x')$. No term contains two different outputs, and most of this chapter follows from that.
#
# Now let the model be a linear network with two layers and $h$ hidden units, $u(x)=W_2^\top W_1x$ with $W_1\in\mathbb R^{h\times d}$ and $W_2\in\mathbb R^{h\times z}$. Then either loss sees the data through a single symmetric $d\times d$ matrix, in equations (7) and (8) of the paper:
#
# $$
# \begin{aligned}
# \mathcal L&=\operatorname{Tr}\bigl(W_2^\top W_1CW_1^\top W_2\bigr),\qquad C=\tfrac12(\tilde C+\tilde C^\top),\\
# \tilde C&=\sum_i x_i\Bigl(\sum_{j\le q}x_{ij}^--\sum_{j\le p}x_{ij}^+\Bigr)^{\!\top}.
# \end{aligned}
# $$ (cc-eq-trace)
#
# We write $\lambda_1\le\lambda_2\le\dots\le\lambda_d$ for the eigenvalues of $C$ (so $\lambda_{\min}=\lambda_1$), $v_1,\dots,v_d$ for its eigenvectors, $V$ for the matrix of these and $\Lambda$ for the diagonal matrix of the eigenvalues. Along the eigenvector of a negative eigenvalue, larger outputs lower the loss; along that of a positive one they raise it. Our runs on half moons and images divide $C$ by $n$, which changes the unit of time.

# %% [markdown]
# ```{strip}
# $\mathcal L=\sum_iu_i^\top\bigl(\sum_ju_{ij}^--\sum_ju_{ij}^+\bigr)$ | pair_losses.pair_loss
# $\sum_jx_{ij}^--\sum_jx_{ij}^+$, of points or outputs | pair_losses._contrast
# $C=\tfrac12(\tilde C+\tilde C^\top)$ | pair_losses.trace_matrix
# $\operatorname{Tr}(m^\top Cm)$ with $m=W_1^\top W_2$ | orthogonal_descent.trace_loss
# ```


# %% [markdown]
# What does $C$ look like? Let $x^-$ be independent of $x$ with the same law, and $x^+=x+\varepsilon$ with independent noise of mean zero. Write $\mu=\mathbb E[x]$. Then
#
# $$
# \mathbb E[C]=n\bigl(q\,\mu\mu^\top-p\,\mathbb E[xx^\top]\bigr).
# $$ (cc-eq-mean)
#
# The noise drops out. The paper writes $-n\,\mathbb E[xx^\top]$, which is this for centred data.
#
# With as many negatives as positives the mean of $C$ is $-n\operatorname{Cov}(x)$, and its most negative eigenvalues belong to the directions of most variance, useful or not. With more negatives, and a mean that is not zero, the first term can make one eigenvalue positive, as in the live picture.

# %% [markdown]
# ```{strip}
# $\mathbb E[C]=n\,\bigl(q\,\mu\mu^\top-p\,\mathbb E[xx^\top]\bigr)$ | pair_losses.expected_trace_matrix: return
# as printed, $-n\,\mathbb E[xx^\top]$ | cell: return mean_factor(c, -x.shape[-2] * moment)
# its coefficient in the mean $\bar C$ of the draws, $\langle\bar C,E\rangle/\langle E,E\rangle$ | pair_losses.mean_factor
# ```


# %% tags=["hide-input"]
def printed_mean(x, positives, negatives, mean, moment):  # −n E[xxᵀ]
    c = trace_matrix(x, positives, negatives)
    return mean_factor(c, -x.shape[-2] * moment)


def dependent(x, positives, negatives, mean, moment):
    """Negatives that are views of their own anchors: those of another draw of half moons,
    whose anchors are the same in every draw."""
    return x, positives, positives.roll(1, 0) + 0.3 * (negatives - mean), mean, moment


inside = [
    printed_mean(*gaussian_views(stream(s, 1, "1"), 400, 50, inputs)) for s in block
]
moon_draws = [half_moon_views(streams([s], 400, "moons"), 50) for s in block]
moons_printed = [printed_mean(*drawn) for drawn in moon_draws]
views_as_negatives = [printed_mean(*dependent(*drawn)) for drawn in moon_draws]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "eq-ec", observed=inside, control=views_as_negatives, outside=moons_printed
)


# %% [markdown]
# :::{admonition} Quick question: with one positive and one negative for each anchor, what signs do the eigenvalues of $\mathbb E[C]$ have?
# :class: dropdown
#
# None is positive: with $p=q=1$ the mean matrix is $-n\operatorname{Cov}(x)$.
# :::

# %% [markdown]
# ## Nothing tells two outputs apart
#
# Every output obeys the same linear equation, only from another start, and in such an equation the direction that grows fastest wins in the end. It is the same direction for all outputs; if $\lambda_{\min}<0$, they also grow without bound.
#
# ```{prf:lemma} no. 1 of the paper: no interaction across output dimensions
# :label: cc-lem-1
# :nonumber:
# For $u=\Theta x$, or a kernel machine $u=\Theta\psi(x)$, in the infinite-width limit $\langle\nabla_\Theta u_l(x),\nabla_\Theta u_j(x')\rangle=0$ for
# $l\ne j$, and for $l=j$ it is $x^\top x'$ (linear), $k(x,x')=\langle\psi(x),\psi(x')\rangle$ (kernel).
# ```
#
# For these models the lemma is exact, with no limit: row $l$ of $\Theta$ belongs to output $l$ alone. In a network the hidden units are shared. There the scalar product of two gradients is the *tangent kernel* $k_{ab}(x,x')$: how much a step that changes output $b$ at $x'$ moves output $a$ at $x$. For $u=W_2^\top\phi(W_1x)$, with $w_i$ the rows of $W_1$, it is
#
# $$
# \begin{aligned}
# k_{ab}(x,x')&=\delta_{ab}\,\phi(W_1x)^\top\phi(W_1x')\\
# &\quad+x^\top x'\sum_{i\le h}(W_2)_{ia}(W_2)_{ib}\,\phi'(w_i^\top x)\,\phi'(w_i^\top x').
# \end{aligned}
# $$ (cc-eq-ntk)
#
# The first term is zero for two different outputs. The second joins them, but for independent random weights it is a sum of mean zero and of size $h^{-1/2}$, so it vanishes as the width grows.

# %% [markdown]
# ```{strip}
# $\phi(W_1x)^\top\phi(W_1x')$ | tangent_kernel.tangent_kernel: features.baddbmm_(
# $\sum_i(W_2)_{ia}(W_2)_{ib}\,\phi'(w_i^\top x)\,\phi'(w_i^\top x')$ | tangent_kernel.tangent_kernel: gates.baddbmm_(
# times $x^\top x'$ | tangent_kernel.tangent_kernel: kernel = gates
# plus the first, where $a=b$ | tangent_kernel.tangent_kernel: kernel.diagonal(
# $\lVert k_{a\ne b}\rVert\,/\,\lVert k_{aa}\rVert$ | tangent_kernel.off_diagonal_share: return
# ```

# %% tags=["hide-input"]
x = torch.randn(6, inputs, generator=stream(seed, 0, "points"))

# %% tags=["hide-input"]
kinds = ["linear", "relu", "tanh"]


# %% tags=["hide-input"]
curves = {
    k: np.array(
        [
            tangent_shares(s, tangent_widths, k, x, outputs)
            for s in chapter.progress(block, k)
        ]
    )
    for k in kinds
}


def falls(sizes, table):  # mean slope of the activations, one per seed
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
tied = [
    log_slope(
        tangent_widths, tangent_shares(s, tangent_widths, "relu", x, outputs, tied=True)
    )
    for s in block
]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-1", observed=fall, control=tied)

# %% [markdown]
# ````{prf:proposition} no. 1 of the paper: dimension collapse in SSL dynamics
# :label: cc-prop-1
# :nonumber:
# Under the conditions of Lemma 1 every component of $u$ has identical dynamics, hence identical fixed points.
#
# ```{claim} prop-1-a
# ```
# ```{claim} prop-1
# ```
# ````
#
# *Why.* Take $u=\Theta x$. The loss is $\operatorname{Tr}(\Theta C\Theta^\top)$, so gradient flow is $\dot\Theta=-2\Theta C$, row by row, and $\Theta(t)=\Theta(0)e^{-2Ct}$. Along the eigenvector $v_j$ every output is multiplied by $e^{-2\lambda_jt}$. Divide by the norm of $\Theta(t)$, and what is left in the end is $\Theta(0)P$, with $P$ the projector on the eigenvectors of $\lambda_{\min}$. If $\lambda_{\min}$ is simple, this has rank one.
#
# *For example*, let $\lambda_1=-3$ and $\lambda_2=-1$. At time 1 the part of an output along $v_1$ has grown by $e^6$ and that along $v_2$ by $e^2$. The ratio, $e^4\approx55$, is the same for all outputs.
#
# For $C=-I$ no dimension is lost at all: collapse is a matter of the gap $\lambda_2-\lambda_1$.

# %% [markdown]
# ```{strip}
# $\Theta(t)=\Theta(0)\,e^{-2Ct}$ | unconstrained_flow.linear_flow: grown, log_norm =
# | unconstrained_flow.linear_flow: return Direction
# ```

# %% tags=["hide-input"]
times = torch.linspace(0, 12, 49)
theta0 = torch.stack(
    [
        torch.randn(outputs, inputs, generator=g)
        for g in streams([seed], starts, "theta")
    ]
)


def linear_ranks(c):
    return effective_rank(linear_flow(theta0, c, times).direction)


# %% tags=["hide-input"]
def kernel_ranks(q, span=40.0):
    """RBF kernel machines on their own points; time in units of the spectral gap."""
    points = stacked(*gaussian_pairs(stream(seed, q, "pairs"), 12, inputs, q=q))
    kernel = torch.exp(-torch.cdist(points, points).square() / (2 * inputs))
    noise = [
        torch.randn(len(points), outputs, generator=g)
        for g in streams([seed], starts, "kernel")
    ]
    root, s = torch.linalg.cholesky(kernel), pairing(12, 1, q)
    low, second = torch.linalg.eigvalsh(root.mT @ s.to(root) @ root)[:2]
    ts = torch.linspace(0, span / (2 * float(second - low)), 49)
    found = kernel_flow(root @ torch.stack(noise), kernel, 12, 1, q, ts)
    return effective_rank(found.direction)


# %% tags=["hide-input"]
ranks = {
    "linear": linear_ranks(indefinite_matrix(stream(seed, 0, "basis"), inputs)[0]),
    "kernel, contrastive": kernel_ranks(1),
    "kernel, not contrastive": kernel_ranks(0),
}
double = linear_ranks(torch.diag(torch.tensor([-3.0, -3.0] + [1.0] * (inputs - 2))))
c, lam, v = indefinite_matrix(stream(seed, 0, "basis"), inputs)
one_gap = torch.tensor([1 / float(lam[1] - lam[0])])  # stopped too early
too_early = effective_rank(linear_flow(theta0, c, one_gap).direction)
last = {k: float(r[-1].max()) for k, r in ranks.items()}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "prop-1-a",
    observed=last,
    control=float(too_early.median()),
    outside=float(double[-1].median()),
)

# %% [markdown]
# :::{admonition} Quick question: what is left of $\Theta(0)e^{-2Ct}$ for $C=-I$, and what for a double $\lambda_{\min}$?
# :class: dropdown
#
# For $C=-I$ everything grows alike, so all directions stay. With a double $\lambda_{\min}$ two stay.
# :::

# %% [markdown]
# ### What stops it, and what does not
#
# *Labels* do. In regression each output runs to its own label.

# %% tags=["hide-input"]
sample = gaussian_pairs(stream(seed, 1, "pairs"), 30, inputs)
c_sample = trace_matrix(*sample) / 30
values = torch.linalg.eigvalsh(c_sample)
gap_sample = float(values[1] - values[0])
moments = torch.linspace(0, 5, 61)  # in units of 1/(λ2 − λ1)
points_r = stacked(*sample)
kernel_r = torch.exp(-torch.cdist(points_r, points_r).square() / (2 * inputs))
root_r = torch.linalg.cholesky(kernel_r)  # its rows are features ψ of the points


def label_ranks(v, k=outputs, when=moments / gap_sample):
    """Effective rank of regression's outputs on k orthogonal labels, over that of these."""
    goals = qr(v)[:, torch.arange(outputs).clamp(max=k - 1)]
    draws = [
        torch.randn(outputs, v.shape[-1], generator=g)
        for g in streams([seed], starts, "theta")
    ]
    path = regression_flow(torch.stack(draws), v / 30**0.5, goals / 30**0.5, when)
    return effective_rank(v @ path.mT) / effective_rank(goals)


def ssl_ranks(when=moments / gap_sample):
    return effective_rank(points_r @ linear_flow(theta0, c_sample, when).direction.mT)


# %% tags=["hide-input"]
at_last = torch.tensor([1e12])
regressed = {
    "linear": label_ranks(points_r, when=at_last),
    "linear, two labels alike": label_ranks(points_r, outputs - 1, at_last),
    "kernel": label_ranks(root_r, when=at_last),
}
spread = {
    f"{k}, {end}": float(r.min() if end == "least" else r.max())
    for k, r in regressed.items()
    for end in ("least", "most")
}
unlabelled = float(ssl_ranks(at_last).max()) / outputs

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("rem-1-a", observed=spread, control=unlabelled)

# %% tags=["hide-input"]
few_0 = 0.1 * theta0[:24]
copies = (part.expand(len(few_0), *part.shape) for part in sample)
spectral_path = spectral_flow(few_0, *copies, moments / gap_sample, tol=1e-5)
fates = {
    "loss (1)": ssl_ranks(),
    "labels": outputs * label_ranks(points_r),
    "spectral loss": effective_rank(points_r @ spectral_path.mT),
}

# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(1, 3, figsize=(7.8, 3), sharey=True, layout="constrained")
fate_styles = ((colours.VERMILION, "-"), (colours.GREEN, "--"), (colours.BLACK, "-."))
for ax, (k, r), (color, line) in zip(axes, fates.items(), fate_styles, strict=True):
    ax.plot(moments.cpu(), r[:, :24].cpu(), "-", color=color, lw=0.5, alpha=0.4)
    ax.plot(moments.cpu(), r.median(1).values.cpu(), line, color=color, lw=2.6)
    ax.set(title=k, xlabel="$t(\\lambda_2-\\lambda_1)$", ylim=(0.9, outputs + 0.1))
axes[0].set_ylabel("effective rank of the outputs")
last_ranks = [float(r[-1].median()) for r in fates.values()]
one_fate = last_ranks[0] < 1.1 and min(last_ranks[1:]) > 1.5
of_each = ", ".join(f"{rank:.2g}" for rank in last_ranks)
fig.suptitle(
    "One equation, one fate; labels and coupling break it"
    if one_fate
    else f"Effective ranks at the end: {of_each}"
)
glue.figure(fig, "cc-plot-rem-1")

# %% [markdown]
# ```{glue:figure} cc-plot-rem-1
# :alt: Effective rank of three outputs over time in units of the spectral gap. Under the contrastive loss it falls to one from every start. With labels it rises to three from every start. Under the spectral contrastive loss it ends well above one.
# :name: cc-plot-rem-1
#
# Proposition 1 of the paper and its Remarks 1 and 2. Look at the right ends: under loss (1) of the paper the effective rank falls to 1, with labels it rises to 3, and under the spectral contrastive loss, whose squares join the outputs, it stays above 1. Thin lines are single starts, thick ones their median. <a href="#clouds:t=3"></a>
# ```

# %% [markdown]
# *A fixed projector* behind the outputs does not help, nor do *nonlinear hidden units*: wide tanh and ReLU networks, trained on either loss, collapse as well. Under *InfoNCE* the outputs collapse only while they are small; once they are of order one, pairs that are told apart lose their weight, and other directions catch up. The [appendix](cc-a-remarks) runs all three.

# %% [markdown]
# ## One budget, or one for each direction
#
# A two-layer linear network is the matrix $m=W_1^\top W_2$, its loss is $\operatorname{Tr}(m^\top Cm)$, and each of its singular values makes the outputs larger in one direction. Bounds on the Frobenius norms of the layers limit the *sum* of the singular values of $m$, while the loss rewards their squares: that is one budget for all directions, and it pays to spend it all on the lowest eigenvalue of $C$. Bounds on their operator norms limit *each* singular value of $m$: that is a budget for each direction, and the optimum uses every negative eigenvalue, as far as the $z$ outputs go.
#
# *For example*, let $C$ have the eigenvalues $-3,-1,1$, and let $z=2$. With $\lVert W_1\rVert_F^2=\lVert W_2\rVert_F^2=2$ the network can put all it has into the first direction: the singular value is $\sqrt2\cdot\sqrt2=2$ and the loss $-3\cdot2^2=-12$. To share it equally gives two singular values of 1 and only $-3-1=-4$. If no singular value may exceed 1, then $-4$ is the best there is, and it needs two directions.
#
# ```{prf:proposition} no. 2 of the paper: a Frobenius norm constraint does not prevent collapse
# :label: cc-prop-2
# :nonumber:
# $\min\mathcal L(W_1,W_2)$ subject to $\lVert W_1\rVert_F\le c_1$, $\lVert W_2\rVert_F\le c_2$ has a global solution $u(x)=[a(x)\,0\dots0]^\top$, for loss (1) or (2).
# ```
#
# ````{prf:proposition} no. 3 of the paper: operator norms and orthogonality
# :label: cc-prop-3
# :nonumber:
# For the linear network, if $C$ has a negative eigenvalue, these problems are equivalent: (1) $\min\mathcal L/(\lVert W_2\rVert_2^2\lVert W_1\rVert_2^2)$; (2) $\min\mathcal L$, $\lVert W_2\rVert_2\le1$, $\lVert W_1\rVert_2\le1$; (3) $\min\mathcal L$,
# $\lVert W_2^\top W_1\rVert_2\le1$; (4) $\min\mathcal L$, $W_2^\top W_2=I_z$, $W_1^\top W_1=I_d$.
#
# ```{claim} prop-3-a
# ```
# ````
#
# *Why Proposition 2 of the paper holds.* Fix $W_1$. Let $C_\phi$ be the matrix {eq}`cc-eq-trace` made of the hidden units $\phi(W_1x)$ in place of the inputs. The loss is then $\operatorname{Tr}(C_\phi W_2W_2^\top)$, linear in $W_2W_2^\top$, a positive semidefinite matrix of trace at most $c_2^2$. A linear function on these is least at a matrix of rank one. So one output is enough, for any $\phi$.
#
# *Why Proposition 3 of the paper holds.* The loss is $\operatorname{Tr}(CP)$ with $P=mm^\top$. If $\lVert m\rVert_2\le1$, then $0\preceq P\preceq I$, and the rank of $P$ is at most $z$. By Ky Fan's theorem the minimum is attained by the projector on the eigenvectors of the $k=\min(z,\#\text{negative eigenvalues of }C)$ lowest eigenvalues. In the fourth problem the columns of $W_1$ and of $W_2$ span subspaces of $\mathbb R^h$ which share at least $d+z-h$ dimensions. On those the singular value of $m$ is 1, wanted or not, so the fourth problem agrees with the others only if $d+z-h\le k$: the network has to be wide enough. The first three need $h\ge k$.
#
# Five solvers, none of which is told an eigenvector, start from many points.

# %% [markdown]
# ```{strip}
# $\lVert W\rVert_F\le c$: scale all of $W$ | norm_constrained_descent._in_ball
# $\lVert W\rVert_2\le1$: clip each singular value | norm_constrained_descent._clip: clipped =
# $\min\mathcal L=c_1^2c_2^2\min(\lambda_1,0)$ under the first | constrained_optima.frobenius_optimum: return
# under the second, the sum of the $k=\min(z,\#\text{negative})$ lowest | constrained_optima.operator_optimum: return
# ```

# %% tags=["hide-input"]
c, lam, v = indefinite_matrix(stream(seed, 0, "basis"), inputs)
c1, c2 = 1.5, 0.8


gaussian = gaussian_layers(streams([seed], starts, "ball"), width, inputs, outputs)


def best(found):
    """The start that ended lowest."""
    at = found.value.argmin()
    return found.value[at], (found.w1[at].mT @ found.w2[at])


# %%
in_balls = descend_frobenius(*gaussian, c, c1, c2)
frobenius, w = best(in_balls)
goal = frobenius_optimum(c, c1, c2)
found = {
    "value": float((frobenius / goal - 1).abs()),
    "rank": float(effective_rank(w)) - 1,
}
in_operator_norms = descend_operator_norms(*gaussian, c)
not_frobenius = {"rank": float(effective_rank(best(in_operator_norms)[1])) - 1}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("prop-2", observed=found, control=not_frobenius)


# %% tags=["hide-input"]
def error_of(found, goal):
    """Distance of the lowest end from an optimum: of its value and of its projector."""
    value, w = best(found)
    off = (w @ w.mT - goal.projector).norm() / goal.projector.norm()
    return {"value": float((value / goal.value - 1).abs()), "projector": float(off)}


def orthogonal(h, steps=600):
    """Problem 4 by projected descent: value and weights."""
    w = draw_weights(
        streams([seed], starts, f"four {h}"),
        streams([seed], starts, f"four {h}, 2"),
        h,
        inputs,
        outputs,
    )
    w = descend(w, c, 0.1, steps).weights
    return Descent(*w, trace_loss(network_outputs(w), c))


# %%
goal = operator_optimum(c, outputs)
k, narrowest = int(goal.rank), inputs + outputs - int(goal.rank)
solved = {
    "(1)": descend_ratio(*gaussian, c),
    "(2)": in_operator_norms,
    "(3)": descend_product_norm(*gaussian, c),
    "(4)": orthogonal(narrowest),
}
error = {
    f"{n}, {x}": e for n, s in solved.items() for x, e in error_of(s, goal).items()
}
in_one_ball = descend_frobenius(*gaussian, c)
ball_only = error_of(in_one_ball, goal)
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

# %% tags=["hide-input"]
dimensions = {n: float(effective_rank(best(s)[1])) for n, s in solved.items()}
one_negative = indefinite_matrix(stream(seed, 0, "basis"), inputs, 1)[0]
single = best(descend_operator_norms(*gaussian, one_negative))[1]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "prop-3-a",
    observed=dimensions,
    control=float(effective_rank(single)),
    regime=k >= 2,
)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(7.2, 3.4))
free = linear_flow(theta0, c, torch.tensor([10.0])).direction[-1]
w_ends = {"no rule": v @ (free[0] @ v).mT}
w_ends |= {"Frobenius norms": best(in_one_ball)[1]}
w_ends |= {f"problem {n}": best(s)[1] for n, s in solved.items()}
w_ends[f"(4) at h = {inputs}"] = best(smallest)[1]
held = torch.stack([(v.mT @ w_n).square().sum(-1) for w_n in w_ends.values()])
held = (held / held.amax(1, keepdim=True)).cpu()
ax.imshow(held, cmap=colours.ORDERED, vmin=0, vmax=1, aspect="auto")
for (i, j), share in np.ndenumerate(held.numpy()):
    ink = "black" if share > 0.6 else "white"
    ax.text(j, i, f"{share:.2f}", ha="center", va="center", color=ink)
ax.set_xticks(range(inputs), [f"{x:.2g}" for x in lam.cpu()])
ax.set_yticks(range(len(w_ends)), w_ends)
survive = [int((row > 0.5).sum()) for row in held]
only_then = survive[:6] == [1, 1, k, k, k, k] and k > 1
number_of = {2: "Two", 3: "Three", 4: "Four"}.get(k, k)
ax.set(xlabel="eigenvalue of C")
ax.set_title(
    f"{number_of} directions survive only with a budget each"
    if only_then
    else f"Directions kept, row by row: {', '.join(map(str, survive))}"
)
glue.figure(fig, "cc-plot-prop-3")

# %% [markdown]
# ```{glue:figure} cc-plot-prop-3
# :alt: Share of each eigenvector of C in the outputs found under seven rules. No rule and Frobenius norms keep only the first. Problems one to four keep the two negative ones, fully. Problem four at the smallest width also keeps the smallest positive one.
# :name: cc-plot-prop-3
#
# Propositions 2 and 3 of the paper. How much of each eigenvector of $C$ the best solution found holds, relative to the most in its row. Look at the second column, the second negative eigenvalue: nothing without a rule and under Frobenius norms, everything under the four problems. The last row, problem (4) at $h=d$, is too narrow a network: it has to take a positive eigenvalue as well. <a href="#clouds:t=8"></a>
# ```

# %% [markdown]
# :::{admonition} Quick question: $W_1$ and $\lVert W_2\rVert_F$ are given; which $W_2$ is best?
# :class: dropdown
#
# The one whose columns all lie along the lowest eigenvector of $W_1CW_1^\top$, if its eigenvalue is negative: the norm limits a sum of squares.
# :::

# %% [markdown]
# ## The equation that does not know the width
#
# How do the outputs move while a network with orthonormal layers is trained? The loss sees the weights only through the outputs at the eigenvectors of $C$. Let row $j$ of $q\in\mathbb R^{d\times z}$ be $u(v_j)$, that is $q=V^\top W_1^\top W_2$. With orthonormal layers the evolution of $q$ depends on $q$ alone: networks of width 10 and 1,000 that start with the same $q$ follow the same trajectory. So do their outputs at a [new point](cc-a-algebra).
#
# To keep the columns orthonormal, the paper projects the gradients: $\dot W=-(I-WW^\top)\,\nabla_W\mathcal L$ in both layers.
#
# ````{prf:theorem} no. 2 of the paper: learning dynamics in the linear setting
# :label: cc-thm-2
# :nonumber:
# ```{claim} thm-2
# ```
# ````
#
# *Why.* Let $m=W_1^\top W_2$. The gradients are $2W_2(Cm)^\top$ and $2W_1Cm$. Project them, and use $W_1^\top W_1=I$ and $W_2^\top W_2=I$:
#
# $$
# \dot W_1^\top W_2=-2\,Cm\,(I-m^\top m),\qquad W_1^\top\dot W_2=-2\,(I-mm^\top)\,Cm .
# $$
#
# The sum is $\dot m$; in the eigenbasis of $C$, where $m$ becomes $q$ and $C$ becomes $\Lambda$, it is equation (9) of the paper. No product is left in which $h$ occurs. The run lets automatic differentiation find the gradients, projects them, and compares.

# %% [markdown]
# ```{strip}
# $\dot q=-2\,\bigl[2\Lambda q-\Lambda qq^\top q-qq^\top\Lambda q\bigr]$ | constrained_flow.output_velocity
# $(I-WW^\top)\,\nabla_W\mathcal L$ | stiefel.grassmann_gradient
# $\dot W=-(I-WW^\top)\,\nabla_W\mathcal L$, both layers | cell: v1, v2 = -project
# $\tfrac d{dt}V^\top W_1^\top W_2$, and $q$ | cell: moved, q =
# $\dot q$ of the equation less that of the network | cell: off = output_velocity(q, lam) - moved
# ```


# %% tags=["hide-input"]
def weights_and_grads(h, z):
    """Haar weights and the gradients of (8) by automatic differentiation."""
    w = draw_weights(
        streams([seed], 8, "first"), streams([seed], 8, "second"), h, inputs, z
    )
    w1, w2 = (layer.requires_grad_() for layer in w)
    loss = trace_loss(w1.mT @ w2, c).sum()
    return w1.detach(), w2.detach(), *torch.autograd.grad(loss, (w1, w2))


def theorem_2_error(h, z, project=grassmann_gradient):
    w1, w2, g1, g2 = weights_and_grads(h, z)
    v1, v2 = -project(w1, g1), -project(w2, g2)
    moved, q = v.mT @ (v1.mT @ w2 + w1.mT @ v2), v.mT @ w1.mT @ w2
    off = output_velocity(q, lam) - moved
    return float(off.norm() / (lam.unsqueeze(-1) * q).norm())  # q may be at rest


c, lam, v = indefinite_matrix(stream(seed, 0, "basis"), inputs)
sizes = {
    f"h={h}, z={z}": (h, z) for h in (inputs, width, 200) for z in {1, outputs, inputs}
}
error = {k: theorem_2_error(*size) for k, size in sizes.items()}
free = theorem_2_error(width, outputs, project=lambda w, g: g)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-2", observed=error, control=free)


# %% tags=["hide-input"]
def same_outputs(q0, h, name):
    """Random weights of width h that start at the outputs V q0."""
    turn = haar(streams([seed], 1, name), h, inputs + outputs)[0]
    rest = torch.linalg.cholesky(torch.eye(outputs) - q0.mT @ q0).mT
    second = torch.cat([v @ q0, rest])  # its columns are orthonormal
    return Weights(turn[None, :, :inputs], (turn @ second)[None])


times_2, q0 = (
    torch.linspace(0, 2, 101),
    0.3 * haar(streams([seed], 1, "share"), inputs, outputs)[0],
)
line = output_flow(q0, lam, times_2)
shares_2 = {
    h: descend(
        same_outputs(q0, h, f"share {h}"), c, 0.001, 2000, project=True, keep_every=200
    )
    for h in (inputs + outputs, 30, 1000)
}

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(7, 3.6))
on_line, off_line = line.square().sum(-1).cpu(), 0.0
for j in range(inputs):
    kept = lam[j] < 0
    style = colours.ORTHONORMAL if kept else colours.ASIDE
    ax.plot(times_2.cpu(), on_line[:, j], **style)
for (h, found), marker, size in zip(shares_2.items(), "os^", (11, 7, 4), strict=True):
    q = (v.mT @ found.outputs[:, 0]).square().sum(-1).cpu()
    at = np.linspace(0, 2, len(q))
    off_line = max(off_line, float((q - on_line[:: 100 // (len(q) - 1)]).abs().max()))
    rings = ax.plot(at, q, marker, ms=size, mfc="none", color="k", ls="none")
    rings[0].set_label(f"weights of width {h}")
ax.set(xlabel="time", ylabel="$(qq^\\top)_{jj}$")
ax.set_title(
    "Three networks, the same lines"
    if off_line < 0.02
    else f"Three networks, up to {off_line:.2g} from the lines"
)
ax.legend()
glue.figure(fig, "cc-plot-width")

# %% [markdown]
# ```{glue:figure} cc-plot-width
# :alt: Shares of six eigenvectors over time. Two rise to one and the others fall to zero along lines from the equation; markers of three networks of width 9, 30 and 1000 lie on the same lines.
# :name: cc-plot-width
#
# Theorem 2 of the paper. How much of each eigenvector the outputs hold, $(qq^\top)_{jj}$: lines from equation (9) of the paper, blue for the negative eigenvalues; markers from networks of three widths that start with the same outputs. Look at the markers: all lie on the lines, in which no width occurs.
# ```

# %% [markdown]
# :::{admonition} Quick question: what must two networks share to have the same outputs at all times?
# :class: dropdown
#
# The data and $q(0)$. The equation contains $\Lambda$ and $q$, but not the width.
# :::

# %% [markdown]
# ## Where it ends
#
# Does this equation end where the optimum is? For one output the paper gives the answer. Let $e_1$ be the first axis of the eigenbasis: $q=e_1$ is an output that looks at $v_1$ only.
#
# ````{prf:theorem} no. 3 of the paper: evolution of (9) for $z=1$
# :label: cc-thm-3
# :nonumber:
# ```{claim} thm-3
# ```
# ```{claim} thm-3-a
# ```
# ````
#
# *Why.* Equation (9) of the paper is then its equation (10), $\dot q/2=-(1-q^\top q)\Lambda q-(I-qq^\top)\Lambda q$. Compare the unconstrained model, $\dot q=-2\Lambda q$. Collect its terms: $\dot q=-a\,\Lambda q+b\,q$ with two numbers $a>0$ and $b$, which depend on $q$. The term $b\,q$ only makes $q$ longer or shorter. The number $a$ only sets how fast $-\Lambda q$ is followed, the *clock*. So $q/\lVert q\rVert$ runs through the same directions as without the constraint. Let $s=\lVert q\rVert^2$, and let $\tau$ be the time of the unconstrained model. It runs by $d\tau=(2-s)\,dt$, and
#
# $$
# q=\Bigl(\frac{1-s}{1-s_0}\Bigr)^{1/4}e^{-2\Lambda\tau}q_0,\qquad\frac s{\sqrt{1-s}}=\sum_j\frac{q_{0j}^2\,e^{-4\lambda_j\tau}}{\sqrt{1-s_0}}\qquad(0<s_0<1).
# $$
#
# Only the time $t$ that belongs to $\tau$ still takes an integral. The paper says of equation (9), for any $z$, that it "doesn't seem to have a simple closed form"; this solution for $z=1$ is ours ([appendix](cc-a-closed)).
#
# Theorem 3 of the paper follows. As $t\le\tau\le2t$, the tangent of the angle between $q$ and $e_1$ is multiplied by at most $e^{-2(\lambda_2-\lambda_1)t}$. The sum goes to infinity if $\lambda_1<0$, so $s\to1$; it goes to 0 if all eigenvalues are positive, and $s$ with it. The sign of $e_1^\top q$ is that of the start, so the limit is $e_1$ or $-e_1$.

# %% [markdown]
# ```{strip}
# $\log\sum_jq_{0j}^2e^{-4\lambda_j\tau}$ | single_output._log_size
# $\log G$, where $G$ is that sum over $\sqrt{1-s_0}$ | single_output.squared_length: log_g =
# $s=2\big/\bigl(1+\sqrt{1+4/G^2}\bigr)$, the root of $s/\sqrt{1-s}=G$ | single_output.squared_length: return 2 /
# $q=\sqrt s\;e^{-2\Lambda\tau}q_0\big/\lVert e^{-2\Lambda\tau}q_0\rVert$ | single_output.outputs_at
# ```


# %% tags=["hide-input"]
positive, negative = (
    signed_eigenvalues(stream(seed, 0, "positive"), many_starts, inputs, 0),
    signed_eigenvalues(stream(seed, 0, "negative"), many_starts, inputs, 2),
)
starts_3 = ball_points(stream(seed, 0, "ball"), many_starts, inputs)
shrunk, turned = output_end(starts_3, positive), output_end(starts_3, negative)


def on_the_sphere(lam, eta=0.05, steps=800, runs=16):
    """Networks with h = d, so ‖q‖ = 1, trained with the gradient projected first."""
    w = draw_weights(
        streams([seed], runs, "sphere 1"),
        streams([seed], runs, "sphere 2"),
        inputs,
        inputs,
        1,
    )
    c = torch.diag_embed(lam[:runs])
    return network_outputs(descend(w, c, eta, steps, project=True).weights)


unit = on_the_sphere(positive)
blind = starts_3.clone()
blind[:, 0] = 0  # q ⟂ e1
second = output_end(blind, negative)

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
    observed=float(axis_distance(turned, 0).max()),
    control=float(axis_distance(shrunk, 0).min()),
    outside=float(axis_distance(second, 0).min()),
)

# %% tags=["hide-input", "remove-output"]
plane = torch.tensor([-0.815, -0.179])
turns = torch.linspace(0.15, 0.95, 5) * math.pi
inner = 0.25 * torch.stack([turns.cos(), turns.sin()], -1)
clock = torch.linspace(0, 4, 200)
free_path = torch.exp(-2 * plane * clock[:, None, None]) * inner
bent = output_flow(inner[..., None], plane, clock)[..., 0]
on_path = outputs_at(inner, plane, clock[::12, None].expand(-1, len(inner)))
fig, (left, right) = plt.subplots(1, 2, figsize=(7.8, 3.2), width_ratios=[1.7, 1])
lasting = []
for k in range(len(inner)):
    left.plot(*free_path[:, k].mT.cpu(), **colours.UNCONSTRAINED, lw=1)
    left.plot(*bent[:, k].mT.cpu(), **colours.ORTHONORMAL, lw=1.6)
    left.plot(*on_path[:, k].mT.cpu(), "k.", ms=6)
left.add_patch(plt.Circle((0, 0), 1, fill=False, color=colours.GREY))
left.plot([-1, 1], [0, 0], "k*", ms=14)
left.set(
    xlim=(-1.5, 1.5),
    ylim=(-0.25, 1.15),
    aspect="equal",
    title="One output: the free directions, to length one",
)
left.set(xlabel="$u(v_1)$", ylabel="$u(v_2)$")
for n, line in ((1, "--"), (outputs, "-")):
    w = draw_weights(
        streams([seed], 1, "picture 1"),
        streams([seed], 1, "picture 2"),
        inputs + outputs,
        inputs,
        outputs,
    )
    held = output_flow(
        network_outputs(w),
        signed_eigenvalues(stream(seed, 0, f"picture {n}"), 1, inputs, n),
        clock,
    )[:, 0]
    at_end = held[-1].square().sum(-1).cpu()
    lasting.append(bool((at_end[:n] > 0.5).all() and (at_end[n:] < 0.5).all()))
    for j in range(inputs):
        style = colours.ORTHONORMAL if j < n else colours.ASIDE
        right.plot(
            clock.cpu(),
            held[:, j].square().sum(-1).cpu(),
            **style | {"linestyle": line},
        )
right.set(
    xlabel="time",
    ylabel="$(qq^\\top)_{jj}$",
    title=f"{outputs} outputs: "
    + ("only λ < 0 lasts" if all(lasting) else "not yet at their end"),
)
fig.tight_layout()
glue.figure(fig, "cc-plot-ends")

# %% [markdown]
# ```{glue:figure} cc-plot-ends
# :alt: Left, paths of one output in the plane of two eigenvectors. Unconstrained paths leave the unit circle, constrained ones bend to plus or minus e1, and dots of the closed form lie on them. Right, shares of eigenvectors for several outputs, of which as many rise to one as there are negative eigenvalues.
# :name: cc-plot-ends
#
# Theorem 3 of the paper, and beyond. Left, one output: from each start the unconstrained path (vermilion) and the path of equation (9) of the paper (blue). Look at each blue path: where the vermilion one leaves the circle, it ends at length 1, in a star $\pm e_1$; the dots on it are the solution above. Right, several outputs, with one negative eigenvalue (dashed) and with several (solid); blue: negative eigenvalues. Count the lines that end at 1: $\min(z,\#\text{negative})$. <a href="#clouds:t=8&nu=2.5"></a>
# ```

# %% [markdown]
# With two negative eigenvalues the third cloud ends as the data, turned: <a class="again" href="#clouds:t=8">the clouds at their end</a>.

# %% [markdown]
# ## Descent and the equation: one curve of directions, two clocks
#
# Figure 3 of the paper compares two ways to take steps. Equation (11) of the paper is gradient descent on the weights, which are then projected back onto the constraints. Equation (12) of the paper takes steps with the equation for the outputs, $q_{t+1}=q_t+\eta\,\dot q_t$. The paper has one output, widths $h\in\{10,100,1000\}$ and $\eta=0.01$, and does not name the data; we take half moons. It says that for a given initialisation the outputs "stay close to each other and converge to the same final outputs".

# %% [markdown]
# ```{strip}
# $G_1=2W_2(Cm)^\top$, $G_2=2W_1Cm$, where $m=W_1^\top W_2$ | orthogonal_descent.gradients
# (11) of the paper: $W\leftarrow\operatorname{polar}(W-\eta G)$ | orthogonal_descent.descent_step: moved.append(
# $\operatorname{polar}(W)=W\,(W^\top W)^{-1/2}$ | stiefel.polar
# (12) of the paper: $q\leftarrow q+\eta\,\dot q$ | constrained_flow.flow_map
# ```

# %% tags=["hide-input"]
span, kept_points = 20.0, 400
runs = {
    h: two_descents(h, rate, starts, seed, span, kept_points)
    for h in chapter.progress(flow_widths, "Figure 3")
}
narrow = flow_widths[0]


def losses(q, lam):
    return (lam.unsqueeze(-1) * q.square()).sum((-2, -1))


def one_term(q, lam, eta):  # (12) without its last term
    y = lam.unsqueeze(-1) * q
    return q - 2 * eta * (2 * y - y @ (q.mT @ q))


# %% tags=["hide-input"]
def one_term_path(h):
    """(12) without its last term, from the same starts and at the same times."""
    lam, _, q11, _ = runs[h]
    every = round(span / rate / kept_points)
    return iterate(one_term, q11[0], lam, rate, every * kept_points, every)


farthest = {
    f"h={h}": (run[3] - run[2]).norm(dim=(-2, -1)).amax(0).tolist()
    for h, run in runs.items()
}
off_by_a_term = {
    f"h={h}": (one_term_path(h) - run[2]).norm(dim=(-2, -1)).amax(0).tolist()
    for h, run in runs.items()
}
glue.number("cc-gap-narrow", np.mean(farthest[f"h={flow_widths[0]}"]))
glue.number("cc-gap-wide", np.mean(farthest[f"h={flow_widths[-1]}"]))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-3-c", observed=farthest, control=off_by_a_term)

# %% [markdown]
# **Close, but not one flow.** Descent by (11) of the paper projects the *weights*, Theorem 2 of the paper the *gradients*. For small steps the former follows
#
# $$
# \dot q=-4\Lambda q+\Lambda qq^\top q+3\,qq^\top\Lambda q ,
# $$ (cc-eq-polar)
#
# which is not equation (9) of the paper. *Why?* The two ways disagree on a turn of $W_1$ *within* its column space, which $I-WW^\top$ discards. That loses nothing if the loss depends on the column space alone, but it does not. Take $h=d=2$, $C=\operatorname{diag}(-1,1)$, $W_1=I$ and for $W_2$ the first axis: the loss is $-1$. Turn $W_1$ by a right angle. Its column space is still the whole plane, but the loss is now $+1$.
#
# For one output both flows run through the same directions, by different clocks, $d\tau=\frac{4-s}2\,dt$ here and $d\tau=(2-s)\,dt$ there. A wide network turns to $e_1$ while $s$ is tiny and the clocks still agree, so there the flows merge: their largest distance falls like
#
# $$
# h^{-\min(\gamma,1)},\qquad\gamma=\frac{\lambda_2-\lambda_1}{2\lvert\lambda_1\rvert} .
# $$ (cc-eq-gamma)
#
# The spectrum of the data sets the exponent, not the architecture ([hypotheses and proof](cc-a-two-flows)). On half moons $\gamma=$ {glue:text}`cc-moon-gamma:.2f`, so in a network 100 times as wide the flows are only {glue:text}`cc-moon-closer:.1f` times as close.

# %% [markdown]
# ```{strip}
# $\dot q=-4\Lambda q+\Lambda qq^\top q+3\,qq^\top\Lambda q$ | constrained_flow.polar_velocity
# $q_0=N\,(N^\top N+LL^\top)^{-1/2}$ at width $h$: $N$ is $d\times z$ normal, $LL^\top$ Wishart with $h-d$ degrees of freedom | wide_starts.wide_starts: starts.append(
# log of the largest distance of the two flows over time | cell: apart = torch.sub(
# $\gamma=(\lambda_2-\lambda_1)\,/\,2\lvert\lambda_1\rvert$ | single_output.exponent: return
# ```

# %% tags=["hide-input"]
moon_values = half_moon_spectrum(1).values.tolist()  # of the mean C
merging = {
    "half moons": moon_values,
    "λ = −3, −2": [-3.0, -2.0],
    "λ = −3, −1": [-3.0, -1.0],
    "λ = −3, ½": [-3.0, 0.5],
    "λ = −1, 2": [-1.0, 2.0],  # γ > 1
}
far_widths = [10, 100, 1000, 10_000, 100_000, 1_000_000]


def half_speed(q, lam):  # (10) of the paper, read as q̊
    return output_velocity(q, lam) / 2


def log_distances(values, runs=16):
    """Log of the largest distance over time from the polar flow, mean over the starts,
    [seed, width]: of (9) of the paper, and of the same at half its speed."""
    lam, low = torch.tensor(values), abs(values[0])
    generators = streams(block, runs, "merging")
    q0 = wide_starts(generators, far_widths, len(lam)).flatten(0, 1)
    end = (math.log(far_widths[-1]) + 16) / (8 * low)
    times = torch.arange(0, end, 0.01 / low)
    polar, *others = (
        output_flow(q0, lam, times, v, rtol=1e-11, atol=1e-14)  # the gap is 1e-6
        for v in (polar_velocity, output_velocity, half_speed)
    )
    found = []
    for path in others:
        apart = torch.sub(path, polar).norm(dim=(-2, -1)).amax(0).log()
        apart = apart.reshape(len(far_widths), len(block), runs).mean(-1)
        found.append(apart.mT.cpu().numpy())
    return found


def power_of(values):
    return min(exponent(torch.tensor(values)), 1.0)


def over_gamma(table, values, skip):
    """Fitted exponents over −min(γ, 1), one per seed, from width number `skip` on."""
    slopes = fitted_power(torch.tensor(table[:, skip:].T).exp(), far_widths[skip:])
    return (slopes / -power_of(values)).tolist()


# %% tags=["hide-input"]
both_speeds = {name: log_distances(v) for name, v in merging.items()}
tables = {name: own for name, (own, _) in both_speeds.items()}
fitted = {
    f"{name}, h from {far_widths[skip]}": over_gamma(tables[name], v, skip)
    for name, v in merging.items()
    for skip in (2, 3)
}
slow = {k: over_gamma(half, merging[k], 2) for k, (_, half) in both_speeds.items()}

moon_gamma = exponent(torch.tensor(moon_values))
glue.number("cc-moon-gamma", moon_gamma)
glue.number("cc-moon-closer", 100**moon_gamma)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-3-e", observed=fitted, control=slow)


# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(1, 3, figsize=(7.8, 3.3))
time3 = np.linspace(0, span, kept_points + 1)
for (h, (lam3, _, q11, q12)), shade in zip(
    runs.items(), colours.ordered(len(runs)), strict=True
):
    axes[0].plot(
        time3, losses(q11, lam3).mean(1).cpu(), "-", color=shade, label=f"h = {h}"
    )
    axes[0].plot(time3, losses(q12, lam3).mean(1).cpu(), "--", color=shade)
for k in range(6):
    for q_k, line in ((runs[narrow][2], "-"), (runs[narrow][3], "--")):
        axes[1].plot(
            *q_k[:, k, :, 0].mT.cpu(), line, color=colours.ordered(2)[0], lw=1.2
        )
axes[1].plot([-1, 1], [0, 0], "k*", ms=14)
raised = {"λ = −3, −1": 4, "half moons": -4}  # points, so that two names do not touch
for (name, values), marker in zip(merging.items(), "os^Dv", strict=True):
    found, power = np.exp(tables[name].mean(0)), power_of(values)
    guide = found[-1] * (np.array(far_widths) / far_widths[-1]) ** -power
    axes[2].loglog(far_widths, guide, **colours.THEORY)
    axes[2].loglog(far_widths, found, marker, mfc="w", color="k")
    beside = {"xytext": (6, raised.get(name, 0)), "textcoords": "offset points"}
    axes[2].annotate(name, (far_widths[-1], found[-1]), va="center", **beside)
ends_3 = [
    [losses(q, lam3)[-1].mean() for q in (a, b)] for lam3, _, a, b in runs.values()
]
off_3 = max(abs(float(a - b)) for a, b in ends_3)
same = "Same final loss" if off_3 < 0.01 else f"Final losses {off_3:.2g} apart"
far_3 = np.mean(farthest[f"h={narrow}"])
close = f"Close, h = {narrow}" if far_3 < 0.1 else f"{far_3:.2g} apart, h = {narrow}"
falls_3 = [bool((np.diff(tables[name].mean(0)) < 0).all()) for name in merging]
wider_3 = "The wider, the closer" if all(falls_3) else "Distance by width"
axes[0].set(xlabel="time ηt", ylabel="loss", xlim=(0, 6), title=same)
axes[1].set(xlabel="$u(v_1)$", ylabel="$u(v_2)$", title=close)
axes[2].set(xlabel="width h", ylabel="largest distance", title=wider_3)
axes[0].legend()
fig.tight_layout()
glue.figure(fig, "cc-plot-fig-3")

# %% [markdown]
# ```{glue:figure} cc-plot-fig-3
# :alt: Left, the loss falls to the same value by gradient descent and by the differential equation at three widths. Middle, paths of the outputs by either stay close and end at plus or minus e1. Right, the largest distance of the two flows falls with the width along straight lines whose slopes depend on the spectrum.
# :name: cc-plot-fig-3
#
# Figure 3 of the paper. Left, loss of (11) of the paper, solid, and of (12), dashed. Middle, outputs of six starts at the smallest width; stars are $\pm e_1$. Both are as caption and text say ([appendix](cc-a-figure-3)). Right, ours: largest distance of the two flows for five spectra. Look how the points follow the dotted lines, of slope $-\min(\gamma,1)$. <a href="#clouds:t=1.5&nu=2.5&size=-0.1"></a>
# ```
#
# <a class="again" href="#clouds:t=1.5&nu=2.5&size=-0.1">The clouds again</a>: tick "project the weights, not the gradients", and the third moves little.

# %% [markdown]
# ## Wide networks are almost linear: relative to what?
#
# What does the theory say of $u^\phi(x)=W_2^\top\phi(W_1x)$ with an activation $\phi$? A row of a random $W_1$ with orthonormal columns has length about $\sqrt{d/h}$. In a wide network every hidden unit therefore works near 0, where an activation with $\phi(0)=0$ and $\phi'(0)=1$ is close to the identity. The *linear twin* $u^{\mathbb I}$ is the network with the same weights at the start and no activation.
#
# ```{prf:theorem} no. 1 of the paper: linear and non-linear network at initialisation
# :label: cc-thm-1
# :nonumber:
# Let $\phi(0)=0$, $\phi'(0)=1$, $\lvert\phi''\rvert\le c$. For uniformly random $W_1,W_2$ with orthonormal columns, $\lVert u^\phi-u^{\mathbb I}\rVert\le Kc\lVert x\rVert^2d\sqrt{\log^4h/h}$ with a universal constant $K$.
# ```
#
# *Why.* By Taylor $\lvert\phi(s)-s\rvert\le\frac c2s^2$ at each of $h$ units. {prf:ref}`Lemma 2 of the paper <cc-lem-2>` bounds the entries of $W_1$, with a constant $L$ of its own, so by Cauchy–Schwarz every $w_i^\top x$ is at most $\sqrt d\,\lVert x\rVert L\log h/\sqrt h$. The norm of the $h$ errors is at most $\sqrt h$ times the largest of them, and $\lVert W_2\rVert=1$ adds nothing.
#
# The theorem holds if *one* constant $K$ serves all widths. We also test the worst $W_2$, aligned with the errors.

# %% [markdown]
# ```{strip}
# $\phi(W_1x)-W_1x$ | cell: off = WIDE[name].h(before) - before
# $\lVert W_2^\top(\cdot)\rVert$; for the worst $W_2$, $\lVert\cdot\rVert$ | cell: off = off.norm(dim=-1) if aligned
# $d\,\lVert x\rVert^2\sqrt{\log^4h/h}$ | cell: bound = inputs * points_1
# the $K$ that this asks for, $c=\sup\lvert\phi''\rvert$ | cell: needed[name, aligned] =
# ```

# %% tags=["hide-input"]
points_1 = torch.nn.functional.normalize(
    torch.randn(8, inputs, generator=stream(seed, 0, "theorem 1")), dim=-1
)


at_start = ("tanh", "soft", "relu", "half", "sigmoid")


@cache
def needed_constants(s, h, runs=4):
    """The largest K that a point asks for, by activation and by whether W2 is aligned,
    so that it sums all errors up."""
    g = streams([s], runs, f"{h} first"), streams([s], runs, f"{h} second")
    w1, w2 = draw_weights(*g, h, inputs, outputs)
    before, needed = points_1 @ w1.mT, {}
    bound = inputs * points_1.square().sum(-1) * math.log(h) ** 2 / h**0.5
    for name, aligned in product(at_start, (False, True)):
        off = WIDE[name].h(before) - before
        off = off.norm(dim=-1) if aligned else (off @ w2).norm(dim=-1)
        curvature = CURVATURE.get(name) or 1.0
        needed[name, aligned] = float((off / bound / curvature).max())
    return needed


def constant_slopes(*case):
    at = [[needed_constants(s, h)[case] for h in init_widths] for s in block]
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

# %% tags=["hide-input"]
low_moon = float(half_moon_spectrum(1).values[0])
star = math.log((1000 / 2) ** 0.5) / (4 * abs(low_moon))  # t* at h = 1000, d = 2
glue.number("cc-moon-low", low_moon)
glue.number("cc-star-mean", star)
glue.number("cc-star-epochs", star / rate)
glue.number("cc-star-pairs", moons)
glue.number("cc-star-sum", star / rate / moons)

# %% tags=["hide-input"]
every = product(("tanh", "soft"), ways.values(), block, init_widths)
glue.number("cc-k", max(needed_constants(s, h)[n, way] for n, way, s, h in every))

# %% [markdown]
# The largest $K$ that any seed, width, point or $W_2$ asked for is {glue:text}`cc-k:.3f`.

# %% [markdown]
# But with a random $W_2$ the outputs themselves are of size $h^{-1/2}$ at the start, so for any $\phi$ with $\phi(0)=0$ the network and its twin are close, because both are small. "Almost linear" says more *relative* to $u^{\mathbb I}$, and in units of the time
#
# $$
# t^*=\frac{\log\sqrt{h/d}}{4\lvert\lambda_1\rvert},
# $$
#
# when outputs that grow like $e^{4\lvert\lambda_1\rvert t}$ have come from size $\sqrt{d/h}$ to size 1. *For example*, on half moons with $h=1000$, $t^*$ is {glue:text}`cc-star-epochs:.0f` epochs of the figure below if the loss is the mean of the pairs, and {glue:text}`cc-star-sum:.1f` if it is the sum of {glue:text}`cc-star-pairs:.0f` pairs.
#
# ````{prf:conjecture} no. 1 of the paper: evolution of non-linear networks
# :label: cc-conj-1
# :nonumber:
# ```{claim} conj-1
# ```
# ````
#
# The conjecture fixes a time, lets the width grow and asks for the difference, not the ratio. As printed it can be proved ([appendix](cc-a-conjecture)): both networks start at size $h^{-1/2}$ and grow at most exponentially, so at a fixed time both vanish. The proof never uses $\phi'(0)=1$.
#
# **Figure 2 of the paper** trains sigmoid, ReLU and tanh for 500 epochs, with widths from 10 to 2000. It names neither the data nor the number of outputs; we take half moons, two outputs and a sum over the pairs, and add "soft", the centred softplus, with $\phi''(0)=\tfrac12$.

# %% [markdown]
# ```{strip}
# $u^\phi(x)=W_2^\top\phi(W_1x)$ | wide_training.network
# an epoch, $W\leftarrow\operatorname{polar}(W-\eta G)$ in both layers | wide_training._steps: weights = Weights(
# the linear twin, $u^{\mathbb I}(x)=q^\top V^\top x$ | wide_training.linear_gap: linear = anchors
# its epoch, exact at any width | wide_training.linear_gap: q = polar_map(
# $u^\phi-u^{\mathbb I}$ | wide_training.linear_gap: off =
# ```

# %% tags=["hide-input"]
early = epochs // 10
keep = {
    early,
    *(epochs // k for k in (100, 50, 25)),
    *range(0, epochs + 1, epochs // 10),
}
keep = sorted({0, epochs} | keep)


def trained_gap(name, h):
    """Gap over the epochs of all networks of one width, [epoch, network], and ‖u^I‖."""
    given = name, h, moons, networks, seed, rate, keep, False
    label = f"Figure 2 {name} {h} sum"
    found = chapter.library_piece(label, half_moon_gap, *given, device=chapter.device)
    return found["difference"], found["linear"]


# %% tags=["hide-input"]
def early_gap(name, h):
    """The same with the mean of the pairs, in the first tenth of the epochs."""
    given = name, h, moons, networks, seed, rate, [k for k in keep if k <= early], True
    label = f"Figure 2 {name} {h} early"
    found = chapter.library_piece(label, half_moon_gap, *given, device=chapter.device)
    return found["difference"], found["linear"]


# %% tags=["hide-input"]
trained = ["tanh", "soft", "relu", "sigmoid"]
early_gaps = {(n, h): early_gap(n, h) for n in trained for h in widths}
gaps_2 = {(n, h): trained_gap(n, h) for n in trained for h in widths}


# %% tags=["hide-input"]
def width_slopes(name, epoch=-1):
    """Slope of the gap in the width, one per network; epoch 0 or the last, -1."""
    gaps = [gaps_2[name, h][0][epoch] for h in widths]
    return fitted_power(torch.stack(gaps), widths).tolist()


def early_slopes(name, epoch=-1):
    gaps = [early_gaps[name, h][0][epoch] for h in widths]
    return fitted_power(torch.stack(gaps), widths).tolist()


in_full = epochs >= judged_at and max(widths) >= 1000

# %% [markdown]
# *tanh.* "With increasing layer size the difference between linear and non-linear goes to zero."

# %% tags=["hide-input", "nbval-check-output"]
when_2 = {"epoch 0": 0, f"epoch {epochs}": -1}
chapter.judge(
    "fig-2-a",
    observed={k: width_slopes("tanh", e) for k, e in when_2.items()},
    control=width_slopes("sigmoid"),
    regime=in_full,
)

# %% [markdown]
# *ReLU.* "While ReLU only fulfills $\phi(0)=0$ the overall picture still is consistent with tanh but with slower convergence." The difference does fall as long as $t^*$ has not passed, and long after it no longer. Since $\max(y,0)-\max(-y,0)=y$, the odd part of ReLU is half the identity. The twin is odd, and once its singular values are 1, which for $d=z=2$ happens long after $t^*$, its output has length $\lVert x\rVert$. So then the two differ by at least $\frac12\lVert x\rVert$ on $x$ or on $-x$, at any width.

# %% tags=["hide-input"]
start_and_early = {"epoch 0": 0, f"mean of the pairs, epoch {early}": -1}
relu_early = {k: early_slopes("relu", e) for k, e in start_and_early.items()}
glue.number("cc-early", early)
glue.number("cc-soft-late", np.mean(width_slopes("soft")))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-2-b",
    observed=relu_early,
    control=width_slopes("sigmoid"),
    outside=width_slopes("relu"),
    regime=in_full,
)

# %% [markdown]
# *Sigmoid.* "With increased layer width the difference between linear and non-linear increases." Here $\phi(0)\ne0$, so the hidden units of every input share the direction $\phi(0)\mathbf 1$, and $W_2$ finds it.

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-2-c",
    observed=width_slopes("sigmoid"),
    control=width_slopes("sigmoid", 0),
    outside=early_slopes("sigmoid"),
    regime=in_full,
)

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
mean, moment = half_moon_moments(50)
pair_lam = min(torch.linalg.eigvalsh(torch.outer(mean, mean) - moment)).item()


def own_time(h, at, scale):
    """Epochs in units of t*; `scale` is 1 for the mean of the pairs, their number for the sum."""
    return np.array(at) * rate * scale * 4 * abs(pair_lam) / math.log((h / 2) ** 0.5)


def draw_epochs(ax, name, h, color):
    at, gap = np.maximum(keep, 1), gaps_2[name, h][0].mean(1)
    ax.loglog(at, gap, color=color, label=f"h={h}")


def draw_ratio(ax, name, h, color):
    gap, linear = early_gaps[name, h]
    at, found = own_time(h, keep[: len(gap)], 1), (gap / linear).mean(1)
    ax.loglog(at[1:], found[1:], color=color)
    gap, linear = gaps_2[name, h]
    at, found = own_time(h, keep, moons), (gap / linear).mean(1)
    ax.loglog(at[1:], found[1:], color=color)


def draw_widths(ax, name):
    marks = (("epoch 0", "o", "--"), (f"epoch {epochs}", "s", "-"))
    for (label, marker, line), e in zip(marks, (0, -1), strict=True):
        y = torch.stack([gaps_2[name, h][0][e] for h in widths])
        mid, least, most = y.median(1).values, y.amin(1), y.amax(1)
        span_2 = torch.stack([mid - least, most - mid])
        ax.errorbar(
            widths,
            mid,
            span_2,
            fmt=f"k{marker}{line}",
            mfc="none",
            capsize=3,
            label=label,
        )
    ax.set(xscale="log", yscale="log", xlabel="width h")


# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(
    1, len(trained), figsize=(7.8, 3.1), sharey=True, layout="constrained"
)
for ratio, name in zip(axes, trained, strict=True):
    ratio.set_prop_cycle(linestyle=["-"])  # a width is drawn in two pieces
    for h, color in zip(widths, colours.ordered(len(widths)), strict=True):
        draw_ratio(ratio, name, h, color)
        ratio.plot([], [], color=color, label=f"h={h}")
    ratio.axvline(1, **colours.THEORY)
    ratio.set(title=name, xlabel="time over $t^*$")
axes[0].set_ylabel("$\\|u^\\phi-u^I\\|$ over $\\|u^I\\|$")
last_ratio = {
    name: float((gaps_2[name, widths[-1]][0] / gaps_2[name, widths[-1]][1])[-1].mean())
    for name in ("tanh", "relu")
}
said = f"tanh {last_ratio['tanh']:.2g}, ReLU {last_ratio['relu']:.2g}"
title = f"Relative difference at the end, $h={widths[-1]}$: {said}"
fig.suptitle(title, x=0.01, ha="left")
handles, _ = axes[0].get_legend_handles_labels()
fig.legend(handles=handles, loc="outside lower center", ncols=4, columnspacing=1.5)
glue.figure(fig, "cc-plot-ratio")

# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(
    2, len(trained), figsize=(7.8, 5.4), sharey="row", layout="constrained"
)
for (top, low), name in zip(axes.T, trained, strict=True):
    for h, color in zip(widths, colours.ordered(len(widths)), strict=True):
        draw_epochs(top, name, h, color)
    draw_widths(low, name)
    top.set(title=name, xlabel="epoch")
for ax in axes[:, 0]:
    ax.set_ylabel("$\\|u^\\phi-u^I\\|$")
fell = {
    name: float(
        gaps_2[name, widths[0]][0][-1].mean() / gaps_2[name, widths[-1]][0][-1].mean()
    )
    for name in ("tanh", "relu")
}
wider = f"{widths[-1] / widths[0]:.0f} times the width"
said = f"divides the difference by {fell['tanh']:.2g} for tanh, {fell['relu']:.2g} for ReLU"
fig.suptitle(f"{wider} {said}", x=0.01, ha="left")
handles, _ = axes[0, 0].get_legend_handles_labels()
fig.legend(handles=handles, loc="outside lower center", ncols=4, columnspacing=1.5)
glue.figure(fig, "cc-plot-fig-2")

# %% [markdown]
# ```{glue:figure} cc-plot-ratio
# :alt: Four panels for tanh, soft, ReLU and sigmoid, ten networks a point. Relative to the linear outputs and in units of t star, tanh falls with the width at all times, ReLU is of order one at all times.
# :name: cc-plot-ratio
#
# Ours: the difference over the size of the outputs, against time in units of $t^*$ (shorter lines: the mean of the pairs). Look whether the lines of wider networks lie lower: at every time for tanh, for tens of $t^*$ with "soft", at none for ReLU.
# ```

# %% [markdown]
# ````{record-figure} cc-plot-fig-2
# :alt: Two rows of panels for tanh, soft, ReLU and sigmoid, with a hundred networks a point. Over the epochs the difference grows and levels off, lower for wider networks with tanh. Against the width tanh falls before and after training, soft falls at the start, ReLU hardly falls after training, the sigmoid grows.
# :name: cc-plot-fig-2
#
# Figure 2 of the paper with a hundred networks a point: the difference over training (epoch 0 is drawn at 1), and against the width (circles: start, squares: end). Look at the squares of tanh and of ReLU, which the title compares.
#
# ```{glue:figure} cc-plot-fig-2
# :alt: The same two rows of panels with ten networks a point. Tanh falls with the width at the start and after training, soft falls at the start, ReLU hardly falls after training, the sigmoid grows.
# :name: cc-plot-fig-2-default
#
# The default run, ten networks a point.
# ```
# ````

# %% [markdown]
# :::{admonition} Quick question: what is the odd part of ReLU, and can the difference of a ReLU network from its linear twin vanish?
# :class: dropdown
#
# Half of the identity. So *relative* to the linear output the difference cannot vanish, at any width; the difference itself does at any fixed time, as $t^*$ grows with $h$.
# :::

# %% [markdown]
# ## What it costs, and what it keeps
#
# "An update step using (12) is significantly faster then [sic] a SGD step using (11)", and does not depend on $h$. The verdicts on this rest on [stored run times](cc-a-cost).
#
# The paper also finds that "overall the performance of the downstream task for both the SGD optimization and the differential equation coincide". We train a linear support vector machine on the outputs of either, for two classes of MNIST (in the default run, of scikit-learn's digits). "Coincide" means within one percentage point, a margin fixed beforehand.


# %% tags=["hide-input"]
def matrix_and_start(s, pair):
    """One problem, the C of its pairs, and a start of the outputs."""
    problem, points = image_problem(images, labels, pair, per_class, s)
    x, *views = points.chunk(3)
    c = trace_matrix(x, *(v.unsqueeze(-2) for v in views)) / len(x)
    d = x.shape[-1]
    w2 = haar([stream(s, 0, f"start {pair}")], 2 * d, 2)[0]
    return problem, c, w2[:d]  # W1 may be taken as the first d unit vectors


# %% tags=["hide-input"]
def image_accuracies(s):
    """[pair, (11) | (12) | before training] for one split."""
    given = (matrix_and_start(s, pair) for pair in image_pairs)
    problems, c, m = zip(*given, strict=True)
    lam, v = torch.linalg.eigh(torch.stack(c))
    q0 = v.mT @ torch.stack(m)
    maps = polar_map, flow_map
    last = [iterate(f, q0, lam, rate, image_steps, image_steps)[-1] for f in maps]
    return [
        [svm_accuracy(lambda x, m=v[i] @ q[i]: x @ m, problems[i]) for q in (*last, q0)]
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
fig, ax = plt.subplots(figsize=(6.4, 3.6))
at = np.arange(len(image_pairs))
arms_4 = (
    ("descent (11)", colours.ORTHONORMAL["color"], "o"),
    ("equation (12)", colours.BLACK, "s"),
    ("before training", colours.GREY, "x"),
)
for k, (label, color, marker) in enumerate(arms_4):
    y, look = scores[..., k], {"color": color, "fmt": marker, "mfc": "none"}
    where = at + 0.15 * (k - 1)
    ax.errorbar(where, y.mean(0), y.std(0), capsize=3, label=label, **look)
ax.set_xticks(at, [f"{a} | {b}" for a, b in image_pairs])
ax.set(xlabel="pair of classes", ylabel="held-out accuracy", ylim=(0.4, 1.02))
apart_4 = np.abs(coincide.mean(0)).max()
ax.set_title(
    "Descent and the equation give the same answer"
    if apart_4 <= 0.01
    else f"Descent and the equation: up to {apart_4:.1%} apart"
)
ax.legend(loc="lower left")
glue.figure(fig, "cc-plot-fig-4b")

# %% [markdown]
# ````{record-figure} cc-plot-fig-4b
# :alt: Held-out accuracy on MNIST. Gradient descent and the differential equation agree for every pair of digits; for 4 and 9 they are hardly better than the outputs before training.
# :name: cc-plot-fig-4b
#
# Figure 4 of the paper, right, on MNIST, 200 images of a class. Look at 4 and 9: (11) and (12) of the paper agree, but are hardly better than the outputs before training. A likely reason: the constraint keeps the two directions of most variance, whether or not these tell a 4 from a 9.
#
# ```{glue:figure} cc-plot-fig-4b
# :alt: Held-out accuracy of a linear classifier for five pairs of digits. Gradient descent and the differential equation agree within a point for every pair; the outputs before training are far lower.
# :name: cc-plot-fig-4b-default
#
# The default run, on scikit-learn's digits: mean and deviation over the splits. Look at circles and squares, which agree.
# ```
# ````
#
# Whether the equation also keeps up with *nonlinear* networks, as the paper's list of contributions says, is tested in the [appendix](cc-a-networks).

# %% [markdown]
# In the plane of the moons: where $\lambda_2$ is positive, <a class="again" href="#clouds:t=8&nu=2.5">one direction is left</a>, and dots and rings overlap on the line.

# %% [markdown]
# ## Summary
#
# Under the simplest losses the outputs of a linear or kernel model end as multiples of one function. A bound on the Frobenius norm does not change that, since it is one budget for all directions. Orthonormal layers do: in a wide enough network as many directions survive as $C$ has negative eigenvalues, up to $z$. Their outputs obey an equation that does not contain the width. Wide networks with $\phi(0)=0$ and $\phi'(0)=1$ are close to their linear twins at the start and at any fixed time.
#
# **What surprised us.** For one output, orthonormal layers change only the clock and the length of the unconstrained path, not its directions. To project the gradients or the weights gives two flows, which merge with the width. And the paper's conjecture can be proved as printed.
#
# **What is open.**
#
# - *More than one output.* The limit for any $z$ is proved in the [appendix](cc-a-any-z); a solution like that for one output is not known.
# - *Almost linear, relative to what?* The ratio, and times of order $\log h$, are open.
# - *Which projection to take.* Projecting the weights lowers the loss faster at first; over a whole run it need not.
#
# **Where to go next.** [Alignment and balance](alignment-and-balance.ipynb) has a loss under which negatives level signals of unequal strength, where here it takes a constraint. In [Nonlinearity](nonlinearity.ipynb) ReLU escapes to other optima without any constraint. [Feature decoupling](feature-decoupling.ipynb) changes the augmentation instead. [One testbed](one-testbed.ipynb) tries collapse and constraint in the other papers' worlds.

# %% [markdown]
# (cc-symbols)=
# ## Symbols
#
# | symbol | meaning | where first |
# |---|---|---|
# | $u(x)$, $z$ | output of the model, and the number of its components | One matrix |
# | $x_i$, $x_{ij}^+$, $x_{ij}^-$, $n$ | anchors, their positives and negatives; number of anchors | One matrix |
# | $p$, $q$ as numbers; $\nu$ | positives and negatives for each anchor; negatives per positive | One matrix; Three rules |
# | $W_1$, $W_2$, $d$, $h$ | the two layers; input dimension and width | One matrix |
# | $m$ | $W_1^\top W_2$, the linear network as one matrix | One matrix |
# | $C$, $\lambda_1\le\dots\le\lambda_d$ | matrix of the data {eq}`cc-eq-trace`, its eigenvalues; $\lambda_{\min}=\lambda_1$ | One matrix |
# | $V$, $v_j$, $\Lambda$ | eigenvectors of $C$, and the diagonal matrix of the eigenvalues | One matrix |
# | effective rank | $e^H$, $H$ the entropy of $\sigma_i^2/\sum_k\sigma_k^2$, $\sigma_i$ the singular values of the outputs | Three rules |
# | $\Theta$ | weights of a model with one layer, $u=\Theta x$ or $\Theta\psi(x)$ | Nothing tells |
# | $k(x,x')$, $k_{ab}(x,x')$ | kernel; tangent kernel between outputs $a$ and $b$ | Nothing tells |
# | $k$ without arguments | $\min(z,\#\text{negative eigenvalues of }C)$ | One budget |
# | $q$ as a matrix, $e_1$ | $V^\top W_1^\top W_2$, outputs at the eigenvectors; first axis of the eigenbasis | The equation |
# | $s$, $\tau$ | $\lVert q\rVert^2$ for one output; the clock of the unconstrained path | Where it ends |
# | $\eta$ | learning rate | Descent |
# | $\gamma$ | $(\lambda_2-\lambda_1)/2\lvert\lambda_1\rvert$, exponent of the distance in $h$ | Descent |
# | $\phi$, $u^\phi$, $u^{\mathbb I}$ | activation; the network with it, and its linear twin | Wide networks |
# | $t^*$ | about the time at which the outputs reach size 1 | Wide networks |
# | $U$, $S$ | outputs at all points, one row for each; the matrix of pairs in $\mathcal L=\operatorname{Tr}(U^\top SU)$ | appendix |
# | $A$, $r$ | a fixed projector, and the number of its rows | appendix |
# | $t_h$, $t_\infty$ | times at which outputs reach the size $\sqrt h$, and at which they blow up | appendix |

# %% [markdown]
# ## Exercises
#
# A pencil first, then a few lines of code. Each names its level, time and points. Shorter ones, which [grade themselves](../book/exercises.md), are notebooks of their own. The first is worked below. The solutions of the others are not on this page: `make solutions` writes them for teachers, from `chapters/collapse-and-constraints/solutions.py`.

# %% [markdown]
# ::::{admonition} Worked exercise: three directions, two outputs
# :class: worked
#
# *Ten minutes, without points.* Let $C$ have the eigenvalues $-3$, $-1$ and $2$, and let both outputs of a linear model start with equal parts along the three eigenvectors.
#
# 1. Without a constraint, $\Theta(t)=\Theta(0)e^{-2Ct}$. When is the second part one hundredth of the first, and how much has the first grown by then?
# 2. What is the least loss $\operatorname{Tr}(\Theta C\Theta^\top)$ with $\Theta=W_2^\top W_1$ in a wide network if both layers have orthonormal columns? What is it if only $\lVert W_1\rVert_F^2\le2$ and $\lVert W_2\rVert_F^2\le2$ is asked?
#
# :::{admonition} Solution
# :class: dropdown
#
# 1. The parts grow as $e^{6t}$ and $e^{2t}$, and the third shrinks as $e^{-4t}$. The second is a share $e^{-4t}$ of the first, which is $\frac1{100}$ at $t=\frac14\log100=1.15$. By then the first has grown by $e^{6t}=100^{3/2}=1000$: the outputs have collapsed and exploded together.
# 2. Each output has a budget of its own: one takes $-3$, the other $-1$, and the loss is $-4$, with both directions kept. With one budget, $\lVert\Theta\rVert_*\le\lVert W_1\rVert_F\lVert W_2\rVert_F=2$, so $\operatorname{Tr}(\Theta C\Theta^\top)\ge-3\lVert\Theta\rVert_F^2\ge-3\lVert\Theta\rVert_*^2=-12$. It is reached if all is spent on the first direction. The lower loss is the collapsed one.
# :::
# ::::

# %% [markdown]
# ````{exercise} The length of the output
# :label: cc-ex-norm
#
# *Core, 45 minutes, 12 points. Needs: equation (9) of the paper. After it you can say how long a network of a given width waits.*
#
# Take one output, $z=1$, so that $q$ is a vector.
#
# 1. Derive equation (10) of the paper, $\dot q=2\bigl[-(1-q^\top q)\Lambda q-(I-qq^\top)\Lambda q\bigr]$, from its equation (9), and from it
#    $\frac{d}{dt}\lVert q\rVert^2=-8(1-\lVert q\rVert^2)\,q^\top\Lambda q$.
# 2. Let $\Lambda=\lambda I$. Solve for $s=\lVert q\rVert^2$ and for $q$. A wide network starts at a small $s_0$: how long does it wait, for $\lambda<0$, until $s=\tfrac12$?
# 3. For any $\Lambda$, enclose $s(t)$ between two of these solutions. How fast do the outputs vanish at least if $\Lambda\succ0$?
#
# ```{hint}
# :class: dropdown
# For $z=1$ both $q^\top q$ and $q^\top\Lambda q$ are numbers and may be moved about. For 2. look at $\log\frac{s}{1-s}$, for 3. at the bounds of $q^\top\Lambda q/q^\top q$.
# ```
# ````

# %% [markdown]
# ````{exercise} How fast is the collapse?
# :label: cc-ex-rate
#
# *Core, 45 minutes, 12 points. Needs: singular values, entropy. After it you can fit the speed of a collapse without bias.*
#
# Let $\Theta(t)=\Theta(0)e^{-2Ct}$ be an unconstrained linear model, $\lambda_1<\lambda_2<\lambda_3\le\dots$ the eigenvalues of $C$, and $\theta_i=\Theta(0)v_i$. Let
# $\sigma_1\ge\sigma_2\ge\dots$ be the singular values of $\Theta(t)$.
#
# 1. Show that $\zeta=\sigma_2^2/\sigma_1^2$ tends to $\kappa\,e^{-4(\lambda_2-\lambda_1)t}$ and find $\kappa$.
# 2. The effective rank is $e^H$, $H$ the entropy of $\sigma_i^2/\sum_k\sigma_k^2$. How does it approach 1? Does its distance from 1 fall on a straight line in a plot with a
#    logarithmic axis?
# 3. A colleague fits a line to that plot. By how much is the slope off where $\zeta=10^{-6}$?
#
# ```{hint}
# :class: dropdown
# $\sigma_1\sigma_2$ is the largest singular value of the matrix of all $2\times2$ minors of $\Theta$, and these are linear in $\theta_i\wedge\theta_j$.
# ```
# ````

# %% [markdown]
# ````{exercise} No collapse, and still nothing learnt
# :label: cc-ex-loses
#
# *Advanced, 90 minutes, 16 points. Needs: {eq}`cc-eq-mean`. After it you can build data on which a constrained model loses what a task needs.*
#
# A constrained model keeps $z$ dimensions. Are they the ones that a later task needs? (In this exercise $s$ is the part of an input that shows its class and $r$ the rest, a nuisance.)
#
# 1. The data are centred, $x^+=x+\varepsilon$, $x^-$ is independent of $x$. Which directions does a trained model keep for $n\to\infty$? Construct $x=(s,r)$ with a class that a
#    linear classifier reads off $s$ nearly without error, and that $z=3$ constrained outputs lose.
# 2. You shake the nuisance: $\varepsilon$ is large along $r$, zero along $s$. Predict the accuracy. Then compute $\mathbb E[C]$. Do more negatives help?
# 3. Let the view keep $s$ and *redraw* the nuisance, $r^+=ar+\sqrt{1-a^2}\,r'$, $r'$ a fresh draw of the law of $r$, $0\le a\le1$. Up to which $a$ is the class kept?
# 4. Try all of it with a linear classifier on held-out data.
#
# ```{hint}
# :class: dropdown
# $\mathbb E[C]$ depends on the positives through $\mathbb E[x(x^+)^\top]$ only. What does independent centred noise add to it?
# ```
# ````

# %% [markdown]
# ````{exercise} The largest step
# :label: cc-ex-step
#
# *Advanced, 90 minutes, 12 points. Needs: the linear stability of a map. After it you can say which step is too large, and why projection does not cure it.*
#
# One output, $z=1$, and $\lambda_1<\dots<\lambda_d$, none of them 0.
#
# 1. Linearise (12) of the paper, $q_{t+1}=q_t+\eta\,\dot q_t$, at $\pm e_1$ for $\lambda_1<0$ and at 0 for $\Lambda\succ0$. For which $\eta$ is the point stable? When is
#    $\eta\lvert\lambda_1\rvert<\frac14$ the whole condition?
# 2. What does (12) of the paper do on the axis of $e_1$ just beyond $\eta\lvert\lambda_1\rvert=\frac14$?
# 3. Descent (11) of the paper, with the weights projected by the polar factor, follows {eq}`cc-eq-map`. Show that on the axis of $e_1$, with $\lambda_1<0$, it never moves away from $\pm e_1$, however large
#    $\eta$ is. Is it stable at any step, then? Guess first.
#
# ```{hint}
# :class: dropdown
# On the axis (12) of the paper is $\ell\mapsto\ell\,(1+\alpha-\alpha\ell^2)$ for the length $\ell$, with $\alpha=4\eta\lvert\lambda_1\rvert$. For 3. put $q=e_1+\delta e_j$ into the map and keep first order in $\delta$.
# The off-diagonal entry of $A^{-1/2}$ is that of $A$ times $\frac{m^{-1}-1}{m^2-1}$ if the diagonal of $A$ is $(m^2,1)$.
# ```
# ````

# %% [markdown]
# ````{exercise} Too many negatives
# :label: cc-ex-negatives
#
# *Core, 60 minutes, 12 points. Needs: {eq}`cc-eq-mean`, the matrix determinant lemma. After it you can say how many negatives are too many.*
#
# The data are not centred: mean $\mu\ne0$, covariance $\Sigma\succ0$. Each anchor has $p$ positives $x+\varepsilon$ and $q$ independent negatives.
#
# 1. Write $\mathbb E[C]$ with $\Sigma$. For which $q$ does it have a positive eigenvalue? Can it have two?
# 2. Which direction is the first to lose its negative sign as $q$ grows? Is it $\mu$? For which $q$ is $\mu^\top\mathbb E[C]\mu>0$?
# 3. Compute both bounds for half moons. How many negatives a positive are too many? What does constrained training then do with that direction? And what does it do with very
#    many?
#
# ```{hint}
# :class: dropdown
# $\det(M+uv^\top)=\det(M)\,(1+v^\top M^{-1}u)$. For the count of positive eigenvalues look at $\Sigma^{-1/2}\,\mathbb E[C]\,\Sigma^{-1/2}$.
# ```
# ````

# %% tags=["remove-input"]
chapter.close()
