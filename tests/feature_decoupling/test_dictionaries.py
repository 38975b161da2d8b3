import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere

from contrastive_dynamics.feature_decoupling.dictionaries import (
    complement,
    flat_dictionary,
    local_dictionary,
    random_dictionary,
)
from contrastive_dynamics.numerics.random_streams import stream

KINDS = {
    "random": lambda generators: random_dictionary(32, 5, generators),
    "flat": lambda generators: flat_dictionary(32, 5, generators),
    "local": lambda generators: local_dictionary(32, 5, 6, generators),
}


def streams(runs, device=None):
    return [stream(0, run, "dictionary", device) for run in range(runs)]


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_atoms_and_dense_directions_are_one_orthonormal_basis(make):
    dictionary = make(streams(4))
    basis = torch.cat([dictionary, complement(dictionary)], -1)
    unit = torch.eye(32, dtype=torch.float64).expand(4, 32, 32)
    torch.testing.assert_close(basis.mT @ basis, unit, rtol=0, atol=1e-13)
    turned = complement(dictionary, streams(4))
    torch.testing.assert_close(turned @ turned.mT, unit - dictionary @ dictionary.mT, rtol=0, atol=1e-13)
    torch.testing.assert_close(turned.mT @ turned, unit[:, 5:, 5:], rtol=0, atol=1e-13)
    full = random_dictionary(3, 3, streams(2))
    assert complement(full).shape == complement(full, streams(2)).shape == (2, 3, 0)


def flatness(dictionary):
    """max_j ‖M_j‖_∞ √d1 `[run]`: 1 for flat atoms, √d1 for an atom on one coordinate; Definition 2.1 asks for Õ(1)."""
    return dictionary.abs().amax((-2, -1)) * dictionary.shape[-2] ** 0.5


def test_a_uniform_complement_is_spread_out():
    dictionary = flat_dictionary(256, 4, streams(2))
    assert (flatness(complement(dictionary)) > 15).all()  # of 16: nearly coordinates
    assert (flatness(complement(dictionary, streams(2))) < 6.5).all()  # √(2 log(2·256²)) = 4.9


def test_flat_atoms_are_distinct_characters_up_to_the_signs_of_rows():
    dictionary = flat_dictionary(16, 6, streams(40)) * 4
    assert (dictionary.abs() == 1).all()
    signs = dictionary[..., :1]
    relative = dictionary * signs  # without row signs: products of characters, which are a group under exclusive or
    rows = torch.arange(16)
    for run in range(40):
        for atom in range(6):
            column = relative[run, :, atom] * relative[run, 0, atom]
            for other in (1, 2, 4, 8):
                assert len((column[rows] * column[rows ^ other]).unique()) == 1
    # every row sign and every column as likely: 640 signs, deviation 25; 40 draws of 6 from 16
    assert abs(float((dictionary[:, 1:, 0] * dictionary[:, :-1, 0] * dictionary[:, 1:, 1]).sum())) < 100
    assert abs(float(dictionary[..., 0].sum())) < 100
    assert flat_dictionary(1, 1, streams(1)).abs().item() == 1


def test_a_full_flat_dictionary_has_all_columns():
    full = flat_dictionary(8, 8, streams(3))
    torch.testing.assert_close(full @ full.mT, torch.eye(8, dtype=torch.float64).expand(3, 8, 8), rtol=0, atol=1e-14)


def test_local_atoms_have_supports_of_their_own():
    dictionary = local_dictionary(32, 5, 6, streams(4))
    on = dictionary != 0
    assert (on.sum(-2) == 6).all() and (on.sum(-1) <= 1).all()
    assert (dictionary[on].abs() - 6**-0.5).abs().max() < 1e-15
    assert not torch.equal(on[0], on[1]) and (dictionary < 0).any() and (dictionary > 0).any()
    whole = local_dictionary(30, 5, 6, streams(2))
    assert ((whole != 0).sum(-1) == 1).all()


def test_flatness_is_1_for_flat_atoms_and_grows_with_the_largest_entry():
    assert flatness(flat_dictionary(64, 8, streams(3))).tolist() == [1.0] * 3
    torch.testing.assert_close(flatness(local_dictionary(64, 8, 4, streams(1))), torch.tensor([4.0]).double())
    haar = flatness(random_dictionary(4096, 4, streams(4)))
    assert ((haar > 3) & (haar < 5.5)).all()  # √(2 log(2·4·4096)) = 4.6


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_a_run_is_the_same_alone_or_in_a_batch(make):
    together = make(streams(4))
    assert torch.equal(make(streams(4)[2:3]), together[2:3])
    assert torch.equal(complement(together[2:3]), complement(together)[2:3])
    turned = complement(together, streams(4))[2:3]
    torch.testing.assert_close(complement(together[2:3], streams(4)[2:3]), turned, rtol=0, atol=1e-14)


def test_bad_sizes_are_named():
    with pytest.raises(ValueError, match="random_dictionary: d must be 1 to d1 = 4, got 5"):
        random_dictionary(4, 5, streams(1))
    with pytest.raises(ValueError, match="flat_dictionary: d must be 1 to d1 = 4, got 0"):
        flat_dictionary(4, 0, streams(1))
    with pytest.raises(ValueError, match="d1 must be a power of two, got 12"):
        flat_dictionary(12, 2, streams(1))
    with pytest.raises(ValueError, match="≥ 1 with spread·d ≤ d1, got d1 = 8, d = 3, spread = 3"):
        local_dictionary(8, 3, 3, streams(1))
    with pytest.raises(ValueError, match="got d1 = 8, d = 3, spread = 0"):
        local_dictionary(8, 3, 0, streams(1))


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_everything_stays_on_the_device_of_the_generators(make):
    with elsewhere():
        dictionary = make(streams(2, ELSEWHERE))
        assert dictionary.device == complement(dictionary).device == ELSEWHERE
        assert float((dictionary - make(streams(2)).to(ELSEWHERE)).abs().max()) < 1e-14
