import torch

from experiments.collapse_and_constraints.two_descents import two_descents

RUN = {"h": 6, "rate": 0.05, "starts": 3, "seed": 3, "span": 4.0, "kept": 8}


def test_trained_weights_and_the_map_of_their_outputs_agree_from_one_start():
    found = two_descents(**RUN, trained=2)
    assert found.weights.shape == (9, 2, 2, 1) and found.descent.shape == found.equation.shape == (9, 3, 2, 1)
    assert torch.allclose(found.weights, found.descent[:, :2], atol=1e-10)
    assert torch.equal(found.descent[0], found.equation[0])


def test_both_end_near_the_first_axis_and_part_on_the_way():
    found = two_descents(**RUN | {"span": 20.0}, trained=1)
    for path in (found.descent, found.equation):
        assert float((path[-1, :, 0].abs() - 1).abs().max()) < 1e-3
    assert float((found.descent - found.equation).abs().max()) > 1e-3


def test_a_start_is_the_same_among_more():
    few, many = two_descents(**RUN), two_descents(**RUN | {"starts": 5})
    assert torch.allclose(few.equation, many.equation[:, :3], atol=1e-12)
