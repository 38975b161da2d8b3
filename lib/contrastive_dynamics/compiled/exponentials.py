"""eˣ of many numbers by one polynomial, in the language of LLVM: the same bits on every processor."""

import ctypes
import math

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .kept_functions import compiled_once
from .multiply_add import CONTRACTED, multiply_add, of_vectors

WIDE = 16  # numbers in a vector
# bits of a number: where x is cut, log 2 in two parts, degree of the series, bits of a fraction, bias of an exponent
_KINDS = {
    32: (80.0, 0.693359375, -2.1219444005469058e-4, 7, 23, 127),
    64: (708.0, 6.93147180369123816490e-01, 1.90821492927058770002e-10, 13, 52, 1023),
}


def _powers(builder, x):
    """eˣ = 2ᵏ·eʳ with |r| ≤ ½ log 2 and the Taylor series of eʳ, x cut where 2ᵏ would leave the range of its kind."""
    lanes, bits = x.type.count, 32 if isinstance(x.type.element, ir.FloatType) else 64
    cut, high, low, degree, fraction, bias = _KINDS[bits]
    whole = ir.VectorType(ir.IntType(bits), lanes)

    def every(number, kind=x.type):
        return ir.Constant(kind, [number] * lanes)

    def rounded(number):
        return every(_as_float(number) if bits == 32 else number)

    for limit, beyond in ((-cut, "<"), (cut, ">")):
        x = builder.select(builder.fcmp_ordered(beyond, x, every(limit)), every(limit), x)
    k = of_vectors(builder, "floor", multiply_add(builder, x, rounded(1 / math.log(2)), every(0.5)))
    r = multiply_add(builder, k, rounded(-high), x)
    r = multiply_add(builder, k, rounded(-low), r)
    total = rounded(1 / math.factorial(degree))
    for n in range(degree - 1, -1, -1):
        total = multiply_add(builder, total, r, rounded(1 / math.factorial(n)))
    k = builder.shl(builder.add(builder.fptosi(k, whole), every(bias, whole)), every(fraction, whole))
    return builder.fmul(total, builder.bitcast(k, x.type))


def _as_float(number: float) -> float:
    """The nearest number of single precision."""
    return ctypes.c_float(number).value


def _from(lanes: int):
    """A compiled function that replaces so many numbers of x from i on."""

    @intrinsic
    def powers(typing, x, i):
        def generated(context, builder, signature, arguments):
            kind, (x, i) = signature.args[0], arguments
            data = builder.gep(context.make_array(kind)(context, builder, x).data, [i])
            place = builder.bitcast(data, ir.VectorType(data.type.pointee, lanes).as_pointer())
            builder.store(_powers(builder, builder.load(place, align=1)), place, align=1)
            return context.get_dummy_value()

        return types.void(x, i), generated

    return powers


_many, _one = _from(WIDE), _from(1)


@compiled_once
def exponentiate(x):
    """x, contiguous, becomes eˣ; cut at ±80 in float32.

    Error: 1e-7 in float32, and that of the system's library in float64; if CONTRACTED, 2 ulp by the same series.
    """
    if x.itemsize == 8 and not CONTRACTED:
        for i in range(len(x)):
            x[i] = math.exp(x[i])
        return
    whole = len(x) - len(x) % WIDE
    for i in range(0, whole, WIDE):
        _many(x, i)
    for i in range(whole, len(x)):
        _one(x, i)
