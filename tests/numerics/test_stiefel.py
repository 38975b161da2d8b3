import pytest
import torch
from scipy.stats import ortho_group

from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.stiefel import (
    RETRACTIONS,
    grassmann_gradient,
    haar,
    inverse_root,
    polar,
    qr,
)

SHAPES = [(1, 1), (4, 1), (5, 3), (4, 4), (30, 6)]


def streams(run, purpose="haar"):
    return [stream(0, k, purpose) for k in range(run)]


def gaussian(run, h, d, purpose="gaussian"):
    return torch.stack([torch.randn(h, d, generator=g, dtype=torch.float64) for g in streams(run, purpose)])


def excess(w):
    """Largest |WᵀW − I|, `[...]`."""
    return (w.mT @ w - torch.eye(w.shape[-1], dtype=w.dtype)).abs().amax((-2, -1))


def moments(q):
    """Monomials of the first 2×2 entries; their means are known for the Haar measure."""
    a, b, c, d = q[:, 0, 0], q[:, 0, 1], q[:, 1, 0], q[:, 1, 1]
    return torch.stack([a, d, a * b * c, a**2, c**2, d**4, a**2 * b**2, a**2 * d**2, a * b * c * d])


def scores(sample, expected):
    return (sample.mean(-1) - expected) / (sample.var(-1) / sample.shape[-1]).sqrt()


def test_haar_has_the_moments_of_the_uniform_measure():
    h, run = 5, 4000
    sample = moments(haar(streams(run), h, 2))
    four = 1 / (h * (h + 2))
    expected = [0, 0, 0, 1 / h, 1 / h, 3 * four, four, four * (h + 1) / (h - 1), -four / (h - 1)]
    assert scores(sample, torch.tensor(expected, dtype=torch.float64)).abs().max() < 4
    other = moments(torch.from_numpy(ortho_group(h, seed=1).rvs(run)))
    error = ((sample.var(-1) + other.var(-1)) / run).sqrt()
    assert ((sample.mean(-1) - other.mean(-1)) / error).abs().max() < 4
    # LAPACK's own signs give another measure: Q_11 is never positive
    assert torch.linalg.qr(gaussian(50, h, 2))[0][:, 0, 0].max() < 0


def test_a_square_haar_matrix_is_a_reflection_half_of_the_time():
    signs = torch.linalg.det(haar(streams(1000), 3, 3)).sign()
    assert set(signs.tolist()) == {-1.0, 1.0} and signs.mean().abs() < 4 / 1000**0.5


def test_qr_commutes_with_rotations_from_the_left_and_polar_with_both():
    w, u, o = gaussian(6, 5, 3), haar(streams(6, "u"), 5, 5), haar(streams(6, "o"), 3, 3)
    assert torch.allclose(qr(u @ w), u @ qr(w), atol=1e-12)
    assert torch.allclose(polar(u @ w @ o), u @ polar(w) @ o, atol=1e-12)
    assert (qr(w @ o) - qr(w) @ o).abs().max() > 0.1


@pytest.mark.parametrize(("h", "d"), SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_draws_and_retractions_are_semi_orthogonal(h, d, dtype):
    q, tol = haar(streams(4), h, d, dtype), torch.finfo(dtype).eps ** 0.75
    assert q.shape == (4, h, d) and q.dtype == dtype and bool((excess(q) <= tol).all())
    w = q + 0.1 * gaussian(4, h, d).to(dtype)
    assert bool((excess(w) > tol).all())
    for retract in RETRACTIONS.values():
        back = retract(w)
        assert back.dtype == dtype and bool((excess(back) <= tol).all())
        assert torch.allclose(retract(q), q, atol=100 * torch.finfo(dtype).eps)


@pytest.mark.parametrize(("h", "d"), SHAPES)
def test_polar_is_the_nearest_semi_orthogonal_matrix(h, d):
    w = gaussian(1, h, d)
    u, _, vt = torch.linalg.svd(w, full_matrices=False)
    assert torch.allclose(polar(w), u @ vt, atol=1e-11)
    best = (w - polar(w)).norm()
    others = torch.cat((haar(streams(200), h, d), qr(polar(w) + 0.01 * gaussian(200, h, d))))
    assert ((w - others).norm(dim=(-2, -1)) >= best - 1e-12).all()


def test_polar_loses_the_square_of_the_condition_number_and_qr_nothing():
    u, v, losses = haar(streams(1, "u"), 8, 4), haar(streams(1, "v"), 4, 4), []
    for power in (2, 3, 4, 5):
        w = u * torch.logspace(0, -power, 4, dtype=torch.float64) @ v.mT
        losses.append(float((polar(w).mT @ polar(w) - torch.eye(4)).norm()))
        assert float(excess(qr(w))) <= 1e-14
    slopes = torch.tensor(losses).log10().diff()
    assert abs(float(slopes.mean()) - 2) < 0.5 and 1e-10 < losses[2] < 1e-7


def test_retractions_agree_with_a_curve_on_the_manifold_to_second_order():
    h, d = 6, 3
    w, z = haar(streams(1), h, d), gaussian(1, h, d)
    tangent = z - w @ (w.mT @ z + z.mT @ w) / 2  # turns within the columns of W too
    left = tangent - w @ (w.mT @ tangent) / 2
    spin = left @ w.mT - w @ left.mT  # antisymmetric, spin @ w = tangent
    assert torch.allclose(spin @ w, tangent, atol=1e-12)
    steps = torch.tensor([0.02, 0.01, 0.005], dtype=torch.float64)
    curve = torch.cat([torch.matrix_exp(t * spin) @ w for t in steps])
    moved = w + steps.view(-1, 1, 1) * tangent
    for a, b in ((polar(moved), qr(moved)), (polar(moved), curve), (qr(moved), curve)):
        gaps = (a - b).norm(dim=(-2, -1))
        assert (gaps.log2().diff() + 2).abs().max() < 0.1


def test_polar_of_a_step_moves_along_the_tangential_part():
    w, g = haar(streams(3), 6, 3), gaussian(3, 6, 3)
    t = 1e-5
    moved = (polar(w + t * g) - polar(w - t * g)) / (2 * t)
    symmetric = (w.mT @ g + g.mT @ w) / 2
    assert torch.allclose(moved, g - w @ symmetric, atol=1e-8)


def test_grassmann_gradient_projects_and_is_that_of_a_loss_of_the_column_space():
    w, g = haar(streams(3), 6, 2), gaussian(3, 6, 2)
    assert torch.allclose(grassmann_gradient(w, g), (torch.eye(6) - w @ w.mT) @ g, atol=1e-13)
    assert (w.mT @ grassmann_gradient(w, g)).abs().max() < 1e-13
    s = gaussian(3, 6, 6)
    s, x = s + s.mT, w.clone().requires_grad_()
    projector = x @ torch.linalg.solve(x.mT @ x, x.mT)
    (free,) = torch.autograd.grad((s * projector).sum(), x)
    assert torch.allclose(free, grassmann_gradient(w, 2 * s @ w), atol=1e-12)


def test_inverse_root():
    w = gaussian(5, 6, 3)
    gram = w.mT @ w
    root = inverse_root(gram)
    assert torch.allclose(root @ gram @ root, torch.eye(3, dtype=torch.float64).expand(5, 3, 3), atol=1e-11)
    assert not bool(inverse_root(torch.diag(torch.tensor([1.0, -1.0]))).isfinite().all())


def test_a_run_is_the_same_alone_and_in_a_batch():
    together = haar(streams(5), 6, 3)
    assert torch.equal(haar(streams(5)[2:3], 6, 3), together[2:3])
    w = gaussian(5, 6, 3)
    for retract in RETRACTIONS.values():
        assert torch.allclose(retract(w[2:3]), retract(w)[2:3], atol=1e-14)


@pytest.mark.parametrize(("h", "d"), [(2, 3), (3, 0)])
def test_bad_sizes_are_named(h, d):
    with pytest.raises(ValueError, match=f"h and d must satisfy 1 ≤ d ≤ h, got h = {h}, d = {d}"):
        haar(streams(1), h, d)
