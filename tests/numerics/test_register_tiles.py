"""Products of matrices of every shape against numpy."""

from itertools import product

import numpy as np
import pytest

pytest.importorskip("numba", reason="compiled products need numba")
from numba import njit

from contrastive_dynamics.numerics.register_tiles import LANES, add_product, dot


def drawn(*shape, kind=np.float64):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(kind)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_products_of_any_shape(kind):
    for rows, inner, vectors in product((1, 3, 4, 9), (1, 2, 7), (1, 2, 5)):
        a, b = drawn(rows, inner, kind=kind), drawn(inner, vectors * LANES, kind=kind)
        before = drawn(rows, vectors * LANES, kind=kind)
        for left in (a, np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2]):  # rows, columns, every other number
            out = before.copy()
            add_product(left, b, out)
            assert np.allclose(out, before + a @ b, rtol=1e-12 if kind is np.float64 else 1e-4, atol=1e-5)


def test_parts_of_larger_arrays():
    a, b, out = drawn(6, 9), drawn(5, 4 * LANES), np.zeros((6, 3 * LANES))
    add_product(a[1:, 2:7], b[:, LANES : 3 * LANES], out[:5, LANES:])
    assert np.allclose(out[:5, LANES:], a[1:, 2:7] @ b[:, LANES : 3 * LANES], rtol=1e-12)
    assert not out[5].any() and not out[:, :LANES].any()


def test_terms_are_added_in_order_and_rounded_one_by_one():
    """So that no processor makes other bits of them."""
    a, b = drawn(4, 50, kind=np.float32), drawn(50, 2 * LANES, kind=np.float32)
    out, expected = np.zeros((4, 2 * LANES), np.float32), np.zeros((4, 2 * LANES), np.float32)
    add_product(a, b, out)
    for k in range(50):
        expected += a[:, k : k + 1] * b[k]
    assert np.array_equal(out, expected)


def test_dot():
    @njit
    def of(x, y):
        return dot(x, y)

    x, y = drawn(1, 5 * LANES), drawn(1, 5 * LANES) ** 2
    assert of(x, y) == pytest.approx(float(x[0] @ y[0]), rel=1e-13)
