"""Prints a digest of weights that the compiled step trains: activations, losses, BatchNorm, sizes, precision."""

import hashlib
from dataclasses import replace
from itertools import product

import torch

from contrastive_dynamics.nonlinearity.networks.ensemble_training import starting_weights
from contrastive_dynamics.nonlinearity.networks.field_network import Weights
from contrastive_dynamics.nonlinearity.networks.fused_training import fused_weights
from contrastive_dynamics.nonlinearity.networks.importance_mixture import Variation
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.nonlinearity.two_layers.batch_norm import BACKPROPAGATED

ACTIVATIONS = "linear", "relu", "leaky_relu", "quadratic", "sigmoid"
LOSSES = "infonce", "quadratic_over_tau", "quadratic"
SIZES = (
    {},
    {"candidates": 10, "beta": 10},
    {"candidates": 1, "beta": 1},
    {"views_apart": False},
    {"candidates": 3, "places": 7, "tokens": 12, "batch": 50, "outputs": 13},
    {"candidates": 2, "places": 1, "length": 1, "tokens": 12, "batch": 5, "outputs": 3},
)


def train(training: TokenTraining, seen, variation: Variation | None = None) -> None:
    start = starting_weights([(training, 3)], "cpu")
    for dtype in (torch.float32, torch.float64):
        given = Weights(*(part.to(dtype) for part in start))
        for weights in fused_weights([(training, 3)], given, [1, 30], [variation] if variation else None):
            seen.update(b"".join(part.numpy().tobytes() for part in weights))


def main() -> None:
    seen, author = hashlib.sha256(), TokenTraining()
    for size, activation, loss, norm in product(SIZES, ACTIVATIONS, LOSSES, ["off", *BACKPROPAGATED]):
        train(replace(author, activation=activation, loss=loss, batch_norm=norm, **size), seen)
    for variation in (Variation(uniform=0.5), Variation(positive=0.0), Variation(pace=3.0)):
        train(author, seen, variation)
    print(seen.hexdigest())


if __name__ == "__main__":
    main()
