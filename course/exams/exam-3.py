# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [raw]
# # NUMBERS
# deep: 3.0, from 2.0 to 5.0 by 0.5
# flat: 1.0, from 0.5 to 1.5 by 0.25
# pull: 0.5, from 0.25 to 1.5 by 0.25
# K: 20, from 10 to 60 by 5
# q: 0.2, from 0.1 to 0.4 by 0.05
# theta: 0.25, from 0.15 to 0.35 by 0.05
# n: 6, from 4 to 9 by 1
# mean: 0.20, from 0.16 to 0.24 by 0.02
# sd: 0.12, from 0.10 to 0.16 by 0.01

# %% [markdown]
# # Exam 3
#
# 90 minutes, 60 points, 10 for each question. Allowed: one handwritten page, a calculator. Give the formula before the number. No question is one of the sheets with other numbers: each changes something that the course has kept fixed.

# %% tags=["solution"]
import itertools

import numpy as np
from scipy.special import lambertw
from scipy.stats import t as student

# %% [markdown]
# ## 1. A pull towards zero (10 points)
#
# To the linear model's loss somebody adds $\mu\Vert\Theta\Vert_F^2$: $\dot\Theta=-2\Theta C-2\mu\Theta$, with $C=\operatorname{diag}(-{{deep}},-{{flat}})$ and $\Theta(0)=I$.
#
# 1. Give both singular values at time $t$, and their ratio for $\mu={{pull}}$ at $t=1$. (4)
# 2. From which $\mu$ on does no output grow? (3)
# 3. Does any $\mu$ keep both directions? Say why in one sentence, and name a rule that does. (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. $\Theta=e^{-2(C+\mu I)t}$: $e^{2({{deep}}-\mu)t}$ and $e^{2({{flat}}-\mu)t}$. Their ratio $e^{-2({{deep}}-{{flat}})t}$ has no $\mu$ in it. 2. $\mu\ge{{deep}}$, and then everything dies. 3. No: the pull is the same for all directions, and what decides is the gap. Orthonormal layers do: a budget for each direction.
#
# *Common mistakes.* A ratio that depends on $\mu$. "A large enough $\mu$ keeps both": it kills both.

# %% tags=["solution"]
rate = np.array([{{deep}}, {{flat}}]) - {{pull}}
theta, step = np.ones(2), 1e-5
for _ in range(100_000):
    theta = theta * (1 + 2 * step * rate)
ratio = np.exp(-2 * ({{deep}} - {{flat}}))
assert abs(theta[1] / theta[0] / ratio - 1) < 1e-3
print(f"1. ratio {ratio:.4f}; 2. from {{deep}} on")

# %% [markdown]
# ## 2. More negatives, another temperature (10 points)
#
# Near balance, for many signals, a small imbalance decays at a rate proportional to $x/(1+e^x/K)$ with $x=\tau^2$ and $K$ negatives.
#
# 1. Show that the best $x$ solves $(x-1)e^{x-1}=K/e$. (4)
# 2. $K={{K}}$: which is faster, $\tau^2=2$ or $\tau^2=5$, and by which factor? (3)
# 3. $K$ is made $e$ times as large. Does the best $\tau^2$ grow by more than one, by one, or by less? Why? (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. The derivative is zero where $1+e^x/K=xe^x/K$, that is $K=(x-1)e^x$. 2. By the formula; see the number below. 3. By less than one: from $\log(x-1)+x-1=\log K-1$ the step of one in $\log K$ is shared between $x$ and $\log(x-1)$, which grows, too.
#
# *Common mistakes.* $\tau^2=K$ or $\log K$. "Sharper is faster": the force dies with $e^{-x}$.

# %% tags=["solution"]


def decay(x):
    """In proportion to the rate."""
    return x / (1 + np.exp(x) / {{K}})


grid = np.linspace(0.5, 12, 115_001)
best, more = (1 + lambertw(k / np.e).real for k in ({{K}}, np.e * {{K}}))
assert abs(grid[np.argmax(decay(grid))] - best) < 1e-3 and 0 < more - best < 1
print(f"2. 2 is {decay(2) / decay(5):.2f} times as fast as 5; best {best:.2f}, and {more:.2f} for e K")

# %% [markdown]
# ## 3. A filter without a gate (10 points)
#
# A filter with $h(z)=\vert z\vert$ looks at orthonormal patterns whose standardised presences are $\sqrt{(1-q)/q}$ with probability $q$, else $-\sqrt{q/(1-q)}$.
#
# 1. Compute the variance of $h$ along a pattern, and its value for $q={{q}}$. (4)
# 2. $A=\mathbb{V}[h'x]$. Which eigenvalue has it across, and for which $q$ is the pattern a hilltop? (3)
# 3. A ReLU filter has a hilltop at each rare pattern. What does the gate do that the absolute value does not? (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. $\mathbb E h^2=1$, $\mathbb E h=2\sqrt{q(1-q)}$: $1-4q(1-q)=(1-2q)^2$. 2. $h'=\pm1$, so it is 1 across; the rate $1-(1-2q)^2=4q(1-q)$ is positive: never. 3. It hides all inputs without the pattern: across, the variance falls from 1 to $q$. The absolute value hides nothing.
#
# *Common mistakes.* The mean of $h$ taken as zero, which gives 1 along the pattern. $q$ across, as for ReLU.

# %% tags=["solution"]
x, chance = np.array([(1 - {{q}}) / {{q}}, {{q}} / (1 - {{q}})]) ** 0.5, np.array([{{q}}, 1 - {{q}}])
along = chance @ x**2 - (chance @ x) ** 2
assert abs(along - (1 - 2 * {{q}}) ** 2) < 1e-12 and along < 1
print(f"1. {along:.3f}")

# %% [markdown]
# ## 4. A mask that shows a part (10 points)
#
# A mask shows each coordinate with probability $\theta={{theta}}$, not $\frac{1}{2}$: $x^+=\frac{1}{\theta} Dx$, $x^{++}=\frac{1}{1-\theta}(I-D)x$.
#
# 1. Which entries has $\mathbb{E}[x^+x^{++\top}]$, compared with $\mathbb{E}[xx^\top]$? (4)
# 2. An atom has {{n}} coordinates. What is the chance that both views see a part of it? (3)
# 3. Which $\theta$ makes this chance largest? Name one thing that gets worse for the view that sees little. (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. Off the diagonal $\frac{\theta(1-\theta)}{\theta(1-\theta)}=1$: nothing changes. The diagonal is 0, for any $\theta$. 2. $1-\theta^n-(1-\theta)^n$. 3. $\theta=\frac12$. The noise of a view is $\frac1\theta$ times as long (its square), and its part of an atom scatters more.
#
# *Common mistakes.* A factor $4\theta(1-\theta)$ off the diagonal, as with the scale 2. $1-(1-\theta)^n$: both views must see something.

# %% tags=["solution"]
masks = np.array(list(itertools.product((0, 1), repeat={{n}})))
weight = {{theta}} ** masks.sum(1) * (1 - {{theta}}) ** (len(masks[0]) - masks.sum(1))
seen = np.einsum("a,ai,ak->ik", weight, masks, 1 - masks) / ({{theta}} * (1 - {{theta}}))
assert np.allclose(seen, 1 - np.eye(len(masks[0])))
both = weight[(masks.sum(1) > 0) & (masks.sum(1) < len(masks[0]))].sum()
assert abs(both - (1 - {{theta}} ** {{n}} - (1 - {{theta}}) ** {{n}})) < 1e-12
print(f"2. {both:.4f}")

# %% [markdown]
# ## 5. A card (10 points)
#
# Claim: "a wider layer scores higher". Rule, fixed before the run: the gain is at least 0.1. Ten seeds: mean {{mean}}, standard deviation {{sd}}. The interval at 0.5 % has the half width $3.69\,s/\sqrt{10}$. Control: a wide layer that is not trained gains 0.13.
#
# 1. Compute the interval. Does it meet the rule, miss it, or leave it open? (4)
# 2. What does the control say, about the claim and about the rule? (3)
# 3. Write a rule and a statistic that the control would miss. (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. See the interval below: it meets the rule only if it lies above 0.1 as a whole. 2. The control meets the rule, so the rule cannot tell training from mere width; whatever the interval is, the verdict is undecided, and that says nothing against the claim. 3. For example: the gain of the trained wide layer over the untrained one of the same width, with the same starts, is at least 0.05, seed by seed.
#
# *Common mistakes.* The mean alone compared with 0.1. "The control refutes the claim." A rule chosen after the run so that the control just misses it.

# %% tags=["solution"]
half = 3.69 * {{sd}} / 10**0.5
assert abs(student.ppf(0.9975, 9) - 3.69) < 5e-3
low, high = {{mean}} - half, {{mean}} + half
print(
    f"1. {low:.3f} to {high:.3f}: {'meets the rule' if low >= 0.1 else 'open'}; 2. the control meets the rule: undecided"
)

# %% [markdown]
# ## 6. A plan that could fail (10 points)
#
# Two theories: with noise of two scales, training keeps a part 0.35 of a signal (first), or 0.50 (second). One run scatters by 0.10.
#
# 1. Write a prediction with an interval, and how many seeds make the interval narrow enough to tell both theories apart ($t\approx3$). (4)
# 2. Name a control and a planted case, and say what each must show. (3)
# 3. The result is 0.42, interval 0.38 to 0.46. Write the abstract in two sentences, one of which says what was not shown. (3)

# %% [markdown] tags=["solution"]
# **Solution.** 1. Say, 0.35 with 0.30 to 0.40. The half width must be below half of the distance, 0.075: $3\cdot0.10/\sqrt n<0.075$, so $n>16$: 17 seeds. 2. Control: noise of one scale, where both theories agree; it must give the known number. Planted case: a signal put in at 0.5 by hand; the measure must find 0.5. 3. "The part kept is 0.42 (0.38 to 0.46), which neither theory predicts. We did not vary the network, so this does not show that no theory of this kind holds."
#
# *Common mistakes.* An interval that holds both theories. A control that nobody expects to differ. "The first theory is closer, so it is confirmed."

# %% tags=["solution"]
enough = next(n for n in range(2, 100) if 3 * 0.10 / n**0.5 < 0.075)
assert enough == 17 and not 0.38 <= 0.35 <= 0.46 and not 0.38 <= 0.50 <= 0.46
