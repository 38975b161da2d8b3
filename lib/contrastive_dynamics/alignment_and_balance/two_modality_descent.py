"""Mini-batch gradient descent of the two-modality model, in the maps from latents to embeddings.

Shapes and scales as in `two_modality_flow`; a batch is `[run, n, d]` sign vectors of each modality. The batch loss is
the population loss with expectations replaced by means over n positive pairs and over l separate negatives, and
N_A² = mean ‖map_a u_A‖² = Tr(map_a C_A map_aᵀ) over the positive pairs, C_A = mean u_A u_Aᵀ, as in a batch norm.

A step of W along −∂L/∂W moves map = WᵀĀ by the same times D, so nothing is lost by leaving W out. It is orthogonal to
map D^{-1} for any batch: ‖map D^{-1/2}‖_F², which the flow conserves, grows by the square of the step and never falls.
"""

import math

import torch
from torch import Tensor

from .contrastive_force import force, non_contrastive_force
from .model import Signs, correlation, sample_signs
from .two_modality_flow import velocity


def batch_force(
    g: Tensor, positive: Signs, negative: Signs, tau_squared: float | Tensor, negatives: float | Tensor
) -> Tensor:
    """−(1/τ²)∂L/∂G of the batch loss: E[(1 − S_A)u_A(u_B − ū_B)ᵀ + (1 − S_B)(u_A − ū_A)u_Bᵀ] over positive pairs.

    S_A = e^{τ²s}/(e^{τ²s} + K mean_j e^{τ²u_AᵀGu_Bj⁻}); ū_B = Σ_j p_j u_Bj⁻, p the softmax of τ²u_AᵀGu_Bj⁻, takes the
    place of the population's t_A; S_B and ū_A mirrored.
    Source: ren-li-2023, Lemma A.1, Algorithm 3.1.
    Args:
        g: correlations G, `[run, d, d]`.
        positive: pairs, `[run, n, d]` each.
        negative: negatives of each modality, `[run, l, d]` each.
        tau_squared: τ² > 0, a number or `[run]`.
        negatives: K > 0, a number or `[run]`.
    Returns: `[run, d, d]`.
    Error: rounding, in logarithms.
    Cost: 8·run·n·l·d flops, 3·run·n·l numbers.
    """
    tau, k = (torch.as_tensor(x, dtype=g.dtype, device=g.device).reshape(-1, 1) for x in (tau_squared, negatives))

    def side(g: Tensor, u: Tensor, partner: Tensor, strangers: Tensor) -> Tensor:
        h = tau.unsqueeze(-1) * (u @ g)
        exponents = h @ strangers.mT
        odds = (k / strangers.shape[-2]).log() + exponents.logsumexp(-1) - (h * partner).sum(-1)
        attract = torch.sigmoid(odds).unsqueeze(-1) * (partner - exponents.softmax(-1) @ strangers)
        return u.mT @ attract / u.shape[-2]

    (u_a, u_b), (strange_a, strange_b) = positive, negative
    return side(g, u_a, u_b, strange_b) + side(g.mT, u_b, u_a, strange_a).mT


def batch_velocity(
    map_a: Tensor,
    map_b: Tensor,
    scales: Tensor,
    positive: Signs,
    negative: Signs,
    tau_squared: float | Tensor | None,
    negatives: float | Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """[K_B Mᵀ/(N_A N_B) − ⟨M, G⟩K_A C_A/N_A²]D and its mirror: minus the gradient of the batch loss over τ², in W.

    M is `batch_force`, or mean u_A u_Bᵀ if tau_squared is None, for the non-contrastive loss, which takes no negatives.
    Source: ren-li-2023, eqs. (5) and (6) with means over a batch; the derivative of N_A goes through C_A.
    Args:
        map_a, map_b, scales: as `velocity`.
        positive, negative, tau_squared, negatives: as `batch_force`.
    Returns: as the maps.
    Cost: 4·run·(n + m)·d² flops and `batch_force`.
    """
    second_a, second_b = (map_ @ (u.mT @ u) / u.shape[-2] for map_, u in zip((map_a, map_b), positive, strict=True))
    square_a = (map_a * second_a).sum((-2, -1), keepdim=True)
    square_b = (map_b * second_b).sum((-2, -1), keepdim=True)
    both = (square_a * square_b).rsqrt()
    g = both * (map_a.mT @ map_b)
    if tau_squared is None:
        m = positive.u_a.mT @ positive.u_b / positive.u_a.shape[-2]
    else:
        m = batch_force(g, positive, negative, tau_squared, negatives)
    level = (m * g).sum((-2, -1), keepdim=True)
    move_a = both * (map_b @ m.mT) - level / square_a * second_a
    move_b = both * (map_a @ m) - level / square_b * second_b
    products = scales.square().unsqueeze(-2)
    return move_a * products, move_b * products


def descend(
    map_a: Tensor,
    map_b: Tensor,
    scales: Tensor,
    rank: int,
    generators: list[torch.Generator],
    *,
    step_size: float | Tensor,
    steps: int,
    batch: int | None,
    tau_squared: float | Tensor | None,
    negatives: float | Tensor | None = None,
    keep: list[int],
    signs: Signs | None = None,
) -> tuple[Tensor, Tensor]:
    """map ← map + η·`batch_velocity`, each step from a fresh batch of n positive and n negative pairs.

    With batch None the expectations are exact, with the mean over positive pairs taken over `signs`: plain gradient
    descent, which follows the flow at time η·(number of steps) up to O(η). A batch adds noise of order n^{-1/2} per
    step and, as S, ū and N_A are not linear in its means, a bias of order 1/n.
    Source: ren-li-2023, Algorithm 3.1 and Appendix D.
    Args:
        map_a, map_b: `[run, m, d]`.
        scales: `[run, d]` or `[d]`.
        rank: r, 1 to d.
        generators: one per run; none needed if batch is None.
        step_size: η > 0, a number or `[run]`.
        steps: ≥ 0.
        batch: n ≥ 1, or None.
        tau_squared: τ² > 0, a number or `[run]`; None for the non-contrastive loss.
        negatives: K > 0, a number or `[run]`; not used if τ² is None.
        keep: increasing step numbers from 0 to steps, 0 being the start.
        signs: positive pairs of the mean, needed if batch is None and τ² is not.
    Returns: the maps after the kept steps, `[kept, run, m, d]` twice.
    Raises: ValueError for an argument outside its range.
    Cost: per step one `batch_velocity`, or one `force` and `velocity`.
    """
    _check(map_a, map_b, scales, step_size, steps, batch, keep)
    _check_loss(map_a, rank, generators, batch, tau_squared, negatives, signs)
    eta = torch.as_tensor(step_size, dtype=map_a.dtype, device=map_a.device).reshape(-1, 1, 1)
    d = map_a.shape[-1]

    def move(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        if batch is None and tau_squared is None:
            return velocity(a, b, scales, non_contrastive_force(rank, d, a.device, a.dtype))
        if batch is None:
            return velocity(a, b, scales, force(correlation(a, b), signs, tau_squared, negatives))
        drawn = sample_signs(rank, d, 2 * batch, generators, a.dtype)
        positive, negative = (Signs(*half) for half in zip(*(part.split(batch, 1) for part in drawn), strict=True))
        return batch_velocity(a, b, scales, positive, negative, tau_squared, negatives)

    kept, wanted = [], set(keep)
    for step in range(steps + 1):
        if step in wanted:
            kept.append((map_a, map_b))
        if step < steps:
            move_a, move_b = move(map_a, map_b)
            map_a, map_b = map_a + eta * move_a, map_b + eta * move_b
    return torch.stack([a for a, _ in kept]), torch.stack([b for _, b in kept])


def _check(
    map_a: Tensor,
    map_b: Tensor,
    scales: Tensor,
    step_size: float | Tensor,
    steps: int,
    batch: int | None,
    keep: list[int],
) -> None:
    if map_a.ndim != 3 or map_a.shape != map_b.shape or scales.shape not in (map_a.shape[::2], map_a.shape[2:]):
        got = ", ".join(str(list(part.shape)) for part in (map_a, map_b, scales))
        raise ValueError(f"map_a, map_b and scales must be [run, m, d], twice, and [run, d] or [d], got {got}")
    eta = torch.as_tensor(step_size)
    if eta.shape not in ((), map_a.shape[:1]) or not bool((eta > 0).all()) or steps < 0:
        raise ValueError(f"step_size and steps must be > 0, one number or [run], and ≥ 0, got {step_size} and {steps}")
    if batch is not None and batch < 1:
        raise ValueError(f"batch must be ≥ 1 or None, got {batch}")
    if not keep or list(keep) != sorted(set(keep)) or keep[0] < 0 or keep[-1] > steps:
        raise ValueError(f"keep must be increasing numbers from 0 to {steps}, got {keep}")


def _check_loss(
    map_a: Tensor,
    rank: int,
    generators: list[torch.Generator],
    batch: int | None,
    tau_squared: float | Tensor | None,
    negatives: float | Tensor | None,
    signs: Signs | None,
) -> None:
    if not 1 <= rank <= map_a.shape[-1]:
        raise ValueError(f"rank must be 1 to d = {map_a.shape[-1]}, got {rank}")
    if batch is not None and len(generators) != map_a.shape[0]:
        raise ValueError(f"generators must be one per run, {map_a.shape[0]}, got {len(generators)}")
    if tau_squared is None:
        return
    if batch is None and signs is None:
        raise ValueError("signs must be the positive pairs of the mean if batch is None, got None")
    for label, value in (("tau_squared", tau_squared), ("negatives", negatives)):
        number = torch.as_tensor(math.nan if value is None else value)
        if number.shape not in ((), map_a.shape[:1]) or not bool((number > 0).all()):
            raise ValueError(f"{label} must be > 0, one number or [run], got {value}")
