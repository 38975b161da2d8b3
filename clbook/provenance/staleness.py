"""Which stored results are up to date with the present sources, and what has changed for the others.

Needs neither torch nor git: everything is read from the sources.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from ..claims.claim_table import Claims
from ..common.errors import BookError
from ..common.formats import NOTEBOOK, OnDamage, attempt, intact, loads
from ..common.parameters import profile_parameters
from ..common.sources import ChapterFiles, chapter_names
from .digests import ChapterDigests, rule_digest
from .library import Library
from .records import missing_blocks, of_one_chapter, read_record
from .slices import ChapterCode
from .stamps import MIME, check, of_notebooks, reaches, whole_cost

CURRENT, STALE, RULE_CHANGED, DAMAGED = "current", "stale", "rule changed", "damaged"
NO_READING, NO_RUN = ("no reading is stored",), ("no run is stored",)  # what `changed` says of these


@dataclass(frozen=True)
class State:
    """Whether a stored reading is up to date with the present sources; if not, `changed` names what differs."""

    chapter: str
    claim: str
    where: str
    state: str
    changed: tuple[str, ...] = ()


def notebook_stamp(path: Path, files: ChapterFiles | None = None) -> dict | None:
    """The last stamp in a notebook's outputs, or None; raises BookError if it is damaged, or of another chapter."""
    if not path.is_file():
        return None
    for cell in reversed(intact(path, NOTEBOOK)["cells"]):
        for output in cell.get("outputs", []):
            if MIME in output.get("data", {}):
                return of_one_chapter([check(loaded(output["data"][MIME]), path.name)], files, path.name)[0]
    return None


def notebooks_stamp(files: ChapterFiles, folder: Path | None = None, on_damage: OnDamage = "raise") -> dict | None:
    """The stored run of a chapter, joined from the stamps of its notebooks.

    Args:
        files: The chapter.
        folder: The folder of a run; None for the committed notebooks.
        on_damage: Whether a damaged notebook is skipped.

    Returns:
        As `of_notebooks`; for two notebooks with the longer one's seconds as `side_by_side` and the memory of both.
        None if there is no run.

    Raises:
        BookError: As `notebook_stamp` does.
    """
    places = [part.notebook if folder is None else folder / part.notebook.name for part in files.notebooks]
    stamps = [stamp for path in places if (stamp := attempt(on_damage, notebook_stamp, path, files))]
    if len(stamps) < 2:
        return stamps[0] if stamps else None
    together = of_notebooks(stamps, one_run=folder is not None, side_by_side=True)
    return together | {"side_by_side": max(map(whole_cost, stamps))}


def loaded(data: object) -> object:
    """A stamp from the JSON text in a notebook's output; anything else is returned unchanged."""
    try:
        return loads(data) if isinstance(data, str) else data
    except (ValueError, RecursionError):
        return data


@dataclass(frozen=True)
class Stored:
    """A stored run: its place, its stamp, and the parameters that the same run would have now.

    If `whole`, it must hold every claim, in the case of a notebook every claim of that `part` of the chapter; otherwise
    it is one of several on other seeds, and must hold what chance decides. `missing` counts the blocks of seeds that a
    record was asked for and does not hold.
    """

    where: str
    stamp: dict
    parameters: dict[str, object]
    whole: bool = True
    part: int | None = None
    missing: int = 0

    def holds(self, code: ChapterCode, claim: str, claims: Claims | None = None) -> bool:
        """Whether the run holds or must hold a claim; with the rows of `claims` also what chance decides."""
        here = self.part is None or claim not in code.claims or code.units[code.claims[claim]].part == self.part
        wanted = self.whole or bool(claims) and claim in claims.rows and claims.rows[claim].by_chance
        return claim in self.stamp["claims"] or wanted and here


@dataclass(frozen=True)
class _Place:
    """A notebook or a record: how messages name it, which part of the chapter it holds, and how its runs are read."""

    where: str
    part: int | None
    read: Callable[[], list[Stored]]


def _places(files: ChapterFiles) -> Iterator[_Place]:
    """The committed notebooks, then all records."""
    for part in files.notebooks:
        yield _Place(f"chapters/{part.notebook.name}", part.part, partial(_of_notebook, files, part))
    for path in files.records():
        yield _Place(f"records/{files.name}/{path.name}", None, partial(_of_record, files, path))


def stored_stamps(files: ChapterFiles, on_damage: OnDamage = "raise") -> Iterator[Stored]:
    """The runs of the committed notebooks and of all records; `on_damage` as in `notebooks_stamp`."""
    for place in _places(files):
        yield from attempt(on_damage, place.read) or ()


def _of_notebook(files: ChapterFiles, part: ChapterFiles) -> list[Stored]:
    """The run of a notebook, if it holds one."""
    if not (stamp := notebook_stamp(part.notebook, files)):
        return []
    return [Stored(f"chapters/{part.notebook.name}", stamp, profile_parameters(files, "default"), part=part.part)]


def _of_record(files: ChapterFiles, path: Path) -> list[Stored]:
    """The runs of a record, first the one on the profile's seeds."""
    record, where = read_record(path, files), f"records/{files.name}/{path.name}"
    present = parameters_now(files, path.stem, record["run"])
    runs = [Stored(where, record["run"], present, missing=missing_blocks(record))]
    for stamp in record["other_seeds"]:
        now = block_now(files, stamp)
        runs.append(Stored(f"{where}, first_seed={now['first_seed']}", stamp, now, whole=False))
    return runs


def parameters_now(files: ChapterFiles, profile: str, stamp: dict) -> dict[str, object]:
    """The profile's present parameters with the stored run's device; the run's own if the profile is gone."""
    if profile != "default" and not files.profile(profile).is_file():
        return stamp["parameters"]
    now = profile_parameters(files, profile)
    return now | {k: stamp["parameters"][k] for k in ("device",) if k in now and k in stamp["parameters"]}


def block_now(files: ChapterFiles, stamp: dict) -> dict[str, object]:
    """As `parameters_now`, for a run on another block of seeds, whose first seed is kept."""
    return parameters_now(files, stamp["profile"], stamp) | {"first_seed": stamp["parameters"].get("first_seed")}


def states(
    code: ChapterCode,
    stamp: dict,
    claims: Claims | None,
    where: str = "",
    parameters: dict | None = None,
    digests: ChapterDigests | None = None,
) -> dict[str, State]:
    """The state of each claim that a stored run holds or that the chapter judges.

    `parameters` are those that the run would have now, by default its own; `digests` are those of such a run.
    """
    digests = digests or ChapterDigests(code, stamp["parameters"] if parameters is None else parameters)
    result = {}
    for claim, row in stamp["claims"].items():
        state, changed = CURRENT, ()
        if claim not in code.claims:
            state, changed = STALE, ("no cell judges it any more",)
        elif digests.digest(code.claims[claim], claim) != row["reading"]:
            state, changed = STALE, _changed(reaches(stamp, claim), digests.claim(claim).reaches)
        elif claims and claim not in claims.rows:
            state, changed = RULE_CHANGED, ("its row in the claims file is gone",)
        elif claims and row["rule"] and row["rule"] != rule_digest(claims.rows[claim]):
            state, changed = RULE_CHANGED, ("its rule",)
        result[claim] = State(code.files.name, claim, where, state, changed)
    missing = [claim for claim in code.claims if claim not in result]
    return result | {c: State(code.files.name, c, where, STALE, NO_READING) for c in missing}


def old_pictures(code: ChapterCode, stamp: dict, digests: ChapterDigests) -> dict[str, int]:
    """Name → unit of each picture that a stored run lacks or that code has since changed."""
    drawn = {name: picture["digest"] for name, picture in stamp["pictures"].items()}
    return {name: at for name, at in code.figures.items() if drawn.get(name) not in digests.picture(at)}


def all_old_pictures(root: Path, names: list[str] | None = None, on_damage: OnDamage = "raise") -> dict[str, list[str]]:
    """Record → its old pictures, for the records with pictures of some or all chapters; arguments as `all_states`."""
    library, old = Library(), {}
    for files in [ChapterFiles.find(name, root) for name in names or chapter_names(root)]:
        old |= attempt(on_damage, _old_pictures_of, files, library, on_damage) or {}
    return old


def _old_pictures_of(files: ChapterFiles, library: Library, on_damage: OnDamage) -> dict[str, list[str]]:
    code, old = ChapterCode(files, library), {}
    for path in files.records():
        record = attempt(on_damage, read_record, path, files)
        if record and (run := record["run"])["pictures"]:
            names = old_pictures(code, run, ChapterDigests(code, parameters_now(files, path.stem, run)))
            old[f"records/{files.name}/{path.name}"] = [name for name in names if name in run["pictures"]]
    return old


def _changed(before: dict[str, str], now: dict[str, str]) -> tuple[str, ...]:
    """Names of definitions whose text is changed or new; if there are none, of those that are no longer reached."""
    names = [name for name in now if before.get(name) != now[name]] or [name for name in before if name not in now]
    return tuple(names) or ("what its parameters or data give",)


def all_states(root: Path, names: list[str] | None = None, on_damage: OnDamage = "raise") -> list[State]:
    """The states of all stored readings of some chapters, or of all.

    Args:
        root: The book.
        names: The chapters; None for all.
        on_damage: Whether a damaged chapter, notebook or record is raised; otherwise the readings that it should hold
            are counted as damaged, each with the reason.

    Raises:
        BookError: There is no such chapter, the list of definitions with the same bits is damaged, or something else is
            and `on_damage` is "raise".
    """
    library, chapters = Library(), [ChapterFiles.find(name, root) for name in names or chapter_names(root)]
    _ = library.same_bits  # of all chapters: damaged, it is one message
    return [state for files in chapters for state in _states_of(files, library, on_damage)]


def _states_of(files: ChapterFiles, library: Library, on_damage: OnDamage) -> list[State]:
    """The states of a chapter's readings; of a chapter that cannot be read, one that stands for all of them."""
    result: list[State] = []
    try:
        code, claims = ChapterCode(files, library), Claims.load(files.claims)
        for place in _places(files):
            result += _states_in(place, files, code, claims, on_damage)
    except BookError as error:
        if on_damage == "raise":
            raise
        return [*result, State(files.name, "all that it judges", f"chapters/{files.name}", DAMAGED, (str(error),))]
    return _each_once(files, result + _not_stored(files, code, {row.where for row in result}))


def _states_in(
    place: _Place, files: ChapterFiles, code: ChapterCode, claims: Claims, on_damage: OnDamage
) -> list[State]:
    """The states of the readings of a notebook or a record, of damaged and missing ones, too."""
    try:
        runs = place.read()
    except BookError as error:
        if on_damage == "raise":
            raise
        lost = [c for c, at in code.claims.items() if place.part in (None, code.units[at].part)]
        return [State(files.name, claim, place.where, DAMAGED, (str(error),)) for claim in lost]
    result = []
    for run in runs:
        rows = states(code, run.stamp, claims, run.where, run.parameters)
        result += [row for claim, row in rows.items() if run.holds(code, claim, claims)]
        chance = [claim for claim in code.claims if claim in claims.rows and claims.rows[claim].by_chance]
        for at in range(run.missing):
            where, why = f"{place.where}, a block of seeds", f"missing block {at + 1} of {run.missing}"
            result += [State(files.name, claim, where, STALE, (why,)) for claim in chance]
    return result


def _each_once(files: ChapterFiles, states: list[State]) -> list[State]:
    """Without a notebook's lack of a claim that the chapter's other notebook holds, from which its cells have moved."""
    notebooks = {f"chapters/{part.notebook.name}" for part in files.notebooks}
    lacking = [row for row in states if row.where in notebooks and row.changed in (NO_READING, NO_RUN)]
    held = {row.claim for row in states if row.where in notebooks and row not in lacking}
    return [row for row in states if row not in lacking or row.claim not in held]


def _not_stored(files: ChapterFiles, code: ChapterCode, stored: set[str]) -> list[State]:
    """The claims of notebooks that hold no run: missing ones, damaged ones, those without outputs."""
    lost = {part.part: f"chapters/{part.notebook.name}" for part in files.notebooks}
    lost = {part: where for part, where in lost.items() if where not in stored}
    places = {claim: lost.get(code.units[at].part) for claim, at in code.claims.items()}
    return [State(files.name, c, where, STALE, NO_RUN) for c, where in places.items() if where]


def as_json(states: list[State]) -> str:
    return json.dumps([asdict(state) for state in states], indent=1, ensure_ascii=False)
