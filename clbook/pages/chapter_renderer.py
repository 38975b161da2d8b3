"""A notebook built as its chapter's page is built: the book's configuration, theme and extensions, around one page."""

import re
import shutil
from pathlib import Path

from ..common.errors import BookError
from ..common.sources import ChapterFiles

_NEEDED = ("_config.yml", "_toc.yml", "book/chapters.yaml")
_WHOLE = {"book/bibliography"}  # citations lead to it
_TITLE = re.compile(r"^(?:# )?# (?P<title>\S.*)$", re.MULTILINE)  # in Markdown, or in a comment of a chapter's source
_INCLUDE = re.compile(r"```\{include\} +\S*_generated/(?P<file>\S+)\n```")
_RECORD_FIGURE = re.compile(r"\{record-figure\} \S+\n(?::[\w-]+:.*\n)*?:name: +(?P<label>\S+)\n")
_RECORD = "The recorded long run and its pictures stand in the [chapter](../chapters/{name}.md)."


def render(files: ChapterFiles, notebook, run: dict, claims: list[dict], beside: set[str], scratch: Path) -> str:
    """The page of a run's notebook as one file; raises BookError if there is no page at the end.

    Args:
        files: the chapter, in the book whose configuration is used.
        notebook: the executed notebook.
        run: its parameters and what made it, as in `run.json`.
        claims: what it measured, as in `claims.json`.
        beside: names of files that will lie beside the page, to which it may link.
        scratch: an empty folder to build in.
    """
    import yaml
    from jupyter_book.cli.main import main

    from .self_contained import self_contained

    for name in _NEEDED:
        if not (files.root / name).is_file():
            raise BookError(f"the book's renderer needs {name}, which is not in the book's folder")
    place = f"chapters/{files.stem}.html"
    root = scratch.resolve() / "book"
    config = yaml.safe_load((files.root / "_config.yml").read_text(encoding="utf-8"))
    _write_book(files.root, root, config)
    _write_chapter(files, root, notebook, run, claims)
    main(["build", str(root), "-q"], standalone_mode=False)
    page = root / "_build" / "html" / place
    if not page.is_file():
        raise BookError("the book's renderer made no page")
    return self_contained(page, place, beside, config.get("html", {}).get("baseurl"))


def _write_book(source: Path, root: Path, config: dict) -> None:
    """Write a book whose other pages are titles alone: quick to build, and the chapter has its number in the real one.

    Styles, pictures and the list of references are those of the book.
    """
    import yaml

    from .book_pages import copy_mathjax

    (root / "book" / "_generated").mkdir(parents=True)
    (root / "chapters").mkdir()
    sphinx = config.get("sphinx", {})
    settings = sphinx.get("config", {}) | {"record_figures": False}  # a run's own figures in their places
    settings.pop("mathjax3_config", None)  # it loads a second script, which a page in one file has not beside it
    ours = config | {"launch_buttons": {}, "sphinx": sphinx | {"config": settings}}
    (root / "_config.yml").write_text(yaml.safe_dump(ours), encoding="utf-8")
    toc = yaml.safe_load((source / "_toc.yml").read_text(encoding="utf-8"))
    (root / "_toc.yml").write_text(yaml.safe_dump(toc, sort_keys=False), encoding="utf-8")
    for name in _pages(toc):
        page = root / f"{name}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        text = (source / page.relative_to(root)).read_text(encoding="utf-8") if name in _WHOLE else _title(source, name)
        page.write_text(text, encoding="utf-8")
    for path in (source / "book").iterdir():
        if path.suffix != ".md" and path.name != "_generated" and not (root / "book" / path.name).exists():
            (root / "book" / path.name).symlink_to(path)
    for path in (source / "records", *(source / "chapters").glob("*/claims.yaml")):  # pictures, and what claims state
        if path.exists():
            (root / path.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
            (root / path.relative_to(source)).symlink_to(path)
    copy_mathjax(root / "book" / "_generated" / "static")


def _pages(toc: object) -> list[str]:
    """All pages that a table of contents names, at any depth."""
    if isinstance(toc, list):
        return [name for part in toc for name in _pages(part)]
    if not isinstance(toc, dict):
        return []
    own = [str(toc[key]) for key in ("root", "file") if key in toc]
    return own + [name for part in toc.values() for name in _pages(part)]


def _title(source: Path, name: str) -> str:
    """A page with nothing but its title, from its Markdown or its chapter's source."""
    for path in (source / f"{name}.md", source / f"{name}.py"):
        if path.is_file() and (match := _TITLE.search(path.read_text(encoding="utf-8"))):
            return f"# {match['title']}\n"
    return f"# {name}\n"


def _write_chapter(files: ChapterFiles, root: Path, notebook, run: dict, claims: list[dict]) -> None:
    """Put the notebook in the place of its chapter, with this run's cost and verdicts in the chapter's box."""
    import nbformat

    from .book_pages import chapter_box, load_chapters
    from .claim_marks import verdict_line

    generated, ready = files.root / "book" / "_generated", {f"{files.name}-record.md": _RECORD.format(name=files.name)}
    front = load_chapters(files.root).get(files.name, {})
    if "prerequisites" in front:
        verdicts = verdict_line((row["verdict"], row.get("beyond", False)) for row in claims)
        ready[f"{files.name}-box.md"] = chapter_box(front, {run["profile"]: run}, verdicts)
    prose = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    _rename_figures(prose)
    for cell in prose:
        for match in _INCLUDE.finditer(cell.source):
            name = match["file"]
            if name in ready:
                (root / "book" / "_generated" / name).write_text(ready[name], encoding="utf-8")
            elif (generated / name).is_file():
                shutil.copy(generated / name, root / "book" / "_generated" / name)
            else:  # `make book` has not been run yet
                cell.source = cell.source.replace(match[0], "")
    (root / "chapters" / f"{files.stem}.md").unlink(missing_ok=True)
    nbformat.write(notebook, root / "chapters" / f"{files.stem}.ipynb")


def _rename_figures(prose: list) -> None:
    """Give each figure of the run the label of the recorded one whose place it takes, so that references find it."""
    for label in [match["label"] for cell in prose for match in _RECORD_FIGURE.finditer(cell.source)]:
        for cell in prose:
            cell.source = re.sub(rf"(?<![\w-]){re.escape(label)}-default(?![\w-])", label, cell.source)
