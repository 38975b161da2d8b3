import math

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from torch.nn.functional import normalize

from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.ranks import effective_rank, stable_rank


def draw(*shape):
    return torch.randn(*shape, generator=stream(0, 0, "u"), dtype=torch.float64)


def with_singular_values(sigma, m=7):
    left, right = torch.linalg.qr(draw(m, len(sigma)))[0], torch.linalg.qr(draw(len(sigma), len(sigma)))[0]
    return left * torch.tensor(sigma, dtype=torch.float64) @ right.mT


@pytest.mark.parametrize("r", [1, 2, 5])
def test_r_equal_singular_values_give_r(r):
    u = with_singular_values([3.0] * r + [0.0] * (5 - r))
    assert effective_rank(u).item() == pytest.approx(r, abs=1e-10) == stable_rank(u).item()


def test_two_singular_values_in_closed_form():
    # p = (4/5, 1/5): entropy log 5 − (4/5) log 4
    u = with_singular_values([2.0, 1.0])
    assert effective_rank(u).item() == pytest.approx(5 / 4**0.8)
    assert stable_rank(u).item() == pytest.approx(1.25)


@pytest.mark.parametrize("shape", [(3, 6, 4), (3, 4, 6), (2, 3, 5, 5)])
def test_by_the_eigenvalues_of_the_gram_matrix(shape):
    u = draw(*shape)
    gram = u @ u.mT
    p = torch.linalg.eigvalsh(gram).clamp(min=1e-30) / gram.diagonal(dim1=-2, dim2=-1).sum(-1, keepdim=True)
    assert torch.allclose(effective_rank(u), (-(p * p.log()).sum(-1)).exp())
    assert torch.allclose(stable_rank(u), 1 / p[..., -1])
    assert (1 <= stable_rank(u)).all() and (stable_rank(u) <= effective_rank(u)).all()
    assert (effective_rank(u) <= min(shape[-2:])).all()


@pytest.mark.parametrize("rank", [effective_rank, stable_rank])
def test_any_multiple_has_the_same_rank(rank):
    u = draw(6, 3)
    for scale in (1e-300, 1e-7, -2.0, 1e300):
        assert rank(scale * u).item() == pytest.approx(rank(u).item(), rel=1e-7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rank", [effective_rank, stable_rank])
def test_the_zero_matrix_has_rank_zero_and_the_dtype_stays(rank, dtype):
    u = draw(3, 6, 4).to(dtype)
    u[1] = 0
    assert rank(u).dtype == dtype
    assert rank(u)[1] == 0 and (rank(u)[[0, 2]] > 1).all()
    assert torch.allclose(rank(u)[2], rank(u[2]))  # the same alone or in a batch


def test_long_rows_count_for_more():
    u = torch.diag(torch.tensor([100.0, 1.0], dtype=torch.float64))
    assert effective_rank(u).item() < 1.002
    assert effective_rank(normalize(u, dim=-1)).item() == pytest.approx(2)


@pytest.mark.parametrize(
    ("u", "text"),
    [
        (draw(3), r"u must be finite and \[..., m, z\], m and z ≥ 1, got shape \(3,\)"),
        (draw(2, 0, 3), r".* got shape \(2, 0, 3\)"),
        (torch.full((2, 2), math.nan), r"u must be finite .* got shape \(2, 2\)"),
        (torch.full((2, 2), math.inf), r"u must be finite .* got shape \(2, 2\)"),
    ],
)
def test_bad_input_is_named(u, text):
    for rank in (effective_rank, stable_rank):
        with pytest.raises(ValueError, match=f"{rank.__name__}: {text}"):
            rank(u)


def test_the_result_is_where_the_outputs_are():
    with elsewhere():
        u = draw(2, 5, 3).to(ELSEWHERE)
        assert effective_rank(u).device == stable_rank(u).device == ELSEWHERE
