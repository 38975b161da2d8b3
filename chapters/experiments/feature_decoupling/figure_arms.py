"""The arms of Figures 1 to 4 by name, with their images, augmentation and training, on coloured digits or CIFAR-10."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from contrastive_dynamics.data import catalogue
from contrastive_dynamics.data.coloured_digits import coloured_digits
from contrastive_dynamics.feature_decoupling.encoder_training import EncoderTraining, Streams, train_encoders
from contrastive_dynamics.feature_decoupling.image_augmentations import Augmentation
from contrastive_dynamics.feature_decoupling.wide_resnet import WideResNet
from contrastive_dynamics.numerics.random_streams import stream

ARMS = ("none", "crop", "full", "supervised")
COLOURS = "colour"  # changes of colour without crops, ours: the control for what crops alone leave
DATA = ("coloured-digits", "cifar10-exact", "cifar10-jpeg", "cifar10")


class LabelledImages(NamedTuple):
    """Images `[n, 3, s, s]` of values 0 to 1 and labels `[n]`, for training and for testing."""

    images: Tensor
    labels: Tensor
    test_images: Tensor
    test_labels: Tensor


def labelled_images(data: str, seed: int, device: torch.device | str = "cpu") -> LabelledImages:
    """The images of one data set, float32.

    coloured-digits: `coloured_digits`, colours drawn from `seed`; the others: CIFAR-10 as `catalogue.cifar10` names it.
    Args:
        data: one of DATA.
        seed: seed of the colours.
        device: device of the result.
    Raises: ValueError for another name, DataError for files that are missing or damaged.
    """
    _check("labelled_images", data)
    if data == "coloured-digits":
        return LabelledImages(*coloured_digits(stream(seed, 0, "colours", device)))
    parts = [catalogue.cifar10(split, name=data) for split in ("train", "test")]
    return LabelledImages(*(x for part in parts for x in _tensors(part.images, part.labels, device)))


def arm_training(data: str, arm: str, depth: int, width: int, epochs: int) -> EncoderTraining:
    """The training of an arm. Supervised training uses crops, as is usual, but no changes of colour.

    Digits: crops of 60 to 100 % of the area, not mirrored, colours of any hue; CIFAR-10: SimCLR's crops, mirror and
    colours. The rest is `EncoderTraining`'s, at a rate of 0.3.
    Source: wen-li-2021, Figures 1 to 4, which print none of it; Chen et al. (2020), Appendix B.9, for CIFAR-10.
    Args:
        data: one of DATA.
        arm: one of ARMS.
        depth, width: as in `WideResNet`.
        epochs: ≥ 1.
    Raises: ValueError for another name, depth, width or number of epochs.
    """
    _check("arm_training", data, arm)
    kind = "crop" if arm == "supervised" else arm
    if data == "coloured-digits":
        views = Augmentation(kind, scale=(0.6, 1.0), flip=False, strength=1.0, hue=0.5)
    else:
        views = Augmentation(kind, scale=(0.2, 1.0), flip=True, strength=0.5, hue=0.1)
    goal = "supervised" if arm == "supervised" else "contrastive"
    return EncoderTraining(goal, WideResNet(depth, width), views, epochs=epochs, rate=0.3)


def colours_alone(data: str, depth: int, width: int, epochs: int) -> EncoderTraining:
    """The training of full augmentation with the whole image in place of a crop, never mirrored.

    It is what COLOURS names: arguments and errors as in `arm_training`.
    """
    full = arm_training(data, "full", depth, width, epochs)
    return replace(full, augmentation=replace(full.augmentation, scale=(1.0, 1.0), ratio=(1.0, 1.0), flip=False))


def trained_encoders(
    data: str,
    arm: str,
    depth: int,
    width: int,
    epochs: int,
    seed: int,
    runs: tuple[int, ...],
    device: str = "cpu",
    *,
    watch: Callable[[Iterable], Iterable] = iter,
    folder: Path | None = None,
) -> dict[str, Tensor]:
    """Weights `[run, ...]` of an arm after training, on the CPU.

    Photographs: products in bfloat16 on CUDA and on processors that have instructions for it, 1.5 times as fast there.
    If a folder is given, the state is saved there every 5 minutes, an interrupted call resumes from it, and it is
    deleted at the end.
    Args:
        data, arm, depth, width, epochs: as `arm_training`; the arm may be COLOURS, too.
        seed: seed of the streams and of the colours.
        runs: runs of that seed.
        device: device to train on.
        watch: wraps a progress bar.
        folder: folder for the state, or None.
    Raises: as `labelled_images`, `arm_training` and `train_encoders`.
    Cost: as `train_encoders`.
    """
    narrow = data != "coloured-digits" and _multiplies_bfloat16(device)  # digits: hardly faster, the same everywhere
    sizes = depth, width, epochs
    training = colours_alone(data, *sizes) if arm == COLOURS else arm_training(data, arm, *sizes)
    training = replace(training, autocast=narrow)
    found = labelled_images(data, seed, device)
    path = None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{data}-{arm}-{depth}-{width}-{epochs}-{seed}-{'_'.join(map(str, runs))}.pt"
    streams = Streams.of(seed, runs, device)
    weights, _ = train_encoders(training, found.images, found.labels, streams, path=path, watch=watch)
    if path is not None:
        path.unlink(missing_ok=True)
    return {name: value.cpu() for name, value in weights.items()}


def _multiplies_bfloat16(device: torch.device | str) -> bool:
    if torch.device(device).type != "cpu":
        return True
    has = getattr(torch.cpu, "get_capabilities", dict)()  # not in every version of torch
    return any(has.get(name, False) for name in ("avx512_bf16", "amx_bf16"))


def _tensors(images: np.ndarray, labels: np.ndarray, device: torch.device | str) -> tuple[Tensor, Tensor]:
    shaped = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))).to(device)
    return shaped.float() / 255, torch.from_numpy(labels).to(device).long()


def _check(name: str, data: str, arm: str = "none") -> None:
    if data not in DATA or arm not in ARMS:
        raise ValueError(
            f"{name}: data and arm must be of {', '.join(DATA)} and of {', '.join(ARMS)}, got {data!r} and {arm!r}"
        )
