"""Runs of the chapter Nonlinearity: plans of arms, scores of a figure; what no other chapter calls.

It re-exports the names that the chapter uses.
"""

from .density_optima import density_fixed_points
from .filter_history import filter_history
from .filter_lines import line_ends
from .lottery_tickets import ARMS, ticket_coverage
from .matching_curves import FILTERS, matching_curves

__all__ = [
    "ARMS",
    "FILTERS",
    "density_fixed_points",
    "filter_history",
    "line_ends",
    "matching_curves",
    "ticket_coverage",
]
