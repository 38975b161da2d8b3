"""What one update costs: a step of (12), which is independent of the width, and one of (11), affine in the width h.

Conventions. A matrix product of m×k and k×n is 2mnk flops. An operation on entries is one flop per entry, two if it
scales and adds at once. A symmetric eigenproblem of size n with its eigenvectors is 9n³ flops. Bytes: every operation
reads each operand once and writes its result once, in float64; views cost nothing, and nothing is assumed to stay in a
cache. One run, no batch.
"""

from typing import NamedTuple

WORD = 8  # bytes of a float64


class Cost(NamedTuple):
    """Cost of one update of one run."""

    flops: int  # all of them
    bytes: int  # read and written
    product_flops: int  # those of the matrix products


def flow_step_cost(d: int, z: int) -> Cost:
    """Cost of `constrained_flow.flow_map`.

    Four products of d·z². The eigenproblem of C, about 9·d³ flops once, is not included.

    Source: esser-2023, eq. (12), Figure 4 (left).
    Args:
        d: number of inputs, ≥ 1.
        z: number of outputs, ≥ 1.
    Returns: Cost.
    Raises: ValueError for other sizes.
    """
    _require_positive("flow_step_cost", d=d, z=z)
    products = 8 * d * z**2
    # 2·lam and its product with q; the sum of two products; less 2y; times η onto q
    entries = d + d * z + d * z + 2 * d * z + 2 * d * z
    words = 2 * d + (d + 2 * d * z) + 3 * 3 * d * z
    words += 4 * (2 * d * z + z**2)  # qᵀq, qᵀy, y(qᵀq), q(qᵀy)
    return Cost(products + entries, WORD * words, products)


def descent_step_cost(h: int, d: int, z: int) -> Cost:
    """Cost of `orthogonal_descent.descent_step` as (11) is run: gradients, step, polar projection of both layers.

    Products: h·(6dz + 4d² + 4z²) + 2d²z + 2d³ + 2z³ flops. All three fields are affine in h.

    Source: esser-2023, eq. (11), Figure 4 (left).
    Args:
        h: width, ≥ d.
        d: number of inputs, ≥ z.
        z: number of outputs, ≥ 1.
    Returns: Cost.
    Raises: ValueError for a size < 1.
    """
    _require_positive("descent_step_cost", h=h, d=d, z=z)
    products = 6 * h * d * z + 2 * d**2 * z  # m = W1ᵀW2, W2yᵀ, W1y; Cm
    entries = d * z + 2 * h * (d + z)  # y = 2·(Cm); W − ηG
    words = (h * d + h * z + d * z) + (d**2 + 2 * d * z) + 2 * d * z
    words += 2 * (h * d + h * z + d * z) + 3 * h * (d + z)
    parts = Cost(products + entries, WORD * words, products), polar_cost(h, d), polar_cost(h, z)
    return Cost(*map(sum, zip(*parts, strict=True)))


def polar_cost(h: int, n: int) -> Cost:
    """Cost of `stiefel.polar` of an h×n matrix: Gram matrix, eigenproblem, its inverse root, product."""
    products = 4 * h * n**2 + 2 * n**3
    entries = n + n**2  # a^{-1/2}, and the columns of U times it
    words = (2 * h * n + n**2) + (2 * n**2 + n) + 2 * n + (2 * n**2 + n) + 3 * n**2 + (2 * h * n + n**2)
    return Cost(products + entries + 9 * n**3, WORD * words, products)


def _require_positive(name: str, **sizes: int) -> None:
    if min(sizes.values()) < 1:
        got = ", ".join(f"{key} = {value}" for key, value in sizes.items())
        raise ValueError(f"{name}: sizes must be ≥ 1, got {got}")
