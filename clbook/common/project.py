"""What `[tool.clbook]` of a book's pyproject.toml says of it: its packages, its data sets, and a few words."""

import importlib
import importlib.util
import os
import tomllib
from functools import cache
from pathlib import Path
from types import ModuleType

from .errors import BookError


@cache
def settings() -> dict:
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
    return settings()["kernels"]


def packages() -> tuple[str, ...]:
    """The packages whose definitions results depend on: the kernels, then the experiments if the book has any."""
    return tuple(filter(None, (kernels(), settings().get("experiments"))))


def full_name(module: str) -> str:
    """The dotted name of a module that is written without the kernels' package, such as `losses.named_losses`."""
    return module if module.partition(".")[0] in packages() else f"{kernels()}.{module}"


def folder_of(package: str) -> Path:
    """The folder of a package, which is not imported; raises BookError if it is not installed."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise BookError(f"the package {package}, which pyproject.toml names under [tool.clbook], is not installed")
    return Path(next(iter(spec.submodule_search_locations)))


def count_words() -> tuple[str, ...]:
    """The last words of parameters that count runs; another number, of epochs say, may happen to equal their number."""
    return tuple(settings().get("counts", ("seeds",)))


def is_costly(definition: str) -> bool:
    """Whether a definition, by dotted name, takes minutes and cannot be run in part, such as a pretrained encoder."""
    return any(name in definition for name in settings().get("costly", ()))


def colab_extra() -> str:
    """The extra of the book's package that a notebook in Colab needs beside torch."""
    return settings().get("colab", "kernels")


def features() -> ModuleType:
    """The module that measures what two sets of features have in common, see `commands.features`; raises BookError."""
    if "features" not in settings():
        raise BookError("this book has no measure of features: [tool.clbook] of pyproject.toml names none")
    return importlib.import_module(settings()["features"])


def data_sets() -> ModuleType:
    """The book's list of data sets.

    The module has `NEEDS` (name → its check, None if it needs no files), `FILES` and `SUMS` (name → file → checksum),
    `is_bundled(name)`, `check(name)`, `data_folder()` and `DataError`. It imports without torch.
    """
    return importlib.import_module(settings()["data_sets"])
