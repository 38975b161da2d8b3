"""Training of encoders against torch.optim on each run alone; interrupted, resumed and uninterrupted, bit by bit."""

import math

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from torch.nn.functional import cross_entropy

from contrastive_dynamics.feature_decoupling.encoder_training import EncoderTraining, Streams, nt_xent, train_encoders
from contrastive_dynamics.feature_decoupling.image_augmentations import Augmentation
from contrastive_dynamics.feature_decoupling.wide_resnet import each_run
from contrastive_dynamics.numerics.random_streams import stream

N, BATCH, EPOCHS = 14, 6, 2
CROP = Augmentation("crop", (0.4, 1.0), flip=False)
ARMS = {
    "none": {"augmentation": Augmentation("none")},
    "crop": {"augmentation": CROP},
    "full": {"augmentation": Augmentation("full", (0.4, 1.0), flip=False, strength=1.0, hue=0.5)},
    "supervised": {"objective": "supervised", "augmentation": CROP},
}


def data(dtype=torch.float64):
    x = torch.rand(N, 3, 8, 8, generator=stream(0, 0, "images"), dtype=torch.float64).to(dtype)
    return x, torch.arange(N) % 3


def training(arm, **how):
    return EncoderTraining(**{"epochs": EPOCHS, "batch": BATCH, "weight_decay": 0.1} | ARMS[arm] | how)


def train(arm, runs=(0, 1), path=None, dtype=torch.float64, **how):
    watch = how.pop("watch", iter)
    return train_encoders(
        training(arm, **how), *data(dtype), Streams.of(0, runs), path=path, save_every=0.0, watch=watch
    )


def same(one, other):
    return all(
        torch.equal(a, b) for a, b in zip((*one[0].values(), one[1]), (*other[0].values(), other[1]), strict=True)
    )


def test_nt_xent_pair_by_pair():
    z, view = (torch.randn(4, 3, generator=stream(0, k, "z"), dtype=torch.float64) for k in range(2))
    both, total = torch.cat([z, view]), 0.0
    for i in range(8):
        s = [float(both[i] @ both[j] / (both[i].norm() * both[j].norm())) / 0.3 for j in range(8)]
        total -= s[(i + 4) % 8] - math.log(sum(math.exp(s[j]) for j in range(8) if j != i))
    assert float(nt_xent(z, view, 0.3)) == pytest.approx(total / 8, rel=1e-12)
    assert float(nt_xent(z, view, 1e9)) == pytest.approx(math.log(7), rel=1e-8)


def plain_loss(setting, weights, x, labels, at, stream):
    """The loss of a minibatch as the definitions have it: both views through the network even where they are equal."""
    twice = torch.cat([at, at]) if setting.objective == "contrastive" else at
    h = setting.network.representation(weights, setting.augmentation(x[twice][None], [stream])[0])
    if setting.objective == "supervised":
        return cross_entropy(torch.nn.functional.linear(h, weights["head.out"], weights["head.shift"]), labels[at])
    z = torch.relu(h @ weights["head.hidden"].mT) @ weights["head.out"].mT
    return nt_xent(z[:BATCH], z[BATCH:], setting.temperature)


def plain_training(setting, run):
    """One run by torch's SGD and schedule: weights and losses."""
    (x, labels), (start, (order,), (views,)) = data(), Streams.of(0, [run])
    weights = each_run(setting.initial_weights(start, 3, torch.float64))[0]
    weights = {name: w.clone().requires_grad_() for name, w in weights.items()}
    decays = [(w.ndim > 1) * setting.weight_decay for w in weights.values()]
    groups = [{"params": [w], "weight_decay": d} for w, d in zip(weights.values(), decays, strict=True)]
    optimiser = torch.optim.SGD(groups, lr=setting.rate, momentum=setting.momentum)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, EPOCHS * (N // BATCH))
    losses = []
    for _ in range(EPOCHS):
        for at in torch.randperm(N, generator=order).split(BATCH)[: N // BATCH]:
            optimiser.zero_grad()
            losses.append(plain_loss(setting, weights, x, labels, at, views))
            losses[-1].backward()
            optimiser.step()
            schedule.step()
    return weights, torch.stack(losses).detach()


@pytest.mark.parametrize("arm", ARMS)
def test_steps_are_those_of_torch_optim_on_each_run_alone(arm):
    found, losses = train(arm)
    for run in range(2):
        weights, expected = plain_training(training(arm), run)
        torch.testing.assert_close(losses[:, run], expected, rtol=1e-8, atol=1e-10)
        for name, w in weights.items():
            torch.testing.assert_close(found[name][run], w.detach(), rtol=1e-6, atol=1e-8)


class Stopped(Exception):
    pass


def stop_after(count):
    def watch(steps):
        for step in steps:
            if step == count:
                raise Stopped
            yield step

    return watch


@pytest.mark.parametrize("arm", ["full", "supervised"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_interrupted_it_goes_on_to_the_same_bits(tmp_path, arm, count):
    path, whole = tmp_path / "state", train(arm, dtype=torch.float32)
    with pytest.raises(Stopped):
        train(arm, path=path, dtype=torch.float32, watch=stop_after(count))
    (tmp_path / "state.part").write_bytes(b"cut off in the middle of a save")
    left = []
    done = train(arm, path=path, dtype=torch.float32, watch=lambda steps: left.extend(steps) or steps)
    assert left == list(range(count, EPOCHS * (N // BATCH))) and same(done, whole)
    assert same(train(arm, path=path, dtype=torch.float32, watch=stop_after(0)), whole)  # nothing is left to do
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


def test_a_state_of_another_training_is_refused(tmp_path):
    path = tmp_path / "state"
    train("none", path=path)
    images, labels = data()
    for changed in ((images.flip(0) / 2, labels), (images, labels + 1)):
        with pytest.raises(ValueError, match="state at .* must be of "):
            train_encoders(training("none"), *changed, Streams.of(0, (0, 1)), path=path)
    for other in ({"rate": 0.2}, {"runs": [0]}, {"dtype": torch.float32}, {"arm": "crop"}, {"runs": [0, 2]}):
        with pytest.raises(ValueError, match="state at .* must be of .*, got "):
            train(**{"arm": "none", "path": path} | other)


def test_a_run_is_the_same_alone():
    both, alone = train("full"), train("full", runs=[1])
    assert all(torch.allclose(alone[0][name][0], w[1], rtol=1e-9, atol=1e-11) for name, w in both[0].items())


def test_it_learns_and_in_bfloat16_too():
    x, labels = data(torch.float32)
    x = x + labels.view(-1, 1, 1, 1) / 3  # a class is a brightness
    for autocast in (False, True):
        setting = training("supervised", epochs=12, weight_decay=0.0, autocast=autocast)
        weights, losses = train_encoders(setting, x, labels, Streams.of(0, [0]))
        assert losses[-4:].mean() < 0.5 * losses[:2].mean() and weights["stem.conv"].dtype == torch.float32


def test_it_trains_elsewhere_too():
    x, labels = data()
    with elsewhere():
        streams = Streams.of(0, [0], ELSEWHERE)
        weights, losses = train_encoders(training("full", epochs=1), x.to(ELSEWHERE), labels.to(ELSEWHERE), streams)
        losses = losses.cpu()
    torch.testing.assert_close(losses, train("full", runs=[0], epochs=1)[1])


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"objective": "clip"}, "objective must be one of contrastive, supervised, got 'clip'"),
        ({"batch": 1}, "epochs, batch, projection must be ≥ 1, ≥ 2, ≥ 1, got .*, 1, "),
        ({"rate": 0.0}, "rate, temperature, momentum, weight_decay must be .*, got 0.0"),
        ({"momentum": 1.0}, r"must be > 0, > 0, in \[0, 1\), ≥ 0, got"),
    ],
)
def test_other_trainings_are_refused(how, said):
    with pytest.raises(ValueError, match=said):
        EncoderTraining(**how)


def test_other_images_are_refused():
    x, labels = data()
    for images, classes, said in (
        (x[:, :1], labels, r"images must be \[n, 3, s, s\], .*, got \(14, 1, 8, 8\)"),
        (x[:4], labels[:4], "images must be ≥ .*, got 4 images"),
        (x, labels[:3], "one label each, got 14 images, labels"),
    ):
        with pytest.raises(ValueError, match=said):
            train_encoders(training("none"), images, classes, Streams.of(0, [0]))
    with pytest.raises(ValueError, match=r"streams must be three per run, one per purpose, got \[0, 0, 0\]"):
        train_encoders(training("none"), x, labels, Streams.of(0, []))
