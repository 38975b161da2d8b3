"""Prints a digest of short trainings that a chapter runs side by side: the law in a world, counts, hostile worlds."""

import hashlib
import os

from contents import add

from contrastive_dynamics.numerics.run_defaults import torch_defaults
from experiments.one_testbed import (
    distance_shares,
    hostile_runs,
    infonce_counts,
    law_in_a_world,
    law_in_two_layers,
    slow_directions,
    spectral_counts,
    two_encoders,
    unequal_length_errors,
    unequal_lengths,
)

SEEDS = (1, 2)


def main() -> None:
    os.environ["LOKY_MAX_CPU_COUNT"] = "1"
    torch_defaults("cpu")
    seen = hashlib.sha256()
    for name, taus in (("moons", (0.5, 1.0, 3.0)), ("modalities", (1.0, 3.0)), ("sparse codes", (1.0,))):
        add(law_in_a_world(name, SEEDS, taus, 4), seen)
    add(law_in_two_layers(SEEDS, steps=4), seen)
    add(slow_directions(SEEDS, steps=4), seen)
    add(distance_shares(SEEDS, 4), seen)
    for counts in (spectral_counts, infonce_counts, two_encoders):
        add(counts(SEEDS, steps=4), seen)
    for tau in (None, 1.0):
        add(hostile_runs(SEEDS, tau_squared=tau, steps=4), seen)
    add(unequal_length_errors(unequal_lengths(SEEDS, steps=4)), seen)
    print(seen.hexdigest())


if __name__ == "__main__":
    main()
