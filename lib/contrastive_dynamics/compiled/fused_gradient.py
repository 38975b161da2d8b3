"""The gradient of one network over a stream of fresh data as one compiled function, whose numbers stay in the cache.

The formulas are those of `symmetrised_relu.contrastive_gradient`, block by block of ROWS positives. Axes along which
vectors run are padded with zeros to multiples of `register_tiles.LANES`: d1 to d1', m to m'. Sums run in
the order in which they are written; `multiply_add` says how products are added.
"""

from typing import NamedTuple

import numpy as np

from .exponentials import exponentiate
from .fused_draws import fill_data, fill_mask
from .kept_functions import compiled_once
from .register_tiles import LANES, add_product, dot

ROWS = 64  # positives at a time; what is drawn depends on it
MASKED, INDEPENDENT, PLAIN = 0, 1, 2
__all__ = ["INDEPENDENT", "LANES", "MASKED", "PLAIN", "ROWS", "Settings", "Tables", "gradient"]


class Settings(NamedTuple):
    """p, σ_ξ, views and their ρ, B, N and whether negatives are masked, 1/τ; p and ρ are float64."""

    active: float
    noise: float
    views: int
    rate: float
    batch: int
    negatives: int
    mask_negatives: bool
    inverse_tau: float


class Tables(NamedTuple):
    """What a gradient writes over."""

    wt: np.ndarray  # Wᵀ `[d1', m']`
    first: np.ndarray  # x⁺ `[ROWS, d1']`
    second: np.ndarray  # x⁺⁺, as first
    mask: np.ndarray  # as first
    words: np.ndarray  # uint32 `[ROWS·max(d1', d)]`
    u: np.ndarray  # ⟨w_i, x⁺⟩ `[ROWS, m']`
    f: np.ndarray  # f(x⁺), as u
    g: np.ndarray  # f(x⁺⁺)
    pull: np.ndarray
    ft: np.ndarray  # f(x⁺)ᵀ/τ `[m', ROWS]`
    others: np.ndarray  # f of the negatives `[N, m']`
    chances: np.ndarray  # of each negative and row, before they are divided by their sum `[N, ROWS]`
    top: np.ndarray  # [ROWS]
    total: np.ndarray  # [ROWS]
    on_w: np.ndarray  # ∂L/∂w `[m', d1']`
    on_b: np.ndarray  # ∂L/∂b `[m']`


@compiled_once
def fire(x, wt, b, u, f):
    """⟨w_i, x⟩ of rows into u and f(x) into f."""
    u[:], zero = 0, f.dtype.type(0)
    add_product(x, wt, u)
    for r in range(len(f)):
        y, z = u[r], f[r]
        for i in range(len(y)):
            above, below = y[i] - b[i], -y[i] - b[i]
            z[i] = (above if above > zero else zero) - (below if below > zero else zero)


@compiled_once
def draw_views(atoms, s, t, keys, begun):
    """x⁺ and x⁺⁺ of the rows from `begun` on into t.first and t.second; plain views are t.first alone."""
    fill_data(t.first, atoms, t.words, s.active, s.noise, keys, begun)
    if s.views == PLAIN:
        return
    number = t.first.dtype.type
    over, other = number(1 / s.rate), number(1 / (1 - s.rate))
    fill_mask(t.mask, t.words, s.rate, keys[2], begun)
    for r in range(len(t.first)):
        x, y, d = t.first[r], t.second[r], t.mask[r]
        for k in range(len(x)):
            kept, whole = d[k] * x[k], x[k]
            x[k], y[k] = over * kept, (whole if s.views == INDEPENDENT else other * (whole - kept))
    if s.views == INDEPENDENT:
        fill_mask(t.mask, t.words, s.rate, keys[3], begun)
        for r in range(len(t.first)):
            y, d = t.second[r], t.mask[r]
            for k in range(len(y)):
                y[k] = over * (d[k] * y[k])


@compiled_once
def weigh_negatives(rows, t):
    """Unnormalised softmax of the negatives for each row into t.chances, with the logarithm of its scale and its sum.

    The rows run along the vectors, so that every sum has one order and none waits for the other.
    """
    top, total = t.top, t.total
    for i in range(len(t.ft)):
        for r in range(rows):
            t.ft[i, r] = t.f[r, i]
    t.chances[:], top[:], total[:] = 0, -np.inf, 0
    add_product(t.others, t.ft, t.chances)
    for k in range(len(t.chances)):
        q = t.chances[k]
        for r in range(len(top)):
            top[r] = q[r] if q[r] > top[r] else top[r]
    for k in range(len(t.chances)):
        q = t.chances[k]
        for r in range(len(top)):
            q[r] -= top[r]
        exponentiate(q)
        for r in range(len(top)):
            total[r] += q[r]


@compiled_once
def pull_rows(rows, s, t):
    """(1 - ℓ_p)(f(x⁺⁺) - Σ_s q_s f(x_s)) of each row into t.pull; returns the sum of -log ℓ_p over the rows."""
    weigh_negatives(rows, t)
    loss, one, f, g = 0.0, t.f.dtype.type(1), t.f, t.g
    t.pull[:rows] = 0
    add_product(t.chances.T[:rows], t.others, t.pull[:rows])
    for r in range(rows):
        lead = np.log(t.total[r]) + t.top[r] - dot(f[r : r + 1], g[r : r + 1])
        loss += max(lead, one - one) + np.log1p(np.exp(-abs(lead)))
        share = one / (one + np.exp(-lead))
        spread, second, pull = share / t.total[r], g[r], t.pull[r]
        for i in range(len(pull)):
            pull[i] = share * second[i] - spread * pull[i]
    return loss


@compiled_once
def learn_from(rows, b, s, t):
    """Adds to t.on_w and t.on_b what the first `rows` rows of t.first and t.second give; returns their loss/τ."""
    first = t.first[:rows]
    if s.views != PLAIN:
        fire(t.second[:rows], t.wt, b, t.u[:rows], t.g[:rows])
    fire(first, t.wt, b, t.u[:rows], t.f[:rows])
    if s.views == PLAIN:
        t.g[:rows] = t.f[:rows]
    t.f[:rows] *= s.inverse_tau
    loss, zero, on_b = pull_rows(rows, s, t), t.f.dtype.type(0), t.on_b
    for r in range(rows):
        u, y = t.u[r], t.pull[r]
        for i in range(len(y)):
            value = y[i]
            above, below = value if u[i] >= b[i] else zero, value if -u[i] >= b[i] else zero
            on_b[i] += below - above
            y[i] = above + below
    add_product(t.pull[:rows].T, first, t.on_w)
    return loss


@compiled_once
def gradient(w, b, atoms, s, keys, t):
    """∂L/∂w and ∂L/∂b into t.on_w and t.on_b over a batch; returns the loss over τ.

    keys `[2, 4]`, of the negatives and of the positives: those of z, ξ, D and D'.
    """
    for i in range(len(w)):
        for k in range(w.shape[1]):
            t.wt[k, i] = w[i, k]
    t.on_w[:], t.on_b[:] = 0, 0
    for begun in range(0, s.negatives, ROWS):
        end = min(begun + ROWS, s.negatives)
        if s.mask_negatives:
            draw_views(atoms, s, t, keys[0], begun)
        else:
            fill_data(t.first, atoms, t.words, s.active, s.noise, keys[0], begun)
        fire(t.first[: end - begun], t.wt, b, t.u[: end - begun], t.others[begun:end])
    loss = 0.0
    for begun in range(0, s.batch, ROWS):
        draw_views(atoms, s, t, keys[1], begun)
        loss += learn_from(min(ROWS, s.batch - begun), b, s, t)
    scale = w.dtype.type(-1 / s.batch)
    t.on_w[:] *= scale
    t.on_b[:] *= scale
    return loss / s.batch
