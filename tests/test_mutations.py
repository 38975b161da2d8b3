"""One broken line of a claim's kernel changes the claim's verdict."""

import json
from functools import cache
from pathlib import Path

import pytest
import yaml
from mutants import LIBRARY, Mutation, fresh_library, judges, needed_cells, run_script, words
from stand_in import write_stand_in

from contrastive_dynamics.book.claims import Claims
from contrastive_dynamics.book.sources import Cell, ChapterFiles, chapter_names

ROOT = Path(__file__).parents[1]
ROWS = yaml.safe_load((Path(__file__).parent / "mutations.yaml").read_text(encoding="utf-8"))
MUTATIONS = [Mutation(**row) for row in ROWS]


@cache
def owners() -> dict[str, ChapterFiles]:
    """Claim with a rule → its chapter."""
    found = {}
    for name in chapter_names(ROOT):
        files = ChapterFiles(ROOT, name)
        found |= {i: files for i, claim in Claims.load(files.claims).rows.items() if claim.rule}
    return found


@cache
def unbroken(root: Path, name: str, parameters: str, claims: tuple[str, ...]) -> dict[str, dict]:
    """Claim → stored arms without a mutation; claims that need the same training are run together, once."""
    return run_script(ChapterFiles(root, name), claims, changes=json.loads(parameters))


def changed(files: ChapterFiles, mutation: Mutation) -> tuple[str, str]:
    """The claim's verdict without and with the mutation, from the cells that it needs."""
    claim, parameters = mutation.claim, mutation.parameters
    together = [m.claim for m in MUTATIONS if m.parameters == parameters] if parameters else [claim]
    sound = unbroken(files.root, files.name, json.dumps(parameters), tuple(together))
    broken = run_script(files, claim, mutation, changes=parameters)
    return tuple(words(files, {claim: arms[claim]})[claim] for arms in (sound, broken))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.claim)
def test_the_line_to_break_stands_once(mutation):
    assert mutation.source.count(mutation.old) == 1
    compile(mutation.source.replace(mutation.old, mutation.new), mutation.module, "exec")


def test_every_claim_with_a_rule_has_a_mutation():
    assert {m.claim for m in MUTATIONS} == set(owners())


@pytest.mark.parametrize("mutation", [m for m in MUTATIONS if m.claim in owners()], ids=lambda m: m.claim)
def test_a_broken_kernel_changes_the_verdict(mutation, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(ROOT))
    sound, broken = changed(owners()[mutation.claim], mutation)
    assert broken != sound


RELU = Mutation("thm-1", "activations", 'Activation("relu", torch.relu,', 'Activation("relu", torch.neg,')


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return write_stand_in(tmp_path)


def test_a_mutation_of_the_stand_in_changes_its_verdict(stand_in):
    assert changed(stand_in, RELU) == ("reproduced", "not reproduced")


def test_a_line_that_does_not_matter_changes_nothing(stand_in):
    harmless = Mutation("thm-1", "activations", "LEAK = 0.05", "LEAK = 0.06")
    assert changed(stand_in, harmless) == ("reproduced", "reproduced")


def test_a_module_that_the_claim_does_not_use_is_refused(stand_in):
    with pytest.raises(ValueError, match="do not import winning_probability"):
        run_script(stand_in, "thm-1", Mutation("thm-1", "winning_probability", "return", "return "))
    with pytest.raises(ValueError, match="no cell judges thm-9"):
        run_script(stand_in, "thm-9")


def test_the_smoke_profile_is_used(stand_in):
    assert len(run_script(stand_in)["fig-1"]["observed"][""]) == 3


def test_the_library_stands_unbroken_afterwards(stand_in):
    import contrastive_dynamics.activations as before

    text = (LIBRARY / "activations.py").read_bytes()
    run_script(stand_in, "thm-1", RELU)
    import contrastive_dynamics.activations as after

    assert after is before and (LIBRARY / "activations.py").read_bytes() == text


def test_what_was_imported_and_the_default_dtype_are_put_back_after_a_failure():
    import sys

    import torch

    kept, dtype = dict(sys.modules), torch.get_default_dtype()
    with pytest.raises(ZeroDivisionError), fresh_library(RELU):
        torch.set_default_dtype(torch.float64)
        raise ZeroDivisionError
    ours = [name for name in kept if name.startswith("contrastive_dynamics")]
    assert ours and all(sys.modules[name] is kept[name] for name in ours)
    assert torch.get_default_dtype() is dtype and not any(type(f).__name__ == "_Finder" for f in sys.meta_path)


def cells(*sources):
    return [Cell(source, False, ()) for source in sources]


@pytest.mark.parametrize(
    ("sources", "needed"),
    [
        (("a = 1", "b = 2", "print(a)"), [0, 2]),
        (("a = 1", "a = 2", "print(a)"), [1, 2]),
        (("a = 1", "a += 2", "print(a)"), [0, 1, 2]),
        (("a = {}", "a['x'] = 1", "print(a)"), [0, 1, 2]),
        (("k = 1", "def f(): return k", "k = 2", "print(f())"), [0, 1, 2, 3]),
        (("import math as m", "from os import path", "x = m.pi", "print(x)"), [0, 2, 3]),
        (("a, (b, c) = 1, (2, 3)", "f = lambda: c", "f()"), [0, 1, 2]),
        (("t = 1", "x = sum(t for t in (1, 2))", "print(t)"), [0, 2]),
        (("t = 1", "def f(t): u = t; return u", "u = 3", "f(t)"), [0, 1, 3]),
        (("k = 1", "def f(): return k", "k = 2", "y = f()", "k = 3", "print(y)"), [0, 1, 2, 3, 5]),
        (("e = 1", "e = 2; print(e)", "print(e)"), [1, 2]),
        (("for i in range(3): pass", "print([i for _ in 'ab'])"), [0, 1]),
        (("i = u = 1", "for i in 'ab':\n    u = i\n    print(u)"), [1]),
        (("u = 1", "for i in 'ab':\n    print(u)\n    u = i"), [0, 1]),
    ],
)
def test_the_cells_that_a_cell_needs(sources, needed):
    assert needed_cells(cells(*sources), len(sources) - 1) == needed


def test_the_cell_that_judges_is_found_on_one_line_or_several():
    assert judges('chapter.judge("thm-1", observed=1, control=2)', "thm-1")
    assert judges('chapter.judge(\n    "thm-1",\n    observed=1,\n)', "thm-1")
    assert not judges('chapter.judge("thm-1-a", observed=1)\n# chapter.judge("thm-1")', "thm-1")
