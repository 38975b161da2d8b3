"""Whether the fields of a configuration hold what their annotations say."""

import math
from dataclasses import fields
from typing import get_args, get_origin


def check_fields(configuration: object) -> None:
    """Raise ValueError unless every field of a dataclass has its type and every number is finite.

    An int counts as a float, a bool counts as neither, and a pair `tuple[float, float]` is checked part by part.

    Args:
        configuration: an instance of a dataclass whose annotations are types (not texts): bool, int, float, str, or a
            tuple of these with a fixed length.
    Raises: a one-line ValueError that names the field, its type and what it holds.
    """
    for field in fields(configuration):
        value, kinds = getattr(configuration, field.name), (field.type,)
        if get_origin(field.type) is tuple:
            kinds = get_args(field.type)
            if not isinstance(value, tuple) or len(value) != len(kinds):
                raise ValueError(f"{field.name} must be a tuple of {len(kinds)}, got {value!r}")
        for part, kind in zip(value if len(kinds) > 1 else (value,), kinds, strict=True):
            allowed = (int, float) if kind is float else kind
            if not isinstance(part, allowed) or isinstance(part, bool) is not (kind is bool):
                raise ValueError(f"{field.name} must be {kind.__name__}, got {value!r}")
            if kind is float and not math.isfinite(part):
                raise ValueError(f"{field.name} must be finite, got {value}")
