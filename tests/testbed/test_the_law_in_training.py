"""Networks trained in the testbed end at the shares of the law; parts that a reader adds; bad input."""

import pytest
import torch
from plain_descent import Descent

from contrastive_dynamics.numerics.random_streams import streams
from contrastive_dynamics.testbed.canonical_correlations import canonical_correlations
from contrastive_dynamics.testbed.encoders import Linear, Threshold, TwoLayers
from contrastive_dynamics.testbed.experiment import train
from contrastive_dynamics.testbed.finite_batch import finite_batch_shares
from contrastive_dynamics.testbed.losses import Alignment, InfoNCE, Spectral
from contrastive_dynamics.testbed.optimisers import Adam, Relative, semi_orthogonal
from contrastive_dynamics.testbed.pairs import per_run
from contrastive_dynamics.testbed.paper_worlds import Moons
from contrastive_dynamics.testbed.scores import linear_map, score, shares
from contrastive_dynamics.testbed.soft_threshold import water_filling
from contrastive_dynamics.testbed.view_makers import Coupled, Native, Shuffled
from contrastive_dynamics.testbed.worlds import GivenCorrelations

RHO, SEEDS = [0.8, 0.5, 0.2], [1, 2]
TRAINED = {"seeds": SEEDS, "steps": 250, "batch": 128}


def ended(world, loss, network=None, optimiser=None, **more):
    network, optimiser = network or Linear(4), optimiser or Relative(0.1)
    return train(world, Native(), network, loss, optimiser=optimiser, **(TRAINED | more))


@pytest.mark.parametrize(
    ("network", "tied"), [(Linear(4), True), (Linear(4), False), (TwoLayers(6, 4), True), (Linear(2), True)], ids=repr
)
def test_infonce_ends_at_the_soft_threshold(network, tied):
    """One encoder, two, two layers, and fewer outputs than directions."""
    world = GivenCorrelations(RHO, 5, tied=tied)
    found = shares(ended(world, InfoNCE(0.8), network), world.moments())
    z = network.outputs
    law = water_filling(canonical_correlations(world.moments(), tied=tied), 0.8, z, tied=tied)
    assert (found - law).abs().max() < 0.05 and float(law[0, 2]) == 0


def test_arms_learn_what_each_learns_alone():
    """Their order aside: views that are equal are drawn once, and τ² is each arm's own."""
    world, short = GivenCorrelations(RHO, 5), {"seeds": SEEDS, "steps": 5, "batch": 16}
    losses = [InfoNCE(0.5, learned=True), Spectral(2.0, learned=True), InfoNCE(1.5, learned=True)]
    views = [Native(), Shuffled(), Native()]
    arms = train(world, views, Linear(3), losses, **short).arms(3)
    for arm, seen, loss in zip(arms, views, losses, strict=True):
        alone = train(world, seen, Linear(3), loss, **short)
        torch.testing.assert_close(arm.encoders, alone.encoders, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(arm.tau_squared, alone.tau_squared, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(arm.losses, alone.losses, rtol=1e-12, atol=1e-12)


def test_a_learned_temperature_counts_the_correlations():
    """From both sides it comes to the corrected sum, and τ²g to ρ."""
    world, at = GivenCorrelations(RHO, 5), []
    for start in (0.5, 4.0):
        done = ended(world, InfoNCE(start, learned=True), optimiser=Adam(0.05), steps=400)
        at.append(done.tau_squared)
        scaled = done.tau_squared.unsqueeze(-1) * shares(done, world.moments())
        assert (scaled[:, :3] - torch.tensor(RHO, dtype=torch.float64)).abs().max() < 0.12
    _, tau = finite_batch_shares(torch.tensor([*RHO, 0, 0], dtype=torch.float64), 128)
    assert 1.5 < float(tau) < 1.56
    assert (torch.cat(at) - tau).abs().max() < 0.12


def test_the_spectral_loss_is_the_law_for_sparse_views_and_positives_alone_collapse():
    world = GivenCorrelations(RHO, 5, "sparse")
    law = water_filling(canonical_correlations(world.moments(), tied=True), 0.8)
    assert (shares(ended(world, Spectral(0.8)), world.moments()) - law).abs().max() < 0.06
    alone = shares(ended(GivenCorrelations(RHO, 5), Alignment()), GivenCorrelations(RHO, 5).moments())
    assert float(alone[:, 0].min()) > 0.98


def test_scores_see_collapse_and_private_features():
    world = Moons([1.5, 1.0], 6, streams(SEEDS, 1, "rotation"))
    many = score(ended(world, InfoNCE(2.0), steps=120), Native(), 2000, SEEDS)
    alone = score(ended(world, Alignment(), steps=120), Native(), 2000, SEEDS)
    assert (alone.rank < 1.3).all() and (many.rank > 2).all() and (many.kept > alone.kept + 0.2).all()
    assert (many.align > 0.8).all() and (alone.balance < many.balance).all()
    assert (many.drop > 1).all() and (alone.drop > 2).all()  # negatives widen, they do not denoise
    mixed = train(world, Shuffled(), Linear(4), InfoNCE(2.0), **(TRAINED | {"steps": 60}))
    assert score(mixed, Shuffled(), 2000, SEEDS).align.abs().max() < 0.1


def test_runs_are_the_same_alone_and_in_a_batch():
    world = GivenCorrelations(RHO, 5)
    both, alone = (
        train(world, Native(), Linear(3), InfoNCE(1.0), seeds=s, steps=5, batch=16) for s in (SEEDS, SEEDS[1:])
    )
    assert torch.allclose(both.encoders[0]["w"][1], alone.encoders[0]["w"][0], rtol=1e-12, atol=0)


def test_a_constraint_holds():
    how = {"optimiser": Descent(0.1), "steps": 3, "constraint": semi_orthogonal}
    w = ended(GivenCorrelations(RHO, 5), Alignment("none"), **how).encoders[0]["w"]
    gram = w @ w.mT
    assert torch.allclose(gram, torch.eye(4, dtype=torch.float64).expand_as(gram))


class Clusters:
    """A world: 2^k clusters at the corners of a cube; k signs of unequal size are shared, a spread is private."""

    tied, inputs = True, 10

    def __init__(self, sizes=(2.0, 1.5, 1.0), spread=0.7):
        self.sizes, self.spread = torch.tensor(sizes, dtype=torch.float64), spread

    def shared(self, n, generators):
        return per_run(torch.rand, generators, n, len(self.sizes)).sub(0.5).sign()

    def private(self, n, generators):
        return self.spread * per_run(torch.randn, generators, n, self.inputs)

    def render(self, shared, private, modality):
        return torch.nn.functional.pad(shared * self.sizes, (0, self.inputs - len(self.sizes))) + private


def barlow(first, second, off=0.05):
    """A loss: cross-correlation towards the identity."""
    first, second = ((y - y.mean(1, keepdim=True)) / y.std(1, keepdim=True) for y in (first, second))
    one = torch.eye(first.shape[-1], dtype=first.dtype)
    return (first.mT @ second / first.shape[1] - one).square().mul(off + (1 - off) * one).sum((1, 2))


class Cubic:
    """A network: one layer of cubes."""

    def start(self, inputs, generators):
        return {"w": per_run(torch.randn, generators, 4, inputs) / inputs**0.5}

    def __call__(self, params, x):
        outputs = (x @ params["w"].mT) ** 3
        return outputs, outputs


def test_a_new_world_a_new_loss_and_a_new_network_in_under_25_lines():
    """A reader's parts fit; private features are dropped by either loss, and less so if both views share them."""
    for loss, network in ((InfoNCE(1.0), Linear(4)), (barlow, Linear(4)), (InfoNCE(1.0), Cubic())):
        done = train(Clusters(), Native(), network, loss, **(TRAINED | {"steps": 60}))
        coupled = train(Clusters(), Coupled(), network, loss, **(TRAINED | {"steps": 60}))
        drops = [score(each, Native(), 2000, SEEDS).drop for each in (done, coupled)]
        assert (drops[0] > drops[1]).all() and (isinstance(network, Cubic) or (drops[0] > 1.2).all())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Linear(0), "Linear: outputs must be ≥ 1, got 0"),
        (lambda: InfoNCE(0.0), r"InfoNCE: tau_squared and sides must be > 0 \(.*\) and 1 or 2, got 0\.0 and 2"),
        (lambda: InfoNCE(1.0, learned=True, divided=True), "InfoNCE: norm must be .* not both, got 'mean', .*"),
        (lambda: Alignment("max")(torch.ones(1, 2, 2), None), "norm must be one of mean, unit, none, got 'max'"),
        (lambda: Relative(-1.0), "Relative: rate must be > 0 and finite, got -1.0"),
        (
            lambda: ended(GivenCorrelations(RHO), InfoNCE(1.0), steps=0),
            "train: seeds, steps and batch must be ≥ 1, 1 and 2, got 2, 0 and 128",
        ),
        (
            lambda: ended(GivenCorrelations(RHO), Alignment("none"), optimiser=Descent(50.0), steps=200),
            "train: run 0 diverged at step .*, its loss is .*: lower the rate",
        ),
        (
            lambda: ended(Moons([1.0], 4, streams([1], 1, "r")), InfoNCE(1.0), start=[{"w": torch.ones(1, 3, 5)}]),
            r"train: network and views must fit, got w \[1, 3, 5\] and views of 4 inputs",
        ),
        (
            lambda: ended(GivenCorrelations(RHO), lambda f, g: -(f * g).mean()),
            r"train: a loss must be one number per run, \[2\], got \[\]",
        ),
        (
            lambda: ended(GivenCorrelations(RHO), [InfoNCE(1.0), InfoNCE(1.0, learned=True)]),
            r"train: losses of all arms must learn the same parameters, got \[\[\], \['log_tau_squared'\]\]",
        ),
        (
            lambda: train(GivenCorrelations(RHO), [Native()] * 2, Linear(2), [Alignment()] * 3, **TRAINED),
            "train: views and losses must be one, or one per arm, got 2 and 3",
        ),
        (
            lambda: linear_map(Threshold(3, 0.5), {"w": torch.randn(1, 3, 4)}, 4),
            "linear_map: the network must be linear, got Threshold that is not",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        call()
