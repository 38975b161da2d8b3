"""What chapters use of two layers of tian-2023: receptive fields, BatchNorm and who wins."""

from .batch_norm import BACKPROPAGATED, batch_norm, batch_norm_velocity
from .common_clock_flow import common_clock_flow
from .conditional_independence import (
    ConditionalFields,
    between_variance,
    binary_moments,
    conditional_moments,
    contrasts,
    decomposed_variance,
    enumerate_inputs,
    mended_strength,
    modulated_velocity,
    printed_strength,
    random_fields,
    strength,
)
from .enumerated_outputs import normalised_variance, output_variance, random_fields_and_filters, top_eigenvalue_gradient
from .field_arrivals import arrivals, scaled_fields, token_starts
from .token_fields import boosted_tokens
from .two_layer import (
    colinearity,
    critical_filters,
    field_covariances,
    filter_spread,
    hidden_outputs,
    linear_gradient,
    mean_path,
    path_gradient,
    rank_one_gram,
    swap_path,
    top_direction,
    train_unit_filters,
)
from .two_layer import gradient as two_layer_gradient
from .two_layer_flow import hidden_layer, top_layer_after, two_layer_velocity

__all__ = [
    "BACKPROPAGATED",
    "ConditionalFields",
    "arrivals",
    "batch_norm",
    "batch_norm_velocity",
    "between_variance",
    "binary_moments",
    "boosted_tokens",
    "colinearity",
    "common_clock_flow",
    "conditional_moments",
    "contrasts",
    "critical_filters",
    "decomposed_variance",
    "enumerate_inputs",
    "field_covariances",
    "filter_spread",
    "hidden_layer",
    "hidden_outputs",
    "linear_gradient",
    "mean_path",
    "mended_strength",
    "modulated_velocity",
    "normalised_variance",
    "output_variance",
    "path_gradient",
    "printed_strength",
    "random_fields",
    "random_fields_and_filters",
    "rank_one_gram",
    "scaled_fields",
    "strength",
    "swap_path",
    "token_starts",
    "top_direction",
    "top_eigenvalue_gradient",
    "top_layer_after",
    "train_unit_filters",
    "two_layer_gradient",
    "two_layer_velocity",
]
