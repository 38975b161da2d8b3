"""The end of stage I for flat atoms by a root finder, beside the closed forms of `feature_decoupling.stage_one`."""

from math import exp, log

from scipy.optimize import brentq


def stage_one_end(atoms: int, dim: int, rates: tuple[float, float], factor: float) -> tuple[float, float]:
    """T1, when ‖w‖² has grown by W² in the mean over isotropic starts, and the share of span(M) in it then.

    T1 solves (d/d1) e^{2at} + (1 - d/d1) e^{2bt} = W², W > 1, a > 0 and a ≥ b. If b ≤ 0 the share is at least 1 - W⁻².
    Source: derived; wen-li-2021, Theorem C.1.
    """
    (a, b), part = rates, atoms / dim
    latest = (2 * log(factor) - log(part)) / (2 * a)  # there the part in span(M) alone has grown enough
    time = brentq(
        lambda t: part * exp(2 * a * t) + (1 - part) * exp(2 * b * t) - factor**2, 0, latest, xtol=1e-14, rtol=1e-14
    )
    return time, part * exp(2 * a * time) / factor**2
