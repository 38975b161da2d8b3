"""torch's own choice for least squares on a CPU, `gelsy`, gives other last bits when its memory lies elsewhere."""

import ast

import pytest
import torch
from checkout import ROOT


def _calls(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("torch.linalg.lstsq", "linalg.lstsq"):
            yield next((ast.literal_eval(k.value) for k in node.keywords if k.arg == "driver"), "gelsy")


def test_no_reading_rests_on_the_driver_that_moves():
    places = [path for top in ("lib", "chapters") for path in (ROOT / top).rglob("*.py")]
    found = {str(path.relative_to(ROOT)): list(_calls(path.read_text())) for path in places}
    assert {name: drivers for name, drivers in found.items() if "gelsy" in drivers} == {}
    assert sum(map(len, found.values())) >= 3  # the calls that it looks for are found


@pytest.mark.parametrize("driver", ["gels", "gelsd"])
def test_the_same_bits_wherever_memory_lies(driver):
    given, wanted = torch.randn(19, 16).double(), torch.randn(19, 1).double()
    kept, ends = [], set()
    for n in range(60):
        kept.append(torch.empty(37 * n % 501 + 1))
        del kept[: len(kept) - 7]
        ends.add(torch.linalg.lstsq(given.clone(), wanted.clone(), driver=driver).solution.numpy().tobytes())
    assert len(ends) == 1
