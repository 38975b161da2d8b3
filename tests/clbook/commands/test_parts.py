"""The part of a reading that is recomputed where the whole is too dear."""

import json

import pytest
from stand_in_record import SEEDED, recorded

from clbook.commands.parts import Part, part_of
from clbook.provenance.digests import ChapterDigests
from clbook.provenance.slices import Story

pytest.importorskip("torch")


def test_few_seeds_are_a_part_of_the_block_that_is_drawn(tmp_path, monkeypatch):
    files = recorded(tmp_path, monkeypatch, SEEDED, "seeds: 12\n")
    stamp = json.loads(files.record("paper").read_text())["run"]
    digests = ChapterDigests(Story(files), stamp["parameters"])
    found = {part_of(digests, stamp, "fig-1", str(n)).start for n in range(200)}
    assert found == set(range(10)) and part_of(digests, stamp, "thm-1", "x") is None
    few = part_of(digests, stamp, "fig-1", "x")
    assert few.parameters["first_seed"] == 1000 + few.start and few.parameters["seeds"] == few.count == 3
    assert few.cut({"observed": {"": list(range(12))}}, {"observed": {"": [9, 8, 7]}})[0] == {
        "observed": {"": [few.start, few.start + 1, few.start + 2]}
    }


def test_cases_are_named_by_whole_entries():
    part = Part({}, 0.5, entries=(2, 0.5))
    named = {"r=2": 1, "r=20": 2, "r = 2, relu": 3, "at 2": 4, "t=0.5": 5, "t=2.5": 6, "": 7}
    stored, now = part.cut({"observed": named, "control": {"": 8}}, {"observed": named})
    assert stored == now == {"observed": {"r=2": 1, "r = 2, relu": 3, "t=0.5": 5}}


def test_only_cases_that_both_readings_have_are_compared():
    part = Part({}, 0.5, entries=(100, 400, 1600))
    stored = {"observed": {"m=400": 4, "m=1600": 16, "m=6400": 64}, "control": {"m=100": 1}}
    cut = part.cut(stored, {"observed": {"m=1600": 16.5}, "control": {"m=400": 4}})
    assert cut == ({"observed": {"m=1600": 16}}, {"observed": {"m=1600": 16.5}})
    assert part.cut(stored, {"observed": {"m=100": 1}}) == ({}, {})  # what the chapter shows begins later in its list
