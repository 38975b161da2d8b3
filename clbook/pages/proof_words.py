"""What the pages say of a proof that a program checks: how far it goes, by what, what is left to a person, its twin."""

from collections.abc import Mapping, Sequence

from ..claims.proofs import GRADES, Proof
from .claim_marks import Html, in_html, in_markdown

NONE = "none"  # of the filter on the claims page, beside the grades


def grade(proof: Proof | None) -> str:
    """The value of the filter: one of `GRADES`, or none; a proof with a fault counts as none."""
    return proof.grade if proof and not proof.fault else NONE


def address(file: str, folder: str) -> str:
    """Of a proof's file as a page, which shows it as text."""
    return f"{folder}{file}.txt"


def explained(proof: Proof | None, folder: str) -> Html:
    """A proof in a few sentences, with links to its files in `folder`; empty where there is none."""
    if proof is None:
        return Html("")
    if proof.fault:
        return in_html(proof.words)
    links = ", ".join(
        f'<a href="{in_html(address(file, folder))}"><code>{in_html(file)}</code></a>' for file in proof.files
    )
    said = f"{proof.how_far.capitalize()}. {proof.proved} By hand: {_sentence(proof.by_hand)} "
    said += f"Its false twin: {_sentence(proof.twin)} Checked on {proof.checked}, {proof.seconds:.0f} s:"
    return Html(f"{in_html(said)} {links}.")


def _sentence(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def proof_list(proofs: Sequence[Proof]) -> str:
    """The list of the page on proofs, in Markdown: claim, how far, what is proved and by hand, twin, prover, files."""
    return "\n".join(f"- {_claim(proof)}: {explained(proof, '../proofs/')}" for proof in proofs) + "\n"


def _claim(proof: Proof) -> str:
    name = in_html(proof.claim)
    return f'<a href="claims.html#{name}"><code>{name}</code></a>' if proof.claim else "no claim of the book yet"


def counted(proofs: Sequence[Proof]) -> str:
    """How many claims have a proof, by grade."""
    claims = [proof for proof in proofs if proof.claim and not proof.fault]
    counts = {word: sum(proof.grade == word for proof in claims) for word in GRADES}
    return f"{len(claims)} claims: " + ", ".join(f"{count} {word}" for word, count in counts.items())


def second_table(found: Mapping[str, str]) -> str:
    """Claim and what a second program found, as a table in Markdown."""
    rows = [
        f'| <a href="claims.html#{in_html(claim)}"><code>{in_html(claim)}</code></a> | {in_markdown(said)} |'
        for claim, said in found.items()
    ]
    return "\n".join(["| claim | by another hand |", "|---|---|", *rows]) + "\n"
