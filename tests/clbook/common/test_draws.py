"""What is run again is a different sample with each commit, and everything gets its turn."""

import subprocess

import pytest

from clbook.common.draws import drawn, drawn_by

SECONDS = {str(n): float(n) for n in range(1, 20)} | {"long": 99.0}


def test_a_sample_spends_its_budget_and_only_the_last_goes_over_it():
    for n in range(50):
        taken = drawn(SECONDS, 30.0, f"commit {n}")
        costs = sorted(SECONDS[name] for name in taken)
        assert sum(costs) >= 30 and any(sum(costs) - cost < 30 for cost in costs)


def test_everything_is_drawn_sooner_or_later_what_is_long_too():
    assert set().union(*(drawn(SECONDS, 30.0, f"commit {n}") for n in range(100))) == set(SECONDS)
    assert drawn({"long": 99.0}, 30.0, "rows") == ["long"] and drawn(SECONDS, 0.0, "rows") == []


def test_a_sample_follows_its_text_and_nothing_else():
    sample = drawn(SECONDS, 30.0, "one")
    assert sample == drawn(dict(reversed(SECONDS.items())), 30.0, "one") != drawn(SECONDS, 30.0, "two")


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.py").write_text("a = 1\n")
    drawn_by.cache_clear()
    yield tmp_path
    drawn_by.cache_clear()


def test_the_commit_is_the_one_that_is_checked_out(checkout):
    def git(*words):
        author = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(checkout), *author, *words]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout

    git("init", "-q")
    found = []
    for message in ("first", "second"):
        git("commit", "-q", "--allow-empty", "-m", message)
        drawn_by.cache_clear()
        found.append(drawn_by(checkout))
    assert found == git("log", "--reverse", "--format=%H").split() and len(set(found)) == 2


def test_without_git_the_content_stands_for_the_commit(checkout, monkeypatch):
    monkeypatch.setenv("PATH", "")
    before = drawn_by(checkout)
    drawn_by.cache_clear()
    assert drawn_by(checkout) == before
    (checkout / "lib" / "a.py").write_text("a = 2\n")
    drawn_by.cache_clear()
    assert drawn_by(checkout) != before
