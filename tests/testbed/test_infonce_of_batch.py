import pytest
import torch

from contrastive_dynamics.testbed import infonce_of_batch as module
from contrastive_dynamics.testbed.infonce_of_batch import infonce_of_batch
from contrastive_dynamics.testbed.losses import normalised


def plain(first, second, shift=0.0, sides=2):
    logits = first @ second.mT
    own, n = logits.diagonal(dim1=-2, dim2=-1), logits.shape[-1]
    logits = logits + shift * (1 - torch.eye(n, dtype=logits.dtype))
    return (sum(logits.logsumexp(way) for way in (-1, -2)[:sides]) - sides * own).mean(-1)


def outputs(scale, dtype=torch.float64):
    torch.manual_seed(0)
    return [(scale * torch.randn(5, 7, 3, dtype=torch.float64)).to(dtype).requires_grad_() for _ in range(2)]


@pytest.mark.parametrize("runs", [2, 5])
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("shift", [0.0, 1.5])
@pytest.mark.parametrize("scale", [1.0, 5.0, 40.0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_value_and_gradient_are_those_of_logsumexp(dtype, scale, shift, sides, runs, monkeypatch):
    """Also where one exponential would underflow, and with more runs than are handled at a time."""
    monkeypatch.setattr(module, "_BYTES", runs * 7 * 7 * dtype.itemsize)
    f, g = outputs(scale, dtype)
    weights = torch.randn(5, dtype=dtype)
    found, expected = infonce_of_batch(f, g, shift, sides), plain(f, g, shift, sides)
    slopes = [torch.autograd.grad((weights * of).sum(), [f, g]) for of in (found, expected)]
    within = {"rtol": 1e-12, "atol": 1e-12} if dtype == torch.float64 else {"rtol": 1e-5, "atol": 1e-5 * scale**2}
    torch.testing.assert_close(found, expected, **within)
    torch.testing.assert_close(*slopes, **within)


def test_gradients_are_those_of_differences():
    assert torch.autograd.gradcheck(lambda f, g: infonce_of_batch(f, g, 0.7), outputs(1.0))
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert check(lambda f, g: normalised(f, g, None, "mean")[:2], outputs(1.0))


def test_nothing_finite_comes_of_nan():
    assert not infonce_of_batch(torch.full((1, 2, 3), torch.nan), torch.ones(1, 2, 3)).isfinite().any()


def test_a_second_derivative_is_refused():
    f, g = outputs(1.0)
    with pytest.raises(ValueError, match="^infonce_of_batch: create_graph must be False, .*, got True$"):
        torch.autograd.grad(infonce_of_batch(f, g).sum(), f, create_graph=True)
