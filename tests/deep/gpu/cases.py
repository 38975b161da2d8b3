"""`make gpu`: the kernels' own tests, readings at smoke and default size, benchmarks, readings at the paper's size, as
cases on the device; within each the shortest first. No other run of tests collects this file.
"""

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import kernel_tests
import pytest
from on_device import OUT_OF_TIME, SAYS_NOTHING, Group, Task, failure

from clbook.commands.script import as_script, timed_unit
from clbook.common import environment
from clbook.common.errors import BookError
from clbook.common.parameters import profile_parameters, read_profile
from clbook.common.project import data_sets
from clbook.common.sources import ChapterFiles, chapter_names, find_root
from clbook.notebook.pieces import Keeper, OutOfTime
from clbook.provenance.digests import ChapterDigests
from clbook.provenance.library import FOLDER as KERNELS
from clbook.provenance.library import FOLDERS, Library, sha
from clbook.provenance.records import read_record
from clbook.provenance.slices import ChapterCode
from clbook.provenance.staleness import notebooks_stamp
from clbook.provenance.stamps import seconds_of_record
from clbook.provenance.units import CHAPTER

# stage → seconds that one test, cell or program may take; at the paper's size a cell may take all there is
LIMITS = {
    "tests": 120.0,
    "smoke": 180.0,
    "default": 300.0,
    "benchmarks": 420.0,
    "paper": float("inf"),
    "images": float("inf"),
}
ON_CALL = "images"  # a size that takes a day: measured only if SIZE names it
MEMORY = {"cifar10": 24e9}  # bytes that the size on call needs, by its data set
HEAVY = 10.0  # seconds: the claims whose longest cell takes more, the same for all of them, are read by one process
# programs that take --device, the shortest first; those of sweeps measure papermill and dask, and that of decoupled
# steps what is compiled for a CPU
PROGRAMS = (
    "sparse_codes",
    "testbed_step",
    "token_training",
    "two_modalities",
    "contrastive_covariance",
    "constrained_descent",
)


def pytest_generate_tests(metafunc) -> None:
    sizes = ("default", "smoke", "paper", *([ON_CALL] * (ON_CALL in metafunc.config.getoption("keyword"))))
    groups = sorted(_groups(find_root(), metafunc.config.getoption("device"), sizes), key=lambda group: group.cost)
    params = []
    for group in sorted(groups, key=lambda group: [*LIMITS].index(group.stage)):
        for case in group.cases:
            marks = [pytest.mark.skip(group.obstacles[case])] if case in group.obstacles else []
            params.append(pytest.param(group, case, id=case, marks=marks))
    metafunc.parametrize(("group", "case"), params)


def test_on_device(group, case, request):
    lines = request.config.work.result(group)
    if case not in lines:
        request.config.work.is_cut = True
        pytest.skip("time is used up, run the same command again")
    if lines[case]["outcome"] == "absent":
        pytest.skip(f"needs {lines[case]['package']}, not installed here")
    mine = [line for name, line in lines.items() if name == case or name.startswith(f"{case}/")]
    failed = [line for line in mine if line["outcome"] not in ("passed", *SAYS_NOTHING)]
    if failed:
        pytest.fail("\n".join(f"{one['case']}: {one['outcome']}: {one['text']}" for one in failed), pytrace=False)


def _groups(root: Path, device: str, sizes: tuple[str, ...]) -> Iterator[Group]:
    common, folders = _text(*FOLDERS.values(), root / "tests" / "tools"), sorted((root / "tests").glob("*"))
    rooms = [path for path in folders if path.name in FOLDERS or (KERNELS / path.name).is_dir()]
    for folder in [path for path in rooms if any(path.rglob("test_*.py"))]:
        text = _text(folder)
        yield Group({f"tests/{folder.name}": sha(common, text)}, kernel_tests.run, (root,), LIMITS["tests"], len(text))
    for cost, name in enumerate(PROGRAMS):
        if (program := root / "benchmarks" / f"{name}.py").is_file():
            digest = sha(common, _text(program.parent))  # programs share modules
            yield Group({f"benchmarks/{name}": digest}, benchmark, (program,), LIMITS["benchmarks"], cost)
    library = Library().read()
    for code in [ChapterCode(ChapterFiles(root, name), library) for name in chapter_names(root)]:
        for size in (size for size in sizes if size == "default" or code.files.profile(size).is_file()):
            yield from _readings(code, size, device)


def _text(*places: Path) -> str:
    """All Python files of some folders, one after the other."""
    paths = [path for place in places for path in (sorted(place.rglob("*.py")) or [place])]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths if path.is_file())


def digests_of(code: ChapterCode, size: str, device: str) -> ChapterDigests:
    parameters = profile_parameters(code.files, size)
    return ChapterDigests(code, parameters | ({"device": device} if "device" in parameters else {}))


def _readings(code: ChapterCode, size: str, device: str) -> Iterator[Group]:
    """The claims of a chapter at one size, in groups, with the seconds of a stored run."""
    digests, seconds, place = digests_of(code, size, device), _seconds(code, size), f"{size}/{code.files.name}"
    parts: dict[int | None, list[str]] = {}
    cells = {claim: {code.units[n].cell for n in code.union([claim])} for claim in _claims_at(digests, size)}
    for claim in cells:
        longest = max(cells[claim], key=seconds.__getitem__)
        parts.setdefault(longest if seconds[longest] > HEAVY else None, []).append(claim)
    registry, data = data_sets(), str(digests.parameters.get("data", "generated"))
    obstacles = dict.fromkeys(cells, "the chapter has no parameter 'device'")
    obstacles = {} if device == "cpu" or "device" in digests.parameters else obstacles
    try:
        registry.check(data)
    except registry.DataError:
        reading = [claim for claim in cells if "data" in digests.claim(claim).parameters]
        obstacles |= dict.fromkeys(reading, f"needs the data set {data}")
    if size == ON_CALL and _memory_of(device) < (needed := MEMORY.get(data, 0.0)):
        obstacles |= dict.fromkeys(cells, f"needs {needed / 1e9:.0f} GB of memory on the device")
    obstacles = {f"{place}/{claim}": reason for claim, reason in obstacles.items()}
    for claims in parts.values():
        cost = sum(seconds[cell] for cell in set().union(*(cells[claim] for claim in claims)))
        named = {f"{place}/{claim}": digests.claim(claim).digest for claim in claims}
        yield Group(named, read, (code.files.root, code.files.name, size), LIMITS[size], cost, obstacles)


def _claims_at(digests: ChapterDigests, size: str) -> list[str]:
    """The claims that are measured at a size: at the one on call, those that read all parameters that it sets."""
    code = digests.code
    if size != ON_CALL:
        return list(code.claims)
    changed = read_profile(code.files.profile(size)).keys()
    return [claim for claim in code.claims if changed <= digests.claim(claim).parameters]


def _memory_of(device: str) -> float:
    """Bytes of memory of the device."""
    if device != "cpu":
        import torch

        return float(torch.cuda.get_device_properties(device).total_memory)
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def _seconds(code: ChapterCode, size: str) -> dict[int, float]:
    """Cell → seconds of the record at this size, otherwise of the notebooks."""
    record = code.files.record(size)
    stamp = read_record(record)["run"] if record.is_file() else notebooks_stamp(code.files)
    known = seconds_of_record(stamp, ChapterDigests(code, stamp["parameters"])) if stamp else {}
    return dict.fromkeys((unit.cell for unit in code.units), 0.0) | known


def benchmark(task: Task, program: Path) -> None:
    """Run a program and add the record that it writes."""
    (case,), record = task.cases, task.out / f"{program.stem}.json"
    task.begin(case)
    command = [sys.executable, program, "--device", task.device, "--out", record]
    subprocess.run(command, cwd=program.parents[1], check=True)
    task.add(case, outcome="passed", record=json.loads(record.read_text(encoding="utf-8")))


def read(task: Task, root: Path, chapter: str, size: str) -> int:
    """Run the units that claims need, add each reading once it is there. A unit that fails costs only its claims."""
    os.environ["CLBOOK_ROOT"] = str(root)
    code = ChapterCode(ChapterFiles(root, chapter))
    digests, left = digests_of(code, size, task.device), {case.rpartition("/")[2]: case for case in task.cases}
    keeper = Keeper(task.out, time.monotonic() + task.seconds, str(digests.parameters.get("data", "generated")))
    keeper.device, began = task.device, time.monotonic()
    place = task.out / "pieces" / sha(environment.arithmetic_key(task.device))[:8]
    with as_script(code.files, size, keeper):
        namespace = code.namespace(digests.parameters)
        for n in code.union(left):
            if needing := [claim for claim in left if n in code.needed(code.claims[claim])]:
                task.begin(*(left[claim] for claim in needing))
                keeper.folder, keeper.count = place / digests.digest(n)[:16], 0
                keeper.folder.mkdir(parents=True, exist_ok=True)
                line = {"outcome": "passed"}
                try:
                    timed_unit(code, n, namespace, keeper)
                    needing = [claim for claim in code.units[n].judges if claim in left]
                except OutOfTime:
                    return OUT_OF_TIME
                except (BookError, MemoryError, OSError) as error:
                    line = failure(error)
                for claim in needing:
                    arms = namespace[CHAPTER].readings.get(claim) if line["outcome"] == "passed" else None
                    line |= {"arms": arms.to_json()} if arms else {}  # none outside the claim's regime
                    task.add(
                        left.pop(claim), **line, seconds=round(time.monotonic() - began, 2), **_memory(task.device)
                    )
    return 0


def _memory(device: str) -> dict:
    """The most memory so far in MB, once what a unit held is free; raises RuntimeError if the device is lost."""
    gc.collect()
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    return {"peak_mb": environment.peak_megabytes(device)}
