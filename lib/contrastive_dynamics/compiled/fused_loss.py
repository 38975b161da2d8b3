"""What a contrastive loss makes of the outputs of one network, as compiled functions for `fused_step`.

Shapes as there: outputs `[2N, j']`, first and second views; s are the `fused_step.Settings`.
"""

import numpy as np

from .exponentials import exponentiate
from .kept_functions import compiled_once
from .register_tiles import LANES, add_product, row_dots, transpose


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
        of_row = inverse[i]
        for j in range(n):
            alpha[i, j] *= of_row + inverse[j]
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
        size = np.sqrt(length[i]) if length[i] != 0 else f.dtype.type(np.inf)
        length[i] = size
        for j in range(width):
            f[i, j] /= size
    g[:] = 0
    if s.uniform < 1:
        infonce_pull(f, s, zt, alpha, row_sum, g[:n])
    if s.uniform > 0:
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
        share, size = along[i], length[i]
        for j in range(width):
            g[i, j] = (g[i, j] - share * f[i, j]) / size
