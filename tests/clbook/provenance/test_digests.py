"""The digest of a reading: it changes with whatever could change the reading, and with nothing else."""

import subprocess
import sys

import pytest
from checkout import ROOT
from stand_in import CLAIMS, write_stand_in

from clbook.claims.claim_table import Claims
from clbook.common.errors import BookError
from clbook.common.sources import chapter_names
from clbook.provenance.digests import ChapterDigests, Provenance, rule_digest
from clbook.provenance.library import PACKAGE, Library
from clbook.provenance.slices import ChapterCode
from clbook.provenance.spelling import BLOCK

SOURCE = '''# %% tags=["parameters"]
seeds: int = 4  # independent runs, 2..100
first_seed: int = 1000  # first of the block, 0..100000
scale: float = 1.0  # what multiplies, 0.5..2.0
unread: int = 3  # read by one claim alone, 1..9
data: str = "generated"  # generated|small|large

# %%
import torch
from clbook.notebook import glue, open_chapter
from contrastive_dynamics.kernels import double, load, ready, tripled

chapter = open_chapter("stand-in", globals())
torch.set_default_dtype(torch.float64)
ready(chapter.device)
low, high = 1, 9


def shifted(x, by=2):
    """Closed: it reads imported names alone."""
    return double(x) + by


def scaled(x):
    """Open: it reads a parameter."""
    return scale * x


# %% [markdown]
# ## What it states

# %%
rows = [scaled(shifted(double(low)))]

# %%
fig, ax = torch.subplots()
ax.plot(rows, color="red")
glue.figure(fig, "rows")

# %% tags=["nbval-check-output"]
glue.number("rows", rows[0])
chapter.judge("thm-1", observed=rows, control=scale)

# %%
chapter.judge("thm-1-a", observed=unread, control=low)

# %% tags=["nbval-check-output"]
starts = [tripled(seed) for seed in chapter.seeds]
chapter.judge("fig-1", observed=starts, control=[load(), high])

# %% tags=["remove-cell"]
chapter.close()
'''
KERNELS = '''"""Kernels."""
import torch
SUMS = {"small": {"a": "1"}, "large": {"b": "2"}}
FACTOR = 3
def double(x):
    """Twice."""
    return 2 * x
def tripled(x):
    return FACTOR * x
def load():
    return SUMS
def ready(device):
    """State of the process."""
    torch.set_default_device(device)
    torch.set_num_threads(1)
def unused(x):
    return x
'''


FACE = {"clbook.notebook": "def open_chapter(): pass", "clbook.notebook.glue": "def figure(): pass"}


@pytest.fixture
def made(tmp_path):
    """The digests of the stand-in with texts replaced in chapter and library: a function (claim, replacements, …)."""

    def of(claim: str, *changes: tuple[str, str], **parameters) -> Provenance:
        source, kernels = SOURCE, KERNELS
        for old, new in changes:
            assert old in source + kernels
            source, kernels = source.replace(old, new), kernels.replace(old, new)
        library = Library(tmp_path, FACE | {f"{PACKAGE}.kernels": kernels})
        return ChapterDigests(ChapterCode(write_stand_in(tmp_path, source), library), parameters).claim(claim)

    return of


SHIFTED = SOURCE[SOURCE.index("def shifted") : SOURCE.index("\n\ndef scaled")]
NOTHING = {  # changes that no claim's digest sees
    "a colour": [('"red"', '"blue"')],
    "a figure more": [('# %% tags=["remove-cell"]', "# %%\nglue.figure(rows, 'more')\n\n# %% tags=[\"remove-cell\"]")],
    "a comment": [("rows = [", "# said\nrows = [")],
    "layout": [("rows = [scaled(", "rows = [\n    scaled(")],
    "prose": [("What it states", "What it says")],
    "a docstring": [("Closed: ", "Open: "), ("Twice.", "Two times.")],
    "an annotation": [("def scaled(x):", "def scaled(x: float) -> float:")],
    "a meaning of a parameter": [("what multiplies", "a factor")],
    "a range of a parameter": [("0.5..2.0", "0.1..5.0")],
    "a parameter more": [("unread: int", "more: int = 1  # nothing, 1..2\nunread: int")],
    "a glued number": [('glue.number("rows", rows[0])', 'glue.number("more", rows[0])')],
    "no glued number": [('glue.number("rows", rows[0])\n', "")],
    "a renamed helper": [("scaled", "grown")],
    "a renamed closed helper": [("shifted", "moved")],
    "a renamed result": [("rows", "lines")],
    "a renamed kernel": [("tripled", "threefold"), ("double", "twice")],
    "another order of definitions": [("low, high = 1, 9", "high, low = 9, 1")],
    "two statements": [("low, high = 1, 9", "low = 1\nhigh = 9")],
    "another import": [
        ("import double,", "import double as double,"),
        ("import torch\n", "import math\nimport torch\n"),
    ],
    "an import in the cell": [("# %%\nrows", "# %%\nimport math\n\nrows")],
    "a name that nobody reads": [("low, high = 1, 9", "low, high, middle = 1, 9, 5")],
    "a helper that nobody calls": [("low, high =", "def other(x):\n    return scale\n\n\nlow, high =")],
    "a closed helper in the library": [
        (SHIFTED, ""),
        ("def unused", f"{SHIFTED}def unused"),
        (", tripled\n", ", tripled, shifted\n"),
    ],
    "a constant inside the library": [("def unused(x):\n    return x", "def unused(x):\n    return x + 1")],
    "the procedure in place": [
        ("ready(chapter.device)", "torch.set_default_device(chapter.device)\ntorch.set_num_threads(1)")
    ],
    "prose between": [('# %% tags=["nbval-check-output"]\nglue', "# %% [markdown]\n# More\n\n# %%\nglue")],
}
EVERY = ("thm-1", "thm-1-a", "fig-1")
SOME = {  # changes that only some claims' digests see
    "an open helper": ([("scale * x", "scale + x")], {"thm-1"}),
    "a closed helper": ([("double(x) + by", "double(x) - by")], {"thm-1"}),
    "a default of a closed helper": ([("by=2", "by=3")], {"thm-1"}),
    "a called function": ([("2 * x", "2.5 * x")], {"thm-1"}),
    "a constant of the library": ([("FACTOR = 3", "FACTOR = 4")], {"fig-1"}),
    "a constant of the set-up": ([("= 1, 9", "= 2, 9")], {"thm-1", "thm-1-a"}),
    "the other constant": ([("= 1, 9", "= 1, 8")], {"fig-1"}),
    "the cell before": ([("rows = [", "rows = [0, ")], {"thm-1"}),
    "what is observed": ([("observed=rows", "observed=rows[0]")], {"thm-1"}),
    "what is the control": ([("control=low", "control=-low")], {"thm-1-a"}),
    "another arm": ([("control=scale", "control=scale, mended=1")], {"thm-1"}),
    "an arm's name": ([("observed=unread, control=low", "control=unread, observed=low")], {"thm-1-a"}),
    "a line of the judging cell": ([('glue.number("rows"', 'low += 1\nglue.number("rows"')], {"thm-1", "thm-1-a"}),
    "a cell that changes in place": (
        [('# %% tags=["nbval-check-output"]\nglue', "# %%\nrows[0] = 5\n\n# %%\nglue")],
        {"thm-1"},
    ),
    "a default of a parameter": ([("scale: float = 1.0", "scale: float = 1.5")], {"thm-1"}),
    "a default of one that others leave unread": ([("unread: int = 3", "unread: int = 4")], {"thm-1-a"}),
    "the state": ([("torch.float64", "torch.float32")], set(EVERY)),
    "no state": ([("torch.set_default_dtype(torch.float64)\n", "")], set(EVERY)),
    "more state": ([("low, high =", "torch.manual_seed(1)\nlow, high =")], set(EVERY)),
    "state of the library": ([("set_num_threads(1)", "set_num_threads(2)")], set(EVERY)),
    "an argument of the state": ([("ready(chapter.device)", "ready('cpu')")], set(EVERY)),
    "a block of seeds": ([("first_seed: int = 1000", "first_seed: int = 1001")], {"fig-1"}),
    "a number of seeds": ([("seeds: int = 4", "seeds: int = 5")], {"fig-1"}),
    "two names exchanged": ([("double(low)", "double(high)")], {"thm-1"}),
    "a name of the same text": ([("tripled(seed)", "double(seed)")], {"fig-1"}),
}


@pytest.mark.parametrize("change", NOTHING)
def test_what_changes_no_reading_changes_no_digest(made, change):
    for claim in EVERY:
        assert made(claim, *NOTHING[change]).digest == made(claim).digest, claim


@pytest.mark.parametrize("change", SOME)
def test_what_may_change_a_reading_changes_its_digest_and_no_other(made, change):
    changes, claims = SOME[change]
    assert {c for c in EVERY if made(c, *changes).digest != made(c).digest} == claims


@pytest.mark.parametrize(
    ("value", "claims"),
    [
        ({"scale": 1.5}, {"thm-1"}),
        ({"unread": 4}, {"thm-1-a"}),
        ({"seeds": 5}, {"fig-1"}),
        ({"first_seed": 7}, {"fig-1"}),
        ({"data": "small"}, {"fig-1"}),
        ({"scale": 1.0, "unread": 3, "unknown": 1}, set()),
    ],
)
def test_a_value_of_a_parameter_counts_where_it_is_read(made, value, claims):
    assert {c for c in EVERY if made(c, **value).digest != made(c).digest} == claims


def test_the_parameters_that_a_claim_reads(made):
    read = {claim: made(claim).parameters for claim in EVERY}
    assert read == {"thm-1": {"scale"}, "thm-1-a": {"unread"}, "fig-1": {BLOCK}}


def test_of_the_sums_those_of_the_data_set_count(made):
    def seen(data):
        return made("fig-1", ('"b": "2"', '"b": "3"'), data=data).digest != made("fig-1", data=data).digest

    assert [seen(data) for data in ("generated", "small", "large")] == [False, False, True]


def test_a_stored_benchmark_counts_where_it_is_read(made, tmp_path):
    reads = ("observed=unread", 'observed=chapter.benchmark("times")["a"]')
    file = tmp_path / "records" / "benchmarks" / "times.json"
    file.parent.mkdir(parents=True)

    def digests(content):
        file.write_text(content)
        return {claim: made(claim, reads).digest for claim in EVERY}

    one, two = digests('{"a": 1}'), digests('{"a": 2}')
    assert {claim for claim in EVERY if one[claim] != two[claim]} == {"thm-1-a"}


def test_what_a_claim_reaches_says_what_has_changed(made):
    before, after = made("thm-1").reaches, made("thm-1", ("2 * x", "2.5 * x")).reaches
    assert {name for name in before if before[name] != after[name]} == {f"{PACKAGE}.kernels.double"}
    after = made("thm-1", ("scale * x", "scale + x")).reaches
    assert {name for name in before if before[name] != after[name]} == {"the cell of scaled"}
    assert "shifted of the set-up" in before and not any("unused" in name or "tripled" in name for name in before)


def test_a_claim_that_no_cell_judges_is_refused(made):
    with pytest.raises(BookError, match="no cell judges lem-1"):
        made("lem-1")


def test_a_rule_has_a_digest_of_its_own(tmp_path):
    def rules(*change):
        path = tmp_path / "claims.yaml"
        path.write_text(CLAIMS.replace(*change) if change else CLAIMS, encoding="utf-8")
        return {claim.id: rule_digest(claim) for claim in Claims.load(path).rows.values()}

    before = rules()
    assert len(set(before.values())) == len(before)
    for change in [
        ("Twice is", "Double is"),
        ("Theorem 1\n", "Theorem 2\n"),
        ("rounding", "round-off"),
        ("a factor\n", "b\n"),
    ]:
        assert rules(*change) == before
    for old, new, claim in [
        ("at_most: 1.0e-10", "at_most: 1.0e-9", "thm-1"),
        ("{at_least: 0.0}", "{at_most: 0.0}", "fig-1"),
        ("by_chance: true", "by_chance: false", "fig-1"),
        ("  erratum: a factor 3 is missing\n", "", "thm-1-a"),
    ]:
        after = rules(old, new)
        assert {c for c in before if before[c] != after[c]} == {claim}


def test_a_rule_is_no_part_of_a_reading_s_digest(tmp_path):
    files = write_stand_in(tmp_path)
    before = ChapterDigests(ChapterCode(files), {}).claim("thm-1").digest
    files.claims.write_text(CLAIMS.replace("at_most: 1.0e-10", "at_most: 1.0e-9"), encoding="utf-8")
    assert ChapterDigests(ChapterCode(files), {}).claim("thm-1").digest == before


ALL = """
import sys
from pathlib import Path
from clbook.provenance.digests import ChapterDigests
from clbook.provenance.library import Library
from clbook.provenance.slices import ChapterCode
from clbook.common.sources import ChapterFiles
library, found = Library(), []
for name in sys.argv[2:]:
    story = ChapterCode(ChapterFiles(Path(sys.argv[1]), name), library)
    digests = ChapterDigests(story, {})
    found += [f"{name}/{claim} {digests.digest(at, claim)}" for claim, at in story.claims.items()]
print("torch" in sys.modules)
print(*found, sep="\\n")
"""


def computed(names: list[str], hash_seed: str) -> list[str]:
    """Whether torch was imported, then chapter, claim and digest, from a process of its own."""
    command = [sys.executable, "-c", ALL, str(ROOT), *names]
    environment = {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_all_digests_of_the_book_are_quick_need_no_torch_and_are_the_same_in_each_process():
    names = chapter_names(ROOT)
    torch, *rows = computed(names, "1")
    assert torch == "False" and len(rows) > 150
    assert len({row.split()[1] for row in rows}) == len(rows)
    assert set(computed(names[1:2], "2")[1:]) < set(rows)  # the order of a set is another in each process
