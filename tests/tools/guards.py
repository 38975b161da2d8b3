"""Guards over a committed chapter: each takes a chapter and returns its problems, one line each."""

import re

import jupytext
from committed import Committed

from clbook.claims.rules import MET, MISSED
from clbook.common.parameters import read_parameters
from clbook.notebook.results import headlines
from clbook.notebook.shown import differences
from clbook.provenance.slices import ChapterCode
from clbook.provenance.staleness import CURRENT, states
from clbook.provenance.stamps import seal

PREFIXES = {
    "theorem": "thm",
    "lemma": "lem",
    "proposition": "prop",
    "corollary": "cor",
    "figure": "fig",
    "table": "table",
}


def _at(count: int, cell) -> str:
    return f"code cell {count} ({cell.source.strip().splitlines()[0][:50]!r})"


def pair(chapter: Committed) -> list[str]:
    """Source and notebook have the same cells: kind, source, tags."""

    def cells(path):
        found = jupytext.read(path).cells
        return [(c.cell_type, c.source.strip(), tuple(c.metadata.get("tags", []))) for c in found]

    source, notebook = cells(chapter.files.source), cells(chapter.files.notebook)
    if len(source) != len(notebook):
        return [f"{len(source)} cells in the .py, {len(notebook)} in the .ipynb"]
    return [
        f"cell {n}: {what} differs between .py and .ipynb"
        for n, both in enumerate(zip(source, notebook, strict=True), 1)
        for what, a, b in zip(("kind", "source", "tags"), *both, strict=True)
        if a != b
    ]


def execution_counts(chapter: Committed) -> list[str]:
    """Every code cell that is not empty was run, in order, from 1."""
    return [
        f"{_at(n, cell)}: execution count {cell.execution_count}, not {n}"
        for n, cell in enumerate(chapter.code, 1)
        if cell.execution_count != n
    ]


def errors(chapter: Committed) -> list[str]:
    """No stored traceback, no stored stderr text, and no bare value, which `clbook verify` could not compute again."""

    def found(output) -> str:
        if output.output_type == "execute_result" and "text/html" not in output.data:
            return "a bare value"
        return "error" if output.output_type == "error" else "stderr" if output.get("name") == "stderr" else ""

    both = [(n, cell, found(output)) for n, cell in enumerate(chapter.code, 1) for output in cell.outputs]
    return [f"{_at(n, cell)}: stored {what}" for n, cell, what in both if what]


def sealed(chapter: Committed) -> list[str]:
    """The stored result matches its seal."""
    kept = chapter.stamp is None or chapter.stamp.get("seal") == seal(chapter.stamp)["seal"]
    return [] if kept else ["the stored result does not fit its seal: it was changed by hand"]


def stale(chapter: Committed) -> list[str]:
    """The stored result was made by the present code, rules and parameters."""
    if chapter.stamp is None:
        return []
    now = {p.name: p.default for p in read_parameters(chapter.files.cells(), chapter.files.source.name).values()}
    return [
        f"{claim}: {found.state} ({', '.join(found.changed[:3])}); run `make execute`"
        for claim, found in states(ChapterCode(chapter.files), chapter.stamp, chapter.claims, parameters=now).items()
        if found.state != CURRENT
    ]


def shown(chapter: Committed) -> list[str]:
    """Every line and picture is the one that the stored result gives."""
    if chapter.stamp is None:
        return []
    story = ChapterCode(chapter.files)
    found = headlines(chapter.files, story.library)
    return list(differences(chapter.notebook, story, chapter.stamp, chapter.claims, found))


def default_parameters(chapter: Committed) -> list[str]:
    """The stored result was made with the defaults, and says so."""
    if chapter.stamp is None:
        return []
    known = read_parameters(chapter.files.cells(), chapter.files.source.name)
    stored, profile = chapter.stamp["parameters"], chapter.stamp["profile"]
    defaults = {p.name: p.default for p in known.values()}
    found = [
        f"parameter {name}: stored {stored.get(name)!r}, default {defaults.get(name)!r}"
        for name in sorted(stored.keys() | defaults.keys())
        if stored.get(name) != defaults.get(name)
    ]
    return found + ([] if profile == "default" else [f"profile: stored {profile!r}, must be 'default'"])


def readings(chapter: Committed) -> list[str]:
    """Every claim with a rule was measured or is shown as not judged here, every other one says what it needs.

    Here is the notebook, chapter or appendix, that the claim's row names.
    """
    stored = chapter.stamp["readings"] if chapter.stamp else {}
    rows, here = chapter.claims.rows, "appendix" if chapter.files.part == 1 else "chapter"
    excused = chapter.not_judged()
    missing = [i for i, c in rows.items() if c.rule and c.place == here and i not in stored and i not in excused]
    found = [f"{i}: has a rule, but no stored values" for i in missing]
    found += [f"{i}: its row says in: {rows[i].place}" for i in stored if i in rows and rows[i].place != here]
    found += [f"{i}: not run, but does not say what it takes" for i, c in rows.items() if not (c.rule or c.needs)]
    return found + [f"{i}: stored, but no claim with a rule" for i in stored if i not in rows or not rows[i].rule]


def labels(chapter: Committed) -> list[str]:
    """Every numbered statement, figure and table of the paper has a claim.

    Where the paper numbers a kind from 1, the YAML holds the count; else a list of the labels as printed, in quotes. A
    chapter without a paper has no labels, and each of its claims is marked as ours.
    """
    if chapter.claims.paper == chapter.claims.chapter:
        rows = chapter.claims.rows.items()
        theirs = [f"{i}: no paper, but not marked as beyond" for i, row in rows if not row.beyond]
        return theirs + ["labels: there is no paper"] * bool(chapter.claims.labels)
    if not chapter.claims.labels:
        return ["labels: none are counted"]
    found = []
    for label, printed in chapter.claims.labels.items():
        if label not in PREFIXES:
            found.append(f"labels: {label!r} is unknown, allowed are {', '.join(PREFIXES)}")
            continue
        if isinstance(printed, int):
            numbers, part = map(str, range(1, printed + 1)), "(-?[a-z])?"
        elif isinstance(printed, list) and printed and all(isinstance(n, str) for n in printed):
            numbers, part = printed, "(-[a-z0-9]|[a-z])?"  # a digit stands behind a hyphen: b12 is no part of b1
        else:  # YAML reads 4.10 as the number 4.1
            found.append(f"labels: {label}: got {printed!r}, allowed are a count or a list of labels in quotes")
            continue
        for n in numbers:
            form = re.compile(rf"{PREFIXES[label]}-{re.escape(n)}{part}")
            if not any(form.fullmatch(i) for i in chapter.claims.rows):
                found.append(f"{label} {n}: no claim {PREFIXES[label]}-{n}")
    return found


def controls(chapter: Committed) -> list[str]:
    """Every claim has a control, and each of its cases misses the rule.

    Where chance decides, few seeds may leave a control open; the verdict is undecided then, and says so.
    """
    found = [f"{i}: no control" for i, r in chapter.readings.items() if not r.control]
    rows = chapter.claims.rows
    return found + [
        f"{i}: control{' ' + case if case else ''} does not miss the rule {rows[i].rule}"
        for i, reading in chapter.readings.items()
        for case, sample in reading.as_judged(rows[i]).control.items()
        if rows[i].rule.outcome(sample) != MISSED
        if not (rows[i].by_chance and chapter.word(i) == "undecided")
    ]


def negatives(chapter: Committed) -> list[str]:
    """A negative verdict stands beside a planted or mended case that meets the rule."""

    def meets(claim: str, arm: dict) -> bool:
        rule = chapter.claims.rows[claim].rule
        return bool(arm) and all(rule.outcome(s) == MET for s in arm.values())

    return [
        f"{i}: {chapter.word(i)}, but neither a planted nor a mended case meets the rule"
        for i, reading in chapter.readings.items()
        if chapter.word(i) in ("not reproduced", "contradicted")
        and not (meets(i, reading.planted) or meets(i, reading.mended))
    ]


GUARDS = (
    pair,
    execution_counts,
    errors,
    sealed,
    stale,
    shown,
    default_parameters,
    readings,
    labels,
    controls,
    negatives,
)
