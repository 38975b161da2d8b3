"""Several chapters in one book whose claims and figures share ids, as those of different papers do."""

import base64
import json
import re
from collections import Counter

import nbformat
import pytest
from bare_book import build, write_book
from stand_in import CLAIMS, SOURCE, build_stand_in

from clbook.commands.notebooks import normalise
from clbook.notebook.glue import png
from clbook.notebook.results import load_results
from clbook.notebook.shown import outputs_shown, picture_sum
from clbook.pages import book_pages
from clbook.pages.claim_marks import count_line
from clbook.pages.claims_page import claims_page
from clbook.pages.site_check import check_site
from clbook.provenance.digests import SHORT
from clbook.provenance.records import sealed_record
from clbook.provenance.staleness import notebook_stamp
from clbook.provenance.stamps import MIME, seal

MISSED = CLAIMS.replace("{at_most: 1.0e-10}", "{at_least: 2.0}", 1)  # Theorem 1 of the second chapter
DRAWN = SOURCE.replace("# %%\nfalling", '# %% tags=["remove-output"]\nfalling')
PROSE = """
# %% [markdown]
# ```{include} ../book/_generated/NAME-box.md
# ```
#
# ```{prf:theorem} no. 1 of the paper
# :label: NAME-theorem
# Twice is two times.
# ```
#
# ```{glue:figure} plot-fig-1
# :alt: A line that rises.
# :name: NAME-plot
#
# Figure 1 beside {prf:ref}`Theorem 1 <NAME-theorem>`.
# ```
#
# ```{include} ../book/_generated/NAME-record.md
# ```
"""


def write_chapter(root, name, claims, picture):
    """A stand-in with a figure, and a record of it under the profile `paper`."""
    source = DRAWN + PROSE.replace("NAME", name)
    files = build_stand_in(root, source=source, claims=claims, name=name)
    notebook = nbformat.read(files.notebook, as_version=4)
    glued = {"scrapbook": {"name": "plot-fig-1", "mime_prefix": ""}}
    data = {"image/png": base64.b64encode(picture).decode("ascii")}
    cell = next(cell for cell in notebook.cells if cell.source.startswith("falling"))
    cell.outputs = [nbformat.v4.new_output("display_data", data, metadata=glued)]
    drawn = {"plot-fig-1": {"digest": "0" * SHORT, "sum": picture_sum(data["image/png"])}}
    stamp = seal(notebook_stamp(files.notebook) | {"pictures": drawn, "shown": outputs_shown(normalise(notebook))})
    (close,) = [output for cell in notebook.cells for output in cell.get("outputs", []) if MIME in output.data]
    close.data[MIME] = stamp
    nbformat.write(normalise(notebook), files.notebook)
    record = files.record("paper")
    record.with_suffix("").mkdir(parents=True)
    record.write_text(json.dumps(sealed_record([seal(stamp | {"profile": "paper"})], 1)), encoding="utf-8")
    (record.with_suffix("") / "plot-fig-1.png").write_bytes(picture)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """Root and chapter → paper of a book with a stand-in for each of the planned chapters."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    root = tmp_path_factory.mktemp("book")
    papers, picture = write_book(root), png(plt.figure(figsize=(1, 1)))
    plt.close("all")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLBOOK_ROOT", str(root))
        patch.delenv("CLBOOK_PROFILE", raising=False)
        for at, (name, paper) in enumerate(papers.items()):
            claims = (MISSED if at == 1 else CLAIMS).replace("nobody-2020", paper)
            write_chapter(root, name, claims, picture)
        yield root, papers


def test_every_chapter_has_its_own_verdict_of_a_claim(book):
    root, papers = book
    rows = load_results(root)
    assert len({row.id for row in rows}) == len(rows) == 4 * len(papers) > 4
    second = list(papers)[1]
    assert {row.chapter: row.verdict for row in rows if row.claim.id == "thm-1"} == {
        name: "not reproduced" if name == second else "reproduced" for name in papers
    }


def test_links_of_the_claims_page_are_distinct_and_what_failed_names_its_paper(book):
    root, papers = book
    titles = {front["cite"]: front.get("paper", name) for name, front in book_pages.load_chapters(root).items()}
    page = claims_page(load_results(root), titles)
    head, rows = page.split("## What did not hold")[1].split("## Every claim", 1)
    links = re.findall(r'href="(\.\./chapters/[^"]+)"', rows)
    assert sorted(links) == sorted(f"../chapters/{n}.html#{i}" for n in papers for i in ("thm-1", "thm-1-a", "fig-1"))
    for paper in papers.values():
        assert f'{titles[paper]}, <a href="claims.html#{paper}/thm-1-a">' in head
    assert head.count("/thm-1-a") == len(papers) and head.count('/thm-1"') == 1
    assert "can be expected to be luck" in page


def test_counts_are_sums_and_a_chapter_counts_its_own(book):
    root, papers = book
    rows = load_results(root)
    files = book_pages.generate(root, rows, {name: {} for name in papers})
    n = len(papers)
    assert files["counts.md"].startswith(f"The book tests {4 * n} claims: ")
    assert f"{2 * n - 1} reproduced" in files["counts.md"] and f"{n} not run" in files["counts.md"]
    for at, name in enumerate(papers):
        own = count_line([row for row in rows if row.chapter == name])
        assert own in files[f"{name}-box.md"] and own in files["chapter-map.md"]
        assert ("1 not reproduced" in own) == (at == 1)


def test_the_book_is_built_without_a_warning_and_every_link_leads_to_its_chapter(book):
    root, papers = book
    assert book_pages.main() == 0
    site = build(root)
    assert check_site(site) == []
    text = (site / "book" / "claims.html").read_text(encoding="utf-8")
    leads = Counter(re.findall(r'href="\.\./chapters/([\w-]+)\.html#fig-1"', text))
    assert leads == dict.fromkeys(papers, 1)
    for name in papers:
        page = (site / "chapters" / f"{name}.html").read_text(encoding="utf-8")
        assert len(re.findall(rf'id="{name}-plot(?:-paper)?"', page)) == 2
        assert all(f'href="#{name}-{label}"' in page for label in ("plot", "theorem"))
