"""Runs of the chapter Feature decoupling: plans of arms, scores of a figure; what no other chapter calls.

It re-exports the names that the chapter uses.
"""

from .course_readouts import AtMultiples, Readouts, follow, follow_multiples
from .figure_arms import ARMS, COLOURS, arm_training, labelled_images, trained_encoders
from .linear_encoder import in_order, learning_times, rate_exponent
from .setting import Setting, require_room, require_sizes, scaled_setting, slopes
from .two_lengths import two_lengths

__all__ = [
    "ARMS",
    "COLOURS",
    "AtMultiples",
    "Readouts",
    "Setting",
    "arm_training",
    "follow",
    "follow_multiples",
    "in_order",
    "labelled_images",
    "learning_times",
    "rate_exponent",
    "require_room",
    "require_sizes",
    "scaled_setting",
    "slopes",
    "trained_encoders",
    "two_lengths",
]
