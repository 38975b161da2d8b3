"""Powers are recovered, one per entry, and agree with numpy's line through the logarithms."""

import numpy as np
import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere

from contrastive_dynamics.numerics.power_laws import fitted_power, log_slope

SIZES = [3, 10, 40, 100]


def test_a_power_is_found_again_whatever_its_factor():
    at = torch.tensor(SIZES).double()[:, None]
    powers = torch.tensor([-0.5, 0.0, 2.0]).double()
    torch.testing.assert_close(fitted_power(7 * at**powers, SIZES), powers)


def test_what_is_no_power_has_the_slope_of_the_line_through_its_logarithms():
    values = torch.rand(4, 2, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 0.1
    expected = np.polyfit(np.log(SIZES), values.log().flatten(1).numpy(), 1)[0]
    torch.testing.assert_close(fitted_power(values, SIZES).flatten(), torch.from_numpy(expected))


def test_it_stays_on_its_device():
    with elsewhere():
        found = fitted_power(torch.tensor([1.0, 2.0], device=ELSEWHERE), [1, 2])
        assert found.device == ELSEWHERE and float(found) == pytest.approx(1)


def test_a_value_without_a_logarithm_gives_no_power():
    assert fitted_power(torch.tensor([[1.0, 1.0], [-1.0, 2.0]]), [1, 2]).isnan().tolist() == [True, False]


@pytest.mark.parametrize("sizes", [[1, 2, 3], [5, 5], [0, 2]])
def test_bad_input_is_refused_in_one_line(sizes):
    with pytest.raises(
        ValueError, match="sizes must be one per value, two or more different ones, all > 0, got 2 values"
    ):
        fitted_power(torch.tensor([1.0, 2.0]), sizes)


def test_lists_give_numbers():
    values = [[2 * s**0.5, s**-1.0] for s in SIZES]
    assert log_slope(SIZES, values) == pytest.approx([0.5, -1])
    assert log_slope(SIZES, [one for one, _ in values]) == pytest.approx(0.5)
