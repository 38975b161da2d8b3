"""Where one output ends under (9), whatever its smallest eigenvalue (repeated, or 0), and its distance from an axis."""

import torch
from torch import Tensor


def vector_limit(q0: Tensor, lam: Tensor) -> Tensor:
    """lim q(t) of (10): along Pq(0), P the projector on the eigenspace of the smallest λ that the start has a part in.

    The direction of q walks the path of e^{−2Λt}q(0) in another clock τ, and s = ‖q‖² obeys
    s/√(1 − s) = Σ_j q_j(0)² e^{−4λ_jτ}/√(1 − s(0)). So the length tends to 1 if that λ is negative, to 0 if it is
    positive, and if it is 0 to √s with s = 2F/(F + √(F² + 4)), F = ‖Pq(0)‖²/√(1 − s(0)). A length of 1 is kept.

    Source: derived; esser-2023, Theorem 3, has the limit for λ_1 simple and no eigenvalue 0.
    Args:
        q0: start, `[..., d]`, ‖q0‖ ≤ 1, not 0.
        lam: eigenvalues, `[..., d]`, in any order; equal ones must be equal to the last bit.
    Returns: `[..., d]`.
    Raises: ValueError for a longer start, or 0.
    Cost: 10·d flops.
    """
    s = q0.square().sum(-1, keepdim=True)
    if bool((s > 1 + 1e-9).any()) or bool((s == 0).any()):
        raise ValueError(f"q0 must have a length in (0, 1], got {float(s.min()) ** 0.5:g} to {float(s.max()) ** 0.5:g}")
    lowest = torch.where(q0 != 0, lam, torch.inf).amin(-1, keepdim=True)
    part = torch.where(lam == lowest, q0, 0)
    size = part.square().sum(-1, keepdim=True)
    f = size / (1 - s).clamp(min=0).sqrt()
    kept = torch.where(f.isfinite(), 2 * f / (f + (f.square() + 4).sqrt()), 1)
    squared = torch.where((lowest < 0) | (s >= 1), 1, torch.where(lowest == 0, kept, 0))
    return part * (squared / size).sqrt()


def axis_distance(q: Tensor, k: int) -> Tensor:
    """min ‖q ∓ e_k‖, the distance of one output from the k-th eigenvector; q `[..., d, 1]`, returns `[...]`."""
    axis = torch.eye(q.shape[-2], dtype=q.dtype, device=q.device)[k]
    q = q[..., 0]
    return torch.minimum((q - axis).norm(dim=-1), (q + axis).norm(dim=-1))
