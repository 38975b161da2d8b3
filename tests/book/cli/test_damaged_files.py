"""Commands on stored files that are damaged: one line that names the file, and no traceback.

What is committed but damaged is left out by `claims`, `doctor` and `run`, and made again by `execute --force`.
"""

import json
import shutil

import pytest
from stand_in import CLAIMS, build_stand_in, execute
from stand_in_pool import Pool, run
from typer.testing import CliRunner

from contrastive_dynamics.book import cli
from contrastive_dynamics.book.ground.sources import ChapterFiles
from contrastive_dynamics.book.provenance.staleness import notebook_stamp
from contrastive_dynamics.book.provenance.stamps import MIME, seal
from contrastive_dynamics.book.running import committed, notebooks, runs
from contrastive_dynamics.book.sweep.grid import plan_grid

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


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A book with a finished sweep in `mine`."""
    root = tmp_path_factory.mktemp("book")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLBOOK_ROOT", str(root))
        build_stand_in(root)
        run(plan_grid(GRID[0], GRID[2:3], seeds=2), root / "mine", Pool())
    return root


@pytest.fixture
def book(built, tmp_path, monkeypatch):
    shutil.copytree(built, tmp_path / "book")
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path / "book"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "book"


def call(*arguments):
    done = CliRunner().invoke(cli.app, [str(a) for a in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done


def refused(said, *arguments):
    done = call(*arguments)
    assert done.exit_code == 2 and done.stderr.count("\n") == 1 and said in done.stderr, done.stderr


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def edit(path, change):
    content = json.loads(path.read_text())
    path.write_text(json.dumps(change(content)))


def first(book):
    return sorted((book / "mine" / "runs").iterdir())[0]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["sweep.json", "points.json"])
def test_a_sweep_whose_own_files_are_damaged(book, name, shape):
    write(book / "mine" / name, SHAPES[shape])
    for command in (["show", book / "mine"], ["show", book / "mine", "--page", "x"]):
        refused(f"mine/{name}: damaged: ", *command)
    refused(f"mine/{name}: damaged: ", "sweep", *GRID, "--out", book / "mine")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"chapter": None}, "chapter must be a text, got null"),
        ({"axes": None}, "axes must be a list, got null"),
        ({"axes": [["scale"]]}, "axes[0] must have ≥ 2 entries"),
        ({"axes": [["scale", None]]}, "axes[0][1] must be a list, got null"),
        ({"axes": [["scale", [float("nan")]]]}, "NaN is not a value"),
        ({"axes": [["size", [1, 2]]]}, "points.json: damaged: "),
        ({"blocks": "2"}, "blocks must be a whole number, got '2'"),
        ({"blocks": 0}, "blocks must be ≥ 1, got 0"),
        ({"profile": None}, "profile must be a text, got null"),
        ({"version": True}, "version must be a whole number, got true"),
        ({"version": 7}, "a sweep of layout 7, this version reads 1; run it again"),
    ],
)
def test_a_definition_of_another_shape(book, change, said):
    edit(book / "mine" / "sweep.json", lambda found: found | change)
    refused(said, "show", book / "mine")


@pytest.mark.parametrize(
    ("point", "said"),
    [
        (None, " must be an object, got null"),
        ({"run": "0" * 12, "block": 0}, "missing parameters"),
        ({"parameters": {}, "run": "../../elsewhere", "block": 0}, ".run must satisfy pattern"),
        ({"parameters": {}, "run": 3, "block": 0}, ".run must be a text, got 3"),
        ({"parameters": {"scale": {}}, "run": "0" * 12, "block": 0}, "got an object"),
        ({"parameters": {}, "run": "0" * 12, "block": -1}, ".block must be ≥ 0, got -1"),
        ({"parameters": {}, "run": "0" * 12, "block": 0}, "has no scale, first_seed, seeds"),
    ],
)
def test_a_point_of_another_shape(book, point, said):
    edit(book / "mine" / "points.json", lambda found: found | {next(iter(found)): point})
    refused(said, "show", book / "mine")


def test_a_sweep_without_points(book):
    refused("no such point", "show", book / "mine", "--page", "x")
    write(book / "mine" / "points.json", "{}")
    refused("it must have ≥ 1 entries", "show", book / "mine", "--page", "x")


def stamped(stamp):
    """A notebook that holds a stamp alone."""
    return json.dumps({"cells": [{"outputs": [{"data": {MIME: json.dumps(stamp)}}]}]})


CELLS = ["null", "[null]", '[{"outputs": null}]', '[{"outputs": [null]}]', '[{"outputs": [{"data": null}]}]']


@pytest.mark.parametrize("content", [*SHAPES.values(), *(f'{{"cells": {cells}}}' for cells in CELLS)])
def test_a_run_whose_notebook_is_damaged(book, content):
    path = first(book) / "stand-in.ipynb"
    write(path, content)
    refused("stand-in.ipynb: damaged: ", "show", book / "mine")
    for given in (path, path.parent):
        refused("compare takes a run's folder, an executed notebook or a record", "compare", given, path)


STAMPS = [
    ({"readings": None}, "readings must be an object, got null"),
    ({"readings": {"thm-1": []}}, "must be an object, got a list"),
    ({"readings": {"thm-1": {"control": {"": 1}}}}, "missing observed"),
    ({"readings": {"thm-1": {"observed": {}}}}, "must have ≥ 1 entries"),
    ({"readings": {"thm-1": {"observed": {"": "x"}}}}, "got 'x'"),
    ({"readings": {"thm-1": {"observed": {"": []}}}}, "must have ≥ 1 entries"),
    ({"readings": {"thm-1": {"observed": {"": float("nan")}}}}, "holds no stored run"),
    ({"parameters": None}, "parameters must be an object, got null"),
    ({"parameters": {"seeds": 0}}, "parameters.seeds must be ≥ 1, got 0"),
    ({"seconds": None}, "seconds must be a number, got null"),
    ({"claims": {"thm-1": {"run": 9, "reading": "a", "reaches": "", "rule": None}}}, "a run that it lacks"),
    ({"claims": {"thm-1": {"run": 0, "reading": "a", "reaches": "99999", "rule": None}}}, "that it lacks"),
]


@pytest.mark.parametrize(("change", "said"), STAMPS)
def test_a_stamp_of_another_shape(book, change, said):
    path, record = book / "chapters" / "stand-in.ipynb", ChapterFiles(book, "stand-in").record("paper")
    stamp = seal(notebook_stamp(path) | change)
    write(path, stamped(stamp))
    refused(said, "compare", path, path)
    refused(said, "stale")
    done = call("claims")
    assert done.exit_code == 0 and said in done.stderr
    if "no stored run" not in said:  # NaN in a record is not JSON
        write(record, json.dumps({"run": stamp, "other_seeds": [stamp]}))
        refused(said, "compare", record, record)


@pytest.mark.parametrize("content", [*SHAPES.values(), '{"run": null}', '{"run": {}}', '{"run": {}, "other_seeds": 5}'])
def test_a_record_that_is_damaged_is_left_out(book, content):
    files = ChapterFiles(book, "stand-in")
    write(files.record("paper"), content)
    refused("paper.json: ", "stale")
    refused("paper.json: ", "compare", files.record("paper"), files.notebook)
    for command in ("claims", "doctor"):
        done = call(command)
        assert done.exit_code == 0 and "paper.json: " in done.output and "thm-1" in call("claims").stdout


@pytest.mark.parametrize("content", [*SHAPES.values(), '{"cells": [null]}'])
def test_a_committed_notebook_that_is_damaged_stops_no_command_that_can_go_on(book, content, monkeypatch):
    files = ChapterFiles(book, "stand-in")
    whole = files.notebook.read_bytes()
    write(files.notebook, content)
    done = call("claims")
    assert done.exit_code == 0 and "stand-in.ipynb: damaged" in done.stderr and "– not run" in done.stdout
    done = call("doctor")
    assert done.exit_code == 0 and "stand-in.ipynb: damaged" in " ".join(done.stdout.split())
    monkeypatch.setattr(runs, "run", lambda plan: [])
    monkeypatch.setattr(cli.runs, "_write_page", lambda files, folder: None)
    done = call("run", "stand-in", "--only", "thm-1", "--out", book / "out")
    assert done.exit_code == 0 and "no stored run says how long they take" in done.stdout
    assert committed.weights(files, []) == []
    monkeypatch.setattr(committed, "_run", lambda *given: notebooks.normalise(execute(files)))
    assert call("execute", "stand-in", "--force").stdout == "stand-in: executed\n"
    assert notebook_stamp(files.notebook)["readings"] == stamp_in(whole)["readings"] and committed.is_current(files)


def stamp_in(content):
    outputs = [output for cell in json.loads(content)["cells"] for output in cell.get("outputs", [])]
    text = next(output["data"][MIME] for output in outputs if MIME in output["data"])
    return json.loads(text) if isinstance(text, str) else text


def test_a_damaged_record_stops_execute_before_any_work(book, monkeypatch):
    """The notebook shows the record's verdicts, and one without them must not be committed."""
    files = ChapterFiles(book, "stand-in")
    whole = files.notebook.read_bytes()
    write(files.record("paper"), CONFLICT)
    monkeypatch.setattr(committed, "_run", lambda *given: pytest.fail("nothing is run"))
    refused("paper.json: damaged: conflict markers of a merge; restore it", "execute", "stand-in", "--force")
    assert files.notebook.read_bytes() == whole


YAML = [
    ("", "stand-in.yaml: it must be an object, got null"),
    ("- a\n", "stand-in.yaml: it must be an object, got a list"),
    ("claims:", "claims must be a list, got null"),
    ("claims: {a: 1}", "claims must be a list, got an object"),
    ("claims: text", "claims must be a list, got 'text'"),
    (CLAIMS + "- a row\n", "line 45: must be one claim with its fields, got 'a row'"),
    (CLAIMS.replace("id: thm-1\n", "id: [7]\n"), "id must be a text, got a list"),
    (CLAIMS.replace("id: thm-1\n", "id: 7\n"), "id must be a text, got 7"),
    (CLAIMS.replace("statement: Twice is two times.", "statement:"), "statement must be a text, got null"),
    (CLAIMS.replace("kind: identity", "3: a\n  kind: identity"), "unknown 3; allowed are advocate"),
    (CLAIMS.replace("by_chance: true", "by_chance: 1"), "by_chance must be true or false, got 1"),
    (CLAIMS.replace("by_chance: true", "changed: 1"), "changed must be a list, got 1"),
    (CLAIMS.replace("at_most: 1.0e-10", "at_most: .nan"), "rule at_most takes finite numbers for bound, got nan"),
    (CLAIMS.replace("at_most: 1.0e-10", "at_most: .inf"), "rule at_most takes finite numbers for bound, got inf"),
    (CLAIMS.replace("at_most: 1.0e-10", "at_most: true"), "rule at_most takes finite numbers for bound, got True"),
    (CLAIMS.replace("statement: Twice is two times.", "statement: 2020-13-45"), "month must be in 1..12"),
    ("claims: " + "[" * 5000, "nested too deeply"),
    (b"\xff\xfe\x80", "not readable as YAML"),
]


@pytest.mark.parametrize(("content", "said"), YAML)
def test_a_claims_file_of_another_shape(book, content, said):
    write(ChapterFiles(book, "stand-in").claims, content)
    refused(said, "claims")
    refused(said, "show", book / "mine")
    assert call("doctor").exit_code == 0


def test_a_claim_whose_row_is_gone_stops_nothing(book):
    write(ChapterFiles(book, "stand-in").claims, CLAIMS.replace("id: thm-1\n", "id: thm-9\n"))
    done = call("claims")
    assert done.exit_code == 0 and "nobody-2020/thm-9" in done.stdout
    assert "its row in the claims file is gone" in call("stale").stdout


@pytest.mark.parametrize("name", ["run.json", "claims.json", "stand-in.ipynb"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_page_of_a_run_whose_files_are_damaged(book, name, shape):
    write(first(book) / "run.json", (first(book) / "run.json").read_text())
    made = {key: value for key, value in stamp_in((first(book) / "stand-in.ipynb").read_bytes()).items()}
    write(first(book) / "run.json", json.dumps(made))
    write(first(book) / "claims.json", "[]")
    write(first(book) / name, SHAPES[shape] if (name, shape) != ("claims.json", "list") else "[3]")
    refused("must be the folder of a finished run, with ", "show", book / "mine", "--page", first(book).name)


@pytest.mark.parametrize("content", [c for c in SHAPES.values() if c] + ['{"address": null}', '{"address": 3}'])
def test_a_scheduler_file_that_is_damaged(book, content):
    write(book / "scheduler.json", content)
    refused("scheduler.json: damaged: ", "sweep", *GRID, "--out", book / "x", "--scheduler", book / "scheduler.json")
