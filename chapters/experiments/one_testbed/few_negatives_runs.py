"""Few negatives: where the error of the law starts, and how many negatives it takes to lose it."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from contrastive_dynamics.testbed.encoders import Linear
from contrastive_dynamics.testbed.experiment import train
from contrastive_dynamics.testbed.few_negatives import InGroups, best_scale, one_negative
from contrastive_dynamics.testbed.losses import InfoNCE
from contrastive_dynamics.testbed.optimisers import Adam
from contrastive_dynamics.testbed.scores import linear_map
from contrastive_dynamics.testbed.view_makers import Apart
from contrastive_dynamics.testbed.worlds import GivenCorrelations

from .count_runs import SPECTRA
from .law_runs import Arms

STRONG, WEAK, MANY = (16, 0.4), (64, 0.2), (64, 0.4)  # directions and ρ: v = Sρ² is 2.56, 2.56 and 10.24
PAIRS = (2, 8, 32)  # N
Watch = Callable[[Iterable], Iterable]


def trained_with_one_negative(
    seeds: Sequence[int], names: Sequence[str] = ("falling", "two and two"), steps: int = 400, pairs: int = 512,
    *, watch: Watch = iter,
) -> dict[str, Tensor]:  # fmt: skip
    """h_j of linear encoders without norm and temperature, trained by InfoNCE among pairs of pairs.

    Args:
        seeds: one network each for every spectrum.
        names: of SPECTRA.
        steps, pairs: of the training by Adam, pairs a step, half as many groups of two.
        watch: wraps the steps in a progress bar.
    Returns: "ρ" `[spectrum, S]` and "h" `[spectrum, seed, S]`, the diagonal of WᵀW.
    Cost: as `train` with 512 pairs, less the matrices of all pairs.
    """
    rho = torch.tensor([SPECTRA[name] for name in names], dtype=torch.float64)
    rows = rho.unsqueeze(1).expand(-1, len(seeds), -1).flatten(0, 1)
    world = GivenCorrelations(rows, dtype=torch.float32)
    trained = train(
        world, Apart(), Linear(8), InGroups(InfoNCE(1.0, norm="none"), 2), seeds=list(seeds) * len(rho), steps=steps,
        batch=pairs, optimiser=Adam(0.05), dtype=torch.float32, watch=watch,
    )  # fmt: skip
    w = linear_map(trained.network, trained.encoders[0], world.inputs).double()
    return {"ρ": rho, "h": w.square().sum(-2).view(len(rho), len(seeds), -1)}


def one_negative_errors(found: dict[str, Tensor]) -> Arms:
    """Largest |h_j − ρ_j/(1 − ρ_j²/2)| of each spectrum; control: from ρ_j, the smaller of two."""

    def error(law: Tensor) -> Tensor:
        return (found["h"] - law.unsqueeze(1)).abs().amax(-1)

    names = [f"ρ = {' '.join(f'{x:g}' for x in row.tolist())}" for row in found["ρ"]]
    observed = dict(zip(names, error(one_negative(found["ρ"])), strict=True))
    return {"observed": observed, "control": {"many negatives": error(found["ρ"]).amin(0)}}


def errors_by_negatives(seeds: Sequence[int], points: int = 2**13) -> dict[str, Tensor]:
    """h/ρ − 1 at the optimum `[seed, N of PAIRS]` for STRONG, WEAK and MANY equal directions."""
    others = [n - 1 for n in PAIRS]
    cases = {"strong": STRONG, "weak": WEAK, "many": MANY}
    return {name: best_scale(rho, s, others, points, seeds) - 1 for name, (s, rho) in cases.items()}


def size_of_errors(errors: dict[str, Tensor]) -> Arms:
    """Error of 16 directions of .4 over that of 64 of .2, at each N; control: of 64 of .4, at N = 2.

    The first two have the same v, the control has the same ρ: the error starts at ρ², and one negative forgets S.
    """
    ratio = (errors["strong"] / errors["weak"]).T
    observed = {f"N = {n}": of for n, of in zip(PAIRS, ratio, strict=True)}
    return {"observed": observed, "control": {"the same ρ, N = 2": errors["strong"][:, 0] / errors["many"][:, 0]}}


def errors_left(errors: dict[str, Tensor]) -> Arms:
    """What N = 32 leaves of the error at N = 2: of 64 directions of .4 less that of 16 of .4; control: of 64 of .2.

    The first two have the same ρ, the control has the v of the second.
    """
    left = {name: of[:, -1] / of[:, 0] for name, of in errors.items()}
    return {"observed": left["many"] - left["strong"], "control": {"the same v": left["weak"] - left["strong"]}}
