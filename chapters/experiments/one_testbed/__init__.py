"""Runs of the chapter One testbed: plans of arms, scores of a figure; what no other chapter calls.

It re-exports the names that the chapter uses.
"""

from .count_runs import (
    SPECTRA,
    correlation_errors,
    count_errors,
    few_pairs,
    finite_batch_errors,
    infonce_counts,
    learned_temperatures,
    spectral_counts,
    two_encoders,
)
from .distance_runs import (
    distance_count_errors,
    distance_share_errors,
    distance_shares,
    distance_temperatures,
)
from .few_negatives_runs import (
    PAIRS,
    errors_by_negatives,
    errors_left,
    one_negative_errors,
    size_of_errors,
    trained_with_one_negative,
)
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
from .other_loss_runs import sign_counts, unit_length_counts
from .own_runs import Plan, own_map
from .real_runs import (
    distance,
    distance_spectra,
    hidden_layer,
    measured_views,
    noise_shown,
    raw_spectra,
    spectra_at,
    temperature_learned,
    totals_of_known,
)
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

__all__ = [
    "BROKEN",
    "COLUMNS",
    "MENDED",
    "PAIRS",
    "READINGS",
    "ROWS",
    "SPECTRA",
    "WORLDS",
    "Plan",
    "arms_of_claim",
    "broken_worlds",
    "cell_outcomes",
    "correlation_errors",
    "count_errors",
    "distance",
    "distance_count_errors",
    "distance_share_errors",
    "distance_shares",
    "distance_spectra",
    "distance_temperatures",
    "errors_by_negatives",
    "errors_left",
    "few_pairs",
    "finite_batch_errors",
    "hidden_layer",
    "hostile_runs",
    "infonce_counts",
    "law_error",
    "law_in_a_world",
    "law_in_two_layers",
    "learned_temperatures",
    "map_errors",
    "measured_views",
    "mended_law",
    "mended_worlds",
    "negative_arms",
    "noise_shown",
    "one_negative_errors",
    "optimum_errors",
    "own_map",
    "private_shares",
    "rank_errors",
    "raw_spectra",
    "refuted_cases",
    "robustness",
    "row_words",
    "seed_interval",
    "share_errors",
    "sign_counts",
    "size_of_errors",
    "slow_directions",
    "spectra_at",
    "spectral_counts",
    "standings",
    "table_column",
    "table_of",
    "temperature_learned",
    "totals_of_known",
    "trained_with_one_negative",
    "two_encoders",
    "unbroken_worlds",
    "unit_length_counts",
    "unproved_cases",
    "with_changes",
]
