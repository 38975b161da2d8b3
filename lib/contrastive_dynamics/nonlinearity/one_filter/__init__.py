"""What chapters use of one filter of tian-2023: its landscape, its optima and their growth."""

from .categorical_optima import categorical_optima, cone_angle_bound
from .circle_landscape import (
    FIGURE_8_POINTS,
    blurred_landscape,
    circle_fixed_points,
    circle_grid,
    count_energy_maxima,
    count_maxima,
    energy_maxima,
    on_circle,
)
from .circle_landscape import energy as circle_energy
from .density_optima import density_fixed_points
from .distinct_limits import ascent_limits, basin_shares, expected_finds, first_finds, stretched_summation
from .finite_population import expansion_limit, jittered_population, sample_pairs
from .frozen_importance import frozen_gaussian_field
from .gaussian_mixture import GaussianMixture, random_gaussian_mixture
from .latent_models import (
    CRITICAL_Q,
    categorical_covariance,
    closed_form_error,
    critical_probability,
    latent_categorical,
    latent_summation,
    orthonormal_patterns,
    pattern_eigenvalues,
    population_field,
    relu_off_plane,
    summation_covariance,
    tilted_patterns,
    tilted_summation,
)
from .local_convergence import (
    angle_between,
    check_theorem,
    contraction,
    contraction_slack,
    irregularity,
    pattern_angle_bound,
    pattern_contraction,
    starts_near,
)
from .locally_maximal import eigen_check, flow_jacobian, growth_rate, newton_fixed_points
from .locally_maximal import roughness as lme_roughness
from .modulated_growth import (
    blow_up_time,
    circle_boundary,
    earliest_blow_up,
    integrated_blow_up,
    largest_rate,
    wins_by,
    wins_flow,
)
from .modulated_growth import growth as modulated_growth
from .noisy_views import noisy_views
from .optimum_depths import circle_objective, optimum_depths
from .pattern_race import first_wins, free_race_winner, leading_share, leads, race_winner, votes_for
from .planar_density import DiscPopulation, ascend_bound_ratio, random_disc_population
from .power_iteration_bounds import (
    AffineField,
    check_region,
    displacement_ratio,
    expansion_ratio,
    power_step,
    shortfall_ratio,
    spectral_matrix,
    turning_ratio,
)
from .rotation_augmentation import augmentation_angles, augmented_energy, orbit_variation, plane_generator, rotations
from .sphere_flow import distinct_points, power_iteration, sphere_flow, uniform_on_sphere
from .winning_probability import (
    count_score,
    leader_bound,
    leader_bound_mended,
    leader_excess,
    rank_bound,
    rank_bound_mended,
    rank_excess,
    single_modulation,
    winning_count,
    winning_probability,
)

__all__ = [
    "CRITICAL_Q", "FIGURE_8_POINTS", "AffineField", "DiscPopulation", "GaussianMixture", "angle_between",
    "ascend_bound_ratio", "ascent_limits", "augmentation_angles", "augmented_energy", "basin_shares", "blow_up_time",
    "blurred_landscape", "categorical_covariance", "categorical_optima", "check_region", "check_theorem",
    "circle_boundary", "circle_energy", "circle_fixed_points", "circle_grid", "circle_objective", "closed_form_error",
    "cone_angle_bound", "contraction", "contraction_slack", "count_energy_maxima", "count_maxima", "count_score",
    "critical_probability", "density_fixed_points", "displacement_ratio", "distinct_points", "earliest_blow_up",
    "eigen_check", "energy_maxima", "expansion_limit", "expansion_ratio", "expected_finds", "first_finds", "first_wins",
    "flow_jacobian", "free_race_winner", "frozen_gaussian_field", "growth_rate", "integrated_blow_up", "irregularity",
    "jittered_population", "largest_rate", "latent_categorical", "latent_summation", "leader_bound",
    "leader_bound_mended", "leader_excess", "leading_share", "leads", "lme_roughness", "modulated_growth",
    "newton_fixed_points", "noisy_views", "on_circle", "optimum_depths", "orbit_variation", "orthonormal_patterns",
    "pattern_angle_bound", "pattern_contraction", "pattern_eigenvalues", "plane_generator", "population_field",
    "power_iteration", "power_step", "race_winner", "random_disc_population", "random_gaussian_mixture", "rank_bound",
    "rank_bound_mended", "rank_excess", "relu_off_plane", "rotations", "sample_pairs", "shortfall_ratio",
    "single_modulation", "spectral_matrix", "sphere_flow", "starts_near", "stretched_summation", "summation_covariance",
    "tilted_patterns", "tilted_summation", "turning_ratio", "uniform_on_sphere", "votes_for", "winning_count",
    "winning_probability", "wins_by", "wins_flow",
]  # fmt: skip
