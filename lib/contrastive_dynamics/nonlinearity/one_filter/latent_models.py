"""Latent categorical and latent summation models: finite populations whose gated covariance is known in closed form."""

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Generator, Tensor

from ...losses.activations import Activation, activation
from ...losses.gated_covariance import gated_covariance

MAX_LATENTS = 20  # 2^20 support points: 8 MB per coordinate in float64
CRITICAL_Q = (3 - math.sqrt(5)) / 2  # root in (0, 1) of (1 − q)² = q


def relu_off_plane(width: float = 1e-9) -> Activation:
    """ReLU whose gate stays shut for wᵀx ≤ width.

    In the categorical model w = u_m lies exactly on the planes wᵀu_m' = 0, where the paper sets h'(0) = 0; if U is
    rotated, rounding would open half of these gates.

    Source: tian-2023, Appendix B.1.
    Args:
        width: in units of wᵀx, well above rounding and below all nonzero products.
    """
    return replace(activation("relu"), name="relu_off_plane", slope=lambda z: (z > width).to(z.dtype))


def orthonormal_patterns(d: int, m: int, generator: Generator, dtype: torch.dtype = torch.float64) -> Tensor:
    """Random orthonormal columns u_1 … u_M, uniform on the Stiefel manifold.

    Args:
        d: dimension.
        m: number of patterns, 1 ≤ m ≤ d.
        generator: source of the draw.
        dtype: dtype of the result.
    Returns: `[d, m]` on the generator's device.
    Raises: ValueError for m outside its range.
    Cost: 2·d·m² flops.
    """
    if not 1 <= m <= d:
        raise ValueError(f"m must be ≥ 1 and ≤ d, got m={m} and d={d}")
    q, r = torch.linalg.qr(torch.randn(d, m, dtype=dtype, device=generator.device, generator=generator))
    return q * torch.sgn(torch.diagonal(r))


def tilted_patterns(u: Tensor, deviation: float, generator: Generator) -> Tensor:
    """Unit columns close to those of u with ‖UᵀU − I‖₂ = deviation exactly.

    U' = U G^{1/2},  G = I + deviation · E,  E symmetric with zero diagonal and ‖E‖₂ = 1.

    Source: tian-2023, the approximately orthogonal U after Theorem 3.
    Args:
        u: `[d, M]` with orthonormal columns.
        deviation: 0 ≤ deviation < 1.
        generator: source of E.
    Returns: `[d, M]`.
    Raises: ValueError for a deviation outside its range, or M = 1 with deviation > 0.
    """
    m = u.shape[-1]
    if not 0 <= deviation < 1 or (m == 1 and deviation > 0):
        raise ValueError(f"deviation must be ≥ 0 and < 1, and 0 for M = 1, got deviation={deviation} and M={m}")
    e = torch.randn(m, m, dtype=u.dtype, device=u.device, generator=generator).triu(1)
    e = e + e.mT
    if m > 1:
        e = e / torch.linalg.matrix_norm(e, 2)
    eigenvalues, v = torch.linalg.eigh(torch.eye(m, dtype=u.dtype, device=u.device) + deviation * e)
    return u @ (v * eigenvalues.clamp_min(0).sqrt()) @ v.mT


def tilted_summation(
    generator: Generator, m: int, deviation: float, q: float, act: Activation
) -> tuple[Tensor, Tensor, Callable[[Tensor], Tensor]]:
    """The latent summation model of M patterns in R^M with ‖UᵀU − I‖₂ = deviation, all with probability q.

    Args:
        generator: source of the patterns; it can be drawn from afterwards.
        m: number of patterns, ≥ 1.
        deviation: as in `tilted_patterns`.
        q: 0 < q < 1.
        act: the activation h.
    Returns: U `[m, m]`, the support `[2^m, m]`, and the matrix field A of `population_field`.
    Raises: ValueError as `tilted_patterns` and `latent_summation`.
    """
    u = tilted_patterns(orthonormal_patterns(m, m, generator), deviation, generator)
    points, p = latent_summation(u, u.new_full((m,), q))
    return u, points, population_field(points, p, act)


def latent_categorical(u: Tensor, probabilities: Tensor) -> tuple[Tensor, Tensor]:
    """Support and probabilities of x = u_y, P[y = m] = p_m.

    Source: tian-2023, Section 3.1.
    Args:
        u: `[..., d, M]`.
        probabilities: `[M]`, ≥ 0 with sum 1.
    Returns: points `[..., M, d]`, probabilities `[M]`.
    Raises: ValueError for probabilities that are negative or of any other sum or length.
    """
    if probabilities.shape != u.shape[-1:] or not (probabilities.min() >= 0 and abs(probabilities.sum() - 1) <= 1e-6):
        raise ValueError(
            f"probabilities must be {u.shape[-1]} numbers ≥ 0 with sum 1, "
            f"got {len(probabilities)} with sum {float(probabilities.sum())} and least {float(probabilities.min())}"
        )
    return u.mT, probabilities


def bernoulli_levels(q: Tensor) -> tuple[Tensor, Tensor]:
    """The two values y⁺ = √((1−q)/q), with probability q, and y⁻ = −√(q/(1−q)): mean 0, variance 1.

    Source: tian-2023, Section 3.1.
    Args:
        q: P[y_m > 0], `[M]` in (0, 1).
    Returns: y⁺ and y⁻, `[M]` each.
    Raises: ValueError for q outside its range.
    """
    if not (q.min() > 0 and q.max() < 1):
        raise ValueError(f"q must be > 0 and < 1, got values from {float(q.min())} to {float(q.max())}")
    return ((1 - q) / q).sqrt(), -(q / (1 - q)).sqrt()


def latent_summation(u: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
    """Support and probabilities of x = U y with independent standardised Bernoulli y_m, by enumeration.

    Source: tian-2023, Section 3.1.
    Args:
        u: `[..., d, M]`, orthonormal or not, M ≤ 20.
        q: P[y_m > 0], `[M]` in (0, 1).
    Returns: points `[..., 2^M, d]`, probabilities `[2^M]`.
    Raises: ValueError for M > 20, and for q of another length or outside its range.
    Cost: 2^M · M · d flops and 2^M · d numbers.
    """
    m = u.shape[-1]
    if m > MAX_LATENTS or q.shape != (m,):
        raise ValueError(f"M must be ≤ {MAX_LATENTS} and q [M], got M={m} and q of shape {tuple(q.shape)}")
    high, low = bernoulli_levels(q)
    index = torch.arange(2**m, device=u.device).unsqueeze(-1)
    on = (index >> torch.arange(m, device=u.device)) % 2 == 1
    return torch.where(on, high, low) @ u.mT, torch.where(on, q, 1 - q).prod(-1)


def categorical_covariance(u: Tensor, probabilities: Tensor, m: int) -> Tensor:
    """A(u_m) = p_m (1 − p_m) u_m u_mᵀ of the categorical model under ReLU with h'(0) = 0, orthonormal U.

    Source: tian-2023, eq. (8).
    Args:
        u: `[..., d, M]`.
        probabilities: `[M]`.
        m: index of the pattern.
    Returns: `[..., d, d]`.
    """
    outer = u[..., :, m, None] * u[..., None, :, m]
    return probabilities[m] * (1 - probabilities[m]) * outer


def summation_covariance(u: Tensor, q: Tensor, m: int) -> Tensor:
    """A(u_m) = (1 − q_m)² u_m u_mᵀ + q_m (U Uᵀ − u_m u_mᵀ) of the summation model under ReLU, orthonormal U.

    The paper prints I for U Uᵀ, which is the same for M = d; for M < d the directions outside U carry no data.

    Source: tian-2023, eq. (9).
    Args:
        u: `[..., d, M]`.
        q: `[M]` in (0, 1).
        m: index of the pattern.
    Returns: `[..., d, d]`.
    """
    outer = u[..., :, m, None] * u[..., None, :, m]
    return (1 - q[m]) ** 2 * outer + q[m] * (u @ u.mT - outer)


def closed_form_error(
    population: tuple[Tensor, Tensor], u: Tensor, formula: Callable[[int], Tensor], act: Activation | None = None
) -> float:
    """Largest relative Frobenius error of a closed form of A(u_m) against the enumerated A(u_m), over all m.

    Args:
        population: points `[n, d]` and probabilities `[n]`.
        u: `[d, M]`.
        formula: the closed form, m -> `[d, d]`.
        act: by default ReLU with h'(0) = 0 kept under rounding.
    Cost: 2·M·n·d² flops.
    """
    act = relu_off_plane() if act is None else act
    points, p = population
    errors = []
    for m in range(u.shape[-1]):
        enumerated = gated_covariance(points, u[:, m], act, p)
        norm = torch.linalg.matrix_norm
        errors.append(norm(formula(m) - enumerated) / norm(enumerated))
    return float(torch.stack(errors).max())


def pattern_eigenvalues(covariance: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Rayleigh quotient wᵀAw of a unit w, and the largest eigenvalue of P⊥_w A P⊥_w.

    If w is an eigenvector, it is the distinct maximal one (an LME, Definition 3) iff the first exceeds the second.

    Args:
        covariance: A `[..., d, d]`.
        w: `[..., d]`, unit.
    Returns: two `[...]`.
    Cost: about 9·d³ flops.
    """
    along = torch.einsum("...d,...de,...e->...", w, covariance, w)
    projector = torch.eye(w.shape[-1], dtype=w.dtype, device=w.device) - w.unsqueeze(-1) * w.unsqueeze(-2)
    return along, torch.linalg.eigvalsh(projector @ covariance @ projector)[..., -1]


def critical_probability(u: Tensor, q: Tensor, m: int, centred: bool = True) -> float:
    """The q_m at which u_m stops being the top eigenvector of the enumerated A(u_m), with the other q held fixed.

    Brent's root of wᵀAw − λ_max(P⊥AP⊥), w = u_m, on (0.05, 0.95). Expected: (3 − √5)/2, whatever the other q.

    Source: tian-2023, below eq. (9).
    Args:
        u: `[d, M]` orthonormal, M ≥ 2.
        q: `[M]` in (0, 1).
        m: index of the pattern.
        centred: False takes the second moment in place of the variance.
    Returns: the root to 1e-12.
    Cost: about 10 enumerations.
    """
    from scipy.optimize import brentq

    relu = activation("relu")

    def advantage(q_m: float) -> float:
        points, p = latent_summation(u, torch.where(torch.arange(len(q), device=q.device) == m, q_m, q))
        a = gated_covariance(points, u[:, m], relu, p)
        if not centred:
            mean = p @ (points * relu.slope(points @ u[:, m]).unsqueeze(-1))
            a = a + torch.outer(mean, mean)
        along, across = pattern_eigenvalues(a, u[:, m])
        return float(along - across)

    return brentq(advantage, 0.05, 0.95, xtol=1e-12)


def population_field(points: Tensor, p: Tensor, act: Activation) -> Callable[[Tensor], Tensor]:
    """The matrix field w -> A(w) of one population, for `power_iteration` and `sphere_flow`.

    Equals `gated_covariance` of every run, with the outer products x xᵀ computed once.

    Source: tian-2023, eq. (7).
    Args:
        points: `[n, d]`.
        p: probabilities `[n]`.
        act: the activation h.
    Returns: a callable `[run, d] -> [run, d, d]`.
    Cost: n·d² numbers once, then 2·n·d² flops per run.
    """
    n, d = points.shape
    weighted = p.unsqueeze(-1) * points
    outer = (weighted.unsqueeze(-1) * points.unsqueeze(-2)).reshape(n, d * d)

    def field(w: Tensor) -> Tensor:
        slope = act.slope(w @ points.mT)
        mean = slope @ weighted
        return (slope.square() @ outer).reshape(*w.shape, d) - mean.unsqueeze(-1) * mean.unsqueeze(-2)

    return field
