"""The reference shows every public function of the kernels and experiments, and every card's link ends on it."""

import re

import pytest
import yaml
from checkout import ROOT

from clbook.claims.claim_table import Claims
from clbook.common.sources import ChapterFiles, chapter_names
from clbook.pages.kernel_reference import reached_by, reference_pages, rooms
from clbook.provenance.library import Library, line_behind

LIBRARY = Library()


@pytest.fixture(scope="module")
def pages():
    return reference_pages(LIBRARY, {})


def test_every_room_has_a_page_in_the_sidebar(pages):
    parts = yaml.safe_load((ROOT / "_toc.yml").read_text())["parts"]
    (kernels,) = [page for part in parts for page in part["chapters"] if page["file"] == "book/kernels"]
    assert {page["file"] for page in kernels["sections"]} == {f"book/reference/{room}" for room in pages}
    for room in pages:
        assert f"_generated/reference/{room}.md" in (ROOT / "book" / "reference" / f"{room}.md").read_text()


def test_every_public_function_is_shown_once_with_its_address(pages):
    shown = {room: re.findall(r"\{py:(?:function|class)\} (\w+)", text) for room, text in pages.items()}
    for room, modules in rooms(LIBRARY).items():
        names = [n.name for m in modules for n in m.tree.body if hasattr(n, "name") and n.name[0] != "_"]
        assert sorted(shown[room]) == sorted(names)
    assert sum(map(len, shown.values())) > 700


def test_every_line_behind_a_claim_has_a_place_there(pages):
    places, seen = {}, 0
    for room, text in pages.items():
        modules = set(re.findall(r'<span id="([\w.]+)">', text))
        at = ""
        for line in text.splitlines():
            at = line.split()[1] if line.startswith("```{py:currentmodule}") else at
            if match := re.match(r"::::\{py:\w+\} (\w+)", line):
                modules.add(f"{at}.{match[1]}")
        places[f"../book/reference/{room}.html"] = modules
    for name in chapter_names(ROOT):
        for row in Claims.load(ChapterFiles.find(name, ROOT).claims).rows.values():
            for broken in row.breaks:
                page, _, anchor = line_behind(broken["in"], broken["old"]).address.partition("#")
                assert anchor in places[page], (name, row.id)
                seen += 1
    assert seen > 350


def test_a_docstring_is_set_with_its_formulas_arguments_and_links(pages):
    losses = pages["losses"]
    start = losses.index("{py:function} infonce_loss(")
    entry = losses[start : losses.index("::::", start)]
    assert "f: Tensor, f_view: Tensor, tau: float, eps: float=0.0) -> Tensor" in entry
    assert "Σ<sub>i</sub> log( e<sup>−d²_i/τ</sup>" in entry and "Σ<sub>j≠i</sub>" in entry
    assert "<dt>Source</dt><dd>tian-2023, eq. (1);" in entry and "<dt>Cost</dt><dd>2·N²·d flops" in entry
    place = "#contrastive_dynamics.losses.pairwise_importance.infonce_logits"
    assert f'<code>f, f_view, tau, eps</code> as in <a href="{place}">' in entry
    assert "| infonce_loss " in losses  # a table stays one


def test_a_function_names_the_claims_whose_runs_executed_it():
    class Result:
        chapter, profile, id = "one", "paper", "key/thm-1"
        claim = type("Claim", (), {"id": "thm-1"})

    stamp = {"definitions": ["abc kernels.room.f", "abd the cell of x"], "claims": {"thm-1": {"reaches": "0 1"}}}
    found = reached_by([Result], {"one": {"paper": stamp}})
    assert found["kernels.room.f"] == [Result] and reached_by([Result], {"one": {}}) == {}
