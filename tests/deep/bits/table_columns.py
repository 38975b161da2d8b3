"""Prints a digest of every cell and score of the table, and of its negatives at other rates, after a few steps."""

import hashlib
import os

from contents import add

from contrastive_dynamics.numerics.run_defaults import torch_defaults
from experiments.one_testbed import COLUMNS, robustness, table_column

SEEDS, STEPS, BATCH = (1, 2), 4, 16


def main() -> None:
    os.environ["LOKY_MAX_CPU_COUNT"] = "1"
    torch_defaults("cpu")
    seen = hashlib.sha256()
    for world in COLUMNS:
        add(table_column(world, SEEDS, STEPS, BATCH), seen)
        add(robustness(world, SEEDS, STEPS, BATCH), seen)
    print(seen.hexdigest())


if __name__ == "__main__":
    main()
