"""How fast the outputs of a wide constrained network can grow: Grönwall's inequality behind Conjecture 1."""

from torch import Tensor

from .wide_training import Pairs

# sup |φ'| of the activations with φ(0) = 0, the slope ℓ
STEEPEST = {"linear": 1.0, "relu": 1.0, "tanh": 1.0, "soft": 2.0, "half": 0.5}


def growth_rate(pairs: Pairs, steepest: float) -> Tensor:
    """K = 4ℓ²‖X‖²_F‖S‖ of ‖U(t)‖ ≤ e^{Kt}‖U(0)‖, where ‖S‖ = ½√(p + q) times the factor on the loss.

    U = φ(XW1ᵀ)W2 on all points, with orthonormal layers. The gradients satisfy ‖G1‖, ‖G2‖ ≤ 2ℓ‖X‖_F‖S‖‖U‖, since
    φ(0) = 0 gives ‖φ(XW1ᵀ)‖ ≤ ℓ‖X‖_F. Projections do not lengthen them, and each layer changes U by at most ℓ‖X‖_F
    times its own change. A step of projected descent moves a layer by at most 2η‖G‖, because the polar factor is the
    nearest orthonormal matrix; so ‖U‖ grows at most by the factor 1 + 2ηK in a step. The rows of W1 are at most 1 long,
    so ℓ is needed on [−max‖x‖, max‖x‖] only, where every φ with a continuous slope has one.

    Source: derived, beyond the paper; esser-2023, Conjecture 1.
    Args:
        pairs: points of the runs.
        steepest: ℓ, see `STEEPEST`.
    Returns: K, `[run]`.
    Raises: ValueError for a slope that is not positive.
    """
    if not steepest > 0:
        raise ValueError(f"steepest must be > 0, got {steepest}")
    pairing_norm = pairs.scale * (pairs.p + pairs.q) ** 0.5 / 2
    return 4 * steepest**2 * pairs.points.square().sum((-2, -1)) * pairing_norm
