"""A Sphinx extension: the card of a claim that is proved says so, beside "judge it again", with a link to the proof.

The same for what a second program found. Both are written when the pages are built and not by the run, so that a
proof, or its check, makes no notebook anew.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from ..claims.claim_table import Claims
from ..claims.proofs import Proof, load_proofs, second_hands
from ..common.sources import APPENDIX
from .claim_marks import in_html
from .proof_words import explained

_CARD = re.compile(r'(?P<start><div class="claim[^"]*" id="(?P<id>[^"]+)".*?)(?P<end><code class="claim-id">)', re.S)
SECOND = (
    "A second program, in plain numpy, was written from the paper's words and the claim's sentence by somebody who had "
    "seen neither our kernels nor our notebooks."
)


def entries_of(root: Path) -> dict[str, dict[str, str]]:
    """Chapter → claim → the entry of its card in HTML, for claims that have a proof or a second program."""
    tables = [Claims.load(path) for path in sorted((root / "chapters").glob("*/claims.yaml"))]
    known = {f"{table.paper}/{name}": row.statement for table in tables for name, row in table.rows.items()}
    proofs = {proof.claim: proof for proof in load_proofs(root, known)}
    second = second_hands(root)
    return {
        table.chapter: {
            name: entry(proofs.get(key), second.get(key, ""))
            for name in table.rows
            if (key := f"{table.paper}/{name}") in proofs or key in second
        }
        for table in tables
    }


def entry(proof: Proof | None, second: str) -> str:
    """What a card says of a proof and of a second program, each one click away."""
    said = {}
    if proof:
        said[proof.words] = explained(proof, "../proofs/")
    if second:
        said[f"by another hand: {re.split('[,;]', second)[0]}"] = in_html(f"{SECOND} It {second}.")
    return "".join(
        f'<details class="claim-proof"><summary>{in_html(word)}</summary><p>{text}</p></details> '
        for word, text in said.items()
    )


def with_entries(html: str, entries: Mapping[str, str]) -> str:
    """The HTML of cards, each with the entry of its claim if there is one."""
    return _CARD.sub(lambda card: f"{card['start']}{entries.get(card['id'], '')}{card['end']}", html)


class AddProofs(SphinxPostTransform):
    default_priority = 198  # before cards are gathered
    formats = ("html",)

    def run(self, **kwargs) -> None:
        chapter = self.env.docname.rpartition("/")[2].removesuffix(APPENDIX)
        entries = self.app.clbook_proofs.get(chapter)
        for node in self.document.findall(nodes.raw) if entries else ():
            text = node.astext()
            if 'class="claim-id"' in text:
                node.children = [nodes.Text(with_entries(text, entries))]


def _load(app: Sphinx) -> None:
    app.clbook_proofs = entries_of(Path(app.srcdir))


def setup(app: Sphinx) -> dict:
    app.connect("builder-inited", _load)
    app.add_post_transform(AddProofs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
