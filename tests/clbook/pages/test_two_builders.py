"""`conf.py` is what Jupyter Book makes of `_config.yml`, and what compares two builds notices whatever is lost."""

import contextlib
import io
import runpy
import shutil

import pytest
from checkout import ROOT
from two_builds import differences

DROPPED = {"jupyter_book", "sphinx_comments", "sphinx_jupyterbook_latex"}  # the book does not use them
THEIRS = {"comments_config", "use_jupyterbook_latex"}  # and their settings
PAGE = """<html><head><title>a</title></head><body><nav>any</nav><article><h1 id="top">A b</h1>
<p id="p">Text of <span class="math">x + y</span></p><img src="a.png?v=1" alt="a dot"></article></body></html>"""


def settings(path) -> dict[str, object]:
    return {key: value for key, value in runpy.run_path(str(path)).items() if not key.startswith("_")}


def without_empty(value):
    """A setting without what is switched off or empty, which is what a setting that is not there means, too."""
    if not isinstance(value, dict):
        return value
    kept = {key: without_empty(one) for key, one in value.items()}
    return {key: one for key, one in kept.items() if one not in ("", False, {}, [], None)}


def test_the_configuration_of_sphinx_is_the_one_that_jupyter_book_makes(tmp_path):
    config = pytest.importorskip("jupyter_book.config", reason="jupyter-book is not installed: pip install '.[book]'")
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy(ROOT / name, tmp_path)
    with contextlib.redirect_stdout(io.StringIO()):
        given = {"external_toc_path": "_toc.yml", "latex_individualpages": False}
        theirs, _ = config.get_final_config(user_yaml=tmp_path / "_config.yml", sourcedir=tmp_path, cli_config=given)
    ours, ignored = settings(ROOT / "conf.py"), THEIRS | {"Path", "yaml", "latex_doc_overrides", "latex_documents"}
    theirs, ours = ({k: v for k, v in one.items() if k not in ignored} for one in (theirs, ours))
    for key in ("extensions", "exclude_patterns"):
        theirs[key], ours[key] = sorted(set(theirs[key]) - DROPPED), sorted(set(ours[key]))
    # Sphinx's own defaults, which Jupyter Book spells out
    defaults = {"nb_execution_timeout": 30, "nb_execution_allow_errors": False, "nb_execution_in_temp": False}
    theirs = {key: value for key, value in theirs.items() if key not in defaults or value != defaults[key]}
    theirs["html_theme_options"].pop("analytics")  # the address of a service that is switched off
    assert without_empty(ours) == without_empty(theirs)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("Text of", "Text", "a.html: text: 'AbTextofx+y' ≠ 'AbTextx+y'"),
        (' id="p"', "", "a.html: lost ids: p"),
        ("a.png?v=1", "b.png", "a.html: lost files: a.png"),
    ],
)
def test_what_a_build_loses_is_said(tmp_path, old, new, text):
    for name, page in (("one", PAGE), ("other", PAGE.replace(old, new))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.html").write_text(page, encoding="utf-8")
    assert differences(tmp_path / "one", tmp_path / "other") == [text]
    (tmp_path / "other" / "a.html").unlink()
    assert differences(tmp_path / "one", tmp_path / "other") == ["a.html: missing"]


def test_blanks_menus_and_sums_of_files_may_differ(tmp_path):
    other = PAGE.replace("x + y", "x+y").replace("any", "else").replace("v=1", "v=2").replace("<p ", "<p class='a' ")
    for name, page in (("one", PAGE), ("other", other)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.html").write_text(page, encoding="utf-8")
    assert differences(tmp_path / "one", tmp_path / "other") == []
