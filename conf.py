"""The book's configuration for Sphinx alone: `make book-sphinx`. Jupyter Book 1 does not read this file.

It is what `jupyter-book config sphinx .` makes of `_config.yml`, without three extensions that the book does not use;
`tests/clbook/pages/test_two_builders.py` holds it to that. Whatever can be read from `_config.yml` is read there.
"""

from pathlib import Path

import yaml

_book = yaml.safe_load(Path(__file__).with_name("_config.yml").read_text(encoding="utf-8"))
_repository, _launch, _html = _book["repository"], _book["launch_buttons"], _book["html"]
globals().update(_book["sphinx"]["config"])

author, copyright = _book["author"], _book["copyright"]
extensions = [
    "sphinx_togglebutton",
    "sphinx_copybutton",
    "myst_nb",
    "sphinx_thebe",
    "sphinx_external_toc",
    "sphinx.ext.intersphinx",
    "sphinx_design",
    "sphinx_book_theme",
    *_book["sphinx"]["extra_extensions"],
    "sphinxcontrib.bibtex",
    "sphinx_multitoc_numbering",
]
exclude_patterns = ["**.ipynb_checkpoints", ".DS_Store", "Thumbs.db", *_book["exclude_patterns"]]
external_toc_path, external_toc_exclude_missing = "_toc.yml", _book["only_build_toc_files"]
use_multitoc_numbering = True
bibtex_bibfiles = _book["bibtex_bibfiles"]
latex_engine = _book["latex"]["latex_engine"]
myst_enable_extensions = _book["parse"]["myst_enable_extensions"]
myst_url_schemes = ["mailto", "http", "https"]
nb_execution_mode, nb_output_stderr = _book["execute"]["execute_notebooks"], "show"
pygments_style = "sphinx"

html_theme, html_title, html_sourcelink_suffix = "sphinx_book_theme", _book["title"], ""
html_theme_options = {
    "search_bar_text": "Search this book...",
    "launch_buttons": _launch | {"thebe": False},
    "path_to_docs": _repository["path_to_book"],
    "repository_url": _repository["url"],
    "repository_branch": _repository["branch"],
    "use_repository_button": _html["use_repository_button"],
    "use_issues_button": _html["use_issues_button"],
    "use_edit_page_button": False,
    "home_page_in_toc": _html["home_page_in_navbar"],
    "extra_footer": _html["extra_footer"],
}
