"""Filters over training: the last frame is where the training ends, and frames are close together at its start."""

import pytest
import torch

from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from experiments.nonlinearity.filter_history import filter_history
from experiments.nonlinearity.matching_curves import block_curves, training_blocks

SMALL = TokenTraining(places=3, tokens=6, length=2, candidates=2, beta=2, generators=8, outputs=5, batch=16)


def test_the_last_frame_is_the_end_of_the_training():
    step, w = filter_history([(SMALL, 0), (SMALL, 1)], 40, 8)
    assert step[0] == 1 and step[-1] == 40 and (step.diff().diff() >= -1).all()
    assert w.shape == (len(step), 2, 3, 4, 6)
    (block,) = training_blocks({"a": (SMALL, [0, 1])})
    assert torch.equal(w[-1], block_curves(block, 40)["w"])
    assert not torch.equal(w[0], w[1])


@pytest.mark.parametrize("frames", [1, 41])
def test_frames_outside_their_range_are_refused(frames):
    with pytest.raises(ValueError, match=f"frames must be ≥ 2 and ≤ steps, got {frames} frames and 40 steps"):
        filter_history([(SMALL, 0)], 40, frames)
