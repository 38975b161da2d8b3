"""A digest covers what runs: all that a claim's cells execute lies within it, and they give their reading alone.

A sample of each chapter's claims is tested, drawn by the commit. `make reach` sets CLBOOK_EVERY to `1`, or to the name
of a chapter, and then every claim is tested, which takes many minutes.
"""

import ast
import itertools
import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from checkout import ROOT
from mutations.executed import Executed, holes, uncovered
from mutations.kept_outcomes import Mutations
from mutations.mutants import Mutation, class_per_chapter, load_mutations, run_alone, run_script
from stand_in import SOURCE, write_stand_in

from clbook.common.samples import commit_or_digest, sample
from clbook.common.sources import ChapterFiles
from clbook.provenance.library import PACKAGE, Library
from clbook.provenance.slices import ChapterCode
from clbook.provenance.syntax import Definition

EVERY = os.environ.get("CLBOOK_EVERY", "")
SECONDS, START_SECONDS = 20.0, 3.5  # of CPU: of a chapter's sample, to start a process for one claim
_COMPILES = re.compile(r"\b(njit|intrinsic|compiled_once)\b")  # what numba compiles, or asks for LLVM's language
UNKNOWN_SECONDS = 5.0  # of a claim that nothing is kept of


def differing(shared: dict[str, dict], alone: dict[str, dict | None]) -> list[str]:
    """Claims whose arms are not the same to the last bit; one line if nothing was compared."""
    claims = [claim for claim, arms in alone.items() if repr(arms) != repr(shared.get(claim))]
    return claims + ([] if alone and all(alone.values()) else ["nothing was compared"])


def nearest_claim(code: ChapterCode, claim: str) -> str:
    """The other claim that shares most cells with this one, and of these the one with fewest further cells."""

    def cells(of: str) -> set[int]:
        return {n for n in code.needed(code.judging(of)) if code.units[n].whole}

    own, others = cells(claim), [other for other in code.claims if other != claim]
    return max(others, key=lambda other: (len(own & cells(other)), -len(cells(other) - own)))


def rows_of_sample(plan: Mutations, seconds: float = SECONDS) -> list[Mutation]:
    """A row that the commit selects, and later rows with the same parameters while time remains."""
    kept = {claim: entry["seconds"][0] for claim, entry in plan.valid.items()}
    cost = {m.claim: 2 * kept.get(m.claim, UNKNOWN_SECONDS) + START_SECONDS for m in plan.rows}
    (first,) = sample(cost, START_SECONDS / 2, f"{commit_or_digest(ROOT)} alone {plan.files.name}")
    at = [m.claim for m in plan.rows].index(first)
    alike = [m for m in plan.rows[at:] + plan.rows[:at] if m.parameters == plan.rows[at].parameters]
    spent = itertools.accumulate(cost[m.claim] for m in alike)
    return [m for m, total in zip(alike, spent, strict=True) if m is alike[0] or total < seconds]


def run_together(plan: Mutations, rows: list[Mutation]) -> tuple[dict[str, dict], list[str]]:
    """A run of rows with the same parameters: the arms, and what is executed but not covered.

    A single row is run together with the claim that shares most cells with it.
    """
    claims, changes = [m.claim for m in rows], rows[0].parameters
    more = [nearest_claim(plan.keys.code, claims[0])] if len(claims) == 1 else []
    executed = Executed(plan.keys.code)
    arms = run_script(plan.files, [*claims, *more], changes=changes, around=executed.statement)
    provenances = {claim: plan.keys.digests(changes).claim(claim) for claim in claims}
    return arms, holes({claim: (p, executed.by(p.units, claim)) for claim, p in provenances.items()})


def differing_alone(plan: Mutations, rows: list[Mutation], arms: dict[str, dict]) -> list[str]:
    """The rows whose cells give different readings when run alone."""
    return differing(arms, run_alone(plan.files, [m.claim for m in rows], rows[0].parameters))


def one_for_each_claim() -> list[Mutation]:
    """The rows of claims. Those for the sake of a kernel run the same cells without a mutation."""
    return [m for m in load_mutations(ROOT) if not m.for_kernel]


def of_chapter(name: str) -> type:
    """The tests of one chapter."""

    class Reach:
        files = ChapterFiles(ROOT, name)
        plan = staticmethod(cache(lambda: Mutations(Reach.files, one_for_each_claim(), 0.0)))

        @pytest.fixture(autouse=True)
        def root(self, monkeypatch):
            monkeypatch.setenv("CLBOOK_ROOT", str(ROOT))

        @staticmethod
        @cache
        def tried() -> tuple[list[Mutation], dict[str, dict], list[str]]:
            """A sample, its arms from one run, and what that run executed but no digest covers."""
            rows = rows_of_sample(Reach.plan())
            return rows, *run_together(Reach.plan(), rows)

        @staticmethod
        @cache
        def whole() -> tuple[dict[str, dict], Executed]:
            """A run of the whole chapter: arms, what it executed."""
            executed = Executed(Reach.plan().keys.code)
            return run_script(Reach.files, around=executed.statement), executed

        def test_what_a_sample_executes_is_covered(self):
            assert not self.tried()[2]

        def test_a_sample_gives_the_same_readings_alone(self):
            rows, arms, _ = self.tried()
            assert not differing_alone(self.plan(), rows, arms)

        @pytest.mark.skipif(EVERY not in ("1", name), reason="long: `make reach` runs it")
        def test_all_that_a_whole_run_executes_is_covered(self):
            (arms, executed), keys = self.whole(), self.plan().keys
            provenances = {claim: keys.digests({}).claim(claim) for claim in keys.code.claims}
            assert len(arms) >= 0.6 * len(provenances)
            assert not holes({claim: (p, executed.by(p.units, claim)) for claim, p in provenances.items()})

        @pytest.mark.skipif(EVERY not in ("1", name), reason="long: `make reach` runs it")
        def test_every_claim_gives_the_same_reading_alone(self):
            arms = self.whole()[0]
            assert not differing(arms, run_alone(self.files, arms, {}))

        @pytest.mark.skipif(EVERY not in ("1", name), reason="long: `make reach` runs it")
        def test_so_does_every_claim_that_has_no_reading_at_smoke_size(self):
            rows = [m for m in self.plan().rows if m.claim not in self.whole()[0]]
            for row in rows:
                group = [m for m in rows if m.parameters == row.parameters]
                if group[0] is row:
                    arms, problems = run_together(self.plan(), group)
                    assert not problems + differing_alone(self.plan(), group, arms)

    return Reach


globals().update(class_per_chapter(of_chapter, ROOT))


LIVELY = {
    "import ACTIVATIONS": "import ACTIVATIONS, mixed_activation",
    'double = ACTIVATIONS["relu"]': 'double = mixed_activation(["relu", "linear"])',
    "torch.tensor(2.0 * scale)).item": "torch.tensor([2.0 * scale, 1.0]))[0].item",
}
ROWS = [Mutation("stand-in", claim, "losses.activations", "LEAK = 0.05", "LEAK = 0.06") for claim in ("thm-1", "fig-1")]


def stand_in(root: Path, *changes: dict[str, str]) -> Mutations:
    """The stand-in with parts of its source replaced."""
    source = SOURCE
    for old, new in [item for change in changes for item in change.items()]:
        assert old in source
        source = source.replace(old, new)
    return Mutations(write_stand_in(root, source), ROWS)


@pytest.fixture(autouse=True)
def in_tmp(request, monkeypatch):
    if "tmp_path" in request.fixturenames:
        monkeypatch.setenv("CLBOOK_ROOT", str(request.getfixturevalue("tmp_path")))


def test_a_stand_in_is_covered_and_gives_its_readings_alone(tmp_path):
    plan = stand_in(tmp_path, LIVELY)
    arms, problems = run_together(plan, ROWS)
    assert arms.keys() == {"thm-1", "fig-1"} and not problems + differing_alone(plan, ROWS, arms)


def test_a_digest_without_one_edge_is_found(tmp_path, monkeypatch):
    spelled, lost = Library.spelled, Definition("contrastive_dynamics.losses.activations", "activation")
    monkeypatch.setattr(
        Library, "spelled", lambda *arguments: [token for token in spelled(*arguments) if token != lost]
    )
    plan = stand_in(tmp_path, LIVELY)
    assert run_together(plan, ROWS)[1] == ["thm-1: losses.activations.activation is executed and not covered"]
    with pytest.raises(
        AssertionError, match=r"stand-in/thm-1: executed and not covered: \['losses.activations.activation'\]"
    ):
        plan.measure(ROWS[0])


def test_what_a_judging_cell_only_shows_is_not_asked_of_the_digest(tmp_path):
    """A glued number leaves the reading alone; the same line as a step to the reading is in the digest."""
    imported = {"import torch\n": "from contrastive_dynamics.numerics.ranks import effective_rank\nimport torch\n"}
    imported |= {"import open_chapter": "import glue, open_chapter"}
    as_a_step = {"# %%\ndouble =": "# %%\nrank = effective_rank(torch.eye(2))\ndouble ="}
    only_shown = {"# %%\ndouble =": '# %%\nglue.number("rank", float(effective_rank(torch.eye(2))))\ndouble ='}
    for more in (as_a_step, only_shown):
        plan = stand_in(tmp_path, LIVELY, imported, more)
        arms, problems = run_together(plan, ROWS)
        assert arms.keys() == {"thm-1", "fig-1"} and not problems
    digest = plan.keys.digests({}).claim("thm-1").digest
    assert digest == stand_in(tmp_path, LIVELY, imported).keys.digests({}).claim("thm-1").digest


FAMILIES = {
    "token networks": """
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.nonlinearity.networks.weights_at import weights_at

# %%
(trained,) = weights_at([1], [(TokenTraining(batch=4), 3)], "cpu")
loss = trained.w
""",
    "sparse codes": """
from contrastive_dynamics.feature_decoupling import DecoupledTraining, SparseCoding, train

# %%
training = DecoupledTraining(batch=4, negatives=4)
loss = train(SparseCoding(torch.eye(8)[None], 0.3, 0.5), torch.eye(8)[None], training, [torch.Generator()], [1]).loss
""",
}


def compiling(root: Path, cell: str) -> Mutations:
    """The stand-in with a claim whose reading needs compiled code."""
    return stand_in(root, {"# %%\ndouble =": f"# %%{cell}\n# %%\ndouble =", "=abs(": "=0 * loss.sum().item() + abs("})


def decorated(library: Library) -> dict[str, str]:
    """`module.name` → decorators of each definition of the library that numba compiles or asks for LLVM's language."""
    definitions = ((m, n, d) for m in library.names() for n, d in library.module(m).definitions.items())
    found = {f"{m}.{n}": " ".join(map(ast.unparse, getattr(d, "decorator_list", []))) for m, n, d in definitions}
    return {name.partition(".")[2]: said for name, said in found.items() if _COMPILES.search(said)}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Family of compiled code → the provenance of such a claim, and what it executes with nothing in the cache."""
    pytest.importorskip("numba", reason="nothing is compiled without it")
    found = {}
    for family, cell in FAMILIES.items():
        root = tmp_path_factory.mktemp("compiled")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CLBOOK_ROOT", str(root))
            patch.setenv("NUMBA_CACHE_DIR", str(root / "cache"))
            plan = compiling(root, cell)
            executed = Executed(plan.keys.code)
            assert run_script(plan.files, "thm-1", around=executed.statement)
            provenance = plan.keys.digests({}).claim("thm-1")
            found[family] = provenance, executed.by(provenance.units, "thm-1")
    return found


def test_all_that_is_compiled_or_executed_to_compile_it_is_covered(compiled):
    assert not holes(compiled)


def test_all_that_can_be_compiled_is_compiled_here_and_seen(compiled):
    definitions = decorated(Library())
    reached = {name for provenance, _ in compiled.values() for name in provenance.reaches}
    assert len(definitions) > 20 and not {name for name in definitions if f"{PACKAGE}.{name}" not in reached}
    inlined = {name for name, said in definitions.items() if "inline=" in said}  # a part of what calls it
    assert not definitions.keys() - inlined - {name for _, names in compiled.values() for name in names}


def test_a_digest_without_an_edge_of_compiled_code_is_found(compiled, tmp_path, monkeypatch):
    spelled, family, lost = Library.spelled, next(iter(FAMILIES)), ("add_rows", "_turned")

    def blindly(*given) -> list:
        return [t for t in spelled(*given) if not (isinstance(t, Definition) and t.name in lost)]

    monkeypatch.setattr(Library, "spelled", blindly)
    blind = compiling(tmp_path, FAMILIES[family]).keys.digests({}).claim("thm-1")
    unseen = {name.rpartition(".")[2] for name in uncovered(blind, compiled[family][1])}
    assert unseen == {"add_rows", "_gathered", "_turned"}


def test_what_is_only_imported_is_not_asked_of_a_digest(tmp_path):
    """An import inside a function executes the module, whose values count for whoever reaches their names."""
    pytest.importorskip("numba", reason="without it the module is not imported")
    imported = "from contrastive_dynamics.feature_decoupling.decoupled_training import SparseCoding, can_be_fused"
    used = "loss = torch.ones(1 + can_be_fused(SparseCoding(torch.eye(8)[None], 0.3, 0.5)))"
    plan = compiling(tmp_path, f"\n{imported}\n\n# %%\n{used}\n")
    executed = Executed(plan.keys.code)
    run_script(plan.files, "thm-1", around=executed.statement)
    provenance = plan.keys.digests({}).claim("thm-1")
    names = executed.by(provenance.units, "thm-1")
    assert names and not uncovered(provenance, names) and not [name for name in names if "register_tiles" in name]


def test_claims_that_execute_nothing_are_found(tmp_path):
    assert run_together(stand_in(tmp_path), ROWS)[1] == ["nothing was executed"]


def test_a_later_cell_that_changes_an_object_of_an_earlier_one_is_found(tmp_path):
    earlier = {"# %%\ndouble =": "# %%\nshown = [1.0, 1.01, 1.02]\n\n# %%\ndouble ="}
    later = {"control=scale)": "control=scale)\nalias = shown\nalias.append(5.0)"}
    read = {"rows = [1.0 + 0.01 * (s % 3) for s in chapter.seeds]": "rows = shown[-3:]"}
    plan = stand_in(tmp_path, earlier, later, read)
    assert differing_alone(plan, ROWS, run_together(plan, ROWS)[0]) == ["fig-1"]


def test_a_comparison_of_nothing_is_found():
    assert differing({"a": {}}, {}) == ["nothing was compared"]
    assert differing({}, {"a": None}) == ["nothing was compared"]
    arms = {"observed": {"": 0.1 + 0.2}}
    assert differing({"a": arms}, {"a": {"observed": {"": 0.1 + 0.2}}}) == []
    assert differing({"a": arms}, {"a": {"observed": {"": 0.3}}}) == ["a"]


def test_a_sample_is_a_row_and_its_neighbours_with_the_same_parameters(tmp_path, monkeypatch):
    plan = stand_in(tmp_path)
    wide = {"scale": 2.0}
    plan.rows = [replace(ROWS[0], claim=f"c-{n}", parameters=wide if n % 2 else {}) for n in range(8)]
    drawn = set()
    for n in range(60):
        monkeypatch.setattr("test_reach.commit_or_digest", lambda root, n=n: f"commit {n}")
        rows = rows_of_sample(plan, seconds=2.5 * (2 * UNKNOWN_SECONDS + START_SECONDS))
        assert len(rows) == 2 and rows[0].parameters == rows[1].parameters
        drawn.add(rows[0].claim)
    assert drawn == {m.claim for m in plan.rows}
