import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere

from contrastive_dynamics.alignment_and_balance.projection_heads import Heads, Statistics, apply_heads, init_heads
from contrastive_dynamics.numerics.random_streams import stream

RUNS, P, WIDTH, OUT = 3, 5, 7, 4


def heads(runs=range(RUNS), dtype=torch.float64):
    """A start, and gains and shifts that are not 1 and 0."""
    start = init_heads([stream(0, k, "heads") for k in runs], P, WIDTH, OUT, dtype)
    draws = [torch.randn(4, 1, WIDTH, generator=stream(0, k, "gains"), dtype=torch.float64).to(dtype) for k in runs]
    gain1, shift1, gain2, shift2 = torch.stack(draws, 1)
    return start._replace(gain1=gain1, shift1=shift1, gain2=gain2, shift2=shift2)


def inputs(n, runs=range(RUNS)):
    return torch.stack([torch.randn(n, P, generator=stream(1, k, "x"), dtype=torch.float64) for k in runs])


def network(given, run):
    """The same layers of torch.nn."""

    def norm(gain, shift):
        layer = torch.nn.BatchNorm1d(WIDTH, dtype=torch.float64)
        layer.weight.data, layer.bias.data = gain[run, 0], shift[run, 0]
        return layer

    def linear(weight, bias=None):
        layer = torch.nn.Linear(*weight.shape[1:], bias=bias is not None, dtype=torch.float64)
        layer.weight.data = weight[run].mT
        if bias is not None:
            layer.bias.data = bias[run, 0]
        return layer

    first, second = norm(given.gain1, given.shift1), norm(given.gain2, given.shift2)
    layers = [linear(given.w1), first, torch.nn.ReLU(), linear(given.w2), second, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, linear(given.w3, given.bias3))


def test_the_layers_are_those_of_torch_in_training_and_in_evaluation():
    given, x, test = heads(), inputs(20), inputs(6) + 0.3
    y, used = apply_heads(given, x, output="none")
    f, same = apply_heads(given, test, used, "none")
    assert same == used
    for run in range(RUNS):
        net = network(given, run)
        torch.testing.assert_close(y[run], net(x[run]), rtol=1e-10, atol=1e-12)
        for layer, mean, scale in ((net[1], used.mean1, used.scale1), (net[4], used.mean2, used.scale2)):
            layer.running_mean, layer.running_var = mean[run, 0], scale[run, 0] ** 2 - layer.eps
        torch.testing.assert_close(f[run], net.eval()(test[run]), rtol=1e-10, atol=1e-12)


def test_outputs_are_centred_and_of_mean_square_one_or_of_length_one():
    given, x = heads(), inputs(50)
    f, used = apply_heads(given, x)
    y = apply_heads(given, x, output="none")[0]
    torch.testing.assert_close(f.mean(-2), torch.zeros(RUNS, OUT, dtype=torch.float64), rtol=0, atol=1e-14)
    torch.testing.assert_close(f.square().sum(-1).mean(-1), torch.ones(RUNS, dtype=torch.float64), rtol=1e-12, atol=0)
    # one number for all outputs, unlike in a batch norm per feature
    torch.testing.assert_close(f[:, :1] - f[:, 1:], (y[:, :1] - y[:, 1:]) / used.scale3, rtol=1e-10, atol=1e-12)
    unit = apply_heads(given, x, output="unit")[0]
    torch.testing.assert_close(unit * y.norm(dim=-1, keepdim=True), y, rtol=1e-12, atol=1e-14)


def test_points_do_not_see_each_other_once_statistics_are_given():
    given, x = heads(), inputs(30)
    f, used = apply_heads(given, x)
    torch.testing.assert_close(apply_heads(given, x[:, 4:5], used)[0], f[:, 4:5], rtol=1e-12, atol=1e-14)
    assert not torch.allclose(apply_heads(given, x[:, 4:9])[0], f[:, 4:9], atol=1e-2)


def test_a_run_is_the_same_alone_and_points_may_be_shared():
    f, used = apply_heads(heads(), inputs(30))
    one, alone = apply_heads(heads([1]), inputs(30, [1]))
    torch.testing.assert_close(f[1:2], one, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(used.scale2[1:2], alone.scale2, rtol=1e-12, atol=0)
    shared = inputs(30)[0]
    expected = apply_heads(heads(), shared.expand(RUNS, -1, -1))[0]
    torch.testing.assert_close(apply_heads(heads(), shared)[0], expected, rtol=1e-12, atol=1e-14)


def test_the_start_is_that_of_a_linear_layer():
    start = init_heads([stream(0, k, "heads") for k in range(2)], 400, 90, 30, torch.float32)
    assert [tuple(part.shape) for part in (start.w1, start.w2, start.w3)] == [(2, 400, 90), (2, 90, 90), (2, 90, 30)]
    for part, fan_in in ((start.w1, 400), (start.w2, 90), (start.w3, 90), (start.bias3, 90)):
        assert part.dtype == torch.float32 and (part.abs() <= fan_in**-0.5).all()
        if part is not start.bias3:
            assert part.var().item() * fan_in == pytest.approx(1 / 3, rel=0.03) and abs(part.mean()) < 0.01
    assert (start.gain1 == 1).all() and (start.shift2 == 0).all()
    assert not torch.equal(start.w1[0], start.w1[1])


def test_bad_input_is_named():
    given, x = heads(), inputs(6)
    with pytest.raises(ValueError, match=r"and out must be ≥ 1, got 0 generators, features=5, width=7, out=4"):
        init_heads([], P, WIDTH, OUT)
    with pytest.raises(ValueError, match="must be ≥ 1, got 1 generators, features=5, width=0"):
        init_heads([stream(0, 0, "heads")], P, 0, OUT)
    with pytest.raises(ValueError, match="output must be one of batch, unit, none, got 'whole'"):
        apply_heads(given, x, output="whole")
    with pytest.raises(ValueError, match=r"x must be \[n, 5\] or \[run, n, 5\], n of 2 .*, got \(3, 6, 4\)"):
        apply_heads(given, x[..., :4])
    with pytest.raises(ValueError, match=r"x must be .*, got \(3, 1, 5\)"):
        apply_heads(given, x[:, :1])


def test_everything_stays_on_the_device_of_its_inputs():
    expected = apply_heads(heads(), inputs(6), apply_heads(heads(), inputs(9))[1])[0]
    with elsewhere():
        assert init_heads([stream(0, 0, "heads", ELSEWHERE)], P, WIDTH, OUT).w1.device == ELSEWHERE
        far = Heads(*(part.to(ELSEWHERE) for part in heads()))
        used = apply_heads(far, inputs(9).to(ELSEWHERE))[1]
        assert isinstance(used, Statistics)
        f = apply_heads(far, inputs(6).to(ELSEWHERE), used)[0]
        assert f.device == ELSEWHERE and (f - expected.to(ELSEWHERE)).abs().max().item() < 1e-12
