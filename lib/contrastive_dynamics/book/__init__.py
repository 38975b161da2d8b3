"""What runs, judges and shows a chapter: claims, parameters, runs, pages. It needs no torch to read or show results."""

from .chapter import colours, glue
from .chapter.chapter import open_chapter

__all__ = ["colours", "glue", "open_chapter"]
