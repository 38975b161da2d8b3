"""Worlds, views, networks, losses, constraints and scores that fit together, one training loop, and the law.

It re-exports the names that chapters use.
"""

from .canonical_correlations import noise_correlation
from .count_runs import (
    SPECTRA,
    correlation_errors,
    count_errors,
    few_pairs,
    finite_batch_errors,
    learned_temperatures,
    spectral_counts,
    two_encoders,
)
from .encoders import Linear
from .experiment import train
from .four_worlds import WORLDS
from .hostile_worlds import (
    BROKEN,
    MENDED,
    broken_worlds,
    hostile_runs,
    law_error,
    mended_law,
    mended_worlds,
    unbroken_worlds,
)
from .image_pairs import image_draw
from .law_proof import optimum_errors, refuted_cases, unproved_cases
from .law_runs import (
    law_in_a_world,
    law_in_two_layers,
    map_errors,
    private_shares,
    rank_errors,
    share_errors,
    slow_directions,
)
from .losses import InfoNCE
from .other_loss_runs import sign_counts, unit_length_counts
from .own_runs import Plan, own_map
from .pairs import per_run
from .real_runs import (
    distance,
    hidden_layer,
    measured_views,
    noise_shown,
    spectra_at,
    temperature_learned,
    totals_of_known,
)
from .sampling_bias import noise_total
from .scores import score
from .soft_threshold import effective_rank_of_shares, learned_temperature, water_filling, water_level
from .table import (
    READINGS,
    ROWS,
    arms_of_claim,
    cell_outcomes,
    row_words,
    seed_interval,
    table_column,
    table_of,
)
from .table_robustness import negative_arms, robustness, standings, with_changes
from .table_worlds import COLUMNS
from .view_makers import Apart, Coupled, Masked

__all__ = [
    "BROKEN",
    "COLUMNS",
    "MENDED",
    "READINGS",
    "ROWS",
    "SPECTRA",
    "WORLDS",
    "Apart",
    "Coupled",
    "InfoNCE",
    "Linear",
    "Masked",
    "Plan",
    "arms_of_claim",
    "broken_worlds",
    "cell_outcomes",
    "correlation_errors",
    "count_errors",
    "distance",
    "effective_rank_of_shares",
    "few_pairs",
    "finite_batch_errors",
    "hidden_layer",
    "hostile_runs",
    "image_draw",
    "law_error",
    "law_in_a_world",
    "law_in_two_layers",
    "learned_temperature",
    "learned_temperatures",
    "map_errors",
    "measured_views",
    "mended_law",
    "mended_worlds",
    "negative_arms",
    "noise_correlation",
    "noise_shown",
    "noise_total",
    "optimum_errors",
    "own_map",
    "per_run",
    "private_shares",
    "rank_errors",
    "refuted_cases",
    "robustness",
    "row_words",
    "score",
    "seed_interval",
    "share_errors",
    "sign_counts",
    "slow_directions",
    "spectra_at",
    "spectral_counts",
    "standings",
    "table_column",
    "table_of",
    "temperature_learned",
    "totals_of_known",
    "train",
    "two_encoders",
    "unbroken_worlds",
    "unit_length_counts",
    "unproved_cases",
    "water_filling",
    "water_level",
    "with_changes",
]
