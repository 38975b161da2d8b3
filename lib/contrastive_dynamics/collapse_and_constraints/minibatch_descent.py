"""Projected descent (11) with a fresh matrix C at every step, as a map of the outputs, and the noise that it leaves.

Shapes: outputs m = W1ᵀW2 `[..., d, z]` in the given basis, C `[..., d, d]`, symmetric, of a minibatch.
"""

import torch
from torch import Tensor

from .constrained_flow import polar_map


def minibatch_map(m: Tensor, c: Tensor, rate: float) -> Tensor:
    """The outputs after one step of (11) along the gradient of Tr(mᵀCm), exactly and for any h.

    The step depends on C through y = Cm only, so nothing ties it to one eigenbasis: with C = VΛVᵀ it is
    V·`polar_map`(Vᵀm, Λ). So minibatches may change V at every step, and the weights still never enter.

    Source: derived, beyond the paper; esser-2023, eq. (11).
    Args:
        m: outputs, `[..., d, z]`.
        c: C of this step, `[..., d, d]`, symmetric.
        rate: η.
    Returns: as m.
    Cost: one eigenproblem of size d and `polar_map`.
    """
    lam, v = torch.linalg.eigh(c)
    return v @ polar_map(v.mT @ m, lam, rate)


def stationary_distance(lam: Tensor, variance: Tensor, k: int, rate: float, batch: int) -> Tensor:
    """E‖mmᵀ − P*‖²_F at rest to first order in η/b: 3(η/b) Σ_{i≤k<j} Var(N_ji)/(λ_j − λ_i), where C = E[C] + N/√b.

    Near P* on the k lowest eigenvectors a step turns column i towards e_j by x ← (1 − 3η(λ_j − λ_i))x − 3ηN_ji/√b:
    the polar flow turns at 3/2 of the speed of (9). This process rests at E[x²] = (3/2)(η/b) Var(N_ji)/(λ_j − λ_i), and
    ‖P − P*‖² = 2Σx². Lost length is of second order.

    Source: derived, beyond the paper.
    Args:
        lam: eigenvalues of E[C], `[d]`, ascending, λ_k < λ_{k+1}.
        variance: variances of the entries of N in the eigenbasis of E[C], `[d, d]`, for one pair.
        k: rank of P*, 1 ≤ k < d.
        rate: η.
        batch: pairs in a minibatch b, with C their mean.
    Returns: a scalar.
    Raises: ValueError for another k, or eigenvalues without a gap.
    Error: O(η|λ|) relative.
    """
    if not 1 <= k < len(lam) or not bool(lam[k - 1] < lam[k]):
        raise ValueError(f"k must be ≥ 1 and < d, with λ_k < λ_(k+1), got k = {k} and {lam.tolist()}")
    gaps = lam[k:, None] - lam[None, :k]
    return 3 * rate / batch * (variance[k:, :k] / gaps).sum()
