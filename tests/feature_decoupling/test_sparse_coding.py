import math

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere

from contrastive_dynamics.feature_decoupling.dictionaries import random_dictionary
from contrastive_dynamics.feature_decoupling.sparse_coding import VIEWS, SparseCoding, paper_scales
from contrastive_dynamics.feature_decoupling.view_correlation import cross_moment, second_moment
from contrastive_dynamics.numerics.random_streams import stream

COUNT = 40_000


def streams(runs, purpose="data", device=None):
    return [stream(0, run, purpose, device) for run in range(runs)]


def coding(runs=2, dim=8, atoms=3, active=0.3, noise=0.7, device=None):
    return SparseCoding(random_dictionary(dim, atoms, streams(runs, "dictionary", device)), active, noise)


def test_latents_are_symmetric_and_sparse():
    z = coding().latents(COUNT, streams(2))
    assert set(z.unique().tolist()) == {-1.0, 0.0, 1.0}
    assert ((z.square().mean(1) - 0.3).abs() < 4 * math.sqrt(0.21 / COUNT)).all()
    assert (z.mean(1).abs() < 4 * math.sqrt(0.3 / COUNT)).all()
    second = z.mT @ z / COUNT - torch.diag_embed(z.square().mean(1))
    assert (second.abs() < 4 * 0.3 / math.sqrt(COUNT)).all()


def test_data_are_the_dictionary_times_latents_and_noise_of_the_stream():
    model = coding()
    z, x = model.sample(50, streams(2))
    again = streams(2)
    assert torch.equal(z, model.latents(50, again))
    expected = torch.einsum("rij,rnj->rni", model.dictionary, z) + model.dense_noise(50, again)
    torch.testing.assert_close(x, expected, rtol=1e-12, atol=1e-14)
    noise = model.dense_noise(COUNT, again)
    covariance = noise.mT @ noise / COUNT - 0.49 * torch.eye(8, dtype=torch.float64)
    assert (covariance.abs() < 4.5 * 0.49 * math.sqrt(2 / COUNT)).all()


def test_masked_views_are_disjoint_and_add_up():
    model = coding()
    x = model.sample(300, streams(2))[1]
    for rate in (0.5, 0.2):
        first, second = model.views(x, streams(2, "masks"), "masked", rate)
        assert ((first == 0) != (second == 0)).all()
        torch.testing.assert_close(rate * first + (1 - rate) * second, x, rtol=1e-13, atol=0)
        assert abs(float((first != 0).double().mean()) - rate) < 4 * math.sqrt(rate * (1 - rate) / x.numel())
    first, second = model.views(x, streams(2, "masks"))
    assert torch.equal(first + second, 2 * x)


def test_independent_views_have_masks_of_their_own_and_plain_ones_are_the_datum():
    model = coding()
    x = model.sample(300, streams(2))[1]
    first, second = model.views(x, streams(2, "masks"), "independent", 0.3)
    kept = [view != 0 for view in (first, second)]
    for view, on in zip((first, second), kept, strict=True):
        torch.testing.assert_close(view[on], x[on] / 0.3, rtol=1e-13, atol=0)
        assert abs(float(on.double().mean()) - 0.3) < 4 * math.sqrt(0.21 / x.numel())
    assert abs(float((kept[0] & kept[1]).double().mean()) - 0.09) < 4 * math.sqrt(0.09 / x.numel())
    assert all(view is x for view in model.views(x, [], "plain"))


@pytest.mark.parametrize(("views", "rate"), [("masked", 0.3), ("independent", 0.3), ("plain", 0.5)])
def test_views_in_the_mean_are_as_the_exact_moments_say(views, rate):
    model, v = coding(), torch.eye(8, dtype=torch.float64)
    first, second = model.views(model.sample(COUNT, streams(2))[1], streams(2, "masks"), views, rate)
    other = 1 - rate if views == "masked" else rate
    for a, b, exact in (
        (first, second, cross_moment(model, views)),
        (first, first, second_moment(model, views, rate)),
        (second, second, second_moment(model, views, other)),
    ):
        fourth = (a.square().mT @ b.square()) / COUNT
        assert ((a.mT @ b / COUNT - exact).abs() < 4.5 * (fourth / COUNT).sqrt() + 1e-15 * v).all()


def test_a_run_is_the_same_alone_or_in_a_batch():
    model = coding(runs=4)
    for views in VIEWS:
        together, alone = streams(4), streams(4)[2:3]
        z, x = model.sample(20, together)
        part = model.part(slice(2, 3))
        z_alone, x_alone = part.sample(20, alone)
        assert torch.equal(z_alone, z[2:3])
        torch.testing.assert_close(x_alone, x[2:3], rtol=1e-14, atol=1e-15)
        pairs = zip(model.views(x, together, views), part.views(x[2:3], alone, views), strict=True)
        assert all(torch.equal(near[2:3], single) for near, single in pairs)


def test_the_paper_s_scales():
    p, noise = paper_scales(64, active=2.0, noise=3.0)
    assert p == pytest.approx(2 * math.log(math.log(64)) / 64, rel=1e-12)
    assert noise**2 == pytest.approx(3 * math.sqrt(math.log(64)) / 64, rel=1e-12)


def test_bad_input_is_named():
    dictionary = random_dictionary(8, 3, streams(2, "dictionary"))
    for wrong, said in (
        ((dictionary.mT, 0.3, 0.7), "d must be ≤ d1 = 3, got 8"),
        ((dictionary, 0.0, 0.7), r"active must be in \(0, 1\), got 0.0"),
        ((dictionary, 1.5, 0.7), r"active must be .*, got 1.5"),
        ((dictionary, 0.3, 0.0), "noise must be > 0, got 0.0"),
        ((dictionary, 0.3, float("nan")), "noise must be > 0, got nan"),
        ((1.01 * dictionary, 0.3, 0.7), r"dictionary must have orthonormal columns, got .* up to 0.0201"),
        ((float("nan") * dictionary, 0.3, 0.7), "dictionary must have orthonormal columns, got .* up to nan"),
    ):
        with pytest.raises(ValueError, match=f"^{said}"):
            SparseCoding(*wrong)
    model, x = coding(), torch.zeros(2, 4, 8, dtype=torch.float64)
    with pytest.raises(
        ValueError, match="SparseCoding.views: views must be one of masked, independent, plain, got 'crop'"
    ):
        model.views(x, streams(2), "crop")
    for rate in (0.0, 1.0):
        with pytest.raises(ValueError, match=rf"SparseCoding.views: rate must be in \(0, 1\), got {rate}"):
            model.views(x, streams(2), "masked", rate)
    with pytest.raises(ValueError, match="generators must be one per run, 2, got 3"):
        model.sample(4, streams(3))
    with pytest.raises(ValueError, match="atoms must be ≥ 3, .*, got 2"):
        paper_scales(2)


def test_everything_stays_on_the_device_of_the_dictionary():
    def drawn(device):
        model = coding(device=device)
        generators = streams(2, device=device)
        z, x = model.sample(20, generators)
        yield from (z, x)
        for views in VIEWS:
            yield from model.views(x, generators, views, 0.4)

    with elsewhere():
        for far, near in zip(drawn(ELSEWHERE), drawn(None), strict=True):
            assert far.device == ELSEWHERE and float((far - near.to(ELSEWHERE)).abs().max()) < 1e-12
