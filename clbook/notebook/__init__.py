"""The notebook's side: `open_chapter`, what a cell shows (`glue`), and the colours of figures."""

from . import colours, glue
from .chapter import open_chapter

__all__ = ["colours", "glue", "open_chapter"]
