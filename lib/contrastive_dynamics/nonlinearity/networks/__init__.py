"""What chapters use of trained networks of tian-2023: filters of images and of tokens."""

from .filter_spectra import alive as alive_filters
from .filter_spectra import (
    high_frequency_share,
    mean_of_kept,
    principal_components,
    share_within,
    unit_filters,
)
from .filter_spectra import pictures as filter_pictures
from .image_training import ImageTraining, digit_images, trained_filters
from .matching_score import shows_candidate
from .token_configuration import TokenTraining
from .token_coverage import coupon_coverage, coverage, independent_throws, relative_dispersion
from .token_generators import letters

__all__ = [
    "ImageTraining",
    "TokenTraining",
    "alive_filters",
    "coupon_coverage",
    "coverage",
    "digit_images",
    "filter_pictures",
    "high_frequency_share",
    "independent_throws",
    "letters",
    "mean_of_kept",
    "principal_components",
    "relative_dispersion",
    "share_within",
    "shows_candidate",
    "trained_filters",
    "unit_filters",
]
