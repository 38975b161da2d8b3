"""What chapters use of the kernels of ren-li-2023: two modalities, their training flows and their scores."""

from .best_temperature import (
    aligned_state,
    balancing_rate,
    balancing_time,
    best_tau_squared,
    best_tau_squared_many_signals,
)
from .comparative_gronwall import bound as gronwall_bound
from .comparative_gronwall import closed_form as comparison_closed_form
from .comparative_gronwall import (
    condition_growth_bound,
    condition_rate_bound,
    convergence_time_bound,
    coupled_growth,
    coupled_growth_bound,
)
from .comparative_gronwall import draw_process as draw_comparison
from .comparative_gronwall import solve as solve_comparison
from .contrastive_force import force as contrastive_force
from .contrastive_force import non_contrastive_force
from .distance_alignment import exact_alignment_by_distance, sampled_alignment_by_distance
from .head_arms import ArmPlan, group_means, train_arms
from .head_training import Recipe, train_heads
from .image_bootstrap import (
    constant_hits,
    constant_macro_recall,
    image_weights,
    jackknife_values,
    percentile_interval,
    resampled_alignment,
    resampled_means,
    resampled_spectra,
    resampled_starts,
    weights_without_groups,
    zero_shot_hits,
)
from .image_caption_pairs import image_caption_pairs
from .infinite_width_flow import (
    WideState,
    negative_factors,
    non_contrastive_exponent,
    non_contrastive_solution,
    wide_condition_number,
    wide_flow,
    wide_noise_signal_ratio,
    wide_start,
    wide_velocity,
)
from .modality_scores import (
    alignment_condition,
    balance,
    column_alignment,
    column_ratio,
    condition_number,
    discretisation_errors,
    exact_alignment,
    noise_signal_ratio,
    worst_alignment_map,
)
from .model import Signs, all_signs, correlation, initial_maps, lumped_maps, model_scales
from .predictor_flow import PredictorMaps, lump_noise, predictor_flow, random_predictors
from .projection_heads import apply_heads, init_heads
from .temperature_race import RacePlan, updates_to_half
from .two_modality_descent import descend
from .two_modality_flow import column_rates, contrastive_flow, non_contrastive_flow, velocity
from .two_stage_descent import DescentStage, initial_maps_of_widths, two_stage_descent
from .two_stage_training import (
    TwoStages,
    both_times,
    distance_from_limit,
    ends_without_negatives,
    maps_with_lumped_noise,
    nearly_equal_maps,
    power_with_and_without,
    require_sizes,
    some_pairs,
    stopped,
    train_two_stages,
    unrelated_pairs,
)
from .wide_training import WideStage, settling_time, wide_training
from .zero_shot import (
    alignment_by_distance,
    alignment_score,
    best_constant_answer,
    equal_lengths,
    macro_recall,
    output_balance,
    output_condition_number,
    predictions,
    zero_shot_accuracy,
)

__all__ = [
    "ArmPlan", "DescentStage", "PredictorMaps", "RacePlan", "Recipe", "Signs", "TwoStages", "WideStage",
    "WideState", "aligned_state", "alignment_by_distance", "alignment_condition", "alignment_score", "all_signs",
    "apply_heads", "balance", "balancing_rate", "balancing_time", "best_constant_answer", "best_tau_squared",
    "best_tau_squared_many_signals", "both_times", "column_alignment", "column_rates", "column_ratio",
    "comparison_closed_form", "condition_growth_bound", "condition_number", "condition_rate_bound", "constant_hits",
    "constant_macro_recall", "contrastive_flow", "contrastive_force", "convergence_time_bound", "correlation",
    "coupled_growth", "coupled_growth_bound", "descend", "discretisation_errors", "distance_from_limit",
    "draw_comparison", "ends_without_negatives", "equal_lengths", "exact_alignment", "exact_alignment_by_distance",
    "gronwall_bound", "group_means", "image_caption_pairs", "image_weights", "init_heads", "initial_maps",
    "initial_maps_of_widths", "jackknife_values", "lump_noise", "lumped_maps", "macro_recall",
    "maps_with_lumped_noise", "model_scales", "nearly_equal_maps", "negative_factors", "noise_signal_ratio",
    "non_contrastive_exponent", "non_contrastive_flow", "non_contrastive_force", "non_contrastive_solution",
    "output_balance", "output_condition_number", "percentile_interval", "power_with_and_without", "predictions",
    "predictor_flow", "random_predictors", "require_sizes", "resampled_alignment", "resampled_means",
    "resampled_spectra", "resampled_starts", "sampled_alignment_by_distance", "settling_time", "solve_comparison",
    "some_pairs", "stopped", "train_arms", "train_heads", "train_two_stages", "two_stage_descent",
    "unrelated_pairs", "updates_to_half", "velocity", "weights_without_groups", "wide_condition_number",
    "wide_flow", "wide_noise_signal_ratio", "wide_start", "wide_training", "wide_velocity", "worst_alignment_map",
    "zero_shot_accuracy", "zero_shot_hits",
]  # fmt: skip
