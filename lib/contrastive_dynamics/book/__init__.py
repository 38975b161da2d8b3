"""What runs, judges and shows a chapter: claims, parameters, runs, pages. It needs no torch to read or show results."""

from .chapter import glue
from .chapter.chapter import open_chapter

__all__ = ["glue", "open_chapter"]
