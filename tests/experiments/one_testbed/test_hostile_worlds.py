"""Worlds made to break the law: they keep what they promise, and small runs break or hold as they should."""

import pytest
import torch

from contrastive_dynamics.numerics.random_streams import streams
from experiments.one_testbed.hostile_worlds import (
    BROKEN,
    DEPENDENT,
    DRAWS,
    MEAN,
    RHO,
    Hostile,
    broken_worlds,
    hostile_runs,
    law_error,
    maps,
    mended_law,
    mended_worlds,
    unbroken_worlds,
)

SPECTRUM = torch.tensor(RHO, dtype=torch.float64)


@pytest.mark.parametrize("name", DRAWS)
def test_every_world_has_the_same_moments(name):
    n, runs = (400, 100) if name == "time series" else (20_000, 2)  # a batch of a time series is one long excursion
    first, second = (x.flatten(0, 1) for x in DRAWS[name](n, streams(range(runs), 1, "moments")))
    slack = {"heavy tails": 0.5, "outliers": 0.5, "shared radius": 0.15, "time series": 0.15}.get(name, 0.06)
    for view in (first, second):
        assert torch.allclose(torch.cov(view.mT), torch.eye(6, dtype=torch.float64), atol=slack)
        expected = torch.tensor([MEAN if name == "not centred" else 0.0] + [0.0] * 5, dtype=torch.float64)
        assert torch.allclose(view.mean(0), expected, atol=0.15 if name == "time series" else 0.04)
    cross = torch.cov(torch.cat([first, second], -1).mT)[:6, 6:]
    assert torch.allclose(cross, torch.diag(SPECTRUM), atol=slack)


def test_what_holds_has_gaussian_marginals_where_it_is_shared_and_depends_beyond_correlation():
    for name, known in DEPENDENT.items():
        first, second = (x.flatten(0, 1) for x in DRAWS[name](20_000, streams([1, 2], 1, "marginals")))
        shared = SPECTRUM > 0
        for view in (first, second):
            assert torch.allclose(view.pow(4).mean(0)[shared], torch.tensor(3.0).double(), atol=0.2)
        both = torch.corrcoef(torch.cat([first.abs(), second.abs()], -1).mT)[:6, 6:].diagonal()
        assert (both[torch.tensor(known) == 1] > 0.3).all()  # |z| tells |z'|, where z does not tell z'


def test_views_are_seen_through_maps():
    names = ("unequal views", "ill-conditioned", "normal")
    world = Hostile(names)
    pairs = world.pairs(5000, streams([3, 3, 3], 1, "data"))
    assert pairs.first.shape == (3, 5000, 6) and pairs.shared.shape == (3, 5000, 0)
    for k, name in enumerate(names):
        for view, of in zip((pairs.first, pairs.second), maps(name), strict=True):
            assert torch.allclose(torch.cov(view[k].mT), of @ of.mT, atol=0.15)
    assert float(torch.linalg.cond(maps("ill-conditioned")[0])) ** 2 == pytest.approx(1e6)


def test_small_runs_break_hold_and_are_mended():
    runs = hostile_runs([1, 2], steps=120, batch=96)
    assert set(runs) == set(DRAWS) and runs["normal"]["H"].shape == (2, 6, 6)
    broken, unbroken, mended = broken_worlds(runs), unbroken_worlds(runs), mended_worlds(runs, 1)
    assert set(broken["observed"]) == set(BROKEN) and set(unbroken["observed"]) == set(DEPENDENT)
    assert (
        min(float(x.mean()) for x in broken["observed"].values()) > 0.1 > float(broken["control"]["normal views"].max())
    )
    assert max(float(x.mean()) for x in unbroken["observed"].values()) < 0.1
    assert float(unbroken["control"]["dependence for correlation"].min()) > 0.8
    assert (
        max(float(x.mean()) for x in mended["observed"].values())
        < 0.15
        < float(broken["observed"]["time series"].mean())
    )


def test_a_fixed_temperature_hides_little_of_it():
    """Normal views have the soft threshold's shares at τ² = 1; views that are not centred do not."""
    runs = hostile_runs([1], ("normal", "not centred"), 1.0, steps=120)
    law = torch.tensor([0.8, 0.5, 0.2, 0, 0, 0]).double() / 1.5  # μ = 1/6
    assert float(law_error(runs["normal"], law, 1.0)) < 0.05 < 0.3 < float(law_error(runs["not centred"], law, 1.0))


def test_the_error_sees_what_lies_off_the_diagonal():
    """A network of one output can have every share right, and is no soft threshold."""
    root = SPECTRUM.sqrt()
    one = {"τ²": SPECTRUM.sum().view(1), "H": torch.outer(root, root)[None]}
    right = {"τ²": SPECTRUM.sum().view(1), "H": torch.diag(SPECTRUM)[None]}
    assert float(law_error(right, SPECTRUM, 1.6)) < 1e-12 < 0.5 < float(law_error(one, SPECTRUM, 1.6))


@pytest.mark.parametrize("name", ["not centred", "unequal views"])
def test_the_mended_law_is_where_the_population_loss_is_least(name):
    """The loss of Gaussian views of mean m, seen through A and B: at the predicted H and τ², and around it."""
    (a, b), m = maps(name), torch.zeros(6, dtype=torch.float64)
    m[0] = MEAN if name == "not centred" else 0.0
    h, tau = mended_law(name, 1)

    def loss(u, t):
        u, v = u @ a, u @ b
        sizes = [w.square().sum() + (w @ m).square().sum() for w in (u, v)]
        g = t * u.mT @ v / (sizes[0] * sizes[1]).sqrt()
        positives = (g.diagonal() * SPECTRUM).sum() + m @ g @ m
        spread = sum((w @ w.mT).trace() / 2 + (w @ m).square().sum() / 2 for w in (g, g.mT))
        return float(spread + 2 * m @ g @ m - 2 * positives)

    scale = (a * b).diagonal()
    best = torch.diag((h / scale).sqrt())
    assert loss(best, tau) == pytest.approx(-float((h * SPECTRUM).sum()), rel=1e-9)
    generator = torch.Generator().manual_seed(0)
    for size in (0.05, 0.3):
        other = best + size * torch.randn(6, 6, generator=generator, dtype=torch.float64)
        assert loss(other, tau * (1 + size)) > loss(best, tau) and loss(best, tau * (1 + size)) > loss(best, tau)
