"""The measurements of Figure 2: zero-shot predictions by prompts, alignment and balance of outputs on evaluation data.

Shapes: runs first; outputs of n images and of their captions `[run, n, o]`, of the L prompts `[run, L, o]`; labels
`[n, L]`, bool; an image may have several.
"""

import torch
from torch import Tensor

from ..losses.named_losses import unit_outputs
from ..numerics.ranks import stable_rank
from ..numerics.ties import rounding_margin

_ENTRIES = 2**24  # entries of one array of correlations of pairs


def predictions(image_out: Tensor, prompt_out: Tensor) -> Tensor:
    """The prompt with the highest correlation cos(f_A(x), f_B(prompt)) with the image, as shares; ties share equally.

    Source: ren-li-2023, Section 6 ("highest correlation", as in Radford et al. (2021)).
    Args:
        image_out: `[run, n, o]`.
        prompt_out: `[run, L, o]`.
    Returns: `[run, n, L]`, nonnegative, summing to 1.
    Raises: ValueError for sizes that do not fit.
    Error: correlations within (o + 64)·eps of the highest are ties, so equal prompts share whatever their lengths.
    Cost: 2·n·L·o flops per run.
    """
    if image_out.ndim != 3 or prompt_out.ndim != 3 or image_out.shape[::2] != prompt_out.shape[::2]:
        got = f"{tuple(image_out.shape)}, {tuple(prompt_out.shape)}"
        raise ValueError(f"image_out and prompt_out must be [run, n, o] and [run, L, o], got {got}")
    images, prompts = (unit_outputs(_wide(out))[0] for out in (image_out, prompt_out))
    correlation = images @ prompts.mT
    margin = rounding_margin(images.shape[-1], images.dtype)
    best = ((correlation - correlation.amax(-1, keepdim=True)).abs() <= margin).to(image_out.dtype)
    return best / best.sum(-1, keepdim=True)


def zero_shot_accuracy(image_out: Tensor, prompt_out: Tensor, labels: Tensor) -> Tensor:
    """Share of the images whose prediction is one of their labels.

    Source: ren-li-2023, Section 6.
    Args:
        image_out, prompt_out: as `predictions`.
        labels: `[n, L]`, bool.
    Returns: `[run]`, 0 to 1.
    Raises: as `predictions`, and ValueError for other labels.
    """
    _check(labels, image_out, "zero_shot_accuracy")
    return (predictions(image_out, prompt_out) * labels).sum(-1).mean(-1)


def macro_recall(image_out: Tensor, prompt_out: Tensor, labels: Tensor) -> Tensor:
    """For each label, the share of the images with it that are predicted to be it; the mean over labels that occur.

    A constant answer among the labels that occur scores one over their number. An image gets one answer, so images
    with several labels keep even the best answers below 1.
    Args and Raises: as `zero_shot_accuracy`.
    Returns: `[run]`, 0 to 1.
    """
    _check(labels, image_out, "macro_recall")
    occurrences = labels.sum(0)
    recall = (predictions(image_out, prompt_out) * labels).sum(-2) / occurrences.clamp(min=1)
    return recall.sum(-1) / (occurrences > 0).sum()


def best_constant_answer(labels: Tensor) -> Tensor:
    """Accuracy of always answering the most frequent label, a float64 number, for labels `[n, L]`, bool."""
    return labels.double().mean(0).amax()


def alignment_score(image_out: Tensor, text_out: Tensor, labels: Tensor | None = None) -> Tensor:
    """P[f_A(x⁺)·f_B(x⁺) > f_A(x⁺)·f_B(x⁻)] over all pairs of an image and the caption of another.

    Ties do not count, so outputs that are all the same score 0, and a caption that two images share beats itself for
    neither. Outputs that are aligned along one direction, f = xe with x symmetric and continuous, score 3/4 =
    P[y < x | x > 0], however well they agree: a higher score takes more directions. With labels, captions of images
    that carry exactly the same labels do not count as negatives.
    Source: ren-li-2023, Definition 4.1.
    Args:
        image_out, text_out: `[run, n, o]`, n ≥ 2.
        labels: `[n, L]`, bool, or None.
    Returns: `[run]`.
    Raises: ValueError for other sizes, and if no negative is left.
    Error: what differs by at most (o + 64)·eps·‖f_A‖·(‖f_B⁺‖ + ‖f_B⁻‖) is a tie: rounding cannot tell it apart.
    Cost: 2·n²·o flops per run.
    """
    if image_out.shape != text_out.shape or image_out.ndim != 3 or image_out.shape[1] < 2:
        got = f"{tuple(image_out.shape)}, {tuple(text_out.shape)}"
        raise ValueError(f"image_out and text_out must be [run, n, o], n ≥ 2, got {got}")
    (runs, n, _), dtype = image_out.shape, image_out.dtype
    if labels is None:
        kinds = torch.arange(n, device=image_out.device)
    else:
        _check(labels, image_out, "alignment_score")
        kinds = torch.unique(labels, dim=0, return_inverse=True)[1]
    image_out, text_out = unit_outputs(_wide(image_out))[0], _wide(text_out)  # ‖f_A‖ is on both sides
    margin = rounding_margin(image_out.shape[-1], text_out.dtype) * text_out.norm(dim=-1, keepdim=True)
    aligned, wins, pairs = (image_out * text_out).sum(-1, keepdim=True) - margin, 0, 0
    # one more entry adds the margin of each negative to its product
    image_out, text_out = torch.cat([image_out, torch.ones_like(margin)], -1), torch.cat([text_out, margin], -1)
    for rows in torch.arange(n, device=image_out.device).split(max(1, _ENTRIES // (n * runs))):
        other = kinds[rows, None] != kinds
        wins = wins + ((image_out[:, rows] @ text_out.mT < aligned[:, rows]) & other).sum((-2, -1))
        pairs = pairs + other.sum()
    if pairs == 0:
        raise ValueError("labels must differ between two images, got the same for all")
    return wins.to(dtype) / pairs


def output_balance(outputs: Tensor) -> Tensor:
    """‖Σ‖_F²/‖Σ‖₂² of Σ = E[f fᵀ]: k where the outputs fill k directions equally, 1 where they fill one.

    Σ is not centred: the learner's outputs are already centred, and those of other heads may collapse to one point,
    which scores 1.
    Source: ren-li-2023, Definition 4.2.
    Args:
        outputs: f, `[..., n, o]`.
    Returns: `[...]`, 1 to o, 0 for outputs that are all 0.
    Raises: ValueError for outputs that are not finite.
    Cost: 2·n·o² flops.
    """
    return stable_rank(outputs.mT @ outputs)


def alignment_by_distance(image_out: Tensor, text_out: Tensor, labels: Tensor | None = None) -> Tensor:
    """P[‖f_A(x⁺) − f_B(x⁺)‖ < ‖f_A(x⁺) − f_B(x⁻)‖] over all pairs of an image and the caption of another.

    Ties do not count. Outputs that agree along one direction score 1 if no two of them are equal, where the products of
    `alignment_score` give 3/4; equal outputs score 0. For captions of one length the two readings agree.
    Source: ren-li-2023, Definition 4.1 read by distances.
    Args:
        image_out, text_out: `[run, n, o]`, n ≥ 2.
        labels: `[n, L]`, bool: captions of images with exactly the same labels are no negatives; or None.
    Returns: `[run]`.
    Raises: ValueError for other sizes, and if no negative is left.
    Error: distances that differ by at most (o + 64)·eps·(2‖f_A‖ + ‖f_B⁺‖ + ‖f_B⁻‖) are ties: rounding of the outputs
        cannot tell them apart.
    Cost: 3·n²·o flops per run, without products of matrices.
    """
    kinds = _kinds(image_out, text_out, labels, "alignment_by_distance")
    (runs, n, _), wins, pairs = image_out.shape, 0, 0
    for rows in torch.arange(n, device=image_out.device).split(max(1, _ENTRIES // (n * runs))):
        nearer, counted = _nearer(image_out, text_out, kinds, rows)
        wins, pairs = wins + nearer.sum((-2, -1)), pairs + counted.sum()
    if pairs == 0:
        raise ValueError("labels must differ between two images, got the same for all")
    return wins.to(image_out.dtype) / pairs


def nearer_pairs(image_out: Tensor, text_out: Tensor, labels: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Whether the caption of image i is nearer to it than that of image j, and whether the pair i, j counts.

    Args and Error: as `alignment_by_distance`.
    Returns: bool, `[run, n, n]`, False where the pair does not count, and `[n, n]`.
    Raises: ValueError for other sizes.
    Cost: as `alignment_by_distance`; n² numbers per run.
    """
    kinds = _kinds(image_out, text_out, labels, "nearer_pairs")
    return _nearer(image_out, text_out, kinds, torch.arange(len(kinds), device=kinds.device))


def _kinds(image_out: Tensor, text_out: Tensor, labels: Tensor | None, name: str) -> Tensor:
    """Numbers `[n]`, equal for images of exactly the same labels, after a check of the sizes."""
    if image_out.shape != text_out.shape or image_out.ndim != 3 or image_out.shape[1] < 2:
        got = f"{tuple(image_out.shape)}, {tuple(text_out.shape)}"
        raise ValueError(f"{name}: image_out and text_out must be [run, n, o], n ≥ 2, got {got}")
    if labels is None:
        return torch.arange(image_out.shape[1], device=image_out.device)
    _check(labels, image_out, name)
    return torch.unique(labels, dim=0, return_inverse=True)[1]


def _nearer(image_out: Tensor, text_out: Tensor, kinds: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    # half precision is compared as float32: its own rounding would make most distances ties
    f_a, f_b = (out.to(torch.promote_types(out.dtype, torch.float32)) for out in (image_out, text_out))
    unit = (f_a.shape[-1] + 64) * torch.finfo(f_a.dtype).eps
    margin_a, margin_b = unit * f_a.norm(dim=-1), unit * f_b.norm(dim=-1)
    reach = ((f_a - f_b).norm(dim=-1) + 2 * margin_a + margin_b)[:, rows].unsqueeze(-1)
    away = torch.cdist(f_a[:, rows], f_b, compute_mode="donot_use_mm_for_euclid_dist") - margin_b.unsqueeze(-2)
    counted = kinds[rows, None] != kinds
    return (reach < away) & counted, counted


def output_condition_number(outputs: Tensor, rank: int) -> Tensor:
    """√(λ_1/λ_rank) of Σ = E[f fᵀ], λ descending.

    Source: ren-li-2023, after Definition 4.2.
    Args:
        outputs: f, `[..., n, o]`.
        rank: 1 to min(n, o).
    Returns: `[...]`, ≥ 1.
    Raises: ValueError for another rank.
    Error: up to ε times the result, relative.
    Cost: about 4·n·o² flops.
    """
    if not 1 <= rank <= min(outputs.shape[-2:]):
        raise ValueError(f"rank must be 1 to {min(outputs.shape[-2:])}, got {rank}")
    sigma = torch.linalg.svdvals(outputs)
    return sigma[..., 0] / sigma[..., rank - 1]


def _wide(outputs: Tensor) -> Tensor:
    """Half precision as float32, in which products are compared: its own rounding would make most of them ties."""
    return outputs.to(torch.promote_types(outputs.dtype, torch.float32))


def _check(labels: Tensor, image_out: Tensor, name: str) -> None:
    if labels.ndim != 2 or labels.dtype != torch.bool or len(labels) != image_out.shape[1]:
        got = f"{labels.dtype} {tuple(labels.shape)}"
        raise ValueError(f"{name}: labels must be torch.bool [{image_out.shape[1]}, L], got {got}")
