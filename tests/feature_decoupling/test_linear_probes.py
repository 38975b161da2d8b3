from math import sqrt

import pytest
import torch
from sklearn.linear_model import RidgeCV

from contrastive_dynamics.feature_decoupling.linear_probes import (
    RIDGES,
    classification_probe,
    downstream_labels,
    draw_w_star,
    linear_limit,
    regression_probe,
)
from contrastive_dynamics.feature_decoupling.sparse_coding import SparseCoding
from contrastive_dynamics.numerics.random_streams import stream
from contrastive_dynamics.numerics.stiefel import haar

RUNS, DIM, ATOMS, ACTIVE, NOISE = 2, 12, 4, 0.3, 0.4


def streams(purpose, runs=RUNS):
    return [stream(0, k, purpose) for k in range(runs)]


def normal(*shape, purpose="normal"):
    return torch.stack([torch.randn(*shape, generator=g, dtype=torch.float64) for g in streams(purpose)])


def coded(count, purpose):
    model = SparseCoding(haar(streams("dictionary"), DIM, ATOMS), ACTIVE, NOISE)
    return model, *model.sample(count, streams(purpose))


def test_w_star_and_labels_are_as_the_definition_says():
    w_star = draw_w_star(streams("w", 3), 500, tasks=2)
    assert w_star.shape == (3, 2, 500) and w_star.abs().min() >= 1 and w_star.abs().max() <= 2
    assert abs(float(w_star.abs().mean()) - 1.5) < 0.03 and abs(float(w_star.sign().mean())) < 0.1
    assert torch.equal(draw_w_star(streams("w", 3)[2:], 500, tasks=2)[0], w_star[2])
    latents = torch.tensor([[[0.0, 0, 0], [1, 0, -1], [0, -1, 0]]])
    values, classes = downstream_labels(latents, torch.tensor([[[1.5, 2.0, 1.0], [-1.0, 1.0, 2.0]]]))
    assert values.tolist() == [[[0, 0], [0.5, -3], [-2, -1]]] and classes.tolist() == [[[0, 0], [1, -1], [-1, -1]]]


@pytest.mark.parametrize(("labels", "width"), [(40, 6), (8, 20)])
def test_regression_takes_the_ridge_and_the_weights_that_scikit_learn_takes(labels, width):
    x, test_x = normal(labels, width), normal(50, width, purpose="test")
    signal = normal(width, 3, purpose="signal")
    y, test_y = (a @ signal + noise for a, noise in ((x, normal(labels, 3)), (test_x, normal(50, 3, purpose="more"))))
    found = regression_probe(x, y, test_x, test_y)
    for run in range(RUNS):
        for task in range(3):
            unit = float(x[run].square().sum()) / width
            peer = RidgeCV(alphas=[r * unit for r in RIDGES], fit_intercept=False).fit(x[run], y[run, :, task])
            rest = test_y[run, :, task] - torch.from_numpy(peer.predict(test_x[run]))
            expected = 1 - rest.square().sum() / test_y[run, :, task].square().sum()
            torch.testing.assert_close(found[run, task], expected, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(regression_probe(7 * x, y, 7 * test_x, test_y), found, rtol=1e-5, atol=1e-8)
    alone = regression_probe(x[1:], y[1:], test_x[1:], test_y[1:])
    torch.testing.assert_close(alone[0], found[1], rtol=1e-10, atol=1e-12)


def test_oracle_raw_and_empty_representations():
    model, z, x = coded(4000, "train")
    _, test_z, test_x = coded(4000, "test")
    w_star = draw_w_star(streams("w"), ATOMS, tasks=2)
    y, test_y = downstream_labels(z, w_star)[0], downstream_labels(test_z, w_star)[0]
    assert regression_probe(z, y, test_z, test_y).min() > 1 - 1e-6
    assert torch.equal(regression_probe(0 * z, y, 0 * z, test_y), torch.zeros(RUNS, 2).double())
    bound = ACTIVE / (ACTIVE + NOISE**2)
    assert (regression_probe(x, y, test_x, test_y) - bound).abs().max() < 0.03
    weights = normal(3, DIM, purpose="few neurons")
    limit = linear_limit(weights, model.dictionary, ACTIVE, NOISE, w_star)
    found = regression_probe(x @ weights.mT, y, test_x @ weights.mT, test_y)
    assert (found - limit).abs().max() < 0.03 and limit.max() < bound


def test_the_linear_limit_is_one_less_a_ratio_of_determinants():
    dictionary, w_star = haar(streams("dictionary"), DIM, ATOMS), draw_w_star(streams("w"), ATOMS, tasks=3)
    weights = normal(5, DIM)
    found = linear_limit(weights, dictionary, ACTIVE, NOISE, w_star)
    eye = torch.eye(DIM).double()
    for run in range(RUNS):
        of_x = ACTIVE * dictionary[run] @ dictionary[run].T + NOISE**2 * eye
        for task in range(3):  # the covariance of (f, y), through the map from (x, z)
            y_of_z = torch.zeros(6, ATOMS).double()
            y_of_z[5] = w_star[run, task]
            f_of_x = torch.cat([weights[run], torch.zeros(1, DIM).double()])
            mixed = ACTIVE * f_of_x @ dictionary[run] @ y_of_z.T
            joint = f_of_x @ of_x @ f_of_x.T + ACTIVE * y_of_z @ y_of_z.T + mixed + mixed.T
            ratio = torch.linalg.det(joint) / torch.linalg.det(joint[:5, :5]) / joint[5, 5]
            torch.testing.assert_close(found[run, task], 1 - ratio, rtol=1e-10, atol=0)
    bound = torch.full((RUNS, 3), ACTIVE / (ACTIVE + NOISE**2), dtype=torch.float64)
    for spanning in (eye.expand(RUNS, DIM, DIM), dictionary.mT, 3 * torch.cat([dictionary.mT, dictionary.mT], 1)):
        at_bound = linear_limit(spanning, dictionary, ACTIVE, NOISE, w_star)
        torch.testing.assert_close(at_bound, bound, rtol=1e-10, atol=0)


def test_classification_of_one_noisy_latent_errs_as_its_noise_does():
    latents = SparseCoding(torch.ones(RUNS, 1, 1).double(), 0.5, 1.0).latents(8000, streams("z"))
    classes = downstream_labels(latents, torch.tensor([[[1.5]], [[-1.5]]]).double())[1]
    x = latents + 0.8 * normal(8000, 1, purpose="xi")
    train, test = slice(None, 4000), slice(4000, None)
    found = classification_probe(x[:, train], classes[:, train], x[:, test], classes[:, test])
    right = float(torch.special.ndtr(torch.tensor(1 / 0.8).double()))
    assert found.shape == (RUNS, 1) and (found - right).abs().max() < 4 * sqrt(right * (1 - right) / 2000)
    shuffled = torch.cat([torch.zeros(RUNS, 500, 1).double(), classes[:, train]], 1)  # rows of class 0 change nothing
    more = torch.cat([normal(500, 1, purpose="ties"), x[:, train]], 1)
    unit = more.square().mean((-2, -1), keepdim=True).sqrt() / x[:, train].square().mean((-2, -1), keepdim=True).sqrt()
    again = classification_probe(more, shuffled, unit * x[:, test], classes[:, test])
    assert (again - found).abs().max() < 2e-3
    tossed = torch.where(classes == 0, normal(8000, 1, purpose="coins").sign(), classes)  # a class that x does not tell
    oracle = classification_probe(latents[:, train], tossed[:, train], latents[:, test], tossed[:, test])
    assert (oracle - 0.75).abs().max() < 0.03  # 1 - P[z = 0]/2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_on_the_border_are_right_by_half_for_either_class(dtype):
    x, classes = normal(200, 4).to(dtype), normal(200, 1, purpose="classes").sign()
    clear, truth = normal(50, 4, purpose="test").to(dtype), normal(50, 1, purpose="truth").sign()
    alone = classification_probe(x, classes, clear, truth)
    for silent in (10, 150):
        rows = torch.cat([torch.zeros(RUNS, silent, 4, dtype=dtype), clear], 1)
        for answer in (-1.0, 1.0):
            found = classification_probe(x, classes, rows, torch.cat([f64_full(silent, answer), truth], 1))
            torch.testing.assert_close(found, (50 * alone + silent / 2) / (50 + silent))
    both = torch.cat([x, -x], -1)  # (x, x) has ⟨w, (x, x)⟩ = 0 up to rounding: w = (v, −v) by symmetry
    twins = classification_probe(both, classes, torch.cat([clear, clear], -1), truth)
    torch.testing.assert_close(twins, torch.full_like(twins, 0.5))


def f64_full(rows, value):
    return torch.full((RUNS, rows, 1), value, dtype=torch.float64)


def test_bad_input_is_refused_in_one_line():
    x, y = normal(10, 3), normal(10, 2)
    with pytest.raises(ValueError, match="atoms and tasks must be ≥ 1, got 3 and 0"):
        draw_w_star(streams("w"), 3, tasks=0)
    with pytest.raises(ValueError, match=r"regression_probe: shapes must be .* n ≥ 2, twice, got \["):
        regression_probe(x, y[:, :9], x, y)
    with pytest.raises(ValueError, match=r"ridges must be one or more numbers > 0, got \(0.0, 1.0\)"):
        regression_probe(x, y, x, y, (0.0, 1.0))
    for ridges in ((1.0, float("nan")), (float("nan"), 1.0)):
        with pytest.raises(ValueError, match="ridges must be one or more numbers > 0, got .*nan"):
            regression_probe(x, y, x, y, ridges)
    with pytest.raises(ValueError, match="strength must be > 0, got 0"):
        classification_probe(x, y.sign(), x, y.sign(), 0)
    with pytest.raises(ValueError, match="train_classes must have both classes .*, got one class"):
        classification_probe(x, y.sign().abs(), x, y.sign())
