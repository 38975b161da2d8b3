"""Sphinx builds the slides by this; `make slides`."""

from clbook.common.sources import find_root
from clbook.pages.book_pages import copy_mathjax

ROOT = find_root()
STATIC = ROOT / "book" / "_generated" / "static"
copy_mathjax(STATIC)

project = "Contrastive-learning dynamics, executed"
author = "the contrastive-dynamics authors"
extensions = ["myst_parser", "sphinx.ext.mathjax", "sphinxcontrib.bibtex", "clbook.classroom.slides", "sphinx_revealjs"]
exclude_patterns = ["conf.py"]
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
bibtex_bibfiles = ["../book/references.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"
mathjax_path = "mathjax/tex-chtml-full.js"
mathjax3_config = {"options": {"enableMenu": False}, "chtml": {"matchFontHeight": False}}
nitpicky = True

revealjs_html_theme = "revealjs-simple"
revealjs_style_theme = "white"
revealjs_static_path = ["_static", str(STATIC)]
revealjs_css_files = ["slides.css"]
revealjs_script_conf = {
    "width": 1280,
    "height": 720,
    "margin": 0,
    "center": False,
    "controls": False,  # arrows on the screen; keys and remotes turn the slides
    "hash": True,
    "slideNumber": "c/t",
    "transition": "none",
    "viewDistance": 2,
}
revealjs_script_plugins = [{"name": "RevealNotes", "src": "revealjs/plugin/notes/notes.js"}]
