"""Headline claims written again by another hand: each second program agrees with the claim's sentence, and uses numpy
alone.

`make deep` runs them; the pages show the record of `run_all.py`.
"""

import ast
import json
import sys

import pytest
from run_all import HERE, RECORD, outcome, programs

from clbook.claims.claim_table import Claims
from clbook.common.sources import find_root

KNOWN = {
    f"{table.paper}/{name}"
    for table in map(Claims.load, sorted(find_root().glob("chapters/*/claims.yaml")))
    for name in table.rows
}
ALLOWED = {"numpy", "itertools", "math"}


@pytest.mark.parametrize("name", programs())
def test_a_second_program_agrees_and_imports_nothing_of_ours(name):
    text = (HERE / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {getattr(node, "module", None) or node.names[0].name for node in imports} <= ALLOWED
    assert set(sys.stdlib_module_names) >= ALLOWED - {"numpy"}
    found = outcome(name)
    assert found["worst"] <= found["within"] and found["claim"] in KNOWN
    kept = json.loads(RECORD.read_text(encoding="utf-8"))["files"][f"{name}.py"]
    assert kept["sum"] == found["sum"], "run_all.py makes the record again"
    assert kept["worst"] <= kept["within"] and (kept["worst"] == 0) == (found["worst"] == 0)
    assert kept["worst"] <= 10 * found["worst"] + 1e-12 and found["worst"] <= 10 * kept["worst"] + 1e-12  # rounding
