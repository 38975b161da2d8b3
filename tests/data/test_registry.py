"""Every data set that a chapter names is registered once, and checked by the loader that knows its files."""

import re

import pytest
from checkout import ROOT

from contrastive_dynamics.book.ground.parameters import read_parameters
from contrastive_dynamics.book.ground.sources import ChapterFiles, chapter_names
from contrastive_dynamics.data import catalogue, coco, registry
from contrastive_dynamics.data.catalogue import DataError


def test_all_names_that_a_chapter_or_a_loader_has_are_here():
    known = [read_parameters(ChapterFiles(ROOT, name).cells(), name) for name in chapter_names(ROOT)]
    asked = {name for parameters in known for name in parameters["data"].choices}
    assert len(asked) > 6 and asked <= registry.NEEDS.keys()
    assert {*catalogue.SUMS, *coco.NAMES} <= registry.NEEDS.keys()


def test_what_comes_along_needs_no_folder(monkeypatch):
    monkeypatch.setenv("CONTRASTIVE_DATA", "/nowhere")
    for name in registry.NEEDS:
        if registry.comes_along(name):
            registry.check(name)
    assert not registry.comes_along("mnist") and not registry.comes_along("minst")


@pytest.mark.parametrize("name", ["coco-human", "cifar10-exact"])
def test_what_is_missing_is_said(name, monkeypatch, tmp_path):
    monkeypatch.setenv("CONTRASTIVE_DATA", str(tmp_path))
    with pytest.raises(DataError, match=re.escape(str(tmp_path))):
        registry.check(name)


def test_an_unknown_name_is_refused():
    with pytest.raises(DataError, match="data set must be one of generated, scenes, digits, .*, got 'minst'"):
        registry.check("minst")
