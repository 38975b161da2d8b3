"""Prints a digest of the gradients of mixed importances: each end, with and without the positive pair, precision."""

import hashlib
from itertools import product

import torch

from contrastive_dynamics.nonlinearity.networks.field_network import FieldNetwork
from contrastive_dynamics.nonlinearity.networks.importance_mixture import Variation, varied

MIXED = [Variation(0.0, 1.0), Variation(0.3, 0.0), Variation(1.0, 1.0), Variation(0.5, 0.0)]
PARTS = (MIXED, MIXED[::2], MIXED[1::2], MIXED[:1])


def main() -> None:
    seen, generator = hashlib.sha256(), torch.Generator().manual_seed(5)
    for variations, dtype in product(PARTS, (torch.float32, torch.float64)):
        f, f_view = torch.randn(2, len(variations), 7, 3, generator=generator, dtype=dtype)
        _, loss = varied(FieldNetwork(None, None), variations, 0.1, f)
        for call in (loss.gradient, loss.unit_gradient, loss.gradient):  # once more: what is kept is the same
            first, second = (x.clone() for x in (f, f_view))
            if call == loss.unit_gradient:
                first, second = (torch.nn.functional.normalize(x, dim=-1) for x in (first, second))
            seen.update(b"".join(part.numpy().tobytes() for part in call(first, second)))
    print(seen.hexdigest())


if __name__ == "__main__":
    main()
