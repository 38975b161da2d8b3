"""Stamps, the stored form of a run: readings, what each depends on, checksums of pictures, and a seal over it all.

Keys of a stamp:

- `chapter`, `profile`, `data`, `parameters`;
- `readings`: claim → arms;
- `claims`: claim → the digests of its reading and its rule, what it reaches as indices into `definitions`, the number
  of its run, and in stored runs `judged`: rule, verdict, number of `changed` entries and regime (`rule_changes`); a
  claim that was not judged, being out of its regime, is listed here but not in `readings`;
- `definitions`: digest of its text and name; `cells`: cell in words → digest and seconds; `pictures`: name → checksum,
  digest, and for an animation the checksum `moving` of its file; `shown`, in a committed notebook: number of a code
  cell → digest of its other outputs;
- for the run itself, number 0, `versions`, `device`, `capability`, `blas`, `threads`, `seconds`, `peak_mb`, `time`;
  the same under `later` for runs that measured some claims later, numbered from 1.

The seal detects accidental changes; `clbook verify` detects deliberate ones.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable

from ..claims.claim_table import Claims
from ..claims.judging import Reading
from ..common.errors import BookError
from ..common.formats import STAMP, fitting
from .digests import ALGORITHM, SHORT, ChapterDigests, Provenance, label, rule_digest
from .library import sha
from .slices import ChapterCode

FORMAT = 2
_PIECE = re.compile(r"\bchapter\.(?:library_)?piece\(")  # keeps what it computes for a run that goes on later
MIME = "application/vnd.clbook+json"  # of the notebook output that carries a stamp
# what a stamp says of its run
RUN = ("versions", "device", "capability", "blas", "threads", "seconds", "peak_mb", "time")


def seal(stamp: dict) -> dict:
    """The stamp with a digest of all its other entries as `seal`."""
    content = {key: value for key, value in stamp.items() if key != "seal"}
    return content | {"seal": sha(json.dumps(content, sort_keys=True))}


def check(stamp: object, where: str) -> dict:
    """Return a stamp unchanged if it is complete, intact and of this format; raises BookError otherwise."""
    if not isinstance(stamp, dict) or "readings" not in stamp:
        raise BookError(f"{where}: holds no stored run")
    if stamp.get("format") != FORMAT or stamp.get("algorithm") != ALGORITHM:
        got = f"format {stamp.get('format', 1)}, algorithm {stamp.get('algorithm', 0)}"
        raise BookError(f"{where}: {got}; this code reads format {FORMAT}, algorithm {ALGORITHM}: run it again")
    if seal(stamp)["seal"] != stamp.get("seal"):
        raise BookError(f"{where}: does not fit its seal, so it was changed by hand or damaged: run it again")
    fitting(stamp, STAMP, where)
    if (data := stamp["parameters"].get("data", "generated")) != stamp["data"]:
        raise BookError(f"{where}: damaged: data is {stamp['data']!r}, its parameter {data!r}; {STAMP.remedy}")
    for claim, arms in stamp["readings"].items():
        try:
            Reading.of(**arms)
        except (ValueError, TypeError, KeyError) as error:
            raise BookError(f"{where}: damaged: readings.{claim}: {error}; {STAMP.remedy}") from None
    places = {int(at) for row in stamp["claims"].values() for at in row["reaches"].split()}
    runs = {row["run"] for row in stamp["claims"].values()}
    if max(places, default=-1) >= len(stamp["definitions"]) or max(runs, default=0) > len(stamp["later"]):
        raise BookError(f"{where}: damaged: a claim refers to a definition or a run that it lacks; {STAMP.remedy}")
    if lost := sorted(stamp["readings"].keys() - stamp["claims"].keys()):
        raise BookError(f"{where}: damaged: readings.{lost[0]} has no row in claims; {STAMP.remedy}")
    return stamp


def cells_of(digests: ChapterDigests, seconds: dict[int, float]) -> dict[str, str]:
    """Cell name → the digest of everything that it shows, and its seconds if known."""
    result: dict[str, str] = {}
    code = digests.code
    for index, unit in enumerate(code.units):
        if unit.whole:
            took = f" {seconds[unit.cell]:.2f}" if unit.cell in seconds else ""
            result[cell_name(code, index)] = digests.digest(index)[:SHORT] + took
    return result


_APPENDIX = "in the appendix, "


def cell_name(code: ChapterCode, index: int) -> str:
    """A cell's name in a stamp: its label, with a number if several cells of its notebook have the same."""
    name, part = label(code, index), code.units[index].part
    before = [n for n in code.of_notebook(part) if n < index and code.units[n].whole]
    alike = [n for n in before if label(code, n) == name]
    return f"{_APPENDIX if part else ''}{name}" + (f" ({len(alike) + 1})" if alike else "")


def pictures_of(
    digests: ChapterDigests, sums: dict[str, str], moving: dict[str, str] | None = None
) -> dict[str, dict[str, str]]:
    """Figure name → checksum of its picture, digest of the cell that draws it, checksum of an animation's file."""
    drawing = {name: digests.code.drawing(name) for name in sums}
    drawn = {name: digests.picture(at)[0] for name, at in drawing.items() if at is not None}
    files = {name: {"moving": file} for name, file in (moving or {}).items()}
    return {name: {"sum": sums[name], "digest": drawn.get(name, "")} | files.get(name, {}) for name in sums}


def provenance_of(
    digests: ChapterDigests, claims: Iterable[str], rules: dict | None, seconds: dict[int, float]
) -> dict[str, object]:
    """The entries `claims`, `definitions` and `cells` of a stamp; `rules` is None if no claims file can be read."""
    provenances = {claim: digests.claim(claim) for claim in claims}
    places: dict[tuple[str, str], int] = {}
    rows = {claim: _row(provenance, places) for claim, provenance in provenances.items()}
    for claim, row in rows.items():
        row["rule"] = rule_digest(rules[claim]) if rules and claim in rules else None
    return {"claims": rows, "definitions": _listed(places), "cells": cells_of(digests, seconds)}


def _row(provenance: Provenance, places: dict[tuple[str, str], int]) -> dict:
    return {"run": 0, "reading": provenance.digest, "reaches": _places_of(provenance.reaches, places)}


def _places_of(reached: dict[str, str], places: dict[tuple[str, str], int]) -> str:
    """Indices into `definitions` of what a reading reaches; a new definition gets the next index."""
    return " ".join(map(str, sorted(places.setdefault(pair, len(places)) for pair in reached.items())))


def _listed(places: dict[tuple[str, str], int]) -> list[str]:
    return [f"{own} {name}" for name, own in places]


def reaches(stamp: dict, claim: str) -> dict[str, str]:
    """What a claim's reading reached when it was made: name → digest of the definition's own text."""
    rows = [stamp["definitions"][int(at)].partition(" ") for at in stamp["claims"][claim]["reaches"].split()]
    return {name: own for own, _, name in rows}


def made_by(stamp: dict, claim: str) -> dict:
    """The entries `RUN` (versions, device, time …) of the run that made a claim's reading."""
    number = stamp["claims"][claim]["run"]
    return stamp["later"][number - 1] if number else {key: stamp[key] for key in RUN if key in stamp}


def of_notebooks(stamps: list[dict], *, one_run: bool = False, side_by_side: bool = False) -> dict:
    """Join the stamps of a chapter's notebooks to one; raises BookError if their parameters differ.

    The run is the first notebook's, with the seconds of all; the others' runs stand under `later` unless `one_run`.
    Its memory is the largest, or that of all if they ran `side_by_side`.
    """
    if len(stamps) == 1:
        return stamps[0]
    if any(stamp["parameters"] != stamps[0]["parameters"] for stamp in stamps):
        raise BookError(f"{stamps[0]['chapter']}: its notebooks were run with different parameters: run it again")
    result, runs, places = {"claims": {}, "readings": {}, "cells": {}, "pictures": {}}, [], {}
    for stamp in stamps:
        first = len(runs)
        runs += [{key: stamp[key] for key in RUN if key in stamp}, *stamp["later"]]
        for claim, row in stamp["claims"].items():
            placed = {"run": 0 if one_run else first + row["run"], "reaches": _places_of(reaches(stamp, claim), places)}
            result["claims"][claim] = row | placed
        for key in ("readings", "cells", "pictures"):
            result[key] |= stamp[key]
    result |= {"definitions": _listed(places), "later": [] if one_run else runs[1:]}
    result["seconds"] = round(sum(stamp["seconds"] for stamp in stamps), 1)
    result["peak_mb"] = (sum if side_by_side else max)(stamp["peak_mb"] for stamp in stamps)
    first = {key: value for key, value in stamps[0].items() if key != "shown"}  # of one notebook's cells
    return seal(first | result)


def merge(before: dict, after: dict) -> dict:
    """The stamp of a run with its readings replaced by those of a later, perhaps partial run.

    Entries to which nothing refers any longer are dropped. Raises BookError if the parameters differ.
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


def holding_only(stamp: dict, claims: Iterable[str]) -> dict:
    """The stamp, sealed, without the rows and readings of all other claims."""
    wanted = set(claims)
    kept = {key: {c: row for c, row in stamp[key].items() if c in wanted} for key in ("claims", "readings")}
    return seal(stamp | kept)


def refreshed(stamp: dict, digests: ChapterDigests, claims: Claims | None) -> dict:
    """The stamp of a run that is entirely up to date, with the digests and labels of the present sources."""
    known = [claim for claim in digests.code.claims if claim in stamp["claims"]]
    present = provenance_of(digests, known, claims and claims.rows, {})
    for claim, row in present["claims"].items():
        row["run"] = stamp["claims"][claim]["run"]
    drawn = {name: picture for name, picture in stamp["pictures"].items() if digests.code.drawing(name) is not None}
    kept = {claim: stamp["readings"][claim] for claim in known if claim in stamp["readings"]}
    cells = {"cells": _merged_cells(stamp["cells"], present["cells"])}
    return seal(stamp | present | cells | {"pictures": drawn, "readings": kept})


def _merged_cells(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    """The later run's cells; those that it did not run keep their earlier seconds."""
    known = dict(entry.split() for entry in before.values() if " " in entry)
    return {name: e if " " in e or e not in known else f"{e} {known[e]}" for name, e in after.items()}


def seconds_of(stamp: dict, digests: ChapterDigests) -> dict[int, float]:
    """Cell number → the seconds that it took, looked up by digest, then by name; unknown cells are absent.

    `digests` are those of the stamp's own parameters.
    """
    code = digests.code
    by_digest = dict(entry.split() for entry in stamp["cells"].values() if " " in entry)
    by_name = {name: entry.split()[1] for name, entry in stamp["cells"].items() if " " in entry}
    result = {}
    for at, unit in enumerate(code.units):
        if unit.whole:
            took = by_digest.get(digests.digest(at)[:SHORT]) or by_name.get(cell_name(code, at))
            result |= {unit.cell: float(took)} if took else {}
    return result


def whole_cost(stamp: dict) -> float:
    """Seconds to compute all that a stamp holds: the sum over cells, at least the run's own seconds.

    The run's are more if pieces were resumed. Notebooks of a chapter run side by side, so the longest counts.
    """
    if "side_by_side" in stamp:
        return stamp["side_by_side"]
    cells = sum(float(entry.split()[1]) for entry in stamp["cells"].values() if " " in entry)
    return max(stamp["seconds"], cells)


def run_cost(stamp: dict) -> float:
    """Seconds that `clbook run` takes for what a stamp holds, with its notebooks side by side: the longer one's.

    A record ran all cells one after another, so beside the page's own run a smaller profile would seem the dearer one.
    Where most of its cells lack their seconds (pieces were resumed), this is `whole_cost`.
    """
    took = Counter()
    for name, entry in stamp["cells"].items():
        took[name.startswith(_APPENDIX)] += float(entry.split()[1]) if " " in entry else 0
    known = took.total() > stamp["seconds"] / 2
    return max(took.values()) if len(took) > 1 and known and "side_by_side" not in stamp else whole_cost(stamp)


def seconds_of_record(stamp: dict, digests: ChapterDigests) -> dict[int, float]:
    """As `seconds_of`, for a record, whose cells lack the seconds of pieces kept from an earlier attempt.

    The run's own seconds contain these. The difference is shared equally by the cells that compute pieces, or by those
    of them without seconds of their own.
    """
    seconds = seconds_of(stamp, digests)
    missing = stamp["seconds"] - sum(seconds.values())
    pieces = [n for n, cell in enumerate(digests.code.cells) if _PIECE.search(cell.source)]
    dear = [n for n in pieces if n not in seconds] or pieces
    if not dear or missing < 0.1 * stamp["seconds"]:
        return seconds
    return seconds | {n: seconds.get(n, 0.0) + missing / len(dear) for n in dear}
