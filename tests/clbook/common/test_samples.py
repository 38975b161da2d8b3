"""What is run again is a different sample with each commit, and everything gets its turn."""

import pytest
from checkout import ROOT
from drawn_tests import LONG, drawn, scope
from drawn_tests import SECONDS as SECONDS_OF_A_FILE
from own_repository import git

from clbook.common.samples import commit_or_digest, sample

SECONDS = {str(n): float(n) for n in range(1, 20)} | {"long": 99.0}


def test_a_sample_spends_its_budget_and_only_the_last_goes_over_it():
    for n in range(50):
        taken = sample(SECONDS, 30.0, f"commit {n}")
        costs = sorted(SECONDS[name] for name in taken)
        assert sum(costs) >= 30 and any(sum(costs) - cost < 30 for cost in costs)


def test_everything_is_drawn_sooner_or_later_what_is_long_too():
    assert set().union(*(sample(SECONDS, 30.0, f"commit {n}") for n in range(100))) == set(SECONDS)
    assert sample({"long": 99.0}, 30.0, "rows") == ["long"] and sample(SECONDS, 0.0, "rows") == []


def test_a_sample_follows_its_text_and_nothing_else():
    first = sample(SECONDS, 30.0, "one")
    assert first == sample(dict(reversed(SECONDS.items())), 30.0, "one") != sample(SECONDS, 30.0, "two")


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.py").write_text("a = 1\n")
    commit_or_digest.cache_clear()
    yield tmp_path
    commit_or_digest.cache_clear()


def test_the_commit_is_the_one_that_is_checked_out(checkout):
    git(checkout, "init", "-q")
    found = []
    for message in ("first", "second"):
        git(checkout, "commit", "-q", "--allow-empty", "-m", message)
        commit_or_digest.cache_clear()
        found.append(commit_or_digest(checkout))
    assert found == git(checkout, "log", "--reverse", "--format=%H").split() and len(set(found)) == 2


def test_another_repository_gives_no_commit(checkout, tmp_path_factory, monkeypatch):
    """Neither one around the book, nor one that a hook names; git is asked for this folder's own."""
    other, inner = tmp_path_factory.mktemp("other"), checkout / "unpacked"
    for folder in (checkout, other):
        git(folder, "init", "-q")
        git(folder, "commit", "-q", "--allow-empty", "-m", folder.name)
    (inner / "lib").mkdir(parents=True)
    (inner / "lib" / "a.py").write_text("a = 1\n")
    assert len(commit_or_digest(inner)) == 64
    commit_or_digest.cache_clear()
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert commit_or_digest(checkout) == git(checkout, "rev-parse", "HEAD").strip()


def test_without_git_the_content_stands_for_the_commit(checkout, monkeypatch):
    monkeypatch.setenv("PATH", "")
    before = commit_or_digest(checkout)
    commit_or_digest.cache_clear()
    assert commit_or_digest(checkout) == before
    (checkout / "lib" / "a.py").write_text("a = 2\n")
    commit_or_digest.cache_clear()
    assert commit_or_digest(checkout) != before


def test_a_fifth_of_the_slow_tests_is_drawn_by_files_and_classes_and_all_sooner_or_later():
    tests = [f"tests/deep/test_{k}.py::test_{n}" for k in range(20) for n in range(3)]
    tests += [f"tests/deep/test_reach.py::Test{k}::test_{n}[a::{n}]" for k in "AB" for n in range(3)]
    assert scope(tests[0]) == "test_0" and scope(tests[-1]) == "test_reach::TestB"
    seen = set()
    for n in range(60):
        chosen = drawn(tests, f"commit {n}")
        assert {one for one in tests if scope(one) in set(map(scope, chosen))} == chosen
        seconds = sum(LONG.get(name.partition("::")[0], SECONDS_OF_A_FILE) for name in set(map(scope, chosen)))
        whole = 20 * SECONDS_OF_A_FILE + 2 * LONG["test_reach"]
        assert whole / 5 <= seconds < whole / 5 + LONG["test_reach"]
        seen |= chosen
    assert seen == set(tests)


def test_the_slow_tests_that_are_known_to_be_long_are_there():
    assert set(LONG) <= {path.stem for path in (ROOT / "tests" / "deep").rglob("test_*.py")}


def test_only_what_is_reached_is_asked_for_its_seconds_and_what_takes_for_ever_is_left_out():
    class Asked(dict):
        asked = 0

        def __getitem__(self, name):
            self.asked += 1
            return super().__getitem__(name)

    dear = Asked(SECONDS)
    assert len(sample(dear, 1.0, "one")) == dear.asked == 1
    never = sample(SECONDS, 30.0, "one")[0]
    assert never not in sample(SECONDS | {never: float("inf")}, 30.0, "one")
