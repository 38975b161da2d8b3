"""The book's own pages around chapters that a test writes, built as `make book` builds them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from checkout import ROOT

from clbook.pages import book_pages
from clbook.pages.kernel_reference import reference_pages
from clbook.provenance.library import Library

_GLUED = re.compile(r"^```\{glue:any\}.*?^```\n", re.MULTILINE | re.DOTALL)  # outputs of chapters, which are not there
_SCENE = re.compile(r"(\.\./chapters/[\w-]+\.html)#[\w-]+:\w+=[^\"]*")  # of a live picture, which is not there either
_SYMBOLS = re.compile(r"\[(\w+)\]\(\w\w-symbols\)")  # a chapter's table, nor is that


def write_book(root: Path) -> dict[str, str]:
    """Write all but the chapters below a root, as if every planned chapter were written; returns chapter → paper."""
    book = ROOT / "book"
    static = [path for path in (book / "_static").rglob("*") if path.is_file()]
    kept = [*book.glob("*.md"), *book.glob("reference/*.md"), *book.glob("statements/*.md"), book / "references.bib"]
    for source in [*kept, *static, ROOT / "_config.yml"]:
        target = root / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    for page in (root / "book").glob("*.md"):
        text = _SYMBOLS.sub(r"\1", _SCENE.sub(r"\1", page.read_text(encoding="utf-8")))
        page.write_text(_GLUED.sub("", text) if page.stem == "intro" else text, encoding="utf-8")
    reference = reference_pages(Library(), {})
    book_pages.write(
        root / "book" / "_generated" / "reference", {f"{room}.md": text for room, text in reference.items()}
    )
    graphs = {path.name: "None yet.\n" for path in book.glob("statements/*.md")}
    book_pages.write(root / "book" / "_generated" / "statements", graphs)
    (root / "chapters").mkdir(exist_ok=True)
    planned = {"prerequisites": ["nothing"]}
    fronts = {name: planned | front for name, front in book_pages.load_chapters(ROOT).items()}
    (root / "book" / "chapters.yaml").write_text(yaml.safe_dump(fronts, sort_keys=False), encoding="utf-8")
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    part = next(part for part in contents["parts"] if part["chapters"][0]["file"].startswith("chapters/"))
    part["chapters"] = [{"file": f"chapters/{name}"} for name in fronts]
    (root / "_toc.yml").write_text(yaml.safe_dump(contents, sort_keys=False), encoding="utf-8")
    return {name: front["cite"] for name, front in fronts.items()}


def build(root: Path) -> Path:
    """The folder of the built pages; an assertion fails for the first warning."""
    pytest.importorskip("jupyter_book")
    book_pages.copy_mathjax(root / "book" / "_generated" / "static")
    run = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", run, "build", ".", "-W", "-n", "--keep-going"]
    built = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-2000:]
    return root / "_build" / "html"
