"""Runs of the chapter Alignment and balance: plans of arms, scores of a figure; what no other chapter calls.

It re-exports the names that the chapter uses.
"""

from .head_arms import ArmPlan, group_means, train_arms
from .temperature_race import RacePlan, updates_to_half
from .two_stage_training import (
    TwoStages,
    both_times,
    distance_from_limit,
    ends_without_negatives,
    first_time_at,
    largest_change_of_a_flip,
    misalignment_and_noise,
    nearly_equal_maps,
    one_temperature,
    power_with_and_without,
    require_sizes,
    some_pairs,
    stopped,
    train_two_stages,
    unrelated_pairs,
)

__all__ = [
    "ArmPlan",
    "RacePlan",
    "TwoStages",
    "both_times",
    "distance_from_limit",
    "ends_without_negatives",
    "first_time_at",
    "group_means",
    "largest_change_of_a_flip",
    "misalignment_and_noise",
    "nearly_equal_maps",
    "one_temperature",
    "power_with_and_without",
    "require_sizes",
    "some_pairs",
    "stopped",
    "train_arms",
    "train_two_stages",
    "unrelated_pairs",
    "updates_to_half",
]
