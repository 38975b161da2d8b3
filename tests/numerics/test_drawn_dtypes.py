"""A draw names its dtype: the default of a chapter is not that of its workers, which would draw other numbers."""

import ast

from checkout import ROOT

DRAWS = {"rand", "randn", "normal"}


def without_dtype(source: str) -> list[int]:
    """Lines that draw real numbers with torch and neither name a dtype nor hand options on."""
    return [
        call.lineno
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and ast.unparse(call.func.value) == "torch"
        and call.func.attr in DRAWS
        and not {keyword.arg for keyword in call.keywords} & {"dtype", None}
    ]


def test_every_draw_of_a_kernel_names_its_dtype():
    package = ROOT / "lib" / "contrastive_dynamics"
    found = [f"{p.relative_to(ROOT)}:{line}" for p in package.rglob("*.py") for line in without_dtype(p.read_text())]
    assert not found


def test_a_draw_without_a_dtype_is_found():
    assert without_dtype("import torch\na = torch.rand(2, dtype=x)\nb = torch.rand(2, **how)\nc = torch.randn(2)") == [
        4
    ]
