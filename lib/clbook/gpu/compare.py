"""What `make gpu` measured, judged by the present rules and held against the stored readings of a CPU.

    python -m clbook.gpu.compare runs/gpu [--record]

Needs PyYAML, which the machine with the GPU may lack. The stored readings are those of the committed notebooks, of the
records at the paper's size, and at smoke size those in `tests/outcomes`. Status 1: a verdict differs. `--record` writes
everything into `records/gpu/DEVICE.json`.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..claims.claim_table import Claims
from ..commands.verify_distance import distances, first_difference
from ..common.errors import BookError
from ..common.sources import ChapterFiles, find_root
from ..notebook.results import verdicts_of
from ..provenance.staleness import STALE, notebooks_stamp, parameters_now, read_record, states
from .plan import PROFILES, Run, is_stored, runs
from .store import Store, finished, read

# what a comparison can come to
SAME, NEAR, OPEN, OTHER = "same verdict", "near the line", "open with few seeds", "another verdict"
NO_CPU, FAILED, OTHER_CODE = "no CPU reading", "failed", "made by other code"
OUTCOMES = (SAME, NEAR, OPEN, OTHER, NO_CPU, FAILED, OTHER_CODE)


@dataclass(frozen=True)
class Compared:
    """A reading of the device beside that of a CPU: one of `OUTCOMES`, both verdicts, how far they lie apart.

    A `distance` of 1 is the most that chance and rounding allow.
    """

    profile: str
    chapter: str
    claim: str
    outcome: str
    cpu: str = ""
    device: str = ""
    distance: float | None = None
    difference: str = ""


def references(run: Run, claims: Claims) -> dict:
    """The readings of a CPU at one size that the present code would make, and their data set."""
    files = run.story.files
    if run.profile == "smoke":
        from mutations.kept_outcomes import Elsewhere

        kept = Elsewhere(files, seconds=0.0, library=run.story.library).believed
        found = {claim: kept[claim]["arms"] for claim in run.story.claims if kept.get(claim, {}).get("arms")}
        return {"readings": found, "data": str(run.parameters.get("data", "generated"))}
    stamp = _stamp(files, run.profile)
    if not stamp:
        return {"readings": {}, "data": "generated"}
    now = states(run.story, stamp, claims, parameters=parameters_now(files, run.profile, stamp))
    current = {claim for claim, state in now.items() if state.state != STALE}
    return {"readings": {c: arms for c, arms in stamp["readings"].items() if c in current}, "data": stamp["data"]}


def _stamp(files: ChapterFiles, profile: str) -> dict | None:
    if profile == "default":
        return notebooks_stamp(files)
    return read_record(files.record(profile))["run"] if files.record(profile).is_file() else None


def compared(run: Run, claims: Claims, stored: dict[str, dict]) -> Iterator[Compared]:
    """Each reading of a chapter at one size that the device made."""
    reference = references(run, claims)
    before = verdicts_of(reference, claims)
    for claim, entry in stored.items():
        place = (run.profile, run.chapter, claim)
        if claim not in run.story.claims or not is_stored(entry, run, claim):
            yield Compared(*place, OTHER_CODE)
        elif "failed" in entry:
            yield Compared(*place, FAILED, difference=f"{entry['kind']}: {entry['failed']}")
        elif "arms" in entry:
            after = verdicts_of(reference | {"readings": reference["readings"] | {claim: entry["arms"]}}, claims)
            if claim not in before:
                yield Compared(*place, NO_CPU, device=after[claim].verdict)
            else:
                verdicts = before[claim].verdict, after[claim].verdict
                yield _beside(place, claims, verdicts, reference["readings"][claim], entry["arms"])


def _beside(place: tuple, claims: Claims, verdicts: tuple[str, str], stored: dict, measured: dict) -> Compared:
    """The arms that are stored of a CPU beside those that the device measured, with the verdict on each."""
    profile, _, claim = place
    row, outcome = claims.rows[claim], SAME
    if verdicts[0] != verdicts[1]:
        few = profile == "smoke" and "undecided" in verdicts
        outcome = NEAR if row.near else OPEN if few else OTHER
    distance = max(distances(row, stored, measured, chance=True), default=0.0)
    difference = "" if stored == measured else first_difference(stored, measured)
    return Compared(*place, outcome, *verdicts, distance, difference)


def compare(root: Path, store: Store, say: Callable[[str], None] = print) -> list[Compared]:
    """All readings of a folder of results beside those of a CPU; passes the table of both to `say`."""
    machine, stored, found = read(store.folder / "machine.json"), store.readings(), []
    for run in runs(root, machine["device"]):
        mine = {c: entry for (chapter, profile, c), entry in stored.items() if (chapter, profile) == run.place}
        if mine:
            found += compared(run, Claims.load(run.story.files.claims), mine)
    say("\n".join([f"{machine['device_name']}, torch {machine['versions']['torch']}", *table(found)]))
    return found


def table(found: Iterable[Compared]) -> list[str]:
    """Counts by size and chapter, then a line for each reading that failed or has another verdict."""
    found = list(found)
    columns = [outcome for outcome in OUTCOMES if any(one.outcome == outcome for one in found)]
    lines = ["".join([f"{'':<34}", *(f"{column:>21}" for column in (*columns, "within tolerance"))])]
    for profile in PROFILES:
        for chapter in sorted({one.chapter for one in found if one.profile == profile}):
            mine = [one for one in found if (one.profile, one.chapter) == (profile, chapter)]
            counts = Counter(one.outcome for one in mine)
            close = sum(one.distance is not None and one.distance <= 1.0 for one in mine)
            cells = [*(counts[column] for column in columns), close]
            lines.append("".join([f"{profile + ', ' + chapter:<34}", *(f"{cell:>21}" for cell in cells)]))
    for one in found:
        name = f"{one.chapter}/{one.claim} ({one.profile})"
        if one.outcome in (OTHER, NEAR):
            lines.append(f"{name}: {one.cpu} on the CPU, {one.device} here, {one.outcome}; {one.difference}")
        elif one.outcome == FAILED:
            lines.append(f"{name}: {one.difference[:200]}")
    return lines


def record(root: Path, store: Store, found: list[Compared]) -> Path:
    """Write what was measured and how it compares into `records/gpu/`; returns the file."""
    machine, stored = read(store.folder / "machine.json"), store.readings()
    readings: dict[str, dict] = {}
    for one in found:
        entry = stored[one.chapter, one.profile, one.claim]
        kept = {key: entry[key] for key in ("arms", "failed", "seconds", "device_mb", "digest", "time") if key in entry}
        said = {"said": one.outcome, "cpu": one.cpu, "device": one.device, "distance": one.distance}
        readings.setdefault(f"{one.chapter}/{one.profile}", {})[one.claim] = said | kept
    lines = [line for p in sorted((store.folder / "tests").glob("*.jsonl")) for line in finished(p).values()]
    tests = Counter(line["outcome"] for line in lines)
    records = sorted((store.folder / "benchmarks").glob("*.json"))
    content = {"machine": machine, "tests": tests, "readings": readings}
    content |= {"benchmarks": {path.stem: read(path) for path in records}}
    name = re.sub("[^a-z0-9]+", "-", machine["device_name"].lower()).strip("-")
    path = root / "records" / "gpu" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    store.write(path, content)
    return path


def main(given: list[str]) -> int:
    """Compare a folder of results, record it where that is asked for; the status as the module says."""
    parser = argparse.ArgumentParser(prog="compare", description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="the folder that was OUT, or one with the archive in it")
    parser.add_argument("--record", action="store_true", help="write records/gpu/DEVICE.json")
    options = parser.parse_args(given)
    try:
        root, store = find_root(), Store(options.results.resolve())
        store.unpack()
        if not (store.folder / "machine.json").is_file():
            raise BookError(f"{options.results}: holds no results of make gpu")
        found = compare(root, store)
        if options.record:
            print(f"recorded in {record(root, store, found).relative_to(root)}")
    except BookError as error:
        print("compare:", " ".join(str(error).split()), file=sys.stderr)
        return 2
    return 1 if any(one.outcome == OTHER for one in found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
