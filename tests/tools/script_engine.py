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
        return self.value(f"explorables.{function}({arguments})")

    def value(self, expression: str) -> object:
        """What an expression is, as JSON can say it."""
        return json.loads(self._engine.eval(f"JSON.stringify({expression})"))


def truths(name: str) -> list:
    """What the arithmetic of a picture answers to its questions."""
    parts = sorted(p.name for p in SCRIPTS.glob(f"{name}.*.js") if p.name != f"{name}.math.js")
    engine = Engine(f"{name}.math.js", "explorable.js", *parts, f"{name}.js")
    return engine.value(f"explorables.lessons.{name}.questions.map(question => question.truth())")


def flat(value, path=()) -> dict[tuple, object]:
    """Every number of nested lists and dictionaries, by its path."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = {p: v for key, part in parts for p, v in flat(part, (*path, key)).items()}
    return found or {path: value}
