"""The gated covariance A(w) = V[x̃^w] of a finite population, the matrix field of one-layer contrastive learning."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .activations import Activation


def gate(x: Tensor, w: Tensor, act: Activation) -> Tensor:
    """Gated input x̃^w = x · h'(wᵀx).

    Source: tian-2023, eq. (6).
    Args:
        x: inputs, `[..., n, d]`.
        w: filters, `[..., d]`; leading axes broadcast.
        act: activation h.
    Returns: `[..., n, d]`.
    Cost: 3·n·d flops per filter.
    """
    return x * act.slope(torch.einsum("...nd,...d->...n", x, w)).unsqueeze(-1)


def gated_covariance(x: Tensor, w: Tensor, act: Activation, p: Tensor | None = None) -> Tensor:
    """A(w) = V_p[x̃^w] for uniform pairwise importance, no augmentation and an infinite batch.

    Source: tian-2023, eq. (7) with Corollary 1; the variance divides by n, not n − 1.
    Args:
        x: support points, `[..., n, d]`.
        w: filters, `[..., d]`.
        act: activation h.
        p: probabilities, `[..., n]`; by default 1/n each.
    Returns: `[..., d, d]`, symmetric positive semidefinite.
    Cost: 2·n·d² flops per filter.
    """
    gated = gate(x, w, act)
    if p is None:
        p = x.new_full(x.shape[:-1], 1.0 / x.shape[-2])
    mean = torch.einsum("...n,...nd->...d", p, gated)
    second = torch.einsum("...n,...nd,...ne->...de", p, gated, gated)
    return second - mean.unsqueeze(-1) * mean.unsqueeze(-2)


def gaussian_gated_covariance(x: Tensor, w: Tensor, act: Activation, p: Tensor, h: Tensor, tau: float) -> Tensor:
    """C_α[x̃^w] of a finite population for α_ij = exp(−(h_i − h_j)²/2τ), with α held constant in the gradient.

    A = Σ_i p_i (Σ_j α_ij p_j) g_i g_iᵀ − Σ_ij α_ij p_i p_j g_i g_jᵀ with g = x̃^w.

    Source: tian-2023, Lemma 1, Corollaries 1 and 2.
    Args:
        x: support points, `[..., n, d]`.
        w: filters, `[..., d]`.
        act: activation whose slope is the gate.
        p: probabilities, `[..., n]`.
        h: values that α compares, `[..., n]`.
        tau: temperature, > 0.
    Returns: `[..., d, d]`.
    Raises: ValueError unless tau > 0.
    Cost: n² exponentials per filter.
    """
    if not tau > 0:
        raise ValueError(f"tau must be > 0, got {tau}")
    g = gate(x, w, act)
    pair = p.unsqueeze(-1) * p.unsqueeze(-2) * torch.exp(-(h.unsqueeze(-1) - h.unsqueeze(-2)).square() / (2 * tau))
    second = torch.einsum("...n,...nd,...ne->...de", pair.sum(-1), g, g)
    return second - torch.einsum("...nd,...nm,...me->...de", g, pair, g)


def gated_field(
    x: Tensor, act: Activation, tau: float = math.inf, p: Tensor | None = None
) -> Callable[[Tensor], Tensor]:
    """The matrix field w `[run, d]` ↦ A(w) `[run, d, d]` of finite populations, for uniform (τ = ∞) or Gaussian α.

    Gaussian α compares h(wᵀx) at the same w.

    Source: tian-2023, eq. (7), Corollaries 1 and 2.
    Args:
        x: support points, `[run, n, d]` or `[n, d]`.
        act: activation h.
        tau: temperature, > 0.
        p: probabilities, shaped as x without its last axis; by default 1/n each.
    Returns: the function.
    Cost: n·d² flops per filter, and n² exponentials for finite tau.
    """
    weights = x.new_full(x.shape[:-1], 1.0 / x.shape[-2]) if p is None else p

    def field(w: Tensor) -> Tensor:
        if math.isinf(tau):
            return gated_covariance(x, w, act, weights)
        h = act.h(torch.einsum("...nd,...d->...n", x, w))
        return gaussian_gated_covariance(x, w, act, weights, h, tau)

    return field


def project_out(w: Tensor, v: Tensor) -> Tensor:
    """P⊥_w v = v − w (wᵀv) for unit w, one projection per filter.

    Source: tian-2023, Lemmas 3 and 4.
    Args:
        w: unit filters, `[..., d]`.
        v: vectors to project, `[..., d]`.
    Returns: as v.
    """
    return v - w * (w * v).sum(-1, keepdim=True)
