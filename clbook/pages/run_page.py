"""The page of a run: built with the book's own configuration, so that it looks as the chapter does, or by nbconvert."""

import importlib.util
import tempfile
from collections import Counter
from collections.abc import Collection, Sequence
from html import escape
from pathlib import Path

from ..claims.claim_table import Claims
from ..commands import launch
from ..commands.runs import own_parameters
from ..common.atomic import atomic_write
from ..common.errors import BookError
from ..common.formats import ROWS, RUN, intact, read_notebook
from ..common.parameters import Parameter, profile_parameters, read_parameters, value_text
from ..common.sources import ChapterFiles
from ..common.subprocess_call import TookTooLong, run_in_process
from ..notebook.animations import take_in
from .chapter_renderer import render

LIMIT = 600.0  # seconds; a page takes about ten on an idle machine
_EXTRA = ("jupyter_book", "bs4", "sphinx_proof", "sphinx_exercise", "sphinxcontrib.bibtex")


def write_page(files: ChapterFiles, folder: Path, seconds: float = LIMIT) -> tuple[Path, str]:
    """Write a page beside each notebook of a finished run; returns the first and, if nbconvert made one, the reason.

    The book's renderer runs in a process of its own for at most `seconds` per page. Raises BookError for a folder
    without a finished run, and OSError if a page cannot be written; the run itself is never touched.
    """
    parts = [part for part in files.notebooks if (folder / part.notebook.name).is_file()] or files.notebooks[:1]
    beside = {f"{part.stem}.{ending}" for part in parts for ending in ("ipynb", "html")}
    pages = [_write_page(part, folder, {*beside, "claims.json", "run.json"}, seconds) for part in parts]
    return pages[0][0], next((reason for _, reason in pages if reason), "")


def card_address(files: ChapterFiles, folder: Path, claim: str) -> str:
    """Where a claim's card stands on the pages of a run, file:///…/page.html#CLAIM; "" if none of them has it.

    A shell and a browser both take it as it is, whatever the folder is called.
    """
    pages = [folder / f"{part.stem}.html" for part in files.notebooks]
    found = (page for page in pages if page.is_file() and f'id="{claim}"' in page.read_text(encoding="utf-8"))
    return next((f"{page.absolute().as_uri()}#{claim}" for page in found), "")


def _write_page(files: ChapterFiles, folder: Path, beside: set[str], seconds: float) -> tuple[Path, str]:
    """The page of one notebook, and the reason if nbconvert made it."""
    notebook, run, claims = read_run(files, folder)
    page, reason = folder / f"{files.stem}.html", ""
    beside = beside - {page.name}
    judged = sum(row.rule is not None for row in Claims.load(files.claims).rows.values())
    take_in(notebook, folder)
    known = read_parameters(files.cells(), files.source.name)
    told = [*own_pictures(notebook, known, run["parameters"]), *against_the_book(files, folder)]
    _insert_below_title(
        notebook, about(run, claims, known, judged, beside, base=nearest_profile(files, run), told=told)
    )
    try:
        _check_extra()
        with tempfile.TemporaryDirectory(prefix="clbook-") as scratch:
            text = run_in_process(render, files, notebook, run, claims, beside, Path(scratch), seconds=seconds)
    except Exception as error:  # whatever stops the renderer, the reader gets a page
        reason = f"{_reason(error, seconds)}; nbconvert made the page, which shows directives as text"
        text = as_html(notebook, files.stem)
    atomic_write(page, text)
    return page, reason


def _check_extra() -> None:
    """Raise BookError if the packages of the extra `book` are not all installed."""
    for name in _EXTRA:
        try:
            spec = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            spec = None
        if spec is None:
            raise BookError(f"the book's renderer needs {name}, which is not installed (`make book` installs it)")


def _reason(error: Exception, seconds: float) -> str:
    if isinstance(error, TookTooLong):
        return f"the book's renderer took longer than {seconds:.0f} s"
    if isinstance(error, EOFError):
        return "the book's renderer died"
    message = " ".join(str(error).split()) or type(error).__name__
    return message if isinstance(error, BookError) else f"the book's renderer failed ({message[:200]})"


def read_run(files: ChapterFiles, folder: Path) -> tuple:
    """Notebook, `run.json` and `claims.json` of a finished run; raises BookError."""
    try:
        notebook = read_notebook(folder / files.notebook.name)
        run, claims = intact(folder / "run.json", RUN), intact(folder / "claims.json", ROWS)
    except BookError as error:
        needed = f"{files.notebook.name}, run.json and claims.json"
        raise BookError(f"{folder}: must be the folder of a finished run, with {needed} ({error})") from None
    for cell in notebook.cells:
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.metadata["tags"] = [*cell.metadata["tags"], "hide-input"]  # the table of parameters has the values
    return notebook, run, claims


def _insert_below_title(notebook, text: str) -> None:
    from nbformat.v4 import new_markdown_cell

    at = next((n for n, cell in enumerate(notebook.cells) if cell.cell_type == "markdown"), 0)
    parts = [text]
    if at < len(notebook.cells) and notebook.cells[at].source.startswith("# "):
        title, _, rest = notebook.cells[at].source.partition("\n")
        parts = [title, text, rest.strip()]
        del notebook.cells[at]
    notebook.cells[at:at] = [new_markdown_cell(part) for part in parts if part]


def nearest_profile(files: ChapterFiles, run: dict) -> tuple[str, dict[str, object]]:
    """The profile that a run changed least, and that profile's parameters; the device does not count."""
    profiles = {name: profile_parameters(files, name) for name in ("default", *files.profiles())}

    def changes(name: str) -> int:
        return sum(run["parameters"].get(key) != value for key, value in profiles[name].items() if key != "device")

    name = min(profiles, key=lambda name: (changes(name), name != run["profile"]))
    return name, profiles[name]


def own_pictures(notebook, known: dict[str, Parameter], values: dict[str, object]) -> list[str]:
    """The pictures of the reader's own run, if its parameters were changed, as HTML with links to their places."""
    if all(values.get(name) == known[name].default for name in own_parameters(known)):
        return []
    found = []
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        name = output.get("metadata", {}).get("scrapbook", {}).get("name", "")
        if name.endswith("plot-own") and (picture := output.get("data", {}).get("image/png")):
            image = f'<img alt="Your own run" src="data:image/png;base64,{"".join(picture.split())}">'
            found.append(f"<p>{image}</p>")  # the theme indents a box's children: alone the picture would jut out
    return found


def against_the_book(files: ChapterFiles, folder: Path) -> list[str]:
    """What changed against the book's run in words, as HTML: verdicts and numbers of the claims that both judge."""
    from ..commands.comparison import compare, read_stamp, summary

    try:
        stamps = read_stamp(files.notebook), read_stamp(folder)
        changes = [change for change in compare(*stamps) if "not run" not in change.verdicts]
    except BookError:  # the book's own run is missing, or of another edition
        return []
    if not stamps[1]["readings"]:
        return []
    lines = "; ".join(summary(changes, *stamps)[1:])
    return [f"<p>Against the book's own run: {escape(lines)}.</p>"]


def about(
    run: dict,
    claims: list[dict],
    known: dict[str, Parameter],
    of: int,
    beside: set[str],
    base: tuple[str, dict[str, object]] = ("", {}),
    told: Sequence[str] = (),
) -> str:
    """What a run is, as HTML: the reader's own parameters first, their picture, what changed, then size and cost.

    `of` is the number of claims that a run of the whole chapter measures, `base` the profile that the run started from
    and its parameters, `told` what else stands below the reader's parameters.
    """
    counts = Counter(claim["verdict"] for claim in claims)
    verdicts = ", ".join(f"{n} {word}" for word, n in counts.most_common()) or "none"
    part = "" if len(claims) == of else f" ({len(claims)} of the chapter's {of} claims were judged)"
    values = {name: value for name, value in run["parameters"].items() if name in known}
    start = {name: base[1].get(name, known[name].default) for name in values}
    mine = {name: value for name, value in values.items() if value != start[name]}
    sized = {name: value for name, value in values.items() if name not in mine and value != known[name].default}
    profile = f"<code>{escape(base[0] or run['profile'])}</code>" + (f", and {len(mine)} of yours" if mine else "")
    cost = f"{run['seconds']:.0f} s, {run['peak_mb']:.0f} MB, {escape(str(run['device']))}"
    few = _table(mine, known, mine) if mine else "<p>You changed no parameter.</p>"
    few += f"<p>The profile changed {len(sized)} more, marked ○ below.</p>" if sized else ""
    links = ", ".join(f'<a href="{escape(name)}">{escape(name)}</a>' for name in sorted(beside))
    return (
        '<div class="run-box admonition note"><p class="admonition-title">This page shows one run</p>\n'
        f"{few}\n{''.join(f'{part}{chr(10)}' for part in told)}"
        f"<p>Profile {profile}; {cost}; {escape(run['time'][:16].replace('T', ' '))}. "
        f"Verdicts of this run: {escape(verdicts)}{part}. Beside this page: {links}.</p>\n"
        f"<details><summary>All {len(values)} parameters</summary>\n"
        f"{_table({**mine, **sized, **values}, known, mine, sized)}\n</details></div>"
    )


def _table(
    values: dict[str, object], known: dict[str, Parameter], mine: Collection[str], sized: Collection[str] = ()
) -> str:
    """Parameters with values and defaults, one per row; bold and with a mark what the reader or a profile changed."""
    rows = []
    for name, value in values.items():
        mark = "● " if name in mine else "○ " if name in sized else ""
        used = f"<strong>{mark}{escape(value_text(value))}</strong>" if mark else escape(value_text(value))
        meant = f"<code>{escape(name)}</code><br><small>{escape(known[name].meaning)}</small>"
        cells = (meant, used, escape(value_text(known[name].default)))
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    marks = "● yours, ○ the profile's" if sized else "● yours"
    heads = f"<tr><th>parameter</th><th>this run ({marks})</th><th>default</th></tr>"
    return (
        '<div class="pst-scrollable-table-container"><table class="table run-parameters">\n'
        f"<thead>{heads}</thead>\n<tbody>\n{chr(10).join(rows)}\n</tbody></table></div>"
    )


def as_html(notebook, title: str) -> str:
    """A notebook as one HTML page, with pictures embedded and without the cell for Colab."""
    import logging
    import warnings

    from nbconvert import HTMLExporter
    from traitlets.config import Config

    logger = logging.getLogger("clbook.html")
    logger.setLevel(logging.ERROR)
    leave_out = Config(TagRemovePreprocessor={"enabled": True, "remove_cell_tags": [launch.TAGS[0]]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about glued outputs, which also have a plain form
        exporter = HTMLExporter(config=leave_out, log=logger)
        content, _ = exporter.from_notebook_node(notebook, {"metadata": {"name": title}})
    return content
