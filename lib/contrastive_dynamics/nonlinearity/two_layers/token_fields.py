"""Receptive fields that show one token each, independent given a binary global variable z.

Tokens are the unit vectors e_1 … e_d: fields whose points are the identity.
"""

import torch

from .conditional_independence import ConditionalFields


def boosted_tokens(k: int, d: int, boost: float, dtype: torch.dtype = torch.float64) -> ConditionalFields:
    """Fields of tokens whose marginals are uniform while token 0 of every field carries information about z.

    P[a = 0 | z] = (1 ± boost)/d for z = 1, 0; the other tokens share the rest evenly; P[z] = ½.

    Source: tian-2023, Assumption 2 (conditional independence, C = 2).
    Args:
        k: number of fields.
        d: number of tokens, ≥ 2.
        boost: 0 to 1.
        dtype: dtype of the result.
    Returns: k fields of d points.
    Raises: ValueError for boost or d outside its range.
    """
    if not 0 <= boost <= 1 or d < 2:
        raise ValueError(f"boost must be ≥ 0 and ≤ 1, and d ≥ 2, got boost={boost} and d={d}")
    sign = torch.tensor([-1.0, 1.0], dtype=dtype).view(2, 1, 1)
    shape = torch.full((d,), -1 / (d - 1), dtype=dtype)
    shape[0] = 1
    given = ((1 + boost * sign * shape) / d).expand(2, k, d)
    return ConditionalFields(torch.eye(d, dtype=dtype).expand(k, d, d), given, torch.full((2,), 0.5, dtype=dtype))
