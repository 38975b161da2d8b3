"""The first cell of a chapter: does nothing where the book is; on Colab, installs it beside Colab's own torch."""

import ast

import nbformat
import pytest
from checkout import ROOT
from stand_in import build_stand_in

from clbook.commands import launch
from clbook.commands.committed import execute, is_current
from clbook.common.errors import BookError
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.pages.run_page import as_html
from clbook.provenance.staleness import notebook_stamp

CONFIG = "repository: {url: https://github.com/someone/some-book/, branch: spring}\n"


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_every_chapter_begins_with_the_cell_which_is_no_code_of_its_own(name):
    chapter = ChapterFiles(ROOT, name)
    first = nbformat.read(chapter.notebook, as_version=4).cells[0]
    assert first.source == launch.first_cell(ROOT) and first.metadata["tags"] == launch.TAGS
    own = chapter.cells()[0]
    assert list(own.tags) == launch.TAGS and ast.parse(own.source).body == []


def test_another_address_changes_the_cell_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    chapter = build_stand_in(tmp_path)
    (tmp_path / "_config.yml").write_text(CONFIG)
    assert launch.write_first_cells(tmp_path) == ["chapters/stand-in.py"]
    assert not is_current(chapter) and execute(chapter)
    stamp = notebook_stamp(chapter.notebook)
    assert launch.write_first_cells(tmp_path) == []
    (tmp_path / "_config.yml").write_text(CONFIG.replace("someone", "another"))
    assert launch.write_first_cells(tmp_path) == ["chapters/stand-in.py", "chapters/stand-in.ipynb"]
    for path in (chapter.source, chapter.notebook):
        text = path.read_text(encoding="utf-8")
        assert text.count("--branch spring https://github.com/another/some-book book") == 1 and "someone" not in text
    assert notebook_stamp(chapter.notebook) == stamp and is_current(chapter)


def test_the_page_of_a_run_leaves_the_cell_out():
    notebook = nbformat.read(ChapterFiles(ROOT, chapter_names(ROOT)[0]).notebook, as_version=4)
    notebook.cells = notebook.cells[:4]
    page = as_html(notebook, "a run")
    assert "google.colab" not in page and "import" in page


def test_a_book_without_an_address_is_refused_before_anything_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    chapter = build_stand_in(tmp_path)
    before = chapter.source.read_text(encoding="utf-8")
    (tmp_path / "_config.yml").write_text("repository: {url: https://github.com/someone/some-book}\n")
    with pytest.raises(BookError, match="_config.yml: repository lacks branch"):
        launch.write_first_cells(tmp_path)
    assert launch.main() == 1 and capsys.readouterr().err == "launch: _config.yml: repository lacks branch\n"
    assert chapter.source.read_text(encoding="utf-8") == before
