import pytest
import torch
from torch.nn.functional import normalize

from contrastive_dynamics.losses.activations import ACTIVATIONS, activation
from contrastive_dynamics.nonlinearity.two_layers import conditional_independence as ci
from contrastive_dynamics.numerics.random_streams import stream

F64 = torch.float64
K, ATOMS, D = 3, 4, 5
close = {"rtol": 1e-10, "atol": 1e-12}


def setting(c, m=1, runs=1, k=K):
    generators = [stream(7, run, "fields") for run in range(runs)]
    model = ci.random_fields(generators, c, k, ATOMS, D)
    w = torch.stack([torch.randn(k, m, D, dtype=F64, generator=g) for g in generators])
    return model, normalize(w, dim=-1)


def one(model, run):
    return ci.ConditionalFields(model.points[run], model.given[run], model.prior[run])


def enumerated_variance(model, w, act):
    """V[x̃] summed over all inputs of one run."""
    x, p = ci.enumerate_inputs(model)
    gated = torch.stack([x[:, k] * act.slope(x[:, k] @ f)[:, None] for k in range(len(w)) for f in w[k]], 1).flatten(1)
    centred = gated - p @ gated
    return (centred.mT * p) @ centred


def top_eigenvalue(model, w, act, batch_norm=False):
    """½ λ_max(V[f_1]), the energy of one run under a fast top layer; σ is a constant to the gradient."""
    x, p = ci.enumerate_inputs(model)
    f = act.h(torch.einsum("nkd,kd->nk", x, w))
    centred = f - p @ f
    if batch_norm:
        centred = centred / (p @ centred.square()).sqrt().detach()
    return torch.linalg.eigvalsh((centred.mT * p) @ centred)[-1] / 2


def test_enumerated_inputs_have_the_conditional_probabilities():
    model = one(setting(3)[0], 0)
    x, p = ci.enumerate_inputs(model)
    assert x.shape == (ATOMS**K, K, D) and p.sum().item() == pytest.approx(1)
    for k in range(K):
        mean = torch.einsum("c,ca,ad->d", model.prior, model.given[:, k], model.points[k])
        assert torch.allclose(p @ x[:, k], mean, **close)


@pytest.mark.parametrize("c, m", [(2, 1), (3, 2), (5, 3)])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_decomposed_variance_meets_enumeration(name, c, m):
    (model, w), act = setting(c, m), activation(name)
    got, expected = ci.decomposed_variance(model, w, act)[0], enumerated_variance(one(model, 0), w[0], act)
    assert torch.allclose(got, expected, **close)
    assert (ci.decomposed_variance(model, w, act, power=1)[0] - expected).norm() > 1e-2 * expected.norm()


def test_rank_of_the_second_term_is_one_less_than_c():
    model, w = setting(3, 2)
    mean, within = ci.conditional_moments(model, w, activation("relu"))
    low = ci.decomposed_variance(model, w, activation("relu"))[0] - torch.block_diag(*within[0])
    assert torch.linalg.matrix_rank(low, rtol=1e-10) == 2
    delta = ci.contrasts(model.prior, mean)
    weight = model.prior * (1 - model.prior)
    assert torch.einsum("rc,rcki->rki", weight, delta).abs().max() < 1e-14


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_flow_meets_autograd_of_the_top_eigenvalue(name, batch_norm):
    (model, w), act = setting(2), activation(name)
    for projected in (True, False):
        leaf = w[0, :, 0].clone().requires_grad_()
        unit = leaf / leaf.norm(dim=-1, keepdim=True) if projected else leaf
        energy = top_eigenvalue(one(model, 0), unit, act, batch_norm)
        (expected,) = torch.autograd.grad(energy, leaf)
        for form in (ci.strength, ci.mended_strength):
            options = {"batch_norm": batch_norm, "projected": projected, "modulation": form}
            assert torch.allclose(ci.modulated_velocity(model, w[:, :, 0], act, **options)[0], expected, **close)
        options["modulation"] = ci.printed_strength
        wrong = ci.modulated_velocity(model, w[:, :, 0], act, **options)[0]
        assert (wrong - expected).norm() > 1e-3 * expected.norm()


def test_one_field_alone_hides_the_missing_factor():
    model, w = setting(2, k=1)
    flows = [ci.modulated_velocity(model, w[:, :, 0], activation("relu"), modulation=f) for f in STRENGTHS]
    assert all(torch.allclose(f, flows[0], **close) for f in flows)


STRENGTHS = ci.strength, ci.mended_strength, ci.printed_strength


def test_batch_norm_evens_out_the_scale_of_a_field():
    model, w = setting(2)
    scale = torch.tensor([0.01, 1.0, 100.0], dtype=F64)[:, None, None]
    scaled = ci.ConditionalFields(model.points * scale, model.given, model.prior)
    d, ours = (ci.binary_moments(q, w[:, :, 0], activation("relu"), True).d for q in (model, scaled))
    assert torch.allclose(d, ours, **close)
    m = ci.binary_moments(model, w[:, :, 0], activation("relu"))
    assert torch.allclose(d, 1 / (1 + m.weight * m.b.square() / m.d), **close)


def test_gap_is_the_distance_to_the_top_eigenvalue():
    d = torch.tensor([[1.0, 0.5, 0.2]], dtype=F64)
    b, weight = torch.tensor([[1e-4, 1.0, -2.0]], dtype=F64), torch.full((1, 1), 0.2, dtype=F64)
    top = torch.linalg.eigvalsh(torch.diag(d[0]) + weight * b.mT @ b)[-1]
    assert torch.allclose(ci.secular_gap(d, b, weight), top - d, **close)


def test_a_run_is_the_same_alone_and_in_a_batch():
    (model, w), relu = setting(2, runs=4), activation("relu")
    flow = ci.modulated_velocity(model, w[:, :, 0], relu, batch_norm=True)
    assert torch.allclose(ci.modulated_velocity(one(model, 2), w[2, :, 0], relu, batch_norm=True), flow[2], **close)
    variance = ci.decomposed_variance(model, w, relu)
    assert torch.allclose(ci.decomposed_variance(one(model, 2), w[2], relu), variance[2], **close)
    assert torch.equal(setting(2, runs=2)[0].points, model.points[:2])


def test_bad_input_says_what_is_allowed():
    (model, w), relu = setting(3), activation("relu")
    with pytest.raises(ValueError, match="C must be 2, got 3 values of z"):
        ci.binary_moments(model, w[:, :, 0], relu)
    with pytest.raises(ValueError, match="must be ≥ 0 with sum 1"):
        ci.ConditionalFields(model.points, model.given, 2 * model.prior)
    with pytest.raises(ValueError, match="points, given and prior must be"):
        ci.ConditionalFields(model.points[:, :2], model.given, model.prior)
    with pytest.raises(ValueError, match="c and atoms must be ≥ 2"):
        ci.random_fields([stream(0, 0, "bad")], 1, K, ATOMS, D)
    with pytest.raises(ValueError, match="prior must be positive for two values of z, got one with probability 1"):
        ci.contrasts(torch.tensor([1.0, 0.0]), torch.zeros(2, 1, 1))
    with pytest.raises(ValueError, match="must be ≤ 1048576 inputs, got"):
        ci.enumerate_inputs(ci.random_fields([stream(0, 0, "many")], 2, 11, 4, 1))
    with pytest.raises(ValueError, match="K and d of w must be those of the points"):
        ci.conditional_moments(model, w[:, :2], relu)
    with pytest.raises(ValueError, match="b_k must be ≠ 0 where d_k is largest"):
        ci.secular_gap(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 0.1]), torch.tensor([0.25]))
    model, w = setting(2)
    with pytest.raises(ValueError, match="σ_k must be > 0 for BatchNorm, got σ_k = 0"):
        ci.binary_moments(
            ci.ConditionalFields(model.points.abs(), model.given, model.prior), -w[:, :, 0].abs(), relu, True
        )
