"""Which claim a proof proves: a statement that has changed, or a file that was not checked as it is, proves nothing."""

import hashlib
import json
from dataclasses import replace

import pytest
import yaml
from claim_row import result

from clbook.claims.claim_table import Claims
from clbook.claims.proofs import Proof, load_proofs, second_hands, stated, sum_of
from clbook.common.errors import BookError
from clbook.common.sources import find_root
from clbook.pages.claim_proof import entry, with_entries
from clbook.pages.claim_rows import facets, row
from clbook.pages.proof_words import counted, explained, proof_list

ROOT = find_root()
STATEMENT, ID = "One and one are $2$.", "paper/thm-1"
COQ = "(* why *)\nTheorem small : 1 + 1 = 2.\nProof. reflexivity. Qed.\n"
ROW = {"claim": ID, "files": ["small.v"], "grade": "whole", "proved": "All.", "by_hand": "Nothing.", "twin": "3."}


def book(folder, text=COQ, statement=STATEMENT, log=None, **changes):
    """The proofs of a book with one file, whose index fits `COQ` and `STATEMENT`, and whose log is of that file."""
    path = folder / "proofs" / "small.v"
    path.parent.mkdir(exist_ok=True)
    path.write_text(COQ)
    given = ROW | {"sum": sum_of(STATEMENT, [path])} | changes
    (path.parent / "index.yaml").write_text(yaml.safe_dump([{key: value for key, value in given.items() if value}]))
    by = "Coq 8.16.1, no axioms"
    one = {"outcome": "ok", "seconds": 1.2, "said": by, "by": by, "date": "2026-11-27"}
    path.write_text(text)
    one |= {"sum": hashlib.sha256(path.read_bytes()).hexdigest()} | (log or {})
    (folder / "records" / "proofs").mkdir(parents=True, exist_ok=True)
    (folder / "records" / "proofs" / "log.json").write_text(json.dumps({"files": {"small.v": one}}))
    return load_proofs(folder, {ID: statement})


def test_what_fits_is_proved_and_says_when_and_by_what(tmp_path):
    (proof,) = book(tmp_path)
    assert proof.words == "proved: whole" and proof.checked == "2026-11-27 by Coq 8.16.1, no axioms"
    (part,) = book(tmp_path, grade="in part", steps=[2, 4], form="mended form")
    assert part.words == "mended form proved: in part (2 of 4 steps)"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"statement": "One and one are $3$."}, "states has changed; compare them"),
        ({"text": COQ.replace("= 2", "= 3")}, "states has changed; compare them"),
        ({"text": COQ.replace("reflexivity", "lia")}, None),
        ({"text": COQ.replace("why", "because")}, None),
        ({"log": {"sum": "0"}}, "small.v was not checked as it stands"),
        ({"log": {"outcome": "FAILED", "said": "Admitted: not proved"}}, "small.v: FAILED, Admitted: not proved"),
        ({"log": {"outcome": "not checked", "said": "coqc is missing"}}, "small.v: not checked, coqc is missing"),
        ({"claim": "paper/thm-9"}, "paper/thm-9 is no claim of the book"),
        ({"files": ["small.v", "other.v"]}, "other.v is missing"),
        ({"grade": "in part"}, "steps go with a proof in part"),
    ],
)
def test_what_does_not_fit_is_never_called_proved(tmp_path, change, said):
    (proof,) = book(tmp_path, **change)
    assert proof.words.startswith("proof not accepted: " if said else "proved: ")
    assert (said or "") in proof.fault and "\n" not in proof.words


def test_a_damaged_index_is_told_in_one_line(tmp_path):
    with pytest.raises(BookError, match="proofs/index.yaml: "):
        book(tmp_path, grade="verified")


def test_what_a_program_states_is_the_same_text_on_every_python(tmp_path):
    """Python 3.12 knows parameters of types and 3.13 leaves out empty lists; neither may undo a proof."""
    (tmp_path / "a.py").write_text("class A:\n    def f(self, x=()):\n        return print(x)\n")
    arguments = "arguments(posonlyargs=[], args=[arg(arg='self'), arg(arg='x')], kwonlyargs=[], kw_defaults=[], "
    arguments += "defaults=[Tuple(elts=[], ctx=Load())])"
    call = "Call(func=Name(id='print', ctx=Load()), args=[Name(id='x', ctx=Load())], keywords=[])"
    function = f"FunctionDef(name='f', args={arguments}, body=[Return(value={call})], decorator_list=[])"
    whole = f"ClassDef(name='A', bases=[], keywords=[], body=[{function}], decorator_list=[])"
    assert stated(tmp_path / "a.py") == f"Module(body=[{whole}], type_ignores=[])"


def test_a_book_without_proofs_has_none(tmp_path):
    assert load_proofs(tmp_path, {}) == []


def test_every_proof_of_the_book_fits_its_claim_and_was_checked_as_it_is():
    tables = [Claims.load(path) for path in sorted(ROOT.glob("chapters/*/claims.yaml"))]
    known = {f"{table.paper}/{name}": claim.statement for table in tables for name, claim in table.rows.items()}
    proofs = load_proofs(ROOT, known)
    assert [proof.words for proof in proofs if proof.fault] == []
    named = {name for proof in proofs for name in proof.files}
    there = {path.name for suffix in ("v", "py") for path in (ROOT / "proofs").glob(f"*.{suffix}")} - {"check.py"}
    assert named == there  # none is forgotten
    claims = [proof.claim for proof in proofs if proof.claim]
    assert len(set(claims)) == len(claims) >= 15
    assert all(len(path.read_text().splitlines()) <= 60 for path in (ROOT / "proofs").iterdir() if path.name in there)


PROOF = Proof(
    "tian-2023/eq-8", ("a.v", "b.py"), "in part", "For all n.", "The limit.", "It is 3.", (1, 2), checked="today by Coq"
)


def test_the_claims_page_shows_and_filters_proofs():
    proved = replace(result(), proof=PROOF)
    assert facets(proved)["proof"] == "in part" and facets(result())["proof"] == "none"
    assert facets(replace(result(), proof=replace(PROOF, fault="coqc is missing")))["proof"] == "none"
    page = row(proved)
    assert 'data-proof="in part"' in page and '<a href="../proofs/a.v.txt">' in page
    assert "In part (1 of 2 steps). For all n. By hand: the limit. Its false twin: it is 3. Checked on today" in page
    assert (
        proved.to_json()["proof"]["words"] == "proved: in part (1 of 2 steps)" and result().to_json()["proof"] is None
    )


def test_a_card_says_how_far_its_claim_is_proved():
    cards = "".join(
        f'<div class="claim claim-reproduced" id="{name}"><p>x</p><code class="claim-id">{name}</code></div>'
        for name in ("eq-7", "eq-8")
    )
    first, second = with_entries(cards, {"eq-8": entry(PROOF, "agrees to 8e-12, its method to 1e-06")}).split("</div>")[
        :2
    ]
    assert "proved" not in first and second.index("proved: in part (1 of 2 steps)") < second.index('"claim-id"')
    assert (
        "by another hand: agrees to 8e-12</summary>" in second and "It agrees to 8e-12, its method to 1e-06." in second
    )
    assert with_entries(cards, {}) == cards
    twice = entry(None, "agrees exactly; again: agrees to 0.1, its method to 0.2")
    assert "<summary>by another hand: agrees exactly</summary>" in twice and "again: agrees to 0.1" in twice
    refused = with_entries(cards, {"eq-8": entry(replace(PROOF, fault="a.v: FAILED, <admit>"), "")})
    assert "proof not accepted: a.v: FAILED, &lt;admit&gt;" in refused and "By hand" not in refused


def test_what_a_second_program_found_is_told_of_the_file_as_it_is(tmp_path):
    program = tmp_path / "tests" / "secondhand" / "a.py"
    record = tmp_path / "records" / "proofs" / "secondhand.json"
    for path in (program, record):
        path.parent.mkdir(parents=True)
    program.write_text("x = 1\n")
    one = {"claim": "a/b", "worst": 2e-9, "within": 1e-2, "date": "", "sum": hashlib.sha256(b"x = 1\n").hexdigest()}
    for worst, said in ((2e-9, "agrees to 2·10⁻⁹, its method to 0.01"), (0.5, "differs by 0.5, its method to 0.01")):
        record.write_text(json.dumps({"files": {"a.py": one | {"worst": worst}}}))
        assert second_hands(tmp_path) == {"a/b": said}
    (program.parent / "a_again.py").write_text("x = 1\n")
    record.write_text(json.dumps({"files": {"a.py": one, "a_again.py": one | {"worst": 0}}}))
    assert second_hands(tmp_path) == {"a/b": "agrees to 2·10⁻⁹, its method to 0.01; again: agrees exactly"}
    for path in program.parent.iterdir():
        path.write_text("x = 2\n")
    assert second_hands(tmp_path) == {}


def test_the_table_counts_what_is_proved_alone():
    proofs = [PROOF, replace(PROOF, claim=""), replace(PROOF, claim="a/b", fault="coqc is missing")]
    assert counted(proofs) == "1 claims: 0 whole, 1 in part, 0 enclosed"
    said = proof_list(proofs).splitlines()
    assert (
        len(said) == 3
        and "By hand: the limit." in said[0]
        and said[1].startswith("- no claim of the book yet: In part")
    )
    assert "proof not accepted: coqc is missing" in said[2]
    assert explained(None, "") == ""
