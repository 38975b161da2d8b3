"""The matrix field of a population on a disc while the importance stays that of one filter."""

from torch import Tensor

from ...losses.activations import Activation
from ...losses.gated_covariance import gate
from ...losses.pairwise_importance import gaussian_features
from .planar_density import DiscPopulation
from .sphere_flow import MatrixField


def frozen_gaussian_field(
    population: DiscPopulation, w: Tensor, act: Activation, tau: float, order: int = 30
) -> MatrixField:
    """v ↦ C_α[x̃^v] = Σ_l z_l² V_{p̃_l}[x̃^v] for the Gaussian α of h(wᵀx), which does not move with v.

    A difference of two of its values is that of the definition of roughness, where α is an independent variable. The
    kernel expansion makes the cost linear in the nodes, so that the quadrature can be fine enough for differences.

    Source: tian-2023, Corollaries 1 and 2; eqs. (20)-(22).
    Args:
        population: densities on a disc, split at both wᵀx = 0 and vᵀx = 0.
        w: the filter of the importance, `[run, 2]`, unit.
        act: the activation h.
        tau: temperature, > 0.
        order: of the kernel expansion; the error is at most P[Poisson(max h²/τ) > order].
    Returns: the function `[run, 2] -> [run, 2, 2]`.
    Raises: as `gaussian_features`, once it is called.
    Cost: order numbers per node and filter.
    """

    def field(v: Tensor) -> Tensor:
        x, p = population.nodes(w, v)
        phi = gaussian_features(act.h(x @ w.unsqueeze(-1)), order, tau, 0.0)
        g, weight = gate(x, v, act), p.unsqueeze(-1) * phi
        first = weight.mT @ g  # z_l E_{p̃_l}[x̃]
        outer = weight @ weight.sum(-2).unsqueeze(-1)  # Σ_l z_l² p̃_l
        return (g * outer).mT @ g - first.mT @ first

    return field
