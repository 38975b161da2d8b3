"""A Sphinx extension: the appendix of chapter 3 is Appendix C, its figures and equations are C.1, C.2 and so on.

Sphinx numbers what stands on a page after the number of that page's chapter. A page whose name ends in `-appendix` is
listed below its chapter in `_toc.yml`; without this extension it would continue the chapter's numbers.
"""

from docutils import nodes
from sphinx.environment import BuildEnvironment
from sphinx_external_toc.collectors import TocTreeCollectorWithStyles, disable_builtin_toctree_collector

from ..common.sources import APPENDIX


def letter(chapter: int) -> str:
    """A for 1, B for 2 and so on."""
    if not 1 <= chapter <= 26:
        raise ValueError(f"chapter must be 1..26, got {chapter}")
    return chr(ord("A") + chapter - 1)


def _letter_appendix(env: BuildEnvironment, page: str) -> None:
    """Put a letter in place of the numbers of chapter and page: for references, in headings and in the contents."""
    numbers = env.toc_secnumbers[page]
    if not (own := numbers.get("")):
        return
    first, head = letter(own[0]), len(own)
    env.toc_secnumbers[page] = {at: number and (first, *number[head:]) for at, number in numbers.items()}
    for node in (env.titles[page], *env.tocs[page].findall(nodes.Element)):
        if number := node.get("secnumber"):
            node["secnumber"] = [first, *number[head:]]


class _Collector(TocTreeCollectorWithStyles):
    def assign_section_numbers(self, env: BuildEnvironment) -> list[str]:
        changed = super().assign_section_numbers(env)
        for page in env.toc_secnumbers:
            if page.endswith(APPENDIX):
                _letter_appendix(env, page)
        return changed


def setup(app) -> dict:
    app.setup_extension("sphinx_external_toc")
    app.setup_extension("sphinx_multitoc_numbering")
    disable_builtin_toctree_collector(app)
    app.add_env_collector(_Collector)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
