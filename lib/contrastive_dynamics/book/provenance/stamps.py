"""The stored form of a run: what was measured, what made each reading, sums of the pictures, a seal over all of it.

Keys of a stamp:

- `chapter`, `profile`, `data`, `parameters`;
- `readings`: claim → arms;
- `claims`: claim → the digests of its reading and its rule, what it reaches as places in `definitions`, which run made
  it; a claim whose regime the run does not reach stands here and not among the readings;
- `definitions`: name and digest of its own text; `cells`: cell in words → digest and seconds; `pictures`: name → sum,
  digest;
- of the run itself `versions`, `device`, `capability`, `threads`, `seconds`, `peak_mb`, `time`. Claims that were
  measured later name one of the runs under `later`, counted from 1.

The seal shows a change by accident; `clbook verify` shows one on purpose.
"""

import json
from collections.abc import Iterable

from ..claims.claim_table import Claims
from ..ground.errors import BookError
from .digests import ALGORITHM, SHORT, ChapterDigests, Made, label, rule_digest
from .library import sha
from .slices import Story

FORMAT = 2
MIME = "application/vnd.clbook+json"  # of the output that carries a stamp in a notebook
RUN = ("versions", "device", "capability", "threads", "seconds", "peak_mb", "time", "restamped")


def seal(stamp: dict) -> dict:
    """The stamp with a digest over all its other entries."""
    content = {key: value for key, value in stamp.items() if key != "seal"}
    return content | {"seal": sha(json.dumps(content, sort_keys=True))}


def check(stamp: object, where: str) -> dict:
    """A stamp that is whole and of this format; raises BookError, one line."""
    if not isinstance(stamp, dict) or "readings" not in stamp:
        raise BookError(f"{where}: holds no stored run")
    if stamp.get("format") != FORMAT or stamp.get("algorithm") != ALGORITHM:
        found = f"format {stamp.get('format', 1)}, algorithm {stamp.get('algorithm', 0)}"
        raise BookError(f"{where}: {found}; this code reads format {FORMAT}, algorithm {ALGORITHM}: run it again")
    if seal(stamp)["seal"] != stamp.get("seal"):
        raise BookError(f"{where}: does not fit its seal, so it was changed by hand or damaged: run it again")
    return stamp


def cells_of(digests: ChapterDigests, seconds: dict[int, float]) -> dict[str, str]:
    """Cell in words → the digest of all that it shows, and its seconds if they are known."""
    found: dict[str, str] = {}
    story = digests.story
    for at, unit in enumerate(story.units):
        if unit.whole:
            took = f" {seconds[unit.cell]:.2f}" if unit.cell in seconds else ""
            found[cell_name(story, at)] = digests.digest(at)[:SHORT] + took
    return found


def cell_name(story: Story, at: int) -> str:
    """A whole cell's name in a stamp: what it binds, and which of several alike it is."""
    name = label(story, at)
    alike = [n for n, unit in enumerate(story.units[:at]) if unit.whole and label(story, n) == name]
    return f"{name} ({len(alike) + 1})" if alike else name


def pictures_of(digests: ChapterDigests, sums: dict[str, str]) -> dict[str, dict[str, str]]:
    """Figure's name → the sum of its picture, and the digest of the cell that draws it."""
    drawing = {name: digests.story.drawing(name) for name in sums}
    drawn = {name: digests.digest(at)[:SHORT] for name, at in drawing.items() if at is not None}
    return {name: {"sum": sums[name], "digest": drawn.get(name, "")} for name in sums}


def provenance_of(
    digests: ChapterDigests, claims: Iterable[str], rules: dict | None, seconds: dict[int, float]
) -> dict[str, object]:
    """The entries `claims`, `definitions` and `cells` of a stamp; `rules` is None where no claims file can be read."""
    made = {claim: digests.claim(claim) for claim in claims}
    places: dict[tuple[str, str], int] = {}
    rows = {claim: _row(one, places) for claim, one in made.items()}
    for claim, row in rows.items():
        row["rule"] = rule_digest(rules[claim]) if rules and claim in rules else None
    return {"claims": rows, "definitions": _listed(places), "cells": cells_of(digests, seconds)}


def _row(made: Made, places: dict[tuple[str, str], int]) -> dict:
    at = sorted(places.setdefault(pair, len(places)) for pair in made.reaches.items())
    return {"run": 0, "reading": made.digest, "reaches": " ".join(map(str, at))}


def _listed(places: dict[tuple[str, str], int]) -> list[str]:
    return [f"{own} {name}" for name, own in places]


def reaches(stamp: dict, claim: str) -> dict[str, str]:
    """What a claim's reading reached when it was made: name → digest of its own text."""
    rows = [stamp["definitions"][int(at)].partition(" ") for at in stamp["claims"][claim]["reaches"].split()]
    return {name: own for own, _, name in rows}


def made_by(stamp: dict, claim: str) -> dict:
    """Versions, device, time and so on of the run that made a claim's reading."""
    number = stamp["claims"][claim]["run"]
    return stamp["later"][number - 1] if number else {key: stamp[key] for key in RUN if key in stamp}


def merge(before: dict, after: dict) -> dict:
    """The stamp of a run with the readings of a later, partial run in the place of its own.

    Both have the same parameters. What nobody refers to any more is left out; a later run that has all stands alone.
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
        at = sorted(places.setdefault(pair, len(places)) for pair in reaches(source, claim).items())
        row = source["claims"][claim] | {"run": used.index(number) + 1 if number else 0}
        claims[claim] = row | {"reaches": " ".join(map(str, at))}
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
    """A stored run of which all is current, as the present sources say it: their cells, rules and claims."""
    known = [claim for claim in digests.story.claims if claim in stamp["claims"]]
    made = provenance_of(digests, known, claims and claims.rows, {})
    for claim, row in made["claims"].items():
        row["run"] = stamp["claims"][claim]["run"]
    drawn = {name: one for name, one in stamp["pictures"].items() if digests.story.drawing(name) is not None}
    kept = {claim: stamp["readings"][claim] for claim in known if claim in stamp["readings"]}
    cells = {"cells": _merged_cells(stamp["cells"], made["cells"])}
    return seal(stamp | made | cells | {"pictures": drawn, "readings": kept})


def _merged_cells(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    """The later run's cells, in its order; those that it did not run keep the seconds that they had."""
    known = dict(entry.split() for entry in before.values() if " " in entry)
    return {name: e if " " in e or e not in known else f"{e} {known[e]}" for name, e in after.items()}


def seconds_of(stamp: dict, digests: ChapterDigests) -> dict[int, float]:
    """Cell number → the seconds that it took, by its digest, else by its name; cells that are unknown are absent.

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
