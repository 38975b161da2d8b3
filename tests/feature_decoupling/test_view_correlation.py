import itertools
import math

import numpy as np
import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere

from contrastive_dynamics.feature_decoupling.dictionaries import (
    complement,
    flat_dictionary,
    local_dictionary,
    random_dictionary,
)
from contrastive_dynamics.feature_decoupling.sparse_coding import VIEWS, SparseCoding
from contrastive_dynamics.feature_decoupling.view_correlation import (
    cross_moment,
    decoding_error,
    enumerated_cross_moment,
    growth_rates,
    linear_share,
    mask_overlap,
    random_masks,
    second_moment,
)
from contrastive_dynamics.numerics.random_streams import stream

CASES = [("masked", 0.5), ("masked", 0.2), ("independent", 0.5), ("independent", 0.7), ("plain", 0.5)]


def streams(runs, purpose="moments", device=None):
    return [stream(0, run, purpose, device) for run in range(runs)]


def small(dim=3, atoms=2, runs=2):
    return SparseCoding(random_dictionary(dim, atoms, streams(runs)), active=0.3, noise=0.7)


def unit_directions(runs, dim, count):
    return torch.nn.functional.normalize(
        torch.stack([torch.randn(dim, count, generator=g, dtype=torch.float64) for g in streams(runs, "v")]), dim=-2
    )


def gauss_hermite_moments(model, run, views, rate):
    """(E x⁺x⁺⁺ᵀ, E x⁺x⁺ᵀ, E x⁺⁺x⁺⁺ᵀ) pair by pair: all z, three nodes a coordinate of ξ, all masks."""
    m = model.dictionary[run].numpy()
    dim, atoms = m.shape
    normal = [(-math.sqrt(3), 1 / 6), (0.0, 2 / 3), (math.sqrt(3), 1 / 6)]
    latent = [(-1.0, model.active / 2), (0.0, 1 - model.active), (1.0, model.active / 2)]
    bit = [(0.0, 1 - rate), (1.0, rate)]
    data = [
        (m @ [value for value, _ in z] + model.noise * np.array([value for value, _ in xi]), z + xi)
        for z in itertools.product(latent, repeat=atoms)
        for xi in itertools.product(normal, repeat=dim)
    ]
    masks = list(itertools.product(bit, repeat=dim))
    pairs = {"masked": [(d, None) for d in masks], "independent": itertools.product(masks, masks)}.get(views, [None])
    totals = np.zeros((3, dim, dim))
    points, chances = np.array([x for x, _ in data]), np.array([math.prod(c for _, c in drawn) for _, drawn in data])
    for pair in pairs:
        first, second, chance = points, points, chances
        if pair is not None:
            mask = np.array([value for value, _ in pair[0]])
            other = 1 - mask if pair[1] is None else np.array([value for value, _ in pair[1]])
            first, second = points * mask / rate, points * other / (1 - rate if pair[1] is None else rate)
            chance = chances * math.prod(c for _, c in pair[0] + (pair[1] or ()))
        for total, (a, b) in zip(totals, ((first, second), (first, first), (second, second)), strict=True):
            total += np.einsum("n,ni,nj->ij", chance, a, b)
    return torch.from_numpy(totals)


@pytest.mark.parametrize(("views", "rate"), CASES)
def test_moments_are_those_of_an_enumeration(views, rate):
    model, v = small(), unit_directions(2, 3, 4)
    found = cross_moment(model, views), second_moment(model, views, rate), second_moment(model, views, 1 - rate)
    if views == "independent":
        found = (*found[:2], found[1])
    for run in range(2):
        cross, first, second = gauss_hermite_moments(model, run, views, rate)
        for ours, counted in zip(found, (cross, first, second), strict=True):
            torch.testing.assert_close(ours[run], counted, rtol=1e-10, atol=1e-13)
        torch.testing.assert_close(enumerated_cross_moment(model, views, rate)[run], cross, rtol=1e-10, atol=1e-13)
        along = (v[run] * (cross @ v[run])).sum(0)
        torch.testing.assert_close(growth_rates(model, v, views)[run], along, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("shape", [(1, 1), (4, 1), (5, 3)])
def test_the_enumeration_at_other_sizes(shape):
    model = small(*shape)
    for views in VIEWS:
        assert torch.allclose(
            enumerated_cross_moment(model, views, 0.3), cross_moment(model, views), rtol=1e-10, atol=1e-13
        )


def test_flat_atoms_grow_and_dense_directions_do_not():
    d, d1, p, variance = 8, 64, 0.1, 0.3
    dictionary = flat_dictionary(d1, d, streams(2))
    model, dense = SparseCoding(dictionary, p, math.sqrt(variance)), complement(dictionary)
    rates = {
        ("masked", "sparse"): p * (1 - d / d1),
        ("masked", "dense"): -p * d / d1,
        ("plain", "sparse"): p + variance,
        ("plain", "dense"): variance,
    }
    for (views, which), rate in rates.items():
        found = growth_rates(model, dictionary if which == "sparse" else dense, views)
        assert torch.allclose(found, torch.full_like(found, rate), rtol=1e-12, atol=1e-14)


def test_a_local_atom_grows_less():
    for spread in (1, 2, 8):
        dictionary = local_dictionary(64, 4, spread, streams(2))
        model = SparseCoding(dictionary, 0.2, 0.5)
        found = growth_rates(model, dictionary)
        assert torch.allclose(found, torch.full_like(found, 0.2 * (1 - 1 / spread)), rtol=1e-12, atol=1e-16)


def test_the_share_is_that_of_the_linear_flow_and_of_its_steps():
    d, d1, p, times = 4, 16, 0.3, torch.tensor([0.0, 1.0, 7.0, 30.0], dtype=torch.float64)
    model = SparseCoding(flat_dictionary(d1, d, streams(1)), p, 0.8)
    onto = model.dictionary @ model.dictionary.mT
    for views, sparse, dense in (("masked", p * (1 - d / d1), -p * d / d1), ("plain", p + 0.64, 0.64)):
        c = cross_moment(model, views)
        for eta in (None, 0.5):
            found = linear_share(d, d1, sparse, dense, times, eta)
            for share, t in zip(found.tolist(), times.tolist(), strict=True):
                step = torch.eye(d1, dtype=torch.float64) + 0.5 * c
                map_ = torch.matrix_exp(t * c) if eta is None else torch.linalg.matrix_power(step, int(t))
                expected = (onto @ map_).square().sum() / map_.square().sum()
                assert share == pytest.approx(float(expected), rel=1e-10)
    late = linear_share(d, d1, 1.0, -1.0, torch.tensor([1e4], dtype=torch.float64))
    assert late.item() == 1 and linear_share(d, d1, -1.0, 1.0, torch.tensor([1e4])).item() == 0


def test_the_overlap_pair_by_pair_and_its_size_over_d1():
    dictionary = random_dictionary(6, 2, streams(2))
    dense, masks = complement(dictionary), random_masks(3, 6, streams(2, "masks"))
    for left in (dictionary, dense):
        for run, found in enumerate(mask_overlap(left, dictionary, masks).tolist()):
            flips = [[1 if on else -1 for on in mask] for mask in masks[run].tolist()]
            columns = [part[run].T.tolist() for part in (left, dictionary)]
            sums = [
                abs(sum(x * s * y for x, s, y in zip(a, signs, b, strict=True)))
                for signs in flips
                for a in columns[0]
                for b in columns[1]
            ]
            assert found == pytest.approx(max(sums), rel=1e-10)
    for d1 in (64, 256):
        dictionary, masks = flat_dictionary(d1, 8, streams(8)), random_masks(4, d1, streams(8, "masks"))
        for left, pairs in (
            (dictionary, 36),
            (complement(dictionary, streams(8, "dense")), 8 * (d1 - 8)),
        ):  # j ≤ k; all
            scaled = float(mask_overlap(left, dictionary, masks).mean()) * math.sqrt(d1)
            assert 0.7 < scaled / math.sqrt(2 * math.log(2 * 4 * pairs)) < 1
        near = float(mask_overlap(complement(dictionary), dictionary, masks).mean()) * math.sqrt(d1)
        assert 1 < near < 3.5


def test_masks_hide_the_share_that_is_asked():
    masks = random_masks(500, 20, streams(2, "masks"), 0.2)
    assert ((masks == 1).double().mean((1, 2)) - 0.2).abs().max() < 0.02 and not masks[masks != 1].any()
    assert torch.equal(masks[1:], random_masks(500, 20, streams(2, "masks")[1:], 0.2))


@pytest.mark.parametrize(("views", "rate"), CASES)
def test_counted_decoding_errors_are_those_predicted(views, rate):
    count, d, d1 = 3000, 8, 256
    model = SparseCoding(flat_dictionary(d1, d, streams(4)), active=0.2, noise=0.25)
    found = decoding_error(model, count, streams(4, "data"), 0.55, views, rate)
    assert (found.predicted > 0.01).all()
    deviation = (found.predicted / (count * d)).sqrt()
    assert ((found.counted - found.predicted).abs() < 4 * deviation + 0.02 * found.predicted).all()
    alone = decoding_error(model.part(slice(2, 3)), count, streams(4, "data")[2:3], 0.55, views, rate)
    assert torch.equal(alone.counted, found.counted[2:3])


def test_the_variance_that_predicts_decoding_errors_is_that_of_the_decoded_sum():
    # atoms on few coordinates: what the masks add is no longer small, and without it the prediction is far off
    model = SparseCoding(random_dictionary(12, 6, streams(1)), active=0.4, noise=0.05)
    z, x = model.sample(40_000, streams(1, "data"))
    u = (model.views(x, streams(1, "masks"))[0] @ model.dictionary)[0]
    square, wrong = model.dictionary[0].square().tolist(), 0.0
    for atom in range(6):
        for value, chance, beyond in ((0.0, 0.6, 0.45), (1.0, 0.2, 0.55)):
            others = sum(row[atom] * sum(0.4 * s for k, s in enumerate(row) if k != atom) for row in square)
            variance = 2 * 0.05**2 + others + value * sum(row[atom] ** 2 for row in square)
            chosen = u[:, atom][z[0, :, atom] == value]
            assert float(chosen.mean()) == pytest.approx(value, abs=0.03)
            assert float(chosen.var()) == pytest.approx(variance, rel=0.06)
            wrong += chance * math.erfc(beyond / math.sqrt(2 * variance)) / 6
    assert decoding_error(model, 2, streams(1), 0.45).predicted.item() == pytest.approx(wrong, rel=1e-10)


def test_bad_input_is_named():
    model, v = small(), unit_directions(2, 3, 1)
    for call in (
        lambda **how: cross_moment(model, **how),
        lambda **how: second_moment(model, **how),
        lambda **how: growth_rates(model, v, **how),
        lambda **how: enumerated_cross_moment(model, **how),
        lambda **how: decoding_error(model, 3, streams(2), **how),
    ):
        with pytest.raises(ValueError, match="views must be one of masked, independent, plain, got 'crop'"):
            call(views="crop")
    for call in (
        lambda rate: second_moment(model, rate=rate),
        lambda rate: enumerated_cross_moment(model, rate=rate),
        lambda rate: decoding_error(model, 3, streams(2), rate=rate),
        lambda rate: random_masks(3, 4, streams(2), rate=rate),
    ):
        for rate in (0.0, 1.0, float("nan")):
            with pytest.raises(ValueError, match=rf"rate must be in \(0, 1\), got {rate}"):
                call(rate)
    with pytest.raises(ValueError, match="d and d1 must be d ≤ 3 and d1 ≤ 5, got 2 and 6"):
        enumerated_cross_moment(small(6, 2))
    with pytest.raises(ValueError, match=r"threshold must be in \(0, 1\), got 1.0"):
        decoding_error(model, 3, streams(2), 1.0)
    with pytest.raises(ValueError, match="d must be 1 to d1 = 3, got 4"):
        linear_share(4, 3, 1.0, 1.0, torch.zeros(1))


def test_everything_stays_on_the_device_of_its_inputs():
    def measured(device):
        dictionary = random_dictionary(5, 2, streams(2, device=device))
        model = SparseCoding(dictionary, 0.3, 0.7)
        masks = random_masks(2, 5, streams(2, "masks", device))
        for views in VIEWS:
            yield from (cross_moment(model, views), second_moment(model, views), growth_rates(model, dictionary, views))
            yield enumerated_cross_moment(model, views)
            yield from decoding_error(model, 20, streams(2, "data", device), views=views)
        yield mask_overlap(dictionary, dictionary, masks)
        yield linear_share(2, 5, 0.3, growth_rates(model, dictionary), masks.sum((1, 2)).unsqueeze(-1), 0.5)

    with elsewhere():
        for far, near in zip(measured(ELSEWHERE), measured(None), strict=True):
            assert far.device == ELSEWHERE and float((far - near.to(ELSEWHERE)).abs().max()) < 1e-12


@pytest.mark.parametrize("dim, atoms, count", [(4, 2, 4000), (16, 4, 2000)])
def test_mean_masked_rates_of_random_dictionaries(dim, atoms, count):
    """p(1 - (d+2)/(d1+2)) along atoms and -p d/(d1+2) across them: Haar columns have E M_ij⁴ = 3/(d1(d1+2))."""
    model = SparseCoding(random_dictionary(dim, atoms, streams(count)), active=0.3, noise=0.7)
    means = (0.3 * (1 - (atoms + 2) / (dim + 2)), -0.3 * atoms / (dim + 2))
    for directions, expected in zip((model.dictionary, complement(model.dictionary)), means, strict=True):
        drawn = growth_rates(model, directions, "masked").mean(-1)  # one per dictionary
        error = float(drawn.std()) / count**0.5
        assert float(drawn.mean()) == pytest.approx(expected, abs=4 * error)
        assert 4 * error < abs(expected) / 20
        flat = 0.3 * (1 - atoms / dim) if expected > 0 else -0.3 * atoms / dim
        assert abs(expected - flat) > 4 * error  # the rates of flat atoms are others
