"""What a chapter object rejects, and claims that a run does not reach."""

import pytest
from stand_in import SOURCE, execute, write_stand_in

from clbook.common.errors import BookError
from clbook.notebook.chapter import open_chapter
from clbook.notebook.results import load_results, run_results
from clbook.provenance.staleness import notebook_stamp


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return tmp_path


def test_what_a_kernel_refuses_is_one_line_that_names_the_chapter(root):
    write_stand_in(root)

    def refuse(size):
        raise ValueError(f"size: must be ≥ 1, got {size}")

    chapter = open_chapter("stand-in", {})
    assert chapter.check(int, "7") == 7
    with pytest.raises(BookError, match="^stand-in: size: must be ≥ 1, got 0$"):
        chapter.check(refuse, size=0)


def test_a_claim_whose_regime_the_run_does_not_reach_is_not_judged(root):
    short = SOURCE.replace("control=scale)", "control=scale, regime=scale > 1)")
    files = write_stand_in(root, short)
    notebook = execute(files)
    shown = [o["data"]["text/plain"] for cell in notebook.cells for o in cell.get("outputs", [])]
    outside = "the parameters of this run are outside the claim's regime: one number"
    assert shown[0] == f"thm-1: not judged here\n<<{outside}>>"

    import nbformat

    nbformat.write(notebook, files.notebook)
    assert set(notebook_stamp(files.notebook)["readings"]) == {"thm-1-a", "fig-1"}
    (thm, *_) = run_results(files, notebook_stamp(files.notebook))
    assert (thm.claim.id, thm.verdict, thm.reason) == ("thm-1", "not judged here", outside)
    assert thm.to_json()["observed"] is None and len(load_results(root)) == 4
