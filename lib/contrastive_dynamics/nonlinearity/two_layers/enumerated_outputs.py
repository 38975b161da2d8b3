"""One filter per field, every input enumerated: outputs, their variance, the gradient of its top eigenvalue.

Nothing here knows L_k, Δ_k or the modulation: it is the independent side of Theorem 5 and Corollary 3.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import normalize

from ...losses.activations import Activation
from .conditional_independence import ConditionalFields, enumerate_inputs, random_fields


def random_fields_and_filters(generators: list[torch.Generator], k: int = 4) -> tuple[ConditionalFields, Tensor]:
    """Random fields of 5 points in four dimensions with a binary z, and unit filters that their first point opens.

    Args:
        generators: random streams, one per run, at least one.
        k: number of fields, ≥ 1.
    Returns: the fields, and filters `[run, k, 4]`.
    Raises: ValueError without a generator or for k < 1.
    """
    model = random_fields(generators, 2, k, 5, 4)
    drawn = torch.stack([torch.randn(k, 4, generator=g, dtype=torch.float64, device=g.device) for g in generators])
    first = normalize(model.points[:, :, 0], dim=-1)  # so that no filter is closed
    return model, normalize(first + 0.9 * normalize(drawn, dim=-1), dim=-1)


def centred_outputs(model: ConditionalFields, w: Tensor, act: Activation) -> tuple[Tensor, Tensor]:
    """f_1 − E[f_1] for every input, and the probabilities of the inputs.

    Args:
        model: the fields, with at most 2^20 inputs.
        w: filters `[run, K, d]`.
        act: the activation h.
    Returns: `[run, A^K, K]` and `[run, A^K]`.
    Raises: as `enumerate_inputs`.
    """
    x, p = enumerate_inputs(model)
    f = act.h(torch.einsum("rnkd,rkd->rnk", x, w))
    return f - torch.einsum("rn,rnk->rk", p, f)[:, None], p


def output_variance(model: ConditionalFields, w: Tensor, act: Activation) -> Tensor:
    """V[f_1] `[run, K, K]`. Arguments and errors: as `centred_outputs`. Cost: A^K·K² flops per run."""
    f, p = centred_outputs(model, w, act)
    return torch.einsum("rn,rni,rnj->rij", p, f, f)


def normalised_variance(model: ConditionalFields, w: Tensor, act: Activation, through: bool = True) -> Tensor:
    """V[f_1^bn] `[run, K, K]` with f^bn = (f − μ)/σ.

    Args:
        model, w, act: as in `centred_outputs`.
        through: whether gradients pass through σ; otherwise it is a constant to them.
    """
    variance = output_variance(model, w, act)
    of_fields = variance.diagonal(dim1=-2, dim2=-1)
    scale = (of_fields if through else of_fields.detach()).rsqrt()
    return scale[:, :, None] * variance * scale[:, None]


def top_eigenvalue_gradient(variance: Callable[[Tensor], Tensor], w: Tensor) -> Tensor:
    """∇_w ½ λ_max(V(w)) by automatic differentiation, the flow of the filters under a fast top layer.

    Source: tian-2023, Assumption 2: the energy ½ tr C[f_2] of a top layer that has converged is half of λ_max.
    Args:
        variance: filters `[run, K, d]` → symmetric `[run, K, K]` with a simple top eigenvalue.
        w: filters `[run, K, d]`.
    Returns: `[run, K, d]`.
    """
    w = w.detach().clone().requires_grad_()
    energy = torch.linalg.eigvalsh(variance(w))[..., -1].sum() / 2
    return torch.autograd.grad(energy, w)[0]
