"""The scores on filters whose match is known."""

import pytest
import torch

from contrastive_dynamics.nonlinearity.networks.matching_score import matching_scores, shows_candidate

EYE = torch.eye(4, dtype=torch.float64)


def candidates(*places):
    return torch.tensor([[a in place for a in range(4)] for place in places])


def test_filters_that_are_the_candidates_score_one_and_the_best_other_is_zero():
    w = torch.stack([EYE[:2], 3 * EYE[1:3]])  # two places
    plus, minus = matching_scores(w, candidates({0, 1}, {1, 2}))
    assert plus == 1 and minus == 0


def test_the_other_score_averages_over_the_other_tokens_not_over_p():
    w = EYE[None, 2:3] + EYE[None, 0:1]  # one place, one filter between tokens 0 and 2
    plus, minus = matching_scores(w, candidates({0}))
    assert plus.item() == pytest.approx(0.5**0.5) and minus.item() == pytest.approx(0.5**0.5 / 3)


def test_a_place_without_candidates_does_not_count():
    w = torch.stack([EYE[:1], EYE[:1]])
    plus, minus = matching_scores(w, candidates({0}, set()))
    assert plus == 1 and minus.item() == pytest.approx((0 + 1 / 4) / 2)


def test_the_sign_of_a_linear_filter_is_free():
    w = -EYE[None, :1]
    assert matching_scores(w, candidates({0}))[0] == -1
    assert matching_scores(w, candidates({0}), absolute=True)[0] == 1
    assert shows_candidate(w, candidates({0}), absolute=True).tolist() == [[[True, False, False, False]]]
    assert not shows_candidate(w, candidates({0})).any()


def test_padding_lowers_every_score_by_the_share_of_the_largest_weight():
    w = torch.stack([EYE[0], 1e-4 * EYE[1]])[None]
    plus, _ = matching_scores(w, candidates({0, 1}), padding=1e-3)
    assert plus.item() == pytest.approx((1 / 1.001 + 1e-4 / 1.1e-3) / 2)


def test_scores_do_not_see_lengths_and_keep_leading_axes():
    w = torch.randn(3, 2, 5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    kinds = candidates({0, 3}, {1}).expand(3, -1, -1)
    a = matching_scores(w, kinds)
    b = matching_scores(w * torch.rand(3, 2, 5, 1, dtype=torch.float64), kinds)
    assert a[0].shape == (3,) and torch.allclose(a[0], b[0]) and torch.allclose(a[1], b[1])


def test_a_threshold_that_two_tokens_could_reach():
    with pytest.raises(ValueError, match="least must be > 1/√2 and ≤ 1, got"):
        shows_candidate(EYE[None], candidates({0}), least=0.7)
