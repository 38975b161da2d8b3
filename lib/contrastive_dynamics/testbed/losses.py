"""Losses with one signature: outputs of both views `[run, n, z]` twice, to one number per run.

Where a run draws separate negatives, their outputs come as `strangers=(first, second)`, `[run, l, z]` each; else the
other pairs of the batch serve. A loss with parameters of its own has `start(runs)`, and gets them as `params`.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..losses.named_losses import unit_outputs
from ..losses.pairwise_importance import LEAST
from .infonce_of_batch import infonce_of_batch

Strangers = tuple[Tensor, Tensor] | None
NORMS = ("mean", "unit", "none")


def normalised(first: Tensor, second: Tensor, strangers: Strangers, norm: str) -> tuple[Tensor, Tensor, Strangers]:
    """Outputs with E‖f‖² = 1 over the positives of each view (mean), of length 1 (unit), or as they are (none).

    Where all outputs are 0, as those of a dead network, they stay 0, and no gradient flows back; `unit_outputs` says
    which are too short or too long to be told from 0. Half precision becomes single: a small loss is the difference of
    large numbers. Raises ValueError for shapes that differ, or another norm.
    """
    if norm not in NORMS:
        raise ValueError(f"norm must be one of {', '.join(NORMS)}, got {norm!r}")
    _require_shapes(first, second, strangers)
    first, second, strangers = _wide(first), _wide(second), strangers and tuple(map(_wide, strangers))
    if norm == "unit":
        strangers = strangers and tuple(unit_outputs(y)[0] for y in strangers)
        return unit_outputs(first)[0], unit_outputs(second)[0], strangers
    if norm == "none":
        return first, second, strangers
    if strangers is not None:
        strangers = tuple(y * _scale(of) for y, of in zip(strangers, (first, second), strict=True))
    return _MeanNorm.apply(first), _MeanNorm.apply(second), strangers


class _MeanNorm(torch.autograd.Function):
    """f√n/‖f‖ over the n outputs of a run; its gradient leaves out what is parallel to f."""

    @staticmethod
    def forward(ctx, y: Tensor) -> Tensor:
        ctx.save_for_backward(y, unit := y * _scale(y))
        return unit

    @staticmethod
    def backward(ctx, slope: Tensor) -> Tensor:
        y, unit = ctx.saved_tensors
        along = (slope * unit).sum((-2, -1), keepdim=True) / unit.shape[-2]
        return torch.addcmul(slope, along, unit, value=-1) * _scale(y)


def _scale(y: Tensor) -> Tensor:
    length = torch.linalg.vector_norm(y, dim=(-2, -1), keepdim=True)
    return y.shape[-2] ** 0.5 / torch.where(length > 0, length, torch.inf)


def _wide(y: Tensor) -> Tensor:
    return y.to(torch.promote_types(y.dtype, torch.float32))


def _require_shapes(first: Tensor, second: Tensor, strangers: Strangers) -> None:
    """Raise ValueError unless the views have one shape, and strangers theirs but for their number."""
    shapes = [tuple(y.shape) for y in (first, second, *(strangers or ()))]
    if shapes[0] != shapes[1] or len({(shape[:-2], shape[-1]) for shape in shapes}) > 1:
        raise ValueError(f"outputs must be [run, n, z] in both views, strangers [run, l, z], got {shapes}")


def _require_others(loss: str, pairs: int, strangers: Strangers) -> None:
    """Raise ValueError unless an anchor has a negative."""
    if strangers is None and pairs < 2:
        raise ValueError(f"{loss}: must have two pairs or more, whose others are negatives, or strangers, got {pairs}")
    if strangers is not None and not strangers[0].shape[-2]:
        raise ValueError(f"{loss}: must have a stranger or more, got none")


@dataclass(frozen=True)
class InfoNCE:
    """L = −mean_i(log S_A,i + log S_B,i), S_A,i = e^{τ²s_ii}/(e^{τ²s_ii} + K mean_j e^{τ²s_ij}), S_B mirrored.

    Source: ren-li-2023, eq. (3); with K = n − 1 and unit outputs it is CLIP's; sides=1 is van den Oord, Li and
    Vinyals (2018).
    Args:
        tau_squared: the inverse temperature τ² > 0, a number or one per run; where it starts, if learned.
        learned: whether log τ² is a parameter, as in CLIP but without its clip: of views whose positives are all alike
            τ² grows without end. Then the loss may not be divided.
        norm: one of NORMS.
        negatives: K > 0; by default the number of negatives, so that they are summed.
        sides: 1 for S_A alone, or 2.
        divided: whether the loss is divided by τ², as in the paper.
    Raises: ValueError for another value.
    Cost: 6·n²·z flops with the gradient, and n² exponentials per run; see `infonce_of_batch`.
    """

    tau_squared: float | tuple[float, ...] = 1.0
    learned: bool = False
    norm: str = "mean"
    negatives: float | None = None
    sides: int = 2
    divided: bool = False

    def __post_init__(self):
        tau = torch.as_tensor(self.tau_squared, dtype=torch.float64)
        if not bool(((tau >= LEAST) & (tau <= 1 / LEAST)).all()) or self.sides not in (1, 2):
            got = f"{self.tau_squared} and {self.sides}"
            allowed = f"> 0 ({LEAST} to {1 / LEAST:g}) and 1 or 2"
            raise ValueError(f"InfoNCE: tau_squared and sides must be {allowed}, got {got}")
        if self.norm not in NORMS or (self.learned and self.divided):
            got = f"{self.norm!r}, learned={self.learned} and divided={self.divided}"
            raise ValueError(
                f"InfoNCE: norm must be one of {', '.join(NORMS)}, learned or divided, not both, got {got}"
            )
        if self.negatives is not None and not self.negatives > 0:
            raise ValueError(f"InfoNCE: negatives must be > 0 or None, got {self.negatives}")

    def start(self, runs: int) -> dict[str, Tensor]:
        """log τ² `[run]`, if it is learned."""
        tau = torch.as_tensor(self.tau_squared, dtype=torch.float64).log()
        return {"log_tau_squared": tau.expand(runs).clone()} if self.learned else {}

    def inverse_temperature(self, params: dict[str, Tensor], like: Tensor) -> Tensor:
        """τ² `[run or 1]`."""
        if self.learned:
            return params["log_tau_squared"].exp().to(like)
        return torch.as_tensor(self.tau_squared, dtype=like.dtype, device=like.device).view(-1)

    def __call__(
        self, first: Tensor, second: Tensor, strangers: Strangers = None, params: dict | None = None
    ) -> Tensor:
        _require_others("InfoNCE", first.shape[-2], strangers)
        first, second, strangers = normalised(first, second, strangers, self.norm)
        tau = self.inverse_temperature(params or {}, first).view(-1, 1, 1)
        if strangers is None:  # negatives are the other pairs of the batch
            n = first.shape[-2]
            shift = math.log((self.negatives or n - 1) / (n - 1))
            loss = infonce_of_batch(tau * first, second, shift, self.sides)
        else:
            sums, own = self._among(first, second, strangers, tau)
            loss = (sum(sums) - self.sides * own).mean(-1)
        return loss / tau.view(-1) if self.divided else loss

    def _among(self, first: Tensor, second: Tensor, strangers: Strangers, tau: Tensor) -> tuple[list[Tensor], Tensor]:
        """log denominators of each side and τ²s_ii, `[run, n]`, with separate negatives."""
        own, count = (tau * first * second).sum(-1), strangers[0].shape[-2]
        weight = math.log((self.negatives or count) / count)
        sides = list(zip((first, second), strangers[::-1], strict=True))[: self.sides]
        others = [(tau * f @ g.mT).logsumexp(-1) for f, g in sides]
        return [torch.logaddexp(own, other + weight) for other in others], own


@dataclass(frozen=True)
class Tempered:
    """What other losses share with `InfoNCE`: an inverse temperature, fixed or learned, and a norm of the outputs."""

    tau_squared: float | tuple[float, ...] = 1.0
    learned: bool = False
    norm: str = "mean"

    def __post_init__(self):
        self._infonce()

    def _infonce(self) -> InfoNCE:
        """The loss with the same inverse temperature, which it keeps."""
        return InfoNCE(self.tau_squared, learned=self.learned, norm=self.norm)

    def start(self, runs: int) -> dict[str, Tensor]:
        """log τ² `[run]`, if it is learned."""
        return self._infonce().start(runs)

    def prepared(
        self, first: Tensor, second: Tensor, strangers: Strangers, params: dict | None
    ) -> tuple[Tensor, Tensor, Strangers, Tensor]:
        """Outputs as `norm` says, and τ² `[run or 1]`; ValueError unless an anchor has a negative."""
        _require_others(type(self).__name__, first.shape[-2], strangers)
        first, second, strangers = normalised(first, second, strangers, self.norm)
        return first, second, strangers, self._infonce().inverse_temperature(params or {}, first)


@dataclass(frozen=True)
class Spectral(Tempered):
    """−2τ² mean s_ii + τ⁴ mean_{i≠j} s_ij²: its mean is the law's quadratic form for views of any law and any n.

    Only the norms over the batch add a term of order 1/n.
    Source: HaoChen et al., Provable guarantees for self-supervised deep learning with spectral contrastive loss (2021).
    Args:
        tau_squared, learned, norm: as in `InfoNCE`.
    """

    def __call__(
        self, first: Tensor, second: Tensor, strangers: Strangers = None, params: dict | None = None
    ) -> Tensor:
        first, second, strangers, tau = self.prepared(first, second, strangers, params)
        own, n = (first * second).sum(-1), first.shape[-2]
        if strangers is None:  # Σ_ij s_ij² = ⟨FᵀF, GᵀG⟩: no n×n matrix
            total = ((first.mT @ first) * (second.mT @ second)).sum((-2, -1)) - own.square().sum(-1)
            squares = total / (n * (n - 1))
        else:
            squares = (first @ strangers[1].mT).square().mean((-2, -1))
        return tau.square() * squares - 2 * tau * own.mean(-1)


@dataclass(frozen=True)
class Distances(Tempered):
    """InfoNCE with logits −(τ²/2)‖f − g‖² in place of τ²f·g, of both sides over the pairs of a batch.

    With outputs of unit length it is InfoNCE itself. A logit is an inner product of outputs with two more numbers,
    (τf, −τ²‖f‖²/2, 1)·(τg, 1, −τ²‖g‖²/2), so the loss costs what InfoNCE does.
    Source: derived; the optimum: `distance_law`.
    Args:
        tau_squared, learned, norm: as in `InfoNCE`.
    """

    def __call__(
        self, first: Tensor, second: Tensor, strangers: Strangers = None, params: dict | None = None
    ) -> Tensor:
        if strangers is not None:
            raise ValueError("Distances: negatives are the other pairs of the batch, got separate ones")
        first, second, _, tau = self.prepared(first, second, None, params)
        root = tau.sqrt().view(-1, 1, 1)
        (f, f_own), (g, g_own) = ((root * y, -(root * y).square().sum(-1, keepdim=True) / 2) for y in (first, second))
        one = torch.ones_like(f_own)
        return infonce_of_batch(torch.cat([f, f_own, one], -1), torch.cat([g, one, g_own], -1), 0.0, 2)


@dataclass(frozen=True)
class Alignment:
    """−mean_i f_i·g_i: positives alone. Source: ren-li-2023, eq. (4), with mean norms."""

    norm: str = "mean"

    def __call__(self, first: Tensor, second: Tensor) -> Tensor:
        first, second, _ = normalised(first, second, None, self.norm)
        return -(first * second).sum(-1).mean(-1)


@dataclass(frozen=True)
class Bilinear:
    """Σ_i f_i·(g_i⁻ − g_i), g⁻ of a stranger per anchor or of the next pair; −Σ_i f_i·g_i without negatives.

    Linear in the similarities and without a norm: it needs a constraint.
    Source: esser-2023, eqs. (1), (2), one positive and one negative per anchor.
    """

    negatives: bool = True

    def __call__(self, first: Tensor, second: Tensor, strangers: Strangers = None) -> Tensor:
        _require_shapes(first, second, strangers)
        if not self.negatives:
            return -(first * second).sum((-2, -1))
        _require_others("Bilinear", first.shape[-2], strangers)
        others = second.roll(1, -2) if strangers is None else strangers[1]
        if others.shape != second.shape:
            raise ValueError(f"Bilinear: strangers must be as many as pairs, {second.shape[1]}, got {others.shape[1]}")
        return (first * (others - second)).sum((-2, -1))
