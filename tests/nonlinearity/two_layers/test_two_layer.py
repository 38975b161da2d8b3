import pytest
import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.losses.gated_covariance import project_out
from contrastive_dynamics.nonlinearity.two_layers.two_layer import (
    colinearity,
    critical_filters,
    field_covariances,
    filter_spread,
    gradient,
    hidden_outputs,
    linear_gradient,
    mean_path,
    path_gradient,
    rank_one_gram,
    swap_path,
    top_direction,
    train_unit_filters,
)
from contrastive_dynamics.numerics.random_streams import stream

F64 = torch.float64
K, M, D, N = 3, 4, 5, 60


def setting(seed, dtype=F64):
    g = stream(seed, 0, "two-layer")
    x = (torch.randn(N, K * D, dtype=dtype, generator=g) @ torch.randn(K * D, K * D, dtype=dtype, generator=g)).view(
        N, K, D
    )
    w = torch.nn.functional.normalize(torch.randn(K, M, D, dtype=dtype, generator=g), dim=-1)
    p = torch.rand(N, dtype=dtype, generator=g)
    return g, x, w, p / p.sum()


@pytest.mark.parametrize("name", ["linear", "relu", "leaky_relu"])
def test_gradient_meets_autograd_of_the_energy_with_v(name):
    g, x, w, p = setting(0)
    v = torch.randn(7, K, M, dtype=F64, generator=g)
    w.requires_grad_()
    f = hidden_outputs(x, w, activation(name))[1]
    out = torch.einsum("okm,nkm->no", v, f)
    energy = 0.5 * (p[:, None] * (out - p @ out).square()).sum()
    (expected,) = torch.autograd.grad(energy, w)
    gram = torch.einsum("okm,oln->kmln", v, v)
    assert torch.allclose(gradient(x, w, gram, activation(name), p), expected, rtol=1e-10, atol=1e-10)
    if name == "linear":
        assert torch.allclose(linear_gradient(w, gram, field_covariances(x, p)), expected, rtol=1e-10, atol=1e-10)


def test_top_direction_is_the_eigenvector_of_the_hidden_covariance():
    _, x, w, _ = setting(1)
    f = hidden_outputs(x, w, activation("relu"))[1].flatten(1)
    s = top_direction(x, w, activation("relu")).flatten()
    values, vectors = torch.linalg.eigh(torch.cov(f.mT, correction=0))
    assert s.norm().item() == pytest.approx(1) and (s @ vectors[:, -1]).abs().item() == pytest.approx(1)


@pytest.mark.parametrize("seed", range(6))
def test_top_direction_has_the_sign_of_a_nonnegative_sum(seed):
    _, x, w, _ = setting(seed)  # of an eigenvector either sign is returned, so that one seed shows nothing
    assert top_direction(x, w, activation("relu")).sum() > 0


@pytest.mark.parametrize("dtype, tol", [(F64, 1e-13), (torch.float32, 1e-4)])
def test_linear_gradients_of_a_field_are_colinear_and_the_controls_are_not(dtype, tol):
    g, x, w, _ = setting(2, dtype)
    linear, relu = activation("linear"), activation("relu")
    s = top_direction(x, w, linear)
    flat = gradient(x, w, rank_one_gram(s), linear)
    assert colinearity(flat).max() < tol
    other = rank_one_gram(s) + rank_one_gram(torch.randn(K, M, dtype=dtype, generator=g))
    for varied in (
        gradient(x, w, other, linear),
        project_out(w, flat),
        gradient(x, w, rank_one_gram(top_direction(x, w, relu)), relu),
    ):
        assert colinearity(varied).max() > 0.02


def test_a_run_is_the_same_alone_and_in_a_batch():
    parts = [setting(s)[1:3] for s in range(3)]
    x, w = (torch.stack(part) for part in zip(*parts, strict=True))
    relu = activation("relu")
    batch = train_unit_filters(x, w, relu, 20)
    assert torch.allclose(train_unit_filters(x[1], w[1], relu, 20), batch[1], atol=1e-9)
    assert torch.allclose(train_unit_filters(x[[2, 0]], w[[2, 0]], relu, 20), batch[[2, 0]], atol=1e-9)


def test_printed_path_leaves_the_critical_points_unless_s_agrees_and_the_mended_one_does_not():
    g, x, _, _ = setting(3)
    c = field_covariances(x)
    s = torch.rand(K, M, dtype=F64, generator=g) + 0.2
    w = critical_filters(s, c, g)
    assert linear_gradient(w, rank_one_gram(s), c).norm() < 1e-10 and filter_spread(w) > 0.1
    assert path_gradient(swap_path, w, s, c) > 1e-3
    assert path_gradient(mean_path, w, s, c) < 1e-14
    assert filter_spread(swap_path(w, 0.5)[:, :2]) < 1e-14
    same = torch.ones(K, M, dtype=F64)
    assert path_gradient(swap_path, critical_filters(same, c, g), same, c) < 1e-14


def test_with_a_fast_top_layer_no_diverse_critical_point_exists_without_projection():
    # At b = 0 with positive definite C the output sᵀf is constant, so s cannot be the top eigenvector of C[f_1].
    g, x, _, _ = setting(4)
    s = torch.rand(K, M, dtype=F64, generator=g) + 0.2
    w = critical_filters(s, field_covariances(x), g)
    f = hidden_outputs(x, w, activation("linear"))[1]
    output = torch.einsum("km,nkm->n", s, f)
    assert output.var() < 1e-18 * f.var()
    v = torch.einsum("km,kmd->kd", s, w)
    assert v.norm() < 1e-10  # the identical filters that the mended path ends at are zero


def test_critical_filters_use_the_directions_without_data():
    g, x, _, _ = setting(5)
    x = x.clone()
    x[..., -1] = 0  # no data along the last coordinate
    s = torch.rand(K, M, dtype=F64, generator=g) + 0.2
    c = field_covariances(x)
    w = critical_filters(s, c, g)
    assert linear_gradient(w, rank_one_gram(s), c).norm() < 1e-10
    assert torch.einsum("km,kmd->kd", s, w).norm() > 0.1  # identical, nonzero filters at the end of the mended path


def test_unit_linear_filters_end_alike_up_to_sign_and_relu_filters_do_not():
    _, x, w, _ = setting(6)
    assert filter_spread(train_unit_filters(x, w, activation("linear"), 400)) < 1e-8
    assert filter_spread(train_unit_filters(x, w, activation("relu"), 400)) > 1e-3


def test_spread_counts_a_sign_as_alike():
    w = torch.tensor([[[3.0, 4.0], [-0.6, -0.8]]], dtype=F64)
    assert filter_spread(w) < 1e-15
    assert filter_spread(torch.eye(2, dtype=F64).unsqueeze(0)).item() == pytest.approx(1)
    for sign in (1, -1):  # 1 − |cos| = 0.2 on either side
        pair = torch.tensor([[[1.0, 0.0], [0.8 * sign, 0.6]]], dtype=F64)
        assert filter_spread(pair).item() == pytest.approx(0.2)


def test_bad_input_says_what_is_allowed():
    with pytest.raises(ValueError, match="M and d of g must be ≥ 2, got M=1"):
        colinearity(torch.zeros(2, 1, 4))
    c = field_covariances(torch.randn(10, 2, 3, dtype=F64))
    with pytest.raises(ValueError, match="s must have a nonzero entry in every field, got one with s_km = 0 for all m"):
        critical_filters(torch.tensor([[1.0, 1.0], [0.0, 0.0]], dtype=F64), c, stream(0, 0, "s"))
