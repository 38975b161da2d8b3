"""Compiled code makes the same bits of a training with the instructions of any processor, however it rounds."""

import os
import subprocess
import sys

import pytest
from checkout import import_path
from contracted import SETTINGS, library_with

pytest.importorskip("numba", reason="the compiled step needs numba")
PROCESSORS = "", "generic", "haswell", "skylake-avx512"  # numba's own name for this one is empty
TOKENS = """
import hashlib
from dataclasses import replace
import torch
from contrastive_dynamics.nonlinearity.networks.ensemble_training import starting_weights
from contrastive_dynamics.nonlinearity.networks.field_network import Weights
from contrastive_dynamics.nonlinearity.networks.fused_training import compiled, fused_weights
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
assert compiled()
author, seen = TokenTraining(), hashlib.sha256()
acts, losses = ("linear", "relu", "leaky_relu", "quadratic", "sigmoid"), ("infonce", "quadratic_over_tau")
runs = [(replace(author, activation=a, loss=loss), 3) for a in acts for loss in losses]
start = starting_weights(runs, "cpu")
for dtype in (torch.float32, torch.float64):
    for weights in fused_weights(runs, Weights(*(part.to(dtype) for part in start)), [1, 40]):
        seen.update(weights.w.numpy().tobytes() + weights.v.numpy().tobytes())
print(seen.hexdigest())
"""
CODES = """
import hashlib
import torch
from contrastive_dynamics.feature_decoupling.decoupled_training import train
from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.fused_stream import compiled
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.feature_decoupling.training_schedule import DecoupledTraining
from contrastive_dynamics.numerics.random_streams import stream
assert compiled()
seen = hashlib.sha256()
for dtype in (torch.float32, torch.float64):
    for views in ("plain", "masked", "independent"):
        model = SparseCoding(random_dictionary(40, 20, [stream(0, 0, "dictionary")]).to(dtype), active=0.3, noise=0.5)
        start = torch.randn(1, 33, 40, generator=stream(0, 0, "weights")).to(dtype) / 2
        training = DecoupledTraining(batch=150, negatives=70, temperature=1.5, learning_rate=0.3, views=views)
        for part in train(model, start, training, [stream(0, 0, "data")], [1, 12], fused=True):
            seen.update(part.numpy().tobytes())
print(seen.hexdigest())
"""


def bits(program: str, processor: str, library, folder) -> str:
    """The digest of a short training compiled for a processor."""
    given = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(folder)}
    given["PYTHONPATH"] = os.pathsep.join([str(library), import_path()])
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, env=os.environ | given, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module", params=SETTINGS, ids=["two roundings", "one rounding"])
def library(request, tmp_path_factory):
    """The library with one rounding or with two where compiled code multiplies and adds."""
    return library_with(request.param, tmp_path_factory.mktemp("library"))


@pytest.mark.parametrize("program", [TOKENS, CODES], ids=["tokens", "sparse codes"])
def test_any_processor_makes_the_same_bits(program, library, tmp_path):
    found = {name: bits(program, name, library, tmp_path / (name or "own")) for name in PROCESSORS}
    assert len(set(found.values())) == 1, found
    print(*found.values())
