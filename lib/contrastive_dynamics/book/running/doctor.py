"""What this machine has, which data sets it holds, and what each profile of each chapter needs."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ...data import catalogue, registry
from ..chapter.results import stored_runs
from ..ground import environment
from ..ground.errors import BookError
from ..ground.parameters import profile_parameters
from ..ground.sources import ChapterFiles, chapter_names

GB = 1e9


def machine(root: Path) -> Iterator[tuple[str, str]]:
    """The state of this machine: versions, devices, free memory and disk, the folder of data sets."""
    versions = environment.versions()
    yield "Python", versions["python"]
    for name in ("torch", "numpy", "scipy"):
        yield name, versions.get(name, "not installed; a run needs the extra 'run'")
    yield "CPU", environment.device_name("cpu")
    yield "GPU", _gpus()
    yield "memory", _memory()
    yield "disk", f"{shutil.disk_usage(root).free / GB:.1f} GB free at {root}"
    try:
        yield "data sets", str(catalogue.data_folder())
    except catalogue.DataError as error:
        yield "data sets", str(error)


def _gpus() -> str:
    try:
        import torch
    except ImportError:
        return "unknown without torch"
    names = []
    for k in range(torch.cuda.device_count()):
        try:
            free, total = torch.cuda.mem_get_info(k)
            room = f"{free / GB:.1f} of {total / GB:.1f} GB free"
        except RuntimeError as error:  # another program uses all of it
            room = f"not usable now ({str(error).splitlines()[0]})"
        names.append(f"{torch.cuda.get_device_name(k)}, {room}")
    return "; ".join(names) or "none that torch sees; chapters run on the CPU"


def _memory() -> str:
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        free, total = (page * os.sysconf(name) for name in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # not available on every system
        return "unknown on this system"
    return f"{free / GB:.1f} of {total / GB:.1f} GB free"


def data_sets() -> Iterator[tuple[str, str]]:
    """Every data set that a chapter can read, and whether its files are here with known sums; downloads nothing."""
    for name in registry.NEEDS:
        yield name, _state(name)


def _state(name: str) -> str:
    try:
        if registry.comes_along(name):
            return "comes with a dependency or with the run"
        files = registry.FILES.get(name, ())  # the check would download some of them, which was not asked for
        if missing := [file for file in files if not (catalogue.data_folder() / file).is_file()]:
            return f"missing: {', '.join(missing)}"
        registry.check(name)
        return "here, sums as known" if files else "here"
    except catalogue.DataError as error:
        return str(error)


def profiles(root: Path) -> Iterator[tuple[str, str, str, str]]:
    """(chapter, profile, data, measured time and memory) of every profile of every chapter."""
    for chapter in chapter_names(root):
        files = ChapterFiles(root, chapter)
        runs = stored_runs(files)
        folder = root / "chapters" / "profiles"
        names = sorted(path.name.split(".")[1] for path in folder.glob(f"{chapter}.*.yaml"))
        for profile in ("default", *names):
            yield chapter, profile, _data(files, profile), _needs(runs[profile].stamp if profile in runs else None)


def _data(files: ChapterFiles, profile: str) -> str:
    try:
        return str(profile_parameters(files, profile).get("data", "generated"))
    except BookError as error:
        return str(error)


def _needs(stamp: dict | None) -> str:
    if stamp is None:
        return "not measured"
    return f"{stamp['seconds']:.0f} s, {stamp['peak_mb'] / 1000:.1f} GB on {stamp['device']}"
