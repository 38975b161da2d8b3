"""Harder questions to three rows of the table: E2's best opponent, R1's balance alone, and L2 beside the law."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from contrastive_dynamics.numerics.side_by_side import side_by_side
from contrastive_dynamics.testbed.canonical_correlations import moment_correlations
from contrastive_dynamics.testbed.encoders import Linear, TwoLayers
from contrastive_dynamics.testbed.losses import Alignment, Bilinear, InfoNCE
from contrastive_dynamics.testbed.optimisers import semi_orthogonal
from contrastive_dynamics.testbed.soft_threshold import water_filling
from contrastive_dynamics.testbed.view_makers import Apart
from contrastive_dynamics.testbed.worlds import GivenCorrelations, World

from .law_runs import Arms
from .table_arms import Arm, Training, trained_arms, untrained, with_sample
from .table_scores import UNSHARED, private_share
from .table_trainings import OUTPUTS
from .table_worlds import COLUMNS, NATIVE, SHARED, modalities, moons, sparse_codes, tokens

OPPONENTS = (3.0, 8.0, 20.0)  # τ² of InfoNCE; the table has the first
HIGH = 20.0  # τ² of L2
SMALL = (0.5, 0.4, 0.3, 0.2)  # ρ of a world that batches of 128 are enough for, with eight private directions
SMALL_WORLD = "a small world, τ² = 2Σρ"
TIED = ("tokens", "moons", "sparse codes")  # worlds with one encoder, in which L2 is asked
BALANCED = ("tokens", "moons", "modalities")  # worlds in which R1 holds
MADE: dict[str, Callable[[tuple[int, ...]], World]] = {
    "tokens": tokens,
    "moons": moons,
    "modalities": lambda seeds: modalities(),
    "sparse codes": sparse_codes,
    SMALL_WORLD: lambda seeds: GivenCorrelations(SMALL, 12, dtype=torch.float32),
}
Watch = Callable[[Iterable], Iterable]
Of = dict[str, dict[str, Tensor]]  # world → name → `[seed]`


def rival_runs(seeds: Sequence[int], steps: int = 160, batch: int = 128, *, watch: Watch = iter) -> dict[str, Of]:
    """Networks of E2, R1 and L2 with the opponents that the table leaves out, in its four worlds.

    Args:
        seeds: one network each for every arm.
        steps, batch: as in `table_column`.
        watch: wraps worlds and questions in a progress bar.
    Returns: "kept", of E2's networks and InfoNCE at OPPONENTS; "balance", of InfoNCE at τ² = 3, of positives alone and
        before training; "private", what outputs to spare add to the private share at HIGH, over what the law says they
        add, of the worlds with one encoder and of a small one.
    Cost: eight to ten networks a seed in each world.
    """
    training = Training(tuple(seeds), steps, batch)
    asked = {"kept": (_kept, COLUMNS), "balance": (_balance, BALANCED), "private": (_private, (*TIED, SMALL_WORLD))}
    cases = [(part, column) for part, (_, columns) in asked.items() for column in columns]
    answers = side_by_side(_asked, [(asked[part][0], column, training) for part, column in cases], watch)
    found: dict[str, Of] = {part: {} for part in asked}
    for (part, column), answer in zip(cases, answers, strict=True):
        found[part][column] = answer
    return found


def _asked(ask: Callable, column: str, training: Training) -> dict[str, Tensor]:
    return ask(MADE[column](training.seeds), column, training)


def _kept(world: World, column: str, training: Training) -> dict[str, Tensor]:
    """Kept features under the constraint, without it, and of InfoNCE, two linear layers, z = S."""
    training, count = with_sample(training, world), SHARED[column]
    size, alone = (max(world.inputs, count), count), Arm(NATIVE[column], Bilinear(False))
    held = trained_arms(world, {"constraint": alone}, TwoLayers(*size, orthogonal=True), training, semi_orthogonal)
    opponents = {f"τ² = {tau:g}": Arm(NATIVE[column], InfoNCE(tau)) for tau in OPPONENTS}
    held |= trained_arms(world, {"positives": alone} | opponents, TwoLayers(*size), training)
    return {arm: of.scores.kept for arm, of in held.items()}


def _balance(world: World, column: str, training: Training) -> dict[str, Tensor]:
    """Balance of one linear layer, z = 32."""
    training = with_sample(training, world)
    arms = {"positives": Arm(NATIVE[column], Alignment()), "InfoNCE": Arm(NATIVE[column], InfoNCE(3.0))}
    ended = trained_arms(world, arms, Linear(OUTPUTS), training)
    ended["untrained"] = untrained(world, Linear(OUTPUTS), training)
    return {arm: of.scores.balance for arm, of in ended.items()}


def _private(world: World, column: str, training: Training) -> dict[str, Tensor]:
    """Private share with outputs to spare less that without, over the law's."""
    small = column == SMALL_WORLD
    tau, outputs = (2 * sum(SMALL), (12, len(SMALL))) if small else (HIGH, (OUTPUTS, SHARED[column]))
    arm = Arm(Apart() if small else NATIVE[column], InfoNCE(tau))
    rho = moment_correlations(arm.views.moments(world), tied=world.tied)
    measured, law = [], []
    for z in outputs:
        measured.append(private_share(trained_arms(world, {"high": arm}, Linear(z), training)["high"]))
        law.append((water_filling(rho, tau, z) * (rho < UNSHARED)).sum(-1))
    return {"gained over the law's": (measured[0] - measured[1]) / (law[0] - law[1])}


def beside_the_best(kept: Of) -> Arms:
    """What the constraint keeps less what InfoNCE keeps at its best τ² on average; control: without the constraint."""
    best = {w: max((of[f"τ² = {tau:g}"] for tau in OPPONENTS), key=lambda x: float(x.mean())) for w, of in kept.items()}
    observed = {w: of["constraint"] - best[w] for w, of in kept.items()}
    return {"observed": observed, "control": {w: of["positives"] - best[w] for w, of in kept.items()}}


def balances(found: Of) -> Arms:
    """Balance of InfoNCE over that of positives alone, in the worlds of R1; control: over that before training."""
    return {
        "observed": {w: of["InfoNCE"] / of["positives"] for w, of in found.items()},
        "control": {w: of["InfoNCE"] / of["untrained"] for w, of in found.items()},
    }


def private_over_law(found: Of) -> Arms:
    """What outputs to spare add to the private share, over what they add by the law; control: in the small world."""
    gained = {w: of["gained over the law's"] for w, of in found.items()}
    return {"control": {w: gained.pop(w) for w in [w for w in gained if w not in COLUMNS]}, "observed": gained}
