"""A sweep of a small chapter whose client, workers and scheduler are killed at random moments, again and again.

    python benchmarks/sweep_kills.py --points 1000 --kills 50 --out records/benchmarks/sweep-kills.json

Two workers run the points. Every few seconds one process is killed (SIGKILL), whichever chance decides, and what has
ended is started again, as a reader or a batch system would. At the end each point must have its result, and no point
may have begun again once it had one; points that were under way when something was killed may. The status is 1 if not.

A Jupyter kernel takes seconds to start, which a thousand points cannot afford, so the workers run a notebook's cells
themselves (`without_kernel.py`); everything else is the sweep's own code. `--kernels` gives each point its kernel.
"""

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

HERE, ROOT = Path(__file__).resolve().parent, Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("tests/tools", "", "lib")]
from checkout import import_path  # noqa: E402
from measuring import arguments, command_line, machine, report  # noqa: E402
from stand_in import SOURCE, build_stand_in  # noqa: E402

LOG = "import os, time\nopen(os.environ['KILLS_LOG'], 'a').write(f'{first_seed} {time.time_ns()}\\n')\n"
LOG += "time.sleep(0.8)  # as if it computed\n"
SHORT = SOURCE.replace("import torch\n", "").replace("from contrastive_dynamics.losses.activations", "# not")
SHORT = SHORT.replace('ACTIVATIONS["relu"].h(torch.tensor(2.0 * scale)).item()', "2.0 * scale")
SHORT = SHORT.replace('ACTIVATIONS["relu"].h(torch.tensor(-scale)).item()', "0.0").replace("double =", LOG + "double =")
KINDS = ("client", "worker 1", "worker 2", "scheduler")
TOGETHER = 5  # seconds in which two workers may both begin a point that has no result yet


class Processes:
    """Client, workers and scheduler of one sweep, each started again when it has ended."""

    def __init__(self, folder: Path, points: int, kernels: bool):
        address, module = str(folder / "scheduler.json"), [sys.executable, "-m"]
        dask = [*module, "dask", "worker", "--scheduler-file", address, "--nthreads", "1", "--no-nanny"]
        worker = [*dask, "--no-dashboard", "--death-timeout", "30", "--local-directory", str(folder)]
        worker += [] if kernels else ["--preload", str(HERE / "without_kernel.py")]
        sweep = [*module, "clbook", "sweep", "stand-in", "--grid", f"first_seed=0..{points - 1}"]
        self.commands = {
            "scheduler": [*module, "dask", "scheduler", "--port", "0", "--scheduler-file", address, "--no-dashboard"],
            "worker 1": worker,
            "worker 2": worker,
            "client": [*sweep, "--scheduler", address, "--out", str(folder / "sweep")],
        }
        self.address, self.running, self.said = Path(address), {}, (folder / "said.txt").open("a")
        self.ended: Counter = Counter()  # by themselves, by kind and status

    def start(self) -> None:
        """Start what does not run; nothing but the scheduler before the scheduler's address is known."""
        for kind, command in self.commands.items():
            before = self.running.get(kind)
            if before and before.poll() is None:
                continue
            if before and before.returncode != -signal.SIGKILL:
                self.ended[f"{kind.split()[0]} {before.returncode}"] += 1
            if kind == "scheduler":
                self.address.unlink(missing_ok=True)
            elif not self.address.exists():
                continue
            self.running[kind] = subprocess.Popen(command, stdout=self.said, stderr=self.said)

    def kill(self, kind: str) -> None:
        self.running[kind].send_signal(signal.SIGKILL)
        self.running[kind].wait()

    def end(self) -> None:
        for kind in self.running:  # a worker without a scheduler would wait for it
            self.kill(kind)


def results(folder: Path) -> list[Path]:
    """The files that a finished point has, and no other."""
    return list((folder / "sweep").glob("runs/[!.]*/run.json"))


def disturb(processes: Processes, folder: Path, kills: int, seconds: float, chance: random.Random) -> Counter:
    """Run the sweep to its end; returns how often which kind of process was killed.

    Only kills while a point is under way count, or a process that has barely started would be killed again and again.
    """
    killed: Counter = Counter()
    following, told, log = time.monotonic() + seconds, time.monotonic(), folder / "log"
    begun = log.stat().st_size
    while True:
        processes.start()
        time.sleep(0.1)
        client = processes.running.get("client")
        if client and client.poll() == 0:
            return killed
        if time.monotonic() > told + 30:
            told = time.monotonic()
            print(f"{len(results(folder))} results, killed {killed.total()}", file=sys.stderr, flush=True)
        under_way = log.stat().st_size > begun
        if killed.total() < kills and time.monotonic() > following and under_way:
            kind = chance.choice([kind for kind in KINDS if processes.running[kind].poll() is None])
            processes.kill(kind)
            killed[kind.split()[0]] += 1
            begun, following = log.stat().st_size, time.monotonic() + chance.uniform(0.5, 2) * seconds


def judge(folder: Path, points: int) -> dict:
    """Count the points that have a result, the beginnings, and those that came after a result."""
    begun, late = Counter(), []
    done = {}
    for path in results(folder):  # the folder's own time is that of its move into place
        done[json.loads(path.read_text())["parameters"]["first_seed"]] = path.parent.stat().st_ctime_ns
    for line in (folder / "log").read_text().splitlines():
        seed, at = map(int, line.split())
        begun[seed] += 1
        late += [at - done[seed]] if seed in done and at > done[seed] else []
    table = list(csv.DictReader((folder / "sweep" / "table.csv").open()))
    return {
        "points": points,
        "results": len(done),
        "done_in_the_table": sum(row["status"] == "done" for row in table),
        "begun_again": sum(count - 1 for count in begun.values()),
        "begun_while_another_ended": sum(gap <= TOGETHER * 1e9 for gap in late),
        "begun_after_a_result": sum(gap > TOGETHER * 1e9 for gap in late),
        "left_half_written": len(list((folder / "sweep").glob("runs/.*"))),
    }


def main() -> int:
    parser = command_line(__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10.0, help="about so long between two kills")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernels", action="store_true", help="a Jupyter kernel for each point")
    args = arguments(parser)
    with tempfile.TemporaryDirectory(prefix="kills-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        path = f"{import_path()}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        os.environ |= {"CLBOOK_ROOT": scratch, "KILLS_LOG": str(folder / "log"), "PYTHONPATH": path}
        build_stand_in(folder, source=SHORT)
        (folder / "log").write_text("")
        processes, began = Processes(folder, args.points, args.kernels), time.monotonic()
        try:
            killed = disturb(processes, folder, args.kills, args.seconds, random.Random(args.seed))
        finally:
            processes.end()
        found = judge(folder, args.points)
    found |= {"kernels": args.kernels, "killed": dict(killed), "ended_by_themselves": dict(processes.ended)}
    found["seconds"] = round(time.monotonic() - began)
    report(f"{found}", found | machine(args.device), args.out)
    whole = found["results"] == found["done_in_the_table"] == args.points
    return 0 if whole and not found["begun_after_a_result"] and killed.total() >= args.kills else 1


if __name__ == "__main__":
    sys.exit(main())
