"""BatchNorm between the two layers: the layer, with each statistic back-propagated or not, and the flow with it.

Shapes as in `two_layer_flow`. The statistics are those of all 2N views of the batch; there is no affine part.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ...losses.activations import Activation
from ...losses.contrastive_covariance import Importance, contrastive_covariance
from ...losses.gated_covariance import project_out
from .two_layer_flow import field_gram, hadamard_gradient, hidden_layer

BACKPROPAGATED = {"both": (True, True), "mean": (True, False), "variance": (False, True), "none": (False, False)}
BATCH_NORM = ("off", *BACKPROPAGATED)


class Statistics(NamedTuple):
    """What is normalised and back-propagated: one answer for an ensemble, or 0 and 1 per run, `[run, 1, 1, 1, 1]`.

    Args:
        on: whether there is BatchNorm.
        mean: whether it lets the gradient through μ.
        variance: whether it lets the gradient through σ².
    """

    on: bool | Tensor
    mean: bool | Tensor
    variance: bool | Tensor

    @classmethod
    def of(cls, names: Sequence[str], like: Tensor | None = None) -> "Statistics":
        """From "off" or the statistics that are back-propagated.

        Args:
            names: off, both, mean, variance or none, one name per run.
            like: gives dtype and device if the runs differ.
        Raises: ValueError for any other name.
        """
        unknown = [name for name in names if name not in BATCH_NORM]
        if unknown:
            raise ValueError(f"batch_norm must be one of {', '.join(BATCH_NORM)}, got {unknown[0]!r}")
        rows = [(name != "off", *BACKPROPAGATED.get(name, (False, False))) for name in names]
        if len(set(rows)) == 1:
            return cls(*rows[0])
        columns = torch.tensor(rows, device=like.device).to(like.dtype).mT
        return cls(*(column.view(-1, 1, 1, 1, 1) if column.any() else False for column in columns))


def _through(name: str) -> tuple[bool, bool]:
    if name not in BACKPROPAGATED:
        raise ValueError(f"backpropagated must be one of {', '.join(BACKPROPAGATED)}, got {name!r}")
    return BACKPROPAGATED[name]


def batch_statistics(f: Tensor, f_view: Tensor, eps: float = 0.0) -> tuple[Tensor, Tensor]:
    """μ and σ of every node over all 2N views, σ² = (1/2N) Σ (f − μ)² + ε.

    Source: tian-2023, eqs. (164), (165), where ε = 0.
    Args:
        f, f_view: first and second views, `[..., N, nodes]`.
        eps: ε ≥ 0.
    Returns: `[..., 1, nodes]` twice.
    Raises: ValueError for N < 2, eps < 0, shapes that differ and a node with σ = 0.
    Cost: 6·N·nodes flops.
    """
    if f.shape != f_view.shape or f.shape[-2] < 2:
        raise ValueError(f"f and f_view must have one shape with N ≥ 2, got {tuple(f.shape)} and {tuple(f_view.shape)}")
    if not eps >= 0:
        raise ValueError(f"eps must be ≥ 0, got {eps}")
    variance, mean = torch.var_mean(torch.cat([f, f_view], -2), -2, correction=0, keepdim=True)
    sigma = (variance + eps).sqrt()
    if not (sigma > 0).all():
        raise ValueError("σ must be > 0 at every node (or eps > 0), got σ = 0: a node that is constant over the batch")
    return mean, sigma


def batch_norm(f: Tensor, f_view: Tensor, backpropagated: str = "both", eps: float = 0.0) -> tuple[Tensor, Tensor]:
    """The layer f^bn = (f − μ)/σ; a statistic that is not back-propagated is a constant to automatic differentiation.

    The mean inside σ counts as the mean; it makes no difference there, since Σ (f − μ) = 0.

    Source: tian-2023, Definition 5 ("mean") and Table 1 (all four).
    Args:
        f, f_view: first and second views, `[..., N, nodes]`.
        backpropagated: both, mean, variance or none.
        eps: ε ≥ 0.
    Returns: f^bn and f_view^bn `[..., N, nodes]`.
    Raises: as `batch_statistics`, and ValueError for any other name.
    """
    mean_through, variance_through = _through(backpropagated)
    mean, sigma = batch_statistics(f, f_view, eps)
    if not mean_through:
        mean = mean.detach()
        spread = (torch.cat([f, f_view], -2) - mean).square().mean(-2, keepdim=True)
        sigma = (spread + eps).sqrt()
    sigma = sigma if variance_through else sigma.detach()
    return (f - mean) / sigma, (f_view - mean) / sigma


def scale_slopes(gated: Tensor, gated_view: Tensor, f: Tensor, f_view: Tensor, eps: float = 0.0) -> Tensor:
    """∂σ_km/∂w_km = Cov[f_km, x̃_km]/σ_km over all 2N views.

    Source: tian-2023, the last term of eq. (170).
    Args:
        gated, gated_view: x̃ of the first and second views, `[..., N, K, M, d]`.
        f, f_view: outputs of the first and second views, `[..., N, K·M]`.
        eps: ε ≥ 0.
    Returns: `[..., K, M, d]`.
    Cost: 4·N·K·M·d flops.
    """
    mean, sigma = batch_statistics(f, f_view, eps)
    shape = gated.shape[-3:-1]
    weight = ((torch.cat([f, f_view], -2) - mean) / sigma).unflatten(-1, shape)
    both = torch.cat([gated, gated_view], -4)
    return torch.einsum("...nkm,...nkmd->...kmd", weight, both) / both.shape[-4]


def batch_norm_velocity(
    x: Tensor,
    x_view: Tensor,
    w: Tensor,
    v: Tensor,
    act: Activation,
    alpha: Importance,
    backpropagated: str = "mean",
    *,
    eps: float = 0.0,
    projected: bool = False,
) -> tuple[Tensor, Tensor]:
    """Gradient flow up ½ tr C_α[V f^bn]:  V̇ = V C_α[f^bn],  ẇ = [(S ⊗ 11ᵀ) ∘ C_α[x̃^bn]] w / p − (e/σ) ∂σ/∂w.

    x̃^bn = x̃/σ, and e_km = Σ S_km,k'm' C_α[f^bn_km, f^bn_k'm']. The last term appears only if the variance is
    back-propagated ("both", "variance"); C_α ignores constants, so it makes no difference whether the mean is.

    Source: tian-2023, Lemma 6, eq. (166) ("mean", printed without P⊥), with the term of (170) for the variance.
    Args:
        x, x_view: first and second views, `[..., N, K, d]`.
        w: filters `[..., K, M, d]`.
        v: top layer `[..., outputs, K·M]`.
        act: the activation h, of degree p.
        alpha: importance, held constant; that of the outputs V f^bn if it depends on them.
        backpropagated: both, mean, variance or none.
        eps: ε ≥ 0, as in `batch_statistics`.
        projected: whether to apply P⊥ of unit filters.
    Returns: V̇ `[..., outputs, K·M]`, ẇ `[..., K, M, d]`.
    Raises: as `batch_norm`, and ValueError for shapes that do not fit.
    Cost: as `hadamard_gradient`.
    """
    _, variance_through = _through(backpropagated)
    (gated, f), (gated_view, f_view) = hidden_layer(x, w, act), hidden_layer(x_view, w, act)
    mean, sigma = batch_statistics(f, f_view, eps)
    scale = sigma.unflatten(-1, w.shape[-3:-1]).unsqueeze(-1)
    g = hadamard_gradient(gated / scale, gated_view / scale, w, field_gram(v, w), alpha, act.degree)
    covariance = contrastive_covariance((f - mean) / sigma, (f_view - mean) / sigma, alpha)
    if variance_through:
        energy = ((v.mT @ v) * covariance).sum(-1).unflatten(-1, w.shape[-3:-1]).unsqueeze(-1)
        g = g - energy / scale.squeeze(-4) * scale_slopes(gated, gated_view, f, f_view, eps)
    return v @ covariance, project_out(w, g) if projected else g
