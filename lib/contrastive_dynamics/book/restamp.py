"""Once: stored results that one hash over a whole chapter tied to its code get a digest for each claim.

`python -m contrastive_dynamics.book.restamp TABLE` in a clean checkout: every old hash is held against the code, and if
all fit, new stamps replace the old ones. Readings, versions, device and time stay as they are; the new stamp names the
commit, the old hash and the algorithm. TABLE gets each old hash beside the digests that take its place.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

from .claims import Claims
from .digests import ALGORITHM, ChapterDigests
from .display import show_sample
from .errors import BookError
from .library import Library
from .notebooks import _plain_png, write
from .results import _present_hash, notebook_stamp
from .slices import Story
from .sources import ChapterFiles, chapter_names, find_root
from .stamps import FORMAT, pictures_of, provenance_of, seal
from .statistics import FAMILY_LEVEL, Sample

OPENING = 3  # the number of the cell that opens a chapter, whose seconds come first


def restamped(files: ChapterFiles, story: Story, old: dict, sums: dict[str, str], commit: str) -> dict:
    """The new form of one stamp; raises BookError if the present code did not make it."""
    if old["hash"] != _present_hash(files, old):
        raise BookError(f"{files.name}, {old['profile']}: the hash does not fit the code; run it again")
    digests, rules = ChapterDigests(story, old["parameters"]), Claims.load(files.claims).rows
    seconds = dict(enumerate(old["cell_seconds"], OPENING))
    readings = {c: old["readings"][c] for c in story.claims if c in old["readings"]}
    old = old | {"parameters": {k: old["parameters"][k] for k in story.parameters}}
    kept = {k: old[k] for k in ("chapter", "profile", "data", "parameters", "versions", "device", "seconds")}
    made = provenance_of(digests, story.claims, rules if old.get("rules_read", True) else None, seconds)
    return seal(
        {"format": FORMAT, "algorithm": ALGORITHM} | kept
        | {k: old[k] for k in ("peak_mb", "time")}
        | {"restamped": {"commit": commit, "hash": old["hash"], "algorithm": ALGORITHM}}
        | made | {"pictures": pictures_of(digests, sums), "later": []}
        | {"readings": readings}
    )  # fmt: skip


def _ordered(old: dict, claims: Claims, shown: dict[str, str]) -> dict:
    """The readings with the cases of each claim in the order in which its line has them: the notebook sorted them."""
    labels, found = {"mended form": "mended", "outside the conditions": "outside", "planted case": "planted"}, {}
    for claim, arms in old["readings"].items():
        row = claims.rows[claim]
        level = FAMILY_LEVEL / claims.by_chance if row.by_chance else FAMILY_LEVEL
        for part in shown.get(claim, "").split(" | ")[1:-1]:
            label = next(w for w in ("observed", "control", *labels) if part.startswith(w))
            arm, text = labels.get(label, label), part[len(label) :] + ";"
            places = {
                case: text.index(f" {case + ' ' if case else ''}{show_sample(Sample.of(value), level)};")
                for case, value in arms[arm].items()
            }
            arms = arms | {arm: {case: arms[arm][case] for case in sorted(places, key=places.get)}}
        found[claim] = {
            arm: arms[arm] for arm in ("observed", "control", "mended", "outside", "planted") if arm in arms
        }
    return old | {"readings": found}


def _notebook(files: ChapterFiles, story: Story, commit: str) -> dict:
    import base64

    import nbformat

    notebook = nbformat.read(files.notebook, as_version=4)
    outputs = [o for cell in notebook.cells for o in cell.get("outputs", [])]
    shown = {o.metadata["scrapbook"]["name"]: o.data["image/png"] for o in outputs if "image/png" in o.get("data", {})}
    sums = {n: hashlib.sha256(base64.b64decode(_plain_png(text))).hexdigest() for n, text in shown.items()}
    texts = [o.data["text/plain"] for o in outputs if "text/html" in o.get("data", {})]
    lines = {text.partition(":")[0]: text for text in texts if ": rule " in text}
    old = _ordered(notebook_stamp(files.notebook), Claims.load(files.claims), lines)
    new = restamped(files, story, old, sums, commit)
    place = next(o for o in reversed(outputs) if "application/vnd.clbook+json" in o.get("data", {}))
    place["data"]["application/vnd.clbook+json"] = json.dumps(new, ensure_ascii=False)
    write(notebook, files.notebook)
    return new


def _record(files: ChapterFiles, story: Story, path: Path, commit: str) -> list[dict]:
    record = json.loads(path.read_text(encoding="utf-8"))
    pictures = sorted(path.with_suffix("").glob("*.png"))
    sums = {p.stem: hashlib.sha256(p.read_bytes()).hexdigest() for p in pictures}
    stamps = [restamped(files, story, record["run"], sums, commit)]
    stamps += [restamped(files, story, old, {}, commit) for old in record.get("other_seeds", [])]
    content = {"run": stamps[0], "other_seeds": stamps[1:]}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return stamps


def main(table: Path) -> None:
    root, library = find_root(), Library()
    commit = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    dirty = subprocess.run(["git", "-C", str(root), "status", "--porcelain", "-uno"], capture_output=True, text=True)
    if dirty.stdout.strip():
        raise BookError("the checkout is not clean")
    rows = []
    for name in chapter_names(root):
        files = ChapterFiles(root, name)
        story = Story(files, library)
        runs = {f"chapters/{name}.ipynb": [_notebook(files, story, commit.stdout.strip())]}
        for path in sorted(files.record("x").parent.glob("*.json")):
            runs[f"records/{name}/{path.name}"] = _record(files, story, path, commit.stdout.strip())
        for where, stamps in runs.items():
            for stamp in stamps:
                claims = {claim: stamp["claims"][claim]["reading"] for claim in stamp["readings"]}
                rows.append({"where": where, "hash": stamp["restamped"]["hash"], "claims": claims})
    content = {"commit": commit.stdout.strip(), "algorithm": ALGORITHM, "runs": rows}
    table.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"{sum(len(row['claims']) for row in rows)} readings of {len(rows)} runs")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
