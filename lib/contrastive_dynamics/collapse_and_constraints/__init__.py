"""What chapters use of the kernels of esser-2023: training with and without orthonormal layers."""

from .constrained_flow import (
    flow_map,
    iterate,
    largest_rate,
    limit_projector,
    new_point,
    output_end,
    output_flow,
    output_velocity,
    polar_map,
    polar_velocity,
    projected_map,
    projector_velocity,
    vector_velocity,
)
from .constrained_optima import frobenius_optimum, operator_optimum
from .free_training import free_flow, kernel_change
from .infonce_descent import FORMS, descend_infonce, infonce_matrix
from .kernel_constraint import constrained_gram, constrained_path, constrained_velocity
from .minibatch_descent import minibatch_map, stationary_distance
from .norm_constrained_descent import (
    Descent,
    descend_frobenius,
    descend_frobenius_nonlinear,
    descend_operator_norms,
    descend_product_norm,
    descend_ratio,
)
from .orthogonal_descent import (
    Weights,
    descend,
    descent_step,
    draw_weights,
    require_sizes,
    trace_loss,
)
from .orthogonal_descent import outputs as network_outputs
from .output_growth import STEEPEST, growth_rate
from .pair_losses import (
    expected_trace_matrix,
    mean_factor,
    pair_loss,
    pairing,
    pairing_product,
    stacked,
    trace_matrix,
)
from .random_problems import (
    ball_points,
    gaussian_layers,
    gaussian_pairs,
    gaussian_views,
    indefinite_matrix,
    signed_eigenvalues,
)
from .regression_flow import regression_flow, regression_velocity
from .single_output import GRADIENTS, WEIGHTS, closed_form, exponent, outputs_at, squared_length
from .smooth_activations import CURVATURE, WIDE
from .tangent_kernel import (
    gaussian_weights,
    off_diagonal_share,
    random_tangent_kernel,
    relu_limit,
    tangent_kernel,
    tangent_shares,
)
from .unconstrained_flow import (
    blow_up,
    kernel_flow,
    linear_flow,
    output_velocity_by_kernel,
    projected_flow,
    spectral_contrastive_loss,
    spectral_flow,
)
from .update_cost import descent_step_cost, flow_step_cost
from .vector_limits import axis_distance, vector_limit
from .weight_decay import decayed_flow, without_decay
from .wide_starts import wide_starts
from .wide_training import Pairs, network, train

__all__ = [
    "CURVATURE",
    "FORMS",
    "GRADIENTS",
    "STEEPEST",
    "WEIGHTS",
    "WIDE",
    "Descent",
    "Pairs",
    "Weights",
    "axis_distance",
    "ball_points",
    "blow_up",
    "closed_form",
    "constrained_gram",
    "constrained_path",
    "constrained_velocity",
    "decayed_flow",
    "descend",
    "descend_frobenius",
    "descend_frobenius_nonlinear",
    "descend_infonce",
    "descend_operator_norms",
    "descend_product_norm",
    "descend_ratio",
    "descent_step",
    "descent_step_cost",
    "draw_weights",
    "expected_trace_matrix",
    "exponent",
    "flow_map",
    "flow_step_cost",
    "free_flow",
    "frobenius_optimum",
    "gaussian_layers",
    "gaussian_pairs",
    "gaussian_views",
    "gaussian_weights",
    "growth_rate",
    "indefinite_matrix",
    "infonce_matrix",
    "iterate",
    "kernel_change",
    "kernel_flow",
    "largest_rate",
    "limit_projector",
    "linear_flow",
    "mean_factor",
    "minibatch_map",
    "network",
    "network_outputs",
    "new_point",
    "off_diagonal_share",
    "operator_optimum",
    "output_end",
    "output_flow",
    "output_velocity",
    "output_velocity_by_kernel",
    "outputs_at",
    "pair_loss",
    "pairing",
    "pairing_product",
    "polar_map",
    "polar_velocity",
    "projected_flow",
    "projected_map",
    "projector_velocity",
    "random_tangent_kernel",
    "regression_flow",
    "regression_velocity",
    "relu_limit",
    "require_sizes",
    "signed_eigenvalues",
    "spectral_contrastive_loss",
    "spectral_flow",
    "squared_length",
    "stacked",
    "stationary_distance",
    "tangent_kernel",
    "tangent_shares",
    "trace_loss",
    "trace_matrix",
    "train",
    "vector_limit",
    "vector_velocity",
    "wide_starts",
    "without_decay",
]
