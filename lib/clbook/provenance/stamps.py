"""The stored form of a run: what was measured, what each reading depends on, sums of pictures, a seal over all of it.

Keys of a stamp:

- `chapter`, `profile`, `data`, `parameters`;
- `readings`: claim → arms;
- `claims`: claim → the digests of its reading and its rule, what it reaches as places in `definitions`, and which run
  made it; a claim whose regime the run does not reach is listed here but not among the readings;
- `definitions`: name and digest of its own text; `cells`: cell in words → digest and seconds; `pictures`: name → sum,
  digest, and for an animation the sum `moving` of its file;
- for the run itself `versions`, `device`, `capability`, `blas`, `threads`, `seconds`, `peak_mb`, `time`. Claims that
  were measured later refer to one of the runs under `later`, counted from 1.

The seal reveals an accidental change; `clbook verify` reveals a deliberate one.
"""

import json
import re
from collections.abc import Iterable

from ..claims.claim_table import Claims
from ..common.errors import BookError
from ..common.formats import STAMP, fitting
from .digests import ALGORITHM, SHORT, ChapterDigests, Provenance, label, rule_digest
from .library import sha
from .slices import ChapterCode

FORMAT = 2
_PIECE = re.compile(r"\bchapter\.(?:library_)?piece\(")  # keeps what it computes for a run that goes on later
MIME = "application/vnd.clbook+json"  # of the notebook output that carries a stamp
# What a stamp says of its run. No code writes `restamped`: runs carry it that are older than the digests of readings.
# Their hash over a whole chapter was held against one commit, then the digests of the same sources took its place. The
# key keeps that commit and the old hash; `records/restamped.json` lists old hash and new digests of every such run.
RUN = ("versions", "device", "capability", "blas", "threads", "seconds", "peak_mb", "time", "restamped")


def seal(stamp: dict) -> dict:
    """The stamp with a digest over all its other entries."""
    content = {key: value for key, value in stamp.items() if key != "seal"}
    return content | {"seal": sha(json.dumps(content, sort_keys=True))}


def check(stamp: object, where: str) -> dict:
    """Return a stamp that is complete and of this format; raises a one-line BookError for any other."""
    if not isinstance(stamp, dict) or "readings" not in stamp:
        raise BookError(f"{where}: holds no stored run")
    if stamp.get("format") != FORMAT or stamp.get("algorithm") != ALGORITHM:
        found = f"format {stamp.get('format', 1)}, algorithm {stamp.get('algorithm', 0)}"
        raise BookError(f"{where}: {found}; this code reads format {FORMAT}, algorithm {ALGORITHM}: run it again")
    if seal(stamp)["seal"] != stamp.get("seal"):
        raise BookError(f"{where}: does not fit its seal, so it was changed by hand or damaged: run it again")
    fitting(stamp, STAMP, where)
    places = {int(at) for row in stamp["claims"].values() for at in row["reaches"].split()}
    runs = {row["run"] for row in stamp["claims"].values()}
    if max(places, default=-1) >= len(stamp["definitions"]) or max(runs, default=0) > len(stamp["later"]):
        raise BookError(f"{where}: damaged: a claim refers to a definition or a run that it lacks; {STAMP.remedy}")
    return stamp


def cells_of(digests: ChapterDigests, seconds: dict[int, float]) -> dict[str, str]:
    """Cell in words → the digest of everything that it shows, and its seconds if known."""
    found: dict[str, str] = {}
    story = digests.story
    for at, unit in enumerate(story.units):
        if unit.whole:
            took = f" {seconds[unit.cell]:.2f}" if unit.cell in seconds else ""
            found[cell_name(story, at)] = digests.digest(at)[:SHORT] + took
    return found


def cell_name(story: ChapterCode, at: int) -> str:
    """A whole cell's name in a stamp: what it binds, with a number if several cells of its notebook bind the same."""
    name, part = label(story, at), story.units[at].part
    before = [n for n in story.of_notebook(part) if n < at and story.units[n].whole]
    alike = [n for n in before if label(story, n) == name]
    return f"{'in the appendix, ' if part else ''}{name}" + (f" ({len(alike) + 1})" if alike else "")


def pictures_of(
    digests: ChapterDigests, sums: dict[str, str], moving: dict[str, str] | None = None
) -> dict[str, dict[str, str]]:
    """Figure name → the sum of its picture, the digest of the cell that draws it, an animation's sum of its file."""
    drawing = {name: digests.story.drawing(name) for name in sums}
    drawn = {name: digests.digest(at)[:SHORT] for name, at in drawing.items() if at is not None}
    files = {name: {"moving": file} for name, file in (moving or {}).items()}
    return {name: {"sum": sums[name], "digest": drawn.get(name, "")} | files.get(name, {}) for name in sums}


def provenance_of(
    digests: ChapterDigests, claims: Iterable[str], rules: dict | None, seconds: dict[int, float]
) -> dict[str, object]:
    """The entries `claims`, `definitions` and `cells` of a stamp; `rules` is None if no claims file can be read."""
    made = {claim: digests.claim(claim) for claim in claims}
    places: dict[tuple[str, str], int] = {}
    rows = {claim: _row(one, places) for claim, one in made.items()}
    for claim, row in rows.items():
        row["rule"] = rule_digest(rules[claim]) if rules and claim in rules else None
    return {"claims": rows, "definitions": _listed(places), "cells": cells_of(digests, seconds)}


def _row(made: Provenance, places: dict[tuple[str, str], int]) -> dict:
    return {"run": 0, "reading": made.digest, "reaches": _places_of(made.reaches, places)}


def _places_of(reached: dict[str, str], places: dict[tuple[str, str], int]) -> str:
    """The places of what a reading reaches, as a stamp has them; a definition that is new gets the next place."""
    return " ".join(map(str, sorted(places.setdefault(pair, len(places)) for pair in reached.items())))


def _listed(places: dict[tuple[str, str], int]) -> list[str]:
    return [f"{own} {name}" for name, own in places]


def reaches(stamp: dict, claim: str) -> dict[str, str]:
    """What a claim's reading reached when it was made: name → digest of the definition's own text."""
    rows = [stamp["definitions"][int(at)].partition(" ") for at in stamp["claims"][claim]["reaches"].split()]
    return {name: own for own, _, name in rows}


def made_by(stamp: dict, claim: str) -> dict:
    """Versions, device, time and so on of the run that made a claim's reading."""
    number = stamp["claims"][claim]["run"]
    return stamp["later"][number - 1] if number else {key: stamp[key] for key in RUN if key in stamp}


def of_notebooks(stamps: list[dict], *, one_run: bool = False) -> dict:
    """The stored run of a chapter, from the stamps of its notebooks, which have the same parameters.

    The first one's versions, device and time count as those of the run; with `one_run` for all readings, otherwise the
    others' stand under `later`. Seconds are added up. Raises BookError if the parameters differ.
    """
    if len(stamps) == 1:
        return stamps[0]
    if any(stamp["parameters"] != stamps[0]["parameters"] for stamp in stamps):
        raise BookError(f"{stamps[0]['chapter']}: its notebooks were run with different parameters: run it again")
    found, runs, places = {"claims": {}, "readings": {}, "cells": {}, "pictures": {}}, [], {}
    for stamp in stamps:
        first = len(runs)
        runs += [{key: stamp[key] for key in RUN if key in stamp}, *stamp["later"]]
        for claim, row in stamp["claims"].items():
            placed = {"run": 0 if one_run else first + row["run"], "reaches": _places_of(reaches(stamp, claim), places)}
            found["claims"][claim] = row | placed
        for key in ("readings", "cells", "pictures"):
            found[key] |= stamp[key]
    found |= {"definitions": _listed(places), "later": [] if one_run else runs[1:]}
    found["seconds"] = round(sum(stamp["seconds"] for stamp in stamps), 1)
    found["peak_mb"] = max(stamp["peak_mb"] for stamp in stamps)
    return seal(stamps[0] | found)


def merge(before: dict, after: dict) -> dict:
    """The stamp of a run, with its readings replaced by those of a later, partial run.

    Both have the same parameters. Entries that are no longer referred to are left out; a later run that has everything
    replaces the earlier one.
    """
    if before["parameters"] != after["parameters"] or before["chapter"] != after["chapter"]:
        raise BookError(f"{before['chapter']}: two runs with other parameters cannot be one stored run")
    if not before["claims"].keys() - after["claims"].keys():
        return seal(after)
    runs = [*before.get("later", ()), {key: after[key] for key in RUN if key in after}]
    kept = {claim: row for claim, row in before["claims"].items() if claim not in after["claims"]}
    rows = {c: (before, row["run"]) for c, row in kept.items()} | {c: (after, len(runs)) for c in after["claims"]}
    used = sorted({number for _, number in rows.values() if number})
    places: dict[tuple[str, str], int] = {}
    claims = {}
    for claim in [*before["claims"], *(c for c in after["claims"] if c not in before["claims"])]:
        source, number = rows[claim]
        placed = {"run": used.index(number) + 1 if number else 0, "reaches": _places_of(reaches(source, claim), places)}
        claims[claim] = source["claims"][claim] | placed
    readings = {c: source["readings"][c] for c, (source, _) in rows.items() if c in source["readings"]}
    merged = before | {
        "claims": claims,
        "readings": {claim: readings[claim] for claim in claims if claim in readings},
        "definitions": _listed(places),
        "cells": _merged_cells(before["cells"], after["cells"]),
        "pictures": before["pictures"] | after["pictures"],
        "later": [runs[number - 1] for number in used],
    }
    return seal(merged)


def refreshed(stamp: dict, digests: ChapterDigests, claims: Claims | None) -> dict:
    """A stored run that is entirely up to date, rewritten with the cells, rules and claims of the present sources."""
    known = [claim for claim in digests.story.claims if claim in stamp["claims"]]
    made = provenance_of(digests, known, claims and claims.rows, {})
    for claim, row in made["claims"].items():
        row["run"] = stamp["claims"][claim]["run"]
    drawn = {name: one for name, one in stamp["pictures"].items() if digests.story.drawing(name) is not None}
    kept = {claim: stamp["readings"][claim] for claim in known if claim in stamp["readings"]}
    cells = {"cells": _merged_cells(stamp["cells"], made["cells"])}
    return seal(stamp | made | cells | {"pictures": drawn, "readings": kept})


def _merged_cells(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    """The later run's cells, in its order; cells that it did not run keep their earlier seconds."""
    known = dict(entry.split() for entry in before.values() if " " in entry)
    return {name: e if " " in e or e not in known else f"{e} {known[e]}" for name, e in after.items()}


def seconds_of(stamp: dict, digests: ChapterDigests) -> dict[int, float]:
    """Cell number → the seconds that it took, found by its digest, otherwise by its name; unknown cells are absent.

    `digests` are those of the stamp's own parameters.
    """
    story = digests.story
    by_digest = dict(entry.split() for entry in stamp["cells"].values() if " " in entry)
    by_name = {name: entry.split()[1] for name, entry in stamp["cells"].items() if " " in entry}
    found = {}
    for at, unit in enumerate(story.units):
        if unit.whole:
            took = by_digest.get(digests.digest(at)[:SHORT]) or by_name.get(cell_name(story, at))
            found |= {unit.cell: float(took)} if took else {}
    return found


def whole_cost(stamp: dict) -> float:
    """Seconds to compute all that a stamp holds: its cells' latest, or the first run's if cells lack kept pieces.

    Notebooks of a chapter run side by side, so the longest counts.
    """
    if "side_by_side" in stamp:
        return stamp["side_by_side"]
    cells = sum(float(entry.split()[1]) for entry in stamp["cells"].values() if " " in entry)
    return max(stamp["seconds"], cells)


def seconds_of_record(stamp: dict, digests: ChapterDigests) -> dict[int, float]:
    """The same for a record, where pieces that were kept of an earlier attempt may be missing from the cells.

    The run's own seconds contain them; what is missing is shared by the cells that compute pieces, those without
    seconds of their own if there are any.
    """
    seconds = seconds_of(stamp, digests)
    missing = stamp["seconds"] - sum(seconds.values())
    pieces = [n for n, cell in enumerate(digests.story.cells) if _PIECE.search(cell.source)]
    dear = [n for n in pieces if n not in seconds] or pieces
    if not dear or missing < 0.1 * stamp["seconds"]:
        return seconds
    return seconds | {n: seconds.get(n, 0.0) + missing / len(dear) for n in dear}
