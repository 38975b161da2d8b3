"""A layer of symmetrised ReLUs, its contrastive loss and that loss's gradient in closed form.

f_i(x) = ReLU(⟨w_i, x⟩ - b_i) - ReLU(-⟨w_i, x⟩ - b_i). For b_i ≥ 0 it is the soft threshold of ⟨w_i, x⟩ at b_i, and
linear at b_i = 0. Shapes: weights `[run, m, d1]`, biases `[run, m]`, data `[run, count, d1]`.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

from ..losses.pairwise_importance import require_temperature


class Gradient(NamedTuple):
    """The loss `[run]` and its gradients in weights `[run, m, d1]` and biases `[run, m]`, without weight decay."""

    loss: Tensor
    weights: Tensor
    bias: Tensor


def preactivations(x: Tensor, weights: Tensor) -> Tensor:
    """⟨w_i, x⟩ `[run, count, m]`. Cost: 2 count·m·d1 flops per run."""
    return x @ weights.mT


def symmetrised_relu(pre: Tensor, bias: Tensor) -> Tensor:
    """f `[run, count, m]` from the pre-activations; b_i may be negative. Source: wen-li-2021, Section 2.2."""
    level = bias.unsqueeze(-2)
    return (pre - level).relu() - (-pre - level).relu()


def features(x: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    """f(x) `[run, count, m]`. Source: wen-li-2021, Section 2.2. Cost: 2 count·m·d1 flops per run."""
    return symmetrised_relu(preactivations(x, weights), bias)


def logits(first: Tensor, second: Tensor, negatives: Tensor, temperature: float) -> Tensor:
    """(log ℓ_p, log ℓ_s for each negative) `[run, count, 1 + N]`, the positive first.

    ℓ = softmax(Sim/τ) over {x⁺⁺} ∪ N with Sim(x, x') = ⟨f(x), f(x')⟩; all positives share the negatives.
    Source: wen-li-2021, Definition 2.2 and Appendix A.1.
    Args:
        first, second: features of x⁺ and x⁺⁺, `[run, count, m]`.
        negatives: their features, `[run, N, m]`.
        temperature: τ > 0.
    Raises: ValueError for another temperature.
    Cost: 2 count·N·m flops and count·N entries per run.
    """
    require_temperature("temperature", temperature)
    positive = (first * second).sum(-1, keepdim=True)
    return torch.log_softmax(torch.cat([positive, first @ negatives.mT], -1) / temperature, -1)


def contrastive_loss_value(first: Tensor, second: Tensor, negatives: Tensor, temperature: float) -> Tensor:
    """L = -τ E log ℓ_p `[run]`, from features; never negative, and τ log(1 + N) if all similarities are equal.

    Source: wen-li-2021, eq. (2.2).
    Args and Raises: as `logits`.
    """
    return -temperature * logits(first, second, negatives, temperature)[..., 0].mean(-1)


def contrastive_gradient(
    weights: Tensor, bias: Tensor, first: Tensor, second: Tensor, negatives: Tensor, temperature: float
) -> Gradient:
    """Loss and gradient over a batch, with the similarity's second argument held fixed.

    ∂L/∂w_i = -E[((1 - ℓ_p) f_i(x⁺⁺) - Σ_s ℓ_s f_i(x_s)) 1{|⟨w_i, x⁺⟩| ≥ b_i} x⁺] for b_i ≥ 0, computed as
    (1 - ℓ_p)(f_i(x⁺⁺) - Σ_s q_s f_i(x_s)) with q the softmax over the negatives alone; for b_i < 0 the indicator is
    1{⟨w_i, x⁺⟩ ≥ b_i} + 1{-⟨w_i, x⁺⟩ ≥ b_i}. In ∂L/∂b_i the factor 1{…} x⁺ becomes
    1{-⟨w_i, x⁺⟩ ≥ b_i} - 1{⟨w_i, x⁺⟩ ≥ b_i}.
    Source: wen-li-2021, Appendix A.1, The Gradient of Weights.
    Args:
        weights: `[run, m, d1]`.
        bias: `[run, m]`.
        first, second: views x⁺ and x⁺⁺, `[run, count, d1]`, which may be one tensor.
        negatives: `[run, N, d1]`, N ≥ 1.
        temperature: τ > 0.
    Returns: Gradient.
    Raises: ValueError for no negatives or a temperature that is not positive.
    Cost: 2 m·d1·(3 count + N) + 4 count·N·m flops per run, and 2 count·(N + m) entries besides the data.
    """
    if not negatives.shape[-2]:
        raise ValueError("negatives must be ≥ 1, got 0")
    require_temperature("temperature", temperature)
    pre = preactivations(first, weights)
    on_first, on_negatives = symmetrised_relu(pre, bias), features(negatives, weights, bias)
    on_second = on_first if second is first else features(second, weights, bias)
    positive = (on_first * on_second).sum(-1, keepdim=True) / temperature
    scores = on_first @ (on_negatives / temperature).mT
    top = scores.amax(-1, keepdim=True)
    chances = scores.sub_(top).exp_()  # the largest array: changed in place, and never divided by its sum
    total = chances.sum(-1, keepdim=True)
    lead = top + total.log() - positive  # log((1 - ℓ_p)/ℓ_p), exact where ℓ_p is near 1, too
    pull = (on_second - chances @ on_negatives / total).mul_(lead.sigmoid())
    level, count = bias.unsqueeze(-2), first.shape[-2]
    above, below = pull * (pre >= level), pull * (-pre >= level)
    return Gradient(
        temperature * softplus(lead, threshold=50.0).mean((-2, -1)),  # torch's 20 would drop e⁻²⁰
        (above + below).mT @ first / -count,
        (below - above).sum(-2) / -count,
    )
