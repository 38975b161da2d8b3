"""Files that are damaged in many ways, and commands that meet them."""

import json

from typer.testing import CliRunner

from clbook import cli
from clbook.provenance.stamps import MIME

GRID = ["stand-in", "--grid", "scale=0.5,1,2", "--seeds", "2"]
CONFLICT = "<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n"
SHAPES = {
    "empty": "",
    "null": "null",
    "list": "[]",
    "object": "{}",
    "NaN": "NaN",
    "deep": "[" * 100_000 + "]" * 100_000,
    "not text": b"\xff\xfe\x00",
    "conflict": CONFLICT,
}


def call(*arguments):
    done = CliRunner().invoke(cli.app, [str(a) for a in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done


def refused(said, *arguments):
    done = call(*arguments)
    assert done.exit_code == 2 and done.stderr.count("\n") == 1 and said in done.stderr, done.stderr


def counted(said, where, damaged, stored):
    """`stale` counts so many readings of a place as damaged, says why, and its status is one that CI can use."""
    done = call("stale")
    assert done.exit_code == 1 and done.stderr == "" and f"{where}, damaged: " in done.stdout, done.output
    assert said in done.stdout and f"{damaged} of {stored} stored readings are not current" in done.stdout, done.stdout


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def edit(path, change):
    content = json.loads(path.read_text())
    path.write_text(json.dumps(change(content)))


def first(book):
    return sorted((book / "mine" / "runs").iterdir())[0]


def stamped(stamp):
    """A notebook that holds a stamp alone."""
    return json.dumps({"cells": [{"outputs": [{"data": {MIME: json.dumps(stamp)}}]}]})


def stamp_in(content):
    outputs = [output for cell in json.loads(content)["cells"] for output in cell.get("outputs", [])]
    text = next(output["data"][MIME] for output in outputs if MIME in output["data"])
    return json.loads(text) if isinstance(text, str) else text
