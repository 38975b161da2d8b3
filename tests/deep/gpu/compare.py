"""What `make gpu` measured, judged by the present rules and held against the stored readings of a CPU.

    python tests/deep/gpu/compare.py runs/gpu [--record]

Needs PyYAML, which the machine with the GPU may lack. The stored readings are those of the committed notebooks, of the
records at the paper's size, and at smoke size those in `tests/outcomes`. Status 1: a verdict differs. `--record` writes
everything into `records/gpu/DEVICE.json`.
"""

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

from cases import digests_of
from on_device import MACHINE, read

from clbook.claims.claim_table import Claims
from clbook.commands.record import write_json
from clbook.commands.verify import may_open
from clbook.commands.verify_distance import beyond, distances, first_difference
from clbook.common.errors import BookError, line_of
from clbook.common.parameters import profile_parameters
from clbook.common.sources import ChapterFiles, chapter_names, find_root
from clbook.notebook.results import stored_runs, verdicts_of
from clbook.provenance.library import Library
from clbook.provenance.slices import ChapterCode

OTHER = "another verdict"
DEEP = Path(__file__).parents[1]
sys.path += [str(DEEP), str(DEEP.with_name("tools"))]  # of `mutations` and what it imports, if this runs as a script


def stored(code: ChapterCode, size: str) -> dict:
    """The readings of a CPU at one size that the present code would make, their data set and the size's parameters."""
    of_size = {"data": "generated", "parameters": profile_parameters(code.files, size)}
    if size == "smoke":
        from mutations.kept_outcomes import Elsewhere

        kept = Elsewhere(code.files, seconds=0.0, library=code.library).valid
        readings = {claim: kept[claim]["arms"] for claim in code.claims if kept.get(claim, {}).get("arms")}
        return of_size | {"readings": readings}
    run = stored_runs(code.files, code.library).get(size)
    readings = {c: arms for c, arms in run.stamp["readings"].items() if not run.is_stale(c)} if run else {}
    return of_size | {"readings": readings} | ({"data": run.stamp["data"]} if run else {})


def compared(code: ChapterCode, size: str, device: str, lines: dict[str, dict]) -> dict[str, dict]:
    """Claim → its line, with what the comparison came to, both verdicts and how far the readings lie apart.

    A distance of 1 is the most that chance and rounding allow.
    """
    claims, digests, cpu = Claims.load(code.files.claims), digests_of(code, size, device), stored(code, size)
    before, found = verdicts_of(cpu, claims), {}
    for claim, line in lines.items():
        said = {"comparison": "failed", "text": line.get("text", "")}
        if claim not in code.claims or line["digest"] != digests.claim(claim).digest:
            said["comparison"] = "made by other code"
        elif "arms" in line:
            readings = cpu["readings"] | {claim: line["arms"]}
            after = verdicts_of(cpu | {"readings": readings}, claims)[claim].verdict
            said = {"comparison": "no CPU reading", "device": after}
            if claim in before:
                said |= _beside(
                    claims.rows[claim], size, before[claim].verdict, after, cpu["readings"][claim], line["arms"]
                )
        elif line["outcome"] == "passed":  # the run does not reach the claim's regime
            continue
        found[claim] = line | said
    return found


def _beside(row, size: str, before: str, after: str, cpu: dict, device: dict) -> dict:
    few = may_open(row, before, after) or size == "smoke" and "undecided" in (before, after)
    other = "open with few seeds" if few else OTHER
    text = "" if cpu == device else next(iter(beyond(row, cpu, device, chance=True)), first_difference(cpu, device))
    distance = max(distances(row, cpu, device, chance=True), default=0.0)
    return {
        "comparison": "same verdict" if before == after else other,
        "cpu": before,
        "distance": distance,
        "text": text,
    }


def compare(root: Path, lines: dict[str, dict]) -> dict[str, dict]:
    """Size/chapter → claim → its comparison; prints counts of each, and a line for each failure and other verdict."""
    library, found, details = Library().read(), {}, []
    for size, name in [(size, name) for size in ("smoke", "default", "paper") for name in chapter_names(root)]:
        place, code = f"{size}/{name}", ChapterCode(ChapterFiles(root, name), library)
        mine = {c.rpartition("/")[2]: line for c, line in lines.items() if c.rpartition("/")[0] == place}
        if mine and (of := compared(code, size, lines[MACHINE]["device"], mine)):
            found[place] = of
            counts = Counter(one["comparison"] for one in found[place].values())
            close = sum(one.get("distance", 2.0) <= 1.0 for one in found[place].values())
            print(f"{place}: {', '.join(f'{n} {word}' for word, n in counts.items())}; {close} within tolerance")
        for claim, one in found.get(place, {}).items():
            if one["comparison"] == "failed":
                details.append(f"{place}/{claim}: {one['outcome']}: {one['text'][:200]}")
            elif "cpu" in one and one["cpu"] != one["device"]:
                verdicts = f"{one['cpu']} on the CPU, {one['device']} here"
                details.append(f"{place}/{claim}: {verdicts}, {one['comparison']}; {one['text']}")
    print(*details, sep="\n", end="\n" * bool(details))
    return found


def record(root: Path, lines: dict[str, dict], readings: dict[str, dict]) -> Path:
    """Write what was measured and how it compares into `records/gpu/`; returns the file."""
    tests = Counter(line["outcome"] for case, line in lines.items() if case.startswith("tests/") and "::" in case)
    programs = {case.rpartition("/")[2]: line for case, line in lines.items() if case.startswith("benchmarks/")}
    name = re.sub("[^a-z0-9]+", "-", lines[MACHINE]["device_name"].lower()).strip("-")
    path = root / "records" / "gpu" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": lines[MACHINE], "tests": tests, "readings": readings, "benchmarks": programs}
    write_json(path, content)
    return path


def main(given: list[str]) -> int:
    """Compare a folder of results, record it where that is asked for; the status as the module says."""
    parser = argparse.ArgumentParser(prog="compare", description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="the folder that was OUT")
    parser.add_argument("--record", action="store_true", help="write records/gpu/DEVICE.json")
    options = parser.parse_args(given)
    try:
        root, lines = find_root(), read(options.results)
        if MACHINE not in lines:
            raise BookError(f"{options.results}: holds no results of make gpu")
        print(f"{lines[MACHINE]['device_name']}, torch {lines[MACHINE]['versions']['torch']}")
        found = compare(root, lines)
        if options.record:
            print(f"recorded in {record(root, lines, found).relative_to(root)}")
    except BookError as error:
        print("compare:", line_of(error), file=sys.stderr)
        return 2
    return int(any(one["comparison"] == OTHER for claims in found.values() for one in claims.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
