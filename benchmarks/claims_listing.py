"""The listing of all claims (`clbook claims`): processor time in a fresh process, and how often it calls what is dear.

    python benchmarks/claims_listing.py --out records/benchmarks/claims-listing.json
    python benchmarks/claims_listing.py --book OTHER_CHECKOUT

The first process finds no digests of an earlier one, the later ones do. Counts come from another first one, under a
profiler. `--book` measures another checkout with the same program, such as an earlier commit.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPEATS = 3
COUNTED = {  # file and name of a function -> what its calls are
    ("statistics.py", "interval"): "intervals",
    ("_stats_py.py", "sem"): "standard errors by scipy.stats",
    ("composer.py", "compose_node"): "nodes of YAML composed in Python",
    ("syntax.py", "spell"): "definitions and statements spelled",
    ("claim_table.py", "parse"): "rows read",
}
LOAD = "from clbook.notebook.results import load_results; load_results()"
TIMED = f"import time; {LOAD}; print(time.process_time())"
PROFILED = f"""import cProfile, json, pstats
profile = cProfile.Profile()
profile.runcall(exec, {LOAD!r})
rows = pstats.Stats(profile).stats.items()
print(json.dumps([[file.replace(chr(92), "/").rpartition("/")[2], name, of[1]] for (file, _, name), of in rows]))"""


def run(program: str, book: Path, kept: str) -> str:
    """What a program prints in a fresh process that reads a checkout of the book; `kept` is its folder of digests."""
    source = next(place for place in (book / "lib", book) if (place / "clbook").is_dir())
    surroundings = os.environ | {"PYTHONPATH": str(source), "CLBOOK_ROOT": str(book), "XDG_CACHE_HOME": kept}
    return subprocess.run(
        [sys.executable, "-c", program], env=surroundings, capture_output=True, text=True, check=True
    ).stdout


def measure(book: Path) -> dict:
    """Processor seconds of a first process, the least of REPEATS later ones, and the first one's counted calls."""
    with tempfile.TemporaryDirectory() as kept:
        first, *later = (float(run(TIMED, book, kept)) for _ in range(1 + REPEATS))
    calls = {(file, name): 0 for file, name in COUNTED}
    with tempfile.TemporaryDirectory() as kept:
        for file, name, count in json.loads(run(PROFILED, book, kept)):
            calls[file, name] = calls.get((file, name), 0) + count
    seconds = {"the first process": round(first, 1), "later ones": round(min(later), 1)}
    return {"processor_seconds": seconds, "calls": {what: calls[key] for key, what in COUNTED.items()}}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--book", type=Path, default=ROOT, help="a checkout of the book")
    parser.add_argument("--out", type=Path, help="where the result is stored, as JSON")
    options = parser.parse_args()
    result = json.dumps(measure(options.book.resolve()), indent=1)
    print(result)
    if options.out:
        options.out.write_text(result + "\n", encoding="utf-8")
