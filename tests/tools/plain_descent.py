"""An optimiser of the testbed that an exact kernel can follow: w ← w − ηg, η constant."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Descent:
    rate: float

    def step(self, params, gradients, state, progress):
        return {name: w - self.rate * gradients[name] for name, w in params.items()}
