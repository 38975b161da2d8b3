"""Worlds, views, networks, losses, constraints and scores that fit together, one training loop, and the law.

It re-exports the names that chapters use.
"""

from .canonical_correlations import noise_correlation
from .encoders import Linear
from .experiment import train
from .image_pairs import image_draw
from .losses import InfoNCE
from .own_runs import Plan, own_map
from .pairs import per_run
from .real_runs import (
    distance,
    hidden_layer,
    measured_views,
    noise_shown,
    spectra_at,
    temperature_learned,
    totals_of_known,
)
from .sampling_bias import noise_total
from .scores import score
from .soft_threshold import effective_rank_of_shares, learned_temperature, water_filling, water_level
from .view_makers import Apart, Coupled, Masked

__all__ = [
    "Apart",
    "Coupled",
    "InfoNCE",
    "Linear",
    "Masked",
    "Plan",
    "distance",
    "effective_rank_of_shares",
    "hidden_layer",
    "image_draw",
    "learned_temperature",
    "measured_views",
    "noise_correlation",
    "noise_shown",
    "noise_total",
    "own_map",
    "per_run",
    "score",
    "spectra_at",
    "temperature_learned",
    "totals_of_known",
    "train",
    "water_filling",
    "water_level",
]
