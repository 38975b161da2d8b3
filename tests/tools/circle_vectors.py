"""Test vectors of the live picture "circle", from the library's kernels: `python tests/tools/circle_vectors.py`."""

import json
import math

import torch
from checkout import ROOT

from contrastive_dynamics.losses.activations import Activation
from contrastive_dynamics.losses.gated_covariance import gated_field
from contrastive_dynamics.nonlinearity.one_filter.circle_landscape import (
    FIGURE_8_POINTS,
    circle_fixed_points,
    energy,
    energy_maxima,
    on_circle,
)
from contrastive_dynamics.nonlinearity.one_filter.sphere_flow import MatrixField, sphere_velocity
from contrastive_dynamics.nonlinearity.two_layers.conditional_independence import (
    ConditionalFields,
    binary_moments,
    modulated_velocity,
)

PATH = ROOT / "book" / "_static" / "explorables" / "circle.vectors.json"
POINTS = math.pi * torch.tensor(FIGURE_8_POINTS, dtype=torch.float64)
PLACES = [(0.3, 1.0), (0.3, 0.0), (-1.2, 0.05), (2.5, 0.1), (-3.0, 0.4), (1.9, 0.0)]  # angle, leak
SPREAD = [(0.3, 0.0, 0.2), (2.5, 0.1, 0.5), (-1.2, 0.05, 0.02), (0.9, 1.0, 1.0), (-2.8, 0.0, 0.8)]  # and spread
LEAKS = [1.0, 0.7, 0.6, 0.4, 0.3, 0.28, 0.27, 0.26, 0.2, 0.1, 0.05, 0.02, 0.0]
VOTES = [(0.3, 0.0, 0.3, 4), (-1.2, 0.05, 0.7, 0), (2.5, 0.4, 1.0, 8), (-0.4, 1.0, 0.2, 4), (0.9, 0.0, 0.5, 6)]
VOTED_HILLS = [(0.0, 0.1, 4), (0.0, 0.3, 4), (0.0, 1.0, 1), (0.4, 0.3, 6)]  # leak, vote, token
ON_AN_ARC = 200_001  # points that stand for an arc


def leaky(leak: float) -> Activation:
    """h(z) = z for z > 0 and leak·z otherwise."""

    def slope(z: torch.Tensor) -> torch.Tensor:
        return leak + (1 - leak) * (z > 0).to(z.dtype)

    return Activation("leaky", lambda z: z * slope(z), slope)


def slope(t: float, leak: float) -> float:
    """dE/dt at spread 0: the paper's flow P⊥A(w)w along the circle."""
    w = on_circle(torch.tensor([t], dtype=torch.float64))
    field = gated_field(on_circle(POINTS)[None], leaky(leak))
    return float(sphere_velocity(field, w)[0] @ torch.tensor([-math.sin(t), math.cos(t)], dtype=torch.float64))


def spread_energy(t: float, leak: float, spread: float) -> float:
    """The library's energy on many points for each arc, at the middles of equal parts."""
    offset = ((torch.arange(ON_AN_ARC, dtype=torch.float64) + 0.5) / ON_AN_ARC * 2 - 1) * spread
    x = on_circle((POINTS[:, None] + offset).flatten())[None]
    return float(energy(on_circle(torch.tensor([[t]], dtype=torch.float64)), x, leaky(leak)))


def telling(token: int) -> ConditionalFields:
    """One field whose z is 1 for one of the points and 0 for the others."""
    one = torch.nn.functional.one_hot(torch.tensor(token), len(POINTS)).to(POINTS.dtype)
    others = (1 - one) / (len(POINTS) - 1)
    prior = torch.tensor([len(POINTS) - 1, 1], dtype=POINTS.dtype) / len(POINTS)
    return ConditionalFields(on_circle(POINTS)[None], torch.stack([others, one])[:, None], prior)


def voted(t: float, leak: float, vote: float, token: int) -> dict[str, float]:
    """Theorem 5 for one field, where s = 1, with δ held at the vote; E + δb²/2 is what that velocity climbs."""
    w, act, model = on_circle(torch.tensor([t], dtype=torch.float64)), leaky(leak), telling(token)
    b = float(binary_moments(model, w, act).b)
    velocity = modulated_velocity(model, w, act, modulation=lambda m: torch.full_like(m.b, vote))[0]
    height = float(energy(w[None], on_circle(POINTS)[None], act)) + vote * b**2 / 2
    along = float(velocity @ torch.tensor([-math.sin(t), math.cos(t)], dtype=torch.float64))
    return {"t": t, "leak": leak, "vote": vote, "token": token, "energy": height, "slope": along, "b": b}


def voting_field(leak: float, vote: float, token: int, runs: int) -> MatrixField:
    """A(w) + δΔΔᵀ, one filter per run."""
    x, act, model = on_circle(POINTS).expand(runs, -1, -1), leaky(leak), telling(token)

    def field(w: torch.Tensor) -> torch.Tensor:
        delta = binary_moments(model, w[:, None], act).delta[:, 0]
        return gated_field(x, act)(w) + vote * delta[:, :, None] * delta[:, None, :]

    return field


def hills(leak: float, vote: float = 0.0, token: int = 0) -> dict[str, float | list[float]]:
    """The maxima by increasing angle, exact without a vote, and the share of the circle that climbs each."""
    x, act = on_circle(POINTS), leaky(leak)
    rest = circle_fixed_points(lambda runs: voting_field(leak, vote, token, len(runs)), 1, x, angles=14_400, block=1440)
    top = sorted(rest.theta[rest.stable].tolist()) if vote else [m.theta for m in energy_maxima(x, act)]
    valleys = sorted(rest.theta[~rest.stable].tolist())
    ends = [valleys[-1] - 2 * math.pi, *valleys, valleys[0] + 2 * math.pi]
    found = [(t, next((b - a) for a, b in zip(ends, ends[1:], strict=False) if a < t < b)) for t in top]
    shares = [width / (2 * math.pi) for _, width in found]
    return {"leak": leak} | ({"vote": vote, "token": token} if vote else {}) | {"angles": top, "shares": shares}


def expected_finds(shares: list[float], filters: int) -> float:
    """Hills that random starts find on average, by the mean over which hills one start more would add to."""
    return sum(share * sum((1 - share) ** k for k in range(filters)) for share in shares)


def vectors() -> dict:
    """Everything that the script is held to."""
    x = on_circle(POINTS)[None]
    points = []
    for t, leak in PLACES:
        value = float(energy(on_circle(torch.tensor([[t]], dtype=torch.float64)), x, leaky(leak)))
        points.append({"t": t, "leak": leak, "energy": value, "slope": slope(t, leak)})
    arcs, step = [], 1e-3
    for t, leak, spread in SPREAD:
        near = {k: spread_energy(t + k * step, leak, spread) for k in range(-2, 3)}
        kept = {"t": t, "leak": leak, "spread": spread, "energy": near[0]}
        arcs.append(kept | {"slope": (8 * (near[1] - near[-1]) - (near[2] - near[-2])) / (12 * step)})
    relu = hills(0.0)["shares"]
    finds = {str(k): expected_finds(relu, k) for k in (1, 2, 4, 8, 16, 32)}
    votes, raised = [voted(*case) for case in VOTES], [hills(*case) for case in VOTED_HILLS]
    return {
        "points": points,
        "arcs": arcs,
        "hills": [hills(a) for a in LEAKS],
        "finds": finds,
        "votes": votes,
        "voted hills": raised,
    }


if __name__ == "__main__":
    PATH.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
