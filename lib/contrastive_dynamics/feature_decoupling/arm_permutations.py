"""Controls for comparisons of arms that share starts: arm labels shuffled within a start, and planted arms.

Values are `[arm, start]`, one statistic of each trained network; starts are paired across arms.
"""

import torch
from torch import Tensor


def planted_clusters(labels: Tensor, width: int, separation: float, generator: torch.Generator) -> Tensor:
    """Representations `[n, width]` that do cluster by label: N(0, I) about class means of length `separation`.

    The planted case for Figure 3: silhouette and neighbours must find it. At separation 0 it is the control.
    Source: derived; wen-li-2021, Figure 3.
    Args:
        labels: `[n]`, integers ≥ 0.
        width: ≥ the number of classes, whose means are orthogonal.
        separation: ≥ 0.
        generator: on the device of the labels.
    Raises: ValueError outside these ranges.
    """
    classes = int(labels.max()) + 1
    if width < classes or not separation >= 0:
        raise ValueError(f"width and separation must be ≥ {classes} and ≥ 0, got {width} and {separation}")
    drawn = torch.randn(len(labels), width, generator=generator, dtype=torch.float64, device=labels.device)
    return drawn + separation * torch.nn.functional.one_hot(labels, width).to(drawn.dtype)


def planted_sparse_firing(responses: Tensor, share: float) -> Tensor:
    """The same responses, ReLU'd so that a share of the units fires on each image: the planted case for Figure 4.

    From each row the level is subtracted that all but its `share` largest entries are below; ties may fire more.
    Source: derived; wen-li-2021, Figure 4.
    Args:
        responses: `[n, units]`.
        share: in (0, 1); at least one unit fires, and one does not.
    Returns: `[n, units]`, ≥ 0.
    Raises: ValueError for another share.
    """
    units = responses.shape[-1]
    if not 0 < share < 1 or units < 2:
        raise ValueError(f"share and units must be in (0, 1) and ≥ 2, got {share} and {units}")
    fires = min(units - 1, max(1, round(share * units)))
    return (responses - responses.kthvalue(units - fires, dim=-1, keepdim=True).values).relu()
