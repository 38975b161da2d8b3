"""JSON Schemas of the files that the book stores, and functions that read and check such files."""

import json
import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Literal, TypeVar

from .errors import BookError

T = TypeVar("T")
OnDamage = Literal["raise", "report", "skip"]  # leave out what is damaged, with a line on stderr or without one
_KINDS = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_CONFLICT = re.compile(r"^<<<<<<< ", re.MULTILINE)


@dataclass(frozen=True)
class Format:
    """The schema of a file, and what to do if a file does not satisfy it."""

    schema: dict
    remedy: str


def record_of(required: str = "", **properties: dict) -> dict:
    """The schema of an object with these properties; `required` are names separated by spaces."""
    return {"type": "object", "required": required.split(), "properties": properties}


def map_of(values: dict) -> dict:
    """The schema of an object with any names and values of one schema."""
    return {"type": "object", "additionalProperties": values}


def list_of(items: dict, least: int = 0) -> dict:
    return {"type": "array", "items": items, "minItems": least}


TEXT, NUMBER, WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer"}
TRUTH, ANY = {"type": "boolean"}, {"type": "object"}
COUNT, POSITIVE = {"type": "integer", "minimum": 0}, {"type": "integer", "minimum": 1}
ID = {"type": "string", "pattern": "^[0-9a-f]{12}$"}

# the values that a parameter takes; first_seed and seeds are read by the book itself
_VALUE = {"type": ["string", "number", "boolean", "array"], "items": {"type": ["string", "number", "boolean"]}}
_PARAMETERS = map_of(_VALUE) | {"properties": {"first_seed": WHOLE, "seeds": POSITIVE}}

_AXIS = {"type": "array", "items": [TEXT, list_of(_VALUE, 1)], "minItems": 2, "maxItems": 2}
_OF_THIS_VERSION = record_of(
    "chapter profile axes blocks", chapter=TEXT, profile=TEXT, axes=list_of(_AXIS), blocks=POSITIVE
)
SWEEP = Format(
    record_of("version", version=WHOLE) | {"if": {"properties": {"version": {"const": 1}}}, "then": _OF_THIS_VERSION},
    "run the sweep in another folder",
)
_POINT = record_of("parameters run block", parameters=_PARAMETERS, run=ID, block=COUNT)
POINTS = Format(map_of(_POINT) | {"propertyNames": ID, "minProperties": 1}, SWEEP.remedy)

# one number, one for each seed, or a share
_MEASURED = {"type": ["number", "array", "object"], "items": NUMBER, "minItems": 1}
_TRIALS = {"maximum": 10**9}
_MEASURED |= {"required": ["hits", "trials"], "properties": {"hits": COUNT | _TRIALS, "trials": POSITIVE | _TRIALS}}
_ARM = map_of(_MEASURED)
_ARMS = record_of(
    "observed",
    observed=_ARM | {"minProperties": 1},
    **dict.fromkeys(("control", "mended", "outside", "planted", "advocate"), _ARM),
) | {"additionalProperties": False}
_PLACES = {"type": "string", "pattern": r"^(\d+( \d+)*)?$"}
_JUDGED = record_of("rule verdict changes", rule=TEXT, verdict=TEXT, changes=COUNT, regime=TEXT)
_RULE = {"type": ["string", "null"]}
_CLAIM = record_of("run reading reaches rule", run=COUNT, reading=TEXT, reaches=_PLACES, rule=_RULE, judged=_JUDGED)
_SIZE = {"type": "number", "minimum": 0, "maximum": 1e12}
_MADE_BY = {"versions": ANY, "device": TEXT, "seconds": _SIZE, "peak_mb": _SIZE, "time": TEXT}
STAMP = Format(
    record_of(
        f"chapter profile data parameters readings claims definitions cells pictures later {' '.join(_MADE_BY)}",
        chapter=TEXT,
        profile=TEXT,
        data=TEXT,
        parameters=_PARAMETERS,
        readings=map_of(_ARMS),
        claims=map_of(_CLAIM),
        definitions=list_of(TEXT),
        cells=map_of(TEXT),
        shown=map_of(TEXT) | {"propertyNames": {"type": "string", "pattern": r"^[0-9]{1,6}$"}},
        pictures=map_of(record_of("sum digest", sum=TEXT, digest=TEXT, moving=TEXT)),
        later=list_of(record_of(" ".join(_MADE_BY), **_MADE_BY)),
        **_MADE_BY,
    ),
    "run it again",
)
RECORD = Format(
    record_of("run blocks seal", run=ANY, other_seeds=list_of(ANY), blocks=POSITIVE, seal=TEXT),
    "restore it, or let `clbook record` make it again",
)
SAME_BITS = Format(
    list_of(
        record_of(
            "definition now as commit program", definition=TEXT, now=TEXT, **{"as": TEXT}, commit=TEXT, program=TEXT
        )
    ),
    "restore it: without it many results count as stale",
)
_GLUED = record_of(scrapbook=record_of("name", name=TEXT))  # a figure or a number that prose shows
_OUTPUT = record_of(data=ANY, metadata=_GLUED)
_SOURCE = {"type": ["string", "array"], "items": TEXT}
_CELL = record_of(cell_type=TEXT, id=TEXT, source=_SOURCE, outputs=list_of(_OUTPUT))
NOTEBOOK = Format(
    record_of("cells", cells=list_of(_CELL)),
    "run it again (`clbook execute --force CHAPTER` for a chapter of the book)",
)
RUN = Format(
    record_of("parameters profile " + " ".join(_MADE_BY), parameters=_PARAMETERS, profile=TEXT, **_MADE_BY),
    "run it again",
)
ROWS = Format(list_of(record_of("anchor verdict", anchor=TEXT, verdict=TEXT)), RUN.remedy)
SCHEDULER = Format(record_of("address", address=TEXT), "start the scheduler anew")


def intact(path: Path, form: Format) -> object:
    """The content of a JSON file, checked against its format.

    Raises:
        BookError: The file is missing, is not JSON, or does not satisfy the schema; in one line, with the remedy.
    """
    return parsed(text_of(path, f"; {form.remedy}"), form, str(path))


def leave_out_address_grammar() -> None:
    """Keep a package out that jsonschema imports if it is there: it takes 1.3 s of a processor to build a grammar of
    international web addresses, and nothing that nbformat checks is one.
    """
    sys.modules.setdefault("rfc3987_syntax", None)


def read_notebook(path: Path):
    """A notebook as nbformat reads it; raises BookError for one that is damaged."""
    leave_out_address_grammar()
    import nbformat.reader

    content = intact(path, NOTEBOOK)
    try:
        nbformat.validate(content)
        return nbformat.convert(nbformat.reader.reads(text_of(path)), 4)  # `nbformat.reads` would validate once more
    except Exception as error:  # of whatever kind, since nbformat looks at parts before it checks them
        message = (str(error).splitlines() or [type(error).__name__])[0]
        raise BookError(f"{path}: damaged: {message}; {NOTEBOOK.remedy}") from None


def place_of(path: Path) -> str:
    """How messages name a file: from the root of the book, `chapters/NAME/claims.yaml`; elsewhere by its name."""
    tops = [at for at, part in enumerate(path.parts) if part in ("chapters", "records")]
    return "/".join(path.parts[tops[-1] :]) if tops else path.name


def text_of(path: Path, remedy: str = "") -> str:
    """The text of a file without a byte-order mark; raises a BookError that ends in the remedy.

    A pipe or a device is refused: it may have no end.
    """
    try:
        if not S_ISREG(kind := path.stat().st_mode) and not S_ISDIR(kind):
            raise BookError(f"{path}: must be a file, got something else{remedy}")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BookError(f"{path}: cannot be read ({error.strerror}){remedy}") from None
    except UnicodeDecodeError:
        raise BookError(f"{path}: damaged: not text in UTF-8{remedy}") from None


def attempt(on_damage: OnDamage, read: Callable[..., T], *arguments: object) -> T | None:
    """`read(*arguments)`; if it raises BookError, the error is raised on or None returned, as `on_damage` says."""
    try:
        return read(*arguments)
    except BookError as error:
        if on_damage == "raise":
            raise
        if on_damage == "report":
            print(f"clbook: {error}; left out", file=sys.stderr)
        return None


def parsed(text: str, form: Format, where: str) -> object:
    """The content of a JSON text, checked against a format; raises BookError."""
    try:
        content = loads(text)
    except RecursionError:
        why = "nested too deeply"
    except ValueError as error:
        why = "conflict markers of a merge" if _CONFLICT.search(text) else f"not JSON ({str(error).partition(';')[0]})"
    else:
        return fitting(content, form, where)
    raise BookError(f"{where}: damaged: {why}; {form.remedy}")


def loads(text: str) -> object:
    """The content of a JSON text; raises ValueError or RecursionError.

    Infinity is a valid measurement, NaN is not. An integer too large for a float is read as infinity. No key may occur
    twice in an object: the later would count, silently.
    """

    def constant(word: str) -> float:
        if word == "NaN":
            raise ValueError("NaN is not a value")
        return float(word)

    def whole(digits: str) -> int | float:
        return int(digits) if math.isfinite(number := float(digits)) else number

    content = json.loads(text, parse_constant=constant, parse_int=whole, object_pairs_hook=_once)
    if r"\ud" in text or r"\uD" in text:  # perhaps half of a character that UTF-16 writes in two
        json.dumps(content, ensure_ascii=False).encode("utf-8")  # without its other half it is a ValueError
    return content


def _once(pairs: list[tuple[str, object]]) -> dict:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{next(key for key in keys if keys.count(key) > 1)!r} occurs twice in an object")
    return content


def fitting(content: object, form: Format, where: str) -> object:
    """The content, if it satisfies a format; raises BookError otherwise."""
    if problem := fault(content, form.schema):
        raise BookError(f"{where}: damaged: {problem}; {form.remedy}")
    return content


def fault(content: object, schema: dict) -> str:
    """Why some content does not satisfy a schema, in words; empty if it does."""
    try:
        from fastjsonschema import JsonSchemaValueException
    except ModuleNotFoundError:  # on a machine that only records; the seals of what it reads are checked all the same
        return ""
    try:
        _compiled(json.dumps(schema))(content)
    except JsonSchemaValueException as error:
        return _in_words(error)
    return ""


@cache
def _compiled(schema: str) -> Callable[[object], object]:
    import fastjsonschema  # jsonschema takes a second to import

    return fastjsonschema.compile(json.loads(schema), use_default=False)


def _in_words(error) -> str:
    """An error of fastjsonschema in words: the place, what is required there, and what was got."""
    place = error.name.removeprefix("data").removeprefix(".")
    rule, wanted, got = error.rule, error.rule_definition, error.value
    if rule == "required":
        return f"{place and f'{place}: '}missing {', '.join(sorted(set(wanted) - got.keys()))}"
    if rule == "additionalProperties":
        allowed = error.definition["properties"]
        unknown = ", ".join(sorted(str(name) for name in got.keys() - allowed.keys()))
        return f"{place and f'{place}: '}unknown {unknown}; allowed are {', '.join(sorted(allowed))}"
    requirement = {
        "type": lambda: f"be {' or '.join(_KINDS[kind] for kind in ([wanted] if isinstance(wanted, str) else wanted))}",
        "enum": lambda: f"be one of {', '.join(wanted)}",
        "minimum": lambda: f"be ≥ {wanted}",
        "minItems": lambda: f"have ≥ {wanted} entries",
        "minProperties": lambda: f"have ≥ {wanted} entries",
        "propertyNames": lambda: f"have names that satisfy {json.dumps(wanted)}",
    }.get(rule, lambda: f"satisfy {rule} {json.dumps(wanted)}")
    return f"{place or 'it'} must {requirement()}, got {_shown(got)}"


def _shown(value: object) -> str:
    """A value in at most 40 characters."""
    if isinstance(value, (dict, list)):
        kind = _KINDS["object" if isinstance(value, dict) else "array"]
        return kind if value else f"{kind} without entries"
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= 40 else f"{text[:39]}…"
