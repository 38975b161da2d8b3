"""The arms of Figure 2: heads trained with and without negatives, and what is measured of them on test pairs."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from contrastive_dynamics.alignment_and_balance.head_training import Recipe, Snapshot, train_heads
from contrastive_dynamics.alignment_and_balance.image_bootstrap import (
    resampled_alignment,
    resampled_spectra,
    weights_without_groups,
)
from contrastive_dynamics.alignment_and_balance.image_caption_pairs import Pairs
from contrastive_dynamics.alignment_and_balance.projection_heads import apply_heads, init_heads
from contrastive_dynamics.alignment_and_balance.zero_shot import (
    alignment_by_distance,
    alignment_score,
    macro_recall,
    output_balance,
    output_condition_number,
    predictions,
    zero_shot_accuracy,
)
from contrastive_dynamics.numerics.random_streams import stream

LARGEST_BATCH, DIRECTIONS, GROUPS = 128, 10, 40


class ArmPlan(NamedTuple):
    """What all arms share."""

    seed: int
    starts: int  # initialisations of each arm
    width: int  # of the heads and of their outputs
    marks: list[int]  # updates after which the heads are measured, from 0


def test_outputs(snapshot: Snapshot, train: Pairs, test: Pairs) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs `[run, n, o]` of the test images, of the first caption of each, and of the prompts."""
    _, by_image = apply_heads(snapshot.image, train.images)
    _, by_text = apply_heads(snapshot.text, train.captions.flatten(0, 1))
    f_a, _ = apply_heads(snapshot.image, test.images, by_image)
    f_b, _ = apply_heads(snapshot.text, test.captions[:, 0], by_text)
    asked, _ = apply_heads(snapshot.text, test.prompts, by_text)
    return f_a, f_b, asked


def without_groups(snapshot: Snapshot, train: Pairs, test: Pairs) -> dict[str, Tensor]:
    """Alignment by distances, stable rank and condition number with each of 40 groups of test images left out.

    Args: as `on_test`.
    Returns: name → `[run, group]`, for `jackknife_values`.
    """
    f_a, f_b, _ = test_outputs(snapshot, train, test)
    weights = weights_without_groups(f_a.shape[1], min(GROUPS, f_a.shape[1])).to(f_a.device)
    spectra = resampled_spectra(f_a.double(), weights)  # [group, run, o]
    top = spectra[..., 0]
    return {
        "distances, groups": resampled_alignment(f_a, f_b, weights).double().mT,
        "stable rank, groups": (spectra.square().sum(-1) / top.square()).mT,
        "condition, groups": (top / spectra[..., DIRECTIONS - 1]).sqrt().mT,
    }


def on_test(snapshot: Snapshot, train: Pairs, test: Pairs) -> dict[str, Tensor]:
    """The numbers of Figure 2 on the test pairs.

    "right" and "recalled" are each image's part: their means over the images are the accuracy and the macro recall.
    Source: ren-li-2023, Section 6, Definitions 4.1 and 4.2.
    Args:
        snapshot: heads of all runs.
        train: pairs whose statistics the batch norm of the heads uses.
        test: pairs that are scored.
    Returns: name → `[run]`; "right" and "recalled" `[run, image]`.
    Raises: ValueError for fewer than ten test images or outputs.
    """
    f_a, f_b, asked = test_outputs(snapshot, train, test)
    right = predictions(f_a, asked) * test.labels  # [run, image, label]
    per_label = test.labels.sum(0).clamp(min=1) * test.labels.any(0).sum()
    return {
        "accuracy": zero_shot_accuracy(f_a, asked, test.labels),
        "recall": macro_recall(f_a, asked, test.labels),
        "distances": alignment_by_distance(f_a, f_b),
        "products": alignment_score(f_a, f_b),
        "stable rank": output_balance(f_a),
        "condition": output_condition_number(f_a, DIRECTIONS),
        "right": right.sum(-1),
        "recalled": right.shape[1] * (right / per_label).sum(-1),
    }


def train_arms(
    train: Pairs,
    test: Pairs,
    captions: Tensor,
    arms: list[float | None],
    plan: ArmPlan,
    watch: Callable[[Iterable[Snapshot]], Iterable[Snapshot]] = iter,
) -> dict[str, Tensor]:
    """Heads of several arms, trained together, and what `on_test` measures of them.

    Start k of each arm has the same initial heads and the same batches. K is the number of other pairs in a batch.
    Source: ren-li-2023, Section 6, Figure 2.
    Args:
        train, test: pairs.
        captions: of the training images, `[n, c, q]`; those of other images for a control.
        arms: τ² of each arm, None without negatives.
        plan: what they share.
        watch: wraps the snapshots, for a progress bar.
    Returns: name → `[mark, arm, start, ...]`, float64; of `without_groups`, at the last mark, `[arm, start, group]`.
    Raises: as `train_heads`.
    Cost: one `train_heads` of (number of arms)·starts runs.
    """
    batch, runs = min(LARGEST_BATCH, len(train.images) // 2), len(arms) * plan.starts
    each = [tau_squared for tau_squared in arms for _ in range(plan.starts)]
    recipe = Recipe(
        torch.tensor([t is not None for t in each]),
        torch.tensor([1.0 if t is None else t for t in each], dtype=torch.float32),
        torch.full((runs,), batch - 1.0, dtype=torch.float32),
        batch,
    )

    def of_runs(purpose: str) -> list[torch.Generator]:
        return [stream(plan.seed, k, purpose) for _ in arms for k in range(plan.starts)]

    heads = (
        init_heads(of_runs(what), x.shape[-1], plan.width, plan.width, torch.float32)
        for what, x in (("image head", train.images), ("text head", captions))
    )
    run = train_heads(*heads, train.images, captions, of_runs("head batches"), recipe, plan.marks)
    found, last = [], None
    for snapshot in watch(run):
        found.append(on_test(snapshot, train, test))
        last = snapshot
    shape = len(arms), plan.starts
    measured = {k: torch.stack([x[k].double() for x in found]).unflatten(1, shape) for k in found[0]}
    return measured | {k: x.unflatten(0, shape) for k, x in without_groups(last, train, test).items()}


def group_means(values: Tensor, groups: int = 40) -> Tensor:
    """Means of consecutive groups of images, `[image]` → `[groups]`: their spread is that of the images.

    Each group counts as one, also where sizes differ by one image because their number is no multiple of the groups:
    then the mean of the groups is that of the images up to a tenth of its standard error.
    """
    return torch.stack([part.mean() for part in values.tensor_split(min(groups, len(values)))])
