"""References to a paper say so: its numbers and the book's own would look alike.

"paper (8)", "the paper's Theorem 3", "Lemmas 5 and 6 of the paper" are references to the paper; the book's own are made
by roles, such as {numref}`fig`. A bare "(8)" or "Figure 3" may be either.
"""

import re

import pytest
from checkout import ROOT

from clbook.common.sources import ChapterFiles, chapter_names

CHAPTERS = chapter_names(ROOT)
PAGES = sorted(path.name for path in (ROOT / "book").glob("*.md"))
# in which nothing is ours to mend: formulas, code, roles, the paper's own words, options of directives
ASIDE = re.compile(
    r"\$\$.*?\$\$|\$[^$]*?\$|`[^`\n]*`|\"(?:(?!\n(?:# ?)?\n)[^\"])+\"|^(?:# )?:(?!alt)\w+:[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
FENCE = re.compile(r"(?:# )?(?P<marks>`{3,}|:{3,})(?P<head>.*)$")
NUMBER = r"(?:[A-Z]\.)?\d{1,3}(?:\.\d+)*[a-z]?(?![\w%])"
KINDS = "Theorem Lemma Proposition Table Equation Section Figure Definition Assumption Conjecture Example Fact".split()
KIND = rf"(?:(?:{'|'.join(KINDS)})s?|Fig\.|Corollar(?:y|ies)|Appendix)"
ONE = rf"(?:{KIND}\s+(?:\({NUMBER}\)|{NUMBER})(?:\s\((?:[a-z]|\d)\))?|Appendix\s+[A-Z](?!\w)|\({NUMBER}\))"
CHAIN = re.compile(rf"(?<![\w)$·]){ONE}(?:(?:,?\s+and|,|\s+or|\s+to|\s+⇔)\s+(?:{ONE}|{NUMBER}))*")
SAID = re.compile(r"\b[Pp]aper\b|\b(problems?|its|their|20\d\d,( eq\.)?)\s+\**$")
SENTENCE = re.compile(r"(?:(?<!\beq)[.!?][\")*]*\s|\||\s-\s|#\s|\s\s\s)")


def blank(match: re.Match) -> str:
    return re.sub(r"[^\n]", "·", match[0])


def without_blocks(text: str) -> str:
    """A text with code blocks blanked, and statements whose title says that they are the paper's."""
    lines, fences = text.split("\n"), []
    for n, line in enumerate(lines):
        found = FENCE.match(line)
        if found and not found["head"].strip() and fences and fences[-1][0] == found["marks"]:
            fences.pop()
        elif found:
            ours = found["head"].startswith("{") and not found["head"].startswith("{code")
            theirs = "{prf:" in line and "of the paper" in line
            fences.append((found["marks"], not ours or theirs))
            lines[n] = "·" * len(line) if theirs else line
        elif any(hidden for _, hidden in fences):
            lines[n] = "·" * len(line)
    return "\n".join(lines)


def bare(text: str) -> list[re.Match]:
    """The references of a text that could mean the paper or the book."""
    shown = ASIDE.sub(blank, without_blocks(text))
    shown = re.sub(r"\n(# ?)?", lambda match: " " * len(match[0]), shown)
    return [match for match in CHAIN.finditer(shown) if not said(shown, match)]


def said(text: str, match: re.Match) -> bool:
    """Whether the sentence says, before a reference or just after it, that this is the paper's."""
    sentence = SENTENCE.split(text[: match.start()])[-1]
    before = text[max(0, match.start() - len(sentence or "")) : match.start()]
    return bool(SAID.search(before) or re.match(r"\s+of\s+the\s+paper", text[match.end() :]))


def shown(found: list[re.Match]) -> list[str]:
    return [f"…{m.string[max(0, m.start() - 40) : m.end() + 20]}…" for m in found]


def prose(name: str) -> str:
    return "\n\n".join(cell.source for cell in ChapterFiles(ROOT, name).cells() if cell.markdown)


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_says_whose_numbers_it_means(name):
    assert shown(bare(prose(name))) == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_whose_numbers_it_means(page):
    assert shown(bare((ROOT / "book" / page).read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "text",
    ["by (8)", "Theorem 3 says", "Figures 4 and 9", "(9) to (11)", "in Appendix B.5", "the paper ends. By Lemma C.2"],
)
def test_a_bare_reference_is_found(text):
    assert len(bare(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "by paper (8)",
        "the paper's Theorem 3 says",
        "Figures 4 and 9 of the paper",
        "paper (9) to (11)",
        "the paper has cosines (B.15) and norms (B.16)",
        "$f(8)$ and $$x (8)$$",
        "{eq}`cc-eq-map` and `torch.ones(3)`",
        'they write "by Theorem 2 and (9)"',
        "```{prf:theorem} no. 2 of the paper: flow\nBy (3).\n```",
        "```python\nx = f (3)\n```",
        "in a list 1, 2 and 3",
    ],
)
def test_what_says_whose_it_is_passes(text):
    assert bare(text) == []
