from math import sqrt

import pytest
import torch
from scipy.stats import beta, multivariate_normal

from contrastive_dynamics.feature_decoupling.decoupling_scores import (
    MAJORITY,
    atom_shares,
    matched_neurons,
    neurons_won,
    noise_dominance,
    span_share,
    split_coefficients,
)
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.feature_decoupling.symmetrised_relu import features
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.stiefel import haar

RUNS, DIM, ATOMS = 3, 24, 5


def f64(values):
    return torch.tensor(values, dtype=torch.float64)


def streams(purpose, runs=RUNS):
    return [stream(0, k, purpose) for k in range(runs)]


def basis(runs=RUNS):
    """M and M⊥, together an orthogonal matrix."""
    return haar(streams("basis", runs), DIM, DIM).split([ATOMS, DIM - ATOMS], -1)


def normal(*shape, purpose="normal"):
    return torch.stack([torch.randn(*shape, generator=g, dtype=torch.float64) for g in streams(purpose)])


def test_shares_of_atoms_complement_and_span_add_up_along_a_time_axis():
    dictionary, complement = basis()
    weights = torch.stack([normal(7, DIM), normal(7, DIM, purpose="later")])
    shares, rest = atom_shares(weights, dictionary), atom_shares(weights, complement)
    assert shares.shape == (2, RUNS, 7, ATOMS)
    torch.testing.assert_close(shares.sum(-1) + rest.sum(-1), torch.ones(2, RUNS, 7).double(), rtol=1e-10, atol=0)
    projected = torch.linalg.lstsq(dictionary, weights[1].mT).solution  # of w on the columns of M
    expected = (dictionary @ projected).mT.norm(dim=-1).square() / weights[1].norm(dim=-1).square()
    torch.testing.assert_close(span_share(weights, dictionary)[1], expected, rtol=1e-10, atol=0)


def test_a_neuron_made_of_known_parts_is_split_into_them():
    dictionary, complement = basis()
    sparse = f64([[0.8, -0.5, 0.1, 0, 0.02], [0, 0, 0, 0.9, 0], [0.3, 0.3, 0.3, 0.3, 0.3]])
    dense = 1e-6 * normal(3, DIM - ATOMS)  # so small that 1 - Σ cos² would lose it
    weights = sparse @ dictionary.mT + dense @ complement.mT
    split = split_coefficients(weights, dictionary, 0.5, complement)
    assert split.own[0].tolist() == [[True, True] + 3 * [False], [False] * 3 + [True, False], [False] * 5]
    norms = torch.cat([sparse.expand(RUNS, 3, ATOMS), dense], -1).norm(dim=-1)
    other = f64([[0.1, 0, 0.02], [0, 0, 0], [0.3, 0.3, 0.3]])
    torch.testing.assert_close(split.other_max, other.amax(-1) / norms, rtol=1e-9, atol=1e-12)
    rms = f64([sqrt(0.0104 / 3), 0, 0.3]) / norms
    torch.testing.assert_close(split.other_rms, rms, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(split.dense_rms, dense.square().mean(-1).sqrt() / norms, rtol=1e-8, atol=0)
    torch.testing.assert_close(split.dense_max, dense.abs().amax(-1) / norms, rtol=1e-8, atol=0)
    assert split_coefficients(weights, dictionary).dense_max is None
    assert neurons_won(weights, dictionary, 0.5).tolist() == RUNS * [[0, 0, 0, 1, 0]]
    assert neurons_won(weights, dictionary).tolist() == RUNS * [[1, 0, 0, 1, 0]]
    square = split_coefficients(weights[:, :1, :ATOMS], torch.eye(ATOMS).double().expand(RUNS, -1, -1))
    assert square.dense_rms.abs().max() < 1e-12  # d = d1: there is no dense direction


def test_chance_puts_as_many_atoms_into_an_own_set_as_its_formula_says():
    count, dictionary = 20_000, torch.eye(6).double().unsqueeze(0)
    weights = torch.randn(1, count, 6, generator=stream(0, 0, "chance"), dtype=torch.float64)
    for threshold in (0.5, MAJORITY):
        won = int(neurons_won(weights, dictionary, threshold).sum())
        own = int(split_coefficients(weights, dictionary, threshold).own.sum())
        chance = 6 * beta(0.5, 2.5).sf(threshold**2)  # of u_j² in six dimensions
        assert won <= own and abs(own / count - chance) < 5 * sqrt(chance / count)
    assert won == own  # two atoms of more than a half each do not fit into one neuron


def test_noise_alone_fills_a_linear_representation_and_a_bias_silences_it():
    dictionary, _ = basis()
    model = SparseCoding(dictionary, 0.2, 0.3)
    weights = normal(400, DIM)
    found = noise_dominance(model, weights, torch.zeros(RUNS, 400).double(), 500, streams("samples"))
    ratio = DIM * 0.09 / (DIM * 0.09 + ATOMS * 0.2)
    assert not found.silent.any() and abs(float(found.cosine.mean()) - sqrt(ratio)) < 0.03
    bias = torch.full((RUNS, ATOMS), 0.5).double()
    found = noise_dominance(model, dictionary.mT, bias, 500, streams("samples"))
    again = streams("samples")  # the same draws by hand
    latents, noise = model.latents(500, again), model.dense_noise(500, again)
    of_noise, of_data = (features(x, dictionary.mT, bias) for x in (noise, latents @ dictionary.mT + noise))
    assert torch.equal(found.silent, of_noise.norm(dim=-1) == 0)
    fires = (of_noise.norm(dim=-1) > 0) & (of_data.norm(dim=-1) > 0)
    torch.testing.assert_close(found.cosine[fires], torch.cosine_similarity(of_noise, of_data, dim=-1)[fires])
    assert found.cosine[~fires].isnan().all()
    alone = noise_dominance(model.part(slice(1, 2)), dictionary.mT[1:2], bias[1:2], 500, streams("samples")[1:2])
    assert torch.equal(alone.silent[0], found.silent[1])
    torch.testing.assert_close(alone.cosine[0], found.cosine[1], rtol=1e-12, atol=0, equal_nan=True)


def test_noise_is_silent_as_often_as_the_normal_law_says():
    slanted = f64([[[1.0, 0.4, 0.0], [0.5, 1.0, 0.0], [0.0, 0.7, 1.0]]])
    bias, eye = f64([[0.5, 0.3, 0.4]]), torch.eye(3).double().unsqueeze(0)
    covariance, b = 0.09 * slanted[0] @ slanted[0].T, bias[0]
    exact = multivariate_normal(cov=covariance).cdf(b, lower_limit=-b)
    model = SparseCoding(eye, 0.2, 0.3)
    seen = noise_dominance(model, slanted, bias, 20_000, streams("slanted", 1)).silent.double().mean()
    assert abs(float(seen) - exact) < 4 * sqrt(exact * (1 - exact) / 20_000)


def test_neurons_find_their_partners_whatever_order_sign_and_length_they_have():
    a = normal(6, DIM)
    order = torch.stack([torch.randperm(6, generator=g) for g in streams("order")])
    b = -2 * a.gather(1, order.unsqueeze(-1).expand_as(a))
    partner, cosine = matched_neurons(a, b)
    torch.testing.assert_close(order.gather(1, partner), torch.arange(6).expand(RUNS, 6))
    torch.testing.assert_close(cosine, torch.ones(RUNS, 6).double(), rtol=1e-12, atol=0)
    same = a[:, :1] + 0.01 * a[:, :3]  # three neurons of nearly one direction want one partner
    shared, _ = matched_neurons(same, a)
    single, cosine = matched_neurons(same, a, one_to_one=True)
    assert shared.tolist() == RUNS * [[0, 0, 0]] and all(len(set(run)) == 3 for run in single.tolist())
    torch.testing.assert_close(
        cosine, torch.cosine_similarity(same, a.gather(1, single.unsqueeze(-1).expand_as(same)), dim=-1).abs()
    )


def test_bad_input_is_refused_in_one_line():
    dictionary, _ = basis()
    weights, bias = normal(4, DIM), torch.zeros(RUNS, 4).double()
    with pytest.raises(ValueError, match=r"split_coefficients: threshold must be in \(0, 1\], got 0"):
        split_coefficients(weights, dictionary, 0)
    with pytest.raises(ValueError, match=r"neurons_won: threshold must be .*, got 1.5"):
        neurons_won(weights, dictionary, 1.5)
    with pytest.raises(ValueError, match="count must be ≥ 1, got 0"):
        noise_dominance(SparseCoding(dictionary, 0.2, 0.3), weights, bias, 0, streams("samples"))
    with pytest.raises(ValueError, match="m_a ≤ m_b for one_to_one"):
        matched_neurons(weights, weights[:, :2], one_to_one=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_coefficient_at_the_threshold_counts_whatever_rounding_says(dtype):
    dictionary = basis()[0].to(dtype)
    for size in (2, 4):  # equal parts of as many atoms: cosines of 1/√size
        sets = torch.combinations(torch.arange(ATOMS), size)
        chosen = torch.zeros(len(sets), ATOMS, dtype=dtype).scatter(1, sets, 1)
        weights = torch.linspace(0.1, 9, len(sets), dtype=dtype).unsqueeze(-1) * (chosen @ dictionary.mT)
        own = split_coefficients(weights, dictionary, size**-0.5).own
        assert torch.equal(own, chosen.bool().expand_as(own))
        assert not neurons_won(weights, dictionary, size**-0.5).any()  # no atom has such a neuron alone
        clear = split_coefficients(weights, dictionary, size**-0.5 + 1e-4).own
        assert not clear.any()  # the control: a cosine that is below the threshold stays below
