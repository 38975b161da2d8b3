from itertools import product
from math import comb, log, log1p, sqrt

import pytest
import torch
from scipy.stats import chi2

from contrastive_dynamics.feature_decoupling.constructed_learners import (
    collision_floor,
    dense_learner,
    silent_share,
    singleton_learner,
)
from contrastive_dynamics.feature_decoupling.decoupled_training import stream_gradient
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.feature_decoupling.symmetrised_relu import contrastive_loss_value, features
from contrastive_dynamics.feature_decoupling.training_schedule import DecoupledTraining, Learner
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.stiefel import haar

RUNS, DIM, ATOMS, ACTIVE, NOISE = 4, 40, 6, 0.15, 0.3


def f64(values):
    return torch.tensor(values, dtype=torch.float64)


def streams(purpose, runs=RUNS):
    return [stream(0, k, purpose) for k in range(runs)]


def coding(noise=NOISE):
    return SparseCoding(haar(streams("dictionary"), DIM, ATOMS), ACTIVE, noise)


def loss_of(model, learner, views="plain", negatives=32, batch=1024):
    training = DecoupledTraining(views=views, batch=batch, negatives=negatives, temperature=2.0)
    return stream_gradient(model, Learner(*learner, None), training, streams("data", len(model.dictionary))).loss


def dense_loss_bounds(scale, neurons, noise, negatives, temperature):
    """(lower, upper) bound of the loss of `dense_learner` on plain views, by the trapezoidal rule over log r².

    With κ = c²σ_ξ²/τ and r² ~ χ²_m the loss is τ E log(1 + Σ_s e^{κ(rζ_s - r²)}), and
        τ E log(1 + N e^{-κr²}) ≤ loss ≤ τ (κ/s) E log(1 + N e^{-s(1 - s/2)r²}), s = min(κ, 1).
    Lower bound: log-sum-exp is convex in ζ. Upper bound: (1 + Σx_s)^θ ≤ 1 + Σx_s^θ for θ = s/κ ≤ 1, and the logarithm
    is concave. Both are close to N e^{-κm} for small κ: r² ≈ m and |rζ_s| ≪ m is the statement of
    Johnson-Lindenstrauss. Since E e^{-r²/2} = 2^{-m/2}, the loss at κ = 1 is at most τN·2^{-m/2}.
    Source: wen-li-2021, Lemma F.2 (its bound is lost in our copy); derived.
    """
    log_square = torch.linspace(-60, 12, 8192, dtype=torch.float64)
    square = log_square.exp()
    density = (torch.distributions.Chi2(f64(float(neurons))).log_prob(square) + log_square).exp()
    kappa = scale.unsqueeze(-1) ** 2 * noise**2 / temperature
    least = kappa.clamp(max=1)
    low = torch.nn.functional.softplus(log(negatives) - kappa * square)
    high = kappa / least * torch.nn.functional.softplus(log(negatives) - least * (1 - least / 2) * square)
    return tuple(temperature * torch.trapezoid(density * each, log_square) for each in (low, high))


def test_dense_features_are_orthogonal_of_one_norm_and_see_no_atom():
    model, scale = coding(), f64([0.5, 1, 2, 4])
    weights, bias = dense_learner(model.dictionary, 9, scale, streams("dense"))
    gram = scale.view(-1, 1, 1) ** 2 * torch.eye(9).double()
    torch.testing.assert_close(weights @ weights.mT, gram, rtol=0, atol=1e-12)
    assert (weights @ model.dictionary).abs().max() < 1e-12 and not bias.any()
    alone, _ = dense_learner(model.dictionary[2:3], 9, 2.0, streams("dense")[2:3])
    torch.testing.assert_close(alone[0], weights[2], rtol=1e-12, atol=1e-14)


def test_the_dense_loss_lies_between_its_bounds_at_every_scale():
    scale = (f64([0.1, 0.5, 1.0, 4.0]) * 2).sqrt() / NOISE  # κ, τ = 2
    low, high = dense_loss_bounds(scale, 12, NOISE, 32, 2.0)
    copies = 48  # batches share their negatives, so that many batches tell more than a large one
    model = SparseCoding(coding().dictionary.repeat(copies, 1, 1), ACTIVE, NOISE)
    learner = dense_learner(model.dictionary, 12, scale.repeat(copies), streams("dense", 4 * copies))
    found = loss_of(model, learner, batch=256).view(copies, 4)
    mean, error = found.mean(0), found.std(0) / sqrt(copies)
    assert ((low < mean + 4 * error) & (mean - 4 * error < high)).all() and (error < 0.1 * mean).all()
    assert high[0] < 1.2 * low[0] and high[2] < 2 * 32 * 2**-6
    peer = 2 * chi2(12).expect(lambda square: log1p(32 * 2.718281828459045 ** (-0.5 * square)))  # κ = 1/2
    torch.testing.assert_close(low[1], f64(peer), rtol=1e-7, atol=0)
    assert 7 < high[3] / high[2] * 2 < 9  # linear in κ above 1
    wide = dense_loss_bounds(scale, 4000, NOISE, 32, 2.0)[0]
    assert wide[0] == pytest.approx(2 * 32 * 1.2**-2000, rel=1e-6)  # N E e^{-κr²} = N (1 + 2κ)^{-m/2}


def test_one_neuron_an_atom_or_three_of_it_is_the_same_to_the_loss():
    model = coding()
    weights, bias = singleton_learner(model.dictionary, f64([1, 2, 3, 4]), 0.4)
    torch.testing.assert_close(bias, (0.4 * f64([1, 2, 3, 4])).unsqueeze(-1).expand(RUNS, ATOMS))
    torch.testing.assert_close(weights, f64([1, 2, 3, 4]).view(-1, 1, 1) * model.dictionary.mT)
    thrice = tuple(torch.cat(3 * [part], 1) / sqrt(3) for part in (weights, bias))
    torch.testing.assert_close(loss_of(model, thrice), loss_of(model, (weights, bias)), rtol=1e-10, atol=0)


@pytest.mark.parametrize("ratio", [0.2, 0.7])
def test_a_raised_bias_silences_the_share_of_samples_it_says_and_they_cost_the_most(ratio):
    model = coding()
    learner = singleton_learner(model.dictionary, f64([0.3, 1, 3, 10]), ratio)
    silent = (features(model.sample(4000, streams("x"))[1], *learner) == 0).all(-1).double().mean()
    share = silent_share(ATOMS, ACTIVE, NOISE, ratio)
    assert abs(float(silent) - share) < 4 * sqrt(share * (1 - share) / 16_000)
    loss = loss_of(model, learner)
    assert (loss > 0.9 * share * 2 * log(33)).all()
    assert loss_of(model, singleton_learner(model.dictionary, f64([1, 2, 3, 4]), 0.0)).min() < loss.min()


def test_the_floor_of_noiseless_codes_is_that_of_their_enumeration():
    z = f64(list(product((-1, 0, 1), repeat=2)))
    weight = torch.where(z == 0, f64(1 - ACTIVE), f64(ACTIVE / 2)).prod(-1)
    expected = 0.0
    for (x, p), (a, q), (b, r) in product(zip(z, weight, strict=True), repeat=3):
        value = contrastive_loss_value(x[None, None], x[None, None], torch.stack([a, b])[None], 1e-4)
        expected += float(p * q * r * value) / 1e-4
    assert collision_floor(2, ACTIVE, 2) == pytest.approx(expected, rel=1e-10)
    model = SparseCoding(coding().dictionary.repeat(24, 1, 1), ACTIVE, 1e-4)
    found = loss_of(model, singleton_learner(model.dictionary, sqrt(2 * 30), 0.01), batch=256)
    floor = 2 * collision_floor(ATOMS, ACTIVE, 32)
    assert abs(float(found.mean()) - floor) < 4 * float(found.std()) / sqrt(96) < 0.05 * floor
    assert floor > 2 * (1 - ACTIVE) ** ATOMS * log(33)


def test_the_floor_is_that_of_rare_signals_where_no_other_code_agrees_with_many_of_them():
    """E log(1 + K) by its own sum over the k < 6 that matter at d p = 0.5; the rest is below 1e-5."""
    atoms, active, negatives = 1024, 0.5 / 1024, 256
    expected = 0.0
    for k in range(6):
        agree = (active / 2) ** k
        met = [
            comb(negatives, n) * agree**n * (1 - agree) ** (negatives - n) * log(1 + n) for n in range(negatives + 1)
        ]
        expected += comb(atoms, k) * active**k * (1 - active) ** (atoms - k) * sum(met)
    assert collision_floor(atoms, active, negatives) == pytest.approx(expected, abs=1e-5)


def test_bad_input_is_refused_in_one_line():
    dictionary = coding().dictionary
    with pytest.raises(ValueError, match="1 to d1 - d = 34 and one per run, 4, got 35 and 4"):
        dense_learner(dictionary, 35, 1.0, streams("dense"))
    with pytest.raises(ValueError, match="dense_learner: scale must be > 0, .* one per run, 4, got 3 from 1.0"):
        dense_learner(dictionary, 3, f64([1, 1, 1]), streams("dense"))
    with pytest.raises(ValueError, match="singleton_learner: scale must be > 0, .* got 1 from 0.0"):
        singleton_learner(dictionary, 0.0, 0.5)
    with pytest.raises(ValueError, match=r"bias_ratio must be in \[0, 1\), got 1"):
        singleton_learner(dictionary, 1.0, 1)
    with pytest.raises(ValueError, match=r"must be ≥ 1, in \(0, 1\), > 0 and ≥ 0, got 6, 1.0, 0.3 and 0.5"):
        silent_share(6, 1.0, 0.3, 0.5)
    with pytest.raises(ValueError, match="> 0 and ≥ 0, got 6, 0.5, 0.3 and nan"):
        silent_share(6, 0.5, 0.3, float("nan"))
    with pytest.raises(ValueError, match=r"must be ≥ 1, ≥ 1 and in \(0, 1\), got 6, 0 and 0.1"):
        collision_floor(6, 0.1, 0)
