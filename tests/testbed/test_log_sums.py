import pytest
import torch

from contrastive_dynamics.testbed.log_sums import both_log_sums


@pytest.mark.parametrize("scale", [1.0, 30.0, 2000.0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_values_and_gradients_are_those_of_logsumexp(scale, dtype):
    """Also where one exponential would underflow."""
    torch.manual_seed(0)
    x = (scale * torch.randn(3, 5, 7, dtype=torch.float64)).to(dtype).requires_grad_()
    weights = torch.randn(3, 5, dtype=dtype), torch.randn(3, 7, dtype=dtype)
    found, expected = both_log_sums(x), (x.logsumexp(-1), x.logsumexp(-2))
    slopes = []
    for sums in (found, expected):
        total = sum((w * each).sum() for w, each in zip(weights, sums, strict=True))
        slopes.append(torch.autograd.grad(total, x)[0])
    within = {"rtol": 1e-12, "atol": 1e-12} if dtype == torch.float64 else {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(found, expected, **within)
    torch.testing.assert_close(*slopes, **within)


def test_nothing_finite_comes_of_nan():
    assert not both_log_sums(torch.tensor([[float("nan"), 1.0]]))[0].isfinite().any()
