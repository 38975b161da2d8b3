import pytest
import torch
from one_line_error import one_line_error
from scipy import stats

from contrastive_dynamics.alignment_and_balance.image_bootstrap import (
    image_weights,
    jackknife_values,
    percentile_interval,
    resampled_alignment,
    resampled_means,
    resampled_spectra,
    resampled_starts,
    weights_without_groups,
)
from contrastive_dynamics.alignment_and_balance.zero_shot import (
    alignment_by_distance,
    alignment_score,
    best_constant_answer,
    macro_recall,
    output_balance,
    output_condition_number,
    predictions,
    zero_shot_accuracy,
)
from contrastive_dynamics.numerics.random_streams import stream


def draw(purpose, *shape):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


def outputs():
    images = draw("images", 2, 20, 4)
    return images, images + draw("texts", 2, 20, 4), draw("prompts", 2, 5, 4), draw("labels", 20, 5) > 0.3


def drawn(weights):
    """The images of one resample, one after another."""
    return torch.arange(len(weights)).repeat_interleave(weights.long())


def zero_shot_hits(image_out, prompt_out, labels):
    """The score of each image, `[run, n]`, whose mean is `zero_shot_accuracy`."""
    return (predictions(image_out, prompt_out) * labels).sum(-1)


def equal_lengths(image_out, text_out):
    """Outputs of which distances say what products say of the given ones: one more entry makes all ‖f_B‖ equal.

    With M = max ‖f_B‖, f_B becomes (f_B, √(M² − ‖f_B‖²)) and f_A becomes (Mf_A/‖f_A‖, 0): ‖f_A − f_B‖² is then
    2M² − 2M f_A·f_B/‖f_A‖.
    """
    (of_images, of_texts) = (out.norm(dim=-1, keepdim=True) for out in (image_out, text_out))
    largest = of_texts.amax(-2, keepdim=True)
    rest = ((largest - of_texts) * (largest + of_texts)).sqrt()
    images = image_out * (largest / torch.where(of_images > 0, of_images, 1))
    return torch.cat([images, torch.zeros_like(rest)], -1), torch.cat([text_out, rest], -1)


def test_every_resample_scores_the_images_that_it_drew():
    f_a, f_b, prompts, labels = outputs()
    weights = image_weights(20, 7, stream(0, 0, "bootstrap"))
    assert weights.shape == (7, 20) and (weights.sum(-1) == 20).all() and weights.max() > 1
    accuracies = resampled_means(zero_shot_hits(f_a, prompts, labels), weights)
    spectra = resampled_spectra(f_a, weights)
    for k, w in enumerate(weights):
        at = drawn(w)
        torch.testing.assert_close(accuracies[k], zero_shot_accuracy(f_a[:, at], prompts, labels[at]))
        torch.testing.assert_close(
            spectra[k].square().sum(-1) / spectra[k, :, 0].square(), output_balance(f_a[:, at]), rtol=1e-10, atol=0
        )
        found = (spectra[k, :, 0] / spectra[k, :, 3]).sqrt()
        torch.testing.assert_close(found, output_condition_number(f_a[:, at], 4), rtol=1e-8, atol=0)


@pytest.mark.parametrize("labelled", [False, True])
def test_an_image_is_no_negative_of_itself(labelled):
    f_a, f_b, _, labels = outputs()
    labels = labels if labelled else None
    weights = image_weights(20, 5, stream(0, 0, "bootstrap"))
    found = resampled_alignment(f_a, f_b, weights, labels)
    for k, w in enumerate(weights):
        at = drawn(w)
        kinds = labels if labelled else torch.eye(20, dtype=torch.bool)
        torch.testing.assert_close(found[k], alignment_by_distance(f_a[:, at], f_b[:, at], kinds[at]))
    whole = resampled_alignment(f_a, f_b, torch.ones(1, 20, dtype=torch.float64), labels)[0]
    torch.testing.assert_close(whole, alignment_by_distance(f_a, f_b, labels))


def test_outputs_of_equal_lengths_give_the_score_by_products():
    f_a, f_b, _, labels = outputs()
    a, b = equal_lengths(f_a, f_b)
    assert torch.allclose(b.norm(dim=-1), f_b.norm(dim=-1).amax(-1, keepdim=True).expand(-1, 20))
    assert not torch.equal(alignment_by_distance(f_a, f_b), alignment_score(f_a, f_b))
    for kinds in (None, labels):
        assert torch.equal(alignment_by_distance(a, b, kinds), alignment_score(f_a, f_b, kinds))
    point = draw("point", 1, 1, 4).expand(2, 20, 4)
    assert not alignment_by_distance(*equal_lengths(f_a, point)).any()
    assert not alignment_by_distance(*equal_lengths(0 * f_a, f_b)).any()


def test_a_constant_answer_scores_what_the_library_says_it_does():
    _, _, _, labels = outputs()
    constant_hits = labels[:, labels.sum(0).argmax()].double()
    assert constant_hits.mean() == best_constant_answer(labels)
    most = torch.nn.functional.one_hot(labels.sum(0).argmax(), 5).double()
    outputs_ = torch.ones(1, 20, 5, dtype=torch.float64)  # every image correlates best with one prompt
    prompts = (2 * torch.eye(5, dtype=torch.float64) - 1 + 3 * most.unsqueeze(-1)).unsqueeze(0)
    assert torch.equal(zero_shot_hits(outputs_, prompts, labels)[0], constant_hits)
    assert macro_recall(outputs_, prompts, labels).item() == pytest.approx(1 / int(labels.any(0).sum()))


def test_intervals_over_images_are_scipy_s():
    values = draw("values", 1, 40)
    weights = image_weights(40, 20000, stream(0, 0, "bootstrap"))
    found = percentile_interval(resampled_means(values, weights)[:, 0], 0.9)
    how = {"n_resamples": 20000, "confidence_level": 0.9, "method": "percentile"}
    theirs = stats.bootstrap((values[0].numpy(),), lambda x, axis: x.mean(axis), **how).confidence_interval
    assert found.tolist() == pytest.approx(list(theirs), abs=0.02)


def test_both_factors_add_their_variances():
    """Values x_start + y_image: the interval knows both, and arms that differ by a constant differ exactly."""
    starts, images = draw("starts", 12, 1), 2 * draw("images", 1, 50)
    values = torch.stack([starts + images, starts + images + 0.25])  # [arm, start, image]
    weights = image_weights(50, 20000, stream(0, 0, "bootstrap"))
    of_images = resampled_means(values.flatten(0, 1), weights).unflatten(-1, (2, 12))
    both = resampled_starts(of_images, stream(0, 0, "starts"))
    assert both.shape == (20000, 2)
    expected = starts.var(correction=0) / 12 + images.var(correction=0) / 50
    assert both[:, 0].var().item() == pytest.approx(expected.item(), rel=0.05)
    torch.testing.assert_close(
        percentile_interval(both[:, 1] - both[:, 0]), torch.full((2,), 0.25, dtype=torch.float64)
    )


def test_draws_depend_on_the_stream_alone_and_bad_numbers_are_refused():
    assert torch.equal(image_weights(9, 4, stream(0, 1, "b")), image_weights(9, 4, stream(0, 1, "b")))
    with one_line_error(ValueError, "count and resamples must be ≥ 1, got 0 and 4"):
        image_weights(0, 4, stream(0, 0, "b"))
    with one_line_error(ValueError, r"level must be in \(0, 1\), got 1"):
        percentile_interval(torch.zeros(3), 1)
    with one_line_error(ValueError, "nearer_pairs: image_out and text_out must be"):
        resampled_alignment(torch.zeros(1, 1, 2), torch.zeros(1, 1, 2), torch.ones(1, 1))


def test_weights_leave_one_group_out():
    weights = weights_without_groups(7, 3)
    assert weights.sum(-1).tolist() == pytest.approx([7, 7, 7])
    assert (weights == 0).sum(-1).tolist() == [3, 2, 2] and bool((weights[0, :3] == 0).all())
    for groups in (1, 8):
        with pytest.raises(ValueError, match=f"groups must be 2 to 7, got {groups}"):
            weights_without_groups(7, groups)


def busing(values, groups):
    """Mean and standard error by the jackknife of unequal groups, Busing et al. (1999), written anew."""
    n, parts, whole = len(values), values.tensor_split(groups), values.mean()
    h = torch.tensor([n / len(part) for part in parts], dtype=values.dtype)
    without = torch.stack([(values.sum() - part.sum()) / (n - len(part)) for part in parts])
    mean = groups * whole - ((1 - 1 / h) * without).sum()
    pseudo = h * whole - (h - 1) * without
    return mean, (((pseudo - mean) ** 2 / (h - 1)).sum() / groups).sqrt()


@pytest.mark.parametrize("count", [121, 130, 139, 159, 317, 2017])
def test_jackknife_of_unequal_groups_is_close_to_busing_s(count):
    values, groups = draw("values", count), 40
    without = resampled_means(values[None], weights_without_groups(count, groups))[:, 0]
    found, whole = jackknife_values(values.mean(), without), values.mean()
    for value, part in zip(found, values.tensor_split(groups), strict=True):
        m = len(part)
        assert float(value) == pytest.approx(float(whole + 39 * m / (count - m) * (part.mean() - whole)))
        assert 39 * m / (count - m) == pytest.approx(groups * m / count, rel=1 / groups)
    mean, error = busing(values, groups)
    own = found.std() / groups**0.5
    assert abs(found.mean() - mean) < error / groups and abs(own / error - 1) < 1 / groups


def test_jackknife_of_a_mean_is_the_means_of_groups_and_of_a_spectrum_leaves_them_out():
    values = draw("values", 20)
    without = resampled_means(values[None], weights_without_groups(20, 5))[:, 0]
    torch.testing.assert_close(jackknife_values(values.mean(), without), values.view(5, 4).mean(-1))
    images = outputs()[0]
    spectra = resampled_spectra(images, weights_without_groups(20, 20))
    found = (spectra.square().sum(-1) / spectra[..., 0].square())[3]
    kept = torch.arange(20) != 3
    torch.testing.assert_close(found, output_balance(images[:, kept]))
