"""A sweep of a small chapter whose client, workers and scheduler are killed at random moments, again and again.

    python benchmarks/sweep_kills.py --points 1000 --kills 50

Two workers run the points. Every few seconds one process is killed (SIGKILL), whichever chance decides, and what has
ended is started again, as a reader or a batch system would. At the end each point must have its result, and no point
may have begun again once it had one; points that were under way when something was killed may. The status is 1 if not.
"""

import argparse
import csv
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
from stand_in import SOURCE, build_stand_in  # noqa: E402

LOG = "import os, time\nopen(os.environ['KILLS_LOG'], 'a').write(f'{first_seed} {time.time_ns()}\\n')\n"
SHORT = SOURCE.replace("import torch\n", "").replace("from contrastive_dynamics.losses.activations", "# not")
SHORT = SHORT.replace('ACTIVATIONS["relu"].h(torch.tensor(2.0 * scale)).item()', "2.0 * scale")
SHORT = SHORT.replace('ACTIVATIONS["relu"].h(torch.tensor(-scale)).item()', "0.0").replace("double =", LOG + "double =")
KINDS = ("client", "worker 1", "worker 2", "scheduler")


class Processes:
    """Client, workers and scheduler of one sweep, each started again when it has ended."""

    def __init__(self, folder: Path, points: int):
        address, module = str(folder / "scheduler.json"), [sys.executable, "-m"]
        dask = [*module, "dask", "worker", "--scheduler-file", address, "--nthreads", "1", "--no-nanny"]
        worker = [*dask, "--no-dashboard", "--death-timeout", "30", "--local-directory", str(folder)]
        sweep = [*module, "clbook", "sweep", "stand-in", "--grid", f"first_seed=0..{points - 1}"]
        self.commands = {
            "scheduler": [*module, "dask", "scheduler", "--port", "0", "--scheduler-file", address, "--no-dashboard"],
            "worker 1": worker,
            "worker 2": worker,
            "client": [*sweep, "--scheduler", address, "--out", str(folder / "sweep")],
        }
        self.address, self.running, self.errors = Path(address), {}, (folder / "errors.txt").open("a")

    def start(self) -> None:
        """Start what does not run; nothing but the scheduler before the scheduler's address is known."""
        for kind, command in self.commands.items():
            if kind in self.running and self.running[kind].poll() is None:
                continue
            if kind == "scheduler":
                self.address.unlink(missing_ok=True)
            elif not self.address.exists():
                continue
            self.running[kind] = subprocess.Popen(command, stdout=self.errors, stderr=self.errors)

    def kill(self, kind: str) -> None:
        self.running[kind].send_signal(signal.SIGKILL)
        self.running[kind].wait()

    def end(self) -> None:
        for kind in self.running:  # a worker without a scheduler would wait for it
            self.kill(kind)


def disturb(processes: Processes, kills: int, seconds: float, chance: random.Random) -> Counter:
    """Run the sweep to its end; returns how often which kind of process was killed."""
    killed: Counter = Counter()
    following = time.monotonic() + seconds
    while True:
        processes.start()
        time.sleep(0.2)
        client = processes.running.get("client")
        if client and client.poll() == 0:
            return killed
        if killed.total() < kills and time.monotonic() > following:
            kind = chance.choice([kind for kind in KINDS if kind in processes.running])
            processes.kill(kind)
            killed[kind.split()[0]] += 1
            following = time.monotonic() + chance.uniform(0.5, 2) * seconds


def judge(folder: Path, points: int) -> dict:
    """Count the points that have a result, the beginnings, and those that came after a result."""
    begun, late = Counter(), 0
    results = {}
    for path in (folder / "sweep").glob("runs/[!.]*/run.json"):
        results[json.loads(path.read_text())["parameters"]["first_seed"]] = path.stat().st_mtime_ns
    for line in (folder / "log").read_text().splitlines():
        seed, at = map(int, line.split())
        begun[seed] += 1
        late += seed in results and at > results[seed]
    table = list(csv.DictReader((folder / "sweep" / "table.csv").open()))
    done = sum(row["status"] == "done" for row in table)
    again = sum(count - 1 for count in begun.values())
    return {"points": points, "results": len(results), "in the table": done, "begun again": again, "after": late}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0, help="about so long between two kills")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        path = f"{ROOT / 'lib'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        os.environ |= {"CLBOOK_ROOT": scratch, "KILLS_LOG": str(folder / "log"), "PYTHONPATH": path}
        build_stand_in(folder, source=SHORT)
        (folder / "log").write_text("")
        processes, began = Processes(folder, args.points), time.monotonic()
        try:
            killed = disturb(processes, args.kills, args.seconds, random.Random(args.seed))
        finally:
            processes.end()
        found = judge(folder, args.points)
    print(f"{time.monotonic() - began:.0f} s, killed {dict(killed)}: {found}")
    whole = found["results"] == found["in the table"] == args.points
    return 0 if whole and not found["after"] and killed.total() >= args.kills else 1


if __name__ == "__main__":
    sys.exit(main())
