"""Runs of the chapter Collapse and constraints: plans of arms, scores of a figure; what no other chapter calls.

It re-exports the names that the chapter uses.
"""

from .half_moon_gap import half_moon_gap
from .image_outputs import image_problem, paired_images, svm_accuracy
from .output_divergence import grow_outputs
from .three_rules import half_moon_spectrum, rotated_start, three_rules
from .two_descents import two_descents

__all__ = [
    "grow_outputs",
    "half_moon_gap",
    "half_moon_spectrum",
    "image_problem",
    "paired_images",
    "rotated_start",
    "svm_accuracy",
    "three_rules",
    "two_descents",
]
