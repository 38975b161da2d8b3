"""Filters on a line, and ends of trainings that are the same alone and beside others."""

from dataclasses import replace

import pytest
import torch

from contrastive_dynamics.nonlinearity.networks.ensemble_training import train
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.numerics.ranks import stable_rank
from experiments.nonlinearity import filter_lines
from experiments.nonlinearity.filter_lines import line_ends, off_line

SMALL = TokenTraining(
    activation="linear", candidates=2, beta=2, places=3, tokens=6, generators=7, length=2, outputs=5, batch=12
)


def test_filters_on_a_line_and_off_it():
    line = torch.tensor([1.0, -2.0, 0.5])[:, None] * torch.tensor([1.0, 3.0])
    assert float(off_line(line[None])) < 1e-6
    assert float(off_line(torch.eye(3)[None])) == pytest.approx(1)
    assert float(off_line(torch.stack([line, 0 * line]))) < 1e-6


def test_the_ends_are_infonce_and_the_quadratic_loss():
    found = line_ends(SMALL, [5, 6, 7], [(0, 1), (1, 1)], [1.0, 4.0], 30, workers=1)
    assert found["off_line"].shape == (2, 2, 3) and found["rank_before"].shape == (3,)
    for s, loss in enumerate(("infonce", "quadratic_over_tau")):
        for weights in train([(replace(SMALL, loss=loss), seed) for seed in (5, 6, 7)], 30):  # noqa: B007
            pass
        torch.testing.assert_close(found["off_line"][s, 0], off_line(weights.w), rtol=1e-4, atol=0)
        torch.testing.assert_close(found["rank"][s, 0], stable_rank(weights.v.flatten(1, 2)), rtol=1e-4, atol=0)


def test_a_network_is_the_same_in_any_part(monkeypatch):
    beside = line_ends(SMALL, [5, 6], [(0.5, 1)], [1.0], 30, workers=1)
    monkeypatch.setattr(filter_lines, "BLOCK", 1)
    alone = line_ends(SMALL, [5, 6], [(0.5, 1)], [1.0], 30, workers=1)
    for name, values in beside.items():
        torch.testing.assert_close(values, alone[name], rtol=1e-4, atol=0)


def test_paces_outside_their_range():
    with pytest.raises(ValueError, match="paces must be > 0"):
        line_ends(SMALL, [1], [(0, 1)], [0.0], 3)
