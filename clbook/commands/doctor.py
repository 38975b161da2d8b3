"""What this machine has, which data sets it holds, and what each profile of each chapter needs."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ..common import environment, project
from ..common.durations import duration
from ..common.errors import BookError
from ..common.parameters import profile_parameters
from ..common.sources import ChapterFiles, chapter_names
from ..provenance.records import read_record
from ..provenance.staleness import notebooks_stamp
from ..provenance.stamps import whole_cost

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
    sets = project.data_sets()
    try:
        yield "data sets", str(sets.data_folder())
    except sets.DataError as error:
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
    """Every data set that a chapter can read, and whether its files are here with known checksums; no downloads."""
    for name in project.data_sets().NEEDS:
        yield name, _state(name)


def _state(name: str) -> str:
    sets = project.data_sets()
    try:
        if sets.is_bundled(name):
            return "comes with a dependency or with the run"
        files = sets.FILES.get(name, ())  # the check would download some of them, which was not asked for
        if missing := [file for file in files if not (sets.data_folder() / file).is_file()]:
            return f"missing: {', '.join(missing)}"
        sets.check(name)
        return "here, sums as known" if files else "here"
    except sets.DataError as error:
        return str(error)


def profiles(root: Path) -> Iterator[tuple[str, str, str, str]]:
    """(chapter, profile, data, measured time and memory) of every profile of every chapter."""
    for chapter in chapter_names(root):
        files = ChapterFiles(root, chapter)
        names = {*files.profiles(), *(path.stem for path in files.records())}
        for profile in ("default", *sorted(names - {"default"})):
            yield chapter, profile, *_profile(files, profile)


def _profile(files: ChapterFiles, profile: str) -> tuple[str, str]:
    """A profile's data, and the time and memory of its stored run; for a damaged file its error message instead."""
    try:
        stamp = _stamp(files, profile)
        took = _took(stamp) if stamp else "not measured"
    except BookError as error:
        stamp, took = None, str(error)
    if stamp and profile != "default" and not files.profile(profile).is_file():  # only its record is left
        return stamp["data"], took
    try:
        return str(profile_parameters(files, profile).get("data", "generated")), took
    except BookError as error:
        return str(error), took


def _stamp(files: ChapterFiles, profile: str) -> dict | None:
    if files.record(profile).is_file():
        return read_record(files.record(profile), files)["run"]
    return notebooks_stamp(files) if profile == "default" else None


def _took(stamp: dict) -> str:
    return f"{duration(whole_cost(stamp))}, {stamp['peak_mb'] / 1000:.1f} GB on {stamp['device']}"
