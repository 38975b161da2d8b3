"""How the contrastive learner takes a step: its settings, its start, and the schedule of its biases."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

import torch
from torch import Tensor

from .sparse_coding import VIEWS, SparseCoding
from .symmetrised_relu import Gradient

BIASES = ("max", "min", "zero", "trained")


@dataclass(frozen=True)
class DecoupledTraining:
    """How one network is trained: views, batch, step, and the schedule of its biases.

    Bias, until T1 (every ‖w_i‖ ≥ `grown`): 0. At T1: b_i = √(2 log d/d) ‖w_i‖. After it, with n = the factor by which
    ‖w_i‖ grew in this step and g = 1 + η·raise_rate/d: "max" multiplies b_i by max(g, n), "min" by min(g, n), both
    up to b_i = cap·‖w_i‖; "zero" stays 0; "trained" makes it a parameter, which starts at 0 and is trained from the
    first step.
    Source: wen-li-2021, Section 2.2, Training algorithm using SGD; its formula is lost in our copy, and both max and
    min fit the text; `cap` stands for the paper's polylog(d)/√d.
    Fields:
        views: one of VIEWS.
        rate: ρ of the masks, in (0, 1).
        batch: positives per step, ≥ 1.
        negatives: N per step, ≥ 1.
        learning_rate: η > 0.
        temperature: τ > 0.
        weight_decay: λ, with 0 ≤ ηλ < 1.
        bias: one of BIASES.
        grown: norm that every ‖w_i‖ reaches at T1, > 0.
        raise_rate: of the bias after T1, > 0.
        cap: largest b_i/‖w_i‖, in (0, 1).
        mask_negatives: whether negatives, too, are seen under one mask of the views' rate, as in Remark 2.4.
    Raises: a one-line ValueError outside these ranges.
    """

    views: str = "masked"
    rate: float = 0.5
    batch: int = 2048
    negatives: int = 256
    learning_rate: float = 1.0
    temperature: float = 8.0
    weight_decay: float = 0.0
    bias: str = "max"
    grown: float = 1.0
    raise_rate: float = 1.0
    cap: float = 0.65
    mask_negatives: bool = False

    def __post_init__(self):
        allowed = {
            "views": (self.views in VIEWS, ", ".join(VIEWS)),
            "rate": (0 < self.rate < 1, "the open interval (0, 1)"),
            "batch": (self.batch >= 1, "1 or more"),
            "negatives": (self.negatives >= 1, "1 or more"),
            "learning_rate": (self.learning_rate > 0, "any above 0"),
            "temperature": (self.temperature > 0, "any above 0"),
            "weight_decay": (0 <= self.weight_decay * self.learning_rate < 1, "0 to below 1/learning_rate"),
            "bias": (self.bias in BIASES, ", ".join(BIASES)),
            "grown": (self.grown > 0, "any above 0"),
            "raise_rate": (self.raise_rate > 0, "any above 0"),
            "cap": (0 < self.cap < 1, "the open interval (0, 1)"),
        }
        for name, (fits, what) in allowed.items():
            if not fits:
                raise ValueError(f"{name} must be one of the allowed values ({what}), got {getattr(self, name)!r}")


class Learner(NamedTuple):
    """Weights `[run, m, d1]`, biases `[run, m]`, and whether each run has passed T1, `[run]`."""

    weights: Tensor
    bias: Tensor
    grown: Tensor


def initial_weights(model: SparseCoding, neurons: int, norm: float, generators: list[torch.Generator]) -> Tensor:
    """w_i ~ N(0, σ_0² I) with σ_0 = norm/√d1, so that ‖w_i‖ ≈ norm; `[run, m, d1]`.

    Source: wen-li-2021, Section 2.2.
    Args:
        model: its dictionary gives d1, the device and the dtype.
        neurons: m ≥ 1.
        norm: > 0.
        generators: one per run.
    Raises: ValueError for no neurons or a norm that is not positive.
    """
    if neurons < 1 or not norm > 0:
        raise ValueError(f"neurons and norm must be ≥ 1 and > 0, got {neurons} and {norm}")
    dim = model.dictionary.shape[-2]
    return torch.stack(
        [torch.randn(neurons, dim, generator=g, device=model.device, dtype=model.dtype) for g in generators]
    ) * (norm / sqrt(dim))


def sgd_step(learner: Learner, gradient: Gradient, training: DecoupledTraining, atoms: int) -> Learner:
    """w ← (1 - ηλ) w - η ∂L/∂w, then the bias by its schedule.

    Source: wen-li-2021, Section 2.2.
    Args:
        learner: the learner before the step.
        gradient: gradient of its loss.
        training: η, λ and the schedule.
        atoms: d.
    """
    eta = training.learning_rate
    weights = learner.weights * (1 - eta * training.weight_decay) - eta * gradient.weights
    before, norms = learner.weights.norm(dim=-1), weights.norm(dim=-1)
    grown = learner.grown | (norms >= training.grown).all(-1)
    if training.bias == "trained":
        return Learner(weights, learner.bias - eta * gradient.bias, grown)
    if training.bias == "zero":
        return Learner(weights, learner.bias, grown)
    faster = torch.maximum if training.bias == "max" else torch.minimum
    raised = learner.bias * faster(norms / before, torch.full_like(norms, 1 + eta * training.raise_rate / atoms))
    first = (grown & ~learner.grown).unsqueeze(-1)
    bias = torch.where(first, sqrt(2 * log(atoms) / atoms) * norms, raised)
    return Learner(weights, torch.minimum(bias, training.cap * norms), grown)
