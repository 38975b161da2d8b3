"""The law proved: its inequality per direction by machine, and its optimum against a descent that is not told of it."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import torch
from torch import Tensor

from contrastive_dynamics.numerics.random_streams import streams
from contrastive_dynamics.numerics.stiefel import haar
from contrastive_dynamics.testbed.soft_threshold import direction_gap, population_loss, water_filling

from .law_runs import Arms


def proof_cases(any_level: bool = False) -> dict[str, tuple]:
    """ρ, τ², μ, g and |g| in every case of the inequality, by sympy symbols: a, e, s, t ≥ 0, τ² > 0, m real.

    Two encoders: ρ = μ + τ²s above the level, or μ = ρ + e; g = ±a. One encoder: the same at any real μ = m, g = a. All
    ρ ≥ 0, μ ≥ 0 and real g, or real ρ and μ and g ≥ 0 for one encoder, are in one of them.
    With `any_level`, a false twin, two encoders have ρ and μ of either sign, too: they would spend norm in vain.
    """
    import sympy

    a, e, s, t = sympy.symbols("a e s t", nonnegative=True)
    tau, m = sympy.Symbol("tau", positive=True), sympy.Symbol("m", real=True)
    above, below = ((m, m), (m - e, m)) if any_level else ((t, t), (t, t + e))
    cases = {}
    for sign, g in (("g ≥ 0", a), ("g ≤ 0", -a)):
        cases[f"two encoders, ρ ≥ μ, {sign}"] = (above[0] + tau * s, tau, above[1], g, a)
        cases[f"two encoders, ρ ≤ μ, {sign}"] = (below[0], tau, below[1], g, a)
    cases["one encoder, ρ ≥ μ"] = (m + tau * s, tau, m, a, a)
    cases["one encoder, ρ ≤ μ"] = (m - e, tau, m, a, a)
    return cases


def unproved_cases(cut: float = 1.0) -> list[str]:
    """The cases in which sympy does not prove μ(|g| − s) − (ρ − τ²s)(g − s) ≥ 0 for all values of the symbols.

    Args:
        cut: where ρ is cut, over μ: s = (ρ − cut·μ)₊/τ²; 1 is the law.
    Cost: a second.
    """
    import sympy

    unproved = []
    for name, (rho, tau, level, g, size) in proof_cases().items():
        gap = direction_gap(rho, tau, level, g, size, cut=sympy.Rational(cut) * level)
        if not sympy.expand(sympy.simplify(gap)).is_nonnegative:
            unproved.append(name)
    return unproved


def refuted_cases(cut: float = 1.0, any_level: bool = False) -> list[str]:
    """The cases in which the inequality is false at some symbols in {0, ½, 1, 2}, m also negative, by exact fractions.

    Args:
        cut: as in `unproved_cases`.
        any_level: as in `proof_cases`.
    """
    values, refuted = [Fraction(k, 2) for k in (0, 1, 2, 4)], []
    for name, case in proof_cases(any_level).items():
        symbols = sorted(set().union(*(part.free_symbols for part in case)), key=str)
        ranges = [
            [v for v in (values + [-v for v in values] if str(x) == "m" else values) if v or str(x) != "tau"]
            for x in symbols
        ]
        for chosen in product(*ranges):
            at = dict(zip(symbols, chosen, strict=True))
            rho, tau, level, g, size = (Fraction(str(part.subs(at))) for part in case)
            if direction_gap(rho, tau, level, g, size, cut=Fraction(cut) * level) < 0:
                refuted.append(name)
                break
    return refuted


def optimum_errors(
    rho: Sequence[float], taus: Sequence[float], seeds: Sequence[int], *, steps: int = 400, rate: float = 0.2
) -> Arms:
    """Projected gradient descent of the population loss on ‖G‖_* ≤ 1 against the shares of two encoders.

    C = P diag(ρ) Qᵀ with Haar P and Q, and a random start: the descent is told neither directions nor shares.
    Args:
        rho: ρ, `[S]`.
        taus: τ² > 0.
        seeds: of P, Q and the start, one run each.
        steps, rate: of the descent, which moves by rate/2τ⁴ times the gradient; it converges for rates below 2.
    Returns: Arms of the largest |entry| of PᵀGQ − diag(g) over runs, for each τ²; control: shares ∝ ρ.
    Cost: 40·S³ flops per step and run.
    """
    spectrum = torch.tensor(rho, dtype=torch.float64)
    p, q, start = (haar(streams(seeds, 1, name), len(rho), len(rho)) for name in ("left", "right", "descent"))
    c = p @ torch.diag(spectrum) @ q.mT
    arms: Arms = {"observed": {}, "control": {}}
    for tau in taus:
        g = on_nuclear_ball(start)
        for _ in range(steps):
            leaf = g.detach().requires_grad_()
            (slope,) = torch.autograd.grad(population_loss(leaf, c, tau).sum(), leaf)
            g = on_nuclear_ball(g - rate / (2 * tau**2) * slope)
        found = p.mT @ g @ q
        shares = {"law": water_filling(spectrum, tau, tied=False), "∝ ρ": min(1 / tau, 1 / sum(rho)) * spectrum}
        errors = {name: float((found - torch.diag(of)).abs().max()) for name, of in shares.items()}
        for arm, of in (("observed", "law"), ("control", "∝ ρ")):
            arms[arm][f"{of}, τ² = {tau:g}"] = errors[of]
    return arms


def on_nuclear_ball(g: Tensor) -> Tensor:
    """The nearest matrix of nuclear norm at most 1: all singular values are lowered by one level, at least to 0."""
    u, s, vh = torch.linalg.svd(g, full_matrices=False)
    counts = torch.arange(1, s.shape[-1] + 1, dtype=s.dtype, device=s.device)
    level = ((s.cumsum(-1) - 1) / counts).amax(-1, keepdim=True).clamp(min=0)
    return (u * (s - level).clamp(min=0).unsqueeze(-2)) @ vh
