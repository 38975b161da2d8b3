import math

import pytest
import torch

from contrastive_dynamics.feature_decoupling.dictionaries import flat_dictionary
from contrastive_dynamics.feature_decoupling.fused_stream import can_be_fused
from contrastive_dynamics.feature_decoupling.louder_noise import LouderNoise, loud_directions
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.feature_decoupling.view_correlation import cross_moment
from contrastive_dynamics.numerics.random_streams import stream

COUNT = 20_000


def streams(runs, purpose="data"):
    return [stream(0, run, purpose) for run in range(runs)]


def louder(flat=True, extra=3.0, runs=2):
    dictionary = flat_dictionary(8, 3, streams(runs, "dictionary"))
    return LouderNoise(dictionary, 0.3, 0.5, loud_directions(dictionary, flat, streams(runs, "loud")), extra)


def louder_cross_moment(model, views="masked"):
    """E[x⁺x⁺⁺ᵀ] `[run, d1, d1]`: that of white noise and κσ_ξ² vvᵀ, without its diagonal if masked."""
    added = model.extra * model.noise**2 * model.loud @ model.loud.mT
    if views == "masked":
        added = added - torch.diag_embed(added.diagonal(dim1=-2, dim2=-1))
    return cross_moment(model, views) + added


@pytest.mark.parametrize("views", ["masked", "independent", "plain"])
@pytest.mark.parametrize("flat", [True, False])
def test_drawn_views_have_the_moment(views, flat):
    model = louder(flat)
    first, second = model.views(model.sample(COUNT, streams(2))[1], streams(2, "masks"), views)
    fourth = (first.square().mT @ second.square()) / COUNT
    off = (first.mT @ second / COUNT - louder_cross_moment(model, views)).abs()
    assert (off < 4.5 * (fourth / COUNT).sqrt() + 1e-15).all()


def test_without_extra_it_is_white_noise_and_a_part_is_a_part():
    model = louder(extra=0.0)
    white = SparseCoding(model.dictionary, 0.3, 0.5)
    torch.testing.assert_close(model.sample(9, streams(2)), white.sample(9, streams(2)), rtol=1e-12, atol=1e-14)
    assert torch.equal(louder_cross_moment(model), cross_moment(white))
    part = louder().part(slice(1, 2))
    torch.testing.assert_close(part.sample(9, streams(2)[1:])[1], louder().sample(9, streams(2))[1][1:])
    assert not can_be_fused(model)  # the compiled draws know white noise alone


def test_a_mask_hides_a_coordinate_and_not_a_flat_direction():
    for flat in (True, False):
        model = louder(flat)
        assert torch.allclose(model.loud.norm(dim=-2), torch.ones(2, 1).double())
        rate = (model.loud.mT @ louder_cross_moment(model) @ model.loud).flatten()
        white = (model.loud.mT @ cross_moment(SparseCoding(model.dictionary, 0.3, 0.5)) @ model.loud).flatten()
        kept = 3.0 * 0.25 * (1 - model.loud.pow(4).sum((1, 2)))
        torch.testing.assert_close(rate - white, kept, rtol=1e-10, atol=1e-14)
        assert (kept.abs() < 1e-14).all() != flat
        assert not flat or float((model.dictionary.mT @ model.loud).abs().max()) < 1e-14


def test_bad_input_is_named():
    dictionary = flat_dictionary(8, 3, streams(2, "dictionary"))
    with pytest.raises(ValueError, match=r"^loud and extra must be of shape \(2, 8, 1\) and ≥ 0, got None and 1.0$"):
        LouderNoise(dictionary, 0.3, 0.5, None, 1.0)
    with pytest.raises(ValueError, match=r"^loud must have length 1, got 2$"):
        LouderNoise(dictionary, 0.3, 0.5, torch.full((2, 8, 1), 2 / math.sqrt(8)).double(), 1.0)
    with pytest.raises(ValueError, match="must be one per run, 2, and < 8, got 1 and 3"):
        loud_directions(dictionary, True, streams(1))
