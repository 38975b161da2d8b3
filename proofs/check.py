"""Checks every proof of this folder and its false twin: `python check.py`. Nothing of the book is imported.

Each line says the file, `ok`, `FAILED` or `not checked`, the seconds, and on what the proof rests. The exit status is 0
only if every file is `ok`. A proof counts if its prover accepts it, nothing in it is admitted, it rests on no axiom but
those of Coq's real numbers, and, in Python, its `proof` and its `twin` assert something: what only prints is no proof.

Needs Python 3.11 and, for most Python files, sympy; for the `.v` files Coq 8.16 with MathComp 1.15 and Coquelicot 3.2
(Debian 12: apt-get install --no-install-recommends coq libcoq-mathcomp-algebra libcoq-mathcomp-algebra-tactics
libcoq-coquelicot). `--python` checks the Python files alone, `--log FILE` keeps the outcome with date and versions,
names check a few files.
"""

import argparse
import ast
import datetime
import graphlib
import hashlib
import importlib.metadata
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
COQ = "8.16"  # names of lemmas change from one version to the next
NOT_PROVED = re.compile(
    r"\b(Admitted|admit|give_up|Abort|Axioms?|Parameters?|Conjectures?|Unset\s+\w+\s+Checking|bypass_check)\b"
)
OPENING = re.compile(r"^(?:Theorem|Lemma|Corollary|Fact)\s+([\w']+)", re.M)
REALS = {
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}
MISSING = {"mathcomp": "MathComp", "Coquelicot": "Coquelicot"}
OK, FAILED, NOT_CHECKED = "ok", "FAILED", "not checked"


def without_comments(text):
    """The text of a Coq file less its comments, which may lie in each other."""
    kept, depth = [], 0
    for part in re.split(r"(\(\*|\*\))", text):
        opens, closes = part == "(*", part == "*)" and depth > 0
        if not depth and not opens:
            kept.append(part)
        depth += opens - closes
    return "".join(kept)


def run(command, folder, limit):
    """What a command has said and whether it succeeded; None for a command that was ended after `limit` seconds."""
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None


def last_line(text, otherwise):
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else otherwise


# Coq


def version_of_coq():
    """Such as 8.16.1; empty where there is no `coqc`."""
    if not shutil.which("coqc"):
        return ""
    found = re.search(r"version (\S+)", subprocess.run(["coqc", "--version"], capture_output=True, text=True).stdout)
    return found[1] if found else "unknown"


def needs(path):
    """The files of this folder that a Coq file requires."""
    text = without_comments(path.read_text(encoding="utf-8"))
    words = " ".join(
        re.findall(r"^(?:From\s+\S+\s+)?Require(?:\s+(?:Import|Export))?\s+([^.]*)\.\s", text, re.M)
    ).split()
    return [path.with_name(f"{word}.v") for word in words if path.with_name(f"{word}.v").exists()]


def assumed(said):
    """The axioms that `Print Assumptions` names."""
    blocks = said.split("Axioms:")[1:]
    return {line.split()[0] for block in blocks for line in block.splitlines() if line[:1].strip()} - {"Closed"}


def check_coq(path, folder, limit):
    text = without_comments(path.read_text(encoding="utf-8"))
    if bad := NOT_PROVED.search(text):
        return FAILED, f"{bad[0]}: not proved"
    if not (theorems := OPENING.findall(text)):
        return FAILED, "states no theorem"
    if not (version := version_of_coq()):
        return NOT_CHECKED, "coqc is missing"
    asks = "".join(f"\nPrint Assumptions {name}." for name in theorems)
    (folder / path.name).write_text(path.read_text(encoding="utf-8") + asks + "\n", encoding="utf-8")
    found = run(["coqc", "-w", "none", path.name], folder, limit)
    if found is None:
        return NOT_CHECKED, f"gave up after {limit} s"
    if found.returncode:
        return explained(last_line(found.stderr, "rejected"), found.stderr, version)
    if others := assumed(found.stdout) - REALS:
        return FAILED, f"rests on {', '.join(sorted(others))}"
    return OK, f"Coq {version}, {'the axioms of the real numbers' if assumed(found.stdout) else 'no axioms'}"


def explained(line, errors, version):
    """Whether a file that Coq does not accept is wrong, or something that it needs is missing or of another version."""
    for name, title in MISSING.items():
        if re.search(rf"(logical path|library|prefix)\s+{name}", errors):
            return NOT_CHECKED, f"{title} is missing"
    if not f"{version}.".startswith(f"{COQ}."):
        return NOT_CHECKED, f"written for Coq {COQ}, this is {version}: {line}"
    where = re.search(r"line (\d+), characters", errors)
    return FAILED, f"line {where[1]}: {line}" if where else line


# Python


def asserts(function):
    """Whether a function, or one that it holds, asserts something that is not a constant."""
    return any(isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant) for node in ast.walk(function))


def check_python(path, limit):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name in ("proof", "twin"):
        if name not in functions or not asserts(functions[name]):
            return FAILED, f"its {name} asserts nothing"
    command = f"import runpy; m = runpy.run_path({str(path)!r}); m['proof'](); print(m['twin']())"
    found = run(
        [sys.executable, "-E", "-c", command], HERE, limit
    )  # -E: no PYTHONOPTIMIZE, which drops what is asserted
    if found is None:
        return NOT_CHECKED, f"gave up after {limit} s"
    if missing := re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", found.stderr):
        return NOT_CHECKED, f"{missing[1]} is missing"
    if found.returncode:
        return FAILED, f"{failed_at(found.stderr, path)}{last_line(found.stderr, 'failed')}"
    return OK, f"twin: {last_line(found.stdout, '')}"


def failed_at(errors, path):
    lines = re.findall(rf'{re.escape(str(path))}", line (\d+)', errors)
    return f"line {lines[-1]}: " if lines else ""


# all files


def in_order(paths):
    """Each Coq file after what it requires, then the Python files."""
    coq = [path for path in paths if path.suffix == ".v"]
    sorter = graphlib.TopologicalSorter({path: needs(path) for path in coq})
    return [*sorter.static_order(), *(path for path in paths if path.suffix == ".py")]


def by(path, said):
    """What has checked a file: Coq and its axioms, or Python with sympy where the file uses it."""
    if path.suffix == ".v":
        return said
    uses = "import sympy" in path.read_text(encoding="utf-8")
    return f"Python {platform.python_version()}" + (f", sympy {importlib.metadata.version('sympy')}" if uses else "")


def libraries():
    """The versions of Coq's libraries, where dpkg knows them."""
    names = ["libcoq-mathcomp-algebra", "libcoq-mathcomp-algebra-tactics", "libcoq-coquelicot"]
    asked = (
        run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *names], HERE, 60)
        if shutil.which("dpkg-query")
        else None
    )
    return dict(line.split() for line in (asked.stdout.splitlines() if asked else ()) if len(line.split()) == 2)


def kept(outcomes, path):
    """The log: what was checked now, and of what could not be checked now what an earlier log says of the same file."""
    files = json.loads(path.read_text(encoding="utf-8"))["files"] if path.exists() else {}
    earlier = {name: one for name, one in files.items() if (HERE / name).exists()}
    for name, one in outcomes.items():
        if one["outcome"] != NOT_CHECKED or earlier.get(name, {}).get("sum") != one["sum"]:
            earlier[name] = one
    return {"libraries": libraries(), "files": dict(sorted(earlier.items()))}


def check_all(paths, limit):
    """File → outcome, printed as it comes."""
    outcomes = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in in_order(paths):
            began = time.perf_counter()
            coq = path.suffix == ".v"
            outcome, said = check_coq(path, Path(folder), limit) if coq else check_python(path, limit)
            seconds = round(time.perf_counter() - began, 1)
            print(f"{path.name:22} {outcome:11} {seconds:6.1f} s  {said}", flush=True)
            total = hashlib.sha256(path.read_bytes()).hexdigest()
            outcomes[path.name] = {"outcome": outcome, "seconds": seconds, "said": said, "sum": total}
            if outcome == OK:
                outcomes[path.name] |= {"date": datetime.date.today().isoformat(), "by": by(path, said)}
    return outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="files to check, with what they require; all if none is named")
    parser.add_argument("--python", action="store_true", help="the Python files alone")
    parser.add_argument("--log", type=Path, help="a file for the outcome, with versions and date, as JSON")
    parser.add_argument(
        "--limit", type=int, default=600, help="seconds for a file, also on a busy machine (default: 600)"
    )
    given = parser.parse_args()
    every = sorted([*HERE.glob("*.v"), *HERE.glob("*.py")])
    paths = [path for path in every if path != Path(__file__) and (not given.names or path.name in given.names)]
    if unknown := set(given.names) - {path.name for path in paths}:
        parser.error(f"no such proof: {', '.join(sorted(unknown))}")
    outcomes = check_all([path for path in paths if path.suffix == ".py" or not given.python], given.limit)
    counts = {word: sum(one["outcome"] == word for one in outcomes.values()) for word in (OK, FAILED, NOT_CHECKED)}
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    if given.log:
        log = json.dumps(kept(outcomes, given.log), indent=1, ensure_ascii=False)
        given.log.write_text(f"{log}\n", encoding="utf-8")
    return 0 if outcomes and counts[OK] == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
