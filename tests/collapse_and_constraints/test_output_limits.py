import itertools

import pytest
import torch

from contrastive_dynamics.collapse_and_constraints.constrained_flow import (
    flow_map,
    iterate,
    largest_rate,
    limit_projector,
    limit_rank,
    output_flow,
    output_velocity,
    polar_velocity,
    projector_velocity,
)
from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import descend, draw_weights, outputs
from contrastive_dynamics.numerics.random_streams import stream

MIXED = torch.tensor([-2.0, -1.0, 0.5, 1.5], dtype=torch.float64)
VELOCITIES = [output_velocity, polar_velocity]


def draw(run, h, d, z):
    return draw_weights([stream(0, k, "w1") for k in range(run)], [stream(0, k, "w2") for k in range(run)], h, d, z)


def starts(run, d, z, h=40):
    return outputs(draw(run, h, d, z))


def gram(q):
    return q @ q.mT


@pytest.mark.parametrize("h", [4, 5, 6, 9])
def test_narrow_layers_have_unit_singular_values(h):
    q = starts(20, 4, 3, h)
    assert ((torch.linalg.svdvals(q) > 1 - 1e-12).sum(-1) == max(4 + 3 - h, 0)).all()
    assert limit_rank(q, -MIXED.abs()).tolist() == [3] * 20
    assert limit_rank(q, MIXED.abs()).tolist() == [max(7 - h, 0)] * 20
    assert limit_rank(q, MIXED).tolist() == [max(7 - h, 2)] * 20


def rest_point(j, z):
    return torch.eye(4, dtype=torch.float64)[:, [*j, *[0] * (z - len(j))]] * (torch.arange(z) < len(j))


def expected_rates(j, z):
    """Rates of q at the rest point with columns e_j: within j, turns out of j, further columns, rotations qR."""
    lam, k = MIXED.tolist(), len(j)
    out = [i for i in range(4) if i not in j]
    within = [4 * (lam[a] + lam[b]) for a, b in itertools.combinations_with_replacement(j, 2)]
    turns = [-2 * (lam[b] - lam[a]) for a in j for b in out]
    further = [-4 * lam[b] for b in out] * (z - k)
    return sorted(within + turns + further + [0.0] * (k * (k - 1) // 2 + k * (z - k)))


@pytest.mark.parametrize("z", [1, 2, 3])
def test_rates_at_every_rest_point(z):
    for k in range(z + 1):
        for j in itertools.combinations(range(4), k):
            q = rest_point(j, z)
            assert output_velocity(q, MIXED).abs().max() == 0
            jacobian = torch.autograd.functional.jacobian(lambda x: output_velocity(x, MIXED), q)
            rates = torch.linalg.eigvals(jacobian.reshape(4 * z, 4 * z))
            assert rates.imag.abs().max() < 1e-6
            assert torch.allclose(rates.real.sort().values, torch.tensor(expected_rates(j, z)).double(), atol=1e-6)


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_rates_of_the_projector(k):
    p = torch.diag((torch.arange(4) < k).double())
    for a, b in itertools.combinations_with_replacement(range(4), 2):
        e = torch.zeros(4, 4, dtype=torch.float64)
        e[a, b] = e[b, a] = 1
        moved = torch.func.jvp(lambda x: projector_velocity(x, MIXED), (p,), (e,))[1]
        low, high = MIXED[a], MIXED[b]
        rate = 4 * (low + high) if b < k else -4 * (low + high) if a >= k else -2 * (high - low)
        assert torch.allclose(moved, rate * e, atol=1e-13)


def multipliers(lam, q, rate):
    n = q.numel()
    jacobian = torch.autograd.functional.jacobian(lambda x: flow_map(x, lam, rate), q).reshape(n, n)
    return torch.linalg.eigvals(jacobian).abs()


@pytest.mark.parametrize("z", [1, 2, 3])
@pytest.mark.parametrize(
    "lam", [MIXED, [-2, -1, 0.5, 9], [2, 2.5, 2.7, 3], [-4, -3, -2, -1], [-1, 2, 3, 4], [-1, -0.9, -0.8, 0.5]]
)
def test_the_largest_rate_is_where_the_limit_stops_attracting(lam, z):
    lam = torch.as_tensor(lam, dtype=torch.float64)
    bound = float(largest_rate(lam, z))
    k = min(z, int((lam < 0).sum()))
    q = rest_point(range(k), z)
    below, above = multipliers(lam, q, 0.999 * bound), multipliers(lam, q, 1.001 * bound)
    neutral = k * (k - 1) // 2 + k * (z - k)
    assert (below < 1 - 1e-6).sum() == 4 * z - neutral and above.max() > 1 + 1e-6
    near = (q + 1e-3 * torch.ones_like(q)).unsqueeze(0)
    rests = [(gram(iterate(flow_map, near, lam, r * bound, 400, 400)[-1]) - gram(q)).norm() for r in (0.9, 1.1)]
    assert rests[0] < 1e-6 and not rests[1] < 1e-2


def test_theorem_3_has_a_stability_bound_of_a_quarter():
    assert float(largest_rate(MIXED)) == 1 / 8
    assert largest_rate(torch.stack((MIXED.abs(), MIXED, -MIXED))).tolist() == [1 / 4, 1 / 8, 1 / 6]


@pytest.mark.parametrize("velocity", VELOCITIES)
@pytest.mark.parametrize("z", [1, 2, 3, 4])
def test_random_starts_go_to_the_smallest_eigenvectors(z, velocity):
    for lam in (MIXED.flip(0), MIXED.abs(), -MIXED.abs()):
        q = starts(20, 4, z)
        path = output_flow(q, lam, torch.tensor([0.0, 25.0], dtype=q.dtype), velocity, rtol=1e-6, atol=1e-8)
        limit = limit_projector(q, lam)
        assert torch.allclose(gram(path[-1]), limit, atol=1e-5)
        k = min(z, int((lam < 0).sum()))
        assert torch.allclose((limit @ lam).sum(-1), lam.sort().values[:k].sum())


@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("h", [4, 5, 6])
def test_unit_singular_values_stay_when_the_weights_move(h, project):
    w, lam = draw(20, h, 4, 3), MIXED + 1.6  # one negative eigenvalue, 7 − h unit singular values
    q = outputs(w)
    end = outputs(descend(w, torch.diag(lam), 0.04, 1000, project=project).weights)
    assert torch.allclose(gram(end), limit_projector(q, lam), atol=1e-5)
    assert limit_rank(q, lam).tolist() == [7 - h] * 20


def test_only_a_tie_at_the_rank_leaves_the_limit_open():
    q = starts(1, 4, 2)
    for lam, chosen in (([-2, -2, 1, 1], [1, 1, 0, 0]), ([3, -1, 3, 2], [0, 1, 0, 0])):
        assert limit_projector(q, torch.tensor(lam, dtype=q.dtype))[0].diagonal().tolist() == chosen


def test_starts_that_theorem_3_leaves_out():
    q = starts(8, 4, 1)
    q[:, 0] = 0  # orthogonal to e_1: the next negative eigenvector, or 0
    times = torch.tensor([0.0, 25.0], dtype=q.dtype)
    assert torch.allclose(gram(output_flow(q, MIXED, times)[-1]), torch.diag(torch.eye(4).double()[1]), atol=1e-6)
    assert output_flow(q, MIXED + 1.5, times)[-1].abs().max() < 1e-6


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_follows_the_input(dtype):
    q, lam = starts(3, 4, 2).to(dtype), MIXED.to(dtype)
    for result in (limit_projector(q, lam, tol=1e-4), largest_rate(lam)):
        assert result.dtype == dtype and bool(result.isfinite().all())


@pytest.mark.parametrize(
    ("lam", "text"),
    [
        (MIXED * (MIXED != -1), "lam must be nonzero with a gap above the k-th, got an eigenvalue 0"),
        (torch.tensor([-1.0, -1, 1, 2]), "or a k-th equal to the next"),
    ],
)
def test_bad_input_is_named(lam, text):
    with pytest.raises(ValueError) as caught:
        limit_projector(starts(1, 4, 1), lam)
    assert text in str(caught.value) and "\n" not in str(caught.value)
