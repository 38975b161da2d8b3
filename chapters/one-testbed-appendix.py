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
# # Appendix: One testbed
#
# What a doubter of [One testbed](one-testbed.ipynb) may ask for. It runs by itself, with the parameters of the chapter, and uses its [symbols](ot-symbols).


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
import math

import matplotlib.pyplot as plt
import numpy as np
import torch

from clbook.notebook import colours, glue, open_chapter
from contrastive_dynamics.numerics.run_defaults import torch_defaults
from contrastive_dynamics.testbed import (
    image_draw,
    learned_distance_temperature,
    noise_correlation,
    noise_total,
    unit_length_temperature,
    water_filling,
)
from experiments.one_testbed import (
    BROKEN, MENDED, PAIRS, SPECTRA, balances, beside_the_best, broken_worlds, distance,
    distance_count_errors, distance_share_errors, distance_shares, distance_spectra,
    distance_temperatures, errors_by_negatives, errors_left, few_pairs, finite_batch_errors,
    hostile_runs, infonce_counts, law_error, learned_temperatures, measured_views, mended_law,
    mended_worlds, noise_shown, one_negative_errors, optimum_errors, private_over_law, raw_spectra,
    rival_runs, sign_counts, size_of_errors, slow_directions, solved_and_not, solved_batches,
    temperature_learned, totals_of_known, trained_with_one_negative, two_encoders, unbroken_worlds,
    unequal_length_errors, unequal_lengths, unit_length_counts,
)  # fmt: skip


# %% tags=["hide-input"]
chapter = open_chapter("one-testbed-appendix", globals())
torch_defaults(chapter.device)
block = list(chapter.seeds)


# %% [markdown]
# (ot-a-proof)=
# ## The proof in nine steps
#
# *Assumed:* views are centred, and for one encoder of one covariance; their marginals are Gaussian (step 2 alone uses it); pairs are independent, and $N\to\infty$; outputs have root mean square norm 1 over the population; and there are at least as many outputs as directions with $\rho_j>\mu$. Write outputs in whitened coordinates (turned and scaled so that every number of a view has variance 1 and none correlates with another), $f_A=U\tilde x_A$ and $f_B=V\tilde x_B$, with $\lVert U\rVert_F=\lVert V\rVert_F=1$. Only two matrices matter: $G=U^\top V$ and $C=\mathbb E\,\tilde x_A\tilde x_B^\top=\sum_j\rho_jp_jq_j^\top$. One encoder needs views of one covariance. For it only the symmetric part of $C$ matters, and we write $C$ for it: then $p_j=q_j$, and the $\rho_j$ are its eigenvalues, of either sign.
#
#
# 1. *Positives.* The mean logit of a positive pair is $\tau^2\langle C,G\rangle$.
# 2. *Negatives.* Given $x_A$, the logit of a stranger is Gaussian with the variance $\tau^4\lVert G^\top\tilde x_A\rVert^2$. The logarithm of the mean of an exponential of a Gaussian is half its variance. Averaged over $x_A$ this is $\tfrac12\tau^4\lVert G\rVert^2$.
# 3. As $N\to\infty$ the mean over strangers tends to its expectation, by the law of large numbers, where that is finite. So for many negatives the loss of both sides, less $2\log N$, is $L(G)=-2\tau^2\langle C,G\rangle+\tau^4\lVert G\rVert^2=\lVert\tau^2G-C\rVert^2-\lVert C\rVert^2$.
# 4. *What the norms allow.* Let $a_j=\lVert Up_j\rVert^2$ and $b_j=\lVert Vq_j\rVert^2$ be what the encoders spend on direction $j$: $\sum_ja_j=\sum_jb_j=1$, as the $p_j$ and the $q_j$ are bases. The share is $g_j=p_j^\top Gq_j=\langle Up_j,Vq_j\rangle$, so $\lvert g_j\rvert\le\frac12(a_j+b_j)$. For one encoder $g_j=a_j=b_j$, so $g_j\ge0$ and $\sum_jg_j=1$. Any shares $s_j\ge0$ with $\sum_js_j\le1$, at most as many of them positive as there are outputs, are reached by two encoders with at least two outputs: row $j$ of $U$ is $c_j\sqrt{s_j}\,p_j^\top$ and that of $V$ $\sqrt{s_j}\,q_j^\top/c_j$. Unequal $c_j$ use up spare norm, and if at most one $s_j$ is positive, a second row of one encoder does. One encoder reaches those with $\sum_js_j=1$.
# 5. If two encoders have $\tau^2\ge\sum_j\rho_j$, then $\tau^2G=C$ is allowed and optimal, and $\mu=0$. Else let $S=\sum_js_jp_jq_j^\top$ with $s_j=(\rho_j-\mu)_+/\tau^2$ and $\sum_js_j=1$, where $\mu>0$ for two encoders, and let $g_j=p_j^\top Gq_j$. The loss is quadratic, so $L(G)-L(S)=\tau^4\lVert G-S\rVert^2-2\tau^2\sum_j(\rho_j-\tau^2s_j)(g_j-s_j)$.
# 6. *One inequality per direction.* If $\rho\ge\mu$, then $\rho-\tau^2s=\mu$, and $\mu(g-s)\le\mu(\lvert g\rvert-s)$. If $\rho<\mu$, then $s=0$, and $\rho g\le\mu\lvert g\rvert$. In both cases $(\rho-\tau^2s)(g-s)\le\mu(x-s)$ for every $x\ge\lvert g\rvert$; if $g=x$, as for one encoder, also for $\mu$ and $\rho$ of either sign.
# 7. With $x=\frac12(a_j+b_j)$ the sum over directions is at most $\mu\bigl(\sum_j\frac12(a_j+b_j)-\sum_js_j\bigr)=0$. Hence $L(G)\ge L(S)+\tau^4\lVert G-S\rVert^2$. The soft threshold is the only optimal $G$, and a small excess of loss means a small distance. ∎
# 8. *Learned temperature.* In $H=\tau^2G$ the loss is $\lVert H-C\rVert^2-\lVert C\rVert^2$, and by step 4 all that $\tau^2$ does is to bound $\sum_j\lvert p_j^\top Hq_j\rvert\le\tau^2$. The optimum of two encoders is $H=C$, which needs $\tau^2\ge\sum_j\rho_j$ and is reached from there on. One encoder has $\operatorname{tr}H=\tau^2$, and its best $H$ is the positive part of $C$, so $\tau^2=\sum_j(\rho_j)_+$. ∎
# 9. *Why training settles there.* One encoder with a learned temperature is $W=\tau U$, an encoder without norm and without temperature: $\tau^2$ is its mean squared norm, and the loss is $\lVert W^\top W-C\rVert^2-\lVert C\rVert^2$. This loss is known to have no local minimum but the global ones, so descent does not rest elsewhere. Two encoders have a half-line of optima, $\tau^2\ge\sum_j\rho_j$, along which nothing moves $\tau^2$: it stays where it arrives.
#
# What needs Gaussian views is step 2 alone, and there only the two marginals. Step 6 is [proved by machine](../book/proofs.md), too.

# %% [markdown]
# (ot-a-projection)=
# ## The closed form of the level
#
# `water_level` takes the largest of $(\rho_1+\dots+\rho_k-\tau^2)/k$. That this is where $\sum_j(\rho_j-\mu)_+=\tau^2$ can be checked by halving an interval.
#
# ````{prf:proposition} the level in closed form
# :label: ot-projection
# :nonumber:
# ```{claim} projection
# ```
# ````

# %% tags=["hide-input"]
spectrum = torch.tensor([0.9, 0.7, 0.5, 0.3, 0.1, 0.0])


def by_bisection(rho, tau):
    """Shares whose level is found by halving an interval."""
    low, high = rho.min() - tau, rho.max()
    for _ in range(60):
        level = (low + high) / 2
        too_much = (rho - level).clamp(min=0).sum() > tau
        low, high = (level, high) if too_much else (low, level)
    return (rho - high).clamp(min=0) / tau


def largest_difference(rho):
    """Of the closed form for one spectrum from the bisection for the true one."""
    taus = (0.05, 0.5, 1.0, 2.5, 20.0)
    pairs = ((water_filling(rho, tau), by_bisection(spectrum, tau)) for tau in taus)
    return max(float((a - b).abs().max()) for a, b in pairs)


error, mistake = (largest_difference(rho) for rho in (spectrum, spectrum.square()))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("projection", observed=error, control=mistake)


# %% [markdown]
# (ot-a-optimum)=
# ## The optimum, found without the formula
#
# ````{prf:proposition} the optimum
# :label: ot-law-optimum
# :nonumber:
# ```{claim} law-optimum
# ```
# ````

# %% tags=["hide-input"]
spectra = list(SPECTRA.values())

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("law-optimum", **optimum_errors(spectra[0], [0.4, 1.0, 2.2], block))

# %% [markdown]
# (ot-a-slow)=
# ## Small gaps take time
#
# Sparse codes are judged at a $\tau^2$ of their own, for their sixteen correlations lie within 0.01. Far below the count, batches blur who is first. Just below it, noise directions lie so little below the level that they leave slowly.
#
# ````{prf:observation} small gaps take time
# :label: ot-law-slow
# :nonumber:
# ```{claim} law-slow
# ```
# ````

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("law-slow", **slow_directions(block))

# %% [markdown]
# (ot-a-beyond)=
# ## Beyond the assumptions
#
# (ot-a-few)=
# ### Few pairs
#
# The proof has infinitely many negatives. With $N$ pairs the law keeps its form, and each correlation is replaced by $\tilde\rho_j=\rho_j-\tfrac12\partial\Delta_N/\partial h_j$, where $\Delta_N$ is the loss of $N$ pairs less its limit. To first order $N\Delta_N=2\prod_j(1-h_j\rho_j)^{-1}-\prod_j(1-2h_j^2)^{-1/2}-1$ with $h=\tau^2g$, and a term from norms that are taken over the batch; `finite_batch` computes it beyond the first order. The first order is infinite from $h_j=2^{-1/2}$ on, where it is of no use. Two numbers decide how large the correction is. InfoNCE has the log density ratio as its optimum at any $N$; for Gaussian views a bilinear score is not quite that, and the error is of the order of $\rho_j^2$ of the strong directions. With $v=\sum_jh_j^2$, the variance of a stranger's logit, $e^v$ says how many negatives it takes to lose this error. So 64 directions of $\rho=.4$ and 16 of $\rho=.8$ have the same $v=10.2$, and at $N=128$ the optimum of $h$ lies 5 % above $\rho$ for the first and 28 % for the second. For signs a bilinear score is right, and there is no such error.
#
# ````{prf:proposition} the correction
# :label: ot-finite
# :nonumber:
# ```{claim} finite
# ```
# ````
#
# ````{prf:observation} what few means
# :label: ot-few
# :nonumber:
# ```{claim} few
# ```
# ````

# %% tags=["hide-input"]
of_64 = chapter.library_piece("64 pairs", learned_temperatures, spectra, block, 64, 400)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("finite", **finite_batch_errors(of_64, 64))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("few", **few_pairs(block))

# %% [markdown]
# **One negative** is the other end, and there the optimum is exact again. Given an anchor $x$, the score of its partner less that of a stranger, $\Delta=\sum_jh_jx_j(y_j-y_j')$, is Gaussian with mean $m=\sum_jh_j\rho_jx_j^2$ and variance $\sum_jh_j^2(2-\rho_j^2)x_j^2$. The loss $\log(1+e^{-\Delta})$ is right where the variance is twice the mean, and with $h_j=\rho_j/(1-\tfrac12\rho_j^2)$ that holds for *every* anchor at once. (Then the density of $\Delta$ is $e^{\Delta/2}$ times an even function, and every entry of the gradient, being a multiple of $\mathbb E\,\sigma(-\Delta)\Delta$ given $x$, is the integral of an odd one. The loss is convex in $H$, so this is its optimum.) So one negative lifts each direction by $\tfrac12\rho_j^2$ and a little more, whatever the other directions are; infinitely many lift none.
#
# ````{prf:theorem} one negative
# :label: ot-one-negative
# :nonumber:
# ```{claim} one-negative
# ```
# ````
#
# In between no bilinear score is right for every anchor, and we compute the optimum of equal directions. Which number says how many negatives are few?
#
# ````{prf:observation} two numbers
# :label: ot-few-numbers
# :nonumber:
# ```{claim} few-size
# ```
# ```{claim} few-left
# ```
# ````

# %%
alone = chapter.library_piece("one negative", trained_with_one_negative, block)
errors_at = errors_by_negatives(block)
for name, of in errors_at.items():
    shown_errors = ", ".join(f"{float(x):.1%}" for x in of.mean(0))
    print(
        f"{name:6} h over ρ, less 1, at N = {', '.join(map(str, PAIRS))}: {shown_errors}"
    )

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("one-negative", **one_negative_errors(alone))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("few-size", **size_of_errors(errors_at))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("few-left", **errors_left(errors_at))

# %% [markdown]
# *Strong* are sixteen directions of $\rho=.4$, *weak* 64 of $.2$, and *many* 64 of $.4$. At $N=2$ the first and the last agree, as the theorem says: one negative does not know how many directions there are. From there the first two lose their error alike, and the last one more slowly.
#
# ### An encoder for each view
#
# Two encoders may leave norm unused, in outputs that their partner never meets. So any $\tau^2$ above the count is as good as the count, and where training ends depends on where it began.
#
# ````{prf:proposition} from above it stays above
# :label: ot-two-encoders
# :nonumber:
# ```{claim} two-encoders
# ```
# ````

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("two-encoders", **two_encoders(block, count_batch, count_steps))

# %% [markdown]
# ### Views that are not Gaussian
#
# Step 2 of the [proof](ot-a-proof) then has the views' own log moment function in place of half the variance. For independent coordinates the level stays, and $\tau^2g_j$ becomes another function of $\rho_j$. For signs it is $\operatorname{artanh}\rho_j$, and it is infinite at $\rho=1$.
#
# ````{prf:proposition} signs
# :label: ot-signs
# :nonumber:
# ```{claim} signs
# ```
# ````

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("signs", **sign_counts(block, count_batch, count_steps))

# %% [markdown]
# Of the papers' worlds three have strong correlations, and there [InfoNCE counts wrong](ot-stops). In the fourth, sparse codes, all are near .2. A bilinear score is then nearly the log density ratio of any views, and the count should be nearly right.
#
# ````{prf:observation} weak correlations are counted
# :label: ot-weak-count
# :nonumber:
# ```{claim} weak-count
# ```
# ````

# %% tags=["hide-input"]
weak = chapter.library_piece(
    "counts of InfoNCE", infonce_counts, block, 2 * count_batch, count_steps
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("weak-count", **weak)

# %% [markdown]
# ### Outputs of unit length
#
# Outputs of unit length, as CLIP has them, are another loss: every output has norm 1, and not only their mean square. For $r$ directions of equal $\rho$ outputs are uniform on a sphere, and a stranger that is weighted by its similarity follows a von Mises–Fisher law. At a learned temperature its mean cosine is that of a positive pair.
#
# ````{prf:proposition} unit length
# :label: ot-unit
# :nonumber:
# ```{claim} unit
# ```
# ````

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("unit", **unit_length_counts(block, count_batch, count_steps))

# %% [markdown]
# For unequal correlations there is no formula in closed form, but a *fixed point*. Write $f=w\circ\tilde x/\lVert w\circ\tilde x\rVert$ in canonical coordinates, and let $s=f\cdot f'$ be the cosine of a pair. A change of $w_j$ changes $s$ by $2f_jf'_j-(f_j^2+f_j'^2)s$. So at the optimum, positive pairs on the one hand, and strangers under their weight $e^{\tau^2s}$ on the other, agree in the mean of $s$ and, for every $j$, in that of $f_jf'_j-\tfrac12(f_j^2+f_j'^2)s$. These are as many conditions as unknowns: $\tau^2$, and $w$ up to its length. `unit_length_shares` solves them on points that stand for the population. The conditions are necessary; that training ends where they hold is what we measure.
#
# ````{prf:proposition} unit length, unequal correlations
# :label: ot-unit-unequal
# :nonumber:
# ```{claim} unit-unequal
# ```
# ````

# %%
unequal = unequal_lengths(block, count_batch, count_steps)
trained_ends = unequal["τ²g"].mean((0, 2))
for row in zip(unequal["ρ"], trained_ends, unequal["law"], strict=True):
    for words, of in zip(("ρ", "trained", "law"), row, strict=True):
        numbers = " ".join(f"{x:.2f}" for x in of.tolist())
        print(f"{words:8} {numbers}   sum {float(of.sum()):.2f}")

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("unit-unequal", **unequal_length_errors(unequal))

# %% [markdown]
# The strongest direction is exaggerated about twofold, and weak ones come out nearly right. With outputs of unit length the temperature is no longer a count of correlations.
#
# (ot-a-solved)=
# ### A batch that is solved
#
# CLIP has two encoders, outputs of unit length, and a $\tau^2$ that starts at $1/0.07=14.3$. Guess: there are 64 directions of equal correlation, .2, .4, .6 or .9, so that there is ever more to count, 13, 26, 38 and 58. Which $\tau^2$ is the largest?
#
# ````{prf:observation} once the batch is solved
# :label: ot-solved
# :nonumber:
# ```{claim} solved
# ```
# ````

# %%
solved = chapter.library_piece("solved batches", solved_batches, block)
for rho, tau, loss in zip(*(solved[of] for of in ("ρ", "τ²", "loss")), strict=True):
    print(
        f"64 × {float(rho):.1f}: count {64 * float(rho):4.1f}, τ² ends at {float(tau.mean()):4.1f}, loss {float(loss.mean()):.4f}"
    )

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("solved", **solved_and_not(solved))

# %% tags=["hide-input", "remove-output"]
fig, ax = plt.subplots(figsize=(5.2, 3.2), layout="constrained")
equal = np.linspace(0.1, 0.9, 33)
ax.plot(64 * equal, 64 * equal, **colours.THEORY, label="mean norm: the count")
lengths = [unit_length_temperature(float(of), 64) for of in equal]
ax.plot(64 * equal, lengths, color=colours.BLUE, label="unit length, many negatives")
for rho, tau in zip(solved["ρ"], solved["τ²"], strict=True):
    ax.plot([64 * float(rho)] * len(tau), tau.cpu(), "o", color=colours.VERMILION, ms=4)
ax.plot([], [], "o", color=colours.VERMILION, ms=4, label="unit length, trained")
ax.set(xlabel="what there is to count, Σρ", ylabel="learned τ²", ylim=(0, 90))
ax.legend(loc="upper left")
last_two = [float(tau.mean()) for tau in solved["τ²"]][-2:]
stops = (
    "A solved batch stops counting"
    if last_two[1] < 0.8 * last_two[0]
    else f"With more to count τ² ends at {last_two[1]:.0f}, after {last_two[0]:.0f}"
)
ax.set_title(stops, loc="left")
glue.figure(fig, "ot-plot-clip")

# %% [markdown]
# ```{glue:figure} ot-plot-clip
# :alt: Learned inverse temperature against the sum of 64 equal correlations. A dotted diagonal for root mean square norm, and above it a curve for unit length that rises ever more steeply and leaves the panel. Of four groups of points the first three lie near the diagonal, the last far below it.
# :name: ot-fig-clip
#
# What a logit scale says. 64 directions of equal correlation: dotted, the count, where outputs of root mean square norm 1 settle; line, where outputs of unit length would settle with infinitely many negatives; points, outputs of unit length in batches of 128, from $\tau^2=14.3$. Look at the last group: the batch is solved, and $\tau^2$ falls far short of both.
# ```
#
# Up to .6 a larger count has a larger $\tau^2$. At .9 the batch of 128 is told apart without errors. The loss is then next to nothing, and little is left that moves $\tau^2$: it ends at less than half of the count, and lower than for .6. Such a number says how training went, and not what there is to count.


# %% [markdown]
# (ot-a-distances)=
# ## Squared distances in place of inner products
#
# Some losses compare outputs by distance: the logit is $-\tfrac12\tau^2\lVert f_A-f_B\rVert^2$. For outputs of unit length that is InfoNCE itself. For outputs of mean norm it is not, since long outputs are now far from everything. Guess: does the same water stand in the same shafts?
#
# The steps of the [proof](ot-a-proof) go through with one change. Let one encoder have outputs with the covariance $M=WW^\top$ of eigenvalues $v_j/\tau^2$. Given an anchor, $e^{-\frac12\tau^2\lVert f-f'\rVert^2}$ has a closed mean, too, and averaged over anchors its logarithm is $-\sum_j\bigl[\tfrac12\log(1+v_j)+\tfrac12v_j/(1+v_j)\bigr]$. The positives cost $\sum_jv_j(1-\rho_j)$. With $u_j=1/(1+v_j)$ the price of the next bit is $\tfrac12(u_j+u_j^2)$ where inner products have $1-v_j$; it falls as $v_j$ rises, so the loss is convex and the optimum is
#
# $$
# u_j+u_j^2=2(1-\rho_j+\mu),\qquad\sum_jg_j=1,\quad g_j=\frac{1/u_j-1}{\tau^2},
# $$ (ot-eq-distances)
#
# where $\rho_j>\mu$, and nothing elsewhere. *The budget and the threshold are the same; the curve above the threshold is another.* Weak directions get two thirds of what they get from inner products, strong ones more, and a direction with $\rho=1$ would take all it can. At a learned $\tau^2$ the level is 0, and each direction adds $v(\rho_j)=2/(\sqrt{9-8\rho_j}-1)-1$ to the count.
#
# ````{prf:proposition} distances count, too
# :label: ot-distances
# :nonumber:
# ```{claim} distances
# ```
# ````
#
# ````{prf:observation} the shares under distances
# :label: ot-distance-shares
# :nonumber:
# ```{claim} distance-shares
# ```
# ```{claim} distance-real
# ```
# ````

# %%
by_distance = chapter.library_piece(
    "distances, τ² learned",
    distance_temperatures,
    spectra,
    block,
    count_batch,
    count_steps,
)
by_distance_fixed = chapter.library_piece(
    "distances, τ² fixed", distance_shares, block, law_steps, law_batch
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("distances", **distance_count_errors(by_distance))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("distance-shares", **distance_share_errors(by_distance_fixed))

# %% tags=["hide-input", "remove-output"]
fig, (left, right) = plt.subplots(1, 2, figsize=(7.8, 3.4), layout="constrained")
of_rho = torch.linspace(0, 0.93, 94, dtype=torch.float64)
curve = torch.stack([learned_distance_temperature(x.view(1)) for x in of_rho])
left.plot(of_rho.cpu(), curve.cpu(), **colours.THEORY)
left.plot(of_rho.cpu(), of_rho.cpu(), color=colours.GREY, lw=1)
products = learned_temperatures(spectra, block[:1], count_batch, count_steps)
for learned_by, ink, marker, name in (
    (by_distance, colours.VERMILION, "o", "distances"),
    (products, colours.BLUE, "s", "inner products"),
):
    ends = learned_by["τ²g"].mean((0, 2)).flatten().cpu()
    left.plot(
        learned_by["ρ"].flatten().cpu(),
        ends,
        marker,
        color=ink,
        ms=4,
        alpha=0.7,
        label=name,
    )
left.set(xlabel="correlation ρ", ylabel="share × τ², τ² learned", ylim=(-0.1, 5))
left.legend()
example = by_distance_fixed["Gaussian"]
place_g = np.arange(example["trained"].shape[-1])
right.bar(
    place_g - 0.2, example["distances"][-1, 0].cpu(), 0.4, color=colours.VERMILION
)
right.bar(place_g + 0.2, example["products"][-1, 0].cpu(), 0.4, color=colours.BLUE)
for found_shares in example["trained"][-1].cpu():
    right.plot(place_g - 0.2, found_shares, "ko", ms=3)
right.set_xticks(place_g, [f"{x:g}" for x in SPECTRA["falling"]])
right.set(xlabel="correlation ρ", ylabel="share at τ² = 5")
off_curve = distance_count_errors(by_distance)["observed"].values()
off_curve = max(float(torch.as_tensor(of).max()) for of in off_curve)
two_curves = (
    "One budget, one threshold, two curves"
    if off_curve <= 0.08
    else f"By distances the count is off its curve by up to {off_curve:.0%}"
)
fig.suptitle(two_curves, x=0.01, ha="left")
glue.figure(fig, "ot-plot-distances")

# %% [markdown]
# ```{glue:figure} ot-plot-distances
# :alt: Left, learned shares times temperature against the correlation. Squares of inner products lie on the diagonal; circles of distances lie on a dotted curve that starts just below it, crosses it below one half and rises steeply to nearly five at 0.9. Right, pairs of bars at six correlations: under distances the strongest direction takes more than six tenths and the one of 0 nothing, under inner products a quarter and a twelfth; black dots lie on the bars of distances.
# :name: ot-fig-distances
#
# Left: what a direction adds to a learned $\tau^2$, trained under squared distances (circles) and inner products (squares); lines, the two laws, nothing fitted. Right: shares at $\tau^2=5$ by the law of distances (left bars) and of inner products (right bars), and networks trained under distances (dots). Look at both ends: distances give the strongest direction far more, and the private one nothing. This $\tau^2$ is above the count of inner products, 2.5, and below that of distances, 7.2. <a href="one-testbed.html#vessel:tau=5&distance=1"></a>
# ```

# %% [markdown]
# (ot-a-real-temperature)=
# ## What a learned temperature counts on real images
#
# At a learned $\tau^2$ every direction counts, and so does every departure from a Gaussian. Let $x_j$ be the views in canonical coordinates and $h_j=\tau^2g_j$. For two views of one distribution, Gaussian or not, the soft threshold becomes
#
# $$
# h_j=\bigl(h_j+\rho_j-D_j(h)-\mu\bigr)_+,\qquad D_j(h)=\mathbb E_x\,x_j\,\frac{\mathbb E_{x'}x_j'e^{\sum_kh_kx_kx_k'}}{\mathbb E_{x'}e^{\sum_kh_kx_kx_k'}}=h_j+\tfrac12\sum_{kl}\kappa_{jkl}^2h_kh_l+\dots
# $$ (ot-eq-tilted)
#
# that is, $D_j(h)=\rho_j-\mu$ where $h_j>0$. Here $\kappa_{jkl}=\mathbb E\,x_jx_kx_l$. The form holds as long as the optimum stays on the canonical axes. Gaussian views have $D(h)=h$. The second term is never negative: at small $h$ skewed views, such as ten clusters of digits, ask for less $h$ than $\rho$. So for digits and for patches of photographs a learned $\tau^2=\sum_jh_j$ ends below $\sum_j\rho_j$; this is second order in $h$, and half moons end above. We estimate $D$ from held-out views and solve for $h$. As with [few pairs](ot-a-few), the sample has to be larger than $e^v$, $v=\sum_jh_j^2$, and better well above it; else nothing is judged.

# %% tags=["hide-input"]
image_block = list(range(first_seed, first_seed + image_seeds))
fitted, kept = (chapter.check(image_draw, data, s) for s in ("train", "test"))
real_views = measured_views(fitted, kept, image_count, first_seed)
sizes = {"outputs": image_outputs, "steps": image_steps, "batch": image_batch}
shown = min(16, image_outputs)
place = np.arange(1, shown + 1)


def watched(label):
    return {**sizes, "watch": lambda steps: chapter.progress(steps, label)}


# %% tags=["hide-input"]
far_apart = [1.0, 3.0]
on_images = distance_spectra(
    real_views, far_apart, image_block, **watched("images, distances")
)
image_errors = {
    law: distance(on_images["trained"], on_images[law])
    for law in ("distances", "products")
}
image_cases = {
    f"τ² = {t:g}": of
    for t, of in zip(far_apart, image_errors["distances"], strict=True)
}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "distance-real",
    observed=image_cases,
    control={"the law of inner products, τ² = 3": image_errors["products"][-1]},
)

# %% [markdown]
# Views are whitened before training, so that an encoder never sees how strong a direction is. Without it, on centred pixels, strong directions have a head start. Does the end know of it?
#
# ````{prf:observation} without whitening
# :label: ot-real-raw
# :nonumber:
# ```{claim} real-raw
# ```
# ````

# %% tags=["hide-input"]
judged = [t for t in image_temperatures if t <= 1]
on_pixels = raw_spectra(
    real_views, judged, image_block, **watched("images, not whitened")
)
off_pixels = {
    f"τ² = {t:g}": distance(on_pixels["trained"][k], on_pixels["law"][k])
    for k, t in enumerate(judged)
}
rivals = {
    "variances": distance(on_pixels["trained"], on_pixels["variances"]),
    "before training": distance(on_pixels["untrained"], on_pixels["law"]),
}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "real-raw",
    observed=off_pixels,
    control={
        f"{n}, τ² = {t:g}": of[k]
        for n, of in rivals.items()
        for k, t in enumerate(judged)
    },
)

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
# ````{prf:observation} what a learned temperature counts on real images
# :label: ot-real-temperature
# :nonumber:
# ```{claim} real-temperature
# ```
# ````

# %% tags=["hide-input", "nbval-check-output"]
spread_of_logits = float(learned.sampled_scaled.square().sum())
in_sample = len(real_views.coordinates) // 2  # strangers of an anchor
chapter.judge(
    "real-temperature",
    observed=off,
    control=off_sum,
    regime=spread_of_logits < math.log(in_sample),
)

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
ax.set(xlabel="rank", ylabel="τ² × share of the variance", ylim=(0, None))
ax.legend()
of_sum = float(learned.tau_squared.mean() / learned.law)
counts = (
    "A learned temperature counts less than Σρ"
    if of_sum < 0.95
    else f"A learned temperature counts {of_sum:.2f} Σρ"
)
ax.set_title(counts, loc="left")
glue.figure(fig, "ot-plot-real-learned")

# %% [markdown]
# ```{glue:figure} ot-plot-real-learned
# :alt: Three falling curves over the directions. Black points of trained encoders lie below the dotted curve of the correlations, near the green curve of the views' own log moments.
# :name: ot-fig-real-learned
#
# With a learned $\tau^2$: the spectrum times $\tau^2$. Gaussian views would put it at $\rho_j$ (dotted). Equation {eq}`ot-eq-tilted` with the log moments of the views themselves (green) says where it ends. The correlations sum to {glue:text}`ot-real-sum:.1f`, the green values to {glue:text}`ot-real-sampled:.1f`; the encoders end at {glue:text}`ot-real-learned:.1f`, from below as from above.
# ```

# %% [markdown]
# (ot-a-features)=
# ### Features of a frozen network
#
# Linear encoders are often trained on what another network makes of an image. In the record `features` each view is half of a photograph or more, in other colours, as EfficientNet-Lite0 sees it. This network was trained on labels of ImageNet and stays as it is; we keep the 48 largest principal components of its output, whitened. Correlations come from photographs that neither the axes nor the encoders have seen ([the data](../book/data.md)).
#
# ```{include} ../book/_generated/one-testbed-features.md
# ```
#
# Up to $\tau^2=1$ spectra follow the law here. What a learned $\tau^2$ should be we cannot say: $e^v$ is larger than the sample. The log moments of these views happen to name the $\tau^2$ at which the encoders end, but not their shares; and for Gaussian views of such correlations, where the law is exact, a sample of this size names more than twice the right one. Each photograph must be in the sample once: a view among its own strangers outweighs all others, and when we drew with replacement the prediction was a third too low.

# %% [markdown]
# (ot-a-break)=
# ## Worlds made to break it
#
# Someone who did not write the law built eleven worlds against it. All have the correlations .7 .5 .3 .1 0 0, so that the law says the same of each: $\tau^2=1.6$, $\tau^2g_j=\rho_j$. Guess which hold.
#
# **Two hold**: views that are each other's coordinates with random signs, and private coordinates that are functions of each other. Only the correlations and what each view is by itself enter the [proof](ot-a-proof).
#
# ````{prf:observation} dependence is not correlation
# :label: ot-unbroken
# :nonumber:
# ```{claim} unbroken
# ```
# ````
#
# **Seven break.** Four are not Gaussian. In two of these, heavy tails and a common radius, more pairs make it worse: the log moment is infinite, and nothing is left to converge to. Three are Gaussian and break another assumption: pairs that know each other (a time series), a mean on the strongest axis, and two views of unequal covariance behind one encoder. (A mean on a private axis breaks nothing: the encoder drops it.)
#
# ````{prf:observation} what breaks the law
# :label: ot-broken
# :nonumber:
# ```{claim} broken
# ```
# ```{claim} mended
# ```
# ````

# %%
hostile = chapter.library_piece("worlds made to break the law", hostile_runs, block)
mended = {name: mended_law(name, first_seed) for name in (*MENDED, "time series")}

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("unbroken", **unbroken_worlds(hostile))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("broken", **broken_worlds(hostile))

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("mended", **mended_worlds(hostile, first_seed))

# %% tags=["hide-input", "remove-output"]
shared = torch.tensor([0.7, 0.5, 0.3, 0.1, 0.0, 0.0]).double()
fig, ax = plt.subplots(figsize=(7.0, 3.6), layout="constrained")
for y, (name, run) in enumerate(hostile.items()):
    errors = law_error(run, shared, float(shared.sum())).cpu()
    ink = colours.VERMILION if name in BROKEN else colours.BLUE
    full = "none" if name in ("outliers", "ill-conditioned") else "full"
    ax.plot(errors, [y] * len(errors), "o", color=ink, ms=4, fillstyle=full)
    if name in mended:
        errors = law_error(run, *mended[name]).cpu()
        ax.plot(errors, [y] * len(errors), "x", color=colours.GREY, ms=5)
ax.axvline(0.1, **colours.THEORY)
ax.set(xscale="log", xlabel="error of the law")
ax.set_yticks(range(len(hostile)), list(hostile))
ax.invert_yaxis()
fig.suptitle("What breaks the law, and what does not", x=0.01, ha="left")
glue.figure(fig, "ot-plot-break")

# %% [markdown]
# ```{glue:figure} ot-plot-break
# :alt: Points per world. Normal views, flipped signs and nonlinear twins lie left of a dotted line, seven worlds in orange right of it. Crosses, the mended law, lie left of it, those of the time series at it.
# :name: ot-fig-break
#
# Error of the law, the larger of $|\tau^2/\sum_j\rho_j-1|$ and the largest entry of $|\tau^2G-\operatorname{diag}\rho|$, one point per encoder; dotted, the line of the claims. Crosses: the mended law, of the time series one that no card judges. Open: not judged. Most batches have no outlier, and there the law holds. A covariance of condition $10^6$ has the law's optimum; training does not reach it: whiten first.
# ```

# %% [markdown]
# (ot-a-table)=
# ## Harder questions to the table
#
# *How a square gets its word.* `cell_outcomes` compares every interval with its line, by Holm's procedure over all cells of the table, and `row_words` turns the outcomes of a world's cells into a word. If variants of one world differ, the word is "with conditions". A negative that another rate or doubled time leaves open becomes undecided, and one that then meets its line is a variant (`with_changes`).
#
# Three rows of the [table](ot-table) can be asked more. E2 has InfoNCE at one temperature, $\tau^2=3$, a third of the count in tokens and half moons, where directions are given up. R1's control does not align, so its balance is never tried. L2 is judged by a line far below the law.
#
# The answers: at InfoNCE's best temperature the sign of E2 turns in half moons, its home, and two modalities, and stays so near the line that eight networks do not decide. R1 holds when balance alone is asked. L2 has the right direction and the wrong size: in batches of 128 outputs to spare add a tenth of the law's amount in tokens and half moons, and two fifths in sparse codes.
#
# ````{prf:observation} harder questions
# :label: ot-rivals
# :nonumber:
# ```{claim} e2-best
# ```
# ```{claim} r1-balance
# ```
# ```{claim} noise-size
# ```
# ````

# %%
rivals = chapter.library_piece(
    "harder questions", rival_runs, block, table_steps, table_batch
)
for world, kept in rivals["kept"].items():
    print(f"{world:13}", *(f"{n} {float(x.mean()):.2f}," for n, x in kept.items()))

# %% tags=["hide-input"]
long_enough = table_steps >= 160 and len(block) >= 8

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("e2-best", **beside_the_best(rivals["kept"]), regime=long_enough)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("r1-balance", **balances(rivals["balance"]), regime=long_enough)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("noise-size", **private_over_law(rivals["private"]), regime=long_enough)

# %% [markdown]
# (ot-a-sampling)=
# ## Measure ρ without fooling yourself
#
# Samples show correlations where there are none. Of $n$ pairs of unrelated views with $D$ inputs one encoder sees a semicircle of them up to $\sqrt{2D/n}$ (two encoders: up to about $2\sqrt{D/n}$, {glue:text}`ot-noise-two:.2f` for $D=128$ and $n=60\,000$). Each is small, but a learned $\tau^2$ adds them all up. Two remedies follow from one fact: over pairs, the $k$ largest sampled correlations sum to too much on average, those of directions found on *other* pairs to too little, and the sum of all, a trace, is nearly right. So split the pairs, find directions on one half and correlations on the other; and to estimate $\sum_j\rho_j$, add the negative ones, too.

# %% tags=["hide-input"]
edge_inputs, edge_pairs = 128, 60_000
largest, clipped, split_sum = noise_shown(edge_inputs, edge_pairs, image_block)
expected_sum = noise_total(edge_pairs, edge_inputs)
of_two = expected_sum * 2**0.5  # 2√(D/n) in place of √(2D/n)
glue.number("ot-noise-two", noise_correlation(edge_pairs, edge_inputs, edge_inputs))
glue.number("ot-noise-sum", clipped.mean())
glue.number("ot-noise-split", split_sum.mean())
known = real_views.rho.clamp(min=0)
by_trace, by_clipping = (
    x / known.sum() - 1 for x in totals_of_known(known, 2000, image_block)
)

# %% [markdown]
# ````{prf:proposition} correlations of nothing
# :label: ot-noise-sum
# :nonumber:
# ```{claim} noise-sum
# ```
# ```{claim} real-sum
# ```
# ````

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge(
    "noise-sum", observed=clipped / expected_sum - 1, control=clipped / of_two - 1
)

# %% tags=["hide-input", "nbval-check-output"]
chapter.judge("real-sum", observed=by_trace, control=by_clipping)

# %% [markdown]
# Of pure noise the positive correlations sum to {glue:text}`ot-noise-sum:.2f`. With the split, {glue:text}`ot-noise-split:.2f` are left.


# %% [markdown]
# (ot-a-who)=
# ## Who else is here
#
# Of each work we say what we read of it. Of the closed form for inner products at a fixed temperature, of $\tau^2=\sum_j\rho_j$ by InfoNCE, of $\rho/(1-\tfrac12\rho^2)$ with one negative, and of the counts by distances we can say no more than that *we did not find them stated*. The search was finite; the second follows in one line from what is known of the spectral loss.
#
# *Nearest to the law*
#
# - **Antonio Torralba and Yair Weiss**, "A theory of contrastive learning with natural images" ([arXiv 2607.07470](https://arxiv.org/abs/2607.07470), ICML 2026; abstract read, the paper not): for images of stationary statistics and one hidden layer, filters are sinusoidal, whitening is partial, and "the selected frequencies and their weights can be computed using a simple 'waterfilling' algorithm given the dataset's expected power spectrum". So water-filling of a contrastive optimum is theirs. Of its loss and its formula we can say nothing, as we have not read the paper. We keep *soft threshold* for the formula, and water for the picture.
# - {cite:t}`kamai-2026` (abstract and opening read): in a linear model with signal and nuisance in each modality, alignment whitens, and fails when nuisance is strongly correlated across views. That noise is dropped if views do not share it is this with nuisance at 0; *coupled* views are its other end. By their public page the theory has no temperature.
# - {cite:t}`haochen-2021` (abstract and opening read) introduce the spectral loss, which decomposes the graph of augmentations. At a fixed temperature the norm of one, and with it the threshold, is the difference. At a learned one there is none: with one encoder $\tau f$ is an encoder without norm and without temperature, and its mean squared norm, our count, is the sum of the eigenvalues that their optimum keeps.
# - {cite:t}`gui-2025` prove that contrastive learning with an optimised temperature adapts to the intrinsic dimension of what is shared (abstract read). The count may be a linear case of this.
#
# *Optima as spectral methods*
#
# - Balestriero and LeCun ([2205.11508](https://arxiv.org/abs/2205.11508), abstract and opening read) obtain closed forms of the optimal representation of VICReg, SimCLR and Barlow Twins, and of optimal linear parameters, as spectral embeddings.
# - Johnson, El Hanchi and Maddison ([2210.01883](https://arxiv.org/abs/2210.01883), abstract and opening read): contrastive losses approximate a positive-pair kernel, and kernel principal components recover its eigenfunctions.
# - Chapman, Wells and Lawry Aguila ([2310.01012](https://arxiv.org/abs/2310.01012), abstract read) have an unconstrained loss whose optimum is the top space of canonical correlation analysis. An encoder without norm and temperature, as in step 9, is near to it.
# - Varıcı et al. ([2510.24672](https://arxiv.org/abs/2510.24672), abstract and opening read) extract ordered eigenfunctions, whose eigenvalues serve as importance scores. The chapter's proposition that shares measure $\rho$ is an instance of such a score.
# - Nakada et al. ([2302.06232](https://arxiv.org/abs/2302.06232), abstract read) treat "a general class of nonlinear loss functions" that includes CLIP's, in linear models: each step of gradient descent is a singular value decomposition of a contrastive cross-covariance.
# - {cite:t}`baptista-2025` treat Gaussian modalities and low-rank approximation (abstract read); "Gaussian-negative quadratic surrogate" is the name of our quadratic form in the abstract of Chen, Zhou and Zhou ([2606.26617](https://arxiv.org/abs/2606.26617)).
#
# *Temperature*
#
# - Yaras et al. ([2412.07909](https://arxiv.org/abs/2412.07909), abstract read) follow the gradient flow of CLIP with a learnable temperature: it and mismatched pairs keep the gap between modalities open. [A solved batch](ot-a-solved) is the neighbouring question: what the number itself then says.
# - Bangachev, Bresler, Noman and Polyanskiy ([2509.18552](https://arxiv.org/abs/2509.18552), abstract read): with the sigmoid loss, a trainable inverse temperature and bias drive the loss to zero for a rich class of configurations. There, too, the temperature of a solved problem counts nothing.
# - Dinu et al. ([ICLR 2025](https://openreview.net/forum?id=szRmEM8Kx5), abstract read) measure on text embeddings that the temperature sets their intrinsic dimension. A larger $\tau^2$ that fills more shafts is what the law would say of it.
#
# *Around it*
#
# - {cite:t}`ziyin-2023` derive the landscape of linear self-supervised models; {cite:t}`ji-2023` show that linear contrastive learning beats principal components in unequal noise, which is why these fail as our control (abstracts read). {cite:t}`betser-2026` show that InfoNCE makes outputs Gaussian in high dimension (abstract read), which makes the law plausible for what a network hands on, not for its inputs.
# - The map from $\rho/\tau^2$ to shares is *sparsemax* {cite}`martins-astudillo-2016`; the same function is found in reverse water-filling, of another quantity.
# - From memory, and not reopened: Tian (2022) treats fixed pair weights, our $\tau^2\to0$; Jing et al. (2022) a collapse by strong augmentation; in the Gaussian information bottleneck (Chechik et al., 2005) canonical directions enter one by one as well, with other weights.


# %% tags=["remove-cell"]
chapter.close()
