"""A machine with the packages that `make gpu` needs and no others: every other one seems not to be installed."""

import re
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement

ALLOWED = ("torch", "numpy", "scipy", "scikit-learn", "matplotlib", "joblib", "torchdiffeq", "pytest")
_OURS = "contrastive-dynamics"
_HOOK = """
import sys
REFUSED = {refused!r}
class Without:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in REFUSED else self.finder.find_spec(name, path, target)
sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""


def _normal(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def _with_all_they_need(names: tuple[str, ...]) -> set[str]:
    """Distributions and, of those that are installed, all that they require."""
    found: set[str] = set()
    open_yet = list(names)
    while open_yet:
        name = _normal(open_yet.pop())
        if name in found:
            continue
        found.add(name)
        try:
            needed = [Requirement(text) for text in requires(name) or ()]
        except PackageNotFoundError:
            continue
        open_yet += [one.name for one in needed if not one.marker or one.marker.evaluate({"extra": ""})]
    return found


def refused() -> set[str]:
    """Every importable package that no allowed one needs."""
    allowed = _with_all_they_need(ALLOWED) | {_OURS}
    return {top for top, dists in packages_distributions().items() if not allowed & {_normal(d) for d in dists}}


def write_hook(folder: Path) -> Path:
    """A folder that, on PYTHONPATH, makes every process such a machine."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(_HOOK.format(refused=sorted(refused())), encoding="utf-8")
    return folder
