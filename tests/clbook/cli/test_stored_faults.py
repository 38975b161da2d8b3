"""Stored files whose fault is in their values, in their kind or in what they lack: one line that names the file."""

import json
import os
import threading

import pytest
from damage import call, edit, refused, stamped, write
from stand_in import CLAIMS

from clbook.common.errors import BookError
from clbook.common.formats import loads, read_notebook, text_of
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.common.yaml_files import yaml_of
from clbook.notebook.shown import notebook_pictures
from clbook.provenance.staleness import notebook_stamp, seal_of
from clbook.provenance.stamps import check, seal

BOM = b"\xef\xbb\xbf"


@pytest.fixture
def files(book):
    return ChapterFiles(book, "stand-in")


def left_out(said, *commands):
    """Every command goes on without the file, which one line names."""
    for command in commands:
        done = call(command)
        assert done.exit_code == 0 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr


SHARES = [
    ({"hits": 7, "trials": 5}, "needs 0 <= hits <= trials, got 7 of 5"),
    ({"hits": -1, "trials": 5}, "hits must be ≥ 0, got -1"),
    ({"hits": 1.5, "trials": 5}, "hits must be a whole number, got 1.5"),
    ({"hits": 1, "trials": 0}, "trials must be ≥ 1, got 0"),
    ({"hits": 1, "trials": 10**300}, "trials must satisfy maximum"),
    ({"hits": float("inf"), "trials": 5}, "hits must be a whole number"),
]


@pytest.mark.parametrize(("share", "said"), SHARES)
@pytest.mark.parametrize("arm", ["observed", "control"])
def test_a_share_that_is_none(files, share, said, arm):
    stamp = notebook_stamp(files.notebook)
    arms = stamp["readings"]["fig-1"] | {arm: {"": share}}
    stamp = seal(stamp | {"readings": stamp["readings"] | {"fig-1": arms}})
    write(files.notebook, stamped(stamp))
    write(files.record("paper"), json.dumps({"run": stamp}))
    done = call("claims")
    assert done.exit_code == 0 and done.stderr.count("\n") == 2 and done.stderr.count(said) == 2, done.stderr
    refused(said, "compare", files.record("paper"), files.record("paper"))


def test_a_reading_without_its_control(files):
    stamp = notebook_stamp(files.notebook)
    stamp["readings"]["thm-1"].pop("control")
    with pytest.raises(BookError, match="paper.json: damaged: readings.thm-1: .*control"):
        check(seal(stamp), "paper.json")


RULES = ["{at_most: %s}", "{at_least: -%s}", "{between: [0, %s]}", "{rate: {predicted: 1, rival: %s}}", "{equals: %s}"]


@pytest.mark.parametrize("rule", RULES)
def test_a_bound_of_400_digits(files, rule):
    write(files.claims, CLAIMS.replace("{at_most: 1.0e-10}", rule % ("9" * 400), 1))
    refused("chapters/stand-in/claims.yaml, line 5: claim thm-1: rule ", "claims")
    write(files.claims, CLAIMS.replace("by_chance: true", f"clear: {'9' * 400}"))
    refused("claim fig-1: clear must be a finite number", "claims")


@pytest.mark.parametrize("scrapbook", [{}, None, [], "x", {"name": 3}, {"name": None}])
def test_a_glued_output_without_its_name(files, scrapbook):
    def glued(content):
        output = {"output_type": "display_data", "data": {"image/png": "AA=="}, "metadata": {"scrapbook": scrapbook}}
        content["cells"][-1]["outputs"].append(output)
        return content

    edit(files.notebook, glued)
    left_out("scrapbook", "claims")
    refused("stand-in.ipynb: damaged: ", "verify", "stand-in", "thm-1")


@pytest.mark.parametrize("content", ["A", "é", "not a picture"])
def test_a_glued_picture_that_is_none_is_another_picture(files, content):
    def glued(notebook):
        output = {"output_type": "display_data", "data": {"image/png": content}}
        notebook["cells"][-1]["outputs"].append(output | {"metadata": {"scrapbook": {"name": "fig"}}})
        return notebook

    edit(files.notebook, glued)
    assert [name for name, _ in notebook_pictures(read_notebook(files.notebook))] == ["fig"]


@pytest.mark.parametrize("kind", ["pipe", "link to a device"])
@pytest.mark.parametrize("which", ["record", "notebook", "claims", "profile"])
def test_what_is_no_file_is_not_read(files, kind, which):
    places = {"record": files.record("paper"), "notebook": files.notebook}
    path = {**places, "claims": files.claims, "profile": files.profile("smoke")}[which]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    answers = []
    reader = threading.Thread(target=lambda: answers.append(pytest.raises(BookError, text_of, path)), daemon=True)
    reader.start()
    reader.join(5)
    assert answers and f"{path}: must be a file, got something else" in str(answers[0].value)


def test_a_record_of_another_chapter(files):
    stamp = notebook_stamp(files.notebook)
    other = seal(stamp | {"chapter": "nonlinearity"})
    for record in ({"run": other}, {"run": stamp, "other_seeds": [other]}):
        write(files.record("paper"), json.dumps(record))
        left_out("paper.json: must hold runs of stand-in, got one of nonlinearity; restore it", "stale", "claims")
    files.record("paper").unlink()
    write(files.notebook, stamped(other))
    left_out("stand-in.ipynb: must hold runs of stand-in, got one of nonlinearity", "stale", "claims")


def test_blocks_of_seeds_that_are_dropped_exchanged_or_repeated(files):
    stamp = notebook_stamp(files.notebook)
    first, second, third, foreign = (
        seal(stamp | {"parameters": stamp["parameters"] | {"first_seed": 1000 * k}}) for k in (1, 2, 3, 4)
    )
    whole = {"run": first, "other_seeds": [second, third], "seal": seal_of([first, second, third])}
    write(files.record("paper"), json.dumps(whole))
    assert call("claims").stderr == ""
    for others in ([second], [third], [], [third, second], [second, foreign], [second, third, foreign]):
        write(files.record("paper"), json.dumps(whole | {"other_seeds": others}))
        left_out("stand-in/paper.json: damaged: its runs are not those that it was written with; restore it", "claims")
    whole.pop("seal")  # as in records that are older than it
    for others in ([second, second, second], [first], [third, second, third]):
        write(files.record("paper"), json.dumps(whole | {"other_seeds": others}))
        left_out("stand-in/paper.json: damaged: first_seed=", "claims")


TWICE = [
    ("claims", CLAIMS.replace("  kind: identity", "  kind: identity\n  kind: bound", 1), "line 9: kind occurs twice"),
    ("claims", CLAIMS.replace("{at_most: 1.0e-10}", "{at_most: 1.0, at_most: 2.0}", 1), "at_most occurs twice"),
    ("claims", CLAIMS + "claims: []\n", "claims occurs twice"),
    ("profile", "seeds: 3\nscale: 1.0\nseeds: 4\n", "line 3: seeds occurs twice"),
    ("profile", "seeds: 3\nseeds : 3\n", "line 2: seeds occurs twice"),
]


@pytest.mark.parametrize(("which", "content", "said"), TWICE)
def test_a_key_that_occurs_twice(files, which, content, said):
    path = {"claims": files.claims, "profile": files.profile("smoke")}[which]
    write(path, content)
    refused(f"{path.name}", *(["claims"] if which == "claims" else ["run", "stand-in", "--profile", "smoke"]))
    refused(said, *(["claims"] if which == "claims" else ["run", "stand-in", "--profile", "smoke"]))


def test_a_key_that_occurs_twice_in_a_record_or_under_an_anchor(files):
    with pytest.raises(ValueError, match="'b' occurs twice"):
        loads('{"a": [{"b": 1, "c": 2, "b": 1}]}')
    assert loads('[{"a": 1}, {"a": 2}]') == [{"a": 1}, {"a": 2}]
    path = files.root / "shared.yaml"
    layers = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 30))
    write(path, f"l0: &l0 {{a: 1}}\n{layers}\nb: {{<<: *l0, c: 2}}\n")
    assert yaml_of(path)[0]["b"] == {"a": 1, "c": 2}  # 9³⁰ places, which share 30 nodes


def test_a_notebook_without_its_outputs_is_stale_and_counted(files):
    counted = "3 of 3 stored readings are not current"
    where = "chapters/stand-in.ipynb, stale: thm-1, thm-1-a, fig-1\n    no run is stored"
    whole = files.notebook.read_bytes()
    edit(files.notebook, lambda notebook: notebook | {"cells": [cell | {"outputs": []} for cell in notebook["cells"]]})
    assert where in call("stale").stdout and counted in call("stale").stdout
    write(files.notebook, "{}")
    assert where in call("stale").stdout and "stand-in.ipynb: damaged" in call("stale").stderr
    files.notebook.unlink()
    assert where in call("stale").stdout and counted in call("stale").stdout
    write(files.notebook, whole)
    assert "0 of 3 stored readings" in call("stale").stdout


def test_a_mark_of_the_byte_order_is_no_content(files):
    for path in (files.notebook, files.source, files.claims, files.profile("smoke")):
        write(path, BOM + path.read_bytes())
    write(files.record("paper"), BOM + json.dumps({"run": notebook_stamp(files.notebook)}).encode())
    for command in ("claims", "stale", "doctor"):
        done = call(command)
        assert done.exit_code == 0 and done.stderr == "" and "damaged" not in done.stdout
    assert "0 of 6 stored readings" in call("stale").stdout and read_notebook(files.notebook).cells


@pytest.mark.parametrize("name", ["scratch", "my scratch", "stand-in-2", "stand-in.old"])
def test_a_stray_source_is_no_chapter(files, name):
    for content in ("print(1)\n", files.source.read_text()):
        write(files.source.with_name(f"{name}.py"), content)
        assert chapter_names(files.root) == ["stand-in"]
        for command in ("claims", "stale", "doctor"):
            done = call(command)
            assert done.exit_code == 0 and done.stderr == "", (command, done.stderr)
    refused(f"no chapter '{name}'", "run", name)


def test_a_chapter_whose_claims_are_lost_is_not_passed_over(files):
    files.claims.unlink()
    refused("chapters/stand-in/claims.yaml: cannot be read (No such file or directory)", "claims")
