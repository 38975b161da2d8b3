"""What a positive pair shares: second moments of the views of x = M z + ξ, exact over latents, noise and masks.

Shapes: the dictionary M `[run, d1, d]`, moments `[run, d1, d1]`, directions v `[run, d1, k]`, masks
`[run, count, d1]`. S = E[x xᵀ] = p MMᵀ + σ_ξ² I.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from .sparse_coding import SparseCoding, check_views

_MOST_DIM, _MOST_ATOMS = 5, 3  # the largest d1 and d for an enumeration


def cross_moment(model: SparseCoding, views: str = "masked") -> Tensor:
    """C = E[x⁺ x⁺⁺ᵀ] `[run, d1, d1]`, symmetric, the same at every mask rate.

    masked: S - diag S = p (MMᵀ - diag MMᵀ), since E[D_i (1 - D_k)] = ρ(1 - ρ) for i ≠ k and D_i (1 - D_i) = 0: the
    noise vanishes. independent and plain: S, since E[D_i D'_k] = ρ² for all i, k: independent masks decouple nothing.
    For |M_ij| = 1/√d1 the masked one has eigenvalues p(1 - d/d1) on span(M) and -p d/d1 on its complement. Near the
    start, where b = 0 and ℓ = 1/(N + 1), the population gradient is ∂L/∂w = -N/(N + 1) C w.
    Source: wen-li-2021, Lemmas C.2, F.1, for ρ = 1/2.
    Args:
        model: M, p and σ_ξ.
        views: one of VIEWS.
    Raises: ValueError for other views.
    Cost: 2·d1²·d flops, d1² entries per run.
    """
    check_views("cross_moment", views)
    moment = model.active * model.dictionary @ model.dictionary.mT
    if views == "masked":
        return moment - torch.diag_embed(moment.diagonal(dim1=-2, dim2=-1))
    return moment + model.noise**2 * torch.eye(moment.shape[-1], dtype=model.dtype, device=model.device)


def second_moment(model: SparseCoding, views: str = "masked", rate: float = 0.5) -> Tensor:
    """E[x⁺ x⁺ᵀ] = S + (1/ρ - 1) diag S `[run, d1, d1]`; S for plain views.

    A masked x⁺⁺ has the moment at the rate 1 - ρ, an independent one that of x⁺.
    Source: wen-li-2021, Definition 2.3.
    Args:
        model: M, p and σ_ξ.
        views: one of VIEWS.
        rate: ρ in (0, 1).
    Raises: ValueError for other views, or a rate outside (0, 1).
    Cost: as `cross_moment`.
    """
    check_views("second_moment", views, rate)
    moment = cross_moment(model, "plain")
    added = 0.0 if views == "plain" else 1 / rate - 1
    return moment + added * torch.diag_embed(moment.diagonal(dim1=-2, dim2=-1))


def growth_rates(model: SparseCoding, directions: Tensor, views: str = "masked") -> Tensor:
    """vᵀ C v `[run, k]` of unit directions: the covariance of ⟨v, x⁺⟩ and ⟨v, x⁺⁺⟩, and the rate at which w grows.

    At |M_ij| = 1/√d1, v = M_j has p(1 - d/d1) if masked and p + σ_ξ² otherwise; v = M⊥_j has -p d/d1 and σ_ξ². Near the
    start w grows along an eigenvector v by a factor 1 + η vᵀCv N/(N + 1) per step.
    Source: wen-li-2021, Lemmas C.2 (masked: up to Õ(1/√d1) for M⊥_j) and F.1 (plain).
    Args:
        model: M, p and σ_ξ.
        directions: v, `[run, d1, k]`.
        views: one of VIEWS.
    Raises: ValueError for other views.
    Cost: 2·d1·d·k flops per run; no d1×d1 matrix.
    """
    check_views("growth_rates", views)
    shared, own = _forms(model, directions)
    if views == "masked":
        return model.active * (shared - own)
    return model.active * shared + model.noise**2 * directions.square().sum(-2)


def linear_share(
    atoms: int,
    dim: int,
    rate_sparse: float | Tensor,
    rate_dense: float | Tensor,
    time: Tensor,
    learning_rate: float | None = None,
) -> Tensor:
    """d a²/(d a² + (d1 - d) b²): the share of ‖w‖² in span(M) when w starts isotropic and grows linearly.

    a, b = e^{rate·time}; with a learning rate η, a, b = (1 + η rate)^time, time in steps. The rates are those of
    `growth_rates` times N/(N + 1), less λ. It is the ratio of the means of both parts of ‖w‖².
    Source: wen-li-2021, Theorem C.1.
    Args:
        atoms: d, 1 to d1.
        dim: d1.
        rate_sparse, rate_dense: rates on span(M) and on its complement; broadcast with time.
        time: real.
        learning_rate: η, or None for continuous time.
    Returns: the broadcast shape, in time's dtype.
    Raises: ValueError unless 1 ≤ d ≤ d1.
    Error: one neuron's share varies around it, by √(2/d) relative at the start.
    """
    if not 1 <= atoms <= dim:
        raise ValueError(f"d must be 1 to d1 = {dim}, got {atoms}")
    log_a, log_b = (_log_growth(r, time, learning_rate) for r in (rate_sparse, rate_dense))
    return 1 / (1 + (dim - atoms) / atoms * (2 * time * (log_b - log_a)).exp())


def random_masks(
    count: int, dim: int, generators: list[torch.Generator], rate: float = 0.5, dtype: torch.dtype = torch.float64
) -> Tensor:
    """Diagonals of D, independent Bernoulli(ρ), 0 or 1: `[run, count, d1]`.

    Source: wen-li-2021, Definition 2.3.
    Args:
        count: masks per run.
        dim: d1.
        generators: one per run.
        rate: ρ in (0, 1).
        dtype: of the result.
    Raises: ValueError for a rate outside (0, 1).
    Cost: one uniform draw per entry.
    """
    check_views("random_masks", rate=rate)
    drawn = [torch.rand(count, dim, generator=g, dtype=dtype, device=g.device) for g in generators]
    return (torch.stack(drawn) < rate).to(dtype)


def mask_overlap(left: Tensor, dictionary: Tensor, masks: Tensor) -> Tensor:
    """max |⟨l_j, (2D - I) M_k⟩| over j, k and the masks, `[run]`: how much a mask mixes atoms into directions l_j.

    The inner product has mean 0 and variance Σ_i l_ij² M_ik² over masks at rate 1/2: 1/d1 for |M_ik| = 1/√d1 and any
    unit l. If l is spread out, it is nearly Gaussian, and the largest of n is a little below √(2 log(2n)/d1); if l is
    near a coordinate, it is near ±1/√d1, and so is the largest.
    Source: wen-li-2021, Lemma B.3: 1. with l = M, 2. with l = `complement(M, generators)`.
    Args:
        left: l, `[run, d1, k]`.
        dictionary: M, `[run, d1, d]`.
        masks: 0 or 1, `[run, count, d1]`.
    Cost: 2·count·d1·d·k flops and count·d·(d1 + k) entries per run.
    """
    flipped = (2 * masks - 1).unsqueeze(-1) * dictionary.unsqueeze(1)
    return (left.mT.unsqueeze(1) @ flipped).abs().amax((1, 2, 3))


def enumerated_cross_moment(model: SparseCoding, views: str = "masked", rate: float = 0.5) -> Tensor:
    """E[x⁺ x⁺⁺ᵀ] `[run, d1, d1]` as a weighted sum of outer products over all z, masks and nodes for ξ.

    The nodes ±σ_ξ √d1 e_i, with equal weights, have the mean and covariance of ξ, and no other moment of ξ matters
    here.
    Source: wen-li-2021, Definitions 2.1 and 2.3.
    Args: as `second_moment`, with d ≤ 3 and d1 ≤ 5.
    Raises: ValueError above d = 3 or d1 = 5, for other views, or a rate outside (0, 1).
    Error: rounding.
    Cost: 3^d·2d1·2^d1 pairs of views, 3^d·2d1·4^d1 for independent masks, of d1 entries each, per run.
    """
    check_views("enumerated_cross_moment", views, rate)
    dim, atoms = model.dictionary.shape[-2:]
    if atoms > _MOST_ATOMS or dim > _MOST_DIM:
        allowed = f"d ≤ {_MOST_ATOMS} and d1 ≤ {_MOST_DIM}"
        raise ValueError(f"d and d1 must be {allowed}, got {atoms} and {dim}")
    latents = _tuples((-1.0, 0.0, 1.0), atoms, model)
    chance = (latents.abs() * model.active / 2 + (1 - latents.abs()) * (1 - model.active)).prod(-1)
    unit = torch.eye(dim, dtype=model.dtype, device=model.device)
    nodes = model.noise * dim**0.5 * torch.cat([unit, -unit])
    x = ((latents @ model.dictionary.mT).unsqueeze(2) + nodes).flatten(1, 2)
    chance = chance.repeat_interleave(2 * dim) / (2 * dim)
    first, second, mask_chance = _mask_pairs(views, rate, model)
    pairs = [(mask.unsqueeze(1) * x.unsqueeze(1)).flatten(1, 2) for mask in (first, second)]
    weight = (mask_chance.unsqueeze(-1) * chance).flatten()
    return (pairs[0] * weight.unsqueeze(-1)).mT @ pairs[1]


class DecodingError(NamedTuple):
    """Shares of wrong entries of z `[run]`: counted, and by the Gaussian approximation."""

    counted: Tensor
    predicted: Tensor


def decoding_error(
    model: SparseCoding,
    count: int,
    generators: list[torch.Generator],
    threshold: float = 0.5,
    views: str = "masked",
    rate: float = 0.5,
) -> DecodingError:
    """How often sign(u_j) 1{|u_j| > t} with u_j = ⟨M_j, x⁺⟩ differs from z_j.

    u_j = z_j + Σ_k z_k ⟨M_j, (D/ρ - I) M_k⟩ + ⟨M_j, D ξ⟩/ρ has mean z_j given z_j, and the variance
    v(z_j) = σ_ξ²/ρ + (1/ρ - 1) Σ_i M_ij² (z_j² M_ij² + p Σ_{k≠j} M_ik²), which at ρ = 1/2 and |M_ij| = 1/√d1 is
    2σ_ξ² + (z_j² + p(d - 1))/d1. predicted: (1 - p) 2Φ(-t/√v(0)) + p Φ((t - 1)/√v(1)), mean over j.
    Source: wen-li-2021, Section 2.1, Why sparse signal is more favorable.
    Args:
        model: draws the data.
        count: samples per run.
        generators: one per run.
        threshold: t in (0, 1).
        views: one of VIEWS.
        rate: ρ in (0, 1).
    Raises: ValueError for another t, other views, or a rate outside (0, 1).
    Error: for `counted` about √(e/(count·d)) for a share e. For `predicted` none with plain views; otherwise a mixture
        of Gaussians is treated as one Gaussian, although its variance depends on mask and latents by about 1/√d1 of
        itself for flat atoms, which affects a far tail.
    Cost: 4·count·d1·d flops, count·d1 entries per run.
    """
    check_views("decoding_error", views, rate)
    if not 0 < threshold < 1:
        raise ValueError(f"threshold must be in (0, 1), got {threshold}")
    latents, x = model.sample(count, generators)
    found = model.views(x, generators, views, rate)[0] @ model.dictionary
    decoded = (found > threshold).to(model.dtype) - (found < -threshold).to(model.dtype)
    counted = (decoded != latents).to(model.dtype).mean((1, 2))
    return DecodingError(counted, _predicted_error(model, threshold, 1.0 if views == "plain" else rate))


def _predicted_error(model: SparseCoding, threshold: float, kept: float) -> Tensor:
    """`DecodingError.predicted` if a share `kept` of the coordinates is seen."""
    square, added = model.dictionary.square(), 1 / kept - 1
    own = square.square().sum(-2)
    others = (square * square.sum(-1, keepdim=True)).sum(-2) - own
    silent = model.noise**2 / kept + added * model.active * others
    wrong = 2 * torch.special.ndtr(-threshold / silent.sqrt())
    missed = torch.special.ndtr((threshold - 1) / (silent + added * own).sqrt())
    return ((1 - model.active) * wrong + model.active * missed).mean(-1)


def _forms(model: SparseCoding, directions: Tensor) -> tuple[Tensor, Tensor]:
    """(vᵀ MMᵀ v, vᵀ diag(MMᵀ) v), `[run, k]` each."""
    diagonal = model.dictionary.square().sum(-1, keepdim=True)
    return (model.dictionary.mT @ directions).square().sum(-2), (diagonal * directions.square()).sum(-2)


def _log_growth(rate: float | Tensor, like: Tensor, learning_rate: float | None) -> Tensor:
    rate = torch.as_tensor(rate, dtype=like.dtype, device=like.device)
    return rate if learning_rate is None else (1 + learning_rate * rate).abs().log()


def _tuples(values: tuple[float, ...], length: int, like: SparseCoding) -> Tensor:
    """All tuples `[len(values)^length, length]`."""
    one = torch.tensor(values, dtype=like.dtype, device=like.device)
    return torch.cartesian_prod(*[one] * length).view(-1, length)


def _mask_pairs(views: str, rate: float, like: SparseCoding) -> tuple[Tensor, Tensor, Tensor]:
    """Factors of x⁺ and x⁺⁺ `[pairs, d1]` and the probability of each pair."""
    dim = like.dictionary.shape[-2]
    if views == "plain":
        one = torch.ones(1, dim, dtype=like.dtype, device=like.device)
        return one, one, one[:, 0]
    masks = _tuples((0.0, 1.0), dim, like)
    chance = (masks * rate + (1 - masks) * (1 - rate)).prod(-1)
    if views == "masked":
        return masks / rate, (1 - masks) / (1 - rate), chance
    first, second = masks.repeat_interleave(len(masks), 0), masks.repeat(len(masks), 1)
    return first / rate, second / rate, (chance.unsqueeze(-1) * chance).flatten()
