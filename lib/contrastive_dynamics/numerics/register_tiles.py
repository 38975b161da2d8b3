"""Products of small matrices for compiled code, whose sums stay in registers until they are complete.

Compiled loops write a row of a product back after every few terms, and half of the time goes into that. Here a tile of
the product is summed as vectors, in the language of LLVM. The order of the terms is fixed and each product is rounded
before it is added, so every processor gets the same bits.
"""

from collections.abc import Callable
from functools import reduce

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8  # numbers in a vector; a processor with shorter ones takes several for it
INDEX = ir.IntType(32)


class View:
    """An array `[rows, columns]` of compiled code: where its entries are."""

    def __init__(self, context, builder, kind, value):
        array = context.make_array(kind)(context, builder, value)
        self.builder, self.number = builder, array.data.type.pointee
        self.vector = ir.VectorType(self.number, LANES)
        self.steps = cgutils.unpack_tuple(builder, array.strides, 2)
        self.columns = cgutils.unpack_tuple(builder, array.shape, 2)[1]
        self.start = builder.ptrtoint(array.data, self.columns.type)

    def at(self, row, column, kind):
        """The address of an entry, of which row and column may be numbers or values."""
        address = self.start
        for place, step in zip((row, column), self.steps, strict=True):
            place = self.columns.type(place) if isinstance(place, int) else place
            address = self.builder.add(address, self.builder.mul(place, step))
        return self.builder.inttoptr(address, kind.as_pointer())

    def lanes(self, row, column):
        """The vector whose first number is at this place."""
        return self.builder.load(self.at(row, column, self.vector), align=1)

    def spread(self, row, column):
        """A number, in every lane of a vector."""
        number = self.builder.load(self.at(row, column, self.number))
        one = self.builder.insert_element(ir.Constant(self.vector, ir.Undefined), number, INDEX(0))
        return self.builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(INDEX, LANES), [0] * LANES))


def _summed(builder, count, step: int, sums: list, terms: Callable) -> list:
    """sums + Σ_k terms(k) over k = 0, step, 2·step, … below count, at least once; terms gives one for each sum."""
    before, body = builder.block, builder.append_basic_block("term")
    builder.branch(body)
    builder.position_at_end(body)
    k, so_far = builder.phi(count.type), [builder.phi(start.type) for start in sums]
    added = [builder.fadd(*pair) for pair in zip(so_far, terms(k), strict=True)]
    following = builder.add(k, count.type(step))
    for phi, start, onward in zip([k, *so_far], [count.type(0), *sums], [following, *added], strict=True):
        phi.add_incoming(start, before)
        phi.add_incoming(onward, body)
    after = builder.append_basic_block("summed")
    builder.cbranch(builder.icmp_signed("<", following, count), body, after)
    builder.position_at_end(after)
    return added


def _tile(rows: int, vectors: int) -> Callable:
    """A compiled function of a `[rows, n]`, b `[n, vectors·LANES]` and out, shaped as their product: out += a·b."""

    @intrinsic
    def tile(typing, a, b, out):
        def generated(context, builder, signature, arguments):
            pairs = zip(signature.args, arguments, strict=True)
            a, b, out = (View(context, builder, *pair) for pair in pairs)
            places = [(r, c * LANES) for r in range(rows) for c in range(vectors)]

            def terms(k):
                of_b = {c: b.lanes(k, c) for _, c in places[:vectors]}
                of_a = [a.spread(r, k) for r in range(rows)]
                return [builder.fmul(of_a[r], of_b[c]) for r, c in places]

            sums = _summed(builder, a.columns, 1, [out.lanes(*place) for place in places], terms)
            for place, value in zip(places, sums, strict=True):
                builder.store(value, out.at(*place, out.vector), align=1)
            return context.get_dummy_value()

        return types.void(a, b, out), generated

    return tile


_four_by_two, _four_by_one, _one_by_two, _one_by_one = _tile(4, 2), _tile(4, 1), _tile(1, 2), _tile(1, 1)


@njit(cache=True, nogil=True, error_model="numpy")
def add_product(a, b, out):
    """out += a·b for a `[rows, n]`, n ≥ 1, in any order; rows of b and out are whole, a multiple of LANES long."""
    rows, width = out.shape
    whole, paired = rows - rows % 4, width - width % (2 * LANES)
    for q in range(0, paired, 2 * LANES):
        strip = b[:, q : q + 2 * LANES]
        for r in range(0, whole, 4):
            _four_by_two(a[r : r + 4], strip, out[r : r + 4, q : q + 2 * LANES])
        for r in range(whole, rows):
            _one_by_two(a[r : r + 1], strip, out[r : r + 1, q : q + 2 * LANES])
    if paired < width:
        strip = b[:, paired:]
        for r in range(0, whole, 4):
            _four_by_one(a[r : r + 4], strip, out[r : r + 4, paired:])
        for r in range(whole, rows):
            _one_by_one(a[r : r + 1], strip, out[r : r + 1, paired:])


@intrinsic
def dot(typing, a, b):
    """aᵀb of whole rows `[1, n]`, n a multiple of LANES: first lane by lane, then the lanes in turn."""

    def generated(context, builder, signature, arguments):
        pairs = zip(signature.args, arguments, strict=True)
        a, b = (View(context, builder, *pair) for pair in pairs)
        zero = ir.Constant(a.vector, [0.0] * LANES)
        (total,) = _summed(builder, a.columns, LANES, [zero], lambda k: [builder.fmul(a.lanes(0, k), b.lanes(0, k))])
        return reduce(builder.fadd, [builder.extract_element(total, INDEX(q)) for q in range(LANES)])

    return a.dtype(a, b), generated
