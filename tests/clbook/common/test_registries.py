"""Registries of names are read from sources as Python would read them, and without importing what they name."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

from clbook.common import project
from clbook.common.errors import BookError
from clbook.common.parameters import read_parameters
from clbook.common.registries import registered_names
from clbook.common.sources import ChapterFiles, chapter_names

REGISTRIES = [
    "losses.named_losses.LOSSES",
    "losses.activations.ACTIVATIONS",
    "losses.activations.TRAINED",
    "data.catalogue.DIGITS",
    "data.catalogue.SUMS",
    "data.coco.NAMES",
    "nonlinearity.networks.image_training.DIGITS",
    "nonlinearity.two_layers.batch_norm.BATCH_NORM",
    "feature_decoupling.image_augmentations.AUGMENTATIONS",
    "feature_decoupling.figure_arms.DATA",
    "one_testbed.own_runs.WORLDS",
    "alignment_and_balance.image_caption_pairs.NAMES",
]


@pytest.mark.parametrize("registry", REGISTRIES)
def test_the_names_are_those_that_python_gives(registry):
    module, _, name = registry.rpartition(".")
    file = Path(*module.split(".")).with_suffix(".py")
    package = next(p for p in project.packages() if (project.folder_of(p) / file).is_file())
    assert registered_names(registry) == tuple(getattr(importlib.import_module(f"{package}.{module}"), name))


@pytest.fixture
def kernels(monkeypatch, tmp_path):
    """Stand-in kernels: text by module."""

    def write(**texts):
        package = tmp_path / project.kernels()
        package.mkdir()
        for name, text in texts.items():
            (package / f"{name}.py").write_text(text)

    monkeypatch.setattr(project, "folder_of", lambda package: tmp_path / package)
    registered_names.cache_clear()
    yield write
    registered_names.cache_clear()


def test_re_exports_unions_and_unpacking_are_followed(kernels):
    kernels(
        __init__="from .all import EVERY as ALL",
        one='ONE = {"a": print, **{"b": 1}}',
        all=f"from .one import ONE\nfrom {project.kernels()}.one import ONE as SAME\n"
        'EVERY: dict = ONE | {"c": 2} | SAME\nLISTED = ["x", *ONE] + [name for name in ONE]\nBARE: tuple',
    )
    assert registered_names("ALL") == registered_names("all.EVERY") == ("a", "b", "c")
    with pytest.raises(BookError, match="all: the names of a registry cannot be read from .\\[name for name in ONE"):
        registered_names("all.LISTED")
    for nothing in ("all.NONE", "two.ONE", "one.two.ONE"):
        with pytest.raises(BookError, match=f"has no registry {nothing}$"):
            registered_names(nothing)


def test_a_chapter_s_parameters_need_no_torch():
    asked = "import sys; from clbook.cli.application import app; app(['params', 'nonlinearity'], standalone_mode=False)"
    code = f"{asked}; assert not {{'torch', '{project.kernels()}.losses'}} & sys.modules.keys()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("chapter", chapter_names(ROOT))
def test_a_typed_list_of_names_is_no_second_list(chapter):
    """A parameter whose names are those of a registry says so, or its names are the registry's."""
    files = ChapterFiles(ROOT, chapter)
    known = read_parameters(files.cells(), chapter)
    if "own_batch_norm" in known:  # its registry's name leaves no room for what it means
        assert known["own_batch_norm"].choices == registered_names("nonlinearity.two_layers.batch_norm.BATCH_NORM")
    registered = [registered_names(registry) for registry in REGISTRIES]
    cell = next(cell.source for cell in files.cells() if "parameters" in cell.tags)
    typed = [p.name for p in known.values() if p.choices in registered and f"{p.name}: " in cell and p.range in cell]
    assert set(typed) <= {"own_batch_norm"} | ({"data"} if chapter == "collapse-and-constraints" else set())
