"""One training loop for every world, view maker, network, loss, constraint and optimiser; runs are batched.

Run k draws from (seed k, purpose) alone: "start" its weights, "data" its pairs, "strangers" its negatives.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..numerics.memory import keep_freed_memory
from ..numerics.random_streams import streams
from .encoders import Network
from .optimisers import Constraint, Parameters, Relative, free
from .pairs import Pairs
from .worlds import World, require_world

Views = Callable[[World, int, list[torch.Generator]], Pairs]


@dataclass(frozen=True)
class Trained:
    """The end of a training, and the losses on the way."""

    world: World
    network: Network
    encoders: tuple[Parameters, ...]  # one, or one per view
    loss_params: Parameters
    losses: Tensor  # [step, run], of the batch before each step

    def outputs(self, pairs: Pairs) -> tuple[Tensor, Tensor]:
        """f_A and f_B `[run, n, z]` of both views."""
        first, second = (_as(pairs[k], self.encoders[0]) for k in (0, 1))
        return self.network(self.encoders[0], first)[0], self.network(self.encoders[-1], second)[0]

    @property
    def tau_squared(self) -> Tensor | None:
        """The learned inverse temperature `[run]`, or None."""
        logarithm = self.loss_params.get("log_tau_squared")
        return None if logarithm is None else logarithm.exp()


def train(
    world: World,
    views: Views,
    network: Network,
    loss: Callable[..., Tensor],
    *,
    seeds: Sequence[int],
    steps: int,
    batch: int,
    constraint: Constraint = free,
    optimiser=Relative(),  # noqa: B008, it is frozen
    strangers: tuple[Views, int] | None = None,
    start: Sequence[Parameters] | None = None,
    dtype: torch.dtype = torch.float64,
    watch: Callable[[Iterable], Iterable] = iter,
) -> Trained:
    """Train one network, or one per view, on fresh pairs at every step.

    The losses of all runs are added and differentiated at once; constraint and optimiser act on each run alone.
    Args:
        world, views, network, loss: parts that fit; see their modules.
        seeds: one run each; the world's random parts have as many runs, or one.
        steps: ≥ 1.
        batch: pairs per step, ≥ 2.
        constraint: of the weights, also at the start.
        optimiser: an object with step(params, gradients, state, progress).
        strangers: a view maker and the number of separate negatives per step; by default none are drawn.
        start: parameters of each encoder, in place of the network's start.
        dtype: in which outputs and steps are computed.
        watch: wraps the steps in a progress bar.
    Returns: Trained.
    Raises: ValueError, in one line, for sizes that do not fit, shared latents that are not whitened, before the first
        step; for a run whose loss is no longer finite, at once.
    Cost: per step and run, for a linear network and InfoNCE, 12·n·D·z + 6·n²·z flops and the draws.
    """
    _check(world, seeds, steps, batch, strangers)
    params = _begin(world, network, loss, seeds, start, dtype)
    _require_fit(network, params, world.inputs)
    params = _constrained(params, constraint)
    data, others = (streams(seeds, 1, purpose) for purpose in ("data", "strangers"))
    state, losses = {}, []
    keep_freed_memory()
    for step in watch(range(steps)):
        pairs = views(world, batch, data)
        negatives = strangers[0](world, strangers[1], others) if strangers else None
        value, gradients = _gradients(network, loss, params, pairs, negatives)
        _require_finite(value, step)
        losses.append(value)
        params = _constrained(optimiser.step(params, gradients, state, step / steps), constraint)
    encoders, of_loss = split(params)
    return Trained(world, network, encoders, of_loss, torch.stack(losses))


def split(params: Parameters) -> tuple[tuple[Parameters, ...], Parameters]:
    """The encoders' parameters, and the loss's, of flat names such as first/w, second/w and loss/log_tau_squared."""
    groups: dict[str, Parameters] = {}
    for name, value in params.items():
        group, _, short = name.partition("/")
        groups.setdefault(group, {})[short] = value
    of_loss = groups.pop("loss", {})
    return tuple(groups.values()), of_loss


def _begin(world, network, loss, seeds, start, dtype) -> Parameters:
    if start is None:
        count = 1 if world.tied else 2
        purposes = ("start", "start of the second")[:count]
        start = [network.start(world.inputs, streams(seeds, 1, purpose)) for purpose in purposes]
    names = ("first", "second")
    params = {f"{a}/{b}": w.to(dtype) for a, part in zip(names, start, strict=False) for b, w in part.items()}
    own = loss.start(len(seeds)) if hasattr(loss, "start") else {}
    return params | {f"loss/{name}": value.to(dtype) for name, value in own.items()}


def _gradients(network, loss, params: Parameters, pairs: Pairs, negatives: Pairs | None) -> tuple[Tensor, Parameters]:
    """The loss of every run, and its gradient in every parameter."""
    with torch.enable_grad():
        leaves = {name: w.detach().requires_grad_() for name, w in params.items()}
        encoders, of_loss = split(leaves)

        def outputs(of: Pairs) -> tuple[Tensor, Tensor]:
            both = ((encoders[0], of.first), (encoders[-1], of.second))
            return tuple(network(encoder, _as(view, encoder))[0] for encoder, view in both)

        more = {} if negatives is None else {"strangers": outputs(negatives)}
        if of_loss:
            more["params"] = of_loss
        value = loss(*outputs(pairs), **more)
        if value.shape != pairs.first.shape[:1]:
            raise ValueError(f"train: a loss must be one number per run, [{len(pairs.first)}], got {list(value.shape)}")
        found = torch.autograd.grad(value.sum(), list(leaves.values()), allow_unused=True)
    filled = [torch.zeros_like(w) if g is None else g for w, g in zip(leaves.values(), found, strict=True)]
    return value.detach(), dict(zip(leaves, filled, strict=True))


def _constrained(params: Parameters, constraint: Constraint) -> Parameters:
    encoders, of_loss = split(params)
    names = ("first", "second")
    kept = {f"{a}/{b}": w for a, part in zip(names, encoders, strict=False) for b, w in constraint(part).items()}
    return kept | {f"loss/{name}": value for name, value in of_loss.items()}


def _as(view: Tensor, encoder: Parameters) -> Tensor:
    return view.to(next(iter(encoder.values())).dtype)


def _require_fit(network: Network, params: Parameters, inputs: int) -> None:
    """Raise ValueError unless every encoder takes the world's views."""
    for encoder in split(params)[0]:
        some = next(iter(encoder.values()))
        try:
            network(encoder, some.new_ones(len(some), 2, inputs))
        except RuntimeError as error:
            sizes = ", ".join(f"{name} {list(w.shape)}" for name, w in encoder.items())
            raise ValueError(f"train: network and views must fit, got {sizes} and views of {inputs} inputs") from error


def _require_finite(value: Tensor, step: int) -> None:
    if not bool(value.isfinite().all()):
        run = int((~value.isfinite()).nonzero()[0, 0])
        raise ValueError(f"train: run {run} diverged at step {step}, its loss is {float(value[run])}: lower the rate")


def _check(world, seeds, steps: int, batch: int, strangers) -> None:
    if not seeds or steps < 1 or batch < 2:
        raise ValueError(f"train: seeds, steps and batch must be ≥ 1, 1 and 2, got {len(seeds)}, {steps} and {batch}")
    if strangers is not None and strangers[1] < 1:
        raise ValueError(f"train: strangers must be ≥ 1 or None, got {strangers[1]}")
    require_world(world, streams(seeds, 1, "promise"))
