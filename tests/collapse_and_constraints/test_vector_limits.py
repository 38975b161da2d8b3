import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from one_line_error import one_line_error

from contrastive_dynamics.collapse_and_constraints.constrained_flow import output_flow
from contrastive_dynamics.collapse_and_constraints.vector_limits import axis_distance, vector_limit
from contrastive_dynamics.numerics.random_streams import stream

SPECTRA = {
    "simple": [-2.0, -1.0, 0.5, 1.0],
    "double": [-2.0, -2.0, 0.5, 1.0],
    "all alike": [-1.0, -1.0, -1.0, -1.0],
    "zero": [0.0, 0.5, 1.0, 2.0],
    "double zero": [0.0, 0.0, 1.0, 2.0],
    "positive": [0.5, 0.7, 1.0, 2.0],
}


def starts(runs=20):
    q = torch.randn(runs, 4, generator=stream(0, 0, "q"), dtype=torch.float64)
    return 0.95 * q / q.norm(dim=-1, keepdim=True) * torch.linspace(0.1, 1, runs, dtype=torch.float64).unsqueeze(-1)


@pytest.mark.parametrize("name", SPECTRA)
def test_the_flow_ends_there(name):
    lam = torch.tensor(SPECTRA[name]).double()
    end = output_flow(starts().unsqueeze(-1), lam, torch.tensor([0, 60.0]).double())[-1, ..., 0]
    assert torch.allclose(vector_limit(starts(), lam), end, atol=1e-6)


def test_a_start_off_the_lowest_eigenvector_ends_at_the_next():
    lam, q = torch.tensor([-2.0, -1.0, 0.5]).double(), torch.tensor([0, 0.3, -0.2]).double()
    assert torch.equal(vector_limit(q, lam), torch.tensor([0, 1.0, 0]).double())
    assert torch.equal(vector_limit(-q, lam), torch.tensor([0, -1.0, 0]).double())
    assert torch.equal(vector_limit(torch.tensor([0, 0, 0.4]).double(), lam), torch.zeros(3).double())


def test_a_length_of_one_is_kept():
    for lam in ([-1.0, 2.0], [0.0, 2.0], [1.0, 2.0]):
        found = vector_limit(torch.tensor([0.0, 1.0]).double(), torch.tensor(lam).double())
        assert torch.equal(found, torch.tensor([0.0, 1.0]).double())
        turned = vector_limit(torch.tensor([0.6, 0.8], dtype=torch.float64), torch.tensor(lam).double())
        assert turned.norm().item() == pytest.approx(1)


def test_other_starts_are_refused_in_one_line():
    for q in ([0.0, 0.0], [1.0, 1.0]):
        with one_line_error(ValueError, "length in"):
            vector_limit(torch.tensor(q), torch.tensor([1.0, 2.0]))


def test_it_runs_on_another_device():
    with elsewhere():
        lam = torch.tensor(SPECTRA["zero"]).double().to(ELSEWHERE)
        assert vector_limit(starts().to(ELSEWHERE), lam).device == ELSEWHERE


def test_the_distance_from_an_axis_forgets_the_sign():
    q = torch.tensor([[0.0, 1.0], [0.0, -1.0], [0.6, 0.8], [0.0, 0.0]], dtype=torch.float64).unsqueeze(-1)
    expected = torch.tensor([0, 0, 0.4**0.5, 1], dtype=torch.float64)
    torch.testing.assert_close(axis_distance(q, 1), expected)
