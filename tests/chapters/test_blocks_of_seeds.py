"""How many blocks of seeds each record was asked for: its seal can be made anew by whoever drops some."""

import pytest
from checkout import ROOT

from clbook.common.sources import ChapterFiles, chapter_names
from clbook.provenance.records import missing_blocks, read_record

BLOCKS = {
    "alignment-and-balance": {"labels": 1, "paper": 4},
    "collapse-and-constraints": {"paper": 4},
    "feature-decoupling": {"jpeg": 1, "paper": 4},
    "nonlinearity": {"paper": 4, "smoke": 1},
    "one-testbed": {"features": 1, "paper": 4},
}


@pytest.mark.parametrize("chapter", chapter_names(ROOT))
def test_every_record_holds_the_blocks_that_it_was_asked_for(chapter):
    files = ChapterFiles(ROOT, chapter)
    records = {path.stem: read_record(path, files) for path in files.records()}
    assert {name: record["blocks"] for name, record in records.items()} == BLOCKS[chapter]
    assert not any(missing_blocks(record) for record in records.values())
