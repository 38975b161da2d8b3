"""Controls that could not fail, over the stored readings of all chapters: each is listed with a reason, or replaced."""

import re

import pytest
import yaml
from checkout import ROOT
from void_controls import why_void

from clbook.claims.claim_table import Claims
from clbook.claims.judging import Reading
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.provenance.staleness import stored_stamps

LISTED = yaml.safe_load((ROOT / "tests" / "chapters" / "suspected_controls.yaml").read_text(encoding="utf-8"))


def suspected(name: str) -> dict[str, str]:
    """Claim → what makes its control suspect; a share of clear cells may be 0 for good reason."""
    files = ChapterFiles.find(name, ROOT)
    stamps = [run.stamp for run in stored_stamps(files)]
    found = {}
    for claim, row in Claims.load(files.claims).rows.items():
        readings = [Reading.of(**stamp["readings"][claim]) for stamp in stamps if claim in stamp["readings"]]
        if readings and row.clear is None and (why := why_void(readings)):
            found[claim] = why
    return found


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_a_control_that_cannot_fail_is_replaced_or_has_its_reason(name):
    found, listed = suspected(name), LISTED.get(name) or {}
    print(
        f"{name}: {len(found)} controls that look void", *(f"{claim}: {why}" for claim, why in found.items()), sep="\n"
    )
    assert found.keys() == listed.keys(), found.keys() ^ listed.keys()
    bare = [
        claim for claim, why in listed.items() if not re.match(r"to be replaced: .|kept: .+ Passes .", why)
    ]  # a reason, and where the control would pass
    assert bare == []


@pytest.mark.parametrize(
    ("observed", "control", "why"),
    [
        ([1.0, 3.0], [2.0, 6.0], "2 times the observed value"),
        ([1.0, 3.0], [1.0, 3.0], "1 times the observed value"),
        ({"a": 1.0, "b": 3.0}, {"a": 0.5, "b": 1.5}, "0.5 times the observed value"),
        ({"a": 1.0, "b": 3.0}, {"a": 1.5, "b": 0.5}, ""),
        (1e-16, 0.5000000000000235, "always 0.5"),
        ([1.0, 3.0], [7.0, 7.0], "always 7, while the observed value moves"),
        (1e-16, 0.41, ""),
        ({"hits": 3, "trials": 4}, {"hits": 0, "trials": 4}, "always 0"),
    ],
)
def test_what_is_suspect(observed, control, why):
    assert why_void([Reading.of(observed=observed, control=control)]) == why
