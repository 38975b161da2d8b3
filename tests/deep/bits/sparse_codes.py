"""Prints a digest of learners trained on streams of sparse codes: views, masks, sizes, precision, threads."""

import hashlib

import torch

from contrastive_dynamics.feature_decoupling.decoupled_training import train
from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.feature_decoupling.training_schedule import DecoupledTraining
from contrastive_dynamics.numerics.random_streams import stream

KINDS = (
    {"views": "plain"},
    {"views": "masked"},
    {"views": "independent", "rate": 0.3},
    {"views": "masked", "mask_negatives": True, "rate": 0.7},
    {"views": "plain", "bias": "zero"},
)
SIZES = (12, 3, 5), (16, 8, 8), (40, 20, 33)  # d1, d, m
RUNS = 3


def streams(purpose: str) -> list[torch.Generator]:
    return [stream(0, run, purpose) for run in range(RUNS)]


def main() -> None:
    seen = hashlib.sha256()
    for (dim, atoms, neurons), how in ((size, how) for size in SIZES for how in KINDS):
        training = DecoupledTraining(batch=150, negatives=70, temperature=1.5, learning_rate=0.3, **how)
        for dtype, workers in ((torch.float32, 1), (torch.float32, 2), (torch.float64, None)):
            dictionary = random_dictionary(dim, atoms, streams("dictionary")).to(dtype)
            model = SparseCoding(dictionary, active=0.3, noise=0.5)
            start = torch.stack([torch.randn(neurons, dim, generator=g) for g in streams("weights")]).to(dtype) / 2
            course = train(model, start, training, streams("data"), [0, 1, 12], workers=workers)
            seen.update(b"".join(part.numpy().tobytes() for part in course))
    print(seen.hexdigest())


if __name__ == "__main__":
    main()
