"""The committed chapters pass every guard, and every guard finds its fault in a doctored one."""

import json

import nbformat
import pytest
from checkout import ROOT
from committed import Committed
from guards import GUARDS
from stand_in import CLAIMS, SOURCE, build_stand_in

from clbook.common.sources import ChapterFiles, chapter_names
from clbook.provenance.stamps import MIME, seal

CHAPTERS = chapter_names(ROOT)
NOTEBOOKS = [one for name in CHAPTERS for one in ChapterFiles(ROOT, name).notebooks if one.notebook.is_file()]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_all_its_files(name):
    files = ChapterFiles(ROOT, name)
    paths = (*(one.notebook for one in files.notebooks), files.claims, files.profile("smoke"))
    assert [str(path.relative_to(ROOT)) for path in paths if not path.is_file()] == []


@pytest.mark.parametrize("files", NOTEBOOKS, ids=lambda files: files.stem)
def test_a_committed_notebook_passes_every_guard(files):
    committed = Committed(files)
    assert [f"{guard.__name__}: {problem}" for guard in GUARDS for problem in guard(committed)] == []


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    root = tmp_path_factory.mktemp("book")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLBOOK_ROOT", str(root))
        patch.delenv("CLBOOK_PROFILE", raising=False)
        yield build_stand_in(root)


def test_the_stand_in_passes_every_guard(stand_in):
    assert {guard.__name__: guard(Committed(stand_in)) for guard in GUARDS} == {g.__name__: [] for g in GUARDS}
    assert Committed(stand_in).printed() == [
        ("thm-1", "reproduced"),
        ("thm-1-a", "contradicted"),
        ("fig-1", "reproduced"),
    ]


def _code(notebook, start):
    return next(c for c in notebook.cells if c.source.startswith(start))


def _judged(notebook, claim):
    return next(c for c in notebook.cells if f'chapter.judge("{claim}"' in c.source)


def _change_stamp(change):
    """Change the stored result by hand; a forger seals it again."""

    def doctor(notebook, files):
        data = notebook.cells[-1].outputs[0].data
        stamp = json.loads(data[MIME])
        change(stamp)
        data[MIME] = json.dumps(seal(stamp))

    return doctor


def _damage(notebook, files):
    data = notebook.cells[-1].outputs[0].data
    data[MIME] = data[MIME].replace('"stand-in"', '"stand-on"')


def _reading(claim, **arms):
    return _change_stamp(lambda stamp: stamp["readings"][claim].update(arms))


def _yaml(old, new):
    def doctor(notebook, files):
        text = files.claims.read_text()
        assert old in text
        files.claims.write_text(text.replace(old, new, 1))

    return doctor


def _edit_source(notebook, files):
    files.source.write_text(files.source.read_text().replace("-scale", "-2 * scale"))


def _edit_tags(notebook, files):
    _judged(notebook, "thm-1").metadata["tags"] = []


def _drop_cell(notebook, files):
    del notebook.cells[3]


def _rerun_out_of_order(notebook, files):
    _code(notebook, "double").execution_count = 7


def _never_run(notebook, files):
    _code(notebook, "double").execution_count = None


def _stderr(notebook, files):
    _code(notebook, "double").outputs = [nbformat.v4.new_output("stream", name="stderr", text="careful\n")]


def _traceback(notebook, files):
    _code(notebook, "double").outputs = [nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])]


def _bare_value(notebook, files):
    _code(notebook, "double").outputs = [nbformat.v4.new_output("execute_result", data={"text/plain": "1.0"})]


def _strip(notebook, files):
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []


def _no_verdict_cell(notebook, files):
    _judged(notebook, "fig-1").outputs[0].data["text/plain"] = "something else"


def _print_another_word(notebook, files):
    _judged(notebook, "thm-1").outputs[0].data["text/plain"] = "thm-1: not reproduced"


def _print_twice(notebook, files):
    _judged(notebook, "thm-1").outputs *= 2


FAULTS = [
    ("pair", _edit_source, "cell 7: source differs"),
    ("pair", _edit_tags, "cell 6: tags differs"),
    ("pair", _drop_cell, "10 cells in the .py, 9 in the .ipynb"),
    ("execution_counts", _rerun_out_of_order, "execution count 7, not 3"),
    ("execution_counts", _never_run, "execution count None, not 3"),
    ("errors", _stderr, "): stored stderr"),
    ("errors", _traceback, "stored error"),
    ("errors", _bare_value, "stored a bare value"),
    ("sealed", _damage, "does not fit its seal"),
    ("stale", _edit_source, "thm-1-a: stale (the cell of falling); run `make execute`"),
    ("stale", _yaml("at_most: 1.0e-10", "at_most: 1.0e-9"), "thm-1: rule changed (its rule)"),
    ("stale", _change_stamp(lambda s: s["claims"]["thm-1"].update(reading="0" * 64)), "thm-1: stale"),
    (
        "shown",
        _reading("thm-1", observed=1e-12),
        "code cell 4 shows another line than the stored run gives: thm-1",
    ),
    ("shown", _print_another_word, "code cell 4 shows another line than the stored run gives: thm-1: reproduced"),
    ("shown", _no_verdict_cell, "code cell 7 shows another line than the stored run gives: fig-1"),
    ("shown", _print_twice, "code cell 4 shows another line than the stored run gives: thm-1"),
    ("default_parameters", _change_stamp(lambda s: s["parameters"].update(scale=2.0)), "stored 2.0, default 1.0"),
    ("default_parameters", _change_stamp(lambda s: s.update(profile="smoke")), "stored 'smoke'"),
    ("readings", _strip, "thm-1: has a rule, but no stored values"),
    ("readings", _change_stamp(lambda s: s["readings"].pop("thm-1")), "thm-1: has a rule, but no stored values"),
    ("readings", _change_stamp(lambda s: s["readings"].update({"thm-9": {}})), "thm-9: stored, but no claim"),
    ("readings", _yaml("needs: a GPU for a day", "needs: ''"), "lem-1: not run, but does not say what it takes"),
    ("labels", _yaml("lemma: 1", "lemma: 2"), "lemma 2: no claim lem-2"),
    ("labels", _yaml("lemma: 1", "remark: 2"), "labels: 'remark' is unknown"),
    ("labels", _yaml("lemma: 1", 'lemma: ["1", "b2"]'), "lemma b2: no claim lem-b2"),
    ("labels", _yaml("theorem: 1", 'theorem: ["1.a"]'), "theorem 1.a: no claim thm-1.a"),
    ("labels", _yaml("theorem: 1", "theorem: [4.10]"), "labels: theorem: got [4.1], allowed are a count or a list"),
    ("labels", _yaml("theorem: 1", "theorem: []"), "labels: theorem: got [], allowed are a count or a list"),
    ("labels", _yaml("labels: {theorem: 1, lemma: 1, figure: 1}", "labels: {}"), "labels: none are counted"),
    ("labels", _yaml("paper: nobody-2020\n", ""), "thm-1: no paper, but not marked as beyond"),
    ("controls", _reading("thm-1", control=0.0), "thm-1: control does not miss the rule ≤ 1e-10"),
    ("controls", _reading("thm-1", control={"a": 1.0, "b": 0.0}), "thm-1: control b does not miss"),
    ("controls", _change_stamp(lambda s: s["readings"]["thm-1"].update(control={})), "thm-1: no control"),
    ("negatives", _reading("thm-1", observed=0.5), "thm-1: not reproduced, but neither a planted"),
    ("negatives", _reading("thm-1-a", mended=0.5), "thm-1-a: not reproduced, but neither a planted"),
]


@pytest.mark.parametrize(("guard", "doctor", "said"), FAULTS, ids=[f"{g}-{n}" for n, (g, _, _) in enumerate(FAULTS)])
def test_a_guard_catches_its_fault(stand_in, tmp_path, guard, doctor, said):
    files = ChapterFiles(tmp_path, stand_in.name)
    files.claims.parent.mkdir(parents=True)
    for path in (stand_in.source, stand_in.claims):
        (tmp_path / path.relative_to(stand_in.root)).write_text(path.read_text())
    notebook = nbformat.read(stand_in.notebook, as_version=4)
    doctor(notebook, files)
    files.notebook.write_text(json.dumps(notebook))
    problems = {g.__name__: g for g in GUARDS}[guard](Committed(files))
    assert any(said in problem for problem in problems), problems


@pytest.mark.parametrize(
    ("printed", "claim", "found"),
    [
        ("4.3a", "lem-4.3a", []),
        ("4.3a", "lem-4.3a-1", []),
        ("4.4", "lem-4.4-b", []),
        ("4.4", "lem-4.4b", []),
        ("b12", "lem-b12-a", []),
        ("b1", "lem-b12", ["lemma b1: no claim lem-b1"]),
        ("4.4", "lem-424", ["lemma 4.4: no claim lem-4.4"]),
        ("4.4", "lem-4.4-10", ["lemma 4.4: no claim lem-4.4"]),
        ("4.4", "thm-4.4", ["lemma 4.4: no claim lem-4.4"]),
    ],
)
def test_labels_of_any_form_can_be_listed(stand_in, tmp_path, printed, claim, found):
    files = ChapterFiles(tmp_path, stand_in.name)
    files.claims.parent.mkdir(parents=True)
    text = stand_in.claims.read_text().replace("lemma: 1", f'lemma: ["{printed}"]').replace("id: lem-1", f"id: {claim}")
    files.claims.write_text(text)
    assert {g.__name__: g for g in GUARDS}["labels"](Committed(files)) == found


def test_a_printed_verdict_is_found_where_the_claim_has_a_label_with_a_dot(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    monkeypatch.delenv("CLBOOK_PROFILE", raising=False)
    source, claims = (text.replace("fig-1", "fig-4.3a-1") for text in (SOURCE, CLAIMS))
    files = build_stand_in(tmp_path, source=source, claims=claims.replace("figure: 1", 'figure: ["4.3a"]'))
    assert Committed(files).printed()[-1] == ("fig-4.3a-1", "reproduced")
    assert {guard.__name__: guard(Committed(files)) for guard in GUARDS} == {g.__name__: [] for g in GUARDS}


def test_every_guard_is_shown_to_catch_something():
    assert {name for name, _, _ in FAULTS} == {g.__name__ for g in GUARDS}


def test_a_planted_case_excuses_a_negative_verdict(stand_in, tmp_path):
    files = build_stand_in(tmp_path)
    notebook = nbformat.read(files.notebook, as_version=4)
    _reading("thm-1", observed=0.5, planted=1e-12)(notebook, files)
    nbformat.write(notebook, files.notebook)
    assert {g.__name__: g for g in GUARDS}["negatives"](Committed(files)) == []
