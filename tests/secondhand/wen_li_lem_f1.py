"""Wen and Li: without a mask a neuron grows along an atom at p + sigma_xi^2.

Written from Section 2 of the paper (data, network, similarity with a stop-gradient, loss) and the claim's sentence.
One tiny neuron with bias 0 at an atom; of a datum it sees u = z_j + xi, so that the mean over a datum and all negatives
is a sum over Gauss-Hermite nodes. The gradient of the loss is a central difference in the view that is not stopped.
Near zero all logits are 1/(n + 1) (Lemma C.3), so the rate is that of the claim times 1 - 1/(n + 1).
Method: the neuron's square, 1e-6, is left out of the logits; the difference leaves 1e-8.
"""

import numpy as np

CLAIM = "wen-li-2021/lem-f1"
WITHIN = 1e-4


def seen(p, variance, nodes=24):
    """Values of u = z_j + xi_j and their probabilities."""
    at, weight = np.polynomial.hermite_e.hermegauss(nodes)
    noise = at * np.sqrt(variance)
    values = np.concatenate([noise - 1, noise, noise + 1])
    return values, np.concatenate([p / 2 * weight, (1 - p) * weight, p / 2 * weight]) / weight.sum()


def rate(p, variance, negatives, size=1e-3, step=1e-4, tau=1.0):
    values, chances = seen(p, variance)
    mean = 0.0
    grids = np.meshgrid(*[values] * (1 + negatives), indexing="ij")
    chance = np.ones_like(grids[0])
    for one in np.meshgrid(*[chances] * (1 + negatives), indexing="ij"):
        chance = chance * one
    datum, others = grids[0], grids[1:]

    def loss(w):
        """With f(x) = w u the free view and `size` in place of w in the stopped ones."""
        similar = [w * datum * size * other for other in (datum, *others)]
        return -tau * (similar[0] / tau - np.log(sum(np.exp(one / tau) for one in similar)))

    mean = np.sum(chance * (loss(size + step * size) - loss(size - step * size)) / (2 * step * size))
    return -mean / size


def found():
    return {
        f"p = {p}, variance {variance}, {negatives} negatives": (
            rate(p, variance, negatives),
            (p + variance) * negatives / (negatives + 1),
        )
        for p, variance, negatives in ((0.1, 0.3, 1), (0.05, 0.5, 2), (0.2, 0.15, 2))
    }
