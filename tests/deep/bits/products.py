"""Prints a digest of what the compiled products and inner products make of matrices of many shapes."""

import hashlib
from itertools import product

import numpy as np
from numba import njit

from contrastive_dynamics.numerics.register_tiles import LANES, add_product, dot


@njit
def inner(x, y):
    return dot(x, y)


def main() -> None:
    seen, draws = hashlib.sha256(), np.random.default_rng(0)
    for kind, rows, n, vectors in product((np.float32, np.float64), (1, 3, 4, 9, 40), (1, 7, 50), (1, 2, 5, 7)):
        a = draws.normal(size=(rows, n)).astype(kind)
        b, before = (draws.normal(size=(side, vectors * LANES)).astype(kind) for side in (n, rows))
        for left in (a, np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2]):
            out = before.copy()
            add_product(left, b, out)
            seen.update(out.tobytes())
        seen.update(np.array([inner(b[:1], before[:1])]).tobytes())
    print(seen.hexdigest())


if __name__ == "__main__":
    main()
