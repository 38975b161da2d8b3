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
Loss = Callable[..., Tensor]


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

    def arms(self, count: int) -> list["Trained"]:
        """The networks of each of `count` arms."""
        encoders = zip(*(_chunks(of, count) for of in self.encoders), strict=True)
        parts = zip(encoders, _chunks(self.loss_params, count), self.losses.chunk(count, 1), strict=True)
        return [Trained(self.world, self.network, *part) for part in parts]

    @property
    def tau_squared(self) -> Tensor | None:
        """The learned inverse temperature `[run]`, or None."""
        logarithm = self.loss_params.get("log_tau_squared")
        return None if logarithm is None else logarithm.exp()


def train(
    world: World,
    views: Views | Sequence[Views],
    network: Network,
    loss: Loss | Sequence[Loss],
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

    The losses of all runs are added and differentiated at once; constraint and optimiser act on each run alone. Several
    arms, each with views and a loss, are trained side by side: arms of a seed have one start and, where their views are
    equal, the same pairs, which are drawn once.
    Args:
        world, views, network, loss: parts that fit; see their modules. Views and losses are one for all arms, or a list
            with one per arm.
        seeds: one run each, in every arm; the world's random parts have as many runs, or one.
        steps: ≥ 1.
        batch: pairs per step, ≥ 2.
        constraint: of the weights, also at the start.
        optimiser: an object with step(params, gradients, state, progress).
        strangers: a view maker and the number of separate negatives per step; by default none are drawn.
        start: parameters of each encoder, one run per seed, in place of the network's start.
        dtype: in which outputs and steps are computed.
        watch: wraps the steps in a progress bar.
    Returns: Trained, with the runs of one arm after those of another; `Trained.arms` parts them.
    Raises: ValueError, in one line, for sizes that do not fit, shared latents that are not whitened, before the first
        step; for a run whose loss is no longer finite, at once.
    Cost: per step and run, for a linear network and InfoNCE, 8·n·D·z + 6·n²·z flops and the draws.
    """
    _check(world, seeds, steps, batch, strangers)
    seen, losses = _arms(views, loss)
    params = _begin(world, network, losses, seeds, start, dtype)
    _require_fit(network, params, world.inputs)
    params = _constrained(params, constraint)
    makers = [of for k, of in enumerate(seen) if of not in seen[:k]]
    data, others = [streams(seeds, 1, "data") for _ in makers], streams(seeds, 1, "strangers")
    state, values = {}, []
    keep_freed_memory()
    for step in watch(range(steps)):
        drawn = [_drawn(of, world, batch, generators, dtype) for of, generators in zip(makers, data, strict=True)]
        negatives = _drawn(strangers[0], world, strangers[1], others, dtype) if strangers else None
        pairs = [drawn[makers.index(of)] for of in seen]
        value, gradients = _gradients(network, losses, params, pairs, negatives)
        _require_finite(value, step)
        values.append(value)
        params = _constrained(optimiser.step(params, gradients, state, step / steps), constraint)
    encoders, of_loss = split(params)
    return Trained(world, network, encoders, of_loss, torch.stack(values))


def split(params: Parameters) -> tuple[tuple[Parameters, ...], Parameters]:
    """The encoders' parameters, and the loss's, of flat names such as first/w, second/w and loss/log_tau_squared."""
    groups: dict[str, Parameters] = {}
    for name, value in params.items():
        group, _, short = name.partition("/")
        groups.setdefault(group, {})[short] = value
    of_loss = groups.pop("loss", {})
    return tuple(groups.values()), of_loss


def _arms(views: Views | Sequence[Views], loss: Loss | Sequence[Loss]) -> tuple[list[Views], list[Loss]]:
    """Views and loss of each arm."""
    given = [list(of) if isinstance(of, Sequence) else [of] for of in (views, loss)]
    count = max(len(of) for of in given)
    if not all(len(of) in (1, count) for of in given):
        got = " and ".join(str(len(of)) for of in given)
        raise ValueError(f"train: views and losses must be one, or one per arm, got {got}")
    return tuple(of * (count // len(of)) for of in given)


def _begin(world, network, losses: list[Loss], seeds, start, dtype) -> Parameters:
    if start is None:
        count = 1 if world.tied else 2
        purposes = ("start", "start of the second")[:count]
        start = [network.start(world.inputs, streams(seeds, 1, purpose)) for purpose in purposes]
    names, arms = ("first", "second"), len(losses)
    params = {f"{a}/{b}": w.to(dtype) for a, part in zip(names, start, strict=False) for b, w in part.items()}
    own = [of.start(len(seeds)) if hasattr(of, "start") else {} for of in losses]
    if any(of.keys() != own[0].keys() for of in own):
        raise ValueError(f"train: losses of all arms must learn the same parameters, got {[sorted(of) for of in own]}")
    params = {name: w.repeat(arms, *[1] * (w.ndim - 1)) for name, w in params.items()}
    return params | {f"loss/{name}": torch.cat([of[name] for of in own]).to(dtype) for name in own[0]}


def _chunks(params: Parameters, count: int) -> list[Parameters]:
    """Parameters of each of `count` arms."""
    parts = {name: value.chunk(count) for name, value in params.items()}
    return [{name: of[k] for name, of in parts.items()} for k in range(count)]


def _drawn(views: Views, world: World, n: int, generators: list[torch.Generator], dtype: torch.dtype) -> Pairs:
    pairs = views(world, n, generators)
    return pairs._replace(first=pairs.first.to(dtype), second=pairs.second.to(dtype))


def _gradients(
    network, losses: list[Loss], params: Parameters, pairs: list[Pairs], negatives: Pairs | None
) -> tuple[Tensor, Parameters]:
    """The loss of every run, and its gradient in every parameter."""
    with torch.enable_grad():
        leaves = {name: w.detach().requires_grad_() for name, w in params.items()}
        arms = zip(losses, _chunks(leaves, len(losses)), pairs, strict=True)
        value = torch.cat([_values(network, loss, own, of, negatives) for loss, own, of in arms])
        found = torch.autograd.grad(value.sum(), list(leaves.values()), allow_unused=True)
    filled = [torch.zeros_like(w) if g is None else g for w, g in zip(leaves.values(), found, strict=True)]
    return value.detach(), dict(zip(leaves, filled, strict=True))


def _values(network, loss: Loss, params: Parameters, pairs: Pairs, negatives: Pairs | None) -> Tensor:
    """The loss of every run of an arm."""
    encoders, of_loss = split(params)

    def outputs(of: Pairs) -> tuple[Tensor, Tensor]:
        return network(encoders[0], of.first)[0], network(encoders[-1], of.second)[0]

    more = {} if negatives is None else {"strangers": outputs(negatives)}
    if of_loss:
        more["params"] = of_loss
    value = loss(*outputs(pairs), **more)
    if value.shape != pairs.first.shape[:1]:
        raise ValueError(f"train: a loss must be one number per run, [{len(pairs.first)}], got {list(value.shape)}")
    return value


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
