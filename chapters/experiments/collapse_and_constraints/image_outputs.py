"""Figure 4 of the paper, right: two classes of images, the pairs that a model is trained on, and what a linear
classifier makes of its outputs.
"""

from collections.abc import Callable

import torch
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from torch import Tensor

from contrastive_dynamics.data.catalogue import check, digits, mnist
from contrastive_dynamics.data.two_class_problems import Problem, class_pairs, two_class_problem
from contrastive_dynamics.numerics.random_streams import stream


def paired_images(data: str, classes: list[int], per_class: int) -> tuple[Tensor, Tensor, list[tuple[int, int]]]:
    """The images of a data set, and the pairs of classes that are to be told apart, checked before any work.

    Args:
        data: "digits" or "mnist", of which the training images are taken.
        classes: the classes of all pairs in a row.
        per_class: training images per class.
    Returns: images `[count, d]` from 0 to 1, float64; their classes `[count]`; the pairs.
    Raises: ValueError as `class_pairs`, and DataError if the data set is not here.
    """
    check(data)
    source = digits() if data == "digits" else mnist("train")
    images = torch.tensor(source.images.reshape(len(source.images), -1) / source.images.max())
    labels = torch.tensor(source.labels.astype("int64"))
    return images, labels, class_pairs(classes, labels, per_class)


def image_problem(
    images: Tensor, labels: Tensor, pair: tuple[int, int], per_class: int, seed: int, draw: int = 0
) -> tuple[Problem, Tensor]:
    """A problem of two classes and the points of its loss: images, a noisy view of each, and random negatives.

    The noise is N(0, 0.1) a pixel; a negative is any image of the problem. Nothing that is drawn depends on what was
    done to the images before.

    Source: esser-2023, Figure 4.
    Args:
        images: `[count, d]`.
        labels: their classes, `[count]`.
        pair: the two classes.
        per_class: training images per class, n/2.
        seed: of the split.
        draw: of several problems of this pair in one split, which.
    Returns: Problem; anchors, positives and negatives one below the other, `[3n, d]`.
    """
    problem = two_class_problem(images, labels, pair, per_class, stream(seed, 2 * draw, f"{pair}", "cpu"))
    x, g = problem.x, stream(seed, 2 * draw + 1, f"{pair}")
    positives = x + 0.1**0.5 * torch.randn(x.shape, generator=g)
    negatives = x[torch.randint(len(x), (len(x),), generator=g)]
    return problem, torch.cat([x, positives, negatives])


def svm_accuracy(outputs: Callable[[Tensor], Tensor], problem: Problem) -> float:
    """Held-out accuracy of a linear SVM on the outputs of a model, scaled to variance 1.

    Source: esser-2023, Figure 4.
    Args:
        outputs: x `[k, d]` ↦ u(x) `[k, z]`.
        problem: as from `image_problem`.
    Returns: a share, from 0 to 1.
    """
    svm = make_pipeline(StandardScaler(), LinearSVC(dual=False))
    svm.fit(outputs(problem.x).cpu().numpy(), problem.y.cpu().numpy())
    return svm.score(outputs(problem.x_held_out).cpu().numpy(), problem.y_held_out.cpu().numpy())
