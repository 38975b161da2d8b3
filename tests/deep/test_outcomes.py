"""Kept outcomes are valid as long as nothing they depend on has changed; an edited or outdated entry is found."""

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
from library_views import with_source
from mutations import kept_outcomes
from mutations.kept_outcomes import Elsewhere, Mutations, ends, renew
from mutations.mutants import Mutation
from mutations.outcome_keys import Keys, load, save, sealed
from stand_in import SOURCE, write_stand_in

from clbook.common import environment, project
from clbook.common.errors import BookError
from clbook.common.sources import ChapterFiles
from clbook.provenance.library import Library
from clbook.provenance.slices import ChapterCode

RELU = Mutation(
    "stand-in", "thm-1", "losses.activations", 'Activation("relu", torch.relu,', 'Activation("relu", torch.neg,'
)
ROWS = [RELU, replace(RELU, claim="thm-1-a")]
CHANGED = ("reproduced", "not reproduced")
DRAWING = '# %%\nprint(f"twice: {double:.1f}")\n\n# %% tags=["remove-cell"]\nchapter.close()'
ELSEWHERE = "stand-in, on another device"


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return write_stand_in(tmp_path, SOURCE.replace('# %% tags=["remove-cell"]\nchapter.close()', DRAWING))


@pytest.fixture
def kept(stand_in):
    assert list(renew(stand_in, ROWS)) == ["stand-in/thm-1", "stand-in/thm-1-a", ELSEWHERE]
    return stand_in


@pytest.fixture
def no_run(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a chapter was run")

    monkeypatch.setattr(kept_outcomes, "run_script", refuse)
    monkeypatch.setattr(kept_outcomes.other_device, "run_elsewhere", refuse)


def mutation_key(files: ChapterFiles, mutation: Mutation = RELU, library: Library | None = None) -> str:
    return Keys(files, library).of_mutation(mutation)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def doctor(files: ChapterFiles, seal: bool) -> None:
    """Put the sound arms in place of the broken ones, and a wrong number among those from the device."""
    content = load(files)
    entry, measured = content["mutations"]["thm-1"], content["elsewhere"]["thm-1"]
    entry["broken"] = entry["sound"]
    measured["arms"]["observed"] = {"": 0.5}
    for part, row in (("mutations", entry), ("elsewhere", measured)):
        unsealed = {k: v for k, v in row.items() if k != "seal"}
        save(files, part, content[part] | {"thm-1": sealed(unsealed) if seal else row})


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("# A stand-in", "# Another title", True),
        ("double = ACT", "# a comment\ndouble = ACT", True),
        ("h(torch.tensor(-scale))", "h(torch.tensor(-2 * scale))", True),  # in a cell that the claim does not need
        ("h(torch.tensor(2.0 * scale))", "h(torch.tensor(3.0 * scale))", False),
        ("control=scale)", "control=2 * scale)", False),
        ("scale: float = 1.0", "scale: float = 1.5", False),
    ],
)
def test_a_key_follows_the_cells_that_the_claim_needs(stand_in, old, new, same):
    before = mutation_key(stand_in)
    edit(stand_in.source, old, new)
    assert (mutation_key(stand_in) == before) is same


@pytest.mark.parametrize(
    ("module", "old", "new", "same"),
    [
        ("losses.activations", "LEAK = 0.05", "LEAK = 0.06", False),
        ("losses.activations", "LEAK = 0.05", "LEAK = 0.05  # a comment", True),
        ("losses.activations", "torch.sigmoid(-x)", "torch.sigmoid(x)", True),  # of another definition
        ("nonlinearity.one_filter.winning_probability", "import torch", "import torch as t", True),
    ],
)
def test_a_key_follows_what_the_claim_reaches_in_the_library(stand_in, module, old, new, same):
    library, module = Library(), project.full_name(module)
    assert old in library.module(module).source
    other = with_source(library, module, library.module(module).source.replace(old, new))
    assert (mutation_key(stand_in, library=other) == mutation_key(stand_in, library=library)) is same


def test_a_key_follows_the_row_the_profile_and_the_versions(stand_in, monkeypatch):
    rows = (RELU, replace(RELU, new='Activation("relu", torch.abs,'), replace(RELU, parameters={"scale": 2.0}), ROWS[1])
    keys = [mutation_key(stand_in, m) for m in rows]
    versions = environment.versions()
    torch = versions["torch"].partition("+")[0]
    monkeypatch.setattr(environment, "versions", lambda: versions | {"torch": f"{torch}+cu1"})
    assert mutation_key(stand_in) == keys[0]
    monkeypatch.setattr(environment, "versions", lambda: versions | {"torch": "9.9"})
    keys.append(mutation_key(stand_in))
    edit(stand_in.profile("smoke"), "seeds: 3", "scale: 0.5")
    keys.append(mutation_key(stand_in))
    assert len(set(keys)) == len(keys)


def test_the_parts_of_a_chapter_on_another_device_have_keys_of_their_own(stand_in):
    before = Elsewhere(stand_in).wanted
    assert [name for name in before if name.startswith("cell")] == list(before)[3:] and len(before) == 4
    edit(stand_in.source, "h(torch.tensor(-scale))", "h(torch.tensor(-2 * scale))")
    after = Elsewhere(stand_in).wanted
    assert [name for name in before if before[name] != after[name]] == ["thm-1-a"]
    edit(stand_in.source, "twice: ", "two times: ")
    assert list(Elsewhere(stand_in).wanted)[3] != list(before)[3]


def test_cells_that_no_claim_needs_are_found_by_where_they_end(stand_in):
    edit(stand_in.source, '# %%\nprint(f"twice', '# %%\nhalf = double / 2\n\n# %%\nprint(half)\n\n# %%\nprint(f"twice')
    code = ChapterCode(stand_in)
    assert [code.units[n].source for n in ends(code)] == ["print(half)", 'print(f"twice: {double:.1f}")']


def test_what_is_kept_is_valid_and_judged_by_the_present_rule(kept, no_run):
    plan = Mutations(kept, ROWS, seconds=0.0)
    assert plan.verdicts(RELU) == CHANGED and plan.missing == []
    assert Elsewhere(kept, seconds=0.0).verdicts()["fig-1"] == "reproduced"
    edit(kept.claims, "at_most: 1.0e-10", "at_most: 100.0")
    open_row = "undecided, observed met, control met, advocate met"  # the control meets it, so each arm counts
    assert Mutations(kept, ROWS, seconds=0.0).verdicts(RELU) == (open_row, open_row)


def test_only_what_changed_is_run_and_kept_anew(kept):
    edit(kept.source, "h(torch.tensor(-scale))", "h(torch.tensor(-2 * scale))")
    plan, elsewhere = Mutations(kept, ROWS, seconds=0.0), Elsewhere(kept, seconds=0.0)
    assert plan.missing == ROWS[1:] and elsewhere.missing == ["thm-1-a"]
    missing = "kept for 1 of 2 mutations, so each was run; `make outcomes CHAPTER=stand-in`"
    with pytest.warns(UserWarning, match=missing):
        plan.verdicts(ROWS[1])
    with pytest.warns(UserWarning, match="kept for 1 claims and cells on the other device"):
        assert elsewhere.verdicts()["thm-1"] == "reproduced"
    assert list(renew(kept, ROWS)) == ["stand-in/thm-1-a", ELSEWHERE]
    assert list(renew(kept, ROWS)) == []
    list(renew(kept, ROWS[1:]))
    assert list(load(kept)["mutations"]) == ["thm-1-a"]


def test_an_edited_entry_is_not_valid(kept):
    doctor(kept, seal=False)
    with pytest.warns(UserWarning, match="1 of 2 mutations"):
        assert Mutations(kept, ROWS).verdicts(RELU) == CHANGED
    with pytest.warns(UserWarning, match="1 claims and cells on the other device"):
        assert Elsewhere(kept).verdicts()["thm-1"] == "reproduced"


def test_an_edited_entry_with_its_seal_is_caught_by_the_sample(kept):
    doctor(kept, seal=True)
    plan = Mutations(kept, ROWS)
    assert plan.sampled == {"thm-1", "thm-1-a"} and plan.missing == []
    conflict = r"stand-in/thm-1, mutated: kept is .*, but a run gives .*'not reproduced'"
    with pytest.raises(AssertionError, match=conflict):
        plan.verdicts(RELU)
    with pytest.raises(AssertionError, match="stand-in/thm-1, on another device: kept is"):
        Elsewhere(kept).verdicts()


def test_each_row_is_drawn_with_some_commit_one_that_takes_long_too(kept, monkeypatch):
    content, drawn = load(kept)["mutations"], []
    unsealed = {k: v for k, v in content["thm-1"].items() if k != "seal"} | {"seconds": [500.0, 500.0]}
    save(kept, "mutations", content | {"thm-1": sealed(unsealed)})
    for n in range(20):
        monkeypatch.setattr(kept_outcomes, "commit_or_digest", lambda root, n=n: f"commit {n}")
        drawn.append(Mutations(kept, ROWS).sampled)
    assert {frozenset(sample) for sample in drawn} == {frozenset({"thm-1"}), frozenset({"thm-1", "thm-1-a"})}


def test_a_mutation_that_changes_nothing_is_kept_as_it_is(stand_in):
    harmless = replace(RELU, old="LEAK = 0.05", new="LEAK = 0.06")
    list(renew(stand_in, [harmless]))
    assert Mutations(stand_in, [harmless]).verdicts(harmless) == ("reproduced", "reproduced")


def test_a_mutation_by_which_a_training_diverges_may_do_so_on_one_machine_alone(stand_in):
    wild = replace(RELU, new='Activation("relu", lambda x: (_ for _ in ()).throw(FloatingPointError),')
    list(renew(stand_in, [wild]))
    assert Mutations(stand_in, [wild], seconds=0.0).verdicts(wild) == ("reproduced", "diverged")
    entry = {k: v for k, v in load(stand_in)["mutations"]["thm-1"].items() if k != "seal"}
    for arms, agrees in ({"broken": entry["sound"]}, True), ({"sound": {"observed": {"": 9.0}, "control": {}}}, False):
        save(stand_in, "mutations", {"thm-1": sealed(entry | arms)})
        with contextlib.nullcontext() if agrees else pytest.raises(AssertionError, match="but a run gives"):
            assert Mutations(stand_in, [wild]).verdicts(wild) == ("reproduced", "diverged")


def test_where_chance_decides_a_mutation_may_break_the_verdict_to_another_word(stand_in):
    row = Mutation("stand-in", "fig-1", RELU.module, RELU.old, RELU.new)
    plan = Mutations(stand_in, [row], seconds=0.0)
    one, other, same = ("reproduced", "undecided"), ("reproduced", "not reproduced"), ("reproduced", "reproduced")
    assert plan._certain("fig-1", one, one + other) == plan._certain("fig-1", other, one + other)
    assert plan._certain("fig-1", one, one + same) != plan._certain("fig-1", same, one + same)
    assert plan._certain("thm-1", one, one + other) != plan._certain("thm-1", other, one + other)


def test_a_row_of_a_claim_that_no_cell_judges_fails_alone(kept):
    plan = Mutations(kept, [*ROWS, replace(RELU, claim="thm-9")], seconds=0.0)
    assert plan.verdicts(RELU) == CHANGED
    with pytest.warns(UserWarning), pytest.raises(BookError, match="no cell judges thm-9"):
        plan.verdicts(plan.rows[2])


def test_a_row_whose_source_cannot_be_read_fails_alone_too(kept):
    plan = Mutations(kept, [RELU, replace(ROWS[1], new=")")], seconds=0.0)
    assert plan.verdicts(RELU) == CHANGED
    with pytest.warns(UserWarning), pytest.raises(SyntaxError):
        plan.verdicts(plan.rows[1])


def test_a_run_that_is_cut_short_keeps_what_it_had(stand_in, monkeypatch):
    measure = Mutations.measure

    def cut(plan, mutation):
        if mutation.claim == "thm-1-a":
            raise KeyboardInterrupt
        return measure(plan, mutation)

    monkeypatch.setattr(Mutations, "measure", cut)
    with pytest.raises(KeyboardInterrupt):
        list(renew(stand_in, ROWS))
    assert list(load(stand_in)["mutations"]) == ["thm-1"]
    monkeypatch.undo()
    monkeypatch.setenv("CLBOOK_ROOT", str(stand_in.root))
    assert list(renew(stand_in, ROWS)) == ["stand-in/thm-1-a", ELSEWHERE]


def test_a_row_for_the_sake_of_a_kernel_has_an_entry_of_its_own(kept, no_run, monkeypatch):
    row = replace(RELU, new='Activation("relu", torch.abs,', for_kernel=True)
    plan = Mutations(kept, [*ROWS, row], seconds=0.0)
    assert plan.missing == [row] and plan.verdicts(RELU) == CHANGED
    monkeypatch.undo()
    monkeypatch.setenv("CLBOOK_ROOT", str(kept.root))
    assert list(renew(kept, [*ROWS, row])) == ["stand-in/thm-1/ACTIVATIONS"]
    assert list(load(kept)["mutations"]) == ["thm-1", "thm-1-a", "thm-1/ACTIVATIONS"]
