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
    coupled_growth_bound,
)
from .comparative_gronwall import draw_process as draw_comparison
from .comparative_gronwall import solve as solve_comparison
from .contrastive_force import force as contrastive_force
from .contrastive_force import non_contrastive_force, population_loss
from .distance_alignment import exact_alignment_by_distance
from .image_bootstrap import image_weights, jackknife_values, percentile_interval, resampled_means, resampled_starts
from .image_caption_pairs import image_caption_pairs
from .infinite_width_flow import (
    WideState,
    negative_factors,
    non_contrastive_exponent,
    non_contrastive_solution,
    wide_condition_number,
    wide_flow,
    wide_start,
    wide_velocity,
)
from .infinite_width_predictor import wide_predictor_flow
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
from .model import all_signs, correlation, initial_maps, lumped_maps, model_scales, sample_signs
from .predictor_flow import PredictorMaps, predictor_flow
from .two_modality_descent import descend
from .two_modality_flow import column_rates, contrastive_flow, non_contrastive_flow, velocity
from .two_stage_descent import DescentStage, initial_maps_of_widths, two_stage_descent
from .wide_training import WideStage, settling_time, wide_training
from .zero_shot import alignment_by_distance, best_constant_answer

__all__ = [
    "DescentStage",
    "PredictorMaps",
    "WideStage",
    "WideState",
    "aligned_state",
    "alignment_by_distance",
    "alignment_condition",
    "all_signs",
    "balance",
    "balancing_rate",
    "balancing_time",
    "best_constant_answer",
    "best_tau_squared",
    "best_tau_squared_many_signals",
    "column_alignment",
    "column_rates",
    "column_ratio",
    "comparison_closed_form",
    "condition_growth_bound",
    "condition_number",
    "condition_rate_bound",
    "contrastive_flow",
    "contrastive_force",
    "convergence_time_bound",
    "correlation",
    "coupled_growth_bound",
    "descend",
    "discretisation_errors",
    "draw_comparison",
    "exact_alignment",
    "exact_alignment_by_distance",
    "gronwall_bound",
    "image_caption_pairs",
    "image_weights",
    "initial_maps",
    "initial_maps_of_widths",
    "jackknife_values",
    "lumped_maps",
    "model_scales",
    "negative_factors",
    "noise_signal_ratio",
    "non_contrastive_exponent",
    "non_contrastive_flow",
    "non_contrastive_force",
    "non_contrastive_solution",
    "percentile_interval",
    "population_loss",
    "predictor_flow",
    "resampled_means",
    "resampled_starts",
    "sample_signs",
    "settling_time",
    "solve_comparison",
    "two_stage_descent",
    "velocity",
    "wide_condition_number",
    "wide_flow",
    "wide_predictor_flow",
    "wide_start",
    "wide_training",
    "wide_velocity",
    "worst_alignment_map",
]
