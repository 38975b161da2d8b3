"""What students get back: a page for each, with points and with what the tests said, hidden ones included."""

import re
from html import escape
from pathlib import Path

from ..common.atomic import atomic_write
from ..common.errors import BookError
from .exercises import Sheet
from .grades import Graded, totals
from .kept_results import Kept

RESULTS = "results.jsonl"  # of the grading, beside the pages
_PAGE = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 16px/1.5 sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
h2 {{ font-size: 1.05rem; margin: 1.4rem 0 .2rem; }}
ul {{ margin: .2rem 0; }}
.kind {{ color: #666; }}
</style></head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def open_folder(folder: Path) -> Kept:
    """Make the folder of feedback and return the results that are kept in it; raises BookError where it cannot."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Kept.read(folder / RESULTS)
    except OSError as error:
        raise BookError(f"{folder}: cannot be made or read ({error.strerror})") from None


def write_feedback(sheet: Sheet, graded: list[Graded], folder: Path) -> list[Path]:
    """Write a page for each submission into a folder, in their order; raises BookError where it cannot be written."""
    written: dict[str, Path] = {}
    for each in graded:
        if not each.student or each.notes == ["nothing handed in"]:
            continue
        name, number = _file_name(each), 1
        while f"{name}-{number}".lower() in written:
            number += 1
        path = folder / (f"{name}-{number}.html" if number > 1 else f"{name}.html")
        try:
            atomic_write(path, feedback_page(sheet, each))
        except OSError as error:
            raise BookError(f"{path}: cannot be written ({error.strerror})") from None
        written[f"{name}-{number}".lower()] = path
    return list(written.values())


def _file_name(each: Graded) -> str:
    """The student's id, or the name of the file, as a file name that any system takes."""
    name = each.owner if each.name else each.student.removesuffix(".ipynb").removesuffix(".zip")
    return "-".join(re.findall(r"\w+", name))[:80] or "submission"


def feedback_page(sheet: Sheet, each: Graded) -> str:
    """The page of one submission."""
    worth = totals(sheet)
    who = f"{each.name}, " if each.name else ""
    lines = [f"<p>{escape(who + each.student)}: <strong>{each.total:g} of {sum(worth.values()):g} points</strong></p>"]
    if each.notes:
        lines.append("<ul>" + "".join(f"<li>{escape(note)}</li>" for note in each.notes) + "</ul>")
    for question, most in worth.items() if each.questions else ():
        lines.append(f"<h2><code>{escape(question)}</code>: {each.scores.get(question, 0):g} of {most:g}</h2>")
        lines += [f"<p>{escape(each.predicted[question])}</p>"] if question in each.predicted else []
        lines += _said(each, question)
    return _PAGE.format(title=escape(f"Exercises: {sheet.name.replace('-', ' ')}"), body="\n".join(lines))


def _said(each: Graded, question: str) -> list[str]:
    """What the failed tests of a question said, once each."""
    result, told = each.questions.get(question), {}
    for case in result.cases if result else ():
        if not case.passed:
            told.setdefault(case.said, "hidden test" if case.hidden else "check in the sheet")
    rows = [
        f'<li>{"<br>".join(map(escape, said))} <span class="kind">({kind})</span></li>' for said, kind in told.items()
    ]
    return ["<ul>", *rows, "</ul>"] if rows else []
