"""Where the book is, and a chapter's cells as jupytext reads them."""

import jupytext
import pytest
from stand_in import SOURCE, write_stand_in

from clbook.common.errors import BookError
from clbook.common.sources import Cell, ChapterFiles, chapter_names, find_root, parse_cells


def test_cells_are_those_that_jupytext_reads():
    read = jupytext.reads(SOURCE, fmt="py:percent").cells
    ours = [c for c in parse_cells(SOURCE) if not c.markdown]
    theirs = [(c.source, tuple(c.metadata.get("tags", []))) for c in read if c.cell_type == "code"]
    assert [(c.source, c.tags) for c in ours] == theirs and len(ours) == 8
    assert len(parse_cells(SOURCE)) == len(read)


def test_the_header_is_no_cell_and_markdown_and_tags_are_seen():
    text = '# ---\n# jupyter: {}\n# ---\n\n# %% [markdown]\n# Text\n\n# %% tags=["a", "b"]\nx = 1\n\n\ny = 2\n\n# %%\n'
    assert parse_cells(text) == [
        Cell("# Text", True, ()),
        Cell("x = 1\n\n\ny = 2", False, ("a", "b")),
        Cell("", False, ()),
    ]
    assert parse_cells("") == []


def test_the_root_is_found_from_below_and_by_its_variable(tmp_path, monkeypatch):
    write_stand_in(tmp_path)
    monkeypatch.delenv("CLBOOK_ROOT", raising=False)
    assert find_root(tmp_path / "chapters") == tmp_path.resolve()
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    assert find_root() == tmp_path.resolve() and ChapterFiles.find("stand-in").root == tmp_path.resolve()


def test_a_variable_that_names_no_book_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    with pytest.raises(BookError, match="CLBOOK_ROOT: .* has no folder 'chapters'"):
        find_root()


def test_an_unknown_chapter_is_refused_with_the_nearest_name(tmp_path):
    write_stand_in(tmp_path)
    with pytest.raises(BookError, match=r"no chapter 'standin', there are: stand-in; did you mean stand-in\?"):
        ChapterFiles.find("standin", tmp_path)
    with pytest.raises(BookError, match="no chapter 'zzz', there are: stand-in$"):
        ChapterFiles.find("zzz", tmp_path)


def test_the_files_of_a_chapter(tmp_path):
    files = write_stand_in(tmp_path)
    paths = (files.source, files.notebook, files.claims, files.profile("smoke"), files.record("paper"))
    assert [p.relative_to(tmp_path).as_posix() for p in paths] == [
        "chapters/stand-in.py",
        "chapters/stand-in.ipynb",
        "chapters/stand-in/claims.yaml",
        "chapters/stand-in/profiles/smoke.yaml",
        "records/stand-in/paper.json",
    ]
    assert chapter_names(tmp_path) == ["stand-in"]
