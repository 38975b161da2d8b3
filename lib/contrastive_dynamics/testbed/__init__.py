"""Worlds, views, networks, losses, constraints and scores that fit together, one training loop, and the law."""

from .count_runs import (
    SPECTRA,
    correlation_errors,
    count_errors,
    few_pairs,
    finite_batch_errors,
    learned_temperatures,
    spectral_counts,
    two_encoders,
)
from .four_worlds import WORLDS
from .law_proof import optimum_errors, refuted_cases, unproved_cases
from .law_runs import (
    law_in_a_world,
    law_in_two_layers,
    private_shares,
    rank_errors,
    share_errors,
    slow_directions,
)
from .other_loss_runs import sign_counts, unit_length_counts
from .soft_threshold import water_filling, water_level

__all__ = [
    "SPECTRA", "WORLDS", "correlation_errors", "count_errors", "few_pairs", "finite_batch_errors", "law_in_a_world",
    "law_in_two_layers", "learned_temperatures", "optimum_errors", "private_shares", "rank_errors", "refuted_cases",
    "share_errors", "sign_counts", "slow_directions", "spectral_counts", "two_encoders", "unit_length_counts",
    "unproved_cases", "water_filling", "water_level",
]  # fmt: skip
