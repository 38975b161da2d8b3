"""The lower-layer gradient of a two-layer network with disjoint receptive fields, under a fixed or a fast top layer.

Shapes: K receptive fields, M filters each, inputs x_k of d coordinates; filters w `[..., K, M, d]`,
second-layer Gram S = VᵀV `[..., K, M, K, M]`, inputs x `[..., n, K, d]` with probabilities p `[..., n]`.
"""

import torch
from torch import Tensor

from ...losses.activations import Activation
from ...losses.gated_covariance import project_out


def field_covariances(x: Tensor, p: Tensor | None = None) -> Tensor:
    """All covariances C[x_k, x_k'] of a finite population (uniform α, no augmentation).

    Source: tian-2023, Corollary 1.
    Args:
        x: inputs `[..., n, K, d]`.
        p: probabilities `[..., n]`, 1/n each by default.
    Returns: `[..., K, d, K, d]`.
    Cost: 2·n·(Kd)² flops.
    """
    p = x.new_full(x.shape[:-2], 1 / x.shape[-3]) if p is None else p
    centred = x - torch.einsum("...n,...nkd->...kd", p, x).unsqueeze(-3)
    return torch.einsum("...n,...nkd,...nle->...kdle", p, centred, centred)


def rank_one_gram(s: Tensor) -> Tensor:
    """S = s sᵀ of a converged top layer: s `[..., K, M]` to `[..., K, M, K, M]`. Source: tian-2023, below Lemma 4."""
    return torch.einsum("...km,...ln->...kmln", s, s)


def linear_gradient(w: Tensor, gram: Tensor, covariances: Tensor) -> Tensor:
    """Gradient of E = ½ tr C[V f] with linear filters, before P⊥:  g_km = Σ S_km,k'm' C[x_k, x_k'] w_k'm'.

    For S = s sᵀ it is s_km b_k (eq. 14).

    Source: tian-2023, eq. (12), (158)–(159).
    Args:
        w: filters `[..., K, M, d]`.
        gram: S `[..., K, M, K, M]`.
        covariances: C `[..., K, d, K, d]`.
    Returns: `[..., K, M, d]`.
    Cost: 2·(KM)²·d + 2·K²·M·d² flops.
    """
    return torch.einsum("...kmln,...kdle,...lne->...kmd", gram, covariances, w)


def hidden_outputs(x: Tensor, w: Tensor, act: Activation) -> tuple[Tensor, Tensor]:
    """Gated inputs x̃_km and outputs f_km = w_kmᵀ x̃_km.

    Source: tian-2023, eq. (6).
    Args:
        x: inputs `[..., n, K, d]`.
        w: filters `[..., K, M, d]`.
        act: the activation h.
    Returns: x̃ `[..., n, K, M, d]` and f `[..., n, K, M]`.
    Cost: n·K·M·d numbers.
    """
    slopes = act.slope(torch.einsum("...nkd,...kmd->...nkm", x, w))
    gated = slopes.unsqueeze(-1) * x.unsqueeze(-2)
    return gated, torch.einsum("...nkmd,...kmd->...nkm", gated, w)


def gradient(x: Tensor, w: Tensor, gram: Tensor, act: Activation, p: Tensor | None = None) -> Tensor:
    """Gradient of the two-layer energy for any homogeneous activation, before P⊥:  g_km = C[x̃_km, Σ S f].

    Source: tian-2023, eq. (12), without forming the KMd × KMd matrix.
    Args:
        x: inputs `[..., n, K, d]`.
        w: filters `[..., K, M, d]`.
        gram: S `[..., K, M, K, M]`.
        act: the activation h.
        p: probabilities `[..., n]`, 1/n each by default.
    Returns: `[..., K, M, d]`.
    Cost: 2·n·(KM)² + 4·n·K·M·d flops; n·K·M·d numbers.
    """
    p = x.new_full(x.shape[:-2], 1 / x.shape[-3]) if p is None else p
    gated, f = hidden_outputs(x, w, act)
    centred = f - torch.einsum("...n,...nkm->...km", p, f).unsqueeze(-3)
    feedback = torch.einsum("...kmln,...iln->...ikm", gram, centred)
    return torch.einsum("...n,...nkmd,...nkm->...kmd", p, gated, feedback)


def top_direction(x: Tensor, w: Tensor, act: Activation, p: Tensor | None = None) -> Tensor:
    """The converged top layer: s, the top eigenvector of C[f_1], with unit norm and Σ s ≥ 0.

    Source: tian-2023, below Lemma 4 and Assumption 2 (fast top layer).
    Args:
        x: inputs `[..., n, K, d]`.
        w: filters `[..., K, M, d]`.
        act: the activation h.
        p: probabilities `[..., n]`, 1/n each by default.
    Returns: `[..., K, M]`.
    Cost: 2·n·(KM)² + 9·(KM)³ flops.
    """
    p = x.new_full(x.shape[:-2], 1 / x.shape[-3]) if p is None else p
    f = hidden_outputs(x, w, act)[1].flatten(-2)
    centred = f - torch.einsum("...n,...ni->...i", p, f).unsqueeze(-2)
    s = torch.linalg.eigh(torch.einsum("...n,...ni,...nj->...ij", p, centred, centred))[1][..., -1]
    s = torch.where(s.sum(-1, keepdim=True) < 0, -s, s)
    return s.reshape(w.shape[:-1])


def colinearity(g: Tensor) -> Tensor:
    """σ2/σ1 of each field's M×d gradients: 0 when all filters of the field move along one line.

    Source: tian-2023, Theorem 4 (1).
    Args:
        g: gradients `[..., K, M, d]`, M, d ≥ 2.
    Returns: `[..., K]` in [0, 1].
    Raises: ValueError for M = 1 or d = 1, where there is nothing to compare.
    Cost: about 4·K·M·d·min(M, d) flops.
    """
    if min(g.shape[-2:]) < 2:
        raise ValueError(f"M and d of g must be ≥ 2, got M={g.shape[-2]} and d={g.shape[-1]}")
    sigma = torch.linalg.svdvals(g)
    return sigma[..., 1] / sigma[..., 0]


def filter_spread(w: Tensor) -> Tensor:
    """Largest 1 − |cos| between two filters of one field; 0 when w_km = ±w_k.

    1 − |cos| = min ‖w_km ∓ w_km'‖²/2 for unit filters, which keeps its digits near 0.

    Args:
        w: filters `[..., K, M, d]`.
    Returns: `[...]`.
    Cost: 2·K·M²·d flops.
    """
    unit = torch.nn.functional.normalize(w, dim=-1)
    plus = (unit.unsqueeze(-2) - unit.unsqueeze(-3)).square().sum(-1) / 2
    minus = (unit.unsqueeze(-2) + unit.unsqueeze(-3)).square().sum(-1) / 2
    return torch.minimum(plus, minus).flatten(-3).amax(-1)


def train_unit_filters(
    x: Tensor, w: Tensor, act: Activation, steps: int, rate: float = 5.0, p: Tensor | None = None
) -> Tensor:
    """Projected gradient ascent of unit filters under a fast top layer, w ← normalise(w + rate · P⊥ g / λ).

    Dividing by λ = Σ wᵀg, the top eigenvalue of C[f_1], makes one rate serve any scale of the data.

    Source: tian-2023, eq. (12) with Assumption 2.
    Args:
        x: inputs `[..., n, K, d]`.
        w: unit filters `[..., K, M, d]`.
        act: the activation h.
        steps: number of steps.
        rate: > 0.
        p: probabilities `[..., n]`, 1/n each by default.
    Returns: w after `steps`.
    Cost: steps × (`gradient` + `top_direction`).
    """
    p = x.new_full(x.shape[:-2], 1 / x.shape[-3]) if p is None else p
    for _ in range(steps):
        g = gradient(x, w, rank_one_gram(top_direction(x, w, act, p)), act, p)
        top = (g * w).sum((-3, -2, -1), keepdim=True)
        w = torch.nn.functional.normalize(w + rate * project_out(w, g) / top, dim=-1)
    return w


def critical_filters(s: Tensor, covariances: Tensor, generator: torch.Generator) -> Tensor:
    """Random filters W with b_k = 0 for all k, so that (14) vanishes at fixed s: a critical point of Theorem 4 (2).

    Draws W, then moves it orthogonally onto {W : C v = 0}, v_k = Σ_m s_km w_km. For positive definite C this is v = 0.

    Args:
        s: top layer `[K, M]` with a nonzero entry in every field.
        covariances: C `[K, d, K, d]`.
        generator: source of the random W.
    Returns: `[K, M, d]`.
    Raises: ValueError if s is zero throughout a field.
    Cost: 9·(Kd)³ flops.
    """
    weight = s.square().sum(-1)
    if weight.min() == 0:
        raise ValueError("s must have a nonzero entry in every field, got one with s_km = 0 for all m")
    k, d, _, _ = covariances.shape
    w = torch.randn(*s.shape, d, dtype=s.dtype, device=s.device, generator=generator)
    eigenvalues, vectors = torch.linalg.eigh(covariances.reshape(k * d, k * d))
    data = vectors[:, eigenvalues > 1e-10 * eigenvalues[-1]]
    v = torch.einsum("km,kmd->kd", s, w)
    wanted = v.flatten() - data @ (data.mT @ v.flatten())
    return w + torch.einsum("km,kd->kmd", s / weight.unsqueeze(-1), wanted.reshape(k, d) - v)


def swap_path(w: Tensor, share: float | Tensor, s: Tensor | None = None) -> Tensor:
    """Printed path: W^c = c W* + (1 − c) W'*, where W'* exchanges the first two filters of each field.

    At c = ½ the two are identical.

    Source: tian-2023, eq. (163).
    Args:
        w: W* `[..., K, M, d]`.
        share: c, 0 to 1.
        s: unused.
    """
    swapped = torch.cat([w[..., 1:2, :], w[..., 0:1, :], w[..., 2:, :]], -2)
    return share * w + (1 - share) * swapped


def mean_path(w: Tensor, share: float | Tensor, s: Tensor) -> Tensor:
    """Mended path: straight from W* (share 1) to identical filters Σ_m s_km w_km / Σ_m s_km (share 0).

    It leaves v_k = Σ_m s_km w_km, and hence b_k, unchanged.

    Args:
        w: W* `[..., K, M, d]`.
        share: 0 to 1.
        s: top layer `[..., K, M]`, Σ_m s_km ≠ 0.
    """
    common = torch.einsum("...km,...kmd->...kd", s, w) / s.sum(-1, keepdim=True)
    return share * w + (1 - share) * common.unsqueeze(-2)


def path_gradient(path, w: Tensor, s: Tensor, covariances: Tensor, points: int = 21) -> Tensor:
    """Largest gradient norm (14) along a path of filters, relative to the bound ‖C‖₂ ‖W‖ ‖s‖².

    Args:
        path: (w, share, s) -> filters, such as `swap_path`.
        w: filters `[K, M, d]`.
        s: top layer `[K, M]`.
        covariances: C `[K, d, K, d]`.
        points: number of shares, evenly spaced on [0, 1].
    Returns: a scalar; 0 when every point of the path is critical at fixed s.
    """
    gram, size = rank_one_gram(s), w.shape[-3] * w.shape[-1]
    scale = torch.linalg.matrix_norm(covariances.reshape(size, size), 2) * w.norm() * s.square().sum()
    shares = torch.linspace(0, 1, points, dtype=w.dtype, device=w.device)
    norms = [linear_gradient(path(w, c, s), gram, covariances).norm() for c in shares]
    return torch.stack(norms).max() / scale
