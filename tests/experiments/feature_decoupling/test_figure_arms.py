"""The arms of Figures 1 to 4 by name."""

import pytest
import torch

from experiments.feature_decoupling.figure_arms import (
    ARMS,
    arm_training,
    colours_alone,
    labelled_images,
    trained_encoders,
)

SMALL = ("coloured-digits", "full", 10, 1, 1, 3)


def test_changed_colours_alone_move_no_pixel():
    views, full = (
        of.augmentation
        for of in (colours_alone("cifar10-exact", 16, 2, 7), arm_training("cifar10-exact", "full", 16, 2, 7))
    )
    x = torch.rand(2, 5, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    streams = lambda: [torch.Generator().manual_seed(k) for k in (3, 4)]  # noqa: E731
    seen, places = views(x, streams()), torch.arange(64.0).view(8, 8) / 64
    ramp = views(places.expand_as(x), streams())
    assert seen.shape == x.shape and not torch.allclose(seen, x, atol=0.1)
    assert (ramp.diff(dim=-1) >= -1e-6).all() and (ramp.diff(dim=-2) >= -1e-6).all()  # still rises to the corner
    assert (views.strength, views.hue) == (full.strength, full.hue)


def test_digits_have_classes_and_a_fixed_split():
    found = labelled_images("coloured-digits", 5)
    assert found.images.shape[1:] == (3, 8, 8) and found.images.dtype == torch.float32
    assert len(found.images) == len(found.labels) and len(found.test_images) == len(found.test_labels)
    assert set(found.labels.tolist()) == set(found.test_labels.tolist()) == set(range(10))
    again = labelled_images("coloured-digits", 5)
    assert all(torch.equal(a, b) for a, b in zip(found, again, strict=True))


@pytest.mark.parametrize("data", ["coloured-digits", "cifar10-exact"])
def test_arms_differ_in_their_views_and_goal_alone(data):
    rows = {arm: arm_training(data, arm, 16, 2, 7) for arm in ARMS}
    assert {arm: row.augmentation.arm for arm, row in rows.items()} == dict(zip(ARMS, (*ARMS[:3], "crop"), strict=True))
    assert [arm for arm, row in rows.items() if row.objective == "supervised"] == ["supervised"]
    assert len({(row.network, row.epochs, row.rate, row.batch) for row in rows.values()}) == 1


def test_a_start_is_the_same_alone_and_kept_state_is_deleted(tmp_path):
    both = trained_encoders(*SMALL, (0, 1), folder=tmp_path / "states")
    alone = trained_encoders(*SMALL, (1,))
    assert all(torch.equal(both[name][1], alone[name][0]) for name in alone)
    assert not any((tmp_path / "states").iterdir())


def test_an_interrupted_training_goes_on(tmp_path, monkeypatch):
    class Stop(Exception):
        pass

    def stopping(steps):
        for n, step in enumerate(steps):
            if n == 5:
                raise Stop
            yield step

    monkeypatch.setattr(
        "contrastive_dynamics.feature_decoupling.encoder_training.time.monotonic", iter(range(0, 10**6, 1000)).__next__
    )  # five minutes pass at every step
    with pytest.raises(Stop):
        trained_encoders(*SMALL, (0,), folder=tmp_path, watch=stopping)
    assert len(list(tmp_path.iterdir())) == 1
    seen = []
    resumed = trained_encoders(*SMALL, (0,), folder=tmp_path, watch=lambda steps: seen.append(steps) or steps)
    assert seen[0].start == 5
    assert all(torch.equal(resumed[name], value) for name, value in trained_encoders(*SMALL, (0,)).items())


@pytest.mark.parametrize(
    "call", [lambda: labelled_images("cifar", 0), lambda: arm_training("cifar10", "blur", 10, 1, 1)]
)
def test_unknown_names_are_refused(call):
    with pytest.raises(ValueError, match="data and arm must be of coloured-digits, cifar10-exact.*, got 'cifar"):
        call()
