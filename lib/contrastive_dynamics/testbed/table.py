"""The table: rows are statements of four papers, columns are worlds, and a cell's word is computed from its numbers.

Which cells should meet a row's rule, and which should miss it, was written down from runs on seeds below 1000.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from scipy import stats
from torch import Tensor

from . import table_statements as statements
from .table_arms import Training
from .table_runs import Trainings, trainings
from .table_statements import Cell
from .table_worlds import WORLDS

MET, MISSED, UNDECIDED = "met", "missed", "undecided"
TRAVELS, CONDITIONS, STAYS, ABSENT = "travels", "with conditions", "does not travel", "does not apply"
UNREAD = "home not reproduced"
FAMILY_LEVEL = 0.05


@dataclass(frozen=True)
class Row:
    """One statement, and what was expected of its cells.

    Args:
        statement: from trainings to cells.
        home: the cell of the paper's own world; None where the row is ours.
        at_least, at_most: the rule, one of the two.
        met: cells that should meet it.
        missed: cells that should miss it; the others are open.
        absent: worlds to which the row does not apply, and why.
        reading: whether the row is our reading, and not the paper's statement.
    """

    statement: Callable[[Trainings], dict[str, Cell]]
    home: str | None
    met: tuple[str, ...]
    missed: tuple[str, ...] = ()
    at_least: float | None = None
    at_most: float | None = None
    absent: dict[str, str] | None = None
    reading: bool = False

    @property
    def line(self) -> float:
        return self.at_least if self.at_most is None else self.at_most

    def meets(self, value: float) -> bool:
        return value >= self.line if self.at_most is None else value <= self.line


ROWS = {
    "e1": Row(statements.one_direction_is_left, "moons", at_most=1.2, met=(*WORLDS, *(f"{w}, ReLU" for w in WORLDS))),
    "e2": Row(
        statements.constraint_keeps, "moons", at_least=-0.05,
        met=(*WORLDS, "moons, ReLU"), missed=("tokens, ReLU", "sparse, ReLU"),
    ),
    "e3": Row(statements.constraint_does_not_balance, "moons", at_most=0.05, met=WORLDS),
    "r1": Row(statements.positives_are_unbalanced, "modal", at_least=2.0, met=("tokens", "moons", "modal")),
    "r2": Row(
        statements.negatives_balance_fully, "modal", at_most=1.2, reading=True,
        met=("modal", "sparse", "moons, hardly any noise"), missed=("tokens", "moons"),
    ),
    "w1": Row(statements.dropped_unless_shared, "sparse", at_least=1.0, met=WORLDS),
    "w2": Row(
        statements.noise_alone_is_kept, "sparse", at_most=0.5, reading=True,
        met=("sparse", "modal, many inputs"), missed=("tokens", "moons", "modal"),
    ),
    "w3": Row(
        statements.a_neuron_for_each_feature, "sparse", at_least=0.3,
        met=("sparse", "modal, sparse signal"), missed=("tokens", "moons", "modal"),
    ),
    "w4": Row(
        statements.masks_decouple, "sparse", at_least=0.5,
        met=("tokens", "moons", "sparse", "modal, many inputs"), missed=("modal",),
    ),
    "t1": Row(
        statements.width_helps_relu, "tokens, places", at_least=0.05,
        met=("tokens, places",), missed=("tokens", "moons", "sparse", "sparse, places"),
    ),
    "t2": Row(
        statements.relu_shows_single_features, "tokens, places", at_least=0.1,
        met=("tokens, places",), missed=("tokens", "moons", "sparse"),
    ),
    "t3": Row(
        statements.relu_keeps_more, None, at_least=0.0, reading=True,
        met=("tokens",), missed=("moons", "modal", "sparse", "sparse, places"),
    ),
    "noise-enters": Row(statements.noise_enters, None, at_least=0.015, met=("tokens", "moons", "sparse")),
    "coupled": Row(
        statements.coupled_views_whiten, None, at_most=0.2,
        met=(
            "moons", "moons, louder noise", "modal", "modal, louder noise",
            "sparse, few inputs", "sparse, few inputs and louder noise",
        ),
        absent={"tokens": "tokens have no noise whose strength could change"},
    ),
}  # fmt: skip

Table = dict[str, dict[str, Cell]]  # row -> world or variant -> cell


def table(how: Training) -> Table:
    """Every row's cells, from one training of all arms.

    Args:
        how: seeds, steps, batch and rate; at 8 seeds and the default about 90 CPU seconds.
    Returns: row -> world or variant -> one value per seed, and the control's.
    """
    return read(trainings(how))


def read(trained: Trainings) -> Table:
    """The cells of trainings."""
    return {name: row.statement(trained) for name, row in ROWS.items()}


def p_value(values: Tensor, line: float) -> float:
    """Two-sided, of the mean of the seeds being the line, by Student's t; 0 where all seeds agree elsewhere."""
    n, distance, error = len(values), float((values.mean() - line).abs()), float(values.std()) / len(values) ** 0.5
    if error < 1e-12:  # as good as equal
        return float(distance < 1e-12)
    return float(2 * stats.t.sf(distance / error, n - 1))


def interval(values: Tensor, level: float) -> tuple[float, float]:
    """Two-sided interval of confidence 1 − level for the mean over seeds."""
    half = float(stats.t.ppf(1 - level / 2, len(values) - 1)) * float(values.std()) / len(values) ** 0.5
    return float(values.mean()) - half, float(values.mean()) + half


def outcomes(cells: Table, level: float = FAMILY_LEVEL) -> dict[str, dict[str, str]]:
    """met, missed or undecided for every cell, by Holm's procedure over all cells of the table.

    A cell whose control does not miss the rule, at level over the number of cells, is undecided.
    Args:
        cells: of `table`.
        level: the probability that any cell's word is luck.
    """
    flat = {(r, c): p_value(cell.value, ROWS[r].line) for r, of in cells.items() for c, cell in of.items()}
    found: dict[str, dict[str, str]] = {r: dict.fromkeys(of, UNDECIDED) for r, of in cells.items()}
    for k, (r, c) in enumerate(sorted(flat, key=flat.get)):
        if flat[r, c] > level / (len(flat) - k):
            break
        met = ROWS[r].meets(float(cells[r][c].value.mean()))
        if not met or _missed(cells[r][c].control, ROWS[r], level / len(flat)):
            found[r][c] = MET if met else MISSED
    return found


def _missed(control: Tensor, row: Row, level: float) -> bool:
    return not row.meets(float(control.mean())) and p_value(control, row.line) <= level


def words(found: dict[str, str], row: Row) -> dict[str, str]:
    """The word of each world in a row, from the outcomes of its cells and variants.

    Met in all: travels; met in some and missed in others: with conditions; missed in all: does not travel. A row is not
    read abroad unless its home cell is met.
    Args:
        found: of the row's cells, see `outcomes`.
        row: the row.
    Returns: world -> word.
    """
    absent = row.absent or {}
    if row.home and found[row.home] != MET:
        return {w: ABSENT if w in absent else UNREAD for w in WORLDS}
    return {w: ABSENT if w in absent else _word({found[c] for c in found if _world(c) == w}) for w in WORLDS}


def _word(of: set[str]) -> str:
    if {MET, MISSED} <= of:
        return CONDITIONS
    if MET in of:
        return TRAVELS
    return STAYS if MISSED in of else UNDECIDED


def _world(cell: str) -> str:
    return cell.partition(",")[0]


def arms_of_claim(name: str, cells: dict[str, Cell]) -> dict[str, dict[str, list[float]]]:
    """What a claim reads in a row: the cells that should meet the rule, their controls, and those that should miss it.

    If the home cell does not meet the rule, on average, no other is read.
    Args:
        name: of the row.
        cells: of the row.
    Returns: observed, control and, where cells should miss the rule, outside; each cell -> one value per seed.
    """
    row = ROWS[name]
    abroad = not row.home or row.meets(float(cells[row.home].value.mean()))
    met, missed = (row.met, row.missed) if abroad else ((row.home,), ())
    arms = {"observed": {c: cells[c].value.tolist() for c in met}}
    arms["control"] = {c: cells[c].control.tolist() for c in met}
    return arms | ({"outside": {c: cells[c].value.tolist() for c in missed}} if missed else {})


def robustness(how: Training) -> dict[str, Table]:
    """The table at a third and three times the rate, and in doubled time: a negative cell must stay one.

    Cost: four tables.
    """
    variants = {
        "η/3": {"rate": how.rate / 3},
        "3η": {"rate": how.rate * 3},
        "twice the steps": {"steps": 2 * how.steps},
    }
    return {name: table(replace(how, **fields)) for name, fields in variants.items()}
