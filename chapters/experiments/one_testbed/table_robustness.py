"""The table's negatives at other rates and in doubled time: does a cell that misses its line still miss it?

A negative is a cell in `missed` of ROWS. It stands under a change if the 95 % interval of its distance from the line
lies on the side of a miss. It is read only if the home cell of its row still meets the line on average: a network that
has not learned misses almost everything.
"""

from collections.abc import Callable, Iterable, Sequence

from torch import Tensor

from .table import MET, MISSED, ROWS, UNDECIDED, UNREAD, Row, seed_interval, world_of
from .table_arms import Training
from .table_plan import PLAN_OF_NEGATIVES, train_column
from .table_statements import STATEMENTS

CHANGES = {"a third of the rate": (1, 1 / 3), "thrice the rate": (1, 3), "twice the steps": (2, 1)}  # steps, rate
NEGATIVES = {name: row for name, row in ROWS.items() if row.missed}
Outcomes = dict[str, dict[str, str]]  # row -> cell -> met, missed or undecided
Changed = dict[str, dict[str, dict[str, Tensor]]]  # change -> row -> cell -> statistic, `[seed]`


def home_cell(row: Row) -> str:
    """The cell of the paper's own world, and where the row is ours the first that should meet its line."""
    return row.home or row.met[0]


def robustness(world: str, seeds: Sequence[int], steps: int, batch: int, *, watch: Callable = iter) -> Changed:
    """A world's negatives, and home cells of their rows, trained anew under each of CHANGES.

    Args:
        world: one of COLUMNS.
        seeds: ≥ 2 of them.
        steps, batch: as in `table_column`, whose rate of 0.1 is the one that changes.
        watch: wraps the trainings of a change in a progress bar.
    Returns: change -> row -> world or variant -> statistic, `[seed]`.
    Raises: ValueError for another world, and as `train`.
    Cost: two to three columns of `table_column`, as fewer arms are trained, for four times its steps in all.
    """
    found: Changed = {}
    for change, (longer, rate) in CHANGES.items():
        how = Training(tuple(seeds), longer * steps, batch, 0.1 * rate)
        t = train_column(how, world, watch, PLAN_OF_NEGATIVES)
        found[change] = {}
        for name, row in NEGATIVES.items():
            if wanted := [c for c in (*row.missed, home_cell(row)) if c.partition(",")[0] == world]:
                cells = STATEMENTS[name](t)
                found[change][name] = {c: cells[c].value for c in wanted}
    return found


def negative_arms(worlds: Iterable[Changed]) -> dict[str, dict[str, dict[str, list[float]]]]:
    """What the claim reads: by how much each cell misses its line under each change, in the row's own units.

    Args:
        worlds: of `robustness`.
    Returns: observed, the negatives of rows whose home cell still meets its line on average, and control, the home
        cells of all rows; each change -> cell -> one value per seed, above 0 where the line is missed.
    """
    arms: dict = {"observed": {}, "control": {}}
    for change, rows in _by_change(worlds).items():
        for name, cells in rows.items():
            short, home = _shortfalls(name, cells), home_cell(ROWS[name])
            for cell, values in short.items():
                arm = "control" if cell == home else "observed"
                if cell == home or _home_is_met(short, home):
                    arms[arm].setdefault(change, {})[f"{name.upper()} {cell}"] = values.tolist()
    return arms


def standings(worlds: Iterable[Changed]) -> dict[tuple[str, str, str], str]:
    """(change, row, negative) -> missed, undecided or met by the 95 % interval over seeds, or home not reproduced."""
    found = {}
    for change, rows in _by_change(worlds).items():
        for name, cells in rows.items():
            short, home = _shortfalls(name, cells), home_cell(ROWS[name])
            for cell in short.keys() - {home}:
                found[change, name, cell] = _outcome_over_seeds(short[cell]) if _home_is_met(short, home) else UNREAD
    return dict(sorted(found.items()))


def with_changes(found: dict[str, Outcomes], worlds: Iterable[Changed]) -> dict[str, Outcomes]:
    """Outcomes of the table, of which `row_words` then knows the negatives that turn.

    A negative that some change leaves open is undecided, unless another cell of its world is met: then the world reads
    "with conditions", as before, and not as if nothing had been missed in it. A negative that meets its line under a
    change keeps its outcome and gets a further cell, so that its world reads "with conditions".
    Args:
        found: of `cell_outcomes`.
        worlds: of `robustness`; without them nothing changes.
    """
    after = {name: dict(cells) for name, cells in found.items()}
    for (change, name, cell), outcome in standings(worlds).items():
        met = any(of == MET and world_of(c) == world_of(cell) for c, of in found[name].items())
        if found[name][cell] == MISSED and outcome == UNDECIDED and not met:
            after[name][cell] = UNDECIDED
        if found[name][cell] == MISSED and outcome == MET:
            after[name][f"{cell}, {change}"] = MET
    return after


def _by_change(worlds: Iterable[Changed]) -> Changed:
    """One table per change, of the rows that worlds have."""
    joined: Changed = {}
    for world in worlds:
        for change, rows in world.items():
            for name, cells in rows.items():
                joined.setdefault(change, {}).setdefault(name, {}).update(cells)
    return joined


def _shortfalls(name: str, cells: dict[str, Tensor]) -> dict[str, Tensor]:
    return {cell: ROWS[name].shortfall(values) for cell, values in cells.items()}


def _home_is_met(short: dict[str, Tensor], home: str) -> bool:
    """Whether the home cell meets its line on average."""
    return float(short[home].mean()) <= 0


def _outcome_over_seeds(shortfall: Tensor) -> str:
    low, high = seed_interval(shortfall, 0.05)
    return MISSED if low > 0 else MET if high < 0 else UNDECIDED
