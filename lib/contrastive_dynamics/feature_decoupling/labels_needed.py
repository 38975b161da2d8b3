"""How many labels a linear probe needs: R² over the number of labels, and where it reaches a target."""

from collections.abc import Sequence

import torch
from torch import Tensor

from .linear_probes import regression_probe


def probe_curve(train_x: Tensor, train_y: Tensor, test_x: Tensor, test_y: Tensor, counts: Sequence[int]) -> Tensor:
    """Test R² of ridge regression on the first `count` rows, for each count, mean over tasks: `[count, run]`.

    Source: wen-li-2021, Section 3 (labels that raw x needs) and Corollary 3.5 (that f needs).
    Args:
        train_x, train_y, test_x, test_y: as `linear_probes.regression_probe`.
        counts: increasing, from 2 to the number of rows.
    Raises: ValueError for other counts, and as `regression_probe`.
    Cost: that of `regression_probe` for each count.
    """
    rows = train_x.shape[1]
    if not counts or counts[0] < 2 or list(counts) != sorted(set(counts)) or counts[-1] > rows:
        raise ValueError(f"counts must increase from 2 or more up to {rows}, got {list(counts)}")
    scores = (regression_probe(train_x[:, :n], train_y[:, :n], test_x, test_y).mean(-1) for n in counts)
    return torch.stack(list(scores))


def labels_to_reach(counts: Sequence[int], scores: Tensor, target: Tensor | float) -> Tensor:
    """The number of labels at which a curve first reaches its target, between counts by log count: float64 `[run]`.

    inf where it never does; the first count where it does so at once.
    Args:
        counts: increasing, > 0.
        scores: `[count, run]`.
        target: a number, or one per run.
    Raises: ValueError unless there is one score per count.
    """
    if len(counts) != len(scores) or list(counts) != sorted(set(counts)) or counts[0] <= 0:
        raise ValueError(f"counts must increase from above 0, one per score, got {list(counts)} for {len(scores)}")
    logs = torch.tensor(counts, dtype=torch.float64, device=scores.device).log()
    scores, target = scores.double(), torch.as_tensor(target, dtype=torch.float64, device=scores.device)
    reached = scores >= target
    after = reached.long().argmax(0)
    before = (after - 1).clamp(min=0)
    low, high = (scores.gather(0, k.unsqueeze(0))[0] for k in (before, after))
    part = torch.where(after > 0, (target - low) / (high - low), torch.zeros_like(low))
    found = (logs[before] + part * (logs[after] - logs[before])).exp()
    return torch.where(reached.any(0), found, torch.inf)


def linear_labels(dim: int, active: float, noise: float, share: float = 0.5) -> float:
    """Labels with which least squares on raw x reaches a share of its limit p/(p + σ_ξ²), for n > d1 + 1.

    With n labels the excess error of least squares is (d1/(n - d1 - 1)) of the error of the best linear probe, so with
    R² the limit, R²(n) = R² - (1 - R²) d1/(n - d1 - 1) and n = d1 + 1 + d1 (1 - R²)/(R²(1 - share)): of the order of
    d1, whatever the task. Gaussian x is assumed; for a sparse code it is close once σ_ξ² is not far below p. Ridge
    needs fewer.
    Source: derived; wen-li-2021, Section 3 (linear regression over x).
    Args:
        dim: d1 ≥ 1.
        active, noise: p in (0, 1) and σ_ξ > 0.
        share: in [0, 1).
    Raises: ValueError outside these ranges.
    """
    if dim < 1 or not (0 < active < 1 and noise > 0 and 0 <= share < 1):
        raise ValueError(
            "dim, active, noise and share must be ≥ 1, in (0, 1), > 0 and in [0, 1), "
            f"got {dim}, {active}, {noise} and {share}"
        )
    limit = active / (active + noise**2)
    return dim + 1 + dim * (1 - limit) / (limit * (1 - share))
