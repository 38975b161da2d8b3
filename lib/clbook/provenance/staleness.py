"""Which stored results are up to date with the present sources, and what has changed for the others.

Needs neither torch nor git: everything is read from the sources.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from ..claims.claim_table import Claims
from ..common.formats import NOTEBOOK, RECORD, OnDamage, attempt, intact, loads
from ..common.parameters import profile_parameters
from ..common.sources import ChapterFiles, chapter_names
from .digests import SHORT, ChapterDigests, rule_digest
from .library import Library
from .slices import ChapterCode
from .stamps import MIME, check, of_notebooks, reaches, whole_cost

CURRENT, STALE, RULE_CHANGED = "current", "stale", "rule changed"


@dataclass(frozen=True)
class State:
    """Whether a stored reading is what the present sources would make; if not, `changed` names what differs."""

    chapter: str
    claim: str
    where: str
    state: str
    changed: tuple[str, ...] = ()


def notebook_stamp(path: Path) -> dict | None:
    """The stamp that a notebook's outputs hold, or None; raises BookError for one that is damaged."""
    if not path.is_file():
        return None
    for cell in reversed(intact(path, NOTEBOOK)["cells"]):
        for output in cell.get("outputs", []):
            if MIME in output.get("data", {}):
                return check(loaded(output["data"][MIME]), path.name)
    return None


def notebooks_stamp(files: ChapterFiles, folder: Path | None = None, on_damage: OnDamage = "raise") -> dict | None:
    """The stored run of all notebooks of a chapter, the committed ones or those of a run in a folder.

    Args:
        files: The chapter.
        folder: That of a run; None for the committed notebooks.
        on_damage: Whether a notebook that is damaged is left out.

    Returns:
        As `of_notebooks`, of two with the seconds of the longest as `side_by_side`; None if the notebooks hold no run.

    Raises:
        BookError: As `notebook_stamp` does.
    """
    places = [part.notebook if folder is None else folder / part.notebook.name for part in files.notebooks]
    stamps = [stamp for path in places if (stamp := attempt(on_damage, notebook_stamp, path))]
    if len(stamps) < 2:
        return stamps[0] if stamps else None
    together = of_notebooks(stamps, one_run=folder is not None)
    return together | {"side_by_side": max(map(whole_cost, stamps))}


def loaded(data: object) -> object:
    """A stamp from the text in a notebook's output; anything that is not text or not JSON is returned unchanged."""
    try:
        return loads(data) if isinstance(data, str) else data
    except (ValueError, RecursionError):
        return data


def read_record(path: Path) -> dict:
    """A record: its `run` and those on `other_seeds`; raises BookError if it is damaged or has another format."""
    record = intact(path, RECORD)
    for stamp in (record["run"], *record.get("other_seeds", ())):
        check(stamp, f"{path.parent.name}/{path.name}")
    return {"other_seeds": []} | record


@dataclass(frozen=True)
class Stored:
    """A stored run: its place, stamp, and parameters as they would be now, and whether it must hold every claim.

    A notebook must hold the claims of its own part of the chapter.
    """

    where: str
    stamp: dict
    parameters: dict[str, object]
    whole: bool = True
    part: int | None = None

    def holds(self, story: ChapterCode, claim: str) -> bool:
        """Whether a claim belongs into this run."""
        here = self.part is None or claim not in story.claims or story.units[story.claims[claim]].part == self.part
        return claim in self.stamp["claims"] or self.whole and here


def stored_stamps(files: ChapterFiles, on_damage: OnDamage = "raise") -> Iterator[Stored]:
    """The run of the committed notebook and all runs of all records; `on_damage` as in `notebooks_stamp`."""
    for part in files.notebooks:
        if stamp := attempt(on_damage, notebook_stamp, part.notebook):
            yield Stored(f"chapters/{part.notebook.name}", stamp, profile_parameters(files, "default"), part=part.part)
    for path in files.records():
        yield from attempt(on_damage, _of_record, files, path) or ()


def _of_record(files: ChapterFiles, path: Path) -> list[Stored]:
    """The runs of a record, the one on its own seeds first."""
    record, where = read_record(path), f"records/{files.name}/{path.name}"
    runs = [Stored(where, record["run"], parameters_now(files, path.stem, record["run"]))]
    for stamp in record["other_seeds"]:
        now = block_now(files, stamp)
        runs.append(Stored(f"{where}, first_seed={now['first_seed']}", stamp, now, whole=False))
    return runs


def parameters_now(files: ChapterFiles, profile: str, stamp: dict) -> dict[str, object]:
    """The profile's present parameters, on the stored run's device; without a profile, the run's own parameters."""
    if profile != "default" and not files.profile(profile).is_file():
        return stamp["parameters"]
    now = profile_parameters(files, profile)
    return now | {k: stamp["parameters"][k] for k in ("device",) if k in now and k in stamp["parameters"]}


def block_now(files: ChapterFiles, stamp: dict) -> dict[str, object]:
    """As `parameters_now`, of a run on another block of seeds: its own profile's, with its own first seed."""
    return parameters_now(files, stamp["profile"], stamp) | {"first_seed": stamp["parameters"].get("first_seed")}


def states(
    story: ChapterCode, stamp: dict, claims: Claims | None, where: str = "", parameters: dict | None = None
) -> dict[str, State]:
    """The state of each claim that a stored run holds, or that the chapter judges although the run does not hold it.

    `parameters` are those that the run would have now if they differ from its own.
    """
    digests, result = ChapterDigests(story, stamp["parameters"] if parameters is None else parameters), {}
    for claim, row in stamp["claims"].items():
        state, changed = CURRENT, ()
        if claim not in story.claims:
            state, changed = STALE, ("no cell judges it any more",)
        elif digests.digest(story.claims[claim], claim) != row["reading"]:
            state, changed = STALE, _changed(reaches(stamp, claim), digests.claim(claim).reaches)
        elif claims and claim not in claims.rows:
            state, changed = RULE_CHANGED, ("its row in the claims file is gone",)
        elif claims and row["rule"] and row["rule"] != rule_digest(claims.rows[claim]):
            state, changed = RULE_CHANGED, ("its rule",)
        result[claim] = State(story.files.name, claim, where, state, changed)
    missing = [claim for claim in story.claims if claim not in result]
    return result | {c: State(story.files.name, c, where, STALE, ("no reading is stored",)) for c in missing}


def old_pictures(story: ChapterCode, stamp: dict, digests: ChapterDigests) -> dict[str, int]:
    """Name → unit of each picture of a chapter that a stored run lacks or drew by an earlier form of its cells."""
    drawn = {name: picture["digest"] for name, picture in stamp["pictures"].items()}
    return {name: at for name, at in story.figures.items() if drawn.get(name) != digests.digest(at)[:SHORT]}


def all_old_pictures(root: Path, names: list[str] | None = None, on_damage: OnDamage = "raise") -> dict[str, list[str]]:
    """Record → its old pictures, for the records of some chapters, or of all, that keep pictures; as `all_states`."""
    library, old = Library(), {}
    for files in [ChapterFiles.find(name, root) for name in names or chapter_names(root)]:
        old |= attempt(on_damage, _old_pictures_of, files, library, on_damage) or {}
    return old


def _old_pictures_of(files: ChapterFiles, library: Library, on_damage: OnDamage) -> dict[str, list[str]]:
    story, old = ChapterCode(files, library), {}
    for path in files.records():
        record = attempt(on_damage, read_record, path)
        if record and (run := record["run"])["pictures"]:
            names = old_pictures(story, run, ChapterDigests(story, parameters_now(files, path.stem, run)))
            old[f"records/{files.name}/{path.name}"] = [name for name in names if name in run["pictures"]]
    return old


def _changed(before: dict[str, str], now: dict[str, str]) -> tuple[str, ...]:
    """Names of what a reading reaches and whose own text differs or is new; otherwise of what it no longer reaches."""
    names = [name for name in now if before.get(name) != now[name]] or [name for name in before if name not in now]
    return tuple(names) or ("what its parameters or data give",)


def all_states(root: Path, names: list[str] | None = None, on_damage: OnDamage = "raise") -> list[State]:
    """The states of all stored readings of some chapters, or of all.

    Args:
        root: The book.
        names: The chapters; None for all.
        on_damage: Whether a chapter, a notebook or a record that is damaged is left out.

    Raises:
        BookError: There is no such chapter, or something is damaged and not left out.
    """
    library, chapters = Library(), [ChapterFiles.find(name, root) for name in names or chapter_names(root)]
    return [state for files in chapters for state in attempt(on_damage, _states_of, files, library, on_damage) or ()]


def _states_of(files: ChapterFiles, library: Library, on_damage: OnDamage) -> list[State]:
    story, claims, result = ChapterCode(files, library), Claims.load(files.claims), []
    for run in stored_stamps(files, on_damage):
        rows = states(story, run.stamp, claims, run.where, run.parameters)
        result += [row for claim, row in rows.items() if run.holds(story, claim)]
    return result


def as_json(states: list[State]) -> str:
    return json.dumps([asdict(state) for state in states], indent=1, ensure_ascii=False)
