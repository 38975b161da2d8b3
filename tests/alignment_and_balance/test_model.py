import itertools
import math

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from one_line_error import one_line_error
from scipy import stats

from contrastive_dynamics.alignment_and_balance.model import (
    all_signs,
    correlation,
    initial_maps,
    lumped_maps,
    model_scales,
    sample_signs,
    sign_vectors,
)
from contrastive_dynamics.numerics.random_streams import stream


def streams(run, purpose="start"):
    return [stream(0, k, purpose) for k in range(run)]


def normal(*shape, purpose="normal"):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def states(signs, dim):
    """The states as integers ±1, a set of tuples (z, ξ_A, z, ξ_B)."""
    rows = (torch.cat(signs, -1) * math.sqrt(dim)).round().int().tolist()
    return [tuple(row) for row in rows]


def test_scales_are_those_of_the_signal_then_of_the_noise():
    assert model_scales(tensor(2, 1), 0.5, 4).tolist() == [2, 1, 0.5, 0.5]
    batch = model_scales(torch.stack([tensor(2, 1), tensor(3, 4)]), tensor(0, 5), 3)
    assert batch.tolist() == [[2, 1, 0], [3, 4, 5]]
    assert model_scales(tensor(2, 1), 7, 2).tolist() == [2, 1]
    for sigma, noise, dim in ((tensor(1, 2), 1, 1), (tensor(1, 0), 1, 3), (tensor(1, 2), -1, 3), (tensor(), 1, 3)):
        with pytest.raises(
            ValueError, match="sigma, noise and dim must be > 0, ≥ 0 and ≥ r ≥ 1, got .* sigma, noise of shape"
        ):
            model_scales(sigma, noise, dim)
    with pytest.raises(ValueError, match="noise must be below every sigma, got noise up to .* and sigma from"):
        model_scales(tensor(1, 2), 1, 3, small_noise=True)


@pytest.mark.parametrize("width", [3, 6, 7, 40])
def test_starts_have_the_law_of_gaussian_weights_whether_compressed_or_not(width):
    run, scales = 1500, tensor(2.0, 1.0, 0.3)
    maps = initial_maps(scales.repeat(run, 1), width, streams(run), 2)
    assert all(part.shape == (run, min(width, 6), 3) for part in maps)
    columns = torch.cat(maps, -1) / scales.repeat(2)
    gram = width * columns.mT @ columns
    weights = normal(run, width, 6)
    wishart = weights.mT @ weights
    # the last diagonal entry holds all rows of R, that beside it A and B
    assert stats.kstest(gram[:, 5, 5].numpy(), stats.chi2(width).cdf).pvalue > 1e-3
    for statistic in (lambda x: x[:, 2, 5], lambda x: x[:, 0, 1], lambda x: torch.linalg.eigvalsh(x)[:, 3]):
        assert stats.ks_2samp(statistic(gram).numpy(), statistic(wishart).numpy()).pvalue > 1e-3


def test_columns_become_orthogonal_with_slope_one_half_in_the_width():
    widths, scales = [10**2, 10**4, 10**8], torch.ones(200, 4, dtype=torch.float64)
    grams = [a.mT @ b for a, b in (initial_maps(scales, width, streams(200), 1) for width in widths)]
    sizes = [gram.square().mean().sqrt().item() * math.sqrt(width) for gram, width in zip(grams, widths, strict=True)]
    assert sizes == pytest.approx([1, 1, 1], rel=0.1)


def test_lumped_noise_has_the_gram_matrix_of_all_its_columns():
    """K_ξK_ξᵀ is Wishart: n degrees of freedom, mean nσ²/m on the diagonal, variances 2n and n times σ⁴/m²."""
    runs, n, m = 2000, 50, 3
    a, b, scales = lumped_maps(tensor(1.5, 0.5).expand(runs, -1), 0.8, n + 2, m, streams(runs, "lumped"))
    assert a.shape == (runs, m, 5) and scales[7].tolist() == [1.5, 0.5, 0.8, 0.8, 0.8]
    unit = n * 0.8**2 / m
    grams, eye = [k[..., 2:] @ k[..., 2:].mT / unit for k in (a, b)], torch.eye(m, dtype=torch.float64)
    for gram in grams:
        torch.testing.assert_close(gram.mean(0), eye, rtol=0, atol=5 * (2 / n / runs) ** 0.5)
        torch.testing.assert_close(gram.var(0), (1 + eye) / n, rtol=0.2, atol=0)
    pair = torch.corrcoef(torch.stack([gram[:, 0, 0] for gram in grams]))[0, 1]
    assert abs(pair) < 5 / runs**0.5
    assert (a[..., :2].std((0, 1)) / (tensor(1.5, 0.5) / m**0.5) - 1).abs().max() < 0.05
    alone = lumped_maps(tensor(1.5, 0.5).expand(1, -1), 0.8, 10**6, m, streams(9, "lumped")[8:])
    assert torch.equal(alone[0][0, :, :2], a[8, :, :2]) and alone[0].square().sum() > 0.5 * 10**6 * 0.8**2
    for width, dim in ((1, 10), (5, 6)):
        with one_line_error(ValueError, f"must be r to d − r, .* got {width}, {dim}"):
            lumped_maps(tensor(1.5, 0.5).expand(1, -1), 0.8, dim, width, streams(1))


def test_a_start_is_the_same_alone_and_in_a_batch():
    scales = torch.stack([tensor(2, 1, 0.5)] * 3)
    for width in (4, 500):
        batch = initial_maps(scales, width, streams(3), 2)
        alone = initial_maps(scales[:1], width, streams(3)[2:], 2)
        assert all(torch.equal(b[2:], a) for b, a in zip(batch, alone, strict=True))
    for width, rank, run in ((1, 2, 3), (4, 0, 3), (4, 2, 2)):
        with pytest.raises(ValueError, match=f"width, rank, .* must be ≥ rank, ≥ 1, .*, got {width}, {rank}, "):
            initial_maps(scales, width, streams(run), rank)


def test_the_correlation_gives_products_of_outputs_on_data():
    d, ambient, m = 4, 7, 5
    scales, (u_a, u_b) = tensor(2, 1, 0.5, 0.5), all_signs(2, d)
    data_a, data_b = (torch.linalg.qr(normal(ambient, d, purpose=p))[0] * scales for p in ("a", "b"))
    w_a, w_b = (normal(ambient, m, purpose=p) for p in ("wa", "wb"))
    outputs = []
    for data, w in ((data_a, w_a), (data_b, w_b)):
        everything = torch.tensor(list(itertools.product((-0.5, 0.5), repeat=d)), dtype=torch.float64) @ data.mT @ w
        outputs.append((data.mT @ w).mT / everything.square().sum(-1).mean().sqrt())
    exact = ((u_a @ outputs[0].mT) * (u_b @ outputs[1].mT)).sum(-1)
    g = correlation(w_a.mT @ data_a, w_b.mT @ data_b)
    assert torch.allclose(((u_a @ g) * u_b).sum(-1), exact, rtol=1e-10)
    assert torch.allclose(correlation(3 * w_a.mT @ data_a, w_b.mT @ data_b), g, rtol=1e-10)


def test_all_signs_are_all_positive_pairs_up_to_a_global_sign():
    for rank, dim in ((1, 1), (2, 2), (1, 3), (2, 4)):
        found = states(all_signs(rank, dim), dim)
        pairs = {
            (*z, *a, *z, *b)
            for z in itertools.product((-1, 1), repeat=rank)
            for a in itertools.product((-1, 1), repeat=dim - rank)
            for b in itertools.product((-1, 1), repeat=dim - rank)
        }
        assert len(found) == len(set(found)) == len(pairs) // 2
        assert set(found) | {tuple(-x for x in state) for state in found} == pairs
    assert states((sign_vectors(2) / math.sqrt(2),), 2) == [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    with pytest.raises(ValueError, match=r"must be ≤ 20, got 21"):
        all_signs(1, 11)
    with pytest.raises(ValueError, match="all_signs: rank must be 1 to dim = 2, got 3"):
        all_signs(3, 2)


def test_sampled_signs_share_the_signal_and_nothing_else():
    u_a, u_b = sample_signs(2, 4, 4000, streams(3))
    assert torch.equal(u_a[..., :2], u_b[..., :2]) and u_a.abs().unique().tolist() == [0.5]
    u = torch.cat([u_a, u_b[..., 2:]], -1)
    second = u.mT @ u / 4000 - torch.eye(6, dtype=torch.float64) / 4
    assert second.abs().max() < 4.5 / 4 / 4000**0.5 and u.mean(1).abs().max() < 4.5 / 2 / 4000**0.5
    alone = sample_signs(2, 4, 4000, streams(3)[1:2])
    assert torch.equal(alone[0], u_a[1:2]) and torch.equal(alone[1], u_b[1:2])
    for rank, count in ((0, 5), (5, 5), (2, 0)):
        with pytest.raises(ValueError, match="(sample_signs: rank|count) must be"):
            sample_signs(rank, 4, count, streams(1))


def test_everything_is_where_the_inputs_and_generators_are():
    with elsewhere():
        far = [stream(0, k, "far", ELSEWHERE) for k in range(2)]
        scales = model_scales(torch.ones(2, 2, dtype=torch.float64).to(ELSEWHERE), 0.5, 3)
        maps = [*initial_maps(scales, 4, far, 2), *initial_maps(scales, 40, far, 2)]
        signs = [*all_signs(1, 2, ELSEWHERE), *sample_signs(1, 3, 5, far)]
        assert {part.device for part in (scales, *maps, correlation(*maps[:2]), *signs)} == {ELSEWHERE}
