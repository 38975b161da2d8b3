"""Every kernel that a claim calls has a mutation whose broken line stands in it, or a reason why it has none.

A kernel is a function or a class with methods, outside the machinery, that a cell names which some claim needs: to
compute a reading, not to show something. The reasons stand in `kernels_without_a_mutation.yaml`. Nothing is run here.
"""

import ast
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
import yaml
from checkout import ROOT
from mutations.mutants import Mutation, load_mutations
from stand_in import SOURCE, write_stand_in

from clbook.common.sources import ChapterFiles, chapter_names
from clbook.provenance.library import PACKAGE, Library, is_machinery
from clbook.provenance.slices import ChapterCode
from clbook.provenance.spelling import only_shows
from clbook.provenance.syntax import Definition

REASONS = Path(__file__).with_name("kernels_without_a_mutation.yaml")


def named(story: ChapterCode, claim: str) -> set[Definition]:
    """The definitions that the cells of one claim name, except where a statement only shows something."""
    last, found = story.judging(claim), set()
    for at in story.needed(last):
        body = story.units[at].body if not story.units[at].imports else ()
        counted = [s for s in body if not only_shows(s, claim if at == last else "")]
        read = [n for s in counted for n in ast.walk(s) if isinstance(n, ast.Name | ast.Attribute)]
        found |= {meant for node in read if isinstance(meant := story.meaning(node), Definition)}
    return found


def computes(library: Library, definition: Definition) -> bool:
    """Whether a definition is a function or a class with methods, outside the machinery."""
    node = library.module(definition.module).definitions.get(definition.name)
    parts = node.body if isinstance(node, ast.ClassDef) else [node]
    return not is_machinery(definition.module) and any(isinstance(part, ast.FunctionDef) for part in parts)


def kernels(story: ChapterCode) -> set[str]:
    """`module.name` of the kernels that the claims of a chapter call."""
    found = set().union(*(named(story, claim) for claim in story.claims))
    return {_short(one) for one in found if computes(story.library, one)}


def broken(rows: Iterable[Mutation]) -> set[str]:
    """`module.name` of what the rows break."""
    return {_short(m.kernel) for m in rows if m.kernel}


def failing(rows: Iterable[Mutation]) -> set[str]:
    """What the rows break, and what reaches it from the same module."""
    library, found = _library(), set()
    for kernel in {m.kernel for m in rows if m.kernel}:
        beside = (Definition(kernel.module, name) for name in library.module(kernel.module).definitions)
        found |= {_short(one) for one in beside if kernel in library.digests("generated").reached(one)}
    return found


@cache
def _library() -> Library:
    return Library().read()


def _short(definition: Definition) -> str:
    return str(definition).removeprefix(f"{PACKAGE}.")


def excused(path: Path = REASONS) -> Counter:
    """`module.name` → how often it stands under a reason."""
    reasons = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert all(reason.strip() for reason in reasons)
    return Counter(name for names in reasons.values() for name in names)


@cache
def all_kernels() -> frozenset[str]:
    found = (kernels(ChapterCode(ChapterFiles(ROOT, name), _library())) for name in chapter_names(ROOT))
    return frozenset().union(*found)


def test_every_kernel_has_a_mutation_or_a_reason_why_it_has_none():
    without = all_kernels() - failing(load_mutations(ROOT))
    assert sorted(without - excused().keys()) == []


def test_a_reason_is_given_once_and_only_for_a_kernel_without_a_mutation():
    without = all_kernels() - broken(load_mutations(ROOT))
    assert sorted(excused() - Counter(without)) == []


def test_a_row_for_the_sake_of_a_kernel_breaks_one():
    rows = [m for m in load_mutations(ROOT) if m.for_kernel]
    assert [m.id for m in rows if not failing([m]) & all_kernels()] == []


@pytest.fixture
def story(tmp_path):
    """Two kernels stand in cells that a claim needs; a third is only shown, and a fourth only imported."""
    imported = "from contrastive_dynamics.numerics.ranks import effective_rank, stable_rank\n"
    imported += "from contrastive_dynamics.losses import activations\n"
    imported += "from contrastive_dynamics.numerics.stiefel import haar\n"
    shown = 'glue.number("rank", float(stable_rank(torch.eye(2))))\n'
    source = SOURCE.replace("import torch\n", f"{imported}import torch\n", 1)
    source = source.replace("import open_chapter", "import glue, open_chapter")
    source = source.replace("# %%\ndouble =", "# %%\nrank = effective_rank(torch.eye(2))\ndouble = rank - rank +")
    source = source.replace("ACTIVATIONS[", "activations.activation(").replace('"].h', '").h')
    return ChapterCode(
        write_stand_in(tmp_path, source.replace('chapter.judge("thm-1",', f'{shown}chapter.judge("thm-1",'))
    )


def test_what_a_claim_calls_is_a_kernel_and_what_is_shown_or_only_imported_is_none(story):
    assert kernels(story) == {"numerics.ranks.effective_rank", "losses.activations.activation"}


def test_a_constant_and_a_class_without_methods_are_no_kernels():
    library, module = Library(), f"{PACKAGE}.losses.activations"
    assert [computes(library, Definition(module, n)) for n in ("LEAK", "Activation", "activation")] == [0, 0, 1]


def test_a_kernel_is_broken_where_the_line_stands_in_it():
    row = Mutation("stand-in", "thm-1", "losses.activations", "return among[name]", "return among['linear']")
    assert broken([row]) == {"losses.activations.activation"}


def test_a_reason_given_twice_or_for_nothing_is_found(tmp_path):
    path = tmp_path / "reasons.yaml"
    path.write_text("it draws: [a.b, c.d]\nit loads: [a.b]\n")
    assert sorted(excused(path) - Counter({"a.b"})) == ["a.b", "c.d"]
