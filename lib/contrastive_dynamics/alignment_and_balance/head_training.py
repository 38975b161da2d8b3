"""Projection heads of two modalities, trained on mini-batches with and without negatives, all runs in one program.

Shapes: runs first; image features `[n, p]`, caption features `[n, c, q]`, parameters `[run, in, out]`, outputs of a
batch of b pairs `[run, b, out]`.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from ..numerics.memory import keep_freed_memory
from .projection_heads import Heads, apply_heads

_BETAS, _EPS = (0.9, 0.999), 1e-8  # of AdamW, PyTorch's
OPTIMISERS = ("adamw", "sgd")
_DECAYS = [name.startswith("w") for name in Heads._fields] * 2  # weight matrices, of both heads


class Snapshot(NamedTuple):
    """The heads after a number of steps, and the loss of the batch that the next step would take."""

    step: int
    image: Heads
    text: Heads
    loss: Tensor  # [run]


class Recipe(NamedTuple):
    """How the runs are trained: the loss of each, and the settings that all of them share."""

    contrastive: Tensor  # [run], bool
    tau_squared: Tensor  # [run], τ² > 0
    negatives: Tensor  # [run], K > 0
    batch: int = 128
    step_size: float = 1e-3
    weight_decay: float = 1e-2
    output: str = "batch"
    optimiser: str = "adamw"


def pair_losses(f_a: Tensor, f_b: Tensor, contrastive: Tensor, tau_squared: Tensor, negatives: Tensor) -> Tensor:
    """Loss of every run over its batch: L/τ², or L̂ for runs without negatives.

    L = −mean_i(log S_A,i + log S_B,i), S_A,i = e^{τ²s_ii}/(e^{τ²s_ii} + K mean_{j≠i} e^{τ²s_ij}), s_ij = f_A,i·f_B,j,
    S_B with s_ji; L̂ = −mean_i s_ii. The division by τ² is the paper's rescaling of gradients. For K = b − 1 L is the
    sum of CLIP's two cross entropies.
    Source: ren-li-2023, eqs. (3), (4); the negatives of a pair are the other pairs of its batch.
    Args:
        f_a, f_b: outputs of both heads, `[run, b, out]`, b ≥ 2.
        contrastive: `[run]`, bool, whether the run has negatives.
        tau_squared: τ² > 0, `[run]`.
        negatives: K > 0, `[run]`.
    Returns: `[run]`.
    Cost: 2·b²·out flops per run.
    """
    s = f_a @ f_b.mT
    aligned = s.diagonal(dim1=-2, dim2=-1)
    tau_squared, b = tau_squared.view(-1, 1, 1), s.shape[-1]
    weight = (negatives / (b - 1)).log().view(-1, 1, 1) * (1 - torch.eye(b, dtype=s.dtype, device=s.device))
    logits = torch.addcmul(weight, tau_squared, s)
    log_sums = (logits.logsumexp(-1) + logits.logsumexp(-2)) / tau_squared.squeeze(-1)
    return torch.where(contrastive, (log_sums - 2 * aligned).mean(-1), -aligned.mean(-1))


def train_heads(
    image: Heads,
    text: Heads,
    images: Tensor,
    captions: Tensor,
    generators: list[torch.Generator],
    recipe: Recipe,
    record: list[int],
) -> Iterator[Snapshot]:
    """Train both heads by AdamW, or by plain SGD; the features are not trained.

    A step takes b images without repetition (each epoch has its own order) and one random caption of each, drawn from
    the run's generator: runs whose generators belong to the same stream see the same batches. Weight decay acts on the
    weight matrices, not on gains, shifts and bias. The runs' losses are added, and both optimisers act on each entry
    separately, so the runs do not affect each other.
    Source: ren-li-2023, Algorithm 3.1 and Section 6; optimiser and batch size are not stated there.
    Args:
        image, text: heads to start from.
        images: features, `[n, p]`.
        captions: features, `[n, c, q]`.
        generators: one per run.
        recipe: losses `[run]` and settings; batch from 2 to n, step_size > 0, optimiser one of OPTIMISERS.
        record: steps to yield at, increasing, from 0 or later.
    Yields: a Snapshot at each step of record.
    Raises: ValueError for an argument outside its range.
    Cost: 6·b·(weights of both heads) flops per step and run, about 100·b·width numbers.
    """
    _check(image, images, captions, generators, recipe, record)
    return _steps(image, text, images, captions, generators, recipe, record)


def _steps(image, text, images, captions, generators, recipe, record) -> Iterator[Snapshot]:
    if images.device.type == "cpu":
        keep_freed_memory()
    parameters = [p.detach().clone().requires_grad_() for p in (*image, *text)]
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]
    batches = _batches(images, captions, generators, recipe.batch)
    for step in range(record[-1] + 1):
        heads = Heads(*parameters[: len(image)]), Heads(*parameters[len(image) :])
        with torch.enable_grad():
            outputs = [apply_heads(h, x, output=recipe.output)[0] for h, x in zip(heads, next(batches), strict=True)]
            losses = pair_losses(*outputs, recipe.contrastive, recipe.tau_squared, recipe.negatives)
            gradients = torch.autograd.grad(losses.sum(), parameters)
        if step in record:
            yield Snapshot(step, *(Heads(*(p.detach().clone() for p in h)) for h in heads), losses.detach())
        if recipe.optimiser == "sgd":
            _sgd(parameters, gradients, recipe)
        else:
            _adamw(parameters, gradients, moments, recipe, step + 1)


def _batches(images: Tensor, captions: Tensor, generators: list, b: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Endlessly, features of b images of every run, `[run, b, p]`, and of one caption of each, `[run, b, q]`."""
    n, c, device = len(images), captions.shape[1], images.device
    while True:
        orders = torch.stack([torch.randperm(n, generator=g, device=device) for g in generators])
        which = torch.stack([torch.randint(c, (n,), generator=g, device=device) for g in generators])
        for k in range(n // b):
            at, chosen = orders[:, k * b : (k + 1) * b], which[:, k * b : (k + 1) * b]
            yield images[at], captions[at, chosen]


@torch.no_grad()
def _adamw(parameters: list, gradients: tuple, moments: list, recipe: Recipe, t: int) -> None:
    """p ← (1 − ηλ)p − η m̂/(√v̂ + ε), in place; merely importing torch.optim would take longer than a run."""
    rate, (beta1, beta2) = recipe.step_size, _BETAS
    for p, g, (m, v), decays in zip(parameters, gradients, moments, _DECAYS, strict=True):
        m.lerp_(g, 1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        if decays:
            p.mul_(1 - rate * recipe.weight_decay)
        p.addcdiv_(m, (v / (1 - beta2**t)).sqrt_().add_(_EPS), value=-rate / (1 - beta1**t))


@torch.no_grad()
def _sgd(parameters: list, gradients: tuple, recipe: Recipe) -> None:
    """p ← (1 − ηλ)p − ηg, in place."""
    for p, g, decays in zip(parameters, gradients, _DECAYS, strict=True):
        if decays:
            p.mul_(1 - recipe.step_size * recipe.weight_decay)
        p.sub_(g, alpha=recipe.step_size)


def _check(image: Heads, images: Tensor, captions: Tensor, generators: list, recipe: Recipe, record: list) -> None:
    runs, n = len(image.w1), len(images)
    if captions.ndim != 3 or images.ndim != 2 or len(captions) != n or not 2 <= recipe.batch <= n:
        got = f"images {tuple(images.shape)}, captions {tuple(captions.shape)}, batch={recipe.batch}"
        raise ValueError(f"images, captions and batch must be [n, p], [n, c, q] and 2 to n, got {got}")
    per_run = (recipe.contrastive, recipe.tau_squared, recipe.negatives)
    if len(generators) != runs or any(part.shape != (runs,) for part in per_run):
        raise ValueError(
            f"generators and recipe must be {runs} and [{runs}], got {len(generators)} and "
            f"{[list(part.shape) for part in per_run]}"
        )
    if not (recipe.tau_squared > 0).all() or not (recipe.negatives > 0).all() or not recipe.step_size > 0:
        raise ValueError(
            f"tau_squared, negatives and step_size must be > 0, got {recipe.tau_squared.min():g}, "
            f"{recipe.negatives.min():g} and {recipe.step_size}"
        )
    if recipe.optimiser not in OPTIMISERS:
        raise ValueError(f"optimiser must be one of {', '.join(OPTIMISERS)}, got {recipe.optimiser!r}")
    if not record or record[0] < 0 or any(late <= early for early, late in zip(record, record[1:], strict=False)):
        raise ValueError(f"record must be increasing steps, from 0 or later, got {record}")
