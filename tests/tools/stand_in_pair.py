"""The stand-in chapter told in two notebooks: what it states, and in its appendix the rest."""

from pathlib import Path

from stand_in import SOURCE, write_stand_in

from clbook.common.sources import ChapterFiles

_HEAD, _PROSE, _BODY = SOURCE.partition("# %% [markdown]\n# ## What it states\n")
_FIRST, _SPLIT, _REST = _BODY.partition("# %%\nfalling =")
_CLOSE = '# %% tags=["remove-cell"]\nchapter.close()\n'

CHAPTER = _HEAD + _PROSE + _FIRST + _CLOSE
APPENDIX = _HEAD.replace('open_chapter("stand-in"', 'open_chapter("stand-in-appendix"') + _PROSE + _SPLIT + _REST


def split(files: ChapterFiles, chapter: str = CHAPTER, appendix: str = APPENDIX) -> ChapterFiles:
    """Write a chapter's source anew as the sources of two notebooks."""
    files.source.write_text(chapter, encoding="utf-8")
    ChapterFiles(files.root, files.name, 1).source.write_text(appendix, encoding="utf-8")
    return files


def write_pair(root: Path, **changes) -> ChapterFiles:
    """The stand-in with an appendix, without notebooks; `changes` as in `split`."""
    return split(write_stand_in(root), **changes)
