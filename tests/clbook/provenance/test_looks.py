"""How a picture looks belongs to the digest of the cell that draws it, and to no reading's."""

from pathlib import Path

import pytest
from stand_in import write_stand_in

from clbook.common.sources import Cell, ChapterFiles
from clbook.provenance.digests import ChapterDigests
from clbook.provenance.library import COLOURS, STYLE, Library
from clbook.provenance.slices import ChapterCode
from clbook.provenance.staleness import old_pictures
from clbook.provenance.stamps import pictures_of

SOURCE = """# %% tags=["parameters"]
scale: float = 1.0  # what multiplies, 0.5..2.0

# %%
from clbook.notebook import colours, glue, open_chapter

chapter = open_chapter("stand-in", globals())

# %% [markdown]
# ## What it states

# %%
rows = [scale, 2 * scale]

# %%
glue.figure(colours.drawn(rows, **colours.RELU), "rows")

# %%
def panels(name):
    glue.figure(colours.drawn(rows), name)


# %%
panels("panels")

# %%
glue.explorable(rows, "circle", "no colour is read here")

# %%
dark = colours.BLACK
chapter.judge("thm-1", observed=rows, control=scale)
"""
FACE = "from clbook.notebook import colours\ndef open_chapter(): pass\n"
COLOUR = """RED, BLACK, UNREAD = "red", "black", "grey"
RELU = {"color": RED}
def drawn(rows, **look):
    return rows
"""
SHEET = "# How figures look.\nfont.size: 10\n"
READING, FIGURE, LIVE, BY_HELPER = 0, 1, 2, 3


@pytest.fixture
def digests(tmp_path):
    """The digests of the reading and the pictures, with texts replaced in colours and style sheet."""
    sheet = tmp_path / STYLE
    sheet.parent.mkdir(parents=True)

    def of(old: str = "", new: str = "", source: str = SOURCE) -> list[str]:
        sheet.write_text(SHEET.replace(old, new) if old else SHEET, encoding="utf-8")
        sources = {"clbook.notebook": FACE, "clbook.notebook.glue": "def figure(): pass"}
        sources[COLOURS] = COLOUR.replace(old, new) if old else COLOUR
        story = ChapterCode(write_stand_in(tmp_path, source), Library(tmp_path, sources, tmp_path))
        of_units = ChapterDigests(story, {})
        return [
            of_units.claim("thm-1").digest,
            *(of_units.digest(story.drawing(name)) for name in ("rows", "circle", "panels")),
        ]

    return of


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ('"red"', '"blue"', {FIGURE}),
        ("return rows", "return rows[0]", {FIGURE, BY_HELPER}),
        ('"black"', '"white"', set()),
        ('"grey"', '"white"', set()),
        ("size: 10", "size: 11", {FIGURE, LIVE, BY_HELPER}),
        ("# How figures look.", "# How a figure looks.\n", set()),
    ],
)
def test_a_look_changes_the_pictures_that_show_it_and_no_reading(digests, old, new, changed):
    before, after = digests(), digests(old, new)
    assert {n for n in (READING, FIGURE, LIVE, BY_HELPER) if before[n] != after[n]} == changed


def test_a_colour_that_is_not_there_counts_by_its_name(digests):
    assert digests(source=SOURCE.replace("colours.RELU", "colours.NONE"))[FIGURE] != digests()[FIGURE]


def test_what_was_read_at_the_start_of_a_run_is_what_its_pictures_are_made_of(tmp_path):
    sheet, colours = tmp_path / STYLE, tmp_path / "notebook" / "colours.py"
    sheet.parent.mkdir(parents=True)
    sheet.write_text(SHEET, encoding="utf-8")
    colours.write_text(COLOUR, encoding="utf-8")
    library = Library(tmp_path, own=tmp_path).read()
    sheet.write_text(SHEET.replace("10", "11"), encoding="utf-8")
    colours.write_text("", encoding="utf-8")
    assert library.style == "font.size: 10" and "RELU" in library.module(COLOURS).definitions


OTHER = "for ax in 'ab':\n    ax.plot()"  # a cell that draws something else on its own `ax`


def drawn(*cells: str) -> tuple[ChapterCode, ChapterDigests]:
    """A chapter whose last cell draws `p` on each of `axes` after these cells, and its digests."""
    parameters, prose = Cell("size: int = 1  # how large, 1..9", False, ("parameters",)), Cell("# Prose", True, ())
    draws, shown = "for ax in axes:\n    ax.plot()\nglue.figure(axes, 'p')", "```{glue:figure} p\n```"
    cells = [parameters, prose, *(Cell(cell, False, ()) for cell in (*cells, draws)), Cell(shown, True, ())]
    library = Library(Path("nowhere"), {"clbook.notebook.glue": ""}, Path("nowhere"))
    code = ChapterCode(ChapterFiles(Path("nowhere"), "x"), library, cells)
    return code, ChapterDigests(code, {})


@pytest.mark.parametrize(
    ("cells", "is_own", "is_whole"),
    [
        (("axes = [1]", OTHER), True, True),
        (("axes = [1]", OTHER.replace("b", "c")), True, False),
        (("axes = [1]",), True, False),
        (("axes = [2]", OTHER), False, False),
        (("axes = [1]", "axes.append(2)", OTHER), False, False),
        (("axes = [1]", f"{OTHER}\naxes = [1]"), False, False),
    ],
)
def test_a_picture_is_current_while_its_own_slice_is_or_the_whole_one_of_an_earlier_run(cells, is_own, is_whole):
    code, digests = drawn("axes = [1]", OTHER)
    own, whole = digests.picture(code.drawing("p"))
    assert own != whole

    def is_current(stored: str) -> bool:
        code, digests = drawn(*cells)
        return not old_pictures(code, {"pictures": {"p": {"digest": stored}}}, digests)

    assert (is_current(own), is_current(whole)) == (is_own, is_whole)
    assert pictures_of(digests, {"p": "sum"}) == {"p": {"sum": "sum", "digest": own}}
