"""Figure 3 of the paper: outputs on half moons by descent of the weights, and by steps with the equation."""

from typing import NamedTuple

import torch
from torch import Tensor

from contrastive_dynamics.collapse_and_constraints.constrained_flow import flow_map, iterate, polar_map
from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import Weights, descend, draw_weights, outputs
from contrastive_dynamics.collapse_and_constraints.pair_losses import trace_matrix
from contrastive_dynamics.data.half_moons import half_moon_pairs
from contrastive_dynamics.numerics.random_streams import streams


class TwoDescents(NamedTuple):
    """Eigenvalues of C `[start, 2]`; outputs q by (11), of trained weights `[kept, trained, 2, 1]` and by its map,
    and by (12), `[kept, start, 2, 1]`."""

    values: Tensor
    weights: Tensor
    descent: Tensor
    equation: Tensor


def two_descents(
    h: int, rate: float, starts: int, seed: int, span: float = 20.0, kept: int = 400, trained: int = 4
) -> TwoDescents:
    """Outputs of networks of width h on half moons, one output, each start with half moons of its own.

    (11): W ← polar(W − η∇L) in both layers, for the first starts by training weights, for all by the map of the
    outputs that this is. (12): q ← q + η q̊. C is that of the mean of 100 pairs.

    Source: esser-2023, Figure 3, eqs. (11) and (12).
    Args:
        h: width, ≥ 3.
        rate: η, > 0.
        starts: ≥ 1.
        seed: of the streams.
        span: time to which both run, > 0.
        kept: how many times are kept beside the start, ≥ 1.
        trained: how many starts are trained by their weights, at most `starts`.
    Returns: the paths in the eigenbasis of C, at `kept + 1` equidistant times.
    Cost: span/rate steps of 64·starts flops and of a training of `trained` networks.
    """
    generators = streams([seed], starts, "data")
    values, vectors = torch.linalg.eigh(trace_matrix(*half_moon_pairs(generators, 100)) / 100)
    draws = (streams([seed], starts, f"{h} {layer}") for layer in ("first", "second"))
    w = draw_weights(*draws, h, 2, 1)
    every = max(1, round(span / rate / kept))
    q0, steps = vectors.mT @ outputs(w), every * kept
    some, few = Weights(w.w1[:trained], w.w2[:trained]), vectors[:trained]
    c = few @ torch.diag_embed(values[:trained]) @ few.mT
    path = few.mT @ descend(some, c, rate, steps, keep_every=every).outputs
    return TwoDescents(values, path, *(iterate(f, q0, values, rate, steps, every) for f in (polar_map, flow_map)))
