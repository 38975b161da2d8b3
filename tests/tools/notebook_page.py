"""A page of a small book, built from a notebook with the book's own extensions for code."""

import contextlib
import multiprocessing
import sys
from pathlib import Path

import nbformat
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

OURS = ("card_groups", "code_strip", "folded_code", "parameter_table", "picture_doors", "unjudged_claims")
PYTHON = {"language_info": {"name": "python", "pygments_lexer": "python"}}


def cell(source: str, *tags: str, said: str | None = None):
    """A code cell, with a card as its output if `said`."""
    outputs = (
        [new_output("display_data", {"text/html": said if said.startswith("<") else f"<p class='claim'>{said}</p>"})]
        if said
        else []
    )
    return new_code_cell(source, metadata={"tags": list(tags)}, outputs=outputs)


def _build(source: Path, out: Path, said: Path) -> None:
    from sphinx.cmd.build import build_main

    with open(said, "w") as warnings, contextlib.redirect_stderr(warnings):
        sys.exit(build_main(["-q", "-E", "-b", "html", str(source), str(out)]))


def page_of(folder: Path, *cells) -> tuple[BeautifulSoup, str]:
    """The page built from a notebook, and the warnings; a process of its own, since extensions change Sphinx.

    It is forked from one that has imported Sphinx and what reads notebooks, which takes three of four seconds.
    """
    options = {
        "extensions": ["myst_nb", *(f"clbook.pages.{name}" for name in OURS)],
        "nb_execution_mode": "off",
        "myst_enable_extensions": ["dollarmath"],
        "html_theme": "basic",
    }
    source = folder / "source"
    source.mkdir(exist_ok=True)
    (source / "conf.py").write_text("\n".join(f"{name} = {value!r}" for name, value in options.items()))
    (source / "plot.png").write_bytes(b"")
    nbformat.write(new_notebook(cells=[new_markdown_cell("# Title"), *cells], metadata=PYTHON), source / "index.ipynb")
    context, said = multiprocessing.get_context("forkserver"), folder / "warnings"
    context.set_forkserver_preload(["sphinx.application", "sphinx.builders.html", "myst_nb.sphinx_ext"])
    process = context.Process(target=_build, args=(source, folder / "out", said))
    process.start()
    process.join(300)
    process.kill()  # one that hangs does not outlive the test
    warnings = said.read_text()
    assert process.exitcode == 0, warnings[-2000:]
    return BeautifulSoup((folder / "out" / "index.html").read_text(encoding="utf-8"), "html.parser"), warnings
