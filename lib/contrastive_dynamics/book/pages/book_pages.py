"""Generated pages: the claims page, the picture and counts of the introduction, each chapter's opening box and records.

`python -m contrastive_dynamics.book.pages.book_pages` writes them to `book/_generated/` from stored results, without
torch.
"""

import shutil
import sys
from html import escape
from importlib import metadata
from pathlib import Path

from ...data.catalogue import SUMS
from ..ground.errors import BookError
from .claims_page import claims_page, count_line

MATHJAX_PACKAGE, MATHJAX_SCRIPT = "sphinx-mathjax-offline", "tex-chtml-full.js"
_FONTS = Path("output") / "chtml" / "fonts"
_FIGURE_TEXT = (
    "A training step from top to bottom: data, two views of it, the network, its outputs, the pairs in the loss. "
    "Beside each of the last four stands the chapter that studies it."
)


def chapter_map(chapters: dict[str, dict], written: set[str], results: list[dict]) -> str:
    """The introduction's picture: a training step and the four chapters beside the part that they study."""
    rows = ['<li><div class="stage"><b>data</b><span>x</span></div><div class="chapter none"></div></li>']
    for name, front in chapters.items():
        title, text = escape(front["title"]), escape(front["question"])
        status = "planned, not written yet"
        if name in written:
            title = f'<a href="../chapters/{name}.html">{title}</a>'
            status = f"{escape(front.get('part', 'complete'))} stands: " if front.get("part") else "stands: "
            status += count_line([r for r in results if r["chapter"] == name])
        kind = "written" if name in written else "planned"
        rows.append(
            f'<li><div class="stage"><b>{escape(front["stage"])}</b><span>{escape(front["symbol"])}</span></div>'
            f'<div class="chapter {kind}"><b>{title}</b> <span>({escape(front["paper"])})</span><br>{text}<br>'
            f'<span class="status">{status}</span></div></li>'
        )
    label = escape(_FIGURE_TEXT, quote=True)
    return f'<figure class="chapter-map" aria-label="{label}"><ol>{"".join(rows)}</ol></figure>\n'


def intro_counts(results: list[dict]) -> str:
    """The introduction's sentence on the state of the book."""
    run = sum(r["verdict"] != "not run" for r in results)
    return f"{run} of {len(results)} claims listed so far have been run: {count_line(results)}\n"


def _cost(profile: str, stamp: dict) -> str:
    seconds, memory = stamp["seconds"], stamp.get("peak_mb")
    unit, size = ("s", 1) if seconds < 120 else ("min", 60) if seconds < 7200 else ("h", 3600)
    return f"{profile}: {seconds / size:.0f} {unit}{f', {memory:.0f} MB' if memory else ''} ({stamp['device']})"


def chapter_box(front: dict, stamps: dict[str, dict], results: list[dict]) -> str:
    """A chapter's opening box: what it shows, what it takes (profile → stamp), what to know, its verdicts."""
    shows = "\n".join(f"- {line}" for line in front["shows"])
    cost = "; ".join(_cost(profile, stamp) for profile, stamp in stamps.items()) or "no stored run yet"
    return (
        ":::{admonition} This chapter\n:class: chapter-box\n\n"
        f"{shows}\n\n**Run time and memory.** {cost}.\n\n**You should know.** {'; '.join(front['prerequisites'])}.\n\n"
        f"**Verdicts.** {count_line(results)} ([all claims](../book/claims.md))\n:::\n"
    )


def data_files() -> str:
    """The table of data sets: every file and its sum, as the loaders check it."""
    rows = [(name, file, *known.split(":")) for name, files in SUMS.items() for file, known in files.items()]
    lines = "\n".join(f"| `{name}` | `{file}` | {kind} | `{known}` |" for name, file, kind, known in rows)
    return f"| data | file | | sum |\n|---|---|---|---|\n{lines}\n"


def load_chapters(root: Path) -> dict[str, dict]:
    """`book/chapters.yaml`; raises BookError for a missing key."""
    import yaml

    chapters = yaml.safe_load((root / "book" / "chapters.yaml").read_text(encoding="utf-8"))
    for name, front in chapters.items():
        if missing := {"title", "cite", "paper", "stage", "symbol", "question"} - front.keys():
            raise BookError(f"book/chapters.yaml: {name} lacks {', '.join(sorted(missing))}")
    return chapters


def _check_front(name: str, front: dict, results: list[dict]) -> None:
    """A written chapter's entry must be complete and name the paper of its claims; raises BookError.

    Two chapters under one paper would be one table of the claims page, with two claims of each id.
    """
    if missing := {"shows", "prerequisites"} - front.keys():
        raise BookError(f"book/chapters.yaml: {name} is written but lacks {', '.join(sorted(missing))}")
    if others := sorted({r["paper"] for r in results} - {front["cite"]}):
        raise BookError(f"book/chapters.yaml: {name} cites {front['cite']}, its claims are of {', '.join(others)}")


def generate(root: Path, results: list[dict], stamps: dict[str, dict[str, dict]]) -> dict[str, str]:
    """File name → content of everything generated; `stamps` is chapter → profile → stamp of the stored run."""
    chapters, written = load_chapters(root), set(stamps)
    if unknown := written - chapters.keys():
        raise BookError(f"book/chapters.yaml lacks {', '.join(sorted(unknown))}; it has {', '.join(chapters)}")
    for name in sorted(written):
        _check_front(name, chapters[name], [r for r in results if r["chapter"] == name])
    files = {
        "claims.md": claims_page(results, {front["cite"]: front["paper"] for front in chapters.values()}),
        "counts.md": intro_counts(results),
        "chapter-map.md": chapter_map(chapters, written, results),
        "data-files.md": data_files(),
    }
    for name in sorted(written):
        own = [r for r in results if r["chapter"] == name]
        files[f"{name}-box.md"] = chapter_box(chapters[name], stamps[name], own)
    return files


def write(folder: Path, files: dict[str, str]) -> list[str]:
    """Write what changed (an unchanged file keeps its date, so that `make` rests); returns the names written."""
    folder.mkdir(parents=True, exist_ok=True)
    changed = []
    for name, content in files.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != content:
            path.write_text(content, encoding="utf-8")
            changed.append(name)
    return changed


def copy_mathjax(folder: Path) -> bool:
    """Put MathJax (one script and its fonts) below a folder of static files, so that pages read without a network.

    Returns whether it had to; raises BookError if the package that carries MathJax is not installed.
    """
    target = folder / "mathjax"
    if (target / MATHJAX_SCRIPT).is_file():
        return False
    try:
        package = metadata.distribution(MATHJAX_PACKAGE)
    except metadata.PackageNotFoundError:
        raise BookError(f"{MATHJAX_PACKAGE} is not installed: install the extra 'book'") from None
    source = Path(str(package.locate_file(MATHJAX_PACKAGE))) / "static" / "mathjax"
    shutil.copytree(source / _FONTS, target / _FONTS, dirs_exist_ok=True)
    shutil.copy(source / MATHJAX_SCRIPT, target / MATHJAX_SCRIPT)
    return True


def main() -> int:
    """Generate all pages of the book that the working folder lies in."""
    from ..chapter.results import load_results, stored_runs
    from ..ground.sources import ChapterFiles, chapter_names, find_root
    from .record_gallery import gallery

    try:
        root = find_root()
        chapters = [ChapterFiles.find(name, root) for name in chapter_names(root)]
        runs = {files.name: stored_runs(files) for files in chapters}
        stamps = {name: {profile: run.stamp for profile, run in own.items()} for name, own in runs.items()}
        content = generate(root, load_results(root), stamps)
        content |= {f"{f.name}-record.md": gallery(f, runs[f.name].get("paper")) for f in chapters}
        changed = write(root / "book" / "_generated", content)
        changed += ["static/mathjax"] * copy_mathjax(root / "book" / "_generated" / "static")
    except BookError as error:
        print(f"pages: {error}", file=sys.stderr)
        return 1
    print(f"book/_generated: {', '.join(changed) or 'nothing changed'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
