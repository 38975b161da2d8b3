import pytest
import torch

from contrastive_dynamics.data.two_class_problems import class_pairs, two_class_problem
from contrastive_dynamics.numerics.random_streams import stream

LABELS = torch.arange(3).repeat_interleave(torch.tensor([22, 30, 25]))
IMAGES = torch.arange(len(LABELS), dtype=torch.float64).unsqueeze(-1)  # each image names its row


def draw(pair=(0, 2), per_class=10, seed=0):
    return two_class_problem(IMAGES, LABELS, pair, per_class, stream(seed, 0, "split"))


def test_both_classes_alike_and_nothing_held_out_is_trained_on():
    problem = draw()
    assert [len(part) for part in problem] == [20, 20, 24, 24]  # 12 are left of the class of 22
    for x, y in ((problem.x, problem.y), (problem.x_held_out, problem.y_held_out)):
        assert torch.equal(LABELS[x[:, 0].long()], 2 * y) and y.double().mean() == 0.5
    assert not set(problem.x[:, 0].tolist()) & set(problem.x_held_out[:, 0].tolist())


def test_few_are_held_out_where_few_are_left():
    problem = draw(per_class=20)
    assert len(problem.x) == 40 and len(problem.x_held_out) == 4


def test_a_split_is_that_of_its_generator():
    assert torch.equal(draw().x, draw().x) and not torch.equal(draw().x, draw(seed=1).x)


def test_pairs_are_read_two_by_two():
    assert class_pairs([0, 1, 2, 0], LABELS, 5) == [(0, 1), (2, 0)]


@pytest.mark.parametrize(
    ("classes", "per_class", "message"),
    [
        ([0, 1, 2], 5, "classes must be pairs, an even number ≥ 2, got 3 classes"),
        ([], 5, "classes must be pairs, .*, got 0 classes"),
        ([1, 1], 5, r"a pair must be two different classes, got \(1, 1\)"),
        ([0, 7], 5, "class must be one of 0, 1, 2, got 7"),
        ([1, 0], 21, "per_class must be 2 to 20, as class 0 has 22 images .*, got 21"),
        ([0, 1], 1, "per_class must be 2 to 20, .*, got 1"),
    ],
)
def test_bad_choices_are_one_line(classes, per_class, message):
    with pytest.raises(ValueError, match=message):
        class_pairs(classes, LABELS, per_class)
