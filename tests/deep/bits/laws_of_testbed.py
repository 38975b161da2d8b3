"""Prints a digest of short trainings by inner products, distances and the spectral loss, and of their predictions."""

import hashlib
import os

from contents import add

from contrastive_dynamics.numerics.run_defaults import torch_defaults
from contrastive_dynamics.testbed import image_draw
from experiments.one_testbed import (
    correlation_errors,
    count_errors,
    distance_count_errors,
    distance_share_errors,
    distance_shares,
    distance_spectra,
    distance_temperatures,
    learned_temperatures,
    measured_views,
    raw_spectra,
    spectra_at,
    spectral_counts,
)

SEEDS, RHO = (1, 2), ((0.8, 0.4, 0.1), (0.5, 0.3, 0.0))


def main() -> None:
    os.environ["LOKY_MAX_CPU_COUNT"] = "1"  # what another process executes is not seen here
    torch_defaults("cpu")
    seen = hashlib.sha256()
    for norm, tied, law in (("mean", True, "normal"), ("unit", False, "normal"), ("mean", True, "signs")):
        learned = learned_temperatures(RHO, SEEDS, 16, 3, tied=tied, law=law, norm=norm)
        for of in (learned, count_errors(learned), correlation_errors(learned)):
            add(of, seen)
    learned = distance_temperatures(RHO, SEEDS, steps=3)
    cells = distance_shares(SEEDS, 3, 16)
    for of in (learned, distance_count_errors(learned), cells, distance_share_errors(cells)):
        add(of, seen)
    add(spectral_counts(SEEDS, 16, 3), seen)
    views = measured_views(image_draw("digits"), image_draw("digits", "test"), 2000, 1)
    for spectra in (spectra_at, raw_spectra, distance_spectra):
        add(spectra(views, (0.5, 3.0), SEEDS, outputs=4, steps=3, batch=16), seen)
    print(seen.hexdigest())


if __name__ == "__main__":
    main()
