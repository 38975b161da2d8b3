"""Which lemma feeds which theorem, by the papers' own proofs: a picture with links, and a list for narrow screens."""

from collections.abc import Container, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from ..claims.claim_table import VERDICTS
from ..common.errors import BookError
from ..common.formats import TEXT, fault, list_of, map_of
from ..common.yaml_files import yaml_of
from ..notebook.claim_result import ClaimResult
from .claim_marks import badge, in_html
from .proof_words import NONE, grade

SOURCE = Path("book") / "statements.yaml"
SLIPS = ("misprint", "contradicted", "vacuous")
_WIDE, _HIGH, _BOX, _TALL = 104, 74, 92, 30  # of a place in the picture, and of the box in it, in pixels
_STYLE = (
    ".statement-graph{max-width:100%;height:auto}.statement-graph line{stroke:currentColor;opacity:.35}"
    ".statement-graph rect{fill:var(--verdict-ground,#fff);stroke:var(--verdict-word,#444)}"
    ".statement-graph text{fill:var(--verdict-word,#444);font-size:13px;text-anchor:middle}"
    "@media(max-width:700px){.statement-graph{display:none}}"
)


def load_uses(root: Path, known: Container[str]) -> dict[str, dict[str, list[str]]]:
    """Paper → claim → the claims that its proof uses; raises BookError for an unknown claim or a circle."""
    path = root / SOURCE
    if not path.is_file():
        return {}
    papers, _ = yaml_of(path)
    if problem := fault(papers, map_of(map_of(list_of(TEXT, 1)))):
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


def picture(uses: Mapping[str, Sequence[str]], results: Mapping[str, ClaimResult]) -> str:
    """The graph as SVG: what is used stands above what uses it; the box's line is thick where a proof is checked."""
    found = levels(uses)
    rows = []
    for level in range(max(found.values()) + 1):
        rows += batched_evenly([name for name in found if found[name] == level])
    width, height = max(map(len, rows)) * _WIDE, len(rows) * _HIGH
    place = {
        name: (width * (k + 0.5) / len(row), _HIGH * (at + 0.5))
        for at, row in enumerate(rows)
        for k, name in enumerate(row)
    }
    lines = "".join(
        f'<line x1="{place[used][0]:.0f}" y1="{place[used][1] + _TALL / 2:.0f}" '
        f'x2="{place[name][0]:.0f}" y2="{place[name][1] - _TALL / 2:.0f}"/>'
        for name, others in uses.items()
        for used in others
    )
    boxes = "".join(_box(results[name], *place[name]) for name in found)
    title = "Statements; each line leads down to one whose proof uses it"
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return f'<svg class="statement-graph" {size} role="img" aria-label="{title}">{lines}{boxes}</svg>'


def _box(result: ClaimResult, x: float, y: float) -> str:
    thick = 1 if grade(result.proof) == NONE else 3
    said = f"{result.claim.locator}: {result.verdict}" + (f", {result.proof.words}" if result.proof else "")
    word = f"verdict-{result.verdict.replace(' ', '-')}"
    corner = f'x="{x - _BOX / 2:.0f}" y="{y - _TALL / 2:.0f}" width="{_BOX}" height="{_TALL}"'
    return (
        f'<a href="claims.html#{in_html(result.id)}" class="{word}"><title>{in_html(said)}</title>'
        f'<rect {corner} rx="4" stroke-width="{thick}"/>'
        f'<text x="{x:.0f}" y="{y + 4:.0f}">{VERDICTS[result.verdict]} {in_html(result.claim.id)}</text></a>'
    )


def listed(uses: Mapping[str, Sequence[str]], results: Mapping[str, ClaimResult]) -> str:
    """The same as a list, the last statements first: verdict, proof, what each uses, and a slip that it rests on."""
    found = levels(uses)
    items = []
    for name in sorted(found, key=lambda name: -found[name]):
        slips = [_link(results[one]) for one in sorted(below(name, uses)) if results[one].verdict in SLIPS]
        said = [f"uses {', '.join(_link(results[one]) for one in uses[name])}" if name in uses else "uses no other"]
        said += [results[name].proof.words] if results[name].proof else []
        said += [f"rests on a statement that does not hold as printed: {', '.join(slips)}"] if slips else []
        head = f"{badge(results[name].verdict)} {_link(results[name])} (<code>{in_html(name)}</code>)"
        items.append(f"<li>{head}: {'; '.join(said)}</li>")
    return f'<ul class="statement-list">{"".join(items)}</ul>'


def _link(result: ClaimResult) -> str:
    return f'<a href="claims.html#{in_html(result.id)}">{in_html(result.claim.locator)}</a>'


def graph_page(
    papers: Mapping[str, Mapping[str, Sequence[str]]], all_results: Sequence[ClaimResult], titles: Mapping[str, str]
) -> str:
    """A section a paper in Markdown, with picture and list; `papers` is as `load_uses` gives it."""
    parts = [f"<style>{_STYLE}</style>"]
    for paper, uses in papers.items():
        results = {one.claim.id: one for one in all_results if one.paper == paper}
        alone = "" if _slips(uses, results) else "No statement here rests on one that does not hold as printed.\n\n"
        parts.append(f"## {titles.get(paper, paper)}\n\n{picture(uses, results)}\n\n{alone}{listed(uses, results)}")
    return "\n\n".join(parts) + "\n"


def _slips(uses: Mapping[str, Sequence[str]], results: Mapping[str, ClaimResult]) -> bool:
    return any(results[one].verdict in SLIPS for name in uses for one in below(name, uses))
