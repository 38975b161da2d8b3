"""The story's table of counts says what the records, and of digits the page's own run, have measured."""

import re

from checkout import ROOT

from clbook.common.sources import ChapterFiles
from clbook.notebook.results import notebooks_stamp
from clbook.provenance.records import read_record

FILES = ChapterFiles.find("one-testbed", ROOT)


def shown() -> dict[str, list[str]]:
    """World → what stands under it for InfoNCE and for the spectral loss."""
    text = (ROOT / "chapters" / "one-testbed.py").read_text(encoding="utf-8").partition("(ot-seven-counts)=")[2]
    rows = [re.split(r" ?\| ?", line)[1:-1] for line in re.findall(r"^# (\|.*\|)$", text, re.M)[:4]]
    (_, *worlds), _, (_, *infonce), (_, *spectral) = rows
    return {world: [*pair] for world, *pair in zip(worlds, infonce, spectral, strict=True)}


def percent(values: list[float]) -> str:
    return f"{round(100 * sum(values) / len(values)):+d}".replace("-", "−").replace("+0", "0")


def test_the_table_says_what_was_measured():
    paper, page = read_record(FILES.record("paper"), FILES)["run"]["readings"], notebooks_stamp(FILES)["readings"]
    table, spectral = shown(), paper["spectral"]
    for views, name in (("tokens", "tokens"), ("half moons", "moons"), ("modalities", "modalities")):
        assert table[views] == [percent(spectral["control"][name]), percent(spectral["observed"][name])]
    weak = paper["weak-count"]["observed"]["from 0.5 Σρ"]
    assert table["sparse codes"] == [percent(weak), percent(spectral["observed"]["sparse codes"])]
    for views, reading in (("photographs", paper), ("digits", page)):
        assert table[views][0] == percent(reading["real-temperature"]["control"]["from 1"])
    assert table["Gaussian"][0] == percent(max(paper["count"]["observed"].values(), key=sum))
