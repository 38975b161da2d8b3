"""Projection heads of two modalities trained by mini-batches, with negatives and without, all runs in one program.

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
_DECAYS = [name.startswith("w") for name in Heads._fields] * 2  # weight matrices, of both heads


class Snapshot(NamedTuple):
    """Heads after a number of steps, and the loss of the batch that the next step would take."""

    step: int
    image: Heads
    text: Heads
    loss: Tensor  # [run]


class Recipe(NamedTuple):
    """How each run is trained: its loss, and what all share."""

    contrastive: Tensor  # [run], bool
    tau_squared: Tensor  # [run], τ² > 0
    negatives: Tensor  # [run], K > 0
    batch: int = 128
    step_size: float = 1e-3
    weight_decay: float = 1e-2
    output: str = "batch"


def pair_losses(f_a: Tensor, f_b: Tensor, contrastive: Tensor, tau_squared: Tensor, negatives: Tensor) -> Tensor:
    """Loss of every run over its batch: L/τ², or L̂ where there are no negatives.

    L = −mean_i(log S_A,i + log S_B,i), S_A,i = e^{τ²s_ii}/(e^{τ²s_ii} + K mean_{j≠i} e^{τ²s_ij}), s_ij = f_A,i·f_B,j,
    S_B with s_ji; L̂ = −mean_i s_ii. The division by τ² is the paper's rescaling of gradients. For K = b − 1 L is the
    sum of CLIP's two cross entropies.
    Source: ren-li-2023, eqs. (3), (4), the negatives of a pair the others of its batch.
    Args: f_a, f_b `[run, b, out]`, b ≥ 2; contrastive (bool), tau_squared > 0, negatives > 0, all `[run]`.
    Returns: `[run]`. Cost: 2·b²·out flops a run.
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
    """AdamW on both heads; the features are not trained.

    A step takes b images without repetition (each epoch an order of its own) and one caption of each at random, drawn
    from the run's generator: runs with generators of one stream see the same batches. Weight decay is on the weight
    matrices, not on gains, shifts and bias. The runs' losses are added, and AdamW acts per entry: no run sees another.
    Source: ren-li-2023, Algorithm 3.1 and Section 6; optimiser and batch size are not stated there.
    Args: image, text, heads to start from; images `[n, p]`; captions `[n, c, q]`; generators, one a run; recipe;
        record, steps to yield at, ascending from 0 or later.
    Yields: Snapshot at each of record. Raises: ValueError for an argument outside its range.
    Cost: 6·b·(weights of both heads) flops a step and run, about 100·b·width numbers.
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
        _adamw(parameters, gradients, moments, recipe, step + 1)


def _batches(images: Tensor, captions: Tensor, generators: list, b: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Features of b images of every run, `[run, b, p]`, and of one caption of each, `[run, b, q]`; no end."""
    n, c, device = len(images), captions.shape[1], images.device
    while True:
        orders = torch.stack([torch.randperm(n, generator=g, device=device) for g in generators])
        which = torch.stack([torch.randint(c, (n,), generator=g, device=device) for g in generators])
        for k in range(n // b):
            at, chosen = orders[:, k * b : (k + 1) * b], which[:, k * b : (k + 1) * b]
            yield images[at], captions[at, chosen]


@torch.no_grad()
def _adamw(parameters: list, gradients: tuple, moments: list, recipe: Recipe, t: int) -> None:
    """p ← (1 − ηλ)p − η m̂/(√v̂ + ε), in place; torch.optim, imported for the first time, takes longer than a run."""
    rate, (beta1, beta2) = recipe.step_size, _BETAS
    for p, g, (m, v), decays in zip(parameters, gradients, moments, _DECAYS, strict=True):
        m.lerp_(g, 1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        if decays:
            p.mul_(1 - rate * recipe.weight_decay)
        p.addcdiv_(m, (v / (1 - beta2**t)).sqrt_().add_(_EPS), value=-rate / (1 - beta1**t))


def _check(image: Heads, images: Tensor, captions: Tensor, generators: list, recipe: Recipe, record: list) -> None:
    runs, n = len(image.w1), len(images)
    if captions.ndim != 3 or images.ndim != 2 or len(captions) != n or not 2 <= recipe.batch <= n:
        got = f"images {tuple(images.shape)}, captions {tuple(captions.shape)}, batch={recipe.batch}"
        raise ValueError(f"train_heads: got {got}, allowed are [n, p], [n, c, q], a batch of 2 to n")
    per_run = (recipe.contrastive, recipe.tau_squared, recipe.negatives)
    if len(generators) != runs or any(part.shape != (runs,) for part in per_run):
        raise ValueError(f"train_heads: got {len(generators)} generators for {runs} runs, or a recipe not [{runs}]")
    if not (recipe.tau_squared > 0).all() or not (recipe.negatives > 0).all() or not recipe.step_size > 0:
        raise ValueError("train_heads: got tau_squared, negatives or step_size not above 0, allowed are above 0")
    if not record or record[0] < 0 or any(late <= early for early, late in zip(record, record[1:], strict=False)):
        raise ValueError(f"train_heads: got record={record}, allowed are steps that ascend from 0 or later")
