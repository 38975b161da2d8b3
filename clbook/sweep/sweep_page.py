"""A sweep as a picture on a page: a claim's statistic over the grid in small multiples, with links to notebooks."""

import io
import os
from collections import defaultdict
from collections.abc import Iterator
from html import escape
from itertools import product
from pathlib import Path
from urllib.parse import quote

from ..claims.claim_table import VERDICTS, Claims
from ..common.atomic import atomic_write
from ..common.errors import BookError
from ..common.sources import ChapterFiles
from .sweep_table import Row, Table

_LOOKS = [("o", "-"), ("s", "--"), ("^", ":"), ("D", "-."), ("v", "-"), ("P", "--"), ("X", ":"), ("*", "-.")]
_MET = ("reproduced", "with conditions", "seen")
_STYLE = """body { font: 1rem/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { border: 1px solid #888; padding: .2rem .6rem; text-align: left; }
div { overflow-x: auto; } svg { max-width: 100%; height: auto; background: white; }
@media (prefers-color-scheme: dark) { body { background: #121212; color: #ddd; } a { color: #8ab4f8; } }"""


def default_claim(table: Table) -> str:
    """Of the claims that depend on the axes, the one whose verdict changes most; in a tie the first.

    Raises:
        BookError: No claim has been judged.
    """
    if not table.claims:
        reason = "no point of the sweep is done yet"
        if any(row.status == "done" for row in table.rows):
            reason = "its blocks of seeds, folded, have no claim of their own"
        raise BookError(f"{table.chapter}: {reason}, there is nothing to show")

    def turns(claim: str) -> int:
        words = [row.claims[claim][1] for row in table.rows if claim in row.claims]
        return min(sum(word in _MET for word in words), sum(word not in _MET for word in words))

    return max(table.claims, key=lambda claim: (_depends(table, claim), turns(claim), _varies(table, claim)))


def _depends(table: Table, claim: str) -> bool:
    """Whether a claim's reading depends on an axis other than the blocks of seeds, or on these if they alone vary."""
    seeds_alone = _roles(table)[0] == "first_seed"
    digests = defaultdict(set)
    for row in table.rows:
        if claim in row.digests:
            digests[None if seeds_alone else row.parameters.get("first_seed")].add(row.digests[claim])
    return any(len(values) > 1 for values in digests.values())


def _varies(table: Table, claim: str) -> bool:
    return len({row.claims[claim][0] for row in table.rows if claim in row.claims}) > 1


def _numeric(values: list) -> bool:
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def _roles(table: Table) -> tuple[str, str | None, list[str]]:
    """The axes for x, for curves and for panels: the longest first, numbers before words."""
    varied = [name for name, values in table.axes.items() if len(values) > 1 and name != "first_seed"]

    def order(name: str) -> tuple:
        return not _numeric(table.axes[name]), -len(table.axes[name])

    varied = sorted(varied, key=order) or ["first_seed"]
    return varied[0], varied[1] if len(varied) > 1 else None, varied[2:]


def _by_place(table: Table, claim: str) -> dict[tuple, list[Row]]:
    """Grid place, with its values in the order of `_roles` → the rows that judged the claim, one per block."""
    x, curve, rest = _roles(table)
    places = defaultdict(list)
    for row in table.rows:
        if claim in row.claims:
            places[tuple(repr(row.parameters[name]) for name in (x, curve, *rest) if name)].append(row)
    return places


def _curves(table: Table, rows: dict[tuple, list[Row]], panel: dict) -> Iterator[tuple[str, list]]:
    """(label, points along x, each with its rows) of every curve."""
    x, curve, _ = _roles(table)
    for value in table.axes[curve] if curve else [None]:
        rest = [repr(v) for v in ([value] if curve else []) + list(panel.values())]
        places = ((at, rows.get((repr(at), *rest))) for at in table.axes[x])
        yield f"{curve} = {value}" if curve else "", [(at, judged) for at, judged in places if judged]


def _draw(ax, table: Table, claim: str, rows: dict[tuple, list[Row]], panel: dict, places: dict) -> None:
    for k, (label, points) in enumerate(_curves(table, rows, panel)):
        mark, line = _LOOKS[k % len(_LOOKS)]
        at = [places[repr(x)] for x, _ in points]
        values = [[row.claims[claim][0] for row in judged] for _, judged in points]
        middle = [sum(v) / len(v) for v in values]
        ax.plot(at, middle, line, color=f"C{k}", lw=1)
        ax.plot([], [], line, marker=mark, color=f"C{k}", lw=1, label=label or None)  # for the legend
        ax.vlines(at, [min(v) for v in values], [max(v) for v in values], color=f"C{k}", lw=1)
        met = [all(row.claims[claim][1] in _MET for row in judged) for _, judged in points]
        for holds, face in ((True, f"C{k}"), (False, "white")):
            chosen = [(x, y) for x, y, m in zip(at, middle, met, strict=True) if m == holds]
            ax.plot(*zip(*chosen, strict=True) if chosen else ([], []), mark, color=f"C{k}", mfc=face, ms=6)


def _figure(panels: int):
    """A figure and its axes: that many panels, three to a row."""
    import matplotlib.pyplot as plt

    columns = min(3, panels)
    lines = -(-panels // columns)
    size = (2 + 3 * columns, 0.6 + 2.6 * lines)
    fig, axes = plt.subplots(
        lines, columns, figsize=size, sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for ax in axes.flat[panels:]:
        ax.set_visible(False)
    return fig, list(axes.flat[:panels])


def draw(table: Table, claim: str):
    """Small multiples of a claim's statistic over the grid.

    A mark is the mean over blocks of seeds, with a line from the smallest to the largest value; it is filled if the
    claim holds for every block. Grey lines show what the rule compares with. Raises BookError for a claim without a
    result.
    """
    if claim not in table.claims:
        judged = ", ".join(table.claims) or "none"
        raise BookError(f"{table.chapter}: no point has judged {claim!r}, there are: {judged}")
    x, _, rest = _roles(table)
    values = table.axes[x]
    numeric = _numeric(values)
    places = {repr(v): v if numeric else k for k, v in enumerate(values)}
    panels = [dict(zip(rest, chosen, strict=True)) for chosen in product(*(table.axes[name] for name in rest))]
    fig, axes = _figure(len(panels))
    rows = _by_place(table, claim)
    rule = Claims.load(ChapterFiles.find(table.chapter).claims).rows[claim].rule
    for ax, panel in zip(axes, panels, strict=True):
        for threshold in rule.numbers:
            ax.axhline(threshold, color="0.6", lw=1)
        _draw(ax, table, claim, rows, panel, places)
        ax.set_title(", ".join(f"{name} = {value}" for name, value in panel.items()), fontsize=9)
        if not numeric:
            ax.set_xticks(list(places.values()), [str(v) for v in values])
    fig.supxlabel(x)
    fig.supylabel(f"{claim} (rule {rule})", fontsize=10)
    handles, labels = axes[0].get_legend_handles_labels()
    if labels:
        fig.legend(handles, labels, loc="outside right upper", fontsize=8)
    return fig


def write_page(table: Table, claim: str, path: Path, sweep: Path) -> None:
    """Write a claim's picture and table as an HTML page, with links to the notebooks in the sweep's folder.

    Args:
        table: All points of the sweep.
        claim: One that some point has judged.
        path: The page.
        sweep: The sweep's folder.

    Raises:
        BookError: No point has judged the claim.
        OSError: The page cannot be written.
    """
    import matplotlib
    import matplotlib.pyplot as plt

    matplotlib.use("Agg")
    picture = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "sweep", "text.parse_math": False}):
        fig = draw(table, claim)
        fig.savefig(picture, format="svg", metadata={"Date": None})
        plt.close(fig)
    svg = picture.getvalue()
    counted = ", ".join(f"{sum(r.status == s for r in table.rows)} {s}" for s in ("done", "failed", "waiting"))
    heads = "".join(f"<th>{escape(head)}</th>" for head in (*table.axes, "verdict", "statistic", "seconds", "notebook"))
    relative = Path(os.path.relpath(sweep, path.parent))
    body = "\n".join(_html_row(row, list(table.axes), claim, sweep, relative) for row in table.rows)
    text = f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(table.chapter)}: {escape(claim)}</title><style>{_STYLE}</style>
<h1>{escape(table.chapter)}, {escape(claim)}</h1>
<p>{len(table.rows)} points of the profile {escape(table.profile)}: {counted}. A mark is the mean over blocks of seeds,
the line through it goes from the least to the largest; it is filled where the claim holds with every block. Grey lines
are what the rule compares with. <code>clbook show SWEEP --page POINT</code> writes the page of a point.</p>
<div>{svg[svg.index("<svg") :]}</div>
<div><table><tr>{heads}</tr>
{body}
</table></div>
"""
    atomic_write(path, text)


def _links(row: Row, folder: Path, relative: Path) -> str:
    """A point with a link to its notebook, and to its page if `clbook show --page` has made it."""
    if not row.notebook:
        return escape(row.point)
    page = Path(row.notebook).with_suffix(".html")
    shown = {row.notebook: row.point} | ({str(page): "page"} if (folder / page).is_file() else {})
    return " ".join(
        f'<a href="{quote((relative / file).as_posix())}">{escape(word)}</a>' for file, word in shown.items()
    )


def _html_row(row: Row, axes: list[str], claim: str, folder: Path, relative: Path) -> str:
    """A row of the table; `folder` is the sweep's, and `relative` its path from the page."""
    number, word = row.claims.get(claim, (None, row.status))
    texts = [str(row.parameters[name]) for name in axes]
    texts += [f"{VERDICTS.get(word, '')} {word}", "" if number is None else f"{number:.4g}"]
    texts += ["" if row.seconds is None else f"{row.seconds:.1f}"]
    cells = [*map(escape, texts), _links(row, folder, relative)]
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
