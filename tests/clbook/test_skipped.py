"""What is skipped is counted and said; with `CI` set a missing browser fails."""

import os
import subprocess
import sys

import browser
import pytest
from checkout import ROOT
from skipped import table

TESTS = """import pytest

@pytest.mark.parametrize("k", range(3))
def test_one(k):
    pytest.skip("no prover")

@pytest.mark.skipif(True, reason="no device")
def test_two():
    pass
"""


@pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_without_a_browser_a_test_is_skipped_on_a_user_s_machine_and_fails_in_ci(monkeypatch, ci, outcome):
    monkeypatch.setattr(browser, "BROWSERS", ("no-such-browser",))
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="apt-get install chromium"):
        browser.find_browser()


@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "2"]])
def test_reasons_are_counted(tmp_path, workers):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    (tmp_path / "test_a.py").write_text(TESTS)
    options = ["-q", "-o", "pythonpath=" + str(ROOT / "tests" / "tools"), "--rootdir", tmp_path, *workers]
    command = [sys.executable, "-m", "pytest", *map(str, options), str(tmp_path)]
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # other plugins take seconds to load in each process
    done = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True)
    assert "4 skipped" in done.stdout, done.stdout + done.stderr
    (kept,) = (tmp_path / ".pytest_cache" / "v" / "skipped").iterdir()
    assert kept.read_text().split() == '{ "no prover": 3, "no device": 1 }'.split()


def test_the_table_has_the_count_first_and_the_commonest_reason_on_top():
    lines = table({"deep": {"no device": 1}, "tests": {"no prover": 3}}).splitlines()
    assert [line.split(maxsplit=2) for line in lines[1:]] == [["3", "tests", "no prover"], ["1", "deep", "no device"]]
    assert lines[0] == "4 tests were skipped:" and table({}) == "0 tests were skipped."
