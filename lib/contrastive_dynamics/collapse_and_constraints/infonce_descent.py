"""InfoNCE of a linear model: a trace loss whose matrix C(Θ) depends on the weights, and descent to its end.

Shapes: anchors x `[..., N, d]`, their views x⁺ of the same shape, Θ `[..., z, d]`; u = Θx. Each anchor's own view is
compared with others by a similarity s over a temperature τ:

    dot       s(x, y) = uᵀ(x)u(y), negatives the views of the other anchors
    distance  s(x, y) = −½‖u(x) − u(y)‖², negatives the views of the other anchors
    anchors   the same, negatives the other anchors (tian-2023, eq. (1), ε = 1)
"""

import torch
from torch import Tensor

from ..losses.pairwise_importance import require_temperature

FORMS = ("dot", "distance", "anchors")


def infonce_of_views(theta: Tensor, x: Tensor, views: Tensor, tau: float, form: str = "dot") -> Tensor:
    """mean_i( log Σ_j e^{s_ij/τ} − s(x_i, x_i⁺)/τ ), the sum over the own view and all negatives.

    Source: van den Oord, Li and Vinyals (2018); esser-2023, Remark 2.
    Args:
        theta: Θ, `[..., z, d]`.
        x: anchors, `[..., N, d]`, N ≥ 2.
        views: their views, `[..., N, d]`.
        tau: temperature, > 0.
        form: one of `FORMS`.
    Returns: `[...]`.
    Raises: ValueError for another argument.
    Cost: 2·N²·z flops.
    """
    logits, own = _logits(theta, x, views, tau, form)
    return (logits.logsumexp(-1) - own).mean(-1)


def infonce_matrix(theta: Tensor, x: Tensor, views: Tensor, tau: float, form: str = "dot") -> Tensor:
    """C(Θ), symmetric, such that ∇L = 2ΘC(Θ) for `infonce_of_views`.

    With P the softmax of the logits, row by row, p its diagonal, P₀ = P − diag(p), Y the negatives and
    M = P₀Y − (1 − p)X⁺ it is (XᵀM + MᵀX)/(2τN) for dot products. For distances X⁺ᵀdiag(1 − p)X⁺ − Yᵀdiag(P₀ᵀ1)Y is
    added to XᵀM + MᵀX.
    At Θ = 0 it is the matrix of the simplified, quadratic loss, whose negatives all have the same weight.

    Source: derived; beside esser-2023, Remark 2.
    Args, Raises: as `infonce_of_views`.
    Returns: `[..., d, d]`.
    Cost: 2·N²·(z + d) flops.
    """
    weights, negatives = _logits(theta, x, views, tau, form)[0].softmax(-1), x if form == "anchors" else views
    own = weights.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)
    weights = weights - torch.diag_embed(own.squeeze(-1))
    c = x.mT @ (weights @ negatives - (1 - own) * views)
    c = c + c.mT
    if form != "dot":
        c = c + views.mT @ ((1 - own) * views) - negatives.mT @ (weights.sum(-2).unsqueeze(-1) * negatives)
    return c / (2 * tau * x.shape[-2])


def descend_infonce(
    theta: Tensor, x: Tensor, views: Tensor, tau: float, form: str = "dot", steps: int = 1000, keep_every: int = 1
) -> Tensor:
    """Θ ← Θ − η∇L until the loss no longer falls: gradient descent on `infonce_of_views`, each run with its own η.

    η starts at 1/(2‖C(Θ(0))‖₂), grows by a fifth after a step that lowers the loss, and is halved, and the step
    undone, after any other.

    Source: esser-2023, Remark 2 ("would also happen for InfoNCE").
    Args:
        theta: start, `[run, z, d]`.
        x, views, tau, form: as in `infonce_of_views`, with the axis of the runs.
        steps: ≥ 1.
        keep_every: steps between two that are kept, ≥ 1.
    Returns: `[steps // keep_every + 1, run, z, d]`.
    Raises: ValueError for another argument.
    Cost: `infonce_matrix` and `infonce_of_views` per step.
    """
    if steps < 1 or keep_every < 1:
        raise ValueError(f"steps and keep_every must be ≥ 1, got {steps} and {keep_every}")
    given = x, views, tau, form
    loss, c = infonce_of_views(theta, *given), infonce_matrix(theta, *given)
    rate, path = 0.5 / torch.linalg.matrix_norm(c, 2)[..., None, None], [theta]
    for step in range(1, steps + 1):
        ahead = theta - 2 * rate * theta @ c
        found = infonce_of_views(ahead, *given)
        lower = (found < loss)[..., None, None]
        theta, loss = torch.where(lower, ahead, theta), torch.minimum(found, loss)
        rate, c = torch.where(lower, 1.2 * rate, rate / 2), infonce_matrix(theta, *given)
        if step % keep_every == 0:
            path.append(theta)
    return torch.stack(path)


def _logits(theta: Tensor, x: Tensor, views: Tensor, tau: float, form: str) -> tuple[Tensor, Tensor]:
    """s_ij/τ and s(x_i, x_i⁺)/τ, both less −½‖u(x_i)‖²/τ for distances, which cancels in the loss."""
    if x.shape != views.shape or x.shape[-1:] != theta.shape[-1:] or x.shape[-2] < 2:
        got = ", ".join(str(tuple(part.shape)) for part in (theta, x, views))
        raise ValueError(f"theta, x, views must be [..., z, d], [..., N, d] and [..., N, d], N ≥ 2, got {got}")
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
    require_temperature("tau", tau)
    u, v = x @ theta.mT, views @ theta.mT
    negatives = u if form == "anchors" else v
    logits, own = u @ negatives.mT, (u * v).sum(-1)
    if form != "dot":
        logits = logits - negatives.square().sum(-1).unsqueeze(-2) / 2
        own = own - v.square().sum(-1) / 2
    logits = logits.diagonal_scatter(own, dim1=-2, dim2=-1)
    return logits / tau, own / tau
