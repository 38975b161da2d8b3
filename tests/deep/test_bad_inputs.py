"""A thousand bad inputs and more, typed or in stored files: each ends in a status and in words, never a traceback."""

import json
from itertools import product

import pytest
from damage import call
from stand_in import CLAIMS, SOURCE, build_stand_in

from clbook.commands.record import write_json
from clbook.common.sources import ChapterFiles
from clbook.provenance.records import sealed_record
from clbook.provenance.staleness import notebook_stamp

LONG, DIGITS = "x" * 300, "9" * 400
VALUES = [
    "", " ", "-1", "0", "nan", "-inf", "1e999", LONG, DIGITS, "../..", "é", "[red]", "[/b]", "a=b", ",", "a,,b", "1..2",
    "None", "true", "[[1]]", "{}", "\udc80", "\x1b[31m", "a\nb", "%s", "$(id)", "-",
]  # fmt: skip
# where V stands for a value that no place takes
PLACES = """run V | run stand-in -p V | run stand-in -p scale=V | run stand-in -p mode=V | run stand-in -p seeds=V
run stand-in -p V=1 | run stand-in --profile=V | run stand-in --only=V | run stand-in --device=V
run stand-in --out=/dev/null/V | sweep V --plan | sweep stand-in --grid=V --plan | sweep stand-in --grid=scale=V --plan
sweep stand-in --grid=scale=1 --seeds=V --plan | sweep stand-in --grid=scale=1 -p V --plan | show V
show mine --claim=V | show mine --page=V | compare V V | stale V | stale stand-in V | verify V | verify stand-in V
verify --sample=V | verify --profile=V | record V | record stand-in --profile=V | record stand-in --seconds=V
record stand-in --other-seeds=V --profile=none | record stand-in --device=V | execute V | execute stand-in V | params V
handouts /dev/null/V | V"""
PLACES = [place.split() for place in PLACES.replace("\n", " | ").split(" | ")]
KINDS = [None, True, 7, -1.5, "text", "", [], [None], {}, {"a": None}, "\ud800"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    root = tmp_path_factory.mktemp("book")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLBOOK_ROOT", str(root))
        files = build_stand_in(root)
        files.record("paper").parent.mkdir(parents=True)
        write_json(files.record("paper"), sealed_record([notebook_stamp(files.notebook)], 1))
        yield files


def answered(*arguments: str) -> str:
    """What a command says; it must end with a status, and where that is 2 in words on stderr."""
    done = call(*arguments)  # any exception but the exit of a command fails here
    said = done.output + done.stderr
    assert done.exit_code in (0, 1, 2) and "Traceback" not in said, (arguments, said[-500:])
    assert done.exit_code != 2 or done.stderr.strip(), arguments
    return said


@pytest.mark.parametrize("place", PLACES, ids=" ".join)
def test_a_value_that_no_place_takes(files, place, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(files.root))
    for value in VALUES:
        arguments = [part.replace("V", value) for part in place]
        if value == "1..2" and "--grid=scale=V" in place:
            continue  # which is a grid
        done = call(*arguments)
        said = done.output + done.stderr
        assert "Traceback" not in said and done.exit_code in (1, 2), (arguments, done.exit_code, said[-300:])
        assert done.stderr.strip() or "usage" in said.lower(), arguments


def damaged(content: bytes) -> list[bytes]:
    """A file cut at twenty places, with a byte changed or doubled at ten, and with other ends."""
    cuts = [content[: len(content) * k // 20] for k in range(20)]
    changed = [
        content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in range(0, len(content), len(content) // 10)
    ]
    doubled = [content[:at] + content[at : at + 1] + content[at:] for at in range(7, len(content), len(content) // 10)]
    return [
        *cuts,
        *changed,
        *doubled,
        content + content,
        b"\xff" + content,
        content + b"\0",
        content.replace(b"\n", b"\r"),
    ]


@pytest.mark.parametrize(
    "command", [["stale"], ["claims"], ["compare", "NOTEBOOK", "RECORD"], ["params", "stand-in"]], ids=" ".join
)
@pytest.mark.parametrize("which", ["record", "notebook", "claims", "source"])
def test_a_file_that_is_cut_or_changed(files, which, command, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(files.root))
    path = {
        "record": files.record("paper"),
        "notebook": files.notebook,
        "claims": files.claims,
        "source": files.source,
    }[which]
    named = {"NOTEBOOK": str(files.notebook), "RECORD": str(files.record("paper"))}
    whole = path.read_bytes()
    try:
        for content in damaged(whole):
            path.write_bytes(content)
            answered(*(named.get(part, part) for part in command))
    finally:
        path.write_bytes(whole)


def places(content: object, path: tuple = ()) -> list[tuple]:
    """The path of every entry of a JSON value."""
    parts = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [path, *(place for key, part in parts for place in places(part, (*path, key)))]


def with_other(content: object, path: tuple, value: object) -> object:
    """A copy of a JSON value with another one in a place."""
    if not path:
        return value
    twin = json.loads(json.dumps(content))
    inner = twin
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return twin


@pytest.mark.parametrize("command", ["stale", "claims"])
@pytest.mark.parametrize("which", ["record", "notebook"])
def test_a_value_of_another_kind_in_a_stored_file(files, which, command, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(files.root))
    path = files.record("paper") if which == "record" else files.notebook
    whole = path.read_text()
    content = json.loads(whole)
    chosen = places(content)
    chosen = chosen[:: max(1, len(chosen) // 25)]
    try:
        for place, kind in product(chosen, KINDS):
            path.write_text(json.dumps(with_other(content, place, kind)))
            answered(command)
    finally:
        path.write_text(whole)


LINES = [line for line in SOURCE.splitlines() if "  # " in line]
RANGES = [
    "0..",
    "..",
    "a..b",
    "2..1",
    "1..2",
    "plain|",
    "|",
    "one of",
    "one of losses.none.NONE",
    "1|2|x",
    "nan..1",
    "-inf..inf",
    "1e..2",
    "1e5.2..3",
]
KINDS_OF_LINES = ["int", "float", "str", "bool", "list[int]", "list[str]", "dict", "int | None", ""]


@pytest.mark.parametrize("kind", KINDS_OF_LINES)
def test_a_line_of_the_parameters_cell(tmp_path, monkeypatch, kind):
    """A text with a range of numbers was a TypeError."""
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    files = build_stand_in(tmp_path)
    for default, ends in product(["1", "0.5", '"plain"', "True", "[1]", '["a"]', "None", "f()"], RANGES):
        line = f"own: {kind} = {default}  # meaning, {ends}"
        files.source.write_text(SOURCE.replace(LINES[0], f"{LINES[0]}\n{line}", 1))
        answered("params", "stand-in")
        answered("run", "stand-in", "-p", "own=nothing", "--profile", "none")


@pytest.mark.parametrize("field", ["id", "kind", "rule", "statement", "by_chance", "control", "regime", "expected"])
def test_a_field_of_a_claim(tmp_path, monkeypatch, field):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    files = ChapterFiles(tmp_path, "stand-in")
    build_stand_in(tmp_path)
    lines = CLAIMS.splitlines()
    at = next(n for n, line in enumerate(lines) if line.lstrip("- ").startswith(f"{field}:"))
    for value in [
        "",
        "null",
        "[]",
        "{}",
        "7",
        "true",
        ".nan",
        "{at_most: x}",
        "&a [*a]",
        "!!python/object:os.system x",
        "'",
        "|",
    ]:
        start = lines[at][: lines[at].index(":") + 1]
        files.claims.write_text("\n".join([*lines[:at], f"{start} {value}", *lines[at + 1 :]]))
        for command in ("stale", "claims"):
            answered(command)
