"""What an augmentation of images preserves between two views: C_T = E[(Tx)(T'x)ᵀ], and how fast each direction grows.

Near the start a linear layer grows along a direction v at the rate vᵀC_T v, as in `view_correlation.growth_rates`, here
estimated over images. Shapes: images `[n, 3, s, s]`, views flattened to `[n, 3s²]`, directions `[k, 3s²]`.
"""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from .image_augmentations import Augmentation


class SharedMoment(NamedTuple):
    """Covariance C of the two views, symmetrised, and mean covariance S of a view with itself, `[3s², 3s²]` each."""

    cross: Tensor
    own: Tensor


def masked_pair(images: Tensor, generator: torch.Generator, block: int = 1) -> tuple[Tensor, Tensor]:
    """(2Dx, 2(I - D)x) of images less their mean, D equal on blocks of pixels and on the three colours.

    In the mean over D the cross moment is that of x, with 0 for two entries in one block.
    Source: wen-li-2021, Definition 2.3, with blocks of pixels as coordinates.
    Args:
        images: `[n, 3, s, s]`.
        generator: on the device of the images.
        block: side of a block in pixels, a divisor of s.
    Returns: `[n, 3s²]` twice.
    Raises: ValueError for another block.
    """
    count, _, size, _ = images.shape
    if block < 1 or size % block:
        raise ValueError(f"block must be a divisor of {size}, got {block}")
    coins = torch.rand(
        count, 1, size // block, size // block, generator=generator, dtype=torch.float32, device=images.device
    )
    small = coins < 0.5
    mask = small.repeat_interleave(block, -1).repeat_interleave(block, -2).to(images.dtype)
    x = images - images.mean(0)
    first = 2 * mask * x
    return first.flatten(1), (2 * x - first).flatten(1)


def augmented_pair(images: Tensor, generator: torch.Generator, augmentation: Augmentation) -> tuple[Tensor, Tensor]:
    """Two independent views of every image, `[n, 3s²]` twice, values 0 to 1.

    Args:
        images: `[n, 3, s, s]`, values 0 to 1.
        generator: on the device of the images.
        augmentation: see `Augmentation`.
    """
    first, second = (augmentation(images.unsqueeze(0), [generator]).squeeze(0).flatten(1) for _ in range(2))
    return first, second


def shared_moment(pairs: Iterable[tuple[Tensor, Tensor]]) -> SharedMoment:
    """C and S over all pairs, each view less its mean over all of them, in float64.

    Source: derived; wen-li-2021, Section 4.
    Args:
        pairs: blocks of views `[n, 3s²]`, as `masked_pair` and `augmented_pair` make them; more than one datum in all.
    Raises: ValueError for less.
    Error: about √(C_ii C_jj/n).
    Cost: 6·n·(3s²)² flops; 3·(3s²)² numbers.
    """
    count, sums, products = 0, None, None
    for block in pairs:
        first, second = (view.double() for view in block)
        found = torch.stack([first.mT @ second, first.mT @ first, second.mT @ second])
        totals = torch.stack([first.sum(0), second.sum(0)])
        count += len(first)
        products, sums = (found, totals) if products is None else (products + found, sums + totals)
    if count < 2:
        raise ValueError(f"pairs must be 2 or more, got {count}")
    (m, n), (cross, own, other) = sums / count, products / count
    cross = cross - torch.outer(m, n)
    return SharedMoment((cross + cross.T) / 2, (own + other - torch.outer(m, m) - torch.outer(n, n)) / 2)


def direction_rates(moment: SharedMoment, directions: Tensor) -> tuple[Tensor, Tensor]:
    """(vᵀCv, vᵀCv/vᵀSv) `[k]`: the rate of each unit direction, and the correlation of the views along it.

    Source: derived; wen-li-2021, Lemma C.2.
    Args:
        moment: of `shared_moment`.
        directions: `[k, 3s²]`, of any length but 0.
    """
    unit = directions.to(moment.cross)  # its device, too
    unit = unit / unit.norm(dim=-1, keepdim=True)
    rate, whole = (((unit @ matrix) * unit).sum(-1) for matrix in moment)
    return rate, rate / whole


def growth_spectrum(moment: SharedMoment) -> tuple[Tensor, Tensor]:
    """Eigenvalues of C from the largest, and their directions `[3s², 3s²]`, one per row: the order of learning.

    Args:
        moment: of `shared_moment`.
    Cost: an eigenproblem of size 3s².
    """
    values, vectors = torch.linalg.eigh(moment.cross)
    return values.flip(0), vectors.flip(1).T


def colour_directions(size: int) -> Tensor:
    """Unit directions of the mean luminance and of two mean chromas, red less green and blue less yellow: `[3, 3s²]`.

    Args:
        size: s ≥ 1.
    Raises: ValueError for no pixels.
    """
    if size < 1:
        raise ValueError(f"size must be ≥ 1, got {size}")
    colours = torch.tensor([[1.0, 1.0, 1.0], [1.0, -1.0, 0.0], [-0.5, -0.5, 1.0]], dtype=torch.float64, device="cpu")
    flat = colours.repeat_interleave(size**2, -1)
    return flat / flat.norm(dim=-1, keepdim=True)
