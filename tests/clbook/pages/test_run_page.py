"""The page of a run looks as the chapter does, with its parameters; where the renderer fails, nbconvert makes it."""

import base64
import json
import shutil
import subprocess
import time

import nbformat
import pytest
from bare_book import write_book
from browser import find_browser
from stand_in import SOURCE, build_stand_in

from clbook.common.errors import BookError
from clbook.common.parameters import Parameter
from clbook.notebook.glue import png
from clbook.notebook.results import run_results
from clbook.pages import run_page
from clbook.provenance.staleness import notebook_stamp

PROSE = """
# %% [markdown]
# ```{include} ../book/_generated/nonlinearity-box.md
# ```
#
# ```{include} ../book/_generated/nonlinearity-record.md
# ```
#
# ```{prf:theorem} no. 1 of the paper
# :label: nl-theorem
# Twice is two times, $\\int_0^1 2\\,dx=2$, as {cite}`tian-2023` says; see [notation](../book/notation.md).
# ```
#
# ```{glue:figure} plot
# :alt: A line that rises.
# :name: nl-plot
#
# Figure 1 beside {prf:ref}`Theorem 1 <nl-theorem>`; [what is missing](#nl-missing) is not in this run.
# ```
#
# ````{record-figure} recorded
# :alt: A recorded line.
# :name: nl-recorded
#
# What a record shows.
#
# ```{glue:figure} plot
# :alt: A line of this run.
# :name: nl-recorded-default
#
# What this run shows.
# ```
# ````
#
# Look at {numref}`nl-recorded`.
"""


def finished_run(files, folder):
    """What `clbook run` leaves, from the stand-in's executed notebook with a picture."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    notebook = nbformat.read(files.notebook, as_version=4)
    picture = base64.b64encode(png(plt.figure(figsize=(2, 1)))).decode("ascii")
    plt.close("all")
    glued = {"scrapbook": {"name": "plot", "mime_prefix": ""}}
    shown = nbformat.v4.new_output("display_data", {"image/png": picture}, metadata=glued)
    next(cell for cell in notebook.cells if cell.source.startswith("falling")).outputs = [shown]
    folder.mkdir()
    nbformat.write(notebook, folder / f"{files.name}.ipynb")
    stamp = notebook_stamp(files.notebook)
    stamp["parameters"] = stamp["parameters"] | {"scale": 1.5}
    (folder / "run.json").write_text(json.dumps({k: v for k, v in stamp.items() if k != "readings"}))
    (folder / "claims.json").write_text(
        json.dumps([row.to_json() for row in run_results(files, notebook_stamp(files.notebook))])
    )
    return folder


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """(what was said, the page) of a run of a stand-in for a chapter, in the book's own pages."""
    for package in ("jupyter_book", "matplotlib"):
        pytest.importorskip(package)
    root = tmp_path_factory.mktemp("book")
    write_book(root)
    source = SOURCE.replace("# %%\nfalling", '# %% tags=["remove-output"]\nfalling') + PROSE
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLBOOK_ROOT", str(root))
        files = build_stand_in(root, source=source, name="nonlinearity")
        folder = finished_run(files, root / "out")
        page, said = run_page.write_page(files, folder)
        assert {p.name for p in folder.iterdir()} == {page.name, "nonlinearity.ipynb", "claims.json", "run.json"}
        shutil.rmtree(root / "book")  # the page needs nothing of the book
        yield said, page


@pytest.fixture(scope="module")
def soup(written):
    """The page, parsed."""
    from bs4 import BeautifulSoup

    return BeautifulSoup(written[1].read_text(encoding="utf-8"), "html.parser")


def test_the_page_is_the_book_s_and_shows_no_directive(written, soup):
    text = soup.article.get_text()
    assert written[0] == "" and not {"{prf", "{glue", "{cite", "{include"} & {t[:5] for t in text.split()}
    assert soup.find(id="nl-theorem") and soup.select_one("figure#nl-plot img")["src"].startswith("data:image/png")
    assert "[Tian, 2023]" in text and "pictures stand in the chapter." in text
    assert soup.select_one('a[href="#nl-theorem"]').get_text() == "Theorem 1"
    assert len(soup.select(".claim")) == 3


def test_a_figure_of_the_run_takes_the_place_and_the_number_of_the_recorded_one(soup):
    figure = soup.select_one("figure#nl-recorded")
    assert "What this run shows." in figure.get_text() and "What a record shows" not in soup.get_text()
    assert soup.select_one('a.reference[href="#nl-recorded"]').get_text() == "Figure 3.2"  # of the third chapter


def test_the_page_needs_no_network_and_its_links_work(written, soup):
    loads = [tag.get("src") or tag.get("href") for tag in soup.find_all(["script", "link", "img", "iframe", "source"])]
    assert not [address for address in loads if address and not address.startswith("data:")]
    anchors = {tag["id"] for tag in soup.find_all(id=True)}
    links = {a["href"] for a in soup.article.find_all("a", href=True)}
    assert {"nonlinearity.ipynb", "claims.json", "run.json"} <= links
    assert all(link[1:] in anchors for link in links if link.startswith("#") and len(link) > 1)
    assert not [link for link in links if ".html" in link or ".md" in link]
    assert "see notation." in soup.article.get_text() and "what is missing is not in this run" in soup.get_text()
    assert written[1].stat().st_size < 5_000_000


def test_parameters_stand_at_the_top_and_the_changed_one_is_marked(soup):
    box = soup.select_one("article h1").find_next("div", class_="run-box")
    assert not [tag for tag in box.find_all_previous("div", class_="admonition")]
    changed, every = box.find_all("table")
    assert [row.code.get_text() for row in changed.find_all("tr")[1:]] == ["scale"]
    assert changed.strong.get_text() == "● 1.5" and len(every.find_all("tr")) == 5
    assert len(every.find_all("strong")) == 1 and every.find_parent("details")
    text = box.get_text()
    assert (
        "smoke" not in text and "Profile default, and 1 of yours" in text and text.index("1.5") < text.index("Profile")
    )
    assert "Against the book's own run: no verdict differs; no statistic differs by more than seed noise." in text


def test_a_browser_without_network_shows_formulas_and_reports_no_error(written, tmp_path):
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"]
    options += ["--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=15000", "--enable-logging=stderr"]
    done = subprocess.run(
        [find_browser(), *options, "--dump-dom", written[1].as_uri()], capture_output=True, text=True, timeout=300
    )
    assert done.stdout.count("<mjx-container") >= 1
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not [line for line in console if "rror" in line]


@pytest.fixture
def plain(tmp_path, monkeypatch):
    """A stand-in outside any book, and the folder of its finished run."""
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    files = build_stand_in(tmp_path)
    return files, finished_run(files, tmp_path / "out")


def sleep(*given):
    time.sleep(60)


def die(*given):
    raise SystemExit(3)


def fail(*given):
    raise ValueError("two\nlines")


@pytest.mark.parametrize(
    ("renderer", "seconds", "said"),
    [
        (sleep, 0.5, "the book's renderer took longer than 0 s"),
        (die, 60, "the book's renderer died"),
        (fail, 60, "the book's renderer failed (two lines)"),
        (run_page.render, 60, "the book's renderer needs _config.yml, which is not in the book's folder"),
    ],
)
def test_where_the_renderer_fails_nbconvert_makes_the_page_and_the_reason_is_one_line(
    plain, monkeypatch, renderer, seconds, said
):
    pytest.importorskip("jupyter_book")
    files, folder = plain
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(run_page, "render", renderer)
    page, reason = run_page.write_page(files, folder, seconds)
    assert reason == f"{said}; nbconvert made the page, which shows directives as text"
    text = page.read_text(encoding="utf-8")
    assert "<html" in text[:200] and "This page shows one run" in text and "● 1.5" in text
    assert before == {path.name: path.read_bytes() for path in folder.iterdir() if path != page}


def test_without_the_extra_nbconvert_is_used_and_this_is_said(plain, monkeypatch):
    monkeypatch.setattr(run_page, "_EXTRA", ("a_package_that_is_not_there",))
    _, reason = run_page.write_page(*plain)
    assert reason.startswith(
        "the book's renderer needs a_package_that_is_not_there, which is not installed (`make book`"
    )


def test_a_folder_without_a_finished_run_is_refused(plain):
    files, folder = plain
    (folder / "run.json").unlink()
    with pytest.raises(BookError, match="out: must be the folder of a finished run, with stand-in.ipynb, run.json"):
        run_page.write_page(files, folder)


def test_what_a_run_is_names_what_was_left_out_and_escapes_what_it_shows():
    known = {"mode": Parameter("mode", "str", "plain", "how <b>, $x$")}
    made = {"profile": "custom", "seconds": 12.4, "peak_mb": 99.6, "device": "a & b", "time": "2026-01-02T03:04:05"}
    claims = [{"verdict": "reproduced"}] * 2
    text = run_page.about(made | {"parameters": {"mode": "<i>"}}, claims, known, 3, {"run.json"})
    assert "2 reproduced (2 of the chapter's 3 claims were judged)" in text and "12 s, 100 MB, a &amp; b" in text
    assert "● &lt;i&gt;" in text and "how &lt;b&gt;" in text and "2026-01-02 03:04" in text
    assert "\n\n" not in text  # Markdown would end the HTML there
    text = run_page.about(made | {"parameters": {"mode": "plain"}}, claims, known, 2, {"run.json"})
    assert "You changed no parameter." in text and "were judged" not in text


def test_what_the_reader_changed_stands_before_what_the_profile_changed():
    known = {name: Parameter(name, "int", 1, "a number") for name in ("seeds", "own_seeds", "steps")}
    made = {"profile": "custom", "seconds": 1, "peak_mb": 9, "device": "cpu", "time": "2026-01-02T03:04:05"}
    values = {"seeds": 3, "own_seeds": 7, "steps": 1}
    smoke = "smoke", {"seeds": 3, "own_seeds": 2, "steps": 1}
    text = run_page.about(made | {"parameters": values}, [], known, 0, set(), smoke, ["<img>"])
    first, _, rest = text.partition("<img>")
    assert "● 7" in first and "○" not in first.replace("marked ○ below", "")
    assert "<code>smoke</code>, and 1 of yours" in rest and "○ 3" in rest and rest.index("● 7") < rest.index("○ 3")


def test_the_picture_of_the_reader_s_own_run_stands_at_the_top():
    known = {"own_steps": Parameter("own_steps", "int", 1, "steps")}
    glued = {"scrapbook": {"name": "ot-plot-own", "mime_prefix": ""}}
    output = nbformat.v4.new_output("display_data", {"image/png": "QUJD"}, metadata=glued)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", outputs=[output])])
    assert run_page.own_pictures(notebook, known, {"own_steps": 1}) == []
    (picture,) = run_page.own_pictures(notebook, known, {"own_steps": 2})
    assert 'src="data:image/png;base64,QUJD"' in picture and picture.startswith("<p>")  # keeps it within its box
