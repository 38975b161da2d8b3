"""Generated pages: claims and errata, the introduction's picture, each chapter's opening box and its records.

`python -m clbook.pages.book_pages` writes them to `book/_generated/` from stored results, without
torch.
"""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from ..claims.proofs import FOLDER, Proof, load_proofs, second_hands
from ..common import project
from ..common.durations import duration
from ..common.errors import BookError
from ..common.sources import ChapterFiles, chapter_names, find_root
from ..common.yaml_files import yaml_of
from ..notebook.claim_result import ClaimResult
from ..provenance.library import Library
from ..provenance.stamps import run_cost
from .claim_marks import count_line, in_markdown
from .claims_files import claims_csv, claims_json
from .claims_overview import conditions_text
from .claims_page import claims_page
from .errata_page import errata_page, load_notes
from .introduction import chapter_map, copy_hero, intro_counts
from .kernel_reference import reached_by, reference_pages
from .live_pages import LivePage, live_pages
from .live_pages import generated as live_files
from .proof_words import address, counted, proof_list, second_table
from .record_gallery import Placed
from .statement_graph import graph_pages, load_uses
from .thumbnails import Thumbnail

MATHJAX_PACKAGE, MATHJAX_SCRIPT, MATHJAX_LAZY = "sphinx-mathjax-offline", "tex-chtml-full.js", "ui/lazy.js"
_FONTS = Path("output") / "chtml" / "fonts"


def _cost(profile: str, stamp: dict) -> str:
    memory = f", {stamp['peak_mb']:.0f} MB" if stamp.get("peak_mb") else ""
    return in_markdown(f"{profile}: {duration(run_cost(stamp))}{memory} ({stamp['device']})")


def chapter_box(front: dict, stamps: dict[str, dict], verdicts: str) -> str:
    """A chapter's opening box: question, cost (profile → stamp), prerequisites, verdicts; no answer stands in it."""
    letters = f" **{front['letters']}**" if "letters" in front else ""
    cost = "; ".join(_cost(profile, stamp) for profile, stamp in stamps.items()) or "no stored run yet"
    return (
        ":::{admonition} This chapter\n:class: chapter-box\n\n"
        f"*{front['question']}*{letters}\n\n**You should know.** {'; '.join(front['prerequisites'])}. "
        f"**Run time and memory, with the appendix.** {cost}.\n\n"
        f"**Verdicts.** {verdicts} ([all claims](../book/claims.md))\n:::\n"
    )


def data_files() -> str:
    """The table of data sets: every file with the sum that the loaders check."""
    sums = project.data_sets().SUMS
    rows = [(name, file, *known.split(":")) for name, files in sums.items() for file, known in files.items()]
    lines = "\n".join(f"| `{name}` | `{file}` | {kind} | `{known}` |" for name, file, kind, known in rows)
    return f"| data | file | | sum |\n|---|---|---|---|\n{lines}\n"


def load_chapters(root: Path) -> dict[str, dict]:
    """`book/chapters.yaml`; raises BookError for a missing key, or one that occurs twice.

    A chapter without a paper has neither `cite` nor `paper`; its own name takes the place of `cite`, as in `Claims`.
    """
    chapters, _ = yaml_of(root / "book" / "chapters.yaml")
    for name, front in chapters.items():
        needed = {"title", "stage", "symbol", "question"}
        needed |= {"cite", "paper"} if front.keys() & {"cite", "paper"} and front.get("cite") != name else set()
        if missing := needed - front.keys():
            raise BookError(f"book/chapters.yaml: {name} lacks {', '.join(sorted(missing))}")
        front.setdefault("cite", name)
    return chapters


def _surprising(chapters: Mapping[str, dict]) -> set[str]:
    """The ids of claims that the summaries list under "What surprised us"."""
    return {f"{front['cite']}/{label}" for front in chapters.values() for label in front.get("surprised", ())}


def _check_front(name: str, front: dict, results: list[ClaimResult]) -> None:
    """A written chapter's entry must be complete and name the paper of its claims; raises BookError.

    Two chapters under one paper would share a table of the claims page, in which ids would occur twice.
    """
    if "prerequisites" not in front:
        raise BookError(f"book/chapters.yaml: {name} is written but lacks prerequisites")
    if others := sorted({result.paper for result in results} - {front["cite"]}):
        raise BookError(f"book/chapters.yaml: {name} cites {front['cite']}, its claims are of {', '.join(others)}")


def generate(
    root: Path,
    results: list[ClaimResult],
    stamps: dict[str, dict[str, dict]],
    pictures: Mapping[str, Thumbnail] | None = None,
    notes: Sequence[dict] = (),
    heroes: Mapping[str, Placed] | None = None,
    proofs: Sequence[Proof] = (),
    second: Mapping[str, str] | None = None,
    uses: Mapping[str, Mapping[str, list[str]]] | None = None,
    live: Mapping[str, LivePage] | None = None,
) -> dict[str, str]:
    """File name → content of everything generated.

    `stamps` is chapter → profile → stamp of the stored run, `pictures` the claims' thumbnails by id, `notes` the slips
    of `book/errata.yaml`, `heroes` as in `chapter_map`, `proofs`,
    `second` and `uses` as `load_proofs`, `second_hands` and `load_uses` give them, `live` as `live_pages` does.
    """
    chapters, written = load_chapters(root), set(stamps)
    if unknown := written - chapters.keys():
        raise BookError(f"book/chapters.yaml lacks {', '.join(sorted(unknown))}; it has {', '.join(chapters)}")
    own = {name: [result for result in results if result.chapter == name] for name in sorted(written)}
    for name, rows in own.items():
        _check_front(name, chapters[name], rows)
    titles = {front["cite"]: front.get("paper", front["title"]) for front in chapters.values()}
    files = {
        "claims.md": claims_page(results, titles, pictures, _surprising(chapters)),
        "errata.md": errata_page(results, notes, titles),
        "beside/book/claims.json": claims_json(results),
        "beside/book/claims.csv": claims_csv(results),
        "conditions.md": conditions_text(results),
        "counts.md": intro_counts(results),
        "chapter-map.md": chapter_map(chapters, written, results, heroes),
        "data-files.md": data_files(),
        "proofs.md": proof_list(proofs),
        "proof-counts.md": f"{counted(proofs)}.\n",
        "second-hands.md": second_table(second or {}),
    }
    boxes = {
        f"{name}-box.md": chapter_box(chapters[name], stamps[name], count_line(rows)) for name, rows in own.items()
    }
    return files | boxes | graph_pages(uses or {}, results, titles) | live_files(live or {})


def write(folder: Path, files: Mapping[str, str | bytes]) -> list[str]:
    """Write the files that changed and return their names; the others keep their dates, so `make` sees no change."""
    changed = []
    for name, content in files.items():
        path, new = folder / name, content if isinstance(content, bytes) else content.encode("utf-8")
        if not path.is_file() or path.read_bytes() != new:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(new)
            changed.append(name)
    return changed


def copy_mathjax(folder: Path) -> bool:
    """Copy MathJax (two scripts and the fonts) into a folder of static files, so that pages work without a network.

    Returns whether a copy was needed; raises BookError if the package that carries MathJax is not installed.
    """
    target = folder / "mathjax"
    if all((target / script).is_file() for script in (MATHJAX_SCRIPT, MATHJAX_LAZY)):
        return False
    try:
        package = metadata.distribution(MATHJAX_PACKAGE)
    except metadata.PackageNotFoundError:
        raise BookError(f"{MATHJAX_PACKAGE} is not installed: install the extra 'book'") from None
    source = Path(str(package.locate_file(MATHJAX_PACKAGE))) / "static" / "mathjax"
    shutil.copytree(source / _FONTS, target / _FONTS, dirs_exist_ok=True)
    (target / MATHJAX_LAZY).parent.mkdir(parents=True, exist_ok=True)
    for script in (MATHJAX_SCRIPT, MATHJAX_LAZY):
        shutil.copy(source / script, target / script)
    return True


def animation_files(files: ChapterFiles) -> dict[str, bytes]:
    """Name → content of a chapter's animations, at the same place on the pages as beside the notebook."""
    paths = sorted(path for part in files.notebooks for path in part.animations.glob("*.webp"))
    return {f"beside/{path.relative_to(files.root).as_posix()}": path.read_bytes() for path in paths}


def proof_files(root: Path) -> dict[str, bytes]:
    """The files of `proofs/`, as pages of text."""
    paths = sorted(path for suffix in ("v", "py") for path in (root / FOLDER).glob(f"*.{suffix}"))
    return {address(path.name, f"beside/{FOLDER}/"): path.read_bytes() for path in paths}


def _content(root: Path) -> tuple[dict[str, str | bytes], dict[str, bytes]]:
    """(generated pages and files beside them, thumbnails) of the book at a root, from its stored results."""
    from ..notebook.results import load_results, stored_runs
    from ..notebook.shown import changed_outputs
    from .record_gallery import galleries_of, origin
    from .thumbnails import thumbnails

    results, fronts, pictures, small = load_results(root), load_chapters(root), {}, {}
    proofs = load_proofs(root, {result.id: result.claim.statement for result in results})
    proved = {proof.claim: proof for proof in proofs}
    second = second_hands(root)
    results = [replace(r, proof=proved.get(r.id), second_hand=second.get(r.id, "")) for r in results]
    stamps, galleries, heroes, origins, live = {}, {}, {}, {}, {}
    for name in chapter_names(root):
        files = ChapterFiles.find(name, root)
        if changed := next(changed_outputs(files), None):
            raise BookError(f"{changed}; `clbook execute` or `clbook record` makes it again")
        runs = stored_runs(files)
        stamps[name] = {profile: run.stamp for profile, run in runs.items()}
        galleries |= galleries_of(files, runs)
        galleries |= animation_files(files)
        live |= live_pages(files, fronts.get(name, {}).get("title", name))
        origins |= {f"{name}/{profile}": origin(run) for profile, run in runs.items()}
        near, own = thumbnails(files, runs)
        pictures |= {r.id: near[r.claim.id] for r in results if r.chapter == name and r.claim.id in near}
        small |= own
        if hero := copy_hero(files, fronts.get(name, {}), root / "book" / "_generated" / "static"):
            heroes[name] = hero
    galleries |= proof_files(root)
    galleries["records.json"] = json.dumps(origins, ensure_ascii=False, indent=1)
    kernels = reference_pages(Library(), reached_by(results, stamps))
    galleries |= {f"reference/{room}.md": page for room, page in kernels.items()}
    uses = load_uses(root, {result.id for result in results})
    told = {"proofs": proofs, "second": second, "uses": uses, "live": live}
    return generate(root, results, stamps, pictures, load_notes(root), heroes, **told) | galleries, small


def main() -> int:
    """Generate all pages of the book that contains the working folder."""
    try:
        root = find_root()
        content, small = _content(root)
        static = root / "book" / "_generated" / "static"
        changed = write(root / "book" / "_generated", content)
        changed += ["static/thumbnails"] * bool(write(static, small))
        changed += ["static/mathjax"] * copy_mathjax(static)
    except BookError as error:
        print(f"pages: {error}", file=sys.stderr)
        return 1
    print(f"book/_generated: {', '.join(changed) or 'nothing changed'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
