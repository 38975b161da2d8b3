"""Training of encoders against torch.optim on each run alone; interrupted, resumed and uninterrupted, bit by bit."""

import math
import pickle

import pytest
import torch
from elsewhere import ELSEWHERE, elsewhere
from one_line_error import one_line_error
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


def swapped(x):
    """The same numbers with two neighbours exchanged, so that no sum over all of them differs."""
    flat = x.flatten().clone()
    at = int((flat.diff() != 0).nonzero()[0])
    flat[[at, at + 1]] = flat[[at + 1, at]]
    return flat.view_as(x)


@pytest.mark.parametrize("arm", ["none", "supervised"])
def test_a_state_of_other_data_is_refused(tmp_path, arm):
    path, (x, labels) = tmp_path / "state", data()
    with pytest.raises(Stopped):
        train(arm, path=path, watch=stop_after(1))
    order = torch.randperm(N, generator=stream(0, 0, "order"))
    changed = [(x[order], labels[order]), (x.flip(0), labels), (x, labels[order]), (x.mT.contiguous(), labels)]
    changed += [(swapped(x), labels), (x, swapped(labels)), (x + 1e-9, labels), (x[:-1], labels[:-1])]
    before = path.read_bytes()
    for images, classes in changed:
        what = "labels" if same_bits(images, x) else "images"
        with one_line_error(ValueError, f"state at .* must be of {what} torch.*, got .*sha256"):
            train_encoders(training(arm), images, classes, Streams.of(0, (0, 1)), path=path)
    assert path.read_bytes() == before
    train_encoders(
        training(arm), x.clone(), labels.clone(), Streams.of(0, (0, 1)), path=path
    )  # equal data are the same


def same_bits(a, b):
    return a.shape == b.shape and torch.equal(a, b)


@pytest.mark.parametrize(
    "other", [{"rate": 0.2}, {"runs": [0]}, {"runs": [0, 2]}, {"dtype": torch.float32}, {"arm": "crop"}, {"epochs": 3}]
)
def test_a_state_of_another_training_is_refused(tmp_path, other):
    path = tmp_path / "state"
    train("none", path=path)
    with one_line_error(ValueError, "state at .* must be of (settings|streams|images) .*, got .*"):
        train(**{"arm": "none", "path": path} | other)


def edited(path, **changes):
    torch.save(torch.load(path, weights_only=True) | changes, path)


def flipped(content, at):
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("no state"),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-900]),
    "a bit": lambda path: path.write_bytes(flipped(content := path.read_bytes(), len(content) // 2)),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a list": lambda path: torch.save([1, 2], path),
    "old": lambda path: edited(path, key="Training(...), sums (1, 2)"),
    "no step": lambda path: torch.save({"key": torch.load(path)["key"]}, path),
    "step": lambda path: edited(path, step=99),
    "weights": lambda path: edited(path, weights={}),
    "order": lambda path: edited(path, order=torch.zeros(2, 3)),
    "streams": lambda path: edited(path, streams=[[torch.zeros(5)] * 2] * 3),
    "numbers of the streams": lambda path: edited(path, streams=[[torch.ones(5056, dtype=torch.uint8)] * 2] * 3),
    "code": lambda path: path.write_bytes(pickle.dumps(print)),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_state_says_so_in_one_line(tmp_path, how):
    path = tmp_path / "state"
    train("none", path=path)
    DAMAGES[how](path)
    with one_line_error(ValueError, "state at .* (is damaged|cannot be read).*; delete it to train from the start$"):
        train("none", path=path)


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


def train_on(images, labels, runs=(0,)):
    return train_encoders(training("none"), images, labels, Streams.of(0, list(runs)))


(X, LABELS), PAIRS = data(), torch.ones(4, 3)


@pytest.mark.parametrize(
    ("call", "arguments", "words"),
    [
        *(
            (
                nt_xent,
                (PAIRS, PAIRS, tau),
                rf"nt_xent: temperature must be > 0 \(at least 1e-30\) and finite, got {tau}",
            )
            for tau in (0.0, -0.5, 1e-39, math.inf, math.nan)
        ),
        *(
            (nt_xent, (one, other, 0.5), r"nt_xent: z and z_view must be \[N, out\], N ≥ 2, got \(")
            for one, other in ((PAIRS, PAIRS[:2]), (PAIRS[:1], PAIRS[:1]), (PAIRS[None], PAIRS[None]))
        ),
        (EncoderTraining, {"objective": "clip"}, "objective must be one of contrastive, supervised, got 'clip'"),
        (EncoderTraining, {"batch": 1}, "epochs, batch, projection must be ≥ 1, ≥ 2, ≥ 1, got .*, 1, "),
        (EncoderTraining, {"rate": 0.0}, "rate, momentum, weight_decay must be .*, got 0.0"),
        (EncoderTraining, {"momentum": 1.0}, r"must be > 0, in \[0, 1\), ≥ 0, got"),
        (EncoderTraining, {"temperature": 1e-39}, "temperature must be > 0 .* and finite, got 1e-39"),
        (train_on, (X[:, :1], LABELS), r"images must be \[n, 3, s, s\], .*, got \(14, 1, 8, 8\)"),
        (train_on, (X[:4], LABELS[:4]), "images must be ≥ .*, got 4 images"),
        (train_on, (X, LABELS[:3]), "one label each, got 14 images, labels"),
        (train_on, (X, LABELS, ()), r"streams must be three per run, one per purpose, got \[0, 0, 0\]"),
    ],
)
def test_what_does_not_fit_is_refused(call, arguments, words):
    with one_line_error(ValueError, words):
        call(**arguments) if isinstance(arguments, dict) else call(*arguments)
