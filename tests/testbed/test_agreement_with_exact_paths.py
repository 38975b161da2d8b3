"""One step of the generic path against each exact kernel, from one start and one batch, in float64."""

from dataclasses import dataclass

import pytest
import torch
from plain_descent import Descent

from contrastive_dynamics.alignment_and_balance.head_training import pair_losses
from contrastive_dynamics.alignment_and_balance.model import Signs, sample_signs
from contrastive_dynamics.alignment_and_balance.two_modality_descent import batch_velocity
from contrastive_dynamics.collapse_and_constraints.infonce_descent import infonce_of_views
from contrastive_dynamics.collapse_and_constraints.orthogonal_descent import Weights, descent_step
from contrastive_dynamics.collapse_and_constraints.pair_losses import trace_matrix
from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.feature_decoupling.symmetrised_relu import contrastive_gradient, contrastive_loss_value
from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.losses.named_losses import contrastive_loss
from contrastive_dynamics.losses.pairwise_importance import half_squared_distances, infonce_loss
from contrastive_dynamics.nonlinearity.networks.field_network import FieldNetwork
from contrastive_dynamics.nonlinearity.networks.field_network import Weights as FieldWeights
from contrastive_dynamics.nonlinearity.networks.token_batch import token_batches
from contrastive_dynamics.nonlinearity.networks.token_generators import draw_generators
from contrastive_dynamics.nonlinearity.two_layers.batch_norm import Statistics
from contrastive_dynamics.numerics.random_streams import streams
from contrastive_dynamics.testbed.encoders import Fields, Linear, Threshold, TwoLayers
from contrastive_dynamics.testbed.experiment import train
from contrastive_dynamics.testbed.losses import Bilinear, InfoNCE, normalised
from contrastive_dynamics.testbed.optimisers import semi_orthogonal
from contrastive_dynamics.testbed.pairs import per_run
from contrastive_dynamics.testbed.paper_worlds import Modalities, Moons, SparseCodes, Tokens
from contrastive_dynamics.testbed.view_makers import Coupled, Native

SEEDS, RATE, BATCH = [3, 8], 0.05, 12


@dataclass(frozen=True)
class AnchorInfoNCE:
    """Mean cross entropy of the positive f_i·f_i'/τ among the first views' f_i·f_j/τ, unit outputs: the author's form.

    Source: tian-2023, eq. (1) over τN with ε = 1; negatives are first views only, and only they are compared.
    """

    tau: float

    def __call__(self, first, second):
        first, second, _ = normalised(first, second, None, "unit")
        return infonce_loss(first, second, self.tau, 1.0) / (self.tau * first.shape[-2])


@dataclass(frozen=True)
class PairWeighted:
    """−weight(n)·E_α with α held constant: a loss of `named_losses`, right in its gradient.

    Source: tian-2023, eqs. (2), (3).
    """

    name: str
    norm: str = "unit"

    def __call__(self, first, second):
        first, second, _ = normalised(first, second, None, self.norm)
        loss, n = contrastive_loss(self.name), first.shape[-2]
        own = (first - second).square().sum(-1, keepdim=True) / 2
        gaps = half_squared_distances(first) - own
        if loss.importance is not None:
            gaps = loss.importance(first.detach(), second.detach()) * gaps
        return -loss.weight(n) * gaps.sum((-2, -1)) / (2 * n * n)


@dataclass(frozen=True)
class StoppedInfoNCE:
    """−τ mean log ℓ_p over raw inner products, whose second arguments are held fixed; needs strangers.

    Source: wen-li-2021, eq. (2.2) and Appendix A.1.
    """

    temperature: float

    def __call__(self, first, second, strangers):
        return contrastive_loss_value(first, second.detach(), strangers[0].detach(), self.temperature)


def stepped(world, network, loss, start, views=Native(), **more):  # noqa: B008
    """The parameters of each encoder after one plain step from a start, and the loss before it."""
    done = train(
        world, views, network, loss, seeds=SEEDS, steps=1, batch=BATCH, optimiser=Descent(RATE), start=start, **more
    )
    return done.encoders, done.losses[0]


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def sparse():
    return SparseCodes(SparseCoding(random_dictionary(12, 4, streams(SEEDS, 1, "dictionary")), 0.2, 0.3))


@pytest.mark.parametrize("level", [0.0, 0.15])
def test_symmetrised_relu(level):
    """wen-li-2021: masked positives, negatives that are not masked, the second argument held fixed."""
    world, network = sparse(), Threshold(6, level, trained=True)
    start = network.start(world.inputs, streams(SEEDS, 1, "start"))
    (ended,), losses = stepped(world, network, StoppedInfoNCE(3.0), [start], strangers=(Coupled(), 9))
    pairs = world.pairs(BATCH, streams(SEEDS, 1, "data"))
    negatives = Coupled()(world, 9, streams(SEEDS, 1, "strangers")).first
    exact = contrastive_gradient(start["w"], start["b"], pairs.first, pairs.second, negatives, 3.0)
    close(losses, exact.loss)
    close(ended["w"], start["w"] - RATE * exact.weights)
    if level:  # at b = 0 both ReLUs switch at once: the kernel's indicator is one choice of subgradient
        close(ended["b"], start["b"] - RATE * exact.bias)


def test_heads_with_k_negatives():
    """ren-li-2023: CLIP's loss with K times the mean over the batch, divided by τ²; value and gradient."""
    torch.manual_seed(0)
    f, g = (torch.randn(2, 7, 5, dtype=torch.float64, requires_grad=True) for _ in range(2))
    tau, k = torch.tensor([0.7, 2.5], dtype=torch.float64), 40.0
    ours = InfoNCE((0.7, 2.5), norm="none", negatives=k, divided=True)(f, g)
    theirs = pair_losses(f, g, torch.tensor([True, True]), tau, torch.full((2,), k, dtype=torch.float64))
    close(ours, theirs)
    close(torch.autograd.grad(ours.sum(), [f, g]), torch.autograd.grad(theirs.sum(), [f, g]))
    plain = InfoNCE(2.0, norm="none")(f, g) / 2.0
    six = torch.full((2,), 6.0, dtype=torch.float64)
    close(plain, pair_losses(f, g, torch.tensor([True, True]), torch.full((2,), 2.0).double(), six))


@pytest.mark.parametrize("contrastive", [True, False])
def test_two_modalities(contrastive):
    """ren-li-2023, Algorithm 3.1: mean norms over the positives, negatives of each modality of their own."""
    sigma = torch.tensor([1.5, 1.0, 0.7], dtype=torch.float64)
    world, network = Modalities(sigma, 0.4, 5), Linear(4)
    start = [network.start(5, streams(SEEDS, 1, name)) for name in ("start", "start of the second")]
    loss = InfoNCE(2.0, negatives=50.0, divided=True)
    ended, _ = stepped(world, network, loss, start, strangers=(Native(), 9)) if contrastive else (None, None)
    if not contrastive:
        from contrastive_dynamics.testbed.losses import Alignment

        ended, _ = stepped(world, network, Alignment(), start)
    positive = Signs(*sample_signs(3, 5, BATCH, streams(SEEDS, 1, "data")))
    negative = Signs(*sample_signs(3, 5, 9, streams(SEEDS, 1, "strangers")))
    maps = [part["w"] * world.scales for part in start]
    given = (2.0, 50.0) if contrastive else (None, None)
    moves = batch_velocity(*maps, world.scales, positive, negative, *given)
    for end, map_, move in zip(ended, maps, moves, strict=True):
        close(end["w"] * world.scales, map_ + RATE * move)


@pytest.mark.parametrize("negatives", [True, False])
def test_semi_orthogonal_layers(negatives):
    """esser-2023, eq. (11): a bilinear loss, both layers retracted by the polar factor."""
    world = Moons([1.0, 0.6], 5, streams(SEEDS, 1, "rotation"))
    network = TwoLayers(7, 3, orthogonal=True)
    start = network.start(5, streams(SEEDS, 1, "start"))
    strangers = (Native(), BATCH) if negatives else None
    (ended,), losses = stepped(
        world, network, Bilinear(negatives), [start], constraint=semi_orthogonal, strangers=strangers
    )
    pairs = Native()(world, BATCH, streams(SEEDS, 1, "data"))
    others = Native()(world, BATCH, streams(SEEDS, 1, "strangers")).second.unsqueeze(2)
    c = trace_matrix(pairs.first, pairs.second.unsqueeze(2), others if negatives else None)
    exact = descent_step(Weights(start["w1"], start["w2"]), c, RATE)
    close(losses, ((m := start["w1"].mT @ start["w2"]) * (c @ m)).sum((-2, -1)))
    close((ended["w1"], ended["w2"]), tuple(exact))


def test_infonce_of_one_side():
    """esser-2023, Remark 2: dot products, negatives the other views, no norm."""
    world, network = Moons([1.0, 0.6], 5, streams(SEEDS, 1, "rotation")), Linear(3)
    start = network.start(5, streams(SEEDS, 1, "start"))
    _, losses = stepped(world, network, InfoNCE(1 / 0.3, norm="none", sides=1), [start])
    pairs = Native()(world, BATCH, streams(SEEDS, 1, "data"))
    close(losses, infonce_of_views(start["w"], pairs.first, pairs.second, 0.3))


@pytest.mark.parametrize("batch_norm", ["off", "mean", "both"])
@pytest.mark.parametrize("act", ["relu", "linear"])
def test_fields_with_the_author_s_loss(act, batch_norm):
    """tian-2023: unit outputs, negatives first views, positives in the denominator; first and second views apart."""
    pool = draw_generators(streams(SEEDS, 1, "pool"), 8, 4, 2, 6, 3)
    world, network = Tokens(pool), Fields(4, 3, 5, act, batch_norm)
    start = network.start(world.inputs, streams(SEEDS, 1, "start"))
    exact_network = FieldNetwork(activation(act), Statistics.of([batch_norm]))
    tokens = pool.views(streams(SEEDS, 1, "data"), BATCH, 1)
    (batch,) = token_batches(tokens, 6, 2 if batch_norm != "off" else 1, torch.float64)
    raw = Uncentred(world)
    (ended,), losses = stepped(raw, network, AnchorInfoNCE(0.1), [start])
    weights = FieldWeights(start["w"], start["v"])
    gradients = exact_network.gradients(weights, batch, contrastive_loss("infonce"))
    close((ended["w"], ended["v"]), (start["w"] - RATE * gradients.w, start["v"] - RATE * gradients.v))
    z, z_view = exact_network.outputs(weights, batch).chunk(2, -2)
    logits = (z / 0.1) @ z.mT
    logits.diagonal(dim1=-2, dim2=-1).copy_((z * z_view).sum(-1) / 0.1)
    close(losses, (logits.logsumexp(-1) - logits.diagonal(dim1=-2, dim2=-1)).mean(-1))


class Uncentred:
    """Tokens as the author has them: one-hot, without the means taken out."""

    def __init__(self, world):
        self.world, self.tied, self.inputs, self.shared, self.private = (
            world, world.tied, world.inputs, world.shared, world.private
        )  # fmt: skip

    def render(self, shared, private, modality):
        return self.world.render(shared, private, modality) + self.world.centre

    def pairs(self, n, generators):
        pairs = self.world.pairs(n, generators)
        return pairs._replace(first=pairs.first + self.world.centre, second=pairs.second + self.world.centre)


@pytest.mark.parametrize("name", ["infonce", "quadratic", "gaussian", "triplet"])
def test_pair_weighted_losses(name):
    """tian-2023, eqs. (2), (3): the gradient with importances held constant; InfoNCE's also that of its value."""
    torch.manual_seed(1)
    f, g = (torch.randn(2, 6, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    exact = contrastive_loss(name).gradient(f.detach(), g.detach())
    close(torch.autograd.grad(PairWeighted(name, norm="none")(f, g).sum(), [f, g]), exact)
    if name == "infonce":
        of_value = torch.autograd.grad(AnchorInfoNCE(0.1)(f, g).sum(), [f, g])
        close(torch.autograd.grad(PairWeighted(name)(f, g).sum(), [f, g]), of_value)


def test_native_pairs_are_the_papers_in_their_streams():
    pool = draw_generators(streams(SEEDS, 1, "pool"), 8, 4, 2, 6, 3)
    world = Tokens(pool)
    tokens = pool.views(streams(SEEDS, 1, "d"), 5, 1)[0]
    shown = world.pairs(5, streams(SEEDS, 1, "d"))
    both = torch.cat([shown.first, shown.second], 1) + world.centre
    assert torch.equal(both.round().unflatten(-1, (4, 6)).argmax(-1), tokens.long())
    codes = sparse()
    _, x = codes.model.sample(5, g := streams(SEEDS, 1, "d"))
    close(codes.pairs(5, streams(SEEDS, 1, "d"))[:2], codes.model.views(x, g))
    assert per_run(torch.rand, streams(SEEDS, 1, "d"), 2).shape == (2, 2)
