"""Wide residual networks against the same network in torch's modules, published sizes and counted products."""

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from contrastive_dynamics.feature_decoupling.wide_resnet import WideResNet, each_run
from contrastive_dynamics.numerics.random_streams import stream

NET = WideResNet(10, 2)


def images(n=6, size=8):
    return torch.rand(n, 3, size, size, generator=stream(0, 0, "images"), dtype=torch.float64)


def start(net=NET, runs=(0, 1), dtype=torch.float64):
    weights = net.initial_weights([stream(0, run, "start") for run in runs], dtype)
    bend = stream(0, 9, "bend")  # gains and shifts that differ from channel to channel, the same for every run
    for w in weights.values():
        if w.ndim == 2:
            w += 0.3 * torch.randn(w.shape[1:], generator=bend, dtype=dtype)
    return weights


class Block(nn.Module):
    """A block of the paper's network, as its authors' figure has it."""

    def __init__(self, c_in, c, stride):
        super().__init__()
        self.one, self.two = nn.BatchNorm2d(c_in), nn.BatchNorm2d(c)
        self.first = nn.Conv2d(c_in, c, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(c, c, 3, 1, 1, bias=False)
        self.cut = nn.Conv2d(c_in, c, 1, stride, bias=False) if c_in != c else None

    def forward(self, x):
        y = torch.relu(self.one(x))
        out = self.second(torch.relu(self.two(self.first(y))))
        return out + (self.cut(y) if self.cut else x)


def modules(net):
    layers, c_in = [nn.Conv2d(3, 16, 3, 1, 1, bias=False)], 16
    for group, c in enumerate((16 * net.width, 32 * net.width, 64 * net.width)):
        for block in range(net.blocks):
            layers.append(Block(c_in, c, 2 if group and not block else 1))
            c_in = c
    return nn.Sequential(*layers, nn.BatchNorm2d(c_in), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()).double()


def filled(module, weights):
    """The module with weights of one run: both have norm, conv, norm, conv, shortcut in a block, in this order."""
    mine = [module[0].weight]
    for b in (m for m in module if isinstance(m, Block)):
        mine += [b.one.weight, b.one.bias, b.first.weight, b.two.weight, b.two.bias, b.second.weight]
        mine += [b.cut.weight] if b.cut else []
    mine += [module[-4].weight, module[-4].bias]
    for parameter, w in zip(mine, weights.values(), strict=True):
        parameter.data.copy_(w)
    return module, mine


@pytest.mark.parametrize(("net", "size"), [(NET, 8), (WideResNet(16, 1), 16)])
def test_representation_and_gradient_are_those_of_the_network_in_modules(net, size):
    x, weights = images(size=size), each_run(start(net))[1]
    module, mine = filled(modules(net), weights)
    expected = module(4 * x - 2)
    leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
    found = net.representation(leaves, x)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)
    toward = torch.randn(found.shape, generator=stream(0, 0, "toward"), dtype=torch.float64)
    expected = torch.autograd.grad((expected * toward).sum(), mine)
    found = torch.autograd.grad((found * toward).sum(), list(leaves.values()))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-10)


def test_sizes_are_the_published_ones():
    for (depth, width), millions in {(16, 4): 2.7, (40, 4): 8.9, (40, 1): 0.6}.items():
        count = sum(torch.Size(shape).numel() for shape in WideResNet(depth, width).shapes().values())
        assert round((count + 10 * (64 * width + 1)) / 1e6, 1) == millions  # with the layer of ten classes


@pytest.mark.parametrize("size", [8, 32])
def test_multiplications_are_those_that_torch_counts(size):
    weights = each_run(start())[0]
    with FlopCounterMode(display=False) as counter:
        NET.layers(weights, images(3, size))
    assert counter.get_total_flops() == 2 * 3 * NET.multiplications(size)


def test_calibrating_images_give_at_evaluation_what_they_give_in_training():
    x, weights = images(), start()
    statistics = NET.calibrated(weights, x)
    found = NET.responses(weights, statistics, x).mean((-2, -1))
    for run, w in enumerate(each_run(weights)):
        torch.testing.assert_close(found[run], NET.representation(w, x), rtol=1e-10, atol=1e-12)
    means = [each_run(statistics)[0][f"{layer}.0.a"][0] for layer in (1, 2)]
    stem = torch.nn.functional.conv2d(4 * x - 2, weights["stem.conv"][0], padding=1)
    torch.testing.assert_close(means[0], stem.mean((0, 2, 3)), rtol=1e-10, atol=1e-12)


def test_at_evaluation_an_image_is_the_same_alone_and_a_run_too():
    x, weights = images(), start()
    statistics = NET.calibrated(weights, x)
    for layer in (1, 2, 3, 4):
        all_of_them = NET.responses(weights, statistics, x, layer)
        side = 8 // (1, 1, 2, 4)[layer - 1]
        assert all_of_them.shape == (2, 6, NET.channels[layer - 1], side, side)
        alone = NET.responses(weights, statistics, x[2:3], layer)
        torch.testing.assert_close(alone, all_of_them[:, 2:3], rtol=1e-10, atol=1e-12)
    other = start(runs=[1])
    assert torch.equal(NET.responses(other, NET.calibrated(other, x), x), all_of_them[1:])


def test_all_that_is_drawn_is_drawn_elsewhere_too():
    x, weights = images(2), start(runs=[0])
    expected = NET.responses(weights, NET.calibrated(weights, x), x)
    with elsewhere():
        far = NET.initial_weights([stream(0, 0, "start", ELSEWHERE)], torch.float64)
        bend = stream(0, 9, "bend")
        for w in far.values():
            if w.ndim == 2:
                w += (0.3 * torch.randn(w.shape[1:], generator=bend, dtype=w.dtype)).to(ELSEWHERE)
        found = NET.responses(far, NET.calibrated(far, x.to(ELSEWHERE)), x.to(ELSEWHERE)).cpu()
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(("depth", "width"), [(4, 1), (12, 1), (10, 0), (10, 5)])
def test_other_networks_are_refused(depth, width):
    with pytest.raises(ValueError, match=rf"depth and width must be one of 10, 16, .*, got {depth} and {width}"):
        WideResNet(depth, width)


def test_other_layers_are_refused():
    with pytest.raises(ValueError, match="layer must be 1 to 4, got 0"):
        NET.responses({}, {}, images(), 0)
