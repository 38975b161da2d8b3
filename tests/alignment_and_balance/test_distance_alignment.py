import itertools
from fractions import Fraction

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from one_line_error import one_line_error

from contrastive_dynamics.alignment_and_balance.distance_alignment import exact_alignment_by_distance
from contrastive_dynamics.alignment_and_balance.modality_scores import exact_alignment
from contrastive_dynamics.alignment_and_balance.model import correlation, sample_signs
from contrastive_dynamics.numerics.random_streams import stream


def streams(run, purpose="run"):
    return [stream(0, k, purpose) for k in range(run)]


def draw(*shape, purpose="normal"):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


def diagonal(*values):
    return torch.diag(torch.tensor(values, dtype=torch.float64))


def integers(purpose, rows=2, d=3):
    return torch.randint(-2, 3, (rows, d), generator=stream(0, 0, purpose)).double()


def counted(a, b, rank, other_signal=False):
    """One triple (u_A, u_B⁺, u_B⁻) after another, in integers; maps of integers and of one Frobenius norm."""
    d = a.shape[-1]
    a, b = ([[int(x) for x in row] for row in k.tolist()] for k in (a, b))
    vectors = list(itertools.product((-1, 1), repeat=d))

    def square(u, v):
        rows = zip(a, b, strict=True)
        return sum(sum(x * s - y * t for x, y, s, t in zip(p, q, u, v, strict=True)) ** 2 for p, q in rows)

    far = {(u, v): square(u, v) for u in vectors for v in vectors}
    events = [
        far[u, plus] < far[u, minus]
        for u, plus, minus in itertools.product(vectors, repeat=3)
        if u[:rank] == plus[:rank] and not (other_signal and minus[:rank] == plus[:rank])
    ]
    return float(Fraction(sum(events), len(events)))


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("other_signal", [False, True])
def test_enumeration_counts_every_triple(rank, other_signal):
    a = integers("a")
    near = a.clone()
    near[0, 0] *= -1
    for b in (a, a.flip(0), near, a[:, [1, 0, 2]]):
        found = exact_alignment_by_distance(a, b, rank, other_signal=other_signal)
        assert found.item() == counted(a, b, rank, other_signal)


def test_the_ceilings_are_those_of_products():
    k = diagonal(3, 2, 1, 0, 0)
    assert exact_alignment_by_distance(k, k, 3).item() == exact_alignment(correlation(k, k), 3).item() == 1 - 2**-3
    assert exact_alignment_by_distance(k, k, 3, other_signal=True).item() == 1
    noisy_a, noisy_b = k + 1e-3 * draw(5, 5, purpose="a"), k + 1e-3 * draw(5, 5, purpose="b")
    assert exact_alignment_by_distance(noisy_a, noisy_b, 3).item() == 1 - (2**-3 + 2**-5) / 2
    one = diagonal(1, 0, 0, 0)
    assert exact_alignment_by_distance(one, one, 4).item() == 0.5  # a negative is elsewhere half the time
    assert exact_alignment_by_distance(0 * one, 0 * one, 4).item() == 0


def test_any_independent_columns_align_by_distance_and_products_ask_for_more():
    """Lemma 4.4, r = 2 to 5, condition number 10, a little noise."""
    for r in (2, 3, 5):
        u, v = (torch.linalg.qr(draw(20, r, r, purpose=f"{r}{side}"))[0] for side in "uv")
        k = (u * torch.logspace(1, 0, r, dtype=torch.float64)) @ v.mT
        k = torch.cat([k, torch.zeros(20, r, 1, dtype=torch.float64)], -1)
        a, b = (k + 1e-4 * draw(20, r, r + 1, purpose=f"{r}{side}") for side in "ab")
        assert (exact_alignment_by_distance(a, b, r, other_signal=True) == 1).all()
        assert (exact_alignment(correlation(a, b), r, other_signal=True) < 1).double().mean() > 0.8


def test_a_small_signal_counts_and_outputs_of_one_length_give_both_scores():
    k = diagonal(1e6, 1, 1, 1)
    assert exact_alignment_by_distance(k, k, 4, other_signal=True).item() == 1
    a, b = (torch.linalg.qr(draw(4, 4, purpose=side))[0] for side in "ab")  # ‖f‖ = 1 for every u
    assert exact_alignment_by_distance(a, b, 2) == exact_alignment(correlation(a, b), 2)


def test_trials_follow_the_exact_share():
    a = draw(3, 4, 6, purpose="a")
    b = a + 0.7 * draw(3, 4, 6, purpose="b")
    exact = exact_alignment_by_distance(a, b, 2)
    count = 20000
    u_a, u_b = sample_signs(2, 6, count, streams(3))
    other, _ = sample_signs(6, 6, count, streams(3, "negatives"))
    f_a, plus, minus = (u @ (k / k.norm(dim=(-2, -1), keepdim=True)).mT for u, k in ((u_a, a), (u_b, b), (other, b)))
    share = ((f_a - plus).norm(dim=-1) < (f_a - minus).norm(dim=-1)).double().mean(-1)
    assert ((share - exact).abs() < 4 * (exact * (1 - exact) / count).sqrt()).all() and exact.std() > 0.01


def test_batches_scales_and_bad_arguments():
    a, b = draw(2, 3, 3, 4, purpose="a"), draw(2, 3, 3, 4, purpose="b")
    whole = exact_alignment_by_distance(a, b, 2)
    assert whole.shape == (2, 3) and torch.equal(whole[1, 2], exact_alignment_by_distance(a[1, 2], b[1, 2], 2))
    assert torch.equal(exact_alignment_by_distance(1e-30 * a, 1e30 * b, 2), whole)
    for bad in (0, 5):
        with one_line_error(ValueError, f"rank and d must be 1 ≤ rank ≤ d ≤ 13, got {bad} and 4"):
            exact_alignment_by_distance(a, b, bad)
    with one_line_error(ValueError, r"exact_alignment_by_distance: .* got \[3, 4\] and \[3, 3\]"):
        exact_alignment_by_distance(a[0, 0], b[0, 0, :, :3], 2)
    with one_line_error(ValueError, "must be finite"):
        exact_alignment_by_distance(a / 0, b, 2)


def test_elsewhere():
    a, b = draw(2, 3, 4, purpose="a"), draw(2, 3, 4, purpose="b")
    near = exact_alignment_by_distance(a, b, 2)
    with elsewhere():
        far = exact_alignment_by_distance(a.to(ELSEWHERE), b.to(ELSEWHERE), 2)
        assert far.device == ELSEWHERE and torch.equal(far.cpu(), near)
