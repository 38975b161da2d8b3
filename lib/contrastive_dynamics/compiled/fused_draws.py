"""Sparse codes and masks drawn by compiled code: numbers of a counter, so that no draw waits for the one before.

Entry i of an array is a function of i and of 64 random bits, the array's key, by Philox2x32-10 (Salmon et al., Parallel
random numbers: as easy as 1, 2, 3, 2011). Computed in single precision whatever the dtype of the array: a training in
float64 sees the same numbers as one in float32.
"""

import numpy as np
from numba import njit

from .kept_functions import compiled_once

LN2_HIGH, LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_MULTIPLIER, _WEYL, _LOW = np.uint64(0xD256D193), np.uint64(0x9E3779B9), np.uint64(0xFFFFFFFF)
_ROUNDS, _HALF_WORD = 10, np.uint64(32)


@njit(inline="always")
def philox(counter, key):
    """Two words of 32 bits of a counter < 2³² and a key of 64 bits, half of which is the counter's upper word."""
    left, right, k = counter, key >> _HALF_WORD, key & _LOW
    for _ in range(_ROUNDS):
        product = left * _MULTIPLIER
        left, right = (product >> _HALF_WORD) ^ k ^ right, product & _LOW
        k = (k + _WEYL) & _LOW
    return left, right


@njit(inline="always")
def _logarithm(x):
    """log x of a positive float32, error 1e-7 (Cephes)."""
    c, bits = np.float32, np.float32(x).view(np.int32)
    power = (bits >> np.int32(23)) - np.int32(126)
    y = np.int32((bits & np.int32(0x7FFFFF)) | np.int32(0x3F000000)).view(np.float32)  # 1/2 to 1
    small = y < c(0.70710678)
    y, e = (y + y if small else y) - c(1), c(power) - (c(1) if small else c(0))
    s = (c(7.0376836292e-2) * y - c(1.1514610310e-1)) * y + c(1.1676998740e-1)
    s = ((s * y - c(1.2420140846e-1)) * y + c(1.4249322787e-1)) * y - c(1.6668057665e-1)
    s = ((s * y + c(2.0000714765e-1)) * y - c(2.4999993993e-1)) * y + c(3.3333331174e-1)
    z = y * y
    return y + (s * y * z + e * LN2_LOW - c(0.5) * z) + e * LN2_HIGH


@compiled_once
def fill_normal(flat, key, first, scale):
    """scale·N(0, 1) into an array of even length: pair i by Box and Muller from the words of counter first + i.

    The angle is uniform on half a circle, its sign one more bit, so the series of sine and cosine suffice: error 1e-7.
    """
    half, c = len(flat) // 2, np.float32
    for i in range(half):
        a, b = philox(np.uint64(first + i), key)
        radius = np.sqrt(c(-2) * _logarithm((c(np.int32(a >> np.uint64(1))) + c(0.5)) * c(2.0**-31)))
        radius = -radius if b & np.uint64(1) else radius
        t = c(np.int32(np.uint32(b))) * c(np.pi / 2 * 2.0**-31)
        q = t * t
        sine = ((c(-1 / 39916800) * q + c(1 / 362880)) * q - c(1 / 5040)) * q + c(1 / 120)
        sine = t * ((sine * q - c(1 / 6)) * q + c(1))
        cosine = ((c(1 / 479001600) * q - c(1 / 3628800)) * q + c(1 / 40320)) * q - c(1 / 720)
        cosine = ((cosine * q + c(1 / 24)) * q - c(0.5)) * q + c(1)
        flat[i] = scale * (radius * cosine)
        flat[half + i] = scale * (radius * sine)


@compiled_once
def fill_words(words, key, first):
    """Uniform words of 32 bits into an array of even length: pair i are those of counter first + i."""
    half = len(words) // 2
    for i in range(half):
        a, b = philox(np.uint64(first + i), key)
        words[i], words[half + i] = np.uint32(a), np.uint32(b)


@compiled_once
def fill_data(x, atoms, words, active, noise, keys, begun):
    """x = Mz + ξ of the rows from `begun` on into x `[rows, width]`; atoms Mᵀ `[d, width]`; keys of z and of ξ.

    active is p. The columns beyond d1 are 0 in M and get noise; so the weights must be 0 there.
    """
    rows, width = x.shape
    d, low, high = len(atoms), np.uint32(active * 2.0**31), np.uint32((2 - active) * 2.0**31)
    fill_normal(x.reshape(rows * width), keys[1], begun * width // 2, noise)
    fill_words(words[: rows * d], keys[0], begun * d // 2)
    for r in range(rows):
        y = x[r]
        for j in range(d):
            word = words[r * d + j]
            if word < low:
                for k in range(width):
                    y[k] += atoms[j, k]
            elif word >= high:
                for k in range(width):
                    y[k] -= atoms[j, k]


@compiled_once
def fill_mask(mask, words, rate, key, begun):
    """D, 0 or 1, of the rows from `begun` on into mask `[rows, width]`; at rate 1/2 a word serves 32 entries."""
    rows, width = mask.shape
    flat, entries, number = mask.reshape(rows * width), rows * width, mask.dtype.type
    if rate == 0.5:
        count = entries // 32
        fill_words(words[:count], key, begun * width // 64)
        for k in range(32):
            part, shift = flat[k * count : (k + 1) * count], np.uint32(k)
            for i in range(count):
                part[i] = number(np.int32((words[i] >> shift) & np.uint32(1)))
        return
    level = np.uint32(min(rate * 2.0**32, 2.0**32 - 1))
    fill_words(words[:entries], key, begun * width // 2)
    for i in range(entries):
        flat[i] = number(words[i] < level)
