"""Pages as a whole: all generated ones are rendered without a warning; the programs of one print what it shows."""

import json
import re
from dataclasses import replace

import pytest
import torch
from bare_book import build, write_book
from claim_row import OF_EVERY_VERDICT as ALL
from page_code import BOOK, code_blocks
from page_outputs import NUMBER, numbers, run, shown

from clbook.pages import book_pages
from clbook.pages.site_check import check_site

STAMP = {"default": {"seconds": 92.4, "cells": {}, "peak_mb": 612, "device": "a CPU, 2 cores"}}
KERNELS = (BOOK / "kernels.md").read_text(encoding="utf-8")


def test_generated_pages_render_without_a_warning(tmp_path):
    """The book with a notebook of one line in place of each chapter; each chapter has claims of the same ids."""
    papers = write_book(tmp_path)
    rows = [replace(row, paper=paper, chapter=name) for name, paper in papers.items() for row in ALL]
    text = (BOOK / "teaching.md").read_text(encoding="utf-8")
    pictures = set(re.findall(r"#(\w+:)(?=\w+=)", text))  # live pictures, of which a link may name a state
    anchors = " ".join(f'<a id="{name}"></a>' for name in [*(row.claim.id for row in ALL), *sorted(pictures)])
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for name in papers:
        text = f"# Chapter\n\n```{{include}} ../book/_generated/{name}-box.md\n```\n\n{anchors}\n"
        cell = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": text}
        notebook = {"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
        (tmp_path / "chapters" / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    stamps = dict.fromkeys(papers, STAMP)
    first, second = (row.claim.id for row in ALL[:2])
    graphs = {path.stem: {first: [second]} for path in (BOOK / "statements").glob("*.md")}
    pages = book_pages.generate(tmp_path, rows, stamps, uses=graphs)
    assert {f"statements/{paper}.md" for paper in graphs} <= set(pages)
    book_pages.write(tmp_path / "book" / "_generated", pages)
    assert book_pages.copy_mathjax(tmp_path / "book" / "_generated" / "static")
    assert not book_pages.copy_mathjax(tmp_path / "book" / "_generated" / "static")

    assert check_site(build(tmp_path)) == []


def test_the_kernels_page_shows_what_its_programs_print():
    printed, on_the_page = run(KERNELS), shown(KERNELS)
    assert len(printed) == len([kind for kind, _ in code_blocks("kernels") if kind == "python"]) == 9
    for new, old in zip(printed, on_the_page, strict=True):  # another processor may round another way
        assert new and NUMBER.sub("", new) == NUMBER.sub("", old), "run tests/tools/page_outputs.py kernels"
        assert numbers(new) == pytest.approx(numbers(old), rel=2e-2, abs=2e-3)
    assert torch.get_default_dtype() is torch.float32
