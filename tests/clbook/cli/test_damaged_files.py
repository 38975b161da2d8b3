"""Commands on stored files that are damaged: one line that names the file, and no traceback.

What is committed but damaged is left out by `claims`, `doctor` and `run`, and made again by `execute --force`.
"""

import json

import pytest
from damage import CONFLICT, GRID, SHAPES, call, counted, edit, refused, stamp_in, stamped, write
from stand_in import CLAIMS, execute

from clbook import cli
from clbook.commands import committed, notebooks, runs
from clbook.common.sources import ChapterFiles
from clbook.provenance.staleness import notebook_stamp
from clbook.provenance.stamps import seal

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
    done = call("claims")
    assert done.exit_code == 0 and said in done.stderr
    counted(said, "stand-in.ipynb", 3, 3)
    if "no stored run" not in said:  # NaN in a record is not JSON
        write(record, json.dumps({"run": stamp, "other_seeds": [stamp], "blocks": 2, "seal": ""}))
        refused(said, "compare", record, record)


@pytest.mark.parametrize("content", [*SHAPES.values(), '{"run": null}', '{"run": {}}', '{"run": {}, "other_seeds": 5}'])
def test_a_record_that_is_damaged_is_counted_as_damaged(book, content):
    files = ChapterFiles(book, "stand-in")
    write(files.record("paper"), content)
    counted("paper.json: ", "records/stand-in/paper.json", 3, 6)
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


def test_a_damaged_record_stops_execute_before_any_work(book, monkeypatch):
    """The notebook shows the record's verdicts, and one without them must not be committed."""
    files = ChapterFiles(book, "stand-in")
    whole = files.notebook.read_bytes()
    write(files.record("paper"), CONFLICT)
    monkeypatch.setattr(committed, "_run", lambda *given: pytest.fail("nothing is run"))
    refused("paper.json: damaged: conflict markers of a merge; restore it", "execute", "stand-in", "--force")
    assert files.notebook.read_bytes() == whole


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 9999, "NaN", "1e999", b"\xff\xfe", "{}", "null", "x"])
def test_a_profile_that_is_damaged(book, value):
    path = ChapterFiles(book, "stand-in").profile("smoke")
    write(path, b"seeds: " + (value if isinstance(value, bytes) else value.encode()))
    refused("smoke.yaml", "sweep", *GRID, "--profile", "smoke", "--plan")
    refused("smoke.yaml", "run", "stand-in", "--profile", "smoke", "--out", book / "out")
    assert "smoke.yaml" in "".join(call("doctor").stdout.split()) and call("claims").exit_code == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: b"\xff\xfe", "stand-in.py: damaged: not text in UTF-8"),
        (
            lambda t: t.replace(b"extension: .py", b"extension: .py: b"),
            "stand-in.py: not in the percent format: ",
        ),
        (
            lambda t: t.replace(b'["parameters"]', b"[3]"),
            "tags must be a list of texts in double quotes, got [3]",
        ),
        (lambda t: t.replace(b'["parameters"]', b"[parameters]"), "in double quotes, got [parameters]"),
        (lambda t: t.replace(b"seeds: int = 4", b"seeds: int"), "not of the form 'name: type = default"),
    ],
)
def test_a_source_that_is_damaged(book, change, said):
    path = ChapterFiles(book, "stand-in").source
    write(path, change(path.read_bytes()))
    refused(said, "run", "stand-in", "--out", book / "out")


def test_a_source_without_its_last_cell(book):
    path = ChapterFiles(book, "stand-in").source
    write(path, path.read_text().replace("chapter.close()", ""))
    refused("stand-in.py: no cell calls chapter.close(), which stores the run; nothing was run", "execute", "stand-in")


def test_a_cell_that_judges_a_claim_without_a_row(book):
    files = ChapterFiles(book, "stand-in")
    write(files.claims, CLAIMS.replace("id: thm-1\n", "id: thm-9\n"))
    refused("chapters/stand-in/claims.yaml: no row for thm-1, which a cell judges", "execute", "stand-in")


def test_a_notebook_that_nbformat_refuses(book):
    path = ChapterFiles(book, "stand-in").notebook
    for change in ({"nbformat": "a"}, {"nbformat": 0}, {"metadata": []}):
        edit(path, lambda found, change=change: found | change)
        refused("stand-in.ipynb: damaged: ", "verify", "stand-in", "thm-1")


def test_half_of_a_character_and_numbers_without_bounds(book):
    path = book / "mine" / "points.json"
    write(path, path.read_text().replace("plain", r"\udc80"))
    refused("points.json: damaged: ", "show", book / "mine")
    path = ChapterFiles(book, "stand-in").notebook
    stamp = notebook_stamp(path)
    readings = stamp["readings"] | {"fig-1": stamp["readings"]["fig-1"] | {"observed": {"": [1.0, float("inf"), 2.0]}}}
    write(path, stamped(seal(stamp | {"readings": readings})))
    for command, status in ((["claims"], 0), (["claims", "--json"], 0), (["stale"], 1)):  # its cells are gone
        assert call(*command).exit_code == status
    write(path, stamped(seal(stamp | {"seconds": float("inf")})))
    assert "seconds must satisfy maximum" in call("claims").stderr


YAML = [
    ("", "chapters/stand-in/claims.yaml: it must be an object, got null"),
    ("- a\n", "chapters/stand-in/claims.yaml: it must be an object, got a list"),
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
    (b"\xff\xfe\x80", "damaged: not text in UTF-8"),
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
