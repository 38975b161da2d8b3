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
# # Nonlinearity
#
# ```{include} ../book/_generated/nonlinearity-box.md
# ```
#
# Every filter of a layer is trained on the same objective. Why do they not all learn the same thing? And with a second layer on top, who decides what is learned? {cite}`tian-2023` answers the first question for one layer, the second for two. We begin with one filter and nine points; [a film](film-tokens) shows thirty filters.

# %% tags=["hide-input", "parameters"]
first_seed: int = 1000  # first seed of the block that is judged, 0..1000000
seeds: int = 5  # seeds of a claim that is decided by chance, 3..1000
populations: int = 10  # random densities on which fixed points are looked for, 6..1000
map_seeds: int = 2  # seeds of each cell of the map of importances, 2..100
temperatures: list[float] = [1.0, 0.1, 0.01]  # of that map, 0.001..100
networks: int = 5  # trained networks in the author's configuration, 3..1000
minibatches: int = 5000  # of each training, 25..1000000
judged_at: int = 5000  # least minibatches of a training that is judged, 25..1000000
grid_p: list[int] = [1, 3, 5, 10]  # candidates P of the grids of Figures 4 to 11, 1..20
grid_beta: list[int] = [1, 2, 5, 10]  # their over-parameterisation β, 1..1000
grid_activations: str = "relu"  # of the grids, all five or linear and ReLU, all|relu
grid_seeds: int = 3  # networks of each case of Figures 4 and 9, 2..1000
grid_quadratic_seeds: int = 0  # of Figure 10; 0 leaves it out, 0..1000
grid_norm_seeds: int = 0  # of Figure 11 and Table 1; 0 leaves them out, 0..1000
grid_text_seeds: int = 0  # of what the text says differently; 0: none, 0..1000
coverage_seeds: int = 0  # networks whose coverage is counted; 0: none, 0..1000
coverage_p: list[int] = [3, 5, 10]  # their candidates P, 1..20
ticket_seeds: int = 0  # wide networks that are pruned; 0: none, 0..1000
line_seeds: int = 0  # linear networks of each importance; 0: none, 0..1000
data: str = "digits"  # images of Figures 12 and 13, one of data.catalogue.DIGITS
image_minibatches: int = 1600  # of 8 images; judged at 100 / image_rate, 25..1000000
image_rate: float = 0.0625  # learning rate on images, 0.000001..10
own_activation: str = "leaky_relu"  # of your network, one of losses.activations.TRAINED
own_loss: str = "infonce"  # of your network, one of losses.named_losses.LOSSES
own_batch_norm: str = "mean"  # what is back-propagated, off|both|mean|variance|none
own_candidates: int = 3  # tokens that a place of your network admits, P, 1..1000
own_beta: int = 2  # its filters a candidate, M/P, 1..1000000
own_places: int = 10  # its receptive fields, K, 1..1000
own_tokens: int = 20  # its tokens, d, 2..1000
own_length: int = 5  # tokens that its generators fix, 1..1000
own_batch: int = 128  # samples of its minibatches, 2..65536
own_minibatches: int = 2000  # for which it is trained, 25..1000000
device: str = "cpu"  # the calls are small: a GPU gains nothing here, auto|cpu|cuda

# %% tags=["hide-input"]
import math
from dataclasses import replace
from functools import cache
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.nn.functional import normalize

from clbook.notebook import colours, glue, open_chapter
from contrastive_dynamics.losses import (
    ACTIVATIONS, Activation, activation, contrastive_energy,
    gated_contrastive_covariance, gated_field, gaussian_importance, infonce_importance,
    infonce_loss, one_layer_velocity, project_out, uniform_importance,
)  # fmt: skip
from contrastive_dynamics.nonlinearity.networks import (
    TokenTraining,
    letters,
    shows_candidate,
)
from contrastive_dynamics.nonlinearity.one_filter import (
    CRITICAL_Q, FIGURE_8_POINTS, ascent_limits, basin_shares, circle_boundary, circle_energy, circle_fixed_points, circle_grid, count_energy_maxima, critical_probability,
    distinct_points, earliest_blow_up, eigen_check, energy_maxima, expected_finds,
    first_finds, first_wins, flow_jacobian, growth_rate, largest_rate,
    latent_summation, lme_roughness, newton_fixed_points, on_circle, orthonormal_patterns, population_field, random_gaussian_mixture, sphere_flow, stretched_summation,
    uniform_on_sphere, wins_by, wins_flow,
)  # fmt: skip
from contrastive_dynamics.nonlinearity.two_layers import (
    colinearity, modulated_velocity,
    output_variance,
    random_fields_and_filters, rank_one_gram, strength, top_direction,
    top_eigenvalue_gradient, two_layer_gradient,
)  # fmt: skip
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.relative_error import relative_errors
from contrastive_dynamics.numerics.run_defaults import torch_defaults
from experiments.nonlinearity import (
    FILTERS, density_fixed_points, filter_history, matching_curves,
)  # fmt: skip

# %% tags=["hide-input"]
chapter = open_chapter("nonlinearity", globals())
torch_defaults(chapter.device)
linear, relu, leaky, quadratic = (
    activation(n) for n in ("linear", "relu", "leaky_relu", "quadratic")
)
block, seed = chapter.seeds, first_seed
author = TokenTraining()


# %% [markdown]
# ## How many hills?
#
# The nine points lie on the unit circle; they are those of Figure 8 of the paper. A filter is a direction in the plane, $w=(\cos\theta,\sin\theta)$. It turns each point $x$ into one number, $h(w^\top x)$, where $h$ is the activation. Training turns the filter so that these nine numbers vary more and more: it climbs the **energy** $\tfrac12\mathbb V[h(w^\top x)]$, half their variance. Over the angle this is a curve; its local maxima are **hills**.
#
# For a linear filter the curve is a wave with two hills of equal height, at opposite angles. A ReLU filter, $h=\max(w^\top x,0)$, sees only points in its half plane; others give zero. What does this do to the hills?

# %% tags=["hide-input"]
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

# %% [markdown]
# The hills multiply step by step: there are <a href="#circle:leak=1">two</a> for a linear filter, <a href="#circle:leak=0.6">four</a> for a leaky one that lets 0.6 of a negative input through, then <a href="#circle:leak=0.3">six</a>, <a href="#circle:leak=0.2">seven</a>, <a href="#circle:leak=0.1">eight</a>, and <a href="#circle:leak=0">nine</a> for ReLU. Where a point enters or leaves the half plane the curve has a kink, and a kink can be a hilltop.
#
# Each hill has a **basin**, the starting angles from which a filter climbs it (the shades of the grey strip below the curve). Drop <a href="#circle:filters=20&amp;leak=1">twenty linear filters</a>, and all of them stop at two opposite angles. Drop <a href="#circle:filters=20&amp;leak=0">twenty ReLU filters</a>, and they spread over the hills. Now <a href="#circle:leak=0&amp;spread=0.3">spread each point</a> into an arc, and most hills vanish. Nine is a property of these nine points; what holds for other data?
#
# **How to read this page.** Each result comes as an idea, a statement, a run, and a card with the verdict ([how a claim is judged](../book/judging.md)). A card also names a *control*: a plausible mistake that goes through the same code and has to fail. Most cards are in the [appendix](nonlinearity-appendix.ipynb); a [table of symbols](nl-symbols) is near the end.

# %% tags=["hide-input"]
# what the trainings below need is checked before any work
chapter.check(author.require_memory, 16, chapter.device)

# %% [markdown]
# ## One objective, many hills
#
# A contrastive loss pushes the outputs of different samples apart, and pulls those of two views of one sample together. Both are differences of outputs, so they fit into one covariance.
#
# Two views $x[i],x[i']$ of each of $N$ samples pass through a network $f$. Let $\alpha_{ij}\ge0$ be the **pairwise importance**: how much the loss cares about the pair of samples $i,j$. The **contrastive covariance** of two functions $a,b$ of a view is
#
# $$
# \begin{aligned}
# \mathbb C_\alpha[a,b]=\frac1{2N^2}\sum_{i,j}\alpha_{ij}\bigl[&(a[i]-a[j])(b[i]-b[j])^\top\\
# -\,&(a[i]-a[i'])(b[i]-b[i'])^\top\bigr].
# \end{aligned}
# $$ (eq-covariance)
#
# The first line is the spread between samples, the second what the views of one sample differ by. With $\mathbb C_\alpha[f]$ for $\mathbb C_\alpha[f,f]$, training climbs the energy $\mathcal E_\alpha=\tfrac12\operatorname{tr}\mathbb C_\alpha[f]$. If all pairs count alike, $\alpha\equiv1$, and both views are the sample itself, this is the energy of the circle.
#
# ```{prf:assumption} Section 2 of the paper: stop-gradient
# :label: nl-stop-gradient
# :nonumber:
# $\alpha$ may depend on the weights, but it is treated as a constant in gradients and in the study of local properties of the weights.
# ```
#
# Losses of this family differ only in their importance. The quadratic loss has $\alpha\equiv1$. InfoNCE attends to pairs whose outputs are close, and so easily confused: with $d_{ij}^2=\tfrac12\lVert f_i-f_j\rVert^2$ and a temperature $\tau$, its $\alpha_{ij}$ is $e^{-d_{ij}^2/\tau}$ over the sum in the denominator of the loss, and $\alpha_{ii}=0$. A step down InfoNCE is then a step up this energy,
# $\nabla\mathcal L_{nce}=-2N^2\,\nabla\mathcal E_{\mathrm{sg}(\alpha)}$, where $\mathrm{sg}(\alpha)$ stands for $\alpha$ held constant.

# %% [markdown]
# ```{strip}
# $-d_{ij}^2/\tau$, $d_{ij}^2=\tfrac12\lVert f_i-f_j\rVert^2$ | pairwise_importance.infonce_logits: logits =
# $\alpha_{ij}$: its exponential over the sum of the row | pairwise_importance.infonce_importance: alpha = infonce_logits
# $\alpha_{ii}=0$ | pairwise_importance.infonce_importance: _diagonal(
# $\mathcal E_\alpha=\tfrac12\operatorname{tr}\mathbb C_\alpha[f]$ | contrastive_covariance.contrastive_energy: return
# $-2N^2\,\nabla\mathcal E_\alpha$, to be compared with $\nabla\mathcal L_{nce}$ | cell: expected = (-2 * n**2 * gradient
# ```


# %% tags=["hide-input"]
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


# %% tags=["hide-input"]
grid = list(product((4, 16, 128), (0.1, 0.5, 2.0), (0.0, 1.0, 5.0), ACTIVATIONS))
error = max(alpha_cl_error(*case) for case in grid)
through = min(alpha_cl_error(*case, stop_gradient=False) for case in grid)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("alpha-cl", observed=error, control=through)

# %% [markdown]
# ```{prf:assumption} no. 1 of the paper: homogeneity
# :label: nl-homogeneous
# :nonumber:
# The activation satisfies $h(x)=h'(x)\,x$.
# ```
#
# Linear, ReLU and LeakyReLU activations have this property, and $x^p$ has it up to the factor $p$. At 0, where ReLU has no slope, the paper chooses $h'(0)=0$.
# So the output of a filter is $w^\top\tilde x^w$ with the **gated input** $\tilde x^w=x\,h'(w^\top x)$. For ReLU the slope is a **gate**: it is 1 where $w^\top x>0$ and 0 elsewhere. Everything about the filter then follows from one matrix, the covariance of what its gate lets through, $A(w)=\mathbb C_\alpha[\tilde x^w]$.
#
# ````{prf:lemma} no. 3 of the paper: the flow of one filter
# :label: nl-lem-3
# :nonumber:
# Under {prf:ref}`Assumption 1 <nl-homogeneous>` and with {prf:ref}`stop-gradient <nl-stop-gradient>`:
#
# ```{claim} lem-3
# ```
# ````
#
# Here $P_w^\perp=I-ww^\top$ removes the part along $w$, so that the filter stays on the unit sphere. The idea of the proof: the energy is $\tfrac12w^\top A(w)w$. As long as no input crosses the gate, $A$ does not change when $w$ turns, and the gradient of a quadratic form on the sphere is $P_w^\perp A(w)w$.

# %% [markdown]
# ```{strip}
# $\tilde x^w=x\,h'(w^\top x)$ | gated_covariance.gate
# $A(w)=\mathbb C_\alpha[\tilde x^w]$ | contrastive_covariance.gated_contrastive_covariance
# $A(w)\,w$, halved for $h(x)=x^2$ | contrastive_covariance.one_layer_velocity: pull =
# $P_w^\perp v=v-w\,(w^\top v)$ | gated_covariance.project_out
# ```


# %% tags=["hide-input"]
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


# %% tags=["hide-input"]
cases = list(product(ACTIVATIONS, ("uniform", "Gaussian", "InfoNCE")))
error = max(lem_3_error(*case) for case in cases)
unprojected = min(lem_3_error(*case, projected=False) for case in cases)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lem-3", observed=error, control=unprojected)

# %% [markdown]
# For a linear filter every gate is open, and $A$ does not depend on $w$. The flow is power iteration on one fixed matrix, and every filter of the layer ends at its top eigenvector, up to sign. A ReLU filter that turns lets other inputs through and so meets another matrix. It can be the top eigenvector of *its own* $A(w)$ at many places.


# %% tags=["hide-input"]
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


# %% tags=["hide-input"]
importances = {
    "uniform α": uniform_importance,
    "Gaussian α": lambda x: gaussian_importance(x, 10.0),
}
error, with_relu = {}, {}
for name, alpha in chapter.progress(importances.items(), "filters", 2):
    error[name] = max(distance_from_top(linear, alpha, s) for s in block[:4])
    with_relu[name] = distance_from_top(relu, alpha, seed, 50)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("lin-1", observed=error, control=with_relu)

# %% [markdown]
# Back to the nine points. Between two neighbouring kinks the energy is one quadratic form in $w$, so its maxima can be counted exactly. The paper states at least eight for ReLU; the search finds {glue:text}`nl-maxima:.0f`; {glue:text}`nl-kinks:.0f` of these lie at kinks.

# %% [markdown]
# ```{strip}
# $\mathcal E(w)=\tfrac12\mathbb V[h(w^\top x)]$ | circle_landscape.energy
# $A$ on the arc between two kinks, by its middle | circle_landscape.energy_maxima: a = gated_covariance(
# there $\mathcal E$ is a wave in $2\theta$, with its top at $\varphi=\tfrac12\operatorname{atan2}(2A_{12},\,A_{11}-A_{22})$ | circle_landscape.energy_maxima: phi =
# a kink is a hilltop if the slope falls there from above 0 to below | circle_landscape.energy_maxima: if before[k - 1]
# ```

# %%
points = on_circle(math.pi * torch.tensor(FIGURE_8_POINTS))
count = {a.name: int(count_energy_maxima(points[None], a)) for a in (relu, linear)}
maxima = energy_maxima(points, relu)  # exact: one quadratic form an arc

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("fig-8", observed=count["relu"], control=count["linear"])

# %% tags=["remove-cell"]
glue.number("nl-maxima", len(maxima))
glue.number("nl-kinks", sum(top.at_kink for top in maxima))

# %% [markdown]
# :::{admonition} Quick question: which negatives count most in InfoNCE, and where does `detach` have to stand?
# :class: dropdown
#
# Those nearest to the anchor. `detach` stands around $\alpha$, so that no gradient flows through the importance.
# :::

# %% [markdown]
# ## When is a pattern a hilltop?
#
# Take data that are made of patterns. Is there a hill at each pattern, so that filters can learn it? A ReLU filter at a pattern lets an input through if the pattern is present. If the pattern is rare, what comes through varies most along it. If it is common, most of that variance lies in the other patterns. So a filter should stay at a rare pattern and turn away from a common one.
#
# ```{prf:definition} no. 3 of the paper: locally maximal eigenvector
# :label: nl-lme
# :nonumber:
# $w_*$ is a locally maximal eigenvector (LME) of $A(w)$ if $A(w_*)w_*=\lambda_*w_*$ and $\lambda_*$ is the distinct largest eigenvalue
# of $A(w_*)$.
# ```
#
# The paper asks when a pattern is an LME in its **latent summation model**. An input is a sum of orthonormal patterns, $x=\sum_my_mu_m=Uy$. The $y_m$ are independent and take two values: a positive one with probability $q_m$ (the pattern is present) and a negative one otherwise, chosen such that the mean is 0 and the variance 1. For ReLU, $\alpha\equiv1$, no augmentation and $N\to\infty$,
#
# $$
# A(u_m)=(1-q_m)^2u_mu_m^\top+q_m(I-u_mu_m^\top),
# $$ (nl-eq-summation)
#
# which is equation (9) of the paper. The gate is open with probability $q_m$, and across $u_m$ the input has variance 1. Along $u_m$ the gated input is $y_+=\sqrt{(1-q_m)/q_m}$ with probability $q_m$ and zero otherwise, so its variance is $q_my_+^2-(q_my_+)^2=(1-q_m)^2$.
#
# ```{record-figure} plot-hilltop
# :alt: Left, the eigenvalue along a pattern falls with its probability, the one across rises, and they cross at 0.382; beyond, the plane is hatched. Right, the length of a step of power iteration falls on parallel straight lines for three deviations, on the dots of the formula.
# :name: plot-hilltop
#
# Look left at the crossing: left of the dotted line a pattern is an LME, right of it there is none. Right: near a pattern each step of power iteration is shorter than the one before by the ratio of the two (black dots; [appendix](nl-a-steps)). Tilt: $\lVert U^\top U-I\rVert$.
# ```
#
# A pattern of $q=0.2$ has the eigenvalue $0.64$ along and $0.2$ across, so it is an LME. One of $q=0.5$ has $0.25$ along and $0.5$ across, so it is none. The two are equal at $q=(3-\sqrt5)/2\approx0.382$, whatever the other patterns are. In this model $A$ is constant near $u_m$, and "LME" and "hilltop" mean the same. (The nine hills of the circle lie at kinks, where $A$ jumps, and none is an LME.)
#
# In the paper's second model an input is exactly one of the patterns. There [every pattern is an LME](nl-a-categorical).

# %% [markdown]
# ```{strip}
# $A(u_m)=(1-q_m)^2u_mu_m^\top+q_m\,(I-u_mu_m^\top)$; here $UU^\top=I$ | latent_models.summation_covariance
# $A(u_m)$ of the model, input by input | latent_models.closed_form_error: enumerated =
# along the pattern, $u_m^\top Au_m$ | latent_models.pattern_eigenvalues: along =
# across it, $\lambda_{\max}(P^\perp AP^\perp)$ | latent_models.pattern_eigenvalues: return
# the crossing is the root in $q_m$ | latent_models.critical_probability: return float(
# ```


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


# %% [markdown]
# :::{admonition} Quick question: for which $q_m$ is $u_m$ the top eigenvector, and what does the answer owe to the other patterns?
# :class: dropdown
#
# Where $(1-q_m)^2>q_m$, that is for $q_m<0.382$. The other patterns play no part.
# :::

# %% [markdown]
# ## More filters, more patterns
#
# The filters of one layer do not influence each other, since the energy is a sum with one term per filter. So a layer is a **lottery**: each filter is a ticket, drawn by its random start, and hill $j$ wins with the probability $b_j$, the share of its basin. As the paper says, "the more nonlinear nodes in 1-layer networks with different initialization, the more local optima are likely to be collected". ($K$ counts nodes, filters with their activation, in this section, and fields later.)

# %% [markdown]
# How many are found? All $K$ nodes miss hill $j$ with probability $(1-b_j)^K$, so that a layer finds
#
# $$
# \mathbb E[\text{distinct limits}]=\sum_j\bigl(1-(1-b_j)^K\bigr)
# $$ (nl-eq-finds)
#
# of them on average. Take two hills with basins 0.9 and 0.1: two nodes find $0.99+0.19=1.18$ of them, ten nodes 1.65.

# %% [markdown]
# ```{glue:figure} plot-finds
# :alt: Distinct limits against the number of nodes: ReLU circles rise from one to about six and a half along the black formula, linear squares stay at one.
# :name: plot-finds
#
# What a layer of $K$ nodes finds among ten patterns: means, and the range over layers as bands. Look how the circles keep to the black line, which knows only the basins of other starts. Live: <a href="#circle:filters=1">one filter</a>, <a href="#circle:filters=8">eight</a>, <a href="#circle:filters=64">sixty-four</a>.
# ```

# %% [markdown]
# ```{strip}
# basins $b_j$: shares of starts that end together | distinct_limits.basin_shares
# $\sum_j\bigl(1-(1-b_j)^K\bigr)$ | distinct_limits.expected_finds
# distinct limits of the first $K$ nodes | distinct_limits.first_finds
# ```


# %% tags=["hide-input"]
def gains(case, act):  # three layers a seed
    seed, layer = case
    u = orthonormal_patterns(10, 10, stream(seed, layer, "many-k"))
    u = u * torch.linspace(1, 1.5, 10)
    model = latent_summation(u, torch.full((10,), 0.2))
    field = population_field(*model, act)
    nodes = range(24 * layer, 24 * layer + 24)
    w0 = uniform_on_sphere([stream(seed, k, "node") for k in nodes], 10)
    w = sphere_flow(field, w0, step=2.0, tol=1e-4, max_steps=300).w

    def distinct(nodes):  # ±w count as one for linear nodes
        return int(distinct_points(nodes, 0.05, signed=act.name == "relu").max()) + 1

    return {k: distinct(w[8 : 8 + 2 * k]) - distinct(w[:k]) for k in (1, 2, 4, 8)}


# %%
layers = list(product(block, range(3)))
found = [gains(case, relu) for case in chapter.progress(layers, "ReLU nodes")]
plain = [gains(case, linear) for case in chapter.progress(layers[:3], "linear nodes")]
more = {f"K = {k}": [g[k] for g in found] for k in found[0]}
with_linear = {f"K = {k}": [g[k] for g in plain] for k in found[0]}

# %% tags=["hide-input"]
stretched = stretched_summation(torch.linspace(1, 1.5, 10), q=0.2)


def limits(act, purpose, n):  # of n nodes a seed
    w = uniform_on_sphere([stream(s, k, purpose) for s in block for k in range(n)], 10)
    return ascent_limits(*stretched, w, act)


def finds(act, layers):  # distinct limits of the first K nodes `[seed, layer, K]`
    w = limits(act, "many-k-a node", 16 * layers).view(-1, 16, 10)
    counted = [first_finds(layer, signed=act.name == "relu") for layer in w]
    return torch.stack(counted).double().view(len(block), layers, 16)


# %% tags=["hide-input"]
basins = basin_shares(limits(relu, "many-k-a basin", 200))
formula = torch.stack([expected_finds(basins, k) for k in range(1, 17)])
equal = torch.stack([expected_finds(torch.full((10,), 0.1), k) for k in range(1, 17)])
by_relu, by_linear = finds(relu, layers=16), finds(linear, layers=1)


def above(found, expected):  # mean over the layers of a seed and over K
    return (found - expected).mean((1, 2)).tolist()


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("many-k", observed=more, control=with_linear)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "many-k-a",
    observed=above(by_relu, formula),
    control={
        "linear nodes": above(by_linear, formula),
        "ten equal basins": above(by_relu, equal),
    },
)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(6.4, 3.1), layout="constrained")
widths = range(1, 17)
for found, look, name in (
    (by_relu, colours.RELU, "ReLU"),
    (by_linear, colours.LINEAR, "linear"),
):
    layers = found.flatten(0, 1).cpu()
    low, mean, high = layers.amin(0), layers.mean(0), layers.amax(0)
    ax.fill_between(widths, low, high, color=look["color"], alpha=0.15, lw=0)
    ax.plot(widths, mean, **look | {"linestyle": "none"})
    ax.text(16.4, float(mean[-1]), name, color=look["color"], va="center")
ax.plot(widths, formula.cpu(), color=colours.BLACK, zorder=1)
ax.text(8.3, 3.9, r"$\sum_j1-(1-b_j)^K$", color=colours.BLACK)
ax.set(xlabel="nodes $K$", ylabel="distinct limits", xlim=(0, 18.4), ylim=(0, 10.3))
ax.set_xticks((1, 4, 8, 12, 16))
off_basins = float((by_relu.mean((0, 1)) - formula).abs().max())
ax.set_title(
    "Finds follow the basins"
    if off_basins <= 0.5
    else f"Finds leave the basins by up to {off_basins:.1f}"
)
glue.figure(fig, "plot-finds")

# %% [markdown]
# :::{admonition} Quick question: ten hills with equal basins, ten filters: how many hills are found?
# :class: dropdown
#
# $10\,(1-0.9^{10})\approx6.5$ on average, and fewer if the basins are unequal.
# :::

# %% [markdown]
# ## What roughness does, and does not
#
# An LME is a point where a filter can rest. Does it also return there after a small push? In general $A$ changes as the filter turns, and may carry it away. Two quantities compete. The **gap** $\lambda_{\mathrm{gap}}=\lambda_1-\lambda_2$ between the two largest eigenvalues of $A$ pulls the filter back. The **roughness** $\rho(w)$ says how much $A$ changes: it is the smallest number with $\lVert(A(v)-A(w))w\rVert\le\rho(w)\lVert v-w\rVert$ to first order.
#
# ````{prf:theorem} no. 1 of the paper: stability
# :label: nl-thm-1
# :nonumber:
# For {prf:ref}`LMEs <nl-lme>`:
#
# ```{claim} thm-1
# ```
# ````
#
# The idea: the Jacobian of the flow at the LME $w_*$ is $P^\perp(A-\lambda_*)P^\perp$, which is at most $-\lambda_{\mathrm{gap}}$, plus the change of $A$, which is at most $\rho$.
#
# On single points $A$ jumps, and the roughness is 0 or infinite. So we test the theorem on **densities**, where inputs cross the gate one by one: random ones on a disc, and mixtures of Gaussians in 3, 5 and 8 dimensions.

# %% [markdown]
# The paper adds that lowering the roughness, [as a Gaussian importance does](nl-a-bound), "could lead to more local optima" ([does it?](nl-a-optima)). With $h(x)=x^2$ it can: a nudged filter leaves every LME we found whose roughness exceeds its gap.
#
# ReLU is different. On a density with $\alpha\equiv1$ the derivative of $A$ comes only from the inputs that cross the plane $w^\top x=0$, and the Jacobian is
#
# $$
# J=P^\perp\left(A-\lambda_*-\mathbb E[h]\,B\right)P^\perp,\qquad B=\int_{w_*^\top x=0}xx^\top p(x)\,dS\succeq0 .
# $$ (nl-eq-jacobian)
#
# Here $\mathbb E[h]$ is the mean output of the filter, $B$ the second moment of the density $p$ on the plane, and $\rho=\mathbb E[h]\,\lambda_{\max}(B)$. The roughness enters with a minus sign: an input that crosses the gate pushes the filter back. So on such a density every LME is stable under ReLU, however rough.

# %% [markdown]
# ```{glue:figure} plot-roughness
# :alt: Growth rate of a nudge against gap minus roughness, the region above a falling dotted line hatched. Diamonds of the quadratic activation lie on the line or, at the right, below it, above zero left of the middle; circles of ReLU lie below zero on both sides.
# :name: plot-roughness
#
# Theorem 1 of the paper, on random densities: below zero a nudge dies out. Look right of the vertical line, where the condition holds: every mark is below zero. Left of it the diamonds (quadratic) rise above zero, the circles (ReLU) do not.
# ```

# %% [markdown]
# ```{strip}
# $\lambda_1$ and the gap $\lambda_1-\lambda_2$ of $A(w)$ | locally_maximal.eigen_check: top, gap =
# LME: $w$ is the eigenvector of $\lambda_1$, and $\lambda_1$ is distinct | locally_maximal.eigen_check: is_lme =
# $\partial_v\,A(v)\,w$ at $v=w$, along the sphere | locally_maximal.roughness: change =
# $\rho(w)$, its norm | locally_maximal.roughness: return
# gap less roughness | density_optima.density_fixed_points: margin =
# ```


# %% tags=["hide-input"]
@cache
def fixed_points(act):
    """`density_fixed_points` of this run's densities."""
    draws = [stream(seed, k, "density") for k in range(populations)]
    return density_fixed_points(draws, act)


# %%
def after_nudge(act, meets, nudge=1e-4):
    """‖end − start‖ of the LMEs with gap > ρ (meets), or of those with gap <= ρ."""
    rest, here, check, margin = fixed_points(act)
    pick = check.is_lme & ((margin > 0) == meets)
    nudged = on_circle(rest.theta[pick] + nudge)
    end = sphere_flow(here.at(pick).matrix_field(act), nudged, step=2.0, tol=1e-9)
    return (end.w - rest.w[pick]).norm(dim=-1)


# %% tags=["hide-input"]
acts = chapter.progress((relu, leaky, quadratic), "nudged eigenvectors")
meeting = {a.name: after_nudge(a, True) for a in acts}
missing = {a.name: after_nudge(a, False) for a in (relu, quadratic)}
moved = {name: float(d.max()) for name, d in meeting.items()}


# %% tags=["hide-input"]
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


# %% tags=["hide-input"]
def after_nudge_in(d, act, nudge=1e-4):
    """‖end − start‖ of the LMEs, and whether gap > ρ."""
    w, pop, meets = lmes_of_mixtures(d, act)
    push = normalize(torch.randn(*w.shape, generator=stream(seed, d, "nudge")), dim=-1)
    field = pop.matrix_field(act)
    end = sphere_flow(field, w + nudge * push, step=2.0, tol=1e-10, max_steps=1000)
    return (end.w - w).norm(dim=-1), meets


# %% tags=["hide-input"]
cases = chapter.progress(
    list(product((relu, leaky, quadratic), (3, 5, 8))), "dimensions"
)
nudged = {(act.name, d): after_nudge_in(d, act) for act, d in cases}
meet = {
    f"{n}, d = {d}": float(f[m].max()) for (n, d), (f, m) in nudged.items() if m.any()
}
off_start = torch.cat([nudged["quadratic", d][0] for d in (3, 5, 8)])
every = float(off_start.max()) if len(off_start) else 0.0


# %% tags=["hide-input"]
def share_left(
    name, meets
):  # of the eigenvectors that meet the condition, or of the others
    found = [far[ok == meets] for far, ok in (nudged[name, d] for d in (3, 5, 8))]
    plane = (meeting if meets else missing)[name]
    cases = {"plane": plane, "d = 3, 5, 8": torch.cat(found)}
    return {case: float((far > 1e-6).double().mean()) for case, far in cases.items()}


# %% tags=["hide-input"]
def rate_errors(act):
    """Growth rate of a nudge from −(gap + ρ), and from −(gap − ρ), over λ1, at the LMEs of the densities."""
    rest, here, check, margin = fixed_points(act)
    growth = growth_rate(flow_jacobian(here.matrix_field(act), rest.w))
    rough = check.gap - margin
    rates = -check.gap - rough, -check.gap + rough
    return [((growth - r) / check.lambda1)[check.is_lme].abs() for r in rates]


ours, reversed_sign = rate_errors(relu)
stays = {f"left, {case}": share for case, share in share_left("relu", False).items()}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-1", observed=moved, control=float(missing["quadratic"].min()))


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-1-b", observed=meet, control=every)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-1-a",
    observed=share_left("quadratic", False),
    control=share_left("quadratic", True),
)


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "thm-1-c",
    observed={"rate, over λ1": float(ours.max())} | stays,
    control=float(reversed_sign.min()),
)

# %% tags=["hide-input", "remove-output"]
QUADRATIC = {"color": colours.GREEN, "marker": "D"}
fig, ax = plt.subplots(figsize=(6.4, 3.5), layout="constrained")
drawn = {}
for act, look in ((quadratic, QUADRATIC), (relu, colours.RELU)):
    rest, here, check, margin = fixed_points(act)
    growth = growth_rate(flow_jacobian(here.matrix_field(act), rest.w))
    dots = [(v / check.lambda1)[check.is_lme].cpu() for v in (margin, growth)]
    drawn[act.name] = dots
    ax.plot(*dots, **look | {"linestyle": "none", "fillstyle": "none"})
ax.axhline(0, **colours.ASIDE), ax.axvline(0, **colours.ASIDE)
ax.margins(0.08)
ends = np.array(ax.get_xlim())
ax.plot(ends, -ends, **colours.THEORY)
ax.fill_between(ends, -ends, 1, facecolor="none", edgecolor="0.8", hatch="//", lw=0)
ax.set(xlim=ends, ylim=(None, 1))
boxed = {"transform": ax.transAxes, "backgroundcolor": "white"}
ax.text(0.72, 0.85, "cannot happen,\nby the proof", ha="center", **boxed)
against = sum(int((rate[of > 0] > 0).sum()) for of, rate in drawn.values())
grown = {name: int((rate > 0).sum()) for name, (_, rate) in drawn.items()}
beside = {"transform": ax.transAxes}
said = "grows" if grown["quadratic"] else "none grows"
ax.text(0.03, 0.6, f"quadratic:\n{said}", color=colours.GREEN, **beside)
said = f"{grown['relu']} grow" if grown["relu"] else "none grows"
ax.text(0.03, 0.35, f"ReLU:\n{said}", color=colours.RELU["color"], **beside)
spared = not grown["relu"] and bool((drawn["relu"][0] < 0).any())
ax.set_title(
    "The condition is enough, and for ReLU not needed"
    if spared and not against
    else f"{against} grow against the condition; of ReLU {grown['relu']} grow"
)
ax.set_xlabel(r"(gap − roughness) / $\lambda_1$   (right of 0: the condition holds)")
ax.set_ylabel(r"growth rate of a nudge / $\lambda_1$")
glue.figure(fig, "plot-roughness")

# %% [markdown]
# ## Linear filters share one line
#
# Take an input of $K$ parts, such as a word of $K$ letters. Each part is seen by $M$ filters of its own, whose **receptive field**, or field, it is. The top layer sees the outputs of all. With three fields and two filters each:
#
# ```text
# input            x_1           x_2           x_3        K = 3 fields
#                 /   \         /   \         /   \
# filters      w_11   w_12   w_21   w_22   w_31   w_32    M = 2 filters each
#                \      \       \   /       /      /
# top layer                       V                       sees all 6 outputs
#                                 |
# output                         f_2
# ```
#
# In the experiments below a part is one letter, or **token**, out of an alphabet of $d$. The word CAB gives $x_1=e_C$, $x_2=e_A$ and $x_3=e_B$, where $e_a$ is the unit vector of token $a$. So a filter has one weight for each token: if one is large, it has learned one token; if several are, it mixes them.
#
# Call $x_k$ the input of field $k$ and $w_{km}$ its filter $m$. The outputs of all filters are $f_1=[h(w_{km}^\top x_k)]_{km}$, the output of the network is $f_2=Vf_1$, and the filters feel the top layer only through $S=V^\top V$ ([the flow](nl-a-flow)).
#
# ```{prf:assumption} no. 2 of the paper, second part: fast top layer
# :label: nl-fast-top
# :nonumber:
# $V$ is trained fast and has always converged to its stationary point given $\mathbb C_\alpha[f_1]$. That is, $S=ss^\top$ has rank one, with
# the unique top eigenvector $s$ of $\mathbb C_\alpha[f_1]$.
# ```
#
# The vector $s$ has one entry $s_{km}$ for each filter. Below such a top layer, and without gates, all filters of field $k$ move along one direction, $\eta_k$.
#
# ````{prf:theorem} no. 4 of the paper: linear filters
# :label: nl-thm-4
# :nonumber:
# With linear activation and a {prf:ref}`fast top layer <nl-fast-top>` $\dot w_{km}=s_{km}\eta_k(W,V)$ (14), where
# $\eta_k=\mathbb C_\alpha\bigl[x_k,\sum_{k',m'}s_{k'm'}w_{k'm'}^\top x_{k'}\bigr]$ is linear in $W$. (The paper writes $b_k$ for $\eta_k$.) So:
#
# ```{claim} thm-4
# ```
# ```{claim} thm-4-a
# ```
# ````
#
# The idea of the first part: $s$ is an eigenvector, with the eigenvalue $\lambda$, which reads $\lambda s_{km}=w_{km}^\top\eta_k$ filter by filter. So $\dot w_{km}=(\eta_k\eta_k^\top/\lambda)\,w_{km}$: one matrix moves every filter of the field. On the sphere the filters [end on one line](nl-a-paths), too. The second part, at fixed $s$, is in the appendix.

# %% [markdown]
# ```{strip}
# the fast top layer: $s$, top eigenvector of $\mathbb C_\alpha[f_1]$ | two_layer.top_direction: s = torch.linalg.eigh(
# $S=ss^\top$ | two_layer.rank_one_gram
# $\sum_{k'm'}S_{km,k'm'}\,f_{k'm'}$, centred | two_layer.gradient: feedback =
# $\dot w_{km}=\mathbb C_\alpha\bigl[\tilde x_{km},\sum Sf\bigr]$ | two_layer.gradient: return
# $\sigma_2/\sigma_1$ of the gradients of a field: 0 if colinear | two_layer.colinearity: return
# ```


# %% tags=["hide-input"]
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

# %% [markdown]
# Linear filters trained with InfoNCE fill several directions. Is the top layer too slow to have rank one, or does the loss keep it from that? We vary both. The importance goes from that of InfoNCE to the uniform one, $\alpha=(1-s)\,\alpha_{\mathrm{InfoNCE}}+s/N$ (only here $s$ is a number), and the top layer learns at 1, 3 or 10 times the rate. The ratio $\sigma_2/\sigma_1$ of the largest singular values of the filters of a field is 0 if they lie on one line; the **stable rank** $\lVert V\rVert_F^2/\lVert V\rVert_2^2$ is 1 if $V$ has rank one.
#
# ```{record-figure} plot-one-line
# :alt: From s = 0 at the upper right, where the stable rank of V is near ten, the points move left along a plateau of σ2/σ1 between 0.9 and 0.74 until s = 0.8, and then fall steeply towards the black point of Theorem 4 of the paper at rank one and σ2/σ1 of zero. Squares, triangles and diamonds, the three paces, lie together at each s.
# :name: plot-one-line
#
# Our experiment: linear networks, large markers are means. Look how they follow the share $s$ of uniform importance, and not the rate of the top layer (shape), towards the black point, where Theorem 4 of the paper ends. Star: InfoNCE whose importances have the uniform sum.
# ```
#
# So the loss keeps linear filters diverse, and not the speed of the top layer: InfoNCE rewards outputs that spread over many directions, uniform importance is content with one. The [appendix](nl-a-one-line) judges this, and says why the last points stop short of the black one.

# %% [markdown]
# :::{admonition} Quick question: what in the gradient of $w_{km}$ depends on $m$?
# :class: dropdown
#
# For linear filters only the factor $s_{km}$. For ReLU also the gate of the filter.
# :::

# %% [markdown]
# ## The top layer votes
#
# A field cannot know which of its patterns matter for the whole input. The top layer can, because it sees all fields. Suppose that one of two words is meant, and that the letters A in field 1 and B in field 2 are both typical of the first. Then the outputs of their filters rise and fall together, the top layer gives weight to both, and this pushes the filter of field 1 further towards A. So the top layer has a **vote**: it raises the hill of a token that tells the words apart.
#
# ```{prf:assumption} no. 2 of the paper, first and third part
# :label: nl-uniform
# :nonumber:
# $\alpha\equiv1$, $N\to\infty$, views are the samples themselves, so that $\mathbb C_\alpha[g]=\mathbb V[g]$; and the inputs of the fields are independent given a global variable $z$, $\mathbb P[x\mid z]=\prod_k\mathbb P[x_k\mid z]$ (13).
# ```
#
# The global variable $z$ is the word that is meant. Let it be binary, with $p_c=\mathbb P[z{=}c]$, and let every field have one filter $w_k$. Then the top layer can be solved for, in terms of these quantities:
#
# | symbol | definition | in words |
# |---|---|---|
# | $A_k$ | $\mathbb V[\tilde x_k]$ | what the field would learn alone |
# | $\Delta_k$ | $\mathbb E[\tilde x_k\mid z{=}1]-\mathbb E[\tilde x_k\mid z{=}0]$ | the direction in which the field tells $z$ |
# | $L_k$ | $\mathbb E_z\mathbb V[\tilde x_k\mid z]$ | the covariance that is left when $z$ is known |
# | $b_k$ | $w_k^\top\Delta_k$ | how much the filter says of $z$ |
# | $d_k$ | $w_k^\top L_kw_k$ | the variance of its output at given $z$ |
# | $\lambda$ | $\lambda_{\max}(\mathbb V[f_1])$ | the largest eigenvalue, which belongs to $s$ |
# | $Z$ | | the number that makes $s$ a unit vector |
#
# The variance $\mathbb V[f_1]$ is a diagonal matrix with entries $d_k$ plus $p_0p_1\,bb^\top$, of rank one. So its top eigenvector is $s_k=b_k/(Z(\lambda-d_k))$.
#
# ````{prf:theorem} no. 5 of the paper: global modulation
# :label: nl-thm-5
# :nonumber:
# Under Assumption 2 ({prf:ref}`here <nl-uniform>` and {prf:ref}`there <nl-fast-top>`):
#
# ```{claim} thm-5
# ```
# ````
#
# ($C$ is the number of values of $z$.) Each filter climbs its own variance, and is pulled along $\Delta_k$, the more the *other* fields say of $z$.
#
# The run differentiates $\tfrac12\lambda_{\max}(\mathbb V[f_1])$ of an enumerated population.

# %% [markdown]
# ```{strip}
# $s_k^2=\bigl(b_k/(\lambda-d_k)\bigr)^2/Z^2$ | conditional_independence.modulated_velocity: s2 =
# $\delta_k=\dfrac{p_0p_1}{Z^2(\lambda-d_k)}\sum_{k'\ne k}\dfrac{b_{k'}^2}{\lambda-d_{k'}}$ | conditional_independence.strength
# $s_k^2A_kw_k$ | conditional_independence.modulated_velocity: g = s2
# $+\,\delta_k\,\Delta_k\Delta_k^\top w_k$, where $b_k=\Delta_k^\top w_k$ | conditional_independence.modulated_velocity: g = (g +
# $\tfrac12\lambda_{\max}(\mathbb V[f_1])$, to be differentiated | enumerated_outputs.top_eigenvalue_gradient: energy =
# ```


# %% tags=["hide-input"]
def thm_5_error(name, modulation=strength):
    model, w = random_fields_and_filters([stream(s, 0, "thm-5") for s in block])
    flow = modulated_velocity(model, w, activation(name), modulation=modulation)

    def variance(v):
        return output_variance(model, normalize(v, dim=-1), activation(name))

    return relative_errors(flow, top_eigenvalue_gradient(variance, w), batch=1).tolist()


# %% tags=["hide-input"]
def with_itself(m):  # the sum over every field, k included
    return 1 / ((m.b / m.gap).square().sum(-1, keepdim=True) * m.gap)


others = {"no modulation": lambda m: 0 * m.b, "field k in the sum": with_itself}
error = max(max(thm_5_error(name)) for name in ACTIVATIONS)
without = {
    n: min(min(thm_5_error(name, other)) for name in ACTIVATIONS)
    for n, other in others.items()
}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-5", observed=error, control=without)

# %% [markdown]
# Back to the nine points. Let <a class="again" href="#circle:vote=0.3">one of them (green) tell $z$</a>, and hold the strength of the pull at a number $c$, the *vote* (and $s_k$ at 1). A filter then climbs its energy plus $\tfrac c2b_k^2$: the hill of the green point rises, and its basin swallows those of its neighbours. <a href="#circle:vote=0.3&filter=1&at=-20">Hold a filter</a> to see what it climbs.

# %% [markdown]
# What does such a pull change? Write $y_l=u_l^\top w$ for the coordinate of a filter along the pattern $u_l$ (no longer the latent $y_m$ of the data). The paper adds a constant $c>0$, our vote, to the covariance of the field along one pattern, $c\,u_lu_l^\top$.
#
# ```{prf:assumption} of Theorem 6 of the paper: structure
# :label: nl-structure
# :nonumber:
# $A_k(w)=\sum_lg(u_l^\top w)\,u_lu_l^\top$ with orthonormal $u_l$ and a linear increasing function $g>0$.
# ```
#
# ````{prf:theorem} no. 6 of the paper: modulation
# :label: nl-thm-6
# :nonumber:
# Under the {prf:ref}`structural assumption <nl-structure>`:
#
# ```{claim} thm-6
# ```
# ````
#
# The run begins at random starts on the sphere, with and without a vote.

# %% [markdown]
# Why is this so? Call the largest component the leader, and divide all others by it. In $r_j=y_j/y_l$ everything that all components share cancels, the projection, too:
#
# $$
# \frac{d}{dt}\ln|r_j|=g(y_j)-g(y_l)-c .
# $$ (nl-eq-leader)
#
# If $y_l>0$ is the largest component, then $g(y_j)\le g(y_l)$, and no $|r_j|$ grows: **a leader that has the vote never loses, and without a vote no leader loses either**. Where another component is exactly as large, the right side is $-c<0$: the vote decides such a tie.
#
# So the basin of $u_l$ grows, for any continuous, strictly increasing $g$: the appendix has this as a [theorem with its run](nl-a-leader), beside [the paper's proof](nl-a-leader-start).

# %% [markdown]
# ```{glue:figure} plot-vote
# :alt: The smallest start that wins falls as the vote grows; circles from the flow lie on the black curve of equal y plus b, and the dashed curve of equal blow-up times is flatter.
# :name: plot-vote
#
# Theorem 6 of the paper in the plane, $g(y)=y+b$ with $b_1=1+c$, $b_2=1$: the smallest $y_1(0)$ from which the flow on the circle ends at $u_1$. Look at the slope: a vote lets weaker starts win, on the circle more than without the projection (dashed: by the times $t^*$ at which a coordinate would become infinite). <a href="#circle:vote=0.3&filter=1&at=-20"></a>
# ```
#
# In networks, too, the pull [sends more filters](nl-a-arrivals) to the token that tells $z$.

# %% [markdown]
# ```{strip}
# each component at its rate, $(g(y_l)+c_l)\,y_l$ | pattern_race.race_winner: push =
# $P_y^\perp$: less its part along $y$ | pattern_race.race_winner: return push
# ```


# %% tags=["hide-input"]
def widening(b, c, d, n=400):  # share of starts gained by the vote c, one per seed
    draws = (torch.randn(n, d, generator=stream(s, d, "thm-6 start")) for s in block)
    y = normalize(torch.cat(list(draws)), dim=-1)
    voted, without = (first_wins(y, lambda y: y + b, vote) for vote in (c, 0.0))
    return (voted.double() - without.double()).view(len(block), n).mean(-1)


def least_widening(c, d):  # over the constant b
    return torch.stack([widening(b, c, d) for b in (0.5, 1.0, 2.0)]).amin(0).tolist()


# %% tags=["hide-input"]
cells = chapter.progress(list(product((0.1, 0.5, 0.9), (2, 3, 10))), "basins")
gained = {f"c = {c}, d = {d}": least_widening(c, d) for c, d in cells}
lost = {f"c = −0.1, d = {d}": widening(1.0, -0.1, d).tolist() for d in (2, 3, 10)}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("thm-6", observed=gained, control=lost)

# %% tags=["hide-input"]
c = torch.linspace(-0.8, 0.8, 17)
b = torch.stack([1 + c, torch.ones_like(c)], -1)
border = circle_boundary(b, wins_flow, halvings=14)  # bisection of the flow itself
by_rate, by_time = (
    circle_boundary(b, wins_by(score)) for score in (largest_rate, earliest_blow_up)
)

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(6.4, 3.1), layout="constrained")
flow_look = colours.RELU | {"linestyle": "none"}
ax.plot(c.cpu(), by_time.cpu(), color=colours.GREY, linestyle="--")
ax.plot(c.cpu(), by_rate.cpu(), color=colours.BLACK)
ax.plot(c.cpu(), border.cpu(), **flow_look)
for text, at, colour in (
    ("flow on the circle, by bisection", (-0.33, 0.87), flow_look["color"]),
    ("$y_1+b_1=y_2+b_2$", (0.14, 0.245), colours.BLACK),
    (r"printed, without $P^\perp$: $t^*_1=t^*_2$", (0.2, 0.69), colours.GREY),
):
    ax.text(*at, text, color=colour)
ax.set_title("A small vote moves the border")
ax.set(xlabel="vote $c=b_1-b_2$ ($b_2=1$)", ylabel="smallest $y_1(0)$ that wins")
glue.figure(fig, "plot-vote")

# %% [markdown]
# (nl-trained)=
# ## Trained filters are tokens
#
# In the experiments of Section 5 of the paper the data are sequences of $K=10$ tokens, and each **place** in the sequence is one receptive field. A **generator** such as `**C*B*A*D*` fixes the tokens of some places, here of five; the wildcards `*` are filled with tokens drawn at random from all $d=20$. At place $k$ the generators choose from $P$ tokens, the **candidates** of the place. All other tokens can only come from a wildcard: they are noise.
#
# The two views of a sample are two sequences of one generator. They agree at the fixed places and elsewhere only by chance: for $P=5$ a candidate keeps some 140 times the variance of a noise token ({ref}`ex-generators`). What will the filters become?

# %% tags=["hide-input"]
pool = author.pool([seed])
pair = pool.views([stream(seed, 0, "a pair to look at")], 1, 1)[0, 0]
print("generators:", *(letters(p) for p in pool.patterns[0, :4]), "…")
print("two views: ", *(letters(v) for v in pair))

# %% [markdown]
# ```{glue:figure} film-tokens
# :alt: Weights of fifteen filters of one place over twenty tokens while two networks are trained on the same data. Both start as noise. The ReLU filters turn one by one into single dark cells below the three marked candidates, or fade; the linear filters become stripes of both signs below all three.
# :name: film-tokens
#
# Filters becoming tokens, at one place of two networks. Look at rows on the left: each settles on a column with a triangle, or fades.
# ```

# %% [markdown]
# The network is that of the theory with two additions: BatchNorm normalises each filter's output over the batch, and the output of the network is scaled to unit length, $f=o/\lVert o\rVert$ with $o=\sum_{k,m}v_{km}\operatorname{BN}(h(w_{km}^\top x_k))$, where $v_{km}$ is a column of $V$. A place has $M=\beta P$ filters, so $\beta$ is the **over-parameterisation**, the number of filters per candidate. Both layers are trained at one rate by SGD on InfoNCE, as in the author's program {cite}`luckmatters`; the [appendix](nl-a-program) lists where the paper's text differs.

# %% [markdown]
# ```{strip}
# $h(w_{km}^\top x_k)$, less its mean over the batch | field_network.FieldNetwork._normalised: centred =
# $\sigma_{km}^2$ of the batch | field_network.FieldNetwork._normalised: variance =
# $o=\sum_{k,m}v_{km}\operatorname{BN}(h(w_{km}^\top x_k))$ | field_network.FieldNetwork.outputs: f =
# $\max_m\cos(w_{km},e_a)$ | matching_score.place_scores: best =
# $\bar\chi_\pm$ of a place: the mean over its tokens $a$ | matching_score.place_scores: return
# ```

# %% [markdown]
# Figure 5 of the paper shows such filters for $P=3$, $\beta=5$. With ReLU they "clearly capture the 3 candidate tokens", linear ones "cannot", and "no noise token is learned". We say that a filter shows a token if their cosine is at least 0.9. The caption has $d=8$ tokens and the text $d=20$; both are trained.

# %% [markdown]
# ```{glue:figure} plot-fig-5
# :alt: For four places the weights of 15 filters over 20 tokens. With ReLU nearly every row has one positive cell below a marked candidate, or none; with linear activation every row has cells of either sign below all three candidates and paler ones elsewhere.
# :name: plot-fig-5
#
# Figure 5 of the paper with $d=20$. Rows are filters, columns tokens, triangles candidates. Look along a row: with ReLU one coloured cell, below a triangle, or none, except for a rare mixture; with linear activation several, of either sign.
# ```

# %% [markdown]
# ReLU filters end at a candidate or **closed**, except for a few mixtures: no token gets through the gate of a closed filter, so nothing moves it any more, and weight decay shrinks it. Why do linear filters mix? In one layer with uniform importance the reason is plain. Answering a second token makes outputs more alike, so a filter lowers that weight. At zero the gate of a ReLU filter closes; a linear filter goes on to a negative weight, which makes outputs differ still more.

# %% tags=["hide-input"]
small, full_length = replace(author, candidates=3), minibatches >= judged_at
kinds = {
    (name, d): (replace(small, activation=name, tokens=d), block[:16])
    for name, d in product(("relu", "linear"), (20, 8))
}
given = kinds, minibatches, 2, FILTERS
filters = chapter.library_piece("filters", matching_curves, *given)


# %% tags=["hide-input"]
def shown(name, d, kind=True, places_off=0, when="w"):
    """Whether filter m of place k shows token a, of the candidates or of the others; when: w at the end, or start."""
    curve = filters[name, d]
    wanted = curve["candidates"].roll(places_off, 1) == kind
    return shows_candidate(curve[when], wanted, absolute=name == "linear"), wanted


def share_of_tokens(*case, **options):
    on, wanted = shown(*case, **options)
    return (on.any(-2).sum((1, 2)) / wanted.sum((1, 2))).tolist()


def per_size(share, *case, **options):
    return {f"d = {d}": share(*case, d, **options) for d in (20, 8)}


# %% tags=["hide-input"]
def wrong_tokens(*case, **options):
    """The share of tokens that are wrong: candidates that no filter shows, and others that one shows."""
    both = (shown(*case, kind, **options) for kind in (True, False))
    (found, own), (learned, _) = both
    return (own & ~found.any(-2) | learned.any(-2)).double().mean((1, 2)).tolist()


# %% tags=["hide-input"]
def more_filters(name, d, **options):  # ReLU less linear, network by network
    ours, linear_ones = (shown(n, d, **options)[0] for n in ("relu", name))
    gap = ours.any(-1).double().mean((1, 2)) - linear_ones.any(-1).double().mean((1, 2))
    return gap.tolist()


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-5",
    observed=per_size(share_of_tokens, "relu"),
    control={
        "linear": per_size(share_of_tokens, "linear"),
        "untrained": per_size(share_of_tokens, "relu", when="start"),
    },
    regime=full_length,
)


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-5-a",
    observed=per_size(wrong_tokens, "relu"),
    control={
        "neighbour": per_size(wrong_tokens, "relu", places_off=1),
        "untrained": per_size(wrong_tokens, "relu", when="start"),
    },
    regime=full_length,
)


# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "fig-5-b",
    observed=per_size(more_filters, "linear"),
    control={
        "neighbour": per_size(more_filters, "linear", places_off=1),
        "untrained": per_size(more_filters, "linear", when="start"),
    },
    regime=full_length,
)


# %% tags=["hide-input"]
def in_order(w):  # by the token that a filter shows; faded filters last
    largest, token = w.abs().max(-1)
    faded = largest < 0.1 * largest.max()
    return w[(token + w.shape[-1] * faded).argsort(stable=True)] / largest.max()


# %% tags=["hide-input", "remove-output"]
fig, axes = plt.subplots(2, 4, figsize=(7.8, 4), layout="constrained")
looks = ("relu", "ReLU", colours.RELU), ("linear", "linear", colours.LINEAR)
for (name, label, look), row in zip(looks, axes, strict=True):
    w, used = (filters[name, 20][key][0].cpu() for key in ("w", "candidates"))
    for k, ax in enumerate(row):
        image = colours.signed_image(ax, in_order(w[k]), largest=1, aspect="auto")
        at = used[k].nonzero()[:, 0]
        ax.plot(at, [-1.5] * len(at), "kv", ms=5, clip_on=False)
        ax.set(xticks=[], yticks=[], xlabel=f"place {k}", ylim=(14.5, -0.5))
        ax.spines[:].set_visible(False)
    row[0].set_ylabel(f"{label}: 15 filters", color=look["color"])
colours.zero_marked(fig, image, axes, "weight / largest of the place")
learned = filters["relu", 20]["w"][0].flatten(0, 1).square()
shown_by = learned[learned.amax(-1) > 0.01 * learned.max()]  # faded filters left out
on_one = float((2 * shown_by.amax(-1) > shown_by.sum(-1)).double().mean())
fig.suptitle(
    "ReLU: one filter, one token"
    if on_one >= 0.9
    else f"ReLU: {on_one:.0%} of the filters show one token",
    x=0.02,
    ha="left",
)
glue.figure(fig, "plot-fig-5")

# %% tags=["hide-input"]
filmed = [(replace(small, activation=name), seed) for name in ("relu", "linear")]
film_steps, film_filters = filter_history(filmed, minibatches, min(40, minibatches))

# %% tags=["hide-input", "remove-output"]
film, axes = plt.subplots(1, 2, figsize=(7.4, 2.6), layout="constrained")
images = []
at = small.pool([seed]).candidates()[0, 0].nonzero()[:, 0].cpu()
names = (("ReLU", colours.RELU), ("linear", colours.LINEAR))
for run, (ax, (name, look)) in enumerate(zip(axes, names, strict=True)):
    end = film_filters[-1, run, 0]
    order = end.argmax(-1).argsort()  # filters of one token side by side
    shown_filters = film_filters[:, run, 0][:, order].numpy()
    largest = abs(shown_filters).max(axis=(1, 2))[:, None, None]
    images.append(
        (
            shown_filters / largest,
            colours.signed_image(ax, 0 * end, largest=1, aspect="auto"),
        )
    )
    ax.plot(at, [-0.9] * len(at), "kv", ms=5, clip_on=False)
    ax.set(xticks=[], yticks=[0, len(end) - 1], yticklabels=[1, len(end)])
    ax.set_xlabel("token (triangles: candidates)")
    ax.set_ylabel(f"{name} filter", color=look["color"])


def draw_film(frame):
    for values, image in images:
        image.set_data(values[frame])
    step = int(film_steps[frame])
    after = "one minibatch" if step == 1 else f"{step:,} minibatches"
    film.suptitle(f"Filters of one place after {after}")


alt = "Weights of fifteen filters of one place over twenty tokens while two networks are trained on the same data. Both start as noise. The ReLU filters turn one by one into single dark cells below the three marked candidates, or fade; the linear filters become stripes of both signs below all three."
glue.animation(film, draw_film, range(len(film_steps)), "film-tokens", alt)


# %% tags=["hide-input", "remove-output"]
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
# :::{admonition} Quick question: two views share a generator and nothing else; what can be learned at a place?
# :class: dropdown
#
# The tokens that its generators fix. All others differ between the views.
# :::

# %% [markdown]
# (nl-grids)=
# ## The grid: width, noise, BatchNorm
#
# If a wide layer is a lottery, ReLU networks should find more candidates with more filters, and linear ones should not. The paper tests this on a grid of $P$ and $\beta$ (its Figures 4 and 9 to 11 and Table 1). The score of a network is
#
# $$
# \bar\chi_+=\frac1K\sum_k\frac1{|R_k^g|}\sum_{a\in R_k^g}\max_m\cos(w_{km},e_a),
# $$ (nl-eq-score)
#
# where $R_k^g$ are the candidates of place $k$ that some generator uses, and $\bar\chi_-$ is the same over all other tokens. A perfect network has $\bar\chi_+=1$, a filter for each candidate. Linear filters are scored by $\lvert\cos\rvert$, as in the program.
#
# ```{record-figure} plot-fig-4
# :alt: Two rows of four panels, one for each P. Above, with InfoNCE, linear networks are above 0.95 for P = 1 and between 0.6 and 0.87 for larger P at every β; ReLU and LeakyReLU networks reach one at β = 5 for P above one, quadratic ones at β = 10. Below, InfoNCE minus quadratic loss is above zero for most points with P above one.
# :name: plot-fig-4
#
# Figure 4 of the paper: mean and 95 % interval of ten networks. Look how little linear networks (blue, dashed) change while ReLU climbs. Thin lines are the same networks untrained. Lower row: above zero InfoNCE finds more than the quadratic loss.
# ```
#
# For $P=1$ a linear network needs no width: one direction is enough. For more candidates ReLU leaves it behind as $\beta$ grows. [Noise tokens](nl-a-grid) are learned least by ReLU.
#
# BatchNorm divides by a standard deviation that depends on the weights. One may let the gradient through that or not; Table 1 of the paper finds it better not to. Half of its tokens have the norm $\zeta$, half $1/\zeta$.
#
# ```{record-figure} plot-table-1
# :alt: The 64 scores of Table 1 of the paper against ours, with both spreads, along a dotted diagonal; the marks farthest off the diagonal are named. Scores with a gradient through the variance lie lower than the others except at high scores.
# :name: plot-table-1
#
# Table 1 of the paper: its 64 scores $\bar\chi_+$ at $\zeta=10$ against ours, with both spreads. Look how close they lie to the diagonal; those more than three standard errors off are named. Where the gradient passes the variance (pink), scores are lower, except near 1.
# ```
#
# What the paper says of these figures is judged [in the appendix](nl-a-grid), sentence by sentence, as are [filters on MNIST](nl-a-images).

# %% [markdown]
# ## Summary
#
# A linear filter has two hills. ReLU breaks the landscape into many, and a filter keeps the one on which it starts. So a wide layer works like a lottery: the more tickets, the more patterns. Below a fast top layer, linear filters of one field move along one line; for a ReLU filter the vote of the top layer raises the hill of the token that tells most about the whole. In the paper's experiments ReLU filters end, given width, at tokens that the generators fix.
#
# **What surprised us.**
#
# - On densities roughness never destabilises a ReLU filter.
# - The loss, not the pace of the top layer, keeps trained linear filters diverse.
# - Filters share the work: those that show a token [cover more candidates](nl-a-coverage) than as many independent tickets would.
# - A leader that has the vote never loses.
#
# **What is open.** How many optima other data have, and how large their basins are. What is stable while $\alpha$ follows the weights, as in training. Why several ReLU filters of one field take different patterns. Whether [lottery tickets](nl-a-tickets) that are kept by magnitude are lucky from the start. The appendix has the [full list](nl-open).
#
# **Where to go next.** [Collapse and constraints](collapse-and-constraints.ipynb) has our linear filter under another name. In [Alignment and balance](alignment-and-balance.ipynb) negatives bring the condition number to one; here InfoNCE keeps the top layer from rank one.
# [Feature decoupling](feature-decoupling.ipynb) has the sparse sums of our latent model, with probabilities far below .382, so that every pattern is a hilltop. [One testbed](one-testbed.ipynb) asks what is left for non-linearity once a formula explains the linear networks.

# %% [markdown]
# (nl-symbols)=
# ## Symbols
#
# Subscripts matter: a letter with and without one can be two things. Letters for which the paper or a figure needs two meanings are marked. The exercises name quantities of their own, such as $a$, $b$ and $r$.
#
# :::{table}
# :class: symbols
#
# | symbol | meaning | first in section |
# |---|---|---|
# | $w$, $w_k$, $w_{km}$ | a filter: of unit length where the sphere is meant; the one of field $k$; number $m$ of field $k$ | How many hills, Linear filters |
# | $h$, $h'$ | activation and its slope; for ReLU $h'$ is the gate | How many hills, One objective |
# | $\mathbb V$, $\mathbb E$ | variance and mean over the data | How many hills |
# | $x[i]$, $x[i']$, $N$ | two views of sample $i$; number of samples | One objective |
# | $\alpha_{ij}$, $\mathrm{sg}(\alpha)$ | pairwise importance; the same, held constant | One objective |
# | $\mathbb C_\alpha$, $\mathcal E_\alpha$ | contrastive covariance; energy | One objective |
# | $d_{ij}$, $\tau$ | distance of two outputs; temperature | One objective |
# | $\tilde x^w$, $A(w)$ | gated input; its contrastive covariance | One objective |
# | $P_w^\perp$ | projection that removes the part along $w$ | One objective |
# | $u_m$, $y_m$, $q_m$ | pattern of the latent model; its coefficient; the probability that it is present | Hilltop |
# | $\lambda_*$, $\lambda_1$, $\lambda_2$, $\lambda_{\mathrm{gap}}$ | eigenvalue at an LME; the two largest of $A$; their difference | Hilltop, Roughness |
# | $K$ (twice) | nodes of a layer; then fields of a network, that is, places of a sequence | More filters, Linear filters |
# | $b_j$, $b_k$ (twice) | share of a basin; what a filter says of $z$, $w_k^\top\Delta_k$ | More filters, Vote |
# | $\rho(w)$ | roughness | Roughness |
# | $J$, $B$ | Jacobian of the flow; second moment on the plane $w^\top x=0$ | Roughness |
# | $x_k$, $M$ | input of field $k$; filters in each field | Linear filters |
# | $f_1$, $f_2$, $V$, $S$ | outputs of all filters; of the network; top layer; $V^\top V$ | Linear filters |
# | $d$, $e_a$ | dimension of a filter's input, the number of tokens; unit vector of token $a$ | Linear filters |
# | $s$, $s_{km}$ | top eigenvector of $\mathbb C_\alpha[f_1]$ and its entries | Linear filters |
# | $s$ (a number) | share of uniform importance, in one experiment and its figure | Linear filters |
# | $\eta_k$ | the vector along which the filters of a linear field move; $b_k$ in the paper | Linear filters |
# | $\sigma_1$, $\sigma_2$ | singular values of the filters of a field | Linear filters |
# | $z$, $p_c$ | global variable; $\mathbb P[z{=}c]$ | Vote |
# | $A_k$, $\Delta_k$, $L_k$, $d_k$, $\lambda$, $Z$, $\delta_k$ | see the table in that section; $\delta_k$ is the strength of the pull | Vote |
# | $y_l$, $r_j$ | coordinate of a filter along $u_l$; component $j$ over the leader | Vote |
# | $g$, $b$, $c$, $t^*$ | growth of an eigenvalue with its coordinate; its constant, in the figure; vote; time at which a coordinate becomes infinite | Vote |
# | $P$, $\beta=M/P$ | candidates of a place; filters per candidate | Tokens |
# | $o$, $v_{km}$ | output before it is scaled to unit length; columns of $V$ | Tokens |
# | $R_k^g$, $\bar\chi_+$, $\bar\chi_-$ | candidates in use; score of the candidates; of the other tokens | Tokens |
# | $\zeta$ | norm of one half of the tokens, $1/\zeta$ of the other | Grid |
# | $\mu$, $\sigma$ | mean and standard deviation of a filter's output over a batch | Grid |
#
# :::

# %% [markdown]
# ## Exercises
#
# A pencil first, then a few lines of code. Each names its level, time and points. Shorter ones, which [grade themselves](../book/exercises.md), are notebooks of their own. The first is worked below. The solutions of the others are not on this page: `make solutions` writes them for teachers, from `chapters/nonlinearity/solutions.py`. Two more are in the [appendix](nl-a-exercises).

# %% [markdown]
# ::::{admonition} Worked exercise: how long a filter takes to reach its hilltop
# :class: worked
#
# *Ten minutes, without points.* In the latent summation model a filter begins near the pattern $u_m$, tilted by 5°, and moves by power iteration, $w\leftarrow A(w)w/\lVert A(w)w\rVert$. No gate changes on the way.
#
# 1. By which factor does the tangent of its tilt change in a step?
# 2. After how many steps is the tangent a hundred times smaller, for $q_m=0.2$ and for $q_m=0.35$?
# 3. What happens at $q_m=0.5$?
#
# :::{admonition} Solution
# :class: dropdown
#
# 1. As no gate changes, $A(w)=A(u_m)$, which is {eq}`nl-eq-summation`. It multiplies the part along $u_m$ by $(1-q_m)^2$ and all of the rest by $q_m$. So the tangent is multiplied by $r=q_m/(1-q_m)^2$.
# 2. For $q_m=0.2$, $r=0.2/0.64=0.31$, and $r^n\le\frac1{100}$ from $n=\log100/\log3.2=3.96$ on: four steps. For $q_m=0.35$, $r=0.35/0.4225=0.83$, and it takes 25. Close to $0.382$ a hilltop is reached slowly.
# 3. $r=0.5/0.25=2$: the tilt doubles, and the filter leaves. It is no hilltop.
# :::
# ::::

# %% [markdown]
# ````{exercise} At rest, but no LME
# :label: ex-rest
#
# *Core, 45 minutes, 12 points. Needs: Theorem 1 of the paper, moments of a Gaussian. After it you can tell rest, local optimality and stability apart.*
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
# $\xi\sim\mathcal N(0,v)$ the variance of $\max(\xi,0)$ is $\tfrac v2(1-\tfrac1\pi)$.
# ```
# ````

# %% [markdown]
# ````{exercise} A top layer that keeps more directions
# :label: ex-rank
#
# *Core, 60 minutes, 12 points. Needs: Theorem 4 of the paper. After it you can say what it takes to separate two linear filters.*
#
# Theorem 4 of the paper has a top layer of rank one. Let it keep $r$ directions: $S=\sum_{i\le r}s^i{s^i}^\top$ with the orthonormal eigenvectors $s^i$ of
# the $r$ largest eigenvalues $\lambda_i>0$ of $\mathbb C_\alpha[f_1]$. Filters are linear. Let $G_k$ be the $M\times d$ matrix whose rows are the
# gradients $\dot w_{km}$ of the filters of field $k$, without projection.
#
# 1. What is the largest possible rank of $G_k$?
# 2. For $r\ge2$ two filters of a field have gradients in different directions. Let unit filters follow them by power iteration,
#    $w_{km}\leftarrow\dot w_{km}/\lVert\dot w_{km}\rVert$. What can be said of their directions if $S$ stays as it was at the start?
# 3. And if the top layer follows, so that the $s^i$ are always the present eigenvectors? Predict first, then derive.
#
# ```{hint}
# :class: dropdown
# Write $F_i=\sum_{km}s^i_{km}f_{km}$ and $\eta^i_k=\mathbb C_\alpha[x_k,F_i]$. For 3. use that $s^i$ is an eigenvector to express
# $s^i_{km}$ by $w_{km}$ and $\eta^i_k$.
# ```
# ````

# %% [markdown]
# ````{exercise} What is there to learn at a place?
# :label: ex-generators
#
# *Core, 45 minutes, 12 points. Needs: the contrastive covariance, total variance. After it you can say what an augmentation leaves to be learned.*
#
# Take one place $k$ and a pool of generators. A share $\pi_a$ of them fixes token $a$ there, a share $\pi_*$ has the wildcard. Filters are linear,
# $\alpha=1$, the batch is large.
#
# 1. Two views of a sample come from one generator. Derive $C=\mathbb V_z\bigl[\mathbb E[x_k|z]\bigr]$, and $\mathbb V[x_k]$, which is what training without augmentation sees.
# 2. Compare the variance $e_a^\top Ce_a$ of a candidate with that of another token $b$, for 40 generators, five of ten places fixed, $P=5$, $d=20$. And without augmentation?
# 3. What is the rank of $C$? Predict where linear filters of a trained network lie, then look.
#
# ```{hint}
# :class: dropdown
# $\mathbb E[x_k|z]$ takes $P+1$ values. For the rank use that the entries of $x_k$ sum to one.
# ```
# ````

# %% tags=["remove-input"]
chapter.close()
