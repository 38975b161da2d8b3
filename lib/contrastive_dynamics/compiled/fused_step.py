"""The training step of one token network as one compiled function: all its numbers stay in the cache of one core.

The formulas are those of `field_network` and `named_losses`. Sums run in the order in which they are written, and
`multiply_add` says how products are added, so every processor gets the same bits. Axes along which vectors run are
padded with zeros to multiples of `register_tiles.LANES`: filters M to M', outputs j to j', samples N to N'.
Shapes: K places, d tokens, G groups of views with statistics of their own, G·d rows of a place's table; filters w
`[K, d, M']`, top layer v `[K, M', j']`; outputs f `[2N, j']`.
"""

from typing import NamedTuple

import numpy as np

from .exponentials import exponentiate
from .fused_loss import on_outputs
from .kept_functions import compiled_once
from .register_tiles import add_product, add_rows, add_to_rows, transpose

KINDS = ("linear", "relu", "leaky_relu", "quadratic", "sigmoid")


class Settings(NamedTuple):
    """What a step does; its numbers have the dtype of the weights.

    Args:
        kind: place of the activation in KINDS.
        filters, outputs: M and j without padding.
        normalised, through_mean, through_variance: whether there is BatchNorm, and what it back-propagates.
        uniform: share s of the uniform importance, α = (1 − s)·α_InfoNCE + s/N.
        positive: ε, the weight of the positive pair in the denominator of InfoNCE.
        inverse_tau: 1/τ.
        samples: N.
        rate, momentum, decay: of SGD.
        pace: what the top layer's rate is multiplied by.
        leak: slope of LeakyReLU below zero.
        eps: what BatchNorm adds to σ².
    """

    kind: int
    filters: int
    outputs: int
    normalised: bool
    through_mean: bool
    through_variance: bool
    uniform: float
    positive: float
    inverse_tau: float
    samples: float
    rate: float
    momentum: float
    decay: float
    pace: float
    leak: float
    eps: float


class Tables(NamedTuple):
    """What a step writes over; shares `[K, G·d]` are those of a group's views that read a row."""

    shares: np.ndarray
    h: np.ndarray  # [d, M']
    slope: np.ndarray  # [K, d, M']
    c: np.ndarray  # (h − μ)/σ `[K, G·d, M']`
    inverse: np.ndarray  # 1/σ `[K, G, M']`
    table: np.ndarray  # cᵀV, then the gradient with respect to it `[K, G·d, j']`
    f: np.ndarray
    g: np.ndarray  # as f
    zt: np.ndarray  # zᵀ of the first views `[j', ≥ N']`
    alpha: np.ndarray  # [N, N']
    vt: np.ndarray  # Vᵀ of a place `[j', M']`
    pull: np.ndarray  # ∂L/∂c `[G·d, M']`
    on_w: np.ndarray
    on_v: np.ndarray


# Each kind has a function of its own, since the compiler finds vectors in short ones alone.
@compiled_once
def _linear(w, norms, h, slope):
    one = w.dtype.type(1)
    for a in range(len(w)):
        x, y, z, norm = w[a], h[a], slope[a], norms[a]
        for m in range(len(x)):
            y[m], z[m] = norm * x[m], one


@compiled_once
def _relu(w, norms, h, slope):
    one, zero = w.dtype.type(1), w.dtype.type(0)
    for a in range(len(w)):
        x, y, z, norm = w[a], h[a], slope[a], norms[a]
        for m in range(len(x)):
            z[m] = one if x[m] > 0 else zero
            y[m] = norm * x[m] if x[m] > 0 else zero


@compiled_once
def _leaky_relu(w, norms, leak, h, slope):
    one, zero = w.dtype.type(1), w.dtype.type(0)
    for a in range(len(w)):
        x, y, z, norm = w[a], h[a], slope[a], norms[a]
        for m in range(len(x)):
            z[m] = one if x[m] > 0 else (leak if x[m] < 0 else zero)
            y[m] = z[m] * (norm * x[m])


@compiled_once
def _quadratic(w, norms, h, slope):
    for a in range(len(w)):
        x, y, z, norm = w[a], h[a], slope[a], norms[a]
        for m in range(len(x)):
            y[m], z[m] = (norm * x[m]) ** 2, (norm + norm) * x[m]


@compiled_once
def _sigmoid(w, norms, h, slope):
    one = w.dtype.type(1)
    for a in range(len(w)):
        x, y, z, norm = w[a], h[a], slope[a], norms[a]
        for m in range(len(x)):
            y[m] = -norm * x[m]
        exponentiate(y)
        for m in range(len(x)):
            y[m] = one / (one + y[m])
            z[m] = y[m] * (one - y[m])


@compiled_once
def activate(w, norms, s, h, slope):
    """h(x) and h'(x) of x = ‖u_a‖·w_a, what the filters w `[d, M']` of one place make of each token."""
    if s.kind == 0:
        _linear(w, norms, h, slope)
    elif s.kind == 1:
        _relu(w, norms, h, slope)
    elif s.kind == 2:
        _leaky_relu(w, norms, s.leak, h, slope)
    elif s.kind == 3:
        _quadratic(w, norms, h, slope)
    else:
        _sigmoid(w, norms, h, slope)


@compiled_once
def normalise(h, shares, s, c, inverse):
    """c = (h − μ)/σ and 1/σ of one group of views at one place, or h and 1 without BatchNorm."""
    if not s.normalised:
        c[:], inverse[:] = h, 1
        return
    mean, one = np.zeros_like(inverse), h.dtype.type(1)
    inverse[:] = s.eps
    for a in range(len(h)):
        for m in range(len(mean)):
            mean[m] += shares[a] * h[a, m]
    for a in range(len(h)):
        for m in range(len(mean)):
            c[a, m] = h[a, m] - mean[m]
            inverse[m] += shares[a] * (c[a, m] * c[a, m])
    for m in range(len(mean)):
        inverse[m] = one / np.sqrt(inverse[m])
    for a in range(len(h)):
        for m in range(len(mean)):
            c[a, m] *= inverse[m]


@compiled_once
def through_statistics(pull, shares, s, c, inverse, slope, norms, on_w):
    """Adds to ∂L/∂w `[d, M']` what one group of views gives, from its pull `[d, M']`, which is written over.

    ∂L/∂h = (pull − [mean] p Σ pull − [variance] p c Σ c pull)/σ, with the shares p and sums over the rows of the group.
    """
    if s.through_mean or s.through_variance:
        total, along = np.zeros_like(inverse), np.zeros_like(inverse)
        if s.through_mean:
            for a in range(len(pull)):
                for m in range(len(inverse)):
                    total[m] += pull[a, m]
        if s.through_variance:
            for a in range(len(pull)):
                for m in range(len(inverse)):
                    along[m] += c[a, m] * pull[a, m]
        for a in range(len(pull)):
            for m in range(len(inverse)):
                pull[a, m] -= shares[a] * (total[m] + c[a, m] * along[m])
    for a in range(len(pull)):
        for m in range(len(inverse)):
            on_w[a, m] += norms[a] * (pull[a, m] * inverse[m] * slope[a, m])


@compiled_once
def descend(x, speed, gradient, s, pace):
    """SGD on a matrix: speed becomes momentum·speed + pace·(gradient + decay·x), and x loses rate·speed."""
    for r in range(len(x)):
        a, b, c = x[r], speed[r], gradient[r]
        for q in range(len(a)):
            b[q] = s.momentum * b[q] + pace * (c[q] + s.decay * a[q])
            a[q] -= s.rate * b[q]


@compiled_once
def forward(w, v, rows, norms, s, t):
    """Outputs f = Σ_k V_kᵀ c_k of every view into t.f; rows `[2N, K]`, where a view stands in all tables."""
    places, groups, d = len(w), t.inverse.shape[1], w.shape[1]
    t.shares[:], t.f[:] = 0, 0
    shares = t.shares.reshape(-1)
    for i in range(len(rows)):
        for k in range(places):
            shares[rows[i, k]] += 1
    t.shares[:] /= len(rows) // groups
    for k in range(places):
        activate(w[k], norms, s, t.h, t.slope[k])
        for g in range(groups):
            of = slice(g * d, g * d + d)
            normalise(t.h, t.shares[k, of], s, t.c[k, of], t.inverse[k, g])
        add_product(t.c[k, :, : s.filters], v[k], t.table[k], True)
    add_rows(t.table.reshape(-1, t.table.shape[2]), rows, t.f)


@compiled_once
def backward(v, rows, norms, s, t):
    """∂L/∂w and ∂L/∂v into t.on_w and t.on_v, from ∂L/∂f in t.g."""
    places, groups, d = len(v), t.inverse.shape[1], t.h.shape[0]
    t.table[:], t.on_w[:] = 0, 0
    add_to_rows(t.g, rows, t.table.reshape(-1, t.table.shape[2]))
    for k in range(places):
        transpose(v[k], t.vt)
        add_product(t.table[k, :, : s.outputs], t.vt[: s.outputs], t.pull, True)
        add_product(t.c[k, :, : s.filters].T, t.table[k], t.on_v[k, : s.filters], True)
        for g in range(groups):
            of = slice(g * d, g * d + d)
            through_statistics(
                t.pull[of], t.shares[k, of], s, t.c[k, of], t.inverse[k, g], t.slope[k], norms, t.on_w[k]
            )


@compiled_once
def steps(w, v, speed_w, speed_v, patterns, pick, fill, norms, s, t):
    """A step for every minibatch; weights and momenta are changed in place.

    Sample i is made by the generator pick `[step, N]`, which fixes patterns `[·, K]`; fill `[step, 2, N, K]` are the
    tokens of its wildcards −1, in both views. norms `[d]` are those of the tokens.
    """
    minibatches, _, n, places = fill.shape
    rows, one = np.empty((2 * n, places), np.int64), w.dtype.type(1)
    d, table, views = w.shape[1], t.table.shape[1], 2 * n // t.inverse.shape[1]
    for b in range(minibatches):
        for i in range(2 * n):
            view, sample, group = i // n, i % n, i // views * d
            pattern, filled = patterns[pick[b, sample]], fill[b, view, sample]
            for k in range(places):
                rows[i, k] = k * table + group + (filled[k] if pattern[k] < 0 else pattern[k])
        forward(w, v, rows, norms, s, t)
        on_outputs(t.f, s, t.zt, t.alpha, t.g)
        backward(v, rows, norms, s, t)
        for k in range(places):
            descend(w[k], speed_w[k], t.on_w[k], s, one)
            descend(v[k], speed_v[k], t.on_v[k], s, s.pace)
