"""Prints which trainings of token networks are left to the compiled step, and the weights of some by either way."""

import hashlib
from dataclasses import replace

import torch

from contrastive_dynamics.nonlinearity.networks.fused_training import can_be_fused
from contrastive_dynamics.nonlinearity.networks.importance_mixture import Variation
from contrastive_dynamics.nonlinearity.networks.token_configuration import TokenTraining
from contrastive_dynamics.nonlinearity.networks.weights_at import weights_at

SMALL = TokenTraining(candidates=2, beta=2, places=3, tokens=6, generators=7, length=2, outputs=5, batch=12)
LOSSES = "infonce", "quadratic_over_tau", "quadratic", "gaussian", "triplet"
DEVICES = "cpu", "meta", "cuda"


def main() -> None:
    seen, trainings = hashlib.sha256(), [replace(SMALL, loss=loss) for loss in LOSSES]
    for device in DEVICES:
        for varied in (False, True):
            for some in ([], *([one] for one in trainings), trainings):
                seen.update(str(can_be_fused(some, torch.device(device), varied)).encode())
    for training, variations in ((trainings[0], None), (trainings[4], None), (trainings[4], [Variation(pace=3.0)])):
        for weights in weights_at([1, 5], [(training, 1)], "cpu", variations=variations):
            seen.update(b"".join(part.numpy().tobytes() for part in weights))
    print(seen.hexdigest())


if __name__ == "__main__":
    main()
