"""Products of small matrices and sums of their rows for compiled code, which stay in registers until they are complete.

Compiled loops write a row of a sum back after every few terms, and half of the time goes into that. Here a tile of
the sum is made of vectors, in the language of LLVM. The order of the terms is fixed and each product is rounded
before it is added, so every processor gets the same bits.
"""

from collections.abc import Callable
from functools import reduce

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .kept_functions import compiled_once

LANES = 8  # numbers in a vector; a processor with shorter ones takes several for it
INDEX = ir.IntType(32)


class View:
    """An array `[rows, columns]` of compiled code from some row and column on: where its entries are."""

    def __init__(self, context, builder, kind, value, row=0, column=0):
        array = context.make_array(kind)(context, builder, value)
        self.builder, self.number = builder, array.data.type.pointee
        self.vector = ir.VectorType(self.number, LANES)
        self.steps = cgutils.unpack_tuple(builder, array.strides, 2)
        self.columns = cgutils.unpack_tuple(builder, array.shape, 2)[1]
        self.start = builder.ptrtoint(array.data, self.columns.type)
        self.start = builder.ptrtoint(self.at(row, column, self.number), self.columns.type)

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

    def entry(self, row, column):
        """The number at this place."""
        return self.builder.load(self.at(row, column, self.number))

    def spread(self, row, column):
        """A number, in every lane of a vector."""
        number = self.entry(row, column)
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
    """A compiled function that adds to rows from r and columns from q on of `out`, or of 0 if fresh, those of a·b."""

    @intrinsic
    def tile(typing, a, b, out, fresh, r, q):
        def generated(context, builder, signature, arguments):
            *arrays, (_, fresh), r, q = zip(signature.args, arguments, strict=True)
            starts = (r[1], 0), (0, q[1]), (r[1], q[1])
            a, b, out = (View(context, builder, *pair, *start) for pair, start in zip(arrays, starts, strict=True))
            places = [(r, c * LANES) for r in range(rows) for c in range(vectors)]

            def terms(k):
                of_b = {c: b.lanes(k, c) for _, c in places[:vectors]}
                of_a = [a.spread(r, k) for r in range(rows)]
                return [builder.fmul(of_a[r], of_b[c]) for r, c in places]

            nothing, fresh = ir.Constant(out.vector, [0.0] * LANES), cgutils.is_true(builder, fresh)
            starts = [builder.select(fresh, nothing, out.lanes(*place)) for place in places]
            for place, value in zip(places, _summed(builder, a.columns, 1, starts, terms), strict=True):
                builder.store(value, out.at(*place, out.vector), align=1)
            return context.get_dummy_value()

        return types.void(a, b, out, fresh, r, q), generated

    return tile


_four_by_two, _four_by_one, _one_by_two, _one_by_one = _tile(4, 2), _tile(4, 1), _tile(1, 2), _tile(1, 1)


@compiled_once
def add_product(a, b, out, fresh=False):
    """out += a·b, or out = a·b if fresh, for a `[rows, n]`, n ≥ 1, in any order.

    Rows of b and out are whole, a multiple of LANES long; those of b may be longer.
    """
    rows, width = out.shape
    whole, paired = rows - rows % 4, width - width % (2 * LANES)
    for q in range(0, paired, 2 * LANES):
        for r in range(0, whole, 4):
            _four_by_two(a, b, out, fresh, r, q)
        for r in range(whole, rows):
            _one_by_two(a, b, out, fresh, r, q)
    if paired < width:
        for r in range(0, whole, 4):
            _four_by_one(a, b, out, fresh, r, paired)
        for r in range(whole, rows):
            _one_by_one(a, b, out, fresh, r, paired)


def _gathered(vectors: int, together: int) -> Callable:
    """A compiled function that adds to out_i, from column q on, rows of `table`, `together` of them at a time.

    The rows are the `count` of at_i from column k on.
    """

    @intrinsic
    def gather(typing, table, at, out, i, k, count, q):
        def generated(context, builder, signature, arguments):
            *arrays, i, k, count, q = zip(signature.args, arguments, strict=True)
            starts = (0, q[1]), (i[1], k[1]), (i[1], q[1])
            table, at, out = (View(context, builder, *pair, *start) for pair, start in zip(arrays, starts, strict=True))
            columns = [c * LANES for c in range(vectors)]

            def terms(k):
                rows = [at.entry(0, builder.add(k, k.type(n))) for n in range(together)]
                return [reduce(builder.fadd, [table.lanes(row, c) for row in rows]) for c in columns]

            sums = _summed(builder, count[1], together, [out.lanes(0, c) for c in columns], terms)
            for c, value in zip(columns, sums, strict=True):
                builder.store(value, out.at(0, c, out.vector), align=1)
            return context.get_dummy_value()

        return types.void(table, at, out, i, k, count, q), generated

    return gather


_four_pairs, _one_pair, _four_single, _one_single = _gathered(4, 2), _gathered(1, 2), _gathered(4, 1), _gathered(1, 1)


@compiled_once
def add_rows(table, at, out):
    """out_i += Σ_k table[at_ik] for at `[rows, n]`, two terms at a time; rows of table and out as in `add_product`."""
    (rows, n), width = at.shape, out.shape[1]
    even, wide = n - n % 2, width - width % (4 * LANES)
    for i in range(rows):
        if even:
            for q in range(0, wide, 4 * LANES):
                _four_pairs(table, at, out, i, 0, even, q)
            for q in range(wide, width, LANES):
                _one_pair(table, at, out, i, 0, even, q)
        if n > even:
            for q in range(0, wide, 4 * LANES):
                _four_single(table, at, out, i, even, 1, q)
            for q in range(wide, width, LANES):
                _one_single(table, at, out, i, even, 1, q)


def _scattered(vectors: int) -> Callable:
    """A compiled function that adds g_i, from column q on, to the rows at_i of `table`."""

    @intrinsic
    def scatter(typing, g, at, table, i, q):
        def generated(context, builder, signature, arguments):
            *arrays, i, q = zip(signature.args, arguments, strict=True)
            starts = (i[1], q[1]), (i[1], 0), (0, q[1])
            g, at, table = (View(context, builder, *pair, *start) for pair, start in zip(arrays, starts, strict=True))
            held = [(c * LANES, g.lanes(0, c * LANES)) for c in range(vectors)]

            def added(k):
                row = at.entry(0, k)
                for c, value in held:
                    builder.store(builder.fadd(table.lanes(row, c), value), table.at(row, c, table.vector), align=1)
                return []

            _summed(builder, at.columns, 1, [], added)
            return context.get_dummy_value()

        return types.void(g, at, table, i, q), generated

    return scatter


_four_to_rows, _one_to_rows = _scattered(4), _scattered(1)


@compiled_once
def add_to_rows(g, at, table):
    """table[at_ik] += g_i for all k of at `[rows, n]`, n ≥ 1, i after i; rows of g and table as in `add_product`."""
    width = g.shape[1]
    wide = width - width % (4 * LANES)
    for i in range(len(at)):
        for q in range(0, wide, 4 * LANES):
            _four_to_rows(g, at, table, i, q)
        for q in range(wide, width, LANES):
            _one_to_rows(g, at, table, i, q)


def _turned(builder, vectors: list) -> list:
    """LANES vectors as rows of a square: its columns."""
    half = 1
    while half < LANES:  # 2·half by 2·half blocks exchange the two of their quarters that are off the diagonal
        lower = [n // half % 2 == 0 for n in range(LANES)]
        first = ir.Constant(ir.VectorType(INDEX, LANES), [n if lower[n] else n - half + LANES for n in range(LANES)])
        second = ir.Constant(ir.VectorType(INDEX, LANES), [n + half if lower[n] else n + LANES for n in range(LANES)])
        vectors = [
            builder.shuffle_vector(vectors[n], vectors[n + half], first)
            if lower[n]
            else builder.shuffle_vector(vectors[n - half], vectors[n], second)
            for n in range(LANES)
        ]
        half *= 2
    return vectors


@intrinsic
def _square(typing, a, out, r, q):
    """Entries from (r, q) on of a, LANES by LANES, become those from (q, r) on of `out`, rows as columns."""

    def generated(context, builder, signature, arguments):
        (a, out, (_, r), (_, q)) = zip(signature.args, arguments, strict=True)
        a, out = View(context, builder, *a, r, q), View(context, builder, *out, q, r)
        for n, vector in enumerate(_turned(builder, [a.lanes(n, 0) for n in range(LANES)])):
            builder.store(vector, out.at(n, 0, out.vector), align=1)
        return context.get_dummy_value()

    return types.void(a, out, r, q), generated


@compiled_once
def transpose(a, out):
    """Aᵀ into out; both sides of a, whose rows are whole, are multiples of LANES."""
    for r in range(0, a.shape[0], LANES):
        for q in range(0, a.shape[1], LANES):
            _square(a, out, r, q)


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


@intrinsic
def _eight_dots(typing, a, b, out, r):
    """`dot` of the LANES rows from r on into out."""

    def generated(context, builder, signature, arguments):
        (a, b, (kind, out), (_, r)) = zip(signature.args, arguments, strict=True)
        a, b = View(context, builder, *a, r, 0), View(context, builder, *b, r, 0)
        place = builder.gep(context.make_array(kind)(context, builder, out).data, [r])
        zero = ir.Constant(a.vector, [0.0] * LANES)

        def terms(k):
            return [builder.fmul(a.lanes(n, k), b.lanes(n, k)) for n in range(LANES)]

        lanes = _turned(builder, _summed(builder, a.columns, LANES, [zero] * LANES, terms))
        builder.store(reduce(builder.fadd, lanes), builder.bitcast(place, a.vector.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(a, b, out, r), generated


@compiled_once
def row_dots(a, b, out):
    """`dot` of every row of a and b into out `[rows]`, contiguous."""
    whole = len(out) - len(out) % LANES
    for r in range(0, whole, LANES):
        _eight_dots(a, b, out, r)
    for r in range(whole, len(out)):
        out[r] = dot(a[r : r + 1], b[r : r + 1])
