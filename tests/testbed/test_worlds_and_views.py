import math

import pytest
import torch

from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.feature_decoupling.view_correlation import cross_moment, second_moment
from contrastive_dynamics.nonlinearity.networks.token_generators import draw_generators
from contrastive_dynamics.numerics.random_streams import streams
from contrastive_dynamics.testbed.canonical_correlations import (
    canonical_axes,
    canonical_correlations,
    held_out_correlations,
    noise_correlation,
)
from contrastive_dynamics.testbed.pairs import Moments, sample_moments
from contrastive_dynamics.testbed.paper_worlds import Modalities, Moons, SparseCodes, Tokens
from contrastive_dynamics.testbed.view_makers import Apart, Coupled, Masked, Native, Noisy, Shuffled
from contrastive_dynamics.testbed.worlds import LAWS, GivenCorrelations, exact_moments, require_world

SEEDS, SAMPLE = [1, 2], 20_000


def worlds():
    sigma = torch.tensor([2.0, 1.0], dtype=torch.float64)
    model = SparseCoding(random_dictionary(10, 3, streams(SEEDS, 1, "dictionary")), 0.2, 0.3)
    return {
        "tokens": Tokens(draw_generators(streams(SEEDS, 1, "pool"), 6, 3, 2, 4, 2)),
        "moons": Moons([1.5, 0.6], 6, streams(SEEDS, 1, "rotation")),
        "modal": Modalities(sigma, 0.8, 5),
        "sparse": SparseCodes(model),
        "given": GivenCorrelations([0.9, 0.4], 4),
        "signs": GivenCorrelations([0.9, 0.4], 4, "signs", tied=False),
        "few": GivenCorrelations([0.9, 0.4], 4, "sparse"),
    }


WORLDS = worlds()


def gap(exact: Moments, sampled: Moments) -> float:
    """The largest difference of moments, over the largest moment."""
    return max(float((a - b).abs().max() / exact.first.abs().max()) for a, b in zip(exact, sampled, strict=True))


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("views", [Native(), Apart(), Coupled(), Masked(0.3), Noisy(0.5), Shuffled()], ids=repr)
def test_exact_moments_are_those_of_samples(name, views):
    world = WORLDS[name]
    if not world.tied and isinstance(views, Coupled | Masked | Noisy):
        with pytest.raises(ValueError, match="exact moments need a world of one encoder, got"):
            views.moments(world)
        return
    pairs = views(world, SAMPLE, streams(SEEDS, 1, f"{name} {views}"))
    within = 0.15 if name == "few" else 0.05  # means of squares of heavy tails
    assert gap(views.moments(world), sample_moments(pairs)) < within
    assert float(pairs.first.mean(1).abs().max()) < 0.1


def test_the_moments_of_masks_are_those_of_the_paper():
    world = WORLDS["sparse"]
    for moments in (Native().moments(world), Masked(0.5).moments(world)):
        assert torch.allclose(moments.cross, cross_moment(world.model), atol=1e-14)
        assert torch.allclose(moments.first, second_moment(world.model), atol=1e-14)


def test_the_moments_of_tokens_by_enumeration():
    """All generators and all fillings of two views, one run."""
    world = WORLDS["tokens"]
    d, places, pool = 4, 3, world.pool
    fill = torch.cartesian_prod(*[torch.arange(d)] * places).to(torch.int32)
    views = [torch.where(p == -1, fill, p) for p in pool.patterns[0]]  # [filling, K] of each generator
    x = torch.stack([torch.nn.functional.one_hot(v.long(), d).flatten(1).double() for v in views])
    x = x - x.mean((0, 1))
    exact = world.moments()
    assert torch.allclose(exact.first[0], torch.einsum("gfi,gfj->ij", x, x) / x[..., 0].numel(), atol=1e-12)
    means = x.mean(1)
    assert torch.allclose(exact.cross[0], means.mT @ means / len(means), atol=1e-12)


def test_correlations_of_known_worlds():
    assert torch.allclose(
        canonical_correlations(exact_moments(WORLDS["given"]))[0, :2], torch.tensor([0.9, 0.4]).double()
    )
    modal = canonical_correlations(exact_moments(WORLDS["modal"]))
    assert torch.allclose(modal[0], torch.tensor([1.0, 1, 0, 0, 0]).double())
    coupled = canonical_correlations(Coupled().moments(WORLDS["moons"]), tied=True)
    assert torch.allclose(coupled, torch.ones_like(coupled))
    masked = canonical_correlations(Native().moments(WORLDS["sparse"]), tied=True)
    assert (masked[:, 0] > 0).all() and (masked[:, -1] < 0).all()  # on the complement of span(M): −p·d/d1


def test_one_encoder_and_two_agree_on_symmetric_views_without_negative_correlations():
    moments = exact_moments(WORLDS["moons"])
    tied, untied = canonical_axes(moments, tied=True), canonical_axes(moments)
    assert torch.allclose(tied.rho, untied.rho, atol=1e-12)
    size = (tied.first * (moments.first @ tied.first)).sum(-2)
    assert torch.allclose(size, torch.ones_like(size))
    tokens = exact_moments(WORLDS["tokens"])
    rank = int(torch.linalg.matrix_rank(tokens.first).max())  # a direction of each place, at least, has no variance
    assert canonical_correlations(tokens, tied=True).shape[-1] == rank <= 3 * (4 - 1)


def test_two_tensors_are_a_sample_and_runs_may_differ():
    world = GivenCorrelations([[0.9, 0.4], [0.2, 0.6]], 3)
    pairs = Native()(world, SAMPLE, streams(SEEDS, 1, "differ"))
    for run, rho in enumerate(([0.9, 0.4, 0.0], [0.6, 0.2, 0.0])):
        found = canonical_correlations((pairs.first[run], pairs.second[run]))
        assert (found - torch.tensor(rho)).abs().max() < 0.03
        assert torch.allclose(canonical_correlations(world.moments())[run], torch.tensor(rho).double())


def test_samples_show_correlations_that_are_not_there_and_held_out_pairs_do_not():
    world = GivenCorrelations([0.0] * 40)
    fitted, other = (Native()(world, 2000, streams(SEEDS, 1, name)) for name in ("a", "b"))
    found = canonical_correlations(fitted)[:, 0]
    assert (found / noise_correlation(2000, 40, 40) - 1).abs().max() < 0.1
    assert held_out_correlations(fitted, other).abs().mean() < 0.03 < 0.1 < canonical_correlations(fitted).mean()
    assert noise_correlation(60_000, 128, 128) == pytest.approx(0.092, abs=1e-3)


@pytest.mark.parametrize("law", LAWS)
def test_laws_keep_their_marginals(law):
    world = GivenCorrelations([0.5], 2, law)
    pairs = Native()(world, SAMPLE, streams(SEEDS, 1, law))
    for x in (pairs.first, pairs.second):
        assert float((x.square().mean(1) - 1).abs().max()) < 0.05
        if law != "normal":
            assert float(x.abs().max()) <= {"signs": 1, "uniform": 3**0.5, "sparse": 10**0.5}[law] + 1e-12


class Crooked:
    tied, inputs = True, 3

    def __init__(self, scale=1.0, width=3):
        self.scale, self.width = scale, width

    def shared(self, n, generators):
        return self.scale * torch.stack([torch.randn(n, 2, generator=g, dtype=torch.float64) for g in generators])

    def private(self, n, generators):
        return self.shared(n, generators)

    def render(self, shared, private, modality):
        return torch.cat([shared, private], -1)[..., : self.width]


def test_a_world_that_breaks_its_promise_is_refused():
    for world in WORLDS.values():
        require_world(world, streams(SEEDS, 1, "promise"))
    require_world(Crooked(), streams(SEEDS, 1, "promise"))
    message = "^Crooked: shared latents must be whitened, of mean 0 and covariance I, got a mean up to .* off by .*$"
    with pytest.raises(ValueError, match=message):
        require_world(Crooked(1.5), streams(SEEDS, 1, "promise"))
    with pytest.raises(ValueError, match=r"^Crooked: shared and render must give \[run, n, S\] and \[run, n, 3\], got"):
        require_world(Crooked(width=2), streams(SEEDS, 1, "promise"))
    three = Moons([1.0], 4, streams([1, 2, 3], 1, "rotation"))
    with pytest.raises(ValueError, match="^Moons: must be made for 2 runs, or for any, got .*$"):
        require_world(three, streams(SEEDS, 1, "promise"))
    with pytest.raises(ValueError, match="^Crooked has no exact moments: use sample_moments of pairs of it$"):
        exact_moments(Crooked())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Masked(1.0), r"Masked: rate must be in \(0, 1\), got 1.0"),
        (lambda: Noisy(-1.0), "Noisy: std must be ≥ 0 and finite, got -1.0"),
        (
            lambda: GivenCorrelations([1.2]),
            r"rho and inputs must be 0 to 1, \[S\] or \[run, S\], and ≥ S, got 1.2 to 1.2, 1 of them, and None",
        ),
        (lambda: GivenCorrelations([0.5], law="laplace"), "law must be one of normal, signs, .*, got 'laplace'"),
        (lambda: Moons([1.0], 1, streams([0], 1, "r")), "Moons: sizes, inputs and variance must be .*"),
        (
            lambda: canonical_correlations(Moments(torch.eye(2), torch.eye(3), torch.ones(2, 3)), tied=True),
            r"canonical_correlations: moments must be \[..., D, D\], thrice, for one encoder, got \[2, 2\], .*",
        ),
        (
            lambda: canonical_correlations(Moments(torch.eye(2) * math.nan, torch.eye(2), torch.eye(2))),
            "canonical_correlations: moments must be finite, got an entry that is not",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        call()
