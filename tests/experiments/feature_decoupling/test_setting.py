"""The setting that chapter and appendix share: models, beginnings, losses and checks of sizes."""

import math
from dataclasses import replace

import pytest
import torch

from contrastive_dynamics.feature_decoupling.constructed_learners import singleton_learner
from contrastive_dynamics.feature_decoupling.decoupled_training import train
from contrastive_dynamics.feature_decoupling.dictionaries import flat_dictionary
from contrastive_dynamics.feature_decoupling.sparse_coding import paper_scales
from contrastive_dynamics.feature_decoupling.training_schedule import DecoupledTraining
from experiments.feature_decoupling.setting import Setting, require_room, require_sizes, scaled_setting, slopes

TRAINING = DecoupledTraining(batch=64, negatives=8, temperature=4.0)
SETTING = Setting(range(3), 4, 32, 6, 1.0, 0.5, 0.05, TRAINING)


def test_a_model_has_the_papers_scales_and_one_dictionary_for_each_seed():
    model = SETTING.coding(4, 16)
    assert model.dictionary.shape == (3, 16, 4) and (model.active, model.noise) == paper_scales(4, 1.0, 0.5)
    assert SETTING.coding(4, 16, noise=2.0).noise == paper_scales(4, 1.0, 2.0)[1]
    assert torch.equal(model.dictionary, SETTING.coding(4, 16).dictionary)
    alone = replace(SETTING, seeds=[1]).coding(4, 16, flat_dictionary).dictionary
    assert torch.equal(alone[0], SETTING.coding(4, 16, flat_dictionary).dictionary[1])


def test_a_beginning_is_what_train_takes_and_its_batch_grows_with_the_dimension():
    begun = SETTING.begin(16)
    assert begun.training == replace(TRAINING, batch=32) and begun.model.dtype == torch.float32
    assert begun.weights.shape == (3, 6, 16) and train(*begun, [0, 1]).weights.shape == (2, 3, 6, 16)
    assert SETTING.begin(32, replace(TRAINING, views="plain")).training.batch == 64
    assert SETTING.begin(2 * 4, replace(TRAINING, batch=1)).training.batch == 1


def test_at_another_d_sizes_are_in_proportion_and_the_largest_bias_falls():
    larger = scaled_setting(SETTING, 8, 16)
    assert (larger.atoms, larger.dim, larger.neurons) == (8, 32, 12)
    assert larger.training.batch == 32  # that of d1 = 16
    assert larger.training.cap == pytest.approx(TRAINING.cap * (math.log(8) / 8 / (math.log(4) / 4)) ** 0.5)
    assert scaled_setting(SETTING, 4, 32) == SETTING
    begun = larger.begin(larger.dim)
    assert begun.weights.shape == (3, 12, 32) and begun.training.batch == 32
    with pytest.raises(ValueError, match="^atoms and dim must be ≥ 2 and ≥ 10, got 8 and 9$"):
        scaled_setting(SETTING, 8, 9)


def test_equal_outputs_have_the_loss_one_and_the_yardstick_is_below():
    model = SETTING.coding(4, 32)
    silent = torch.zeros(3, 6, 32, dtype=model.dtype), torch.zeros(3, 6, dtype=model.dtype)
    assert SETTING.masked_loss(model, *silent).tolist() == pytest.approx([1.0] * 3)
    best = SETTING.yardstick(model)
    built = SETTING.masked_loss(model, *singleton_learner(model.dictionary, 2.0 * 2, TRAINING.cap))
    assert bool((best < 1).all()) and bool((best <= built).all())


def test_dense_directions_are_orthonormal_and_orthogonal_to_all_atoms():
    m = SETTING.coding(4, 32).dictionary
    dense = SETTING.dense_directions(m, 5)
    assert dense.shape == (3, 32, 5)
    both = torch.cat([m, dense], -1)
    assert torch.allclose(both.mT @ both, torch.eye(9).to(both).expand(3, -1, -1), atol=1e-10)


def test_a_power_is_fitted_with_and_without_the_smallest_size():
    sizes = [2.0, 4.0, 8.0, 16.0]
    values = torch.tensor(sizes)[:, None] ** torch.tensor([0.5, -1.0])
    values[0] *= 3
    found = slopes(values, sizes)
    assert found["without the smallest"].tolist() == pytest.approx([0.5, -1.0])
    assert found["all sizes"][0] < 0.5


def test_sizes_that_do_not_fit_are_refused_in_one_line():
    with pytest.raises(ValueError, match=r"^neurons: must be at most d1 - d = 28, got 29$"):
        replace(SETTING, neurons=29)
    with pytest.raises(ValueError, match=r"^dims: must be 3 or more values, ascending, got \[4, 2, 8\]$"):
        require_sizes(3, dims=[4, 2, 8])
    with pytest.raises(ValueError, match=r"^dims: must be ≥ 2·atoms = 8, got \[4, 16\]$"):
        require_room(4, dims=[4, 16])
    require_sizes(1, dims=[3])
    require_room(4, dims=[8])
