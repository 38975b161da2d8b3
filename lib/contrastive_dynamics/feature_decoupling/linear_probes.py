"""Linear probes on a frozen representation: the regression and classification tasks, R² and accuracy.

Shapes, with `tasks` tasks per run: w* `[run, tasks, d]`, latents `[run, n, d]`, labels `[run, n, tasks]`,
representations `[run, n, k]`. Probes have no intercept, as all draws are symmetric around 0.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from ..numerics.ties import rounding_margin

RIDGES = (1e-8, 1e-6, 1e-4, 1e-2, 1e-1, 1.0, 10.0)


def draw_w_star(
    generators: list[torch.Generator], atoms: int, tasks: int = 1, dtype: torch.dtype = torch.float64
) -> Tensor:
    """w* `[run, tasks, d]`: |w*_j| uniform in [1, 2], signs by a fair coin, for the paper's |w*_j| = Θ(1).

    Source: wen-li-2021, Definition 3.1.
    Args:
        generators: one per run.
        atoms: d ≥ 1.
        tasks: tasks per run, ≥ 1.
        dtype: dtype of the result.
    Raises: ValueError for no atoms or tasks.
    Cost: two draws per entry.
    """
    if atoms < 1 or tasks < 1:
        raise ValueError(f"atoms and tasks must be ≥ 1, got {atoms} and {tasks}")
    uniform = [torch.rand(2, tasks, atoms, generator=g, dtype=dtype, device=g.device) for g in generators]
    size, coin = torch.stack(uniform, 1)
    return (1 + size) * torch.where(coin < 0.5, -1, 1)


def downstream_labels(latents: Tensor, w_star: Tensor) -> tuple[Tensor, Tensor]:
    """(⟨w*, z⟩, sign⟨w*, z⟩), both `[run, n, tasks]`.

    The sign is 0 where z = 0, which happens with probability (1 - p)^d, and otherwise never for a w* with a density. In
    the limit it does not matter, (1 - p)^d ≈ 1/log d at p = log log d/d, but it falls slowly. The paper does not say
    which class these samples have. `classification_probe` leaves them out.
    Source: wen-li-2021, Definition 3.1.
    Args:
        latents: z, `[run, n, d]`.
        w_star: `[run, tasks, d]`.
    Cost: 2·n·d·tasks flops per run.
    """
    values = latents @ w_star.mT
    return values, values.sign()


def regression_probe(
    train_x: Tensor, train_y: Tensor, test_x: Tensor, test_y: Tensor, ridges: Sequence[float] = RIDGES
) -> Tensor:
    """Test R² `[run, tasks]` of ridge regression, 1 - Σ(y - ŷ)²/Σy²: 0 for ŷ = 0, with no mean subtracted.

    w = (XᵀX + λI)⁻¹Xᵀy, λ = ridge·‖X‖_F²/k, so that the scale of a representation does not matter. Each run and task
    uses the ridge with the least leave-one-out error Σ((y_i - ŷ_i)/(1 - h_i))², h the diagonal of X(XᵀX + λI)⁻¹Xᵀ: with
    few labels the smallest ridge would be nearly the interpolant of least norm, whose error peaks at n = k. Computed in
    float64 for any input, since y - ŷ and 1 - h nearly cancel there.
    Source: wen-li-2021, Corollaries 3.3 and 3.5 (least squares there).
    Args:
        train_x: `[run, n, k]`, n ≥ 2.
        train_y: `[run, n, tasks]`.
        test_x: `[run, n', k]`.
        test_y: `[run, n', tasks]`.
        ridges: one or more, > 0.
    Raises: ValueError for fewer labels, rows that do not fit, or a ridge that is not positive.
    Cost: a thin SVD of X (about 6·n·k·min(n, k) flops) per run, 4·n·min(n, k)·tasks flops per ridge.
    """
    _check_rows("regression_probe", train_x, train_y, test_x, test_y)
    if not ridges or not all(ridge > 0 for ridge in ridges):
        raise ValueError(f"ridges must be one or more numbers > 0, got {tuple(ridges)}")
    train_x, train_y, test_x, test_y = (each.double() for each in (train_x, train_y, test_x, test_y))
    errors, weights = zip(*_ridge_path(train_x, train_y, ridges), strict=True)
    best = torch.stack(errors).argmin(0)[None, :, None]
    chosen = torch.stack(weights).take_along_dim(best, 0).squeeze(0)
    return 1 - (test_y - test_x @ chosen).square().sum(-2) / test_y.square().sum(-2)


def _ridge_path(x: Tensor, y: Tensor, ridges: Sequence[float]) -> Iterator[tuple[Tensor, Tensor]]:
    """(leave-one-out error `[run, tasks]`, weights `[run, k, tasks]`) of each ridge."""
    u, s, vt = torch.linalg.svd(x, full_matrices=False)
    projected, energy = u.mT @ y, s.square().unsqueeze(-1)
    unit = energy.sum(-2, keepdim=True) / x.shape[-1]
    unit = torch.where(unit > 0, unit, 1.0)  # a representation that is 0 everywhere predicts 0
    for ridge in ridges:
        shrink = energy / (energy + ridge * unit)
        left_out = (y - u @ (shrink * projected)) / (1 - u.square() @ shrink).clamp(min=torch.finfo(y.dtype).eps)
        yield left_out.square().sum(-2), vt.mT @ (s.unsqueeze(-1) / (energy + ridge * unit) * projected)


def classification_probe(
    train_x: Tensor, train_classes: Tensor, test_x: Tensor, test_classes: Tensor, strength: float = 1.0
) -> Tensor:
    """Test accuracy `[run, tasks]` of logistic regression; rows of class 0 are left out, in training and in the test.

    A row on the border of the two classes, such as a representation that is 0, is right by half: it names no class.
    The representation is first divided by its root mean square over the training rows, so that its scale does not
    matter.
    Source: wen-li-2021, Corollaries 3.3 and 3.5.
    Args:
        train_x: `[run, n, k]`, n ≥ 2.
        train_classes: -1, 0 or 1, `[run, n, tasks]`.
        test_x: `[run, n', k]`.
        test_classes: -1, 0 or 1, `[run, n', tasks]`.
        strength: scikit-learn's C > 0, the inverse of the ridge.
    Returns: float64, nan where no test row is left.
    Raises: ValueError for rows that do not fit, a strength that is not positive, or a training set of one class.
    Error: a row x with |⟨w, x⟩| ≤ (k + 64)·eps·‖w‖‖x‖ lies on the border.
    Cost: scikit-learn's L-BFGS, one run and task at a time, on the CPU.
    """
    from sklearn.linear_model import LogisticRegression

    _check_rows("classification_probe", train_x, train_classes, test_x, test_classes)
    if not strength > 0:
        raise ValueError(f"strength must be > 0, got {strength}")
    if not bool(((train_classes == 1).any(-2) & (train_classes == -1).any(-2)).all()):
        raise ValueError("train_classes must have both classes in every run and task, got one class")
    unit = train_x.square().mean((-2, -1), keepdim=True).sqrt()
    unit = torch.where(unit > 0, unit, 1.0)
    parts = tuple(map(_array, (train_x / unit, train_classes, test_x / unit, test_classes)))
    accuracy = np.full(parts[1][:, 0].shape, np.nan)
    for run, task in np.ndindex(accuracy.shape):
        x, y, test, truth = (part[run] for part in parts)
        kept, tested = y[:, task] != 0, truth[:, task] != 0
        if tested.any():
            probe = LogisticRegression(C=strength, fit_intercept=False, max_iter=1000).fit(x[kept], y[kept, task])
            accuracy[run, task] = _share_right(probe.coef_[0], test[tested], truth[tested, task])
    return torch.from_numpy(accuracy).to(train_x.device)


def _share_right(w: np.ndarray, x: np.ndarray, truth: np.ndarray) -> float:
    """Share of the rows with sign⟨w, x⟩ = truth, −1 or 1; a row on the border counts by half."""
    margin = rounding_margin(len(w), torch.from_numpy(x).dtype) * np.linalg.norm(w) * np.linalg.norm(x, axis=-1)
    towards = truth * (x @ w)
    return float(np.mean((towards > margin) + 0.5 * (np.abs(towards) <= margin)))


def linear_limit(weights: Tensor, dictionary: Tensor, active: float, noise: float, w_star: Tensor) -> Tensor:
    """R² of the best probe on the linear f(x) = Wx, with any number of labels: `[run, tasks]`.

    cᵀ(WΣWᵀ)⁺c/(p‖w*‖²), Σ = pMMᵀ + σ_ξ²I the covariance of x and c = p·WMw* that of f and y. It never exceeds
    p/(p + σ_ξ²), reached by every W whose row space contains span(M), and so by x itself, whatever w* is.
    Source: derived; wen-li-2021, Corollary 3.3 and Section 3 (linear models on x).
    Args:
        weights: W, `[run, m, d1]`.
        dictionary: M, `[run, d1, d]`.
        active: p in (0, 1).
        noise: σ_ξ > 0.
        w_star: `[run, tasks, d]`.
    Cost: 2·m·d1·(d + m) flops and an eigenproblem of size m per run.
    """
    weights, dictionary, w_star = weights.double(), dictionary.double(), w_star.double()  # the pseudo-inverse needs it
    seen = weights @ dictionary
    covariance = active * seen @ seen.mT + noise**2 * weights @ weights.mT
    cross = active * seen @ w_star.mT
    explained = (cross * (torch.linalg.pinv(covariance, hermitian=True) @ cross)).sum(-2)
    return explained / (active * w_star.square().sum(-1))


def _check_rows(name: str, train_x: Tensor, train_y: Tensor, test_x: Tensor, test_y: Tensor) -> None:
    shapes = [tuple(each.shape) for each in (train_x, train_y, test_x, test_y)]
    runs_and_rows = [shape[:2] for shape in shapes]
    fits = runs_and_rows[0] == runs_and_rows[1] and runs_and_rows[2] == runs_and_rows[3] and shapes[1][1] >= 2
    if not fits or shapes[0][2:] != shapes[2][2:] or shapes[1][2:] != shapes[3][2:] or len(train_y.shape) != 3:
        raise ValueError(f"{name}: shapes must be [run, n, k], [run, n, tasks] with n ≥ 2, twice, got {shapes}")


def _array(x: Tensor) -> np.ndarray:
    return np.asarray(x.detach().cpu())
