"""Minibatches of image patches against dense matrices; crops against interpolate and a plain torchvision-like loop."""

import math

import pytest
import torch
from torch.nn.functional import interpolate

from contrastive_dynamics.nonlinearity.networks.field_network import FieldNetwork, Weights
from contrastive_dynamics.numerics.image_patches import (
    Boxes,
    check_crops,
    image_batch,
    quadrants,
    random_boxes,
    random_resized_crops,
    resized_crops,
)
from contrastive_dynamics.numerics.random_streams import stream

RUNS, N, S, M, OUT = 2, 3, 6, 4, 5
BAD_CROPS = [((0, 1), (1, 1)), ((0.6, 0.5), (1, 1)), ((0.5, 1.1), (1, 1)), ((0.5, 1), (0, 1)), ((0.5, 1), (2, 1))]


def draw(*shape, purpose="numbers"):
    return torch.randn(*shape, generator=stream(0, 0, purpose), dtype=torch.float64)


def test_quadrants_are_upper_left_upper_right_lower_left_lower_right():
    images = draw(2, 3, S, S)
    parts = images[..., :3, :3], images[..., :3, 3:], images[..., 3:, :3], images[..., 3:, 3:]
    assert torch.equal(quadrants(images), torch.stack([part.flatten(-2) for part in parts], -2))


@pytest.mark.parametrize("shape", [(2, 5, 5), (2, 4, 6), (8,), (3, 0, 0)])
def test_images_without_quadrants(shape):
    with pytest.raises(ValueError, match="must be square and of an even size"):
        quadrants(torch.zeros(shape))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("alike", [False, True])
def test_a_batch_is_a_dense_table_with_a_row_a_view(groups, alike):
    views = draw(RUNS, 1 if alike else 2, N, S, S)
    batch, x = image_batch(views, groups), quadrants(views.expand(-1, 2, -1, -1, -1).flatten(1, 2)).transpose(1, 2)
    w, v = draw(RUNS, 4, M, 9, purpose="w"), draw(RUNS, 4, 2 * N, OUT, purpose="table")
    count = batch.shares.shape[2]  # equal views are two groups that read the same rows
    assert count == (2 if alike else groups) and torch.allclose(batch.shares.sum(-1), torch.ones(1).double())
    dense = torch.einsum("rkid,rkmd->rkim", x, w)
    filtered = batch.filtered(w)
    assert filtered.shape == (RUNS, 4, 1 if alike else groups, 2 * N // count, M)
    assert torch.allclose(filtered.expand(-1, -1, count, -1, -1).flatten(2, 3), dense, atol=1e-13)
    gradient = draw(RUNS, 4, count, 2 * N // count, M, purpose="gradient")
    expected = torch.einsum("rkim,rkid->rkmd", gradient.flatten(2, 3), x)
    assert torch.allclose(batch.on_filters(gradient), expected, atol=1e-13)
    assert torch.allclose(batch.sum_over_places(v), v.sum(1))
    f = draw(RUNS, 2 * N, OUT, purpose="f")
    assert torch.allclose((batch.sum_over_views(f) * v).sum(), (f * batch.sum_over_places(v)).sum())  # the adjoint


def test_equal_views_give_the_same_gradient_read_once_or_twice():
    from contrastive_dynamics.losses.activations import ACTIVATIONS
    from contrastive_dynamics.losses.named_losses import contrastive_loss
    from contrastive_dynamics.nonlinearity.two_layers.batch_norm import Statistics

    weights = Weights(draw(RUNS, 4, M, 9, purpose="w"), draw(RUNS, 4, M, OUT, purpose="v"))
    once = draw(RUNS, 1, N, S, S)
    network = FieldNetwork(ACTIVATIONS["relu"], Statistics.of(["both"]))
    batches = (
        image_batch(once, 1),
        image_batch(once.expand(-1, 2, -1, -1, -1), 2),
        image_batch(torch.cat([once] * 2, 1), 1),
    )
    first, *others = (network.gradients(weights, batch, contrastive_loss("infonce")) for batch in batches)
    for other in others:
        assert torch.allclose(first.w, other.w, atol=1e-13) and torch.allclose(first.v, other.v, atol=1e-13)


@pytest.mark.parametrize("shape, groups", [((1, 3, 2, 4, 4), 2), ((1, 2, 2, 4, 4), 3), ((2, 2, 4, 4), 2)])
def test_views_and_groups_that_are_no_batch(shape, groups):
    with pytest.raises(ValueError, match="views must be .*, got views"):
        image_batch(torch.zeros(shape), groups)


@pytest.mark.parametrize("height, width", [(28, 28), (1, 1), (14, 28), (19, 23), (25, 7)])
def test_a_resized_crop_is_the_interpolated_crop(height, width):
    images = draw(5, 28, 28)
    g = stream(1, 0, "corners")
    top = torch.randint(28 - height + 1, (5,), generator=g)
    left = torch.randint(28 - width + 1, (5,), generator=g)
    boxes = Boxes(top, left, torch.full((5,), height), torch.full((5,), width))
    crops = torch.stack([x[a : a + height, b : b + width] for x, a, b in zip(images, top, left, strict=True)])
    expected = interpolate(crops.unsqueeze(1), (28, 28), mode="bilinear", align_corners=False).squeeze(1)
    assert torch.allclose(resized_crops(images, Boxes(*(part.double() for part in boxes))), expected, atol=1e-12)
    single = resized_crops(images.float(), Boxes(*(part.double() for part in boxes)))
    assert torch.allclose(single, expected.float(), atol=1e-4)


def torchvision_box(numbers, size, scale, ratio):
    """RandomResizedCrop.get_params of torchvision, line by line, reading one row of uniform numbers."""
    area, shape, (up, along) = numbers[:10], numbers[10:20], numbers[20:]
    for a, r in zip(area, shape, strict=True):
        target = size * size * (scale[0] + (scale[1] - scale[0]) * a)
        aspect = math.exp(math.log(ratio[0]) + (math.log(ratio[1]) - math.log(ratio[0])) * r)
        w, h = int(round(math.sqrt(target * aspect))), int(round(math.sqrt(target / aspect)))
        if 0 < w <= size and 0 < h <= size:
            return int(up * (size - h + 1)), int(along * (size - w + 1)), h, w
    w = h = size
    if 1 < min(ratio):
        h = int(round(w / min(ratio)))
    elif 1 > max(ratio):
        w = int(round(h * max(ratio)))
    return (size - h) // 2, (size - w) // 2, h, w


@pytest.mark.parametrize(
    "size, scale, ratio",
    [
        (28, (0.5, 1.0), (0.5, 1.5)),
        (8, (0.08, 1.0), (0.75, 4 / 3)),
        (28, (0.9, 1.0), (1.2, 3.0)),
        (9, (1, 1), (0.3, 0.6)),
    ],
)
def test_boxes_are_those_of_torchvision(size, scale, ratio):
    boxes = random_boxes([stream(4, 0, "crops")], 500, size, scale, ratio)
    numbers = torch.rand(500, 22, generator=stream(4, 0, "crops"), dtype=torch.float64).tolist()
    expected = torch.tensor([torchvision_box(row, size, scale, ratio) for row in numbers])
    assert torch.equal(torch.stack(boxes, -1)[0].long(), expected)


def test_boxes_have_uniform_areas_and_places_within_the_image():
    top, left, height, width = random_boxes([stream(5, 0, "crops")], 40000, 1000)
    share, ratio = height * width / 1e6, width / height
    assert share.min() > 0.499 and ratio.min() > 0.499 and ratio.max() < 1.502
    assert (top >= 0).all() and (top + height <= 1000).all() and (left >= 0).all() and (left + width <= 1000).all()
    place = top / (1000 - height).clamp(min=1)
    assert abs(float(place[height < 900].mean()) - 0.5) < 0.01  # four standard errors are 0.006
    free = random_boxes([stream(5, 0, "crops")], 40000, 1000, (0.1, 0.4), (0.8, 1.25))  # every draw fits
    assert abs(float((free.height * free.width).mean()) / 1e6 - 0.25) < 0.002
    assert abs(float((free.width / free.height).log().mean())) < 0.003


def test_a_crop_of_the_whole_image_is_the_image():
    images = draw(2, 3, 28, 28)
    streams = [stream(s, 0, "crops") for s in (0, 1)]
    assert torch.allclose(random_resized_crops(images, streams, (1, 1), (1, 1)), images, atol=1e-12)


def test_the_crops_of_a_run_are_the_same_alone_and_beside_others():
    images = draw(3, 2, 4, 8, 8)

    def crops(runs):
        return random_resized_crops(images[runs], [stream(s, 0, "crops") for s in runs])

    assert torch.equal(crops([2])[0], crops([1, 2])[1]) and torch.equal(crops([0, 1, 2])[2], crops([2])[0])
    assert not torch.equal(crops([2])[0, 0], crops([2])[0, 1])
    assert random_resized_crops(images[:, 0, 0], [stream(s, 0, "crops") for s in range(3)]).shape == (3, 8, 8)


@pytest.mark.parametrize("scale, ratio", BAD_CROPS)
def test_crops_that_cannot_be(scale, ratio):
    with pytest.raises(ValueError, match="scale and ratio must be pairs, .*, got scale=") as error:
        check_crops(scale, ratio)
    assert "\n" not in str(error.value)


def test_crops_of_images_without_a_stream_each():
    with pytest.raises(ValueError, match="streams must be one per run .*, got 1 streams for images"):
        random_resized_crops(torch.zeros(2, 4, 4), [stream(0, 0, "crops")])
    with pytest.raises(ValueError, match="images square, got"):
        random_resized_crops(torch.zeros(1, 4, 6), [stream(0, 0, "crops")])
