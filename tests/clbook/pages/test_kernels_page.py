"""The recipes on the kernels page run, one after the other, and show what the page says."""

import contextlib
import io
import re

import torch
from page_code import code_blocks

RECIPES = [code for kind, code in code_blocks("kernels") if kind == "python"]


def test_the_recipes_run_and_show_what_the_page_says():
    namespace, shown = {}, []
    for recipe in RECIPES:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(recipe, namespace)
        shown.append(said.getvalue())
    assert len(RECIPES) == 5
    spectrum = namespace["spectrum"].flip(0)
    assert spectrum[2] > 5 * spectrum[3]  # three stand out
    rates = {line.split()[0]: [float(v) for v in re.findall(r"-?\d+\.\d+", line)] for line in shown[1].splitlines()}
    assert rates["masked"][0] > 0.04 and rates["masked"][1] < 0 < 0.08 < rates["plain"][1]
    share = [float(v) for v in re.findall(r"\d\.\d+", shown[2])]
    assert abs(share[0] - 16 / 128) < 0.03 and share[0] < share[1] and share[2] > 0.7
    r2, limit = (float(v) for v in re.findall(r"\d\.\d+", shown[3]))
    assert 0.1 < r2 < 1 and abs(limit - 0.05 / 0.14) < 1e-6
    best, expected = (float(v) for v in re.findall(r"-\d+\.\d+", shown[4]))
    assert abs(best - expected) < 1e-3
    assert torch.get_default_dtype() is torch.float32
