"""Products of small matrices and sums of their rows for compiled code, which stay in registers until they are complete.

Compiled loops write a row of a sum back after every few terms, and half of the time goes into that. Here a tile of
the sum is made of vectors, in the language of LLVM. The order of the terms is fixed, and `multiply_add` says how a
product is added, so every processor gets the same bits. How long the vectors are changes none of them.
"""

from collections.abc import Callable
from functools import reduce

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from .kept_functions import compiled_once
from .multiply_add import multiply_add

LANES = 8  # rows of matrices are a multiple of it long; numbers in a vector of sums that are added up lane by lane
WIDE = 64  # bytes of the vectors along which nothing is added up; a processor with shorter ones takes several for one
INDEX = ir.IntType(32)


def _tile_bytes() -> int:
    """How wide a tile is, so that one of four rows stays in the registers: AVX-512 has twice as many, twice as long."""
    _, name, features = cpu_target.target_context.codegen().magic_tuple()
    return 2 * WIDE if "+avx512f" in features or "avx512" in name else WIDE


TILE = _tile_bytes()


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

    def lanes(self, row, column, lanes=LANES):
        """The vector of so many lanes whose first number is at this place."""
        return self.builder.load(self.at(row, column, ir.VectorType(self.number, lanes)), align=1)

    def put(self, vector, row, column):
        """Stores a vector, whose first number is then at this place."""
        self.builder.store(vector, self.at(row, column, vector.type), align=1)

    def entry(self, row, column):
        """The number at this place."""
        return self.builder.load(self.at(row, column, self.number))

    def spread(self, row, column, lanes):
        """A number, in every lane of vectors of so many."""
        number, made = self.entry(row, column), {}
        for n in lanes:
            one = ir.Constant(ir.VectorType(self.number, n), ir.Undefined)
            one = self.builder.insert_element(one, number, INDEX(0))
            made[n] = self.builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(INDEX, n), [0] * n))
        return made


def _columns(array, units: int) -> list[tuple[int, int]]:
    """Where the vectors of units·LANES columns begin, and how long they are: WIDE bytes, and LANES for what is left."""
    wide, width = 8 * WIDE // array.dtype.bitwidth, units * LANES
    whole = [(c, wide) for c in range(0, width - wide + 1, wide)]
    return whole + [(c, LANES) for c in range(len(whole) * wide, width, LANES)]


def _for_units(builder, array, units, body: Callable) -> None:
    """Runs body(n), generated for each n that fits a tile, for n = units, a number that is known when the code runs."""
    for n in range(8 * TILE // (LANES * array.dtype.bitwidth), 0, -1):
        with builder.if_then(builder.icmp_signed("==", units, units.type(n))):
            body(n)


def _summed(builder, count, step: int, sums: list, terms: Callable) -> list:
    """sums + Σ_k terms(k) over k = 0, step, 2·step, … below count, at least once; terms gives one for each sum.

    A term is a vector, or a pair of them whose product is added.
    """
    before, body = builder.block, builder.append_basic_block("term")
    builder.branch(body)
    builder.position_at_end(body)
    k, so_far = builder.phi(count.type), [builder.phi(start.type) for start in sums]
    added = [
        multiply_add(builder, *term, total) if isinstance(term, tuple) else builder.fadd(total, term)
        for total, term in zip(so_far, terms(k), strict=True)
    ]
    following = builder.add(k, count.type(step))
    for phi, start, onward in zip([k, *so_far], [count.type(0), *sums], [following, *added], strict=True):
        phi.add_incoming(start, before)
        phi.add_incoming(onward, body)
    after = builder.append_basic_block("summed")
    builder.cbranch(builder.icmp_signed("<", following, count), body, after)
    builder.position_at_end(after)
    return added


def _tile(rows: int) -> Callable:
    """A compiled function that adds a·b to rows from r and units·LANES columns from q on of `out`, or of 0 if fresh."""

    @intrinsic
    def tile(typing, a, b, out, fresh, r, q, units):
        def generated(context, builder, signature, arguments):
            *arrays, (_, fresh), r, q, units = zip(signature.args, arguments, strict=True)
            starts = (r[1], 0), (0, q[1]), (r[1], q[1])
            a, b, out = (View(context, builder, *pair, *start) for pair, start in zip(arrays, starts, strict=True))
            fresh = cgutils.is_true(builder, fresh)

            def of_width(n):
                _tile_of(builder, a, b, out, fresh, rows, _columns(signature.args[2], n))

            _for_units(builder, signature.args[2], units[1], of_width)
            return context.get_dummy_value()

        return types.void(a, b, out, fresh, r, q, units), generated

    return tile


def _tile_of(builder, a, b, out, fresh, rows: int, columns: list[tuple[int, int]]) -> None:
    """The first rows and some columns of out, or of 0 if fresh, plus those of a·b."""
    places = [(r, *column) for r in range(rows) for column in columns]

    def terms(k):
        of_b = {c: b.lanes(k, c, n) for c, n in columns}
        of_a = [a.spread(r, k, {n for _, n in columns}) for r in range(rows)]
        return [(of_a[r][n], of_b[c]) for r, c, n in places]

    starts = []
    for r, c, n in places:
        nothing = ir.Constant(ir.VectorType(out.number, n), [0.0] * n)
        starts.append(builder.select(fresh, nothing, out.lanes(r, c, n)))
    for (r, c, _), value in zip(places, _summed(builder, a.columns, 1, starts, terms), strict=True):
        out.put(value, r, c)


_four_rows, _one_row = _tile(4), _tile(1)


@compiled_once
def add_product(a, b, out, fresh=False):
    """out += a·b, or out = a·b if fresh, for a `[rows, n]`, n ≥ 1, in any order.

    Rows of b and out are whole, a multiple of LANES long; those of b may be longer.
    """
    (rows, width), tile = out.shape, TILE // out.itemsize
    whole = rows - rows % 4
    for q in range(0, width, tile):
        units = min(tile, width - q) // LANES
        for r in range(0, whole, 4):
            _four_rows(a, b, out, fresh, r, q, units)
        for r in range(whole, rows):
            _one_row(a, b, out, fresh, r, q, units)


def _gathered(together: int) -> Callable:
    """A compiled function that adds to out_i, in columns from q on, rows of `table`, `together` of them at a time.

    The rows are the `count` of at_i from column k on.
    """

    @intrinsic
    def gather(typing, table, at, out, i, k, count, q, units):
        def generated(context, builder, signature, arguments):
            *arrays, i, k, count, q, units = zip(signature.args, arguments, strict=True)
            starts = (0, q[1]), (i[1], k[1]), (i[1], q[1])
            table, at, out = (View(context, builder, *pair, *start) for pair, start in zip(arrays, starts, strict=True))

            def of_width(n):
                columns = _columns(signature.args[2], n)

                def terms(k):
                    rows = [at.entry(0, builder.add(k, k.type(n))) for n in range(together)]
                    return [reduce(builder.fadd, [table.lanes(row, *c) for row in rows]) for c in columns]

                sums = _summed(builder, count[1], together, [out.lanes(0, *c) for c in columns], terms)
                for (c, _), value in zip(columns, sums, strict=True):
                    out.put(value, 0, c)

            _for_units(builder, signature.args[2], units[1], of_width)
            return context.get_dummy_value()

        return types.void(table, at, out, i, k, count, q, units), generated

    return gather


_pairs, _single = _gathered(2), _gathered(1)


@compiled_once
def add_rows(table, at, out):
    """out_i += Σ_k table[at_ik] for at `[rows, n]`, two terms at a time; rows of table and out as in `add_product`."""
    (rows, n), width, tile = at.shape, out.shape[1], TILE // out.itemsize
    even = n - n % 2
    for i in range(rows):
        for q in range(0, width, tile):
            units = min(tile, width - q) // LANES
            if even:
                _pairs(table, at, out, i, 0, even, q, units)
            if n > even:
                _single(table, at, out, i, even, 1, q, units)


@intrinsic
def _to_rows(typing, g, at, table, i, q, units):
    """Adds g_i, in units·LANES columns from q on, to the rows at_i of `table`."""

    def generated(context, builder, signature, arguments):
        *arrays, i, q, units = zip(signature.args, arguments, strict=True)
        starts = (i[1], q[1]), (i[1], 0), (0, q[1])
        g, at, table = (View(context, builder, *pair, *start) for pair, start in zip(arrays, starts, strict=True))

        def of_width(n):
            held = [(*c, g.lanes(0, *c)) for c in _columns(signature.args[0], n)]

            def added(k):
                row = at.entry(0, k)
                for c, lanes, value in held:
                    table.put(builder.fadd(table.lanes(row, c, lanes), value), row, c)
                return []

            _summed(builder, at.columns, 1, [], added)

        _for_units(builder, signature.args[0], units[1], of_width)
        return context.get_dummy_value()

    return types.void(g, at, table, i, q, units), generated


@compiled_once
def add_to_rows(g, at, table):
    """table[at_ik] += g_i for all k of at `[rows, n]`, n ≥ 1, i after i; rows of g and table as in `add_product`."""
    width, tile = g.shape[1], TILE // g.itemsize
    for i in range(len(at)):
        for q in range(0, width, tile):
            _to_rows(g, at, table, i, q, min(tile, width - q) // LANES)


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
        (total,) = _summed(builder, a.columns, LANES, [zero], lambda k: [(a.lanes(0, k), b.lanes(0, k))])
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
            return [(a.lanes(n, k), b.lanes(n, k)) for n in range(LANES)]

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
