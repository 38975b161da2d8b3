"""Controls for comparisons of arms that share starts: arm labels shuffled within a start, and planted arms.

Values are `[arm, start]`, one statistic of each trained network; starts are paired across arms.
"""

from itertools import permutations

import torch
from torch import Tensor

MOST_ARMS = 6


def shuffled_arms(values: Tensor, generator: torch.Generator) -> Tensor:
    """The values with the arms of each start in a random order, drawn anew for each start: `[arm, start]`.

    If the arms do not matter, the shuffled values have the law of the observed ones. So a rule that the shuffled values
    meet as often as the observed ones says nothing about arms.
    Source: Pitman, Significance tests which may be applied to samples from any populations (1937).
    Args:
        values: `[arm, start]`, two arms or more.
        generator: on the device of the values.
    Raises: ValueError for other shapes.
    """
    _check("shuffled_arms", values)
    order = torch.rand(values.shape, generator=generator, dtype=torch.float32, device=values.device).argsort(0)
    return values.gather(0, order)


def paired_permutation_p(difference: Tensor, generator: torch.Generator | None = None, draws: int = 10_000) -> float:
    """One-sided p of mean(difference) > 0 under sign flips: the share of flips whose mean is at least the observed one.

    All 2^n flips up to n = 16; beyond it `draws` random ones, the observed among them. The least p is 2^-n.
    Source: Fisher, The Design of Experiments (1935), section 21.
    Args:
        difference: `[start]`, one arm less the other.
        generator: needed above 16 starts.
        draws: random flips, ≥ 1.
    Raises: ValueError for no starts, another shape, no draws, or no generator where one is needed.
    """
    count = len(difference)
    if difference.ndim != 1 or not count or draws < 1 or (count > 16 and generator is None):
        raise ValueError(
            "difference, draws and generator must be [start], ≥ 1, and given above 16 starts, "
            f"got {tuple(difference.shape)}, {draws} and {generator}"
        )
    difference = difference.double()
    if count <= 16:
        places = torch.arange(count, device=difference.device)
        bits = torch.arange(2**count, device=difference.device).unsqueeze(-1) >> places & 1
    else:
        bits = torch.randint(2, (draws, count), generator=generator, device=generator.device)
        bits[0] = 0
    means = (1 - 2 * bits).double() @ difference / count
    observed = difference.mean()
    return float((means >= observed - 1e-12 * difference.abs().mean()).double().mean())


def arm_orders_met(values: Tensor) -> dict[tuple[int, ...], int]:
    """How many starts have each order of the arms, from the least value to the largest; ties go to the first arm.

    Args:
        values: `[arm, start]`, 2 to 6 arms.
    Raises: ValueError for other shapes.
    """
    _check("arm_orders_met", values)
    found = [tuple(order) for order in values.argsort(stable=True, dim=0).T.tolist()]
    return {order: found.count(order) for order in permutations(range(len(values)))}


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


def _check(name: str, values: Tensor) -> None:
    if values.ndim != 2 or not 2 <= len(values) <= MOST_ARMS or not values.shape[1]:
        raise ValueError(f"{name}: values must be [arm, start], 2 to {MOST_ARMS} arms, got {tuple(values.shape)}")
