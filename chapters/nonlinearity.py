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
# # Nonlinearity
#
# ```{include} ../book/_generated/nonlinearity-box.md
# ```
#
# This is {cite}`tian-2023`: the contrastive covariance, one-layer networks, the theory of two layers, and the trained networks of its figures and of
# its table. Each statement stands beside the run that tests it; the card below a run gives the verdict and what was
# measured. How a verdict is reached stands in [How a claim is judged](../book/judging.md), the symbols in
# [Notation](../book/notation.md). Five exercises with solutions stand at the end.

# %% tags=["hide-input", "parameters"]
first_seed: int = 1000  # first seed of the block that is judged, 0..1000000
seeds: int = 10  # seeds of a claim that is decided by chance, 3..1000
populations: int = 20  # random densities on which fixed points are looked for, 6..1000
map_seeds: int = 3  # seeds of each cell of the map of importances, 2..100
temperatures: list[float] = [1.0, 0.3, 0.1, 0.03, 0.01]  # of that map, 0.001..100
networks: int = 16  # trained networks in the author's configuration, 3..1000
minibatches: int = 5000  # of each training, 25..1000000
judged_at: int = 5000  # least minibatches of a training that is judged, 25..1000000
grid_p: list[int] = [1, 5]  # candidates P of the grids of Figures 4 to 11, 1..20
grid_beta: list[int] = [1, 5]  # their over-parameterisation β, 1..1000
grid_activations: str = "all"  # of the grids, all five or linear and ReLU, all|relu
grid_seeds: int = 3  # networks of each case of Figures 4 and 9, 2..1000
grid_quadratic_seeds: int = 0  # of Figure 10; 0 leaves it out, 0..1000
grid_norm_seeds: int = 0  # of Figure 11 and Table 1; 0 leaves them out, 0..1000
grid_text_seeds: int = 0  # of what the text says differently; 0: none, 0..1000
data: str = "digits"  # images of Figures 12 and 13, digits|mnist
image_minibatches: int = 5000  # of 8 images; judged at 100 / image_rate, 25..1000000
image_rate: float = 0.02  # learning rate on images, 0.000001..10
own_activation: str = "leaky_relu"  # linear|relu|leaky_relu|quadratic|sigmoid
own_loss: str = "infonce"  # infonce|quadratic|quadratic_over_tau|gaussian|triplet
own_batch_norm: str = "mean"  # what is back-propagated, off|both|mean|variance|none
own_candidates: int = 3  # tokens that a place of your network admits, P, 1..1000
own_beta: int = 2  # its filters a candidate, M/P, 1..1000000
own_places: int = 10  # its receptive fields, K, 1..1000
own_tokens: int = 20  # its tokens, d, 2..1000
own_length: int = 5  # tokens that its generators fix, 1..1000
own_batch: int = 128  # samples of its minibatches, 2..65536
device: str = "cpu"  # the calls are small: a GPU gains nothing here, auto|cpu|cuda

# %% tags=["hide-input"]
import math
from collections import defaultdict
from dataclasses import replace
from functools import cache
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy import stats
from torch.nn.functional import normalize

from contrastive_dynamics.book import colours, glue, open_chapter
from contrastive_dynamics.data.catalogue import check as check_data
from contrastive_dynamics.losses.activations import ACTIVATIONS, TRAINED, activation
from contrastive_dynamics.nonlinearity.networks.image_training import ImageTraining
from contrastive_dynamics.nonlinearity.networks.matching_curves import default_workers
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.nonlinearity.one_filter.circle_landscape import (
    FIGURE_8_POINTS,
    blurred_landscape,
    circle_fixed_points,
    circle_grid,
    count_energy_maxima,
    count_maxima,
    energy_maxima,
    on_circle,
)
from contrastive_dynamics.nonlinearity.one_filter.circle_landscape import (
    energy as circle_energy,
)
from contrastive_dynamics.nonlinearity.one_filter.latent_models import (
    CRITICAL_Q,
    categorical_covariance,
    closed_form_error,
    critical_probability,
    latent_categorical,
    latent_summation,
    orthonormal_patterns,
    pattern_eigenvalues,
    population_field,
    summation_covariance,
    tilted_patterns,
)
from contrastive_dynamics.nonlinearity.one_filter.locally_maximal import (
    eigen_check,
    flow_jacobian,
    growth_rate,
    newton_fixed_points,
)
from contrastive_dynamics.nonlinearity.one_filter.locally_maximal import (
    roughness as lme_roughness,
)
from contrastive_dynamics.nonlinearity.one_filter.modulated_growth import (
    basin_share,
    blow_up_time,
    circle_boundary,
    earliest_blow_up,
    integrated_blow_up,
    largest_rate,
    wins_by,
    wins_flow,
)
from contrastive_dynamics.nonlinearity.one_filter.modulated_growth import (
    growth as modulated_growth,
)
from contrastive_dynamics.nonlinearity.one_filter.winning_probability import (
    leader_bound,
    leader_bound_mended,
    leader_excess,
    rank_bound,
    rank_bound_mended,
    rank_excess,
    single_modulation,
    winning_probability,
)
from contrastive_dynamics.nonlinearity.two_layers.two_layer import (
    colinearity,
    critical_filters,
    field_covariances,
    filter_spread,
    hidden_outputs,
    linear_gradient,
    mean_path,
    path_gradient,
    rank_one_gram,
    swap_path,
    top_direction,
    train_unit_filters,
)
from contrastive_dynamics.nonlinearity.two_layers.two_layer import (
    gradient as two_layer_gradient,
)
from contrastive_dynamics.numerics.power_laws import fitted_power
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.relative_error import relative_errors
from contrastive_dynamics.numerics.run_defaults import torch_defaults

# %%
chapter = open_chapter("nonlinearity", globals())
torch_defaults(chapter.device)
linear, relu, leaky, quadratic = (
    activation(n) for n in ("linear", "relu", "leaky_relu", "quadratic")
)
block, seed = chapter.seeds, first_seed


# %% tags=["hide-input"]
# what the trainings below need is checked before any work
author = TokenTraining()
yours = chapter.check(
    TokenTraining,
    activation=own_activation,
    loss=own_loss,
    batch_norm=own_batch_norm,
    candidates=own_candidates,
    beta=own_beta,
    places=own_places,
    tokens=own_tokens,
    length=own_length,
    batch=own_batch,
)
chapter.check(author.require_memory, networks, chapter.device)
for p, beta in product(grid_p, grid_beta):
    cell = chapter.check(replace, author, candidates=p, beta=beta)
    at_once = 10 * default_workers() if chapter.device == "cpu" else 200
    chapter.check(cell.require_memory, at_once, chapter.device)
chapter.check(ImageTraining, rate=image_rate)
chapter.check(check_data, data)
chapter.check(yours.require_memory, len(block[:3]), chapter.device)

# %% [markdown]
# ## The contrastive covariance
#
# Two views $x[i], x[i']$ of each of $N$ samples pass through a network $f$. With a pairwise importance $\alpha_{ij}$,
# the **contrastive covariance** of two functions $a, b$ of a view is
#
# $$
# \begin{aligned}
# \mathbb C_\alpha[a,b] = \frac1{2N^2}\sum_{i,j}\alpha_{ij}\bigl[&(a[i]-a[j])(b[i]-b[j])^\top\\
# -\,&(a[i]-a[i'])(b[i]-b[i'])^\top\bigr],
# \end{aligned}
# $$ (eq-covariance)
#
# and training climbs the energy $\mathcal E_\alpha = \tfrac12\operatorname{tr}\mathbb C_\alpha[f]$ with $\alpha$ held constant.
#
# ```{prf:assumption} Section 2 of the paper: stop-gradient
# :label: nl-stop-gradient
# :nonumber:
# The value of $\alpha$ may depend on the weights $\theta$, but $\alpha$ contributes nothing to a gradient:
# $\theta_{t+1}=\theta_t+\eta\nabla_\theta\mathcal E_{\mathrm{sg}(\alpha(\theta_t))}(\theta_t)$ (2). In the study of the local properties
# of $\theta$, too, $\alpha$ is an independent variable.
# ```
#
# InfoNCE (1) of the paper is one member of the family: $\alpha_{ij}=e^{-d_{ij}^2/\tau}$ over the denominator of (1), and
# $\alpha_{ii}=0$ because that denominator has no $j=i$ among its negatives.
#
# ```{prf:proposition} InfoNCE is energy ascent
# :label: nl-infonce
# :nonumber:
# With {prf:ref}`stop-gradient <nl-stop-gradient>`,
# $\nabla\mathcal L_{nce}=-2N^2\,\nabla\mathcal E_{\mathrm{sg}(\alpha)}$ for any $\epsilon$ and $\tau$.
# ```
#
# The factor holds for $\tfrac12\operatorname{tr}$, as the text around paper (2) has it; a later line of Section 2 prints the energy without the ½.

# %%
from contrastive_dynamics.losses.contrastive_covariance import contrastive_energy
from contrastive_dynamics.losses.pairwise_importance import (
    infonce_importance,
    infonce_loss,
)


def alpha_cl_error(n, tau, eps, name, stop_gradient=True):
    draw, h = stream(seed, n, "alpha-cl"), activation(name).h
    x, noise = torch.randn(2, n, 6, generator=draw)
    shapes = (6, 32), (32, 5)
    w = [torch.randn(*shape, generator=draw).requires_grad_() for shape in shapes]
    f, f_view = (normalize(h(v @ w[0]) @ w[1], dim=-1) for v in (x, x + 0.3 * noise))
    loss = torch.autograd.grad(infonce_loss(f, f_view, tau, eps), w, retain_graph=True)
    alpha = infonce_importance(f, f_view, tau, eps, stop_gradient=stop_gradient)
    energy = torch.autograd.grad(contrastive_energy(f, f_view, alpha), w)
    expected = (-2 * n**2 * gradient for gradient in energy)
    return float(max(map(relative_errors, expected, loss)))


# %%
grid = list(product((4, 16, 128), (0.1, 0.5, 2.0), (0.0, 1.0, 5.0), ACTIVATIONS))
error = max(alpha_cl_error(*case) for case in grid)
through = min(alpha_cl_error(*case, stop_gradient=False) for case in grid)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("alpha-cl", observed=error, control=through)

# %% [markdown]
# ### Kernel structure
#
# ```{prf:definition} no. 1 of the paper: kernel structure of the importance
# :label: nl-kernel
# :nonumber:
# There is a kernel $\mathcal K$ with $\alpha_{ij}=\mathcal K(x_0[i],x_0[j])$ and $\mathcal K(a,b)=\sum_{l\ge0}\phi_l(a)\phi_l(b)$, in which
# every $\phi_l\ge0$.
# ```
#
# It looks at the samples $x_0$ before augmentation. The uniform $\alpha\equiv1$ has it, with $\phi\equiv1$ alone.
#
# ```{prf:lemma} no. 1 of the paper: Gaussian importance has kernel structure
# :label: nl-lem-1
# :nonumber:
# For any $g$ that is bounded below, $\alpha_{ij}=\exp(-\lVert g(x_0[i])-g(x_0[j])\rVert^2/2\tau)$ equals $\sum_l\phi_l(x_0[i])\phi_l(x_0[j])$ with every $\phi_l\ge0$.
# ```
#
# The proof shifts $g$ by a lower bound and expands the exponential. Equal products of the expansion are merged here, which changes nothing.

# %%
from contrastive_dynamics.losses.pairwise_importance import (
    gaussian_features,
    gaussian_importance,
)

g, tau = 2 * torch.rand(100, 3, generator=stream(seed, 0, "lem-1")) - 1, 0.5
alpha, orders = gaussian_importance(g, tau), range(0, 57, 4)


def expansion(shift=None):
    phi = gaussian_features(g, orders[-1], tau, shift)
    heads = [phi[:, : math.comb(3 + k, k)] for k in orders]  # low orders come first
    errors = [(head @ head.mT - alpha).abs().max().item() for head in heads]
    return errors, phi.min().item()


(errors, least), (errors_0, least_0) = expansion(), expansion(shift=0.0)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "lem-1", observed=max(errors[-1], -least), control=max(errors_0[-1], -least_0)
)

# %% tags=["hide-input", "remove-output"]
from scipy.stats import poisson

reach = (g - g.amin(0)).square().sum(-1).max().item() / tau
fig, ax = plt.subplots(figsize=(5, 3.2))
ax.semilogy(orders, errors, "ko", mfc="none", label="largest error over all pairs")
ax.semilogy(
    orders, poisson.sf(orders, reach), "k--", label="bound: tail of a Poisson law"
)
ax.axhline(1e-8, color="k", ls=":", label="rule: $10^{-8}$")
ax.set(xlabel="order of the expansion", ylabel="error of α", ylim=(1e-13, 3))
ax.legend()
glue.figure(plt.gcf(), "plot-lem-1")

# %% [markdown]
# ```{glue:figure} plot-lem-1
# :alt: The error of the truncated kernel expansion falls from about one to 1e-12 as the order grows to 56, on the bound.
# :name: plot-lem-1
#
# Lemma 1 of the paper. Error of the kernel expansion against its order. Look at where the circles cross the dotted line; the worst pair is a point with itself, where the Poisson bound is exact.
# ```

# %% [markdown]
# ### Large batches
#
# ```{prf:definition} no. 2 of the paper: adjusted density
# :label: nl-adjusted
# :nonumber:
# $\tilde p_l=\phi_l\,p/z_l$ with $z_l=\int\phi_l\,p\ge0$, where $p$ is the density of the samples.
# ```
#
# ```{prf:lemma} no. 2 of the paper: large batches
# :label: nl-lem-2
# :nonumber:
# If $\alpha$ has {prf:ref}`kernel structure <nl-kernel>`, then for $N\to\infty$
# $\ \mathbb C_\alpha[g]\to\sum_l z_l^2\,\mathbb V_{x_0\sim\tilde p_l}\!\left[\mathbb E[g(x)\mid x_0]\right]$ with the
# {prf:ref}`adjusted densities <nl-adjusted>` $\tilde p_l$.
# Without augmentation (Corollary 1) the inner expectation drops out.
# ```
#
# Twelve samples with four views each let us compute the limit exactly. At finite $N$ the mean of the estimate differs from it by
# $O(1/N)$: paper (3) counts $i=j$, (24) leaves it out. The rate is not touched.

# %%
from contrastive_dynamics.losses.contrastive_covariance import (
    contrastive_covariance,
    uniform_contrastive_covariance,
)
from contrastive_dynamics.nonlinearity.one_filter.finite_population import (
    expansion_limit,
    jittered_population,
    sample_pairs,
)

x0 = 2 * torch.rand(12, 2, generator=stream(0, 0, "samples")) - 1
prob = torch.rand(12, generator=stream(0, 0, "probabilities"))
offsets = torch.tensor([[0.2, 0, 0.5], [-0.2, 0, 0.5], [0, 0.2, -0.5], [0, -0.2, -0.5]])
features = {
    "uniform": torch.ones(12, 1),
    "Gaussian": gaussian_features(x0, 60, tau=0.5),
}
sizes = [128, 256, 512, 1024]


def population(offsets):
    flat = torch.nn.functional.pad(x0, (0, 1))
    pop, x = jittered_population(flat, offsets, prob / prob.sum())
    a, b, c = x.unbind(-1)
    g = [1 + a, 1 + b + torch.sin(2 * a * b), torch.sin(c)]
    return pop, torch.stack(g, -1)


# %%
def covariances(pop, g, n, kind, seed, runs=32):
    streams = [stream(seed, run, f"pairs of {n}") for run in range(runs)]
    sample, view, other = sample_pairs(pop, n, streams)
    if kind == "uniform":
        return uniform_contrastive_covariance(g[view], g[other])

    def alpha(rows):
        return gaussian_importance(x0[sample], 0.5, rows)

    return contrastive_covariance(g[view], g[other], alpha)


def rms(c):  # over the runs of a seed, in Frobenius norm
    return c.square().flatten(1).sum(1).mean().sqrt().item()


def power(errors):  # of N
    return float(fitted_power(torch.tensor(errors), sizes[-len(errors) :]))


# %%
def convergence(offsets, **mistake):
    pop, g = population(offsets)
    curves, slopes = {}, defaultdict(list)
    cases = list(product(block, features.items()))
    for s, (kind, phi) in chapter.progress(cases, "batch sizes"):
        c = [covariances(pop, g, n, kind, s) for n in sizes]
        right = expansion_limit(g, pop, phi)
        wrong = expansion_limit(g, pop, phi, **mistake)
        curves[kind] = [rms(each - right) for each in c]
        curves[kind, "wrong"] = [rms(each - wrong) for each in c]
        slopes[kind].append(power(curves[kind]))
        slopes[kind, "tail"].append(power(curves[kind][1:]))
        slopes[kind, "wrong"].append(power(curves[kind, "wrong"]))
    mean = {"all N": np.mean([slopes[k] for k in features], 0)}
    mean["without N = 128"] = np.mean([slopes[k, "tail"] for k in features], 0)
    return curves, mean, slopes


# %%
curves, rate, slopes = convergence(offsets, inner_mean=False)
curves_1, rate_1, slopes_1 = convergence(torch.zeros(1, 3), adjusted=False)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-2", observed=rate, control=slopes["Gaussian", "wrong"])

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("cor-1", observed=rate_1, control=slopes_1["Gaussian", "wrong"])

# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True)
for ax, title, found in zip(
    axes, ("with augmentation", "without"), (curves, curves_1), strict=True
):
    for kind, marker in (("uniform", "o"), ("Gaussian", "s")):
        ax.loglog(sizes, found[kind], f"k{marker}-", label=f"{kind} α")
        if found is curves or kind == "Gaussian":
            ax.loglog(
                sizes,
                found[kind, "wrong"],
                f"k{marker}:",
                mfc="none",
                label=f"{kind} α, mistaken limit",
            )
    ax.loglog(
        sizes,
        1.3 * found["uniform"][0] * (np.array(sizes) / 128) ** -0.5,
        "--",
        color="0.5",
        label="slope −1/2",
    )
    ax.set(title=title, xlabel="batch size $N$", xticks=sizes, xticklabels=sizes)
    ax.minorticks_off()
axes[0].set_ylabel("error of $C_α$, Frobenius norm")
axes[0].legend(fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(1.05, -0.2))
glue.figure(plt.gcf(), "plot-lem-2")

# %% [markdown]
# ```{glue:figure} plot-lem-2
# :alt: Errors of the contrastive covariance fall along the slope of minus one half with the batch size, with and without augmentation; with a mistaken limit they stop falling.
# :name: plot-lem-2
#
# Lemma 2 and Corollary 1 of the paper. Solid lines fall with slope −1/2 towards the paper's limit; dotted lines, measured against the limit with one mistake, level off.
# ```

# %% [markdown]
# ## One layer: a covariance that depends on the filter
#
# ```{prf:assumption} no. 1 of the paper: homogeneity, or reversibility
# :label: nl-homogeneous
# :nonumber:
# The activation satisfies $h(x)=h'(x)\,x$.
# ```
#
# Linear, ReLU and LeakyReLU activations do; $x^p$ does up to the constant $p$. At 0, where ReLU has no derivative, one has to be chosen:
#
# ```{prf:assumption} Appendix B.1 of the paper: the boundary of a gate
# :label: nl-gate
# :nonumber:
# $h'(0)=0$ for ReLU. A sample with $w^\top x=0$ is not in the active region of the filter $w$.
# ```
#
# Under {prf:ref}`Assumption 1 <nl-homogeneous>` the output of a filter is $w^\top\tilde x^w$ with the gated input
# $\tilde x^w=x\,h'(w^\top x)$. Everything follows from $A(w)=\mathbb C_\alpha[\tilde x^w]$.
#
# ```{prf:lemma} no. 3 of the paper: the flow of one filter
# :label: nl-lem-3
# :nonumber:
# Under {prf:ref}`Assumption 1 <nl-homogeneous>` and with {prf:ref}`stop-gradient <nl-stop-gradient>` a filter on the unit sphere follows
# $\dot w=P^\perp_wA(w)w$. For $h(x)=x^p$ there is a factor $1/p$.
# ```

# %%
from contrastive_dynamics.losses.contrastive_covariance import one_layer_velocity
from contrastive_dynamics.losses.pairwise_importance import uniform_importance


def lem_3_error(name, kind, **switch):
    draw, act = stream(seed, 0, "lem-3"), activation(name)
    x, noise = torch.randn(2, 200, 10, generator=draw)
    w = normalize(torch.randn(10, generator=draw), dim=0).requires_grad_()
    x_view = x + 0.3 * noise
    alpha = {
        "uniform": uniform_importance(x),
        "Gaussian": gaussian_importance(x, 10.0),
        "InfoNCE": infonce_importance(x, x_view, 5.0, 1.0),
    }[kind]
    f, f_view = (act.h(v @ (w / w.norm()))[:, None] for v in (x, x_view))
    (gradient,) = torch.autograd.grad(contrastive_energy(f, f_view, alpha), w)
    velocity = one_layer_velocity(x, x_view, w.detach(), act, alpha, **switch)
    return float(relative_errors(velocity, gradient))


# %%
cases = list(product(ACTIVATIONS, ("uniform", "Gaussian", "InfoNCE")))
error = max(lem_3_error(*case) for case in cases)
unprojected = min(lem_3_error(*case, projected=False) for case in cases)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-3", observed=error, control=unprojected)

# %% [markdown]
# ### Linear filters find one pattern
#
# With $h(x)=x$ the matrix does not depend on $w$, and the flow is gradient ascent on a Rayleigh quotient.
# The paper calls the maximal eigenvector "the one fixed point"; every eigenvector is one, only $\pm\phi_1$ is stable.

# %%
from contrastive_dynamics.losses.contrastive_covariance import (
    gated_contrastive_covariance,
)
from contrastive_dynamics.nonlinearity.one_filter.sphere_flow import (
    distinct_points,
    power_iteration,
    sphere_flow,
    uniform_on_sphere,
)


def distance_from_top(act, importance, seed, max_steps=10_000, n=100, d=8):
    x, noise = torch.randn(2, n, d, generator=stream(seed, 0, "data"))
    x = x * torch.linspace(1, 2, d) + 1
    x_view, alpha = x + 0.3 * noise, importance(x)
    w0 = uniform_on_sphere([stream(seed, k, "start") for k in range(32)], d)
    fixed = gated_contrastive_covariance(x, x_view, w0, linear, alpha)

    def field(w):
        if act is linear:  # A does not depend on w
            return fixed
        return gated_contrastive_covariance(x, x_view, w, act, alpha)

    end = sphere_flow(field, w0, step=2.0, tol=1e-11, max_steps=max_steps)
    values, vectors = torch.linalg.eigh(fixed[0])
    sine = (end.w - vectors[:, -1] * (end.w @ vectors[:, -1:])).norm(dim=-1)
    return float((sine * (values[-1] - values[-2]) / values.norm()).max())


# %%
importances = {
    "uniform α": uniform_importance,
    "Gaussian α": lambda x: gaussian_importance(x, 10.0),
}
error, with_relu = {}, {}
for name, alpha in chapter.progress(importances.items(), "filters", 2):
    error[name] = max(distance_from_top(linear, alpha, s) for s in block[:4])
    with_relu[name] = min(distance_from_top(relu, alpha, s, 100) for s in block[:2])

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lin-1", observed=error, control=with_relu)

# %% [markdown]
# ### Nine points on a circle
#
# The smallest picture of what nonlinearity adds (Figure 8 of the paper): nine points on the unit circle, one filter $w=(\cos\theta,\sin\theta)$.
# Each filter climbs the hill on which it starts, so the number of hills limits how many different things a layer can learn. Move the sliders and see when the hills appear.

# %% tags=["hide-input"]
from contrastive_dynamics.losses.activations import Activation
from contrastive_dynamics.losses.gated_covariance import gated_field

nine = on_circle(math.pi * torch.tensor(FIGURE_8_POINTS))
grid, names = circle_grid(2000, nine), {1: "Linear", 0.4: "Leak 0.4", 0: "ReLU"}
fig, axes = plt.subplots(3, figsize=(7.2, 6), sharex=True, layout="constrained")
shades = colours.LINEAR["color"], "0.45", colours.RELU["color"]
for ax, leak, colour in zip(axes, names, shades, strict=True):
    act = Activation(
        names[leak],
        h=lambda z, a=leak: torch.where(z > 0, z, a * z),
        slope=lambda z, a=leak: (z > 0) * (1 - a) + a,
    )
    field = gated_field(nine, act)
    rest = circle_fixed_points(lambda k, field=field: field, 1, nine, 1440)
    ends = rest.theta[~rest.stable].sort().values.cpu() / math.pi
    finds = (1 - (1 - (ends - ends.roll(1)) % 2 / 2) ** 8).sum()
    for angle, style in (grid, "-"), (rest.theta[rest.stable], "v"):
        height = circle_energy(on_circle(angle)[None], nine[None], act)[0].cpu()
        ax.plot(angle.cpu() / math.pi, height / height.max(), style, color=colour)
    ax.vlines(ends, 0.55, 1, color="0.8", zorder=0)
    ax.set_title(f"{names[leak]}: {len(ends)} hills, 8 filters find {finds:.1f}")
    ax.set(xlim=(-1, 1), ylim=(0.55, 1.08), ylabel="energy / largest")
axes[2].set_xlabel("angle / π (grey: edges of basins; finds: means over starts)")
alt = "Energy by angle: two hills if linear, four at leak 0.4, nine for ReLU."
glue.explorable(fig, "circle", alt)

# %%
points = on_circle(math.pi * torch.tensor(FIGURE_8_POINTS))
count = {a.name: int(count_energy_maxima(points[None], a)) for a in (relu, linear)}
maxima = energy_maxima(points, relu)  # exact: one quadratic form an arc

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-8", observed=count["relu"], control=count["linear"])

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-8-a", observed=count["linear"], control=count["relu"])

# %% tags=["hide-input", "remove-output"]
theta = circle_grid(2000, points)
energies = {
    a.name: circle_energy(on_circle(theta)[None], points[None], a)[0]
    for a in (relu, linear)
}
fig, ax = plt.subplots(figsize=(7.4, 3.6), layout="constrained")
for t in FIGURE_8_POINTS:
    ax.axvline(t, **colours.ASIDE | {"alpha": 0.4})
for name, look, side in (
    ("linear", colours.LINEAR, "bottom"),
    ("relu", colours.RELU, "top"),
):
    e = energies[name] / energies[name].max()
    ax.plot(theta.cpu() / math.pi, e.cpu(), **look | {"marker": "none"})
    label = f"{name.replace('relu', 'ReLU')}:\n{count[name]} maxima"
    ax.text(1.02, float(e[-1]), label, color=look["color"], va=side)
top = float(energies["relu"].max())
exact = [(m.theta / math.pi, m.energy / top) for m in maxima]
ax.plot(*zip(*exact, strict=True), **colours.RELU | {"linestyle": "none"})
ax.set_title("Nonlinearity adds maxima where a ReLU filter can come to rest")
ax.set(xlabel=r"angle $\theta/\pi$ of the filter $w$", xlim=(-1, 1.3), ylim=(0, 1.08))
ax.set_ylabel(r"energy $\mathcal{E}(w)$ / its maximum")
glue.figure(fig, "plot-fig-8")

# %% [markdown]
# ```{glue:figure} plot-fig-8
# :alt: Energy against the filter's angle: the ReLU curve has nine local maxima, the linear curve two.
# :name: plot-fig-8
#
# Figure 8 of the paper. Both curves are scaled to a maximum of 1; vertical lines are the data points, circles the exact maxima. The paper states at least eight maxima for ReLU and two for the linear activation. All nine are kinks, where a data point enters or leaves the active half plane, and none of them is a {prf:ref}`locally maximal eigenvector <nl-lme>`.
# ```

# %% [markdown]
# ## Two models with many locally maximal eigenvectors
#
# ```{prf:definition} no. 3 of the paper: locally maximal eigenvector
# :label: nl-lme
# :nonumber:
# $w_*$ is a locally maximal eigenvector (LME) of $A(w)$ if $A(w_*)w_*=\lambda_*w_*$ and $\lambda_*$ is the distinct largest eigenvalue
# of $A(w_*)$.
# ```
#
# **Latent categorical model**: $x=u_y$ with $y$ drawn from $M$ categories. **Latent summation model**: $x=Uy$ with independent
# standardised Bernoulli $y_m$, positive with probability $q_m$. For orthonormal $u_m$, ReLU, $\alpha\equiv1$, no augmentation and
# $N\to\infty$:
#
# $$
# \begin{aligned}
# A(u_m)&=p_m(1-p_m)u_mu_m^\top&&\text{(categorical)},\\
# A(u_m)&=(1-q_m)^2u_mu_m^\top+q_m(I-u_mu_m^\top)&&\text{(summation)}.
# \end{aligned}
# $$
#
# The first rests on the {prf:ref}`convention <nl-gate>` $h'(0)=0$: all other patterns lie exactly on the boundary of the gate. The $I$ of the second is the identity
# of the span of the patterns.


# %%
def error_8(seed, formula):
    g = stream(seed, 0, "eq-8")
    u, p = orthonormal_patterns(24, 16, g), torch.rand(16, generator=g)
    p = p / p.sum()
    model = latent_categorical(u, p)
    return closed_form_error(model, u, lambda m: formula(u, p, m))


def second_moment(u, p, m):  # the mean is not taken off
    return p[m] * torch.outer(u[:, m], u[:, m])


error = max(error_8(s, categorical_covariance) for s in block)
uncentred = min(error_8(s, second_moment) for s in block)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("eq-8", observed=error, control=uncentred)


# %%
def error_9(seed, formula):
    g = stream(seed, 0, "eq-9")
    u = orthonormal_patterns(10, 10, g)
    q = 0.05 + 0.9 * torch.rand(10, generator=g)
    model = latent_summation(u, q)
    return closed_form_error(model, u, lambda m: formula(u, q, m))


def second_moment(u, q, m):  # the mean is not taken off
    mean_product = q[m] * (1 - q[m]) * torch.outer(u[:, m], u[:, m])
    return summation_covariance(u, q, m) + mean_product


error = max(error_9(s, summation_covariance) for s in block)
uncentred = min(error_9(s, second_moment) for s in block)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("eq-9", observed=error, control=uncentred)

# %% [markdown]
# The pattern $u_m$ is an LME as long as $(1-q_m)^2>q_m$, that is $q_m<(3-\sqrt5)/2\approx0.382$. We find the crossing on the
# enumerated matrix, with the other probabilities drawn at random.


# %%
def crossing(seed, centred=True):
    g = stream(seed, 0, "eq-9-a")
    u, q = orthonormal_patterns(8, 8, g), 0.05 + 0.9 * torch.rand(8, generator=g)
    found = [critical_probability(u, q, m, centred) for m in range(8)]
    return max(abs(v - CRITICAL_Q) for v in found)


error = max(crossing(s) for s in block)
uncentred = min(crossing(s, centred=False) for s in block)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("eq-9-a", observed=error, control=uncentred)

# %% tags=["hide-input", "remove-output"]
q = torch.linspace(0.02, 0.8, 40)
u = orthonormal_patterns(6, 6, stream(0, 0, "figure"))
fields = [
    population_field(*latent_summation(u, torch.full((6,), float(v))), relu) for v in q
]
along, across = zip(
    *[pattern_eigenvalues(f(u[None, :, 0]), u[None, :, 0]) for f in fields], strict=True
)
fig, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for values, colour, line, label in (
    (torch.cat(along), colours.RELU["color"], "-", r"along $u_m$"),
    (torch.cat(across), colours.GREY, "--", r"largest across $u_m$"),
):
    ax.plot(q.cpu(), values.cpu(), color=colour, linestyle=line)
    at = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
    ax.annotate(label, (float(q[-1]), float(values[-1])), color=colour, **at)
ax.axvline(CRITICAL_Q, **colours.THEORY)
ax.text(CRITICAL_Q + 0.01, 0.93, r"theory: $q=(3-\sqrt{5})/2$")
ax.set_title("Only a rare pattern is a locally maximal eigenvector")
ax.set(xlabel=r"$q_m$", ylabel=r"eigenvalue of $A(u_m)$", ylim=(0, 1))
glue.figure(fig, "plot-eq-9")

# %% [markdown]
# ```{glue:figure} plot-eq-9
# :alt: The eigenvalue along the pattern falls, the one across rises, and they cross at q = 0.382.
# :name: plot-eq-9
#
# Latent summation model. The pattern is a locally maximal eigenvector to the left of the dotted line, where the solid curve is above the dashed one.
# ```

# %% [markdown]
# ### More nodes collect more patterns
#
# Each ReLU node of a layer follows its own flow (5) of the paper, so a wider layer collects more of the optima. The claim is tested by
# doubling: distinct limits of $2K$ nodes minus those of $K$ other nodes.


# %%
def gains(case, act):  # two layers a seed
    seed, layer = case
    u = orthonormal_patterns(10, 10, stream(seed, layer, "many-k"))
    u = u * torch.linspace(1, 1.5, 10)
    model = latent_summation(u, torch.full((10,), 0.2))
    field = population_field(*model, act)
    nodes = range(24 * layer, 24 * layer + 24)
    w0 = uniform_on_sphere([stream(seed, k, "node") for k in nodes], 10)
    w = sphere_flow(field, w0, step=1.0, tol=1e-6, max_steps=600).w

    def distinct(nodes):  # ±w count as one for linear nodes
        return int(distinct_points(nodes, 0.05, signed=act.name == "relu").max()) + 1

    return {k: distinct(w[8 : 8 + 2 * k]) - distinct(w[:k]) for k in (1, 2, 4, 8)}


# %%
layers = list(product(block, (0, 1)))
found = [gains(case, relu) for case in chapter.progress(layers, "ReLU nodes")]
plain = [gains(case, linear) for case in chapter.progress(layers[:3], "linear nodes")]
more = {f"K = {k}": [g[k] for g in found] for k in found[0]}
with_linear = {f"K = {k}": [g[k] for g in plain] for k in found[0]}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("many-k", observed=more, control=with_linear)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for at, gained in enumerate(more.values()):  # one dot per layer, side by side if equal
    side = [gained[:k].count(height) for k, height in enumerate(gained)]
    dots = {"color": colours.RELU["color"], "alpha": 0.35, "ms": 4, "mew": 0}
    ax.plot([at + 0.03 * step for step in side], gained, "o", **dots)
for means, look, name in (
    (more, colours.RELU, "ReLU nodes"),
    (with_linear, colours.LINEAR, "linear nodes"),
):
    y = [sum(v) / len(v) for v in means.values()]
    ax.plot(range(4), y, **look, mfc="white")
    ax.text(2.5, (y[2] + y[3]) / 2 + 0.2, name, color=look["color"], ha="center")
ax.axhline(0, **colours.ASIDE, zorder=0)
ax.set_xticks(range(4), [f"{k} → {2 * k}" for k in (1, 2, 4, 8)])
ax.set_title("Twice the ReLU nodes find more patterns, twice the linear nodes do not")
ax.set(xlabel="number of nodes $K$ → $2K$", ylabel="additional distinct limits")
glue.figure(fig, "plot-many-k")

# %% [markdown]
# ```{glue:figure} plot-many-k
# :alt: The number of distinct limits gained by doubling the nodes: on average above zero for ReLU nodes at every K, zero for linear nodes.
# :name: plot-many-k
#
# Distinct limits gained by doubling the number of nodes: one dot per layer of ReLU nodes, dots of equal height side by side; lines join the means. Beyond 16 nodes the ten patterns are exhausted.
# ```

# %% [markdown]
# ## When is a locally maximal eigenvector stable?
#
# The **roughness** $\rho(w)$ is the smallest number with $\lVert(A(v)-A(w))w\rVert\le\rho(w)\lVert v-w\rVert$ to first order.
#
# ```{prf:theorem} no. 1 of the paper: stability
# :label: nl-thm-1
# :nonumber:
# An {prf:ref}`LME <nl-lme>` with $\lambda_{\mathrm{gap}}(w_*)>\rho(w_*)$ is stable.
# ```
#
# We look for all fixed points of the flow on random densities on a disc, and nudge each LME that meets the condition.

# %%
from contrastive_dynamics.nonlinearity.one_filter.planar_density import (
    DiscPopulation,
    ascend_bound_ratio,
    random_disc_population,
)


@cache
def fixed_points(act):
    """Fixed points, their densities, which of them are LMEs, and gap − ρ."""
    streams = [stream(seed, k, "density") for k in range(populations)]
    pop = random_disc_population(streams, radial=12, angular=24)

    def field_at(i):
        return pop.at(i).matrix_field(act)

    rest = circle_fixed_points(field_at, populations, pop.coefficients, angles=180)
    here, field = pop.at(rest.run), field_at(rest.run)
    check = eigen_check(field, rest.w)
    return rest, here, check, check.gap - lme_roughness(field, rest.w)


# %%
def after_nudge(act, meets, nudge=1e-4):
    """‖end − start‖ of the LMEs with gap > ρ (meets), or of those with gap <= ρ."""
    rest, here, check, margin = fixed_points(act)
    pick = check.is_lme & ((margin > 0) == meets)
    nudged = on_circle(rest.theta[pick] + nudge)
    end = sphere_flow(here.at(pick).matrix_field(act), nudged, step=1.0, tol=1e-9)
    return (end.w - rest.w[pick]).norm(dim=-1)


# %%
acts = chapter.progress((relu, leaky, quadratic), "nudged eigenvectors")
meeting = {a.name: after_nudge(a, True) for a in acts}
missing = {a.name: after_nudge(a, False) for a in (relu, quadratic)}
moved = {name: float(d.max()) for name, d in meeting.items()}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-1", observed=moved, control=float(missing["quadratic"].min()))

# %% [markdown]
# The plane has one direction to be nudged in. Gaussian mixtures have a density too, and all that is needed of them is known in
# closed form in any dimension, so the same is asked in more: Newton's method finds fixed points, stable or not, and each LME that
# meets the condition is nudged in a random direction. Dropping the condition is the control.


# %%
from contrastive_dynamics.nonlinearity.one_filter.gaussian_mixture import (
    random_gaussian_mixture,
)


def lmes_of_mixtures(d, act, runs=3 * populations // 2, starts=20):
    """LMEs w, their mixtures, and whether gap > ρ."""
    streams = [stream(seed, k, f"mixture {d}") for k in range(runs)]
    pop = random_gaussian_mixture(streams, d)
    run = torch.arange(runs).repeat_interleave(starts)
    w0 = uniform_on_sphere([stream(seed, k, f"Newton {d}") for k in range(len(run))], d)
    w, settled = newton_fixed_points(pop.at(run).matrix_field(act), w0)
    w, here = w[settled], pop.at(run[settled])
    field = here.matrix_field(act)
    check, rho = eigen_check(field, w), lme_roughness(field, w)
    pick = check.is_lme
    return w[pick], here.at(pick), (check.gap > rho)[pick]


# %%
def after_nudge_in(d, act, nudge=1e-4):
    """‖end − start‖ of the LMEs, and whether gap > ρ."""
    w, pop, meets = lmes_of_mixtures(d, act)
    push = normalize(torch.randn(*w.shape, generator=stream(seed, d, "nudge")), dim=-1)
    field = pop.matrix_field(act)
    end = sphere_flow(field, w + nudge * push, step=1.0, tol=1e-10, max_steps=2000)
    return (end.w - w).norm(dim=-1), meets


# %%
cases = chapter.progress(
    list(product((relu, leaky, quadratic), (3, 5, 8))), "dimensions"
)
nudged = {(act.name, d): after_nudge_in(d, act) for act, d in cases}
meet = {
    f"{n}, d = {d}": float(f[m].max()) for (n, d), (f, m) in nudged.items() if m.any()
}
every = float(torch.cat([nudged["quadratic", d][0] for d in (3, 5, 8)]).max())

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-1-b", observed=meet, control=every)

# %% [markdown]
# The condition is sufficient. Is it what decides? The paper adds that lowering the roughness "could lead to more local optima".
# For ReLU, $\alpha\equiv1$ and a density the derivative of $A$ comes from the inputs that cross the plane $w^\top x=0$, and the Jacobian is
#
# $$
# J=P^\perp\left(A-\lambda_*-\mathbb E[h]\,B\right)P^\perp,\qquad B=\int_{w_*^\top x=0}xx^\top p(x)\,dS\succeq0 .
# $$
#
# The roughness $\rho=\mathbb E[h]\,\lambda_{\max}(B)$ enters with the sign that *stabilises*: on the circle $\mathcal E''=-(\lambda_{\mathrm{gap}}+\rho)$.
# So every LME is stable under ReLU, however rough, and fixed points that are no LME can be stable too. For the quadratic activation,
# which is smooth, roughness does destabilise: that is the planted case.


# %%
def share_left(
    name, meets
):  # of the eigenvectors that meet the condition, or of the others
    found = [far[ok == meets] for far, ok in (nudged[name, d] for d in (3, 5, 8))]
    plane = (meeting if meets else missing)[name]
    cases = {"plane": plane, "d = 3, 5, 8": torch.cat(found)}
    return {case: float((far > 1e-6).double().mean()) for case, far in cases.items()}


left, planted = share_left("relu", False), share_left("quadratic", False)
smooth = share_left("relu", True)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-1-a", observed=left, control=smooth, planted=planted)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5.5, 3.6))
for act, marker in ((relu, "o"), (quadratic, "x")):
    rest, here, check, margin = fixed_points(act)
    growth = growth_rate(flow_jacobian(here.matrix_field(act), rest.w))
    dots = ((v / check.lambda1)[check.is_lme].cpu() for v in (margin, growth))
    ax.plot(*dots, "k" + marker, fillstyle="none", label=act.name)
ax.plot(
    [-0.8, 0.95], [0.8, -0.95], "k--", label="proof of Theorem 1: at most −(gap − ρ)"
)
ax.axhline(0, color="0.6"), ax.axvline(0, color="0.6")
ax.set(xlabel="(gap − ρ) / $λ_1$", ylabel="growth rate of a nudge / $λ_1$")
ax.legend(fontsize=8)
glue.figure(plt.gcf(), "plot-thm-1")

# %% [markdown]
# ```{glue:figure} plot-thm-1
# :alt: Growth rate of a nudge against gap minus roughness: crosses of the quadratic activation lie on the falling line, circles of ReLU lie far below zero on both sides.
# :name: plot-thm-1
#
# Theorem 1 of the paper and what decides. Right of the vertical line the condition holds and every point lies below zero. Left of it the crosses (quadratic) rise above zero, the circles (ReLU) do not.
# ```

# %% [markdown]
# Sharper data make the landscape rougher *and* give it more optima: blurring the nine points of Figure 8 of the paper lowers both.

# %%
width = torch.tensor([1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01])
e, rho, gap = blurred_landscape(math.pi * torch.tensor(FIGURE_8_POINTS), width)
optima = count_maxima(e)
peak = (e > e.roll(1, -1)) & (e >= e.roll(-1, -1))
rough_at_optima = (rho * peak).sum(-1) / peak.sum(-1)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5, 3.2))
dots = rough_at_optima.tolist(), optima.tolist()
ax.semilogx(*dots, "ko-")
for k, (r, n, s) in enumerate(zip(*dots, width.tolist(), strict=True)):
    below = k % 2 == 0  # so that neighbouring labels do not touch
    ax.annotate(
        f"{s:g}", (r, n), xytext=(5, -11 if below else 6), textcoords="offset points"
    )
ax.margins(0.1)
ax.set(
    xlabel="mean roughness ρ at the local optima", ylabel="local optima of the energy"
)
glue.figure(plt.gcf(), "plot-thm-1-a")

# %% [markdown]
# ```{glue:figure} plot-thm-1-a
# :alt: The number of local optima rises from one to eight as the roughness at the optima rises.
# :name: plot-thm-1-a
#
# Local optima against roughness as the nine points are blurred; the labels are the widths of the blur in radians. More roughness comes with more optima, not fewer.
# ```

# %% [markdown]
# ### How rough can it be?
#
# ```{prf:theorem} no. 2 of the paper, as printed: a bound of the roughness
# :label: nl-thm-2
# :nonumber:
# For ReLU, inputs of norm at most $C_0$, $\alpha$ of {prf:ref}`kernel structure <nl-kernel>` and $N\to\infty$,
# $\rho(w_*)\le\frac{C_0^3\,\mathrm{vol}(C_0)}{\pi}\,r(w_*,\alpha)$ with $r=\sum_lz_l^2\max_{w_*^\top x=0}\tilde p_l$.
# ```
#
# A wedge of angle $a$ between two half spaces has the volume $\mathrm{vol}(C_0)\,a/2\pi$. Equations (78) and (89) of the paper multiply by another $C_0$.
# A bound whose two sides scale differently with the unit of length cannot hold: on the uniform disc the ratio of roughness to printed
# bound is $4/(9\pi C_0)$, above 1 for $C_0<0.141$. With $C_0^2$ the ratio is $4/9\pi$ on the uniform disc and at most $2/3$ in the plane.


# %%
def largest_ratio(power, pop, w):  # ρ from its definition over the bound
    rho = lme_roughness(pop.matrix_field(relu), w, step=1e-4)
    return float((rho / pop.roughness_bound(w, power)).max())


streams = [stream(seed, k, "density") for k in range(200)]
w, pop = uniform_on_sphere(streams, 2), random_disc_population(streams, radius=0.1)
uniform = DiscPopulation(torch.zeros(1, 1), radius=0.1)
climbed = ascend_bound_ratio(pop.at(torch.arange(8)), w[:8], relu)
ensembles = {
    "uniform": (uniform, w[:1]),
    "random": (pop, w),
    "climbed": (climbed, w[:8]),
}
printed = {name: largest_ratio(3, *e) for name, e in ensembles.items()}
mended = {name: largest_ratio(2, *e) for name, e in ensembles.items()}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-2", observed=printed, mended=mended, control=2 * mended["climbed"])

# %% tags=["hide-input", "remove-output"]
radius = torch.logspace(-2, 1, 31)
discs = [DiscPopulation(torch.zeros(1, 1), float(r)) for r in radius]
fig, ax = plt.subplots(figsize=(5, 3.4))
for power, style in ((3, "k--"), (2, "k-")):
    ratios = [
        float(p.boundary_roughness(w[:1], relu) / p.roughness_bound(w[:1], power))
        for p in discs
    ]
    ax.loglog(
        radius.cpu(),
        ratios,
        style,
        label=f"$C_0^{power}$ vol/π · r, {'as printed' if power == 3 else 'mended'}",
    )
ax.axhline(2 / 3, color="0.4", linestyle=":", label="2/3, the most in the plane")
ax.axhline(1, color="0.4", linewidth=2, label="the bound")
ax.set(xlabel="radius $C_0$ of the uniform disc", ylabel="ρ / bound")
ax.legend(fontsize=8)
glue.figure(plt.gcf(), "plot-thm-2")

# %% [markdown]
# ```{glue:figure} plot-thm-2
# :alt: Ratio of roughness to bound against the disc's radius: the printed form falls through one at 0.14, the mended form is constant at 0.14.
# :name: plot-thm-2
#
# Theorem 2 of the paper on the uniform disc. The printed bound (dashed) is broken to the left of its crossing with 1; the mended one (solid) does not depend on the unit of length.
# ```

# %% [markdown]
# ### Gaussian against uniform importance
#
# ```{prf:corollary} no. 2 of the paper: Gaussian importance
# :label: nl-cor-2
# :nonumber:
# For uniform $\alpha_u$ and Gaussian $\alpha_g$, which compares $h(w_*^\top x_0)$, $r(w_*,\alpha_g)=z_0\,r(w_*,\alpha_u)$ with $z_0=\mathbb E[e^{-h^2(w_*^\top x)/2\tau}]\le1$.
# ```
#
# The identity holds. The roughness itself falls by $\mathbb E[h\,e^{-h^2/2\tau}]/\mathbb E[h]\le z_0$, at least as much as its bound.

# %%
streams = [stream(seed, k, "density") for k in range(40)]
pop, w = random_disc_population(streams, radius=0.1), uniform_on_sphere(streams, 2)
tau = 2e-3


def error(tau_of_z0):  # r(w, α_g) is summed over the expansion, r(w, α_u) has α = 1
    ratio = pop.plane_importance(w, relu, tau) / pop.plane_importance(w, relu)
    return float((ratio / pop.z0(w, relu, tau_of_z0) - 1).abs().max())


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("cor-2", observed=error(tau), control=error(tau / 2))

# %% [markdown]
# The paper concludes that a Gaussian importance creates more local optima. We count the stable filters of $P^\perp A_{\alpha(w)}(w)w$ for both,
# with $\alpha$ evaluated at $w$ and held constant in the derivative, on the same populations. The whole map is shown: it was used to choose the two
# cells that are judged (on seeds below 1000), and the cell on densities is the most negative of its row.


# %%
from contrastive_dynamics.losses.gated_covariance import gated_field


@cache
def stable_filters(population, seed, tau, runs=10):
    """Mean number over ten populations: densities, or that many points of the circle."""
    streams = [stream(seed, k, "population") for k in range(runs)]
    if population == "density":
        pop = random_disc_population(streams, radial=8, angular=12)
        field_at, grid = (lambda i: pop.at(i).matrix_field(relu, tau)), (120, 1, 2)
    else:
        turns = torch.stack([torch.rand(population, generator=g) for g in streams])
        x = on_circle(2 * math.pi * turns)
        field_at, grid = (lambda i: gated_field(x[i], relu, tau)), (1500, 1, 32)
    rest = circle_fixed_points(field_at, runs, w, *grid)
    return float(rest.stable.sum()) / runs


# %%
def gaussian_minus_uniform(population, tau, seeds=block):
    def count(tau):
        return np.array([stable_filters(population, s, tau) for s in seeds])

    return (count(tau) - count(math.inf)).tolist()


# %%
settings = {"few": (9, 0.01), "density": ("density", 0.1), "same": (9, 100.0)}
cells = chapter.progress(settings.items(), "importances", len(settings))
few, density, same = (chapter.piece(n, gaussian_minus_uniform, *of) for n, of in cells)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("cor-2-a", observed=few, outside=density, control=same)

# %%
kinds = {"density": "o-", 20: "s--", 9: "^:"}
few_seeds = range(first_seed, first_seed + map_seeds)
cells = chapter.progress(list(product(kinds, temperatures)), "map")
grid = {
    (p, t): chapter.piece(f"map {p} {t}", gaussian_minus_uniform, p, t, few_seeds)
    for p, t in cells
}

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5.5, 3.4))
for name, style in kinds.items():
    cells = np.array([grid[name, t] for t in temperatures])
    label = f"{name} points" if name != "density" else "density on a disc"
    bars = np.ptp(cells, axis=1) / 2
    ax.errorbar(
        temperatures,
        cells.mean(1),
        bars,
        fmt="k" + style,
        mfc="none",
        capsize=3,
        label=label,
    )
ax.margins(x=0.08, y=0.12)
ax.axhline(0, color="0.6")
ax.set_xscale("log"), ax.set_yscale("symlog", linthresh=1)
ax.set(
    xlabel="temperature τ of the Gaussian importance",
    ylabel="stable filters, Gaussian − uniform",
)
ax.legend(fontsize=8)
glue.figure(plt.gcf(), "plot-cor-2-a")

# %% [markdown]
# ```{glue:figure} plot-cor-2-a
# :alt: The difference in the number of stable filters is positive for nine and twenty points at low temperature and negative for densities at every temperature.
# :name: plot-cor-2-a
#
# Gaussian minus uniform importance: number of stable filters, bars half of the range over seeds. Above the line the paper's statement holds: for few points at low temperature. On densities, the setting of Theorem 2 of the paper, it does not.
# ```

# %% [markdown]
# ## Finding optima by power iteration
#
# Let $\lambda_1(w)$ be the largest eigenvalue of $A(w)$, $\phi_1(w)$ its eigenvector, $c(w)=w^\top\phi_1(w)$, $L$ the Lipschitz constant of $A$ on
# the unit sphere, and $\kappa$ a bound of the second-order change of $\phi_1$ with $A$ (Lemma 9 of the paper).
#
# ```{prf:definition} no. 4 of the paper: irregularity
# :label: nl-irregularity
# :nonumber:
# With $\mu=\frac{1+c}{2c^2}\bigl(1-\lambda_{\mathrm{gap}}/\lambda_1\bigr)^2$, all at the same $w$, the irregularity is
# $\omega=\mu+2\kappa L^2(1+\mu c)+\frac{2L}{\lambda_{\mathrm{gap}}}\sqrt{\mu(1+\mu c)}$ (10).
# ```
#
# ```{prf:theorem} no. 3 of the paper: power iteration
# :label: nl-thm-3
# :nonumber:
# Let $c_0=c(w(0))\ne0$. If the {prf:ref}`irregularity <nl-irregularity>` satisfies $\sup_{B_\gamma}\omega(w)\le\gamma$ for a $\gamma<1$ (11), where
# $B_\gamma=\bigl\{w:w^\top w(0)\ge\frac{c_0-c_\gamma}{1-c_\gamma}\bigr\}$ and $c_\gamma=\frac{2\sqrt\gamma}{1+\gamma}$, then power iteration
# $w\leftarrow A(w)w/\lVert A(w)w\rVert$ converges to a critical point in $B_\gamma$, with $1-c_t\le\gamma^t(1-c_0)$ for $c_t=c(w(t))$ (in its proof).
# ```
#
# On finite data $A(w)$ is constant inside a cell of gates and jumps between cells. The Lipschitz constant $L$ is 0 inside a cell and
# infinite across its border, so paper (11) can hold only where the whole neighbourhood lies in one cell; there $\omega=\mu$. The patterns
# are tilted so that $\lVert U^\top U-I\rVert_2$ is small but not zero.

# %%
from contrastive_dynamics.nonlinearity.one_filter.local_convergence import (
    angle_between,
    check_theorem,
    contraction,
    contraction_slack,
    irregularity,
    pattern_angle_bound,
    pattern_contraction,
    starts_near,
)


def tilted(seed, deviation, q=0.2, m=8):
    g = stream(seed, 0, "tilted patterns")
    u = tilted_patterns(orthonormal_patterns(m, m, g), deviation, g)
    points, p = latent_summation(u, torch.full((m,), q))
    return u, points, population_field(points, p, relu), g


# %%
def worst(deviation, power=1.0):
    found = []
    for s in block:
        u, points, field, g = tilted(s, deviation)
        away = 0.06 * torch.rand(200, generator=g)
        w0 = starts_near(u.mT.repeat(25, 1), away, g)
        check = check_theorem(field, points, w0, power=power)
        ratios = [ratio[check.holds].max() for ratio in (check.rate, check.stay)]
        found.append(torch.stack(ratios))
    return torch.stack(found).amax(0)


deviations = chapter.progress((0.0, 0.02, 0.05, 0.1), "power iteration")
ratios = {}
for e in deviations:
    ratios[f"rate at {e}"], ratios[f"cap at {e}"] = worst(e).tolist()
squared = float(worst(0.1, power=2.0)[0])

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-3", observed=ratios, control=squared)

# %% [markdown]
# Near a pattern the discrepancy $\lVert w(t+1)-w(t)\rVert$ should fall by $\lambda_2/\lambda_1\approx q/(1-q)^2$ a step (Figure 1 of the paper, right), and the limit
# should lie near the pattern.


# %%
def from_patterns(seed, deviation):
    u, points, field, g = tilted(seed, deviation)
    return u, power_iteration(field, starts_near(u.mT, 0.1, g), 60)


def slack(deviation, predicted):
    runs = [from_patterns(s, deviation)[1] for s in block]
    rates = [contraction(run.discrepancy) for run in runs]
    slacks = contraction_slack(torch.stack(rates), predicted, deviation)
    return float(slacks.max())


q = torch.tensor(0.2)
factor = pattern_contraction(q)
right = {f"deviation {e}": slack(e, factor) for e in (0.02, 0.05, 0.1)}
one_power = {f"deviation {e}": slack(e, q / (1 - q)) for e in (0.02, 0.05, 0.1)}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-1", observed=right, control=one_power)


# %%
def distance(deviation, shift=0):
    bound = float(pattern_angle_bound(q, deviation))
    runs = [from_patterns(s, deviation) for s in block]
    angles = [angle_between(run.w[-1], u.mT.roll(shift, 0)) for u, run in runs]
    return float(torch.stack(angles).max()) / bound


own = {f"deviation {e}": distance(e) for e in (0.02, 0.05, 0.1)}
neighbour = {f"deviation {e}": distance(e, shift=1) for e in (0.02, 0.05, 0.1)}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-3-a", observed=own, control=neighbour)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5.5, 3.4))
for deviation, style in ((0.0, "-"), (0.05, "--"), (0.1, "-."), (0.3, ":")):
    runs = [from_patterns(s, deviation)[1].discrepancy for s in block[:3]]
    steps = torch.cat(runs, -1).clamp(min=1e-17).cpu()
    ax.semilogy(
        steps.median(-1).values[:45],
        "k",
        linestyle=style,
        label=rf"$\|U^\top U-I\|_2={deviation}$",
    )
    ax.fill_between(
        range(45), steps.amin(-1)[:45], steps.amax(-1)[:45], color="0.5", alpha=0.15
    )
t, factor = np.arange(3, 24), float(pattern_contraction(q))
ax.semilogy(
    t, 0.02 * factor ** (t - 2), "ko", ms=3, mfc="none", label="$q/(1-q)^2$ a step"
)
ax.set(xlabel="iteration $t$", ylabel=r"$\|w(t+1)-w(t)\|_2$")
ax.legend(fontsize=8)
glue.figure(plt.gcf(), "plot-fig-1")

# %% [markdown]
# ```{glue:figure} plot-fig-1
# :alt: Iteration discrepancy against iteration: parallel falling lines for deviations up to 0.1, a curve that does not fall for 0.3.
# :name: plot-fig-1
#
# Figure 1 of the paper, right. Median and range over starts of the iteration discrepancy. The three smaller deviations fall with the predicted slope (circles), as the paper's text says for small deviations; at 0.3 the iteration does not settle from every start.
# ```

# %% [markdown]
# ### The lemmas behind Theorem 3 of the paper
#
# On finite data $L$ is 0 or infinite. The lemmas of the proof speak of any smooth field of symmetric matrices, so they are tested on
# $A(w)=A_0+L(pq^\top+qp^\top)$, $q=P_p^\perp Rw$ with $R$ orthogonal, whose least Lipschitz constant is exactly $L$. Besides
# $c_t=\phi_1(t)^\top w(t)$ they need $d_t=\phi_1(t)^\top w(t+1)$, where $\phi_1(t)$ is the top eigenvector of $A(w(t))$.
#
# ```{prf:lemma} no. 7 of the paper: one step towards the top eigenvector
# :label: nl-lem-7
# :nonumber:
# If $c_t>0$ and $\lambda_1(t)>0$, then $1-d_t\le\mu_t(1-c_t)$ with $\mu=\frac{1+c}{2c^2}\left(\frac{\lambda_2}{\lambda_1}\right)^2$.
# ```
#
# ```{prf:lemma} no. 8 of the paper: the length of a step
# :label: nl-lem-8
# :nonumber:
# If $c_t>0$ and $\lambda_i(t)>0$ for all $i$, then $\lVert w(t+1)-w(t)\rVert\le\sqrt{2(1+\mu_tc_t)(1-c_t)}$.
# ```
#
# The proof of Lemma 7 of the paper needs $|\lambda_i|\le\lambda_2$ for $i\ge2$, which $\lambda_1>0$ does not give: with eigenvalues $1,0,-1$ the right side is zero and
# the left is not. Appendix B.4 of the paper first assumes $A$ positive definite and then passes to $A-\lambda_{\min}I+\epsilon I$, which keeps the fixed points but makes
# another iteration. For the iteration as printed positive definiteness is the condition, and matrices of trace zero stand outside it.

# %%
from contrastive_dynamics.nonlinearity.one_filter.power_iteration_bounds import (
    AffineField,
    check_region,
    displacement_ratio,
    expansion_ratio,
    power_step,
    shortfall_ratio,
    spectral_matrix,
    turning_ratio,
)
from contrastive_dynamics.numerics.bound_search import climb


def free_numbers(rows, purpose, n=100):
    drawn = [torch.randn(n, rows, 4, generator=stream(s, 0, purpose)) for s in block]
    return torch.cat(drawn)


def largest_found(ratio, start, steps=150):
    """Largest ratio, −∞ outside its region, and all points: random, the last ten climbed to."""
    seen = ratio(start)
    best = start[seen.topk(10).indices]
    top = climb(ratio, best, steps, rate=0.05)
    found = {"random": float(seen.max()), "climbed": float(ratio(top).max())}
    return found, torch.cat((start, top))


def without_trace(a):
    mean = a.diagonal(dim1=-2, dim2=-1).mean(-1)
    return a - mean[:, None, None] * torch.eye(a.shape[-1])


# %%
def one_step(raw, change=lambda a: a):
    a = change(spectral_matrix(raw[:, :-1]))
    return power_step(a, normalize(raw[:, -1], dim=-1))


def within(step, ratio):  # where rounding does not count
    return torch.where((step.short_c > 1e-3) & (step.ratio > 0.01), ratio, -torch.inf)


def of_step(bound, change=lambda a: a, **mistake):
    def ratio(raw):
        step = one_step(raw, change)
        return within(step, bound(step, **mistake))

    return largest_found(ratio, free_numbers(6, "one step"))


# %%
def without_sum(c, ratio):  # 1 + c forgotten
    return irregularity(c, ratio) / (1 + c)


shortfall, near_top = of_step(shortfall_ratio)
forgotten, _ = of_step(shortfall_ratio, mu=without_sum)
indefinite, _ = of_step(shortfall_ratio, without_trace)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-7", observed=shortfall, control=forgotten, outside=indefinite)

# %%
length, moves = of_step(displacement_ratio)
halved, _ = of_step(displacement_ratio, factor=1.0)
backwards, _ = of_step(displacement_ratio, without_trace)
mistakes = {"without the 2": halved["climbed"], "A not positive": backwards["climbed"]}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-8", observed=length, control=mistakes)

# %% [markdown]
# Both can be approached, Lemma 8 of the paper only where $\mu_t\to0$, since it holds without $\mu_tc_t$: with $\lambda_1=1$ and $q_i=(\phi_i^\top w)^2$,
# $\left(\sum\lambda_iq_i\right)^2\ge q_1\sum\lambda_iq_i\ge c^2\sum\lambda_i^2q_i$, so $w(t+1)^\top w(t)\ge c_t$.
#
# ```{prf:lemma} no. 9 of the paper: the top eigenvector moves
# :label: nl-lem-9
# :nonumber:
# For $\delta A=A'-A$ there is a $\kappa>0$ with $\lVert\phi_1'-(\phi_1+\Delta\phi_1)\rVert\le\kappa\lVert\delta A\rVert_2^2$, where
# $\Delta\phi_1=\sum_{j>1}\frac{\phi_j^\top\delta A\,\phi_1}{\lambda_1-\lambda_j}\phi_j$.
# ```
#
# The lemma leaves $\kappa$ open. With $\lambda_{\mathrm{gap}}>0$ and the sign $\phi_1^\top\phi_1'\ge0$, $\kappa=8/\lambda_{\mathrm{gap}}^2$ serves every $A'$: put
# $x=\lVert\delta A\rVert/\lambda_{\mathrm{gap}}$. For $x<\frac12$ the gap stays open, the $\sin2\theta$ theorem gives $\sin2\theta\le2x$, and
# $(\lambda_1-A)$ maps the remainder's part across $\phi_1$ to a vector of norm at most $\lVert\delta A\rVert(1-\cos\theta+2\sin\theta)$: it is below $4x^2$. For
# $x\ge\frac12$ it is at most $\sqrt2+x\le8x^2$. Two eigenvalues that meet at $x=\frac12$ show that nothing below $4\sqrt2/\lambda_{\mathrm{gap}}^2$ will do.


# %%
def matrix_and_change(raw):
    return spectral_matrix(raw[:, :5]), (raw[:, 5:] + raw[:, 5:].mT) / 4


def expanded(raw, order=1.0):
    return expansion_ratio(*matrix_and_change(raw), order)


start = free_numbers(9, "expansion")
remainder, changes = largest_found(expanded, start)
wrong_sign, _ = largest_found(lambda raw: expanded(raw, order=-1.0), start, steps=20)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-9", observed=remainder, control=wrong_sign["climbed"])

# %% [markdown]
# ```{prf:lemma} no. 10 of the paper: the top eigenvector between two steps
# :label: nl-lem-10
# :nonumber:
# If $c_t>0$ and $\lambda_i(t)>0$ for all $i$, then $|d_t-c_{t+1}|\le\nu_t(1-c_t)$ with
# $\nu=2\kappa L^2(1+\mu c)+2L\lambda_{\mathrm{gap}}^{-1}\sqrt{\mu(1+\mu c)}$.
# ```
#
# With $\kappa=8/\lambda_{\mathrm{gap}}^2$ every term is known. Where $L=0$ both sides vanish.


# %%
def turning(raw, factor=2.0):
    field, w = AffineField.of(raw[:, :-1]), normalize(raw[:, -1], dim=-1)
    step = power_step(field(w), w)
    ratio = turning_ratio(step, field(step.image), field.lipschitz, factor)
    positive = (step.lowest > 0) & (field.lipschitz > 1e-4 * step.gap)
    return torch.where(positive, within(step, ratio), -torch.inf)


start = free_numbers(12, "turning")
turned, turns = largest_found(turning, start)
half_turn = largest_found(lambda raw: turning(raw, factor=1.0), start)[0]["climbed"]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-10", observed=turned, control=half_turn)

# %% [markdown]
# ```{prf:lemma} no. 11 of the paper: convergence near the start
# :label: nl-lem-11
# :nonumber:
# Let $c_0>0$, $B_\gamma=\{w:\lVert w-w(0)\rVert\le R\}$ with $R=\frac{\sqrt{2(1+\gamma)(1-c_0)}}{1-\sqrt\gamma}$, and $\sup_{B_\gamma}(\mu+\nu)\le\gamma<1$. Then $c_t$ increases
# to 1, $w(t)$ stays in $B_\gamma$ and converges to a $w_*$ that is the maximal eigenvector of $A(w_*)$.
# ```
#
# Weyl's inequality and the $\sin2\theta$ theorem bound $\mu+\nu$ over $B_\gamma$ from above; a start counts where this bound certifies a $\gamma<1$ and
# $A$ is positive definite in $B_\gamma$. Tested are $1-c_{t+1}\le\gamma(1-c_t)$, the rate of paper (214) that carries the proof, and $\lVert w(t)-w(0)\rVert\le R$. Without
# positive definiteness, which the lemma does not ask for, the statement is false: with $L=0$ and eigenvalues $1,0,-1$, $\mu+\nu=0$ and $c_t$ does not rise to 1.


# %%
def near_start(raw, lipschitz=1.0, change=lambda a: a):  # in units of the field's L
    field = AffineField.of(raw[:, :-1])
    base = change(field.base)
    field = replace(field, base=base, lipschitz=lipschitz * field.lipschitz)
    top = torch.linalg.eigh(base).eigenvectors[..., -1]
    return field, normalize(top + 0.1 * raw[:, -1], dim=-1)


def converging(raw, steps=20, power=1.0, positive=True, **field):
    """Ratios of rate and distance `[2, run]`; −∞ for a start that does not count."""
    field, w = near_start(raw, **field)
    check = check_region(field, w, field.lipschitz, steps, power)
    counts = (check.lowest > 0) if positive else ~check.gamma.isnan()
    return torch.where(counts, torch.stack((check.fall, check.reach)), -torch.inf)


# %%
start, names = free_numbers(12, "region"), ("rate", "distance from the start")
near_limit = dict(zip(names, converging(start).amax(-1).tolist(), strict=True))
near_limit["rate, L = 0"] = float(converging(start, lipschitz=0.0)[0].max())
first_step, regions = largest_found(lambda raw: converging(raw, 1)[0], start, steps=60)
near_limit["rate, climbed"] = first_step["climbed"]
squared = float(converging(start, power=2.0)[0].max())  # γ² in place of γ
loose = float(converging(start, positive=False, change=without_trace)[0].max())

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-11", observed=near_limit, control=squared, outside=loose)


# %% tags=["hide-input"]
def relative_size(raw):
    a, change = matrix_and_change(raw)
    top = torch.linalg.eigvalsh(a)[:, -2:]
    return torch.linalg.eigvalsh(change).abs().amax(-1) / (top[:, 1] - top[:, 0])


def lipschitz(raw):  # in units of the gap of A0
    return 0.05 * raw[:, -2, 0].exp()


def seen_in_step(bound):
    return lambda raw: within(one_step(raw), bound(one_step(raw)))


def falling(raw):
    return converging(raw)[0]


ratio_7 = seen_in_step(shortfall_ratio)
ratio_8 = seen_in_step(displacement_ratio)

# %% tags=["hide-input", "remove-output"]
panels = (
    (7, near_top, ratio_7, lambda raw: one_step(raw).short_c, "$1-c_t$"),
    (8, moves, ratio_8, lambda raw: one_step(raw).ratio, r"$\lambda_2/\lambda_1$"),
    (9, changes, expanded, relative_size, r"$\|\delta A\|/\lambda_{\mathrm{gap}}$"),
    (10, turns, turning, lipschitz, r"$L/\lambda_{\mathrm{gap}}(A_0)$"),
    (11, regions, falling, lipschitz, r"$L/\lambda_{\mathrm{gap}}(A_0)$"),
)
fig, axes = plt.subplots(2, 3, figsize=(7, 4.4), sharey=True, layout="constrained")
for ax, (lemma, seen, ratio, across, label) in zip(axes.flat, panels, strict=False):
    x, y = across(seen).cpu(), ratio(seen).cpu()
    ax.semilogx(x[:-10], y[:-10], ".", color="0.6", ms=3, label="random")
    ax.semilogx(x[-10:], y[-10:], "kx", label="climbed to")
    ax.axhline(1, color="k", linestyle="--", linewidth=1, label="the bound")
    ax.set(title=f"Lemma {lemma}", xlabel=label, ylim=(0, 1.1))
for ax in axes[:, 0]:
    ax.set_ylabel("left / right side")
axes[1, 2].axis("off")
axes[1, 2].legend(*axes[0, 0].get_legend_handles_labels(), loc="center")
glue.figure(plt.gcf(), "plot-lem-7")

# %% [markdown]
# ```{glue:figure} plot-lem-7
# :alt: Five panels of dots and crosses below a dashed line at one; crosses touch the line for Lemmas 7 and 8 of the paper, come near it for Lemmas 10 and 11 and reach two thirds of it for Lemma 9.
# :name: plot-lem-7
#
# How sharp the five lemmas are: left over right side for random cases (dots) and after gradient ascent (crosses). No point lies above the dashed line. The crosses of Lemma 9 of the paper gather where the perturbation is half the gap, so that two eigenvalues can meet; those of Lemma 10 where the field hardly moves.
# ```

# %% [markdown]
# ## What augmentation removes
#
# If views are $R(t)x_0$ with $t$ uniform over a one-parameter group of rotations and $\alpha$ depends on the $x_0$ alone, then $\mathcal E_\alpha(R(t)w)=\mathcal E_\alpha(w)$ (Appendix B.5 of the paper):
# no filter that the group moves can be a *strict* local optimum. Filters that it leaves in place, such as the poles of a rotation of $\mathbb R^3$, can.

# %%
from contrastive_dynamics.nonlinearity.one_filter.rotation_augmentation import (
    augmentation_angles,
    augmented_energy,
    orbit_variation,
    plane_generator,
    rotations,
)


def draw(run, purpose, *size):
    return torch.randn(*size, generator=stream(seed, run, purpose))


x = torch.stack([draw(k, "data", 20, 3) for k in range(8)])
plane = torch.stack([draw(k, "plane", 2, 3) for k in range(8)])
spin = plane_generator(plane[:, 0], plane[:, 1])
w = uniform_on_sphere([stream(seed, k, "start") for k in range(8)], 3)
turned = rotations(spin, torch.linspace(0, 6.2, 61))
orbit = torch.einsum("rtij,rj->rti", turned, w)
importances = {"uniform α": None, "Gaussian α": gaussian_importance(x, 1.0)}


# %%
def variation(half_width, alpha, samples=4096):
    angles = augmentation_angles(samples, half_width, x)
    views = rotations(spin, angles)
    e = augmented_energy(orbit, x, views, relu, alpha)
    return float(orbit_variation(e).max())


whole = {name: variation(math.pi, alpha) for name, alpha in importances.items()}
half = {name: variation(math.pi / 2, alpha) for name, alpha in importances.items()}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("app-b5", observed=whole, control=half)

# %%
x = torch.stack([draw(k, "data", 9, 2) for k in range(20)])
spin = plane_generator(*torch.eye(2)).expand(20, 2, 2)
filters = on_circle(circle_grid(360, x)).expand(20, -1, -1)


def strict_maxima(half_width):
    # 360 rotations on the 360 angles of the grid: an exact group
    angles = augmentation_angles(360, half_width, x)
    views = rotations(spin, angles)
    e = augmented_energy(filters, x, views, relu)
    return count_maxima(e, rounding=4096)


most, least = int(strict_maxima(math.pi).max()), int(strict_maxima(math.pi / 2).min())


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("app-b5-a", observed=most, control=least)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5.5, 3.2))
for half_width, style in (
    (math.pi, "-"),
    (math.pi / 2, "--"),
    (math.pi / 8, "-."),
    (0.01, ":"),
):
    views = rotations(spin[:1], augmentation_angles(360, half_width, x))
    e = augmented_energy(filters[:1], x[:1], views, relu)[0]
    angle, label = (
        circle_grid(360, x).cpu() / math.pi,
        f"±{half_width / math.pi:.3g} π",
    )
    ax.plot(angle, (e / e.max()).cpu(), "k" + style, label=label)
ax.set(xlabel="angle of the filter / π", ylabel="energy / largest")
ax.legend(title="rotations", fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
glue.figure(plt.gcf(), "plot-app-b5")

# %% [markdown]
# ```{glue:figure} plot-app-b5
# :alt: Energy on the circle for rotations within growing ranges: bumpy for a small range, flat for the whole group.
# :name: plot-app-b5
#
# Appendix B.5 of the paper. Energy of one population as the range of rotations grows to the whole group: the local optima vanish and the energy becomes flat.
# ```

# %% [markdown]
# ## Two layers: the flow
#
# $f_{1}=[h(w_{km}^\top x_k)]_{km}$ collects the outputs of the filters, $f_2=Vf_1$ is the network and $S=V^\top V$. The gated inputs
# $\tilde x_{km}=x_kh'(w_{km}^\top x_k)$, stacked over fields and filters, make one long vector $\tilde x$.
#
# ```{prf:lemma} no. 4 of the paper: the flow of both layers
# :label: nl-lem-4
# :nonumber:
# Under {prf:ref}`Assumption 1 <nl-homogeneous>` and with {prf:ref}`stop-gradient <nl-stop-gradient>`,
# $\dot V=V\,\mathbb C_\alpha[f_1]$ and $\dot w=P^\perp_w\bigl[(S\otimes1_d1_d^\top)\circ\mathbb C_\alpha[\tilde x]\bigr]w$, with one projection
# for each filter in $P^\perp_w$.
# ```
#
# The other side is the gradient of the loss itself through the network: InfoNCE, or the energy summed pair by pair.

# %%
from contrastive_dynamics.losses.gated_covariance import project_out
from contrastive_dynamics.nonlinearity.two_layers.two_layer_flow import (
    hidden_layer,
    top_layer_after,
    two_layer_velocity,
)


def views_and_weights(purpose):
    draw = stream(seed, 0, purpose)
    x, noise = torch.randn(2, 40, 3, 5, generator=draw)
    w, v = torch.randn(3, 4, 5, generator=draw), torch.randn(6, 12, generator=draw)
    leaves = (v / 4).requires_grad_(), normalize(w, dim=-1).requires_grad_()
    return x, x + 0.3 * noise, leaves


# %%
def pair_energy(f, f_view, alpha):
    apart, views = (f[:, None] - f).square().sum(-1), (f - f_view).square().sum(-1)
    return (alpha * (apart - views[:, None])).sum() / (4 * len(f) ** 2)


def objective(kind, x, f, f_view):
    if kind == "InfoNCE":
        loss = infonce_loss(f, f_view, 5.0, 1.0)
        return loss / (-2 * len(f) ** 2), infonce_importance(f, f_view, 5.0, 1.0)
    x = x.flatten(1)
    alpha = uniform_importance(x) if kind == "uniform" else gaussian_importance(x, 10.0)
    return pair_energy(f, f_view, alpha), alpha


# %%
def lem_4_error(name, kind, project=project_out):
    (x, x_view, (v, w)), act = views_and_weights("lem-4"), activation(name)
    unit = w / w.norm(dim=-1, keepdim=True)
    f, f_view = (
        act.h(torch.einsum("nkd,kmd->nkm", y, unit)).flatten(1) @ v.mT
        for y in (x, x_view)
    )
    energy, alpha = objective(kind, x, f, f_view)
    expected = torch.autograd.grad(energy, (v, w))
    v, w = v.detach(), w.detach()
    top, flow = two_layer_velocity(x, x_view, w, v, act, alpha, projected=False)
    return float(max(map(relative_errors, (top, project(w, flow)), expected)))


# %%
def one_projection(w, g):  # I − wwᵀ/‖w‖² of the long vector
    return g - w * (w * g).sum() / w.square().sum()


others = {
    "one projection for all filters": one_projection,
    "no projection": lambda w, g: g,
}
cases = list(product(ACTIVATIONS, ("uniform", "Gaussian", "InfoNCE")))
error = max(lem_4_error(*case) for case in cases)
mistakes = {n: min(lem_4_error(*case, p) for case in cases) for n, p in others.items()}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-4", observed=error, control=mistakes)

# %% [markdown]
# As in Lemma 3 of the paper, $x^2$ brings the factor $1/p=\tfrac12$ in $\dot w$.
#
# At fixed filters $\dot V=V\,\mathbb C_\alpha[f_1]$ is solved by an exponential. Its direction ends at $V=us^\top$ with the top eigenvector $s$, so
# $S=ss^\top$. The paper calls this necessary for a stationary point; a layer $us'^\top$ with any other eigenvector rests as well, unstably.


# %%
def top_layer_error(rank):
    x, x_view, (v, w) = views_and_weights("lem-4-a")
    v, w = v.detach(), w.detach()
    f, f_view = (hidden_layer(y, w, relu)[1] for y in (x, x_view))
    c = contrastive_covariance(f, f_view, uniform_importance(f))
    end = top_layer_after(v, c, 1e4)
    s = torch.linalg.eigh(c)[1][:, -rank]
    return float((end.mT @ end - torch.outer(s, s)).norm())


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-4-a", observed=top_layer_error(1), control=top_layer_error(2))

# %% [markdown]
# ## Two layers: linear filters stay colinear
#
# A receptive field $k$ has $M$ filters $w_{km}$; the top layer weighs them by $s_{km}$ when it has converged.
#
# ```{prf:assumption} no. 2 of the paper, second part: fast top layer
# :label: nl-fast-top
# :nonumber:
# $V$ is trained fast and has always converged to its stationary point given $\mathbb C_\alpha[f_1]$. That is, $S=ss^\top$ has rank one, with
# the unique top eigenvector $s$ of $\mathbb C_\alpha[f_1]$.
# ```
#
# ```{prf:theorem} no. 4 of the paper: linear filters
# :label: nl-thm-4
# :nonumber:
# With linear activation and a {prf:ref}`fast top layer <nl-fast-top>` $\dot w_{km}=s_{km}b_k(W,V)$ (14), where
# $b_k=\mathbb C_\alpha\bigl[x_k,\sum_{k',m'}s_{k'm'}w_{k'm'}^\top x_{k'}\bigr]$. So (1) the gradients of one field are colinear; (2) if $s_{km}\ne0$,
# from any critical point with distinct $w_{km}$ a path of critical points leads to identical filters.
# ```
#
# The first part needs $S$ of rank one and no projection on the sphere.


# %%
def fields_of(seed, purpose):
    g = stream(seed, 0, purpose)
    x = torch.randn(400, 24, generator=g) @ torch.randn(24, 24, generator=g)
    return x.view(400, 4, 6), g


def sideways(seed, act=linear, rank=1, project=False):
    x, g = fields_of(seed, "thm-4")
    w = normalize(torch.randn(4, 5, 6, generator=g), dim=-1)
    gram = rank_one_gram(top_direction(x, w, act))
    for _ in range(rank - 1):
        gram = gram + rank_one_gram(torch.randn(4, 5, generator=g) / 20**0.5)
    v = two_layer_gradient(x, w, gram, act)
    v = project_out(w, v) if project else v
    return float(colinearity(v).max())


# %%
others = {"ReLU": {"act": relu}, "rank-2 S": {"rank": 2}, "with P⊥": {"project": True}}
off_line = max(sideways(s) for s in block)
otherwise = {n: min(sideways(s, **other) for s in block) for n, other in others.items()}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-4", observed=off_line, control=otherwise)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5, 2.6))
values = [off_line, *otherwise.values()]
ax.hlines(range(4), 1e-17, values, color="0.6")
ax.semilogx(values, range(4), "ko")
ax.axvline(1e-10, color="k", linestyle=":", label="rule: at most $10^{-10}$")
ax.set_yticks(range(4), ["linear", *otherwise])
ax.set(xlim=(1e-17, 3), xlabel=r"$\sigma_2/\sigma_1$ of a field's gradients")
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), fontsize=8)
glue.figure(plt.gcf(), "plot-thm-4")

# %% [markdown]
# ```{glue:figure} plot-thm-4
# :alt: The second singular value of a field's gradients is at machine precision for the linear network and near one tenth for ReLU, rank-two S and projected gradients.
# :name: plot-thm-4
#
# Theorem 4 of the paper. Only the linear network with a top layer of rank one and without projection has colinear gradients.
# ```

# %% [markdown]
# The proof of the second part swaps two filters at fixed $s$ and takes the straight path between paper (163). Swapping is critical only if the two
# filters have the same $s$. What is conserved is $\sum_ms_{km}w_{km}$: the straight path to filters that are all equal to
# $\sum_ms_{km}w_{km}/\sum_ms_{km}$ consists of critical points, so at fixed $s$ the statement itself stands.


# %%
def off_critical(seed, path, agree=False):
    x, g = fields_of(seed, "thm-4-a")
    x[..., -1] = 0  # no data in this direction, so that the filters need not vanish
    s = 0.2 + torch.rand(4, 5, generator=g)
    s, c = (torch.ones_like(s) if agree else s), field_covariances(x)
    w = critical_filters(s, c, g)
    return float(path_gradient(path, w, s, c))


# (163) prints the first path; the second leads to Σ s w / Σ s
swapped = max(off_critical(s, swap_path) for s in block)
agreeing = max(off_critical(s, swap_path, agree=True) for s in block)
straight = max(off_critical(s, mean_path) for s in block)


def squared_path(w, a, s):
    return mean_path(w, a, s.square())


by_square = min(off_critical(s, squared_path) for s in block)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-4-a", observed=swapped, mended=straight, planted=agreeing, control=by_square
)

# %% tags=["hide-input", "remove-output"]
g = stream(0, 0, "figure")
s = 0.2 + torch.rand(1, 3, generator=g)
c = field_covariances(
    torch.randn(200, 1, 4, generator=g) * torch.tensor([2.0, 1, 1, 0])
)
w, shares = critical_filters(s, c, g), torch.linspace(0, 1, 41)
fig, ax = plt.subplots(figsize=(5, 3))
for path, style, label in (
    (swap_path, "k-", "printed: swap two filters, (163)"),
    (mean_path, "k--", r"mended: to $\sum s_m w_m/\sum s_m$"),
):
    gram = rank_one_gram(s)
    norms = [linear_gradient(path(w, a, s), gram, c).norm().item() for a in shares]
    ax.plot(shares.cpu(), norms, style, label=label)
ax.set(
    xlabel="position $c$ on the path ($c=1$: the critical point)",
    ylabel="norm of the gradient (14)",
)
ax.legend(fontsize=8)
glue.figure(plt.gcf(), "plot-thm-4-a")

# %% [markdown]
# ```{glue:figure} plot-thm-4-a
# :alt: The gradient along the printed path rises as it leaves the critical point; along the mended path it is zero.
# :name: plot-thm-4-a
#
# Theorem 4 of the paper, second part. The printed path leaves the critical set, the mended one stays in it.
# ```

# %% [markdown]
# With the projection of paper (12) and a fast top layer, linear filters are not colinear on the way but end at one direction a field, $w_{km}=\pm w_k$.


# %%
def trained_spread(act):
    g = [stream(s, 0, "thm-4-b") for s in block]
    x, mix, w = (
        torch.stack([torch.randn(*shape, generator=k) for k in g])
        for shape in ((200, 18), (18, 18), (3, 5, 6))
    )
    x = (x @ mix).view(-1, 200, 3, 6)
    w = train_unit_filters(x, normalize(w, dim=-1), act, 600)
    return filter_spread(w)


spread = float(trained_spread(linear).max())
spread_relu = float(trained_spread(relu).min())

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-4-b", observed=spread, control=spread_relu)

# %% [markdown]
# ## Two layers: a global variable
#
# From here on the rest of Assumption 2 of the paper is needed, too.
#
# ```{prf:assumption} no. 2 of the paper, first part: uniform importance, large batch, no augmentation
# :label: nl-uniform
# :nonumber:
# $\alpha\equiv1$, $N\to\infty$, and views are the samples themselves. Then $\mathbb C_\alpha[g]=\mathbb V[g]$ for any $g$, by Corollary 1.
# ```
#
# ```{prf:assumption} no. 2 of the paper, third part: conditional independence
# :label: nl-independent
# :nonumber:
# The inputs of the fields are independent given a global variable $z$ that takes $C$ values:
# $\mathbb P[x\mid z]=\prod_k\mathbb P[x_k\mid z]$ (13).
# ```
#
# Write $z\in\{0,\dots,C-1\}$ and $p_c=\mathbb P[z=c]$.
#
# ```{prf:lemma} no. 5 of the paper: the variance splits
# :label: nl-lem-5
# :nonumber:
# Under {prf:ref}`conditional independence <nl-independent>`,
# $\mathbb V[\tilde x]=\operatorname{diag}_k[L_k]+\sum_cp_c(1-p_c)^2\Delta(c)\Delta(c)^\top$ with $L_k=\mathbb E_z\mathbb V[\tilde x_k|z]$ and
# $\Delta(c)=\mathbb E[\tilde x|z=c]-\mathbb E[\tilde x|z\ne c]$.
# ```
#
# Each field has a few points, so every input can be enumerated with its probability. The right side never sees two fields together.

# %%
from contrastive_dynamics.nonlinearity.two_layers.conditional_independence import (
    ConditionalFields,
    binary_moments,
    decomposed_variance,
    enumerate_inputs,
    mended_strength,
    modulated_velocity,
    printed_strength,
    random_fields,
    strength,
)


def lem_5_error(name, c, power=2):
    draw, act = [stream(s, c, "lem-5") for s in block], activation(name)
    model = random_fields(draw, c, 3, 5, 4)
    w = torch.stack([torch.randn(3, 2, 4, generator=g) for g in draw])
    x, p = enumerate_inputs(model)
    gated = hidden_outputs(x, w, act)[0].flatten(2)  # [run, input, KMd]
    centred = gated - torch.einsum("rn,rni->ri", p, gated)[:, None]
    expected = torch.einsum("rn,rni,rnj->rij", p, centred, centred)
    ours = decomposed_variance(model, w, act, power)
    return relative_errors(ours, expected, batch=1).tolist()


# %%
cases = list(product(ACTIVATIONS, (2, 3, 5)))
error = max(e for case in cases for e in lem_5_error(*case))
not_squared = min(e for case in cases for e in lem_5_error(*case, power=1))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-5", observed=error, control=not_squared)

# %% [markdown]
# The second term has rank $C-1$ at most, one less than the proof says, because $\sum_cp_c(1-p_c)\Delta(c)=0$.
#
# With $z$ binary and one filter a field the top layer can be solved for: $s_k=b_k/(Z(\lambda-d_k))$, where $d_k=w_k^\top L_kw_k$,
# $b_k=w_k^\top\Delta_k$, $\lambda$ is the top eigenvalue of $\mathbb V[f_1]=\operatorname{diag}(d)+p_0p_1bb^\top$ and $Z$ normalises.
#
# ```{prf:theorem} no. 5 of the paper: global modulation
# :label: nl-thm-5
# :nonumber:
# Under Assumption 2 ({prf:ref}`uniform importance <nl-uniform>`, {prf:ref}`fast top layer <nl-fast-top>`,
# {prf:ref}`conditional independence <nl-independent>`), for $C=2$ and $M=1$, $\dot w_k=P^\perp_{w_k}(s_k^2A_k+\delta_k\Delta_k\Delta_k^\top)w_k$ with
# $\delta_k=\frac{p_0p_1}{Z^2(\lambda-d_k)}\sum_{k'\ne k}\frac{b_{k'}^2}{\lambda-d_{k'}}\ge0$ (143).
# ```
#
# A fast top layer makes the energy $\tfrac12\lambda_{\max}(\mathbb V[f_1])$, a function of the filters alone. Its gradient, by automatic
# differentiation through the eigenvalue of the enumerated population, knows nothing of $L_k$, $\Delta_k$ or paper (143). The line below paper (143) also prints
# $\delta_k=1-p_0p_1b_k^2/(\lambda-d_k)$. There $1/(Z^2(\lambda-d_k))$ is missing; its mean with the weights $p_0p_1b_k^2/(\lambda-d_k)$ is
# $p_0p_1\le\tfrac14$, so it is never 1 for all fields. Only a single field, where $\delta=0$, hides it.


# %%
def fields_and_filters(purpose, k=4, runs=1):
    draw = [stream(s, run, purpose) for s in block for run in range(runs)]
    model = random_fields(draw, 2, k, 5, 4)
    w = torch.stack([torch.randn(k, 4, generator=g) for g in draw])
    first = normalize(model.points[:, :, 0], dim=-1)  # opens its filter: none is off
    return model, normalize(first + 0.9 * normalize(w, dim=-1), dim=-1)


def enumerated_outputs(model, w, act):
    x, p = enumerate_inputs(model)
    f = act.h(torch.einsum("rnkd,rkd->rnk", x, w))
    return f - torch.einsum("rn,rnk->rk", p, f)[:, None], p


# %%
def thm_5_error(name, modulation=strength, k=4):
    (model, w), act = fields_and_filters("thm-5", k), activation(name)
    flow = modulated_velocity(model, w, act, modulation=modulation)
    w.requires_grad_()
    f, p = enumerated_outputs(model, w / w.norm(dim=-1, keepdim=True), act)
    variance = torch.einsum("rn,rni,rnj->rij", p, f, f)
    energy = torch.linalg.eigvalsh(variance)[:, -1].sum() / 2
    return relative_errors(flow, *torch.autograd.grad(energy, w), batch=1).tolist()


# %%
def with_itself(m):  # the sum of (143) over every field
    return 1 / ((m.b / m.gap).square().sum(-1, keepdim=True) * m.gap)


def thm_5_worst(modulation, k=4):
    return max(max(thm_5_error(name, modulation, k)) for name in ACTIVATIONS)


others = {"no modulation": lambda m: 0 * m.b, "field k in the sum": with_itself}
without = {
    n: min(min(thm_5_error(name, other)) for name in ACTIVATIONS)
    for n, other in others.items()
}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-5", observed=thm_5_worst(strength), control=without)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-5-a",
    observed=thm_5_worst(printed_strength),
    mended=thm_5_worst(mended_strength),
    planted=thm_5_worst(printed_strength, k=1),
    control=without["no modulation"],
)

# %% tags=["hide-input", "remove-output"]
m = binary_moments(*fields_and_filters("thm-5"), relu)
exact = strength(m).flatten().cpu()
fig, ax = plt.subplots(figsize=(4.5, 3.4))
ax.loglog(exact, printed_strength(m).flatten().cpu(), "k.", label="as printed")
ax.loglog(exact, mended_strength(m).flatten().cpu(), "ko", mfc="none", label="mended")
ax.axline((0.01, 0.01), (1, 1), color="0.6", linewidth=1)
ax.set(xlabel=r"$\delta_k$ of (143)", ylabel=r"second form of $\delta_k$")
ax.legend(fontsize=8)
glue.figure(plt.gcf(), "plot-thm-5-a")

# %% [markdown]
# ```{glue:figure} plot-thm-5-a
# :alt: The mended second form lies on the diagonal against the first form; the printed one lies off it, near 1 for weak fields.
# :name: plot-thm-5-a
#
# Theorem 5 of the paper. The strength of the modulation of each field, in its second form against paper (143). The line is equality.
# ```

# %% [markdown]
# ## Global modulation: a race
#
# ```{prf:assumption} of Theorem 6 of the paper: structure
# :label: nl-structure
# :nonumber:
# $A_k(w)=\sum_lg(u_l^\top w)\,u_lu_l^\top$ with orthonormal $u_l$ and a linear increasing function $g>0$.
# ```
#
# Then the coordinates $y_l=u_l^\top w$ grow each on its own, up to the projection: $\dot y_l=(y_l+b_l)y_l$, where the slope of $g$ is taken as 1
# and modulation adds to the $b_l$.

# %%
pairs = [(y0, b) for y0 in (0.01, 0.1, 0.5, 1.0) for b in (0.1, 0.5, 1.0, 3.0)]


def time_error(y0, b, factor=1.0):
    formula = factor * float(blow_up_time(torch.tensor(y0), torch.tensor(b)))
    return abs(formula / integrated_blow_up(y0, b) - 1)


def limit_error(y0, b):
    end = modulated_growth(*map(torch.tensor, (-y0, b, 60.0)))
    return abs(float(end) / -b - 1)


errors = {"blow-up time": max(time_error(*c) for c in pairs)}
errors["limit −b"] = max(limit_error(y0, b) for y0, b in pairs if b >= 0.5)
without_b = max(time_error(y0, b, factor=b) for y0, b in pairs)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-7", observed=errors, control=without_b)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5, 3.2))
b = torch.tensor(1.0)
for y0, style in (
    (0.05, "-"),
    (0.2, "--"),
    (0.5, "-."),
    (-0.05, ":"),
    (-0.8, (0, (8, 2, 1, 2, 1, 2))),
):
    y = torch.tensor(y0)
    end = min(float(blow_up_time(y, b)), 6.0)
    t = torch.linspace(0, end * 0.999, 300)
    path = modulated_growth(y, b, t).cpu()
    ax.plot(
        t.cpu(),
        path,
        color="k",
        linestyle=style,
        lw=1 if y0 < 0 else 1.8,
        label=f"$y(0)={y0}$",
    )
    if y0 > 0:
        ax.axvline(end, color="0.8", linewidth=0.8)
ax.axhline(-1, color="0.6", linewidth=0.8)
ax.set(ylim=(-1.2, 5), xlabel="$t$", ylabel="$y(t)$, $b=1$")
ax.legend(fontsize=8, loc="center right")
glue.figure(plt.gcf(), "plot-fig-7")

# %% [markdown]
# ```{glue:figure} plot-fig-7
# :alt: Solutions of the one-dimensional growth: positive starts blow up at finite times, negative ones fall to minus b.
# :name: plot-fig-7
#
# Figure 7 of the paper. Positive starts blow up at $t^*$ (grey verticals), the larger the sooner; negative starts fall to −b. The caption's two critical points and the time are those of the paper.
# ```

# %% [markdown]
# ```{prf:theorem} no. 6 of the paper: modulation
# :label: nl-thm-6
# :nonumber:
# Under the {prf:ref}`structural assumption <nl-structure>`, adding $c\,u_lu_l^\top$, $c>0$, to $A_k$ widens the basin of $u_l$.
# ```
#
# On the sphere, where the filters live, the widening is seen. The proof's criterion is another matter: it drops the projection and lets the
# smallest $t^*$ win. In the plane the projected flow is decided by the larger $y_l+b_l$, exactly; in more dimensions neither criterion is exact.


# %%
def widening(seed, c, n=1000, d=10):
    y = uniform_on_sphere([stream(seed, k, "thm-6 start") for k in range(n)], d)
    return float(basin_share(y, c) - basin_share(y, 0.0))


gained = [widening(s, 0.5) for s in chapter.progress(block, "basins")]
lost = [widening(s, -0.5) for s in block]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-6", observed=gained, control=lost)

# %%
c = torch.linspace(-0.8, 0.8, 9)
b = torch.stack([1 + c, torch.ones_like(c)], -1)
boundary = circle_boundary(b, wins_flow)  # bisection of the flow itself
scores = {"time": earliest_blow_up, "rate": largest_rate, "start": lambda y0, b: y0}
predicted = {name: circle_boundary(b, wins_by(score)) for name, score in scores.items()}
off = {name: float((p - boundary).abs().max()) for name, p in predicted.items()}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-6-a", observed=off["time"], mended=off["rate"], control=off["start"])

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5, 3.2))
ax.plot(c.cpu(), boundary.cpu(), "ko", mfc="none", label="flow, by bisection")
ax.plot(c.cpu(), predicted["rate"].cpu(), "k-", label=r"$y_1+b_1=y_2+b_2$")
ax.plot(c.cpu(), predicted["time"].cpu(), "k--", label=r"printed: $t^*_1=t^*_2$")
ax.set(xlabel="advantage $c=b_1-b_2$ ($b_2=1$)", ylabel="smallest $y_1(0)$ that wins")
ax.legend()
glue.figure(plt.gcf(), "plot-thm-6-a")

# %% [markdown]
# ```{glue:figure} plot-thm-6-a
# :alt: The basin boundary found by bisection lies on the curve of equal y plus b and away from the curve of equal blow-up times.
# :name: plot-thm-6-a
#
# Theorem 6 of the paper in the plane. The circles are the boundary of the basin in the projected flow. They lie on the solid curve; the printed criterion (dashed) understates the effect of c.
# ```

# %% [markdown]
# In a network with binary $z$ and one filter a field, the top layer favours the token that separates the two values of $z$.
# We compare the same starts with and without the modulation term of paper (15), by normalised ascent, so that fields which the top layer
# weighs little still move.

# %%
from contrastive_dynamics.nonlinearity.two_layers.token_fields import (
    boosted_tokens,
    winning_tokens,
)


def drawn(seed, token, n=100, fields=4, d=6):
    w = uniform_on_sphere(
        [stream(seed, k, "thm-6-b filter") for k in range(n * fields)], d
    ).view(n, fields, d)
    model = boosted_tokens(fields, d, boost=0.5)
    ends = [
        winning_tokens(model, w, relu, on, steps=150, rate=0.2) for on in (1.0, 0.0)
    ]
    with_it, without = ((end == token).double().mean() for end in ends)
    return float(with_it - without)


to_delta = [
    drawn(s, token=0) for s in chapter.progress(block, "modulated networks")
]  # token 0 is that of Δ_k
to_other = [drawn(s, token=1) for s in block]

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-6-b", observed=to_delta, control=to_other)

# %% [markdown]
# ### How likely is each pattern?
#
# Model the start by $Y_l\sim U[-1,1]$ and the advantage by $\epsilon_l$: pattern $l$ wins if $Y_l>0$ and $Y_l+\epsilon_l$ is the largest (152) of the paper.
# For one $\epsilon_l\ne0$ the probability has the closed form (155) of the paper. It is tested against quadrature and against counting.


# %%
def quadrature_error(formula):
    eps, worst = torch.linspace(-1.95, 1.5, 24), 0.0
    for d in (2, 3, 5, 10, 20):
        vectors = torch.cat([eps[:, None], torch.zeros(24, d - 1)], -1)
        exact = winning_probability(vectors)[:, 0]
        worst = max(worst, float((exact - formula(eps, d)).abs().max()))
    return worst


single = single_modulation
error, one_less = (
    quadrature_error(single),
    quadrature_error(lambda eps, d: single(eps, d - 1)),
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("eq-155", observed=error, control=one_less)

# %%
from contrastive_dynamics.nonlinearity.one_filter.winning_probability import (
    count_score,
    winning_count,
)


def largest_score(start_positive=True, n=100_000):
    scores = []
    for d, e in product((2, 5, 10, 20), (-0.5, -0.25, 0.0, 0.4, 0.8)):
        eps = e * torch.eye(d)[0]
        draws = (stream(s, d, f"eq-155 {e}") for s in block)
        counts = [winning_count(eps, n, g, start_positive)[0] for g in draws]
        score = count_score(sum(counts), n * len(block), single(eps[0], d))
        scores.append(abs(float(score)))
    return max(scores)


score, unconditional = largest_score(), largest_score(start_positive=False)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("eq-155-a", observed=score, control=unconditional)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5, 3.2))
n, e, marks = 20_000, torch.linspace(-1.9, 1.4, 200), np.linspace(-1.0, 1.2, 9)
for d, style, marker in ((2, "-", "o"), (5, "--", "s"), (20, ":", "^")):
    ax.plot(e.cpu(), single(e, d).cpu(), color="k", linestyle=style, label=f"$d={d}$")
    for v in marks:
        draws = stream(seed, d, f"figure {v:.2f}")
        won = winning_count(v * torch.eye(d)[0], n, draws)[0]
        ax.plot(v, float(won) / n, marker, color="k", mfc="none", ms=4)
ax.set(xlabel=r"modulation $\epsilon_l$", ylabel=r"$P[E_l]$")
ax.legend(
    title="line: (155), mark: counted", loc="center left", bbox_to_anchor=(1, 0.5)
)
glue.figure(plt.gcf(), "plot-eq-155")

# %% [markdown]
# ```{glue:figure} plot-eq-155
# :alt: The probability of winning rises with the modulation from zero to one half; counted shares lie on the curves for 2, 5 and 20 patterns.
# :name: plot-eq-155
#
# Equation (155) of the paper beside counts of 20,000 draws. Without modulation the probability is about 1/d; positive modulation lifts it independently of d.
# ```

# %% [markdown]
# For several $\epsilon_l$ the paper gives a lower bound for the leader (156) and an upper bound by rank (157). Both hold in a region that the text
# does not state: no probability exceeds ½, so paper (156) fails for leads above 1, and (157) turns negative for gaps above 2.

# %%


def excesses(eps, excess, size, limit, mended, stronger):
    """Largest excess over a bound where size <= limit and beyond; over two others."""
    inside = size(eps) <= limit

    def short_inside(e):  # lower values outside, so that the climb turns back
        return torch.where(size(e) <= limit, excess(e), -size(e))

    found = {
        "random": excess(eps[inside]),
        "climbed": short_inside(climb(short_inside, eps[inside][:200])),
        "outside": excess(eps[~inside]),
        "mended": excess(eps, mended),
        "stronger": excess(eps[inside], stronger),
    }
    return {name: float(each.max()) for name, each in found.items()}


# %%
def lead(e):  # twice the bound (156)
    return 2 * leader_bound(e)


def modulations(purpose):
    draws = [3 * torch.rand(500, 5, generator=stream(s, 0, purpose)) for s in block]
    return torch.cat(draws)


eps = modulations("eq-156")
found = excesses(eps, leader_excess, lead, 1, leader_bound_mended, stronger=lead)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "eq-156",
    observed={name: found[name] for name in ("random", "climbed")},
    outside=found["outside"],
    mended=found["mended"],
    control=found["stronger"],
)


# %%
def spread(e):  # the largest gap
    return e.amax(-1) - e.amin(-1)


def half_bound(e):
    return rank_bound(e) / 2


eps_157, mended = modulations("eq-157"), rank_bound_mended
found = excesses(eps_157, rank_excess, spread, 2, mended, half_bound)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "eq-157",
    observed={name: found[name] for name in ("random", "climbed")},
    outside=found["outside"],
    mended=found["mended"],
    control=found["stronger"],
)

# %% tags=["hide-input", "remove-output"]
leads = lead(eps).cpu()
p = leads / 2 - leader_excess(eps).cpu()
line = np.linspace(0, float(leads.max()), 50)
fig, ax = plt.subplots(figsize=(5, 3.2))
ax.plot(leads, p, ".", color="0.55", ms=2, label="exact $P[E]$, random $\\epsilon$")
ax.plot(line, line / 2, "k--", label="printed bound: lead/2")
ax.plot(line, line.clip(max=1) / 2, "k-", label="mended: min(lead, 1)/2")
ax.set(xlabel=r"lead $\epsilon_{c(1)}-\epsilon_{c(2)}$", ylabel="probability")
ax.legend(fontsize=8)
glue.figure(plt.gcf(), "plot-eq-156")

# %% [markdown]
# ```{glue:figure} plot-eq-156
# :alt: Exact probabilities of the leader lie above half of the lead up to a lead of one and below it beyond.
# :name: plot-eq-156
#
# Equation (156) of the paper. The dots must lie above the bound: they do up to a lead of 1; beyond, no probability can exceed 1/2.
# ```

# %% [markdown]
# ## Two layers: BatchNorm
#
# BatchNorm after the activation, $f^{bn}=(f-\mu)/\sigma$ with the statistics of all $2N$ views, can back-propagate through both statistics, one of
# them or none. Write $\tilde x^{bn}_{km}=\tilde x_{km}/\sigma_{km}$.
#
# ```{prf:definition} no. 5 of the paper: mean-backprop BatchNorm
# :label: nl-mean-backprop
# :nonumber:
# The gradient is back-propagated through $\mu_k$ only; $\sigma_k$ is a constant to it.
# ```
#
# ```{prf:lemma} no. 6 of the paper: the flow under BatchNorm
# :label: nl-lem-6
# :nonumber:
# Under {prf:ref}`Assumption 1 <nl-homogeneous>` and with {prf:ref}`mean-backprop BatchNorm <nl-mean-backprop>`, $\dot V=V\,\mathbb C_\alpha[f^{bn}_1]$ and $\dot w=\bigl[(S\otimes1_d1_d^\top)\circ\mathbb C_\alpha[\tilde x^{bn}]\bigr]w$.
# ```
#
# $\mathbb C_\alpha$ does not see constants, so back-propagating $\mu$ changes nothing: there are two flows, not four. The other one, with $\sigma$
# back-propagated, has the further term $-(e_{km}/\sigma_{km})\,\partial\sigma_{km}/\partial w_{km}$ with
# $e_{km}=\sum S_{km,k'm'}\mathbb C_\alpha[f^{bn}_{km},f^{bn}_{k'm'}]$, and keeps the length of every filter. All four are compared with automatic
# differentiation of the layer, a statistic that is not back-propagated being a constant. Where outputs are normalised to unit length, $\mu$ does
# matter.

# %%
from contrastive_dynamics.nonlinearity.two_layers.batch_norm import (
    BACKPROPAGATED,
    batch_norm,
    batch_norm_velocity,
)


def lem_6_gradient(name, kind, back, unit=False):
    (x, x_view, (v, w)), act = views_and_weights("lem-6"), activation(name)
    f = (act.h(torch.einsum("nkd,kmd->nkm", y, w)).flatten(1) for y in (x, x_view))
    f, f_view = (y @ v.mT for y in batch_norm(*f, back))
    f, f_view = (normalize(y, dim=1) if unit else y for y in (f, f_view))
    energy, alpha = objective(kind, x, f, f_view)
    setting = x, x_view, w.detach(), v.detach(), act, alpha
    return torch.autograd.grad(energy, (v, w)), setting


def lem_6_error(name, kind, back, taken):
    expected, setting = lem_6_gradient(name, kind, back)
    flow = batch_norm_velocity(*setting, taken)
    return float(max(map(relative_errors, flow, expected)))


def through_the_mean(name, kind, back, unit=False):
    pair = (lem_6_gradient(name, kind, b, unit)[0] for b in back)
    return float(max(map(relative_errors, *pair)))


# %%
cases = list(product(ACTIVATIONS, ("uniform", "Gaussian", "InfoNCE")))
errors = {b: max(lem_6_error(*c, b, b) for c in cases) for b in BACKPROPAGATED}
swaps = ("mean", "both"), ("both", "mean"), ("variance", "none"), ("none", "variance")
swapped = {f"{b} as {t}": min(lem_6_error(*c, b, t) for c in cases) for b, t in swaps}
pairs = ("mean", "none"), ("both", "variance")
errors["through μ"] = max(through_the_mean(*c, pair) for c in cases for pair in pairs)
swapped["through μ, unit outputs"] = min(
    through_the_mean(*c, pair, unit=True) for c in cases for pair in pairs
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-6", observed=errors, control=swapped)

# %% [markdown]
# paper (166) has no projection, and its filters grow; on the sphere both sides take $P^\perp_w$.
#
# ```{prf:corollary} no. 3 of the paper: Theorem 5 with BatchNorm
# :label: nl-cor-3
# :nonumber:
# Under the conditions of Theorem 5 and with {prf:ref}`mean-backprop BatchNorm <nl-mean-backprop>`: with $A^{bn}_k=A_k/\sigma_k^2$, $d^{bn}_k=d_k/\sigma_k^2$, $\Delta^{bn}_k=\Delta_k/\sigma_k$ and the top eigenvalue $\lambda^{bn}$ of
# $\mathbb V[f^{bn}_1]$, $\dot w_k=\bigl[(s^{bn}_k)^2A^{bn}_k+\delta^{bn}_k\Delta^{bn}_k(\Delta^{bn}_k)^\top\bigr]w_k$, where
# $s^{bn}$ and $\delta^{bn}$ are those of Theorem 5 in these quantities, and $d^{bn}_k=1/(1+p_0p_1(w_k^\top\Delta_k)^2/d_k)$.
# ```
#
# Besides the flow, the eigenvector and $d^{bn}_k=\mathbb E_z\mathbb V[f^{bn}_k|z]$ are compared with their enumeration.


# %%
def normalised_variance(model, w, act, through=True):
    """V[f^bn] of the enumerated population, and V[f_k]; σ is a constant unless through."""
    f, p = enumerated_outputs(model, w, act)
    variance = torch.einsum("rn,rnk->rk", p, f.square())
    f = f / (variance if through else variance.detach()).sqrt()[:, None]
    return torch.einsum("rn,rni,rnj->rij", p, f, f), variance


def cor_3_error(name, variance_through=False):
    (model, w), act = fields_and_filters("cor-3"), activation(name)
    flow = modulated_velocity(model, w, act, batch_norm=True, projected=False)
    w.requires_grad_()
    variance, _ = normalised_variance(model, w, act, variance_through)
    energy = torch.linalg.eigvalsh(variance)[:, -1].sum() / 2
    return relative_errors(flow, *torch.autograd.grad(energy, w), batch=1).tolist()


# %%
def eigenvector_error(name):
    (model, w), act = fields_and_filters("cor-3"), activation(name)
    m = binary_moments(model, w, act, batch_norm=True)
    s = torch.linalg.eigh(normalised_variance(model, w, act)[0])[1][..., -1]
    ours = normalize(m.b / m.gap, dim=-1)
    ours = ours * (ours * s).sum(-1, keepdim=True).sign()
    return float((ours - s).abs().max())


def evenness_error(name):
    (model, w), act = fields_and_filters("cor-3"), activation(name)
    m = binary_moments(model, w, act)
    h = act.h(torch.einsum("rkad,rkd->rka", model.points, w))[:, None]
    mean = (model.given * h).sum(-1, keepdim=True)
    within = (model.given * (h - mean).square()).sum(-1)  # V[f_k | z]
    d = torch.einsum("rc,rck->rk", model.prior, within)
    closed = 1 / (1 + m.weight * m.b.square() / m.d)
    return float((closed - d / normalised_variance(model, w, act)[1]).abs().max())


# %%
errors = {
    "flow": max(max(cor_3_error(name)) for name in ACTIVATIONS),
    "eigenvector": max(map(eigenvector_error, ACTIVATIONS)),
    "d^bn": max(map(evenness_error, ACTIVATIONS)),
}
through = min(min(cor_3_error(name, True)) for name in ACTIVATIONS)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("cor-3", observed=errors, control=through)

# %% [markdown]
# The scale of a field drops out of $d^{bn}_k$. This is the sense of the remark that $d^{bn}_k$ is more uniform than $d_k$, measured by the
# ratio of the largest to the smallest. What BatchNorm does not even out is how much the fields tell of $z$: fields scaled so that all $d_k$ agree have unequal
# $d^{bn}_k$.


# %%
def evened_out(equal, shift):
    model, w = fields_and_filters("cor-3-a", runs=40)
    draw = [stream(s, 0, "scales") for s in block]
    scale = [(2 * torch.rand(40, 4, generator=g) - 1).exp() for g in draw]
    scale = binary_moments(model, w, relu).d.rsqrt() if equal else torch.cat(scale)
    points = model.points * scale[..., None, None]
    model = ConditionalFields(points, model.given, model.prior)
    d, d_bn = (binary_moments(model, w, relu, b).d for b in (False, True))
    d_bn = d * (d_bn / d).roll(shift, -1)  # with a shift: σ of another field
    return d.amax(-1) / d.amin(-1), d_bn.amax(-1) / d_bn.amin(-1)


def share_evened(equal=False, shift=0):
    before, after = evened_out(equal, shift)
    return {"hits": int((after < before).sum()), "trials": len(before)}


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "cor-3-a",
    observed=share_evened(),
    outside=share_evened(equal=True),
    control=share_evened(shift=1),
)

# %% [markdown]
# (nl-trained)=
# ## Two layers: trained networks
#
# The data of Section 5 of the paper are sequences of $K=10$ tokens. A generator such as `**C*B*A*D*` fixes the tokens of five places; each sequence fills the
# wildcards `*` with tokens drawn from all $d=20$. Place $k$ admits $P$ **candidate** tokens, from which its generators choose. The two views of a sample
# are two sequences of one generator, and token $a$ enters as the unit vector $e_a$. The network is that of the theory with BatchNorm and outputs of unit
# length,
#
# $$
# f=\frac{g}{\lVert g\rVert},\qquad g=\sum_{k,m}v_{km}\operatorname{BN}\bigl(h(w_{km}^\top x_k)\bigr),\qquad m=1,\dots,M=\beta P,
# $$
#
# trained by SGD on paper (1), a minibatch of 128 samples a step. Its **scores** say whether the filters of a place have found the candidates,
#
# $$
# \bar\chi_+=\frac1K\sum_k\frac1{|R_k^g|}\sum_{a\in R_k^g}\max_m\cos(w_{km},e_a),
# $$
#
# and $\bar\chi_-$, the same over the tokens outside $R_k^g$, whether they have found anything else (16), (180), (181) of the paper.


# %%
def written(tokens):  # A, B, C …, a wildcard as *
    return "".join("*" if t < 0 else chr(ord("A") + t) for t in tokens.tolist())


pool = author.pool([seed])
pair = pool.views([stream(seed, 0, "a pair to look at")], 1, 1)[0, 0]
print("generators:", *(written(p) for p in pool.patterns[0, :4]), "…")
print("two views: ", *(written(v) for v in pair))

# %% [markdown]
# The theory sees this as {prf:ref}`conditional independence <nl-independent>` with the generator for $z$, and a pair shares $z$ and nothing else.
# For $\alpha=1$ and a large batch Lemma 2 of the paper therefore gives
# $\mathbb C_\alpha[\tilde x]=\mathbb V_z\bigl[\mathbb E[\tilde x|z]\bigr]=\mathbb V[\tilde x]-\operatorname{diag}_k[L_k]$, with $L_k$ of Lemma 5 of the paper: this augmentation
# takes away what varies within a generator. {ref}`ex-generators` reads off what there is to learn. The experiments go beyond the theory: both layers are
# trained at the same rate, $\alpha$ is that of InfoNCE, and BatchNorm and weight decay take part
# ([what the paper leaves open](nl-open)).
#
# The text of the paper and the author's program {cite}`luckmatters` do not agree in everything. We train as the program does and look at what the text would
# change.
#
# | | text of the paper | author's program | here |
# |---|---|---|---|
# | learning rate | 0.002 | 0.02 in the published command | 0.02, and 0.002 beside it |
# | quadratic loss | paper (2) with $\alpha=1$ | the same over $\tau=0.1$, with unit outputs | as the program, and without $\tau$ beside it |
# | BatchNorm | not said for Figures 4 and 5 of the paper; statistics of all $2N$ views (164) | after $h$, statistics of first and second views apart, $\sigma$ not back-propagated, $\epsilon=10^{-5}$ | as the program; paper (164) and none beside it |
# | outputs | – | 50, divided by their length | as the program |
# | similarity, $\tau$ | paper (1), no value for $\tau$ | inner products over 0.1, the positive pair on the diagonal; with unit outputs this is paper (1) with $\epsilon=1$, over $\tau N$ | as the program |
# | start | – | uniform in $\pm1/\sqrt{\text{fan-in}}$, no biases | as the program |
# | cosine | $w^\top u/\lVert w\rVert$ | a thousandth of the largest weight of the place is added to $\lVert w\rVert$; absolute value for linear filters | as the program, and without the addition |
# | candidates $R_k^g$ | the $P$ tokens that place $k$ admits | those of them that some generator uses | as the program |
# | score (181) of the paper | divided by $P$ | mean over the other tokens | as the program |
# | momentum, weight decay, batch | 0.9, 0.005, 128 | the same | the same |
#
# ### The author's own run
#
# The author's repository {cite}`luckmatters` prints one run: $P=\beta=5$, ReLU, 5,000 minibatches. It ends at $\bar\chi_+=0.9982$, $\bar\chi_-=0.0026$.
# Here several networks of that configuration (`networks`) are trained in one program, each with generators, weights and
# minibatches of its own. A network has up to 50 candidates and about 150 other tokens, so the difference to the author's scores is given in tokens, times
# 50 and 150: one candidate missed is about one token in $\bar\chi_+$, one other token learned about one in $\bar\chi_-$.

# %%
from contrastive_dynamics.nonlinearity.networks.matching_curves import matching_curves
from contrastive_dynamics.nonlinearity.networks.matching_score import shows_candidate

AUTHOR = {"plus": 0.9982131, "minus": 0.0026302}  # the printed run
TOKENS = {"plus": 50, "minus": 150}
SIGN = {"plus": "χ₊", "minus": "χ₋"}
full_length = minibatches >= judged_at


def trained(label, arms):
    """Name of a configuration → scores over training and final filters of its networks."""
    return chapter.library_piece(label, matching_curves, arms, minibatches)


def off_by(curve):  # ours minus the author's at the end, in tokens
    gap = {k: TOKENS[k] * (curve[k][:, -1] - AUTHOR[k]) for k in AUTHOR}
    return {SIGN[k]: v.tolist() for k, v in gap.items()}


# %%
runs = trained(
    "author's configuration",
    {
        "author": (author, range(seed, seed + networks)),
        "BatchNorm (164)": (replace(author, views_apart=False), block[:3]),
        "rate 0.002": (replace(author, rate=2e-3), block[:3]),
    },
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "author-log",
    observed=off_by(runs["author"]),
    control=off_by(runs["rate 0.002"]),
    regime=full_length,
)

# %% [markdown]
# Where does the author's pair lie among ours? Counted are the networks that end at or below it.

# %%
from contrastive_dynamics.nonlinearity.networks.matching_score import matching_scores

for name, curve in runs.items():
    ends = {k: curve[k][:, -1] for k in AUTHOR}
    below = (f"{SIGN[k]} {int((ends[k] <= AUTHOR[k]).sum())}" for k in AUTHOR)
    print(f"{name}: {', '.join(below)} of {len(ends['plus'])} networks", end="; ")
    plain = matching_scores(curve["w"], curve["candidates"])[0].mean()
    print(f"mean χ₊ {float(ends['plus'].mean()):.4f}, by (16) {float(plain):.4f}")

# %% [markdown]
# The printed run is one like ours, with $\bar\chi_+$ near the lower edge of a very narrow distribution. At the rate of the text a network is nowhere near its
# end after 5,000 minibatches; the rate of the command fits. With the statistics of paper (164) the other tokens fade a little earlier, and $\bar\chi_+$ scatters
# more. What $\bar\chi_+$ lacks to one is mostly the addition to $\lVert w\rVert$ in the program's cosine: by paper (16) the scores are higher.

# %% tags=["hide-input", "remove-output"]
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.5), layout="constrained")
styles = {"author": "-", "BatchNorm (164)": "--", "rate 0.002": ":"}
for name, style in styles.items():
    curve = runs[name]
    for key, shade in (("plus", 0.0), ("minus", 0.55)):
        y, x = curve[key].cpu(), curve["step"].cpu()
        kind = "candidates" if key == "plus" else "other tokens"
        line = f"{name}, {kind}"
        left.plot(x, y.mean(0), linestyle=style, color=str(shade), label=line)
        left.fill_between(x, y.amin(0), y.amax(0), color=str(shade), alpha=0.15, lw=0)
left.set(xlabel="minibatches", ylabel=r"score $\barχ_+$, $\barχ_-$", ylim=(-0.05, 1.05))
left.legend(fontsize=7, loc="center right", bbox_to_anchor=(1, 0.7))
shown_runs = [runs[name] for name in ("author", "BatchNorm (164)")]
for name, marker in (("author", "ko"), ("BatchNorm (164)", "kx")):
    x, y = (runs[name][key][:, -1].cpu() for key in ("minus", "plus"))
    right.plot(x, 1 - y, marker, mfc="none", ms=5, label=f"{name}: a network")
right.plot(
    AUTHOR["minus"], 1 - AUTHOR["plus"], "k*", ms=13, label="the author's printed run"
)
ticks = [0.002, 0.003, 0.005, 0.01, 0.02, 0.05]
right.set(xlabel=r"$\barχ_-$ at the end", ylabel=r"$1-\barχ_+$ at the end")
right.set_yscale("log")
right.set_yticks(ticks, ticks, minor=False)
right.set_ylim(0.0012, 1.5 * max(1 - float(c["plus"][:, -1].min()) for c in shown_runs))
right.yaxis.set_minor_formatter("")
right.legend(fontsize=7)
glue.figure(plt.gcf(), "plot-author-log")

# %% [markdown]
# ```{glue:figure} plot-author-log
# :alt: Left, the score of the candidates rises to one and that of other tokens falls to zero by 4,000 minibatches at rate 0.02 and hardly moves at 0.002. Right, final scores of our networks with the author's run, a star, among them.
# :name: plot-author-log
#
# The author's configuration. Left: mean and range of both scores over training; look at the dotted lines, the rate that the text prints, which hardly leave their start. Right: the end of each network; the star is the author's printed run, see whether it lies among the circles.
# ```
#
# ### Filters are candidate tokens
#
# Figure 5 of the paper shows the filters for $P=3$, $\beta=5$: with ReLU they "clearly capture the 3 candidate tokens", with linear activation they do not, and
# "no noise token is learned". The caption has $d=8$, the text $d=20$; both are trained. A filter shows a token if their cosine is at least 0.9.
# Counted are the candidates that some filter shows, the other tokens that some filter shows, and the filters that show a candidate.

# %%
small = replace(author, candidates=3)
filters = trained(
    "filters",
    {
        (name, d): (replace(small, activation=name, tokens=d), block[:n])
        for name, (d, n) in product(("relu", "linear"), ((20, 8), (8, 6)))
    }
    | {("relu without BatchNorm", 20): (replace(small, batch_norm="off"), block[:3])},
)


# %%
def shown(name, d, kind=True, places_off=0):
    """Whether filter m of place k shows token a, of the candidates or of the others."""
    curve = filters[name, d]
    wanted = curve["candidates"].roll(places_off, 1) == kind
    return shows_candidate(curve["w"], wanted, absolute=name == "linear"), wanted


def share_of_tokens(*case, **options):
    on, wanted = shown(*case, **options)
    return (on.any(-2).sum((1, 2)) / wanted.sum((1, 2))).tolist()


def per_size(share, *case, **options):
    return {f"d = {d}": share(*case, d, **options) for d in (20, 8)}


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-5",
    observed=per_size(share_of_tokens, "relu"),
    control=per_size(share_of_tokens, "linear"),
    regime=full_length,
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-5-a",
    observed=per_size(share_of_tokens, "relu", kind=False),
    control=per_size(share_of_tokens, "relu", kind=False, places_off=1),
    regime=full_length,
)


# %%
def more_filters(name, d, **options):  # ReLU less linear, network by network
    ours, linear_ones = (shown(n, d, **options)[0] for n in ("relu", name))
    gap = ours.any(-1).double().mean((1, 2)) - linear_ones.any(-1).double().mean((1, 2))
    return gap.tolist()


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-5-b",
    observed=per_size(more_filters, "linear"),
    control=per_size(more_filters, "linear", places_off=1),
    regime=full_length,
)

# %% [markdown]
# What are the others? A ReLU filter whose weights are all negative is closed for every token: nothing moves it, and weight decay shrinks it. Linear
# filters would lie on one line by Theorem 4 of the paper if the top layer were fast; their singular values tell how many directions they fill.


# %%
def closed(w):  # share of filters that no token opens
    return float((w <= 0).all(-1).double().mean())


def singular_values(w):  # σ2, σ3, σ4 over σ1, mean over places and networks
    sigma = torch.linalg.svdvals(w)
    return [
        round(v, 2) for v in (sigma[..., 1:4] / sigma[..., :1]).mean((0, 1)).tolist()
    ]


for name, d in filters:
    w, found = filters[name, d]["w"], np.mean(share_of_tokens(name, d))
    what = (
        f"σ/σ1 {singular_values(w)}" if name == "linear" else f"closed {closed(w):.0%}"
    )
    print(f"{name}, d = {d}: {found:.0%} of the candidates shown, {what}")

# %% [markdown]
# So ReLU filters are candidates or closed, up to a few mixtures, and BatchNorm is not what makes them so. Linear filters are not on one line, as a fast top
# layer would have it: they fill about as many directions as there are candidates, in no preferred basis ({ref}`ex-generators`).

# %% tags=["hide-input", "remove-output"]
rows = [(name, d) for d in (20, 8) for name in ("relu", "linear")]
fig, axes = plt.subplots(4, 10, figsize=(8, 6.6), sharey=True)
shade = {"cmap": "PuOr", "vmin": -1, "vmax": 1, "interpolation": "nearest"}
for k, (case, row) in product(range(10), zip(rows, axes, strict=True)):
    w = filters[case]["w"][0, k].cpu()
    row[k].imshow(w / w.abs().max(), aspect="auto", **shade)
    at = filters[case]["candidates"][0, k].nonzero()[:, 0].cpu()
    row[k].plot(at, [-1.4] * len(at), "kv", ms=4, clip_on=False)
    row[k].set(xticks=[], yticks=[0, 14], yticklabels=[1, 15])
    row[k].set_xlabel(f"$R_{{{k}}}$", labelpad=2)
for (name, d), row in zip(rows, axes, strict=True):
    row[0].set_ylabel(f"{'ReLU' if name == 'relu' else name}, $d={d}$")
glue.figure(plt.gcf(), "plot-fig-5")

# %% [markdown]
# ```{glue:figure} plot-fig-5
# :alt: For ten places the weights of 15 filters over 20 and over 8 tokens. With ReLU dark positive entries stand below the three marked candidates, one a filter; with linear activation every filter has entries of either sign below all three candidates and weaker ones elsewhere.
# :name: plot-fig-5
#
# Figure 5 of the paper, one network for the text's $d=20$ (above) and one for the caption's $d=8$ (below). Each panel is a place, each row a filter, each column a token; the darker, the larger the weight, relative to the largest of the place, violet above and orange below zero. Triangles mark the candidates. Look at the rows of a panel: with ReLU most have one dark violet entry or none, below a triangle; with linear activation they have several, of either sign. The statements of the caption are seen.
# ```

# %% [markdown]
# (nl-grids)=
# ## Two layers: whole figures
#
# Figures 4, 9, 10, 11 and Table 1 of the paper vary the number $P$ of candidates, the over-parameterisation $\beta=M/P$, activation, loss, BatchNorm and token norms.
# The parameters `grid_p` and `grid_beta` say which cells are trained, `grid_seeds` and those beside it how many networks each has: by default four cells
# of Figures 4 and 9 of the paper, in the profile `paper` everything. Networks of one seed and one $P$ see the same generators and minibatches, whatever
# their activation, loss or BatchNorm, so they are compared pair by pair. A comparison is **clear** if the 95 % interval of its paired difference lies above
# zero, each for itself; a statement on a grid is held against the share of its comparisons that are clear, and does not enter the correction for many claims. Where text and
# program differ, the program is judged, and [both are shown](nl-text-program).

# %% tags=["hide-input"]
LOSS = {"InfoNCE": "infonce", "quadratic": "quadratic_over_tau"}
NORMS = [(zeta, name) for zeta in (2.0, 5.0, 10.0) for name in ("off", "mean")]
ACTS = tuple(TRAINED) if grid_activations == "all" else ("linear", "relu")
NORMS += [(10.0, name) for name in ("none", "variance", "both")]


def variants(p, beta):
    """Name of a variant → its configuration and seeds, in one cell of the grids."""
    cell = replace(author, candidates=p, beta=beta)
    count = {"InfoNCE": grid_seeds, "quadratic": grid_quadratic_seeds}
    arms = {}
    for act, loss in product(ACTS, LOSS):
        one = replace(cell, activation=act, loss=LOSS[loss])
        arms[loss, act] = one, count[loss]
        arms[f"{loss}, rate 0.002", act] = replace(one, rate=2e-3), grid_text_seeds
    for act in ACTS:
        unscaled = replace(cell, activation=act, loss="quadratic")
        arms["quadratic, τ = 1", act] = unscaled, grid_text_seeds
    for zeta, name in NORMS:
        normed = replace(cell, zeta=zeta, batch_norm=name)
        arms[f"ζ = {zeta:g}", name] = normed, grid_norm_seeds
    return {k: (t, range(seed, seed + n)) for k, (t, n) in arms.items() if n}


# %%
def trained_cell(p, beta):
    arms, label = variants(p, beta), f"P = {p}, β = {beta}"
    return chapter.library_piece(label, matching_curves, arms, minibatches, 2, ())


all_p, all_beta = sorted(set(grid_p)), sorted(set(grid_beta))
grid = {(p, b): trained_cell(p, b) for p, b in product(all_p, all_beta)}

# %%
many = [(p, b) for p, b in grid if p > 1 and b > 1]
one = [(p, b) for p, b in grid if p == 1]
one_filter = [(p, b) for p, b in one if b == 1]


def score(variant, case, cells, key="plus", networks=None, by_16=False):
    """The score at the end of training, `[cell, network]`; by_16: as (16) is printed."""
    runs = [grid[cell][variant, case] for cell in cells]
    column = ("plus", "minus").index(key)
    kept = [run["printed"][:, column] if by_16 else run[key][:, -1] for run in runs]
    return torch.stack(kept).double()[:, :networks]


# %%
def clear(gap):
    """Of the comparisons `[..., network]` the share that is clearly above zero."""
    n = gap.shape[-1]
    half = float(stats.t.ppf(0.975, n - 1)) * gap.std(-1) / n**0.5
    return float((gap.mean(-1) > half).double().mean())


def above(variant, case, other, cells, planted=0.0, **how):
    """The share in which one case is clearly above another; planted is added to the first."""
    ahead, behind = (score(variant, c, cells, **how) for c in (case, other))
    return clear(ahead - behind + planted)


def print_unclear(what, gaps, cells):
    """Name the cells whose gap, `[cell, network]`, is not clearly above zero."""
    rows = zip(cells, gaps, strict=True)
    open_cells = [
        f"{float(gap.mean()):.2f} at P = {p}, β = {b}"
        for (p, b), gap in rows
        if clear(gap) < 1
    ]
    print(f"{what}: not clear, with a gap of {'; '.join(open_cells) or 'none'}")


# %% tags=["hide-input"]
def trained_with(variant, *cases, cells=grid, networks=3):
    """Whether this run holds what a statement needs, trained to the end."""
    there = all((variant, case) in grid[cell] for cell in cells for case in cases)
    if not (full_length and cells and there):
        return False
    return score(variant, cases[0], cells).shape[-1] >= networks


for variant in sorted({variant for cell in grid.values() for variant, _ in cell}):
    cases = [case for v, case in grid[next(iter(grid))] if v == variant]
    print(f"{variant}: {', '.join(cases)}")

# %% [markdown]
# ### Activation and over-parameterisation (Figures 4 and 9 of the paper)
#
# "When $P=1$, linear model works well regardless of the degree of over-parameterization": is its score at least 0.9 at every $\beta$?


# %%
def works_well(variant="InfoNCE", act="linear", planted=0.0, **how):
    return clear(score(variant, act, one, **how) - 0.9 + planted)


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-4-a",
    observed=works_well,
    control=lambda: works_well(act="relu"),
    planted=lambda: works_well(planted=1.0),
    regime=bool(one_filter) and trained_with("InfoNCE", "linear", "relu", cells=one),
)

# %% [markdown]
# The score of linear filters is that of the program, $\lvert\cos\rvert$: their sign is free. By paper (16) as it is printed the statement fails
# ([below](nl-text-program)). "On the other hand, when $P=1$, linear activation works better": clearly better than ReLU?

# %% tags=["hide-input", "nbval-check-output"]
ten_times = [(p, b) for p, b in one if b >= 10]
chapter.judge(
    "fig-4-f",
    observed=lambda: above("InfoNCE", "linear", "relu", one_filter),
    control=lambda: above("InfoNCE", "relu", "linear", one_filter),
    outside=lambda: above("InfoNCE", "linear", "relu", ten_times),
    planted=lambda: above("InfoNCE", "linear", "relu", one_filter, planted=1.0),
    regime=bool(one_filter and ten_times)
    and trained_with("InfoNCE", "linear", "relu", cells=one, networks=10),
)

# %% [markdown]
# "ReLU requires large over-parameterization", for $P=1$, and "the larger $\beta$ is, the better": does its score gain more than 0.1 from the smallest to
# the largest $\beta$, for each $P$?


# %%
def gain(variant="InfoNCE", act="relu", **how):  # of the largest β over the least
    last, start = ([(p, all_beta[edge]) for p in all_p] for edge in (-1, 0))
    return score(variant, act, last, **how) - score(variant, act, start, **how)


# %% tags=["hide-input", "nbval-check-output"]
wide = len(all_beta) > 1
chapter.judge(
    "fig-4-e",
    observed=lambda: clear(gain() - 0.1),
    control=lambda: clear(gain(act="linear") - 0.1),
    planted=lambda: clear(gain() + 1.0),
    regime=wide and trained_with("InfoNCE", "relu", "linear", networks=10),
)

# %% [markdown]
# "When each $R_k$ has multiple patterns … ReLU models can capture diverse patterns better than linear ones in the over-parameterization region $\beta>1$":

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-4-b",
    observed=lambda: above("InfoNCE", "relu", "linear", many),
    control=lambda: above("InfoNCE", "relu", "linear", one_filter),
    planted=lambda: above("InfoNCE", "relu", "linear", many, planted=1.0),
    regime=bool(one_filter) and trained_with("InfoNCE", "relu", "linear", cells=many),
)

# %% [markdown]
# "We found similar trend for other homogeneous activations such as LeakyReLU … and quadratic": are they, too, above linear there?


# %%
def others_above(cells, variant="InfoNCE", **how):
    acts = ("leaky_relu", "quadratic")
    return float(np.mean([above(variant, a, "linear", cells, **how) for a in acts]))


# %% tags=["hide-input", "nbval-check-output"]
acts = ("linear", "leaky_relu", "quadratic")
chapter.judge(
    "fig-4-d",
    observed=lambda: others_above(many),
    control=lambda: others_above(one_filter),
    planted=lambda: others_above(many, planted=1.0),
    regime=bool(one_filter) and trained_with("InfoNCE", *acts, cells=many),
)

# %%
if trained_with("InfoNCE", *acts, cells=many):
    base = score("InfoNCE", "linear", many)
    for act in acts[1:]:
        gaps = score("InfoNCE", act, many) - base
        print_unclear(f"{act} above linear", gaps, many)

# %% [markdown]
# LeakyReLU networks do what ReLU networks do, in all nine cells of the record. Quadratic ones need more filters for it: at $\beta=2$ they are clearly below
# linear ones for $P=3$ and not above them for $P=5$ ({numref}`plot-fig-4`); from $\beta=5$ on they are ahead everywhere. The trend is there, but "$\beta>1$" is not where it begins.
#
# "In contrast, linear models are much less affected by over-parameterization": a third of the change of the ReLU score from the smallest to the largest
# $\beta$, summed over $P$, less the change of the linear score.


# %%
def less_affected(act="linear", variant="InfoNCE", **how):
    change, of_relu = (gain(variant, a, **how).abs().sum(0) for a in (act, "relu"))
    return of_relu / 3 - change


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-4-c",
    observed=lambda: less_affected().tolist(),
    control=lambda: less_affected("leaky_relu").tolist(),
    planted=lambda: (less_affected() + 1.0).tolist(),
    regime=wide
    and trained_with("InfoNCE", "linear", "relu", "leaky_relu", networks=10),
)

# %% [markdown]
# Figure 9 of the paper adds the other tokens. ReLU networks "stay focus on relevant local patterns … (i.e. low $\bar\chi_-$)", and "among all activations (homogeneous or
# non-homogeneous), ReLU shows its strength by achieving the lowest irrelevant-matching score $\bar\chi_-$". Low is taken to be below 0.1.


# %%
def low(act="relu", variant="InfoNCE", planted=0.0, **how):
    return clear(0.1 - score(variant, act, many, "minus", **how) + planted)


def lowest(cells, act="relu", variant="InfoNCE", rivals=None, **how):
    """Of the comparisons with another activation the share in which this one's χ₋ is lower."""
    rivals = [a for a in ACTS if a != act] if rivals is None else rivals
    found = [above(variant, a, act, cells, key="minus", **how) for a in rivals]
    return float(np.mean(found))


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-9-b",
    observed=low,
    control=lambda: low("linear"),
    planted=lambda: low(planted=1.0),
    regime=trained_with("InfoNCE", "relu", "linear", cells=many),
)

# %%
if trained_with("InfoNCE", "relu", cells=many):
    below = 0.1 - score("InfoNCE", "relu", many, "minus")
    print_unclear("χ₋ of ReLU below 0.1", below, many)

# %% [markdown]
# The one cell that misses in the record is the largest, $P=\beta=10$, with 100 filters at every place: 5,000 minibatches are not enough for it. Its
# $\bar\chi_-$ is on its way down, and networks that were trained for twice as many, on seeds that are not judged, ended at 0.001. See it with
# `clbook run nonlinearity -p 'grid_p=[10]' -p 'grid_beta=[10]' -p minibatches=10000`.

# %% tags=["hide-input", "nbval-check-output"]
elsewhere = [cell for cell in grid if cell not in many]
chapter.judge(
    "fig-9-a",
    observed=lambda: lowest(many),
    control=lambda: lowest(many, "leaky_relu"),
    outside=lambda: lowest(elsewhere, rivals=["leaky_relu"]),
    planted=lambda: lowest(many, planted=1.0),
    regime=bool(many and elsewhere) and trained_with("InfoNCE", *TRAINED),
)

# %% [markdown]
# Outside that region, where $P=1$ or $\beta=1$, LeakyReLU networks come as low in most cells, and inside it in one, $P=3$, $\beta=2$.

# %% tags=["hide-input"]
LOOK = {
    "linear": ("linear", "k", "--", "s"),
    "relu": ("ReLU", "k", "-", "o"),
    "leaky_relu": ("LeakyReLU", "0.45", "-", "^"),
    "quadratic": ("quadratic", "0.45", "--", "D"),
    "sigmoid": ("sigmoid", "0.6", ":", "x"),
    "off": ("no BatchNorm", "k", "--", "s"),
    "mean": ("BatchNorm", "k", "-", "o"),
}


def panel(ax, p, variant, case, key):
    there = [b for b in all_beta if (variant, case) in grid[p, b]]
    if not there:
        return
    found = score(variant, case, [(p, b) for b in there], key).cpu()
    label, colour, line, marker = LOOK[case]
    x, n = range(len(there)), found.shape[-1]
    half = stats.t.ppf(0.975, n - 1) * found.std(-1) / n**0.5 if n > 1 else 0
    style = {"color": colour, "ls": line, "marker": marker, "ms": 5, "capsize": 2}
    ax.errorbar(x, found.mean(-1), half, label=f"{label}", mfc="none", **style)
    ax.set_xticks(x, there)


# %% tags=["hide-input"]
def panels(rows, cases, name):
    """One row a (variant, key, label), one column a P; β along the axis."""
    rows = [
        row for row in rows if any(row[0] == v for v, _ in next(iter(grid.values())))
    ]
    if not rows:  # not trained in this run: the page shows the record's figure
        return
    shape = len(rows), len(all_p)
    size = (max(5.4, 2.1 * shape[1]), 0.7 + 2.1 * shape[0])
    fig, axes = plt.subplots(
        *shape,
        figsize=size,
        sharex=True,
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    for (variant, key, label), line in zip(rows, axes, strict=False):
        for ax, p in zip(line, all_p, strict=True):
            for case in cases:
                panel(ax, p, variant, case, key)
        line[0].set_ylabel(label, size=9)
    for ax, p in zip(axes[0], all_p, strict=True):
        ax.set_title(f"$P={p}$", size=10)
    for ax in axes[-1]:
        ax.set_xlabel(r"$\beta$")
    for ax in axes.flat:
        ax.set_visible(ax.has_data())
    handles = axes[0, 0].get_legend_handles_labels()
    fig.legend(*handles, loc="outside lower center", ncols=5, fontsize=9)
    glue.figure(fig, name)


# %% tags=["hide-input", "remove-output"]
panels(
    [
        ("InfoNCE", "plus", "InfoNCE, $\\barχ_+$"),
        ("quadratic", "plus", "quadratic loss, $\\barχ_+$"),
    ],
    ACTS,
    "plot-fig-4",
)

# %% [markdown]
# ````{record-figure} plot-fig-4
# :alt: Two rows of four panels. With InfoNCE linear networks are above 0.95 for P = 1 and between 0.6 and 0.87 for larger P at every β; ReLU and LeakyReLU networks reach one at β = 5, quadratic ones at β = 10. With the quadratic loss all curves for P above one stay lower.
# :name: plot-fig-4
#
# Figure 4 of the paper in the [record](nl-record) of the profile `paper`: all cells, ten networks a point with InfoNCE, five with the quadratic loss. Look how the dashed line with squares stays where it is while the solid line climbs, and at the diamonds at $\beta=2$, quadratic networks, which are still below it for $P=3$. It shows what the paper's caption says but for that.
#
# ```{glue:figure} plot-fig-4
# :alt: For each P the score of the candidates against over-parameterisation, one line an activation. For P = 1 linear networks are near one at every β and ReLU networks climb to it; for larger P ReLU and LeakyReLU networks reach one at β = 5 while linear and sigmoid ones stay below.
# :name: plot-fig-4-default
#
# Figure 4 of the paper: $\bar\chi_+$ against $\beta$, mean and 95 % interval over networks. Solid lines with circles are ReLU, dashed ones with squares linear. Look at the left panel, where linear networks are high from the start, and at the others, where ReLU leaves them behind as $\beta$ grows. Whether the statements of the caption hold is judged above. The second row, the quadratic loss, stands here where it was trained.
# ```
# ````

# %% tags=["hide-input", "remove-output"]
panels(
    [
        ("InfoNCE", "minus", "InfoNCE, $\\barχ_-$"),
        ("quadratic", "minus", "quadratic loss, $\\barχ_-$"),
    ],
    ACTS,
    "plot-fig-9",
)

# %% [markdown]
# ````{record-figure} plot-fig-9
# :alt: Two rows of four panels. The score of other tokens stays within 0.1 of zero for ReLU networks but for 0.12 at P = β = 10 with InfoNCE; for linear, quadratic and sigmoid networks it climbs with β, from below 0.1 at P = β = 1 to between 0.17 and 0.39 at P = β = 10, for LeakyReLU ones to 0.47.
# :name: plot-fig-9
#
# Figures 9 and 10 of the paper, lower halves, in the [record](nl-record) of the profile `paper`. Look at the solid line with circles, which stays lowest but for LeakyReLU at few filters, as the caption says, and at its last point in the upper right panel, where training is not over.
#
# ```{glue:figure} plot-fig-9
# :alt: The score of other tokens against over-parameterisation. It is near zero for ReLU networks almost everywhere and grows with β for linear and sigmoid ones, with P also for LeakyReLU.
# :name: plot-fig-9-default
#
# Figures 9 and 10 of the paper, lower halves: $\bar\chi_-$, what was learned of tokens that are no candidates; lines as in {numref}`plot-fig-4`. Look at the solid line with circles, ReLU, and whether another line comes as low.
# ```
# ````
#
# ### The quadratic loss (Figure 10 of the paper)
#
# "Quadratic loss is not as effective as InfoNCE in feature learning", with "similar trends". Compared are the two losses network by network, for every
# activation, and again ReLU with linear.


# %%
def less_effective(cells, better="InfoNCE", worse="quadratic", planted=0.0):
    n, gaps = min(grid_seeds, grid_quadratic_seeds), []
    for act in ACTS:
        two = (score(loss, act, cells, networks=n) for loss in (better, worse))
        gaps.append(next(two) - next(two) + planted)
    return clear(torch.stack(gaps))


# %% tags=["hide-input", "nbval-check-output"]
several = [(p, b) for p, b in grid if p > 1]
chapter.judge(
    "fig-10-a",
    observed=lambda: less_effective(several),
    control=lambda: less_effective(several, "quadratic", "InfoNCE"),
    outside=lambda: less_effective(one),
    planted=lambda: less_effective(several, planted=2.0),
    regime=bool(one and several)
    and trained_with("InfoNCE", *ACTS)
    and trained_with("quadratic", *ACTS),
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-10-b",
    observed=lambda: above("quadratic", "relu", "linear", many),
    control=lambda: above("quadratic", "relu", "linear", one_filter),
    planted=lambda: above("quadratic", "relu", "linear", many, planted=1.0),
    regime=bool(one_filter) and trained_with("quadratic", "relu", "linear", cells=many),
)

# %%
if trained_with("quadratic", "relu", "linear", cells=many):
    gaps = score("quadratic", "relu", many) - score("quadratic", "linear", many)
    print_unclear("quadratic loss, relu above linear", gaps, many)

# %% [markdown]
# With one candidate only ReLU networks lose clearly by the quadratic loss, and not at every $\beta$; the first statement needs $P>1$. The trend is weaker, too:
# for $P=3$ ReLU networks come ahead of linear ones at $\beta=10$ and not before, where InfoNCE wants $\beta=2$.
#
# ### Token norms that differ, and BatchNorm (Figure 11 of the paper)
#
# Half of the tokens get the norm $\zeta$, half $1/\zeta$; networks are ReLU networks. At $\zeta=10$ "BN yields higher $\bar\chi_+$ … when the network is over-parameterized
# ($\beta>1$) and there are multiple candidates per $R_k$ ($P>1$)"; "for small non-uniformity, BN doesn't help much". Not much is taken to be 0.05.


# %%
def helps(zeta, planted=0.0):
    return above(zeta, "mean", "off", many, planted)


def helps_little(zeta, planted=0.05):
    return above(zeta, "off", "mean", many, planted)


# %% tags=["hide-input", "nbval-check-output"]
normed = trained_with("ζ = 10", "off", "mean", cells=many)
chapter.judge(
    "fig-11-a",
    observed=lambda: helps("ζ = 10"),
    control=lambda: helps("ζ = 2"),
    planted=lambda: helps("ζ = 10", 1.0),
    regime=normed,
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-11-b",
    observed=lambda: helps_little("ζ = 2"),
    control=lambda: helps_little("ζ = 10"),
    planted=lambda: helps_little("ζ = 2", 1.0),
    regime=normed and trained_with("ζ = 2", "off", "mean", cells=many),
)

# %% tags=["hide-input", "remove-output"]
panels(
    [(f"ζ = {z}", "plus", rf"$\zeta={z}$, $\barχ_+$") for z in (2, 5, 10)],
    ("off", "mean"),
    "plot-fig-11",
)

# %% [markdown]
# ````{record-figure} plot-fig-11
# :alt: Three rows of four panels. At ζ = 2 the lines with and without BatchNorm meet at one for β of 5 and more; at ζ = 10 the line with BatchNorm is above the other for every P above one.
# :name: plot-fig-11
#
# Figure 11 of the paper in the [record](nl-record): $\bar\chi_+$ of ReLU networks with (solid, circles) and without BatchNorm (dashed, squares), mean and 95 % interval of five networks, one row for each $\zeta$. Look how the lines part from the first row to the last, as the paper says, and that at $\zeta=2$ networks without BatchNorm are even ahead for few filters.
# ````
#
# ### Which statistics to back-propagate (Table 1 of the paper)
#
# At $\zeta=10$ the four choices of letting the gradient through $\mu$ and $\sigma^2$ give the 64 scores of Table 1 of the paper. "If $\sigma_k^2$ is not backpropagated, then the matching
# score is actually better": for each cell and each choice for $\mu$, is the mean paired difference positive? Printed are 29 such pairs of 32, one tie, and two that
# are reversed, at $\beta=P=10$.

# %% tags=["hide-input"]
COLUMNS = ("none", "variance", "mean", "both")  # what is back-propagated
PRINTED = """
1 1  0.31±0.24 0.23±0.06 0.30±0.24 0.23±0.06
1 3  0.65±0.09 -0.03±0.01 0.64±0.07 0.24±0.11
1 5  0.61±0.06 0.00±0.00 0.62±0.02 0.38±0.04
1 10  0.66±0.06 0.53±0.05 0.70±0.03 0.56±0.04
2 1  0.36±0.13 0.27±0.06 0.63±0.11 0.33±0.12
2 3  0.78±0.01 0.00±0.01 0.80±0.02 0.41±0.07
2 5  0.78±0.02 0.22±0.21 0.77±0.07 0.56±0.02
2 10  0.83±0.08 0.72±0.06 0.80±0.04 0.71±0.05
5 1  0.63±0.06 0.43±0.12 0.67±0.06 0.46±0.06
5 3  0.90±0.06 0.45±0.07 0.90±0.03 0.60±0.08
5 5  0.90±0.01 0.72±0.01 0.88±0.06 0.74±0.02
5 10  0.88±0.01 0.88±0.04 0.92±0.03 0.90±0.03
10 1  0.63±0.12 0.37±0.15 0.70±0.17 0.46±0.15
10 3  0.95±0.05 0.72±0.06 0.94±0.05 0.80±0.03
10 5  0.98±0.02 0.84±0.05 0.96±0.06 0.92±0.01
10 10  0.90±0.01 0.97±0.02 0.89±0.03 0.97±0.02
"""

# %% tags=["hide-input"]
printed = {}  # (P, β) → mean and spread of the four columns
for line in PRINTED.split("\n")[1:-1]:
    beta, p, *entries = line.split()
    pairs = [[float(v) for v in entry.split("±")] for entry in entries]
    printed[int(p), int(beta)] = torch.tensor(pairs)
in_table = [cell for cell in grid if cell in printed]
tabled = trained_with("ζ = 10", *COLUMNS, cells=in_table)


# %%
def ours(cells, columns=COLUMNS):  # [cell, column, network]
    return torch.stack([score("ζ = 10", c, cells) for c in columns], 1)


EXCHANGED = ("variance", "none", "both", "mean")


def ordered(cells, columns=COLUMNS, planted=0.0):
    """Of the pairs the share in which not back-propagating σ² is better."""
    without, with_it = ours(cells, columns).unflatten(1, (2, 2)).mean(-1).unbind(2)
    return float((without + planted > with_it).double().mean())


# %% tags=["hide-input", "nbval-check-output"]
beyond = [(p, b) for p, b in in_table if p == 10 and b >= 5]
fewer = [cell for cell in in_table if cell not in beyond]
chapter.judge(
    "table-1-a",
    observed=lambda: ordered(fewer),
    control=lambda: ordered(fewer, EXCHANGED),
    outside=lambda: ordered(beyond),
    planted=lambda: ordered(fewer, planted=1.0),
    regime=tabled and bool(fewer and beyond),
)

# %% [markdown]
# Is it the same table? Compared are the ranks of its scores, of the cells trained, network by network, and each difference with its standard error, of three printed networks and
# of ours, and the rounding of the print. At most three standard errors are allowed, since the printed spreads are estimated from three networks.


# %%
def rank_correlations(scores):
    theirs = torch.stack([printed[cell][:, 0] for cell in in_table]).flatten().cpu()
    networks = scores.flatten(0, 1).unbind(-1)
    return [float(stats.spearmanr(v.cpu(), theirs).statistic) for v in networks]


def as_printed():  # what would be the same table
    found = ours(in_table)
    off = torch.stack([printed[c][:, 0] for c in in_table]) - found.mean(-1)
    return found + off.unsqueeze(-1)


def same(found):
    mean, spread = torch.stack([printed[cell] for cell in in_table]).unbind(-1)
    error = spread**2 / 3 + found.var(-1) / found.shape[-1] + 0.01**2 / 12
    return float(((found.mean(-1) - mean).abs() <= 3 * error.sqrt()).double().mean())


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "table-1-b",
    observed=lambda: rank_correlations(ours(in_table)),
    control=lambda: rank_correlations(ours(in_table, EXCHANGED)),
    planted=lambda: rank_correlations(as_printed()),
    regime=tabled,
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "table-1-c",
    observed=lambda: same(ours(in_table)),
    control=lambda: same(ours(in_table, EXCHANGED)),
    planted=lambda: same(as_printed()),
    regime=tabled,
)

# %%
if tabled:
    off = ours(in_table).mean(-1) - torch.stack([printed[c][:, 0] for c in in_table])
    print(f"mean |difference| {float(off.abs().mean()):.3f}", end=", ")
    print(
        f"largest {float(off.abs().max()):.2f}; ours larger by {float(off.mean()):.3f}"
    )
    print(f"the ordering holds in {ordered(in_table):.0%} of {2 * len(in_table)} pairs")
    alone = above("ζ = 10", "mean", "none", in_table)
    other = above("ζ = 10", "none", "mean", in_table)
    print(f"clear in the choice of μ: {alone:.0%} for it, {other:.0%} against")

# %% tags=["hide-input", "remove-output"]
TITLES = ("neither", "σ² alone", "μ alone", "both")
if tabled:  # elsewhere the page shows the record's figure alone
    fig, axes = plt.subplots(
        1, 4, figsize=(8.4, 5.2), sharey=True, layout="constrained"
    )
    for ax, title, k in zip(axes, TITLES, range(4), strict=True):
        for row, cell in enumerate(sorted(printed, key=lambda c: c[::-1])):
            mean, spread = printed[cell][k].tolist()
            ax.errorbar(mean, row - 0.15, xerr=spread, **colours.PRINTED)
            if cell in grid:
                found = score("ζ = 10", COLUMNS[k], [cell])[0].cpu()
                ax.errorbar(found.mean(), row + 0.15, xerr=found.std(), **colours.RELU)
        ax.set(title=title, xlabel=r"$\barχ_+$", xlim=(-0.15, 1.08))
        for edge in (3.5, 7.5, 11.5):
            ax.axhline(edge, color="0.8", lw=0.6)
    names = [f"β = {b}, P = {p}" for p, b in sorted(printed, key=lambda c: c[::-1])]
    axes[0].set_yticks(range(16), names, fontsize=9)
    axes[0].invert_yaxis()
    glue.figure(fig, "plot-table-1")

# %% [markdown]
# ````{record-figure} plot-table-1
# :alt: The 64 scores of Table 1 of the paper; nearly every circle lies within the spread of the square above it, and the second column lies to the left of the first but in the last rows.
# :name: plot-table-1
#
# Table 1 of the paper: $\bar\chi_+$ at $\zeta=10$ for what is back-propagated (columns) and each cell (rows). Grey squares are the means and spreads of three networks that the paper prints, circles those of our five in the [record](nl-record). They agree within their spreads nearly everywhere, and the second and fourth columns lie to the left of the first and third but for $P=10$ in the lower blocks, as printed.
# ````
#
# (nl-text-program)=
# ### The text against the program
#
# The text gives a learning rate of 0.002 and a cosine without absolute value, and its quadratic loss (2) of the paper has no temperature, where the program divides by 0.1. Which
# statements survive which? Each entry is the statistic of the claim above, on as many networks in every row, so that rows can be compared; with few networks fewer
# comparisons are clear. A tick stands at 0.9.

# %% tags=["hide-input"]
STATEMENTS = {
    "linear works at P = 1": works_well,
    "ReLU gains from β": lambda v, **how: clear(gain(v, **how) - 0.1),
    "ReLU above linear": lambda v, **how: above(v, "relu", "linear", many, **how),
    "others above linear": lambda v, **how: others_above(many, v, **how),
    "linear less affected": lambda v, **how: clear(less_affected("linear", v, **how)),
    "ReLU has the lowest χ₋": lambda v, **how: lowest(many, variant=v, **how),
}
WAYS = {
    "InfoNCE, as the program": ("InfoNCE", False),
    "rate 0.002": ("InfoNCE, rate 0.002", False),
    "cosine as printed": ("InfoNCE", True),
    "quadratic loss, as the program": ("quadratic", False),
    "quadratic, rate 0.002": ("quadratic, rate 0.002", False),
    "quadratic, τ = 1": ("quadratic, τ = 1", False),
    "quadratic, cosine as printed": ("quadratic", True),
}

# %% tags=["hide-input"]
there = {
    v for v, _ in WAYS.values() if wide and one and many and trained_with(v, *TRAINED)
}
fewest = min((score(v, "relu", one).shape[-1] for v in there), default=0)
survival = {}
for way, (variant, by_16) in WAYS.items():
    if variant in there:
        how = {"networks": fewest, "by_16": by_16}
        survival[way] = [float(holds(variant, **how)) for holds in STATEMENTS.values()]
print(f"{fewest} networks a cell and activation")

# %% tags=["hide-input", "remove-output"]
if survival:
    fig, ax = plt.subplots(figsize=(8, 0.9 + 0.36 * len(survival)))
    values = np.array(list(survival.values()))
    ax.imshow(values, cmap="Greys", vmin=0, vmax=2.4, aspect="auto")
    for (i, j), v in np.ndenumerate(values):
        text = f"{v:.2f}{' ✓' if v >= 0.9 else ''}"
        ax.text(j, i, text, ha="center", va="center", size=9)
    ax.set_yticks(range(len(values)), list(survival), fontsize=9)
    ax.set_xticks(
        range(len(STATEMENTS)),
        [s.replace(" ", "\n", 1) for s in STATEMENTS],
        fontsize=9,
    )
    ax.tick_params(length=0, labelbottom=False, labeltop=True)
    glue.figure(fig, "plot-survival")

# %% [markdown]
# ````{record-figure} plot-survival
# :alt: Seven rows, six columns. The first row has ticks in four columns, the row of rate 0.002 in none.
# :name: plot-survival
#
# Which statements (columns) hold for which reading of the paper (rows), in the [record](nl-record) with three networks per cell and activation: shares of clear comparisons, with a tick at 0.9 and more. Look for columns that lose their tick below the first row.
#
# ```{glue:figure} plot-survival
# :alt: A table of statements against ways to train and score, with the share of comparisons in which each holds and a tick where it is at least nine tenths.
# :name: plot-survival-default
#
# Which statements (columns) hold for which reading of the paper (rows): shares of clear comparisons, a tick at 0.9 and more. Look for columns that lose their tick below the first row. Rows that this run has not trained are left out; the profile `paper` has all.
# ```
# ````
#
# In the record, with three networks a row, no statement holds at the rate 0.002 of the text, where 5,000 minibatches are too few. The cosine as
# printed costs the two statements about linear networks, whose filters have either sign, and no other. The quadratic loss keeps those two if it is divided by 0.1
# and costs "ReLU above linear" either way. "ReLU gains from $\beta$" is clear in half of its four comparisons with three networks, in all with the ten it is judged on.

# %% [markdown]
# ### Parts of digits
#
# Appendix E.3 of the paper trains the same network on MNIST. The image is split into four disjoint receptive fields, its quadrants; a minibatch has 8 images, and 50,000
# minibatches are seen. **Without augmentation** can only mean that the second view is the first: the positive similarity is then 1 whatever the weights are,
# and the loss only pushes different images apart. **With augmentation** each view is a random crop of its own, between half and all of the area, resized to the
# full size. By Figure 12 of the paper the filters are "a diverse set of pattern of the input data points", parts of the digits; by Figure 13 they are "smoother with much weaker
# high-frequency components" where there are crops.
#
# The paper names no number of filters; here are 25 in each field. It gives no measure either. Ours, each averaged over the filters of a network that are
# longer than a tenth of the longest of their field (the others have decayed):
#
# - **likeness**: the share of $\lVert w\rVert^2$ within the principal components that hold nine tenths of the variance of what the field sees;
# - **diversity**: the effective rank of the filters over that of equally many parts of digits drawn at random;
# - **roughness**: the share of the energy of the spectrum, the mean left out, above half the Nyquist frequency,
#   $\sum_{|\nu|>1/4}|\hat w_\nu|^2\big/\sum_{\nu\ne0}|\hat w_\nu|^2$.
#
# How long is long enough? Without crops the loss is near zero from the start, and nothing happens until weight decay has taken the random start away. That
# takes $(1-\text{momentum})/(\text{rate}\cdot\text{decay})$ minibatches for each factor e, which is 10,000 at the rate 0.002 of the text. So its 50,000 minibatches are
# five such times, and 5,000 are at the rate 0.02 of the author's command. Cut shorter, the crops are compared with noise and Figure 13 of the paper holds for no reason.

# %%
from contrastive_dynamics.nonlinearity.networks.filter_spectra import (
    alive as alive_filters,
)
from contrastive_dynamics.nonlinearity.networks.filter_spectra import (
    high_frequency_share,
    mean_of_kept,
    principal_components,
    share_within,
    unit_filters,
)
from contrastive_dynamics.nonlinearity.networks.filter_spectra import (
    pictures as filter_pictures,
)
from contrastive_dynamics.nonlinearity.networks.image_training import (
    digit_images,
    trained_filters,
)
from contrastive_dynamics.numerics.image_patches import quadrants
from contrastive_dynamics.numerics.ranks import effective_rank

on_images, ten = ImageTraining(rate=image_rate), block[:10]
five_decays = math.isclose(image_rate * image_minibatches, 100)
images, digit = digit_images(data)
parts = quadrants(images).transpose(0, 1)  # [place, image, pixel]


# %%
def on(label, training):
    given = training, data, ten, image_minibatches
    return chapter.library_piece(label, trained_filters, *given)


plain = on("images", on_images)
cropped = on("images with crops", replace(on_images, crops=True))
shared = replace(on_images, crops=True, one_crop=True)
one_crop = on("images with one crop", shared)


# %%
def mean_of_alive(values, w):  # one value a network
    return mean_of_kept(values, alive_filters(w)).mean(-1)


def likeness(w, other=lambda places: places):
    seen = principal_components(other(parts))
    return mean_of_alive(share_within(w, seen), w).tolist()


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-12",
    observed=likeness(plain),
    control=likeness(plain, other=lambda places: places.flip(0)),
    regime=five_decays,
)


# %%
def parts_drawn(w, among):  # as many as filters, at random, less their mean
    draws = (stream(s, 0, "parts") for s in ten)
    at = [torch.randint(len(among), w.shape[1:3], generator=g) for g in draws]
    rows = among[torch.stack(at).to(among.device)]
    place = torch.arange(4, device=rows.device).unsqueeze(-1)
    return parts[place, rows] - parts.mean(1, keepdim=True)


def diversity(w, measured):
    def rank(filters):
        return effective_rank(unit_filters(filters, alive_filters(w))).mean(-1)

    drawn = parts_drawn(w, torch.arange(len(images), device=digit.device))
    return (rank(measured) / rank(drawn)).tolist()


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-12-a",
    observed=diversity(plain, plain),
    control=diversity(plain, parts_drawn(plain, (digit == 0).nonzero()[:, 0])),
    regime=five_decays,
)


# %%
def roughness(w, order=slice(None)):
    pictures = filter_pictures(w[..., order])
    return mean_of_alive(high_frequency_share(pictures), w)


def smoother(w, **options):  # with crops over without, network by network
    return (roughness(w, **options) / roughness(plain, **options)).tolist()


pixels = parts.shape[-1]
shuffled = torch.randperm(pixels, generator=stream(seed, 0, "pixels"))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-13",
    observed=smoother(cropped),
    control=smoother(cropped, order=shuffled),
    regime=five_decays,
)

# %% [markdown]
# Why are they smoother? The appendix says that the augmentation removes local optima. But a resized crop is also interpolated, so the images themselves are
# smoother. Both can be told apart: give the two views of an image **the same** crop. Then the images are augmented, but the views do not differ.

# %%
of_parts = float(high_frequency_share(filter_pictures(parts)).nanmean())
arms = {"no crops": plain, "two crops": cropped, "one crop": one_crop}
print(f"the parts of the digits themselves: {of_parts:.2f}")
for name, w in arms.items():
    living = float(alive_filters(w).double().mean())
    print(
        f"{name}: roughness {float(roughness(w).mean()):.2f}, decayed {1 - living:.0%}"
    )

# %% [markdown]
# One crop for both views smooths the filters as well, though the views then do not differ. So the smoothness of Figure 13 of the paper is no evidence by itself that the
# augmentation removes local optima. On the small digits one crop does
# a part of what two do; on MNIST all of it: 0.34 without crops, 0.17 with two, 0.15 with one, in the record of the profile `paper`.

# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(8, 10, figsize=(8, 7))
for half, (name, w) in zip((axes[:4], axes[4:]), list(arms.items())[:2], strict=True):
    for k, row in enumerate(half):
        length = w[0, k].norm(dim=-1)
        for ax, m in zip(row, length.argsort(descending=True), strict=False):
            picture = filter_pictures(w[0, k, m]).cpu()
            top = float(picture.abs().max()) or 1.0
            ax.imshow(picture, cmap="PuOr", vmin=-top, vmax=top)
            ax.set(xticks=[], yticks=[])
        row[0].set_ylabel(f"{name}, {k}", fontsize=7)
glue.figure(plt.gcf(), "plot-fig-12")

# %% [markdown]
# ````{record-figure} plot-fig-12
# :alt: Eight rows of ten filters on MNIST: without crops rough patches and thin strokes, with crops broad areas and smooth strokes.
# :name: plot-fig-12
#
# Figures 12 and 13 of the paper on MNIST in the [record](nl-record) of the profile `paper`. Without crops filters are strokes and speckles near the centre of the image, with crops broad smooth areas, as the paper's captions say.
#
# ```{glue:figure} plot-fig-12
# :alt: Eight rows of ten small pictures. In the upper four rows, without crops, filters are patches of opposite sign side by side, rough from pixel to pixel; in the lower four, with crops, they are broader areas and strokes.
# :name: plot-fig-12-default
#
# Figures 12 and 13 of the paper: the ten longest filters of the first network in each receptive field (0 upper left, 1 upper right, 2 lower left, 3 lower right), violet above and orange below zero, each relative to its largest weight. Above without crops, below with them. Look at neighbouring pixels: above they often differ in sign, below areas are of one colour. Which filters the paper shows is not known; likeness to its pictures is not claimed.
# ```
# ````

# %% [markdown]
# ### A network of your own
#
# The parameters `own_…` at the top of the chapter describe one more configuration, trained and drawn here without a claim. What cannot be, such as more
# candidates than tokens, is refused before the chapter begins.

# %%
your_curve = trained("your network", {"own": (yours, block[:3])})["own"]

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5.4, 3.2))
for key, style, label in (
    ("plus", "k-", "candidates"),
    ("minus", "k--", "other tokens"),
):
    x, y = your_curve["step"].cpu(), your_curve[key].cpu()
    ax.plot(x, y.mean(0), style, label=label)
    ax.fill_between(x, y.amin(0), y.amax(0), color="0.5", alpha=0.25, lw=0)
ax.set(xlabel="minibatches", ylabel=r"score $\barχ_+$, $\barχ_-$")
ax.set_title(
    f"{yours.activation}, {yours.loss}, P = {yours.candidates}, β = {yours.beta}",
    size=10,
)
ax.legend()
glue.figure(plt.gcf(), "plot-own")

# %% [markdown]
# ```{glue:figure} plot-own
# :alt: Scores of the candidate tokens and of the other tokens over training for the configuration of the parameters own.
# :name: plot-own
#
# The scores of your configuration over training, mean and range of three networks. Look how far the two lines come apart.
# ```

# %% [markdown]
# (nl-record)=
# ## The same with more seeds
#
# The verdicts above come from the default profile. The profile `paper` draws more seeds, trains the whole grids and reads MNIST.
#
# ```{include} ../book/_generated/nonlinearity-record.md
# ```

# %% [markdown]
# ## Exercises
#
# A pencil first, then a few lines of code.

# %% [markdown] tags=["solution"]
# The solutions are folded, and so is their code, which asserts what was derived by hand.

# %% [markdown]
# ````{exercise} Another loss, another importance
# :label: ex-importance
#
# InfoNCE is one member of the family
#
# $$
# \mathcal L=\sum_i\varphi(\xi_i),\qquad \xi_i=\sum_{j\ne i}\psi\bigl(d_i^2-d_{ij}^2\bigr),
# $$
#
# with increasing $\varphi,\psi$. Here $d_{ij}^2=\tfrac12\lVert f_i-f_j\rVert^2$ is the distance of two samples and
# $d_i^2=\tfrac12\lVert f_i-f_i'\rVert^2$ that of two views. With a margin $\mu>0$ the **triplet loss** has $\varphi(\xi)=\xi$ and
# $\psi(x)=\max(x+\mu,0)$. The **soft triplet loss** has $\varphi(\xi)=\tau\log(1+\xi)$ and $\psi(x)=e^{(x+\mu)/\tau}$.
#
# 1. Find $\alpha_{ij}$ such that $\nabla\mathcal L=-c\,\nabla\mathcal E_{\mathrm{sg}(\alpha)}$, and find $c$.
# 2. Write it down for both losses. Which negatives does each of them look at?
# 3. One of them is InfoNCE in disguise. Which one, and with which $\epsilon$?
#
# ```{hint}
# :class: dropdown
# Write the energy as a sum of $\alpha_{ij}(d_{ij}^2-d_i^2)$. Then use the chain rule, with everything in front of
# $\nabla(d_i^2-d_{ij}^2)$ held constant.
# ```
# ````

# %% [markdown] tags=["solution"]
# ```{solution} ex-importance
# :label: sol-importance
# :class: dropdown
#
# By the definition of $\mathbb C_\alpha$,
#
# $$
# \begin{aligned}
# \mathcal E_\alpha&=\frac1{4N^2}\sum_{i,j}\alpha_{ij}\bigl[\lVert f_i-f_j\rVert^2-\lVert f_i-f_i'\rVert^2\bigr]\\
# &=-\frac1{2N^2}\sum_{i,j}\alpha_{ij}\bigl(d_i^2-d_{ij}^2\bigr).
# \end{aligned}
# $$
#
# The chain rule gives $\nabla\mathcal L=\sum_{i}\sum_{j\ne i}\varphi'(\xi_i)\,\psi'(d_i^2-d_{ij}^2)\,\nabla(d_i^2-d_{ij}^2)$. So
#
# $$
# \alpha_{ij}=\varphi'(\xi_i)\,\psi'(d_i^2-d_{ij}^2)\ \ (j\ne i),\qquad \alpha_{ii}=0,\qquad c=2N^2 .
# $$
#
# - Triplet: $\alpha_{ij}=1$ if $d_{ij}^2<d_i^2+\mu$, else 0. Negatives inside the margin count alike, the others not at all.
# - Soft triplet: $\alpha_{ij}=e^{(d_i^2-d_{ij}^2+\mu)/\tau}\big/\bigl(1+\sum_{k\ne i}e^{(d_i^2-d_{ik}^2+\mu)/\tau}\bigr)$. All negatives count,
#   near ones more. A row sums to less than 1, and to little if every negative is far away.
#
# Divide numerator and denominator of the second by $e^{(d_i^2+\mu)/\tau}$. This is the importance of InfoNCE with
# $\epsilon=e^{-\mu/\tau}$. The soft triplet loss is InfoNCE plus the constant $N\mu$: a margin is a weight of the positive pair in the
# denominator.
# ```

# %% tags=["solution", "hide-cell"]
from contrastive_dynamics.losses.pairwise_importance import half_squared_distances

margin, tau, n = 0.5, 0.2, 32
draw, others = stream(seed, 0, "exercise importance"), 1 - torch.eye(n)
x, noise = torch.randn(2, n, 5, generator=draw)
f, f_view = (normalize(y, dim=-1).requires_grad_() for y in (x, x + 0.3 * noise))
gap = (f - f_view).square().sum(-1, keepdim=True) / 2 - half_squared_distances(f)
psi = others * ((gap + margin) / tau).exp()
losses = {
    "triplet": (others * (gap + margin).relu()).sum(),
    "soft triplet": tau * (1 + psi.sum(-1)).log().sum(),
}
alphas = {  # with the stop-gradient
    "triplet": others * (gap + margin > 0),
    "soft triplet": (psi / (1 + psi.sum(-1, keepdim=True))).detach(),
}

# %% tags=["solution", "hide-cell"]
for name, loss in losses.items():
    alpha = alphas[name]
    down = torch.autograd.grad(loss, (f, f_view), retain_graph=True)
    up = torch.autograd.grad(contrastive_energy(f, f_view, alpha), (f, f_view))
    pairs = zip(down, up, strict=True)
    error = max(float((a + 2 * n**2 * b).norm() / a.norm()) for a, b in pairs)
    assert error < 1e-10
    seen = float((alpha > 0.01).sum()) / n
    print(f"{name}: error {error:.0e}, {seen:.1f} of 31 negatives have α > 0.01")

nce = infonce_importance(f, f_view, tau, eps=math.exp(-margin / tau))
assert float((alpha - nce).abs().max()) < 1e-10  # of the soft triplet, the last
shift = loss - infonce_loss(f, f_view, tau, math.exp(-margin / tau))
print(f"soft triplet − InfoNCE: {shift.item():.6f}, predicted {n * margin:.6f}")

# %% [markdown]
# ````{exercise} At rest, but no LME
# :label: ex-rest
#
# An LME is a fixed point of the flow. The reverse is false. For each of the following, say which of the named directions rest, which of them are
# LMEs, and how fast a nudge grows or decays in the first moments.
#
# 1. A linear filter: $A$ has eigenvalues $\lambda_1>\dots>\lambda_d>0$ with eigenvectors $\phi_1,\dots,\phi_d$. The directions are the $\phi_i$.
# 2. A ReLU filter on the latent summation model with orthonormal patterns. The directions are the $u_m$, some of them with
#    $q_m>(3-\sqrt5)/2$.
# 3. A ReLU filter on the Gaussian $x\sim\mathcal N\bigl(0,\operatorname{diag}(a^2,b^2)\bigr)$ with $a>b$. The directions are the two axes.
#    Choose $b/a$ so that the long axis is *no* LME. Is it stable?
#
# ```{hint}
# :class: dropdown
# In 2. the gates do not change near $u_m$. In 3. find the energy $\tfrac12\mathbb V[h(w^\top x)]$ first: $w^\top x$ is Gaussian, and for
# $s\sim\mathcal N(0,v)$ the variance of $\max(s,0)$ is $\tfrac v2(1-\tfrac1\pi)$.
# ```
# ````

# %% [markdown] tags=["solution"]
# ```{solution} ex-rest
# :label: sol-rest
# :class: dropdown
#
# At a fixed point with $Aw=\lambda w$, where $A$ does not change nearby, the Jacobian of $P^\perp_wAw$ is $P^\perp(A-\lambda)P^\perp$. A nudge
# grows at the rate (largest *other* eigenvalue of $A$) $-\ \lambda$.
#
# 1. Every $\phi_i$ rests. Only $\phi_1$ is an LME. The rate is $\lambda_2-\lambda_1<0$ there and $\lambda_1-\lambda_i>0$ at any other $\phi_i$.
# 2. Every $u_m$ rests, by paper (9). No input lies on the plane $u_m^\top x=0$, so the gates stay as they are and $A$ is constant nearby. The rate is
#    $q_m-(1-q_m)^2$. It changes sign at $q_m=(3-\sqrt5)/2$, where $u_m$ stops being an LME.
# 3. The energy is $\mathcal E(w)=\tfrac14(1-\tfrac1\pi)\,w^\top\Sigma w$: on a centred Gaussian a ReLU filter does PCA. Both axes rest. The long one
#    is stable, with the rate $-\tfrac12(1-\tfrac1\pi)(a^2-b^2)$; the short one has the opposite rate. But
#    $A(e_1)=\tfrac12\operatorname{diag}\bigl((1-\tfrac1\pi)a^2,\ b^2\bigr)$: the gate takes a mean off along $w$, and none across it. For
#    $1-\tfrac1\pi<b^2/a^2<1$ the long axis is stable and no LME.
#
# In 1. and 2. no LME means unstable. In 3. it does not: inputs cross the plane $w^\top x=0$, and the term $-\mathbb E[h]B$ of the
# Jacobian, $B=\int_{w^\top x=0}xx^\top p$ (see Theorem 1 of the paper), adds the stability that the gap lacks.
# ```

# %% tags=["solution", "hide-cell"]
u = orthonormal_patterns(6, 6, stream(seed, 0, "exercise rest"))
q, values = torch.tensor([0.1, 0.2, 0.35, 0.4, 0.6, 0.8]), 6 - torch.arange(6.0)
a, model = u * values @ u.mT, latent_summation(u, q)
cases = {  # the field, the predicted rates at the six directions
    "linear": (lambda w: a.expand(6, 6, 6), torch.tensor([-1.0, 1, 2, 3, 4, 5])),
    "ReLU": (population_field(*model, relu), q - (1 - q) ** 2),
}
for name, (field, rate) in cases.items():
    check = eigen_check(field, u.mT)
    found = growth_rate(flow_jacobian(field, u.mT, step=1e-4))
    assert float(check.residual.max()) < 1e-10
    assert float((found - rate).abs().max()) < 1e-5
    assert check.is_lme.tolist() == (rate < 0).tolist()
    print(f"{name}: LME", ["yes" if yes else "no" for yes in check.is_lme.tolist()])
    print("rates", [round(r, 4) for r in found.tolist()])

# %% tags=["solution", "hide-cell"]
from contrastive_dynamics.nonlinearity.one_filter.gaussian_mixture import (
    GaussianMixture,
)

sigma = torch.tensor([1.0, 0.8])  # a², b²
gaussian = torch.zeros(1, 1, 2), torch.diag(sigma)[None, None], torch.ones(1, 1)
field, axes = GaussianMixture(*gaussian).matrix_field(relu), torch.eye(2)
for w, sign, axis in zip(axes, (-1, 1), ("long", "short"), strict=True):
    check = eigen_check(field, w[None])
    rate = sign * (1 - 1 / math.pi) * (sigma[0] - sigma[1]) / 2
    found = growth_rate(flow_jacobian(field, w[None], step=1e-4))[0]
    assert float(check.residual) < 1e-10 and abs(float(found - rate)) < 1e-6
    assert not bool(check.is_lme)
    print(f"{axis} axis: no LME, rate {found.item():.4f}, predicted {rate.item():.4f}")

# %% [markdown]
# ````{exercise} A top layer that keeps more directions
# :label: ex-rank
#
# Theorem 4 of the paper has a top layer of rank one. Let it keep $r$ directions: $S=\sum_{i\le r}s^i{s^i}^\top$ with the orthonormal eigenvectors $s^i$ of
# the $r$ largest eigenvalues $\lambda_i>0$ of $\mathbb C_\alpha[f_1]$. Filters are linear. Let $G_k$ be the $M\times d$ matrix whose rows are the
# gradients $g_{km}$ of the filters of field $k$, without projection.
#
# 1. What is the largest possible rank of $G_k$?
# 2. For $r\ge2$ two filters of a field have gradients in different directions. Let unit filters follow them by power iteration,
#    $w_{km}\leftarrow g_{km}/\lVert g_{km}\rVert$. What can be said of their directions if $S$ stays as it was at the start?
# 3. And if the top layer follows, so that the $s^i$ are always the present eigenvectors? Predict first, then derive.
#
# ```{hint}
# :class: dropdown
# Write $F_i=\sum_{km}s^i_{km}f_{km}$ and $b^i_k=\mathbb C_\alpha[x_k,F_i]$. For 3. use that $s^i$ is an eigenvector to express
# $s^i_{km}$ by $w_{km}$ and $b^i_k$.
# ```
# ````

# %% [markdown] tags=["solution"]
# ```{solution} ex-rank
# :label: sol-rank
# :class: dropdown
#
# 1. $g_{km}=\sum_{i\le r}s^i_{km}b^i_k$, that is $G_k=\sum_{i\le r}s^i_k{b^i_k}^\top$, a sum of $r$ matrices of rank one. The rank is
#    $\min(r,M,d)$ at most, and in general exactly that.
# 2. Every gradient of field $k$ is a combination of $b^1_k,\dots,b^r_k$, with coefficients $s^i_{km}$ that differ from filter to filter. After
#    the first step the filters of a field lie in a space of $r$ dimensions. For $r=2$ it is a plane, in which they separate.
# 3. The eigenvalue equation reads $\lambda_is^i_{km}=\mathbb C_\alpha[f_{km},F_i]=w_{km}^\top b^i_k$. Put this into 1.:
#
# $$
# g_{km}=B_kw_{km},\qquad B_k=\sum_{i\le r}\frac{b^i_k{b^i_k}^\top}{\lambda_i}.
# $$
#
# The matrix $B_k\succeq0$ does not depend on $m$. After $t$ steps $w_{km}$ has the direction of $B_k(t)\cdots B_k(1)w_{km}(0)$: the same product
# for all filters of a field. Once $B_k$ has settled and has a simple top eigenvalue, each step aligns them further with its top eigenvector. They end on *one line* for
# every $r$, although $G_k$ has a larger rank at the start. Unequal weights of the $s^i$ in $S$ would only go into the sum for $B_k$. To separate
# two linear filters a higher rank of $S$ is not enough: the top layer must not follow the filters.
# ```

# %% tags=["solution", "hide-cell"]
x, g = fields_of(seed, "exercise rank")  # four fields of six coordinates
start = normalize(torch.randn(4, 5, 6, generator=g), dim=-1)  # five filters a field


def kept(w, r):  # the r largest eigenvalues of C[f_1] and their directions
    f = hidden_outputs(x, w, linear)[1].flatten(-2)
    values, s = torch.linalg.eigh(torch.cov(f.mT, correction=0))
    return values[-r:], s[:, -r:].mT.unflatten(-1, w.shape[:2])


def gradients(w, s):
    return two_layer_gradient(x, w, rank_one_gram(s).sum(0), linear)


for r in range(1, 8):
    values, s = kept(start, r)
    found = torch.linalg.matrix_rank(gradients(start, s), rtol=1e-9)
    assert found.tolist() == [min(r, 5)] * 4
    print(f"r = {r}: rank of the four G_k {found.tolist()}")

# %% tags=["solution", "hide-cell"]
values, s = kept(start, 2)
pull = torch.einsum("rkm,kmd->rkd", s, start)
b = torch.einsum("kdle,rle->rkd", field_covariances(x), pull)
common = torch.einsum("rkd,rke,r->kde", b, b, 1 / values)
found = gradients(start, s)
assert float((start @ common - found).norm() / found.norm()) < 1e-10


def ends(r, follow, w=start):
    s = kept(w, r)[1]
    for _ in range(200):
        w = normalize(gradients(w, s), dim=-1)
        s = kept(w, r)[1] if follow else s
    sigma = torch.linalg.svdvals(w)
    return (sigma[:, 1:3] / sigma[:, :1]).amax(0).tolist()  # the worst field


# %% tags=["solution", "hide-cell"]
for r, follow in product((1, 2), (False, True)):
    second, third = ends(r, follow)
    assert third < 1e-10 and (r > 1 or second < 1e-10)  # at most r dimensions
    print(f"r = {r}, top layer {'follows' if follow else 'is held'}:", end=" ")
    print(f"filters with σ2/σ1 = {second:.0e}, σ3/σ1 = {third:.0e}")

# %% [markdown]
# ````{exercise} Two favoured patterns
# :label: ex-race
#
# In the model of paper (152) let two of $d$ patterns be favoured: $\epsilon_1=a$, $\epsilon_2=b$ with $0\le b\le a\le1$, and $\epsilon_l=0$ for the others.
#
# 1. Before you compute: by how much does the second favourite lower the probability of the first, if there are many patterns? Much, little, not
#    at all?
# 2. Derive $\mathbb P[E_1]$ and $\mathbb P[E_2]$. For $b=0$ the first must agree with paper (155), for $a=b$ both must be equal.
# 3. Count, and compare: is the difference within three standard errors?
#
# ```{hint}
# :class: dropdown
# Condition on $Y_1=y>0$. With $F(x)=(1+x)/2$ cut to $[0,1]$ the integrand is $\tfrac12F(y+a-b)\,F(y+a)^{d-2}$. One factor after the other reaches 1
# as $y$ grows.
# ```
# ````

# %% [markdown] tags=["solution"]
# ```{solution} ex-race
# :label: sol-race
# :class: dropdown
#
# Write $s=(1+a)/2$. For $y<1-a$ both factors are below 1, and $v=(1+y+a)/2$ runs from $s$ to 1. For $1-a<y<1-a+b$ only the first factor is below 1.
# Beyond, all are 1:
#
# $$
# \begin{aligned}
# \mathbb P[E_1]&=\int_s^1v^{d-2}\bigl(v-\tfrac b2\bigr)dv+\int_{1-b/2}^1v\,dv+\frac{a-b}2\\
# &=\frac{1-s^d}d+\frac a2-\frac{b\,(1-s^{d-1})}{2(d-1)}-\frac{b^2}8 .
# \end{aligned}
# $$
#
# For the second pattern write $t=(1+b)/2$. Its rival is ahead, so the factor $F(y+b-a)$ stays below 1 up to $y=1$:
#
# $$
# \begin{aligned}
# \mathbb P[E_2]&=\int_t^1v^{d-2}\bigl(v-\tfrac a2\bigr)dv+\int_{1-a/2}^{1-a/2+b/2}v\,dv\\
# &=\frac{1-t^d}d+\frac b2-\frac{a\,(1-t^{d-1})}{2(d-1)}-\frac{ab}4+\frac{b^2}8 .
# \end{aligned}
# $$
#
# The first two terms of each are paper (155): what the pattern would have alone. The rest is what the other favourite takes. For $d\to\infty$ the first
# loses $b^2/8$ only. The second gains $b/2-ab/4+b^2/8$ over a pattern without advantage, so the patterns without advantage lose
# $b/2-ab/4$: at least twice as much.
# ```


# %% tags=["solution", "hide-cell"]
def predicted(a, b, d):
    s, t, p = (1 + a) / 2, (1 + b) / 2, d - 1
    first = (1 - s**d) / d + a / 2 - b * (1 - s**p) / (2 * p) - b**2 / 8
    second = (1 - t**d) / d + b / 2 - a * (1 - t**p) / (2 * p) - a * b / 4 + b**2 / 8
    return torch.tensor([first, second])


# %% tags=["solution", "hide-cell"]
n = 100_000
for d, a, b in ((2, 0.6, 0.3), (5, 0.6, 0.3), (20, 0.6, 0.3), (20, 0.6, 0.6)):
    eps, p = torch.cat([torch.tensor([a, b]), torch.zeros(d - 2)]), predicted(a, b, d)
    exact = winning_probability(eps)[:2]
    count = winning_count(eps, n, stream(seed, d, f"exercise race {b}"))[:2]
    score = count_score(count, n, p)
    assert float((p - exact).abs().max()) < 1e-12
    assert float(score.abs().max()) < 6  # luck exceeds 3 once in 370 counts
    print(f"d = {d}, a = {a}, b = {b}; the first alone: {float(single(eps[0], d)):.4f}")
    for k in (0, 1):
        print(f"  P[E_{k + 1}]: predicted {p[k].item():.4f},", end=" ")
        print(f"counted {count[k].item() / n:.4f}, score {score[k].item():+.1f}")

# %% [markdown]
# ````{exercise} What is there to learn at a place?
# :label: ex-generators
#
# Take one place $k$ of a pool of $G$ generators. A share $\pi_a$ of them fixes token $a$ there, a share $\pi_*$ has the wildcard. Filters are linear,
# $\alpha=1$, the batch is large.
#
# 1. Two views of a sample come from one generator. Derive $C=\mathbb V_z\bigl[\mathbb E[x_k|z]\bigr]$, and $\mathbb V[x_k]$, which is what training without augmentation sees.
# 2. Compare the variance $e_a^\top Ce_a$ of a candidate with that of another token $b$, for $G=40$, five of ten places fixed, $P=5$, $d=20$. And without augmentation?
# 3. What is the rank of $C$? Predict where linear filters of a trained network lie, then look.
#
# ```{hint}
# :class: dropdown
# $\mathbb E[x_k|z]$ takes $P+1$ values. For the rank use that the entries of $x_k$ sum to one.
# ```
# ````

# %% [markdown] tags=["solution"]
# ```{solution} ex-generators
# :label: sol-generators
# :class: dropdown
#
# 1. $\mathbb E[x_k|z]$ is $e_a$ with probability $\pi_a$ and $\tfrac1d\mathbf 1$ with probability $\pi_*$. With the mean $m=\sum_a\pi_ae_a+\tfrac{\pi_*}d\mathbf 1$,
#
# $$
# C=\sum_a\pi_ae_ae_a^\top+\frac{\pi_*}{d^2}\mathbf 1\mathbf 1^\top-mm^\top,\qquad\mathbb V[x_k]=\operatorname{diag}(m)-mm^\top .
# $$
#
# 2. A token that is no candidate has $e_b^\top Ce_b=\pi_*(1-\pi_*)/d^2\approx\tfrac1{1600}$. A candidate has about $\pi_a(1-\pi_a)\approx0.09$, some 140 times as much.
#    Without augmentation the other token has $m_b(1-m_b)\approx\pi_*/d=0.025$, and the candidate wins by a factor of 4 only. Drawing the second view from the same
#    generator is what hides the noise.
# 3. $C$ is a covariance of $P+1$ affinely independent points where all candidates are used, wildcards occur and $P<d$, so its rank is $P$. All its non-zero
#    directions are candidates, up to one common shift of the others: in the large batch linear filters mix candidates, in $P$ directions. The trained ones do
#    fill about that many. They also carry some weight on every other token, and not the same on each: what is left of their start, and the noise of finite batches.
#
# The first cell checks $C$ for $P=5$, the second looks at the networks with $P=3$.
# ```

# %% tags=["solution", "hide-cell"]
from contrastive_dynamics.nonlinearity.two_layers.conditional_independence import (
    between_variance,
)

model, d, used = pool.fields(), 20, pool.candidates()[0]
fixed = (pool.patterns[0].unsqueeze(-1) == torch.arange(d)).double().mean(0)
free = 1 - fixed.sum(-1, keepdim=True)  # π_*, of every place
m = fixed + free / d
outer = torch.einsum("ka,kb->kab", m, m)
c = torch.diag_embed(fixed) + (free / d**2)[..., None] - outer
blocks = between_variance(model, torch.ones(1, 10, 1, d), linear)[0].view(10, d, 10, d)
assert all(float((blocks[k, :, k] - c[k]).abs().max()) < 1e-14 for k in range(10))
assert torch.linalg.matrix_rank(c, rtol=1e-9).tolist() == used.sum(-1).tolist()
for name, v in (("with augmentation", c), ("without", torch.diag_embed(m) - outer)):
    on = v.diagonal(dim1=-2, dim2=-1)
    print(
        f"{name}: a candidate has {float(on[used].mean() / on[~used].mean()):.1f}",
        end=" ",
    )
    print("times the variance of another token")

# %% tags=["solution", "hide-cell"]
w, used = (filters["linear", 20][key] for key in ("w", "candidates"))
other = w * ~used.unsqueeze(-2)
shift = other.sum(-1).square() / (~used).sum(-1, keepdim=True)  # the common part
weight, common = other.square().sum() / w.square().sum(), shift.sum() / w.square().sum()
print(f"{float(weight):.1%} of the squared weight lies on other tokens,", end=" ")
print(f"{float(common):.1%} in their common shift")

# %% [markdown]
# (nl-open)=
# ## What the paper leaves open
#
# - **How many optima there are.** Two models are shown to have LMEs at their patterns. For other data nothing says how many LMEs or local optima there
#   are, or how large their basins are. The paper leaves their distribution to future work.
# - **How many of them are found.** The $K$ nodes of a layer, or the $M=\beta P$ filters of a field, start at random. How many different optima
#   they end at, so how much over-parameterisation $\beta$ covers all $P$ patterns, is not derived.
# - **What the importance of InfoNCE does.** It is not symmetric, and it is computed from augmented views, so it has no
#   {prf:ref}`kernel structure <nl-kernel>`: Lemma 2, Theorem 2 and Corollary 2 of the paper do not cover it. For Gaussian importance Corollary 2 of the paper compares
#   two upper bounds of the roughness; it counts no optima.
# - **What is stable while the importance moves.** With {prf:ref}`stop-gradient <nl-stop-gradient>` an optimum is stable at a fixed $\alpha$. In
#   training $\alpha$ follows the weights, which adds a term to the Jacobian that Theorem 1 of the paper does not have.
# - **How a filter gets near an optimum.** Theorem 3 of the paper needs a good initial guess, is about power iteration and not the flow, and promises a critical
#   point, not a local optimum. With ReLU on finite data its condition holds inside one activation cell only.
# - **What a slow top layer does.** Theorems 4 and 5 of the paper let $V$ converge before the filters move ({prf:ref}`fast top layer <nl-fast-top>`). In the
#   experiments both layers are trained at the same rate.
# - **Where linear filters go.** Theorem 4 (2) of the paper is about paths at fixed $s$ and without projection, and says nothing of the flow along them. If $s$
#   follows the filters, $\sum_{k,m}s_{km}w_{km}^\top b_k$ is the top eigenvalue of $\mathbb C_\alpha[f_1]$: all gradients (14) of the paper vanish only where
#   that is 0.
# - **That ReLU filters share the work.** Theorem 4 of the paper says what linear filters cannot do. No theorem says that several ReLU filters of one field
#   take different patterns: Theorem 5 of the paper has one filter a field and a binary $z$, the experiments have 40 generators and $M=\beta P$.
# - **How strong the modulation is over time.** Theorem 6 of the paper adds a constant to $A_k$ under a {prf:ref}`structural assumption <nl-structure>` that
#   is not derived from any data. In Theorem 5 of the paper $\Delta_k$ changes with the filter of the field, and $\delta_k$ with those of all fields.
# - **What augmentation selects.** {prf:ref}`Assumption 2 <nl-uniform>` has none, but in the experiments a positive pair is two sequences of
#   one generator. Appendix B.5 of the paper treats one group of rotations, and the paper leaves local and several transformations to future work.
# - **Other networks.** {prf:ref}`Assumption 1 <nl-homogeneous>` excludes activations such as the sigmoid. Overlapping fields, shared filters and
#   deeper networks are not treated.
# - **The training that is used.** Momentum, weight decay, a finite learning rate and a finite batch are in the experiments and not in the
#   theory, nor is the normalisation of the outputs in the author's code. Why BatchNorm does better without the gradient through $\sigma$
#   (Table 1 of the paper) is not explained.
#
# ## What we had to assume
#
# - The {prf:ref}`convention <nl-gate>` $h'(0)=0$ decides whether a point on the boundary of a gate counts; paper (8) rests on it.
# - "Stable" and "local optimum" are read on the unit sphere, with $\alpha$ held constant in the derivative.
# - Theorem 1 of the paper is tested on densities: on points the roughness is 0 or infinite. Theorem 2 of the paper and what follows it are tested in the plane, where
#   its volume and its boundary are integrated exactly.
# - Theorem 3 of the paper is tested where its condition can be verified: inside one activation cell, where $L=0$.
# - The flows of two layers are those of paper (12) with the factor $1/p$ that $x^p$ needs; from Lemma 5 on $\alpha=1$ without augmentation, as in
#   {prf:ref}`Assumption 2 <nl-uniform>`.
# - paper (166) and (178) are read as printed, without the projection of (12).
# - The race and the plane also use $g(y)=y+b$ with $b<1$, where $g>0$ does not hold on the whole sphere.
# - The starts of paper (152) are uniform on a cube, as in the paper; Theorem 6 is tested from uniform starts on the sphere.
# - Figures are judged by their caption and the text around them. The pictures of the paper were not available, so no likeness is claimed.
#
# - Where the text of the paper and the author's program differ, the networks are trained as the program does; the table in
#   [Two layers: trained networks](nl-trained) says how. The author's configuration is also run with the text's rate and its BatchNorm statistics, Figure 5 of the paper
#   also without BatchNorm. The claims of Figure 5 of the paper are judged with the program's settings.
# - The printed run is one. We take it for a draw from the distribution that other generators, weights and minibatches give.
# - "Captures", "is learned" and "cannot" get numbers: a cosine of 0.9, 95 % of the candidates, 2 % of the other tokens, half of the filters.
# - Lemma 9 of the paper leaves $\kappa$ open, and Lemmas 7 to 11 need a field with a Lipschitz constant, which ReLU on points does not have; both are chosen here.
#   With $\kappa=8/\lambda_{\mathrm{gap}}^2$ it depends on $w$, where the paper has one constant.
#
# - The statements on Figures 4 to 11 of the paper are read as [shares of clear comparisons](nl-grids), with "works well" at 0.9, "low" at 0.1, "not much" at 0.05, "much less" at a third.
#   Table 1 of the paper and the other figures do not say how BatchNorm, rate and temperature were set; the program's settings are used throughout, and
#   [the text's beside them](nl-text-program).
# - Figures 12 and 13 of the paper name neither the number of filters nor the rate on images. Here are 25 filters a field. The rate and the number of minibatches go together, since without
#   augmentation weight decay has to take the random start away.

# %%
chapter.close()
