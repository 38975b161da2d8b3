"""What chapters use of losses, pairwise importances and activations."""

from .activations import ACTIVATIONS, TRAINED, Activation, activation
from .contrastive_covariance import (
    contrastive_covariance,
    contrastive_energy,
    gated_contrastive_covariance,
    kernel_contrastive_covariance,
    one_layer_velocity,
    uniform_contrastive_covariance,
)
from .gated_covariance import gate, gated_field, project_out
from .pairwise_importance import (
    gaussian_features,
    gaussian_importance,
    half_squared_distances,
    infonce_importance,
    infonce_loss,
    uniform_importance,
)

__all__ = [
    "ACTIVATIONS",
    "TRAINED",
    "Activation",
    "activation",
    "contrastive_covariance",
    "contrastive_energy",
    "gate",
    "gated_contrastive_covariance",
    "gated_field",
    "gaussian_features",
    "gaussian_importance",
    "half_squared_distances",
    "infonce_importance",
    "infonce_loss",
    "kernel_contrastive_covariance",
    "one_layer_velocity",
    "project_out",
    "uniform_contrastive_covariance",
    "uniform_importance",
]
