"""Receptive fields that are independent given a global variable z: exact population quantities and the flow they drive.

Shapes: z takes C values; K fields, each of A points of d coordinates; filters w `[..., K, M, d]`, or `[..., K, d]`
if every field has one filter. Leading axes (runs) broadcast.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ...losses.activations import Activation
from ...losses.gated_covariance import project_out

MAX_INPUTS = 2**20  # enumerated inputs, A^K


@dataclass(frozen=True)
class ConditionalFields:
    """P[x | z] = Π_k P[x_k | z], field k at one of A points.

    Source: tian-2023, Assumption 2, eq. (13).
    Args:
        points: `[..., K, A, d]`.
        given: P[x_k = point a | z = c], `[..., C, K, A]`.
        prior: P[z = c], `[..., C]`.
    Raises: ValueError for shapes that do not fit and for probabilities that are negative or do not sum to 1.
    """

    points: Tensor
    given: Tensor
    prior: Tensor

    def __post_init__(self):
        shapes = [tuple(t.shape) for t in (self.points, self.given, self.prior)]
        if self.points.shape[-3:-1] != self.given.shape[-2:] or self.given.shape[-3] != self.prior.shape[-1]:
            raise ValueError(
                f"points, given and prior must be [..., K, A, d], [..., C, K, A] and [..., C], got {shapes}"
            )
        for name in ("given", "prior"):
            p = getattr(self, name)
            if not (p.min() >= 0 and (p.sum(-1) - 1).abs().max() <= 1e-5):
                raise ValueError(
                    f"{name} must be ≥ 0 with sum 1, got least {float(p.min())}, largest sum {float(p.sum(-1).max())}"
                )


def random_fields(
    generators: list[torch.Generator], c: int, k: int, atoms: int, d: int, dtype: torch.dtype = torch.float64
) -> ConditionalFields:
    """Random fields, one per generator: Gaussian points with a common shift, all probabilities drawn and normalised.

    Args:
        generators: random streams, one per run, at least one.
        c: number of values of z, ≥ 2.
        k: number of fields, ≥ 1.
        atoms: points per field, ≥ 2.
        d: coordinates per point, ≥ 1.
        dtype: dtype of the result.
    Returns: fields with the run on the first axis.
    Raises: ValueError for arguments outside these ranges.
    """
    if min(c, atoms) < 2 or min(k, d) < 1 or not generators:
        raise ValueError(
            "c and atoms must be ≥ 2, and k, d and the number of generators ≥ 1, "
            f"got c={c}, atoms={atoms}, k={k}, d={d} and {len(generators)} generators"
        )
    parts = []
    for g in generators:
        options = {"generator": g, "dtype": dtype, "device": g.device}
        points = torch.randn(k, atoms, d, **options) + 0.5 * torch.randn(k, 1, d, **options)
        given, prior = torch.rand(c, k, atoms, **options).square() + 0.01, 0.2 + torch.rand(c, **options)
        parts.append((points, given / given.sum(-1, keepdim=True), prior / prior.sum()))
    return ConditionalFields(*(torch.stack(part) for part in zip(*parts, strict=True)))


def enumerate_inputs(model: ConditionalFields) -> tuple[Tensor, Tensor]:
    """Every input with its probability, P[x] = Σ_c p_c Π_k P[x_k | z = c].

    Returns: x `[..., A^K, K, d]`, p `[..., A^K]`.
    Raises: ValueError for more than 2^20 inputs.
    Cost: A^K·K·(C + d) numbers.
    """
    k, atoms = model.points.shape[-3:-1]
    if atoms**k > MAX_INPUTS:
        raise ValueError(f"A^K must be ≤ {MAX_INPUTS} inputs, got {atoms}^{k}")
    places = torch.cartesian_prod(*[torch.arange(atoms, device=model.points.device)] * k).view(-1, k)
    x = torch.stack([model.points[..., j, places[:, j], :] for j in range(k)], -2)
    given = torch.stack([model.given[..., j, places[:, j]] for j in range(k)], -1)  # [..., C, A^K, K]
    return x, torch.einsum("...c,...cn->...n", model.prior, given.prod(-1))


def conditional_moments(model: ConditionalFields, w: Tensor, act: Activation) -> tuple[Tensor, Tensor]:
    """q_c = E[x̃_k | z = c] and L_k = E_z V[x̃_k | z], separately for each field.

    Source: tian-2023, Lemma 5 and above (126).
    Args:
        model: the fields.
        w: filters `[..., K, M, d]`.
        act: the activation h.
    Returns: q `[..., C, K, M·d]` and L `[..., K, M·d, M·d]`.
    Raises: ValueError if K or d differ between model and w.
    Cost: 2·C·K·A·(Md)² flops.
    """
    if model.points.shape[-3] != w.shape[-3] or model.points.shape[-1] != w.shape[-1]:
        raise ValueError(
            f"K and d of w must be those of the points {tuple(model.points.shape)}, got w {tuple(w.shape)}"
        )
    slopes = act.slope(torch.einsum("...kad,...kmd->...kam", model.points, w))
    gated = (slopes.unsqueeze(-1) * model.points.unsqueeze(-2)).flatten(-2).unsqueeze(-4)  # [..., 1, K, A, Md]
    mean = (model.given.unsqueeze(-1) * gated).sum(-2)
    centred = gated - mean.unsqueeze(-2)
    weight = (model.prior.unsqueeze(-1).unsqueeze(-1) * model.given).sqrt().unsqueeze(-1)
    scaled = (weight * centred).transpose(-4, -3).flatten(-3, -2)  # [..., K, C·A, Md]
    return mean, scaled.mT @ scaled


def contrasts(prior: Tensor, mean: Tensor) -> Tensor:
    """Δ(c) = E[x̃ | z = c] − E[x̃ | z ≠ c].

    Source: tian-2023, eqs. (132), (133).
    Args:
        prior: `[..., C]`.
        mean: E[x̃ | z = c] `[..., C, K, i]`.
    Returns: `[..., C, K, i]`.
    Raises: ValueError if one value of z has all the probability.
    """
    if not prior.max() < 1:
        raise ValueError("prior must be positive for two values of z, got one with probability 1")
    others = prior.unsqueeze(-2) * (1 - torch.eye(prior.shape[-1], dtype=prior.dtype, device=prior.device))
    elsewhere = torch.einsum("...ce,...eki->...cki", others / others.sum(-1, keepdim=True), mean)
    return mean - elsewhere


def decomposed_variance(model: ConditionalFields, w: Tensor, act: Activation, power: int = 2) -> Tensor:
    """V[x̃] = diag_k[L_k] + Σ_c p_c (1 − p_c)² Δ(c)Δ(c)ᵀ, without enumerating the inputs.

    The second term has rank C − 1 at most, as Σ_c p_c (1 − p_c) Δ(c) = 0.
    Source: tian-2023, Lemma 5, eq. (120).
    Args:
        model: the fields.
        w: filters `[..., K, M, d]`.
        act: the activation h.
        power: exponent of 1 − p_c.
    Returns: `[..., KMd, KMd]`.
    Cost: `conditional_moments` and 2·C·(KMd)² flops.
    """
    mean, within = conditional_moments(model, w, act)
    delta, weight = contrasts(model.prior, mean).flatten(-2), model.prior * (1 - model.prior) ** power
    fields = torch.eye(w.shape[-3], dtype=w.dtype, device=w.device)
    blocks = torch.einsum("kl,...kij->...kilj", fields, within).flatten(-4, -3).flatten(-2)
    return blocks + torch.einsum("...c,...ci,...cj->...ij", weight, delta, delta)


def between_variance(model: ConditionalFields, w: Tensor, act: Activation) -> Tensor:
    """V_z[E[x̃ | z]] = Σ_c p_c (q_c − q)(q_c − q)ᵀ = V[x̃] − diag_k[L_k]: C_α[x̃] if a view is redrawn given z.

    It is the large-batch limit for α = 1 if the two views share z and nothing else, as with the token generators.
    Source: tian-2023, Lemma 2 with x_0 = z, Lemma 5.
    Args:
        model: the fields.
        w: filters `[..., K, M, d]`.
        act: the activation h.
    Returns: `[..., KMd, KMd]`.
    Cost: `conditional_moments` and 2·C·(KMd)² flops.
    """
    mean = conditional_moments(model, w, act)[0].flatten(-2)
    centred = mean - torch.einsum("...c,...ci->...i", model.prior, mean).unsqueeze(-2)
    return torch.einsum("...c,...ci,...cj->...ij", model.prior, centred, centred)


@dataclass(frozen=True)
class BinaryMoments:
    """Moments of fields with one filter each and a binary z.

    Source: tian-2023, eqs. (134)–(138); with BatchNorm (175)–(177).
    Args:
        a: A_k = V[x̃_k] `[..., K, d, d]`.
        delta: Δ_k `[..., K, d]`.
        d: d_k = w_kᵀL_kw_k `[..., K]`, with L_k `[..., K, d, d]`.
        b: b_k = w_kᵀΔ_k `[..., K]`.
        weight: p_0 p_1 `[..., 1]`.
    """

    a: Tensor
    delta: Tensor
    d: Tensor
    b: Tensor
    weight: Tensor

    @cached_property
    def gap(self) -> Tensor:
        """λ − d_k `[..., K]` to the top eigenvalue λ of V[f_1] = diag(d) + p_0 p_1 b bᵀ. Raises: as `secular_gap`."""
        return secular_gap(self.d, self.b, self.weight)


def secular_gap(d: Tensor, b: Tensor, weight: Tensor) -> Tensor:
    """λ − d_k for the top eigenvalue λ of diag(d) + weight · b bᵀ, from weight · Σ_k b_k²/(λ − d_k) = 1.

    Bisection on λ − max d keeps all digits of a small gap.
    Source: tian-2023, below eq. (139).
    Args:
        d, b: `[..., K]`.
        weight: `[..., 1]`.
    Returns: `[..., K]`.
    Raises: ValueError if λ = max d, so that (139) divides by zero (the field with the largest d_k has b_k = 0, and the
        others say too little about z).
    Cost: 200·K flops per run.
    """
    behind, pull = d.amax(-1, keepdim=True) - d, weight * b.square()
    low = torch.zeros_like(d[..., :1])
    high = pull.sum(-1, keepdim=True) * (1 + 1e-6)
    for _ in range(100):
        middle = (low + high) / 2
        below = (pull / (middle + behind)).sum(-1, keepdim=True) > 1
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    if not (low > 0).all():
        raise ValueError("b_k must be ≠ 0 where d_k is largest, got λ = max d_k, for which (139) divides by zero")
    return (low + high) / 2 + behind


def binary_moments(model: ConditionalFields, w: Tensor, act: Activation, batch_norm: bool = False) -> BinaryMoments:
    """The moments of Theorem 5, or with BatchNorm those of Corollary 3: A_k/σ_k², L_k/σ_k², Δ_k/σ_k, σ_k² = V[f_k].

    With two values of z, A_k = L_k + p_0 p_1 Δ_kΔ_kᵀ.

    Args:
        model: fields with C = 2.
        w: filters `[..., K, d]`.
        act: the activation h.
        batch_norm: whether outputs pass through BatchNorm.
    Raises: ValueError for C ≠ 2 and, with BatchNorm, σ_k = 0.
    Cost: 4·K·A·d² flops.
    """
    if model.prior.shape[-1] != 2:
        raise ValueError(f"C must be 2, got {model.prior.shape[-1]} values of z")
    mean, within = conditional_moments(model, w.unsqueeze(-2), act)
    delta, weight = mean[..., 1, :, :] - mean[..., 0, :, :], model.prior.prod(-1, keepdim=True)
    a = within + (weight.unsqueeze(-1) * delta).unsqueeze(-1) * delta.unsqueeze(-2)
    if batch_norm:
        variance = torch.einsum("...ki,...kij,...kj->...k", w, a, w).unsqueeze(-1) / act.degree**2
        if not (variance > 0).all():
            raise ValueError("σ_k must be > 0 for BatchNorm, got σ_k = 0: a filter with a constant output")
        a, within = a / variance.unsqueeze(-1), within / variance.unsqueeze(-1)
        delta = delta / variance.sqrt()
    d, b = torch.einsum("...ki,...kij,...kj->...k", w, within, w), (w * delta).sum(-1)
    return BinaryMoments(a, delta, d, b, weight)


def strength(m: BinaryMoments) -> Tensor:
    """δ_k = p_0p_1 / (Z²(λ − d_k)) · Σ_{k'≠k} b_k'²/(λ − d_k') ≥ 0, Z² = Σ_k (b_k/(λ − d_k))².

    Source: tian-2023, eq. (143); with BatchNorm (179). Returns: `[..., K]`.
    """
    share = m.b.square() / m.gap
    return m.weight * (share.sum(-1, keepdim=True) - share) / (_norm2(m) * m.gap)


def printed_strength(m: BinaryMoments) -> Tensor:
    """The second form as printed, 1 − p_0p_1 b_k²/(λ − d_k). Source: tian-2023, below eq. (143)."""
    return 1 - m.weight * m.b.square() / m.gap


def mended_strength(m: BinaryMoments) -> Tensor:
    """The second form with its factor, (1 − p_0p_1 b_k²/(λ − d_k)) / (Z²(λ − d_k)). Source: eq. (143), rewritten."""
    return printed_strength(m) / (_norm2(m) * m.gap)


def _norm2(m: BinaryMoments) -> Tensor:
    return (m.b / m.gap).square().sum(-1, keepdim=True)


def modulated_velocity(
    model: ConditionalFields,
    w: Tensor,
    act: Activation,
    *,
    batch_norm: bool = False,
    projected: bool = True,
    modulation: Callable[[BinaryMoments], Tensor] = strength,
) -> Tensor:
    """One filter per field, fast top layer:  ẇ_k = P⊥ (s_k² A_k + δ_k Δ_k Δ_kᵀ) w_k / p,  s_k = b_k/(Z(λ − d_k)).

    Source: tian-2023, Theorem 5, eqs. (15), (139), where the degree p is 1; with BatchNorm that does not back-propagate
        its variance Corollary 3, eq. (178), printed without P⊥.
    Args:
        model: fields with C = 2.
        w: filters `[..., K, d]`, unit where projected.
        act: the activation h, of degree p.
        batch_norm: whether outputs pass through BatchNorm.
        projected: whether to apply P⊥.
        modulation: the form of δ_k, by default `strength`.
    Returns: `[..., K, d]`.
    Raises: as `binary_moments` and `secular_gap`.
    Cost: that of `binary_moments` and `secular_gap` together.
    """
    m = binary_moments(model, w, act, batch_norm)
    s2 = (m.b / m.gap).square() / _norm2(m)
    g = s2.unsqueeze(-1) * torch.einsum("...kij,...kj->...ki", m.a, w)
    g = (g + (modulation(m) * m.b).unsqueeze(-1) * m.delta) / act.degree
    return project_out(w, g) if projected else g
