"""The workflows of the forge: pinned, with few permissions, on every allowed Python; two linters, where installed."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from checkout import ROOT
from packaging.specifiers import SpecifierSet

PATHS = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in PATHS}
# `on` is a boolean in YAML 1.1
FLOWS = {name: {str(k): v for k, v in yaml.safe_load(text).items()} for name, text in TEXTS.items()}
PINNED = re.compile(r"[\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+")
WRITES = {("pages.yml", "deploy", "pages"), ("pages.yml", "deploy", "id-token")}


def jobs() -> list[tuple[str, str, dict]]:
    return [(name, job, body) for name, flow in FLOWS.items() for job, body in flow["jobs"].items()]


def unpinned(text: str) -> list[str]:
    """Actions of others that are not named by a commit with its version beside it."""
    used = re.findall(r"^\s*(?:- )?uses:\s*(.*)$", text, re.MULTILINE)
    return [one for one in used if not one.startswith("./") and not PINNED.fullmatch(one)]


def test_the_workflows_are_these():
    assert list(TEXTS) == ["deep.yml", "newest.yml", "pages.yml", "test.yml"]


def test_actions_are_pinned_by_commit():
    assert {name: unpinned(text) for name, text in TEXTS.items()} == dict.fromkeys(TEXTS, [])


@pytest.mark.parametrize(
    "used", ["actions/checkout@v7", f"a/b@{'0' * 40}", f"a/b@{'0' * 39}  # v1.0.0", "a/b@main  # v1.0.0"]
)
def test_an_action_without_a_commit_or_its_version_is_caught(used):
    assert unpinned(f"    - uses: {used}\n") == [used]


def test_one_action_has_one_commit_in_all_files():
    found = {tuple(u.split("@")) for text in TEXTS.values() for u in re.findall(r"uses: (\S+@\S+)", text)}
    assert len(found) == len(dict(found)) == 5


def test_nothing_is_permitted_but_reading_and_the_deployment():
    assert {name: flow["permissions"] for name, flow in FLOWS.items()} == dict.fromkeys(FLOWS, {})
    asked = {(name, job, what): how for name, job, body in jobs() for what, how in body["permissions"].items()}
    assert {where for where, how in asked.items() if how != "read"} == WRITES
    checkouts = [s for _, _, body in jobs() for s in body.get("steps", []) if "checkout" in s.get("uses", "")]
    assert [s["with"] for s in checkouts] == 5 * [{"persist-credentials": False}]
    assert "secrets." not in "".join(TEXTS.values())


def test_pythons_are_those_that_the_project_allows():
    allowed = SpecifierSet(
        tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    )
    pythons = [f"3.{minor}" for minor in range(40) if allowed.contains(f"3.{minor}.0")]
    assert FLOWS["test.yml"]["jobs"]["test"]["strategy"]["matrix"]["python-version"] == pythons
    steps = FLOWS["newest.yml"]["jobs"]["newest"]["steps"]
    assert [s["with"]["python-version"] for s in steps if "setup-python" in s.get("uses", "")] == pythons[:1]
    steps = FLOWS["newest.yml"]["jobs"]["sphinx"]["steps"]
    assert [s["with"]["python-version"] for s in steps if "setup-python" in s.get("uses", "")] == pythons[-1:]


def test_what_runs_is_make():
    steps = [s for _, name, body in jobs() if name != "proofs" for s in body.get("steps", [])]
    lines = [line.strip() for s in steps if s.get("name") != "Report" for line in s.get("run", "").splitlines()]
    assert [
        line
        for line in lines
        if not re.match(r"make ((pins )?test|drawn|deep|advisories|book-sphinx) PYTHON=python\b|set -o pipefail", line)
    ] == []
    assert "make test PYTHON=python" in lines
    # a stranger has neither the book nor its environment
    install, check = (s["run"] for s in FLOWS["deep.yml"]["jobs"]["proofs"]["steps"] if "run" in s)
    said = (ROOT / "proofs" / "check.py").read_text(encoding="utf-8")
    assert check == "python3 proofs/check.py" and set(re.findall(r"libcoq-[a-z-]+", install)) <= set(
        re.findall(r"libcoq-[a-z-]+", said)
    )


def test_the_weekly_report_names_the_claims_that_moved():
    """Its pattern fits the lines in which `clbook verify` and `make portability` name a claim, and no other."""
    (report,) = (s["run"] for s in FLOWS["deep.yml"]["jobs"]["deep"]["steps"] if s.get("name") == "Report")
    pattern = re.search(r"grep -E '(.*?)'", report)[1]
    assert re.search(pattern, "records/nonlinearity/paper.json, fig-4: stored is reproduced, computed undecided")
    assert re.search(pattern, "chapters/nonlinearity.ipynb, thm-1: verdict: not reproduced → reproduced")
    assert not re.search(pattern, "chapters/nonlinearity.ipynb: 26 readings, 0 wrong")


def test_pages_are_deployed_only_after_the_tests_and_never_cut_off():
    deploy = FLOWS["pages.yml"]["jobs"]["deploy"]
    assert FLOWS["pages.yml"]["jobs"]["test"]["uses"] == "./.github/workflows/test.yml"
    assert deploy["needs"] == "test" and "main" in deploy["if"] and "always()" not in TEXTS["pages.yml"]
    assert deploy["concurrency"] == {"group": "pages", "cancel-in-progress": False}


def lint(*command: str) -> str:
    done = subprocess.run([*command, *map(str, PATHS)], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.skipif(not importlib.util.find_spec("check_jsonschema"), reason="check-jsonschema is not installed")
def test_they_have_the_form_of_the_forge_s_schema():
    assert lint(sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows") == ""


def test_an_audit_of_what_they_may_do_finds_nothing():
    beside = Path(sys.executable).with_name("zizmor")
    command = str(beside) if beside.exists() else shutil.which("zizmor")
    if not command:
        pytest.skip("zizmor is not installed")
    assert lint(command, "--offline", "--quiet", "--min-severity", "medium") == ""
