"""The closed form for one output against the flows that it solves, and at its edges."""

import math

import pytest
import torch

from contrastive_dynamics.collapse_and_constraints.constrained_flow import output_flow, output_velocity, polar_velocity
from contrastive_dynamics.collapse_and_constraints.single_output import (
    GRADIENTS,
    WEIGHTS,
    closed_form,
    exponent,
    outputs_at,
    squared_length,
)
from contrastive_dynamics.collapse_and_constraints.vector_limits import vector_limit
from contrastive_dynamics.collapse_and_constraints.wide_starts import wide_starts
from contrastive_dynamics.numerics.random_streams import stream

FLOWS = [(GRADIENTS, output_velocity), (WEIGHTS, polar_velocity)]
SPECTRA = [[-0.8154, -0.1788], [-3.0, -2.0, 0.5], [0.3, 1.0, 2.0], [0.0, 0.5, 1.0]]


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def starts(d, runs=4, widths=(10, 1000)):
    return wide_starts([stream(3, k, "single output") for k in range(runs)], [d + 1, *widths], d).flatten(0, 1)[..., 0]


@pytest.mark.parametrize(("kappa", "velocity"), FLOWS)
@pytest.mark.parametrize("values", SPECTRA, ids=str)
def test_closed_form_is_the_flow(values, kappa, velocity):
    lam, times = tensor(values), torch.linspace(0, 3, 7, dtype=torch.float64)
    q0 = starts(len(lam))
    flow = output_flow(q0.unsqueeze(-1), lam, times, velocity, rtol=1e-11, atol=1e-13)[..., 0]
    assert float((closed_form(q0, lam, times, kappa) - flow).abs().max()) < 1e-9


@pytest.mark.parametrize(("kappa", "velocity"), FLOWS)
def test_edges_unit_length_and_orthogonal_to_e1(kappa, velocity):
    lam, times = tensor([-2.0, -1.0, 0.5]), torch.linspace(0, 2, 5, dtype=torch.float64)
    q0 = starts(3)[:2]
    q0 = torch.stack([q0[0] / q0[0].norm(), q0[1] * tensor([0.0, 1.0, 1.0])])
    flow = output_flow(q0.unsqueeze(-1), lam, times, velocity, rtol=1e-11, atol=1e-13)[..., 0]
    path = closed_form(q0, lam, times, kappa)
    assert float((path - flow).abs().max()) < 1e-9
    assert float((path[:, 0].norm(dim=-1) - 1).abs().max()) < 1e-12
    assert bool((path[:, 1, 0] == 0).all())


@pytest.mark.parametrize("kappa", [0.0, 0.5, WEIGHTS, 1.5, GRADIENTS, 3.0])
def test_family_by_differences(kappa):
    """q̊ = −(4 − κs)Λq + (4 − κ)f q, by central differences of the closed form."""
    lam, step = tensor([-2.0, -1.0, 0.5]), 1e-4
    q0 = starts(3)
    before, at, after = closed_form(q0, lam, tensor([0.3 - step, 0.3, 0.3 + step]), kappa)
    s, f = at.square().sum(-1, keepdim=True), (lam * at.square()).sum(-1, keepdim=True)
    right = -(4 - kappa * s) * lam * at + (4 - kappa) * f * at
    assert float(((after - before) / (2 * step) - right).abs().max()) < 1e-6


@pytest.mark.parametrize("kappa", [GRADIENTS, WEIGHTS])
def test_printed_formulas(kappa):
    lam, q0 = tensor([-2.0, -1.0, 0.5]), starts(3)
    tau = torch.linspace(0.1, 1, len(q0), dtype=torch.float64)
    s0, s, alpha = q0.square().sum(-1), squared_length(q0, lam, tau, kappa), (4 - kappa) / 8
    moved = torch.exp(-2 * lam * tau.unsqueeze(-1)) * q0
    direct = (((1 - s) / (1 - s0)) ** alpha).unsqueeze(-1) * moved
    torch.testing.assert_close(outputs_at(q0, lam, tau, kappa), direct, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(s / (1 - s) ** (2 * alpha), moved.square().sum(-1) / (1 - s0) ** (2 * alpha))


def test_limits():
    times = tensor([40.0])
    q0 = starts(3)
    end = closed_form(q0, tensor([-2.0, -1.0, 0.5]), times)[0]
    assert float((end - q0[:, :1].sign() * tensor([1.0, 0.0, 0.0])).abs().max()) < 1e-12
    assert float(closed_form(q0, tensor([0.5, 1.0, 2.0]), times).norm(dim=-1).max()) < 1e-12
    null = tensor([0.0, 0.5, 1.0])
    end = closed_form(q0, null, times)[0]
    torch.testing.assert_close(end, vector_limit(q0, null), rtol=1e-10, atol=1e-12)


def test_time_is_between_half_the_clock_and_the_clock():
    lam, q0 = tensor([-2.0, -1.0]), starts(2)
    times = torch.linspace(0.05, 1, 9, dtype=torch.float64)
    path = closed_form(q0, lam, times)
    turned = (path[..., 1] / path[..., 0]).abs().log() - (q0[:, 1] / q0[:, 0]).abs().log()
    clock = -turned / (2 * (lam[1] - lam[0]))
    assert bool((clock >= times[:, None] - 1e-12).all()) and bool((clock <= 2 * times[:, None] + 1e-12).all())


def test_exponent():
    assert exponent(tensor([-3.0, -1.0, 7.0])) == pytest.approx(1 / 3)
    for values in ([-1.0], [1.0, 2.0], [-1.0, -1.0]):
        with pytest.raises(ValueError, match="lam must be"):
            exponent(tensor(values))


def test_a_mistaken_argument_is_refused():
    lam, q0, times = tensor([-1.0, 1.0]), tensor([[0.3, 0.4]]), tensor([0.0, 1.0])
    for bad in (0 * q0, 3 * q0, math.nan * q0):
        with pytest.raises(ValueError, match="q0 must have lengths > 0 and ≤ 1"):
            closed_form(bad, lam, times)
    for bad in (-times, times[None], times[:0]):
        with pytest.raises(ValueError, match="times must be"):
            closed_form(q0, lam, bad)
    with pytest.raises(ValueError, match="kappa must be ≥ 0 and < 4, got 4"):
        squared_length(q0, lam, times[:1], 4.0)
