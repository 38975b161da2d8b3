"""A sweep's table, and the page that draws a claim of it."""

import csv
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup
from stand_in import SOURCE, build_stand_in
from stand_in_pool import Pool, run
from typer.testing import CliRunner

from clbook import cli
from clbook.claims.judging import Reading
from clbook.claims.rules import Rule
from clbook.common.errors import BookError
from clbook.common.sources import ChapterFiles
from clbook.pages import run_page
from clbook.sweep import sweep_page
from clbook.sweep.grid import plan_grid
from clbook.sweep.sweep_folder import run_folder
from clbook.sweep.sweep_page import default_claim, write_page
from clbook.sweep.sweep_table import (
    TABLE,
    Row,
    Table,
    _Stamps,
    block_readings,
    margin,
    read_table,
    statistic,
    write_table,
)


def test_the_table_has_a_row_a_point_with_parameters_statistics_and_verdicts(grid, tmp_path):
    bad = grid.points[5].id
    run(
        grid,
        tmp_path / "a",
        Pool(lambda job: {"status": "failed" if job.out.endswith(bad) else "done", "message": "", "seconds": 1}),
    )
    table = read_table(tmp_path / "a")
    assert table.axes == {"scale": [0.5, 1.0, 2.0], "first_seed": [1000, 1004]} and table.claims[0] == "thm-1"
    write_table(table, tmp_path / "a" / TABLE)
    rows = list(csv.DictReader((tmp_path / "a" / TABLE).open()))
    assert [(row["point"], row["scale"], row["first_seed"]) for row in rows] == [
        (p.id, str(p.parameters["scale"]), str(p.parameters["first_seed"])) for p in grid.points
    ]
    assert [row["status"] for row in rows] == ["done"] * 5 + ["failed"]
    assert [float(row["fig-1 statistic"]) for row in rows[::2]] == pytest.approx([-0.285, 0.215, 1.215])
    assert [row["fig-1"] for row in rows] == ["not reproduced"] * 2 + ["reproduced"] * 3 + [""]
    assert (tmp_path / "a" / rows[0]["notebook"]).is_file() and rows[5]["notebook"] == ""


def test_the_page_shows_the_claim_that_turns_over_the_grid(grid, tmp_path):
    run(grid, tmp_path / "a", Pool())
    table = read_table(tmp_path / "a")
    assert default_claim(table) == "fig-1"
    page = tmp_path / "a" / "fig-1.html"
    elsewhere = tmp_path / "pages for a class" / "fig-1.html"
    elsewhere.parent.mkdir()
    for written in (elsewhere, page):
        write_page(table, "fig-1", written, tmp_path / "a")
        text = written.read_text()
        links = re.findall(r'<a href="([^"]+)"', text)
        assert len(links) == 6 and all((written.parent / link).is_file() for link in links)
    assert "fig-1 (rule ≥ 0)" in text and ">scale<" in text and "6 done, 0 failed, 0 waiting" in text
    shown = (tmp_path / "a" / table.rows[0].notebook).with_suffix(".html")
    shown.write_text("a page")
    write_page(table, "fig-1", elsewhere, tmp_path / "a")
    (link,) = re.findall(r'<a href="([^"]+)">page</a>', elsewhere.read_text())
    assert (elsewhere.parent / link).resolve() == shown
    with pytest.raises(BookError, match="no point has judged 'thm-9', there are: thm-1, thm-1-a, fig-1"):
        write_page(table, "thm-9", page, tmp_path / "a")


def test_the_page_of_a_point_is_that_of_its_run(grid, tmp_path, monkeypatch):
    monkeypatch.setattr(run_page, "write_page", lambda files, folder: (folder / f"{files.name}.html", ""))
    bad, good = grid.points[5], grid.points[0]
    run(
        grid,
        tmp_path / "a",
        Pool(lambda job: {"status": "failed" if job.out.endswith(bad.id) else "done", "message": "", "seconds": 1}),
    )

    def show(*given):
        return CliRunner().invoke(cli.app, ["show", str(tmp_path / "a"), *given])

    assert show("--page", good.id).stdout == f"{run_folder(tmp_path / 'a', good.run) / 'stand-in.html'}\n"
    for given, said in (
        (["--page", good.id, "--claim", "fig-1"], "--page writes a page beside the run's notebook; it takes neither"),
        (["--page", "nothing"], "--page nothing: no such point; the sweep's table lists 6, such as "),
        (["--page", bad.id], f"--page {bad.id}: its run is not done; the same sweep command resumes it"),
    ):
        done = show(*given)
        assert done.exit_code == 2 and said in done.stderr and done.stderr.count("\n") == 1


def test_no_two_columns_of_the_table_have_one_name(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    device = 'device: str = "cpu"  # where, auto|cpu|cuda\nscale: float'
    build_stand_in(tmp_path, source=SOURCE.replace("scale: float", device))
    run(plan_grid("stand-in", ["scale=0.5,1"]), tmp_path / "a", Pool())
    heads = next(csv.reader((tmp_path / "a" / TABLE).open()))
    assert {"device", "machine"} <= set(heads) and len(heads) == len(set(heads))


def table_of(*rows, axes=("scale",)):
    """A table of points, each (scale, first seed, claims), where a claim is (number, verdict, digest)."""
    made = []
    for k, (scale, first, claims) in enumerate(rows):
        judged = {claim: (number, word) for claim, (number, word, _) in claims.items()}
        digests = {claim: digest for claim, (_, _, digest) in claims.items()}
        parameters = {"scale": scale, "first_seed": first}
        made.append(Row(str(k), "done", parameters, judged, digests=digests))
    values = {name: list(dict.fromkeys(row.parameters[name] for row in made)) for name in (*axes, "first_seed")}
    return Table("stand-in", "default", values, made)


def test_the_page_shows_a_claim_that_depends_on_what_was_varied():
    def claims(k, seed):
        return {
            "constant": (1.0, "reproduced", "a"),
            "seeds": (k + 0.1 * seed, "reproduced" if seed else "not reproduced", f"b{seed}"),
            "size": (k, "reproduced", f"c{k}{seed}"),
        }

    assert default_claim(table_of(*((k, seed, claims(k, seed)) for k in (1, 2) for seed in (0, 1)))) == "size"
    assert default_claim(table_of(*((1, seed, claims(1, seed)) for seed in (0, 1)), axes=())) == "seeds"


EVIL = '<script>a</script>$\\frac$"&'


def test_nothing_on_the_page_that_comes_from_files_is_markup(grid, tmp_path, monkeypatch):
    """Every text of a table is a script that also looks like mathematics; the chapter's name is that of a file."""
    row = SimpleNamespace(rule=Rule.parse({"at_least": 0}, ""))
    monkeypatch.setattr(sweep_page.Claims, "load", lambda path: SimpleNamespace(rows={EVIL: row}))
    rows = [
        Row(EVIL, EVIL, {EVIL: value, "b": EVIL + EVIL, "c": EVIL}, {EVIL: (1.0, EVIL)}, 1.0, EVIL, EVIL)
        for value in (EVIL, EVIL + "2")
    ]
    axes = {EVIL: [EVIL, EVIL + "2"], "b": [EVIL + EVIL, "x"], "c": [EVIL, "y"]}
    write_page(Table("stand-in", EVIL, axes, rows), EVIL, tmp_path / "page.html", tmp_path)
    text = (tmp_path / "page.html").read_text()
    assert "<script" not in text and text.count("&lt;script&gt;") > 10
    page = BeautifulSoup(text, "html.parser")
    assert page.find("script") is None and EVIL in page.get_text()
    assert not [tag for tag in page.find_all(True) if any(name.startswith("on") for name in tag.attrs)]
    assert all(link["href"].startswith("%3Cscript%3E") for link in page.find_all("a"))


def test_the_statistic_is_that_of_the_case_that_decides():
    def of(rule, *values):
        return statistic(Rule.parse(rule, ""), Reading.of(observed=dict(enumerate(values)), control=0.0))

    assert of({"at_most": 1}, 0.2, 0.9, 0.5) == 0.9 and of({"at_least": 1}, 3, 0.2) == 0.2
    assert of({"between": [0, 1]}, 0.5, 0.95, 0.1) == 0.95 and of({"equals": 4}, 4, 7) == 7
    assert margin(Rule.parse({"between": [0, 1]}, ""), Reading.of(observed=3.0, control=0).observed[""]) == -2


def test_a_block_has_the_values_of_its_seeds_and_no_claim_that_is_not_by_seed():
    readings = {
        "a": {"observed": {"": [1, 2, 3, 4], "x": [5, 6, 7, 8]}, "control": {"": [0, 0, 1, 1]}},
        "number": {"observed": {"": [1, 2, 3, 4]}, "control": {"": 0.5}},
        "share": {"observed": {"": {"hits": 3, "trials": 4}}, "control": {"": [0, 0, 1, 1]}},
        "others": {"observed": {"": [1, 2]}, "control": {"": [0, 0]}},
    }
    expected = {"a": {"observed": {"": [3, 4], "x": [7, 8]}, "control": {"": [1, 1]}}}
    assert block_readings(readings, 1, 2, 2) == expected


@pytest.mark.parametrize("axes", [["scale=0.5,1,2", "mode=plain,fancy", "seeds=2,3,4,5"], ["mode=plain,fancy"], []])
def test_grids_of_any_shape_are_drawn(tmp_path, monkeypatch, axes):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    build_stand_in(tmp_path, source=SOURCE)
    grid = plan_grid("stand-in", axes, seeds=1 if axes else 3)
    run(grid, tmp_path / "a", Pool())
    write_page(read_table(tmp_path / "a"), "fig-1", tmp_path / "page.html", tmp_path / "a")
    assert "<svg" in (tmp_path / "page.html").read_text()


def test_what_a_block_leaves_out_is_not_judged_in_it(tmp_path, monkeypatch):
    """No verdict depends on another row, so what has no values of a block's seeds has no part in it."""
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    build_stand_in(tmp_path)
    run(plan_grid("stand-in", ["scale=0.5,1"], seeds=2, fold=True), tmp_path / "a", Pool())
    table = read_table(tmp_path / "a")
    assert [row.claims for row in table.rows] == [{}] * 4  # eight seeds; these stand-ins have four values
    with pytest.raises(BookError, match="blocks of seeds, folded, have no claim of their own"):
        default_claim(table)


def test_a_row_links_to_the_notebook_that_a_run_of_some_claims_has_made(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_ROOT", str(tmp_path))
    files = build_stand_in(tmp_path)
    ChapterFiles(files.root, files.name, 1).source.write_text(SOURCE)
    own, appendix = "stand-in.ipynb", "stand-in-appendix.ipynb"
    for run_id, made in (("a" * 12, [own]), ("b" * 12, [own, appendix]), ("c" * 12, [appendix])):
        folder = run_folder(tmp_path, run_id)
        folder.mkdir(parents=True)
        for name in ("run.json", *made):
            (folder / name).touch()
        assert _Stamps(tmp_path, files).notebook(run_id) == Path("runs") / run_id / made[0]
