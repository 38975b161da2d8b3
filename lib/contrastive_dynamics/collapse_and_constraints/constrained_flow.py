"""Dynamics of the outputs q = VᵀW1ᵀW2 of the constrained network in the eigenbasis of C = VΛVᵀ, free of the width.

Shapes: q `[..., d, z]`, row j is u(v_j); eigenvalues lam `[d]` or `[..., d]`, in any order. P = qqᵀ, L = Tr(ΛP).

Along (9), proved:
- Singular values: a left singular vector v of s gives d(s²)/dt = −8 s²(1 − s²) vᵀΛv. So s = 0 and s = 1 are preserved,
  and the rank never changes in finite time. At least d + z − h singular values of W1ᵀW2 are 1, where the column
  spaces of W1 and W2 meet.
- P obeys a closed equation (`projector_velocity`), and I − P the same one with −Λ in place of Λ.
- dL/dt = −4[Tr(Λ²P(I − P)) + Tr(ΛPΛ(I − P))] ≤ 0. For invertible Λ it is 0 only where P is a projector and commutes
  with Λ. If the eigenvalues differ, there are finitely many such P, and P(t) tends to one: P_J, on eigenvectors J.
- Near P_J, with i, i' ∈ J and j, j' ∉ J, the entries of P − P_J grow at the rates 4(λ_i + λ_i') for ii' (singular
  values below 1), −2(λ_j − λ_i) for ij (rotations of J), −4(λ_j + λ_j') for jj' (additional rank; q grows at half this
  rate). So if u singular values start at 1, exactly one P_J is attracting: J holds the k smallest eigenvalues,
  k = max(u, min(z, #negative)).
Observed: random starts go there. Those that do not, such as q ⟂ e_1, lie on the centre-stable manifolds of the other
P_J, a null set.

The polar flow is (9) plus [P, Λ]q, a rotation of the left singular vectors ([P, Λ] = PΛ − ΛP). So its singular values
obey the same law, its P has the same rest points, and its dL/dt is lower by ‖[P, Λ]‖²: (9) is the slower flow.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from ..numerics.stiefel import inverse_root

Velocity = Callable[[Tensor, Tensor], Tensor]  # q, lam -> dq/dt
Step = Callable[[Tensor, Tensor, float], Tensor]  # q, lam, rate -> next q


def output_velocity(q: Tensor, lam: Tensor) -> Tensor:
    """q̊ = −2[2Λq − Λqqᵀq − qqᵀΛq], the flow of both layers along −(I − WWᵀ)G.

    Source: esser-2023, eq. (9).
    Args:
        q: outputs, `[..., d, z]`.
        lam: eigenvalues, `[..., d]`.
    Returns: as q.
    Cost: 8·d·z² flops and 4·d·z + d more; d·z + z² numbers.
    """
    y = (2 * lam).unsqueeze(-1) * q
    return torch.sub(y @ (q.mT @ q) + q @ (q.mT @ y), y, alpha=2)


def polar_velocity(q: Tensor, lam: Tensor) -> Tensor:
    """q̊ = −4Λq + Λqqᵀq + 3qqᵀΛq, the flow of both layers along −(G − W sym(WᵀG)).

    This is what (11) follows as η → 0 if the weights, not the gradients, are projected: polar(W − ηG) =
    W − η(G − W sym(WᵀG)) + O(η²). It is the Riemannian gradient flow of (8) under its constraints. (9) is not, since
    (8) depends on W1 beyond its column space: (I − W1W1ᵀ)G1 omits the rotations W1·skew(W1ᵀG1).

    Source: derived; esser-2023, eq. (11) and the sentence below it.
    Args, Returns and Cost: as `output_velocity`.
    """
    y = lam.unsqueeze(-1) * q
    return y @ (q.mT @ q) + 3 * (q @ (q.mT @ y)) - 4 * y


def vector_velocity(q: Tensor, lam: Tensor) -> Tensor:
    """q̊ = 2[−(1 − qᵀq)Λq − (I − qqᵀ)Λq], which is (9) for z = 1 and a vector q.

    Source: esser-2023, eq. (10).
    Args:
        q: outputs, `[..., d]`.
        lam: eigenvalues, `[..., d]`.
    Returns: as q.
    Cost: about 11·d flops.
    """
    y = lam * q
    square, form = (q * q).sum(-1, keepdim=True), (q * y).sum(-1, keepdim=True)
    return -2 * ((1 - square) * y + y - form * q)


def projector_velocity(p: Tensor, lam: Tensor) -> Tensor:
    """P̊ = −2[2ΛP + 2PΛ − ΛP² − P²Λ − 2PΛP] of P = qqᵀ along (9).

    Source: esser-2023, below eq. (9), in words.
    Args:
        p: P, `[..., d, d]`, symmetric.
        lam: eigenvalues, `[..., d]`.
    Returns: as p.
    Cost: 4·d³ flops.
    """
    y = lam.unsqueeze(-1) * p
    half = 2 * y - y @ p - p @ y
    return -2 * (half + half.mT)


def flow_map(q: Tensor, lam: Tensor, rate: float) -> Tensor:
    """One Euler step of (9), q + η q̊.

    It does not preserve unit singular values: ‖q‖ = 1 at z = 1 becomes √(1 + 4η²‖Λq − (qᵀΛq)q‖²). Where the flow
    preserves one above positive eigenvalues (u > #negative, as in a narrow network), (12) diverges to infinity and (11)
    does not.

    Source: esser-2023, eq. (12).
    Args:
        q: outputs, `[..., d, z]`.
        lam: eigenvalues, `[..., d]`.
        rate: η, see `largest_rate`.
    Returns: as q.
    Cost: `update_cost.flow_step_cost`.
    """
    return torch.add(q, output_velocity(q, lam), alpha=rate)


def polar_map(q: Tensor, lam: Tensor, rate: float) -> Tensor:
    """The outputs after one step of (11) with the polar retraction, exactly and for any h: q' = A^{-1/2} M B^{-1/2}.

    With y = Λq: W1 − ηG1 has the Gram matrix A = I − 2η(qyᵀ + yqᵀ) + 4η² yyᵀ, W2 − ηG2 has B = I − 4η qᵀy + 4η² yᵀy,
    and their product is M = q − 4η y + 4η² y qᵀy.

    Source: derived; esser-2023, eq. (11).
    Args:
        q: outputs, `[..., d, z]`.
        lam: eigenvalues, `[..., d]`.
        rate: η.
    Returns: as q.
    Error: rounding; a unit singular value above a positive vᵀΛv is eventually lost, see `output_flow`.
    Cost: if 2z < d, about 20·d·z² flops, most of them the QR of a d×2z matrix, and 140·z³ in products and eigenproblems
        of sizes 2z and z. Otherwise 8·d²·z + 2·d³ flops and eigenproblems of sizes d and z (9·d³, 9·z³).
    """
    return _in_span(_polar_step, q, lam, rate)


def projected_map(q: Tensor, lam: Tensor, rate: float) -> Tensor:
    """The outputs after one step along −(I − WWᵀ)G with the polar retraction, exactly and for any h.

    With y = Λq: A = I + 4η² y(I − qᵀq)yᵀ, B = I + 4η² yᵀ(I − qqᵀ)y, and M is (12) minus 4η² y(I − qᵀq)qᵀy. So (12) is
    this step to first order in η.

    Source: derived; esser-2023, proof of Theorem 2.
    Args, Returns, Error and Cost: as `polar_map`.
    """
    return _in_span(_projected_step, q, lam, rate)


def _in_span(step: Callable[[Tensor, Tensor, float], Tensor], q: Tensor, lam: Tensor, rate: float) -> Tensor:
    """step(q, Λq, rate), in an orthonormal basis of the columns of q and Λq if these are fewer than d.

    Outside that span A is I, and M lies in it. The basis contains the span up to rounding even if the columns are
    dependent.
    """
    y, z = lam.unsqueeze(-1) * q, q.shape[-1]
    if 2 * z >= q.shape[-2]:
        return step(q, y, rate)
    basis, columns = torch.linalg.qr(torch.cat((q.expand_as(y), y), -1))
    return basis @ step(*columns.split(z, -1), rate)


def _polar_step(q: Tensor, y: Tensor, rate: float) -> Tensor:
    inner, outer = q.mT @ y, q @ y.mT
    a = -2 * rate * (outer + outer.mT) + 4 * rate**2 * (y @ y.mT)
    b = -4 * rate * inner + 4 * rate**2 * (y.mT @ y)
    return _normalised(q - 4 * rate * y + 4 * rate**2 * (y @ inner), a, b)


def _projected_step(q: Tensor, y: Tensor, rate: float) -> Tensor:
    inner, rest = q.mT @ y, y - y @ (q.mT @ q)
    a, b = 4 * rate**2 * (rest @ y.mT), 4 * rate**2 * (y.mT @ y - inner.mT @ inner)
    return _normalised(q - 2 * rate * (y + rest - q @ inner) - 4 * rate**2 * (rest @ inner), a, b)


def _normalised(m: Tensor, a: Tensor, b: Tensor) -> Tensor:
    a, b = (x + torch.eye(x.shape[-1], dtype=x.dtype, device=x.device) for x in (a, b))
    return inverse_root(a) @ m @ inverse_root(b)


def largest_rate(lam: Tensor, z: int = 1) -> Tensor:
    """The rate η below which the attracting point of (9) also attracts under (12); at larger η it repels.

    The multipliers of (12) at P_J are 1 − 2η(λ_j − λ_i), 1 + 4η(λ_i + λ_i') and, if z exceeds the rank k = |J|,
    1 − 4ηλ_j. All lie in (−1, 1) iff η < 1/(4|λ_min|) and η < 1/(λ_max − λ_min) if an eigenvalue is negative, and
    η < 1/(2λ_max) if z > k. For z = 1 the first two apply at ±e_1, the last at 0 (Λ ≻ 0). The rotations q → qR are left
    out, since no step damps them. The bound applies near the limit, not on the way there: a distant start may still
    diverge.

    Source: derived; esser-2023, eq. (12), Theorem 3.
    Args:
        lam: eigenvalues, `[..., d]`, none of them 0.
        z: number of outputs, ≥ 1.
    Returns: `[...]`, > 0.
    """
    low, high = lam.amin(-1), lam.amax(-1)
    spare = (lam < 0).sum(-1) < z  # if no eigenvalue is negative, 2·high is the largest of the three
    return 1 / torch.maximum(torch.maximum(-4 * low, high - low), 2 * high * spare)


def limit_rank(q0: Tensor, lam: Tensor, tol: float = 1e-8) -> Tensor:
    """Rank of lim P(t) for almost every start: k = max(number of unit singular values of q0, min(z, #negative)).

    Source: derived (module docstring); for z = 1 esser-2023, Theorem 3.
    Args:
        q0: start, `[..., d, z]`.
        lam: eigenvalues, `[..., d]`.
        tol: how far from 1 a unit singular value may be.
    Returns: int64 `[...]`.
    Cost: the singular values of q0.
    """
    unit = ((torch.linalg.svdvals(q0) - 1).abs() <= tol).sum(-1)
    return torch.maximum(unit, (lam < 0).sum(-1).clamp(max=q0.shape[-1]))


def limit_projector(q0: Tensor, lam: Tensor, tol: float = 1e-8) -> Tensor:
    """lim P(t) for almost every start: the projector on the eigenvectors of the k smallest eigenvalues, diagonal here.

    Args: as `limit_rank`.
    Returns: `[..., d, d]`.
    Raises: ValueError if an eigenvalue is 0, or if the k-th equals the next, as the limit then depends on the start.
    """
    rank = limit_rank(q0, lam, tol).unsqueeze(-1)
    values, order = lam.expand(*q0.shape[:-1]).sort(-1)
    places = torch.arange(q0.shape[-2], device=q0.device)
    tied = (values.diff(dim=-1) == 0) & (places[1:] == rank)
    if bool(tied.any()) or bool((values == 0).any()):
        raise ValueError(
            "lam must be nonzero with a gap above the k-th, got an eigenvalue 0 or a k-th equal to the next"
        )
    chosen = torch.zeros_like(values).scatter(-1, order, (places < rank).to(values.dtype))
    return torch.diag_embed(chosen)


def output_flow(
    q0: Tensor,
    lam: Tensor,
    times: Tensor,
    velocity: Velocity = output_velocity,
    rtol: float = 1e-9,
    atol: float = 1e-11,
) -> Tensor:
    """Follow (9), or another velocity, from q0: the points at the given times.

    Dormand–Prince of order 5. The run with the largest error sets the step, so a large batch does not hide it.

    Source: esser-2023, eq. (9).
    Args:
        q0: start, `[run, d, z]`, ‖q0‖ ≤ 1.
        lam: eigenvalues, `[d]` or `[run, d]`.
        times: `[t]`, two or more, increasing, the first that of q0.
        velocity: function (q, lam) ↦ dq/dt.
        rtol: relative tolerance per step; float32 needs 1e-5 or more.
        atol: absolute tolerance per step.
    Returns: `[t, run, d, z]`.
    Raises: ValueError for other times or a larger q0.
    Error: about rtol·|q| + atol per step. A singular value 1 above a positive vᵀΛv repels at rate 8·vᵀΛv: eventually
        rounding drives it away, to 0 or to infinity, where torchdiffeq stops with an AssertionError. If this matters,
        follow the weights instead (`orthogonal_descent.descend`).
    Cost: 6 velocities per step.
    """
    from torchdiffeq import odeint

    if times.ndim != 1 or len(times) < 2 or not bool((times.diff() > 0).all()):
        raise ValueError(f"times must be [t], t ≥ 2, and increase, got {times.tolist()}")
    # the SVD behind the norm fails on entries that are not finite
    largest = float(torch.linalg.matrix_norm(q0, 2).max()) if bool(q0.isfinite().all()) else float("nan")
    if not largest <= 1 + 1e-6:
        raise ValueError(f"q0 = VᵀW1ᵀW2 must have norm ≤ 1, got norm {largest:.6g}")
    norm = {"norm": lambda error: error.square().mean((-2, -1)).max().sqrt()}
    return odeint(lambda _, q: velocity(q, lam), q0, times, rtol=rtol, atol=atol, method="dopri5", options=norm)


def output_end(q0: Tensor, lam: Tensor, time: float = 100.0) -> Tensor:
    """The point of `output_flow` at one late time, `[run, d, z]`; arguments as there, errors about 1e-6."""
    times = torch.tensor([0.0, time], dtype=q0.dtype, device=q0.device)
    return output_flow(q0, lam, times, rtol=1e-6, atol=1e-9)[-1]


def iterate(step: Step, q0: Tensor, lam: Tensor, rate: float, steps: int, keep_every: int = 1) -> Tensor:
    """Iterate `flow_map`, `polar_map` or `projected_map` from q0.

    Source: esser-2023, eq. (12), Figure 3.
    Args:
        step: the map.
        q0: start, `[run, d, z]`.
        lam: eigenvalues, `[d]` or `[run, d]`.
        rate: η.
        steps: ≥ 0.
        keep_every: a divisor of steps.
    Returns: `[kept, run, d, z]` after steps 0, keep_every, …
    Raises: ValueError for steps < 0 or another keep_every.
    Error: runs that diverge under `flow_map` end as inf or nan.
    Cost: steps × step.
    """
    if steps < 0 or keep_every < 1 or steps % keep_every:
        raise ValueError(
            f"steps must be ≥ 0 and keep_every ≥ 1 a divisor of it, got steps = {steps}, keep_every = {keep_every}"
        )
    q, kept = q0, [q0]
    for k in range(1, steps + 1):
        q = step(q, lam, rate)
        if k % keep_every == 0:
            kept.append(q)
    return torch.stack(kept)


def new_point(q: Tensor, v: Tensor, x: Tensor) -> Tensor:
    """u_t(x̂) = q_tᵀVᵀx̂ of points that were not trained on.

    Source: esser-2023, "New Datapoint", below Theorem 3.
    Args:
        q: outputs, `[..., d, z]`.
        v: eigenvectors as columns, `[..., d, d]`.
        x: points, `[..., k, d]`.
    Returns: `[..., k, z]`.
    Cost: 2·d²·z + 2·k·d·z flops.
    """
    return x @ (v @ q)
