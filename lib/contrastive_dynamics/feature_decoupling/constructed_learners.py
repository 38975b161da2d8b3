"""Learners made by hand, whose contrastive loss shows which features it rewards: dense ones, or one neuron per atom.

Shapes: dictionary M `[run, d1, d]`, weights `[run, m, d1]`, biases `[run, m]`. A `scale` is a number or a tensor
`[run]`. Their losses over a population: `decoupled_training.stream_gradient(...).loss`.

In units of τ, with N negatives, plain views and f of scale c:
- Dense features (`dense_learner`): Sim(x, x) = c²σ_ξ²r² and Sim(x, x_s) = c²σ_ξ²rζ_s, r² ~ χ²_m, ζ_s ~ N(0, 1). The
  loss is small if m ≫ log N: at c² = τ/σ_ξ² it is at most N·2^{-m/2}.
- M with b = 0 (`singleton_learner`): f = c(z + ξ_M), ξ_M ~ N(0, σ_ξ² I_d) in all d coordinates of every sample, which
  tells the samples apart as dense features do, with d in place of m: the loss is o(1) here too if d ≫ log N.
- M with b > 0: f(x) = 0 for a share P of the samples (`silent_share`), near (1 - p)^d where b silences the noise. Each
  of them costs log(1 + N), so the loss is at least P log(1 + N) at any scale.
- As c → ∞ none of them goes to zero: the similarity is not normalised, some negative has ⟨f(x), f(x_s)⟩ > ‖f(x)‖², and
  the loss tends to E max(0, max_s⟨f(x), f(x_s)⟩ - ‖f(x)‖²)/τ, which grows like c². So there is a best scale.
"""

import torch
from torch import Tensor

from ..numerics.stiefel import qr


def dense_learner(
    dictionary: Tensor, neurons: int, scale: float | Tensor, generators: list[torch.Generator]
) -> tuple[Tensor, Tensor]:
    """(weights, biases): orthogonal w_i of norm c in the complement of span(M), uniform among these, and b = 0.

    Source: wen-li-2021, Lemma F.2.
    Args:
        dictionary: M, `[run, d1, d]`.
        neurons: m, 1 to d1 - d.
        scale: c > 0, a number or `[run]`.
        generators: one per run.
    Returns: `[run, m, d1]` and `[run, m]`.
    Raises: ValueError outside these ranges.
    Cost: 4·d1·m·(d + m) flops per run.
    """
    runs, dim, atoms = dictionary.shape
    if not 1 <= neurons <= dim - atoms or len(generators) != runs:
        raise ValueError(
            f"neurons and generators must be 1 to d1 - d = {dim - atoms} and one per run, {runs}, "
            f"got {neurons} and {len(generators)}"
        )
    norms = _scales("dense_learner", dictionary, scale)
    drawn = torch.stack(
        [torch.randn(dim, neurons, generator=g, dtype=dictionary.dtype, device=dictionary.device) for g in generators]
    )
    weights = qr(drawn - dictionary @ (dictionary.mT @ drawn)).mT * norms
    return weights, torch.zeros_like(weights[..., 0])


def singleton_learner(dictionary: Tensor, scale: float | Tensor, bias_ratio: float) -> tuple[Tensor, Tensor]:
    """(weights, biases): w_j = c M_j and b_j = bias_ratio·c, one neuron per atom.

    k neurons per atom, each of norm c/√k, give the same similarities, and so the same loss.
    Source: wen-li-2021, Definition E.10 (its weights are lost in our copy; we give all atoms the same scale); Lemma
    F.2, the remark below it.
    Args:
        dictionary: M, `[run, d1, d]`.
        scale: c > 0, a number or `[run]`.
        bias_ratio: b_j/‖w_j‖, in [0, 1).
    Returns: `[run, d, d1]` and `[run, d]`.
    Raises: ValueError outside these ranges.
    """
    if not 0 <= bias_ratio < 1:
        raise ValueError(f"bias_ratio must be in [0, 1), got {bias_ratio}")
    weights = dictionary.mT * _scales("singleton_learner", dictionary, scale)
    return weights, bias_ratio * weights.norm(dim=-1)


def silent_share(atoms: int, active: float, noise: float, bias_ratio: float) -> float:
    """P[f(x) = 0] of `singleton_learner`: ((1 - p) P[|ξ| ≤ β] + p P[|1 + ξ| ≤ β])^d, ξ ~ N(0, σ_ξ²), β the bias ratio.

    The loss is at least τ log(1 + N) times this share, at any scale: where f is 0 all similarities are 0. Exact for x
    itself; for a masked view at rate 1/2 replace σ_ξ by √2 σ_ξ, up to the masks' effect on Mz, about 1/√d1 at flat
    atoms.
    Source: wen-li-2021, the remark below Lemma F.2; derived.
    Args:
        atoms: d ≥ 1.
        active: p in (0, 1).
        noise: σ_ξ > 0.
        bias_ratio: β ≥ 0.
    Returns: a probability.
    Raises: ValueError outside these ranges.
    """
    from scipy.special import ndtr

    if atoms < 1 or not 0 < active < 1 or not noise > 0 or not bias_ratio >= 0:
        raise ValueError(
            "atoms, active, noise and bias_ratio must be ≥ 1, in (0, 1), > 0 and ≥ 0, "
            f"got {atoms}, {active}, {noise} and {bias_ratio}"
        )
    inside = [float(ndtr((bias_ratio - z) / noise) - ndtr((-bias_ratio - z) / noise)) for z in (0, 1)]
    return ((1 - active) * inside[0] + active * inside[1]) ** atoms


def collision_floor(atoms: int, active: float, negatives: int) -> float:
    """The least loss/τ of the noiseless f = cz: E log(1 + K), K ~ Binomial(N, (p/2)^k), k ~ Binomial(d, p).

    k is the number of non-zero z_j, and K the number of negatives whose z agrees with it there: only these have
    ⟨z, z_s⟩ = ‖z‖², whatever the other entries of z_s are; for all others it is less. So loss/τ falls to this value as
    c → ∞. k = 0 contributes (1 - p)^d log(1 + N). `singleton_learner` comes near it where c²/τ ≫ 1 ≫ σ_ξ c²/τ. Noise
    costs more on masked views; on plain ones it tells samples apart, and the loss of a noisy f may be below this value.
    Source: derived; wen-li-2021, Lemma E.11.
    Args:
        atoms: d ≥ 1.
        active: p in (0, 1).
        negatives: N ≥ 1.
    Returns: the loss in units of τ.
    Raises: ValueError outside these ranges.
    Cost: d·N evaluations of a binomial.
    """
    import numpy as np
    from scipy.stats import binom

    if min(atoms, negatives) < 1 or not 0 < active < 1:
        raise ValueError(
            f"atoms, negatives and active must be ≥ 1, ≥ 1 and in (0, 1), got {atoms}, {negatives} and {active}"
        )
    sizes, others = np.arange(atoms + 1), np.arange(negatives + 1)
    agree = np.maximum((active / 2) ** sizes.reshape(-1, 1), 1e-30)  # below it scipy's binomial overflows; none occurs
    collisions = binom.pmf(others, negatives, agree)
    return float(binom.pmf(sizes, atoms, active) @ collisions @ np.log1p(others))


def _scales(name: str, dictionary: Tensor, scale: float | Tensor) -> Tensor:
    """The scales as `[run or 1, 1, 1]`, after the checks."""
    scales = torch.as_tensor(scale, dtype=dictionary.dtype, device=dictionary.device).reshape(-1, 1, 1)
    if len(scales) not in (1, len(dictionary)) or not bool((scales > 0).all()):
        raise ValueError(
            f"{name}: scale must be > 0, one number or one per run, {len(dictionary)}, got {len(scales)} from "
            f"{float(scales.min())}"
        )
    return scales
