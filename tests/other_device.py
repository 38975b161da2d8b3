"""A chapter run as a plain script with its tensors elsewhere, whatever device it asks for."""

from elsewhere import ELSEWHERE, elsewhere
from mutants import run_script

from contrastive_dynamics.book.sources import ChapterFiles


def _use_it() -> None:
    from contrastive_dynamics.book import chapter, provenance

    chapter.resolve_device = lambda wanted: str(ELSEWHERE)
    provenance.device_name = str


def run_elsewhere(files: ChapterFiles, claims: tuple[str, ...] | None = None, clock: list | None = None) -> dict:
    """`run_script` on the device elsewhere."""
    with elsewhere():
        return run_script(files, claims, prepare=_use_it, clock=clock)
