"""Products of matrices of every shape, and sums of their rows, against numpy."""

from itertools import product

import numpy as np
import pytest

pytest.importorskip("numba", reason="compiled products need numba")
from numba import njit

from contrastive_dynamics.compiled.register_tiles import (
    LANES,
    add_product,
    add_rows,
    add_to_rows,
    dot,
    row_dots,
    transpose,
)


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


def test_a_fresh_product_does_not_read_what_was_there():
    a, b = drawn(9, 3), drawn(3, 3 * LANES)
    out = np.full((9, 3 * LANES), np.nan)
    add_product(a, b, out, True)
    assert np.allclose(out, a @ b, rtol=1e-12)


def test_longer_rows_of_the_second_matrix_are_not_read():
    a, b, out = drawn(5, 3), drawn(3, 3 * LANES), np.zeros((5, 2 * LANES))
    b[:, 2 * LANES :] = np.nan
    add_product(a, b, out)
    assert np.allclose(out, a @ b[:, : 2 * LANES], rtol=1e-12)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_rows_are_gathered_and_scattered_in_order(kind):
    """To the last bit as plain loops: pairs of rows are summed first, and row after row is reached."""
    for n, vectors in product((1, 2, 5, 10), (1, 3, 4, 7)):
        table, g = drawn(11, vectors * LANES, kind=kind), drawn(6, vectors * LANES, kind=kind)
        at, out = np.random.default_rng(n).integers(0, 11, (6, n)), g.copy()
        add_rows(table, at, out)
        expected = g.copy()
        for i in range(6):
            for k in range(0, n - 1, 2):
                expected[i] += table[at[i, k]] + table[at[i, k + 1]]
            if n % 2:
                expected[i] += table[at[i, -1]]
        assert np.array_equal(out, expected)
        reached, plain = table.copy(), table.copy()
        add_to_rows(g, at, reached)
        for i, k in product(range(6), range(n)):
            plain[at[i, k]] += g[i]
        assert np.array_equal(reached, plain)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_transposes_and_inner_products_of_rows(kind):
    a, b = drawn(3 * LANES, 5 * LANES, kind=kind), drawn(3 * LANES, 5 * LANES, kind=kind)
    turned = np.zeros((5 * LANES, 3 * LANES), kind)
    transpose(a, turned)
    assert np.array_equal(turned, a.T)

    @njit
    def of(x, y):
        return dot(x, y)

    for rows in (1, LANES, 2 * LANES + 3):
        out = np.zeros(rows, kind)
        row_dots(a[:rows], b[:rows], out)
        assert np.array_equal(out, np.array([of(a[i : i + 1], b[i : i + 1]) for i in range(rows)], kind))
