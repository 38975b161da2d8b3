from itertools import product

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from one_line_error import one_line_error

from contrastive_dynamics.collapse_and_constraints.pair_losses import (
    expected_trace_matrix,
    mean_factor,
    pair_loss,
    pairing,
    pairing_product,
    require_pairs,
    require_trace_matrix,
    stacked,
    trace_matrix,
)
from contrastive_dynamics.numerics.random_streams import stream

COUNTS = [(4, 1, 1), (3, 2, 5), (2, 3, 1), (5, 2, 0)]


def draw(*shape, purpose="data", dtype=torch.float64):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64).to(dtype)


def pairs(n, p, q, d=3, run=(2,), dtype=torch.float64):
    x, positives, negatives = draw(*run, n, d), draw(*run, n, p, d, purpose="+"), draw(*run, n, q, d, purpose="-")
    return x.to(dtype), positives.to(dtype), negatives.to(dtype) if q else None


def outputs(theta, points):
    return [None if part is None else part @ theta.mT for part in points]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("counts", COUNTS)
def test_the_loss_of_a_linear_model_is_a_trace(counts, dtype):
    points, theta = pairs(*counts, run=(), dtype=dtype), draw(2, 3, purpose="theta", dtype=dtype)
    c = trace_matrix(*points)
    assert c.dtype == dtype and torch.equal(c, c.mT)
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {}
    assert torch.allclose(torch.trace(theta @ c @ theta.mT), pair_loss(*outputs(theta, points)), **tolerance)


@pytest.mark.parametrize(("n", "p", "q"), COUNTS)
def test_the_loss_and_the_matrix_are_the_sums_of_the_definition(n, p, q):
    x, positives, negatives = pairs(n, p, q, run=())
    loss, c = torch.zeros(()), torch.zeros(3, 3, dtype=torch.float64)
    for i in range(n):
        for sign, others in ((-1, positives[i]), (1, [] if negatives is None else negatives[i])):
            for other in others:
                loss = loss + sign * x[i] @ other
                c += sign * torch.outer(x[i], other)
    assert torch.allclose(pair_loss(x, positives, negatives), loss)
    assert torch.allclose(trace_matrix(x, positives, negatives), (c + c.mT) / 2)


@pytest.mark.parametrize(("n", "p", "q"), COUNTS)
def test_the_pairing_is_half_the_second_derivative_of_the_loss(n, p, q):
    def loss(u):
        anchors, positives, negatives = u.split([n, n * p, n * q])
        negatives = negatives.reshape(n, q, 1) if q else None
        return pair_loss(anchors, positives.reshape(n, p, 1), negatives)

    m = n * (1 + p + q)
    hessian = torch.autograd.functional.hessian(loss, draw(m, 1, purpose="u"))[:, 0, :, 0]
    s = pairing(n, p, q)
    assert torch.equal(2 * s, hessian)
    u = draw(2, m, 4, purpose="u")
    assert torch.allclose(pairing_product(u, n, p, q), s @ u)
    x = stacked(*pairs(n, p, q))
    assert x.shape == (2, m, 3)
    assert torch.allclose(x.mT @ s @ x, trace_matrix(*pairs(n, p, q)))
    edge = torch.full((n,), (p + q) ** 0.5 / 2, dtype=torch.float64)
    spectrum = torch.cat([-edge, torch.zeros(m - 2 * n, dtype=torch.float64), edge])
    assert torch.allclose(torch.linalg.eigvalsh(s), spectrum, atol=1e-12)


def all_choices(population, n, q):
    """Every way to draw q negatives for each of n anchors: `[choices, n, q, d]`."""
    index = torch.tensor(list(product(range(len(population)), repeat=n * q)))
    return population[index].reshape(-1, n, q, population.shape[-1])


@pytest.mark.parametrize(("p", "q"), [(1, 1), (1, 2), (2, 1), (2, 2)])
@pytest.mark.parametrize("random_anchors", [False, True])
def test_the_expected_matrix_is_the_mean_over_every_outcome(p, q, random_anchors):
    population = draw(3, 2, purpose="population") + 1.5
    n = 2 if random_anchors else 3
    anchors = all_choices(population, n, 1).squeeze(-2) if random_anchors else population.unsqueeze(0)
    negatives = all_choices(population, n, q)
    x = anchors.repeat_interleave(len(negatives), 0)
    negatives = negatives.repeat(len(anchors), 1, 1, 1)
    noise = draw(n, p, 2, purpose="noise")
    mean = sum(trace_matrix(x, x.unsqueeze(-2) + s * noise, negatives).mean(0) for s in (-1, 1)) / 2
    mu, second = population.mean(0), population.mT @ population / 3
    assert torch.allclose(expected_trace_matrix(mu, second, n, p, q), mean)


def test_where_the_data_are_not_centred_the_printed_mean_is_off():
    x = draw(50, 3) + torch.tensor([2.0, 0, -1], dtype=torch.float64)
    mean, second = x.mean(0), x.mT @ x / 50
    covariance = torch.cov(x.mT, correction=0)
    assert torch.allclose(expected_trace_matrix(mean, second, 50), -50 * covariance)
    assert not torch.allclose(expected_trace_matrix(mean, second, 50), -50 * second, rtol=0.1)
    assert torch.allclose(expected_trace_matrix(0 * mean, second, 50), -50 * second)
    assert torch.linalg.eigvalsh(expected_trace_matrix(mean, second, 50))[-1] < 0
    signs = torch.linalg.eigvalsh(expected_trace_matrix(mean, second, 50, p=1, q=4)).sign()
    assert signs.tolist() == [-1, -1, 1]  # more negatives than positives far off centre: not definite any more


def test_without_negatives_the_matrix_has_the_minus_sign_of_the_loss():
    x = draw(6, 3)
    c = trace_matrix(x, x.unsqueeze(-2))
    assert torch.allclose(c, -x.mT @ x)
    assert torch.linalg.eigvalsh(c)[-1] < 0
    assert torch.allclose(expected_trace_matrix(x.mean(0), x.mT @ x / 6, 6, q=0), c)


def test_a_run_is_the_same_alone_or_in_a_batch():
    points = pairs(4, 2, 3, run=(5,))
    alone = [part[2:3] for part in points]
    assert torch.allclose(trace_matrix(*points)[2:3], trace_matrix(*alone), rtol=1e-14)
    assert torch.allclose(pair_loss(*points)[2:3], pair_loss(*alone), rtol=1e-14)
    assert torch.equal(pairing_product(stacked(*points), 4, 2, 3)[2], pairing_product(stacked(*points)[2], 4, 2, 3))


@pytest.mark.parametrize(("dtype", "rounding"), [(torch.float32, 1e-5), (torch.float64, 1e-11)])
def test_a_matrix_off_symmetric_by_more_than_rounding_is_refused(dtype, rounding):
    c = torch.eye(3, dtype=dtype).repeat(2, 1, 1)
    off = torch.zeros_like(c)
    off[1, 0, 2] = rounding
    require_trace_matrix(1e6 * (c + off), "name")
    require_trace_matrix(torch.zeros_like(c), "name")
    with pytest.raises(
        ValueError, match=r"name: the matrix must be symmetric, got a difference of 1\.0e-0. of its largest entry"
    ):
        require_trace_matrix(1e6 * (c + 100 * off), "name")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: trace_matrix(draw(4, 3), draw(4, 3)), r"trace_matrix: the parts must be .*, got \(4, 3\), \(4, 3\)$"),
        (lambda: trace_matrix(draw(4, 3), draw(4, 1, 2)), "trace_matrix: the parts must be"),
        (lambda: trace_matrix(draw(4, 3), draw(4, 1, 3), draw(5, 1, 3)), r"the parts must be .*, \(5, 1, 3\)$"),
        (lambda: pair_loss(draw(4, 3), draw(4, 0, 3)), "pair_loss: the parts must be"),
        (lambda: stacked(draw(2, 4, 3), draw(4, 1, 3)), "stacked: the parts must be"),
        (lambda: require_pairs(draw(3), draw(3, 3), None, "name"), "name: the parts must be"),
        (lambda: pairing_product(draw(7, 2), 2, 1, 1), r"u must be \[..., 6, z\], got \(7, 2\)"),
        (lambda: pairing_product(draw(6, 2), 2, 0, 1), "n and p must be ≥ 1 and q ≥ 0, got n=2, p=0, q=1"),
        (lambda: pairing(0, 1, 1), "pairing: .* got n=0"),
        (lambda: expected_trace_matrix(draw(3), draw(2, 2), 4), "mean and second_moment must be .*, got mean"),
        (lambda: expected_trace_matrix(draw(2), draw(2, 2), 4, q=-1), "q=-1"),
        (
            lambda: require_trace_matrix(draw(2, 3), "name"),
            r"name: the matrix must be square and of floats, got \(2, 3\)",
        ),
        (lambda: require_trace_matrix(torch.eye(2, dtype=torch.int64), "name"), "int64"),
        (lambda: require_trace_matrix(torch.full((2, 2), torch.nan), "name"), "NaN or infinite"),
    ],
)
def test_bad_input_is_named(call, text):
    with one_line_error(ValueError, text):
        call()


def test_everything_stays_on_the_device_of_its_inputs():
    with elsewhere():
        points = [part.to(ELSEWHERE) for part in pairs(3, 2, 1)]
        c, u = trace_matrix(*points), stacked(*points)
        require_trace_matrix(c, "name")
        assert c.device == pairing_product(u, 3, 2, 1).device == ELSEWHERE
        assert (u.mT @ pairing(3, 2, 1, device=ELSEWHERE) @ u - c).abs().max().item() < 1e-12


def test_the_factor_of_a_mean_is_one_for_its_expectation_and_tells_what_is_lacking():
    expected = draw(3, 3)
    noise = draw(200, 3, 3, purpose="noise")
    around = expected + noise - noise.mean(0)
    assert mean_factor(around, expected) == pytest.approx(1)
    assert mean_factor(around, 2 * expected) == pytest.approx(0.5)
