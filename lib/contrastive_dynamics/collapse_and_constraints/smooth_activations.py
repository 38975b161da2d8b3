"""Activations of wide networks in addition to those of `activations`: tanh, the centred softplus, half the identity."""

import math

import torch

from ..losses.activations import ACTIVATIONS, SIGMOID, Activation

# A network with small preactivations depends on φ near 0, φ(0) + φ'(0) x + φ''(0) x²/2 + …:
#            φ(0)   φ'(0)  φ''(0)   what Theorem 1 of esser-2023 says about it
# linear      0      1      0       nothing to compare
# tanh        0      1      0       holds, and the next order is the third
# soft        0      1      1/2     holds, at the order that the theorem allows
# relu        0      —      —       no slope at 0: left out
# half        0      1/2    0       slope not 1: left out
# sigmoid     1/2    1/4    0       φ(0) ≠ 0: left out

TANH = Activation("tanh", torch.tanh, lambda x: 1 - torch.tanh(x).square(), degree=None)

# Beyond the default threshold, 20, softplus would be off by 2e-9.
SOFT = Activation(
    "soft",
    lambda x: 2 * (torch.nn.functional.softplus(x, threshold=40) - math.log(2)),
    lambda x: 2 * torch.sigmoid(x),
    degree=None,
)

HALF = Activation("half", lambda x: x / 2, lambda x: torch.full_like(x, 0.5))

WIDE = {a.name: a for a in (ACTIVATIONS["linear"], ACTIVATIONS["relu"], TANH, SOFT, HALF, SIGMOID)}

# sup |φ''|, the constant c of Theorem 1; ReLU has none. Attained at tanh x = 1/√3, at 0, and at tanh(x/2) = 1/√3.
CURVATURE = {"linear": 0.0, "tanh": 4 / (3 * math.sqrt(3)), "soft": 0.5, "half": 0.0, "sigmoid": 1 / (6 * math.sqrt(3))}
