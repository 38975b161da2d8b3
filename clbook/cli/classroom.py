"""Commands for a class: `student`, `solutions`, `handouts`, `grade`."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ..common.sources import find_root
from .application import Chapter, app, one_line, print_table, table_of

Seed = Annotated[int, typer.Option(min=0, help="Turns the numbers of the sheets; 0: those of the book.")]
Folder = Annotated[Path, typer.Argument(help="A new or empty folder.", metavar="FOLDER")]


@app.command()
@one_line
def student(out: Folder = Path("student"), seed: Seed = 0) -> None:
    """Write the exercises as notebooks that grade themselves, and an autograder bundle for each."""
    from ..classroom.sheets import write_student

    for path in write_student(find_root(), out, seed):
        print(path)


@app.command()
@one_line
def solutions(out: Folder = Path("solutions"), seed: Seed = 0) -> None:
    """Write the instructor's edition: solved and executed exercises and exams, rubric, common mistakes."""
    from ..classroom.sheets import write_solutions

    for path in write_solutions(find_root(), out, seed):
        print(path)


@app.command()
@one_line
def handouts(out: Folder = Path("handouts")) -> None:
    """Write a handout for each chapter: one page of HTML to print, with the numbers of stored readings."""
    from ..classroom.handouts import write_handouts

    for path in write_handouts(find_root(), out):
        print(path)


@app.command()
@one_line
def grade(
    chapter: Chapter,
    submissions: Annotated[Path, typer.Argument(help="A folder of notebooks or exported zips.", metavar="FOLDER")],
    out: Annotated[Path | None, typer.Option(help="Also write the table as CSV.", metavar="FILE")] = None,
    seconds: Annotated[float, typer.Option(help="The most that one submission may run.")] = 600.0,
    feedback: Annotated[
        Path | None, typer.Option(help="Also write a page for each student; goes on where it was.", metavar="FOLDER")
    ] = None,
    seed: Seed = 0,
    students: Annotated[
        Path | None, typer.Option(help="A CSV file with the columns file, id and name.", metavar="FILE")
    ] = None,
) -> None:
    """Grade a class: points per question for each submission, and what is missing or doubled in it."""
    from ..classroom.exercises import exercise_source
    from ..classroom.feedback import open_folder, write_feedback
    from ..classroom.grades import by_question, by_student, write_csv
    from ..classroom.grades import grade as grade_all
    from ..classroom.roster import Roster

    roster = Roster.read(students) if students else None
    kept = open_folder(feedback) if feedback else None
    own = tuple(path for path in (out, feedback, students) if path)
    source = exercise_source(find_root(), chapter)
    result = grade_all(source, submissions, seconds, seed=seed, roster=roster, kept=kept, leave=own, tell=_tell)
    rows = by_student(*result)
    _print_rows(by_question(*result))
    _print_rows([[row[0], *row[-2:]] for row in rows])
    if feedback:
        write_feedback(*result, feedback)
    if out:
        write_csv(rows, out)


def _tell(graded) -> None:
    """A line on stderr for a submission that is graded."""
    print(
        f"{graded.student}: {'; '.join([f'{graded.total:g} points', *graded.notes, *graded.seen])}"[:200],
        file=sys.stderr,
        flush=True,
    )


def _print_rows(rows: list[list[str]]) -> None:
    shown = table_of(*rows[0])
    for row in rows[1:]:
        shown.add_row(*map(Text, row))  # a name is no markup
    print_table(shown)
