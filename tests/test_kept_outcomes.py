"""What is kept of runs is believed while nothing they depend on has changed; an edited or outdated entry is caught."""

import json
from dataclasses import replace
from pathlib import Path

import kept_outcomes
import pytest
from kept_outcomes import Mutations, load, mutation_key, path_of, renew, sample, save, sealed, verdicts_elsewhere
from mutants import Mutation, load_mutations
from needed_cells import cells_of, code_cells
from stand_in import write_stand_in

from contrastive_dynamics.book import provenance
from contrastive_dynamics.book.sources import ChapterFiles, chapter_names

ROOT = Path(__file__).parents[1]
RELU = Mutation("stand-in", "thm-1", "activations", 'Activation("relu", torch.relu,', 'Activation("relu", torch.neg,')
ROWS = [RELU, replace(RELU, claim="thm-1-a")]
CHANGED = ("reproduced", "not reproduced")


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    return write_stand_in(tmp_path)


@pytest.fixture
def kept(stand_in):
    assert list(renew(stand_in, ROWS)) == ["stand-in/thm-1", "stand-in/thm-1-a", "stand-in, on another device"]
    return stand_in


@pytest.fixture
def no_run(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a chapter was run")

    monkeypatch.setattr(kept_outcomes, "run_script", refuse)
    monkeypatch.setattr(kept_outcomes.other_device, "run_elsewhere", refuse)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def doctor(files: ChapterFiles, seal: bool) -> None:
    """Put the sound arms in the place of the broken ones, and another number among those from the device."""
    content = load(files)
    entry = content["mutations"]["thm-1"]
    entry["broken"] = entry["sound"]
    content["elsewhere"]["arms"]["thm-1"]["observed"] = {"": 0.5}
    if seal:
        unsealed = [{k: v for k, v in e.items() if k != "seal"} for e in (entry, content["elsewhere"])]
        content["mutations"]["thm-1"], content["elsewhere"] = map(sealed, unsealed)
    save(files, content)


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
    before = mutation_key(stand_in, RELU)
    edit(stand_in.source, old, new)
    assert (mutation_key(stand_in, RELU) == before) is same


@pytest.mark.parametrize(
    ("module", "old", "new", "same"),
    [
        ("activations", "LEAK = 0.05", "LEAK = 0.06", False),
        ("activations", "LEAK = 0.05", "LEAK = 0.05  # a comment", True),
        ("book.claims", "MISSED, UNDECIDED, MET)", "UNDECIDED, MISSED, MET)", False),
        ("winning_probability", "import torch", "import torch as t", True),
    ],
)
def test_a_key_follows_the_library_that_the_cells_use(stand_in, monkeypatch, module, old, new, same):
    before, source = mutation_key(stand_in, RELU), kept_outcomes.module_source
    assert old in source(f"contrastive_dynamics.{module}")
    other = {f"contrastive_dynamics.{module}": (old, new)}
    monkeypatch.setattr(kept_outcomes, "module_source", lambda name: source(name).replace(*other.get(name, ("", ""))))
    assert (mutation_key(stand_in, RELU) == before) is same


def test_a_key_follows_the_row_the_profile_the_machinery_and_the_versions(stand_in, monkeypatch):
    keys = [mutation_key(stand_in, m) for m in (RELU, replace(RELU, new="x"), replace(RELU, parameters={"scale": 2.0}))]
    found = provenance.versions()
    monkeypatch.setattr(provenance, "versions", lambda: found | {"torch": found["torch"].partition("+")[0] + "+cu1"})
    assert mutation_key(stand_in, RELU) == keys[0]
    monkeypatch.setattr(provenance, "versions", lambda: found | {"torch": "9.9"})
    keys.append(mutation_key(stand_in, RELU))
    monkeypatch.setattr(kept_outcomes.inspect, "getsource", lambda module: "")
    keys.append(mutation_key(stand_in, RELU))
    stand_in.profile("smoke").write_text("seeds: 4\n")
    keys.append(mutation_key(stand_in, RELU))
    assert len(set(keys)) == len(keys)


def test_what_is_kept_is_believed_and_judged_by_the_present_rule(kept, no_run):
    plan = Mutations(kept, ROWS, seconds=0.0)
    assert plan.verdicts(RELU) == CHANGED and plan.missing == []
    assert verdicts_elsewhere(kept, seconds=0.0)["fig-1"] == "reproduced"
    edit(kept.claims, "at_most: 1.0e-10", "at_most: 100.0")
    assert Mutations(kept, ROWS, seconds=0.0).verdicts(RELU) == ("undecided", "undecided")  # the control meets it


def test_only_what_changed_is_run_and_kept_anew(kept):
    edit(kept.source, "h(torch.tensor(-scale))", "h(torch.tensor(-2 * scale))")
    plan = Mutations(kept, ROWS, seconds=0.0)
    assert plan.missing == ROWS[1:]
    with pytest.warns(
        UserWarning, match="kept for 1 of 2 mutations, so each was run; `make outcomes CHAPTER=stand-in`"
    ):
        plan.verdicts(ROWS[1])
    with pytest.warns(UserWarning, match="kept for the other device"):
        assert verdicts_elsewhere(kept)["thm-1"] == "reproduced"
    assert list(renew(kept, ROWS)) == ["stand-in/thm-1-a", "stand-in, on another device"]
    assert list(renew(kept, ROWS)) == []
    list(renew(kept, ROWS[1:]))
    assert list(load(kept)["mutations"]) == ["thm-1-a"]


def test_an_edited_entry_is_not_believed(kept):
    doctor(kept, seal=False)
    with pytest.warns(UserWarning, match="1 of 2 mutations"):
        assert Mutations(kept, ROWS).verdicts(RELU) == CHANGED
    with pytest.warns(UserWarning, match="the other device"):
        assert verdicts_elsewhere(kept)["thm-1"] == "reproduced"


def test_an_edited_entry_with_its_seal_is_caught_by_the_sample(kept):
    doctor(kept, seal=True)
    plan = Mutations(kept, ROWS)
    assert plan.sampled == {"thm-1", "thm-1-a"} and plan.missing == []
    with pytest.raises(
        AssertionError, match=r"stand-in/thm-1, mutated: kept is .*, but a run gives .*'not reproduced'"
    ):
        plan.verdicts(RELU)
    with pytest.raises(AssertionError, match="stand-in/thm-1, on another device: kept is"):
        verdicts_elsewhere(kept)


def test_a_mutation_that_changes_nothing_is_kept_as_it_is(stand_in):
    harmless = replace(RELU, old="LEAK = 0.05", new="LEAK = 0.06")
    list(renew(stand_in, [harmless]))
    assert Mutations(stand_in, [harmless]).verdicts(harmless) == ("reproduced", "reproduced")


def test_a_row_of_a_claim_that_no_cell_judges_fails_alone(kept):
    plan = Mutations(kept, [*ROWS, replace(RELU, claim="thm-9")], seconds=0.0)
    assert plan.verdicts(RELU) == CHANGED
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="no cell judges thm-9"):
        plan.verdicts(plan.rows[2])


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
    assert list(renew(stand_in, ROWS)) == ["stand-in/thm-1-a", "stand-in, on another device"]


def test_a_sample_is_chosen_by_a_hash_within_its_budget():
    seconds = {str(n): float(n) for n in range(20)}
    samples = [sample(seconds, 30.0, f"code {n}") for n in range(50)]
    assert all(20 <= sum(map(float, taken)) < 30 for taken in samples)
    assert samples[0] == sample(dict(reversed(seconds.items())), 30.0, "code 0") and samples[0] != samples[1]
    assert set().union(*samples) == set(seconds)
    assert sample(seconds, 0.0, "code") == set() and sample({"long": 99.0}, 30.0, "code") == set()


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_what_is_committed_belongs_to_rows_and_their_modules(name):
    files, rows = ChapterFiles(ROOT, name), load_mutations(ROOT / "tests" / "mutations")
    rows, code = [m for m in rows if m.chapter == name], code_cells(files)
    if path_of(files).is_file():
        assert set(json.loads(path_of(files).read_text())["mutations"]) <= {m.claim for m in rows}
    for m in rows:
        program = "\n".join(code[n].source for n in cells_of(files, (m.claim,)))
        assert f"contrastive_dynamics.{m.module}" in kept_outcomes.used_modules(program), m.id
