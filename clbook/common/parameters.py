"""A chapter's parameters: read from its `parameters` cell, checked before anything runs."""

import ast
import difflib
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

from .errors import BookError, cut
from .formats import loads, place_of, text_of
from .registries import registered_names
from .sources import Cell, ChapterFiles

_TYPES = {"int": int, "float": float, "str": str, "bool": bool}
_MOST_VALUES = 1000  # of a list; each may be a training
_RANGE = re.compile(r"(?P<low>-?[\d.eE+-]+?)\.\.(?P<high>-?[\d.eE+-]+)$")
_CHOICES = re.compile(r"(?P<choices>[\w.-]+(?:\|[\w.-]+)+)$")
_NUMBER = re.compile(r"(?<![\w.+-])[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_REGISTRY = re.compile(r"one of (?P<registry>\w+(?:\.\w+)+)$")


@dataclass(frozen=True)
class Parameter:
    """One line `name: type = default  # meaning, range`.

    The range is `low..high`, `this|that`, of names or numbers, or `one of room.module.NAME`, a registry of the kernels.
    """

    name: str
    type: str
    default: object
    meaning: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str | float, ...] = ()

    @property
    def range(self) -> str:
        if self.choices:
            return "|".join(map(str, self.choices))
        return "" if self.low is None else f"{self.low:.12g}..{self.high:.12g}"

    @property
    def item_type(self) -> type:
        return _TYPES[self.type.removeprefix("list[").removesuffix("]")]

    def check(self, value: object, where: str = "") -> object:
        """The value converted to its type; raises a BookError that says what was given and what is allowed."""
        is_list = self.type.startswith("list[")
        wanted, got = f"{self.type} {self.range}".rstrip(), cut(repr(value), 120)
        wrong = BookError(f"{where}{self.name}: must be {wanted}, got {got}")
        if is_list:
            if not isinstance(value, (list, tuple)) or not value:
                raise wrong
            if len(value) > _MOST_VALUES:
                raise BookError(f"{where}{self.name}: must have at most {_MOST_VALUES} values, got {len(value)}")
            return [self._check_item(item, wrong) for item in value]
        return self._check_item(value, wrong)

    def _check_item(self, value: object, wrong: BookError) -> object:
        kind = self.item_type
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value) if abs(value) < 2**1000 else math.inf
        if type(value) is not kind:
            raise wrong
        if self.choices and value not in self.choices:
            near = difflib.get_close_matches(value, self.choices, n=1, cutoff=0.7) if kind is str else []
            raise BookError(f"{wrong}; did you mean {near[0]}?") if near else wrong
        if self.low is not None and not self.low <= value <= self.high:
            raise wrong
        return value

    def from_text(self, text: str) -> object:
        """Read a value typed on the command line: `5`, `1e1`, `0.1`, `.1`, `auto`, `1,2,5` or `[1, 2, 5]`."""
        if self.type == "str":
            return self.check(text)
        if self.type.startswith("list[") and not text.startswith("["):
            text = f"[{text}]"
        try:
            if self.item_type in (int, float):
                return self.check(json.loads(_NUMBER.sub(self._as_json, text)))
            return self.check(json.loads(text.lower() if self.type == "bool" else text))
        except (ValueError, RecursionError):  # not JSON, a number with thousands of digits, thousands of brackets
            return self.check(text)

    def _as_json(self, number: re.Match) -> str:
        """A number as people type it, as JSON has it; one that is whole may be typed as a float for an int."""
        text = number[0]
        if text.lstrip("+-").isdecimal():
            return text.removeprefix("+")
        value = float(text)
        is_whole = self.item_type is int and value.is_integer() and abs(value) < 2**53
        return str(int(value)) if is_whole else repr(value) if math.isfinite(value) else text


def value_text(value: object) -> str:
    """A parameter's value as it is given after `name=`: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _names(ends: re.Match | None, where: str) -> tuple[str, ...]:
    """The names that the end of a parameter's line allows; none if it gives a range of numbers or no range."""
    groups = ends.groupdict() if ends else {}
    if "registry" not in groups:
        return tuple(groups["choices"].split("|")) if "choices" in groups else ()
    try:
        return registered_names(groups["registry"])
    except BookError as error:
        raise BookError(f"{where}{error}") from None


def _parse_line(line: str, where: str, registries: bool) -> Parameter:
    code, _, comment = line.partition("#")
    comment = comment.strip()
    try:
        (node,) = ast.parse(code.strip()).body
        name, kind, default = node.target.id, ast.unparse(node.annotation), ast.literal_eval(node.value)
    except (SyntaxError, ValueError, AttributeError):
        raise BookError(f"{where}: not of the form 'name: type = default  # meaning, range': {line.strip()}") from None
    if kind.removeprefix("list[").removesuffix("]") not in _TYPES:
        raise BookError(f"{where}: {name}: type must be {', '.join(_TYPES)} or a list of these, got {kind}")
    limits, choices, registry = (pattern.search(comment) for pattern in (_RANGE, _CHOICES, _REGISTRY))
    ends = limits or choices or registry
    choices = _names(ends, f"{where}: {name}: ") if registries or ends is not registry else ()
    is_number = kind.removeprefix("list[").removesuffix("]") in ("int", "float")
    if limits and not is_number:
        raise BookError(f"{where}: {name}: a range {limits[0]} is for int and float, got {kind}")
    try:
        choices = tuple(map(ast.literal_eval, choices)) if is_number else choices
        low, high = (float(limits[end]) if limits else None for end in ("low", "high"))
    except (ValueError, SyntaxError):
        raise BookError(f"{where}: {name}: the range must be of numbers, got {ends[0]}") from None
    parameter = Parameter(
        name,
        kind,
        default,
        comment[: ends.start()].rstrip(" ,") if ends else comment,
        low,
        high,
        choices,
    )
    parameter.check(default, f"{where}: ")
    return parameter


def read_parameters(cells: list[Cell], where: str, registries: bool = True) -> dict[str, Parameter]:
    """The parameters of a chapter, in order; raises BookError if the cell is missing or a line is malformed.

    Without `registries` those that name one may have any value: of an older notebook it may be gone.
    """
    cell = next((c for c in cells if "parameters" in c.tags), None)
    if cell is None:
        raise BookError(f"{where}: no cell is tagged 'parameters'")
    lines = [line for line in cell.source.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return {p.name: p for p in (_parse_line(line, where, registries) for line in lines)}


def effective(parameters: dict[str, Parameter], values: dict[str, object], where: str) -> dict[str, object]:
    """Defaults overridden by `values`, checked; raises BookError, with the nearest name for an unknown one."""
    for name in values.keys() - parameters.keys():
        near = difflib.get_close_matches(name, parameters, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise BookError(f"{where}: no parameter {name!r}, allowed are {', '.join(parameters)}{hint}")
    return {p.name: p.check(values.get(p.name, p.default), f"{where}: ") for p in parameters.values()}


def read_profile(path: Path) -> dict[str, object]:
    """Read a profile: one `name: value` per line, with the value in JSON, so that no YAML reader is needed."""
    values = {}
    for number, line in enumerate(text_of(path).splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        name, colon, value = text.partition(":")
        if name.strip() in values:
            raise BookError(f"{place_of(path)}, line {number}: {name.strip()} occurs twice")
        try:
            values[name.strip()] = loads(value)
        except (ValueError, RecursionError):
            colon = ""
        if not colon:
            shown = cut(line.strip(), 120)
            raise BookError(f"{place_of(path)}, line {number}: not 'name: value' with a JSON value: {shown}")
    return values


def profile_parameters(files: ChapterFiles, profile: str) -> dict[str, object]:
    """The effective parameters of a profile; raises BookError for an unknown one."""
    known = read_parameters(files.cells(), files.source.name)
    if profile == "default":
        return effective(known, {}, files.name)
    path, there = files.profile(profile), files.profiles()
    if profile not in there:
        raise BookError(f"{files.name} has no profile {profile!r}, there are: {', '.join(['default', *there])}")
    return effective(known, read_profile(path), place_of(path))


def seed_block(first: int, count: int) -> range:
    """The seeds first, …, first + count − 1 of a run."""
    return range(first, first + count)
