"""Products with one rounding and with two, to the last bit, and the exponential of either, against exact numbers."""

import json
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from contracted import SETTINGS, library_with

pytest.importorskip("numba", reason="compiled products need numba")
mpmath = pytest.importorskip("mpmath", reason="exact exponentials need mpmath")
KINDS = {"float32": 80, "float64": 700}  # kind: largest |x|
COUNT = 2003  # of exponentials; not a multiple of any vector
PROGRAM = """
import json, sys
import numpy as np
from contrastive_dynamics.compiled.exponentials import exponentiate
from contrastive_dynamics.compiled.register_tiles import add_product
found = {}
for kind, largest in json.loads(sys.argv[1]).items():
    a, b = (np.random.default_rng(n).normal(size=s).astype(kind) for n, s in enumerate([(3, 7), (7, 56)]))
    out, x = np.zeros((3, 56), kind), np.linspace(-largest, largest, int(sys.argv[2])).astype(kind)
    add_product(a, b, out)
    exponentiate(x)
    found[kind] = [part.astype(float).tolist() for part in (out, x)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module", params=SETTINGS, ids=["two roundings", "one rounding"])
def made(request, tmp_path_factory):
    """Whether there is one rounding, and for each kind a product and exponentials."""
    folder = tmp_path_factory.mktemp("library")
    env = os.environ | {"PYTHONPATH": str(library_with(request.param, folder)), "NUMBA_CACHE_DIR": str(folder / "kept")}
    command = [sys.executable, "-c", PROGRAM, json.dumps(KINDS), str(COUNT)]
    return request.param, json.loads(subprocess.run(command, env=env, check=True, capture_output=True).stdout)


def rounded(exact: Fraction, kind: str) -> Fraction:
    """The nearest number of a kind, ties to even; away from the ends of its range."""
    if not exact:
        return exact
    bits, power = np.finfo(kind).nmant, 0
    while abs(exact) >= 2 ** (power + 1):
        power += 1
    while abs(exact) < Fraction(2) ** power:
        power -= 1
    unit = Fraction(2) ** (power - bits)
    return round(exact / unit) * unit


@pytest.mark.parametrize("kind", KINDS)
def test_a_product_is_rounded_as_it_is_defined(made, kind):
    once, found = made
    a, b = (np.random.default_rng(n).normal(size=s).astype(kind) for n, s in enumerate([(3, 7), (7, 56)]))
    for i, q in np.ndindex(3, 56):
        total = Fraction(0)
        for k in range(7):
            product = Fraction(float(a[i, k])) * Fraction(float(b[k, q]))
            total = rounded(total + (product if once else rounded(product, kind)), kind)
        assert found[kind][0][i][q] == float(total)


@pytest.mark.parametrize("kind", KINDS)
def test_exponentials_are_within_two_units_of_the_last_place(made, kind):
    _, found = made
    largest, digits = KINDS[kind], np.finfo(kind).nmant
    for x, y in zip(np.linspace(-largest, largest, COUNT).astype(kind), found[kind][1], strict=True):
        with mpmath.workprec(120):
            exact = mpmath.exp(mpmath.mpf(float(x)))
            unit = mpmath.ldexp(1, int(mpmath.floor(mpmath.log(exact, 2))) - digits)
            assert abs(mpmath.mpf(y) - exact) <= 2 * unit
