"""The contrastive covariance C_α[a, b] of a batch, its energy, and the one-layer gradient flow that it drives."""

from collections.abc import Callable

import torch
from torch import Tensor

from .activations import Activation
from .gated_covariance import gate, project_out

Importance = Tensor | Callable[[slice], Tensor]
CPU_BLOCK, GPU_BLOCK = 64, 4096  # rows at a time if α is a function: few enough for a CPU's cache, enough to fill a GPU


def _views(a: Tensor, a_view: Tensor, b: Tensor | None, b_view: Tensor | None) -> tuple[Tensor, ...]:
    """Centred first views and view differences of a and b; the means do not affect C_α, only its rounding."""
    if (b is None) != (b_view is None):
        raise ValueError("b and b_view must be given together, got only one of them")
    b, b_view = (a, a_view) if b is None else (b, b_view)
    if a.shape != a_view.shape or b.shape != b_view.shape or a.shape[:-1] != b.shape[:-1]:
        shapes = ", ".join(str(tuple(t.shape)) for t in (a, a_view, b, b_view))
        raise ValueError(f"a and a_view must be [..., N, d], b and b_view [..., N, e], got {shapes}")
    return a - a.mean(-2, keepdim=True), a - a_view, b - b.mean(-2, keepdim=True), b - b_view


def uniform_contrastive_covariance(
    a: Tensor, a_view: Tensor, *, b: Tensor | None = None, b_view: Tensor | None = None
) -> Tensor:
    """C_α[a, b] for α_ij = 1, linear in N: the batch covariance minus half the mean product of view differences.

    C = (1/N) Σ_i (a_i − ā)(b_i − b̄)ᵀ − (1/2N) Σ_i (a_i − a_i')(b_i − b_i')ᵀ.

    Source: tian-2023, eq. (3).
    Args:
        a, a_view: first and second views, `[..., N, d]`.
        b, b_view: first and second views, `[..., N, e]`; by default a and a_view.
    Returns: `[..., d, e]`.
    Raises: ValueError for shapes that do not match.
    Cost: 4·N·d·e flops.
    """
    a, da, b, db = _views(a, a_view, b, b_view)
    return (a.mT @ b - da.mT @ db / 2) / a.shape[-2]


def contrastive_covariance(
    a: Tensor,
    a_view: Tensor,
    alpha: Importance,
    *,
    b: Tensor | None = None,
    b_view: Tensor | None = None,
    block: int | None = None,
) -> Tensor:
    """Contrastive covariance C_α[a, b] = 1/(2N²) Σ_ij α_ij [(a_i − a_j)(b_i − b_j)ᵀ − (a_i − a_i')(b_i − b_i')ᵀ].

    With r and c the row and column sums of α (which need not be symmetric), one block of rows at a time:
    2N² C = aᵀ(D_r + D_c)b − aᵀ(α + αᵀ)b − (a − a')ᵀD_r(b − b').

    Source: tian-2023, eq. (3); i = j is included, so α_ii weights the view difference of i.
    Args:
        a, a_view: first and second views, `[..., N, d]`.
        alpha: `[..., N, N]`, or a function from a slice of rows to α `[..., rows, N]`, such as
            `lambda rows: infonce_importance(f, f_view, tau, eps, rows)`.
        b, b_view: first and second views, `[..., N, e]`; by default a and a_view.
        block: rows at a time, ≥ 1; by default all for a tensor, and for a function 64, or 4096 on a GPU.
    Returns: `[..., d, e]`.
    Raises: ValueError for shapes that do not fit or block < 1.
    Cost: 2·N²·(d + e) flops; memory for block·N numbers, never N²·d or N·d·e (a gradient through it keeps α, N²).
    """
    a, da, b, db = _views(a, a_view, b, b_view)
    n = a.shape[-2]
    rows_of = alpha if callable(alpha) else lambda rows: alpha[..., rows, :]
    if not callable(alpha) and alpha.shape[-2:] != (n, n):
        raise ValueError(f"alpha must be [..., {n}, {n}], got {tuple(alpha.shape)}")
    if block is None:
        block = n if not callable(alpha) else GPU_BLOCK if a.is_cuda else CPU_BLOCK
    if block < 1:
        raise ValueError(f"block must be ≥ 1, got {block}")
    ab = torch.cat([a, b], -1) if a is not b else a
    total, columns = 0, 0
    for start in range(0, n, block):
        rows = slice(start, min(start + block, n))
        part = rows_of(rows)
        sums = part.sum(-1, keepdim=True)
        columns = columns + part.sum(-2)
        averaged = part @ ab  # both αa and αb in one pass over α
        alpha_a, alpha_b = averaged[..., : a.shape[-1]], averaged[..., -b.shape[-1] :]
        mine, yours = a[..., rows, :], b[..., rows, :]
        total = total + (mine * sums - alpha_a).mT @ yours - mine.mT @ alpha_b
        total = total - (da[..., rows, :] * sums).mT @ db[..., rows, :]
    return (total + (a * columns[..., None]).mT @ b) / (2 * n * n)


def kernel_contrastive_covariance(a: Tensor, a_view: Tensor, phi: Tensor) -> Tensor:
    """C_α[a] for α_ij = φ_iᵀφ_j, linear in N; rows φ_i are the features of sample i.

    With r = φ(φᵀ1) the row sums: N² C = aᵀD_r a − (φᵀa)ᵀ(φᵀa) − ½ (a − a')ᵀD_r(a − a').

    Source: tian-2023, Definition 1 and eq. (3).
    Args:
        a, a_view: first and second views, `[..., N, d]`.
        phi: features, `[..., N, L]`, such as `gaussian_features`; ones `[..., N, 1]` for uniform α.
    Returns: `[..., d, d]`.
    Raises: ValueError for shapes that do not match.
    Cost: 2·N·d·(L + 2d) flops, N·L numbers.
    """
    if phi.shape[:-1] != a.shape[:-1]:
        raise ValueError(f"phi must be [..., N, L] like a {tuple(a.shape)}, got {tuple(phi.shape)}")
    a, da, _, _ = _views(a, a_view, None, None)
    sums, mixed = phi @ phi.sum(-2).unsqueeze(-1), phi.mT @ a
    within = (da * sums).mT @ da / 2
    return ((a * sums).mT @ a - mixed.mT @ mixed - within) / a.shape[-2] ** 2


def contrastive_energy(f: Tensor, f_view: Tensor, alpha: Importance, block: int | None = None) -> Tensor:
    """Energy E_α = ½ tr C_α[f, f], which contrastive learning ascends with α held constant.

    Source: tian-2023, eq. (2). For the stop-gradient pass a detached α (the default of `pairwise_importance`).
    Args:
        f, f_view: first and second views, `[..., N, d]`.
        alpha: as in `contrastive_covariance`.
        block: as in `contrastive_covariance`.
    Returns: `[...]`.
    Cost: as `contrastive_covariance`.
    """
    covariance = contrastive_covariance(f, f_view, alpha, block=block)
    return covariance.diagonal(dim1=-2, dim2=-1).sum(-1) / 2


def gated_contrastive_covariance(
    x: Tensor, x_view: Tensor, w: Tensor, act: Activation, alpha: Importance, block: int | None = None
) -> Tensor:
    """A(w) = C_α[x̃^w] of a batch of view pairs, x̃^w = x h'(wᵀx).

    Source: tian-2023, eqs. (6), (7).
    Args:
        x, x_view: first and second views, `[..., N, d]`.
        w: filters, `[..., d]`; leading axes broadcast.
        act: activation h.
        alpha: as in `contrastive_covariance`.
        block: as in `contrastive_covariance`.
    Returns: `[..., d, d]`.
    Cost: 4·N²·d flops per filter.
    """
    return contrastive_covariance(gate(x, w, act), gate(x_view, w, act), alpha, block=block)


def one_layer_velocity(
    x: Tensor,
    x_view: Tensor,
    w: Tensor,
    act: Activation,
    alpha: Importance,
    *,
    projected: bool = True,
    degree: int | None = None,
) -> Tensor:
    """Gradient flow of a unit filter under ½ C_α[h(wᵀx)], ẇ = P⊥_w A(w) w / p with p the degree of h.

    Source: tian-2023, eq. (7), stated there for p = 1; the factor 1/p comes from h'(x)x = p h(x) for x^p.
    Args:
        x, x_view: first and second views, `[..., N, d]`.
        w: unit filters, `[..., d]`.
        act: activation h.
        alpha: as in `contrastive_covariance`, held constant.
        projected: False leaves out P⊥.
        degree: p; by default the degree of act; 1 gives the printed form.
    Returns: `[..., d]`.
    Cost: as `gated_contrastive_covariance`.
    """
    covariance = gated_contrastive_covariance(x, x_view, w, act, alpha)
    pull = torch.einsum("...de,...e->...d", covariance, w) / (act.degree if degree is None else degree)
    return project_out(w, pull) if projected else pull
