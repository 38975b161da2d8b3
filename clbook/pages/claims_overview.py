"""The top of the claims page: a table of the theorems and figures that hold, and how many verdicts could be luck."""

import re

from ..claims.claim_table import NEGATIVE, STAND_INS
from ..claims.judging import CONDITIONS
from ..claims.statistics import LEVEL
from ..notebook.claim_result import ClaimResult
from .claim_marks import Html, counts, row_link
from .template import fill

_WORDS = {
    "thm": "Theorem",
    "prop": "Proposition",
    "cor": "Corollary",
    "conj": "Conjecture",
    "lem": "Lemma",
    "fig": "Figure",
    "table": "Table",
}
_GROUPS = {
    "Theorems, propositions": ("Theorem", "Proposition", "Corollary", "Conjecture"),
    "Lemmas": ("Lemma",),
    "Figures, tables": ("Figure", "Table"),
}
_ID = re.compile(rf"(?P<word>{'|'.join(_WORDS)})-(?P<part>[a-z]?)(?P<number>\d[\d.]*)(?P<side>[a-z]?)(?:-|$)")
_HOLDS, _IN_PART = ("reproduced", "misprint"), ("with conditions",)
_COLUMNS = ("hold, misprints mended", "hold with conditions", "open, failed or not run in some part", "on a stand-in")


def label_of(result: ClaimResult) -> tuple[str, str] | None:
    """The kind and the number of the printed result that a claim states; None for a sentence, a remark, an equation.

    The number comes from the id. A paper may number lemmas and corollaries together: the locator has the word.
    """
    if (match := _ID.match(result.claim.id)) is None or result.claim.of == "remark":
        return None
    number = f"{match['part'].upper()}.{match['number']}" if match["part"] else match["number"]
    words = "|".join(_WORDS.values())
    printed = re.search(rf"({words})s? (?:\S+ and )?{re.escape(number)}(?![\d.]*\d)", result.claim.locator)
    side = f" ({match['side']})" if match["side"] else ""
    return (printed[1] if printed else _WORDS[match["word"]]), f"{number}{side}"


def column_of(claims: list[ClaimResult]) -> int:
    """The column of a printed result: all hold, all within conditions, one is open or against it, or on a stand-in."""
    verdicts = {claim.verdict for claim in claims}
    if verdicts & {*STAND_INS}:
        return 3
    return 0 if verdicts <= {*_HOLDS} else 1 if verdicts <= {*_HOLDS, *_IN_PART} else 2


def _marks(claims: list[ClaimResult]) -> list[str]:
    """How many claims of a printed result are open or failed, in words."""
    number, of = counts(claim.verdict for claim in claims), f" of {len(claims)}" if len(claims) > 1 else ""
    if number["not run"] == len(claims):
        return ["not run"]
    parts = {"failed": sum(number[verdict] for verdict in NEGATIVE), "open": number["undecided"]}
    parts |= {word: number[word] for word in STAND_INS}
    marks = [f"{count}{of} {word}" if of else word for word, count in parts.items() if count]
    return marks + ["a misprint"] * bool(number["misprint"])


def _printed_order(label: tuple[str, str]) -> tuple:
    """Sorts by kind, then by number: 2 before 10, and the numbers of the main text before A.1."""
    word, number = label
    parts = [(int(digits or 0), letter) for digits, letter in re.findall(r"(\d+)|([A-Za-z]+)", number)]
    return list(_WORDS.values()).index(word), number[0].isalpha(), parts


def _paper_rows(results: list[ClaimResult]) -> tuple[list, list[int]]:
    """Of one paper: (group, for each column its printed results) of each group, and counts of everything else.

    A printed result stands with its first claim, its label and its marks.
    """
    printed: dict[tuple[str, str], list[ClaimResult]] = {}
    others = [0] * len(_COLUMNS)
    for result in results:
        if label := label_of(result):
            printed.setdefault(label, []).append(result)
        else:
            others[column_of([result])] += 1
    rows = []
    for group, words in _GROUPS.items():
        cells: list[list] = [[] for _ in _COLUMNS]
        for word, number in sorted((label for label in printed if label[0] in words), key=_printed_order):
            claims = printed[word, number]
            label = number if len(words) == 1 else f"{word} {number}"
            cells[column_of(claims)].append((claims[0], label, _marks(claims)))
        if any(cells):
            rows.append((group, cells))
    return rows, others if any(others) else []


def right_table(results: list[ClaimResult], titles: dict[str, str]) -> Html:
    """The table of what holds, over all papers; what goes beyond a paper is not its claim and is left out."""
    theirs: dict[str, list[ClaimResult]] = {}
    for result in results:
        if not result.claim.beyond:
            theirs.setdefault(result.paper, []).append(result)
    papers = [(titles.get(paper, paper), *_paper_rows(own)) for paper, own in theirs.items()]
    return fill("claims-overview.html", columns=_COLUMNS, papers=papers) if papers else Html()


def summary_sentence(results: list[ClaimResult]) -> str:
    """How many of the papers' own claims that were run hold, in one sentence."""
    theirs = [result for result in results if not result.claim.beyond]
    number = counts(result.verdict for result in theirs)
    stand_ins = sum(number[verdict] for verdict in STAND_INS)
    run = len(theirs) - number["not run"] - number["not judged here"] - stand_ins
    against = sum(number[verdict] for verdict in NEGATIVE)
    papers = "these papers" if len({result.paper for result in theirs}) > 1 else "this paper"
    misprints = f", and {number['misprint']} once a misprint is mended" if number["misprint"] else ""
    apart = f" On stand-ins for the papers' own experiments {number['seen']} more were seen, {number['not seen']} not."
    apart = apart if stand_ins else ""
    end = f"{against} failed under the authors' reading too" if against else "no verdict goes against a paper"
    return (
        f"Of the {run} statements of {papers} that were run, {number['reproduced']} hold as stated, "
        f"{number['with conditions']} within conditions that we name{misprints}; {number['undecided']} are open, and "
        f"{end}.{apart}"
    )


def conditions_text(results: list[ClaimResult]) -> str:
    """How many verdicts with conditions there are of each kind, each with a link to the first, in one sentence."""
    held = [result for result in results if result.verdict == "with conditions"]
    kinds = {kind: [r for r in held if r.condition == kind] for kind in CONDITIONS}
    parts = [f"{len(own)} {CONDITIONS[kind]} (for example {row_link(own[0])})" for kind, own in kinds.items() if own]
    return f"On the [claims page](claims.md) stand {', '.join(parts)}.\n" if parts else "At present there is none.\n"


def luck_text(results: list[ClaimResult]) -> str:
    """How many verdicts rest on chance, how many could be luck, and how many recur on other blocks of seeds."""
    chance = [result for result in results if result.claim.by_chance and result.run]
    if not chance:
        return "No verdict here was decided by chance: each rests on an identity, a count or a deterministic run."
    repeated = [result for result in chance if result.recurs]
    recur = sum(len({word for words in result.recurs.values() for word in words}) == 1 for result in repeated)
    again = (
        f"On other blocks of seeds {len(repeated)} of them were repeated, {recur} recur on all; the others are open. "
    )
    return (
        f"**How many could be luck?** {len(chance)} of these verdicts rest on random draws. Each is judged by its own "
        f"interval at {100 * LEVEL:g} % {{cite}}`benjamin-2018`, half of it on each side: at most {50 * LEVEL:g} % of "
        f"them, {LEVEL / 2 * len(chance):.2g}, can be expected to be luck. {again if repeated else ''}"
        "The other verdicts rest on identities, counts or deterministic runs."
    )
