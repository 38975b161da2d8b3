import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere

from contrastive_dynamics.alignment_and_balance.modality_scores import (
    alignment_condition,
    balance,
    column_alignment,
    column_ratio,
    condition_number,
    discretisation_errors,
    exact_alignment,
    noise_signal_ratio,
    worst_alignment_map,
)
from contrastive_dynamics.alignment_and_balance.model import correlation, initial_maps, sample_signs
from contrastive_dynamics.numerics.random_streams import stream


def streams(run, purpose="run"):
    return [stream(0, k, purpose) for k in range(run)]


def normal(*shape, purpose="normal"):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


def diagonal(*values):
    return torch.diag(torch.tensor(values, dtype=torch.float64))


def counted(g, rank, other_signal=False):
    """The alignment of an integer G, counted one triple (u_A, u_B⁺, u_B⁻) after another in integers."""
    d, g = len(g), [[int(x) for x in row] for row in g.tolist()]
    vectors = list(itertools.product((-1, 1), repeat=d))
    value = {(a, b): sum(a[i] * g[i][j] * b[j] for i in range(d) for j in range(d)) for a in vectors for b in vectors}
    events = [
        value[a, plus] > value[a, minus]
        for a in vectors
        for plus in vectors
        for minus in vectors
        if a[:rank] == plus[:rank] and not (other_signal and minus[:rank] == plus[:rank])
    ]
    return float(Fraction(sum(events), len(events)))


def smallest_gap(k):
    """The least zᵀKᵀK(z − z') over z' ≠ z, relative to ‖K‖_F²."""
    signs = [np.array(s) for s in itertools.product((-1.0, 1.0), repeat=k.shape[-1])]
    gram = (k.mT @ k).numpy()
    return min(z @ gram @ (z - w) for z in signs for w in signs if w is not z) / np.trace(gram)


def margin(k):
    """[Λ + λ − √r(Λ − λ)]/‖K‖_F² of the eigenvalues of KᵀK, a lower bound of `smallest_gap`."""
    values = np.linalg.eigvalsh((k.mT @ k).numpy())
    return (values[-1] + values[0] - math.sqrt(len(values)) * (values[-1] - values[0])) / values.sum()


@pytest.mark.parametrize(("d", "rank"), [(1, 1), (3, 1), (3, 2), (4, 4), (4, 2)])
def test_the_exact_alignment_is_that_counted_in_integers(d, rank):
    g = torch.randint(-2, 3, (2, 3, d, d), generator=stream(0, d, "g")).double()
    for other in (False, True):
        expected = [[counted(m, rank, other) for m in row] for row in g]
        assert exact_alignment(g, rank, other_signal=other).tolist() == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ties_that_rounding_breaks_are_ties(dtype):
    v = torch.arange(1, 5, dtype=dtype)
    g, rounded = v.outer(v), 0.1 * v.outer(v)
    assert exact_alignment(g, 2).item() == exact_alignment(rounded, 2).item() == counted(g, 2)


def test_the_ceiling_of_alignment_without_noise_and_with_any():
    assert exact_alignment(diagonal(5, 2, 1), 3).item() == 1 - 2**-3
    assert exact_alignment(diagonal(5, 2, 0, 0), 2).item() == 1 - 2**-2
    assert exact_alignment(torch.zeros(4, 4, dtype=torch.float64), 2).item() == 0
    noisy = diagonal(5, 3, 0, 0)
    noisy[0, 2:] = torch.tensor([1e-4, 3e-4])  # sees the noise of B
    assert exact_alignment(noisy, 2).item() == 1 - (2**-2 + 2**-4) / 2
    assert exact_alignment(noisy, 2, other_signal=True).item() == 1
    assert exact_alignment(diagonal(-1, -2, -4), 3).item() == 0


def test_independent_trials_agree_with_the_exact_alignment():
    g, trials = torch.stack([normal(5, 5), diagonal(3, 2, 1, 0, 0), torch.zeros(5, 5, dtype=torch.float64)]), 4000
    (u_a, u_b), (other, _) = sample_signs(3, 5, trials, streams(3)), sample_signs(5, 5, trials, streams(3, "others"))
    more = ((u_a @ g) * (u_b - other)).sum(-1)
    hits, p = (more > 1e-9).sum(-1), exact_alignment(g, 3)
    assert hits[2].item() == 0
    assert bool(((hits / trials - p).abs() <= 4 * (p * (1 - p) / trials).sqrt()).all())


def test_exact_alignment_in_blocks_is_that_of_each_alone():
    g = normal(9, 8, 8)
    assert exact_alignment(g, 3).tolist() == [exact_alignment(m, 3).item() for m in g]
    big = torch.zeros(11, 11, dtype=torch.float64)  # 2^10 sorts of 2^11: more than one block with three
    big[:8, :8] = g[0]
    values = exact_alignment(torch.stack([big, 2 * big, big.mT]), 3)
    assert values[0] == values[1] == exact_alignment(g[0], 3) and values[2] == exact_alignment(g[0].mT, 3)


@pytest.mark.parametrize("rank", [2, 3, 4, 5])
def test_the_bound_on_the_condition_number_is_sharp(rank):
    bound = alignment_condition(rank)
    below, at, beyond = (worst_alignment_map(rank, bound * f) for f in (1 - 1e-6, 1, 1 + 1e-6))
    assert condition_number(at, rank).item() == pytest.approx(bound)
    scores = [exact_alignment(correlation(k, k), rank).item() for k in (below, at, beyond)]
    assert scores == [1 - 2**-rank, 1 - 2**-rank - 2 ** (1 - 2 * rank), 1 - 2**-rank - 2 ** (1 - 2 * rank)]
    for condition in (1, 1 + 0.5 * (bound - 1), bound * (1 - 1e-6)):  # the margin is met
        k = worst_alignment_map(rank, condition)
        assert smallest_gap(k) == pytest.approx(margin(k), rel=1e-8)
    assert smallest_gap(beyond) < 0 < smallest_gap(below)


def test_below_the_bound_every_map_is_aligned_and_orthogonal_columns_need_none():
    rank = 4
    u, _, vt = torch.linalg.svd(normal(50, 6, rank), full_matrices=False)
    values = torch.linspace(1, 0.999 * alignment_condition(rank), rank, dtype=torch.float64)
    k = u * values @ vt
    assert exact_alignment(correlation(k, k), rank).tolist() == [1 - 2**-rank] * 50
    assert all(smallest_gap(x) > 0 for x in k[:5])
    steep = torch.diag_embed(10.0 ** torch.arange(rank, dtype=torch.float64))
    assert exact_alignment(correlation(steep, steep), rank).item() == 1 - 2**-rank
    far = u[0] * torch.tensor([1, 1, 1, 1e3], dtype=torch.float64) @ vt[0]  # condition number alone does not do
    assert exact_alignment(correlation(far, far), rank).item() < 1 - 2**-rank
    assert alignment_condition(1) == math.inf and alignment_condition(2) == pytest.approx(1 + 2**0.5)
    with pytest.raises(ValueError, match="rank must be ≥ 1, got 0"):
        alignment_condition(0)
    for rank, condition in ((1, 2.0), (3, 0.5)):
        with pytest.raises(ValueError, match=f"rank and condition must be ≥ 2 and ≥ 1, got {rank} and {condition}"):
            worst_alignment_map(rank, condition)


def test_balance_is_the_stable_rank_of_the_covariance_of_outputs():
    k = normal(3, 5, 4)
    u = torch.tensor(list(itertools.product((-0.5, 0.5), repeat=4)), dtype=torch.float64)
    f = u @ k.mT  # [run, 16, m]
    values = torch.linalg.eigvalsh(f.mT @ f / f.square().sum((-2, -1))[:, None, None])
    assert torch.allclose(balance(k), values.square().sum(-1) / values.amax(-1).square(), rtol=1e-10)
    assert torch.allclose(balance(k, 2), balance(k[..., :2]), rtol=1e-12)
    assert torch.allclose(balance(k[1]), balance(k)[1], rtol=1e-12)  # some processors round a product alone differently
    assert balance(diagonal(2, 2, 2, 0), 3).item() == pytest.approx(3)
    # the example of Section 4: one large κ is aligned, and not balanced
    example = diagonal(10, 1, 1, 1)
    assert exact_alignment(correlation(example, example), 4).item() == 1 - 2**-4
    assert balance(example).item() == pytest.approx(1 + 3e-4)


def test_condition_number_ratio_of_columns_noise_and_alignment_of_columns():
    a, b = normal(3, 6, 5, purpose="a"), normal(3, 6, 5, purpose="b")
    assert condition_number(a, 2).tolist() == pytest.approx([np.linalg.cond(k[:, :2].numpy()) for k in a])
    assert bool((column_ratio(a, 3) <= condition_number(a, 3)).all())
    orthogonal = torch.linalg.qr(a)[0] * torch.tensor([1, 4, 2, 9, 9], dtype=torch.float64)
    assert column_ratio(orthogonal, 3).tolist() == pytest.approx([4] * 3)
    assert condition_number(orthogonal, 3).tolist() == pytest.approx([4] * 3)
    assert noise_signal_ratio(orthogonal, 3).tolist() == pytest.approx([162 / 21] * 3)
    assert noise_signal_ratio(a, 5).tolist() == [0] * 3
    expected = [2 * a[1, :, p] @ b[1, :, p] / (a[1, :, p] @ a[1, :, p] + b[1, :, p] @ b[1, :, p]) for p in range(2)]
    assert column_alignment(a, b, 2)[1].tolist() == pytest.approx([x.item() for x in expected])
    assert torch.allclose(
        column_alignment(a, torch.stack([a[0], -a[1], 3 * a[2]]), 2)[:, 0], a.new_tensor([1, -1, 0.6])
    )


def test_discretisation_errors_are_those_of_a_loop_over_columns():
    d, rank = 5, 2
    a, b = normal(3, 4, d, purpose="a"), normal(3, 4, d, purpose="b")
    errors = discretisation_errors(a, b, rank)
    for run in range(3):
        columns = {(s, p): k[run, :, p].numpy() for s, k in (("a", a), ("b", b)) for p in range(d)}
        size = {key: float(np.linalg.norm(x)) for key, x in columns.items()}
        largest = {"signal": 0.0, "signal_noise": 0.0, "noise": 0.0}
        for x, y in itertools.combinations(columns, 2):
            kind = ("noise", "signal_noise", "signal")[(x[1] < rank) + (y[1] < rank)]
            if kind != "signal" or x[1] != y[1]:
                cosine = abs(float(columns[x] @ columns[y])) / size[x] / size[y]
                largest[kind] = max(largest[kind], cosine)
        ratios = [size["a", p] ** 2 / size["b", p] ** 2 for p in range(rank)]
        noises = [size[key] ** 2 for key in size if key[1] >= rank]
        largest |= {"norms": max(max(x, 1 / x) for x in ratios) - 1, "noise_norms": max(noises) / min(noises) - 1}
        assert {name: getattr(errors, name)[run].item() for name in largest} == pytest.approx(largest, rel=1e-10)
    alone = discretisation_errors(a[1], b[1], rank)
    assert [x.item() for x in alone] == [x[1].item() for x in errors]


def test_discretisation_errors_vanish_at_infinite_width_and_without_columns():
    q = torch.linalg.qr(normal(9, 8))[0]
    a, b = q[:, :4], torch.cat([0.6 * q[:, :2] + 0.8 * q[:, 4:6], q[:, 6:]], -1)
    assert discretisation_errors(a, b, 2) == pytest.approx([0] * 5, abs=1e-14)
    assert [x.item() for x in discretisation_errors(a[:, :1], a[:, :1], 1)] == [0] * 5
    still = torch.cat([a[:, :2], torch.zeros(9, 2, dtype=torch.float64)], -1)  # noise of scale 0
    assert discretisation_errors(still, still, 2) == pytest.approx([0] * 5, abs=1e-14)
    scales = torch.ones(20, 4, dtype=torch.float64)
    narrow, wide = (discretisation_errors(*initial_maps(scales, width, streams(20), 2), 2) for width in (10**4, 10**8))
    for small, large in zip(wide, narrow, strict=True):
        assert (large.mean() / small.mean()).item() == pytest.approx(100, rel=0.4)


def test_bad_ranks_and_matrices_are_refused():
    k = normal(3, 5)
    ranked = (condition_number, column_ratio, noise_signal_ratio, balance)
    for score in ranked:
        for rank in (0, 6):
            with pytest.raises(ValueError, match=f"{score.__name__}: "):
                score(k, rank)
    for score in (column_alignment, discretisation_errors):
        with pytest.raises(ValueError, match=f"{score.__name__}: rank must be 1 to d = 5, got 6"):
            score(k, k, 6)
    with pytest.raises(ValueError, match="condition_number: map_a must have ≥ rank = 4 rows, got 3"):
        condition_number(k, 4)
    for g, rank in ((k, 2), (k[:, :3], 4), (torch.full((2, 2), math.nan), 1), (torch.zeros(14, 14), 2)):
        with pytest.raises(ValueError, match="g and rank must be finite"):
            exact_alignment(g, rank)


def test_everything_stays_on_the_device_and_in_the_dtype_of_its_inputs():
    def everything(a, b):
        g = correlation(a, b)
        scores = [score(a, 2) for score in (condition_number, column_ratio, noise_signal_ratio, balance)]
        return [
            *scores,
            exact_alignment(g, 2),
            column_alignment(a, b, 2),
            *discretisation_errors(a, b, 2),
        ]

    a, b = normal(2, 4, 3, purpose="a").float(), normal(2, 4, 3, purpose="b").float()
    assert {x.dtype for x in everything(a, b)} == {torch.float32}
    with elsewhere():
        far = everything(a.to(ELSEWHERE), b.to(ELSEWHERE))
        assert {x.device for x in (*far, worst_alignment_map(2, 2.0, ELSEWHERE))} == {ELSEWHERE}
