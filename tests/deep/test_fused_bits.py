"""The compiled step makes the same bits of a training with the instructions of any processor."""

import os
import subprocess
import sys

import pytest
from checkout import import_path

pytest.importorskip("numba", reason="the compiled step needs numba")
TRAINING = """
import hashlib
from dataclasses import replace
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.nonlinearity.networks.weights_at import weights_at
author, seen = TokenTraining(), hashlib.sha256()
acts, losses = ("linear", "relu", "leaky_relu", "quadratic", "sigmoid"), ("infonce", "quadratic_over_tau")
runs = [(replace(author, activation=a, loss=loss), 3) for a in acts for loss in losses]
for weights in weights_at([1, 40], runs, "cpu"):
    seen.update(weights.w.numpy().tobytes() + weights.v.numpy().tobytes())
print(seen.hexdigest())
"""


def bits(processor: str, folder) -> str:
    """The digest of a short training compiled for a processor; numba's own name for this one is empty."""
    given = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(folder)}
    given["PYTHONPATH"] = import_path()
    command = [sys.executable, "-c", TRAINING]
    done = subprocess.run(command, env=os.environ | given, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_any_processor_makes_the_same_bits(tmp_path):
    found = {name: bits(name, tmp_path / (name or "own")) for name in ("", "generic", "haswell")}
    assert len(set(found.values())) == 1, found
