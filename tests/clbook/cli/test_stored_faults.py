"""Stored files whose fault is in their values, in their kind or in what they lack: one line that names the file."""

import json
import os
import threading

import pytest
from damage import call, counted, edit, refused, stamped, write
from stand_in import CLAIMS

from clbook.common.errors import BookError
from clbook.common.formats import loads, read_notebook, text_of
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.common.yaml_files import yaml_of
from clbook.notebook.shown import notebook_pictures
from clbook.provenance.records import seal_of, sealed_record
from clbook.provenance.staleness import notebook_stamp
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
    write(files.record("paper"), json.dumps(sealed_record([stamp], 1)))
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
    for runs in ([other], [stamp, other]):
        write(files.record("paper"), json.dumps(sealed_record(runs, 1)))
        said = "paper.json: must hold runs of stand-in, got one of nonlinearity; restore it"
        left_out(said, "claims")
        counted(said, "records/stand-in/paper.json", 3, 6)
    files.record("paper").unlink()
    write(files.notebook, stamped(other))
    left_out("stand-in.ipynb: must hold runs of stand-in, got one of nonlinearity", "claims")
    counted("stand-in.ipynb: must hold runs of stand-in", "chapters/stand-in.ipynb", 3, 3)


def test_blocks_of_seeds_that_are_dropped_exchanged_or_repeated(files):
    stamp = notebook_stamp(files.notebook)
    first, second, third, foreign = (
        seal(stamp | {"parameters": stamp["parameters"] | {"first_seed": 1000 * k}}) for k in (1, 2, 3, 4)
    )
    whole = {"run": first, "other_seeds": [second, third], "blocks": 3, "seal": seal_of([first, second, third], 3)}
    write(files.record("paper"), json.dumps(whole))
    assert call("claims").stderr == ""
    for others in ([second], [third], [], [third, second], [second, foreign], [second, third, foreign]):
        write(files.record("paper"), json.dumps(whole | {"other_seeds": others}))
        left_out("stand-in/paper.json: damaged: its runs are not those that it was written with; restore it", "claims")
    for others in ([second, second, second], [first], [third, second, third]):
        write(files.record("paper"), json.dumps(whole | {"other_seeds": others}))
        left_out("stand-in/paper.json: damaged: first_seed=", "claims")
    whole.pop("seal")  # a forger may take away what he cannot make
    write(files.record("paper"), json.dumps(whole | {"other_seeds": [second]}))
    left_out("paper.json: damaged: missing seal; restore it", "claims")
    counted("missing seal", "records/stand-in/paper.json", 3, 6)


def test_blocks_of_seeds_that_a_record_was_asked_for_and_lacks_are_counted(files):
    stamp = notebook_stamp(files.notebook)
    blocks = [seal(stamp | {"parameters": stamp["parameters"] | {"first_seed": 1000 * k}}) for k in (1, 2, 3)]
    for held in (1, 2, 3):
        write(files.record("paper"), json.dumps(sealed_record(blocks[:held], 3)))
        done, lacking = call("stale"), 3 - held
        assert done.stdout.count("paper.json, a block of seeds, stale: fig-1") == lacking, done.stdout
        assert f"missing block {lacking} of {lacking}" in done.stdout or not lacking
    whole = sealed_record(blocks[:1], 3)
    write(files.record("paper"), json.dumps(whole | {"blocks": 1}))
    counted("its runs are not those that it was written with", "records/stand-in/paper.json", 3, 6)


def test_a_claim_that_is_dropped_from_a_block_of_seeds_is_counted(files):
    stamp = notebook_stamp(files.notebook)
    other = seal(stamp | {"parameters": stamp["parameters"] | {"first_seed": 2000}})
    lacking = {key: {c: row for c, row in other[key].items() if c != "fig-1"} for key in ("readings", "claims")}
    write(files.record("paper"), json.dumps(sealed_record([stamp, seal(other | lacking)], 2)))
    done = call("stale")
    assert done.exit_code == 1 and "paper.json, first_seed=2000, stale: " in done.stdout, done.stdout
    assert "fig-1\n    no reading is stored" in done.stdout, done.stdout


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
    lost = "3 of 3 stored readings are not current"
    where = "chapters/stand-in.ipynb, stale: thm-1, thm-1-a, fig-1\n    no run is stored"
    whole = files.notebook.read_bytes()
    edit(files.notebook, lambda notebook: notebook | {"cells": [cell | {"outputs": []} for cell in notebook["cells"]]})
    assert where in call("stale").stdout and lost in call("stale").stdout
    assert call("stale").exit_code == 1
    write(files.notebook, "{}")
    counted("stand-in.ipynb: damaged", "chapters/stand-in.ipynb", 3, 3)
    files.notebook.unlink()
    assert where in call("stale").stdout and lost in call("stale").stdout
    write(files.notebook, whole)
    assert "0 of 3 stored readings" in call("stale").stdout and call("stale").exit_code == 0


def test_a_mark_of_the_byte_order_is_no_content(files):
    files.profile("paper").write_text("seeds: 4\n")
    for path in (files.notebook, files.source, files.claims, files.profile("smoke"), files.profile("paper")):
        write(path, BOM + path.read_bytes())
    write(files.record("paper"), BOM + json.dumps(sealed_record([notebook_stamp(files.notebook)], 1)).encode())
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
    counted("claims.yaml: cannot be read", "chapters/stand-in", 1, 1)


def test_a_reading_without_a_row_of_its_claim(files):
    stamp = notebook_stamp(files.notebook)
    rows = {claim: row for claim, row in stamp["claims"].items() if claim != "fig-1"}
    write(files.notebook, stamped(seal(stamp | {"claims": rows})))
    left_out("stand-in.ipynb: damaged: readings.fig-1 has no row in claims; run it again", "claims")
    counted("readings.fig-1 has no row", "chapters/stand-in.ipynb", 3, 3)
    refused("readings.fig-1 has no row", "compare", files.notebook, files.notebook)
