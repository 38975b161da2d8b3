"""How the units of a representation fire and how its classes lie.

Share of active units, sparsity, colour selectivity, partners in another network; neighbours, silhouette, t-SNE.
Shapes: activations `[run, n, units]` of n images; labels `[n]`.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize, one_hot

from ..numerics.ties import rounding_margin, top_shares

_ENTRIES = 2**24  # cosines in memory at a time


def active_share(activations: Tensor) -> Tensor:
    """Share of the units above zero on each image, from `[..., n, units]` to `[..., n]`.

    Source: wen-li-2021, Figure 4 ("sparse firing"; no number is printed there).
    """
    return (activations > 0).to(activations.dtype).mean(-1)


def hoyer_sparsity(activations: Tensor) -> Tensor:
    """(√m − ‖a‖₁/‖a‖₂)/(√m − 1) of m units: 0 if all are equal, 1 if only one is active, and also 1 if none is.

    Source: Hoyer, Non-negative Matrix Factorization with Sparseness Constraints (2004), Section 3.1; wen-li-2021,
    Figure 4.
    Args:
        activations: a, `[..., m]`, m ≥ 2.
    Returns: `[...]`.
    Raises: ValueError for fewer units.
    Cost: 4·m flops.
    """
    m = activations.shape[-1]
    if m < 2:
        raise ValueError(f"units must be ≥ 2, got {m}")
    one, two = activations.abs().sum(-1), activations.square().sum(-1).sqrt()
    return (m**0.5 - torch.where(two > 0, one / two, 1.0)) / (m**0.5 - 1)


def colour_selectivity(responses: Tensor, grey_responses: Tensor, top: int = 50) -> Tensor:
    """1 − Σ a'_i/Σ a_i over the images i to which a filter responds most, a' its responses to their grey versions.

    1: silent without colour; 0: colour makes no difference. The value is clipped to [0, 1]: a negative one means that
    the filter responds more to grey than to colour, so it does not select colour at all. NaN for a filter that is
    silent on all images. Images with equal responses share the last places among the `top` equally: a filter that is
    silent on most images must not be judged by some of them.
    Source: Rafegas and Vanrell, Color encoding in biologically-inspired convolutional neural networks (2018), there
    with the 100 best image patches; wen-li-2021, Figures 1 and 2 ("color features", by eye).
    Args:
        responses, grey_responses: `[..., n, filters]`, not negative, of the same images.
        top: number of images, 1 to n.
    Returns: `[..., filters]`.
    Raises: ValueError for other shapes or another top.
    Cost: a few times n·filters comparisons.
    """
    if responses.shape != grey_responses.shape or not 1 <= top <= responses.shape[-2]:
        got = f"{tuple(responses.shape)}, {tuple(grey_responses.shape)}, top={top}"
        raise ValueError(f"both responses and top must be of one shape [..., n, filters] and 1 to n, got {got}")
    margin = rounding_margin(0, responses.dtype) * responses.mT.amax(-1, keepdim=True)
    counted = top_shares(responses.mT, top, margin).mT
    total, grey = (counted * responses).sum(-2), (counted * grey_responses).sum(-2)
    return torch.where(total > 0, (1 - grey / total).clamp(0, 1), torch.nan)


def best_match(responses: Tensor, others: Tensor) -> Tensor:
    """For each filter, its largest correlation over images with a filter of the other network.

    Pairs may share a partner. A filter that is constant over the images, up to 64·eps of its largest response,
    correlates with none and scores 0.
    Source: wen-li-2021, Figure 1 ("similar"), by eye there; Li et al., Convergent Learning (2016), Section 3.
    Args:
        responses: `[..., n, f]`.
        others: `[..., n, g]`, of the same n images.
    Returns: `[..., f]`, −1 to 1.
    Raises: ValueError for other numbers of images.
    Cost: 2·n·f·g flops, f·g numbers.
    """
    if responses.shape[-2] != others.shape[-2] or len(responses.shape) != len(others.shape):
        got = f"{tuple(responses.shape)}, {tuple(others.shape)}"
        raise ValueError(f"responses and others must be [..., n, f] and [..., n, g], got {got}")
    return (_standardised(responses).mT @ _standardised(others)).amax(-1)


def shuffled_match(responses: Tensor, others: Tensor, generators: list[torch.Generator], labels=None) -> Tensor:
    """`best_match` with the images of the other network in a random order: the best match among g that chance gives.

    Args:
        responses: `[run, n, f]`.
        others: `[run, n, g]`.
        generators: one per run.
        labels: `[n]` or None; if given, images are permuted only within their class, which keeps what filters have in
            common through their responses to a class.
    Returns: `[run, f]`.
    Raises: ValueError as `best_match`, and for another number of generators.
    """
    if len(generators) != len(others):
        raise ValueError(f"generators must be one per run, {len(others)}, got {len(generators)}")
    n, device = others.shape[1], others.device
    orders = torch.stack([torch.randperm(n, generator=g, device=device) for g in generators])
    if labels is not None:  # the k-th image of a class in the old order becomes the k-th of that class in the new one
        home = labels.argsort(stable=True)
        orders = torch.zeros_like(orders).scatter(
            1, home.expand_as(orders), orders.gather(1, labels[orders].argsort(dim=-1, stable=True))
        )
    return best_match(responses, others.gather(1, orders.unsqueeze(-1).expand_as(others)))


def neighbour_accuracy(
    representations: Tensor, labels: Tensor, test: Tensor, test_labels: Tensor, neighbours: int = 10
) -> Tensor:
    """Share of test images whose class prevails among their nearest neighbours by cosine, float64 `[run]`.

    Ties are shared equally: images at one distance share the last places among the neighbours, and classes with as many
    votes share the answer. So neither the order of the images nor that of the classes matters, and representations that
    are all the same score what chance does.
    Source: wen-li-2021, Figure 3 (t-SNE, by eye there).
    Args:
        representations: `[run, n, m]`.
        labels: `[n]`.
        test: `[run, n', m]`.
        test_labels: `[n']`.
        neighbours: 1 to n.
    Raises: ValueError for another number of neighbours.
    Error: cosines within (m + 64)·eps of each other are ties.
    Cost: 2·n·n'·m flops per run; 2²⁴ cosines in memory at a time.
    """
    if not 1 <= neighbours <= len(labels):
        raise ValueError(f"neighbours must be 1 to n = {len(labels)}, got {neighbours}")
    classes, place = labels.unique(return_inverse=True)
    members, margin = one_hot(place).double(), rounding_margin(test.shape[-1], test.dtype)
    block = max(1, _ENTRIES // len(labels))
    scores = []
    for known, asked in zip(normalize(representations, dim=-1), normalize(test, dim=-1), strict=True):
        shares = [top_shares(part @ known.mT, neighbours, margin).double() for part in asked.split(block)]
        votes = torch.cat([share @ members for share in shares])
        prevail = votes >= votes.amax(-1, keepdim=True) - neighbours * rounding_margin(0, test.dtype)
        answers = prevail / prevail.sum(-1, keepdim=True, dtype=votes.dtype)
        scores.append((answers * (test_labels.unsqueeze(-1) == classes)).sum(-1).mean())
    return torch.stack(scores)


def silhouette(representations: Tensor, labels: Tensor) -> Tensor:
    """Mean silhouette of the classes by cosine distance, −1 to 1, float64 `[run]`; 0 for representations on one line.

    Source: Rousseeuw, Silhouettes (1987); wen-li-2021, Figure 3.
    Args:
        representations: `[run, n, m]`.
        labels: `[n]`.
    Error: distances below (m + 64)·eps count as 0.
    Cost: 2·n²·m flops per run, n² numbers.
    """
    from sklearn.metrics import silhouette_score

    cosines = (z @ z.mT for z in normalize(representations, dim=-1))
    distances = (_distances(c, rounding_margin(representations.shape[-1], c.dtype)) for c in cosines)
    scores = [silhouette_score(_array(d), _array(labels), metric="precomputed") for d in distances]
    return torch.tensor(scores, dtype=torch.float64, device=representations.device)


def _distances(cosines: Tensor, margin: float) -> Tensor:
    """1 − cos, 0 within the margin: else rounding alone would put images of one direction into clusters."""
    return torch.where(1 - cosines > margin, 1 - cosines, 0).fill_diagonal_(0)


def planar_embedding(representation: Tensor, perplexity: float = 30.0, seed: int = 0) -> Tensor:
    """t-SNE of one run by cosine distance, for a picture: from `[n, m]` to float32 `[n, 2]`.

    Source: van der Maaten and Hinton, Visualizing Data using t-SNE (2008); wen-li-2021, Figure 3.
    Args:
        representation: `[n, m]`.
        perplexity: > 0, < n.
        seed: seed of scikit-learn's own generator.
    Cost: seconds for a thousand images.
    """
    from sklearn.manifold import TSNE

    model = TSNE(perplexity=perplexity, metric="cosine", init="random", random_state=seed)
    return torch.from_numpy(model.fit_transform(_array(representation))).to(representation.device)


def _standardised(x: Tensor) -> Tensor:
    high, low = x.amax(-2, keepdim=True), x.amin(-2, keepdim=True)
    constant = high - low <= rounding_margin(0, x.dtype) * torch.maximum(high, -low)  # what deviates is rounding alone
    x = x - x.mean(-2, keepdim=True)
    return torch.where(constant, 0.0, x / x.square().sum(-2, keepdim=True).sqrt())


def _array(x: Tensor) -> np.ndarray:
    return np.asarray(x.detach().cpu())
