"""The one sum over claims, stored results and proofs: anybody recomputes it, and any change shows."""

import shutil
import subprocess

import pytest

from clbook.provenance.book_sum import book_sum, sums


@pytest.fixture
def book(tmp_path):
    for name in ("chapters/a/claims.yaml", "chapters/a.ipynb", "records/a/paper.json", "proofs/a.v", "proofs/.old"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def test_the_list_is_that_of_sha256sum(book):
    names = [line.partition("  ")[2] for line in sums(book).splitlines()]
    assert names == ["chapters/a.ipynb", "chapters/a/claims.yaml", "proofs/a.v", "records/a/paper.json"]
    if program := shutil.which("sha256sum"):
        found = subprocess.run([program, *names], cwd=book, capture_output=True, text=True, check=True)
        assert found.stdout == sums(book)
        again = subprocess.run([program], input=found.stdout, capture_output=True, text=True, check=True)
        assert again.stdout.split()[0] == book_sum(book)


@pytest.mark.parametrize("name", ["records/a/paper.json", "proofs/b.v", "chapters/a/claims.yaml"])
def test_any_change_changes_the_sum_and_nothing_else_does(book, name):
    before = book_sum(book)
    (book / "proofs" / ".old").write_text("new")
    (book / "chapters" / "a.py").write_text("new")
    assert book_sum(book) == before
    (book / name).write_text("new")
    assert book_sum(book) != before
