"""Which lemma feeds which theorem, by the papers' own proofs: a picture with links, and a list for narrow screens."""

from collections.abc import Container, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from statistics import fmean

from ..claims.claim_table import VERDICTS
from ..common.errors import BookError
from ..common.formats import TEXT, fault, list_of, map_of
from ..common.yaml_files import yaml_of
from ..notebook.claim_result import ClaimResult
from .claim_marks import badge, in_html
from .proof_words import NONE, grade

SOURCE = Path("book") / "statements.yaml"
_BARE = "stated with no argument of the paper's own"
SLIPS = ("misprint", "contradicted", "vacuous")
_WIDE, _HIGH, _BOX, _TALL = 104, 74, 92, 30  # of a place in the picture, and of the box in it, in pixels
_STYLE = (
    ".statement-graph{max-width:100%;height:auto}.statement-graph line{stroke:currentColor;opacity:.35}"
    ".statement-graph .on-slip{stroke:#b0508a;stroke-width:2;opacity:1}"
    ".statement-graph rect{fill:var(--verdict-ground,#fff);stroke:var(--verdict-word,#444)}"
    ".statement-graph text{fill:var(--verdict-word,#444);font-size:13px;text-anchor:middle}"
    "@media(max-width:700px){.statement-graph{display:none}}"
)


def load_uses(root: Path, known: Container[str]) -> dict[str, dict[str, list[str]]]:
    """Paper → claim → the claims that its proof uses, none for one that the paper gives no argument for.

    Raises BookError for an unknown claim or a circle.
    """
    path = root / SOURCE
    if not path.is_file():
        return {}
    papers, _ = yaml_of(path)
    if problem := fault(papers, map_of(map_of(list_of(TEXT)))):
        raise BookError(f"{SOURCE}: {problem}")
    for paper, uses in papers.items():
        for name in {*uses, *(one for used in uses.values() for one in used)}:
            if f"{paper}/{name}" not in known:
                raise BookError(f"{SOURCE}: {paper}/{name} is no claim of the book")
        try:
            TopologicalSorter(uses).prepare()
        except CycleError as error:
            raise BookError(f"{SOURCE}: {paper}: {' uses '.join(error.args[1])}") from None
    return papers


def levels(uses: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Statement → 0 if it uses none, else one more than the highest that it uses."""
    found: dict[str, int] = {}
    for name in TopologicalSorter(uses).static_order():
        found[name] = 1 + max((found[used] for used in uses.get(name, ())), default=-1)
    return found


def below(name: str, uses: Mapping[str, Sequence[str]]) -> set[str]:
    """All statements that one rests on, at any distance."""
    return set().union(*({used} | below(used, uses) for used in uses.get(name, ())))


def batched_evenly(names: Sequence[str], most: int = 7) -> list[Sequence[str]]:
    """The names in as few rows of at most so many as possible, which are nearly equal: a wider picture is too small."""
    count = -(-len(names) // most)
    return [names[k * len(names) // count : (k + 1) * len(names) // count] for k in range(count)]


def in_rows(uses: Mapping[str, Sequence[str]]) -> list[Sequence[str]]:
    """The names in rows: each below all that it uses and near their mean, last those that no line leads to or from."""
    found, rows = levels(uses), []
    for name in set(found) - {name for name in uses if uses[name]}:  # what uses nothing stands next to its first user
        found[name] = min((found[user] for user in uses if name in uses[user]), default=1) - 1
    joined = {*(name for name in uses if uses[name]), *(used for others in uses.values() for used in others)}
    across: dict[str, float] = {}  # name → its place in the row, from 0 to 1
    for level in range(max(found.values()) + 1):
        names = [name for name in found if found[name] == level and name in joined]
        names.sort(key=lambda name: fmean(across[used] for used in uses[name]) if uses.get(name) else 0.5)
        for row in batched_evenly(names):
            rows.append(row)
            across |= {name: (k + 0.5) / len(row) for k, name in enumerate(row)}
    return rows + batched_evenly([name for name in found if name not in joined])


def picture(uses: Mapping[str, Sequence[str]], results: Mapping[str, ClaimResult]) -> str:
    """The graph as SVG: what is used stands above what uses it.

    A box's line is thick where a proof is checked and broken where the paper gives no argument.
    """
    rows = in_rows(uses)
    width, height = max(map(len, rows)) * _WIDE, len(rows) * _HIGH
    place = {
        name: (width * (k + 0.5) / len(row), _HIGH * (at + 0.5))
        for at, row in enumerate(rows)
        for k, name in enumerate(row)
    }
    slips = {name for name in place for one in (name, *below(name, uses)) if results[one].verdict in SLIPS}
    lines = "".join(_line(place[used], place[name], used in slips) for name in uses for used in uses[name])
    boxes = "".join(_box(results[name], name in _bare(uses), *place[name]) for name in place)
    title = "Statements; each line leads down to one whose proof uses it"
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return f'<svg class="statement-graph" {size} role="img" aria-label="{title}">{lines}{boxes}</svg>'


def _bare(uses: Mapping[str, Sequence[str]]) -> list[str]:
    return [name for name in uses if not uses[name]]


def _line(begin: tuple[float, float], end: tuple[float, float], on_slip: bool) -> str:
    word = 'class="on-slip" ' * on_slip
    (x1, y1), (x2, y2) = begin, end
    return f'<line {word}x1="{x1:.0f}" y1="{y1 + _TALL / 2:.0f}" x2="{x2:.0f}" y2="{y2 - _TALL / 2:.0f}"/>'


def _box(result: ClaimResult, bare: bool, x: float, y: float) -> str:
    line = f'stroke-width="{1 if grade(result.proof) == NONE else 3}"' + ' stroke-dasharray="5 3"' * bare
    said = f"{result.claim.locator}: {result.verdict}" + (f", {result.proof.words}" if result.proof else "")
    word = f"verdict-{result.verdict.replace(' ', '-')}"
    corner = f'x="{x - _BOX / 2:.0f}" y="{y - _TALL / 2:.0f}" width="{_BOX}" height="{_TALL}"'
    return (
        f'<a href="../claims.html#{in_html(result.id)}" class="{word}"><title>{in_html(said)}</title>'
        f'<rect {corner} rx="4" {line}/>'
        f'<text x="{x:.0f}" y="{y + 4:.0f}">{VERDICTS[result.verdict]} {in_html(result.claim.id)}</text></a>'
    )


def listed(uses: Mapping[str, Sequence[str]], results: Mapping[str, ClaimResult]) -> str:
    """The same as a list, the last statements first: verdict, proof, what each uses, and a slip that it rests on."""
    found = levels(uses)
    items = []
    for name in sorted(found, key=lambda name: -found[name]):
        slips = [_link(results[one]) for one in _slips(name, uses, results)]
        used = ", ".join(_link(results[one]) for one in uses.get(name, ()))
        said = [f"uses {used}" if used else _BARE if name in uses else "uses no other"]
        said += [results[name].proof.words] if results[name].proof else []
        said += [f"rests on a statement that does not hold as printed: {', '.join(slips)}"] if slips else []
        head = f"{badge(results[name].verdict)} {_link(results[name])} (<code>{in_html(name)}</code>)"
        items.append(f"<li>{head}: {'; '.join(said)}</li>")
    return f'<ul class="statement-list">{"".join(items)}</ul>'


def _link(result: ClaimResult) -> str:
    return f'<a href="../claims.html#{in_html(result.id)}">{in_html(result.claim.locator)}</a>'


def graph_pages(
    papers: Mapping[str, Mapping[str, Sequence[str]]], all_results: Sequence[ClaimResult], titles: Mapping[str, str]
) -> dict[str, str]:
    """File name → Markdown: the table of all papers, and of each its picture and list; `papers` as of `load_uses`."""
    files, rows = {}, ["| paper | statements | proof checked | rest on a slip | no argument |", "|---|---|---|---|---|"]
    for paper, uses in papers.items():
        results = {one.claim.id: one for one in all_results if one.paper == paper}
        files[f"statements/{paper}.md"] = (
            f"<style>{_STYLE}</style>\n\n{picture(uses, results)}\n\n{listed(uses, results)}\n"
        )
        names = levels(uses)
        counts = (
            len(names),
            sum(grade(results[name].proof) != NONE for name in names),
            sum(bool(_slips(name, uses, results)) for name in names),
            len(_bare(uses)),
        )
        rows.append(f"| [{titles.get(paper, paper)}](statements/{paper}.md) | {' | '.join(map(str, counts))} |")
    return files | {"statements.md": "\n".join(rows) + "\n"}


def _slips(name: str, uses: Mapping[str, Sequence[str]], results: Mapping[str, ClaimResult]) -> list[str]:
    """The statements below one that do not hold as printed."""
    return [one for one in sorted(below(name, uses)) if results[one].verdict in SLIPS]
