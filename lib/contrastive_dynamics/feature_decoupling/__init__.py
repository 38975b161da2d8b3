"""What chapters use of the kernels of wen-li-2021: sparse codes, augmented views and what is learned of them."""

from .constructed_learners import collision_floor, dense_learner, dense_loss_bounds, silent_share, singleton_learner
from .decoupled_training import Course, DecoupledTraining, Learner, initial_weights, stream_gradient, train
from .decoupling_scores import (
    atom_shares,
    chance_in_own_set,
    matched_neurons,
    neurons_won,
    noise_dominance,
    silence_probability,
    span_share,
    split_coefficients,
)
from .dictionaries import complement, flat_dictionary, flatness, local_dictionary, random_dictionary
from .feature_visualisation import colour_share, high_frequency_share, visualised_filters, white_share
from .figure_arms import ARMS, arm_training, labelled_images, trained_encoders
from .linear_probes import (
    classification_probe,
    downstream_labels,
    draw_w_star,
    linear_limit,
    regression_probe,
    toss_ties,
)
from .sparse_coding import SparseCoding, paper_scales
from .supervised_codes import train_supervised
from .symmetrised_relu import contrastive_gradient, contrastive_loss_value, features, logits
from .unit_statistics import (
    active_share,
    best_match,
    colour_selectivity,
    hoyer_sparsity,
    neighbour_accuracy,
    planar_embedding,
    shuffled_match,
    silhouette,
)
from .view_correlation import (
    cross_moment,
    decoding_error,
    direction_correlation,
    enumerated_cross_moment,
    growth_rates,
    linear_share,
    mask_overlap,
    random_masks,
)

__all__ = [
    "ARMS", "Course", "DecoupledTraining", "Learner", "SparseCoding", "active_share", "arm_training", "atom_shares",
    "best_match", "chance_in_own_set", "classification_probe", "collision_floor", "colour_selectivity", "colour_share",
    "complement", "contrastive_gradient", "contrastive_loss_value", "cross_moment", "decoding_error", "dense_learner",
    "dense_loss_bounds", "direction_correlation", "downstream_labels", "draw_w_star", "enumerated_cross_moment",
    "features", "flat_dictionary", "flatness", "growth_rates", "high_frequency_share", "hoyer_sparsity",
    "initial_weights", "labelled_images", "linear_limit", "linear_share", "local_dictionary", "logits", "mask_overlap",
    "matched_neurons", "neighbour_accuracy", "neurons_won", "noise_dominance", "paper_scales", "planar_embedding",
    "random_dictionary", "random_masks", "regression_probe", "shuffled_match", "silence_probability", "silent_share",
    "silhouette", "singleton_learner", "span_share", "split_coefficients", "stream_gradient", "toss_ties", "train",
    "train_supervised", "trained_encoders", "visualised_filters", "white_share",
]  # fmt: skip
