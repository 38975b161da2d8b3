"""What the last runs of pytest skipped and why, in one table: `python tests/tools/skipped.py`, after `make test`.

`tests/conftest.py` keeps the counts in pytest's cache, a run of `tests` and one of `tests/deep` apart.
"""

import json
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".pytest_cache" / "v" / "skipped"


def reasons(reports) -> Counter[str]:
    """How often each reason occurs; a report's `longrepr` is file, line and reason."""
    return Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)


def table(runs: dict[str, dict[str, int]]) -> str:
    """Name of a run → reason → count, as lines to print."""
    rows = [(count, name, why) for name, counts in runs.items() for why, count in counts.items()]
    total = f"{sum(count for count, _, _ in rows)} tests were skipped"
    lines = [f"{count:6}  {name:10}  {why}" for count, name, why in sorted(rows, key=lambda row: (-row[0], row))]
    return "\n".join([f"{total}:" if rows else f"{total}.", *lines])


if __name__ == "__main__":
    print(table({path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*"))}))
