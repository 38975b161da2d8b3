import pytest
import torch

from contrastive_dynamics.data.catalogue import DataError
from contrastive_dynamics.data.two_class_problems import Problem
from experiments.collapse_and_constraints.image_outputs import image_problem, paired_images, svm_accuracy


def test_a_problem_has_a_noisy_view_and_a_negative_of_its_own_for_each_image():
    images, labels, pairs = paired_images("digits", [0, 1, 3, 8], 30)
    assert pairs == [(0, 1), (3, 8)] and images.dtype == torch.float64 and float(images.max()) == 1
    problem, points = image_problem(images, labels, pairs[1], 30, seed=4)
    x, positives, negatives = points.chunk(3)
    assert torch.equal(x, problem.x) and len(x) == 60
    assert float((positives - x).var()) == pytest.approx(0.1, rel=0.05)
    assert (negatives[:, None] == x).all(-1).any(1).all()


def test_what_is_done_to_the_images_changes_no_draw():
    images, labels, (pair,) = paired_images("digits", [4, 9], 20)
    both = [image_problem(scale * images, labels, pair, 20, seed=1)[1] for scale in (1, 2)]
    x, positives, negatives = both[0].chunk(3)
    assert torch.allclose(torch.cat([2 * x, x + positives, 2 * negatives]), both[1])  # 2x + e = x + (x + e)


def test_a_split_can_have_several_problems_of_a_pair():
    images, labels, (pair,) = paired_images("digits", [3, 8], 20)
    first, again, second = (image_problem(images, labels, pair, 20, 1, k)[1] for k in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first[:40], second[:40])


def test_the_accuracy_is_that_of_the_better_line():
    x, y = torch.tensor([[-2.0, 9], [-1, -9], [1, 9], [2, -9]]), torch.tensor([0, 0, 1, 1])
    problem = Problem(x, y, x, y)
    assert svm_accuracy(lambda x: x[:, :1], problem) == 1 and svm_accuracy(lambda x: x[:, 1:], problem) == 0.5


def test_a_class_or_a_data_set_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="class must be one of 0, .*, got 11"):
        paired_images("digits", [0, 11], 20)
    with pytest.raises(DataError):
        paired_images("nothing", [0, 1], 20)
