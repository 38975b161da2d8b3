"""What `make gpu` says at its end: what was measured, what failed and why, what is left and what it would take."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from .plan import BENCHMARKS, ORDER, TESTS, Job, Left, Run, benchmark_jobs, is_stored, kernel_test_jobs
from .processes import Machine
from .store import ABSENT, NAME, finished, read

TITLES = {
    TESTS: "kernel tests",
    "smoke": "readings, smoke",
    "default": "readings, default",
    BENCHMARKS: "benchmarks",
    "paper": "readings, paper",
}
_FEW = 6  # names in a line
_FORGIVEN = ("skipped", "cpu only", "absent")  # outcomes of tests that say nothing against a kernel


def report(machine: Machine, runs: list[Run], jobs: list[Job], left: list[Left], packed: tuple[int, int]) -> str:
    """The whole text."""
    found = read(machine.store.folder / "machine.json")
    lines = [f"\n{found['device_name']}, torch {found['versions']['torch']}, Python {found['versions']['python']}"]
    tests, readings = outcomes_of_tests(machine), valid_readings(machine, runs)
    rows = {stage: _row(machine, stage, tests, readings, jobs, left) for stage in ORDER}
    lines.append(f"{'':<20}{'measured':>10}{'failed':>8}{'left':>11}{'seconds':>9}")
    for stage, (measured, failed, missing, seconds) in rows.items():
        lines.append(f"{TITLES[stage]:<20}{measured:>10}{failed:>8}{_left(stage, missing):>11}{seconds:>9.0f}")
    lines += [*_said_of_tests(tests), *_failures(machine, tests, readings), *_missing(jobs, left)]
    size, pieces = packed
    without = f", without {pieces} parts of unfinished runs, too large for it" if pieces else ""
    lines.append(f"Packed in {machine.store.archive}: {size / 2**10:,.0f} kB{without}.")
    return "\n".join(lines)


def _left(stage: str, count: int) -> str:
    """How much is left of a stage: tests are counted by folders, since they are not known before they are collected."""
    return f"{count} folders" if stage == TESTS and count else str(count)


def outcomes_of_tests(machine: Machine) -> dict[str, dict]:
    """Test → its outcome, of the present sources."""
    return {k: v for job in kernel_test_jobs(machine.root) for k, v in finished(machine.outcomes(job)).items()}


def valid_readings(machine: Machine, runs: list[Run]) -> dict[tuple[str, str, str], dict]:
    """(profile, chapter, claim) → what is stored of it, made by the present code; not where a package was absent."""
    stored = machine.store.readings()
    by = {run.place: run for run in runs}
    found = {}
    for (chapter, profile, claim), entry in stored.items():
        run = by.get((chapter, profile))
        if run and claim in run.story.claims and is_stored(entry, run, claim) and entry.get("kind") != ABSENT:
            found[profile, chapter, claim] = entry
    return found


def _row(machine: Machine, stage: str, tests: dict, readings: dict, jobs: list, left: list) -> tuple:
    """Counts of a stage: measured, failed, left, seconds."""
    missing = sum(one.stage == stage for one in left)
    missing += sum(len(job.what) if job.chapter else 1 for job in jobs if job.stage == stage)
    if stage == TESTS:
        outcomes = Counter(one["outcome"] for one in tests.values())
        bad = sum(n for outcome, n in outcomes.items() if outcome not in ("passed", *_FORGIVEN))
        return outcomes["passed"], bad, missing, sum(one.get("seconds", 0.0) for one in tests.values())
    if stage == BENCHMARKS:
        records = [machine.record(job) for job in benchmark_jobs(machine.root)]
        return sum(r.is_file() for r in records), sum(r.with_suffix(".failed").is_file() for r in records), missing, 0
    entries = [entry for (profile, _, _), entry in readings.items() if profile == stage]
    failed = sum("failed" in entry for entry in entries)
    return len(entries) - failed, failed, missing, sum(entry.get("spent", 0.0) for entry in entries)


def _said_of_tests(tests: dict[str, dict]) -> list[str]:
    """What the tests were that neither passed nor failed."""
    counts = Counter(one["outcome"] for one in tests.values())
    said = {
        "cpu only": "hand a tensor to numpy or mix devices themselves, and say nothing about a kernel on the device",
        "absent": "need a package that is not installed: " + _listed(_packages(tests)),
        "skipped": "skip themselves",
    }
    return [f"{counts[outcome]} tests {words}" for outcome, words in said.items() if counts[outcome]]


def _packages(tests: dict[str, dict]) -> set[str]:
    return {one["said"].removeprefix("needs ") for one in tests.values() if one["outcome"] == "absent"}


def _failures(machine: Machine, tests: dict, readings: dict) -> list[str]:
    """A line for each failure."""
    found = [f"  {name}: {one['outcome']}: {one.get('said', '')}" for name, one in tests.items()
             if one["outcome"] not in ("passed", *_FORGIVEN)]  # fmt: skip
    failed = {key: entry for key, entry in readings.items() if "failed" in entry}
    found += [f"  {chapter}/{claim} ({profile}): {entry['kind']}: {entry['failed'][:200]}"
              for (profile, chapter, claim), entry in failed.items()]  # fmt: skip
    for folder in ("tests", "benchmarks"):
        for path in sorted((machine.store.folder / folder).glob("*.failed")):
            found.append(f"  {folder}/{path.stem}: {read(path)['kind']}: {read(path)['failed'][:200]}")
    return ["Failed:", *found] if found else []


def _missing(jobs: list[Job], left: list[Left]) -> list[str]:
    """What is left, by stage and reason, and what it would take."""
    lines, reasons = [], defaultdict(list)
    for one in left:
        reasons[one.stage, one.reason].append(one.what)
    for (stage, reason), what in sorted(reasons.items(), key=lambda item: ORDER.index(item[0][0])):
        lines.append(f"  {TITLES[stage]}: {_left(stage, len(what))}, {reason}: {_named(what)}")
    for stage in ORDER:
        mine = [job for job in jobs if job.stage == stage]
        if mine:
            minutes = max(1.0, sum(job.seconds for job in mine) / 60)
            names = _listed(job.name for job in mine)
            lines.append(f"  {TITLES[stage]}: {names}: about {minutes:.0f} min on a CPU; run the same command again")
    return ["Left:", *lines] if lines else [f"Nothing is left; {NAME} is complete."]


def _named(what: list[str]) -> str:
    """Few things by their names; of many the chapters, each with its number."""
    chapters = Counter(name.partition("/")[0] for name in what)
    return _listed(what) if len(what) <= _FEW else _listed(f"{name} {n}" for name, n in chapters.items())


def _listed(names: Iterable[str]) -> str:
    """The first few names and how many more there are."""
    names = sorted(names)
    return ", ".join(names[:_FEW]) + (f" and {len(names) - _FEW} more" if len(names) > _FEW else "")
