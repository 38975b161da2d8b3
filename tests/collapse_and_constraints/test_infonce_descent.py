import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from one_line_error import one_line_error

from contrastive_dynamics.collapse_and_constraints.infonce_descent import (
    FORMS,
    descend_infonce,
    infonce_matrix,
    infonce_of_views,
)
from contrastive_dynamics.losses.pairwise_importance import infonce_loss
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.ranks import effective_rank


def draw(*shape, purpose="theta"):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


THETA, X = draw(2, 3, 5), draw(2, 8, 5, purpose="x")
VIEWS = X + draw(2, 8, 5, purpose="noise")


@pytest.mark.parametrize("form", FORMS)
def test_the_gradient_is_twice_the_weights_times_the_matrix(form):
    gradient = torch.func.grad(lambda t: infonce_of_views(t, X, VIEWS, 0.7, form).sum())(THETA)
    c = infonce_matrix(THETA, X, VIEWS, 0.7, form)
    assert torch.allclose(gradient, 2 * THETA @ c, rtol=1e-10) and torch.allclose(c, c.mT, atol=1e-14)


def test_the_loss_is_the_cross_entropy_of_its_similarities():
    u, v = X @ THETA.mT, VIEWS @ THETA.mT
    target = torch.arange(8).expand(2, 8)
    for form, s in (("dot", u @ v.mT), ("distance", -torch.cdist(u, v).square() / 2)):
        expected = torch.nn.functional.cross_entropy((s / 0.7).mT, target, reduction="none").mean(-1)
        assert torch.allclose(infonce_of_views(THETA, X, VIEWS, 0.7, form), expected)
    shared = infonce_loss(u, v, 0.7, 1.0) / (0.7 * 8)
    assert torch.allclose(infonce_of_views(THETA, X, VIEWS, 0.7, "anchors"), shared)


@pytest.mark.parametrize("form", FORMS)
def test_descent_lowers_the_loss_and_comes_to_rest(form):
    x = draw(2, 30, 5, purpose="thirty")
    given = x, x + draw(2, 30, 5, purpose="thirty more"), 1.0, form
    path = descend_infonce(THETA, *given, 600, 50)
    loss = torch.stack([infonce_of_views(t, *given) for t in path])
    assert path.shape == (13, 2, 3, 5) and torch.equal(path[0], THETA)
    assert bool((loss.diff(dim=0) <= 0).all()) and bool((loss[-2] - loss[-1] < 1e-4).all())


def test_a_run_is_the_same_alone():
    both, alone = (descend_infonce(THETA[:k], X[:k], VIEWS[:k], 1.0, "dot", 30) for k in (2, 1))
    assert torch.allclose(both[:, :1], alone)


def test_from_small_starts_the_rank_falls_first_and_rises_at_the_end():
    scale = torch.tensor([2.0, 1.2, 1, 0.8, 0.6]).double()
    x = scale * draw(1, 40, 5, purpose="many")
    path = descend_infonce(1e-6 * THETA[:1], x, x + draw(1, 40, 5, purpose="more"), 1.0, "dot", 500)
    rank = effective_rank(x @ path.mT)[:, 0]
    assert rank.min() < 1.1 < 2 < rank[-1]


def test_other_arguments_are_refused_in_one_line():
    for call, said in (
        (lambda: infonce_of_views(THETA, X, VIEWS[..., :4], 1.0), "theta, x, views"),
        (lambda: infonce_matrix(THETA, X, VIEWS, 0.0), "tau"),
        (lambda: infonce_matrix(THETA, X, VIEWS, 1.0, "cosine"), "cosine"),
        (lambda: descend_infonce(THETA, X, VIEWS, 1.0, steps=0), "steps"),
    ):
        with one_line_error(ValueError, said):
            call()


@pytest.mark.parametrize("form", FORMS)
def test_it_runs_on_another_device(form):
    with elsewhere():
        given = [part.to(ELSEWHERE) for part in (THETA, X, VIEWS)]
        results = [infonce_matrix(*given, 1.0, form), descend_infonce(*given, 1.0, form, 3)]
        assert {part.device for part in results} == {ELSEWHERE}
