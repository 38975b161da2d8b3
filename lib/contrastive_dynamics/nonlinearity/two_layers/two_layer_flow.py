"""The flow of both layers of a two-layer network with disjoint receptive fields, on a batch of views with any α.

Shapes: N samples, K receptive fields of d coordinates, M filters each; first and second views x, x_view
`[..., N, K, d]`, filters w `[..., K, M, d]`, top layer v `[..., outputs, K·M]`, importance α `[..., N, N]`.
"""

import torch
from torch import Tensor

from ...losses.activations import Activation
from ...losses.contrastive_covariance import Importance, contrastive_covariance
from ...losses.gated_covariance import project_out
from .two_layer import hidden_outputs


def hidden_layer(x: Tensor, w: Tensor, act: Activation) -> tuple[Tensor, Tensor]:
    """Gated inputs x̃_km = x_k h'(w_kmᵀx_k) and outputs f_km = h(w_kmᵀx_k).

    f = wᵀx̃/p with p the degree of h.

    Source: tian-2023, eqs. (6), (109).
    Args:
        x: inputs `[..., N, K, d]`.
        w: filters `[..., K, M, d]`.
        act: the activation h.
    Returns: x̃ `[..., N, K, M, d]` and f `[..., N, K·M]`.
    Raises: ValueError if the fields or their sizes differ between x and w.
    Cost: 4·N·K·M·d flops.
    """
    if x.shape[-2] != w.shape[-3] or x.shape[-1] != w.shape[-1]:
        raise ValueError(
            f"x and w must be [..., N, K, d] and [..., K, M, d], got {tuple(x.shape)} and {tuple(w.shape)}"
        )
    gated, f = hidden_outputs(x, w, act)
    return gated, f.flatten(-2) / act.degree


def field_gram(v: Tensor, w: Tensor) -> Tensor:
    """S = VᵀV with one axis for the field and one for the filter.

    Source: tian-2023, Section 4.
    Args:
        v: top layer `[..., outputs, K·M]`.
        w: filters `[..., K, M, d]`.
    Returns: `[..., K, M, K, M]`.
    Raises: ValueError if v does not have K·M columns.
    Cost: 2·outputs·(KM)² flops.
    """
    fields, filters = w.shape[-3:-1]
    if v.shape[-1] != fields * filters:
        raise ValueError(f"v must have K·M = {fields * filters} columns, got {v.shape[-1]}")
    return (v.mT @ v).unflatten(-1, (fields, filters)).unflatten(-3, (fields, filters))


def hadamard_gradient(
    gated: Tensor, gated_view: Tensor, w: Tensor, gram: Tensor, alpha: Importance, degree: int = 1
) -> Tensor:
    """Gradient of the energy in the filters before P⊥:  g = [(S ⊗ 1_d 1_dᵀ) ∘ C_α[x̃]] w / p.

    Source: tian-2023, eq. (12), where p = 1.
    Args:
        gated, gated_view: x̃ of the first and second views, `[..., N, K, M, d]`.
        w: filters `[..., K, M, d]`.
        gram: S `[..., K, M, K, M]`.
        alpha: importance, held constant.
        degree: p, the degree of h.
    Returns: `[..., K, M, d]`.
    Cost: 4·N²·KMd + 4·N·(KMd)² flops, (KMd)² numbers.
    """
    c = contrastive_covariance(gated.flatten(-3), gated_view.flatten(-3), alpha)
    c = c.unflatten(-1, w.shape[-3:]).unflatten(-4, w.shape[-3:])
    return torch.einsum("...kmln,...kmdlne,...lne->...kmd", gram, c, w) / degree


def two_layer_velocity(
    x: Tensor, x_view: Tensor, w: Tensor, v: Tensor, act: Activation, alpha: Importance, *, projected: bool = True
) -> tuple[Tensor, Tensor]:
    """Gradient flow of both layers up E_α = ½ tr C_α[V f_1]:  V̇ = V C_α[f_1],  ẇ = P⊥_w [(S ⊗ 11ᵀ) ∘ C_α[x̃]] w / p.

    P⊥_w is block-diagonal, with one projection per filter.

    Source: tian-2023, Lemma 4, eq. (12), where the degree p is 1.
    Args:
        x, x_view: first and second views, `[..., N, K, d]`.
        w: unit filters `[..., K, M, d]`.
        v: top layer `[..., outputs, K·M]`.
        act: the activation h, of degree p.
        alpha: importance, held constant.
        projected: False leaves P⊥ out.
    Returns: V̇ `[..., outputs, K·M]`, ẇ `[..., K, M, d]`.
    Raises: ValueError for shapes that do not fit.
    Cost: as `hadamard_gradient`.
    """
    (gated, f), (gated_view, f_view) = hidden_layer(x, w, act), hidden_layer(x_view, w, act)
    g = hadamard_gradient(gated, gated_view, w, field_gram(v, w), alpha, act.degree)
    top = v @ contrastive_covariance(f, f_view, alpha)
    return top, project_out(w, g) if projected else g


def top_layer_after(v: Tensor, c: Tensor, time: float) -> Tensor:
    """The top layer of unit norm after a time at fixed filters: V(t) = V(0) e^{tC/λ} / ‖V(0) e^{tC/λ}‖, C = C_α[f_1].

    λ, the eigenvalue of C that is largest in absolute value, sets the clock. V ends at u sᵀ, ‖u‖ = 1, with s the
    eigenvector of the largest eigenvalue in which V(0) has a component.

    Source: tian-2023, V̇ of eq. (12) and the paragraph below it.
    Args:
        v: V(0) `[..., outputs, n]`.
        c: C `[..., n, n]`, symmetric.
        time: t ≥ 0.
    Returns: `[..., outputs, n]`.
    Raises: ValueError unless time ≥ 0.
    Cost: about 60·n³ flops.
    """
    if not time >= 0:
        raise ValueError(f"time must be ≥ 0, got {time}")
    scaled = c / torch.linalg.matrix_norm(c, 2, keepdim=True)
    grown = v @ torch.linalg.matrix_exp(time * (scaled - torch.eye(c.shape[-1], dtype=c.dtype, device=c.device)))
    return grown / torch.linalg.matrix_norm(grown, keepdim=True)
