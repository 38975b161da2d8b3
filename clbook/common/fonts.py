"""The letters of pictures: matplotlib's own fonts, in place of which it would draw with others and only log it."""

import contextlib
from pathlib import Path

OWN = ("DejaVu Sans", "DejaVu Sans Display", "STIXGeneral", "cmr10")  # text, signs, formulas of handouts


def missing_fonts() -> list[str]:
    """The fonts of `OWN` that matplotlib does not find; empty without matplotlib.

    Matplotlib reads its list of fonts from a file in the user's cache. One that lacks some of `OWN` is removed, so that
    the next process lists the machine's fonts anew, and this process adds matplotlib's own files to its list. Takes a
    millisecond if all are found.
    """
    try:
        import matplotlib
        from matplotlib import font_manager
    except ImportError:
        return []
    if not _not_found():
        return []
    with contextlib.suppress(OSError):
        kept = f"fontlist-v{font_manager.FontManager.__version__}.json"
        Path(matplotlib.get_cachedir(), kept).unlink(missing_ok=True)
    for path in Path(matplotlib.get_data_path(), "fonts", "ttf").glob("*.ttf"):
        font_manager.fontManager.addfont(path)
    return _not_found()


def _not_found() -> list[str]:
    from matplotlib.font_manager import findfont

    missing = []
    for name in OWN:
        try:
            findfont(name, fallback_to_default=False)
        except ValueError:
            missing.append(name)
    return missing
