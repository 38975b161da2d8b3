"""All claims as data: `claims.json` with everything, `claims.csv` with one row per claim."""

import csv
import io
import json

from ..notebook.claim_result import ClaimResult
from .claim_marks import one_line
from .claim_words import explanation, show_arm, show_intervals

COLUMNS = (
    "id",
    "paper",
    "chapter",
    "locator",
    "kind",
    "statement",
    "verdict",
    "explanation",
    "profile",
    "data",
    "rule",
    "expected",
    "observed",
    "interval",
    "beyond",
    "by_chance",
    "stale",
    "reading",
)


def claims_csv(results: list[ClaimResult]) -> str:
    """One row per claim, in the words of the claims page."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for result in results:
        row, run = result.to_json(), result.run or {}
        row |= {key: one_line(row[key]) for key in ("locator", "statement", "rule", "expected", "profile")}
        writer.writerow(
            row
            | {
                "explanation": explanation(result),
                "observed": show_arm(result.arm("observed")),
                "interval": show_intervals(result.interval),
                "stale": run.get("stale", ""),
                "reading": run.get("reading", ""),
            }
        )
    return buffer.getvalue()


def claims_json(results: list[ClaimResult]) -> str:
    """Every field of every claim, one claim per line; what all claims of a run share stands once, under `runs`."""
    runs: dict[str, dict] = {}
    rows = []
    for result in results:
        row = result.to_json() | {"explanation": explanation(result)}
        if run := result.run:
            runs.setdefault(f"{result.chapter}/{result.profile}", {"parameters": run.get("parameters")})
            row["run"] = {key: value for key, value in run.items() if key != "parameters"}
        rows.append(json.dumps(row, ensure_ascii=False))
    lines = ",\n".join(rows)
    return f'{{"runs": {json.dumps(runs, ensure_ascii=False)},\n"claims": [\n{lines}\n]}}\n'
