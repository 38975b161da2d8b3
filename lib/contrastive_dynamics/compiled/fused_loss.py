"""What a contrastive loss makes of the outputs of one network, as compiled functions for `fused_step`.

Shapes as there: outputs `[2N, j']`, first and second views; s are the `fused_step.Settings`.
"""

import math

import numpy as np

from .kept_functions import compiled_once
from .register_tiles import LANES, add_product, row_dots, transpose


@compiled_once
def exponentiate(x):
    """x becomes eˣ; in float32, cut at ±80, as 2ᵏ·eʳ with |r| ≤ ½ log 2 and the Taylor series of eʳ: error 1e-7."""
    if x.itemsize == 8:
        for i in range(len(x)):
            x[i] = math.exp(x[i])
        return
    c, half = np.float32, np.float32(0.5)
    for i in range(len(x)):
        y = min(max(x[i], c(-80)), c(80))
        k = np.floor(y * c(1 / math.log(2)) + half)
        r = (y - k * c(0.693359375)) - k * c(math.log(2) - 0.693359375)  # log 2 in two parts, the first exact
        s = (((((c(1 / 5040) * r + c(1 / 720)) * r + c(1 / 120)) * r + c(1 / 24)) * r + c(1 / 6)) * r + half) * r
        two_to_k = np.int32((np.int32(k) + np.int32(127)) << np.int32(23)).view(np.float32)
        x[i] = ((s + c(1)) * r + c(1)) * two_to_k


@compiled_once
def infonce_pull(z, s, zt, alpha, row_sum, g):
    """Σ_j (α_ij + α_ji) z_j of InfoNCE's importance into g `[N, j']`, and Σ_j α_ij into row_sum `[N]`."""
    n, one = len(g), z.dtype.type(1)
    whole = n - n % LANES
    transpose(z[:whole], zt)
    for j in range(s.outputs):
        for i in range(whole, n):
            zt[j, i] = z[i, j]
        for i in range(n):
            zt[j, i] *= s.inverse_tau
    add_product(z[:n, : s.outputs], zt[: s.outputs], alpha, True)
    total, inverse, paired = np.zeros(n, z.dtype), np.empty(n, z.dtype), np.empty(n, z.dtype)
    row_dots(z[:n], z[n:], paired)
    for i in range(n):
        alpha[i, i] = s.inverse_tau * paired[i]
        exponentiate(alpha[i, :n])
        inverse[i], alpha[i, i] = s.positive * alpha[i, i], 0
        for j in range(n):  # the sum of column j is that of row j, since similarities are symmetric
            total[j] += alpha[i, j]
    for i in range(n):
        inverse[i] = one / (total[i] + inverse[i])
        row_sum[i] = total[i] * inverse[i]
    for i in range(n):
        for j in range(n):
            alpha[i, j] *= inverse[i] + inverse[j]
    add_product(alpha[:, :n], z[:n], g)


@compiled_once
def on_outputs(f, s, zt, alpha, g):
    """∂L/∂f into g; f becomes z = f/‖f‖, and 0 where it is 0.

    With α = (1 − s)·α_InfoNCE + s/N and r_i = Σ_j α_ij: ∂L/∂z_i = (Σ_j (α_ij + α_ji) z_j − r_i z_i')/τN and
    ∂L/∂z_i' = −r_i z_i/τN up to multiples of z, which ∂L/∂f = (I − zzᵀ)(∂L/∂z)/‖f‖ removes.
    """
    n, width, one = len(f) // 2, f.shape[1], f.dtype.type(1)
    length, along = np.empty(2 * n, f.dtype), np.empty(2 * n, f.dtype)
    row_sum, mean = np.zeros(n, f.dtype), np.zeros(width, f.dtype)
    row_dots(f, f, length)
    for i in range(2 * n):
        length[i] = np.sqrt(length[i]) if length[i] != 0 else np.inf
        for j in range(width):
            f[i, j] /= length[i]
    g[:] = 0
    if s.uniform < 1:
        infonce_pull(f, s, zt, alpha, row_sum, g[:n])
    for i in range(n):
        for j in range(width):
            mean[j] += f[i, j] / s.samples
    scale = s.inverse_tau / s.samples
    for i in range(n):
        r = (one - s.uniform) * row_sum[i] + s.uniform
        for j in range(width):
            both = (one - s.uniform) * g[i, j] + s.uniform * (mean[j] + mean[j])
            g[i, j] = scale * (both - r * f[n + i, j])
            g[n + i, j] = -scale * r * f[i, j]
    row_dots(f, g, along)
    for i in range(2 * n):
        for j in range(width):
            g[i, j] = (g[i, j] - along[i] * f[i, j]) / length[i]
