"""The tangent kernel against Jacobians, its limits against wide networks."""

import math

import pytest
import torch

from contrastive_dynamics.collapse_and_constraints.smooth_activations import WIDE
from contrastive_dynamics.collapse_and_constraints.tangent_kernel import (
    gaussian_weights,
    off_diagonal_share,
    random_tangent_kernel,
    relu_limit,
    tangent_kernel,
    tangent_shares,
)
from contrastive_dynamics.numerics import memory
from contrastive_dynamics.numerics.random_streams import stream


def weights(run, h, d, z, std1=None, std2=None, dtype=torch.float64, first=0):
    runs = range(first, first + run)
    lists = [[stream(5, k, purpose) for k in runs] for purpose in ("W1", "W2")]
    return gaussian_weights(*lists, h, d, z, std1 or h**-0.5, std2 or h**-0.5, dtype)


def points(k, d, of="x", dtype=torch.float64):
    return torch.randn(k, d, generator=stream(5, 0, of), dtype=dtype)


def jacobian_kernel(w1, w2, x, y, act):
    """⟨∇u_a(x), ∇u_b(y)⟩ of one network by autograd, parameters in one vector."""

    def gradients(at):
        def outputs(a, b):
            return act.h(at @ a.mT) @ b

        parts = torch.func.jacrev(outputs, argnums=(0, 1))(w1, w2)
        return torch.cat([part.flatten(2) for part in parts], -1)

    return torch.einsum("kap,lbp->klab", gradients(x), gradients(y))


@pytest.mark.parametrize("block", [1, 4, 100])
@pytest.mark.parametrize("name", WIDE)
def test_kernel_is_that_of_the_jacobians(name, block):
    w1, w2 = weights(3, 9, 4, 3)
    x, y = points(5, 4), points(2, 4, "y")
    kernel = tangent_kernel(w1, w2, x, y, WIDE[name], block)
    for r in range(3):
        expected = jacobian_kernel(w1[r], w2[r], x, y, WIDE[name])
        torch.testing.assert_close(kernel[r], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_follows_and_the_kernel_is_symmetric(dtype):
    w1, w2 = weights(2, 50, 4, 3, dtype=dtype)
    x = points(6, 4, dtype=dtype)
    kernel = tangent_kernel(w1, w2, x, x, WIDE["tanh"])
    assert kernel.dtype == dtype and kernel.shape == (2, 6, 6, 3, 3)
    torch.testing.assert_close(kernel, kernel.permute(0, 2, 1, 4, 3))
    gram = kernel[0].permute(0, 2, 1, 3).reshape(18, 18)
    assert torch.linalg.eigvalsh(gram).min() > -1e-5


def test_a_run_is_the_same_alone_or_in_a_batch():
    together, alone = weights(4, 30, 3, 2), weights(1, 30, 3, 2, first=2)
    for a, b in zip(together, alone, strict=True):
        assert torch.equal(a[2:3], b)
    x = points(4, 3)
    both = [tangent_kernel(*w, x, x, WIDE["relu"]) for w in (together, alone)]
    torch.testing.assert_close(both[0][2:3], both[1], rtol=0, atol=1e-13)


def test_weights_have_the_deviations_asked_for():
    w1, w2 = weights(8, 4096, 3, 5, std1=0.5, std2=2.0)
    assert w1.shape == (8, 4096, 3) and w2.shape == (8, 4096, 5)
    assert w1.std().item() == pytest.approx(0.5, rel=0.02) and w2.std().item() == pytest.approx(2, rel=0.02)
    assert abs((w1[0, :, 0] * w2[0, :, 0]).mean().item()) < 5 / 64  # drawn apart


def linear_limit(x, y):
    """2 xᵀy, the limit of Θ_aa as h → ∞ for φ(x) = x and N(0, 1/h) in both layers: W1ᵀW1 → I and Σ_i W2_ia² → 1.

    Lemma 1 prints xᵀy: its proof drops the gradient in W1 because the entries of W1 move little; but there are many of
    them. With standard deviation 1/h in W2 that term does vanish, and the limit is xᵀy, half of this. Any φ with
    φ(0) = 0 and φ' continuous with φ'(0) = 1 has the same two limits, as the preactivations, N(0, ‖x‖²/h), vanish.
    """
    return 2 * (x @ y.mT)


def diagonal_mean(name, power2, h=2**12, run=12, z=4):
    """Mean of Θ_aa over runs and outputs, and its standard error over the runs."""
    x, y = points(4, 5), points(3, 5, "y")
    w1, w2 = weights(run, h, 5, z, std2=h**-power2)
    own = tangent_kernel(w1, w2, x, y, WIDE[name]).diagonal(dim1=-2, dim2=-1).mean(-1)
    return own.mean(0), own.std(0) / math.sqrt(run), x, y


@pytest.mark.parametrize("power2", [0.5, 1.0])
@pytest.mark.parametrize(("name", "share"), [("linear", 1), ("half", 1 / 4), ("tanh", 1)])
def test_wide_networks_have_the_linear_limit(name, share, power2):
    # both layers count at 1/√h; the second alone at 1/h
    mean, error, x, y = diagonal_mean(name, power2)
    limit = share * linear_limit(x, y) * (1 if power2 == 0.5 else 0.5)
    bias = 0.02 * limit.abs().max() if name == "tanh" else 1e-3  # tanh: O(‖x‖²/h); at 1/h: Σ W2² = 1/h
    assert ((mean - limit).abs() <= 5 * error + bias).all()
    assert ((mean - 1.5 * limit).abs() > 5 * error + bias)[limit.abs() > 1].all()


@pytest.mark.parametrize("power2", [0.5, 1.0])
def test_wide_relu_networks_have_the_arc_cosine_limit(power2):
    mean, error, x, y = diagonal_mean("relu", power2)
    limit = relu_limit(x, y)
    if power2 == 1.0:  # the first term alone, by quadrature of E[(wᵀx)₊(wᵀy)₊] over the angle of w in the plane
        angle = torch.linspace(0, 2 * math.pi, 20_001, dtype=torch.float64)[:-1]
        cos = torch.nn.functional.cosine_similarity(x[:, None], y[None], dim=-1)
        first = (angle.cos()).clamp(min=0) * (angle - cos.acos()[..., None]).cos().clamp(min=0)
        limit = first.mean(-1) * 2 * x.norm(dim=-1)[:, None] * y.norm(dim=-1)
    assert ((mean - limit).abs() <= 5 * error + 1e-3).all()


def test_relu_limit_at_special_angles():
    x = points(3, 4)
    torch.testing.assert_close(relu_limit(x, x).diagonal(), x.square().sum(-1))  # θ = 0
    torch.testing.assert_close(relu_limit(x, -x).diagonal(), torch.zeros(3, dtype=x.dtype), rtol=0, atol=1e-12)  # π
    e = torch.eye(2, dtype=torch.float64)
    assert relu_limit(2 * e[:1], 3 * e[1:]).item() == pytest.approx(6 / (2 * math.pi))  # π/2
    assert relu_limit(0 * e[:1], e).abs().max() == 0
    near = torch.tensor([[1.0, 1e-9]], dtype=torch.float64)
    # to first order 1 − θ/π, θ = 1e-9: an arc cosine would return 1 or miss by 1e-8
    assert relu_limit(e[:1], near).item() - 1 == pytest.approx(-1e-9 / (2 * math.pi), rel=1e-5)


def test_off_diagonal_share_falls_as_the_root_of_the_width():
    x = points(6, 4)
    widths = [2**k for k in range(5, 13)]
    shares = []
    for h in widths:
        kernel = tangent_kernel(*weights(24, h, 4, 3), x, x, WIDE["linear"])
        shares.append(off_diagonal_share(kernel).square().mean().sqrt())
    log_h, log_share = (torch.tensor(v, dtype=torch.float64).log() for v in (widths, shares))
    slope = ((log_h - log_h.mean()) * log_share).sum() / (log_h - log_h.mean()).square().sum()
    assert slope.item() == pytest.approx(-0.5, abs=0.04)
    # Σ_i W2_ia W2_ib has variance 1/h, and Θ_aa → 2xᵀx': √((z − 1)/h)/2
    assert shares[-1].item() == pytest.approx(math.sqrt(2 / 2**12) / 2, rel=0.15)


def test_off_diagonal_share_of_known_kernels():
    kernel = torch.tensor([[3.0, 1.0], [1.0, -4.0]]).expand(2, 5, 6, 2, 2)
    torch.testing.assert_close(off_diagonal_share(kernel), torch.full((2,), math.sqrt(2 / 25)))
    assert off_diagonal_share(torch.ones(5, 6, 1, 1)) == 0


def test_a_block_bounds_the_memory(monkeypatch):
    w1, w2, x = *weights(2, 4096, 3, 2), points(4, 3)
    numbers = [2 * (block * 8 * 6 + 2 * 16 * 5) for block in (16, 4096)]
    monkeypatch.setattr(memory, "device_memory", lambda device: 8 * numbers[0])
    kernel = tangent_kernel(w1, w2, x, x, WIDE["relu"], block=16)
    with pytest.raises(ValueError, match="memory: must be at most .*, tangent kernels of 2 runs need"):
        tangent_kernel(w1, w2, x, x, WIDE["relu"], block=17)
    monkeypatch.setattr(memory, "device_memory", lambda device: 8 * numbers[1])
    torch.testing.assert_close(tangent_kernel(w1, w2, x, x, WIDE["relu"], block=10**6), kernel)


def bad(w1=(2, 5, 3), w2=(2, 5, 2), x=(4, 3), y=(4, 3), block=8):
    return tangent_kernel(*(torch.ones(shape) for shape in (w1, w2, x, y)), WIDE["linear"], block)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: bad(w2=(2, 4, 2)), r"w1, w2, x, y must be \[run, h, d\], .*, got \[2, 5, 3\], \[2, 4, 2\]"),
        (lambda: bad(x=(4, 2)), "w1, w2, x, y must be"),
        (lambda: bad(y=(3,)), "w1, w2, x, y must be"),
        (lambda: bad(block=0), "a block of 1 or more, got .* and block 0"),
        (lambda: off_diagonal_share(torch.ones(2, 2)), r"kernel must be \[..., k, l, z, z\], got \[2, 2\]"),
        (lambda: off_diagonal_share(torch.ones(1, 1, 2, 3)), "kernel must be"),
        (lambda: weights(2, 5, 3, 0), "h, d, z must be ≥ 1 and std1, std2 > 0, got h=5, d=3, z=0"),
        (lambda: weights(2, 5, 3, 2, std2=-1.0), "std1, std2 > 0, got .* std2=-1.0"),
        (lambda: weights(0, 5, 3, 2), "generators must be equally many for both layers, 1 or more, got 0 and 0"),
        (lambda: gaussian_weights([stream(0, 0, "a")], [], 2, 2, 2, 1.0, 1.0), "got 1 and 0 generators"),
    ],
)
def test_bad_input_is_named(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_the_kernel_of_a_random_network_is_that_of_its_weights():
    points = torch.randn(4, 3, generator=stream(6, 0, "points"), dtype=torch.float64)
    draws = [stream(7, 20, "tanh first")], [stream(7, 20, "tanh second")]
    w1, w2 = gaussian_weights(*draws, 20, 3, 2, 20**-0.5, 0.1)
    expected = tangent_kernel(w1, w2, points, points, WIDE["tanh"])[0]
    assert torch.equal(random_tangent_kernel(7, 20, "tanh", points, 2, std2=0.1), expected)


def test_tied_outputs_share_their_kernel_at_every_width():
    points = torch.randn(4, 3, generator=stream(6, 0, "points"), dtype=torch.float64)
    kernel = random_tangent_kernel(7, 20, "linear", points, 2, tied=True)
    own = kernel[..., 0, 0] - kernel[..., 0, 1]  # the gradient in W2, which every output has for itself
    torch.testing.assert_close(own, kernel[..., 1, 1] - kernel[..., 1, 0])
    free, tied = (tangent_shares(7, [50, 5000], "relu", points, 2, tied=tied) for tied in (False, True))
    assert free[1] < free[0] / 4 and tied[1] > tied[0] / 2
    with pytest.raises(KeyError):
        random_tangent_kernel(7, 20, "unknown", points, 2)
