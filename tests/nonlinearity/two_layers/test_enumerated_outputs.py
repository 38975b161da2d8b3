"""Enumerated outputs of fields with one filter: against sampling, differences and the closed forms of the theory."""

import pytest
import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.nonlinearity.two_layers.conditional_independence import (
    binary_moments,
    enumerate_inputs,
)
from contrastive_dynamics.nonlinearity.two_layers.enumerated_outputs import (
    centred_outputs,
    normalised_variance,
    output_variance,
    random_fields_and_filters,
    top_eigenvalue_gradient,
)
from contrastive_dynamics.numerics.random_streams import stream

RELU = activation("relu")


def drawn(runs=3, k=3):
    return random_fields_and_filters([stream(0, run, "enumerated") for run in range(runs)], k)


def test_every_filter_is_open_and_of_unit_length():
    model, w = drawn()
    assert w.norm(dim=-1) == pytest.approx(torch.ones(3, 3).double())
    assert (torch.einsum("rkad,rkd->rka", model.points, w).amax(-1) > 0).all()


def test_outputs_are_centred_and_their_variance_is_that_of_a_weighted_sample():
    model, w = drawn()
    f, p = centred_outputs(model, w, RELU)
    assert torch.einsum("rn,rnk->rk", p, f).abs().max() < 1e-14
    plain = RELU.h(torch.einsum("nkd,kd->nk", enumerate_inputs(model)[0][0], w[0]))
    expected = torch.cov(plain.mT, aweights=p[0], correction=0)
    assert output_variance(model, w, RELU)[0] == pytest.approx(expected, abs=1e-13)


def test_the_diagonal_is_what_the_moments_of_theorem_5_say():
    model, w = drawn()
    m = binary_moments(model, w, RELU)
    assert output_variance(model, w, RELU).diagonal(dim1=-2, dim2=-1) == pytest.approx(m.d + m.weight * m.b.square())


def test_normalised_outputs_have_unit_variance_and_a_constant_scale_changes_the_gradient():
    model, w = drawn()
    variance = normalised_variance(model, w, RELU)
    assert variance.diagonal(dim1=-2, dim2=-1) == pytest.approx(torch.ones(3, 3).double())
    through, constant = (
        top_eigenvalue_gradient(lambda v, t=t: normalised_variance(model, v, RELU, t), w) for t in (True, False)
    )
    along = (through * w).sum(-1)  # f^bn does not know the length of a filter
    assert along.abs().max() < 1e-12 and (through - constant).abs().max() > 1e-3


def test_the_gradient_is_that_of_differences():
    model, w = drawn(runs=1)

    def energy(v):
        return torch.linalg.eigvalsh(output_variance(model, v, RELU))[0, -1] / 2

    gradient, step = top_eigenvalue_gradient(lambda v: output_variance(model, v, RELU), w), 1e-6
    for k, i in ((0, 0), (1, 2), (2, 3)):
        nudge = torch.zeros_like(w)
        nudge[0, k, i] = step
        slope = (energy(w + nudge) - energy(w - nudge)) / (2 * step)
        assert float(gradient[0, k, i]) == pytest.approx(float(slope), abs=1e-8)
