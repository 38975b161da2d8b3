"""A formula beside the line that computes it, on a page built from a notebook."""

from nbformat.v4 import new_markdown_cell
from notebook_page import cell, page_of

STRIP = r"""
```{strip}
$\mathcal E(w)=\tfrac12\mathbb V[h(w^\top x)]$ | circle_landscape.energy
its *maxima* | cell: found = maxima(
| modulated_growth.blow_up_time: time =
```
"""


def test_a_formula_stands_beside_the_line_of_the_kernel_and_of_the_cell(tmp_path):
    page, warnings = page_of(tmp_path, new_markdown_cell(STRIP), cell("x = 1\nfound = maxima(\n    x,\n)"))
    strip = page.select_one(".code-strip dl")
    left, right = strip.select("dt"), strip.select("dd")
    assert len(left) == len(right) == 2 and left[0].select_one(".math") and left[1].em.get_text() == "maxima"
    assert [code.get_text() for code in strip.select("code")] == [
        "circle_landscape.energy",
        "modulated_growth.blow_up_time",
    ]
    assert right[0].get_text().strip() == "return act.h(w @ x.mT).var(dim=-1, correction=0) / 2"
    found, time = (pre.get_text().strip() for pre in right[1].select("pre"))
    assert found == "found = maxima(\n    x,\n)" and time.startswith("time = torch.where(") and not warnings


WRONG = {  # rows, how often, and what is said
    ("$x$ | circle_landscape.energy: return 3", 1): "circle_landscape.energy: must have one statement with 'return 3'",
    ("$x$ | cell: gone", 1): "strip: cell: must have one statement with 'gone', has 0",
    ("$x$, no place", 1): "strip: a row must be 'formula | module.function: fragment', got '$x$, no place'",
    ("$x$ | circle_landscape.energy", 6): "strip: must have 1..5 rows and at most 12 lines of code, got 6 and 6",
    ("$x$ | circle_landscape.count_energy_maxima", 5): "at most 12 lines of code, got 5 and 15",
    ("", 1): "got 0 and 0",
}


def test_a_line_that_is_gone_or_a_row_too_many_is_an_error(tmp_path):
    strips = ["```{strip}\n" + f"{row}\n" * times + "```" for row, times in WRONG]
    page, warnings = page_of(tmp_path, *map(new_markdown_cell, strips))
    assert [said for said in WRONG.values() if said not in warnings] == []
    assert warnings.count("ERROR") == len(WRONG) and not page.select(".code-strip")
