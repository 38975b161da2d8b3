"""What a colour means throughout the book; line style and marker also tell curves apart without colour.

Each meaning is a dictionary of options for `ax.plot` and `ax.errorbar`:

    ax.plot(time, norm, **RELU, label="ReLU")
    ax.text(time[-1], norm[-1], "ReLU", color=RELU["color"])

The colours are those of Okabe and Ito, which readers with a colour vision deficiency tell apart.
"""

import sys
from pathlib import Path

from ..common.fonts import missing_fonts

STYLE = Path(__file__).with_name("book.mplstyle")

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE, GREY = "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#767676"

LINEAR = {"color": BLUE, "linestyle": "--", "marker": "s"}
RELU = {"color": VERMILION, "linestyle": "-", "marker": "o"}
POSITIVE = {"color": GREEN, "linestyle": "-", "marker": "P"}  # pairs that the loss pulls together
NEGATIVE = {"color": PURPLE, "linestyle": "--", "marker": "X"}  # pairs that it pushes apart
AUGMENTED = {"color": ORANGE, "linestyle": "-", "marker": "^"}
PLAIN = {"color": SKY, "linestyle": "-.", "marker": "v"}  # without augmentation
UNCONSTRAINED = {"color": VERMILION, "linestyle": "-", "marker": "none"}  # no rule holds the outputs
NORM_HELD = {"color": PURPLE, "linestyle": ":", "marker": "none"}  # one budget for all directions
ORTHONORMAL = {"color": BLUE, "linestyle": "--", "marker": "none"}  # orthonormal layers: one budget per direction
PRINTED = {"color": BLACK, "linestyle": "none", "marker": "D", "markerfacecolor": "white"}  # by the paper
THEORY = {"color": BLACK, "linestyle": ":", "marker": "none"}  # a line that is derived, not measured
ASIDE = {"color": GREY, "linestyle": "-", "marker": "none", "linewidth": 0.9}  # axes, bounds, other guides

ORDERED = "viridis"  # colour map of values from small to large
SIGNED = "PuOr_r"  # colour map of signed values: orange above zero, purple below, white at zero


def use_style() -> None:
    """Apply the book's style, and nothing of a user's own, to all later figures; does nothing without matplotlib.

    One line on stderr names fonts that are missing, in place of which matplotlib draws others.
    """
    try:
        import matplotlib.style
    except ImportError:
        return
    matplotlib.style.use(["default", STYLE])  # a user's matplotlibrc may ask for another font, a grid, TeX
    if missing := missing_fonts():
        print(f"clbook: matplotlib lacks its fonts {', '.join(missing)}: pictures have other letters", file=sys.stderr)


def ordered(count: int) -> list:
    """Colours from dark to light, visible on white, for `count` lines whose order counts (widths, epochs)."""
    import matplotlib

    at = [0.8 * k / max(count - 1, 1) for k in range(count)]
    return [matplotlib.colormaps[ORDERED](x) for x in at]


def signed_image(ax, values, *, largest: float | None = None, **options):
    """`ax.imshow` of signed values: white is zero, and both signs have the same range, up to `largest`."""
    from matplotlib.colors import CenteredNorm

    return ax.imshow(values, cmap=SIGNED, norm=CenteredNorm(0.0, largest), **options)


def zero_marked(fig, image, ax, label: str):
    """The colour bar of a signed image, with a line and a tick at zero."""
    bar = fig.colorbar(image, ax=ax, label=label)
    bar.ax.axhline(0.0, color=BLACK, linewidth=1.2)
    bar.set_ticks([image.norm.vmin, 0.0, image.norm.vmax])
    return bar
