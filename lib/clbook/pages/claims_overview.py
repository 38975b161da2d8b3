"""The top of the claims page: a table of the theorems and figures that hold, then what did not."""

import re
from html import escape

from ..claims.claim_table import NEGATIVE
from ..claims.statistics import FAMILY_LEVEL
from .claim_marks import badge, counts, one_line, row_link
from .claim_words import explanation

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
_COLUMNS = ("hold as stated", "hold with conditions", "open or failed in some part")


def label_of(result: dict) -> tuple[str, str] | None:
    """The kind and the number of the printed result that a claim belongs to; None for a sentence or an equation.

    The number comes from the id. A paper may number lemmas and corollaries together: the locator has the word.
    """
    if (match := _ID.match(result["id"].split("/")[-1])) is None:
        return None
    number = f"{match['part'].upper()}.{match['number']}" if match["part"] else match["number"]
    words = "|".join(_WORDS.values())
    printed = re.search(rf"({words})s? (?:\S+ and )?{re.escape(number)}(?![\d.]*\d)", result["locator"])
    side = f" ({match['side']})" if match["side"] else ""
    return (printed[1] if printed else _WORDS[match["word"]]), f"{number}{side}"


def column_of(claims: list[dict]) -> int:
    """The column of a printed result: all its claims hold, all within conditions, or one is open or against it."""
    verdicts = {claim["verdict"] for claim in claims}
    return 0 if verdicts <= {*_HOLDS} else 1 if verdicts <= {*_HOLDS, *_IN_PART} else 2


def _chip(label: str, claims: list[dict]) -> str:
    """A link to the first row of a printed result; in brackets how many of its claims are open or failed."""
    found, of = counts(claims), f" of {len(claims)}" if len(claims) > 1 else ""
    failed = sum(found[verdict] for verdict in NEGATIVE)
    if found["not run"] == len(claims):
        marks = ["not run"]
    else:
        parts = {"failed": failed, "open": found["undecided"]}
        marks = [f"{number}{of} {word}" if of else word for word, number in parts.items() if number]
        marks += ["a misprint"] if found["misprint"] else []
    text = f"{escape(label)} ({', '.join(marks)})" if marks else escape(label)
    return f'<span class="chip">{row_link(claims[0], text)}</span>'


def _table_row(head: str, cells: list[str]) -> str:
    columns = "".join(f'<td data-label="{label}">{cell}</td>' for label, cell in zip(_COLUMNS, cells, strict=True))
    return f'<tr><th scope="row">{head}</th>{columns}</tr>'


def _printed_order(label: tuple[str, str]) -> tuple:
    """Sorts by kind, then by number: 2 before 10, and the numbers of the main text before A.1."""
    word, number = label
    parts = [(int(digits or 0), letter) for digits, letter in re.findall(r"(\d+)|([A-Za-z]+)", number)]
    return list(_WORDS.values()).index(word), number[0].isalpha(), parts


def _paper_rows(title: str, results: list[dict]) -> list[str]:
    """Theorems, lemmas, figures and everything else of one paper, each in its column."""
    printed: dict[tuple[str, str], list[dict]] = {}
    others = []
    for result in results:
        label = label_of(result)
        printed.setdefault(label, []).append(result) if label else others.append(result)
    rows = [f'<tr class="paper"><th colspan="4" scope="rowgroup">{escape(title)}</th></tr>']
    for group, words in _GROUPS.items():
        cells: list[list[str]] = [[], [], []]
        for word, number in sorted((label for label in printed if label[0] in words), key=_printed_order):
            claims = printed[word, number]
            cells[column_of(claims)].append(_chip(number if len(words) == 1 else f"{word} {number}", claims))
        if any(cells):
            rows.append(_table_row(group, [" ".join(cell) for cell in cells]))
    if others:
        numbers = [sum(column_of([other]) == column for other in others) for column in range(3)]
        rows.append(_table_row("Equations, remarks, sentences", [str(number or "") for number in numbers]))
    return rows


def right_table(results: list[dict], titles: dict[str, str]) -> str:
    """The table of what holds, over all papers; what goes beyond a paper is not its claim and is left out."""
    theirs = [result for result in results if not result.get("beyond")]
    papers = dict.fromkeys(result["paper"] for result in theirs)
    if not papers:
        return ""
    head = "".join(f'<th scope="col">{word}</th>' for word in ("", *_COLUMNS))
    rows = (row for p in papers for row in _paper_rows(titles.get(p, p), [r for r in theirs if r["paper"] == p]))
    return f'<table class="claims-overview"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def summary_sentence(results: list[dict]) -> str:
    """How many of the papers' own claims that were run hold, in one sentence."""
    theirs = [result for result in results if not result.get("beyond")]
    found = counts(theirs)
    run = len(theirs) - found["not run"]
    against = sum(found[verdict] for verdict in NEGATIVE)
    said = (
        f"Of the {run} statements of {'these papers' if len({r['paper'] for r in theirs}) > 1 else 'this paper'} that "
        f"were run, {found['reproduced']} hold as stated, {found['with conditions']} within conditions that we name"
    )
    said += f", and {found['misprint']} once a misprint is mended" if found["misprint"] else ""
    end = f"{against} failed under the authors' reading too" if against else "no verdict goes against a paper"
    return f"{said}; {found['undecided']} are open, and {end}."


def _item(result: dict, titles: dict[str, str]) -> str:
    title = titles.get(result["paper"], result["paper"])
    why = explanation(result) or result["statement"]
    return f"- {badge(result['verdict'])} {title}, {row_link(result)} {one_line(result['locator'])}: {one_line(why)}"


def _folded(summary: str, items: list[str]) -> str:
    return "\n\n".join([f'<details class="claims-open"><summary>{summary}</summary>', "\n".join(items), "</details>"])


def did_not_hold(results: list[dict], titles: dict[str, str]) -> list[str]:
    """The verdicts against a paper, its misprints, and what is open, each with what was found."""
    of = {v: [r for r in results if r["verdict"] == v] for v in (*NEGATIVE, "misprint", "undecided")}
    negative = [_item(r, titles) for verdict in NEGATIVE for r in of[verdict]]
    parts = ["\n".join(negative)] if negative else []
    if of["misprint"]:
        parts.append(
            "Printed with a slip that nothing else rests on ([errata](errata.md)):\n\n"
            + "\n".join(_item(r, titles) for r in of["misprint"])
        )
    if of["undecided"]:
        review = sum("under review" in (r.get("reason") or "") for r in of["undecided"])
        parts.append(
            _folded(
                f"{len(of['undecided'])} {badge('undecided')}, of which {review} under review: what was found so far",
                [_item(r, titles) for r in of["undecided"]],
            )
        )
    if not parts:
        return []
    none = [] if negative else ["No statement stands contradicted, not reproduced or vacuous."]
    return ["## What did not hold", *none, *parts]


def luck_text(results: list[dict]) -> str:
    """How many verdicts could be luck: the number decided by chance, and what Holm's correction guarantees."""
    chance = [r for r in results if r.get("by_chance") and r["verdict"] != "not run"]
    if not chance:
        return "No verdict here was decided by chance: each rests on an identity, a count or a deterministic run."
    chapters = len({r["chapter"] for r in chance})
    scope = "their chapter" if chapters == 1 else f"each of their {chapters} chapters"
    return (
        f"**How many could be luck?** {len(chance)} of these verdicts rest on random draws. Each held to "
        f"{FAMILY_LEVEL:.0%} alone, {FAMILY_LEVEL * len(chance):.1f} errors could be expected; their intervals are "
        f"widened by Holm's procedure {{cite}}`holm-1979`, so that in {scope} even one such error has a probability "
        f"of at most {FAMILY_LEVEL:.0%}. The other verdicts rest on identities, counts or deterministic runs."
    )
