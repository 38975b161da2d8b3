"""Worlds, views, networks, losses, constraints and scores that fit together, one training loop, and the law.

It re-exports the names that chapters use.
"""

from .canonical_correlations import noise_correlation
from .distance_law import learned_distance_temperature
from .encoders import Linear
from .experiment import train
from .image_pairs import image_draw
from .losses import InfoNCE
from .pairs import per_run
from .sampling_bias import noise_total
from .scores import score
from .soft_threshold import effective_rank_of_shares, learned_temperature, water_filling, water_level
from .unit_length import unit_length_temperature
from .view_makers import Apart, Coupled, Masked

__all__ = [
    "Apart",
    "Coupled",
    "InfoNCE",
    "Linear",
    "Masked",
    "effective_rank_of_shares",
    "image_draw",
    "learned_distance_temperature",
    "learned_temperature",
    "noise_correlation",
    "noise_total",
    "per_run",
    "score",
    "train",
    "unit_length_temperature",
    "water_filling",
    "water_level",
]
