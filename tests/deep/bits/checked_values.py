"""Prints a digest of losses, gradients, and of which temperatures and margins they take, in rooms that check them."""

import hashlib
import math

import torch

from contrastive_dynamics.alignment_and_balance.contrastive_force import Signs, population_loss
from contrastive_dynamics.collapse_and_constraints.infonce_descent import FORMS, infonce_matrix, infonce_of_views
from contrastive_dynamics.feature_decoupling.encoder_training import EncoderTraining, nt_xent
from contrastive_dynamics.feature_decoupling.symmetrised_relu import contrastive_gradient, contrastive_loss_value
from contrastive_dynamics.losses.named_losses import gaussian, infonce, quadratic, triplet
from contrastive_dynamics.losses.pairwise_importance import gaussian_features, gaussian_importance, infonce_loss
from contrastive_dynamics.testbed.losses import NORMS, Alignment, Bilinear, InfoNCE, Spectral

POSITIVE = 1e-12, 0.1, 1.0, 7.0  # taken by every library
REFUSED = -1.0, 0.0, math.nan


def draw(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def of_papers(x: torch.Tensor, value: float):
    """What a value of a temperature gives in every room; each is a function that may refuse it."""
    first, second, others = x[:, :4], x[:, 4:8], x[:, 8:]
    signs, theta = Signs(*(draw(4, 3, dtype=x.dtype).sign() for _ in range(2))), x[:, :2]
    for loss in (infonce, quadratic, gaussian):
        yield lambda loss=loss: loss(value).gradient(first, second)
    yield lambda: gaussian_importance(x, value)
    yield lambda: gaussian_features(x, 2, value)
    yield lambda: infonce_loss(first, second, value)
    yield lambda: nt_xent(first[0], second[0], value)
    yield lambda: contrastive_loss_value(first, second, others, value)
    yield lambda: contrastive_gradient(x[:, :2], x[:, :2, 0], first, second, others, value)
    yield lambda: torch.tensor(EncoderTraining(temperature=value).temperature)
    for form in FORMS:
        yield lambda form=form: infonce_of_views(theta, first, second, value, form)
        yield lambda form=form: infonce_matrix(theta, first, second, value, form)
    yield lambda: population_loss(x[:, :3], signs, value, 3.0)


def of_testbed(dtype: torch.dtype):
    """Values and gradients of the fifth chapter's losses, with and without strangers."""
    first, second, *strangers = (draw(3, n, 4, dtype=dtype) for n in (6, 7, 8, 9))
    first, second = first.requires_grad_(), second[:, :6].requires_grad_()
    strangers = tuple(x[:, :6] for x in strangers)
    for norm in NORMS:
        for others in (None, strangers):
            losses = [InfoNCE(0.7, norm=norm), InfoNCE(2.0, norm=norm, sides=1, divided=True, negatives=9.0)]
            for loss in (*losses, Spectral(0.7, norm=norm), Bilinear(), Bilinear(False)):
                value = loss(first, second, others)
                yield value, *torch.autograd.grad(value.sum(), (first, second))
        value = Alignment(norm)(first, second)
        yield value, *torch.autograd.grad(value.sum(), (first, second))
    learned = InfoNCE(tau_squared=(0.5, 1.0, 2.0), learned=True)
    yield learned(first, second, None, learned.start(3))


def content(call) -> bytes:
    try:
        found = call()
    except ValueError:
        return b"refused"
    parts = found if isinstance(found, tuple) else (found,)
    return b"".join(part.detach().contiguous().numpy().tobytes() for part in parts)


def main() -> None:
    seen = hashlib.sha256()
    for dtype in (torch.float32, torch.float64):
        x = draw(2, 12, 3, dtype=dtype)
        for value in (*POSITIVE, *REFUSED):
            for call in of_papers(x, value):
                seen.update(content(call))
        for margin in (0.0, 0.5, math.nan, math.inf):
            seen.update(content(lambda m=margin: triplet(m).gradient(x[:, :4], x[:, 4:8])))  # noqa: B023
        for found in of_testbed(dtype):
            seen.update(content(lambda found=found: found))
    for tau in (0.1, 5.0, *REFUSED, math.inf):
        seen.update(content(lambda tau=tau: torch.tensor(InfoNCE(tau).tau_squared)))
    print(seen.hexdigest())


if __name__ == "__main__":
    main()
