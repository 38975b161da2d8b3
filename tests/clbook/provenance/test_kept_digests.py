"""Digests of an earlier process are those of the present sources, or are not used."""

import copy
import json

import pytest
from library_views import with_source

from clbook.provenance import kept_digests
from clbook.provenance.digests import ChapterDigests
from clbook.provenance.kept_digests import KeptDigests
from clbook.provenance.library import Library
from clbook.provenance.slices import ChapterCode


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "clbook"


@pytest.fixture
def library(tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "module.py").write_text("def f():\n    return 1\n")
    return Library(tmp_path / "kernels")


def kept(library, cells=("x = 1",)):
    return KeptDigests(library, list(cells))


def test_a_later_process_reads_what_an_earlier_one_wrote(library, place):
    first = kept(library)
    first.put(first.of({"seeds": 3}), "0 thm-1", "abc")
    first.write()
    assert kept(library).of({"seeds": 3}) == {"0 thm-1": "abc"}
    assert kept(library).of({"seeds": 4}) == kept(library, ["x = 2"]).of({"seeds": 3}) == {}


@pytest.mark.parametrize("name", ["module.py", "other.py", "same_bits.json"])
def test_any_other_source_gives_another_file(library, place, name):
    first = kept(library)
    (library.folder / name).write_text("[]\n")
    assert kept(Library(library.folder)).path != first.path
    first.put(first.of({}), "0 thm-1", "abc")
    first.write()  # what was computed of sources that changed meanwhile is not kept
    assert not place.exists()


@pytest.mark.parametrize("content", ["", "[1]", '{"a": 1}', "\x00"])
def test_a_damaged_file_is_no_file(library, place, content):
    first = kept(library)
    place.mkdir(parents=True)
    first.path.write_text(content)
    assert kept(library).tables == {}


def test_a_library_with_other_texts_keeps_nothing(library, place):
    changed = Library(library.folder, {"module": "def f():\n    return 2\n"})
    assert kept(changed).path is None
    own = kept(changed)
    own.put(own.of({}), "0 thm-1", "abc")
    assert own.of({}) == {"0 thm-1": "abc"} and not own.changed


def test_without_a_home_or_a_writable_folder_nothing_is_kept_and_nothing_fails(library, place, monkeypatch):
    place.parent.mkdir()
    place.write_text("a file in the folder's place")
    blocked = kept(library)
    blocked.put(blocked.of({}), "0 thm-1", "abc")
    blocked.write()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(kept_digests.Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert kept(library).path is None and kept(library).tables == {}


def test_only_the_newest_files_stay(library, place, monkeypatch):
    monkeypatch.setattr(kept_digests, "FILES", 2)
    for n in range(4):
        one = kept(library, [f"x = {n}"])
        one.put(one.of({}), "0 thm-1", "abc")
        one.write()
    assert len(list(place.glob("*.json"))) == 2 and not list(place.glob("*.part"))


def test_a_chapter_is_read_with_the_digests_that_were_kept(place, committed_code):
    code, claim = committed_code, "lem-1"
    digest = ChapterDigests(code, {}).digest(code.judging(claim), claim)
    read = ChapterDigests(code, {}).reads(claim)
    code.kept.write()
    (file,) = place.glob("*.json")
    again = ChapterCode(code.files)
    assert ChapterDigests(again, {}).digest(again.judging(claim), claim) == digest
    assert ChapterDigests(again, {}).reads(claim) == read and not again.kept.changed
    (table,) = json.loads(file.read_text()).values()
    assert table[f"{code.judging(claim)} {claim}"] == digest


def test_a_copy_with_a_broken_library_has_digests_of_its_own(place, committed_code):
    code, claim = committed_code, "alpha-cl"
    at = code.judging(claim)
    provenance = ChapterDigests(code, {}).claim(claim)
    code.kept.write()
    reached = next(name for name in provenance.reaches if name.startswith("contrastive_dynamics."))
    module = reached.rpartition(".")[0]
    broken, source = copy.copy(code), code.library.module(module).source
    broken.library = with_source(code.library, module, source.replace("return ", "return 2 * ", 1))
    broken.spelled = {}
    fresh = ChapterCode(code.files, broken.library)
    found = ChapterDigests(broken, {}).digest(at, claim)
    assert found == ChapterDigests(fresh, {}).digest(at, claim) and broken.kept.path is None
    assert ChapterDigests(code, {}).digest(at, claim) == provenance.digest != found


@pytest.fixture
def committed_code(place):
    from checkout import ROOT

    from clbook.common.sources import ChapterFiles

    return ChapterCode(ChapterFiles(ROOT, "nonlinearity"))
