"""Training without a mask and without biases, followed by two numbers: lengths of the signals and of the noise."""

from math import comb, log
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

_NODES = 64


class TwoRates(NamedTuple):
    """Growth of a neuron a step along atoms and along dense directions, and the loss over τ log(1 + N)."""

    signal: float
    noise: float
    loss: float


class TwoLengths(NamedTuple):
    """Squared lengths inside and outside of span(M), and the loss over τ log(1 + N); `[steps + 1]` each."""

    signal: Tensor
    noise: Tensor
    loss: Tensor


def two_rates(
    atoms: int, dim: int, active: float, noise: float, lengths: tuple[float, float], negatives: int, temperature: float
) -> TwoRates:
    """Rates without a mask and with b = 0 at WᵀW = s MMᵀ + n(I - MMᵀ), S = sd and N = n(d1 - d); times η a step.

    A direction v grows at E Σ_s ℓ_s ⟨v, x⟩⟨v, x - x_s⟩. The sum over negatives becomes N times its mean, which factors
    over directions: u = ⟨M_j, x⟩ has the law (1 - p) N(0, σ²) + p N(±1, σ²), and
      q(u) = E exp(suu'/τ) = exp(s²u²σ²/2τ²)(1 - p + p cosh(su/τ)),   t(u) = (τ/s)(log q)'(u),
    the mean of u' over negatives as they weigh. Along atoms the rate is E R(x) u(u - t(u)), along dense directions
    σ²(1 - nσ²/τ) E R(x), with
      R(x) = Σ_s ℓ_s = 1/(1 + e^lead),   lead = Σ_j [su_j²/τ - log q(u_j)] + |ξ|²(n/τ - n²σ²/2τ²) - log N.
    In `lead` one atom stands with its own u, the others with means given how many of them are present, and |ξ|² with
    σ²(d1 - d). At short lengths the rates are κ(p + σ²)/η and κσ²/η, the `flat_rates` without a mask. The law of large
    numbers is used three times (negatives, the other atoms, |ξ|²): it is a model of a training and no theorem.

    Source: derived; wen-li-2021, its loss (2.2) and the gradient of it.
    Args:
        atoms, dim: 1 ≤ d < d1.
        active, noise: p in (0, 1) and σ > 0.
        lengths: S and N, > 0.
        negatives, temperature: N ≥ 1 and τ > 0.
    Raises: ValueError outside these ranges.
    Cost: about 2 · 64 d exponentials.
    """
    if not (1 <= atoms < dim and 0 < active < 1 and min(noise, *lengths, temperature) > 0 and negatives >= 1):
        given = f"{atoms} of {dim}, {active}, {noise}, {lengths}, {negatives}, {temperature}"
        raise ValueError(f"two_rates: d must be below d1, p in (0, 1), N ≥ 1 and the others above 0, got {given}")
    s, n, square = lengths[0] / atoms, lengths[1] / (dim - atoms), noise**2
    places, weights = map(torch.tensor, np.polynomial.hermite_e.hermegauss(_NODES))
    weights, u = weights / weights.sum(), torch.cat([noise * places, 1 + noise * places])
    present = torch.arange(atoms, dtype=torch.float64)
    often = [comb(atoms - 1, k) * active**k * (1 - active) ** (atoms - 1 - k) for k in range(atoms)]
    chance = torch.cat([(1 - active) * weights, active * weights])[:, None] * torch.tensor(often, dtype=torch.float64)
    a, spread = s * u / temperature, n * square / temperature
    mixed = 1 - active + active * a.cosh()
    log_q, weighed = a * a * square / 2 + mixed.log(), a * square + active * a.sinh() / mixed
    absent, there = weights @ log_q[:_NODES], weights @ log_q[_NODES:]
    others = present * (s * (1 + square) / temperature - there)
    others = others + (atoms - 1 - present) * (s * square / temperature - absent)
    lead = (
        (s * u * u / temperature - log_q)[:, None] + others + (dim - atoms) * (spread - spread**2 / 2) - log(negatives)
    )
    left = chance * (-lead).sigmoid()
    along, loss = (left * (u * (u - weighed))[:, None]).sum(), (chance * softplus(-lead)).sum() / log(1 + negatives)
    return TwoRates(float(along), float(square * (1 - spread) * left.sum()), float(loss))


def two_lengths(
    atoms: int,
    dim: int,
    active: float,
    noise: float,
    steps: int,
    start: float,
    negatives: int,
    temperature: float,
    rate: float = 1.0,
    decay: float = 0.0,
) -> TwoLengths:
    """S ← (1 + η·rate - ηλ)² S for signals and the same for noise, with the `two_rates` of each step.

    Source: derived.
    Args:
        atoms, dim, active, noise, negatives, temperature: as `two_rates`.
        steps: ≥ 0.
        start: squared length of all neurons before training, > 0; their directions are random.
        rate, decay: η > 0 and λ ≥ 0.
    Returns: float64.
    Raises: ValueError outside these ranges.
    Cost: `two_rates` a step.
    """
    if not (steps >= 0 and rate > 0 and decay >= 0):
        raise ValueError(f"two_lengths: steps and λ must be ≥ 0, η > 0, got {steps}, {decay} and {rate}")
    inside, outside, found = start * atoms / dim, start * (1 - atoms / dim), []
    for _ in range(steps + 1):
        now = two_rates(atoms, dim, active, noise, (inside, outside), negatives, temperature)
        found.append((inside, outside, now.loss))
        inside *= (1 + rate * (now.signal - decay)) ** 2
        outside *= (1 + rate * (now.noise - decay)) ** 2
    return TwoLengths(*torch.tensor(found, dtype=torch.float64).T)
