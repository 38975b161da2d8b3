"""What chapters use of the kernels of wen-li-2021: sparse codes, augmented views and what is learned of them."""

from .arm_permutations import planted_clusters, planted_sparse_firing
from .augmentation_spectrum import (
    augmented_pair,
    colour_directions,
    direction_rates,
    growth_spectrum,
    masked_pair,
    shared_moment,
)
from .constructed_learners import collision_floor, dense_learner, silent_share, singleton_learner
from .decoupled_training import Course, stream_gradient, train
from .decoupling_scores import (
    atom_shares,
    matched_neurons,
    neurons_won,
    noise_dominance,
    span_share,
    split_coefficients,
)
from .dictionaries import complement, flat_dictionary, local_dictionary, random_dictionary
from .feature_visualisation import colour_share, high_frequency_share, pattern_spread, visualised_filters, white_share
from .labels_needed import labels_to_reach, linear_labels, probe_curve
from .linear_probes import classification_probe, downstream_labels, draw_w_star, linear_limit, regression_probe
from .louder_noise import LouderNoise, loud_directions
from .rare_atoms import RareAtoms, lucky_share, lucky_starts, lucky_tail
from .sparse_coding import SparseCoding, paper_scales
from .stage_one import decoupling_clock, factor_of_half, flat_rates, logistic_share, share_with_batch_noise
from .supervised_codes import train_supervised
from .symmetrised_relu import contrastive_gradient, contrastive_loss_value, features, logits
from .threshold_rates import threshold_rates
from .training_schedule import DecoupledTraining, Learner, initial_weights
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
    enumerated_cross_moment,
    growth_rates,
    linear_share,
    mask_overlap,
    random_masks,
    second_moment,
)

__all__ = [
    "Course",
    "DecoupledTraining",
    "Learner",
    "LouderNoise",
    "RareAtoms",
    "SparseCoding",
    "active_share",
    "atom_shares",
    "augmented_pair",
    "best_match",
    "classification_probe",
    "collision_floor",
    "colour_directions",
    "colour_selectivity",
    "colour_share",
    "complement",
    "contrastive_gradient",
    "contrastive_loss_value",
    "cross_moment",
    "decoding_error",
    "decoupling_clock",
    "dense_learner",
    "direction_rates",
    "downstream_labels",
    "draw_w_star",
    "enumerated_cross_moment",
    "factor_of_half",
    "features",
    "flat_dictionary",
    "flat_rates",
    "growth_rates",
    "growth_spectrum",
    "high_frequency_share",
    "hoyer_sparsity",
    "initial_weights",
    "labels_to_reach",
    "linear_labels",
    "linear_limit",
    "linear_share",
    "local_dictionary",
    "logistic_share",
    "logits",
    "loud_directions",
    "lucky_share",
    "lucky_starts",
    "lucky_tail",
    "mask_overlap",
    "masked_pair",
    "matched_neurons",
    "neighbour_accuracy",
    "neurons_won",
    "noise_dominance",
    "paper_scales",
    "pattern_spread",
    "planar_embedding",
    "planted_clusters",
    "planted_sparse_firing",
    "probe_curve",
    "random_dictionary",
    "random_masks",
    "regression_probe",
    "second_moment",
    "share_with_batch_noise",
    "shared_moment",
    "shuffled_match",
    "silent_share",
    "silhouette",
    "singleton_learner",
    "span_share",
    "split_coefficients",
    "stream_gradient",
    "threshold_rates",
    "train",
    "train_supervised",
    "visualised_filters",
    "white_share",
]
