"""Dense noise that is louder along one direction, ξ ~ N(0, σ_ξ² (I + κ vvᵀ)).

Views then share κσ_ξ² vvᵀ more, without its diagonal if masked: along v κσ_ξ²(1 - ‖v‖₄⁴) if v ⊥ M. That is nearly κσ_ξ²
for a flat v, so a mask does not hide it, and a flat loud direction outgrows the flat atoms from κσ_ξ² = p on; for v
on one coordinate it is 0, which a mask hides.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from .sparse_coding import SparseCoding


@dataclass(frozen=True)
class LouderNoise(SparseCoding):
    """As SparseCoding, but of variance (1 + κ)σ_ξ² along one unit direction.

    Source: wen-li-2021, footnote 1 ("certain directions with larger variance").
    Fields:
        loud: v, `[run, d1, 1]`, of length 1 up to 1e-4.
        extra: κ ≥ 0.
    Raises: ValueError outside these ranges, and as SparseCoding.
    """

    loud: Tensor | None = None
    extra: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        expected = (len(self.dictionary), self.dictionary.shape[-2], 1)
        if self.loud is None or tuple(self.loud.shape) != expected or not self.extra >= 0:
            got = None if self.loud is None else tuple(self.loud.shape)
            raise ValueError(f"loud and extra must be of shape {expected} and ≥ 0, got {got} and {self.extra}")
        if float((self.loud.norm(dim=-2) - 1).abs().max()) > 1e-4:
            raise ValueError(f"loud must have length 1, got {float(self.loud.norm(dim=-2).max()):g}")

    def part(self, runs: slice) -> "LouderNoise":
        return replace(self, dictionary=self.dictionary[runs], loud=self.loud[runs])

    def dense_noise(self, count: int, generators: list[torch.Generator]) -> Tensor:
        """ξ + (√(1 + κ) - 1)⟨v, ξ⟩v, ξ as SparseCoding draws it. Cost: 4·count·d1 flops more."""
        noise = super().dense_noise(count, generators)
        return noise.baddbmm_(noise @ self.loud, self.loud.mT, alpha=(1 + self.extra) ** 0.5 - 1)


def loud_directions(dictionary: Tensor, flat: bool, generators: list[torch.Generator]) -> Tensor:
    """Unit directions v `[run, d1, 1]` for `LouderNoise`: flat and orthogonal to M, or on one coordinate.

    flat: random signs over √d1, less what lies in span(M), and brought to length 1. Else e_i of a random i, of which
    d/d1 lies in span(M) for flat atoms.
    Args:
        dictionary: M, `[run, d1, d]`, d < d1.
        flat: which of both.
        generators: one per run.
    Raises: ValueError unless there is one generator per run and d < d1.
    """
    runs, dim, atoms = dictionary.shape
    if len(generators) != runs or atoms >= dim:
        raise ValueError(
            f"generators and d must be one per run, {runs}, and < {dim}, got {len(generators)} and {atoms}"
        )
    drawn = torch.stack([torch.rand(dim, generator=g, device=g.device, dtype=dictionary.dtype) for g in generators])
    if not flat:
        return torch.nn.functional.one_hot(drawn.argmax(-1), dim).to(dictionary.dtype).unsqueeze(-1)
    signs = torch.where(drawn < 0.5, -1.0, 1.0).to(dictionary.dtype).unsqueeze(-1)
    outside = signs - dictionary @ (dictionary.mT @ signs)
    return outside / outside.norm(dim=-2, keepdim=True)
