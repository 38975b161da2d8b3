"""When a linear contrastive encoder learns a direction of its data, and whether growth rates say which comes first.

f(x) = W x, without a bias. While all similarities are small the softmax weighs all candidates alike, and with
κ = ηN/(N + 1) a step adds, in the mean,
    W ← W + κ W C,   C = E x⁺x⁺⁺ᵀ, each view less its mean.
C is symmetric. Along an eigenvector v, ‖W v‖ grows by the factor 1 + κ vᵀCv a step, whatever the start and the other
directions are. It has grown by a factor g after about log g/(κ vᵀCv) steps: the larger rate comes first, and the
variance of the data along v does not matter. This is derived for the start alone. A slow direction is learned when fast
ones have long been large and the softmax is no longer flat; what happens then has to be run.
"""

import torch
from torch import Tensor

from contrastive_dynamics.feature_decoupling.symmetrised_relu import contrastive_gradient
from contrastive_dynamics.feature_decoupling.training_schedule import DecoupledTraining


def learning_times(
    first: Tensor,
    second: Tensor,
    directions: Tensor,
    weights: Tensor,
    training: DecoupledTraining,
    generators: list[torch.Generator],
    steps: int,
    factor: float,
) -> Tensor:
    """Steps until ‖W v‖ is `factor` times that of the start: `[run, k]`, inf if it is not within `steps`.

    A step draws B pairs from the given ones, with replacement, and as negatives the second views of N others.
    Source: derived; wen-li-2021, Section 2.2, for the step.
    Args:
        first, second: all pairs of views, `[run, n, d1]`; each is taken less its mean over n.
        directions: v, `[k, d1]`, of any length but 0.
        weights: W at the start, `[run, m, d1]`.
        training: B, N, η, λ and τ; its views and biases are not used.
        generators: one per run, on the device of the views.
        steps: ≥ 1.
        factor: > 1.
    Raises: ValueError for other steps or factors, or for another number of generators.
    Cost: per step 2·m·d1·(3B + N) + 4·B·N·m flops per run.
    """
    runs, count, dim = first.shape
    if steps < 1 or not factor > 1 or len(generators) != runs:
        got = f"{steps}, {factor} and {len(generators)}"
        raise ValueError(f"steps, factor and generators must be ≥ 1, > 1 and one per run, {runs}, got {got}")
    first, second = ((view - view.mean(1, keepdim=True)).flatten(0, 1) for view in (first, second))
    before = torch.arange(runs, device=first.device).unsqueeze(-1) * count
    along, drawn = directions.to(weights).mT, training.batch + training.negatives
    bias, kept = torch.zeros_like(weights[..., 0]), 1 - training.learning_rate * training.weight_decay
    start, times = (weights @ along).norm(dim=1), torch.full((runs, len(directions)), torch.inf, device=first.device)
    for step in range(1, steps + 1):
        rows = [torch.randint(count, (drawn,), generator=g, device=first.device) for g in generators]
        own, others = (torch.stack(rows) + before).split([training.batch, training.negatives], -1)
        gradient = contrastive_gradient(weights, bias, first[own], second[own], second[others], training.temperature)
        weights = weights * kept - training.learning_rate * gradient.weights
        large = (weights @ along).norm(dim=1) >= factor * start
        times = torch.where(large & times.isinf(), float(step), times)
    return times


def rate_exponent(times: Tensor, rates: Tensor, variances: Tensor) -> Tensor:
    """The power a in times ∝ rates^a · variances^b, by least squares over the directions: float64 `[run]`.

    -1 if rates alone set the time, 0 if variances do.
    Args:
        times: of `learning_times`, `[run, k]`; directions that are not learned (inf) are left out, run by run.
        rates, variances: `[k]`, > 0.
    Raises: ValueError if a run has learned fewer than 4 directions.
    """
    learned = times.isfinite()
    if int(learned.sum(-1).min()) < 4:
        raise ValueError(f"times must be finite for 4 directions or more of each run, got {learned.sum(-1).tolist()}")
    logs = [torch.ones_like(rates), rates.log(), variances.log()]
    given, found = torch.stack(logs, -1).double(), times.double().log()
    fits = [
        torch.linalg.lstsq(given[kept], y[kept].unsqueeze(-1), driver="gels")
        for kept, y in zip(learned, found, strict=True)
    ]
    return torch.stack([fit.solution[1, 0] for fit in fits])


def in_order(times: Tensor, rates: Tensor, variances: Tensor, apart: float) -> tuple[Tensor, int]:
    """(how many `[run]`, of how many) pairs of directions are learned in the order of their rates, not their variances.

    A pair counts if one direction has the larger rate, by a factor of more than `apart`, and the smaller variance. It
    is in order if this direction is learned first; a tie is half of one.
    Args:
        times: of `learning_times`, `[run, k]`.
        rates, variances: `[k]`, rates > 0.
        apart: ≥ 1.
    Raises: ValueError for another factor.
    """
    if not apart >= 1:
        raise ValueError(f"apart must be ≥ 1, got {apart}")
    counted = (rates.unsqueeze(-1) > apart * rates) & (variances.unsqueeze(-1) < variances)
    earlier, later = times.unsqueeze(-1), times.unsqueeze(-2)
    right = (earlier < later).double() + (earlier == later).double() / 2
    return (right * counted.to(right)).sum((-2, -1)), int(counted.sum())
