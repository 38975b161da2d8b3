"""The stored form of a run: sealed, merged with later parts, each reading with what it depends on."""

import copy
import json

import pytest
from stand_in import build_stand_in

from clbook.claims.claim_table import Claims
from clbook.common.errors import BookError
from clbook.provenance.digests import ChapterDigests
from clbook.provenance.slices import ChapterCode
from clbook.provenance.staleness import notebook_stamp
from clbook.provenance.stamps import (
    check,
    made_by,
    merge,
    reaches,
    refreshed,
    run_cost,
    seal,
    seconds_of,
    whole_cost,
)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return build_stand_in(tmp_path)


@pytest.fixture
def stamp(files):
    return notebook_stamp(files.notebook)


def part(stamp: dict, *claims: str, time: str = "later", **values: float) -> dict:
    """A later run of some claims alone."""
    found = copy.deepcopy(stamp) | {"time": time}
    found["claims"] = {c: found["claims"][c] for c in claims}
    seen = {c: {"": values.get(c.replace("-", "_"), 7.0)} for c in claims}
    found["readings"] = {c: {"observed": value, "control": value} for c, value in seen.items()}
    return seal(found)


def test_a_stamp_is_sealed_and_says_what_made_it(stamp):
    assert check(stamp, "here") == stamp
    made = made_by(stamp, "thm-1")
    assert {"versions", "device", "capability", "blas", "threads", "seconds", "peak_mb", "time"} <= made.keys()
    found = reaches(stamp, "thm-1")
    assert "the cell that judges thm-1" in found and "contrastive_dynamics.losses.activations.ACTIVATIONS" in found
    assert not any("thm-1-a" in name for name in found)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: s["readings"]["thm-1"]["observed"].update({"": 0.5}), "does not fit its seal"),
        (lambda s: s.update(device="another"), "does not fit its seal"),
        (lambda s: s.pop("seal"), "does not fit its seal"),
        (lambda s: s.update(format=1), "format 1, algorithm 1; this code reads format 2"),
        (lambda s: s.update(algorithm=2), "format 2, algorithm 2; this code reads"),
        (lambda s: s.pop("readings"), "holds no stored run"),
    ],
)
def test_what_is_damaged_or_of_another_format_is_one_line(stamp, change, said):
    change(stamp)
    with pytest.raises(BookError, match=said) as refused:
        check(stamp, "records/x/paper.json")
    assert str(refused.value).startswith("records/x/paper.json: ") and "\n" not in str(refused.value)


def test_a_later_part_takes_the_place_of_its_readings_and_says_so(stamp):
    merged = merge(stamp, part(stamp, "fig-1"))
    assert check(merged, "here")["readings"]["fig-1"]["observed"] == {"": 7.0}
    assert merged["readings"]["thm-1"] == stamp["readings"]["thm-1"]
    assert made_by(merged, "fig-1")["time"] == "later" and made_by(merged, "thm-1")["time"] == stamp["time"]
    assert reaches(merged, "fig-1") == reaches(stamp, "fig-1") and reaches(merged, "thm-1") == reaches(stamp, "thm-1")
    again = merge(merge(merged, part(stamp, "thm-1", time="third")), part(stamp, "fig-1", time="fourth"))
    assert [run["time"] for run in again["later"]] == ["third", "fourth"]  # the second made nothing that is left
    assert made_by(again, "thm-1-a")["time"] == stamp["time"]


def test_a_later_run_of_everything_stands_alone(stamp):
    whole = part(stamp, *stamp["claims"])
    assert merge(merge(stamp, part(stamp, "fig-1", time="between")), whole) == whole


def test_a_claim_that_a_later_run_does_not_reach_has_no_reading(stamp):
    outside = part(stamp, "fig-1")
    outside["readings"] = {}
    assert "fig-1" not in merge(stamp, outside)["readings"] and "fig-1" in merge(stamp, outside)["claims"]


def test_runs_with_other_parameters_are_no_one_run(stamp):
    with pytest.raises(BookError, match="two runs with other parameters"):
        merge(stamp, part(stamp, "fig-1") | {"parameters": {}})


def test_cells_keep_their_seconds_under_another_name(files, stamp):
    stamp["cells"] = {name: entry.split()[0] + " 2.50" for name, entry in stamp["cells"].items()}
    files.source.write_text(files.source.read_text().replace("falling", "sinking"))
    story = ChapterCode(files)
    seconds = seconds_of(seal(stamp), ChapterDigests(story, stamp["parameters"]))
    assert set(seconds.values()) == {2.5} and len(seconds) == sum(u.whole for u in story.units)
    now = refreshed(stamp, ChapterDigests(story, stamp["parameters"]), Claims.load(files.claims))
    assert "the cell of sinking" in now["cells"] and now["cells"]["the cell of sinking"].endswith(" 2.50")


def test_what_a_run_costs_counts_its_later_parts(stamp):
    assert whole_cost(stamp) >= stamp["seconds"]
    name = next(iter(stamp["cells"]))
    dearer = stamp["cells"] | {name: stamp["cells"][name].split()[0] + " 5000.00"}
    assert 5000 <= whole_cost(stamp | {"cells": dearer}) <= 5000 + whole_cost(stamp)
    assert whole_cost(stamp | {"seconds": 9000.0, "cells": dearer}) == 9000  # pieces that an earlier attempt kept
    assert whole_cost(stamp | {"seconds": 90.0, "side_by_side": 50.0, "cells": dearer}) == 50  # chapter and appendix


def test_a_run_of_what_is_recorded_takes_as_long_as_its_longer_notebook(stamp):
    """So that a smaller profile, which was recorded cell by cell, is not dearer than the page's own run."""
    cells = {"the cell of a": "d 70.00", "in the appendix, the cell of b": "d 200.00", "in the appendix, c": "d"}
    assert run_cost(stamp | {"seconds": 290.0, "cells": cells}) == 200
    assert run_cost(stamp | {"seconds": 900.0, "cells": cells}) == 900  # pieces that an earlier attempt kept
    alone = {"cells": {"the cell of a": "d 70.00"}, "seconds": 71.0}
    assert run_cost(stamp | alone) == 71 and run_cost(stamp | alone | {"side_by_side": 50.0}) == 50


def test_a_stamp_survives_json_to_the_last_bit(stamp):
    stamp["readings"]["thm-1"]["observed"] = {"b": 0.1 + 0.2, "a": [1e-300, float("inf")]}
    kept = json.loads(json.dumps(seal(stamp)))
    assert check(kept, "here")["readings"] == stamp["readings"]
    assert list(kept["readings"]["thm-1"]["observed"]) == ["b", "a"]  # the order of the cases, too
