"""Templates of pages: they escape as `html.escape` does, refuse names that they are not given, and are installed."""

import sys
import tomllib
from html import escape
from pathlib import Path

import pytest
from checkout import ROOT

import clbook
from clbook.common.errors import BookError
from clbook.pages import template

EVIL = '<b title="x">\'&'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(template, "_FOLDER", tmp_path)
    template._environment.cache_clear()
    yield tmp_path
    template._environment.cache_clear()


def test_no_value_is_a_tag_and_in_markdown_a_formula_stays(folder):
    (folder / "a.html.j2").write_text("<p>{{ text }}{{ text|e }}{{ text|safe }}</p>")
    (folder / "a.md.j2").write_text("{{ text }} {{ text|e }}\n{% if not text %}\n\n{% endif %}\n\n\nend\n")
    assert template.fill("a.html", text=EVIL) == f"<p>{escape(EVIL) * 2}{EVIL}</p>"
    assert template.fill("a.md", text=EVIL) == f"{EVIL.replace('<', '&lt;')} {escape(EVIL)}\n\nend"
    assert template.fill("a.md", text="$a < b$").startswith("$a < b$ ")


def test_a_name_that_is_not_given_is_an_error(folder):
    (folder / "a.md.j2").write_text("{{ absent }}")
    with pytest.raises(Exception, match="'absent' is undefined"):
        template.fill("a.md")


def test_without_jinja_there_is_one_line(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(BookError, match="jinja2 is not installed: install the extra 'book'"):
        template.fill("a.md")


def test_every_template_is_installed_with_the_package():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    package = Path(clbook.__file__).parent
    installed = {path for pattern in settings["package-data"]["clbook"] for path in package.glob(pattern)}
    assert {path for path in package.rglob("*.j2")} <= installed and len(installed) > 5
