"""A Sphinx extension: the card of a claim that is proved says so, beside "judge it again", with a link to the proof.

It is written when the pages are built and not by the run, so that a proof, or its check, makes no notebook anew.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from ..claims.claim_table import Claims
from ..claims.proofs import Proof, load_proofs
from ..common.sources import APPENDIX
from .claim_marks import in_html
from .proof_words import explained

_CARD = re.compile(r'<div class="claim[^"]*" id="(?P<id>[^"]+)".*?(?P<end><code class="claim-id">)', re.S)


def proofs_of(root: Path) -> dict[str, dict[str, Proof]]:
    """Chapter → claim → its proof."""
    tables = [Claims.load(path) for path in sorted((root / "chapters").glob("*/claims.yaml"))]
    known = {f"{table.paper}/{name}": row.statement for table in tables for name, row in table.rows.items()}
    proofs = {proof.claim: proof for proof in load_proofs(root, known)}
    return {
        table.chapter: {
            name: proofs[f"{table.paper}/{name}"] for name in table.rows if f"{table.paper}/{name}" in proofs
        }
        for table in tables
    }


def with_proofs(html: str, proofs: dict[str, Proof]) -> str:
    """The HTML of cards, each with the proof of its claim if there is one."""

    def proved(card: re.Match) -> str:
        proof = proofs.get(card["id"])
        if proof is None:
            return card[0]
        said = f"<summary>{in_html(proof.words)}</summary><p>{explained(proof, '../proofs/')}</p>"
        return f'{card[0].removesuffix(card["end"])}<details class="claim-proof">{said}</details> {card["end"]}'

    return _CARD.sub(proved, html)


class AddProofs(SphinxPostTransform):
    default_priority = 198  # before cards are gathered
    formats = ("html",)

    def run(self, **kwargs) -> None:
        chapter = self.env.docname.rpartition("/")[2].removesuffix(APPENDIX)
        proofs = self.app.clbook_proofs.get(chapter)
        for node in self.document.findall(nodes.raw) if proofs else ():
            text = node.astext()
            if 'class="claim-id"' in text:
                node.children = [nodes.Text(with_proofs(text, proofs))]


def _load(app: Sphinx) -> None:
    app.clbook_proofs = proofs_of(Path(app.srcdir))


def setup(app: Sphinx) -> dict:
    app.connect("builder-inited", _load)
    app.add_post_transform(AddProofs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
