"""What `[tool.clbook]` of a book's pyproject.toml names: the packages of kernels and experiments, the data sets."""

import importlib
import importlib.util
import os
import tomllib
from functools import cache
from pathlib import Path
from types import ModuleType

from .errors import BookError


@cache
def _settings() -> dict[str, str]:
    """`[tool.clbook]` of the nearest pyproject.toml that has it: of the book in use, else of the one around this file.

    Raises: BookError if there is none, or if it lacks `kernels` or `data_sets`.
    """
    starts = [Path(os.environ.get("CLBOOK_ROOT") or Path.cwd()), Path(__file__)]
    for path in [folder / "pyproject.toml" for start in starts for folder in (start, *start.resolve().parents)]:
        settings = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}) if path.is_file() else {}
        if "clbook" in settings:
            if missing := {"kernels", "data_sets"} - settings["clbook"].keys():
                raise BookError(f"{path}: [tool.clbook] lacks {', '.join(sorted(missing))}")
            return settings["clbook"]
    raise BookError("no pyproject.toml with a table [tool.clbook] lies around the book")


def kernels() -> str:
    """The name of the package whose definitions results depend on, such as `contrastive_dynamics`."""
    return _settings()["kernels"]


def packages() -> tuple[str, ...]:
    """The packages whose definitions results depend on: the kernels, then the experiments if the book has any."""
    return tuple(filter(None, (kernels(), _settings().get("experiments"))))


def full_name(module: str) -> str:
    """The dotted name of a module that is written without the kernels' package, such as `losses.named_losses`."""
    return module if module.partition(".")[0] in packages() else f"{kernels()}.{module}"


def folder_of(package: str) -> Path:
    """The folder of a package, which is not imported; raises BookError if it is not installed."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise BookError(f"the package {package}, which pyproject.toml names under [tool.clbook], is not installed")
    return Path(next(iter(spec.submodule_search_locations)))


def data_sets() -> ModuleType:
    """The book's list of data sets.

    The module has `NEEDS` (name → its check, None if it needs no files), `FILES` and `SUMS` (name → file → checksum),
    `is_bundled(name)`, `check(name)`, `data_folder()` and `DataError`. It imports without torch.
    """
    return importlib.import_module(_settings()["data_sets"])
