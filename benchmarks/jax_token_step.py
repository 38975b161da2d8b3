"""The training step of the author's configuration in JAX, which `token_training` times where JAX is installed.

It knows InfoNCE, ReLU, unit outputs, and BatchNorm of first and second views apart that back-propagates μ alone. A call
is one program: networks one after the other (`lax.map`), minibatches in a scan, tables of all tokens read by index, and
the adjoint of that as a scatter-add. The gradient is written out, since `jax.grad` would take a third product for the
N × N similarities: 1.6 Mflop more, by count.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax

from contrastive_dynamics.nonlinearity.networks.field_network import FieldNetwork, Weights
from contrastive_dynamics.nonlinearity.networks.importance_mixture import TAU
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining

State = tuple[jax.Array, jax.Array, jax.Array, jax.Array]  # w [run, K, d, M], v [run, K, M, j], their momenta


def starting_state(weights: Weights) -> State:
    """Weights and momenta of zero, in the layout of the step."""
    w, v = jnp.asarray(weights.w.mT.numpy()), jnp.asarray(weights.v.numpy())
    return w, v, jnp.zeros_like(w), jnp.zeros_like(v)


def weights_of(state: State) -> Weights:
    """The weights in the layout of torch."""
    w, v = (torch.tensor(np.asarray(part)) for part in state[:2])
    return Weights(w.mT, v)


def on_outputs(f: jax.Array) -> jax.Array:
    """∂L/∂f of InfoNCE for the outputs f `[2N, j]` of both views, by the formulas of `fused_loss.on_outputs`."""
    n = len(f) // 2
    length = jnp.sqrt((f * f).sum(1, keepdims=True))
    z = f / length
    first, second = z[:n], z[n:]
    positive = jnp.exp((first * second).sum(1) / TAU)
    e = jnp.where(jnp.eye(n, dtype=bool), 0, jnp.exp(first @ first.T / TAU))  # symmetric
    total = e.sum(1)
    inverse = 1 / (total + positive)
    r = (total * inverse)[:, None]
    both = (e * (inverse[:, None] + inverse)) @ first
    g = jnp.concatenate([both - r * second, -r * first]) / (TAU * n)
    return (g - (z * g).sum(1, keepdims=True) * z) / length


def gradients(w: jax.Array, v: jax.Array, tokens: jax.Array) -> tuple[jax.Array, jax.Array]:
    """∂L/∂w `[K, d, M]` and ∂L/∂v `[K, M, j]` of one network on a minibatch of tokens `[2N, K]`."""
    (views, places), d = tokens.shape, w.shape[1]
    groups = 2  # first and second views have statistics of their own
    group = jnp.arange(views)[:, None] // (views // groups)
    rows = (jnp.arange(places) * groups + group) * d + tokens

    def sum_over_views(x):  # [2N or 1, 1, ·] to [K·group·d, ·]
        empty = jnp.zeros((places * groups * d, x.shape[-1]), x.dtype)
        return empty.at[rows].add(x, mode="promise_in_bounds")

    shares = sum_over_views(jnp.full((1, 1, 1), groups / views, w.dtype)).reshape(places, groups, 1, d)
    h = jnp.maximum(w, 0)[:, None]
    c = h - shares @ h
    sigma = jnp.sqrt(shares @ (c * c) + FieldNetwork.eps)
    c = (c / sigma).reshape(places, groups * d, -1)
    table = (c @ v).reshape(places * groups * d, -1)
    g = on_outputs(table.at[rows].get(mode="promise_in_bounds").sum(1))
    on_table = sum_over_views(g[:, None]).reshape(places, groups * d, -1)
    pull = (on_table @ v.mT).reshape(places, groups, d, -1)
    on_h = (pull - shares.mT * pull.sum(2, keepdims=True)) / sigma  # σ is held fixed
    return jnp.where(w > 0, on_h.sum(1), 0), c.mT @ on_table


def training_in_jax(training: TokenTraining) -> Callable[[State, np.ndarray], State]:
    """A compiled function of the state and of tokens `[run, step, 2N, K]`: the state after a step for each of them.

    It takes over the memory of the state that it is given.
    """

    def descend(x, speed, gradient):
        speed = training.momentum * speed + (gradient + training.weight_decay * x)
        return x - training.rate * speed, speed

    def step(state, tokens):
        w, v, speed_w, speed_v = state
        on_w, on_v = gradients(w, v, tokens)
        (w, speed_w), (v, speed_v) = descend(w, speed_w, on_w), descend(v, speed_v, on_v)
        return (w, v, speed_w, speed_v), None

    @partial(jax.jit, donate_argnums=0)
    def train(state, tokens):
        return lax.map(lambda network: lax.scan(step, *network)[0], (state, tokens))

    return lambda state, tokens: jax.block_until_ready(train(state, tokens))
