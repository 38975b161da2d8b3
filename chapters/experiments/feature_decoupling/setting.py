"""The setting of the chapter and its appendix: the model at the paper's scales, and how a training of it begins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from typing import NamedTuple

import torch
from torch import Tensor

from contrastive_dynamics.feature_decoupling.constructed_learners import singleton_learner
from contrastive_dynamics.feature_decoupling.decoupled_training import stream_gradient
from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding, paper_scales
from contrastive_dynamics.feature_decoupling.training_schedule import DecoupledTraining, Learner, initial_weights
from contrastive_dynamics.numerics.power_laws import fitted_power
from contrastive_dynamics.numerics.random_streams import streams

YARDSTICK_SCALES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)  # of the constructed learner, over √τ
YARDSTICK_BATCH = 1024


class Beginning(NamedTuple):
    """The first arguments of `train`, `follow` and `follow_multiples`."""

    model: SparseCoding
    weights: Tensor
    training: DecoupledTraining
    generators: list[torch.Generator]


@dataclass(frozen=True)
class Setting:
    """Sizes and constants that all runs of a page share.

    Fields:
        seeds: one run each.
        atoms: d of the trained networks.
        dim: d1 of the largest; its batch is that of `training`.
        neurons: m, at most d1 - d.
        active, noise: the constants of `paper_scales`.
        start_norm: ‖w_i‖ at the start, about.
        training: how a network is trained where nothing else is said.
    Raises: ValueError for more neurons than a layer of dense features can have.
    """

    seeds: Sequence[int]
    atoms: int
    dim: int
    neurons: int
    active: float
    noise: float
    start_norm: float
    training: DecoupledTraining

    def __post_init__(self):
        if self.neurons > self.dim - self.atoms:
            raise ValueError(f"neurons: must be at most d1 - d = {self.dim - self.atoms}, got {self.neurons}")

    def draws(self, purpose: str) -> list[torch.Generator]:
        """A generator for each seed."""
        return streams(self.seeds, 1, purpose)

    def coding(
        self,
        atoms: int,
        dim: int,
        make: Callable = random_dictionary,
        dtype: torch.dtype = torch.float64,
        noise: float | None = None,
    ) -> SparseCoding:
        """The model at the paper's scales, one dictionary of `make` per seed; `noise` in place of the constant."""
        dictionary = make(dim, atoms, self.draws(f"dictionary {atoms} {dim}"), dtype=dtype)
        return SparseCoding(dictionary, *paper_scales(atoms, self.active, self.noise if noise is None else noise))

    def begin(self, dim: int, training: DecoupledTraining | None = None, noise: float | None = None) -> Beginning:
        """Model, start, training and data of a run at d1 = `dim`, in single precision; the batch grows with d1.

        A step of SGD adds noise in all d1 directions, so that a fixed batch would be worth less at a larger d1.
        """
        model = self.coding(self.atoms, dim, dtype=torch.float32, noise=noise)
        training = training or self.training
        scaled = replace(training, batch=max(1, training.batch * dim // self.dim))
        start = initial_weights(model, self.neurons, self.start_norm, self.draws("start"))
        return Beginning(model, start, scaled, self.draws("data"))

    def loss_share(
        self, model: SparseCoding, weights: Tensor, bias: Tensor, training: DecoupledTraining, purpose: str
    ) -> Tensor:
        """Loss over a batch of fresh pairs over τ log(1 + N), its value where all outputs are alike: `[run]`."""
        found = stream_gradient(model, Learner(weights, bias, None), training, self.draws(purpose))
        return found.loss.double() / (training.temperature * log(1 + training.negatives))

    def masked_loss(self, model: SparseCoding, weights: Tensor, bias: Tensor) -> Tensor:
        """`loss_share` of the masked pairs on which networks are compared with the constructed learner."""
        return self.loss_share(model, weights, bias, replace(self.training, batch=YARDSTICK_BATCH), "loss")

    def yardstick(self, model: SparseCoding) -> Tensor:
        """The least `masked_loss` of the constructed learner over its scales: `[run]`.

        Source: wen-li-2021, Lemma E.11.
        """
        scales = (self.training.temperature**0.5 * c for c in YARDSTICK_SCALES)
        built = (singleton_learner(model.dictionary, c, self.training.cap) for c in scales)
        return torch.stack([self.masked_loss(model, *each) for each in built]).amin(0)

    def dense_directions(self, dictionary: Tensor, count: int) -> Tensor:
        """Orthonormal directions outside of span(M), otherwise random: `[run, d1, count]`. Cost: 2·d1·(d + count)²."""
        drawn = [torch.randn(dictionary.shape[1], count, generator=g, dtype=torch.float64) for g in self.draws("dense")]
        both = torch.cat([dictionary, torch.stack(drawn).to(dictionary)], -1)
        return torch.linalg.qr(both)[0][..., dictionary.shape[-1] :]


def scaled_setting(setting: Setting, atoms: int, dim: int) -> Setting:
    """The setting at another number of atoms: d1 and m in proportion to d, and the largest bias as √(log d/d).

    At T1 a neuron has its best atom at about √(2 log d/d) ‖w‖, and in a view the noise √2 σ_ξ ‖w‖ ~ (log d)^¼ ‖w‖/√d.
    A largest bias that stays the same part of ‖w‖ is out of the reach of both once d is large. The batch is that of
    d1 = `dim` here: the noise that it adds depends on d1/d.
    Source: wen-li-2021, Section 2.2: biases up to polylog(d)/√d, in units of ‖w‖.
    Args:
        setting: at its own d.
        atoms: the other d, ≥ 2.
        dim: d1 at the setting's own d, to which that of the result is in proportion; ≥ d + m.
    Returns: a Setting whose `begin(its dim)` has m·(atoms/d) neurons.
    Raises: ValueError for fewer atoms or a smaller dim.
    """
    least = setting.atoms + setting.neurons
    if atoms < 2 or dim < least:
        raise ValueError(f"atoms and dim must be ≥ 2 and ≥ {least}, got {atoms} and {dim}")
    lower = sqrt(log(atoms) / atoms / (log(setting.atoms) / setting.atoms))
    batch = max(1, setting.training.batch * dim // setting.dim)
    training = replace(setting.training, batch=batch, cap=setting.training.cap * lower)
    sizes = {"dim": dim * atoms // setting.atoms, "neurons": setting.neurons * atoms // setting.atoms}
    return replace(setting, atoms=atoms, training=training, **sizes)


def require_sizes(least: int, **lists: list) -> None:
    """Raise ValueError unless each list has `least` or more values, ascending: powers are fitted without the first."""
    for name, values in lists.items():
        if len(values) < least or list(values) != sorted(set(values)):
            raise ValueError(f"{name}: must be {least} or more values, ascending, got {values}")


def require_room(atoms: int, **lists: list) -> None:
    """Raise ValueError unless every dimension has room for as many dense directions as there are atoms."""
    for name, values in lists.items():
        if min(values) < 2 * atoms:
            raise ValueError(f"{name}: must be ≥ 2·atoms = {2 * atoms}, got {values}")


def slopes(values: Tensor, sizes: Sequence[float]) -> dict[str, Tensor]:
    """Power of the size, one per run, of values `[size, run]`: over all sizes, and without the smallest."""
    return {
        "all sizes": fitted_power(values, sizes),
        "without the smallest": fitted_power(values[1:], sizes[1:]),
    }
