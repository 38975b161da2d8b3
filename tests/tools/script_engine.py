"""The JavaScript of the live pictures without a browser: V8 in Python, so that `make test` needs nothing else."""

import json

from checkout import ROOT
from py_mini_racer import MiniRacer

SCRIPTS = ROOT / "book" / "_static" / "explorables"


class Engine:
    """A script's functions, called with what JSON can say."""

    def __init__(self, *names: str):
        self._engine = MiniRacer()
        for name in names:
            self._engine.eval((SCRIPTS / name).read_text(encoding="utf-8"))

    def __call__(self, function: str, *given) -> object:
        """The value of `explorables.FUNCTION(...)`."""
        arguments = ", ".join(map(json.dumps, given))
        return json.loads(self._engine.eval(f"JSON.stringify(explorables.{function}({arguments}))"))


def flat(value, path=()) -> dict[tuple, object]:
    """Every number of nested lists and dictionaries, by its path."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = {p: v for key, part in parts for p, v in flat(part, (*path, key)).items()}
    return found or {path: value}
