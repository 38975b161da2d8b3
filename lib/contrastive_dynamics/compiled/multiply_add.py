"""The one place that says how compiled code multiplies and adds, in the language of LLVM: with one rounding or two.

Each is defined to the last bit, so that every processor makes the same of it.
"""

from llvmlite import ir

# Off, as it moves the last bits of every reading that trains token networks or sparse codes, for 6 % of one chapter's
# time. Tests run both settings. It is part of what names compiled code that is kept, and of digests.
CONTRACTED = False


def multiply_add(builder, a, b, c):
    """a·b + c of vectors: rounded once if CONTRACTED, and else after the product, too.

    Cost: one instruction or two; without fused multiply-adds in the processor, one call a number if CONTRACTED.
    """
    if not CONTRACTED:
        return builder.fadd(c, builder.fmul(a, b))
    return of_vectors(builder, "fma", a, b, c)


def of_vectors(builder, name: str, *vectors):
    """What LLVM's function of this name makes of vectors of one kind."""
    kind = vectors[0].type
    name = f"llvm.{name}.v{kind.count}{'f32' if isinstance(kind.element, ir.FloatType) else 'f64'}"
    known = builder.module.globals.get(name)
    function = known or ir.Function(builder.module, ir.FunctionType(kind, [kind] * len(vectors)), name)
    return builder.call(function, vectors)
