"""Which statement feeds which: the graph, its list, and what in it does not hold as printed."""

from dataclasses import replace

import pytest
import yaml
from claim_row import result

from clbook.claims.claim_table import Claims
from clbook.claims.proofs import Proof
from clbook.common.errors import BookError
from clbook.common.sources import find_root
from clbook.pages.statement_graph import batched_evenly, below, graph_pages, in_rows, levels, listed, load_uses, picture

USES = {"lem-2": ["lem-1"], "thm-1": ["lem-2", "lem-3"]}
RESULTS = {name: result(name, locator=f"of {name}") for name in ("lem-1", "lem-2", "lem-3", "thm-1")}
PROOF = Proof("tian-2023/lem-3", ("a.v",), "whole", "All.", "Nothing.", "3.")


def book(folder, uses):
    (folder / "book").mkdir()
    (folder / "book" / "statements.yaml").write_text(yaml.safe_dump({"tian-2023": uses}))
    return folder


def test_a_statement_stands_below_all_that_it_uses():
    assert levels(USES) == {"lem-1": 0, "lem-3": 0, "lem-2": 1, "thm-1": 2}
    assert below("thm-1", USES) == {"lem-1", "lem-2", "lem-3"} and below("lem-1", USES) == set()
    svg = picture(USES, RESULTS)
    assert svg.count("<line ") == 3 and svg.count('<a href="../claims.html#tian-2023/') == 4
    assert 'stroke-width="3"' not in svg and "\n" not in svg
    assert picture(USES, RESULTS | {"lem-3": replace(RESULTS["lem-3"], proof=PROOF)}).count('stroke-width="3"') == 1


def test_the_list_says_what_hangs_on_a_slip():
    slip = RESULTS | {"lem-1": result("lem-1", "misprint", locator="of lem-1", slip="misprint", erratum="2")}
    said = {item.split("</a>")[0].split(">")[-1]: item for item in listed(USES, slip).split("<li>")[1:]}
    assert list(said)[0] == "of thm-1"
    assert picture(USES, slip).count('class="on-slip"') == 2 and "on-slip" not in picture(USES, RESULTS)
    assert all(("does not hold as printed" in said[f"of {name}"]) == (name in ("lem-2", "thm-1")) for name in RESULTS)
    assert "uses no other" in said["of lem-3"] and "does not hold" not in listed(USES, RESULTS)


@pytest.mark.parametrize(
    ("uses", "said"),
    [
        ({"lem-2": ["lem-9"]}, "tian-2023/lem-9 is no claim"),
        ({"lem-1": ["lem-2"], "lem-2": ["lem-1"]}, "lem-1 uses lem-2|lem-2 uses lem-1"),
        ({"lem-1": "lem-2"}, "statements.yaml: "),
    ],
)
def test_what_cannot_be_drawn_is_told_in_one_line(tmp_path, uses, said):
    with pytest.raises(BookError, match=said):
        load_uses(book(tmp_path, uses), {one.id for one in RESULTS.values()})


def test_what_the_paper_gives_no_argument_for_is_seen():
    uses = USES | {"cor-1": [], "lem-3": []}
    results = RESULTS | {"cor-1": result("cor-1")}
    assert in_rows(uses)[-1] == ["cor-1"], "no line leads to it or from it"
    assert picture(uses, results).count("stroke-dasharray") == 2
    assert listed(uses, results).count("no argument of the paper") == 2
    assert listed(uses, results).count("uses no other") == 1


def test_a_row_is_ordered_by_what_it_uses():
    uses = {"d": ["c"], "e": ["a"], "f": ["a", "c"], "g": ["b"]}
    first, second = in_rows(uses)
    assert set(first) == {"a", "b", "c"} and second[0] in "deg"
    place = {name: first.index(name) for name in first}
    means = [sum(place[used] for used in uses[name]) / len(uses[name]) for name in second]
    assert means == sorted(means)


def test_each_paper_has_a_page_and_a_row_of_the_table(tmp_path):
    slip = RESULTS | {"lem-1": result("lem-1", "misprint", locator="of lem-1", slip="misprint", erratum="2")}
    pages = graph_pages({"tian-2023": USES | {"lem-3": []}}, list(slip.values()), {"tian-2023": "Tian, 2023"})
    assert pages["statements/tian-2023.md"].count("<svg") == 1
    assert "| [Tian, 2023](statements/tian-2023.md) | 4 | 0 | 2 | 1 |" in pages["statements.md"]
    assert load_uses(tmp_path / "nothing", set()) == {}


def test_the_book_s_own_table_names_its_claims_and_each_paper_has_its_page():
    root = find_root()
    tables = map(Claims.load, sorted(root.glob("chapters/*/claims.yaml")))
    known = {f"{table.paper}/{name}" for table in tables for name in table.rows}
    papers = load_uses(root, known)
    assert {path.stem for path in (root / "book" / "statements").glob("*.md")} == set(papers)
    for paper in papers:
        assert f"- file: book/statements/{paper}\n" in (root / "_toc.yml").read_text()
        assert f"_generated/statements/{paper}.md" in (root / "book" / "statements" / f"{paper}.md").read_text()


def test_a_long_row_is_split_into_rows_that_are_nearly_equal():
    for count in range(1, 30):
        rows = batched_evenly([str(k) for k in range(count)])
        assert sum(rows, []) == [str(k) for k in range(count)] and len(rows) == (count + 6) // 7
        assert max(map(len, rows)) - min(map(len, rows)) <= 1
