"""One step of power iteration with a matrix that moves: the bounds behind Theorem 3, as ratios of left to right side.

A step is w' = A(w)w/‖A(w)w‖; φ1 is the top eigenvector of A(w) with c = φ1ᵀw > 0, φ1' that of A(w') with φ1ᵀφ1' ≥ 0;
d = φ1ᵀw' and c' = φ1'ᵀw'. 1 − c, 1 − d and c' − d are computed from differences of vectors, which keeps their digits.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize

from ...losses.gated_covariance import project_out
from .local_convergence import irregularity
from .sphere_flow import MatrixField


def spectral_matrix(raw: Tensor) -> Tensor:
    """Positive definite A = Q diag(eˢ) Qᵀ from free numbers, so that a search can vary them.

    Args:
        raw: `[..., d + 1, d]`: the first d rows give Q by QR, the last row is s.
    Returns: `[..., d, d]`.
    Cost: d³.
    """
    q = torch.linalg.qr(raw[..., :-1, :]).Q
    return (q * raw[..., -1:, :].exp()) @ q.mT


@dataclass(frozen=True)
class AffineField:
    """A(w) = A0 + L (pqᵀ + qpᵀ), q = P⊥_p Rw with orthogonal R: its least Lipschitz constant is L exactly.

    ‖A(w) − A(w')‖₂ = L‖P⊥_p R(w − w')‖ ≤ L‖w − w'‖, with equality if R(w − w') ⊥ p. If p is the top eigenvector of A0,
    the field turns it as fast as L allows.
    """

    base: Tensor  # A0 [run, d, d], symmetric
    pivot: Tensor  # p [run, d], unit
    mixing: Tensor  # R [run, d, d]
    lipschitz: Tensor  # L [run], 0 or more

    def __call__(self, w: Tensor) -> Tensor:
        q = project_out(self.pivot, torch.einsum("rij,rj->ri", self.mixing, w)) * self.lipschitz.unsqueeze(-1)
        outer = self.pivot.unsqueeze(-1) * q.unsqueeze(-2)
        return self.base + outer + outer.mT

    @classmethod
    def of(cls, raw: Tensor) -> "AffineField":
        """Build it from free numbers: A0 by `spectral_matrix`, R by QR, p by its direction, and L = 0.05 λ_gap(A0) eˣ.

        Args:
            raw: `[run, 2d + 3, d]`; x is the first number of the last row.
        Raises: ValueError for any other shape.
        """
        d = raw.shape[-1]
        if raw.ndim != 3 or raw.shape[-2] != 2 * d + 3:
            raise ValueError(f"raw must have shape [run, 2d + 3, d], got {list(raw.shape)}")
        base, mixing = spectral_matrix(raw[:, : d + 1]), torch.linalg.qr(raw[:, d + 1 : -2]).Q
        top = torch.linalg.eigvalsh(base)[:, -2:]
        slope = 0.05 * (top[:, 1] - top[:, 0]) * raw[:, -1, 0].exp()
        return cls(base, normalize(raw[:, -2], dim=-1), mixing, slope)


@dataclass(frozen=True)
class PowerStep:
    """One step seen from the top eigenvector of A(w); all `[...]` but the last two, `[..., d]`."""

    short_c: Tensor  # 1 − c
    short_d: Tensor  # 1 − d
    moved: Tensor  # ‖w' − w‖
    ratio: Tensor  # λ2/λ1
    gap: Tensor  # λ1 − λ2
    lowest: Tensor  # smallest eigenvalue
    top: Tensor  # φ1
    image: Tensor  # w'

    @property
    def c(self) -> Tensor:
        return 1 - self.short_c

    @property
    def mu(self) -> Tensor:
        return irregularity(self.c, self.ratio)


def top_eigenvector(a: Tensor, towards: Tensor) -> tuple[Tensor, Tensor]:
    """Ascending eigenvalues and φ1 with φ1ᵀtowards ≥ 0.

    Args:
        a: `[..., d, d]`, symmetric.
        towards: `[..., d]`.
    Returns: eigenvalues and φ1, `[..., d]` each.
    """
    values, vectors = torch.linalg.eigh(a)
    phi = vectors[..., -1]
    return values, torch.where((phi * towards).sum(-1, keepdim=True) < 0, -phi, phi)


def power_step(a: Tensor, w: Tensor) -> PowerStep:
    """The step from w with the matrix a = A(w).

    Source: tian-2023, eqs. (101) and (102).
    Args:
        a: `[..., d, d]`, symmetric.
        w: `[..., d]`, unit.
    Error: rounding of φ1, about 1e-16 ‖a‖/gap, over √(1 − d).
    Cost: a symmetric eigenproblem, 9·d³ flops.
    """
    values, phi = top_eigenvector(a, w)
    image = normalize((a @ w.unsqueeze(-1)).squeeze(-1), dim=-1)
    return PowerStep(
        short_c=(w - phi).square().sum(-1) / 2,
        short_d=(image - phi).square().sum(-1) / 2,
        moved=(image - w).norm(dim=-1),
        ratio=values[..., -2] / values[..., -1],
        gap=values[..., -1] - values[..., -2],
        lowest=values[..., 0],
        top=phi,
        image=image,
    )


def shortfall_ratio(step: PowerStep, mu: Callable[[Tensor, Tensor], Tensor] = irregularity) -> Tensor:
    """(1 − d) / (μ (1 − c)), at most 1 if |λi| ≤ λ2 for i ≥ 2; 1 is approached as c → 1.

    Source: tian-2023, Lemma 7, eq. (182).
    Args:
        step: the step.
        mu: μ as a function of c and λ2/λ1.
    Returns: `[...]`.
    """
    return step.short_d / (mu(step.c, step.ratio) * step.short_c)


def displacement_ratio(step: PowerStep, factor: float = 2.0) -> Tensor:
    """‖w' − w‖ / √(2 (1 + μc)(1 − c)), at most 1 for positive semidefinite A; 1 is reached at rank one.

    The bound holds without μc: with λ1 = 1 and qi = (φiᵀw)², (Σλi qi)² ≥ q1 Σλi qi ≥ c² Σλi² qi, that is w'ᵀw ≥ c.
    Source: tian-2023, Lemma 8, eq. (189).
    Args:
        step: the step.
        factor: in place of 2.
    Returns: `[...]`.
    """
    return step.moved / (factor * (1 + step.mu * step.c) * step.short_c).sqrt()


def expansion_constant(gap: Tensor) -> Tensor:
    """κ = 8/λ_gap², a constant for Lemma 9 that serves every A'.

    With x = ‖δA‖/λ_gap: for x < 1/2 the sin 2θ theorem gives sin θ ≤ √2 x and the remainder stays below 4x²; for
    x ≥ 1/2 it is at most √2 + x ≤ 8x². No κ below 4√2/λ_gap² is enough (two eigenvalues that meet at x = 1/2).
    Source: tian-2023, Lemma 9, which gives no κ.
    """
    return 8 / gap.square()


def eigenvector_shift(a: Tensor, delta: Tensor) -> Tensor:
    """Δφ1 = Σ_{j>1} φj (φjᵀ δA φ1)/(λ1 − λj), the first order of the change of the top eigenvector (sign as eigh's).

    Source: tian-2023, Lemma 9, eqs. (190) and (195).
    Args:
        a, delta: A and δA, `[..., d, d]`, symmetric.
    Returns: `[..., d]`.
    """
    values, vectors = torch.linalg.eigh(a)
    push = torch.einsum("...ij,...ik,...k->...j", vectors[..., :-1], delta, vectors[..., -1])
    return torch.einsum("...ij,...j->...i", vectors[..., :-1], push / (values[..., -1:] - values[..., :-1]))


def expansion_ratio(a: Tensor, delta: Tensor, order: float = 1.0) -> Tensor:
    """‖φ1' − φ1 − Δφ1‖ / (κ ‖δA‖₂²) with κ of `expansion_constant`, at most 1.

    Source: tian-2023, Lemma 9, eq. (191).
    Args:
        a, delta: A and δA, `[..., d, d]`, symmetric, δA ≠ 0, λ1 > λ2.
        order: the factor of Δφ1.
    Returns: `[...]`.
    Error: 1e-16 ‖a‖ λ_gap/‖δA‖².
    Cost: four symmetric eigenproblems.
    """
    values, vectors = torch.linalg.eigh(a)
    gap = values[..., -1] - values[..., -2]
    phi = top_eigenvector(a + delta, vectors[..., -1])[1]
    rest = (phi - vectors[..., -1] - order * eigenvector_shift(a, delta)).norm(dim=-1)
    return rest / (expansion_constant(gap) * torch.linalg.eigvalsh(delta).abs().amax(-1).square())


def turning_irregularity(mu: Tensor, c: Tensor, gap: Tensor, lipschitz: Tensor, factor: float = 2.0) -> Tensor:
    """ν = 2κL² (1 + μc) + 2 (L/λ_gap) √(μ (1 + μc)); ω = μ + ν.

    Source: tian-2023, eqs. (10) and (193).
    Args:
        mu, c, gap, lipschitz: μ, c, λ_gap and L, which broadcast.
        factor: in place of the second 2.
    """
    grown = 1 + mu * c
    return 2 * expansion_constant(gap) * lipschitz**2 * grown + factor * lipschitz / gap * (mu * grown).sqrt()


def turning_ratio(step: PowerStep, next_a: Tensor, lipschitz: Tensor, factor: float = 2.0) -> Tensor:
    """|d − c'| / (ν (1 − c)), at most 1 for positive definite A(w); 1 is approached as L ≪ λ2 ≪ λ1.

    Source: tian-2023, Lemma 10, eqs. (192) and (193).
    Args:
        step: the step.
        next_a: A(w') `[..., d, d]`.
        lipschitz: L `[...]`, > 0.
        factor: as in `turning_irregularity`.
    Returns: `[...]`.
    Error: 1e-16 over the left side.
    """
    phi = top_eigenvector(next_a, step.top)[1]
    turned = ((step.top - phi) * step.image).sum(-1).abs()
    return turned / (turning_irregularity(step.mu, step.c, step.gap, lipschitz, factor) * step.short_c)


def region_radius(gamma: Tensor, short_c0: Tensor) -> Tensor:
    """R = √(2 (1 + γ)(1 − c0)) / (1 − √γ), the radius of B_γ. Source: tian-2023, eq. (204)."""
    return (2 * (1 + gamma) * short_c0).sqrt() / (1 - gamma.sqrt())


def certified_gamma(start: PowerStep, lipschitz: Tensor, iterations: int = 40) -> Tensor:
    """A γ < 0.99 for which sup_{B_γ} ω ≤ γ is certain, by an upper bound of ω over B_γ; NaN if none is found.

    At distance R: λ1 and λ2 have moved by at most LR (Weyl), φ1 by ½ asin(2LR/λ_gap) (sin 2θ theorem), and the angle
    between w and φ1(w) is at most the sum of three. γ grows from 0 to the least fixed point of the bound; gradients
    pass only through the last application of the bound.
    Source: tian-2023, Lemma 11, eqs. (204) and (205).
    Args:
        start: the step at w(0).
        lipschitz: L `[run]`.
        iterations: applications of the bound before the last.
    Returns: `[run]`; for L = 0 the γ of `theorem_region`.
    """
    angle, lambda1 = 2 * (start.short_c / 2).sqrt().asin(), start.gap / (1 - start.ratio)

    def bound(gamma: Tensor) -> Tensor:
        inside = gamma < 0.99
        radius = region_radius(gamma.clamp(max=0.99), start.short_c)
        shift = lipschitz * radius
        turn, half = 2 * shift / start.gap, radius / 2
        reach = angle + 2 * half.clamp(max=0.99).asin() + turn.clamp(max=0.99).asin() / 2
        c, gap = reach.clamp(max=1.5).cos(), (start.gap - 2 * shift).clamp(min=0.01 * start.gap)
        mu = irregularity(c, (start.ratio * lambda1 + shift) / (lambda1 - shift).clamp(min=0.1 * lambda1))
        inside &= (turn < 0.99) & (half < 0.99) & (reach < 1.5)
        return torch.where(inside, mu + turning_irregularity(mu, c, gap, lipschitz), torch.inf)

    gamma = torch.zeros_like(start.gap)
    with torch.no_grad():
        for _ in range(iterations):
            gamma = bound(gamma)
    gamma = bound(gamma) * (1 + 1e-9)
    return torch.where(gamma.isfinite() & (bound(gamma) <= gamma), gamma, torch.nan)


@dataclass(frozen=True)
class RegionCheck:
    """What Lemma 11 promises for each start, and what happened; all `[run]`, NaN if no γ is certified."""

    gamma: Tensor  # γ of `certified_gamma`
    fall: Tensor  # largest (1 − c_{t+1}) / (γ (1 − c_t)), promised ≤ 1: it gives 1 − c_t ≤ γ^t (1 − c_0)
    reach: Tensor  # largest ‖w(t) − w(0)‖ / R, promised ≤ 1
    lowest: Tensor  # lower bound on the eigenvalues of A in B_γ: λ_d(w(0)) − LR


def check_region(
    field: MatrixField, w0: Tensor, lipschitz: Tensor, steps: int = 20, power: float = 1.0, floor: float = 1e-16
) -> RegionCheck:
    """Run power iteration from w0 and compare it with Lemma 11.

    Source: tian-2023, Lemma 11, eqs. (204) to (214).
    Args:
        field: matrix field with Lipschitz constant L.
        w0: `[run, d]`, unit.
        lipschitz: L `[run]`.
        steps: number of steps, ≥ 1.
        power: uses γ^power in place of γ.
        floor: steps with γ^power (1 − c_t) below it are left out (rounding).
    Returns: RegionCheck.
    Raises: ValueError for steps < 1.
    Cost: steps + 1 fields and symmetric eigenproblems.
    """
    if steps < 1:
        raise ValueError(f"steps must be ≥ 1, got {steps}")
    walk = [power_step(field(w0), w0)]
    for _ in range(steps):
        walk.append(power_step(field(walk[-1].image), walk[-1].image))
    gamma = certified_gamma(walk[0], lipschitz)
    known = gamma.nan_to_num(nan=0.5)  # so that gradients of the other starts stay finite
    short = torch.stack([step.short_c for step in walk])
    allowed = known**power * short[:-1]
    fall = torch.where(allowed < floor, 0.0, short[1:] / allowed).amax(0)
    far = torch.stack([(step.image - w0).norm(dim=-1) for step in walk]).amax(0)
    radius = region_radius(known, short[0])
    told = (fall, far / radius, walk[0].lowest - lipschitz * radius)
    return RegionCheck(gamma, *(torch.where(gamma.isnan(), torch.nan, x) for x in told))
