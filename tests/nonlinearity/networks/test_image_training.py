"""Networks on images against one plain module, alone and beside others; bad configurations."""

from dataclasses import replace
from itertools import islice

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from plain_network import PlainNetwork, plain_loss

from contrastive_dynamics.nonlinearity.networks import image_training
from contrastive_dynamics.nonlinearity.networks.field_network import initial_weights
from contrastive_dynamics.nonlinearity.networks.image_training import ImageTraining, image_minibatches, train_on_images
from contrastive_dynamics.numerics.image_patches import Boxes, random_boxes, resized_crops
from contrastive_dynamics.numerics.random_streams import stream

SMALL = ImageTraining(filters=3, outputs=5, batch=8, rate=5e-3)
IMAGES = torch.rand(43, 6, 6, generator=stream(0, 0, "images"), dtype=torch.float64)
CASES = (
    [
        SMALL,
        replace(SMALL, crops=True),
        replace(SMALL, views_apart=False),
        replace(SMALL, crops=True, views_apart=False),
    ]
    + [replace(SMALL, crops=True, one_crop=True)]
    + [replace(SMALL, crops=True, batch_norm=name) for name in ("off", "both", "variance", "none")]
    + [replace(SMALL, crops=True, activation=name) for name in ("linear", "leaky_relu", "sigmoid")]
    + [replace(SMALL, crops=True, loss=name) for name in ("quadratic", "triplet")]
    + [replace(SMALL, crops=True, scale=(0.2, 0.4), ratio=(1, 2), momentum=0.0, weight_decay=0.0, rate=0.1)]
)
STEPS = 110


def ensemble(training, seeds, steps=STEPS):
    for weights in train_on_images(training, IMAGES, seeds, steps, dtype=torch.float64):  # noqa: B007
        pass
    return weights


def plain_views(training, seed, steps):
    """First and second views `[N, s, s]` of every minibatch: passes in random order, a DataLoader without the rest."""
    order, crops, seen = stream(seed, 0, "minibatches"), stream(seed, 0, "crops"), []
    while len(seen) < steps + image_training.CHUNK:
        seen.extend(
            list(torch.randperm(len(IMAGES), generator=order).split(training.batch))[: len(IMAGES) // training.batch]
        )
    for start in range(0, steps, image_training.CHUNK):
        part = seen[start : start + image_training.CHUNK]
        if training.crops:
            each = 1 if training.one_crop else 2
            boxes = random_boxes([crops], len(part) * each * training.batch, 6, training.scale, training.ratio)
            boxes = torch.stack(boxes, -1)[0].view(len(part), each, training.batch, 4)
        for at, rows in enumerate(part):
            if training.crops:  # first and last box of an image: one where there is one
                yield [resized_crops(IMAGES[rows], Boxes(*boxes[at, i].unbind(-1))) for i in (0, -1)]
            else:
                yield [IMAGES[rows]] * 2


def fields(images):
    half = images.shape[-1] // 2
    parts = [images[:, a : a + half, b : b + half].flatten(1) for a in (0, half) for b in (0, half)]
    return torch.stack(parts, 1)


def start(training, seed):
    size = 4, training.filters, IMAGES.shape[-1] ** 2 // 4, training.outputs
    return initial_weights([stream(seed, 0, "weights")], *size, torch.float64)


def plain(training, seed):
    """Filters and top layer of one run by nn.Module, autograd and torch.optim.SGD."""
    first = start(training, seed)
    net = PlainNetwork(
        first.w[0], first.v[0], training.activation, training.batch_norm, training.views_apart, unit=True
    )
    optimizer = torch.optim.SGD(
        net.parameters(), lr=training.rate, momentum=training.momentum, weight_decay=training.weight_decay
    )
    for views in islice(plain_views(training, seed, STEPS), STEPS):
        optimizer.zero_grad()
        plain_loss(training.loss, *net(*(fields(view) for view in views))).backward()
        optimizer.step()
    w = torch.stack([each.detach() for each in net.w])
    return w, net.v.detach().mT.unflatten(0, w.shape[:2])


def distance(a, b):
    return float((a - b).abs().max() / b.abs().max())


@pytest.mark.parametrize("training", CASES, ids=range(len(CASES)))
def test_a_run_is_that_of_the_plain_module_alone_and_beside_others(training):
    w, v = plain(training, 6)
    alone, beside = ensemble(training, [6]), ensemble(training, [9, 6, 5])
    assert w.isfinite().all() and distance(w, start(training, 6).w[0]) > 1e-3  # it has learned something
    assert distance(alone.w[0], w) < 1e-9 and distance(alone.v[0], v) < 1e-9
    assert distance(beside.w[1], w) < 1e-9 and distance(beside.v[1], v) < 1e-9


def test_the_default_size_on_digits():
    from contrastive_dynamics.data.catalogue import digits

    images = torch.from_numpy(digits().images).float() / 16
    for crops in (False, True):
        *_, weights = train_on_images(ImageTraining(crops=crops), images, [3, 4], 20)
        assert weights.w.shape == (2, 4, 25, 16) and weights.v.shape == (2, 4, 25, 50)
        assert weights.w.isfinite().all() and weights.w.dtype == torch.float32


def test_crops_of_the_whole_image_are_training_without_crops():
    without, whole = ensemble(SMALL, [2]), ensemble(replace(SMALL, crops=True, scale=(1, 1), ratio=(1, 1)), [2])
    assert distance(whole.w, without.w) < 1e-9 and distance(whole.v, without.v) < 1e-9


def test_networks_with_and_without_crops_see_the_same_images():
    whole = replace(SMALL, crops=True, scale=(1, 1), ratio=(1, 1))
    batches = [islice(image_minibatches(training, IMAGES, [1, 2]), 60) for training in (SMALL, whole)]
    for without, cropped in zip(*batches, strict=True):
        assert torch.allclose(without.inputs.expand(-1, -1, 2, -1, -1), cropped.inputs, atol=1e-12)


def test_a_pass_shows_every_image_once_but_the_rest():
    names = torch.arange(43.0).view(-1, 1, 1).expand(-1, 2, 2) / 43
    batches = list(islice(image_minibatches(SMALL, names, [0]), 10))
    for shown in (batches[:5], batches[5:]):  # 43 images, 5 minibatches of 8 per pass
        assert len(torch.cat([batch.inputs[0, 0, 0, :, 0] for batch in shown]).unique()) == 40
    assert not torch.equal(batches[0].inputs, batches[5].inputs)


def test_another_device_than_that_of_the_images():
    training = replace(SMALL, crops=True)
    here = ensemble(training, [1, 2], 60)
    with elsewhere():
        *_, there = train_on_images(training, IMAGES, [1, 2], 60, ELSEWHERE, torch.float64)
        assert there.w.device == ELSEWHERE and torch.allclose(there.w.cpu(), here.w, atol=1e-12)


def test_single_precision_stays_near_double():
    training = replace(SMALL, crops=True)
    *_, single = train_on_images(training, IMAGES, [2], 60)
    assert distance(single.w.double(), ensemble(training, [2], 60).w) < 1e-3


@pytest.mark.parametrize(
    "given, says",
    [
        ({"activation": "gelu"}, "activation: must be one of linear, relu"),
        ({"loss": "hinge"}, "contrastive_loss: must be one of infonce"),
        ({"batch_norm": "half"}, "batch_norm must be one of off, both, mean, variance, none, got 'half'"),
        ({"batch": 1}, "batch must be ≥ 2, since a loss needs a negative pair, got 1"),
        ({"filters": 0}, "filters and outputs must be ≥ 1, got 0 and 50"),
        ({"rate": 0.0}, "rate must be > 0, momentum in [0, 1) and weight_decay ≥ 0, got rate=0.0"),
        ({"momentum": 1.0}, "got rate=0.02, momentum=1.0"),
        ({"filters": 1.5}, "filters must be int, got 1.5"),
        ({"one_crop": True}, "one_crop must be False without crops, got True"),
        ({"crops": 1}, "crops must be bool, got 1"),
        ({"batch": True}, "batch must be int, got True"),
        ({"rate": float("nan")}, "rate must be finite, got nan"),
        ({"scale": (0.5, 1.5)}, "got scale=(0.5, 1.5)"),
        ({"ratio": (2, 1)}, "got scale=(0.5, 1.0), ratio=(2, 1)"),
        ({"scale": 0.5}, "scale must be a tuple of 2, got 0.5"),
        ({"scale": (0.5,)}, "scale must be a tuple of 2, got (0.5,)"),
        ({"ratio": ("a", 1)}, "ratio must be float, got ('a', 1)"),
        ({"ratio": (1, float("inf"))}, "ratio must be finite, got (1, inf)"),
    ],
)
def test_a_bad_configuration_is_one_line_before_any_work(given, says):
    with pytest.raises(ValueError) as error:
        ImageTraining(**given)
    assert says in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "images, seeds, steps, says",
    [
        (IMAGES, [0], 0, "steps and the number of seeds must be ≥ 1, got 0 and 1"),
        (IMAGES, [], 5, "got 5 and 0"),
        (IMAGES[:7], [0], 5, "images must be [n, s, s] with n ≥ 8 (the batch), got (7, 6, 6)"),
        (IMAGES[0], [0], 5, "got (6, 6)"),
        (IMAGES[:, :5, :5], [0], 5, "must be square and of an even size"),
        (IMAGES[:, :4], [0], 5, "must be square and of an even size"),
        (255 * IMAGES, [0], 5, "images must be fractions ≥ 0 and ≤ 1"),
        (IMAGES.mul(255).to(torch.uint8), [0], 5, "got torch.uint8 values"),
        (IMAGES * torch.nan, [0], 5, "values nan to nan"),
    ],
)
def test_what_cannot_be_trained_on_is_one_line_before_any_work(images, seeds, steps, says):
    with pytest.raises(ValueError) as error:
        next(train_on_images(SMALL, images, seeds, steps))
    assert says in str(error.value) and "\n" not in str(error.value)


def test_too_many_filters_for_the_memory_are_refused_before_any_work():
    with pytest.raises(ValueError, match=r"at most .* GB on cpu, 1 networks of 4·1000000000 filters on 43 images need"):
        next(train_on_images(replace(SMALL, filters=10**9), IMAGES, [0], 5))
