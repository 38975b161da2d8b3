"""The style of the figures: type that can be read on a page, meanings that do not rest on colour, one style for all."""

import ast
import itertools

import matplotlib
import pytest
from checkout import ROOT
from stand_in import write_stand_in

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from clbook.common.pictures import PIXELS_PER_INCH, size_on_page  # noqa: E402
from clbook.common.sources import ChapterFiles, chapter_names  # noqa: E402
from clbook.notebook import colours  # noqa: E402
from clbook.notebook.chapter import open_chapter  # noqa: E402
from clbook.notebook.glue import png  # noqa: E402

SMALLEST = 11  # px, of any type on a page
PAGE_INCHES = 7.8  # the room for a picture in a window of 1300 px; a wider figure is shown smaller, and so is its type
MEANINGS = {name: value for name, value in vars(colours).items() if isinstance(value, dict) and name.isupper()}
PAIRS = [("LINEAR", "RELU"), ("POSITIVE", "NEGATIVE"), ("AUGMENTED", "PLAIN"), ("PRINTED", "THEORY")]


@pytest.fixture(autouse=True)
def style():
    with matplotlib.rc_context():
        yield


def pixels(points: float, inches: float) -> float:
    """The height on a page of type of so many points in a figure of some width."""
    return points / 72 * PIXELS_PER_INCH * min(1, PAGE_INCHES / inches)


def test_an_open_chapter_draws_in_the_style(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    write_stand_in(tmp_path)
    matplotlib.rcdefaults()
    open_chapter("stand-in", {})
    wanted = matplotlib.rc_params_from_file(colours.STYLE, use_default_template=False)
    assert wanted and {key: matplotlib.rcParams[key] for key in wanted} == dict(wanted)


def test_type_of_the_style_is_large_enough_on_a_page():
    colours.use_style()
    types = [matplotlib.rcParams[k] for k in ("xtick.labelsize", "ytick.labelsize", "legend.fontsize", "font.size")]
    assert min(pixels(points, PAGE_INCHES) for points in types) >= SMALLEST


def literals(tree: ast.AST, name: str) -> list[float]:
    """The largest number in each keyword of that name: its literal value, or that of a tuple's first part."""
    found = [k.value for node in ast.walk(tree) if isinstance(node, ast.Call) for k in node.keywords if k.arg == name]
    found = [value.elts[0] if isinstance(value, ast.Tuple) else value for value in found]
    return [value.value for value in found if isinstance(value, ast.Constant) and isinstance(value.value, int | float)]


def small_type(source: str) -> list[str]:
    """What of a figure cell is too small on a page: the style's smallest type, or a size that the cell gives."""
    tree = ast.parse(source)
    inches = max(literals(tree, "figsize"), default=6.4)
    sizes = [9.0] + [size for name in ("size", "fontsize", "labelsize") for size in literals(tree, name)]
    return [f"{size} pt at {inches} in" for size in sizes if pixels(size, inches) < SMALLEST]


@pytest.mark.parametrize("name", chapter_names(ROOT))
def test_type_of_every_figure_is_large_enough_on_a_page(name):
    cells = [cell.source for cell in ChapterFiles(ROOT, name).cells() if "glue.figure(" in cell.source]
    small = [found for source in cells for found in small_type(source)]
    assert len(cells) > 5 and small == []


def test_small_type_is_found():
    assert small_type("plt.subplots(figsize=(8, 3)); ax.legend(fontsize=9); glue.figure(fig, 'a')") == []
    assert small_type("plt.subplots(figsize=(9, 3)); glue.figure(fig, 'a')") == ["9.0 pt at 9 in"]
    assert small_type("plt.subplots(figsize=(6, 3)); ax.legend(fontsize=8); glue.figure(fig, 'a')") == ["8 pt at 6 in"]


def test_no_two_meanings_look_alike_and_what_is_compared_differs_without_colour():
    assert len(MEANINGS) >= 8
    for a, b in itertools.combinations(MEANINGS.values(), 2):
        assert a["color"] != b["color"] or (a["linestyle"], a["marker"]) != (b["linestyle"], b["marker"])
    for first, second in PAIRS:
        a, b = MEANINGS[first], MEANINGS[second]
        assert a["linestyle"] != b["linestyle"] and a["marker"] != b["marker"]


def test_the_lines_of_a_plot_differ_without_colour():
    colours.use_style()
    fig, ax = plt.subplots()
    lines = [ax.plot([0, 1])[0] for _ in range(6)]
    plt.close(fig)
    assert len({line._dash_pattern[1] and tuple(line._dash_pattern[1]) for line in lines}) == 6


def test_ordered_colours_go_from_dark_to_light_and_stay_visible():
    for count in (1, 2, 7):
        light = [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b, _ in colours.ordered(count)]
        assert len(light) == count and light == sorted(light) and light[-1] < 0.75


def test_zero_is_white_and_marked_in_a_signed_image():
    fig, ax = plt.subplots()
    image = colours.signed_image(ax, [[-1.0, 0.0, 3.0]])
    bar = colours.zero_marked(fig, image, ax, "value")
    plt.close(fig)
    assert image.norm(0.0) == 0.5 and (image.norm.vmin, image.norm.vmax) == (-3.0, 3.0)
    assert min(image.cmap(0.5)[:3]) > 0.95 and list(bar.get_ticks()) == [-3.0, 0.0, 3.0]


def test_a_page_shows_a_picture_at_the_size_of_its_figure_whatever_its_resolution_is():
    colours.use_style()
    fig, _ = plt.subplots(figsize=(5, 3))
    shown = {size_on_page(png(fig, dpi))[0] for dpi in (96, 150, 192)}
    plt.close(fig)
    assert max(shown) - min(shown) <= 2 and 400 < min(shown) <= 5 * PIXELS_PER_INCH
