"""Fields of a configuration are held to their annotations."""

from dataclasses import dataclass

import pytest

from contrastive_dynamics.numerics.field_types import check_fields


@dataclass(frozen=True)
class Sizes:
    name: str = "relu"
    apart: bool = True
    count: int = 3
    rate: float = 0.1
    scale: tuple[float, float] = (0.5, 1.0)


def test_what_the_annotations_say_is_accepted():
    check_fields(Sizes())
    check_fields(Sizes(rate=1, scale=(0, 1)))  # an int counts as a float


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": 3}, "name must be str, got 3"),
        ({"apart": 1}, "apart must be bool, got 1"),
        ({"count": 3.0}, "count must be int, got 3.0"),
        ({"count": True}, "count must be int, got True"),
        ({"rate": True}, "rate must be float, got True"),
        ({"rate": "a"}, "rate must be float, got 'a'"),
        ({"rate": float("nan")}, "rate must be finite, got nan"),
        ({"scale": 0.5}, "scale must be a tuple of 2, got 0.5"),
        ({"scale": (0.5,)}, "scale must be a tuple of 2, got (0.5,)"),
        ({"scale": ("a", 1)}, "scale must be float, got ('a', 1)"),
        ({"scale": (0.5, float("inf"))}, "scale must be finite, got (0.5, inf)"),
    ],
)
def test_anything_else_is_refused_in_one_line(given, said):
    with pytest.raises(ValueError) as refused:
        check_fields(Sizes(**given))
    assert str(refused.value) == said
