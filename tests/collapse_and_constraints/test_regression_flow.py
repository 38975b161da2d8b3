import torch
from elsewhere import ELSEWHERE, elsewhere
from one_line_error import one_line_error

from contrastive_dynamics.collapse_and_constraints.regression_flow import regression_flow, regression_velocity
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.ranks import effective_rank


def draw(*shape, purpose="theta"):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


POINTS, LABELS, TIMES = draw(7, 4, purpose="x"), draw(7, 3, purpose="y"), torch.tensor([0, 0.1, 0.5]).double()


def gradient(theta):
    return torch.func.grad(lambda t: (POINTS @ t.mT - LABELS).square().sum() / 2)(theta)


def test_the_velocity_of_every_output_is_that_of_the_gradient_with_its_own_kernel_alone():
    theta, new = draw(3, 4), draw(5, 4, purpose="new")
    kernel = (new @ POINTS.mT).unsqueeze(-1)
    found = regression_velocity(kernel, POINTS @ theta.mT, LABELS)
    assert torch.allclose(found, -new @ gradient(theta).mT, rtol=1e-12)
    assert torch.allclose(regression_velocity(kernel.expand(-1, -1, 3), POINTS @ theta.mT, LABELS), found)


def test_an_output_does_not_see_the_labels_of_another():
    theta, other = draw(3, 4), LABELS.clone()
    other[:, 1:] = draw(7, 2, purpose="other")
    one, two = (regression_flow(theta, POINTS, labels, TIMES) for labels in (LABELS, other))
    assert torch.equal(one[:, 0], two[:, 0]) and not torch.allclose(one[1:, 1], two[1:, 1])


def test_the_flow_begins_at_its_start_and_follows_the_gradient():
    theta, h = draw(2, 3, 4), 1e-6
    path = regression_flow(theta, POINTS, LABELS, torch.cat([TIMES, TIMES + h]))
    assert path.shape == (6, 2, 3, 4) and torch.allclose(path[0], theta, atol=1e-12)
    slope = (path[3:] - path[:3]) / h
    exact = torch.stack([torch.stack([gradient(t) for t in some]) for some in path[:3]])
    assert torch.allclose(slope, -exact, rtol=1e-3, atol=1e-4)


def test_the_end_fits_the_labels_and_has_their_rank():
    theta, late = draw(4, 3, 4), torch.tensor([1e6]).double()
    end = POINTS @ regression_flow(theta, POINTS, LABELS, late)[0].mT
    best = POINTS @ torch.linalg.lstsq(POINTS, LABELS).solution
    assert torch.allclose(end, best.expand(4, -1, -1), atol=1e-9)
    alike = POINTS @ draw(4, 1, purpose="one").expand(-1, 3)
    end = POINTS @ regression_flow(theta, POINTS, alike, late)[0].mT
    assert torch.allclose(effective_rank(end), torch.ones(4).double(), atol=1e-9)


def test_a_direction_without_points_keeps_its_start():
    points = torch.cat([POINTS[:, :3], torch.zeros(7, 1).double()], -1)
    end = regression_flow(draw(3, 4), points, LABELS, torch.tensor([1e6]).double())[0]
    assert torch.allclose(end[:, 3], draw(3, 4)[:, 3], atol=1e-9) and bool(end.isfinite().all())


def test_other_arguments_are_refused_in_one_line():
    for call, said in (
        (lambda: regression_flow(draw(3, 5), POINTS, LABELS, TIMES), "theta0"),
        (lambda: regression_flow(draw(3, 4), POINTS, LABELS, -TIMES), "≥ 0"),
        (lambda: regression_velocity(draw(5, 7, 2), LABELS, LABELS), "kernel"),
    ):
        with one_line_error(ValueError, said):
            call()


def test_it_runs_on_another_device():
    with elsewhere():
        theta, points, labels, times = (t.to(ELSEWHERE) for t in (draw(2, 3, 4), POINTS, LABELS, TIMES))
        u = points @ theta[0].mT
        results = [
            regression_flow(theta, points, labels, times),
            regression_velocity((points @ points.mT).unsqueeze(-1), u, labels),
        ]
        assert {part.device for part in results} == {ELSEWHERE}
