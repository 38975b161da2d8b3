"""Runs every second program and keeps what it found: `python tests/secondhand/run_all.py`; one line each.

Names after it, such as `tian_eq_9`, run these alone and leave the rest of the record as it is.

A program has `CLAIM`, `WITHIN` (the largest relative distance that its method explains) and `found()`, which gives case
→ (what it found, what the claim's sentence says). It uses numpy alone and imports nothing of this book.
"""

import datetime
import hashlib
import importlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
RECORD = HERE.parents[1] / "records" / "proofs" / "secondhand.json"
NOT_PROGRAMS = {"run_all", "test_secondhand"}


def programs():
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_PROGRAMS)


def outcome(name):
    """What one program found, with the worst relative distance over its cases."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    module = importlib.import_module(name)
    cases = {case: [float(one) for one in pair] for case, pair in module.found().items()}
    worst = max(abs(found - stated) / abs(stated) for found, stated in cases.values())
    total = hashlib.sha256((HERE / f"{name}.py").read_bytes()).hexdigest()
    made = {"claim": module.CLAIM, "worst": worst, "within": module.WITHIN, "cases": cases, "sum": total}
    return made | {"date": datetime.date.today().isoformat()}


def main():
    kept = json.loads(RECORD.read_text(encoding="utf-8"))["files"] if RECORD.exists() else {}
    outcomes = {name: one for name, one in kept.items() if sys.argv[1:] and (HERE / name).exists()}
    for name in sys.argv[1:] or programs():
        one = outcomes[f"{name}.py"] = outcome(name)
        verdict = "agrees to" if one["worst"] <= one["within"] else "DIFFERS by"
        print(f"{name:20} {one['claim']:28} {verdict} {one['worst']:.1e} (its method: {one['within']:g})", flush=True)
    record = json.dumps({"files": dict(sorted(outcomes.items()))}, indent=1, ensure_ascii=False)
    RECORD.write_text(f"{record}\n", encoding="utf-8")
    return int(any(one["worst"] > one["within"] for one in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
